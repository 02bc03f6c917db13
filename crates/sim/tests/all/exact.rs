//! Runs of one spec give equal outcomes, and the counters balance.

use crate::common::*;
use farspan_fabric::Marker;
use farspan_sim::{EngineKind, InitialWindow, Outcome, Spec};
use farspan_transport::WindowCheck;
use farspan_transport::recovery::{RecoveryPolicy, Rto};
use farspan_units::{Bytes, Duration, Purpose, Random, Rate, Time};
use proptest::prelude::*;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Random traffic over two small sites, with losses.
fn busy(seed: u64, balance: &str, control_name: &str) -> Spec {
    let mut random = Random::new(seed, Purpose::Test, 0);
    let flows = (0..60)
        .map(|_| {
            let src = random.below(32) as u32;
            let dst = (src + 1 + random.below(31) as u32) % 32;
            flow(src, dst, Bytes::new(1 + random.below(400_000)), Time::from_ps(random.below(100_000_000)))
        })
        .collect();
    let red = Marker::Step(Bytes::new(40_000));
    // Every kind of loss detection and of window check is used.
    let mut chosen = (*scheme(control(control_name), balance)).clone();
    let min = Duration::from_us(1);
    chosen.recovery.rto = [
        Rto::Path,
        Rto::Rfc6298 { initial: Duration::from_us(500), variance_floor: min, min },
        Rto::Fixed(Duration::from_us(300)),
    ][seed as usize % 3];
    chosen.recovery.backoff = seed.is_multiple_of(2);
    chosen.recovery.policy = [RecoveryPolicy::PerPacketRto, RecoveryPolicy::Rack][seed as usize / 3 % 2];
    chosen.window_check = [WindowCheck::Below, WindowCheck::Fits][seed as usize / 6 % 2];
    let network = two_sites(4, Duration::from_us(60));
    let mut spec = spec(network, ports(Bytes::new(60_000), &[red]), &Arc::new(chosen), flows);
    spec.jitter = Duration::from_ps(332_800);
    spec.port_jitter = spec.jitter;
    spec.seed = seed;
    spec
}

#[test]
fn every_flow_ends_everything_is_conserved_and_the_network_is_empty() {
    for name in ["unocc", "gemini", "dctcp", "fixed_window"] {
        for balance in ["ecmp", "rps", "unolb"] {
            let outcome = run(&busy(3, balance, name));
            let totals = outcome.totals;
            assert!(totals.conserved() && totals.in_network.packets == 0, "{name}+{balance}: {totals:?}");
            for flow in &outcome.flows {
                assert!(flow.finish.is_some() && flow.delivered <= flow.finish, "{name}+{balance}: {flow:?}");
                assert!(
                    flow.finish.is_some_and(|t| t.since(flow.start) >= flow.ideal_fct),
                    "{name}: {flow:?}"
                );
                assert_eq!(flow.sender.sent_bytes - flow.sender.retransmitted_bytes, flow.size);
            }
            let lost: u64 = outcome.flows.iter().map(|f| f.dropped_packets).sum();
            assert_eq!(lost, totals.dropped.packets, "only data is dropped, and each drop is some flow's");
            assert_eq!(
                outcome.flows.iter().map(|f| f.receiver.marked_packets).sum::<u64>(),
                totals.ecn_marked
            );
        }
    }
}

#[test]
fn the_eighth_of_a_bdp_is_an_eighth_of_each_flow_s_own() {
    let outcome = |src: u32, size: Bytes, start| {
        let flows = vec![flow(src, 31, size, Time::ZERO)];
        let scheme = scheme(control("fixed_window"), "ecmp");
        let mut spec = spec(two_sites(4, Duration::from_us(60)), ports(Bytes::MAX, &[]), &scheme, flows);
        spec.initial_window = start;
        run(&spec)
    };
    let eight = NonZeroU32::new(8).expect("not zero");
    for src in [0, 30] {
        let base_rtt = outcome(src, MSS, InitialWindow::Iw10).flows[0].ideal_fct;
        let bdp = Rate::from_gbps(100).bytes_in(base_rtt);
        let digest = |start| outcome(src, Bytes::new(4_000_000), start).digest;
        assert_eq!(digest(InitialWindow::BdpOver(eight)), digest(InitialWindow::Bytes(bdp / 8)));
        assert_ne!(digest(InitialWindow::BdpOver(eight)), digest(InitialWindow::Bdp));
    }
}

#[test]
fn drops_do_happen_in_these_worlds() {
    assert!(run(&busy(3, "ecmp", "fixed_window")).totals.dropped.packets > 100);
}

#[test]
fn a_repeated_run_is_equal_in_every_field_and_another_seed_is_not() {
    let (a, b, c) =
        (run(&busy(5, "unolb", "unocc")), run(&busy(5, "unolb", "unocc")), run(&busy(6, "unolb", "unocc")));
    assert_eq!(a, b);
    assert_ne!(fingerprint(&a), fingerprint(&c));
}

#[test]
fn seeds_pair_schemes_the_workload_and_the_hashes_stay() {
    let (a, b) = (busy(5, "ecmp", "unocc"), busy(5, "ecmp", "gemini"));
    assert_eq!(a.flows, b.flows);
    let fields = |o: &Outcome| {
        o.flows.iter().map(|f| (f.src, f.dst, f.size, f.start, f.ideal_fct)).collect::<Vec<_>>()
    };
    assert_eq!(fields(&run(&a)), fields(&run(&b)));
}

#[test]
fn simulations_side_by_side_do_not_see_each_other() {
    let mut long = busy(7, "rps", "unocc");
    long.flows.iter_mut().for_each(|flow| flow.size = Bytes::new(1_000_000));
    let alone = (run(&long), run(&busy(8, "unolb", "gemini")));
    let mut inner = None;
    let outer = farspan_sim::run(&long, EngineKind::Windowed, &mut |_| {
        inner.get_or_insert_with(|| run(&busy(8, "unolb", "gemini")));
        true
    });
    let threads = std::thread::scope(|scope| {
        let a = scope.spawn(|| run(&long));
        let b = scope.spawn(|| run(&busy(8, "unolb", "gemini")));
        (a.join().expect("no panic"), b.join().expect("no panic"))
    });
    assert_eq!(outer, alone.0);
    assert_eq!(threads, alone);
    assert_eq!(inner.expect("the outer run is long enough to be looked at"), alone.1);
}

#[test]
fn links_without_delay_run_under_every_engine() {
    let mut spec = busy(5, "rps", "unocc");
    spec.network.links.iter_mut().for_each(|link| link.delay = Duration::ZERO);
    spec.jitter = Duration::ZERO;
    assert!(run(&spec).flows.iter().all(|flow| flow.finish.is_some()));
}

#[test]
fn more_links_than_a_window_can_number_run_under_every_engine() {
    let network = star(2100, Rate::from_gbps(100), Duration::from_us(1));
    let flows = (1..2100).map(|src| flow(src, 0, Bytes::new(100), Time::ZERO)).collect();
    let spec = spec(network, ports(Bytes::MAX, &[]), &scheme(control("fixed_window"), "ecmp"), flows);
    assert!(run(&spec).flows.iter().all(|flow| flow.finish.is_some()));
}

#[test]
fn probes_read_and_never_write() {
    let off = busy(9, "unolb", "unocc");
    let mut on = off.clone();
    sample_rates(&mut on, Duration::from_us(10));
    on.probes.queue_interval = Some(Duration::from_us(7));
    on.probes.queue_ports = (0..on.network.links.len() as u32).skip(40).map(farspan_units::PortId).collect();
    let (off, on) = (run(&off), run(&on));
    assert!(on.samples.len() > 1000 && off.samples.is_empty());
    assert_eq!((fingerprint(&off), off.end), (fingerprint(&on), on.end));
}

#[test]
fn a_run_stops_exactly_at_its_time_with_the_rest_in_the_network() {
    let mut spec = busy(4, "rps", "unocc");
    spec.stop.time = Time::from_ps(60_000_000);
    let outcome = run(&spec);
    assert_eq!(outcome.end, spec.stop.time);
    assert!(outcome.totals.conserved() && outcome.totals.in_network.packets > 0);
    let dropped: u64 = outcome.flows.iter().map(|f| f.dropped_packets).sum();
    assert_eq!(dropped, outcome.totals.dropped.packets, "packets under way are not lost");
    assert!(outcome.flows.iter().any(|f| f.finish.is_none()));
    assert!(outcome.flows.iter().filter_map(|f| f.finish).all(|t| t < spec.stop.time));
}

#[test]
fn time_outs_that_no_longer_matter_do_not_make_a_run_longer() {
    let mut spec = busy(2, "rps", "unocc");
    let end = run(&spec).end;
    for late in [Duration::from_ps(1), Duration::from_us(250)] {
        spec.stop.time = end + late;
        assert_eq!(run(&spec).end, end);
        spec.stop.when_measured_end = Some(Duration::from_ps(end.as_ps() + 1));
        assert_eq!(run(&spec).end, end);
    }
}

#[test]
fn a_run_can_end_when_the_measured_flows_have_while_others_go_on() {
    let mut spec = busy(4, "rps", "unocc");
    spec.flows.iter_mut().skip(20).for_each(|flow| flow.measured = false);
    let period = Duration::from_us(10);
    let all = run(&spec);
    spec.stop.when_measured_end = Some(period);
    let outcome = run(&spec);
    let last = outcome.flows[..20].iter().filter_map(|f| f.finish).max().expect("measured flows end");
    assert!(outcome.flows[..20].iter().all(|f| f.finish.is_some()));
    assert_eq!(outcome.end.as_ps() % period.as_ps(), 0);
    assert!(outcome.end >= last && outcome.end.since(last) <= period);
    assert_eq!(outcome.flows[..20], all.flows[..20], "the end changes nothing before it");
}

#[test]
fn an_interrupted_run_gives_what_it_has() {
    let mut spec = busy(4, "rps", "unocc");
    spec.flows.iter_mut().for_each(|flow| flow.size = Bytes::new(4_000_000));
    let outcome = farspan_sim::run(&spec, EngineKind::Oracle, &mut |_| false);
    assert!(outcome.interrupted && outcome.totals.conserved());
    assert!(outcome.flows.iter().any(|f| f.finish.is_none()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_small_world_ends_conserved(
        seed in any::<u64>(),
        buffer in 8_000_u64..200_000,
        control_index in 0_usize..4,
        balance_index in 0_usize..3,
        priority in any::<bool>(),
    ) {
        let name = ["unocc", "gemini", "dctcp", "fixed_window"][control_index];
        let mut spec = busy(seed, ["ecmp", "rps", "unolb"][balance_index], name);
        spec.ports = ports(Bytes::new(buffer), &[Marker::Step(Bytes::new(buffer / 2))]);
        spec.ports.0.iter_mut().for_each(|port| port.control_priority = priority);
        spec.stop.time = Time::ZERO + Duration::from_ms(500);
        let outcome = run(&spec);
        prop_assert!(outcome.totals.conserved());
        prop_assert!(outcome.flows.iter().all(|f| f.finish.is_some()), "{} flows left", outcome.flows.iter().filter(|f| f.finish.is_none()).count());
        prop_assert!(outcome.totals.in_network.packets == 0);
    }
}
