//! The `farspan` command: arguments in, results out. Other crates do the work. The command is a library too, so that the
//! Python package can contain the same command.
//!
//! ```
//! use std::ffi::OsString;
//! use std::path::Path;
//!
//! let (words, code) = ([OsString::from("farspan")], Path::new("farspan"));
//! let itself = farspan_cli::Itself { words: &words, code };
//! let exit_code = farspan_cli::main_with_args(["farspan", "list", "schemes"].map(OsString::from), &itself);
//! assert_eq!(exit_code, 0);
//! ```
#![forbid(unsafe_code)]
// These macros panic where nothing can be written: `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bench;
#[cfg(feature = "ledger")]
mod bundle;
mod check;
mod cli;
mod compare;
mod cost;
mod demo;
#[cfg(all(target_os = "linux", feature = "emu"))]
mod emu;
#[cfg(feature = "import")]
mod export;
mod features;
#[cfg(feature = "ledger")]
mod figure_runs;
#[cfg(feature = "import")]
mod import;
#[cfg(all(target_os = "linux", feature = "kernel"))]
mod kernel;
mod list;
mod new;
mod offered_load;
mod plot;
mod program;
mod progress;
mod report;
#[cfg(feature = "ledger")]
mod reproduce;
mod run;
mod scenario_args;
mod schema;
mod seeds;
mod shell;
mod sweep;
mod version;

pub use farspan_scenario::{NamedControl, RegisterError};
pub use program::Program;
pub use sweep::{SweepPlan, SweepReport};

use clap::Parser;
use cli::{Cli, Command};
use farspan_scenario::ScenarioError;
use farspan_terminal::output;
use farspan_world::runner::RunError;
use farspan_world::{FolderError, SaveError, bug};
use std::ffi::OsString;
use std::path::Path;

/// Why a command did not end well, and with it the exit code.
#[derive(Debug)]
enum Failure {
    /// Bad input: 2.
    BadInput(String),
    /// Failed while running: 1.
    Failed(String),
    /// A claim that the ledger holds no longer does, or a number of a bundle: 3.
    #[cfg(feature = "ledger")]
    Unheld(String),
    /// An emulation was void: 6.
    #[cfg(all(target_os = "linux", feature = "emu"))]
    Void(String),
    /// A program cannot be run at an emulated host: 126 or 127, as shells have it.
    #[cfg(all(target_os = "linux", feature = "emu"))]
    Program(String, u8),
    /// Interrupted; what was written stays readable: 130.
    Interrupted,
    /// A sweep was interrupted; its whole runs stay: 130.
    InterruptedSweep,
    /// The runs of a figure were interrupted: 130.
    #[cfg(feature = "ledger")]
    InterruptedFigure {
        /// Whether whole ones stay.
        kept: bool,
    },
    /// An invariant does not hold: 101, the code of panics.
    Bug(bug::Bug),
}

impl Failure {
    fn message_and_code(self) -> (String, u8) {
        match self {
            Self::Failed(message) => (message, 1),
            Self::BadInput(message) => (message, 2),
            #[cfg(feature = "ledger")]
            Self::Unheld(message) => (message, 3),
            #[cfg(all(target_os = "linux", feature = "emu"))]
            Self::Void(message) => (message, 6),
            #[cfg(all(target_os = "linux", feature = "emu"))]
            Self::Program(message, code) => (message, code),
            Self::Interrupted => ("interrupted; the results so far are marked partial".to_owned(), 130),
            Self::InterruptedSweep => ("interrupted; run the same command again to continue".to_owned(), 130),
            #[cfg(feature = "ledger")]
            Self::InterruptedFigure { kept: true } => {
                ("interrupted; complete runs are kept, and --resume skips them".to_owned(), 130)
            }
            #[cfg(feature = "ledger")]
            Self::InterruptedFigure { kept: false } => ("interrupted; nothing was compared".to_owned(), 130),
            Self::Bug(bug) => (bug.to_string(), 101),
        }
    }
}

impl From<ScenarioError> for Failure {
    fn from(error: ScenarioError) -> Self {
        Self::BadInput(error.to_string())
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Scenario(error) => error.into(),
            RunError::Folder(error) => error.into(),
            RunError::Save(error) => error.into(),
        }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        if error.is_bad_input() { Self::BadInput(error.to_string()) } else { Self::Failed(error.to_string()) }
    }
}

impl From<SaveError> for Failure {
    fn from(error: SaveError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// This command, to be started anew: benchmarks and the runs of sweeps have processes of their own.
#[derive(Clone, Copy, Debug)]
pub struct Itself<'a> {
    /// The words that start it.
    pub words: &'a [OsString],
    /// The file of its code, whose digest is its build: results of another build are not taken for its own.
    pub code: &'a Path,
}

/// Runs the command; gives the exit code.
///
/// `args` begins with the name of the program. Ctrl-C is caught for the whole process, which should have nothing else to do.
pub fn main_with_args(args: impl IntoIterator<Item = OsString>, itself: &Itself<'_>) -> u8 {
    let words: Vec<OsString> = args.into_iter().collect();
    let parsed = parse(words.iter().cloned());
    parsed.and_then(|cli| guarded(|| cli.command.run(&words, itself))).map_or_else(|code| code, |()| 0)
}

/// The sweep that the arguments of `farspan sweep` ask for, its folder not touched yet: for who runs it elsewhere.
///
/// # Errors
/// The exit code, after what is wrong was said on standard error.
pub fn sweep_plan(args: impl IntoIterator<Item = OsString>) -> Result<SweepPlan, u8> {
    match parse(args)?.command {
        Command::Sweep(args) => guarded(|| sweep::plan(&args)),
        _ => guarded(|| Err(Failure::BadInput("not a sweep; use farspan sweep".to_owned()))),
    }
}

/// Writes `report.html` into the folder of a sweep that has ended, and gives the texts that the command prints.
///
/// # Errors
/// If the runs cannot be read, or the page cannot be written.
pub fn sweep_report(out: &Path) -> Result<SweepReport, String> {
    sweep::report(out).map_err(|failure| failure.message_and_code().0)
}

/// The arguments; an error has been printed, and gives the exit code.
fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, u8> {
    Cli::try_parse_from(args).map_err(|error| {
        // Help and versions are errors to clap, and go to standard output.
        let code = match error.print() {
            Err(lost) if !error.use_stderr() => output::lost(&lost),
            _ => error.exit_code(),
        };
        u8::try_from(code).unwrap_or(2)
    })
}

/// The value that a command gives; a failure has been said, and gives the exit code.
fn guarded<T>(command: impl FnOnce() -> Result<T, Failure>) -> Result<T, u8> {
    let result = bug::guard(command).unwrap_or_else(|bug| Err(Failure::Bug(bug)));
    result.map_err(|failure| {
        let (message, code) = failure.message_and_code();
        if !message.is_empty() {
            output::note(&message);
        }
        code
    })
}
