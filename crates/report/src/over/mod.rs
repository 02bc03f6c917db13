//! A number of runs over what varies among them: a line a scheme, with its range over seeds.

mod axes;
mod axis;
mod error;
mod heads;
mod keys;
mod number;

pub(crate) use axes::axes;
pub use error::OverError;
pub use heads::{Head, heads};

use crate::load::natural;
use crate::seeds::SEEDS_FOR_AN_INTERVAL;
use axis::{Kind, equal, numbers, of_summary};
use farspan_chart::{spans_a_decade, wants_log};
use farspan_metrics::{Bootstraps, bottleneck};
use heads::{candidates, distinct, keys, named};
use keys::meant;
use number::{Found, known, number};
use serde::Serialize;
use std::collections::BTreeSet;

/// The number, the axis and the lines that are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asked<'a> {
    /// The key on the axis, such as `topology.wan.rtt`; of keys that vary, the last names do (`rtt`) where one key has them.
    pub x: &'a str,
    /// The number, by its place in the summary, such as `fct.inter.p99_us`.
    pub y: &'a str,
    /// The key that has a line for each of its values.
    pub by: &'a str,
    /// Only runs with these values of these keys.
    pub only: &'a [(String, String)],
}

/// A number over an axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Over {
    /// The axis, with its unit.
    pub x_label: String,
    /// Whether the axis is better logarithmic ([`farspan_chart::wants_log`]).
    pub x_log: bool,
    /// The number, with its unit.
    pub y_label: String,
    /// Whether the axis of the number is better logarithmic ([`farspan_chart::spans_a_decade`]).
    pub y_log: bool,
    /// The places on the axis, rising.
    pub places: Vec<Place>,
    /// The lines, in the order in which their runs were found.
    pub lines: Vec<Line>,
    /// Whose runs they are, in one line.
    pub heading: String,
    /// Notes for the reader: seeds, range, what is infinite and what is missing.
    pub notes: Vec<String>,
}

/// A place on the axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Place {
    /// The value as it was written.
    pub name: String,
    /// Its number in the axis's unit; `None` if the axis has words.
    pub number: Option<f64>,
}

/// A line.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Line {
    /// Its value of `by`.
    pub name: String,
    /// A point for each place; `None` where no run has the number.
    pub points: Vec<Option<Point>>,
}

/// A point: the median over seeds and its range. `None` is infinite: flows that did not end, rates that never converged.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Point {
    /// The median over seeds.
    pub median: Option<f64>,
    /// The lower end of its 95% interval; of fewer than six seeds the smallest.
    pub low: Option<f64>,
    /// Its upper end; of fewer than six seeds the largest.
    pub high: Option<f64>,
    /// How many runs it is of.
    pub seeds: usize,
}

/// Puts the runs over an axis.
///
/// # Errors
/// If a key or the number is not known, the axis has one value, the number is null in every run, or something else varies that
/// neither the axis nor the lines say.
pub fn over(runs: &[Head], asked: &Asked<'_>) -> Result<Over, OverError> {
    let named = named(runs);
    let all: Vec<&Head> = named.iter().collect();
    let (x, by) = (meant(&all, "--x", asked.x)?, meant(&all, "--by", asked.by)?);
    let only = asked.only.iter().map(|(key, value)| Ok((meant(&all, "--where", key)?, value.clone())));
    let only = only.collect::<Result<Vec<_>, OverError>>()?;
    let asked = &Asked { x: &x, by: &by, only: &only, ..*asked };
    let chosen = chosen(runs, &named, asked)?;
    let found = |head: &&Head| number(&head.summary, asked.y);
    if !chosen.iter().any(|head| matches!(found(head), Found::Number(_))) {
        return Err(unknown_number(&chosen, asked.y));
    }
    let places = places(&chosen, asked)?;
    let mut lines: Vec<(String, Vec<Vec<&Head>>)> = Vec::new();
    for head in &chosen {
        let name = head.value(asked.by).unwrap_or_default();
        let line = lines.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            lines.push((name, vec![Vec::new(); places.texts.len()]));
            lines.len() - 1
        });
        let x = head.value(asked.x).unwrap_or_default();
        let place = places.texts.iter().position(|text| equal(text, &x)).expect("every run has its place");
        lines[line].1[place].push(head);
    }
    no_other_axis(&chosen, &lines, asked)?;
    let (kind, base, name) = of_summary(asked.y);
    let finite: Vec<f64> = chosen
        .iter()
        .filter_map(|head| if let Found::Number(x) = found(head) { Some(x * base) } else { None })
        .collect();
    let (size, unit) = kind.unit(&finite);
    let mut bootstraps = Bootstraps::default();
    let mut counts = Counts::default();
    let mut drawn = Vec::new();
    for (name, cells) in &lines {
        let mut points = Vec::new();
        for cell in cells {
            let values: Vec<Option<f64>> = cell.iter().filter_map(|head| counts.add(found(head))).collect();
            let scaled: Vec<Option<f64>> = values.iter().map(|v| v.map(|v| v * base / size)).collect();
            points.push(counts.point(&scaled, &mut bootstraps));
        }
        drawn.push(Line { name: name.clone(), points });
    }
    let heights = drawn.iter().flat_map(|line| line.points.iter().flatten());
    let heights: Vec<f64> = heights.flat_map(|point| [point.median, point.high]).flatten().collect();
    let partial = runs.iter().filter(|head| head.partial()).count();
    let mut notes = counts.notes(partial);
    notes.extend(ports(&chosen, asked.y));
    Ok(Over {
        x_label: labelled(asked.x, places.unit),
        x_log: places.numbers.as_deref().is_some_and(wants_log),
        y_label: labelled(name, unit),
        y_log: spans_a_decade(&heights),
        places: places.shown(),
        lines: drawn,
        heading: heading(&chosen, asked),
        notes,
    })
}

/// A note on a number of the bottleneck, if that is not one port in all runs.
fn ports(chosen: &[&Head], y: &str) -> Option<String> {
    let ports: BTreeSet<&str> = chosen
        .iter()
        .filter(|head| matches!(number(&head.summary, y), Found::Number(_)))
        .map(|head| bottleneck(&head.summary))
        .collect();
    (y.starts_with("queues.bottleneck_") && ports.len() > 1)
        .then(|| format!("over {} ports: the bottleneck is not the same port in all runs", ports.len()))
}

fn labelled(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name} ({unit})") }
}

/// The runs that were not interrupted and have the values asked for.
/// `named` are they with files by their names.
fn chosen<'a>(runs: &[Head], named: &'a [Head], asked: &Asked<'_>) -> Result<Vec<&'a Head>, OverError> {
    let mut both: Vec<(&Head, &Head)> = runs.iter().zip(named).filter(|(head, _)| !head.partial()).collect();
    let mut chosen: Vec<&Head> = both.iter().map(|(_, named)| *named).collect();
    if chosen.is_empty() {
        return Err(OverError::Interrupted);
    }
    let has = |runs: &[&Head], key: &str| runs.iter().any(|head| head.value(key).is_some());
    let unknown = |runs: &[&Head], what, key: &str| {
        let varying = varying(runs).into_iter().map(|(key, _)| key).collect();
        OverError::unknown(what, key, keys(runs), varying)
    };
    for (what, key) in [("--x", asked.x), ("--by", asked.by)] {
        if !has(&chosen, key) {
            return Err(unknown(&chosen, what, key));
        }
    }
    for (key, value) in asked.only {
        if !has(&chosen, key) {
            return Err(unknown(&chosen, "--where", key));
        }
        let there = values(&chosen, key);
        both.retain(|(original, head)| head.has(key, value, original));
        chosen = both.iter().map(|(_, named)| *named).collect();
        if chosen.is_empty() {
            return Err(OverError::NoValue { key: key.clone(), value: value.clone(), there });
        }
    }
    Ok(chosen)
}

/// The values of a key, each once, in order.
fn values(runs: &[&Head], key: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for value in runs.iter().map(|head| head.value(key).unwrap_or_else(|| "not set".to_owned())) {
        if !found.iter().any(|known| equal(known, &value)) {
            found.push(value);
        }
    }
    let sorted = numbers(&found.iter().map(String::as_str).collect::<Vec<_>>());
    let Some((_, numbers)) = sorted else {
        found.sort_by_cached_key(|text| natural(text));
        return found;
    };
    let mut both: Vec<(f64, String)> = numbers.into_iter().zip(found).collect();
    both.sort_by(|a, b| a.0.total_cmp(&b.0));
    both.into_iter().map(|(_, text)| text).collect()
}

/// The places on an axis, rising.
struct Places {
    texts: Vec<String>,
    /// In the axis's unit.
    numbers: Option<Vec<f64>>,
    unit: &'static str,
}

impl Places {
    fn shown(self) -> Vec<Place> {
        let numbers = self.numbers;
        let number = |i: usize| numbers.as_ref().map(|numbers| numbers[i]);
        self.texts.into_iter().enumerate().map(|(i, name)| Place { name, number: number(i) }).collect()
    }
}

fn places(chosen: &[&Head], asked: &Asked<'_>) -> Result<Places, OverError> {
    let texts = values(chosen, asked.x);
    if let [lone] = &texts[..] {
        return Err(OverError::Constant {
            x: asked.x.to_owned(),
            value: lone.clone(),
            varying: varying(chosen),
        });
    }
    let of = |texts: &[String]| numbers(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let Some((kind, numbers)) = of(&texts) else {
        return Ok(Places { texts, numbers: None, unit: "" });
    };
    let (size, unit) = kind.unit(&numbers);
    let numbers = numbers.into_iter().map(|number| if kind == Kind::Plain { number } else { number / size });
    Ok(Places { texts, numbers: Some(numbers.collect()), unit })
}

/// The keys that take several values, with them.
fn varying(runs: &[&Head]) -> Vec<(String, Vec<String>)> {
    let all = distinct(runs, candidates(runs)).into_iter().map(|key| (values(runs, &key), key));
    all.filter(|(values, _)| values.len() > 1).map(|(values, key)| (key, values)).collect()
}

/// Runs of one point may differ in their seed alone.
fn no_other_axis(
    chosen: &[&Head],
    lines: &[(String, Vec<Vec<&Head>>)],
    asked: &Asked<'_>,
) -> Result<(), OverError> {
    let cells = || lines.iter().flat_map(|(_, cells)| cells);
    let others: Vec<(String, Vec<String>)> = varying(chosen)
        .into_iter()
        .filter(|(key, _)| key != asked.x && key != asked.by)
        .filter(|(key, _)| cells().any(|cell| values(cell, key).len() > 1))
        .collect();
    if !others.is_empty() {
        return Err(OverError::Others { others });
    }
    // Two runs of one seed differ in something that is not seen.
    let seeds =
        |cell: &Vec<&Head>| cell.iter().filter_map(|head| head.value("seed")).collect::<BTreeSet<_>>();
    match cells().find(|cell| seeds(cell).len() < cell.len()) {
        None => Ok(()),
        Some(cell) => Err(OverError::Twice { seed: cell[0].value("seed").unwrap_or_default() }),
    }
}

fn unknown_number(chosen: &[&Head], y: &str) -> OverError {
    let (numbers, inner) = known(chosen.iter().map(|head| &head.summary), y);
    if numbers.contains(y) {
        let infinite = chosen.iter().any(|head| number(&head.summary, y) == Found::Infinite);
        OverError::NoNumber { y: y.to_owned(), infinite }
    } else if !inner.is_empty() {
        OverError::NotANumber { y: y.to_owned(), inner }
    } else {
        OverError::unknown("--y", y, numbers, Vec::new())
    }
}

/// The scenario, and what was asked for alone.
fn heading(chosen: &[&Head], asked: &Asked<'_>) -> String {
    let mut parts = values(chosen, "scenario");
    if parts.len() > 1 {
        parts = vec![format!("{} scenarios", parts.len())];
    }
    for (key, value) in asked.only {
        let own = chosen[0].value(key).filter(|own| !equal(own, value));
        parts.push(format!("{key} = {}", own.as_ref().unwrap_or(value)));
    }
    parts.join(", ")
}

/// How many runs have the number.
#[derive(Default)]
struct Counts {
    runs: usize,
    infinite: usize,
    none: usize,
    /// How many seeds points have.
    seeds: BTreeSet<usize>,
}

impl Counts {
    /// A run's number, `None` within if it is infinite.
    fn add(&mut self, found: Found) -> Option<Option<f64>> {
        self.runs += 1;
        match found {
            Found::Number(number) => Some(Some(number)),
            Found::Infinite => {
                self.infinite += 1;
                Some(None)
            }
            Found::Null | Found::Absent => {
                self.none += 1;
                None
            }
        }
    }

    fn point(&mut self, values: &[Option<f64>], bootstraps: &mut Bootstraps) -> Option<Point> {
        let spread = bootstraps.spread(values)?;
        self.seeds.insert(values.len());
        let wide = values.len() < SEEDS_FOR_AN_INTERVAL;
        let (low, high) = if wide { (spread.min, spread.max) } else { (spread.ci_low, spread.ci_high) };
        Some(Point { median: spread.median, low, high, seeds: values.len() })
    }

    fn notes(&self, partial: usize) -> Vec<String> {
        let (Some(fewest), Some(most)) = (self.seeds.first(), self.seeds.last()) else { return Vec::new() };
        let seeds = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        let mut notes = vec![match (*fewest, *most) {
            (_, 1) => "one seed".to_owned(),
            (fewest, most)
                if most < SEEDS_FOR_AN_INTERVAL || fewest == most && fewest < SEEDS_FOR_AN_INTERVAL =>
            {
                format!(
                    "median over {seeds} seeds; band: smallest to largest (a 95% interval needs {SEEDS_FOR_AN_INTERVAL})"
                )
            }
            (fewest, _) if fewest < SEEDS_FOR_AN_INTERVAL => format!(
                "median over {seeds} seeds; band: its 95% interval, or smallest to largest with fewer than {SEEDS_FOR_AN_INTERVAL} seeds"
            ),
            _ => format!("median over {seeds} seeds; band: its 95% interval"),
        }];
        let mut add = |count: usize, text: &str| {
            if count > 0 {
                notes.push(format!("{text} ({count} of {} runs)", self.runs));
            }
        };
        add(self.infinite, "∞: some flows did not finish, or rates never converged");
        add(self.none, "left out: not measured, or too few flows");
        if partial > 0 {
            notes.push(format!("left out: {partial} interrupted runs"));
        }
        notes
    }
}

#[cfg(test)]
mod tests;
