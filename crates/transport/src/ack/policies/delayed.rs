//! An ACK for every second packet, or after a delay: TCP's delayed ACKs.
//!
//! RFC 5681, section 4.2: of packets in order, an ACK for at least every second one, and none later than a delay; what is
//! out of order, or fills a gap, is acknowledged at once. As Linux does it, the delay is 40 ms (`TCP_DELACK_MIN`), and the
//! first 16 packets of a flow are acknowledged one by one (`TCP_MAX_QUICKACKS`), so that slow start is not held up.
//!
//! When marks begin or end, the ACK that is held leaves, with the mark of its packets, and so does that of the packet which
//! differs (RFC 8257, section 3.2). The mark of an ACK thus holds for all that it acknowledges first.
//!
//! The last packet is acknowledged at once, as a FIN is. An ACK echoes the send time of the packet that came last, where
//! RFC 7323's echoes that of the first: a round trip holds no wait for a second packet, but that of an ACK whose delay ran
//! out holds the delay. Left out: Linux's shorter delay where packets come fast, and its return to quick ACKs after an
//! idle time.
//!
//! Its page: `docs/src/schemes/recovery.md`.

use crate::ack::contract::{AckPolicy, Arrival, Release};
use crate::registry::ConfigError;
use farspan_units::{Duration, Time};

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DelayedConfig {
    /// An ACK leaves for so many packets; 2.
    pub packets: u32,
    /// How long an ACK is held for further packets; 40 ms.
    pub delay: Duration,
    /// Packets at the start of a flow that are acknowledged one by one; 16.
    pub quick: u32,
}

impl Default for DelayedConfig {
    fn default() -> Self {
        Self { packets: 2, delay: Duration::from_ms(40), quick: 16 }
    }
}

impl DelayedConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// An ACK for no packet, or no delay.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (effect, name) = ("holds no ACK", "delayed");
        let number = "a number, or \"per_packet\" as the policy";
        ConfigError::if_zero(self.packets == 0, name, "packets", &self.packets, effect, number)?;
        let time = "a time, or \"per_packet\" as the policy";
        ConfigError::if_zero(self.delay.is_zero(), name, "delay", &self.delay, effect, time)
    }
}

/// The state of one flow.
#[derive(Debug)]
pub struct Delayed {
    /// The parameters.
    config: DelayedConfig,
    /// Packets left of those that are acknowledged one by one.
    quick: u32,
    /// Packets whose ACK is held.
    waiting: u32,
    /// Until when.
    held_until: Time,
    /// Whether the last packet came marked.
    ecn_ce: bool,
}

impl Delayed {
    /// The policy of one flow.
    #[must_use]
    pub fn new(config: &DelayedConfig) -> Self {
        let (config, quick) = (config.clone(), config.quick);
        Self { config, quick, waiting: 0, held_until: Time::ZERO, ecn_ce: false }
    }
}

impl AckPolicy for Delayed {
    fn delays(&self) -> Duration {
        self.config.delay
    }

    fn holds_packets(&self) -> u32 {
        self.config.packets - 1
    }

    fn on_arrival(&mut self, arrival: &Arrival) -> Release {
        let is_quick = self.quick > 0;
        self.quick = self.quick.saturating_sub(1);
        let changes = core::mem::replace(&mut self.ecn_ce, arrival.ecn_ce) != arrival.ecn_ce;
        // An ACK that is due now has not left yet: packets come before timers.
        let held = if arrival.now <= self.held_until { self.waiting } else { 0 };
        let is_in_order = arrival.is_new && arrival.is_covered && !arrival.fills_gap;
        let is_urgent = arrival.is_last || arrival.asks || arrival.completes_block;
        if changes || is_quick || is_urgent || !is_in_order || held + 1 >= self.config.packets {
            self.waiting = 0;
            return if changes { Release::Apart } else { Release::Now };
        }
        if held == 0 {
            self.held_until = arrival.now.saturating_add(self.config.delay);
        }
        self.waiting = held + 1;
        Release::At(self.held_until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Duration::from_ms(ms)
    }

    /// The next packet, in order.
    fn next(now: u64) -> Arrival {
        Arrival::in_order(ms(now))
    }

    /// After the packets that are acknowledged one by one.
    fn policy() -> Delayed {
        Delayed::new(&DelayedConfig { quick: 0, ..DelayedConfig::default() })
    }

    #[test]
    fn the_first_of_two_waits_for_the_second() {
        let mut policy = policy();
        let releases = [0, 1, 2, 3].map(|now| policy.on_arrival(&next(now)));
        assert_eq!(releases, [Release::At(ms(40)), Release::Now, Release::At(ms(42)), Release::Now]);
    }

    #[test]
    fn of_more_than_two_the_delay_counts_from_the_first() {
        let mut policy = Delayed::new(&DelayedConfig { packets: 3, quick: 0, ..DelayedConfig::default() });
        let releases = [0, 1, 2, 3].map(|now| policy.on_arrival(&next(now)));
        assert_eq!(releases, [Release::At(ms(40)), Release::At(ms(40)), Release::Now, Release::At(ms(43))]);
    }

    #[test]
    fn a_packet_after_the_delay_begins_a_new_pair() {
        let mut policy = policy();
        assert_eq!(policy.on_arrival(&next(0)), Release::At(ms(40)));
        assert_eq!(policy.on_arrival(&next(41)), Release::At(ms(81)), "the ACK before has left");
        assert_eq!(policy.on_arrival(&next(81)), Release::Now, "it is due, and has not left");
    }

    #[test]
    fn the_first_packets_are_acknowledged_one_by_one() {
        let mut policy = Delayed::new(&DelayedConfig::default());
        assert!((0..16).all(|now| policy.on_arrival(&next(now)) == Release::Now));
        assert_eq!(policy.on_arrival(&next(16)), Release::At(ms(56)));
    }

    #[test]
    fn what_is_odd_is_acknowledged_at_once_and_a_new_pair_begins() {
        let odd = [
            Arrival { is_new: false, ..next(0) },
            Arrival { is_covered: false, ..next(0) },
            Arrival { fills_gap: true, ..next(0) },
            Arrival { completes_block: true, ..next(0) },
            Arrival { asks: true, ..next(0) },
            Arrival { is_last: true, ..next(0) },
        ];
        for arrival in odd {
            let mut policy = policy();
            assert_eq!(policy.on_arrival(&arrival), Release::Now);
            assert_eq!(policy.on_arrival(&next(1)), Release::At(ms(41)));
        }
    }

    #[test]
    fn where_marks_begin_or_end_what_is_held_leaves_and_so_does_the_next() {
        let mut policy = policy();
        let marked = |now| Arrival { ecn_ce: true, ..next(now) };
        assert_eq!(policy.on_arrival(&next(0)), Release::At(ms(40)));
        assert_eq!(policy.on_arrival(&marked(1)), Release::Apart);
        assert_eq!(policy.on_arrival(&marked(2)), Release::At(ms(42)));
        assert_eq!(policy.on_arrival(&marked(3)), Release::Now);
        assert_eq!(policy.on_arrival(&next(4)), Release::Apart);
    }

    #[test]
    fn to_hold_nothing_is_refused_by_name() {
        let none = DelayedConfig { packets: 0, ..DelayedConfig::default() };
        assert_eq!(none.check().unwrap_err().parameter, "packets");
        let none = DelayedConfig { delay: Duration::ZERO, ..DelayedConfig::default() };
        assert_eq!(none.check().unwrap_err().parameter, "delay");
    }
}
