//! Headers in packet records: the fields that the fabric leaves to the driver.
//!
//! A data packet names its sender and its flow's profile: the receiver's ACK goes there. Where it is coded,
//! they stand beside the record, in its [`Side`](farspan_fabric::Side). A record keeps what differs from
//! packet to packet; what all packets of a message say alike, the plan does ([`MessageFacts`]).
//!
//! An ACK or a NACK does not name its sender: nothing in a simulated network forges one, and it finds the
//! flow's sender by its flow.

use farspan_fabric::Packet;
use farspan_transport::balance::Entropy;
use farspan_transport::coding::Layout;
use farspan_transport::in_place::Reply;
use farspan_transport::wire::{Coded, Data, Echo, Fate, Feedback, Header};
use farspan_units::{Bytes, Duration, HostId, Time};

// What a record is.
pub(crate) const DATA: u8 = 0;
pub(crate) const ACK: u8 = 1;
const NACK: u8 = 3;
const BLOCK_NACK: u8 = 7;
pub(crate) const CODED: u8 = 8;

/// Send times travel in 46 bits of picoseconds: exact while a packet, and then its ACK, is under way for less
/// than 70 s.
const TIME_BITS: u32 = 46;
/// Bits of a host's number in a record ([`Packet::MAX_HOSTS`]); the profile stands above.
const HOST_BITS: u32 = Packet::MAX_HOSTS.trailing_zeros();
/// Flags of an ACK, above the send time in the upper bits of a half.
const ECN_ECHO: u16 = 1 << 14;
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

/// Packs a header into the record of a packet from `from` to `to`.
#[inline(always)]
pub(crate) fn pack(header: &Header, from: HostId, to: HostId, size: Bytes, entropy: Entropy) -> Packet {
    let record = |kind, control, flow, words: [u32; 2], sent_at: Time, flags: u16, half| {
        let mut packet = Packet::new(flow, to, size, entropy, control, kind);
        let ps = sent_at.as_ps();
        packet.words = [words[0], words[1], ps as u32];
        packet.halves = [(ps >> 32) as u16 & (ECN_ECHO - 1) | flags, half];
        packet
    };
    match *header {
        // A port that trims changes the size alone: the length travels apart.
        Header::Data(Data { flow, seq, len, sent_at, profile, .. }) => {
            record(DATA, false, flow, [seq, sender(from, profile)], sent_at, 0, len)
        }
        Header::Coded(Coded { data: Data { flow, seq, len, sent_at, .. }, block_wait_ns, .. }) => {
            record(CODED, false, flow, [seq, block_wait_ns], sent_at, 0, len)
        }
        Header::Feedback(Feedback { flow, seq, cumulative, fate }) => match fate {
            Fate::Arrived { echo: Echo { sent_at, entropy }, ecn_ce, block_complete } => {
                let flags =
                    if ecn_ce { ECN_ECHO } else { 0 } | if block_complete { BLOCK_COMPLETE } else { 0 };
                record(ACK, true, flow, [seq, cumulative], sent_at, flags, entropy)
            }
            Fate::Trimmed { echo: Echo { sent_at, entropy } } => {
                record(NACK, true, flow, [seq, cumulative], sent_at, 0, entropy)
            }
            Fate::Missing { packets } => {
                record(BLOCK_NACK, true, flow, [seq, packets], Time::from_ps(u64::from(cumulative)), 0, 0)
            }
            fate => unreachable!("no record has room for {fate:?}"),
        },
        header => unreachable!("no record has room for {header:?}"),
    }
}

/// The record of a control packet of host `from`; `size`: of a header.
#[inline(always)]
pub(crate) fn reply(reply: &Reply, from: HostId, size: Bytes) -> Packet {
    pack(&Header::Feedback(reply.feedback), from, reply.to, size, reply.entropy)
}

/// The kind of an ACK as `packet_digest` has it: its flags make four kinds of one.
#[inline(always)]
pub(crate) fn digest_kind_of_ack(packet: &Packet) -> u64 {
    let flags = u64::from(packet.halves[0] >> 14);
    u64::from(ACK) + (flags & 1) + (flags >> 1) * 4
}

/// Whether it is a data packet of that kind, with its payload.
#[inline(always)]
pub(crate) const fn is_whole(packet: &Packet, kind: u8) -> bool {
    packet.kind() == kind && !packet.trimmed()
}

/// Unpacks a header at `now`; `message`: what its packets say alike. Of a coded packet the profile is not in it.
pub(crate) fn unpack(packet: &Packet, now: Time, message: MessageFacts) -> Header {
    match packet.kind() {
        DATA => Header::Data(data(packet, now, message.packets).1),
        CODED => Header::Coded(coded(packet, 0, now, message).1),
        _ => Header::Feedback(feedback(packet, now)),
    }
}

/// Unpacks a data packet of a message of so many packets at `now`: its sender, and its header.
#[inline]
pub(crate) fn data(packet: &Packet, now: Time, packets: u32) -> (HostId, Data) {
    let Packet { flow, words: [seq, sender, _], halves: [_, len], entropy, .. } = *packet;
    let (from, profile) = host_and_profile(sender);
    (from, Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy, profile })
}

/// Unpacks a packet of a coded message at `now`: its sender, and its header. `side`: the state kept beside
/// the record.
#[inline]
pub(crate) fn coded(packet: &Packet, side: u32, now: Time, message: MessageFacts) -> (HostId, Coded) {
    let layout = message.layout.expect("a message whose packets are coded has a layout");
    let Packet { flow, words: [seq, block_wait_ns, _], halves: [_, len], entropy, .. } = *packet;
    let ((from, profile), packets) = (host_and_profile(side), message.packets);
    let data = Data { flow, seq, packets, len, sent_at: sent_at(packet, now), entropy, profile };
    (from, Coded { data, shape: layout.shape(), last_len: layout.last_len(), block_wait_ns })
}

/// Unpacks an ACK at `now`.
#[inline(always)]
pub(crate) fn ack(packet: &Packet, now: Time) -> Feedback {
    let Packet { flow, words: [seq, cumulative, _], halves: [high, _], .. } = *packet;
    let (ecn_ce, block_complete) = (high & ECN_ECHO != 0, high & BLOCK_COMPLETE != 0);
    Feedback {
        flow,
        seq,
        cumulative,
        fate: Fate::Arrived { echo: echo(packet, now), ecn_ce, block_complete },
    }
}

/// Unpacks a receiver's feedback at `now`.
pub(crate) fn feedback(packet: &Packet, now: Time) -> Feedback {
    let Packet { flow, words: [seq, second, third], .. } = *packet;
    match packet.kind() {
        ACK => ack(packet, now),
        NACK => Feedback { flow, seq, cumulative: second, fate: Fate::Trimmed { echo: echo(packet, now) } },
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
    use farspan_fabric::Packets;
    use farspan_transport::coding::Shape;
    use farspan_units::FlowId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 45,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), kind in 0..5_u8, trimmed in any::<bool>(),
            wait in any::<u32>(), block_complete in any::<bool>(), from in 0..Packet::MAX_HOSTS, profile in any::<u8>(),
        ) {
            let (flow, sent_at, header) = (FlowId(flow), Time::from_ps(sent), Bytes::new(64));
            let (now, from) = (sent_at + Duration::from_ps(age), HostId(from));
            let shape = Shape::new(8, 2).unwrap();
            let layout = Layout::of_message(Bytes::new(u64::from(len) * 100 + 1), Bytes::new(4096), shape).unwrap();
            let (last_len, cumulative) = (layout.last_len(), second);
            let message = MessageFacts { packets: second, layout: Some(layout) };
            let data = Data { flow, seq, packets: second, len, sent_at, entropy, profile };
            let echo = Echo { sent_at, entropy };
            let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative, fate });
            let value = match kind {
                0 => Header::Data(data),
                1 => Header::Coded(Coded { data, shape, last_len, block_wait_ns: wait }),
                2 => feedback(Fate::Arrived { echo, ecn_ce: ce, block_complete }),
                3 => feedback(Fate::Trimmed { echo }),
                _ => feedback(Fate::Missing { packets: wait }),
            };
            let is_data = kind < 2;
            let size = if is_data { header + Bytes::new(u64::from(len)) } else { header };
            // SAFETY: the one number that is used comes from it.
            #[allow(unsafe_code, reason = "as in the simulator")]
            let mut packets = unsafe { Packets::new() };
            let id = packets.insert(pack(&value, from, HostId(3), size, entropy));
            if is_data && trimmed {
                packets.trim(id, header);
            }
            let packet = packets.remove(id);
            match value {
                Header::Coded(value) => {
                    prop_assert_eq!(coded(&packet, sender(from, profile), now, message), (from, value));
                }
                Header::Data(value) => prop_assert_eq!(super::data(&packet, now, second), (from, value)),
                value => prop_assert_eq!(unpack(&packet, now, message), value),
            }
        }
    }
}
