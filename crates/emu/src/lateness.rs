//! How late an emulation was, and whether its results count.

use farspan_fabric::Routes;
use farspan_metrics::{EmulatedPackets, Emulation, Lateness};
use farspan_sim::{DelayHistogram, Spec};
use farspan_units::{Duration, HostId, Time};

/// The least that the 99th percentile of excess delay is allowed, however short the paths are.
const LEAST_BOUND: Duration = Duration::from_us(100);

/// Shares of the shortest RTT that the 99th and the 99.9th percentile of excess delay may be.
const SHARE_P99: f64 = 0.01;
const SHARE_P999: f64 = 0.05;

/// The share of the shortest RTT for which the thread may be held at once, and the most of it. No percentile excuses a longer stall,
/// however long the run is.
const SHARE_STALL: f64 = 0.5;
const MOST_STALL: Duration = Duration::from_ms(10);

/// The least share of probes that must be read: a host whose probes do not come could be late unseen.
const SHARE_PROBES: f64 = 0.9;

/// A histogram of how late something was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Late {
    histogram: DelayHistogram,
    count: u64,
}

impl Late {
    pub(crate) fn add(&mut self, late: Duration) {
        self.histogram.add(late);
        self.count += 1;
    }

    fn quantile(&self, q: f64) -> Option<Duration> {
        self.histogram.quantile(q)
    }

    pub(crate) fn summary(&self) -> Lateness {
        let us = |q| self.quantile(q).map(Duration::as_us_f64);
        Lateness { count: self.count, p50_us: us(0.5), p99_us: us(0.99), p999_us: us(0.999), max_us: us(1.0) }
    }
}

/// How much later than its model an emulation may deliver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bound {
    /// The most that the 99th percentile of excess delay may be.
    pub p99: Duration,
    /// The most that the 99.9th percentile may be.
    pub p999: Duration,
    /// The longest that the thread may be held at once.
    pub stall: Duration,
}

impl Bound {
    /// The bound of a network whose shortest RTT is this: 100 us or 1% of it, the larger, for the 99th percentile, and 5% of it
    /// for the 99.9th. A stall takes half of it at most, and no more than 10 ms.
    #[must_use]
    pub fn of_rtt(shortest: Duration) -> Self {
        Self {
            p99: shortest.mul_f64(SHARE_P99).max(LEAST_BOUND),
            p999: shortest.mul_f64(SHARE_P999),
            stall: shortest.mul_f64(SHARE_STALL).min(MOST_STALL),
        }
    }
}

/// The delays of an empty network, between all pairs of hosts.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    hosts: u32,
    /// Propagation by sender, then receiver, without the time that bytes take.
    one_way: Vec<Duration>,
    shortest_rtt: Duration,
}

impl Paths {
    pub(crate) fn new(spec: &Spec) -> Self {
        let (network, hosts) = (&spec.network, spec.network.hosts);
        let routes = Routes::new(network, spec.seed);
        let mut one_way = Vec::with_capacity((hosts * hosts) as usize);
        let mut shortest_rtt = Duration::from_ps(u64::MAX);
        for (from, to) in (0..hosts).flat_map(|from| (0..hosts).map(move |to| (from, to))) {
            if from == to {
                one_way.push(Duration::ZERO);
                continue;
            }
            let path = routes.path(network, HostId(from), HostId(to));
            one_way.push(path.delay(network));
            let full = path.one_way(network, spec.mss + spec.header);
            // The links back have the same rates and delays.
            shortest_rtt = shortest_rtt.min(full + path.one_way(network, spec.header));
        }
        Self { hosts, one_way, shortest_rtt }
    }

    pub(crate) fn one_way(&self, from: HostId, to: HostId) -> Duration {
        self.one_way[(from.0 * self.hosts + to.0) as usize]
    }

    /// The shortest RTT of any two hosts: a full packet out, a header back.
    pub(crate) const fn shortest_rtt(&self) -> Duration {
        self.shortest_rtt
    }
}

/// Measurements of an emulation by itself.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) bound: Bound,
    /// How late probes were: when they were read, and with their release.
    pub(crate) read: Late,
    pub(crate) excess: Late,
    /// How late the release of all packets was.
    pub(crate) release: Late,
    /// Probes that were due.
    pub(crate) probes: u64,
    /// Hosts whose devices are gone.
    pub(crate) gone: u64,
    /// The longest time for which the thread was held.
    pub(crate) stall: Duration,
    /// CPU time of the thread.
    pub(crate) cpu: Duration,
    /// Whether it ran under SCHED_FIFO.
    pub(crate) is_real_time: bool,
    pub(crate) unread_drops: u64,
    /// Share of the processors' time that was stolen from this machine, if that is known.
    pub(crate) steal_share: Option<f64>,
    /// Why the emulation broke off, if it did.
    pub(crate) failure: Option<String>,
}

impl Judge {
    pub(crate) fn new(bound: Bound) -> Self {
        Self {
            bound,
            read: Late::default(),
            excess: Late::default(),
            release: Late::default(),
            probes: 0,
            gone: 0,
            stall: Duration::ZERO,
            cpu: Duration::ZERO,
            is_real_time: false,
            unread_drops: 0,
            steal_share: None,
            failure: None,
        }
    }

    fn reasons(&self, packets: &EmulatedPackets) -> Vec<String> {
        let mut reasons: Vec<_> = self.failure.iter().cloned().collect();
        let mut over = |what: &str, late: &Late, q: f64, bound: Duration| {
            let name = if q == 0.99 { "99th" } else { "99.9th" };
            if let Some(found) = late.quantile(q).filter(|found| *found > bound) {
                reasons.push(format!("the {name} percentile of {what} is {found}; the limit is {bound}"));
            }
        };
        over("the excess delay of probes", &self.excess, 0.99, self.bound.p99);
        over("the excess delay of probes", &self.excess, 0.999, self.bound.p999);
        over("the lateness of released packets", &self.release, 0.99, self.bound.p99);
        over("the lateness of released packets", &self.release, 0.999, self.bound.p999);
        if self.stall > self.bound.stall {
            let (found, bound) = (self.stall, self.bound.stall);
            reasons.push(format!("its thread stalled for {found}; the limit is {bound}"));
        }
        if self.unread_drops > 0 {
            reasons.push(format!("the kernel dropped {} packets before they were read", self.unread_drops));
        }
        if !packets.conserved() {
            reasons.push(format!("packets without a fate: {packets:?}"));
        }
        if self.gone > 0 {
            reasons.push(format!("the devices of {} hosts are gone", self.gone));
        }
        if self.excess.count == 0 && packets.read > 0 {
            reasons.push("it ended before its first probe, so its lateness is not known".to_owned());
        } else if (self.read.count as f64) < SHARE_PROBES * self.probes as f64 {
            let (read, due) = (self.read.count, self.probes);
            reasons.push(format!(
                "only {read} of {due} probes arrived: a host whose probes are missing may be late unnoticed"
            ));
        }
        reasons
    }

    /// The verdict on a run that ended at `end`, with these fates of its packets.
    pub(crate) fn verdict(&self, end: Time, packets: EmulatedPackets, unmarked: u64) -> Emulation {
        let reasons = self.reasons(&packets);
        Emulation {
            void: !reasons.is_empty(),
            reasons,
            bound_p99_us: self.bound.p99.as_us_f64(),
            bound_p999_us: self.bound.p999.as_us_f64(),
            bound_stall_us: self.bound.stall.as_us_f64(),
            excess: self.excess.summary(),
            read: self.read.summary(),
            release: self.release.summary(),
            stall_us: self.stall.as_us_f64(),
            unread_drops: self.unread_drops,
            steal_share: self.steal_share,
            core_share: if end == Time::ZERO { 0.0 } else { self.cpu / end.since(Time::ZERO) },
            scheduler: if self.is_real_time { "SCHED_FIFO" } else { "SCHED_OTHER" }.to_owned(),
            packets,
            unmarked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(late: &[(Duration, u64)]) -> Judge {
        let mut judge = Judge::new(Bound::of_rtt(Duration::from_ms(20)));
        for (late, count) in late {
            (0..*count).for_each(|_| judge.excess.add(*late));
        }
        judge
    }

    fn verdict(judge: &Judge) -> Emulation {
        let packets = EmulatedPackets { read: 3, delivered: 3, ..EmulatedPackets::default() };
        judge.verdict(Time::ZERO + Duration::from_ms(1000), packets, 0)
    }

    #[test]
    fn the_bound_follows_the_shortest_rtt() {
        let us = Duration::from_us;
        assert_eq!(Bound::of_rtt(us(20)), Bound { p99: us(100), p999: us(1), stall: us(10) });
        assert_eq!(Bound::of_rtt(us(20_000)), Bound { p99: us(200), p999: us(1000), stall: us(10_000) });
        assert_eq!(Bound::of_rtt(us(100_000)).stall, us(10_000));
    }

    #[test]
    fn a_run_in_time_holds_and_a_late_one_is_void() {
        let us = Duration::from_us;
        assert!(!verdict(&judge(&[(us(50), 1000)])).void);
        let late = verdict(&judge(&[(us(50), 980), (us(250), 20)]));
        assert!(late.void && late.reasons[0].contains("99th"), "{late:?}");
        // Held for 20 ms once: two of a thousand probes.
        let held = verdict(&judge(&[(us(50), 998), (us(20_000), 2)]));
        assert!(held.void && held.reasons[0].contains("99.9th"), "{held:?}");
    }

    #[test]
    fn a_long_stall_makes_a_run_void_however_long_the_run_is() {
        let mut held = judge(&[(Duration::from_us(50), 1_000_000), (Duration::from_ms(20), 2)]);
        held.stall = Duration::from_ms(9);
        assert!(!verdict(&held).void, "a shorter one is lateness, which the percentiles judge");
        held.stall = Duration::from_ms(15);
        let held = verdict(&held);
        assert!(held.void && held.reasons[0].contains("stalled for 15ms"), "{held:?}");
    }

    #[test]
    fn probes_that_do_not_come_make_a_run_void() {
        let mut blind = judge(&[(Duration::from_us(50), 100)]);
        (0..89).for_each(|_| blind.read.add(Duration::from_us(50)));
        blind.probes = 98;
        assert!(!verdict(&blind).void);
        blind.probes = 100;
        assert!(verdict(&blind).reasons[0].contains("89 of 100 probes"), "{:?}", verdict(&blind).reasons);
    }

    #[test]
    fn a_packet_that_the_kernel_dropped_or_that_has_no_fate_makes_a_run_void() {
        let mut dropped = judge(&[(Duration::from_us(50), 1000)]);
        dropped.unread_drops = 1;
        assert!(verdict(&dropped).void);
        let holds = judge(&[(Duration::from_us(50), 1000)]);
        let packets = EmulatedPackets { read: 4, delivered: 3, ..EmulatedPackets::default() };
        let end = Time::ZERO + Duration::from_ms(1000);
        assert!(holds.verdict(end, packets, 0).void);
        assert!(verdict(&judge(&[])).void, "no probe has measured it");
    }
}
