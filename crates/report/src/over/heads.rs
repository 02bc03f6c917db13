//! Runs as far as an axis needs them: what each was asked, and its document.

use super::axis::is_asked;
use crate::file_name::{file_names, with_names};
use crate::key::{collect, differ, value_in, without_places, written};
use crate::load::{DEPTH, ReportError, find, row_of, rows, scenario, sweep_of};
use farspan_metrics::RunRow;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toml::Table;

/// A run: what it was asked, and its document.
#[derive(Clone, PartialEq, Debug)]
pub struct Head {
    /// `summary.json`.
    pub summary: Value,
    /// `scenario.toml`.
    pub scenario: Table,
    /// The keys that its sweep varies, in its order, with their values; empty if it is of none.
    pub parameters: Vec<(String, String)>,
}

/// The runs in a folder or below. Of their tables none is read.
///
/// # Errors
/// If the folder is not there or holds no run, or a file in it is not what a run writes.
pub fn heads(folder: &Path) -> Result<Vec<Head>, ReportError> {
    if !folder.is_dir() {
        return Err(ReportError::NoFolder { path: folder.to_owned() });
    }
    let mut sweeps: Vec<(PathBuf, Vec<RunRow>)> = Vec::new();
    let mut found = Vec::new();
    find(folder, DEPTH, &mut |place, summary| {
        let sweep = sweep_of(place, folder);
        if let Some(sweep) = sweep.as_ref().filter(|sweep| sweeps.iter().all(|(known, _)| known != *sweep)) {
            sweeps.push((sweep.clone(), rows(sweep)?.unwrap_or_default()));
        }
        let number = sweep.and_then(|sweep| sweeps.iter().position(|(known, _)| *known == sweep));
        let row = number.and_then(|number| Some((number, row_of(&sweeps[number].1)(place)?)));
        let parameters =
            row.map(|(number, row)| sweeps[number].1[row].parameters.clone()).unwrap_or_default();
        found.push((row, Head { summary, scenario: scenario(place)?, parameters }));
        Ok(())
    })?;
    // Those of a sweep are in its order, which is that in which its schemes are written.
    found.sort_by_key(|(row, _)| *row);
    let found: Vec<Head> = found.into_iter().map(|(_, head)| head).collect();
    if found.is_empty() { Err(ReportError::NoRun { path: folder.to_owned() }) } else { Ok(found) }
}

/// Keys that are no part of the scenario's text.
const OWN: [&str; 4] = ["scenario", "scheme", "profile", "seed"];

impl Head {
    /// A run by the texts of its document and its scenario.
    ///
    /// # Errors
    /// If a text is not what a run writes.
    pub fn parse(summary: &str, scenario: &str) -> Result<Self, ReportError> {
        let foreign = |path: &str, problem: &dyn std::fmt::Display| ReportError::Foreign {
            path: path.into(),
            problem: problem.to_string(),
        };
        let summary = serde_json::from_str(summary).map_err(|error| foreign("summary.json", &error))?;
        let scenario: Table =
            scenario.parse().map_err(|error: toml::de::Error| foreign("scenario.toml", &error.message()))?;
        Ok(Self { summary, scenario, parameters: Vec::new() })
    }

    pub(crate) fn partial(&self) -> bool {
        self.summary.get("partial").and_then(Value::as_bool).unwrap_or_default()
    }

    fn own(&self, key: &str) -> Option<String> {
        match self.summary.get(key)? {
            Value::String(text) => Some(text.clone()),
            number => Some(number.to_string()),
        }
    }

    /// A value of what it was asked, by its dotted key. Where a table stands several times, the first that has the key says
    /// it.
    pub(crate) fn value(&self, key: &str) -> Option<String> {
        if OWN.contains(&key) {
            return self.own(key);
        }
        let key = written(key);
        let parameter = self.parameters.iter().find(|(own, _)| written(own) == key);
        parameter.map(|(_, value)| value.clone()).or_else(|| value_in(&self.scenario, &key))
    }

    /// Whether the value of a key is this one, with files by their names or as they were written.
    pub(super) fn has(&self, key: &str, text: &str, original: &Self) -> bool {
        let written = [self.value(key), original.value(key), value_in(&original.scenario, key)];
        written.into_iter().flatten().any(|own| is_asked(&own, text))
    }

    /// Every dotted key that has a value.
    fn keys(&self) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = OWN.into_iter().map(str::to_owned).collect();
        found.extend(self.parameters.iter().map(|(key, _)| written(key)));
        for (key, value) in &self.scenario {
            collect(key, value, &mut found);
        }
        found
    }
}

/// These runs with files by their names: no path of a machine is the reader's.
pub(crate) fn named(heads: &[Head]) -> Vec<Head> {
    let files = file_names(heads.iter().map(|head| &head.scenario));
    let one = |head: &Head| {
        let mut named = head.clone();
        named.scenario = with_names(named.scenario, &files);
        for (key, value) in &mut named.parameters {
            let (path, name) = (value_in(&head.scenario, key), value_in(&named.scenario, key));
            if let Some(name) = name.filter(|name| path.as_ref() != Some(name)) {
                *value = name;
            }
        }
        named
    };
    heads.iter().map(one).collect()
}

/// Every key of these runs.
pub(crate) fn keys(heads: &[&Head]) -> BTreeSet<String> {
    heads.iter().flat_map(|head| head.keys()).collect()
}

/// The keys that may vary among runs: those that a sweep says it varies; without a sweep, those in which scenarios differ.
pub(crate) fn candidates(heads: &[&Head]) -> Vec<String> {
    let mut found: Vec<String> = ["scenario", "scheme", "profile"].map(str::to_owned).into();
    let mut add = |key: String| {
        if !found.contains(&key) {
            found.push(key);
        }
    };
    if heads.iter().any(|head| !head.parameters.is_empty()) {
        heads.iter().flat_map(|head| &head.parameters).for_each(|(key, _)| add(written(key)));
        return found;
    }
    // Another scheme brings other constants: those differ as an axis only within one.
    let mut first: BTreeMap<Option<String>, &Head> = BTreeMap::new();
    for head in heads {
        let same = first.entry(head.own("scheme")).or_insert(head);
        let mut differences = Vec::new();
        for (other, with_scheme) in [(*same, true), (heads[0], false)] {
            let [a, b] = [other, head].map(|head| toml::Value::Table(bare(head, with_scheme)));
            differ("", Some(&a), Some(&b), &mut differences);
        }
        differences.into_iter().for_each(|(key, ..)| add(without_places(&key)));
    }
    found
}

/// Those of the keys that tell runs apart in ways of their own: where several do it alike, since one follows from another, the
/// shortest.
pub(crate) fn distinct(heads: &[&Head], keys: Vec<String>) -> Vec<String> {
    let kinds = |key: &String| -> Vec<usize> {
        let values: Vec<Option<String>> = heads.iter().map(|head| head.value(key)).collect();
        values
            .iter()
            .map(|value| values.iter().position(|other| other == value).unwrap_or_default())
            .collect()
    };
    let all: Vec<(Vec<usize>, String)> = keys.into_iter().map(|key| (kinds(&key), key)).collect();
    let shorter = |(kinds, key): &(Vec<usize>, String)| {
        all.iter().any(|(other, name)| other == kinds && (name.len(), name) < (key.len(), key))
    };
    let kept: Vec<bool> = all.iter().map(|one| !shorter(one)).collect();
    all.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|((_, key), _)| key).collect()
}

fn bare(head: &Head, with_scheme: bool) -> Table {
    let mut table = head.scenario.clone();
    for key in ["seed", "description", "name"] {
        table.remove(key);
    }
    if !with_scheme {
        table.remove("scheme");
    }
    table
}
