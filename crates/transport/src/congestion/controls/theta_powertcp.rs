//! theta-PowerTCP: PowerTCP without telemetry. The round trip is the queue, its slope the arrival rate.
//!
//! Addanki, Michel and Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter Networks" (NSDI 2022), algorithm 2.
//!
//! Left out: any reaction to losses, of which the algorithm says nothing.
//!
//! Its page: `docs/src/schemes/theta-powertcp.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::power::{PowerParams, PowerWindow};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// Whose theta-PowerTCP it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Variant {
    /// Algorithm 2, with the other parameters.
    Algorithm,
    /// Published code of PowerTCP: the window moves with each ACK, from that of the last round trip; the base round trip is the
    /// shortest one measured, and 1.05 of it make a power of 1. The arrival rate is never believed to be below 0.5 of the
    /// bottleneck's, gamma is 0.7, the additive increase 150 Mb/s at 100 Gb/s: the other parameters do not count.
    Powertcp,
}

/// Constants of the published code of PowerTCP: gamma, beta as a part of the bandwidth-delay product, and the smallest arrival rate.
const CODE: (f64, f64, f64) = (0.7, 0.0015, 0.5);
/// As many base round trips make a power of 1 (published code of PowerTCP).
const CODE_MARGIN: f64 = 1.05;

/// Parameters of theta-PowerTCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ThetaPowertcpConfig {
    /// Weight of the newest window, in [0.01, 1]; 0.9 (published code of OSCAR). Published code of PowerTCP: 0.7.
    pub gamma: f64,
    /// Additive increase, as a part of the bandwidth-delay product, in [0, 1]; 0.006 (algorithm 2: one part in the number of
    /// flows; published code of OSCAR).
    pub beta: f64,
    /// The smallest arrival rate at the bottleneck that is believed, as a part of its rate, in [0, 1]; 0: none (algorithm 2).
    /// Published code of PowerTCP, with the rest of `variant`: 0.5.
    pub arrival_floor: f64,
    /// Whose it is: `algorithm`, or `powertcp`, whose constants then stand in place of the others.
    pub variant: Variant,
}

impl Default for ThetaPowertcpConfig {
    fn default() -> Self {
        Self { gamma: 0.9, beta: 0.006, arrival_floor: 0.0, variant: Variant::Algorithm }
    }
}

impl ThetaPowertcpConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "theta-powertcp", name, value);
        within(0.01..=1.0, "gamma", self.gamma)?;
        within(0.0..=1.0, "beta", self.beta)?;
        within(0.0..=1.0, "arrival_floor", self.arrival_floor)
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

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct ThetaPowertcpParams {
    /// Those that PowerTCP has, too.
    power: PowerParams,
    /// The smallest arrival rate, as a part of the bottleneck's rate.
    arrival_floor: f64,
    variant: Variant,
}

impl ThetaPowertcpParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &ThetaPowertcpConfig, path: &Path) -> Self {
        let (gamma, beta, arrival_floor) = match config.variant {
            Variant::Algorithm => (config.gamma, config.beta, config.arrival_floor),
            Variant::Powertcp => CODE,
        };
        Self { power: PowerParams::new(gamma, beta, path), arrival_floor, variant: config.variant }
    }
}

/// theta-PowerTCP for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct ThetaPowertcp {
    /// The parameters that the flows of a path share.
    params: Arc<ThetaPowertcpParams>,
    window: PowerWindow,
    /// When the last ACK came, and its round trip.
    last: Option<(Time, Duration)>,
    /// The shortest round trip so far.
    shortest: Duration,
}

impl ThetaPowertcp {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<ThetaPowertcpParams>, start: &Start<'_>) -> Self {
        let window = PowerWindow::new(&params.power, start);
        Self { params: Arc::clone(params), window, last: None, shortest: Duration::MAX }
    }

    /// Algorithm 2, `normPower`: Gamma' = (d RTT / dt + 1) RTT / tau, with d RTT / dt + 1, the arrival rate as a part of the
    /// bottleneck's, no less than its floor. Says whether there is anything to go by.
    fn measure(&mut self, ack: &Ack<'_>) -> bool {
        let ThetaPowertcpParams { power, arrival_floor, variant } = &*self.params;
        self.shortest = self.shortest.min(ack.rtt);
        let Some((at, before)) = self.last.replace((ack.now, ack.rtt)) else { return false };
        let elapsed = ack.now.since(at).as_secs_f64();
        if elapsed > 0.0 {
            let rtt = ack.rtt.as_secs_f64();
            let gradient = (rtt - before.as_secs_f64()) / elapsed;
            let full = match variant {
                Variant::Algorithm => power.base_rtt,
                Variant::Powertcp => CODE_MARGIN * self.shortest.as_secs_f64(),
            };
            let normalised = (gradient + 1.0).max(*arrival_floor) * rtt / full;
            self.window.smooth(normalised, (elapsed / power.base_rtt).min(1.0));
        }
        true
    }
}

impl Congestion for ThetaPowertcp {
    fn decision(&self) -> Decision {
        self.window.decision(&self.params.power)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        if !self.measure(ack) {
            self.window.round.begin(ack.now);
            return self.decision();
        }
        let window = &mut self.window;
        let ends_round = window.round.ended_by(ack);
        // Algorithm 2, `updateWindow`: once a round trip.
        if ends_round || self.params.variant == Variant::Powertcp {
            window.update(&self.params.power, window.power, window.cwnd);
        }
        if ends_round {
            window.remember();
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.window.lower(&self.params.power, most);
        self.decision()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, near, path, refused, start};

    const BDP: f64 = 175_344.0;

    fn theta(config: &ThetaPowertcpConfig) -> ThetaPowertcp {
        ThetaPowertcp::new(&Arc::new(ThetaPowertcpParams::new(config, &path())), &start())
    }

    /// A flow that had its first ACK after one base round trip.
    struct Bench {
        control: ThetaPowertcp,
        acks: AckStream,
    }

    impl Bench {
        fn new(config: &ThetaPowertcpConfig) -> Self {
            let mut bench = Self { control: theta(config), acks: AckStream::new(&start()) };
            bench.acks.now = Time::ZERO + Duration::from_ms(1);
            bench.control.on_ack(&bench.acks.next(false));
            bench
        }

        /// An ACK so many base round trips after the last, of a packet that waited so long. Gives power.
        fn ack(&mut self, later: f64, queue: f64) -> f64 {
            let rtt = path().base_rtt.mul_f64(1.0 + queue);
            self.acks.now += path().base_rtt.mul_f64(later);
            let (now, sent_at) = (self.acks.now, self.acks.now - rtt);
            self.control.on_ack(&Ack { now, rtt, sent_at, ..self.acks.clone().next(false) });
            self.control.window.power
        }

        /// The window, in bandwidth-delay products.
        fn cwnd(&self) -> f64 {
            self.control.window.cwnd / BDP
        }
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        refused(
            ThetaPowertcpConfig::check,
            &[
                ("gamma", |c| c.gamma = 1.1),
                ("beta", |c| c.beta = -0.1),
                ("arrival_floor", |c| c.arrival_floor = f64::NAN),
            ],
        );
        assert_eq!(ThetaPowertcpConfig::default().check(), Ok(()));
    }

    #[test]
    fn the_first_ack_leaves_its_round_trip_and_the_window() {
        let bench = Bench::new(&ThetaPowertcpConfig::default());
        near(bench.cwnd(), 1.0, 0.0);
        near(bench.control.window.power, 1.0, 0.0);
    }

    #[test]
    fn power_is_the_round_trip_times_its_slope_and_one() {
        let mut bench = Bench::new(&ThetaPowertcpConfig::default());
        near(bench.ack(1.0, 0.5), 1.5 * 1.5, 1e-6);
        near(bench.ack(1.0, 0.5), 1.5, 1e-6);
        // Half a base round trip has half of the weight.
        near(bench.ack(0.5, 1.0), 0.5 * 1.5 + 0.5 * 2.0 * 2.0, 1e-6);
        near(bench.ack(3.0, 1.0), 2.0, 1e-6);
    }

    #[test]
    fn an_arrival_rate_below_the_floor_counts_as_the_floor() {
        for (arrival_floor, expected) in [(0.5, 0.5), (0.0, 0.1)] {
            let mut bench =
                Bench::new(&ThetaPowertcpConfig { arrival_floor, ..ThetaPowertcpConfig::default() });
            bench.ack(1.0, 0.9);
            near(bench.ack(1.0, 0.0), expected, 1e-6);
        }
    }

    #[test]
    fn powertcp_s_code_moves_with_each_ack_and_takes_the_shortest_round_trip_and_a_twentieth_as_full() {
        let mut bench =
            Bench::new(&ThetaPowertcpConfig { variant: Variant::Powertcp, ..ThetaPowertcpConfig::default() });
        // The arrival rate counts as half at least; the first round trip was the shortest.
        bench.ack(1.0, 0.9);
        near(bench.ack(1.0, 0.0), 0.5 / 1.05, 1e-6);
        let mut before = bench.cwnd();
        for _ in 0..3 {
            bench.ack(0.125, 1.0);
            assert!(bench.cwnd() < before, "each ACK moves it");
            before = bench.cwnd();
        }
        let old = bench.control.window.old / BDP;
        let expected = 0.7 * (old / bench.control.window.power + 0.0015) + 0.3 * before;
        bench.ack(0.0, 1.0);
        near(bench.cwnd(), expected, 1e-9);
    }

    #[test]
    fn of_acks_that_come_together_the_last_counts() {
        let mut bench = Bench::new(&ThetaPowertcpConfig::default());
        near(bench.ack(0.0, 5.0), 1.0, 0.0);
        near(bench.ack(0.0, 0.5), 1.0, 0.0);
        near(bench.ack(1.0, 0.5), 1.5, 1e-6);
    }

    #[test]
    fn the_window_moves_once_a_round_trip() {
        let mut bench = Bench::new(&ThetaPowertcpConfig { beta: 0.0, ..ThetaPowertcpConfig::default() });
        for _ in 0..9 {
            bench.ack(0.125, 1.0);
            near(bench.cwnd(), 1.0, 0.0);
        }
        // The first packet that left after the first ACK has come back.
        bench.ack(1.0, 1.0);
        near(bench.cwnd(), 0.9 / 2.0 + 0.1, 1e-3);
        let cut = bench.cwnd();
        bench.ack(0.5, 1.0);
        near(bench.cwnd(), cut, 0.0);
    }

    #[test]
    fn marks_losses_and_time_outs_change_nothing() {
        use crate::congestion::Loss;
        let mut bench = Bench::new(&ThetaPowertcpConfig::default());
        let before = bench.control.clone();
        let (now, sent_at) = (bench.acks.now, Time::ZERO);
        bench.control.on_loss(&Loss { now, sent_at, bytes: path().mss, in_flight: path().bdp });
        bench.control.on_timeout(&crate::congestion::testing::timeout(now, sent_at, path().bdp));
        assert_eq!(bench.control, before);
    }

    #[test]
    fn windows_that_fill_the_link_rest_where_each_has_its_beta_in_the_queue() {
        for flows in [2.0, 8.0, 32.0] {
            // How a window moves in twenty round trips behind a queue of so many betas.
            let moved = |betas: f64| {
                let queue = betas * 0.006;
                let mut bench = Bench::new(&ThetaPowertcpConfig::default());
                let rest = (1.0 + queue) / flows;
                bench.ack(queue, queue);
                bench.ack(1.0 + queue, queue);
                (bench.control.window.cwnd, bench.control.window.old) = (rest * BDP, rest * BDP);
                (0..20).for_each(|_| _ = bench.ack(1.0 + queue, queue));
                bench.cwnd() - rest
            };
            near(moved(flows), 0.0, 1e-4);
            assert!(moved(2.0 * flows) < -1e-3 && moved(0.5 * flows) > 1e-3);
        }
    }
}
