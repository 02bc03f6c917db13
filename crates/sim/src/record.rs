//! Headers in packet records: the words that the fabric leaves to the driver.

use farspan_fabric::Packet;
use farspan_transport::balance::Entropy;
use farspan_transport::wire::{Ack, Data, Header, Nack};
use farspan_units::{Bytes, HostId, Time};

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Data,
    Ack,
    Nack,
}

const DATA: u8 = 0;
const ACK: u8 = 1;
const ACK_ECN: u8 = 2;
const NACK: u8 = 3;

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
        Header::Ack(Ack { flow, seq, cumulative, sent_at, entropy, ecn_ce }) => {
            record(if ecn_ce { ACK_ECN } else { ACK }, true, flow, [seq, cumulative], sent_at, entropy)
        }
        Header::Nack(Nack { flow, seq, cumulative, sent_at, entropy }) => {
            record(NACK, true, flow, [seq, cumulative], sent_at, entropy)
        }
    }
}

/// What a record is.
#[inline]
pub(crate) const fn kind(packet: &Packet) -> Kind {
    match packet.kind() {
        DATA => Kind::Data,
        NACK => Kind::Nack,
        _ => Kind::Ack,
    }
}

/// Unpacks a header at `now`.
pub(crate) fn unpack(packet: &Packet, now: Time) -> Header {
    match kind(packet) {
        Kind::Data => Header::Data(data(packet, now)),
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

/// Unpacks the header of an ACK at `now`.
#[inline]
pub(crate) fn ack(packet: &Packet, now: Time) -> Ack {
    let Packet { flow, words: [seq, cumulative, _], halves: [_, entropy], .. } = *packet;
    Ack { flow, seq, cumulative, sent_at: sent_at(packet, now), entropy, ecn_ce: packet.kind() == ACK_ECN }
}

#[inline]
fn sent_at(packet: &Packet, now: Time) -> Time {
    latest_before(now, u64::from(packet.halves[0]) << 32 | u64::from(packet.words[2]))
}

/// The latest time up to `now` whose low bits are `low`.
#[inline]
fn latest_before(now: Time, low: u64) -> Time {
    let age = now.as_ps().wrapping_sub(low) & ((1 << TIME_BITS) - 1);
    Time::from_ps(now.as_ps().saturating_sub(age))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_fabric::Packets;
    use farspan_units::{Duration, FlowId};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 47,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), kind in 0..3_u8, trimmed in any::<bool>(),
        ) {
            let (flow, sent_at, header) = (FlowId(flow), Time::from_ps(sent), Bytes::new(64));
            let now = sent_at + Duration::from_ps(age);
            let data = kind == 0;
            let value = match kind {
                0 => Header::Data(Data { flow, seq, packets: second, len, sent_at, entropy }),
                1 => Header::Ack(Ack { flow, seq, cumulative: second, sent_at, entropy, ecn_ce: ce }),
                _ => Header::Nack(Nack { flow, seq, cumulative: second, sent_at, entropy }),
            };
            let size = if data { header + Bytes::new(u64::from(len)) } else { header };
            let mut packets = Packets::default();
            let id = packets.insert(pack(&value, HostId(3), size, entropy));
            if data && trimmed {
                packets.trim(id, header);
            }
            prop_assert_eq!(unpack(&packets.remove(id), now), value);
        }
    }
}
