//! The runs of figures, as one sweep.

use crate::Failure;
use crate::cost::announce_figures;
use crate::progress::SweepDisplay;
use clap::Args;
use farspan_ledger::{Figure, Run, Size};
use farspan_scenario::{ScenarioError, unknown_name};
use farspan_sweep::{Finished, Options, Planned, Point, Store, execute};
use farspan_terminal::interrupt::{catch_interrupts, interrupted};

/// How a figure's runs are executed and reported.
#[derive(Args, Debug)]
pub struct RunningArgs {
    /// Number of runs at a time [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub jobs: Option<u16>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// The size of a name.
pub fn size(text: &str) -> Result<Size, String> {
    let names = Size::ALL.map(Size::name);
    Size::ALL
        .into_iter()
        .find(|size| size.name() == text)
        .ok_or_else(|| unknown_name("size", text, &names, &[]))
}

/// The columns of the data set that say which run of a figure a point is.
pub fn parameters(figure: &str, case: &str, arm: &str) -> Vec<(String, toml::Value)> {
    [("figure", figure), ("case", case), ("arm", arm)]
        .map(|(name, value)| (name.to_owned(), value.into()))
        .to_vec()
}

/// The points of a figure's runs.
pub fn points(figure: &Figure, plan: &[Run]) -> Result<Vec<Point>, ScenarioError> {
    let point = |run: &Run| {
        let (case, arm) = (&figure.cases[run.case].name, &figure.arms[run.arm].name);
        Point::new(run.request.clone(), parameters(&figure.name, case, arm))
    };
    plan.iter().map(point).collect()
}

/// Runs points, what several need once. It says before what they take: always for size `full`, else if they are long.
pub fn run_points(
    points: &[Point],
    store: &Store,
    size: Size,
    resume: bool,
    args: &RunningArgs,
) -> Result<Vec<Finished>, Failure> {
    catch_interrupts();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options { jobs: args.jobs.map_or(cores, usize::from), resume };
    let announce = |runs: &[Planned]| announce_figures(points, runs, options.jobs, size == Size::Full);
    let display = SweepDisplay::new(args.quiet).announcing(&announce);
    let finished = execute(points, store, &options, &display)?;
    drop(display);
    if interrupted() && finished.len() < points.len() {
        return Err(Failure::InterruptedFigure { kept: true });
    }
    Ok(finished)
}

/// The failure of runs that failed, the first one's error with it.
pub fn failed(count: usize, first: &str) -> Failure {
    Failure::Failed(format!("{count} runs failed and are left out; the first error: {first}"))
}
