//! The kernel that runs everywhere: blocks of bytes are doubled and added. It has no tables, and the compiler makes
//! vector instructions of it where the target has any.

use super::POLYNOMIAL;
use core::ops::Range;

const BLOCK: usize = 64;

/// Makes the outputs over `range`, of which the last bytes may be less than a block.
pub(super) fn run<const R: usize>(
    factors: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]; R],
    range: Range<usize>,
) {
    for start in range.clone().step_by(BLOCK) {
        let end = range.end.min(start + BLOCK);
        let mut sums = [[0; BLOCK]; R];
        for (c, input) in inputs.iter().enumerate() {
            let mut multiple = [0; BLOCK];
            multiple[..end - start].copy_from_slice(&input[start..end]);
            let factors: [u8; R] = core::array::from_fn(|r| factors[r * inputs.len() + c]);
            for bit in 0..8 {
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    if factor >> bit & 1 == 1 {
                        sum.iter_mut().zip(&multiple).for_each(|(sum, byte)| *sum ^= byte);
                    }
                }
                multiple.iter_mut().for_each(|byte| *byte = double(*byte));
            }
        }
        for (output, sum) in outputs.iter_mut().zip(&sums) {
            output[start..end].copy_from_slice(&sum[..end - start]);
        }
    }
}

/// A byte times x.
#[inline]
const fn double(byte: u8) -> u8 {
    let carried = (byte as i8 >> 7) as u8;
    (byte << 1) ^ (carried & POLYNOMIAL as u8)
}
