use super::*;
use crate::topology::{
    BackboneLeafSpine, DualFatTree, DualLeafSpine, Dumbbell, FatTree, LeafSpine, ParkingLot, Star,
};
use alloc::collections::BTreeMap;
use alloc::vec;
use farspan_units::Rate;

fn tree() -> FatTree {
    FatTree::new(8, Rate::from_gbps(100), Duration::from_us(1))
}

fn two_sites() -> Network {
    DualFatTree {
        site: tree(),
        core_border_links: 8,
        wan_links: 8,
        wan_rate: Rate::from_gbps(100),
        wan_delay: Duration::from_ps(886_500_000),
    }
    .build()
    .unwrap()
}

/// Follows a packet from host to host; gives the ports it crosses.
fn route(network: &Network, routes: &Routes, from: u32, to: u32, flow: u32, entropy: u16) -> Vec<PortId> {
    let mut ports = vec![PortId(network.first_port[from as usize])];
    loop {
        let node = network.links[ports.last().unwrap().index()].to;
        if node.0 < network.hosts {
            assert_eq!(node.0, to, "it arrived at the wrong host");
            return ports;
        }
        assert!(ports.len() < 16, "it is in a routing loop");
        let table = &routes.tables[node.index()];
        ports.push(table.port(HostId(to), FlowId(flow), entropy).unwrap());
    }
}

#[test]
fn every_host_reaches_every_other_by_a_shortest_path() {
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    for from in (0..256).step_by(7) {
        for to in (0..256).filter(|&to| to != from) {
            let hops = route(&network, &routes, from, to, from ^ to, to as u16).len();
            let expected = match (from / 128 == to / 128, from / 16 == to / 16, from / 4 == to / 4) {
                (false, ..) => 9,
                (_, _, true) => 2,
                (_, true, _) => 4,
                _ => 6,
            };
            assert_eq!(hops, expected, "{from} to {to}");
        }
    }
}

#[test]
fn ecmp_spreads_flows_evenly_over_the_wan() {
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    let mut used: BTreeMap<PortId, u32> = BTreeMap::new();
    for flow in 0..8000 {
        let ports = route(&network, &routes, 0, 200, flow, 0);
        let wan = ports.iter().find(|p| network.links[p.index()].tier == crate::Tier::Wan).unwrap();
        *used.entry(*wan).or_default() += 1;
    }
    assert_eq!(used.len(), 8);
    let chi2: f64 = used.values().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi2 < 24.3, "chi-squared {chi2} with 7 degrees of freedom: p < 0.001");
}

#[test]
fn switches_hash_with_salts_of_their_own_and_seeds_change_them() {
    let network = two_sites();
    let path = |seed, entropy| route(&network, &Routes::new(&network, seed), 0, 200, 1, entropy);
    assert_eq!(path(1, 5), path(1, 5));
    assert!((0..8).any(|e| path(1, e) != path(2, e)));
    let firsts: Vec<_> = (0..64).map(|e| path(1, e)).collect();
    let mut distinct = firsts.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 40, "{} different paths of 64 entropies", distinct.len());
}

#[test]
fn base_rtts_are_those_of_the_published_set_up() {
    // Uno's 14 us and 1.792 ms: 6 and 9 hops of 1 us, 4,160 B out and 64 B back at 100 Gb/s.
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    let rtt = |to| {
        let routed = routes.path(&network, HostId(0), HostId(to));
        routed.one_way(&network, Bytes::new(4160)) + routed.one_way(&network, Bytes::new(64))
    };
    assert_eq!(rtt(127), Duration::from_ps(14_027_520));
    assert_eq!(rtt(255), Duration::from_ps(1_792_041_280));
}

/// The incast proxy's network: two sites of 8 leaves and 8 spines, 64 routers, a millisecond from each spine to them.
fn backbone() -> Network {
    let site = LeafSpine {
        leaves: 8,
        spines: 8,
        hosts_per_leaf: 8,
        link_rate: tree().link_rate,
        uplink_rate: tree().link_rate,
        link_delay: tree().link_delay,
        switch_delay: Duration::ZERO,
    };
    let wan_delay = Duration::from_ms(1);
    BackboneLeafSpine { site, routers: 64, links_per_spine: 8, wan_rate: tree().link_rate, wan_delay }
        .build()
        .unwrap()
}

#[test]
fn every_host_reaches_every_other_through_a_backbone() {
    let network = backbone();
    let routes = Routes::new(&network, 1);
    for from in (0..128).step_by(5) {
        for to in (0..128).filter(|&to| to != from) {
            let hops = route(&network, &routes, from, to, from ^ to, to as u16).len();
            let expected = match (from / 64 == to / 64, from / 8 == to / 8) {
                (false, _) => 6,
                (_, true) => 2,
                _ => 4,
            };
            assert_eq!(hops, expected, "{from} to {to}");
        }
    }
}

#[test]
fn a_backbone_has_a_path_for_each_router_and_spreads_evenly_over_them() {
    let network = backbone();
    let routes = Routes::new(&network, 1);
    for (from, to) in [(0, 127), (127, 0), (9, 70)] {
        let shares = routes.shares(&network, HostId(from), HostId(to));
        let wan: Vec<_> =
            shares.iter().filter(|(port, _)| network.links[port.index()].tier == crate::Tier::Wan).collect();
        assert_eq!(wan.len(), 2 * 64, "to a router and from it");
        assert!(wan.iter().all(|(_, share)| (share - 1.0 / 64.0).abs() < 1e-12), "{from} to {to}: {wan:?}");
    }
    let mut used: BTreeMap<Vec<PortId>, u32> = BTreeMap::new();
    for entropy in 0..12_800 {
        *used.entry(route(&network, &routes, 0, 127, 1, entropy)).or_default() += 1;
    }
    assert_eq!(used.len(), 64, "spine, router, spine: the router says which");
    let chi2: f64 = used.values().map(|&c| (f64::from(c) - 200.0).powi(2) / 200.0).sum();
    assert!(chi2 < 103.4, "chi-squared {chi2} with 63 degrees of freedom: p < 0.001");
}

#[test]
fn base_rtts_are_those_of_the_incast_proxy_s_network() {
    // 4.008 ms and 8 us of propagation; 6 and 4 hops of 4,160 B out and 64 B back at 100 Gb/s.
    let network = backbone();
    let routes = Routes::new(&network, 1);
    let rtt = |to| {
        let routed = routes.path(&network, HostId(0), HostId(to));
        routed.one_way(&network, Bytes::new(4160)) + routed.one_way(&network, Bytes::new(64))
    };
    assert_eq!(rtt(127), Duration::from_ps(4_008_000_000 + 6 * (332_800 + 5120)));
    assert_eq!(rtt(63), Duration::from_ps(8_000_000 + 4 * (332_800 + 5120)));
}

#[test]
fn a_message_takes_its_packets_one_after_the_other_over_the_slowest_link() {
    let slow = Rate::from_gbps(10);
    let network = Dumbbell {
        hosts_per_side: 1,
        link_rate: Rate::from_gbps(100),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::ZERO,
        bottleneck_rate: slow,
        bottleneck_delay: Duration::from_us(5),
        two_sites: true,
    }
    .build()
    .unwrap();
    let routed = Routes::new(&network, 1).path(&network, HostId(0), HostId(1));
    let (full, last) = (Bytes::new(4160), Bytes::new(164));
    let ten = routed.message(&network, 10, full, last);
    let fast = Rate::from_gbps(100);
    // Nine full packets pass the bottleneck back to back; the short last one catches up with the ninth, which still
    // occupies the last link.
    let expected = fast.transmission(full)
        + slow.transmission(full) * 9
        + slow.transmission(last).max(fast.transmission(full))
        + fast.transmission(last)
        + Duration::from_us(7);
    assert_eq!(ten, expected);
    assert_eq!(routed.message(&network, 1, full, last), routed.one_way(&network, last));
}

#[test]
fn star_and_oversubscribed_trees_are_connected() {
    let star =
        Star { switch_delay: Duration::ZERO, hosts: vec![(Rate::from_gbps(10), Duration::from_us(1)); 5] };
    let thin = FatTree { oversubscription: [4, 2], ..tree() };
    for network in [star.build().unwrap(), thin.build().unwrap()] {
        let routes = Routes::new(&network, 1);
        for to in 1..network.hosts {
            route(&network, &routes, 0, to, to, 0);
        }
    }
}

/// The links from each node to `leaf`, without passing through hosts.
fn distances(network: &Network, leaf: NodeId) -> Vec<u32> {
    let mut distance = vec![u32::MAX; network.nodes.len()];
    distance[leaf.index()] = 0;
    for _ in &network.nodes {
        for link in network.links.iter().filter(|link| link.from.0 >= network.hosts) {
            let through = distance[link.to.index()].saturating_add(1);
            distance[link.from.index()] = distance[link.from.index()].min(through);
        }
    }
    distance
}

#[test]
fn a_group_is_every_port_that_leads_one_link_closer() {
    let small = FatTree::new(4, Rate::from_gbps(100), Duration::from_us(1));
    let sites = DualFatTree {
        site: small.clone(),
        core_border_links: 2,
        wan_links: 3,
        wan_rate: Rate::from_gbps(100),
        wan_delay: Duration::from_us(5),
    };
    let thin = FatTree { oversubscription: [2, 1], ..small.clone() };
    let leaves = LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 2,
        link_rate: tree().link_rate,
        uplink_rate: tree().link_rate,
        link_delay: tree().link_delay,
        switch_delay: Duration::ZERO,
    };
    let two = DualLeafSpine {
        site: leaves.clone(),
        spine_border_links: 2,
        wan_links: 3,
        wan_rate: Rate::from_gbps(100),
        wan_delay: Duration::from_us(5),
    };
    let chain = ParkingLot {
        bottlenecks: 4,
        hosts_per_switch: 2,
        link_rate: tree().link_rate,
        link_delay: tree().link_delay,
        switch_delay: Duration::ZERO,
        bottleneck_rate: tree().link_rate,
        bottleneck_delay: tree().link_delay,
    };
    let wan_rate = tree().link_rate;
    let routers = BackboneLeafSpine {
        site: leaves.clone(),
        routers: 4,
        links_per_spine: 4,
        wan_rate,
        wan_delay: Duration::from_us(5),
    };
    let one_site = [small.build(), thin.build(), leaves.build(), chain.build()];
    for network in one_site.into_iter().chain([sites.build(), two.build(), routers.build()]) {
        let network = network.unwrap();
        let routes = Routes::new(&network, 1);
        for host in 0..network.hosts {
            let leaf = network.links[network.first_port[host as usize] as usize].to;
            let distance = distances(&network, leaf);
            for node in (network.hosts..network.nodes.len() as u32).map(NodeId).filter(|node| *node != leaf) {
                let table = &routes.tables[node.index()];
                let group: Vec<_> = table.group_of(HostId(host)).collect();
                let far = |port: u32| distance[network.links[port as usize].to.index()];
                let closer = network.ports_of(node).filter(|&port| far(port) < distance[node.index()]);
                assert_eq!(group, closer.map(PortId).collect::<Vec<_>>(), "{} to host {host}", node.0);
            }
        }
    }
}

#[test]
fn tables_grow_with_the_ports_of_a_switch_not_with_leaves_times_ports() {
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    assert!(routes.tables[..256].iter().all(|table| table.towards.groups.is_empty()), "hosts have no routes");
    for (node, table) in routes.tables.iter().enumerate().skip(256) {
        let ports = network.ports_of(NodeId(node as u32)).len();
        let listed = table.towards.members.len();
        assert!(listed <= 2 * ports, "{listed} of {ports} ports at node {node}");
    }
}

/// The ports of a link and of its reverse link.
fn both_ways(network: &Network, name: &str) -> [PortId; 2] {
    let there = network.port_named(name).unwrap();
    let link = network.links[there.index()];
    let back = |port: &u32| {
        let other = network.links[*port as usize];
        (other.from, other.to, other.index) == (link.to, link.from, link.index)
    };
    [there, PortId((0..network.links.len() as u32).find(back).unwrap())]
}

/// The pairs (from, to) whose packets cross one of some links, and the hops of all.
fn crossings(network: &Network, routes: &Routes, links: &BTreeSet<PortId>) -> (Vec<(u32, u32)>, Vec<usize>) {
    let (mut crossing, mut hops) = (vec![], vec![]);
    for from in (0..network.hosts).step_by(5) {
        for to in (0..network.hosts).filter(|&to| to != from).step_by(3) {
            let ports = route(network, routes, from, to, from ^ to, (from * 31 + to) as u16);
            hops.push(ports.len());
            if ports.iter().any(|port| links.contains(port)) {
                crossing.push((from, to));
            }
        }
    }
    (crossing, hops)
}

#[test]
fn routes_avoid_a_link_where_there_are_other_ways() {
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    for name in ["border0->border1#3", "tor0->agg2#0", "agg0->core0#0", "core5->border0#1"] {
        let [there, back] = both_ways(&network, name);
        for links in [BTreeSet::from([there]), BTreeSet::from([there, back])] {
            assert!(!crossings(&network, &routes, &links).0.is_empty(), "{name} is used at first");
            let (crossing, hops) = crossings(&network, &routes.avoiding(&network, &links), &links);
            assert_eq!(crossing, [], "{name}");
            assert!(hops.iter().all(|&hops| hops <= 11), "{name}");
        }
    }
}

#[test]
fn avoiding_one_direction_leaves_the_other_alone() {
    let network = two_sites();
    let [there, back] = both_ways(&network, "tor0->agg2#0");
    let routes = Routes::new(&network, 1).avoiding(&network, &BTreeSet::from([there]));
    assert!(!crossings(&network, &routes, &BTreeSet::from([back])).0.is_empty());
}

#[test]
fn without_another_way_the_old_one_stays_and_packets_do_not_circle() {
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    let wan: BTreeSet<_> =
        (0..8).map(|n| network.port_named(&alloc::format!("border0->border1#{n}")).unwrap()).collect();
    let (before, _) = crossings(&network, &routes, &wan);
    let (after, _) = crossings(&network, &routes.avoiding(&network, &wan), &wan);
    assert_eq!(before, after);
    let all = (0..network.links.len() as u32).map(PortId).collect();
    let (_, hops) = crossings(&network, &routes.avoiding(&network, &all), &wan);
    assert!(hops.iter().all(|&hops| hops <= 9));
}

#[test]
fn a_switch_that_is_cut_off_from_one_leaf_avoids_dead_links_to_the_others() {
    let site = LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 1,
        link_rate: tree().link_rate,
        uplink_rate: tree().link_rate,
        link_delay: tree().link_delay,
        switch_delay: Duration::ZERO,
    };
    let network = site.build().unwrap();
    let port = |name| network.port_named(name).unwrap();
    // Nothing leads to the third leaf, and from the first one a single link leads to the second.
    let dead = ["spine0->leaf2#0", "spine1->leaf2#0", "leaf0->spine0#0"].map(port);
    let routes = Routes::new(&network, 1).avoiding(&network, &dead.into());
    let leaf = network.links[network.first_port[0] as usize].to;
    let ports = |to| routes.ports(leaf, HostId(to)).collect::<Vec<_>>();
    assert_eq!(ports(1), [port("leaf0->spine1#0")]);
    assert_eq!(ports(2), ["leaf0->spine0#0", "leaf0->spine1#0"].map(port), "the old routes stay");
}

#[test]
fn avoiding_nothing_is_the_same_as_knowing_nothing() {
    let network = two_sites();
    let routes = Routes::new(&network, 1);
    let same = routes.avoiding(&network, &BTreeSet::new());
    let none = BTreeSet::new();
    assert_eq!(crossings(&network, &routes, &none), crossings(&network, &same, &none));
}
