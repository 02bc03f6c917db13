//! Finds runs below a folder and reads them.

use crate::axes::name_axes;
use crate::run::Run;
use farspan_metrics::{ReadError, RunRow, read_flows, read_ports, read_runs};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Depth below a folder to which runs are searched: scenario, scheme, seed, and one more.
pub(crate) const DEPTH: usize = 4;

/// The file that marks the folder of a sweep.
const SWEEP: &str = ".farspan-store";

/// The data set of a sweep: which of the runs in its folder are of the sweep as it is now.
const RUNS: &str = "runs.parquet";

/// Why results cannot be read or shown.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder is not there.
    #[error("{}: is not a folder; give the one that `farspan run --out` wrote", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// There is no run in it.
    #[error(
        "{}: no run in this folder or below; expected summary.json, which `farspan run --out {}` writes last",
        path.display(), path.display()
    )]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: cannot be read ({source}); check its permissions, or give another folder", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {problem}; run the scenario again with --out", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The problem with the file.
        problem: String,
    },
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] ReadError),
    /// There is nothing to compare with.
    #[error("{problem}; {cure}")]
    Unpaired {
        /// The problem.
        problem: String,
        /// The cure.
        cure: String,
    },
    /// The page cannot be written.
    #[error("{}: cannot be written ({source}); choose another -o, or free disk space", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

/// Reads every run in these folders or below, in order of their paths (numbers in order of size); those of a sweep in its
/// order.
///
/// # Errors
/// If a folder is not there or holds no run, or a file in it is not what a run writes.
pub fn load(folders: &[PathBuf]) -> Result<Vec<Run>, ReportError> {
    let mut runs = Vec::new();
    for (root, folder) in folders.iter().enumerate() {
        if !folder.is_dir() {
            return Err(ReportError::NoFolder { path: folder.clone() });
        }
        let before = runs.len();
        find(folder, DEPTH, &mut |place, summary| {
            runs.push(read(place, root, summary)?);
            Ok(())
        })?;
        if runs.len() == before {
            return Err(ReportError::NoRun { path: folder.clone() });
        }
        let sweep = |run: &Run| sweep_of(&run.folder, folder);
        for of_one in runs[before..].chunk_by_mut(|a, b| sweep(a) == sweep(b)) {
            if let Some(sweep) = sweep(&of_one[0]) {
                name_sweep(of_one, &sweep)?;
            }
        }
    }
    Ok(runs)
}

/// The sweep that a run is of, in `root` or below.
pub(crate) fn sweep_of(run: &Path, root: &Path) -> Option<PathBuf> {
    let mut above = run.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    above.find(|folder| folder.join(SWEEP).is_file()).map(Path::to_owned)
}

/// Names the runs of a sweep by its axes.
fn name_sweep(runs: &mut [Run], sweep: &Path) -> Result<(), ReportError> {
    let rows = rows(sweep)?.unwrap_or_default();
    let row_of = row_of(&rows);
    for run in runs.iter_mut() {
        let row = row_of(&run.folder).map(|row| &rows[row]);
        run.parameters = row.map(|row| row.parameters.clone()).unwrap_or_default();
    }
    name_axes(runs);
    Ok(())
}

/// The folders of runs in a folder or below, in order of their paths, and their documents.
pub(crate) fn find(
    folder: &Path,
    depth: usize,
    each: &mut dyn FnMut(&Path, Value) -> Result<(), ReportError>,
) -> Result<(), ReportError> {
    let path = folder.join("summary.json");
    if path.is_file() {
        let summary = document(&path)?;
        let Some(listed) = summary.get("runs").and_then(Value::as_array) else {
            return each(folder, summary);
        };
        // The document of several seeds: those that it lists lie in folders below.
        for seed in listed.iter().filter_map(|run| run.get("seed")?.as_u64()) {
            let folder = folder.join(format!("seed-{seed}"));
            let summary = document(&folder.join("summary.json"))?;
            each(&folder, summary)?;
        }
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let unreadable =
        |error: std::io::Error| ReportError::Foreign { path: folder.to_owned(), problem: error.to_string() };
    let mut below = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // Links are not followed: they could form a cycle. A sweep keeps runs under way in a hidden folder.
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.file_type().map_err(unreadable)?.is_dir() {
            below.push(entry.path());
        }
    }
    if let Some(done) = done(folder)? {
        let place = |path: &PathBuf| done.get(&*path.file_name()?.to_string_lossy()).copied();
        below.retain(|path| place(path).is_some());
        below.sort_by_key(place);
    } else {
        below.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    }
    below.iter().try_for_each(|path| find(path, depth - 1, each))
}

/// The names of the folders of runs that a sweep has done, with their places in it; `None` where there is no sweep, or none that has ended.
fn done(folder: &Path) -> Result<Option<BTreeMap<String, usize>>, ReportError> {
    let places =
        |rows: Vec<RunRow>| rows.into_iter().enumerate().map(|(place, row)| (row.run, place)).collect();
    Ok(rows(folder)?.map(places))
}

/// The runs that a sweep has done, in its order; `None` where there is no sweep, or none that has ended. Runs of older builds, and of points
/// that the sweep has no longer, stay in its folder.
pub(crate) fn rows(folder: &Path) -> Result<Option<Vec<RunRow>>, ReportError> {
    let data_set = folder.join(RUNS);
    if !folder.join(SWEEP).is_file() || !data_set.is_file() {
        return Ok(None);
    }
    Ok(Some(read_runs(&data_set)?.into_iter().filter(|row| row.status == "done").collect()))
}

/// Finds the row of a run of a sweep by its folder.
pub(crate) fn row_of(rows: &[RunRow]) -> impl Fn(&Path) -> Option<usize> {
    let places: BTreeMap<&str, usize> =
        rows.iter().enumerate().map(|(i, row)| (row.run.as_str(), i)).collect();
    move |folder| {
        // A run of several seeds has a folder for each.
        let names = folder.ancestors().take(2).filter_map(Path::file_name);
        names.filter_map(|name| places.get(name.to_str()?)).next().copied()
    }
}

fn document(path: &Path) -> Result<Value, ReportError> {
    parse(path, |text| serde_json::from_str(text).map_err(|e| e.to_string()))
}

fn read(folder: &Path, root: usize, summary: Value) -> Result<Run, ReportError> {
    let path = folder.join("summary.json");
    let foreign = |problem: &str| ReportError::Foreign { path: path.clone(), problem: problem.to_owned() };
    for key in ["farspan_version", "scenario", "scheme", "digest"] {
        if !summary.get(key).is_some_and(Value::is_string) {
            return Err(foreign(&format!("is not the document of a run (no text {key:?})")));
        }
    }
    if !summary.get("seed").is_some_and(Value::is_u64) {
        return Err(foreign("is not the document of a run (no number \"seed\")"));
    }
    let scenario = scenario(folder)?;
    let flows = read_flows(&folder.join("flows.parquet"))?;
    let ports = read_ports(&folder.join("ports.parquet"))?;
    Ok(Run {
        folder: folder.to_owned(),
        root,
        title: String::new(),
        constants: String::new(),
        parameters: Vec::new(),
        summary,
        scenario,
        flows,
        ports,
    })
}

/// The scenario of a run, as it is in its folder.
pub(crate) fn scenario(folder: &Path) -> Result<toml::Table, ReportError> {
    parse(&folder.join("scenario.toml"), |text| {
        text.parse().map_err(|e: toml::de::Error| e.message().to_owned())
    })
}

fn parse<T>(path: &Path, parse: impl Fn(&str) -> Result<T, String>) -> Result<T, ReportError> {
    let foreign = |problem| ReportError::Foreign { path: path.to_owned(), problem };
    let read = farspan_files::open(path).and_then(std::io::read_to_string);
    let text = read.map_err(|source| ReportError::Unreadable { path: path.to_owned(), source })?;
    parse(&text).map_err(|problem| foreign(format!("cannot be understood ({problem})")))
}

/// A key that sorts `seed-9` before `seed-10`: words alternate with numbers.
pub(crate) fn natural(text: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(word);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        parts.push((head.to_owned(), tail[..digits].parse().unwrap_or(u64::MAX)));
        rest = &tail[digits..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_size() {
        let mut names = ["seed-10", "seed-9", "a", "seed-9b", "host2", "host10"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["a", "host2", "host10", "seed-9", "seed-9b", "seed-10"]);
    }
}
