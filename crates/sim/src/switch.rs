//! A switch: routes packets to ports, and owns the ports.
//!
//! Ports share nothing here, so that each may be settled by itself; ports that shared a buffer would have to be settled
//! together, in order of (time, port).

mod fault;

pub(crate) use fault::{port_changes, routes_change};

use crate::engine::{Channel, EventClass, Key, Lanes, Outbox, Way, Window, at};
use crate::jitter::Jitter;
use crate::outcome::Sample;
use crate::plan::Plan;
use crate::probe::{Look, PORTS, PortSampler};
use crate::tap::PortTap;
use crate::watch::Watch;
use farspan_fabric::{Admission, Packet, PacketId, Packets, Port, RouteTable, Service, Step};
use farspan_trace::PacketEvent;
use farspan_units::{Duration, NodeId, Time};
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
    fn admit(&mut self, now: Time, id: PacketId, packets: &mut Packets, jitter: Duration) -> Admission {
        let admission = self.port.enqueue(now, id, packets);
        self.admitted(admission, id, packets, jitter);
        admission
    }

    /// A packet has been queued or not.
    #[inline(always)]
    fn admitted(&mut self, admission: Admission, id: PacketId, packets: &mut Packets, jitter: Duration) {
        match admission {
            Admission::Started(service) => self.begin(service, jitter),
            Admission::Dropped => drop(packets.remove(id)),
            Admission::Queued => {}
        }
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
            out.send(&self.channel, self.arrival, id);
        }
        if let Some(service) = began {
            self.begin(service, jitter);
        }
    }

    /// A packet arrives at a [fluid](PortModel::is_fluid) port without jitter, which may be done with it at once. Nothing
    /// that arrives later matters to what it holds.
    fn flow(&mut self, now: Time, id: PacketId, packets: &mut Packets, window: &mut Window<'_, PacketId>) {
        match self.port.flow(now, &mut packets[id], window.until()) {
            Some(done) => window.send(&self.channel, done + self.port.model().delay(), id),
            None => self.keep(now, id, packets, window),
        }
    }

    /// A packet arrives that a fluid port keeps or refuses, unless it waits only for others that can leave.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, now: Time, id: PacketId, packets: &mut Packets, window: &mut Window<'_, PacketId>) {
        let horizon = window.until();
        if self.port.next_at() < horizon {
            self.settle(horizon - Duration::from_ps(1), packets, Duration::ZERO, window);
            return self.flow(now, id, packets, window);
        }
        self.admit(now, id, packets, Duration::ZERO);
    }

    /// Whether [`Self::flow`] applies.
    #[inline]
    fn flows(&self, jitter: Duration) -> bool {
        self.port.model().is_fluid() && jitter.is_zero()
    }

    /// A packet arrives at a fluid port that may have something due.
    #[inline(never)]
    fn arrive_fluid(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
        jitter: Duration,
        window: &mut Window<'_, PacketId>,
    ) {
        if self.flows(jitter) {
            return self.flow(now, id, packets, window);
        }
        self.settle(now, packets, jitter, window);
        self.admit(now, id, packets, jitter);
    }

    /// A packet arrives at a port that is not fluid, and that may have something due.
    #[inline(always)]
    fn arrive(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
        jitter: Duration,
        window: &mut Window<'_, PacketId>,
    ) {
        self.settle(now, packets, jitter, window);
        if !packets[id].control() {
            let admission = self.port.enqueue_data(now, id, packets);
            self.admitted(admission, id, packets, jitter);
        } else if let Some(done) = self.port.pass(now, &packets[id], window.until()) {
            let arrival = self.jitter.arrival(done + self.port.model().delay(), jitter, false);
            window.send(&self.channel, arrival, id);
        } else {
            self.admit(now, id, packets, jitter);
        }
    }

    /// All packets of a window arrive, in order of time; does what else is due in it.
    #[inline(always)]
    fn arrive_all(
        &mut self,
        keys: &[u64],
        packets: &mut Packets,
        jitter: Duration,
        window: &mut Window<'_, PacketId>,
    ) {
        if self.port.model().is_fluid() {
            for &key in keys {
                self.arrive_fluid(window.at(key), PacketId::from(key as u32), packets, jitter, window);
            }
            return self.settle_later(window.end() - Duration::from_ps(1), packets, jitter, window);
        }
        for &key in keys {
            self.arrive(window.at(key), PacketId::from(key as u32), packets, jitter, window);
        }
        self.settle(window.end() - Duration::from_ps(1), packets, jitter, window);
    }

    /// The same as [`Self::settle`], in one place for those who do it seldom.
    #[inline(never)]
    fn settle_later(
        &mut self,
        until: Time,
        packets: &mut Packets,
        jitter: Duration,
        out: &mut impl Outbox<PacketId>,
    ) {
        self.settle(until, packets, jitter, out);
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
    /// One bit a port that is sending, or that gets packets in this window; kept only where completions are settled
    /// lazily.
    touched: Vec<u64>,
    /// Whether [`Egress::flows`] says so of all ports.
    is_fluid: bool,
    sampler: PortSampler,
    /// With faults of links or traces of ports it goes a way of its own.
    pub(crate) watch: Option<Box<Watch>>,
    plan: Arc<Plan>,
    node: NodeId,
}

/// What decides which port a packet leaves from.
struct Ways<'a> {
    routes: &'a RouteTable,
    leaf_of: &'a [u32],
    first_port: u32,
    packets: &'a Packets,
}

impl Way for Ways<'_> {
    #[inline(always)]
    fn lane(&self, key: u64) -> usize {
        way(self.routes, self.leaf_of, self.first_port, &self.packets[PacketId::from(key as u32)])
    }
}

/// The port that a packet leaves from, counted from the first.
#[inline(always)]
fn way(routes: &RouteTable, leaf_of: &[u32], first_port: u32, packet: &Packet) -> usize {
    let leaf = leaf_of[packet.to().index()];
    let port = routes.port(packet.to(), leaf, packet.flow, packet.entropy);
    (port.expect("the topologies are connected").0 - first_port) as usize
}

/// When something is due next at a port that has had its turn; one that waits for nothing is no longer touched.
#[inline(always)]
fn leave(port: usize, egress: &Egress, touched: &mut u64) -> Time {
    let next = egress.port.next_at();
    if next == Time::MAX {
        *touched &= !(1 << (port % 64));
    }
    next
}

/// The numbers of the bits that are set in a word.
#[inline(always)]
fn ones(word: usize, mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(word * 64 + bit)
    })
}

impl Switch {
    pub(crate) fn new(
        plan: &Arc<Plan>,
        node: NodeId,
        ports: Vec<(Port, Channel)>,
        sampler: PortSampler,
    ) -> Self {
        let range = plan.network.ports_of(node);
        let egress = |((port, channel), id): ((Port, Channel), u32)| Egress {
            port,
            channel,
            jitter: Jitter::new(plan.seed, 1 << 32 | u64::from(id)),
            arrival: Time::MAX,
        };
        let (first_port, words) = (range.start, range.len().div_ceil(64));
        let ports: Vec<_> = ports.into_iter().zip(range).map(egress).collect();
        Self {
            routes: plan.routes().tables[node.index()].clone(),
            first_port,
            touched: vec![0; words],
            is_fluid: ports.iter().all(|egress| egress.flows(plan.port_jitter)),
            ports,
            sampler,
            leaf_of: Arc::clone(&plan.leaf_of),
            jitter: plan.port_jitter,
            queue_interval: plan.queue_interval,
            watch: None,
            plan: Arc::clone(plan),
            node,
        }
    }

    pub(crate) fn handle(
        &mut self,
        key: Key,
        arrived: Option<PacketId>,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        if self.watch.is_some() {
            return self.handle_watched(key, arrived, packets, out);
        }
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
            (EventClass::Fault, _) => return self.change(None, key, packets),
            _ => return self.sample(key, out),
        };
        let egress = &self.ports[port];
        wake_at_completion(egress.channel, &egress.port, out);
    }

    /// The same without completion events: a port is settled before each of its arrivals, before each look at it, and at
    /// the window's end. A completion in the window delivers after it, so none is late. What arrives at one port is
    /// nothing to another, so that each port has its turn with all its packets.
    pub(crate) fn run(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        if self.watch.is_some() {
            return self.run_watched(packets, window);
        }
        if window.has_wakes() {
            self.run_in_order(packets, window);
            return self.finish(packets, window);
        }
        if self.is_fluid {
            return self.run_fluid(packets, window);
        }
        let keys = window.take_packed();
        if let &mut [key] = keys {
            self.arrive(window.at(key), PacketId::from(key as u32), packets, window);
            return self.finish(packets, window);
        }
        let lanes = window.take_lanes();
        self.deal(keys, lanes, packets);
        self.serve(lanes, packets, window)
    }

    /// The same where all ports are fluid: hardly anything waits for the window's end, so that packets come in order of
    /// time.
    fn run_fluid(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        let keys = window.take_sorted();
        let (start, horizon) = (window.start(), window.until());
        for &key in keys {
            let (now, id) = (at(start, key), PacketId::from(key as u32));
            let packet = &packets[id];
            let port = self.way(packet);
            let egress = &mut self.ports[port];
            match egress.port.flow_calmly(now, packet, horizon) {
                Some(done) => window.send(&egress.channel, done + egress.port.model().delay(), id),
                None => self.flow(port, now, id, packets, window),
            }
        }
        if self.touched.iter().all(|&touched| touched == 0) {
            return Time::MAX;
        }
        self.finish(packets, window)
    }

    /// A packet arrives at a fluid port.
    #[inline(never)]
    fn flow(
        &mut self,
        port: usize,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
        window: &mut Window<'_, PacketId>,
    ) {
        let egress = &mut self.ports[port];
        egress.flow(now, id, packets, window);
        self.touched[port / 64] |= u64::from(egress.port.next_at() != Time::MAX) << (port % 64);
    }

    /// A packet arrives in its turn.
    #[inline(never)]
    fn arrive(&mut self, now: Time, id: PacketId, packets: &mut Packets, window: &mut Window<'_, PacketId>) {
        let port = self.route(id, packets);
        let egress = &mut self.ports[port];
        if egress.port.model().is_fluid() {
            egress.arrive_fluid(now, id, packets, self.jitter, window);
        } else {
            egress.arrive(now, id, packets, self.jitter, window);
        }
        self.touched[port / 64] |= 1 << (port % 64);
    }

    /// Does all that is due before the window's end; gives when something is due next, or [`Time::MAX`].
    fn finish(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        let (last, mut next) = (window.end() - Duration::from_ps(1), Time::MAX);
        for (word, touched) in self.touched.iter_mut().enumerate() {
            for port in ones(word, *touched) {
                let egress = &mut self.ports[port];
                egress.settle_later(last, packets, self.jitter, window);
                next = next.min(leave(port, egress, touched));
            }
        }
        next
    }

    /// Handles all events of a window in order of time: some are looks at the ports.
    #[cold]
    fn run_in_order(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) {
        window.sort();
        while let Some((key, arrived)) = window.next() {
            match arrived {
                Some(id) => self.arrive(key.at(), id, packets, window),
                None if key.class() == EventClass::Fault => self.change(None, key, packets),
                None => {
                    self.settle(key.at(), packets, window);
                    self.sample(key, window);
                }
            }
        }
    }

    /// Deals the messages of a window to the ports that they leave from.
    fn deal(&mut self, keys: &[u64], lanes: &mut Lanes, packets: &Packets) {
        let Self { routes, leaf_of, first_port, touched, .. } = self;
        let ways = Ways { routes, leaf_of, first_port: *first_port, packets };
        let ports = self.ports.len();
        if let [touched] = &mut touched[..] {
            let mut bits = *touched;
            lanes.deal(ports, keys, &ways, |port| bits |= 1 << (port % 64));
            *touched = bits;
        } else {
            lanes.deal(ports, keys, &ways, |port| touched[port / 64] |= 1 << (port % 64));
        }
    }

    /// Gives each port its packets and does all that is due before the window's end; gives when something is due next, or
    /// [`Time::MAX`].
    fn serve(&mut self, lanes: &mut Lanes, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        let (mut next, jitter) = (Time::MAX, self.jitter);
        for (word, touched) in self.touched.iter_mut().enumerate() {
            for port in ones(word, *touched) {
                let (keys, egress) = (lanes.take(port), &mut self.ports[port]);
                egress.arrive_all(keys, packets, jitter, window);
                next = next.min(leave(port, egress, touched));
            }
        }
        next
    }

    /// Does all that is due up to `until` on busy ports.
    fn settle(&mut self, until: Time, packets: &mut Packets, out: &mut impl Outbox<PacketId>) {
        for (word, &touched) in self.touched.iter().enumerate() {
            for port in ones(word, touched) {
                self.ports[port].settle_later(until, packets, self.jitter, out);
            }
        }
    }

    fn route(&self, id: PacketId, packets: &Packets) -> usize {
        self.way(&packets[id])
    }

    #[inline(always)]
    fn way(&self, packet: &Packet) -> usize {
        way(&self.routes, &self.leaf_of, self.first_port, packet)
    }

    fn sample(&mut self, key: Key, out: &mut impl Outbox<PacketId>) {
        let ports = &self.ports;
        let first = self.first_port;
        self.sampler.sample(key.at(), |port| Look::at(&ports[(port.0 - first) as usize].port, key.at()));
        if let Some(interval) = self.queue_interval {
            out.wake(Key::new(key.at() + interval, EventClass::Probe, 0, PORTS));
        }
    }

    /// What happened at its traced ports.
    pub(crate) fn take_trace(&mut self) -> Vec<PacketEvent> {
        self.watch.iter_mut().filter_map(|watch| watch.tap.as_mut()).flat_map(PortTap::take).collect()
    }

    /// Samples taken, in order of time.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        self.sampler.take()
    }
}

/// Asks for the completion of the packet in service, if there is one.
pub(crate) fn wake_at_completion(channel: Channel, port: &Port, out: &mut impl Outbox<PacketId>) {
    if port.next_at() != Time::MAX {
        out.wake(Key::new(port.next_at(), EventClass::Completion, channel.id, 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_with_its_link_s_end_takes_three_cache_lines() {
        assert!(size_of::<Egress>() <= 192, "{}", size_of::<Egress>());
    }
}
