//! The shape: what htsim derives from the numbers of a file, checked on the way.

use super::parse::{Flaw, Tree};

/// How many switches there are, and where.
pub(super) struct Shape {
    pub(super) pods: u64,
    pub(super) tors_per_pod: u64,
    /// Switches of the second tier: aggregation switches of a pod, or all spines.
    pub(super) aggs_per_pod: u64,
    /// None with two tiers.
    pub(super) cores: u64,
    /// Parallel links between the tiers.
    pub(super) bundles: Vec<u64>,
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

    /// The shape that htsim derives from the tree; every step is checked.
    pub(super) fn of(tree: &Tree) -> Result<Self, Flaw> {
        required(tree)?;
        one_pod_and_two_hosts(tree)?;
        let size = format!("Podsize {}", tree.pod_size);
        let pods = whole(tree.nodes, tree.pod_size, Some(tree.pod_line), &[nodes(tree), size.clone()])?;
        let line = line(tree, 0, "radix_down");
        let tors_per_pod = whole(tree.pod_size, down(tree, 0), line, &[size, radix(tree, 0)])?;
        oversubscribed_as_wired(tree)?;
        bundles_divide(tree)?;
        let (uplinks, aggs_per_pod) = second_tier(tree, pods)?;
        let cores = if tree.tiers.len() == 2 { 0 } else { third_tier(tree, uplinks, aggs_per_pod)? };
        let bundles = (1..tree.tiers.len()).map(|tier| get(tree, tier, "bundle")).collect();
        Ok(Self { pods, tors_per_pod, aggs_per_pod, cores, bundles })
    }
}

fn get(tree: &Tree, tier: usize, key: &str) -> u64 {
    tree.tiers[tier].get(key, 1)
}

fn line(tree: &Tree, tier: usize, key: &str) -> Option<usize> {
    tree.tiers[tier].line_of(key)
}

fn down(tree: &Tree, tier: usize) -> u64 {
    get(tree, tier, "radix_down")
}

fn speed(tree: &Tree, tier: usize) -> u64 {
    get(tree, tier, "downlink_speed_gbps")
}

/// The number of nodes as messages write it.
fn nodes(tree: &Tree) -> String {
    format!("Nodes {}", tree.nodes)
}

fn radix(tree: &Tree, tier: usize) -> String {
    format!("Radix_Down {} of tier {tier}", down(tree, tier))
}

fn one_pod_and_two_hosts(tree: &Tree) -> Result<(), Flaw> {
    if tree.tiers.len() == 2 && tree.pod_size != tree.nodes {
        let problem = format!("Podsize {} with two tiers, which make one pod of all hosts", tree.pod_size);
        return Err((Some(tree.pod_line), problem, format!("write Podsize {}", tree.nodes)));
    }
    if tree.nodes < 2 {
        let cure = "give at least Nodes 2".to_owned();
        return Err((Some(tree.nodes_line), "Nodes 1: there is no other host to send to".to_owned(), cure));
    }
    Ok(())
}

fn oversubscribed_as_wired(tree: &Tree) -> Result<(), Flaw> {
    let (over, down, up) = (get(tree, 0, "oversubscribed"), down(tree, 0), get(tree, 0, "radix_up"));
    if down / up == over {
        return Ok(());
    }
    let problem = format!("Oversubscribed {over} of tier 0, but Radix_Down {down} over Radix_Up {up}");
    let cure = match down / up {
        0 => "write a Radix_Down of at least Radix_Up".to_owned(),
        ratio => format!("write Oversubscribed {ratio}"),
    };
    Err((line(tree, 0, "oversubscribed"), problem, cure))
}

fn bundles_divide(tree: &Tree) -> Result<(), Flaw> {
    for tier in 1..tree.tiers.len() {
        let bundle = get(tree, tier, "bundle");
        for (of, radix) in [(tier, down(tree, tier)), (tier - 1, get(tree, tier - 1, "radix_up"))] {
            if !radix.is_multiple_of(bundle) {
                let problem =
                    format!("Bundle {bundle} of tier {tier} does not divide the radix {radix} of tier {of}");
                return Err((line(tree, tier, "bundle"), problem, "give a divisor".to_owned()));
            }
        }
    }
    Ok(())
}

/// How many links lead up from a tier, of `links` that lead up to it.
fn uplinks(tree: &Tree, tier: usize, (links, name): (u64, &str)) -> Result<u64, Flaw> {
    let below = tier - 1;
    let names = [format!("{name} x speed"), format!("speed of tier {tier} x Oversubscribed of tier {below}")];
    let (rate, share) = (links * speed(tree, below), speed(tree, tier) * get(tree, below, "oversubscribed"));
    whole(rate, share, line(tree, tier, "downlink_speed_gbps"), &names)
}

/// The links up from all ToRs, and the switches above them in each pod.
fn second_tier(tree: &Tree, pods: u64) -> Result<(u64, u64), Flaw> {
    let uplinks = uplinks(tree, 1, (tree.nodes, &nodes(tree)))?;
    let names = [format!("{uplinks} uplinks of ToRs"), format!("{pods} pods x {}", radix(tree, 1))];
    let aggs_per_pod = whole(uplinks, pods * down(tree, 1), line(tree, 1, "radix_down"), &names)?;
    leads_up(tree, 0, aggs_per_pod * get(tree, 1, "bundle"), "the tier above")?;
    Ok((uplinks, aggs_per_pod))
}

/// The cores.
fn third_tier(tree: &Tree, below: u64, aggs_per_pod: u64) -> Result<u64, Flaw> {
    let uplinks = uplinks(tree, 2, (below, &format!("{below} uplinks")))?;
    let names = [format!("{uplinks} uplinks"), radix(tree, 2)];
    let cores = whole(uplinks, down(tree, 2), line(tree, 2, "radix_down"), &names)?;
    let names = [format!("{cores} cores x Bundle"), format!("{aggs_per_pod} aggregation switches of a pod")];
    let links = whole(cores * get(tree, 2, "bundle"), aggs_per_pod, line(tree, 2, "bundle"), &names)?;
    leads_up(tree, 1, links, "cores")?;
    Ok(cores)
}

/// Whether a tier has as many links up as the other numbers make.
fn leads_up(tree: &Tree, tier: usize, found: u64, to: &str) -> Result<(), Flaw> {
    let up = get(tree, tier, "radix_up");
    if found == up {
        return Ok(());
    }
    let problem = format!("Radix_Up {up} of tier {tier}, but the other numbers make {found} links to {to}");
    let cure = format!("write Radix_Up {found}, or change the tier above");
    Err((line(tree, tier, "radix_up"), problem, cure))
}

/// Checks that each tier has its required keys.
fn required(tree: &Tree) -> Result<(), Flaw> {
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
fn whole(a: u64, b: u64, line: Option<usize>, names: &[String; 2]) -> Result<u64, Flaw> {
    match a.checked_div(b).filter(|quotient| quotient * b == a && *quotient > 0) {
        Some(quotient) => Ok(quotient),
        None => {
            let [of, by] = names;
            let problem = format!("{by} does not divide {of} ({a} / {b})");
            Err((line, problem, "htsim would cut the rest off: change one of the two".to_owned()))
        }
    }
}
