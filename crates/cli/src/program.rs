//! The command as a program that other crates extend.

use crate::main_with_args;
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
        let itself = std::env::current_exe().map_or_else(|_| "farspan".into(), PathBuf::into_os_string);
        ExitCode::from(main_with_args(std::env::args_os(), &[itself]))
    }
}

impl Default for Program {
    fn default() -> Self {
        Self::new()
    }
}
