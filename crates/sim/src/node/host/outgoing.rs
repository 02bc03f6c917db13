//! Data packets that leave a host's endpoint.

use crate::engine::Outbox;
use crate::node::common::Packets;
use crate::node::nic::Nic;
use crate::record;
use farspan_fabric::PacketId;
use farspan_transport::in_place::{DataPacket, Forward, Take};
use farspan_transport::wire::{self, Header};
use farspan_units::{HostId, Time};

/// The outbox of a data packet from the endpoint to the NIC.
pub(super) struct ToNic<'a, O> {
    pub now: Time,
    pub from: HostId,
    pub nic: &'a mut Nic,
    pub packets: &'a mut Packets,
    pub out: &'a mut O,
}

impl<O: Outbox<PacketId>> Take for ToNic<'_, O> {
    #[inline(always)]
    fn take(self, data: DataPacket) {
        let Self { now, from, nic, packets, out } = self;
        let (wire::Data { entropy, .. }, size) = (data.header, data.size);
        let id = packets.insert(record::pack(&data.header(), from, data.to, size, entropy));
        if data.has_more() {
            packets.side_mut(id).words[0] = record::beside(&data.header(), from);
        }
        nic.send(now, id, size, false, out);
    }

    #[cold]
    fn forward(self, data: Forward) {
        let Self { now, from, nic, packets, out } = self;
        let (entropy, size) = (data.header.entropy, data.size);
        let id = packets.insert(record::pack(&Header::Data(data.header), from, data.to, size, entropy));
        if data.ecn_ce {
            packets[id].mark();
        }
        if let Some(telemetry) = data.telemetry {
            packets.set_telemetry(id, telemetry);
        }
        nic.send(now, id, size, false, out);
    }
}
