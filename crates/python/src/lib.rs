//! The native part of the farspan Python package. It takes arguments, and returns documents as JSON and tables as Arrow streams.
//! `python/farspan` turns them into objects.

mod control;
mod error;
mod look;
mod run;
mod sweep;
mod table;

pub use pyo3;

use farspan_cli::Itself;
use farspan_memory as _;
use farspan_scenario::{NamedControl, register};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

#[pymodule]
mod _farspan {
    #[pymodule_export]
    use super::control::{
        FlowPath, PyAck, PyCnp, PyHop, PyIdle, PyLoss, PyNack, PyPull, PySendRecord, PySent, PyTimeout,
        conforms, window_curve,
    };
    #[pymodule_export]
    use super::look::{catalog, check, compare, looks, over, read_table, report, seeds, slowdown_bins};
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::run::run;
    #[pymodule_export]
    use super::sweep::{Sweep, default_folder, sweep_plan, sweep_told};
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Fills the native module of another package: with all of farspan's own, to which a control is known by its name.
///
/// # Errors
/// `ImportError` if another control has the name.
pub fn with_control<C: NamedControl>(module: &Bound<'_, PyModule>) -> PyResult<()> {
    register::<C>().map_err(|error| PyImportError::new_err(error.to_string()))?;
    let own = pyo3::wrap_pymodule!(_farspan)(module.py());
    for (name, value) in own.bind(module.py()).dict() {
        let name: String = name.extract()?;
        if name == "__version__" || !name.starts_with("__") {
            module.setattr(name, value)?;
        }
    }
    Ok(())
}

/// Runs the `farspan` command; gives the exit code. `itself` is the words that start the command anew, `code` the file of
/// this module.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
fn main(py: Python<'_>, args: Vec<OsString>, itself: Vec<OsString>, code: PathBuf) -> u8 {
    py.detach(|| farspan_cli::main_with_args(args, &Itself { words: &itself, code: &code }))
}
