//! Workload files of other tools, turned into flow lists.

pub mod cm;
pub mod decimal;
