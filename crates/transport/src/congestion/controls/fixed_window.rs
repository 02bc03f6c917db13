//! The null control: a window that never moves.
//!
//! It ignores marks, losses and NACKs. For calibration: a lone flow whose window is its bandwidth-delay product runs at
//! line rate over an empty network.
//!
//! Its page: `docs/src/schemes/fixed-window.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::path::Path;
use crate::registry::ConfigError;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind};

/// Parameters of the fixed window.
#[derive(Clone, PartialEq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FixedWindowConfig {
    /// The window in payload bytes, at least one packet; left out: the first window of the scenario.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub cwnd: Option<Bytes>,
    /// The rate on the wire at which packets may leave; left out: as fast as the NIC.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub pacing_rate: Option<Rate>,
}

impl FixedWindowConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// A window or a rate of zero.
    pub fn check(&self) -> Result<(), ConfigError> {
        let name = "fixed_window";
        let cwnd = self.cwnd.unwrap_or(Bytes::MAX);
        ConfigError::if_zero(cwnd.is_zero(), name, "cwnd", &cwnd, "lets nothing leave", "a size")?;
        let rate = self.pacing_rate.unwrap_or(Rate::from_bps(1));
        ConfigError::if_zero(rate.is_zero(), name, "pacing_rate", &rate, "lets nothing leave", "a rate")
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: false,
            send_record: false,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The parameters, which no path changes.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedWindowParams(FixedWindowConfig);

impl FixedWindowParams {
    /// The parameters.
    #[must_use]
    pub fn new(config: &FixedWindowConfig, _path: &Path) -> Self {
        Self(config.clone())
    }
}

/// A window that never moves.
#[derive(Clone, PartialEq, Debug)]
pub struct FixedWindow {
    /// The decision that it always gives.
    decision: Decision,
}

impl FixedWindow {
    /// The control for one flow.
    #[must_use]
    pub fn new(FixedWindowParams(config): &FixedWindowParams, start: &Start<'_>) -> Self {
        let cwnd = config.cwnd.unwrap_or(start.initial_cwnd).max(start.path.mss);
        Self { decision: Decision { pacing_rate: config.pacing_rate, ..Decision::window(cwnd) } }
    }
}

impl Congestion for FixedWindow {
    fn decision(&self) -> Decision {
        self.decision
    }

    fn on_ack(&mut self, _ack: &Ack) -> Decision {
        self.decision
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, START_CWND, start};
    use alloc::string::ToString;

    fn fixed(config: &FixedWindowConfig) -> FixedWindow {
        FixedWindow::new(&FixedWindowParams::new(config, start().path), &start())
    }

    #[test]
    fn the_window_is_the_first_window_and_stays() {
        let mut control = fixed(&FixedWindowConfig::default());
        let expected = Decision::window(START_CWND);
        assert_eq!(control.decision(), expected);
        assert_eq!(control.on_ack(&AckStream::new(&start()).next(true)), expected);
    }

    #[test]
    fn a_configured_window_and_rate_win() {
        let config =
            FixedWindowConfig { cwnd: Some(Bytes::new(50_000)), pacing_rate: Some(Rate::from_gbps(1)) };
        let decision = fixed(&config).decision();
        assert_eq!(decision.cwnd, Bytes::new(50_000));
        assert_eq!(decision.pacing_rate, Some(Rate::from_gbps(1)));
    }

    #[test]
    fn a_window_below_one_packet_is_one_packet() {
        let config = FixedWindowConfig { cwnd: Some(Bytes::new(1)), pacing_rate: None };
        assert_eq!(fixed(&config).decision().cwnd, start().path.mss);
    }

    #[test]
    fn nothing_at_all_is_refused() {
        let no_window = FixedWindowConfig { cwnd: Some(Bytes::ZERO), pacing_rate: None };
        assert_eq!(no_window.check().unwrap_err().parameter, "cwnd");
        let no_rate = FixedWindowConfig { cwnd: None, pacing_rate: Some(Rate::ZERO) };
        assert_eq!(
            no_rate.check().unwrap_err().to_string(),
            "fixed_window: pacing_rate = 0bps lets nothing leave; give a rate"
        );
        assert_eq!(FixedWindowConfig::default().check(), Ok(()));
    }
}
