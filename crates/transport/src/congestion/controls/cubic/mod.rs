//! CUBIC: a window that grows with the cube of the time since it was last cut, towards where it was then.
//!
//! RFC 9438; HyStart++ is RFC 9406. The window and its targets are real numbers: kept in whole bytes, the cube is late by
//! many round trips near its plateau, where it moves by less than a byte an ACK. Left out: the undoing of cuts that turn
//! out spurious (section 4.9). A NACK, which TCP does not know, counts as a loss.
//!
//! Its page: `docs/src/schemes/cubic.md`.

mod hystart;
#[cfg(test)]
mod tests;

pub use self::hystart::HyStart;

use self::hystart::{SLOWER, SlowStart, SlowStartStep};
use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::pace::{Pace, PaceParams, Pacing};
use crate::congestion::parts::window::{Bounds, Window, tcp_window, to_f64};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Duration, TelemetryKind, Time};

/// Parameters of CUBIC.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CubicConfig {
    /// C, in packets per cubic second; 0.4 (section 5).
    pub c: f64,
    /// Share of the window that a loss leaves, in (0, 1); 0.7 (section 4.6).
    pub beta: f64,
    /// Whether a window that was cut before it had reached the last plateau gives way (section 4.7); true.
    pub fast_convergence: bool,
    /// Whether it is never slower than a Reno of the same mean window (section 4.3); true.
    pub friendly: bool,
    /// Whether that Reno grows by a packet a round trip once it is where the window was before the cut (section 4.3); true. Linux has the older
    /// rule, by which it never does (RFC 8312 section 4.2).
    pub catches_up: bool,
    /// Whether a cut leaves whole packets of whole packets, rounded down; false. Linux, whose windows are numbers of packets: true.
    pub whole_packets: bool,
    /// Whether a mark cuts the window as a loss does (section 4.6); false: only losses do.
    pub ecn: bool,
    /// The fewest packets that a mark leaves, at least 1: 1 (RFC 3168 section 6.1.2); Linux leaves 2, as a loss does.
    pub min_cwnd: f64,
    /// How slow start ends before a loss; `plus_plus` (section 4.10). Linux: `linux`.
    pub hystart: HyStart,
    /// Which round trip the window is spread over; `off` (the RFC knows no pacing).
    pub pacing: Pacing,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            friendly: true,
            catches_up: true,
            whole_packets: false,
            ecn: false,
            min_cwnd: 1.0,
            hystart: HyStart::PlusPlus,
            pacing: Pacing::Off,
        }
    }
}

impl CubicConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1e-6..=1e6, "cubic", "c", self.c)?;
        ConfigError::unless_in(0.01..=0.99, "cubic", "beta", self.beta)?;
        ConfigError::unless_in(1.0..=1e3, "cubic", "min_cwnd", self.min_cwnd)
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: if self.ecn { Ecn::AsLoss } else { Ecn::Ignored },
            sent: false,
            send_record: false,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Published,
            signal_bytes: SignalBytes::NONE,
        }
    }

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct CubicParams {
    /// The parameters.
    config: CubicConfig,
    /// Growth of the friendly window, in packets a window, while it is below the window before the cut.
    alpha: f64,
    /// Smallest and largest window.
    bounds: Bounds,
    /// How the window turns into a rate.
    pace: PaceParams,
}

impl CubicParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &CubicConfig, path: &Path) -> Self {
        Self {
            // Section 4.3, equation 4: as fast as Reno in the mean, with cuts to beta.
            alpha: 3.0 * (1.0 - config.beta) / (1.0 + config.beta),
            bounds: Bounds::new(path, f64::INFINITY),
            pace: PaceParams::new(config.pacing, true, path),
            config: config.clone(),
        }
    }
}

/// The smallest window after a loss, in packets; a mark leaves `min_cwnd` (section 4.6).
const LEAST: f64 = 2.0;

/// One stage of congestion avoidance, in packets and seconds.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stage {
    /// K: when the plateau is reached.
    k: f64,
    /// The plateau.
    plateau: f64,
    /// W_est: the window of a Reno that began with it.
    friendly: f64,
    /// Time spent growing. A window that is not used stands still, and so does this clock (section 4.2).
    elapsed: f64,
    /// The window, in bytes, that it led to. Where something else has moved it since, the stage is over.
    cwnd: f64,
}

/// The part of a flow's life that it is in: the other's state is not kept beside it.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Phase {
    SlowStart(SlowStart),
    Avoidance(Stage),
}

/// CUBIC's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Cubic {
    /// The parameters that the flows of a path share.
    params: Arc<CubicParams>,
    /// The window, with Reno's slow start. A mark begins an episode as a loss does.
    window: Window,
    phase: Phase,
    /// W_max: the next plateau, in packets; zero where there is none (sections 4.8 and 4.10).
    w_max: f64,
    /// cwnd_prior: the window before it was last cut, in packets.
    before: f64,
    /// When the last ACK came.
    acked_at: Time,
    /// The smoothed round trip, and the rate.
    pace: Pace,
}

impl Cubic {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<CubicParams>, start: &Start<'_>) -> Self {
        Self {
            window: Window::new(&params.bounds, start),
            phase: Phase::SlowStart(SlowStart::first(params.config.hystart)),
            w_max: 0.0,
            before: 0.0,
            acked_at: Time::ZERO,
            pace: Pace::default(),
            params: Arc::clone(params),
        }
    }

    fn packets(&self) -> f64 {
        self.window.get() / self.params.bounds.mss
    }

    /// Slow start, as HyStart lets it.
    fn start(&mut self, ack: &Ack) {
        let packets = self.packets();
        let CubicParams { config, bounds, .. } = &*self.params;
        let step = match &mut self.phase {
            Phase::SlowStart(slow) => slow.on_ack(ack, packets, config.pacing != Pacing::Off),
            Phase::Avoidance(_) => SlowStartStep::Grow,
        };
        match step {
            SlowStartStep::End => self.window.end_slow_start(),
            _ if !self.window.may_grow(ack) => {}
            SlowStartStep::Grow => self.window.grow_always(bounds, ack, bounds.mss),
            SlowStartStep::GrowSlowly => {
                let cwnd = self.window.get() + SLOWER * to_f64(ack.bytes_acked);
                self.window.resize(bounds, cwnd);
            }
        }
    }

    /// Section 4.2: W_cubic(t) = C (t - K)^3 + W_max, and the friendly window of section 4.3.
    fn avoid(&mut self, ack: &Ack, since_last: Duration) {
        let CubicParams { config, alpha, bounds, .. } = &*self.params;
        let cwnd = self.window.get() / bounds.mss;
        let going_on = match self.phase {
            Phase::Avoidance(stage) if stage.cwnd == self.window.get() => Some(stage),
            Phase::Avoidance(_) | Phase::SlowStart(_) => None,
        };
        let mut stage = going_on.unwrap_or_else(|| {
            let (k, plateau) = if cwnd < self.w_max {
                // Equation 2.
                (libm::cbrt((self.w_max - cwnd) / config.c), self.w_max)
            } else {
                (0.0, cwnd)
            };
            Stage { k, plateau, friendly: cwnd, elapsed: 0.0, cwnd: 0.0 }
        });
        if going_on.is_some() {
            stage.elapsed += since_last.as_secs_f64();
        }
        // Equation 1.
        let window = |t: f64| {
            let from_plateau = t - stage.k;
            config.c * from_plateau * from_plateau * from_plateau + stage.plateau
        };
        let acked = to_f64(ack.bytes_acked) / bounds.mss;
        let target = window(stage.elapsed + self.pace.srtt()).clamp(cwnd, 1.5 * cwnd);
        let mut next = cwnd + (target - cwnd) / cwnd * acked;
        if config.friendly {
            // Equation 4; once it is where the window was before the cut, it grows as Reno.
            let is_back = config.catches_up && stage.friendly >= self.before;
            let step = if is_back { 1.0 } else { *alpha };
            stage.friendly += step * acked / cwnd;
            if window(stage.elapsed) < stage.friendly {
                next = next.max(stage.friendly);
            }
        }
        self.window.resize(bounds, next * bounds.mss);
        stage.cwnd = self.window.get();
        self.phase = Phase::Avoidance(stage);
    }

    /// Section 4.6, down to so many packets, and fast convergence, section 4.7.
    fn cut(&mut self, least: f64) {
        let CubicParams { config, bounds, .. } = &*self.params;
        let held = self.window.get() / bounds.mss;
        let (cwnd, kept) = if config.whole_packets {
            let cwnd = libm::floor(held);
            // Seven tenths of 90 packets are 63, and a hair less as floating numbers.
            (cwnd, libm::floor(cwnd * config.beta + 1e-9) / held)
        } else {
            (held, config.beta)
        };
        let gives_way = config.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + config.beta) / 2.0 } else { cwnd };
        self.before = cwnd;
        self.window.keep(bounds, kept, least);
        // The next ACK begins a stage.
        self.phase = Phase::SlowStart(SlowStart::Plain);
    }

    fn lost(&mut self, now: Time, sent_at: Time) {
        if self.window.begins_episode(now, sent_at) {
            self.cut(LEAST);
        }
    }

    /// Section 4.8: as Reno, with beta; what follows has a plateau where it begins.
    fn timed_out(&mut self, now: Time, sent_at: Time) {
        let CubicParams { config, bounds, .. } = &*self.params;
        let cwnd = self.window.get() / bounds.mss;
        if self.window.collapse(bounds, now, sent_at, config.beta) {
            self.w_max = 0.0;
            // A second time-out in a row leaves the threshold, and what it follows from.
            if cwnd > 1.0 {
                self.before = cwnd;
            }
            self.phase = Phase::SlowStart(SlowStart::after_timeout(config.hystart, now));
        }
    }
}

impl Congestion for Cubic {
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.pace.smooth(ack.rtt);
        // Without the time in which nothing was under way.
        let since_last = ack.now.since(core::mem::replace(&mut self.acked_at, ack.now).max(ack.sent_at));
        if self.params.config.ecn && ack.ecn_ce {
            if self.window.begins_episode(ack.now, ack.sent_at) {
                self.cut(self.params.config.min_cwnd);
            }
        } else if self.window.is_slow_start() {
            self.start(ack);
        } else if self.window.may_grow(ack) {
            self.avoid(ack, since_last);
        }
        self.decision()
    }

    tcp_window!();
}
