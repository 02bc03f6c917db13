//! Network namespaces: which there are, and the congestion control that new connections in them get.

use super::sys::namespace_cookie;
use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The default congestion control of a namespace.
const DEFAULT: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Whether TCP negotiates ECN.
const ECN: &str = "/proc/sys/net/ipv4/tcp_ecn";
/// Where `ip netns` keeps names.
const NAMES: &str = "/run/netns";

/// A network namespace. It lives as long as this, whatever becomes of its name and its processes.
#[derive(Clone, Debug)]
pub struct Namespace {
    label: String,
    file: Arc<File>,
    id: [u64; 2],
}

/// Why a namespace cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// No namespace has the name.
    #[error("there is no network namespace {name}: `ip netns list` lists those with names")]
    Unknown {
        /// The name.
        name: String,
    },
    /// It cannot be opened.
    #[error("the network namespace {name} cannot be opened ({source})")]
    Closed {
        /// The name.
        name: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A step in a namespace failed.
    #[error("{namespace}: {task} ({source})")]
    Io {
        /// The namespace.
        namespace: String,
        /// The step that failed.
        task: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Namespace {
    /// That of this process.
    ///
    /// # Errors
    /// If `/proc` is not there.
    pub fn current() -> io::Result<Self> {
        Self::at("this namespace".to_owned(), Path::new("/proc/thread-self/ns/net"))
    }

    /// The one of a name that `ip netns` gave, or of a path.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, NamespaceError> {
        let path = if name.contains('/') { PathBuf::from(name) } else { Path::new(NAMES).join(name) };
        let unknown = || NamespaceError::Unknown { name: name.to_owned() };
        let found = Self::at(name.to_owned(), &path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => unknown(),
            _ => NamespaceError::Closed { name: name.to_owned(), source },
        })?;
        let is_one = Self::current().is_ok_and(|own| own.id[0] == found.id[0]);
        if is_one { Ok(found) } else { Err(unknown()) }
    }

    /// That of the first process. A namespace that is made anew begins with the default of the machine's first one, which is this but
    /// in a container.
    pub(super) fn first() -> io::Result<Self> {
        Self::at("that of process 1".to_owned(), Path::new("/proc/1/ns/net"))
    }

    /// All that are known: this one, those with names, and those of processes.
    #[must_use]
    pub fn all() -> Vec<Self> {
        // Each holds a descriptor.
        let limit = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
        let Ok(own) = Self::current() else { return Vec::new() };
        let device = own.id[0];
        let mut found = vec![own];
        let mut seen: BTreeMap<[u64; 2], ()> = BTreeMap::from([(found[0].id, ())]);
        let of_processes =
            entries("/proc").filter(|(name, _)| name.bytes().all(|byte| byte.is_ascii_digit()));
        let of_processes = of_processes.map(|(pid, path)| {
            let command = fs::read_to_string(path.join("comm")).unwrap_or_default();
            (format!("that of {} ({pid})", command.trim()), path.join("ns/net"))
        });
        for (label, path) in entries(NAMES).chain(of_processes) {
            // A name whose namespace is gone, or a process that has ended, is none.
            let Ok(namespace) = Self::at(label, &path) else { continue };
            if namespace.id[0] == device && seen.insert(namespace.id, ()).is_none() {
                found.push(namespace);
            }
        }
        found
    }

    fn at(label: String, path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        Ok(Self { label, file: Arc::new(file), id: [about.dev(), about.ino()] })
    }

    /// The device and inode by which the kernel knows it while it lives; the next namespace may have them again.
    #[must_use]
    pub const fn id(&self) -> [u64; 2] {
        self.id
    }

    /// The number that no other namespace has until the machine restarts (`SO_NETNS_COOKIE`).
    pub(super) fn cookie(&self) -> Result<u64, NamespaceError> {
        let ask = || namespace_cookie(socket(AddressFamily::INET, SocketType::DGRAM, None)?.as_fd());
        self.inside(ask).and_then(|cookie| cookie).map_err(self.failed("its cookie cannot be read"))
    }

    /// Its file, which can be locked.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Runs `task` on a thread of its own in the namespace: sockets, devices and `/proc/sys/net` are those of the namespace there,
    /// and programs that it starts are in it.
    pub(super) fn inside<T: Send>(&self, task: impl FnOnce() -> T + Send) -> io::Result<T> {
        let enter = || {
            move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))?;
            Ok(task())
        };
        let result = std::thread::scope(|scope| scope.spawn(enter).join());
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The congestion control that new connections get.
    pub(super) fn default_control(&self) -> Result<String, NamespaceError> {
        let read = self.inside(|| fs::read_to_string(DEFAULT)).and_then(|read| read);
        Ok(read.map_err(self.failed("its default congestion control cannot be read"))?.trim().to_owned())
    }

    /// Makes a congestion control the one that new connections get.
    pub(super) fn set_default_control(&self, name: &str) -> io::Result<()> {
        self.inside(|| fs::write(DEFAULT, name))?
    }

    /// Whether TCP negotiates ECN: 0 never, 1 always, 2 if the peer asks.
    pub(super) fn ecn(&self) -> Result<u32, NamespaceError> {
        let read = self.inside(|| fs::read_to_string(ECN)).and_then(|read| read);
        let read = read.and_then(|text| text.trim().parse().map_err(io::Error::other));
        read.map_err(self.failed("its tcp_ecn cannot be read"))
    }

    pub(super) fn set_ecn(&self, value: u32) -> io::Result<()> {
        self.inside(|| fs::write(ECN, value.to_string()))?
    }

    /// An error of a step in this namespace.
    pub(super) fn failed(&self, task: &'static str) -> impl FnOnce(io::Error) -> NamespaceError {
        let namespace = self.label.clone();
        move |source| NamespaceError::Io { namespace, task, source }
    }
}

impl std::fmt::Display for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.label)
    }
}

/// The entries of a folder, in the order of their names.
fn entries(folder: &str) -> impl Iterator<Item = (String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |entry: fs::DirEntry| Some((entry.file_name().into_string().ok()?, entry.path()));
    entries.filter_map(named).collect::<BTreeMap<_, _>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_namespace_is_the_first_and_stands_once() {
        let all = Namespace::all();
        let own = Namespace::current().unwrap();
        assert_eq!(all[0].id(), own.id());
        assert_eq!(all.iter().filter(|other| other.id() == own.id()).count(), 1);
    }

    #[test]
    fn a_namespace_has_one_cookie() {
        if super::super::requirements::root().is_err() {
            farspan_skip::skip("kernel", "only root can enter a namespace, even its own");
            return;
        }
        let cookies = [(); 2].map(|()| Namespace::current().unwrap().cookie().unwrap());
        assert_eq!(cookies[0], cookies[1]);
    }

    #[test]
    fn what_is_no_namespace_is_refused() {
        for name in ["no-such-namespace", "/dev/null"] {
            let error = Namespace::named(name).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("ip netns list"), "{error}");
        }
    }
}
