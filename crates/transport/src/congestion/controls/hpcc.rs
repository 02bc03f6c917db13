//! HPCC: keeps what is in flight below what the busiest port of the path can carry, as its telemetry says.
//!
//! Li et al., "HPCC: High Precision Congestion Control" (SIGCOMM 2019), section 3 and algorithm 1. With `eta` above 1 it aims at
//! a queue instead: the HPCC* of the OSCAR paper (NSDI 2026, section 6.1). `smoothing`, `max_stage` and `reference` are the
//! switches of that paper's ablation (figure 8).
//!
//! Left out: the identifier of the path in the header, by which a sender would notice another path of the same length; any
//! reaction to losses, for the paper's network has none.
//!
//! Its page: `docs/src/schemes/hpcc.md`.

use crate::congestion::contract::{Ack, Congestion, Decision, Ecn, NackRule, Needs, SignalBytes, Start};
use crate::congestion::parts::lowered::Lowered;
use crate::congestion::parts::signals::DataWindow;
use crate::congestion::parts::telemetry::{PortStep, Stamps};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind, Time};

/// The smallest window and rate, as a part of the bandwidth-delay product and of the line rate (published code of OSCAR).
/// A NACK can lower it further, down to a packet, until the next update.
const LEAST: f64 = 0.001;

/// The window that an estimate is applied to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Reference {
    /// That of the last round trip (algorithm 1: W^c).
    RoundTrip,
    /// That by which the acknowledged packet was sent (OSCAR, section 4.1.2).
    Send,
}

/// Parameters of HPCC.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct HpccConfig {
    /// Target utilisation of the busiest port, in [0.1, 10]; 0.95 (section 3.3). Above 1 it aims at a queue of eta - 1
    /// bandwidth-delay products.
    pub eta: f64,
    /// How many round trips in a row may only add before one multiplies, in [0, 1000]; 5 (section 3.3).
    pub max_stage: u32,
    /// Additive increase, as a part of the bandwidth-delay product, in [0, 1]; 0.0005 (section 3.3: (1 - eta) / N, with 100 flows).
    pub additive: f64,
    /// Whether the estimate is averaged over a base round trip; true (algorithm 1, line 9).
    pub smoothing: bool,
    /// The window that an estimate is applied to; `round_trip` (algorithm 1).
    pub reference: Reference,
    /// Whether the fields of telemetry have the published widths, and wrap; false.
    pub quantised: bool,
    /// Bytes of telemetry in each data packet, and in its ACK, at most 256; 42: five ports of 8 B, and 2 (figure 7).
    pub header: Bytes,
}

impl Default for HpccConfig {
    fn default() -> Self {
        Self {
            eta: 0.95,
            max_stage: 5,
            additive: 0.0005,
            smoothing: true,
            reference: Reference::RoundTrip,
            quantised: false,
            header: Bytes::new(42),
        }
    }
}

impl HpccConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "hpcc", name, value);
        within(0.1..=10.0, "eta", self.eta)?;
        within(0.0..=1000.0, "max_stage", f64::from(self.max_stage))?;
        within(0.0..=1.0, "additive", self.additive)?;
        within(0.0..=256.0, "header", self.header.as_f64())
    }

    /// All that it needs.
    #[must_use]
    pub const fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: false,
            send_record: matches!(self.reference, Reference::Send),
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
pub struct HpccParams {
    /// As configured.
    config: HpccConfig,
    /// T: the base round trip, in seconds.
    base_rtt: f64,
    /// The bandwidth-delay product, in bytes.
    bdp: f64,
    /// W_AI, in bytes.
    additive: f64,
    /// Payload of a full packet: the smallest window.
    mss: Bytes,
}

impl HpccParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &HpccConfig, path: &Path) -> Self {
        let bdp = path.bdp.as_f64().max(1.0);
        Self {
            config: config.clone(),
            base_rtt: path.base_rtt.as_secs_f64(),
            bdp,
            additive: config.additive * bdp,
            mss: path.mss,
        }
    }
}

/// HPCC for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Hpcc {
    /// The parameters that the flows of a path share.
    params: Arc<HpccParams>,
    /// W, in bytes; below a packet, only the rate is.
    window: f64,
    /// The first window, which counts payload alone, until W has moved.
    first: Bytes,
    /// W^c: the window of the last round trip, in bytes.
    reference: f64,
    /// The bound on the windows that packets left by before a NACK lowered it.
    lowered: Lowered,
    /// The largest window, in bytes.
    max: f64,
    /// U: the normalised bytes in flight of the busiest port.
    utilization: f64,
    /// incStage: round trips in a row that only added.
    stage: u32,
    /// The round trip, up to lastUpdateSeq.
    round: DataWindow,
    /// L: the telemetry of the last ACK.
    stamps: Stamps,
}

impl Hpcc {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<HpccParams>, start: &Start<'_>) -> Self {
        let window = start.cwnd_on_wire().as_f64();
        Self {
            params: Arc::clone(params),
            window,
            first: start.initial_cwnd,
            reference: window,
            lowered: Lowered::NEVER,
            max: window.max(params.bdp),
            utilization: 1.0,
            stage: 0,
            round: DataWindow::default(),
            stamps: Stamps::default(),
        }
    }

    /// Algorithm 1, MeasureInflight: of the busiest port, equation 2,
    ///
    /// ```text
    /// u = min(qlen, L.qlen) / (B T) + txRate / B
    /// ```
    ///
    /// and U = (1 - tau / T) U + tau / T x u, with tau its time between stamps, T at most. Says whether there is anything
    /// to go by.
    fn measure(&mut self, ack: &Ack<'_>) -> bool {
        let HpccParams { base_rtt, config, .. } = &*self.params;
        let mut busiest: Option<(f64, f64)> = None;
        self.stamps.take(ack.hops(), config.quantised, |port: PortStep| {
            let queue = port.queued[0].min(port.queued[1]) / (port.rate * base_rtt);
            let load = queue + port.sent / port.elapsed / port.rate;
            if busiest.is_none_or(|(most, _)| load > most) {
                busiest = Some((load, port.elapsed.min(*base_rtt)));
            }
        });
        let Some((load, elapsed)) = busiest else { return false };
        let weight = if config.smoothing { elapsed / base_rtt } else { 1.0 };
        self.utilization = (1.0 - weight) * self.utilization + weight * load;
        true
    }

    /// Algorithm 1, ComputeWind: equation 4, W = W^c / (U / eta) + W_AI, when the port is at the target, or after
    /// `max_stage` round trips that only added; else W = W^c + W_AI. `ends_round`: whether W^c moves, too.
    fn update(&mut self, reference: f64, ends_round: bool) {
        let HpccParams { config, additive, bdp, .. } = &*self.params;
        let multiplies = self.utilization >= config.eta || self.stage >= config.max_stage;
        let scaled = if multiplies { reference / (self.utilization / config.eta) } else { reference };
        self.window = (scaled + additive).clamp(LEAST * bdp, self.max);
        self.first = Bytes::MAX;
        if ends_round {
            self.stage = if multiplies { 0 } else { self.stage + 1 };
            self.reference = self.window;
        }
    }
}

impl Congestion for Hpcc {
    fn decision(&self) -> Decision {
        // R = W / T (section 3.2): on the wire, as the published code paces.
        let rate = Rate::from_bps(((self.window * 8.0 / self.params.base_rtt) as u64).max(1));
        let cwnd = Bytes::new(self.window as u64).min(self.first).max(self.params.mss);
        Decision { pacing_rate: Some(rate), ..Decision::window(cwnd) }
    }

    fn state(&self) -> Option<&'static str> {
        Some(if self.stage == 0 { "multiplying" } else { "adding" })
    }

    // U.
    fn signal(&self) -> Option<f64> {
        Some(self.utilization)
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        if self.measure(ack) {
            // Algorithm 1, NewAck: W^c moves once a round trip.
            let ends_round = self.round.ended_by(ack);
            let reference = match self.params.config.reference {
                Reference::RoundTrip => self.reference,
                Reference::Send => {
                    let at_send = ack.at_send.map_or(self.reference, |record| record.cwnd.as_f64());
                    self.lowered.cap(ack, at_send)
                }
            };
            self.update(reference, ends_round);
        } else if self.round.began() == Time::ZERO {
            self.round.begin(ack.now);
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        let most = most.max(self.params.mss).as_f64();
        if self.window > most {
            self.lowered.set(most);
        }
        (self.window, self.reference) = (self.window.min(most), self.reference.min(most));
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with};
    use farspan_units::{Duration, HopTelemetry};

    const BDP: f64 = 175_344.0;
    const RTT: Duration = Duration::from_ps(14_027_520);

    fn hpcc(config: &HpccConfig, start: &Start<'_>) -> Hpcc {
        Hpcc::new(&Arc::new(HpccParams::new(config, start.path)), start)
    }

    /// A flow, and a port of 100 Gb/s that it shares.
    struct Bench {
        control: Hpcc,
        acks: AckStream,
        hop: HopTelemetry,
    }

    impl Bench {
        fn new(config: &HpccConfig) -> Self {
            let hop = HopTelemetry { rate: Rate::from_gbps(100), ..HopTelemetry::default() };
            Self { control: hpcc(config, &start()), acks: AckStream::new(&start()), hop }
        }

        /// An ACK a packet time after the last, over a port that since the last one sent at this part of its rate for
        /// `elapsed` and has this queue, in bandwidth-delay products.
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
            self.control.window
        }
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        refused(
            HpccConfig::check,
            &[
                ("eta", |c| c.eta = 0.0),
                ("max_stage", |c| c.max_stage = 1001),
                ("additive", |c| c.additive = -0.1),
                ("header", |c| c.header = Bytes::new(257)),
            ],
        );
        assert_eq!(HpccConfig::default().check(), Ok(()));
    }

    #[test]
    fn the_first_ack_leaves_its_stamps_and_the_window() {
        let mut bench = Bench::new(&HpccConfig::default());
        near(bench.ack(RTT, 9.0, 9.0), BDP, 0.0);
        assert_eq!(bench.control.decision().pacing_rate.map(|rate| rate.as_bps() / 1_000_000_000), Some(100));
    }

    #[test]
    fn without_telemetry_nothing_moves() {
        let mut bench = Bench::new(&HpccConfig::default());
        let before = bench.control.decision();
        for _ in 0..100 {
            let ack = bench.acks.next(true);
            assert_eq!(bench.control.on_ack(&ack), before);
        }
    }

    #[test]
    fn the_estimate_is_the_smaller_queue_and_the_rate_of_the_port() {
        let mut bench = Bench::new(&HpccConfig { smoothing: false, ..HpccConfig::default() });
        bench.ack(RTT, 1.0, 3.0);
        bench.ack(RTT, 0.5, 1.0);
        near(bench.control.utilization, 1.5, 1e-4);
        assert_eq!(bench.control.signal(), Some(bench.control.utilization));
        bench.ack(RTT, 0.5, 4.0);
        near(bench.control.utilization, 1.5, 1e-4);
    }

    #[test]
    fn the_busiest_port_counts_by_its_own_rate_and_its_own_time() {
        let mut control = hpcc(&HpccConfig::default(), &start());
        let mut acks = AckStream::new(&start());
        let [fast, slow] = [400, 100].map(Rate::from_gbps);
        let hop = |at, sent, rate| HopTelemetry { at, sent, queued: Bytes::ZERO, rate };
        let at = |rtts: f64| Time::ZERO + RTT.mul_f64(rtts);
        let bytes = |bdps: f64| Bytes::new((bdps * BDP) as u64);
        let first = [hop(at(0.0), bytes(0.0), fast), hop(at(0.0), bytes(0.0), slow)];
        control.on_ack(&Ack { telemetry: Some(&first.into_iter().collect()), ..acks.next(false) });
        // In a round trip the first port sent two BDP, half of what it can; the second half of one in half the time.
        let next = [hop(at(1.0), bytes(2.0), fast), hop(at(0.5), bytes(0.4), slow)];
        control.on_ack(&Ack { telemetry: Some(&next.into_iter().collect()), ..acks.next(false) });
        near(control.utilization, 0.5 + 0.5 * 0.8, 1e-4);
    }

    #[test]
    fn the_average_forgets_a_round_trip_ago() {
        let mut bench = Bench::new(&HpccConfig::default());
        bench.ack(RTT, 1.0, 0.0);
        bench.ack(RTT.mul_f64(0.25), 0.5, 0.0);
        near(bench.control.utilization, 0.75 + 0.25 * 0.5, 1e-4);
        bench.ack(RTT * 3, 0.2, 0.0);
        near(bench.control.utilization, 0.2, 1e-4);
    }

    #[test]
    fn at_the_target_it_multiplies_and_below_it_adds() {
        let mut bench = Bench::new(&HpccConfig { smoothing: false, ..HpccConfig::default() });
        bench.ack(RTT, 1.0, 0.0);
        near(bench.round(1.0, 0.0), BDP * 0.95 + 0.0005 * BDP, 20.0);
        let reference = bench.control.reference;
        near(bench.round(0.5, 0.0), reference + 0.0005 * BDP, 1e-6);
        near(bench.round(0.949, 0.0), reference + 2.0 * 0.0005 * BDP, 1e-6);
    }

    #[test]
    fn ten_full_flows_become_a_tenth_in_one_step() {
        let mut bench = Bench::new(&HpccConfig { smoothing: false, ..HpccConfig::default() });
        bench.ack(RTT, 1.0, 8.5);
        near(bench.round(1.0, 8.5) / BDP, 0.1 + 0.0005, 1e-4);
    }

    #[test]
    fn five_round_trips_add_and_the_sixth_multiplies() {
        let mut bench = Bench::new(&HpccConfig { smoothing: false, additive: 0.0, ..HpccConfig::default() });
        bench.ack(RTT, 1.0, 8.5);
        bench.round(1.0, 8.5);
        for stage in 1..=5 {
            near(bench.round(0.1, 0.0) / BDP, 0.1, 1e-4);
            assert_eq!((bench.control.stage, bench.control.state()), (stage, Some("adding")));
        }
        near(bench.round(0.1, 0.0) / BDP, 0.95, 1e-2);
        assert_eq!((bench.control.stage, bench.control.state()), (0, Some("multiplying")));
    }

    #[test]
    fn acks_within_a_round_trip_start_from_the_same_reference() {
        let mut bench = Bench::new(&HpccConfig { smoothing: false, additive: 0.0, ..HpccConfig::default() });
        bench.ack(RTT, 1.0, 0.9);
        bench.round(1.0, 0.9);
        near(bench.control.window / BDP, 0.5, 1e-4);
        for _ in 0..10 {
            near(bench.ack(Duration::from_us(1), 1.0, 0.9) / BDP, 0.25, 1e-3);
        }
        near(bench.control.reference / BDP, 0.5, 1e-4);
    }

    #[test]
    fn with_the_reference_at_send_the_same_congestion_counts_once() {
        let reference = Reference::Send;
        let config = HpccConfig { smoothing: false, additive: 0.0, reference, ..HpccConfig::default() };
        let mut bench = Bench::new(&config);
        assert!(config.needs().send_record);
        bench.ack(RTT, 1.0, 0.9);
        for _ in 0..10 {
            let record = crate::congestion::SendRecord { cwnd: Bytes::new(BDP as u64), ..Default::default() };
            let ack = Ack { at_send: Some(record), ..bench.acks.next_round(false) };
            near(bench.news(&ack, RTT, 1.0, 0.9) / BDP, 0.5, 1e-4);
        }
    }

    #[test]
    fn with_the_reference_at_send_a_lowered_window_does_not_come_back() {
        let reference = Reference::Send;
        let config = HpccConfig { smoothing: false, additive: 0.0, reference, ..HpccConfig::default() };
        let mut bench = Bench::new(&config);
        bench.ack(RTT, 1.0, 0.9);
        let by = |packets: u64| {
            let cwnd = Bytes::new(packets * 4096);
            Some(crate::congestion::SendRecord { cwnd, ..Default::default() })
        };
        near(bench.control.lower(Bytes::new(10 * 4096)).cwnd.as_f64(), 10.0 * MSS, 0.0);
        let old = Ack { at_send: by(42), ..bench.acks.next(false) };
        near(bench.news(&old, RTT, 0.95, 0.0), 10.0 * MSS, 1.0);
        // Packets that left later go by what they left under.
        for packets in [10, 20] {
            let next = Ack { at_send: by(packets), ..bench.acks.next_round(false) };
            near(bench.news(&next, RTT, 0.95, 0.0), packets as f64 * MSS, 1.0);
        }
    }

    #[test]
    fn a_target_above_one_is_a_queue() {
        let config = HpccConfig { eta: 1.5, smoothing: false, additive: 0.0, ..HpccConfig::default() };
        let mut bench = Bench::new(&config);
        bench.ack(RTT, 1.0, 2.0);
        near(bench.round(1.0, 2.0) / BDP, 0.5, 1e-4);
        near(bench.round(1.0, 0.5) / BDP, 0.5, 1e-4);
    }

    #[test]
    fn below_a_packet_only_the_rate_goes_on_falling() {
        let config = HpccConfig { smoothing: false, additive: 0.0, ..HpccConfig::default() };
        let mut bench = Bench::new(&config);
        bench.ack(RTT, 1.0, 94.0);
        bench.round(1.0, 94.0);
        let decision = bench.control.decision();
        near(decision.cwnd.as_f64(), MSS, 0.0);
        near(decision.pacing_rate.map_or(0.0, |rate| rate.as_bps() as f64 * 1e-9), 1.0, 0.01);
        for _ in 0..10 {
            bench.round(1.0, 94.0);
        }
        near(bench.control.window, 0.001 * BDP, 1e-6);
    }

    #[test]
    fn the_window_never_exceeds_the_larger_of_first_window_and_bdp() {
        for (start, most) in
            [(start_with(Bytes::new(40_960)), BDP), (start_with(Bytes::new(1 << 20)), 1048576.0)]
        {
            let mut bench = Bench::new(&HpccConfig { max_stage: 0, ..HpccConfig::default() });
            bench.control = hpcc(&HpccConfig { max_stage: 0, ..HpccConfig::default() }, &start);
            for _ in 0..50 {
                bench.round(0.01, 0.0);
            }
            near(bench.control.window, most, 0.0);
        }
        assert_eq!(path().bdp, Bytes::new(BDP as u64));
    }
}
