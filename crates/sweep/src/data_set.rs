//! One table over all runs, and views for DuckDB.

use crate::draw::{bits_a_second, bytes, picoseconds};
use crate::execute::Finished;
use crate::point::Point;
use crate::store::Store;
use farspan_metrics::{DynamicColumn, DynamicValues, TableError, encode_columns, save_columns};
use farspan_world::{SaveError, write};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// The views for DuckDB, over the files of a sweep's folder.
const VIEWS: &str = include_str!("views.sql");

/// How far a point has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// Its results are there.
    Done,
    /// It could not be built or run.
    Failed,
    /// The sweep ended before.
    NotRun,
}

impl Status {
    /// The word for it in the data set.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::NotRun => "not_run",
        }
    }
}

/// A point of the data set.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// How far it has come.
    pub status: Status,
    /// The name of its folder.
    pub run: String,
    /// Columns with their values, in order; what a run has no value for is left out.
    columns: Vec<(String, Value)>,
}

impl Row {
    /// The row of a point under the name of its run; `result` is its document, or why there is none, and none where it did not run.
    #[must_use]
    pub fn new(run: String, point: &Point, result: Option<&Result<Value, String>>) -> Self {
        let resolved = &point.resolved;
        let (status, error, document) = match result {
            None => (Status::NotRun, None, None),
            Some(Err(error)) => (Status::Failed, Some(error.as_str()), None),
            Some(Ok(document)) => (Status::Done, None, Some(document)),
        };
        // A control that no scheme names calls itself.
        let scheme = document.and_then(|document| document["scheme"].as_str()).unwrap_or(resolved.scheme());
        let text = |name: &str, value: &str| (name.to_owned(), Value::from(value));
        let mut columns = vec![
            text("run", &run),
            text("scenario", resolved.name()),
            text("scheme", scheme),
            text("profile", resolved.profile().name()),
            ("seed".to_owned(), Value::from(resolved.seed())),
        ];
        for (key, value) in &point.parameters {
            columns.push((key.clone(), plain(value)));
            columns.extend(in_base_units(key, value));
        }
        columns.push(text("status", status.name()));
        columns.push(("error".to_owned(), error.map_or(Value::Null, Value::from)));
        for (name, value) in document.and_then(Value::as_object).into_iter().flatten() {
            if !["seed", "partial", "setup"].contains(&name.as_str()) {
                flatten(name, value, &mut columns);
            }
        }
        Self { status, run, columns }
    }

    /// The row as a JSON object.
    #[must_use]
    pub fn json(&self) -> Value {
        Value::Object(self.columns.iter().cloned().collect::<Map<_, _>>())
    }
}

/// The rows of a sweep, in the order of its points.
#[must_use]
pub fn rows(points: &[Point], store: &Store, finished: &[Finished]) -> Vec<Row> {
    let mut results = vec![None; points.len()];
    finished.iter().for_each(|finished| results[finished.point] = Some(&finished.result));
    let row = |(point, result)| Row::new(store.name_of_point(point), point, result);
    points.iter().zip(results).map(row).collect()
}

/// A parameter: numbers, truth values and texts as they are, others as TOML.
fn plain(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text.as_str()),
        toml::Value::Integer(number) => Value::from(*number),
        toml::Value::Float(number) => Value::from(*number),
        toml::Value::Boolean(flag) => Value::from(*flag),
        other => Value::from(other.to_string()),
    }
}

/// A quantity as a number too, so that it can be computed with: in bytes, microseconds or bit/s.
fn in_base_units(key: &str, value: &toml::Value) -> Option<(String, Value)> {
    let text = value.as_str()?;
    let microseconds = |text: &str| picoseconds(text).map(|ps| Value::from(ps as f64 / 1e6));
    let found = bytes(text).map(|bytes| ("bytes", Value::from(bytes)));
    let found = found.or_else(|| Some(("us", microseconds(text)?)));
    let (unit, value) = found.or_else(|| Some(("bps", Value::from(bits_a_second(text)?))))?;
    Some((format!("{key}_{unit}"), value))
}

/// The numbers and truth values of a document by their path, joined by underscores; of texts the digests.
fn flatten(path: &str, value: &Value, columns: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(&format!("{path}_{name}"), value, columns));
        }
        Value::Array(items) => {
            for (i, item) in items.iter().enumerate().filter(|(_, item)| item.is_object()) {
                flatten(&format!("{path}_{i}"), item, columns);
            }
        }
        Value::String(_) if !path.ends_with("digest") => {}
        value => columns.push((path.to_owned(), value.clone())),
    }
}

/// Why the data set cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataSetError {
    /// The table cannot be written.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A text cannot be written.
    #[error(transparent)]
    Save(#[from] SaveError),
}

/// Writes `runs.parquet` and `views.sql` into the store; each replaces the old one when it is whole.
///
/// # Errors
/// If the store cannot be written.
pub fn write_data_set(store: &Store, rows: &[Row]) -> Result<(), DataSetError> {
    save_columns(&store.root().join("runs.parquet"), &columns(rows))?;
    Ok(write(&store.root().join("views.sql"), VIEWS)?)
}

/// The data set as Parquet, in memory: for who keeps it elsewhere.
#[must_use]
pub fn encode_data_set(rows: &[Row]) -> Vec<u8> {
    encode_columns(&columns(rows))
}

/// The columns that any row has.
fn columns(rows: &[Row]) -> Vec<DynamicColumn> {
    let (mut names, mut known): (Vec<&str>, BTreeSet<&str>) = (Vec::new(), BTreeSet::new());
    for (name, _) in rows.iter().flat_map(|row| &row.columns) {
        if known.insert(name) {
            names.push(name);
        }
    }
    let maps: Vec<BTreeMap<&str, &Value>> = rows
        .iter()
        .map(|row| row.columns.iter().map(|(name, value)| (name.as_str(), value)).collect())
        .collect();
    // Where a run has no flows of a class, null stands in place of the class.
    let is_class = |name: &str| {
        known.range(&*format!("{name}_")..).next().is_some_and(|next| next.starts_with(&format!("{name}_")))
    };
    let column = |name: &str| {
        let cells: Vec<Option<&Value>> =
            maps.iter().map(|row| row.get(name).copied().filter(|cell| !cell.is_null())).collect();
        let empty = cells.iter().all(Option::is_none);
        (!(empty && is_class(name)))
            .then(|| DynamicColumn { name: name.to_owned(), values: values(name, &cells) })
    };
    names.into_iter().filter_map(column).collect()
}

/// Columns that hold text even where every cell is null.
const TEXTS: [&str; 1] = ["error"];

/// The narrowest type that all cells have.
fn values(name: &str, cells: &[Option<&Value>]) -> DynamicValues {
    let all = |is: fn(&Value) -> bool| cells.iter().flatten().all(|cell| is(cell));
    let some = cells.iter().any(Option::is_some);
    if some && all(Value::is_i64) {
        DynamicValues::Whole(cells.iter().map(|cell| cell.and_then(Value::as_i64)).collect())
    } else if all(Value::is_number) && !TEXTS.contains(&name) {
        DynamicValues::Real(cells.iter().map(|cell| cell.and_then(Value::as_f64)).collect())
    } else if some && all(Value::is_boolean) {
        DynamicValues::Flag(cells.iter().map(|cell| cell.and_then(Value::as_bool)).collect())
    } else {
        let text = |cell: &Value| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned);
        DynamicValues::Text(cells.iter().map(|cell| cell.map(text)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(columns: &Value) -> Row {
        let columns = columns.as_object().unwrap().clone().into_iter().collect();
        Row { status: Status::Done, run: String::new(), columns }
    }

    #[test]
    fn documents_are_flat_in_the_table() {
        let mut columns = Vec::new();
        let document = json!({
            "fct": {"all": {"p99_us": 2.5, "p999_us": null}, "intra": null}, "digest": "ab", "warnings": ["x"],
            "commit": "c", "collectives": [{"tag": "t", "mean_us": 1.0}], "transient": false,
        });
        document.as_object().unwrap().iter().for_each(|(name, value)| flatten(name, value, &mut columns));
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "collectives_0_mean_us",
            "digest",
            "fct_all_p999_us",
            "fct_all_p99_us",
            "fct_intra",
            "transient",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn columns_have_the_narrowest_type_and_null_where_nothing_is() {
        let rows = [
            row(&json!({"n": 1, "x": 1, "t": "a", "f": true, "fct_intra": null, "error": null})),
            row(&json!({"n": null, "x": 0.5, "t": 3, "fct_intra_p50": null})),
        ];
        let columns = columns(&rows);
        let of = |name: &str| {
            columns.iter().find(|column| column.name == name).map(|column| column.values.clone())
        };
        assert_eq!(of("n"), Some(DynamicValues::Whole(vec![Some(1), None])));
        assert_eq!(of("x"), Some(DynamicValues::Real(vec![Some(1.0), Some(0.5)])));
        assert_eq!(of("t"), Some(DynamicValues::Text(vec![Some("a".to_owned()), Some("3".to_owned())])));
        assert_eq!(of("f"), Some(DynamicValues::Flag(vec![Some(true), None])));
        assert_eq!(of("error"), Some(DynamicValues::Text(vec![None, None])));
        assert_eq!(
            (of("fct_intra"), of("fct_intra_p50")),
            (None, Some(DynamicValues::Real(vec![None, None])))
        );
    }

    #[test]
    fn quantities_are_numbers_too() {
        let of = |text: &str| in_base_units("a", &toml::Value::from(text));
        assert_eq!(of("1KiB"), Some(("a_bytes".to_owned(), json!(1024))));
        assert_eq!(of("1.5ms"), Some(("a_us".to_owned(), json!(1500.0))));
        assert_eq!(of("2Gbps"), Some(("a_bps".to_owned(), json!(2_000_000_000_u64))));
        assert_eq!(of("off"), None);
    }
}
