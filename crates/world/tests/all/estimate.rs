//! The estimate of a run beside the run.

use farspan_scenario::{Request, Resolved};
use farspan_world::{Cost, EngineKind, Estimate, World};

fn with(scenario: &str, set: &[&str]) -> Request {
    Request { set: set.iter().map(|s| (*s).to_owned()).collect(), ..Request::new(scenario) }
}

fn of(scenario: &str, scheme: &str, set: &[&str]) -> (Resolved, World) {
    let request = Request { scheme: Some(scheme.to_owned()), ..with(scenario, set) };
    let resolved = request.resolve().unwrap();
    let world = World::build(&resolved).unwrap();
    (resolved, world)
}

fn hops(resolved: &Resolved, world: &World) -> u64 {
    farspan_world::run(resolved, world, EngineKind::Windowed, &mut |_| true).summary.packet_hops
}

#[test]
fn a_network_without_losses_forwards_what_is_counted() {
    let few = "workload.flows=40";
    let cases: [(&str, &str, &[&str]); 5] = [
        ("topology/leaf-spine", "dctcp", &[few]),
        ("topology/leaf-spine", "dctcp", &[few, "transport.ack.name=coalesced"]),
        ("topology/leaf-spine", "dctcp", &[few, "transport.ack.name=delayed"]),
        ("topology/leaf-spine", "ndp", &[few]),
        ("uno/random-loss", "uno", &["fault=[]", "workload.flow_size=1MiB"]),
    ];
    for (scenario, scheme, set) in cases {
        let (resolved, world) = of(scenario, scheme, set);
        let ratio = world.estimate().packet_hops as f64 / hops(&resolved, &world) as f64;
        assert!((0.8..1.1).contains(&ratio), "{scenario} {scheme} {set:?}: {ratio}");
    }
}

#[test]
fn what_begins_after_the_end_is_not_counted() {
    let estimate = |set: &[&str]| of("topology/leaf-spine", "dctcp", set).1.estimate();
    let (whole, early) = (estimate(&[]), estimate(&["stop.time=1us"]));
    assert!(early.packet_hops < whole.packet_hops / 100, "{early:?}, {whole:?}");
    assert_eq!(early.flows, whole.flows);
}

#[test]
fn a_run_that_a_trial_sees_the_end_of_costs_what_it_did() {
    let (resolved, world) = of("uno/incast-mixed", "uno", &["workload.flow_size=4MiB"]);
    let cost = Cost::of(&resolved, &world);
    assert_eq!(cost.packet_hops, hops(&resolved, &world));
    assert!(cost.packet_hops > cost.estimate.packet_hops, "first windows overflow a buffer: {cost:?}");
    assert!(0.0 < cost.seconds[0] && cost.seconds[0] < cost.seconds[1], "{cost:?}");
}

#[test]
fn an_estimate_counts_links_there_and_back() {
    let request = Request {
        scheme: Some("uno-noec".to_owned()),
        ..with("uno/incast-mixed", &["workload.flow_size=4096B"])
    };
    let world = World::build(&request.resolve().unwrap()).unwrap();
    // Four flows over 9 links and four over 6, one packet and one ACK each.
    assert_eq!(world.estimate().packet_hops, 4 * 2 * (9 + 6));
}

#[test]
fn an_estimate_counts_no_more_than_links_carry_until_the_end() {
    let hops = |time: &str| {
        let set = ["workload.flow_size=1GiB", &format!("stop.time={time}")];
        World::build(&with("uno/incast-mixed", &set).resolve().unwrap()).unwrap().estimate().packet_hops
    };
    // Eight flows into one link, which is busy for longer than that.
    let ratio = hops("2ms") as f64 / hops("1ms") as f64;
    assert!((1.99..2.01).contains(&ratio), "{ratio}");
    // 1 ms of 100 Gb/s is 3,052 packets of 4,096 bytes: half of them over 9 links, half over 6, there and back.
    assert!((40_000..50_000).contains(&hops("1ms")), "{}", hops("1ms"));
}

#[test]
fn what_is_too_much_to_draw_is_estimated_from_what_is_expected() {
    let of = |flows: &str| {
        let request = with("uno/websearch", &[&format!("workload.flows={flows}"), "stop.time=10s"]);
        Estimate::of(&request.resolve().unwrap()).unwrap()
    };
    let (drawn, expected) = (of("20000"), of("3000000000"));
    assert!(expected.flows >= 3_000_000_000, "{expected:?}");
    let a_flow = |estimate: &Estimate| estimate.packet_hops as f64 / estimate.flows as f64;
    let ratio = a_flow(&expected) / a_flow(&drawn);
    assert!((0.8..2.0).contains(&ratio), "{ratio}: {expected:?}, {drawn:?}");
}
