//! Detectors against sprayed flows whose losses are known.

use crate::proxy::detector::testing::{PACKET_TIME, Score, SprayedFlow, arrivals, per_flow, per_path};
use crate::proxy::detector::{PerFlow, PerFlowConfig, PerPathConfig};
use alloc::vec::Vec;
use farspan_units::Duration;

const SEEDS: core::ops::RangeInclusive<u64> = 1..=12;

/// Student's t for a two-sided interval of 95% and 11 degrees of freedom.
const T: f64 = 2.201;

/// The interval of the paired ratio of errors, by the mean of its logarithm. Half an error is added to each count.
fn ratio(pairs: &[(u64, u64)]) -> (f64, f64) {
    let logs: Vec<_> = pairs.iter().map(|&(a, b)| libm::log((a as f64 + 0.5) / (b as f64 + 0.5))).collect();
    let n = logs.len() as f64;
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let half = T * libm::sqrt(variance / n);
    (libm::exp(mean - half), libm::exp(mean + half))
}

fn adaptive(window: u32) -> PerFlowConfig {
    PerFlowConfig { window: Some(window), ..PerFlowConfig::default() }
}

/// A threshold of three that takes at least as much memory as the adaptive rule with this window.
fn threshold(window: u32) -> PerFlowConfig {
    let bytes = |config: &PerFlowConfig| PerFlow::new(config).state_bytes();
    let fixed = |window| PerFlowConfig { window: Some(window), fixed: Some(3), ..PerFlowConfig::default() };
    let windows = (6..=16).map(|bits| fixed(1 << bits));
    windows.into_iter().find(|config| bytes(config) >= bytes(&adaptive(window))).unwrap()
}

fn short(spread: u64, loss: f64) -> SprayedFlow {
    SprayedFlow { packets: 6000, ..SprayedFlow::new(spread, loss) }
}

/// Errors of the adaptive rule and of the threshold, for each seed.
fn paired(flow: &SprayedFlow, window: u32) -> Vec<(u64, u64)> {
    let errors = |seed| {
        let packets = flow.packets(seed);
        let (ours, theirs) = (per_flow(&packets, &adaptive(window)), per_flow(&packets, &threshold(window)));
        assert!(ours.bytes <= theirs.bytes);
        (ours.errors(), theirs.errors())
    };
    SEEDS.map(errors).collect()
}

#[test]
fn packets_of_a_path_keep_their_order() {
    let packets = SprayedFlow::new(64, 0.01).packets(1);
    for path in 0..8 {
        let on_path = packets.iter().filter(|packet| packet.path == path);
        assert!(on_path.clone().zip(0..).all(|(packet, n)| packet.number == n));
        assert!(on_path.filter_map(|packet| packet.at).is_sorted_by(|a, b| a < b));
    }
}

#[test]
fn losses_are_as_many_and_as_long_as_asked_for() {
    for (loss, burst) in [(0.1, 1.0), (0.1, 8.0), (0.01, 8.0)] {
        let flow = SprayedFlow { packets: 200_000, burst, ..SprayedFlow::new(1, loss) };
        let packets = flow.packets(1);
        let lost = packets.iter().filter(|packet| packet.at.is_none()).count() as f64;
        assert!((0.85..1.15).contains(&(lost / 200_000.0 / loss)), "{lost} of 200,000 at {loss}");
        let mut runs = 0.0;
        for path in 0..8 {
            let on_path: Vec<_> = packets.iter().filter(|packet| packet.path == path).collect();
            runs +=
                on_path.windows(2).filter(|pair| pair[0].at.is_some() && pair[1].at.is_none()).count() as f64;
        }
        let expected = if burst > 1.0 { burst } else { 1.0 / (1.0 - loss) };
        assert!((0.85..1.15).contains(&(lost / runs / expected)), "{} in a row", lost / runs);
    }
}

#[test]
fn reordering_is_as_far_as_asked_for() {
    let share = |spread| {
        let (mut highest, mut reordered) = (0, 0);
        for (_, packet) in arrivals(&SprayedFlow::new(spread, 0.0).packets(1)) {
            reordered += u32::from(packet.seq < highest);
            highest = highest.max(packet.seq);
        }
        f64::from(reordered) / 20_000.0
    };
    assert!(share(0) == 0.0 && share(1) < share(4) && share(4) < share(16) && share(16) > 0.3);
}

#[test]
fn numbers_per_path_find_each_loss_at_once_and_no_other() {
    for spread in [0, 1, 4, 16, 64] {
        for (loss, burst) in [(1e-4, 1.0), (1e-2, 1.0), (1e-2, 8.0), (0.1, 1.0), (0.1, 8.0)] {
            let flow = SprayedFlow { burst, ..short(spread, loss) };
            for seed in SEEDS {
                let score = per_path(&flow.packets(seed), &PerPathConfig::default());
                let expected = Score { losses: score.losses, tail: score.tail, ..Score::default() };
                assert_eq!(Score { bytes: expected.bytes, ..score }, expected, "{flow:?}");
                assert!(score.bytes.get() <= 128);
            }
        }
    }
}

#[test]
fn at_equal_bytes_the_adaptive_rule_errs_less_than_a_threshold_of_three() {
    for window in [64, 256, 1024, 4096] {
        for spread in [4, 16, 64] {
            for (loss, burst) in [(1e-4, 1.0), (1e-3, 1.0), (1e-2, 8.0), (0.1, 1.0)] {
                let flow = SprayedFlow { burst, ..short(spread, loss) };
                let (low, high) = ratio(&paired(&flow, window));
                assert!(high < 1.0, "{low:.4} to {high:.4} with {window} packets and {flow:?}");
            }
        }
    }
}

#[test]
fn without_reordering_the_adaptive_rule_errs_no_more() {
    for spread in [0, 1] {
        for loss in [1e-4, 1e-3, 1e-2, 0.1] {
            for (ours, theirs) in paired(&short(spread, loss), 1024) {
                assert!(ours <= theirs, "{ours} and {theirs} at {loss} and {spread}");
            }
        }
    }
}

#[test]
fn it_errs_less_under_long_tails_and_pauses_too() {
    let flow = SprayedFlow { jitter: PACKET_TIME * 32, ..short(16, 0.01) };
    let pause = PACKET_TIME * 1000;
    let cases =
        [(flow, 0.01), (SprayedFlow { pause, ..flow }, 0.1), (SprayedFlow { pause, ..short(0, 0.01) }, 1.0)];
    for (flow, most) in cases {
        let (low, high) = ratio(&paired(&flow, 1024));
        assert!(high < most, "{low:.4} to {high:.4} with {flow:?}");
    }
}

#[test]
fn what_another_flow_has_shown_spares_a_new_one_the_learning() {
    let spread = PACKET_TIME * 64;
    let false_losses = |initial_wait| -> u64 {
        let config = PerFlowConfig { initial_wait, ..adaptive(1024) };
        SEEDS.map(|seed| per_flow(&short(64, 0.01).packets(seed), &config).false_losses).sum()
    };
    assert!(false_losses(Duration::ZERO) > 50);
    assert_eq!(false_losses(spread * 2), 0);
}
