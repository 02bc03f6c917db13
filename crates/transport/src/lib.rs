//! The protocol, sans-IO: it decides what to send and when, and never learns which clock or wire drives it.
//!
//! One [`Endpoint`] per host owns that host's senders and receivers. Every driver (simulator, emulator, sockets) speaks
//! to it with the same six verbs: [`Endpoint::handle_packet`], [`Endpoint::handle_timeout`] and [`Endpoint::submit`] go
//! in; [`Endpoint::poll_transmit`], [`Endpoint::poll_timeout`] and [`Endpoint::poll_event`] come out. `now` is always an
//! argument; randomness is counter-based and keyed by the flow.
//!
//! A sender is assembled from a [`congestion`] control, a [`balance`] path selector, [`coding`] and [`recovery`]; it
//! speaks of headers and byte ranges, and a thin layer of the driver copies and codes the bytes, if there are any.
//!
//! # What it guarantees
//!
//! Whatever the channel loses, reorders or duplicates, in either direction: the receiver gets each byte of a message
//! once ([`Received`]), both ends learn when it is complete ([`Event`]), and nothing stays behind but a small record per
//! flow that goes on answering duplicates. Each packet costs a constant number of steps in every path, time-outs of a
//! lost burst included; a packet of the window costs 8 bytes at the sender and a bit at the receiver.
//!
//! Where switches trim, the receiver answers a packet that lost its payload with a NACK ([`Incoming::trimmed`]): the
//! sender gives that transmission up at once, tells its control and its path selector, and sends the packet again before
//! new ones.
//!
//! A coded message arrives in blocks, each whole when enough of its packets are here, whichever these are; nothing is sent
//! again that a block can do without.
//!
//! # Where later pieces plug in
//!
//! - **PULL, CNP**: a variant of [`wire::Header`] with its layout in `wire/bytes.rs`, and an arm in
//!   [`Endpoint::handle_packet`]. A PULL calls [`congestion::Congestion::on_credit`], a CNP
//!   [`congestion::Congestion::on_cnp`]. A pull pacer is one more queue before the data in
//!   [`Endpoint::poll_transmit`], and a CNP's own timer one more kind of timer of the endpoint.
//! - **Telemetry**: the driver passes the stamps that an ACK carries with [`Incoming`]; they end in
//!   [`congestion::Ack::telemetry`].
//! - **Coded bytes**: [`Transmit::payload`] says which part of the message a packet carries, or which parity of which
//!   block; [`Received`] says where an arrival belongs, and which block can now be decoded. The driver's copying layer
//!   codes the bytes.
//! - **Proxies**: endpoints of their own kind with the same six verbs: they take packets in and hand packets out, and
//!   keep flows of their own.
//! - **Other controls and path selectors**: a file and a line in the registries of [`congestion`] and [`balance`].
#![no_std]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod balance;
pub mod coding;
pub mod congestion;
mod delivered;
mod endpoint;
mod message;
mod pacing;
mod path;
mod queue;
mod receiver;
pub mod recovery;
mod registry;
mod route;
mod schedule;
mod scheme;
mod sender;
mod table;
mod timers;
pub mod wire;

pub use endpoint::{Answer, Endpoint, EndpointConfig, Event, Reply};
pub use message::{Incoming, Message, Poll, Received, Transmit};
pub use path::{Class, Path};
pub use queue::Queue;
pub use receiver::{ReceiverReport, ReceiverView};
pub use recovery::PacketState;
pub use registry::{ConfigError, Entry};
pub use route::Route;
pub use scheme::{Scheme, WindowCheck};
pub use sender::{DataPacket, SenderCounters, SenderReport, SenderView, Take};
