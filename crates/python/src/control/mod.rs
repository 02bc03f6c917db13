//! Congestion controls that are classes of Python: each event takes the interpreter's lock and calls a method.

mod class_needs;
mod events;
mod trial;

pub use events::{
    FlowPath, PyAck, PyCnp, PyHop, PyIdle, PyLoss, PyNack, PyPull, PySendRecord, PySent, PyTimeout,
};
pub use trial::{conforms, window_curve};

use class_needs::ClassNeeds;
use farspan_transport::congestion::{
    Ack, Cnp, Congestion, Custom, Decision, Factory, Floor, Idle, Loss, Nack, Needs, Pull, Sent, Start,
    Timeout,
};
use farspan_units::{Bytes, Rate, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};
use std::collections::BTreeSet;
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

/// A class of Python whose objects control flows, one each.
struct Class {
    class: Py<PyType>,
    name: &'static str,
    asked: ClassNeeds,
    raised: Arc<Raised>,
}

/// Makes the objects of a class.
struct PyControl(Arc<Class>);

/// Controls that are objects of `class`; what they raise goes to `raised`.
///
/// # Errors
/// If the class does not say what it needs, or not in the words of `python/farspan/control.py`.
pub fn custom(class: &Bound<'_, PyType>, raised: &Arc<Raised>) -> PyResult<Custom> {
    let asked = ClassNeeds::of(class)?;
    let (class, name) = (class.clone().unbind(), lasting(&class.name()?.to_string()));
    Ok(Custom::new(PyControl(Arc::new(Class { class, name, asked, raised: Arc::clone(raised) }))))
}

/// The text, for as long as the program lives, as results and traces name controls and their states. Each is kept once.
fn lasting(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.into());
    kept.insert(text);
    text
}

impl Factory for PyControl {
    fn name(&self) -> &'static str {
        self.0.name
    }

    fn needs(&self) -> Needs {
        self.0.asked.needs
    }

    fn control(&self, start: &Start<'_>) -> Box<dyn Congestion + Send> {
        let class = Arc::clone(&self.0);
        let mss = start.path.mss;
        let decision = Decision::window(start.initial_cwnd.max(mss));
        let mut flow = PyFlow { object: None, class, mss, now: None, decision };
        if !self.0.raised.any() {
            Python::attach(|py| match self.0.class.call0(py) {
                Ok(object) => flow.object = Some(object),
                Err(error) => self.0.raised.keep(error),
            });
            flow.call("start", |py| of(py, FlowPath::of(start)));
        }
        Box::new(flow)
    }
}

/// The control of one flow.
struct PyFlow {
    /// `None`: it could not be made.
    object: Option<Py<PyAny>>,
    class: Arc<Class>,
    mss: Bytes,
    /// The time of the last event; `None` before the first one.
    now: Option<Time>,
    decision: Decision,
}

/// An event as an object of Python.
fn of<T: pyo3::PyClass>(
    py: Python<'_>,
    event: impl Into<PyClassInitializer<T>>,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(Bound::new(py, event)?.into_any())
}

impl PyFlow {
    /// Calls a method with an event; gives the decision that holds from now on.
    fn call(
        &mut self,
        method: &'static str,
        event: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Decision {
        let raised = &self.class.raised;
        let Some(object) = self.object.as_ref().filter(|_| !raised.any()) else { return self.decision };
        let decided = Python::attach(|py| {
            let returned = object.bind(py).call_method1(PyString::intern(py, method), (event(py)?,))?;
            self.read(method, &returned)
        });
        match decided {
            Ok(decision) => self.decision = decision,
            Err(error) => self.class.raised.keep(error),
        }
        self.decision
    }

    /// As [`Self::call`], at a time.
    fn call_at(
        &mut self,
        now: Time,
        method: &'static str,
        event: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Decision {
        self.now = Some(now);
        self.call(method, event)
    }

    /// The decision that a method returned.
    fn read(&self, method: &str, returned: &Bound<'_, PyAny>) -> PyResult<Decision> {
        if returned.is_none() {
            return Ok(self.decision);
        }
        let name = self.class.name;
        let wrong = || {
            PyTypeError::new_err(format!(
                "{name}.{method} returned {returned}; return (window in bytes, rate in bit/s or None), behind them the next \
                 timer in ps or None, and an allowance in bytes; or None to leave them all"
            ))
        };
        let values = returned.cast::<PyTuple>().map_err(|_| wrong())?;
        if !(2..=4).contains(&values.len()) {
            return Err(wrong());
        }
        let cwnd: f64 = values.get_item(0)?.extract().map_err(|_| wrong())?;
        let pacing: Option<f64> = values.get_item(1)?.extract().map_err(|_| wrong())?;
        let timer: Option<u64> = match values.len() {
            2 => None,
            _ => values.get_item(2)?.extract().map_err(|_| wrong())?,
        };
        let allowance: Option<f64> = match values.len() {
            4 => values.get_item(3)?.extract().map_err(|_| wrong())?,
            _ => None,
        };
        let refused = |problem: String| PyValueError::new_err(format!("{name}.{method} returned {problem}"));
        Ok(Decision {
            cwnd: self.cwnd(cwnd).map_err(refused)?,
            pacing_rate: rate(pacing).map_err(refused)?,
            next_timer: self.timer(method, timer).map_err(refused)?,
            allowance: self.allowance(allowance).map_err(refused)?,
        })
    }

    fn cwnd(&self, cwnd: f64) -> Result<Bytes, String> {
        let mss = self.mss.get();
        let least = self.class.asked.floor.bytes(self.mss).as_f64();
        if cwnd >= least {
            return Ok(Bytes::new(cwnd as u64));
        }
        let cure = match self.class.asked.floor {
            Floor::OnePacket => format!("at least one packet: max(window, {mss})"),
            Floor::Zero => "0 or more".to_owned(),
        };
        Err(format!("a window of {cwnd} bytes; give {cure}"))
    }

    fn timer(&self, method: &str, timer: Option<u64>) -> Result<Option<Time>, String> {
        let Some(at) = timer.map(Time::from_ps) else { return Ok(None) };
        if !self.class.asked.has_timer {
            return Err("a timer, and there is no on_timer; define on_timer(self, now_ps)".to_owned());
        }
        // At the time of another event it still comes up; at its own it would for ever.
        let is_past = |now: &Time| at < *now || at == *now && method == "on_timer";
        match self.now.filter(is_past) {
            Some(now) => Err(format!(
                "a timer at {} ps, and it is {} ps; give a later time, such as event.now_ps + 50_000_000, or None",
                at.as_ps(),
                now.as_ps()
            )),
            None => Ok(Some(at)),
        }
    }

    fn allowance(&self, allowance: Option<f64>) -> Result<Option<Bytes>, String> {
        let Some(bytes) = allowance else { return Ok(None) };
        if !self.class.asked.needs.sent {
            return Err("an allowance, and does not see what leaves; add \"sent\" to its needs and spend it in on_sent".to_owned());
        }
        if bytes >= 0.0 {
            return Ok(Some(Bytes::new(bytes as u64)));
        }
        Err(format!("an allowance of {bytes} bytes; give 0 or more, or None for none"))
    }

    /// The answer of a method that takes nothing, if the class has it.
    fn tell<T: for<'a, 'py> FromPyObject<'a, 'py>>(&self, has: bool, method: &'static str) -> Option<T> {
        let raised = &self.class.raised;
        let object = self.object.as_ref().filter(|_| has && !raised.any())?;
        let told = Python::attach(|py| {
            let told = object.bind(py).call_method0(PyString::intern(py, method))?;
            told.extract::<Option<T>>()
                .map_err(|_| PyTypeError::new_err(format!("{}.{method} returned {told}", self.class.name)))
        });
        told.unwrap_or_else(|error| {
            raised.keep(error);
            None
        })
    }
}

fn rate(pacing: Option<f64>) -> Result<Option<Rate>, String> {
    match pacing {
        Some(rate) if !(1.0..1e18).contains(&rate) => {
            Err(format!("a rate of {rate} bit/s; give at least 1, or None for no pacing"))
        }
        rate => Ok(rate.map(|rate| Rate::from_bps(rate as u64))),
    }
}

impl Congestion for PyFlow {
    fn decision(&self) -> Decision {
        self.decision
    }

    fn floor(&self) -> Floor {
        self.class.asked.floor
    }

    fn state(&self) -> Option<&'static str> {
        self.tell::<String>(self.class.asked.has_state, "state").map(|state| lasting(&state))
    }

    fn signal(&self) -> Option<f64> {
        self.tell(self.class.asked.has_signal, "signal")
    }

    fn on_sent(&mut self, sent: &Sent) -> Decision {
        match self.class.asked.needs.sent {
            true => self.call_at(sent.now, "on_sent", |py| of(py, PySent::from(sent))),
            false => self.decision,
        }
    }

    fn on_ack(&mut self, ack: &Ack) -> Decision {
        let needs = self.class.asked.needs;
        self.call_at(ack.now, "on_ack", |py| of(py, PyAck::of(py, ack, &needs)?))
    }

    fn on_nack(&mut self, nack: &Nack) -> Decision {
        self.call_at(nack.now, "on_nack", |py| of(py, PyNack::of(nack)))
    }

    fn lower(&mut self, most: Bytes) -> Decision {
        self.call("lower", |py| Ok(most.get().into_pyobject(py)?.into_any()))
    }

    fn on_pull(&mut self, pull: &Pull) -> Decision {
        match self.class.asked.needs.pulls {
            Some(_) => self.call_at(pull.now, "on_pull", |py| of(py, PyPull::from(pull))),
            None => self.decision,
        }
    }

    fn on_cnp(&mut self, cnp: &Cnp) -> Decision {
        match self.class.asked.needs.cnps {
            Some(_) => self.call_at(cnp.now, "on_cnp", |py| of(py, PyCnp::from(cnp))),
            None => self.decision,
        }
    }

    fn on_loss(&mut self, loss: &Loss) -> Decision {
        self.call_at(loss.now, "on_loss", |py| of(py, PyLoss::from(loss)))
    }

    fn on_timeout(&mut self, timeout: &Timeout) -> Decision {
        self.call_at(timeout.now, "on_timeout", |py| of(py, PyTimeout::of(timeout)))
    }

    fn on_idle(&mut self, idle: &Idle) -> Decision {
        self.call_at(idle.now, "on_idle", |py| of(py, PyIdle::from(idle)))
    }

    fn on_timer(&mut self, now: Time) -> Decision {
        // It has come: where the method returns `None`, it is not asked for again.
        self.decision.next_timer = None;
        self.call_at(now, "on_timer", |py| Ok(now.as_ps().into_pyobject(py)?.into_any()))
    }
}
