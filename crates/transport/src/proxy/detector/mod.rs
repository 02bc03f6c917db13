//! Which packets are lost, found by a proxy that sees them pass, where switches do not trim.
//!
//! "Mitigating Inter-datacenter Incast with a Proxy", future work 1: reordered packets must be told from lost ones in little
//! memory. Two numberings:
//!
//! | numbering | what a packet carries | what shows a loss | false losses |
//! |---|---|---|---|
//! | [`PerPath`] | its path and its number on that path, three bytes | a gap: order holds inside a path | none |
//! | [`PerFlow`] | its number in the flow, two bytes | later packets and time | few |
//!
//! Neither sees a loss that no later packet follows. A mark at the end of a burst makes those visible (`on_end`); where
//! there is none, they are the sender's.
//!
//! Farspan's senders give each transmission a number of its own in both, a retransmission too. Where retransmissions bear the
//! number of the first one, the numbering per flow ignores them: their loss is the sender's.

mod arrivals;
mod per_flow;
mod per_path;
mod reordering;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use per_flow::{LostSeqs, PerFlow, PerFlowConfig};
pub use per_path::{LostNumbers, PerPath, PerPathConfig};
