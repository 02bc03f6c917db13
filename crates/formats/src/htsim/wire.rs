//! The wiring: links and nodes as htsim lays them.

use super::TwoSites;
use super::parse::Tree;
use super::shape::Shape;
use farspan_scenario::topology::{Defaults, Link, Node, Site, TopologyFile};
use farspan_scenario::value::{Buffers, Names, NodeType, Wiring};
use farspan_units::{Bytes, Duration, Rate};

/// A range of names: every `step`-th of `count` from `first` on.
fn range(word: &str, first: u64, count: u64, step: u64) -> Names {
    let last = first + (count - 1) * step;
    let text = match (count, step) {
        (1, _) => format!("{word}{first}"),
        (_, 1) => format!("{word}[{first}..{last}]"),
        _ => format!("{word}[{first}..{last} step {step}]"),
    };
    Names(vec![text])
}

fn delay(ns: u64) -> Duration {
    Duration::from_ns(ns)
}

/// Names of the nodes of one site: those of the sites before it come first.
struct Numbers<'a> {
    shape: &'a Shape,
    hosts: u64,
    /// The name of switches of the second tier.
    middle: &'static str,
    site: u64,
}

impl Numbers<'_> {
    fn hosts(&self) -> Names {
        range("host", self.site * self.hosts, self.hosts, 1)
    }

    fn tors(&self, first: u64, count: u64) -> Names {
        range("tor", self.site * self.shape.pods * self.shape.tors_per_pod + first, count, 1)
    }

    /// Aggregation switches, or spines.
    fn middle(&self, first: u64, count: u64, step: u64) -> Names {
        let before = self.site * self.shape.pods * self.shape.aggs_per_pod;
        range(self.middle, before + first, count, step)
    }

    fn cores(&self, first: u64, count: u64, step: u64) -> Names {
        range("core", self.site * self.shape.cores + first, count, step)
    }

    fn border(&self) -> Names {
        range("border", self.site, 1, 1)
    }
}

/// The topology file with the nodes and links of the tree, once, or once for each side of a `wan`.
pub(super) fn file(tree: &Tree, shape: &Shape, wan: Option<&TwoSites>) -> TopologyFile {
    let (rate, latency) = (link_rate(tree, 0), link_delay(tree, 0));
    let mut file = TopologyFile {
        defaults: Defaults { rate: Some(rate), delay: Some(latency), ..Defaults::default() },
        ..TopologyFile::default()
    };
    let middle = if tree.tiers.len() == 2 { "spine" } else { "agg" };
    for site in 0..if wan.is_some() { 2 } else { 1 } {
        let numbers = Numbers { shape, hosts: tree.nodes, middle, site };
        let name = wan.map(|_| format!("dc{site}"));
        file.site.extend(name.iter().map(|name| Site { name: Some(name.clone()) }));
        let mut nodes = nodes(tree, &numbers);
        let mut links = links(tree, &numbers);
        if let Some(wan) = wan {
            nodes.push(Node {
                name: Some(numbers.border()),
                kind: Some(NodeType::Switch),
                ..Node::default()
            });
            links.push(Link {
                a: Some(top(&numbers)),
                b: Some(numbers.border()),
                count: Some(wan.core_border_links),
                ..Link::default()
            });
        }
        file.node.extend(nodes.into_iter().map(|node| Node { site: name.clone(), ..node }));
        file.link.extend(links);
    }
    file.link.extend(wan.map(|wan| Link {
        a: Some(range("border", 0, 1, 1)),
        b: Some(range("border", 1, 1, 1)),
        count: Some(wan.links),
        delay: Some(wan.delay),
        ..Link::default()
    }));
    file
}

/// The switches of the highest tier.
fn top(numbers: &Numbers<'_>) -> Names {
    match numbers.shape.cores {
        0 => numbers.middle(0, numbers.shape.aggs_per_pod, 1),
        cores => numbers.cores(0, cores, 1),
    }
}

fn nodes(tree: &Tree, numbers: &Numbers<'_>) -> Vec<Node> {
    let shape = numbers.shape;
    let node = |name: Names, tier: Option<usize>| {
        let processing = tier.map_or(0, |tier| tree.tiers[tier].get("switch_latency_ns", 0));
        Node {
            name: Some(name),
            kind: Some(if tier.is_some() { NodeType::Switch } else { NodeType::Host }),
            site: None,
            switch_delay: (processing > 0).then(|| delay(processing)),
        }
    };
    let mut nodes = vec![
        node(numbers.hosts(), None),
        node(numbers.tors(0, shape.pods * shape.tors_per_pod), Some(0)),
        node(numbers.middle(0, shape.pods * shape.aggs_per_pod, 1), Some(1)),
    ];
    if shape.cores > 0 {
        nodes.push(node(numbers.cores(0, shape.cores, 1), Some(2)));
    }
    nodes
}

fn links(tree: &Tree, numbers: &Numbers<'_>) -> Vec<Link> {
    let shape = numbers.shape;
    let (rate, latency) = (link_rate(tree, 0), link_delay(tree, 0));
    let link = |a: Names, b: Names, tier: usize| Link {
        a: Some(a),
        b: Some(b),
        wiring: (tier == 0).then_some(Wiring::Blocks),
        count: (tier > 0).then(|| shape.bundles[tier - 1] as u32).filter(|count| *count > 1),
        rate: Some(link_rate(tree, tier)).filter(|own| *own != rate),
        delay: Some(link_delay(tree, tier)).filter(|own| *own != latency),
        rtt: None,
        buffer: buffers(tree, tier),
    };
    let mut links = vec![link(numbers.hosts(), numbers.tors(0, shape.pods * shape.tors_per_pod), 0)];
    let step = shape.aggs_per_pod;
    for pod in 0..shape.pods {
        let tors = numbers.tors(pod * shape.tors_per_pod, shape.tors_per_pod);
        links.push(link(tors, numbers.middle(pod * step, step, 1), 1));
    }
    if shape.cores > 0 {
        for position in 0..step {
            let aggs = numbers.middle(position, shape.pods, step);
            links.push(link(aggs, numbers.cores(position, shape.cores / step, step), 2));
        }
    }
    links
}

fn link_rate(tree: &Tree, tier: usize) -> Rate {
    Rate::from_gbps(tree.tiers[tier].get("downlink_speed_gbps", 1))
}

fn link_delay(tree: &Tree, tier: usize) -> Duration {
    delay(tree.tiers[tier].get("downlink_latency_ns", 0))
}

/// The ports of the links below a tier.
fn buffers(tree: &Tree, tier: usize) -> Option<Buffers> {
    let down = tree.tiers[tier].values.get("queue_down")?.0;
    let up = if tier == 0 { down } else { tree.tiers[tier - 1].values.get("queue_up")?.0 };
    Some(Buffers([up, down].map(Bytes::new)))
}

/// The `[topology]` table of the generator that makes the same network, if one does.
pub(super) fn generator(tree: &Tree, shape: &Shape) -> Option<String> {
    let equal = |key: &str| tree.tiers.iter().all(|tier| tier.get(key, 0) == tree.tiers[0].get(key, 0));
    let queues = ["queue_up", "queue_down"];
    let no_queues = tree.tiers.iter().all(|tier| queues.iter().all(|key| !tier.values.contains_key(key)));
    let single = shape.bundles.iter().all(|bundle| *bundle == 1);
    if !(equal("downlink_latency_ns") && equal("switch_latency_ns") && no_queues && single) {
        return None;
    }
    let processing = tree.tiers[0].get("switch_latency_ns", 0);
    let common = format!(
        "link_rate = \"{}\"\nlink_delay = \"{}\"\nswitch_delay = \"{}\"\n",
        link_rate(tree, 0),
        link_delay(tree, 0),
        delay(processing)
    );
    let hosts = tree.tiers[0].get("radix_down", 1);
    if tree.tiers.len() == 2 {
        return Some(format!(
            "kind = \"leaf_spine\"\nleaves = {}\nspines = {}\nhosts = {hosts}\nuplink_rate = \"{}\"\n{common}",
            shape.tors_per_pod,
            shape.aggs_per_pod,
            link_rate(tree, 1)
        ));
    }
    let (k, half) = (shape.pods, shape.pods / 2);
    let thinned = |uplinks: u64| half.checked_div(uplinks).filter(|factor| factor * uplinks == half);
    let oversubscription = [thinned(shape.aggs_per_pod)?, thinned(shape.cores / shape.aggs_per_pod)?]
        .map(|factor| factor.to_string());
    let is_tree =
        k.is_multiple_of(2) && hosts == half && shape.tors_per_pod == half && equal("downlink_speed_gbps");
    is_tree.then(|| {
        format!(
            "kind = \"fat_tree\"\nk = {k}\noversubscription = [{}]\n{common}",
            oversubscription.join(", ")
        )
    })
}
