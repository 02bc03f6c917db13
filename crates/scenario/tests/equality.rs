//! Every built-in scenario, small, comes out equal under every engine.
#![allow(clippy::unwrap_used, reason = "a test says by failing")]

#[path = "../../sim/tests/common/mod.rs"]
mod common;

use farspan_scenario::{BUILT_IN, Request, World};

/// Overrides that make a scenario small.
const SMOKE: &[(&str, &[&str])] = &[
    ("bench/fat-tree", &["topology.k=4", "workload.flow_size=256KiB"]),
    ("bench/fat-tree-fifo", &["topology.k=4", "workload.flow_size=256KiB"]),
    ("bench/two-sites", TWO_SITES),
    ("bench/two-sites-fifo", TWO_SITES),
    ("topology/leaf-spine", &["workload.flows=100"]),
    ("topology/three-sites", &["workload.flows=50"]),
    ("topology/parking-lot", &["workload.flow_size=2MiB"]),
    // Flows that ECMP leads into the black hole end once it is gone.
    ("uno/border-failure", &["workload.flow_size=512KiB", "fault[0].until=5ms"]),
    ("uno/allreduce", &["workload.flow_size=256KiB", "workload.iterations=2", "fault[0].until=9ms"]),
    ("uno/buffers", &["workload.flows=100"]),
    ("uno/incast-inter", &["workload.flow_size=2MiB"]),
    ("uno/incast-intra", &["workload.flow_size=2MiB"]),
    ("uno/incast-mixed", &["workload.flow_size=2MiB"]),
    ("uno/permutation", &["workload.flow_size=128KiB"]),
    ("uno/random-loss", &["workload.flow_size=512KiB", "fault[0].probabilities=[0.05, 0.02, 0.01]"]),
    ("uno/phantom", &["workload[0].flow_size=1MiB", "workload[1].flows=100", "workload[1].start=500us"]),
    ("uno/rtt-ratio", &["workload.flows=100"]),
    // Arrivals go on until the last measured flow has ended: few and short ones.
    (
        "uno/steady",
        &[
            "topology.k=4",
            "topology.wan.rtt=100us",
            "workload[0].sizes=google-rpc",
            "workload[1].sizes=google-rpc",
            "workload[0].load=0.1",
            "workload[0].flows=2000",
            "workload[1].flows=100",
            "measure.warmup=20us",
            "stop.time=1ms",
        ],
    ),
    ("uno/websearch", &["workload.flows=100"]),
];
const TWO_SITES: &[&str] =
    &["topology.k=4", "topology.wan.rtt=100us", "workload[0].flow_size=64KiB", "workload[1].flows=5"];
const SCHEMES: &[&str] = &["uno", "uno-noec", "gemini", "dctcp", "mprdma-bbr", "uno-plb", "uno-rps-ec"];

/// Those that the published code ran in a parameterisation of its own.
const PUBLISHED: &[&str] = &["uno", "gemini", "mprdma-bbr", "uno-plb"];

#[test]
fn built_in_scenarios_come_out_equal_under_every_engine() {
    all_equal("paper", SCHEMES);
}

#[test]
fn so_they_do_with_the_constants_of_the_published_code() {
    all_equal("artifact", PUBLISHED);
}

fn all_equal(profile: &str, schemes: &[&str]) {
    for scenario in BUILT_IN {
        let small = SMOKE.iter().find(|(name, _)| *name == scenario.name);
        let (name, set) = small.unwrap_or_else(|| panic!("give {} a small size here", scenario.name));
        for scheme in schemes {
            let request = Request {
                scheme: Some((*scheme).to_owned()),
                profile: Some(profile.to_owned()),
                set: set.iter().map(|text| (*text).to_owned()).collect(),
                ..Request::new(name)
            };
            let world = World::build(&request.resolve().unwrap()).unwrap();
            let outcome = common::equal_under_all(&world.spec)
                .unwrap_or_else(|what| panic!("{name} under {scheme}, {profile}: {what}"));
            println!("{name} {scheme} {profile}: {} packet-hops", outcome.totals.packet_hops);

            assert!(outcome.totals.packet_hops > 10_000, "{name}: hardly anything happens");
            let mut flows = world.spec.flows.iter().zip(&outcome.flows);
            assert!(flows.all(|(flow, outcome)| outcome.finish.is_some() || !flow.measured), "{name}");
        }
    }
}
