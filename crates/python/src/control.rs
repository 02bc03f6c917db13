//! Congestion controls that are classes of Python: each event takes the interpreter's lock and calls a method.

use farspan_transport::congestion::{
    Ack, Congestion, CongestionConfig, Custom, Decision, Ecn, Factory, Loss, Nack, NackRule, Needs,
    SignalBytes, Start, Timeout, testing,
};
use farspan_transport::{Class, Path};
use farspan_units::{Bytes, Rate, TelemetryKind};
use pyo3::exceptions::{PyAssertionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The first exception that a control raised; after it none is called.
#[derive(Default)]
pub struct Raised {
    any: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Raised {
    /// Whether a control has raised.
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// The exception.
    pub fn take(&self) -> Option<PyErr> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: PyErr) {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.any.store(true, Ordering::Relaxed);
    }
}

/// A flow's path, as its sender knows it before the first packet. `python/farspan/_farspan.pyi` documents these classes.
#[pyclass(frozen, get_all, module = "farspan.control")]
pub struct FlowPath {
    class_name: &'static str,
    base_rtt_ps: u64,
    intra_base_rtt_ps: u64,
    largest_base_rtt_ps: u64,
    max_queueing_ps: u64,
    k_min: Option<u64>,
    /// Whether full ports of the path trim packets; else they drop them.
    trims: bool,
    line_rate: u64,
    bdp: u64,
    hops: u32,
    mss: u64,
    header: u64,
    initial_cwnd: u64,
    flow: u32,
}

impl FlowPath {
    fn of(&Start { path, initial_cwnd, flow, .. }: &Start<'_>) -> Self {
        let Path {
            class,
            base_rtt,
            line_rate,
            bdp,
            intra_base_rtt,
            largest_base_rtt,
            hops,
            max_queueing,
            k_min,
            trims,
            mss,
            header,
        } = *path;
        Self {
            class_name: class.name(),
            base_rtt_ps: base_rtt.as_ps(),
            intra_base_rtt_ps: intra_base_rtt.as_ps(),
            largest_base_rtt_ps: largest_base_rtt.as_ps(),
            max_queueing_ps: max_queueing.as_ps(),
            k_min: k_min.map(Bytes::get),
            trims,
            line_rate: line_rate.as_bps(),
            bdp: bdp.get(),
            hops,
            mss: mss.get(),
            header: header.get(),
            initial_cwnd: initial_cwnd.get(),
            flow: flow.0,
        }
    }
}

/// An ACK arrived.
#[pyclass(frozen, get_all, name = "Ack", module = "farspan.control")]
pub struct PyAck {
    now_ps: u64,
    bytes_acked: u64,
    ecn_ce: bool,
    rtt_ps: u64,
    sent_at_ps: u64,
    in_flight: u64,
    delivered: u64,
}

/// Packets were lost: found so from later ACKs, by a NACK, or by a time-out.
#[pyclass(frozen, get_all, name = "Loss", module = "farspan.control")]
pub struct PyLoss {
    now_ps: u64,
    bytes: u64,
    sent_at_ps: u64,
    in_flight: u64,
}

/// A class of Python whose objects control flows, one each.
struct PyControl {
    class: Py<PyType>,
    name: &'static str,
    ecn: Ecn,
    raised: Arc<Raised>,
}

/// Controls that are objects of `class`; what they raise goes to `raised`.
///
/// # Errors
/// If the class has no `ecn` that is true or false.
pub fn custom(class: &Bound<'_, PyType>, raised: &Arc<Raised>) -> PyResult<Custom> {
    // Results name it by a text that lives as long as the program.
    let name = Box::leak(class.name()?.to_string().into_boxed_str());
    let ecn = if class.getattr("ecn")?.extract()? { Ecn::Required } else { Ecn::Ignored };
    Ok(Custom::new(PyControl { class: class.clone().unbind(), name, ecn, raised: Arc::clone(raised) }))
}

impl Factory for PyControl {
    fn name(&self) -> &'static str {
        self.name
    }

    fn needs(&self) -> Needs {
        Needs {
            ecn: self.ecn,
            sent: false,
            send_record: false,
            pulls: None,
            cnps: None,
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        let cwnd = start.initial_cwnd.max(start.path.mss);
        let decision = Decision::window(cwnd);
        let mut flow = PyFlow {
            object: None,
            name: self.name,
            mss: start.path.mss,
            decision,
            raised: Arc::clone(&self.raised),
        };
        if !self.raised.any() {
            Python::attach(|py| match self.class.call0(py) {
                Ok(object) => flow.object = Some(object),
                Err(error) => self.raised.keep(error),
            });
            flow.call("start", |py| FlowPath::of(start).into_pyobject(py).map(Bound::into_any));
        }
        Box::new(flow)
    }
}

/// The control of one flow.
struct PyFlow {
    /// `None`: it could not be made.
    object: Option<Py<PyAny>>,
    name: &'static str,
    mss: Bytes,
    decision: Decision,
    raised: Arc<Raised>,
}

impl PyFlow {
    /// Calls a method with an event; gives the decision that holds from now on.
    fn call(
        &mut self,
        method: &'static str,
        event: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Decision {
        let Some(object) = self.object.as_ref().filter(|_| !self.raised.any()) else { return self.decision };
        let decided = Python::attach(|py| {
            let returned = object.bind(py).call_method1(PyString::intern(py, method), (event(py)?,))?;
            self.read(method, &returned)
        });
        match decided {
            Ok(decision) => self.decision = decision,
            Err(error) => self.raised.keep(error),
        }
        self.decision
    }

    /// The decision that a method returned.
    fn read(&self, method: &str, returned: &Bound<'_, PyAny>) -> PyResult<Decision> {
        if returned.is_none() {
            return Ok(self.decision);
        }
        let name = self.name;
        let (cwnd, pacing): (f64, Option<f64>) = returned.extract().map_err(|_| {
            PyTypeError::new_err(format!(
                "{name}.{method} returned {returned}; return (window in bytes, rate in bit/s or None), or None to leave both"
            ))
        })?;
        let mss = self.mss.get();
        if cwnd.is_nan() || cwnd < self.mss.as_f64() {
            return Err(PyValueError::new_err(format!(
                "{name}.{method} returned a window of {cwnd} bytes; give at least one packet: max(window, {mss})"
            )));
        }
        if let Some(rate) = pacing.filter(|rate| !(1.0..1e18).contains(rate)) {
            return Err(PyValueError::new_err(format!(
                "{name}.{method} returned a rate of {rate} bit/s; give at least 1, or None for no pacing"
            )));
        }
        let pacing_rate = pacing.map(|rate| Rate::from_bps(rate as u64));
        Ok(Decision { pacing_rate, ..Decision::window(Bytes::new(cwnd as u64)) })
    }

    fn lost(&mut self, method: &'static str, loss: PyLoss) -> Decision {
        self.call(method, |py| loss.into_pyobject(py).map(Bound::into_any))
    }
}

impl Congestion for PyFlow {
    fn decision(&self) -> Decision {
        self.decision
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let ack = PyAck {
            now_ps: ack.now.as_ps(),
            bytes_acked: ack.bytes_acked.get(),
            ecn_ce: ack.ecn_ce,
            rtt_ps: ack.rtt.as_ps(),
            sent_at_ps: ack.sent_at.as_ps(),
            in_flight: ack.in_flight.get(),
            delivered: ack.delivered.get(),
        };
        self.call("on_ack", |py| ack.into_pyobject(py).map(Bound::into_any))
    }

    fn on_nack(&mut self, &Nack { now, bytes, sent_at, in_flight, .. }: &Nack) -> Decision {
        self.lost("on_nack", loss(now, bytes, sent_at, in_flight))
    }

    fn on_loss(&mut self, &Loss { now, bytes, sent_at, in_flight }: &Loss) -> Decision {
        self.lost("on_loss", loss(now, bytes, sent_at, in_flight))
    }

    fn on_timeout(&mut self, &Timeout { now, bytes, sent_at, in_flight, .. }: &Timeout) -> Decision {
        self.lost("on_timeout", loss(now, bytes, sent_at, in_flight))
    }
}

fn loss(now: farspan_units::Time, bytes: Bytes, sent_at: farspan_units::Time, in_flight: Bytes) -> PyLoss {
    let (bytes, in_flight) = (bytes.get(), in_flight.get());
    PyLoss { now_ps: now.as_ps(), bytes, sent_at_ps: sent_at.as_ps(), in_flight }
}

/// A built-in control by its name, or a class.
#[derive(FromPyObject)]
pub enum Which<'py> {
    /// A name.
    Name(String),
    /// A class.
    Class(Bound<'py, PyType>),
}

impl Which<'_> {
    fn config(&self, raised: &Arc<Raised>) -> PyResult<CongestionConfig> {
        match self {
            Self::Class(class) => custom(class, raised).map(CongestionConfig::Custom),
            Self::Name(name) => CongestionConfig::by_name(name)
                .ok_or_else(|| PyValueError::new_err(format!("{name:?} is not a built-in control"))),
        }
    }
}

/// Does `work` with a control, detached from the interpreter; what the control raised goes on.
fn tried<T: Send>(
    py: Python<'_>,
    which: &Which<'_>,
    work: impl FnOnce(&CongestionConfig) -> T + Send,
) -> PyResult<T> {
    let raised = Arc::new(Raised::default());
    let config = which.config(&raised)?;
    let done = py.detach(|| work(&config));
    raised.take().map_or(Ok(done), Err)
}

/// Each decision of a control on its way through one script: time (ps), window (bytes), rate (bit/s).
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn window_curve(
    py: Python<'_>,
    control: Which<'_>,
    between: bool,
) -> PyResult<Vec<(u64, u64, Option<u64>)>> {
    let class = if between { Class::Inter } else { Class::Intra };
    let decisions = tried(py, &control, |config| testing::decisions(config, class))?;
    let row = |(at, Decision { cwnd, pacing_rate, .. }): (farspan_units::Time, Decision)| {
        (at.as_ps(), cwnd.get(), pacing_rate.map(Rate::as_bps))
    };
    Ok(decisions.into_iter().map(row).collect())
}

/// Checks the contract of a control under random events; `AssertionError` tells the first breach.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn conforms(py: Python<'_>, control: Which<'_>) -> PyResult<()> {
    let checked = tried(py, &control, testing::conforms)?;
    checked.map_err(|violation| PyAssertionError::new_err(violation.to_string()))
}
