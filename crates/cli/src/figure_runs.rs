//! The runs of figures, as one sweep.

use crate::Failure;
use crate::progress::{SweepDisplay, catch_interrupts, interrupted};
use clap::Args;
use farspan_ledger::{Figure, Run, Size};
use farspan_scenario::{ScenarioError, unknown_name};
use farspan_sweep::{Finished, Options, Point, Store, execute};
use farspan_world::{Cost, World};

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

/// Runs points. It says before what they take: always of a full size, else if they are long. What several need runs once.
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
    let least = if size == Size::Full { 0 } else { LONG };
    let speed = || speed(points);
    let display = SweepDisplay::new(args.quiet).announcing(least, &speed, options.jobs);
    let finished = execute(points, store, &options, &display)?;
    drop(display);
    if interrupted() && finished.len() < points.len() {
        return Err(Failure::InterruptedFigure { kept: true });
    }
    Ok(finished)
}

/// Runs that are tried out for [`speed`].
const TRIALS: usize = 7;
/// Seconds: a shorter run is all start.
const SHORT: f64 = 0.1;
/// Packet-hops: about ten minutes of CPU time, of which seven trials are little.
const LONG: u64 = 6_000_000_000;
/// Packet-hops a second where every run is short: what they take is not worth a better number.
const USUAL: f64 = 10e6;

/// Packet-hops a second of CPU time here: the median of short trials of points all over the list. A run that ends before it can be
/// timed says nothing.
fn speed(points: &[Point]) -> f64 {
    let every = points.len().div_ceil(TRIALS).max(1);
    let trial = |point: &Point| {
        let world = World::build(&point.resolved).ok()?;
        let cost = Cost::of(&point.resolved, &world);
        let is_timed = cost.speed > 0.0 && cost.estimate.packet_hops as f64 > cost.speed * SHORT;
        is_timed.then_some(cost.speed)
    };
    let mut speeds: Vec<f64> = points.iter().step_by(every).filter_map(trial).collect();
    speeds.sort_by(f64::total_cmp);
    speeds.get(speeds.len() / 2).copied().unwrap_or(USUAL)
}

/// The failure of runs that failed, the first one's error with it.
pub fn failed(count: usize, first: &str) -> Failure {
    Failure::Failed(format!("{count} runs failed and are left out; the first error: {first}"))
}
