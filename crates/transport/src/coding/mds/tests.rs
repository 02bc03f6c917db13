//! Every loss that a code must bear, against what was sent and against a slow implementation by another way.

use super::*;
use farspan_units::{Purpose, Random};
use proptest::prelude::*;

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

/// The field and the code once more, slowly and by another way: products bit by bit modulo x^8 + x^4 + x^3 + x^2 + 1, inverses
/// by search, and decoding by Gauss's elimination over the equations of all segments that are there, one byte at a time.
mod slow {
    use alloc::vec::Vec;

    pub fn mul(mut a: u8, mut b: u8) -> u8 {
        let mut product = 0;
        while b != 0 {
            if b & 1 == 1 {
                product ^= a;
            }
            let overflows = a & 0x80 != 0;
            a <<= 1;
            if overflows {
                a ^= 0x1d;
            }
            b >>= 1;
        }
        product
    }

    pub fn inv(a: u8) -> u8 {
        (1..=255).find(|&b| mul(a, b) == 1).expect("only zero has none")
    }

    /// How often segment `row` counts data `j`: data as it is, then parity as the module's first page says.
    pub fn factor(x: usize, row: usize, j: usize) -> u8 {
        match row.checked_sub(x) {
            None => u8::from(row == j),
            Some(i) => {
                let b = 255 ^ j as u8;
                mul(b, inv(i as u8 ^ b))
            }
        }
    }

    /// All segments of a block of this data.
    pub fn encode(data: &[Vec<u8>], y: usize) -> Vec<Vec<u8>> {
        let (x, len) = (data.len(), data[0].len());
        let sum = |row, at: usize| (0..x).fold(0, |sum, j| sum ^ mul(factor(x, row, j), data[j][at]));
        (0..x + y).map(|row| (0..len).map(|at| sum(row, at)).collect()).collect()
    }

    /// The data of a block of which these segments are there, by number; `None` if they do not determine it.
    pub fn decode(x: usize, there: &[(usize, &[u8])]) -> Option<Vec<Vec<u8>>> {
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = there
            .iter()
            .map(|(row, bytes)| ((0..x).map(|j| factor(x, *row, j)).collect(), bytes.to_vec()))
            .collect();
        for j in 0..x {
            let pivot = (j..rows.len()).find(|&row| rows[row].0[j] != 0)?;
            rows.swap(j, pivot);
            let scale = inv(rows[j].0[j]);
            let (left, right) = &mut rows[j];
            left.iter_mut().chain(right).for_each(|element| *element = mul(*element, scale));
            let (left, right) = rows[j].clone();
            for (_, other) in rows.iter_mut().enumerate().filter(|(row, _)| *row != j) {
                let times = other.0[j];
                other.0.iter_mut().zip(&left).for_each(|(a, b)| *a ^= mul(times, *b));
                other.1.iter_mut().zip(&right).for_each(|(a, b)| *a ^= mul(times, *b));
            }
        }
        Some(rows.into_iter().take(x).map(|(_, bytes)| bytes).collect())
    }
}

#[test]
fn the_field_is_that_of_products_bit_by_bit() {
    for a in 0..=255 {
        for b in 0..=255 {
            assert_eq!(gf256::mul(a, b), slow::mul(a, b));
        }
        assert!(a == 0 || gf256::inv(a) == slow::inv(a));
    }
}

#[test]
fn parity_and_repairs_are_those_of_plain_elimination() {
    for (x, y) in [(8, 2), (10, 4), (4, 1), (3, 5)] {
        let code = Code::new(x, y).unwrap();
        let data = segments(6, &alloc::vec![5; x]);
        let all = slow::encode(&data, y);
        assert_eq!(encode(&code, &data, 5), all[x..]);
        for mask in losses(x, y) {
            let is_lost = |index: usize| mask >> index & 1 == 1;
            check_loss(&code, &data, &all[x..], is_lost);
            let there: Vec<_> = (0..x + y).filter(|&n| !is_lost(n)).map(|n| (n, all[n].as_slice())).collect();
            assert_eq!(slow::decode(x, &there).as_ref(), Some(&data));
            if there.len() == x {
                assert_eq!(slow::decode(x, &there[1..]), None, "one loss too many");
            }
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
