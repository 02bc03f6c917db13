//! Names for the files that scenarios read: no path of a machine is the reader's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::{Table, Value};

/// The longest name of a file with its folder, in characters.
const LONGEST_FILE: usize = 24;

/// Names of files in headings, by path and digest.
pub(crate) type FileNames<'a> = BTreeMap<(&'a str, &'a str), String>;

/// A scenario with files by their names, and without their digests.
pub(crate) fn with_names(mut scenario: Table, files: &FileNames<'_>) -> Table {
    let digests = scenario.remove("files");
    let digests = digests.as_ref().and_then(Value::as_table);
    scenario.iter_mut().for_each(|(_, value)| name_files(value, digests, files));
    scenario
}

fn name_files(value: &mut Value, digests: Option<&Table>, names: &FileNames<'_>) {
    match value {
        Value::Table(inner) => inner.iter_mut().for_each(|(_, value)| name_files(value, digests, names)),
        Value::Array(items) => items.iter_mut().for_each(|value| name_files(value, digests, names)),
        Value::String(text) => {
            let digest = digests.and_then(|digests| digests.get(text.as_str())?.as_str());
            if let Some(name) = digest.and_then(|digest| names.get(&(text.as_str(), digest))).cloned() {
                *text = name;
            }
        }
        _ => {}
    }
}

/// A name for each file that some scenarios read: its base name; of files of one name with other contents, with its folder, or where
/// that is no other or long, with a number.
pub(crate) fn file_names<'a>(scenarios: impl Iterator<Item = &'a Table>) -> FileNames<'a> {
    let of_one = |scenario: &'a Table| scenario.get("files").and_then(Value::as_table).into_iter().flatten();
    let files: BTreeSet<(&str, &str)> = scenarios
        .flat_map(of_one)
        .filter_map(|(path, digest)| Some((path.as_str(), digest.as_str()?)))
        .collect();
    let name = |&(path, digest): &(&'a str, &'a str)| {
        let base = last(path, 1);
        let of_name = || files.iter().filter(|(other, _)| last(other, 1) == base);
        let mut contents: Vec<&str> = Vec::new();
        for (_, digest) in of_name() {
            if !contents.contains(digest) {
                contents.push(digest);
            }
        }
        if contents.len() == 1 {
            return base;
        }
        let is_short = of_name().all(|(path, _)| last(path, 2).chars().count() <= LONGEST_FILE);
        let is_told = |(path, digest): &(&str, &str)| {
            of_name().all(|(other, known)| last(other, 2) != last(path, 2) || known == digest)
        };
        if is_short && of_name().all(is_told) {
            return last(path, 2);
        }
        let number = contents.iter().position(|known| *known == digest).unwrap_or_default();
        format!("{base} ({})", number + 1)
    };
    files.iter().map(|file| (*file, name(file))).collect()
}

/// The last parts of a path.
fn last(path: &str, count: usize) -> String {
    let parts: Vec<_> = Path::new(path).components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts[parts.len().saturating_sub(count)..].join("/")
}
