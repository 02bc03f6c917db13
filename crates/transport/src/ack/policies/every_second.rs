//! An ACK for every second packet, or after a delay: for tests of what a policy may be.
//!
//! RFC 5681, section 4.2: of packets in order, an ACK for at least every second one, and none later than a delay; what
//! is out of order, or fills a gap, is acknowledged at once. A marked packet is acknowledged at once too, so that no
//! mark is lost, and so is the last one of a message.

use crate::ack::contract::{AckPolicy, Arrival, Release};
use crate::registry::ConfigError;
use farspan_units::{Duration, Time};

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct EverySecondConfig {
    /// How long an ACK is held for the next packet; 10 us.
    pub delay: Duration,
}

impl Default for EverySecondConfig {
    fn default() -> Self {
        Self { delay: Duration::from_us(10) }
    }
}

impl EverySecondConfig {
    /// Every delay is valid.
    ///
    /// # Errors
    /// None.
    pub const fn check(&self) -> Result<(), ConfigError> {
        Ok(())
    }
}

/// The state of one flow.
#[derive(Debug)]
pub struct EverySecond {
    /// How long an ACK is held.
    delay: Duration,
    /// Until when the ACK of the last packet is held.
    held_until: Option<Time>,
}

impl EverySecond {
    /// The policy of one flow.
    #[must_use]
    pub const fn new(config: &EverySecondConfig) -> Self {
        Self { delay: config.delay, held_until: None }
    }
}

impl AckPolicy for EverySecond {
    fn on_arrival(&mut self, arrival: &Arrival) -> Release {
        let is_second = self.held_until.take().is_some_and(|until| arrival.now < until);
        let may_wait = arrival.is_new && arrival.is_covered && !arrival.ecn_ce && !arrival.is_last;
        if is_second || !may_wait {
            return Release::Now;
        }
        let until = arrival.now.saturating_add(self.delay);
        self.held_until = Some(until);
        Release::At(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// The next packet, in order.
    fn next(now: u64) -> Arrival {
        Arrival::in_order(us(now))
    }

    fn policy() -> EverySecond {
        EverySecond::new(&EverySecondConfig::default())
    }

    #[test]
    fn the_first_of_two_waits_for_the_second() {
        let mut policy = policy();
        let releases = [0, 1, 2, 3].map(|now| policy.on_arrival(&next(now)));
        assert_eq!(releases, [Release::At(us(10)), Release::Now, Release::At(us(12)), Release::Now]);
    }

    #[test]
    fn a_packet_after_the_delay_is_a_first_one_again() {
        let mut policy = policy();
        assert_eq!(policy.on_arrival(&next(0)), Release::At(us(10)));
        assert_eq!(policy.on_arrival(&next(10)), Release::At(us(20)), "the ACK before has left");
    }

    #[test]
    fn what_is_odd_is_acknowledged_at_once() {
        let odd = [
            Arrival { is_new: false, ..next(0) },
            Arrival { is_covered: false, ..next(0) },
            Arrival { ecn_ce: true, ..next(0) },
            Arrival { is_last: true, ..next(0) },
        ];
        for arrival in odd {
            assert_eq!(policy().on_arrival(&arrival), Release::Now);
        }
    }
}
