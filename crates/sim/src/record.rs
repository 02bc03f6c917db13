//! Headers in packet records: the words that the fabric leaves to the driver.
//!
//! Of a coded packet the record keeps what differs from packet to packet; what all packets of a message say alike stands in
//! the plan.

use farspan_fabric::Packet;
use farspan_transport::Reply;
use farspan_transport::balance::Entropy;
use farspan_transport::coding::Layout;
use farspan_transport::wire::{Ack, BlockNack, Coded, Data, Header, Nack};
use farspan_units::{Bytes, Duration, HostId, Time};

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Data,
    Coded,
    Ack,
    Nack,
    BlockNack,
}

pub(crate) const DATA: u8 = 0;
const ACK: u8 = 1;
const ACK_ECN: u8 = 2;
const NACK: u8 = 3;
/// Of a packet whose block is complete.
const LAST_ACK: u8 = 5;
const LAST_ACK_ECN: u8 = 6;
const BLOCK_NACK: u8 = 7;
pub(crate) const CODED: u8 = 8;

/// Send times travel in 48 bits of picoseconds: exact while a packet is under way for less than 281 s.
const TIME_BITS: u32 = 48;

/// Packs a header into the record of a packet for `to`.
#[inline(always)]
pub(crate) fn pack(header: &Header, to: HostId, size: Bytes, entropy: Entropy) -> Packet {
    let record = |kind, control, flow, words: [u32; 2], sent_at: Time, half| {
        let mut packet = Packet::new(flow, to, size, entropy, control, kind);
        packet.words = [words[0], words[1], sent_at.as_ps() as u32];
        packet.halves = [(sent_at.as_ps() >> 32) as u16, half];
        packet
    };
    match *header {
        // A port that trims changes the size alone: the length travels apart.
        Header::Data(Data { flow, seq, packets, len, sent_at, .. }) => {
            record(DATA, false, flow, [seq, packets], sent_at, len)
        }
        Header::Coded(Coded { data: Data { flow, seq, len, sent_at, .. }, block_wait_ns, .. }) => {
            record(CODED, false, flow, [seq, block_wait_ns], sent_at, len)
        }
        Header::Ack(Ack { flow, seq, cumulative, sent_at, entropy, ecn_ce, block_complete }) => {
            record(kind_of_ack(ecn_ce, block_complete), true, flow, [seq, cumulative], sent_at, entropy)
        }
        Header::BlockNack(BlockNack { flow, first, missing, cumulative }) => {
            record(BLOCK_NACK, true, flow, [first, missing], Time::from_ps(u64::from(cumulative)), 0)
        }
        Header::Nack(Nack { flow, seq, cumulative, sent_at, entropy }) => {
            record(NACK, true, flow, [seq, cumulative], sent_at, entropy)
        }
    }
}

const fn kind_of_ack(ecn_ce: bool, block_complete: bool) -> u8 {
    match (block_complete, ecn_ce) {
        (false, false) => ACK,
        (false, true) => ACK_ECN,
        (true, false) => LAST_ACK,
        (true, true) => LAST_ACK_ECN,
    }
}

/// Makes the record of a data packet that of its ACK, as [`pack`] would: number and send time stand there already.
#[inline(always)]
pub(crate) fn acknowledge(packet: &mut Packet, ack: &Ack, to: HostId, size: Bytes, entropy: Entropy) {
    debug_assert_eq!((packet.flow, packet.words[0]), (ack.flow, ack.seq), "it is the packet's ACK");
    packet.renew(ack.flow, to, size, entropy, true, kind_of_ack(ack.ecn_ce, ack.block_complete));
    (packet.words[1], packet.halves[1]) = (ack.cumulative, ack.entropy);
}

/// The record of a control packet; `size`: of a header.
#[inline(always)]
pub(crate) fn reply(reply: &Reply, size: Bytes) -> Packet {
    pack(&reply.header(), reply.to, size, reply.entropy)
}

/// What a record is.
#[inline]
const fn kind(packet: &Packet) -> Kind {
    match packet.kind() {
        DATA => Kind::Data,
        NACK => Kind::Nack,
        CODED => Kind::Coded,
        BLOCK_NACK => Kind::BlockNack,
        _ => Kind::Ack,
    }
}

/// Whether it is an ACK.
#[inline(always)]
pub(crate) const fn is_ack(packet: &Packet) -> bool {
    (1 << ACK | 1 << ACK_ECN | 1 << LAST_ACK | 1 << LAST_ACK_ECN) >> packet.kind() & 1 == 1
}

/// Whether it is a data packet of that kind, with its payload.
#[inline(always)]
pub(crate) const fn is_whole(packet: &Packet, kind: u8) -> bool {
    packet.kind() == kind && !packet.trimmed()
}

/// Unpacks a header at `now`; `layout`: how the packets of its message make blocks, if it is coded.
pub(crate) fn unpack(packet: &Packet, now: Time, layout: Option<Layout>) -> Header {
    match kind(packet) {
        Kind::Data => Header::Data(data(packet, now)),
        Kind::Coded => Header::Coded(coded(packet, now, layout)),
        Kind::BlockNack => {
            let Packet { flow, words: [first, missing, cumulative], .. } = *packet;
            Header::BlockNack(BlockNack { flow, first, missing, cumulative })
        }
        Kind::Ack => Header::Ack(ack(packet, now)),
        Kind::Nack => {
            let Ack { flow, seq, cumulative, sent_at, entropy, .. } = ack(packet, now);
            Header::Nack(Nack { flow, seq, cumulative, sent_at, entropy })
        }
    }
}

/// Unpacks the header of a data packet at `now`.
#[inline]
pub(crate) fn data(packet: &Packet, now: Time) -> Data {
    let Packet { flow, words: [seq, packets, _], halves: [_, len], entropy, .. } = *packet;
    Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy }
}

/// Unpacks the header of a packet of a coded message at `now`.
#[inline]
pub(crate) fn coded(packet: &Packet, now: Time, layout: Option<Layout>) -> Coded {
    let layout = layout.expect("a message whose packets are coded has a layout");
    let Data { packets: block_wait_ns, .. } = data(packet, now);
    let data = Data { packets: layout.packets(), ..data(packet, now) };
    Coded { data, shape: layout.shape(), last_len: layout.last_len(), block_wait_ns }
}

/// Unpacks the header of an ACK at `now`.
#[inline]
pub(crate) fn ack(packet: &Packet, now: Time) -> Ack {
    let Packet { flow, words: [seq, cumulative, _], halves: [_, entropy], .. } = *packet;
    let ecn_ce = matches!(packet.kind(), ACK_ECN | LAST_ACK_ECN);
    let block_complete = matches!(packet.kind(), LAST_ACK | LAST_ACK_ECN);
    Ack { flow, seq, cumulative, sent_at: sent_at(packet, now), entropy, ecn_ce, block_complete }
}

#[inline]
fn sent_at(packet: &Packet, now: Time) -> Time {
    now - age(packet, now)
}

/// How long ago the send time is that a record carries.
#[inline]
pub(crate) fn age(packet: &Packet, now: Time) -> Duration {
    let low = u64::from(packet.halves[0]) << 32 | u64::from(packet.words[2]);
    Duration::from_ps(now.as_ps().wrapping_sub(low) & ((1 << TIME_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_fabric::Packets;
    use farspan_transport::coding::Shape;
    use farspan_units::FlowId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 47,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), kind in 0..5_u8, trimmed in any::<bool>(),
            wait in any::<u32>(), block_complete in any::<bool>(),
        ) {
            let (flow, sent_at, header) = (FlowId(flow), Time::from_ps(sent), Bytes::new(64));
            let now = sent_at + Duration::from_ps(age);
            let data = kind < 2;
            let shape = Shape::new(8, 2).unwrap();
            let layout = Layout::of_message(Bytes::new(u64::from(len) * 100 + 1), Bytes::new(4096), shape).unwrap();
            let (packets, last_len, cumulative) = (layout.packets(), layout.last_len(), second);
            let piece = |packets| Data { flow, seq, packets, len, sent_at, entropy };
            let value = match kind {
                0 => Header::Data(piece(second)),
                1 => Header::Coded(Coded { data: piece(packets), shape, last_len, block_wait_ns: wait }),
                2 => Header::Ack(Ack { flow, seq, cumulative, sent_at, entropy, ecn_ce: ce, block_complete }),
                3 => Header::Nack(Nack { flow, seq, cumulative, sent_at, entropy }),
                _ => Header::BlockNack(BlockNack { flow, first: seq, missing: wait, cumulative }),
            };
            let size = if data { header + Bytes::new(u64::from(len)) } else { header };
            // SAFETY: the one number that is used comes from it.
            #[allow(unsafe_code, reason = "as in the simulator")]
            let mut packets = unsafe { Packets::new() };
            let id = packets.insert(pack(&value, HostId(3), size, entropy));
            if data && trimmed {
                packets.trim(id, header);
            }
            prop_assert_eq!(unpack(&packets.remove(id), now, Some(layout)), value);
        }
    }
}
