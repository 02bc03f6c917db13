//! Kernels for x86-64, and which of them the CPU has.
//!
//! `gf2p8affineqb` (GFNI) multiplies each byte by a matrix of 8 x 8 bits, and multiplication by a constant is one;
//! without it, `pshufb` looks up the products of both nibbles of a byte.

use super::field::{MATRICES, NIBBLES};
use super::vector::{self, Vector};
use core::arch::x86_64::*;
use core::ops::Range;

/// Which kernels the CPU has and the operating system lets run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Features {
    pub ssse3: bool,
    pub avx2: bool,
    /// GFNI on vectors of 32 bytes.
    pub gfni256: bool,
    /// GFNI on vectors of 64 bytes.
    pub gfni512: bool,
}

impl Features {
    /// Asks the CPU (CPUID, Intel SDM volume 2A). `std` has a macro for this, `core` has not.
    pub(super) fn detect() -> Self {
        if cfg!(miri) {
            return Self::of_target();
        }
        let bit = |register: u32, n: u32| register >> n & 1 == 1;
        let [leaf1, leaf7] = [1, 7].map(cpuid);
        // The operating system must keep the wide registers: YMM (XCR0 bits 1, 2), and masks and ZMM (bits 5 to 7).
        let has_xgetbv = bit(leaf1.ecx, 26) && bit(leaf1.ecx, 27);
        // SAFETY: XSAVE and OSXSAVE are there.
        let kept = if has_xgetbv { unsafe { _xgetbv(0) } } else { 0 };
        let avx2 = kept & 0x06 == 0x06 && bit(leaf1.ecx, 28) && bit(leaf7.ebx, 5);
        let avx512 = kept & 0xe6 == 0xe6 && avx2 && bit(leaf7.ebx, 16);
        let gfni = bit(leaf7.ecx, 8);
        Self { ssse3: bit(leaf1.ecx, 9), avx2, gfni256: avx2 && gfni, gfni512: avx512 && gfni }
    }

    /// Features that the compiler may use without asking: Miri has no CPUID.
    const fn of_target() -> Self {
        let avx2 = cfg!(target_feature = "avx2");
        let gfni = cfg!(target_feature = "gfni");
        let avx512 = avx2 && cfg!(target_feature = "avx512f");
        Self { ssse3: cfg!(target_feature = "ssse3"), avx2, gfni256: avx2 && gfni, gfni512: avx512 && gfni }
    }
}

/// A leaf of CPUID; zeros if the CPU does not have that leaf.
#[allow(unused_unsafe, reason = "newer compilers know that every x86-64 CPU has CPUID")]
fn cpuid(leaf: u32) -> CpuidResult {
    // SAFETY: every x86-64 CPU has CPUID.
    unsafe {
        match __cpuid(0).eax >= leaf {
            true => __cpuid_count(leaf, 0),
            false => CpuidResult { eax: 0, ebx: 0, ecx: 0, edx: 0 },
        }
    }
}

/// Defines a vector: its register, bytes, factor, and the intrinsics for zero, load, store, XOR; then how to make a
/// factor and how to multiply by it.
macro_rules! vector {
    ($name:ident: $register:ty, $bytes:literal, $factor_type:ty,
     $zero:ident, $load:ident, $store:ident, $xor:ident, $factor:expr, $times:expr) => {
        #[derive(Clone, Copy)]
        struct $name($register);

        // SAFETY: loads and stores are the unaligned ones, of as many bytes as said.
        unsafe impl Vector for $name {
            type Factor = $factor_type;
            const BYTES: usize = $bytes;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller vouches for the instruction set; so below.
                Self(unsafe { $zero() })
            }
            #[inline(always)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the caller vouches for the bytes.
                Self(unsafe { $load(from.cast()) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller vouches for the bytes.
                unsafe { $store(to.cast(), self.0) }
            }
            #[inline(always)]
            unsafe fn factor(factor: u8) -> Self::Factor {
                // SAFETY: as the caller vouches.
                unsafe { $factor(factor) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: as the caller vouches.
                Self(unsafe { $xor(self.0, other.0) })
            }
            #[inline(always)]
            unsafe fn times(self, factor: Self::Factor) -> Self {
                // SAFETY: as the caller vouches.
                Self(unsafe { $times(self.0, factor) })
            }
        }
    };
}

vector!(Ssse3: __m128i, 16, [__m128i; 2], _mm_setzero_si128, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128,
    nibbles128, shuffle128);
vector!(Avx2: __m256i, 32, [__m256i; 2], _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_xor_si256, nibbles256, shuffle256);
vector!(Gfni256: __m256i, 32, __m256i, _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256,
    _mm256_xor_si256, matrix256, _mm256_gf2p8affine_epi64_epi8::<0>);
vector!(Gfni512: __m512i, 64, __m512i, _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512,
    _mm512_xor_si512, matrix512, _mm512_gf2p8affine_epi64_epi8::<0>);

#[inline]
#[target_feature(enable = "ssse3")]
fn nibbles128(factor: u8) -> [__m128i; 2] {
    let [low, high] = &NIBBLES[usize::from(factor)];
    // SAFETY: each table has 16 bytes.
    unsafe { [_mm_loadu_si128(low.as_ptr().cast()), _mm_loadu_si128(high.as_ptr().cast())] }
}

#[inline]
#[target_feature(enable = "ssse3")]
fn shuffle128(data: __m128i, [low, high]: [__m128i; 2]) -> __m128i {
    let mask = _mm_set1_epi8(0xf);
    let low = _mm_shuffle_epi8(low, _mm_and_si128(data, mask));
    let high = _mm_shuffle_epi8(high, _mm_and_si128(_mm_srli_epi64::<4>(data), mask));
    _mm_xor_si128(low, high)
}

#[inline]
#[target_feature(enable = "avx2")]
fn nibbles256(factor: u8) -> [__m256i; 2] {
    nibbles128(factor).map(|table| _mm256_broadcastsi128_si256(table))
}

#[inline]
#[target_feature(enable = "avx2")]
fn shuffle256(data: __m256i, [low, high]: [__m256i; 2]) -> __m256i {
    let mask = _mm256_set1_epi8(0xf);
    let low = _mm256_shuffle_epi8(low, _mm256_and_si256(data, mask));
    let high = _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi64::<4>(data), mask));
    _mm256_xor_si256(low, high)
}

#[inline]
#[target_feature(enable = "avx2")]
fn matrix256(factor: u8) -> __m256i {
    _mm256_set1_epi64x(MATRICES[usize::from(factor)] as i64)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn matrix512(factor: u8) -> __m512i {
    _mm512_set1_epi64(MATRICES[usize::from(factor)] as i64)
}

/// Defines a kernel: a function with these features that runs the shared loop, two outputs or fewer by `$wide` vectors.
macro_rules! kernel {
    ($name:ident, $vector:ident, $features:literal, $wide:literal, $narrow:literal) => {
        /// Makes `R` outputs; see [`vector::run`].
        ///
        /// # Safety
        /// As [`vector::run`]; the CPU has the features.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn $name<const R: usize, const SUM: bool>(
            factors: &[u8],
            inputs: &[&[u8]],
            outputs: &mut [&mut [u8]; R],
            range: Range<usize>,
        ) {
            // SAFETY: the features are those of the vector; the caller vouches for the rest.
            unsafe {
                match R {
                    ..=2 => vector::run::<$vector, R, $wide, SUM>(factors, inputs, outputs, range),
                    _ => vector::run::<$vector, R, $narrow, SUM>(factors, inputs, outputs, range),
                }
            }
        }
    };
}

// Accumulators and data of a step must fit 16 registers, 32 with AVX-512.
kernel!(ssse3, Ssse3, "ssse3", 2, 1);
kernel!(avx2, Avx2, "avx2", 2, 1);
kernel!(gfni256, Gfni256, "avx2,gfni", 4, 2);
kernel!(gfni512, Gfni512, "avx512f,gfni", 4, 4);
