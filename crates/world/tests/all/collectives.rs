//! Collectives: starts to the picosecond, iterations, and how near an idle network comes to the ideal.

use farspan_scenario::Request;
use farspan_units::{Duration, Time};
use farspan_world::{EngineKind, Results, World};
use std::path::PathBuf;

/// A scenario file of the test's own, removed at the end.
struct Scenario(PathBuf);

impl Scenario {
    /// Two sites of 16 hosts, 100 us apart, and these lines in the only part of the workload.
    fn new(name: &str, workload: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-{name}-{}.toml", std::process::id()));
        let text = format!(
            "[topology]\nk = 4\nwan = {{ rtt = '100us' }}\n[scheme]\nname = 'fixed_window'\n[host]\njitter = '0ns'\n\
             [[workload]]\ntag = 'c'\n{workload}"
        );
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn run(&self, set: &[&str]) -> (World, Results) {
        let set = set.iter().map(|&assignment| assignment.to_owned()).collect();
        let resolved = Request { set, ..Request::new(&self.0.display().to_string()) }.resolve().unwrap();
        let world = World::build(&resolved).unwrap();
        let results = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
        (world, results)
    }
}

impl Drop for Scenario {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const RING: &str = "kind = 'allreduce'\nranks = [0, 5, 10, 17, 22, 27]\nflow_size = '600KB'\n";

/// A fault that slows the link to one rank tenfold: ACKs reach the ranks that send to it much later.
const SLOW: &str = "[[fault]]\nkind = 'rate'\nlink = 'tor*->host10#0'\nrate = '10Gbps'\n";

#[test]
fn every_message_starts_when_what_it_waits_for_has_come() {
    let mut held = 0;
    for (algorithm, fault) in
        [("ring", ""), ("direct", ""), ("hierarchical", ""), ("ring", SLOW), ("hierarchical", SLOW)]
    {
        let name = format!("starts-{algorithm}-{}", fault.len());
        let scenario = Scenario::new(&name, &format!("{RING}{fault}"));
        let (world, results) = scenario.run(&[
            &format!("workload.algorithm={algorithm}"),
            "workload.iterations=2",
            "workload.barrier=false",
            "workload.compute_time=30us",
        ]);
        let moves = &world.collectives[0].moves;
        assert_eq!(results.flows.len(), 2 * moves.len());
        let (first, second) = results.flows.split_at(moves.len());
        for (each, flow) in moves.iter().zip(first).chain(moves.iter().zip(second)) {
            let base = flow.flow.index() / moves.len() * moves.len();
            let came = each
                .after
                .iter()
                .map(|id| results.flows[base + *id as usize].outcome.delivered.unwrap())
                .max();
            let own = moves.iter().position(|first| first.src == each.src).unwrap();
            let begun = results.flows[base + own].outcome.start;
            if base == 0 || came.is_some() {
                held += usize::from(came.is_some_and(|came| came < begun));
                let expected = came.unwrap_or(Time::ZERO).max(begun);
                assert_eq!(flow.outcome.start, expected, "{algorithm} {}", flow.flow);
            }
        }
        for (each, flow) in moves.iter().zip(second).filter(|(each, _)| each.after.is_empty()) {
            let received = first
                .iter()
                .filter(|flow| flow.outcome.dst == each.src)
                .map(|flow| flow.outcome.delivered.unwrap());
            let sent = first
                .iter()
                .filter(|flow| flow.outcome.src == each.src)
                .map(|flow| flow.outcome.finish.unwrap());
            let free = received.chain(sent).max().unwrap();
            assert_eq!(flow.outcome.start, free + Duration::from_us(30), "{algorithm} {}", flow.flow);
        }
    }
    assert!(held > 0, "no rank was sent anything before it had computed");
}

#[test]
fn a_barrier_holds_all_groups_together() {
    let text = "kind = 'allreduce'\ngroups = [[0, 17], [1, 2, 3]]\nflow_size = '600KB'\niterations = 3\nbarrier = true\n";
    let (world, results) = Scenario::new("barrier", text).run(&["workload.trigger_delay=2us"]);
    let moves = &world.collectives[0].moves;
    for (before, after) in [(0, 1), (1, 2)] {
        let flows = |iteration: usize| &results.flows[iteration * moves.len()..(iteration + 1) * moves.len()];
        let ends = flows(before)
            .iter()
            .map(|flow| flow.outcome.finish.unwrap().max(flow.outcome.delivered.unwrap()));
        let last = ends.max().unwrap();
        let starts = moves.iter().zip(flows(after)).filter(|(each, _)| each.after.is_empty());
        let starts: Vec<Time> = starts.map(|(_, flow)| flow.outcome.start).collect();
        assert!(
            starts.iter().all(|start| *start == last || *start == last + Duration::from_us(2)),
            "{starts:?} {last}"
        );
    }
    let rows: Vec<_> = results.iterations.iter().map(|row| (row.iteration, row.group)).collect();
    assert_eq!(rows, [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]);
}

#[test]
fn in_an_idle_network_an_iteration_takes_the_ideal_time() {
    let kinds = ["allreduce", "reduce_scatter", "all_gather", "all_to_all"];
    let cases = kinds.map(|kind| (kind, "ring")).into_iter().chain(kinds.map(|kind| (kind, "direct")));
    for (kind, algorithm) in cases.chain([("allreduce", "hierarchical")]) {
        let text = RING.replace("'allreduce'", &format!("'{kind}'"));
        let scenario = Scenario::new(&format!("ideal-{kind}-{algorithm}"), &text);
        // Full windows of packets at once, so that only the links themselves take time.
        let (_, results) =
            scenario.run(&[&format!("workload.algorithm={algorithm}"), "topology.buffer=64MiB"]);
        let summary = &results.summary.collectives[0];
        let ratio = summary.ratio.unwrap();
        // ACKs take a 65th of the links, and paths of equal cost are chosen blindly.
        assert!((0.97..1.3).contains(&ratio), "{kind} {algorithm}: {ratio}");
        assert_eq!(summary.excess, Some(ratio - 1.0));
    }
    let star = "kind = 'allreduce'\nranks = [0, 1, 2, 3, 4]\nflow_size = '5MB'\n";
    let (_, results) = Scenario::new("ideal-star", star).run(&["topology={ kind = 'star', hosts = 5 }"]);
    let ratio = results.summary.collectives[0].ratio.unwrap();
    assert!((1.0..1.03).contains(&ratio), "without shared paths: {ratio}");
}

#[test]
fn the_ideal_time_of_a_pair_is_that_of_its_links() {
    let text = "kind = 'allreduce'\nranks = [0, 1]\nflow_size = '8192B'\n";
    let (world, _) = Scenario::new("ideal-pair", text).run(&["topology={ kind = 'star', hosts = 2 }"]);
    // Twice a packet of 4,160 B over two links of 100 Gb/s and 1 us.
    assert_eq!(world.collectives[0].ideal, (Duration::from_us(1) + Duration::from_ps(332_800)) * 4);
    // Eight pairs over one link between the sites: each of the two stages takes eight times as long to send.
    let groups: Vec<_> = (0..8).map(|i| vec![i, 16 + i]).collect();
    let text = format!("kind = 'allreduce'\ngroups = {groups:?}\nflow_size = '80MB'\n");
    let ideal = |links: u32| {
        let (world, _) = Scenario::new(&format!("ideal-{links}"), &text)
            .run(&[&format!("topology.wan.links={links}"), "stop.time=1us"]);
        world.collectives[0].ideal
    };
    let (one, eight) = (ideal(1), ideal(8));
    let stage = Duration::from_us(3_251); // 40 MB with headers at 100 Gb/s
    let expected = stage * 14;
    assert!((one.saturating_sub(eight) / expected - 1.0).abs() < 0.001, "{one} {eight}");
    assert_eq!(ideal(16), eight);
}

#[test]
fn an_iteration_that_does_not_end_is_counted() {
    let scenario = Scenario::new("unfinished", RING);
    let (_, results) = scenario.run(&["workload.iterations=100", "stop.time=2ms"]);
    let summary = &results.summary.collectives[0];
    assert_eq!((summary.iterations, summary.mean_us, summary.ratio), (100, None, None));
    assert!(summary.unfinished > 0 && summary.unfinished < 100);
    let (_, results) = scenario.run(&["workload.iterations=4", "measure.warmup=300us"]);
    let summary = &results.summary.collectives[0];
    let measured = results.iterations.iter().filter(|row| row.measured).count() as u64;
    assert!(measured < 4 && summary.iterations == measured, "{measured}");
}

#[test]
fn large_messages_have_a_tag_of_their_own() {
    let world = World::build(&Request::new("uno/phantom").resolve().unwrap()).unwrap();
    assert_eq!(world.workload.tags, ["long", "rpc", "rpc-large"]);
    let of = |tag| world.workload.flows.iter().filter(move |flow| flow.tag == tag);
    assert!(of(1).all(|flow| flow.size.get() < 100_000) && of(2).all(|flow| flow.size.get() >= 100_000));
    assert!(of(1).count() > 1900 && of(1).count() + of(2).count() == 2000);
    assert!(of(1).chain(of(2)).all(|flow| (240..244).contains(&flow.dst.0) && flow.src.0 >= 128));
}

#[test]
fn the_buffers_of_the_borders_are_their_own() {
    use farspan_fabric::Tier;
    let world = World::build(&Request::new("uno/buffers").resolve().unwrap()).unwrap();
    let buffer = |tier| world.spec.ports.of(tier).buffer.to_string();
    assert_eq!([Tier::HostDown, Tier::Fabric].map(buffer), ["175KiB", "175KiB"]);
    assert_eq!(buffer(Tier::Border), buffer(Tier::Wan));
    assert_eq!(world.spec.ports.of(Tier::Wan).buffer.get(), 2_306_867);
}
