//! `farspan sweep`.

use crate::compare::page as compare_page;
use crate::progress::SweepDisplay;
use crate::report::beside;
use crate::scenario_args::AskArgs;
use crate::seeds::{self, Seeds, seed, seeds};
use crate::{Failure, Itself, cost};
use clap::Args;
use farspan_report::{Comparison, comparisons, groups, load};
use farspan_scenario::{ScenarioError, unknown_name};
use farspan_sweep::{
    Ask, DataSetError, Kind, Options, Point, Program, ProgramError, Row, Status, Store, StoreError, Sweep,
    SweepError, execute, notes, rows, write_data_set,
};
use farspan_terminal::interrupt::{catch_interrupts, interrupted};
use farspan_terminal::output;
use farspan_world::clock::now;
use farspan_world::{World, write};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// A sweep file (scenarios, schemes, profiles, seeds, [grid] and [draw]), or a scenario: a file or a built-in name
    #[arg(value_name = "SWEEP.toml|SCENARIO")]
    pub what: String,
    /// Schemes, values and axes, where a scenario is given.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Seed of all random draws
    #[arg(long, conflicts_with = "seeds", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Several seeds: A..B (both ends included) or a list, such as 1,2,5
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub seeds: Option<Seeds>,
    /// Where the runs execute: local (processes on this machine), or ray (only in the Python package's command)
    #[arg(long, value_name = "NAME", default_value = "local", value_parser = backend)]
    pub backend: Backend,
    /// Number of runs at a time [default: number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub jobs: Option<u16>,
    /// Folder for the runs, the data set and report.html. Complete runs in it are skipped [default: the file's name
    /// without its ending, or the scenario's name]
    #[arg(short, long, alias = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Where runs go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// In processes of this machine.
    Local,
    /// On a Ray cluster.
    Ray,
}

fn backend(text: &str) -> Result<Backend, String> {
    match text {
        "local" => Ok(Backend::Local),
        "ray" => Ok(Backend::Ray),
        _ => Err(unknown_name("backend", text, &["local", "ray"], &[])),
    }
}

impl From<SweepError> for Failure {
    fn from(error: SweepError) -> Self {
        match error {
            SweepError::Store(error) => error.into(),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        if error.is_bad_input() { Self::BadInput(error.to_string()) } else { Self::Failed(error.to_string()) }
    }
}

impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<DataSetError> for Failure {
    fn from(error: DataSetError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A sweep, expanded, and how it is to be run.
#[derive(Debug)]
pub struct SweepPlan {
    /// Its points, and the text that says so.
    pub sweep: Sweep,
    /// Its folder.
    pub out: PathBuf,
    /// Runs at a time; without it, as many as there are cores.
    pub jobs: Option<u16>,
    /// One JSON document instead of tables.
    pub json: bool,
    /// Show no progress.
    pub quiet: bool,
}

/// Runs every point of a sweep that is not there yet, and makes one data set of all. `words` are those of the command line.
pub fn sweep(args: &SweepArgs, words: &[OsString], itself: &Itself<'_>) -> Result<(), Failure> {
    if args.backend == Backend::Ray {
        let given: Vec<String> =
            words.iter().skip(1).map(|word| for_shell(&word.to_string_lossy())).collect();
        return Err(Failure::BadInput(format!(
            "--backend ray: Ray is reached from Python: pip install 'farspan[ray]', then python -m farspan {}",
            given.join(" ")
        )));
    }
    run(&plan(args)?, itself)
}

/// A word as a shell takes it, in quotes if it has more than letters, digits and what means nothing there.
fn for_shell(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// The sweep that the arguments ask for; nothing is written yet.
pub fn plan(args: &SweepArgs) -> Result<SweepPlan, Failure> {
    let plan = match Kind::of(&args.what)? {
        Kind::Scenario => {
            let ask = args.ask.ask(&args.what, args.seed, args.seeds.as_ref());
            plan_of(&ask, args.out.as_deref())?
        }
        Kind::Sweep => {
            let seeds = args.seeds.as_ref().map(|_| "--seeds").or(args.seed.map(|_| "--seed"));
            if let Some(option) = args.ask.given().or(seeds) {
                return Err(Failure::BadInput(format!(
                    "{option}: {} is a sweep file, and the file decides what runs; set it in the file, or give a scenario instead",
                    args.what
                )));
            }
            SweepPlan::new(Sweep::read(Path::new(&args.what))?, &args.what, args.out.as_deref())
        }
    };
    Ok(SweepPlan { jobs: args.jobs, json: args.json, quiet: args.quiet, ..plan })
}

/// The plan of what arguments ask for, in a folder named after the scenario unless there is another.
pub fn plan_of(ask: &Ask, out: Option<&Path>) -> Result<SweepPlan, ScenarioError> {
    Ok(SweepPlan::new(Sweep::of(ask)?, &ask.scenario, out))
}

impl SweepPlan {
    fn new(sweep: Sweep, name: &str, out: Option<&Path>) -> Self {
        let out = out.map_or_else(|| Store::default_folder(name), Path::to_owned);
        Self { sweep, out, jobs: None, json: false, quiet: false }
    }

    /// The note on its seeds before they run, unless it is quiet; `None` if they are enough for an interval, or none was asked for.
    #[must_use]
    pub fn seeds_note(&self) -> Option<String> {
        let seeds = self.sweep.points.iter().filter_map(|point| point.request.seed);
        seeds::note(seeds).filter(|_| !self.quiet)
    }
}

/// Runs a plan.
pub fn run(plan: &SweepPlan, itself: &Itself<'_>) -> Result<(), Failure> {
    let SweepPlan { sweep, out, .. } = plan;
    let began = now();
    // Bad input must show before anything is written.
    let first = first_world(sweep)?;
    let program = Program::new(itself.words.to_vec(), &[itself.code])?;
    let store = Store::open(out, &program)?;
    plan.seeds_note().iter().for_each(|note| output::note(note));
    write(&out.join("sweep.toml"), &sweep.text)?;
    // If this one is interrupted, the page of an earlier sweep must not pass for its own.
    let _ = std::fs::remove_file(out.join("report.html"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options { jobs: plan.jobs.map_or(cores, usize::from), resume: true };
    catch_interrupts();
    if let Some((point, world)) = first.filter(|_| !plan.quiet) {
        let count = sweep.points.iter().filter(|point| !store.has(point)).count();
        let left = cost::Batch { count, at_a_time: options.jobs, threads: 1 };
        cost::announce(&point.resolved, &world, left, false);
    }
    let display = SweepDisplay::new(plan.quiet, None);
    let finished = execute(&sweep.points, &store, &options, &display)?;
    drop(display);
    let rows = rows(&sweep.points, &store, &finished);
    write_data_set(&store, &rows)?;
    let reused = finished.iter().filter(|finished| finished.reused).count();
    let counts = Counts::of(&rows);
    let report = match counts.done > 0 && counts.not_run == 0 {
        true => self::report(out)?,
        false => SweepReport::default(),
    };
    // Tables say what their runs warn of.
    if plan.json || report.tables.is_empty() {
        notes(&sweep.points, &finished).iter().for_each(|note| output::note(note));
    }
    if plan.json {
        let seconds = began.elapsed().as_secs_f64();
        output::json(&document(out, &rows, counts, (reused, seconds), &report.comparisons));
    } else {
        output::text(&(report.tables + &text(out, sweep, counts, reused) + &report.ending));
    }
    match first_failure(&rows) {
        _ if interrupted() && counts.not_run > 0 => Err(Failure::InterruptedSweep),
        Some(error) => Err(Failure::Failed(format!(
            "{} of {} runs failed; the first error: {error}. {} has every error. Run the sweep again to retry them",
            counts.failed,
            rows.len(),
            out.join("runs.parquet").display()
        ))),
        None => Ok(()),
    }
}

/// For so long a point is looked for that can be built.
const LOOKED_FOR: Duration = Duration::from_secs(1);

/// The world of the first point that can be built; of points that differ in their seeds alone, one is tried. Points that cannot be built
/// beside others that can are failed rows. `None` if time was up before.
///
/// # Errors
/// Those of the first point, if no point can be built: then what they have in common is bad input.
fn first_world(sweep: &Sweep) -> Result<Option<(&Point, World)>, ScenarioError> {
    let began = now();
    let mut first_error = None;
    for same in sweep.apart_from_seeds() {
        match World::build(&same[0].resolved) {
            Ok(world) => return Ok(Some((&same[0], world))),
            Err(error) => first_error.get_or_insert(error),
        };
        if began.elapsed() > LOOKED_FOR {
            return Ok(None);
        }
    }
    first_error.map_or(Ok(None), Err)
}

/// As many comparisons are printed; of more there is one to be asked for.
const MOST_TABLES: usize = 4;

/// The texts about a sweep that has ended.
#[derive(Debug, Default)]
pub struct SweepReport {
    /// Its tables, if they are few.
    pub tables: String,
    /// Where its report is, and how to see the tables otherwise.
    pub ending: String,
    /// All of them, as `farspan compare --json` has them.
    pub comparisons: Vec<Comparison>,
}

/// Writes the report of a sweep that has ended.
pub fn report(out: &Path) -> Result<SweepReport, Failure> {
    beside(out)?;
    let folder = out.display();
    let ending = format!("report: {folder}/report.html; run again: farspan sweep {folder}/sweep.toml\n");
    let groups = groups(load(&[out.to_owned()])?);
    if groups.iter().all(|group| group.arms.len() < 2) {
        let lone = format!(
            "no table: each point has one scheme; plot the runs: farspan plot {folder} --x KEY --y FIELD\n"
        );
        return Ok(SweepReport { ending: ending + &lone, ..SweepReport::default() });
    }
    Ok(match comparisons(&groups) {
        Ok(comparisons) if comparisons.len() <= MOST_TABLES => {
            let tables = comparisons.iter().map(|comparison| compare_page(comparison) + "\n").collect();
            SweepReport { tables, ending, comparisons }
        }
        Ok(comparisons) => {
            let more =
                format!("{} comparisons; show their tables: farspan compare {folder}\n", comparisons.len());
            SweepReport { tables: String::new(), ending: ending + &more, comparisons }
        }
        Err(error) => {
            SweepReport { ending: format!("{ending}no table: {error}\n"), ..SweepReport::default() }
        }
    })
}

/// Points by how far they have come.
#[derive(Clone, Copy)]
struct Counts {
    done: usize,
    failed: usize,
    not_run: usize,
}

impl Counts {
    fn of(rows: &[Row]) -> Self {
        let count = |status| rows.iter().filter(|row| row.status == status).count();
        Self { done: count(Status::Done), failed: count(Status::Failed), not_run: count(Status::NotRun) }
    }
}

fn first_failure(rows: &[Row]) -> Option<String> {
    let failed = rows.iter().find(|row| row.status == Status::Failed)?;
    failed.json()["error"].as_str().map(str::to_owned)
}

fn document(
    out: &Path,
    rows: &[Row],
    counts: Counts,
    (reused, wall_time_s): (usize, f64),
    comparisons: &[Comparison],
) -> Value {
    let Counts { done, failed, not_run } = counts;
    json!({
        "folder": out, "runs": rows.len(), "done": done, "failed": failed, "not_run": not_run, "reused": reused,
        "partial": not_run > 0, "wall_time_s": wall_time_s,
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "comparisons": comparisons,
    })
}

fn text(out: &Path, sweep: &Sweep, counts: Counts, reused: usize) -> String {
    let Counts { done, failed, not_run } = counts;
    let mut text = format!("{done} {} done", if done == 1 { "run" } else { "runs" });
    for (count, what) in [(reused, "already complete"), (failed, "failed"), (not_run, "not run")] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    if sweep.repeated > 0 {
        text += &format!("; {} combinations repeat another run", sweep.repeated);
    }
    let out = out.display();
    text + &format!("\ndata set: {out}/runs.parquet, views for DuckDB: {out}/views.sql\n")
}
