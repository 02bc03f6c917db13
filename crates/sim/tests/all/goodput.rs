//! Goodput of each flow between two times.

use crate::common::{self, flow, ports, run, spec, star};
use crate::random::random_spec;
use farspan_sim::{EngineKind, Outcome, ProbeKind, SampleId, Spec, Stop};
use farspan_units::{Bytes, Duration, FlowId, Rate, Time};
use std::ops::Range;

const US: Duration = Duration::from_us(1);

fn at(us: u64) -> Time {
    Time::ZERO + US * us
}

/// Two flows of 100 full packets into one host, the second 20 us later, at 100 Gb/s.
fn two_flows(goodput: Option<Range<Time>>) -> Spec {
    let network = star(3, Rate::from_gbps(100), US);
    let size = common::MSS * 100;
    let flows = vec![flow(0, 2, size, Time::ZERO), flow(1, 2, size, at(20))];
    let scheme = common::scheme(common::control("fixed_window"), "ecmp");
    let mut spec = spec(network, ports(Bytes::new(1 << 20), &[]), &scheme, flows);
    spec.probes.goodput = goodput;
    spec
}

fn windowed(spec: &Spec) -> Outcome {
    farspan_sim::run(spec, EngineKind::Windowed, &mut |_| true)
}

#[test]
fn packets_that_arrive_between_the_two_times_are_counted_and_no_others() {
    // The first packet has arrived after two links of 1 us and two transmissions of 4160 B, the n-th n - 1 transmissions later.
    let (wire, first) = (Rate::from_gbps(100).transmission(common::MSS + common::HEADER), US * 2);
    let arrival = |n: u64| Time::ZERO + first + wire * (n + 1);
    for (from, until) in [(3, 10), (1, 2), (1, 12)] {
        // A packet at the first end counts; one at the last does not.
        let outcome = run(&two_flows(Some(arrival(from)..arrival(until))));
        assert_eq!(
            outcome.goodput,
            Some(vec![common::MSS * (until - from), Bytes::ZERO]),
            "{from} to {until}"
        );
    }
}

#[test]
fn between_the_ends_of_a_run_comes_all_that_is_sent_and_after_it_nothing() {
    let whole = run(&two_flows(Some(Time::ZERO..at(1_000_000))));
    assert!(whole.end < at(1000), "the run does not wait for the second time");
    assert_eq!(whole.goodput, Some(vec![common::MSS * 100; 2]));
    let after = run(&two_flows(Some(at(500_000)..at(1_000_000))));
    assert_eq!(after.goodput, Some(vec![Bytes::ZERO; 2]));
    let mut stopped = two_flows(Some(Time::ZERO..at(30)));
    stopped.stop.time = at(30);
    let halfway = run(&stopped);
    assert_eq!(halfway.goodput, run(&two_flows(Some(Time::ZERO..at(30)))).goodput);
    assert_eq!(run(&two_flows(None)).goodput, None);
}

#[test]
fn reading_changes_nothing_else() {
    let mut without = windowed(&two_flows(None));
    let with = windowed(&two_flows(Some(at(7)..at(31))));
    without.goodput.clone_from(&with.goodput);
    assert_eq!(common::difference(&without, &with), None);
}

#[test]
fn a_run_that_ends_with_its_measured_flows_goes_on_to_the_second_time() {
    let spec = |goodput| {
        let mut spec = two_flows(goodput);
        spec.flows[1].measured = false;
        spec.flows[1].size = common::MSS * 10_000;
        spec.stop = Stop { time: at(1000), when_measured_end: Some(US * 10) };
        spec
    };
    assert!(run(&spec(None)).end < at(100));
    let outcome = run(&spec(Some(at(200)..at(305))));
    assert_eq!(outcome.end, at(310), "the next look after the second time");
    let packets = outcome.goodput.expect("it was read")[1].get() / common::MSS.get();
    assert!((313..=316).contains(&packets), "{packets} at 100 Gb/s in 105 us");
}

#[test]
fn an_interrupted_run_has_what_it_reached_and_nothing_else() {
    let interrupted = |until| {
        let mut spec = two_flows(Some(at(2)..at(until)));
        spec.flows[1].size = common::MSS * 10_000;
        spec.stop.when_measured_end = Some(US);
        // The first call says that the world stands.
        let mut calls = 0;
        let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| {
            calls += 1;
            calls < 50
        });
        assert!(outcome.interrupted && outcome.end < at(60));
        outcome.goodput
    };
    assert_eq!(interrupted(20), windowed(&two_flows(Some(at(2)..at(20)))).goodput);
    assert_eq!(interrupted(500), None);
}

#[test]
fn it_is_the_sum_of_the_rates_sampled_meanwhile() {
    let mut compared = 0;
    for seed in 0..60 {
        let mut spec = random_spec(seed);
        let interval = spec.flows.iter().map(|flow| flow.start).max().expect("a flow").since(Time::ZERO) / 7;
        if interval < US || spec.stop.when_measured_end.is_some() || !spec.triggers.is_empty() {
            continue;
        }
        common::sample_rates(&mut spec, interval);
        spec.probes.series = farspan_sim::Series::default();
        let [from, until] = [2, 6].map(|n| Time::ZERO + interval * n);
        spec.probes.goodput = Some(from..until);
        let outcome = windowed(&spec);
        if outcome.end < until {
            continue;
        }
        for (id, &bytes) in (0..).map(FlowId).zip(outcome.goodput.as_ref().expect("it was read")) {
            let of_flow = |sample: &&farspan_sim::Sample| {
                let is_its = sample.id == SampleId::Flow(id) && sample.probe == ProbeKind::Rate;
                is_its && sample.at > from && sample.at <= until
            };
            let rates: f64 = outcome.samples.iter().filter(of_flow).map(|sample| sample.value).sum();
            let sampled = rates * interval.as_secs_f64() / 8.0;
            // A rate is a whole number of bits per second.
            assert!((sampled - bytes.as_f64()).abs() < 1.0, "seed {seed}, {id}: {sampled} and {bytes:?}");
            compared += usize::from(!bytes.is_zero());
        }
    }
    assert!(compared >= 50, "{compared}");
}
