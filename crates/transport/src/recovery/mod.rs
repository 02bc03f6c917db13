//! Loss recovery: RTT estimate, sent-packet map, loss detection, time-outs.

use farspan_units::Duration;

/// How the retransmission time-out is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rto {
    /// Base RTT plus the largest wait in full buffers along the path.
    Path,
    /// From the RTT estimate (RFC 6298), not below this minimum.
    Rfc6298 {
        /// The smallest time-out.
        min: Duration,
    },
    /// A constant.
    Fixed(Duration),
}

/// How losses are found before the time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detection {
    /// Not at all: each packet waits for its own time-out.
    TimeoutOnly,
    /// From the ACKs of packets sent later, by time (RFC 8985, RACK): a packet is lost when one sent at least the
    /// reordering window later was acknowledged. The window starts at a quarter of the smallest RTT and grows with each
    /// loss that proves spurious.
    Rack,
}

/// Loss recovery of a scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The time-out of each packet; doubles with every repeat of that packet.
    pub rto: Rto,
    /// How losses are found before it.
    pub detection: Detection,
}
