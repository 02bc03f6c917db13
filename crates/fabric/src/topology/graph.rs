//! Networks of any shape: nodes, links, and where asked for the ports that packets take.

use super::MOST_HOSTS;
use crate::network::{Link, Network, Node, NodeKind, PortGroup, Tier};
use crate::routing::Routes;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;
use farspan_units::{Bytes, Duration, NodeId, PortId, Rate};

/// A network by its nodes and links. Hosts are numbered through the sites, at each site in their order here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// How many sites there are.
    pub sites: u32,
    /// Hosts and switches.
    pub nodes: Vec<GraphNode>,
    /// Links, each full duplex.
    pub links: Vec<GraphLink>,
    /// Ports that replace those of the shortest paths.
    pub groups: Vec<GraphGroup>,
}

/// A host or a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphNode {
    /// Its name.
    pub name: String,
    /// Whether it is a host.
    pub is_host: bool,
    /// Its site, from 0.
    pub site: u32,
    /// Processing, of a switch; counts as part of the delay of each link that leads to it.
    pub switch_delay: Duration,
}

/// A link, full duplex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphLink {
    /// Both ends, as positions among the nodes.
    pub ends: [usize; 2],
    /// Its rate, each way.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// Data bytes that its ports hold: that of the first end, and of the second; `None`: as their tier's.
    pub buffers: [Option<Bytes>; 2],
}

/// The ports by which a switch sends towards others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphGroup {
    /// The switch, as a position among the nodes.
    pub switch: usize,
    /// Switches with hosts, to which these hold, as positions among the nodes.
    pub leaves: Vec<usize>,
    /// The neighbours to send to, as positions among the nodes, by which of the parallel links (`None`: all). One that
    /// is listed twice gets twice as much.
    pub via: Vec<(usize, Option<u32>)>,
}

/// Which part of a graph an error is about; positions in [`Graph`]'s lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphPart {
    /// The graph as a whole.
    Whole,
    /// A site.
    Site(u32),
    /// A node.
    Node(usize),
    /// A link.
    Link(usize),
    /// A group of ports.
    Group(usize),
}

/// Why a graph is no network.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem}; {cure}")]
pub struct GraphError {
    /// Where.
    pub part: GraphPart,
    /// The problem.
    pub problem: String,
    /// The cure: how to change the graph.
    pub cure: String,
}

impl GraphError {
    fn new(part: GraphPart, problem: impl Display, cure: impl Display) -> Self {
        Self { part, problem: format!("{problem}"), cure: format!("{cure}") }
    }
}

impl Graph {
    /// Builds the network. A switch with hosts is a ToR, one without that has a link to another site a border
    /// switch, any other a core switch: that decides where `--threads` may cut, and the tier of a link.
    ///
    /// # Errors
    /// If a name is used twice, a host has not exactly one link, to a switch, a link ends where it begins or
    /// has no rate, a site has no hosts, some hosts cannot reach the others, or groups name no ports or form
    /// a routing loop.
    ///
    /// # Panics
    /// If a position is out of range.
    pub fn build(&self) -> Result<Network, GraphError> {
        self.check()?;
        let order = self.order();
        let mut id_of = alloc::vec![NodeId(0); self.nodes.len()];
        (0..).zip(&order).for_each(|(id, &node)| id_of[node] = NodeId(id));
        let kinds = self.kinds();
        let mut network = Network { hosts: self.hosts() as u32, ..Network::default() };
        network.nodes = order
            .iter()
            .map(|&n| Node { name: self.nodes[n].name.clone(), kind: kinds[n], site: self.nodes[n].site })
            .collect();
        for link in &self.links {
            for (a, b) in [(0, 1), (1, 0)] {
                let [from, to] = [link.ends[a], link.ends[b]];
                network.links.push(Link {
                    from: id_of[from],
                    to: id_of[to],
                    index: 0,
                    rate: link.rate,
                    delay: link.delay + self.nodes[to].switch_delay,
                    tier: self.tier(&kinds, from, to),
                    buffer: link.buffers[a],
                });
            }
        }
        network.sort_links();
        self.reach(&network, &order)?;
        self.add_groups(&mut network, &id_of)?;
        Ok(network)
    }

    fn hosts(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_host).count()
    }

    /// Hosts by site, then switches as they come.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<_> = (0..self.nodes.len()).collect();
        order.sort_by_key(|&n| {
            (!self.nodes[n].is_host, if self.nodes[n].is_host { self.nodes[n].site } else { 0 })
        });
        order
    }

    fn kinds(&self) -> Vec<NodeKind> {
        let start = |node: &GraphNode| if node.is_host { NodeKind::Host } else { NodeKind::Core };
        let mut kinds: Vec<_> = self.nodes.iter().map(start).collect();
        for link in &self.links {
            for (from, to) in [(link.ends[0], link.ends[1]), (link.ends[1], link.ends[0])] {
                kinds[from] = match kinds[from] {
                    NodeKind::Host => NodeKind::Host,
                    _ if self.nodes[to].is_host => NodeKind::Tor,
                    NodeKind::Core if self.nodes[from].site != self.nodes[to].site => NodeKind::Border,
                    other => other,
                };
            }
        }
        kinds
    }

    fn tier(&self, kinds: &[NodeKind], from: usize, to: usize) -> Tier {
        let border = |n: usize| kinds[n] == NodeKind::Border;
        if self.nodes[from].is_host {
            Tier::HostUp
        } else if self.nodes[to].is_host {
            Tier::HostDown
        } else if self.nodes[from].site != self.nodes[to].site {
            Tier::Wan
        } else if border(from) != border(to) {
            Tier::Border
        } else {
            Tier::Fabric
        }
    }

    /// Checks all that can be checked without routes.
    fn check(&self) -> Result<(), GraphError> {
        let mut names = BTreeMap::new();
        for (n, node) in self.nodes.iter().enumerate() {
            if names.insert(&node.name, n).is_some() {
                let problem = format_args!("there is more than one node {:?}", node.name);
                return Err(GraphError::new(GraphPart::Node(n), problem, "give each a name of its own"));
            }
        }
        let hosts = self.hosts() as u64;
        if !(2..=MOST_HOSTS).contains(&hosts) {
            let cure = format_args!("give from 2 to {MOST_HOSTS}");
            return Err(GraphError::new(GraphPart::Whole, format_args!("{hosts} hosts"), cure));
        }
        for site in 0..self.sites {
            if !self.nodes.iter().any(|node| node.is_host && node.site == site) {
                let cure = "give it a host, or move its switches to another site";
                return Err(GraphError::new(GraphPart::Site(site), "a site without hosts", cure));
            }
        }
        self.check_links()?;
        self.check_numbers()
    }

    fn check_links(&self) -> Result<(), GraphError> {
        let mut links_of = alloc::vec![0_u32; self.nodes.len()];
        for (l, link) in self.links.iter().enumerate() {
            let fail = |problem: String, cure: &str| Err(GraphError::new(GraphPart::Link(l), problem, cure));
            let [a, b] = link.ends.map(|end| &self.nodes[end]);
            if link.ends[0] == link.ends[1] {
                return fail(format!("{} would have a link to itself", a.name), "give two different nodes");
            }
            if link.rate.is_zero() {
                return fail(
                    format!("{} and {}: no packet can be sent at {}", a.name, b.name, link.rate),
                    "give a rate",
                );
            }
            if a.is_host && b.is_host {
                let cure = "put a switch between the two";
                return fail(format!("{} and {} are both hosts", a.name, b.name), cure);
            }
            for end in link.ends {
                links_of[end] += 1;
                if self.nodes[end].is_host && links_of[end] > 1 {
                    let problem = format!("{} has a second link, but a host has one", self.nodes[end].name);
                    return fail(problem, "remove one; wiring = \"blocks\" deals hosts to switches in turn");
                }
            }
        }
        let lonely = links_of.iter().position(|&count| count == 0);
        lonely.map_or(Ok(()), |n| {
            let problem = format_args!("{} has no link", self.nodes[n].name);
            Err(GraphError::new(GraphPart::Node(n), problem, "add a [[link]] from it to a switch"))
        })
    }

    /// A host called `host7` must be host 7.
    fn check_numbers(&self) -> Result<(), GraphError> {
        for (number, n) in self.order().into_iter().take(self.hosts()).enumerate() {
            let said =
                self.nodes[n].name.strip_prefix("host").and_then(|digits| digits.parse::<usize>().ok());
            if said.is_some_and(|said| said != number) {
                let problem = format_args!(
                    "{} is host {number}: hosts are numbered through the sites, from 0, in the order of the file",
                    self.nodes[n].name
                );
                let cure = format_args!("call it host{number}, move it, or give it another word");
                return Err(GraphError::new(GraphPart::Node(n), problem, cure));
            }
        }
        Ok(())
    }

    /// Every host must reach every other.
    fn reach(&self, network: &Network, order: &[usize]) -> Result<(), GraphError> {
        let mut reached = alloc::vec![false; network.nodes.len()];
        let mut open = alloc::vec![NodeId(0)];
        reached[0] = true;
        while let Some(node) = open.pop() {
            for port in network.ports_of(node) {
                let to = network.links[port as usize].to;
                if !core::mem::replace(&mut reached[to.index()], true) {
                    open.push(to);
                }
            }
        }
        let cut_off = reached.iter().position(|reached| !reached);
        cut_off.map_or(Ok(()), |n| {
            let problem =
                format_args!("no path leads from {} to {}", network.nodes[0].name, network.nodes[n].name);
            let cure = "add the [[link]] that is missing between the two";
            Err(GraphError::new(GraphPart::Node(order[n]), problem, cure))
        })
    }

    fn add_groups(&self, network: &mut Network, id_of: &[NodeId]) -> Result<(), GraphError> {
        let mut said = BTreeMap::new();
        for (g, group) in self.groups.iter().enumerate() {
            let ports = self.ports(network, id_of, g)?;
            let fail = |problem: String, cure: &str| Err(GraphError::new(GraphPart::Group(g), problem, cure));
            for &leaf in &group.leaves {
                let (switch, leaf) = (id_of[group.switch], id_of[leaf]);
                let [at, to] = [switch, leaf].map(|node| &network.nodes[node.index()].name);
                if network.nodes[leaf.index()].kind != NodeKind::Tor {
                    return fail(
                        format!("{to} has no hosts, so nothing is sent to it"),
                        "name switches with hosts",
                    );
                }
                if switch == leaf {
                    continue;
                }
                if said.insert((switch, leaf), g).is_some() {
                    let problem = format!("the ports of {at} towards {to} were given before");
                    return fail(problem, "give them once, in one [[ecmp]]");
                }
                network.groups.push(PortGroup { switch, leaf, ports: ports.clone() });
            }
        }
        if network.groups.is_empty() {
            return Ok(());
        }
        let Some((leaf, cycle)) = Routes::new(network, 0).routing_loop(network) else { return Ok(()) };
        let name = |node: &NodeId| network.nodes[node.index()].name.as_str();
        let group = cycle.iter().find_map(|&switch| said.get(&(switch, leaf)));
        let path = cycle.iter().chain(cycle.first()).map(name).collect::<Vec<_>>().join(" -> ");
        let problem = format_args!("packets to {} would be in a routing loop: {path}", name(&leaf));
        let part = group.map_or(GraphPart::Whole, |&group| GraphPart::Group(group));
        Err(GraphError::new(part, problem, "let each switch send on to one that is nearer"))
    }

    /// The ports of a group, as often as they are listed.
    fn ports(&self, network: &Network, id_of: &[NodeId], g: usize) -> Result<Vec<PortId>, GraphError> {
        let group = &self.groups[g];
        let switch = id_of[group.switch];
        let at = &network.nodes[switch.index()].name;
        let fail = |problem: String, cure: &str| Err(GraphError::new(GraphPart::Group(g), problem, cure));
        let mut ports = Vec::new();
        for &(to, index) in &group.via {
            let next = &network.nodes[id_of[to].index()].name;
            if self.nodes[to].is_host {
                return fail(format!("{next} is a host"), "name switches beside it");
            }
            let there = |port: &PortId| {
                let link = &network.links[port.index()];
                link.to == id_of[to] && index.is_none_or(|index| link.index == index)
            };
            let found: Vec<_> = network.ports_of(switch).map(PortId).filter(there).collect();
            if found.is_empty() {
                let index = index.map_or(String::new(), |index| format!("#{index}"));
                return fail(
                    format!("there is no link {at}->{next}{index}"),
                    "name switches that it has links to",
                );
            }
            ports.extend(found);
        }
        if ports.is_empty() {
            return fail(format!("{at} would have no next hop"), "give at least one neighbour");
        }
        ports.sort_unstable();
        Ok(ports)
    }
}

#[cfg(test)]
mod tests;
