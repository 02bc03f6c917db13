//! The transport over UDP sockets. It drives the simulator's endpoint with a real clock and real bytes.
//!
//! A [`Driver`] owns an endpoint and moves its packets with the six verbs. It has three small layers:
//!
//! - [`wire`] sends and receives datagrams: a [`Socket`], which reads and writes ECN codepoints, or a [`Lossy`] wrapper around one;
//! - `message.rs` keeps the bytes of messages: it copies segments, makes parity and decodes lost segments.
//!   [`Limits`] bounds the memory that peers can make it use;
//! - `clock.rs` gives the time since the driver was created.
//!
//! The driver numbers hosts in the order in which it first sees their addresses. Nothing is encrypted or authenticated yet, so
//! use it only on networks that you trust. Datagrams carry no telemetry and no arrival times, so controls that need them do
//! not work.
//!
//! # A message over the loopback
//!
//! ```
//! use farspan_transport::{Path, Route, Scheme};
//! use farspan_udp::{Config, Driver, Limits, MessageOutcome, Socket};
//! use farspan_units::{Bytes, Duration, FlowId, Rate};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mss, header) = (Bytes::new(1400), Bytes::new(64));
//! let driver = || -> Result<_, Box<dyn std::error::Error>> {
//!     let limits = Limits::default();
//!     let config = Config { seed: 1, mss, header, longest_message: Bytes::new(1 << 20), limits };
//!     Ok(Driver::new(Socket::bind("127.0.0.1:0".parse()?)?, config)?)
//! };
//! let (mut from, mut to) = (driver()?, driver()?);
//!
//! // The sender's path, and the parts from which it is assembled.
//! let path = Path { mss, header, ..Path::new(Rate::from_gbps(1), Duration::from_us(100)) };
//! let message = b"across the room".repeat(1000);
//! from.submit(FlowId(0), to.address()?, message.clone(), Arc::new(Route::new(path, &Scheme::default())));
//!
//! // One thread drives both ends.
//! let received = loop {
//!     from.poll()?;
//!     to.poll()?;
//!     if let Some(MessageOutcome::Received { bytes, .. }) = to.poll_outcome() {
//!         break bytes;
//!     }
//! };
//! assert_eq!(received, message);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod clock;
mod driver;
mod host;
mod idle;
mod limits;
mod message;
mod outcome;
mod peers;
pub mod wire;

pub use driver::Driver;
pub use host::Config;
pub use limits::{DriverCounters, Limits};
pub use outcome::{DriverError, MessageOutcome};
pub use wire::{Losses, Lossy, Socket};
