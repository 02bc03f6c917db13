//! Encoder and decoder of an MDS (maximum-distance-separable) code: any `x` of `x` data and `y` parity segments give the data
//! back. It is systematic: data segments leave as they are.
//!
//! Parity `i` is the sum over `j` of c(i, j) x data `j` in GF(2^8), with
//!
//! ```text
//! c(i, j) = b_j / (a_i + b_j),   a_i = i,   b_j = 255 + j        (+ is XOR)
//! ```
//!
//! The matrix 1 / (a_i + b_j) is Cauchy's: the a and b are all different while x + y <= 256, and then each square part
//! of it has an inverse, which is what MDS asks for (Bloemer et al., "An XOR-based erasure-resilient coding scheme",
//! 1995, section 3). Scaling column `j` by b_j keeps that and makes the first row all ones: the first parity is the XOR
//! of the data, and codes with one parity multiply nothing. c(i, j) does not depend on x and y: a code with fewer
//! segments is one with more whose other data is zero.
//!
//! Its page: `docs/src/schemes/unorc.md`.

use super::gf256::{self, Kernel, combine};
use alloc::vec::Vec;

/// Segments of a block, at most: of data and parity together.
const MOST: usize = 255;

/// Why there is no such code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodeError {
    /// No data, or no parity.
    #[error(
        "a code of {data} data and {parity} parity segments protects nothing; give at least 1 of each, or use no code"
    )]
    Empty {
        /// Data segments.
        data: usize,
        /// Parity segments.
        parity: usize,
    },
    /// More segments than the field has elements for.
    #[error(
        "a code of {data} data and {parity} parity segments has more than {MOST} in all; use smaller blocks"
    )]
    TooLarge {
        /// Data segments.
        data: usize,
        /// Parity segments.
        parity: usize,
    },
}

/// Why lost segments cannot be reconstructed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// Fewer segments are there than the block has data.
    #[error(
        "{present} segments of a block do not give {needed} data segments; wait for more, or have them sent again"
    )]
    TooFew {
        /// Segments that are there.
        present: usize,
        /// Segments that it takes.
        needed: usize,
    },
}

/// Why segments were not coded; nothing was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CodingError {
    /// Another number of segments than the code has.
    #[error(
        "{got} {what} were given where the code has {expected}; give an empty segment for one that does not exist"
    )]
    Count {
        /// Which segments.
        what: &'static str,
        /// As many as there should be.
        expected: usize,
        /// As many as were given.
        got: usize,
    },
    /// Parity segments of different lengths.
    #[error(
        "parity segments of {first} and {other} bytes stand in one block; give all the length of its longest data"
    )]
    UnequalParity {
        /// Length of the first.
        first: usize,
        /// A different length.
        other: usize,
    },
    /// Data that goes on where the parity has ended.
    #[error(
        "a data segment of {len} bytes is not covered by parity of {parity}; give parity the length of the longest data"
    )]
    LongData {
        /// Length of the data segment.
        len: usize,
        /// Length of the parity segments.
        parity: usize,
    },
    /// Segments are lost, and too few are there.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A code of `data` and `parity` segments. Data segments are numbered from 0, and parity segments after them.
///
/// Data segments may be shorter than parity segments, down to empty: what is missing counts as zero. So the last block
/// of a message needs no padding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Code {
    data: usize,
    parity: usize,
    /// Factors of each parity segment, segment by segment.
    factors: Vec<u8>,
    kernel: Kernel,
}

impl Code {
    /// The code of this many segments, on the best kernel of this CPU.
    ///
    /// # Errors
    /// If there is no data, no parity, or more than 255 segments in all.
    pub fn new(data: usize, parity: usize) -> Result<Self, CodeError> {
        if data == 0 || parity == 0 {
            return Err(CodeError::Empty { data, parity });
        }
        if data.saturating_add(parity) > MOST {
            return Err(CodeError::TooLarge { data, parity });
        }
        let row = |i| (0..data).map(move |j| factor(i as u8, j as u8));
        let factors = (0..parity).flat_map(row).collect();
        Ok(Self { data, parity, factors, kernel: Kernel::best() })
    }

    /// Runs this code on `kernel`.
    #[must_use]
    pub fn on(self, kernel: Kernel) -> Self {
        Self { kernel, ..self }
    }

    /// Data segments of a block.
    #[must_use]
    pub const fn data(&self) -> usize {
        self.data
    }

    /// Parity segments of a block.
    #[must_use]
    pub const fn parity(&self) -> usize {
        self.parity
    }

    /// Makes all parity of a block.
    ///
    /// # Errors
    /// If the segments are not as many as the code has, parity segments differ in length, or one of the data is longer.
    pub fn encode(&self, data: &[&[u8]], parity: &mut [&mut [u8]]) -> Result<(), CodingError> {
        count("data segments", self.data, data.len())?;
        count("parity segments", self.parity, parity.len())?;
        fits(data.iter().map(|segment| segment.len()), parity.iter().map(|segment| segment.len()))?;
        combine(self.kernel, &self.factors, data, parity);
        Ok(())
    }

    /// How to reconstruct the lost data segments when those segments are there of which `is_present` says so. A plan
    /// holds for every block that lost the same segments.
    ///
    /// # Errors
    /// If fewer segments are there than the block has data.
    pub fn plan(&self, is_present: impl Fn(usize) -> bool) -> Result<Plan, PlanError> {
        let (present, lost): (Vec<usize>, Vec<usize>) = (0..self.data).partition(|&j| is_present(j));
        let parity: Vec<usize> =
            (0..self.parity).filter(|&i| is_present(self.data + i)).take(lost.len()).collect();
        if parity.len() < lost.len() {
            let present = present.len() + parity.len();
            return Err(PlanError::TooFew { present, needed: self.data });
        }
        let factors = self.decoding_factors(&present, &parity, &lost);
        let reads = present.into_iter().chain(parity.into_iter().map(|i| self.data + i)).collect();
        Ok(Plan { reads, makes: lost, data: self.data, factors, kernel: self.kernel })
    }

    /// Factors that make lost data of present data and as much parity.
    ///
    /// With C the parity's factors of present data and A those of lost data: parity = C present + A lost, so that
    /// lost = A^-1 C present + A^-1 parity (adding is subtracting).
    fn decoding_factors(&self, present: &[usize], parity: &[usize], lost: &[usize]) -> Vec<u8> {
        let n = lost.len();
        let factor = |i: usize, j: usize| self.factors[i * self.data + j];
        let mut a: Vec<u8> = Vec::with_capacity(n * n);
        a.extend(parity.iter().flat_map(|&i| lost.iter().map(move |&j| factor(i, j))));
        let inverse = invert(&mut a, n);
        let mut factors = Vec::with_capacity(n * self.data);
        for row in inverse.chunks(n.max(1)) {
            let term = |p: usize, j| gf256::mul(row[p], factor(parity[p], j));
            factors.extend(present.iter().map(|&j| (0..n).fold(0, |sum, p| sum ^ term(p, j))));
            factors.extend_from_slice(row);
        }
        factors
    }

    /// Reconstructs the lost data segments of a block: those that are `None`, in order. Lost parity is not made; `lost`
    /// may be shorter than parity where the data was.
    ///
    /// # Errors
    /// If the segments are not as many as the code has, `lost` is not as many as are lost, too few are there, or
    /// lengths do not go together as in [`Self::encode`].
    pub fn reconstruct(&self, segments: &[Option<&[u8]>], lost: &mut [&mut [u8]]) -> Result<(), CodingError> {
        count("segments", self.data + self.parity, segments.len())?;
        let plan = self.plan(|index| segments[index].is_some())?;
        let read: Vec<&[u8]> = plan.reads().iter().filter_map(|&index| segments[index]).collect();
        plan.reconstruct(&read, lost)
    }
}

/// How to reconstruct lost data segments: which segments to read, and their factors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    reads: Vec<usize>,
    makes: Vec<usize>,
    /// Data segments of a block: as many of the segments read are data as are not lost.
    data: usize,
    /// Factors of each lost segment, segment by segment.
    factors: Vec<u8>,
    kernel: Kernel,
}

impl Plan {
    /// The segments to read: data that is there, then as much parity as data is lost.
    #[must_use]
    pub fn reads(&self) -> &[usize] {
        &self.reads
    }

    /// The data segments that are reconstructed.
    #[must_use]
    pub fn makes(&self) -> &[usize] {
        &self.makes
    }

    /// Makes the segments of [`Self::makes`] from those of [`Self::reads`], both in their order.
    ///
    /// # Errors
    /// If the segments are not as many, parity segments differ in length, or a data segment, read or made, is longer.
    pub fn reconstruct(&self, read: &[&[u8]], lost: &mut [&mut [u8]]) -> Result<(), CodingError> {
        count("segments to read", self.reads.len(), read.len())?;
        count("lost segments", self.makes.len(), lost.len())?;
        if lost.is_empty() {
            return Ok(());
        }
        let (data, parity) = read.split_at(self.data - lost.len());
        let data = data.iter().map(|segment| segment.len()).chain(lost.iter().map(|segment| segment.len()));
        fits(data, parity.iter().map(|segment| segment.len()))?;
        combine(self.kernel, &self.factors, read, lost);
        Ok(())
    }
}

/// c(i, j): how often parity `i` counts data `j`.
fn factor(i: u8, j: u8) -> u8 {
    let b = 255 ^ j;
    gf256::mul(b, gf256::inv(i ^ b))
}

/// The inverse of an `n` x `n` matrix, row by row, by Gauss and Jordan. Of a matrix whose square parts all have
/// inverses, no pivot is ever zero.
fn invert(matrix: &mut [u8], n: usize) -> Vec<u8> {
    let mut inverse = alloc::vec![0; n * n];
    for k in 0..n {
        inverse[k * n + k] = 1;
    }
    for k in 0..n {
        let scale = gf256::inv(matrix[k * n + k]);
        for half in [&mut *matrix, &mut inverse] {
            half[k * n..][..n].iter_mut().for_each(|element| *element = gf256::mul(*element, scale));
        }
        for row in (0..n).filter(|&row| row != k) {
            let times = matrix[row * n + k];
            for half in [&mut *matrix, &mut inverse] {
                for column in 0..n {
                    half[row * n + column] ^= gf256::mul(times, half[k * n + column]);
                }
            }
        }
    }
    inverse
}

fn count(what: &'static str, expected: usize, got: usize) -> Result<(), CodingError> {
    if got == expected { Ok(()) } else { Err(CodingError::Count { what, expected, got }) }
}

/// Checks that parity is of one length and no data is longer.
fn fits(
    data: impl IntoIterator<Item = usize>,
    parity: impl IntoIterator<Item = usize>,
) -> Result<(), CodingError> {
    let mut parity = parity.into_iter();
    let first = parity.next().unwrap_or_default();
    if let Some(other) = parity.find(|&len| len != first) {
        return Err(CodingError::UnequalParity { first, other });
    }
    match data.into_iter().find(|&len| len > first) {
        Some(len) => Err(CodingError::LongData { len, parity: first }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
