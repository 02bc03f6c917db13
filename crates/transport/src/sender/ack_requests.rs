//! Requests for ACKs: when a sender asks a receiver that holds them for one.
//!
//! The receiver acknowledges when [so many bytes](crate::ack::AckPolicy::holds) have come, without a timer. As long as
//! that much is in flight, the next ACK comes by itself. Where less is, a sender that may send no more must have asked:
//!
//! - a packet asks that was sent before, is a probe, or is followed by none;
//! - so does one that follows less than that, of which nothing has asked;
//! - and one that closes a small window, less than four times that: what the receiver holds would be a large part of it;
//! - and one that the pacer sends so slowly that the ACK could come after the time-out.
//!
//! If a window closes by a cut while so little is in flight that nothing in it has asked, one packet leaves all the same,
//! to ask. A receiver acknowledges each packet that was overtaken by one that asked, so that one which has asked is
//! enough for all before it. Lost packets and lost ACKs are a matter of time-outs, as ever.
//!
//! uet-htsim asks with each packet that closes a window, however large. Each ACK then lets a burst go whose last packet asks: a
//! window that moves in small steps falls apart into bursts of one packet, each acknowledged for itself.

use super::{Sender, UNPACED};
use farspan_units::Bytes;

/// A window is small that is less than so many times what the receiver holds.
const SMALL: u64 = 4;

impl Sender {
    /// For how many packets an ACK of so many bytes stands: as many as have so much, of which only the last of a message is shorter;
    /// one where each packet has its own.
    #[cold]
    pub(super) fn packets_of(&mut self, bytes: Bytes) -> u32 {
        if !self.route.merges_acks() {
            return 1;
        }
        if let Some(packets) = self.packets_of_messages(bytes) {
            return packets;
        }
        u32::try_from(bytes.segments(self.route.path.mss)).unwrap_or(u32::MAX).max(1)
    }

    /// Whether packet `seq`, which leaves now and counts as in flight, asks for an ACK; `is_sure`: whatever is in flight.
    #[cold]
    pub(super) fn asks(&mut self, seq: u32, is_sure: bool) -> bool {
        if self.route.profile.repeats_marks {
            return !is_sure && self.take_cwr();
        }
        if self.route.held.is_zero() {
            return false;
        }
        let closes_small =
            self.in_flight < self.route.held * SMALL && !self.window_is_open() && !self.lets_burst_go();
        let is_needed = closes_small || (self.has_little() && !self.has_asked());
        let asks = is_sure || is_needed || !self.has_data() || self.is_slow();
        if let Some(cold) = self.cold.as_deref_mut().filter(|_| asks) {
            cold.asked_below = cold.asked_below.max(seq + 1);
        }
        asks
    }

    /// Packet `seq` is given up. If it was the last that asked, nothing in flight has asked: the receiver need not have seen it.
    pub(super) fn forget_asker(&mut self, seq: u32) {
        if let Some(cold) = self.cold.as_deref_mut().filter(|cold| cold.asked_below == seq + 1) {
            cold.asked_below = 0;
        }
    }

    /// Whether a packet leaves although the window is closed: a probe, or one to ask for an ACK.
    #[cold]
    pub(super) fn exceeds(&self) -> bool {
        let may_wait = self.in_flight.is_zero() || self.cwnd.is_zero();
        self.wants.probe() || (!may_wait && self.has_little() && !self.has_asked())
    }

    /// Whether what is in flight is too little for an ACK that comes by itself.
    fn has_little(&self) -> bool {
        self.in_flight < self.route.held
    }

    /// Whether a packet that is not acknowledged has asked, or one sent after it.
    fn has_asked(&self) -> bool {
        self.cold.as_ref().is_some_and(|cold| self.sent.base() < cold.asked_below)
    }

    /// Whether the pacer takes long to send as much as is acknowledged at once: half of what the time-out leaves.
    fn is_slow(&self) -> bool {
        let slack = self.rto_policy().rto.saturating_sub(self.route.path.base_rtt);
        self.pacing_rate != UNPACED && self.pacing_rate.transmission(self.route.held) > slack / 2
    }
}
