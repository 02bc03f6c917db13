//! Several seeds: the spread of every number, and paired ratios between schemes.
//!
//! A number that is null in a run (unfinished flows, never converged) counts as infinite, as unfinished flows do within
//! a run: leaving it out would flatter the scheme that fails.

use crate::quantile::{Quantile, median, middle};
use farspan_units::{Purpose, Random};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Resamples of the bootstrap.
const RESAMPLES: usize = 10_000;

/// The bootstrap of the median of `n` values: of each resample (n draws with replacement) the ranks of its middle
/// values. They depend on `n` alone, so one bootstrap serves every statistic of n runs, as resampling whole runs does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bootstrap {
    /// Number of values.
    n: usize,
    /// Indices, in rising order of the values, of the two in the middle (equal for odd n), and of how many resamples they
    /// are: of few values there are few.
    middles: Vec<((u32, u32), u64)>,
}

impl Bootstrap {
    /// The bootstrap for `n` values.
    #[must_use]
    pub fn new(n: usize) -> Self {
        if n == 1 {
            // Each resample is the value itself.
            return Self { n, middles: vec![((0, 0), RESAMPLES as u64)] };
        }
        let mut random = Random::new(0, Purpose::Bootstrap, n as u64);
        let mut counts = vec![0_usize; n];
        let mut resample = || {
            counts.fill(0);
            for _ in 0..n {
                counts[random.below(n as u64) as usize] += 1;
            }
            (at_rank(&counts, (n - 1) / 2), at_rank(&counts, n / 2))
        };
        let resamples = if n == 0 { 0 } else { RESAMPLES };
        let mut drawn: Vec<_> = (0..resamples).map(|_| resample()).collect();
        drawn.sort_unstable();
        let middles = drawn.chunk_by(PartialEq::eq).map(|equal| (equal[0], equal.len() as u64)).collect();
        Self { n, middles }
    }

    /// The 95% interval of the median (percentile method) of values in rising order.
    ///
    /// # Panics
    /// If there are not as many values as the bootstrap is for, or none.
    #[must_use]
    pub fn interval(&self, sorted: &[f64]) -> (f64, f64) {
        assert_eq!(sorted.len(), self.n, "a bootstrap serves one number of values");
        let of = |&((low, high), count): &((u32, u32), u64)| {
            (middle(sorted[low as usize], sorted[high as usize]), count)
        };
        let mut medians: Vec<(f64, u64)> = self.middles.iter().map(of).collect();
        medians.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let at = |q: Quantile| {
            let mut left = q.rank(RESAMPLES as u64);
            let reaches = |(_, count): &&(f64, u64)| {
                left = left.saturating_sub(*count);
                left == 0
            };
            medians.iter().find(reaches).expect("there is at least one value").0
        };
        (at(Quantile::P2_5), at(Quantile::P97_5))
    }
}

/// The index at which the cumulated counts exceed `rank` (from 0).
fn at_rank(counts: &[usize], rank: usize) -> u32 {
    let mut below = 0;
    let found = counts.iter().position(|count| {
        below += count;
        below > rank
    });
    found.expect("the counts add up to more than any rank") as u32
}

/// The spread of one number over seeds; `None` stands for infinite.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Spread {
    /// Median: the middle value, or the mean of the two in the middle.
    pub median: Option<f64>,
    /// Smallest.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Lower end of the 95% bootstrap interval of the median.
    pub ci_low: Option<f64>,
    /// Its upper end.
    pub ci_high: Option<f64>,
    /// Runs in which the number is null.
    pub missing: u64,
}

impl Spread {
    /// The spread of `values`, one per seed; `None` counts as infinite. `None` if there are no values.
    #[must_use]
    pub fn of(values: &[Option<f64>], bootstrap: &Bootstrap) -> Option<Self> {
        let mut sorted: Vec<f64> = values.iter().map(|v| v.unwrap_or(f64::INFINITY)).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = bootstrap.interval(&sorted);
        Some(Self {
            median: finite(median(&sorted)),
            min: finite(min),
            max: finite(max),
            ci_low: finite(low),
            ci_high: finite(high),
            missing: values.iter().filter(|v| v.is_none()).count() as u64,
        })
    }
}

fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// The spread of every numeric field of the documents of several seeds, in an object of the same shape. A field that
/// is null in every document stays null; text, truth values and arrays are left out, but arrays of objects go element by
/// element, each with the `tag` that it has in all documents.
#[must_use]
pub fn summarize(documents: &[Value]) -> Value {
    let bootstrap = Bootstrap::new(documents.len());
    let all: Vec<Option<&Value>> = documents.iter().map(Some).collect();
    spread(&all, &bootstrap).unwrap_or(Value::Null)
}

/// The spread over seeds of the values at one path; `None` where nothing there is a number, an object or null.
fn spread(values: &[Option<&Value>], bootstrap: &Bootstrap) -> Option<Value> {
    let present = || values.iter().flatten();
    if present().any(|v| v.is_object()) {
        let names: BTreeSet<&String> = present().filter_map(|v| v.as_object()).flat_map(Map::keys).collect();
        let field = |name: &String| {
            let inner: Vec<Option<&Value>> = values.iter().map(|v| v.and_then(|v| v.get(name))).collect();
            spread(&inner, bootstrap).map(|s| (name.clone(), s))
        };
        let tag = present().next().and_then(|v| v.get("tag")).filter(|tag| tag.is_string());
        let tag = tag.filter(|tag| present().all(|v| v.get("tag") == Some(tag)));
        let tag = tag.map(|tag| ("tag".to_owned(), tag.clone()));
        let fields: Map<String, Value> =
            tag.into_iter().chain(names.iter().copied().filter_map(field)).collect();
        // Texts alone have no spread.
        return (names.is_empty() || !fields.is_empty()).then_some(Value::Object(fields));
    }
    if present().any(|v| v.get(0).is_some_and(Value::is_object)) {
        let longest = present().filter_map(|v| v.as_array()).map(Vec::len).max().unwrap_or(0);
        let element = |i: usize| {
            let inner: Vec<Option<&Value>> = values.iter().map(|v| v.and_then(|v| v.get(i))).collect();
            spread(&inner, bootstrap)
        };
        return Some(Value::Array((0..longest).filter_map(element).collect()));
    }
    if present().any(|v| v.is_number()) {
        let numbers: Vec<Option<f64>> = values.iter().map(|v| v.and_then(Value::as_f64)).collect();
        let spread = Spread::of(&numbers, bootstrap)?;
        return serde_json::to_value(spread).ok();
    }
    present().all(|v| v.is_null()).then_some(Value::Null)
}

/// The ratio at one seed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct SeedRatio {
    /// The seed.
    pub seed: u64,
    /// Numerator over denominator; `None` stands for infinite.
    pub ratio: Option<f64>,
}

/// Ratios of two schemes, paired by seed.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct PairedRatios {
    /// Ratios by seed, rising.
    pub ratios: Vec<SeedRatio>,
    /// Their median; `None` stands for infinite, or for no pair at all.
    pub median: Option<f64>,
    /// Lower end of the 95% bootstrap interval of the median.
    pub ci_low: Option<f64>,
    /// Its upper end.
    pub ci_high: Option<f64>,
    /// Seeds without a ratio: only one scheme has them, both numbers are null, or the denominator is not above 0.
    pub missing: u64,
}

/// Bootstraps that were made, by number of values: paired ratios of many numbers of the same runs share them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bootstraps(BTreeMap<usize, Bootstrap>);

impl Bootstraps {
    fn of(&mut self, n: usize) -> &Bootstrap {
        self.0.entry(n).or_insert_with(|| Bootstrap::new(n))
    }

    /// [`Spread::of`] some values.
    #[must_use]
    pub fn spread(&mut self, values: &[Option<f64>]) -> Option<Spread> {
        Spread::of(values, self.of(values.len()))
    }

    /// [`paired_ratios`] of one of many numbers of the same runs.
    #[must_use]
    pub fn paired_ratios(
        &mut self,
        numerator: &[(u64, Option<f64>)],
        denominator: &[(u64, Option<f64>)],
    ) -> PairedRatios {
        let below: BTreeMap<u64, Option<f64>> = denominator.iter().copied().collect();
        let above: BTreeMap<u64, Option<f64>> = numerator.iter().copied().collect();
        let seeds: BTreeSet<u64> = above.keys().chain(below.keys()).copied().collect();
        let ratio = |seed: &u64| match (above.get(seed)?, below.get(seed)?) {
            (Some(a), Some(b)) if *b > 0.0 => Some((*seed, a / b)),
            (None, Some(_)) => Some((*seed, f64::INFINITY)),
            (Some(_), None) => Some((*seed, 0.0)),
            _ => None,
        };
        let ratios: Vec<(u64, f64)> = seeds.iter().filter_map(ratio).collect();
        let values: Vec<Option<f64>> = ratios.iter().map(|(_, r)| finite(*r)).collect();
        let spread = Spread::of(&values, self.of(values.len()));
        PairedRatios {
            median: spread.and_then(|s| s.median),
            ci_low: spread.and_then(|s| s.ci_low),
            ci_high: spread.and_then(|s| s.ci_high),
            missing: (seeds.len() - ratios.len()) as u64,
            ratios: ratios.iter().map(|(seed, r)| SeedRatio { seed: *seed, ratio: finite(*r) }).collect(),
        }
    }
}

/// Ratios `numerator / denominator` of (seed, number) lists. A null numerator counts as infinite, a null denominator
/// gives 0.
#[must_use]
pub fn paired_ratios(numerator: &[(u64, Option<f64>)], denominator: &[(u64, Option<f64>)]) -> PairedRatios {
    Bootstraps::default().paired_ratios(numerator, denominator)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantile::nearest_rank;
    use proptest::prelude::*;
    use serde_json::json;

    fn spread_of(values: &[Option<f64>]) -> Spread {
        Spread::of(values, &Bootstrap::new(values.len())).unwrap()
    }

    #[test]
    fn five_seeds_give_the_order_statistics_of_the_binomial() {
        // P(median of a resample is the smallest of five) = P(at least 3 of 5 draws hit it) = 5.8%: above 2.5%.
        let spread = spread_of(&[5.0, 1.0, 4.0, 2.0, 3.0].map(Some));
        assert_eq!((spread.median, spread.min, spread.max), (Some(3.0), Some(1.0), Some(5.0)));
        assert_eq!((spread.ci_low, spread.ci_high), (Some(1.0), Some(5.0)));
    }

    #[test]
    fn the_interval_of_many_values_is_that_of_the_median_s_rank() {
        // Ranks of the 95% interval of the median of 101 values: 51 +- 1.96 x sqrt(101) / 2, that is about 41 and 61.
        let spread = spread_of(&(1..=101).map(|i| Some(f64::from(i))).collect::<Vec<_>>());
        let (low, high) = (spread.ci_low.unwrap(), spread.ci_high.unwrap());
        assert!((low - 41.0).abs() <= 1.0 && (high - 61.0).abs() <= 1.0, "{low} {high}");
    }

    #[test]
    fn nulls_count_as_infinite() {
        let spread = spread_of(&[Some(1.0), None, Some(2.0), None, None]);
        assert_eq!((spread.median, spread.min, spread.max, spread.missing), (None, Some(1.0), None, 3));
        assert_eq!(spread_of(&[Some(1.0), Some(3.0), None]).median, Some(3.0));
    }

    #[test]
    fn one_seed_is_its_own_interval() {
        let spread = spread_of(&[Some(7.0)]);
        assert_eq!((spread.ci_low, spread.median, spread.ci_high), (Some(7.0), Some(7.0), Some(7.0)));
        assert_eq!(Spread::of(&[], &Bootstrap::new(0)), None);
    }

    #[test]
    fn every_numeric_field_is_summarized_in_place() {
        let document = |seed: u64, mean: f64, p99: Value, inter: Value| {
            json!({
                "seed": seed, "scheme": "uno", "partial": false, "list": [1],
                "setup": {"intra": {"coding": "none", "lossless": false}},
                "fct": {"all": {"mean_us": mean, "p99_us": p99, "p999_us": null}, "inter": inter, "intra": null},
            })
        };
        let summary = summarize(&[
            document(1, 10.0, json!(1.0), Value::Null),
            document(2, 30.0, Value::Null, json!({"mean_us": 5})),
            document(3, 20.0, json!(2.0), Value::Null),
        ]);
        assert_eq!(summary["fct"]["all"]["mean_us"]["median"], 20.0);
        assert_eq!(summary["fct"]["all"]["mean_us"]["min"], 10.0);
        assert_eq!(
            summary["fct"]["all"]["p99_us"],
            json!({
                "median": 2.0, "min": 1.0, "max": null, "ci_low": 1.0, "ci_high": null, "missing": 1
            })
        );
        assert_eq!(summary["fct"]["inter"]["mean_us"]["missing"], 2);
        assert!(summary["fct"]["intra"].is_null() && summary["fct"]["all"]["p999_us"].is_null());
        let names: Vec<_> = summary.as_object().unwrap().keys().collect();
        assert_eq!(names, ["fct", "seed"]);
        assert!(summarize(&[]).is_null());
    }

    #[test]
    fn arrays_of_objects_are_summarized_element_by_element() {
        let document =
            |mean: Value| json!({"parts": [{"tag": "a", "mean_us": mean}, {"tag": "b"}], "none": []});
        let summary = summarize(&[document(json!(1.0)), document(json!(3.0)), document(json!(2.0))]);
        assert_eq!(summary["parts"][0]["mean_us"]["median"], 2.0);
        assert_eq!((&summary["parts"][0]["tag"], &summary["parts"][1]["tag"]), (&json!("a"), &json!("b")));
        assert!(summary.get("none").is_none());
    }

    #[test]
    fn ratios_are_paired_by_seed() {
        let a = [(3, Some(9.0)), (1, Some(2.0)), (2, Some(4.0)), (8, Some(1.0))];
        let b = [(1, Some(1.0)), (2, Some(1.0)), (3, Some(3.0)), (9, Some(1.0))];
        let paired = paired_ratios(&a, &b);
        let ratios: Vec<_> = paired.ratios.iter().map(|r| (r.seed, r.ratio)).collect();
        assert_eq!(ratios, [(1, Some(2.0)), (2, Some(4.0)), (3, Some(3.0))]);
        assert_eq!((paired.median, paired.missing), (Some(3.0), 2));
        assert_eq!((paired.ci_low, paired.ci_high), (Some(2.0), Some(4.0)));
    }

    #[test]
    fn a_null_loses_against_any_number() {
        let paired = paired_ratios(
            &[(1, None), (2, Some(1.0)), (3, None), (4, Some(1.0))],
            &[(1, Some(1.0)), (2, None), (3, None), (4, Some(0.0))],
        );
        let ratios: Vec<_> = paired.ratios.iter().map(|r| (r.seed, r.ratio)).collect();
        assert_eq!(ratios, [(1, None), (2, Some(0.0))]);
        assert_eq!((paired.median, paired.missing), (None, 2));
        assert_eq!(paired_ratios(&[], &[]).median, None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_interval_is_that_of_all_resamples_one_by_one(
            mut values in prop::collection::vec(-1e9..1e9_f64, 1..9),
        ) {
            values.sort_unstable_by(f64::total_cmp);
            let bootstrap = Bootstrap::new(values.len());
            let each = |&((low, high), count): &((u32, u32), u64)| {
                vec![middle(values[low as usize], values[high as usize]); count as usize]
            };
            let mut medians: Vec<f64> = bootstrap.middles.iter().flat_map(each).collect();
            medians.sort_unstable_by(f64::total_cmp);
            let at = |q| nearest_rank(&medians, RESAMPLES as u64, q).unwrap();
            prop_assert_eq!(bootstrap.interval(&values), (at(Quantile::P2_5), at(Quantile::P97_5)));
        }

        #[test]
        fn the_interval_contains_the_median_and_lies_within_the_range(
            values in prop::collection::vec(-1e9..1e9_f64, 1..40),
        ) {
            let s = spread_of(&values.iter().copied().map(Some).collect::<Vec<_>>());
            let ordered = [s.min, s.ci_low, s.median, s.ci_high, s.max].map(Option::unwrap);
            prop_assert!(ordered.is_sorted(), "{ordered:?}");
        }
    }
}
