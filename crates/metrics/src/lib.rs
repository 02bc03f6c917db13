//! Results of runs: flow records, quantiles, fairness, summaries over seeds, Parquet tables.
//!
//! This crate does not simulate. It takes records and computes numbers. [`Summary`] is the document of `farspan run --json`.
//!
//! ```
//! use farspan_metrics::{Class, Completion, FlowOutcome, FlowRecord, Fct, jain};
//! use farspan_units::{Bytes, Duration, FlowId, HostId, Time};
//!
//! let flow = |id: u32, fct: u64| {
//!     let ideal = Duration::from_us(10);
//!     let mut outcome = FlowOutcome::new(HostId(0), HostId(1), Class::Intra, Bytes::new(4096), ideal);
//!     outcome.started = true;
//!     outcome.finish = Some(Time::ZERO + Duration::from_us(fct));
//!     FlowRecord { flow: FlowId(id), tag: "burst".into(), poisson: false, measured: true, goodput: None, outcome }
//! };
//! let flows = [flow(0, 12), flow(1, 20), flow(2, 28)];
//! let fct = Fct::of(flows.iter(), Completion::Sender).expect("flows were measured");
//! assert_eq!((fct.mean_us, fct.slowdown_p50), (Some(20.0), Some(2.0)));
//! assert_eq!(jain(&[1e9, 1e9]), Some(1.0));
//! ```
#![forbid(unsafe_code)]

mod collective;
mod column;
mod compare;
mod dynamic;
mod emulation;
mod fairness;
mod faults;
mod fct;
mod goodput;
mod quantile;
mod read;
mod record;
mod seeds;
mod setup;
mod slowdown;
mod summary;
mod table;
mod tier;
mod warned;

pub use collective::{Collective, CollectiveKind, IterationRecord};
pub use column::{Column, Record};
pub use compare::{Better, Measure, Unit, bottleneck, compare, measures};
pub use dynamic::{DynamicColumn, DynamicValues, encode_columns, save_columns};
pub use emulation::{EmulatedPackets, Emulation, Lateness};
pub use fairness::{Fairness, Member, jain};
pub use farspan_transport::{Class, FlowOutcome};
pub use faults::{FaultyLinks, few_names};
pub use fct::{Completion, Fct, FctTable, SizeBins, SlowdownBin};
pub use goodput::{Goodput, GoodputSum};
pub use quantile::{Quantile, median, nearest_rank};
pub use read::{
    FlowRow, PortRow, ReadError, RunRow, SeriesRow, count_rows, read_flows, read_ports, read_runs,
    read_series, read_table,
};
pub use record::{FlowRecord, PortRecord, Probe, SeriesId, SeriesRecord};
pub use seeds::{Bootstrap, Bootstraps, PairedRatios, SeedRatio, Spread, paired_ratios, summarize};
pub use setup::{Acted, ClassSetup, OtherPart, OwnPart, SamePart, Setup, SetupComparison, first_round_trip};
pub use slowdown::{SizeBin, slowdown_bins};
pub use summary::{
    ByteSums, FlowCounts, OfferedLoad, PacketSums, Pfc, ProxyRecord, ProxySummary, ProxySums, Queues,
    Recovery, RttSummary, RttTable, Summary,
};
pub use table::{FlowTable, IterationTable, PortTable, SeriesTable, Table, TableError};
pub use tier::{PortSums, TierSums};
pub use warned::Warned;
