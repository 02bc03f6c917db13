//! Tests of NSCC.

use super::*;
use crate::congestion::NackCause;
use crate::congestion::testing::{AckStream, MSS, near, path, refused, start, start_with, timeout};

/// The base round trip of the path, in ps.
const BASE: f64 = 14_027_520.0;
/// Its bandwidth-delay product over that of the reference network.
const A: f64 = 175_344.0 / 150_000.0;

fn nscc(config: &NsccConfig, start: &Start<'_>) -> Nscc {
    Nscc::new(&Arc::new(NsccParams::new(config, start.path)), start)
}

/// Twenty packets, past the first period and the first step.
fn twenty() -> (Nscc, AckStream) {
    let mut control = nscc(&NsccConfig::default(), &start());
    control.cwnd = 20.0 * MSS;
    let mut acks = AckStream::new(&start());
    acks.now = Time::ZERO + Duration::from_us(100);
    control.round_at = acks.now;
    control.period_ends = Some(acks.now + Duration::from_us(50));
    (control, acks)
}

/// The ACK of a packet that waited so many targets.
fn waited(acks: &mut AckStream, targets: f64, ecn_ce: bool) -> Ack<'static> {
    let rtt = Duration::from_ps((BASE * (1.0 + targets)) as u64);
    Ack { rtt, ..acks.next(ecn_ce) }
}

fn nack(now: Time, in_flight: u64) -> Nack {
    Nack {
        now,
        bytes: Bytes::new(4096),
        sent_at: Time::ZERO,
        in_flight: Bytes::new(in_flight),
        cause: NackCause::Trimmed,
    }
}

#[test]
fn a_parameter_out_of_range_is_named() {
    refused(
        NsccConfig::check,
        &[
            ("target", |c| c.target = Some(0.0)),
            ("proportional_increase", |c| c.proportional_increase = -1.0),
            ("fair_increase", |c| c.fair_increase = f64::NAN),
            ("eta", |c| c.eta = -0.1),
            ("fast_increase", |c| c.fast_increase = 11.0),
            ("gamma", |c| c.gamma = 1.1),
            ("largest_cut", |c| c.largest_cut = 1.0),
            ("delay_gain", |c| c.delay_gain = 0.0),
            ("quick_adapt_gate", |c| c.quick_adapt_gate = 17),
        ],
    );
    assert_eq!(NsccConfig::default().check(), Ok(()));
}

#[test]
fn gains_grow_with_the_network() {
    let params = NsccParams::new(&NsccConfig::default(), &path());
    near(params.fair, 5.0 * MSS * A, 1.0);
    near(params.eta, 0.15 * MSS * A, 0.1);
    near(params.fast, 0.25 * A, 1e-4);
    // Over a window's worth of ACKs without a queue: 4 packets x a x b.
    near(params.alpha * params.target, 4.0 * MSS * A * BASE / 12e6, 1.0);
}

#[test]
fn the_target_is_shorter_where_ports_trim() {
    let target = |trims| NsccParams::new(&NsccConfig::default(), &Path { trims, ..path() }).target;
    near(target(true), 0.75 * BASE, 1.0);
    near(target(false), BASE, 1.0);
    let own = NsccConfig { target: Some(0.5), ..NsccConfig::default() };
    near(NsccParams::new(&own, &path()).target, 0.5 * BASE, 1.0);
}

#[test]
fn the_base_round_trip_is_the_network_s_until_a_shorter_one_is_seen() {
    let near_by = Path { base_rtt: path().base_rtt / 2, ..path() };
    let accurate = NsccConfig { accurate_base_rtt: true, ..NsccConfig::default() };
    let params = NsccParams::new(&accurate, &near_by);
    near(params.base_rtt, BASE / 2.0, 1.0);
    near(params.bdp, 87_672.0, 0.0);
    near(params.target, BASE, 1.0);
    near(params.fair, 5.0 * MSS * A, 1.0);
    let start = Start { path: &near_by, ..start() };
    let mut control = nscc(&NsccConfig::default(), &start);
    near(control.base_rtt, BASE, 1.0);
    near(control.largest(), 1.5 * 175_344.0, 1.0);
    control.on_ack(&AckStream::new(&start).next(false));
    near(control.base_rtt, BASE / 2.0, 1.0);
    near(control.largest(), 0.75 * 175_344.0, 1.0);
    assert!(control.cwnd <= control.largest());
    let now = Time::ZERO + Duration::from_us(100);
    let sent_at = now - Duration::from_us(6);
    control.on_nack(&Nack { sent_at, ..nack(now, 0) });
    near(control.base_rtt, 6e6, 0.0);
}

#[test]
fn without_a_mark_below_the_target_the_window_gains_in_proportion_to_what_is_left() {
    let (mut control, mut acks) = twenty();
    control.on_ack(&waited(&mut acks, 0.5, false));
    near(control.saved, control.params.alpha * MSS * 0.5 * BASE, 1e3);
    near(control.cwnd, 20.0 * MSS, 0.0);
}

#[test]
fn the_target_itself_is_not_below_the_target() {
    for (less, expected) in [(0, 5.0 * MSS * A * MSS), (1, 0.0)] {
        let (mut control, mut acks) = twenty();
        let rtt = Duration::from_ps(2 * 14_027_520 - less);
        control.on_ack(&Ack { rtt, ..acks.next(false) });
        // A picosecond below the target the proportional gain is nearly nothing.
        near(control.saved, expected, 1e3);
    }
}

#[test]
fn without_a_mark_above_the_target_the_window_gains_fairly() {
    let (mut control, mut acks) = twenty();
    control.on_ack(&waited(&mut acks, 2.0, false));
    near(control.saved, 5.0 * MSS * A * MSS, 1e3);
    near(control.delay, 0.0125 * 0.25 * BASE, 1.0);
}

#[test]
fn a_mark_below_the_target_leaves_the_window_alone() {
    let (mut control, mut acks) = twenty();
    control.delay = 10.0 * BASE;
    control.on_ack(&waited(&mut acks, 0.99, true));
    near(control.cwnd, 20.0 * MSS, 0.0);
    near(control.saved, 0.0, 0.0);
}

#[test]
fn a_mark_above_the_target_cuts_by_the_average_delay_once_a_round_trip_and_by_half_at_most() {
    let (mut control, mut acks) = twenty();
    control.delay = 2.0 * BASE;
    control.on_ack(&waited(&mut acks, 2.0, true));
    // The average is twice the target: 1 - 0.8 x 1/2.
    near(control.cwnd, 0.6 * 20.0 * MSS, 1.0);
    control.on_ack(&waited(&mut acks, 2.0, true));
    near(control.cwnd, 0.6 * 20.0 * MSS, 1.0);
    acks.now += path().base_rtt;
    control.delay = 100.0 * BASE;
    control.period_ends = Some(Time::MAX);
    control.on_ack(&waited(&mut acks, 2.0, true));
    near(control.cwnd, 0.3 * 20.0 * MSS + 0.15 * MSS * A, 1.0);
}

#[test]
fn an_average_at_the_target_does_not_cut() {
    let (mut control, mut acks) = twenty();
    control.delay = control.params.target;
    control.on_ack(&Ack { rtt: path().base_rtt * 2, ..acks.next(true) });
    near(control.cwnd, 20.0 * MSS, 0.0);
}

#[test]
fn increases_are_taken_every_eight_packets() {
    let (mut control, mut acks) = twenty();
    for _ in 0..7 {
        control.on_ack(&waited(&mut acks, 0.5, false));
        near(control.cwnd, 20.0 * MSS, 0.0);
    }
    let saved = control.saved * 8.0 / 7.0;
    control.on_ack(&waited(&mut acks, 0.5, false));
    near(control.cwnd, 20.0 * MSS + saved / (20.0 * MSS), 1.0);
    near(control.saved, 0.0, 0.0);
}

#[test]
fn each_round_trip_takes_increases_and_adds_its_own() {
    let (mut control, mut acks) = twenty();
    acks.now += path().base_rtt;
    control.on_ack(&waited(&mut acks, 2.0, false));
    let fair = 5.0 * MSS * A * MSS / (20.0 * MSS);
    near(control.cwnd, 20.0 * MSS + fair + 0.15 * MSS * A, 1.0);
    let before = control.cwnd;
    control.on_ack(&waited(&mut acks, 2.0, false));
    near(control.cwnd, before, 0.0);
}

#[test]
fn a_window_of_acks_without_a_queue_makes_it_fast_until_one_has_a_queue() {
    let (mut control, mut acks) = twenty();
    control.round_at = Time::MAX;
    control.params = Arc::new(NsccParams { alpha: 0.0, ..NsccParams::clone(&control.params) });
    for _ in 0..20 {
        control.on_ack(&acks.next(false));
        near(control.cwnd, 20.0 * MSS, 0.0);
    }
    control.on_ack(&acks.next(false));
    near(control.cwnd, 20.0 * MSS + 0.25 * A * MSS, 0.1);
    assert_eq!(control.state(), Some("fast_increase"));
    let before = control.cwnd;
    control.on_ack(&Ack { rtt: path().base_rtt + Duration::from_us(1), ..acks.next(false) });
    near(control.cwnd, before, 0.0);
    assert_eq!((control.state(), control.unqueued), (Some("steady"), Bytes::ZERO));
}

#[test]
fn a_fast_increase_outlasts_its_own_growth_and_marks_below_the_target_but_not_above() {
    let (mut control, mut acks) = twenty();
    control.cwnd = MSS;
    control.on_ack(&acks.next(false));
    control.on_ack(&acks.next(false));
    assert_eq!(control.state(), Some("fast_increase"));
    control.cwnd = 40.0 * MSS;
    control.on_ack(&waited(&mut acks, 0.5, true));
    control.on_ack(&waited(&mut acks, 2.0, false));
    control.on_ack(&acks.next(false));
    near(control.cwnd, 40.0 * MSS + 0.25 * A * MSS, 0.1);
    control.on_ack(&waited(&mut acks, 2.0, true));
    assert_eq!((control.state(), control.unqueued), (Some("steady"), Bytes::ZERO));
}

#[test]
fn losses_take_their_bytes_and_a_nack_counts_as_a_round_trip_of_delay() {
    let (mut control, acks) = twenty();
    control.on_nack(&nack(acks.now, 0));
    near(control.cwnd, 19.0 * MSS, 0.0);
    near(control.delay, 0.0125 * BASE, 1.0);
    control.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
    near(control.cwnd, 18.0 * MSS, 0.0);
    let (now, sent_at, bytes, in_flight) = (acks.now, acks.now, Bytes::new(1 << 20), Bytes::ZERO);
    control.on_loss(&Loss { now, bytes, sent_at, in_flight });
    near(control.cwnd, MSS, 0.0);
}

#[test]
fn quick_adapt_takes_what_arrived_if_something_was_lost_and_little_arrived() {
    let (mut control, acks) = twenty();
    control.achieved = Bytes::new(3 * 4096);
    let ends = acks.now + Duration::from_us(50);
    control.on_nack(&nack(acks.now, 0));
    near(control.cwnd, 19.0 * MSS, 0.0);
    control.on_nack(&nack(ends, 5 * 4096));
    near(control.cwnd, 3.0 * MSS, 0.0);
    assert_eq!((control.state(), control.ignored), (Some("quick_adapt"), Bytes::new(6 * 4096)));
    // A window that is full of arrivals is not cut.
    let (mut full, acks) = twenty();
    full.achieved = Bytes::new(1 << 20);
    full.on_nack(&nack(acks.now + Duration::from_us(50), 0));
    near(full.cwnd, 19.0 * MSS, 0.0);
}

#[test]
fn quick_adapt_acts_once_a_period() {
    let (mut control, acks) = twenty();
    let ends = acks.now + Duration::from_us(50);
    control.on_nack(&nack(ends, 0));
    near(control.cwnd, MSS, 0.0);
    control.cwnd = 20.0 * MSS;
    let period = Duration::from_ps(2 * 14_027_520);
    control.on_nack(&nack(ends + period - Duration::from_ps(1), 0));
    near(control.cwnd, 19.0 * MSS, 0.0);
    control.on_nack(&nack(ends + period, 0));
    near(control.cwnd, MSS, 0.0);
}

#[test]
fn a_delay_above_four_targets_adapts_without_a_loss() {
    for (targets, adapts) in [(4.0, false), (4.1, true)] {
        let (mut control, mut acks) = twenty();
        acks.now += Duration::from_us(60);
        control.on_ack(&waited(&mut acks, targets, true));
        assert_eq!(control.cwnd == MSS, adapts, "{targets}");
    }
}

#[test]
fn after_quick_adapt_what_was_under_way_cuts_nothing() {
    let (mut control, mut acks) = twenty();
    acks.now += Duration::from_us(50);
    control.on_nack(&nack(acks.now, 2 * 4096));
    control.cwnd = 10.0 * MSS;
    control.delay = 4.0 * BASE;
    control.saved = 1e6;
    control.on_ack(&waited(&mut acks, 2.0, true));
    control.on_nack(&nack(acks.now, 0));
    assert_eq!((control.cwnd, control.saved, control.ignored), (10.0 * MSS, 0.0, Bytes::new(4096)));
    control.on_ack(&waited(&mut acks, 2.0, true));
    assert!(control.cwnd < 10.0 * MSS);
}

#[test]
fn a_trimmed_packet_is_remembered_until_quick_adapt_acts() {
    let (mut control, mut acks) = twenty();
    control.achieved = Bytes::new(1 << 20);
    control.on_nack(&nack(acks.now + Duration::from_us(50), 0));
    near(control.cwnd, 19.0 * MSS, 0.0);
    acks.now += Duration::from_us(100);
    control.on_ack(&waited(&mut acks, 0.5, false));
    near(control.cwnd, MSS, 0.0);
    assert!(!control.trimmed);
}

#[test]
fn losses_and_time_outs_do_not_adapt() {
    let (mut control, mut acks) = twenty();
    acks.now += Duration::from_us(50);
    control.round_at = acks.now;
    let (now, sent_at, bytes, in_flight) = (acks.now, acks.now, Bytes::new(4096), Bytes::ZERO);
    control.on_timeout(&timeout(now, sent_at, in_flight));
    control.on_loss(&Loss { now, bytes, sent_at, in_flight });
    near(control.cwnd, 18.0 * MSS, 0.0);
    control.on_ack(&waited(&mut acks, 0.5, true));
    near(control.cwnd, 18.0 * MSS, 0.0);
}

#[test]
fn switched_off_it_does_not_adapt() {
    let (mut control, acks) = twenty();
    let config = NsccConfig { quick_adapt: false, ..NsccConfig::default() };
    control.params = Arc::new(NsccParams::new(&config, &path()));
    control.on_nack(&nack(acks.now + Duration::from_us(50), 0));
    near(control.cwnd, 19.0 * MSS, 0.0);
}

#[test]
fn the_window_stays_between_one_packet_and_the_first_or_one_and_a_half_bdp() {
    near(nscc(&NsccConfig::default(), &start_with(Bytes::new(1 << 20))).largest(), 1_048_576.0, 0.0);
    let mut control = nscc(&NsccConfig::default(), &start_with(Bytes::new(40_960)));
    let mut acks = AckStream::new(&start());
    for _ in 0..1000 {
        control.on_ack(&acks.next(false));
    }
    near(control.cwnd, 1.5 * 175_344.0, 1.0);
    for _ in 0..100 {
        control.on_timeout(&timeout(acks.now, acks.now, Bytes::ZERO));
    }
    near(control.cwnd, MSS, 0.0);
}
