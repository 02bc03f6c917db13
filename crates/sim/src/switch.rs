//! A switch: routes packets to ports, and owns the ports.

use crate::engine::{Channel, EventClass, Key, Outbox, Window};
use crate::jitter::Jitter;
use crate::outcome::{ProbeKind, Sample, SampleId};
use crate::plan::Plan;
use farspan_fabric::{Admission, PacketId, Packets, Port, RouteTable, Service, Step};
use farspan_units::{Duration, NodeId, PortId, Time};
use std::sync::Arc;

/// A port of a switch and the link behind it.
pub(crate) struct Egress {
    pub(crate) port: Port,
    channel: Channel,
    jitter: Jitter,
    /// When the packet in service arrives at the far end, known when its service begins.
    arrival: Time,
}

impl Egress {
    /// A packet arrives that the port must hold; everything due has been done.
    #[inline(always)]
    fn admit(&mut self, now: Time, id: PacketId, packets: &mut Packets, jitter: Duration) -> Admission {
        let admission = self.port.enqueue(now, id, packets);
        match admission {
            Admission::Started(service) => self.begin(service, jitter),
            Admission::Dropped => drop(packets.remove(id)),
            Admission::Queued => {}
        }
        admission
    }

    /// The service of a packet has begun.
    #[inline(always)]
    fn begin(&mut self, service: Service, jitter: Duration) {
        let at = service.ends + self.port.model().delay();
        self.arrival = self.jitter.arrival(at, jitter, service.backlogged);
    }

    /// Does what is due first at the port, given that nothing arrives up to `until` any more.
    #[inline(always)]
    fn advance(
        &mut self,
        until: Time,
        packets: &mut Packets,
        jitter: Duration,
        out: &mut impl Outbox<PacketId>,
    ) {
        let Step { left, began } = self.port.advance(until, packets);
        if let Some(id) = left {
            out.send(self.channel, self.arrival, id);
        }
        if let Some(service) = began {
            self.begin(service, jitter);
        }
    }

    /// Does all that is due up to `until`.
    #[inline(always)]
    fn settle(
        &mut self,
        until: Time,
        packets: &mut Packets,
        jitter: Duration,
        out: &mut impl Outbox<PacketId>,
    ) {
        while self.port.next_at() <= until {
            self.advance(until, packets, jitter, out);
        }
    }
}

/// A switch.
pub(crate) struct Switch {
    routes: RouteTable,
    /// Of each host.
    leaf_of: Arc<[u32]>,
    jitter: Duration,
    queue_interval: Option<Duration>,
    first_port: u32,
    pub(crate) ports: Vec<Egress>,
    /// One bit a port that is sending; kept only where completions are settled lazily.
    busy: Vec<u64>,
    sampler: PortSampler,
    /// The ports of a window's packets.
    ways: Vec<u32>,
}

impl Switch {
    pub(crate) fn new(
        plan: &Arc<Plan>,
        node: NodeId,
        ports: Vec<(Port, Channel)>,
        sampled: Vec<PortId>,
    ) -> Self {
        let range = plan.network.ports_of(node);
        let egress = |((port, channel), id): ((Port, Channel), u32)| Egress {
            port,
            channel,
            jitter: Jitter::new(plan.seed, 1 << 32 | u64::from(id)),
            arrival: Time::MAX,
        };
        Self {
            routes: plan.routes().tables[node.index()].clone(),
            first_port: range.start,
            busy: vec![0; range.len().div_ceil(64)],
            ports: ports.into_iter().zip(range).map(egress).collect(),
            sampler: PortSampler::new(sampled),
            leaf_of: Arc::clone(&plan.leaf_of),
            jitter: plan.port_jitter,
            queue_interval: plan.queue_interval,
            ways: Vec::new(),
        }
    }

    pub(crate) fn handle(
        &mut self,
        key: Key,
        arrived: Option<PacketId>,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        let port = match (key.class(), arrived) {
            (EventClass::Arrival, Some(id)) => {
                let port = self.route(id, packets);
                let admission = self.ports[port].admit(key.at(), id, packets, self.jitter);
                if !matches!(admission, Admission::Started(_)) {
                    return;
                }
                port
            }
            (EventClass::Completion, _) => {
                let port = (key.id() - self.first_port) as usize;
                self.ports[port].advance(key.at(), packets, self.jitter, out);
                port
            }
            _ => return self.sample(key, out),
        };
        let egress = &self.ports[port];
        wake_at_completion(egress.channel, &egress.port, out);
    }

    /// The same without completion events: a port is settled before each of its arrivals and before each look at it, and
    /// the busy ports once more at the window's end. A completion in the window delivers after it, so none is late.
    pub(crate) fn run(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        if window.has_wakes() {
            while let Some((key, arrived)) = window.next() {
                match arrived {
                    Some(id) => self.admit_one(key.at(), id, packets, window),
                    None => {
                        self.settle(key.at(), packets, window);
                        self.sample(key, window);
                    }
                }
            }
        } else {
            // Ways first: lookups that do not wait for each other hide how far away the records are.
            let messages = window.messages();
            let mut ways = std::mem::take(&mut self.ways);
            ways.clear();
            ways.extend(messages.clone().map(|(_, id)| self.route(id, packets) as u32));
            for ((at, id), &port) in messages.zip(&ways) {
                self.admit(at, id, port as usize, packets, window);
            }
            self.ways = ways;
        }
        self.settle(window.end() - Duration::from_ps(1), packets, window)
    }

    /// Takes a packet in whose port may have something due.
    #[inline(always)]
    fn admit(
        &mut self,
        now: Time,
        id: PacketId,
        port: usize,
        packets: &mut Packets,
        window: &mut Window<'_, PacketId>,
    ) {
        let (egress, jitter) = (&mut self.ports[port], self.jitter);
        egress.settle(now, packets, jitter, window);
        if let Some(done) = egress.port.pass(now, &packets[id], window.until()) {
            let arrival = egress.jitter.arrival(done + egress.port.model().delay(), jitter, false);
            return window.send(egress.channel, arrival, id);
        }
        let was_idle = egress.port.next_at() == Time::MAX;
        egress.admit(now, id, packets, jitter);
        if was_idle {
            self.busy[port / 64] |= 1 << (port % 64);
        }
    }

    /// The same, out of the way of the usual loop.
    #[cold]
    fn admit_one(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
        window: &mut Window<'_, PacketId>,
    ) {
        self.admit(now, id, self.route(id, packets), packets, window);
    }

    /// Does all that is due up to `until` on busy ports; gives when the next is due, or [`Time::MAX`].
    fn settle(&mut self, until: Time, packets: &mut Packets, out: &mut impl Outbox<PacketId>) -> Time {
        let (mut earliest, jitter) = (Time::MAX, self.jitter);
        for (word, busy) in self.busy.iter_mut().enumerate() {
            let mut bits = *busy;
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let egress = &mut self.ports[word * 64 + bit as usize];
                egress.settle(until, packets, jitter, out);
                earliest = earliest.min(egress.port.next_at());
                if egress.port.next_at() == Time::MAX {
                    *busy &= !(1 << bit);
                }
            }
        }
        earliest
    }

    #[inline(always)]
    fn route(&self, id: PacketId, packets: &Packets) -> usize {
        let packet = &packets[id];
        let leaf = self.leaf_of[packet.to().index()];
        let port = self.routes.port(packet.to(), leaf, packet.flow, packet.entropy);
        (port.expect("the generated topologies are connected").0 - self.first_port) as usize
    }

    fn sample(&mut self, key: Key, out: &mut impl Outbox<PacketId>) {
        let ports = &self.ports;
        let first = self.first_port;
        self.sampler.sample(key, |port| &ports[(port.0 - first) as usize].port);
        if let Some(interval) = self.queue_interval {
            out.wake(Key::new(key.at() + interval, EventClass::Probe, 0, 0));
        }
    }

    /// Samples taken, in order of time.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.sampler.samples)
    }
}

/// Asks for the completion of the packet in service, if there is one.
pub(crate) fn wake_at_completion(channel: Channel, port: &Port, out: &mut impl Outbox<PacketId>) {
    if port.next_at() != Time::MAX {
        out.wake(Key::new(port.next_at(), EventClass::Completion, channel.id, 0));
    }
}

/// Looks at some ports of a node.
struct PortSampler {
    /// With the busy time at the last look.
    ports: Vec<(PortId, Duration)>,
    last: Time,
    samples: Vec<Sample>,
}

impl PortSampler {
    fn new(ports: Vec<PortId>) -> Self {
        let ports = ports.into_iter().map(|port| (port, Duration::ZERO)).collect();
        Self { ports, last: Time::ZERO, samples: Vec::new() }
    }

    fn sample<'a>(&mut self, key: Key, port: impl Fn(PortId) -> &'a Port) {
        let span = key.at().since(self.last);
        self.last = key.at();
        for (id, busy_before) in &mut self.ports {
            let port = port(*id);
            let busy = port.busy_until(key.at());
            let mut push = |probe, value| {
                self.samples.push(Sample { at: key.at(), probe, id: SampleId::Port(*id), value });
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
