//! The native part of the farspan Python package: arguments in, the summary out as JSON. `python/farspan` makes objects
//! of it.

use farspan_scenario::{EngineKind, Request, World};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

#[pymodule]
mod _farspan {
    #[pymodule_export]
    use super::run;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Runs a scenario; gives the document that `farspan run --json` prints.
///
/// # Errors
/// `ValueError` if the input is wrong; the message names the place and the cure.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
fn run(
    py: Python<'_>,
    scenario: String,
    scheme: Option<String>,
    profile: Option<String>,
    seed: Option<u64>,
    sets: Vec<String>,
) -> PyResult<String> {
    let request = Request { scenario, scheme, profile, seed, set: sets };
    let summary = py.detach(|| {
        let resolved = request.resolve().map_err(|e| e.to_string())?;
        let world = World::build(&resolved).map_err(|e| e.to_string())?;
        let results = farspan_scenario::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
        serde_json::to_string(&results.summary).map_err(|e| e.to_string())
    });
    summary.map_err(PyValueError::new_err)
}
