//! Measures that are computed from a run's tables: from samples (`series.parquet`) or from flows (`flows.parquet`).
//!
//! A number of a series is taken in two steps: of several flows one value a sample (`combine`), then of these values in a
//! period one number (`take`). Where a level is never reached, or never left for good, the number is infinite.

pub(crate) mod check;
mod tables;

use crate::text::{Combine, FlowTake, SampledProbe, Take};
use farspan_metrics::{FlowRow, Quantile, jain, nearest_rank};
use std::collections::BTreeMap;
pub(crate) use tables::Tables;

/// From what of a run's tables a measure is computed.
#[derive(Clone, PartialEq, Debug)]
pub enum Computed {
    /// From samples.
    Series(SeriesMeasure),
    /// From flows.
    Flows(FlowsMeasure),
}

/// A number of samples.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesMeasure {
    /// The quantity.
    pub probe: SampledProbe,
    /// Whose.
    pub of: Subject,
    /// Whose same number divides it.
    pub per: Option<Subject>,
    /// From several flows' values at a time to one.
    pub combine: Combine,
    /// The samples that count.
    pub period: Period,
    /// From values to a number.
    pub take: Take,
    /// The reference that values are compared with.
    pub level: Option<Level>,
}

/// Whose samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// The flows of a part of the workload.
    Tag(String),
    /// A flow.
    Flow(u64),
    /// A port.
    Port(String),
    /// The port with the highest utilisation.
    Bottleneck,
}

/// The reference that values are compared with.
#[derive(Clone, PartialEq, Debug)]
pub enum Level {
    /// A value, in the unit of the probe.
    Value(f64),
    /// A multiple of the mean of the same values in a period.
    OfMean(f64, Period),
}

/// Samples after `from`, up to `to`.
#[derive(Clone, PartialEq, Debug)]
pub struct Period {
    /// Its beginning.
    pub from: Moment,
    /// Its end; none: that of the run.
    pub to: Option<Moment>,
}

/// A time of a run: so many nanoseconds after an event.
#[derive(Clone, PartialEq, Debug)]
pub struct Moment {
    /// The event.
    pub event: Event,
    /// Nanoseconds after it; before it, if negative.
    pub offset_ns: i64,
}

/// An event of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The beginning of the run.
    Beginning,
    /// Such a share of the time from the start of a tag's first flow to the delivery of its last one.
    Within(String, f64),
}

/// A number of the flows of some tag and sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowsMeasure {
    /// Their tag; none: all flows.
    pub tag: Option<String>,
    /// Their size is larger than this, bytes.
    pub above: u64,
    /// Their size is at most this, bytes.
    pub up_to: u64,
    /// The number.
    pub take: FlowTake,
}

/// A number of a run; infinite for what never happens.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// The flows that it is of, if it is of flows.
    pub(crate) flows: Option<u64>,
}

impl Computed {
    /// The probe whose samples it takes.
    pub(crate) const fn probe(&self) -> Option<&'static str> {
        match self {
            Self::Series(measure) => Some(measure.probe.name()),
            Self::Flows(_) => None,
        }
    }

    /// The number of a run; `None` without samples, or flows.
    pub(crate) fn number(&self, tables: &Tables) -> Option<Number> {
        match self {
            Self::Series(measure) => Some(Number { value: measure.number(tables)?, flows: None }),
            Self::Flows(measure) => measure.number(tables),
        }
    }
}

impl Moment {
    /// Nanoseconds from the beginning of the run: infinite if the event never comes, `None` if there are no such flows.
    fn at(&self, tables: &Tables) -> Option<f64> {
        let event = match &self.event {
            Event::Beginning => 0.0,
            Event::Within(tag, share) => {
                let start = tables.tagged(tag).map(|flow| or_never(flow.start_ns)).reduce(f64::min)?;
                let end = tables.tagged(tag).map(|flow| or_never(flow.delivered_ns)).reduce(f64::max)?;
                if *share > 0.0 { start + share * (end - start) } else { start }
            }
        };
        Some(event + self.offset_ns as f64)
    }
}

fn or_never(t_ns: Option<i64>) -> f64 {
    t_ns.map_or(f64::INFINITY, |t| t as f64)
}

impl Period {
    /// The values in it, with their times; `None` if it never begins.
    fn values(&self, tables: &Tables, values: &[(i64, f64)]) -> Option<(f64, Vec<(f64, f64)>)> {
        let from = self.from.at(tables)?;
        let to = self.to.as_ref().map_or(Some(f64::INFINITY), |to| to.at(tables))?;
        let within =
            values.iter().map(|(t, value)| (*t as f64, *value)).filter(|(t, _)| *t > from && *t <= to);
        Some((from, within.collect()))
    }
}

impl SeriesMeasure {
    fn number(&self, tables: &Tables) -> Option<f64> {
        let of = self.number_of(&self.of, tables)?;
        match &self.per {
            None => Some(of),
            Some(per) => Some(of / self.number_of(per, tables)?),
        }
    }

    fn number_of(&self, subject: &Subject, tables: &Tables) -> Option<f64> {
        let values = self.combined(subject, tables)?;
        let (from, within) = self.period.values(tables, &values)?;
        if from.is_infinite() {
            // The event that it waits for never comes.
            return Some(f64::INFINITY);
        }
        let level = match &self.level {
            None => f64::NAN,
            Some(Level::Value(level)) => *level,
            Some(Level::OfMean(factor, period)) => factor * mean(&period.values(tables, &values)?.1)?,
        };
        self.take.number(from, &within, level)
    }

    /// One value a sample, in the unit of the document: microseconds, bytes, bit/s, shares.
    fn combined(&self, subject: &Subject, tables: &Tables) -> Option<Vec<(i64, f64)>> {
        let ids: Vec<String> = match subject {
            Subject::Tag(tag) => tables.tagged(tag).map(|flow| flow.flow_id.to_string()).collect(),
            Subject::Flow(flow) => vec![flow.to_string()],
            Subject::Port(port) => vec![port.clone()],
            Subject::Bottleneck => vec![tables.bottleneck.clone()?],
        };
        let series = tables.series.get(self.probe.name())?;
        let mut by_time: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (t, value) in ids.iter().filter_map(|id| series.get(id)).flatten() {
            by_time.entry(*t).or_default().push(value * self.probe.scale());
        }
        let one = |(t, values): (i64, Vec<f64>)| Some((t, self.combine.of(&values)?));
        Some(by_time.into_iter().filter_map(one).collect())
    }
}

fn mean(values: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = values.iter().map(|(_, value)| value).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

impl Combine {
    /// One of several values; `None` where there is none.
    fn of(self, values: &[f64]) -> Option<f64> {
        let sum = values.iter().sum::<f64>();
        match self {
            Self::Sum => (!values.is_empty()).then_some(sum),
            Self::Mean => (!values.is_empty()).then(|| sum / values.len() as f64),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Jain => jain(values),
        }
    }
}

impl Take {
    /// A number of values with their times in ns, of a period that begins at `from`; `None` without values.
    fn number(self, from: f64, values: &[(f64, f64)], level: f64) -> Option<f64> {
        let average = mean(values)?;
        let above = |(_, value): &&(f64, f64)| *value > level;
        let below = |(_, value): &&(f64, f64)| *value < level;
        // To microseconds.
        let since = |sample: Option<&(f64, f64)>| sample.map_or(f64::INFINITY, |(t, _)| (t - from) / 1e3);
        // Until the last such sample: none is at once, and one at the end is never.
        let until = |last: Option<usize>| match last {
            None => 0.0,
            Some(last) if last + 1 == values.len() => f64::INFINITY,
            Some(last) => since(values.get(last)),
        };
        let of = |sum: f64| sum / values.len() as f64;
        Some(match self {
            Self::Mean => average,
            Self::Min => values.iter().map(|(_, value)| *value).fold(f64::INFINITY, f64::min),
            Self::Max => values.iter().map(|(_, value)| *value).fold(f64::NEG_INFINITY, f64::max),
            Self::Deviation => {
                of(values.iter().map(|(_, value)| (value - average).powi(2)).sum()).sqrt() / average
            }
            Self::Slope => slope(values)?,
            Self::ShareAbove => of(values.iter().filter(above).count() as f64),
            Self::Shortfall => of(values.iter().map(|(_, value)| (level - value).max(0.0)).sum()),
            Self::FirstAbove => since(values.iter().find(above)),
            Self::FirstBelow => since(values.iter().find(below)),
            Self::LastAbove => until(values.iter().rposition(|sample| above(&sample))),
            Self::LastBelow => until(values.iter().rposition(|sample| below(&sample))),
        })
    }
}

/// The slope of the values over time by least squares, per second; `None` of less than two.
fn slope(values: &[(f64, f64)]) -> Option<f64> {
    let n = values.len() as f64;
    let middle = values.iter().map(|(t, _)| t).sum::<f64>() / n;
    let average = mean(values)?;
    let above: f64 = values.iter().map(|(t, value)| (t - middle) * (value - average)).sum();
    let below: f64 = values.iter().map(|(t, _)| (t - middle).powi(2)).sum();
    (below > 0.0).then(|| above / below * 1e9)
}

impl FlowsMeasure {
    fn number(&self, tables: &Tables) -> Option<Number> {
        let fits = |flow: &&FlowRow| {
            let sized = flow.size_bytes > self.above && flow.size_bytes <= self.up_to;
            let tagged = self.tag.as_ref().is_none_or(|tag| &*flow.tag == tag);
            sized && tagged && flow.measured && flow.start_ns.is_some()
        };
        let flows = tables.flows.iter().filter(fits);
        let value = |flow: &FlowRow| match self.take {
            FlowTake::SlowdownMean | FlowTake::SlowdownP99 => flow.slowdown,
            FlowTake::FctMean | FlowTake::FctP99 => flow.fct_ns.map(|ns| ns as f64 / 1e3),
        };
        let mut values: Vec<f64> = flows.map(|flow| value(flow).unwrap_or(f64::INFINITY)).collect();
        values.sort_unstable_by(f64::total_cmp);
        let count = values.len() as u64;
        let number = match self.take {
            FlowTake::SlowdownMean | FlowTake::FctMean => values.iter().sum::<f64>() / count as f64,
            FlowTake::SlowdownP99 | FlowTake::FctP99 => nearest_rank(&values, count, Quantile::P99)?,
        };
        (count > 0).then_some(Number { value: number, flows: Some(count) })
    }
}

#[cfg(test)]
mod tests;
