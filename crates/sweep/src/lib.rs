//! Runs many simulations: grids, lists and random draws, a store of complete runs, and one data set over all runs.
//!
//! Stages of a sweep: [`Sweep`] (a file, or an [`Ask`] of arguments, expanded into resolved [`Point`]s) -> [`execute`] (runs the points that the
//! [`Store`] does not have, one process per point) -> [`write_data_set`] (`runs.parquet`, one row per run).
//!
//! ```
//! use farspan_sweep::Sweep;
//!
//! let text = "scenario = 'uno/incast-inter'\nscheme = ['uno', 'gemini']\nseeds = '1..3'\n\
//!     [grid]\n'topology.wan.rtt' = ['1ms', '2ms']\n";
//! let sweep = Sweep::parse("sweep.toml", text, None)?;
//! assert_eq!(sweep.points.len(), 2 * 2 * 3);
//! assert_eq!(sweep.points[0].resolved.scheme(), "uno");
//!
//! let error = Sweep::parse("sweep.toml", "scenario = 'uno/incast-outer'\n", None).unwrap_err();
//! assert!(error.to_string().contains("did you mean \"uno/incast-inter\""));
//! # Ok::<(), farspan_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

mod ask;
mod data_set;
mod draw;
mod execute;
mod file;
mod kind;
mod notes;
mod point;
mod pool;
mod program;
mod store;

pub use ask::{Ask, split};
pub use data_set::{DataSetError, Row, Status, encode_data_set, rows, write_data_set};
pub use execute::{Finished, Options, Planned, Progress, SweepError, Watch, execute, longest_first};
pub use file::Sweep;
pub use kind::Kind;
pub use notes::notes;
pub use point::Point;
pub use program::{Program, ProgramError, arguments};
pub use store::{Store, StoreError};
