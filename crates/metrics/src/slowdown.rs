//! Slowdown by flow size: the bins that pages and figures draw.

use crate::quantile::{Quantile, nearest_rank};
use std::collections::BTreeMap;

/// Sizes that are few enough for a bin each.
const SIZES: usize = 12;
/// A bin of several sizes with fewer flows than this would show chance.
const THIN: usize = 10;

/// The slowdown of flows of similar size.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct SizeBin {
    /// The largest size that falls into the bin, bytes.
    pub up_to: u64,
    /// Its flows, finished or not.
    pub count: u64,
    /// The quantile by nearest rank, flows that did not finish being infinite; `None` where it is.
    pub value: Option<f64>,
}

/// Slowdowns of the flows of a bin, if finished.
type Slowdowns = Vec<Option<f64>>;

/// A quantile of the slowdown of `flows` (size in bytes, slowdown if finished) by size: a bin for each size if there are at
/// most 12 of them, else bins that end at powers of two, of which those with fewer than ten flows join the next.
///
/// Every bin has flows enough for the quantile: above the median one flow has to lie above it, so that the 99% quantile
/// takes 100. Of 12 sizes or fewer those that have not are left out; else bins join until they have. There is no bin if all
/// flows together are too few.
#[must_use]
pub fn slowdown_bins(flows: &[(u64, Option<f64>)], q: Quantile) -> Vec<SizeBin> {
    let mut bins: BTreeMap<u64, Slowdowns> = BTreeMap::new();
    for &(size, slowdown) in flows {
        bins.entry(size).or_default().push(slowdown);
    }
    let enough = |flows: usize| q <= Quantile::P50 || q.has_values_above(flows as u64);
    let bins: Vec<(u64, Slowdowns)> = if bins.len() > SIZES {
        let mut wide: BTreeMap<u64, Slowdowns> = BTreeMap::new();
        for (size, slowdowns) in bins {
            wide.entry(up_to(size)).or_default().extend(slowdowns);
        }
        joined(wide, |flows| flows < THIN || !enough(flows))
    } else {
        bins.into_iter().collect()
    };
    bins.into_iter().filter(|(_, of)| enough(of.len())).map(|(size, of)| bin(size, &of, q)).collect()
}

/// The bins, of which a thin one takes in the next; the largest, if it is left over thin, joins the one before.
fn joined(bins: BTreeMap<u64, Slowdowns>, is_thin: impl Fn(usize) -> bool) -> Vec<(u64, Slowdowns)> {
    let mut joined: Vec<(u64, Slowdowns)> = Vec::new();
    for (size, slowdowns) in bins {
        match joined.last_mut().filter(|(_, known)| is_thin(known.len())) {
            Some(last) => {
                last.0 = size;
                last.1.extend(slowdowns);
            }
            None => joined.push((size, slowdowns)),
        }
    }
    if joined.len() > 1
        && let Some((size, rest)) = joined.pop_if(|(_, last)| is_thin(last.len()))
        && let Some(last) = joined.last_mut()
    {
        last.0 = size;
        last.1.extend(rest);
    }
    joined
}

/// The power of two that is not below a size.
fn up_to(size: u64) -> u64 {
    size.checked_next_power_of_two().unwrap_or(u64::MAX)
}

fn bin(up_to: u64, slowdowns: &[Option<f64>], q: Quantile) -> SizeBin {
    let count = slowdowns.len() as u64;
    let mut finished: Vec<f64> = slowdowns.iter().copied().flatten().collect();
    finished.sort_unstable_by(f64::total_cmp);
    SizeBin { up_to, count, value: nearest_rank(&finished, count, q) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(flows: &[(u64, Option<f64>)], q: Quantile) -> Vec<(u64, u64, Option<f64>)> {
        slowdown_bins(flows, q).into_iter().map(|bin| (bin.up_to, bin.count, bin.value)).collect()
    }

    #[test]
    fn few_sizes_have_a_bin_each() {
        let flows = [(5, Some(2.0)), (1000, Some(1.0)), (5, Some(3.0)), (5, None)];
        assert_eq!(of(&flows, Quantile::P50), [(5, 3, Some(3.0)), (1000, 1, Some(1.0))]);
        assert_eq!(of(&flows, Quantile::P99), []);
        assert_eq!(of(&[], Quantile::P50), []);
    }

    #[test]
    fn many_sizes_fall_into_bins_that_end_at_powers_of_two_thin_ones_joined() {
        let small = (1..=100).map(|size| (size, Some(size as f64)));
        let flows: Vec<_> = small.chain([(1024, Some(7.0))]).collect();
        let bins = of(&flows, Quantile::P50);
        let counts: Vec<_> = bins.iter().map(|bin| (bin.0, bin.1)).collect();
        // 1 + 1 + 2 + 4 + 8 flows up to 16 bytes; the one of 1024 bytes joins the 36 up to 128.
        assert_eq!(counts, [(16, 16), (32, 16), (64, 32), (1024, 37)]);
        assert_eq!(of(&flows, Quantile::P99), [(1024, 101, Some(99.0))]);
        assert_eq!(of(&flows[..99], Quantile::P99), []);
        assert_eq!(up_to(u64::MAX), u64::MAX);
    }

    #[test]
    fn a_quantile_that_falls_among_unfinished_flows_is_infinite() {
        let flows: Vec<_> = (1..=40).map(|size| (size, (size <= 16).then_some(2.0))).collect();
        assert_eq!(of(&flows, Quantile::P50), [(16, 16, Some(2.0)), (64, 24, None)]);
    }

    #[test]
    fn a_high_quantile_needs_a_flow_above_it() {
        let of = |n: u64| {
            let flows: Vec<_> = (1..=n).map(|i| (7, Some(i as f64))).collect();
            of(&flows, Quantile::P99)
        };
        assert_eq!((of(99), of(100)), (vec![], vec![(7, 100, Some(99.0))]));
    }

    proptest! {
        #[test]
        fn no_flow_is_lost_and_no_bin_of_several_sizes_is_thin(
            sizes in prop::collection::vec(1_u64..1 << 30, 20..400), high in any::<bool>(),
        ) {
            let q = if high { Quantile::P99 } else { Quantile::P50 };
            let flows: Vec<_> = sizes.iter().map(|size| (*size, Some(1.0))).collect();
            let bins = slowdown_bins(&flows, q);
            let enough = if high { 100 } else { THIN as u64 };
            prop_assert!(bins.iter().all(|bin| bin.count >= enough && bin.value == Some(1.0)));
            prop_assert!(bins.is_sorted_by(|a, b| a.up_to < b.up_to));
            let all = bins.iter().map(|bin| bin.count).sum::<u64>();
            prop_assert_eq!(all, if flows.len() as u64 >= enough { flows.len() as u64 } else { 0 });
        }
    }
}
