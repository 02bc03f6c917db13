//! Writes flow lists: CSV, or Parquet by the file's name.

use super::{COLUMNS, Row, is_parquet};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use farspan_files::NewFile;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Columns that every written list has; the others stand only where they say something.
const ALWAYS: usize = 6;
/// Rows that are turned into columns at a time.
const BATCH: usize = 1 << 16;

/// A list cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot be written ({reason}); choose another file, or free disk space", path.display())]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The error of the operating system or of the encoder.
    pub reason: String,
}

/// The list as CSV.
#[must_use]
pub fn to_csv(rows: &[Row]) -> String {
    let mut text = Vec::new();
    csv(rows, &mut text).expect("memory takes what is written");
    String::from_utf8(text).expect("fields are text")
}

/// Writes the list: Parquet if the name ends in `.parquet`, else CSV. A file with the right name is complete.
///
/// # Errors
/// If the file cannot be written.
pub fn save(path: &Path, rows: &[Row]) -> Result<(), WriteError> {
    let failed = |reason: String| WriteError { path: path.to_owned(), reason };
    let refused = |error: io::Error| failed(error.to_string());
    let mut file = NewFile::at(path).map_err(refused)?;
    if is_parquet(path) {
        parquet(rows, &mut file).map_err(|error| failed(error.to_string()))?;
    } else {
        let mut out = BufWriter::new(&mut file);
        csv(rows, &mut out).and_then(|()| out.flush()).map_err(refused)?;
    }
    file.finish().map_err(refused)
}

/// The columns to write, by their index in [`COLUMNS`].
fn columns(rows: &[Row]) -> Vec<usize> {
    let says = |column: usize| rows.iter().any(|row| !text(row, column).is_empty());
    (0..COLUMNS.len()).filter(|&column| column < ALWAYS || says(column)).collect()
}

/// A field of an optional column; empty if it says nothing.
fn text(row: &Row, column: usize) -> String {
    let numbers = |rows: &[u64]| rows.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let name = |name: &Option<String>| name.clone().unwrap_or_default();
    match column {
        4 => name(&row.tag),
        5 => numbers(&row.after),
        6 => numbers(&row.after_delivered),
        7 => name(&row.barrier),
        _ => name(&row.queue),
    }
}

const fn number(row: &Row, column: usize) -> u64 {
    match column {
        0 => row.src,
        1 => row.dst,
        2 => row.size_bytes,
        _ => row.start_ns,
    }
}

fn csv(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let columns = columns(rows);
    let names: Vec<_> = columns.iter().map(|&column| COLUMNS[column]).collect();
    writeln!(out, "{}", names.join(","))?;
    for row in rows {
        write!(out, "{},{},{},{}", row.src, row.dst, row.size_bytes, row.start_ns)?;
        for &column in &columns[super::REQUIRED..] {
            write!(out, ",{}", text(row, column))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

fn parquet(rows: &[Row], file: &mut NewFile) -> Result<(), parquet::errors::ParquetError> {
    let columns = columns(rows);
    let batch = |rows: &[Row]| {
        let array = |column: usize| -> ArrayRef {
            if column < super::REQUIRED {
                return Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| number(row, column))));
            }
            let texts = rows.iter().map(|row| Some(text(row, column)).filter(|text| !text.is_empty()));
            Arc::new(StringArray::from_iter(texts))
        };
        let arrays =
            columns.iter().map(|&column| (COLUMNS[column], array(column), column >= super::REQUIRED));
        RecordBatch::try_from_iter_with_nullable(arrays).expect("columns are as long as the rows are many")
    };
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = ArrowWriter::try_new(file, batch(&[]).schema(), Some(properties))?;
    for rows in rows.chunks(BATCH) {
        writer.write(&batch(rows))?;
    }
    writer.close().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::{parse_csv, read};
    use crate::{Rule, Sites};

    fn rows() -> Vec<Row> {
        let row = |src, start_ns| Row { src, dst: 9, size_bytes: 1 << 40, start_ns, ..Row::default() };
        let mut rows = vec![row(0, 0), row(1, 7), row(2, 0), row(3, 0)];
        (rows[2].after, rows[2].queue) = (vec![0, 1], Some("q".into()));
        (rows[3].after_delivered, rows[3].queue) = (vec![0], Some("q".into()));
        rows[1].tag = Some("late".into());
        rows
    }

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        let mut rows = rows();
        assert_eq!(to_csv(&rows[..1]), "src,dst,size_bytes,start_ns,tag,after\n0,9,1099511627776,0,,\n");
        rows.truncate(3);
        assert_eq!(
            to_csv(&rows[1..]),
            "src,dst,size_bytes,start_ns,tag,after,queue\n1,9,1099511627776,7,late,,\n2,9,1099511627776,0,,0 1,q\n"
        );
    }

    #[test]
    fn both_formats_are_read_back_and_agree() {
        let rows = rows();
        let sites = Sites::new(vec![0..8, 8..16]).unwrap();
        let parts = ["csv", "parquet"].map(|extension| {
            let name = format!("farspan-write-{}.{extension}", std::process::id());
            let path = std::env::temp_dir().join(name);
            save(&path, &rows).unwrap();
            let part = read(&path, &sites, 0, "t").unwrap();
            std::fs::remove_file(&path).unwrap();
            part
        });
        assert_eq!(parts[0], parts[1]);
        assert_eq!(parts[0], parse_csv("f", &to_csv(&rows), &sites, 0, "t").unwrap());
        assert_eq!(parts[0].flows[0].size.get(), 1 << 40);
        let trigger = &parts[0].triggers[0];
        assert_eq!((trigger.rule, &trigger.targets[..]), (Rule::Next, &[2, 3][..]));
        assert_eq!((&trigger.finished[..], &trigger.delivered[..]), (&[0, 1][..], &[0][..]));
    }

    #[test]
    fn a_list_that_cannot_be_written_leaves_nothing_behind() {
        let error = save(Path::new("/no/such/folder/list.csv"), &rows()).unwrap_err().to_string();
        assert!(error.starts_with("/no/such/folder/list.csv: cannot be written"), "{error}");
        let folder = std::env::temp_dir().join(format!("farspan-write-folder-{}.csv", std::process::id()));
        std::fs::create_dir_all(folder.join("full")).unwrap();
        assert!(save(&folder, &rows()).is_err());
        let mut partial = folder.clone().into_os_string();
        partial.push(".partial");
        assert!(!Path::new(&partial).exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
