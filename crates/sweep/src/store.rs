//! A folder of runs, each in a folder named by what it is.

use crate::program::Program;
use farspan_scenario::Resolved;
use farspan_units::random;
use serde_json::Value;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The file that makes a folder a store; who writes to the store holds a lock on it.
const MARK: &str = ".farspan-store";
/// The folder of runs under way.
const UNDER_WAY: &str = ".under-way";

/// Why a folder cannot be used as a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder holds something else.
    #[error(
        "{}: holds files that no sweep wrote, such as {found:?}; give another --out, or an empty folder",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// Another command writes to it.
    #[error("{}: another sweep writes to this folder; wait for its end, or give another --out", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file system refuses.
    #[error("{}: cannot be written ({source}); choose another --out, or make room", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl StoreError {
    /// Whether another folder would do: bad input, nothing was touched.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Foreign { .. })
    }
}

/// A folder of runs, locked: one command at a time writes to it.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    program: Program,
    /// Unlocked when it is closed, however the process ends.
    _lock: File,
}

impl Store {
    /// Opens a store or makes it, locks it, and clears away what killed runs left.
    ///
    /// # Errors
    /// If the folder holds something else, another command writes to it, or the file system refuses.
    pub fn open(root: &Path, program: &Program) -> Result<Self, StoreError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        fs::create_dir_all(root).map_err(io(root))?;
        let mark = root.join(MARK);
        if !mark.exists()
            && let Some(entry) = fs::read_dir(root).map_err(io(root))?.flatten().next()
            && entry.file_name() != MARK
        {
            let found = entry.file_name().to_string_lossy().into_owned();
            return Err(StoreError::Foreign { path: root.to_owned(), found });
        }
        let lock = File::options().create(true).append(true).open(&mark).map_err(io(&mark))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StoreError::Locked { path: root.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(StoreError::Io { path: mark, source }),
        }
        let store = Self { root: root.to_owned(), program: program.clone(), _lock: lock };
        store.clear()?;
        Ok(store)
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The program whose runs it holds.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// The name of a run: `NAME-SCHEME-PROFILE-sSEED-HASH`, the hash over the resolved scenario and the program.
    #[must_use]
    pub fn name_of(&self, resolved: &Resolved) -> String {
        let hash = random::entity(&format!("{}\n{}", self.program.id, resolved.to_toml()));
        let name = [resolved.name(), resolved.scheme(), resolved.profile().name()].map(plain).join("-");
        format!("{name}-s{}-{hash:016x}", resolved.seed())
    }

    /// Where the results of a run are, once they are whole.
    #[must_use]
    pub fn folder_of(&self, resolved: &Resolved) -> PathBuf {
        self.root.join(self.name_of(resolved))
    }

    /// The document of a run that is there whole.
    #[must_use]
    pub fn finished(&self, resolved: &Resolved) -> Option<Value> {
        document(&self.folder_of(resolved))
    }

    /// A new folder for a run under way.
    pub(crate) fn begin(&self, name: &str) -> Result<PathBuf, StoreError> {
        let folder = self.root.join(UNDER_WAY).join(name);
        let made = remove(&folder).and_then(|()| fs::create_dir_all(&folder));
        made.map_err(|source| StoreError::Io { path: folder.clone(), source })?;
        Ok(folder)
    }

    /// Gives a whole run its name; gives its document.
    pub(crate) fn keep(&self, under_way: &Path, name: &str) -> Result<Option<Value>, StoreError> {
        let Some(document) = document(under_way) else { return Ok(None) };
        let folder = self.root.join(name);
        let kept = remove(&folder).and_then(|()| fs::rename(under_way, &folder));
        kept.map_err(|source| StoreError::Io { path: folder, source })?;
        Ok(Some(document))
    }

    /// Removes what runs under way have written.
    pub(crate) fn clear(&self) -> Result<(), StoreError> {
        let folder = self.root.join(UNDER_WAY);
        remove(&folder).map_err(|source| StoreError::Io { path: folder, source })
    }
}

/// How often a folder is removed anew: a worker that has just lost its parent may put one more file into it.
const ATTEMPTS: u32 = 100;

/// Removes a folder, if it is there.
fn remove(folder: &Path) -> io::Result<()> {
    let mut result = Ok(());
    for _ in 0..ATTEMPTS {
        result = match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other,
        };
        match &result {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => break,
        }
    }
    result
}

/// The document of a run in a folder, if it ran to its end.
fn document(folder: &Path) -> Option<Value> {
    let text = fs::read_to_string(folder.join("summary.json")).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    (document.get("partial") == Some(&Value::Bool(false))).then_some(document)
}

/// The longest part of a folder's name.
const LONGEST: usize = 60;

/// A name as a part of a folder's name.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+".contains(c) { c } else { '-' };
    name.chars().take(LONGEST).map(plain).collect()
}
