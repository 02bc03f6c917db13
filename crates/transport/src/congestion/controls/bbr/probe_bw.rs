//! PROBE_BW (section 4.3.4): a cycle of gains that looks for more bandwidth and drains what that queued.

use super::config::{FirstPhase, PhaseEnd};
use super::{Bbr, BbrState};
use farspan_units::{Bytes, Time};

/// The gains of a cycle, each for about RTprop (section 4.3.4.2).
pub(super) const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Where in the cycle PROBE_BW is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProbeBw {
    /// Which of [`GAINS`] holds.
    pub(super) phase: u8,
    /// When it began.
    began: Time,
}

impl ProbeBw {
    /// The gain of the pacing rate.
    pub(super) const fn gain(&self) -> f64 {
        GAINS[self.phase as usize]
    }
}

impl Bbr {
    /// BBREnterProbeBW: any phase but that of 3/4, which would leave a link idle that holds no queue.
    pub(super) fn enter_probe_bw(&mut self, now: Time) {
        let phase = match self.params.config.first_phase {
            FirstPhase::First => 0,
            FirstPhase::Random => {
                let drawn = self.random.below(GAINS.len() as u64 - 1) as u8;
                if drawn == 0 { 0 } else { drawn + 1 }
            }
        };
        self.state = BbrState::ProbeBw(ProbeBw { phase, began: now });
    }

    /// BBRCheckCyclePhase, at each ACK; `prior`: what was in flight before it.
    pub(super) fn check_phase(&mut self, now: Time, prior: Bytes) {
        let BbrState::ProbeBw(cycle) = self.state else { return };
        if self.is_phase_over(cycle, now, prior.as_f64()) {
            let phase = (cycle.phase + 1) % GAINS.len() as u8;
            self.state = BbrState::ProbeBw(ProbeBw { phase, began: now });
        }
    }

    /// BBRIsNextCyclePhase.
    fn is_phase_over(&self, cycle: ProbeBw, now: Time, prior: f64) -> bool {
        let is_full_length = self.model.rtprop.get().is_some_and(|rtprop| now.since(cycle.began) > rtprop);
        match cycle.phase {
            _ if self.params.config.phase_end == PhaseEnd::Time => is_full_length,
            0 => is_full_length && (self.has_lost || prior >= self.inflight(GAINS[0])),
            1 => is_full_length || prior <= self.inflight(1.0),
            _ => is_full_length,
        }
    }
}
