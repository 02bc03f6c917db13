//! The folder of a command's results: nobody else writes to it meanwhile, and no other results are lost in it.

use super::SaveError;
use farspan_scenario::Resolved;
use farspan_workload::input::{LONGEST_LIST, read_file};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The tables of a run.
const TABLES: [&str; 4] = ["flows.parquet", "ports.parquet", "series.parquet", "collectives.parquet"];
const DOCUMENT: &str = "summary.json";
const SCENARIO: &str = "scenario.toml";
const REPORT: &str = "report.html";
/// Locked while a command writes to the folder. One that was killed leaves it behind, unlocked.
const LOCK: &str = "run.lock";
/// Marks the folder of a sweep, which holds a lock on it.
const SWEEP: &str = ".farspan-store";

/// A run of a command: where its results go, and what they are of.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRun<'a> {
    /// Its folder.
    pub folder: &'a Path,
    /// Its scenario.
    pub resolved: &'a Resolved,
    /// The scheme as its document names it: a control from elsewhere stands in no scenario.
    pub scheme: &'a str,
}

/// A folder that a command writes results to: locked until it is finished or dropped.
#[derive(Debug)]
pub struct ResultFolder {
    lock: PathBuf,
    /// The lock ends with it.
    _file: File,
}

/// Why a command may not write to a folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// Results of something else stand there.
    #[error(
        "{}: has results of {what}, but {difference}. Choose another --out, or replace them with --force (force=True in Python)",
        folder.display()
    )]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// The run that they are of.
        what: String,
        /// The first difference, in words.
        difference: String,
    },
    /// A file stands there that a run would overwrite, and that no run has left.
    #[error(
        "{}: would be overwritten, but no farspan run wrote it. Choose another --out, move it, or replace it with --force \
         (force=True in Python)",
        file.display()
    )]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// The folder belongs to a sweep, which knows its runs by their names.
    #[error("{}: is the folder of a sweep; choose another --out", folder.display())]
    Sweep {
        /// The folder.
        folder: PathBuf,
    },
    /// Something else than a folder stands there.
    #[error("{}: is not a folder; choose another --out", path.display())]
    NoFolder {
        /// Where.
        path: PathBuf,
    },
    /// Another run writes there.
    #[error("{}: another run is writing there{owner}; wait for it, or choose another --out", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Its process, if that is known: ` (process 17)`; or that it is a sweep.
        owner: String,
    },
    /// The file system refuses.
    #[error(transparent)]
    Save(#[from] SaveError),
}

impl FolderError {
    /// Whether another folder would do: bad input, nothing was touched.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::Occupied { .. } | Self::Foreign { .. } | Self::Sweep { .. } | Self::NoFolder { .. }
        )
    }
}

impl ResultFolder {
    /// Locks `root`, which is made if need be, for `runs` and the folders below it that they write to, and removes the
    /// results there. Results of these very runs go; others only if `force`, those of a sweep never.
    ///
    /// # Errors
    /// If something else stands there: nothing is touched then. If another command has the lock, or the file system
    /// refuses.
    pub fn open(root: &Path, runs: &[PlannedRun<'_>], force: bool) -> Result<Self, FolderError> {
        if root.exists() && !root.is_dir() {
            return Err(FolderError::NoFolder { path: root.to_owned() });
        }
        no_sweep(root)?;
        let claim = Claim { root, runs: runs.iter().map(|run| (run.folder, *run)).collect(), force };
        claim.check(Left::of(root))?;
        fs::create_dir_all(root).map_err(|source| SaveError::Io { path: root.to_owned(), source })?;
        let (folder, left) = Self::locked(root)?;
        // What another command has left in between, or is about to write.
        if let Err(error) = claim.check(left).and_then(|()| claim.alone()) {
            if left == Left::Nothing {
                folder.finish();
            }
            return Err(error);
        }
        claim.folders().iter().try_for_each(|folder| clear(folder, root, left))?;
        Ok(folder)
    }

    /// Ends the lock once the results are written. Without it the folder keeps a mark that its run was cut off.
    pub fn finish(self) {
        // While it is locked: who has opened it meanwhile sees that it is gone.
        let _ = fs::remove_file(&self.lock);
    }

    /// The lock, and what stood in its place.
    fn locked(root: &Path) -> Result<(Self, Left), FolderError> {
        let lock = root.join(LOCK);
        let failed = |source| SaveError::Io { path: lock.clone(), source };
        loop {
            let left = Left::of(root);
            let mut options = File::options();
            let mut file =
                options.read(true).write(true).create(true).truncate(false).open(&lock).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(locked(root)),
                Err(TryLockError::Error(source)) => return Err(failed(source).into()),
            }
            // Whoever had it may have removed it between the two.
            if !is_at(&file, &lock) {
                continue;
            }
            let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            written.map_err(failed)?;
            return Ok((Self { lock, _file: file }, left));
        }
    }
}

/// The file in the place of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Left {
    /// Nothing.
    Nothing,
    /// The lock of a command that runs, or that was killed: empty, or the number of its process.
    Lock,
    /// A file of that name that no command has left.
    Foreign,
}

impl Left {
    fn of(root: &Path) -> Self {
        let path = root.join(LOCK);
        match fs::read_to_string(&path) {
            Ok(text) if text.is_empty() || text.trim_end().parse::<u32>().is_ok() => Self::Lock,
            Err(_) if !path.exists() => Self::Nothing,
            // Some systems keep a file that is locked from readers.
            Err(error) if error.kind() != io::ErrorKind::InvalidData && path.is_file() => Self::Lock,
            _ => Self::Foreign,
        }
    }
}

/// The error of a folder that a command has locked.
fn locked(folder: &Path) -> FolderError {
    let text = fs::read_to_string(folder.join(LOCK)).ok();
    let process = text.and_then(|text| text.trim().parse::<u32>().ok());
    let owner = process.map_or_else(String::new, |process| format!(" (process {process})"));
    FolderError::Locked { folder: folder.to_owned(), owner }
}

/// Whether another command has this lock.
fn is_locked(lock: &Path) -> bool {
    File::open(lock).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Refuses the folder of a sweep, and what lies in one.
fn no_sweep(root: &Path) -> Result<(), FolderError> {
    let whole = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
    let Some(folder) = whole.ancestors().take(2).find(|folder| folder.join(SWEEP).is_file()) else {
        return Ok(());
    };
    let folder = folder.to_owned();
    Err(match is_locked(&folder.join(SWEEP)) {
        true => FolderError::Locked { folder, owner: " (a sweep)".to_owned() },
        false => FolderError::Sweep { folder },
    })
}

/// Whether a file that is open still has this name.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    let (open, named) = (file.metadata().map(identity), fs::metadata(path).map(identity));
    matches!((open, named), (Ok(open), Ok(named)) if open == named)
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// The runs of a command, and where they go.
struct Claim<'a> {
    root: &'a Path,
    runs: BTreeMap<&'a Path, PlannedRun<'a>>,
    force: bool,
}

impl Claim<'_> {
    /// The folders in which results may stand that this command replaces.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let planned = self.runs.keys().map(|folder| (*folder).to_owned());
        [self.root.to_owned()].into_iter().chain(seeds(self.root)).chain(planned).collect()
    }

    /// Refuses if another command has the lock of several seeds around this folder, or of one of them in it.
    fn alone(&self) -> Result<(), FolderError> {
        let whole = fs::canonicalize(self.root).unwrap_or_else(|_| self.root.to_owned());
        let above = whole.parent().filter(|_| whole.file_name().is_some_and(is_seed)).map(Path::to_owned);
        let below = self.folders().into_iter().filter(|folder| folder != self.root);
        match above.into_iter().chain(below).find(|folder| is_locked(&folder.join(LOCK))) {
            Some(folder) => Err(locked(&folder)),
            None => Ok(()),
        }
    }

    /// Refuses what may not be replaced. What a killed command has left is no result.
    fn check(&self, left: Left) -> Result<(), FolderError> {
        if self.force {
            return Ok(());
        }
        if left == Left::Foreign {
            return Err(FolderError::Foreign { file: self.root.join(LOCK) });
        }
        let mut standing = 0;
        for folder in self.folders() {
            let document = document(&folder);
            let run = self.runs.get(folder.as_path()).copied();
            match kind(document.as_ref()) {
                DocumentKind::Run => {
                    standing += 1;
                    self.same(&folder, document.as_ref(), run)?;
                }
                DocumentKind::Seeds => {}
                DocumentKind::None if left == Left::Lock && was_begun(&folder) => {}
                DocumentKind::None => self.foreign(&folder, run)?,
            }
        }
        let whole = document(self.root).filter(|document| kind(Some(document)) == DocumentKind::Seeds);
        let whole = whole.filter(|document| document["partial"] != true);
        match whole {
            Some(document) if standing > 0 && standing < self.runs.len() => Err(FolderError::Occupied {
                folder: self.root.to_owned(),
                what: named(&document["runs"][0], &document),
                difference: format!(
                    "they are of {standing} seeds, and this command runs {}",
                    self.runs.len()
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses the results in a folder unless they are those of the run that goes there.
    fn same(
        &self,
        folder: &Path,
        document: Option<&Value>,
        run: Option<PlannedRun<'_>>,
    ) -> Result<(), FolderError> {
        let difference = match run {
            None => Some(match self.runs.len() {
                1 => "this command writes a single run".to_owned(),
                seeds => format!("this command writes {seeds} other runs"),
            }),
            Some(run) => {
                let there = text_of(&folder.join(SCENARIO)).unwrap_or_default();
                let here = run.resolved.to_toml();
                let scheme = document.and_then(|document| document["scheme"].as_str()).unwrap_or_default();
                let control = || format!("their scheme is {scheme:?} and this run's is {:?}", run.scheme);
                match there == here {
                    true => (scheme != run.scheme).then(control),
                    false => Some(difference(&there, &here)),
                }
            }
        };
        let Some(difference) = difference else { return Ok(()) };
        let document = document.cloned().unwrap_or_default();
        Err(FolderError::Occupied {
            folder: folder.to_owned(),
            what: named(&document, &document),
            difference,
        })
    }

    /// Whether all runs of a command that has each in a folder below its own are there: a report beside them is theirs.
    fn stand_below(&self) -> bool {
        let stands = |folder: &&Path| kind(document(folder).as_ref()) == DocumentKind::Run;
        !self.runs.is_empty() && !self.runs.contains_key(self.root) && self.runs.keys().all(stands)
    }

    /// Refuses a file that would be overwritten.
    fn foreign(&self, folder: &Path, run: Option<PlannedRun<'_>>) -> Result<(), FolderError> {
        let is_root = folder == self.root;
        let is_own_report = |name: &&str| *name == REPORT && is_root && self.stand_below();
        let page = [DOCUMENT, REPORT].into_iter().filter(|_| is_root || run.is_some());
        let page = page.filter(|name| !is_own_report(name));
        let rest = TABLES.into_iter().chain([SCENARIO]).filter(|_| run.is_some());
        let found = page.chain(rest).find(|name| {
            let own = || run.map(|run| run.resolved.to_toml()) == text_of(&folder.join(name));
            folder.join(name).exists() && !(*name == SCENARIO && own())
        });
        found.map_or(Ok(()), |name| Err(FolderError::Foreign { file: folder.join(name) }))
    }
}

/// The subfolders of the runs of several seeds.
fn seeds(folder: &Path) -> Vec<PathBuf> {
    let seed = |entry: &fs::DirEntry| {
        is_seed(&entry.file_name()) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    fs::read_dir(folder).into_iter().flatten().flatten().filter(seed).map(|entry| entry.path()).collect()
}

fn is_seed(name: &OsStr) -> bool {
    name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse::<u64>().ok()).is_some()
}

/// Whether a run has begun to write its results here: it puts its scenario first, every default spelled out.
fn was_begun(folder: &Path) -> bool {
    let text = text_of(&folder.join(SCENARIO)).unwrap_or_default();
    let keys = keys(&text);
    FIRST.iter().all(|key| keys.contains_key(*key))
}

/// Kinds of documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DocumentKind {
    /// The document of a run.
    Run,
    /// The document of several seeds.
    Seeds,
    /// None, or none of ours.
    None,
}

fn kind(document: Option<&Value>) -> DocumentKind {
    let Some(document) = document else { return DocumentKind::None };
    if document.get("farspan_version").is_some() {
        DocumentKind::Run
    } else if document.get("runs").is_some_and(Value::is_array) {
        DocumentKind::Seeds
    } else {
        DocumentKind::None
    }
}

/// The text of a file that a run may have left.
fn text_of(file: &Path) -> Option<String> {
    String::from_utf8(read_file(file, LONGEST_LIST).ok()?).ok()
}

fn document(folder: &Path) -> Option<Value> {
    let text = text_of(&folder.join(DOCUMENT))?;
    serde_json::from_str(&text).ok()
}

/// A run in words: `uno/steady, scheme uno, profile paper, seed 1`.
fn named(run: &Value, document: &Value) -> String {
    let text = |key: &str| run[key].as_str().unwrap_or("?").to_owned();
    let seeds = match document["runs"].as_array() {
        Some(runs) => {
            format!("seeds {}", runs.iter().map(|run| run["seed"].to_string()).collect::<Vec<_>>().join(" "))
        }
        None => format!("seed {}", run["seed"]),
    };
    let partial = if run["partial"] == true { ", partial" } else { "" };
    format!("{}, scheme {}, profile {}, {seeds}{partial}", text("scenario"), text("scheme"), text("profile"))
}

/// The keys that weigh most, in which two scenarios are likely to differ.
const FIRST: [&str; 4] = ["name", "scheme.name", "scheme.profile", "seed"];

/// The first difference between two resolved scenarios, in words.
fn difference(there: &str, here: &str) -> String {
    let [there, here] = [keys(there), keys(here)];
    let all = || there.keys().chain(here.keys()).map(String::as_str);
    let differs = |key: &&str| there.get(*key) != here.get(*key);
    let Some(key) = FIRST.into_iter().chain(all()).find(differs) else {
        return "their scenario is written differently".to_owned();
    };
    let value = |keys: &BTreeMap<String, String>| keys.get(key).map_or("missing", String::as_str).to_owned();
    format!("their {key} is {} and this run's is {}", value(&there), value(&here))
}

/// The values of a scenario by path; none if it is no TOML.
fn keys(scenario: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    flatten("", &toml::Value::Table(scenario.parse().unwrap_or_default()), &mut keys);
    keys
}

fn flatten(path: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&farspan_scenario::table::join(path, key), value, keys);
            }
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            (0..).zip(items).for_each(|(i, item): (usize, _)| flatten(&format!("{path}[{i}]"), item, keys));
        }
        other => drop(keys.insert(path.to_owned(), other.to_string())),
    }
}

/// Removes the results in a folder: before the tables the document, without which nothing is a result. Only what runs write
/// goes, and only beside their document, or beside their scenario where one was cut off.
fn clear(folder: &Path, root: &Path, left: Left) -> Result<(), SaveError> {
    let cut_off = left == Left::Lock && was_begun(folder);
    if kind(document(folder).as_ref()) == DocumentKind::None && !cut_off {
        return Ok(());
    }
    remove(&folder.join(REPORT))?;
    remove(&folder.join(DOCUMENT))?;
    TABLES.into_iter().try_for_each(|name| remove(&folder.join(name)))?;
    for name in TABLES.into_iter().chain([REPORT, DOCUMENT, SCENARIO]) {
        let path = folder.join(name);
        farspan_files::remove_partial(&path).map_err(|source| SaveError::Io { path, source })?;
    }
    let traces = folder.join("trace");
    for entry in fs::read_dir(&traces).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "ports.pcapng" || (name.starts_with("flow-") && name.ends_with(".sqlog")) {
            remove(&entry.path())?;
        }
    }
    let _ = fs::remove_dir(traces);
    if folder != root {
        // At the top it may be what the user runs; below, it is a run's.
        remove(&folder.join(SCENARIO))?;
        // Whoever put more into it keeps it.
        let _ = fs::remove_dir(folder);
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), SaveError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SaveError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
