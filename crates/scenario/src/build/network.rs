//! Topologies: parameters to nodes and links, and the delay between the sites that gives the base RTT asked for.

use super::{Sizes, given};
use crate::error::Fault;
use crate::model::Topology;
use crate::value::{Oversubscription, TopologyKind};
use farspan_fabric::topology::{DualFatTree, DualLeafSpine, Dumbbell, FatTree, LeafSpine, ParkingLot, Star};
use farspan_fabric::{Network, Routes, Tier, TopologyError};
use farspan_units::{Duration, HostId, Rate};
use farspan_workload::Capacity;

/// Builds the network; the delay between sites follows from `topology.wan.rtt`.
pub(super) fn build(topology: &Topology, sizes: Sizes) -> Result<Network, Fault> {
    let mut network = match given(topology.kind) {
        TopologyKind::FatTree => fat_tree(topology).build(),
        TopologyKind::DualFatTree => dual_fat_tree(topology).build(),
        TopologyKind::LeafSpine => leaf_spine(topology).build(),
        TopologyKind::DualLeafSpine => dual_leaf_spine(topology).build(),
        TopologyKind::Dumbbell => dumbbell(topology).build(),
        TopologyKind::ParkingLot => parking_lot(topology).build(),
        TopologyKind::Star => star(topology).build(),
    }
    .map_err(fault)?;
    let buffers = [
        ("topology.buffer", topology.buffer),
        ("topology.core_border_buffer", topology.core_border_buffer),
        ("topology.wan.buffer", wan_buffer(topology)),
    ];
    for (path, buffer) in buffers {
        if buffer.is_some_and(|buffer| buffer < sizes.mtu()) {
            let problem = format!("a buffer of {} holds no packet of {}", given(buffer), sizes.mtu());
            return Err(Fault::new(path, problem, "give more, such as \"1MiB\""));
        }
    }
    if let Some(rtt) = topology.wan.as_ref().and_then(|wan| wan.rtt) {
        stretch(&mut network, rtt, sizes)?;
    }
    Ok(network)
}

fn wan_buffer(topology: &Topology) -> Option<farspan_units::Bytes> {
    topology.wan.as_ref().and_then(|wan| wan.buffer)
}

fn fat_tree(topology: &Topology) -> FatTree {
    let Oversubscription { tor, agg } = given(topology.oversubscription);
    FatTree {
        k: given(topology.k),
        link_rate: given(topology.link_rate),
        link_delay: given(topology.link_delay),
        switch_delay: given(topology.switch_delay),
        oversubscription: [tor, agg],
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

/// The generators' parameters, as keys of a scenario.
fn fault(error: TopologyError) -> Fault {
    let key = match error.parameter {
        "hosts_per_side" | "hosts_per_leaf" | "hosts_per_switch" => "hosts",
        "wan.link_rate" => "wan.rate",
        key => key,
    };
    Fault::new(format!("topology.{key}"), format!("{} = {}: {}", key, error.value, error.problem), error.cure)
}

/// Delays the links between the sites so that the base RTT between hosts of two sites is `rtt`.
fn stretch(network: &mut Network, rtt: Duration, sizes: Sizes) -> Result<(), Fault> {
    let last = HostId(network.hosts - 1);
    let walk = Routes::new(network, 0).walk(network, HostId(0), last);
    let without = walk.one_way(network, sizes.mtu()) + walk.one_way(network, sizes.header);
    if rtt < without {
        let problem = format!("{rtt} is less than the {without} that the links inside the sites take");
        return Err(Fault::new(
            "topology.wan.rtt",
            problem,
            "give a longer base RTT, or shorten topology.link_delay",
        ));
    }
    for link in network.links.iter_mut().filter(|link| link.tier == Tier::Wan) {
        link.delay += (rtt - without) / 2;
    }
    Ok(())
}

/// What the network could carry.
pub(super) fn capacity(topology: &Topology, network: &Network, sizes: Sizes) -> Capacity {
    let host = given(topology.link_rate);
    let hosts = u64::from(network.hosts);
    let total = |rate: Rate, n: u64| Rate::from_bps(rate.as_bps().saturating_mul(n));
    let (fabric, hosts_per_rack) = match given(topology.kind) {
        TopologyKind::FatTree | TopologyKind::DualFatTree => {
            let Oversubscription { tor, agg } = given(topology.oversubscription);
            let fabric = total(host, hosts).as_bps() / (u64::from(tor) * u64::from(agg));
            (Some(Rate::from_bps(fabric)), given(topology.k) / 2)
        }
        TopologyKind::LeafSpine | TopologyKind::DualLeafSpine => {
            let sites = if given(topology.kind).is_dual() { 2 } else { 1 };
            let links = sites * u64::from(given(topology.leaves)) * u64::from(given(topology.spines));
            (Some(total(given(topology.uplink_rate), links)), given(topology.hosts))
        }
        TopologyKind::Dumbbell => (Some(total(given(topology.bottleneck_rate), 2)), given(topology.hosts)),
        TopologyKind::ParkingLot => {
            let links = 2 * u64::from(given(topology.bottlenecks));
            (Some(total(given(topology.bottleneck_rate), links)), given(topology.hosts))
        }
        TopologyKind::Star => (None, network.hosts),
    };
    let outward =
        |link: &&farspan_fabric::Link| link.tier == Tier::Wan && network.nodes[link.from.index()].site == 0;
    let wan: u64 = network.links.iter().filter(outward).map(|link| link.rate.as_bps()).sum();
    let wan = (wan > 0).then(|| Rate::from_bps(wan));
    Capacity { host, fabric, wan, hosts_per_rack, payload: sizes.payload, header: sizes.header }
}
