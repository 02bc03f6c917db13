//! The pins of a control in the BPF file system: a folder with the link that keeps it registered.

use crate::Name;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the BPF file system stands.
pub(super) const BPFFS: &str = "/sys/fs/bpf";

/// Where farspan keeps its pins.
pub(super) fn folder() -> PathBuf {
    Path::new(BPFFS).join("farspan")
}

/// The pins of a control.
#[derive(Clone, Debug)]
pub(super) struct Pins {
    folder: PathBuf,
}

/// How often, and how long after each other, a lock is asked for before it counts as another's.
const TRIES: u32 = 600;
const PAUSE: Duration = Duration::from_millis(50);

/// Waits until no other command changes what is installed; that lasts as long as the file is open, and no longer than its process.
pub(super) fn lock() -> io::Result<File> {
    let folder = File::open(BPFFS)?;
    wait_for(&folder)?;
    Ok(folder)
}

/// Takes the lock of a file, and waits half a minute for one that another command has.
pub(super) fn wait_for(file: &File) -> io::Result<()> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => std::thread::park_timeout(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "another farspan command has held its lock for half a minute: try again when it has ended",
    ))
}

impl Pins {
    fn root() -> PathBuf {
        folder().join("tcp")
    }

    pub(super) fn of(name: &Name) -> Self {
        Self { folder: Self::root().join(name.as_str()) }
    }

    /// The controls that have pins.
    pub(super) fn names() -> Vec<Name> {
        let entries = fs::read_dir(Self::root()).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        names.sort();
        names
    }

    /// The link: a control is installed where it is there.
    pub(super) fn link(&self) -> PathBuf {
        self.folder.join("link")
    }

    /// Whether anything of it is there.
    pub(super) fn is_there(&self) -> bool {
        self.folder.exists()
    }

    /// Makes the folder; what a killed loader left of it goes.
    pub(super) fn create(&self) -> io::Result<()> {
        self.remove()?;
        fs::create_dir_all(&self.folder)
    }

    /// Removes all of it.
    pub(super) fn remove(&self) -> io::Result<()> {
        gone(fs::remove_file(self.link()))?;
        gone(fs::remove_dir(&self.folder))?;
        // The last control takes the folders above with it; where others are, they stay.
        let _ = fs::remove_dir(Self::root());
        let _ = fs::remove_dir(folder());
        Ok(())
    }
}

/// Nothing to remove is no error.
pub(super) fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}
