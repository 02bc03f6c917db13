//! DCTCP-like per ACK: each marked ACK takes a third of what it acknowledges, each window without marks adds one packet.
//!
//! The senders of the incast proxy (HotNets 2025, "Simulation setup"): a time-out resets the window, a marked ACK or a
//! NACK lowers it, and an ACK without a mark raises it. The paper prints no constants; they are those of htsim's DCTCP, which cuts at each mark. A loss found from
//! later ACKs, which these senders do not look for, counts as a NACK. Left out: DCTCP's average share of marked bytes
//! (RFC 8257), since each mark counts by itself here; slow start, since the first window is one bandwidth-delay product;
//! pacing and RFC 7661's check that the window is used, of which the paper says nothing.
//!
//! Its page: `docs/src/schemes/dctcp-per-ack.md`.

use crate::congestion::contract::{
    Ack, Congestion, Decision, Ecn, Loss, Nack, NackRule, Needs, SignalBytes, Start, Timeout,
};
use crate::congestion::parts::window::{Bounds, to_f64};
use crate::path::Path;
use crate::registry::ConfigError;
use alloc::sync::Arc;
use farspan_units::{Bytes, Duration, TelemetryKind, Time};

/// The window after a time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Reset {
    /// The first window of the flow.
    Initial,
    /// One packet, as TCP.
    Packet,
}

/// Parameters of DCTCP-like per ACK.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DctcpPerAckConfig {
    /// The part of the bytes of a marked ACK that the window loses, in (0, 1]; 1/3 (htsim's DCTCP).
    pub decrease: f64,
    /// The packets that a window of unmarked ACKs adds, in [0, 1000]; 1 (htsim's DCTCP).
    pub increase: f64,
    /// The window after a time-out; `initial` (the paper's completion times fit no other).
    pub reset: Reset,
}

impl Default for DctcpPerAckConfig {
    fn default() -> Self {
        Self { decrease: 1.0 / 3.0, increase: 1.0, reset: Reset::Initial }
    }
}

impl DctcpPerAckConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1e-6..=1.0, "dctcp-per-ack", "decrease", self.decrease)?;
        ConfigError::unless_in(0.0..=1000.0, "dctcp-per-ack", "increase", self.increase)
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

    /// The queueing delay that it aims at on a path: none, it knows no such target.
    #[must_use]
    pub const fn target_delay(&self, _path: &Path) -> Option<Duration> {
        None
    }
}

/// The parameters, and what a path makes of them.
#[derive(Clone, PartialEq, Debug)]
pub struct DctcpPerAckParams {
    /// The part of the bytes of a marked ACK that the window loses.
    decrease: f64,
    /// The increase of a window of unmarked ACKs, in bytes.
    increase: f64,
    /// The window after a time-out.
    reset: Reset,
    /// Smallest and largest window.
    bounds: Bounds,
    /// The time in which time-outs count once.
    base_rtt: Duration,
}

impl DctcpPerAckParams {
    /// Computes the parameters of `config` on `path`.
    #[must_use]
    pub fn new(config: &DctcpPerAckConfig, path: &Path) -> Self {
        let bounds = Bounds::new(path, f64::INFINITY);
        let DctcpPerAckConfig { decrease, increase, reset } = *config;
        Self { decrease, increase: increase * bounds.mss, reset, bounds, base_rtt: path.base_rtt }
    }
}

/// DCTCP-like per ACK, for one flow.
#[derive(Clone, PartialEq, Debug)]
pub struct DctcpPerAck {
    /// The parameters that the flows of a path share.
    params: Arc<DctcpPerAckParams>,
    /// The window, in bytes.
    cwnd: f64,
    /// The first window, in bytes.
    initial: f64,
    /// Up to when a time-out leaves the window alone.
    reset_until: Time,
}

impl DctcpPerAck {
    /// The control for one flow.
    #[must_use]
    pub fn new(params: &Arc<DctcpPerAckParams>, start: &Start<'_>) -> Self {
        let initial = params.bounds.clamp(start.initial_cwnd.as_f64());
        Self { params: Arc::clone(params), cwnd: initial, initial, reset_until: Time::ZERO }
    }

    /// Takes bytes off the window.
    fn cut(&mut self, bytes: f64) {
        self.cwnd = self.params.bounds.clamp(self.cwnd - bytes);
    }
}

impl Congestion for DctcpPerAck {
    #[inline(always)]
    fn decision(&self) -> Decision {
        // A signed integer costs less to convert to, and holds every window.
        Decision::window(Bytes::new(self.cwnd as i64 as u64))
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack) -> Decision {
        if ack.ecn_ce {
            // htsim's DCTCP: cwnd = cwnd - acked / 3.
            self.cut(self.params.decrease * to_f64(ack.echoed_bytes()));
        } else {
            // htsim's DCTCP: cwnd = cwnd + MSS x acked / cwnd.
            self.cwnd += self.params.increase * to_f64(ack.bytes_acked) / self.cwnd;
        }
        self.decision()
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.cwnd = self.params.bounds.clamp(self.cwnd.min(to_f64(most)));
        self.decision()
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        // htsim: cwnd = cwnd - bytes that did not arrive.
        self.cut(to_f64(nack.bytes));
        self.decision()
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.cut(to_f64(loss.bytes));
        self.decision()
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        // "Resets its congestion window upon timeout": once a round trip, or each packet of a lost window would.
        if timeout.now >= self.reset_until {
            self.reset_until = timeout.now + self.params.base_rtt;
            self.cwnd = match self.params.reset {
                Reset::Initial => self.initial,
                Reset::Packet => self.params.bounds.mss,
            };
        }
        self.decision()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::NackCause;
    use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with, timeout};

    fn per_ack(config: &DctcpPerAckConfig, start: &Start<'_>) -> DctcpPerAck {
        DctcpPerAck::new(&Arc::new(DctcpPerAckParams::new(config, start.path)), start)
    }

    /// Ten packets, and ACKs.
    fn ten() -> (DctcpPerAck, AckStream) {
        let start = start_with(Bytes::new(40_960));
        (per_ack(&DctcpPerAckConfig::default(), &start), AckStream::new(&start))
    }

    fn nack(now: Time, bytes: u64) -> Nack {
        Nack {
            now,
            bytes: Bytes::new(bytes),
            sent_at: now,
            in_flight: Bytes::ZERO,
            cause: NackCause::Trimmed,
        }
    }

    #[test]
    fn parameters_out_of_range_are_named() {
        refused(
            DctcpPerAckConfig::check,
            &[
                ("decrease", |c| c.decrease = 0.0),
                ("decrease", |c| c.decrease = 1.1),
                ("increase", |c| c.increase = -1.0),
            ],
        );
        assert_eq!(DctcpPerAckConfig::default().check(), Ok(()));
    }

    #[test]
    fn the_start_is_the_scenario_s_and_there_is_no_slow_start() {
        let (mut control, mut acks) = ten();
        assert_eq!(control.decision(), Decision::window(Bytes::new(40_960)));
        control.on_ack(&acks.next(false));
        near(control.cwnd, 10.1 * MSS, 1e-6);
    }

    #[test]
    fn a_window_of_unmarked_acks_adds_one_packet() {
        let (mut control, mut acks) = ten();
        for _ in 0..10 {
            control.on_ack(&acks.next(false));
        }
        near(control.cwnd, 11.0 * MSS, 0.05 * MSS);
        let config = DctcpPerAckConfig { increase: 4.0, ..DctcpPerAckConfig::default() };
        let mut quick = per_ack(&config, &start_with(Bytes::new(40_960)));
        quick.on_ack(&acks.next(false));
        near(quick.cwnd, 10.4 * MSS, 1e-6);
    }

    #[test]
    fn an_ack_counts_by_the_bytes_that_it_acknowledges() {
        let (mut control, mut acks) = ten();
        let half = |marked, acks: &mut AckStream| Ack { bytes_acked: Bytes::new(2048), ..acks.next(marked) };
        control.on_ack(&half(false, &mut acks));
        near(control.cwnd, 10.05 * MSS, 1e-6);
        control.on_ack(&half(true, &mut acks));
        near(control.cwnd, (10.05 - 1.0 / 6.0) * MSS, 1e-6);
        control.on_ack(&Ack { bytes_acked: Bytes::ZERO, ..acks.next(true) });
        near(control.cwnd, (10.05 - 1.0 / 6.0) * MSS, 1e-6);
    }

    #[test]
    fn a_mark_takes_nothing_for_what_only_its_map_names_which_counts_for_growth() {
        let (mut control, mut acks) = ten();
        let bytes = |packets: u64| Bytes::new(packets * 4096);
        let of_three = |marked, acks: &mut AckStream| Ack {
            bytes_acked: bytes(3),
            mapped: bytes(2),
            ..acks.next(marked)
        };
        control.on_ack(&of_three(true, &mut acks));
        near(control.cwnd, (10.0 - 1.0 / 3.0) * MSS, 1e-6);
        let before = control.cwnd;
        control.on_ack(&of_three(false, &mut acks));
        near(control.cwnd, before + 3.0 * MSS * MSS / before, 1e-6);
    }

    #[test]
    fn every_marked_ack_takes_a_third_of_what_it_acknowledges() {
        let (mut control, mut acks) = ten();
        for taken in 1..=6 {
            control.on_ack(&acks.next(true));
            near(control.cwnd, (10.0 - f64::from(taken) / 3.0) * MSS, 1e-6);
        }
        let config = DctcpPerAckConfig { decrease: 0.5, ..DctcpPerAckConfig::default() };
        let mut hard = per_ack(&config, &start_with(Bytes::new(40_960)));
        hard.on_ack(&acks.next(true));
        near(hard.cwnd, 9.5 * MSS, 1e-6);
    }

    #[test]
    fn a_nack_takes_the_bytes_that_were_trimmed() {
        let (mut control, acks) = ten();
        control.on_nack(&nack(acks.now, 4096));
        near(control.cwnd, 9.0 * MSS, 0.0);
        control.on_nack(&nack(acks.now, 1000));
        near(control.cwnd, 9.0 * MSS - 1000.0, 0.0);
    }

    #[test]
    fn a_loss_counts_as_a_nack() {
        let (mut control, acks) = ten();
        let (now, sent_at) = (acks.now, acks.now);
        control.on_loss(&Loss { now, bytes: Bytes::new(8192), sent_at, in_flight: Bytes::ZERO });
        near(control.cwnd, 8.0 * MSS, 0.0);
    }

    #[test]
    fn the_window_is_never_below_one_packet() {
        let (mut control, mut acks) = ten();
        for _ in 0..12 {
            control.on_nack(&nack(acks.now, 4096));
        }
        near(control.cwnd, MSS, 0.0);
        control.on_ack(&acks.next(true));
        near(control.cwnd, MSS, 0.0);
        near(per_ack(&DctcpPerAckConfig::default(), &start_with(Bytes::new(1))).cwnd, MSS, 0.0);
    }

    #[test]
    fn a_time_out_gives_the_first_window_back() {
        let (mut control, acks) = ten();
        for _ in 0..5 {
            control.on_nack(&nack(acks.now, 4096));
        }
        control.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
        near(control.cwnd, 10.0 * MSS, 0.0);
        let mut grown = per_ack(&DctcpPerAckConfig::default(), &start());
        grown.on_ack(&AckStream::new(&start()).next(false));
        grown.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
        near(grown.cwnd, path().bdp.as_f64(), 0.0);
    }

    #[test]
    fn a_time_out_can_go_to_one_packet() {
        let config = DctcpPerAckConfig { reset: Reset::Packet, ..DctcpPerAckConfig::default() };
        let mut control = per_ack(&config, &start());
        control.on_timeout(&timeout(Time::ZERO, Time::ZERO, Bytes::ZERO));
        near(control.cwnd, MSS, 0.0);
    }

    #[test]
    fn time_outs_of_one_round_trip_reset_the_window_once() {
        let (mut control, _) = ten();
        let at = |us: u64| Time::ZERO + Duration::from_us(us);
        let mut time_out = |now: Time| {
            control.on_nack(&nack(now, 4096));
            control.on_timeout(&timeout(now, Time::ZERO, Bytes::ZERO));
            control.cwnd / MSS
        };
        let rtt = path().base_rtt;
        near(time_out(at(500)), 10.0, 0.0);
        near(time_out(at(501)), 9.0, 0.0);
        near(time_out(at(500) + rtt - Duration::from_ps(1)), 8.0, 0.0);
        near(time_out(at(500) + rtt), 10.0, 0.0);
    }

    #[test]
    fn the_window_rests_where_gains_and_cuts_are_even() {
        // (1 - p) / cwnd = p / 3: at one mark in 31 ACKs, 90 packets, from above and from below.
        for packets in [40, 180] {
            let start = start_with(Bytes::new(packets * 4096));
            let (mut control, mut acks) =
                (per_ack(&DctcpPerAckConfig::default(), &start), AckStream::new(&start));
            for i in 0..60_000 {
                control.on_ack(&acks.next(i % 31 == 0));
            }
            near(control.cwnd, 90.0 * MSS, MSS);
        }
    }
}
