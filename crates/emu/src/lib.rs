//! Sends real packets between network namespaces, through the simulator's own switches. Ordinary programs see the queues, marks,
//! losses and failures of a scenario in real time.
//!
//! - [`Engine`]: the network of a scenario, with real packets. It has no clock, so tests can drive it with recorded arrivals.
//!   It builds on every system.
//! - [`bytes`]: the changes that switches make to IP packets: marks, hop limits, cuts.
//! - `linux` (Linux only): a namespace and a TUN device for each host, the thread that moves packets, and the requests of
//!   other processes.
//!
//! An emulation measures its own lateness ([`Bound`]). It is void if it was too late, or if a packet is not accounted for.
//!
//! # A packet crosses a network
//!
//! ```
//! use farspan_emu::Engine;
//! use farspan_scenario::Request;
//! use farspan_units::{Duration, HostId, Time};
//! use farspan_world::World;
//!
//! let text = "topology = { kind = \"star\", hosts = 2, link_rate = \"8Mbps\", link_delay = \"10ms\" }\nhost.jitter = \"0ns\"";
//! let request = Request { text: Some(text.to_owned()), is_idle: true, ..Request::new("lab") };
//! let mut engine = Engine::new(&World::idle(&request.resolve()?)?.spec);
//!
//! // A packet of 20 bytes, all of them the header, from host 0 to host 1.
//! let packet = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0x66, 0xac, 10, 0, 0, 1, 10, 0, 0, 2];
//! engine.take(Time::ZERO, HostId(0), &packet);
//! let mut out = Vec::new();
//! while engine.next_at() != Time::MAX {
//!     engine.advance(engine.next_at());
//!     engine.release(|host, at, bytes| {
//!         out.push((host, at, bytes.len()));
//!         true
//!     });
//!     if !out.is_empty() {
//!         break;
//!     }
//! }
//! // Two links of 10 ms, on which 20 bytes take 20 us.
//! assert_eq!(out, [(HostId(1), Time::ZERO + Duration::from_us(20_040), 20)]);
//! # Ok::<(), farspan_scenario::ScenarioError>(())
//! ```
#![deny(unsafe_code)]

pub mod address;
pub mod bytes;
mod engine;
mod lateness;
#[cfg(target_os = "linux")]
mod linux;

pub use engine::{Captured, Engine, LARGEST_PACKET, NIC_QUEUE, Observer, PathTable, PathsError, Seen};
pub use lateness::Bound;
#[cfg(target_os = "linux")]
pub use linux::*;
