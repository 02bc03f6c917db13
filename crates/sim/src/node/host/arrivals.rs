//! Packets that arrive at a host, and the ACKs to send.

use super::Host;
use crate::node::common::Common;
use crate::record::{self, ACK, CODED, DATA, MAP_ACK, NUMBERED, TAKEN};
use farspan_fabric::{Packet, PacketId, Side};
use farspan_transport::in_place::InPlace as _;
use farspan_transport::wire::Header;
use farspan_transport::{Class, Incoming, Received, Trimmed};
use farspan_units::{Telemetry, Time};

impl Host {
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if self.instruments.is_some() {
            return self.receive_instrumented(now, id, common);
        }
        self.receive_one(now, id, common);
    }

    #[cold]
    #[inline(never)]
    fn receive_instrumented(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let (packet, side) = (common.packets[id], common.packets.side(id));
        let flow = &self.plan.flows[packet.flow.index()].flow;
        if flow.src != self.id && flow.dst != self.id {
            return self.receive_relayed(now, id, common);
        }
        self.receive_one(now, id, common);
        if let Some((flows, endpoint)) = self.tracer() {
            flows.arrived(now, &packet, &side, endpoint);
        }
    }

    /// A packet of a flow that goes through this host: the delays and round trips of others do not end here.
    #[cold]
    fn receive_relayed(&mut self, now: Time, id: PacketId, common: &mut Common) {
        self.last_arrival = now;
        let (side, telemetry) = (common.packets.side(id), common.packets.take_telemetry(id));
        let packet = common.packets.remove(id);
        let (kind, size, ecn_ce) = (packet.kind(), packet.size(), packet.ecn_ce());
        let is_data = matches!(kind, DATA | CODED | NUMBERED);
        if is_data && !packet.trimmed() {
            self.counters.count(0, size);
            self.counters.hash(now, &packet, u64::from(kind) << 1 | u64::from(ecn_ce));
            self.counters.marked += u64::from(ecn_ce);
            let packets = self.plan.flows[packet.flow.index()].packets();
            if kind == NUMBERED {
                let (from, numbered) = record::numbered(&packet, &side, now, packets);
                self.endpoint.handle_numbered(now, from, &numbered, ecn_ce, telemetry);
            } else {
                let (from, data) = record::data(&packet, now, packets);
                self.endpoint.handle_data(now, from, &data, ecn_ce, telemetry);
            }
        } else if is_data {
            self.receive_trimmed(now, &packet, &side);
        } else {
            self.counters.count(1, size);
            let what = record::digest_kind_of_ack(&packet, kind) << 1 | u64::from(ecn_ce);
            self.counters.hash(now, &packet, what);
            let feedback = record::feedback(&packet, &side, now);
            self.endpoint.handle_relay_feedback(now, &feedback, telemetry.as_deref());
        }
        if self.endpoint.has_events() {
            self.note_events(now);
        }
    }

    #[inline(always)]
    pub(super) fn receive_one(&mut self, now: Time, id: PacketId, common: &mut Common) {
        self.last_arrival = now;
        let packet = &common.packets[id];
        if record::is_whole(packet, DATA) {
            self.receive_data(now, id, common);
        } else if packet.kind() == ACK {
            self.receive_ack(now, id, common);
        } else if record::is_whole(packet, CODED) {
            self.receive_coded(now, id, common);
        } else {
            self.receive_rest(now, id, common);
        }
        if self.endpoint.has_events() {
            self.note_events(now);
        }
    }

    /// A data packet. One that carries nothing beside its record costs nothing for what others carry.
    #[inline(never)]
    fn receive_data(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if common.packets.are_laden() {
            return self.receive_laden_data(now, id, common);
        }
        self.receive_data_with(now, id, None, common);
    }

    #[cold]
    #[inline(never)]
    fn receive_laden_data(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let telemetry = common.packets.take_telemetry(id);
        self.receive_data_with(now, id, telemetry, common);
    }

    #[inline(always)]
    fn receive_data_with(
        &mut self,
        now: Time,
        id: PacketId,
        telemetry: Option<Box<Telemetry>>,
        common: &mut Common,
    ) {
        let packet = &common.packets[id];
        let plan = &self.plan.flows[packet.flow.index()];
        let (from, data) = record::data(packet, now, plan.packets());
        let (size, ecn_ce) = (packet.size(), packet.ecn_ce());
        self.counters.count(0, size);
        self.counters.hash(now, packet, u64::from(ecn_ce));
        self.counters.marked += u64::from(ecn_ce);
        common.delays.add(record::age(packet, now).saturating_sub(plan.one_way(size)));
        let received = self.endpoint.handle_data(now, from, &data, ecn_ce, telemetry);
        common.packets.remove(id);
        self.count_delivered(received);
    }

    /// A data packet of a coded message.
    #[inline(never)]
    fn receive_coded(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let packet = &common.packets[id];
        let (size, ecn_ce) = (packet.size(), packet.ecn_ce());
        let message = self.plan.message_facts(packet.flow);
        let (from, coded) = record::coded(packet, &common.packets.side(id), now, message);
        self.counters.count(0, size);
        self.counters.hash(now, packet, u64::from(packet.kind()) << 1 | u64::from(ecn_ce));
        self.counters.marked += u64::from(ecn_ce);
        let plan = &self.plan.flows[packet.flow.index()];
        common.delays.add(record::age(packet, now).saturating_sub(plan.one_way(size)));
        let telemetry = common.packets.take_telemetry(id);
        let received = self.endpoint.handle_coded(now, from, &coded, ecn_ce, telemetry);
        common.packets.remove(id);
        self.count_delivered(received);
    }

    /// A data packet with a number.
    fn receive_numbered(
        &mut self,
        now: Time,
        packet: &Packet,
        side: &Side,
        telemetry: Option<Box<Telemetry>>,
        common: &mut Common,
    ) {
        let plan = &self.plan.flows[packet.flow.index()];
        let (from, numbered) = record::numbered(packet, side, now, plan.packets());
        let (size, ecn_ce) = (packet.size(), packet.ecn_ce());
        self.counters.count(0, size);
        self.counters.hash(now, packet, u64::from(packet.kind()) << 1 | u64::from(ecn_ce));
        self.counters.marked += u64::from(ecn_ce);
        common.delays.add(record::age(packet, now).saturating_sub(plan.one_way(size)));
        let received = self.endpoint.handle_numbered(now, from, &numbered, ecn_ce, telemetry);
        self.count_delivered(received);
    }

    #[inline(always)]
    fn count_delivered(&mut self, received: Option<Received>) {
        if let Some(received) = received {
            self.counters.delivered_bytes += received.delivered;
        }
    }

    #[inline(never)]
    fn receive_ack(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if common.packets.are_laden() {
            return self.receive_laden_ack(now, id, common);
        }
        self.receive_ack_with(now, id, None, common);
    }

    #[cold]
    #[inline(never)]
    fn receive_laden_ack(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let telemetry = common.packets.take_telemetry(id);
        self.receive_ack_with(now, id, telemetry.as_deref(), common);
    }

    #[inline(always)]
    fn receive_ack_with(
        &mut self,
        now: Time,
        id: PacketId,
        telemetry: Option<&Telemetry>,
        common: &mut Common,
    ) {
        let packet = common.packets.remove(id);
        self.count_ack(now, &packet, ACK, common);
        self.endpoint.handle_feedback(now, &record::ack(&packet, 0, now), telemetry);
    }

    #[cold]
    fn take_feedback(&mut self, now: Time, packet: &Packet, side: &Side, telemetry: Option<&Telemetry>) {
        self.endpoint.handle_feedback(now, &record::feedback(packet, side, now), telemetry);
    }

    #[inline(always)]
    fn count_ack(&mut self, now: Time, packet: &Packet, kind: u8, common: &mut Common) {
        // Of one site all are alike: the flow's class need not be looked up.
        let between = self.plan.has_sites && self.plan.class_of(packet.flow) == Class::Inter;
        common.rtts[usize::from(between)].add(record::age(packet, now));
        self.counters.count(1, packet.size());
        let what = record::digest_kind_of_ack(packet, kind) << 1 | u64::from(packet.ecn_ce());
        self.counters.hash(now, packet, what);
    }

    /// An ACK with a map, a NACK, or a data packet without its payload.
    #[cold]
    fn receive_rest(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let (side, telemetry) = (common.packets.side(id), common.packets.take_telemetry(id));
        let packet = common.packets.remove(id);
        if record::is_whole(&packet, NUMBERED) {
            return self.receive_numbered(now, &packet, &side, telemetry, common);
        }
        if matches!(packet.kind(), MAP_ACK | TAKEN) {
            self.count_ack(now, &packet, packet.kind(), common);
            return self.take_feedback(now, &packet, &side, telemetry.as_deref());
        }
        if packet.trimmed() {
            return self.receive_trimmed(now, &packet, &side);
        }
        self.counters.count(1, packet.size());
        self.counters.hash(now, &packet, u64::from(packet.kind()) << 1 | u64::from(packet.ecn_ce()));
        self.take_feedback(now, &packet, &side, None);
    }

    /// A data packet without its payload.
    fn receive_trimmed(&mut self, now: Time, packet: &Packet, side: &Side) {
        let ecn_ce = packet.ecn_ce();
        self.counters.count(2, packet.size());
        let what = u64::from(packet.kind()) << 1 | u64::from(ecn_ce);
        self.counters.hash(now, packet, 1 << 3 | what);
        let message = self.plan.message_facts(packet.flow);
        let (from, header) = match packet.kind() {
            NUMBERED => {
                let (from, numbered) = record::numbered(packet, side, now, message.packets);
                (from, Header::Numbered(numbered))
            }
            CODED => {
                let (from, coded) = record::coded(packet, side, now, message);
                (from, Header::Coded(coded))
            }
            _ => {
                let (from, data) = record::data(packet, now, message.packets);
                (from, Header::Data(data))
            }
        };
        let trimmed = if packet.trimmed_at_last_hop() { Trimmed::AtLastHop } else { Trimmed::OnItsWay };
        self.endpoint.handle_packet(now, &Incoming { from, header, ecn_ce, trimmed });
    }
}
