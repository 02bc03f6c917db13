use super::*;
use crate::congestion::SendRecord;
use crate::congestion::testing::{AckStream, near, path, refused, start, start_with};
use alloc::vec::Vec;
use farspan_units::{Purpose, Random, Telemetry, Time};

const BASE: f64 = 14_027.52;

/// As the published code ran it.
pub(crate) fn artifact() -> OscarConfig {
    OscarConfig {
        target: Target::Queue(Bytes::new(75_000)),
        period: BatchPeriod::Time(Duration::from_us(5)),
        dead_band: Duration::from_ns(500),
        batch_start: BatchStart::First,
        longest_batch: Some(3.0),
        ack_header: Bytes::ZERO,
        ..OscarConfig::default()
    }
}

fn params(config: &OscarConfig) -> OscarParams {
    OscarParams::new(config, &path())
}

fn oscar(config: &OscarConfig, start: &Start<'_>) -> Oscar {
    Oscar::new(&Arc::new(OscarParams::new(config, start.path)), start)
}

/// A batch with this delay, slope, and parts of the BDP in flight and of the line rate sent.
fn estimate(delay: f64, gradient: f64, in_flight: f64, rate: f64) -> Estimate {
    let (bdp, mtu) = (BASE * 12.5, 4160.0);
    Estimate {
        delay,
        gradient,
        in_flight: in_flight * bdp,
        packets: rate * 12.5 * 7000.0 / mtu,
        span: 7000.0,
    }
}

#[test]
fn a_parameter_out_of_range_is_named() {
    refused(
        OscarConfig::check,
        &[
            ("target", |c| c.target = Target::BaseRtts(0.9)),
            ("period", |c| c.period = BatchPeriod::BaseRtts(0.0)),
            ("period", |c| c.period = BatchPeriod::Time(Duration::ZERO)),
            ("hyper_increase", |c| c.hyper_increase = -0.1),
            ("additive_increase", |c| c.additive_increase = f64::NAN),
            ("longest_batch", |c| c.longest_batch = Some(0.5)),
            ("header", |c| c.header = Bytes::new(257)),
            ("ack_header", |c| c.ack_header = Bytes::new(257)),
        ],
    );
    assert_eq!([OscarConfig::default(), artifact()].map(|config| config.check()), [Ok(()), Ok(())]);
}

#[test]
fn targets_and_periods_follow_from_the_base_round_trip_or_stand_for_themselves() {
    let paper = params(&OscarConfig::default());
    near(paper.target, 1.5 * BASE, 1e-6);
    near(paper.batches.period, 0.5 * BASE, 1e-6);
    let artifact = params(&artifact());
    near(artifact.target, BASE + 6000.0, 1e-6);
    near(artifact.batches.period, 5000.0, 0.0);
}

#[test]
fn without_a_queue_the_share_grows_by_the_hyper_increase_alone() {
    let params = params(&OscarConfig::default());
    near(params.next_share(0.3, &estimate(BASE, 0.0, 9.0, 9.0)), 0.31, 1e-12);
    near(params.next_share(0.3, &estimate(BASE + 1000.0, 0.0, 9.0, 9.0)), 0.31, 1e-12);
    assert!(params.next_share(0.3, &estimate(BASE + 1001.0, 0.0, 9.0, 9.0)) > 1.0);
}

#[test]
fn below_the_target_the_larger_share_counts_and_at_it_the_smaller() {
    let params = params(&OscarConfig::default());
    // The share by the window is 0.2 / 1.25, that by the rate 0.3.
    near(params.next_share(0.0, &estimate(1.25 * BASE, 0.0, 0.2, 0.3)), 0.301, 1e-9);
    near(params.next_share(0.0, &estimate(1.25 * BASE, 0.0, 0.5, 0.3)), 0.401, 1e-9);
    near(params.next_share(0.0, &estimate(1.5 * BASE, 0.0, 0.3, 0.3)), 0.201, 1e-9);
    near(params.next_share(0.0, &estimate(1.5 * BASE, 0.0, 0.9, 0.3)), 0.301, 1e-9);
}

#[test]
fn the_share_by_rate_is_what_the_slope_leaves_of_it() {
    let params = params(&OscarConfig::default());
    for (gradient, expected) in [(9.0, 0.1), (1.0, 0.5), (-0.5, 2.0), (-0.9, 10.0), (-0.99, 10.0)] {
        near(params.next_share(0.0, &estimate(1.1 * BASE, gradient, 0.0, 1.0)), expected + 0.001, 1e-9);
    }
}

#[test]
fn ten_full_flows_become_a_tenth_in_one_step() {
    let params = params(&OscarConfig::default());
    near(params.next_share(1.0, &estimate(10.0 * BASE, 0.0, 1.0, 1.0)), 0.1 + 0.001, 1e-9);
    near(params.next_share(1.0, &estimate(2.0 * BASE, 9.0, 1.0, 1.0)), 0.1 + 0.001, 1e-9);
}

#[test]
fn the_dead_band_keeps_a_flow_from_accelerating_just_below_the_target() {
    let (paper, artifact) =
        (params(&OscarConfig { dead_band: Duration::ZERO, ..artifact() }), params(&artifact()));
    let at = |below: f64| estimate(BASE + 6000.0 - below, 0.0, 0.1, 0.3);
    near(paper.next_share(0.0, &at(400.0)), 0.301, 1e-9);
    assert!(artifact.next_share(0.0, &at(400.0)) < 0.1);
    near(artifact.next_share(0.0, &at(600.0)), 0.301, 1e-9);
}

#[test]
fn of_a_batch_that_is_too_long_only_the_delay_is_believed() {
    let params = params(&artifact());
    let long = Estimate { span: 15_001.0, ..estimate(1.2 * BASE, -0.9, 0.6, 0.3) };
    near(params.next_share(0.0, &long), 0.501, 1e-9);
    assert!(params.next_share(0.0, &Estimate { span: 15_000.0, ..long }) > 1.0);
}

#[test]
fn window_and_rate_are_the_same_part_of_their_targets_and_the_window_a_bdp_at_most() {
    let mut control = oscar(&OscarConfig::default(), &start());
    assert_eq!(control.decision().cwnd, start().initial_cwnd, "until the first estimate");
    control.on_estimate(&estimate(3.0 * BASE, 0.0, 0.9, 1.0));
    let Decision { cwnd, pacing_rate, .. } = control.decision();
    near(pacing_rate.map_or(0.0, |rate| rate.as_bps() as f64 * 1e-9), 30.1, 1e-3);
    near(cwnd.as_f64() * 4160.0 / 4096.0, 0.301 * 1.5 * BASE * 12.5, 2.0);
    control.on_estimate(&estimate(1.1 * BASE, 0.0, 1.1, 1.0));
    near(control.decision().cwnd.as_f64() * 4160.0 / 4096.0, BASE * 12.5, 2.0);
}

#[test]
fn the_share_stays_between_a_thousandth_and_one_and_the_window_at_a_packet() {
    let mut control = oscar(&OscarConfig { additive_increase: 0.0, ..OscarConfig::default() }, &start());
    control.on_estimate(&estimate(1e9, 0.0, 0.1, 0.1));
    near(control.share, 0.001, 0.0);
    assert_eq!(control.decision().cwnd, path().mss);
    control.on_estimate(&estimate(1.1 * BASE, -0.9, 1.0, 1.0));
    near(control.share, 1.0, 0.0);
}

#[test]
fn a_small_first_window_begins_at_its_own_rate() {
    // Payload, which takes 4,160 bytes of the wire for 4,096.
    near(oscar(&OscarConfig::default(), &start_with(Bytes::new(17_534))).share, 0.1 * 4160.0 / 4096.0, 1e-4);
    near(oscar(&OscarConfig::default(), &start_with(Bytes::new(1 << 20))).share, 1.0, 0.0);
}

#[test]
fn an_ack_without_a_send_record_says_nothing() {
    let mut control = oscar(&OscarConfig::default(), &start());
    let mut acks = AckStream::new(&start());
    let before = control.clone();
    control.on_ack(&acks.next(true));
    assert_eq!(control, before);
}

#[test]
fn a_batch_of_acks_moves_the_flow_once() {
    let mut control = oscar(&OscarConfig::default(), &start_with(Bytes::new(17_534)));
    let mut acks = AckStream::new(&start());
    let record = SendRecord { in_flight: path().bdp, ..SendRecord::default() };
    let mut shares = Vec::new();
    for _ in 0..200 {
        control.on_ack(&Ack { at_send: Some(record), ..acks.next(false) });
        shares.push(control.share);
    }
    shares.dedup();
    // One packet each 332.8 ns, batches of 7,014 ns: every 22nd ACK after the first.
    assert_eq!(shares.len(), 1 + 199 / 22);
}

#[test]
fn one_way_a_queue_on_the_way_back_does_not_count() {
    let config = OscarConfig { signal: Signal::OneWay, ..OscarConfig::default() };
    let control = oscar(&config, &start());
    let way_back = control.params.way_back;
    // The base round trip is 14,027.52 ns; the way there alone has six transmissions of 4,096 B payload, 327.68 ns each.
    near(way_back.as_ps() as f64, (14_027_520.0 - 6.0 * 327_680.0) / 2.0, 1.0);
    let base = path().base_rtt;
    let late = |there: u64, back: u64| {
        let sent_at = Time::ZERO + base;
        let received_at = Some(sent_at + (base - way_back) + Duration::from_us(there));
        let mut telemetry = Telemetry::default();
        telemetry.received_at = received_at;
        let telemetry = Some(&telemetry);
        let rtt = base + Duration::from_us(there + back);
        control.delay(&Ack { sent_at, telemetry, rtt, ..AckStream::new(&start()).next(false) })
    };
    assert_eq!(late(3, 0), base + Duration::from_us(3));
    assert_eq!(late(3, 50), base + Duration::from_us(3));
    let by_rtt = oscar(&OscarConfig::default(), &start());
    let mut telemetry = Telemetry::default();
    telemetry.received_at = Some(Time::ZERO);
    let ack = Ack { telemetry: Some(&telemetry), rtt: base * 2, ..AckStream::new(&start()).next(false) };
    assert_eq!(by_rtt.delay(&ack), base * 2);
}

#[test]
fn a_queue_of_a_bdp_halves_a_flow_that_fills_the_link() {
    let mut control = oscar(&OscarConfig::default(), &start());
    let mut acks = AckStream::new(&start());
    acks.delay = path().base_rtt;
    let record = SendRecord { in_flight: path().bdp, ..SendRecord::default() };
    for _ in 0..23 {
        control.on_ack(&Ack { at_send: Some(record), ..acks.next(false) });
    }
    // What is in flight is counted with its headers.
    near(control.share, 0.5 * 4160.0 / 4096.0 + 0.001, 1e-3);
}

#[test]
fn the_linear_step_keeps_shares_and_the_additive_one_brings_them_together() {
    let jain = |shares: &[f64]| {
        let sum: f64 = shares.iter().sum();
        sum * sum / (shares.len() as f64 * shares.iter().map(|share| share * share).sum::<f64>())
    };
    for state in 0..2000 {
        let mut random = Random::new(1, Purpose::Test, state);
        let shares: Vec<f64> = (0..2 + random.below(20)).map(|_| 0.001 + random.uniform()).collect();
        // The flows see one bottleneck, and use their shares alike.
        let (delay, gradient) = (BASE * (1.08 + 2.0 * random.uniform()), 4.0 * random.uniform() - 0.9);
        let (of_window, of_rate) = (0.1 + random.uniform(), 0.1 + random.uniform());
        let step = |additive_increase| {
            let params = params(&OscarConfig { additive_increase, ..OscarConfig::default() });
            let step = |share: &f64| {
                params.next_share(*share, &estimate(delay, gradient, share * of_window, share * of_rate))
            };
            jain(&shares.iter().map(step).collect::<Vec<_>>())
        };
        near(step(0.0), jain(&shares), 1e-9);
        assert!(step(0.001) >= jain(&shares) - 1e-12);
    }
}

#[test]
fn what_was_in_flight_before_a_nack_lowered_the_window_does_not_bring_it_back() {
    let ten = Bytes::new(10 * 4096);
    let mut control = oscar(&OscarConfig::default(), &start());
    let mut acks = AckStream::new(&start());
    acks.delay = Duration::from_ns(7014);
    // 1.5 base round trips, the target, by packets that left with a bandwidth-delay product in flight.
    let mut acked = |control: &mut Oscar, packets: u32| {
        for _ in 0..packets {
            let at_send = Some(SendRecord { in_flight: path().bdp, ..SendRecord::default() });
            control.on_ack(&Ack { at_send, ..acks.next(false) });
        }
        control.decision().cwnd
    };
    assert!(acked(&mut control, 35) > ten * 4, "in the middle of a batch");
    assert_eq!(control.lower(ten).cwnd, ten);
    let later = acked(&mut control, 50);
    assert!(later <= ten + ten / 10, "{later}: no more than the additive increase of two batches");
}
