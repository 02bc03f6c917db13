//! Losses by tier and goodput between two times, in the results of whole runs.

use farspan_metrics::{PortSums, TierSums};
use farspan_scenario::Request;
use farspan_world::{EngineKind, Results, World, run};

/// Two sites of a few hosts. The incast overflows the last port, the random losses are of the WAN.
const LOSSY: &str = "\
seed = 3
[topology]
kind = 'dual_fat_tree'
k = 4
buffer = '64KiB'
core_border_links = 2
[topology.wan]
rtt = '100us'
links = 2
buffer = '64KiB'
[scheme]
name = 'dctcp'
[[workload]]
kind = 'incast'
tag = 'near'
senders = [4, 5, 8, 9]
receiver = 0
flow_size = '2MB'
[[workload]]
kind = 'incast'
tag = 'far'
senders = [16, 20]
receiver = 0
flow_size = '2MB'
start = '20us'
[[fault]]
kind = 'loss'
link = 'border*->border*#*'
probability = 0.01
";

fn results(set: &[&str], engine: EngineKind) -> Results {
    let set = set.iter().map(|&set| set.to_owned()).collect();
    let request = Request { text: Some(LOSSY.to_owned()), set, ..Request::new("lossy") };
    let resolved = request.resolve().unwrap_or_else(|error| panic!("{error}"));
    let world = World::build(&resolved).unwrap_or_else(|error| panic!("{error}"));
    run(&resolved, &world, engine, &mut |_| true)
}

const BETWEEN: &[&str] =
    &["measure.goodput_from=200us", "measure.goodput_until=700us", "measure.fairness_group=near"];

#[test]
fn every_drop_is_of_one_tier_and_of_one_flow_or_a_control_packet() {
    let summary = results(&[], EngineKind::Windowed).summary;
    let PortSums { all, sites, tiers, .. } = summary.ports;
    let (all, sites, wan) = (all.unwrap(), sites.unwrap(), tiers["wan"]);
    assert!(sites.dropped > 0 && sites.lost == 0 && wan.dropped > 0 && wan.lost > 0, "{sites:?} {wan:?}");
    let counts: [fn(&TierSums) -> u64; 4] = [|t| t.dropped, |t| t.arrived, |t| t.marked, |t| t.ports];
    for of in counts {
        let each: u64 = tiers.values().map(of).sum();
        assert_eq!((of(&all), of(&all)), (of(&sites) + of(&wan), each));
    }
    assert_eq!(all.dropped, summary.packets.dropped + summary.packets.control_dropped);
    assert!(tiers["host_up"].dropped == 0 && tiers["host_down"].dropped > 0, "{tiers:?}");
    // What a tier loses of all that is sent adds up to what is lost.
    let [inside, outside, both] = [sites, wan, all].map(|tier| tier.loss_of_sent.unwrap());
    assert!((inside + outside - both).abs() < 1e-12 && both > 0.0);
    assert_eq!(wan.loss_rate, Some(wan.dropped as f64 / wan.arrived as f64));
    // All packets that leave a port are hops, and those that a full buffer refuses are none.
    let refused: u64 = all.dropped - all.lost;
    assert_eq!(all.arrived - refused, summary.packet_hops);
}

#[test]
fn queues_and_waits_are_longer_where_flows_meet() {
    let summary = results(&[], EngineKind::Windowed).summary;
    let tiers = &summary.ports.tiers;
    let down = tiers["host_down"];
    assert_eq!(Some(down.max_queue_bytes), summary.queues.max_bytes);
    let waits = ["border", "fabric", "host_down", "wan"].map(|tier| tiers[tier].mean_delay_us.unwrap());
    assert!(waits.is_sorted(), "{waits:?}");
    assert!(tiers.values().all(|tier| tier.mean_queue_bytes <= tier.max_queue_bytes as f64), "{tiers:?}");
    // A full packet takes 0.33 us, and a full buffer 5.2 us.
    assert!((0.33..5.3).contains(&down.mean_delay_us.unwrap()), "{down:?}");
    // A NIC has no queue: a byte stays as long as its packet takes.
    let nics = tiers["host_up"].mean_delay_us.unwrap();
    assert!((0.25..0.34).contains(&nics), "{nics}");
}

#[test]
fn engines_and_threads_agree_and_reading_changes_nothing() {
    let [plain, windowed, oracle, threads] = [
        (&[][..], EngineKind::Windowed),
        (BETWEEN, EngineKind::Windowed),
        (BETWEEN, EngineKind::Oracle),
        (BETWEEN, EngineKind::Threads(2)),
    ]
    .map(|(set, engine)| results(set, engine));
    assert_eq!(threads.summary.threads, 2);
    for other in [&oracle, &threads] {
        assert_eq!(other.summary.ports, windowed.summary.ports);
        assert_eq!(other.summary.goodput, windowed.summary.goodput);
        assert_eq!(other.flows, windowed.flows);
    }
    assert!(plain.summary.goodput.is_none() && plain.flows.iter().all(|flow| flow.goodput.is_none()));
    assert_eq!(plain.summary.digest, windowed.summary.digest);
    assert_eq!(plain.summary.packet_digest, windowed.summary.packet_digest);
    assert_eq!(plain.summary.ports, windowed.summary.ports);
}

#[test]
fn goodput_adds_up_by_class_by_tag_and_by_flow() {
    let results = results(BETWEEN, EngineKind::Windowed);
    let goodput = results.summary.goodput.unwrap();
    assert_eq!((goodput.from_us, goodput.until_us), (200.0, 700.0));
    let all = goodput.all.unwrap();
    assert!((50e9..100e9).contains(&all.bps), "{all:?}");
    let [near, far] = ["near", "far"].map(|tag| goodput.tags[tag]);
    // Flows of one class are those of one tag here.
    assert_eq!((goodput.intra, goodput.inter), (Some(near), Some(far)));
    assert_eq!((near.flows, far.flows), (4, 2));
    assert_eq!(near.bytes + far.bytes, all.bytes);
    assert!((near.share.unwrap() + far.share.unwrap() - 1.0).abs() < 1e-12);
    let flows: f64 = results.flows.iter().map(|flow| flow.goodput.unwrap().as_bps() as f64).sum();
    // Each flow is in whole bits per second.
    assert!((flows - all.bps).abs() < 6.0, "{flows} and {all:?}");
    assert!((0.25..=1.0).contains(&goodput.jain.unwrap()));
}

#[test]
fn over_the_whole_run_goodput_is_all_that_was_sent_and_the_idle_end_is_told() {
    let results = results(&["measure.goodput_until=1s"], EngineKind::Windowed);
    let all = results.summary.goodput.unwrap().all.unwrap();
    assert_eq!((all.flows, all.bytes), (6, 6 * 2_000_000));
    let told = results
        .summary
        .warnings
        .iter()
        .filter(|warning| warning.contains("before measure.goodput_until = 1s"));
    assert_eq!(told.count(), 1, "{:?}", results.summary.warnings);
}

#[test]
fn flows_that_are_not_measured_count_and_those_that_were_not_there_have_no_goodput() {
    let set =
        ["measure.warmup=10us", "measure.goodput_from=0s", "measure.goodput_until=20us", "stop.time=2ms"];
    let results = results(&set, EngineKind::Windowed);
    let goodput = results.summary.goodput.unwrap();
    assert_eq!((goodput.tags["near"].flows, goodput.tags["far"].flows), (4, 0));
    for flow in &results.flows {
        assert_eq!(
            (flow.measured, flow.goodput.is_some()),
            if &*flow.tag == "far" { (true, false) } else { (false, true) }
        );
    }
}

#[test]
fn the_first_time_is_that_of_the_warm_up_unless_it_is_given() {
    let toml = |set: &[&str]| {
        let set = set.iter().map(|&set| set.to_owned()).collect();
        let request = Request { text: Some(LOSSY.to_owned()), set, ..Request::new("lossy") };
        request.resolve().unwrap().to_toml()
    };
    let until = toml(&["measure.goodput_until=1ms", "measure.warmup=10us"]);
    assert!(until.contains("goodput_from = \"10us\"\ngoodput_until = \"1ms\""), "{until}");
    assert!(!toml(&[]).contains("goodput"));
}
