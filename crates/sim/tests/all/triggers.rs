//! Flows that wait for others: exact starts, under every engine.

use crate::common::*;
use farspan_sim::{Outcome, Rule, Spec, Trigger};
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
use proptest::prelude::*;
use std::collections::BTreeMap;

const DELAY: Duration = Duration::from_us(3);

fn ids(flows: &[u32]) -> Vec<FlowId> {
    flows.iter().copied().map(FlowId).collect()
}

fn trigger(rule: Rule, finished: &[u32], delivered: &[u32], targets: &[u32]) -> Trigger {
    Trigger {
        rule,
        started: Vec::new(),
        finished: ids(finished),
        delivered: ids(delivered),
        targets: ids(targets),
        delay: DELAY,
        pause: Duration::ZERO,
    }
}

/// Flows (from, to, size, start in us) around one switch.
fn around(flows: &[(u32, u32, u64, u64)], triggers: Vec<Trigger>) -> Spec {
    let flow = |&(src, dst, size, start): &(u32, u32, u64, u64)| {
        flow(src, dst, Bytes::new(size), Time::ZERO + Duration::from_us(start))
    };
    let network = star(8, Rate::from_gbps(100), Duration::from_us(1));
    let flows = flows.iter().map(flow).collect();
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &scheme(control("fixed_window"), "ecmp"), flows);
    spec.triggers = triggers;
    spec
}

fn finish(outcome: &Outcome, flow: usize) -> Time {
    outcome.flows[flow].finish.expect("it ends")
}

fn delivered(outcome: &Outcome, flow: usize) -> Time {
    outcome.flows[flow].delivered.expect("it ends")
}

fn starts(outcome: &Outcome) -> Vec<Time> {
    outcome.flows.iter().map(|flow| flow.start).collect()
}

#[test]
fn word_takes_no_time_on_a_host_and_the_delay_to_another() {
    let flows = [(0, 1, 9000, 0), (0, 2, 9000, 0), (1, 3, 9000, 0), (4, 5, 9000, 0), (4, 5, 9000, 0)];
    let outcome = run(&around(
        &flows,
        vec![
            trigger(Rule::All, &[0], &[], &[1]),
            trigger(Rule::All, &[], &[0], &[2]),
            trigger(Rule::All, &[0], &[], &[3]),
            trigger(Rule::All, &[], &[0], &[4]),
        ],
    ));
    let (sent, received) = (finish(&outcome, 0), delivered(&outcome, 0));
    assert_eq!(starts(&outcome), [Time::ZERO, sent, received, sent + DELAY, received + DELAY]);
    assert!(outcome.flows.iter().all(|flow| flow.started && flow.finish.is_some()));
    // Time counts from the start: with nothing in its way a flow takes as long as the first.
    let fct = |i: usize| finish(&outcome, i).since(outcome.flows[i].start);
    assert_eq!(fct(1), fct(0));
}

#[test]
fn a_pause_comes_on_top_of_the_delay_and_on_the_own_host_alone() {
    let flows = [(0, 1, 9000, 0), (0, 2, 9000, 0), (4, 5, 9000, 0), (1, 3, 9000, 0)];
    let pause = Duration::from_us(7);
    let outcome = run(&around(
        &flows,
        vec![
            Trigger { pause, ..trigger(Rule::All, &[0], &[], &[1, 2]) },
            Trigger { pause, ..trigger(Rule::Next, &[], &[0], &[3]) },
        ],
    ));
    let (sent, received) = (finish(&outcome, 0), delivered(&outcome, 0));
    assert_eq!(starts(&outcome), [Time::ZERO, sent + pause, sent + DELAY + pause, received + pause]);
}

#[test]
fn a_barrier_opens_with_its_last_end_on_every_host() {
    let flows =
        [(0, 5, 2_000_000, 0), (1, 5, 1_000_000, 0), (5, 4, 4_000_000, 0), (1, 2, 100, 0), (0, 2, 100, 900)];
    let outcome = run(&around(&flows, vec![trigger(Rule::All, &[0], &[1], &[2, 3, 4])]));
    // The receiver of flow 1 is the sender of flow 2, and is notified of flow 0 from afar.
    let (sent, received) = (finish(&outcome, 0), delivered(&outcome, 1));
    assert!(received < sent);
    let late = Time::ZERO + Duration::from_us(900);
    assert_eq!(starts(&outcome)[2..], [sent + DELAY, sent + DELAY, late], "a start of its own is kept");
    assert!(sent < late);
}

#[test]
fn a_start_after_the_last_end_is_kept_and_an_equal_one_counts_once() {
    let first = run(&around(&[(0, 1, 9000, 0)], vec![]));
    let end = finish(&first, 0);
    for ahead in [0, 1] {
        let mut spec = around(&[(0, 1, 9000, 0), (0, 1, 9000, 0)], vec![trigger(Rule::All, &[0], &[], &[1])]);
        spec.flows[1].start = end + Duration::from_ps(ahead);
        let outcome = run(&spec);
        assert_eq!(outcome.flows[1].start, end + Duration::from_ps(ahead));
        assert_eq!(outcome.flows[1].sender.sent_bytes, Bytes::new(9000));
    }
}

#[test]
fn a_queue_starts_the_next_whichever_flow_ends() {
    // Two at a time out of host 0; the second of the first two is the longer one.
    let flows: Vec<_> = [10_000, 500_000, 20_000, 30_000, 40_000].map(|size| (0, 1, size, 0)).into();
    let outcome = run(&around(&flows, vec![trigger(Rule::Next, &[0, 1, 2, 3], &[], &[2, 3, 4])]));
    let ends = |flow| finish(&outcome, flow);
    assert!(ends(4) < ends(1), "the small ones pass the large one");
    assert_eq!(starts(&outcome)[2..], [ends(0), ends(2), ends(3)]);
}

#[test]
fn the_hosts_of_a_queue_agree_on_its_order() {
    let flows = [
        (0, 7, 10_000, 0),
        (1, 6, 300_000, 0),
        (2, 5, 40_000, 0),
        (0, 7, 100, 0),
        (1, 7, 100, 0),
        (3, 7, 100, 0),
    ];
    let outcome = run(&around(&flows, vec![trigger(Rule::Next, &[0, 1, 2], &[], &[5, 3, 4])]));
    let mut ends = [0, 1, 2].map(|flow| finish(&outcome, flow) + DELAY);
    ends.sort_unstable();
    let start = starts(&outcome);
    assert_eq!([start[5], start[3], start[4]], ends);
}

#[test]
fn ends_at_one_instant_start_as_many_flows() {
    // Four equal flows to four hosts end together.
    let flows: Vec<_> =
        (0..4).map(|i| (i, i + 4, 5000, 0)).chain((0..4).map(|i| (i, 7 - i, 100, 0))).collect();
    let outcome = run(&around(&flows, vec![trigger(Rule::Next, &[0, 1, 2, 3], &[], &[4, 5, 6, 7])]));
    let end = finish(&outcome, 0);
    assert!((1..4).all(|flow| finish(&outcome, flow) == end));
    assert_eq!(starts(&outcome)[4..], [end + DELAY; 4]);
}

#[test]
fn a_run_ends_when_what_others_wait_for_does_not() {
    let flows = [(0, 1, 9000, 0), (1, 2, 9000, 0), (2, 3, 9000, 0), (0, 1, 9000, 0)];
    // Flows 1 and 2 wait for each other, flow 3 for nothing at all.
    let mut spec = around(
        &flows,
        vec![
            trigger(Rule::All, &[2], &[], &[1]),
            trigger(Rule::All, &[1], &[], &[2]),
            trigger(Rule::Next, &[], &[], &[3]),
        ],
    );
    let outcome = run(&spec);
    let started: Vec<_> = outcome.flows.iter().map(|flow| flow.started).collect();
    assert_eq!(started, [true, false, false, false]);
    assert!(outcome.flows[1..].iter().all(|flow| flow.finish.is_none() && flow.sender.sent_packets == 0));
    assert_eq!(outcome.end, finish(&outcome, 0));
    // The same if time runs out first.
    spec.triggers = vec![trigger(Rule::All, &[0], &[], &[1, 2, 3])];
    spec.stop.time = finish(&outcome, 0);
    assert!(run(&spec).flows[1..].iter().all(|flow| !flow.started));
    spec.stop.time = finish(&outcome, 0) + DELAY;
    assert_eq!(
        run(&spec).flows.iter().map(|flow| flow.started).collect::<Vec<_>>(),
        [true, false, false, true]
    );
}

#[test]
fn triggers_that_nothing_uses_change_nothing() {
    let flows = [(0, 1, 90_000, 0), (1, 2, 9000, 5), (2, 1, 9000, 1)];
    let plain = run(&around(&flows, vec![]));
    let idle = Trigger { delay: Duration::from_ns(10), ..trigger(Rule::All, &[0, 1], &[2], &[]) };
    assert!(plain == run(&around(&flows, vec![idle])));
}

#[test]
fn a_delay_shorter_than_every_link_is_kept() {
    for delay in [Duration::ZERO, Duration::from_ps(1), Duration::from_ns(30)] {
        let flows = [(0, 1, 9000, 0), (2, 1, 9000, 0)];
        let outcome = run(&around(&flows, vec![Trigger { delay, ..trigger(Rule::All, &[0], &[], &[1]) }]));
        assert_eq!(outcome.flows[1].start, finish(&outcome, 0) + delay);
    }
}

#[test]
fn samples_of_a_waiting_flow_begin_with_its_first_packet() {
    let flows = [(0, 1, 500_000, 0), (0, 1, 500_000, 0)];
    let mut spec = around(&flows, vec![trigger(Rule::All, &[0], &[], &[1])]);
    sample_rates(&mut spec, Duration::from_us(5));
    let outcome = run(&spec);
    let of = |flow| farspan_sim::SampleId::Flow(FlowId(flow));
    let first = outcome.samples.iter().find(|sample| sample.id == of(1)).expect("it is sampled");
    assert!(first.at > outcome.flows[1].start);
    assert!(outcome.samples.iter().any(|sample| sample.id == of(0) && sample.at < first.at));
}

/// When every flow starts, from the ends that an outcome reports.
fn expected_starts(spec: &Spec, outcome: &Outcome) -> Vec<Option<Time>> {
    let mut starts: Vec<_> = spec.flows.iter().map(|flow| Some(flow.start)).collect();
    for trigger in &spec.triggers {
        let of = |id: &FlowId| (&spec.flows[id.index()], &outcome.flows[id.index()]);
        let started =
            trigger.started.iter().map(of).map(|(flow, o)| (flow.src, o.started.then_some(o.start)));
        let finished = trigger.finished.iter().map(of).map(|(flow, o)| (flow.src, o.finish));
        let delivered = trigger.delivered.iter().map(of).map(|(flow, o)| (flow.dst, o.delivered));
        let ends: Vec<(HostId, Option<Time>)> = started.chain(finished).chain(delivered).collect();
        let hosts: Vec<_> = trigger.targets.iter().map(|id| spec.flows[id.index()].src).collect();
        let local = ends.iter().all(|end| hosts.iter().all(|host| *host == end.0));
        for (place, id) in trigger.targets.iter().enumerate() {
            let here = spec.flows[id.index()].src;
            let notified = |&(host, at): &(HostId, Option<Time>)| {
                let near = if trigger.rule == Rule::All { host == here } else { local };
                at.map(|at| at + if near { Duration::ZERO } else { trigger.delay })
            };
            let mut notified: Vec<Option<Time>> = ends.iter().map(notified).collect();
            notified.sort_by_key(|at| at.unwrap_or(Time::MAX));
            let released = match trigger.rule {
                Rule::All => notified.last().copied().flatten(),
                Rule::Next => notified.get(place).copied().flatten(),
            };
            starts[id.index()] = released.map(|at| (at + trigger.pause).max(spec.flows[id.index()].start));
        }
    }
    starts
}

/// Flows over two small sites, most of which wait for others, with losses.
fn dependent(seed: u64) -> Spec {
    let mut random = Random::new(seed, Purpose::Test, 0);
    let mut below = |n: u32| random.below(n.into()) as u32;
    let count = 24 + below(24);
    let hosts = [4_u32, 12, 32][below(3) as usize];
    let flows = (0..count).map(|_| {
        let src = below(hosts);
        let dst = (src + 1 + below(hosts - 1)) % hosts;
        let start = if below(3) == 0 { u64::from(below(200_000_000)) } else { 0 };
        flow(src, dst, Bytes::new(1 + u64::from(below(60_000))), Time::from_ps(start))
    });
    let flows: Vec<_> = flows.collect();
    let mut triggers = Vec::new();
    let mut next = 4;
    while next < count {
        let targets: Vec<_> = (next..count.min(next + 1 + below(4))).map(FlowId).collect();
        // Mostly of flows before, so that most of them start.
        let reach = if below(8) == 0 { count } else { next };
        let mut ends = || {
            let mut ends: Vec<_> = (0..1 + below(4)).map(|_| FlowId(below(reach))).collect();
            ends.sort_unstable();
            ends.dedup();
            ends
        };
        let (started, finished, delivered) = (ends(), ends(), ends());
        next += targets.len() as u32;
        let rule = [Rule::All, Rule::Next][below(2) as usize];
        let delay = Duration::from_ns([300, 1000, 2500, 60_000][below(4) as usize]);
        let pause = Duration::from_ns([0, 0, 400, 5_000][below(4) as usize]);
        triggers.push(Trigger { rule, started, finished, delivered, targets, delay, pause });
    }
    let network = two_sites(4, Duration::from_us(20));
    let mut spec = spec(network, ports(Bytes::new(30_000), &[]), &scheme(control("unocc"), "rps"), flows);
    (spec.triggers, spec.seed, spec.jitter) = (triggers, seed, Duration::from_ps(332_800));
    spec.port_jitter = spec.jitter;
    spec
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_flow_starts_when_its_trigger_says(seed in any::<u64>()) {
        let spec = dependent(seed);
        let outcome = run(&spec);
        let expected = expected_starts(&spec, &outcome);
        for (id, (flow, expected)) in outcome.flows.iter().zip(&expected).enumerate() {
            prop_assert_eq!(flow.started.then_some(flow.start), *expected, "flow {}", id);
            prop_assert_eq!(flow.started, flow.finish.is_some());
        }
        let by_start: BTreeMap<bool, usize> =
            outcome.flows.iter().fold(BTreeMap::new(), |mut all, flow| { *all.entry(flow.started).or_default() += 1; all });
        prop_assert!(by_start.get(&true) >= Some(&4));
    }
}
