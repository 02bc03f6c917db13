//! The network as a picture. Its structure is that of the links: what is a host, and which site a node stands in, the table
//! of ports says.
//!
//! A node's level is its distance from the hosts, and a site's nodes of one level are a row of at most [`UNITS`] units, so
//! that the picture of a thousand hosts is as readable as that of sixteen. Adjacent in a row are the nodes that hang on
//! the same ones: hosts by their switch, switches above what they join.

use crate::load::natural;
use crate::number::short;
use farspan_metrics::PortRow;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Units in a row of a part.
const UNITS: usize = 16;
/// Links between two nodes that are few enough to be drawn each.
const PARALLEL: usize = 16;
/// Faults that are drawn each.
const FAULTS: usize = 200;

/// Nodes gathered in units, and the links between units.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Picture {
    nodes: BTreeMap<String, usize>,
    units: Vec<Unit>,
    /// Pairs of units with links between them; the first is lower.
    edges: BTreeMap<(usize, usize), usize>,
    /// The site of each part.
    sites: Vec<usize>,
}

#[derive(Clone, PartialEq, Debug)]
struct Unit {
    part: usize,
    level: usize,
    first: String,
    last: String,
    nodes: usize,
}

/// `FROM->TO#n` as (from, to).
fn ends(port: &str) -> Option<(&str, &str)> {
    let (link, _) = port.rsplit_once('#')?;
    link.split_once("->")
}

/// The number of a port's link among those with the same ends.
fn number(port: &str) -> Option<u32> {
    port.rsplit_once('#')?.1.parse().ok()
}

impl Picture {
    /// The picture of a network with these ports.
    pub(crate) fn of(ports: &[PortRow]) -> Self {
        let network = Joined::of(ports);
        let levels = network.levels();
        let mut rows: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
        for (node, level) in &levels {
            rows.entry((network.site(node), *level)).or_default().push(node);
        }
        let sites: BTreeSet<usize> = rows.keys().map(|(site, _)| *site).collect();
        let sites: Vec<usize> = sites.into_iter().collect();
        let parts: BTreeMap<usize, usize> = sites.iter().copied().zip(0..).collect();
        let mut picture = Self { nodes: BTreeMap::new(), units: Vec::new(), edges: BTreeMap::new(), sites };
        let mut spots = BTreeMap::new();
        for ((site, level), mut row) in rows {
            network.arrange(&mut row, level, &levels, &mut spots);
            for together in row.chunks(row.len().div_ceil(UNITS)) {
                picture.nodes.extend(together.iter().map(|node| ((*node).to_owned(), picture.units.len())));
                let (first, last) = (together[0].to_owned(), together[together.len() - 1].to_owned());
                picture.units.push(Unit { part: parts[&site], level, first, last, nodes: together.len() });
            }
        }
        let joins = ports.iter().filter_map(|port| picture.place(&port.port));
        let pairs: BTreeSet<(usize, usize)> = joins.map(|(a, b)| (a.min(b), a.max(b))).collect();
        picture.edges = pairs.into_iter().zip(0..).collect();
        picture
    }

    /// The units that a port joins.
    fn place(&self, port: &str) -> Option<(usize, usize)> {
        let (from, to) = ends(port)?;
        Some((self.unit(from)?, self.unit(to)?))
    }

    /// The unit that a node stands in.
    pub(crate) fn unit(&self, node: &str) -> Option<usize> {
        self.nodes.get(node).copied()
    }

    /// The picture's layout as JSON, for the page to draw.
    pub(crate) fn layout(&self) -> Value {
        let unit = |unit: &Unit| json!([unit.part, unit.level, unit.nodes, unit.first, unit.last]);
        json!({
            "sites": self.sites,
            "units": self.units.iter().map(unit).collect::<Vec<_>>(),
            "edges": self.edges.keys().map(|(a, b)| json!([a, b])).collect::<Vec<_>>(),
        })
    }

    /// The edge of a port, and whether it leads to the edge's first unit.
    fn edge(&self, port: &str) -> Option<(usize, bool)> {
        let (a, b) = self.place(port)?;
        Some((*self.edges.get(&(a.min(b), a.max(b)))?, a > b))
    }

    /// Utilisation by edge: links, and largest and mean of those that lead from the first unit and to it; of a few links
    /// between two nodes then each, by number.
    pub(crate) fn utilisation(&self, ports: &[PortRow]) -> Value {
        let parallel = self.parallel(ports);
        let mut ways = vec![[(0_u32, 0.0_f64, 0.0_f64); 2]; self.edges.len()];
        for port in ports {
            let Some((edge, back)) = self.edge(&port.port) else { continue };
            let (n, max, sum) = &mut ways[edge][usize::from(back)];
            *n += 1;
            *max = max.max(port.utilization);
            *sum += port.utilization;
        }
        let share = |x: f64| short(x, 3);
        let edge = |(edge, [out, back]): (usize, &[(u32, f64, f64); 2])| {
            let mean = |way: &(u32, f64, f64)| share(way.2 / f64::from(way.0.max(1)));
            let mut said = vec![json!(out.0.max(back.0)), share(out.1), mean(out), share(back.1), mean(back)];
            if let Some(links) = parallel.get(&edge) {
                said.push(
                    links.iter().map(|(n, [out, back])| json!([n, share(*out), share(*back)])).collect(),
                );
            }
            Value::Array(said)
        };
        ways.iter().enumerate().map(edge).collect()
    }

    /// The utilisation of each link, both ways, of edges with a few links between two nodes.
    fn parallel(&self, ports: &[PortRow]) -> BTreeMap<usize, BTreeMap<u32, [f64; 2]>> {
        let lone = |unit: usize| self.units[unit].nodes == 1;
        let two: BTreeSet<usize> =
            self.edges.iter().filter(|((a, b), _)| lone(*a) && lone(*b)).map(|(_, edge)| *edge).collect();
        let mut links: BTreeMap<usize, BTreeMap<u32, [f64; 2]>> = BTreeMap::new();
        for port in ports {
            let Some((edge, back)) = self.edge(&port.port).filter(|(edge, _)| two.contains(edge)) else {
                continue;
            };
            let Some(n) = number(&port.port) else { continue };
            links.entry(edge).or_default().entry(n).or_default()[usize::from(back)] = port.utilization;
        }
        links.retain(|_, links| (2..=PARALLEL).contains(&links.len()));
        links
    }

    /// Links with faults: edge, whether the link leads to the edge's first unit, its number, its name, and its faults in
    /// words.
    pub(crate) fn faults(&self, ports: &[PortRow]) -> Value {
        let faulty = ports.iter().filter(|port| !port.faults.is_empty());
        let said = |port: &PortRow| {
            let (edge, back) = self.edge(&port.port)?;
            Some(json!([edge, u8::from(back), number(&port.port), port.port, &*port.faults]))
        };
        faulty.filter_map(said).take(FAULTS).collect()
    }
}

/// Nodes, and what they are joined to.
#[derive(Default)]
struct Joined<'a> {
    near: BTreeMap<&'a str, BTreeSet<&'a str>>,
    sites: BTreeMap<&'a str, usize>,
    hosts: BTreeSet<&'a str>,
}

impl<'a> Joined<'a> {
    fn of(ports: &'a [PortRow]) -> Self {
        let mut joined = Self::default();
        for port in ports {
            let Some((from, to)) = ends(&port.port) else { continue };
            for (node, other, site) in [(from, to, port.sites[0]), (to, from, port.sites[1])] {
                joined.near.entry(node).or_default().insert(other);
                joined.sites.insert(node, site as usize);
            }
            // Tables without tiers are of networks whose hosts are called so.
            let is_host = if port.tier.is_empty() { called_host(from) } else { &*port.tier == "host_up" };
            joined.hosts.extend(is_host.then_some(from));
        }
        joined
    }

    fn site(&self, node: &str) -> usize {
        self.sites.get(node).copied().unwrap_or_default()
    }

    /// Distance from the nearest host.
    fn levels(&self) -> BTreeMap<&'a str, usize> {
        let mut levels: BTreeMap<&str, usize> = self.hosts.iter().map(|host| (*host, 0)).collect();
        let mut queue: VecDeque<&str> = self.hosts.iter().copied().collect();
        while let Some(node) = queue.pop_front() {
            let level = levels[node] + 1;
            for next in &self.near[node] {
                if !levels.contains_key(next) {
                    levels.insert(next, level);
                    queue.push_back(next);
                }
            }
        }
        for node in self.near.keys() {
            levels.entry(node).or_insert(0);
        }
        levels
    }

    /// Puts the nodes of a level in order, and notes their spots: hosts by their first switch, the others by where on the
    /// mean those stand that they join below. What that leaves open the names say.
    fn arrange(
        &self,
        row: &mut [&'a str],
        level: usize,
        levels: &BTreeMap<&'a str, usize>,
        spots: &mut BTreeMap<&'a str, usize>,
    ) {
        row.sort_by_cached_key(|node| natural(node));
        if level == 0 {
            row.sort_by_cached_key(|node| self.near[node].iter().map(|near| natural(near)).min());
        } else {
            row.sort_by_cached_key(|node| {
                let below = |near: &&&str| levels[**near] < level && self.site(near) == self.site(node);
                let below: Vec<_> = self.near[node].iter().filter(below).collect();
                let sum: usize = below.iter().filter_map(|near| spots.get(**near)).sum();
                sum * MEAN_STEPS / below.len().max(1)
            });
        }
        spots.extend(row.iter().copied().zip(0..));
    }
}

/// The mean of spots counts in this part of one.
const MEAN_STEPS: usize = 1000;

/// Whether a node is a `host` with a number.
fn called_host(node: &str) -> bool {
    node.strip_prefix("host").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    pub(crate) fn port(name: &str, utilization: f64) -> PortRow {
        PortRow {
            port: name.to_owned(),
            tier: "".into(),
            sites: [0, 0],
            bytes: 0,
            drops: 0,
            losses: 0,
            marks: 0,
            trims: 0,
            max_queue_bytes: 0,
            mean_queue_bytes: 0.0,
            utilization,
            pauses: 0,
            paused_ns: 0,
            faults: "".into(),
        }
    }

    /// Both ways, of a network whose tables have no tiers.
    pub(crate) fn pair(a: &str, b: &str) -> [PortRow; 2] {
        [port(&format!("{a}->{b}#0"), 0.25), port(&format!("{b}->{a}#0"), 0.5)]
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{pair, port};
    use super::*;

    /// Both ways: the first node is below, and stands in a site of its own.
    fn placed(a: &str, b: &str, tier: &str, sites: [u32; 2]) -> [PortRow; 2] {
        let [up, down] = pair(a, b);
        let back = if tier == "host_up" { "host_down" } else { tier };
        let [from, to] = sites;
        [PortRow { tier: tier.into(), sites, ..up }, PortRow { tier: back.into(), sites: [to, from], ..down }]
    }

    fn units(picture: &Picture) -> Vec<(usize, usize, &str)> {
        picture.units.iter().map(|u| (u.part, u.level, u.first.as_str())).collect()
    }

    #[test]
    fn uneven_sites_stand_side_by_side_with_hosts_at_their_switches() {
        // Site 1 has two levels of switches, and its way out is at the upper one. Site 0 has one; its hosts alternate.
        let ports: Vec<_> = [
            placed("gpu0", "rack-b", "host_up", [0, 0]),
            placed("gpu1", "rack-a", "host_up", [0, 0]),
            placed("gpu2", "rack-b", "host_up", [0, 0]),
            placed("gpu10", "rack-a", "host_up", [0, 0]),
            placed("rack-a", "rack-b", "fabric", [0, 0]),
            placed("store0", "leaf", "host_up", [1, 1]),
            placed("leaf", "exit", "fabric", [1, 1]),
            placed("rack-a", "exit", "wan", [0, 1]),
        ]
        .concat();
        let picture = Picture::of(&ports);
        let expected = [
            (0, 0, "gpu1"),
            (0, 0, "gpu10"),
            (0, 0, "gpu0"),
            (0, 0, "gpu2"),
            (0, 1, "rack-a"),
            (0, 1, "rack-b"),
            (1, 0, "store0"),
            (1, 1, "leaf"),
            (1, 2, "exit"),
        ];
        assert_eq!((picture.sites.len(), units(&picture)), (2, expected.to_vec()));
        assert_eq!(picture.edges.len(), 8);
    }

    #[test]
    fn switches_stand_above_what_they_join() {
        // Numbered the other way round than the racks.
        let racks =
            (0..4).flat_map(|h| placed(&format!("host{h}"), &format!("tor{}", h / 2), "host_up", [0, 0]));
        let up = [("tor0", "agg1"), ("tor1", "agg0"), ("tor0", "agg2"), ("tor1", "agg2")];
        let up = up.into_iter().flat_map(|(a, b)| placed(a, b, "fabric", [0, 0]));
        let picture = Picture::of(&racks.chain(up).collect::<Vec<_>>());
        let top: Vec<_> = units(&picture).into_iter().filter(|u| u.1 == 2).map(|u| u.2).collect();
        assert_eq!(top, ["agg1", "agg2", "agg0"]);
    }

    #[test]
    fn tables_without_tiers_go_by_the_names_of_hosts() {
        let links =
            [("host0", "tor0"), ("host1", "tor0"), ("tor0", "tor1"), ("host2", "tor1"), ("host10", "tor1")];
        let ports: Vec<_> = links.iter().flat_map(|(a, b)| pair(a, b)).collect();
        let picture = Picture::of(&ports);
        let levels: Vec<_> = units(&picture).into_iter().map(|unit| (unit.1, unit.2)).collect();
        let expected = [(0, "host0"), (0, "host1"), (0, "host2"), (0, "host10"), (1, "tor0"), (1, "tor1")];
        assert_eq!((picture.sites.len(), levels), (1, expected.to_vec()));
        assert_eq!(picture.edges.len(), 5);
        assert_eq!(picture.utilisation(&ports)[0], json!([1, 0.25, 0.25, 0.5, 0.5]));
    }

    #[test]
    fn a_thousand_hosts_are_sixteen_units() {
        let links = (0..1024).map(|h| (format!("host{h}"), format!("tor{}", h / 16)));
        let ports: Vec<_> = links.flat_map(|(a, b)| pair(&a, &b)).collect();
        let picture = Picture::of(&ports[..2 * 16]);
        assert_eq!(picture.units.len(), 16 + 1);
        let fabric = (0..64).flat_map(|t| pair(&format!("tor{t}"), "core0"));
        let picture = Picture::of(&ports.iter().cloned().chain(fabric).collect::<Vec<_>>());
        assert_eq!((picture.sites.len(), picture.units.len(), picture.edges.len()), (1, 33, 32));
        assert_eq!((picture.units[1].first.as_str(), picture.units[1].nodes), ("host64", 64));
        assert_eq!(picture.layout()["units"][1], json!([0, 0, 64, "host64", "host127"]));
    }

    #[test]
    fn links_between_two_nodes_stand_apart_and_the_dead_one_is_named() {
        let wan = (0..8).flat_map(|n| {
            [
                port(&format!("border0->border1#{n}"), f64::from(n) / 10.0),
                port(&format!("border1->border0#{n}"), 0.5),
            ]
        });
        let mut ports: Vec<_> = wan.chain(pair("host0", "border0")).chain(pair("host1", "border1")).collect();
        ports[0].faults = "black_hole from 0ns".into();
        let picture = Picture::of(&ports);
        let (a, b) = (picture.nodes["border0"], picture.nodes["border1"]);
        let edge = picture.edges[&(a.min(b), a.max(b))];
        let links = &picture.utilisation(&ports)[edge][5];
        assert_eq!((links.as_array().unwrap().len(), &links[3]), (8, &json!([3, 0.3, 0.5])));
        let expected = json!([[edge, 0, 0, "border0->border1#0", "black_hole from 0ns"]]);
        assert_eq!(picture.faults(&ports), expected);
    }

    #[test]
    fn names_that_are_no_ports_are_left_out() {
        assert_eq!(Picture::of(&[port("nonsense", 1.0)]).units.len(), 0);
        assert_eq!(Picture::of(&[]).layout(), json!({"sites": [], "units": [], "edges": []}));
    }
}
