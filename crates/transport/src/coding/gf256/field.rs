//! Single elements, and the tables that kernels multiply by.

/// The polynomial that products are taken modulo: x^8 + x^4 + x^3 + x^2 + 1.
pub const POLYNOMIAL: u16 = 0x11d;

/// `a` x `b`, bit by bit: for making tables.
const fn mul_slowly(a: u8, b: u8) -> u8 {
    let (mut sum, mut shifted, mut bit) = (0, a as u16, 0);
    while bit < 8 {
        if b >> bit & 1 == 1 {
            sum ^= shifted;
        }
        shifted <<= 1;
        if shifted & 0x100 != 0 {
            shifted ^= POLYNOMIAL;
        }
        bit += 1;
    }
    sum as u8
}

/// Powers of x, twice round, so that a sum of two logarithms needs no reduction.
static POWERS: [u8; 510] = {
    let mut powers = [1; 510];
    let mut n = 1;
    while n < 510 {
        powers[n] = mul_slowly(powers[n - 1], 2);
        n += 1;
    }
    powers
};

/// Logarithms to the base x; that of zero is not used.
static LOGARITHMS: [u8; 256] = {
    let mut logarithms = [0; 256];
    let mut n = 0;
    while n < 255 {
        logarithms[POWERS[n] as usize] = n as u8;
        n += 1;
    }
    logarithms
};

/// `a` x `b`.
#[must_use]
pub fn mul(a: u8, b: u8) -> u8 {
    if a == 0 || b == 0 {
        return 0;
    }
    let log = |element: u8| usize::from(LOGARITHMS[usize::from(element)]);
    POWERS[log(a) + log(b)]
}

/// 1 / `a`.
///
/// # Panics
/// If `a` is zero.
#[must_use]
pub fn inv(a: u8) -> u8 {
    assert_ne!(a, 0, "zero has no inverse");
    POWERS[255 - usize::from(LOGARITHMS[usize::from(a)])]
}

/// Products of each element with the 16 low nibbles, and with the 16 high ones: what byte shuffles look up.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) static NIBBLES: [[[u8; 16]; 2]; 256] = {
    let mut tables = [[[0; 16]; 2]; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut nibble = 0;
        while nibble < 16 {
            tables[factor][0][nibble] = mul_slowly(factor as u8, nibble as u8);
            tables[factor][1][nibble] = mul_slowly(factor as u8, (nibble as u8) << 4);
            nibble += 1;
        }
        factor += 1;
    }
    tables
};

/// Multiplication by each element as a matrix of bits, as `gf2p8affineqb` takes it: byte 7 - i of the word says which
/// bits of a factor add up to bit i of the product.
#[cfg(target_arch = "x86_64")]
pub(super) static MATRICES: [u64; 256] = {
    let mut matrices = [0; 256];
    let mut factor = 0;
    while factor < 256 {
        let mut bit = 0;
        while bit < 8 {
            let column = mul_slowly(factor as u8, 1 << bit);
            let mut i = 0;
            while i < 8 {
                matrices[factor] |= ((column >> i & 1) as u64) << ((7 - i) * 8 + bit);
                i += 1;
            }
            bit += 1;
        }
        factor += 1;
    }
    matrices
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_s_axioms_hold() {
        for a in 0..=255 {
            assert_eq!(mul(a, 1), a);
            assert_eq!(mul(a, 0), 0);
            if a != 0 {
                assert_eq!(mul(a, inv(a)), 1);
            }
            for b in 0..=255 {
                assert_eq!(mul(a, b), mul(b, a));
                assert_eq!(mul(a, b), mul_slowly(a, b));
                for c in [2, 3, 29, 76, 143, 254, 255] {
                    assert_eq!(mul(mul(a, b), c), mul(a, mul(b, c)));
                    assert_eq!(mul(a, b ^ c), mul(a, b) ^ mul(a, c));
                }
            }
        }
    }

    #[test]
    fn x_is_primitive() {
        let mut powers = POWERS[..255].to_vec();
        powers.sort_unstable();
        assert!(powers.into_iter().eq(1..=255));
    }

    #[test]
    #[should_panic(expected = "zero has no inverse")]
    fn zero_has_no_inverse() {
        let _ = inv(0);
    }
}
