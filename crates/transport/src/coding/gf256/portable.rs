//! The kernel that runs everywhere: eight bytes in a word, doubled together. It has no tables, and the compiler makes
//! vector instructions of it where the target has any.

use core::ops::Range;

const WORDS: usize = 8;
const BLOCK: usize = WORDS * 8;

type Words = [u64; WORDS];

/// Makes the outputs over `range`, of which the last bytes may be less than a block.
pub(super) fn run<const R: usize>(
    factors: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]; R],
    range: Range<usize>,
) {
    for start in range.clone().step_by(BLOCK) {
        let end = range.end.min(start + BLOCK);
        let mut sums = [[0; WORDS]; R];
        for (c, input) in inputs.iter().enumerate() {
            let mut multiple = load(&input[start..end]);
            for bit in 0..8 {
                for (r, sum) in sums.iter_mut().enumerate() {
                    let mask = u64::from(factors[r * inputs.len() + c] >> bit & 1).wrapping_neg();
                    for (sum, word) in sum.iter_mut().zip(multiple) {
                        *sum ^= word & mask;
                    }
                }
                multiple = multiple.map(double);
            }
        }
        for (output, sum) in outputs.iter_mut().zip(sums) {
            store(sum, &mut output[start..end]);
        }
    }
}

/// Every byte of a word times x.
#[inline]
const fn double(word: u64) -> u64 {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let carried = (word & HIGH) >> 7;
    ((word & !HIGH) << 1) ^ (carried * (super::POLYNOMIAL as u64 & 0xff))
}

/// Up to a block of bytes, the rest zero.
#[inline]
fn load(bytes: &[u8]) -> Words {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*bytes);
    }
    words
}

/// As many bytes of the words as there is room for.
#[inline]
fn store(words: Words, bytes: &mut [u8]) {
    let mut block = [0; BLOCK];
    for (bytes, word) in block.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_ne_bytes();
    }
    bytes.copy_from_slice(&block[..bytes.len()]);
}
