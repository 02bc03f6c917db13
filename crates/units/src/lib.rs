//! Quantities, identifiers and randomness that every other crate speaks.
//!
//! Time is an integer number of picoseconds, sizes are bytes, rates are bits per second: three newtypes, so that a
//! bare integer never crosses an interface. Randomness is counter-based ([`random`]): a pure function of
//! (seed, purpose, entity, counter), with no state shared between entities.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod id;
mod parse;
mod quantity;
pub mod random;

pub use id::{FlowId, HostId, NodeId, PortId};
pub use parse::{ParseQuantityError, Quantity};
pub use quantity::{Bytes, Duration, Rate, Time};
pub use random::{Purpose, Random};
