//! Topologies: parameters to nodes and links, and the delay between the sites that gives the base RTT asked for.

use super::PacketSizes;
use crate::memory;
use farspan_fabric::topology::{
    BackboneLeafSpine, DualFatTree, DualLeafSpine, Dumbbell, FatTree, LeafSpine, ParkingLot, Star,
};
use farspan_fabric::{Network, NodeKind, Routes, Tier, TopologyError};
use farspan_scenario::model::{self, Between, LinkChanges, Shape, Sides, Topology};
use farspan_scenario::topology::{Base, TopologyDocument};
use farspan_scenario::{Problem, ValueError};
use farspan_units::{Duration, HostId, NodeId, PortId, Rate};
use farspan_workload::{self as workload, Capacity, WanLinks};
use std::collections::BTreeMap;

/// Builds the network; the delay between sites follows from `topology.wan.rtt`, unless a pattern changes it.
pub(super) fn build(topology: &Topology, sizes: PacketSizes) -> Result<Network, ValueError> {
    fits(topology)?;
    let mut network = generate(topology)?;
    let wan = topology.wan();
    let buffers = [
        ("topology.buffer", Some(topology.buffer)),
        ("topology.core_border_buffer", topology.core_border_buffer()),
        ("topology.wan.buffer", wan.map(|(_, buffer)| buffer)),
    ];
    let changed = topology
        .link
        .0
        .iter()
        .map(|(pattern, change)| (LinkChanges::path(pattern) + ".buffer", change.buffer));
    for (path, buffer) in buffers.map(|(path, buffer)| (path.to_owned(), buffer)).into_iter().chain(changed) {
        if let Some(buffer) = buffer.filter(|buffer| *buffer < sizes.mtu()) {
            let problem = format!("a buffer of {buffer} is too small for a packet of {}", sizes.mtu());
            return Err(ValueError::rule(path, problem, "give more, such as \"1MiB\""));
        }
    }
    if let Some((rtt, _)) = wan {
        stretch(&mut network, rtt, sizes)?;
    }
    if let Shape::FromFile { .. } = topology.shape {
        // Its links have been changed: it alone knows what processing their delays contain.
        check_buffers(&network, sizes)?;
        return Ok(network);
    }
    let hosts = network.hosts;
    let processing = |node: NodeId| if node.0 < hosts { Duration::ZERO } else { topology.switch_delay };
    topology.link.apply(&mut network, processing)?;
    Ok(network)
}

fn generate(topology: &Topology) -> Result<Network, ValueError> {
    let Topology { link_rate, link_delay, switch_delay, .. } = *topology;
    let built = match &topology.shape {
        Shape::FatTree(site) => fat_tree(topology, site).build(),
        Shape::DualFatTree { site, borders, wan } => DualFatTree {
            site: fat_tree(topology, site),
            core_border_links: borders.core_border_links,
            wan_links: borders.wan_links,
            wan_rate: wan.rate,
            wan_delay: Duration::ZERO,
        }
        .build(),
        Shape::LeafSpine(site) => leaf_spine(topology, site).build(),
        Shape::DualLeafSpine { site, between: Between::Borders(borders), wan } => DualLeafSpine {
            site: leaf_spine(topology, site),
            spine_border_links: borders.core_border_links,
            wan_links: borders.wan_links,
            wan_rate: wan.rate,
            wan_delay: Duration::ZERO,
        }
        .build(),
        Shape::DualLeafSpine { site, between: Between::Backbone(backbone), wan } => BackboneLeafSpine {
            site: leaf_spine(topology, site),
            routers: backbone.routers,
            links_per_spine: backbone.links_per_spine,
            wan_rate: wan.rate,
            wan_delay: Duration::ZERO,
        }
        .build(),
        Shape::Dumbbell { hosts, bottleneck_rate, sides } => Dumbbell {
            hosts_per_side: *hosts,
            link_rate,
            link_delay,
            switch_delay,
            bottleneck_rate: *bottleneck_rate,
            bottleneck_delay: match sides {
                Sides::OneSite { bottleneck_delay } => *bottleneck_delay,
                Sides::TwoSites { .. } => Duration::ZERO,
            },
            two_sites: matches!(sides, Sides::TwoSites { .. }),
        }
        .build(),
        Shape::ParkingLot { bottlenecks, hosts, bottleneck_rate, bottleneck_delay } => ParkingLot {
            bottlenecks: *bottlenecks,
            hosts_per_switch: *hosts,
            link_rate,
            link_delay,
            switch_delay,
            bottleneck_rate: *bottleneck_rate,
            bottleneck_delay: *bottleneck_delay,
        }
        .build(),
        Shape::Star { hosts, host_delays } => {
            let hosts = match host_delays {
                Some(delays) => delays.iter().map(|delay| (link_rate, *delay)).collect(),
                None => vec![(link_rate, link_delay); *hosts as usize],
            };
            Star { switch_delay, hosts }.build()
        }
        Shape::FromFile { file, parameters } => {
            let file = TopologyDocument::of_scenario(file, parameters)?;
            return file.changed_network(&Base::of(topology), &topology.link);
        }
    };
    built.map_err(invalid)
}

/// Refuses a generated network that there is no memory for.
fn fits(topology: &Topology) -> Result<(), ValueError> {
    let (key, links) = links(topology);
    memory::fits(key, (links, "links", memory::OF_LINK), "ask for a smaller network")
}

/// The links of a generated network, and the key that they follow from: of fat trees those of hosts alone. None are counted of a
/// file, nor of what the generator refuses.
pub(super) fn links(topology: &Topology) -> (&'static str, f64) {
    const MOST_HOSTS: f64 = 1048576.0;
    // Thinned out by oversubscription, which is not counted: of a whole tree, the hosts are a third of it.
    let tree = |site: &model::FatTree| {
        let k = f64::from(site.k);
        let tors = site.pods.map_or(k, f64::from) * k / 2.0;
        let hosts = tors * site.hosts_per_tor.map_or(k / 2.0, f64::from);
        (hosts, hosts, k > f64::from(FatTree::MAX_K))
    };
    let spine = |site: &model::LeafSpine| {
        let [leaves, spines, hosts] = [site.leaves, site.spines, site.hosts].map(f64::from);
        (leaves * hosts, leaves * (hosts + spines))
    };
    let (key, hosts, pairs) = match &topology.shape {
        Shape::FatTree(site) | Shape::DualFatTree { site, .. } => {
            let (hosts, pairs, is_too_large) = tree(site);
            if is_too_large {
                return ("topology.k", 0.0);
            }
            let sites = if matches!(topology.shape, Shape::FatTree(_)) { 1.0 } else { 2.0 };
            ("topology.k", hosts, pairs * sites)
        }
        Shape::LeafSpine(site) => {
            let (hosts, pairs) = spine(site);
            ("topology.leaves", hosts, pairs)
        }
        Shape::DualLeafSpine { site, between, .. } => {
            let (hosts, pairs) = spine(site);
            let links = match between {
                Between::Borders(_) => 0.0,
                Between::Backbone(backbone) => f64::from(backbone.links_per_spine),
            };
            ("topology.leaves", hosts, 2.0 * (pairs + f64::from(site.spines) * links))
        }
        Shape::ParkingLot { bottlenecks, hosts, .. } => {
            ("topology.hosts", 0.0, f64::from(*bottlenecks) * f64::from(*hosts))
        }
        Shape::Dumbbell { hosts, .. } => ("topology.hosts", 0.0, 2.0 * f64::from(*hosts)),
        Shape::Star { hosts, .. } => ("topology.hosts", 0.0, f64::from(*hosts)),
        Shape::FromFile { .. } => ("topology.file", 0.0, 0.0),
    };
    (key, if hosts > MOST_HOSTS { 0.0 } else { 2.0 * pairs })
}

fn fat_tree(topology: &Topology, site: &model::FatTree) -> FatTree {
    let whole = FatTree::new(site.k, topology.link_rate, topology.link_delay);
    FatTree {
        pods: site.pods.unwrap_or(whole.pods),
        hosts_per_tor: site.hosts_per_tor.unwrap_or(whole.hosts_per_tor),
        fabric_rate: site.fabric_rate.unwrap_or(whole.fabric_rate),
        switch_delay: topology.switch_delay,
        oversubscription: [site.oversubscription.tor, site.oversubscription.agg],
        ..whole
    }
}

const fn leaf_spine(topology: &Topology, site: &model::LeafSpine) -> LeafSpine {
    LeafSpine {
        leaves: site.leaves,
        spines: site.spines,
        hosts_per_leaf: site.hosts,
        link_rate: topology.link_rate,
        uplink_rate: site.uplink_rate,
        link_delay: topology.link_delay,
        switch_delay: topology.switch_delay,
    }
}

/// Refuses a link of a file whose port holds no packet.
fn check_buffers(network: &Network, sizes: PacketSizes) -> Result<(), ValueError> {
    let small = |link: &farspan_fabric::Link| {
        link.buffer.filter(|buffer| *buffer < sizes.mtu()).map(|buffer| (link.from, link.to, buffer))
    };
    if let Some((from, to, buffer)) = network.links.iter().find_map(small) {
        let [from, to] = [from, to].map(|node| &network.nodes[node.index()].name);
        let problem =
            format!("a buffer of {buffer} from {from} to {to} is too small for a packet of {}", sizes.mtu());
        return Err(ValueError::rule("topology.file", problem, "give more"));
    }
    Ok(())
}

/// The names of the sites of a network, by number.
pub(super) fn site_names(topology: &Topology, network: &Network) -> Vec<String> {
    let file = match &topology.shape {
        Shape::FromFile { file, parameters } => TopologyDocument::of_scenario(file, parameters).ok(),
        _ => None,
    };
    let named: Vec<_> =
        file.iter().flat_map(|file| &file.file().site).map(|site| site.name.clone()).collect();
    let sites = network.nodes.iter().map(|node| node.site as usize + 1).max().unwrap_or_default();
    let name = |n: usize| named.get(n).cloned().flatten().unwrap_or_else(|| format!("site {n}"));
    (0..sites).map(name).collect()
}

/// The generators' parameters, as keys of a scenario.
fn invalid(error: TopologyError) -> ValueError {
    let parameter = match error.parameter {
        "hosts_per_side" | "hosts_per_leaf" | "hosts_per_switch" => "hosts",
        "wan.link_rate" => "wan.rate",
        key => key,
    };
    let error = TopologyError { parameter, ..error };
    ValueError::new(format!("topology.{parameter}"), Problem::Topology(error))
}

/// Delays the links between the sites so that the base RTT between hosts of two sites is `rtt`.
fn stretch(network: &mut Network, rtt: Duration, sizes: PacketSizes) -> Result<(), ValueError> {
    let last = HostId(network.hosts - 1);
    let path = Routes::new(network, 0).path(network, HostId(0), last);
    let without = path.one_way(network, sizes.mtu()) + path.one_way(network, sizes.header);
    if rtt < without {
        let problem = format!("{rtt} is less than {without}, which the links inside the sites already take");
        return Err(ValueError::rule(
            "topology.wan.rtt",
            problem,
            "give a longer base RTT, or shorten topology.link_delay",
        ));
    }
    // A path crosses two of them each way in a backbone.
    let is_wan = |port: &&PortId| network.links[port.index()].tier == Tier::Wan;
    let crossed = path.links.iter().filter(is_wan).count() as u64;
    for link in network.links.iter_mut().filter(|link| link.tier == Tier::Wan) {
        link.delay += (rtt - without) / (2 * crossed);
    }
    Ok(())
}

/// The capacity of the network, by tier: the reference of loads.
pub(super) fn capacity(
    topology: &Topology,
    network: &Network,
    routes: &Routes,
    sites: &workload::Sites,
    sizes: PacketSizes,
) -> Capacity {
    let sum = |rates: &mut dyn Iterator<Item = Rate>| rates.map(Rate::as_bps).fold(0, u64::saturating_add);
    let hosts = network.links.iter().filter(|link| link.tier == Tier::HostUp).map(|link| link.rate);
    let hosts = sum(&mut hosts.clone());
    let kind = |node: NodeId| network.nodes[node.index()].kind;
    // What racks can send to other switches.
    let up = |link: &&farspan_fabric::Link| kind(link.from) == NodeKind::Tor && link.tier != Tier::HostDown;
    let mut fabric = sum(&mut network.links.iter().filter(up).map(|link| link.rate));
    if matches!(topology.shape, Shape::FatTree(_) | Shape::DualFatTree { .. }) {
        // The switches above may be narrower still.
        let up = |link: &&farspan_fabric::Link| {
            kind(link.from) == NodeKind::Agg && kind(link.to) == NodeKind::Core
        };
        fabric = fabric.min(sum(&mut network.links.iter().filter(up).map(|link| link.rate)));
    }
    Capacity {
        host: Rate::from_bps(hosts / u64::from(network.hosts)),
        fabric: (fabric > 0).then(|| Rate::from_bps(fabric)),
        wan: wan_links(network, routes, sites),
        racks: routes.leaf_of.clone(),
        payload: sizes.payload,
        header: sizes.header,
    }
}

/// The links between each ordered pair of sites, and what share of whose traffic crosses them. The first hosts of two sites
/// stand for all. Of a backbone, half of whose routers count to each site, what crosses from one site to the other does so once.
fn wan_links(network: &Network, routes: &Routes, sites: &workload::Sites) -> Vec<WanLinks> {
    let n = sites.count();
    let mut all: BTreeMap<(usize, usize), WanLinks> = BTreeMap::new();
    let ends = |link: &farspan_fabric::Link| {
        let site = |node: NodeId| network.nodes[node.index()].site as usize;
        (site(link.from), site(link.to))
    };
    for link in network.links.iter().filter(|link| link.tier == Tier::Wan) {
        let (from, to) = ends(link);
        if from == to {
            continue;
        }
        let shares = vec![0.0; n * n];
        let links = all.entry((from, to)).or_insert(WanLinks { from, to, rate: Rate::ZERO, shares });
        links.rate = Rate::from_bps(links.rate.as_bps().saturating_add(link.rate.as_bps()));
    }
    for (from, to) in (0..n).flat_map(|from| (0..n).map(move |to| (from, to))).filter(|(from, to)| from != to)
    {
        let first = |site| HostId(sites.range(site).start);
        for (port, share) in routes.shares(network, first(from), first(to)) {
            if let Some(links) = all.get_mut(&ends(&network.links[port.index()])) {
                links.shares[from * n + to] += share;
            }
        }
    }
    // Thirds of thirds do not quite add up.
    let exact = |share: f64| (share * 1e9).round() / 1e9;
    all.values_mut().for_each(|links| links.shares.iter_mut().for_each(|share| *share = exact(*share)));
    all.into_values().collect()
}

/// The rate that most NICs have; of several, the highest.
pub(crate) fn usual_nic(network: &Network) -> Rate {
    let mut rates: BTreeMap<u64, u32> = BTreeMap::new();
    for link in network.links.iter().filter(|link| link.tier == Tier::HostUp) {
        *rates.entry(link.rate.as_bps()).or_default() += 1;
    }
    let most = rates.into_iter().max_by_key(|(rate, count)| (*count, *rate));
    Rate::from_bps(most.map_or(0, |(rate, _)| rate))
}
