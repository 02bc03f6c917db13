//! PROBE_RTT (section 4.3.5): empties the queue now and then, so that a round trip without it can be seen.

use super::{Bbr, BbrState};
use crate::congestion::contract::Ack;
use farspan_units::Time;

/// The least packets in flight that keep ACKs coming (section 4.2.3.1, BBRMinPipeCwnd).
pub(super) const MIN_PIPE: f64 = 4.0;

/// How far PROBE_RTT has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProbeRtt {
    /// When it may end; `None` until no more than four packets are in flight.
    done_at: Option<Time>,
    /// Whether a round trip has passed since.
    round_done: bool,
}

impl Bbr {
    /// BBRCheckProbeRTT, at each ACK: enters when the smallest round trip has expired, and handles what is under way.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, rtprop_expired: bool) {
        let is_probing = matches!(self.state, BbrState::ProbeRtt(_));
        if !is_probing && rtprop_expired && !self.is_idle_restart {
            self.save_cwnd();
            self.model.limit_from(ack.now);
            self.state = BbrState::ProbeRtt(ProbeRtt { done_at: None, round_done: false });
        }
        if let BbrState::ProbeRtt(probe) = self.state {
            self.handle_probe_rtt(ack, probe);
        }
        self.is_idle_restart &= ack.bytes_acked.is_zero();
    }

    /// BBRHandleProbeRTT: four packets for at least the configured time and a round trip.
    fn handle_probe_rtt(&mut self, ack: &Ack, mut probe: ProbeRtt) {
        // Four packets say nothing about the bandwidth.
        self.model.limit_until(ack.delivered + ack.in_flight);
        match probe.done_at {
            None if ack.in_flight.as_f64() <= MIN_PIPE * self.params.mss => {
                probe.done_at = Some(ack.now + self.params.config.probe_rtt);
                self.model.begin_round(ack.delivered);
            }
            None => {}
            Some(done_at) => {
                probe.round_done |= self.model.round_start;
                if probe.round_done && ack.now > done_at {
                    return self.leave_probe_rtt(ack.now);
                }
            }
        }
        self.state = BbrState::ProbeRtt(probe);
    }

    /// The window as it was, and back to PROBE_BW, or to STARTUP if the pipe was never full.
    fn leave_probe_rtt(&mut self, now: Time) {
        self.model.rtprop.seen_at = now;
        self.restore_cwnd();
        if self.full_pipe.is_filled() {
            self.enter_probe_bw(now);
        } else {
            self.state = BbrState::Startup;
        }
    }
}
