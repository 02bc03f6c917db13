//! Converts files of other tools into farspan's: connection matrices and topologies of htsim, and runs of HPCC's simulator and
//! of SimAI's fork of it.
//!
//! A connection matrix becomes a flow list. A topology becomes a topology file. A run becomes a scenario that uses both. Input
//! that the tool's own loader would misread or ignore is refused. Every error names the file, the line, the problem and the cure.
//!
//! ```
//! use farspan_formats::cm::{TimeUnit, parse};
//! use farspan_formats::list::to_csv;
//!
//! let text = "Nodes 16\nConnections 1\n0->5 id 1 start 0 size 2000000\n";
//! let matrix = parse("one.cm", text, TimeUnit::Us, None)?;
//! assert_eq!(to_csv(&matrix.rows), "src,dst,size_bytes,start_ns,tag,after\n0,5,2000000,0,,\n");
//!
//! let error = parse("one.cm", &text.replace("->5", "->16"), TimeUnit::Us, None).unwrap_err();
//! assert_eq!((error.file.as_str(), error.line), ("one.cm", Some(3)));
//! # Ok::<(), farspan_formats::cm::CmError>(())
//! ```
#![forbid(unsafe_code)]

pub mod cm;
mod decimal;
mod detect;
pub mod hpcc;
pub mod htsim;

pub use detect::Format;
pub use farspan_workload::list;
