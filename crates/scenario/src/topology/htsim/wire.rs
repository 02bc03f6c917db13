//! The wiring: what htsim derives from the numbers, and its links.

use super::parse::{Fault, Tree};
use crate::topology::{Defaults, Link, Node, TopologyFile};
use crate::value::{Buffers, Names, NodeType, Wiring};
use farspan_units::{Bytes, Duration, Rate};

/// How many switches there are, and where.
pub(super) struct Shape {
    pods: u64,
    tors_per_pod: u64,
    /// Of the second tier: aggregation switches of a pod, or all spines.
    aggs_per_pod: u64,
    /// None with two tiers.
    cores: u64,
    /// Parallel links between the tiers.
    bundles: Vec<u64>,
}

impl Shape {
    pub(super) const fn switches(&self) -> u64 {
        self.pods * (self.tors_per_pod + self.aggs_per_pod) + self.cores
    }

    /// Radixes that are not those of the wiring, which htsim follows all the same.
    pub(super) fn odd(&self, tree: &Tree) -> Vec<(usize, String)> {
        let below = [self.tors_per_pod, self.pods];
        let tiers = (1..tree.tiers.len()).zip(below).zip(&self.bundles);
        let odd = |((tier, below), bundle): ((usize, u64), &u64)| {
            let (said, wired) = (tree.tiers[tier].get("radix_down", 1), below * bundle);
            let text = format!(
                "Radix_Down {said} of tier {tier}, but {wired} links lead down from each of its switches, as htsim wires them"
            );
            let line = tree.tiers[tier].line_of("radix_down").unwrap_or_default();
            (said != wired).then_some((line, text))
        };
        tiers.filter_map(odd).collect()
    }

    /// What htsim derives, checked on the way.
    pub(super) fn of(tree: &Tree) -> Result<Self, Fault> {
        required(tree)?;
        let tiers = &tree.tiers;
        let get = |tier: usize, key| tiers[tier].get(key, 1);
        let down = |tier| get(tier, "radix_down");
        let speed = |tier| get(tier, "downlink_speed_gbps");
        if tiers.len() == 2 && tree.pod_size != tree.nodes {
            let problem =
                format!("Podsize {} with two tiers, which make one pod of all hosts", tree.pod_size);
            return Err((Some(tree.pod_line), problem, format!("write Podsize {}", tree.nodes)));
        }
        if tree.nodes < 2 {
            let cure = "give at least Nodes 2".to_owned();
            return Err((Some(tree.nodes_line), "Nodes 1: nobody to talk to".to_owned(), cure));
        }
        let nodes = || format!("Nodes {}", tree.nodes);
        let pods = whole(
            tree.nodes,
            tree.pod_size,
            Some(tree.pod_line),
            &[nodes(), format!("Podsize {}", tree.pod_size)],
        )?;
        let radix = |tier: usize| format!("Radix_Down {} of tier {tier}", down(tier));
        let line = |tier: usize, key| tiers[tier].line_of(key);
        let tors_per_pod = whole(
            tree.pod_size,
            down(0),
            line(0, "radix_down"),
            &[format!("Podsize {}", tree.pod_size), radix(0)],
        )?;
        let over = get(0, "oversubscribed");
        let up = get(0, "radix_up");
        if down(0) / up != over {
            let problem =
                format!("Oversubscribed {over} of tier 0, but Radix_Down {} over Radix_Up {up}", down(0));
            return Err((
                line(0, "oversubscribed"),
                problem,
                format!("write Oversubscribed {}", down(0) / up),
            ));
        }
        for tier in 1..tiers.len() {
            let bundle = get(tier, "bundle");
            for (of, radix) in [(tier, down(tier)), (tier - 1, get(tier - 1, "radix_up"))] {
                if !radix.is_multiple_of(bundle) {
                    let problem = format!(
                        "Bundle {bundle} of tier {tier} does not divide the radix {radix} of tier {of}"
                    );
                    return Err((line(tier, "bundle"), problem, "give a divisor".to_owned()));
                }
            }
        }
        let share = |tier: usize| format!("speed of tier {tier} x Oversubscribed of tier {}", tier - 1);
        let uplinks = whole(
            tree.nodes * speed(0),
            speed(1) * over,
            line(1, "downlink_speed_gbps"),
            &[format!("{} x speed", nodes()), share(1)],
        )?;
        let per_pod = [format!("{uplinks} uplinks of ToRs"), format!("{pods} pods x {}", radix(1))];
        let aggs_per_pod = whole(uplinks, pods * down(1), line(1, "radix_down"), &per_pod)?;
        let matches = |tier: usize, found: u64, what: &str| {
            let up = get(tier, "radix_up");
            if found == up {
                return Ok(());
            }
            let problem =
                format!("Radix_Up {up} of tier {tier}, but the other numbers make {found} links to {what}");
            Err((
                line(tier, "radix_up"),
                problem,
                format!("write Radix_Up {found}, or change the tier above"),
            ))
        };
        matches(0, aggs_per_pod * get(1, "bundle"), "the tier above")?;
        let bundles = (1..tiers.len()).map(|tier| get(tier, "bundle")).collect();
        if tiers.len() == 2 {
            return Ok(Self { pods, tors_per_pod, aggs_per_pod, cores: 0, bundles });
        }
        let over = get(1, "oversubscribed");
        let uplinks = whole(
            uplinks * speed(1),
            speed(2) * over,
            line(2, "downlink_speed_gbps"),
            &[format!("{uplinks} uplinks x speed"), share(2)],
        )?;
        let cores =
            whole(uplinks, down(2), line(2, "radix_down"), &[format!("{uplinks} uplinks"), radix(2)])?;
        let ends =
            [format!("{cores} cores x Bundle"), format!("{aggs_per_pod} aggregation switches of a pod")];
        matches(1, whole(cores * get(2, "bundle"), aggs_per_pod, line(2, "bundle"), &ends)?, "cores")?;
        Ok(Self { pods, tors_per_pod, aggs_per_pod, cores, bundles })
    }
}

/// What each tier must have.
fn required(tree: &Tree) -> Result<(), Fault> {
    let top = tree.tiers.len() - 1;
    for (number, tier) in tree.tiers.iter().enumerate() {
        let keys = [
            ("downlink_speed_gbps", "Downlink_speed_Gbps 100", true),
            ("radix_down", "Radix_Down 4", true),
            ("radix_up", "Radix_Up 4", number < top),
            ("downlink_latency_ns", "Downlink_Latency_ns 1000", true),
        ];
        if let Some((_, example, _)) =
            keys.iter().find(|(key, _, need)| *need && !tier.values.contains_key(key))
        {
            let name = example.split(' ').next().unwrap_or_default();
            let problem = format!("tier {number} has no {name}");
            return Err((Some(tier.line), problem, format!("add a line such as \"{example}\"")));
        }
        // Both ports of a link, or none.
        let above = tree.tiers.get(number + 1);
        let (up, down) = (tier.values.get("queue_up"), above.and_then(|tier| tier.values.get("queue_down")));
        if let (Some((_, line)), None) | (None, Some((_, line))) = (up, down) {
            let problem = format!(
                "of Queue_Up of tier {number} and Queue_Down of tier {} only one is given",
                number + 1
            );
            return Err((Some(*line), problem, "give both, or none and topology.buffer".to_owned()));
        }
    }
    Ok(())
}

/// A quotient without remainder, and not 0.
fn whole(a: u64, b: u64, line: Option<usize>, names: &[String; 2]) -> Result<u64, Fault> {
    match a.checked_div(b).filter(|quotient| quotient * b == a && *quotient > 0) {
        Some(quotient) => Ok(quotient),
        None => {
            let [of, by] = names;
            let problem = format!("{by} does not divide {of} ({a} / {b})");
            Err((line, problem, "htsim would cut the rest off: change one of the two".to_owned()))
        }
    }
}

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

/// The same nodes and links.
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
