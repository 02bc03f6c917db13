//! Clears a folder of an earlier run's files, so that they are not read as part of the next run.

use super::SaveError;
use serde_json::Value;
use std::io;
use std::path::{Path, PathBuf};

/// The tables of a run.
const TABLES: [&str; 4] = ["flows.parquet", "ports.parquet", "series.parquet", "collectives.parquet"];

/// Removes the results of an earlier run from a folder that runs are about to write: its document, tables and traces, and
/// those in its `seed-N`. Only what runs write goes, and only beside their document; a folder that is not there is clear.
///
/// # Errors
/// If a file cannot be removed.
pub fn clear(folder: &Path) -> Result<(), SaveError> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    let seed = |entry: &std::fs::DirEntry| {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("seed-")?.parse::<u64>().ok());
        number.is_some() && entry.file_type().is_ok_and(|kind| kind.is_dir())
    };
    let seeds: Vec<PathBuf> = entries.flatten().filter(seed).map(|entry| entry.path()).collect();
    for seed in seeds.iter().filter(|seed| ours(seed)) {
        clear_run(seed)?;
        // At the top these may be what the user runs, or keeps; here they are a run's.
        ["scenario.toml", "report.html"].into_iter().try_for_each(|name| remove(&seed.join(name)))?;
        // Whoever put more into it keeps it.
        let _ = std::fs::remove_dir(seed);
    }
    if ours(folder) { clear_run(folder) } else { Ok(()) }
}

/// Whether a folder's document is one that a run writes.
fn ours(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("summary.json")).unwrap_or_default();
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    document.get("farspan_version").is_some() || document.get("runs").is_some_and(Value::is_array)
}

/// First the document: without it nothing is a result.
fn clear_run(folder: &Path) -> Result<(), SaveError> {
    remove(&folder.join("summary.json"))?;
    TABLES.into_iter().try_for_each(|name| remove(&folder.join(name)))?;
    let traces = folder.join("trace");
    for entry in std::fs::read_dir(&traces).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "ports.pcapng" || (name.starts_with("flow-") && name.ends_with(".sqlog")) {
            remove(&entry.path())?;
        }
    }
    let _ = std::fs::remove_dir(traces);
    Ok(())
}

fn remove(path: &Path) -> Result<(), SaveError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(SaveError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_no_run_wrote_stays() {
        let folder = std::env::temp_dir().join(format!("farspan-clear-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let run = r#"{"farspan_version": "0"}"#;
        for seed in ["seed-1", "seed-2"] {
            put(&format!("{seed}/summary.json"), run);
            put(&format!("{seed}/scenario.toml"), "");
            put(&format!("{seed}/trace/flow-1.sqlog"), "");
        }
        put("seed-2/notes.txt", "");
        let foreign = ["seed-3/flows.parquet", "seed-x/summary.json", "other/summary.json", "flows.parquet"];
        foreign.iter().for_each(|path| put(path, run));
        clear(&folder).unwrap();
        assert!(!folder.join("seed-1").exists());
        assert_eq!(fs::read_dir(folder.join("seed-2")).unwrap().count(), 1);
        assert!(foreign.iter().all(|path| folder.join(path).exists()));
        put("summary.json", r#"{"runs": []}"#);
        put("scenario.toml", "");
        put("trace/mine.txt", "");
        clear(&folder).unwrap();
        let left = ["scenario.toml", "trace/mine.txt"].map(|path| folder.join(path).exists());
        let gone = ["summary.json", "flows.parquet"].map(|path| !folder.join(path).exists());
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((left, gone), ([true; 2], [true; 2]));
        clear(&folder).unwrap();
    }
}
