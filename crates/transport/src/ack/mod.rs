//! ACK policies: when a receiver acknowledges the packets of a flow, and when its ACK may leave.
//!
//! A policy is asked about each data packet that arrives whole, and answers with a [`Release`]. Every ACK says which
//! packet it is about and, by its cumulative number, that all packets below that number have arrived: a packet may go
//! without an ACK of its own if a later ACK covers it. Of a policy that [holds](AckPolicy::holds) ACKs, they also say, by
//! a map, which packets above that number have arrived. Both ends know a flow's policy from its
//! [profile](crate::FlowProfile).
//!
//! Adding a policy: write its file in `policies/`, then one line in the registry at the end of `policies/mod.rs`, which
//! enrols it in the conformance tests.

mod contract;
mod policies;
#[cfg(test)]
mod testing;

pub use contract::{AckPolicy, Arrival, Release};
pub use policies::*;
