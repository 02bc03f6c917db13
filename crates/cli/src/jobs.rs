//! The runs of a command, with progress on standard error.

use crate::Failure;
use crate::progress::Display;
use crate::runner;
pub use crate::runner::Job;
use farspan_metrics::{FlowRecord, Summary};
use farspan_scenario::EngineKind;

/// The results of a run that are kept once its tables are written.
pub struct Done {
    /// The document.
    pub summary: Summary,
    /// The flows.
    pub flows: Vec<FlowRecord>,
}

/// Runs the jobs and gives their results in order. After Ctrl-C those under way end early, marked partial, and the others
/// are left out.
pub fn run_all(jobs: &[Job], engine: EngineKind, quiet: bool) -> Result<Vec<Done>, Failure> {
    let display = Display::new(jobs.len(), quiet);
    let keep = |results: farspan_scenario::Results| Done { summary: results.summary, flows: results.flows };
    Ok(runner::run_all(jobs, engine, &display, keep)?)
}
