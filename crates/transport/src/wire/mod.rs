//! Headers: plain values here, bytes in `bytes.rs`.
//!
//! The state machines and the simulator speak in plain values; sockets and eBPF see bytes. A round-trip property ties
//! the two.

mod bytes;

pub use bytes::{DecodeError, EncodeError, MAX_HEADER, VERSION, View};

use crate::balance::Entropy;
use farspan_units::{FlowId, Time};

/// The header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// A piece of a message.
    Data(Data),
    /// An acknowledgement of one packet.
    Ack(Ack),
    /// Word that a packet came without its payload.
    Nack(Nack),
}

/// One packet of a message: the `seq`-th piece of `mss` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The flow, that is, the message.
    pub flow: FlowId,
    /// Which piece of the message, from 0. A retransmission carries the same number.
    pub seq: u32,
    /// How many pieces the message has.
    pub packets: u32,
    /// Payload of this piece, in bytes; only the last piece is shorter than the MSS.
    pub len: u16,
    /// When this transmission started on the sender's NIC (the sender's clock).
    pub sent_at: Time,
    /// The path that this transmission takes.
    pub entropy: Entropy,
}

/// An acknowledgement of one data packet; selective, and cumulative below `cumulative`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The flow.
    pub flow: FlowId,
    /// The piece acknowledged.
    pub seq: u32,
    /// All pieces below this one have arrived.
    pub cumulative: u32,
    /// The send time of the packet acknowledged, echoed.
    pub sent_at: Time,
    /// The entropy of the packet acknowledged, echoed.
    pub entropy: Entropy,
    /// Whether the packet acknowledged carried a congestion mark, echoed.
    pub ecn_ce: bool,
}

/// Word that one transmission of a packet came without its payload: a switch trimmed it.
///
/// It says nothing of a round trip (a trimmed packet overtakes others) and repeats what an ACK would have said of the
/// rest: everything below `cumulative`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nack {
    /// The flow.
    pub flow: FlowId,
    /// The piece whose payload was cut off.
    pub seq: u32,
    /// All pieces below this one have arrived.
    pub cumulative: u32,
    /// The send time of the transmission that was trimmed, echoed: others of the same piece are not concerned.
    pub sent_at: Time,
    /// The entropy of the transmission that was trimmed, echoed.
    pub entropy: Entropy,
}

impl Header {
    /// The flow that the packet belongs to.
    #[must_use]
    pub const fn flow(&self) -> FlowId {
        match self {
            Self::Data(data) => data.flow,
            Self::Ack(ack) => ack.flow,
            Self::Nack(nack) => nack.flow,
        }
    }
}
