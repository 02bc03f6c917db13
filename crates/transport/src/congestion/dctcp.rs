//! DCTCP: cuts the window in proportion to the share of marked bytes.
//!
//! RFC 8257 sections 3.3 to 3.5. Left out: the receiver's CE state machine (every packet has its own ACK here, with its
//! own echo), and TCP's delayed ACKs. The start of the average depends on the first window (see
//! [`Config::alpha_start`]); in a scenario that starts with a whole bandwidth-delay product the RFC's value would halve
//! every flow at its first mark.

use super::pace::Pace;
use super::signals::{Marks, Round};
use super::window::Window;
use super::{Ack, Congestion, Decision, Loss, Nack, Pacing, Start, Timeout};
use crate::congestion::ConfigError;
use farspan_units::Time;

/// Parameters of DCTCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Config {
    /// Weight g of the newest window in the average share of marked bytes, in (0, 1]; 1/16 (RFC 8257 section 4.2).
    pub gain: f64,
    /// First average share of marked bytes, in [0, 1]; left out: 1 (RFC 8257 section 3.3) where the first window is
    /// smaller than the bandwidth-delay product, else 0.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub alpha_start: Option<f64>,
    /// Which round trip the window is spread over; `off` (RFC 8257 knows no pacing).
    pub pacing: Pacing,
}

impl Default for Config {
    fn default() -> Self {
        Self { gain: 1.0 / 16.0, alpha_start: None, pacing: Pacing::Off }
    }
}

impl Config {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1e-6..=1.0, "dctcp", "gain", self.gain)?;
        ConfigError::unless_in(0.0..=1.0, "dctcp", "alpha_start", self.alpha_start.unwrap_or(0.0))
    }
}

/// DCTCP's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Dctcp {
    /// The window, with TCP's slow start and reactions to loss.
    window: Window,
    /// DCTCP.Alpha: the average share of marked bytes.
    marks: Marks,
    /// The observation window, up to DCTCP.WindowEnd.
    round: Round,
    /// The window that a mark or a loss has reduced already.
    reduced: Round,
    /// The rate.
    pace: Pace,
}

impl Dctcp {
    /// The control for one flow.
    #[must_use]
    pub fn new(config: &Config, start: &Start<'_>) -> Self {
        let searching = start.initial_cwnd < start.path.bdp;
        let alpha = config.alpha_start.unwrap_or(if searching { 1.0 } else { 0.0 });
        Self {
            window: Window::new(start, f64::INFINITY),
            marks: Marks::new(config.gain, alpha),
            round: Round::default(),
            reduced: Round::default(),
            pace: Pace::new(config.pacing, true, start),
        }
    }

    /// Section 3.5: as TCP, but no second cut in a window that marks have reduced.
    fn lost(&mut self, now: Time, sent_at: Time) {
        if self.reduced.ended_at(now, sent_at) {
            self.window.on_loss(now, sent_at);
        }
    }
}

impl Congestion for Dctcp {
    fn decision(&self) -> Decision {
        Decision {
            cwnd: self.window.bytes(),
            pacing_rate: self.pace.rate(self.window.get()),
            next_timer: None,
        }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        self.pace.on_rtt(ack.rtt);
        self.marks.count(ack);
        // Section 3.3, steps 3 to 7: M = marked / acked; Alpha = Alpha x (1 - g) + g x M, once per window.
        if self.round.ended_by(ack) {
            self.marks.end_period();
        }
        if !ack.ecn_ce {
            self.window.grow(ack, self.window.mss());
        } else if self.reduced.ended_by(ack) {
            // Section 3.3, step 9: cwnd = cwnd x (1 - Alpha / 2), once per window.
            self.window.cut(self.marks.average() / 2.0);
        }
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.lost(nack.now, nack.sent_at);
        self.decision()
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.lost(loss.now, loss.sent_at);
        self.decision()
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.window.on_timeout(timeout.now, timeout.sent_at);
        self.decision()
    }
}
