//! What a run says about itself: flow records, quantiles, fairness, summaries over seeds, Parquet tables.
//!
//! Nothing here simulates: records go in, numbers come out. [`Summary`] is the document of `farspan run --json`.
#![forbid(unsafe_code)]

mod collective;
mod column;
mod compare;
mod fairness;
mod fct;
mod quantile;
mod read;
mod record;
mod seeds;
mod summary;
mod table;

pub use collective::{Collective, CollectiveKind, IterationRecord};
pub use column::{Column, Record};
pub use compare::{Measure, Unit, compare, measures};
pub use fairness::{Fairness, Member, jain};
pub use farspan_trace::{Class, FlowOutcome};
pub use fct::{Completion, Fct, FctTable, SizeBins, SlowdownBin};
pub use quantile::{Quantile, median, nearest_rank};
pub use read::{
    FlowRow, PortRow, ReadError, SeriesRow, count_rows, read_flows, read_ports, read_series, read_table,
};
pub use record::{FlowRecord, PortRecord, Probe, SeriesId, SeriesRecord};
pub use seeds::{Bootstrap, PairedRatios, SeedRatio, Spread, paired_ratios, summarize};
pub use summary::{ByteSums, FlowCounts, OfferedLoad, PacketSums, Queues, Recovery, Summary};
pub use table::{FlowTable, IterationTable, PortTable, SeriesTable, Table, TableError};
