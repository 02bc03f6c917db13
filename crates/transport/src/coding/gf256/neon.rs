//! The kernel for 64-bit ARM, which always has NEON: `tbl` looks up the products of both nibbles of a byte.

use super::field::NIBBLES;
use super::vector::{self, Vector};
use core::arch::aarch64::*;
use core::ops::Range;

#[derive(Clone, Copy)]
struct Neon(uint8x16_t);

// SAFETY: loads and stores are of 16 bytes and ask for no alignment.
unsafe impl Vector for Neon {
    type Factor = [uint8x16_t; 2];
    const BYTES: usize = 16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller vouches for NEON; so below.
        Self(unsafe { vdupq_n_u8(0) })
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller vouches for the bytes.
        Self(unsafe { vld1q_u8(from) })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller vouches for the bytes.
        unsafe { vst1q_u8(to, self.0) }
    }

    #[inline(always)]
    unsafe fn factor(factor: u8) -> Self::Factor {
        let [low, high] = &NIBBLES[usize::from(factor)];
        // SAFETY: each table has 16 bytes.
        unsafe { [vld1q_u8(low.as_ptr()), vld1q_u8(high.as_ptr())] }
    }

    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        // SAFETY: as the caller vouches.
        Self(unsafe { veorq_u8(self.0, other.0) })
    }

    #[inline(always)]
    unsafe fn times(self, [low, high]: Self::Factor) -> Self {
        // SAFETY: as the caller vouches.
        unsafe {
            let low = vqtbl1q_u8(low, vandq_u8(self.0, vdupq_n_u8(0xf)));
            Self(veorq_u8(low, vqtbl1q_u8(high, vshrq_n_u8::<4>(self.0))))
        }
    }
}

/// Makes `R` outputs; see [`vector::run`].
///
/// # Safety
/// As [`vector::run`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn neon<const R: usize, const SUM: bool>(
    factors: &[u8],
    inputs: &[&[u8]],
    outputs: &mut [&mut [u8]; R],
    range: Range<usize>,
) {
    // SAFETY: NEON is enabled; the caller vouches for the rest.
    unsafe { vector::run::<Neon, R, 4, SUM>(factors, inputs, outputs, range) }
}
