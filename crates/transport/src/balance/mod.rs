//! Path selection: which entropy each packet carries.
//!
//! Switches hash (flow, entropy) with a salt of their own, so an entropy names a path without knowing it. A balancer
//! is notified of the same events as a control, each with the entropy of the packet concerned.
//!
//! Adding a path selector: write its file in `balancers/`, then one line in the registry at the end of `balancers/mod.rs`,
//! which enrols it in the conformance tests.
//!
//! Its page: `docs/src/schemes/balance.md`.

mod balancers;
mod contract;
#[cfg(test)]
mod testing;

pub use balancers::*;
pub use contract::{Balance, BalancerStart, Entropy, PathSample};
