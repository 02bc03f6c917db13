//! The loop that all vector kernels share; what a vector is, each instruction set says.

use core::ops::Range;

/// A vector of bytes of one instruction set.
///
/// # Safety
/// The methods may be called only where the CPU has that instruction set, and `load` and `store` only with pointers to
/// [`Self::BYTES`] bytes that may be read or written. They are inlined into functions that enable the instruction set.
pub(super) unsafe trait Vector: Copy {
    /// A factor as multiplication takes it.
    type Factor: Copy;
    /// Bytes of a vector.
    const BYTES: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn factor(factor: u8) -> Self::Factor;
    /// `self` + `other`.
    unsafe fn add(self, other: Self) -> Self;
    /// `self` x `factor`.
    unsafe fn times(self, factor: Self::Factor) -> Self;
}

/// Makes `R` outputs over `range`, `U` vectors of each at a time. `SUM`: the factors of the first output are all one,
/// and need no multiplication.
///
/// # Safety
/// The CPU has the instruction set of `V`; every input and output reaches the end of the range, which is at least a
/// vector long; there are `R` factors for each input, output by output.
#[inline(always)]
pub(super) unsafe fn run<V: Vector, const R: usize, const U: usize, const SUM: bool>(
    factors: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]; R],
    range: Range<usize>,
) {
    let Range { start: mut at, end } = range;
    // SAFETY: `at` and what a step covers from there stay within the range, that is, within every input and output.
    unsafe {
        while end - at >= U * V::BYTES {
            step::<V, R, U, SUM>(factors, inputs, outputs, at);
            at += U * V::BYTES;
        }
        while end - at >= V::BYTES {
            step::<V, R, 1, SUM>(factors, inputs, outputs, at);
            at += V::BYTES;
        }
        if at < end {
            // Some bytes are made again, to the same values: outputs depend on inputs alone.
            step::<V, R, 1, SUM>(factors, inputs, outputs, end - V::BYTES);
        }
    }
}

/// `U` vectors of each output, from the byte `at`.
///
/// # Safety
/// As [`run`], and `U` vectors from `at` lie within every input and output.
#[inline(always)]
unsafe fn step<V: Vector, const R: usize, const U: usize, const SUM: bool>(
    factors: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]; R],
    at: usize,
) {
    // SAFETY: the caller vouches for the instruction set and the lengths of inputs, outputs and factors.
    unsafe {
        let mut sums = [[V::zero(); U]; R];
        for (c, input) in inputs.iter().enumerate() {
            let mut data = [V::zero(); U];
            for (u, data) in data.iter_mut().enumerate() {
                *data = V::load(input.as_ptr().add(at + u * V::BYTES));
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                if SUM && r == 0 {
                    for (sum, data) in sums.iter_mut().zip(&data) {
                        *sum = sum.add(*data);
                    }
                } else {
                    let factor = V::factor(*factors.get_unchecked(r * inputs.len() + c));
                    for (sum, data) in sums.iter_mut().zip(&data) {
                        *sum = sum.add(data.times(factor));
                    }
                }
            }
        }
        for (output, sums) in outputs.iter_mut().zip(&sums) {
            for (u, sum) in sums.iter().enumerate() {
                sum.store(output.as_mut_ptr().add(at + u * V::BYTES));
            }
        }
    }
}
