//! `farspan sweep`.

use crate::progress::{SweepDisplay, catch_interrupts, interrupted};
use crate::{Failure, Itself, output, seeds};
use clap::Args;
use farspan_scenario::unknown_name;
use farspan_sweep::{
    DataSetError, Options, Program, ProgramError, Row, Status, Store, StoreError, Sweep, SweepError, execute,
    rows, write_data_set,
};
use farspan_world::clock::now;
use farspan_world::write;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `sweep`.
#[derive(Args, Debug)]
pub struct SweepArgs {
    /// The sweep: scenarios, schemes, profiles, seeds, [grid] and [draw]
    #[arg(value_name = "SWEEP.toml")]
    pub file: PathBuf,
    /// Where runs go on: local (processes of this machine), or ray (the command of the Python package)
    #[arg(long, value_name = "NAME", default_value = "local", value_parser = backend)]
    pub backend: Backend,
    /// Runs at a time [default: cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub jobs: Option<u16>,
    /// Folder for the runs and the data set; what is there whole is not run again [default: the file's name without its
    /// ending]
    #[arg(short, long, alias = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document instead of a few lines
    #[arg(long)]
    pub json: bool,
    /// No progress
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

/// Runs every point of a sweep that is not there yet, and makes one data set of all.
pub fn sweep(args: &SweepArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    if args.backend == Backend::Ray {
        return Err(Failure::BadInput(format!(
            "--backend ray: Ray is reached from Python: pip install 'farspan[ray]', then python -m farspan sweep {} \
             --backend ray",
            args.file.display()
        )));
    }
    let began = now();
    let sweep = Sweep::read(&args.file)?;
    let out = args.out.clone().unwrap_or_else(|| args.file.with_extension(""));
    let program = Program::new(itself.words.to_vec(), &[itself.code])?;
    let store = Store::open(&out, &program)?;
    seeds::announce(sweep.points.iter().filter_map(|point| point.request.seed), args.quiet);
    write(&out.join("sweep.toml"), &sweep.text)?;
    catch_interrupts();
    let display = SweepDisplay::new(args.quiet);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options { jobs: args.jobs.map_or(cores, usize::from), resume: true };
    let finished = execute(&sweep.points, &store, &options, &display)?;
    drop(display);
    let rows = rows(&sweep.points, &store, &finished);
    write_data_set(&store, &rows)?;
    let reused = finished.iter().filter(|finished| finished.reused).count();
    let counts = Counts::of(&rows);
    if args.json {
        output::json(&document(&out, &rows, counts, reused, began.elapsed().as_secs_f64()));
    } else {
        output::text(&text(&out, &sweep, counts, reused));
    }
    match first_failure(&rows) {
        _ if interrupted() && counts.not_run > 0 => Err(Failure::Interrupted),
        Some(error) => Err(Failure::Failed(format!(
            "{} of {} runs failed, the first one with: {error}; {} has every error, and the next sweep tries them again",
            counts.failed,
            rows.len(),
            out.join("runs.parquet").display()
        ))),
        None => Ok(()),
    }
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

fn document(out: &Path, rows: &[Row], counts: Counts, reused: usize, wall_time_s: f64) -> Value {
    let Counts { done, failed, not_run } = counts;
    json!({
        "folder": out, "runs": rows.len(), "done": done, "failed": failed, "not_run": not_run, "reused": reused,
        "partial": not_run > 0, "wall_time_s": wall_time_s,
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
    })
}

fn text(out: &Path, sweep: &Sweep, counts: Counts, reused: usize) -> String {
    let Counts { done, failed, not_run } = counts;
    let mut text = format!("{done} runs done");
    for (count, what) in [(reused, "of them were there"), (failed, "failed"), (not_run, "not run")] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    if sweep.repeated > 0 {
        text += &format!("; {} combinations are the run of another one", sweep.repeated);
    }
    let out = out.display();
    text + &format!(
        "\ndata set: {out}/runs.parquet, views for DuckDB: {out}/views.sql; next: farspan compare {out}\n"
    )
}
