//! The network that packets cross: ports, queues, markers, links, switches and topologies. It has no clock of
//! its own: `now` is an argument.
//!
//! A [`Port`] is composed, not chosen: buffer x markers x overflow x service. A [`Network`] is nodes, links
//! and routes; [`topology`] generates them. Everything here serves the simulator (virtual time) and the
//! emulator (real time) alike.
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod fault;
mod jitter;
mod network;
mod packet;
mod port_config;
pub mod queue;
mod routing;
pub mod switch;
pub mod topology;

pub use fault::{Fault, NodeFaults};
pub use jitter::Jitter;
pub use network::{Link, Network, Node, NodeKind, PortGroup, Tier};
pub use packet::{MovedPacket, Packet, PacketId, Packets, Side};
pub use port_config::{Marker, MarkingPoint, Overflow, Phantom, PortConfig, Red, Trim, Victim};
pub use queue::port::{Admission, Gate, Port, PortCounters, PortModel, Service, Step};
pub use routing::{RouteTable, RoutedPath, Routes};
pub use switch::{Switch, SwitchConfig};
pub use topology::TopologyError;
