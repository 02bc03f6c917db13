//! The contract of ACK policies: the arrivals that they are asked about, and their answers.

use farspan_units::{Bytes, Duration, Time};

/// A data packet that has arrived whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Arrival {
    /// Now.
    pub now: Time,
    /// Its number.
    pub seq: u32,
    /// Its payload.
    pub bytes: Bytes,
    /// Whether it came for the first time.
    pub is_new: bool,
    /// Whether the cumulative number covers it: so does that of every later ACK.
    pub is_covered: bool,
    /// Whether the cumulative number or a map above it covers it: so do those of every later ACK that has a map.
    pub is_mapped: bool,
    /// Whether it is the only packet above one that is missing.
    pub opens_gap: bool,
    /// Whether it is the first packet that was missing, and later ones were here before.
    pub fills_gap: bool,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Whether its sender asks for an ACK.
    pub asks: bool,
    /// Whether its block is complete.
    pub completes_block: bool,
    /// Whether the whole message is here with it.
    pub is_last: bool,
}

#[cfg(test)]
impl Arrival {
    /// A packet in order that nothing is odd about.
    pub(crate) const fn in_order(now: Time) -> Self {
        Self {
            now,
            seq: 0,
            bytes: Bytes::ZERO,
            is_new: true,
            is_covered: true,
            is_mapped: true,
            opens_gap: false,
            fills_gap: false,
            ecn_ce: false,
            asks: false,
            completes_block: false,
            is_last: false,
        }
    }
}

/// When the ACK of a packet leaves. The ACK before, if it is still held, never does, but for [`Self::Apart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Release {
    /// As soon as the NIC takes it.
    Now,
    /// From this time on, unless another ACK of the flow takes its place. Only of a packet that
    /// [is covered](Arrival::is_covered).
    At(Time),
    /// Never by itself: a later ACK covers the packet. Only of a packet that [is mapped](Arrival::is_mapped), and by a
    /// policy that [holds](AckPolicy::holds) ACKs.
    WithNext,
    /// As soon as the NIC takes it, behind the ACK before, if that one is held still or was to go
    /// [with the next](Self::WithNext).
    Apart,
}

/// When the packets of one flow are acknowledged.
pub trait AckPolicy {
    /// Whether it is to be asked; otherwise each packet is acknowledged at once.
    fn wants_arrivals(&self) -> bool {
        true
    }

    /// Payload that arrives before an ACK leaves by itself, however long that takes; zero: every ACK leaves in time. Of
    /// a policy that holds any, ACKs have a map, and the sender [asks](crate::wire::Data::ask) for one where less is in
    /// flight.
    fn holds(&self) -> Bytes {
        Bytes::ZERO
    }

    /// How long an ACK may be held for another packet; zero: it is not, or without a limit.
    fn delays(&self) -> Duration {
        Duration::ZERO
    }

    /// How many packets at most wait for one ACK that is [delayed](Self::delays); 0: none do.
    fn holds_packets(&self) -> u32 {
        0
    }

    /// A packet has arrived.
    fn on_arrival(&mut self, _arrival: &Arrival) -> Release {
        Release::Now
    }
}
