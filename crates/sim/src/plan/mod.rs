//! The plan of a run, fixed before it starts: who sends what to whom, over which path. Read by every node,
//! written by none.

pub(crate) mod connections;
pub(crate) mod pool;
mod proxy;
pub(crate) mod trigger;

use crate::record::{self, MessageFacts};
use crate::spec::{Flow, OwnBalance, ProxySpec, Spec};
use connections::Connections;
use farspan_fabric::{Network, Overflow, Packet, RoutedPath, Routes, fault};
use farspan_transport::balance::BalanceConfig;
use farspan_transport::coding::Layout;
use farspan_transport::proxy::{ProxyKind, Via};
use farspan_transport::recovery::Rto;
use farspan_transport::{Class, FlowProfile, InitialWindow, Message, Path, Profiles, Route, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use trigger::Triggers;

/// A flow and what its path adds up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowPlan {
    pub(crate) flow: Flow,
    /// The index of the route in [`Plan`] that its sender shares with others.
    route: u32,
    /// How many packets its message has, parity included.
    packets: u32,
    /// Completion time in an empty network.
    pub(crate) ideal_fct: Duration,
    /// Propagation and processing, one way: from where the packets that its receiver gets leave, its sender or a proxy.
    propagation: Duration,
    /// Serialisation over all links of that path, 2^-16 picoseconds a byte.
    byte_time: u64,
}

impl FlowPlan {
    /// How many packets its message has, parity included.
    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    /// One-way delay of a packet of `size` through an empty network.
    pub(crate) fn one_way(&self, size: Bytes) -> Duration {
        self.propagation + Duration::from_ps((self.byte_time * size.get()) >> 16)
    }
}

/// Everything about a run that does not change while it runs.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) network: Network,
    pub(crate) flows: Vec<FlowPlan>,
    pub(crate) triggers: Triggers,
    /// Persistent connections, of which several flows are messages.
    pub(crate) connections: Connections,
    /// The profiles of flows, which both ends know.
    pub(crate) profiles: Profiles,
    pub(crate) mss: Bytes,
    pub(crate) header: Bytes,
    pub(crate) seed: u64,
    pub(crate) jitter: Duration,
    pub(crate) rate_interval: Option<Duration>,
    pub(crate) queue_interval: Option<Duration>,
    /// When routes change, and to what.
    pub(crate) reroutes: Vec<(Time, Arc<Routes>)>,
    routes: Routes,
    /// Routes that senders share, one for each path and scheme that differ.
    shared: Vec<Arc<Route>>,
    buffers: Vec<Bytes>,
    /// Where each port begins to mark.
    k_min: Vec<Option<Bytes>>,
    /// Which ports trim.
    trims: Vec<bool>,
    /// Whether there are several sites.
    pub(crate) has_sites: bool,
    intra_base_rtt: Duration,
    largest_base_rtt: Duration,
    initial_window: InitialWindow,
    /// The largest extra of an RTT sample.
    rtt_noise: Duration,
    schemes: [Arc<Scheme>; 2],
    /// Path selectors in the place of the schemes'.
    own_balance: Vec<BalanceConfig>,
    /// The hosts that relay flows.
    pub(crate) proxies: proxy::Proxies,
    /// The flows that are relayed to each receiver, each with its sender and its proxy.
    pub(crate) relayed_to: BTreeMap<HostId, Vec<(HostId, FlowId, HostId)>>,
    /// The proxy that a flow goes through, as its sender knows it.
    vias: BTreeMap<FlowId, Arc<Via>>,
}

/// The use of a route. The index is that of the flow's own path selector, if it has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Use {
    /// From sender to receiver, under the scheme of the flow's class; of a message of a persistent connection, or not.
    Own(Option<usize>, bool),
    /// From sender to proxy, under the scheme of intra-DC flows, with this time-out.
    ToProxy(Option<usize>, Option<Rto>),
    /// From the proxy with this index to the receiver.
    Onward(usize),
}

/// The properties that flows of one route share: the path, and its use.
type RouteKey = (Path, Use);

/// The way of a flow.
struct FlowPath {
    /// The index of its sender's route.
    route: u32,
    /// The path of the packets that its receiver gets.
    last: RoutedPath,
    /// The proxy on it.
    via: Option<Arc<Via>>,
}

impl Plan {
    pub(crate) fn new(spec: &Spec) -> Self {
        let routes = Routes::new(&spec.network, spec.seed);
        let ports = (0..spec.network.links.len() as u32).map(PortId);
        let buffers = ports.clone().map(|port| spec.port(port).buffer).collect();
        let k_min = ports.clone().map(|port| spec.port(port).k_min()).collect();
        let trims = ports.map(|port| matches!(spec.port(port).overflow, Overflow::Trim(_))).collect();
        let mut plan = Self {
            network: spec.network.clone(),
            flows: Vec::new(),
            triggers: Triggers::new(&spec.triggers, &spec.flows),
            connections: Connections::default(),
            profiles: profiles(spec),
            mss: spec.mss,
            header: spec.header,
            seed: spec.seed,
            jitter: spec.jitter,
            rate_interval: spec.probes.rate_interval,
            queue_interval: spec.probes.queue_interval,
            reroutes: reroutes(spec, &routes),
            routes,
            shared: Vec::new(),
            buffers,
            k_min,
            trims,
            has_sites: (1..spec.network.hosts)
                .any(|host| spec.network.site(HostId(host)) != spec.network.site(HostId(0))),
            intra_base_rtt: Duration::ZERO,
            largest_base_rtt: Duration::ZERO,
            initial_window: spec.initial_window,
            rtt_noise: spec.rtt_noise,
            schemes: [Arc::clone(&spec.intra), Arc::clone(&spec.inter)],
            own_balance: spec.own_balance.iter().map(|own| own.balance.clone()).collect(),
            proxies: proxy::Proxies::new(),
            relayed_to: BTreeMap::new(),
            vias: BTreeMap::new(),
        };
        (plan.intra_base_rtt, plan.largest_base_rtt) = plan.largest_base_rtts();
        let own = (0..).zip(&spec.own_balance);
        let own: BTreeMap<FlowId, usize> = own
            .flat_map(|(index, OwnBalance { flows, .. })| flows.iter().map(move |id| (*id, index)))
            .collect();
        let through = proxy::by_flow(&spec.proxies);
        plan.connections = Connections::new(&spec.flows, spec.mss, |id, flow| {
            let scheme = spec.scheme(plan.class(flow.src, flow.dst));
            let may_go_on = may_go_on(scheme) && !plan.triggers.waits(id) && !through.contains_key(&id);
            may_go_on.then(|| own.get(&id))
        });
        let mut known = BTreeMap::new();
        plan.flows = Vec::with_capacity(spec.flows.len());
        for (id, flow) in (0..).map(FlowId).zip(&spec.flows) {
            let proxy = through.get(&id).map(|&place| (place, &spec.proxies[place]));
            let flow = plan.flow(id, flow, own.get(&id).copied(), proxy, &mut known);
            plan.flows.push(flow);
        }
        plan
    }

    pub(crate) fn routes(&self) -> &Routes {
        &self.routes
    }

    fn class(&self, from: HostId, to: HostId) -> Class {
        if self.network.site(from) == self.network.site(to) { Class::Intra } else { Class::Inter }
    }

    /// The largest base RTT inside any site, and that of the network. Without two hosts at any site, the first is that
    /// between the first host and the last.
    fn largest_base_rtts(&self) -> (Duration, Duration) {
        let hosts: Vec<_> = (0..self.network.hosts).map(HostId).collect();
        let sites: Vec<_> = hosts.chunk_by(|a, b| self.network.site(*a) == self.network.site(*b)).collect();
        let inside = sites.iter().filter_map(|site| self.largest_base_rtt(site)).max();
        let across = if sites.len() > 1 { self.largest_base_rtt(&hosts) } else { inside };
        let ends = || self.base_rtt(&self.routes.path(&self.network, hosts[0], hosts[hosts.len() - 1]));
        let inside = inside.unwrap_or_else(ends);
        (inside, across.unwrap_or(inside))
    }

    /// The largest base RTT among these hosts, from one end to the other: of the first host's farthest and of that one's
    /// farthest, which is exact in a tree.
    fn largest_base_rtt(&self, hosts: &[HostId]) -> Option<Duration> {
        let rtt = |from, to| self.base_rtt(&self.routes.path(&self.network, from, to));
        let farthest = |from: HostId| {
            let others = hosts.iter().copied().filter(|host| *host != from);
            others.map(|to| (rtt(from, to), to)).max_by_key(|(rtt, _)| *rtt)
        };
        let (_, end) = farthest(hosts[0])?;
        farthest(end).map(|(rtt, _)| rtt)
    }

    /// A full packet out, its ACK back.
    fn base_rtt(&self, routed: &RoutedPath) -> Duration {
        routed.one_way(&self.network, self.mss + self.header) + self.ack_time(routed)
    }

    /// The path of an ACK back: the reverse links have the same rates and delays.
    fn ack_time(&self, routed: &RoutedPath) -> Duration {
        routed.one_way(&self.network, self.header)
    }

    /// `own`: the index of its own path selector, if it has one; `known`: the positions of the routes that senders share.
    fn flow(
        &mut self,
        id: FlowId,
        flow: &Flow,
        own: Option<usize>,
        proxy: Option<(usize, &ProxySpec)>,
        known: &mut BTreeMap<RouteKey, u32>,
    ) -> FlowPlan {
        let routed = self.routes.path(&self.network, flow.src, flow.dst);
        let packets = flow.size.segments(self.mss).max(1);
        let last = flow.size - self.mss * (packets - 1) + self.header;
        let message = routed.message(&self.network, packets, self.mss + self.header, last);
        let (class, ack_time) = (self.class(flow.src, flow.dst), self.ack_time(&routed));
        let way = match proxy {
            None => {
                let goes_on = self.connections.position(id).is_some();
                let route = self.route(&routed, class, Use::Own(own, goes_on), known);
                FlowPath { route, last: routed, via: None }
            }
            Some(proxy) => self.way_through(id, flow, own, proxy, known),
        };
        self.vias.extend(way.via.map(|via| (id, via)));
        let rates = way.last.links.iter().map(|port| self.network.links[port.index()].rate);
        FlowPlan {
            flow: *flow,
            packets: self.shared[way.route as usize]
                .layout(flow.size)
                .map_or(packets as u32, |l| l.packets()),
            route: way.route,
            ideal_fct: message + ack_time,
            propagation: way.last.delay(&self.network),
            byte_time: rates.map(|rate| (8_000_000_000_000 << 16) / rate.as_bps().max(1)).sum(),
        }
    }

    /// The index of the route over a path under the scheme of `class`.
    fn route(
        &mut self,
        routed: &RoutedPath,
        class: Class,
        usage: Use,
        known: &mut BTreeMap<RouteKey, u32>,
    ) -> u32 {
        let scheme = Arc::clone(&self.schemes[usize::from(class == Class::Inter)]);
        self.route_of(routed, class, usage, &scheme, known)
    }

    /// The index of the route over a path under a scheme.
    fn route_of(
        &mut self,
        routed: &RoutedPath,
        class: Class,
        usage: Use,
        scheme: &Scheme,
        known: &mut BTreeMap<RouteKey, u32>,
    ) -> u32 {
        let path = self.path(routed, class, scheme);
        *known.entry((path, usage)).or_insert_with(|| {
            let route = match usage {
                Use::Onward(_) => Route::new(path, &ends_with_its_flow(scheme)),
                Use::Own(own, goes_on) => {
                    let scheme = if goes_on { scheme.clone() } else { ends_with_its_flow(scheme) };
                    let balance = own.map_or(scheme.balance, |own| self.own_balance[own].clone());
                    Route::new(path, &Scheme { balance, ..scheme })
                }
                Use::ToProxy(own, rto) => {
                    let mut scheme = ends_with_its_flow(scheme);
                    scheme.recovery.rto = rto.unwrap_or(scheme.recovery.rto);
                    scheme.balance = own.map_or(scheme.balance, |own| self.own_balance[own].clone());
                    Route::new(path, &scheme)
                }
            };
            self.shared.push(Arc::new(route.with_rtt_noise(self.rtt_noise)));
            (self.shared.len() - 1) as u32
        })
    }

    /// The properties of its path that a sender knows.
    fn path(&self, routed: &RoutedPath, class: Class, scheme: &Scheme) -> Path {
        let base_rtt = self.base_rtt(routed);
        let line_rate = self.network.links[routed.links[0].index()].rate;
        let drain = |port: &PortId| {
            let buffer = self.buffers[port.index()];
            if buffer == Bytes::MAX {
                Duration::ZERO
            } else {
                self.network.links[port.index()].rate.transmission(buffer)
            }
        };
        Path {
            class,
            base_rtt,
            line_rate,
            bdp: line_rate.bytes_in(base_rtt),
            intra_base_rtt: self.intra_base_rtt,
            largest_base_rtt: self.largest_base_rtt,
            hops: routed.links.len() as u32,
            max_queueing: routed.links.iter().map(drain).sum(),
            k_min: routed.links.iter().filter_map(|port| self.k_min[port.index()]).min(),
            trims: routed.links.iter().any(|port| self.trims[port.index()]),
            mss: self.mss,
            header: self.header + scheme.congestion.needs().signal_bytes.data,
        }
    }

    /// Whether the hosts of flow `id` share a site.
    pub(crate) fn class_of(&self, id: FlowId) -> Class {
        let FlowPlan { flow, route, .. } = &self.flows[id.index()];
        // A route to a proxy is that of another class.
        if self.vias.is_empty() {
            self.shared[*route as usize].path().class
        } else {
            self.class(flow.src, flow.dst)
        }
    }

    /// A full packet out over the path of flow `id` as its sender knows it, its ACK back, in an empty network.
    pub(crate) fn flow_base_rtt(&self, id: FlowId) -> Duration {
        self.shared[self.flows[id.index()].route as usize].path().base_rtt
    }

    /// The facts that all packets share which are of one message with this data packet.
    pub(crate) fn message_facts(&self, packet: &Packet) -> MessageFacts {
        let id = packet.flow;
        let packets = self.connections.of_packet(id, record::seq(packet)).map(|(_, end)| end);
        let packets = packets.unwrap_or(self.flows[id.index()].packets);
        MessageFacts { packets, layout: self.layout(id) }
    }

    /// How the packets of flow `id` make blocks, if it is coded.
    #[inline]
    pub(crate) fn layout(&self, id: FlowId) -> Option<Layout> {
        let FlowPlan { flow, route, .. } = &self.flows[id.index()];
        self.shared[*route as usize].layout(flow.size)
    }

    /// The first window over a path.
    fn first_window(&self, path: &Path) -> Bytes {
        self.initial_window.bytes(path.bdp, path.mss).max(path.mss)
    }

    /// The message that starts flow `id`.
    pub(crate) fn message(&self, id: FlowId) -> Message {
        let FlowPlan { flow, route, .. } = &self.flows[id.index()];
        let route = &self.shared[*route as usize];
        Message {
            flow: id,
            to: flow.dst,
            size: flow.size,
            initial_cwnd: self.first_window(route.path()),
            route: Arc::clone(route),
            via: self.vias.get(&id).cloned(),
        }
    }
}

/// When the faults of a spec change the routes of all switches, and to what: those that avoid equal links are kept once.
#[must_use]
pub fn reroutes(spec: &Spec, routes: &Routes) -> Vec<(Time, Arc<Routes>)> {
    let mut known = BTreeMap::new();
    let reroute = |(time, links)| {
        let avoiding = |links: &_| Arc::new(routes.avoiding(&spec.network, links));
        (time, Arc::clone(known.entry(links).or_insert_with_key(avoiding)))
    };
    fault::withdrawals(&spec.faults).into_iter().map(reroute).collect()
}

/// The profiles of a run's flows.
fn profiles(spec: &Spec) -> Profiles {
    let onward = spec.proxies.iter().filter_map(|proxy| match &proxy.kind {
        ProxyKind::Naive(naive) => Some(naive.onward.profile.clone()),
        ProxyKind::Streamlined(_) => None,
    });
    let own = [spec.intra.profile.clone(), spec.inter.profile.clone()];
    // Flows that no other follows have a connection that ends with them.
    let alone = own.clone().map(|profile| FlowProfile { persistent: false, ..profile });
    Profiles::new(own.into_iter().chain(onward).chain(alone))
}

/// A scheme under which a connection ends with its flow.
fn ends_with_its_flow(scheme: &Scheme) -> Scheme {
    let profile = FlowProfile { persistent: false, ..scheme.profile.clone() };
    Scheme { profile, ..scheme.clone() }
}

/// Whether flows of a scheme may follow each other on a connection: blocks, and packets to be pulled, are counted from a flow's end.
fn may_go_on(scheme: &Scheme) -> bool {
    scheme.profile.persistent && scheme.coding.shape().is_none() && scheme.congestion.needs().pulls.is_none()
}
