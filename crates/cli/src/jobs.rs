//! Runs: one, or several side by side on the cores there are.

use crate::Failure;
use crate::progress::{Display, interrupted, now};
use farspan_metrics::{FlowRecord, Summary};
use farspan_scenario::{EngineKind, Resolved, World};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// A run to be done.
pub struct Job<'a> {
    /// What to run.
    pub resolved: Resolved,
    /// Where its results go, if anywhere.
    pub out: Option<PathBuf>,
    /// The flows to trace, as `--trace` selects them.
    pub trace: &'a [String],
    /// The ports to trace, as `--pcap` names them.
    pub pcap: &'a [String],
}

/// What is left of a run once its tables are written.
pub struct Done {
    /// The document.
    pub summary: Summary,
    /// The flows.
    pub flows: Vec<FlowRecord>,
}

/// Runs the jobs, as many at a time as there are cores for their threads, and gives their results in order. After Ctrl-C
/// those under way end early, marked partial, and the others are left out.
pub fn run_all(jobs: &[Job<'_>], engine: EngineKind, quiet: bool) -> Result<Vec<Done>, Failure> {
    let display = Display::new(jobs.len(), quiet);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Done, Failure>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index).filter(|_| !interrupted()) else { return };
            let result = run_one(job, index, engine, &display);
            if result.is_err() {
                next.store(jobs.len(), Ordering::Relaxed);
            }
            *results[index].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if let EngineKind::Threads(threads) = engine { usize::from(threads) } else { 1 };
    let at_a_time = cores / threads;
    std::thread::scope(|scope| {
        for _ in 1..at_a_time.min(jobs.len()) {
            scope.spawn(worker);
        }
        worker();
    });
    results.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn run_one(job: &Job<'_>, index: usize, engine: EngineKind, display: &Display) -> Result<Done, Failure> {
    let began = now();
    let mut world = World::build(&job.resolved)?;
    world.trace(job.trace, job.pcap)?;
    if index == 0 {
        world.warnings.iter().for_each(|warning| eprintln!("farspan: warning: {warning}"));
    }
    let mut ready = None;
    let mut results = farspan_scenario::run(&job.resolved, &world, engine, &mut |progress| {
        ready.get_or_insert_with(|| began.elapsed());
        display.update(index, progress)
    });
    display.finished(index);
    let summary = &mut results.summary;
    summary.commit = option_env!("FARSPAN_COMMIT").unwrap_or("unknown").to_owned();
    summary.wall_time_s = began.elapsed().as_secs_f64();
    summary.setup_time_s = ready.unwrap_or_default().as_secs_f64();
    summary.peak_rss_bytes = peak_rss();
    if let Some(folder) = &job.out {
        results.save(folder)?;
    }
    Ok(Done { summary: results.summary, flows: results.flows })
}

/// The largest resident memory of this process so far, in bytes; 0 where the system does not say.
pub fn peak_rss() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map_or(0, |kib| kib * 1024)
}
