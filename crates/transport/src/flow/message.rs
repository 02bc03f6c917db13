//! Messages, and packets as drivers see them: all that goes into an endpoint or comes out.

use crate::Route;
use crate::balance::Entropy;
use crate::coding::{Block, Payload};
use crate::flow::via::Via;
use crate::wire::Header;
use alloc::boxed::Box;
use alloc::sync::Arc;
use farspan_units::{Bytes, FlowId, HostId, Telemetry, Time};

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its number, which this host gives: of no other message that it is sending. Whoever a message of this number went to
    /// before, or through, has [forgotten](crate::Endpoint::forget_peer) this host since. A number that was used towards a peer
    /// which this host has forgotten is used towards it again only when no packet of its earlier life can be under way any more:
    /// a late ACK would count for this message.
    pub flow: FlowId,
    /// Where it goes.
    pub to: HostId,
    /// Its payload; at least one byte.
    pub size: Bytes,
    /// First window.
    pub initial_cwnd: Bytes,
    /// The sender's path, and the parts that it is assembled from: of a message that a proxy acknowledges, those as far as
    /// the proxy.
    pub route: Arc<Route>,
    /// The proxy that it goes through; `None`: it goes straight to its receiver.
    pub via: Option<Arc<Via>>,
}

impl Message {
    /// A message that goes straight to its receiver, and begins with a window of one BDP.
    #[must_use]
    pub fn new(flow: FlowId, to: HostId, size: Bytes, route: Arc<Route>) -> Self {
        Self { flow, to, size, initial_cwnd: route.path().bdp, route, via: None }
    }
}

/// Why a message does not follow on a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// No sender has this number.
    #[error("no live flow has the number {flow}: submit the first message of a flow, then append others")]
    Unknown {
        /// The number.
        flow: FlowId,
    },
    /// The flow ends with its message.
    #[error("flow {flow} is not persistent: give its profile `persistent: true`")]
    NotPersistent {
        /// The flow.
        flow: FlowId,
    },
    /// The flow has no numbers left for the message's packets, or the message has none.
    #[error(
        "flow {flow} has numbers for {left} more packets, too few for {size}, or the message is empty: begin another flow"
    )]
    NoNumbers {
        /// The flow.
        flow: FlowId,
        /// Payload of the message.
        size: Bytes,
        /// How many packets may follow.
        left: u32,
    },
}

/// Whether the payload of a packet was cut off on its way, and where its header went; that still says how long the payload was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Trimmed {
    /// The packet is whole.
    #[default]
    No,
    /// A port that other paths may avoid cut it.
    OnItsWay,
    /// The port to the receiver, with which every path ends, cut it.
    AtLastHop,
    /// Somewhere: a port had no room for the header and sent it back to where the packet came from.
    Returned,
}

/// A packet that has arrived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Incoming {
    /// The host that sent the packet. Messages are taken from hosts below [`MAX_HOSTS`](crate::MAX_HOSTS) alone.
    pub from: HostId,
    /// Its header.
    pub header: Header,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Whether a switch cut its payload off, and which. Only data packets are trimmed.
    pub trimmed: Trimmed,
    /// Telemetry that ports have written on it; on an ACK, that of the packet which it acknowledges, and when that came.
    pub telemetry: Option<Box<Telemetry>>,
}

impl Incoming {
    /// A whole packet without a congestion mark or telemetry.
    #[must_use]
    #[inline]
    pub const fn new(from: HostId, header: Header) -> Self {
        Self { from, header, ecn_ce: false, trimmed: Trimmed::No, telemetry: None }
    }
}

/// A payload that arrived for the first time: the driver copies it, if there are bytes at all.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Received {
    /// The host whose message it is, though the packet may have come through a proxy.
    pub from: HostId,
    /// The message's number there.
    pub flow: FlowId,
    /// Where in the message it belongs, or which parity it is. On a persistent flow packets are counted as full ones, from the first
    /// message on: a message begins at a multiple of their payload.
    pub payload: Payload,
    /// A block that is complete with it, of which segments have not arrived: they can be decoded now. Its packets are
    /// of no use any more when they arrive.
    pub decodable: Option<Block>,
    /// How many bytes of the message are here that were not before, decoded ones included.
    pub delivered: Bytes,
}

/// A packet to put on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Transmit {
    /// Where it goes.
    pub to: HostId,
    /// Its header.
    pub header: Header,
    /// Its size on the wire.
    pub size: Bytes,
    /// Its path, as switches hash it.
    pub entropy: Entropy,
    /// Whether it is a control packet (an ACK or a NACK), which ports may serve first.
    pub control: bool,
    /// Its payload; nothing, if it is a control packet, or a mark at the end of a burst.
    pub payload: Option<Payload>,
    /// Whether the payload was sent before.
    pub retransmission: bool,
    /// Whether it leaves with a congestion mark: a proxy sends on what came with one.
    pub ecn_ce: bool,
    /// The telemetry that an ACK echoes, or that came with a packet that a proxy sends on.
    pub telemetry: Option<Box<Telemetry>>,
}

/// An order to the NIC.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Poll {
    /// Send this packet.
    Packet(Transmit),
    /// Nothing now; a pacer releases a packet at this time, if nothing else happens before.
    At(Time),
    /// Nothing until something happens.
    Idle,
}
