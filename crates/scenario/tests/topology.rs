//! Topologies: what each kind comes to, and which knobs it answers to.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

use farspan_scenario::{Request, World};

const PERMUTATION: &str = "[[workload]]\nkind = 'permutation'\nflow_size = '64KiB'\n";

/// The world of a topology table, with assignments on top.
fn world(topology: &str, set: &[&str]) -> World {
    let name = format!("farspan-topology-{:?}-{}.toml", std::thread::current().id(), std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, format!("[topology]\n{topology}\n{PERMUTATION}")).unwrap();
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let resolved = Request { set, ..Request::new(&file.display().to_string()) }.resolve();
    std::fs::remove_file(&file).unwrap();
    let resolved = resolved.unwrap_or_else(|error| panic!("{topology}: {error}"));
    World::build(&resolved).unwrap_or_else(|error| panic!("{topology}: {error}"))
}

/// Hosts, all nodes, links both ways.
fn counts(world: &World) -> [usize; 3] {
    let network = &world.spec.network;
    [network.hosts as usize, network.nodes.len(), network.links.len()]
}

fn rate(world: &World, port: &str) -> String {
    let network = &world.spec.network;
    let port = network.port_named(port).unwrap_or_else(|| panic!("there is no port {port}"));
    network.links[port.index()].rate.to_string()
}

#[test]
fn a_leaf_spine_has_as_many_spines_as_its_oversubscription_asks_for() {
    let kind = "kind = 'leaf_spine'";
    assert_eq!(counts(&world(kind, &[])), [32, 32 + 4 + 8, 2 * (32 + 32)]);
    assert_eq!(counts(&world(kind, &["topology.oversubscription=4"])), [32, 32 + 4 + 2, 2 * (32 + 8)]);
    let fast = world(kind, &["topology.uplink_rate=400Gbps"]);
    assert_eq!(counts(&fast), [32, 32 + 4 + 2, 2 * (32 + 8)]);
    assert_eq!(rate(&fast, "spine1->leaf3#0"), "400Gbps");
    assert_eq!(rate(&fast, "leaf3->host31#0"), "100Gbps");
    // Of the two, what was set last counts.
    let spines = format!("{kind}\nspines = 4");
    assert_eq!(counts(&world(&spines, &["topology.oversubscription=8"]))[1], 32 + 4 + 1);
    let thin = format!("{kind}\noversubscription = 8");
    assert_eq!(counts(&world(&thin, &["topology.spines=3"]))[1], 32 + 4 + 3);
    assert_eq!(counts(&world("kind = 'leaf_spine'\nleaves = 2\nhosts = 3\nspines = 5", &[])), [6, 13, 32]);
}

#[test]
fn knobs_reach_every_kind_that_has_them() {
    let dual = "kind = 'dual_leaf_spine'\nhosts = 4";
    let world_of = |set: &[&str]| world(dual, set);
    assert_eq!(world_of(&["topology.wan.rtt=4ms"]).inter.unwrap().base_rtt.to_string(), "4ms");
    let few = world_of(&["topology.wan.links=3", "topology.core_border_links=1"]);
    assert_eq!(counts(&few), [32, 32 + 8 + 8 + 2, 2 * (32 + 32 + 8 + 3)]);
    let slow = world_of(&["topology.link_rate=25Gbps"]);
    for port in ["host0->leaf0#0", "leaf0->spine3#0", "spine0->border0#7", "border0->border1#7"] {
        assert_eq!(rate(&slow, port), "25Gbps", "{port}");
    }
    let buffer = |world: &World| world.spec.ports.of(farspan_fabric::Tier::Wan).buffer.to_string();
    assert_eq!(buffer(&world_of(&["topology.buffer=2MiB"])), "2MiB");
    assert_eq!(buffer(&world_of(&["topology.buffer=2MiB", "topology.wan.buffer=3MiB"])), "3MiB");
    let chain = world("kind = 'parking_lot'", &["topology.bottlenecks=5", "topology.link_rate=10Gbps"]);
    assert_eq!(counts(&chain), [12, 18, 2 * (12 + 5)]);
    assert_eq!(rate(&chain, "switch4->switch5#0"), "10Gbps");
}

#[test]
fn loads_refer_to_what_the_racks_can_send_up() {
    let offered = |topology: &str| {
        let text =
            "kind = 'poisson'\nsizes = 'websearch'\nload = 0.4\nflows = 20000\nload_reference = 'bisection'";
        let file =
            std::env::temp_dir().join(format!("farspan-load-{}-{}.toml", topology.len(), std::process::id()));
        std::fs::write(&file, format!("[topology]\n{topology}\n[[workload]]\n{text}\n")).unwrap();
        let resolved = Request::new(&file.display().to_string()).resolve().unwrap();
        std::fs::remove_file(&file).unwrap();
        World::build(&resolved).unwrap().offered_load
    };
    for topology in ["kind = 'leaf_spine'\noversubscription = 2", "kind = 'parking_lot'\nhosts = 8"] {
        let fabric = offered(topology).fabric.unwrap();
        assert!((fabric - 0.4).abs() < 0.03, "{topology}: {fabric}");
    }
}
