//! The simulator against closed forms.

use crate::common::*;
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

/// A buffer that nothing fills.
const AMPLE: Bytes = Bytes::new(16 << 20);

#[test]
fn a_lone_flow_with_a_window_of_bdp_and_two_packets_is_ideal() {
    let packet = Rate::from_gbps(100).transmission(MSS + HEADER);
    for (network, src, dst) in [
        (two_sites(4, Duration::from_us(100)), 0, 15),
        (two_sites(4, Duration::from_us(100)), 0, 31),
        (star(2, Rate::from_gbps(100), Duration::from_us(1)), 0, 1),
        (dumbbell(Rate::from_gbps(100)), 0, 7),
        (dual_leaf_spine(Duration::from_us(50)), 0, 3),
        (dual_leaf_spine(Duration::from_us(50)), 0, 7),
        (backbone(8, 4, Duration::from_us(25)), 0, 7),
        (parking_lot(5, Rate::from_gbps(100), Duration::from_us(3)), 1, 11),
    ] {
        for size in [1, 100, 4096, 4097, 1_000_000, 10_000_000] {
            let scheme = scheme(control("fixed_window"), "ecmp");
            let flows = vec![flow(src, dst, Bytes::new(size), Time::ZERO)];
            // Nothing is dropped: buffers only say how long a packet may wait before it counts as lost.
            let mut spec = spec(network.clone(), ports(AMPLE, &[]), &scheme, flows);
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
fn an_empty_parking_lot_and_leaf_spine_take_what_their_links_add_up_to() {
    // Ten packets of 4,160 B over 5 links; the middle three have 40 Gb/s and 5 us: 41.6 ns a byte becomes 0.2 of it.
    let (fast, slow) = (Rate::from_gbps(100), Rate::from_gbps(40));
    let full = MSS + HEADER;
    let cases = [
        (
            parking_lot(3, slow, Duration::from_us(5)),
            (0, 6),
            slow.transmission(full) * (5 + 9) + slow.transmission(HEADER) * 5 + Duration::from_us(2 * 17),
        ),
        (
            // NICs of 100 Gb/s, uplinks of 40, WAN links of 25; every link but the last leads to a switch.
            dual_leaf_spine(Duration::from_us(50)),
            (0, 7),
            [full, HEADER]
                .map(|size| {
                    fast.transmission(size) * 2
                        + slow.transmission(size) * 4
                        + Rate::from_gbps(25).transmission(size)
                })
                .into_iter()
                .sum::<Duration>()
                + Rate::from_gbps(25).transmission(full) * 9
                + (Duration::from_us(6 + 50) + Duration::from_ns(6 * 200)) * 2,
        ),
    ];
    for (network, (src, dst), expected) in cases {
        let scheme = scheme(control("fixed_window"), "ecmp");
        let flows = vec![flow(src, dst, MSS * 10, Time::ZERO)];
        let mut spec = spec(network, ports(AMPLE, &[]), &scheme, flows);
        spec.initial_window = InitialWindow::Bytes(Bytes::new(1_000_000));
        let outcome = run(&spec);
        let fct = outcome.flows[0].finish.map(|finish| finish.since(Time::ZERO));
        assert_eq!((outcome.flows[0].ideal_fct, fct), (expected, Some(expected)));
    }
}

/// The mean goodput of the long flow and of the cross flows of a parking lot, as shares of the links' payload
/// rate, in the second half of the run. Rates and delays as given; each flow has NICs of its own.
fn parking_lot_shares(
    bottlenecks: u32,
    (rate, delay): (Rate, Duration),
    control_name: &str,
    change: impl Fn(&mut farspan_sim::Spec),
) -> (f64, f64) {
    let network = parking_lot(bottlenecks, rate, delay);
    let size = rate.bytes_in(Duration::from_ms(400));
    // Host 0 of the first switch to host 0 of the last; host 1 of each switch to host 0 of the next, the last
    // to host 1.
    let cross = |s: u32| (2 * s + 1, 2 * s + 2 + u32::from(s + 1 == bottlenecks));
    let pairs: Vec<_> = std::iter::once((0, 2 * bottlenecks)).chain((0..bottlenecks).map(cross)).collect();
    let flows = pairs.iter().map(|&(src, dst)| flow(src, dst, size, Time::ZERO)).collect();
    let mut spec = spec(network, ports(AMPLE, &[]), &scheme(control(control_name), "ecmp"), flows);
    spec.stop.time = Time::ZERO + Duration::from_ms(200);
    sample_rates(&mut spec, Duration::from_ms(2));
    change(&mut spec);
    let outcome = farspan_sim::run(&spec, farspan_sim::EngineKind::Windowed, &mut |_| true);
    let full = rate.as_bps() as f64 * MSS.as_f64() / (MSS + HEADER).as_f64();
    let share = |wanted: u32| {
        let late = |s: &&farspan_sim::Sample| {
            s.probe == ProbeKind::Rate
                && s.at > Time::ZERO + Duration::from_ms(100)
                && s.id == SampleId::Flow(FlowId(wanted))
        };
        let rates: Vec<_> = outcome.samples.iter().filter(late).map(|s| s.value / full).collect();
        assert!(rates.len() >= 48, "{} samples", rates.len());
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    (share(0), (1..=bottlenecks).map(share).sum::<f64>() / f64::from(bottlenecks))
}

/// Flows with windows w that never change and queues that never drop settle where w = rate x (base RTT +
/// queueing) for each and every busy link is full (Mo and Walrand, "Fair end-to-end window-based congestion
/// control", 2000, section III): with one queueing time q at each of n equal bottlenecks, w / (D + n q) + w /
/// (d + q) = C.
#[test]
fn fixed_windows_share_a_parking_lot_as_theory_says() {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_us(20));
    for bottlenecks in [1, 2, 3, 5] {
        let window = Bytes::new(400_000);
        let (long, cross) = parking_lot_shares(bottlenecks, (rate, delay), "fixed_window", |spec| {
            spec.initial_window = InitialWindow::Bytes(window);
        });
        let n = f64::from(bottlenecks);
        let store = |links: f64| {
            let packets = (MSS + HEADER * 2).as_f64() * 8.0 / 10e9;
            2.0 * (2e-6 + (links - 2.0) * 20e-6) + links * packets
        };
        // In payload: the window over the payload rate of the link.
        let w = window.as_f64() * 8.0 / (10e9 * MSS.as_f64() / (MSS + HEADER).as_f64());
        let shares = |q: f64| (w / (store(n + 2.0) + n * q), w / (store(3.0) + q));
        // The sum falls as q grows.
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let q = f64::midpoint(low, high);
            let (a, b) = shares(q);
            if a + b > 1.0 { low = q } else { high = q }
        }
        let expected = shares(low);
        println!("{bottlenecks} bottlenecks: {long:.4} and {cross:.4}, in theory {expected:.4?}");
        assert!((long + cross - 1.0).abs() < 0.01, "the links are full: {long} + {cross}");
        assert!((long - expected.0).abs() < 0.02 * expected.0, "{long} and {}", expected.0);
    }
}

/// DCTCP's window settles near 2 / alpha^2 of its share of marked packets (Alizadeh et al., SIGMETRICS'11,
/// section 3). The long flow of n equal bottlenecks sees about n times as many marks: it gets 1 / n^2 of a
/// cross flow's window, over a longer RTT. UnoCC cuts once an epoch, whoever marked: its long flow comes near
/// the max-min share, a half.
#[test]
fn controls_share_a_parking_lot_between_theory_s_bounds() {
    let (rate, delay) = (Rate::from_gbps(10), Duration::from_us(20));
    for bottlenecks in [1, 2, 3] {
        let shares = |name| {
            parking_lot_shares(bottlenecks, (rate, delay), name, |spec| {
                spec.ports = ports(Bytes::new(4 << 20), &[Marker::Step(Bytes::new(60_000))]);
                spec.jitter = JITTER;
            })
        };
        let n = f64::from(bottlenecks);
        let ((long, cross), (uno_long, uno_cross)) = (shares("dctcp"), shares("unocc"));
        println!("{n} bottlenecks: dctcp {long:.3} {cross:.3}, unocc {uno_long:.3} {uno_cross:.3}");
        let theory = (2.0 * 2e-6 + 20e-6) / (2.0 * 2e-6 + n * 20e-6) / (n * n);
        let ratio = long / cross / theory;
        assert!(ratio > 1.0 / 3.0 && ratio < 3.0, "dctcp: {ratio} times what theory gives");
        assert!(long + cross > 0.95, "dctcp fills the links");
        assert!(uno_long > 0.95 / (n + 1.0) && uno_long < 0.52, "unocc: {uno_long} of at most a half");
        assert!(uno_long + uno_cross > 0.95, "unocc fills the links");
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

/// With the threshold of Gemini's Table IV and few senders the bottleneck's queue does not empty once flows are in steady
/// state. This is one point, and an easy one, not Theorem 1, which speaks of every number of senders: its sawtooth is deepest
/// at N = K / h, here about 150 senders. The page on theory has more thresholds, and the worst numbers.
#[test]
fn gemini_keeps_a_queue_at_its_own_threshold_with_few_senders() {
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
