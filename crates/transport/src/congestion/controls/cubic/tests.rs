//! Tests of CUBIC, beside the formulas of RFC 9438.

use super::*;
use crate::congestion::Loss;
use crate::congestion::testing::{near, path, refused, start_with, timeout};
use farspan_units::Bytes;

/// A path of a round trip of 10 ms.
fn long_path() -> Path {
    let base_rtt = Duration::from_ms(10);
    Path { base_rtt, bdp: path().line_rate.bytes_in(base_rtt), ..path() }
}

/// A flow whose packets all take one round trip, in congestion avoidance.
struct Trip {
    control: Cubic,
    now: Time,
    rtt: Duration,
}

impl Trip {
    fn new(config: &CubicConfig, packets: u64) -> Self {
        let path = long_path();
        let start = Start { path: &path, ..start_with(Bytes::new(packets * 4096)) };
        let mut control = Cubic::new(&Arc::new(CubicParams::new(config, &path)), &start);
        control.window.end_slow_start();
        Self { control, now: Time::ZERO + Duration::from_secs_f64(1.0), rtt: Duration::from_ms(10) }
    }

    fn packets(&self) -> f64 {
        self.control.packets()
    }

    fn ack_with(&mut self, ecn_ce: bool, sent_at: Time) {
        // As many ACKs a round trip as packets are in the window.
        self.now += Duration::from_secs_f64(self.rtt.as_secs_f64() / self.packets());
        let cwnd = Bytes::new(self.control.window.get() as u64);
        let ack = Ack {
            now: self.now,
            bytes_acked: Bytes::new(4096),
            mapped: Bytes::ZERO,
            acked_packets: 1,
            ecn_ce,
            rtt: self.rtt,
            sent_at,
            in_flight: cwnd,
            delivered: Bytes::ZERO,
            acked_below: 0,
            sent_below: 0,
            has_losses: false,
            at_send: None,
            telemetry: None,
        };
        self.control.on_ack(&ack);
    }

    fn ack(&mut self) {
        self.ack_with(false, self.now);
    }

    fn stage(&self) -> Stage {
        match self.control.phase {
            Phase::Avoidance(stage) => stage,
            Phase::SlowStart(_) => panic!("slow start"),
        }
    }

    fn lose(&mut self) {
        let loss = Loss { now: self.now, bytes: Bytes::new(4096), sent_at: self.now, in_flight: Bytes::ZERO };
        self.control.on_loss(&loss);
    }
}

fn plain() -> CubicConfig {
    CubicConfig { friendly: false, hystart: HyStart::Off, ..CubicConfig::default() }
}

#[test]
fn from_a_loss_to_twice_k_the_window_is_the_cube_within_a_tenth_of_a_packet() {
    for packets in [50, 200, 800] {
        let mut trip = Trip::new(&plain(), packets);
        (0..10 * packets).for_each(|_| trip.ack());
        trip.lose();
        let w_max = trip.packets() / 0.7;
        let k = libm::cbrt(w_max * 0.3 / 0.4);
        trip.ack();
        let began = trip.now;
        let mut largest = 0.0_f64;
        while trip.now.since(began).as_secs_f64() < 2.0 * k {
            trip.ack();
            let t = trip.now.since(began).as_secs_f64();
            let cube = 0.4 * (t - k) * (t - k) * (t - k) + w_max;
            largest = largest.max((trip.packets() - cube).abs());
        }
        assert!(largest <= 0.1, "{packets}: {largest} packets off, K = {k} s");
    }
}

#[test]
fn the_friendly_window_grows_as_reno_of_the_same_mean_and_then_as_reno() {
    // A plateau that is far away in time: 10 packets take K = 2 s, in which Reno's 0.53 a round trip are many more.
    let mut trip = Trip::new(&CubicConfig { hystart: HyStart::Off, ..CubicConfig::default() }, 20);
    trip.lose();
    near(trip.packets(), 14.0, 1e-9);
    let mut per_round = |rounds: u32| {
        let before = trip.packets();
        let end = trip.now + trip.rtt * u64::from(rounds);
        while trip.now < end {
            trip.ack();
        }
        (trip.packets() - before) / f64::from(rounds)
    };
    near(per_round(8), 3.0 * 0.3 / 1.7, 0.05);
    per_round(8);
    near(per_round(10), 1.0, 0.05);
}

#[test]
fn by_the_older_rule_the_friendly_window_never_grows_as_reno() {
    let older = CubicConfig { catches_up: false, hystart: HyStart::Off, ..CubicConfig::default() };
    let mut trip = Trip::new(&older, 20);
    trip.lose();
    let end = trip.now + trip.rtt * 16;
    while trip.now < end {
        trip.ack();
    }
    // The window is now where it was before the cut.
    let before = trip.packets();
    near(before, 14.0 + 16.0 * 3.0 * 0.3 / 1.7, 0.6);
    let end = trip.now + trip.rtt * 10;
    while trip.now < end {
        trip.ack();
    }
    near((trip.packets() - before) / 10.0, 3.0 * 0.3 / 1.7, 0.05);
}

#[test]
fn a_cut_of_whole_packets_rounds_down() {
    for (whole_packets, left, again) in [(false, 7.7, 5.39), (true, 7.0, 4.0)] {
        let mut trip = Trip::new(&CubicConfig { whole_packets, ..plain() }, 11);
        trip.lose();
        near(trip.packets(), left, 1e-9);
        trip.lose();
        near(trip.packets(), again, 1e-9);
    }
    let mut trip = Trip::new(&CubicConfig { whole_packets: true, ..plain() }, 90);
    trip.lose();
    near(trip.packets(), 63.0, 1e-9);
}

#[test]
fn a_window_that_had_not_reached_its_plateau_gives_way() {
    let mut trip = Trip::new(&plain(), 100);
    trip.lose();
    near(trip.control.w_max, 100.0, 1e-9);
    trip.lose();
    near(trip.control.w_max, 70.0 * 0.85, 1e-9);
    let mut trip = Trip::new(&CubicConfig { fast_convergence: false, ..plain() }, 100);
    trip.lose();
    trip.lose();
    near(trip.control.w_max, 70.0, 1e-9);
}

#[test]
fn a_mark_cuts_once_a_window_if_asked_and_else_does_nothing() {
    let mut trip = Trip::new(&CubicConfig { ecn: true, ..plain() }, 100);
    let sent_at = trip.now;
    trip.ack_with(true, sent_at);
    near(trip.packets(), 70.0, 1e-9);
    trip.ack_with(true, sent_at);
    near(trip.packets(), 70.0, 1e-9);
    let sent_at = trip.now;
    trip.ack_with(true, sent_at);
    near(trip.packets(), 49.0, 1e-9);
    let mut trip = Trip::new(&plain(), 100);
    trip.ack_with(true, trip.now);
    assert!(trip.packets() >= 100.0);
}

#[test]
fn after_a_time_out_the_plateau_is_where_avoidance_begins() {
    let mut trip = Trip::new(&plain(), 100);
    trip.control.on_timeout(&timeout(trip.now, trip.now, Bytes::ZERO));
    near(trip.packets(), 1.0, 0.0);
    while trip.control.window.is_slow_start() {
        trip.ack();
    }
    near(trip.packets(), 70.0, 1e-9);
    trip.ack();
    let stage = trip.stage();
    near(stage.k, 0.0, 0.0);
    near(stage.plateau, 70.0, 1e-9);
}

#[test]
fn a_loss_leaves_two_packets_and_a_mark_one() {
    let mut trip = Trip::new(&CubicConfig { ecn: true, ..plain() }, 2);
    trip.lose();
    near(trip.packets(), 2.0, 0.0);
    trip.now += trip.rtt;
    trip.ack_with(true, trip.now);
    near(trip.packets(), 1.4, 1e-9);
    trip.now += trip.rtt;
    trip.ack_with(true, trip.now);
    near(trip.packets(), 1.0, 0.0);
}

#[test]
fn a_mark_leaves_two_packets_where_linux_is_followed() {
    let mut trip = Trip::new(&CubicConfig { ecn: true, min_cwnd: 2.0, ..plain() }, 5);
    for _ in 0..8 {
        trip.now += trip.rtt;
        trip.ack_with(true, trip.now);
    }
    near(trip.packets(), 2.0, 0.0);
}

#[test]
fn a_second_time_out_keeps_the_window_before_the_first() {
    let mut trip = Trip::new(&plain(), 100);
    for _ in 0..2 {
        trip.control.on_timeout(&timeout(trip.now, trip.now, Bytes::ZERO));
        trip.now += trip.rtt * 10;
    }
    near(trip.control.before, 100.0, 1e-9);
    while trip.control.window.is_slow_start() {
        trip.ack();
    }
    near(trip.packets(), 70.0, 1e-9);
}

#[test]
fn a_pause_of_the_sender_is_no_time_of_the_cube() {
    let mut trip = Trip::new(&plain(), 100);
    trip.lose();
    trip.ack();
    trip.ack();
    let before = trip.stage().elapsed;
    trip.now += Duration::from_secs_f64(5.0);
    let sent_at = trip.now;
    trip.now += trip.rtt;
    trip.ack_with(false, sent_at);
    assert!(trip.stage().elapsed - before <= 0.0102, "one round trip");
}

#[test]
fn the_clock_of_the_cube_stands_while_the_window_is_not_used() {
    let mut trip = Trip::new(&plain(), 100);
    trip.lose();
    trip.ack();
    trip.ack();
    let elapsed = |trip: &Trip| trip.stage().elapsed;
    let before = elapsed(&trip);
    trip.now += Duration::from_ms(500);
    let idle = Ack { in_flight: Bytes::ZERO, ..idle_ack(&trip) };
    trip.control.on_ack(&idle);
    near(elapsed(&trip), before, 0.0);
    trip.ack();
    assert!(elapsed(&trip) - before < 0.001, "{}", elapsed(&trip));
}

fn idle_ack(trip: &Trip) -> Ack<'static> {
    Ack {
        now: trip.now,
        bytes_acked: Bytes::new(4096),
        mapped: Bytes::ZERO,
        acked_packets: 1,
        ecn_ce: false,
        rtt: trip.rtt,
        sent_at: trip.now,
        in_flight: Bytes::ZERO,
        delivered: Bytes::ZERO,
        acked_below: 0,
        sent_below: 0,
        has_losses: false,
        at_send: None,
        telemetry: None,
    }
}

#[test]
fn a_window_lowered_from_outside_begins_a_new_stage() {
    let mut trip = Trip::new(&plain(), 100);
    (0..1000).for_each(|_| trip.ack());
    let rate = {
        trip.control.lower(Bytes::new(20 * 4096));
        near(trip.packets(), 20.0, 0.0);
        let end = trip.now + trip.rtt;
        while trip.now < end {
            trip.ack();
        }
        trip.packets() - 20.0
    };
    assert!(rate < 1.0, "{rate} packets in the round trip after");
}

/// Slow start over round trips of these lengths in ms, each of sixteen packets and more; the round in which it ended.
fn slow_start(hystart: HyStart, rtts: &[u64], gap_us: u64) -> Option<usize> {
    let mut trip = Trip::new(&CubicConfig { hystart, ..plain() }, 20);
    trip.control.window = Window::new(&trip.control.params.bounds, &start_with(Bytes::new(20 * 4096)));
    rtts.iter().position(|ms| {
        trip.rtt = Duration::from_ms(*ms);
        let sent_at = trip.now;
        trip.now += trip.rtt;
        for _ in 0..16 {
            let ack = Ack { in_flight: Bytes::new(1 << 30), sent_at, ..idle_ack(&trip) };
            trip.control.on_ack(&ack);
            trip.now += Duration::from_us(gap_us);
        }
        trip.control.state() == Some("congestion_avoidance")
    })
}

#[test]
fn hystart_plus_plus_slows_where_round_trips_grow_and_ends_five_rounds_later() {
    let rule = HyStart::PlusPlus;
    assert_eq!(slow_start(rule, &[20; 12], 10), None, "steady");
    // 20 ms to 25 ms: by more than 4 ms, the least of an eighth.
    assert_eq!(slow_start(rule, &[20, 20, 25, 25, 25, 25, 25, 25, 25], 10), Some(7));
    assert_eq!(slow_start(rule, &[20, 20, 23, 23, 23, 23, 23, 23, 23], 10), None, "by 3 ms");
    assert_eq!(slow_start(rule, &[20, 20, 25, 20, 20, 20, 20, 20, 20, 20], 10), None, "it was spurious");
}

#[test]
fn hystart_plus_plus_is_for_the_first_slow_start_alone() {
    for (hystart, is_over) in [(HyStart::PlusPlus, true), (HyStart::Linux, false)] {
        let mut trip = Trip::new(&CubicConfig { hystart, ..plain() }, 100);
        trip.control.on_timeout(&timeout(trip.now, trip.now, Bytes::ZERO));
        let mut ended = false;
        for ms in [20, 20, 40, 40, 40, 40, 40, 40, 40] {
            let (sent_at, rtt) = (trip.now, Duration::from_ms(ms));
            trip.now += rtt;
            for _ in 0..16 {
                let ack = Ack { now: trip.now, sent_at, rtt, ..idle_ack(&trip) };
                let Phase::SlowStart(slow) = &mut trip.control.phase else { panic!("no slow start") };
                ended |= slow.on_ack(&ack, 100.0, false) != SlowStartStep::Grow;
            }
        }
        assert_eq!(ended, !is_over, "{hystart:?}");
    }
}

#[test]
fn linux_hystart_ends_at_once_by_delay_or_by_a_train() {
    let rule = HyStart::Linux;
    assert_eq!(slow_start(rule, &[20; 12], 10), None, "steady");
    assert_eq!(slow_start(rule, &[20, 20, 25], 10), Some(2));
    assert_eq!(slow_start(rule, &[20, 20, 23], 10), None, "by 3 ms");
    // Sixteen ACKs 700 us apart last 10.5 ms, more than half of 20 ms.
    assert_eq!(slow_start(rule, &[20, 20], 700), Some(0));
    assert_eq!(slow_start(HyStart::Off, &[20, 20, 40, 40], 700), None);
}

#[test]
fn parameters_out_of_range_are_named() {
    refused(CubicConfig::check, &[("c", |config| config.c = 0.0), ("beta", |config| config.beta = 1.0)]);
    assert_eq!(CubicConfig::default().check(), Ok(()));
}
