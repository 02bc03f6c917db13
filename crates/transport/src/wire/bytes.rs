//! Headers as bytes: version 1, network byte order.
//!
//! | offset | bytes | data | ACK | NACK |
//! |---|---|---|---|---|
//! | 0 | 1 | version (high 4 bits) and kind 0 (low 4) | version and kind 1 | version and kind 2 |
//! | 1 | 1 | profile of the flow; bit 7 = asks for an ACK | flags: bit 0 = congestion mark echoed | flags: bit 0 = congestion mark echoed, bit 2 = trimmed at the last hop |
//! | 2 | 2 | entropy | entropy echoed | entropy echoed |
//! | 4 | 4 | flow | flow | flow |
//! | 8 | 8 | send time, ps | send time echoed | send time echoed |
//! | 16 | 4 | seq | seq | seq |
//! | 20 | 4 | packets | cumulative | cumulative |
//! | 24 | 2 | payload length | | |
//!
//! A coded data packet is kind 3: a data packet with eight bytes more. A NACK of a block is kind 4.
//!
//! | offset | bytes | coded data | | offset | bytes | NACK of a block |
//! |---|---|---|---|---|---|---|
//! | 26 | 1 | data packets of a block | | 2 | 2 | zero |
//! | 27 | 1 | parity packets of a block | | 4 | 4 | flow |
//! | 28 | 2 | payload length of the last segment | | 8 | 4 | cumulative |
//! | 30 | 4 | how long to wait for the block, ns | | 12 | 4 | first packet of the bit map |
//! | | | | | 16 | 4 | missing packets, the first one the lowest bit |
//!
//! A numbered data packet is kind 8: a data packet with three bytes more. Without payload, and with the number of packets for
//! that of its segment, it is a mark at the end of a burst.
//!
//! | offset | bytes | numbered data |
//! |---|---|---|
//! | 26 | 1 | lane |
//! | 27 | 2 | number of the transmission |
//!
//! The packet that opens a flow is kind 12: a data packet up to its send time, and the number of packets.
//!
//! | offset | bytes | opening |
//! |---|---|---|
//! | 1 | 1 | profile of the flow; bit 7 = zero |
//! | 16 | 4 | packets |
//!
//! A pull is kind 6, a CNP kind 7. A proxy's ACK is kind 9: an ACK with four bytes more. What it passes on is kind 10, and the
//! NACK of a gap kind 11; one that names no packet confirms a mark.
//!
//! | offset | bytes | proxy's ACK | | offset | bytes | passed on | NACK of a gap |
//! |---|---|---|---|---|---|---|---|
//! | 24 | 4 | first packet that may not be sent | | 1 | 3 | zero | zero |
//! | | | | | 4 | 4 | flow | flow |
//! | | | | | 8 | 4 | cumulative, the receiver's | lane (1), zero (1), first number (2) |
//! | | | | | 12 | 4 | first packet that may not be sent | how many (2), zero (2) |
//!
//!
//! | offset | bytes | pull | CNP |
//! |---|---|---|---|
//! | 1 | 3 | zero | zero |
//! | 4 | 4 | flow | flow |
//! | 8 | 4 | cumulative | cumulative |
//! | 12 | 4 | packets pulled so far | |
//!
//! The flags of an ACK: bit 1 = the block of the packet is complete. An ACK with a map is kind 5: an ACK with eight bytes
//! more.
//!
//! | offset | bytes | ACK with a map |
//! |---|---|---|
//! | 24 | 8 | what has arrived above the cumulative number, which is missing: the packet after it the lowest bit; not zero |
//!
//! The payload follows the header; of a trimmed packet it does not, and the length still says what was cut off. Flags
//! that are not defined are zero: a receiver drops packets with others, so that a later version may give them a
//! meaning. Whether the numbers make sense for the flow is for the receiver and the sender.

use super::{Coded, Data, Echo, Fate, Feedback, Handshake, Header, Numbered, Place};
use crate::coding::Shape;
use farspan_units::{FlowId, Time};

/// Version of the layout.
pub const VERSION: u8 = 1;
/// Bytes of the longest header.
pub const MAX_HEADER: usize = CODED_LEN;

const DATA_LEN: usize = 26;
const CODED_LEN: usize = 34;
const NUMBERED_LEN: usize = 29;
/// The length of an ACK and of a NACK.
const ACK_LEN: usize = 24;
const BLOCK_NACK_LEN: usize = 20;
const MAP_ACK_LEN: usize = 32;
const TAKEN_LEN: usize = 28;
const OPEN_LEN: usize = 20;
/// The length of a pull, of what a proxy passes on and of the NACK of a gap.
const PULL_LEN: usize = 16;
/// The length of the shortest header.
const CNP_LEN: usize = 12;
const KIND_DATA: u8 = 0;
const KIND_ACK: u8 = 1;
const KIND_NACK: u8 = 2;
const KIND_CODED: u8 = 3;
const KIND_BLOCK_NACK: u8 = 4;
const KIND_MAP_ACK: u8 = 5;
const FLAG_ASK: u8 = 128;
const KIND_PULL: u8 = 6;
const KIND_CNP: u8 = 7;
const KIND_NUMBERED: u8 = 8;
const KIND_TAKEN: u8 = 9;
const KIND_PASSED_ON: u8 = 10;
const KIND_GAP: u8 = 11;
const KIND_OPEN: u8 = 12;
const FLAG_ECN_CE: u8 = 1;
const FLAG_BLOCK_COMPLETE: u8 = 2;
const FLAG_LAST_HOP: u8 = 4;

/// Why a header was not written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EncodeError {
    /// The buffer is too short.
    #[error(
        "a header of {need} bytes does not fit a buffer of {have}; give a buffer of at least {MAX_HEADER} bytes"
    )]
    BufferTooShort {
        /// Bytes that the header takes.
        need: usize,
        /// Bytes of the buffer.
        have: usize,
    },
}

/// Why bytes are not a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// There are fewer bytes than the header takes.
    #[error(
        "{have} bytes are less than a header's {need}; drop the datagram, it was cut short or is not ours"
    )]
    Truncated {
        /// Bytes that the header takes.
        need: usize,
        /// Bytes that there are.
        have: usize,
    },
    /// Another version of the layout.
    #[error(
        "version {version} of the header is not known here, only {VERSION}; run the same release at both ends"
    )]
    Version {
        /// The version.
        version: u8,
    },
    /// A kind of packet that this version does not have.
    #[error("kind {kind} of packet is not known in version {VERSION}; run the same release at both ends")]
    Kind {
        /// The kind.
        kind: u8,
    },
    /// Flags that this version does not have.
    #[error("flags {flags:#04x} are not known in version {VERSION}; run the same release at both ends")]
    Flags {
        /// All flags.
        flags: u8,
    },
    /// Blocks that no code has.
    #[error(
        "blocks of {data} data and {parity} parity packets are of no code; drop the datagram, it is not ours"
    )]
    Shape {
        /// Data packets.
        data: u8,
        /// Parity packets.
        parity: u8,
    },
    /// An ACK with a map that names no packet.
    #[error(
        "the map of an ACK is empty, which version {VERSION} leaves out; run the same release at both ends"
    )]
    EmptyMap,
    /// Bytes that must be zero.
    #[error(
        "a NACK of a block or a gap, a pull, a CNP or what a proxy passes on has {value:#06x} where version {VERSION} has zero; run the same release at both ends"
    )]
    Reserved {
        /// The value of those bytes.
        value: u16,
    },
}

impl Header {
    /// Bytes that the header takes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        match self {
            Self::Data(_) => DATA_LEN,
            Self::Coded(_) => CODED_LEN,
            Self::Numbered(_) => NUMBERED_LEN,
            Self::Handshake(_) => OPEN_LEN,
            Self::Feedback(Feedback { fate: Fate::Missing { .. }, .. }) => BLOCK_NACK_LEN,
            Self::Feedback(Feedback { fate: Fate::Arrived { map: 1.., .. }, .. }) => MAP_ACK_LEN,
            Self::Feedback(Feedback { fate: Fate::Taken { .. }, .. }) => TAKEN_LEN,
            Self::Feedback(Feedback {
                fate: Fate::Pull { .. } | Fate::PassedOn { .. } | Fate::Gap { .. },
                ..
            }) => PULL_LEN,
            Self::Feedback(Feedback { fate: Fate::Cnp, .. }) => CNP_LEN,
            Self::Feedback(_) => ACK_LEN,
        }
    }

    /// Writes the header to the front of `buffer`; returns how many bytes it took.
    ///
    /// # Errors
    /// [`EncodeError::BufferTooShort`]; nothing is written then.
    pub fn encode(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let (need, have) = (self.encoded_len(), buffer.len());
        let Some(out) = buffer.get_mut(..need) else {
            return Err(EncodeError::BufferTooShort { need, have });
        };
        match self {
            Self::Data(data) => encode_data(data, KIND_DATA, out),
            Self::Coded(coded) => {
                encode_data(&coded.data, KIND_CODED, out);
                (out[26], out[27]) = (coded.shape.data(), coded.shape.parity());
                out[28..30].copy_from_slice(&coded.last_len.to_be_bytes());
                out[30..34].copy_from_slice(&coded.block_wait_ns.to_be_bytes());
            }
            Self::Numbered(Numbered { data, place: Place { lane, number } }) => {
                encode_data(data, KIND_NUMBERED, out);
                out[26] = *lane;
                out[27..29].copy_from_slice(&number.to_be_bytes());
            }
            Self::Handshake(Handshake { flow, packets, sent_at, entropy, profile }) => {
                encode_front(out, KIND_OPEN, *profile, *entropy, *flow);
                out[8..16].copy_from_slice(&sent_at.as_ps().to_be_bytes());
                out[16..20].copy_from_slice(&packets.to_be_bytes());
            }
            Self::Feedback(feedback) => encode_feedback(feedback, out),
        }
        Ok(need)
    }

    /// Reads the header at the front of `bytes`.
    ///
    /// # Errors
    /// As [`View::new`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        View::new(bytes).map(|view| view.header())
    }
}

fn encode_front(out: &mut [u8], kind: u8, flags: u8, entropy: u16, flow: FlowId) {
    (out[0], out[1]) = (VERSION << 4 | kind, flags);
    out[2..4].copy_from_slice(&entropy.to_be_bytes());
    out[4..8].copy_from_slice(&flow.0.to_be_bytes());
}

fn encode_numbers(out: &mut [u8], sent_at: Time, seq: u32, count: u32) {
    out[8..16].copy_from_slice(&sent_at.as_ps().to_be_bytes());
    out[16..20].copy_from_slice(&seq.to_be_bytes());
    out[20..24].copy_from_slice(&count.to_be_bytes());
}

fn encode_feedback(feedback: &Feedback, out: &mut [u8]) {
    let Feedback { flow, seq, cumulative, fate } = *feedback;
    let (kind, flags, Echo { sent_at, entropy }) = match fate {
        Fate::Arrived { echo, ecn_ce, block_complete, map } => {
            let flags = (u8::from(ecn_ce) * FLAG_ECN_CE) | (u8::from(block_complete) * FLAG_BLOCK_COMPLETE);
            if map != 0 {
                out[24..32].copy_from_slice(&map.to_be_bytes());
            }
            (if map == 0 { KIND_ACK } else { KIND_MAP_ACK }, flags, echo)
        }
        Fate::Taken { echo, ecn_ce, limit } => {
            out[24..28].copy_from_slice(&limit.to_be_bytes());
            (KIND_TAKEN, u8::from(ecn_ce) * FLAG_ECN_CE, echo)
        }
        Fate::Trimmed { echo, at_last_hop, ecn_ce } => {
            let flags = (u8::from(ecn_ce) * FLAG_ECN_CE) | (u8::from(at_last_hop) * FLAG_LAST_HOP);
            (KIND_NACK, flags, echo)
        }
        Fate::Missing { packets } => {
            encode_front(out, KIND_BLOCK_NACK, 0, 0, flow);
            out[8..12].copy_from_slice(&cumulative.to_be_bytes());
            out[12..16].copy_from_slice(&seq.to_be_bytes());
            return out[16..20].copy_from_slice(&packets.to_be_bytes());
        }
        Fate::Pull { count } => {
            encode_front(out, KIND_PULL, 0, 0, flow);
            out[8..12].copy_from_slice(&cumulative.to_be_bytes());
            return out[12..16].copy_from_slice(&count.to_be_bytes());
        }
        Fate::Cnp => {
            encode_front(out, KIND_CNP, 0, 0, flow);
            return out[8..12].copy_from_slice(&cumulative.to_be_bytes());
        }
        Fate::PassedOn { limit } => {
            encode_front(out, KIND_PASSED_ON, 0, 0, flow);
            out[8..12].copy_from_slice(&cumulative.to_be_bytes());
            return out[12..16].copy_from_slice(&limit.to_be_bytes());
        }
        Fate::Gap { first: Place { lane, number }, count } => {
            encode_front(out, KIND_GAP, 0, 0, flow);
            out[8..10].copy_from_slice(&[lane, 0]);
            out[10..12].copy_from_slice(&number.to_be_bytes());
            out[12..14].copy_from_slice(&count.to_be_bytes());
            return out[14..16].copy_from_slice(&[0; 2]);
        }
    };
    encode_front(out, kind, flags, entropy, flow);
    encode_numbers(out, sent_at, seq, cumulative);
}

fn encode_data(data: &Data, kind: u8, out: &mut [u8]) {
    debug_assert!(data.profile & FLAG_ASK == 0, "a profile has seven bits");
    encode_front(out, kind, data.profile | (u8::from(data.ask) * FLAG_ASK), data.entropy, data.flow);
    encode_numbers(out, data.sent_at, data.seq, data.packets);
    out[24..26].copy_from_slice(&data.len.to_be_bytes());
}

/// Bytes that were checked to begin with a header; fields are read where they lie.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View<'a> {
    bytes: &'a [u8],
}

impl<'a> View<'a> {
    /// Checks that `bytes` begin with a header.
    ///
    /// # Errors
    /// Too few bytes, a version, kind or flag that is not known, or blocks that no code has.
    pub fn new(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let have = bytes.len();
        let &[first, flags, ..] = bytes else {
            return Err(DecodeError::Truncated { need: CNP_LEN, have });
        };
        let (version, kind) = (first >> 4, first & 0xf);
        if version != VERSION {
            return Err(DecodeError::Version { version });
        }
        let (need, known) = match kind {
            KIND_DATA => (DATA_LEN, u8::MAX),
            KIND_ACK => (ACK_LEN, FLAG_ECN_CE | FLAG_BLOCK_COMPLETE),
            KIND_NACK => (ACK_LEN, FLAG_ECN_CE | FLAG_LAST_HOP),
            KIND_CODED => (CODED_LEN, u8::MAX),
            KIND_BLOCK_NACK => (BLOCK_NACK_LEN, 0),
            KIND_MAP_ACK => (MAP_ACK_LEN, FLAG_ECN_CE | FLAG_BLOCK_COMPLETE),
            KIND_PULL | KIND_PASSED_ON | KIND_GAP => (PULL_LEN, 0),
            KIND_CNP => (CNP_LEN, 0),
            KIND_NUMBERED => (NUMBERED_LEN, u8::MAX),
            KIND_TAKEN => (TAKEN_LEN, FLAG_ECN_CE),
            KIND_OPEN => (OPEN_LEN, !FLAG_ASK),
            _ => return Err(DecodeError::Kind { kind }),
        };
        if have < need {
            return Err(DecodeError::Truncated { need, have });
        }
        if flags & !known != 0 {
            return Err(DecodeError::Flags { flags });
        }
        let view = Self { bytes };
        if kind == KIND_CODED && view.shape().is_none() {
            return Err(DecodeError::Shape { data: bytes[26], parity: bytes[27] });
        }
        let without_entropy = [KIND_BLOCK_NACK, KIND_PULL, KIND_CNP, KIND_PASSED_ON, KIND_GAP];
        if without_entropy.contains(&kind) && view.field(2) != [0; 2] {
            return Err(DecodeError::Reserved { value: u16::from_be_bytes(view.field(2)) });
        }
        if kind == KIND_GAP && (bytes[9] != 0 || view.field(14) != [0; 2]) {
            let value = if bytes[9] != 0 { u16::from(bytes[9]) } else { view.u16_at(14) };
            return Err(DecodeError::Reserved { value });
        }
        if kind == KIND_MAP_ACK && view.field(24) == [0; 8] {
            return Err(DecodeError::EmptyMap);
        }
        Ok(view)
    }

    /// The blocks of a coded data packet's message.
    fn shape(&self) -> Option<Shape> {
        Shape::new(self.bytes[26], self.bytes[27])
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.field(at))
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.field(at))
    }

    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let field = self.bytes[at..].first_chunk();
        *field.expect("the length was checked when the view was made")
    }

    const fn kind(&self) -> u8 {
        self.bytes[0] & 0xf
    }

    /// The flow; what a receiver needs to find its state.
    #[must_use]
    pub fn flow(&self) -> FlowId {
        FlowId(self.u32_at(4))
    }

    /// The header as a plain value.
    #[must_use]
    pub fn header(&self) -> Header {
        let flow = self.flow();
        let kind = self.kind();
        if kind == KIND_BLOCK_NACK {
            let (cumulative, seq, packets) = (self.u32_at(8), self.u32_at(12), self.u32_at(16));
            return Header::Feedback(Feedback { flow, seq, cumulative, fate: Fate::Missing { packets } });
        }
        if kind == KIND_PULL {
            let (cumulative, count) = (self.u32_at(8), self.u32_at(12));
            return Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::Pull { count } });
        }
        if kind == KIND_CNP {
            return Header::Feedback(Feedback { flow, seq: 0, cumulative: self.u32_at(8), fate: Fate::Cnp });
        }
        if kind == KIND_PASSED_ON {
            let (cumulative, fate) = (self.u32_at(8), Fate::PassedOn { limit: self.u32_at(12) });
            return Header::Feedback(Feedback { flow, seq: 0, cumulative, fate });
        }
        if kind == KIND_GAP {
            let first = Place { lane: self.bytes[8], number: self.u16_at(10) };
            let fate = Fate::Gap { first, count: self.u16_at(12) };
            return Header::Feedback(Feedback { flow, seq: 0, cumulative: 0, fate });
        }
        let sent_at = Time::from_ps(u64::from_be_bytes(self.field(8)));
        if kind == KIND_OPEN {
            let (entropy, profile, packets) = (self.u16_at(2), self.bytes[1], self.u32_at(16));
            return Header::Handshake(Handshake { flow, packets, sent_at, entropy, profile });
        }
        let (flags, entropy, seq, count) = (self.bytes[1], self.u16_at(2), self.u32_at(16), self.u32_at(20));
        let echo = Echo { sent_at, entropy };
        let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative: count, fate });
        if kind == KIND_ACK || kind == KIND_MAP_ACK {
            let (ecn_ce, block_complete) = (flags & FLAG_ECN_CE != 0, flags & FLAG_BLOCK_COMPLETE != 0);
            let map = if kind == KIND_ACK { 0 } else { u64::from_be_bytes(self.field(24)) };
            return feedback(Fate::Arrived { echo, ecn_ce, block_complete, map });
        }
        if kind == KIND_TAKEN {
            let (ecn_ce, limit) = (flags & FLAG_ECN_CE != 0, self.u32_at(24));
            return feedback(Fate::Taken { echo, ecn_ce, limit });
        }
        if kind == KIND_NACK {
            let (ecn_ce, at_last_hop) = (flags & FLAG_ECN_CE != 0, flags & FLAG_LAST_HOP != 0);
            return feedback(Fate::Trimmed { echo, at_last_hop, ecn_ce });
        }
        let (len, profile, ask) = (self.u16_at(24), flags & !FLAG_ASK, flags & FLAG_ASK != 0);
        let data = Data { flow, seq, packets: count, len, sent_at, entropy, profile, ask };
        if kind == KIND_NUMBERED {
            let place = Place { lane: self.bytes[26], number: self.u16_at(27) };
            return Header::Numbered(Numbered { data, place });
        }
        match (kind == KIND_CODED).then(|| self.shape()).flatten() {
            None => Header::Data(data),
            Some(shape) => {
                let (last_len, block_wait_ns) = (self.u16_at(28), self.u32_at(30));
                Header::Coded(Coded { data, shape, last_len, block_wait_ns })
            }
        }
    }

    /// The payload; `None` if the bytes after the header are not as many as it says (ACKs and NACKs have none, and
    /// trimmed packets have lost it).
    #[must_use]
    pub fn payload(&self) -> Option<&'a [u8]> {
        let (header_len, len) = match self.kind() {
            KIND_DATA => (DATA_LEN, self.u16_at(24)),
            KIND_CODED => (CODED_LEN, self.u16_at(24)),
            KIND_BLOCK_NACK => (BLOCK_NACK_LEN, 0),
            KIND_MAP_ACK => (MAP_ACK_LEN, 0),
            KIND_PULL | KIND_PASSED_ON | KIND_GAP => (PULL_LEN, 0),
            KIND_CNP => (CNP_LEN, 0),
            KIND_NUMBERED => (NUMBERED_LEN, self.u16_at(24)),
            KIND_TAKEN => (TAKEN_LEN, 0),
            KIND_OPEN => (OPEN_LEN, 0),
            _ => (ACK_LEN, 0),
        };
        let payload = &self.bytes[header_len..];
        (payload.len() == usize::from(len)).then_some(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn any_header() -> impl Strategy<Value = Header> {
        let common = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u16>());
        let coded = (1..=200_u8, 1..=55_u8, any::<u16>(), any::<u32>(), any::<bool>());
        (common, any::<u16>(), any::<bool>(), coded, 0..13_u8, 1_u64..).prop_map(
            |((flow, seq, count, ps, entropy), len, ecn_ce, coded, kind, map)| {
                let (flow, sent_at, cumulative) = (FlowId(flow), Time::from_ps(ps), count);
                let (x, y, last_len, block_wait_ns, block_complete) = coded;
                let data =
                    Data { flow, seq, packets: count, len, sent_at, entropy, profile: x % 128, ask: ecn_ce };
                let echo = Echo { sent_at, entropy };
                let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative, fate });
                let shape = Shape::new(x, y).unwrap();
                match kind {
                    KIND_DATA => Header::Data(data),
                    KIND_ACK => feedback(Fate::Arrived { echo, ecn_ce, block_complete, map: 0 }),
                    KIND_MAP_ACK => feedback(Fate::Arrived { echo, ecn_ce, block_complete, map }),
                    KIND_NACK => feedback(Fate::Trimmed { echo, at_last_hop: block_complete, ecn_ce }),
                    KIND_CODED => Header::Coded(Coded { data, shape, last_len, block_wait_ns }),
                    KIND_BLOCK_NACK => feedback(Fate::Missing { packets: block_wait_ns }),
                    KIND_PULL => Header::Feedback(Feedback {
                        flow,
                        seq: 0,
                        cumulative,
                        fate: Fate::Pull { count: block_wait_ns },
                    }),
                    KIND_CNP => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::Cnp }),
                    KIND_NUMBERED => {
                        Header::Numbered(Numbered { data, place: Place { lane: y, number: last_len } })
                    }
                    KIND_OPEN => Header::Handshake(Handshake {
                        flow,
                        packets: count,
                        sent_at,
                        entropy,
                        profile: x % 128,
                    }),
                    KIND_TAKEN => feedback(Fate::Taken { echo, ecn_ce, limit: block_wait_ns }),
                    KIND_PASSED_ON => {
                        let fate = Fate::PassedOn { limit: block_wait_ns };
                        Header::Feedback(Feedback { flow, seq: 0, cumulative, fate })
                    }
                    _ => {
                        let fate = Fate::Gap { first: Place { lane: y, number: last_len }, count: len };
                        Header::Feedback(Feedback { flow, seq: 0, cumulative: 0, fate })
                    }
                }
            },
        )
    }

    const DATA: Data = Data {
        flow: FlowId(0x0102_0304),
        seq: 0x0a0b_0c0d,
        packets: 0x1a1b_1c1d,
        len: 0x1000,
        sent_at: Time::from_ps(0x1112_1314_1516_1718),
        entropy: 0x2122,
        profile: 0x23,
        ask: false,
    };

    fn coded() -> Header {
        let shape = Shape::new(8, 2).unwrap();
        Header::Coded(Coded { data: DATA, shape, last_len: 0x0f0e, block_wait_ns: 0x3132_3334 })
    }

    fn bytes(header: &Header) -> ([u8; MAX_HEADER], usize) {
        let mut buffer = [0; MAX_HEADER];
        let len = header.encode(&mut buffer).unwrap();
        (buffer, len)
    }

    #[test]
    fn the_layout_is_frozen() {
        let expected = [
            0x10, 0x23, 0x21, 0x22, 1, 2, 3, 4, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x0a, 0x0b,
            0x0c, 0x0d, 0x1a, 0x1b, 0x1c, 0x1d, 0x10, 0,
        ];
        assert_eq!(bytes(&Header::Data(DATA)).0[..DATA_LEN], expected);
        let coded = bytes(&coded());
        assert_eq!((coded.0[0], &coded.0[1..DATA_LEN]), (0x13, &expected[1..]));
        assert_eq!(coded.0[DATA_LEN..], [8, 2, 0x0f, 0x0e, 0x31, 0x32, 0x33, 0x34]);
        let echo = Echo { sent_at: Time::from_ps(8), entropy: 9 };
        let feedback =
            |fate| bytes(&Header::Feedback(Feedback { flow: FlowId(5), seq: 6, cumulative: 7, fate }));
        let arrived = |map| feedback(Fate::Arrived { echo, ecn_ce: true, block_complete: true, map });
        let (ack, mapped) = (arrived(0), arrived(0x0102_0304_0506_0708));
        let expected = [0x11, 3, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 6, 0, 0, 0, 7];
        assert_eq!(ack.0[..ack.1], expected);
        let expected = [&[0x15], &expected[1..], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
        assert_eq!(mapped.0[..mapped.1], expected);
        let asking = bytes(&Header::Data(Data { ask: true, ..DATA }));
        assert_eq!(asking.0[..2], [0x10, 0xa3]);
        let nack = feedback(Fate::Trimmed { echo, at_last_hop: true, ecn_ce: true });
        let expected = [0x12, 5, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 6, 0, 0, 0, 7];
        assert_eq!(nack.0[..nack.1], expected);
        let nack = feedback(Fate::Missing { packets: 8 });
        let expected = [0x14, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0, 8];
        assert_eq!(nack.0[..nack.1], expected);
        let pull = Feedback { flow: FlowId(5), seq: 0, cumulative: 7, fate: Fate::Pull { count: 8 } };
        let pull = bytes(&Header::Feedback(pull));
        let expected = [0x16, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 8];
        assert_eq!(pull.0[..pull.1], expected);
        let cnp = Feedback { flow: FlowId(5), seq: 0, cumulative: 7, fate: Fate::Cnp };
        let cnp = bytes(&Header::Feedback(cnp));
        assert_eq!(cnp.0[..cnp.1], [0x17, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7]);
        let taken = feedback(Fate::Taken { echo, ecn_ce: true, limit: 8 });
        let expected =
            [0x19, 1, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 6, 0, 0, 0, 7, 0, 0, 0, 8];
        assert_eq!(taken.0[..taken.1], expected);
        let place = Place { lane: 3, number: 0x0405 };
        let bare = |cumulative, fate| {
            bytes(&Header::Feedback(Feedback { flow: FlowId(5), seq: 0, cumulative, fate }))
        };
        let passed_on = bare(7, Fate::PassedOn { limit: 8 });
        let expected = [0x1a, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 8];
        assert_eq!(passed_on.0[..passed_on.1], expected);
        let gap = bare(0, Fate::Gap { first: place, count: 6 });
        assert_eq!(gap.0[..gap.1], [0x1b, 0, 0, 0, 0, 0, 0, 5, 3, 0, 4, 5, 0, 6, 0, 0]);
        let numbered = bytes(&Header::Numbered(Numbered { data: DATA, place }));
        assert_eq!((numbered.1, &numbered.0[DATA_LEN..NUMBERED_LEN]), (NUMBERED_LEN, &[3, 4, 5][..]));
        let (flow, sent_at) = (FlowId(5), Time::from_ps(8));
        let open =
            bytes(&Header::Handshake(Handshake { flow, packets: 7, sent_at, entropy: 9, profile: 0x23 }));
        let expected = [0x1c, 0x23, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 7];
        assert_eq!(open.0[..open.1], expected);
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        let (good, len) = bytes(&coded());
        let with = |at: usize, value: u8| {
            let mut bad = good;
            bad[at] = value;
            Header::decode(&bad).unwrap_err()
        };
        let shape = |data, parity| DecodeError::Shape { data, parity };
        assert_eq!(with(0, 0x20), DecodeError::Version { version: 2 });
        assert_eq!(with(0, 0x1d), DecodeError::Kind { kind: 13 });
        let [odd_ack, odd_nack] = [[0x11, 4], [0x12, 2]].map(|front| [&front[..], &good[2..]].concat());
        assert_eq!(Header::decode(&odd_ack), Err(DecodeError::Flags { flags: 4 }));
        assert_eq!(Header::decode(&odd_nack), Err(DecodeError::Flags { flags: 2 }));
        assert_eq!(
            Header::decode(&good[..len - 1]),
            Err(DecodeError::Truncated { need: len, have: len - 1 })
        );
        assert_eq!((with(26, 0), with(27, 248)), (shape(0, 2), shape(8, 248)));
        for kind in [0x14, 0x16, 0x17, 0x1a, 0x1b] {
            let reserved = [&[kind, 0, 9][..], &[0; 17]].concat();
            assert_eq!(Header::decode(&reserved), Err(DecodeError::Reserved { value: 0x0900 }));
        }
        let no_map = [&[0x15, 0][..], &[0; 30]].concat();
        assert_eq!(Header::decode(&no_map), Err(DecodeError::EmptyMap));
        assert_eq!(Header::decode(&[]), Err(DecodeError::Truncated { need: 12, have: 0 }));
        assert_eq!(
            with(0, 0x20).to_string(),
            "version 2 of the header is not known here, only 1; run the same release at both ends"
        );
    }

    #[test]
    fn a_buffer_that_is_too_short_is_left_alone() {
        let mut buffer = [7; MAX_HEADER - 1];
        let error = coded().encode(&mut buffer).unwrap_err();
        assert_eq!(error, EncodeError::BufferTooShort { need: MAX_HEADER, have: MAX_HEADER - 1 });
        assert_eq!(buffer, [7; MAX_HEADER - 1]);
    }

    #[test]
    fn the_payload_is_what_the_header_says_or_nothing() {
        let data = Data { len: 3, ..DATA };
        let Header::Coded(coded) = coded() else { unreachable!() };
        for header in [Header::Data(data), Header::Coded(Coded { data, ..coded })] {
            let mut datagram = [0; MAX_HEADER + 3];
            let len = header.encode(&mut datagram).unwrap();
            datagram[len..len + 3].copy_from_slice(b"abc");
            assert_eq!(View::new(&datagram[..len + 3]).unwrap().payload(), Some(&b"abc"[..]));
            assert_eq!(View::new(&datagram[..len + 2]).unwrap().payload(), None);
        }
    }

    proptest! {
        #[test]
        fn decoding_what_was_encoded_gives_the_header_back(header in any_header()) {
            let (buffer, len) = bytes(&header);
            prop_assert_eq!(Header::decode(&buffer[..len]), Ok(header));
            prop_assert_eq!(View::new(&buffer[..len]).unwrap().flow(), header.flow());
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_what_decodes_encodes_to_the_same_bytes(
            mut bytes in prop::collection::vec(any::<u8>(), 0..64), make_known in any::<bool>(),
        ) {
            if make_known && !bytes.is_empty() {
                bytes[0] = (VERSION << 4) | (bytes[0] % 13);
            }
            if let Ok(view) = View::new(&bytes) {
                let (again, len) = self::bytes(&view.header());
                prop_assert_eq!(&again[..len], &bytes[..len]);
                let _ = view.payload();
            }
        }
    }
}
