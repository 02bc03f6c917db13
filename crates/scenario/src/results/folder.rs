//! The folder of a command's results: nobody else writes to it meanwhile, and no other results are lost in it.

use super::SaveError;
use crate::resolve::Resolved;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
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
        "{}: holds results of {what}; {difference}. Choose another --out; --force (force=True in Python) replaces them",
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
        "{}: would be overwritten, and no run of farspan has left it. Choose another --out, or move it; --force \
         (force=True in Python) replaces it",
        file.display()
    )]
    Foreign {
        /// The file.
        file: PathBuf,
    },
    /// Another run writes there.
    #[error("{}: another run writes there{owner}; wait for it, or choose another --out", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
        /// Its process, if that is known: ` (process 17)`.
        owner: String,
    },
    /// The file system refuses.
    #[error(transparent)]
    Save(#[from] SaveError),
}

impl ResultFolder {
    /// Locks `root`, which is made if need be, for `runs` and the folders below it that they write to, and removes the
    /// results there. Results of these very runs go; others only if `force`.
    ///
    /// # Errors
    /// If something else stands there: nothing is touched then. If another command has the lock, or the file system
    /// refuses.
    pub fn open(root: &Path, runs: &[(&Path, &Resolved)], force: bool) -> Result<Self, FolderError> {
        let claim = Claim { root, runs: runs.iter().copied().collect(), force };
        claim.check(root.join(LOCK).exists())?;
        fs::create_dir_all(root).map_err(|source| SaveError::Io { path: root.to_owned(), source })?;
        let (folder, killed) = Self::locked(root)?;
        // What another command has left in between.
        if let Err(error) = claim.check(killed) {
            if !killed {
                folder.finish();
            }
            return Err(error);
        }
        claim.folders().iter().try_for_each(|folder| clear(folder, root, killed))?;
        Ok(folder)
    }

    /// Ends the lock once the results are written. Without it the folder keeps a mark that its run was cut off.
    pub fn finish(self) {
        // While it is locked: who has opened it meanwhile sees that it is gone.
        let _ = fs::remove_file(&self.lock);
    }

    /// The lock, and whether a killed command had left it.
    fn locked(root: &Path) -> Result<(Self, bool), FolderError> {
        let lock = root.join(LOCK);
        let failed = |source| SaveError::Io { path: lock.clone(), source };
        loop {
            let killed = lock.exists();
            let mut options = File::options();
            let mut file =
                options.read(true).write(true).create(true).truncate(false).open(&lock).map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let process =
                        fs::read_to_string(&lock).ok().and_then(|text| text.trim().parse::<u32>().ok());
                    let owner = process.map_or_else(String::new, |process| format!(" (process {process})"));
                    return Err(FolderError::Locked { folder: root.to_owned(), owner });
                }
                Err(TryLockError::Error(source)) => return Err(failed(source).into()),
            }
            // Whoever had it may have removed it between the two.
            if !is_at(&file, &lock) {
                continue;
            }
            let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
            written.map_err(failed)?;
            return Ok((Self { lock, _file: file }, killed));
        }
    }
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
    runs: BTreeMap<&'a Path, &'a Resolved>,
    force: bool,
}

impl Claim<'_> {
    /// The folders in which results may stand that this command replaces.
    fn folders(&self) -> BTreeSet<PathBuf> {
        let planned = self.runs.keys().map(|folder| (*folder).to_owned());
        [self.root.to_owned()].into_iter().chain(seeds(self.root)).chain(planned).collect()
    }

    /// Refuses what may not be replaced. What a killed command has left is no result.
    fn check(&self, killed: bool) -> Result<(), FolderError> {
        if self.force {
            return Ok(());
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
                DocumentKind::None if killed => {}
                DocumentKind::None => self.foreign(&folder, run)?,
            }
        }
        let whole = document(self.root).filter(|document| kind(Some(document)) == DocumentKind::Seeds);
        let whole = whole.filter(|document| document["partial"] != true);
        match whole {
            Some(document) if standing > 0 && standing < self.runs.len() => Err(FolderError::Occupied {
                folder: self.root.to_owned(),
                what: named(&document["runs"][0], &document),
                difference: format!("{standing} seeds there, {} here", self.runs.len()),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses the results in a folder unless they are those of the run that goes there.
    fn same(
        &self,
        folder: &Path,
        document: Option<&Value>,
        run: Option<&Resolved>,
    ) -> Result<(), FolderError> {
        let difference = match run {
            None => Some(match self.runs.len() {
                1 => "here one run is to stand".to_owned(),
                seeds => format!("here {seeds} others are to stand"),
            }),
            Some(run) => {
                let there = fs::read_to_string(folder.join(SCENARIO)).unwrap_or_default();
                let here = run.to_toml();
                (there != here).then(|| difference(&there, &here))
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

    /// Refuses a file that would be overwritten.
    fn foreign(&self, folder: &Path, run: Option<&Resolved>) -> Result<(), FolderError> {
        let is_root = folder == self.root;
        let page = [DOCUMENT, REPORT].into_iter().filter(|_| is_root || run.is_some());
        let rest = TABLES.into_iter().chain([SCENARIO]).filter(|_| run.is_some());
        let found = page.chain(rest).find(|name| {
            let own = || run.map(Resolved::to_toml) == fs::read_to_string(folder.join(name)).ok();
            folder.join(name).exists() && !(*name == SCENARIO && own())
        });
        found.map_or(Ok(()), |name| Err(FolderError::Foreign { file: folder.join(name) }))
    }
}

/// The subfolders of the runs of several seeds.
fn seeds(folder: &Path) -> Vec<PathBuf> {
    let seed = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse::<u64>().ok());
        number.is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    fs::read_dir(folder).into_iter().flatten().flatten().filter(seed).map(|entry| entry.path()).collect()
}

/// Kinds of documents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DocumentKind {
    /// Of a run.
    Run,
    /// Of several seeds.
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

fn document(folder: &Path) -> Option<Value> {
    let text = fs::read_to_string(folder.join(DOCUMENT)).ok()?;
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
    let [there, here] = [there, here].map(|text| {
        let mut keys = BTreeMap::new();
        flatten("", &toml::Value::Table(text.parse().unwrap_or_default()), &mut keys);
        keys
    });
    let all = || there.keys().chain(here.keys()).map(String::as_str);
    let differs = |key: &&str| there.get(*key) != here.get(*key);
    let Some(key) = FIRST.into_iter().chain(all()).find(differs) else {
        return "its scenario is written in other words".to_owned();
    };
    let value =
        |keys: &BTreeMap<String, String>| keys.get(key).map_or("not there", String::as_str).to_owned();
    format!("{key} is {} there, {} here", value(&there), value(&here))
}

fn flatten(path: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                flatten(&crate::table::join(path, key), value, keys);
            }
        }
        toml::Value::Array(items) if items.iter().any(toml::Value::is_table) => {
            (0..).zip(items).for_each(|(i, item): (usize, _)| flatten(&format!("{path}[{i}]"), item, keys));
        }
        other => drop(keys.insert(path.to_owned(), other.to_string())),
    }
}

/// Removes the results in a folder: first the document, without which nothing is a result. Only what runs write goes, and
/// only beside their document or where a run was cut off.
fn clear(folder: &Path, root: &Path, killed: bool) -> Result<(), SaveError> {
    if kind(document(folder).as_ref()) == DocumentKind::None && !killed {
        return Ok(());
    }
    remove(&folder.join(DOCUMENT))?;
    remove(&folder.join(REPORT))?;
    TABLES.into_iter().try_for_each(|name| remove(&folder.join(name)))?;
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
mod tests {
    use super::*;
    use crate::Request;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            Self(std::env::temp_dir().join(format!("farspan-folder-{name}-{}", std::process::id())))
        }

        fn put(&self, path: &str, text: &str) {
            let path = self.0.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn has(&self, path: &str) -> bool {
            self.0.join(path).exists()
        }

        /// Opens it for one run at the top, or for several seeds.
        fn open(&self, run: &Resolved, seeds: &[u64], force: bool) -> Result<ResultFolder, FolderError> {
            let runs: Vec<_> = match seeds {
                [] => vec![(self.0.clone(), run.clone())],
                _ => seeds.iter().map(|s| (self.0.join(format!("seed-{s}")), run.with_seed(*s))).collect(),
            };
            let runs: Vec<_> = runs.iter().map(|(folder, run)| (folder.as_path(), run)).collect();
            ResultFolder::open(&self.0, &runs, force)
        }

        /// The results of a run, as far as they matter here.
        fn results(&self, at: &str, run: &Resolved) {
            self.put(&format!("{at}summary.json"), r#"{"farspan_version": "0", "scheme": "uno", "seed": 1}"#);
            self.put(&format!("{at}scenario.toml"), &run.to_toml());
            self.put(&format!("{at}report.html"), "");
            self.put(&format!("{at}trace/flow-1.sqlog"), "");
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn run(scheme: &str) -> Resolved {
        let scheme = Some(scheme.to_owned());
        Request { scheme, ..Request::new("uno/incast-mixed") }.resolve().unwrap()
    }

    #[test]
    fn results_of_the_same_run_are_replaced_and_others_stay() {
        let folder = Folder::new("same");
        folder.results("", &run("uno"));
        let error = folder.open(&run("gemini"), &[], false).unwrap_err().to_string();
        assert!(
            error.contains("scheme.name is \"uno\" there, \"gemini\" here. Choose another --out"),
            "{error}"
        );
        let error = folder.open(&run("uno").with_seed(2), &[], false).unwrap_err().to_string();
        assert!(error.contains("seed is 1 there, 2 here"), "{error}");
        let error = folder.open(&run("uno"), &[1, 2], false).unwrap_err().to_string();
        assert!(error.contains("here 2 others are to stand"), "{error}");
        assert!(folder.has("summary.json") && folder.has("report.html") && !folder.has(LOCK));
        folder.open(&run("uno"), &[], false).unwrap().finish();
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 1, "the scenario is what the user may have run");
        folder.results("", &run("uno"));
        folder.open(&run("gemini"), &[], true).unwrap().finish();
        assert!(!folder.has("summary.json") && !folder.has("report.html") && !folder.has("trace"));
    }

    #[test]
    fn several_seeds_are_replaced_by_the_same_or_if_they_are_not_all() {
        let folder = Folder::new("seeds");
        let put = |partial: bool| {
            for seed in [1, 2] {
                folder.results(&format!("seed-{seed}/"), &run("uno").with_seed(seed));
            }
            folder.put(
                "summary.json",
                &format!(r#"{{"partial": {partial}, "runs": [{{"seed": 1}}, {{"seed": 2}}]}}"#),
            );
        };
        put(false);
        let error = folder.open(&run("uno"), &[1, 2, 3], false).unwrap_err().to_string();
        assert!(error.contains("seeds 1 2; 2 seeds there, 3 here"), "{error}");
        assert!(folder.open(&run("uno"), &[1], false).is_err());
        folder.put("seed-2/notes.txt", "");
        folder.open(&run("uno"), &[1, 2], false).unwrap().finish();
        assert!(!folder.has("seed-1") && !folder.has("summary.json"));
        assert_eq!(fs::read_dir(folder.0.join("seed-2")).unwrap().count(), 1, "what no run wrote stays");
        put(true);
        assert!(folder.open(&run("gemini"), &[1, 2, 3], false).is_err());
        folder.open(&run("uno"), &[1, 2, 3], false).unwrap().finish();
    }

    #[test]
    fn a_file_that_no_run_has_left_stays() {
        for name in ["scenario.toml", "flows.parquet", "report.html", "summary.json"] {
            let folder = Folder::new("foreign");
            folder.put(name, "{\"mine\": 1}");
            let error = folder.open(&run("uno"), &[], false).unwrap_err().to_string();
            assert!(error.contains(&format!("{name}: would be overwritten")), "{error}");
            folder.open(&run("uno"), &[], true).unwrap().finish();
        }
        let folder = Folder::new("own");
        folder.put("scenario.toml", &run("uno").to_toml());
        folder.put("notes.txt", "");
        folder.put("seed-x/summary.json", r#"{"farspan_version": "0"}"#);
        folder.open(&run("uno"), &[], false).unwrap().finish();
        assert!(folder.has("notes.txt") && folder.has("seed-x/summary.json") && folder.has("scenario.toml"));
    }

    #[test]
    fn one_command_at_a_time_writes_to_a_folder() {
        let folder = Folder::new("lock");
        let first = folder.open(&run("uno"), &[], false).unwrap();
        let error = folder.open(&run("uno"), &[], true).unwrap_err().to_string();
        assert!(
            error.contains(&format!("another run writes there (process {})", std::process::id())),
            "{error}"
        );
        first.finish();
        folder.open(&run("uno"), &[], false).unwrap().finish();
        assert!(!folder.has(LOCK));
    }

    #[test]
    fn what_a_killed_run_has_left_is_no_result() {
        let folder = Folder::new("killed");
        drop(folder.open(&run("uno"), &[], false).unwrap());
        folder.put("flows.parquet", "half a table");
        assert!(folder.has(LOCK));
        folder.open(&run("gemini"), &[], false).unwrap().finish();
        assert!(!folder.has("flows.parquet") && !folder.has(LOCK));
    }
}
