//! The protocol, sans-IO. It decides what to send and when, and does not know which clock or wire drives it.
//!
//! One [`Endpoint`] per host owns that host's senders and receivers. Every driver (simulator, emulator, sockets) moves
//! packets with the same six verbs:
//!
//! | in | out |
//! |---|---|
//! | [`Endpoint::submit`]: send a message | [`Endpoint::poll_transmit`]: the next packet, when the NIC is free |
//! | [`Endpoint::handle_packet`]: a packet has arrived | [`Endpoint::poll_event`]: the next event for the application |
//! | [`Endpoint::handle_timeout`]: a timer is due | [`Endpoint::poll_timeout`]: when to call `handle_timeout` |
//!
//! After the input calls of one instant, a driver drains the outputs: see [the contract](Endpoint#the-contract-for-drivers). `now` is
//! always an argument. Randomness is counter-based and keyed by the flow. The [other functions](Endpoint#beside-the-verbs) build
//! an endpoint, let only control packets leave, end flows early, set up proxies, and read its state. A driver that keeps headers
//! in its own records calls the [parts](in_place) of these verbs.
//!
//! A sender has a [`congestion`] control, a [`balance`] path selector, [`coding`] and [`recovery`]. A receiver follows the
//! [profile](FlowProfile) of the flow. Both work with headers and byte ranges. A thin layer of the driver copies and codes the
//! bytes, if there are any.
//!
//! # What it guarantees
//!
//! The channel may lose, reorder or duplicate packets in either direction. The receiver still gets each byte of a message once
//! ([`Received`]), and both ends learn when the message is complete ([`Event`]). After that only a small record per flow stays, to
//! answer duplicates. Each packet costs a constant number of steps, even when a whole burst times out. Only RACK searches the
//! window now and then. A packet of the window costs 8 bytes at the sender and one bit at the receiver.
//!
//! A [persistent](FlowProfile::persistent) flow carries several messages ([`Endpoint::append`]). Each arrives once and in order, and
//! both ends learn of each. The two ends stay until their drivers end them.
//!
//! Where switches trim, the receiver answers a packet without its payload with a NACK ([`Incoming::trimmed`]). The sender gives
//! that transmission up at once, notifies its control and its path selector, and sends the packet again before new ones.
//!
//! A coded message arrives in blocks. A block is complete when enough of its packets have arrived, whichever they are. Packets
//! that a block does not need are not sent again.
//!
//! # Two endpoints and a message
//!
//! ```
//! use farspan_transport::congestion::CongestionConfig;
//! use farspan_transport::{Endpoint, EndpointConfig, Event, Incoming, Message, Path, Poll, Route, Scheme};
//! use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};
//! use std::collections::VecDeque;
//! use std::iter::from_fn;
//! use std::sync::Arc;
//!
//! let mut hosts = [0, 1].map(|host| Endpoint::new(EndpointConfig::new(HostId(host))));
//!
//! // What the sender knows of its path, and what it is assembled from.
//! let path = Path::new(Rate::from_gbps(100), Duration::from_us(10));
//! let scheme = Scheme::new(CongestionConfig::by_name("dctcp").expect("a built-in name"));
//! let route = Arc::new(Route::new(path, &scheme));
//!
//! // Host 0 sends 10,000 bytes; each packet takes 5 us.
//! hosts[0].submit(Time::ZERO, Message::new(FlowId(0), HostId(1), Bytes::new(10_000), route));
//! let (mut now, mut channel, mut events) = (Time::ZERO, VecDeque::new(), Vec::new());
//! while events.len() < 2 {
//!     let mut next = Time::MAX;
//!     for host in &mut hosts {
//!         // Drain: packets until there are none, then events, then the timer.
//!         loop {
//!             let packet = match host.poll_transmit(now) {
//!                 Poll::Packet(packet) => packet,
//!                 Poll::At(at) => break next = next.min(at),
//!                 Poll::Idle => break,
//!             };
//!             let incoming = Incoming::new(host.host(), packet.header);
//!             channel.push_back((now + Duration::from_us(5), packet.to, incoming));
//!         }
//!         events.extend(from_fn(|| host.poll_event()));
//!         next = next.min(host.poll_timeout().unwrap_or(Time::MAX));
//!     }
//!     now = channel.front().map_or(next, |(arrival, ..)| next.min(*arrival)).max(now);
//!     hosts.iter_mut().for_each(|host| host.handle_timeout(now));
//!     while channel.front().is_some_and(|(arrival, ..)| *arrival == now)
//!         && let Some((_, to, packet)) = channel.pop_front()
//!     {
//!         hosts[to.index()].handle_packet(now, packet);
//!     }
//! }
//! assert!(matches!(events[..], [Event::Delivered(_), Event::Finished(_)]));
//! ```
//!
//! # Where extensions plug in
//!
//! | extension | place |
//! |---|---|
//! | a control, a path selector, an ACK policy, a recovery policy | a file and a line in its folder of [`congestion`], [`balance`], [`ack`] or [`recovery`] |
//! | what a receiver sends besides ACKs (pulls, CNPs) | a field of [`FlowProfile`], which both ends know, and a variant of [`wire::Header`]; replies wait in one queue, each with the time from which on it may leave |
//! | what an ACK echoes (telemetry, several packets) | a field of [`wire::Feedback`], then of [`congestion::Ack`] |
//! | credit | a [`Decision::allowance`](congestion::Decision::allowance), and [`PullConfig`] at the receiver |
//! | coded bytes | the driver's copying layer: [`Transmit::payload`] and [`Received`] name segments, parity and blocks |
//! | a proxy of another kind | a file in [`proxy`], and a variant of [`proxy::ProxyKind`] |
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod ack;
pub mod balance;
pub mod coding;
pub mod congestion;
mod endpoint;
mod flow;
pub mod in_place;
mod notifier;
mod pacing;
mod path;
pub mod proxy;
mod pulls;
mod queue;
mod receiver;
pub mod recovery;
mod registry;
mod replies;
mod sender;
mod table;
pub mod wire;

pub use endpoint::{Endpoint, EndpointConfig, Event, MAX_HOSTS};
pub use flow::connection::Connection;
pub use flow::counters::{ReceiverCounters, SenderCounters};
pub use flow::initial_window::InitialWindow;
pub use flow::message::{AppendError, Incoming, Message, Poll, Received, Transmit, Trimmed};
pub use flow::outcome::FlowOutcome;
pub use flow::profile::{FlowProfile, Profiles};
pub use flow::route::Route;
pub use flow::scheme::{Scheme, WindowCheck};
pub use notifier::CnpConfig;
pub use path::{Class, Path};
pub use pulls::PullConfig;
pub use receiver::{ReceiverReport, ReceiverView};
pub use recovery::PacketState;
#[cfg(feature = "serde")]
pub use registry::ByName;
pub use registry::{ConfigError, Entry, Requirement};
pub use sender::{SenderReport, SenderView};
