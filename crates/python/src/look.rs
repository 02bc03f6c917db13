//! Functions that need no run: lists, validation, results that were written.

use crate::error;
use crate::run::Ask;
use crate::table::Table;
use farspan_metrics::Quantile;
use farspan_report::{Asked, Head, ReportError};
use farspan_scenario::ScenarioError;
use farspan_world::{PathFacts, World};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Everything of a kind, as JSON: `farspan list KIND --json`.
#[pyfunction]
pub fn catalog(py: Python<'_>, kind: &str) -> PyResult<String> {
    let items = farspan_ledger::items(kind)
        .map_err(|problem| error::wrong_argument(py, &format!("kind={kind:?}"), &problem))?;
    Ok(json!(items).to_string())
}

/// The seeds that a text names, such as `1..6`.
#[pyfunction]
pub fn seeds(py: Python<'_>, text: &str) -> PyResult<Vec<u64>> {
    farspan_scenario::seeds(text)
        .map_err(|problem| error::wrong_argument(py, &format!("seeds={text:?}"), &problem.to_string()))
}

/// Validates a scenario; gives its resolved text, estimated cost, loads and paths, as JSON.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn check(py: Python<'_>, ask: Ask) -> PyResult<String> {
    let request = ask.request();
    let checked = error::guarded(py, || -> Result<Value, ScenarioError> {
        let resolved = request.resolve()?;
        let world = World::build(&resolved)?;
        let load = &world.offered_load;
        let wan = load.wan.iter().map(|way| (format!("wan_{}_to_{}", way.from, way.to), json!(way.load)));
        let tiers = [("host".to_owned(), json!(load.host)), ("fabric".to_owned(), json!(load.fabric))];
        Ok(json!({
            "scenario": resolved.to_toml(),
            "estimate": world.estimate(),
            "offered_load": tiers.into_iter().chain(wan).collect::<serde_json::Map<_, _>>(),
            "transient": load.transient(),
            "paths": { "intra": path(world.intra), "inter": path(world.inter) },
            "warnings": world.warnings,
        }))
    });
    checked?.map(|document| document.to_string()).map_err(|error| error::scenario(py, &error))
}

fn path(facts: Option<PathFacts>) -> Value {
    facts.map_or(Value::Null, |PathFacts { hops, base_rtt, bdp, .. }| {
        json!({ "links": hops, "base_rtt_us": base_rtt.as_us_f64(), "bdp_bytes": bdp.get() })
    })
}

/// A quantile of the slowdown by flow size, in the bins of reports: largest size, flows, slowdown. A slowdown that is not a
/// number is that of a flow that did not finish.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn slowdown_bins(sizes: Vec<u64>, slowdowns: Vec<f64>, quantile: f64) -> Vec<(u64, u64, Option<f64>)> {
    let finished = |slowdown: f64| (!slowdown.is_nan()).then_some(slowdown);
    let flows: Vec<_> = sizes.into_iter().zip(slowdowns.into_iter().map(finished)).collect();
    let quantile = Quantile::per_10_000((quantile * 1e4).round() as u32);
    let bins = farspan_metrics::slowdown_bins(&flows, quantile);
    bins.into_iter().map(|bin| (bin.up_to, bin.count, bin.value)).collect()
}

/// Reads a Parquet table of a result directory.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn read_table(py: Python<'_>, path: PathBuf) -> PyResult<Table> {
    let (schema, batches) = error::guarded(py, || farspan_metrics::read_table(&path))?
        .map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(Table::new(schema, batches))
}

/// Sets the runs of some folders side by side, as JSON: `farspan compare DIR... --json`.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn compare(py: Python<'_>, folders: Vec<PathBuf>, baseline: Option<String>) -> PyResult<String> {
    let compared = error::guarded(py, || -> Result<Value, ReportError> {
        let (comparisons, _) = farspan_report::compare(farspan_report::load(&folders)?, baseline.as_deref())?;
        Ok(json!({ "comparisons": comparisons }))
    });
    compared?.map(|document| document.to_string()).map_err(|error| error::report(py, &error))
}

/// Makes the page of a folder of results; gives its path.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn report(py: Python<'_>, folder: PathBuf, output: Option<PathBuf>) -> PyResult<PathBuf> {
    error::guarded(py, || farspan_report::write_report(&folder, output.as_deref()))?
        .map_err(|error| error::report(py, &error))
}

/// The looks of so many lines: colour, dashes and marker of each.
#[pyfunction]
pub fn looks(count: usize) -> Vec<(&'static str, Vec<f64>, char)> {
    let look = |index| farspan_chart::look(index);
    (0..count).map(look).map(|look| (look.colour, look.dashes.to_vec(), look.marker.letter())).collect()
}

/// Puts runs over an axis, as JSON: those in a folder, or some by their documents and scenarios.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "pyo3 hands arguments over")]
pub fn over(
    py: Python<'_>,
    runs: Runs,
    asked: (String, String, String),
    only: Vec<(String, String)>,
) -> PyResult<String> {
    let heads = error::guarded(py, || match &runs {
        Runs::Folder(folder) => farspan_report::heads(folder),
        Runs::Texts(texts) => {
            texts.iter().map(|(summary, scenario)| Head::parse(summary, scenario)).collect()
        }
    })?;
    let heads = heads.map_err(|error| error::report(py, &error))?;
    let (x, y, by) = asked;
    let asked = Asked { x: &x, y: &y, by: &by, only: &only };
    let over = error::guarded(py, || farspan_report::over(&heads, &asked))?;
    // Arguments of Python have no dashes.
    over.map(|over| json!(over).to_string())
        .map_err(|error| PyValueError::new_err(error.to_string().replace("--", "")))
}

/// Runs to be put over an axis.
#[derive(FromPyObject)]
pub enum Runs {
    /// The document and the scenario of each.
    Texts(Vec<(String, String)>),
    /// All in a folder.
    Folder(PathBuf),
}
