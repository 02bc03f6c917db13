//! The memory that packets, flows and ports take, counted by the allocator.
//!
//! Costs are marginal: what twice as many of a thing take more than once as many, over the number added.
//! Bytes asked of the allocator count, its own overhead does not.

use crate::common::*;
use farspan_fabric::Port;
use farspan_fabric::topology::Dumbbell;
use farspan_sim::{EngineKind, FlowOutcome, InitialWindow, Spec};
use farspan_transport::coding::Shape;
use farspan_transport::proxy::{Delay, NaiveRelay, Relay, RelayKind, StreamlinedRelay};
use farspan_transport::wire::{Coded, Data, Header};
use farspan_transport::{
    Endpoint, EndpointConfig, FlowProfile, Incoming, Message, Path, Poll, Profiles, Route, Scheme, Transmit,
    Trimmed, balance, congestion,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};
use std::sync::Arc;

/// Bytes that what `build` gives holds.
fn held<T>(build: impl FnOnce() -> T) -> f64 {
    farspan_counting::held(build) as f64
}

/// The most bytes held at once while `run` runs, and what it gives.
fn peak<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let (most, value) = farspan_counting::peak(run);
    (most as f64, value)
}

/// The cost of one more, from `n` to `2 n`.
fn marginal(n: u32, bytes: impl Fn(u32) -> f64) -> f64 {
    (bytes(2 * n) - bytes(n)) / f64::from(n)
}

fn path() -> Path {
    let line_rate = Rate::from_gbps(100);
    let base_rtt = Duration::from_us(10);
    Path {
        hops: 6,
        max_queueing: Duration::from_us(100),
        mss: MSS,
        header: HEADER,
        ..Path::new(line_rate, base_rtt)
    }
}

fn endpoint(host: u32) -> Endpoint {
    let profiles = Profiles::new([scheme(control("fixed_window"), "ecmp").profile.clone()]);
    let config = EndpointConfig { host: HostId(host), seed: 1, mss: MSS, header: HEADER };
    Endpoint::new(config).with_profiles(&profiles, path().line_rate)
}

/// A message of `packets` packets to host 1, all of which may be in flight at once.
fn message(flow: u32, packets: u64, route: &Arc<Route>) -> Message {
    let size = MSS * packets;
    Message {
        flow: FlowId(flow),
        to: HostId(1),
        size,
        initial_cwnd: size,
        route: Arc::clone(route),
        via: None,
    }
}

/// Lets `endpoint` send what it may, pacing waited for.
fn send_all(endpoint: &mut Endpoint, mut each: impl FnMut(Time, Transmit)) {
    let mut now = Time::ZERO;
    loop {
        match endpoint.poll_transmit(now) {
            Poll::Packet(packet) => each(now, packet),
            Poll::At(at) => now = at,
            Poll::Idle => return,
        }
    }
}

fn deliver(to: &mut Endpoint, now: Time, from: u32, packet: &Transmit) {
    to.handle_packet(now, Incoming::new(HostId(from), packet.header));
    while to.poll_event().is_some() {}
}

/// `flows` messages of `packets` packets, all in flight at once; each packet is handed to `each`.
fn in_flight(flows: u32, packets: u64, scheme: &Scheme, each: impl FnMut(Time, Transmit)) -> Endpoint {
    let profiles = Profiles::new([scheme.profile.clone()]);
    let mut sender = endpoint(0).with_profiles(&profiles, path().line_rate);
    let route = Arc::new(Route::new(path(), scheme));
    (0..flows).for_each(|flow| sender.submit(Time::ZERO, message(flow, packets, &route)));
    send_all(&mut sender, each);
    sender
}

/// Both ends of `flows` messages of one packet that have ended one after the other.
fn ended(flows: u32) -> [Endpoint; 2] {
    let route = Arc::new(Route::new(path(), &scheme(control("fixed_window"), "ecmp")));
    let mut ends = [endpoint(0), endpoint(1)];
    for flow in 0..flows {
        ends[0].submit(Time::ZERO, message(flow, 1, &route));
        for (from, to) in [(0, 1), (1, 0)] {
            let mut packets = Vec::new();
            send_all(&mut ends[from], |_, packet| packets.push(packet));
            packets.iter().for_each(|packet| deliver(&mut ends[to], Time::ZERO, from as u32, packet));
        }
        assert_eq!(ends[0].sender(FlowId(flow)), None);
    }
    ends
}

#[test]
fn a_control_takes_the_bytes_that_it_says() {
    let (path, seed) = (path(), 1);
    for config in congestion::NAMES.iter().filter_map(|name| congestion::CongestionConfig::by_name(name)) {
        let params = config.params(&path);
        let start = congestion::Start {
            path: &path,
            size: MSS,
            initial_cwnd: MSS,
            active_flows: 0,
            seed,
            flow: FlowId(0),
        };
        let said = params.build(&start).state_bytes().as_f64();
        assert_eq!(held(|| params.build(&start)), said, "{}", config.name());
        // The parameters stand behind the two counts of an `Arc`.
        let counts = 2 * size_of::<usize>();
        assert_eq!(
            held(|| config.params(&path)),
            params.shared_bytes().as_f64() + counts as f64,
            "{}",
            config.name()
        );
    }
}

#[test]
fn a_packet_in_flight_takes_64_bytes_at_most() {
    // Through a pipe that holds them all: records, and messages under way; the sender's 8 bytes a packet are its own.
    let scheme = scheme(control("fixed_window"), "ecmp");
    let network = Dumbbell {
        hosts_per_side: 1,
        link_rate: Rate::from_gbps(100),
        link_delay: Duration::from_us(1),
        switch_delay: Duration::ZERO,
        bottleneck_rate: Rate::from_gbps(100),
        bottleneck_delay: Duration::from_ms(20),
        two_sites: true,
    }
    .build()
    .expect("valid");
    let bytes = |window: u32| {
        let flows = vec![flow(0, 1, MSS * (2 * u64::from(window)), Time::ZERO)];
        let mut spec = spec(network.clone(), ports(Bytes::MAX, &[]), &scheme, flows);
        spec.initial_window = InitialWindow::Bytes(MSS * u64::from(window));
        let (bytes, outcome) = peak(|| farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true));
        assert!(outcome.flows[0].finish.is_some());
        bytes - 8.0 * f64::from(window.next_power_of_two())
    };
    for window in [16_384, 20_000, 30_000] {
        let cost = marginal(window, bytes);
        println!("a packet in flight, {window}: {cost:.1} B");
        assert!(cost <= 64.0, "{cost} B");
    }
}

#[test]
fn a_packet_of_the_window_takes_8_bytes_of_the_sender() {
    let scheme = scheme(control("fixed_window"), "ecmp");
    let cost = marginal(1024, |packets| held(|| in_flight(1, packets.into(), &scheme, |_, _| ())));
    assert!(cost <= 8.1, "{cost} B");
}

/// The bytes that a live sender may take under a control, and those of a packet of its window beside the sent map. BBR
/// keeps the maxima of ten rounds, HPCC and PowerTCP the stamps of eight ports, OSCAR the sums of a batch, and BBR and
/// OSCAR the sender's state when each packet left; recovery keeps room for its largest policy.
fn allowed(control: &str) -> (f64, usize) {
    match control {
        "bbr" => (1024.0, size_of::<congestion::SendRecord>()),
        "hpcc" | "powertcp" => (704.0, 0),
        "oscar" => (832.0, size_of::<congestion::SendRecord>()),
        _ => (512.0, 0),
    }
}

#[test]
fn a_live_flow_takes_512_bytes_of_its_sender_at_most_beside_its_window() {
    for name in congestion::NAMES {
        let (most, record) = allowed(name);
        for balance in balance::NAMES {
            let scheme = scheme(control(name), balance);
            for flows in [1000, 1024, 1100, 1500] {
                let held = |flows| held(|| in_flight(flows, 8, &scheme, |_, _| ()));
                let cost = marginal(flows, held) - 8.0 * (8 + record) as f64;
                println!("a live flow, {name} and {balance}, {flows}: {cost:.0} B");
                assert!(cost <= most, "{name}, {balance}: {cost} B");
            }
        }
    }
}

#[test]
fn a_live_flow_takes_256_bytes_and_a_bit_a_packet_of_its_receiver() {
    let scheme = scheme(control("fixed_window"), "ecmp");
    // All but the first packet arrive: the receiver must remember each of them.
    let bytes = |flows: u32, packets: u64| {
        held(|| {
            let mut receiver = endpoint(1);
            in_flight(flows, packets, &scheme, |now, packet| {
                if !matches!(&packet.header, Header::Data(data) if data.seq == 0) {
                    deliver(&mut receiver, now, 0, &packet);
                    send_all(&mut receiver, |_, _| ());
                }
            });
            receiver
        })
    };
    for flows in [1024, 1100, 1500] {
        let cost = marginal(flows, |flows| bytes(flows, 64));
        println!("a live receiver, {flows}: {cost:.0} B");
        assert!(cost <= 256.0 + 8.0, "{cost} B");
    }
    let bits = 8.0 * marginal(65_536, |packets| bytes(1, packets.into()));
    assert!(bits <= 1.01, "{bits} bits a packet");
}

#[test]
fn a_finished_flow_takes_nothing_of_the_sender_s_endpoint_and_40_bytes_of_the_receiver_s() {
    for flows in [1000, 1024, 1500, 1800] {
        let both = marginal(flows, |flows| held(|| ended(flows)));
        let sender = marginal(flows, |flows| held(|| std::mem::replace(&mut ended(flows)[0], endpoint(0))));
        println!("a finished flow, {flows}: {both:.1} B, of them at the sender {sender:.1}");
        assert!(both <= 40.0 && sender < 1.0, "{both} B, of them {sender} at the sender");
    }
}

/// Takes so many messages of one peer in: live and complete ones, coded and not, each packet whole and then trimmed.
fn messages_of(to: &mut Endpoint, peer: u32, flows: u32) {
    let mss = MSS.get() as u16;
    let shape = Shape::new(4, 2).expect("a shape");
    for flow in (0..flows).map(FlowId) {
        let data = |seq, packets| Data {
            flow,
            seq,
            packets,
            len: mss,
            sent_at: Time::ZERO,
            entropy: 0,
            profile: 0,
            ask: false,
        };
        let coded = |seq| Coded { data: data(seq, 12), shape, last_len: mss, block_wait_ns: 9000 };
        let is_complete = flow.0 % 2 == 0;
        let headers: Vec<_> = match flow.0 % 8 / 2 {
            0 if is_complete => vec![Header::Data(data(0, 1))],
            0 | 1 => vec![Header::Data(data(5000, 9000))],
            2 if is_complete => [0, 1, 2, 5, 6, 7, 8, 9].map(|seq| Header::Coded(coded(seq))).to_vec(),
            _ => [7, 8].map(|seq| Header::Coded(coded(seq))).to_vec(),
        };
        for (header, trimmed) in headers.into_iter().flat_map(|h| [(h, Trimmed::No), (h, Trimmed::OnItsWay)])
        {
            to.handle_packet(Time::ZERO, Incoming { trimmed, ..Incoming::new(HostId(peer), header) });
        }
        while to.poll_event().is_some() {}
    }
}

#[test]
fn a_peer_that_is_forgotten_gives_back_its_memory() {
    // The other peer's messages come before, after, or in between.
    for (before, after) in [(10, 0), (0, 10), (100, 0), (0, 100), (100, 100)] {
        let others = |endpoint: &mut Endpoint, count: u32| {
            (2..2 + count).for_each(|peer| messages_of(endpoint, peer, 10));
        };
        let of_two = |flows: u32| {
            let mut endpoint = endpoint(1);
            others(&mut endpoint, before / 10);
            messages_of(&mut endpoint, 0, flows);
            others(&mut endpoint, (before + after) / 10);
            endpoint
        };
        let (alone, with_it) = (held(|| of_two(0)), held(|| of_two(2000)));
        let left = held(|| {
            let mut endpoint = of_two(2000);
            endpoint.forget_peer(Time::ZERO, HostId(0));
            endpoint
        });
        println!("alone {alone} B, with the peer {with_it} B, when it is forgotten {left} B");
        assert!(with_it > alone + 100_000.0 && left <= alone, "{alone} B, {with_it} B, then {left} B");
    }
}

#[test]
fn a_peer_whose_messages_are_relayed_gives_back_its_memory_but_for_names() {
    let route = Arc::new(Route::new(path(), &scheme(control("fixed_window"), "ecmp")));
    let relayed = |peers: &[u32]| {
        let mut proxy = endpoint(1).with_proxy(Delay::default());
        for (&peer, flow) in peers.iter().flat_map(|peer| (0..500).map(move |flow| (peer, flow))) {
            let (signals, size) = (FlowProfile::default().signals, MSS * 100);
            let kind = match flow % 2 {
                0 => RelayKind::Streamlined(StreamlinedRelay { header: HEADER, signals, loss: None }),
                _ => RelayKind::Naive(NaiveRelay {
                    onward: Arc::clone(&route),
                    initial_cwnd: size,
                    room: None,
                    signals,
                }),
            };
            let onward_flow = FlowId(peer * 1000 + flow);
            let (from, to, flow) = (HostId(peer), HostId(9), FlowId(flow));
            proxy.relay(Relay { from, flow, to, onward_flow, size, kind });
            let (seq, packets, len) = (0, 100, MSS.get() as u16);
            let sent_at = Time::ZERO;
            let data = Data { flow, seq, packets, len, sent_at, entropy: 0, profile: 0, ask: false };
            let header = Header::Data(data);
            proxy.handle_packet(sent_at, Incoming::new(from, header));
        }
        proxy
    };
    let (alone, with_it) = (held(|| relayed(&[2])), held(|| relayed(&[0, 2])));
    let forgotten = |times| {
        held(|| {
            let mut proxy = relayed(&[0, 2]);
            (0..times).for_each(|_| drop(proxy.forget_peer(Time::ZERO, HostId(0))));
            proxy
        })
    };
    let (names, left) = (forgotten(1), forgotten(2));
    println!(
        "alone {alone} B, with the peer {with_it} B, when it is forgotten {names} B, once more {left} B"
    );
    assert!(with_it > alone + 100_000.0, "{alone} B, {with_it} B");
    assert!(left <= alone && names <= left + 500.0 * 24.0, "{alone} B, then {names} B and {left} B");
}

#[test]
fn a_port_takes_192_bytes_at_most() {
    assert!(size_of::<Port>() <= 192, "{}", size_of::<Port>());
}

/// Flows of a packet or two between the hosts of a fat tree, one a host and microsecond.
fn tiny(flows: u32) -> Spec {
    let network = tree(8).build().expect("valid");
    let hosts = network.hosts;
    let tiny = |n: u32| {
        let (src, round) = (n % hosts, n / hosts);
        let dst = (src + 1 + round % (hosts - 1)) % hosts;
        flow(
            src,
            dst,
            Bytes::new(1 + u64::from(n % 5000)),
            Time::ZERO + Duration::from_us(1) * u64::from(round),
        )
    };
    let scheme = scheme(control("unocc"), "ecmp");
    spec(network, ports(Bytes::new(1 << 20), &[]), &scheme, (0..flows).map(tiny).collect())
}

/// Input and output of a run, a flow: what is planned, its start as an event, and its outcome.
const INPUT_AND_OUTPUT: f64 = 64.0 + 32.0 + size_of::<FlowOutcome>() as f64;

#[test]
fn a_million_flows_end_in_64_bytes_each_beside_input_and_output() {
    let bytes = |flows: u32| {
        let spec = tiny(flows);
        let (bytes, outcome) = peak(|| farspan_sim::run(&spec, EngineKind::Windowed, &mut |_| true));
        assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
        bytes
    };
    let cost = marginal(500_000, bytes);
    println!("a finished flow: {cost:.1} B, of them input and output {INPUT_AND_OUTPUT}");
    assert!(cost <= INPUT_AND_OUTPUT + 64.0, "{cost} B");
}
