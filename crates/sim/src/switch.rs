//! A switch: routes packets to ports, and owns the ports.

use crate::engine::{EventClass, Key, Outbox};
use crate::outcome::{ProbeKind, Sample, SampleId};
use crate::plan::Plan;
use farspan_fabric::{Admission, PacketId, Packets, Port, RouteTable};
use farspan_units::{Duration, NodeId, PortId};
use std::sync::Arc;

/// A port of a switch and the link behind it.
pub(crate) struct Egress {
    pub(crate) port: Port,
    delay: Duration,
}

/// A switch.
pub(crate) struct Switch {
    plan: Arc<Plan>,
    routes: RouteTable,
    first_port: u32,
    pub(crate) ports: Vec<Egress>,
    sampler: PortSampler,
}

impl Switch {
    pub(crate) fn new(plan: &Arc<Plan>, node: NodeId, ports: Vec<Port>, sampled: Vec<PortId>) -> Self {
        let range = plan.network.ports_of(node);
        let egress = |(port, id): (Port, u32)| Egress { port, delay: plan.network.links[id as usize].delay };
        Self {
            routes: plan.routes().tables[node.index()].clone(),
            first_port: range.start,
            ports: ports.into_iter().zip(range).map(egress).collect(),
            sampler: PortSampler::new(sampled),
            plan: Arc::clone(plan),
        }
    }

    /// Handles one event; `true` if the packet that came with it is gone.
    pub(crate) fn handle(
        &mut self,
        key: Key,
        arrived: Option<PacketId>,
        packets: &mut Packets,
        out: &mut Outbox<PacketId>,
    ) {
        match (key.class(), arrived) {
            (EventClass::Arrival, Some(id)) => self.forward(key, id, packets, out),
            (EventClass::Completion, _) => self.complete(PortId(key.id()), packets, out),
            _ => self.sample(key, out),
        }
    }

    fn forward(&mut self, key: Key, id: PacketId, packets: &mut Packets, out: &mut Outbox<PacketId>) {
        let packet = &packets[id];
        let leaf = self.plan.leaf_of[packet.to().index()];
        let port = self
            .routes
            .port(packet.to(), leaf, packet.flow, packet.entropy)
            .expect("the generated topologies are connected");
        let egress = &mut self.ports[(port.0 - self.first_port) as usize];
        match egress.port.enqueue(key.at(), id, packets) {
            Admission::Queued => {}
            Admission::Started => wake_at_completion(port, &egress.port, out),
            Admission::Dropped => {
                packets.remove(id);
            }
        }
    }

    fn complete(&mut self, port: PortId, packets: &mut Packets, out: &mut Outbox<PacketId>) {
        let egress = &mut self.ports[(port.0 - self.first_port) as usize];
        let now = egress.port.next_completion().expect("a completion follows a start");
        let id = egress.port.complete(packets);
        out.send(port.0, now + egress.delay, id);
        wake_at_completion(port, &egress.port, out);
    }

    fn sample(&mut self, key: Key, out: &mut Outbox<PacketId>) {
        let ports = &self.ports;
        let first = self.first_port;
        self.sampler.sample(key, |port| &ports[(port.0 - first) as usize].port);
        if let Some(interval) = self.plan.queue_interval {
            out.wake(Key::new(key.at() + interval, EventClass::Probe, 0, 0));
        }
    }

    /// Samples taken, in order of time.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.sampler.samples)
    }
}

/// Asks for the completion of the packet in service, if there is one.
pub(crate) fn wake_at_completion(id: PortId, port: &Port, out: &mut Outbox<PacketId>) {
    if let Some(at) = port.next_completion() {
        out.wake(Key::new(at, EventClass::Completion, id.0, 0));
    }
}

/// Looks at some ports of a node.
struct PortSampler {
    /// With the busy time at the last look.
    ports: Vec<(PortId, Duration)>,
    last: farspan_units::Time,
    samples: Vec<Sample>,
}

impl PortSampler {
    fn new(ports: Vec<PortId>) -> Self {
        let ports = ports.into_iter().map(|port| (port, Duration::ZERO)).collect();
        Self { ports, last: farspan_units::Time::ZERO, samples: Vec::new() }
    }

    fn sample<'a>(&mut self, key: Key, port: impl Fn(PortId) -> &'a Port) {
        let span = key.at().since(self.last);
        self.last = key.at();
        for (id, busy_before) in &mut self.ports {
            let port = port(*id);
            let busy = port.busy_until(key.at());
            let mut push = |probe, value| {
                self.samples.push(Sample { at: key.at(), probe, id: SampleId::Port(*id), value })
            };
            push(ProbeKind::Queue, port.queued().as_f64());
            if let Some(level) = port.phantom(key.at()) {
                push(ProbeKind::PhantomQueue, level.as_f64());
            }
            if !span.is_zero() {
                push(ProbeKind::Utilization, busy.saturating_sub(*busy_before) / span);
            }
            *busy_before = busy;
        }
    }
}
