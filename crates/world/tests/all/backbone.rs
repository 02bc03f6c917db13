//! Two leaf-spines around backbone routers, and the incast proxy's senders on them.

use farspan_fabric::{Marker, Tier};
use farspan_scenario::{Request, Resolved};
use farspan_sim::Outcome;
use farspan_units::{Bytes, Duration, Time};
use farspan_world::{EngineKind, World};

/// The incast proxy's network (HotNets 2025, simulation setup), and an incast of degree 4 from one site into the other.
const PAPER: &str = "
[topology]
kind = 'dual_leaf_spine'
leaves = 8
hosts = 8
backbone = { routers = 64, links_per_spine = 8 }
buffer = '17.015MB'
wan = { rtt = '4.008ms', buffer = '49.8MB' }
[scheme]
name = 'dctcp-per-ack+rps'
[[workload]]
kind = 'incast'
receiver = 64
senders = [0, 9, 18, 27]
flow_size = '5MB'
";

fn resolved(text: &str, set: &[&str]) -> Result<Resolved, String> {
    let set = set.iter().map(|&text| text.to_owned()).collect();
    let request = Request { set, text: Some(text.to_owned()), ..Request::new("backbone") };
    request.resolve().map_err(|error| error.to_string())
}

fn world_of(set: &[&str]) -> Result<World, String> {
    World::build(&resolved(PAPER, set)?).map_err(|error| error.to_string())
}

fn world(set: &[&str]) -> World {
    world_of(set).unwrap_or_else(|error| panic!("{set:?}: {error}"))
}

fn run(world: &World, engine: EngineKind) -> Outcome {
    farspan_sim::run(&world.spec, engine, &mut |_| true)
}

fn refused(set: &[&str]) -> String {
    world_of(set).err().unwrap_or_else(|| panic!("{set:?} was accepted"))
}

/// The delay of the links to the routers.
fn wan_delay(world: &World) -> Duration {
    let network = &world.spec.network;
    network.links[network.port_named("spine3->router24#0").unwrap().index()].delay
}

#[test]
fn the_base_round_trip_is_that_of_the_scenario() {
    let paper = world(&[]);
    let inter = paper.inter.unwrap();
    assert_eq!((inter.base_rtt, inter.hops), (Duration::from_us(4008), 6));
    assert_eq!(inter.bdp, Bytes::new(50_100_000));
    // A millisecond each, but for a quarter of what 4,160 B out and 64 B back take to be sent.
    assert_eq!(wan_delay(&paper), Duration::from_ms(1) - Duration::from_ps(6 * (332_800 + 5120) / 4));
    let intra = paper.intra.unwrap().base_rtt;
    assert_eq!(intra, Duration::from_us(8) + Duration::from_ps(4 * (332_800 + 5120)));
    let near = world(&["topology.wan.rtt=20us"]);
    assert_eq!(near.inter.unwrap().base_rtt, Duration::from_us(20));
    assert!(refused(&["topology.wan.rtt=10us"]).contains("is less than 10.02752us"));
}

#[test]
fn it_resolves_to_a_scenario_that_says_everything_and_gives_the_same_world() {
    let first = resolved(PAPER, &[]).unwrap();
    let text = first.to_toml();
    for line in [
        "[topology.backbone]",
        "routers = 64",
        "links_per_spine = 8",
        "[scheme.ports.red]",
        "[scheme.ports.wan_red]",
        "min = 0.2",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
    }
    for key in ["core_border", "\nlinks = 8"] {
        assert!(!text.contains(key), "there is no {key}:\n{text}");
    }
    let again = resolved(&text, &[]).unwrap();
    assert_eq!(again.scenario(), first.scenario());
    assert_eq!(World::build(&again).unwrap().spec.network, world(&[]).spec.network);
    // Left out, they follow.
    let short = PAPER.replace("{ routers = 64, links_per_spine = 8 }", "{}");
    assert_eq!(resolved(&short, &[]).unwrap().scenario().topology, first.scenario().topology);
}

#[test]
fn knobs_reach_a_backbone() {
    let few = world(&["topology.backbone.routers=16", "topology.wan.rate=40Gbps"]);
    let network = &few.spec.network;
    assert_eq!(network.nodes.len(), 128 + 16 + 16 + 16);
    let wan = network.links.iter().filter(|link| link.tier == Tier::Wan);
    assert!(wan.clone().all(|link| link.rate.to_string() == "40Gbps") && wan.count() == 256);
    let spines = world(&["topology.oversubscription=2", "topology.backbone.routers=8"]);
    assert_eq!(spines.spec.network.nodes.len(), 128 + 16 + 8 + 8);
    // Another kind has none.
    assert_eq!(world(&["topology.kind=leaf_spine", "workload.receiver=1"]).spec.network.nodes.len(), 80);
}

#[test]
fn bad_values_are_refused_with_a_cure() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("backbone.routers=0", "backbone.routers", &["from 1 to 4096"]),
        (
            "backbone.routers=60",
            "backbone.routers",
            &["8 spines with 8 links each have 64", "a divisor of 64"],
        ),
        ("backbone.links_per_spine=0", "backbone.links_per_spine", &["from 1 to"]),
        ("backbone.links_per_spine=5000", "backbone.links_per_spine", &["out of range", "to 4096"]),
        ("backbone.links_per_spine=65", "backbone.links_per_spine", &["another router", "at most 64"]),
        ("backbone.router=8", "backbone.router", &["did you mean \"routers\"?"]),
        ("wan.links=8", "wan.links", &["no border switches", "links_per_spine"]),
        ("core_border_links=8", "core_border_links", &["no border switches"]),
        ("core_border_buffer=1MiB", "core_border_buffer", &["no border switches", "topology.wan.buffer"]),
        ("wan.buffer=1KiB", "wan.buffer", &["is too small for a packet"]),
    ];
    for (assignment, key, words) in cases {
        let message = refused(&[&format!("topology.{assignment}")]);
        assert!(message.contains(&format!("topology.{key}: ")), "{message}\n  expected {key}");
        words.iter().for_each(|word| assert!(message.contains(word), "{message}\n  expected {word}"));
    }
    let tree = PAPER.replace("'dual_leaf_spine'\nleaves = 8\nhosts = 8", "'dual_fat_tree'");
    let message = resolved(&tree, &[]).err().unwrap();
    assert!(message.contains("dual_fat_tree has no \"backbone\""), "{message}");
}

/// RED's thresholds at the ports of a tier.
fn red(world: &World, tier: Tier) -> [u64; 2] {
    let mut reds = world.spec.ports.of(tier).markers.iter().filter_map(|marker| match marker {
        Marker::Queue(red) => Some([red.min.get(), red.max.get()]),
        _ => None,
    });
    reds.next().unwrap()
}

#[test]
fn ports_between_the_sites_have_thresholds_of_their_own() {
    let paper = world(&[]);
    let buffer = |tier| paper.spec.ports.of(tier).buffer.get();
    assert_eq!([Tier::HostDown, Tier::Fabric, Tier::Wan].map(buffer), [17_015_000, 17_015_000, 49_800_000]);
    assert_eq!([Tier::HostDown, Tier::Fabric].map(|tier| red(&paper, tier)), [[33_200, 136_950]; 2]);
    assert_eq!(red(&paper, Tier::Wan), [9_960_000, 39_840_000]);
    let bytes = "scheme.ports.wan_red={ min_bytes = '1MB', max_bytes = '2MB' }";
    assert_eq!(red(&world(&[bytes]), Tier::Wan), [1_000_000, 2_000_000]);
    assert_eq!(red(&world(&[bytes]), Tier::Fabric), [33_200, 136_950]);
    // A scheme without any has those of all ports, and other schemes can be given some.
    let set = ["scheme.name=unocc+rps"];
    assert_eq!(red(&world(&set), Tier::Wan), [12_450_000, 37_350_000]);
    let text = resolved(PAPER, &set).unwrap().to_toml();
    assert!(!text.contains("wan_red"), "{text}");
    let half = world(&[set[0], "scheme.ports.wan_red.max=0.5"]);
    assert_eq!(red(&half, Tier::Wan), [12_450_000, 24_900_000]);
    assert_eq!(red(&half, Tier::Fabric), [4_253_750, 12_761_250]);
    // DCQCN's thresholds are in bytes: one fraction alone says too little.
    for (key, missing) in [("wan_red.max", "wan_red.min"), ("wan_red.min", "wan_red.max")] {
        let wrong = refused(&["scheme.name=dcqcn", &format!("scheme.ports.{key}=0.5")]);
        assert!(
            wrong.contains(&format!("scheme.ports.{missing}: one threshold without the other")),
            "{wrong}"
        );
    }
    let wrong = refused(&["scheme.ports.wan_red={ min = 0.5, max = 0.2 }"]);
    assert!(wrong.contains("scheme.ports.wan_red.max: thresholds from 0.5 to 0.2"), "{wrong}");
    let none = resolved(PAPER, &["scheme.ports.marking=none"]).unwrap().to_toml();
    assert!(!none.contains("wan_red"), "{none}");
}

#[test]
fn an_incast_of_degree_4_and_20_mb_is_delivered_in_line_time_and_one_way() {
    let world = world(&[]);
    let outcome = run(&world, EngineKind::Windowed);
    let last = outcome.flows.iter().map(|flow| flow.delivered.unwrap()).max().unwrap();
    // 20 MB with headers at 100 Gb/s, and 2.004 ms.
    let bound = Duration::from_us(1625 + 2004);
    let delivered = last.since(Time::ZERO);
    assert!(delivered >= bound && delivered <= bound + bound / 50, "{delivered}");
    // Twelve to fifteen of 17 MB wait at the last hop: nothing is lost.
    let queue = outcome.ports.iter().find(|port| port.name == "leaf8->host64#0").unwrap();
    assert!((12_000_000..17_000_000).contains(&queue.max_queue.get()), "{}", queue.max_queue);
    assert_eq!(outcome.ports.iter().map(|port| port.dropped_packets).sum::<u64>(), 0);
    // All packets are sent before the first mark is back.
    assert!(queue.marked_packets > 4000, "{}", queue.marked_packets);
    let fct = outcome.flows.iter().map(|flow| flow.finish.unwrap()).max().unwrap();
    assert!(fct.since(Time::ZERO) < Duration::from_us(5700), "{fct:?}");
}

/// Packets of the incast that each router sends into the second site.
fn of_routers(set: &[&str]) -> Vec<u64> {
    let outcome = run(&world(set), EngineKind::Windowed);
    let into = |router: usize| {
        let to_second = format!("router{router}->spine{}#0", 8 + router % 8);
        outcome.ports.iter().find(|port| port.name == to_second).unwrap().sent_packets
    };
    (0..64).map(into).collect()
}

#[test]
fn spraying_uses_all_routers_and_with_entropies_enough_alike() {
    // 4,884 data packets over 64 routers: 76 each, with a standard deviation of 9.
    let many = of_routers(&["scheme.inter.balance={ name = 'rps', entropies = 65536 }"]);
    assert!(many.iter().all(|packets| (40..120).contains(packets)), "{many:?}");
    // Only four of 256 entropies on average lead to each.
    let few = of_routers(&[]);
    assert!(few.iter().all(|packets| *packets > 0), "{few:?}");
    let spread = |packets: &[u64]| packets.iter().map(|packets| packets.abs_diff(76).pow(2)).sum::<u64>();
    assert!(spread(&few) > 2 * spread(&many), "{few:?}\n{many:?}");
}

#[test]
fn engines_and_threads_agree() {
    // Losses, marks at routers, and a router that fails.
    let set = [
        "topology.wan.rtt=200us",
        "topology.buffer=1MB",
        "topology.wan.buffer=500KB",
        "workload.flow_size=2MB",
        "workload.senders=[0, 9, 18, 27, 36, 65]",
        "fault=[{ kind = 'black_hole', link = 'router5->spine13#0', at = '20us', until = '2ms' }]",
    ];
    let world = world(&set);
    let windowed = run(&world, EngineKind::Windowed);
    assert!(windowed.flows.iter().all(|flow| flow.finish.is_some()));
    assert!(windowed.flows.iter().any(|flow| flow.sender.timeouts > 0));
    for engine in [EngineKind::Oracle, EngineKind::Threads(2), EngineKind::Threads(3)] {
        let other = run(&world, engine);
        let digests = (other.digest, other.packet_digest);
        assert_eq!(digests, (windowed.digest, windowed.packet_digest), "{engine:?}");
    }
}

#[test]
fn faults_by_tier_and_by_name_find_the_routers_links() {
    let links = |fault: &str| {
        let world = world(&[&format!("fault=[{{ kind = 'link_down', {fault} }}]")]);
        world.spec.faults[0].links.len()
    };
    assert_eq!(links("links = 'wan'"), 4 * 64);
    assert_eq!(links("links = 'wan:core-border'"), 2 * 64);
    assert_eq!(links("links = 'wan:border-core', share = 0.25"), 32);
    assert_eq!(links("link = 'router9->*'"), 2);
    assert_eq!(links("link = 'spine1->router15#0', both_directions = true"), 2);
    assert!(refused(&["fault=[{ kind = 'link_down', links = 'border' }]"]).contains("wan:core-border"));
}

#[test]
fn loads_between_the_sites_count_what_crosses_once() {
    let poisson = "[[workload]]\nkind = 'poisson'\nclass = 'inter'\nsizes = 'google-rpc'\nload = 0.2\nload_unit = 'wire'\nflows = 20000\n";
    let (topology, _) = PAPER.split_once("[[workload]]").unwrap();
    let world = World::build(&resolved(&format!("{topology}{poisson}"), &[]).unwrap()).unwrap();
    let wan = &world.offered_load.wan;
    let ways: Vec<_> = wan.iter().map(|way| (way.from, way.to)).collect();
    assert_eq!(ways, [(0, 1), (1, 0)]);
    for way in wan {
        let load = way.load.unwrap();
        assert!((0.1..0.3).contains(&load), "{load} of 64 links of 100 Gb/s");
    }
}
