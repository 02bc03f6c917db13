//! The runs of a command, with progress on standard error.

use crate::Failure;
use crate::progress::Display;
use crate::runner;
pub use crate::runner::Job;
use farspan_metrics::Summary;
use farspan_scenario::EngineKind;

/// Runs the jobs and gives their documents in order. After Ctrl-C those under way end early, marked partial, and the others
/// are left out.
pub fn run_all(jobs: &[Job], engine: EngineKind, quiet: bool) -> Result<Vec<Summary>, Failure> {
    let display = Display::new(jobs.len(), quiet);
    Ok(runner::run_all(jobs, engine, &display, |results| results.summary)?)
}
