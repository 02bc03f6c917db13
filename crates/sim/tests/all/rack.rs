//! RACK-TLP over a path of constant round trip, in closed form and within a packet time: when a lost packet of a flow is
//! found, by what it takes to end.

use crate::common::*;
use farspan_fabric::Fault;
use farspan_fabric::fault::FaultKind;
use farspan_sim::{InitialWindow, Spec};
use farspan_transport::coding::CodingConfig;
use farspan_transport::recovery::{RecoveryPolicy, Rto};
use farspan_transport::{FlowOutcome, Scheme};
use farspan_units::{Bytes, Duration, NodeId, PortId, Rate, Time};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// Sizes in packets: 5 MiB end before the first ACK comes, 50 MiB long after.
const SIZES: [u64; 2] = [1280, 12_800];

/// One packet on a NIC.
fn packet_time() -> Duration {
    Rate::from_gbps(100).transmission(MSS + HEADER)
}

/// A flow between two sites whose window holds it whole; packets in `lost` are lost as they leave for the first time.
fn flow_without(packets: u64, lost: &[Range<u64>], rto: Rto) -> Spec {
    let network = two_sites(4, Duration::from_us(500));
    let nic = network.links.iter().position(|link| link.from == NodeId(0)).expect("a host has a link");
    let dst = network.hosts - 1;
    let mut chosen = Scheme::clone(&scheme(control("fixed_window"), "ecmp"));
    (chosen.recovery.policy, chosen.recovery.rto) = (RecoveryPolicy::Rack, rto);
    let flows = vec![flow(0, dst, MSS * packets, Time::ZERO)];
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &Arc::new(chosen), flows);
    spec.initial_window = InitialWindow::Bytes(MSS * (packets + 1));
    let link = PortId(u32::try_from(nic).expect("few links"));
    let fault = |lost: &Range<u64>| {
        // A packet's last bit leaves a packet time after its first.
        let [at, until] = [lost.start, lost.end].map(|n| Time::ZERO + packet_time() * n);
        Fault { kind: FaultKind::BlackHole, links: vec![link], at, until, withdraw_after: None }
    };
    spec.faults = lost.iter().map(fault).collect();
    spec
}

fn ended(spec: &Spec) -> (Duration, FlowOutcome) {
    let outcome = run(spec);
    assert!(outcome.totals.conserved());
    let flow = outcome.flows[0].clone();
    (flow.finish.expect("it ends").since(Time::ZERO), flow)
}

const FAR: Rto = Rto::Fixed(Duration::from_ms(50));

/// The round trip of a full packet.
fn rtt() -> Duration {
    ended(&flow_without(1, &[], FAR)).0
}

/// Asserts that a flow that loses these packets ends at `expected`, within a packet time, without a time-out.
fn expect_end(packets: u64, lost: Range<u64>, rto: Rto, expected: Duration, probes: u64) {
    expect_end_without(packets, &[lost], rto, expected, probes);
}

/// As [`expect_end`], with several losses.
fn expect_end_without(packets: u64, lost: &[Range<u64>], rto: Rto, expected: Duration, probes: u64) {
    let count: u64 = lost.iter().map(|lost| lost.end - lost.start).sum();
    let (fct, flow) = ended(&flow_without(packets, lost, rto));
    assert_eq!(flow.dropped_packets, count, "{lost:?} of {packets}");
    let sender = flow.sender;
    assert_eq!((sender.timeouts, sender.losses, sender.probes), (0, count, probes), "{lost:?} of {packets}");
    assert_eq!(sender.spurious, 0, "{lost:?} of {packets}");
    let off = fct.as_ps().abs_diff(expected.as_ps());
    assert!(off <= packet_time().as_ps(), "{lost:?} of {packets}: {fct} for {expected}");
}

#[test]
fn with_three_later_packets_a_loss_is_found_at_the_third_one_s_ack() {
    for n in SIZES {
        let i = n - 4;
        expect_end(n, i..i + 1, FAR, packet_time() * (i + 3) + rtt() * 2, 0);
    }
}

#[test]
fn with_one_or_two_later_packets_it_is_found_a_quarter_of_a_round_trip_after_its_ack_was_due() {
    for n in SIZES {
        for i in [n - 2, n - 3] {
            expect_end(n, i..i + 1, FAR, packet_time() * i + rtt() * 2 + rtt() / 4, 0);
        }
    }
}

#[test]
fn a_lost_tail_is_probed_two_srtt_after_the_last_ack_and_found_a_round_trip_later() {
    for n in SIZES {
        let last_ack = |lost: u64| packet_time() * (n - lost - 1) + rtt();
        expect_end(n, n - 1..n, FAR, last_ack(1) + rtt() * 3, 1);
        for lost in [2, 100] {
            let rest = packet_time() * (lost - 2);
            expect_end(n, n - lost..n, FAR, last_ack(lost) + rtt() * 4 + rest, 1);
        }
    }
}

#[test]
fn a_tail_lost_with_a_packet_before_it_is_found_by_the_ack_of_that_one_s_retransmission() {
    for n in SIZES {
        let tail = n - 1..n;
        let (three, one) = (n - 5, n - 3);
        let found = packet_time() * (n - 2) + rtt();
        expect_end_without(n, &[three..three + 1, tail.clone()], FAR, found + rtt() * 2, 0);
        let found = packet_time() * one + rtt() + rtt() / 4;
        expect_end_without(n, &[one..one + 1, tail], FAR, found + rtt() * 2, 0);
    }
}

#[test]
fn where_the_time_out_is_shorter_the_probe_leaves_when_it_would_run_out() {
    let n = SIZES[0];
    let rto = rtt() + rtt() / 2;
    expect_end(n, n - 1..n, Rto::Fixed(rto), packet_time() * (n - 2) + rtt() * 2 + rto, 1);
}

#[test]
fn a_probe_leaves_though_its_block_can_do_without_it() {
    // 160 blocks of 8 + 2; nothing of the last arrives, so that its receiver does not ask for it.
    let mut spec = flow_without(1280, slice::from_ref(&(1590..1600)), FAR);
    spec.initial_window = InitialWindow::Bytes(MSS * 1601);
    let mut coded = Scheme::clone(&spec.inter);
    coded.coding = CodingConfig::by_name("mds").expect("a built-in name");
    spec.inter = Arc::new(coded);
    let (fct, flow) = ended(&spec);
    assert_eq!((flow.sender.probes, flow.sender.timeouts, flow.dropped_packets), (1, 0, 10));
    // The probe's ACK shows packets to be lost; seven of them leave again.
    let expected = packet_time() * (1589 + 6) + rtt() * 5;
    assert!(fct.as_ps().abs_diff(expected.as_ps()) <= packet_time().as_ps(), "{fct} for {expected}");
}

#[test]
fn a_flow_that_loses_all_of_its_packets_ends_by_probe_and_time_out() {
    let (_, flow) = ended(&flow_without(SIZES[0], slice::from_ref(&(0..SIZES[0])), FAR));
    assert_eq!((flow.sender.probes, flow.sender.timeouts), (1, 0), "the probe's ACK tells of the rest");
    assert_eq!(flow.sender.losses, SIZES[0]);
}
