//! TIMELY: a rate that the slope of the round trip moves between two thresholds, and the round trip itself outside of them.
//!
//! Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter" (SIGCOMM 2015), algorithm 1. It has no window, and
//! no unique fixed point (Zhu et al., CoNEXT 2016).
//!
//! Left out: any reaction to losses, for the paper's network has none.
//!
//! Its page: `docs/src/schemes/timely.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::signals::DataWindow;
use crate::congestion::parts::window::to_f64;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind};

/// The smallest rate, as a part of the line rate (published code of OSCAR).
/// A NACK can lower it further, down to a packet, until the next update.
const LEAST: f64 = 0.001;

/// A threshold of the round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(feature = "serde", serde(expecting = "the value does not fit here; give a size or a time"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum RttThreshold {
    /// One base round trip and such a queue at the line rate.
    Queue(Bytes),
    /// A round trip.
    Rtt(Duration),
}

impl RttThreshold {
    /// The round trip, in seconds.
    fn on(self, path: &Path) -> f64 {
        match self {
            Self::Queue(queue) => {
                path.base_rtt.as_secs_f64() + queue.as_f64() / path.line_rate.bytes_per_sec_f64()
            }
            Self::Rtt(rtt) => rtt.as_secs_f64(),
        }
    }
}

/// The formula of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Formula {
    /// Algorithm 1.
    Algorithm,
    /// Published code of OSCAR's simulator: above the upper threshold the rate falls by beta x T / RTT, not by
    /// beta x (1 - T / RTT), and a round trip outside of the thresholds is not the one that the next differs from. The upper
    /// threshold may lie below the lower.
    Published,
}

/// The first rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum FirstRate {
    /// The line rate over the flows of its host, this one included (TIMELY, section 5: C / (N + 1)), or less for a first window
    /// that is less.
    HostShare,
    /// As the first window says (published codes: the line rate).
    Window,
}

/// How often the rate moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(expecting = "the value does not fit here; give \"round_trip\" or a size")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Completion {
    /// A rule says when.
    Rule(CompletionRule),
    /// With the last ACK of each such segment (algorithm 1: a completion event).
    Segment(Bytes),
}

/// How often the rate moves, without a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum CompletionRule {
    /// Once a round trip (published codes of HPCC and OSCAR).
    RoundTrip,
}

/// Parameters of TIMELY.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TimelyConfig {
    /// Weight of the newest difference of two round trips, in [0.001, 1]; 0.875.
    pub alpha: f64,
    /// Multiplicative decrease, in [0, 1]; 0.8.
    pub beta: f64,
    /// delta: additive increase, as a part of the line rate, in [0, 1]; 0.001 (10 Mb/s at 10 Gb/s). Published code of OSCAR:
    /// 0.0005.
    pub delta: f64,
    /// N: after so many falling round trips in a row the increase is as many times as large, in [1, 1000]; 5.
    pub hyper_after: u32,
    /// Below this round trip the rate grows: a queue, or a time; 37,500 B (30 us above the base round trip of 20 us at 10 Gb/s).
    pub t_low: RttThreshold,
    /// Above this round trip the rate falls: a queue, or a time; 600 KB (480 us above the base round trip at 10 Gb/s).
    pub t_high: RttThreshold,
    /// When the rate moves: with each segment of a size, or `round_trip`; 16,000 B.
    pub completion: Completion,
    /// The formula of a step; `algorithm`. Published code of OSCAR: `published`.
    pub formula: Formula,
    /// The first rate; `host_share`. Published codes: `window`.
    pub start: FirstRate,
}

impl Default for TimelyConfig {
    fn default() -> Self {
        Self {
            alpha: 0.875,
            beta: 0.8,
            delta: 0.001,
            hyper_after: 5,
            t_low: RttThreshold::Queue(Bytes::new(37_500)),
            t_high: RttThreshold::Queue(Bytes::new(600_000)),
            completion: Completion::Segment(Bytes::new(16_000)),
            formula: Formula::Algorithm,
            start: FirstRate::HostShare,
        }
    }
}

impl TimelyConfig {
    /// Checks the ranges, and the order of thresholds of one kind.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "timely", name, value);
        within(0.001..=1.0, "alpha", self.alpha)?;
        within(0.0..=1.0, "beta", self.beta)?;
        within(0.0..=1.0, "delta", self.delta)?;
        within(1.0..=1000.0, "hyper_after", f64::from(self.hyper_after))?;
        let (low, high) = match (self.t_low, self.t_high) {
            (RttThreshold::Queue(low), RttThreshold::Queue(high)) => (low.as_f64(), high.as_f64()),
            (RttThreshold::Rtt(low), RttThreshold::Rtt(high)) => (low.as_secs_f64(), high.as_secs_f64()),
            // Which is the larger depends on the path.
            _ => (0.0, 0.0),
        };
        if self.formula == Formula::Algorithm {
            within(low..=f64::MAX, "t_high", high)?;
        }
        let Completion::Segment(segment) = self.completion else { return Ok(()) };
        let (effect, give) = ("has no end", "a size or \"round_trip\"");
        ConfigError::if_zero(segment.is_zero(), "timely", "completion", &segment, effect, give)
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
            nacks: NackRule::Unsaid,
            signal_bytes: SignalBytes::NONE,
        }
    }

    /// The queueing delay that it aims at on a path: the lower threshold, below which the rate grows whatever the slope.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        let seconds = (self.t_low.on(path) - path.base_rtt.as_secs_f64()).max(0.0);
        Some(Duration::from_ps((seconds * 1e12) as u64))
    }
}

/// The parameters, and what a path makes of them. Times are in seconds, rates parts of the line rate.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelyParams {
    /// As configured.
    config: TimelyConfig,
    t_low: f64,
    t_high: f64,
    /// The base round trip: minRTT.
    base_rtt: f64,
    /// A segment, in bytes; `None`: once a round trip.
    segment: Option<f64>,
    /// Bits a second.
    line_rate: f64,
    bdp: f64,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
}

impl TimelyParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &TimelyConfig, path: &Path) -> Self {
        Self {
            t_low: config.t_low.on(path),
            t_high: config.t_high.on(path),
            base_rtt: path.base_rtt.as_secs_f64(),
            segment: match config.completion {
                Completion::Segment(segment) => Some(segment.as_f64()),
                Completion::Rule(CompletionRule::RoundTrip) => None,
            },
            line_rate: path.line_rate.as_bps() as f64,
            bdp: path.bdp.as_f64().max(1.0),
            mss: path.mss,
            config: config.clone(),
        }
    }
}

/// TIMELY for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Timely {
    /// The parameters that the flows of a path share.
    params: Arc<TimelyParams>,
    /// rate, as a part of the line rate.
    share: f64,
    /// `rtt_diff`: the averaged difference of two round trips, in seconds.
    rtt_diff: f64,
    /// `prev_rtt`, in seconds; `None` before the first completion event.
    previous: Option<f64>,
    /// Round trips in a row that fell, or stayed.
    falling: u32,
    /// Bytes acknowledged of the current segment.
    acked: f64,
    /// The current round trip.
    round: DataWindow,
    /// The first window until the first ACK, none after it.
    cwnd: Bytes,
}

impl Timely {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<TimelyParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.max(params.mss);
        let most = match params.config.start {
            FirstRate::HostShare => 1.0 / (f64::from(start.active_flows) + 1.0),
            FirstRate::Window => 1.0,
        };
        Self {
            params: Arc::clone(params),
            share: (start.cwnd_on_wire().as_f64() / params.bdp).min(most).max(LEAST),
            rtt_diff: 0.0,
            previous: None,
            falling: 0,
            acked: 0.0,
            round: DataWindow::default(),
            cwnd,
        }
    }

    /// Whether this ACK completes a segment, or a round trip.
    fn is_completion(&mut self, ack: &Ack<'_>) -> bool {
        let Some(segment) = self.params.segment else { return self.round.ended_by(ack) };
        self.acked += to_f64(ack.bytes_acked);
        let is_complete = self.acked >= segment;
        if is_complete {
            self.acked = 0.0;
        }
        is_complete
    }

    /// `normalized_gradient`: the averaged difference of two round trips over the base one.
    fn gradient(&self) -> f64 {
        self.rtt_diff / self.params.base_rtt
    }

    /// Algorithm 1, at a completion event with this round trip.
    fn complete(&mut self, rtt: f64) {
        let TimelyParams { config, t_low, t_high, .. } = &*self.params;
        let TimelyConfig { alpha, beta, delta, hyper_after, formula, .. } = *config;
        let is_outside = rtt < *t_low || rtt > *t_high;
        let Some(previous) = self.previous else {
            self.previous = Some(rtt);
            return;
        };
        if formula == Formula::Algorithm || !is_outside {
            self.previous = Some(rtt);
        }
        self.rtt_diff = (1.0 - alpha) * self.rtt_diff + alpha * (rtt - previous);
        let gradient = self.gradient();
        let share = if rtt < *t_low {
            self.share + delta
        } else if rtt > *t_high {
            let excess = match formula {
                Formula::Algorithm => 1.0 - t_high / rtt,
                Formula::Published => t_high / rtt,
            };
            self.falling = 0;
            self.share * (1.0 - beta * excess)
        } else if gradient <= 0.0 {
            self.falling = self.falling.saturating_add(1);
            let steps = if self.falling >= hyper_after { hyper_after } else { 1 };
            self.share + f64::from(steps) * delta
        } else {
            self.falling = 0;
            self.share * (1.0 - beta * gradient)
        };
        self.share = share.clamp(LEAST, 1.0);
    }
}

impl Congestion for Timely {
    fn decision(&self) -> Decision {
        let rate = Rate::from_bps(((self.share * self.params.line_rate) as u64).max(1));
        Decision { pacing_rate: Some(rate), ..Decision::window(self.cwnd) }
    }

    fn signal(&self) -> Option<f64> {
        Some(self.gradient())
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        self.cwnd = Bytes::MAX;
        if self.is_completion(ack) {
            self.complete(ack.rtt.as_secs_f64());
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        let most = most.max(self.params.mss);
        self.share = self.share.min(most.as_f64() / self.params.bdp);
        if self.cwnd != Bytes::MAX {
            self.cwnd = self.cwnd.min(most);
        }
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, near, path, refused, start, start_with};

    /// As the published code of OSCAR has it, with its upper threshold below the lower one.
    pub(crate) fn artifact() -> TimelyConfig {
        TimelyConfig {
            delta: 0.0005,
            t_low: RttThreshold::Rtt(Duration::from_us(32)),
            t_high: RttThreshold::Rtt(Duration::from_us(16)),
            completion: Completion::Segment(Bytes::new(1)),
            formula: Formula::Published,
            start: FirstRate::Window,
            ..TimelyConfig::default()
        }
    }

    fn timely(config: &TimelyConfig) -> Timely {
        Timely::new(&Arc::new(TimelyParams::new(config, &path())), &start_with(Bytes::new(86_324)))
    }

    const BASE: f64 = 14.02752e-6;

    /// A flow at half of the line rate whose last round trip was of this length, in base round trips.
    fn after(rtt: f64) -> Timely {
        let mut control = timely(&TimelyConfig::default());
        control.complete(rtt * BASE);
        near(control.share, 0.5, 1e-9);
        control
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        refused(
            TimelyConfig::check,
            &[
                ("alpha", |c| c.alpha = 0.0),
                ("beta", |c| c.beta = 1.1),
                ("delta", |c| c.delta = f64::NAN),
                ("hyper_after", |c| c.hyper_after = 0),
                ("t_high", |c| c.t_high = RttThreshold::Queue(Bytes::new(37_499))),
                ("t_high", |c| {
                    c.t_low = RttThreshold::Rtt(Duration::from_us(32));
                    c.t_high = RttThreshold::Rtt(Duration::from_us(16));
                }),
                ("completion", |c| c.completion = Completion::Segment(Bytes::ZERO)),
            ],
        );
        assert_eq!([TimelyConfig::default(), artifact()].map(|config| config.check()), [Ok(()), Ok(())]);
    }

    #[test]
    fn thresholds_are_a_queue_above_the_base_round_trip_or_a_round_trip() {
        let own = TimelyParams::new(&TimelyConfig::default(), &path());
        near(own.t_low, BASE + 3e-6, 1e-12);
        near(own.t_high, BASE + 48e-6, 1e-12);
        let published = TimelyParams::new(&artifact(), &path());
        near(published.t_low, 32e-6, 1e-12);
        near(published.t_high, 16e-6, 1e-12);
    }

    #[test]
    fn the_first_completion_leaves_its_round_trip_and_the_rate() {
        near(after(100.0).share, 0.5, 1e-9);
    }

    #[test]
    fn below_the_lower_threshold_the_rate_grows_whatever_the_slope() {
        let mut control = after(1.0);
        for step in 1..=10 {
            control.complete((1.0 + 0.02 * f64::from(step)) * BASE);
            near(control.share, 0.5 + 0.001 * f64::from(step), 1e-9);
        }
    }

    #[test]
    fn above_the_upper_threshold_the_excess_counts_whatever_the_slope() {
        let high = 14.02752 + 48.0;
        let mut control = after(10.0);
        control.complete(2.0 * high * 1e-6);
        near(control.share, 0.5 * (1.0 - 0.8 * 0.5), 1e-9);
    }

    #[test]
    fn between_them_a_rising_round_trip_counts_by_its_slope() {
        let mut control = after(2.0);
        control.complete(2.1 * BASE);
        near(control.share, 0.5 * (1.0 - 0.8 * 0.875 * 0.1), 1e-9);
        let left = control.share;
        control.complete(2.1 * BASE);
        near(control.share, left * (1.0 - 0.8 * 0.125 * 0.875 * 0.1), 1e-9);
    }

    #[test]
    fn the_fifth_round_trip_in_a_row_that_does_not_rise_adds_five_steps() {
        let mut control = after(2.0);
        let mut shares = alloc::vec::Vec::new();
        for _ in 0..6 {
            let before = control.share;
            control.complete(2.0 * BASE);
            shares.push(libm::round((control.share - before) / 0.001) as u32);
        }
        assert_eq!(shares, [1, 1, 1, 1, 5, 5]);
        control.complete(2.1 * BASE);
        control.complete(1.5 * BASE);
        assert_eq!(control.falling, 1, "it begins anew");
    }

    #[test]
    fn the_rate_stays_between_a_thousandth_and_the_line_rate() {
        let mut control = after(1.5);
        control.complete(4.0 * BASE);
        near(control.share, 0.001, 0.0);
        (0..2000).for_each(|_| control.complete(BASE));
        near(control.share, 1.0, 0.0);
    }

    #[test]
    fn a_segment_completes_with_the_ack_of_its_last_byte() {
        let mut control = timely(&TimelyConfig::default());
        let mut acks = AckStream::new(&start());
        let mut shares = alloc::vec::Vec::new();
        for _ in 0..16 {
            control.on_ack(&acks.next(false));
            shares.push(libm::round((control.share - 0.5) / 0.001) as u32);
        }
        // Four packets of 4,096 B.
        assert_eq!(shares, [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3]);
    }

    #[test]
    fn the_published_code_grows_below_one_threshold_and_falls_the_less_the_longer_the_round_trip() {
        let mut control = timely(&artifact());
        control.complete(20e-6);
        for step in 1..=3 {
            control.complete(20e-6);
            near(control.share, 0.5 + 0.0005 * f64::from(step), 1e-9);
        }
        let before = control.share;
        control.complete(40e-6);
        near(control.share, before * (1.0 - 0.8 * 16.0 / 40.0), 1e-9);
        let before = control.share;
        control.complete(80e-6);
        near(control.share, before * (1.0 - 0.8 * 16.0 / 80.0), 1e-9);
        assert_eq!(control.previous, Some(20e-6), "only a round trip between them would be the next one's");
    }

    #[test]
    fn a_flow_begins_with_its_part_of_the_host_s_rate() {
        let first = |config: &TimelyConfig, active_flows| {
            let start = Start { active_flows, ..start() };
            Timely::new(&Arc::new(TimelyParams::new(config, &path())), &start).share
        };
        let algorithm = TimelyConfig::default();
        for (others, share) in [(0, 1.0), (1, 0.5), (3, 0.25), (5000, LEAST)] {
            near(first(&algorithm, others), share, 1e-12);
            near(first(&artifact(), others), 1.0, 0.0);
        }
    }

    #[test]
    fn it_can_move_once_a_round_trip() {
        let completion = Completion::Rule(CompletionRule::RoundTrip);
        let mut control = timely(&TimelyConfig { completion, delta: 0.0005, ..TimelyConfig::default() });
        let mut acks = AckStream::new(&start());
        (0..100).for_each(|_| _ = control.on_ack(&acks.next(false)));
        // The first ACK, and two round trips of 42 packets each.
        near(control.share, 0.5 + 2.0 * 0.0005, 1e-9);
    }

    #[test]
    fn the_first_window_gives_the_first_rate_and_holds_until_the_first_ack() {
        let mut control = timely(&TimelyConfig::default());
        let first = control.decision();
        assert_eq!((first.cwnd, first.pacing_rate), (Bytes::new(86_324), Some(Rate::from_gbps(50))));
        let after = control.on_ack(&AckStream::new(&start()).next(false));
        assert_eq!((after.cwnd, after.pacing_rate), (Bytes::MAX, Some(Rate::from_gbps(50))));
    }
}
