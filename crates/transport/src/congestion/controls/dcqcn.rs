//! DCQCN: a rate that congestion notifications cut, and that a timer and a byte counter raise again.
//!
//! Zhu et al., "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), section 3: the reaction point. The congestion
//! point is RED at the ports, the notification point is [the receiver](crate::CnpConfig).
//!
//! Left out: any reaction to losses, for the paper's network has none.
//!
//! Its page: `docs/src/schemes/dcqcn.md`.

use crate::congestion::contract::{
    Ack, Cnp, Congestion, Decision, Ecn, NackRule, Needs, Sent, SignalBytes, Start,
};
use crate::notifier::CnpConfig;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind, Time};

/// The smallest rate, as a part of the line rate (published code of OSCAR).
/// A NACK can lower it further, down to a packet, until the next update.
const LEAST: f64 = 0.001;

/// The longest of the three times.
const LONGEST: Duration = Duration::from_ms(1000);

/// When fast recovery ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum RecoveryEnd {
    /// With the F-th increase, so that F - 1 recover (section 3.2: max(T, BC) < F).
    Reached,
    /// With the one behind it, so that F recover (published code of OSCAR).
    Passed,
}

/// Parameters of DCQCN.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DcqcnConfig {
    /// g: the gain of alpha, in [0, 1]; 1/256.
    pub gain: f64,
    /// alpha before the first CNP, in [0, 1]; 1.
    pub alpha_start: f64,
    /// tau': how long without a CNP lowers alpha, above zero, up to a second; 55 us.
    pub alpha_timer: Duration,
    /// T: the timer of increases, above zero, up to a second; 55 us.
    pub increase_timer: Duration,
    /// B: the byte counter of increases, above zero; 10 MB.
    pub byte_counter: Bytes,
    /// F: how many increases make fast recovery, in [0, 1000]; 5.
    pub recoveries: u32,
    /// Whether the F-th increase ends it, or the one behind; `reached`: four recover. Published code of OSCAR: `passed`.
    pub recovery_end: RecoveryEnd,
    /// `R_AI`: additive increase of the target, as a part of the line rate, in [0, 1]; 0.001: 40 Mb/s of 40 Gb/s.
    pub additive: f64,
    /// `R_HAI`: hyper increase of the target, as a part of the line rate, in [0, 1]; 0.01.
    pub hyper: f64,
    /// Whether each hyper increase in a row is larger by `R_HAI` than the one before; true. Published code of OSCAR: false.
    pub hyper_grows: bool,
    /// Whether a window of the bandwidth-delay product x rate / line rate bounds what is in flight; false.
    pub window: bool,
    /// N: the shortest time between two CNPs of a flow, up to a second; 50 us.
    pub cnp_interval: Duration,
}

impl Default for DcqcnConfig {
    fn default() -> Self {
        Self {
            gain: 1.0 / 256.0,
            alpha_start: 1.0,
            alpha_timer: Duration::from_us(55),
            increase_timer: Duration::from_us(55),
            byte_counter: Bytes::new(10_000_000),
            recoveries: 5,
            recovery_end: RecoveryEnd::Reached,
            additive: 0.001,
            hyper: 0.01,
            hyper_grows: true,
            window: false,
            cnp_interval: Duration::from_us(50),
        }
    }
}

impl DcqcnConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |name, value| ConfigError::unless_in(0.0..=1.0, "dcqcn", name, value);
        within("gain", self.gain)?;
        within("alpha_start", self.alpha_start)?;
        for (name, time) in [("alpha_timer", self.alpha_timer), ("increase_timer", self.increase_timer)] {
            ConfigError::if_zero(time.is_zero(), "dcqcn", name, &time, "would come up for ever", "a time")?;
            ConfigError::unless_at_most(LONGEST, "dcqcn", name, time, "leave it out")?;
        }
        ConfigError::unless_at_most(LONGEST, "dcqcn", "cnp_interval", self.cnp_interval, "leave it out")?;
        let (counter, effect) = (self.byte_counter, "would count for ever");
        ConfigError::if_zero(counter.is_zero(), "dcqcn", "byte_counter", &counter, effect, "a size")?;
        ConfigError::unless_in(0.0..=1000.0, "dcqcn", "recoveries", f64::from(self.recoveries))?;
        within("additive", self.additive)?;
        within("hyper", self.hyper)
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Required,
            sent: true,
            send_record: false,
            pulls: None,
            cnps: Some(CnpConfig { interval: self.cnp_interval }),
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Unsaid,
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
pub struct DcqcnParams {
    /// As configured.
    config: DcqcnConfig,
    /// In bits a second.
    line_rate: f64,
    /// The bandwidth-delay product, in bytes.
    bdp: f64,
    /// Bytes of a packet on the wire beside its payload.
    header: Bytes,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
}

impl DcqcnParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &DcqcnConfig, path: &Path) -> Self {
        Self {
            config: config.clone(),
            line_rate: path.line_rate.as_bps() as f64,
            bdp: path.bdp.as_f64().max(1.0),
            header: path.header,
            mss: path.mss,
        }
    }
}

/// Counters of increases since the last CNP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Stages {
    /// T: by the timer.
    timer: u32,
    /// BC: by the byte counter.
    bytes: u32,
    /// Bytes on the wire since the byte counter last ran out.
    sent: Bytes,
}

/// When the timers come up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct RateTimers {
    alpha: Time,
    increase: Time,
}

/// DCQCN for one flow. Rates are parts of the line rate.
#[derive(Clone, PartialEq, Debug)]
pub struct Dcqcn {
    /// The parameters that the flows of a path share.
    params: Arc<DcqcnParams>,
    /// `R_C`: the rate.
    rate: f64,
    /// The first window, which counts payload alone, until the rate has moved.
    first: Bytes,
    /// `R_T`: the target rate.
    target: f64,
    /// alpha: how much of the congestion there is, in [0, 1].
    alpha: f64,
    stages: Stages,
    /// The timers, which run from the first CNP on, or from the first packet of a flow that starts below the line rate.
    timers: Option<RateTimers>,
}

impl Dcqcn {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<DcqcnParams>, start: &Start<'_>) -> Self {
        // Line rate (section 3), with a first window of one bandwidth-delay product.
        let rate = (start.cwnd_on_wire().as_f64() / params.bdp).clamp(LEAST, 1.0);
        let alpha = params.config.alpha_start;
        Self {
            params: Arc::clone(params),
            rate,
            first: start.initial_cwnd,
            target: rate,
            alpha,
            stages: Stages::default(),
            timers: None,
        }
    }

    /// Both timers begin anew.
    fn restart_timers(&mut self, now: Time) {
        let DcqcnConfig { alpha_timer, increase_timer, .. } = self.params.config;
        self.timers = Some(RateTimers { alpha: now + alpha_timer, increase: now + increase_timer });
    }

    /// The timer or the byte counter has run out: fewer than F times fast recovery, R_C = (R_T + R_C) / 2 (equation 3); then
    /// additive increase, R_T = R_T + R_AI first (equation 4); hyper increase, R_T = R_T + i R_HAI first, when both have run out
    /// more than F times, i the number of these.
    fn increase(&mut self) {
        let DcqcnConfig { recoveries, recovery_end, additive, hyper, hyper_grows, .. } = self.params.config;
        self.first = Bytes::MAX;
        let Stages { timer, bytes, .. } = self.stages;
        let (most, least) = (timer.max(bytes), timer.min(bytes));
        if least > recoveries {
            let times = if hyper_grows { f64::from(least - recoveries) } else { 1.0 };
            self.target += hyper * times;
        } else if most > recoveries || (most == recoveries && recovery_end == RecoveryEnd::Reached) {
            self.target += additive;
        }
        self.target = self.target.min(1.0);
        self.rate = f64::midpoint(self.target, self.rate);
    }
}

impl Congestion for Dcqcn {
    fn decision(&self) -> Decision {
        let DcqcnParams { config, line_rate, bdp, mss, .. } = &*self.params;
        let cwnd = match config.window {
            true => Bytes::new((bdp * self.rate) as u64).min(self.first).max(*mss),
            false => Bytes::MAX,
        };
        let rate = Rate::from_bps(((line_rate * self.rate) as u64).max(1));
        let next_timer = self.timers.map(|timers| timers.alpha.min(timers.increase));
        Decision { pacing_rate: Some(rate), next_timer, ..Decision::window(cwnd) }
    }

    fn on_sent(&mut self, sent: &Sent) -> Decision {
        if self.timers.is_none() && self.rate < 1.0 {
            self.restart_timers(sent.now);
        }
        if self.timers.is_some() {
            self.stages.sent += sent.bytes + self.params.header;
            if self.stages.sent >= self.params.config.byte_counter {
                self.stages.sent -= self.params.config.byte_counter;
                self.stages.bytes = self.stages.bytes.saturating_add(1);
                self.increase();
            }
        }
        self.decision()
    }

    fn on_ack(&mut self, _ack: &Ack<'_>) -> Decision {
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        let rate = most.max(self.params.mss).as_f64() / self.params.bdp;
        (self.rate, self.target) = (self.rate.min(rate), self.target.min(rate));
        self.decision()
    }

    /// Equation 1: R_T = R_C, R_C = R_C (1 - alpha / 2), alpha = (1 - g) alpha + g; timers and counters begin anew.
    fn on_cnp(&mut self, cnp: &Cnp) -> Decision {
        let gain = self.params.config.gain;
        self.target = self.rate;
        self.rate = (self.rate * (1.0 - self.alpha / 2.0)).max(LEAST);
        self.alpha = (1.0 - gain) * self.alpha + gain;
        self.first = Bytes::MAX;
        self.stages = Stages::default();
        self.restart_timers(cnp.now);
        self.decision()
    }

    fn on_timer(&mut self, now: Time) -> Decision {
        let DcqcnConfig { gain, alpha_timer, increase_timer, .. } = self.params.config;
        if let Some(timers) = &mut self.timers {
            if timers.alpha <= now {
                // Equation 2.
                self.alpha *= 1.0 - gain;
                timers.alpha = now + alpha_timer;
            }
            if timers.increase <= now {
                timers.increase = now + increase_timer;
                self.stages.timer = self.stages.timer.saturating_add(1);
                self.increase();
            }
        }
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, near, path, refused, start, start_with};
    use proptest::prelude::*;

    /// The parameterisation of OSCAR's published code.
    pub fn artifact() -> DcqcnConfig {
        DcqcnConfig {
            byte_counter: Bytes::new(10 << 20),
            recovery_end: RecoveryEnd::Passed,
            hyper_grows: false,
            ..DcqcnConfig::default()
        }
    }

    fn dcqcn(config: &DcqcnConfig) -> Dcqcn {
        Dcqcn::new(&Arc::new(DcqcnParams::new(config, &path())), &start())
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn cnp(at: u64) -> Cnp {
        Cnp { now: us(at), in_flight: Bytes::ZERO }
    }

    fn sent(at: u64) -> Sent {
        Sent { now: us(at), bytes: Bytes::new(4096), in_flight: Bytes::new(4096), retransmission: false }
    }

    fn gbps(decision: Decision) -> f64 {
        decision.pacing_rate.map_or(f64::MAX, |rate| rate.as_bps() as f64 * 1e-9)
    }

    /// Sends what makes the byte counter run out once.
    fn run_counter_out(control: &mut Dcqcn, at: u64) -> f64 {
        let before = control.stages.bytes;
        while control.stages.bytes == before {
            control.on_sent(&sent(at));
        }
        gbps(control.decision())
    }

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        refused(
            DcqcnConfig::check,
            &[
                ("gain", |config| config.gain = 1.1),
                ("alpha_start", |config| config.alpha_start = -0.1),
                ("alpha_timer", |config| config.alpha_timer = Duration::ZERO),
                ("increase_timer", |config| config.increase_timer = Duration::ZERO),
                ("alpha_timer", |config| config.alpha_timer = LONGEST * 2),
                ("increase_timer", |config| config.increase_timer = LONGEST * 2),
                ("cnp_interval", |config| config.cnp_interval = LONGEST * 2),
                ("byte_counter", |config| config.byte_counter = Bytes::ZERO),
                ("recoveries", |config| config.recoveries = 1001),
                ("additive", |config| config.additive = 1.1),
                ("hyper", |config| config.hyper = 1.1),
            ],
        );
        assert_eq!(artifact().check(), Ok(()));
    }

    #[test]
    fn it_starts_at_the_line_rate_without_a_window_or_a_timer() {
        let decision = dcqcn(&DcqcnConfig::default()).decision();
        near(gbps(decision), 100.0, 1e-6);
        assert_eq!((decision.cwnd, decision.next_timer), (Bytes::MAX, None));
    }

    #[test]
    fn a_smaller_first_window_is_its_part_of_the_line_rate_and_grows() {
        let start = start_with(Bytes::new(43_162));
        let mut control = Dcqcn::new(&Arc::new(DcqcnParams::new(&DcqcnConfig::default(), &path())), &start);
        near(gbps(control.decision()), 25.0, 1e-3);
        assert_eq!(control.on_sent(&sent(3)).next_timer, Some(us(58)));
        for n in 1..=6 {
            control.on_timer(us(3 + 55 * n));
        }
        assert!(gbps(control.decision()) > 25.0);
    }

    #[test]
    fn a_cnp_takes_half_of_alpha_of_the_rate_and_keeps_the_rate_as_the_target() {
        let mut control = dcqcn(&DcqcnConfig::default());
        near(gbps(control.on_cnp(&cnp(10))), 50.0, 1e-6);
        near(control.target, 1.0, 0.0);
        near(control.alpha, 1.0, 0.0);
        let mut control = dcqcn(&DcqcnConfig { alpha_start: 0.5, ..DcqcnConfig::default() });
        near(gbps(control.on_cnp(&cnp(10))), 75.0, 1e-6);
        near(control.alpha, 0.5 * 255.0 / 256.0 + 1.0 / 256.0, 1e-12);
    }

    #[test]
    fn alpha_falls_by_g_for_each_timer_without_a_cnp() {
        let alpha_timer = Duration::from_us(20);
        let mut control = dcqcn(&DcqcnConfig { alpha_timer, ..DcqcnConfig::default() });
        assert_eq!(control.on_cnp(&cnp(100)).next_timer, Some(us(120)));
        control.on_timer(us(119));
        near(control.alpha, 1.0, 0.0);
        for n in 1..=2 {
            control.on_timer(us(100 + 20 * n));
        }
        near(control.alpha, (255.0_f64 / 256.0).powi(2), 1e-12);
        assert_eq!(control.on_cnp(&cnp(150)).next_timer, Some(us(170)), "the timer begins anew");
    }

    #[test]
    fn four_increases_recover_half_of_the_way_to_the_target_and_the_fifth_raises_it() {
        let mut control = dcqcn(&DcqcnConfig::default());
        control.on_cnp(&cnp(0));
        control.on_cnp(&cnp(50));
        near(control.target, 0.5, 0.0);
        let mut expected = 25.0;
        for n in 1..=4 {
            expected = f64::midpoint(expected, 50.0);
            near(gbps(control.on_timer(us(50 + 55 * n))), expected, 1e-6);
        }
        expected = f64::midpoint(expected, 50.1);
        near(gbps(control.on_timer(us(50 + 55 * 5))), expected, 1e-6);
        near(control.target, 0.501, 1e-12);
    }

    #[test]
    fn in_the_published_code_of_oscar_the_fifth_increase_recovers_too() {
        let mut control = dcqcn(&artifact());
        control.on_cnp(&cnp(0));
        control.on_cnp(&cnp(50));
        for n in 1..=5 {
            control.on_timer(us(50 + 55 * n));
            near(control.target, 0.5, 0.0);
        }
        control.on_timer(us(50 + 55 * 6));
        near(control.target, 0.501, 1e-12);
    }

    #[test]
    fn the_byte_counter_increases_as_the_timer_does_and_counts_what_is_on_the_wire() {
        let byte_counter = Bytes::new(4160 * 10);
        let mut control = dcqcn(&DcqcnConfig { byte_counter, ..DcqcnConfig::default() });
        control.on_cnp(&cnp(0));
        for _ in 0..9 {
            near(gbps(control.on_sent(&sent(1))), 50.0, 1e-6);
        }
        near(gbps(control.on_sent(&sent(1))), 75.0, 1e-6);
        near(run_counter_out(&mut control, 2), 87.5, 1e-6);
        control.on_cnp(&cnp(3));
        assert_eq!(control.stages, Stages::default(), "a CNP begins all of it anew");
    }

    #[test]
    fn both_beyond_f_raise_the_target_by_more_each_time() {
        let byte_counter = Bytes::new(4160);
        for (hyper_grows, last) in [(true, 0.01 + 0.02), (false, 0.01 + 0.01)] {
            let config = DcqcnConfig { byte_counter, hyper_grows, additive: 0.0, ..DcqcnConfig::default() };
            let mut control = dcqcn(&config);
            control.on_cnp(&cnp(0));
            control.on_cnp(&cnp(50));
            (0..20).for_each(|_| {
                control.on_sent(&sent(51));
            });
            for n in 1..=5 {
                control.on_timer(us(50 + 55 * n));
            }
            near(control.target, 0.5, 1e-12);
            for n in 6..=7 {
                control.on_timer(us(50 + 55 * n));
            }
            near(control.target, 0.5 + last, 1e-12);
        }
    }

    #[test]
    fn the_rate_stays_between_a_thousandth_and_the_line_rate() {
        let mut control = dcqcn(&DcqcnConfig::default());
        for n in 0..100 {
            control.on_cnp(&cnp(50 * n));
        }
        near(gbps(control.decision()), 0.1, 1e-6);
        for n in 0..10_000 {
            control.on_timer(us(5000 + 55 * n));
        }
        near(gbps(control.decision()), 100.0, 1e-3);
    }

    #[test]
    fn with_a_window_it_is_the_part_of_the_bdp_that_the_rate_is_of_the_line() {
        let mut control = dcqcn(&DcqcnConfig { window: true, ..DcqcnConfig::default() });
        assert_eq!(control.decision().cwnd, path().bdp);
        assert_eq!(control.on_cnp(&cnp(0)).cwnd, path().bdp / 2);
        for n in 1..20 {
            control.on_cnp(&cnp(50 * n));
        }
        assert_eq!(control.decision().cwnd, path().mss, "one packet at least");
    }

    #[test]
    fn marks_of_acks_say_nothing() {
        let mut control = dcqcn(&DcqcnConfig::default());
        let before = control.clone();
        control.on_ack(&AckStream::new(&start()).next(true));
        assert_eq!(control, before);
    }

    proptest! {
        /// Whatever comes: the target is no lower than the rate, and both stay in bounds.
        #[test]
        fn rates_stay_in_bounds_and_the_target_above_the_rate(events in prop::collection::vec((0..3_u8, 1..200_u64), 1..300)) {
            let config = DcqcnConfig { byte_counter: Bytes::new(20_000), ..DcqcnConfig::default() };
            let (mut control, mut now) = (dcqcn(&config), 0);
            for (event, gap) in events {
                now += gap;
                match event {
                    0 => control.on_cnp(&cnp(now)),
                    1 => control.on_sent(&sent(now)),
                    _ => control.on_timer(us(now)),
                };
                prop_assert!(control.rate >= LEAST && control.target <= 1.0);
                prop_assert!(control.target >= control.rate);
                prop_assert!((0.0..=1.0).contains(&control.alpha));
            }
        }
    }
}
