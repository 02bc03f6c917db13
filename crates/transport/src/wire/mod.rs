//! Headers: plain values here, bytes in `bytes.rs`; telemetry as bytes in `telemetry.rs`.
//!
//! The state machines and the simulator speak in plain values; sockets and eBPF see bytes. A round-trip property ties
//! the two.

mod bytes;
pub mod telemetry;

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
    /// A segment of a message whose transmissions are numbered, so that a proxy can tell which are lost.
    Numbered(Numbered),
    /// The first packet of a flow that begins with a handshake.
    Handshake(Handshake),
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
    /// How many segments the message has; of a [persistent](crate::FlowProfile::persistent) flow, whose segments are numbered through
    /// all its messages, the number after that of this message's last.
    pub packets: u32,
    /// Payload of this segment, in bytes; only the last segment of a message is shorter than the MSS.
    pub len: u16,
    /// When this transmission started on the sender's NIC (the sender's clock).
    pub sent_at: Time,
    /// The path that this transmission takes.
    pub entropy: Entropy,
    /// Which of the [profiles](crate::Profiles) that both ends know the flow has; below 128.
    pub profile: u8,
    /// Whether the sender asks for an ACK at once: without one it may have to wait for a time-out. Only of flows whose
    /// receiver [holds](crate::ack::AckPolicy::holds) ACKs.
    pub ask: bool,
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

/// One packet of a message whose transmissions are numbered, or a mark at the end of a burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// As of every data packet. A mark has no payload, and `packets` for its `seq`.
    pub data: Data,
    /// The number of this transmission, a retransmission's its own; of a mark, the number of the lane's next packet.
    pub place: Place,
}

impl Numbered {
    /// Whether it is a mark: all before its number have left, and nothing more for now.
    #[must_use]
    #[inline]
    pub const fn is_mark(&self) -> bool {
        self.data.len == 0 && self.data.seq == self.data.packets
    }
}

/// The number of a transmission: of its lane, from 0, modulo 2^16. A lane is a path of the flow, or all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The lane.
    pub lane: u8,
    /// The number.
    pub number: u16,
}

/// The packet that opens a flow, before any of its message: a control packet, as TCP's SYN. The receiver answers with an
/// ACK of a packet that the message does not have, the one after its last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handshake {
    /// The flow.
    pub flow: FlowId,
    /// How many segments its message has; of a [persistent](crate::FlowProfile::persistent) flow, which has no last one, the largest
    /// number.
    pub packets: u32,
    /// When this transmission started on the sender's NIC (the sender's clock).
    pub sent_at: Time,
    /// The path that this transmission takes.
    pub entropy: Entropy,
    /// As of a [data packet](Data::profile).
    pub profile: u8,
}

/// Feedback from the receiver: what became of one packet or of a block, a pull or a CNP; and everything that has arrived below
/// a number.
///
/// A NACK repeats what an ACK would have said of the rest, and says nothing of a round trip: a trimmed packet overtakes
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// The flow.
    pub flow: FlowId,
    /// The packet that it is about; of a pull or a CNP, none: 0.
    pub seq: u32,
    /// All packets below this one have arrived, or are not needed any more: their blocks are complete.
    pub cumulative: u32,
    /// The packet's fate.
    pub fate: Fate,
}

impl Feedback {
    /// The transmission that an ACK echoes, be it the receiver's or a proxy's; `None`: it is no ACK.
    #[must_use]
    #[inline]
    pub const fn acknowledged(&self) -> Option<Echo> {
        match self.fate {
            Fate::Arrived { echo, .. } | Fate::Taken { echo, .. } => Some(echo),
            _ => None,
        }
    }
}

/// The fate of a packet, or of a block; or a pull, or a CNP.
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
        /// Bit `i`: packet `cumulative + 1 + i` has arrived, too, or is not needed any more. Zero where the profile has
        /// [no maps](crate::FlowProfile::signals) and the receiver holds no ACKs.
        map: u64,
    },
    /// It came without its payload, which a switch has trimmed: a NACK. Other transmissions of it are not concerned.
    Trimmed {
        /// The transmission.
        echo: Echo,
        /// Whether it was the port to the receiver: every path ends there.
        at_last_hop: bool,
        /// Whether it carried a congestion mark, of a port before.
        ecn_ce: bool,
    },
    /// The receiver has waited for the packet's block and is still missing packets of it: a NACK (Uno, section 4.2). Of
    /// a block with more than 32 packets there may be several. Or, of a message without blocks: packets are taken in their order
    /// alone, and others have come while this one is due.
    Missing {
        /// Bit `i` is the packet `i` after this one.
        packets: u32,
    },
    /// A pull (NDP, SIGCOMM 2017, section 3.2): the sender may send.
    Pull {
        /// How many packets the receiver has pulled of the flow so far, this one included: a later pull makes up for those
        /// that were lost.
        count: u32,
    },
    /// A congestion notification packet, CNP (DCQCN, SIGCOMM 2015, section 3.1): packets of the flow come marked.
    Cnp,
    /// It has reached the flow's proxy, which sends it on over a connection of its own: an ACK that moves the window, and
    /// says nothing of the receiver; nor does the cumulative number, which is the proxy's.
    Taken {
        /// The transmission.
        echo: Echo,
        /// Whether it carried a congestion mark.
        ecn_ce: bool,
        /// The sender may send packets below this one.
        limit: u32,
    },
    /// A proxy passes on what the receiver has said: the cumulative number is the receiver's.
    PassedOn {
        /// The sender may send packets below this one.
        limit: u32,
    },
    /// A proxy has seen a gap in the numbers of a lane: these transmissions are lost. Or it confirms a mark. It knows nothing of
    /// what has arrived: the cumulative number is zero.
    Gap {
        /// The first that is lost, or the place of the mark.
        first: Place,
        /// How many are, in a row; 0: it confirms a mark.
        count: u16,
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

/// The packets that the map of an ACK names, from the lowest on; `cumulative`: the ACK's.
pub fn mapped(cumulative: u32, map: u64) -> impl Iterator<Item = u32> {
    let named = (0..u64::BITS).filter(move |bit| map >> bit & 1 == 1);
    named.map_while(move |bit| cumulative.checked_add(1 + bit))
}

impl Header {
    /// The fields of any data packet; `None`: it is a control packet.
    #[must_use]
    #[inline]
    pub const fn data(&self) -> Option<&Data> {
        match self {
            Self::Data(data) | Self::Coded(Coded { data, .. }) | Self::Numbered(Numbered { data, .. }) => {
                Some(data)
            }
            Self::Handshake(_) | Self::Feedback(_) => None,
        }
    }

    /// The fields of a packet of a coded message; `None`: it is none.
    #[must_use]
    pub const fn coded(&self) -> Option<&Coded> {
        match self {
            Self::Coded(coded) => Some(coded),
            Self::Data(_) | Self::Numbered(_) | Self::Handshake(_) | Self::Feedback(_) => None,
        }
    }

    /// The number of the transmission; `None`: it has none.
    #[must_use]
    pub const fn place(&self) -> Option<Place> {
        match self {
            Self::Numbered(numbered) => Some(numbered.place),
            Self::Data(_) | Self::Coded(_) | Self::Handshake(_) | Self::Feedback(_) => None,
        }
    }

    /// When a data packet left, or the transmission that an ACK echoes; `None`: it is a control packet of another kind.
    #[must_use]
    pub fn sent_at(&self) -> Option<Time> {
        let echo = || self.feedback()?.acknowledged();
        self.data().map(|data| data.sent_at).or_else(|| Some(echo()?.sent_at))
    }

    /// The feedback; `None`: it is a data packet, or opens a flow.
    #[must_use]
    #[inline]
    pub const fn feedback(&self) -> Option<&Feedback> {
        match self {
            Self::Feedback(feedback) => Some(feedback),
            Self::Data(_) | Self::Coded(_) | Self::Numbered(_) | Self::Handshake(_) => None,
        }
    }

    /// Whether it is a mark at the end of a burst, which is no packet of its message.
    #[must_use]
    pub const fn is_mark(&self) -> bool {
        matches!(self, Self::Numbered(numbered) if numbered.is_mark())
    }

    /// The flow that the packet belongs to.
    #[must_use]
    #[inline]
    pub const fn flow(&self) -> FlowId {
        match self {
            Self::Data(data) | Self::Coded(Coded { data, .. }) | Self::Numbered(Numbered { data, .. }) => {
                data.flow
            }
            Self::Handshake(open) => open.flow,
            Self::Feedback(feedback) => feedback.flow,
        }
    }
}
