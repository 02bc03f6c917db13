//! The tests of controls, for those of Python and built-in ones.

use super::{Raised, custom};
use farspan_transport::Class;
use farspan_transport::congestion::{CongestionConfig, Decision, testing};
use farspan_units::{Rate, Time};
use pyo3::exceptions::{PyAssertionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::sync::Arc;

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
    let row = |(at, Decision { cwnd, pacing_rate, .. }): (Time, Decision)| {
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
