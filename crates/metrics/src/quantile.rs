//! Quantiles by nearest rank, and the median.

/// A quantile in ten-thousandths, so that ranks are exact integers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Quantile(u32);

impl Quantile {
    /// The 2.5% quantile.
    pub const P2_5: Self = Self(250);
    /// The 5% quantile.
    pub const P5: Self = Self(500);
    /// The 50% quantile.
    pub const P50: Self = Self(5000);
    /// The 90% quantile.
    pub const P90: Self = Self(9000);
    /// The 95% quantile.
    pub const P95: Self = Self(9500);
    /// The 97.5% quantile.
    pub const P97_5: Self = Self(9750);
    /// The 99% quantile.
    pub const P99: Self = Self(9900);
    /// The 99.9% quantile.
    pub const P999: Self = Self(9990);

    /// A quantile from ten-thousandths; at most 10,000, the maximum.
    #[must_use]
    pub const fn per_10_000(parts: u32) -> Self {
        if parts > 10_000 { Self(10_000) } else { Self(parts) }
    }

    /// The rank, from 1, of this quantile among `n` values: the smallest r with r / n >= q; at least 1.
    #[must_use]
    pub fn rank(self, n: u64) -> u64 {
        let exact = (u128::from(n) * u128::from(self.0)).div_ceil(10_000);
        u64::try_from(exact).expect("a rank is at most n").max(1)
    }

    /// Whether a whole one of `n` values lies above this quantile: n (1 - q) >= 1. Without, it is hardly more than the
    /// largest value.
    #[must_use]
    pub fn has_values_above(self, n: u64) -> bool {
        u128::from(n) * u128::from(10_000 - self.0) >= 10_000
    }
}

/// The quantile of `n` values by nearest rank. `sorted` holds the finite ones in rising order; the others count as
/// infinite. `None` if the rank falls among those, or there are no values.
#[must_use]
pub fn nearest_rank<T: Copy>(sorted: &[T], n: u64, q: Quantile) -> Option<T> {
    let index = usize::try_from(q.rank(n) - 1).ok()?;
    sorted.get(index).copied()
}

/// The median of values in rising order: the middle one, or the mean of the two in the middle.
///
/// # Panics
/// If there are no values.
#[must_use]
pub fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    middle(sorted[(n - 1) / 2], sorted[n / 2])
}

/// The mean of the two values in the middle; exact where they are equal, infinite ones included.
pub(crate) fn middle(low: f64, high: f64) -> f64 {
    if low == high { low } else { low + (high - low) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_are_exact_where_floating_point_is_not() {
        // 0.07 x 100 is 7.000000000000001 in floating point.
        assert_eq!(Quantile::per_10_000(700).rank(100), 7);
        assert_eq!((Quantile::P99.rank(100), Quantile::P99.rank(101)), (99, 100));
        assert_eq!((Quantile::P999.rank(1000), Quantile::P50.rank(1)), (999, 1));
        assert_eq!(Quantile::per_10_000(0).rank(10), 1);
    }

    #[test]
    fn infinite_values_take_the_upper_ranks() {
        assert_eq!(nearest_rank(&[1, 2, 3], 4, Quantile::P50), Some(2));
        assert_eq!(nearest_rank(&[1, 2, 3], 4, Quantile::P90), None);
        assert_eq!(nearest_rank::<u64>(&[], 0, Quantile::P50), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
        assert_eq!(median(&[1.0, 2.0, 4.0]), 2.0);
        assert_eq!(median(&[1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY]), f64::INFINITY);
    }

    proptest! {
        #[test]
        fn the_nearest_rank_is_the_smallest_value_that_enough_values_do_not_exceed(
            mut values in prop::collection::vec(0_u32..50, 1..60), parts in 1_u32..=10_000,
        ) {
            values.sort_unstable();
            let n = values.len() as u64;
            let share = |x: u32| values.iter().filter(|v| **v <= x).count() as u64 * 10_000;
            let defined = values.iter().copied().find(|x| share(*x) >= u64::from(parts) * n);
            prop_assert_eq!(nearest_rank(&values, n, Quantile::per_10_000(parts)), defined);
        }
    }
}
