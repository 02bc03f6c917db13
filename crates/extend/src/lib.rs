//! All that a congestion control in a crate of its own needs of farspan, so that such a crate names farspan once.
//! `farspan new --control NAME` writes one.
//!
//! ```no_run
//! # use farspan_extend::NamedControl;
//! # fn program<Mine: NamedControl>() -> std::process::ExitCode {
//! farspan_extend::Program::new().control::<Mine>().main()
//! # }
//! ```

pub use farspan_cli::{NamedControl, Program, RegisterError};
#[cfg(feature = "python")]
pub use farspan_python as python;
pub use farspan_transport as transport;
pub use farspan_units as units;

// Memory in huge pages, as the farspan command takes it.
use farspan_memory as _;

/// The native part of a Python package, `_native`: farspan's own, in which scenarios and schemes know a control by its name. It takes
/// the feature `python`.
///
/// ```ignore
/// farspan_extend::python_module!(Config);
/// ```
#[cfg(feature = "python")]
#[macro_export]
macro_rules! python_module {
    ($control:ty) => {
        #[$crate::python::pyo3::pymodule]
        #[pyo3(crate = "farspan_extend::python::pyo3")]
        fn _native(
            module: &$crate::python::pyo3::Bound<'_, $crate::python::pyo3::types::PyModule>,
        ) -> $crate::python::pyo3::PyResult<()> {
            $crate::python::with_control::<$control>(module)
        }
    };
}
