//! Headers in packet records: the fields that the fabric leaves to the driver.
//!
//! A data packet names its sender and its flow's profile: the receiver's ACK goes there. Where it is coded,
//! they stand beside the record, in the second of the [words](Packets::words) there. A record keeps what differs from
//! packet to packet; what all packets of a message say alike, the plan does ([`MessageFacts`]).
//!
//! An ACK whose map names packets has it there, too; so have a numbered packet its number and a proxy's ACK its limit.
//!
//! An ACK or a NACK does not name its sender: nothing in a simulated network forges one, and it finds the
//! flow's sender by its flow.

use farspan_fabric::{Access, Packet, PacketId, Packets};
use farspan_transport::balance::Entropy;
use farspan_transport::coding::Layout;
use farspan_transport::in_place::{DataPacket, Reply};
use farspan_transport::wire::{Coded, Data, Echo, Fate, Feedback, Handshake, Header, Numbered, Place};
use farspan_units::{Bytes, Duration, FlowId, HostId, Time};

// What a record is.
pub(crate) const DATA: u8 = 0;
pub(crate) const ACK: u8 = 1;
/// An ACK of a proxy: its limit stands beside its record.
const TAKEN: u8 = 2;
const NACK: u8 = 3;
const PASSED_ON: u8 = 4;
const GAP: u8 = 5;
const BLOCK_NACK: u8 = 7;
const CODED: u8 = 8;
/// An ACK with a map, which stands beside its record.
const MAP_ACK: u8 = 9;
/// A data packet of a persistent connection: which message it is of, the plan knows by its number.
const IN_MESSAGES: u8 = 6;
/// A data packet with a number, which stands beside its record.
const NUMBERED: u8 = 10;
const PULL: u8 = 11;
/// A mark at the end of a burst: a numbered packet without payload, which is no packet of its message.
const MARK: u8 = 12;
/// In a digest neither a kind of ACK nor a trimmed packet has it.
pub(crate) const CNP: u8 = 15;
const OPEN: u8 = 13;

/// Send times travel in 46 bits of picoseconds: exact while a packet, and then its ACK, is under way for less
/// than 70 s.
const TIME_BITS: u32 = 46;
/// Bits of a host's number in a record ([`Packet::MAX_HOSTS`]); the profile stands above.
const HOST_BITS: u32 = Packet::MAX_HOSTS.trailing_zeros();
/// Flag of a data packet, above the send time in the upper bits of a half: it asks for an ACK.
const ASK: u16 = 1 << 14;
/// Flags of an ACK, above the send time in the upper bits of a half.
const ECN_ECHO: u16 = 1 << 14;
const BLOCK_COMPLETE: u16 = 1 << 15;
/// Flags of a NACK, there, too.
const AT_LAST_HOP: u16 = 1 << 14;
const ECN_BEFORE: u16 = 1 << 15;

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

/// Makes the record of a data packet from `from` to `to`, with what stands beside it. That of a plain one, which most are, is made
/// where it is known what it is.
#[inline(always)]
pub(crate) fn insert_data(
    packets: &mut Packets<impl Access>,
    packet: &DataPacket,
    (from, to): (HostId, HostId),
    size: Bytes,
) -> PacketId {
    let data = &packet.header;
    if packet.has_more() {
        let header = packet.header();
        if packet.is_in_messages() {
            return insert_in_messages(packets, &header, (from, to), size);
        }
        return insert(packets, &header, (from, to), size, data.entropy);
    }
    packets.insert(data_record(DATA, data, [data.seq, sender(from, data.profile)], to, size))
}

/// Makes the record of a data packet of a persistent connection.
#[cold]
#[inline(never)]
fn insert_in_messages(
    packets: &mut Packets<impl Access>,
    header: &Header,
    (from, to): (HostId, HostId),
    size: Bytes,
) -> PacketId {
    let Header::Data(data) = header else { unreachable!("{header:?} is of no persistent connection") };
    let words = [data.seq, sender(from, data.profile)];
    packets.insert(data_record(IN_MESSAGES, data, words, to, size))
}

/// Makes the record of a control packet from `from`; `header`: size of a header. An ACK, which most are, has a way of its own.
#[inline(always)]
pub(crate) fn insert_reply(
    packets: &mut Packets<impl Access>,
    reply: &mut Reply,
    from: HostId,
    header: Bytes,
) -> PacketId {
    let Reply { to, entropy, ack_bytes, feedback: Feedback { flow, seq, cumulative, fate }, .. } = *reply;
    let size = header + Bytes::new(u64::from(ack_bytes));
    let id = match fate {
        Fate::Arrived { echo, ecn_ce, block_complete, map } => {
            let packet = Packet::new(flow, to, size, entropy, true, if map == 0 { ACK } else { MAP_ACK });
            let flags = flags_of_ack(ecn_ce, block_complete);
            let id = packets.insert(filled(packet, [seq, cumulative], echo.sent_at, flags, echo.entropy));
            if map != 0 {
                *packets.words_mut(id) = halves_of(map);
            }
            id
        }
        _ => insert_other_reply(packets, reply, from, size),
    };
    if let Some(telemetry) = reply.telemetry.take() {
        packets.set_telemetry(id, telemetry);
    }
    id
}

#[cold]
#[inline(never)]
fn insert_other_reply(
    packets: &mut Packets<impl Access>,
    reply: &Reply,
    from: HostId,
    size: Bytes,
) -> PacketId {
    insert(packets, &Header::Feedback(reply.feedback), (from, reply.to), size, reply.entropy)
}

/// Makes the record of any packet from `from` to `to`, with what stands beside it.
#[inline(never)]
pub(crate) fn insert(
    packets: &mut Packets<impl Access>,
    header: &Header,
    (from, to): (HostId, HostId),
    size: Bytes,
    entropy: Entropy,
) -> PacketId {
    let (packet, beside) = match *header {
        Header::Data(data) => {
            let words = [data.seq, sender(from, data.profile)];
            (data_record(DATA, &data, words, to, size), None)
        }
        Header::Coded(Coded { data, block_wait_ns, .. }) => {
            let packet = data_record(CODED, &data, [data.seq, block_wait_ns], to, size);
            (packet, Some([0, sender(from, data.profile)]))
        }
        Header::Numbered(Numbered { data, place }) => {
            let words = [data.seq, sender(from, data.profile)];
            let kind = if data.len == 0 { MARK } else { NUMBERED };
            (data_record(kind, &data, words, to, size), Some([pack_numbered(place), 0]))
        }
        Header::Handshake(Handshake { flow, packets, sent_at, entropy, profile }) => {
            let packet = Packet::new(flow, to, size, entropy, true, OPEN);
            (filled(packet, [packets, sender(from, profile)], sent_at, 0, 0), None)
        }
        Header::Feedback(feedback) => feedback_record(feedback, to, size, entropy),
        header => unreachable!("no record has room for {header:?}"),
    };
    let id = packets.insert(packet);
    // Also zeros: words of a packet before may stand there.
    if let Some(beside) = beside {
        *packets.words_mut(id) = beside;
    }
    id
}

/// The record of a data packet. A port that trims changes the size alone: the length travels apart.
#[inline(always)]
fn data_record(kind: u8, data: &Data, words: [u32; 2], to: HostId, size: Bytes) -> Packet {
    let Data { flow, len, sent_at, entropy, ask, .. } = *data;
    let packet = Packet::new(flow, to, size, entropy, false, kind);
    filled(packet, words, sent_at, if ask { ASK } else { 0 }, len)
}

/// The record of a control packet, and what stands beside it.
fn feedback_record(
    feedback: Feedback,
    to: HostId,
    size: Bytes,
    entropy: Entropy,
) -> (Packet, Option<[u32; 2]>) {
    let Feedback { flow, seq, cumulative, fate } = feedback;
    let packet = |kind| Packet::new(flow, to, size, entropy, true, kind);
    let bare = |kind, words| filled(packet(kind), words, Time::ZERO, 0, 0);
    let alone = |packet| (packet, None);
    match fate {
        Fate::Arrived { echo, ecn_ce, block_complete, map } => {
            let (kind, flags) = (if map == 0 { ACK } else { MAP_ACK }, flags_of_ack(ecn_ce, block_complete));
            let record = filled(packet(kind), [seq, cumulative], echo.sent_at, flags, echo.entropy);
            (record, (map != 0).then(|| halves_of(map)))
        }
        Fate::Trimmed { echo, at_last_hop, ecn_ce } => {
            let flags = (if at_last_hop { AT_LAST_HOP } else { 0 }) | (if ecn_ce { ECN_BEFORE } else { 0 });
            alone(filled(packet(NACK), [seq, cumulative], echo.sent_at, flags, echo.entropy))
        }
        Fate::Missing { packets: missing } => {
            let third = Time::from_ps(u64::from(cumulative));
            alone(filled(packet(BLOCK_NACK), [seq, missing], third, 0, 0))
        }
        Fate::Pull { count } => alone(bare(PULL, [count, cumulative])),
        Fate::Cnp => alone(bare(CNP, [0, cumulative])),
        Fate::Taken { echo, ecn_ce, limit } => {
            let flags = flags_of_ack(ecn_ce, false);
            let record = filled(packet(TAKEN), [seq, cumulative], echo.sent_at, flags, echo.entropy);
            (record, Some([limit, 0]))
        }
        Fate::PassedOn { limit } => alone(bare(PASSED_ON, [limit, cumulative])),
        Fate::Gap { first, count } => alone(bare(GAP, [pack_numbered(first), u32::from(count)])),
        fate => unreachable!("no record has room for {fate:?}"),
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

/// The map of an ACK in two words, which stand beside its record.
#[inline(always)]
const fn halves_of(map: u64) -> [u32; 2] {
    [map as u32, (map >> 32) as u32]
}

/// The map of an ACK, which has these words beside its record.
#[inline(always)]
fn map_of([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// A packet in `packet_digest`: its kind, and a number. The flags of an ACK make four kinds of one, whatever its map; of a NACK that
/// `passes` a proxy they make two, as the listed digests have it.
#[inline(always)]
pub(crate) fn digest(header: &Header, passes: bool) -> (u64, u32) {
    let (kind, number) = match *header {
        Header::Data(data) => (DATA, data.seq),
        Header::Coded(coded) => (CODED, coded.data.seq),
        Header::Numbered(numbered) => (NUMBERED, numbered.data.seq),
        Header::Handshake(open) => (OPEN, open.packets),
        Header::Feedback(Feedback { seq, fate, .. }) => match fate {
            Fate::Arrived { ecn_ce, block_complete, .. } => {
                (ACK + u8::from(ecn_ce) + u8::from(block_complete) * 4, seq)
            }
            Fate::Trimmed { at_last_hop, .. } => (NACK + u8::from(passes && at_last_hop), seq),
            Fate::Missing { .. } => (BLOCK_NACK, seq),
            Fate::Pull { count } => (PULL, count),
            Fate::Cnp => (CNP, 0),
            Fate::Taken { ecn_ce, .. } => (TAKEN + u8::from(ecn_ce), seq),
            Fate::PassedOn { limit } => (PASSED_ON, limit),
            Fate::Gap { first, .. } => (GAP, pack_numbered(first)),
            fate => unreachable!("no record has room for {fate:?}"),
        },
        header => unreachable!("no record has room for {header:?}"),
    };
    (u64::from(kind), number)
}

/// Whether it is a data packet, neither coded nor numbered, with its payload.
#[inline(always)]
pub(crate) const fn is_whole_data(packet: &Packet) -> bool {
    packet.kind() == DATA && !packet.trimmed()
}

/// Whether it is an ACK, with a map or without.
#[inline(always)]
pub(crate) const fn is_ack(packet: &Packet) -> bool {
    matches!(packet.kind(), ACK | MAP_ACK)
}

/// Whether a packet of this kind is one of a message, and no ACK, NACK, pull, CNP or mark at the end of a burst.
pub(crate) const fn is_of_message(kind: u8) -> bool {
    matches!(kind, DATA | CODED | NUMBERED | IN_MESSAGES)
}

/// A note of a packet of a message that is dropped at `now`: its flow and its number, and when its host sent it, ps.
pub(crate) fn note(now: Time, packet: &Packet) -> Option<[u64; 2]> {
    let name = u64::from(packet.flow.0) << 32 | u64::from(seq(packet));
    is_of_message(packet.kind()).then(|| [name, sent_at(packet, now).as_ps()])
}

/// The flow and the number of a packet of which this is a [`note`], and when its host sent it.
pub(crate) const fn noted([name, sent_at]: [u64; 2]) -> (FlowId, u32, Time) {
    (FlowId((name >> 32) as u32), name as u32, Time::from_ps(sent_at))
}

/// The host that sent a packet of a message, or a mark at the end of a burst; `beside`: the words beside the record.
pub(crate) const fn from(packet: &Packet, beside: [u32; 2]) -> HostId {
    let word = if packet.kind() == CODED { beside[1] } else { packet.words[1] };
    host_and_profile(word).0
}

/// The number of a data packet.
pub(crate) const fn seq(packet: &Packet) -> u32 {
    packet.words[0]
}

/// Unpacks a header at `now`, and its sender, whom feedback does not name; `beside`: the words beside the record, or zeros,
/// which leave out the profile of a coded packet and the map of an ACK; `message`: what its packets say alike.
pub(crate) fn unpack(
    packet: &Packet,
    beside: [u32; 2],
    now: Time,
    message: impl FnOnce() -> MessageFacts,
) -> (Option<HostId>, Header) {
    match packet.kind() {
        DATA | IN_MESSAGES => {
            let (from, data) = data(packet, now, message().packets);
            (Some(from), Header::Data(data))
        }
        CODED => {
            let (from, coded) = coded(packet, beside, now, message());
            (Some(from), Header::Coded(coded))
        }
        NUMBERED | MARK => {
            let (from, data) = data(packet, now, message().packets);
            let place = unpack_numbered(beside[0]);
            (Some(from), Header::Numbered(Numbered { data, place }))
        }
        OPEN => {
            let (from, Data { flow, seq: packets, sent_at, entropy, profile, .. }) = data(packet, now, 0);
            (Some(from), Header::Handshake(Handshake { flow, packets, sent_at, entropy, profile }))
        }
        _ => (None, Header::Feedback(feedback(packet, beside, now))),
    }
}

/// Unpacks a data packet of a message of so many packets at `now`: its sender, and its header.
#[inline]
pub(crate) fn data(packet: &Packet, now: Time, packets: u32) -> (HostId, Data) {
    let Packet { flow, words: [seq, sender, _], halves: [high, len], entropy, .. } = *packet;
    let ((from, profile), ask) = (host_and_profile(sender), high & ASK != 0);
    (from, Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy, profile, ask })
}

/// Unpacks a packet of a coded message at `now`: its sender, and its header. `beside`: the words beside
/// the record.
#[inline]
fn coded(packet: &Packet, beside: [u32; 2], now: Time, message: MessageFacts) -> (HostId, Coded) {
    let layout = message.layout.expect("a message whose packets are coded has a layout");
    let Packet { flow, words: [seq, block_wait_ns, _], halves: [high, len], entropy, .. } = *packet;
    let ((from, profile), packets, ask) = (host_and_profile(beside[1]), message.packets, high & ASK != 0);
    let data = Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy, profile, ask };
    (from, Coded { data, shape: layout.shape(), last_len: layout.last_len(), block_wait_ns })
}

/// Unpacks an ACK at `now`; `beside`: the words beside the record, of one with a map.
#[inline(always)]
pub(crate) fn ack(packet: &Packet, beside: impl FnOnce() -> [u32; 2], now: Time) -> Feedback {
    let map = if packet.kind() == MAP_ACK { map_of(beside()) } else { 0 };
    let Packet { flow, words: [seq, cumulative, _], halves: [high, _], .. } = *packet;
    let (ecn_ce, block_complete) = (high & ECN_ECHO != 0, high & BLOCK_COMPLETE != 0);
    Feedback {
        flow,
        seq,
        cumulative,
        fate: Fate::Arrived { echo: echo(packet, now), ecn_ce, block_complete, map },
    }
}

/// Unpacks a receiver's feedback at `now`; `beside`: the words beside the record.
fn feedback(packet: &Packet, beside: [u32; 2], now: Time) -> Feedback {
    let Packet { flow, words: [seq, second, third], halves: [high, _], .. } = *packet;
    match packet.kind() {
        ACK | MAP_ACK => ack(packet, || beside, now),
        NACK => {
            let (at_last_hop, ecn_ce) = (high & AT_LAST_HOP != 0, high & ECN_BEFORE != 0);
            let fate = Fate::Trimmed { echo: echo(packet, now), at_last_hop, ecn_ce };
            Feedback { flow, seq, cumulative: second, fate }
        }
        PULL => Feedback { flow, seq: 0, cumulative: second, fate: Fate::Pull { count: seq } },
        TAKEN => {
            let (echo, ecn_ce, limit) = (echo(packet, now), high & ECN_ECHO != 0, beside[0]);
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 45,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), kind in 0..13_u8, trimmed in any::<bool>(),
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
                3 => feedback(Fate::Trimmed { echo, at_last_hop: ce, ecn_ce: trimmed }),
                4 => feedback(Fate::Missing { packets: wait }),
                6 => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::Pull { count: wait } }),
                7 => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::Cnp }),
                8 => Header::Numbered(Numbered { data, place }),
                12 => Header::Handshake(Handshake { flow, packets: second, sent_at, entropy, profile }),
                9 => feedback(Fate::Taken { echo, ecn_ce: ce, limit: wait }),
                10 => Header::Feedback(Feedback { flow, seq: 0, cumulative, fate: Fate::PassedOn { limit: wait } }),
                _ => Header::Feedback(Feedback { flow, seq: 0, cumulative: 0, fate: Fate::Gap { first: place, count: len } }),
            };
            let is_data = kind < 2 || kind == 8;
            let size = if is_data { header + Bytes::new(u64::from(len)) } else { header };
            let mut packets = Packets::new();
            let id = insert(&mut packets, &value, (from, HostId(3)), size, entropy);
            if is_data && trimmed {
                packets.trim(id, header, ce);
            }
            let noted = note(now, &packets[id]).map(noted);
            prop_assert_eq!(noted, is_data.then_some((flow, seq, sent_at)));
            let beside = packets.words(id);
            let packet = packets.remove(id);
            prop_assert_eq!(unpack(&packet, beside, now, || message), ((is_data || kind == 12).then_some(from), value));
        }
    }
}
