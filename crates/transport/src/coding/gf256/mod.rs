//! Arithmetic in GF(2^8): single elements, and sums of products over long byte strings.
//!
//! A byte is a polynomial over GF(2) of degree below 8. Adding is XOR; multiplying is modulo
//! x^8 + x^4 + x^3 + x^2 + 1 (0x11d), of which x is a primitive element, the field that storage codes use.
//!
//! A code needs one operation on bytes, a product of a small matrix and a few rows of data (`combine`). It reads every
//! input once for up to four outputs, and runs on the best [`Kernel`] that the CPU has. All
//! kernels give the same bytes.
//!
//! This folder alone has `unsafe` code in this crate: vector instructions and their loads.
#![allow(unsafe_code, reason = "vector instructions; each block says what it relies on")]

mod field;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use field::{POLYNOMIAL, inv, mul};
pub use kernel::Kernel;

use alloc::vec::Vec;
use core::ops::Range;

/// Number of outputs that a kernel makes in one sweep over the inputs, at most.
const GROUP: usize = 4;
/// Bytes of input that are kept near while several groups of outputs read them: half of a small first-level cache.
const NEAR: usize = 16 << 10;

/// `outputs[r]` becomes the sum over `c` of `factors[r * inputs.len() + c]` x `inputs[c]`, byte by byte. An input
/// shorter than an output counts as zero beyond its end; what an input has beyond the end of an output is not read for
/// it.
///
/// # Panics
/// If the factors are not as many as inputs x outputs.
pub(crate) fn combine(kernel: Kernel, factors: &[u8], inputs: &[&[u8]], outputs: &mut [&mut [u8]]) {
    assert_eq!(factors.len(), inputs.len() * outputs.len(), "one factor for each input of each output");
    let mut start = 0;
    // Between two neighbouring ends, the same inputs and outputs have bytes.
    while let Some(end) = next_end(start, inputs, outputs) {
        if inputs.iter().all(|input| input.len() >= end) && outputs.iter().all(|out| out.len() >= end) {
            product(kernel, factors, inputs, outputs, start..end);
        } else {
            let (factors, inputs, mut outputs) = reaching(end, factors, inputs, outputs);
            product(kernel, &factors, &inputs, &mut outputs, start..end);
        }
        start = end;
    }
}

/// The nearest end beyond `start`; `None` if no output goes on.
fn next_end(start: usize, inputs: &[&[u8]], outputs: &[&mut [u8]]) -> Option<usize> {
    let output = outputs.iter().map(|output| output.len()).filter(|&end| end > start).min()?;
    let input = inputs.iter().map(|input| input.len()).filter(|&end| end > start).min();
    Some(input.map_or(output, |input| input.min(output)))
}

/// The factors, inputs and outputs of a product without the inputs and outputs that end before `end`.
fn reaching<'a, 'b>(
    end: usize,
    factors: &[u8],
    inputs: &[&'a [u8]],
    outputs: &'b mut [&mut [u8]],
) -> (Vec<u8>, Vec<&'a [u8]>, Vec<&'b mut [u8]>) {
    let columns = inputs.len();
    let (mut kept_factors, mut kept_outputs) = (Vec::new(), Vec::new());
    for (r, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.len() >= end) {
        let row = factors[r * columns..][..columns].iter().zip(inputs);
        kept_factors.extend(row.filter(|(_, input)| input.len() >= end).map(|(&factor, _)| factor));
        kept_outputs.push(&mut **output);
    }
    let kept_inputs = inputs.iter().copied().filter(|input| input.len() >= end).collect();
    (kept_factors, kept_inputs, kept_outputs)
}

/// `combine` over a range that every input and every output has.
fn product(kernel: Kernel, factors: &[u8], inputs: &[&[u8]], outputs: &mut [&mut [u8]], range: Range<usize>) {
    let columns = inputs.len();
    let block = match outputs.len() <= GROUP {
        true => range.len(),
        false => (NEAR / columns.max(1)).next_multiple_of(256),
    };
    let mut start = range.start;
    while start < range.end {
        // The last block takes what would be too little for one of its own.
        let end = if range.end - start < 2 * block { range.end } else { start + block };
        for (group, outputs) in outputs.chunks_mut(GROUP).enumerate() {
            let rows = &factors[group * GROUP * columns..][..outputs.len() * columns];
            kernel.run(rows, inputs, outputs, start..end);
        }
        start = end;
    }
}

#[cfg(test)]
mod tests;
