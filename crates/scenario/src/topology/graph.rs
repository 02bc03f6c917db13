//! From names and ranges to a graph.

use super::{Base, TopologyFile};
use crate::error::{Problem, ValueError};
use crate::names;
use crate::ranges;
use crate::value::{Names, NodeType, Wiring};
use farspan_fabric::topology::{Graph, GraphError, GraphGroup, GraphLink, GraphNode, GraphPart};
use farspan_units::Duration;
use std::collections::BTreeMap;

/// The most parallel links between two nodes.
pub(super) const MOST_PARALLEL: u32 = 4096;
/// The most names of one key.
const MOST_NAMES: usize = 1 << 20;
/// The most nodes, and the most links, of a topology.
const MOST: usize = 1 << 22;

/// A graph, and which entry of the file each of its parts comes from.
pub(super) struct Parts<'a> {
    pub graph: Graph,
    file: &'a TopologyFile,
    base: Base,
    sites: BTreeMap<&'a str, u32>,
    /// Positions of nodes by name.
    nodes: BTreeMap<String, usize>,
    node_entries: Vec<usize>,
    link_entries: Vec<usize>,
    group_entries: Vec<usize>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(file: &'a TopologyFile, base: &Base) -> Result<Self, ValueError> {
        let mut parts = Self {
            graph: Graph { sites: file.site.len().max(1) as u32, ..Graph::default() },
            file,
            base: *base,
            sites: BTreeMap::new(),
            nodes: BTreeMap::new(),
            node_entries: Vec::new(),
            link_entries: Vec::new(),
            group_entries: Vec::new(),
        };
        parts.add_sites()?;
        (0..file.node.len()).try_for_each(|n| parts.add_nodes(n))?;
        (0..file.link.len()).try_for_each(|l| parts.add_links(l))?;
        (0..file.ecmp.len()).try_for_each(|g| parts.add_groups(g))?;
        Ok(parts)
    }

    /// An error of the graph at the entry that it comes from.
    pub(super) fn error(&self, error: GraphError) -> ValueError {
        let path = match error.part {
            GraphPart::Whole => "node".to_owned(),
            GraphPart::Site(site) => format!("site[{site}]"),
            GraphPart::Node(n) => format!("node[{}]", self.node_entries[n]),
            GraphPart::Link(l) => format!("link[{}]", self.link_entries[l]),
            GraphPart::Group(g) => format!("ecmp[{}]", self.group_entries[g]),
        };
        ValueError::new(path, Problem::Graph(error))
    }

    fn add_sites(&mut self) -> Result<(), ValueError> {
        for (s, site) in self.file.site.iter().enumerate() {
            let path = format!("site[{s}].name");
            let Some(name) = site.name.as_deref() else {
                return Err(ValueError::missing(path, "the site a name, such as \"west\""));
            };
            check_name(&path, name)?;
            if self.sites.insert(name, s as u32).is_some() {
                let problem = format!("there is more than one site {name:?}");
                return Err(ValueError::rule(path, problem, "give each a name of its own"));
            }
        }
        Ok(())
    }

    fn site(&self, path: &str, name: Option<&str>) -> Result<u32, ValueError> {
        match name {
            Some(name) => self.sites.get(name).copied().ok_or_else(|| {
                let known: Vec<_> = self.sites.keys().copied().collect();
                if known.is_empty() {
                    let cure = "add [[site]] with this name, or remove the key: there is one site then";
                    return ValueError::rule(path, format!("{name:?} is not a known site"), cure);
                }
                ValueError::unknown(path, "site", name, &known, &[])
            }),
            None if self.sites.len() > 1 => {
                let known: Vec<_> = self.sites.keys().copied().collect();
                Err(ValueError::missing(path, format!("one of {}", known.join(", "))))
            }
            None => Ok(0),
        }
    }

    fn add_nodes(&mut self, n: usize) -> Result<(), ValueError> {
        let (node, path) = (&self.file.node[n], |key: &str| format!("node[{n}].{key}"));
        let kind = node.kind.ok_or_else(|| ValueError::missing(path("kind"), "\"host\" or \"switch\""))?;
        let site = self.site(&path("site"), node.site.as_deref())?;
        if kind == NodeType::Host && node.switch_delay.is_some() {
            return Err(ValueError::rule(path("switch_delay"), "hosts have none", "remove it"));
        }
        for name in
            expand_all(&path("name"), node.name.as_ref(), "a name, such as \"leaf0\" or \"host[0..15]\"")?
        {
            check_name(&path("name"), &name)?;
            let twice = |problem| Err(ValueError::rule(path("name"), problem, "give each a name of its own"));
            if self.sites.contains_key(name.as_str()) {
                return twice(format!("{name:?} is also a site"));
            }
            if self.nodes.insert(name.clone(), self.graph.nodes.len()).is_some() {
                return twice(format!("there is more than one node {name:?}"));
            }
            let switch_delay = match kind {
                NodeType::Host => Duration::ZERO,
                NodeType::Switch => node.switch_delay.unwrap_or(self.base.switch_delay),
            };
            let is_host = kind == NodeType::Host;
            self.graph.nodes.push(GraphNode { name, is_host, site, switch_delay });
            self.node_entries.push(n);
        }
        self.not_too_many("node", self.graph.nodes.len())
    }

    fn not_too_many(&self, what: &str, count: usize) -> Result<(), ValueError> {
        if count <= MOST {
            return Ok(());
        }
        Err(ValueError::rule(what, format!("{count} of them are too many"), format!("give at most {MOST}")))
    }

    fn node(&self, path: &str, name: &str) -> Result<usize, ValueError> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let known = || self.nodes.keys().map(String::as_str);
            let (near, all) = (names::hint(name, known()), names::ranges(known()));
            let cure = format!("{near}Nodes are declared in [[node]]; there are: {all}");
            ValueError::rule(path, format!("there is no node {name:?}"), cure)
        })
    }

    fn add_links(&mut self, l: usize) -> Result<(), ValueError> {
        let link = &self.file.link[l];
        let ends = |key: &str, names: Option<&Names>| {
            let path = format!("link[{l}].{key}");
            let names = expand_all(&path, names, "a node, such as \"leaf0\" or \"host[0..15]\"")?;
            names.iter().map(|name| self.node(&path, name)).collect::<Result<Vec<_>, _>>()
        };
        let (a, b) = (ends("a", link.a.as_ref())?, ends("b", link.b.as_ref())?);
        let count = link.count.unwrap_or(1) as usize;
        let pairs = match link.wiring.unwrap_or(Wiring::All) {
            Wiring::All => {
                self.not_too_many("link", a.len().saturating_mul(b.len()).saturating_mul(count))?;
                a.iter().flat_map(|&a| b.iter().map(move |&b| [a, b])).collect()
            }
            Wiring::Blocks => blocks(&a, &b).ok_or_else(|| {
                let problem = format!("{} and {} nodes cannot be split into equal blocks", a.len(), b.len());
                let cure = "one number must divide the other; wiring = \"all\" links every pair";
                ValueError::rule(format!("link[{l}].wiring"), problem, cure)
            })?,
        };
        let link = GraphLink {
            ends: [0, 0],
            rate: link.rate.unwrap_or(self.base.rate),
            delay: link.propagation().one_way().unwrap_or(self.base.delay),
            buffers: link.buffer.map_or([None; 2], |buffer| buffer.0.map(Some)),
        };
        for ends in pairs {
            self.graph.links.extend(std::iter::repeat_n(GraphLink { ends, ..link.clone() }, count));
        }
        self.link_entries.resize(self.graph.links.len(), l);
        self.not_too_many("link", self.graph.links.len())
    }

    fn add_groups(&mut self, g: usize) -> Result<(), ValueError> {
        let (group, path) = (&self.file.ecmp[g], |key: &str| format!("ecmp[{g}].{key}"));
        let switches = expand_all(&path("switch"), group.switch.as_ref(), "a switch, such as \"leaf0\"")?;
        let mut leaves = Vec::new();
        for to in expand_all(&path("to"), group.to.as_ref(), "a switch with hosts, or a site")? {
            match self.sites.get(to.as_str()) {
                Some(&site) => leaves.extend(self.leaves(site)),
                None => leaves.push(self.leaf(&path("to"), &to)?),
            }
        }
        leaves.sort_unstable();
        leaves.dedup();
        let mut via = Vec::new();
        for text in
            expand_all(&path("via"), group.via.as_ref(), "the switches to send to, such as \"spine0\"")?
        {
            let (name, index) = match text.split_once('#') {
                None => (text.as_str(), None),
                Some((name, index)) => (name, Some(index)),
            };
            let number = index.map(|index| {
                index.parse::<u32>().map_err(|_| {
                    let problem = format!("{index:?} is not a number of a parallel link");
                    ValueError::rule(
                        path("via"),
                        problem,
                        "write a switch, or a switch and a number: \"spine0#1\"",
                    )
                })
            });
            via.push((self.node(&path("via"), name)?, number.transpose()?));
        }
        for name in switches {
            let switch = self.node(&path("switch"), &name)?;
            if self.graph.nodes[switch].is_host {
                let problem = format!("{name} is a host, which has one link");
                return Err(ValueError::rule(path("switch"), problem, "name switches"));
            }
            self.graph.groups.push(GraphGroup { switch, leaves: leaves.clone(), via: via.clone() });
            self.group_entries.push(g);
        }
        Ok(())
    }

    /// The switches of a site that have hosts.
    fn leaves(&self, site: u32) -> Vec<usize> {
        let nodes = &self.graph.nodes;
        let ends = self.graph.links.iter().flat_map(|link| [link.ends, [link.ends[1], link.ends[0]]]);
        ends.filter(|[host, _]| nodes[*host].is_host && nodes[*host].site == site)
            .map(|[_, leaf]| leaf)
            .collect()
    }

    fn leaf(&self, path: &str, name: &str) -> Result<usize, ValueError> {
        let node = self.node(path, name)?;
        if !self.graph.nodes[node].is_host {
            return Ok(node);
        }
        let link = self.graph.links.iter().find(|link| link.ends.contains(&node));
        let leaf = link.map(|link| if link.ends[0] == node { link.ends[1] } else { link.ends[0] });
        let leaf = leaf.map_or("", |leaf| self.graph.nodes[leaf].name.as_str());
        let problem = format!("{name} is a host, but ports are chosen by the switch that a packet goes to");
        Err(ValueError::rule(path, problem, format!("name its switch, {leaf:?}")))
    }
}

/// Names of a key, ranges written out.
fn expand_all(path: &str, names: Option<&Names>, what: &str) -> Result<Vec<String>, ValueError> {
    let Some(names) = names.filter(|names| !names.0.is_empty()) else {
        return Err(ValueError::missing(path, what));
    };
    let mut all = Vec::new();
    for text in &names.0 {
        all.extend(ranges::names(text, MOST_NAMES).map_err(|error| ValueError::new(path, error))?);
    }
    Ok(all)
}

/// Whether a text can be a node's or a site's name: ports are called `FROM->TO#n`, and patterns have `*` and `?`.
fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn check_name(path: &str, name: &str) -> Result<(), ValueError> {
    if is_name(name) {
        return Ok(());
    }
    let cure = "begin with a letter, and use letters, digits, _, - and . only";
    Err(ValueError::rule(path, format!("{name:?} is not a valid name"), cure))
}

/// The longer list partitioned among the shorter one in equal blocks.
fn blocks(a: &[usize], b: &[usize]) -> Option<Vec<[usize; 2]>> {
    let (long, short) = (a.len().max(b.len()), a.len().min(b.len()));
    let size = long.checked_div(short).filter(|size| size * short == long)?;
    let pair = |n: usize| if a.len() >= b.len() { [a[n], b[n / size]] } else { [a[n / size], b[n]] };
    Some((0..long).map(pair).collect())
}
