//! The protocol, sans-IO: it decides what to send and when, and never learns which clock or wire drives it.
//!
//! One [`Endpoint`] per host owns that host's senders and receivers. Every driver (simulator, emulator, sockets) speaks
//! to it with the same six verbs: [`Endpoint::handle_packet`], [`Endpoint::handle_timeout`] and [`Endpoint::submit`] go
//! in; [`Endpoint::poll_transmit`], [`Endpoint::poll_timeout`] and [`Endpoint::poll_event`] come out. `now` is always an
//! argument; randomness is counter-based and keyed by the flow.
//!
//! A sender is assembled from a [`congestion`] control, a [`balance`] path selector and [`recovery`]; it speaks of
//! headers and byte ranges, and a thin layer of the driver copies the bytes, if there are any.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod balance;
pub mod congestion;
mod endpoint;
mod pacing;
mod path;
mod receiver;
pub mod recovery;
mod schedule;
mod scheme;
mod sender;
mod table;
mod timers;
pub mod wire;

pub use endpoint::{Endpoint, EndpointConfig, Event, Incoming, Message, Poll, Received, Transmit};
pub use path::{Class, Path};
pub use receiver::{ReceiverReport, ReceiverView};
pub use scheme::{Scheme, WindowCheck};
pub use sender::{SenderCounters, SenderReport, SenderView};
