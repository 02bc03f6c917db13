//! From the documents of runs to claims with verdicts, and rows of tables.

use crate::figure::{Across, Claim, Figure, Measure, Over, OverSeeds, Setup, Size, Term, Unit};
use crate::plan::Run;
use crate::record::{Cell, Outcome, Record, Row, finite, rounded};
use crate::verdict::{Interval, SEEDS_FOR_A_VERDICT, Verdict};
use farspan_metrics::{Bootstrap, Quantile, Spread, nearest_rank, paired_ratios};
use farspan_units::{Purpose, Random};
use serde_json::Value;
use std::collections::BTreeMap;

/// Resamples of the bootstrap of statistics other than the median.
const RESAMPLES: usize = 2_000;

/// The normal quantile of a 95% interval.
const Z: f64 = 1.959_964;

/// A number of one run: over what, if `per` says so. Infinite where flows never ended.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Reading {
    above: f64,
    below: f64,
}

impl Reading {
    fn value(self) -> f64 {
        self.above / self.below
    }
}

/// The numbers of an arm, by seed.
type Readings = BTreeMap<u64, Reading>;

impl Unit {
    /// The factor from the document's microseconds, bytes and shares.
    pub(crate) const fn scale(self) -> f64 {
        match self {
            Self::Number | Self::Us => 1.0,
            Self::Ms | Self::Kb => 1e-3,
            Self::S => 1e-6,
            Self::Gbps => 1e-9,
            Self::Percent => 100.0,
        }
    }
}

impl Measure {
    /// The number of a run; `None` where its class has no flows, or too few.
    fn reading(&self, document: &Value, case: usize) -> Option<Reading> {
        let field = document.pointer(&self.path)?;
        let class = self.path.rsplit_once('/').map_or("", |(class, _)| class);
        let flows = document.pointer(&format!("{class}/count")).and_then(Value::as_u64);
        if flows.is_some_and(|flows| flows < self.least_flows) {
            return None;
        }
        let number = if field.is_null() { f64::INFINITY } else { field.as_f64()? };
        let per = self.per.as_ref().map_or(Some(1.0), |per| document.pointer(per)?.as_f64())?;
        let ideal = self.ideal.as_ref().map_or(1.0, |ideal| ideal[case]);
        let (above, below) = (number * self.unit.scale(), per * ideal);
        Some(Reading { above: if self.off_ideal { (above - below).abs() } else { above }, below })
    }
}

impl Figure {
    /// The claims with their verdicts, and the rows of the table. `documents` holds what the runs of [`Figure::plan`] gave;
    /// a run that failed is left out.
    #[must_use]
    pub fn evaluate(&self, size: Size, documents: &[(&Run, &Value)]) -> Record {
        let of = |measure: usize, case: usize, arm: usize| -> Readings {
            let runs = documents.iter().filter(|(run, _)| (run.case, run.arm) == (case, arm));
            let measure = &self.measures[measure];
            runs.filter_map(|(run, document)| Some((run.seed, measure.reading(document, case)?))).collect()
        };
        let outcome = |claim: &Claim| {
            let at = |measure: usize, setup: Setup| of(measure, setup.case, setup.arm);
            let (found, seeds) = match (claim.across, claim.terms.as_slice()) {
                (None, [Term { measure, of, over: None }]) => {
                    interval(&self.measures[*measure], &at(*measure, *of), None)
                }
                (None, [Term { measure, of, over: Some(Over::Setup(over)) }]) => {
                    interval(&self.measures[*measure], &at(*measure, *of), Some(&at(*measure, *over)))
                }
                (across, terms) => {
                    let xs: Vec<f64> =
                        terms.iter().map(|term| self.cases[term.of.case].x.unwrap_or_default()).collect();
                    let parts = parts(across, terms);
                    combined(
                        across.unwrap_or(Across::Median),
                        &xs,
                        parts.iter().map(|term| by_seed(term, at)),
                    )
                }
            };
            self.outcome(size, claim, found, seeds)
        };
        let mut rows = Vec::new();
        for &case in &self.runs(size).cases {
            for &arm in &self.cases[case].arms {
                let runs = documents.iter().filter(|(run, _)| (run.case, run.arm) == (case, arm)).count();
                let cell = |m: usize| {
                    Some((self.measures[m].name.clone(), cell(&self.measures[m], &of(m, case, arm))?))
                };
                rows.push(Row {
                    case: self.cases[case].name.clone(),
                    arm: self.arms[arm].name.clone(),
                    runs,
                    values: (0..self.measures.len()).filter_map(cell).collect(),
                });
            }
        }
        let (claims, checks): (Vec<_>, Vec<_>) =
            self.claims.iter().partition(|claim| claim.statement.is_some());
        Record {
            figure: self.name.clone(),
            size,
            claims: claims.into_iter().map(outcome).collect(),
            checks: checks.into_iter().map(outcome).collect(),
            rows,
        }
    }

    fn outcome(&self, size: Size, claim: &Claim, found: Option<Interval>, seeds: usize) -> Outcome {
        let found =
            found.map(|i| Interval { point: rounded(i.point), low: rounded(i.low), high: rounded(i.high) });
        let case = claim.terms[0].of.case;
        let planned = self.cases[case].seeds.as_ref().unwrap_or(&self.runs(size).seeds).len();
        let mut notes = vec![claim.note.clone()];
        let verdict = match found {
            _ if size == Size::Smoke => Verdict::NotRun,
            _ if claim
                .terms
                .iter()
                .flat_map(Term::setups)
                .any(|setup| !self.runs(size).cases.contains(&setup.case)) =>
            {
                notes.push(format!("not part of size {}", size.name()));
                Verdict::NotRun
            }
            Some(found) if seeds >= SEEDS_FOR_A_VERDICT => match claim.rule.verdict(found) {
                Verdict::Holds if self.hardware => Verdict::Direction,
                verdict => verdict,
            },
            None if seeds > 0 => {
                notes.push("no number comes of these: one is 0, or never ends".to_owned());
                Verdict::NotRun
            }
            _ => {
                notes.push(format!("{seeds} of {planned} seeds have a value, and a verdict needs six"));
                Verdict::NotRun
            }
        };
        if found.is_some_and(|found| found.point == f64::INFINITY) {
            notes.push("infinite: flows did not end, or rates never converged".to_owned());
        }
        notes.retain(|note| !note.is_empty());
        let (low, high) = claim.rule.band();
        let ran = found.filter(|_| verdict != Verdict::NotRun);
        let paper = claim.paper_text.or(claim.paper_plot);
        Outcome {
            id: claim.id.clone(),
            statement: claim.statement.as_ref().map(|statement| statement.id.clone()),
            text: claim.text.clone(),
            place: claim.statement.as_ref().map_or_else(String::new, |statement| statement.place.clone()),
            source: claim.statement.as_ref().map(|statement| statement.source),
            paper_text: claim.paper_text.map(rounded),
            paper_plot: claim.paper_plot.map(rounded),
            artifact_rerun: claim.artifact_rerun,
            profile: claim.profile.clone(),
            seeds: seeds as u64,
            measured: found.and_then(|found| finite(found.point)),
            ci_low: found.and_then(|found| finite(found.low)),
            ci_high: found.and_then(|found| finite(found.high)),
            ratio: ran.zip(paper).and_then(|(found, paper)| finite(rounded(found.point / paper))),
            low: low.map(rounded),
            high: high.map(rounded),
            verdict,
            close: ran
                .and_then(|found| claim.rule.close(found))
                .map(|close| close && verdict == Verdict::Holds),
            note: notes.join("; "),
        }
    }
}

/// The spread of an arm's numbers; `None` if it has none.
fn cell(measure: &Measure, readings: &Readings) -> Option<Cell> {
    if measure.over_seeds == OverSeeds::Sum {
        let total = statistic(OverSeeds::Sum, readings.values().copied());
        let only = finite(rounded(total));
        return (!total.is_nan()).then_some(Cell {
            median: only,
            min: only,
            max: only,
            seeds: readings.len() as u64,
        });
    }
    let mut values: Vec<f64> = readings.values().map(|reading| rounded(reading.value())).collect();
    values.retain(|value| !value.is_nan());
    values.sort_unstable_by(f64::total_cmp);
    let (min, max) = (finite(*values.first()?), finite(*values.last()?));
    let middle = match measure.over_seeds {
        OverSeeds::P99 => nearest_rank(&values, values.len() as u64, Quantile::P99)?,
        OverSeeds::Mean => mean(&values),
        _ => farspan_metrics::median(&values),
    };
    Some(Cell { median: finite(rounded(middle)), min, max, seeds: values.len() as u64 })
}

/// A term's numbers over the fraction bar and those under it, the latter one list a seed for each arm that is ranked.
struct Parts {
    /// The number itself by seed, or its ratios over each arm under the fraction bar.
    by_seed: BTreeMap<u64, Vec<f64>>,
    /// Which ratio counts, the largest first; the arms under the bar are ranked by their numbers, the smallest first.
    rank: usize,
}

/// The numbers of a term, by seed. Seeds without all of them are left out, as [`paired_ratios`] leaves them out.
fn by_seed(term: &Term, at: impl Fn(usize, Setup) -> Readings) -> Parts {
    let values = |setup: Setup| -> Vec<(u64, Option<f64>)> {
        let readings = at(term.measure, setup).into_iter();
        readings.map(|(seed, reading)| (seed, finite(reading.value()))).collect()
    };
    let (rank, under): (usize, &[Setup]) = match &term.over {
        None => {
            let numbers =
                at(term.measure, term.of).into_iter().map(|(seed, reading)| (seed, reading.value()));
            let by_seed = numbers.filter(|(_, number)| !number.is_nan());
            return Parts { by_seed: by_seed.map(|(seed, number)| (seed, vec![number])).collect(), rank: 1 };
        }
        Some(Over::Setup(setup)) => (1, std::slice::from_ref(setup)),
        Some(Over::Rank(rank, among)) => (*rank, among),
    };
    let of = values(term.of);
    let mut by_seed: BTreeMap<u64, Vec<f64>> = of.iter().map(|(seed, _)| (*seed, Vec::new())).collect();
    for setup in under {
        for ratio in paired_ratios(&of, &values(*setup)).ratios {
            let ratios = by_seed.get_mut(&ratio.seed).expect("a pair's seed is one of the numerator's");
            ratios.push(ratio.ratio.unwrap_or(f64::INFINITY));
        }
    }
    by_seed.retain(|_, ratios| ratios.len() == under.len());
    Parts { by_seed, rank }
}

/// One number of several, and its 95% interval: the median over seeds of each comes first, then the rank among the arms under
/// its fraction bar, then what is taken across. The other way round the largest of noisy numbers, seed by seed, would lie above
/// each of them.
///
/// Resamples draw whole seeds. The largest of several lies too far out in the resamples as well, farthest where all are equal in truth.
/// So the interval is the wider of two: of what the resamples give, and of the point over what their deviations give, each
/// median over that of all seeds.
///
/// A slope and a mean choose none among several: their interval is that of the resamples.
fn combined(across: Across, xs: &[f64], terms: impl Iterator<Item = Parts>) -> (Option<Interval>, usize) {
    let terms: Vec<Parts> = terms.collect();
    let in_all = |seed: &&u64| terms.iter().all(|term| term.by_seed.contains_key(*seed));
    let seeds: Vec<u64> =
        terms.first().map_or_else(Vec::new, |term| term.by_seed.keys().filter(in_all).copied().collect());
    if seeds.is_empty() {
        return (None, 0);
    }
    // The numbers of each term, by what is under its bar, in the order of the seeds.
    let numbers: Vec<Vec<Vec<f64>>> = terms
        .iter()
        .map(|term| {
            let under = 0..term.by_seed[&seeds[0]].len();
            under.map(|u| seeds.iter().map(|seed| term.by_seed[seed][u]).collect()).collect()
        })
        .collect();
    let medians = |drawn: &[usize]| -> Vec<Vec<f64>> {
        let median = |of: &Vec<f64>| farspan_metrics::median(&sorted(drawn.iter().map(|i| of[*i])));
        numbers.iter().map(|term| term.iter().map(median).collect()).collect()
    };
    let one = |medians: Vec<Vec<f64>>| {
        let ranked = medians.into_iter().zip(&terms).map(|(under, term)| {
            let ratios = sorted(under.into_iter());
            ratios[ratios.len() - term.rank]
        });
        match across {
            Across::Slope => slope(xs.iter().copied().zip(ranked)),
            Across::Mean => {
                let all: Vec<f64> = ranked.collect();
                let (of, over) = all.split_at(xs.len());
                mean(of) / if over.is_empty() { 1.0 } else { mean(over) }
            }
            Across::Max => ranked.fold(f64::NEG_INFINITY, f64::max),
            Across::Min => ranked.fold(f64::INFINITY, f64::min),
            Across::Median => farspan_metrics::median(&sorted(ranked)),
        }
    };
    if matches!(across, Across::Slope | Across::Mean) {
        return (bootstrap(seeds.len(), |drawn| one(medians(drawn))), seeds.len());
    }
    let truth = medians(&(0..seeds.len()).collect::<Vec<_>>());
    let deviation = |drawn: &[usize]| {
        let over = |(now, truth): (f64, &f64)| match now / truth {
            ratio if ratio.is_finite() => ratio,
            _ => 1.0, // 0 over 0, and infinite ones
        };
        let each = medians(drawn).into_iter().zip(&truth);
        one(each.map(|(now, truth)| now.into_iter().zip(truth).map(over).collect()).collect())
    };
    let found = bootstrap(seeds.len(), |drawn| one(medians(drawn))).map(|found| {
        let by = bootstrap(seeds.len(), deviation).filter(|by| by.low > 0.0 && found.point.is_finite());
        let (low, high) =
            by.map_or((found.low, found.high), |by| (found.point / by.high, found.point / by.low));
        Interval { low: found.low.min(low), high: found.high.max(high), ..found }
    });
    (found, seeds.len())
}

/// The terms to combine. A mean of ratios is that of what is over the bar over that of what is under it, which come after each other.
fn parts(across: Option<Across>, terms: &[Term]) -> Vec<Term> {
    let under = |term: &Term| match term.over {
        Some(Over::Setup(of)) => Some(Term { of, over: None, ..*term }),
        _ => None,
    };
    let below: Option<Vec<Term>> = terms.iter().map(under).collect();
    match below.filter(|_| across == Some(Across::Mean)) {
        Some(below) => terms.iter().map(|term| Term { over: None, ..*term }).chain(below).collect(),
        None => terms.to_vec(),
    }
}

/// The slope by least squares of the logarithm of y over that of x.
fn slope(points: impl Iterator<Item = (f64, f64)>) -> f64 {
    let points: Vec<(f64, f64)> = points.map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = points.len() as f64;
    let (mean_x, mean_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let over = |y: fn(&(f64, f64), f64, f64) -> f64| {
        points.iter().map(|point| y(point, mean_x, mean_y)).sum::<f64>()
    };
    over(|(x, y), mean_x, mean_y| (x - mean_x) * (y - mean_y))
        / over(|(x, _), mean_x, _| (x - mean_x).powi(2))
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers
}

/// The claim's number with its 95% interval, and the seeds that it is of.
fn interval(measure: &Measure, of: &Readings, over: Option<&Readings>) -> (Option<Interval>, usize) {
    let Some(over) = over else {
        let readings: Vec<Reading> = of.values().copied().collect();
        let found = match measure.over_seeds {
            OverSeeds::Median => {
                let values: Vec<Option<f64>> =
                    readings.iter().map(|reading| finite(reading.value())).collect();
                Spread::of(&values, &Bootstrap::new(values.len()))
                    .map(|spread| or_infinite(spread.median, spread.ci_low, spread.ci_high))
            }
            OverSeeds::Sum => share(&readings, measure.unit.scale()),
            kind @ (OverSeeds::P99 | OverSeeds::Mean) => {
                bootstrap(readings.len(), |drawn| statistic(kind, drawn.iter().map(|i| readings[*i])))
            }
        };
        return (found, readings.len());
    };
    let pairs: Vec<(u64, Reading, Reading)> =
        of.iter().filter_map(|(seed, a)| over.get(seed).map(|b| (*seed, *a, *b))).collect();
    if measure.over_seeds == OverSeeds::Median {
        let values = |pick: fn(&(u64, Reading, Reading)) -> Reading| -> Vec<(u64, Option<f64>)> {
            pairs.iter().map(|pair| (pair.0, finite(pick(pair).value()))).collect()
        };
        let paired = paired_ratios(&values(|pair| pair.1), &values(|pair| pair.2));
        let found = or_infinite(paired.median, paired.ci_low, paired.ci_high);
        return ((!paired.ratios.is_empty()).then_some(found), paired.ratios.len());
    }
    let ratio = |drawn: &[usize]| {
        statistic(measure.over_seeds, drawn.iter().map(|i| pairs[*i].1))
            / statistic(measure.over_seeds, drawn.iter().map(|i| pairs[*i].2))
    };
    (bootstrap(pairs.len(), ratio), pairs.len())
}

fn or_infinite(point: Option<f64>, low: Option<f64>, high: Option<f64>) -> Interval {
    let [point, low, high] = [point, low, high].map(|x| x.unwrap_or(f64::INFINITY));
    Interval { point, low, high }
}

fn statistic(kind: OverSeeds, readings: impl Iterator<Item = Reading>) -> f64 {
    if kind == OverSeeds::Sum {
        let (above, below) =
            readings.fold((0.0, 0.0), |(a, b), reading| (a + reading.above, b + reading.below));
        return above / below;
    }
    let mut values: Vec<f64> = readings.map(Reading::value).collect();
    if kind == OverSeeds::Mean {
        return mean(&values);
    }
    values.sort_unstable_by(f64::total_cmp);
    nearest_rank(&values, values.len() as u64, Quantile::P99).unwrap_or(f64::NAN)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// A share of counts over all seeds, with its Wilson interval: a bootstrap of none among few would be none for certain.
fn share(readings: &[Reading], unit: f64) -> Option<Interval> {
    let (above, n) =
        readings.iter().fold((0.0, 0.0), |(a, n), reading| (a + reading.above / unit, n + reading.below));
    if n <= 0.0 {
        return None;
    }
    let (p, z2) = (above / n, Z * Z);
    let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).max(0.0).sqrt();
    let [point, low, high] = [p, (middle - half).max(0.0), middle + half].map(|share| share * unit);
    Some(Interval { point, low, high })
}

/// The percentile bootstrap of a statistic of `n` seeds, given the indices that were drawn. Resamples without a value (0/0,
/// infinite over infinite) are left out.
fn bootstrap(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Option<Interval> {
    let point = statistic(&(0..n).collect::<Vec<_>>());
    if n == 0 || point.is_nan() {
        return None;
    }
    let mut random = Random::new(0, Purpose::Bootstrap, n as u64);
    let mut values: Vec<f64> = (0..RESAMPLES)
        .map(|_| statistic(&(0..n).map(|_| random.below(n as u64) as usize).collect::<Vec<_>>()))
        .filter(|value| !value.is_nan())
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |q| nearest_rank(&values, values.len() as u64, q);
    Some(Interval { point, low: at(Quantile::P2_5)?, high: at(Quantile::P97_5)? })
}
