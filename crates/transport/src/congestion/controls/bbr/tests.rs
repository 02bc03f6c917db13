//! One test for each rule of BBR.

mod linux;
mod recovery;

use super::probe_bw::GAINS;
use super::*;
use crate::congestion::testing::{MSS, Spoil, near, path, refused, start, start_with, timeout, wan_path};
use crate::congestion::{Cap, Control, NackCause, SendRecord};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use farspan_units::{Duration, FlowId};

const PACKET: Bytes = Bytes::new(4096);

/// BBR as Uno's published code runs it.
pub(crate) fn artifact() -> BbrConfig {
    BbrConfig {
        startup_gain: 2.89,
        drain_gain: 0.35,
        pacing_margin: 0.0,
        rtprop: Rtprop::Given,
        first_phase: FirstPhase::First,
        phase_end: PhaseEnd::Time,
        on_timeout: OnTimeout::Collapse,
        cap: Cap::Bdp,
        min_bandwidth: Rate::from_gbps(3),
        ..BbrConfig::default()
    }
}

/// A flow over a path that delivers at a rate, whose ACKs the test makes.
struct Flow {
    control: Bbr,
    now: Time,
    rtt: Duration,
    /// Packets in each round trip.
    packets: u64,
    /// Packets in flight after an ACK.
    in_flight: u64,
    delivered: Bytes,
    app_limited: bool,
    /// Whether lost packets have not arrived since.
    has_losses: bool,
}

impl Flow {
    fn new(config: &BbrConfig, start: &Start<'_>) -> Self {
        Self {
            control: Bbr::new(&Arc::new(BbrParams::new(config, start.path)), start),
            now: Time::ZERO + start.path.base_rtt * 2,
            rtt: start.path.base_rtt,
            packets: 20,
            in_flight: 20,
            delivered: Bytes::ZERO,
            app_limited: false,
            has_losses: false,
        }
    }

    /// Half of the link is free: 20 packets a round trip.
    fn v1() -> Self {
        Self::new(&BbrConfig::default(), &start())
    }

    /// A flow whose pipe was found full and drained.
    fn steady(config: &BbrConfig) -> Self {
        let mut flow = Self::new(config, &start());
        flow.fill();
        assert!(matches!(flow.control.state, BbrState::ProbeBw(_)), "{:?}", flow.control.state);
        flow
    }

    /// Rounds until the pipe is found full, and the ACK that ends DRAIN.
    fn fill(&mut self) {
        self.in_flight = 60;
        self.rounds(12);
        self.in_flight = 10;
        self.ack();
        self.in_flight = self.packets;
    }

    /// The ACK of a packet sent one round trip ago, when so many packets fewer were delivered.
    fn ack(&mut self) -> Decision {
        self.now += self.rtt / self.packets;
        self.delivered += PACKET;
        let ack = self.newest();
        self.control.on_ack(&ack)
    }

    fn newest(&self) -> Ack<'static> {
        let sent_at = self.now.as_ps() - self.rtt.as_ps();
        let sent_at = Time::from_ps(sent_at);
        Ack {
            now: self.now,
            bytes_acked: PACKET,
            mapped: Bytes::ZERO,
            acked_packets: 1,
            ecn_ce: false,
            rtt: self.rtt,
            sent_at,
            in_flight: PACKET * self.in_flight,
            delivered: self.delivered,
            acked_below: self.acked(),
            sent_below: self.acked() + self.in_flight as u32,
            has_losses: self.has_losses,
            at_send: Some(SendRecord {
                in_flight: PACKET * self.in_flight,
                cwnd: PACKET * self.in_flight,
                delivered: self.delivered.saturating_sub(PACKET * self.packets),
                delivered_at: sent_at,
                first_sent_at: Time::from_ps(sent_at.as_ps().saturating_sub(self.rtt.as_ps())),
                app_limited: self.app_limited,
            }),
            telemetry: None,
        }
    }

    /// Packets acknowledged so far: a lost one gives its number to the next that is sent.
    fn acked(&self) -> u32 {
        (self.delivered.get() / PACKET.get()) as u32
    }

    fn rounds(&mut self, rounds: u64) {
        for _ in 0..rounds * self.packets {
            self.ack();
        }
    }

    /// Packets of a bandwidth-delay product as the model has it.
    fn bdp(&self) -> f64 {
        let rtprop = self.control.model.rtprop.get().unwrap_or_default();
        self.control.model.bandwidth.get() * rtprop.as_secs_f64() / MSS
    }

    fn cwnd(&self) -> f64 {
        self.control.cwnd / MSS
    }

    fn phase(&self) -> u8 {
        match self.control.state {
            BbrState::ProbeBw(cycle) => cycle.phase,
            other => panic!("{other:?}"),
        }
    }

    /// The pacing rate over that of the bandwidth, headers and margin apart.
    fn rate(&self) -> f64 {
        self.control.pacing_rate / self.control.params.wire_bits / self.control.bandwidth()
    }

    fn lose(&mut self, packets: u64) {
        self.control.sent_below = self.acked() + self.in_flight as u32;
        self.in_flight -= packets;
        let (now, in_flight) = (self.now, PACKET * self.in_flight);
        self.control.on_loss(&Loss { now, bytes: PACKET * packets, sent_at: now, in_flight });
    }

    fn time_out(&mut self, sent_at: Time) {
        self.control.on_timeout(&timeout(self.now, sent_at, PACKET * self.in_flight));
    }
}

#[test]
fn every_parameter_that_is_out_of_range_is_named() {
    let cases: [(&str, Spoil<BbrConfig>); 5] = [
        ("startup_gain", |c| c.startup_gain = 0.5),
        ("drain_gain", |c| c.drain_gain = 0.0),
        ("cwnd_gain", |c| c.cwnd_gain = f64::NAN),
        ("pacing_margin", |c| c.pacing_margin = 0.9),
        ("rtprop_window", |c| c.rtprop_window = Duration::ZERO),
    ];
    refused(BbrConfig::check, &cases);
    assert_eq!(BbrConfig::default().check(), Ok(()));
    assert_eq!(artifact().check(), Ok(()));
}

#[test]
fn the_first_rate_is_the_first_window_over_the_base_round_trip_times_the_gain() {
    let rate = |start: &Start<'_>| Flow::new(&BbrConfig::default(), start).control.pacing_rate * 1e-9;
    near(rate(&start()), 100.0 * 2.0 / core::f64::consts::LN_2 * 0.99 * 4160.0 / 4096.0, 0.01);
    near(rate(&start_with(Bytes::new(40_960))) / rate(&start()), 40_960.0 / 175_344.0, 1e-6);
}

#[test]
fn a_sample_is_what_was_delivered_over_the_longer_of_sending_and_acknowledging() {
    let sample = |send_us: u64, ack_us: u64| {
        let mut flow = Flow::v1();
        flow.delivered = Bytes::new(1_000_000);
        flow.now += Duration::from_ms(1);
        let mut ack = flow.newest();
        let record = ack.at_send.as_mut().expect("given");
        record.delivered = Bytes::new(900_000);
        record.first_sent_at = Time::from_ps(ack.sent_at.as_ps() - Duration::from_us(send_us).as_ps());
        record.delivered_at = Time::from_ps(ack.now.as_ps() - Duration::from_us(ack_us).as_ps());
        flow.control.on_ack(&ack);
        flow.control.on_ack(&ack);
        flow.control.model.bandwidth.get()
    };
    near(sample(10, 20), 100_000.0 / 20e-6, 1.0);
    near(sample(50, 20), 100_000.0 / 50e-6, 1.0);
}

#[test]
fn an_interval_shorter_than_the_smallest_round_trip_is_no_sample() {
    let mut flow = Flow::v1();
    flow.rounds(2);
    let before = flow.control.model.bandwidth.clone();
    let mut ack = flow.newest();
    let record = ack.at_send.as_mut().expect("given");
    (record.first_sent_at, record.delivered_at) = (ack.sent_at, ack.sent_at + Duration::from_us(1));
    record.delivered = Bytes::ZERO;
    flow.control.on_ack(&ack);
    assert_eq!(flow.control.model.bandwidth, before);
}

#[test]
fn a_round_ends_with_the_ack_of_a_packet_sent_after_it_began() {
    let mut flow = Flow::v1();
    let mut starts = Vec::new();
    for i in 0..80 {
        flow.ack();
        if flow.control.model.round_start {
            starts.push(i);
        }
    }
    assert_eq!(starts, [0, 20, 40, 60]);
}

#[test]
fn samples_limited_by_the_sender_count_only_if_they_are_larger() {
    let mut flow = Flow::v1();
    flow.rounds(3);
    let before = flow.bdp();
    (flow.app_limited, flow.packets) = (true, 10);
    flow.rounds(30);
    near(flow.bdp(), before, 1e-9);
    flow.packets = 30;
    flow.rounds(2);
    near(flow.bdp(), 30.0, 0.01);
}

#[test]
fn the_pipe_is_full_after_three_rounds_without_a_quarter_more() {
    let (mut model, mut pipe) = (Model::new(MinRtt::NONE), FullPipe::default());
    let mut filled_after = |pipe: &mut FullPipe, rates: &[f64]| {
        for (round, rate) in rates.iter().enumerate() {
            model.bandwidth = filters::MaxBandwidth::default();
            model.bandwidth.update(1, *rate);
            model.round_start = true;
            pipe.check(&model);
            model.round_start = false;
            pipe.check(&model);
            if pipe.is_filled() {
                return Some(round + 1);
            }
        }
        None
    };
    assert_eq!(filled_after(&mut pipe, &[10.0, 12.5, 15.0, 15.5, 16.0, 19.0, 19.9]), None);
    assert_eq!(filled_after(&mut pipe, &[20.0, 24.0, 24.9, 24.0]), Some(4), "20 was a quarter more than 16");
    assert_eq!(filled_after(&mut pipe, &[1000.0]), Some(1), "for ever");
}

#[test]
fn a_full_pipe_ends_startup() {
    let mut flow = Flow::v1();
    flow.in_flight = 60;
    flow.rounds(12);
    assert_eq!(flow.control.state, BbrState::Drain);
    near(flow.rate(), core::f64::consts::LN_2 / 2.0, 1e-9);
}

#[test]
fn rounds_limited_by_the_sender_do_not_end_startup() {
    let mut flow = Flow::v1();
    flow.rounds(2);
    flow.app_limited = true;
    flow.rounds(20);
    assert_eq!(flow.control.state, BbrState::Startup);
}

#[test]
fn the_rate_never_falls_in_startup() {
    let mut flow = Flow::v1();
    let before = flow.control.pacing_rate;
    flow.rounds(3);
    near(flow.control.pacing_rate, before, 0.0);
    assert!(flow.control.bandwidth() * 8.0 < 0.6e11);
}

#[test]
fn the_window_grows_by_what_arrives_to_the_gain_times_the_bdp() {
    let mut flow = Flow::new(&BbrConfig::default(), &start_with(Bytes::new(40_960)));
    flow.ack();
    near(flow.cwnd(), 11.0, 1e-9);
    flow.rounds(3);
    assert!(flow.cwnd() > 57.0 && flow.cwnd() < 63.0, "2.885 x 20 and 3 packets, not {}", flow.cwnd());
}

#[test]
fn drain_lasts_until_no_more_than_the_bdp_is_in_flight() {
    let mut flow = Flow::v1();
    flow.in_flight = 50;
    flow.rounds(12);
    assert_eq!(flow.control.state, BbrState::Drain);
    flow.in_flight = 24;
    flow.ack();
    assert_eq!(flow.control.state, BbrState::Drain, "20 and 3 packets of head-room");
    flow.in_flight = 23;
    flow.ack();
    assert!(matches!(flow.control.state, BbrState::ProbeBw(_)));
}

#[test]
fn in_probe_bw_the_window_is_twice_the_bdp_and_the_rate_that_of_the_path() {
    let mut flow = at_phase(4);
    flow.rounds(1);
    near(flow.cwnd(), 2.0 * 20.0 + 3.0, 0.01);
    near(flow.rate(), 1.0, 1e-9);
    let wire = 20.0 * 4160.0 * 8.0 / flow.rtt.as_secs_f64();
    near(flow.control.pacing_rate / wire, 0.99, 1e-3);
}

#[test]
fn the_first_phase_is_any_but_that_of_three_quarters_and_the_artifact_s_is_the_first() {
    let first = |config: &BbrConfig, flow| {
        let mut flow = Flow::new(config, &Start { flow: FlowId(flow), ..start() });
        flow.fill();
        flow.phase()
    };
    let drawn: BTreeSet<u8> = (0..200).map(|flow| first(&BbrConfig::default(), flow)).collect();
    assert_eq!(drawn, BTreeSet::from([0, 2, 3, 4, 5, 6, 7]));
    assert!((0..20).all(|flow| first(&artifact(), flow) == 0));
}

/// The phases of some round trips and the number of ACKs in each.
fn phases(flow: &mut Flow, rounds: u64) -> Vec<(u8, u64)> {
    let mut phases: Vec<(u8, u64)> = Vec::new();
    for _ in 0..rounds * flow.packets {
        flow.ack();
        match phases.last_mut() {
            Some((phase, acks)) if *phase == flow.phase() => *acks += 1,
            _ => phases.push((flow.phase(), 1)),
        }
    }
    phases
}

#[test]
fn phases_follow_each_other_after_a_round_trip_each() {
    let config = BbrConfig { phase_end: PhaseEnd::Time, ..BbrConfig::default() };
    let phases = phases(&mut Flow::steady(&config), 30);
    assert!(phases.windows(2).all(|pair| pair[1].0 == (pair[0].0 + 1) % 8), "{phases:?}");
    assert!(phases[1..phases.len() - 1].iter().all(|(_, acks)| *acks == 21), "{phases:?}");
    near(GAINS.iter().sum::<f64>(), 8.0, 0.0);
}

/// A flow whose phase has just become this one.
fn at_phase(phase: u8) -> Flow {
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.in_flight = 60;
    while flow.phase() != phase {
        flow.ack();
    }
    flow
}

#[test]
fn the_phase_of_five_quarters_waits_for_so_much_in_flight_or_a_loss() {
    let mut flow = at_phase(0);
    flow.in_flight = 20;
    flow.rounds(5);
    assert_eq!(flow.phase(), 0);
    flow.in_flight = 27;
    flow.ack();
    assert_eq!(flow.phase(), 1, "1.25 x 20 and 3 packets, before the ACK");
    let mut flow = at_phase(0);
    flow.in_flight = 20;
    flow.rounds(5);
    flow.lose(1);
    flow.ack();
    assert_eq!(flow.phase(), 1);
}

#[test]
fn the_phase_of_three_quarters_ends_early_when_the_queue_is_gone() {
    let mut flow = at_phase(1);
    flow.ack();
    assert_eq!(flow.phase(), 1);
    flow.in_flight = 22;
    flow.ack();
    assert_eq!(flow.phase(), 2);
    let mut flow = at_phase(1);
    let phases = phases(&mut flow, 3);
    assert_eq!(phases[0], (1, 20), "a round trip at most, of which one ACK has passed");
}

/// A steady flow whose smallest round trip has just expired.
fn expired(config: &BbrConfig) -> Flow {
    let mut flow = Flow::steady(config);
    flow.now += config.rtprop_window + Duration::from_us(1);
    flow.rtt += Duration::from_us(1);
    flow
}

/// Shorter times, the same rules.
fn short() -> BbrConfig {
    BbrConfig {
        rtprop_window: Duration::from_ms(10),
        probe_rtt: Duration::from_us(200),
        ..BbrConfig::default()
    }
}

#[test]
fn probe_rtt_begins_when_the_smallest_round_trip_was_not_seen_for_its_window() {
    let mut flow = expired(&BbrConfig::default());
    let before = flow.cwnd();
    flow.ack();
    assert!(matches!(flow.control.state, BbrState::ProbeRtt(_)));
    near(flow.cwnd(), 4.0, 0.0);
    near(flow.control.prior_cwnd / MSS, before, 1e-9);
    let mut flow = Flow::steady(&BbrConfig::default());
    flow.now += Duration::from_ms(9_000);
    flow.ack();
    assert!(matches!(flow.control.state, BbrState::ProbeBw(_)));
}

#[test]
fn a_round_trip_as_short_as_the_smallest_puts_probe_rtt_off() {
    let mut flow = Flow::steady(&short());
    for _ in 0..30 {
        flow.now += Duration::from_ms(9);
        flow.ack();
    }
    assert!(matches!(flow.control.state, BbrState::ProbeBw(_)));
}

#[test]
fn probe_rtt_lasts_its_time_from_four_packets_in_flight_and_restores_the_window() {
    let mut flow = expired(&short());
    let before = flow.cwnd();
    flow.ack();
    flow.rounds(40);
    assert!(matches!(flow.control.state, BbrState::ProbeRtt(_)), "20 packets are in flight");
    (flow.in_flight, flow.packets) = (4, 4);
    let began = flow.now;
    while matches!(flow.control.state, BbrState::ProbeRtt(_)) {
        flow.ack();
    }
    let lasted = flow.now.since(began);
    assert!(lasted > Duration::from_us(200) && lasted < Duration::from_us(220), "{lasted}");
    near(flow.cwnd(), before, 1.0);
    assert_eq!(flow.control.model.rtprop.seen_at, flow.now);
}

#[test]
fn probe_rtt_lasts_a_round_trip_at_least() {
    let mut flow = expired(&BbrConfig { probe_rtt: Duration::ZERO, ..short() });
    (flow.in_flight, flow.packets) = (4, 4);
    flow.ack();
    let began = flow.now;
    while matches!(flow.control.state, BbrState::ProbeRtt(_)) {
        flow.ack();
    }
    assert!(flow.now.since(began) >= flow.rtt, "{}", flow.now.since(began));
}

#[test]
fn the_few_packets_of_probe_rtt_do_not_lower_the_bandwidth() {
    let mut flow = expired(&short());
    let before = flow.control.model.bandwidth.get();
    (flow.in_flight, flow.packets) = (4, 4);
    // The first round's ACKs are of packets sent before; more rounds than the filter has.
    for _ in 0..30 {
        flow.rounds(1);
        if !matches!(flow.control.state, BbrState::ProbeRtt(_)) {
            break;
        }
    }
    near(flow.control.model.bandwidth.get(), before, 1e-6 * before);
}

#[test]
fn probe_rtt_before_the_pipe_was_full_leads_back_to_startup() {
    let mut flow = Flow::new(&short(), &start());
    flow.rounds(2);
    flow.now += Duration::from_ms(11);
    flow.rtt += Duration::from_us(1);
    (flow.in_flight, flow.packets) = (4, 4);
    flow.ack();
    assert!(matches!(flow.control.state, BbrState::ProbeRtt(_)));
    while matches!(flow.control.state, BbrState::ProbeRtt(_)) {
        flow.ack();
    }
    assert_eq!(flow.control.state, BbrState::Startup);
}

#[test]
fn a_round_trip_that_is_given_is_never_looked_for() {
    let config = BbrConfig { rtprop: Rtprop::Given, ..short() };
    let mut flow = expired(&config);
    flow.rounds(3);
    assert!(matches!(flow.control.state, BbrState::ProbeBw(_)));
    assert_eq!(flow.control.model.rtprop.get(), Some(path().base_rtt));
}

#[test]
fn in_the_artifact_every_time_out_collapses_the_window_and_nothing_restores_it() {
    let mut flow = Flow::steady(&artifact());
    let sent_at = flow.now;
    flow.now += Duration::from_us(500);
    flow.time_out(sent_at);
    flow.ack();
    near(flow.cwnd(), 4.0, 0.0);
    flow.time_out(sent_at);
    near(flow.cwnd(), 1.0, 0.0);
    for _ in 0..10 {
        flow.ack();
    }
    near(flow.cwnd(), 13.0, 0.0);
}

#[test]
fn new_data_after_a_pause_leaves_at_the_rate_of_the_path_and_is_not_probed() {
    let mut flow = at_phase(0);
    near(flow.rate(), 1.25, 1e-9);
    let sent = |flow: &Flow| Sent { now: flow.now, bytes: PACKET, in_flight: PACKET, retransmission: false };
    flow.control.on_sent(&sent(&flow));
    near(flow.rate(), 1.25, 1e-9);
    flow.app_limited = true;
    flow.ack();
    flow.now += Duration::from_ms(11_000);
    flow.control.on_sent(&sent(&flow));
    near(flow.rate(), 1.0, 1e-9);
    flow.rtt += Duration::from_us(1);
    flow.ack();
    assert!(matches!(flow.control.state, BbrState::ProbeBw(_)));
}

#[test]
fn the_artifact_s_window_stays_below_the_bdp_of_the_path() {
    let mut flow = Flow::new(&artifact(), &start());
    flow.packets = 42;
    flow.rounds(30);
    assert!(flow.control.cwnd <= path().bdp.as_f64());
}

#[test]
fn the_artifact_holds_the_bandwidth_for_three_gigabits_at_least() {
    let slow = Start { path: &wan_path(), initial_cwnd: wan_path().bdp, ..start() };
    let mut flow = Flow::new(&artifact(), &slow);
    flow.rounds(3);
    assert!(flow.control.model.bandwidth.get() < 1e8);
    near(flow.control.bandwidth() * 8.0, 3e9, 1.0);
}

#[test]
fn its_state_is_held_beside_the_sender() {
    assert!(size_of::<Control>() <= 16);
    assert!(size_of::<Bbr>() <= 320, "{} B", size_of::<Bbr>());
}
