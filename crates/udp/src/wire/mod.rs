//! Wires: the trait of what carries datagrams, sockets, and a wrapper that loses datagrams.

mod lossy;
mod socket;

pub use lossy::{Losses, Lossy};
pub use quinn_udp::EcnCodepoint;
pub use socket::Socket;

use std::io;
use std::net::SocketAddr;

/// A datagram on its way out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datagram {
    /// Where it goes.
    pub to: SocketAddr,
    /// Its ECN codepoint; `None`: not capable.
    pub ecn: Option<EcnCodepoint>,
    /// Its payload.
    pub bytes: Vec<u8>,
}

/// The fate of a datagram that was to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "a datagram without room is to be tried again"]
pub enum Sending {
    /// It was taken.
    Sent,
    /// There is no room now: it should be tried again.
    NoRoom,
    /// The system does not send it to where it is to go, for this reason. Other datagrams are not concerned.
    Refused(io::ErrorKind),
}

/// Takes a datagram that has arrived: where from, its ECN codepoint, its payload.
pub type OnDatagram<'a> = dyn FnMut(SocketAddr, Option<EcnCodepoint>, &[u8]) + 'a;

/// Something that carries datagrams and never blocks.
pub trait Wire {
    /// Sends a datagram.
    ///
    /// # Errors
    /// If no datagram can be sent any more, wherever it goes.
    fn send(&mut self, datagram: &Datagram) -> io::Result<Sending>;

    /// Hands over datagrams that have arrived, as many as it likes. Gives how many.
    ///
    /// # Errors
    /// If no datagram can arrive any more.
    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize>;

    /// The address that datagrams come from.
    ///
    /// # Errors
    /// The error of the system.
    fn address(&self) -> io::Result<SocketAddr>;
}
