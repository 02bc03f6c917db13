//! Parquet tables: `flows.parquet`, `ports.parquet`, `series.parquet`, `collectives.parquet`.
//!
//! A table is written under a temporary name and renamed when it is complete: a file with the right name is always
//! readable. Units stand in each field's metadata, under `unit`.

use crate::column::{Column, Record};
use crate::{FlowRecord, IterationRecord, PortRecord, SeriesRecord};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use farspan_files::NewFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

/// Rows that are turned into columns at a time.
const BATCH: usize = 1 << 16;
/// Rows of a row group: what a writer holds in memory.
const ROW_GROUP: usize = 1 << 18;

/// Why a table cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// The file system refuses.
    #[error("{path}: cannot be written ({source}); choose another --out, or free disk space")]
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The encoder refuses.
    #[error("{path}: cannot be encoded ({source}); choose another --out, or free disk space")]
    Encode {
        /// The file.
        path: String,
        /// The error of the encoder.
        source: parquet::errors::ParquetError,
    },
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
    writer: Writer,
    rows: PhantomData<R>,
}

impl<R: Record> Table<R> {
    /// Begins the table at `path`, under a temporary name beside it.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path) -> Result<Self, TableError> {
        Ok(Self { writer: Writer::create(path, R::schema())?, rows: PhantomData })
    }

    /// Appends rows.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, records: &[R]) -> Result<(), TableError> {
        records.chunks(BATCH).try_for_each(|rows| self.writer.write(&R::batch(rows)))
    }

    /// Completes the table and gives it its name.
    ///
    /// # Errors
    /// If the file cannot be written or renamed.
    pub fn finish(self) -> Result<(), TableError> {
        self.writer.finish()
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

/// How every table is written.
pub(crate) fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ROW_GROUP))
        .build()
}

/// A Parquet file of any columns being written. Dropped before [`Writer::finish`], it leaves nothing behind.
pub(crate) struct Writer {
    path: PathBuf,
    writer: ArrowWriter<NewFile>,
}

impl Writer {
    pub(crate) fn create(path: &Path, schema: SchemaRef) -> Result<Self, TableError> {
        let file = NewFile::at(path).map_err(|e| io(path, e))?;
        let writer = ArrowWriter::try_new(file, schema, Some(properties())).map_err(|e| encode(path, e))?;
        Ok(Self { path: path.to_owned(), writer })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        self.writer.write(batch).map_err(|e| encode(&self.path, e))
    }

    pub(crate) fn finish(self) -> Result<(), TableError> {
        let file = self.writer.into_inner().map_err(|e| encode(&self.path, e))?;
        file.finish().map_err(|e| io(&self.path, e))
    }
}

fn io(path: &Path, source: std::io::Error) -> TableError {
    TableError::Io { path: path.display().to_string(), source }
}

fn encode(path: &Path, source: parquet::errors::ParquetError) -> TableError {
    TableError::Encode { path: path.display().to_string(), source }
}

impl Record for FlowRecord {
    const COLUMNS: &'static [Column<Self>] = &[
        Column::count("flow_id", "", |r| u64::from(r.flow.0)),
        Column::number("src", "", |r| r.outcome.src.0),
        Column::number("dst", "", |r| r.outcome.dst.0),
        Column::text("class", "", |r| r.outcome.class.name().into()),
        Column::text("tag", "", |r| (&*r.tag).into()),
        Column::flag("measured", "", |r| r.measured),
        Column::count("size_bytes", "B", |r| r.outcome.size.get()),
        Column::optional_instant("start_ns", "ns", |r| r.outcome.started.then_some(r.outcome.start)),
        Column::optional_instant("finish_ns", "ns", |r| r.outcome.finish),
        Column::optional_instant("delivered_ns", "ns", |r| r.outcome.delivered),
        Column::optional_span("fct_ns", "ns", |r| r.outcome.fct()),
        Column::span("ideal_fct_ns", "ns", |r| r.outcome.ideal_fct),
        Column::optional_float("slowdown", "", |r| r.outcome.fct().map(|fct| r.outcome.slowdown(fct))),
        Column::count("sent_bytes", "B", |r| r.outcome.sender.sent_bytes.get()),
        Column::count("parity_bytes", "B", |r| r.outcome.sender.parity_bytes.get()),
        Column::count("retransmitted_bytes", "B", |r| r.outcome.sender.retransmitted_bytes.get()),
        Column::count("marked_packets", "packets", FlowRecord::marked_packets),
        Column::count("trimmed_packets", "packets", FlowRecord::trimmed_packets),
        Column::count("dropped_packets", "packets", |r| r.outcome.dropped_packets),
        Column::count("timeouts", "", |r| r.outcome.sender.timeouts),
        Column::count("nacks", "", |r| r.outcome.sender.nacks),
        Column::count("blocks_undecodable", "", |r| r.outcome.sender.blocks_undecodable),
        Column::optional_instant("went_direct_ns", "ns", |r| r.outcome.went_direct),
        Column::optional_float("goodput_bps", "bit/s", |r| r.goodput.map(|rate| rate.as_bps() as f64)),
    ];
}

impl Record for PortRecord {
    const COLUMNS: &'static [Column<Self>] = &[
        Column::text("port", "", |r| r.name.as_str().into()),
        Column::count("bytes", "B", |r| r.bytes.get()),
        Column::count("packets", "packets", |r| r.packets),
        Column::count("drops", "packets", |r| r.drops),
        Column::count("marks", "packets", |r| r.marks),
        Column::count("trims", "packets", |r| r.trims),
        Column::count("max_queue_bytes", "B", |r| r.max_queue.get()),
        Column::float("mean_queue_bytes", "B", |r| r.mean_queue),
        Column::float("utilization", "fraction", |r| r.utilization),
        Column::count("losses", "packets", |r| r.losses),
        Column::text("tier", "", |r| r.tier.into()),
        Column::number("from_site", "", |r| r.sites[0]),
        Column::number("to_site", "", |r| r.sites[1]),
        Column::text("faults", "", |r| r.faults.as_str().into()),
        Column::count("pauses", "", |r| r.pauses),
        Column::span("paused_ns", "ns", |r| r.paused),
    ];
}

impl Record for IterationRecord {
    const COLUMNS: &'static [Column<Self>] = &[
        Column::text("tag", "", |r| (&*r.tag).into()),
        Column::number("group", "", |r| r.group),
        Column::number("iteration", "", |r| r.iteration),
        Column::flag("measured", "", |r| r.measured),
        Column::optional_instant("start_ns", "ns", |r| r.start),
        Column::optional_instant("end_ns", "ns", |r| r.end),
        Column::optional_span("duration_ns", "ns", Self::duration),
        Column::span("ideal_ns", "ns", |r| r.ideal),
    ];
}

/// The unit of each probe's values: the field's unit depends on the row.
const VALUE_UNIT: &str =
    "rate bit/s, cwnd B, rtt ns, queue B, phantom_queue B, utilization fraction, proxy_queue B, signal 1";

impl Record for SeriesRecord {
    const COLUMNS: &'static [Column<Self>] = &[
        Column::instant("t_ns", "ns", |r| r.t),
        Column::text("probe", "", |r| r.probe.name().into()),
        Column::text("id", "", |r| r.id.text()),
        Column::float("value", VALUE_UNIT, |r| r.value),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing::{flow, port};
    use crate::{Class, Probe, SeriesId};
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
    use arrow_array::{Array, ArrayRef};
    use arrow_schema::Schema;
    use arrow_select::concat::concat_batches;
    use farspan_units::{FlowId, HostId, Time};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use proptest::prelude::*;
    use std::fs::File;

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
             trimmed_packets:UInt64 dropped_packets:UInt64 timeouts:UInt64 nacks:UInt64 blocks_undecodable:UInt64 \
             went_direct_ns:Int64 goodput_bps:Float64"
        );
        assert_eq!(names(&SeriesRecord::schema()).join(" "), "t_ns:Int64 probe:Utf8 id:Utf8 value:Float64");
    }

    #[test]
    fn flows_come_back_as_they_went_in() {
        let folder = Folder::new("flows");
        let path = folder.0.join("flows.parquet");
        let mut open = flow(7, 3);
        (open.measured, open.tag) = (false, "bulk".into());
        let end = &mut open.outcome;
        (end.src, end.class, end.finish, end.delivered) = (HostId(130), Class::Inter, None, None);
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
        let numbers = ["bytes", "packets", "drops", "marks", "trims", "max_queue_bytes", "losses", "pauses"]
            .map(|n| column(&back, n).as_primitive::<UInt64Type>().value(0));
        assert_eq!(numbers, [10, 2, 3, 4, 5, 6, 1, 7]);
        assert_eq!(column(&back, "paused_ns").as_primitive::<Int64Type>().value(0), 8);
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
        assert!(folder.files()[0].ends_with(".farspan-partial"));
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
        assert!(error.starts_with("/no/such/flows.parquet: cannot be written (No such file"), "{error}");
        assert!(!error.contains("partial"), "{error}");
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
            prop_assert_eq!(read(&path).columns().to_vec(), SeriesRecord::batch(&records).columns().to_vec());
        }
    }
}
