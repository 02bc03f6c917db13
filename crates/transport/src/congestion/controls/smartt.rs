//! SMaRTT: marks and round trips together choose one of four steps, and after losses the window becomes what arrived.
//!
//! Bonato et al., "SMaRTT-REPS: Sender-based Marked Rapidly-adapting Trimmed & Timed Transport" (2024), over which the
//! REPS paper runs every path selector (its section 3.0.1 adds the wait before a decrease). Each ACK is one of four
//! cases: marked or not, below the target round trip or not. Where the report leaves a constant open, the artifact of
//! the later REPS paper has it. Left out: its ablations (decrease by marks alone, by round trips alone).
//!
//! Its page: `docs/src/schemes/smartt.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, Loss, Nack, NackCause, NackRule, Needs, SignalBytes, Start, Timeout,
};
use crate::congestion::parts::window::to_f64;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// The largest window, in bandwidth-delay products, unless the first is larger (published artifact: both are the same).
const LARGEST_WINDOW: f64 = 1.5;

/// Parameters of SMaRTT.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SmarttConfig {
    /// The target round trip, in base round trips, at least 1; 1.5 (published artifact).
    pub target: f64,
    /// Fair increase: what a window gains in a round trip, in bandwidth-delay products, in [0, 1]; 0.006 (values of the
    /// submission). Published artifact: 0.02.
    pub fair_increase: f64,
    /// Proportional increase: what an ACK gains when its round trip is half of the target, in packets a window, in
    /// [0, 100]; 2 (both).
    pub proportional_increase: f64,
    /// Fair decrease: what an ACK takes from a window of one bandwidth-delay product, in packets, in [0, 1]; 0.8 (values
    /// of the submission). Published artifact: 0.5.
    pub fair_decrease: f64,
    /// Multiplicative decrease: what an ACK takes when its round trip is twice the target, in packets, in [0, 10]; 2
    /// (values of the submission). Published artifact: 1.
    pub multiplicative_decrease: f64,
    /// Whether a window without queues on its way grows fast; true.
    pub fast_increase: bool,
    /// The increase by each ACK then, in packets, in (0, 10]; 2 (values of the submission). Published artifact: 1.
    pub fast_gain: f64,
    /// The most by which a round trip without queues exceeds the base; 1 us (published artifact).
    pub fast_tolerance: Duration,
    /// Whether a window with losses becomes what arrived in one target round trip; true.
    pub quick_adapt: bool,
    /// Whether the window waits until marks are frequent before it decreases; true (REPS, section 3.0.1).
    pub wait_to_decrease: bool,
    /// Gain of the average share of marks, in (0, 1]; 0.125 (Uno's published code; REPS gives none). Artifact: 0.05.
    pub wait_gain: f64,
    /// The share of marks from which on the window decreases, in [0, 1); 0.25 (REPS, section 3.0.1). Artifact: 0.3.
    pub wait_threshold: f64,
}

impl Default for SmarttConfig {
    fn default() -> Self {
        Self {
            target: 1.5,
            fair_increase: 0.006,
            proportional_increase: 2.0,
            fair_decrease: 0.8,
            multiplicative_decrease: 2.0,
            fast_increase: true,
            fast_gain: 2.0,
            fast_tolerance: Duration::from_us(1),
            quick_adapt: true,
            wait_to_decrease: true,
            wait_gain: 0.125,
            wait_threshold: 0.25,
        }
    }
}

impl SmarttConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "smartt", name, value);
        within(1.0..=100.0, "target", self.target)?;
        within(0.0..=1.0, "fair_increase", self.fair_increase)?;
        within(0.0..=100.0, "proportional_increase", self.proportional_increase)?;
        within(0.0..=1.0, "fair_decrease", self.fair_decrease)?;
        within(0.0..=10.0, "multiplicative_decrease", self.multiplicative_decrease)?;
        within(1e-6..=10.0, "fast_gain", self.fast_gain)?;
        within(1e-6..=1.0, "wait_gain", self.wait_gain)?;
        within(0.0..=0.999_999, "wait_threshold", self.wait_threshold)
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

    /// The queueing delay that it aims at on a path: what the target exceeds the base round trip by.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        Some(path.base_rtt.mul_f64(self.target - 1.0))
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct SmarttParams {
    /// As configured.
    config: SmarttConfig,
    /// The target round trip.
    target: Duration,
    /// The longest round trip without a queue.
    unqueued: Duration,
    /// The bandwidth-delay product, in bytes.
    bdp: f64,
    /// Payload of a full packet, in bytes: the smallest window.
    mss: f64,
    /// Size of a trimmed packet.
    header: Bytes,
}

impl SmarttParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &SmarttConfig, path: &Path) -> Self {
        let base = path.base_rtt.as_ps() as f64;
        Self {
            target: Duration::from_ps((base * config.target) as u64),
            unqueued: path.base_rtt + config.fast_tolerance,
            bdp: path.bdp.as_f64().max(1.0),
            mss: path.mss.as_f64(),
            header: path.header,
            config: config.clone(),
        }
    }
}

/// One target round trip, at whose end Quick Adapt decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Period {
    /// When it ends; `None` before the first news.
    ends: Option<Time>,
    /// Whether it is the flow's first, in which the window stays as it is.
    is_first: bool,
    /// Bytes that arrived in it, trimmed packets by their headers.
    achieved: Bytes,
    /// Whether something was lost in it.
    lost: bool,
}

/// SMaRTT for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Smartt {
    /// The parameters that the flows of a path share.
    params: Arc<SmarttParams>,
    /// The window, in bytes.
    cwnd: f64,
    /// The largest window, in bytes.
    max: f64,
    /// The average share of marked ACKs.
    marked: f64,
    /// Payload acknowledged in a row without a mark and without a queue.
    unqueued: Bytes,
    /// The window when that row began, in bytes: after so much it grows fast.
    fast_after: f64,
    /// The period of Quick Adapt that goes on.
    period: Period,
    /// Payload that was in flight when Quick Adapt last acted: its marks and losses say nothing new.
    ignored: Bytes,
}

impl Smartt {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<SmarttParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.as_f64().max(params.mss);
        Self {
            params: Arc::clone(params),
            cwnd,
            max: cwnd.max(LARGEST_WINDOW * params.bdp),
            marked: 0.0,
            unqueued: Bytes::ZERO,
            fast_after: cwnd,
            period: Period { ends: None, is_first: true, achieved: Bytes::ZERO, lost: false },
            ignored: Bytes::ZERO,
        }
    }

    fn move_by(&mut self, step: f64) {
        self.cwnd = (self.cwnd + step).clamp(self.params.mss, self.max);
    }

    /// Whether the window grows fast: a window's worth of ACKs has come without a mark and without a queue.
    fn is_fast(&mut self, ack: &Ack) -> bool {
        if !self.params.config.fast_increase || !self.ignored.is_zero() {
            return false;
        }
        if ack.ecn_ce || ack.rtt > self.params.unqueued {
            self.unqueued = Bytes::ZERO;
            self.fast_after = self.cwnd;
            return false;
        }
        self.unqueued += ack.bytes_acked;
        to_f64(self.unqueued) > self.fast_after
    }

    /// fair increase: fi x BDP in a round trip.
    fn fair_increase(&self, acked: f64) -> f64 {
        acked / self.cwnd * self.params.config.fair_increase * self.params.bdp
    }

    /// proportional increase: pi x mss / cwnd x (target - rtt) / rtt for each byte, at most that byte.
    fn proportional_increase(&self, acked: f64, rtt: f64, target: f64) -> f64 {
        let gain = self.params.config.proportional_increase * self.params.mss / self.cwnd;
        (gain * (target - rtt) / rtt).min(1.0) * acked
    }

    /// fair decrease: fd x cwnd / BDP for each byte.
    fn fair_decrease(&self, acked: f64) -> f64 {
        self.params.config.fair_decrease * self.cwnd / self.params.bdp * acked
    }

    /// multiplicative decrease: md x (rtt - target) / rtt for each byte, with the fair decrease at most that byte.
    fn multiplicative_decrease(&self, acked: f64, rtt: f64, target: f64) -> f64 {
        let by_delay = self.params.config.multiplicative_decrease * (rtt - target) / rtt * acked;
        (by_delay + self.fair_decrease(acked)).min(acked)
    }

    /// The four cases: marked or not, below the target or not.
    fn react(&mut self, ack: &Ack) {
        let acked = to_f64(if ack.ecn_ce { ack.echoed_bytes() } else { ack.bytes_acked });
        let below = ack.rtt < self.params.target;
        let (rtt, target) = (ack.rtt.as_ps() as f64, self.params.target.as_ps() as f64);
        let step = match (ack.ecn_ce, below) {
            (false, true) => self.proportional_increase(acked, rtt, target) + self.fair_increase(acked),
            (false, false) => self.fair_increase(acked),
            (true, _) if !self.may_decrease() => return,
            (true, true) => -self.fair_decrease(acked),
            (true, false) => -self.multiplicative_decrease(acked, rtt, target),
        };
        self.move_by(step);
    }

    /// REPS, section 3.0.1: not while the average share of marks is below the threshold, and not for packets that were
    /// under way when Quick Adapt acted.
    fn may_decrease(&self) -> bool {
        let SmarttConfig { wait_to_decrease, wait_threshold, .. } = self.params.config;
        self.ignored.is_zero() && (!wait_to_decrease || self.marked >= wait_threshold)
    }

    /// News of so many bytes at `now`: at the end of a period with losses the window becomes what arrived in it.
    fn on_news(&mut self, now: Time, in_flight: Bytes) {
        let Period { ends, is_first, achieved, lost } = self.period;
        let next = |is_first| {
            let ends = Some(now.saturating_add(self.params.target));
            Period { ends, is_first, achieved: Bytes::ZERO, lost: false }
        };
        match ends {
            None => self.period = Period { achieved, lost, ..next(true) },
            Some(ends) if now >= ends => {
                self.period = next(false);
                if lost && !is_first && self.params.config.quick_adapt {
                    self.cwnd = achieved.as_f64().clamp(self.params.mss, self.cwnd);
                    self.ignored = in_flight;
                    self.unqueued = Bytes::ZERO;
                    self.fast_after = self.cwnd;
                }
            }
            Some(_) => {}
        }
    }

    /// Something was lost: its bytes leave the window, but for what was under way when Quick Adapt acted.
    fn on_lost(&mut self, now: Time, bytes: Bytes, in_flight: Bytes, arrived: Bytes) -> Decision {
        self.period.achieved += arrived;
        self.period.lost = true;
        if self.ignored.is_zero() {
            self.move_by(-bytes.as_f64());
        }
        self.ignored = self.ignored.saturating_sub(bytes);
        self.on_news(now, in_flight);
        self.decision()
    }
}

impl Congestion for Smartt {
    fn decision(&self) -> Decision {
        Decision::window(Bytes::new(self.cwnd as i64 as u64))
    }

    fn state(&self) -> Option<&'static str> {
        Some(match () {
            () if !self.ignored.is_zero() => "quick_adapt",
            () if to_f64(self.unqueued) > self.fast_after => "fast_increase",
            () => "steady",
        })
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let gain = self.params.config.wait_gain;
        // Each packet counts, and so does a duplicate.
        for _ in 0..ack.acked_packets {
            self.marked = (1.0 - gain) * self.marked + if ack.ecn_ce { gain } else { 0.0 };
        }
        self.period.achieved += ack.bytes_acked;
        // Itself among what is ignored: it counts below.
        self.on_news(ack.now, ack.in_flight + ack.bytes_acked);
        if self.is_fast(ack) {
            self.move_by(self.params.config.fast_gain * to_f64(ack.bytes_acked));
        } else {
            self.react(ack);
        }
        self.ignored = self.ignored.saturating_sub(ack.bytes_acked);
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.cwnd = self.cwnd.min(to_f64(most)).max(self.params.mss);
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        let arrived = if nack.cause == NackCause::Trimmed { self.params.header } else { Bytes::ZERO };
        self.on_lost(nack.now, nack.bytes, nack.in_flight, arrived)
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.on_lost(loss.now, loss.bytes, loss.in_flight, Bytes::ZERO)
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.on_lost(timeout.now, timeout.bytes, timeout.in_flight, Bytes::ZERO)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with, timeout};

    /// As the artifact of the later REPS paper runs it.
    pub(crate) fn artifact() -> SmarttConfig {
        SmarttConfig {
            fair_increase: 0.02,
            fair_decrease: 0.5,
            multiplicative_decrease: 1.0,
            fast_gain: 1.0,
            wait_gain: 0.05,
            wait_threshold: 0.3,
            ..SmarttConfig::default()
        }
    }

    /// The four cases alone.
    fn plain() -> SmarttConfig {
        let off = false;
        SmarttConfig {
            fast_increase: off,
            quick_adapt: off,
            wait_to_decrease: off,
            ..SmarttConfig::default()
        }
    }

    fn smartt(config: &SmarttConfig, start: &Start<'_>) -> Smartt {
        Smartt::new(&Arc::new(SmarttParams::new(config, start.path)), start)
    }

    /// Ten packets of a largest window of 42, and ACKs over an idle path.
    fn ten(config: &SmarttConfig) -> (Smartt, AckStream) {
        let mut control = smartt(config, &start());
        control.cwnd = 10.0 * MSS;
        control.fast_after = control.cwnd;
        (control, AckStream::new(&start()))
    }

    fn target() -> Duration {
        SmarttParams::new(&plain(), &path()).target
    }

    /// The ACK of a packet whose round trip was `rtt`.
    fn with_rtt(acks: &mut AckStream, rtt: Duration, ecn_ce: bool) -> Ack<'static> {
        Ack { rtt, ..acks.next(ecn_ce) }
    }

    fn nack(now: Time, packets: u64, in_flight: u64) -> Nack {
        let [bytes, in_flight] = [packets, in_flight].map(|packets| Bytes::new(packets * 4096));
        Nack { now, bytes, sent_at: Time::ZERO, in_flight, cause: NackCause::Trimmed }
    }

    const BDP: f64 = 175_344.0;

    #[test]
    fn a_parameter_out_of_range_is_named() {
        refused(
            SmarttConfig::check,
            &[
                ("target", |c| c.target = 0.9),
                ("fair_increase", |c| c.fair_increase = -1.0),
                ("proportional_increase", |c| c.proportional_increase = f64::NAN),
                ("fair_decrease", |c| c.fair_decrease = 1.1),
                ("multiplicative_decrease", |c| c.multiplicative_decrease = 11.0),
                ("fast_gain", |c| c.fast_gain = 0.0),
                ("wait_gain", |c| c.wait_gain = 0.0),
                ("wait_threshold", |c| c.wait_threshold = 1.0),
            ],
        );
        assert_eq!([SmarttConfig::default(), artifact()].map(|config| config.check()), [Ok(()), Ok(())]);
    }

    #[test]
    fn no_mark_below_the_target_gains_in_proportion_and_fairly() {
        let (mut control, mut acks) = ten(&plain());
        control.on_ack(&acks.next(false));
        // 2 x mss / cwnd x (1.5 - 1) / 1 of a packet, and 0.006 BDP a window.
        near(control.cwnd, 10.0 * MSS + 0.1 * MSS + 0.1 * 0.006 * BDP, 1e-2);
    }

    #[test]
    fn the_proportional_gain_is_a_packet_at_most() {
        let (mut control, mut acks) = ten(&SmarttConfig { fair_increase: 0.0, ..plain() });
        control.cwnd = MSS;
        control.on_ack(&with_rtt(&mut acks, target() / 3, false));
        near(control.cwnd, 2.0 * MSS, 1e-6);
    }

    #[test]
    fn the_target_itself_is_not_below_the_target() {
        let just_below = target() - Duration::from_ps(1);
        for (rtt, ecn_ce, expected) in [
            (target(), false, 0.1 * 0.006 * BDP),
            (just_below, false, 0.1 * 0.006 * BDP),
            (just_below, true, -0.8 * 10.0 * MSS / BDP * MSS),
            (target(), true, -0.8 * 10.0 * MSS / BDP * MSS),
        ] {
            let (mut control, mut acks) = ten(&plain());
            control.on_ack(&with_rtt(&mut acks, rtt, ecn_ce));
            // At the border the parts that depend on the distance to the target are nothing, on either side.
            near(control.cwnd - 10.0 * MSS, expected, 1e-2);
        }
    }

    #[test]
    fn a_mark_takes_nothing_for_what_only_its_map_names() {
        let (mut control, mut acks) = ten(&plain());
        let (bytes_acked, mapped) = (Bytes::new(3 * 4096), Bytes::new(2 * 4096));
        control.on_ack(&Ack { bytes_acked, mapped, ..with_rtt(&mut acks, target() / 2, true) });
        near(control.cwnd - 10.0 * MSS, -0.8 * 10.0 * MSS / BDP * MSS, 1e-6);
    }

    #[test]
    fn no_mark_above_the_target_gains_fairly_alone() {
        let (mut control, mut acks) = ten(&plain());
        control.on_ack(&with_rtt(&mut acks, target() * 3, false));
        near(control.cwnd - 10.0 * MSS, 0.1 * 0.006 * BDP, 1e-6);
    }

    #[test]
    fn a_mark_below_the_target_takes_the_fair_part_whatever_the_round_trip() {
        for part in [2, 3, 4] {
            let (mut control, mut acks) = ten(&plain());
            control.on_ack(&with_rtt(&mut acks, target() / part, true));
            near(control.cwnd - 10.0 * MSS, -0.8 * 10.0 * MSS / BDP * MSS, 1e-6);
        }
    }

    #[test]
    fn a_mark_above_the_target_takes_by_its_distance_too_and_a_packet_at_most() {
        let (mut control, mut acks) = ten(&plain());
        // A tenth above: 2 x 0.1 / 1.1 of a packet.
        control.on_ack(&with_rtt(&mut acks, target() * 11 / 10, true));
        let expected = 2.0 * 0.1 / 1.1 * MSS + 0.8 * 10.0 * MSS / BDP * MSS;
        near(10.0 * MSS - control.cwnd, expected, 1.0);
        let before = control.cwnd;
        control.on_ack(&with_rtt(&mut acks, target() * 10, true));
        near(before - control.cwnd, MSS, 1e-6);
    }

    #[test]
    fn an_ack_of_many_packets_counts_as_many() {
        let (mut one, mut acks) = ten(&plain());
        one.on_ack(&Ack { bytes_acked: Bytes::new(4 * 4096), ..acks.next(false) });
        near(one.cwnd, 10.0 * MSS + 4.0 * (0.1 * MSS + 0.1 * 0.006 * BDP), 0.1);
        let before = one.cwnd;
        one.on_ack(&Ack { bytes_acked: Bytes::ZERO, ..acks.next(true) });
        near(one.cwnd, before, 0.0);
    }

    #[test]
    fn the_window_waits_until_a_quarter_of_the_acks_is_marked() {
        let (mut control, mut acks) = ten(&SmarttConfig {
            wait_to_decrease: true,
            fair_increase: 0.0,
            proportional_increase: 0.0,
            ..plain()
        });
        // 1 - 0.875^2 = 0.234 is below a quarter, 1 - 0.875^3 = 0.330 is not.
        control.on_ack(&acks.next(true));
        control.on_ack(&acks.next(true));
        near(control.cwnd, 10.0 * MSS, 0.0);
        control.on_ack(&acks.next(true));
        assert!(control.cwnd < 10.0 * MSS);
        // 0.330 x 0.875^3 = 0.221: after three ACKs without a mark it waits again.
        let before = control.cwnd;
        for _ in 0..3 {
            control.on_ack(&acks.next(false));
        }
        control.on_ack(&acks.next(true));
        assert!(control.marked > 0.25 && control.cwnd < before, "the mark itself counts");
        let before = control.cwnd;
        for _ in 0..9 {
            control.on_ack(&acks.next(false));
        }
        control.on_ack(&acks.next(true));
        near(control.cwnd, before, 0.0);
    }

    #[test]
    fn the_threshold_itself_is_enough() {
        let config = SmarttConfig { wait_to_decrease: true, wait_gain: 0.25, ..plain() };
        let (mut control, mut acks) = ten(&config);
        control.on_ack(&acks.next(true));
        assert!(control.cwnd < 10.0 * MSS, "0.25 is not below 0.25");
    }

    #[test]
    fn a_window_of_acks_without_a_queue_makes_it_fast_until_one_has_a_queue() {
        let (mut control, mut acks) = ten(&SmarttConfig { fast_increase: true, ..plain() });
        acks.delay = Duration::from_us(1);
        for _ in 0..10 {
            let before = control.cwnd;
            control.on_ack(&acks.next(false));
            assert!(control.cwnd - before < MSS);
        }
        for _ in 0..3 {
            let before = control.cwnd;
            control.on_ack(&acks.next(false));
            near(control.cwnd - before, 2.0 * MSS, 1e-6);
        }
        assert_eq!(control.state(), Some("fast_increase"));
        acks.delay = Duration::from_ps(1_000_001);
        let before = control.cwnd;
        control.on_ack(&acks.next(false));
        assert!(control.cwnd - before < MSS, "a picosecond too much");
        assert_eq!(control.state(), Some("steady"));
        acks.delay = Duration::ZERO;
        control.on_ack(&acks.next(false));
        assert!(control.cwnd - before < MSS, "the row begins anew");
    }

    #[test]
    fn a_mark_ends_the_fast_increase() {
        let (mut control, mut acks) = ten(&SmarttConfig { fast_increase: true, ..plain() });
        for _ in 0..11 {
            control.on_ack(&acks.next(false));
        }
        assert_eq!(control.state(), Some("fast_increase"));
        control.on_ack(&acks.next(true));
        assert_eq!((control.state(), control.unqueued), (Some("steady"), Bytes::ZERO));
    }

    #[test]
    fn losses_take_their_bytes() {
        let (mut control, acks) = ten(&plain());
        control.on_nack(&nack(acks.now, 1, 9));
        near(control.cwnd, 9.0 * MSS, 0.0);
        control.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
        near(control.cwnd, 8.0 * MSS, 0.0);
        let (now, sent_at, bytes, in_flight) = (acks.now, acks.now, Bytes::new(3 * 4096), Bytes::ZERO);
        control.on_loss(&Loss { now, bytes, sent_at, in_flight });
        near(control.cwnd, 5.0 * MSS, 0.0);
        control.on_nack(&nack(acks.now, 9, 9));
        near(control.cwnd, MSS, 0.0);
    }

    /// Past the first period, with a window of 40 packets.
    fn adapting() -> (Smartt, Time) {
        let mut control = smartt(&SmarttConfig { quick_adapt: true, ..plain() }, &start());
        let begun = Time::ZERO + Duration::from_us(20);
        control.on_nack(&nack(begun, 0, 40));
        let second = begun + target();
        control.on_nack(&nack(second, 0, 40));
        control.cwnd = 40.0 * MSS;
        assert!(!control.period.is_first && control.period.achieved.is_zero());
        (control, second)
    }

    fn ack_at(now: Time, packets: u64, in_flight: u64, ecn_ce: bool) -> Ack<'static> {
        let [bytes_acked, in_flight] = [packets, in_flight].map(|packets| Bytes::new(packets * 4096));
        let stream = AckStream::new(&start()).next(ecn_ce);
        Ack { now, bytes_acked, in_flight, rtt: target(), ..stream }
    }

    #[test]
    fn quick_adapt_makes_the_window_what_arrived_in_a_period_with_losses() {
        let (mut control, begun) = adapting();
        control.on_ack(&ack_at(begun + target() / 2, 7, 33, false));
        control.on_nack(&nack(begun + target() / 2, 1, 30));
        control.on_ack(&ack_at(begun + target() - Duration::from_ps(1), 1, 20, false));
        assert!(control.cwnd > 30.0 * MSS, "not before the period is over");
        control.on_nack(&nack(begun + target(), 1, 20));
        // Eight packets and two headers.
        near(control.cwnd, 8.0 * MSS + 128.0, 0.0);
        assert_eq!((control.state(), control.ignored), (Some("quick_adapt"), Bytes::new(20 * 4096)));
    }

    #[test]
    fn quick_adapt_acts_once_a_period() {
        let (mut control, begun) = adapting();
        control.on_nack(&nack(begun + target(), 1, 0));
        let adapted = control.cwnd;
        near(adapted, MSS, 0.0);
        control.cwnd = 20.0 * MSS;
        control.ignored = Bytes::ZERO;
        for part in 1..8 {
            control.on_nack(&nack(begun + target() + target() * part / 8, 0, 0));
            near(control.cwnd, 20.0 * MSS, 0.0);
        }
        control.on_nack(&nack(begun + target() * 2, 0, 0));
        near(control.cwnd, MSS, 0.0);
    }

    #[test]
    fn a_period_without_losses_and_the_first_one_leave_the_window_alone() {
        let (mut control, begun) = adapting();
        control.on_ack(&ack_at(begun + target() / 2, 1, 33, false));
        control.on_ack(&ack_at(begun + target() * 2, 1, 33, false));
        assert!(control.cwnd > 40.0 * MSS);
        let mut first = smartt(&SmarttConfig { quick_adapt: true, ..plain() }, &start());
        let now = Time::ZERO + Duration::from_us(20);
        first.on_nack(&nack(now, 1, 40));
        first.on_nack(&nack(now + target(), 1, 40));
        near(first.cwnd, BDP - 2.0 * MSS, 1.0);
    }

    #[test]
    fn after_quick_adapt_what_was_under_way_is_ignored() {
        let (mut control, begun) = adapting();
        control.on_nack(&nack(begun + target(), 1, 4));
        let adapted = control.cwnd;
        let later = begun + target() + Duration::from_us(1);
        control.on_nack(&nack(later, 1, 3));
        control.on_ack(&ack_at(later, 1, 2, true));
        control.on_timeout(&timeout(later, later, Bytes::new(4096)));
        near(control.cwnd, adapted, 0.0);
        control.cwnd = 20.0 * MSS;
        control.on_ack(&ack_at(later, 1, 0, true));
        near(control.cwnd, 20.0 * MSS, 0.0);
        control.on_ack(&ack_at(later, 1, 0, true));
        assert!(control.cwnd < 20.0 * MSS, "news of what left afterwards");
    }

    #[test]
    fn quick_adapt_never_widens_the_window() {
        let (mut control, begun) = adapting();
        control.cwnd = 2.0 * MSS;
        control.period.achieved = Bytes::new(1 << 20);
        control.on_nack(&nack(begun + target(), 0, 0));
        near(control.cwnd, 2.0 * MSS, 0.0);
    }

    #[test]
    fn switched_off_it_does_not_adapt() {
        let (mut control, begun) = adapting();
        control.params = Arc::new(SmarttParams::new(&plain(), &path()));
        control.on_nack(&nack(begun + target(), 1, 0));
        near(control.cwnd, 39.0 * MSS, 0.0);
        assert!(control.ignored.is_zero());
    }

    #[test]
    fn the_window_stays_between_one_packet_and_the_first_or_one_and_a_half_bdp() {
        let large = smartt(&SmarttConfig::default(), &start_with(Bytes::new(1 << 20)));
        near(large.max, 1048576.0, 0.0);
        let mut control = smartt(&SmarttConfig::default(), &start_with(Bytes::new(40_960)));
        let mut acks = AckStream::new(&start());
        for _ in 0..100 {
            control.on_ack(&acks.next(false));
        }
        near(control.cwnd, 1.5 * BDP, 0.0);
        for _ in 0..1000 {
            control.on_ack(&with_rtt(&mut acks, target() * 4, true));
        }
        near(control.cwnd, MSS, 0.0);
    }
}
