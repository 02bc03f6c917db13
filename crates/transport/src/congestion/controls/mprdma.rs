//! MP-RDMA's control loop: each marked ACK takes half a packet, each window without marks adds one.
//!
//! Lu et al., "Multi-Path Transport for RDMA in Datacenters" (NSDI 2018), section 3.1. The loop needs no rounds and no
//! averages: at a share p of marked ACKs the window rests where (1 - p) / cwnd = p / 2, that is at 2 (1 - p) / p
//! packets whatever the round trip, so that flows of one round trip share alike and others in inverse proportion to it.
//! A NACK counts as a mark. Left out: MP-RDMA's own paths (a path selector chooses them here), its out-of-order
//! control, and its recovery (Uno's evaluation runs the loop over time-outs for each packet, which do not move the
//! window).
//!
//! Its page: `docs/src/schemes/mprdma.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, Nack, NackRule, Needs, SignalBytes, Start,
};
use crate::congestion::parts::pace::{Pace, PaceParams, Pacing};
use crate::congestion::parts::window::{Bounds, Cap};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind};

/// Parameters of MP-RDMA's control loop.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MprdmaConfig {
    /// The decrease for a marked ACK, in packets, in (0, 1]; 0.5 (section 3.1). Uno's published code: 0.15 for figures
    /// 3, 8, 9.
    pub cut: f64,
    /// The largest window; `none`. Uno's published code: `bdp`.
    pub cap: Cap,
    /// Which round trip the window is spread over; `off` (section 3.1: clocked by ACKs). Uno's published code:
    /// `base_rtt` for figures 10 to 12.
    pub pacing: Pacing,
    /// Whether headers come on top of the paced payload; true. Uno's published code: false.
    pub pacing_headers: bool,
}

impl Default for MprdmaConfig {
    fn default() -> Self {
        Self { cut: 0.5, cap: Cap::None, pacing: Pacing::Off, pacing_headers: true }
    }
}

impl MprdmaConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1e-6..=1.0, "mprdma", "cut", self.cut)
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

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct MprdmaParams {
    /// The decrease for a marked ACK, in bytes.
    cut: f64,
    /// Smallest and largest window.
    bounds: Bounds,
    /// How the window turns into a rate.
    pace: PaceParams,
}

impl MprdmaParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &MprdmaConfig, path: &Path) -> Self {
        let bounds = Bounds::new(path, config.cap.bytes(path));
        let pace = PaceParams::new(config.pacing, config.pacing_headers, path);
        Self { cut: config.cut * bounds.mss, bounds, pace }
    }
}

/// MP-RDMA's control loop for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Mprdma {
    /// The parameters that the flows of a path share.
    params: Arc<MprdmaParams>,
    /// The window, in bytes.
    cwnd: f64,
    /// The rate.
    pace: Pace,
}

impl Mprdma {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<MprdmaParams>, start: &Start<'_>) -> Self {
        let cwnd = params.bounds.clamp(start.initial_cwnd.as_f64());
        Self { params: Arc::clone(params), cwnd, pace: Pace::default() }
    }

    /// Section 3.1: cwnd = cwnd - 1/2.
    fn cut(&mut self) {
        self.cwnd = self.params.bounds.clamp(self.cwnd - self.params.cut);
    }
}

impl Congestion for Mprdma {
    fn decision(&self) -> Decision {
        Decision {
            cwnd: Bytes::new(self.cwnd as i64 as u64),
            pacing_rate: self.pace.rate(&self.params.pace, self.cwnd),
            next_timer: None,
            allowance: None,
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.pace.on_rtt(&self.params.pace, ack.rtt);
        let used = (ack.in_flight + ack.bytes_acked).as_f64();
        if ack.ecn_ce {
            self.cut();
        } else if 2.0 * used >= self.cwnd {
            // Section 3.1: cwnd = cwnd + 1 / cwnd, in packets; not while less than half of the window is used (RFC 7661).
            let step = self.params.bounds.mss * ack.bytes_acked.as_f64() / self.cwnd;
            self.cwnd = self.params.bounds.clamp(self.cwnd + step);
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.cwnd = self.params.bounds.clamp(self.cwnd.min(most.as_f64()));
        self.decision()
    }

    fn on_nack(&mut self, _nack: &Nack) -> Decision {
        self.cut();
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, MSS, near, start, start_with, timeout};
    use crate::congestion::{Loss, NackCause};
    use farspan_units::Rate;

    /// As Uno's published code runs it for figures 10 to 12.
    pub(crate) fn artifact() -> MprdmaConfig {
        MprdmaConfig { cut: 0.5, cap: Cap::Bdp, pacing: Pacing::BaseRtt, pacing_headers: false }
    }

    fn mprdma(config: &MprdmaConfig, start: &Start<'_>) -> Mprdma {
        Mprdma::new(&Arc::new(MprdmaParams::new(config, start.path)), start)
    }

    /// Ten packets, and ACKs that find the window used.
    fn ten() -> (Mprdma, AckStream) {
        let start = start_with(Bytes::new(40_960));
        (mprdma(&MprdmaConfig::default(), &start), AckStream::new(&start))
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let config = MprdmaConfig { cut: 0.0, ..MprdmaConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "cut");
        assert_eq!(MprdmaConfig::default().check(), Ok(()));
        assert_eq!(artifact().check(), Ok(()));
    }

    #[test]
    fn a_window_of_unmarked_acks_adds_one_packet() {
        let (mut control, mut acks) = ten();
        control.on_ack(&acks.next(false));
        near(control.cwnd, 10.1 * MSS, 1e-6);
        for _ in 0..9 {
            control.on_ack(&acks.next(false));
        }
        near(control.cwnd, 11.0 * MSS, 0.05 * MSS);
    }

    #[test]
    fn a_marked_ack_takes_half_a_packet_each_time() {
        let (mut control, mut acks) = ten();
        for taken in 1..=4 {
            control.on_ack(&acks.next(true));
            near(control.cwnd, (10.0 - 0.5 * f64::from(taken)) * MSS, 1e-6);
        }
        let config = MprdmaConfig { cut: 0.15, ..MprdmaConfig::default() };
        let mut gentle = mprdma(&config, &start_with(Bytes::new(40_960)));
        gentle.on_ack(&acks.next(true));
        near(gentle.cwnd, 9.85 * MSS, 1e-6);
    }

    #[test]
    fn the_window_rests_where_gains_and_cuts_are_even() {
        // One mark in 21 ACKs: 2 (1 - p) / p = 40 packets, from above and from below.
        for packets in [20, 80] {
            let start = start_with(Bytes::new(packets * 4096));
            let (mut control, mut acks) = (mprdma(&MprdmaConfig::default(), &start), AckStream::new(&start));
            for i in 0..20_000 {
                control.on_ack(&acks.next(i % 21 == 0));
            }
            near(control.cwnd, 40.0 * MSS, MSS);
        }
    }

    #[test]
    fn the_start_is_the_scenario_s_and_there_is_no_slow_start() {
        let (mut control, mut acks) = ten();
        assert_eq!(control.decision().cwnd, Bytes::new(40_960));
        let before = control.cwnd;
        control.on_ack(&acks.next(false));
        assert!(control.cwnd - before < 0.11 * MSS);
    }

    #[test]
    fn a_nack_is_a_mark() {
        let (mut control, acks) = ten();
        let (now, bytes) = (acks.now, Bytes::new(4096));
        control.on_nack(&Nack {
            now,
            bytes,
            sent_at: now,
            in_flight: Bytes::ZERO,
            cause: NackCause::Trimmed,
        });
        near(control.cwnd, 9.5 * MSS, 1e-6);
    }

    #[test]
    fn losses_and_time_outs_leave_the_window_alone() {
        let (mut control, acks) = ten();
        let (now, sent_at, bytes, in_flight) = (acks.now, acks.now, Bytes::new(4096), Bytes::ZERO);
        control.on_loss(&Loss { now, bytes, sent_at, in_flight });
        control.on_timeout(&timeout(now, sent_at, in_flight));
        near(control.cwnd, 10.0 * MSS, 0.0);
    }

    #[test]
    fn a_window_less_than_half_used_does_not_grow_but_shrinks() {
        let (mut control, mut acks) = ten();
        let idle =
            |marked, acks: &mut AckStream| Ack { in_flight: Bytes::new(3 * 4096), ..acks.next(marked) };
        control.on_ack(&idle(false, &mut acks));
        near(control.cwnd, 10.0 * MSS, 0.0);
        control.on_ack(&idle(true, &mut acks));
        near(control.cwnd, 9.5 * MSS, 1e-6);
    }

    #[test]
    fn the_window_stays_between_one_packet_and_the_cap() {
        let start = start_with(Bytes::new(4096));
        let (mut control, mut acks) = (mprdma(&MprdmaConfig::default(), &start), AckStream::new(&start));
        control.on_ack(&acks.next(true));
        near(control.cwnd, MSS, 0.0);
        let grown = |config: &MprdmaConfig| {
            let mut control = mprdma(config, &crate::congestion::testing::start());
            control.on_ack(&AckStream::new(&crate::congestion::testing::start()).next(false));
            control.cwnd
        };
        assert!(grown(&MprdmaConfig::default()) > 175_344.0);
        near(grown(&artifact()), 175_344.0, 0.0);
    }

    #[test]
    fn only_the_artifact_is_paced() {
        assert_eq!(mprdma(&MprdmaConfig::default(), &start()).decision().pacing_rate, None);
        let rate = mprdma(&artifact(), &start()).decision().pacing_rate;
        assert!(rate.is_some_and(|rate| rate.as_bps().abs_diff(Rate::from_gbps(100).as_bps()) < 1_000_000));
    }
}
