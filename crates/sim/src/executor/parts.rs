//! Cutting a network into parts, one for a thread: between sites first, where delays are longest, then
//! between pods.

use farspan_fabric::{Network, NodeKind};
use farspan_units::Duration;

/// A network cut into parts.
pub(crate) struct Cut {
    /// The part of each node.
    pub(crate) part_of: Vec<u16>,
    /// The shortest delay of a link between parts; [`Duration::MAX`] if there is no such link.
    pub(crate) epoch: Duration,
}

impl Cut {
    /// Whether it has one part.
    pub(crate) fn is_one(&self) -> bool {
        self.part_of.iter().all(|&part| part == 0)
    }
}

/// Cuts a network into up to `parts` parts.
pub(crate) fn cut(network: &Network, parts: u16) -> Cut {
    let sites = network.nodes.iter().map(|node| node.site).max().map_or(1, |last| last + 1);
    let part_of = if parts <= 1 {
        vec![0; network.nodes.len()]
    } else if sites > 1 && u32::from(parts) <= sites {
        network.nodes.iter().map(|node| (node.site * u32::from(parts) / sites) as u16).collect()
    } else {
        by_pod(network, parts)
    };
    let between = |link: &&farspan_fabric::Link| part_of[link.from.index()] != part_of[link.to.index()];
    let epoch = network.links.iter().filter(between).map(|link| link.delay).min().unwrap_or(Duration::MAX);
    Cut { part_of, epoch }
}

/// Assigns pods to parts in order; switches above the pods are assigned to the parts in order, too.
fn by_pod(network: &Network, parts: u16) -> Vec<u16> {
    let pods = pods(network);
    let count = pods.iter().flatten().max().map_or(0, |&last| last + 1);
    let parts = u64::from(parts).min(u64::from(count)).max(1);
    let above = pods.iter().filter(|pod| pod.is_none()).count() as u64;
    let mut seen = 0;
    let part = |pod: &Option<u32>| match *pod {
        Some(pod) => (u64::from(pod) * parts / u64::from(count)) as u16,
        None => {
            seen += 1;
            ((seen - 1) * parts / above) as u16
        }
    };
    pods.iter().map(part).collect()
}

/// The pod of each host, ToR and aggregation switch: the nodes that are connected without core and border
/// switches.
fn pods(network: &Network) -> Vec<Option<u32>> {
    let inside =
        |node: usize| matches!(network.nodes[node].kind, NodeKind::Host | NodeKind::Tor | NodeKind::Agg);
    let (mut pods, mut count) = (vec![None; network.nodes.len()], 0);
    for first in 0..network.nodes.len() {
        if !inside(first) || pods[first].is_some() {
            continue;
        }
        let mut reached = vec![first];
        pods[first] = Some(count);
        while let Some(node) = reached.pop() {
            for port in network.ports_of(farspan_units::NodeId(node as u32)) {
                let to = network.links[port as usize].to.index();
                if inside(to) && pods[to].is_none() {
                    pods[to] = Some(count);
                    reached.push(to);
                }
            }
        }
        count += 1;
    }
    pods
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_fabric::topology::{BackboneLeafSpine, DualFatTree, FatTree, LeafSpine, Star};
    use farspan_units::Rate;

    fn tree() -> FatTree {
        FatTree::new(4, Rate::from_gbps(100), Duration::from_us(1))
    }

    fn dual() -> Network {
        DualFatTree {
            site: tree(),
            core_border_links: 2,
            wan_links: 2,
            wan_rate: Rate::from_gbps(100),
            wan_delay: Duration::from_ms(1),
        }
        .build()
        .expect("valid")
    }

    fn sizes(cut: &Cut) -> Vec<usize> {
        let parts = cut.part_of.iter().max().map_or(0, |&last| last + 1);
        (0..parts).map(|part| cut.part_of.iter().filter(|&&p| p == part).count()).collect()
    }

    #[test]
    fn two_sites_are_cut_between_them_and_wait_for_the_longest_link() {
        let cut = cut(&dual(), 2);
        assert_eq!(sizes(&cut), [37, 37]);
        assert_eq!(cut.epoch, Duration::from_ms(1));
    }

    #[test]
    fn a_backbone_is_cut_on_its_long_links() {
        let (rate, delay) = (Rate::from_gbps(100), Duration::from_us(1));
        let site = LeafSpine {
            leaves: 2,
            spines: 2,
            hosts_per_leaf: 4,
            link_rate: rate,
            uplink_rate: rate,
            link_delay: delay,
            switch_delay: Duration::ZERO,
        };
        let wan_delay = Duration::from_ms(1);
        let network = BackboneLeafSpine { site, routers: 8, links_per_spine: 4, wan_rate: rate, wan_delay };
        let cut = cut(&network.build().expect("valid"), 2);
        assert_eq!(sizes(&cut), [16, 16]);
        assert_eq!(cut.epoch, Duration::from_ms(1));
    }

    #[test]
    fn one_site_is_cut_between_its_pods() {
        let network = tree().build().expect("valid");
        let cut = cut(&network, 2);
        assert_eq!(sizes(&cut), [18, 18]);
        assert_eq!(cut.epoch, Duration::from_us(1));
    }

    #[test]
    fn more_threads_than_sites_cut_both_between_their_pods() {
        assert_eq!(sizes(&cut(&dual(), 4)).iter().sum::<usize>(), 74);
        assert_eq!(sizes(&cut(&dual(), 4)).len(), 4);
        assert_eq!(sizes(&cut(&dual(), 100)).len(), 8);
    }

    #[test]
    fn what_hangs_together_is_not_cut() {
        let hosts = vec![(Rate::from_gbps(100), Duration::from_us(1)); 4];
        let star = Star { switch_delay: Duration::ZERO, hosts }.build().expect("valid");
        assert_eq!(sizes(&cut(&star, 8)).len(), 1);
        assert_eq!(cut(&star, 1).epoch, Duration::MAX);
    }
}
