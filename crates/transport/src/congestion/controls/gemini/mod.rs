//! Gemini: one window for marks of datacenter switches and for delay of wide-area links.
//!
//! Zeng et al., "Congestion Control for Cross-Datacenter Networks", section III-B, Algorithm 1 and Tables III and IV. A
//! marked ACK says that a datacenter queue is long, a window of large round trips says that a wide-area queue is; the
//! cut shrinks and the increase grows with the round trip, so that flows of different round trips share alike (Theorem
//! 2). Where the text is silent it follows DCTCP (the average of marks) and TCP (slow start, loss, time-outs), which it
//! cites; a NACK counts as a loss that is found without a time-out. Left out: expiry of the smallest round trip, for
//! which the paper gives no time.
//!
//! In Algorithm 1 as printed the increase stands in the branch of a congested window; the text ("when there is no
//! congestion indication") and figure 7 place it where it is here.
//!
//! Its page: `docs/src/schemes/gemini.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::pace::{Pace, PaceParams, Pacing};
pub use crate::congestion::parts::signals::RttBase;
use crate::congestion::parts::signals::{DataWindow, Marks, Threshold};
use crate::congestion::parts::window::{Bounds, Cap, LARGEST_CUT, Window, tcp_window};
use crate::path::{Class, Path};
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// Parameters of Gemini.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct GeminiConfig {
    /// Marking threshold K in F; 75 KB for each Gb/s (Table IV: 50 packets, of 1,500 B). `ports`: what the ports of the path
    /// have.
    pub k: Threshold,
    /// Increase per round trip, h; scaled by 1.2e-7 (Table IV). Uno's published code: 5376 B.
    pub h: Increase,
    /// Cut for delay, in [0, 1/2]; 0.2 (Table IV). Uno's published code: 0.1.
    pub beta: f64,
    /// Queueing delay T above which the wide area is congested; 5 ms (Table IV).
    pub delay_threshold: Duration,
    /// Whose delay counts; `all`. Uno's published code: `inter`.
    pub delay_signal: DelaySignal,
    /// Weight of the newest window in the average share of marks, in (0, 1]; 1/16 (DCTCP). Uno's published code: 0.5.
    pub gain: f64,
    /// First average share of marks, in [0, 1]; 1 (DCTCP). Uno's published code: 0.
    pub alpha_start: f64,
    /// When the average moves; `window` (DCTCP). Uno's published code: `base_rtt`.
    pub update: Update,
    /// Where the base round trip comes from; `measured` (Table III). Uno's published code: `given`.
    pub rtt_base: RttBase,
    /// The round trip after which the window may be cut once more; `base_rtt` (Algorithm 1).
    pub cut_interval: CutInterval,
    /// Which ACKs grow the window; `used`: not those of packets sent before the last loss, nor of a window less than half
    /// used (RFC 7661). Uno's published code: `always`.
    pub growth: Growth,
    /// The end of slow start; `cut` (RFC 3168): any cut, too. Uno's published code: `threshold`.
    pub slow_start: SlowStartEnd,
    /// The largest window; `none`. Uno's published code: `bdp`.
    pub cap: Cap,
    /// The smallest window that a cut leaves, in packets, 1 or more; 1. Linux: 2. A receiver that delays ACKs holds that of a lone
    /// packet, which a flow of such a window takes for delay.
    pub min_cwnd: f64,
    /// Which round trip the window is spread over; `srtt` (section III-C, rate limiter of the testbed). Uno's
    /// published code: `base_rtt`.
    pub pacing: Pacing,
    /// Whether headers come on top of the paced payload; true. Uno's published code: false.
    pub pacing_headers: bool,
    /// How many times a window in a round trip the rate is, 1 to 4; 1. Linux: 1.2 (`tcp_pacing_ca_ratio`), as timers that are late would
    /// otherwise never let a whole window be in flight.
    pub pacing_gain: f64,
}

/// Increase per round trip.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(expecting = "the value does not fit here; give a size or { factor, min, max }")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Increase {
    /// A constant.
    Constant(Bytes),
    /// In proportion to the bandwidth-delay product.
    Scaled(ScaledIncrease),
}

/// h = H x C x RTT, in packets, with C x RTT in bits: the reading that gives 1 at 1 Gb/s and 8 ms (section III-C).
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ScaledIncrease {
    /// H, in packets per bit; 1.2e-7 (Table IV).
    pub factor: f64,
    /// Smallest h, in packets; 0.1 (section III-C).
    pub min: f64,
    /// Largest h, in packets; 5 (section III-C).
    pub max: f64,
}

/// Whose delay counts as congestion of the wide area.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum DelaySignal {
    /// Every flow's.
    All,
    /// Only that of flows between datacenters.
    Inter,
}

/// When the average share of marks moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Update {
    /// Once per window of data.
    Window,
    /// One base round trip after its last move or after the last cut, whichever is later.
    BaseRtt,
}

/// The round trip after which the window may be cut once more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum CutInterval {
    /// RTT_base: behind a queue that takes longer, several times in a round trip.
    BaseRtt,
    /// RTT_min of the last window, queueing included.
    RttMin,
}

/// Which ACKs grow the window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Growth {
    /// Those of packets sent after the last loss, while at least half of the window is used.
    Used,
    /// All without congestion.
    Always,
}

/// The end of slow start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum SlowStartEnd {
    /// Its threshold, and any cut.
    Cut,
    /// Its threshold alone.
    Threshold,
}

impl Default for GeminiConfig {
    fn default() -> Self {
        Self {
            k: Threshold::Scaled { per_gbps: Bytes::new(75_000) },
            h: Increase::Scaled(ScaledIncrease::default()),
            beta: 0.2,
            delay_threshold: Duration::from_ms(5),
            delay_signal: DelaySignal::All,
            gain: 1.0 / 16.0,
            alpha_start: 1.0,
            update: Update::Window,
            rtt_base: RttBase::Measured,
            cut_interval: CutInterval::BaseRtt,
            growth: Growth::Used,
            slow_start: SlowStartEnd::Cut,
            cap: Cap::None,
            min_cwnd: 1.0,
            pacing: Pacing::Srtt,
            pacing_headers: true,
            pacing_gain: 1.0,
        }
    }
}

impl Default for ScaledIncrease {
    fn default() -> Self {
        Self { factor: 1.2e-7, min: 0.1, max: 5.0 }
    }
}

impl GeminiConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let h = match self.h {
            Increase::Scaled(h) => h,
            Increase::Constant(_) => ScaledIncrease::default(),
        };
        let checks = [
            (0.0..=LARGEST_CUT, "beta", self.beta),
            (1e-6..=1.0, "gain", self.gain),
            (0.0..=1.0, "alpha_start", self.alpha_start),
            (0.0..=1.0, "h.factor", h.factor),
            (0.0..=1e6, "h.min", h.min),
            (h.min.max(0.0)..=1e6, "h.max", h.max),
            (1.0..=1e3, "min_cwnd", self.min_cwnd),
            (1.0..=4.0, "pacing_gain", self.pacing_gain),
        ];
        for (range, parameter, value) in checks {
            ConfigError::unless_in(range, "gemini", parameter, value)?;
        }
        self.k.check("gemini")
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Required,
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

    /// The queueing delay that it aims at on a path: the threshold of its delay signal, which alone tells of the ports between sites.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        self.heeds_delay(path).then_some(self.delay_threshold)
    }

    fn heeds_delay(&self, path: &Path) -> bool {
        self.delay_signal == DelaySignal::All || path.class == Class::Inter
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct GeminiParams {
    /// The parameters.
    config: GeminiConfig,
    /// Smallest and largest window.
    bounds: Bounds,
    /// The base round trip, where it is given.
    base_rtt: Duration,
    /// Whether delay counts for these flows.
    heeds_delay: bool,
    /// K, in bytes.
    k: f64,
    /// C, in bytes per second.
    capacity: f64,
    /// How the window turns into a rate.
    pace: PaceParams,
}

impl GeminiParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &GeminiConfig, path: &Path) -> Self {
        Self {
            config: config.clone(),
            bounds: Bounds::new(path, config.cap.bytes(path)),
            base_rtt: path.base_rtt,
            heeds_delay: config.heeds_delay(path),
            k: config.k.bytes(path),
            capacity: path.line_rate.bytes_per_sec_f64(),
            pace: PaceParams::new(config.pacing, config.pacing_headers, path).with_gain(config.pacing_gain),
        }
    }
}

/// Gemini's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Gemini {
    /// The parameters that the flows of a path share.
    params: Arc<GeminiParams>,
    /// The window, with TCP's slow start and reactions to loss.
    window: Window,
    /// alpha: the average share of marked bytes.
    marks: Marks,
    /// Table III's RTT_base; [`Duration::MAX`] until it is known.
    rtt_base: Duration,
    /// The smallest round trip of the current period.
    rtt_min: Duration,
    /// Table III's RTT_min: the smallest round trip of the previous period; zero before there was one, and after a time-out.
    last_rtt_min: Duration,
    /// The period over which marks and round trips are taken.
    round: DataWindow,
    /// When the window was last reduced; [`NEVER`] before.
    reduced_at: Time,
    /// The rate.
    pace: Pace,
}

/// No window was reduced at this time.
const NEVER: Time = Time::MAX;

impl Gemini {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<GeminiParams>, start: &Start<'_>) -> Self {
        Self {
            window: Window::new(&params.bounds, start),
            marks: Marks::new(params.config.alpha_start),
            rtt_base: match params.config.rtt_base {
                RttBase::Measured => Duration::MAX,
                RttBase::Given => params.base_rtt,
            },
            rtt_min: Duration::MAX,
            last_rtt_min: Duration::ZERO,
            round: DataWindow::default(),
            reduced_at: NEVER,
            pace: Pace::default(),
            params: Arc::clone(params),
        }
    }

    /// Algorithm 1 line 1; gives RTT_base.
    fn update_transport_state(&mut self, ack: &Ack) -> Duration {
        self.pace.on_rtt(&self.params.pace, ack.rtt);
        if self.params.config.rtt_base == RttBase::Measured {
            self.rtt_base = self.rtt_base.min(ack.rtt);
        }
        self.rtt_min = self.rtt_min.min(ack.rtt);
        self.marks.count(ack);
        let over = match self.params.config.update {
            Update::Window => self.round.ended_by(ack),
            Update::BaseRtt => {
                let reduced_at = if self.reduced_at == NEVER { Time::ZERO } else { self.reduced_at };
                let over = ack.now.since(reduced_at.max(self.round.began())) > self.rtt_base;
                if over {
                    self.round.begin(ack.now);
                }
                over
            }
        };
        if over {
            self.marks.end_period(self.params.config.gain);
            self.last_rtt_min = core::mem::replace(&mut self.rtt_min, Duration::MAX);
        }
        self.rtt_base
    }

    /// How long after a cut the window may be cut once more.
    fn cut_interval(&self, rtt_base: Duration) -> Duration {
        match self.params.config.cut_interval {
            CutInterval::BaseRtt => rtt_base,
            CutInterval::RttMin => rtt_base.max(self.last_rtt_min),
        }
    }

    /// C x RTT_base, in bytes.
    fn bdp(&self, rtt_base: Duration) -> f64 {
        self.params.capacity * rtt_base.as_secs_f64()
    }

    /// Algorithm 1 lines 6 to 9: F = 4K / (C x RTT_base + K), cwnd x (1 - max(alpha F, beta)). F exceeds 1 at short
    /// round trips, so alpha F is held at DCTCP's largest cut.
    fn cut(&mut self, now: Time, dcn: bool, wan: bool, rtt_base: Duration) {
        let f = 4.0 * self.params.k / (self.bdp(rtt_base) + self.params.k);
        let f_dcn = if dcn { (self.marks.average() * f).min(LARGEST_CUT) } else { 0.0 };
        let f_wan = if wan { self.params.config.beta } else { 0.0 };
        let part = f_dcn.max(f_wan);
        match self.params.config.slow_start {
            SlowStartEnd::Cut => self.window.cut(&self.params.bounds, part),
            SlowStartEnd::Threshold => self.window.cut_in_slow_start(&self.params.bounds, part),
        }
        self.keep_smallest();
        self.reduced_at = now;
    }

    /// No cut leaves less than the smallest window, and one that a time-out left comes back to it.
    fn keep_smallest(&mut self) {
        let least = self.params.config.min_cwnd * self.params.bounds.mss;
        if self.window.get() < least {
            self.window.resize(&self.params.bounds, least);
        }
    }

    /// Algorithm 1 line 11, in bytes.
    fn increase(&self, rtt_base: Duration) -> f64 {
        match self.params.config.h {
            Increase::Constant(bytes) => bytes.as_f64(),
            Increase::Scaled(ScaledIncrease { factor, min, max }) => {
                (factor * self.bdp(rtt_base) * 8.0).clamp(min, max) * self.params.bounds.mss
            }
        }
    }

    /// TCP's reaction to loss; a recent cut for marks or delay does not hold it back.
    fn lost(&mut self, now: Time, sent_at: Time) {
        if self.window.on_loss(&self.params.bounds, now, sent_at) {
            self.keep_smallest();
            self.reduced_at = now;
        }
    }

    /// A time-out collapses the window.
    fn timed_out(&mut self, now: Time, sent_at: Time) {
        self.window.on_timeout(&self.params.bounds, now, sent_at);
        self.reduced_at = now;
        // It speaks of a window that is gone, and ACKs of what is sent twice may have no round trip to replace it. Uno's code keeps it.
        if self.params.config.update == Update::Window {
            self.last_rtt_min = Duration::ZERO;
        }
    }
}

impl Congestion for Gemini {
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let rtt_base = self.update_transport_state(ack);
        // Lines 2 and 3.
        let dcn = ack.ecn_ce;
        let wan =
            self.params.heeds_delay && self.last_rtt_min > rtt_base + self.params.config.delay_threshold;
        if !(dcn || wan) {
            // Line 12: cwnd = cwnd + h / cwnd.
            let step = self.increase(rtt_base);
            match self.params.config.growth {
                Growth::Used => self.window.grow(&self.params.bounds, ack, step),
                Growth::Always => self.window.grow_always(&self.params.bounds, ack, step),
            }
        } else if self.reduced_at == NEVER || ack.now.since(self.reduced_at) > self.cut_interval(rtt_base) {
            self.cut(ack.now, dcn, wan, rtt_base);
        }
        self.decision()
    }

    tcp_window!();
}

#[cfg(test)]
pub(crate) mod tests;
