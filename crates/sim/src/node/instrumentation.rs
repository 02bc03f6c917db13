//! Instrumentation of a node whose links have faults or whose ports are traced: an outbox around the engine's
//! holds the packets that leave until the order in which they left is known.

use crate::engine::{Channel, Frame, Key, Outbox};
use crate::node::common::Packets;
use crate::observe::port_tracer::PortTracer;
use crate::observe::probe::ProxySampler;
use crate::observe::trace::FlowTracer;
use farspan_fabric::{NodeFaults, PacketId};
use farspan_units::{PortId, Time};

/// Faults and traces of one node. A node with instrumentation handles its events in order of time.
#[derive(Default)]
pub(crate) struct Instrumentation {
    /// Of its links, if there are any.
    pub(crate) faults: Option<NodeFaults>,
    /// Of its ports, if any is traced.
    pub(crate) port_tracer: Option<PortTracer>,
    /// Of its flows, if any is traced.
    pub(crate) flows: Option<FlowTracer>,
    /// Of its proxy, if it is one and is sampled.
    pub(crate) proxy: ProxySampler,
    pub(crate) held: Held,
}

impl Instrumentation {
    /// `None` if there is nothing to instrument; `is_proxy`: of a host that relays flows, which goes the same way.
    pub(crate) fn new(
        faults: Option<NodeFaults>,
        port_tracer: Option<PortTracer>,
        flows: Option<FlowTracer>,
        is_proxy: bool,
    ) -> Option<Box<Self>> {
        let any = is_proxy || faults.is_some() || port_tracer.is_some() || flows.is_some();
        any.then(|| Box::new(Self { faults, port_tracer, flows, ..Self::default() }))
    }

    /// Sends on the packets that no fault takes. Faults see packets in the order in which they left, by time,
    /// then port.
    pub(crate) fn release(&mut self, packets: &mut Packets, out: &mut impl Outbox<PacketId>) {
        let Self { faults, port_tracer, held, .. } = self;
        held.0.sort_unstable_by_key(|departure| (departure.at, departure.channel.id));
        for Departure { at, channel, arrival, id } in held.0.drain(..) {
            let port = PortId(channel.id);
            let lost = faults.as_mut().is_some_and(|faults| faults.loses(port, at, &packets[id]));
            if let Some(port_tracer) = port_tracer {
                port_tracer.left(at, port, &packets[id], lost);
            }
            if lost {
                packets.remove(id);
            } else {
                out.send(&channel, arrival, id);
            }
        }
    }
}

/// A packet that has left its port.
struct Departure {
    at: Time,
    channel: Channel,
    arrival: Time,
    id: PacketId,
}

/// Packets that have left, before faults have seen them.
#[derive(Default)]
pub(crate) struct Held(Vec<Departure>);

impl Held {
    /// All that is held leaves at `now`.
    pub(crate) fn leave_at(&mut self, now: Time) {
        self.0.iter_mut().for_each(|departure| departure.at = now);
    }

    /// The packet held last.
    pub(crate) fn last(&self) -> Option<PacketId> {
        self.0.last().map(|departure| departure.id)
    }
}

/// An outbox that holds packets back; they leave at `now`.
pub(crate) struct Holding<'a, O> {
    pub(crate) now: Time,
    pub(crate) held: &'a mut Held,
    pub(crate) out: &'a mut O,
}

impl<O: Outbox<PacketId>> Outbox<PacketId> for Holding<'_, O> {
    fn send(&mut self, &channel: &Channel, arrival: Time, id: PacketId) {
        self.held.0.push(Departure { at: self.now, channel, arrival, id });
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
