//! One ACK for several packets: after so many bytes, or at once where the sender is better told.
//!
//! As the receiver of the Ultra Ethernet transport in its published simulator (uet-htsim: `UecSink::processData`): an
//! ACK leaves when 16 KiB have arrived since the last one, and at once for the first packet, for a duplicate, for a
//! packet with a congestion mark, and for one that asks. There is no timer: what is held leaves with the next packet,
//! and [the sender asks](crate::wire::Data::ask) where no further packet may come.
//!
//! An ACK covers what its cumulative number and its [map](crate::wire::Fate::Arrived) name. Four rules see to it that
//! every packet is covered soon:
//!
//! - what lies beyond the map is acknowledged at once;
//! - a packet that was overtaken by one that asked is acknowledged at once: the sender waits for news of it;
//! - so is one that completes its block;
//! - a packet with a mark has an ACK of its own, and what was held before has one, too (RFC 8257, section 3.2). The mark
//!   of an ACK thus holds for all that it acknowledges first. The published code sends one for both.
//!
//! The packet that opens a gap, the first to come out of order, may be acknowledged at once as well (`gap`), as RFC 5681
//! has it, so that recovery learns early of a loss. Not each one above the gap: packets of a sprayed flow are seldom in
//! order. The published code does not look at gaps.
//!
//! Its page: `docs/src/schemes/recovery.md`.

use crate::ack::contract::{AckPolicy, Arrival, Release};
use crate::registry::ConfigError;
use farspan_units::Bytes;

/// Parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CoalescedConfig {
    /// Payload after which an ACK leaves; 16 KiB.
    pub bytes: Bytes,
    /// Whether one leaves at once for a packet that opens a gap; yes.
    pub gap: bool,
}

impl Default for CoalescedConfig {
    fn default() -> Self {
        Self { bytes: Bytes::new(16_384), gap: true }
    }
}

impl CoalescedConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// No bytes.
    pub fn check(&self) -> Result<(), ConfigError> {
        let effect = "holds no ACK";
        ConfigError::if_zero(
            self.bytes.is_zero(),
            "coalesced",
            "bytes",
            &self.bytes,
            effect,
            "a size, or \"per_packet\" as the policy",
        )
    }
}

/// The state of one flow.
#[derive(Debug)]
pub struct Coalesced {
    /// The parameters.
    config: CoalescedConfig,
    /// Payload that is to arrive before the next ACK leaves by itself; none before the first packet, which has one.
    left: Bytes,
    /// No packet from this one on has asked.
    asked_below: u32,
}

impl Coalesced {
    /// The policy of one flow.
    #[must_use]
    pub fn new(config: &CoalescedConfig) -> Self {
        Self { config: config.clone(), left: Bytes::ZERO, asked_below: 0 }
    }
}

impl AckPolicy for Coalesced {
    fn holds(&self) -> Bytes {
        self.config.bytes
    }

    fn on_arrival(&mut self, arrival: &Arrival) -> Release {
        let is_overtaken = arrival.seq < self.asked_below;
        if arrival.asks {
            self.asked_below = self.asked_below.max(arrival.seq.saturating_add(1));
        }
        self.left = self.left.saturating_sub(arrival.bytes);
        let is_plain = arrival.is_new && arrival.is_mapped && !arrival.ecn_ce;
        let is_urgent = arrival.asks
            || is_overtaken
            || arrival.is_last
            || arrival.completes_block
            || (self.config.gap && arrival.opens_gap);
        if is_plain && !is_urgent && !self.left.is_zero() {
            return Release::WithNext;
        }
        self.left = self.config.bytes;
        if arrival.ecn_ce { Release::Apart } else { Release::Now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Time;

    /// A packet of 4 KiB, in order.
    fn next(seq: u32) -> Arrival {
        Arrival { seq, bytes: Bytes::new(4096), ..Arrival::in_order(Time::ZERO) }
    }

    /// After the first packet, which has its ACK.
    fn policy() -> Coalesced {
        let mut policy = Coalesced::new(&CoalescedConfig::default());
        assert_eq!(policy.on_arrival(&next(0)), Release::Now, "the first packet");
        policy
    }

    #[test]
    fn an_ack_leaves_after_16_kib() {
        let mut policy = policy();
        let releases = [1, 2, 3, 4, 5, 6, 7, 8].map(|seq| policy.on_arrival(&next(seq)));
        let held = Release::WithNext;
        assert_eq!(releases, [held, held, held, Release::Now, held, held, held, Release::Now]);
    }

    #[test]
    fn what_is_odd_is_acknowledged_at_once_and_bytes_count_from_there() {
        let odd = [
            Arrival { is_new: false, ..next(3) },
            Arrival { is_mapped: false, ..next(3) },
            Arrival { is_last: true, ..next(3) },
            Arrival { completes_block: true, ..next(3) },
            Arrival { asks: true, ..next(3) },
            Arrival { opens_gap: true, ..next(3) },
        ];
        for arrival in odd {
            let mut policy = policy();
            assert_eq!(policy.on_arrival(&next(1)), Release::WithNext);
            assert_eq!(policy.on_arrival(&arrival), Release::Now, "{arrival:?}");
            let later = [4, 5, 6, 7].map(|seq| policy.on_arrival(&next(seq)));
            assert_eq!(later.map(|release| release == Release::Now), [false, false, false, true]);
        }
    }

    #[test]
    fn a_marked_packet_has_an_ack_of_its_own() {
        let mut policy = policy();
        assert_eq!(policy.on_arrival(&next(1)), Release::WithNext);
        assert_eq!(policy.on_arrival(&Arrival { ecn_ce: true, ..next(2) }), Release::Apart);
    }

    #[test]
    fn what_an_asking_packet_has_overtaken_is_acknowledged_at_once() {
        let mut policy = policy();
        assert_eq!(policy.on_arrival(&Arrival { asks: true, ..next(5) }), Release::Now);
        assert_eq!(policy.on_arrival(&next(4)), Release::Now);
        assert_eq!(policy.on_arrival(&next(6)), Release::WithNext);
    }

    #[test]
    fn gaps_are_overlooked_where_the_policy_says_so() {
        let mut policy = Coalesced::new(&CoalescedConfig { gap: false, ..CoalescedConfig::default() });
        policy.on_arrival(&next(0));
        assert_eq!(policy.on_arrival(&Arrival { opens_gap: true, ..next(2) }), Release::WithNext);
    }

    #[test]
    fn to_hold_nothing_is_refused_by_name() {
        let config = CoalescedConfig { bytes: Bytes::ZERO, ..CoalescedConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "bytes");
    }
}
