//! Flows that are messages of one connection: their order, their times, and the sums of their packets.

use crate::common::*;
use crate::random::persistent_spec;
use farspan_fabric::Fault;
use farspan_fabric::fault::FaultKind;
use farspan_sim::{InitialWindow, ProbeKind, Probes, SampleId, Spec};
use farspan_transport::{Connection, FlowOutcome, Scheme};
use farspan_units::{Bytes, Duration, FlowId, NodeId, PortId, Rate, Time};
use std::sync::Arc;

const LINE: Rate = Rate::from_gbps(1);

/// Messages of so many bytes, submitted at these times, on one connection.
fn messages(all: &[(Duration, u64)], persistent: bool, connection: Connection) -> Spec {
    let mut scheme = Scheme::clone(&scheme(control("newreno"), "ecmp"));
    (scheme.profile.persistent, scheme.connection) = (persistent, connection);
    let flows = all.iter().map(|&(at, size)| flow(0, 1, Bytes::new(size), Time::ZERO + at)).collect();
    let network = star(2, LINE, Duration::from_us(50));
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &Arc::new(scheme), flows);
    spec.initial_window = InitialWindow::Iw10;
    spec
}

fn outcomes(spec: &Spec) -> Vec<FlowOutcome> {
    let outcome = equal_under_all(spec).expect("engines agree");
    assert!(outcome.totals.conserved());
    outcome.flows
}

fn fct(flow: &FlowOutcome) -> Duration {
    flow.fct().expect("it ends")
}

#[test]
fn one_message_on_a_connection_takes_as_long_as_a_flow_of_its_own() {
    let connection = Connection { handshake: true, burst: Bytes::new(20_000), ..Connection::default() };
    let all = [(Duration::ZERO, 123_456)];
    let [alone, on] = [false, true].map(|persistent| outcomes(&messages(&all, persistent, connection)));
    assert_eq!(
        (fct(&on[0]), on[0].delivered, on[0].sender),
        (fct(&alone[0]), alone[0].delivered, alone[0].sender)
    );
    assert_eq!(on[0].receiver, alone[0].receiver);
}

#[test]
fn messages_leave_in_order_and_the_handshake_is_the_first_ones() {
    let connection = Connection { handshake: true, ..Connection::default() };
    // The second comes during the handshake, the third when all is idle.
    let all = [(Duration::ZERO, 10_000), (Duration::from_us(10), 100), (Duration::from_ms(5), 100)];
    let flows = outcomes(&messages(&all, true, connection));
    let ends: Vec<_> = flows.iter().map(|flow| flow.delivered.expect("it arrives")).collect();
    assert!(ends.is_sorted());
    let trip = fct(&flows[2]);
    assert_eq!(trip, flows[2].ideal_fct, "no handshake, no wait");
    assert!(fct(&flows[1]) > trip * 2 - Duration::from_us(10));
    let sent: Vec<_> =
        flows.iter().map(|flow| (flow.sender.sent_packets, flow.receiver.arrived_packets)).collect();
    let packets = 10_000_u64.div_ceil(MSS.get());
    assert_eq!(sent, [(packets, packets), (1, 1), (1, 1)]);
}

#[test]
fn a_lost_packet_holds_back_the_messages_after_it_and_counts_for_its_own() {
    let all: Vec<_> = (0..8).map(|_| (Duration::ZERO, MSS.get())).collect();
    let mut spec = messages(&all, true, Connection::default());
    let nic = spec.network.links.iter().position(|link| link.from == NodeId(0)).expect("a host has a link");
    let packet = LINE.transmission(MSS + HEADER);
    spec.faults = vec![Fault {
        kind: FaultKind::BlackHole,
        links: vec![PortId(u32::try_from(nic).expect("few links"))],
        at: Time::ZERO + packet * 2,
        until: Time::ZERO + packet * 3,
        withdraw_after: None,
    }];
    let flows = outcomes(&spec);
    let lost: Vec<_> =
        flows.iter().map(|flow| (flow.dropped_packets, flow.sender.retransmitted_packets)).collect();
    assert_eq!(lost, [(0, 0), (0, 0), (1, 1), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0)]);
    let ends: Vec<_> = flows.iter().map(|flow| flow.delivered.expect("it arrives")).collect();
    assert!(ends[1] < ends[2] && ends[2..].iter().all(|end| *end == ends[2]), "those behind it wait");
}

#[test]
fn an_idle_connection_begins_with_its_first_window() {
    let all = [(Duration::ZERO, 4_000_000), (Duration::from_ms(2000), 1_000_000)];
    let ended = |idle_restart| {
        let mut spec = messages(&all, true, Connection { idle_restart, ..Connection::default() });
        // A round trip of 10 ms, in which the link carries 300 packets.
        spec.network = star(2, LINE, Duration::from_us(2500));
        fct(&outcomes(&spec)[1])
    };
    let (again, kept) = (ended(true), ended(false));
    let (trip, line) = (Duration::from_ms(10), LINE.transmission(Bytes::new(1_000_000)));
    assert!(kept < line + trip * 2, "{kept}: the window that it had fills the link");
    // From 10 packets to 245: after four round trips 150 have left.
    assert!(again > trip * 5 && again < trip * 7, "{again}: slow start takes round trips");
}

#[test]
fn rates_and_goodput_are_those_of_each_message() {
    let all = [(Duration::ZERO, 500_000), (Duration::from_us(100), 300_000)];
    let mut spec = messages(&all, true, Connection::default());
    spec.probes = Probes {
        rate_interval: Some(Duration::from_us(500)),
        rate_flows: vec![FlowId(0), FlowId(1)],
        goodput: Some(Time::ZERO..Time::ZERO + Duration::from_ms(50)),
        ..Probes::default()
    };
    let outcome = equal_under_all(&spec).expect("engines agree");
    let goodput = outcome.goodput.clone().expect("it is read");
    assert_eq!(goodput, [500_000, 300_000].map(Bytes::new));
    let windows = |flow| {
        outcome.samples.iter().filter(move |sample| {
            sample.probe == farspan_sim::ProbeKind::Cwnd
                && sample.id == farspan_sim::SampleId::Flow(FlowId(flow))
        })
    };
    let first = |flow| windows(flow).next().expect("it is sampled").at;
    let last = |flow| windows(flow).next_back().expect("it is sampled").at;
    assert!(last(0) < first(1), "the window is the oldest message's");
    for (flow, size) in [(0, 500_000.0), (1, 300_000.0)] {
        let rates = outcome
            .samples
            .iter()
            .filter(|sample| sample.probe == ProbeKind::Rate && sample.id == SampleId::Flow(FlowId(flow)));
        let bytes: f64 = rates.map(|sample| sample.value * 500e-6 / 8.0).sum();
        // What comes after the last sample is in none.
        assert!(bytes < size + 1.0 && bytes > 0.9 * size, "{bytes} of {size}");
    }
}

#[test]
fn random_worlds_of_connections_come_out_equal_under_every_engine() {
    let (mut shared, mut dropped, mut late) = (0, 0, 0);
    for seed in 0..200 {
        let spec = persistent_spec(seed);
        let outcome = equal_under_all(&spec).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let pairs: std::collections::BTreeSet<_> =
            spec.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        shared += u32::from(pairs.len() < spec.flows.len());
        dropped += u32::from(outcome.flows.iter().any(|flow| flow.sender.retransmitted_packets > 0));
        late += u32::from(outcome.flows.iter().any(|flow| flow.sender.spurious > 0));
        for flow in outcome.flows.iter().filter(|flow| flow.finish.is_some()) {
            assert!(flow.delivered <= flow.finish, "seed {seed}");
            assert_eq!(flow.sender.sent_bytes, flow.size + flow.sender.retransmitted_bytes, "seed {seed}");
        }
    }
    println!("{shared} {dropped} {late}");
    assert!(shared >= 100 && dropped >= 50 && late >= 10, "{shared} {dropped} {late}");
}
