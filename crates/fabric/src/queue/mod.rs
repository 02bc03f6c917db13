//! The parts of a port: lists of packets, phantom counters, markers, overflow, and the port that is composed of them.

mod list;
mod marking;
mod overflow;
mod phantom;
pub mod port;
