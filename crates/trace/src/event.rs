//! Events of flows and of packets, as values.

use farspan_transport::wire::Header;
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Rate, Time};

/// An end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    /// The one that sends data.
    Sender,
    /// The one that receives it.
    Receiver,
}

/// Something that happened at an end of a flow.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowEvent {
    /// When, by the clock of the driver.
    pub at: Time,
    /// Which flow.
    pub flow: FlowId,
    /// Which end.
    pub end: End,
    /// The event.
    pub what: What,
}

/// An event at an end of a flow.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum What {
    /// The message was handed to the sender, or its first packet reached the receiver.
    Started {
        /// The host of this end.
        local: HostId,
        /// The host of the other end.
        remote: HostId,
        /// Payload of the message, where it is known.
        size: Option<Bytes>,
    },
    /// A packet took a path that none of this end took before.
    PathUsed {
        /// The path entropy, which switches hash.
        entropy: u16,
    },
    /// A packet left.
    Sent {
        /// Its header.
        header: Header,
        /// Its size on the wire.
        size: Bytes,
        /// Its path.
        entropy: u16,
        /// If it left before: why again.
        again: Option<Reason>,
    },
    /// A packet arrived.
    Arrived {
        /// Its header.
        header: Header,
        /// Its size on the wire.
        size: Bytes,
        /// Its path.
        entropy: u16,
        /// Whether it carried a congestion mark.
        ecn_ce: bool,
        /// Whether its payload was cut off on the way.
        trimmed: bool,
    },
    /// The sender learnt that these packets have arrived, or are not needed any more.
    Acked {
        /// Their numbers, in order.
        packets: Vec<u32>,
    },
    /// The sender marks a packet lost.
    Lost {
        /// Its number.
        packet: u32,
        /// The reason for marking it lost.
        reason: Reason,
    },
    /// The sender's metrics have changed.
    Metrics(Metrics),
    /// The control is in another state.
    State {
        /// The state before, if there was one.
        old: Option<&'static str>,
        /// The state now.
        new: &'static str,
    },
    /// A block is complete: none of its packets is needed any more.
    BlockCompleted {
        /// Which block.
        block: u32,
        /// Whether a segment of it had to be decoded.
        decoded: bool,
    },
    /// The receiver has waited for a block and asks for packets of it.
    BlockRequested {
        /// Which block.
        block: u32,
        /// The packets that are missing.
        missing: Vec<u32>,
    },
    /// The sender has the last ACK, or the receiver the last byte.
    Ended,
}

/// Why a packet is marked lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Reason {
    /// Its time-out ran out.
    Timeout,
    /// Packets sent later have arrived.
    Reordering,
    /// Nothing was heard for long: it leaves once more as a probe.
    Probe,
    /// A NACK says that a port trimmed it.
    Trimmed,
    /// A NACK says that a proxy has seen a gap in the numbers of transmissions.
    Gap,
    /// The receiver asked for its block.
    Block,
    /// Its header came back.
    Returned,
}

/// The metrics of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// Congestion window, payload bytes.
    pub cwnd: Bytes,
    /// Payload in flight.
    pub in_flight: Bytes,
    /// Smoothed round trip, once there was a sample.
    pub srtt: Option<Duration>,
    /// The last sample.
    pub latest_rtt: Option<Duration>,
    /// The smallest sample so far.
    pub min_rtt: Option<Duration>,
    /// Pacing rate; `None`: as fast as the NIC.
    pub pacing_rate: Option<Rate>,
}

/// A packet at a port: it left, or was lost there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketEvent {
    /// When its last bit left, or when it was lost.
    pub at: Time,
    /// The port.
    pub port: PortId,
    /// Its header.
    pub header: Header,
    /// Its size in the simulated network.
    pub size: Bytes,
    /// The host that sent it.
    pub from: HostId,
    /// The host that it is for.
    pub to: HostId,
    /// The path entropy, which switches hash.
    pub entropy: u16,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Whether its payload was cut off, here or before.
    pub trimmed: bool,
    /// The port's actions on the packet.
    pub remarks: Vec<Remark>,
}

/// An action of a port on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Remark {
    /// It found the buffer full, and did not leave.
    Dropped {
        /// Data queue.
        queue: Bytes,
    },
    /// The link lost it: it was down, swallowed everything, or lost this one.
    Lost,
    /// It was marked here.
    Marked {
        /// Data queue when it left.
        queue: Bytes,
        /// Phantom queue then, if there is one.
        phantom: Option<Bytes>,
    },
    /// Its payload was cut off here.
    Trimmed,
    /// There was no room for its header, which went back to where the packet came from.
    Returned,
}
