use super::*;
use crate::topology::{DualFatTree, DualLeafSpine, FatTree, LeafSpine, ParkingLot};
use alloc::vec;
use farspan_units::{FlowId, HostId};
use proptest::prelude::*;

fn node(name: &str, site: u32) -> GraphNode {
    let is_host = name.starts_with('h');
    GraphNode { name: name.into(), is_host, site, switch_delay: Duration::ZERO }
}

fn link(a: usize, b: usize) -> GraphLink {
    GraphLink { ends: [a, b], rate: Rate::from_gbps(100), delay: Duration::from_us(1), buffers: [None; 2] }
}

/// Two hosts at each end of a square of switches: h0, h1 at s0; s1 and s2 beside it; h2, h3 at s3.
fn square() -> Graph {
    let names = ["h0", "h1", "h2", "h3", "s0", "s1", "s2", "s3"];
    let ends = [(0, 4), (1, 4), (2, 7), (3, 7), (4, 5), (4, 6), (5, 7), (6, 7), (6, 7)];
    Graph {
        sites: 1,
        nodes: names.map(|name| node(name, 0)).into(),
        links: ends.map(|(a, b)| link(a, b)).into(),
        groups: Vec::new(),
    }
}

/// The graph of a network, its links in the order in which the generators add them.
fn graph_of(network: &Network) -> Graph {
    let node = |node: &Node| GraphNode {
        name: node.name.clone(),
        is_host: node.kind == NodeKind::Host,
        site: node.site,
        switch_delay: Duration::ZERO,
    };
    let up = network.links.iter().filter(|link| link.from < link.to);
    let link = |link: &Link| GraphLink {
        ends: [link.from.index(), link.to.index()],
        rate: link.rate,
        delay: link.delay,
        buffers: [None; 2],
    };
    Graph {
        sites: network.nodes.iter().map(|node| node.site).max().unwrap() + 1,
        nodes: network.nodes.iter().map(node).collect(),
        links: up.map(link).collect(),
        groups: Vec::new(),
    }
}

#[test]
fn a_graph_of_what_a_generator_makes_is_the_same_network() {
    let (link_rate, link_delay) = (Rate::from_gbps(100), Duration::from_us(1));
    let site = FatTree { oversubscription: [2, 1], ..FatTree::new(4, link_rate, link_delay) };
    let leaves = LeafSpine {
        leaves: 3,
        spines: 2,
        hosts_per_leaf: 4,
        link_rate,
        uplink_rate: Rate::from_gbps(40),
        link_delay,
        switch_delay: Duration::ZERO,
    };
    let (wan_links, wan_rate, wan_delay) = (3, Rate::from_gbps(200), Duration::from_ms(1));
    let networks = [
        DualFatTree { site, core_border_links: 2, wan_links, wan_rate, wan_delay }.build(),
        DualLeafSpine { site: leaves, spine_border_links: 2, wan_links, wan_rate, wan_delay }.build(),
        ParkingLot {
            bottlenecks: 3,
            hosts_per_switch: 2,
            link_rate,
            link_delay,
            switch_delay: Duration::ZERO,
            bottleneck_rate: Rate::from_gbps(10),
            bottleneck_delay: Duration::from_us(7),
        }
        .build(),
    ];
    for network in networks {
        let network = network.unwrap();
        let again = graph_of(&network).build().unwrap();
        assert_eq!(again.links, network.links);
        let facts = |network: &Network| {
            network.nodes.iter().map(|node| (node.name.clone(), node.site)).collect::<Vec<_>>()
        };
        assert_eq!((facts(&again), &again.first_port), (facts(&network), &network.first_port));
    }
}

#[test]
fn hosts_are_numbered_through_the_sites_and_tiers_follow_from_what_is_linked() {
    let names = [("s1", 1), ("h1", 1), ("b", 0), ("host0", 0), ("s0", 0), ("h2", 1), ("h3", 1)];
    let ends = [(3, 4), (4, 2), (2, 0), (0, 1), (5, 0), (6, 0)];
    let graph = Graph {
        sites: 2,
        nodes: names.map(|(name, site)| node(name, site)).into(),
        links: ends.map(|(a, b)| link(a, b)).into(),
        groups: Vec::new(),
    };
    let network = graph.build().unwrap();
    let all: Vec<_> = network.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(all, ["host0", "h1", "h2", "h3", "s1", "b", "s0"]);
    let kinds = [NodeKind::Tor, NodeKind::Border, NodeKind::Tor];
    assert_eq!(network.nodes[4..].iter().map(|node| node.kind).collect::<Vec<_>>(), kinds);
    let tier = |name: &str| network.links[network.port_named(name).unwrap().index()].tier;
    assert_eq!(
        ["host0->s0#0", "s1->h3#0", "b->s0#0"].map(tier),
        [Tier::HostUp, Tier::HostDown, Tier::Border]
    );
    assert_eq!(["b->s1#0", "s1->b#0"].map(tier), [Tier::Wan, Tier::Wan]);
}

#[test]
fn processing_and_buffers_belong_to_an_end() {
    let mut graph = square();
    graph.nodes[5].switch_delay = Duration::from_ns(300);
    graph.links[4].buffers = [Some(Bytes::new(7)), Some(Bytes::new(9))];
    let network = graph.build().unwrap();
    let of = |name: &str| {
        let link = network.links[network.port_named(name).unwrap().index()];
        (link.delay.as_ns(), link.buffer.map(Bytes::get))
    };
    assert_eq!(
        [of("s0->s1#0"), of("s1->s0#0"), of("s0->s2#0")],
        [(1300, Some(7)), (1000, Some(9)), (1000, None)]
    );
}

/// How often the ports of s0 towards h2 are taken, of 8,000 flows.
fn spread(network: &Network, routes: &Routes) -> BTreeMap<String, u32> {
    let switch = network.nodes.iter().position(|node| node.name == "s0").unwrap();
    let mut taken = BTreeMap::new();
    for flow in 0..8000 {
        let port = routes.tables[switch].port(HostId(2), FlowId(flow), 0).unwrap();
        *taken.entry(network.port_name(port)).or_insert(0) += 1;
    }
    taken
}

#[test]
fn named_ports_replace_shortest_paths_and_count_as_often_as_they_are_listed() {
    let mut graph = square();
    let even = graph.build().unwrap();
    let taken = spread(&even, &Routes::new(&even, 1));
    assert!(taken.values().all(|&count| (3800..4200).contains(&count)), "{taken:?}");
    graph.groups =
        vec![GraphGroup { switch: 4, leaves: vec![7], via: vec![(5, None), (6, None), (6, Some(0))] }];
    let named = graph.build().unwrap();
    let routes = Routes::new(&named, 1);
    let taken = spread(&named, &routes);
    assert!((2500..2833).contains(&taken["s0->s1#0"]) && taken.len() == 2, "a third: {taken:?}");
    // The reverse path is as it was.
    let shares = routes.shares(&named, HostId(2), HostId(0));
    let share =
        |name: &str| shares.iter().find(|(port, _)| named.port_name(*port) == name).map(|(_, share)| *share);
    assert_eq!(["s3->s1#0", "s3->s2#0", "s3->s2#1"].map(share), [Some(1.0 / 3.0); 3]);
    // A named port that is avoided leaves the others; without any of them, shortest paths hold.
    let avoid = |names: &[&str]| names.iter().map(|name| named.port_named(name).unwrap()).collect();
    let taken = spread(&named, &routes.avoiding(&named, &avoid(&["s0->s2#0"])));
    assert_eq!(taken.keys().collect::<Vec<_>>(), ["s0->s1#0"]);
}

#[test]
fn shares_of_a_host_s_traffic_add_up_at_every_link_of_the_way() {
    let network = square().build().unwrap();
    let shares = Routes::new(&network, 1).shares(&network, HostId(0), HostId(3));
    let named: BTreeMap<_, _> =
        shares.into_iter().map(|(port, share)| (network.port_name(port), share)).collect();
    let expected = [
        ("h0->s0#0", 1.0),
        ("s0->s1#0", 0.5),
        ("s0->s2#0", 0.5),
        ("s1->s3#0", 0.5),
        ("s2->s3#0", 0.25),
        ("s2->s3#1", 0.25),
    ];
    assert_eq!(named, expected.map(|(name, share)| (name.into(), share)).into());
}

#[test]
fn of_equal_ways_with_unequal_links_the_fastest_is_the_one_that_counts() {
    let mut graph = square();
    graph.links[4].delay = Duration::from_us(5);
    let network = graph.build().unwrap();
    for seed in 0..8 {
        let path = Routes::new(&network, seed).path(&network, HostId(0), HostId(2));
        assert_eq!(path.delay(&network), Duration::from_us(4));
    }
    graph.links[5].rate = Rate::from_gbps(1);
    let network = graph.build().unwrap();
    let path = Routes::new(&network, 1).path(&network, HostId(0), HostId(2));
    assert_eq!(
        path.delay(&network),
        Duration::from_us(8),
        "the slow link takes longer than 4 us for a packet"
    );
}

#[test]
fn hosts_of_a_switch_need_not_be_neighbours() {
    let mut graph = square();
    (graph.links[1].ends, graph.links[2].ends) = ([1, 7], [2, 4]);
    let network = graph.build().unwrap();
    let routes = Routes::new(&network, 1);
    let hops = |from, to| routes.path(&network, HostId(from), HostId(to)).links.len();
    assert_eq!([hops(0, 2), hops(1, 3), hops(0, 1), hops(3, 2)], [2, 2, 4, 4]);
}

#[test]
fn what_is_no_network_says_where_why_and_what_to_do() {
    fn case(change: impl Fn(&mut Graph)) -> (GraphPart, String) {
        let mut graph = square();
        change(&mut graph);
        let error = graph.build().unwrap_err();
        assert!(!error.cure.is_empty());
        (error.part, error.problem)
    }
    type Case<'a> = (GraphPart, &'a str, &'a dyn Fn(&mut Graph));
    let cases: &[Case<'_>] = &[
        (GraphPart::Node(3), "more than one node \"h2\"", &|g| g.nodes[3].name = "h2".into()),
        (GraphPart::Whole, "1 hosts", &|g| {
            *g = Graph {
                sites: 1,
                nodes: vec![node("h0", 0), node("s0", 0)],
                links: vec![link(0, 1)],
                ..Graph::default()
            };
        }),
        (GraphPart::Site(1), "without hosts", &|g| g.sites = 2),
        (GraphPart::Link(4), "s0 would have a link to itself", &|g| g.links[4].ends = [4, 4]),
        (GraphPart::Link(2), "no packet can be sent", &|g| g.links[2].rate = Rate::ZERO),
        (GraphPart::Link(0), "h0 and h1 are both hosts", &|g| g.links[0].ends = [0, 1]),
        (GraphPart::Link(9), "h0 has a second link", &|g| g.links.push(link(0, 7))),
        (GraphPart::Node(8), "s9 has no link", &|g| g.nodes.push(node("s9", 0))),
        (GraphPart::Node(2), "host7 is host 2", &|g| g.nodes[2].name = "host7".into()),
        (GraphPart::Node(2), "no path leads from h0 to h2", &|g| drop(g.links.drain(6..))),
        (GraphPart::Group(0), "s1 has no hosts", &|g| {
            g.groups = vec![GraphGroup { switch: 4, leaves: vec![5], via: vec![(5, None)] }];
        }),
        (GraphPart::Group(0), "h0 is a host", &|g| {
            g.groups = vec![GraphGroup { switch: 4, leaves: vec![7], via: vec![(0, None)] }];
        }),
        (GraphPart::Group(0), "no link s0->s2#1", &|g| {
            g.groups = vec![GraphGroup { switch: 4, leaves: vec![7], via: vec![(6, Some(1))] }];
        }),
        (GraphPart::Group(0), "no next hop", &|g| {
            g.groups = vec![GraphGroup { switch: 4, leaves: vec![7], via: vec![] }];
        }),
        (GraphPart::Group(1), "given before", &|g| {
            g.groups = vec![GraphGroup { switch: 4, leaves: vec![7], via: vec![(5, None)] }; 2];
        }),
        (GraphPart::Group(0), "in a routing loop: s", &|g| {
            g.groups = vec![GraphGroup { switch: 5, leaves: vec![7], via: vec![(4, None)] }];
        }),
    ];
    for (part, word, change) in cases {
        let (found, problem) = case(change);
        assert_eq!(found, *part, "{problem}");
        assert!(problem.contains(word), "{problem} has no {word}");
    }
}

proptest! {
    /// A random tree of switches with hosts and more links: every host reaches every other, by paths as long as the
    /// shortest, and what a host sends arrives whole.
    #[test]
    fn every_pair_of_a_connected_graph_is_linked_by_shortest_ways(
        parents in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..10),
        at in prop::collection::vec(any::<prop::sample::Index>(), 2..12),
        delays in prop::collection::vec(1_u64..9, 40),
    ) {
        let (switches, hosts) = (parents.len() + 1, at.len());
        let mut nodes: Vec<_> = (0..hosts).map(|n| node(&format!("host{n}"), 0)).collect();
        nodes.extend((0..switches).map(|n| node(&format!("s{n}"), 0)));
        let mut links: Vec<_> = at.iter().enumerate().map(|(n, at)| link(n, hosts + at.index(switches))).collect();
        links.extend(parents.iter().enumerate().map(|(n, parent)| link(hosts + n + 1, hosts + parent.index(n + 1))));
        let more = more.iter().map(|(a, b)| (a.index(switches), b.index(switches))).filter(|(a, b)| a != b);
        links.extend(more.map(|(a, b)| link(hosts + a, hosts + b)));
        links.iter_mut().zip(delays).for_each(|(link, us)| link.delay = Duration::from_us(us));
        let network = Graph { sites: 1, nodes, links, groups: Vec::new() }.build().unwrap();
        let routes = Routes::new(&network, 1);
        prop_assert_eq!(routes.routing_loop(&network), None);
        for from in 0..hosts as u32 {
            let mut distance = vec![usize::MAX; network.nodes.len()];
            let mut queue = alloc::collections::VecDeque::from([NodeId(from)]);
            distance[from as usize] = 0;
            while let Some(node) = queue.pop_front() {
                for port in network.ports_of(node) {
                    let to = network.links[port as usize].to;
                    if distance[to.index()] == usize::MAX && (to.0 >= network.hosts || to.0 != from) {
                        distance[to.index()] = distance[node.index()] + 1;
                        if to.0 >= network.hosts {
                            queue.push_back(to);
                        }
                    }
                }
            }
            for to in (0..hosts as u32).filter(|to| *to != from) {
                let path = routes.path(&network, HostId(from), HostId(to));
                prop_assert_eq!(path.links.len(), distance[to as usize]);
                let last = path.links.last().unwrap();
                prop_assert_eq!(network.links[last.index()].to, NodeId(to));
                let shares = routes.shares(&network, HostId(from), HostId(to));
                let leaf = network.links[last.index()].from;
                let arrives: f64 =
                    shares.iter().filter(|(port, _)| network.links[port.index()].to == leaf).map(|(_, share)| share).sum();
                prop_assert!((arrives - 1.0).abs() < 1e-9, "{} of it arrives", arrives);
            }
        }
    }
}
