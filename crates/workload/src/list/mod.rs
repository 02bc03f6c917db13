//! Flow lists: `src,dst,size_bytes,start_ns` and optionally `tag,after,after_delivered,barrier,queue`, as CSV or Parquet.
//!
//! Rows are counted from 0, the header and comments not included. A row with `after` or `after_delivered` (row numbers,
//! separated by spaces) starts at `start_ns` at the earliest, and not before the senders of the former rows have their
//! last ACK and the receivers of the latter have the last byte. Rows of one `barrier` all wait for everything that
//! any of them names. Rows of one `queue` start one at a time, in order, whenever something that any of them
//! names is done.

mod csv;
mod parquet;
mod waits;
mod write;

use crate::flow::Tags;
use crate::text::{self, TextProblem};
use crate::{Flow, Part, Sites};
use farspan_units::{Bytes, HostId, Time};
use std::path::Path;

pub use waits::describe;
pub use write::{WriteError, save, to_csv};

/// The columns that a list must have, then those it may have.
const COLUMNS: [&str; 9] =
    ["src", "dst", "size_bytes", "start_ns", "tag", "after", "after_delivered", "barrier", "queue"];
/// How many of [`COLUMNS`] a list must have.
const REQUIRED: usize = 4;

/// Why a file is no flow list. Every message names the file, and the line (CSV) or the row from 0 (Parquet).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// The file cannot be read.
    #[error("{file}: cannot be read ({reason}); give a flow list in CSV or Parquet")]
    Unreadable {
        /// Path of the file.
        file: String,
        /// The error of the operating system.
        reason: String,
    },
    /// The CSV is not text.
    #[error("{file}:{line}: not UTF-8; save the list as UTF-8 text, or name a Parquet file `.parquet`")]
    NotUtf8 {
        /// Path of the file.
        file: String,
        /// Line, from 1.
        line: u64,
    },
    /// The Parquet file cannot be decoded.
    #[error("{file}: cannot be decoded ({reason}); write Parquet uncompressed or with zstd")]
    NotParquet {
        /// Path of the file.
        file: String,
        /// The message of the decoder.
        reason: String,
    },
    /// The list has no rows.
    #[error("{file}: has no flows; give at least one row of src,dst,size_bytes,start_ns")]
    Empty {
        /// Path of the file.
        file: String,
    },
    /// Columns that something else than commas separates.
    #[error(
        "{place}: {found:?} separates the columns, but a flow list uses commas: write src,dst,size_bytes,start_ns, and save it \
         as comma-separated"
    )]
    Separator {
        /// File and line.
        place: String,
        /// The separator found.
        found: char,
    },
    /// A column that a list does not have.
    #[error("{place}: column {name:?} is not known{}; a flow list has src,dst,size_bytes,start_ns and optionally \
        tag,after,after_delivered,barrier,queue", text::hint(*near))]
    UnknownColumn {
        /// File and line.
        place: String,
        /// Name of the column.
        name: String,
        /// The nearest known name.
        near: Option<&'static str>,
    },
    /// A column that every list has.
    #[error("{place}: column {name:?} is missing; the header must have src,dst,size_bytes,start_ns")]
    MissingColumn {
        /// File and line.
        place: String,
        /// Name of the column.
        name: &'static str,
    },
    /// A column that appears twice.
    #[error("{place}: column {name:?} appears twice; keep one")]
    TwiceColumn {
        /// File and line.
        place: String,
        /// Name of the column.
        name: &'static str,
    },
    /// A column of a wrong type.
    #[error("{place}: column {name:?} holds {found}; expected {expected}")]
    ColumnType {
        /// File.
        place: String,
        /// Name of the column.
        name: &'static str,
        /// Type found.
        found: String,
        /// Type expected.
        expected: &'static str,
    },
    /// A row with too few or too many fields.
    #[error("{place}: {found} fields, but the header has {expected}; give the row {expected}, or remove it")]
    Fields {
        /// File and line.
        place: String,
        /// Fields of the row.
        found: usize,
        /// Fields of the header.
        expected: usize,
    },
    /// A field that is not a number in its range.
    #[error("{place}: {column} is {found:?}; expected {expected}")]
    Value {
        /// File and line or row.
        place: String,
        /// Name of the column.
        column: &'static str,
        /// The field as it stands.
        found: String,
        /// The value expected.
        expected: &'static str,
    },
    /// A host that does not exist.
    #[error(
        "{place}: {column} is host {host}, which does not exist; hosts are numbered 0 to {last}: give one of them"
    )]
    NoSuchHost {
        /// File and line or row.
        place: String,
        /// Name of the column.
        column: &'static str,
        /// The host.
        host: u64,
        /// The last host.
        last: u32,
    },
    /// A flow from a host to itself.
    #[error("{place}: the flow goes from host {host} to itself; give two different hosts")]
    ToItself {
        /// File and line or row.
        place: String,
        /// The host.
        host: u64,
    },
    /// `after` or `after_delivered` names no other row.
    #[error("{place}: {column} names row {row}; it must be another row, 0 to {last} (0 is the first flow)")]
    NoSuchRow {
        /// File and line or row.
        place: String,
        /// Name of the column.
        column: &'static str,
        /// The row named.
        row: u64,
        /// The last row.
        last: u64,
    },
    /// A row in a barrier and a queue.
    #[error("{place}: the row has a barrier and a queue; give one of them")]
    TwoGroups {
        /// File and line or row.
        place: String,
    },
    /// A row whose barrier or queue names too few rows for it ever to start.
    #[error(
        "{place}: the row would never start: it is number {number} of its {group}, whose rows name {needed} ends to wait \
         for; name more of them under `after` or `after_delivered`, or remove the row"
    )]
    Starved {
        /// File and line or row.
        place: String,
        /// `barrier` or `queue`.
        group: &'static str,
        /// Its place in it, from 1.
        number: usize,
        /// Number of flow ends that the rows of the group name.
        needed: usize,
    },
    /// Rows that wait for each other.
    #[error(
        "{place}: {}; remove one of these from the other's `after` or `after_delivered`",
        waits::cycle(rows)
    )]
    Cycle {
        /// File and line or row of the first.
        place: String,
        /// The rows, each waiting for the next, the last for the first.
        rows: Vec<u32>,
    },
}

/// One row of a flow list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Row {
    /// Sending host.
    pub src: u64,
    /// Receiving host.
    pub dst: u64,
    /// Payload.
    pub size_bytes: u64,
    /// Start, or the earliest start of a row that waits for others.
    pub start_ns: u64,
    /// Tag.
    pub tag: Option<String>,
    /// Rows whose senders must have their last ACK.
    pub after: Vec<u64>,
    /// Rows whose receivers must have their last byte.
    pub after_delivered: Vec<u64>,
    /// Its barrier.
    pub barrier: Option<String>,
    /// Its queue.
    pub queue: Option<String>,
}

/// A row and where it stands, for messages.
type Placed = (Place, Row);

/// A line of a CSV or a row of a Parquet file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Line(u64),
    Row(u64),
}

impl Place {
    fn of(self, file: &str) -> String {
        match self {
            Self::Line(line) => format!("{file}:{line}"),
            Self::Row(row) => format!("{file}: row {row}"),
        }
    }
}

/// Reads a flow list: Parquet if the name ends in `.parquet`, else CSV. Rows without a tag get `default_tag`. `part` is
/// the position of the part in the workload.
///
/// # Errors
/// If the file cannot be read, or a row is no flow between two of these hosts.
pub fn read(path: &Path, sites: &Sites, part: u32, default_tag: &str) -> Result<Part, ListError> {
    let file = path.display().to_string();
    let rows = if is_parquet(path) {
        parquet::rows(path, &file)?
    } else {
        match text::read(path) {
            Ok(text) => csv::rows(&text, &file)?,
            Err(TextProblem::Unreadable(reason)) => return Err(ListError::Unreadable { file, reason }),
            Err(TextProblem::NotUtf8(line)) => return Err(ListError::NotUtf8 { file, line }),
        }
    };
    flows(&rows, &file, sites, part, default_tag)
}

/// Reads a flow list from the text of a CSV; `file` names it in messages.
///
/// # Errors
/// As [`read`].
pub fn parse_csv(
    file: &str,
    text: &str,
    sites: &Sites,
    part: u32,
    default_tag: &str,
) -> Result<Part, ListError> {
    flows(&csv::rows(text, file)?, file, sites, part, default_tag)
}

fn is_parquet(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("parquet"))
}

/// The position of each of [`COLUMNS`] in a header.
fn locate<'a>(
    header: impl Iterator<Item = &'a str>,
    place: &str,
) -> Result<[Option<usize>; COLUMNS.len()], ListError> {
    let mut positions = [None; COLUMNS.len()];
    for (i, name) in header.enumerate() {
        let Some(column) = COLUMNS.iter().position(|c| *c == name) else {
            let near = text::nearest(name, &COLUMNS);
            return Err(ListError::UnknownColumn { place: place.to_owned(), name: text::shown(name), near });
        };
        if positions[column].replace(i).is_some() {
            return Err(ListError::TwiceColumn { place: place.to_owned(), name: COLUMNS[column] });
        }
    }
    match (0..REQUIRED).find(|c| positions[*c].is_none()) {
        Some(column) => Err(ListError::MissingColumn { place: place.to_owned(), name: COLUMNS[column] }),
        None => Ok(positions),
    }
}

fn flows(
    rows: &[Placed],
    file: &str,
    sites: &Sites,
    part: u32,
    default_tag: &str,
) -> Result<Part, ListError> {
    if rows.is_empty() {
        return Err(ListError::Empty { file: file.to_owned() });
    }
    let triggers = waits::triggers(rows, file, part)?;
    let (mut tags, mut flows) = (Tags::default(), Vec::with_capacity(rows.len()));
    for (place, row) in rows {
        let tag = row.tag.as_deref().unwrap_or(default_tag);
        let tag = tags.number(tag);
        flows.push(Flow { part, tag, ..flow(*place, row, file, sites)? });
    }
    Ok(Part { tags: tags.into_names(), flows, triggers })
}

fn flow(place: Place, row: &Row, file: &str, sites: &Sites) -> Result<Flow, ListError> {
    let host = |column, host: u64| match u32::try_from(host) {
        Ok(h) if h < sites.hosts() => Ok(HostId(h)),
        _ => Err(ListError::NoSuchHost { place: place.of(file), column, host, last: sites.hosts() - 1 }),
    };
    let bad = |column, found: u64, expected| ListError::Value {
        place: place.of(file),
        column,
        found: found.to_string(),
        expected,
    };
    let (src, dst) = (host("src", row.src)?, host("dst", row.dst)?);
    if src == dst {
        return Err(ListError::ToItself { place: place.of(file), host: row.src });
    }
    if row.size_bytes == 0 {
        return Err(bad("size_bytes", 0, "at least 1"));
    }
    let start_ps = row.start_ns.checked_mul(1000);
    let start_ps = start_ps.ok_or_else(|| bad("start_ns", row.start_ns, "at most 213 days"))?;
    let (size, start) = (Bytes::new(row.size_bytes), Time::from_ps(start_ps));
    Ok(Flow { src, dst, size, start, part: 0, tag: 0, measured: true })
}
