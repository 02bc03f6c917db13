//! Parquet tables: `flows.parquet`, `ports.parquet`, `series.parquet`, `collectives.parquet`.
//!
//! A table is written under a temporary name and renamed when it is complete: a file with the right name is always
//! readable. Units stand in each field's metadata, under `unit`.

use crate::{FlowRecord, IterationRecord, PortRecord, Probe, SeriesRecord};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use farspan_units::{Duration, Time};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows that are turned into columns at a time.
const BATCH: usize = 1 << 16;
/// Rows of a row group: what a writer holds in memory.
const ROW_GROUP: usize = 1 << 18;

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file system refuses.
    #[error("{path}: cannot be written ({source}); choose another --out, or make room")]
    Io {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The encoder refuses.
    #[error("{path}: cannot be encoded ({source}); choose another --out, or make room")]
    Encode {
        /// The file.
        path: String,
        /// What the encoder says.
        source: parquet::errors::ParquetError,
    },
}

/// A row of a table.
pub trait Record: Sized {
    /// Names, types and units of the columns.
    fn schema() -> SchemaRef;

    /// The columns of some rows, in the order of the schema.
    fn columns(records: &[Self]) -> Vec<ArrayRef>;

    /// Rows as an Arrow batch.
    #[must_use]
    fn batch(records: &[Self]) -> RecordBatch {
        RecordBatch::try_new(Self::schema(), Self::columns(records))
            .expect("columns have the types of the schema and the length of the records")
    }
}

/// Writer of `flows.parquet`.
pub type FlowTable = Table<FlowRecord>;
/// Writer of `ports.parquet`.
pub type PortTable = Table<PortRecord>;
/// Writer of `series.parquet`.
pub type SeriesTable = Table<SeriesRecord>;
/// Writer of `collectives.parquet`.
pub type IterationTable = Table<IterationRecord>;

/// A Parquet file being written, in row groups, compressed with zstd. Dropped before [`Table::finish`], it leaves
/// nothing behind.
pub struct Table<R> {
    path: PathBuf,
    temporary: PathBuf,
    /// `None` once finished.
    writer: Option<ArrowWriter<File>>,
    rows: PhantomData<R>,
}

impl<R: Record> Table<R> {
    /// Begins the table at `path`, under a temporary name beside it.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        let mut name = path.as_os_str().to_owned();
        name.push(".partial");
        let temporary = PathBuf::from(name);
        let file = File::create(&temporary).map_err(|e| io(&temporary, e))?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .build();
        let writer =
            ArrowWriter::try_new(file, R::schema(), Some(properties)).map_err(|e| encode(path, e))?;
        Ok(Self { path: path.to_owned(), temporary, writer: Some(writer), rows: PhantomData })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, records: &[R]) -> Result<(), TableError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        for rows in records.chunks(BATCH) {
            writer.write(&R::batch(rows)).map_err(|e| encode(&self.path, e))?;
        }
        Ok(())
    }

    /// Completes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written or renamed.
    pub fn finish(mut self) -> Result<(), TableError> {
        if let Some(writer) = self.writer.take() {
            let closed = writer.close().map_err(|e| encode(&self.path, e)).map(drop);
            let renamed = closed
                .and_then(|()| std::fs::rename(&self.temporary, &self.path).map_err(|e| io(&self.path, e)));
            if renamed.is_err() {
                remove(&self.temporary);
            }
            return renamed;
        }
        Ok(())
    }

    /// Writes a whole table at once.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(path: &Path, records: &[R]) -> Result<(), TableError> {
        let mut table = Self::create(path)?;
        table.write(records)?;
        table.finish()
    }
}

impl<R> Drop for Table<R> {
    fn drop(&mut self) {
        if self.writer.take().is_some() {
            remove(&self.temporary);
        }
    }
}

/// Removes a temporary file; if that fails too, there is nobody left to tell.
fn remove(temporary: &Path) {
    let _ = std::fs::remove_file(temporary);
}

fn io(path: &Path, source: std::io::Error) -> TableError {
    TableError::Io { path: path.display().to_string(), source }
}

fn encode(path: &Path, source: parquet::errors::ParquetError) -> TableError {
    TableError::Encode { path: path.display().to_string(), source }
}

/// A field that is never null; an empty unit means none.
fn field(name: &str, kind: DataType, unit: &str) -> Field {
    let field = Field::new(name, kind, false);
    if unit.is_empty() { field } else { field.with_metadata([("unit".to_owned(), unit.to_owned())]) }
}

fn nullable(name: &str, kind: DataType, unit: &str) -> Field {
    field(name, kind, unit).with_nullable(true)
}

fn strings<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(UInt64Array::from_iter_values(values))
}

fn numbers(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(values))
}

fn floats(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// Whole nanoseconds, rounded down; a number of picoseconds over 1000 always fits.
fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_ns()).expect("2^64 / 1000 is below 2^63")
}

fn instant(t: Time) -> i64 {
    ns(t.since(Time::ZERO))
}

fn times(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

impl Record for FlowRecord {
    fn schema() -> SchemaRef {
        use DataType::{Boolean, Float64, Int64, UInt32, UInt64, Utf8};
        let mut fields = vec![
            field("flow_id", UInt64, ""),
            field("src", UInt32, ""),
            field("dst", UInt32, ""),
            field("class", Utf8, ""),
            field("tag", Utf8, ""),
            field("measured", Boolean, ""),
            field("size_bytes", UInt64, "B"),
            nullable("start_ns", Int64, "ns"),
            nullable("finish_ns", Int64, "ns"),
            nullable("delivered_ns", Int64, "ns"),
            nullable("fct_ns", Int64, "ns"),
            field("ideal_fct_ns", Int64, "ns"),
            nullable("slowdown", Float64, ""),
        ];
        for name in ["sent_bytes", "parity_bytes", "retransmitted_bytes"] {
            fields.push(field(name, UInt64, "B"));
        }
        for name in ["marked_packets", "trimmed_packets", "dropped_packets"] {
            fields.push(field(name, UInt64, "packets"));
        }
        for name in ["timeouts", "nacks", "blocks_undecodable"] {
            fields.push(field(name, UInt64, ""));
        }
        Arc::new(Schema::new(fields))
    }

    fn columns(records: &[Self]) -> Vec<ArrayRef> {
        let count = |of: fn(&Self) -> u64| counts(records.iter().map(of));
        let host = |of: fn(&Self) -> u32| numbers(records.iter().map(of));
        let time = |of: fn(&Self) -> Option<i64>| times(records.iter().map(of));
        vec![
            count(|r| u64::from(r.flow.0)),
            host(|r| r.src.0),
            host(|r| r.dst.0),
            strings(records.iter().map(|r| r.class.name())),
            strings(records.iter().map(|r| &*r.tag)),
            Arc::new(records.iter().map(|r| Some(r.measured)).collect::<BooleanArray>()),
            count(|r| r.size.get()),
            time(|r| r.started.then(|| instant(r.start))),
            time(|r| r.finish.map(instant)),
            time(|r| r.delivered.map(instant)),
            time(|r| r.fct().map(ns)),
            time(|r| Some(ns(r.ideal_fct))),
            Arc::new(records.iter().map(|r| r.fct().map(|d| r.slowdown(d))).collect::<Float64Array>()),
            count(|r| r.sent_bytes.get()),
            count(|r| r.parity_bytes.get()),
            count(|r| r.retransmitted_bytes.get()),
            count(|r| r.marked_packets),
            count(|r| r.trimmed_packets),
            count(|r| r.dropped_packets),
            count(|r| r.timeouts),
            count(|r| r.nacks),
            count(|r| r.blocks_undecodable),
        ]
    }
}

impl Record for PortRecord {
    fn schema() -> SchemaRef {
        use DataType::{Float64, UInt32, UInt64, Utf8};
        Arc::new(Schema::new(vec![
            field("port", Utf8, ""),
            field("bytes", UInt64, "B"),
            field("packets", UInt64, "packets"),
            field("drops", UInt64, "packets"),
            field("marks", UInt64, "packets"),
            field("trims", UInt64, "packets"),
            field("max_queue_bytes", UInt64, "B"),
            field("mean_queue_bytes", Float64, "B"),
            field("utilization", Float64, "fraction"),
            field("losses", UInt64, "packets"),
            field("tier", Utf8, ""),
            field("from_site", UInt32, ""),
            field("to_site", UInt32, ""),
        ]))
    }

    fn columns(records: &[Self]) -> Vec<ArrayRef> {
        let count = |of: fn(&Self) -> u64| counts(records.iter().map(of));
        vec![
            strings(records.iter().map(|r| r.name.as_str())),
            count(|r| r.bytes.get()),
            count(|r| r.packets),
            count(|r| r.drops),
            count(|r| r.marks),
            count(|r| r.trims),
            count(|r| r.max_queue.get()),
            floats(records.iter().map(|r| r.mean_queue)),
            floats(records.iter().map(|r| r.utilization)),
            count(|r| r.losses),
            strings(records.iter().map(|r| r.tier)),
            numbers(records.iter().map(|r| r.sites[0])),
            numbers(records.iter().map(|r| r.sites[1])),
        ]
    }
}

/// The unit of each probe's values: the field's unit depends on the row.
const VALUE_UNIT: &str = "rate bit/s, cwnd B, rtt ns, queue B, phantom_queue B, utilization fraction";

impl Record for IterationRecord {
    fn schema() -> SchemaRef {
        use DataType::{Boolean, Int64, UInt32, Utf8};
        Arc::new(Schema::new(vec![
            field("tag", Utf8, ""),
            field("group", UInt32, ""),
            field("iteration", UInt32, ""),
            field("measured", Boolean, ""),
            nullable("start_ns", Int64, "ns"),
            nullable("end_ns", Int64, "ns"),
            nullable("duration_ns", Int64, "ns"),
            field("ideal_ns", Int64, "ns"),
        ]))
    }

    fn columns(records: &[Self]) -> Vec<ArrayRef> {
        let number = |of: fn(&Self) -> u32| numbers(records.iter().map(of));
        vec![
            strings(records.iter().map(|r| &*r.tag)),
            number(|r| r.group),
            number(|r| r.iteration),
            Arc::new(records.iter().map(|r| Some(r.measured)).collect::<BooleanArray>()),
            times(records.iter().map(|r| r.start.map(instant))),
            times(records.iter().map(|r| r.end.map(instant))),
            times(records.iter().map(|r| r.duration().map(ns))),
            times(records.iter().map(|r| Some(ns(r.ideal)))),
        ]
    }
}

impl Record for SeriesRecord {
    fn schema() -> SchemaRef {
        use DataType::{Float64, Int64, Utf8};
        Arc::new(Schema::new(vec![
            field("t_ns", Int64, "ns"),
            field("probe", Utf8, ""),
            field("id", Utf8, ""),
            field("value", Float64, VALUE_UNIT),
        ]))
    }

    fn columns(records: &[Self]) -> Vec<ArrayRef> {
        let ids: Vec<_> = records.iter().map(|r| r.id.text()).collect();
        vec![
            times(records.iter().map(|r| Some(instant(r.t)))),
            strings(records.iter().map(|r| Probe::name(r.probe))),
            strings(ids.iter().map(|id| &**id)),
            floats(records.iter().map(|r| r.value)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{flow, port};
    use crate::{Class, SeriesId};
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
    use arrow_select::concat::concat_batches;
    use farspan_units::{FlowId, HostId};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use proptest::prelude::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("farspan-table-{}-{name}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }
        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).unwrap();
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn read(path: &Path) -> RecordBatch {
        let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        let schema = builder.schema().clone();
        let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
        concat_batches(&schema, &batches).unwrap()
    }

    fn column<'a>(batch: &'a RecordBatch, name: &str) -> &'a ArrayRef {
        batch.column_by_name(name).unwrap()
    }

    #[test]
    fn columns_have_the_names_and_types_of_the_contract() {
        let names = |schema: &Schema| -> Vec<String> {
            schema.fields().iter().map(|f| format!("{}:{}", f.name(), f.data_type())).collect()
        };
        assert_eq!(
            names(&FlowRecord::schema()).join(" "),
            "flow_id:UInt64 src:UInt32 dst:UInt32 class:Utf8 tag:Utf8 measured:Boolean size_bytes:UInt64 \
             start_ns:Int64 finish_ns:Int64 delivered_ns:Int64 fct_ns:Int64 ideal_fct_ns:Int64 slowdown:Float64 \
             sent_bytes:UInt64 parity_bytes:UInt64 retransmitted_bytes:UInt64 marked_packets:UInt64 \
             trimmed_packets:UInt64 dropped_packets:UInt64 timeouts:UInt64 nacks:UInt64 blocks_undecodable:UInt64"
        );
        assert_eq!(names(&SeriesRecord::schema()).join(" "), "t_ns:Int64 probe:Utf8 id:Utf8 value:Float64");
    }

    #[test]
    fn flows_come_back_as_they_went_in() {
        let folder = Folder::new("flows");
        let path = folder.0.join("flows.parquet");
        let mut open = flow(7, 3);
        (open.finish, open.delivered, open.class, open.measured) = (None, None, Class::Inter, false);
        (open.src, open.tag) = (HostId(130), "bulk".into());
        FlowTable::save(&path, &[flow(6, 25), open]).unwrap();
        let back = read(&path);
        assert_eq!(column(&back, "flow_id").as_primitive::<UInt64Type>().values(), &[6, 7]);
        assert_eq!(column(&back, "class").as_string::<i32>().value(1), "inter");
        assert_eq!(column(&back, "tag").as_string::<i32>().value(1), "bulk");
        assert_eq!(column(&back, "fct_ns").as_primitive::<Int64Type>().value(0), 25_000);
        assert_eq!(column(&back, "slowdown").as_primitive::<Float64Type>().value(0), 2.5);
        for name in ["finish_ns", "delivered_ns", "fct_ns", "slowdown"] {
            assert!(column(&back, name).is_null(1), "{name}");
        }
        assert!(!column(&back, "measured").as_boolean().value(1));
        let schema = back.schema();
        assert_eq!(schema.field_with_name("start_ns").unwrap().metadata()["unit"], "ns");
        assert_eq!(folder.files(), ["flows.parquet"]);
    }

    #[test]
    fn ports_come_back_as_they_went_in() {
        let folder = Folder::new("ports");
        let path = folder.0.join("ports.parquet");
        PortTable::save(&path, &[PortRecord { sites: [1, 2], ..port("tor60->host240#0") }]).unwrap();
        let back = read(&path);
        assert_eq!(column(&back, "port").as_string::<i32>().value(0), "tor60->host240#0");
        let numbers = ["bytes", "packets", "drops", "marks", "trims", "max_queue_bytes", "losses"]
            .map(|n| column(&back, n).as_primitive::<UInt64Type>().value(0));
        assert_eq!(numbers, [10, 2, 3, 4, 5, 6, 1]);
        let sites = ["from_site", "to_site"].map(|n| column(&back, n).as_primitive::<UInt32Type>().value(0));
        assert_eq!((column(&back, "tier").as_string::<i32>().value(0), sites), ("fabric", [1, 2]));
        assert_eq!(column(&back, "mean_queue_bytes").as_primitive::<Float64Type>().value(0), 0.5);
        assert_eq!(column(&back, "utilization").as_primitive::<Float64Type>().value(0), 0.75);
    }

    #[test]
    fn a_table_that_is_not_finished_leaves_nothing_behind() {
        let folder = Folder::new("dropped");
        let path = folder.0.join("flows.parquet");
        let mut table = FlowTable::create(&path).unwrap();
        table.write(&[flow(0, 1)]).unwrap();
        assert_eq!(folder.files(), ["flows.parquet.partial"]);
        drop(table);
        assert!(folder.files().is_empty());
    }

    #[test]
    fn an_empty_table_is_readable() {
        let folder = Folder::new("empty");
        let path = folder.0.join("series.parquet");
        SeriesTable::save(&path, &[]).unwrap();
        assert_eq!(read(&path).num_rows(), 0);
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let error = FlowTable::create(Path::new("/no/such/flows.parquet")).err().unwrap().to_string();
        assert!(error.starts_with("/no/such/flows.parquet.partial: cannot be written"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn series_written_in_pieces_come_back_whole(
            rows in prop::collection::vec((any::<u64>(), 0_u32..9, any::<f64>().prop_filter("comparable", |x| !x.is_nan())), 0..200),
            piece in 1_usize..50,
        ) {
            let sample = |(ps, flow, value): &(u64, u32, f64)| SeriesRecord {
                t: Time::from_ps(*ps),
                probe: if flow % 2 == 0 { Probe::Rate } else { Probe::PhantomQueue },
                id: if flow % 2 == 0 { SeriesId::Flow(FlowId(*flow)) } else { SeriesId::Port("a->b#0".into()) },
                value: *value,
            };
            let records: Vec<SeriesRecord> = rows.iter().map(sample).collect();
            let folder = Folder::new("series");
            let path = folder.0.join("series.parquet");
            let mut table = SeriesTable::create(&path).unwrap();
            for part in records.chunks(piece) {
                table.write(part).unwrap();
            }
            table.finish().unwrap();
            prop_assert_eq!(read(&path).columns().to_vec(), SeriesRecord::columns(&records));
        }
    }
}
