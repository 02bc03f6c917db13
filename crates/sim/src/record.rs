//! Headers in packet records: the fields that the fabric leaves to the driver.
//!
//! A data packet names its sender and its flow's profile: the receiver's ACK goes there. Where it is coded,
//! they stand beside the record, in its [`Side`](farspan_fabric::Side). A record keeps what differs from
//! packet to packet; what all packets of a message say alike, the plan does ([`MessageFacts`]).
//!
//! An ACK whose map names packets has it there, too; so have a numbered packet its number and a proxy's ACK its limit.
//!
//! An ACK or a NACK does not name its sender: nothing in a simulated network forges one, and it finds the
//! flow's sender by its flow.

use farspan_fabric::{Access, Packet, PacketId, Packets, Side};
use farspan_transport::balance::Entropy;
use farspan_transport::coding::Layout;
use farspan_transport::in_place::Reply;
use farspan_transport::wire::{Coded, Data, Echo, Fate, Feedback, Header, Numbered, Place};
use farspan_units::{Bytes, Duration, HostId, Time};

// What a record is.
pub(crate) const DATA: u8 = 0;
pub(crate) const ACK: u8 = 1;
/// An ACK of a proxy: its limit stands beside its record.
pub(crate) const TAKEN: u8 = 2;
const NACK: u8 = 3;
const PASSED_ON: u8 = 4;
const GAP: u8 = 5;
const BLOCK_NACK: u8 = 7;
pub(crate) const CODED: u8 = 8;
/// An ACK with a map, which stands beside its record.
pub(crate) const MAP_ACK: u8 = 9;
/// A data packet with a number, which stands beside its record.
pub(crate) const NUMBERED: u8 = 10;
// Beside the four kinds that the flags of an ACK with a map make of it in a digest.
const PULL: u8 = 11;
/// In a digest neither a kind of ACK nor a trimmed packet has it.
const CNP: u8 = 15;

/// Send times travel in 46 bits of picoseconds: exact while a packet, and then its ACK, is under way for less
/// than 70 s.
const TIME_BITS: u32 = 46;
/// Bits of a host's number in a record ([`Packet::MAX_HOSTS`]); the profile stands above.
const HOST_BITS: u32 = Packet::MAX_HOSTS.trailing_zeros();
/// Flag of a data packet, above the send time in the upper bits of a half: it asks for an ACK.
const ASK: u16 = 1 << 14;
/// Flags of an ACK, above the send time in the upper bits of a half.
const ECN_ECHO: u16 = 1 << 14;
const AT_LAST_HOP: u16 = 1 << 14;
const BLOCK_COMPLETE: u16 = 1 << 15;

/// Facts that all packets of a message share: no record repeats them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MessageFacts {
    /// How many packets it has.
    pub packets: u32,
    /// How they make blocks, if it is coded.
    pub layout: Option<Layout>,
}

/// The sender of a data packet and its flow's profile, packed in 32 bits.
#[inline]
pub(crate) const fn sender(from: HostId, profile: u8) -> u32 {
    from.0 | (profile as u32) << HOST_BITS
}

/// Unpacks the number that [`sender`] made.
#[inline]
const fn host_and_profile(word: u32) -> (HostId, u8) {
    (HostId(word & ((1 << HOST_BITS) - 1)), (word >> HOST_BITS) as u8)
}

/// Packs the header of a data packet into the record of a packet from `from` to `to`.
#[inline(always)]
pub(crate) fn pack(header: &Header, from: HostId, to: HostId, size: Bytes, entropy: Entropy) -> Packet {
    let packet = |kind, flow| Packet::new(flow, to, size, entropy, false, kind);
    match *header {
        // A port that trims changes the size alone: the length travels apart.
        Header::Data(Data { flow, seq, len, sent_at, profile, ask, .. }) => {
            let flags = if ask { ASK } else { 0 };
            filled(packet(DATA, flow), [seq, sender(from, profile)], sent_at, flags, len)
        }
        Header::Coded(Coded { data: Data { flow, seq, len, sent_at, ask, .. }, block_wait_ns, .. }) => {
            let flags = if ask { ASK } else { 0 };
            filled(packet(CODED, flow), [seq, block_wait_ns], sent_at, flags, len)
        }
        Header::Numbered(Numbered { data: Data { flow, seq, len, sent_at, profile, ask, .. }, .. }) => {
            let flags = if ask { ASK } else { 0 };
            filled(packet(NUMBERED, flow), [seq, sender(from, profile)], sent_at, flags, len)
        }
        header => unreachable!("a reply is no data packet: {header:?}"),
    }
}

/// The word beside the record of a data packet that has more than a record holds.
#[cold]
pub(crate) fn beside(header: &Header, from: HostId) -> u32 {
    match *header {
        Header::Numbered(Numbered { place, .. }) => pack_numbered(place),
        Header::Data(data) | Header::Coded(Coded { data, .. }) => sender(from, data.profile),
        header => unreachable!("a reply is no data packet: {header:?}"),
    }
}

const fn pack_numbered(Place { lane, number }: Place) -> u32 {
    (lane as u32) << 16 | number as u32
}

const fn unpack_numbered(word: u32) -> Place {
    Place { lane: (word >> 16) as u8, number: word as u16 }
}

/// A packet with the words of its header.
#[inline(always)]
fn filled(mut packet: Packet, words: [u32; 2], sent_at: Time, flags: u16, half: u16) -> Packet {
    let ps = sent_at.as_ps();
    packet.words = [words[0], words[1], ps as u32];
    packet.halves = [(ps >> 32) as u16 & (ECN_ECHO - 1) | flags, half];
    packet
}

#[inline(always)]
const fn flags_of_ack(ecn_ce: bool, block_complete: bool) -> u16 {
    (if ecn_ce { ECN_ECHO } else { 0 }) | (if block_complete { BLOCK_COMPLETE } else { 0 })
}

/// Makes the record of a control packet; `header`: size of a header. An ACK of one packet, which most are, has a way of its own.
#[inline(always)]
pub(crate) fn insert_reply(packets: &mut Packets<impl Access>, reply: &mut Reply, header: Bytes) -> PacketId {
    let Reply { to, entropy, ack_bytes, feedback: Feedback { flow, seq, cumulative, fate }, .. } = *reply;
    let size = header + Bytes::new(u64::from(ack_bytes));
    let id = match fate {
        Fate::Arrived { echo, ecn_ce, block_complete, map: 0 } => {
            let packet = Packet::new(flow, to, size, entropy, true, ACK);
            let flags = flags_of_ack(ecn_ce, block_complete);
            packets.insert(filled(packet, [seq, cumulative], echo.sent_at, flags, echo.entropy))
        }
        _ => insert_other_reply(packets, reply, size),
    };
    if let Some(telemetry) = reply.telemetry.take() {
        packets.set_telemetry(id, telemetry);
    }
    id
}

#[cold]
#[inline(never)]
fn insert_other_reply(packets: &mut Packets<impl Access>, reply: &Reply, size: Bytes) -> PacketId {
    let Reply { to, entropy, feedback: Feedback { flow, seq, cumulative, fate }, .. } = *reply;
    let packet = |kind| Packet::new(flow, to, size, entropy, true, kind);
    match fate {
        Fate::Arrived { echo, ecn_ce, block_complete, map } => {
            let flags = flags_of_ack(ecn_ce, block_complete);
            let words = [seq, cumulative];
            let id = packets.insert(filled(packet(MAP_ACK), words, echo.sent_at, flags, echo.entropy));
            packets.side_mut(id).words = [map as u32, (map >> 32) as u32];
            id
        }
        Fate::Trimmed { echo, at_last_hop } => {
            let flags = if at_last_hop { AT_LAST_HOP } else { 0 };
            packets.insert(filled(packet(NACK), [seq, cumulative], echo.sent_at, flags, echo.entropy))
        }
        Fate::Missing { packets: missing } => {
            let third = Time::from_ps(u64::from(cumulative));
            packets.insert(filled(packet(BLOCK_NACK), [seq, missing], third, 0, 0))
        }
        Fate::Pull { count } => packets.insert(filled(packet(PULL), [count, cumulative], Time::ZERO, 0, 0)),
        Fate::Cnp => packets.insert(filled(packet(CNP), [0, cumulative], Time::ZERO, 0, 0)),
        Fate::Taken { echo, ecn_ce, limit } => {
            let (flags, words) = (flags_of_ack(ecn_ce, false), [seq, cumulative]);
            let id = packets.insert(filled(packet(TAKEN), words, echo.sent_at, flags, echo.entropy));
            packets.side_mut(id).words[0] = limit;
            id
        }
        Fate::PassedOn { limit } => {
            packets.insert(filled(packet(PASSED_ON), [limit, cumulative], Time::ZERO, 0, 0))
        }
        Fate::Gap { first, count } => {
            packets.insert(filled(packet(GAP), [pack_numbered(first), u32::from(count)], Time::ZERO, 0, 0))
        }
        fate => unreachable!("no record has room for {fate:?}"),
    }
}

/// The map of an ACK, which stands beside its record.
fn map(side: &Side) -> u64 {
    u64::from(side.words[0]) | u64::from(side.words[1]) << 32
}

/// The kind of an ACK as `packet_digest` has it: its flags make four kinds of one, and its map four of another.
#[inline(always)]
pub(crate) fn digest_kind_of_ack(packet: &Packet, kind: u8) -> u64 {
    let flags = u64::from(packet.halves[0] >> 14);
    u64::from(kind) + (flags & 1) + (flags >> 1) * 4
}

/// Whether it is a data packet of that kind, with its payload.
#[inline(always)]
pub(crate) const fn is_whole(packet: &Packet, kind: u8) -> bool {
    packet.kind() == kind && !packet.trimmed()
}

/// Whether it is a mark at the end of a burst, which is no packet of its message.
pub(crate) const fn is_mark(packet: &Packet) -> bool {
    packet.kind() == NUMBERED && packet.halves[1] == 0
}

/// Unpacks a header at `now`; `side`: the state kept beside the record, or nothing, which leaves out the profile of a
/// coded packet and the map of an ACK; `message`: what its packets say alike.
pub(crate) fn unpack(packet: &Packet, side: &Side, now: Time, message: MessageFacts) -> Header {
    match packet.kind() {
        DATA => Header::Data(data(packet, now, message.packets).1),
        CODED => Header::Coded(coded(packet, side, now, message).1),
        NUMBERED => Header::Numbered(numbered(packet, side, now, message.packets).1),
        _ => Header::Feedback(feedback(packet, side, now)),
    }
}

/// Unpacks a data packet of a message of so many packets at `now`: its sender, and its header.
#[inline]
pub(crate) fn data(packet: &Packet, now: Time, packets: u32) -> (HostId, Data) {
    let Packet { flow, words: [seq, sender, _], halves: [high, len], entropy, .. } = *packet;
    let ((from, profile), ask) = (host_and_profile(sender), high & ASK != 0);
    (from, Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy, profile, ask })
}

/// Unpacks a numbered data packet, as [`data`]; `side`: the state kept beside the record.
pub(crate) fn numbered(packet: &Packet, side: &Side, now: Time, packets: u32) -> (HostId, Numbered) {
    let (from, data) = data(packet, now, packets);
    (from, Numbered { data, place: unpack_numbered(side.words[0]) })
}

/// Unpacks a packet of a coded message at `now`: its sender, and its header. `side`: the state kept beside
/// the record.
#[inline]
pub(crate) fn coded(packet: &Packet, side: &Side, now: Time, message: MessageFacts) -> (HostId, Coded) {
    let layout = message.layout.expect("a message whose packets are coded has a layout");
    let Packet { flow, words: [seq, block_wait_ns, _], halves: [high, len], entropy, .. } = *packet;
    let ((from, profile), packets, ask) = (host_and_profile(side.words[0]), message.packets, high & ASK != 0);
    let data = Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy, profile, ask };
    (from, Coded { data, shape: layout.shape(), last_len: layout.last_len(), block_wait_ns })
}

/// Unpacks an ACK with this map at `now`.
#[inline(always)]
pub(crate) fn ack(packet: &Packet, map: u64, now: Time) -> Feedback {
    let Packet { flow, words: [seq, cumulative, _], halves: [high, _], .. } = *packet;
    let (ecn_ce, block_complete) = (high & ECN_ECHO != 0, high & BLOCK_COMPLETE != 0);
    Feedback {
        flow,
        seq,
        cumulative,
        fate: Fate::Arrived { echo: echo(packet, now), ecn_ce, block_complete, map },
    }
}

/// Unpacks a receiver's feedback at `now`; `side`: the state kept beside the record.
pub(crate) fn feedback(packet: &Packet, side: &Side, now: Time) -> Feedback {
    let Packet { flow, words: [seq, second, third], halves: [high, _], .. } = *packet;
    match packet.kind() {
        ACK => ack(packet, 0, now),
        MAP_ACK => ack(packet, map(side), now),
        NACK => {
            let fate = Fate::Trimmed { echo: echo(packet, now), at_last_hop: high & AT_LAST_HOP != 0 };
            Feedback { flow, seq, cumulative: second, fate }
        }
        PULL => Feedback { flow, seq: 0, cumulative: second, fate: Fate::Pull { count: seq } },
        TAKEN => {
            let (echo, ecn_ce, limit) = (echo(packet, now), high & ECN_ECHO != 0, side.words[0]);
            Feedback { flow, seq, cumulative: second, fate: Fate::Taken { echo, ecn_ce, limit } }
        }
        PASSED_ON => Feedback { flow, seq: 0, cumulative: second, fate: Fate::PassedOn { limit: seq } },
        GAP => {
            let fate = Fate::Gap { first: unpack_numbered(seq), count: second as u16 };
            Feedback { flow, seq: 0, cumulative: 0, fate }
        }
        CNP => Feedback { flow, seq: 0, cumulative: second, fate: Fate::Cnp },
        _ => Feedback { flow, seq, cumulative: third, fate: Fate::Missing { packets: second } },
    }
}

#[inline]
fn echo(packet: &Packet, now: Time) -> Echo {
    Echo { sent_at: sent_at(packet, now), entropy: packet.halves[1] }
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
    use farspan_transport::coding::Shape;
    use farspan_units::FlowId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 45,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), kind in 0..12_u8, trimmed in any::<bool>(),
            wait in any::<u32>(), block_complete in any::<bool>(), from in 0..Packet::MAX_HOSTS, profile in any::<u8>(), map in 1_u64..,
        ) {
            let (flow, sent_at, header) = (FlowId(flow), Time::from_ps(sent), Bytes::new(64));
            let (now, from) = (sent_at + Duration::from_ps(age), HostId(from));
            let shape = Shape::new(8, 2).unwrap();
            let layout = Layout::of_message(Bytes::new(u64::from(len) * 100 + 1), Bytes::new(4096), shape).unwrap();
            let (last_len, cumulative) = (layout.last_len(), second);
            let message = MessageFacts { packets: second, layout: Some(layout) };
            let data = Data { flow, seq, packets: second, len, sent_at, entropy, profile, ask: ce };
            let (echo, place) = (Echo { sent_at, entropy }, Place { lane: profile, number: entropy });
            let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative, fate });
            let value = match kind {
                0 => Header::Data(data),
                1 => Header::Coded(Coded { data, shape, last_len, block_wait_ns: wait }),
                2 => feedback(Fate::Arrived { echo, ecn_ce: ce, block_complete, map: 0 }),
                5 => feedback(Fate::Arrived { echo, ecn_ce: ce, block_complete, map }),
                3 => feedback(Fate::Trimmed { echo, at_last_hop: ce }),
                4 => feedback(Fate::Missing { packets: wait }),
                6 => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::Pull { count: wait } }),
                7 => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::Cnp }),
                8 => Header::Numbered(Numbered { data, place }),
                9 => feedback(Fate::Taken { echo, ecn_ce: ce, limit: wait }),
                10 => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::PassedOn { limit: wait } }),
                _ => Header::Feedback(Feedback { flow, seq: 0, cumulative: 0, fate: Fate::Gap { first: place, count: len } }),
            };
            let is_data = kind < 2 || kind == 8;
            let size = if is_data { header + Bytes::new(u64::from(len)) } else { header };
            let mut packets = Packets::new();
            let id = match value {
                Header::Feedback(feedback) => {
                    let (ack_bytes, telemetry) = (0, None);
                    let mut reply = Reply { to: HostId(3), entropy, ack_bytes, feedback, telemetry };
                    insert_reply(&mut packets, &mut reply, size)
                }
                value => packets.insert(pack(&value, from, HostId(3), size, entropy)),
            };
            if let Header::Coded(_) | Header::Numbered(_) = value {
                packets.side_mut(id).words[0] = beside(&value, from);
            }
            if is_data && trimmed {
                packets.trim(id, header, ce);
            }
            let side = packets.side(id);
            let packet = packets.remove(id);
            match value {
                Header::Coded(value) => {
                    prop_assert_eq!(coded(&packet, &side, now, message), (from, value));
                }
                Header::Numbered(value) => prop_assert_eq!(numbered(&packet, &side, now, second), (from, value)),
                Header::Data(value) => prop_assert_eq!(super::data(&packet, now, second), (from, value)),
                value => prop_assert_eq!(unpack(&packet, &side, now, message), value),
            }
        }
    }
}
