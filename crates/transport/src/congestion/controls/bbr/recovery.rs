//! BBR's window after losses and time-outs (section 4.2.3.4): packets are conserved for a round, then the window
//! comes back.

use super::{Bbr, BbrState, OnTimeout};
use crate::congestion::contract::Ack;
use farspan_units::{Bytes, Time};

/// An episode of loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LossEpisode {
    /// When it began.
    began: Time,
    /// It ends when all packets below this one are acknowledged: those that were sent before it began.
    pub(super) ends: u32,
    /// Whether a packet leaves for each that arrives, and no more: until a round trip has passed.
    pub(super) conserves: bool,
    /// Whether a time-out began it.
    after_timeout: bool,
}

impl Bbr {
    /// BBRSaveCwnd.
    pub(super) fn save_cwnd(&mut self) {
        let is_usual = self.recovery.is_none() && !matches!(self.state, BbrState::ProbeRtt(_));
        self.prior_cwnd = if is_usual { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// BBRRestoreCwnd.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.params.clamp(self.cwnd.max(self.prior_cwnd));
    }

    /// Loss found without a time-out: the first of an episode leaves what is in flight and a packet, each later one
    /// takes what was lost.
    pub(super) fn on_lost(&mut self, now: Time, bytes: Bytes, in_flight: Bytes) {
        self.has_lost = true;
        let episode =
            LossEpisode { began: now, ends: self.sent_below, conserves: false, after_timeout: false };
        let cwnd = if self.recovery.is_some() {
            self.cwnd - bytes.as_f64()
        } else if self.unrestored > 0.0 {
            // The ACK that ended an episode finds this loss: for Linux it stood before the end. What bounds the window since then still does.
            self.recovery = Some(episode);
            (core::mem::take(&mut self.unrestored) - bytes.as_f64()).min(self.cwnd)
        } else {
            self.save_cwnd();
            self.recovery = Some(LossEpisode { conserves: true, ..episode });
            (in_flight.as_f64() + self.params.mss).min(self.cwnd)
        };
        self.cwnd = self.params.clamp(cwnd);
    }

    /// A time-out: one packet.
    pub(super) fn on_timed_out(&mut self, now: Time, sent_at: Time) {
        self.has_lost = true;
        if self.params.config.on_timeout == OnTimeout::Restore {
            if sent_at < self.timed_out_at {
                return;
            }
            self.save_cwnd();
            self.recovery = Some(LossEpisode {
                began: now,
                ends: self.sent_below,
                conserves: false,
                after_timeout: true,
            });
            self.timed_out_at = now;
        }
        self.cwnd = self.params.mss;
    }

    /// At each ACK, before the window is set. Losses that stand when an episode ends continue it, and conserve nothing anew: Linux goes
    /// from Recovery to Open and to Recovery again within one ACK, and BBR sees no end (`tcp_fastretrans_alert`). After a time-out it sees
    /// Loss become Recovery, and conserves.
    pub(super) fn check_recovery(&mut self, ack: &Ack) {
        self.unrestored = 0.0;
        let Some(recovery) = &mut self.recovery else { return };
        recovery.conserves &= ack.sent_at < recovery.began;
        if ack.acked_below < recovery.ends {
            return;
        }
        if ack.has_losses {
            (recovery.ends, recovery.conserves) = (ack.sent_below, recovery.after_timeout);
            (recovery.began, recovery.after_timeout) = (ack.now, false);
        } else {
            self.recovery = None;
            self.unrestored = self.cwnd;
            self.restore_cwnd();
        }
    }
}
