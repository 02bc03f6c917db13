//! Everything that other processes ask of an emulation: to run a program at a host, how it is, and to end.

use super::name::{Name, NameError};
use super::namespace::NamespaceError;
use super::session::clear;
use super::state::{Facts, Folder, Verdict};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// How long an emulation may take to write its results, in steps of `STEP`.
const STEPS: u32 = 3000;
const STEP: Duration = Duration::from_millis(20);

/// Which emulation is meant, where that does not go without saying.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// None is up.
    #[error("no emulation is up: `farspan emu up FILE` starts one")]
    None,
    /// None of this name is up.
    #[error("no emulation {name} is up{}", others(known))]
    Unknown {
        /// The name.
        name: Name,
        /// Those that are.
        known: Vec<Name>,
    },
    /// Several are up.
    #[error("several emulations are up: say which by --name ({})", list(known))]
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
    /// The emulation was killed.
    #[error("the emulation {name} was killed: `farspan emu down --name {name}` removes what is left")]
    Killed {
        /// The name.
        name: Name,
    },
    /// There is no such host.
    #[error("there is no host {host:?}: write a name or a number, host0 to host{}", hosts - 1)]
    Host {
        /// As it was asked for.
        host: String,
        /// How many there are.
        hosts: usize,
    },
    /// It cannot be started.
    #[error("`ip netns exec` cannot be started ({0}): install iproute2")]
    Start(#[source] io::Error),
}

/// Runs a program at a host, with the standard input and output of this process; gives its exit code, or 128 and the number of the
/// signal that ended it.
///
/// # Errors
/// If the emulation is not up, or has no such host.
pub fn exec(name: &Name, host: &str, command: &[OsString]) -> Result<u8, ExecError> {
    let folder = Folder::of(name);
    let killed = || ExecError::Killed { name: name.clone() };
    let facts = folder.facts().ok().filter(|_| folder.is_up()).ok_or_else(killed)?;
    let unknown = || ExecError::Host { host: host.to_owned(), hosts: facts.hosts.len() };
    let number = facts.host(host).ok_or_else(unknown)?;
    let mut program = Command::new("ip");
    program.args(["netns", "exec", &facts.hosts[number].namespace]).args(command);
    program.status().map(code).map_err(ExecError::Start)
}

fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// How an emulation is.
#[derive(Clone, PartialEq, Debug)]
pub struct Status {
    /// Whether a process moves its packets; else it was killed.
    pub is_up: bool,
    /// Its facts, if that is known.
    pub facts: Option<Facts>,
    /// Its own last words on itself, as the results have it.
    pub state: Option<serde_json::Value>,
}

/// How an emulation is.
#[must_use]
pub fn status(name: &Name) -> Status {
    let folder = Folder::of(name);
    Status { is_up: folder.is_up(), facts: folder.facts().ok(), state: folder.state().ok() }
}

/// Why an emulation could not be ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownError {
    /// Something of it cannot be removed.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Its process does not end.
    #[error("process {pid} does not end: kill it (`kill -9 {pid}`), and run `farspan emu down` again")]
    Stuck {
        /// The process.
        pid: u32,
    },
}

/// Ends an emulation, and removes all of it; gives its verdict, or `None` if it had been killed, so that there is none.
///
/// # Errors
/// If its process does not end, or something cannot be removed.
pub fn down(name: &Name) -> Result<Option<Verdict>, DownError> {
    let folder = Folder::of(name);
    if let Some(facts) = folder.facts().ok().filter(|_| folder.is_up()) {
        stop(&folder, facts.pid)?;
    }
    let verdict = folder.verdict().ok();
    clear(name)?;
    Ok(verdict)
}

fn stop(folder: &Folder, pid: u32) -> Result<(), DownError> {
    let stuck = DownError::Stuck { pid };
    let Some(process) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Err(stuck) };
    let _ = kill_process(process, Signal::TERM);
    for _ in 0..STEPS {
        // Whoever started it may not have asked for its end: then a name without memory is all that is left.
        let is_gone = test_kill_process(process).is_err()
            || std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty());
        if is_gone && !folder.is_up() {
            return Ok(());
        }
        std::thread::park_timeout(STEP);
    }
    Err(stuck)
}
