//! The batched estimator of OSCAR (algorithm 1): delay, its gradient, bytes in flight and rate over a batch of ACKs.

use farspan_units::{Duration, Time};

/// Where a batch begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum BatchStart {
    /// At the send time of the last packet of the batch before, which does not count again (algorithm 1, line 12). The
    /// first ACK of a flow is no more than that.
    Previous,
    /// At its own first packet, which counts. Its span is shorter by a gap between packets.
    First,
}

/// Which of a batch's ACKs its delay and slope are made of. Bytes in flight and rate are those of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Samples {
    /// Every one (algorithm 1).
    All,
    /// The first, the first of the second half of the period, and the last: what a receiver that holds ACKs would send
    /// (appendix A.1, OSCAR-ACKC).
    Three,
}

/// How batches are made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Batches {
    /// tau, ns.
    pub(super) period: f64,
    pub(super) start: BatchStart,
    pub(super) samples: Samples,
}

/// The facts of an ACK that a batch adds up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// When the packet left: sendTs.
    pub(super) sent_at: Time,
    /// Its round trip, or the time that it took to the receiver.
    pub(super) delay: Duration,
    /// Bytes in flight when it left: pktInfl.
    pub(super) in_flight: f64,
    /// For how many packets the ACK stands.
    pub(super) packets: u32,
}

/// The state of flow and bottleneck over a batch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    /// Mean delay, ns.
    pub(super) delay: f64,
    /// Slope of the delay over the send time.
    pub(super) gradient: f64,
    /// Mean bytes in flight.
    pub(super) in_flight: f64,
    /// Packets of the batch.
    pub(super) packets: f64,
    /// The time in which they left, ns; above zero.
    pub(super) span: f64,
}

/// A batch has at least this many ACKs (algorithm 1, line 7).
const FEWEST: u32 = 3;

/// A packet of a batch was overtaken by at most this many ns: one that seems older left after a silence of the flow.
const MOST_OVERTAKEN: i32 = 1 << 27;

/// The sums of a batch. Send times are nanoseconds in 32 bits, and wrap every 4.29 s (section 4.1.1); sums count from the
/// start of the batch, so that they stay exact.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Estimator {
    /// startTs, if `has_start`: not before the first ACK.
    start: u32,
    has_start: bool,
    /// The highest bit of the last send time.
    was_high: bool,
    /// Whether a sample of the second half of the period is among those that count.
    has_middle: bool,
    acks: u32,
    /// ACKs that delay and slope are made of.
    counts: u32,
    packets: u32,
    /// The slope of the last whole batch, for probes; zero before.
    gradient: f32,
    sum_x: f64,
    sum_y: f64,
    sum_xx: f64,
    sum_xy: f64,
    sum_in_flight: f64,
}

impl Estimator {
    /// Takes an ACK in; gives what its batch says if it is the last: one of a packet that left a period or more after
    /// the start. Where the clock wraps, a new batch begins (appendix A.1), and where 32 bits cannot say how long the flow
    /// was silent.
    pub(super) fn take(&mut self, sample: &Sample, batches: &Batches) -> Option<Estimate> {
        let Batches { period, start: begins, samples } = *batches;
        let now = (sample.sent_at.as_ps() / 1000) as u32;
        let (is_high, was_high) = (now >> 31 == 1, self.was_high);
        // A packet that was overtaken may have left before the start.
        let since = |start: u32| now.wrapping_sub(start) as i32;
        let start = self.has_start.then_some(self.start);
        let start = start.filter(|start| (is_high || !was_high) && since(*start) >= -MOST_OVERTAKEN);
        if start.is_none() {
            *self = Self { gradient: self.gradient, ..Self::default() };
        }
        self.was_high = is_high;
        (self.start, self.has_start) = (start.unwrap_or(now), true);
        if start.is_none() && begins == BatchStart::Previous {
            return None;
        }
        let x = f64::from(since(start.unwrap_or(now)));
        self.acks += 1;
        self.packets += sample.packets;
        self.sum_in_flight += sample.in_flight * f64::from(sample.packets);
        let is_last = x >= period && x > 0.0 && self.acks >= FEWEST;
        let is_middle = 2.0 * x >= period && !self.has_middle;
        if samples == Samples::All || self.acks == 1 || is_middle || is_last {
            self.has_middle |= is_middle;
            self.add(x, sample.delay.as_ps() as f64 / 1000.0);
        }
        if !is_last {
            return None;
        }
        let estimate = self.estimate(x);
        let (has_start, gradient) = (begins == BatchStart::Previous, estimate.gradient as f32);
        *self = Self { start: now, has_start, was_high: is_high, gradient, ..Self::default() };
        Some(estimate)
    }

    /// The slope of the delay over the last whole batch; zero before the first.
    pub(super) const fn gradient(&self) -> f64 {
        self.gradient as f64
    }

    /// The mean bytes in flight of the batch so far are at most this: a NACK has lowered the window.
    pub(super) fn lower(&mut self, most: f64) {
        self.sum_in_flight = self.sum_in_flight.min(most * f64::from(self.packets));
    }

    /// Algorithm 1, lines 3 to 6.
    fn add(&mut self, x: f64, y: f64) {
        self.sum_x += x;
        self.sum_y += y;
        self.sum_xx += x * x;
        self.sum_xy += x * y;
        self.counts += 1;
    }

    /// Algorithm 1, lines 8 to 10, and equation 7.
    fn estimate(&self, span: f64) -> Estimate {
        let n = f64::from(self.counts);
        let spread = n * self.sum_xx - self.sum_x * self.sum_x;
        let packets = f64::from(self.packets);
        Estimate {
            delay: self.sum_y / n,
            gradient: if spread > 0.0 { (n * self.sum_xy - self.sum_x * self.sum_y) / spread } else { 0.0 },
            in_flight: self.sum_in_flight / packets,
            packets,
            span,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::near;
    use alloc::vec::Vec;
    use farspan_units::{Purpose, Random};

    fn sample(ns: u64, rtt: u64) -> Sample {
        let sent_at = Time::ZERO + Duration::from_ns(ns);
        Sample { sent_at, delay: Duration::from_ns(rtt), in_flight: 1000.0, packets: 1 }
    }

    fn batches(period: f64, start: BatchStart) -> Batches {
        Batches { period, start, samples: Samples::All }
    }

    /// The estimates of packets that leave 100 ns apart from `from` on, with batches of 500 ns.
    fn estimates(begins: BatchStart, from: u64, packets: u64) -> Vec<(u64, Estimate)> {
        let mut estimator = Estimator::default();
        let take = |n| estimator.take(&sample(from + n * 100, 2000 + n * 10), &batches(500.0, begins));
        (0..packets).map(take).zip(0..).filter_map(|(estimate, n)| Some((n, estimate?))).collect()
    }

    #[test]
    fn batches_follow_each_other_and_the_first_ack_only_begins_one() {
        let [(first, a), (second, b)] = estimates(BatchStart::Previous, 77, 11)[..] else {
            panic!("two batches")
        };
        assert_eq!((first, second), (5, 10));
        for (estimate, delay) in [(a, 2030.0), (b, 2080.0)] {
            near(estimate.delay, delay, 1e-9);
            near(estimate.gradient, 0.1, 1e-9);
            near(estimate.in_flight, 1000.0, 1e-9);
            near(estimate.packets / estimate.span, 0.01, 1e-12);
        }
    }

    #[test]
    fn a_batch_with_a_start_of_its_own_counts_its_first_packet() {
        let [(first, a), (second, _)] = estimates(BatchStart::First, 77, 12)[..] else {
            panic!("two batches")
        };
        assert_eq!((first, second), (5, 11));
        near(a.delay, 2025.0, 1e-9);
        near(a.packets / a.span, 6.0 / 500.0, 1e-12);
    }

    #[test]
    fn fewer_than_three_acks_make_no_batch() {
        let mut estimator = Estimator::default();
        let mut take =
            |ns| estimator.take(&sample(ns, 2000), &batches(500.0, BatchStart::Previous)).is_some();
        assert_eq!([0, 1000, 2000, 3000].map(&mut take), [false, false, false, true]);
    }

    #[test]
    fn an_ack_for_several_packets_counts_for_all_of_them() {
        let mut estimator = Estimator::default();
        let take = |n: u64| {
            let sample = Sample { packets: 4, in_flight: n as f64, ..sample(n * 400, 2000) };
            estimator.take(&sample, &batches(1200.0, BatchStart::Previous))
        };
        let estimate = (0..4).filter_map(take).last().unwrap();
        near(estimate.packets / estimate.span, 0.01, 1e-12);
        near(estimate.in_flight, 2.0, 1e-12);
    }

    #[test]
    fn three_samples_are_the_first_the_middle_and_the_last() {
        let mut estimator = Estimator::default();
        let three = Batches { samples: Samples::Three, ..batches(600.0, BatchStart::First) };
        // Those between have round trips that would show.
        let rtts = [2000, 9000, 9000, 2030, 9000, 9000, 2060];
        let take = |(n, rtt): (u64, u64)| estimator.take(&sample(n * 100, rtt), &three);
        let estimate = (0..).zip(rtts).filter_map(take).last().unwrap();
        near(estimate.delay, 2030.0, 1e-9);
        near(estimate.gradient, 0.1, 1e-9);
        near(estimate.packets / estimate.span, 7.0 / 600.0, 1e-12);
    }

    #[test]
    fn a_wrap_of_the_clock_costs_one_batch() {
        let from = (1 << 32) - 5230;
        for begins in [BatchStart::Previous, BatchStart::First] {
            let (at_wrap, elsewhere) = (estimates(begins, from, 1000), estimates(begins, 50, 1000));
            assert!(at_wrap.len() + 1 >= elsewhere.len(), "{} of {}", at_wrap.len(), elsewhere.len());
            let gaps = at_wrap.windows(2).map(|pair| pair[1].0 - pair[0].0);
            assert!(gaps.max() <= Some(2 * 6), "never longer without an estimate than two batches take");
            for (_, estimate) in at_wrap {
                near(estimate.gradient, 0.1, 1e-9);
            }
        }
    }

    #[test]
    fn a_silence_longer_than_half_of_the_clock_costs_one_batch() {
        for (begins, again) in [
            (BatchStart::Previous, 2_200_000_000),
            (BatchStart::Previous, 4_100_000_000),
            (BatchStart::First, 4_100_000_000),
        ] {
            let mut estimator = Estimator::default();
            let mut take = |from: u64| {
                let sample = |n| sample(from + n * 100, 2000 + n * 10);
                (0..13_u64)
                    .filter_map(|n| estimator.take(&sample(n), &batches(500.0, begins)))
                    .collect::<Vec<_>>()
            };
            take(7);
            let after = take(again);
            assert_eq!(after.len(), 2, "{begins:?}, {again}");
            for estimate in after {
                near(estimate.gradient, 0.1, 1e-9);
                near(estimate.span, 500.0, 0.0);
            }
        }
    }

    #[test]
    fn packets_that_were_overtaken_do_no_harm() {
        let mut estimator = Estimator::default();
        let mut last = None;
        for ns in [500, 300, 700, 600, 900, 1000] {
            last =
                estimator.take(&sample(ns, 2000 + ns / 10), &batches(500.0, BatchStart::Previous)).or(last);
        }
        let estimate = last.expect("a batch from 500 to 1000 ns");
        near(estimate.gradient, 0.1, 1e-9);
        near(estimate.span, 500.0, 0.0);
    }

    /// Mean squared error of slopes of +0.5, 0 and -0.5 (figure 6 c: 40 Gb/s, 13.5 us, packets of 1,054 B at 20 Gb/s), of
    /// batches of half a round trip and of differences averaged with weight 0.2, with normal noise of so many ns.
    fn errors(noise: f64) -> (f64, f64) {
        let mut random = Random::new(1, Purpose::Test, 9);
        let mut normal = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let mut estimator = Estimator::default();
        let (mut queue, mut average, mut before) = (0.0, 0.0, None);
        let mut sums = [(0.0, 0.0); 2];
        let mut count = |which: usize, error: f64| {
            sums[which].0 += error * error;
            sums[which].1 += 1.0;
        };
        for n in 0..3558_u64 {
            let ns = n as f64 * 421.6;
            let slope = [0.5, 0.0, -0.5][(ns / 500_000.0) as usize];
            queue += slope * 421.6;
            let rtt = 13_500.0 + queue + noise * normal();
            let sent_at = Time::from_ps((ns * 1000.0) as u64);
            let rtt = Duration::from_ps((rtt.max(1.0) * 1000.0) as u64);
            let sample = Sample { sent_at, delay: rtt, in_flight: 0.0, packets: 1 };
            if let Some(estimate) = estimator.take(&sample, &batches(6750.0, BatchStart::Previous)) {
                count(0, estimate.gradient - slope);
            }
            let delay = rtt.as_ps() as f64 / 1000.0;
            if let Some(before) = before {
                average += 0.2 * ((delay - before) / 421.6 - average);
                count(1, average - slope);
            }
            before = Some(delay);
        }
        (sums[0].0 / sums[0].1, sums[1].0 / sums[1].1)
    }

    #[test]
    fn under_jitter_a_batch_errs_an_eighth_of_averaged_differences_at_most() {
        for noise in [0.0, 100.0, 200.0, 500.0] {
            let (batch, average) = errors(noise);
            std::println!(
                "{noise} ns: a batch {batch:.5}, averaged differences {average:.5}, {:.1} times",
                average / batch
            );
        }
        let (batch, average) = errors(500.0);
        assert!(average >= 8.0 * batch, "{average} against {batch}");
    }
}
