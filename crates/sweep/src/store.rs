//! A folder of runs, each in a folder named by what it is.

use crate::point::{Point, identity};
use crate::program::Program;
use farspan_scenario::{BuiltIn, Resolved};
use farspan_units::random;
use serde_json::Value;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The file that makes a folder a store; who writes to the store holds a lock on it.
const MARK: &str = ".farspan-store";
/// The file of the sweep that a store is of.
const FILE: &str = "sweep.toml";
/// The folder of runs under way.
const UNDER_WAY: &str = ".under-way";

/// Why a folder cannot be used as a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The folder holds something else.
    #[error(
        "{}: has files that no sweep wrote, such as {found:?}; choose a new folder, or an empty one",
        path.display()
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// One of the files.
        found: String,
    },
    /// It is a file.
    #[error("{}: this is a file, but the runs need a folder; choose another path", path.display())]
    File {
        /// The file.
        path: PathBuf,
    },
    /// Another command writes to it.
    #[error("{}: another sweep is writing to this folder; wait until it ends, or choose another folder", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
    },
    /// The file system refuses.
    #[error("{}: cannot be written ({source}); choose another folder, or free disk space", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

/// Why a run that ended well is not kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepError {
    /// It did not run to its end.
    #[error("it exited without an error, but left no complete result")]
    Partial,
    /// It read its scenario at its own start, and found another one than the sweep has resolved.
    #[error(
        "its scenario has changed since the sweep began; do not edit the files of a sweep while it runs, and start it again"
    )]
    Changed,
    /// The store cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl StoreError {
    /// Whether another folder would do: bad input, nothing was touched.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::File { .. })
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
    /// The folder of what `name` names, unless another is given: a file's name without its ending, beside the file, or the
    /// name of a built-in scenario. Of the file that a store holds itself, it is that store.
    #[must_use]
    pub fn default_folder(name: &str) -> PathBuf {
        if BuiltIn::named(name).is_some() {
            return PathBuf::from(plain(name));
        }
        let path = Path::new(name);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.file_name().is_some_and(|name| name == FILE) && folder.join(MARK).exists() {
            return folder.to_owned();
        }
        path.with_extension("")
    }

    /// Opens a store or makes it, locks it, and clears away what killed runs left.
    ///
    /// # Errors
    /// If the folder holds something else, another command writes to it, or the file system refuses.
    pub fn open(root: &Path, program: &Program) -> Result<Self, StoreError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| StoreError::Io { path, source }
        };
        if root.is_file() {
            return Err(StoreError::File { path: root.to_owned() });
        }
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
        self.name(resolved, identity(resolved))
    }

    /// The name of a point's run.
    pub(crate) fn name_of_point(&self, point: &Point) -> String {
        self.name(&point.resolved, point.identity())
    }

    fn name(&self, resolved: &Resolved, identity: u64) -> String {
        let hash = random::entity(&format!("{} {identity:016x}", self.program.id));
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
        self.read(&self.name_of(resolved))
    }

    /// Whether there is a document of a point's run; it is not read.
    #[must_use]
    pub fn has(&self, point: &Point) -> bool {
        self.root.join(self.name_of_point(point)).join("summary.json").is_file()
    }

    /// The document of the run of this name, if it is there whole.
    pub(crate) fn read(&self, name: &str) -> Option<Value> {
        document(&self.root.join(name))
    }

    /// A new folder for a run under way.
    pub(crate) fn begin(&self, name: &str) -> Result<PathBuf, StoreError> {
        let folder = self.root.join(UNDER_WAY).join(name);
        let made = remove(&folder).and_then(|()| fs::create_dir_all(&folder));
        made.map_err(|source| StoreError::Io { path: folder.clone(), source })?;
        Ok(folder)
    }

    /// Gives a whole run of this scenario its name; gives its document.
    pub(crate) fn keep(&self, under_way: &Path, name: &str, run: &Resolved) -> Result<Value, KeepError> {
        let document = document(under_way).ok_or(KeepError::Partial)?;
        if fs::read_to_string(under_way.join("scenario.toml")).ok() != Some(run.to_toml()) {
            return Err(KeepError::Changed);
        }
        let folder = self.root.join(name);
        let old = self.root.join(UNDER_WAY).join(format!("{name}.old"));
        let aside = match fs::rename(&folder, &old) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        let kept = aside.and_then(|()| fs::rename(under_way, &folder)).and_then(|()| remove(&old));
        kept.map_err(|source| StoreError::Io { path: folder, source })?;
        Ok(document)
    }

    /// Removes what a failed run has written; `error` is what it said.
    ///
    /// # Errors
    /// If it failed for want of room, as others would.
    pub(crate) fn discard(&self, under_way: &Path, error: &str) -> Result<(), StoreError> {
        let room = match FULL.iter().find(|words| error.contains(**words)) {
            Some(words) => Err(io::Error::new(io::ErrorKind::StorageFull, *words)),
            None => Ok(()),
        };
        let removed = remove(under_way);
        room.and(removed).map_err(|source| StoreError::Io { path: self.root.clone(), source })
    }

    /// Removes what runs under way have written.
    pub(crate) fn clear(&self) -> Result<(), StoreError> {
        let folder = self.root.join(UNDER_WAY);
        remove(&folder).map_err(|source| StoreError::Io { path: folder, source })
    }
}

/// The operating system's words for a full disk.
const FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

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

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_scenario::Request;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("farspan-store-{}-{name}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn program(id: &str) -> Program {
        Program::new(vec!["farspan".into(), id.into()], &[]).unwrap()
    }

    fn resolved(request: &Request) -> Resolved {
        request.resolve().unwrap()
    }

    fn incast() -> Request {
        Request { seed: Some(3), ..Request::new("uno/incast-mixed") }
    }

    #[test]
    fn a_folder_of_someone_else_is_left_alone() {
        let folder = Folder::new("foreign");
        fs::write(folder.0.join("thesis.tex"), "").unwrap();
        let error = Store::open(&folder.0, &program("a")).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("thesis.tex"), "{error}");
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1);
    }

    #[test]
    fn a_folder_is_named_after_what_is_run() {
        let folder = |name: &str| Store::default_folder(name).display().to_string();
        assert_eq!(folder("uno/incast-mixed"), "uno-incast-mixed");
        assert_eq!(folder("dir/buffers.toml"), "dir/buffers");
        let own = Folder::new("again");
        let file = own.0.join("sweep.toml");
        assert_eq!(Store::default_folder(&file.display().to_string()), own.0.join("sweep"));
        drop(Store::open(&own.0, &program("a")).unwrap());
        assert_eq!(Store::default_folder(&file.display().to_string()), own.0);
    }

    #[test]
    fn one_command_at_a_time_writes() {
        let folder = Folder::new("locked");
        let first = Store::open(&folder.0, &program("a")).unwrap();
        let error = Store::open(&folder.0, &program("a")).unwrap_err();
        assert!(matches!(error, StoreError::Locked { .. }) && !error.is_bad_input());
        drop(first);
        Store::open(&folder.0, &program("a")).unwrap();
    }

    #[test]
    fn a_name_is_what_the_run_is() {
        let folder = Folder::new("name");
        let store = Store::open(&folder.0, &program("a")).unwrap();
        let name = store.name_of(&resolved(&incast()));
        assert!(name.starts_with("uno-incast-mixed-uno-paper-s3-"), "{name}");
        assert_eq!(name, store.name_of(&resolved(&incast())));
        let set = vec!["topology.k=4".to_owned()];
        assert_ne!(name, store.name_of(&resolved(&Request { set, ..incast() })));
        let scheme = Some("unocc+plb+mds(8,2)".to_owned());
        let odd = store.name_of(&resolved(&Request { scheme, ..incast() }));
        assert!(odd.contains("-unocc+plb+mds-8-2--paper-s3-"), "{odd}");
        drop(store);
        assert_ne!(name, Store::open(&folder.0, &program("b")).unwrap().name_of(&resolved(&incast())));
    }

    #[test]
    fn a_run_of_another_scenario_does_not_get_the_name() {
        let folder = Folder::new("changed");
        let store = Store::open(&folder.0, &program("a")).unwrap();
        let run = resolved(&incast());
        let name = store.name_of(&run);
        let under_way = store.begin(&name).unwrap();
        fs::write(under_way.join("summary.json"), "{\"partial\": false}").unwrap();
        fs::write(under_way.join("scenario.toml"), run.with_seed(4).to_toml()).unwrap();
        assert!(matches!(store.keep(&under_way, &name, &run), Err(KeepError::Changed)));
        assert!(store.finished(&run).is_none());
    }

    #[test]
    fn a_run_without_room_is_the_end() {
        let folder = Folder::new("full");
        let store = Store::open(&folder.0, &program("a")).unwrap();
        let discard = |error: &str| store.discard(&store.begin("run").unwrap(), error);
        discard("topology.k: 7 is odd").unwrap();
        let error = discard("flows.parquet: cannot be written (No space left on device (os error 28))");
        assert!(error.unwrap_err().to_string().contains("free disk space"));
        assert!(!folder.0.join(UNDER_WAY).join("run").exists());
    }

    #[test]
    fn only_a_whole_run_is_finished() {
        let folder = Folder::new("whole");
        let store = Store::open(&folder.0, &program("a")).unwrap();
        let run = resolved(&incast());
        let name = store.name_of(&run);
        for (summary, whole) in [("{\"partial\": true}", false), ("{", false), ("{\"partial\": false}", true)]
        {
            let under_way = store.begin(&name).unwrap();
            fs::write(under_way.join("summary.json"), summary).unwrap();
            fs::write(under_way.join("scenario.toml"), run.to_toml()).unwrap();
            assert!(store.finished(&run).is_none());
            assert_eq!(store.keep(&under_way, &name, &run).is_ok(), whole);
        }
        assert!(store.finished(&run).is_some());
        store.begin("another").unwrap();
        drop(store);
        let store = Store::open(&folder.0, &program("a")).unwrap();
        assert!(store.finished(&run).is_some() && !folder.0.join(UNDER_WAY).exists());
    }
}
