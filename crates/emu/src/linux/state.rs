//! The files that an emulation leaves in its folder while it is up, for the commands that ask for it.

use super::name::{Name, Namespace};
use farspan_metrics::Emulation;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;

/// How often, and how long after each other, a lock is asked for before it counts as another's.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(10);
/// How often a process that was killed is looked for before nobody waits for its end any more.
const ENDING_TRIES: u32 = 1000;

const FACTS: &str = "emulation.json";
const STATE: &str = "state.json";
const VERDICT: &str = "verdict.json";

/// A host of an emulation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name in the topology.
    pub name: String,
    /// Its network namespace, as `ip netns` knows it.
    pub namespace: String,
    /// Its IPv4 address.
    pub v4: String,
    /// Its IPv6 address; `None`: packets are too small for IPv6.
    pub v6: Option<String>,
}

/// The facts of an emulation.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// The process that moves its packets.
    pub pid: u32,
    /// The scenario.
    pub scenario: String,
    /// The scheme, which says how ports are built.
    pub scheme: String,
    /// The seed.
    pub seed: u64,
    /// The MTU of every host, bytes.
    pub mtu: u64,
    /// The folder of the results, if they are kept.
    pub out: Option<PathBuf>,
    /// The processor that is its own; `None`: the machine has one alone.
    pub processor: Option<usize>,
    /// Whether its thread can run under SCHED_FIFO; `false`: the system refuses, and it will be late more often.
    pub is_real_time: bool,
    /// Whether packets wait at their hosts for the links, where the kernel sees them; `false`: the kernel has no HTB.
    pub has_host_queues: bool,
    /// The shortest RTT of two hosts, microseconds: how late it may be follows from it.
    pub shortest_rtt_us: f64,
    /// The hosts, by number.
    pub hosts: Vec<HostFacts>,
}

/// The verdict on an emulation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether its results are void.
    pub void: bool,
    /// Why, if they are.
    pub reasons: Vec<String>,
    /// In words, for who is to read it.
    pub summary: String,
    /// Why results could not be written, if they could not.
    pub unwritten: Option<String>,
}

/// The folder of an emulation, and its lock.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    lock: PathBuf,
}

/// The lock of an emulation, held by who makes, runs or clears it. It ends with its process, or when it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    file: File,
    path: PathBuf,
    /// Who held it before, if it has not been removed since.
    pub(super) before: Option<u32>,
}

impl Held {
    /// Says which process it is that holds it.
    fn sign(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        write!(self.file, "{}", std::process::id())
    }

    /// The lock is needed no more: its file goes while it is held, so that nobody else has it.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Whether a process has ended, or is ending: one without memory runs no more. Its parent may never ask for its end.
pub(super) fn is_ending(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |line| line.is_empty())
}

/// Whether a process that is ending may still have files: its last thread closes them before it becomes a zombie.
fn has_files(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which may have any letters.
    let is_zombie = stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
    threads > 1 || (threads == 1 && !is_zombie)
}

impl Folder {
    pub(super) fn of(name: &Name) -> Self {
        Self { path: name.folder(), lock: name.lock() }
    }

    /// Takes the lock; `None`: another process has it.
    pub(super) fn hold(&self) -> io::Result<Option<Held>> {
        let (path, mut tries) = (self.lock.clone(), TRIES);
        loop {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let file = match File::options().read(true).write(true).create(true).truncate(false).open(&path) {
                // The last emulation has gone meanwhile, and the folder of all of them with it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries > 0 => {
                    tries -= 1;
                    continue;
                }
                other => other?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if tries == 0 => return Ok(None),
                // Who only asks whether it is up holds it for a moment.
                Err(TryLockError::WouldBlock) => {
                    tries -= 1;
                    std::thread::park_timeout(PAUSE);
                    continue;
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // Who held it before may have removed the file in between: then this is the lock of nothing.
            let is_there = fs::metadata(&path).is_ok_and(|there| {
                file.metadata().is_ok_and(|here| (here.dev(), here.ino()) == (there.dev(), there.ino()))
            });
            if is_there {
                let mut held = Held { file, path, before: self.holder() };
                held.sign()?;
                return Ok(Some(held));
            }
        }
    }

    /// Makes the folder anew, but for the log: what an emulation that was killed has left says nothing of the next.
    pub(super) fn begin(&self) -> io::Result<()> {
        fs::create_dir_all(&self.path)?;
        for file in [FACTS, STATE, VERDICT] {
            match fs::remove_file(self.path.join(file)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// The process that holds the lock now, or held it last; `None`: nobody has signed.
    pub(super) fn holder(&self) -> Option<u32> {
        fs::read_to_string(&self.lock).ok()?.parse().ok()
    }

    /// Whether a process moves packets for it, or is about to. One that was killed does not, even while it still has the lock.
    pub(super) fn is_up(&self) -> bool {
        let lock = File::open(&self.lock);
        let is_held = lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
        is_held && !self.holder().is_some_and(is_ending)
    }

    /// Waits until a process that was killed has let go of its locks: the kernel takes its devices away before, which lasts.
    pub(super) fn settle(&self) {
        for _ in 0..ENDING_TRIES {
            if !self.holder().is_some_and(|pid| is_ending(pid) && has_files(pid)) {
                return;
            }
            std::thread::park_timeout(PAUSE);
        }
    }

    pub(super) fn facts(&self) -> io::Result<Facts> {
        self.read(FACTS)
    }

    pub(super) fn write_facts(&self, facts: &Facts) -> io::Result<()> {
        self.write(FACTS, facts)
    }

    /// The emulation's own last words on itself.
    pub(super) fn state(&self) -> io::Result<serde_json::Value> {
        self.read(STATE)
    }

    pub(super) fn write_state(&self, state: &Emulation) -> io::Result<()> {
        self.write(STATE, state)
    }

    pub(super) fn verdict(&self) -> io::Result<Verdict> {
        self.read(VERDICT)
    }

    pub(super) fn write_verdict(&self, verdict: &Verdict) -> io::Result<()> {
        self.write(VERDICT, verdict)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self, file: &str) -> io::Result<T> {
        let text = fs::read_to_string(self.path.join(file))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Whole once it has its name.
    fn write<T: Serialize>(&self, file: &str, value: &T) -> io::Result<()> {
        let (path, partial) = (self.path.join(file), self.path.join(format!("{file}.partial")));
        fs::write(&partial, serde_json::to_string_pretty(value)?)?;
        fs::rename(partial, path)
    }
}

impl Facts {
    /// The number of the host with this name or number.
    pub(super) fn host(&self, wanted: &str) -> Option<usize> {
        let by_name = self.hosts.iter().position(|host| host.name == wanted);
        let digits = wanted.strip_prefix("host").unwrap_or(wanted);
        // As it is printed: no sign, no zeros before it.
        let number = || digits.parse().ok().filter(|number: &usize| number.to_string() == digits);
        by_name.or_else(|| number().filter(|number| *number < self.hosts.len()))
    }

    /// The text of `/etc/hosts` for every host: `host0`, `host1`, ... and the names of the topology.
    pub(super) fn names(&self) -> String {
        let mut text = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n".to_owned();
        for (number, host) in self.hosts.iter().enumerate() {
            let alias = format!("host{number}");
            let names = if host.name == alias { alias } else { format!("{alias} {}", host.name) };
            for address in [Some(&host.v4), host.v6.as_ref()].into_iter().flatten() {
                text += &format!("{address} {names}\n");
            }
        }
        text
    }

    pub(super) fn namespaces(&self, name: &Name) -> Vec<Namespace> {
        (0..self.hosts.len() as u32).map(|host| name.namespace(host)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(names: &[&str]) -> Facts {
        let host = |(number, name): (usize, &&str)| HostFacts {
            name: (*name).to_owned(),
            namespace: format!("farspan-x-{number}"),
            v4: format!("10.0.0.{}", number + 1),
            v6: (number == 0).then(|| "fd66:6172:7370::1".to_owned()),
        };
        Facts {
            name: "x".to_owned(),
            pid: 1,
            scenario: "s".to_owned(),
            scheme: "uno".to_owned(),
            seed: 1,
            mtu: 1500,
            out: None,
            processor: None,
            is_real_time: true,
            has_host_queues: true,
            shortest_rtt_us: 20_000.0,
            hosts: names.iter().enumerate().map(host).collect(),
        }
    }

    #[test]
    fn a_host_is_found_by_name_and_by_number() {
        let facts = facts(&["host0", "gpu", "host2"]);
        assert_eq!(facts.host("gpu"), Some(1));
        assert_eq!((facts.host("host1"), facts.host("1"), facts.host("2")), (Some(1), Some(1), Some(2)));
        assert_eq!((facts.host("3"), facts.host("host3"), facts.host("cpu")), (None, None, None));
        assert_eq!((facts.host("+1"), facts.host("host001")), (None, None));
        assert!(
            facts
                .names()
                .ends_with("10.0.0.1 host0\nfd66:6172:7370::1 host0\n10.0.0.2 host1 gpu\n10.0.0.3 host2\n")
        );
    }
}
