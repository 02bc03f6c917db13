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
#[non_exhaustive]
pub enum Header {
    /// A segment of a message.
    Data(Data),
    /// A segment of a coded message, or parity.
    Coded(Coded),
    /// Feedback from the receiver: what became of a packet, or of a block.
    Feedback(Feedback),
}

/// One packet of a message: the `seq`-th segment of `mss` bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Data {
    /// The flow, that is, the message.
    pub flow: FlowId,
    /// Which segment of the message, from 0. A retransmission carries the same number.
    pub seq: u32,
    /// How many segments the message has.
    pub packets: u32,
    /// Payload of this segment, in bytes; only the last segment is shorter than the MSS.
    pub len: u16,
    /// When this transmission started on the sender's NIC (the sender's clock).
    pub sent_at: Time,
    /// The path that this transmission takes.
    pub entropy: Entropy,
    /// Which of the [profiles](crate::Profiles) that both ends know the flow has.
    pub profile: u8,
}

/// One packet of a coded message, numbered as [`crate::coding::blocks`] says.
///
/// Every packet says all that the receiver must know of the message: any of them may be the first to arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Coded {
    /// As of every data packet; numbers and lengths are those of packets, be they segments or parity.
    pub data: Data,
    /// The numbers of data and parity packets of the message's full blocks.
    pub shape: Shape,
    /// Payload of the message's last segment, in bytes.
    pub last_len: u16,
    /// How long the receiver is to wait for the rest of the block, in ns: the largest time that its packets may spend
    /// in queues, and the time in which they leave the sender.
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

/// Feedback from the receiver: what became of one packet or of a block, and everything that has arrived below a number.
///
/// A NACK repeats what an ACK would have said of the rest, and says nothing of a round trip: a trimmed packet overtakes
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// The flow.
    pub flow: FlowId,
    /// The packet that it is about.
    pub seq: u32,
    /// All packets below this one have arrived, or are not needed any more: their blocks are complete.
    pub cumulative: u32,
    /// The packet's fate.
    pub fate: Fate,
}

/// The fate of a packet, or of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Fate {
    /// It has arrived: an ACK.
    Arrived {
        /// The transmission.
        echo: Echo,
        /// Whether it carried a congestion mark.
        ecn_ce: bool,
        /// Whether its block is complete: none of its packets is needed any more. Not of messages without blocks.
        block_complete: bool,
    },
    /// It came without its payload, which a switch has trimmed: a NACK. Other transmissions of it are not concerned.
    Trimmed {
        /// The transmission.
        echo: Echo,
    },
    /// The receiver has waited for the packet's block and is still missing packets of it: a NACK (Uno, section 4.2). Of
    /// a block with more than 32 packets there may be several.
    Missing {
        /// Bit `i` is the packet `i` after this one.
        packets: u32,
    },
}

/// One transmission of a packet, identified by its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// When it left (the sender's clock).
    pub sent_at: Time,
    /// The path that it took.
    pub entropy: Entropy,
}

impl Header {
    /// The flow that the packet belongs to.
    #[must_use]
    pub const fn flow(&self) -> FlowId {
        match self {
            Self::Data(data) | Self::Coded(Coded { data, .. }) => data.flow,
            Self::Feedback(feedback) => feedback.flow,
        }
    }
}
