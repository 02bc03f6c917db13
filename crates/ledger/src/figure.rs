//! A figure: cases x arms x seeds to run, measures of their documents, and the claims about them.

pub use crate::computed::Computed;
use crate::computed::Tables;
use crate::statement::Statement;
pub use crate::text::{Across, OverSeeds, PlotKind, UnitText as Unit};
use crate::verdict::Rule;
use farspan_metrics::ReadError;
use serde_json::{Map, Value, json};
use std::path::Path;

/// The field of a document that holds what is computed from a run's tables.
pub(crate) const COMPUTED: &str = "computed";

/// How much of a figure is run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// Seconds, without verdicts.
    Smoke,
    /// Minutes.
    Small,
    /// As the paper.
    Full,
}

impl Size {
    /// Every size.
    pub const ALL: [Self; 3] = [Self::Smoke, Self::Small, Self::Full];

    /// Its name in arguments and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["smoke", "small", "full"][self as usize]
    }
}

/// A figure of a paper.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// `PAPER/FIGURE`.
    pub name: String,
    /// One line.
    pub title: String,
    /// Where it stands in the paper.
    pub place: String,
    /// Whether the paper's numbers are of hardware that is not simulated: no claim holds, it has the right direction at best.
    pub hardware: bool,
    /// The quantity that the cases vary.
    pub axis: String,
    /// Changes of every scenario.
    pub set: Vec<String>,
    /// Seeds and cases of each size.
    pub sizes: [SizeRuns; 3],
    /// The points of the axis, or a lone one.
    pub cases: Vec<Case>,
    /// Schemes side by side.
    pub arms: Vec<Arm>,
    /// Numbers of a run's document.
    pub measures: Vec<Measure>,
    /// Printed values: case, arm, measure, value in the measure's unit.
    pub printed: Vec<(usize, usize, usize, f64)>,
    /// How statements of the paper are measured, and then checks of our own.
    pub claims: Vec<Claim>,
    /// The plots.
    pub plots: Vec<Plot>,
    /// Reasons, in Markdown.
    pub why: String,
}

/// Seeds and cases of a size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SizeRuns {
    /// Seeds of each arm.
    pub seeds: Vec<u64>,
    /// Changes of every scenario at this size.
    pub set: Vec<String>,
    /// Cases of this size.
    pub cases: Vec<usize>,
}

/// A point of the axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Case {
    /// Its name in ids.
    pub name: String,
    /// Its name in tables.
    pub label: String,
    /// Its place on the axis.
    pub x: Option<f64>,
    /// Its scenario.
    pub scenario: String,
    /// Its profile.
    pub profile: String,
    /// Changes of the scenario.
    pub set: Vec<String>,
    /// Arms that run in it.
    pub arms: Vec<usize>,
    /// Seeds in place of the size's.
    pub seeds: Option<Vec<u64>>,
    /// The case of which it changes one thing: an ablation stands beside it, and in no claim or plot that names no cases.
    pub ablates: Option<usize>,
}

/// A scheme, and what it changes of the scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Arm {
    /// Its name in ids.
    pub name: String,
    /// Its name in tables.
    pub label: String,
    /// The scheme.
    pub scheme: String,
    /// A profile of its own.
    pub profile: Option<String>,
    /// Changes of the scenario.
    pub set: Vec<String>,
}

/// A number of a run's document.
#[derive(Clone, PartialEq, Debug)]
pub struct Measure {
    /// Its name in claims.
    pub name: String,
    /// Its name in tables.
    pub label: String,
    /// Its place in the document (a JSON pointer).
    pub path: String,
    /// From what of the run's tables it is computed, if it is.
    pub computed: Option<Computed>,
    /// The place of a number that divides it.
    pub per: Option<String>,
    /// A constant that divides it, by case.
    pub ideal: Option<Vec<f64>>,
    /// Whether it is how far the number is off that constant, as a share of it.
    pub off_ideal: bool,
    /// The unit of tables and printed values.
    pub unit: Unit,
    /// Flows that its class must have: a run with fewer has no value.
    pub least_flows: u64,
    /// The statistic over seeds.
    pub over_seeds: OverSeeds,
    /// Whether tables show it.
    pub table: bool,
}

/// A number that is judged: a measure of a paper's statement, or a check of our own.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// The id, `PAPER-FIGURE-...`.
    pub id: String,
    /// The statement that it measures; a check of our own has none.
    pub statement: Option<Statement>,
    /// The measured quantity, in one line.
    pub text: String,
    /// Its number, or, with `across`, its numbers.
    pub terms: Vec<Term>,
    /// How one number comes of several.
    pub across: Option<Across>,
    /// The rule.
    pub rule: Rule,
    /// The number of the paper's text, or derived from it.
    pub paper_text: Option<f64>,
    /// The number in the paper's plot.
    pub paper_plot: Option<f64>,
    /// The number that the published code gives.
    pub artifact_rerun: Option<f64>,
    /// The profile that runs.
    pub profile: String,
    /// A note for the reader.
    pub note: String,
}

/// A number that a claim is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    /// The measure.
    pub measure: usize,
    /// Where it is read.
    pub of: Setup,
    /// The denominator of a ratio; without it the number itself counts.
    pub over: Option<Over>,
}

/// The denominator of a ratio.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Over {
    /// Another arm or case, of which the measure is read, too.
    Setup(Setup),
    /// Seed by seed, the value that has this rank among several, the smallest first, from 1.
    Rank(usize, Vec<Setup>),
}

impl Term {
    /// The arms and cases that it is read from.
    #[must_use]
    pub fn setups(&self) -> Vec<Setup> {
        let mut setups = vec![self.of];
        match &self.over {
            None => {}
            Some(Over::Setup(setup)) => setups.push(*setup),
            Some(Over::Rank(_, among)) => setups.extend(among),
        }
        setups
    }
}

/// An arm in a case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The case.
    pub case: usize,
    /// The arm.
    pub arm: usize,
}

/// A plot of a measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plot {
    /// Above it.
    pub title: String,
    /// The measure.
    pub measure: usize,
    /// The marks.
    pub kind: PlotKind,
    /// Whether the axis of values is logarithmic.
    pub log: bool,
    /// Arms that it shows.
    pub arms: Vec<usize>,
    /// Cases that it shows.
    pub cases: Vec<usize>,
}

impl Figure {
    /// The part before the stroke of its name.
    #[must_use]
    pub fn paper(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The name with dashes, as ids and pages have it.
    #[must_use]
    pub fn slug(&self) -> String {
        self.name.replace('/', "-")
    }

    /// Adds to a run's document what the measures compute from the tables in its folder.
    ///
    /// # Errors
    /// If a table is missing or damaged.
    pub fn complete(&self, document: &mut Value, folder: &Path) -> Result<(), ReadError> {
        let computed = || self.measures.iter().filter_map(|m| Some((m, m.computed.as_ref()?)));
        if computed().next().is_none() {
            return Ok(());
        }
        let probes = computed().filter_map(|(_, computed)| computed.probe()).collect();
        let tables = Tables::read(folder, document, &probes)?;
        let mut numbers = Map::new();
        for (measure, computed) in computed() {
            if let Some(number) = computed.number(&tables) {
                // What is infinite has no number in JSON: it is null, as in the document.
                let value = number.value.is_finite().then_some(number.value);
                numbers.insert(measure.name.clone(), json!({ "value": value, "count": number.flows }));
            }
        }
        document[COMPUTED] = Value::Object(numbers);
        Ok(())
    }

    /// Leaves our own checks alone, and the cases and arms that they need.
    pub fn keep_checks(&mut self) {
        self.claims.retain(|claim| claim.statement.is_none());
        let needed: Vec<Setup> =
            self.claims.iter().flat_map(|claim| &claim.terms).flat_map(Term::setups).collect();
        for (number, case) in self.cases.iter_mut().enumerate() {
            case.arms.retain(|arm| needed.contains(&Setup { case: number, arm: *arm }));
        }
    }

    /// Seeds and cases of a size.
    #[must_use]
    pub const fn runs(&self, size: Size) -> &SizeRuns {
        &self.sizes[size as usize]
    }

    /// The printed value of a measure, in its unit.
    #[must_use]
    pub fn printed(&self, case: usize, arm: usize, measure: usize) -> Option<f64> {
        let found = self.printed.iter().find(|(c, a, m, _)| (*c, *a, *m) == (case, arm, measure));
        found.map(|(_, _, _, value)| *value)
    }
}
