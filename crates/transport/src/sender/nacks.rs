//! NACKs: of a trimmed packet, of a block whose receiver has waited for long enough, and of a gap where packets are taken in their
//! order alone. And headers that come back in their place.

use super::Sender;
use super::feedback::GivenUp;
use crate::balance::Balance;
use crate::coding::blocks::Resend;
use crate::congestion::{self, Congestion, NackCause};
use crate::recovery::{LostPacket, RecoveryPolicy};
use crate::wire::{Echo, Feedback};
use farspan_units::{Bytes, Time};

impl Sender {
    /// A transmission was trimmed. It is lost at once, if it is in flight and its packet's last; a NACK of an earlier
    /// transmission says nothing. It gives no RTT sample, and the recovery policy learns nothing from it: a trimmed
    /// packet overtakes others.
    #[cold]
    pub(super) fn on_trimmed(
        &mut self,
        now: Time,
        feedback: &Feedback,
        echo: Echo,
        trimmed_so: (bool, bool),
    ) {
        let Feedback { seq, cumulative, .. } = *feedback;
        let before = self.delivered;
        self.acknowledge_below(now, cumulative);
        let counters = self.sent.counters_mut();
        counters.nacks += 1;
        counters.leave_unreported(self.delivered - before);
        self.note_news(now);
        let Some(trimmed) = self.sent.take_one(now, seq, echo.sent_at) else { return };
        let bytes = self.take_nacked(now, trimmed, trimmed_so);
        self.notify_of_nack(now, bytes, trimmed.sent_at, NackCause::Trimmed);
    }

    /// The header of a transmission that left at `sent_at` has come back: no port on its way had room for it. As with a NACK, the
    /// transmission is lost at once, if it is in flight and its packet's last.
    #[cold]
    pub(crate) fn on_returned(&mut self, now: Time, seq: u32, sent_at: Time) {
        if seq >= self.sent.next() || sent_at > now {
            return;
        }
        let Some(returned) = self.sent.take_one(now, seq, sent_at) else { return };
        let bytes = self.take_out(returned);
        if let Some(sample) = self.sample_of(now, returned) {
            self.balancer.on_returned(sample, &mut self.random);
        }
        self.notify_of_nack(now, bytes, sent_at, NackCause::Returned);
    }

    /// Notifies the control of the NACK of one transmission, which is out of what is in flight.
    fn notify_of_nack(&mut self, now: Time, bytes: Bytes, sent_at: Time, cause: NackCause) {
        let nack = congestion::Nack { now, bytes, sent_at, in_flight: self.in_flight, cause };
        let decision = self.route.on_nack.apply(&mut self.control, &nack);
        self.decide(decision);
    }

    /// The receiver has waited for the rest of a block: bit `i` of `missing` is packet `first + i`. What it misses is
    /// lost, but for transmissions that left less than a base round trip ago, which it cannot have waited for.
    #[cold]
    pub(super) fn on_missing(&mut self, now: Time, first: u32, missing: u32, cumulative: u32) {
        let Some(blocks) = self.blocks() else { return self.go_back(now, first, cumulative) };
        let packets = blocks.layout().packets_of(blocks.layout().block_of(first));
        let before = self.delivered;
        self.acknowledge_below(now, cumulative);
        let counters = self.sent.counters_mut();
        counters.nacks += 1;
        counters.leave_unreported(self.delivered - before);
        let Some(mark) = now.as_ps().checked_sub(self.route.path.base_rtt.as_ps()).map(Time::from_ps) else {
            return;
        };
        let all = self.route.coding.resend() == Resend::All;
        let is_named =
            |seq: u32| all || seq.checked_sub(first).is_some_and(|bit| bit < 32 && missing >> bit & 1 == 1);
        let (mut bytes, mut sent_at) = (Bytes::ZERO, Time::ZERO);
        for seq in packets.filter(|&seq| is_named(seq)) {
            if let Some(lost) = self.sent.take_old(now, seq, mark) {
                bytes += self.take_nacked(now, lost, (false, false));
                sent_at = sent_at.max(lost.sent_at);
            }
        }
        if !bytes.is_zero() {
            let in_flight = self.in_flight;
            let nack = congestion::Nack { now, bytes, sent_at, in_flight, cause: NackCause::Block };
            let decision = self.control.on_nack(&nack);
            self.decide(decision);
        }
    }

    /// The receiver takes packets in their order alone, and `first` is due while others have come, which it dropped, as it will those
    /// on their way: all in flight from there on is lost, and leaves again in its order (go-back-N). Not if `first` left less than
    /// a base round trip ago: of that transmission it cannot speak.
    #[cold]
    fn go_back(&mut self, now: Time, first: u32, cumulative: u32) {
        if self.route.recovery.policy != RecoveryPolicy::GoBackN {
            return;
        }
        let before = self.delivered;
        self.acknowledge_below(now, cumulative);
        let counters = self.sent.counters_mut();
        counters.nacks += 1;
        counters.leave_unreported(self.delivered - before);
        self.note_news(now);
        let mark = now.as_ps().checked_sub(self.route.path.base_rtt.as_ps()).map(Time::from_ps);
        let Some(due) = mark.and_then(|mark| self.sent.take_old(now, first, mark)) else { return };
        let mut given_up = GivenUp::default();
        self.give_up(now, due, &mut given_up);
        for seq in first + 1..self.sent.next() {
            if let Some(behind) = self.sent.take_old(now, seq, now) {
                self.give_up(now, behind, &mut given_up);
            }
        }
        self.sent.order_retransmits();
        self.report_losses(now, given_up);
    }

    /// A packet that a NACK names leaves the window; returns its payload. The path selector hears whether it was trimmed at
    /// the last hop, and whether it carried a mark.
    pub(super) fn take_nacked(
        &mut self,
        now: Time,
        lost: LostPacket,
        (at_last_hop, ecn_ce): (bool, bool),
    ) -> Bytes {
        let len = self.take_out(lost);
        if let Some(sample) = self.sample_of(now, lost) {
            self.balancer.on_nack(sample, at_last_hop, ecn_ce, &mut self.random);
        }
        len
    }
}
