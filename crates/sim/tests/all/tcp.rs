//! TCP's connections in closed form: the handshake, and when a flow with delayed ACKs, bursts and rate reduction has its
//! last byte there after losses, within a round trip.

use crate::common::*;
use farspan_fabric::Fault;
use farspan_fabric::fault::FaultKind;
use farspan_sim::{InitialWindow, Spec};
use farspan_transport::ack::AckConfig;
use farspan_transport::ack::delayed::DelayedConfig;
use farspan_transport::recovery::{RecoveryPolicy, Rto};
use farspan_transport::{Connection, FlowOutcome, Scheme};
use farspan_units::{Bytes, Duration, NodeId, PortId, Rate, Time};
use std::sync::Arc;

const LINE: Rate = Rate::from_gbps(1);

/// As Linux: 1 s before the first round trip, then 200 ms more than the smoothed one.
const RTO: Rto = Rto::Rfc6298 {
    initial: Duration::from_ms(1000),
    variance_floor: Duration::from_ms(200),
    min: Duration::from_ms(200),
};

/// One packet on a link.
fn packet_time() -> Duration {
    LINE.transmission(MSS + HEADER)
}

/// The round trip of a full packet: two links of 2.5 ms each way.
fn rtt() -> Duration {
    handshake() + packet_time() * 2 - LINE.transmission(HEADER) * 2
}

/// The round trip of two headers.
fn handshake() -> Duration {
    Duration::from_ms(10) + LINE.transmission(HEADER) * 4
}

/// TCP, but for its control: a window of so many packets.
fn tcp() -> Scheme {
    let mut scheme = Scheme::clone(&scheme(control("fixed_window"), "ecmp"));
    (scheme.recovery.policy, scheme.recovery.rto) = (RecoveryPolicy::Rack, RTO);
    scheme.profile.acks = AckConfig::Delayed(DelayedConfig::default());
    scheme.connection =
        Connection { handshake: true, burst: Bytes::new(65_536), unpaced: 0, prr: true, idle_restart: true };
    scheme
}

/// A flow of so many packets with this window; what leaves the sender in these spans is lost.
fn flow_of(scheme: Scheme, packets: u64, window: u64, lost: &[(Duration, Duration)]) -> Spec {
    let network = star(2, LINE, Duration::from_us(2500));
    let nic = network.links.iter().position(|link| link.from == NodeId(0)).expect("a host has a link");
    let flows = vec![flow(0, 1, MSS * packets, Time::ZERO)];
    let mut spec = spec(network, ports(Bytes::MAX, &[]), &Arc::new(scheme), flows);
    spec.initial_window = InitialWindow::Bytes(MSS * window);
    let link = PortId(u32::try_from(nic).expect("few links"));
    let fault = |&(at, until): &(Duration, Duration)| Fault {
        kind: FaultKind::BlackHole,
        links: vec![link],
        at: Time::ZERO + at,
        until: Time::ZERO + until,
        withdraw_after: None,
    };
    spec.faults = lost.iter().map(fault).collect();
    spec
}

/// When the receiver had the last byte, and the outcome; under every engine.
fn ended(spec: &Spec) -> (Duration, FlowOutcome) {
    let outcome = equal_under_all(spec).expect("engines agree");
    assert!(outcome.totals.conserved());
    let flow = outcome.flows[0].clone();
    (flow.delivered.expect("it arrives").since(Time::ZERO), flow)
}

/// Asserts that the last byte is there at `expected`, within a round trip.
fn expect_end(spec: &Spec, expected: Duration) -> FlowOutcome {
    let (end, flow) = ended(spec);
    let off = end.as_ps().abs_diff(expected.as_ps());
    assert!(off <= rtt().as_ps(), "{end} for {expected}");
    flow
}

/// The span in which packet `n` of the first window leaves, and nothing else; the last bit leaves a packet time after the first.
fn leaving(n: u64) -> (Duration, Duration) {
    (handshake() + packet_time() * n, handshake() + packet_time() * (n + 1))
}

/// The way of the last byte.
fn one_way() -> Duration {
    Duration::from_ms(5) + packet_time() * 2
}

#[test]
fn a_handshake_takes_the_round_trip_of_two_headers() {
    let without = Scheme { connection: Connection::default(), ..tcp() };
    let [with, without] = [tcp(), without].map(|scheme| ended(&flow_of(scheme, 50, 64, &[])).0);
    assert_eq!(with - without, handshake());
    assert_eq!(without, one_way() + packet_time() * 49);
}

#[test]
fn a_lost_opening_costs_a_second_and_a_second_one_two_more() {
    let (undisturbed, _) = ended(&flow_of(tcp(), 5, 10, &[]));
    for (losses, seconds) in [(1, 1), (2, 3), (3, 7)] {
        let at = Duration::from_ms([0, 1000, 3000][losses - 1]);
        let (end, flow) = ended(&flow_of(tcp(), 5, 10, &[(Duration::ZERO, at + Duration::from_us(1))]));
        assert_eq!(end, undisturbed + Duration::from_ms(1000 * seconds));
        assert_eq!(
            (flow.sender.timeouts, flow.dropped_packets),
            (losses as u64, 0),
            "no packet of the message"
        );
    }
}

#[test]
fn a_lost_packet_is_found_by_the_third_ack_above_it() {
    let flow = expect_end(
        &flow_of(tcp(), 400, 500, &[leaving(380)]),
        handshake() + packet_time() * 383 + rtt() + one_way(),
    );
    assert_eq!((flow.sender.losses, flow.sender.timeouts, flow.sender.spurious), (1, 0, 0));
}

#[test]
fn a_lost_tail_is_probed_two_round_trips_after_the_last_ack() {
    let flow = expect_end(
        &flow_of(tcp(), 400, 500, &[leaving(399)]),
        handshake() + packet_time() * 398 + rtt() * 3 + one_way(),
    );
    assert_eq!((flow.sender.probes, flow.sender.timeouts, flow.sender.spurious), (1, 0, 0));
}

#[test]
fn a_lost_retransmission_is_found_a_round_trip_after_it_left() {
    // 100 packets a round trip. Packet 80 leaves for the second time with the ACK of packet 83.
    let again = handshake() + packet_time() * 83 + rtt();
    let spans = [leaving(80), (again - packet_time() / 2, again + packet_time() / 2)];
    let spec = flow_of(tcp(), 240, 100, &spans);
    let flow = expect_end(&spec, again + rtt() + one_way());
    assert_eq!((flow.dropped_packets, flow.sender.losses, flow.sender.timeouts), (2, 2, 0));
}

#[test]
fn after_a_blackout_the_first_time_out_that_finds_the_link_up_starts_again() {
    // Nothing leaves from packet 50 of the first window on. A probe goes two round trips after the last ACK, then a time-out runs
    // out and a second one twice as late.
    let (from, rto) = (leaving(50).0, rtt() + Duration::from_ms(200));
    let last_ack = from + rtt();
    let back = last_ack + rtt() * 2 + rto * 3;
    let spec = flow_of(tcp(), 200, 100, &[(from, from + Duration::from_ms(300))]);
    // The packet that it sends brings the news that all others are lost; these take a round trip more.
    let flow = expect_end(&spec, back + rtt() + packet_time() * 150 + one_way());
    assert_eq!((flow.sender.probes, flow.sender.timeouts), (1, 2));
}

#[test]
fn ten_minutes_at_a_steady_round_trip_see_no_time_out_and_no_probe() {
    // Two packets a round trip and jitter of up to a packet time.
    let mut spec = flow_of(tcp(), 110_000, 2, &[]);
    spec.jitter = packet_time();
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    let fct = flow.finish.expect("it ends").since(Time::ZERO);
    assert!(fct >= Duration::from_ms(550_000), "{fct}");
    assert_eq!((flow.sender.timeouts, flow.sender.probes, flow.sender.losses), (0, 0, 0));
}

#[test]
fn short_messages_are_never_probed_while_their_acks_are_held() {
    // Windows as large as the receiver may hold ACKs of, for 40 ms unless the last packet is there: far longer than the two round
    // trips after which a probe would leave.
    for (packets, persistent) in [(2, false), (4, false), (2, true), (4, true)] {
        let mut scheme = tcp();
        scheme.profile.persistent = persistent;
        let acks = DelayedConfig { packets, quick: 0, ..DelayedConfig::default() };
        scheme.profile.acks = AckConfig::Delayed(acks);
        let mut spec = flow_of(scheme, 1, u64::from(packets) - 1, &[]);
        let start = |n: u64| Time::ZERO + Duration::from_ms(n);
        let size = |n: u64| 1 + n % u64::from(packets);
        spec.flows = (0..10_000).map(|n| flow(0, 1, MSS * size(n), start(n))).collect();
        let outcome = run(&spec);
        let all = (0..10_000).map(size).sum::<u64>();
        assert_eq!(outcome.totals.sent.packets, all, "nothing is sent twice");
        let counted = |count: fn(&FlowOutcome) -> u64| outcome.flows.iter().map(count).sum::<u64>();
        assert_eq!(counted(|flow| flow.sender.probes) + counted(|flow| flow.sender.timeouts), 0);
        let longest = u64::from(packets) - 1;
        let held = outcome.flows[longest as usize].finish.expect("it ends").since(start(longest));
        assert!(held >= Duration::from_ms(40) + rtt() * 2, "the first ACK was held: {held}");
    }
}
