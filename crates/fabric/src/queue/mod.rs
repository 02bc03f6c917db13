//! The parts of a port: lists of packets, phantom counters, markers, and the port that is composed of them.

mod list;
mod marking;
pub mod port;
