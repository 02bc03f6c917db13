//! Shortest-path routes and per-switch salted ECMP.

use crate::network::{Network, NodeKind};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use farspan_units::random::{self, Random, mix};
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Purpose};

/// The ports of one switch towards one destination: `count` consecutive ones from `first`, or as many entries of the
/// table's members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Group {
    first: u32,
    /// With [`Group::LISTED`] if `first` is a place among the members.
    count: u32,
}

impl Group {
    const LISTED: u32 = 1 << 31;
}

/// The routes of one switch: a group of equal-cost ports for every leaf switch (the one a host hangs off).
#[derive(Clone, Debug)]
pub struct RouteTable {
    /// By leaf.
    groups: Vec<Group>,
    members: Vec<PortId>,
    /// This switch's own leaf number, or [`u32::MAX`].
    own_leaf: u32,
    /// The lowest of its hosts.
    own_first: HostId,
    /// The ports to its hosts, from the lowest host on.
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
        if leaf == self.own_leaf {
            return Some(self.own[(to.0 - self.own_first.0) as usize]);
        }
        let Group { first, count } = self.groups[leaf as usize];
        if count <= 1 {
            return (count == 1).then_some(PortId(first));
        }
        let hash = mix(self.salt ^ (u64::from(flow.0) << 16 | u64::from(entropy)));
        let pick = |count: u32| (((hash >> 32) * u64::from(count)) >> 32) as u32;
        if count & Group::LISTED == 0 {
            return Some(PortId(first + pick(count)));
        }
        Some(self.members[(first + pick(count & !Group::LISTED)) as usize])
    }

    /// The group of these ports. A switch leads most leaves to the same ports: those that were added last are not kept
    /// twice, and consecutive ones not at all, which keeps the table small enough to stay in the cache.
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
}

/// The way from one host to another: every link of one of the equal-cost paths, and what it adds up to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Walk {
    /// Its links, the sender's NIC first.
    pub links: Vec<PortId>,
}

impl Routes {
    /// All shortest paths by number of links; `seed` salts the hashes, each with the switch's name.
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
        Self { leaf_of, tables }
    }

    /// The shortest paths that avoid some links, where there are any: a switch without such a path to a leaf keeps the
    /// routes that it has. (It leads only to others like it, or to a link that is avoided: packets do not circle.)
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
        routes
    }

    /// One of the equal-cost ways from `from` to `to`; in the generated topologies all have the same links by tier.
    ///
    /// # Panics
    /// If there is no way.
    #[must_use]
    pub fn walk(&self, network: &Network, from: HostId, to: HostId) -> Walk {
        let mut port = PortId(network.first_port[from.index()]);
        let mut links = Vec::with_capacity(9);
        loop {
            links.push(port);
            let node = network.links[port.index()].to;
            if network.nodes[node.index()].kind == NodeKind::Host {
                return Walk { links };
            }
            port = self.tables[node.index()]
                .port(to, self.leaf_of[to.index()], FlowId(0), 0)
                .expect("the generated topologies are connected");
        }
    }
}

/// The ports of a leaf switch to its hosts, which are numbered consecutively.
fn own_hosts(network: &Network, leaf: NodeId, number: u32) -> (u32, HostId, Vec<PortId>) {
    let mut ports: Vec<_> = network
        .ports_of(leaf)
        .map(PortId)
        .filter(|port| network.links[port.index()].to.0 < network.hosts)
        .collect();
    ports.sort_unstable_by_key(|port| network.links[port.index()].to);
    let first = HostId(network.links[ports[0].index()].to.0);
    (number, first, ports)
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

    /// Gives every switch its group towards each leaf. The leaves of a pod stand behind the same switches, and share the
    /// groups of all the others: there is one search a pod.
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

impl Walk {
    /// Propagation and processing along the way.
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
