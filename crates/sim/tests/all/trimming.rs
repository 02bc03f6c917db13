//! Networks whose ports trim: nothing is lost in them, nobody waits for a time-out, and every engine agrees.

use crate::common::*;
use farspan_fabric::{Marker, Overflow, PortConfig, Trim, Victim};
use farspan_sim::{ByTier, Outcome, Spec};
use farspan_trace::{FlowEvent, PacketEvent, Reason, Remark, What};
use farspan_units::{Bytes, Duration, FlowId, PortId, Purpose, Random, Rate, Time};
use proptest::prelude::*;
use std::num::NonZeroU32;

const BUFFER: Bytes = Bytes::new(60_000);

/// Ports that trim, and mark above 40,000 B.
fn trimming(victim: Victim, headers: Bytes) -> ByTier {
    let mut ports = ports(BUFFER, &[Marker::Step(Bytes::new(40_000))]);
    for config in &mut ports.0 {
        config.overflow = Overflow::Trim(Trim {
            header: HEADER,
            victim,
            headers,
            at_last_hop: false,
            weight: None,
            returns: false,
        });
    }
    ports
}

/// Twelve hosts of two sites send to one at once, each with a window of a bandwidth-delay product.
fn incast(control_name: &str, balance: &str, ports: ByTier) -> Spec {
    let network = two_sites(4, Duration::from_us(60));
    let senders = [0, 1, 2, 3, 8, 9, 12, 16, 17, 21, 25, 31];
    let flows = senders.map(|src| flow(src, 6, Bytes::new(500_000), Time::ZERO)).to_vec();
    let mut spec = spec(network, ports, &scheme(control(control_name), balance), flows);
    (spec.jitter, spec.port_jitter) = (Duration::from_ps(332_800), Duration::from_ps(332_800));
    spec
}

/// Checks the counters of a run that came to its end.
fn check_books(outcome: &Outcome) {
    let totals = outcome.totals;
    assert!(totals.conserved() && totals.in_network.packets == 0, "{totals:?}");
    let sum = |of: fn(&farspan_sim::FlowOutcome) -> u64| outcome.flows.iter().map(of).sum::<u64>();
    let headers = sum(|f| f.receiver.trimmed_packets + f.returned_packets);
    assert_eq!(headers, totals.trimmed_delivered.packets);
    assert_eq!(sum(|f| f.dropped_packets), totals.dropped.packets, "only data packets are dropped");
    assert_eq!(
        (totals.headers_dropped, totals.control_dropped),
        (totals.trimmed - totals.trimmed_delivered.packets, 0)
    );
    assert_eq!(outcome.ports.iter().map(|port| port.trimmed_packets).sum::<u64>(), totals.trimmed);
    for flow in &outcome.flows {
        // A NACK for each header, and none is lost; but a packet that has timed out and come again may end its flow before its NACK.
        let (nacks, headers) = (flow.sender.nacks, flow.receiver.trimmed_packets);
        assert!(nacks == headers || (flow.sender.timeouts > 0 && nacks < headers), "{flow:?}");
        let known = flow.receiver.arrived_packets + flow.receiver.trimmed_packets + flow.dropped_packets;
        assert_eq!(flow.sender.sent_packets, known + flow.returned_packets, "{flow:?}");
        assert_eq!(flow.sender.sent_bytes - flow.sender.retransmitted_bytes, flow.size);
        assert!(flow.finish.is_some() && flow.delivered <= flow.finish, "{flow:?}");
    }
}

#[test]
fn an_incast_over_ports_that_trim_drops_nothing_and_nobody_times_out() {
    for victim in [Victim::Arriving, Victim::Coin] {
        for (control, balance) in
            [("unocc", "unolb"), ("gemini", "ecmp"), ("dctcp", "rps"), ("fixed_window", "ecmp")]
        {
            let outcome = run(&incast(control, balance, trimming(victim, Bytes::MAX)));
            check_books(&outcome);
            let totals = outcome.totals;
            assert!(totals.trimmed > 100, "{control}: {}", totals.trimmed);
            assert_eq!((totals.dropped.packets, totals.trimmed_delivered.packets), (0, totals.trimmed));
            assert_eq!(totals.trimmed_delivered.bytes, HEADER * totals.trimmed);
            for flow in &outcome.flows {
                assert_eq!(flow.sender.timeouts, 0, "{control}: {flow:?}");
                assert_eq!(flow.receiver.arrived_packets, flow.size.segments(MSS), "each segment once");
                assert_eq!(flow.sender.sent_packets, flow.receiver.arrived_packets + flow.sender.nacks);
            }
        }
    }
}

#[test]
fn without_trimming_the_same_incast_drops_and_waits_for_time_outs() {
    let dropping = run(&incast("fixed_window", "ecmp", ports(BUFFER, &[])));
    let trimming = run(&incast("fixed_window", "ecmp", trimming(Victim::Coin, Bytes::MAX)));
    let timeouts = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.sender.timeouts).sum::<u64>();
    assert!(dropping.totals.dropped.packets > 100 && timeouts(&dropping) > 100);
    assert_eq!((dropping.totals.trimmed, timeouts(&trimming)), (0, 0));
    assert!(trimming.end < dropping.end, "{} against {}", trimming.end, dropping.end);
}

#[test]
fn headers_beyond_their_limit_are_dropped_and_time_outs_make_up_for_them() {
    let outcome = run(&incast("fixed_window", "ecmp", trimming(Victim::Coin, HEADER)));
    check_books(&outcome);
    assert!(outcome.totals.dropped.packets > 0 && outcome.totals.trimmed > 0, "{:?}", outcome.totals);
    assert!(outcome.flows.iter().any(|flow| flow.sender.timeouts > 0));
}

#[test]
fn headers_beyond_their_limit_go_back_and_nobody_waits_for_a_time_out() {
    let mut ports = trimming(Victim::Coin, HEADER);
    ports.0.iter_mut().for_each(return_headers);
    let mut spec = incast("fixed_window", "ecmp", ports);
    spec.trace.ports = (0..spec.network.links.len() as u32).map(PortId).collect();
    spec.trace.flows = (0..spec.flows.len() as u32).map(FlowId).collect();
    let outcome = run(&spec);
    check_books(&outcome);
    let returned: u64 = outcome.flows.iter().map(|flow| flow.returned_packets).sum();
    let timeouts: u64 = outcome.flows.iter().map(|flow| flow.sender.timeouts).sum();
    assert!(returned > 0);
    let dropped = outcome.totals.dropped.packets;
    assert_eq!(timeouts, dropped, "a header that is dropped was on its way back");
    let at_ports = |event: &&PacketEvent| event.remarks.contains(&Remark::Returned);
    assert_eq!(outcome.trace.packets.iter().filter(at_ports).count() as u64, returned + dropped);
    let at_senders = |event: &&FlowEvent| matches!(event.what, What::Lost { reason: Reason::Returned, .. });
    assert_eq!(outcome.trace.flows.iter().filter(at_senders).count() as u64, returned);
}

#[test]
fn what_is_under_way_at_the_end_is_counted_trimmed_or_not() {
    let mut spec = incast("fixed_window", "rps", trimming(Victim::Coin, Bytes::MAX));
    let mut trimmed_under_way = false;
    for us in [10, 20, 40, 80, 160] {
        spec.stop.time = Time::ZERO + Duration::from_us(us);
        let totals = run(&spec).totals;
        assert!(totals.conserved() && totals.in_network.packets > 0, "{totals:?}");
        trimmed_under_way |= totals.trimmed > totals.trimmed_delivered.packets;
    }
    assert!(trimmed_under_way, "some header was on its way at one of these times");
}

#[test]
fn a_port_that_trims_but_is_never_full_changes_nothing() {
    let flows =
        vec![flow(0, 1, Bytes::new(300_000), Time::ZERO), flow(2, 1, Bytes::new(300_000), Time::ZERO)];
    let network = || star(3, Rate::from_gbps(100), Duration::from_us(1));
    let large = |mut ports: ByTier| {
        ports.0.iter_mut().for_each(|config| config.buffer = Bytes::new(1 << 30));
        ports
    };
    let scheme = scheme(control("dctcp"), "ecmp");
    let mark = Marker::Step(Bytes::new(40_000));
    let dropping = run(&spec(network(), large(ports(BUFFER, &[mark])), &scheme, flows.clone()));
    let trimming = run(&spec(network(), large(trimming(Victim::Coin, Bytes::MAX)), &scheme, flows));
    assert_eq!(dropping, trimming);
}

/// Random traffic over two small sites with small buffers.
fn busy(seed: u64, control_name: &str, balance: &str, ports: ByTier) -> Spec {
    let mut random = Random::new(seed, Purpose::Test, 7);
    let flows = (0..40)
        .map(|_| {
            let (src, dst) = (random.below(32) as u32, random.below(4) as u32 * 7);
            let dst = if src == dst { (dst + 1) % 32 } else { dst };
            flow(src, dst, Bytes::new(1 + random.below(300_000)), Time::from_ps(random.below(50_000_000)))
        })
        .collect();
    let scheme = scheme(control(control_name), balance);
    let mut spec = spec(two_sites(4, Duration::from_us(30)), ports, &scheme, flows);
    (spec.jitter, spec.port_jitter) =
        (Duration::from_ps(332_800), Duration::from_ps(random.below(2) * 332_800));
    spec.seed = seed;
    spec
}

/// Lets headers that find no room go back.
fn return_headers(port: &mut PortConfig) {
    if let Overflow::Trim(trim) = &mut port.overflow {
        trim.returns = true;
    }
}

/// Gives headers a weight; zero: they go first.
fn serve(port: &mut PortConfig, weight: u32) {
    if let Overflow::Trim(trim) = &mut port.overflow {
        trim.weight = NonZeroU32::new(weight);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_engine_trims_alike(
        weight in 0_u32..3,
        seed in any::<u64>(),
        control_name in prop_oneof![Just("unocc"), Just("gemini"), Just("dctcp"), Just("fixed_window")],
        balance in prop_oneof![Just("ecmp"), Just("rps"), Just("unolb")],
        victim in prop_oneof![Just(Victim::Arriving), Just(Victim::Coin)],
        headers in prop_oneof![Just(Bytes::MAX), Just(Bytes::new(640)), Just(Bytes::ZERO)],
        returns in any::<bool>(),
    ) {
        let mut ports = trimming(victim, headers);
        ports.0.iter_mut().for_each(|port| serve(port, weight));
        if returns {
            ports.0.iter_mut().for_each(return_headers);
        }
        check_books(&run(&busy(seed, control_name, balance, ports)));
    }
}
