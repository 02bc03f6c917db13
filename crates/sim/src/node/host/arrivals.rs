//! Packets that arrive at a host.

use super::{Host, verbs};
use crate::node::common::Common;
use crate::observe::trace::Seen;
use crate::record;
use farspan_fabric::PacketId;
use farspan_transport::in_place::InPlace as _;
use farspan_transport::wire::Header;
use farspan_transport::{Class, Incoming, Received, Trimmed};
use farspan_units::{Bytes, Duration, Time};

impl Host {
    /// A packet has arrived.
    #[inline(always)]
    pub(super) fn receive(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if self.is_plain {
            self.receive_plain(now, id, common);
        } else {
            self.receive_any(now, id, common);
        }
    }

    /// A packet has arrived at a plain end. Data packets and ACKs, which most are, are unpacked where it is known what they are.
    #[inline(always)]
    pub(super) fn receive_plain(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let packet = &common.packets[id];
        if record::is_whole_data(packet) {
            self.receive_data::<false>(now, id, common);
        } else if record::is_ack(packet) {
            self.receive_ack::<false>(now, id, common);
        } else {
            return self.receive_any(now, id, common);
        }
        if self.endpoint.has_events() {
            self.note_events(now);
        }
    }

    /// A data packet. `LADEN`: whether any packet may carry telemetry; one that carries nothing beside its record costs nothing
    /// for what others carry.
    #[inline(never)]
    fn receive_data<const LADEN: bool>(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if !LADEN && common.packets.are_laden() {
            return self.receive_data::<true>(now, id, common);
        }
        let telemetry = if LADEN { common.packets.take_telemetry(id) } else { None };
        let packet = &common.packets[id];
        let (from, data) = record::data(packet, now, self.plan.flows[packet.flow.index()].packets());
        let (size, ecn_ce, age) = (packet.size(), packet.ecn_ce(), record::age(packet, now));
        let packet = Incoming { ecn_ce, telemetry, ..Incoming::new(from, Header::Data(data)) };
        self.count(now, &packet, size, false, Some(age), common);
        let received = self.endpoint.handle(now, packet);
        common.packets.remove(id);
        self.count_delivered(received);
    }

    /// An ACK, as [`Self::receive_data`].
    #[inline(never)]
    fn receive_ack<const LADEN: bool>(&mut self, now: Time, id: PacketId, common: &mut Common) {
        if !LADEN && common.packets.are_laden() {
            return self.receive_ack::<true>(now, id, common);
        }
        let telemetry = if LADEN { common.packets.take_telemetry(id) } else { None };
        let packet = common.packets.remove(id);
        let (size, ecn_ce, age) = (packet.size(), packet.ecn_ce(), record::age(&packet, now));
        // Words stay when their packet goes.
        let header = Header::Feedback(record::ack(&packet, || common.packets.words(id), now));
        let packet = Incoming { ecn_ce, telemetry, ..Incoming::new(self.id, header) };
        self.count(now, &packet, size, false, Some(age), common);
        self.endpoint.handle(now, packet);
    }

    /// Any packet has arrived at any host.
    #[inline(never)]
    fn receive_any(&mut self, now: Time, id: PacketId, common: &mut Common) {
        let (packet, size, entropy) = self.unpack(now, id, common);
        let Incoming { header, ecn_ce, trimmed, .. } = packet;
        let passes = self.passes(header.flow());
        let age = header.sent_at().filter(|_| !passes).map(|at| now.since(at));
        self.count(now, &packet, size, passes, age, common);
        let received = if self.verbs.is_some() {
            self.endpoint.handle_packet(now, packet)
        } else {
            self.endpoint.handle_any(now, packet)
        };
        if trimmed == Trimmed::Returned {
            self.note_returned(&header);
        } else if !self.plan.connections.is_empty() {
            self.note_message(&header, (ecn_ce, trimmed), received.as_ref());
        }
        self.count_delivered(received);
        self.note_events(now);
        if let Some((flows, endpoint)) = self.tracer() {
            flows.arrived(now, &Seen { header, size, entropy, ecn_ce, trimmed }, endpoint);
        }
    }

    /// Takes a packet out of the network: what the endpoint gets, its size and its entropy.
    fn unpack(&self, now: Time, id: PacketId, common: &mut Common) -> (Incoming, Bytes, u16) {
        let (beside, telemetry) = (common.packets.words(id), common.packets.take_telemetry(id));
        let packet = common.packets.remove(id);
        let (from, header, telemetry) = if self.verbs.is_some() {
            let (from, header) = common.datagrams.take(beside[0]);
            (from, header, telemetry.map(|telemetry| Box::new(verbs::through_bytes(&telemetry))))
        } else {
            let message = || self.plan.message_facts(&packet);
            let (from, header) = record::unpack(&packet, beside, now, message);
            // Nothing in a simulated network forges feedback: it need not name its sender.
            (from.unwrap_or(self.id), header, telemetry)
        };
        let ecn_ce = packet.ecn_ce();
        let trimmed = match (packet.trimmed(), packet.trimmed_at_last_hop()) {
            (false, _) => Trimmed::No,
            _ if packet.returned() => Trimmed::Returned,
            (true, false) => Trimmed::OnItsWay,
            (true, true) => Trimmed::AtLastHop,
        };
        (Incoming { from, header, ecn_ce, trimmed, telemetry }, packet.size(), packet.entropy)
    }

    /// Counts an arrival. `passes`: whether its flow goes through here and on. `age`: how long ago the transmission left, or that which
    /// an ACK echoes; `None`: no delay or round trip ends here.
    #[inline(always)]
    fn count(
        &mut self,
        now: Time,
        packet: &Incoming,
        size: Bytes,
        passes: bool,
        age: Option<Duration>,
        common: &mut Common,
    ) {
        self.last_arrival = now;
        let Incoming { header, ecn_ce, trimmed, .. } = packet;
        let flow = header.flow();
        let (kind, number) = record::digest(header, passes);
        let what = kind << 1 | u64::from(*ecn_ce);
        if header.data().is_none() {
            self.counters.count(1, size);
            self.counters.hash(now, flow, number, what);
            self.counters.cnps += u64::from(kind == u64::from(record::CNP) && !passes);
            self.counters.telemetry += u64::from(packet.telemetry.is_some() && !passes);
            if let Some(age) = age {
                // All flows of one site have one class: it need not be looked up.
                let between = self.plan.has_sites && self.plan.class_of(flow) == Class::Inter;
                common.rtts[usize::from(between)].add(age);
            }
            return;
        }
        if *trimmed != Trimmed::No {
            self.counters.count(2, size);
            return self.counters.hash(now, flow, number, 1 << 3 | what);
        }
        self.counters.count(0, size);
        self.counters.hash(now, flow, number, what);
        self.counters.marked += u64::from(*ecn_ce);
        if let Some(age) = age {
            let empty = self.plan.flows[flow.index()].one_way(size);
            common.delays.add(age.saturating_sub(empty));
        }
    }

    #[inline(always)]
    fn count_delivered(&mut self, received: Option<Received>) {
        if let Some(received) = received {
            self.counters.delivered_bytes += received.delivered;
        }
    }
}
