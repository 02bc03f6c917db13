//! Headers: plain values here, bytes in `bytes.rs`.
//!
//! The state machines and the simulator speak in plain values; sockets and eBPF see bytes. A round-trip property ties
//! the two.

mod bytes;

pub use bytes::{DecodeError, EncodeError, MAX_HEADER, VERSION, View};

use crate::balance::Entropy;
use crate::coding::Shape;
use farspan_units::{Duration, FlowId, Time};

/// The header of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    /// A piece of a message.
    Data(Data),
    /// A piece of a coded message, or parity.
    Coded(Coded),
    /// An acknowledgement of one packet.
    Ack(Ack),
    /// Word that a packet came without its payload.
    Nack(Nack),
    /// Word that a block is missing packets.
    BlockNack(BlockNack),
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

/// One packet of a coded message, numbered as [`crate::coding::blocks`] says.
///
/// Every packet says all that the receiver must know of the message: any of them may be the first to arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coded {
    /// As of every data packet; numbers and lengths are those of packets, be they pieces or parity.
    pub data: Data,
    /// What the message's blocks are made of.
    pub shape: Shape,
    /// Payload of the message's last piece, in bytes.
    pub last_len: u16,
    /// How long the receiver is to wait for the rest of the block, in ns: the largest time that its packets may spend in
    /// queues, and the time in which they leave the sender.
    pub block_wait_ns: u32,
}

impl Coded {
    /// How long the receiver is to wait for the rest of the block.
    #[must_use]
    #[inline]
    pub const fn block_wait(&self) -> Duration {
        Duration::from_ns(self.block_wait_ns as u64)
    }
}

/// An acknowledgement of one data packet; selective, and cumulative below `cumulative`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The flow.
    pub flow: FlowId,
    /// The piece acknowledged.
    pub seq: u32,
    /// All pieces below this one have arrived, or are not needed any more: their blocks are complete.
    pub cumulative: u32,
    /// The send time of the packet acknowledged, echoed.
    pub sent_at: Time,
    /// The entropy of the packet acknowledged, echoed.
    pub entropy: Entropy,
    /// Whether the packet acknowledged carried a congestion mark, echoed.
    pub ecn_ce: bool,
    /// Whether the packet's block is complete: none of its packets is needed any more. Not of messages without blocks.
    pub block_complete: bool,
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

/// Word that the receiver has waited for a block and is still missing packets (Uno, section 4.2). Of a block with more
/// than 32 packets there may be several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockNack {
    /// The flow.
    pub flow: FlowId,
    /// A packet of the block.
    pub first: u32,
    /// Which are missing: bit `i` is packet `first + i`.
    pub missing: u32,
    /// As in [`Ack::cumulative`]: the blocks before the one of this packet are complete.
    pub cumulative: u32,
}

impl Header {
    /// The flow that the packet belongs to.
    #[must_use]
    pub const fn flow(&self) -> FlowId {
        match self {
            Self::Data(data) | Self::Coded(Coded { data, .. }) => data.flow,
            Self::Ack(ack) => ack.flow,
            Self::Nack(nack) => nack.flow,
            Self::BlockNack(nack) => nack.flow,
        }
    }
}
