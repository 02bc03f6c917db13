//! Compares the results of runs: pairs of runs, ratios paired by seed, and one self-contained HTML page.
//!
//! Everything is read from the folders that `farspan run --out` writes, so a report can be made long after the run. [`load`]
//! finds the runs below a folder, [`groups`] puts them side by side, [`compare`] computes ratios paired by seed, and [`html`]
//! makes the page.
//!
//! ```
//! use farspan_metrics::{FlowTable, PortTable, SeriesTable};
//!
//! // What two runs would have written.
//! let folder = std::env::temp_dir().join(format!("farspan-report-example-{}", std::process::id()));
//! for (scheme, mean) in [("uno", 10.0), ("gemini", 20.0)] {
//!     let run = folder.join(scheme);
//!     std::fs::create_dir_all(&run)?;
//!     FlowTable::save(&run.join("flows.parquet"), &[])?;
//!     PortTable::save(&run.join("ports.parquet"), &[])?;
//!     SeriesTable::save(&run.join("series.parquet"), &[])?;
//!     std::fs::write(run.join("scenario.toml"), "")?;
//!     let summary = serde_json::json!({
//!         "farspan_version": "0.1.0", "scenario": "example", "scheme": scheme, "profile": "paper",
//!         "seed": 1, "digest": "", "fct": { "all": { "mean_us": mean } },
//!     });
//!     std::fs::write(run.join("summary.json"), summary.to_string())?;
//! }
//! let runs = farspan_report::load(&[folder.clone()])?;
//! assert_eq!(runs[0].number("/fct/all/mean_us"), Some(20.0));
//! let page = farspan_report::html(&farspan_report::groups(runs))?;
//! assert!(page.contains("gemini"));
//! std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod axes;
mod chart_order;
mod compare;
mod curve;
mod detail;
mod file_name;
mod group;
mod key;
mod load;
mod notes;
mod number;
mod over;
mod page;
mod picture;
mod proxy;
mod run;
mod seeds;
mod series;
mod setup;
mod verdict;

pub use compare::{Comparison, Difference, Ratios, Side, compare, comparisons, pairs};
pub use group::{Arm, Group, groups};
pub use load::{ReportError, load};
pub use notes::Note;
pub use over::{Asked, Head, Line, Over, OverError, Place, Point, heads, over};
pub use page::{html, write, write_report};
pub use run::Run;
pub use seeds::{interval_name, interval_note, seeds_note};
pub use setup::Sums;
pub use verdict::{Lead, Verdict};
