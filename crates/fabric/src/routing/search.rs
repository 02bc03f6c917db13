//! Finds the groups of all switches: one search a pod, and one table for all switches that have found the same.

use super::table::{Group, RouteTable, Towards};
use crate::network::Network;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use farspan_units::{NodeId, PortId};

/// How leaves are told from the numbers of hosts: hosts whose numbers differ in the low bits alone are a block, as large as
/// it can be while all of a block hang off one leaf.
#[derive(Debug)]
pub(super) struct Blocks<'a> {
    pub(super) shift: u32,
    leaf_of: &'a [u32],
}

impl<'a> Blocks<'a> {
    pub(super) fn new(leaf_of: &'a [u32]) -> Self {
        // A block may begin wherever another leaf does: at a multiple of its size.
        let begins = (1..leaf_of.len()).filter(|&host| leaf_of[host] != leaf_of[host - 1]);
        let shift = begins.fold(0, core::ops::BitOr::bitor).trailing_zeros();
        Self { shift: shift.min(u32::BITS - 1), leaf_of }
    }

    /// The leaf of each block.
    pub(super) fn leaves(&self) -> impl ExactSizeIterator<Item = u32> {
        self.leaf_of.iter().copied().step_by(1 << self.shift)
    }
}

/// The groups of one switch as they are found: switches that have found the same share a table.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Found {
    /// Towards the leaves of each pod.
    by_pod: Vec<Group>,
    /// Towards leaves that the switch has links to.
    pub(super) direct: Vec<(u32, Group)>,
    pub(super) members: Vec<u32>,
}

impl Found {
    /// Nothing yet; what a table lists stays listed.
    pub(super) fn beside(table: &RouteTable) -> Self {
        Self { members: table.towards.members.to_vec(), ..Self::default() }
    }

    /// The group of these ports. A switch has the same ports towards most leaves: the members that were added
    /// last are reused, and consecutive ports are not listed at all, which keeps the table small.
    pub(super) fn group(&mut self, ports: impl Iterator<Item = u32>) -> Group {
        let old = self.members.len();
        self.members.extend(ports);
        let (before, new) = self.members.split_at(old);
        let count = new.len() as u32;
        let Some(&first) = new.first() else { return Group::NONE };
        if new.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
            self.members.truncate(old);
            return Group { first, count };
        }
        let is_kept = before.ends_with(new);
        if is_kept {
            self.members.truncate(old);
        }
        Group { first: self.members.len() as u32 - count, count: count | Group::LISTED }
    }

    /// As a table; `pod_of`: the pod of each leaf.
    fn spread(&self, pod_of: &[u32], blocks: &Blocks<'_>) -> Towards {
        let mut by_leaf: Vec<_> = pod_of.iter().map(|pod| self.by_pod[*pod as usize]).collect();
        for &(leaf, group) in &self.direct {
            by_leaf[leaf as usize] = group;
        }
        let groups = blocks.leaves().map(|leaf| by_leaf[leaf as usize]).collect();
        Towards { groups, members: self.members.as_slice().into() }
    }
}

/// The groups of all switches.
pub(super) struct Groups {
    /// The pod of each leaf.
    pod_of: Vec<u32>,
    /// The groups found for each switch.
    found: Vec<Found>,
}

impl Groups {
    /// Gives switches their tables, one to all that have found the same.
    pub(super) fn spread(&self, blocks: &Blocks<'_>, tables: &mut [RouteTable]) {
        let mut known = BTreeMap::new();
        for (found, table) in self.found.iter().zip(tables) {
            let towards = known.entry(found).or_insert_with(|| found.spread(&self.pod_of, blocks));
            table.towards = towards.clone();
        }
    }
}

/// A network as routes see it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) network: &'a Network,
    pub(super) avoided: Option<&'a BTreeSet<PortId>>,
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

    /// Every switch's group towards each leaf, beside what its table lists. The leaves of a pod are behind the same switches,
    /// and share the groups of all other switches: there is one search a pod.
    pub(super) fn groups(self, leaves: &[NodeId], tables: &[RouteTable]) -> Groups {
        let mut found: Vec<_> = tables.iter().map(Found::beside).collect();
        let (mut pods, mut pod_of) = (BTreeMap::new(), Vec::with_capacity(leaves.len()));
        for (number, &leaf) in (0..).zip(leaves) {
            let entries = self.next_to(leaf);
            for entry in &entries {
                let direct =
                    |port: &u32| self.network.links[*port as usize].to == leaf && self.is_used(PortId(*port));
                let found = &mut found[entry.index() - self.network.hosts as usize];
                let group = found.group(self.places(*entry, direct));
                found.direct.push((number, group));
            }
            let next = pods.len() as u32;
            let pod = pods.entry(entries);
            pod_of.push(*pod.or_insert_with_key(|entries| {
                self.search(entries, &mut found);
                next
            }));
        }
        Groups { pod_of, found }
    }

    /// Breadth-first from `entries`: every switch gets the ports that lead one link closer to the nearest of them.
    fn search(self, entries: &[NodeId], found: &mut [Found]) {
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
        for (node, found) in (network.hosts..).map(NodeId).zip(found) {
            let closer = |port: &u32| {
                let to = distance[network.links[*port as usize].to.index()];
                to != u32::MAX && to + 1 == distance[node.index()] && self.is_used(PortId(*port))
            };
            let group = found.group(self.places(node, closer));
            found.by_pod.push(group);
        }
    }

    /// Those of a node's ports that are wanted, counted from its first.
    fn places(self, node: NodeId, is_wanted: impl Fn(&u32) -> bool) -> impl Iterator<Item = u32> {
        let ports = self.network.ports_of(node);
        let first = ports.start;
        ports.filter(is_wanted).map(move |port| port - first)
    }
}
