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
            // Ports without a backlog add no jitter.
            spec.port_jitter = packet;
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

/// The marking threshold that Gemini's paper gives its ports: 50 packets of 1,500 B for each Gb/s (Table IV).
const GEMINI_K: Bytes = Bytes::new(75_000 * 10);

/// A packet time at 10 Gb/s: jitter that keeps exact clocks from locking drop-tail queues to one flow.
const JITTER: Duration = Duration::from_ps(3_328_000);

#[test]
fn flows_of_equal_rtt_share_a_bottleneck_equally() {
    // 10 Gb/s, 200 us: a BDP of 250 kB, of which UnoCC's and DCTCP's ports mark above a seventh.
    for (name, k) in [("unocc", Bytes::new(36_000)), ("dctcp", Bytes::new(36_000)), ("gemini", GEMINI_K)] {
        let scheme = scheme(control(name), "ecmp");
        let network = star(5, Rate::from_gbps(10), Duration::from_us(48));
        let flows = (0..4).map(|src| flow(src, 4, Bytes::new(60_000_000), Time::ZERO)).collect();
        let mut spec = spec(network, ports(Bytes::new(4 << 20), &[Marker::Step(k)]), &scheme, flows);
        spec.jitter = JITTER;
        sample_rates(&mut spec, Duration::from_ms(4));
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
fn an_overload_keeps_the_link_busy() {
    let scheme = scheme(control("fixed_window"), "ecmp");
    let network = star(9, Rate::from_gbps(100), Duration::from_us(3));
    let flows: Vec<_> = (0..8).map(|src| flow(src, 8, Bytes::new(5_000_000), Time::ZERO)).collect();
    let outcome = run(&spec(network, ports(Bytes::MAX, &[]), &scheme, flows));
    let down = outcome.ports.iter().find(|p| p.name == "tor0->host8#0").expect("the receiver's port");
    let payload_time = Rate::from_gbps(100).transmission(down.sent_bytes);
    // From the first packet's arrival on, the receiver's link never rests; the last ACK ends the run.
    let idle = outcome.end.since(Time::ZERO) - payload_time;
    assert!(idle <= Duration::from_us(13), "{idle} without a packet");
    assert!(outcome.flows.iter().all(|f| f.finish.is_some()));
}

/// Gemini, Theorem 1: with F = 4K / (C RTT + K) the bottleneck's queue never empties once flows are in steady state.
#[test]
fn gemini_s_theorem_1_holds_the_queue_never_empties() {
    for senders in [2, 4, 8] {
        let scheme = scheme(control("gemini"), "ecmp");
        // 10 Gb/s, RTT about 1 ms.
        let network = star(senders + 1, Rate::from_gbps(10), Duration::from_us(245));
        let to = senders as u32;
        let flows =
            (0..to).map(|src| flow(src, to, Bytes::new(600_000_000 / senders as u64), Time::ZERO)).collect();
        let mut spec = spec(network, ports(Bytes::new(8 << 20), &[Marker::Step(GEMINI_K)]), &scheme, flows);
        spec.jitter = JITTER;
        spec.probes.queue_interval = Some(Duration::from_us(20));
        spec.probes.queue_ports = spec.network.port_named(&format!("tor0->host{to}#0")).into_iter().collect();
        let outcome = run(&spec);
        let end = outcome.flows.iter().filter_map(|f| f.delivered).min().expect("they end");
        let steady = Time::ZERO + Duration::from_ms(100);
        let queues: Vec<f64> = outcome
            .samples
            .iter()
            .filter(|s| s.probe == ProbeKind::Queue && s.at > steady && s.at < end)
            .map(|s| s.value)
            .collect();
        let (least, most) = queues.iter().fold((f64::MAX, 0.0_f64), |(a, b), &q| (a.min(q), b.max(q)));
        assert!(queues.len() > 5000, "{senders} senders: {} samples", queues.len());
        assert!(least > 0.0, "{senders} senders: the queue was empty");
        assert!(
            most > GEMINI_K.as_f64() && most < 2.0 * GEMINI_K.as_f64(),
            "{senders} senders: up to {most} B"
        );
    }
}

/// Reported, not gated: how Gemini shares a link between different RTTs. Theorem 2 promises equal shares.
#[test]
fn gemini_s_shares_at_different_rtts_are_reported() {
    let scheme = scheme(control("gemini"), "ecmp");
    let delays = [25, 100, 400, 1].map(Duration::from_us);
    let network = uneven_star(Rate::from_gbps(10), &delays);
    let flows = (0..3).map(|src| flow(src, 3, Bytes::new(200_000_000), Time::ZERO)).collect();
    let mut spec = spec(network, ports(Bytes::new(8 << 20), &[Marker::Step(GEMINI_K)]), &scheme, flows);
    spec.jitter = JITTER;
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
        "Gemini at base RTTs of 59, 209 and 809 us: shares {:.3?}, Jain {:.3}",
        sum.map(|x| x / all),
        jain(&sum)
    );
    assert!((all / sum.len() as f64) > 0.0, "nothing was received");
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
