//! Headers in packet records: the words that the fabric leaves to the driver.

use farspan_fabric::Packet;
use farspan_transport::{
    Transmit,
    wire::{Ack, Data, Header},
};
use farspan_units::{Bytes, Time};

const DATA: u8 = 0;
const ACK: u8 = 1;
const ACK_ECN: u8 = 2;

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
            packet.halves = [(data.sent_at.as_ps() >> 32) as u16, 0];
            packet
        }
        Header::Ack(ack) => {
            let mut packet = record(if ack.ecn_ce { ACK_ECN } else { ACK });
            packet.words = [ack.seq, ack.cumulative, ack.sent_at.as_ps() as u32];
            packet.halves = [(ack.sent_at.as_ps() >> 32) as u16, ack.entropy];
            packet
        }
    }
}

/// Unpacks a header at `now`; `header` is the size of every packet's header.
#[inline]
pub(crate) fn unpack(packet: &Packet, now: Time, header: Bytes) -> Header {
    let low = u64::from(packet.halves[0]) << 32 | u64::from(packet.words[2]);
    let sent_at = latest_before(now, low);
    let [seq, second, _] = packet.words;
    if packet.kind() == DATA {
        return Header::Data(Data {
            flow: packet.flow,
            seq,
            packets: second,
            len: (packet.size() - header).get() as u16,
            sent_at,
            entropy: packet.entropy,
        });
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
    use farspan_units::{Duration, FlowId, HostId};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(
            flow in any::<u32>(), seq in any::<u32>(), second in any::<u32>(), sent in 0_u64..1 << 55, age in 0_u64..1 << 47,
            len in 1_u16..9000, entropy in any::<u16>(), ce in any::<bool>(), data in any::<bool>(),
        ) {
            let (flow, sent_at, header) = (FlowId(flow), Time::from_ps(sent), Bytes::new(64));
            let now = sent_at + Duration::from_ps(age);
            let value = if data {
                Header::Data(Data { flow, seq, packets: second, len, sent_at, entropy })
            } else {
                Header::Ack(Ack { flow, seq, cumulative: second, sent_at, entropy, ecn_ce: ce })
            };
            let size = if data { header + Bytes::new(u64::from(len)) } else { header };
            let transmit = Transmit {
                to: HostId(3), header: value, size, entropy, control: !data, payload: None, retransmission: false,
            };
            prop_assert_eq!(unpack(&pack(&transmit), now, header), value);
        }
    }
}
