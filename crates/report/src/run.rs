//! A run, read back from its folder.

use farspan_metrics::{FlowRow, PortRow};
use serde_json::Value;
use std::path::PathBuf;

/// A run, read back.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// Its folder.
    pub folder: PathBuf,
    /// Which of the folders that were asked for it lies in, from 0.
    pub root: usize,
    /// The heading that its sweep gives it: the scenario, and its values of the axes; empty if it is of no sweep.
    pub(crate) title: String,
    /// The constants of its scheme in which runs of its sweep differ.
    pub(crate) constants: String,
    /// The keys that its sweep varies, in its order, with their values; empty if it is of none.
    pub(crate) parameters: Vec<(String, String)>,
    /// `summary.json`.
    pub summary: Value,
    /// `scenario.toml`.
    pub scenario: toml::Table,
    /// `flows.parquet`.
    pub flows: Vec<FlowRow>,
    /// `ports.parquet`.
    pub ports: Vec<PortRow>,
}

impl Run {
    /// A text of the summary; empty if it has none.
    #[must_use]
    pub fn text(&self, key: &str) -> &str {
        self.summary.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// The scenario's name, with the axes of its sweep.
    #[must_use]
    pub fn title(&self) -> String {
        if self.title.is_empty() { self.text("scenario").to_owned() } else { self.title.clone() }
    }

    /// Its scenario without seed and description: runs of one arm have it in common.
    pub(crate) fn apart_from_seed(&self) -> toml::Table {
        let mut table = self.scenario.clone();
        for key in ["seed", "description"] {
            table.remove(key);
        }
        table
    }

    /// The seed.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.summary.get("seed").and_then(Value::as_u64).unwrap_or_default()
    }

    /// Where its samples are.
    pub(crate) fn series(&self) -> PathBuf {
        self.folder.join("series.parquet")
    }

    /// Whether the run was interrupted: its numbers are no result.
    #[must_use]
    pub fn partial(&self) -> bool {
        self.summary.get("partial").and_then(Value::as_bool).unwrap_or_default()
    }

    /// A number of the summary, by JSON pointer.
    #[must_use]
    pub fn number(&self, path: &str) -> Option<f64> {
        self.summary.pointer(path).and_then(Value::as_f64)
    }

    /// Warnings to read before believing the numbers.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let said = self.summary.get("warnings").and_then(Value::as_array);
        let mut warnings: Vec<String> =
            said.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
        let any = |path| self.number(path).is_some_and(|count| count > 0.0);
        if self.partial() {
            warnings.push("interrupted: these are the results up to the interruption".to_owned());
        }
        if self.summary.pointer("/fct/all").is_none_or(Value::is_null) {
            warnings.push("no flow was measured".to_owned());
        }
        if any("/fct/all/unfinished") {
            warnings.push("some flows did not finish; they count as infinite".to_owned());
        }
        if any("/flows/not_started") {
            warnings.push("some flows never started".to_owned());
        }
        if self.summary.get("transient").and_then(Value::as_bool).unwrap_or_default() {
            warnings
                .push("a tier is offered more than it can carry: queues grow while flows arrive".to_owned());
        }
        warnings
    }
}
