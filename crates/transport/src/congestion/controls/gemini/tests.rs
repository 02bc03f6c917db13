//! One test for each rule of Gemini.

use super::*;
use crate::congestion::testing::{
    AckStream, MSS, Spoil, near, refused, start, start_with, timeout, wan_start,
};
use crate::congestion::{Congestion, Loss, Nack, NackCause, ThresholdRule};
use farspan_units::Rate;

/// Gemini as Uno's published code runs it.
pub(crate) fn artifact() -> GeminiConfig {
    GeminiConfig {
        k: Threshold::Constant(Bytes::new(24_576)),
        h: Increase::Constant(Bytes::new(5376)),
        beta: 0.1,
        delay_threshold: Duration::from_us(100),
        delay_signal: DelaySignal::Inter,
        gain: 0.5,
        alpha_start: 0.0,
        update: Update::BaseRtt,
        rtt_base: RttBase::Given,
        cut_interval: CutInterval::BaseRtt,
        growth: Growth::Always,
        slow_start: SlowStartEnd::Threshold,
        cap: Cap::Bdp,
        min_cwnd: 1.0,
        pacing: Pacing::BaseRtt,
        pacing_headers: false,
        pacing_gain: 1.0,
    }
}

/// The paper's parameters with the datacenter's own threshold, as in scenarios at 100 Gb/s.
fn at_100_gbps() -> GeminiConfig {
    GeminiConfig { k: Threshold::Rule(ThresholdRule::BdpOver7), ..GeminiConfig::default() }
}

fn gemini(config: &GeminiConfig, start: &Start<'_>) -> Gemini {
    Gemini::new(&Arc::new(GeminiParams::new(config, start.path)), start)
}

/// The cut that one marked ACK brings with every packet marked so far, from the base round trip on.
fn cut(config: &GeminiConfig, start: &Start<'_>) -> f64 {
    let mut control = gemini(config, start);
    control.marks = Marks::new(1.0);
    let before = control.window.get();
    control.on_ack(&AckStream::new(start).next(true));
    1.0 - control.window.get() / before
}

/// A gigabit path with this base round trip, 1,500-byte packets.
fn gigabit(base_rtt: Duration) -> crate::Path {
    let line_rate = Rate::from_gbps(1);
    let (mss, bdp) = (Bytes::new(1448), line_rate.bytes_in(base_rtt));
    crate::Path { line_rate, base_rtt, bdp, mss, ..*wan_start().path }
}

fn on_gigabit(path: &crate::Path) -> Start<'_> {
    Start { path, initial_cwnd: path.bdp, ..start() }
}

#[test]
fn a_pacing_gain_raises_the_rate_and_not_the_window() {
    let [one, more] = [1.0, 1.2].map(|pacing_gain| {
        gemini(&GeminiConfig { pacing_gain, ..GeminiConfig::default() }, &start()).decision()
    });
    assert_eq!(one.cwnd, more.cwnd);
    let rate = |decision: Decision| decision.pacing_rate.expect("paced").as_bps() as f64;
    near(rate(more) / rate(one), 1.2, 1e-6);
}

#[test]
fn every_parameter_that_is_out_of_range_is_named() {
    let scaled = |min, max| Increase::Scaled(ScaledIncrease { factor: 1.2e-7, min, max });
    let cases: [(&str, Spoil<GeminiConfig>); 6] = [
        ("beta", |c| c.beta = 0.7),
        ("min_cwnd", |c| c.min_cwnd = 0.5),
        ("gain", |c| c.gain = 0.0),
        ("alpha_start", |c| c.alpha_start = -1.0),
        ("k", |c| c.k = Threshold::Constant(Bytes::ZERO)),
        ("h.factor", |c| c.h = Increase::Scaled(ScaledIncrease { factor: f64::NAN, min: 0.1, max: 5.0 })),
    ];
    refused(GeminiConfig::check, &cases);
    assert_eq!(GeminiConfig { h: scaled(6.0, 5.0), ..artifact() }.check().unwrap_err().parameter, "h.max");
    assert_eq!(GeminiConfig::default().check(), Ok(()));
    assert_eq!(artifact().check(), Ok(()));
}

#[test]
fn f_is_a_half_where_the_threshold_is_a_seventh_of_the_bdp() {
    near(cut(&at_100_gbps(), &start()), 0.5, 1e-5);
    near(cut(&at_100_gbps(), &wan_start()), 0.004_468, 1e-6);
}

#[test]
fn f_above_one_cuts_by_half_at_most() {
    // Table IV at 1 Gb/s and 200 us: F = 4 x 75 / (25 + 75) = 3.
    let path = gigabit(Duration::from_us(200));
    near(cut(&GeminiConfig::default(), &on_gigabit(&path)), 0.5, 1e-9);
}

#[test]
fn h_is_one_packet_at_one_gigabit_and_8_ms() {
    let h = |rtt| {
        let path = gigabit(rtt);
        let control = gemini(&GeminiConfig::default(), &on_gigabit(&path));
        control.increase(rtt) / 1448.0
    };
    near(h(Duration::from_ms(8)), 0.96, 1e-9);
    near(h(Duration::from_us(200)), 0.1, 1e-9);
    near(h(Duration::from_ms(100)), 5.0, 1e-9);
}

#[test]
fn h_is_a_constant_in_the_artifact() {
    let control = gemini(&artifact(), &start());
    near(control.increase(start().path.base_rtt), 5376.0, 0.0);
}

#[test]
fn one_window_of_acks_without_congestion_adds_h() {
    let start = start();
    let mut control = gemini(&at_100_gbps(), &start);
    let mut acks = AckStream::new(&start);
    let before = control.window.get();
    for _ in 0..42 {
        control.on_ack(&acks.next(false));
    }
    // H x C x RTT = 1.2e-7 x 1.4 Mbit = 0.168 packets.
    near(control.window.get() - before, 0.168 * MSS, 0.03 * MSS);
}

#[test]
fn a_marked_ack_adds_nothing_even_when_it_cuts_nothing() {
    let mut control = gemini(&at_100_gbps(), &start());
    let mut acks = AckStream::new(&start());
    control.on_ack(&acks.next(true));
    let after = control.window.get();
    control.on_ack(&acks.next(true));
    near(control.window.get(), after, 0.0);
}

#[test]
fn the_window_is_cut_at_most_once_a_round_trip() {
    let mut control = gemini(&at_100_gbps(), &start());
    let mut acks = AckStream::new(&start());
    let mut cuts = 0;
    for _ in 0..42 * 10 + 1 {
        let before = control.reduced_at;
        control.on_ack(&acks.next(true));
        cuts += usize::from(control.reduced_at != before);
    }
    assert!((9..=10).contains(&cuts), "{cuts} cuts in ten round trips");
}

#[test]
fn alpha_moves_by_a_sixteenth_once_a_window() {
    let mut control = gemini(&at_100_gbps(), &start());
    let mut acks = AckStream::new(&start());
    control.on_ack(&acks.next(false));
    near(control.marks.average(), 15.0 / 16.0, 1e-12);
    for i in 0..41 {
        control.on_ack(&acks.next(i == 0));
    }
    near(control.marks.average(), 15.0 / 16.0, 1e-12);
    control.on_ack(&acks.next_round(false));
    near(control.marks.average(), (15.0 / 16.0) * (15.0 / 16.0) + 1.0 / 42.0 / 16.0, 1e-12);
}

#[test]
fn behind_a_queue_the_window_is_cut_several_times_a_round_trip_or_once_in_its_smallest() {
    // A base of 200 us, then a queue of 3.8 ms: 20 marked ACKs, 300 us apart.
    let path = gigabit(Duration::from_us(200));
    let cuts = |cut_interval| {
        let mut control =
            gemini(&GeminiConfig { cut_interval, ..GeminiConfig::default() }, &on_gigabit(&path));
        (control.rtt_base, control.last_rtt_min) = (Duration::from_us(200), Duration::from_us(4000));
        let start = on_gigabit(&path);
        let mut stream = AckStream::new(&start);
        let mut cuts = 0;
        for n in 0..20 {
            let before = control.reduced_at;
            let mut ack = stream.next(true);
            (ack.now, ack.rtt) = (Time::ZERO + Duration::from_us(10_000 + 300 * n), Duration::from_us(4000));
            control.on_ack(&ack);
            cuts += u32::from(control.reduced_at != before);
        }
        cuts
    };
    assert_eq!((cuts(CutInterval::BaseRtt), cuts(CutInterval::RttMin)), (20, 2));
}

#[test]
fn in_the_artifact_a_cut_puts_the_move_of_alpha_off() {
    let mut control = gemini(&artifact(), &start());
    let mut acks = AckStream::new(&start());
    control.on_ack(&acks.next(false));
    control.reduced_at = acks.now;
    let moved = control.round.began();
    acks.now += start().path.base_rtt - start().path.packet_time();
    control.on_ack(&acks.next(true));
    assert_eq!(
        control.round.began(),
        moved,
        "exactly one base round trip after the cut is not yet more than one"
    );
    control.on_ack(&acks.next(true));
    assert_eq!(control.round.began(), acks.now);
}

#[test]
fn the_smallest_round_trip_is_the_base_unless_the_base_is_given() {
    let base = |config: &GeminiConfig| {
        let mut control = gemini(config, &start());
        let mut acks = AckStream::new(&start());
        for us in [30, 10, 20] {
            acks.delay = Duration::from_us(us);
            control.on_ack(&acks.next(false));
        }
        control.rtt_base
    };
    assert_eq!(base(&GeminiConfig::default()), start().path.base_rtt + Duration::from_us(10));
    assert_eq!(base(&artifact()), start().path.base_rtt);
}

/// A control between datacenters that has seen its base round trip, then a whole window at this delay.
fn delayed(config: &GeminiConfig, start: &Start<'_>, delay: Duration) -> (Gemini, AckStream) {
    let mut control = gemini(config, start);
    let mut acks = AckStream::new(start);
    control.on_ack(&acks.next(false));
    acks.delay = delay;
    for _ in 0..2 {
        control.on_ack(&acks.next_round(false));
    }
    (control, acks)
}

#[test]
fn a_window_of_large_round_trips_cuts_by_beta() {
    let change = |delay| {
        let (mut control, mut acks) = delayed(&GeminiConfig::default(), &wan_start(), delay);
        control.reduced_at = NEVER;
        let before = control.window.get();
        control.on_ack(&acks.next_round(false));
        control.window.get() / before
    };
    assert!(change(Duration::from_ms(5)) >= 1.0, "exactly T is not above T");
    near(change(Duration::from_ms(5) + Duration::from_ps(1)), 0.8, 1e-9);
}

#[test]
fn one_small_round_trip_in_a_window_denies_the_delay() {
    let (mut control, mut acks) = delayed(&GeminiConfig::default(), &wan_start(), Duration::from_ms(6));
    acks.delay = Duration::ZERO;
    control.on_ack(&acks.next(false));
    acks.delay = Duration::from_ms(6);
    control.on_ack(&acks.next_round(false));
    assert_eq!(control.last_rtt_min, wan_start().path.base_rtt);
}

#[test]
fn the_larger_of_the_two_cuts_is_taken() {
    let both = |alpha| {
        let (mut control, mut acks) = delayed(&at_100_gbps(), &start(), Duration::from_ms(6));
        control.reduced_at = NEVER;
        control.marks = Marks::new(alpha);
        Arc::make_mut(&mut control.params).config.gain = 0.0;
        let before = control.window.get();
        control.on_ack(&acks.next_round(true));
        1.0 - control.window.get() / before
    };
    near(both(0.1), 0.2, 1e-9);
    near(both(1.0), 0.5, 1e-5);
}

#[test]
fn in_the_artifact_flows_inside_a_datacenter_ignore_delay() {
    let reduced = |start: &Start<'_>| delayed(&artifact(), start, Duration::from_ms(6)).0.reduced_at != NEVER;
    assert!(!reduced(&start()));
    assert!(reduced(&wan_start()));
}

#[test]
fn a_recent_cut_for_marks_does_not_hold_back_the_cut_for_loss() {
    let mut control = gemini(&at_100_gbps(), &wan_start());
    let mut acks = AckStream::new(&wan_start());
    let ack = acks.next(true);
    control.on_ack(&ack);
    let before = control.window.get();
    let (now, bytes, in_flight) = (ack.now, Bytes::new(4096), Bytes::ZERO);
    control.on_loss(&Loss { now, bytes, sent_at: ack.sent_at, in_flight });
    near(control.window.get(), before / 2.0, 1e-6);
    control.on_nack(&Nack { now, bytes, sent_at: ack.sent_at, in_flight, cause: NackCause::Block });
    near(control.window.get(), before / 2.0, 1e-6);
}

#[test]
fn a_time_out_goes_to_one_packet_and_slow_start() {
    let mut control = gemini(&GeminiConfig::default(), &start());
    let mut acks = AckStream::new(&start());
    let now = acks.next(false).now;
    control.on_timeout(&timeout(now, Time::ZERO, Bytes::ZERO));
    near(control.window.get(), MSS, 0.0);
    for _ in 0..4 {
        control.on_ack(&acks.next_round(false));
    }
    near(control.window.get(), 5.0 * MSS, 0.0);
}

#[test]
fn round_trips_before_a_time_out_cut_nothing_after_it() {
    let (mut control, mut acks) = delayed(&GeminiConfig::default(), &wan_start(), Duration::from_ms(40));
    control.on_ack(&acks.next_round(false));
    assert!(control.last_rtt_min > control.rtt_base + Duration::from_ms(5));
    let now = acks.next(false).now;
    control.on_timeout(&timeout(now, now, Bytes::ZERO));
    // The packet was sent before: no window of data is over since.
    let mut ack = acks.next(false);
    (ack.now, ack.sent_at) = (now + Duration::from_ms(20), Time::ZERO);
    control.on_ack(&ack);
    assert_eq!(control.reduced_at, now);
}

/// A receiver that delays ACKs holds that of a lone packet for longer than T: a window of one packet would stay one for ever.
#[test]
fn no_cut_leaves_less_than_the_smallest_window() {
    for packets in [1.0, 2.0] {
        let config = GeminiConfig { min_cwnd: packets, ..GeminiConfig::default() };
        let (mut control, mut acks) = delayed(&config, &wan_start(), Duration::from_ms(40));
        for _ in 0..100 {
            control.on_ack(&acks.next_round(false));
        }
        near(control.window.get(), packets * MSS, 0.0);
        let (now, bytes) = (acks.next(false).now, Bytes::new(4096));
        control.on_loss(&Loss { now, bytes, sent_at: now, in_flight: Bytes::ZERO });
        near(control.window.get(), packets * MSS, 0.0);
        control.on_timeout(&timeout(now, now, Bytes::ZERO));
        near(control.window.get(), MSS, 0.0);
        control.reduced_at = NEVER;
        control.on_ack(&acks.next_round(false));
        near(control.window.get(), packets * MSS, 0.0);
    }
}

#[test]
fn a_start_with_ten_packets_is_slow() {
    let start = start_with(Bytes::new(40_960));
    let mut control = gemini(&GeminiConfig::default(), &start);
    control.on_ack(&AckStream::new(&start).next(false));
    near(control.window.get(), 11.0 * MSS, 0.0);
}

#[test]
fn only_the_artifact_stops_at_one_bdp() {
    let grown = |config: &GeminiConfig| {
        let mut control = gemini(config, &start());
        control.on_ack(&AckStream::new(&start()).next(false));
        control.window.get()
    };
    assert!(grown(&at_100_gbps()) > 175_344.0);
    near(grown(&artifact()), 175_344.0, 0.0);
}

#[test]
fn the_window_is_paced_over_the_smoothed_round_trip() {
    let mut control = gemini(&GeminiConfig::default(), &start());
    let mut acks = AckStream::new(&start());
    acks.delay = start().path.base_rtt;
    let rate = control.on_ack(&acks.next(false)).pacing_rate.expect("paced").as_bps() as f64;
    near(rate * 1e-9, 50.8, 0.1);
}

#[test]
fn a_window_that_is_hardly_used_grows_under_always_alone() {
    for (growth, grows) in [(Growth::Used, false), (Growth::Always, true)] {
        let start = start();
        let mut control = gemini(&GeminiConfig { growth, ..at_100_gbps() }, &start);
        let before = control.window.get();
        control.on_ack(&Ack { in_flight: Bytes::ZERO, ..AckStream::new(&start).next(false) });
        assert_eq!(control.window.get() > before, grows, "{growth:?}");
    }
}

#[test]
fn a_mark_ends_slow_start_under_cut_alone() {
    for (slow_start, ends) in [(SlowStartEnd::Cut, true), (SlowStartEnd::Threshold, false)] {
        let start = start_with(Bytes::new(40_960));
        let mut control = gemini(&GeminiConfig { slow_start, alpha_start: 1.0, ..at_100_gbps() }, &start);
        let mut acks = AckStream::new(&start);
        control.on_ack(&acks.next(true));
        acks.delay = Duration::ZERO;
        let before = control.window.get();
        control.on_ack(&acks.next(false));
        // In slow start a packet acknowledged is a packet more.
        assert_eq!(control.window.get() - before < 0.9 * MSS, ends, "{slow_start:?}");
    }
}
