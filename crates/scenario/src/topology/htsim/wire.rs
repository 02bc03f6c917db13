//! The wiring: links and nodes as htsim lays them.

use super::parse::Tree;
use super::shape::Shape;
use crate::topology::{Defaults, Link, Node, TopologyFile};
use crate::value::{Buffers, Names, NodeType, Wiring};
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

/// The topology file with the nodes and links of the tree.
pub(super) fn file(tree: &Tree, shape: &Shape) -> TopologyFile {
    let (rate, latency) = (link_rate(tree, 0), link_delay(tree, 0));
    let middle = if tree.tiers.len() == 2 { "spine" } else { "agg" };
    let (tors, aggs) = (shape.pods * shape.tors_per_pod, shape.pods * shape.aggs_per_pod);
    let node = |(word, count, tier): (&str, u64, Option<usize>)| {
        let processing = tier.map_or(0, |tier| tree.tiers[tier].get("switch_latency_ns", 0));
        Node {
            name: Some(range(word, 0, count, 1)),
            kind: Some(if tier.is_some() { NodeType::Switch } else { NodeType::Host }),
            site: None,
            switch_delay: (processing > 0).then(|| delay(processing)),
        }
    };
    let nodes = [
        ("host", tree.nodes, None),
        ("tor", tors, Some(0)),
        (middle, aggs, Some(1)),
        ("core", shape.cores, Some(2)),
    ];
    let link = |a: Names, b: Names, tier: usize| Link {
        a: Some(a),
        b: Some(b),
        wiring: (tier == 0).then_some(Wiring::Blocks),
        count: (tier > 0).then(|| shape.bundles[tier - 1] as u32).filter(|count| *count > 1),
        rate: Some(link_rate(tree, tier)).filter(|own| *own != rate),
        delay: Some(link_delay(tree, tier)).filter(|own| *own != latency),
        buffer: buffers(tree, tier),
    };
    let mut links = vec![link(range("host", 0, tree.nodes, 1), range("tor", 0, tors, 1), 0)];
    for pod in 0..shape.pods {
        let tors = range("tor", pod * shape.tors_per_pod, shape.tors_per_pod, 1);
        links.push(link(tors, range(middle, pod * shape.aggs_per_pod, shape.aggs_per_pod, 1), 1));
    }
    let step = shape.aggs_per_pod;
    if shape.cores > 0 {
        for position in 0..step {
            let aggs = range(middle, position, shape.pods, step);
            links.push(link(aggs, range("core", position, shape.cores / step, step), 2));
        }
    }
    TopologyFile {
        defaults: Defaults { rate: Some(rate), delay: Some(latency), ..Defaults::default() },
        node: nodes.into_iter().filter(|(_, count, _)| *count > 0).map(node).collect(),
        link: links,
        ..TopologyFile::default()
    }
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
