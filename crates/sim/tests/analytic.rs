//! The simulator against closed forms.

mod common;

use common::*;
use farspan_fabric::Marker;
use farspan_sim::{InitialWindow, Outcome, ProbeKind, SampleId};
use farspan_units::{Bytes, Duration, FlowId, PortId, Rate, Time};
use std::collections::BTreeMap;

/// Rates by sample time.
fn rates(outcome: &Outcome) -> BTreeMap<Time, Vec<f64>> {
    let mut rates: BTreeMap<Time, Vec<f64>> = BTreeMap::new();
    for sample in outcome.samples.iter().filter(|s| s.probe == ProbeKind::Rate) {
        rates.entry(sample.at).or_default().push(sample.value);
    }
    rates
}

fn jain(x: &[f64]) -> f64 {
    x.iter().sum::<f64>().powi(2) / (x.len() as f64 * x.iter().map(|x| x * x).sum::<f64>())
}

#[test]
fn a_lone_flow_with_a_window_of_bdp_and_two_packets_is_ideal() {
    let packet = Rate::from_gbps(100).transmission(MSS + HEADER);
    for (network, src, dst) in [
        (two_sites(4, Duration::from_us(100)), 0, 15),
        (two_sites(4, Duration::from_us(100)), 0, 31),
        (star(2, Rate::from_gbps(100), Duration::from_us(1)), 0, 1),
        (dumbbell(Rate::from_gbps(100)), 0, 7),
    ] {
        for size in [1, 100, 4096, 4097, 1_000_000, 10_000_000] {
            let scheme = scheme(control("fixed_window"), "ecmp");
            let flows = vec![flow(src, dst, Bytes::new(size), Time::ZERO)];
            let mut spec = spec(network.clone(), ports(Bytes::MAX, &[]), &scheme, flows);
            // Above the largest BDP of these networks: a larger window cannot hurt a lone flow, a smaller one would.
            spec.initial_window = InitialWindow::Bytes(Bytes::new(3_000_000));
            let outcome = run(&spec);
            let fct = outcome.flows[0].finish.expect("it ends").since(Time::ZERO);
            let ideal = outcome.flows[0].ideal_fct;
            assert!(
                fct >= ideal && fct <= ideal + packet,
                "{size} B from {src} to {dst}: {fct} against {ideal}"
            );
        }
    }
}

#[test]
fn the_window_that_fills_the_path_is_the_bdp_and_two_packets() {
    let packet = Rate::from_gbps(100).transmission(MSS + HEADER);
    let fct = |cwnd: u64| {
        let scheme = scheme(control("fixed_window"), "ecmp");
        let flows = vec![flow(0, 15, Bytes::new(20_000_000), Time::ZERO)];
        let network = two_sites(4, Duration::from_us(100));
        let mut spec = spec(network, ports(Bytes::MAX, &[]), &scheme, flows);
        spec.initial_window = InitialWindow::Bytes(Bytes::new(cwnd));
        let outcome = run(&spec);
        (outcome.flows[0].finish.expect("it ends").since(Time::ZERO), outcome.flows[0].ideal_fct)
    };
    let bdp = 175_344;
    let (full, ideal) = fct(bdp + 2 * 4096);
    assert!(full <= ideal + packet, "{full} against {ideal}");
    let (starved, _) = fct(bdp / 2);
    assert!(starved.as_secs_f64() > 1.9 * ideal.as_secs_f64(), "half the window, half the rate: {starved}");
}

#[test]
fn flows_of_equal_rtt_share_a_bottleneck_equally() {
    for name in ["unocc", "gemini", "dctcp"] {
        let scheme = scheme(control(name), "ecmp");
        let size = Bytes::new(60_000_000);
        let network = star(5, Rate::from_gbps(100), Duration::from_us(3));
        let flows = (0..4).map(|src| flow(src, 4, size, Time::ZERO)).collect();
        let mut spec =
            spec(network, ports(Bytes::new(1 << 20), &[Marker::Step(Bytes::new(25_000))]), &scheme, flows);
        spec.jitter = Duration::from_ps(332_800);
        sample_rates(&mut spec, Duration::from_us(500));
        let outcome = run(&spec);
        let end = outcome.flows.iter().filter_map(|f| f.delivered).min().expect("they end");
        let late: Vec<f64> = rates(&outcome)
            .iter()
            .filter(|(t, x)| t.as_ps() > end.as_ps() / 2 && **t < end && x.len() == 4)
            .map(|(_, x)| jain(x))
            .collect();
        assert!(late.len() >= 10, "{name}: {} samples", late.len());
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        assert!(mean >= 0.98, "{name}: Jain's index {mean:.4} over the second half");
    }
}

#[test]
fn an_overload_is_shared_to_the_last_bit_of_the_link() {
    let scheme = scheme(control("unocc"), "ecmp");
    let network = star(9, Rate::from_gbps(100), Duration::from_us(3));
    let flows: Vec<_> = (0..8).map(|src| flow(src, 8, Bytes::new(20_000_000), Time::ZERO)).collect();
    let spec =
        spec(network, ports(Bytes::new(1 << 20), &[Marker::Step(Bytes::new(100_000))]), &scheme, flows);
    let outcome = run(&spec);
    let down = outcome.ports.iter().find(|p| p.name == "tor0->host8#0").expect("the receiver's port");
    assert!(down.utilization > 0.97, "{}", down.utilization);
    assert!(outcome.flows.iter().all(|f| f.finish.is_some()));
}

/// Gemini, Theorem 1: with F = 4K / (C RTT + K) the bottleneck's queue never empties once flows are in steady state.
#[test]
fn gemini_s_theorem_1_holds_the_queue_never_empties() {
    let scheme = scheme(control("gemini"), "ecmp");
    // 10 Gb/s, RTT about 100 us, K = C RTT / 7.
    let network = star(4, Rate::from_gbps(10), Duration::from_us(23));
    let k = Bytes::new(18_000);
    let flows = (0..3).map(|src| flow(src, 3, Bytes::new(60_000_000), Time::ZERO)).collect();
    let mut spec = spec(network, ports(Bytes::new(4 << 20), &[Marker::Step(k)]), &scheme, flows);
    spec.jitter = Duration::from_ps(3_328_000);
    spec.probes.queue_interval = Some(Duration::from_us(10));
    let down = spec.network.port_named("tor0->host3#0").expect("the receiver's port");
    spec.probes.queue_ports = vec![down];
    let outcome = run(&spec);
    let end = outcome.flows.iter().filter_map(|f| f.delivered).min().expect("they end");
    let steady = Time::ZERO + Duration::from_ms(30);
    let queues: Vec<f64> = outcome
        .samples
        .iter()
        .filter(|s| s.probe == ProbeKind::Queue && s.at > steady && s.at < end)
        .map(|s| s.value)
        .collect();
    let empty = queues.iter().filter(|&&q| q == 0.0).count();
    assert!(queues.len() > 5000, "{} samples", queues.len());
    assert_eq!(empty, 0, "the queue was empty in {empty} of {} samples", queues.len());
}

/// Reported, not gated: how Gemini shares a link between RTTs of 1 : 4 : 16. Theorem 2 promises equal shares.
#[test]
fn gemini_s_shares_at_different_rtts_are_reported() {
    let scheme = scheme(control("gemini"), "ecmp");
    let delays = [25, 100, 400, 1].map(Duration::from_us);
    let network = uneven_star(Rate::from_gbps(10), &delays);
    let flows = (0..3).map(|src| flow(src, 3, Bytes::new(80_000_000), Time::ZERO)).collect();
    let mut spec =
        spec(network, ports(Bytes::new(4 << 20), &[Marker::Step(Bytes::new(18_000))]), &scheme, flows);
    spec.jitter = Duration::from_ps(3_328_000);
    sample_rates(&mut spec, Duration::from_ms(4));
    let outcome = run(&spec);
    let end = outcome.flows.iter().filter_map(|f| f.delivered).min().expect("they end");
    let mut sum = [0.0; 3];
    for s in outcome.samples.iter().filter(|s| s.probe == ProbeKind::Rate && s.at < end) {
        if let SampleId::Flow(FlowId(flow)) = s.id {
            sum[flow as usize] += s.value;
        }
    }
    let all: f64 = sum.iter().sum();
    println!(
        "Gemini at base RTTs of 52, 202 and 802 us: shares {:.3?}, Jain {:.3}",
        sum.map(|x| x / all),
        jain(&sum)
    );
    assert!(all > 0.0);
}

#[test]
fn a_port_is_as_busy_as_the_bytes_it_sent() {
    let scheme = scheme(control("unocc"), "rps");
    let flows =
        vec![flow(0, 15, Bytes::new(5_000_000), Time::ZERO), flow(3, 15, Bytes::new(5_000_000), Time::ZERO)];
    let spec = spec(two_sites(4, Duration::from_us(50)), ports(Bytes::new(1 << 20), &[]), &scheme, flows);
    let outcome = run(&spec);
    for (id, port) in outcome.ports.iter().enumerate() {
        let rate = spec.network.links[PortId(id as u32).index()].rate;
        let busy = rate.transmission(port.sent_bytes).as_secs_f64() / outcome.end.as_secs_f64();
        assert!((busy - port.utilization).abs() < 1e-6, "{}: {busy} against {}", port.name, port.utilization);
    }
}
