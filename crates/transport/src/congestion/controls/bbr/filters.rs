//! BBR's two windowed filters: the largest delivery rate of some rounds, the smallest round trip of some time.

use farspan_units::{Duration, Time};

/// Over how many round trips the largest delivery rate is taken (section 4.1.1.4, BtlBwFilterLen).
const ROUNDS: u32 = 10;

/// BtlBw: the largest delivery rate of the last ten round trips in which there was a sample, in bytes per second.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct MaxBandwidth {
    /// The largest sample of each of the last rounds; round r at r mod 10.
    rounds: [f64; ROUNDS as usize],
    /// The newest of them.
    newest: u32,
    /// The largest of all.
    max: f64,
}

impl MaxBandwidth {
    /// The largest sample; 0 before there was one.
    pub(super) const fn get(&self) -> f64 {
        self.max
    }

    /// Takes in a sample of a round that is not older than any before. Rounds without samples only age others when
    /// the next sample comes.
    pub(super) fn update(&mut self, round: u32, sample: f64) {
        let aged = (round - self.newest).min(ROUNDS);
        for i in 0..aged {
            self.rounds[((round - i) % ROUNDS) as usize] = 0.0;
        }
        self.newest = round;
        let slot = &mut self.rounds[(round % ROUNDS) as usize];
        *slot = slot.max(sample);
        self.max =
            if aged == 0 { self.max.max(sample) } else { self.rounds.iter().copied().fold(0.0, f64::max) };
    }
}

/// RTprop: the smallest round trip, until it was not seen again for a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct MinRtt {
    /// The smallest round trip; [`Duration::MAX`] before the first.
    min: Duration,
    /// When it was last seen.
    pub(super) seen_at: Time,
}

impl MinRtt {
    /// No round trip yet.
    pub(super) const NONE: Self = Self { min: Duration::MAX, seen_at: Time::ZERO };

    /// A round trip that is known.
    pub(super) const fn known(min: Duration) -> Self {
        Self { min, seen_at: Time::ZERO }
    }

    /// The smallest round trip, if there was any.
    pub(super) fn get(&self) -> Option<Duration> {
        (self.min != Duration::MAX).then_some(self.min)
    }

    /// Takes in a round trip; says whether the smallest had expired (section 4.1.2.3).
    pub(super) fn update(&mut self, now: Time, rtt: Duration, window: Duration) -> bool {
        let expired = self.min != Duration::MAX && now.since(self.seen_at) > window;
        if rtt <= self.min || expired {
            *self = Self { min: rtt, seen_at: now };
        }
        expired
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::near;
    use alloc::collections::VecDeque;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn a_sample_counts_for_ten_rounds() {
        let mut filter = MaxBandwidth::default();
        filter.update(1, 9.0);
        for round in 2..=10 {
            filter.update(round, 5.0);
            near(filter.get(), 9.0, 0.0);
        }
        filter.update(11, 4.0);
        near(filter.get(), 5.0, 0.0);
    }

    #[test]
    fn rounds_without_samples_change_nothing_until_the_next_sample() {
        let mut filter = MaxBandwidth::default();
        filter.update(1, 9.0);
        near(filter.get(), 9.0, 0.0);
        filter.update(500, 2.0);
        near(filter.get(), 2.0, 0.0);
    }

    proptest! {
        #[test]
        fn it_is_the_largest_of_a_plain_list(steps in prop::collection::vec((0..14_u32, 0.0..1e9_f64), 1..200)) {
            let (mut filter, mut list, mut round) = (MaxBandwidth::default(), VecDeque::new(), 0);
            for (step, sample) in steps {
                round += step / 3;
                filter.update(round, sample);
                list.push_back((round, sample));
                let recent: Vec<f64> = list.iter().filter(|(r, _)| r + 10 > round).map(|(_, s)| *s).collect();
                prop_assert!((filter.get() - recent.iter().copied().fold(0.0, f64::max)).abs() == 0.0);
            }
        }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    #[test]
    fn the_smallest_round_trip_stays_until_it_expires() {
        let (mut filter, window) = (MinRtt::NONE, Duration::from_ms(100));
        let mut take = |at, us| {
            let expired = filter.update(ms(at), Duration::from_us(us), window);
            (expired, filter.get().map(|min| min.as_ns() / 1000))
        };
        assert_eq!(take(1000, 50), (false, Some(50)), "the first is never late");
        assert_eq!(take(1050, 60), (false, Some(50)));
        assert_eq!(take(1100, 70), (false, Some(50)), "exactly the window is not over it");
        assert_eq!(take(1101, 80), (true, Some(80)));
        assert_eq!(take(1150, 80), (false, Some(80)), "seen again");
        assert_eq!(take(1240, 90), (false, Some(80)));
    }
}
