//! A data packet that leaves.

use crate::balance::{Balance, Balancer};
use crate::coding::{Layout, Payload, Shape};
use crate::congestion::Needs;
use crate::flow::message::Transmit;
use crate::proxy::Forward;
use crate::replies::Reply;
use crate::wire::{self, Header};
use farspan_units::{Bytes, HostId};

/// A data packet to put on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// Where it goes.
    pub to: HostId,
    /// The header fields of any data packet.
    pub header: wire::Data,
    /// Further header fields.
    pub(super) more: More,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// Its size on the wire.
    pub size: Bytes,
}

impl DataPacket {
    /// Its whole header.
    #[must_use]
    #[inline]
    pub const fn header(&self) -> Header {
        match self.more {
            More::None | More::InMessages => Header::Data(self.header),
            More::Blocks(InBlocks { shape, last_len, block_wait_ns }) => {
                Header::Coded(wire::Coded { data: self.header, shape, last_len, block_wait_ns })
            }
            More::Place(place) => Header::Numbered(wire::Numbered { data: self.header, place }),
            More::Opens => {
                let wire::Data { flow, packets, sent_at, entropy, profile, .. } = self.header;
                Header::Handshake(wire::Handshake { flow, packets, sent_at, entropy, profile })
            }
        }
    }

    /// Whether it is of a persistent flow.
    #[must_use]
    #[inline]
    pub const fn is_in_messages(&self) -> bool {
        matches!(self.more, More::InMessages)
    }

    /// Whether it has further header fields, or is of a persistent flow, so that its record is not a plain one.
    #[must_use]
    #[inline]
    pub const fn has_more(&self) -> bool {
        !matches!(self.more, More::None)
    }

    /// As the driver wants it; `mss`: payload of a full packet.
    pub(crate) fn into_transmit(self, mss: Bytes) -> Transmit {
        let wire::Data { seq, packets, len, entropy, .. } = self.header;
        let layout = match self.more {
            More::Blocks(b) => Layout::of_header(b.shape, packets, b.last_len, mss),
            More::None | More::InMessages | More::Place(_) | More::Opens => None,
        };
        let start = u64::from(seq) * mss.get();
        let plain = || Payload::Source(start..start + u64::from(len));
        let payload = (seq < packets).then(|| layout.map_or_else(plain, |layout| layout.payload(seq)));
        Transmit {
            to: self.to,
            size: self.size,
            entropy,
            header: self.header(),
            control: self.more == More::Opens,
            payload,
            retransmission: self.retransmission,
            ecn_ce: false,
            telemetry: None,
        }
    }
}

/// A consumer of packets that leave.
pub trait Take {
    /// Takes a control packet, out of which it may take the telemetry.
    fn reply(self, reply: &mut Reply);

    /// Takes a packet of one of the host's own flows.
    fn take(self, packet: DataPacket);

    /// Takes the packet that opens one of the host's own flows: a control packet.
    fn open(self, packet: DataPacket);

    /// Takes a packet of a flow that the host is a proxy of.
    fn forward(self, packet: Forward);
}

/// The packet that leaves next.
#[derive(Debug)]
pub(crate) enum Leaving {
    /// A control packet.
    Reply(Reply),
    /// A packet of one of the host's own flows.
    Own(DataPacket),
    /// A packet of a flow that the host is a proxy of.
    Forward(Forward),
}

impl Leaving {
    /// As the driver wants it; `mss`: payload of a full packet, `header`: size of a header.
    pub(crate) fn into_transmit(self, mss: Bytes, header: Bytes) -> Transmit {
        match self {
            Self::Reply(reply) => reply.into_transmit(header),
            Self::Own(packet) => packet.into_transmit(mss),
            Self::Forward(packet) => packet.into_transmit(mss),
        }
    }
}

#[cfg(test)]
impl Leaving {
    /// The packet, given that it is of one of the host's own flows.
    pub(crate) fn own(self) -> DataPacket {
        match self {
            Self::Own(packet) => packet,
            other => panic!("{other:?} is not of its own"),
        }
    }
}

impl Take for &mut Option<Leaving> {
    fn reply(self, reply: &mut Reply) {
        let telemetry = reply.telemetry.take();
        *self = Some(Leaving::Reply(Reply { telemetry, ..*reply }));
    }

    fn take(self, packet: DataPacket) {
        *self = Some(Leaving::Own(packet));
    }

    fn open(self, packet: DataPacket) {
        *self = Some(Leaving::Own(packet));
    }

    fn forward(self, packet: Forward) {
        *self = Some(Leaving::Forward(packet));
    }
}

/// The header fields that not all packets have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum More {
    /// None.
    None,
    /// Those of a coded packet.
    Blocks(InBlocks),
    /// The number of a transmission.
    Place(wire::Place),
    /// None, of a packet that opens its flow.
    Opens,
    /// None, of a packet of a persistent flow: it says where its own message ends.
    InMessages,
}

/// The header fields that only coded packets have: see [`wire::Coded`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct InBlocks {
    pub(super) shape: Shape,
    pub(super) last_len: u16,
    pub(super) block_wait_ns: u32,
}

/// A sender's duties beside sending, and whether the endpoint's schedule holds it: in a byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wants(u8);

impl Wants {
    const TIMER: u8 = 1;
    const SENT: u8 = 2;
    const RECORDS: u8 = 4;
    /// Few senders have it: of a coded message or a persistent flow, with numbers, ACKs for several packets, a handshake or bursts.
    const SLOW_PATH: u8 = 8;
    const FEEDBACK: u8 = 16;
    const ACKS: u8 = 32;
    const SCHEDULED: u8 = 64;
    const PROBE: u8 = 128;

    /// The duties that a control's needs, `balancer` and, with `extras`, a coded message or a receiver that holds
    /// ACKs ask for. The control may ask for a notification of packets that leave, or for send records; the path selector
    /// for feedback on packets.
    pub(super) fn new(needs: &Needs, balancer: &Balancer, extras: bool) -> Self {
        let bit = |wanted, bit| if wanted { bit } else { 0 };
        let sent = bit(needs.sent, Self::SENT) | bit(needs.send_record, Self::RECORDS);
        Self(sent | bit(extras, Self::SLOW_PATH) | bit(balancer.wants_feedback(), Self::FEEDBACK))
    }

    /// With numbers on its transmissions or a handshake, or as before.
    pub(super) const fn numbers_if(self, numbers: bool) -> Self {
        Self(self.0 | if numbers { Self::SLOW_PATH } else { 0 })
    }

    /// With or without what few senders have.
    pub(super) const fn slow_path_if(self, slow: bool) -> Self {
        Self(self.0 & !Self::SLOW_PATH | if slow { Self::SLOW_PATH } else { 0 })
    }

    /// With or without notifying the recovery policy of ACKs.
    pub(super) const fn acks_if(self, acks: bool) -> Self {
        Self(self.0 & !Self::ACKS | (acks as u8) << 5)
    }

    /// Whether a packet might leave although the window is closed.
    #[inline]
    pub(super) const fn may_exceed(self) -> bool {
        self.0 & (Self::PROBE | Self::SLOW_PATH) != 0
    }

    /// With the endpoint's schedule to hold the sender, or not.
    #[inline]
    pub(super) const fn scheduled_if(self, scheduled: bool) -> Self {
        Self(self.0 & !Self::SCHEDULED | (scheduled as u8) << 6)
    }

    #[inline]
    pub(super) const fn scheduled(self) -> bool {
        self.0 & Self::SCHEDULED != 0
    }

    /// With one packet to leave whatever the window, or none.
    #[inline]
    pub(super) const fn probe_if(self, probe: bool) -> Self {
        Self(self.0 & !Self::PROBE | (probe as u8) << 7)
    }

    #[inline]
    pub(super) const fn probe(self) -> bool {
        self.0 & Self::PROBE != 0
    }

    /// With the control to have its timer, or not.
    #[inline]
    pub(super) const fn timer_if(self, timer: bool) -> Self {
        Self(self.0 & !Self::TIMER | timer as u8)
    }

    #[inline]
    pub(super) const fn timer(self) -> bool {
        self.0 & Self::TIMER != 0
    }

    /// Whether anything is wanted when a packet leaves.
    #[inline]
    pub(super) const fn at_send(self) -> bool {
        self.0 & (Self::SENT | Self::RECORDS | Self::SLOW_PATH | Self::PROBE) != 0
    }

    #[inline]
    pub(super) const fn sent(self) -> bool {
        self.0 & Self::SENT != 0
    }

    #[inline]
    pub(super) const fn records(self) -> bool {
        self.0 & Self::RECORDS != 0
    }

    #[inline]
    pub(super) const fn feedback(self) -> bool {
        self.0 & Self::FEEDBACK != 0
    }

    #[inline]
    pub(super) const fn acks(self) -> bool {
        self.0 & Self::ACKS != 0
    }

    /// Whether the message is coded, its flow is persistent or its handshake has not ended, its transmissions have numbers, or an ACK
    /// may stand for several packets.
    #[inline]
    pub(super) const fn slow_path(self) -> bool {
        self.0 & Self::SLOW_PATH != 0
    }
}
