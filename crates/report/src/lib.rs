//! Results of runs side by side: what pairs, paired ratios, and one self-contained HTML page.
//!
//! Everything is read from the folders that `farspan run --out` writes, so that a report can be made long after the run:
//! [`load`] finds the runs below a folder, [`groups`] puts them side by side, [`compare`] gives ratios seed by seed, and
//! [`html`] makes the page.
#![forbid(unsafe_code)]

mod compare;
mod curve;
mod detail;
mod group;
mod load;
mod number;
mod page;
mod picture;
mod series;

pub use compare::{Comparison, Difference, Ratios, Side, compare, interval_note, pairs};
pub use group::{Arm, Group, groups};
pub use load::{ReportError, Run, load};
pub use page::{html, write, write_report};
