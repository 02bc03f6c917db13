//! Runs, on threads of their own, while the calling thread listens to Python: to signals, and to the progress callback.

use crate::control::{self, Raised};
use crate::error;
use crate::table::Table;
use farspan_metrics::Summary;
use farspan_scenario::{Request, ScenarioError};
use farspan_transport::Class;
use farspan_transport::congestion::Custom;
use farspan_world::runner::{self, Job, RunError, Watch};
use farspan_world::{EngineKind, Progress, Results, write};
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the calling thread listens to Python.
const LISTEN_EVERY: Duration = Duration::from_millis(50);

/// A scenario, and what changes it: an object of Python with these attributes.
#[derive(FromPyObject)]
pub struct Ask {
    scenario: String,
    /// The scenario, if it stands in no file.
    text: Option<String>,
    scheme: Option<String>,
    profile: Option<String>,
    seed: Option<u64>,
    set: Vec<String>,
}

impl Ask {
    /// The request that it makes.
    pub fn request(self) -> Request {
        let Self { scenario, text, scheme, profile, seed, set } = self;
        Request { scenario, text, scheme, profile, seed, set, is_idle: false }
    }
}

/// How to run: an object of Python with these attributes.
#[derive(FromPyObject)]
pub struct How {
    seeds: Option<Vec<u64>>,
    threads: u16,
    engine: String,
    out: Option<PathBuf>,
    trace: Vec<String>,
    pcap: Vec<String>,
    /// A class in the place of the scheme's control inside a site, and one between sites.
    controls: (Option<Py<PyType>>, Option<Py<PyType>>),
    force: bool,
}

impl How {
    fn controls(&self, py: Python<'_>, raised: &Arc<Raised>) -> PyResult<Vec<(Class, Custom)>> {
        let (intra, inter) = &self.controls;
        let classes = [(Class::Intra, intra), (Class::Inter, inter)];
        let given = classes.into_iter().filter_map(|(class, control)| Some((class, control.as_ref()?)));
        given.map(|(class, control)| Ok((class, control::custom(control.bind(py), raised)?))).collect()
    }
}

/// The results of a run, as a Python object.
#[pyclass(frozen, get_all, module = "farspan._farspan")]
pub struct Ran {
    /// The document, as JSON.
    summary: String,
    /// The resolved scenario.
    scenario: String,
    /// Flows by id.
    flows: Py<Table>,
    /// Ports by id.
    ports: Py<Table>,
    /// Samples of all probes.
    series: Py<Table>,
    /// Iterations of collectives.
    collectives: Py<Table>,
}

/// The results of a run before they become a Python object.
struct Kept {
    summary: Summary,
    scenario: String,
    /// Flows, ports, series, collectives.
    tables: [Table; 4],
}

impl Kept {
    fn new(results: Results) -> Self {
        let Results { summary, flows, ports, series, iterations, scenario, .. } = results;
        let tables = [Table::of(&flows), Table::of(&ports), Table::of(&series), Table::of(&iterations)];
        Self { summary, scenario, tables }
    }

    fn hand_over(self, py: Python<'_>) -> PyResult<Ran> {
        let [flows, ports, series, collectives] = self.tables;
        Ok(Ran {
            summary: json!(self.summary).to_string(),
            scenario: self.scenario,
            flows: Py::new(py, flows)?,
            ports: Py::new(py, ports)?,
            series: Py::new(py, series)?,
            collectives: Py::new(py, collectives)?,
        })
    }
}

/// State shared by the calling thread and the threads of the runs.
struct Monitor {
    stop: AtomicBool,
    /// An exception of a control stops them, too.
    raised: Arc<Raised>,
    state: Mutex<State>,
}

/// The share that is done of each run, and its packet-hops; and what is to be said.
struct State {
    runs: Vec<(f64, u64)>,
    warnings: Vec<String>,
}

impl Monitor {
    fn new(runs: usize, raised: Arc<Raised>) -> Self {
        let state = State { runs: vec![(0.0, 0); runs], warnings: Vec::new() };
        Self { stop: AtomicBool::new(false), raised, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The mean share, and all packet-hops.
    fn progress(&self) -> (f64, u64) {
        let runs = &self.state().runs;
        let share = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
        (share, runs.iter().map(|run| run.1).sum())
    }
}

impl Watch for Monitor {
    fn update(&self, index: usize, progress: &Progress) -> bool {
        self.state().runs[index] = (progress.fraction.clamp(0.0, 1.0), progress.packet_hops);
        !self.stopped()
    }

    fn finished(&self, index: usize) {
        self.state().runs[index].0 = 1.0;
    }

    fn warn(&self, warning: &str) {
        self.state().warnings.push(warning.to_owned());
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.raised.any()
    }

    fn spoilt(&self) -> bool {
        self.raised.any()
    }
}

/// One run of several that take turns.
struct Turn<'a> {
    monitor: &'a Monitor,
    index: usize,
}

impl Watch for Turn<'_> {
    fn update(&self, _index: usize, progress: &Progress) -> bool {
        self.monitor.update(self.index, progress)
    }

    fn finished(&self, _index: usize) {
        self.monitor.finished(self.index);
    }

    fn warn(&self, warning: &str) {
        if self.index == 0 {
            self.monitor.warn(warning);
        }
    }

    fn stopped(&self) -> bool {
        self.monitor.stopped()
    }

    fn spoilt(&self) -> bool {
        self.monitor.spoilt()
    }
}

/// Runs a scenario for one seed or several; gives the runs, the document of several seeds, and warnings.
///
/// `progress` is called with the share that is done and the packet-hops so far. If it raises, or a control, or a signal's
/// handler, the runs end early, their partial results are written to `out`, and the exception goes on.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn run(
    py: Python<'_>,
    ask: Ask,
    how: How,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Ran>, Option<String>, Vec<String>)> {
    let engine = runner::engine(&how.engine)
        .map_err(|problem| error::wrong_argument(py, &format!("engine={:?}", how.engine), &problem))?;
    let raised = Arc::new(Raised::default());
    let controls = how.controls(py, &raised)?;
    let (jobs, engine) = error::guarded(py, || plan(ask, &how, controls, engine))?
        .map_err(|error| error::scenario(py, &error))?;
    let open = || how.out.as_deref().map(|out| runner::open(out, &jobs, how.force)).transpose();
    let folder = error::guarded(py, open)?.map_err(|error| error::run(py, &error.into()))?;
    let monitor = Monitor::new(jobs.len(), Arc::clone(&raised));
    let (kept, listening) = error::guarded(py, || watched(&jobs, engine, &monitor, progress.as_ref()))?;
    let raised = listening.or_else(|| raised.take());
    let kept = kept.map_err(|error| error::run(py, &error))?;
    let document = error::guarded(py, || document(&how, &kept, jobs.len()))?;
    let document = document.map_err(|error| error::run(py, &error))?;
    if let Some(out) = how.out.as_deref().filter(|_| !kept.is_empty()) {
        // What was written just now and cannot be read is no wrong input.
        let page = error::guarded(py, || farspan_report::write_report(out, None))?;
        page.map_err(|error| error::failed(py, &error.to_string()))?;
    }
    if let Some(folder) = folder {
        folder.finish();
    }
    if let Some(raised) = raised {
        return Err(raised);
    }
    let mut warnings = std::mem::take(&mut monitor.state().warnings);
    warnings.extend(kept.iter().flat_map(|run| runner::unfinished(&run.summary)));
    let runs = kept.into_iter().map(|run| run.hand_over(py)).collect::<PyResult<_>>()?;
    Ok((runs, document.map(|document| document.to_string()), warnings))
}

/// The jobs, and the engine as their world can use it.
fn plan(
    ask: Ask,
    how: &How,
    controls: Vec<(Class, Custom)>,
    engine: EngineKind,
) -> Result<(Vec<Job>, EngineKind), ScenarioError> {
    let How { seeds, out, trace, pcap, .. } = how;
    let resolved = ask.request().resolve()?;
    let job = Job { trace: trace.clone(), pcap: pcap.clone(), controls, ..Job::new(resolved, out.clone()) };
    // Bad input must show before anything is written.
    let threads = job.world()?.threads(runner::threaded(engine, how.threads));
    let jobs = match seeds {
        Some(seeds) => job.with_seeds(seeds.iter().copied()),
        None => vec![job],
    };
    Ok((jobs, runner::threaded(engine, threads)))
}

/// Runs the jobs beside the calling thread; the second value is what Python raised meanwhile.
fn watched(
    jobs: &[Job],
    engine: EngineKind,
    monitor: &Monitor,
    progress: Option<&Py<PyAny>>,
) -> (Result<Vec<Kept>, RunError>, Option<PyErr>) {
    let (running, ended) = mpsc::channel::<()>();
    let mut raised = None;
    let kept = std::thread::scope(|scope| {
        let runs = scope.spawn(move || {
            let _running = running;
            all(jobs, engine, monitor)
        });
        while ended.recv_timeout(LISTEN_EVERY) == Err(RecvTimeoutError::Timeout) {
            if raised.is_none() {
                raised = Python::attach(|py| listen(py, monitor, progress)).err();
                monitor.stop.store(raised.is_some(), Ordering::Relaxed);
            }
        }
        runs.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    (kept, raised)
}

/// Runs the jobs: side by side, or in turns where their controls share the interpreter's lock.
fn all(jobs: &[Job], engine: EngineKind, monitor: &Monitor) -> Result<Vec<Kept>, RunError> {
    if jobs.iter().all(|job| job.controls.is_empty()) {
        return runner::run_all(jobs, engine, monitor, Kept::new);
    }
    let turn = |(index, job)| {
        runner::run_all(std::slice::from_ref(job), engine, &Turn { monitor, index }, Kept::new)
    };
    // This thread stays known to the interpreter, which else makes and forgets its state with each event.
    let kept: Result<Vec<_>, _> =
        Python::attach(|py| py.detach(|| jobs.iter().enumerate().map(turn).collect()));
    kept.map(|kept| kept.into_iter().flatten().collect())
}

/// Lets Python's signal handlers and the callback speak.
fn listen(py: Python<'_>, monitor: &Monitor, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    progress.map_or(Ok(()), |progress| progress.call1(py, monitor.progress()).map(drop))
}

/// The document of several seeds, also in the folder.
fn document(how: &How, kept: &[Kept], planned: usize) -> Result<Option<Value>, RunError> {
    if how.seeds.is_none() {
        return Ok(None);
    }
    let document = runner::seeds_document(&kept.iter().map(|run| &run.summary).collect::<Vec<_>>(), planned);
    if let Some(out) = &how.out {
        let text = serde_json::to_string_pretty(&document).expect("a document has a JSON form");
        write(&out.join("summary.json"), &(text + "\n"))?;
    }
    Ok(Some(document))
}
