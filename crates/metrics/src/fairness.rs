//! Jain's index over the flows of a group that are backlogged on one bottleneck.
//!
//! A rate sample at time t covers the interval (t - interval, t]. A flow is active in it if it started at or before the
//! interval's beginning and was not delivered before its end: flows that come or go within an interval have a rate
//! that says nothing about their share. An active flow without a sample has rate 0. An interval in which no active flow
//! received anything has no index and is left out.

use crate::{Probe, Quantile, SeriesId, SeriesRecord, nearest_rank};
use farspan_units::{Duration, FlowId, Time};
use serde::Serialize;
use std::collections::BTreeMap;

/// From this index on, shares count as fair.
const FAIR: f64 = 0.95;
/// The share of later samples that must be fair, in per cent.
const SHARE_FAIR: usize = 95;

/// A flow of the fairness group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// The flow.
    pub flow: FlowId,
    /// When it started.
    pub start: Time,
    /// When the receiver had the last byte; `None` while unfinished.
    pub delivered: Option<Time>,
}

/// How evenly a group of flows shared its bottleneck; all numbers are `None` without a group or without samples.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Fairness {
    /// Tag of the group.
    pub group: Option<String>,
    /// Interval of the rate samples.
    pub interval_us: Option<f64>,
    /// Mean of Jain's index over the samples, each over the flows active in it.
    pub jain_mean: Option<f64>,
    /// 5% quantile of the index over the samples that lie in the second half of the time in which all are active.
    pub jain_p5_late: Option<f64>,
    /// Smallest over largest of the flows' mean rates, over those same samples.
    pub min_over_max_rate: Option<f64>,
    /// Start of the first sample with index >= 0.95 from which at least 95% of the samples, until the first flow of
    /// the group ends, are >= 0.95.
    pub converged_at_us: Option<f64>,
}

/// Jain's index of the rates: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (equal); `None` if no rate is above
/// 0. R. Jain et al., A quantitative measure of fairness, DEC TR-301, 1984.
#[must_use]
pub fn jain(rates: &[f64]) -> Option<f64> {
    // Relative to the largest, so that squares neither overflow nor vanish.
    let largest = rates.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 {
        return None;
    }
    let sum: f64 = rates.iter().map(|x| x / largest).sum();
    let squares: f64 = rates.iter().map(|x| (x / largest) * (x / largest)).sum();
    Some((sum * sum / (rates.len() as f64 * squares)).min(1.0))
}

/// One interval of samples.
struct Interval {
    start: Time,
    end: Time,
    /// Rates by member, whether active or not.
    rates: Vec<f64>,
    index: Option<f64>,
}

impl Fairness {
    /// The fairness among `members` of `group`, from the rate samples in `series` (other probes and flows are
    /// skipped; any order).
    #[must_use]
    pub fn of(
        group: Option<&str>,
        interval: Option<Duration>,
        members: &[Member],
        series: &[SeriesRecord],
    ) -> Self {
        let header = Self {
            group: group.map(str::to_owned),
            interval_us: interval.map(Duration::as_us_f64),
            ..Self::default()
        };
        let (Some(interval), Some(last_start), true) =
            (interval, members.iter().map(|m| m.start).max(), group.is_some())
        else {
            return header;
        };
        let intervals = intervals(interval, members, series);
        let first_end = members.iter().filter_map(|m| m.delivered).min();
        let Some(first_end) = first_end.or(intervals.last().map(|i| i.end)) else {
            return header;
        };
        let middle = last_start + first_end.since(last_start) / 2;
        let late: Vec<&Interval> = intervals
            .iter()
            .filter(|i| i.start >= middle && i.start >= last_start && i.end <= first_end)
            .collect();
        let mut late_indices: Vec<f64> = late.iter().filter_map(|i| i.index).collect();
        late_indices.sort_unstable_by(f64::total_cmp);
        let indices: Vec<f64> = intervals.iter().filter_map(|i| i.index).collect();
        Self {
            jain_mean: (!indices.is_empty()).then(|| indices.iter().sum::<f64>() / indices.len() as f64),
            jain_p5_late: nearest_rank(&late_indices, late_indices.len() as u64, Quantile::P5),
            min_over_max_rate: min_over_max(&late, members.len()),
            converged_at_us: converged(&intervals, first_end).map(|t| t.since(Time::ZERO).as_us_f64()),
            ..header
        }
    }
}

/// The samples of the members by interval, in order of time.
fn intervals(interval: Duration, members: &[Member], series: &[SeriesRecord]) -> Vec<Interval> {
    let position: BTreeMap<FlowId, usize> = members.iter().enumerate().map(|(i, m)| (m.flow, i)).collect();
    let mut by_end: BTreeMap<Time, Vec<f64>> = BTreeMap::new();
    for sample in series.iter().filter(|s| s.probe == Probe::Rate) {
        let SeriesId::Flow(flow) = sample.id else { continue };
        if let Some(i) = position.get(&flow) {
            by_end.entry(sample.t).or_insert_with(|| vec![0.0; members.len()])[*i] = sample.value;
        }
    }
    let build = |(end, rates): (Time, Vec<f64>)| {
        let start = Time::from_ps(end.as_ps().saturating_sub(interval.as_ps()));
        let active = |m: &Member| m.start <= start && m.delivered.is_none_or(|d| d >= end);
        let shares: Vec<f64> =
            members.iter().zip(&rates).filter(|(m, _)| active(m)).map(|(_, r)| *r).collect();
        Interval { start, end, index: jain(&shares), rates }
    };
    by_end.into_iter().map(build).collect()
}

/// Smallest over largest of the members' mean rates.
fn min_over_max(late: &[&Interval], members: usize) -> Option<f64> {
    let sums: Vec<f64> = (0..members).map(|m| late.iter().map(|i| i.rates[m]).sum()).collect();
    let smallest = sums.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = sums.iter().copied().fold(0.0, f64::max);
    (largest > 0.0).then(|| smallest / largest)
}

/// When shares became fair and, all but 5% of the time, stayed so.
fn converged(intervals: &[Interval], first_end: Time) -> Option<Time> {
    let (mut fair, mut all, mut since) = (0, 0, None);
    for interval in intervals.iter().rev().filter(|i| i.end <= first_end) {
        let Some(index) = interval.index else { continue };
        all += 1;
        fair += usize::from(index >= FAIR);
        if index >= FAIR && fair * 100 >= all * SHARE_FAIR {
            since = Some(interval.start);
        }
    }
    since
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: Duration = Duration::from_ms(1);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn member(flow: u32, start: u64, delivered: Option<u64>) -> Member {
        Member { flow: FlowId(flow), start: at(start), delivered: delivered.map(at) }
    }

    /// Samples of flow i at 1, 2, ... ms.
    fn series(rates: &[&[f64]]) -> Vec<SeriesRecord> {
        let of = |flow: usize, rates: &[f64]| {
            let sample = |(k, r): (usize, &f64)| SeriesRecord {
                t: at(k as u64 + 1),
                probe: Probe::Rate,
                id: SeriesId::Flow(FlowId(flow as u32)),
                value: *r,
            };
            rates.iter().enumerate().map(sample).collect::<Vec<_>>()
        };
        rates.iter().enumerate().flat_map(|(i, r)| of(i, r)).collect()
    }

    fn fairness(members: &[Member], series: &[SeriesRecord]) -> Fairness {
        Fairness::of(Some("g"), Some(MS), members, series)
    }

    #[test]
    fn the_mean_is_over_the_flows_active_in_each_sample() {
        // Flow 1 starts at 1 ms and is delivered at 3 ms: active in samples 2 and 3 only.
        let members = [member(0, 0, None), member(1, 1, Some(3))];
        let f = fairness(&members, &series(&[&[9.0, 5.0, 9.0, 7.0], &[1.0, 5.0, 1.0, 3.0]]));
        let third = 100.0 / (2.0 * 82.0);
        assert!((f.jain_mean.unwrap() - (1.0 + 1.0 + third + 1.0) / 4.0).abs() < 1e-12, "{f:?}");
        assert_eq!((f.group.as_deref(), f.interval_us), (Some("g"), Some(1000.0)));
    }

    #[test]
    fn a_flow_that_comes_or_goes_within_an_interval_is_not_active_in_it() {
        let half = Time::ZERO + MS / 2;
        let members =
            [member(0, 0, None), Member { flow: FlowId(1), start: half, delivered: Some(at(2) + MS / 2) }];
        let rates = series(&[&[8.0, 4.0, 8.0], &[2.0, 4.0, 2.0]]);
        assert_eq!(fairness(&members, &rates).jain_mean, Some(1.0));
    }

    #[test]
    fn an_active_flow_without_a_sample_has_rate_zero() {
        let f = fairness(&[member(0, 0, None), member(1, 0, None)], &series(&[&[5.0, 5.0]]));
        assert_eq!(f.jain_mean, Some(0.5));
        assert_eq!(f.min_over_max_rate, Some(0.0));
    }

    #[test]
    fn an_interval_without_goodput_has_no_index() {
        let f = fairness(&[member(0, 0, None), member(1, 0, None)], &series(&[&[0.0, 5.0], &[0.0, 5.0]]));
        assert_eq!((f.jain_mean, f.converged_at_us), (Some(1.0), Some(1000.0)));
    }

    #[test]
    fn late_samples_lie_in_the_second_half_of_the_time_in_which_all_are_active() {
        // All active from 0 to 6 ms: the late samples are those that begin at 3, 4, 5 ms.
        let members = [member(0, 0, Some(6)), member(1, 0, None)];
        let rates = series(&[&[9.0, 9.0, 9.0, 6.0, 6.0, 6.0, 0.0], &[1.0, 1.0, 1.0, 6.0, 3.0, 6.0, 9.0]]);
        let f = fairness(&members, &rates);
        assert!((f.jain_p5_late.unwrap() - 81.0 / (2.0 * 45.0)).abs() < 1e-12);
        assert!((f.min_over_max_rate.unwrap() - 15.0 / 18.0).abs() < 1e-12);
    }

    #[test]
    fn convergence_is_the_first_fair_sample_that_95_percent_of_the_rest_follow() {
        let members = [member(0, 0, Some(40)), member(1, 0, None)];
        let (fair, unfair) = ((5.0, 5.0), (9.0, 1.0));
        let rates = |bad: &[usize]| {
            let (a, b): (Vec<f64>, Vec<f64>) =
                (0..45).map(|k| if bad.contains(&k) { unfair } else { fair }).unzip();
            series(&[&a, &b])
        };
        let at_ms = |bad: &[usize]| fairness(&members, &rates(bad)).converged_at_us.map(|us| us / 1000.0);
        assert_eq!(at_ms(&[]), Some(0.0));
        assert_eq!(at_ms(&[0, 1]), Some(2.0));
        // One of 20 from 20 ms on, two of 40 from the start: just 95%.
        assert_eq!(at_ms(&[30]), Some(0.0));
        assert_eq!(at_ms(&[30, 35]), Some(0.0));
        // Three of 40 are too many from the start, and two or one too many of the few that are left later.
        assert_eq!(at_ms(&[30, 35, 38]), Some(39.0));
        // What comes after the first end does not matter.
        assert_eq!(at_ms(&[41, 42, 43]), Some(0.0));
        assert_eq!(at_ms(&(0..40).collect::<Vec<_>>()), None);
    }

    #[test]
    fn without_a_group_or_samples_there_are_no_numbers() {
        let rates = series(&[&[5.0]]);
        assert_eq!(Fairness::of(None, None, &[], &rates), Fairness::default());
        let empty = fairness(&[member(0, 0, None)], &[]);
        assert_eq!((empty.jain_mean, empty.converged_at_us), (None, None));
        assert_eq!(fairness(&[], &rates).jain_mean, None);
    }

    proptest! {
        #[test]
        fn jain_s_index_lies_between_1_over_n_and_1(rates in prop::collection::vec(0.0..1e12_f64, 1..20)) {
            match jain(&rates) {
                Some(index) => {
                    prop_assert!(index <= 1.0 && index >= 1.0 / rates.len() as f64 - 1e-12, "{index}");
                }
                None => prop_assert!(rates.iter().all(|r| *r == 0.0)),
            }
        }

        #[test]
        fn jain_s_index_does_not_depend_on_the_unit(rates in prop::collection::vec(1.0..1e6_f64, 1..20), unit in 1e-200..1e200_f64) {
            let scaled: Vec<f64> = rates.iter().map(|r| r * unit).collect();
            prop_assert!((jain(&rates).unwrap() - jain(&scaled).unwrap()).abs() < 1e-9);
        }

        #[test]
        fn a_starved_share_gives_the_lower_bound(n in 1_usize..50, rate in 1e-3..1e12_f64) {
            let mut rates = vec![0.0; n];
            rates[n / 2] = rate;
            prop_assert!((jain(&rates).unwrap() - 1.0 / n as f64).abs() < 1e-12);
        }
    }
}
