//! Shortest-path routes and per-switch salted ECMP.

mod search;
mod table;

use crate::network::{Network, Node, NodeKind, Tier};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::random::{self, Random};
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Purpose};
use search::{Blocks, Found, View};
pub use table::RouteTable;
pub(crate) use table::RouteView;
use table::{Group, Towards};

/// The routes of a network.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The leaf number of each host's switch.
    pub leaf_of: Vec<u32>,
    /// The table of each node; hosts have empty ones.
    pub tables: Vec<RouteTable>,
    /// Whether all equal-cost paths have equal links.
    even: bool,
}

/// A path from one host to another: every link of one of the equal-cost paths, and the sums over them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutedPath {
    /// Its links, the sender's NIC first.
    pub links: Vec<PortId>,
}

impl Routes {
    /// All shortest paths by number of links, but where the network names the ports itself; `seed` salts the
    /// hashes, each with the switch's name.
    #[must_use]
    pub fn new(network: &Network, seed: u64) -> Self {
        let hosts = network.hosts as usize;
        let leaves = leaves(network);
        let leaf_of: Vec<u32> = (0..hosts)
            .map(|h| {
                let leaf = network.links[network.first_port[h] as usize].to;
                leaves.binary_search(&leaf).expect("a host's switch is a leaf") as u32
            })
            .collect();
        let blocks = Blocks::new(&leaf_of);
        let salt = |name: &str| Random::new(seed, Purpose::Ecmp, random::entity(name)).at(0);
        let nothing = Towards { groups: Arc::from([]), members: Arc::from([]) };
        let table = |(node, &first): (&Node, &u32)| {
            RouteTable::new(nothing.clone(), PortId(first), blocks.shift, salt(&node.name))
        };
        let mut tables: Vec<_> = network.nodes.iter().zip(&network.first_port).map(table).collect();
        leaves.iter().for_each(|leaf| tables[leaf.index()].add_own(network, *leaf));
        View { network, avoided: None }
            .groups(&leaves, &tables[hosts..])
            .spread(&blocks, &mut tables[hosts..]);
        let mut routes = Self { leaf_of, tables, even: is_even(network) };
        routes.add_named_groups(network, &leaves, &BTreeSet::new());
        routes
    }

    /// Replaces ports by those that the network names, except those to be avoided.
    fn add_named_groups(&mut self, network: &Network, leaves: &[NodeId], avoided: &BTreeSet<PortId>) {
        let mut by_switch = BTreeMap::new();
        for named in &network.groups {
            let Ok(leaf) = leaves.binary_search(&named.leaf) else { continue };
            let table = &self.tables[named.switch.index()];
            let found = by_switch.entry(named.switch).or_insert_with(|| Found::beside(table));
            let ports = named.ports.iter().filter(|port| !avoided.contains(port));
            let group = found.group(ports.map(|port| port.0 - table.first_port.0));
            if !group.is_none() {
                found.direct.push((leaf as u32, group));
            }
        }
        let blocks = Blocks::new(&self.leaf_of);
        for (switch, found) in by_switch {
            let towards = &mut self.tables[switch.index()].towards;
            let mut named = alloc::vec![Group::NONE; leaves.len()];
            found.direct.iter().for_each(|&(leaf, group)| named[leaf as usize] = group);
            let here = blocks.leaves().map(|leaf| named[leaf as usize]);
            let groups = here.zip(&*towards.groups).map(|(named, found)| named.or(*found)).collect();
            *towards = Towards { groups, members: found.members.into() };
        }
    }

    /// The ports of a switch towards the leaf of a host.
    fn ports(&self, switch: NodeId, to: HostId) -> impl Iterator<Item = PortId> + '_ {
        self.tables[switch.index()].group_of(to)
    }

    /// Switches that form a routing loop for packets to a leaf (the first), if there is one.
    #[must_use]
    pub fn routing_loop(&self, network: &Network) -> Option<(NodeId, Vec<NodeId>)> {
        let leaves = leaves(network);
        let host = |leaf: &NodeId| self.tables[leaf.index()].own_first;
        leaves.iter().find_map(|leaf| Some((*leaf, self.loop_to(network, host(leaf))?)))
    }

    fn loop_to(&self, network: &Network, host: HostId) -> Option<Vec<NodeId>> {
        let next = |node| {
            let ports = self.ports(node, host);
            ports.map(|port| network.links[port.index()].to).collect::<Vec<_>>()
        };
        let mut done = alloc::vec![false; network.nodes.len()];
        for first in (network.hosts..network.nodes.len() as u32).map(NodeId) {
            if done[first.index()] {
                continue;
            }
            // Depth first: the switches on the path, each with its successors that are still to be visited.
            let mut path = alloc::vec![(first, next(first))];
            while let Some((node, next_hops)) = path.last_mut() {
                let Some(to) = next_hops.pop() else {
                    done[node.index()] = true;
                    path.pop();
                    continue;
                };
                if let Some(at) = path.iter().position(|(node, _)| *node == to) {
                    return Some(path[at..].iter().map(|(node, _)| *node).collect());
                }
                if !done[to.index()] {
                    path.push((to, next(to)));
                }
            }
        }
        None
    }

    /// The shortest paths that avoid some links, where there are any: a switch without such a path to a leaf
    /// keeps the routes that it has. (It leads only to others like it, or to a link that is avoided: there is
    /// no routing loop.)
    #[must_use]
    pub fn avoiding(&self, network: &Network, links: &BTreeSet<PortId>) -> Self {
        let mut routes = self.clone();
        let (leaves, tables) = (leaves(network), &mut routes.tables[network.hosts as usize..]);
        let known: Vec<_> = tables.iter().map(|table| Arc::clone(&table.towards.groups)).collect();
        let view = View { network, avoided: Some(links) };
        view.groups(&leaves, tables).spread(&Blocks::new(&self.leaf_of), tables);
        for (table, known) in tables.iter_mut().zip(known) {
            let groups = &mut table.towards.groups;
            if groups.iter().any(|group| group.is_none()) {
                *groups = groups.iter().zip(&*known).map(|(group, known)| group.or(*known)).collect();
            }
        }
        if network.groups.is_empty() {
            return routes;
        }
        let around = routes.clone();
        routes.add_named_groups(network, &leaves, links);
        // Named ports and paths around a link may form a routing loop together: then only the paths around
        // the link are used.
        if routes.routing_loop(network).is_some() { around } else { routes }
    }

    /// One of the equal-cost paths from `from` to `to`. In the generated topologies all have the same links
    /// by tier; elsewhere it is one on which a packet of 4 KiB is fastest.
    ///
    /// # Panics
    /// If there is no path.
    #[must_use]
    pub fn path(&self, network: &Network, from: HostId, to: HostId) -> RoutedPath {
        let first = PortId(network.first_port[from.index()]);
        if !self.even {
            let mut known = BTreeMap::new();
            let mut node = network.links[first.index()].to;
            self.fastest(network, node, to, &mut known);
            let mut links = alloc::vec![first];
            while node.0 >= network.hosts {
                let (_, port) = known[&node];
                links.push(port);
                node = network.links[port.index()].to;
            }
            return RoutedPath { links };
        }
        let mut port = PortId(network.first_port[from.index()]);
        let mut links = Vec::with_capacity(9);
        loop {
            links.push(port);
            let node = network.links[port.index()].to;
            if network.nodes[node.index()].kind == NodeKind::Host {
                return RoutedPath { links };
            }
            port = self.tables[node.index()].port(to, FlowId(0), 0).expect("the topologies are connected");
        }
    }
}

/// Whether all paths of equally many links take equally long: links of one kind are equal, and no ports are
/// named.
fn is_even(network: &Network) -> bool {
    let kind = |tier: Tier| if tier == Tier::Border { Tier::Fabric } else { tier };
    let mut first = BTreeMap::new();
    network.groups.is_empty()
        && network.links.iter().all(|link| {
            let properties = (link.rate, link.delay);
            *first.entry(kind(link.tier)).or_insert(properties) == properties
        })
}

/// The packet size by which equal-cost paths of different links are compared.
const REFERENCE: Bytes = Bytes::new(4096);

impl Routes {
    /// The time from a switch to a host, on the fastest of the equal-cost paths. `known` gets it, with the
    /// port to take, for every switch on any of them.
    fn fastest(
        &self,
        network: &Network,
        switch: NodeId,
        to: HostId,
        known: &mut BTreeMap<NodeId, (Duration, PortId)>,
    ) -> Duration {
        if let Some((time, _)) = known.get(&switch) {
            return *time;
        }
        let own = self.tables[switch.index()].own(to);
        let mut best: Option<(Duration, PortId)> = None;
        for port in own.into_iter().chain(self.ports(switch, to)) {
            let link = &network.links[port.index()];
            let here = link.delay + link.rate.transmission(REFERENCE);
            let rest = if own.is_some() { Duration::ZERO } else { self.fastest(network, link.to, to, known) };
            let time = here + rest;
            if best.is_none_or(|(least, _)| time < least) {
                best = Some((time, port));
            }
        }
        let best = best.expect("the topologies are connected");
        known.insert(switch, best);
        best.0
    }

    /// How much of the traffic from one host to another each link carries on average, from 0 to 1, those with none left
    /// out; hashes spread it evenly over the ports of each switch.
    #[must_use]
    pub fn shares(&self, network: &Network, from: HostId, to: HostId) -> Vec<(PortId, f64)> {
        let nic = PortId(network.first_port[from.index()]);
        let first = network.links[nic.index()].to;
        let mut order = Vec::new();
        self.after_all_behind(network, first, to, &mut BTreeSet::new(), &mut order);
        let mut at = BTreeMap::from([(first, 1.0)]);
        let mut shares = alloc::vec![(nic, 1.0)];
        for switch in order.into_iter().rev() {
            let ports: Vec<_> = self.ports(switch, to).collect();
            let each = at.get(&switch).copied().unwrap_or(0.0) / ports.len() as f64;
            for port in ports {
                *at.entry(network.links[port.index()].to).or_insert(0.0) += each;
                shares.push((port, each));
            }
        }
        shares
    }

    /// Lists a switch after all that it leads to.
    fn after_all_behind(
        &self,
        network: &Network,
        switch: NodeId,
        to: HostId,
        seen: &mut BTreeSet<NodeId>,
        order: &mut Vec<NodeId>,
    ) {
        if seen.insert(switch) {
            for port in self.ports(switch, to) {
                self.after_all_behind(network, network.links[port.index()].to, to, seen, order);
            }
            order.push(switch);
        }
    }
}

/// The switches that hosts hang off, in order.
fn leaves(network: &Network) -> Vec<NodeId> {
    let hosts = network.hosts as usize;
    let mut leaves: Vec<_> =
        network.first_port[..hosts].iter().map(|&port| network.links[port as usize].to).collect();
    leaves.sort_unstable();
    leaves.dedup();
    leaves
}

impl RoutedPath {
    /// Propagation and processing along the path.
    #[must_use]
    pub fn delay(&self, network: &Network) -> Duration {
        self.links.iter().map(|port| network.links[port.index()].delay).sum()
    }

    /// The time until the last bit of a lone packet of `size` arrives: each link stores and forwards.
    #[must_use]
    pub fn one_way(&self, network: &Network, size: Bytes) -> Duration {
        self.links
            .iter()
            .map(|port| {
                let link = &network.links[port.index()];
                link.rate.transmission(size) + link.delay
            })
            .sum()
    }

    /// The time until the last bit of a message arrives in an empty network: `packets - 1` full packets of `mtu` and a
    /// last one of `last`, sent back to back, each link storing and forwarding.
    #[must_use]
    pub fn message(&self, network: &Network, packets: u64, mtu: Bytes, last: Bytes) -> Duration {
        if packets <= 1 {
            return self.one_way(network, last);
        }
        // The j-th of n - 1 equal packets leaves a link (j - 1) of the slowest transmissions so far after the first.
        let (mut first, mut slowest, mut last_out) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for port in &self.links {
            let link = &network.links[port.index()];
            let full = link.rate.transmission(mtu);
            slowest = slowest.max(full);
            let before_last = first + full + slowest * (packets - 2);
            last_out = last_out.max(before_last) + link.rate.transmission(last) + link.delay;
            first += full + link.delay;
        }
        last_out
    }
}

#[cfg(test)]
mod tests;
