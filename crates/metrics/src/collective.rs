//! Iterations of collectives, and how far they are from an ideal network.

use crate::{Quantile, nearest_rank};
use farspan_units::{Duration, Time};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One iteration of one group of ranks: a row of `collectives.parquet`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IterationRecord {
    /// Tag of its part of the workload.
    pub tag: Arc<str>,
    /// The group, from 0.
    pub group: u32,
    /// The iteration, from 0.
    pub iteration: u32,
    /// Whether it is in the summary.
    pub measured: bool,
    /// When the last rank of the group sent its first message; `None` if one has not.
    pub start: Option<Time>,
    /// When every rank had received everything.
    pub end: Option<Time>,
    /// Duration in an ideal network, together with the other groups.
    pub ideal: Duration,
}

impl IterationRecord {
    /// From start to end.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        Some(self.end?.since(self.start?))
    }
}

/// The iterations of a collective. One lasts as long as its slowest group. One that has not ended counts as infinite:
/// whatever it makes infinite is `None`.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Collective {
    /// Tag of its part of the workload.
    pub tag: String,
    /// The operation.
    pub kind: String,
    /// Its steps.
    pub algorithm: String,
    /// Groups of ranks.
    pub groups: u32,
    /// Ranks of all groups.
    pub ranks: u32,
    /// Measured iterations.
    pub iterations: u64,
    /// Those in `iterations` that did not end.
    pub unfinished: u64,
    /// Mean.
    pub mean_us: Option<f64>,
    /// Median, by nearest rank as all quantiles here.
    pub p50_us: Option<f64>,
    /// 90% quantile.
    pub p90_us: Option<f64>,
    /// 99% quantile.
    pub p99_us: Option<f64>,
    /// Longest.
    pub max_us: Option<f64>,
    /// Mean over all groups, not over the slowest of each iteration.
    pub group_mean_us: Option<f64>,
    /// Duration of an iteration in an ideal network, us.
    pub ideal_us: f64,
    /// `mean_us` over `ideal_us`.
    pub ratio: Option<f64>,
    /// `ratio` - 1.
    pub excess: Option<f64>,
}

/// A collective's properties, without its iterations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectiveKind {
    /// Tag of its part of the workload.
    pub tag: String,
    /// The operation.
    pub kind: String,
    /// Its steps.
    pub algorithm: String,
    /// Groups of ranks.
    pub groups: u32,
    /// Ranks of all groups.
    pub ranks: u32,
    /// Duration of an iteration in an ideal network.
    pub ideal: Duration,
}

impl Collective {
    /// The measured iterations among `records`, which hold all groups.
    #[must_use]
    pub fn of(kind: CollectiveKind, records: &[IterationRecord]) -> Self {
        let measured = || records.iter().filter(|record| record.measured);
        let mut slowest: BTreeMap<u32, Option<Duration>> = BTreeMap::new();
        for record in measured() {
            let sofar = slowest.entry(record.iteration).or_insert(Some(Duration::ZERO));
            *sofar = sofar.zip(record.duration()).map(|(a, b)| a.max(b));
        }
        let iterations = slowest.len() as u64;
        let mut ended: Vec<Duration> = slowest.into_values().flatten().collect();
        ended.sort_unstable();
        let unfinished = iterations - ended.len() as u64;
        let us = |q| nearest_rank(&ended, iterations, q).map(Duration::as_us_f64);
        let mean_us = mean(ended.iter().copied()).filter(|_| unfinished == 0);
        let groups = measured().filter_map(IterationRecord::duration);
        let ideal_us = kind.ideal.as_us_f64();
        let ratio = mean_us.map(|mean| mean / ideal_us);
        Self {
            iterations,
            unfinished,
            mean_us,
            p50_us: us(Quantile::P50),
            p90_us: us(Quantile::P90),
            p99_us: us(Quantile::P99),
            max_us: us(Quantile::per_10_000(10_000)),
            group_mean_us: mean(groups).filter(|_| unfinished == 0),
            ideal_us,
            ratio,
            excess: ratio.map(|ratio| ratio - 1.0),
            tag: kind.tag,
            kind: kind.kind,
            algorithm: kind.algorithm,
            groups: kind.groups,
            ranks: kind.ranks,
        }
    }
}

fn mean(durations: impl Iterator<Item = Duration>) -> Option<f64> {
    let (count, sum) = durations.fold((0_u64, 0.0), |(count, sum), d| (count + 1, sum + d.as_us_f64()));
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(group: u32, iteration: u32, start: u64, end: Option<u64>) -> IterationRecord {
        let at = |us| Time::ZERO + Duration::from_us(us);
        IterationRecord {
            tag: "c".into(),
            group,
            iteration,
            measured: true,
            start: Some(at(start)),
            end: end.map(at),
            ideal: Duration::from_us(10),
        }
    }

    fn summary(records: &[IterationRecord]) -> Collective {
        let kind = CollectiveKind {
            tag: "c".into(),
            kind: "allreduce".into(),
            algorithm: "ring".into(),
            groups: 2,
            ranks: 4,
            ideal: Duration::from_us(10),
        };
        Collective::of(kind, records)
    }

    #[test]
    fn an_iteration_lasts_as_long_as_its_slowest_group() {
        let mut late = record(0, 2, 100, Some(900));
        late.measured = false;
        let c = summary(&[
            record(0, 0, 0, Some(12)),
            record(1, 0, 0, Some(20)),
            record(0, 1, 12, Some(22)),
            record(1, 1, 20, Some(30)),
            late,
        ]);
        assert_eq!((c.iterations, c.unfinished), (2, 0));
        assert_eq!((c.mean_us, c.p50_us, c.max_us), (Some(15.0), Some(10.0), Some(20.0)));
        assert_eq!((c.group_mean_us, c.ratio, c.excess), (Some(13.0), Some(1.5), Some(0.5)));
    }

    #[test]
    fn what_has_not_ended_is_infinite() {
        let c = summary(&[record(0, 0, 0, Some(12)), record(1, 0, 0, None), record(0, 1, 12, Some(22))]);
        assert_eq!((c.iterations, c.unfinished), (2, 1));
        assert_eq!((c.mean_us, c.p50_us, c.p99_us, c.excess), (None, Some(10.0), None, None));
        let none = summary(&[]);
        assert_eq!((none.iterations, none.mean_us, none.group_mean_us), (0, None, None));
    }
}
