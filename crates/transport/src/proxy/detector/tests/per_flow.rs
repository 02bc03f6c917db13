use crate::path::Path;
use crate::proxy::detector::{PerFlow, PerFlowConfig};
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Duration, Rate, Time};
use proptest::prelude::*;

const CONFIG: PerFlowConfig = PerFlowConfig {
    window: Some(128),
    fixed: None,
    initial_wait: Duration::from_us(10),
    max_wait: Some(MAX_WAIT),
};
const MAX_WAIT: Duration = Duration::from_ms(1);

const NONE: [u32; 0] = [];

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn adaptive() -> PerFlow {
    PerFlow::new(&CONFIG)
}

fn threshold() -> PerFlow {
    PerFlow::new(&PerFlowConfig { fixed: Some(3), ..CONFIG })
}

/// Passes packets at this time; returns what is declared lost.
fn pass(detector: &mut PerFlow, now: Time, seqs: impl IntoIterator<Item = u32>) -> Vec<u32> {
    seqs.into_iter().flat_map(|seq| detector.on_packet(now, seq, false).collect::<Vec<_>>()).collect()
}

#[test]
fn packets_in_order_show_nothing() {
    for mut detector in [adaptive(), threshold()] {
        assert_eq!(pass(&mut detector, us(0), 0..1000), NONE);
        assert_eq!(detector.poll_timeout(), None);
    }
}

#[test]
fn the_threshold_of_three_declares_at_the_third_later_packet() {
    let mut detector = threshold();
    assert_eq!(pass(&mut detector, us(0), [0, 2, 3]), NONE);
    assert_eq!(detector.poll_timeout(), None, "it knows no time");
    assert_eq!(pass(&mut detector, us(0), [4]), [1]);
}

#[test]
fn lower_packets_are_declared_first_and_each_once() {
    let mut detector = threshold();
    assert_eq!(pass(&mut detector, us(0), [3, 5]), NONE);
    assert_eq!(pass(&mut detector, us(0), [6]), [0, 1, 2]);
    assert_eq!(pass(&mut detector, us(0), [7]), [4]);
    assert_eq!(pass(&mut detector, us(0), [8, 9]), NONE);
}

#[test]
fn a_declared_packet_that_arrives_is_a_false_loss() {
    for mut detector in [adaptive(), threshold()] {
        pass(&mut detector, us(0), [1, 2, 3]);
        detector.on_timeout(us(100));
        pass(&mut detector, us(200), [0, 0]);
        assert_eq!(detector.false_losses(), 1, "a duplicate inside the window is none");
    }
}

#[test]
fn before_reordering_was_seen_a_packet_is_waited_for_as_configured() {
    let mut detector = adaptive();
    pass(&mut detector, us(0), [0]);
    pass(&mut detector, us(5), [2]);
    assert_eq!(detector.poll_timeout(), Some(us(15)));
    assert_eq!(detector.on_timeout(us(15) - Duration::from_ps(1)).count(), 0);
    assert_eq!(detector.on_timeout(us(15)).collect::<Vec<_>>(), [1]);
    assert_eq!(detector.poll_timeout(), None);
}

#[test]
fn time_is_looked_at_with_each_packet() {
    let mut detector = adaptive();
    assert_eq!(pass(&mut detector, us(0), [0, 2]), NONE);
    assert_eq!(pass(&mut detector, us(10), [3]), [1]);
}

/// A flow with so many packets that took 20 us longer than their successors.
fn reordered(times: u32) -> PerFlow {
    let mut detector = adaptive();
    for i in 0..times {
        let start = us(1000 * u64::from(i));
        pass(&mut detector, start, [2 * i + 1]);
        pass(&mut detector, start + Duration::from_us(20), [2 * i]);
    }
    detector
}

#[test]
fn the_wait_follows_from_the_largest_delay() {
    assert_eq!(adaptive().wait(), Duration::from_us(10));
    assert_eq!(reordered(1).wait(), Duration::from_us(72), "3.6 delays after one reordered packet");
    assert_eq!(reordered(4).wait(), Duration::from_us(60), "three after four");
    assert_eq!(reordered(12).wait(), Duration::from_us(50), "2.5 after twelve");
}

#[test]
fn the_delay_decays_by_an_eighth_each_1024_packets() {
    let mut detector = reordered(12);
    pass(&mut detector, us(20_000), 24..24 + 1024);
    assert_eq!(detector.wait(), Duration::from_ns(43_750));
}

#[test]
fn one_later_packet_is_not_trusted_before_the_initial_wait() {
    let mut detector = adaptive();
    let end = 40_000;
    pass(&mut detector, us(0), 0..end);
    assert!(detector.wait() < Duration::from_us(1), "no reordering for long");
    pass(&mut detector, us(1), [end + 1]);
    assert_eq!(detector.poll_timeout(), Some(us(11)));
    pass(&mut detector, us(1), [end + 2, end + 3]);
    assert!(detector.poll_timeout() < Some(us(2)), "three later ones are");
}

#[test]
fn a_false_loss_at_least_doubles_the_wait() {
    let mut detector = reordered(20);
    for i in 0..4 {
        let (before, start) = (detector.wait(), us(1_000_000 * (i + 1)));
        let seq = 40 + 2 * i as u32;
        pass(&mut detector, start, [seq + 1]);
        let declared = start + before;
        assert_eq!(detector.on_timeout(declared).collect::<Vec<_>>(), [seq]);
        pass(&mut detector, declared, [seq]);
        let expected = (before * 2).min(MAX_WAIT);
        assert!(detector.wait() >= expected, "{} after {before}", detector.wait());
    }
}

#[test]
fn the_wait_never_exceeds_the_longest() {
    let mut detector = adaptive();
    pass(&mut detector, us(0), [1]);
    pass(&mut detector, us(100_000), [0]);
    assert_eq!(detector.wait(), MAX_WAIT);
}

#[test]
fn the_delay_of_a_packet_is_known_to_an_eighth_of_the_wait() {
    let mut detector = reordered(20);
    let start = 10_000_000_u64;
    pass(&mut detector, us(start), 40..60);
    for i in 0..30 {
        pass(&mut detector, us(start + 1 + i), [61 + i as u32]);
    }
    let due = detector.poll_timeout().unwrap();
    let exact = us(start + 1) + detector.wait();
    assert!((exact - detector.wait() / 8..=exact).contains(&due), "{due:?}");
}

#[test]
fn the_window_leaves_missing_packets_behind() {
    for mut detector in [adaptive(), threshold()] {
        let first = detector.on_packet(us(0), 129, false).collect::<Vec<_>>();
        assert_eq!(first, [0, 1], "packets 2 to 129 are in the window");
        let rest: Vec<_> = detector.on_packet(us(0), 300, false).collect();
        assert_eq!(rest, (2..129).chain(130..173).collect::<Vec<_>>());
    }
}

#[test]
fn a_jump_over_all_numbers_takes_no_time_if_nobody_asks_for_the_losses() {
    let mut detector = adaptive();
    pass(&mut detector, us(0), 0..10);
    drop(detector.on_packet(us(0), u32::MAX - 1, false));
    assert_eq!(detector.on_packet(us(1), u32::MAX, false).count(), 0, "has no number of its own");
    assert_eq!(detector.on_timeout(us(20)).count(), 127);
    assert_eq!(pass(&mut detector, us(21), [5]), NONE, "what lies far below shows nothing");
}

#[test]
fn retransmissions_are_ignored() {
    let mut detector = threshold();
    pass(&mut detector, us(0), [1, 2]);
    assert_eq!(detector.on_packet(us(0), 9, true).count(), 0);
    assert_eq!(detector.on_packet(us(0), 0, true).count(), 0);
    assert_eq!(pass(&mut detector, us(0), [3]), [0]);
    assert_eq!(detector.false_losses(), 0);
}

#[test]
fn the_end_of_a_burst_shows_its_tail_after_the_wait() {
    let mut detector = adaptive();
    pass(&mut detector, us(0), [0, 1]);
    assert_eq!(detector.on_end(us(3), 4).count(), 0);
    assert_eq!(detector.poll_timeout(), Some(us(13)));
    assert_eq!(pass(&mut detector, us(5), [3]), NONE);
    assert_eq!(detector.poll_timeout(), Some(us(12)), "packet 3 has shown reordering, of 2 us");
    assert_eq!(detector.on_timeout(us(12)).collect::<Vec<_>>(), [2]);
}

#[test]
fn for_a_threshold_the_end_of_a_burst_is_as_many_later_packets_as_it_needs() {
    let mut detector = threshold();
    pass(&mut detector, us(0), [0, 2]);
    assert_eq!(detector.on_end(us(3), 4).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn an_end_that_newer_packets_overtook_changes_nothing() {
    let mut detector = threshold();
    pass(&mut detector, us(0), [0, 2, 3]);
    let before = detector.clone();
    assert_eq!(detector.on_end(us(0), 3).count(), 0);
    assert_eq!(detector, before);
}

#[test]
fn after_a_pause_later_packets_count_as_before() {
    let mut detector = threshold();
    drop(detector.on_end(us(0), 0));
    assert_eq!(pass(&mut detector, us(0), [1, 2]), NONE);
    assert_eq!(pass(&mut detector, us(0), [3]), [0]);
}

#[test]
fn a_packet_takes_one_bit() {
    let bytes = |window, fixed| {
        PerFlow::new(&PerFlowConfig { window: Some(window), fixed, ..CONFIG }).state_bytes().get()
    };
    for fixed in [None, Some(3)] {
        assert_eq!(bytes(4096, fixed) - bytes(1024, fixed), (4096 - 1024) / 8);
    }
    assert_eq!([bytes(1024, None), bytes(1024, Some(3))], [288 + 128, 56 + 128], "bench/detector.py says so");
}

#[test]
fn the_longest_wait_is_that_of_full_buffers_and_the_window_holds_what_comes_meanwhile() {
    let path = |max_queueing| Path { max_queueing, ..Path::new(Rate::from_gbps(100), Duration::from_us(12)) };
    // 17.015 MB at 100 Gb/s; 1,372.8 us take 4,125 packets of 4,160 bytes.
    let behind = |us| PerFlowConfig::default().behind(&path(Duration::from_us(us)));
    let of = |config: PerFlowConfig| (config.window, config.max_wait);
    assert_eq!(of(behind(1361)), (Some(8192), Some(Duration::from_us(1361))));
    assert_eq!(of(behind(100)), (Some(4096), Some(MAX_WAIT)), "at least a millisecond");
    assert_eq!(of(behind(10_000_000)), (Some(65_536), Some(Duration::from_ms(1000))));
    assert_eq!(CONFIG.behind(&path(Duration::from_ms(5))), CONFIG, "what is given stands");
}

#[test]
fn parameters_out_of_range_are_refused() {
    assert!(PerFlowConfig::default().check().is_ok());
    let wrong = [
        PerFlowConfig { window: Some(32), ..CONFIG },
        PerFlowConfig { window: Some(1000), ..CONFIG },
        PerFlowConfig { window: Some(1 << 17), ..CONFIG },
        PerFlowConfig { fixed: Some(0), ..CONFIG },
        PerFlowConfig { fixed: Some(65), ..CONFIG },
        PerFlowConfig { max_wait: Some(Duration::from_ms(1001)), ..CONFIG },
        PerFlowConfig { initial_wait: Duration::from_ms(2), ..CONFIG },
    ];
    for config in wrong {
        assert!(config.check().is_err(), "{config:?}");
    }
}

#[cfg(feature = "serde")]
#[test]
fn text_gives_what_differs_from_the_defaults() {
    let config: PerFlowConfig = toml::from_str("window = 4096\nfixed = 3").unwrap();
    assert_eq!(config, PerFlowConfig { window: Some(4096), fixed: Some(3), ..PerFlowConfig::default() });
    let text = toml::to_string(&PerFlowConfig::default()).unwrap();
    assert_eq!(toml::from_str::<PerFlowConfig>(&text).unwrap(), PerFlowConfig::default());
    assert!(toml::from_str::<PerFlowConfig>("size = 1").is_err());
}

/// Packets in an order that is shuffled over a short distance, some of them lost: (time, number), and the lost ones.
fn stream() -> impl Strategy<Value = (Vec<(Time, u32)>, BTreeSet<u32>)> {
    prop::collection::vec((0..60_u64, prop::bool::weighted(0.1)), 1..400).prop_map(|packets| {
        let mut arrivals = Vec::new();
        let mut lost = BTreeSet::new();
        for (seq, (delay, is_lost)) in (0..).zip(packets) {
            if is_lost {
                lost.insert(seq);
            } else {
                arrivals.push((us(u64::from(seq) + delay), seq));
            }
        }
        arrivals.sort_unstable();
        (arrivals, lost)
    })
}

fn rules() -> impl Strategy<Value = PerFlowConfig> {
    let fixed = prop::option::of(1..30_u32);
    (fixed, 0..100_u64).prop_map(|(fixed, wait)| PerFlowConfig {
        window: Some(64),
        fixed,
        initial_wait: Duration::from_us(wait),
        ..CONFIG
    })
}

proptest! {
    /// Nothing is declared twice or after it arrived; after the end all that is lost is declared; what is declared and was
    /// not lost is counted.
    #[test]
    fn each_loss_is_declared_once((arrivals, lost) in stream(), config in rules()) {
        let mut detector = PerFlow::new(&config);
        let (mut declared, mut arrived) = (BTreeSet::new(), BTreeSet::new());
        for &(now, seq) in &arrivals {
            while let Some(at) = detector.poll_timeout().filter(|&at| at <= now) {
                for lost in detector.on_timeout(at) {
                    prop_assert!(declared.insert(lost) && !arrived.contains(&lost));
                }
            }
            arrived.insert(seq);
            for lost in detector.on_packet(now, seq, false) {
                prop_assert!(declared.insert(lost) && !arrived.contains(&lost));
            }
            prop_assert!(detector.poll_timeout().is_none_or(|at| at > now));
        }
        let end = (arrivals.len() + lost.len()) as u32;
        let now = us(100_000);
        for now in [now, now + MAX_WAIT] {
            for lost in detector.on_end(now, end) {
                prop_assert!(declared.insert(lost) && !arrived.contains(&lost));
            }
        }
        prop_assert_eq!(detector.poll_timeout(), None);
        prop_assert!(declared.is_superset(&lost));
        prop_assert_eq!(detector.false_losses() as usize, declared.len() - lost.len());
    }

    /// It makes no difference whether anyone asks for the losses.
    #[test]
    fn an_iterator_may_be_dropped(
        steps in prop::collection::vec((0..4_u32, 0..300_u32, any::<bool>()), 1..200),
        config in rules(),
        taken in 0..5_usize,
    ) {
        let mut detectors = [PerFlow::new(&config), PerFlow::new(&config)];
        let (mut now, mut base) = (us(0), 0);
        for (kind, step, is_far) in steps {
            now += Duration::from_us(u64::from(step % 7));
            base += if is_far { step } else { step % 3 };
            let [all, some] = &mut detectors;
            let (all, some) = match kind {
                0 => (all.on_end(now, base), some.on_end(now, base)),
                1 => (all.on_timeout(now), some.on_timeout(now)),
                _ => {
                    let seq = base.saturating_sub(step % 5);
                    (all.on_packet(now, seq, false), some.on_packet(now, seq, false))
                }
            };
            let mut whole = vec![];
            whole.extend(all);
            let part: Vec<_> = some.take(taken).collect();
            prop_assert_eq!(&whole[..taken.min(whole.len())], &part[..]);
            prop_assert_eq!(&detectors[0], &detectors[1]);
        }
    }
}
