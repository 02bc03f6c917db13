//! The results of a figure as `farspan reproduce` gives them, and the ledger of all figures.

use crate::figure::{Claim, Figure, Size};
use crate::statement::Source;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The results of a figure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// `PAPER/FIGURE`.
    pub figure: String,
    /// How much was run.
    pub size: Size,
    /// How the paper's statements were found.
    pub claims: Vec<Outcome>,
    /// Our own checks.
    pub checks: Vec<Outcome>,
    /// The numbers of each case and arm.
    pub rows: Vec<Row>,
}

/// A claim and its verdict.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The id.
    pub id: String,
    /// The id of the statement that it measures; none of a check of our own.
    pub statement: Option<String>,
    /// The measured quantity, in one line.
    pub text: String,
    /// Where the statement stands in the paper.
    pub place: String,
    /// Where the paper's number stands.
    pub source: Option<Source>,
    /// The number in the paper's text.
    pub paper_text: Option<f64>,
    /// The number in the paper's plot.
    pub paper_plot: Option<f64>,
    /// The number that the published code gives.
    pub artifact_rerun: Option<f64>,
    /// The profile that ran.
    pub profile: String,
    /// Seeds with a value.
    pub seeds: u64,
    /// The number; null if infinite, or there is none.
    pub measured: Option<f64>,
    /// Lower end of its 95% interval.
    pub ci_low: Option<f64>,
    /// Upper end.
    pub ci_high: Option<f64>,
    /// The number over the paper's.
    pub ratio: Option<f64>,
    /// Lower end of the band.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Whether what holds is near the paper's number, too; null where there is none.
    pub close: Option<bool>,
    /// A note for the reader.
    pub note: String,
}

/// The numbers of an arm in a case.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The arm.
    pub arm: String,
    /// Runs that gave a document.
    pub runs: usize,
    /// The values by measure.
    pub values: BTreeMap<String, Cell>,
}

/// A number over seeds; null is infinite.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// The median, or the statistic of the measure.
    pub median: Option<f64>,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// Seeds with a value.
    pub seeds: u64,
}

pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// Six significant digits: what a table can show, and no more to differ in.
pub(crate) fn rounded(x: f64) -> f64 {
    if x.is_finite() { format!("{x:.5e}").parse().unwrap_or(x) } else { x }
}

impl Record {
    /// Claims and checks.
    pub fn all(&self) -> impl Iterator<Item = &Outcome> {
        self.claims.iter().chain(&self.checks)
    }

    /// Every claim and check of the figure as it is now: those that this record lacks have not been run.
    pub(crate) fn completed(mut self, figure: &Figure) -> Self {
        let Self { claims, checks, .. } = Self::of_none(figure);
        let mut known: BTreeMap<String, Outcome> =
            self.claims.into_iter().chain(self.checks).map(|outcome| (outcome.id.clone(), outcome)).collect();
        let mut complete = |all: Vec<Outcome>| -> Vec<Outcome> {
            all.into_iter().map(|outcome| known.remove(&outcome.id).unwrap_or(outcome)).collect()
        };
        self.claims = complete(claims);
        self.checks = complete(checks);
        self
    }

    /// The claims and checks of a figure, each with its outcome.
    ///
    /// # Panics
    /// If one has none: [`Record::completed`] comes first.
    pub(crate) fn of<'a>(&'a self, figure: &'a Figure) -> impl Iterator<Item = (&'a Claim, &'a Outcome)> {
        let outcome = |claim: &Claim| self.all().find(|outcome| outcome.id == claim.id);
        figure
            .claims
            .iter()
            .map(move |claim| (claim, outcome(claim).expect("a claim of the figure has an outcome")))
    }

    /// The record of a figure that nobody ran.
    #[must_use]
    pub fn of_none(figure: &Figure) -> Self {
        let mut record = figure.evaluate(Size::Smoke, &[]);
        record.rows.clear();
        for claim in record.claims.iter_mut().chain(&mut record.checks) {
            "not run yet".clone_into(&mut claim.note);
        }
        record
    }
}

/// The records of all figures, as `docs/ledger.json` holds them.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// In the order of the experiments; a figure has one for each size that was run, the smallest first.
    pub figures: Vec<Record>,
}

/// A claim that the ledger holds and a run does not.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{id}: {verdict} now, but holds in the ledger", verdict = verdict.name())]
pub struct Regression {
    /// The claim.
    pub id: String,
    /// Its verdict now.
    pub verdict: Verdict,
}

impl Ledger {
    /// The ledger that was committed with this program.
    ///
    /// # Panics
    /// Never: tests read it.
    #[must_use]
    pub fn committed() -> Self {
        let text = include_str!("../ledger.json");
        serde_json::from_str(text).expect("the committed ledger can be read")
    }

    /// The records of a figure, of the largest size that was run first.
    #[must_use]
    pub fn of(&self, figure: &str) -> Vec<&Record> {
        let mut found: Vec<&Record> = self.figures.iter().filter(|record| record.figure == figure).collect();
        found.sort_by_key(|record| std::cmp::Reverse(record.size));
        found
    }

    /// The record of a figure, of the largest size that was run.
    #[must_use]
    pub fn record(&self, figure: &str) -> Option<&Record> {
        self.of(figure).first().copied()
    }

    /// The claims and checks that this ledger holds at the record's size and the record does not. None at smoke size.
    #[must_use]
    pub fn regressions(&self, record: &Record) -> Vec<Regression> {
        let Some(before) = self.before(record).filter(|_| record.size != Size::Smoke) else {
            return Vec::new();
        };
        let held = |id: &str| before.all().any(|claim| claim.id == id && claim.verdict == Verdict::Holds);
        let now = record.all().filter(|claim| claim.verdict != Verdict::Holds && held(&claim.id));
        now.map(|claim| Regression { id: claim.id.clone(), verdict: claim.verdict }).collect()
    }

    /// The ids that this ledger holds at the record's size and the record does not have: renamed, or removed.
    #[must_use]
    pub fn gone(&self, record: &Record) -> Vec<&str> {
        let holds = |claim: &&Outcome| claim.verdict == Verdict::Holds;
        let is_gone = |id: &&str| record.all().all(|claim| claim.id != *id);
        let before = self.before(record).into_iter().flat_map(Record::all);
        before.filter(holds).map(|claim| claim.id.as_str()).filter(is_gone).collect()
    }

    /// The record of this figure at this size.
    fn before(&self, record: &Record) -> Option<&Record> {
        self.figures.iter().find(|other| (&other.figure, other.size) == (&record.figure, record.size))
    }

    /// Takes a record in, in place of the figure's former one of this size; `order` is that of the figures.
    pub fn accept(&mut self, record: Record, order: &[&str]) {
        let stays = |other: &Record| {
            let is_same = (&other.figure, other.size) == (&record.figure, record.size);
            !is_same && order.contains(&other.figure.as_str())
        };
        self.figures.retain(stays);
        self.figures.push(record);
        let place = |record: &Record| order.iter().position(|name| *name == record.figure);
        self.figures.sort_by_key(|record| (place(record), record.size));
    }

    /// As JSON, a claim and a row a line, so that a difference is read by line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = "{\"figures\": [".to_owned();
        for (i, record) in self.figures.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let (figure, size) = (json(&record.figure), json(&record.size));
            let lines = |lines: Vec<String>| lines.join(",\n  ");
            let claims = lines(record.claims.iter().map(json).collect());
            let checks = lines(record.checks.iter().map(json).collect());
            let rows = lines(record.rows.iter().map(json).collect());
            write!(
                text,
                "{comma}\n{{\"figure\": {figure}, \"size\": {size},\n \"claims\": [\n  {claims}],\n \"checks\": [\n  {checks}],\n \"rows\": [\n  {rows}]}}"
            )
            .expect("text can be written to");
        }
        text + "\n]}\n"
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("records have a JSON form")
}
