//! Topologies: parameters to nodes and links, and the delay between the sites that gives the base RTT asked for.

use super::{PacketSizes, given};
use crate::memory;
use farspan_fabric::topology::{
    BackboneLeafSpine, DualFatTree, DualLeafSpine, Dumbbell, FatTree, LeafSpine, ParkingLot, Star,
};
use farspan_fabric::{Network, NodeKind, Routes, Tier, TopologyError};
use farspan_scenario::model::{Backbone, Topology};
use farspan_scenario::topology::{self, Base};
use farspan_scenario::value::{Oversubscription, TopologyKind};
use farspan_scenario::{Problem, ValueError};
use farspan_units::{Duration, HostId, NodeId, PortId, Rate};
use farspan_workload::{self as workload, Capacity, WanLinks};
use std::collections::BTreeMap;

/// Builds the network; the delay between sites follows from `topology.wan.rtt`.
pub(super) fn build(topology: &Topology, sizes: PacketSizes) -> Result<Network, ValueError> {
    fits(topology)?;
    let mut network = match given(topology.kind) {
        TopologyKind::FatTree => fat_tree(topology).build(),
        TopologyKind::DualFatTree => dual_fat_tree(topology).build(),
        TopologyKind::LeafSpine => leaf_spine(topology).build(),
        TopologyKind::DualLeafSpine => match &topology.backbone {
            Some(backbone) => backbone_leaf_spine(topology, backbone).build(),
            None => dual_leaf_spine(topology).build(),
        },
        TopologyKind::Dumbbell => dumbbell(topology).build(),
        TopologyKind::ParkingLot => parking_lot(topology).build(),
        TopologyKind::Star => star(topology).build(),
        TopologyKind::FromFile => Ok(from_file(topology, sizes)?),
    }
    .map_err(invalid)?;
    let buffers = [
        ("topology.buffer", topology.buffer),
        ("topology.core_border_buffer", topology.core_border_buffer),
        ("topology.wan.buffer", wan_buffer(topology)),
    ];
    for (path, buffer) in buffers {
        if buffer.is_some_and(|buffer| buffer < sizes.mtu()) {
            let problem = format!("a buffer of {} holds no packet of {}", given(buffer), sizes.mtu());
            return Err(ValueError::rule(path, problem, "give more, such as \"1MiB\""));
        }
    }
    if let Some(rtt) = topology.wan.as_ref().and_then(|wan| wan.rtt) {
        stretch(&mut network, rtt, sizes)?;
    }
    Ok(network)
}

/// Refuses a generated network that there is no memory for.
fn fits(topology: &Topology) -> Result<(), ValueError> {
    const MOST_HOSTS: f64 = 1048576.0;
    let number = |n: Option<u32>| f64::from(n.unwrap_or_default());
    let (hosts, k) = (number(topology.hosts), number(topology.k));
    let (leaves, spines) = (number(topology.leaves), number(topology.spines));
    let tors = topology.pods.map_or(k, f64::from) * k / 2.0;
    let hosts_per_tor = topology.hosts_per_tor.map_or(k / 2.0, f64::from);
    if k > f64::from(FatTree::MAX_K) || leaves * hosts > MOST_HOSTS || tors * hosts_per_tor > MOST_HOSTS {
        // The generator says it better.
        return Ok(());
    }
    let (key, pairs) = match given(topology.kind) {
        // Thinned out by oversubscription, which is not counted: of a whole tree, the hosts are a third of it.
        TopologyKind::FatTree => ("topology.k", tors * hosts_per_tor),
        TopologyKind::DualFatTree => ("topology.k", tors * hosts_per_tor * 2.0),
        TopologyKind::LeafSpine => ("topology.leaves", leaves * (hosts + spines)),
        TopologyKind::DualLeafSpine => {
            let links = topology.backbone.as_ref().and_then(|backbone| backbone.links_per_spine);
            ("topology.leaves", 2.0 * (leaves * (hosts + spines) + spines * number(links)))
        }
        TopologyKind::ParkingLot => ("topology.hosts", number(topology.bottlenecks) * hosts),
        TopologyKind::Dumbbell => ("topology.hosts", 2.0 * hosts),
        TopologyKind::Star => ("topology.hosts", hosts),
        TopologyKind::FromFile => return Ok(()),
    };
    memory::fits(key, (2.0 * pairs, "links", memory::OF_LINK), "ask for a smaller network")
}

fn wan_buffer(topology: &Topology) -> Option<farspan_units::Bytes> {
    topology.wan.as_ref().and_then(|wan| wan.buffer)
}

fn fat_tree(topology: &Topology) -> FatTree {
    let Oversubscription { tor, agg } = given(topology.oversubscription);
    let whole = FatTree::new(given(topology.k), given(topology.link_rate), given(topology.link_delay));
    FatTree {
        pods: topology.pods.unwrap_or(whole.pods),
        hosts_per_tor: topology.hosts_per_tor.unwrap_or(whole.hosts_per_tor),
        fabric_rate: topology.fabric_rate.unwrap_or(whole.fabric_rate),
        switch_delay: given(topology.switch_delay),
        oversubscription: [tor, agg],
        ..whole
    }
}

fn dual_fat_tree(topology: &Topology) -> DualFatTree {
    let wan = given(topology.wan.as_ref());
    DualFatTree {
        site: fat_tree(topology),
        core_border_links: given(topology.core_border_links),
        wan_links: given(wan.links),
        wan_rate: given(wan.rate),
        wan_delay: Duration::ZERO,
    }
}

fn leaf_spine(topology: &Topology) -> LeafSpine {
    LeafSpine {
        leaves: given(topology.leaves),
        spines: given(topology.spines),
        hosts_per_leaf: given(topology.hosts),
        link_rate: given(topology.link_rate),
        uplink_rate: given(topology.uplink_rate),
        link_delay: given(topology.link_delay),
        switch_delay: given(topology.switch_delay),
    }
}

fn dual_leaf_spine(topology: &Topology) -> DualLeafSpine {
    let wan = given(topology.wan.as_ref());
    DualLeafSpine {
        site: leaf_spine(topology),
        spine_border_links: given(topology.core_border_links),
        wan_links: given(wan.links),
        wan_rate: given(wan.rate),
        wan_delay: Duration::ZERO,
    }
}

fn backbone_leaf_spine(topology: &Topology, backbone: &Backbone) -> BackboneLeafSpine {
    BackboneLeafSpine {
        site: leaf_spine(topology),
        routers: given(backbone.routers),
        links_per_spine: given(backbone.links_per_spine),
        wan_rate: given(topology.wan.as_ref().and_then(|wan| wan.rate)),
        wan_delay: Duration::ZERO,
    }
}

fn parking_lot(topology: &Topology) -> ParkingLot {
    ParkingLot {
        bottlenecks: given(topology.bottlenecks),
        hosts_per_switch: given(topology.hosts),
        link_rate: given(topology.link_rate),
        link_delay: given(topology.link_delay),
        switch_delay: given(topology.switch_delay),
        bottleneck_rate: given(topology.bottleneck_rate),
        bottleneck_delay: given(topology.bottleneck_delay),
    }
}

fn dumbbell(topology: &Topology) -> Dumbbell {
    Dumbbell {
        hosts_per_side: given(topology.hosts),
        link_rate: given(topology.link_rate),
        link_delay: given(topology.link_delay),
        switch_delay: given(topology.switch_delay),
        bottleneck_rate: given(topology.bottleneck_rate),
        bottleneck_delay: topology.bottleneck_delay.unwrap_or(Duration::ZERO),
        two_sites: given(topology.two_sites),
    }
}

fn star(topology: &Topology) -> Star {
    let (rate, delay) = (given(topology.link_rate), given(topology.link_delay));
    let hosts = match &topology.host_delays {
        Some(delays) => delays.iter().map(|delay| (rate, *delay)).collect(),
        None => vec![(rate, delay); given(topology.hosts) as usize],
    };
    Star { switch_delay: given(topology.switch_delay), hosts }
}

fn from_file(topology: &Topology, sizes: PacketSizes) -> Result<Network, ValueError> {
    let base = Base {
        rate: given(topology.link_rate),
        delay: given(topology.link_delay),
        switch_delay: given(topology.switch_delay),
    };
    let key = "topology.file";
    let file = topology::TopologyDocument::open(given(topology.file.as_deref()));
    let network = file.and_then(|file| file.network(&base));
    let network = network.map_err(|error| ValueError::new(key, Problem::File(Box::new(error))))?;
    let small = |link: &&farspan_fabric::Link| link.buffer.is_some_and(|buffer| buffer < sizes.mtu());
    if let Some(link) = network.links.iter().find(small) {
        let [from, to] = [link.from, link.to].map(|node| &network.nodes[node.index()].name);
        let (buffer, mtu) = (given(link.buffer), sizes.mtu());
        let problem = format!("a buffer of {buffer} from {from} to {to} holds no packet of {mtu}");
        return Err(ValueError::rule(key, problem, "give more"));
    }
    Ok(network)
}

/// The names of the sites of a network, by number.
pub(super) fn site_names(topology: &Topology, network: &Network) -> Vec<String> {
    let file = topology.file.as_deref().filter(|_| topology.kind == Some(TopologyKind::FromFile));
    let file = file.and_then(|file| topology::TopologyDocument::open(file).ok());
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
        let problem = format!("{rtt} is less than the {without} that the links inside the sites take");
        return Err(ValueError::rule(
            "topology.wan.rtt",
            problem,
            "give a longer base RTT, or shorten topology.link_delay",
        ));
    }
    // Of a backbone, a path crosses two of them each way.
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
    if given(topology.kind).is_fat_tree() {
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
pub(super) fn usual_nic(network: &Network) -> Rate {
    let mut rates: BTreeMap<u64, u32> = BTreeMap::new();
    for link in network.links.iter().filter(|link| link.tier == Tier::HostUp) {
        *rates.entry(link.rate.as_bps()).or_default() += 1;
    }
    let most = rates.into_iter().max_by_key(|(rate, count)| (*count, *rate));
    Rate::from_bps(most.map_or(0, |(rate, _)| rate))
}
