//! Topologies: what each kind comes to, and which knobs it answers to.

use farspan_scenario::{Request, TOPOLOGY_STARTER};
use farspan_world::World;

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
    // The last one that was set counts.
    let spines = format!("{kind}\nspines = 4");
    assert_eq!(counts(&world(&spines, &["topology.oversubscription=8"]))[1], 32 + 4 + 1);
    let thin = format!("{kind}\noversubscription = 8");
    assert_eq!(counts(&world(&thin, &["topology.spines=3"]))[1], 32 + 4 + 3);
    assert_eq!(counts(&world("kind = 'leaf_spine'\nleaves = 2\nhosts = 3\nspines = 5", &[])), [6, 13, 32]);
}

#[test]
fn a_fat_tree_takes_pods_hosts_a_tor_and_a_fabric_rate() {
    let tree = "kind = 'fat_tree'\npods = 5\nhosts_per_tor = 16\nfabric_rate = '400Gbps'";
    let oscar = world(tree, &[]);
    assert_eq!(counts(&oscar), [320, 320 + 20 + 20 + 16, 2 * (320 + 80 + 80)]);
    for (port, expected) in
        [("host319->tor19#0", "100Gbps"), ("tor0->agg3#0", "400Gbps"), ("agg19->core15#0", "400Gbps")]
    {
        assert_eq!(rate(&oscar, port), expected, "{port}");
    }
    // Left out, each follows from the others, also in a scenario that was written resolved.
    let whole = world("kind = 'fat_tree'\nk = 4\npods = 4\nhosts_per_tor = 2", &["topology.k=6"]);
    assert_eq!(counts(&whole)[0], 4 * 3 * 2, "what was written stays");
    let resolved = Request { set: vec!["topology.kind=fat_tree".into()], ..Request::new("bench/fat-tree") };
    let text = resolved.resolve().unwrap().to_toml();
    assert!(!text.contains("pods") && !text.contains("fabric_rate"), "{text}");
    let dual = world("k = 4\npods = 3\nfabric_rate = '40Gbps'", &[]);
    assert_eq!((counts(&dual)[0], rate(&dual, "core0->border0#0").as_str()), (24, "40Gbps"));
}

#[test]
fn the_load_of_a_fat_tree_is_that_of_its_narrowest_tier() {
    let load = |topology: &str| {
        let poisson = "[[workload]]\nkind = 'poisson'\nsizes = 'websearch'\nload = 0.4\nload_reference = 'host'\nflows = 2000\n";
        let name = format!("farspan-load-{:?}-{}.toml", std::thread::current().id(), std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, format!("[topology]\nkind = 'fat_tree'\nk = 4\n{topology}\n{poisson}"))
            .unwrap();
        let resolved = Request::new(&file.display().to_string()).resolve();
        std::fs::remove_file(&file).unwrap();
        World::build(&resolved.unwrap()).unwrap().offered_load.fabric.unwrap()
    };
    let whole = load("");
    for (topology, times) in [
        ("oversubscription = [2, 1]", 2.0),
        ("oversubscription = [2, 2]", 4.0),
        ("hosts_per_tor = 4\nfabric_rate = '200Gbps'", 1.0),
        ("hosts_per_tor = 8\nfabric_rate = '200Gbps'", 2.0),
    ] {
        // How much of the traffic leaves its rack depends on the hosts of a rack.
        assert!(
            (load(topology) / whole / times - 1.0).abs() < 0.15,
            "{topology}: {} {whole}",
            load(topology)
        );
    }
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

/// A folder with a topology file and a scenario of 20 hosts around it.
fn in_folder(name: &str, file: &str, set: &[&str]) -> Result<World, String> {
    let folder = std::env::temp_dir().join(format!("farspan-topology-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("net.toml"), file).unwrap();
    let text = format!("[topology]\nkind = 'from_file'\nfile = 'net.toml'\n{PERMUTATION}");
    let scenario = folder.join("run.toml");
    std::fs::write(&scenario, text).unwrap();
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let resolved = Request { set, ..Request::new(&scenario.display().to_string()) }.resolve();
    let world = resolved.and_then(|resolved| {
        // What it resolves to gives the same world.
        std::fs::write(&scenario, resolved.to_toml()).unwrap();
        let again = Request::new(&scenario.display().to_string()).resolve()?;
        assert_eq!(again.scenario(), resolved.scenario());
        World::build(&again)
    });
    std::fs::remove_dir_all(&folder).unwrap();
    world.map_err(|error| error.to_string())
}

#[test]
fn a_file_is_found_beside_its_scenario_and_the_scenario_s_keys_replace_its_defaults() {
    let world = |set: &[&str]| in_folder("knobs", TOPOLOGY_STARTER, set).unwrap();
    assert_eq!(counts(&world(&[])), [20, 31, 2 * (20 + 8 + 8 + 8 + 8 + 4 + 2 + 2)]);
    let slow = world(&["topology.link_rate=40Gbps", "topology.link_delay=2us", "topology.buffer=3MiB"]);
    let network = &slow.spec.network;
    let port = |name: &str| {
        let id = network.port_named(name).unwrap();
        let link = network.links[id.index()];
        (link.rate.to_string(), link.delay.to_string(), slow.spec.port(id).buffer.to_string())
    };
    let of = |rate: &str, delay: &str, buffer: &str| (rate.to_owned(), delay.to_owned(), buffer.to_owned());
    assert_eq!(port("west-leaf0->west-spine0#1"), of("40Gbps", "2us", "3MiB"));
    assert_eq!(port("west-border->east-border#3"), of("40Gbps", "500us", "4MiB"));
    assert_eq!(port("west-border->north-switch#0"), of("40Gbps", "150us", "2MiB"));
    assert_eq!(port("north-switch->west-border#0"), of("40Gbps", "150us", "1MiB"));
    assert_eq!(port("north-switch->host17#0"), of("50Gbps", "2us", "3MiB"));
}

#[test]
fn three_sites_have_base_rtts_and_loads_of_their_own() {
    let world = in_folder("sites", TOPOLOGY_STARTER, &[]).unwrap();
    let pairs: Vec<_> =
        world.pairs.iter().map(|p| (p.from, p.to, p.path.hops, p.path.base_rtt.as_ns() / 1000)).collect();
    // 7, 5 and 5 links: 6 us and 500, 4 and 150, 4 and 200, both ways, and a few us of store and forward.
    assert_eq!(pairs, [(0, 1, 7, 1014), (0, 2, 5, 310), (1, 2, 5, 410)]);
    assert_eq!(world.inter, Some(world.pairs[0].path));
    assert_eq!(world.intra.unwrap().hops, 4);
    let ways: Vec<_> = world.offered_load.wan.iter().map(|way| (way.from, way.to)).collect();
    assert_eq!(ways, [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
}

#[test]
fn traffic_that_passes_a_site_counts_on_the_links_on_both_sides_of_it() {
    // Without its longest link the triangle is a line with north in the middle.
    let longest = "b = \"east-border\"\ncount = 4\nrtt = \"1ms\"";
    assert!(TOPOLOGY_STARTER.contains(longest));
    let cut = TOPOLOGY_STARTER.replace(longest, "b = \"north-switch\"\nrtt = \"1ms\"");
    let folder = std::env::temp_dir().join(format!("farspan-line-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("line.toml"), cut).unwrap();
    let flows = "src,dst,size_bytes,start_ns\n0,8,1000000,0\n0,16,1000000,80000\n8,0,1000000,80000\n";
    std::fs::write(folder.join("flows.csv"), flows).unwrap();
    let text = "[topology]\nkind = 'from_file'\nfile = 'line.toml'\n[scheme]\nname = 'gemini'\n[[workload]]\nkind = 'flows'\nfile = 'flows.csv'\n";
    std::fs::write(folder.join("run.toml"), text).unwrap();
    let request = Request::new(&folder.join("run.toml").display().to_string());
    let world = World::build(&request.resolve().unwrap()).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let load: Vec<_> =
        world.offered_load.wan.iter().map(|way| (way.from, way.to, way.load.unwrap())).collect();
    // 80 us of 300 Gb/s are 3 MB, of 200 Gb/s 2 MB.
    let expected = [(0, 2, 2.0 / 3.0), (1, 2, 0.5), (2, 0, 1.0 / 3.0), (2, 1, 0.5)];
    for ((from, to, load), expected) in load.iter().zip(expected) {
        assert_eq!((*from, *to), (expected.0, expected.1));
        assert!((load - expected.2).abs() < 1e-9, "{from} to {to}: {load}");
    }
}

#[test]
fn what_a_generator_makes_and_its_file_run_alike() {
    let file = "[[site]]\nname = 'a'\n[[site]]\nname = 'b'\n\
        [[node]]\nname = 'host[0..7]'\nkind = 'host'\nsite = 'a'\n[[node]]\nname = 'host[8..15]'\nkind = 'host'\nsite = 'b'\n\
        [[node]]\nname = 'leaf[0..1]'\nkind = 'switch'\nsite = 'a'\n[[node]]\nname = 'leaf[2..3]'\nkind = 'switch'\nsite = 'b'\n\
        [[node]]\nname = 'spine[0..3]'\nkind = 'switch'\nsite = 'a'\n[[node]]\nname = 'spine[4..7]'\nkind = 'switch'\nsite = 'b'\n\
        [[node]]\nname = 'border0'\nkind = 'switch'\nsite = 'a'\n[[node]]\nname = 'border1'\nkind = 'switch'\nsite = 'b'\n\
        [[link]]\na = 'host[0..15]'\nb = 'leaf[0..3]'\nwiring = 'blocks'\n\
        [[link]]\na = 'leaf[0..1]'\nb = 'spine[0..3]'\n[[link]]\na = 'spine[0..3]'\nb = 'border0'\ncount = 8\n\
        [[link]]\na = 'leaf[2..3]'\nb = 'spine[4..7]'\n[[link]]\na = 'spine[4..7]'\nb = 'border1'\ncount = 8\n\
        [[link]]\na = 'border0'\nb = 'border1'\ncount = 8\ndelay = 'DELAY'\n";
    let made = world("kind = 'dual_leaf_spine'\nleaves = 2\nhosts = 4", &[]);
    let wan = made.spec.network.port_named("border0->border1#0").unwrap();
    let delay = made.spec.network.links[wan.index()].delay;
    let read = in_folder("alike", &file.replace("DELAY", &delay.to_string()), &[]).unwrap();
    assert_eq!((made.intra, made.inter), (read.intra, read.inter));
    let run =
        |world: &World| farspan_sim::run(&world.spec, farspan_world::EngineKind::Windowed, &mut |_| true);
    let (made, read) = (run(&made), run(&read));
    assert_eq!((made.digest, made.packet_digest), (read.digest, read.packet_digest));
}

#[test]
fn errors_of_a_file_stand_behind_the_key_that_names_it() {
    let message = |file: &str, set: &[&str]| in_folder("errors", file, set).map(|_| ()).unwrap_err();
    let wrong = TOPOLOGY_STARTER.replace("b = \"west-border\"", "b = \"west-boarder\"");
    let text = message(&wrong, &[]);
    assert!(text.contains("topology.file: ") && text.contains("net.toml:"), "{text}");
    assert!(
        text.contains("link[5].b: there is no node \"west-boarder\"; did you mean \"west-border\""),
        "{text}"
    );
    for (knob, words) in [
        ("topology.wan.rtt=1ms", ["from_file has no \"wan\"", "sites, nodes and links stand in its file"]),
        ("topology.oversubscription=2", ["from_file has no \"oversubscription\"", "it has: file"]),
        ("topology.k=4", ["from_file has no \"k\"", "link_rate"]),
        ("topology.file=nothing.toml", ["cannot be read", "farspan new --topology"]),
        ("transport.payload=20000B", ["", ""]),
        ("topology.buffer=1B", ["is too small for a packet", ""]),
    ] {
        if knob.starts_with("transport") {
            let small = TOPOLOGY_STARTER.replace("\"4MiB\"", "\"16KiB\"");
            let text = message(&small, &[knob]);
            assert!(
                text.contains("16KiB from west-border to east-border is too small for a packet of 20064"),
                "{text}"
            );
            continue;
        }
        let text = message(TOPOLOGY_STARTER, &[knob]);
        let key = knob.split(['=']).next().unwrap_or_default();
        assert!(text.contains(&format!(": {}", key.trim_end_matches(".rtt"))), "{text}");
        words.iter().for_each(|word| assert!(text.contains(word), "{text} has no {word}"));
    }
}

#[test]
fn the_example_of_the_docs_holds() {
    let docs = include_str!("../../../../docs/src/topologies.md");
    let example = docs
        .split("```toml\n")
        .filter_map(|rest| rest.split("```").next())
        .find(|text| text.contains("[[node]]"));
    let world = in_folder("docs", example.unwrap(), &[]).unwrap();
    assert_eq!(counts(&world), [12, 16, 2 * (12 + 2 + 2)]);
    assert_eq!((world.pairs.len(), world.inter.unwrap().hops), (1, 4));
    // The shorter of the two links between the sites counts.
    assert_eq!(world.inter.unwrap().base_rtt.as_ns() / 1000, 1007);
    let [group] = &world.spec.network.groups[..] else { panic!("one group") };
    let names: Vec<_> = group.ports.iter().map(|port| world.spec.network.port_name(*port)).collect();
    assert_eq!(
        names,
        ["west-border->east-switch#0", "west-border->east-switch#0", "west-border->east-switch#1"]
    );
    // And its errors read as the docs say.
    let wrong = example.unwrap().replacen("b = \"east-switch\"", "b = \"est-switch\"", 1);
    let error = in_folder("docs-wrong", &wrong, &[]).map(|_| ()).unwrap_err();
    let said =
        docs.split("topology.file: topology.toml").nth(1).and_then(|rest| rest.lines().next()).unwrap();
    assert!(error.contains(said), "{error}\nhas no {said}");
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

/// Two sites of three hosts at a switch; the middle one of each has a link of its own delay.
const UNEVEN: &str = "
site = [{ name = 'a' }, { name = 'b' }]
node = [
  { name = 'host[0..2]', kind = 'host', site = 'a' },
  { name = 'host[3..5]', kind = 'host', site = 'b' },
  { name = 'sa', kind = 'switch', site = 'a' },
  { name = 'sb', kind = 'switch', site = 'b' },
]
link = [
  { a = ['host0', 'host2'], b = 'sa' },
  { a = 'host1', b = 'sa', delay = '1ms' },
  { a = ['host3', 'host5'], b = 'sb' },
  { a = 'host4', b = 'sb', delay = '2ms' },
  { a = 'sa', b = 'sb', delay = '100us' },
]
";

#[test]
fn two_sites_are_as_far_apart_as_their_farthest_hosts() {
    let world = in_folder("uneven", UNEVEN, &[]).unwrap();
    let inter = world.inter.unwrap();
    assert_eq!(inter.base_rtt.as_ns() / 100_000, 62, "1 ms, 100 us and 2 ms, both ways: {}", inter.base_rtt);
    assert_eq!(world.pairs[0].path, inter);
}
