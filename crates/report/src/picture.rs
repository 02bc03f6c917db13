//! The network as a picture: what stands where follows from the ports' names alone.
//!
//! A node's level is its distance from the hosts. Links between nodes of one level (border switches, the two switches of a
//! dumbbell) join parts: the sites. Each level of a part is a row of at most [`UNITS`] units, neighbours together, so that
//! the picture of a thousand hosts is as readable as that of sixteen.

use crate::load::natural;
use crate::number::short;
use farspan_metrics::PortRow;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Units in a row of a part.
const UNITS: usize = 16;

/// Nodes gathered in units, and the links between units.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Picture {
    nodes: BTreeMap<String, usize>,
    units: Vec<Unit>,
    /// Pairs of units with links between them; the first is lower.
    edges: BTreeMap<(usize, usize), usize>,
    parts: usize,
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

impl Picture {
    /// The picture of a network with these ports.
    pub(crate) fn of(ports: &[PortRow]) -> Self {
        let mut joined: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to) in ports.iter().filter_map(|port| ends(&port.port)) {
            joined.entry(from).or_default().insert(to);
            joined.entry(to).or_default().insert(from);
        }
        let levels = levels(&joined);
        let parts = parts(&joined, &levels);
        let mut rows: BTreeMap<(usize, usize), Vec<&str>> = BTreeMap::new();
        for (node, part) in &parts {
            rows.entry((*part, levels[node])).or_default().push(node);
        }
        let mut picture = Self {
            nodes: BTreeMap::new(),
            units: Vec::new(),
            edges: BTreeMap::new(),
            parts: parts.values().max().map_or(0, |last| last + 1),
        };
        for ((part, level), mut row) in rows {
            row.sort_by_cached_key(|node| natural(node));
            for together in row.chunks(row.len().div_ceil(UNITS)) {
                picture.nodes.extend(together.iter().map(|node| ((*node).to_owned(), picture.units.len())));
                let (first, last) = (together[0].to_owned(), together[together.len() - 1].to_owned());
                picture.units.push(Unit { part, level, first, last, nodes: together.len() });
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
        Some((*self.nodes.get(from)?, *self.nodes.get(to)?))
    }

    /// What the page draws.
    pub(crate) fn layout(&self) -> Value {
        let unit = |unit: &Unit| json!([unit.part, unit.level, unit.nodes, unit.first, unit.last]);
        json!({
            "parts": self.parts,
            "units": self.units.iter().map(unit).collect::<Vec<_>>(),
            "edges": self.edges.keys().map(|(a, b)| json!([a, b])).collect::<Vec<_>>(),
        })
    }

    /// Utilisation by edge: links, and largest and mean of those that lead from the first unit and to it.
    pub(crate) fn utilisation(&self, ports: &[PortRow]) -> Value {
        let mut ways = vec![[(0_u32, 0.0_f64, 0.0_f64); 2]; self.edges.len()];
        for port in ports {
            let Some((a, b)) = self.place(&port.port) else { continue };
            let Some(&edge) = self.edges.get(&(a.min(b), a.max(b))) else { continue };
            let (n, max, sum) = &mut ways[edge][usize::from(a > b)];
            *n += 1;
            *max = max.max(port.utilization);
            *sum += port.utilization;
        }
        let share = |x: f64| short(x, 3);
        let edge = |[out, back]: &[(u32, f64, f64); 2]| {
            let mean = |way: &(u32, f64, f64)| share(way.2 / f64::from(way.0.max(1)));
            json!([out.0.max(back.0), share(out.1), mean(out), share(back.1), mean(back)])
        };
        ways.iter().map(edge).collect()
    }
}

/// Distance from the nearest host. Hosts are called so; in a network without, they are the nodes with one neighbour.
fn levels<'a>(joined: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeMap<&'a str, usize> {
    let called = |node: &str| {
        node.strip_prefix("host").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut hosts: Vec<&str> = joined.keys().copied().filter(|node| called(node)).collect();
    if hosts.is_empty() {
        hosts = joined.iter().filter(|(_, near)| near.len() == 1).map(|(node, _)| *node).collect();
    }
    let mut levels: BTreeMap<&str, usize> = hosts.iter().map(|host| (*host, 0)).collect();
    let mut queue: VecDeque<&str> = hosts.into();
    while let Some(node) = queue.pop_front() {
        let level = levels[node] + 1;
        for next in &joined[node] {
            if !levels.contains_key(next) {
                levels.insert(next, level);
                queue.push_back(next);
            }
        }
    }
    joined.keys().for_each(|node| {
        levels.entry(node).or_insert(0);
    });
    levels
}

/// Which part each node belongs to, numbered by their first nodes.
fn parts<'a>(
    joined: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    levels: &BTreeMap<&'a str, usize>,
) -> BTreeMap<&'a str, usize> {
    let mut order: Vec<&str> = joined.keys().copied().collect();
    order.sort_by_cached_key(|node| (levels[node], natural(node)));
    let mut parts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next = 0;
    for start in order {
        if parts.contains_key(start) {
            continue;
        }
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            if parts.insert(node, next).is_none() {
                stack.extend(joined[node].iter().filter(|near| levels[*near] != levels[node]));
            }
        }
        next += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, utilization: f64) -> PortRow {
        PortRow {
            port: name.to_owned(),
            bytes: 0,
            drops: 0,
            marks: 0,
            trims: 0,
            max_queue_bytes: 0,
            mean_queue_bytes: 0.0,
            utilization,
        }
    }

    /// Both ways.
    fn pair(a: &str, b: &str) -> [PortRow; 2] {
        [port(&format!("{a}->{b}#0"), 0.25), port(&format!("{b}->{a}#0"), 0.5)]
    }

    #[test]
    fn sites_come_apart_where_equals_meet() {
        let links =
            [("host0", "tor0"), ("host1", "tor0"), ("tor0", "tor1"), ("host2", "tor1"), ("host10", "tor1")];
        let ports: Vec<_> = links.iter().flat_map(|(a, b)| pair(a, b)).collect();
        let picture = Picture::of(&ports);
        assert_eq!(picture.parts, 2);
        let units: Vec<_> = picture.units.iter().map(|u| (u.part, u.level, u.first.as_str())).collect();
        let expected = [
            (0, 0, "host0"),
            (0, 0, "host1"),
            (0, 1, "tor0"),
            (1, 0, "host2"),
            (1, 0, "host10"),
            (1, 1, "tor1"),
        ];
        assert_eq!(units, expected);
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
        assert_eq!((picture.parts, picture.units.len(), picture.edges.len()), (1, 33, 32));
        assert_eq!((picture.units[1].first.as_str(), picture.units[1].nodes), ("host64", 64));
        assert_eq!(picture.layout()["units"][1], json!([0, 0, 64, "host64", "host127"]));
    }

    #[test]
    fn names_that_are_no_ports_are_left_out() {
        assert_eq!(Picture::of(&[port("nonsense", 1.0)]).units.len(), 0);
        assert_eq!(Picture::of(&[]).layout(), json!({"parts": 0, "units": [], "edges": []}));
    }
}
