//! Runs points in processes of their own.

use crate::point::Point;
use crate::pool::Pool;
use crate::program::ProgramError;
use crate::store::{KeepError, Store, StoreError};
use farspan_scenario::Request;
use farspan_world::Estimate;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// How to run points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// Runs at a time.
    pub jobs: usize,
    /// Whether what is there whole is taken, and not run again.
    pub resume: bool,
}

/// How far the points have come.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Points that were there, or are done now.
    pub done: usize,
    /// Points that failed, which `done` counts too.
    pub failed: usize,
    /// All points.
    pub points: usize,
    /// Estimated packet-hops of the runs that are done now.
    pub hops_done: u64,
    /// Estimated packet-hops of all that there is to run.
    pub hops: u64,
}

/// A run still to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Planned {
    /// The index of one of its points in the list.
    pub point: usize,
    /// Its estimated packet-hops.
    pub hops: u64,
}

/// An observer of a sweep, which may end it early.
pub trait Watch {
    /// These runs are still to do, the longest first. Called once, before the first of them.
    fn planned(&self, _runs: &[Planned]) {}

    /// The points have come so far.
    fn update(&self, _progress: &Progress) {}

    /// Whether to end early.
    fn stopped(&self) -> bool {
        false
    }
}

/// A point that is done.
#[derive(Clone, PartialEq, Debug)]
pub struct Finished {
    /// Its index among the points.
    pub point: usize,
    /// Where its results are.
    pub folder: PathBuf,
    /// Whether it was there already.
    pub reused: bool,
    /// Its document, or why there is none.
    pub result: Result<Value, String>,
}

/// Why points cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The program is another build than at the beginning.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

/// Runs what is not there, longest first. A failed run is a result and not the end; once stopped, runs under way end, and
/// points that are not done are left out.
///
/// # Errors
/// If the store cannot be written, or another build takes the program's place.
pub fn execute(
    points: &[Point],
    store: &Store,
    options: &Options,
    watch: &dyn Watch,
) -> Result<Vec<Finished>, SweepError> {
    let mut progress = Progress { points: points.len(), ..Progress::default() };
    let (mut finished, mut tasks) = (Vec::new(), Vec::new());
    for task in tasks_of(points, store) {
        match store.read(&task.name).filter(|_| options.resume) {
            Some(document) => finished.extend(task.finished(store, &Ok(document), true)),
            None => tasks.push(task),
        }
    }
    progress.done = finished.len();
    let pool = Pool::new(options.jobs);
    estimate(&mut tasks, &pool, watch);
    progress.hops = tasks.iter().map(|task| task.hops).fold(0, u64::saturating_add);
    let planned = |task: &Task<'_>| Planned { point: task.points[0], hops: task.hops };
    watch.planned(&tasks.iter().map(planned).collect::<Vec<_>>());
    watch.update(&progress);
    let mut broken = None;
    pool.run(
        tasks.len(),
        &|| watch.stopped(),
        |thread, index| run_one(&tasks[index], store, &pool, thread),
        |index, ran| {
            let task = &tasks[index];
            match ran {
                Ran::Ended(result) => {
                    progress.failed += if result.is_err() { task.points.len() } else { 0 };
                    progress.done += task.points.len();
                    progress.hops_done = progress.hops_done.saturating_add(task.hops);
                    finished.extend(task.finished(store, &result, false));
                    watch.update(&progress);
                }
                // Ctrl-C reaches the children of a terminal's command, too, and they may be the first to end.
                Ran::Interrupted if watch.stopped() => {}
                Ran::Interrupted => {
                    finished.extend(task.finished(store, &Err("interrupted".to_owned()), false));
                }
                Ran::Stopped => {}
                Ran::Broken(error) => {
                    pool.stop();
                    broken.get_or_insert(error);
                }
            }
        },
    );
    finished.sort_by_key(|finished| finished.point);
    // A store that is broken stays so: what was under way is cleared away at the next start.
    match broken {
        Some(error) => Err(error),
        None => store.clear().map(|()| finished).map_err(SweepError::from),
    }
}

/// The points whose runs are not there, one for each run, the longest first: for who runs them elsewhere.
#[must_use]
pub fn longest_first(points: &[Point], store: &Store, jobs: usize) -> Vec<usize> {
    struct Unwatched;
    impl Watch for Unwatched {}
    let mut tasks: Vec<_> =
        tasks_of(points, store).into_iter().filter(|task| store.read(&task.name).is_none()).collect();
    estimate(&mut tasks, &Pool::new(jobs), &Unwatched);
    tasks.iter().map(|task| task.points[0]).collect()
}

/// A run to be done: points that resolve to one scenario are one run.
struct Task<'a> {
    name: String,
    point: &'a Point,
    points: Vec<usize>,
    hops: u64,
}

impl Task<'_> {
    fn finished(&self, store: &Store, result: &Result<Value, String>, reused: bool) -> Vec<Finished> {
        let folder = store.root().join(&self.name);
        let of = |&point: &usize| Finished { point, folder: folder.clone(), reused, result: result.clone() };
        self.points.iter().map(of).collect()
    }
}

fn tasks_of<'a>(points: &'a [Point], store: &Store) -> Vec<Task<'a>> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut tasks: Vec<Task<'a>> = Vec::new();
    for (index, point) in points.iter().enumerate() {
        let name = store.name_of_point(point);
        let place = *places.entry(name.clone()).or_insert(tasks.len());
        match tasks.get_mut(place) {
            Some(task) => task.points.push(index),
            None => tasks.push(Task { name, point, points: vec![index], hops: 0 }),
        }
    }
    tasks
}

/// Estimates each run, and puts the longest first. A point that cannot be built costs nothing: its run says why.
fn estimate(tasks: &mut [Task<'_>], pool: &Pool, watch: &dyn Watch) {
    let mut kinds: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let keys: Vec<String> = tasks.iter().map(|task| apart_from_draws(&task.point.request)).collect();
    for (index, key) in keys.iter().enumerate() {
        kinds.entry(key.clone()).or_insert((index, 0));
    }
    let firsts: Vec<usize> = kinds.values().map(|(index, _)| *index).collect();
    let hops = |_: usize, index: usize| {
        let resolved = &tasks[firsts[index]].point.resolved;
        let estimate = || Estimate::of(resolved).map_or(0, |estimate| estimate.packet_hops);
        catch_unwind(AssertUnwindSafe(estimate)).unwrap_or(0)
    };
    pool.run(firsts.len(), &|| watch.stopped(), hops, |index, hops| {
        if let Some(kind) = kinds.get_mut(&keys[firsts[index]]) {
            kind.1 = hops;
        }
    });
    for (task, key) in tasks.iter_mut().zip(&keys) {
        task.hops = kinds[key].1;
    }
    tasks.sort_by_key(|task| Reverse(task.hops));
}

/// A request without its seed and scheme, on which the estimate hardly depends.
fn apart_from_draws(request: &Request) -> String {
    format!("{:?}", (&request.scenario, &request.profile, &request.set))
}

/// How a run ended.
enum Ran {
    /// It came to its end, with its document or an error of its own.
    Ended(Result<Value, String>),
    /// A signal ended it early.
    Interrupted,
    /// The pool stopped.
    Stopped,
    /// An error that ends all other runs, too.
    Broken(SweepError),
}

/// The exit code of a run that was interrupted.
const INTERRUPTED: i32 = 130;

fn run_one(task: &Task<'_>, store: &Store, pool: &Pool, thread: usize) -> Ran {
    try_one(task, store, pool, thread).unwrap_or_else(Ran::Broken)
}

fn try_one(task: &Task<'_>, store: &Store, pool: &Pool, thread: usize) -> Result<Ran, SweepError> {
    store.program().unchanged()?;
    let folder = store.begin(&task.name)?;
    let child = store.program().run(&task.point.request, &folder).spawn();
    let ended = child.and_then(|mut child| {
        pool.hold(thread, child.stdin.take());
        let said = child.stderr.take().map_or_else(String::new, outline);
        child.wait().map(|status| (status, said))
    });
    pool.hold(thread, None);
    // Which build ran is known only if the file is still the same.
    store.program().unchanged()?;
    let error = match ended {
        Ok((status, _)) if status.success() => match store.keep(&folder, &task.name, &task.point.resolved) {
            Ok(document) => return Ok(Ran::Ended(Ok(document))),
            Err(KeepError::Store(error)) => return Err(error.into()),
            Err(error) => error.to_string(),
        },
        _ if pool.stopping() => return Ok(Ran::Stopped),
        Ok((status, _)) if status.code() == Some(INTERRUPTED) => return Ok(Ran::Interrupted),
        Ok((status, said)) if said.is_empty() => status.to_string(),
        Ok((_, said)) => said,
        Err(error) => format!("it could not be started ({error})"),
    };
    store.discard(&folder, &error)?;
    Ok(Ran::Ended(Err(error)))
}

/// How many lines of standard error are kept: the first ones, with which errors begin, and the last ones, with which those of
/// Python end.
const LINES: (usize, usize) = (3, 2);

/// The first and the last lines that are no warnings and no backtrace, without the name of the program.
fn outline(stderr: impl Read) -> String {
    let (mut first, mut last, mut count) = (Vec::new(), VecDeque::new(), 0);
    for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        let line = line.strip_prefix("farspan: ").map(str::to_owned).unwrap_or(line);
        let aside = ["warning: ", "note: "].iter().any(|word| line.starts_with(word));
        if line.is_empty() || aside || is_of_backtrace(&line) {
            continue;
        }
        count += 1;
        if first.len() < LINES.0 {
            first.push(line);
            continue;
        }
        if last.len() == LINES.1 {
            last.pop_front();
        }
        last.push_back(line);
    }
    if count > LINES.0 + LINES.1 {
        first.push("...".to_owned());
    }
    first.extend(last);
    first.join("\n")
}

fn is_of_backtrace(line: &str) -> bool {
    let inner = line.trim_start();
    let numbered = inner.split_once(": ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    line == "stack backtrace:" || inner.len() < line.len() && (numbered || inner.starts_with("at "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backtrace_does_not_hide_the_error() {
        let said = "memory allocation of 8 bytes failed\nstack backtrace:\n   0: std::alloc::rust_oom\n             at ./alloc.rs:3\n";
        assert_eq!(outline(said.as_bytes()), "memory allocation of 8 bytes failed");
    }

    #[test]
    fn of_many_lines_the_first_and_the_last_are_kept() {
        let lines = |count: usize| (1..=count).map(|n| format!("line {n}\n")).collect::<String>();
        assert_eq!(outline(lines(5).as_bytes()), lines(5).trim_end());
        let warned = format!("farspan: warning: x\nfarspan: note: y\nfarspan: {}", lines(9));
        assert_eq!(outline(warned.as_bytes()), "line 1\nline 2\nline 3\n...\nline 8\nline 9");
    }
}
