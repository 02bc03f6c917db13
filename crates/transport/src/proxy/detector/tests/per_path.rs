use crate::proxy::detector::{LostNumbers, PerPath, PerPathConfig};
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::Bytes;
use proptest::prelude::*;

fn detector() -> PerPath {
    PerPath::new(&PerPathConfig::default())
}

/// A detector whose path 0 has come to the number `next`.
fn at(next: u16) -> PerPath {
    let mut detector = detector();
    detector.on_end(0, next / 2);
    detector.on_end(0, next);
    detector
}

fn lost(path: u8, first: u16, count: u16) -> LostNumbers {
    LostNumbers { path, first, count }
}

#[test]
fn a_gap_is_a_loss_at_the_very_next_packet_of_its_path() {
    let mut detector = detector();
    assert!(detector.on_packet(3, 0).is_empty());
    assert!(detector.on_packet(4, 0).is_empty());
    assert_eq!(detector.on_packet(3, 3), lost(3, 1, 2));
    assert!(detector.on_packet(3, 4).is_empty());
    assert!(detector.on_packet(4, 1).is_empty());
}

#[test]
fn packets_before_the_first_that_arrives_are_lost() {
    assert_eq!(detector().on_packet(0, 2), lost(0, 0, 2));
}

#[test]
fn what_repeats_or_lies_behind_shows_nothing() {
    let mut detector = detector();
    detector.on_packet(0, 7);
    for number in [7, 0, 3, 7] {
        assert!(detector.on_packet(0, number).is_empty());
    }
    assert!(detector.on_packet(0, 8).is_empty(), "and changes nothing");
}

#[test]
fn a_path_that_the_flow_does_not_have_shows_nothing() {
    assert!(detector().on_packet(8, 5).is_empty());
    assert!(detector().on_packet(255, 5).is_empty());
}

#[test]
fn bursts_up_to_half_of_the_numbers_are_found_wherever_they_begin() {
    for next in [0, 1, 0x7fff, 0x8000, 0xfff0, 0xffff] {
        for count in [0, 1, 0x7fff, 0x8000] {
            let mut detector = at(next);
            assert_eq!(detector.on_packet(0, next.wrapping_add(count)), lost(0, next, count));
            assert!(detector.on_packet(0, next.wrapping_add(count).wrapping_add(1)).is_empty());
        }
        assert!(at(next).on_packet(0, next.wrapping_add(0x8001)).is_empty());
    }
}

#[test]
fn a_range_of_numbers_wraps() {
    assert_eq!(lost(0, 0xfffe, 3).numbers().collect::<Vec<_>>(), [0xfffe, 0xffff, 0]);
}

#[test]
fn the_end_of_a_burst_shows_its_tail_once() {
    let mut detector = detector();
    detector.on_packet(2, 0);
    assert_eq!(detector.on_end(2, 3), lost(2, 1, 2));
    assert!(detector.on_end(2, 3).is_empty());
    assert!(detector.on_packet(2, 3).is_empty());
}

#[test]
fn eight_paths_take_at_most_128_bytes() {
    assert_eq!(
        detector().state_bytes(),
        Bytes::new(24 + 2 * 8),
        "bench/detector.py says so; eight paths may take 128"
    );
}

#[test]
fn paths_out_of_range_are_refused() {
    assert!(PerPathConfig::default().check().is_ok());
    assert!([0, 65].iter().all(|&paths| PerPathConfig { paths }.check().is_err()));
}

/// Whether each packet of each path is lost.
fn fates() -> impl Strategy<Value = Vec<Vec<bool>>> {
    let path = (0.0..0.9).prop_flat_map(|loss| prop::collection::vec(prop::bool::weighted(loss), 0..80));
    prop::collection::vec(path, 1..=8)
}

proptest! {
    /// However paths interleave: each packet shows what is lost between it and the one before it on its path.
    #[test]
    fn losses_are_found_at_once_and_nothing_else_is(
        fates in fates(),
        starts in prop::collection::vec(any::<u16>(), 8),
        order in prop::collection::vec(0..8_usize, 1000),
    ) {
        let mut detector = detector();
        for (path, start) in starts.iter().enumerate() {
            detector.on_end(path as u8, start / 2);
            detector.on_end(path as u8, *start);
        }
        let mut sent = vec![0; fates.len()];
        let mut missing = vec![Vec::new(); fates.len()];
        for path in order {
            let Some(&is_lost) = fates.get(path).and_then(|fates| fates.get(sent[path])) else { continue };
            let number = starts[path].wrapping_add(sent[path] as u16);
            sent[path] += 1;
            if is_lost {
                missing[path].push(number);
                continue;
            }
            let found = detector.on_packet(path as u8, number);
            prop_assert_eq!(found.path, path as u8);
            prop_assert_eq!(found.numbers().collect::<Vec<_>>(), core::mem::take(&mut missing[path]));
        }
    }

    /// Gaps of any length up to half of the numbers, often enough to wrap many times.
    #[test]
    fn long_bursts_are_found_across_wraps(
        steps in prop::collection::vec(
            (0..8_u8, prop_oneof![4 => Just(0_u16), 2 => 1..8_u16, 2 => 0..=0x8000_u16]),
            1..400,
        ),
    ) {
        let mut detector = detector();
        let mut next = [0_u16; 8];
        for (path, count) in steps {
            let first = next[usize::from(path)];
            let number = first.wrapping_add(count);
            next[usize::from(path)] = number.wrapping_add(1);
            prop_assert_eq!(detector.on_packet(path, number), lost(path, first, count));
        }
    }
}
