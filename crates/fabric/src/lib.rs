//! The network that packets cross: ports, queues, markers, links, switches and topologies. It has no clock. The caller
//! passes the current time as `now`.
//!
//! A [`Port`] is made of four parts: buffer, markers, overflow and service. A [`Network`] has nodes, links and routes, and
//! [`topology`] generates it. The simulator (virtual time) and the emulator (real time) both use this crate.
//!
//! # A packet crosses a switch
//!
//! ```
//! use farspan_fabric::switch::{Sink, shared::Frame};
//! use farspan_fabric::topology::Star;
//! use farspan_fabric::{Packet, PacketId, Packets, Port, PortConfig, PortModel, Routes, Switch, SwitchConfig};
//! use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Rate, Time};
//! use std::sync::Arc;
//!
//! /// Where packets go: here, into a list.
//! #[derive(Default)]
//! struct Sent(Vec<(PortId, Time, PacketId)>);
//!
//! impl Sink<PortId> for Sent {
//!     fn send(&mut self, link: &PortId, at: Time, id: PacketId) {
//!         self.0.push((*link, at, id));
//!     }
//!     fn send_frame(&mut self, _link: &PortId, _at: Time, _frame: Frame) {}
//! }
//!
//! // Three hosts at one switch.
//! let (rate, delay) = (Rate::from_gbps(100), Duration::from_us(1));
//! let network = Star { switch_delay: Duration::ZERO, hosts: vec![(rate, delay); 3] }.build()?;
//! let (routes, hub) = (Routes::new(&network, 1), NodeId(3));
//! let model = Arc::new(PortModel::new(&PortConfig::drop_tail(Bytes::new(100_000)), rate, delay));
//! let ports = network.ports_of(hub).map(PortId);
//! let first_port = PortId(network.ports_of(hub).start);
//! let config = SwitchConfig::new(routes.tables[hub.index()].clone(), first_port);
//! let mut switch = Switch::new(config, ports.map(|id| (Port::new(&model, id, 1), id)).collect());
//!
//! let mut packets = Packets::new();
//! let packet = Packet::new(FlowId(0), HostId(2), Bytes::new(4160), 0, false, 0);
//! let (id, mut sent) = (packets.insert(packet), Sent::default());
//! switch.arrive(Time::ZERO, PortId(0), id, Time::MAX, &mut packets, &mut sent);
//! switch.advance(Time::MAX, &mut packets, &mut sent);
//! // 332.8 ns on the wire, and a microsecond of propagation.
//! let [(_, at, left)] = sent.0[..] else { panic!("one packet leaves") };
//! assert_eq!((at, left), (Time::from_ps(1_332_800), id));
//! # Ok::<(), farspan_fabric::TopologyError>(())
//! ```
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
mod telemetry;
pub mod topology;

pub use fault::{Fault, Faults, NodeFaults};
pub use jitter::Jitter;
pub use network::{Link, Network, Node, NodeKind, PortGroup, Tier};
pub use packet::{
    Access, Checked, Dropped, MovedPacket, NoteDropped, Packet, PacketId, Packets, Side, Unchecked,
};
pub use port_config::{
    Marker, MarkingPoint, Overflow, Phantom, PortConfig, Red, TelemetryCounts, Trim, Victim,
};
pub use queue::port::{Admission, Gate, Port, PortCounters, PortModel, Service, Step};
pub use routing::{RouteTable, RoutedPath, Routes};
pub use switch::{Switch, SwitchConfig};
pub use topology::TopologyError;
