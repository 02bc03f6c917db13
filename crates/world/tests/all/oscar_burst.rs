//! How soon a long flow has its link back when a burst of short flows ends (OSCAR, figures 2 and 7).

use farspan_scenario::Request;
use farspan_sim::{ProbeKind, SampleId, Spec};
use farspan_units::{Duration, FlowId, Time};
use farspan_world::{EngineKind, World};

const LONG: SampleId = SampleId::Flow(FlowId(0));

/// The spec of `oscar/microburst` with so many short flows, which start at 500 us and have more to send than they can.
fn burst(scheme: &str, profile: &str, shorts: u32, seed: u64, more: &[String]) -> Spec {
    let senders: Vec<_> = (1..=shorts).map(|host| host.to_string()).collect();
    let mut set = vec![
        format!("workload[1].senders=[{}]", senders.join(", ")),
        "workload[1].flow_size=1GB".to_owned(),
        "probes.rate_interval=1us".to_owned(),
        "probes.queue_interval=off".to_owned(),
    ];
    set.extend_from_slice(more);
    let (scheme, profile) = (Some(scheme.to_owned()), Some(profile.to_owned()));
    let request = Request { scheme, profile, set, seed: Some(seed), ..Request::new("oscar/microburst") };
    World::build(&request.resolve().unwrap()).unwrap().spec
}

/// How long after the short flows have sent their last byte the long one has nine tenths of its old window, for a round trip
/// at least; infinite if it has not within `limit`.
///
/// The short flows stop at one instant: a first run says what each has sent by then, which is its size in a second one. A
/// control never hears of sizes, so that the two runs are the same up to there.
fn reconvergence(mut spec: Spec, end: Time, limit: Duration) -> f64 {
    let run = |spec: &Spec| farspan_sim::run(spec, EngineKind::Windowed, &mut |_| true);
    spec.stop.time = end;
    let sent: Vec<_> = run(&spec).flows.iter().map(|flow| flow.sender.sent_bytes).collect();
    for (flow, sent) in spec.flows.iter_mut().zip(sent).skip(1) {
        flow.size = sent;
    }
    spec.stop.time = end + limit;
    let outcome = run(&spec);
    let windows =
        outcome.samples.iter().filter(|sample| sample.probe == ProbeKind::Cwnd && sample.id == LONG);
    let windows: Vec<_> = windows.map(|sample| (sample.at, sample.value)).collect();
    let us = |us| Time::ZERO + Duration::from_us(us);
    let old: Vec<_> =
        windows.iter().filter(|(at, _)| *at > us(350) && *at < us(499)).map(|pair| pair.1).collect();
    let enough = 0.9 * old.iter().sum::<f64>() / old.len() as f64;
    let back =
        windows.windows(12).find(|run| run[0].0 > end && run.iter().all(|(_, window)| *window >= enough));
    back.map_or(f64::INFINITY, |run| run[0].0.since(end).as_secs_f64() * 1e6)
}

#[test]
fn the_estimates_of_hpcc_timely_and_oscar_are_sampled() {
    for (scheme, least, most) in [("hpcc", 6.0, 10.5), ("timely", 0.8, 1.3), ("oscar", 1.0, 9.5)] {
        let mut spec = burst(scheme, "paper", 9, 1, &[]);
        spec.stop.time = Time::ZERO + Duration::from_us(560);
        let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
        let signals =
            outcome.samples.iter().filter(|sample| sample.probe == ProbeKind::Signal && sample.id == LONG);
        let largest = signals.map(|sample| sample.value).fold(f64::NEG_INFINITY, f64::max);
        assert!((least..=most).contains(&largest), "{scheme}: {largest}");
    }
    let mut spec = burst("swift", "paper", 9, 1, &[]);
    spec.stop.time = Time::ZERO + Duration::from_us(560);
    let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
    assert!(
        outcome.samples.iter().all(|sample| sample.probe != ProbeKind::Signal),
        "it keeps no such number"
    );
}

/// The times over ends that lie within a base round trip of 12 us, the shortest first.
fn over_ends(scheme: &str, profile: &str, shorts: u32) -> Vec<f64> {
    let at = |k: u64| Time::ZERO + Duration::from_us(1500) + Duration::from_ns(1200) * k;
    let mut times: Vec<_> = (0..10)
        .map(|k| reconvergence(burst(scheme, profile, shorts, k + 1, &[]), at(k), Duration::from_ms(1)))
        .collect();
    times.sort_by(f64::total_cmp);
    let share = times.iter().filter(|time| **time <= 45.0).count() as f64 / times.len() as f64;
    println!("{scheme} {profile}, {shorts}: {times:.0?} us, {share:.1} within 45 us");
    times
}

#[test]
fn hpcc_takes_the_link_back_after_its_round_trips_of_adding() {
    for shorts in [1, 3, 9, 19] {
        let times = over_ends("hpcc", "paper", shorts);
        let median = (times[4] + times[5]) / 2.0;
        assert!((50.0..=110.0).contains(&median), "{shorts}: {median} us");
    }
}

#[test]
fn oscar_takes_it_back_in_two_round_trips_where_a_batch_lies_in_the_queue_s_drain() {
    for profile in ["paper", "artifact"] {
        for shorts in [1, 3, 9] {
            let times = over_ends("oscar", profile, shorts);
            assert!(times[0] <= 35.0, "{profile}, {shorts}: the fastest tenth takes {} us", times[0]);
        }
    }
}

/// How often a control moves towards its target before it is there grows with the distance as a power of it: the slope of a line
/// through logarithms. With additive steps of as many bit/s everywhere, the distance grows with the rate of the links.
fn slope(scheme: &str, rates: &[f64], steps: &[(&str, f64)], more: &[&str], limit: Duration) -> f64 {
    let time = |gbps: f64| {
        let mut set = vec![
            format!("topology.link_rate={gbps}Gbps"),
            format!("transport.start={}B", 1440.0 * gbps),
            "workload[0].flow_size=8GB".to_owned(),
        ];
        let at_this_rate =
            |(key, value): &(&str, f64)| format!("scheme.intra.congestion.{key}={}", value * 100.0 / gbps);
        set.extend(steps.iter().map(at_this_rate).chain(more.iter().map(|set| (*set).to_owned())));
        let end = |k: u64| Time::ZERO + Duration::from_us(1500) + Duration::from_ns(2400) * k;
        let times = (0..5).map(|k| reconvergence(burst(scheme, "paper", 9, k + 1, &set), end(k), limit));
        let mut times: Vec<_> = times.collect();
        times.sort_by(f64::total_cmp);
        println!("{scheme}, {gbps} Gb/s: {times:.0?} us");
        times[2]
    };
    let points: Vec<_> = rates.iter().map(|gbps| (gbps.ln(), time(*gbps).ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let slope = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum::<f64>()
        / points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum::<f64>();
    println!("{scheme}: slope {slope:.2}");
    slope
}

#[test]
fn updates_after_the_burst_grow_with_the_rate_of_links_only_where_control_is_additive() {
    const RATES: [f64; 5] = [25.0, 50.0, 100.0, 200.0, 400.0];
    let hpcc = slope("hpcc", &RATES, &[("additive", 0.0005)], &[], Duration::from_ms(1));
    assert!(hpcc.abs() <= 0.3, "HPCC: {hpcc}");
    let oscar = slope("oscar", &RATES, &[("additive_increase", 0.001)], &[], Duration::from_ms(5));
    assert!(oscar.is_finite(), "OSCAR: {oscar}");
    let steps = [("additive", 0.001), ("hyper", 0.01)];
    let dcqcn = slope("dcqcn", &RATES, &steps, &[], Duration::from_ms(60));
    // Hyper increase, which grows with each step, is quadratic in time; without the byte counter there is none.
    let timer = ["scheme.intra.congestion.byte_counter=1GB"];
    let alone = slope("dcqcn", &RATES[..3], &steps, &timer, Duration::from_ms(60));
    assert!((0.2..0.5).contains(&dcqcn) && alone >= 0.7, "DCQCN: {dcqcn}, and by its timer alone {alone}");
}
