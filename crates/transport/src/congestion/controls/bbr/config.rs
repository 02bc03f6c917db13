//! The parameters of BBR: version 1 by default, and what Uno's published code changes.

use crate::congestion::contract::{Ecn, NackRule, Needs, SignalBytes};
use crate::congestion::parts::window::Cap;
use crate::path::Path;
use crate::registry::ConfigError;
use core::f64::consts::LN_2;
use farspan_units::{Duration, Rate, TelemetryKind};

/// Parameters of BBR.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct BbrConfig {
    /// Gain of rate and window in STARTUP, in [1, 10]; 2 / ln 2 (section 4.1.1.4). Uno's published code: 2.89.
    pub startup_gain: f64,
    /// Gain of the rate in DRAIN, in (0, 1]; ln 2 / 2 (section 4.3.3). Uno's published code: 0.35.
    pub drain_gain: f64,
    /// Gain of the window after STARTUP, in [1, 10]; 2 (section 4.2.3.2).
    pub cwnd_gain: f64,
    /// The part by which packets leave more slowly than gain x bandwidth, in [0, 0.5]; 0.01 (Linux). Uno's published
    /// code: 0.
    pub pacing_margin: f64,
    /// Where the round-trip propagation time comes from; `measured` (section 4.1.2). Uno's published code: `given`.
    pub rtprop: Rtprop,
    /// How long a smallest round trip counts; 10 s (section 4.1.2.3).
    pub rtprop_window: Duration,
    /// How long PROBE_RTT lasts at least; 200 ms (section 4.3.5).
    pub probe_rtt: Duration,
    /// Which phase PROBE_BW begins with; `random` (section 4.3.4.3). Uno's published code: `first`.
    pub first_phase: FirstPhase,
    /// When a phase of PROBE_BW ends; `in_flight` (section 4.3.4.3). Uno's published code: `time`.
    pub phase_end: PhaseEnd,
    /// The window after a time-out; `restore` (section 4.2.3.4). Uno's published code: `collapse`.
    pub on_timeout: OnTimeout,
    /// The largest window; `none`. Uno's published code: `bdp`.
    pub cap: Cap,
    /// The smallest bandwidth estimate; 0. Uno's published code: 3 Gb/s.
    pub min_bandwidth: Rate,
    /// The burst of which three are a window's head-room; `packet`, since the pacer lets single packets go.
    pub quantum: Quantum,
    /// Whether the window after STARTUP has room for ACKs that come in lumps: what was acknowledged beyond BtlBw, at most, in the
    /// last five to ten rounds; false. Linux has it since 5.1.
    pub extra_acked: bool,
}

/// The burst of which three are a window's head-room (section 4.2.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Quantum {
    /// One packet.
    Packet,
    /// As much as the pacing rate sends in 1 ms, at most 64 KiB; below 24 Mb/s two packets, below 1.2 Mb/s one (section 4.2.2).
    Draft,
    /// The whole packets that the pacing rate sends in 1 s / 1,024, at most 64 KiB; never fewer than two, below 1.2 Mb/s one
    /// (Linux).
    Linux,
}

/// Where the round-trip propagation time comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Rtprop {
    /// The smallest round trip of the window; PROBE_RTT looks for it when it has not been seen again.
    Measured,
    /// The base round trip of the topology; there is nothing for PROBE_RTT to look for.
    Given,
}

/// Which phase of its cycle of gains PROBE_BW begins with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum FirstPhase {
    /// Any but the one of 3/4.
    Random,
    /// That of 5/4.
    First,
}

/// When a phase of PROBE_BW ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum PhaseEnd {
    /// After RTprop; that of 5/4 not before so much is in flight or something was lost, that of 3/4 as soon as no more
    /// than a bandwidth-delay product is in flight.
    InFlight,
    /// After RTprop.
    Time,
}

/// The window after a time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum OnTimeout {
    /// One packet, once for all packets that were in flight together; what the window was when they are recovered.
    Restore,
    /// One packet, at every time-out; ACKs let it grow again.
    Collapse,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self {
            startup_gain: 2.0 / LN_2,
            drain_gain: LN_2 / 2.0,
            cwnd_gain: 2.0,
            pacing_margin: 0.01,
            rtprop: Rtprop::Measured,
            rtprop_window: Duration::from_ms(10_000),
            probe_rtt: Duration::from_ms(200),
            first_phase: FirstPhase::Random,
            phase_end: PhaseEnd::InFlight,
            on_timeout: OnTimeout::Restore,
            cap: Cap::None,
            min_bandwidth: Rate::ZERO,
            quantum: Quantum::Packet,
            extra_acked: false,
        }
    }
}

impl BbrConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let checks = [
            (1.0..=10.0, "startup_gain", self.startup_gain),
            (0.01..=1.0, "drain_gain", self.drain_gain),
            (1.0..=10.0, "cwnd_gain", self.cwnd_gain),
            (0.0..=0.5, "pacing_margin", self.pacing_margin),
        ];
        for (range, parameter, value) in checks {
            ConfigError::unless_in(range, "bbr", parameter, value)?;
        }
        let window = &self.rtprop_window;
        let effect = "would look for the smallest round trip for ever";
        ConfigError::if_zero(window.is_zero(), "bbr", "rtprop_window", window, effect, "a time")
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: true,
            send_record: true,
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
