//! TCP's connections beside their congestion control: a message needs nothing of it.
//!
//! Its page: `docs/src/schemes/tcp.md`.

use farspan_units::Bytes;

/// The habits of TCP that a flow has; by default none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Connection {
    /// Whether a message begins with a handshake (RFC 9293, section 3.5). Not of messages that go through a proxy.
    pub handshake: bool,
    /// Payload that leaves in one go at most, as segments that the NIC cuts up do; zero: each packet leaves by itself.
    pub burst: Bytes,
    /// The pacer holds nothing back before so many packets of a connection have left, where there are bursts: Linux paces from the
    /// tenth on.
    pub unpaced: u32,
    /// Whether a cut on loss is spread over the round trip in which it is made: proportional rate reduction (RFC 9937). Not of
    /// controls that take [samples of the delivery rate](crate::congestion::Needs::send_record): they govern their own recovery.
    pub prr: bool,
    /// Whether a persistent flow's window decays to the first one in an idle time (RFC 2861, as Linux does it:
    /// [`Congestion::on_idle`](crate::congestion::Congestion::on_idle)).
    pub idle_restart: bool,
}
