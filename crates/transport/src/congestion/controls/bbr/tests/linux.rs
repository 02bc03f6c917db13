//! Parts of Linux and of the draft that are off unless asked for: bursts as head-room, room for ACKs that come in lumps.

use super::*;

/// A steady flow with a burst, and a pacing rate in bits per second.
fn with_quantum(quantum: Quantum, rate: f64) -> Flow {
    let mut flow = Flow::steady(&BbrConfig { quantum, ..BbrConfig::default() });
    flow.control.pacing_rate = rate;
    flow
}

#[test]
fn a_burst_is_a_packet_unless_asked_otherwise() {
    near(Flow::steady(&BbrConfig::default()).control.quantum(), MSS, 0.0);
    near(with_quantum(Quantum::Packet, 100e9).control.quantum(), MSS, 0.0);
}

#[test]
fn the_draft_s_burst_is_a_millisecond_of_the_rate_up_to_64_kib() {
    let quantum = |rate| with_quantum(Quantum::Draft, rate).control.quantum();
    near(quantum(1.1e6), MSS, 0.0);
    near(quantum(1.2e6), 2.0 * MSS, 0.0);
    near(quantum(23.9e6), 2.0 * MSS, 0.0);
    near(quantum(100e6), 12_500.0, 1e-9);
    near(quantum(1e9), 65_536.0, 0.0);
}

#[test]
fn linux_s_burst_is_the_whole_packets_of_a_1024th_of_a_second_and_two_at_least() {
    let packets = |rate| with_quantum(Quantum::Linux, rate).control.quantum() / MSS;
    near(packets(1.1e6), 1.0, 0.0);
    near(packets(1.2e6), 2.0, 0.0);
    // Two packets and a byte short of a third.
    near(packets((3.0 * MSS - 1.0) * 8.0 * 1024.0), 2.0, 0.0);
    near(packets(3.0 * MSS * 8.0 * 1024.0), 3.0, 0.0);
    near(packets(100e9), 16.0, 0.0);
}

#[test]
fn three_bursts_are_the_head_room_of_the_window() {
    let mut flow = Flow::new(&BbrConfig { quantum: Quantum::Linux, ..BbrConfig::default() }, &start());
    flow.in_flight = 100;
    flow.rounds(12);
    flow.in_flight = 67;
    flow.ack();
    assert!(matches!(flow.control.state, BbrState::ProbeBw(_)), "a BDP of 20 and 48 packets");
    flow.rounds(4);
    near(flow.cwnd(), 2.0 * 20.0 + 48.0, 0.1);
}

fn lumpy() -> BbrConfig {
    BbrConfig { extra_acked: true, ..BbrConfig::default() }
}

/// A round trip whose ACKs come all at once, at its end.
fn lump(flow: &mut Flow) {
    let step = flow.rtt / flow.packets;
    flow.now += step * flow.packets;
    for _ in 0..flow.packets {
        flow.now = Time::from_ps(flow.now.as_ps() - step.as_ps());
        flow.ack();
    }
}

#[test]
fn acks_as_fast_as_the_path_make_no_more_room_than_a_packet() {
    let mut flow = Flow::steady(&lumpy());
    flow.rounds(40);
    assert!(flow.control.extra_room() <= 1.01 * MSS, "{} B", flow.control.extra_room());
}

#[test]
fn a_lump_is_what_comes_beyond_the_bandwidth_since_acks_fell_behind() {
    let mut flow = Flow::steady(&lumpy());
    flow.rounds(20);
    lump(&mut flow);
    // The first ACK after the silence begins an epoch; all 20 came in no time.
    near(flow.control.extra_room() / MSS, 20.0, 0.01);
    flow.rounds(3);
    near(flow.cwnd(), 2.0 * 20.0 + 3.0 + 20.0, 0.1);
}

#[test]
fn a_lump_counts_for_five_to_ten_rounds() {
    let mut flow = Flow::steady(&lumpy());
    flow.rounds(20);
    lump(&mut flow);
    // The silence after it ends its epoch.
    flow.now += flow.rtt * 2;
    let mut rounds = 0;
    while flow.control.extra_room() > 5.0 * MSS {
        flow.rounds(1);
        rounds += 1;
    }
    assert!((5..=10).contains(&rounds), "{rounds} rounds");
}

#[test]
fn there_is_no_room_for_lumps_before_the_pipe_is_full_or_where_it_is_not_asked_for() {
    let mut flow = Flow::new(&lumpy(), &start());
    flow.rounds(2);
    lump(&mut flow);
    near(flow.control.extra_room(), 0.0, 0.0);
    let mut flow = Flow::steady(&BbrConfig::default());
    lump(&mut flow);
    near(flow.control.extra_room(), 0.0, 0.0);
}

#[test]
fn room_for_lumps_is_a_window_and_a_tenth_of_a_second_at_most() {
    let mut aggregation = AckAggregation::default();
    aggregation.take(Time::ZERO, 50.0 * MSS, 0.0, (MSS, 20.0 * MSS));
    near(aggregation.largest() / MSS, 20.0, 0.0);
    let mut flow = Flow::steady(&lumpy());
    let bandwidth = flow.control.bandwidth();
    let cwnd = bandwidth;
    let now = flow.now;
    let aggregation = flow.control.aggregation.as_mut().expect("asked for");
    aggregation.take(now + Duration::from_ms(500), bandwidth, bandwidth, (1e9, cwnd));
    near(flow.control.extra_room(), 0.1 * bandwidth, 1.0);
}

#[test]
fn an_epoch_of_a_million_packets_ends() {
    let mut aggregation = AckAggregation::default();
    let now = Time::ZERO + Duration::from_ms(1);
    aggregation.take(now, 1_048_575.0, 0.0, (1.0, 1e9));
    near(aggregation.acked, 1_048_575.0, 0.0);
    aggregation.take(now, 1.0, 0.0, (1.0, 1e9));
    near(aggregation.acked, 1.0, 0.0);
}
