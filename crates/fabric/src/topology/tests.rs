use super::*;
use alloc::vec;
use farspan_units::{HostId, PortId};

fn tree(k: u32) -> FatTree {
    FatTree::new(k, Rate::from_gbps(100), Duration::from_us(1))
}

fn dual(k: u32) -> DualFatTree {
    DualFatTree {
        site: tree(k),
        core_border_links: 8,
        wan_links: 8,
        wan_rate: Rate::from_gbps(100),
        wan_delay: Duration::from_us(886),
    }
}

fn count(network: &Network, kind: NodeKind) -> usize {
    network.nodes.iter().filter(|node| node.kind == kind).count()
}

#[test]
fn two_trees_of_eight_have_the_published_size() {
    let network = dual(8).build().unwrap();
    assert_eq!(network.hosts, 256);
    let sizes =
        [NodeKind::Tor, NodeKind::Agg, NodeKind::Core, NodeKind::Border].map(|kind| count(&network, kind));
    assert_eq!(sizes, [64, 64, 32, 2]);
    let tier = |tier| network.links.iter().filter(|link| link.tier == tier).count();
    assert_eq!(tier(Tier::Wan), 16);
    assert_eq!(tier(Tier::Border), 2 * 2 * 16 * 8);
    assert_eq!(tier(Tier::Fabric), 2 * 2 * (32 * 4 + 32 * 4));
}

fn leaf_spine() -> LeafSpine {
    LeafSpine {
        leaves: 4,
        spines: 2,
        hosts_per_leaf: 8,
        link_rate: Rate::from_gbps(100),
        uplink_rate: Rate::from_gbps(400),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::from_ns(500),
    }
}

fn dual_leaf_spine() -> DualLeafSpine {
    DualLeafSpine {
        site: leaf_spine(),
        spine_border_links: 3,
        wan_links: 5,
        wan_rate: Rate::from_gbps(200),
        wan_delay: Duration::from_ms(1),
    }
}

fn backbone() -> BackboneLeafSpine {
    BackboneLeafSpine {
        site: LeafSpine {
            leaves: 8,
            spines: 8,
            hosts_per_leaf: 8,
            link_rate: Rate::from_gbps(100),
            uplink_rate: Rate::from_gbps(100),
            link_delay: Duration::from_us(1),
            switch_delay: Duration::ZERO,
        },
        routers: 64,
        links_per_spine: 8,
        wan_rate: Rate::from_gbps(100),
        wan_delay: Duration::from_ms(1),
    }
}

/// The spines of a site that a router has links to, by number in their site.
fn spines_of(network: &Network, router: u32, site: u32, spines: u32) -> Vec<u32> {
    let linked = |spine: &u32| {
        let name = alloc::format!("router{router}->spine{}#0", site * spines + spine);
        network.port_named(&name).is_some()
    };
    (0..spines).filter(linked).collect()
}

fn parking_lot() -> ParkingLot {
    ParkingLot {
        bottlenecks: 3,
        hosts_per_switch: 2,
        link_rate: Rate::from_gbps(100),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::ZERO,
        bottleneck_rate: Rate::from_gbps(40),
        bottleneck_delay: Duration::from_us(5),
    }
}

/// The links between hosts along one of the shortest paths.
fn hops(network: &Network, from: u32, to: u32) -> usize {
    crate::Routes::new(network, 1).path(network, HostId(from), HostId(to)).links.len()
}

#[test]
fn every_leaf_has_a_link_to_every_spine() {
    let network = leaf_spine().build().unwrap();
    assert_eq!((network.hosts, network.nodes.len()), (32, 32 + 4 + 2));
    assert_eq!([NodeKind::Tor, NodeKind::Core].map(|kind| count(&network, kind)), [4, 2]);
    assert_eq!(network.links.len(), 2 * (32 + 4 * 2));
    for leaf in 0..4 {
        for spine in 0..2 {
            let port = network.port_named(&alloc::format!("leaf{leaf}->spine{spine}#0")).unwrap();
            let link = network.links[port.index()];
            assert_eq!((link.rate, link.delay), (Rate::from_gbps(400), Duration::from_ns(1500)));
        }
    }
    let nic = network.links[network.port_named("host9->leaf1#0").unwrap().index()];
    assert_eq!((nic.rate, nic.tier), (Rate::from_gbps(100), Tier::HostUp));
    assert_eq!([hops(&network, 0, 7), hops(&network, 0, 8)], [2, 4]);
}

#[test]
fn borders_of_two_leaf_spines_meet_their_spines() {
    let network = dual_leaf_spine().build().unwrap();
    assert_eq!((network.hosts, network.nodes.len()), (64, 64 + 8 + 4 + 2));
    let tier = |tier| network.links.iter().filter(|link| link.tier == tier).count();
    assert_eq!(tier(Tier::Border), 2 * 2 * 2 * 3);
    assert_eq!(tier(Tier::Wan), 2 * 5);
    for name in ["spine1->border0#2", "border1->spine3#0", "border0->border1#4", "leaf7->host63#0"] {
        assert!(network.port_named(name).is_some(), "{name} is missing");
    }
    let wan = network.links[network.port_named("border1->border0#0").unwrap().index()];
    assert_eq!((wan.rate, wan.delay), (Rate::from_gbps(200), Duration::from_ps(1_000_500_000)));
    assert_eq!((network.site(HostId(31)), network.site(HostId(32))), (0, 1));
    assert_eq!([hops(&network, 0, 31), hops(&network, 0, 32)], [4, 7]);
}

#[test]
fn without_spines_leaves_meet_at_the_border_switch() {
    let whole = dual_leaf_spine();
    let plain = DualLeafSpine { site: LeafSpine { spines: 0, ..whole.site.clone() }, ..whole.clone() };
    let network = plain.build().unwrap();
    assert_eq!((network.hosts, network.nodes.len()), (64, 64 + 8 + 2));
    let tier = |tier| network.links.iter().filter(|link| link.tier == tier).count();
    assert_eq!((tier(Tier::Border), tier(Tier::Fabric)), (2 * 8 * 3, 0));
    let uplink = network.links[network.port_named("leaf3->border0#2").unwrap().index()];
    assert_eq!(
        (uplink.rate, uplink.delay),
        (whole.site.uplink_rate, whole.site.link_delay + whole.site.switch_delay)
    );
    assert_eq!([hops(&network, 0, 31), hops(&network, 0, 32)], [4, 5]);
    let borders = (0..network.nodes.len() as u32).filter(|&node| network.is_border(NodeId(node)));
    let named: Vec<_> = borders.map(|node| network.nodes[node as usize].name.clone()).collect();
    assert_eq!(named, ["border0", "border1"]);
}

#[test]
fn a_backbone_of_64_routers_has_the_published_size() {
    let network = backbone().build().unwrap();
    assert_eq!((network.hosts, network.nodes.len()), (128, 128 + 16 + 16 + 64));
    let sizes = [NodeKind::Tor, NodeKind::Core, NodeKind::Border].map(|kind| count(&network, kind));
    assert_eq!(sizes, [16, 16, 64]);
    let tier = |tier| network.links.iter().filter(|link| link.tier == tier).count();
    assert_eq!([tier(Tier::Wan), tier(Tier::Border)], [2 * 2 * 64, 0]);
    for router in 0..64 {
        let [first, second] = [0, 1].map(|site| spines_of(&network, router, site, 8));
        assert_eq!((first, second), (vec![router / 8], vec![router % 8]), "router {router}");
    }
    assert_eq!([hops(&network, 0, 63), hops(&network, 0, 64)], [4, 6]);
    let wan = network.links[network.port_named("spine0->router7#0").unwrap().index()];
    assert_eq!((wan.rate, wan.delay), (Rate::from_gbps(100), Duration::from_ms(1)));
    let of_site = |site| network.nodes.iter().filter(|node| node.site == site).count();
    assert_eq!([of_site(0), of_site(1)], [112, 112], "half of the routers count to each site");
}

#[test]
fn every_router_has_as_many_links_to_each_site_and_every_spine_as_many_routers() {
    for (spines, links_per_spine, routers) in
        [(8, 8, 64), (8, 8, 16), (4, 3, 12), (4, 6, 8), (2, 5, 5), (6, 1, 1), (1, 3, 3), (3, 4, 4)]
    {
        let site = LeafSpine { spines, ..leaf_spine() };
        let shape = BackboneLeafSpine { site, routers, links_per_spine, ..backbone() };
        let network = shape.build().unwrap_or_else(|error| panic!("{error}"));
        assert!(network.links.iter().all(|link| link.index == 0), "each link leads to another router");
        let mut of_spine = vec![0; 2 * spines as usize];
        for router in 0..routers {
            for site in 0..2 {
                let linked = spines_of(&network, router, site, spines);
                assert_eq!(linked.len() as u32, spines * links_per_spine / routers, "router {router}");
                linked.iter().for_each(|spine| of_spine[(site * spines + spine) as usize] += 1);
            }
        }
        assert_eq!(of_spine, vec![links_per_spine; 2 * spines as usize]);
    }
}

#[test]
fn every_pair_of_spines_has_a_router_between_where_there_are_links_enough() {
    for (spines, links_per_spine, routers) in [(8, 8, 64), (4, 8, 32), (4, 6, 12)] {
        let site = LeafSpine { spines, ..leaf_spine() };
        let network = BackboneLeafSpine { site, routers, links_per_spine, ..backbone() }.build().unwrap();
        for (first, second) in (0..spines).flat_map(|first| (0..spines).map(move |second| (first, second))) {
            let between = |router: &u32| {
                spines_of(&network, *router, 0, spines).contains(&first)
                    && spines_of(&network, *router, 1, spines).contains(&second)
            };
            assert!((0..routers).any(|router| between(&router)), "spine {first} and {second} of {spines}");
        }
    }
}

#[test]
fn a_parking_lot_is_a_chain() {
    let network = parking_lot().build().unwrap();
    assert_eq!((network.hosts, network.nodes.len(), network.links.len()), (8, 12, 2 * (8 + 3)));
    for s in 0..3 {
        let port = network.port_named(&alloc::format!("switch{s}->switch{}#0", s + 1)).unwrap();
        let link = network.links[port.index()];
        assert_eq!((link.rate, link.delay), (Rate::from_gbps(40), Duration::from_us(5)));
    }
    // From the first switch to each of the four: a host's link, the links between, and a host's link.
    assert_eq!([1, 2, 4, 6].map(|to| hops(&network, 0, to)), [2, 3, 4, 5]);
}

#[test]
fn names_are_numbered_through_the_sites() {
    let network = dual(8).build().unwrap();
    for name in ["tor60->host240#0", "border0->border1#7", "core31->border1#0", "host255->tor63#0"] {
        let port = network.port_named(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(network.port_name(port), name);
    }
    assert_eq!(network.port_named("border0->border1#8"), None);
    assert_eq!((network.site(HostId(127)), network.site(HostId(128))), (0, 1));
}

#[test]
fn the_sides_of_a_dumbbell_meet_over_its_bottleneck_alone() {
    for two_sites in [false, true] {
        let network = Dumbbell {
            hosts_per_side: 3,
            link_rate: Rate::from_gbps(100),
            link_delay: Duration::from_us(1),
            switch_delay: Duration::ZERO,
            bottleneck_rate: Rate::from_gbps(10),
            bottleneck_delay: Duration::from_us(5),
            two_sites,
        }
        .build()
        .unwrap();
        assert_eq!(count(&network, NodeKind::Tor), 2);
        let bottleneck = network.port_named("tor0->tor1#0").expect("the link between the switches");
        let routes = crate::Routes::new(&network, 1);
        for (from, to) in [(0, 3), (2, 5), (0, 1)] {
            let path = routes.path(&network, HostId(from), HostId(to));
            assert_eq!(path.links.contains(&bottleneck), (from < 3) != (to < 3), "{from} to {to}");
        }
    }
}

#[test]
fn ports_of_a_node_stand_together() {
    let network = dual(4).build().unwrap();
    for node in 0..network.nodes.len() as u32 {
        for port in network.ports_of(NodeId(node)) {
            assert_eq!(network.links[PortId(port).index()].from, NodeId(node));
        }
    }
    assert_eq!(*network.first_port.last().unwrap() as usize, network.links.len());
}

#[test]
fn every_link_has_its_reverse() {
    for network in [
        dual(4).build().unwrap(),
        FatTree { oversubscription: [2, 1], ..tree(8) }.build().unwrap(),
        dual_leaf_spine().build().unwrap(),
        parking_lot().build().unwrap(),
    ] {
        for link in &network.links {
            let back = |other: &&crate::Link| {
                (other.from, other.to, other.index) == (link.to, link.from, link.index)
            };
            assert_eq!(network.links.iter().filter(back).count(), 1);
        }
    }
}

#[test]
fn oversubscription_thins_the_uplinks_as_in_the_published_8_to_1_trees() {
    let network = FatTree { oversubscription: [4, 2], ..tree(8) }.build().unwrap();
    let ups = |kind: NodeKind| {
        let node = network.nodes.iter().position(|n| n.kind == kind).unwrap();
        let up = |&port: &u32| network.nodes[network.links[port as usize].to.index()].kind > kind;
        network.ports_of(NodeId(node as u32)).filter(up).count()
    };
    assert_eq!((network.hosts, ups(NodeKind::Tor), ups(NodeKind::Agg)), (128, 1, 2));
}

#[test]
fn a_tree_may_have_fewer_pods_more_hosts_and_faster_links_between_its_switches() {
    // The tree of OSCAR, section 5.2.
    let oscar = FatTree { pods: 5, hosts_per_tor: 16, fabric_rate: Rate::from_gbps(400), ..tree(8) };
    let network = oscar.build().unwrap();
    assert_eq!((network.hosts, oscar.hosts()), (320, 320));
    assert_eq!(
        [NodeKind::Tor, NodeKind::Agg, NodeKind::Core].map(|kind| count(&network, kind)),
        [20, 20, 16]
    );
    let rates = |tier| {
        let links = network.links.iter().filter(move |link| link.tier == tier);
        links.map(|link| link.rate).collect::<alloc::collections::BTreeSet<_>>()
    };
    assert_eq!(rates(Tier::HostUp), [Rate::from_gbps(100)].into());
    assert_eq!(rates(Tier::HostDown), [Rate::from_gbps(100)].into());
    assert_eq!(rates(Tier::Fabric), [Rate::from_gbps(400)].into());
    assert_eq!(network.links.len(), 2 * (320 + 20 * 4 + 20 * 4));
    for name in ["host319->tor19#0", "tor19->agg16#0", "agg19->core15#0", "core0->agg16#0", "host16->tor1#0"]
    {
        assert!(network.port_named(name).is_some(), "{name} is missing");
    }
    assert_eq!([hops(&network, 0, 15), hops(&network, 0, 16), hops(&network, 0, 319)], [2, 4, 6]);
    let dual = DualFatTree { site: oscar, ..dual(8) }.build().unwrap();
    assert_eq!(dual.hosts, 640);
    let border = dual.links.iter().filter(|link| link.tier == Tier::Border);
    assert!(border.into_iter().all(|link| link.rate == Rate::from_gbps(400)));
}

#[test]
fn processing_in_a_switch_is_part_of_the_links_that_lead_to_it() {
    let network = FatTree { switch_delay: Duration::from_ns(500), ..tree(4) }.build().unwrap();
    for link in &network.links {
        let expected = if link.tier == Tier::HostDown { 1000 } else { 1500 };
        assert_eq!(link.delay, Duration::from_ns(expected));
    }
}

#[test]
fn wrong_parameters_are_refused_with_a_cure() {
    let parameter = |result: Result<Network, TopologyError>| {
        let error = result.unwrap_err();
        assert!(!error.cure.is_empty());
        error.parameter
    };
    for k in [0, 1, 3, 7, 130] {
        assert_eq!(parameter(tree(k).build()), "k");
    }
    let large = tree(256).build().unwrap_err().to_string();
    assert_eq!(
        large,
        "k = 256: a site of 4194304 hosts is too large: host numbers have room for 1048576; give at most 128, which makes 524288 hosts"
    );
    assert_eq!(parameter(FatTree { link_rate: Rate::ZERO, ..tree(4) }.build()), "link_rate");
    assert_eq!(parameter(FatTree { fabric_rate: Rate::ZERO, ..tree(4) }.build()), "fabric_rate");
    for pods in [0, 1025, u32::MAX] {
        assert_eq!(parameter(FatTree { pods, ..tree(8) }.build()), "pods");
    }
    for hosts_per_tor in [0, 1 << 20, u32::MAX] {
        assert_eq!(parameter(FatTree { hosts_per_tor, ..tree(8) }.build()), "hosts_per_tor");
    }
    let alone = FatTree { pods: 1, hosts_per_tor: 1, ..tree(2) };
    assert_eq!(parameter(alone.build()), "hosts_per_tor");
    assert_eq!(parameter(FatTree { oversubscription: [3, 1], ..tree(8) }.build()), "oversubscription");
    assert_eq!(parameter(FatTree { oversubscription: [1, 0], ..tree(8) }.build()), "oversubscription");
    assert_eq!(parameter(DualFatTree { wan_links: 0, ..dual(4) }.build()), "wan.links");
    assert_eq!(parameter(DualFatTree { wan_rate: Rate::ZERO, ..dual(4) }.build()), "wan.link_rate");
    assert_eq!(parameter(LeafSpine { leaves: 0, ..leaf_spine() }.build()), "leaves");
    assert_eq!(parameter(LeafSpine { spines: 0, ..leaf_spine() }.build()), "spines");
    let lone = LeafSpine { leaves: 1, hosts_per_leaf: 1, ..leaf_spine() };
    assert_eq!(parameter(lone.build()), "hosts_per_leaf");
    let crowd = LeafSpine { leaves: 1 << 12, hosts_per_leaf: 1 << 20, ..leaf_spine() };
    assert_eq!(parameter(crowd.build()), "hosts_per_leaf");
    assert_eq!(parameter(LeafSpine { uplink_rate: Rate::ZERO, ..leaf_spine() }.build()), "uplink_rate");
    let unjoined = DualLeafSpine { spine_border_links: 0, ..dual_leaf_spine() };
    assert_eq!(parameter(unjoined.build()), "core_border_links");
    assert_eq!(parameter(DualLeafSpine { wan_links: 0, ..dual_leaf_spine() }.build()), "wan.links");
    for routers in [0, 3, 7, 4097, 128] {
        assert_eq!(
            parameter(BackboneLeafSpine { routers, ..backbone() }.build()),
            if routers == 3 || routers == 7 { "backbone.links_per_spine" } else { "backbone.routers" }
        );
    }
    for links_per_spine in [0, 65] {
        let shape = BackboneLeafSpine { links_per_spine, ..backbone() };
        assert_eq!(parameter(shape.build()), "backbone.links_per_spine");
    }
    let uneven = BackboneLeafSpine { links_per_spine: 7, ..backbone() }.build().unwrap_err().to_string();
    assert_eq!(
        uneven,
        "backbone.routers = 64: 8 spines with 7 links each have 56 links, which cannot be divided equally among the routers; give a divisor of 56, such as 56, or other links_per_spine"
    );
    let crowd = LeafSpine { spines: 1 << 22, ..leaf_spine() };
    let crowd = BackboneLeafSpine { site: crowd, routers: 4096, links_per_spine: 4096, ..backbone() };
    assert_eq!(parameter(crowd.build()), "backbone.links_per_spine");
    assert_eq!(parameter(BackboneLeafSpine { wan_rate: Rate::ZERO, ..backbone() }.build()), "wan.link_rate");
    for bottlenecks in [0, 1001, u32::MAX] {
        assert_eq!(parameter(ParkingLot { bottlenecks, ..parking_lot() }.build()), "bottlenecks");
    }
    assert_eq!(parameter(ParkingLot { hosts_per_switch: 0, ..parking_lot() }.build()), "hosts_per_switch");
    assert_eq!(
        parameter(ParkingLot { bottleneck_rate: Rate::ZERO, ..parking_lot() }.build()),
        "bottleneck_rate"
    );
    assert_eq!(parameter(Star { switch_delay: Duration::ZERO, hosts: vec![] }.build()), "hosts");
}
