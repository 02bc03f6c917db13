//! Everything that other processes ask of an emulation: to run a program at a host, how it is, and to end.

use super::name::{Name, NameError};
use super::namespace::NamespaceError;
use super::processor;
use super::session::clear;
use super::state::{Facts, Folder, Verdict, is_ending};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long an emulation may take to end its programs and write its results, in steps of `STEP`.
const STEPS: u32 = 3000;
/// How often its lock is asked for: each takes a tenth of a second.
const HOLDS: u32 = 100;
const STEP: Duration = Duration::from_millis(20);

/// Which emulation is meant, where that does not go without saying.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// None is up.
    #[error("no emulation is running: start one with `farspan emu up FILE`")]
    None,
    /// None of this name is up.
    #[error("no emulation {name} is running{}", others(known))]
    Unknown {
        /// The name.
        name: Name,
        /// Those that are.
        known: Vec<Name>,
    },
    /// Several are up.
    #[error("several emulations are running: choose one with --name ({})", list(known))]
    Several {
        /// Their names.
        known: Vec<Name>,
    },
    /// The name is none.
    #[error(transparent)]
    Name(#[from] NameError),
}

fn list(names: &[Name]) -> String {
    names.iter().map(Name::to_string).collect::<Vec<_>>().join(", ")
}

fn others(names: &[Name]) -> String {
    if names.is_empty() { String::new() } else { format!("; up: {}", list(names)) }
}

/// The emulation of this name, or the only one.
///
/// # Errors
/// If it is not up, or several are and no name is given.
pub fn choose(name: Option<&str>) -> Result<Name, ChoiceError> {
    let known = Name::known();
    match (name, known.as_slice()) {
        (Some(name), _) => {
            let name: Name = name.parse()?;
            if known.contains(&name) { Ok(name) } else { Err(ChoiceError::Unknown { name, known }) }
        }
        (None, []) => Err(ChoiceError::None),
        (None, [only]) => Ok(only.clone()),
        (None, _) => Err(ChoiceError::Several { known }),
    }
}

/// Why a program could not be run at a host.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// It takes root.
    #[error("running a program on an emulated host needs root: run `sudo farspan emu exec ...`")]
    NotRoot,
    /// The emulation runs no more.
    #[error("the emulation {name} {}", state.advice(name))]
    Over {
        /// The name.
        name: Name,
        /// How it is.
        state: State,
    },
    /// There is no such host.
    #[error("there is no host {host:?}: write a name or a number, host0 to host{}", hosts - 1)]
    Host {
        /// As it was asked for.
        host: String,
        /// How many there are.
        hosts: usize,
    },
    /// There is no such program.
    #[error("{}: there is no such program", program.display())]
    NoProgram {
        /// As it was asked for.
        program: PathBuf,
    },
    /// It is no program.
    #[error("{}: this file cannot be run: is it executable?", program.display())]
    NotExecutable {
        /// The file.
        program: PathBuf,
    },
    /// It cannot be started.
    #[error("`ip netns exec` cannot be started ({0}): install iproute2")]
    Start(#[source] io::Error),
}

/// Becomes a program at a host: this process has its input, output, signals and exit code from then on. Gives why it could not.
#[must_use]
pub fn exec(name: &Name, host: &str, command: &[OsString]) -> ExecError {
    if !rustix::process::geteuid().is_root() {
        return ExecError::NotRoot;
    }
    let Status { state, facts, .. } = status(name);
    let Some(facts) = facts.filter(|_| state == State::Up) else {
        return ExecError::Over { name: name.clone(), state };
    };
    let Some(number) = facts.host(host) else {
        return ExecError::Host { host: host.to_owned(), hosts: facts.hosts.len() };
    };
    if let Some(error) = command.first().and_then(|program| cannot_run(Path::new(program))) {
        return error;
    }
    processor::stay_off(facts.processor);
    let mut program = Command::new("ip");
    program.args(["netns", "exec", &facts.hosts[number].namespace]).args(command);
    ExecError::Start(program.exec())
}

/// Why a program cannot be run, as far as its file says: `ip` says little.
fn cannot_run(program: &Path) -> Option<ExecError> {
    let is_executable = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let found = if program.components().count() > 1 {
        program.exists().then(|| program.to_owned())
    } else {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| is_executable(path))
    };
    match found {
        None => Some(ExecError::NoProgram { program: program.to_owned() }),
        Some(found) => (!is_executable(&found)).then_some(ExecError::NotExecutable { program: found }),
    }
}

/// Whether an emulation runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Its process is making it.
    ComingUp,
    /// A process moves its packets.
    Up,
    /// Its process has ended, and left a verdict.
    Ended,
    /// Its process was killed.
    Killed,
}

impl State {
    /// How to go on with an emulation of this name in this state.
    #[must_use]
    pub fn advice(self, name: &Name) -> String {
        match self {
            Self::ComingUp => "is starting: try again in a moment".to_owned(),
            Self::Up => "is up".to_owned(),
            Self::Ended => format!(
                "has ended: run `farspan emu down --name {name}` to see its verdict and remove what is left"
            ),
            Self::Killed => {
                format!("was killed: run `farspan emu down --name {name}` to remove what is left")
            }
        }
    }
}

/// How an emulation is.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Whether it runs.
    pub state: State,
    /// Its facts, if they are known.
    pub facts: Option<Facts>,
    /// Its own last words on itself, as the results have it.
    pub emulation: Option<serde_json::Value>,
}

/// How an emulation is.
#[must_use]
pub fn status(name: &Name) -> Status {
    let folder = Folder::of(name);
    let (facts, has_verdict) = (folder.facts().ok(), folder.verdict().is_ok());
    let state = match folder.is_up() {
        _ if has_verdict => State::Ended,
        true if facts.is_some() => State::Up,
        true => State::ComingUp,
        false => State::Killed,
    };
    Status { state, facts, emulation: folder.state().ok() }
}

/// Waits until the process of an emulation that was killed has let go of its locks and files. One that is up is not waited for.
pub fn settle(name: &Name) {
    Folder::of(name).settle();
}

/// Why an emulation could not be ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownError {
    /// It takes root.
    #[error("stopping an emulation needs root: run `sudo farspan emu down`")]
    NotRoot,
    /// Something of it cannot be removed.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Its process does not end.
    #[error("process {pid} does not end: kill it (`kill -9 {pid}`), and run `farspan emu down` again")]
    Stuck {
        /// The process.
        pid: u32,
    },
    /// Another process makes or clears it.
    #[error("another command is starting or stopping the emulation {name}: see `farspan emu status`")]
    Busy {
        /// The name.
        name: Name,
    },
    /// Its lock cannot be taken.
    #[error("{}: cannot be locked ({source})", path.display())]
    Lock {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Ends an emulation, and removes all of it; gives its verdict, or `None` if it had been killed, so that there is none. One that is
/// coming up is ended as well.
///
/// # Errors
/// If its process does not end, or something cannot be removed.
pub fn down(name: &Name) -> Result<Option<Verdict>, DownError> {
    if !rustix::process::geteuid().is_root() {
        return Err(DownError::NotRoot);
    }
    let folder = Folder::of(name);
    // This process is not to end itself. Where it runs the emulation, that is not removed; where it has ended it, a program that another
    // thread is starting may have the lock for a moment more.
    let is_other = |pid: &u32| *pid != std::process::id();
    if let Some(pid) = folder.holder().filter(is_other).filter(|_| folder.is_up()) {
        stop(pid)?;
    }
    // From here on nobody else makes or clears it. The command that started one which did not come up clears it as well.
    let hold = || folder.hold().map_err(|source| DownError::Lock { path: name.lock(), source }).transpose();
    let held = (0..HOLDS).find_map(|_| hold()).ok_or_else(|| DownError::Busy { name: name.clone() })??;
    let verdict = folder.verdict().ok();
    clear(name, held)?;
    Ok(verdict)
}

fn stop(pid: u32) -> Result<(), DownError> {
    let stuck = DownError::Stuck { pid };
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Err(stuck) };
    let _ = kill_process(process, Signal::TERM);
    for _ in 0..STEPS {
        if is_ending(pid) {
            return Ok(());
        }
        std::thread::park_timeout(STEP);
    }
    Err(stuck)
}
