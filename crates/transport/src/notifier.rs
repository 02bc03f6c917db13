//! CNPs: when a receiver notifies a sender that packets of its flow come marked.
//!
//! The notification point of DCQCN (SIGCOMM 2015, section 3.1).

use farspan_units::{Duration, Time};

/// When a receiver notifies a sender of marks: at a marked packet of its flow, unless it has done so within the last interval
/// (DCQCN, SIGCOMM 2015, section 3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CnpConfig {
    /// The shortest time between two CNPs of a flow.
    pub interval: Duration,
}

/// The notifications of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notifier {
    /// The shortest time between two.
    interval: Duration,
    /// None leaves before.
    next_at: Time,
}

impl Notifier {
    /// None has left yet.
    pub(crate) const fn new(config: CnpConfig) -> Self {
        Self { interval: config.interval, next_at: Time::ZERO }
    }

    /// A packet has come, marked or not: says whether a CNP leaves.
    pub(crate) fn on_arrival(&mut self, now: Time, ecn_ce: bool) -> bool {
        let leaves = ecn_ce && now >= self.next_at;
        if leaves {
            self.next_at = now + self.interval;
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn notifier() -> Notifier {
        Notifier::new(CnpConfig { interval: Duration::from_us(50) })
    }

    #[test]
    fn a_marked_packet_notifies_unless_another_did_within_the_interval() {
        let mut notifier = notifier();
        let arrivals =
            [(1, false), (2, true), (3, true), (51, true), (52, false), (60, true), (109, true), (110, true)];
        let left: Vec<_> =
            arrivals.into_iter().filter(|&(at, mark)| notifier.on_arrival(us(at), mark)).collect();
        assert_eq!(left, [(2, true), (60, true), (110, true)]);
    }

    proptest! {
        /// CNPs come an interval apart at least, and no marked packet is farther than one from the CNP before.
        #[test]
        fn every_mark_is_told_within_an_interval(arrivals in prop::collection::vec((0..30_u64, any::<bool>()), 1..200)) {
            let (mut notifier, mut now, mut last) = (notifier(), 0, None);
            for (gap, ecn_ce) in arrivals {
                now += gap;
                if notifier.on_arrival(us(now), ecn_ce) {
                    prop_assert!(ecn_ce && last.is_none_or(|last| now >= last + 50));
                    last = Some(now);
                }
                prop_assert!(!ecn_ce || last.is_some_and(|last| now < last + 50));
            }
        }
    }
}
