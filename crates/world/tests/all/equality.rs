//! Every built-in scenario, small, comes out equal under every engine.

use crate::common;
use farspan_scenario::{BUILT_IN, Request};
use farspan_units::Duration;
use farspan_world::{EngineKind, World};

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
    ("proxy/degree", &["workload.flow_size=1MB", "scheme.ports.overflow=trim"]),
    ("gemini/inter-dc", &["workload.duration=20ms", "workload.sizes=google-rpc"]),
    ("gemini/inter-dc-10g", &["workload.duration=2ms", "workload.sizes=google-rpc"]),
    ("gemini/mixed", &["workload.duration=20ms", "workload.sizes=google-rpc"]),
    ("gemini/mixed-10g", &["workload.duration=2ms", "workload.sizes=google-rpc"]),
    ("gemini/vegas-thresholds", &["workload.duration=20ms", "workload.sizes=google-rpc"]),
    ("gemini/dcn-bottleneck", &["workload.flow_size=2MB"]),
    ("gemini/wan-bottleneck", &["workload.flow_size=500KB"]),
    ("gemini/long-wan", &["workload.flow_size=500KB"]),
    ("gemini/three-groups", &["workload.flow_size=200KB", "workload[1].start=5ms", "workload[2].start=10ms"]),
    ("gemini/rtt-fairness", &["workload.flow_size=500KB"]),
    ("tcp/shares", &["workload.flow_size=2MB"]),
    ("proxy/size", &["workload.flow_size=2MB"]),
    ("proxy/latency", &["workload.flow_size=1MB"]),
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
    (
        "steady/websearch",
        &[
            "topology.wan.rtt=100us",
            "workload.sizes=google-rpc",
            "workload.flows=1000",
            "workload.load=0.2",
            "measure.warmup=20us",
            "stop.time=3ms",
        ],
    ),
    ("ndp/incast", &["topology.k=4", "workload.senders=[8, 9, 10, 11, 12, 13]", "workload.flow_size=1MiB"]),
    ("ndp/permutation", &["topology.k=4", "workload.flow_size=256KiB"]),
    (
        "ndp/oversubscribed",
        &["topology.k=4", "topology.oversubscription=[2, 1]", "workload.flow_size=256KiB"],
    ),
    ("oscar/equilibrium", &["workload.flow_size=500KB"]),
    ("oscar/incast", &["workload.flow_size=160KB"]),
    (
        "oscar/microburst",
        &["workload[0].flow_size=5MB", "workload[1].flow_size=100KB", "workload[1].start=100us"],
    ),
    (
        "oscar/convergence",
        &["workload[0].flow_size=5MB", "workload[1].flow_size=100KB", "workload[1].start=100us"],
    ),
    ("oscar/link-degradation", &["workload.flow_size=2MB", "fault[0].at=50us", "fault[0].until=100us"]),
    ("oscar/queue-nonempty", &["workload.duration=1ms"]),
    ("oscar/reference-state", &["workload.flow_size=3MB", "stop.time=20ms"]),
    ("oscar/rtt-ratio", &["workload.flow_size=2MB"]),
    (
        "oscar/testbed",
        &["workload[0].flow_size=3MB", "workload[1].flow_size=100KB", "workload[1].start=100us"],
    ),
    ("oscar/testbed-all-to-all", &["workload.flow_size=20KB"]),
    ("oscar/two-short-flows", &["workload[0].flow_size=2MB", "stop.time=20ms"]),
    ("oscar/parking-lot", &["workload.flow_size=1MB"]),
    ("oscar/longtail", &["topology.pods=2", "topology.hosts_per_tor=2", "workload.duration=40us"]),
    (
        "oscar/hadoop-incast",
        &["topology.pods=2", "topology.hosts_per_tor=2", "workload.degree=8", "workload.duration=40us"],
    ),
    ("oscar/oversubscribed", &["topology.pods=2", "topology.hosts_per_tor=2", "workload.duration=40us"]),
    ("oscar/training", &["workload.flow_size=40KB", "workload.iterations=2"]),
    ("reps/permutation", &["topology.k=4", "workload.flow_size=256KiB"]),
    (
        "reps/oversubscribed",
        &["topology.k=4", "topology.oversubscription=[2, 1]", "workload.flow_size=256KiB"],
    ),
    // Flows that ECMP leads over a dead link end once it is back.
    ("reps/failures", &["topology.k=4", "workload.flow_size=256KiB", "fault[0].until=300us"]),
    ("reps/degraded", &["topology.k=4", "workload.flow_size=256KiB"]),
    ("reps/wait-to-decrease", &["topology.k=4", "workload.flow_size=256KiB"]),
    ("reps/mixed", &["topology.k=4", "workload[0].flow_size=256KiB", "workload[1].flow_size=256KiB"]),
];
const TWO_SITES: &[&str] =
    &["topology.k=4", "topology.wan.rtt=100us", "workload[0].flow_size=64KiB", "workload[1].flows=5"];
const SCHEMES: &[&str] =
    &["uno", "uno-noec", "gemini", "dctcp", "mprdma-bbr", "uno-plb", "uno-rps-ec", "ndp", "hpcc", "oscar"];

/// Those that the published code ran in a parameterisation of its own.
const PUBLISHED: &[&str] = &["uno", "gemini", "mprdma-bbr", "uno-plb", "oscar"];

#[test]
fn built_in_scenarios_come_out_equal_under_every_engine() {
    all_equal("paper", SCHEMES);
}

#[test]
fn so_they_do_with_the_constants_of_the_published_code() {
    all_equal("artifact", PUBLISHED);
}

#[test]
fn no_nic_takes_in_more_goodput_than_its_line_carries() {
    let mut coded = 0;
    for scenario in BUILT_IN {
        for scheme in ["uno", "uno-rps-ec", "uno-plb-ec"] {
            let mut spec = small(scenario.name, scheme, "paper").spec;
            common::sample_rates(&mut spec, Duration::from_us(50));
            let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
            common::goodput_within_line_rate(&spec, &outcome)
                .unwrap_or_else(|what| panic!("{} under {scheme}: {what}", scenario.name));
            coded += outcome.flows.iter().map(|flow| flow.receiver.blocks_repaired).sum::<u64>();
        }
    }
    assert!(coded >= 100, "{coded} blocks were decoded: the gate would not notice a fault there");
}

/// A built-in scenario, small.
fn small(name: &str, scheme: &str, profile: &str) -> World {
    let small = SMOKE.iter().find(|(small, _)| *small == name);
    let (_, set) = small.unwrap_or_else(|| panic!("give {name} a small size here"));
    let request = Request {
        scheme: Some(scheme.to_owned()),
        profile: Some(profile.to_owned()),
        set: set.iter().map(|text| (*text).to_owned()).collect(),
        ..Request::new(name)
    };
    World::build(&request.resolve().unwrap()).unwrap()
}

fn all_equal(profile: &str, schemes: &[&str]) {
    for scenario in BUILT_IN {
        let name = scenario.name;
        // Trimmed packets travel in the priority queue, which these have not.
        let has_one_queue = name.ends_with("-fifo")
            || ["oscar/", "gemini/", "tcp/"].iter().any(|folder| name.starts_with(folder));
        let fit = |scheme: &&&str| !(**scheme == "ndp" && has_one_queue);
        for scheme in schemes.iter().filter(fit) {
            let world = small(name, scheme, profile);
            let outcome = common::equal_under_all(&world.spec)
                .unwrap_or_else(|what| panic!("{name} under {scheme}, {profile}: {what}"));
            println!("{name} {scheme} {profile}: {} packet-hops", outcome.totals.packet_hops);

            assert!(outcome.totals.packet_hops > 10_000, "{name}: hardly anything happens");
            let mut flows = world.spec.flows.iter().zip(&outcome.flows);
            assert!(flows.all(|(flow, outcome)| outcome.finish.is_some() || !flow.measured), "{name}");
        }
    }
}
