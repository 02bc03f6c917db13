//! Packets that leave a host.

use super::Host;
use crate::engine::{Channel, Frame, Key, Outbox};
use crate::node::common::{Common, Packets};
use crate::node::nic::Nic;
use crate::observe::trace::Seen;
use crate::record;
use farspan_fabric::PacketId;
use farspan_transport::in_place::{DataPacket, Forward, InPlace as _, Reply, Take};
use farspan_transport::wire::Header;
use farspan_transport::{Endpoint, Trimmed};
use farspan_units::{Bytes, HostId, PortId, Time};

impl Host {
    /// No packet leaves before this time, unless something happens: [`Time::ZERO`], one may leave at once,
    /// [`Time::MAX`], none waits. `ANY`: whether the host may be more than a plain end.
    #[inline]
    pub(super) fn next_transmit<const ANY: bool>(&self) -> Time {
        if ANY && let Some(verbs) = &self.verbs {
            let takes_any = !self.nic.is_paused() || self.nic.control_goes_first;
            return if takes_any { verbs.poll_at } else { Time::MAX };
        }
        if self.nic.is_paused() {
            return self.next_transmit_paused();
        }
        if self.endpoint.has_replies() { Time::ZERO } else { self.endpoint.next_data() }
    }

    #[cold]
    fn next_transmit_paused(&self) -> Time {
        if self.nic.control_goes_first && self.endpoint.has_replies() { Time::ZERO } else { Time::MAX }
    }

    /// The NIC, which is free, takes the endpoint's next packet; returns whether there was one. `ANY`: whether the
    /// host may be more than a plain end.
    #[inline(always)]
    pub(super) fn transmit<const ANY: bool>(
        &mut self,
        now: Time,
        common: &mut Common,
        out: &mut impl Outbox<PacketId>,
    ) -> bool {
        if ANY && (self.faults.is_some() || self.instruments.is_some()) {
            return self.transmit_held(now, common, out);
        }
        self.send_next::<ANY>(now, common, out)
    }

    #[inline(always)]
    fn send_next<const ANY: bool>(
        &mut self,
        now: Time,
        common: &mut Common,
        out: &mut impl Outbox<PacketId>,
    ) -> bool {
        if ANY && self.verbs.is_some() {
            return self.send_polled(now, common, out);
        }
        if self.nic.is_paused() {
            return self.send_paused(now, common, out);
        }
        if self.send_reply(now, common, out) {
            return true;
        }
        let (endpoint, to) = self.parts(now, common, out);
        endpoint.poll_data(now, to)
    }

    /// A paused NIC takes control packets alone, if they go first.
    #[cold]
    fn send_paused(&mut self, now: Time, common: &mut Common, out: &mut impl Outbox<PacketId>) -> bool {
        self.nic.control_goes_first && self.send_reply(now, common, out)
    }

    #[inline(always)]
    fn send_reply(&mut self, now: Time, common: &mut Common, out: &mut impl Outbox<PacketId>) -> bool {
        let (endpoint, to) = self.parts(now, common, out);
        endpoint.poll_reply(to)
    }

    /// The endpoint, and the way from it to the NIC.
    #[inline(always)]
    fn parts<'a, O>(
        &'a mut self,
        now: Time,
        common: &'a mut Common,
        out: &'a mut O,
    ) -> (&'a mut Endpoint, ToNic<'a, O>) {
        let (from, header, packets) = (self.id, self.plan.header, &mut common.packets);
        let Self { endpoint, nic, .. } = self;
        (endpoint, ToNic { now, from, header, nic, packets, out })
    }

    /// As [`Self::send_next`], where the NIC's link may have faults, or the host is traced: when a packet leaves is known when
    /// the NIC takes it, and so is what faults there are then.
    #[cold]
    fn transmit_held(&mut self, now: Time, common: &mut Common, out: &mut impl Outbox<PacketId>) -> bool {
        let port = PortId(self.nic.channel.id);
        if let Some(faults) = &self.faults {
            let own = self.plan.network.links[port.index()].rate;
            self.nic.set_rate(faults.rate(port, now).unwrap_or(own));
        }
        let mut holding = Holding { held: None, out };
        self.send_next::<true>(now, common, &mut holding);
        let Some(Departure { channel, arrival, id }) = holding.held else { return false };
        let at = self.nic.free_at();
        let traces_flows = self.instruments.as_ref().is_some_and(|all| all.flows.is_some());
        let header = traces_flows.then(|| self.header_of(now, id, common));
        let packets = &mut common.packets;
        let lost = self.faults.as_mut().is_some_and(|faults| faults.loses(port, at, &packets[id]));
        if let Some(instruments) = &mut self.instruments {
            if let (Some(flows), Some(header)) = (&mut instruments.flows, header) {
                let packet = &packets[id];
                let (size, entropy, ecn_ce) = (packet.size(), packet.entropy, packet.ecn_ce());
                let seen = Seen { header, size, entropy, ecn_ce, trimmed: Trimmed::No };
                flows.sent(now, &seen, &self.endpoint);
            }
            if let Some(nic) = &mut instruments.nic {
                nic.left(at, port, &packets[id], lost);
            }
        }
        if lost {
            packets.discard(at, id);
        } else {
            out.send(&channel, arrival, id);
        }
        true
    }

    /// The header of a packet that leaves.
    fn header_of(&self, now: Time, id: PacketId, common: &Common) -> Header {
        let (packet, beside) = (&common.packets[id], common.packets.words(id));
        if self.verbs.is_some() {
            return common.datagrams.header(beside[0]);
        }
        record::unpack(packet, beside, now, || self.plan.message_facts(packet)).1
    }
}

/// A packet that the NIC has taken.
struct Departure {
    channel: Channel,
    arrival: Time,
    id: PacketId,
}

/// An outbox that holds the packet that leaves back, until it is known whether it is lost.
struct Holding<'a, O> {
    held: Option<Departure>,
    out: &'a mut O,
}

impl<O: Outbox<PacketId>> Outbox<PacketId> for Holding<'_, O> {
    fn send(&mut self, &channel: &Channel, arrival: Time, id: PacketId) {
        self.held = Some(Departure { channel, arrival, id });
    }

    fn send_frame(&mut self, channel: &Channel, at: Time, frame: Frame) {
        self.out.send_frame(channel, at, frame);
    }

    fn wake(&mut self, key: Key) {
        self.out.wake(key);
    }

    fn notify(&mut self, node: u32, key: Key) {
        self.out.notify(node, key);
    }
}

/// The outbox of a packet from the endpoint to the NIC.
struct ToNic<'a, O> {
    now: Time,
    from: HostId,
    /// Size of a header.
    header: Bytes,
    nic: &'a mut Nic,
    packets: &'a mut Packets,
    out: &'a mut O,
}

impl<O: Outbox<PacketId>> Take for ToNic<'_, O> {
    #[inline(always)]
    fn reply(self, reply: &mut Reply) {
        let Self { now, from, header, nic, packets, out } = self;
        let id = record::insert_reply(packets, reply, from, header);
        nic.send(now, id, packets[id].size(), true, out);
    }

    #[inline(always)]
    fn take(self, data: DataPacket) {
        let Self { now, from, nic, packets, out, .. } = self;
        let size = data.size;
        let id = record::insert_data(packets, &data, (from, data.to), size);
        nic.send(now, id, size, false, out);
    }

    #[cold]
    fn open(self, packet: DataPacket) {
        let Self { now, from, nic, packets, out, .. } = self;
        let DataPacket { size, header, .. } = packet;
        let id = record::insert(packets, &packet.header(), (from, packet.to), size, header.entropy);
        nic.send(now, id, size, true, out);
    }

    #[cold]
    fn forward(self, data: Forward) {
        let Self { now, from, nic, packets, out, .. } = self;
        let (entropy, size) = (data.header.entropy, data.size);
        let id = record::insert(packets, &Header::Data(data.header), (from, data.to), size, entropy);
        if data.ecn_ce {
            packets[id].mark();
        }
        if let Some(telemetry) = data.telemetry {
            packets.set_telemetry(id, telemetry);
        }
        nic.send(now, id, size, false, out);
    }
}
