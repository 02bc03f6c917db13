//! NSCC: the queueing delay and marks of each ACK choose one of four steps, whose sizes grow with the network.
//!
//! The sender's control of Ultra Ethernet, as the public code of uet-htsim runs and scales it: gains are those of a network
//! of 100 Gb/s and 12 us, times the ratio of bandwidth-delay products. Increases are saved up and taken every eight packets
//! or each round trip. Left out: the receiver's credit, and RTS packets.
//!
//! Its page: `docs/src/schemes/nscc.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, Loss, Nack, NackCause, NackRule, Needs, SignalBytes, Start, Timeout,
};
use crate::congestion::parts::window::to_f64;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// The network for which the gains are given: 100 Gb/s x 12 us, in bytes.
const REFERENCE_BDP: f64 = 150_000.0;
/// Its round trip, in ps.
const REFERENCE_RTT: f64 = 12e6;
/// Increases are taken after so many packets, if a round trip is not over before.
const PACKETS_A_STEP: f64 = 8.0;
/// A round trip has no queue if it is longer than the base by less than this, in ps.
const UNQUEUED: f64 = 1e6;
/// The part of the base round trip that counts as the delay of an ACK without a mark that waited longer than the target: the
/// queue is going away.
const STALE_DELAY: f64 = 0.25;
/// Quick Adapt also acts at a delay of so many targets.
const ADAPT_DELAY: f64 = 4.0;
/// The largest window, in bandwidth-delay products, unless the first is larger.
const LARGEST_WINDOW: f64 = 1.5;

/// Parameters of NSCC, as uet-htsim has them.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct NsccConfig {
    /// The target queueing delay, in base round trips, in (0, 100]; left out: 0.75 where ports trim, else 1.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub target: Option<f64>,
    /// Proportional increase in a round trip without a queue, in packets of the reference network, in [0, 100]; 4.
    pub proportional_increase: f64,
    /// Fair increase in a round trip, in packets of the reference network, in [0, 100]; 5.
    pub fair_increase: f64,
    /// The increase of every round trip, in packets of the reference network, in [0, 100]; 0.15.
    pub eta: f64,
    /// Fast increase: part of the bytes acknowledged, in the reference network, in [0, 10]; 0.25.
    pub fast_increase: f64,
    /// The part of its excess over the target by which a delay cuts the window, in [0, 1]; 0.8.
    pub gamma: f64,
    /// The largest cut, in (0, 1); 0.5.
    pub largest_cut: f64,
    /// Gain of the average delay, in (0, 1]; 0.0125.
    pub delay_gain: f64,
    /// Whether Quick Adapt runs; true.
    pub quick_adapt: bool,
    /// It acts only if less than the largest window over two to this power arrived in its period, at most 16; 3.
    pub quick_adapt_gate: u8,
    /// Whether the base round trip is the path's own, rather than the largest of the network until a shorter one is
    /// measured; false.
    pub accurate_base_rtt: bool,
}

impl Default for NsccConfig {
    fn default() -> Self {
        Self {
            target: None,
            proportional_increase: 4.0,
            fair_increase: 5.0,
            eta: 0.15,
            fast_increase: 0.25,
            gamma: 0.8,
            largest_cut: 0.5,
            delay_gain: 0.0125,
            quick_adapt: true,
            quick_adapt_gate: 3,
            accurate_base_rtt: false,
        }
    }
}

impl NsccConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "nscc", name, value);
        within(1e-6..=100.0, "target", self.target.unwrap_or(1.0))?;
        within(0.0..=100.0, "proportional_increase", self.proportional_increase)?;
        within(0.0..=100.0, "fair_increase", self.fair_increase)?;
        within(0.0..=100.0, "eta", self.eta)?;
        within(0.0..=10.0, "fast_increase", self.fast_increase)?;
        within(0.0..=1.0, "gamma", self.gamma)?;
        within(1e-6..=0.999_999, "largest_cut", self.largest_cut)?;
        within(1e-6..=1.0, "delay_gain", self.delay_gain)?;
        within(0.0..=16.0, "quick_adapt_gate", f64::from(self.quick_adapt_gate))
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

    /// The queueing delay that it aims at on a path.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        Some(path.largest_base_rtt.mul_f64(self.target_rtts(path)))
    }

    /// The target queueing delay, in base round trips.
    fn target_rtts(&self, path: &Path) -> f64 {
        self.target.unwrap_or(if path.trims { 0.75 } else { 1.0 })
    }
}

/// The parameters, and what a path makes of them. Times in ps, windows in bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct NsccParams {
    /// As configured.
    config: NsccConfig,
    /// The base round trip at the start.
    base_rtt: f64,
    /// The network's round trip: how often increases are taken at the latest, and the delay that a NACK stands for.
    network_rtt: f64,
    /// The target queueing delay.
    target: f64,
    /// Proportional increase for each byte and ps below the target, times the window.
    alpha: f64,
    /// Fair increase for each byte, times the window.
    fair: f64,
    /// The increase of every round trip.
    eta: f64,
    /// Fast increase for each byte.
    fast: f64,
    /// The bandwidth-delay product.
    bdp: f64,
    /// Payload of a full packet: the smallest window.
    mss: f64,
}

impl NsccParams {
    /// Computes the parameters of `config` on `path`. With a = BDP / reference BDP, b = target / reference round trip:
    /// alpha = 4 mss a b / target, fair increase = 5 mss a, eta = 0.15 mss a, fast increase = 0.25 a.
    #[must_use]
    pub fn new(config: &NsccConfig, path: &Path) -> Self {
        let network_rtt = path.largest_base_rtt.as_ps() as f64;
        let bdp_over = |rtt| path.line_rate.bytes_in(rtt).as_f64().max(1.0);
        let base_rtt = if config.accurate_base_rtt { path.base_rtt } else { path.largest_base_rtt };
        let target = network_rtt * config.target_rtts(path);
        let (a, b) = (bdp_over(path.largest_base_rtt) / REFERENCE_BDP, target / REFERENCE_RTT);
        let mss = path.mss.as_f64();
        Self {
            base_rtt: base_rtt.as_ps() as f64,
            network_rtt,
            target,
            alpha: config.proportional_increase * mss * a * b / target,
            fair: config.fair_increase * mss * a,
            eta: config.eta * mss * a,
            fast: config.fast_increase * a,
            bdp: bdp_over(base_rtt),
            mss,
            config: config.clone(),
        }
    }
}

/// NSCC for one flow. Times in ps, windows in bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct Nscc {
    /// The parameters that the flows of a path share.
    params: Arc<NsccParams>,
    /// The window.
    cwnd: f64,
    /// The largest window, as long as the base round trip is the first.
    max: f64,
    /// The base round trip: that of the start, or the shortest since.
    base_rtt: f64,
    /// The average queueing delay.
    delay: f64,
    /// Increases saved up, times the window.
    saved: f64,
    /// Bytes acknowledged since increases were last taken.
    since_step: Bytes,
    /// When a round trip's own increase was last added.
    round_at: Time,
    /// Bytes acknowledged without a mark and without a queue, since an ACK last told of a queue.
    unqueued: Bytes,
    /// Whether they were more than the window: the increase is fast.
    is_fast: bool,
    /// When the window was last cut.
    cut_at: Time,
    /// When the period of Quick Adapt ends; `None` before the first news.
    period_ends: Option<Time>,
    /// Bytes acknowledged in it.
    achieved: Bytes,
    /// Whether a packet was trimmed since Quick Adapt last acted.
    trimmed: bool,
    /// Payload under way when Quick Adapt last acted, as far as its fate is not known: its marks say nothing new.
    ignored: Bytes,
}

impl Nscc {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<NsccParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.as_f64().max(params.mss);
        Self {
            params: Arc::clone(params),
            cwnd,
            max: cwnd.max(LARGEST_WINDOW * params.bdp),
            base_rtt: params.base_rtt,
            delay: 0.0,
            saved: 0.0,
            since_step: Bytes::ZERO,
            round_at: Time::ZERO,
            unqueued: Bytes::ZERO,
            is_fast: false,
            cut_at: Time::ZERO,
            period_ends: None,
            achieved: Bytes::ZERO,
            trimmed: false,
            ignored: Bytes::ZERO,
        }
    }

    /// The largest window: it shrinks with the base round trip.
    fn largest(&self) -> f64 {
        (self.max * self.base_rtt / self.params.base_rtt).max(self.params.mss)
    }

    fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(self.params.mss, self.largest());
    }

    /// The average delay moves towards a sample, in ps.
    fn average(&mut self, sample: f64) {
        let gain = self.params.config.delay_gain;
        self.delay = gain * sample + (1.0 - gain) * self.delay;
    }

    /// A round trip shorter than the base, in ps, is the new base.
    fn measure(&mut self, rtt: f64) {
        if rtt < self.base_rtt {
            self.base_rtt = rtt;
            self.set(self.cwnd);
        }
    }

    /// The queueing delay of an ACK, in ps.
    fn queueing(&mut self, ack: &Ack) -> f64 {
        let rtt = ack.rtt.as_ps() as f64;
        self.measure(rtt);
        let delay = rtt - self.base_rtt;
        let stale = !ack.ecn_ce && delay > self.params.target;
        self.average(if stale { STALE_DELAY * self.base_rtt } else { delay });
        delay
    }

    /// The four cases: marked or not, below the target or not.
    fn react(&mut self, ack: &Ack, delay: f64) {
        let (acked, target) = (to_f64(ack.bytes_acked), self.params.target);
        match (ack.ecn_ce, delay < target) {
            // Fair increase.
            (false, false) => self.saved += self.params.fair * acked,
            // Fast increase, or proportional increase: alpha x (target - delay).
            (false, true) if self.is_fast(delay, ack.bytes_acked) => {
                self.set(self.cwnd + self.params.fast * acked);
            }
            (false, true) => self.saved += self.params.alpha * acked * (target - delay),
            // Multiplicative decrease.
            (true, false) => {
                (self.unqueued, self.is_fast) = (Bytes::ZERO, false);
                self.cut(ack.now);
            }
            // A mark without a long queue is a matter of the path.
            (true, true) => {}
        }
    }

    /// Whether a window's worth of ACKs has come without a mark and without a queue, and none since
    /// that has a queue below the target and no mark, or a mark and a delay above it.
    fn is_fast(&mut self, delay: f64, acked: Bytes) -> bool {
        if delay < UNQUEUED {
            self.unqueued += acked;
            self.is_fast |= to_f64(self.unqueued) > self.cwnd;
        } else {
            (self.unqueued, self.is_fast) = (Bytes::ZERO, false);
        }
        self.is_fast
    }

    /// cwnd = cwnd x max(1 - gamma (delay - target) / delay, 1/2), once in a base round trip, while the average delay is
    /// above the target.
    fn cut(&mut self, now: Time) {
        let since = now.since(self.cut_at).as_ps() as f64;
        if self.delay <= self.params.target || since < self.base_rtt {
            return;
        }
        let NsccConfig { gamma, largest_cut, .. } = self.params.config;
        let excess = (self.delay - self.params.target) / self.delay;
        self.set(self.cwnd * (1.0 - gamma * excess).max(1.0 - largest_cut));
        self.cut_at = now;
    }

    /// Takes the increases saved up, every eight packets or each round trip; each round trip adds its own.
    fn step(&mut self, ack: &Ack) {
        self.since_step += ack.bytes_acked;
        let round = ack.now.since(self.round_at).as_ps() as f64 >= self.params.network_rtt;
        if round || to_f64(self.since_step) >= PACKETS_A_STEP * self.params.mss {
            self.set(self.cwnd + self.saved / self.cwnd);
            (self.saved, self.since_step) = (0.0, Bytes::ZERO);
        }
        if round {
            self.set(self.cwnd + self.params.eta);
            self.round_at = ack.now;
        }
    }

    /// Whether a mark or a NACK, or else a delay at the end of a period, is dealt with by Quick Adapt. What was under way
    /// when it acted is ignored. It acts at the end of a period if a packet was trimmed since it last did or the delay is
    /// above four targets, and if little arrived: the window becomes that.
    fn quick_adapt(&mut self, now: Time, delay: f64, is_marked: bool, in_flight: Bytes) -> bool {
        let NsccConfig { quick_adapt, quick_adapt_gate, .. } = self.params.config;
        if !quick_adapt {
            return false;
        }
        let mut handled = is_marked && !self.ignored.is_zero();
        if !handled && self.period_ends.is_none_or(|ends| now >= ends) {
            let congested = self.trimmed || delay > ADAPT_DELAY * self.params.target;
            let little =
                self.achieved.as_f64() < self.largest() / f64::from(1_u32 << quick_adapt_gate.min(16));
            handled = self.period_ends.is_some() && congested && little;
            if handled {
                self.cwnd = self.achieved.as_f64().clamp(self.params.mss, self.cwnd);
                (self.ignored, self.trimmed) = (in_flight, false);
            }
            let period = Duration::from_ps((self.base_rtt + self.params.target) as u64);
            (self.achieved, self.period_ends) = (Bytes::ZERO, Some(now.saturating_add(period)));
        }
        if handled {
            (self.saved, self.since_step) = (0.0, Bytes::ZERO);
        }
        handled
    }

    /// Takes lost bytes from the window.
    fn on_lost(&mut self, bytes: Bytes) -> Decision {
        self.cwnd = (self.cwnd - bytes.as_f64()).max(self.params.mss);
        self.decision()
    }
}

impl Congestion for Nscc {
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(self.cwnd as i64 as u64))
    }

    fn state(&self) -> Option<&'static str> {
        Some(match () {
            () if !self.ignored.is_zero() => "quick_adapt",
            () if self.is_fast => "fast_increase",
            () => "steady",
        })
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let delay = self.queueing(ack);
        self.achieved += ack.bytes_acked;
        self.ignored = self.ignored.saturating_sub(ack.bytes_acked);
        if !self.quick_adapt(ack.now, delay, ack.ecn_ce, ack.in_flight) {
            self.react(ack, delay);
            self.step(ack);
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.set(self.cwnd.min(to_f64(most)));
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        if nack.cause != NackCause::Trimmed {
            return self.on_lost(nack.bytes);
        }
        self.measure(nack.now.since(nack.sent_at).as_ps() as f64);
        self.average(self.params.network_rtt);
        self.trimmed = true;
        self.ignored = self.ignored.saturating_sub(nack.bytes);
        if self.quick_adapt(nack.now, 0.0, true, nack.in_flight + nack.bytes) {
            return self.decision();
        }
        self.on_lost(nack.bytes)
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.on_lost(loss.bytes)
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.on_lost(timeout.bytes)
    }
}

#[cfg(test)]
mod tests;
