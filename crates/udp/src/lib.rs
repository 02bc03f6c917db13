//! The transport over UDP sockets: a real clock and real bytes for the endpoint that the simulator drives too.
//!
//! A [`Driver`] owns an endpoint and calls its six verbs. Around it stand three small layers:
//!
//! - [`wire`]: what datagrams go through: a [`Socket`] (ECN codepoints read and written), or a [`Lossy`] wrapper around one;
//! - `message.rs`: the bytes of messages; it copies pieces, makes parity and decodes what is lost;
//! - `clock.rs`: time since the driver was made.
//!
//! Hosts are numbered by the driver in the order in which it meets their addresses. Nothing is encrypted or authenticated yet:
//! use it on networks that you trust.
#![forbid(unsafe_code)]

mod clock;
mod driver;
mod message;
pub mod wire;

pub use driver::{Config, Driver, DriverError, Outcome};
pub use wire::{Losses, Lossy, Socket};
