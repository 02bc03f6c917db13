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

/// Takes a datagram that has arrived: where from, its ECN codepoint, its payload.
pub type OnDatagram<'a> = dyn FnMut(SocketAddr, Option<EcnCodepoint>, &[u8]) + 'a;

/// Something that carries datagrams and never blocks.
pub trait Wire {
    /// Sends a datagram. Gives whether it was taken: if not, there is no room now, and it should be tried again.
    ///
    /// # Errors
    /// The error of the system.
    fn send(&mut self, datagram: &Datagram) -> io::Result<bool>;

    /// Hands over datagrams that have arrived, as many as it likes. Gives how many.
    ///
    /// # Errors
    /// The error of the system.
    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize>;

    /// The address that datagrams come from.
    ///
    /// # Errors
    /// The error of the system.
    fn address(&self) -> io::Result<SocketAddr>;
}
