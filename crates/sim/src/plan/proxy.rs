//! Flows that go through a proxy: what the sender knows of it, and what the proxy does with them.

use super::{FlowPath, Plan, RouteKey, Use};
use crate::spec::{Flow, NaiveSpec, ProxySpec};
use farspan_fabric::RoutedPath;
use farspan_transport::Class;
use farspan_transport::proxy::{
    Delay, LossDetection, NaiveRelay, Numbering, ProxyKind, Relay, RelayKind, StreamlinedRelay, Via,
};
use farspan_units::{Bytes, FlowId, HostId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The flows that a host relays.
#[derive(Debug, Default)]
pub(crate) struct Proxy {
    /// How long it takes over a packet.
    pub(crate) delay: Delay,
    /// The flows.
    pub(crate) relays: Vec<Relay>,
}

/// The fewest packets for which a bounded proxy has room.
const LEAST_ROOM: u64 = 2;

/// Which proxy each flow goes through.
pub(super) fn by_flow(proxies: &[ProxySpec]) -> BTreeMap<FlowId, usize> {
    let flows =
        |(place, proxy): (usize, &ProxySpec)| proxy.flows.iter().map(move |&flow| (flow, place)).collect();
    proxies.iter().enumerate().flat_map(|each| -> Vec<_> { flows(each) }).collect()
}

impl Plan {
    /// The way of a flow through a proxy.
    pub(super) fn way_through(
        &mut self,
        id: FlowId,
        flow: &Flow,
        own: Option<usize>,
        (place, proxy): (usize, &ProxySpec),
        known: &mut BTreeMap<RouteKey, u32>,
    ) -> FlowPath {
        let between = |from, to| self.routes.path(&self.network, from, to);
        let (there, onward) = (between(flow.src, proxy.host), between(proxy.host, flow.dst));
        let straight = between(flow.src, flow.dst);
        let through = RoutedPath { links: [&there.links[..], &onward.links[..]].concat() };
        let direct = self.route(&straight, Class::Inter, Use::Own(own, false), known);
        let direct = Arc::clone(&self.shared[direct as usize]);
        let (route, last, limit, kind) = match &proxy.kind {
            ProxyKind::Naive(NaiveSpec { rto, onward: scheme, room }) => {
                let room = room.map(|room| self.room(room, proxy.flows.len()));
                let route = self.route(&there, Class::Intra, Use::ToProxy(own, *rto), known);
                let second = self.route_of(&onward, Class::Inter, Use::Onward(place), scheme, known);
                let second = Arc::clone(&self.shared[second as usize]);
                let initial_cwnd = self.first_window(second.path());
                let signals = self.shared[route as usize].profile().signals;
                let kind = RelayKind::Naive(NaiveRelay { onward: second, initial_cwnd, room, signals });
                (route, onward, room.unwrap_or(u32::MAX), kind)
            }
            ProxyKind::Streamlined(loss) => {
                let route = self.route(&through, Class::Inter, Use::Own(own, false), known);
                let shared = &self.shared[route as usize];
                let (header, signals) = (shared.path().header, shared.profile().signals);
                let way = self.path(&there, Class::Inter, &self.schemes[1]);
                let loss = loss.map(|loss| loss.behind(&way));
                let kind = RelayKind::Streamlined(StreamlinedRelay { header, signals, loss });
                (route, through, u32::MAX, kind)
            }
        };
        let numbers = match &kind {
            RelayKind::Streamlined(StreamlinedRelay {
                loss: Some(LossDetection::PerPath { .. }), ..
            }) => Some(Numbering::PerPath),
            RelayKind::Streamlined(StreamlinedRelay { loss: Some(LossDetection::PerFlow(_)), .. }) => {
                Some(Numbering::PerFlow)
            }
            _ => None,
        };
        let acknowledges = matches!(kind, RelayKind::Naive(_));
        let (longest_silence, direct_cwnd) =
            (direct.path_rto() * u64::from(proxy.longest_silence), self.first_window(direct.path()));
        let via =
            Via { proxy: proxy.host, acknowledges, limit, numbers, direct, direct_cwnd, longest_silence };
        let host = self.proxies.entry(proxy.host).or_default();
        host.delay = proxy.delay.clone();
        let Flow { src: from, dst: to, size, .. } = *flow;
        // In a run a flow has one number everywhere.
        host.relays.push(Relay { from, flow: id, to, onward_flow: id, size, kind });
        self.relayed_to.entry(to).or_default().push((from, id, proxy.host));
        FlowPath { route, last, via: Some(Arc::new(via)) }
    }

    /// How many packets of each of so many flows may wait.
    fn room(&self, bytes: Bytes, flows: usize) -> u32 {
        let packets = bytes.get() / (self.mss + self.header).get() / flows.max(1) as u64;
        u32::try_from(packets.max(LEAST_ROOM)).unwrap_or(u32::MAX)
    }
}

/// The flows that each host relays.
pub(crate) type Proxies = BTreeMap<HostId, Proxy>;
