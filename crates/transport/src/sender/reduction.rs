//! Proportional rate reduction: a cut of the window on loss is spread over the round trip in which it is made (RFC 9937).
//!
//! Without it a sender falls silent until as much has arrived as its window was cut by, and then goes on with what is left
//! of its clock of ACKs. With it each ACK lets a share go of what it says has arrived: the share of the window that is left.
//! Counted in bytes, from the first loss that cuts the window until all that was sent before is acknowledged, or a
//! time-out. Once less is in flight than the window, an ACK lets go what it says has arrived, and a packet more if it
//! acknowledges the first packet that was missing and finds no loss. Left out: cuts on marks, which Linux spreads as well.

use super::Sender;
use farspan_units::Bytes;

/// A cut that is being made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reduction {
    /// Payload in flight when it began, lost packets included (RecoverFS).
    flight: Bytes,
    /// Payload delivered until then.
    delivered_before: Bytes,
    /// Payload delivered until the last ACK.
    delivered: Bytes,
    /// Payload sent since (prr_out).
    sent: Bytes,
    /// All packets before this one were acknowledged at the last ACK.
    acked_below: u32,
    /// It ends when all packets before this one are acknowledged.
    until: u32,
}

impl Reduction {
    /// Payload that may leave now, as of an ACK that has delivered so much (RFC 9937, section 6); `pipe`: payload in flight,
    /// `ssthresh`: the window to which it is cut, `mss`: payload of a full packet, `is_safe`: whether the ACK finds no loss and
    /// acknowledges the first packet that was missing.
    fn allowance(&self, newly: Bytes, pipe: Bytes, ssthresh: Bytes, (mss, is_safe): (Bytes, bool)) -> Bytes {
        let delivered = self.delivered - self.delivered_before;
        if pipe > ssthresh {
            let share = u128::from(delivered.get()) * u128::from(ssthresh.get());
            let share = Bytes::new(share.div_ceil(u128::from(self.flight.get().max(1))) as u64);
            return share.saturating_sub(self.sent);
        }
        let conserved = delivered.saturating_sub(self.sent).max(newly);
        let limit = if is_safe { conserved + mss } else { conserved };
        limit.min(ssthresh - pipe)
    }
}

impl Sender {
    /// A loss of so many bytes has cut the window: the cut is spread, unless one is already.
    pub(super) fn begin_reduction(&mut self, lost: Bytes) {
        let (delivered, flight) = (self.delivered, self.in_flight + lost);
        let (acked_below, until) = (self.sent.base(), self.sent.next());
        let Some(connection) = self.connection_mut() else { return };
        // One whose packets are acknowledged is over.
        if connection.reduction.is_none_or(|reduction| reduction.until <= acked_below) {
            let (delivered_before, sent) = (delivered, Bytes::ZERO);
            connection.reduction =
                Some(Reduction { flight, delivered_before, delivered, sent, acked_below, until });
            self.wants = self.wants.slow_path_if(true);
        }
    }

    /// Ends a cut that is being made, if one is: the window is the control's.
    #[cold]
    pub(super) fn end_reduction(&mut self) {
        if self.connection_mut().is_some_and(|connection| connection.reduction.take().is_some()) {
            self.wants = self.wants.slow_path_if(self.needs_slow_path());
        }
    }

    /// A packet of so many bytes has left by this window, which no decision of the control on the sending changes.
    pub(super) fn note_reduced(&mut self, len: Bytes, cwnd: Bytes) {
        if let Some(reduction) = self.connection_mut().and_then(|connection| connection.reduction.as_mut()) {
            reduction.sent += len;
            self.cwnd = cwnd;
        }
    }

    /// Opens the window for what may leave now, if a cut is being made; `is_safe`: no packet has just been found lost.
    #[cold]
    pub(super) fn reduce(&mut self, is_safe: bool) {
        let (base, now_delivered, pipe) = (self.sent.base(), self.delivered, self.in_flight);
        let (mss, ssthresh) = (self.route.path.mss, self.cwnd);
        let Some(reduction) = self.connection_mut().and_then(|connection| connection.reduction.as_mut())
        else {
            return;
        };
        if base >= reduction.until {
            return self.end_reduction();
        }
        let newly = now_delivered - core::mem::replace(&mut reduction.delivered, now_delivered);
        let advances = base > core::mem::replace(&mut reduction.acked_below, base);
        let allowed = reduction.allowance(newly, pipe, ssthresh, (mss, is_safe && advances));
        // The packet that was found lost first leaves at once, and nothing would let one go with none in flight.
        let allowed = if reduction.sent.is_zero() || pipe.is_zero() { allowed.max(mss) } else { allowed };
        self.cwnd = pipe + allowed;
    }
}
