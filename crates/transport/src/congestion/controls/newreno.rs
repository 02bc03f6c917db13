//! NewReno: a packet more for each window without a loss, half the window for one.
//!
//! RFC 5681 and RFC 6582, with bytes counted (RFC 3465); the recovery that finds losses is the sender's. With `ecn` a mark
//! is answered as a loss is, once a window (RFC 3168 section 6.1.2). A NACK, which TCP does not know, counts as a loss.
//!
//! Its page: `docs/src/schemes/newreno.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::pace::{Pace, PaceParams, Pacing};
use crate::congestion::parts::window::{Bounds, Window, tcp_window};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Duration, TelemetryKind, Time};

/// Parameters of NewReno.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NewrenoConfig {
    /// Whether marks cut the window; false: only losses do.
    pub ecn: bool,
    /// The fewest packets that a mark leaves, at least 1: 1 (RFC 3168 section 6.1.2); Linux leaves 2, as a loss does.
    pub min_cwnd: f64,
    /// Which round trip the window is spread over; `off` (RFC 5681 knows no pacing).
    pub pacing: Pacing,
}

impl Default for NewrenoConfig {
    fn default() -> Self {
        Self { ecn: false, min_cwnd: 1.0, pacing: Pacing::Off }
    }
}

impl NewrenoConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `min_cwnd` is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=1e3, "newreno", "min_cwnd", self.min_cwnd)
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
pub struct NewrenoParams {
    /// Whether marks cut.
    ecn: bool,
    /// The smallest window after a mark, in packets.
    min_cwnd: f64,
    /// Smallest and largest window.
    bounds: Bounds,
    /// How the window turns into a rate.
    pace: PaceParams,
}

impl NewrenoParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &NewrenoConfig, path: &Path) -> Self {
        let bounds = Bounds::new(path, f64::INFINITY);
        Self {
            ecn: config.ecn,
            min_cwnd: config.min_cwnd,
            bounds,
            pace: PaceParams::new(config.pacing, true, path),
        }
    }
}

/// The share of the window that a loss or a mark leaves.
const HALF: f64 = 0.5;
/// The smallest window after a loss, in packets (RFC 5681 equation 4).
const LEAST: f64 = 2.0;

/// NewReno's state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Newreno {
    /// The parameters that the flows of a path share.
    params: Arc<NewrenoParams>,
    /// The window. A mark begins an episode as a loss does.
    window: Window,
    /// The rate.
    pace: Pace,
}

impl Newreno {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<NewrenoParams>, start: &Start<'_>) -> Self {
        Self { window: Window::new(&params.bounds, start), pace: Pace::default(), params: Arc::clone(params) }
    }

    /// RFC 5681 section 3.1, equation 4, once for all packets in flight together (RFC 6582); not in a window that a mark has
    /// reduced (RFC 3168 section 6.1.2).
    fn lost(&mut self, now: Time, sent_at: Time) {
        if self.window.begins_episode(now, sent_at) {
            self.window.keep(&self.params.bounds, HALF, LEAST);
        }
    }

    /// RFC 5681 section 3.1: one packet, and slow start.
    fn timed_out(&mut self, now: Time, sent_at: Time) {
        self.window.collapse(&self.params.bounds, now, sent_at, HALF);
    }
}

impl Congestion for Newreno {
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.pace.on_rtt(&self.params.pace, ack.rtt);
        if !(self.params.ecn && ack.ecn_ce) {
            // RFC 5681 section 3.1, equations 2 and 3.
            self.window.grow(&self.params.bounds, ack, self.params.bounds.mss);
        } else if self.window.begins_episode(ack.now, ack.sent_at) {
            self.window.keep(&self.params.bounds, HALF, self.params.min_cwnd);
        }
        self.decision()
    }

    tcp_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Loss;
    use crate::congestion::testing::{AckStream, MSS, near, start, start_with, timeout};
    use farspan_units::Bytes;

    fn newreno(ecn: bool, start: &Start<'_>) -> Newreno {
        let config = NewrenoConfig { ecn, ..NewrenoConfig::default() };
        Newreno::new(&Arc::new(NewrenoParams::new(&config, start.path)), start)
    }

    fn loss(now: Time, sent_at: Time) -> Loss {
        Loss { now, bytes: Bytes::new(4096), sent_at, in_flight: Bytes::ZERO }
    }

    /// A window of so many packets in congestion avoidance, and its ACKs.
    fn steady(packets: u64, ecn: bool) -> (Newreno, AckStream) {
        let start = start_with(Bytes::new(packets * 4096));
        let mut control = newreno(ecn, &start);
        control.window.end_slow_start();
        (control, AckStream::new(&start))
    }

    #[test]
    fn a_mark_halves_once_a_window_if_asked_and_else_grows_it() {
        let (mut control, mut acks) = steady(20, true);
        control.on_ack(&acks.next(true));
        near(control.window.get(), 10.0 * MSS, 1e-6);
        control.on_ack(&acks.next(true));
        near(control.window.get(), 10.0 * MSS, 1e-6);
        control.on_ack(&acks.next_round(true));
        near(control.window.get(), 5.0 * MSS, 1e-6);
        let (mut control, mut acks) = steady(20, false);
        control.on_ack(&acks.next(true));
        near(control.window.get(), 20.0 * MSS + MSS / 20.0, 1e-6);
    }

    #[test]
    fn a_loss_in_a_window_that_a_mark_has_halved_does_not_halve_again() {
        let (mut control, mut acks) = steady(20, true);
        let ack = acks.next(true);
        control.on_ack(&ack);
        control.on_loss(&loss(ack.now, ack.sent_at));
        near(control.window.get(), 10.0 * MSS, 1e-6);
        control.on_loss(&loss(ack.now, ack.now));
        near(control.window.get(), 5.0 * MSS, 1e-6);
    }

    #[test]
    fn the_mean_window_under_one_loss_every_1_p_packets_is_the_root_of_3_2p() {
        // Mathis et al. 1997, equation 3, with an ACK a packet: the sawtooth between W/2 and W has 3 W^2 / 8 packets.
        let p = 1e-3;
        let (mut control, mut acks) = steady(40, false);
        let (mut sum, mut count) = (0.0, 0_u32);
        for packet in 1..=200_000_u32 {
            let cwnd = control.window.get();
            let mut ack = acks.next(false);
            // A round trip of a window, so that ACKs of the window that lost come first after a loss.
            (ack.in_flight, ack.sent_at) = (Bytes::new(cwnd as u64), ack.now);
            control.on_ack(&ack);
            if packet % 1000 == 0 {
                control.on_loss(&loss(ack.now, ack.now));
            }
            if packet > 100_000 {
                // A mean over time: each packet stands for a window-th of a round trip.
                (sum, count) = (sum + MSS / cwnd, count + 1);
            }
        }
        let mean = f64::from(count) / sum;
        near(mean / libm::sqrt(1.5 / p), 1.0, 0.1);
    }

    #[test]
    fn a_time_out_goes_to_one_packet_and_slow_start() {
        let (mut control, acks) = steady(20, false);
        control.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
        near(control.window.get(), MSS, 0.0);
        assert_eq!(control.state(), Some("slow_start"));
    }

    #[test]
    fn a_loss_leaves_two_packets_and_a_mark_one() {
        let (mut control, mut acks) = steady(3, true);
        let ack = acks.next(false);
        control.on_loss(&loss(ack.now, ack.sent_at));
        near(control.window.get(), 2.0 * MSS, 0.0);
        control.on_ack(&acks.next_round(true));
        near(control.window.get(), MSS, 0.0);
    }

    #[test]
    fn a_mark_leaves_as_many_packets_as_it_is_told_to() {
        let start = start_with(farspan_units::Bytes::new(3 * 4096));
        let config = NewrenoConfig { ecn: true, min_cwnd: 2.0, ..NewrenoConfig::default() };
        let mut control = Newreno::new(&Arc::new(NewrenoParams::new(&config, start.path)), &start);
        let mut acks = AckStream::new(&start);
        for _ in 0..5 {
            control.on_ack(&acks.next_round(true));
        }
        near(control.window.get(), 2.0 * MSS, 0.0);
    }

    #[test]
    fn a_loss_after_the_time_outs_of_one_flight_halves() {
        let (mut control, mut acks) = steady(20, false);
        let at = |us: u64| Time::ZERO + Duration::from_us(us);
        control.on_timeout(&timeout(at(100), at(0), Bytes::ZERO));
        acks.now = at(200);
        for _ in 0..15 {
            control.on_ack(&acks.next_round(false));
        }
        let before = control.window.get();
        control.on_timeout(&timeout(at(900), at(50), Bytes::ZERO));
        near(control.window.get(), before, 0.0);
        control.on_loss(&loss(at(950), at(800)));
        near(control.window.get(), before / 2.0, 1e-6);
    }

    #[test]
    fn it_starts_where_the_scenario_says() {
        assert_eq!(newreno(false, &start()).decision().cwnd, start().initial_cwnd);
        assert_eq!(NewrenoConfig::default().check(), Ok(()));
    }
}
