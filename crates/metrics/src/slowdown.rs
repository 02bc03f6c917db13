//! Slowdown by flow size: the bins that pages and figures draw.

use crate::quantile::{Quantile, nearest_rank};
use std::collections::BTreeMap;

/// Sizes that are few enough for a bin each.
const SIZES: usize = 12;

/// The slowdown of flows of similar size.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SizeBin {
    /// The largest size that falls into the bin, bytes.
    pub up_to: u64,
    /// Its flows, finished or not.
    pub count: u64,
    /// Each quantile by nearest rank, flows that did not finish being infinite. `None` where it is infinite, and above the
    /// median where no flow lies above it: the 99% quantile takes 100 flows.
    pub quantiles: Vec<Option<f64>>,
}

/// The slowdown of `flows` (size in bytes, slowdown if finished) by size: a bin for each size if there are at most 12 of
/// them, else bins that end at powers of two, without a gap from the smallest to the largest, the empty ones included.
#[must_use]
pub fn slowdown_bins(flows: &[(u64, Option<f64>)], quantiles: &[Quantile]) -> Vec<SizeBin> {
    let mut bins: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
    for &(size, slowdown) in flows {
        bins.entry(size).or_default().push(slowdown);
    }
    if bins.len() > SIZES {
        let mut wide: BTreeMap<u64, Vec<Option<f64>>> = BTreeMap::new();
        for (size, slowdowns) in bins {
            wide.entry(up_to(size)).or_default().extend(slowdowns);
        }
        let (first, last) = (wide.keys().next().copied(), wide.keys().next_back().copied());
        let mut end = first;
        while let Some(size) = end.filter(|size| Some(*size) < last) {
            wide.entry(size).or_default();
            end = size.checked_mul(2);
        }
        bins = wide;
    }
    bins.into_iter().map(|(size, slowdowns)| bin(size, &slowdowns, quantiles)).collect()
}

/// The power of two that is not below a size.
fn up_to(size: u64) -> u64 {
    size.checked_next_power_of_two().unwrap_or(u64::MAX)
}

fn bin(up_to: u64, slowdowns: &[Option<f64>], quantiles: &[Quantile]) -> SizeBin {
    let count = slowdowns.len() as u64;
    let mut finished: Vec<f64> = slowdowns.iter().copied().flatten().collect();
    finished.sort_unstable_by(f64::total_cmp);
    let known = |q: Quantile| q <= Quantile::P50 || q.has_values_above(count);
    let at = |q: &Quantile| nearest_rank(&finished, count, *q).filter(|_| known(*q));
    SizeBin { up_to, count, quantiles: quantiles.iter().map(at).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [Quantile; 2] = [Quantile::P50, Quantile::P99];

    #[test]
    fn few_sizes_have_a_bin_each() {
        let flows = [(5, Some(2.0)), (1000, Some(1.0)), (5, Some(3.0)), (5, None)];
        let bins: Vec<_> =
            slowdown_bins(&flows, &BOTH).into_iter().map(|b| (b.up_to, b.count, b.quantiles)).collect();
        assert_eq!(bins, [(5, 3, vec![Some(3.0), None]), (1000, 1, vec![Some(1.0), None])]);
        assert_eq!(slowdown_bins(&[], &BOTH), []);
    }

    #[test]
    fn many_sizes_fall_into_bins_that_end_at_powers_of_two_empty_ones_included() {
        let small = (1..=100).map(|size| (size, Some(size as f64)));
        let flows: Vec<_> = small.chain([(1024, Some(7.0))]).collect();
        let bins = slowdown_bins(&flows, &BOTH);
        let counts: Vec<_> = bins.iter().map(|bin| (bin.up_to, bin.count)).collect();
        let expected = [1, 1, 2, 4, 8, 16, 32, 36, 0, 0, 1];
        assert_eq!(counts, (0..).map(|n| 1 << n).zip(expected).collect::<Vec<_>>());
        assert_eq!(bins[8].quantiles, [None, None]);
        assert_eq!(up_to(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_high_quantile_needs_a_flow_above_it() {
        let of = |n: u64| {
            let flows: Vec<_> = (1..=n).map(|i| (7, Some(i as f64))).collect();
            slowdown_bins(&flows, &BOTH).remove(0).quantiles
        };
        assert_eq!((of(99), of(100)), (vec![Some(50.0), None], vec![Some(50.0), Some(99.0)]));
    }
}
