//! Swift: additive increase below a target for the round trip that is longer for small windows, above it a cut in proportion
//! to the excess.
//!
//! Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter" (SIGCOMM 2020), algorithm 1 and
//! its scaling of targets; csg-htsim's form of it, and the published code of OSCAR.
//!
//! Left out: the window of the end hosts, whose delays are not part of round trips here.
//!
//! Its page: `docs/src/schemes/swift.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, Loss, Nack, NackRule, Needs, SignalBytes, Start, Timeout,
};
use crate::congestion::parts::signals::DataWindow;
use crate::congestion::parts::window::to_f64;
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind, Time};

/// The unit of windows in the parameters of Swift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum WindowUnit {
    /// Full packets.
    Packets,
    /// Bandwidth-delay products of the path.
    Bdp,
}

/// The largest window of Swift.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum LargestWindow {
    /// As much as the line rate sends in the shortest target: no flow, alone or not, holds more for long.
    Target,
    /// The bandwidth-delay product of the path.
    Bdp,
}

/// Parameters of Swift.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SwiftConfig {
    /// The shortest target less the base round trip, at most 1 s; 12.5 us. Published code of OSCAR: 25 us.
    pub base_target: Duration,
    /// Longer target for each link of the path, at most 1 s; 0: the base round trip has their delays.
    pub hop_target: Duration,
    /// The largest addition for small windows, at most 1 s; 50 us: four base targets (figure 5). Published code of OSCAR:
    /// 100 us.
    pub fs_range: Duration,
    /// The window up to which the addition is the largest, in `unit`, in [1e-6, 1e6]; 0.1.
    pub fs_min: f64,
    /// The window from which on there is none, in `unit`, above `fs_min`, in [1e-6, 1e6]; 100.
    pub fs_max: f64,
    /// Additive increase a round trip, in `unit`, in [0, 1000]; 1.
    pub ai: f64,
    /// Multiplicative decrease: the part of the relative excess over the target, in [0, 1]; 0.8.
    pub beta: f64,
    /// The largest part of the window that one decrease takes, in [0, 1]; 0.5.
    pub max_mdf: f64,
    /// The smallest window, in `unit`, in [1e-6, 1]; 0.01.
    pub min_cwnd: f64,
    /// The unit of the windows above; `packets`. Published code of OSCAR: `bdp`.
    pub unit: WindowUnit,
    /// The largest window; `target`. Published code of OSCAR: `bdp`.
    pub cap: LargestWindow,
    /// After so many time-outs in a row the window is the smallest, in [1, 1000]; 5 (csg-htsim).
    pub reset_after: u32,
}

impl Default for SwiftConfig {
    fn default() -> Self {
        Self {
            base_target: Duration::from_ns(12_500),
            hop_target: Duration::ZERO,
            fs_range: Duration::from_us(50),
            fs_min: 0.1,
            fs_max: 100.0,
            ai: 1.0,
            beta: 0.8,
            max_mdf: 0.5,
            min_cwnd: 0.01,
            unit: WindowUnit::Packets,
            cap: LargestWindow::Target,
            reset_after: 5,
        }
    }
}

/// The longest part of a target.
const LONGEST: Duration = Duration::from_ms(1000);

impl SwiftConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |range, name, value| ConfigError::unless_in(range, "swift", name, value);
        let time = |name, value| ConfigError::unless_at_most(LONGEST, "swift", name, value, "leave it out");
        time("base_target", self.base_target)?;
        time("hop_target", self.hop_target)?;
        time("fs_range", self.fs_range)?;
        within(1e-6..=1e6, "fs_min", self.fs_min)?;
        within(self.fs_min * 1.001..=1e6, "fs_max", self.fs_max)?;
        within(0.0..=1000.0, "ai", self.ai)?;
        within(0.0..=1.0, "beta", self.beta)?;
        within(0.0..=1.0, "max_mdf", self.max_mdf)?;
        within(1e-6..=1.0, "min_cwnd", self.min_cwnd)?;
        within(1.0..=1000.0, "reset_after", f64::from(self.reset_after))
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

    /// The queueing delay that it aims at on a path: that of a large window, the shortest.
    #[must_use]
    pub fn target_delay(&self, path: &Path) -> Option<Duration> {
        Some(self.base_target + self.hop_target * u64::from(path.hops))
    }
}

/// The parameters, and what a path makes of them. Times are in ps, windows in bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct SwiftParams {
    /// The target of a window that needs no addition.
    base_target: f64,
    /// The largest addition.
    fs_range: f64,
    /// alpha of flow scaling: the addition is alpha / sqrt(cwnd) + `fs_offset`, in [0, `fs_range`].
    fs_alpha: f64,
    /// beta of flow scaling.
    fs_offset: f64,
    /// Additive increase a round trip.
    ai: f64,
    beta: f64,
    /// The smallest part of the window that one decrease leaves.
    least_left: f64,
    min_cwnd: f64,
    cap: f64,
    reset_after: u32,
    base_rtt: Duration,
    /// Payload of a full packet.
    mss: Bytes,
    /// Bits on the wire for each byte of window and picosecond, as bits a second.
    bits_per_byte: f64,
}

const PS: f64 = 1e12;

fn ps(time: Duration) -> f64 {
    time.as_ps() as i64 as f64
}

impl SwiftParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &SwiftConfig, path: &Path) -> Self {
        let mss = path.mss.as_f64();
        // The headers of a window of payload fill a part of the link.
        let payload = mss / path.mtu().as_f64();
        let bdp = path.bdp.as_f64().max(1.0) * payload;
        let unit = if config.unit == WindowUnit::Packets { mss } else { bdp };
        let target = path.base_rtt + config.base_target + config.hop_target * u64::from(path.hops);
        let root = |window: f64| 1.0 / libm::sqrt(window * unit);
        let fs_range = ps(config.fs_range);
        let fs_alpha = fs_range / (root(config.fs_min) - root(config.fs_max));
        let cap = match config.cap {
            LargestWindow::Target => path.line_rate.bytes_per_sec_f64() * target.as_secs_f64() * payload,
            LargestWindow::Bdp => bdp,
        };
        Self {
            base_target: ps(target),
            fs_range,
            fs_alpha,
            fs_offset: -fs_alpha * root(config.fs_max),
            ai: config.ai * unit,
            beta: config.beta,
            least_left: 1.0 - config.max_mdf,
            min_cwnd: (config.min_cwnd * unit).min(mss),
            cap: cap.max(mss),
            reset_after: config.reset_after,
            base_rtt: path.base_rtt,
            mss: path.mss,
            bits_per_byte: 8.0 / payload * PS,
        }
    }

    /// The target of a window: topology scaling and flow scaling.
    #[inline]
    fn target(&self, cwnd: f64) -> f64 {
        let addition = self.fs_alpha / libm::sqrt(cwnd) + self.fs_offset;
        self.base_target + addition.clamp(0.0, self.fs_range)
    }
}

/// Swift for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct Swift {
    /// The parameters that the flows of a path share.
    params: Arc<SwiftParams>,
    /// cwnd, in bytes; below a packet it is a rate.
    cwnd: f64,
    /// The largest window, in bytes.
    max: f64,
    /// The round trip of the last ACK.
    rtt: Duration,
    /// When the window last fell.
    decreased_at: Time,
    /// Time-outs in a row, those of packets that were in flight together counted once.
    timeouts: u32,
    /// The data in flight at the last time-out that counts.
    flight: DataWindow,
}

impl Swift {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<SwiftParams>, start: &Start<'_>) -> Self {
        let cwnd = start.initial_cwnd.max(params.mss).as_f64();
        Self {
            params: Arc::clone(params),
            cwnd,
            max: cwnd.max(params.cap),
            rtt: params.base_rtt,
            decreased_at: Time::ZERO,
            timeouts: 0,
            flight: DataWindow::default(),
        }
    }

    /// Leaves this part of the window, once a round trip.
    fn decrease(&mut self, now: Time, left: f64) {
        if now.since(self.decreased_at) >= self.rtt {
            self.decreased_at = now;
            self.cwnd = (self.cwnd * left).max(self.params.min_cwnd);
        }
    }

    /// Algorithm 1, on fast recovery.
    fn lost(&mut self, now: Time) -> Decision {
        self.timeouts = 0;
        self.decrease(now, self.params.least_left);
        self.decision()
    }
}

impl Congestion for Swift {
    fn decision(&self) -> Decision {
        let mss = self.params.mss;
        let cwnd = Bytes::new(self.cwnd as i64 as u64);
        if cwnd >= mss {
            return Decision::window(cwnd);
        }
        // Algorithm 1, last lines: a packet each RTT / cwnd.
        let rate = self.cwnd * self.params.bits_per_byte / ps(self.rtt).max(1.0);
        Decision { pacing_rate: Some(Rate::from_bps((rate as u64).max(1))), ..Decision::window(mss) }
    }

    fn on_ack(&mut self, ack: &Ack<'_>) -> Decision {
        let params = &*self.params;
        self.timeouts = 0;
        self.rtt = ack.rtt;
        let delay = ps(ack.rtt);
        let target = params.target(self.cwnd);
        if delay < target {
            let acked = params.ai * to_f64(ack.bytes_acked);
            self.cwnd = (self.cwnd + acked / self.cwnd.max(to_f64(params.mss))).min(self.max);
        } else {
            let left = 1.0 - params.beta * (delay - target) / delay;
            self.decrease(ack.now, left.max(params.least_left));
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.cwnd = self.cwnd.min(to_f64(most.max(self.params.mss)));
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.lost(nack.now)
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.lost(loss.now)
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        if self.flight.ended_at(timeout.now, timeout.sent_at) {
            self.timeouts += 1;
        }
        if self.timeouts >= self.params.reset_after {
            self.cwnd = self.params.min_cwnd;
            self.decreased_at = timeout.now;
        } else {
            self.decrease(timeout.now, self.params.least_left);
        }
        self.decision()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::congestion::NackCause;
    use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with, timeout};

    /// The payload of a bandwidth-delay product.
    const BDP: f64 = 175_344.0 * 4096.0 / 4160.0;

    /// As the published code of OSCAR ran it.
    pub(crate) fn artifact() -> SwiftConfig {
        SwiftConfig {
            base_target: Duration::from_us(25),
            fs_range: Duration::from_us(100),
            fs_max: 1.0,
            ai: 0.001,
            min_cwnd: 0.0001,
            unit: WindowUnit::Bdp,
            cap: LargestWindow::Bdp,
            ..SwiftConfig::default()
        }
    }

    fn params(config: &SwiftConfig) -> SwiftParams {
        SwiftParams::new(config, &path())
    }

    fn swift(config: &SwiftConfig, packets: u64) -> Swift {
        Swift::new(&Arc::new(params(config)), &start_with(Bytes::new(packets * 4096)))
    }

    /// The addition of a window for few flows, in us.
    fn addition(config: &SwiftConfig, cwnd: f64) -> f64 {
        let params = params(config);
        (params.target(cwnd) - params.base_target) * 1e-6
    }

    /// A flow with a window of ten packets, and its ACKs, which come after this wait in queues.
    fn waiting(queue: Duration) -> (Swift, AckStream) {
        let mut acks = AckStream::new(&start());
        acks.delay = queue;
        (swift(&SwiftConfig::default(), 10), acks)
    }

    #[test]
    fn a_parameter_out_of_range_is_named() {
        let long = Duration::from_ms(1001);
        for (name, spoil) in [
            ("base_target", (|c, long| c.base_target = long) as fn(&mut SwiftConfig, Duration)),
            ("hop_target", |c, long| c.hop_target = long),
            ("fs_range", |c, long| c.fs_range = long),
        ] {
            let mut config = SwiftConfig::default();
            spoil(&mut config, long);
            assert_eq!(config.check().unwrap_err().parameter, name);
        }
        refused(
            SwiftConfig::check,
            &[
                ("fs_min", |c| c.fs_min = 0.0),
                ("fs_max", |c| c.fs_max = 0.1),
                ("fs_max", |c| c.fs_max = f64::NAN),
                ("ai", |c| c.ai = -1.0),
                ("beta", |c| c.beta = 1.1),
                ("max_mdf", |c| c.max_mdf = -0.1),
                ("min_cwnd", |c| c.min_cwnd = 0.0),
                ("reset_after", |c| c.reset_after = 0),
            ],
        );
        assert_eq!([SwiftConfig::default(), artifact()].map(|config| config.check()), [Ok(()), Ok(())]);
    }

    #[test]
    fn the_shortest_target_is_the_base_round_trip_with_its_addition_and_one_for_each_link() {
        let us = |config: &SwiftConfig| params(config).base_target * 1e-6;
        near(us(&SwiftConfig::default()), 14.02752 + 12.5, 1e-9);
        let hops = SwiftConfig { hop_target: Duration::from_us(2), ..SwiftConfig::default() };
        near(us(&hops), 14.02752 + 12.5 + 6.0 * 2.0, 1e-9);
    }

    #[test]
    fn a_small_window_has_a_longer_target_by_the_inverse_of_its_root() {
        let config = SwiftConfig::default();
        near(addition(&config, 100.0 * MSS), 0.0, 1e-9);
        near(addition(&config, 1000.0 * MSS), 0.0, 0.0);
        near(addition(&config, 0.1 * MSS), 50.0, 1e-9);
        near(addition(&config, 0.01 * MSS), 50.0, 0.0);
        let share = |packets: f64| (packets.powf(-0.5) - 0.1) / (0.1_f64.powf(-0.5) - 0.1);
        for packets in [0.5, 1.0, 4.0, 25.0] {
            near(addition(&config, packets * MSS), 50.0 * share(packets), 1e-9);
        }
    }

    #[test]
    fn the_published_code_scales_in_parts_of_the_bdp() {
        near(addition(&artifact(), BDP), 0.0, 1e-9);
        near(addition(&artifact(), 0.1 * BDP), 100.0, 1e-9);
        near(addition(&artifact(), 0.25 * BDP), 100.0 / (0.1_f64.powf(-0.5) - 1.0), 1e-9);
    }

    #[test]
    fn below_the_target_a_window_grows_by_a_packet_a_round_trip() {
        let (mut control, mut acks) = waiting(Duration::from_us(12));
        for _ in 0..10 {
            control.on_ack(&acks.next(false));
        }
        near(control.cwnd, 11.0 * MSS, 0.05 * MSS);
        let ack = Ack { bytes_acked: path().mss * 2, ..acks.next(false) };
        let before = control.cwnd;
        control.on_ack(&ack);
        near(control.cwnd - before, 2.0 * MSS * MSS / before, 1e-6);
    }

    #[test]
    fn a_window_below_a_packet_grows_by_a_packet_with_each_ack() {
        let (mut control, mut acks) = waiting(Duration::from_us(12));
        control.cwnd = 0.25 * MSS;
        control.on_ack(&acks.next(false));
        near(control.cwnd, 1.25 * MSS, 1e-9);
    }

    #[test]
    fn above_the_target_the_excess_counts_up_to_the_largest_cut() {
        for (queue, expected) in [(30, 1.0 - 0.8 * excess(30.0)), (1000, 0.5)] {
            let (mut control, mut acks) = waiting(Duration::from_us(queue));
            control.on_ack(&acks.next(false));
            near(control.cwnd / (10.0 * MSS), expected, 1e-9);
        }
        assert!(0.8 * excess(30.0) > 0.0 && 0.8 * excess(30.0) < 0.5);
    }

    /// The part of a round trip with such a wait, in us, that is above the target of ten packets.
    fn excess(queue: f64) -> f64 {
        let target = params(&SwiftConfig::default()).target(10.0 * MSS) * 1e-6;
        (14.02752 + queue - target) / (14.02752 + queue)
    }

    #[test]
    fn one_round_trip_has_one_decrease() {
        let (mut control, mut acks) = waiting(Duration::from_us(1000));
        control.on_ack(&acks.next(false));
        for _ in 0..100 {
            control.on_ack(&acks.next(false));
        }
        near(control.cwnd, 5.0 * MSS, 1e-9);
        control.on_ack(&acks.next_round(false));
        near(control.cwnd, 2.5 * MSS, 1e-9);
    }

    #[test]
    fn a_loss_or_a_nack_takes_the_largest_cut_once_a_round_trip() {
        let (mut control, _) = waiting(Duration::ZERO);
        let (at, sent_at, bytes) = (|us| Time::ZERO + Duration::from_us(us), Time::ZERO, path().mss);
        control.on_loss(&Loss { now: at(20), bytes, sent_at, in_flight: Bytes::ZERO });
        control.on_nack(&Nack {
            now: at(30),
            bytes,
            sent_at,
            in_flight: Bytes::ZERO,
            cause: NackCause::Trimmed,
        });
        near(control.cwnd, 5.0 * MSS, 1e-9);
        control.on_nack(&Nack {
            now: at(40),
            bytes,
            sent_at,
            in_flight: Bytes::ZERO,
            cause: NackCause::Trimmed,
        });
        near(control.cwnd, 2.5 * MSS, 1e-9);
    }

    #[test]
    fn the_fifth_time_out_in_a_row_goes_to_the_smallest_window() {
        let mut control = swift(&SwiftConfig::default(), 64);
        let at = |ms| Time::ZERO + Duration::from_ms(ms);
        for ms in 1..=4 {
            control.on_timeout(&timeout(at(ms), at(ms), Bytes::ZERO));
            near(control.cwnd, 64.0 * MSS * 0.5_f64.powi(ms as i32), 1e-9);
        }
        let mut interrupted = control.clone();
        control.on_timeout(&timeout(at(5), at(5), Bytes::ZERO));
        near(control.cwnd, 0.01 * MSS, 1e-9);
        // An ACK, or a loss that others tell of, and the count begins anew.
        interrupted.on_loss(&Loss { now: at(4), bytes: path().mss, sent_at: at(4), in_flight: Bytes::ZERO });
        interrupted.on_timeout(&timeout(at(5), at(5), Bytes::ZERO));
        near(interrupted.cwnd, 2.0 * MSS, 1e-9);
    }

    #[test]
    fn time_outs_of_one_flight_count_once() {
        let mut control = swift(&SwiftConfig::default(), 64);
        let at = |us| Time::ZERO + Duration::from_us(us);
        for packet in 0..64 {
            control.on_timeout(&timeout(at(1000 + packet / 8), at(packet / 8), Bytes::ZERO));
        }
        assert_eq!(control.timeouts, 1);
        near(control.cwnd, 32.0 * MSS, 1e-9);
    }

    #[test]
    fn a_window_below_a_packet_is_one_packet_and_a_rate() {
        let (mut control, mut acks) = waiting(Duration::from_us(1000));
        assert_eq!(control.decision().pacing_rate, None);
        control.on_ack(&acks.next(false));
        control.cwnd = 0.25 * MSS;
        let Decision { cwnd, pacing_rate, .. } = control.decision();
        near(cwnd.as_f64(), MSS, 0.0);
        // A packet of 4,160 B each four round trips.
        let expected = 4160.0 * 8.0 / (4.0 * 1014.02752e-6);
        near(pacing_rate.map_or(0.0, |rate| rate.as_bps() as f64), expected, 2.0);
    }

    #[test]
    fn the_window_stays_between_the_smallest_and_its_cap() {
        let mut control = swift(&SwiftConfig { ai: 10.0, ..SwiftConfig::default() }, 64);
        let mut acks = AckStream::new(&start());
        (0..10_000).for_each(|_| _ = control.on_ack(&acks.next(false)));
        near(control.cwnd, 12.5 * (14_027.52 + 12_500.0) * 4096.0 / 4160.0, 1e-6);
        acks.delay = Duration::from_ms(10);
        (0..100).for_each(|_| _ = control.on_ack(&acks.next_round(false)));
        near(control.cwnd, 0.01 * MSS, 1e-9);
        let mut capped = swift(&SwiftConfig { ai: 0.1, ..artifact() }, 10);
        acks.delay = Duration::ZERO;
        (0..10_000).for_each(|_| _ = capped.on_ack(&acks.next(false)));
        near(capped.cwnd, BDP, 1e-6);
    }

    #[test]
    fn flows_rest_at_the_target_of_their_windows() {
        for flows in [2.0, 8.0, 32.0] {
            let mut control = swift(&SwiftConfig::default(), 43);
            let mut acks = AckStream::new(&start());
            for _ in 0..20_000 {
                let queue = (flows * control.cwnd - BDP).max(0.0);
                acks.delay = Duration::from_ps((queue * 80.0) as u64);
                control.on_ack(&acks.next_round(false));
            }
            let queue = flows * control.cwnd - BDP;
            let target = params(&SwiftConfig::default()).target(control.cwnd);
            near(queue * 80.0 / (target - ps(path().base_rtt)), 1.0, 0.12);
        }
    }
}
