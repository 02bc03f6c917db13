//! Every loss that a code must bear, against what was sent and against another implementation.

use super::*;
use farspan_units::{Purpose, Random};
use proptest::prelude::*;
use reed_solomon_erasure::galois_8;

/// Segments of random bytes.
fn segments(seed: u64, lens: &[usize]) -> Vec<Vec<u8>> {
    let mut random = Random::new(seed, Purpose::Test, 0);
    lens.iter().map(|&len| (0..len).map(|_| random.bits() as u8).collect()).collect()
}

fn slices(segments: &[Vec<u8>]) -> Vec<&[u8]> {
    segments.iter().map(Vec::as_slice).collect()
}

fn slices_mut(segments: &mut [Vec<u8>]) -> Vec<&mut [u8]> {
    segments.iter_mut().map(Vec::as_mut_slice).collect()
}

fn encode(code: &Code, data: &[Vec<u8>], len: usize) -> Vec<Vec<u8>> {
    let mut parity = alloc::vec![alloc::vec![0xaa; len]; code.parity()];
    code.encode(&slices(data), &mut slices_mut(&mut parity)).unwrap();
    parity
}

/// Loses segments and makes the data again.
fn check_loss(code: &Code, data: &[Vec<u8>], parity: &[Vec<u8>], is_lost: impl Fn(usize) -> bool) {
    let all = data.iter().chain(parity).enumerate();
    let there: Vec<Option<&[u8]>> =
        all.map(|(index, segment)| (!is_lost(index)).then_some(segment.as_slice())).collect();
    let lost: Vec<usize> = (0..code.data()).filter(|&j| is_lost(j)).collect();
    let mut made: Vec<Vec<u8>> = lost.iter().map(|&j| alloc::vec![0xaa; data[j].len()]).collect();
    code.reconstruct(&there, &mut slices_mut(&mut made)).unwrap();
    for (&j, made) in lost.iter().zip(&made) {
        assert!(*made == data[j], "{code:?}: data {j} of lost {lost:?}");
    }
}

/// All losses of at most `y` segments of a code, as masks.
fn losses(x: usize, y: usize) -> impl Iterator<Item = u32> {
    (0..1u32 << (x + y)).filter(move |mask| mask.count_ones() as usize <= y)
}

#[test]
fn every_loss_of_two_in_ten_is_repaired_by_every_kernel() {
    for kernel in Kernel::available() {
        let code = Code::new(8, 2).unwrap().on(kernel);
        let data = segments(1, &[1408; 8]);
        let parity = encode(&code, &data, 1408);
        let mut tried = 0;
        for mask in losses(8, 2) {
            check_loss(&code, &data, &parity, |index| mask >> index & 1 == 1);
            tried += 1;
        }
        assert_eq!(tried, 1 + 10 + 45);
    }
}

#[test]
fn small_codes_repair_every_loss() {
    for (x, y) in [(1, 1), (1, 4), (2, 3), (4, 1), (3, 3), (5, 4), (10, 4)] {
        let code = Code::new(x, y).unwrap();
        let data = segments(2, &alloc::vec![33; x]);
        let parity = encode(&code, &data, 33);
        for mask in losses(x, y) {
            check_loss(&code, &data, &parity, |index| mask >> index & 1 == 1);
        }
    }
}

#[test]
fn the_first_parity_is_the_xor_of_the_data() {
    let code = Code::new(8, 2).unwrap();
    assert!(code.factors[..8].iter().all(|&factor| factor == 1));
    // The other factors are part of what both ends must agree on.
    assert_eq!(code.factors[8..], [127, 252, 126, 254, 233, 116, 67, 213]);
}

#[test]
fn a_code_with_fewer_pieces_is_one_with_more_whose_other_data_is_zero() {
    let (small, large) = (Code::new(3, 2).unwrap(), Code::new(20, 4).unwrap());
    let mut data = segments(3, &[50; 3]);
    let parity = encode(&small, &data, 50);
    data.resize(20, Vec::new());
    assert_eq!(encode(&large, &data, 50)[..2], parity);
}

#[test]
fn a_code_that_cannot_be_is_refused() {
    assert_eq!(Code::new(0, 2), Err(CodeError::Empty { data: 0, parity: 2 }));
    assert_eq!(Code::new(8, 0), Err(CodeError::Empty { data: 8, parity: 0 }));
    assert_eq!(Code::new(250, 6), Err(CodeError::TooLarge { data: 250, parity: 6 }));
    assert_eq!(Code::new(usize::MAX, 2), Err(CodeError::TooLarge { data: usize::MAX, parity: 2 }));
    assert!(Code::new(250, 5).is_ok() && Code::new(1, 254).is_ok());
}

#[test]
fn pieces_that_do_not_go_together_are_refused_and_nothing_is_written() {
    let code = Code::new(2, 2).unwrap();
    let refused = |data: &[usize], parity: &[usize]| {
        let mut out: Vec<Vec<u8>> = parity.iter().map(|&len| alloc::vec![0xaa; len]).collect();
        let error = code.encode(&slices(&segments(5, data)), &mut slices_mut(&mut out)).unwrap_err();
        assert!(out.iter().flatten().all(|&byte| byte == 0xaa));
        error
    };
    assert_eq!(refused(&[9], &[9, 9]), CodingError::Count { what: "data segments", expected: 2, got: 1 });
    assert_eq!(refused(&[9, 9], &[9]), CodingError::Count { what: "parity segments", expected: 2, got: 1 });
    assert_eq!(refused(&[9, 9], &[9, 8]), CodingError::UnequalParity { first: 9, other: 8 });
    assert_eq!(refused(&[9, 8], &[8, 8]), CodingError::LongData { len: 9, parity: 8 });
    let segment = [0; 9];
    let reconstruct = |there: &[Option<&[u8]>], lens: &[usize]| {
        let mut out: Vec<Vec<u8>> = lens.iter().map(|&len| alloc::vec![0; len]).collect();
        code.reconstruct(there, &mut slices_mut(&mut out)).unwrap_err()
    };
    let some = Some(&segment[..]);
    let count = |what, expected, got| CodingError::Count { what, expected, got };
    assert_eq!(reconstruct(&[some; 3], &[]), count("segments", 4, 3));
    assert_eq!(reconstruct(&[None, some, some, some], &[9, 9]), count("lost segments", 1, 2));
    let too_few = PlanError::TooFew { present: 1, needed: 2 };
    assert_eq!(reconstruct(&[None, None, None, some], &[9, 9]), CodingError::Plan(too_few));
    let long = CodingError::LongData { len: 10, parity: 9 };
    assert_eq!(reconstruct(&[None, some, some, None], &[10]), long);
    let unequal = CodingError::UnequalParity { first: 9, other: 8 };
    assert_eq!(reconstruct(&[None, None, some, Some(&segment[..8])], &[8, 8]), unequal);
}

#[test]
fn the_field_is_that_of_another_implementation() {
    for a in 0..=255 {
        for b in 0..=255 {
            assert_eq!(gf256::mul(a, b), galois_8::mul(a, b));
        }
    }
}

/// The code of the other implementation: its factors, read off what it makes of unit vectors.
fn peer_code(peer: &galois_8::ReedSolomon, x: usize, y: usize) -> Code {
    let mut code = Code::new(x, y).unwrap();
    for j in 0..x {
        let mut shards: Vec<Vec<u8>> = (0..x + y).map(|n| alloc::vec![u8::from(n == j)]).collect();
        peer.encode(&mut shards).unwrap();
        for i in 0..y {
            code.factors[i * x + j] = shards[x + i][0];
        }
    }
    code
}

#[test]
fn what_another_implementation_encoded_is_decoded_by_its_factors_and_the_reverse() {
    for (x, y) in [(8, 2), (10, 4), (4, 1)] {
        let peer = galois_8::ReedSolomon::new(x, y).unwrap();
        let code = peer_code(&peer, x, y);
        let data = segments(6, &alloc::vec![301; x]);
        let mut shards = data.clone();
        shards.resize(x + y, alloc::vec![0; 301]);
        peer.encode(&mut shards).unwrap();
        let parity = encode(&code, &data, 301);
        assert_eq!(parity, shards[x..], "the same factors give the same parity");
        for mask in losses(x, y) {
            let is_lost = |index: usize| mask >> index & 1 == 1;
            check_loss(&code, &data, &shards[x..], is_lost);
            let mut theirs: Vec<_> = (0..x + y)
                .map(|n| (!is_lost(n)).then(|| if n < x { &data[n] } else { &parity[n - x] }.clone()))
                .collect();
            peer.reconstruct_data(&mut theirs).unwrap();
            assert!((0..x).all(|j| theirs[j].as_ref() == Some(&data[j])));
        }
    }
}

/// A code, lengths of its data of which the longest is that of parity, and which segments are lost.
fn any_loss() -> impl Strategy<Value = (usize, usize, Vec<usize>, Vec<usize>)> {
    (1usize..255).prop_flat_map(|x| (Just(x), 1..=255 - x)).prop_flat_map(|(x, y)| {
        let lens = prop::collection::vec(prop_oneof![9 => Just(200usize), 1 => 0usize..200], x);
        let order = Just((0..x + y).collect::<Vec<_>>()).prop_shuffle();
        (Just(x), Just(y), lens, (order, 0..=y).prop_map(|(order, lost)| order[..lost].to_vec()))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_code_repairs_any_loss_that_it_must((x, y, lens, lost) in any_loss(), seed in any::<u64>()) {
        let code = Code::new(x, y).unwrap();
        let data = segments(seed, &lens);
        let parity = encode(&code, &data, 200);
        check_loss(&code, &data, &parity, |index| lost.contains(&index));
    }

    #[test]
    fn one_loss_too_many_is_refused((x, y, _, _) in any_loss(), seed in any::<u64>()) {
        let code = Code::new(x, y).unwrap();
        let first = seed as usize % x;
        let is_lost = |index: usize| index == first || index >= x;
        let refused = code.plan(|index| !is_lost(index));
        prop_assert_eq!(refused, Err(PlanError::TooFew { present: x - 1, needed: x }));
    }
}
