//! The parameters of UnoCC: each choice that the paper leaves, with the paper's reading as the default.

use crate::congestion::contract::{Ecn, NackRule, Needs, SignalBytes};
use crate::congestion::parts::pace::Pacing;
use crate::congestion::parts::signals::{Threshold, ThresholdRule};
use crate::path::Path;
use crate::registry::ConfigError;
use farspan_units::{Duration, TelemetryKind};

/// Parameters of UnoCC.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UnoccConfig {
    /// Additive increase per round trip, as a part of the flow's bandwidth-delay product; 0.001 (Table 2).
    pub alpha: f64,
    /// Quick Adapt acts below this part of the window, in (0, 1]; 0.5 (Table 2).
    pub beta: f64,
    /// Marking threshold K of the decrease; `bdp_over_7` (Table 2). Published code: 24576 B.
    pub k: Threshold,
    /// When the window is cut.
    pub epoch: EpochConfig,
    /// The average share of marked bytes, E.
    pub ewma: EwmaConfig,
    /// How much gentler a cut is while only phantom queues are full.
    pub md_scale: MdScaleConfig,
    /// How congestion of phantom queues is distinguished from that of real ones.
    pub delay: DelayConfig,
    /// Quick Adapt.
    pub qa: QaConfig,
    /// Which round trip the window is spread over; `base_rtt` (section 5.1, "hardware pacing").
    pub pacing: Pacing,
    /// Whether headers come on top of the paced payload; true. Published code: false.
    pub pacing_headers: bool,
    /// How many times a window in a round trip the rate is, 1 to 4; 1. As Linux TCP: 1.2 (`tcp_pacing_ca_ratio`), as timers that are late
    /// would otherwise never let a whole window be in flight.
    pub pacing_gain: f64,
}

/// When an epoch begins and ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct EpochConfig {
    /// The event that begins the first epoch; `first_ack` (section 4.1.1). Published code: `full_window`.
    pub start: EpochStart,
    /// How far an epoch's end moves on; `constant` (section 4.1.1). Published code: `proportional`. `base_rtt` is an ablation.
    pub period: EpochPeriod,
    /// The time from which the next epoch's end is computed; `max`. Published code: `previous`.
    pub debt: EpochDebt,
}

/// The event that begins the first epoch, or the first after a Quick Adapt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum EpochStart {
    /// The first ACK of a packet sent since.
    FirstAck,
    /// The packet that completes one window of bytes sent since.
    FullWindow,
}

/// How far an epoch's end moves on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum EpochPeriod {
    /// The base round trip inside a datacenter, for both classes.
    Constant,
    /// The measured round trip, scaled to a datacenter's: x BDP inside / BDP of the flow's class.
    Proportional,
    /// The flow's own base round trip: flows between datacenters react more rarely, as with Gemini. An ablation, not a reading of the paper:
    /// it shows the worth of the same granularity.
    BaseRtt,
}

/// The time from which the next epoch's end is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum EpochDebt {
    /// The previous end, but not earlier than the send time of the packet that ended the epoch: a flow that was silent
    /// does not save up epochs.
    Max,
    /// The previous end.
    Previous,
}

/// The average share of marked bytes over epochs, E; it begins at 0.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct EwmaConfig {
    /// Weight of the newest epoch, in (0, 1]; 0.5 (published code for figures 10 to 12; 0.65 for the others).
    pub gain: f64,
    /// The reaction to a marked epoch while E falls; `decrease` (Algorithm 1). Published code: `increase`.
    pub falling: Falling,
}

/// The reaction to a marked epoch while the average share of marks falls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Falling {
    /// Cuts the window all the same.
    Decrease,
    /// Adds one increase with all bytes acknowledged in the epoch instead, unless E is above 0.9.
    Increase,
}

/// How much gentler a cut is while only phantom queues are full.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MdScaleConfig {
    /// MD_scale of such a cut, in (0, 1]; 0.3 (Algorithm 1 line 10). Published code: 0.35.
    pub factor: f64,
    /// Whether consecutive ones multiply (Algorithm 1 as printed); false (the prose of section 4.1.1).
    pub cumulative: bool,
}

/// How congestion of phantom queues is distinguished from that of real ones: by a delay of "zero" (Algorithm 1 line 9).
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DelayConfig {
    /// Which round trip of the epoch counts; `min_marked`. Published code: `last`.
    pub sample: DelaySample,
    /// Up to which delay it counts as none; `hops`. Published code: 0.055.
    pub tolerance: Tolerance,
}

/// Which round trip of an epoch counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum DelaySample {
    /// The smallest among its marked ACKs.
    MinMarked,
    /// That of the ACK which ended it.
    Last,
}

/// Up to which delay a path counts as empty.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(expecting = "the value does not fit here; give \"hops\" or a fraction of the base round trip")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Tolerance {
    /// A rule.
    Rule(ToleranceRule),
    /// A fraction of the flow's base round trip.
    Fraction(f64),
}

/// How a tolerance follows from the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum ToleranceRule {
    /// One full packet of other traffic ahead at each hop.
    Hops,
}

/// Quick Adapt (section 4.1.2).
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct QaConfig {
    /// How long a period is; `measured`. Published code: 1.05 base round trips.
    pub period: QaPeriod,
    /// The reference for the bytes acknowledged in a period; `in_flight`. Published code: `cwnd`.
    pub reference: QaReference,
    /// The window afterwards, as a part of the bytes acknowledged, in (0, 1]; 1 (Algorithm 1). Published code: 0.96.
    pub factor: f64,
    /// Whether a time-out or the NACK of a packet that was trimmed, or that a proxy found lost, too, evaluates a period that is over; true.
    /// Published code: false.
    pub on_timeout: bool,
    /// The event that begins the first epoch after a Quick Adapt; `first_ack` (section 4.1.2: one round trip without a
    /// cut). Published code: `full_window`. In both, the next period is opened by the first ACK of a packet sent
    /// afterwards.
    pub pause: EpochStart,
}

/// How long a Quick Adapt period is.
#[derive(Clone, Copy, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(expecting = "the value does not fit here; give \"measured\" or a number of base round trips")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum QaPeriod {
    /// A rule.
    Rule(QaPeriodRule),
    /// A multiple of the base round trip.
    BaseRtts(f64),
}

/// How a Quick Adapt period follows from the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum QaPeriodRule {
    /// The round trip of the ACK that opens the period.
    Measured,
}

/// The reference for the bytes acknowledged in a Quick Adapt period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum QaReference {
    /// The window, or the bytes in flight when the period opened if those are fewer: a window that could not be used
    /// is no sign of congestion.
    InFlight,
    /// The window.
    Cwnd,
}

impl Default for UnoccConfig {
    fn default() -> Self {
        Self {
            alpha: 0.001,
            beta: 0.5,
            k: Threshold::Rule(ThresholdRule::BdpOver7),
            epoch: EpochConfig::default(),
            ewma: EwmaConfig::default(),
            md_scale: MdScaleConfig::default(),
            delay: DelayConfig::default(),
            qa: QaConfig::default(),
            pacing: Pacing::BaseRtt,
            pacing_headers: true,
            pacing_gain: 1.0,
        }
    }
}

impl Default for EpochConfig {
    fn default() -> Self {
        Self { start: EpochStart::FirstAck, period: EpochPeriod::Constant, debt: EpochDebt::Max }
    }
}

impl Default for EwmaConfig {
    fn default() -> Self {
        Self { gain: 0.5, falling: Falling::Decrease }
    }
}

impl Default for MdScaleConfig {
    fn default() -> Self {
        Self { factor: 0.3, cumulative: false }
    }
}

impl Default for DelayConfig {
    fn default() -> Self {
        Self { sample: DelaySample::MinMarked, tolerance: Tolerance::Rule(ToleranceRule::Hops) }
    }
}

impl Default for QaConfig {
    fn default() -> Self {
        Self {
            period: QaPeriod::Rule(QaPeriodRule::Measured),
            reference: QaReference::InFlight,
            factor: 1.0,
            on_timeout: true,
            pause: EpochStart::FirstAck,
        }
    }
}

impl UnoccConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let tolerance = match self.delay.tolerance {
            Tolerance::Rule(ToleranceRule::Hops) => 0.0,
            Tolerance::Fraction(fraction) => fraction,
        };
        let period = match self.qa.period {
            QaPeriod::Rule(QaPeriodRule::Measured) => 1.0,
            QaPeriod::BaseRtts(number) => number,
        };
        let checks = [
            (1e-9..=1.0, "alpha", self.alpha),
            (1e-6..=1.0, "beta", self.beta),
            (1e-6..=1.0, "ewma.gain", self.ewma.gain),
            (1e-6..=1.0, "md_scale.factor", self.md_scale.factor),
            (0.0..=100.0, "delay.tolerance", tolerance),
            (0.1..=100.0, "qa.period", period),
            (1e-6..=1.0, "qa.factor", self.qa.factor),
            (1.0..=4.0, "pacing_gain", self.pacing_gain),
        ];
        for (range, parameter, value) in checks {
            ConfigError::unless_in(range, "unocc", parameter, value)?;
        }
        self.k.check("unocc")
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Required,
            sent: matches!(self.epoch.start, EpochStart::FullWindow)
                || matches!(self.qa.pause, EpochStart::FullWindow),
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
