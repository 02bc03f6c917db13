//! Figures of papers: their runs, the claims that the papers make about them, and verdicts computed from results.
//!
//! A folder `experiments/PAPER/FIGURE/` is a figure. It has `claims.toml` ([`Figure::parse`]) and `why.md`. A [`Statement`] is a
//! sentence of the paper, and claims measure it. Checks are our own. [`Figure::plan`] gives the runs: cases x arms x seeds.
//! [`Figure::complete`] adds the numbers computed from samples and flows to the documents of the runs. [`Figure::evaluate`]
//! turns them into a [`Record`]: a verdict per claim, a row per arm. [`Ledger`] keeps the records, and [`pages`](pages()) makes
//! the pages of the book from them. [`Bundle`] packs a figure, so that others can run it again.
//!
//! ```
//! use farspan_ledger::{Rule, Interval, Verdict};
//!
//! // Printed: 3.4 times as long. The band is from its root to its square.
//! let rule = Rule::Factor(3.4);
//! assert_eq!(rule.verdict(Interval { point: 2.9, low: 2.5, high: 3.3 }), Verdict::Holds);
//! assert_eq!(rule.verdict(Interval { point: 1.5, low: 1.2, high: 1.8 }), Verdict::Direction);
//! assert_eq!(rule.verdict(Interval { point: 1.1, low: 0.9, high: 1.2 }), Verdict::Inconclusive);
//! ```
#![forbid(unsafe_code)]

mod bundle;
mod catalog;
mod check;
mod claims;
mod computed;
mod error;
mod evaluate;
mod figure;
mod names;
mod pages;
mod plan;
mod record;
mod statement;
mod text;
mod verdict;

pub use bundle::{
    Build, Bundle, BundleCheck, BundleError, BundledRun, ClaimPair, Difference, LoadError, Manifest,
    ManifestRun, PackError, RunPair, Tolerance,
};
pub use catalog::{SelectionError, figures, items, papers, select};
pub use computed::{Event, FlowsMeasure, Level, Moment, Period, SeriesMeasure, Subject};
pub use error::FigureError;
pub use figure::{
    Across, Arm, Case, Claim, Computed, Figure, Measure, Over, OverSeeds, Plot, PlotKind, Setup, Size,
    SizeRuns, Term, Unit,
};
pub use pages::{Texts, pages, svg};
pub use plan::Run;
pub use record::{Cell, Ledger, Outcome, Record, Regression, Row};
pub use statement::{Cause, Paper, Source, Statement, Statements};
pub use text::{Combine, FlowTake, SampledProbe, Take};
pub use verdict::{Interval, Rule, SEEDS_FOR_A_VERDICT, Verdict};
