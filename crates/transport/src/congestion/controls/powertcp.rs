//! PowerTCP: divides the window by the power of the busiest port, which is its queue and its arrival rate in one number.
//!
//! Addanki, Michel and Schmid, "PowerTCP: Pushing the Performance Limits of Datacenter Networks" (NSDI 2022), algorithm 1.
//!
//! Left out: any reaction to losses, of which the algorithm says nothing.
//!
//! Its page: `docs/src/schemes/powertcp.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::power::{PowerParams, PowerWindow};
use crate::congestion::parts::telemetry::{PortStep, Stamps};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// Parameters of PowerTCP.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PowertcpConfig {
    /// Weight of the newest window, in [0.01, 1]; 0.9 (published codes of PowerTCP and OSCAR).
    pub gamma: f64,
    /// Additive increase, as a part of the bandwidth-delay product, in [0, 1]; 0.006 (algorithm 1: one part in the number of
    /// flows; published code of OSCAR).
    pub beta: f64,
    /// Target utilisation, by which power is divided, in [0.1, 10]; 1 (algorithm 1). Published codes: 0.95.
    pub eta: f64,
    /// The smallest arrival rate at a port that is believed, as a part of the port's rate, in [0, 1]; 0.5 (published code of
    /// PowerTCP). At 0 a queue that drains while nobody sends reads as no power at all, and every window opens.
    pub arrival_floor: f64,
    /// Whether the newest window is averaged with that of the last round trip instead of the present one; false (algorithm 1).
    /// Published codes: true.
    pub gamma_old: bool,
    /// Whether the time between two stamps counts as one base round trip at most in the average of power; true. Published
    /// code of OSCAR: false, by which a weight exceeds one after a pause.
    pub bound_interval: bool,
    /// Whether the fields of telemetry have the widths of HPCC's header, and wrap; false.
    pub quantised: bool,
    /// Bytes of telemetry in each data packet, and in its ACK, at most 256; 42: HPCC's header (published codes).
    pub header: Bytes,
}

impl Default for PowertcpConfig {
    fn default() -> Self {
        Self {
            gamma: 0.9,
            beta: 0.006,
            eta: 1.0,
            arrival_floor: 0.5,
            gamma_old: false,
            bound_interval: true,
            quantised: false,
            header: Bytes::new(42),
        }
    }
}

impl PowertcpConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "powertcp", name, value);
        within(0.01..=1.0, "gamma", self.gamma)?;
        within(0.0..=1.0, "beta", self.beta)?;
        within(0.1..=10.0, "eta", self.eta)?;
        within(0.0..=1.0, "arrival_floor", self.arrival_floor)?;
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
            telemetry: TelemetryKind::Int,
            arrival: false,
            nacks: NackRule::Unsaid,
            signal_bytes: SignalBytes { data: self.header, ack: self.header },
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
pub struct PowertcpParams {
    /// As configured.
    config: PowertcpConfig,
    /// Those that theta-PowerTCP has, too.
    power: PowerParams,
}

impl PowertcpParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &PowertcpConfig, path: &Path) -> Self {
        Self { power: PowerParams::new(config.gamma, config.beta, path), config: config.clone() }
    }
}

/// PowerTCP for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Powertcp {
    /// The parameters that the flows of a path share.
    params: Arc<PowertcpParams>,
    window: PowerWindow,
    /// The telemetry of the last ACK.
    stamps: Stamps,
}

impl Powertcp {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<PowertcpParams>, start: &Start<'_>) -> Self {
        Self {
            params: Arc::clone(params),
            window: PowerWindow::new(&params.power, start),
            stamps: Stamps::default(),
        }
    }

    /// Algorithm 1, `normPower`: of the port with the most of it,
    ///
    /// ```text
    /// lambda = d queue / dt + txRate        Gamma' = lambda (queue + b tau) / (b^2 tau)
    /// ```
    ///
    /// with lambda no less than a part of b. Says whether there is anything to go by.
    fn measure(&mut self, ack: &Ack<'_>) -> bool {
        let PowertcpParams { config, power } = &*self.params;
        let mut busiest: Option<(f64, f64)> = None;
        self.stamps.take(ack.hops(), config.quantised, |port: PortStep| {
            let arrived = port.queued[1] - port.queued[0] + port.sent;
            // lambda / b, and queue / (b tau) + 1.
            let current = (arrived / (port.elapsed * port.rate)).max(config.arrival_floor);
            let voltage = port.queued[1] / (port.rate * power.base_rtt) + 1.0;
            let normalised = current * voltage;
            if busiest.is_none_or(|(most, _)| normalised > most) {
                busiest = Some((normalised, port.elapsed));
            }
        });
        let Some((normalised, elapsed)) = busiest else { return false };
        let weight = elapsed / power.base_rtt;
        self.window.smooth(normalised, if config.bound_interval { weight.min(1.0) } else { weight });
        true
    }
}

impl Congestion for Powertcp {
    fn decision(&self) -> Decision {
        self.window.decision(&self.params.power)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        if self.measure(ack) {
            let PowertcpParams { config, power } = &*self.params;
            let window = &mut self.window;
            let present = if config.gamma_old { window.old } else { window.cwnd };
            window.update(power, window.power / config.eta, present);
            if window.round.ended_by(ack) {
                window.remember();
            }
        } else if self.window.round.began() == Time::ZERO {
            self.window.round.begin(ack.now);
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.window.lower(&self.params.power, most);
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, near, refused, start};
    use farspan_units::{Duration, HopTelemetry, Rate};

    const BDP: f64 = 175_344.0;
    const RTT: Duration = Duration::from_ps(14_027_520);

    /// As the published code of OSCAR ran it, but for the floor of the arrival rate, which it left out.
    pub(crate) fn artifact() -> PowertcpConfig {
        PowertcpConfig { eta: 0.95, gamma_old: true, bound_interval: false, ..PowertcpConfig::default() }
    }

    /// A control of which each step is only the newest window, without additive increase.
    fn plain() -> PowertcpConfig {
        PowertcpConfig { gamma: 1.0, beta: 0.0, ..PowertcpConfig::default() }
    }

    /// A flow, and a port of 100 Gb/s that it shares.
    struct Bench {
        control: Powertcp,
        acks: AckStream,
        hop: HopTelemetry,
    }

    impl Bench {
        /// The first ACK leaves this queue, in bandwidth-delay products.
        fn new(config: &PowertcpConfig, queue: f64) -> Self {
            let hop = HopTelemetry { rate: Rate::from_gbps(100), ..HopTelemetry::default() };
            let params = Arc::new(PowertcpParams::new(config, start().path));
            let control = Powertcp::new(&params, &start());
            let mut bench = Self { control, acks: AckStream::new(&start()), hop };
            bench.ack(RTT, 1.0, queue);
            bench
        }

        /// An ACK a packet time after the last, over a port that since the last one sent at this part of its rate for
        /// `elapsed` and has this queue. Gives the window in bandwidth-delay products.
        fn ack(&mut self, elapsed: Duration, load: f64, queue: f64) -> f64 {
            let ack = self.acks.next(false);
            self.news(&ack, elapsed, load, queue)
        }

        /// As [`Self::ack`], for the ACK of a packet sent at the time of the last, after a round trip.
        fn round(&mut self, load: f64, queue: f64) -> f64 {
            let ack = self.acks.next_round(false);
            self.news(&ack, RTT, load, queue)
        }

        fn news(&mut self, ack: &Ack<'_>, elapsed: Duration, load: f64, queue: f64) -> f64 {
            self.hop.at += elapsed;
            self.hop.sent += self.hop.rate.bytes_in(elapsed).mul_f64(load);
            self.hop.queued = Bytes::new((queue * BDP) as u64);
            self.control.on_ack(&Ack { telemetry: Some(&[self.hop].into_iter().collect()), ..*ack });
            self.control.window.cwnd / BDP
        }

        fn power(&self) -> f64 {
            self.control.window.power
        }
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        refused(
            PowertcpConfig::check,
            &[
                ("gamma", |c| c.gamma = 0.0),
                ("beta", |c| c.beta = 1.1),
                ("eta", |c| c.eta = f64::NAN),
                ("arrival_floor", |c| c.arrival_floor = -0.1),
                ("header", |c| c.header = Bytes::new(257)),
            ],
        );
        assert_eq!([PowertcpConfig::default(), artifact()].map(|config| config.check()), [Ok(()), Ok(())]);
    }

    #[test]
    fn the_first_ack_leaves_its_stamps_and_the_window() {
        let bench = Bench::new(&PowertcpConfig::default(), 9.0);
        near(bench.control.window.cwnd, BDP, 0.0);
        near(bench.power(), 1.0, 0.0);
    }

    #[test]
    fn without_telemetry_nothing_moves() {
        let mut bench = Bench::new(&PowertcpConfig::default(), 0.0);
        let before = bench.control.decision();
        for _ in 0..100 {
            let ack = bench.acks.next(true);
            assert_eq!(bench.control.on_ack(&ack), before);
        }
    }

    #[test]
    fn power_is_the_arrival_rate_times_the_queue_with_a_bdp() {
        let mut bench = Bench::new(&plain(), 0.5);
        // Half a BDP left the port and half a BDP more waits, behind a queue of one.
        bench.ack(RTT, 0.5, 1.0);
        near(bench.power(), (0.5 + 0.5) * 2.0, 1e-4);
        bench.ack(RTT, 1.0, 1.0);
        near(bench.power(), 2.0, 1e-4);
        bench.ack(RTT, 1.0, 0.0);
        near(bench.power(), 0.5, 1e-4);
    }

    #[test]
    fn ten_full_flows_become_a_tenth_in_one_step() {
        let mut bench = Bench::new(&plain(), 9.0);
        near(bench.round(1.0, 9.0), 0.1, 1e-4);
    }

    #[test]
    fn an_arrival_rate_below_half_counts_as_half() {
        for (arrival_floor, expected) in [(0.5, 0.5), (0.0, 0.25)] {
            let mut bench = Bench::new(&PowertcpConfig { arrival_floor, ..plain() }, 1.75);
            bench.ack(RTT, 1.0, 1.0);
            near(bench.power(), expected * 2.0, 1e-4);
        }
    }

    #[test]
    fn without_the_floor_a_queue_that_drains_opens_the_window_it_had_closed() {
        let config = PowertcpConfig { arrival_floor: 0.0, ..PowertcpConfig::default() };
        let drained = [config, PowertcpConfig::default()].map(|config| {
            let mut bench = Bench::new(&config, 9.0);
            bench.round(1.0, 9.0);
            // Nobody sends for a while: what waits leaves.
            (1..=8).map(|rtts| bench.round(1.0, f64::from(9 - rtts))).last()
        });
        assert!(drained[0] > Some(0.99) && drained[1] < Some(0.1), "{drained:?}");
    }

    #[test]
    fn the_port_with_the_most_power_counts_by_its_own_rate_and_its_own_time() {
        let mut bench = Bench::new(&plain(), 0.0);
        let [fast, slow] = [400, 100].map(Rate::from_gbps);
        let hop = |rtts: f64, sent: f64, queued: f64, rate| HopTelemetry {
            at: Time::ZERO + RTT.mul_f64(rtts),
            sent: Bytes::new((sent * BDP) as u64),
            queued: Bytes::new((queued * BDP) as u64),
            rate,
        };
        let first = [hop(0.0, 0.0, 0.0, fast), hop(0.0, 0.0, 0.0, slow)];
        bench
            .control
            .on_ack(&Ack { telemetry: Some(&first.into_iter().collect()), ..bench.acks.next(false) });
        // In a round trip three quarters of the first port's rate; in half of one all of the second's, and a queue.
        let next = [hop(1.0, 3.0, 0.0, fast), hop(0.5, 0.5, 0.25, slow)];
        bench.control.on_ack(&Ack { telemetry: Some(&next.into_iter().collect()), ..bench.acks.next(false) });
        near(bench.power(), 0.5 + 0.5 * 1.5 * 1.25, 1e-4);
    }

    #[test]
    fn the_target_utilisation_divides_power() {
        let mut bench = Bench::new(&PowertcpConfig { eta: 0.95, ..plain() }, 0.0);
        near(bench.round(1.0, 0.0), 0.95, 1e-4);
    }

    #[test]
    fn acks_within_a_round_trip_start_from_the_same_window() {
        let mut bench = Bench::new(&plain(), 1.0);
        near(bench.round(1.0, 1.0), 0.5, 1e-4);
        near(bench.control.window.old / BDP, 0.5, 1e-4);
        for _ in 0..10 {
            near(bench.ack(Duration::from_us(1), 1.0, 1.0), 0.25, 1e-3);
        }
        near(bench.control.window.old / BDP, 0.5, 1e-4);
        near(bench.round(1.0, 1.0), 0.25, 1e-3);
        near(bench.control.window.old / BDP, 0.25, 1e-3);
    }

    #[test]
    fn the_window_is_averaged_with_the_present_one_or_that_of_the_last_round_trip() {
        for (gamma_old, expected) in [(false, 0.5 * 0.5 + 0.5 * 0.75), (true, 0.5 * 0.5 + 0.5)] {
            let mut bench = Bench::new(&PowertcpConfig { gamma: 0.5, gamma_old, ..plain() }, 1.0);
            bench.control.window.round.begin(Time::MAX);
            near(bench.ack(RTT, 1.0, 1.0), 0.75, 1e-4);
            near(bench.ack(RTT, 1.0, 1.0), expected, 1e-4);
        }
    }

    #[test]
    fn a_pause_counts_as_one_round_trip_unless_intervals_have_no_bound() {
        for (bound_interval, expected) in [(true, 2.0), (false, -2.0 + 3.0 * 2.0)] {
            let mut bench = Bench::new(&PowertcpConfig { bound_interval, ..plain() }, 1.0);
            bench.ack(RTT * 3, 1.0, 1.0);
            near(bench.power(), expected, 1e-4);
        }
    }

    #[test]
    fn windows_that_fill_the_link_rest_where_each_has_its_beta_in_the_queue() {
        for flows in [2.0, 8.0, 32.0] {
            // How a window moves in twenty round trips behind a queue of so many betas.
            let moved = |betas: f64| {
                let queue = betas * 0.006;
                let mut bench = Bench::new(&PowertcpConfig::default(), queue);
                let rest = (1.0 + queue) / flows;
                (bench.control.window.cwnd, bench.control.window.old) = (rest * BDP, rest * BDP);
                (0..20).map(|_| bench.round(1.0, queue) - rest).last().unwrap_or_default()
            };
            near(moved(flows), 0.0, 1e-4);
            assert!(moved(2.0 * flows) < -1e-3 && moved(0.5 * flows) > 1e-3);
        }
    }
}
