//! The handshake: a packet without payload, which the receiver answers before the first of the message leaves.
//!
//! As TCP's SYN and its answer (RFC 9293, section 3.5): it takes a round trip, of which the control and the time-out have
//! their first sample, and a lost one leaves once more after the first time-out, which doubles each time (RFC 6298, section
//! 5). The receiver keeps nothing of it, as with SYN cookies (RFC 4987, section 3.6): the first packet of the message makes
//! its state. Left out: that a lost one makes the first window one packet (RFC 5681, section 3.1) and the first time-out
//! three seconds (RFC 6298, rule 5.7). A message that goes through a proxy has none.

use super::Sender;
use super::feedback::WireAck;
use super::packet::{DataPacket, More, Take};
use crate::balance::Balance;
use crate::flow::message::Message;
use crate::recovery::{AckOutcome, Acked};
use crate::wire::{self, Echo};
use farspan_units::{Bytes, Time};

/// A handshake that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Opening {
    /// How often it timed out.
    timeouts: u32,
    /// When the packet that is waited for times out; `None`: one is to leave.
    due: Option<Time>,
}

impl Opening {
    /// That of a message, if it begins with one.
    pub(super) fn of(message: &Message) -> Option<Self> {
        (message.route.connection.handshake && message.via.is_none()).then(Self::default)
    }
}

impl Sender {
    fn opening(&self) -> Option<&Opening> {
        self.connection()?.opening.as_ref()
    }

    /// The number that the packet which opens the flow names, and its answer: of no packet of the flow, however many messages follow.
    fn opens_with(&self) -> u32 {
        if self.is_persistent() { u32::MAX } else { self.packets }
    }

    /// Whether the packet that opens the flow is to leave.
    pub(super) fn owes_opening(&self) -> bool {
        self.opening().is_some_and(|opening| opening.due.is_none())
    }

    /// When the packet that opens the flow is to leave once more; [`Time::MAX`]: none is waited for.
    pub(super) fn reopens_at(&self) -> Time {
        self.opening().and_then(|opening| opening.due).unwrap_or(Time::MAX)
    }

    /// The packet that opens the flow leaves; gives when it times out.
    #[cold]
    pub(super) fn transmit_opening(&mut self, now: Time, to: impl Take) -> Time {
        let rto = self.rto_policy();
        let entropy = self.balancer.entropy(now, &mut self.random);
        let (flow, profile, size) = (self.flow, self.profile, self.route.path.header);
        let packets = self.opens_with();
        let header =
            wire::Data { flow, seq: packets, packets, len: 0, sent_at: now, entropy, profile, ask: false };
        to.open(DataPacket { to: self.to, header, more: More::Opens, retransmission: false, size });
        let Some(opening) = self.connection_mut().and_then(|connection| connection.opening.as_mut()) else {
            return Time::MAX;
        };
        let due = now.saturating_add(rto.after(opening.timeouts));
        opening.due = Some(due);
        due
    }

    /// The packet that opens the flow is to leave once more, if it has timed out.
    pub(super) fn reopen(&mut self, now: Time) {
        if self.reopens_at() > now {
            return;
        }
        if let Some(opening) = self.connection_mut().and_then(|connection| connection.opening.as_mut()) {
            (opening.timeouts, opening.due) = (opening.timeouts.saturating_add(1), None);
            self.sent.counters_mut().timeouts += 1;
        }
    }

    /// An ACK of nothing of the message that was sent: the answer to the packet that opens it, or of no use. Returns whether the
    /// next time-out may run out earlier than before.
    #[cold]
    pub(super) fn on_handshake_ack(&mut self, now: Time, seq: u32, echo: Echo, ecn_ce: bool) -> bool {
        let (packets, end) = (self.opens_with(), self.end());
        let Some(cold) = self.cold.as_mut().filter(|_| seq == packets && echo.sent_at <= now) else {
            return false;
        };
        let connection = cold.connection.as_deref_mut();
        if connection.and_then(|connection| connection.opening.take()).is_none() {
            return false;
        }
        cold.available = end;
        self.wants = self.wants.slow_path_if(self.needs_slow_path());
        let sent_at = echo.sent_at;
        let (rtt, _) = self.take_rtt(now, now.since(sent_at));
        let ack = WireAck::of_handshake(echo, ecn_ce);
        self.notify_of_ack(now, &ack, rtt, (Bytes::ZERO, Bytes::ZERO), None);
        if self.wants.acks() {
            let outcome = AckOutcome::Known;
            self.recover(&Acked { now, seq: 0, sent_at, rtt, is_new: true, outcome, mapped_below: 0 });
        }
        true
    }
}
