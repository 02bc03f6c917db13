//! The network of a scenario with real packets: a NIC for each host and the simulator's switches in ordered mode. It has no clock:
//! `now` is an argument, as everywhere in the fabric.
//!
//! A driver calls [`Engine::take`] for what hosts send, [`Engine::advance`] when [`Engine::next_at`] has come, and
//! [`Engine::release`] for what has reached its host. Things happen in the simulator's order: by time, then completions, faults,
//! samples, frames, arrivals, each by link. So what the switches do follows from the arrivals alone, and a test can give it
//! recorded ones.

mod capture;
mod frames;
mod nic;
mod paths;
mod queue;
mod refuse;
mod report;

pub use capture::Captured;
pub use nic::NIC_QUEUE;
pub use paths::{PathTable, PathsError};

use crate::address::{host_of, is_in_network};
use crate::bytes::Datagram;
use capture::Capture;
use farspan_fabric::switch::{PortEvent, Sink, shared::Frame};
use farspan_fabric::{Network, Packet, PacketId, Packets, Routes, Switch};
use farspan_metrics::EmulatedPackets;
use farspan_sim::{PortReading, PortSampler, Spec, Switches, reroutes};
use farspan_trace::Remark;
use farspan_units::random::mix;
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Time};
use frames::{Frames, HOPS};
use nic::Nic;
use queue::{Happening, Queue};
use refuse::{FOR_NOBODY, Limit};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// The largest packet that a record can hold.
pub const LARGEST_PACKET: Bytes = Bytes::new(65_535);

/// Samples that are kept, at most: about a gigabyte. What comes later is not sampled.
const MOST_SAMPLES: usize = 1 << 25;

/// Ports are sampled no more often than this: a run of the emulator takes minutes, not milliseconds.
const SHORTEST_INTERVAL: Duration = Duration::from_ms(10);

/// Something that an observer sees.
#[derive(Debug)]
pub enum Seen<'a> {
    /// A host sends a packet, which comes to its NIC.
    Sent(HostId, &'a Packet),
    /// Something happens to a packet at a port of a switch.
    AtPort(PortId, PortEvent<'a>),
}

/// Sees what happens, and when; it changes nothing.
pub type Observer = Box<dyn FnMut(Time, Seen<'_>) + Send>;

/// The network of a scenario, which real packets cross.
pub struct Engine {
    network: Network,
    nics: Vec<Nic>,
    /// Switches by node, less the hosts.
    switches: Vec<Switch<PortId>>,
    /// How often each may report errors.
    limits: Vec<Limit>,
    /// The largest packet that switches pass on.
    mtu: Bytes,
    queue: Queue,
    /// Those that hold now, and those that will.
    routes: Arc<Routes>,
    reroutes: Vec<(Time, Arc<Routes>)>,
    /// Flows whose links a table chooses.
    paths: Option<PathTable>,
    packets: Packets,
    frames: Frames,
    /// Packets that have reached their hosts and are to be released, in order.
    arrived: VecDeque<(HostId, Time, PacketId)>,
    /// The fates of packets that no port counts.
    fates: EmulatedPackets,
    /// Packets that still wait at their hosts.
    at_hosts: u64,
    unmarked: u64,
    /// Packets that were trimmed, and that no port dropped, but whatever came behind it.
    headers_ended: u64,
    /// Marked and trimmed packets that hosts got.
    delivered: Delivered,
    sampler: PortSampler,
    /// How often ports are sampled, and how many there are.
    sampling: Option<(Duration, usize)>,
    samples: usize,
    observer: Option<Observer>,
    capture: Option<Capture>,
    /// Remarks on an emulation beside its counts.
    warnings: Vec<String>,
    now: Time,
}

/// Sums over the packets that hosts got.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Delivered {
    bytes: Bytes,
    marked: u64,
    trimmed: u64,
    hash: u64,
}

/// The way from a switch to the links behind its ports.
struct ToLinks<'a> {
    queue: &'a mut Queue,
    observer: Option<&'a mut Observer>,
    capture: Option<&'a mut Capture>,
    frames: &'a Frames,
}

impl Sink<PortId> for ToLinks<'_> {
    fn send(&mut self, link: &PortId, at: Time, id: PacketId) {
        self.queue.push(at, *link, Happening::Arrival(id));
    }

    fn send_frame(&mut self, link: &PortId, at: Time, frame: Frame) {
        self.queue.push(at, *link, Happening::Frame(frame));
    }

    fn observes(&self) -> bool {
        self.observer.is_some() || self.capture.is_some()
    }

    fn observe(&mut self, now: Time, port: PortId, event: PortEvent<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.note(now, port, &event, self.frames);
        }
        if let Some(observer) = &mut self.observer {
            observer(now, Seen::AtPort(port, event));
        }
    }
}

impl Engine {
    /// The network of a spec, empty, at [`Time::ZERO`]. Flows, proxies and the end of the spec are not looked at.
    #[must_use]
    pub fn new(spec: &Spec) -> Self {
        let network = spec.network.clone();
        let routes = Routes::new(&network, spec.seed);
        let mut switches = Switches::new(spec);
        let nic = |node: u32| {
            let port = PortId(network.first_port[node as usize]);
            let faults = switches.faults(NodeId(node));
            Nic::new(port, network.links[port.index()], spec.jitter, faults, spec.seed)
        };
        let nics = (0..network.hosts).map(nic).collect();
        let nodes = (network.hosts..network.nodes.len() as u32).map(NodeId);
        let switches: Vec<_> = nodes.map(|node| switches.build(node, &routes, true, |port| port)).collect();
        let mut queue = Queue::new(switches.len());
        for (at, port) in
            switches.iter().filter_map(|switch| switch.faults()).flat_map(|faults| faults.changes())
        {
            queue.push(at, port, Happening::Fault);
        }
        let reroutes = reroutes(spec, &routes);
        for (number, (at, _)) in (0..).zip(&reroutes) {
            queue.push(*at, PortId(number), Happening::Routes);
        }
        let is_switch = |port: &&PortId| network.links[port.index()].from.0 >= network.hosts;
        let ports: Vec<_> = spec.probes.queue_ports.iter().filter(is_switch).copied().collect();
        let warnings = spec.probes.queue_interval.filter(|interval| *interval < SHORTEST_INTERVAL).map(|asked| {
            format!("probes.queue_interval = {asked} is too short for an emulation, which samples every {SHORTEST_INTERVAL}")
        });
        let warnings = warnings.into_iter().collect();
        let sampling =
            spec.probes.queue_interval.map(|interval| (interval.max(SHORTEST_INTERVAL), ports.len()));
        if let Some((interval, _)) = sampling {
            queue.push(Time::ZERO + interval, PortId(0), Happening::Sample);
        }
        Self {
            sampler: PortSampler::new(ports, spec.probes.series),
            nics,
            limits: vec![Limit::default(); switches.len()],
            mtu: spec.mss + spec.header,
            switches,
            queue,
            routes: Arc::new(routes),
            reroutes,
            paths: None,
            packets: Packets::new(),
            frames: Frames::default(),
            arrived: VecDeque::new(),
            fates: EmulatedPackets::default(),
            at_hosts: 0,
            unmarked: 0,
            headers_ended: 0,
            delivered: Delivered::default(),
            sampling,
            samples: 0,
            observer: None,
            capture: None,
            warnings,
            now: Time::ZERO,
            network,
        }
    }

    /// Lets a table choose the links of the flows that it names.
    pub fn choose_paths(&mut self, table: PathTable) {
        self.paths = Some(table);
    }

    /// Shows what hosts send, and what happens to packets at the ports of switches, to `observer`.
    pub fn observe(&mut self, observer: Observer) {
        self.observer = Some(observer);
    }

    /// Hands every packet that leaves one of these ports, or is dropped or lost there, to who listens at the other end of `to`, in order. What
    /// finds no room there is left out, and counted.
    pub fn capture(&mut self, ports: impl IntoIterator<Item = PortId>, to: SyncSender<Captured>) {
        self.capture = Some(Capture::new(ports, to));
    }

    /// No packet is captured from now on: who listens hears the end.
    pub fn end_capture(&mut self) {
        let left_out = self.capture.take().map_or(0, |capture| capture.left_out);
        if left_out > 0 {
            self.warnings.push(format!(
                "captures lack {left_out} packets: they arrived faster than they could be written"
            ));
        }
    }

    /// Remarks on an emulation so far beside its counts.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How many hosts there are.
    #[must_use]
    pub const fn hosts(&self) -> u32 {
        self.network.hosts
    }

    /// A host sends more than a packet can hold, which is too big for any network.
    pub const fn take_oversized(&mut self) {
        self.fates.read += 1;
        self.fates.too_big += 1;
    }

    /// At the end: so many packets of a host still wait in the queue of its kernel, and that has dropped so many, whose bytes nobody
    /// knows. They count as read, and those that were dropped count at the host's port.
    pub fn count_at_host(&mut self, host: HostId, waiting: u64, dropped: u64) {
        self.fates.read += waiting + dropped;
        self.at_hosts += waiting;
        self.nics[host.index()].count_dropped(dropped);
    }

    /// A host sends an IP packet. All that is due by `now` is done first; `now` must not be before what the engine was given last.
    pub fn take(&mut self, now: Time, from: HostId, bytes: &[u8]) {
        self.advance(now);
        self.fates.read += 1;
        let Ok(datagram) = Datagram::parse(bytes) else {
            self.fates.unrouted += 1;
            return;
        };
        let Some((to, kind)) = self.destination(from, &datagram) else {
            self.fates.unrouted += 1;
            return;
        };
        let (hash, size) = (datagram.flow_hash(), Bytes::new(bytes.len() as u64));
        let flow = FlowId(hash as u32);
        let chosen = self
            .paths
            .as_mut()
            .and_then(|paths| paths.entropy((&self.network, &self.routes), (from, to), &datagram, flow));
        let mut packet = Packet::new(flow, to, size, chosen.unwrap_or((hash >> 32) as u16), false, kind);
        if let Some(observer) = &mut self.observer {
            observer(now, Seen::Sent(from, &packet));
        }
        Frames::attach(&mut packet, self.frames.keep(bytes, &self.packets));
        let id = self.packets.insert(packet);
        let nic = &mut self.nics[from.index()];
        if nic.push(now, id, size) {
            return self.begin(now, from);
        }
        if let Some(capture) = &mut self.capture {
            let port = PortId(self.network.first_port[from.index()]);
            let remarks = vec![Remark::Dropped { queue: nic.held() }];
            capture.packet(now, port, &self.packets[id], remarks, &self.frames);
        }
        self.packets.discard(now, id);
    }

    /// Where a packet goes, and its kind; `None`: nowhere. The first switch learns that a host does not exist.
    fn destination(&self, from: HostId, datagram: &Datagram) -> Option<(HostId, u8)> {
        let host = host_of(datagram.destination, self.network.hosts).map(|to| (to, 0));
        let first = self.network.links[self.network.first_port[from.index()] as usize].to;
        host.or_else(|| {
            let is_unknown = is_in_network(datagram.destination) && self.switch_of(first).is_some();
            is_unknown.then_some((from, FOR_NOBODY))
        })
    }

    /// When something is due next; [`Time::MAX`]: never.
    #[must_use]
    pub fn next_at(&self) -> Time {
        if self.arrived.is_empty() { self.queue.next_at() } else { self.now }
    }

    /// Does all that is due by `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(due) = self.queue.pop(now) {
            self.now = due.at;
            match due.happening {
                Happening::Switch => self.at_switch(due.id as usize, |switch, packets, sink| {
                    switch.advance(due.at, packets, sink);
                }),
                Happening::Sent => {
                    self.sent(due.at, HostId(due.id));
                    self.begin(due.at, HostId(due.id));
                }
                Happening::Fault => self.fault(due.at, PortId(due.id)),
                Happening::Routes => self.reroute(due.at, due.id as usize),
                Happening::Sample => self.sample(due.at),
                Happening::Frame(frame) => self.on_frame(due.at, PortId(due.id), frame),
                Happening::Arrival(id) => self.arrive(due.at, PortId(due.id), id),
            }
        }
        self.now = self.now.max(now);
    }

    /// A call of a switch, after which its next completion is known.
    fn at_switch(
        &mut self,
        place: usize,
        call: impl FnOnce(&mut Switch<PortId>, &mut Packets, &mut ToLinks<'_>),
    ) {
        let Self { switches, packets, queue, observer, capture, frames, now, .. } = self;
        let sink = &mut ToLinks { queue, observer: observer.as_mut(), capture: capture.as_mut(), frames };
        call(&mut switches[place], packets, sink);
        // Nothing is due any more: this only asks when something is.
        let next = switches[place].advance(*now, packets, sink);
        queue.set_switch(place, next);
    }

    /// The position of a switch among the switches; `None`: the node is a host.
    fn switch_of(&self, node: NodeId) -> Option<usize> {
        (node.0 >= self.network.hosts).then(|| (node.0 - self.network.hosts) as usize)
    }

    /// The NIC of a host sends the next packet, if it is free and one waits.
    fn begin(&mut self, now: Time, host: HostId) {
        if let Some(leaves) = self.nics[host.index()].begin(now) {
            self.queue.push(leaves, PortId(host.0), Happening::Sent);
        }
    }

    /// The last bit of a packet leaves the NIC of a host.
    fn sent(&mut self, now: Time, host: HostId) {
        let nic = &mut self.nics[host.index()];
        let Some(departure) = nic.complete(now) else { return };
        let port = PortId(self.network.first_port[host.index()]);
        let packet = &self.packets[departure.id];
        let is_lost = nic.faults.as_mut().is_some_and(|faults| faults.loses(port, now, packet));
        if let Some(capture) = &mut self.capture {
            let remarks = if is_lost { vec![Remark::Lost] } else { Vec::new() };
            capture.packet(now, port, packet, remarks, &self.frames);
        }
        if is_lost {
            self.packets.discard(now, departure.id);
        } else {
            self.queue.push(departure.arrives, port, Happening::Arrival(departure.id));
        }
    }

    fn arrive(&mut self, now: Time, link: PortId, id: PacketId) {
        let to = self.network.links[link.index()].to;
        match self.switch_of(to) {
            None => self.arrived.push_back((HostId(to.0), now, id)),
            Some(place) => {
                self.packets[id].halves[HOPS] += 1;
                if let Some(problem) = self.problem(&self.packets[id]) {
                    return self.refuse(now, place, link, id, problem);
                }
                self.at_switch(place, |switch, packets, sink| {
                    switch.arrive(now, link, id, Time::MAX, packets, sink);
                });
            }
        }
    }

    fn on_frame(&mut self, now: Time, link: PortId, frame: Frame) {
        let to = self.network.links[link.index()].to;
        match self.switch_of(to) {
            None => {
                self.nics[to.index()].on_frame(now, frame);
                self.begin(now, HostId(to.0));
            }
            Some(place) => self.at_switch(place, |switch, packets, sink| {
                switch.on_frame(now, link, frame, packets, sink);
            }),
        }
    }

    fn fault(&mut self, now: Time, port: PortId) {
        let link = self.network.links[port.index()];
        let place = self.switch_of(link.from).expect("a host's NIC looks its faults up when it sends");
        self.at_switch(place, |switch, packets, sink| switch.on_fault(now, port, link.rate, packets, sink));
    }

    fn reroute(&mut self, now: Time, number: usize) {
        let routes = Arc::clone(&self.reroutes[number].1);
        self.routes = Arc::clone(&routes);
        self.paths.iter_mut().for_each(PathTable::forget);
        for place in 0..self.switches.len() {
            let table = &routes.tables[place + self.network.hosts as usize];
            self.at_switch(place, |switch, packets, sink| {
                switch.advance(now, packets, sink);
                switch.set_routes(table.clone());
            });
        }
    }

    fn sample(&mut self, now: Time) {
        let Some((interval, ports)) = self.sampling else { return };
        let Self { network, switches, sampler, .. } = self;
        sampler.sample(now, |port| {
            let from = network.links[port.index()].from.0 - network.hosts;
            PortReading::at(switches[from as usize].port(port), now)
        });
        self.samples += ports * 3;
        if self.samples < MOST_SAMPLES {
            self.queue.push(now + interval, PortId(0), Happening::Sample);
        } else {
            self.sampling = None;
            self.warnings.push(format!("ports were sampled only until {now}: there are too many of them"));
        }
    }

    /// Hands over what has reached its host by now, in order: host, when it was due, and bytes as the switches left them. `write`
    /// says whether the host took it.
    pub fn release(&mut self, mut write: impl FnMut(HostId, Time, &[u8]) -> bool) {
        while let Some((host, at, id)) = self.arrived.pop_front() {
            let packet = self.packets.remove(id);
            let (place, mut bytes) = self.frames.take(&packet);
            if self.finish(&packet, &mut bytes) {
                if write(host, at, &bytes) {
                    self.fates.delivered += 1;
                    self.delivered.add(&packet, host, at, &bytes);
                } else {
                    self.fates.refused += 1;
                    self.headers_ended += u64::from(packet.trimmed());
                }
            }
            self.frames.give_back(place, bytes);
        }
    }

    /// Writes what switches did to a packet into its bytes; `false`: that cannot be done, and the packet is dropped.
    fn finish(&mut self, packet: &Packet, bytes: &mut Vec<u8>) -> bool {
        let written = frames::write(packet, bytes);
        self.fates.untrimmable += u64::from(written.is_err());
        self.headers_ended += u64::from(written.is_err());
        self.unmarked += u64::from(written == Ok(false));
        written.is_ok()
    }
}

impl Delivered {
    fn add(&mut self, packet: &Packet, host: HostId, at: Time, bytes: &[u8]) {
        self.bytes += Bytes::new(bytes.len() as u64);
        self.marked += u64::from(packet.ecn_ce() && !packet.trimmed());
        self.trimmed += u64::from(packet.trimmed());
        let arrival = mix(at.as_ps() ^ u64::from(host.0) << 48 ^ u64::from(packet.flow.0));
        self.hash = self.hash.wrapping_add(arrival);
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("now", &self.now).field("fates", &self.fates).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
