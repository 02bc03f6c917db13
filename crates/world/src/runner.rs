//! Runs: one, or several side by side on the cores there are. For the command, and for Python.

use crate::clock::now;
use crate::{
    EngineKind, FolderError, PlannedRun, Progress, ResultFolder, Results, SaveError, World, run, scheme_name,
};
use farspan_metrics::{Summary, summarize};
use farspan_scenario::{Resolved, ScenarioError, unknown_name};
use farspan_transport::Class;
use farspan_transport::congestion::Custom;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A run to be done.
#[derive(Clone, Debug)]
pub struct Job {
    /// The scenario to run.
    pub resolved: Resolved,
    /// Where its results go, if anywhere.
    pub out: Option<PathBuf>,
    /// The flows to trace, as `--trace` selects them.
    pub trace: Vec<String>,
    /// The ports to trace, as `--pcap` names them.
    pub pcap: Vec<String>,
    /// Controls in the place of the scheme's, for the flows of a class.
    pub controls: Vec<(Class, Custom)>,
}

impl Job {
    /// A run without traces.
    #[must_use]
    pub const fn new(resolved: Resolved, out: Option<PathBuf>) -> Self {
        Self { resolved, out, trace: Vec::new(), pcap: Vec::new(), controls: Vec::new() }
    }

    /// The job for each seed; the results of each go into a folder of its own, `seed-N`.
    #[must_use]
    pub fn with_seeds(&self, seeds: impl IntoIterator<Item = u64>) -> Vec<Self> {
        let job = |seed| Self {
            out: self.out.as_ref().map(|out| out.join(format!("seed-{seed}"))),
            resolved: self.resolved.with_seed(seed),
            ..self.clone()
        };
        seeds.into_iter().map(job).collect()
    }

    /// The scheme's name in results.
    fn scheme(&self) -> String {
        let of = |class| self.controls.iter().find(|(of, _)| *of == class).map(|(_, control)| control);
        scheme_name(self.resolved.scheme(), [of(Class::Intra), of(Class::Inter)])
    }

    /// The world to run.
    ///
    /// # Errors
    /// If the scenario cannot be built, or not with these controls, or has nothing of what is to be traced.
    pub fn world(&self) -> Result<World, ScenarioError> {
        let mut world = World::build(&self.resolved)?;
        for (class, control) in &self.controls {
            world.set_control(&self.resolved, *class, control.clone())?;
        }
        world.trace(&self.trace, &self.pcap)?;
        Ok(world)
    }
}

/// The engine of this name, which runs on one thread. `verbs` is for tests, and no message offers it.
///
/// # Errors
/// If there is none: the message names the nearest.
pub fn engine(name: &str) -> Result<EngineKind, String> {
    let known = [EngineKind::Windowed, EngineKind::Oracle, EngineKind::Ordered];
    let names: Vec<_> = known.iter().map(|engine| engine.name()).collect();
    let found = known.into_iter().chain([EngineKind::Verbs]).find(|engine| engine.name() == name);
    found.ok_or_else(|| unknown_name("engine", name, &names, &[]))
}

/// The engine on up to so many threads.
#[must_use]
pub const fn threaded(engine: EngineKind, threads: u16) -> EngineKind {
    match engine {
        EngineKind::Windowed if threads > 1 => EngineKind::Threads(threads),
        other => other,
    }
}

/// An observer of runs, from any thread, which may end them early.
pub trait Watch: Sync {
    /// Run `index` has come so far; whether it should go on.
    fn update(&self, index: usize, progress: &Progress) -> bool;

    /// Run `index` has ended.
    fn finished(&self, _index: usize) {}

    /// Something about the scenario that its user should know.
    fn warn(&self, _warning: &str) {}

    /// Whether runs should end early.
    fn stopped(&self) -> bool {
        false
    }

    /// Whether a run counts as partial though it came to its end.
    fn spoilt(&self) -> bool {
        false
    }
}

/// Why a run has no results, or none in their folder.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be built.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The folder of the results belongs to others.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The results cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
}

/// Locks the folder of the jobs' results, and removes what they replace there; other results go only if `force`.
///
/// # Errors
/// If other results stand there, or another run writes there.
pub fn open(root: &Path, jobs: &[Job], force: bool) -> Result<ResultFolder, FolderError> {
    let schemes: Vec<String> = jobs.iter().map(Job::scheme).collect();
    let planned = jobs.iter().zip(&schemes).filter_map(|(job, scheme)| {
        Some(PlannedRun { folder: job.out.as_deref()?, resolved: &job.resolved, scheme })
    });
    let runs: Vec<_> = planned.collect();
    ResultFolder::open(root, &runs, force)
}

/// Runs the jobs, as many at a time as there are cores for their threads, and gives what `keep` keeps of their results, in
/// order. Once stopped, those under way end early, marked partial, and the others are left out.
///
/// # Errors
/// If a scenario cannot be built, or results cannot be written: the first error in order. No job begins after one.
pub fn run_all<T: Send>(
    jobs: &[Job],
    engine: EngineKind,
    watch: &impl Watch,
    keep: impl Fn(Results) -> T + Sync,
) -> Result<Vec<T>, RunError> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<T, RunError>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index).filter(|_| !watch.stopped()) else { return };
            let result = run_one(job, index, engine, watch).map(&keep);
            if result.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            *slots[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if let EngineKind::Threads(threads) = engine { usize::from(threads) } else { 1 };
    let at_a_time = cores / threads;
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..at_a_time.min(jobs.len())).map(|_| scope.spawn(worker)).collect();
        worker();
        for other in others {
            other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn run_one(job: &Job, index: usize, engine: EngineKind, watch: &impl Watch) -> Result<Results, RunError> {
    let began = now();
    let world = job.world()?;
    if index == 0 {
        world.warnings.iter().for_each(|warning| watch.warn(warning));
    }
    let mut ready = None;
    let mut results = run(&job.resolved, &world, engine, &mut |progress| {
        ready.get_or_insert_with(|| began.elapsed());
        watch.update(index, progress)
    });
    watch.finished(index);
    let summary = &mut results.summary;
    summary.partial |= watch.spoilt();
    summary.commit = crate::COMMIT.to_owned();
    summary.wall_time_s = began.elapsed().as_secs_f64();
    summary.setup_time_s = ready.unwrap_or_default().as_secs_f64();
    summary.peak_rss_bytes = peak_rss();
    if let Some(folder) = &job.out {
        results.save(folder)?;
    }
    Ok(results)
}

/// The document of runs that differ in their seeds alone: all of them, their spread, and whether some of the `planned`
/// ones are missing or cut off.
#[must_use]
pub fn seeds_document(summaries: &[&Summary], planned: usize) -> Value {
    let runs: Vec<Value> = summaries.iter().map(|summary| json!(summary)).collect();
    let partial = runs.len() < planned || summaries.iter().any(|summary| summary.partial);
    json!({ "summary": summarize(&runs), "runs": runs, "partial": partial })
}

/// Warnings about flows that are not in the numbers of a run, or count as infinite there.
#[must_use]
pub fn unfinished(summary: &Summary) -> Vec<String> {
    let mut warnings = Vec::new();
    if summary.partial {
        return warnings;
    }
    let (seed, left) = (summary.seed, summary.flows.started - summary.flows.finished);
    if summary.flows.not_started > 0 {
        warnings.push(format!(
            "seed {seed}: {} flows never started: stop.time came first, or the flows that they wait for did not finish",
            summary.flows.not_started
        ));
    }
    match &summary.fct.all {
        None => warnings.push(format!(
            "seed {seed}: no flow was measured; check measure.warmup, workload.start and stop.time"
        )),
        Some(measured) if measured.unfinished > 0 => warnings.push(format!(
            "seed {seed}: {left} flows had not finished {}; the {} measured ones count as infinite",
            if summary.pfc.is_some_and(|pfc| pfc.deadlock) {
                "when the run deadlocked"
            } else {
                "at stop.time"
            },
            measured.unfinished
        )),
        Some(_) => {}
    }
    warnings
}

/// The largest resident memory of this process so far, in bytes; 0 where the system does not say.
#[must_use]
pub fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}
