//! Vegas: a packet more or less each round trip, by the packets of the flow that wait in queues.
//!
//! Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", JSAC 1995, with the rules of
//! Linux (`tcp_vegas`), which is what testbeds run: the smallest of a round trip's samples stands for it, a round trip with
//! fewer than three grows as Reno, and slow start doubles each round trip, not each second one. Losses and time-outs are
//! Reno's (RFC 5681); a NACK, which Vegas does not know, counts as a loss. Marks mean nothing to it.
//!
//! Its page: `docs/src/schemes/vegas.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::pace::{Pace, PaceParams, Pacing};
use crate::congestion::parts::signals::DataWindow;
pub use crate::congestion::parts::signals::RttBase;
use crate::congestion::parts::window::{Bounds, Window, tcp_window};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Duration, TelemetryKind, Time};

/// Parameters of Vegas.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VegasConfig {
    /// With fewer packets of the flow in queues the window grows; 2 (Linux).
    pub alpha: f64,
    /// With more it shrinks; 4 (Linux).
    pub beta: f64,
    /// With more slow start ends; 1 (Linux).
    pub gamma: f64,
    /// Factor of `alpha` and `beta`; 1. Gemini's testbed compares with 10 too (its section IV).
    pub scale: f64,
    /// Where the base round trip comes from; `measured`: the smallest sample of the flow.
    pub rtt_base: RttBase,
    /// Which round trip the window is spread over; `off` (Vegas knows no pacing).
    pub pacing: Pacing,
}

impl Default for VegasConfig {
    fn default() -> Self {
        Self {
            alpha: 2.0,
            beta: 4.0,
            gamma: 1.0,
            scale: 1.0,
            rtt_base: RttBase::Measured,
            pacing: Pacing::Off,
        }
    }
}

impl VegasConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(0.0..=1e6, "vegas", "alpha", self.alpha)?;
        ConfigError::unless_in(self.alpha.max(0.0)..=1e6, "vegas", "beta", self.beta)?;
        ConfigError::unless_in(0.0..=1e6, "vegas", "gamma", self.gamma)?;
        ConfigError::unless_in(1e-3..=1e3, "vegas", "scale", self.scale)
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
            nacks: NackRule::Published,
            signal_bytes: SignalBytes::NONE,
        }
    }

    /// The queueing delay that it aims at on a path: that of beta packets of one flow.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        let seconds = self.beta * self.scale * path.packet_time().as_secs_f64();
        Some(Duration::from_secs_f64(seconds))
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct VegasParams {
    /// alpha, beta and gamma, in bytes.
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// The base round trip, where it is given.
    given_rtt: Option<Duration>,
    /// Smallest and largest window.
    bounds: Bounds,
    /// How the window turns into a rate.
    pace: PaceParams,
}

impl VegasParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &VegasConfig, path: &Path) -> Self {
        let bounds = Bounds::new(path, f64::INFINITY);
        Self {
            alpha: config.alpha * config.scale * bounds.mss,
            beta: config.beta * config.scale * bounds.mss,
            gamma: config.gamma * bounds.mss,
            given_rtt: (config.rtt_base == RttBase::Given).then_some(path.base_rtt),
            bounds,
            pace: PaceParams::new(config.pacing, true, path),
        }
    }
}

/// Fewer samples in a round trip than this say nothing: one of them may be of a delayed ACK (Linux).
const FEWEST_SAMPLES: u32 = 3;

/// The smallest window, in packets, after a step down (Linux) or a loss (RFC 5681 equation 4).
const LEAST: f64 = 2.0;
/// The share of the window that a loss leaves (RFC 5681).
const HALF: f64 = 0.5;

/// Vegas' state for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Vegas {
    /// The parameters that the flows of a path share.
    params: Arc<VegasParams>,
    /// The window, with Reno's slow start and reactions to loss.
    window: Window,
    /// The smallest round trip of the flow, or the given one.
    base_rtt: Duration,
    /// The round trip that is being measured.
    round: DataWindow,
    /// Its smallest sample, and how many it has.
    least_rtt: Duration,
    samples: u32,
    /// The rate.
    pace: Pace,
}

impl Vegas {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<VegasParams>, start: &Start<'_>) -> Self {
        Self {
            window: Window::new(&params.bounds, start),
            base_rtt: params.given_rtt.unwrap_or(Duration::MAX),
            round: DataWindow::default(),
            least_rtt: Duration::MAX,
            samples: 0,
            pace: Pace::default(),
            params: Arc::clone(params),
        }
    }

    /// One step at the end of a round trip: diff = cwnd x (rtt - base) / base is what of the window waits in queues (section
    /// 3.2 of the paper, in packets of the flow as Linux counts).
    fn step(&mut self, ack: &Ack) {
        let VegasParams { alpha, beta, gamma, bounds, .. } = *self.params;
        let (cwnd, rtt, base) =
            (self.window.get(), self.least_rtt.as_secs_f64(), self.base_rtt.as_secs_f64());
        let diff = cwnd * (rtt - base) / base;
        let least = LEAST * bounds.mss;
        if self.window.is_slow_start() {
            if diff > gamma {
                // Down to what the path holds without a queue, and a packet.
                self.window.resize(&bounds, cwnd.min(cwnd * base / rtt + bounds.mss).max(least));
                self.window.end_slow_start();
            } else {
                self.window.grow(&bounds, ack, bounds.mss);
            }
        } else if diff > beta {
            self.window.resize(&bounds, (cwnd - bounds.mss).max(least));
        } else if diff < alpha && self.window.may_grow(ack) {
            self.window.resize(&bounds, cwnd + bounds.mss);
        }
    }

    /// Round trips of packets from before a loss say nothing of the window after it.
    fn begin_round(&mut self, now: Time) {
        self.round.begin(now);
        (self.least_rtt, self.samples) = (Duration::MAX, 0);
    }

    fn lost(&mut self, now: Time, sent_at: Time) {
        if self.window.begins_episode(now, sent_at) {
            self.window.keep(&self.params.bounds, HALF, LEAST);
            self.begin_round(now);
        }
    }

    fn timed_out(&mut self, now: Time, sent_at: Time) {
        if self.window.collapse(&self.params.bounds, now, sent_at, HALF) {
            self.begin_round(now);
        }
    }
}

impl Congestion for Vegas {
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        self.pace.on_rtt(&self.params.pace, ack.rtt);
        if self.params.given_rtt.is_none() {
            self.base_rtt = self.base_rtt.min(ack.rtt);
        }
        if self.window.is_recovered(ack) {
            self.least_rtt = self.least_rtt.min(ack.rtt);
            self.samples += 1;
        }
        if self.round.ended_by(ack) {
            if self.samples >= FEWEST_SAMPLES {
                self.step(ack);
            } else {
                self.window.grow(&self.params.bounds, ack, self.params.bounds.mss);
            }
            (self.least_rtt, self.samples) = (Duration::MAX, 0);
        } else if self.window.is_slow_start() {
            self.window.grow(&self.params.bounds, ack, self.params.bounds.mss);
        }
        self.decision()
    }

    tcp_window!();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::Loss;
    use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with, timeout};
    use farspan_units::Bytes;

    fn vegas(config: &VegasConfig, start: &Start<'_>) -> Vegas {
        Vegas::new(&Arc::new(VegasParams::new(config, start.path)), start)
    }

    /// A window of twenty packets in congestion avoidance that knows its base round trip, and its ACKs.
    fn steady(config: &VegasConfig) -> (Vegas, AckStream) {
        let start = start_with(Bytes::new(20 * 4096));
        let mut control = vegas(config, &start);
        control.window.end_slow_start();
        let mut acks = AckStream::new(&start);
        control.on_ack(&acks.next(false));
        control.window.resize(&control.params.bounds.clone(), 20.0 * MSS);
        (control, acks)
    }

    /// The window after one round trip of ten ACKs with so many packets of the window in queues.
    fn after(config: &VegasConfig, queued: f64) -> f64 {
        let (mut control, mut acks) = steady(config);
        let base = start().path.base_rtt.as_secs_f64();
        acks.delay = Duration::from_secs_f64(base * queued / 20.0);
        control.round.begin(acks.now + start().path.base_rtt);
        for _ in 0..10 {
            let mut ack = acks.next(false);
            ack.in_flight = Bytes::new(20 * 4096);
            control.on_ack(&ack);
        }
        let mut last = acks.next_round(false);
        last.in_flight = Bytes::new(20 * 4096);
        last.sent_at = last.now;
        control.on_ack(&last);
        control.window.get() / MSS
    }

    #[test]
    fn between_alpha_and_beta_packets_in_queues_the_window_stays() {
        let linux = VegasConfig::default();
        near(after(&linux, 1.5), 21.0, 1e-9);
        near(after(&linux, 3.0), 20.0, 1e-9);
        near(after(&linux, 4.5), 19.0, 1e-9);
        let ten = VegasConfig { scale: 10.0, ..linux };
        near(after(&ten, 19.0), 21.0, 1e-9);
        near(after(&ten, 30.0), 20.0, 1e-9);
        near(after(&ten, 41.0), 19.0, 1e-9);
    }

    #[test]
    fn slow_start_ends_where_more_than_gamma_packets_wait() {
        let start = start_with(Bytes::new(20 * 4096));
        let mut control = vegas(&VegasConfig { rtt_base: RttBase::Given, ..VegasConfig::default() }, &start);
        let mut acks = AckStream::new(&start);
        acks.delay = start.path.base_rtt / 4;
        control.round.begin(Time::MAX);
        for _ in 0..5 {
            control.on_ack(&acks.next(false));
        }
        near(control.window.get(), 25.0 * MSS, 0.0);
        control.round.begin(Time::ZERO);
        control.on_ack(&acks.next(false));
        near(control.window.get(), (25.0 / 1.25 + 1.0) * MSS, 1e-6);
        assert_eq!(control.state(), Some("congestion_avoidance"));
    }

    #[test]
    fn a_round_trip_with_two_samples_grows_as_reno() {
        let (mut control, mut acks) = steady(&VegasConfig::default());
        acks.delay = start().path.base_rtt;
        control.on_ack(&acks.next_round(false));
        let before = control.window.get();
        let mut ack = acks.next_round(false);
        ack.sent_at = ack.now;
        control.on_ack(&ack);
        near(control.window.get(), before + MSS * MSS / before, 1e-6);
    }

    #[test]
    fn a_time_out_goes_to_one_packet_and_a_step_down_to_two() {
        let (mut control, acks) = steady(&VegasConfig::default());
        control.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
        near(control.window.get(), MSS, 0.0);
        let mut control = steady(&VegasConfig::default()).0;
        control.window.resize(&control.params.bounds.clone(), 2.5 * MSS);
        (control.least_rtt, control.base_rtt) = (Duration::from_ms(9), Duration::from_ms(1));
        control.step(&acks.clone().next(false));
        near(control.window.get(), 2.0 * MSS, 0.0);
    }

    #[test]
    fn round_trips_of_the_queue_that_a_loss_has_ended_do_not_lower_the_window_again() {
        let (mut control, mut acks) = steady(&VegasConfig::default());
        acks.delay = start().path.base_rtt;
        let lost = acks.next(false);
        let loss = Loss { now: lost.now, bytes: path().mss, sent_at: lost.sent_at, in_flight: Bytes::ZERO };
        control.on_loss(&loss);
        near(control.window.get(), 10.0 * MSS, 0.0);
        // Packets from before the loss waited for half of their round trip.
        for _ in 0..8 {
            control.on_ack(&acks.next(false));
        }
        acks.delay = Duration::ZERO;
        let mut first = acks.next_round(false);
        first.sent_at = first.now;
        control.on_ack(&first);
        assert!(control.window.get() >= 10.0 * MSS, "{}", control.window.get() / MSS);
        control.on_loss(&Loss { sent_at: first.now, now: first.now, ..loss });
        control.on_loss(&Loss { now: first.now, ..loss });
        near(control.window.get(), 5.0 * MSS, MSS);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow_and_shrinks() {
        for (queued, expected) in [(0.0, 20.0), (10.0, 19.0)] {
            let (mut control, mut acks) = steady(&VegasConfig::default());
            acks.delay = start().path.base_rtt.mul_f64(queued / 20.0);
            control.round.begin(Time::MAX);
            let idle = |acks: &mut AckStream| Ack { in_flight: Bytes::ZERO, ..acks.next(false) };
            for _ in 0..5 {
                control.on_ack(&idle(&mut acks));
            }
            control.round.begin(Time::ZERO);
            control.on_ack(&idle(&mut acks));
            near(control.window.get(), expected * MSS, 1e-6);
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        refused(
            VegasConfig::check,
            &[
                ("alpha", |config| config.alpha = -1.0),
                ("beta", |config| config.beta = 1.0),
                ("gamma", |config| config.gamma = f64::NAN),
                ("scale", |config| config.scale = 0.0),
            ],
        );
        assert_eq!(VegasConfig::default().check(), Ok(()));
    }
}
