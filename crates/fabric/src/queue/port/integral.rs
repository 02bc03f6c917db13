//! Sums over time.

/// A sum of products, modulo 2^128, kept as two 64-bit halves: its alignment is that of one half.
#[derive(Clone, Copy, Debug)]
pub(super) struct Integral([u64; 2]);

impl Integral {
    pub(super) const ZERO: Self = Self([0; 2]);

    #[inline(always)]
    pub(super) const fn get(self) -> u128 {
        self.0[0] as u128 | (self.0[1] as u128) << 64
    }

    #[inline(always)]
    const fn set(&mut self, sum: u128) {
        self.0 = [sum as u64, (sum >> 64) as u64];
    }

    #[inline(always)]
    pub(super) const fn add(&mut self, a: u64, b: u64) {
        self.set(self.get().wrapping_add(a as u128 * b as u128));
    }

    #[inline(always)]
    pub(super) const fn subtract(&mut self, a: u64, b: u64) {
        self.set(self.get().wrapping_sub(a as u128 * b as u128));
    }
}
