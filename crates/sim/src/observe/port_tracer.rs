//! Traces of ports: every packet that left, or was lost there, and what the port did to it.

use crate::plan::Plan;
use crate::record;
use farspan_fabric::switch::PortEvent;
use farspan_fabric::{Packet, Port};
use farspan_trace::{PacketEvent, Remark};
use farspan_units::{FlowId, PortId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A transmission, whatever ports did to it.
type Identity = (FlowId, [u32; 3], [u16; 2]);

const fn identity(packet: &Packet) -> Identity {
    (packet.flow, packet.words, packet.halves)
}

/// A packet in a traced port, as it was when it arrived there, and what was done to it so far.
struct Inside {
    before: Packet,
    remarks: Vec<Remark>,
}

/// A mark by the state of the port's queues.
fn marked(now: Time, port: &Port) -> Remark {
    Remark::Marked { queue: port.queued(now), phantom: port.phantom(now) }
}

/// The order of events of one instant at a port: packets that leave, then those discarded because the link
/// stops, then arrivals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Leaves,
    Discarded,
    Arrives,
}

/// The traced ports of a node.
pub(crate) struct PortTracer {
    plan: Arc<Plan>,
    ports: BTreeSet<PortId>,
    inside: BTreeMap<(PortId, Identity), Inside>,
    events: Vec<(Rank, PacketEvent)>,
}

impl PortTracer {
    /// `None` without ports.
    pub(crate) fn new(plan: &Arc<Plan>, ports: BTreeSet<PortId>) -> Option<Self> {
        if ports.is_empty() {
            return None;
        }
        Some(Self { plan: Arc::clone(plan), ports, inside: BTreeMap::new(), events: Vec::new() })
    }

    /// Something has become of a packet at a switch's port.
    pub(crate) fn note(&mut self, now: Time, id: PortId, event: PortEvent<'_>) {
        if !self.ports.contains(&id) {
            return;
        }
        match event {
            PortEvent::Refused(packet) => self.push(Rank::Arrives, now, id, packet, vec![Remark::Lost]),
            PortEvent::Dropped(packet, port) => {
                let dropped = Remark::Dropped { queue: port.queued(now) };
                self.push(Rank::Arrives, now, id, packet, vec![dropped]);
            }
            PortEvent::Queued { before, after, port } => {
                let is_same = identity(after) == identity(before);
                let is_marked = is_same && after.ecn_ce() && !before.ecn_ce();
                let remarks = if is_marked { vec![marked(now, port)] } else { Vec::new() };
                self.inside.insert((id, identity(before)), Inside { before: *before, remarks });
            }
            PortEvent::Returned { before, after, port } => {
                if identity(after) != identity(before) {
                    // A coin has decided: the packet that came took the place of another.
                    self.note(now, id, PortEvent::Queued { before, after, port });
                }
                // What comes and goes back was never inside.
                self.inside
                    .entry((id, identity(after)))
                    .or_insert(Inside { before: *before, remarks: Vec::new() });
                let mut remarks = self.take_inside(id, after);
                remarks.push(Remark::Returned);
                self.push(Rank::Arrives, now, id, after, remarks);
            }
            PortEvent::Served(packet, port) => {
                if let Some(inside) = self.inside.get_mut(&(id, identity(packet)))
                    && packet.ecn_ce()
                    && !inside.before.ecn_ce()
                    && inside.remarks.is_empty()
                {
                    inside.remarks.push(marked(now, port));
                }
            }
            PortEvent::Left(packet, lost) => self.left(now, id, packet, lost),
            PortEvent::Flushed => self.flushed(now, id),
        }
    }

    /// A packet has left, and the link has lost it or not.
    pub(crate) fn left(&mut self, at: Time, id: PortId, packet: &Packet, lost: bool) {
        if !self.ports.contains(&id) {
            return;
        }
        let mut remarks = self.take_inside(id, packet);
        if lost {
            remarks.push(Remark::Lost);
        }
        self.push(Rank::Leaves, at, id, packet, remarks);
    }

    /// Takes a packet out of those in the port, and gives the remarks on its stay.
    fn take_inside(&mut self, id: PortId, packet: &Packet) -> Vec<Remark> {
        let Some(Inside { before, mut remarks }) = self.inside.remove(&(id, identity(packet))) else {
            return Vec::new();
        };
        if packet.trimmed() && !before.trimmed() {
            remarks.push(Remark::Trimmed);
        }
        remarks
    }

    /// The link stops: what is in the port is discarded.
    fn flushed(&mut self, now: Time, id: PortId) {
        let inside = std::mem::take(&mut self.inside);
        for ((port, identity), Inside { before, remarks }) in inside {
            if port == id {
                let remarks = remarks.into_iter().chain([Remark::Lost]).collect();
                self.push(Rank::Discarded, now, id, &before, remarks);
            } else {
                self.inside.insert((port, identity), Inside { before, remarks });
            }
        }
    }

    fn push(&mut self, rank: Rank, at: Time, port: PortId, packet: &Packet, remarks: Vec<Remark>) {
        let message = || self.plan.message_facts(packet);
        let (_, header) = record::unpack(packet, [0; 2], at, message);
        let flow = &self.plan.flows[packet.flow.index()].flow;
        let event = PacketEvent {
            at,
            port,
            header,
            size: packet.size(),
            from: if packet.to() == flow.dst { flow.src } else { flow.dst },
            to: packet.to(),
            entropy: packet.entropy,
            ecn_ce: packet.ecn_ce(),
            trimmed: packet.trimmed(),
            remarks,
        };
        self.events.push((rank, event));
    }

    /// The events, in order of time, then port.
    pub(crate) fn take(&mut self) -> Vec<PacketEvent> {
        let mut events = std::mem::take(&mut self.events);
        events.sort_by_key(|(rank, event)| (event.at, event.port, *rank));
        events.into_iter().map(|(_, event)| event).collect()
    }
}
