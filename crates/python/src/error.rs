//! Errors as the Python package's exceptions: their classes are Python's, so that they can be pickled.

use farspan_report::ReportError;
use farspan_scenario::{Place, ScenarioError};
use farspan_world::bug;
use farspan_world::runner::RunError;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The name of a scenario that stands in no file, `_request.MAPPING` of the package.
const MAPPING: &str = "<mapping>";

/// An exception of `farspan._errors`.
fn raise(py: Python<'_>, class: &str, message: &str, fields: &Bound<'_, PyDict>) -> PyErr {
    let made = || py.import("farspan._errors")?.getattr(class)?.call((message,), Some(fields));
    match made() {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// `ScenarioError`, with the place, the key and the cure as attributes.
pub fn scenario(py: Python<'_>, error: &ScenarioError) -> PyErr {
    let fields = PyDict::new(py);
    let filled = (|| {
        match &error.place {
            // Its text was made of an argument: lines and columns would say nothing.
            Place::Text { name, .. } | Place::Whole(name) if name == MAPPING => {
                fields.set_item("argument", "scenario")?;
            }
            Place::Text { name, line, column } => {
                fields.set_item("file", name)?;
                fields.set_item("line", line)?;
                fields.set_item("column", column)?;
            }
            Place::Argument(text) => fields.set_item("argument", argument(text))?,
            Place::Whole(name) => fields.set_item("file", name)?,
        }
        fields.set_item("key", Some(&error.path).filter(|key| !key.is_empty()))?;
        fields.set_item("cure", Some(error.cure()).filter(|cure| !cure.is_empty()))
    })();
    filled.map_or_else(|error| error, |()| raise(py, "ScenarioError", &error.problem.to_string(), &fields))
}

/// An argument of the command as Python writes it: `--set a=b` is `set={"a": b}`.
fn argument(text: &str) -> String {
    let Some((name, value)) = text.strip_prefix("--").and_then(|text| text.split_once(' ')) else {
        return text.to_owned();
    };
    match value.split_once('=').filter(|_| name == "set") {
        Some((path, value)) => format!("set={{{path:?}: {value}}}"),
        None if name == "seed" => format!("seed={value}"),
        None => format!("{name}={value:?}"),
    }
}

/// A wrong argument that no scenario knows of.
pub fn wrong_argument(py: Python<'_>, argument: &str, problem: &str) -> PyErr {
    let fields = PyDict::new(py);
    match fields.set_item("argument", argument) {
        Ok(()) => raise(py, "ScenarioError", problem, &fields),
        Err(error) => error,
    }
}

/// Runs `work` detached from the interpreter. A broken invariant becomes a `RunError`, and the interpreter goes on.
pub fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| bug::guard(work)).map_err(|bug| failed(py, &bug.to_string()))
}

/// `RunError`: a failure that is not the scenario's.
pub fn failed(py: Python<'_>, message: &str) -> PyErr {
    raise(py, "RunError", message, &PyDict::new(py))
}

/// The exception of a run.
pub fn run(py: Python<'_>, error: &RunError) -> PyErr {
    match error {
        RunError::Scenario(error) => scenario(py, error),
        RunError::Folder(error) if error.is_bad_input() => wrong_argument(py, "out", &error.to_string()),
        RunError::Folder(error) => failed(py, &error.to_string()),
        RunError::Save(error) => failed(py, &error.to_string()),
    }
}

/// The exception of results that cannot be read, compared or shown.
pub fn report(py: Python<'_>, error: &ReportError) -> PyErr {
    let message = error.to_string();
    match error {
        ReportError::NoFolder { .. } | ReportError::NoRun { .. } => PyFileNotFoundError::new_err(message),
        ReportError::Table(_) | ReportError::Unreadable { .. } => PyOSError::new_err(message),
        ReportError::Write { .. } => failed(py, &message),
        ReportError::Foreign { .. } | ReportError::Unpaired { .. } => PyValueError::new_err(message),
    }
}
