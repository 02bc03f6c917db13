//! Erasure coding: of `x` data pieces and `y` parity pieces, any `x` give the message back.
//!
//! - [`gf256`]: arithmetic on bytes, with the vector instructions that the CPU has.
//! - [`Code`]: which parity belongs to which data, and how lost data is made again.

pub mod gf256;
mod mds;

pub use mds::{Code, CodeError, CodingError, Plan, PlanError};
