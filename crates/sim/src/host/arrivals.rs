//! Packets that arrive at a host, and its answers.

use super::Host;
use crate::drive::Common;
use crate::record::{self, CODED, DATA};
use farspan_fabric::{PacketId, Packets};
use farspan_transport::{Answer, Incoming};
use farspan_units::Time;

impl Host {
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if self.watch.is_some() {
            return self.receive_watched(now, id, common);
        }
        self.receive_one(now, id, common);
    }

    #[cold]
    #[inline(never)]
    fn receive_watched(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let packet = common.packets[id];
        self.receive_one(now, id, common);
        if let Some((flows, endpoint)) = self.tracer() {
            flows.arrived(now, &packet, endpoint);
        }
    }

    #[inline(always)]
    pub(super) fn receive_one(&mut self, now: Time, id: PacketId, common: &mut Common) {
        self.last_arrival = now;
        let packet = &common.packets[id];
        if record::is_whole(packet, DATA) {
            self.receive_data(now, id, common);
        } else if record::is_ack(packet) {
            self.receive_ack(now, id, &mut common.packets);
        } else if record::is_whole(packet, CODED) {
            self.receive_coded(now, id, common);
        } else {
            self.receive_rest(now, id, &mut common.packets);
        }
        if self.endpoint.has_events() {
            self.note_events(now);
        }
    }

    #[inline(never)]
    fn receive_data(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let packet = &common.packets[id];
        let (data, size, ecn_ce) = (record::data(packet, now), packet.size(), packet.ecn_ce());
        self.counters.count(0, size);
        self.counters.hash(now, packet, u64::from(ecn_ce));
        self.counters.marked += u64::from(ecn_ce);
        let plan = &self.plan.flows[packet.flow.index()];
        common.delays.add(record::age(packet, now).saturating_sub(plan.one_way(size)));
        let answer = self.endpoint.handle_data(now, plan.flow.src, &data, ecn_ce);
        self.answer(id, answer, &mut common.packets);
    }

    /// A data packet of a coded message.
    #[inline(never)]
    fn receive_coded(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let packet = &common.packets[id];
        let (size, ecn_ce) = (packet.size(), packet.ecn_ce());
        let coded = record::coded(packet, now, self.plan.layout(packet.flow));
        self.counters.count(0, size);
        self.counters.hash(now, packet, u64::from(packet.kind()) << 1 | u64::from(ecn_ce));
        self.counters.marked += u64::from(ecn_ce);
        let plan = &self.plan.flows[packet.flow.index()];
        common.delays.add(record::age(packet, now).saturating_sub(plan.one_way(size)));
        let answer = self.endpoint.handle_coded(now, plan.flow.src, &coded, ecn_ce);
        self.answer(id, answer, &mut common.packets);
    }

    /// The answer to data packet `id` waits for the NIC in the packet's place.
    #[inline(always)]
    fn answer(&mut self, id: PacketId, answer: Option<Answer>, packets: &mut Packets) {
        let Some(Answer { to, entropy, ack, received }) = answer else {
            packets.remove(id);
            return self.take_replies(packets);
        };
        if let Some(received) = received {
            self.counters.delivered_bytes += received.delivered;
        }
        record::acknowledge(&mut packets[id], &ack, to, self.plan.header, entropy);
        self.replies.push(id);
    }

    /// What the endpoint has to say waits for the NIC.
    #[cold]
    pub(super) fn take_replies(&mut self, packets: &mut Packets) {
        while let Some(reply) = self.endpoint.poll_reply() {
            self.replies.push(packets.insert(record::reply(&reply, self.plan.header)));
        }
    }

    #[inline(never)]
    fn receive_ack(&mut self, now: Time, id: PacketId, packets: &mut Packets) {
        let packet = packets.remove(id);
        self.counters.count(1, packet.size());
        self.counters.hash(now, &packet, u64::from(packet.kind()) << 1 | u64::from(packet.ecn_ce()));
        self.endpoint.handle_ack(now, &record::ack(&packet, now));
    }

    /// A NACK, or a data packet without its payload.
    #[cold]
    fn receive_rest(&mut self, now: Time, id: PacketId, packets: &mut Packets) {
        let packet = packets.remove(id);
        let trimmed = packet.trimmed();
        self.counters.count(1 + usize::from(trimmed), packet.size());
        let what = u64::from(packet.kind()) << 1 | u64::from(packet.ecn_ce());
        self.counters.hash(now, &packet, u64::from(trimmed) << 3 | what);
        let flow = &self.plan.flows[packet.flow.index()].flow;
        let from = if trimmed { flow.src } else { flow.dst };
        let header = record::unpack(&packet, now, self.plan.layout(packet.flow));
        let ecn_ce = packet.ecn_ce();
        self.endpoint.handle_packet(now, &Incoming { from, header, ecn_ce, trimmed });
        self.take_replies(packets);
    }
}
