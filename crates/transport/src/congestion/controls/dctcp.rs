//! DCTCP: cuts the window in proportion to the share of marked bytes.
//!
//! RFC 8257 sections 3.3 to 3.5; a NACK, which the RFC does not know, counts as a loss. Left out: the receiver's CE
//! state machine (every packet has its own ACK here, with its own echo), and TCP's delayed ACKs. The start of the
//! average depends on the first window (see [`DctcpConfig::alpha_start`]); in a scenario that starts with a whole
//! bandwidth-delay product the RFC's value would halve every flow at its first mark.
//!
//! Its page: `docs/src/schemes/dctcp.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::pace::{Pace, PaceParams, Pacing};
use crate::congestion::parts::signals::{DataWindow, Marks};
use crate::congestion::parts::window::{Bounds, LARGEST_CUT, Window, tcp_window};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Duration, TelemetryKind, Time};

/// Parameters of DCTCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DctcpConfig {
    /// Weight g of the newest window in the average share of marked bytes, in (0, 1]; 1/16 (RFC 8257 section 4.2).
    pub gain: f64,
    /// First average share of marked bytes, in [0, 1]; left out: 1 (RFC 8257 section 3.3) where the first window is
    /// smaller than the bandwidth-delay product, else 0.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub alpha_start: Option<f64>,
    /// The fewest packets of the window after a cut, at least 1: 1 (RFC 3168 section 6.1.2); Linux leaves 2.
    pub min_cwnd: f64,
    /// Which round trip the window is spread over; `off` (RFC 8257 knows no pacing).
    pub pacing: Pacing,
}

impl Default for DctcpConfig {
    fn default() -> Self {
        Self { gain: 1.0 / 16.0, alpha_start: None, min_cwnd: 1.0, pacing: Pacing::Off }
    }
}

impl DctcpConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1e-6..=1.0, "dctcp", "gain", self.gain)?;
        ConfigError::unless_in(1.0..=1e3, "dctcp", "min_cwnd", self.min_cwnd)?;
        ConfigError::unless_in(0.0..=1.0, "dctcp", "alpha_start", self.alpha_start.unwrap_or(0.0))
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
pub struct DctcpParams {
    /// The parameters.
    config: DctcpConfig,
    /// Smallest and largest window.
    bounds: Bounds,
    /// How the window turns into a rate.
    pace: PaceParams,
}

impl DctcpParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &DctcpConfig, path: &Path) -> Self {
        let bounds = Bounds::new(path, f64::INFINITY);
        Self { config: config.clone(), bounds, pace: PaceParams::new(config.pacing, true, path) }
    }
}

/// DCTCP's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Dctcp {
    /// The parameters that the flows of a path share.
    params: Arc<DctcpParams>,
    /// The window, with TCP's slow start and reactions to loss.
    window: Window,
    /// DCTCP.Alpha: the average share of marked bytes.
    marks: Marks,
    /// The observation window, up to DCTCP.WindowEnd.
    round: DataWindow,
    /// The window that a mark or a loss has reduced already.
    reduced: DataWindow,
    /// The rate.
    pace: Pace,
}

impl Dctcp {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<DctcpParams>, start: &Start<'_>) -> Self {
        let searching = start.initial_cwnd < start.path.bdp;
        let alpha = params.config.alpha_start.unwrap_or(if searching { 1.0 } else { 0.0 });
        Self {
            window: Window::new(&params.bounds, start),
            marks: Marks::new(alpha),
            round: DataWindow::default(),
            reduced: DataWindow::default(),
            pace: Pace::default(),
            params: Arc::clone(params),
        }
    }

    /// Section 3.5: as TCP, but no second cut in a window that marks have reduced.
    fn lost(&mut self, now: Time, sent_at: Time) {
        if self.reduced.ended_at(now, sent_at) && self.window.begins_episode(now, sent_at) {
            self.cut(LARGEST_CUT);
        }
    }

    /// Takes a part of the window away.
    fn cut(&mut self, part: f64) {
        let DctcpParams { config, bounds, .. } = &*self.params;
        self.window.keep(bounds, 1.0 - part, config.min_cwnd);
    }

    /// A time-out collapses the window.
    fn timed_out(&mut self, now: Time, sent_at: Time) {
        self.window.on_timeout(&self.params.bounds, now, sent_at);
    }
}

impl Congestion for Dctcp {
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.pace.on_rtt(&self.params.pace, ack.rtt);
        self.marks.count(ack);
        // Section 3.3, steps 3 to 7: M = marked / acked; Alpha = Alpha x (1 - g) + g x M, once per window.
        if self.round.ended_by(ack) {
            self.marks.end_period(self.params.config.gain);
        }
        if !ack.ecn_ce {
            self.window.grow(&self.params.bounds, ack, self.params.bounds.mss);
        } else if self.reduced.ended_by(ack) {
            // Section 3.3, step 9: cwnd = cwnd x (1 - Alpha / 2), once per window.
            self.cut(self.marks.average() / 2.0);
        }
        self.decision()
    }

    tcp_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, MSS, near, start, start_with, timeout};
    use crate::congestion::{Loss, Nack, NackCause};
    use farspan_units::{Bytes, Duration, Rate};

    fn dctcp(config: &DctcpConfig, start: &Start<'_>) -> Dctcp {
        Dctcp::new(&Arc::new(DctcpParams::new(config, start.path)), start)
    }

    /// A flow that starts with ten packets, in slow start.
    fn iw10() -> (Dctcp, AckStream) {
        let start = start_with(Bytes::new(40_960));
        (dctcp(&DctcpConfig::default(), &start), AckStream::new(&start))
    }

    /// A flow that starts with one bandwidth-delay product.
    fn full() -> (Dctcp, AckStream) {
        (dctcp(&DctcpConfig::default(), &start()), AckStream::new(&start()))
    }

    fn loss(now: Time, sent_at: Time) -> Loss {
        Loss { now, bytes: Bytes::new(4096), sent_at, in_flight: Bytes::ZERO }
    }

    #[test]
    fn the_average_starts_at_one_with_ten_packets_and_at_zero_with_one_bdp() {
        near(iw10().0.marks.average(), 1.0, 0.0);
        near(full().0.marks.average(), 0.0, 0.0);
        let config = DctcpConfig { alpha_start: Some(0.25), ..DctcpConfig::default() };
        near(dctcp(&config, &start()).marks.average(), 0.25, 0.0);
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        let config = DctcpConfig { gain: 0.0, ..DctcpConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "gain");
        let config = DctcpConfig { alpha_start: Some(1.5), ..DctcpConfig::default() };
        assert_eq!(config.check().unwrap_err().parameter, "alpha_start");
        assert_eq!(DctcpConfig::default().check(), Ok(()));
    }

    #[test]
    fn slow_start_doubles_until_the_first_mark() {
        let (mut control, mut acks) = iw10();
        for _ in 0..10 {
            control.on_ack(&acks.next(false));
        }
        near(control.window.get(), 20.0 * MSS, 0.0);
        control.on_ack(&acks.next_round(true));
        let cut = control.window.get();
        control.on_ack(&acks.next_round(false));
        near(control.window.get(), cut + MSS * MSS / cut, 1e-6);
    }

    #[test]
    fn a_sixteenth_of_each_window_s_share_enters_the_average() {
        let (mut control, mut acks) = full();
        control.on_ack(&acks.next(false));
        for i in 0..41 {
            control.on_ack(&acks.next(i % 2 == 0));
        }
        near(control.marks.average(), 0.0, 0.0);
        control.on_ack(&acks.next_round(false));
        near(control.marks.average(), 21.0 / 42.0 / 16.0, 1e-12);
    }

    #[test]
    fn a_marked_window_is_cut_once_by_half_the_average() {
        let (mut control, mut acks) = full();
        control.marks = Marks::new(0.4);
        control.round.ended_at(Time::MAX, Time::ZERO);
        let before = control.window.get();
        control.on_ack(&acks.next(true));
        near(control.window.get(), 0.8 * before, 1e-6);
        control.on_ack(&acks.next(true));
        near(control.window.get(), 0.8 * before, 1e-6);
        control.on_ack(&acks.next_round(true));
        near(control.window.get(), 0.64 * before, 1e-6);
    }

    #[test]
    fn a_marked_ack_does_not_grow_the_window() {
        let (mut control, mut acks) = full();
        control.reduced.ended_at(Time::MAX, Time::ZERO);
        let before = control.window.get();
        control.on_ack(&acks.next(true));
        near(control.window.get(), before, 0.0);
        control.on_ack(&acks.next(false));
        near(control.window.get(), before + MSS * MSS / before, 1e-6);
    }

    #[test]
    fn loss_halves_once_a_window_and_not_in_one_that_marks_have_cut() {
        let (mut control, mut acks) = full();
        control.marks = Marks::new(0.4);
        control.round.ended_at(Time::MAX, Time::ZERO);
        let ack = acks.next(true);
        control.on_ack(&ack);
        let cut = control.window.get();
        let soon = ack.now + Duration::from_us(1);
        control.on_loss(&loss(soon, ack.sent_at));
        near(control.window.get(), cut, 0.0);
        control.on_loss(&loss(soon, ack.now));
        near(control.window.get(), cut / 2.0, 0.0);
        control.on_loss(&loss(soon, ack.now));
        near(control.window.get(), cut / 2.0, 0.0);
    }

    #[test]
    fn marks_and_losses_leave_as_many_packets_as_is_asked() {
        for packets in [1.0, 2.0] {
            let start = start_with(Bytes::new(40_960));
            let mut control = dctcp(&DctcpConfig { min_cwnd: packets, ..DctcpConfig::default() }, &start);
            let mut acks = AckStream::new(&start);
            for _ in 0..20 {
                control.on_ack(&acks.next_round(true));
            }
            near(control.window.get(), packets * MSS, 0.0);
            let now = acks.next(false).now;
            control.on_loss(&loss(now, now));
            near(control.window.get(), packets * MSS, 0.0);
        }
    }

    #[test]
    fn a_nack_counts_as_loss() {
        let (mut control, acks) = full();
        let before = control.window.get();
        let (now, bytes) = (acks.now, Bytes::new(4096));
        control.on_nack(&Nack {
            now,
            bytes,
            sent_at: now,
            in_flight: Bytes::ZERO,
            cause: NackCause::Trimmed,
        });
        near(control.window.get(), before / 2.0, 0.0);
    }

    #[test]
    fn a_time_out_goes_to_one_packet_whatever_was_cut_before() {
        let (mut control, mut acks) = full();
        let ack = acks.next(true);
        control.on_ack(&ack);
        control.on_timeout(&timeout(ack.now, ack.sent_at, Bytes::ZERO));
        near(control.window.get(), MSS, 0.0);
    }

    #[test]
    fn it_is_not_paced_unless_told() {
        assert_eq!(full().0.decision().pacing_rate, None);
        let config = DctcpConfig { pacing: Pacing::BaseRtt, ..DctcpConfig::default() };
        assert!(dctcp(&config, &start()).decision().pacing_rate > Some(Rate::from_gbps(100)));
    }
}
