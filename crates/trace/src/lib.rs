//! What happened to a flow and to the packets of a port, as values, and how they are written: qlog for flows, pcapng for
//! ports. [`FlowOutcome`] is what is left of a flow when a run is over.
//!
//! Whoever drives an endpoint can record them.
#![forbid(unsafe_code)]

mod event;
mod frame;
mod outcome;
pub mod pcapng;
pub mod qlog;

pub use event::{End, FlowEvent, Metrics, PacketEvent, Reason, Remark, What};
pub use farspan_transport::Class;
pub use frame::UDP_PORT;
pub use outcome::FlowOutcome;
