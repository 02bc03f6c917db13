//! Every kernel against products made byte by byte.

use super::*;
use farspan_units::{Purpose, Random};
use proptest::prelude::*;

/// One of so many cases is run: Miri takes a thousand times as long for each.
const STRIDE: usize = if cfg!(miri) { 85 } else { 1 };

/// Bytes from a seed.
fn bytes(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed, Purpose::Test, len as u64);
    (0..len).map(|_| random.bits() as u8).collect()
}

/// The expected result of `combine`, byte by byte.
fn expected(factors: &[u8], inputs: &[&[u8]], output: usize, len: usize) -> Vec<u8> {
    let row = &factors[output * inputs.len()..][..inputs.len()];
    let at = |b: usize| {
        let terms = row.iter().zip(inputs).map(|(&factor, input)| mul(factor, *input.get(b).unwrap_or(&0)));
        terms.fold(0, |sum, term| sum ^ term)
    };
    (0..len).map(at).collect()
}

/// Runs one kernel over inputs that start `shift` bytes into their buffers, and holds it against the expected bytes.
fn check(kernel: Kernel, factors: &[u8], inputs: &[&[u8]], lens: &[usize], shift: usize) {
    // What lies around an output must stay as it was.
    let mut buffers: Vec<Vec<u8>> = lens.iter().map(|len| alloc::vec![0xaa; shift + len + 70]).collect();
    let mut outputs: Vec<&mut [u8]> =
        buffers.iter_mut().zip(lens).map(|(buffer, len)| &mut buffer[shift..shift + len]).collect();
    combine(kernel, factors, inputs, &mut outputs);
    for (r, (buffer, &len)) in buffers.iter().zip(lens).enumerate() {
        assert!(
            buffer[shift..shift + len] == expected(factors, inputs, r, len),
            "{kernel}: output {r} of {} from {} inputs, {len} bytes, shift {shift}",
            lens.len(),
            inputs.len()
        );
        assert!(buffer[..shift].iter().chain(&buffer[shift + len..]).all(|&byte| byte == 0xaa));
    }
}

#[test]
fn every_kernel_multiplies_every_byte_by_every_factor() {
    let all: Vec<u8> = (0..=255).collect();
    for kernel in Kernel::available() {
        for factor in (0..=255).step_by(STRIDE) {
            check(kernel, &[factor], &[&all], &[256], 0);
        }
    }
}

#[test]
fn every_kernel_gives_every_length_at_every_alignment() {
    for kernel in Kernel::available() {
        for len in (0..=300).step_by(STRIDE) {
            let shift = len % 67;
            let buffer = bytes(1, 3 * len + shift);
            let inputs: Vec<&[u8]> = (0..3).map(|c| &buffer[shift + c * len..][..len]).collect();
            check(kernel, &[1, 1, 1, 2, 143, 255], &inputs, &[len; 2], shift);
        }
    }
}

#[test]
fn large_products_are_made_in_blocks() {
    let (columns, rows, kernels) = if cfg!(miri) { (11, 5, 1) } else { (200, 11, usize::MAX) };
    for kernel in Kernel::available().take(kernels) {
        let buffers: Vec<_> = (0..columns).map(|c| bytes(c, 1500)).collect();
        let inputs: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        check(kernel, &bytes(7, inputs.len() * rows), &inputs, &alloc::vec![1500; rows], 3);
    }
}

#[test]
fn the_best_kernel_is_the_first_and_each_has_a_name() {
    assert_eq!(Kernel::available().next(), Some(Kernel::best()));
    assert_eq!(Kernel::best(), Kernel::best());
    for kernel in Kernel::available() {
        assert_eq!(Kernel::by_name(kernel.name()), Some(kernel));
    }
    assert!(Kernel::by_name("portable").is_some());
    assert_eq!(Kernel::by_name("abacus"), None);
}

proptest! {
    #[test]
    fn kernels_agree_on_ragged_inputs_and_outputs(
        seed in any::<u64>(),
        input_lens in prop::collection::vec(prop_oneof![Just(400usize), 0usize..400], 0..12),
        output_lens in prop::collection::vec(prop_oneof![Just(400usize), 0usize..500], 0..7),
        first_is_sum in any::<bool>(),
        shift in 0usize..64,
    ) {
        let buffers: Vec<_> = input_lens.iter().map(|len| bytes(seed, shift + len)).collect();
        let inputs: Vec<&[u8]> = buffers.iter().map(|buffer| &buffer[shift..]).collect();
        let mut factors = bytes(seed ^ 1, inputs.len() * output_lens.len());
        if first_is_sum {
            factors.iter_mut().take(inputs.len()).for_each(|factor| *factor = 1);
        }
        for kernel in Kernel::available() {
            check(kernel, &factors, &inputs, &output_lens, shift);
        }
    }
}
