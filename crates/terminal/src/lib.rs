//! The terminal of farspan's programs: numbers, tables, messages and Ctrl-C.
//!
//! [`format`](mod@format) writes numbers and tables as people read them, [`output`] prints, [`interrupt`] notices Ctrl-C, and
//! [`rounds`] says how a benchmark was measured.
//!
//! ```
//! use farspan_terminal::format::{Table, time};
//!
//! let mut table = Table::new(["scheme", "mean"]);
//! table.row(["uno".to_owned(), time(Some(1234.0))]);
//! assert_eq!(table.render(&[]), "scheme     mean\nuno     1.23 ms\n");
//! ```
#![forbid(unsafe_code)]
// These macros panic where nothing can be written: `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod format;
pub mod interrupt;
pub mod output;
pub mod rounds;
