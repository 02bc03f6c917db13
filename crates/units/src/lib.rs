//! Quantities, identifiers and randomness that every other crate uses.
//!
//! Time is an integer number of picoseconds, sizes are bytes, and rates are bits per second. Each has its own type, so no bare
//! integer crosses an interface. Randomness is counter-based ([`random`]): a pure function of
//! (seed, purpose, entity, counter), with no state shared between entities.
//!
//! ```
//! use farspan_units::{Bytes, Duration, Purpose, Random, Rate};
//!
//! let rate: Rate = "100Gbps".parse()?;
//! assert_eq!(rate.transmission(Bytes::new(4160)), Duration::from_ps(332_800));
//! assert_eq!(rate.bytes_in(Duration::from_us(14)), Bytes::new(175_000));
//! assert_eq!("1MiB".parse(), Ok(Bytes::new(1 << 20)));
//!
//! // A draw depends on its name alone, whatever was drawn before.
//! let random = Random::new(1, Purpose::Control, 7);
//! assert_eq!(random.at(3), Random::new(1, Purpose::Control, 7).at(3));
//! # Ok::<(), farspan_units::ParseQuantityError>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod id;
mod parse;
mod quantity;
pub mod random;
mod telemetry;

pub use id::{FlowId, HostId, NodeId, PortId};
pub use parse::{ParseQuantityError, Quantity};
pub use quantity::{Bytes, Duration, Rate, Time};
pub use random::{Purpose, Random};
pub use telemetry::{HopTelemetry, PerHop, Telemetry, TelemetryKind};
