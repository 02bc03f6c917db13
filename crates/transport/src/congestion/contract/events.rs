//! The start and the events of a flow, as its control is notified of them.

use crate::path::Path;
use farspan_units::{Bytes, Duration, FlowId, HopTelemetry, Telemetry, Time};

/// The inputs from which a control is built.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Start<'a> {
    /// The path.
    pub path: &'a Path,
    /// Payload of the message.
    pub size: Bytes,
    /// First window: the same for every scheme of a scenario.
    pub initial_cwnd: Bytes,
    /// How many flows of the same host were under way when this one began.
    pub active_flows: u32,
    /// The flow's own key for [`farspan_units::Random`] draws: (seed, flow).
    pub seed: u64,
    /// The flow.
    pub flow: FlowId,
}

impl Start<'_> {
    /// The first window as the path's bandwidth-delay product counts: with headers, up to that product. A window of payload that
    /// is larger than the product stays as it is.
    #[must_use]
    pub fn cwnd_on_wire(&self) -> Bytes {
        let Path { mss, bdp, .. } = *self.path;
        let cwnd = self.initial_cwnd.max(mss);
        let wire = u128::from(cwnd.get()) * u128::from(self.path.mtu().get()) / u128::from(mss.get().max(1));
        cwnd.max(Bytes::new(u64::try_from(wire).unwrap_or(u64::MAX)).min(bdp))
    }
}

/// The state of the sender when a packet left; kept only for controls that ask for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SendRecord {
    /// Payload bytes in flight after the packet was sent.
    pub in_flight: Bytes,
    /// The congestion window by which it was sent.
    pub cwnd: Bytes,
    /// Payload bytes delivered so far.
    pub delivered: Bytes,
    /// When `delivered` last changed.
    pub delivered_at: Time,
    /// Send time of the first packet of the current flight (the delivery-rate sample's send interval starts there).
    pub first_sent_at: Time,
    /// Whether the sender had nothing more to send.
    pub app_limited: bool,
}

/// A packet left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// Now.
    pub now: Time,
    /// Its payload.
    pub bytes: Bytes,
    /// Payload in flight, this packet included.
    pub in_flight: Bytes,
    /// Whether the same payload was sent before.
    pub retransmission: bool,
}

/// An ACK arrived. It is for one packet, and may acknowledge others with it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ack<'a> {
    /// Now.
    pub now: Time,
    /// Payload that this ACK acknowledges for the first time; zero for a duplicate.
    pub bytes_acked: Bytes,
    /// The part of `bytes_acked` that its map alone names, though each such packet had an ACK of its own: that ACK is lost, as a
    /// rule, and with it whether the packet came marked. Zero where there are no maps.
    pub mapped: Bytes,
    /// For how many packets' ACKs it stands: 1, but of a receiver that [holds](crate::ack::AckPolicy::holds) or
    /// [delays](crate::ack::AckPolicy::delays) ACKs as many as this one acknowledges for the first time and
    /// [echoes](Self::echoed_bytes) the mark of, at least 1.
    pub acked_packets: u32,
    /// Whether the acknowledged packet arrived with a congestion mark. So did all whose mark it [echoes](Self::echoed_bytes),
    /// unless an earlier ACK was lost or overtaken.
    pub ecn_ce: bool,
    /// Round trip of the acknowledged transmission, from its start on the NIC.
    pub rtt: Duration,
    /// When the acknowledged transmission left.
    pub sent_at: Time,
    /// Payload in flight after this ACK.
    pub in_flight: Bytes,
    /// Payload delivered so far, this ACK included.
    pub delivered: Bytes,
    /// All packets below this one are acknowledged.
    pub acked_below: u32,
    /// All packets below this one have been sent.
    pub sent_below: u32,
    /// Whether packets were lost that are not acknowledged since.
    pub has_losses: bool,
    /// The sender's state when the packet left, if the control [asked for it](super::Needs::send_record).
    pub at_send: Option<SendRecord>,
    /// Words of ports and receiver on the acknowledged transmission; `None` where nobody says any, and over sockets.
    pub telemetry: Option<&'a Telemetry>,
}

impl<'a> Ack<'a> {
    /// The state of the ports that the acknowledged transmission crossed, the first on its way first; empty where ports
    /// write none.
    #[must_use]
    #[inline]
    pub fn hops(&self) -> &'a [HopTelemetry] {
        self.telemetry.map_or(&[], Telemetry::hops)
    }

    /// Payload that this ACK acknowledges for the first time and of which it tells whether it came marked: a mark counts for this
    /// much, and what only a [map](Self::mapped) names has no part in a share of marks.
    #[must_use]
    #[inline]
    pub fn echoed_bytes(&self) -> Bytes {
        self.bytes_acked - self.mapped
    }

    /// When the acknowledged transmission arrived, by the receiver's clock, if the control
    /// [asked for it](super::Needs::arrival).
    #[must_use]
    #[inline]
    pub fn received_at(&self) -> Option<Time> {
        self.telemetry?.received_at
    }
}

/// Why a NACK came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NackCause {
    /// A port trimmed the packet: congestion.
    Trimmed,
    /// A proxy found it lost, from a gap in the numbers of transmissions. Ports between sender and proxy drop what they have no
    /// room for: congestion, as a rule, and no delay is known.
    Gap,
    /// A port had no room for the header of the packet and sent it back: congestion, and the receiver knows nothing of the packet.
    Returned,
    /// The timer of a coded block ran out (Uno, section 4.2): the receiver waited for longer than queues last. No sign of a full port.
    Block,
}

impl NackCause {
    /// Every cause.
    pub const ALL: [Self; 4] = [Self::Trimmed, Self::Gap, Self::Block, Self::Returned];
}

/// A NACK: the packet reached the receiver trimmed, a proxy found it lost, its header came back, or a coded block lacks packets. It
/// carries no RTT sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nack {
    /// Now.
    pub now: Time,
    /// Payload that did not arrive.
    pub bytes: Bytes,
    /// When the transmission left.
    pub sent_at: Time,
    /// Payload in flight after the loss was taken out.
    pub in_flight: Bytes,
    /// Why it came.
    pub cause: NackCause,
}

/// A pull: the receiver wants more packets. Pulls may be lost or overtake each other: the largest count is the one that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pull {
    /// Now.
    pub now: Time,
    /// How many packets the receiver has pulled of this flow so far, this one included.
    pub count: u32,
    /// Payload in flight.
    pub in_flight: Bytes,
}

/// A CNP: packets of the flow come marked. The receiver sends one in an interval at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cnp {
    /// Now.
    pub now: Time,
    /// Payload in flight.
    pub in_flight: Bytes,
}

/// Packets were found lost from the ACKs of later ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Loss {
    /// Now.
    pub now: Time,
    /// Payload lost.
    pub bytes: Bytes,
    /// When the newest of the lost transmissions left.
    pub sent_at: Time,
    /// Payload in flight after the loss was taken out.
    pub in_flight: Bytes,
}

/// A message follows on a flow that had nothing left to send, and nothing in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Idle {
    /// Now.
    pub now: Time,
    /// How long ago a packet last left.
    pub idle: Duration,
    /// The time-out, which says what a long idle time is.
    pub rto: Duration,
    /// The flow's first window.
    pub initial_cwnd: Bytes,
}

/// Packets were not acknowledged within the retransmission time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeout {
    /// Now.
    pub now: Time,
    /// Payload lost.
    pub bytes: Bytes,
    /// When the newest of the lost transmissions left.
    pub sent_at: Time,
    /// Payload in flight after the loss was taken out.
    pub in_flight: Bytes,
    /// The time-out that ran out (before any doubling).
    pub rto: Duration,
}
