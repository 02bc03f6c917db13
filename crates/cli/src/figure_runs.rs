//! The runs of figures, as one sweep.

use crate::Failure;
use crate::cost::{SLOWEST, VERY_LONG, tried_apart};
use crate::progress::SweepDisplay;
use clap::Args;
use farspan_ledger::{Figure, Run, Size};
use farspan_scenario::{ScenarioError, unknown_name};
use farspan_sweep::{Finished, Options, Planned, Point, Store, execute};
use farspan_terminal::format::{seconds, with_prefix};
use farspan_terminal::interrupt::{catch_interrupts, interrupted};
use farspan_terminal::output;
use farspan_world::{Cost, World};
use std::collections::BTreeMap;

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
    let display = SweepDisplay::new(args.quiet, Some(&announce));
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

/// How many runs of a figure are tried out.
const TRIALS: usize = 12;

/// Says what runs of figures take, so many at a time: `always`, or if they take more than ten minutes of CPU time.
fn announce_figures(points: &[Point], runs: &[Planned], jobs: usize, always: bool) {
    let hops = runs.iter().map(|run| run.hops).fold(0, u64::saturating_add);
    if runs.is_empty() || !always && !can_be_very_long(hops) {
        return;
    }
    let cpu = cpu_seconds(points, runs);
    if interrupted() || !always && cpu.is_some_and(|cpu| cpu < VERY_LONG) {
        return;
    }
    let at_a_time = jobs.clamp(1, runs.len());
    let time = cpu.map_or_else(
        || "CPU time unknown, none of them can be tried out".to_owned(),
        |cpu| {
            format!(
                "about {} of CPU time here, {} with {at_a_time} at a time",
                seconds(cpu),
                seconds(cpu / at_a_time as f64)
            )
        },
    );
    let work = with_prefix(hops as f64, "packet-hops");
    output::note(&format!("{} runs to do, about {work}: {time}", runs.len()));
}

/// Whether the slowest core takes ten minutes for so many packet-hops: what is shorter needs no trial.
fn can_be_very_long(hops: u64) -> bool {
    hops as f64 >= SLOWEST * VERY_LONG
}

/// Seconds of CPU time of these runs here, from some of them; `None` if none can be tried out.
fn cpu_seconds(points: &[Point], runs: &[Planned]) -> Option<f64> {
    let hops: Vec<u64> = runs.iter().map(|run| run.hops).collect();
    let (mut per_hop, mut weight) = (0.0, 0.0);
    for (index, times) in spread_over(&hops, TRIALS) {
        if interrupted() {
            break;
        }
        let resolved = &points[runs[index].point].resolved;
        let cost = || World::build(resolved).ok().map(|world| Cost::of(resolved, &world));
        if let Some(cost) = tried_apart(cost).ok().flatten() {
            let [from, to] = cost.seconds;
            per_hop += times as f64 * (from * to).sqrt() / hops[index] as f64;
            weight += times as f64;
        }
    }
    (weight > 0.0).then(|| hops.iter().map(|hops| *hops as f64).sum::<f64>() * per_hop / weight)
}

/// The indices of the runs in the middle of each of so many equal parts of the packet-hops, and in how many of them: kinds of runs differ
/// several times in what a packet-hop takes, and most of a list can be short.
fn spread_over(hops: &[u64], parts: usize) -> BTreeMap<usize, usize> {
    let all: f64 = hops.iter().map(|hops| *hops as f64).sum();
    let mut times = BTreeMap::new();
    for part in 0..parts {
        let mut ahead = all * (part as f64 + 0.5) / parts as f64;
        let middle = hops.iter().position(|hops| {
            ahead -= *hops as f64;
            ahead < 0.0
        });
        if let Some(index) = middle {
            *times.entry(index).or_insert(0) += 1;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_tried_out_all_over_the_packet_hops() {
        let chosen = |hops: &[u64]| spread_over(hops, 4).into_iter().collect::<Vec<_>>();
        assert_eq!(chosen(&[10, 10, 10, 10]), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        assert_eq!(chosen(&[70, 10, 10, 10]), [(0, 3), (2, 1)], "a long run stands for its parts");
        assert_eq!(chosen(&[0, 8]), [(1, 4)]);
        assert_eq!(chosen(&[]), []);
        assert_eq!(chosen(&[0, 0]), []);
    }

    #[test]
    fn what_ends_within_ten_minutes_on_any_core_needs_no_trial() {
        assert_eq!([2_399_999_999, 2_400_000_000].map(can_be_very_long), [false, true]);
    }
}
