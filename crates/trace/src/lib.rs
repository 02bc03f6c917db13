//! What happened to a flow and to the packets of a port, as values, and how they are written: qlog for flows, pcapng for
//! ports.
//!
//! Whoever drives an endpoint can record these events; they say nothing that only a simulator knows.
#![forbid(unsafe_code)]

mod event;
mod frame;
pub mod pcapng;
pub mod qlog;

pub use event::{End, FlowEvent, Metrics, PacketEvent, Reason, Remark, What};
pub use frame::UDP_PORT;
