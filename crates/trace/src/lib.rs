//! Events of a flow and of the packets at a port, and their file formats: qlog for flows, pcapng for ports.
//!
//! Every driver of an endpoint can record them.
//!
//! ```
//! use farspan_trace::{End, FlowEvent, Metrics, What, qlog};
//! use farspan_units::{Bytes, FlowId, Time};
//!
//! let flow = FlowId(7);
//! let head = qlog::Head { flow, end: End::Sender, description: "an example", partial: false };
//! let mut log = qlog::QlogWriter::new(Vec::new(), &head, Bytes::new(4096), None)?;
//! let metrics = Metrics {
//!     cwnd: Bytes::new(65_536),
//!     in_flight: Bytes::ZERO,
//!     srtt: None,
//!     latest_rtt: None,
//!     min_rtt: None,
//!     pacing_rate: None,
//! };
//! log.event(&FlowEvent { at: Time::ZERO, flow, end: End::Sender, what: What::Metrics(metrics) })?;
//! let text = String::from_utf8(log.finish()?).expect("a log is text");
//! assert!(text.contains("congestion_window"));
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

mod event;
mod frame;
pub mod pcapng;
pub mod qlog;

pub use event::{End, FlowEvent, Metrics, PacketEvent, Reason, Remark, What};
pub use frame::UDP_PORT;
