//! Nodes and links.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, HostId, NodeId, PortId, Rate};

/// The role of a node in the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NodeKind {
    /// Sends and receives.
    Host,
    /// The switch of a rack.
    Tor,
    /// Aggregation (or spine) switch.
    Agg,
    /// Core switch.
    Core,
    /// Border switch or backbone router between sites.
    Border,
}

/// A node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// `host240`, `tor60`, `agg3`, `core0`, `border1`, `router9`: numbered through the sites.
    pub name: String,
    /// The role of the node.
    pub kind: NodeKind,
    /// The site (datacenter) of the node, from 0.
    pub site: u32,
}

/// Where a link lies: ports are configured by tier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Tier {
    /// Host to ToR: the NIC.
    HostUp = 0,
    /// ToR to host.
    HostDown = 1,
    /// Between switches of one site.
    Fabric = 2,
    /// Between a core and a border switch.
    Border = 3,
    /// Between sites, or between a site and the backbone.
    Wan = 4,
}

impl Tier {
    /// How many tiers there are.
    pub const COUNT: usize = 5;
    /// All tiers, in order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::HostUp, Self::HostDown, Self::Fabric, Self::Border, Self::Wan];
}

/// A directed link, and with it the port it leaves from; [`PortId`] is its position in [`Network::links`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The node it leaves.
    pub from: NodeId,
    /// The node it reaches.
    pub to: NodeId,
    /// Which of several parallel links from `from` to `to` it is, from 0.
    pub index: u32,
    /// Its rate.
    pub rate: Rate,
    /// Propagation, plus processing at the far end.
    pub delay: Duration,
    /// Where it lies.
    pub tier: Tier,
    /// The buffer of its port for data, in bytes, where the topology gives one; `None`: that of its tier.
    pub buffer: Option<Bytes>,
}

/// Ports by which a switch sends towards a leaf, instead of those that lead one link closer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortGroup {
    /// The switch.
    pub switch: NodeId,
    /// The switch that the hosts to be reached hang off.
    pub leaf: NodeId,
    /// The ports, in order; one that is listed twice gets twice as much.
    pub ports: Vec<PortId>,
}

/// Nodes and links. Hosts come first: a host's [`NodeId`] is its [`HostId`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Network {
    /// All nodes.
    pub nodes: Vec<Node>,
    /// How many of them are hosts.
    pub hosts: u32,
    /// All directed links, by [`PortId`]; those that leave one node are consecutive.
    pub links: Vec<Link>,
    /// The first port of each node, and one past the last port of all.
    pub first_port: Vec<u32>,
    /// Ports that the topology names itself; none in the generated ones.
    pub groups: Vec<PortGroup>,
}

impl Network {
    /// Orders the links by the node they leave, then as they were added, numbers parallel ones, and finds
    /// each node's first.
    pub(crate) fn sort_links(&mut self) {
        self.links.sort_by_key(|link| link.from);
        let mut parallel: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
        for link in &mut self.links {
            let n = parallel.entry((link.from, link.to)).or_default();
            link.index = *n;
            *n += 1;
        }
        let first = |n: usize| self.links.partition_point(|link| link.from.index() < n) as u32;
        self.first_port = (0..=self.nodes.len()).map(first).collect();
    }

    /// `FROM->TO#n`.
    #[must_use]
    pub fn port_name(&self, port: PortId) -> String {
        let link = &self.links[port.index()];
        alloc::format!(
            "{}->{}#{}",
            self.nodes[link.from.index()].name,
            self.nodes[link.to.index()].name,
            link.index
        )
    }

    /// The link in the other direction, for each link; among parallel ones that with the same index.
    ///
    /// # Panics
    /// If a link has none; the topologies have one for each.
    #[must_use]
    pub fn reverse_links(&self) -> Vec<PortId> {
        let ends = |link: &Link| (link.from, link.to, link.index);
        let known: BTreeMap<_, _> = self.links.iter().map(ends).zip((0..).map(PortId)).collect();
        let reverse = |link: &Link| known[&(link.to, link.from, link.index)];
        self.links.iter().map(reverse).collect()
    }

    /// The ports of a node.
    #[must_use]
    pub fn ports_of(&self, node: NodeId) -> core::ops::Range<u32> {
        self.first_port[node.index()]..self.first_port[node.index() + 1]
    }

    /// Whether a node has a link to another site.
    #[must_use]
    pub fn is_border(&self, node: NodeId) -> bool {
        self.ports_of(node).any(|port| self.links[port as usize].tier == Tier::Wan)
    }

    /// The port with this name, if there is one.
    #[must_use]
    pub fn port_named(&self, name: &str) -> Option<PortId> {
        (0..self.links.len() as u32).map(PortId).find(|&port| self.port_name(port) == name)
    }

    /// The site of a host.
    #[must_use]
    pub fn site(&self, host: HostId) -> u32 {
        self.nodes[host.index()].site
    }
}
