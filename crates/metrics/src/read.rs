//! Reads the Parquet tables of a finished run back.
//!
//! Rows are as the files have them: whole nanoseconds, and only the columns that readers of results need.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file system refuses.
    #[error("{path}: cannot be read ({source}); give the folder that `farspan run --out` wrote")]
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// It is no Parquet file, or a damaged one.
    #[error("{path}: is not a readable Parquet file ({problem}); run the scenario again with --out")]
    Decode {
        /// The file.
        path: String,
        /// The message of the decoder.
        problem: String,
    },
    /// A column is not there, or has another type.
    #[error("{path}: column {column} is missing or has another type; was this table written by farspan?")]
    Column {
        /// The file.
        path: String,
        /// The column.
        column: &'static str,
    },
}

/// A row of `flows.parquet`.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowRow {
    /// Its position in the workload.
    pub flow_id: u64,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// `intra` or `inter`.
    pub class: Arc<str>,
    /// Part of the workload.
    pub tag: Arc<str>,
    /// Whether it is in the summary.
    pub measured: bool,
    /// Payload, bytes.
    pub size_bytes: u64,
    /// Start, ns; `None` if it never started.
    pub start_ns: Option<i64>,
    /// Completion time at the sender, ns; `None` while unfinished.
    pub fct_ns: Option<i64>,
    /// When the receiver had the last byte, ns.
    pub delivered_ns: Option<i64>,
    /// Completion time in an empty network, ns.
    pub ideal_fct_ns: i64,
    /// `fct_ns` / `ideal_fct_ns`, before rounding.
    pub slowdown: Option<f64>,
    /// Payload sent, bytes: first transmissions, parity and retransmissions.
    pub sent_bytes: u64,
    /// Parity in `sent_bytes`.
    pub parity_bytes: u64,
    /// Retransmissions in `sent_bytes`.
    pub retransmitted_bytes: u64,
    /// Data packets that arrived with a mark.
    pub marked_packets: u64,
    /// Data packets that arrived trimmed, at their receiver or back at their sender.
    pub trimmed_packets: u64,
    /// Data packets that did not arrive.
    pub dropped_packets: u64,
    /// Time-outs that ran out: of packets, or of the flow, by the recovery policy.
    pub timeouts: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Coded blocks that needed a repair.
    pub blocks_undecodable: u64,
}

/// A row of `ports.parquet`.
#[derive(Clone, PartialEq, Debug)]
pub struct PortRow {
    /// `FROM->TO#n`.
    pub port: String,
    /// Its tier: `host_up`, `host_down`, `fabric`, `border` or `wan`; empty in tables that earlier versions
    /// wrote.
    pub tier: Arc<str>,
    /// The sites that it joins: of the node that sends, and of the one that receives.
    pub sites: [u32; 2],
    /// Bytes sent, headers included.
    pub bytes: u64,
    /// Packets dropped by a full buffer, or lost by a fault.
    pub drops: u64,
    /// Those in `drops` that a fault lost; zero in tables that earlier versions wrote.
    pub losses: u64,
    /// Data packets marked here.
    pub marks: u64,
    /// Data packets trimmed here.
    pub trims: u64,
    /// Largest data queue, bytes.
    pub max_queue_bytes: u64,
    /// Time-weighted mean of the data queue, bytes.
    pub mean_queue_bytes: f64,
    /// Busy time over run time.
    pub utilization: f64,
    /// How often the switch at its far end paused it; zero in tables that earlier versions wrote.
    pub pauses: u64,
    /// How long it was paused, ns; zero in tables that earlier versions wrote.
    pub paused_ns: i64,
    /// The link's faults, each with its time; empty without any, and in tables that earlier versions wrote.
    pub faults: Arc<str>,
}

/// A row of `series.parquet`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SeriesRow<'a> {
    /// When, ns.
    pub t_ns: i64,
    /// Name of the probe: `rate`, `cwnd`, `queue`, ...
    pub probe: &'a str,
    /// Whose: a flow id or the name of a port.
    pub id: &'a str,
    /// How much, in the unit of the probe.
    pub value: f64,
}

/// The rows of `flows.parquet`.
///
/// # Errors
/// If the file is not there, is no such table, or is damaged.
pub fn read_flows(path: &Path) -> Result<Vec<FlowRow>, ReadError> {
    let mut rows = Vec::new();
    let mut words = Words::default();
    batches(path, &mut |batch| {
        let count = |name| batch.numbers::<UInt64Type>(name);
        let time = |name| batch.numbers::<Int64Type>(name);
        let (id, size, sent) = (count("flow_id")?, count("size_bytes")?, count("sent_bytes")?);
        let (src, dst) = (batch.numbers::<UInt32Type>("src")?, batch.numbers::<UInt32Type>("dst")?);
        let (class, tag) = (batch.text("class")?, batch.text("tag")?);
        let measured = batch.of("measured", |column| column.as_boolean_opt())?;
        let (start, fct) = (time("start_ns")?, time("fct_ns")?);
        let (delivered, ideal) = (time("delivered_ns")?, time("ideal_fct_ns")?);
        let slowdown = batch.numbers::<Float64Type>("slowdown")?;
        let (parity, resent) = (count("parity_bytes")?, count("retransmitted_bytes")?);
        let (marked, trimmed) = (count("marked_packets")?, count("trimmed_packets")?);
        let (dropped, timeouts) = (count("dropped_packets")?, count("timeouts")?);
        let (nacks, undecodable) = (count("nacks")?, count("blocks_undecodable")?);
        rows.extend((0..batch.rows()).map(|i| FlowRow {
            flow_id: id.value(i),
            src: src.value(i),
            dst: dst.value(i),
            class: words.shared(class.value(i)),
            tag: words.shared(tag.value(i)),
            measured: measured.value(i),
            size_bytes: size.value(i),
            start_ns: start.is_valid(i).then(|| start.value(i)),
            fct_ns: fct.is_valid(i).then(|| fct.value(i)),
            delivered_ns: delivered.is_valid(i).then(|| delivered.value(i)),
            ideal_fct_ns: ideal.value(i),
            slowdown: slowdown.is_valid(i).then(|| slowdown.value(i)),
            sent_bytes: sent.value(i),
            parity_bytes: parity.value(i),
            retransmitted_bytes: resent.value(i),
            marked_packets: marked.value(i),
            trimmed_packets: trimmed.value(i),
            dropped_packets: dropped.value(i),
            timeouts: timeouts.value(i),
            nacks: nacks.value(i),
            blocks_undecodable: undecodable.value(i),
        }));
        Ok(())
    })?;
    Ok(rows)
}

/// The rows of `ports.parquet`.
///
/// # Errors
/// As [`read_flows`].
pub fn read_ports(path: &Path) -> Result<Vec<PortRow>, ReadError> {
    let mut rows = Vec::new();
    let mut words = Words::default();
    batches(path, &mut |batch| {
        let count = |name| batch.numbers::<UInt64Type>(name);
        let share = |name| batch.numbers::<Float64Type>(name);
        let port = batch.text("port")?;
        let (bytes, drops, marks) = (count("bytes")?, count("drops")?, count("marks")?);
        let (trims, max_queue) = (count("trims")?, count("max_queue_bytes")?);
        let (mean_queue, utilization) = (share("mean_queue_bytes")?, share("utilization")?);
        // Earlier tables do not say where a port stands.
        let tier = batch.text("tier").ok();
        let (faults, losses) = (batch.text("faults").ok(), count("losses").ok());
        let (pauses, paused) = (count("pauses").ok(), batch.numbers::<Int64Type>("paused_ns").ok());
        let site = |name| batch.numbers::<UInt32Type>(name).ok();
        let sites = [site("from_site"), site("to_site")];
        rows.extend((0..batch.rows()).map(|i| PortRow {
            port: port.value(i).to_owned(),
            tier: words.shared(tier.map_or("", |tier| tier.value(i))),
            sites: sites.map(|site| site.map_or(0, |site| site.value(i))),
            bytes: bytes.value(i),
            drops: drops.value(i),
            losses: losses.map_or(0, |losses| losses.value(i)),
            marks: marks.value(i),
            trims: trims.value(i),
            max_queue_bytes: max_queue.value(i),
            mean_queue_bytes: mean_queue.value(i),
            utilization: utilization.value(i),
            pauses: pauses.map_or(0, |pauses| pauses.value(i)),
            paused_ns: paused.map_or(0, |paused| paused.value(i)),
            faults: words.shared(faults.map_or("", |faults| faults.value(i))),
        }));
        Ok(())
    })?;
    Ok(rows)
}

/// Hands `each` the rows of `series.parquet`, in order: there can be more of them than fit in memory.
///
/// # Errors
/// As [`read_flows`].
pub fn read_series(path: &Path, each: &mut dyn FnMut(SeriesRow)) -> Result<(), ReadError> {
    batches(path, &mut |batch| {
        let (t, value) = (batch.numbers::<Int64Type>("t_ns")?, batch.numbers::<Float64Type>("value")?);
        let (probe, id) = (batch.text("probe")?, batch.text("id")?);
        for i in 0..batch.rows() {
            each(SeriesRow {
                t_ns: t.value(i),
                probe: probe.value(i),
                id: id.value(i),
                value: value.value(i),
            });
        }
        Ok(())
    })
}

/// How many rows a table has, without reading them.
///
/// # Errors
/// As [`read_flows`].
pub fn count_rows(path: &Path) -> Result<u64, ReadError> {
    let rows = open(path)?.metadata().file_metadata().num_rows();
    Ok(u64::try_from(rows).unwrap_or(0))
}

/// Rows that are decoded at a time.
const BATCH: usize = 1 << 16;

/// Any table as it is, with the units in its fields.
///
/// # Errors
/// If the file is not there, is no Parquet file, or is damaged.
pub fn read_table(path: &Path) -> Result<(SchemaRef, Vec<RecordBatch>), ReadError> {
    let reader = reader(path)?;
    let schema = reader.schema();
    let batches = reader.collect::<Result<_, _>>().map_err(|error| undecodable(path, &error))?;
    Ok((schema, batches))
}

/// A row of `runs.parquet`, the data set of a sweep.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RunRow {
    /// The run's folder.
    pub run: String,
    /// `done`, `failed` or `not_run`.
    pub status: String,
    /// Values of the keys that the sweep varies, as text; those that a run does not have are left out.
    pub parameters: Vec<(String, String)>,
}

/// The rows of the data set of a sweep.
///
/// # Errors
/// If it is not such a table, or cannot be read.
pub fn read_runs(path: &Path) -> Result<Vec<RunRow>, ReadError> {
    let mut rows = Vec::new();
    batches(path, &mut |batch| {
        let (run, status) = (batch.text("run")?, batch.text("status")?);
        let parameters = batch.parameters();
        let of = |i: usize| {
            let texts = parameters.iter().filter_map(|(name, array)| Some((name.clone(), shown(*array, i)?)));
            texts.collect()
        };
        rows.extend((0..batch.rows()).map(|i| RunRow {
            run: run.value(i).to_owned(),
            status: status.value(i).to_owned(),
            parameters: of(i),
        }));
        Ok(())
    })?;
    Ok(rows)
}

/// A cell of a parameter as text.
fn shown(array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let text = array.as_string_opt::<i32>().map(|texts| texts.value(row).to_owned());
    let whole = || Some(array.as_primitive_opt::<Int64Type>()?.value(row).to_string());
    let real = || Some(array.as_primitive_opt::<Float64Type>()?.value(row).to_string());
    let flag = || Some(array.as_boolean_opt()?.value(row).to_string());
    text.or_else(whole).or_else(real).or_else(flag)
}

/// Some rows of a table.
struct Batch<'a> {
    path: &'a Path,
    columns: RecordBatch,
}

impl Batch<'_> {
    fn rows(&self) -> usize {
        self.columns.num_rows()
    }

    /// The columns of the parameters in the data set of a sweep; they stand between the seed and the status. A quantity has a
    /// second one, a number in a unit that its name ends with.
    fn parameters(&self) -> Vec<(String, &dyn Array)> {
        let schema = self.columns.schema_ref();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let place = |name: &str| names.iter().position(|known| *known == name);
        let (Some(seed), Some(status)) = (place("seed"), place("status")) else { return Vec::new() };
        let again = |name: &str| {
            let bare = ["_bytes", "_us", "_bps"].iter().find_map(|unit| name.strip_suffix(unit));
            bare.is_some_and(|bare| names.contains(&bare))
        };
        let own = (seed + 1..status).filter(|at| !again(names[*at]));
        own.map(|at| (names[at].to_owned(), self.columns.column(at).as_ref())).collect()
    }

    fn of<'b, A>(
        &'b self,
        column: &'static str,
        cast: impl Fn(&'b dyn Array) -> Option<&'b A>,
    ) -> Result<&'b A, ReadError> {
        let found = self.columns.column_by_name(column).and_then(|array| cast(array.as_ref()));
        found.ok_or_else(|| ReadError::Column { path: self.path.display().to_string(), column })
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        column: &'static str,
    ) -> Result<&arrow_array::PrimitiveArray<T>, ReadError> {
        self.of(column, |array| array.as_primitive_opt::<T>())
    }

    fn text(&self, column: &'static str) -> Result<&arrow_array::StringArray, ReadError> {
        self.of(column, |array| array.as_string_opt::<i32>())
    }
}

fn open(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, ReadError> {
    let name = || path.display().to_string();
    let file = farspan_files::open(path).map_err(|source| ReadError::Io { path: name(), source })?;
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| undecodable(path, &error))
}

fn reader(path: &Path) -> Result<ParquetRecordBatchReader, ReadError> {
    open(path)?.with_batch_size(BATCH).build().map_err(|error| undecodable(path, &error))
}

fn undecodable(path: &Path, problem: &dyn std::error::Error) -> ReadError {
    ReadError::Decode { path: path.display().to_string(), problem: problem.to_string() }
}

fn batches(path: &Path, each: &mut dyn FnMut(&Batch) -> Result<(), ReadError>) -> Result<(), ReadError> {
    for columns in reader(path)? {
        each(&Batch { path, columns: columns.map_err(|error| undecodable(path, &error))? })?;
    }
    Ok(())
}

/// Interned strings: each distinct one is stored once.
#[derive(Default)]
struct Words(BTreeMap<String, Arc<str>>);

impl Words {
    fn shared(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.0.get(word) {
            return Arc::clone(known);
        }
        let new: Arc<str> = word.into();
        self.0.insert(word.to_owned(), Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{flow, port};
    use crate::{
        DynamicColumn, DynamicValues, FlowTable, PortRecord, PortTable, Probe, SeriesId, SeriesRecord,
        SeriesTable, save_columns,
    };
    use farspan_units::{FlowId, Time};

    fn file(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("farspan-read-{}-{name}", std::process::id()))
    }

    #[test]
    fn flows_come_back() {
        let mut open = flow(1, 5);
        let end = &mut open.outcome;
        (end.finish, end.delivered, end.started) = (None, None, false);
        let path = file("flows.parquet");
        FlowTable::save(&path, &[flow(0, 20), open]).unwrap();
        let rows = read_flows(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(
            (rows[0].fct_ns, rows[0].ideal_fct_ns, rows[0].slowdown),
            (Some(20_000), 10_000, Some(2.0))
        );
        assert_eq!((&*rows[0].class, &*rows[0].tag, rows[0].size_bytes), ("intra", "test", 4096));
        assert_eq!(
            (rows[1].flow_id, rows[1].start_ns, rows[1].fct_ns, rows[1].slowdown),
            (1, None, None, None)
        );
    }

    #[test]
    fn a_sweeps_runs_come_back_with_what_it_varies() {
        let text = |name: &str, values: [Option<&str>; 2]| DynamicColumn {
            name: name.to_owned(),
            values: DynamicValues::Text(values.map(|value| value.map(str::to_owned)).into()),
        };
        let columns = [
            text("run", [Some("a"), Some("b")]),
            DynamicColumn { name: "seed".to_owned(), values: DynamicValues::Whole(vec![Some(1), Some(2)]) },
            text("topology.wan.rtt", [Some("1ms"), None]),
            DynamicColumn {
                name: "topology.wan.rtt_us".to_owned(),
                values: DynamicValues::Real(vec![Some(1e3), None]),
            },
            DynamicColumn {
                name: "topology.k".to_owned(),
                values: DynamicValues::Whole(vec![Some(4), Some(8)]),
            },
            DynamicColumn {
                name: "workload.load".to_owned(),
                values: DynamicValues::Real(vec![Some(0.4), Some(0.5)]),
            },
            text("status", [Some("done"), Some("failed")]),
            text("error", [None, Some("e")]),
        ];
        let path = file("runs.parquet");
        save_columns(&path, &columns).unwrap();
        let rows = read_runs(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let said = |row: &RunRow| {
            row.parameters.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said(&rows[0]), "topology.wan.rtt=1ms topology.k=4 workload.load=0.4");
        assert_eq!(said(&rows[1]), "topology.k=8 workload.load=0.5");
        assert_eq!((rows[1].run.as_str(), rows[1].status.as_str()), ("b", "failed"));
    }

    #[test]
    fn ports_and_series_come_back() {
        let faults = "black_hole from 0ns".to_owned();
        let port = PortRecord { tier: "wan", sites: [0, 2], faults, ..port("a->b#0") };
        let path = file("ports.parquet");
        PortTable::save(&path, &[port]).unwrap();
        let rows = read_ports(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!((rows[0].port.as_str(), rows[0].drops, rows[0].utilization), ("a->b#0", 3, 0.75));
        assert_eq!((&*rows[0].tier, rows[0].sites), ("wan", [0, 2]));
        assert_eq!((&*rows[0].faults, rows[0].losses), ("black_hole from 0ns", 1));

        let sample = |ns: u64, value| SeriesRecord {
            t: Time::from_ps(ns * 1000),
            probe: Probe::Rate,
            id: SeriesId::Flow(FlowId(3)),
            value,
        };
        let path = file("series.parquet");
        SeriesTable::save(&path, &[sample(1, 0.5), sample(2, 0.75)]).unwrap();
        assert_eq!(count_rows(&path).unwrap(), 2);
        let mut seen = Vec::new();
        read_series(&path, &mut |row| {
            seen.push((row.t_ns, row.probe.to_owned(), row.id.to_owned(), row.value));
        })
        .unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(seen[1], (2, "rate".to_owned(), "3".to_owned(), 0.75));
        assert_eq!(seen.len(), 2);
    }

    #[test]
    fn a_whole_table_comes_back_with_its_units() {
        let path = file("whole.parquet");
        FlowTable::save(&path, &[flow(0, 20), flow(1, 5)]).unwrap();
        let (schema, batches) = read_table(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(schema.field_with_name("fct_ns").unwrap().metadata()["unit"], "ns");
        assert_eq!(batches, [crate::Record::batch(&[flow(0, 20), flow(1, 5)])]);
    }

    #[test]
    fn what_is_no_such_table_is_named() {
        let path = file("wrong.parquet");
        std::fs::write(&path, "hello").unwrap();
        let message = read_flows(&path).unwrap_err().to_string();
        assert!(message.contains("wrong.parquet: is not a readable Parquet file"), "{message}");
        FlowTable::save(&path, &[flow(0, 20)]).unwrap();
        let message = read_ports(&path).unwrap_err().to_string();
        assert!(message.contains("column port is missing"), "{message}");
        std::fs::remove_file(&path).unwrap();
        let message = read_flows(&path).unwrap_err().to_string();
        assert!(message.contains("cannot be read"), "{message}");
    }
}
