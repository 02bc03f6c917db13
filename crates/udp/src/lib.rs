//! The transport over UDP sockets: a real clock and real bytes for the endpoint that the simulator drives too.
//!
//! A [`Driver`] owns an endpoint and calls its six verbs. Around it stand three small layers:
//!
//! - [`wire`]: what datagrams go through: a [`Socket`] (ECN codepoints read and written), or a [`Lossy`] wrapper around
//!   one;
//! - `message.rs`: the bytes of messages; it copies segments, makes parity and decodes what is lost;
//!   [`Limits`] bounds what peers can make it keep;
//! - `clock.rs`: time since the driver was made.
//!
//! Hosts are numbered by the driver in the order in which it meets their addresses. Nothing is encrypted or
//! authenticated yet: use it on networks that you trust.
//!
//! # A message over the loopback
//!
//! ```
//! use farspan_transport::balance::BalanceConfig;
//! use farspan_transport::coding::CodingConfig;
//! use farspan_transport::congestion::CongestionConfig;
//! use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
//! use farspan_transport::{Class, FlowProfile, Path, Route, Scheme, WindowCheck};
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
//! let (base_rtt, line_rate) = (Duration::from_us(100), Rate::from_gbps(1));
//! let path = Path {
//!     class: Class::Intra, base_rtt, line_rate, bdp: line_rate.bytes_in(base_rtt), intra_base_rtt: base_rtt,
//!     largest_base_rtt: base_rtt, hops: 1, max_queueing: Duration::from_ms(1), k_min: None, trims: false, mss, header,
//! };
//! let scheme = Scheme {
//!     congestion: CongestionConfig::by_name("bbr").expect("a built-in name"),
//!     balance: BalanceConfig::by_name("ecmp").expect("a built-in name"),
//!     coding: CodingConfig::by_name("none").expect("a built-in name"),
//!     recovery: RecoveryConfig {
//!         rto: Rto::Rfc6298 { variance_floor: Duration::from_ms(5), min: Duration::ZERO }, backoff: true, policy: RecoveryPolicy::Rack,
//!     },
//!     window_check: WindowCheck::Below,
//!     profile: FlowProfile::default(),
//! };
//! let message = b"across the room".repeat(1000);
//! from.submit(FlowId(0), to.address()?, message.clone(), Arc::new(Route::new(path, &scheme)));
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
mod peers;
pub mod wire;

pub use driver::{Config, Driver, DriverError, MessageOutcome};
pub use limits::{DriverCounters, Limits};
pub use wire::{Losses, Lossy, Socket};
