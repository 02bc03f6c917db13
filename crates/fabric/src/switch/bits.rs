//! Sets of ports, one bit each.

/// The positions of the bits that are set in one 64-bit element of such a set.
#[inline(always)]
pub(super) fn ones(word: usize, mut bits: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(word * 64 + bit)
    })
}
