//! One test for each rule of UnoCC.

use super::*;
use crate::congestion::parts::signals::Threshold;
use crate::congestion::testing::{
    AckStream, MSS, Spoil, near, refused, start, start_with, timeout, wan_start,
};
use crate::congestion::{Loss, Nack, NackCause};

/// The configuration of the published code: every choice flipped.
pub(crate) fn artifact() -> UnoccConfig {
    UnoccConfig {
        k: Threshold::Constant(Bytes::new(24_576)),
        epoch: EpochConfig {
            start: EpochStart::FullWindow,
            period: EpochPeriod::Proportional,
            debt: EpochDebt::Previous,
        },
        ewma: EwmaConfig { gain: 0.5, falling: Falling::Increase },
        md_scale: MdScaleConfig { factor: 0.35, cumulative: false },
        delay: DelayConfig { sample: DelaySample::Last, tolerance: Tolerance::Fraction(0.055) },
        qa: QaConfig {
            period: QaPeriod::BaseRtts(1.05),
            reference: QaReference::Cwnd,
            factor: 0.96,
            on_timeout: false,
            pause: EpochStart::FullWindow,
        },
        pacing_headers: false,
        pacing_gain: 1.0,
        ..UnoccConfig::default()
    }
}

fn unocc(config: &UnoccConfig, start: &Start<'_>) -> Unocc {
    Unocc::new(&Arc::new(UnoccParams::new(config, start.path)), start)
}

/// A control and the ACKs that reach it.
struct Flow {
    control: Unocc,
    acks: AckStream,
}

impl Flow {
    fn new(config: &UnoccConfig, start: &Start<'_>) -> Self {
        Self { control: unocc(config, start), acks: AckStream::new(start) }
    }

    /// A flow with the default parameters inside a datacenter.
    fn intra() -> Self {
        Self::new(&UnoccConfig::default(), &start())
    }

    /// A flow between datacenters, with the default configuration.
    fn inter() -> Self {
        Self::new(&UnoccConfig::default(), &wan_start())
    }

    /// A flow whose round trips all take so much longer than the base.
    fn delayed(mut self, delay: Duration) -> Self {
        self.acks.delay = delay;
        self
    }

    /// One ACK; gives the window after it.
    fn ack(&mut self, marked: bool) -> f64 {
        let ack = self.acks.next(marked);
        self.control.on_ack(&ack);
        self.control.cwnd
    }

    /// ACKs, one a packet time, for so long; gives by how many of them the window was cut.
    fn stream(&mut self, period: Duration, marked: bool) -> usize {
        let until = self.acks.now + period;
        let mut cuts = 0;
        while self.acks.now < until {
            let before = self.control.cwnd;
            cuts += usize::from(self.ack(marked) < before);
        }
        cuts
    }

    /// Marked ACKs, one a packet time, for 100 base round trips of a datacenter; gives how many epochs they ended.
    fn epochs(&mut self) -> usize {
        self.epochs_in(Duration::from_ps(1_402_752_000))
    }

    /// Marked ACKs, one a packet time, for so long; gives how many epochs they ended.
    fn epochs_in(&mut self, period: Duration) -> usize {
        let until = self.acks.now + period;
        let mut ended = 0;
        while self.acks.now < until {
            let before = self.control.epoch;
            let ack = self.acks.next(true);
            self.control.on_epoch_ack(&ack);
            ended += usize::from(self.control.epoch != before);
        }
        ended
    }

    /// An ACK that begins epochs, and one round trip later the marked one that ends the first of them: gives the cut.
    fn first_cut(&mut self) -> f64 {
        self.ack(false);
        let before = self.control.cwnd;
        let ack = self.acks.next_round(true);
        self.control.on_epoch_ack(&ack);
        1.0 - self.control.cwnd / before
    }

    fn timeout(&mut self) {
        self.control.on_timeout(&timeout(self.acks.now, Time::ZERO, Bytes::new(100_000)));
    }

    fn base_rtt(&self) -> Duration {
        self.control.params.base_rtt
    }
}

const QUEUED: Duration = Duration::from_us(50);

#[test]
fn a_pacing_gain_raises_the_rate_and_not_the_window() {
    let [one, more] = [1.0, 1.2].map(|pacing_gain| {
        unocc(&UnoccConfig { pacing_gain, ..UnoccConfig::default() }, &start()).decision()
    });
    assert_eq!(one.cwnd, more.cwnd);
    let rate = |decision: Decision| decision.pacing_rate.expect("paced").as_bps() as f64;
    near(rate(more) / rate(one), 1.2, 1e-6);
}

#[test]
fn every_parameter_that_is_out_of_range_is_named() {
    let cases: [(&str, Spoil<UnoccConfig>); 9] = [
        ("alpha", |c| c.alpha = 0.0),
        ("beta", |c| c.beta = 1.5),
        ("ewma.gain", |c| c.ewma.gain = -0.5),
        ("md_scale.factor", |c| c.md_scale.factor = 0.0),
        ("delay.tolerance", |c| c.delay.tolerance = Tolerance::Fraction(-1.0)),
        ("qa.period", |c| c.qa.period = QaPeriod::BaseRtts(f64::NAN)),
        ("qa.factor", |c| c.qa.factor = 2.0),
        ("k", |c| c.k = Threshold::Constant(Bytes::ZERO)),
        ("alpha", |c| c.alpha = f64::INFINITY),
    ];
    refused(UnoccConfig::check, &cases);
    assert_eq!(UnoccConfig::default().check(), Ok(()));
    assert_eq!(artifact().check(), Ok(()));
}

#[test]
fn the_window_starts_as_told_but_not_above_one_bdp_nor_below_one_packet() {
    near(Flow::intra().control.cwnd, 175_344.0, 0.0);
    let with = |bytes| unocc(&UnoccConfig::default(), &start_with(Bytes::new(bytes))).cwnd;
    near(with(40_960), 40_960.0, 0.0);
    near(with(1 << 30), 175_344.0, 0.0);
    near(with(0), MSS, 0.0);
}

#[test]
fn one_window_of_unmarked_acks_adds_a_thousandth_of_the_bdp() {
    let mut control = unocc(&UnoccConfig::default(), &start_with(Bytes::new(40_960)));
    let mut acks = AckStream::new(&start());
    for _ in 0..10 {
        control.on_ack(&acks.next(false));
    }
    near(control.cwnd, 40_960.0 + 175.344, 0.5);
}

#[test]
fn marked_and_duplicate_acks_add_nothing() {
    let mut control = unocc(&UnoccConfig::default(), &start_with(Bytes::new(40_960)));
    let mut acks = AckStream::new(&start());
    control.on_ack(&acks.next(true));
    control.on_ack(&Ack { bytes_acked: Bytes::ZERO, ..acks.next(false) });
    near(control.cwnd, 40_960.0, 0.0);
}

#[test]
fn the_window_stops_at_one_bdp() {
    let mut flow = Flow::intra();
    flow.stream(flow.base_rtt(), false);
    near(flow.control.cwnd, 175_344.0, 0.0);
}

#[test]
fn the_first_cut_comes_two_round_trips_after_the_start() {
    let mut flow = Flow::intra().delayed(QUEUED);
    let rtt = flow.base_rtt() + QUEUED;
    flow.ack(true);
    assert_eq!(flow.acks.now, Time::ZERO + rtt, "the first ACK, which sets T_epoch");
    assert_eq!(flow.stream(rtt - Duration::from_us(1), true), 0, "packets sent before T_epoch");
    assert_eq!(flow.stream(Duration::from_us(2), true), 1, "the first packet sent after it");
}

#[test]
fn with_a_full_window_start_epochs_begin_when_one_window_was_sent() {
    let mut config = UnoccConfig::default();
    config.epoch.start = EpochStart::FullWindow;
    let mut flow = Flow::new(&config, &start_with(Bytes::new(8192))).delayed(QUEUED);
    let now = Time::ZERO + Duration::from_us(1);
    let sent = |in_flight| Sent { now, bytes: Bytes::new(4096), in_flight, retransmission: false };
    flow.control.on_sent(&sent(Bytes::new(4096)));
    assert!(matches!(flow.control.epoch, Epoch::UntilSent(left) if left == 4096.0));
    flow.control.on_sent(&sent(Bytes::new(8192)));
    assert_eq!(flow.control.epoch, Epoch::Ends(now));
}

#[test]
fn both_classes_end_an_epoch_every_14_us() {
    for mut flow in [Flow::intra().delayed(QUEUED), Flow::inter().delayed(QUEUED)] {
        let rtt = flow.base_rtt() + QUEUED;
        flow.stream(rtt * 2, true);
        let ended = flow.epochs();
        assert!((97..=100).contains(&ended), "{ended} epochs in 100 base round trips of a datacenter");
    }
}

#[test]
fn a_proportional_period_grows_with_the_measured_round_trip() {
    let mut config = UnoccConfig::default();
    config.epoch.period = EpochPeriod::Proportional;
    for start in [start(), wan_start()] {
        let rtt = start.path.base_rtt;
        let mut flow = Flow::new(&config, &start).delayed(rtt);
        flow.stream(rtt * 4, true);
        let ended = flow.epochs();
        assert!((48..=51).contains(&ended), "{ended} epochs of twice 14 us");
    }
}

#[test]
fn by_its_own_round_trip_a_flow_ends_one_epoch_in_each() {
    let mut config = UnoccConfig::default();
    config.epoch.period = EpochPeriod::BaseRtt;
    for start in [start(), wan_start()] {
        let rtt = start.path.base_rtt + QUEUED;
        let mut flow = Flow::new(&config, &start).delayed(QUEUED);
        flow.stream(rtt * 2, true);
        let ended = flow.epochs_in(start.path.base_rtt * 10);
        assert!((9..=10).contains(&ended), "{ended} epochs in ten base round trips");
    }
}

#[test]
fn a_silent_flow_does_not_save_up_epochs() {
    let cuts = |debt| {
        let mut config = UnoccConfig::default();
        config.epoch.debt = debt;
        let mut flow = Flow::new(&config, &start()).delayed(QUEUED);
        flow.stream(Duration::from_us(200), true);
        flow.acks.now += Duration::from_ms(1);
        // The Quick Adapt period is over, too; only epochs are looked at here.
        let mut ends = 0;
        for _ in 0..40 {
            let before = flow.control.epoch;
            let ack = flow.acks.next(true);
            flow.control.on_epoch_ack(&ack);
            ends += usize::from(flow.control.epoch != before);
        }
        ends
    };
    assert!(cuts(EpochDebt::Max) <= 3);
    assert_eq!(cuts(EpochDebt::Previous), 40, "every ACK ends an epoch until the debt is paid");
}

#[test]
fn the_cut_is_e_times_4k_over_k_plus_bdp() {
    // E = 0.5 after one fully marked epoch; 4K / (K + BDP) = 0.5 inside, 4 x 25,049 / (25,049 + 22,400,516) between.
    near(Flow::intra().delayed(QUEUED).first_cut(), 0.25, 1e-5);
    near(Flow::inter().delayed(QUEUED).first_cut(), 0.5 * 0.004_468, 1e-6);
    let mut inter = Flow::new(&artifact(), &wan_start()).delayed(Duration::from_us(200));
    inter.control.begin_epochs(Time::ZERO);
    near(inter.first_cut(), 0.5 * 0.004_384, 1e-6);
}

#[test]
fn a_flow_between_near_hosts_is_cut_by_half_at_most() {
    let mut near_path = *start().path;
    near_path.base_rtt = Duration::from_us(4);
    near_path.bdp = near_path.line_rate.bytes_in(near_path.base_rtt);
    let start = Start { path: &near_path, initial_cwnd: near_path.bdp, ..start() };
    let mut flow = Flow::new(&UnoccConfig::default(), &start).delayed(QUEUED);
    flow.first_cut();
    let mut largest: f64 = 0.0;
    flow.control.cwnd = flow.control.params.bdp;
    for _ in 0..20 {
        let before = flow.control.cwnd;
        let ack = flow.acks.next_round(true);
        flow.control.on_epoch_ack(&ack);
        largest = largest.max(1.0 - flow.control.cwnd / before);
    }
    near(largest, 0.5, 1e-9);
}

#[test]
fn e_moves_by_half_of_the_difference_each_epoch_marked_or_not() {
    let mut flow = Flow::intra().delayed(QUEUED);
    flow.first_cut();
    near(flow.control.marks.average(), 0.5, 0.0);
    let ack = flow.acks.next_round(true);
    flow.control.on_epoch_ack(&ack);
    near(flow.control.marks.average(), 0.75, 0.0);
    let before = flow.control.cwnd;
    let ack = flow.acks.next_round(false);
    flow.control.on_epoch_ack(&ack);
    near(flow.control.marks.average(), 0.375, 0.0);
    near(flow.control.cwnd, before, 0.0);
}

#[test]
fn one_mark_makes_an_epoch_congested() {
    let mut flow = Flow::intra().delayed(QUEUED);
    flow.ack(false);
    for i in 0..39 {
        let ack = flow.acks.next(i == 7);
        flow.control.on_epoch_ack(&ack);
    }
    let before = flow.control.cwnd;
    let ack = flow.acks.next_round(false);
    flow.control.on_epoch_ack(&ack);
    near(1.0 - flow.control.cwnd / before, 0.5 / 40.0 * 0.5, 1e-5);
}

#[test]
fn a_falling_e_cuts_in_the_paper_and_increases_in_the_artifact() {
    let change = |falling| {
        let mut config = UnoccConfig::default();
        config.ewma.falling = falling;
        let mut flow = Flow::new(&config, &start()).delayed(QUEUED);
        flow.first_cut();
        for marked in [true, false] {
            let ack = flow.acks.next_round(marked);
            flow.control.on_epoch_ack(&ack);
        }
        near(flow.control.marks.average(), 0.375, 0.0);
        flow.control.begin_epochs(flow.acks.now);
        // A quarter marked: E falls to 0.375 x 0.5 + 0.5 x 0.25 = 0.3125.
        for marked in [false, false, true] {
            let ack = flow.acks.next(marked);
            flow.control.on_epoch_ack(&ack);
        }
        let before = flow.control.cwnd;
        let ack = flow.acks.next_round(false);
        flow.control.on_epoch_ack(&ack);
        near(flow.control.marks.average(), 0.3125, 0.0);
        flow.control.cwnd - before
    };
    assert!(change(Falling::Decrease) < 0.0);
    let increase = change(Falling::Increase);
    assert!((0.1..175.4).contains(&increase), "{increase} B: one increase with four packets");
}

#[test]
fn the_first_marked_epoch_and_a_share_above_nine_tenths_cut_even_in_the_artifact() {
    let mut config = UnoccConfig::default();
    config.ewma.falling = Falling::Increase;
    let mut flow = Flow::new(&config, &start()).delayed(QUEUED);
    near(flow.first_cut(), 0.25, 1e-5);
    flow.control.marks = Marks::new(1.0);
    // 19 of 20 marked: E falls from 1 to 0.975.
    for i in 0..19 {
        let ack = flow.acks.next(i != 3);
        flow.control.on_epoch_ack(&ack);
    }
    let before = flow.control.cwnd;
    let ack = flow.acks.next_round(true);
    flow.control.on_epoch_ack(&ack);
    near(1.0 - flow.control.cwnd / before, 0.975 * 0.5, 1e-4);
}

#[test]
fn marks_without_delay_cut_by_three_tenths_of_it() {
    near(Flow::intra().first_cut(), 0.3 * 0.25, 1e-5);
    let mut flow = Flow::intra();
    flow.first_cut();
    let before = flow.control.cwnd;
    let ack = flow.acks.next_round(true);
    flow.control.on_epoch_ack(&ack);
    near(1.0 - flow.control.cwnd / before, 0.3 * 0.75 * 0.5, 1e-5);
}

#[test]
fn as_printed_md_scale_multiplies_until_a_real_queue_resets_it() {
    let mut config = UnoccConfig::default();
    config.md_scale.cumulative = true;
    let mut flow = Flow::new(&config, &start());
    flow.first_cut();
    for expected in [0.09, 0.027] {
        let ack = flow.acks.next_round(true);
        flow.control.on_epoch_ack(&ack);
        near(flow.control.md_scale, expected, 1e-12);
    }
    flow.acks.delay = QUEUED;
    let ack = flow.acks.next_round(true);
    flow.control.on_epoch_ack(&ack);
    near(flow.control.md_scale, 1.0, 0.0);
}

#[test]
fn no_delay_means_at_most_one_packet_ahead_at_each_hop() {
    for (start, hops) in [(start(), 6), (wan_start(), 9)] {
        let tolerance = start.path.packet_time() * hops;
        let scale = |delay| {
            let mut flow = Flow::new(&UnoccConfig::default(), &start).delayed(delay);
            flow.first_cut();
            flow.control.md_scale
        };
        near(scale(tolerance), 0.3, 0.0);
        near(scale(tolerance + Duration::from_ps(1)), 1.0, 0.0);
    }
}

#[test]
fn the_artifact_s_tolerance_between_datacenters_exceeds_a_full_port() {
    let config = UnoccConfig { delay: artifact().delay, ..UnoccConfig::default() };
    let mut flow = Flow::new(&config, &wan_start()).delayed(Duration::from_us(84));
    flow.first_cut();
    near(flow.control.md_scale, config.md_scale.factor, 0.0);
}

#[test]
fn the_smallest_delay_of_marked_acks_decides_or_that_of_the_last_ack() {
    let scale = |sample| {
        let mut config = UnoccConfig::default();
        config.delay.sample = sample;
        let mut flow = Flow::new(&config, &start());
        flow.ack(false);
        let marked = flow.acks.next(true);
        flow.control.on_epoch_ack(&marked);
        flow.acks.delay = QUEUED;
        let last = flow.acks.next_round(true);
        flow.control.on_epoch_ack(&last);
        flow.control.md_scale
    };
    near(scale(DelaySample::MinMarked), 0.3, 0.0);
    near(scale(DelaySample::Last), 1.0, 0.0);
}

#[test]
fn an_unmarked_quick_ack_does_not_make_an_epoch_gentle() {
    let mut flow = Flow::intra();
    flow.ack(false);
    let quick = flow.acks.next(false);
    flow.control.on_epoch_ack(&quick);
    flow.acks.delay = QUEUED;
    let last = flow.acks.next_round(true);
    flow.control.on_epoch_ack(&last);
    near(flow.control.md_scale, 1.0, 0.0);
}

/// A flow whose first ACK has opened a period, and of whose ACKs only `acks` come within it.
fn starved(config: &UnoccConfig, acks: usize) -> Flow {
    let mut flow = Flow::new(config, &start());
    for _ in 0..=acks {
        flow.ack(false);
    }
    flow
}

#[test]
fn quick_adapt_sets_the_window_to_the_bytes_acked_in_one_round_trip() {
    let mut flow = starved(&UnoccConfig::default(), 9);
    flow.acks.now += flow.base_rtt();
    near(flow.ack(false), 10.0 * MSS, 0.0);
}

#[test]
fn half_of_the_window_acked_is_no_extreme_congestion() {
    // 175,344 / 2 = 21.4 packets.
    let mut flow = starved(&UnoccConfig::default(), 21);
    flow.acks.now += flow.base_rtt();
    near(flow.ack(false), 175_344.0, 0.0);
    let mut flow = starved(&UnoccConfig::default(), 20);
    flow.acks.now += flow.base_rtt();
    near(flow.ack(false), 21.0 * MSS, 0.0);
}

#[test]
fn the_artifact_keeps_0_96_of_the_bytes_acked() {
    let config = UnoccConfig { qa: artifact().qa, ..UnoccConfig::default() };
    let mut flow = starved(&config, 9);
    flow.acks.now += flow.base_rtt() * 2;
    near(flow.ack(true), 0.96 * 10.0 * MSS, 1e-9);
}

#[test]
fn a_period_is_one_measured_round_trip() {
    let late = |config: &UnoccConfig| {
        let mut flow = Flow::new(config, &start()).delayed(start().path.base_rtt * 2);
        flow.ack(true);
        flow.acks.now += flow.base_rtt() * 2;
        flow.ack(true)
    };
    assert!(late(&UnoccConfig::default()) > 100_000.0, "two of three base round trips: not over yet");
    let config = UnoccConfig { qa: artifact().qa, ..UnoccConfig::default() };
    near(late(&config), MSS, 0.0);
}

#[test]
fn a_window_that_could_not_be_used_is_no_sign_of_congestion() {
    let window = |reference| {
        let mut config = UnoccConfig::default();
        config.qa.reference = reference;
        let mut flow = Flow::new(&config, &start());
        let opening = Ack { in_flight: Bytes::new(4096), ..flow.acks.next(true) };
        flow.control.on_ack(&opening);
        flow.acks.now += flow.base_rtt();
        flow.ack(true)
    };
    assert!(window(QaReference::InFlight) > 100_000.0);
    near(window(QaReference::Cwnd), MSS, 0.0);
}

#[test]
fn a_window_of_two_packets_is_not_put_back_to_one_for_ever() {
    let mut control = unocc(&UnoccConfig::default(), &start_with(Bytes::new(8192)));
    let mut acks = AckStream::new(&start());
    for _ in 0..100 {
        control.on_ack(&Ack { in_flight: Bytes::new(4096), ..acks.next_round(false) });
    }
    assert!(control.cwnd > 8192.0);
}

#[test]
fn a_time_out_evaluates_a_period_that_is_over() {
    let mut flow = starved(&UnoccConfig::default(), 0);
    flow.timeout();
    near(flow.control.cwnd, 175_344.0, 0.0);
    flow.acks.now += flow.base_rtt();
    flow.timeout();
    near(flow.control.cwnd, MSS, 0.0);
}

#[test]
fn the_nack_of_a_loss_evaluates_a_period_that_is_over_and_a_block_s_does_not() {
    let nack = |flow: &mut Flow, cause| {
        let (now, bytes, in_flight) = (flow.acks.now, Bytes::new(4096), Bytes::new(100_000));
        flow.control.on_nack(&Nack { now, bytes, sent_at: Time::ZERO, in_flight, cause });
        flow.control.cwnd
    };
    for cause in [NackCause::Trimmed, NackCause::Gap] {
        let mut flow = starved(&UnoccConfig::default(), 0);
        near(nack(&mut flow, cause), 175_344.0, 0.0);
        flow.acks.now += flow.base_rtt();
        near(nack(&mut flow, NackCause::Block), 175_344.0, 0.0);
        near(nack(&mut flow, cause), MSS, 0.0);
    }
}

#[test]
fn after_a_time_out_without_effect_the_next_one_can_act() {
    let mut flow = starved(&UnoccConfig::default(), 30);
    flow.acks.now += flow.base_rtt();
    flow.timeout();
    near(flow.control.cwnd, 175_344.0, 0.0);
    flow.acks.now += flow.base_rtt();
    flow.timeout();
    near(flow.control.cwnd, MSS, 0.0);
}

#[test]
fn in_the_artifact_a_time_out_evaluates_nothing() {
    let config = UnoccConfig { qa: artifact().qa, ..UnoccConfig::default() };
    let mut flow = starved(&config, 0);
    flow.acks.now += flow.base_rtt() * 3;
    flow.timeout();
    near(flow.control.cwnd, 175_344.0, 0.0);
}

/// A flow that has just quickly adapted to ten packets.
fn adapted(config: &UnoccConfig) -> Flow {
    let mut flow = starved(config, 9).delayed(QUEUED);
    flow.acks.now += flow.base_rtt() * 3;
    flow.ack(true);
    assert!(matches!(flow.control.qa, QuickAdapt::Paused(_)));
    flow
}

#[test]
fn after_quick_adapt_one_round_trip_passes_without_any_cut() {
    let mut flow = adapted(&UnoccConfig::default());
    let (e, paused) = (flow.control.marks.average(), flow.control.epoch);
    let rtt = flow.base_rtt() + QUEUED;
    assert_eq!(flow.stream(rtt - Duration::from_us(1), true), 0);
    while flow.control.epoch == paused {
        flow.ack(true);
    }
    assert_eq!(flow.control.epoch, Epoch::Ends(flow.acks.now), "at its end T_epoch is now");
    assert!(matches!(flow.control.qa, QuickAdapt::Open { .. }), "and a new period opens");
    near(flow.control.marks.average(), e, 0.0);
    assert!(flow.control.marks.acked().is_zero());
}

#[test]
fn additive_increase_goes_on_after_quick_adapt() {
    let mut flow = adapted(&UnoccConfig::default());
    let before = flow.control.cwnd;
    assert!(flow.ack(false) > before);
}

#[test]
fn in_the_artifact_epochs_begin_again_after_one_window_was_sent() {
    let config = UnoccConfig { qa: artifact().qa, ..UnoccConfig::default() };
    let flow = adapted(&config);
    assert!(matches!(flow.control.epoch, Epoch::UntilSent(left) if left == flow.control.cwnd));
}

#[test]
fn loss_nacks_and_time_outs_cut_nothing() {
    let mut flow = Flow::intra();
    let (now, bytes, in_flight) = (Time::ZERO + QUEUED, Bytes::new(4096), Bytes::ZERO);
    flow.control.on_loss(&Loss { now, bytes, sent_at: Time::ZERO, in_flight });
    flow.control.on_nack(&Nack { now, bytes, sent_at: Time::ZERO, in_flight, cause: NackCause::Trimmed });
    flow.timeout();
    near(flow.control.cwnd, 175_344.0, 0.0);
}

#[test]
fn the_window_is_paced_over_the_base_round_trip_with_headers_on_top() {
    let rate = |config: &UnoccConfig| {
        let rate = unocc(config, &start()).decision().pacing_rate.expect("paced");
        rate.as_bps() as f64 * 1e-9
    };
    near(rate(&UnoccConfig::default()), 101.5625, 1e-3);
    near(rate(&artifact()), 100.0, 1e-3);
}
