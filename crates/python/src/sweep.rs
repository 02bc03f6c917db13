//! Sweeps: run here, or point by point by whoever has a cluster.

use crate::error;
use farspan_scenario::ScenarioError;
use farspan_sweep::{
    Finished, Options, Point, Program, Progress, Row, Store, StoreError, Sweep as Expanded, SweepError,
    Watch, arguments, execute, longest_first, notes, rows, write_data_set,
};
use farspan_world::write;
use pyo3::exceptions::PySystemExit;
use pyo3::prelude::*;
use serde_json::json;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A sweep: an object of Python with these attributes.
#[derive(FromPyObject)]
pub struct Plan {
    /// The name of the file, for messages.
    name: String,
    text: String,
    /// Where scenario files lie.
    folder: Option<PathBuf>,
    out: PathBuf,
    jobs: usize,
    /// The words that start the command.
    itself: Vec<OsString>,
    /// The files of this module and of a control.
    code: Vec<PathBuf>,
    /// The name of the control.
    control: Option<String>,
}

/// A sweep whose folder is locked until it is closed.
#[pyclass(frozen, module = "farspan._farspan")]
pub struct Sweep {
    points: Vec<Point>,
    jobs: usize,
    store: Mutex<Option<Store>>,
}

#[pymethods]
impl Sweep {
    /// Expands a sweep and opens its folder.
    #[new]
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
    fn new(py: Python<'_>, plan: Plan) -> PyResult<Self> {
        let expanded = error::guarded(py, || -> Result<Expanded, ScenarioError> {
            Expanded::parse_with(&plan.name, &plan.text, plan.folder.as_deref(), plan.control.as_deref())
        })?;
        let Expanded { points, text, .. } = expanded.map_err(|error| error::scenario(py, &error))?;
        let code: Vec<&Path> = plan.code.iter().map(PathBuf::as_path).collect();
        let program =
            Program::new(plan.itself, &code).map_err(|error| error::failed(py, &error.to_string()))?;
        let store = error::guarded(py, || Store::open(&plan.out, &program))?;
        let store = store.map_err(|error| refused(py, &error))?;
        write(&plan.out.join("sweep.toml"), &text).map_err(|error| error::failed(py, &error.to_string()))?;
        // The page of an earlier sweep must not pass for this one's.
        let _ = std::fs::remove_file(plan.out.join("report.html"));
        Ok(Self { points, jobs: plan.jobs, store: Mutex::new(Some(store)) })
    }

    /// Runs what is not there in processes of this machine, and writes the data set; gives its rows as JSON, how many were
    /// there, and what the runs warn of. `progress` is called with the share that is done and the packet-hops so far; what it raises ends the
    /// runs and goes on.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
    fn run(&self, py: Python<'_>, progress: Option<Py<PyAny>>) -> PyResult<Told> {
        let ran = error::guarded(py, || -> Result<(Told, Option<PyErr>), String> {
            let monitor = Listener { progress, latest: Cell::default(), raised: RefCell::new(None) };
            let options = Options { jobs: self.jobs, resume: true };
            let told = self.with_store(|store| {
                let finished = execute(&self.points, store, &options, &monitor);
                self.write(store, &finished.map_err(|error: SweepError| error.to_string())?)
            })?;
            Ok((told, monitor.raised.into_inner()))
        })?;
        let (told, raised) = ran.map_err(|message| error::failed(py, &message))?;
        raised.map_or(Ok(told), Err)
    }

    /// The runs that are not there, the longest first; each must turn out to be of its resolved scenario.
    fn pending(&self, py: Python<'_>) -> PyResult<Vec<Pending>> {
        let pending = error::guarded(py, || {
            self.with_store(|store| {
                let indices = longest_first(&self.points, store, self.jobs);
                let of = |index: usize| {
                    let point = &self.points[index];
                    let run = &point.resolved;
                    (index, store.name_of(run), arguments(&point.request), run.to_toml())
                };
                Ok(indices.into_iter().map(of).collect())
            })
        })?;
        pending.map_err(|message| error::failed(py, &message))
    }

    /// Writes the data set of what is there and of these errors, by index, after the points `ran` did; gives its rows as
    /// JSON, how many were there before, and what the runs warn of.
    #[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
    fn finish(&self, py: Python<'_>, errors: BTreeMap<usize, String>, ran: Vec<usize>) -> PyResult<Told> {
        let told = error::guarded(py, || {
            self.with_store(|store| {
                let folder = |point: &Point| store.folder_of(&point.resolved);
                let new: BTreeSet<PathBuf> =
                    ran.iter().filter_map(|point| self.points.get(*point)).map(folder).collect();
                let of = |(point, it): (usize, &Point)| {
                    let there = store.finished(&it.resolved).map(Ok);
                    let result = there.or_else(|| errors.get(&point).cloned().map(Err))?;
                    let folder = folder(it);
                    Some(Finished { point, reused: !new.contains(&folder), folder, result })
                };
                let finished: Vec<_> = self.points.iter().enumerate().filter_map(of).collect();
                self.write(store, &finished)
            })
        })?;
        told.map_err(|message| error::failed(py, &message))
    }

    /// Unlocks the folder.
    fn close(&self) {
        *self.store.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Sweep {
    fn with_store<T>(&self, work: impl FnOnce(&Store) -> Result<T, String>) -> Result<T, String> {
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.as_ref().map_or_else(|| Err("the sweep is closed".to_owned()), work)
    }

    fn write(&self, store: &Store, finished: &[Finished]) -> Result<Told, String> {
        let rows = rows(&self.points, store, finished);
        write_data_set(store, &rows).map_err(|error| error.to_string())?;
        let reused = finished.iter().filter(|finished| finished.reused).count();
        let rows = json!(rows.iter().map(Row::json).collect::<Vec<_>>()).to_string();
        Ok((rows, reused, notes(&self.points, finished)))
    }
}

/// The rows of the data set as JSON, how many already complete, and what the runs warn of.
type Told = (String, usize, Vec<String>);

/// A run that is not there: index, name of the folder, arguments of the command, resolved scenario.
type Pending = (usize, String, Vec<String>, String);

/// The exception of a folder that cannot be used.
fn refused(py: Python<'_>, refusal: &StoreError) -> PyErr {
    match refusal.is_bad_input() {
        true => error::wrong_argument(py, "out", &refusal.to_string()),
        false => error::failed(py, &refusal.to_string()),
    }
}

/// The folder of a sweep file, unless another is given.
#[pyfunction]
pub fn default_folder(file: &str) -> PathBuf {
    Store::default_folder(file)
}

/// The text, folder, runs at a time, `--json` and `--quiet` of a sweep, and a note on its seeds.
type Asked = (String, PathBuf, Option<u16>, bool, bool, Option<String>);

/// The sweep that the arguments of `farspan sweep` ask for; of wrong ones it says why, and raises `SystemExit`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn sweep_plan(py: Python<'_>, args: Vec<OsString>) -> PyResult<Asked> {
    let plan = py.detach(|| farspan_cli::sweep_plan(args)).map_err(PySystemExit::new_err)?;
    let note = plan.seeds_note();
    Ok((plan.sweep.text, plan.out, plan.jobs, plan.json, plan.quiet, note))
}

/// Writes the report of a sweep that has ended, and gives what the command prints: tables, where everything is, and the comparisons as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn sweep_told(py: Python<'_>, out: PathBuf) -> PyResult<(String, String, String)> {
    let report = error::guarded(py, || farspan_cli::sweep_report(&out))?;
    report
        .map(|report| (report.tables, report.ending, json!(report.comparisons).to_string()))
        .map_err(|message| error::failed(py, &message))
}

/// Lets Python's signal handlers and the callback speak.
struct Listener {
    progress: Option<Py<PyAny>>,
    latest: Cell<Progress>,
    raised: RefCell<Option<PyErr>>,
}

impl Watch for Listener {
    fn update(&self, progress: &Progress) {
        self.latest.set(*progress);
    }

    fn stopped(&self) -> bool {
        let mut raised = self.raised.borrow_mut();
        if raised.is_none() {
            let Progress { hops_done, hops, .. } = self.latest.get();
            let share = hops_done as f64 / hops.max(1) as f64;
            let listen = |py: Python<'_>| {
                py.check_signals()?;
                self.progress
                    .as_ref()
                    .map_or(Ok(()), |progress| progress.call1(py, (share, hops_done)).map(drop))
            };
            *raised = Python::attach(listen).err();
        }
        raised.is_some()
    }
}
