//! The command as a program that other crates extend.

use crate::{Itself, main_with_args};
use farspan_scenario::{NamedControl, RegisterError, register};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// The `farspan` command, with congestion controls of other crates beside the built-in ones. `farspan new --control NAME`
/// writes a crate with such a program.
///
/// ```no_run
/// # use farspan_cli::NamedControl;
/// # fn program<Mine: NamedControl>() -> std::process::ExitCode {
/// farspan_cli::Program::new().control::<Mine>().main()
/// # }
/// ```
#[must_use = "a program runs when `main` is called"]
#[derive(Debug)]
pub struct Program {
    registered: Result<(), RegisterError>,
}

impl Program {
    /// The command with the built-in controls.
    pub const fn new() -> Self {
        Self { registered: Ok(()) }
    }

    /// Adds a control, which every command then knows by its name.
    pub fn control<C: NamedControl>(self) -> Self {
        Self { registered: self.registered.and_then(|()| register::<C>()) }
    }

    /// Runs the command with the arguments of this process. A control that cannot be registered ends it with 2.
    pub fn main(self) -> ExitCode {
        if let Err(error) = self.registered {
            // The exit code says it even if the message cannot be written.
            let _ = writeln!(std::io::stderr(), "farspan: {error}");
            return ExitCode::from(2);
        }
        let code = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("farspan"));
        let itself = Itself { words: &[code.clone().into_os_string()], code: &code };
        ExitCode::from(main_with_args(std::env::args_os(), &itself))
    }
}

impl Default for Program {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_transport::congestion::{Congestion, Factory, Needs, Start};

    #[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    struct Called<const N: usize> {}

    impl<const N: usize> NamedControl for Called<N> {
        const SUMMARY: &'static str = "";
    }

    impl<const N: usize> Factory for Called<N> {
        fn name(&self) -> &'static str {
            ["called", "called", "dctcp"][N]
        }

        fn needs(&self) -> Needs {
            unreachable!("no flow runs")
        }

        fn control(&self, _start: &Start<'_>) -> Box<dyn Congestion + Send> {
            unreachable!("no flow runs")
        }
    }

    #[test]
    fn the_first_control_that_cannot_be_had_is_told() {
        let twice = Program::new().control::<Called<0>>().control::<Called<1>>().control::<Called<2>>();
        assert_eq!(twice.registered, Err(RegisterError::Twice { name: "called".to_owned() }));
        let taken = Program::new().control::<Called<2>>();
        assert_eq!(taken.registered, Err(RegisterError::Taken { name: "dctcp".to_owned() }));
        assert_eq!(Program::new().control::<Called<0>>().registered, Ok(()));
    }
}
