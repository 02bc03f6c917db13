//! Shortest-path routes and per-switch salted ECMP.

use crate::network::{Network, NodeKind, Tier};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use farspan_units::random::{self, Random, mix};
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Purpose};

/// The ports of one switch towards one destination: `count` consecutive ones from `first`, or as many entries of the
/// table's members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Group {
    first: u32,
    /// With [`Group::LISTED`] if `first` is an index into the members.
    count: u32,
}

impl Group {
    const LISTED: u32 = 1 << 31;
}

/// The routes of one switch: a group of equal-cost ports for every leaf switch (the one a host hangs off).
#[derive(Clone, Debug)]
pub struct RouteTable {
    /// By leaf; none towards its own hosts.
    groups: Vec<Group>,
    members: Vec<PortId>,
    /// This switch's own leaf number, or [`u32::MAX`].
    own_leaf: u32,
    /// The lowest of its hosts.
    own_first: HostId,
    /// The ports to its hosts, from the lowest host on; hosts of others between them have any.
    own: Vec<PortId>,
    /// Hashed with (flow, entropy).
    salt: u64,
}

impl RouteTable {
    /// The port for a packet to `to`, whose leaf is `leaf`: the hash of (salt, flow, entropy) picks among equal-cost
    /// ports. `None` if there is no path.
    #[must_use]
    #[inline(always)]
    pub fn port(&self, to: HostId, leaf: u32, flow: FlowId, entropy: u16) -> Option<PortId> {
        let Group { first, count } = self.groups[leaf as usize];
        if count == 1 {
            return Some(PortId(first));
        }
        if count == 0 {
            let is_own = leaf == self.own_leaf;
            return is_own.then(|| self.own[(to.0 - self.own_first.0) as usize]);
        }
        let hash = mix(self.salt ^ (u64::from(flow.0) << 16 | u64::from(entropy)));
        let pick = |count: u32| (((hash >> 32) * u64::from(count)) >> 32) as u32;
        if count & Group::LISTED == 0 {
            return Some(PortId(first + pick(count)));
        }
        Some(self.members[(first + pick(count & !Group::LISTED)) as usize])
    }

    /// The equal-cost ports towards a leaf; one that is listed twice gets twice as much. None towards its own hosts.
    pub(crate) fn group_of(&self, leaf: u32) -> impl Iterator<Item = PortId> + '_ {
        let Group { first, count } = self.groups[leaf as usize];
        let places = first..first + (count & !Group::LISTED);
        places.map(move |place| match count & Group::LISTED {
            0 => PortId(place),
            _ => self.members[place as usize],
        })
    }

    /// The group of these ports. A switch has the same ports towards most leaves: the members that were added
    /// last are reused, and consecutive ports are not listed at all, which keeps the table small.
    fn group(&mut self, ports: impl Iterator<Item = PortId>) -> Group {
        let old = self.members.len();
        self.members.extend(ports);
        let (before, new) = self.members.split_at(old);
        let count = new.len() as u32;
        if new.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0) {
            let first = new.first().map_or(0, |port| port.0);
            self.members.truncate(old);
            return Group { first, count };
        }
        let is_kept = before.ends_with(new);
        if is_kept {
            self.members.truncate(old);
        }
        Group { first: self.members.len() as u32 - count, count: count | Group::LISTED }
    }
}

/// The routes of a network.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The leaf number of each host's switch.
    pub leaf_of: Vec<u32>,
    /// By node; hosts have empty tables.
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
        let leaf_of = (0..hosts)
            .map(|h| {
                let leaf = network.links[network.first_port[h] as usize].to;
                leaves.binary_search(&leaf).expect("a host's switch is a leaf") as u32
            })
            .collect();
        let mut tables: Vec<RouteTable> = network
            .nodes
            .iter()
            .map(|node| RouteTable {
                groups: Vec::new(),
                members: Vec::new(),
                own_leaf: u32::MAX,
                own_first: HostId(0),
                own: Vec::new(),
                salt: Random::new(seed, Purpose::Ecmp, random::entity(&node.name)).at(0),
            })
            .collect();
        for (number, &leaf) in (0..).zip(&leaves) {
            let table = &mut tables[leaf.index()];
            (table.own_leaf, table.own_first, table.own) = own_hosts(network, leaf, number);
        }
        View { network, avoided: None }.add_groups(&leaves, &mut tables);
        let mut routes = Self { leaf_of, tables, even: is_even(network) };
        routes.add_named_groups(network, &leaves, &BTreeSet::new());
        routes
    }

    /// Replaces ports by those that the network names, except those to be avoided.
    fn add_named_groups(&mut self, network: &Network, leaves: &[NodeId], avoided: &BTreeSet<PortId>) {
        for named in &network.groups {
            let Ok(leaf) = leaves.binary_search(&named.leaf) else { continue };
            let table = &mut self.tables[named.switch.index()];
            let group = table.group(named.ports.iter().copied().filter(|port| !avoided.contains(port)));
            if group.count & !Group::LISTED > 0 && table.own_leaf != leaf as u32 {
                table.groups[leaf] = group;
            }
        }
    }

    /// The ports of a switch towards a leaf.
    fn ports(&self, switch: NodeId, leaf: u32) -> impl Iterator<Item = PortId> + '_ {
        self.tables[switch.index()].group_of(leaf)
    }

    /// Switches that form a routing loop for packets to a leaf (the first), if there is one.
    #[must_use]
    pub fn routing_loop(&self, network: &Network) -> Option<(NodeId, Vec<NodeId>)> {
        let leaves = leaves(network);
        let routing_loop = |(number, leaf): (u32, &NodeId)| Some((*leaf, self.loop_to(network, number)?));
        (0..).zip(&leaves).find_map(routing_loop)
    }

    fn loop_to(&self, network: &Network, leaf: u32) -> Option<Vec<NodeId>> {
        let next = |node| {
            let ports = self.ports(node, leaf);
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
        let known: Vec<_> =
            routes.tables.iter_mut().map(|table| core::mem::take(&mut table.groups)).collect();
        let view = View { network, avoided: Some(links) };
        view.add_groups(&leaves(network), &mut routes.tables);
        for (table, known) in routes.tables.iter_mut().zip(known) {
            let without = table.groups.iter_mut().zip(known).filter(|(group, _)| group.count == 0);
            without.for_each(|(group, known)| *group = known);
        }
        if network.groups.is_empty() {
            return routes;
        }
        let around = routes.clone();
        routes.add_named_groups(network, &leaves(network), links);
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
            port = self.tables[node.index()]
                .port(to, self.leaf_of[to.index()], FlowId(0), 0)
                .expect("the topologies are connected");
        }
    }
}

/// The ports of a leaf switch to its hosts, by host from the lowest to the highest.
fn own_hosts(network: &Network, leaf: NodeId, number: u32) -> (u32, HostId, Vec<PortId>) {
    let to = |port: PortId| network.links[port.index()].to.0;
    let ports: Vec<_> = network.ports_of(leaf).map(PortId).filter(|&port| to(port) < network.hosts).collect();
    let first = ports.iter().map(|&port| to(port)).min().expect("a leaf has hosts");
    let last = ports.iter().map(|&port| to(port)).max().expect("a leaf has hosts");
    let mut own = alloc::vec![ports[0]; (last - first + 1) as usize];
    for port in ports {
        own[(to(port) - first) as usize] = port;
    }
    (number, HostId(first), own)
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
        let leaf = self.leaf_of[to.index()];
        let table = &self.tables[switch.index()];
        let own = (table.own_leaf == leaf).then(|| table.own[(to.0 - table.own_first.0) as usize]);
        let mut best: Option<(Duration, PortId)> = None;
        for port in own.into_iter().chain(self.ports(switch, leaf)) {
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
        let leaf = self.leaf_of[to.index()];
        let nic = PortId(network.first_port[from.index()]);
        let first = network.links[nic.index()].to;
        let mut order = Vec::new();
        self.after_all_behind(network, first, leaf, &mut BTreeSet::new(), &mut order);
        let mut at = BTreeMap::from([(first, 1.0)]);
        let mut shares = alloc::vec![(nic, 1.0)];
        for switch in order.into_iter().rev() {
            let ports: Vec<_> = self.ports(switch, leaf).collect();
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
        leaf: u32,
        seen: &mut BTreeSet<NodeId>,
        order: &mut Vec<NodeId>,
    ) {
        if seen.insert(switch) {
            for port in self.ports(switch, leaf) {
                self.after_all_behind(network, network.links[port.index()].to, leaf, seen, order);
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

/// A network as routes see it.
#[derive(Clone, Copy)]
struct View<'a> {
    network: &'a Network,
    avoided: Option<&'a BTreeSet<PortId>>,
}

impl View<'_> {
    fn is_used(self, port: PortId) -> bool {
        self.avoided.is_none_or(|avoided| !avoided.contains(&port))
    }

    /// Whether a packet can go from `from` over one link to `to`; the two are neighbours. Links come in pairs, so the
    /// neighbours that one can reach are those that one can be reached from, unless links are avoided.
    fn leads(self, from: NodeId, to: NodeId) -> bool {
        let mut ports = self.network.ports_of(from).map(PortId);
        self.avoided.is_none()
            || ports.any(|port| self.network.links[port.index()].to == to && self.is_used(port))
    }

    /// The switches that have a link to a leaf switch.
    fn next_to(self, leaf: NodeId) -> Vec<NodeId> {
        let ends = self.network.ports_of(leaf).map(|port| self.network.links[port as usize].to);
        let mut switches: Vec<_> =
            ends.filter(|&to| to.0 >= self.network.hosts && self.leads(to, leaf)).collect();
        switches.sort_unstable();
        switches.dedup();
        switches
    }

    /// Gives every switch its group towards each leaf. The leaves of a pod are behind the same switches, and
    /// share the groups of all other switches: there is one search a pod.
    fn add_groups(self, leaves: &[NodeId], tables: &mut [RouteTable]) {
        let mut beyond = BTreeMap::new();
        for &leaf in leaves {
            let entries = self.next_to(leaf);
            let groups = beyond.entry(entries.clone()).or_insert_with(|| self.towards(&entries, tables));
            let switches = tables.iter_mut().skip(self.network.hosts as usize);
            switches.zip(&*groups).for_each(|(table, group)| table.groups.push(*group));
            for entry in entries {
                let direct =
                    |port: &PortId| self.network.links[port.index()].to == leaf && self.is_used(*port);
                let table = &mut tables[entry.index()];
                let group = table.group(self.network.ports_of(entry).map(PortId).filter(direct));
                *table.groups.last_mut().expect("it has just got one") = group;
            }
        }
        for table in tables.iter_mut().filter(|table| table.own_leaf != u32::MAX) {
            table.groups[table.own_leaf as usize] = Group::default();
        }
    }

    /// Breadth-first from `entries`: every switch gets the ports that lead one link closer to the nearest of them.
    fn towards(self, entries: &[NodeId], tables: &mut [RouteTable]) -> Vec<Group> {
        let network = self.network;
        let mut distance = alloc::vec![u32::MAX; network.nodes.len()];
        let mut queue: alloc::collections::VecDeque<_> = entries.iter().copied().collect();
        entries.iter().for_each(|entry| distance[entry.index()] = 0);
        while let Some(node) = queue.pop_front() {
            for port in network.ports_of(node) {
                let next = network.links[port as usize].to;
                let is_new = next.0 >= network.hosts && distance[next.index()] == u32::MAX;
                if is_new && self.leads(next, node) {
                    distance[next.index()] = distance[node.index()] + 1;
                    queue.push_back(next);
                }
            }
        }
        let group = |(node, table): (usize, &mut RouteTable)| {
            let closer = |port: &PortId| {
                let to = distance[network.links[port.index()].to.index()];
                to != u32::MAX && to + 1 == distance[node] && self.is_used(*port)
            };
            table.group(network.ports_of(NodeId(node as u32)).map(PortId).filter(closer))
        };
        tables.iter_mut().enumerate().skip(network.hosts as usize).map(group).collect()
    }
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
        // Of n - 1 equal packets, the j-th leaves a link (j - 1) of the slowest transmissions so far after the first.
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
