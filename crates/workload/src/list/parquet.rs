//! Flow lists in Parquet.

use super::waits::{ROWS, row_numbers};
use super::{COLUMNS, ListError, Place, Placed, Row, locate};
use crate::input::free_memory;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

thread_local! {
    /// Whether this thread is in the parquet crate.
    static DECODES: Cell<bool> = const { Cell::new(false) };
}

/// Runs a step of the parquet crate, which panics where a file contradicts itself: that is an error of the file, and nothing
/// is printed of it.
fn decode<T, E: ToString>(step: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !DECODES.get() {
                before(info);
            }
        }));
    });
    DECODES.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(step));
    DECODES.set(false);
    done.map_or_else(|_| Err("it contradicts itself".to_owned()), |done| done.map_err(|e| e.to_string()))
}

/// The rows of a list.
pub(super) fn rows(path: &Path, file: &str) -> Result<Vec<Placed>, ListError> {
    let opened = farspan_files::open(path)
        .map_err(|e| ListError::Unreadable { file: file.to_owned(), reason: e.to_string() })?;
    let broken = |reason: String| ListError::NotParquet { file: file.to_owned(), reason };
    let builder = decode(|| ParquetRecordBatchReaderBuilder::try_new(opened)).map_err(broken)?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
    let needed = rows.saturating_mul(size_of::<Placed>() as u64);
    if free_memory().is_some_and(|free| needed > free) {
        let reason = format!("{rows} rows take {} MiB, more than is free here", needed >> 20);
        return Err(ListError::Unreadable { file: file.to_owned(), reason });
    }
    let schema = builder.schema().clone();
    let positions = locate(schema.fields().iter().map(|f| f.name().as_str()), file)?;
    let mut reader = decode(|| builder.build()).map_err(broken)?;
    let mut rows = Vec::new();
    while let Some(batch) = decode(|| reader.next().transpose()).map_err(broken)? {
        append(&mut rows, &batch, file, &positions)?;
    }
    Ok(rows)
}

fn append(
    rows: &mut Vec<Placed>,
    batch: &RecordBatch,
    file: &str,
    positions: &[Option<usize>; COLUMNS.len()],
) -> Result<(), ListError> {
    let column = |c: usize| positions[c].map(|i| batch.column(i));
    let numbers = |c: usize| column(c).map(|array| Numbers::new(array, c, file)).transpose();
    let columns = [numbers(0)?, numbers(1)?, numbers(2)?, numbers(3)?];
    let waits = |c: usize| column(c).map(|array| waits(array, c, file)).transpose();
    let waits = [waits(5)?, waits(6)?];
    let strings = |c: usize| column(c).map(|array| strings(array, c, file)).transpose();
    let strings = [strings(4)?, strings(7)?, strings(8)?];
    for i in 0..batch.num_rows() {
        let place = Place::Row(rows.len() as u64);
        let get = |c: usize| columns[c].as_ref().map_or(Ok(None), |n| n.get(i, place, file));
        let needed = |c: usize| {
            get(c)?.ok_or_else(|| ListError::Value {
                place: place.of(file),
                column: COLUMNS[c],
                found: "null".to_owned(),
                expected: EXPECTED,
            })
        };
        let text = |c: usize| strings[c].as_ref().and_then(|text| text[i].clone()).filter(|t| !t.is_empty());
        let after = |c: usize| waits[c].as_ref().map_or(Ok(Vec::new()), |waits| waits.get(i, place, file));
        let row = Row {
            src: needed(0)?,
            dst: needed(1)?,
            size_bytes: needed(2)?,
            start_ns: needed(3)?,
            tag: text(0),
            after: after(0)?,
            after_delivered: after(1)?,
            barrier: text(1),
            queue: text(2),
        };
        rows.push((place, row));
    }
    Ok(())
}

/// A column of row numbers: one a row, or text with several.
enum Waits {
    One(Numbers),
    Several { name: &'static str, texts: Vec<Option<String>> },
}

fn waits(array: &ArrayRef, column: usize, file: &str) -> Result<Waits, ListError> {
    if array.data_type().is_integer() {
        return Numbers::new(array, column, file).map(Waits::One);
    }
    let texts = strings(array, column, file)?;
    Ok(Waits::Several { name: COLUMNS[column], texts })
}

impl Waits {
    fn get(&self, i: usize, place: Place, file: &str) -> Result<Vec<u64>, ListError> {
        match self {
            Self::One(numbers) => Ok(numbers.get(i, place, file)?.into_iter().collect()),
            Self::Several { name, texts } => {
                let text = texts[i].as_deref().unwrap_or_default();
                row_numbers(text).ok_or_else(|| ListError::Value {
                    place: place.of(file),
                    column: name,
                    found: text.to_owned(),
                    expected: ROWS,
                })
            }
        }
    }
}

const EXPECTED: &str = "a whole number, not negative";

/// A column of integers of any width.
struct Numbers {
    name: &'static str,
    values: Vec<Option<i128>>,
}

impl Numbers {
    fn new(array: &ArrayRef, column: usize, file: &str) -> Result<Self, ListError> {
        macro_rules! widths {
            ($($width:ident => $native:ident),*) => {
                match array.data_type() {
                    $(DataType::$width => Some(
                        array.as_primitive::<$native>().iter().map(|value| value.map(i128::from)).collect(),
                    ),)*
                    _ => None,
                }
            };
        }
        let values = widths!(
            Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
            UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type
        );
        let name = COLUMNS[column];
        let found = array.data_type().to_string();
        let wrong = ListError::ColumnType { place: file.to_owned(), name, found, expected: "integers" };
        values.map(|values| Self { name, values }).ok_or(wrong)
    }

    fn get(&self, i: usize, place: Place, file: &str) -> Result<Option<u64>, ListError> {
        let number = |value: i128| {
            u64::try_from(value).map_err(|_| ListError::Value {
                place: place.of(file),
                column: self.name,
                found: value.to_string(),
                expected: EXPECTED,
            })
        };
        self.values[i].map(number).transpose()
    }
}

/// A column of text, whichever width its offsets have.
fn strings(array: &ArrayRef, column: usize, file: &str) -> Result<Vec<Option<String>>, ListError> {
    let owned = |tag: Option<&str>| tag.map(str::to_owned);
    match array.data_type() {
        DataType::Utf8 => Ok(array.as_string::<i32>().iter().map(owned).collect()),
        DataType::LargeUtf8 => Ok(array.as_string::<i64>().iter().map(owned).collect()),
        DataType::Utf8View => Ok(array.as_string_view().iter().map(owned).collect()),
        DataType::Null => Ok(vec![None; array.len()]),
        other => Err(ListError::ColumnType {
            place: file.to_owned(),
            name: COLUMNS[column],
            found: other.to_string(),
            expected: "plain strings",
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::Sites;
    use crate::list::{ListError, read};
    use arrow_array::{
        ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, UInt64Array,
    };
    use parquet::arrow::ArrowWriter;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn write(name: &str, columns: Vec<(&str, ArrayRef)>) -> PathBuf {
        let path = std::env::temp_dir().join(format!("farspan-{}-{name}.parquet", std::process::id()));
        let batch =
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    }

    fn read_and_remove(path: &PathBuf) -> Result<crate::Part, ListError> {
        let part = read(path, &Sites::new(vec![0..8, 8..16]).unwrap(), 0, "list");
        std::fs::remove_file(path).unwrap();
        part
    }

    fn ints(values: &[i64]) -> ArrayRef {
        Arc::new(Int64Array::from(values.to_vec()))
    }

    #[test]
    fn integer_columns_of_any_width_and_null_tags_are_read() {
        let path = write(
            "good",
            vec![
                ("src", Arc::new(Int32Array::from(vec![0, 1]))),
                ("dst", ints(&[9, 2])),
                ("size_bytes", Arc::new(UInt64Array::from(vec![10, 20]))),
                ("start_ns", ints(&[0, 5])),
                ("tag", Arc::new(StringArray::from(vec![Some("a"), None]))),
                ("after", Arc::new(Int64Array::from(vec![None, Some(0)]))),
            ],
        );
        let part = read_and_remove(&path).unwrap();
        assert_eq!(part.tags, ["a", "list"]);
        let seen: Vec<_> =
            part.flows.iter().map(|f| (f.src.0, f.dst.0, f.size.get(), f.start.as_ps())).collect();
        assert_eq!(seen, [(0, 9, 10, 0), (1, 2, 20, 5000)]);
        assert_eq!((&part.triggers[0].finished[..], &part.triggers[0].targets[..]), (&[0][..], &[1][..]));
    }

    #[test]
    fn bad_rows_and_columns_are_named() {
        let list = |name, dst: i64, size: ArrayRef| {
            let columns = vec![
                ("src", ints(&[0, 0])),
                ("dst", ints(&[1, dst])),
                ("size_bytes", size),
                ("start_ns", ints(&[0, 0])),
            ];
            read_and_remove(&write(name, columns)).map(|p| p.flows.len()).map_err(|e| e.to_string())
        };
        assert_eq!(list("ok", 1, ints(&[1, 1])), Ok(2));
        assert!(list("host", 16, ints(&[1, 1])).unwrap_err().contains(": row 1: dst is host 16"));
        assert!(list("negative", 1, ints(&[1, -1])).unwrap_err().contains(": row 1: size_bytes is \"-1\""));
        let null: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None]));
        assert!(list("null", 1, null).unwrap_err().contains(": row 1: size_bytes is \"null\""));
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.5]));
        assert!(
            list("float", 1, floats)
                .unwrap_err()
                .contains("column \"size_bytes\" holds Float64; expected integers")
        );
    }

    #[test]
    fn a_file_that_is_not_parquet_is_refused() {
        let path = std::env::temp_dir().join(format!("farspan-{}-text.parquet", std::process::id()));
        std::fs::write(&path, "src,dst\n").unwrap();
        assert!(matches!(read_and_remove(&path), Err(ListError::NotParquet { .. })));
    }
}
