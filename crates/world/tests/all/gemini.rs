//! The testbeds of Gemini, and flows that share a bottleneck in the worlds of TCPs.

use farspan_fabric::{Marker, MarkingPoint, PortConfig};
use farspan_scenario::{BUILT_IN, Request};
use farspan_units::{Bytes, Duration};
use farspan_world::{EngineKind, World};

const PACKET: Bytes = Bytes::new(1500);

fn request(scenario: &str, scheme: &str, set: &[&str]) -> Request {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    Request { scheme: Some(scheme.to_owned()), set, ..Request::new(scenario) }
}

fn world(scenario: &str, scheme: &str, set: &[&str]) -> World {
    World::build(&request(scenario, scheme, set).resolve().unwrap()).unwrap()
}

fn port<'a>(world: &'a World, name: &str) -> &'a PortConfig {
    world.spec.port(world.spec.network.port_named(name).unwrap_or_else(|| panic!("there is no port {name}")))
}

/// When the ACK of a packet alone is back.
fn rtt(scenario: &str, pair: &str) -> Duration {
    let set = [
        "host.jitter=0ns".to_owned(),
        "transport.handshake=false".to_owned(),
        "workload.flow_size=1460B".to_owned(),
        format!("workload.pairs=[{pair}]"),
    ];
    let set: Vec<_> = set.iter().map(String::as_str).collect();
    let spec = world(scenario, "newreno", &set).spec;
    let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
    outcome.flows[0].finish.unwrap().since(spec.flows[0].start)
}

#[test]
fn both_testbeds_have_200_us_under_a_switch_and_10_ms_between_the_datacenters() {
    let of_pairs = "gemini/dcn-bottleneck";
    assert_eq!(rtt(of_pairs, "[0, 11]"), Duration::from_us(200));
    assert_eq!(rtt(of_pairs, "[0, 24]"), Duration::from_ms(10));
    assert_eq!(rtt("gemini/long-wan", "[0, 24]"), Duration::from_ms(100));
    assert_eq!(rtt("gemini/rtt-fairness", "[25, 24]"), Duration::from_us(200));
    assert_eq!(rtt("gemini/rtt-fairness", "[13, 24]"), Duration::from_us(3200));
    let fast = world("gemini/inter-dc-10g", "gemini", &[]);
    assert_eq!(fast.inter.unwrap().base_rtt, Duration::from_ms(10));
    // Both ways, two links with a full packet and an ACK of 40 B under one switch, twice as many at most inside a site.
    assert_eq!(fast.intra.unwrap().base_rtt, Duration::from_us(400));
}

#[test]
fn switches_mark_at_50_packets_for_gemini_and_at_300_for_others_and_border_routers_never() {
    for (scenario, scheme, packets) in [
        ("gemini/inter-dc", "gemini", Some(50)),
        ("gemini/inter-dc", "dctcp", Some(300)),
        ("gemini/inter-dc", "cubic", None),
        ("gemini/inter-dc", "vegas-10", None),
        ("gemini/inter-dc", "bbr", None),
        ("gemini/mixed-10g", "gemini", Some(500)),
        ("gemini/mixed-10g", "dctcp", Some(300)),
        ("gemini/three-groups", "gemini", Some(50)),
        ("gemini/dcn-bottleneck", "gemini", Some(50)),
        ("gemini/rtt-fairness", "gemini", Some(300)),
    ] {
        let world = world(scenario, scheme, &[]);
        let expected: Vec<_> = packets.map(|packets| Marker::Step(PACKET * packets)).into_iter().collect();
        let down = format!("leaf2->host{}#0", world.spec.network.hosts / 2);
        for name in ["leaf0->border0#0", "leaf1->border0#0", &down] {
            let port = port(&world, name);
            assert_eq!(port.markers, expected, "{scenario} {scheme} {name}");
            assert!(expected.is_empty() || port.marking_point == MarkingPoint::Enqueue, "{name}");
        }
        for name in ["border0->border1#0", "border1->border0#0", "border0->leaf1#0", "border1->leaf2#0"] {
            assert_eq!(port(&world, name).markers, [], "{scenario} {scheme} {name}");
        }
    }
    let ecn =
        ["scheme.ports.marking=step", "scheme.intra.congestion.ecn=true", "scheme.inter.congestion.ecn=true"];
    let cubic = world("gemini/inter-dc", "cubic", &ecn);
    assert_eq!(port(&cubic, "leaf0->border0#0").markers, [Marker::Step(PACKET * 300)]);
}

#[test]
fn a_border_router_holds_its_packets_for_each_port_and_a_switch_at_most_450_for_one() {
    for (scenario, of_border, of_pool, of_port) in
        [("gemini/inter-dc", 10_000, 4_000_000, 450), ("gemini/inter-dc-10g", 80_000, 16_000_000, 1800)]
    {
        let world = world(scenario, "cubic", &[]);
        for name in ["border0->border1#0", "border0->leaf0#0"] {
            assert_eq!(port(&world, name).buffer, PACKET * of_border, "{scenario} {name}");
        }
        let pool = world.spec.pool.unwrap();
        assert_eq!(pool.size, Bytes::new(of_pool));
        let network = &world.spec.network;
        let has_pool = |name: &str| {
            let port = network.port_named(name).unwrap();
            pool.switches.includes(network, network.links[port.index()].from)
        };
        assert_eq!(["leaf0->border0#0", "border0->leaf0#0"].map(has_pool), [true, false]);
        // The last packet may lie above.
        let most = pool.most_held(3, Bytes::ZERO);
        assert!(most <= PACKET * of_port && most + PACKET * 2 > PACKET * of_port, "{scenario}: {most}");
    }
}

#[test]
fn a_switch_drops_at_a_full_uplink_what_its_pool_has_room_for_and_the_border_keeps() {
    // Twelve senders of a rack, all at once, with windows that nothing bounds.
    let set =
        ["transport.start=1MB", "workload.flow_size=1MB", "host.jitter=0ns", "probes.queue_interval=100us"];
    let resolved =
        request("gemini/dcn-bottleneck", "fixed_window", &[&set[..], &["workload.flows=8"]].concat());
    let resolved = resolved.resolve().unwrap();
    let world = World::build(&resolved).unwrap();
    let results = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
    let longest = |name: &str| {
        let of = |port: &&farspan_metrics::PortRecord| port.name == name;
        let port = results.ports.iter().find(of).unwrap();
        (port.max_queue.get(), port.drops)
    };
    let (queue, drops) = longest("leaf0->border0#0");
    assert!((448 * 1500..=450 * 1500).contains(&queue) && drops > 0, "{queue} B, {drops} drops");
    assert_eq!(longest("border0->border1#0").1, 0);
}

#[test]
fn pairs_get_flows_in_turn() {
    let flows = |count: &str| {
        let world = world("gemini/dcn-bottleneck", "gemini", &[count]);
        world.spec.flows.iter().map(|flow| flow.src.0).collect::<Vec<_>>()
    };
    assert_eq!(flows("workload.flows=2"), [0, 1]);
    assert_eq!(flows("workload.flows=11"), [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2]);
    let groups = world("gemini/three-groups", "gemini", &[]);
    let of = |second: u64| {
        groups.spec.flows.iter().filter(|flow| flow.start.as_ns() == second * 1_000_000_000).count()
    };
    assert_eq!([0, 50, 100].map(of), [10; 3]);
}

#[test]
fn published_loads_come_out_on_the_links() {
    let load = |scenario: &str| world(scenario, "gemini", &[]).offered_load;
    for (scenario, fabric) in [("gemini/inter-dc", 0.45), ("gemini/mixed", 0.675)] {
        let load = load(scenario);
        let wan = load.wan.iter().map(|wan| wan.load.unwrap()).sum::<f64>() / 2.0;
        // Payload alone is 97.3% of what crosses; sizes are drawn.
        assert!((0.80..0.96).contains(&wan), "{scenario}: {wan}");
        let up = load.fabric.unwrap();
        assert!((up / wan / (fabric / 0.9) - 1.0).abs() < 0.06, "{scenario}: {up} beside {wan}");
    }
}

#[test]
fn only_gemini_s_figure_8_runs_without_its_delay_loop() {
    for name in BUILT_IN.iter().map(|scenario| scenario.name).filter(|name| name.starts_with("gemini/")) {
        let text = request(name, "gemini", &[]).resolve().unwrap().to_toml();
        let threshold = if name == "gemini/dcn-bottleneck" { "10s" } else { "5ms" };
        assert!(text.contains(&format!("delay_threshold = \"{threshold}\"")), "{name}");
    }
}

#[test]
fn two_controls_share_a_port_at_equal_round_trips_or_at_1_to_16() {
    let rtts = |set: &[&str]| {
        let world = world("tcp/shares", "cubic/vegas", set);
        [world.intra.unwrap().base_rtt, world.inter.unwrap().base_rtt].map(|rtt| rtt.as_ns() / 1000)
    };
    assert_eq!(rtts(&[]), [39_966, 40_000]);
    let far = rtts(&["topology.link_delay=2.43ms", "topology.wan.rtt=160ms"]);
    assert!(far[0].abs_diff(10_000) < 50 && far[1] == 160_000, "{far:?}");
    let world = world("tcp/shares", "cubic/vegas", &[]);
    let [near, far] = [&world.spec.flows[0], &world.spec.flows[1]];
    assert_eq!((near.dst, world.spec.network.site(near.src)), (far.dst, 1));
    assert_eq!(world.spec.network.site(far.src), 0);
}
