//! Traces say what the counters say: every packet once, at both ends of a flow and at ports.

use crate::random;
use farspan_fabric::Routes;
use farspan_sim::{EngineKind, Outcome, Spec, Trace};
use farspan_trace::{End, FlowEvent, Reason, Remark, What};
use farspan_transport::wire::Header;
use farspan_units::{Bytes, Duration, FlowId, PortId};
use std::collections::BTreeMap;

/// A random world with everything traced, and what became of it.
fn traced(seed: u64) -> (Spec, Outcome) {
    let mut spec = random::random_spec(seed);
    spec.trace = Trace {
        flows: (0..spec.flows.len() as u32).map(FlowId).collect(),
        ports: (0..spec.network.links.len() as u32).map(PortId).collect(),
    };
    let outcome = farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true);
    (spec, outcome)
}

const SEEDS: std::ops::Range<u64> = 0..60;

fn is_data(header: &Header) -> bool {
    matches!(header, Header::Data(_) | Header::Coded(_))
}

/// How many events are of a kind.
fn count(events: &[&FlowEvent], end: End, is: impl Fn(&What) -> bool) -> u64 {
    events.iter().filter(|event| event.end == end && is(&event.what)).count() as u64
}

#[test]
fn the_log_of_a_flow_counts_what_its_ends_count() {
    for seed in SEEDS {
        let (_, outcome) = traced(seed);
        for (id, flow) in (0..).map(FlowId).zip(&outcome.flows) {
            let events: Vec<_> = outcome.trace.flows.iter().filter(|event| event.flow == id).collect();
            let at = |what: &str| format!("seed {seed}, flow {id}: {what}");
            let sent = |what: &What| matches!(what, What::Sent { header, .. } if is_data(header));
            assert_eq!(count(&events, End::Sender, sent), flow.sender.sent_packets, "{}", at("sent"));
            let arrived = |wanted| {
                let is = move |what: &What| matches!(what, What::Arrived { header, trimmed, .. } if is_data(header) && *trimmed == wanted);
                count(&events, End::Receiver, is)
            };
            assert_eq!(arrived(false), flow.receiver.arrived_packets, "{}", at("arrived"));
            assert_eq!(arrived(true), flow.receiver.trimmed_packets, "{}", at("trimmed"));
            let started = count(&events, End::Sender, |what| matches!(what, What::Started { .. }));
            assert_eq!(started, u64::from(flow.started), "{}", at("started"));
            let ended = |end| {
                let mut ends = events.iter().filter(|event| event.end == end && event.what == What::Ended);
                let first = ends.next().map(|event| event.at);
                assert_eq!(ends.next(), None, "{}", at("ends once"));
                first
            };
            assert_eq!(ended(End::Sender), flow.finish, "{}", at("finish"));
            assert_eq!(ended(End::Receiver), flow.delivered, "{}", at("delivered"));
        }
    }
}

#[test]
fn packets_are_acknowledged_once_and_lost_only_in_flight() {
    let (mut acked, mut lost) = (0, 0);
    for seed in SEEDS {
        let (_, outcome) = traced(seed);
        for (id, flow) in (0..).map(FlowId).zip(&outcome.flows) {
            // Whether a packet that is not acknowledged is in flight.
            let mut open: BTreeMap<u32, bool> = BTreeMap::new();
            let events =
                outcome.trace.flows.iter().filter(|event| event.flow == id && event.end == End::Sender);
            for event in events {
                let at = || format!("seed {seed}, flow {id}: {event:?}");
                match &event.what {
                    What::Sent { header, again, .. } => {
                        let seq = match header {
                            Header::Data(data) => data.seq,
                            Header::Coded(coded) => coded.data.seq,
                            _ => continue,
                        };
                        // A probe repeats a packet that is in flight, all else one that was lost.
                        let before = again.map(|reason| reason == Reason::Probe);
                        assert_eq!(open.insert(seq, true), before, "{}", at());
                    }
                    What::Lost { packet, .. } => {
                        assert_eq!(open.insert(*packet, false), Some(true), "{}", at());
                        lost += 1;
                    }
                    What::Acked { packets } => {
                        packets.iter().for_each(|packet| assert!(open.remove(packet).is_some(), "{}", at()));
                        acked += packets.len();
                    }
                    What::Ended => assert!(open.is_empty(), "{}", at()),
                    What::Metrics(metrics) if open.values().all(|in_flight| !in_flight) => {
                        assert_eq!(metrics.in_flight, Bytes::ZERO, "{}", at());
                    }
                    _ => {}
                }
            }
            assert!(flow.finish.is_none() || open.is_empty());
        }
    }
    assert!(acked > 1000 && lost > 100, "{acked} acknowledged, {lost} lost");
}

#[test]
fn the_packets_of_a_port_are_those_that_it_counts() {
    for seed in SEEDS {
        let (spec, outcome) = traced(seed);
        let (mut seen, mut firsts) = (vec![[0_u64; 4]; outcome.ports.len()], 0);
        for event in &outcome.trace.packets {
            let seen = &mut seen[event.port.index()];
            let has = |is: fn(&Remark) -> bool| u64::from(event.remarks.iter().any(is));
            let gone = has(|remark| matches!(remark, Remark::Dropped { .. } | Remark::Lost));
            seen[0] += 1 - has(|remark| matches!(remark, Remark::Dropped { .. } | Remark::Returned));
            seen[1] += gone;
            seen[2] += has(|remark| matches!(remark, Remark::Marked { .. }));
            seen[3] += has(|remark| matches!(remark, Remark::Trimmed));
        }
        for (id, (seen, port)) in seen.iter().zip(&outcome.ports).enumerate() {
            let [left, gone, marked, trimmed] = *seen;
            let at = format!("seed {seed}, port {id}, {}", port.name);
            // A NIC knows of a packet's loss when it takes it; one that would have left after the end is in no trace.
            let may_miss = u64::from(port.name.starts_with("host"));
            assert!((gone..=gone + may_miss).contains(&port.dropped_packets), "{at}: {gone} dropped");
            assert!(marked <= port.marked_packets, "{at}: a mark on a marked packet is none");
            // What a stopped link discarded did not leave.
            if outcome.totals.in_network.packets == 0 && spec.faults.is_empty() {
                assert_eq!((left, trimmed), (port.sent_packets, port.trimmed_packets), "{at}");
                firsts += marked;
            }
        }
        if outcome.totals.in_network.packets == 0 && spec.faults.is_empty() {
            assert!(
                firsts >= outcome.totals.ecn_marked,
                "seed {seed}: what arrives marked was marked at a port"
            );
        }
    }
}

/// Whether a packet was sent within a base RTT of the start of its flow.
fn is_early(spec: &Spec, routes: &Routes, outcome: &Outcome, header: &Header) -> Option<bool> {
    let data = header.data().filter(|data| data.len > 0)?;
    let flow = &outcome.flows[data.flow.index()];
    let path = routes.path(&spec.network, flow.src, flow.dst);
    let rtt: Duration =
        [spec.mss + spec.header, spec.header].map(|size| path.one_way(&spec.network, size)).into_iter().sum();
    Some(data.sent_at < flow.start + rtt)
}

#[test]
fn drops_of_the_first_round_trip_are_those_that_ports_have_seen() {
    let (mut early, mut late, mut waited) = (0, 0, 0);
    for seed in SEEDS {
        let (spec, outcome) = traced(seed);
        let persists = [&spec.intra, &spec.inter].iter().any(|scheme| scheme.profile.persistent);
        if !spec.proxies.is_empty() || persists || outcome.totals.in_network.packets > 0 {
            continue;
        }
        let routes = Routes::new(&spec.network, spec.seed);
        let gone = |remark: &Remark| matches!(remark, Remark::Dropped { .. } | Remark::Lost);
        let dropped = outcome.trace.packets.iter().filter(|event| event.remarks.iter().any(gone));
        let all: Vec<bool> =
            dropped.filter_map(|event| is_early(&spec, &routes, &outcome, &event.header)).collect();
        let counted = all.iter().filter(|early| **early).count() as u64;
        assert_eq!(outcome.totals.dropped_first_rtt, Some(counted), "seed {seed}");
        early += counted;
        late += all.len() as u64 - counted;
        waited += u64::from(counted > 0 && !spec.triggers.is_empty());
    }
    assert!(
        early > 100 && late > 100 && waited > 0,
        "{early} early, {late} late, {waited} worlds of triggers"
    );
}
