//! Headers in packet records: the words that the fabric leaves to the driver.

use farspan_fabric::Packet;
use farspan_transport::{
    Transmit,
    wire::{Ack, Data, Header, Nack},
};
use farspan_units::Time;

const DATA: u8 = 0;
const ACK: u8 = 1;
const ACK_ECN: u8 = 2;
const NACK: u8 = 3;

/// Send times travel in 48 bits of picoseconds: exact while a packet is under way for less than 281 s.
const TIME_BITS: u32 = 48;

/// Packs what an endpoint wants to send.
#[inline]
pub(crate) fn pack(transmit: &Transmit) -> Packet {
    let record = |kind| {
        Packet::new(
            transmit.header.flow(),
            transmit.to,
            transmit.size,
            transmit.entropy,
            transmit.control,
            kind,
        )
    };
    match transmit.header {
        Header::Data(data) => {
            let mut packet = record(DATA);
            packet.words = [data.seq, data.packets, data.sent_at.as_ps() as u32];
            // A port that trims changes the size alone.
            packet.halves = [(data.sent_at.as_ps() >> 32) as u16, data.len];
            packet
        }
        Header::Ack(ack) => {
            let mut packet = record(if ack.ecn_ce { ACK_ECN } else { ACK });
            packet.words = [ack.seq, ack.cumulative, ack.sent_at.as_ps() as u32];
            packet.halves = [(ack.sent_at.as_ps() >> 32) as u16, ack.entropy];
            packet
        }
        Header::Nack(nack) => {
            let mut packet = record(NACK);
            packet.words = [nack.seq, nack.cumulative, nack.sent_at.as_ps() as u32];
            packet.halves = [(nack.sent_at.as_ps() >> 32) as u16, nack.entropy];
            packet
        }
    }
}

/// Unpacks a header at `now`.
#[inline]
pub(crate) fn unpack(packet: &Packet, now: Time) -> Header {
    let low = u64::from(packet.halves[0]) << 32 | u64::from(packet.words[2]);
    let sent_at = latest_before(now, low);
    let [seq, second, _] = packet.words;
    if packet.kind() == DATA {
        return Header::Data(Data {
            flow: packet.flow,
            seq,
            packets: second,
            len: packet.halves[1],
            sent_at,
            entropy: packet.entropy,
        });
    }
    if packet.kind() == NACK {
        let entropy = packet.halves[1];
        return Header::Nack(Nack { flow: packet.flow, seq, cumulative: second, sent_at, entropy });
    }
    Header::Ack(Ack {
        flow: packet.flow,
        seq,
        cumulative: second,
        sent_at,
        entropy: packet.halves[1],
        ecn_ce: packet.kind() == ACK_ECN,
    })
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
    use farspan_units::{Bytes, Duration, FlowId, HostId};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 47,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), kind in 0..3_u8, trimmed in any::<bool>(),
        ) {
            let (flow, sent_at, header) = (FlowId(flow), Time::from_ps(sent), Bytes::new(64));
            let now = sent_at + Duration::from_ps(age);
            let data = kind == DATA;
            let value = match kind {
                DATA => Header::Data(Data { flow, seq, packets: second, len, sent_at, entropy }),
                ACK => Header::Ack(Ack { flow, seq, cumulative: second, sent_at, entropy, ecn_ce: ce }),
                _ => Header::Nack(Nack { flow, seq, cumulative: second, sent_at, entropy }),
            };
            let size = if data { header + Bytes::new(u64::from(len)) } else { header };
            let transmit = Transmit {
                to: HostId(3), header: value, size, entropy, control: !data, payload: None, retransmission: false,
            };
            let mut packets = Packets::default();
            let id = packets.insert(pack(&transmit));
            if data && trimmed {
                packets.trim(id, header);
            }
            prop_assert_eq!(unpack(&packets.remove(id), now), value);
        }
    }
}
