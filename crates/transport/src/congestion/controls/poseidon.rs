//! Poseidon: takes the largest queueing delay of the path's ports to a target that is longer for a slower flow.
//!
//! Wang et al., "Poseidon: An Efficient Congestion Control using Deployable INT for Data Center Networks" (NSDI 2023), as the OSCAR
//! paper (NSDI 2026) restates it, and the published code of that paper. Flows of one bottleneck see one delay, and only flows of
//! one rate have it for their target: so they share alike.
//!
//! Left out: what the paper keeps of Swift, its reaction to losses and the delay at the hosts.
//!
//! Its page: `docs/src/schemes/poseidon.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, HopTelemetry, Rate, TelemetryKind, Time};

/// `min_rate`, as a part of the line rate, which is `max_rate` (published code of OSCAR).
/// A NACK can lower it further, down to a packet, until the next update.
const LEAST: f64 = 0.001;
/// The largest delay in a header, in microseconds: 2 bytes of them.
const MOST_US: f64 = 65_535.0;

/// The factor alpha of the exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Alpha {
    /// ln(`max_rate` / `min_rate`), with which the factor is (rate that has this delay for its target / rate)^m.
    Range,
    /// ln(`max_rate` / rate): a flow at the line rate does not move.
    Rate,
}

/// Parameters of Poseidon.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PoseidonConfig {
    /// The target of the slowest flow less that of the fastest, above zero; 40 us.
    pub p: Duration,
    /// The target of a flow at the line rate; 2 us.
    pub k: Duration,
    /// The size of a step, as the exponent of the ratio of rates, in [0.001, 1]; 0.25.
    pub m: f64,
    /// The factor alpha of the exponent; `range`. Published code: `rate`.
    pub alpha: Alpha,
    /// The smallest factor of a step, in [0, 1]; 0.5. Published code: 0, none.
    pub min_md: f64,
    /// The largest factor of a step, in [1, 1000]; 2. Published code: none, and with 1000 no rate comes to it.
    pub max_md: f64,
    /// Whether a delay is read in whole microseconds of the header's 2 bytes; false. Published code: true.
    pub quantised: bool,
    /// Bytes of telemetry in each data packet, and in its ACK, at most 256; 12 (published code).
    pub header: Bytes,
}

impl Default for PoseidonConfig {
    fn default() -> Self {
        Self {
            p: Duration::from_us(40),
            k: Duration::from_us(2),
            m: 0.25,
            alpha: Alpha::Range,
            min_md: 0.5,
            max_md: 2.0,
            quantised: false,
            header: Bytes::new(12),
        }
    }
}

impl PoseidonConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "poseidon", name, value);
        let effect = "gives every rate one target";
        ConfigError::if_zero(self.p.is_zero(), "poseidon", "p", &self.p, effect, "a time")?;
        within(0.001..=1.0, "m", self.m)?;
        within(0.0..=1.0, "min_md", self.min_md)?;
        within(1.0..=1000.0, "max_md", self.max_md)?;
        within(0.0..=256.0, "header", self.header.as_f64())
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
            telemetry: TelemetryKind::Mpd,
            arrival: false,
            nacks: NackRule::Unsaid,
            signal_bytes: SignalBytes { data: self.header, ack: self.header },
        }
    }

    /// The queueing delay that it aims at on a path: that of a flow at line rate, the shortest.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        Some(self.k)
    }
}

/// The parameters, and what a path makes of them. Times are in seconds.
#[derive(Clone, PartialEq, Debug)]
pub struct PoseidonParams {
    /// As configured.
    config: PoseidonConfig,
    /// p.
    span: f64,
    /// k.
    least_target: f64,
    /// ln(`max_rate` / `min_rate`).
    range: f64,
    /// Bytes on the wire for each byte of payload.
    wire: f64,
    /// `max_rate`, in bytes a second.
    line_rate: f64,
    /// The base round trip.
    base_rtt: f64,
    /// The bandwidth-delay product, in bytes.
    bdp: f64,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
}

impl PoseidonParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &PoseidonConfig, path: &Path) -> Self {
        Self {
            span: config.p.as_secs_f64(),
            least_target: config.k.as_secs_f64(),
            range: -libm::log(LEAST),
            wire: path.mtu().as_f64() / path.mss.as_f64(),
            line_rate: path.line_rate.bytes_per_sec_f64(),
            base_rtt: path.base_rtt.as_secs_f64(),
            bdp: path.bdp.as_f64().max(1.0),
            mss: path.mss,
            config: config.clone(),
        }
    }

    /// The target delay of a flow with this part of the line rate: T(r) = p ln(`max_rate` / r) / ln(`max_rate` / `min_rate`) + k.
    fn target(&self, rate: f64) -> f64 {
        self.span * -libm::log(rate) / self.range + self.least_target
    }

    /// The factor of a step: U(r, d) = exp((T(r) - d) alpha m / p).
    fn factor(&self, rate: f64, delay: f64) -> f64 {
        let alpha = match self.config.alpha {
            Alpha::Range => self.range,
            Alpha::Rate => -libm::log(rate),
        };
        libm::exp((self.target(rate) - delay) * alpha * self.config.m / self.span)
    }

    /// MPD: the largest queueing delay of the ports.
    fn largest_delay(&self, hops: &[HopTelemetry]) -> Option<f64> {
        let delay = hops.iter().map(HopTelemetry::queueing_delay).max()?.as_secs_f64();
        Some(if self.config.quantised { libm::floor(delay * 1e6).min(MOST_US) * 1e-6 } else { delay })
    }
}

/// Poseidon for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Poseidon {
    /// The parameters that the flows of a path share.
    params: Arc<PoseidonParams>,
    /// The window, in payload bytes; below a packet, only the rate is.
    window: f64,
    /// The largest window, in payload bytes.
    max: f64,
    /// Until then no cut follows the last one: a round trip, as it was measured then.
    uncut_until: Time,
}

impl Poseidon {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<PoseidonParams>, start: &Start<'_>) -> Self {
        let window = start.initial_cwnd.max(params.mss).as_f64();
        let max = window.max(params.bdp);
        Self { params: Arc::clone(params), window, max, uncut_until: Time::ZERO }
    }

    /// An ACK of a packet that met this delay: up to the target of the flow's rate the window grows by the factor over a round
    /// trip, beyond it the factor cuts it, once a round trip.
    fn update(&mut self, ack: &Ack<'_>, delay: f64) {
        let PoseidonParams { config, wire, line_rate, bdp, .. } = &*self.params;
        let rate = (self.window * wire / ack.rtt.as_secs_f64() / line_rate).clamp(LEAST, 1.0);
        let factor = self.params.factor(rate, delay).clamp(config.min_md, config.max_md);
        if delay <= self.params.target(rate) {
            self.window += (factor - 1.0) * ack.bytes_acked.as_f64().min(self.window);
        } else if ack.now >= self.uncut_until {
            self.window *= factor;
            self.uncut_until = ack.now + ack.rtt;
        }
        self.window = self.window.clamp(LEAST * bdp, self.max);
    }
}

impl Congestion for Poseidon {
    fn decision(&self) -> Decision {
        let PoseidonParams { wire, base_rtt, mss, .. } = &*self.params;
        // A window below a packet is a rate.
        let is_rate = self.window < mss.as_f64();
        let rate = || Rate::from_bps(((self.window * wire * 8.0 / base_rtt) as u64).max(1));
        let cwnd = Bytes::new(self.window as u64).max(*mss);
        Decision { pacing_rate: is_rate.then(rate), ..Decision::window(cwnd) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        if let Some(delay) = self.params.largest_delay(ack.hops()) {
            self.update(ack, delay);
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.window = self.window.min(most.max(self.params.mss).as_f64());
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with};
    use proptest::prelude::*;

    const BDP: f64 = 175_344.0;

    /// The parameterisation of OSCAR's published code.
    pub fn artifact() -> PoseidonConfig {
        PoseidonConfig {
            alpha: Alpha::Rate,
            min_md: 0.0,
            max_md: 1000.0,
            quantised: true,
            ..PoseidonConfig::default()
        }
    }

    fn params(config: &PoseidonConfig) -> PoseidonParams {
        PoseidonParams::new(config, &path())
    }

    /// A port of 100 Gb/s whose queue takes so long.
    fn hop(us: f64) -> HopTelemetry {
        let rate = Rate::from_gbps(100);
        HopTelemetry { queued: Bytes::new((us * 12_500.0) as u64), rate, ..HopTelemetry::default() }
    }

    /// A flow with this window, in bandwidth-delay products on the wire, whose round trips are base ones.
    struct Bench {
        control: Poseidon,
        acks: AckStream,
    }

    impl Bench {
        fn new(config: &PoseidonConfig, share: f64) -> Self {
            let (params, start) = (Arc::new(params(config)), start());
            let mut control = Poseidon::new(&params, &start);
            control.window = share * BDP / params.wire;
            Self { control, acks: AckStream::new(&start) }
        }

        /// The factor by which an ACK of a packet that met such a queue multiplies the window; `round`: a round trip later.
        fn factor(&mut self, us: f64, round: bool) -> f64 {
            let (before, hops) = (self.control.window, [hop(us)]);
            let ack = if round { self.acks.next_round(false) } else { self.acks.next(false) };
            self.control.on_ack(&Ack { telemetry: Some(&hops.into_iter().collect()), ..ack });
            self.control.window / before
        }
    }

    #[test]
    fn parameters_out_of_range_are_refused_by_name() {
        refused(
            PoseidonConfig::check,
            &[
                ("p", |config| config.p = Duration::ZERO),
                ("m", |config| config.m = 0.0),
                ("m", |config| config.m = 1.1),
                ("min_md", |config| config.min_md = 1.1),
                ("max_md", |config| config.max_md = 0.9),
                ("header", |config| config.header = Bytes::new(257)),
            ],
        );
        assert_eq!(artifact().check(), Ok(()));
    }

    #[test]
    fn the_target_grows_with_the_logarithm_of_the_inverse_rate() {
        let params = params(&PoseidonConfig::default());
        for (rate, us) in [(1.0, 2.0), (0.5, 6.01), (0.25, 10.03), (0.1, 15.33), (0.01, 28.67), (0.001, 42.0)]
        {
            near(params.target(rate) * 1e6, us, 0.01);
        }
    }

    #[test]
    fn the_factor_is_a_power_of_the_ratio_of_rates() {
        let params = params(&PoseidonConfig::default());
        for (rate, owed) in [(0.5, 0.25), (0.1, 0.9), (0.02, 0.001), (1.0, 1.0)] {
            let delay = params.target(owed);
            near(params.factor(rate, delay), libm::pow(owed / rate, 0.25), 1e-9);
        }
    }

    #[test]
    fn the_published_factor_takes_the_logarithm_of_the_rate_itself_so_that_a_full_rate_stays() {
        let params = params(&artifact());
        near(params.factor(1.0, 30e-6), 1.0, 0.0);
        near(params.factor(0.5, 26.0137e-6), libm::exp(-20.0 / 40.0 * 0.25 * core::f64::consts::LN_2), 1e-5);
    }

    #[test]
    fn below_the_target_a_round_trip_of_acks_grows_the_window_by_the_factor() {
        let mut bench = Bench::new(&PoseidonConfig::default(), 0.25);
        let factor = params(&PoseidonConfig::default()).factor(0.25, 5e-6);
        let before = bench.control.window;
        near(bench.factor(5.0, false), 1.0 + (factor - 1.0) * MSS / before, 1e-9);
        assert!(bench.factor(5.0, false) > 1.0, "each ACK grows it");
    }

    #[test]
    fn above_the_target_the_factor_cuts_the_window_once_a_round_trip() {
        let mut bench = Bench::new(&PoseidonConfig::default(), 0.25);
        let factor = params(&PoseidonConfig::default()).factor(0.25, 20e-6);
        assert!(factor < 1.0);
        near(bench.factor(20.0, true), factor, 1e-9);
        for _ in 0..10 {
            near(bench.factor(20.0, false), 1.0, 0.0);
        }
        assert!(bench.factor(20.0, true) < 1.0, "a round trip later");
    }

    #[test]
    fn no_step_is_larger_than_the_bounds() {
        let config = PoseidonConfig { m: 1.0, ..PoseidonConfig::default() };
        near(Bench::new(&config, 1.0).factor(60.0, true), 0.5, 0.0);
        let mut bench = Bench::new(&config, 0.01);
        let acked = MSS.min(bench.control.window);
        near(bench.factor(0.0, true), 1.0 + acked / (0.01 * BDP * 4096.0 / 4160.0), 1e-9);
        let unbounded = PoseidonConfig { min_md: 0.0, ..config };
        assert!(Bench::new(&unbounded, 1.0).factor(60.0, true) < 0.01);
    }

    #[test]
    fn of_several_ports_the_one_with_the_largest_delay_counts() {
        let mut bench = Bench::new(&PoseidonConfig::default(), 0.5);
        // More bytes, and less time.
        let fast = HopTelemetry { queued: Bytes::new(300_000), rate: Rate::from_gbps(800), ..hop(0.0) };
        let hops = [hop(4.0), hop(9.0), fast];
        bench
            .control
            .on_ack(&Ack { telemetry: Some(&hops.into_iter().collect()), ..bench.acks.next_round(false) });
        let alone = Bench::new(&PoseidonConfig::default(), 0.5).factor(9.0, true);
        near(bench.control.window * (4160.0 / 4096.0) / (0.5 * BDP), alone, 1e-9);
    }

    #[test]
    fn a_header_of_microseconds_drops_the_rest() {
        let of = |quantised, us| {
            params(&PoseidonConfig { quantised, ..PoseidonConfig::default() }).largest_delay(&[hop(us)])
        };
        near(of(true, 3.96).unwrap_or_default(), 3e-6, 1e-12);
        near(of(true, 70_000.0).unwrap_or_default(), 65_535e-6, 1e-12);
        near(of(false, 3.96).unwrap_or_default(), 3.96e-6, 1e-12);
    }

    #[test]
    fn without_telemetry_nothing_moves() {
        let mut bench = Bench::new(&PoseidonConfig::default(), 0.5);
        let before = bench.control.clone();
        bench.control.on_ack(&bench.acks.next_round(true));
        assert_eq!(bench.control, before);
    }

    #[test]
    fn below_a_packet_only_the_rate_goes_on_falling() {
        let mut bench = Bench::new(&PoseidonConfig::default(), 0.05);
        assert_eq!(bench.control.decision().pacing_rate, None);
        for _ in 0..40 {
            bench.factor(60.0, true);
        }
        let decision = bench.control.decision();
        near(decision.cwnd.as_f64(), MSS, 0.0);
        near(decision.pacing_rate.map_or(0.0, |rate| rate.as_bps() as f64), 101.6e6, 1e6);
    }

    #[test]
    fn the_window_never_exceeds_the_larger_of_first_window_and_bdp() {
        for (start, most) in
            [(start_with(Bytes::new(40_960)), BDP), (start_with(Bytes::new(1 << 20)), 1048576.0)]
        {
            let mut bench = Bench::new(&artifact(), 0.9);
            bench.control = Poseidon::new(&Arc::new(params(&PoseidonConfig::default())), &start);
            for _ in 0..3000 {
                bench.factor(0.0, false);
            }
            near(bench.control.window, most, 0.0);
        }
    }

    proptest! {
        /// Two flows that see one delay: the slower one never gives way more than the faster one.
        #[test]
        fn the_slower_of_two_flows_gains_on_the_faster(a in 0.002..1.0_f64, b in 0.002..1.0_f64, us in 0.0..60.0_f64) {
            let params = params(&PoseidonConfig::default());
            let (slow, fast) = if a < b { (a, b) } else { (b, a) };
            prop_assert!(params.factor(slow, us * 1e-6) >= params.factor(fast, us * 1e-6));
        }
    }
}
