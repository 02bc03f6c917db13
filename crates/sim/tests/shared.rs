//! State that the ports of a switch share does what it says, under every engine alike.

mod common;

use common::*;
use farspan_fabric::Network;
use farspan_fabric::switch::shared::{SharedConfig, pause, pool};
use farspan_fabric::topology::{Graph, GraphLink, GraphNode};
use farspan_sim::{InitialWindow, Outcome, Spec, Trace};
use farspan_units::{Bytes, Duration, PortId, Rate, Time};

/// A packet on the wire, and how long it takes at 100 Gb/s.
const MTU: Bytes = Bytes::new(4160);
const PACKET: Duration = Duration::from_ps(332_800);

/// Flows of so many packets over a network, all sent at once.
fn burst(network: Network, flows: &[(u32, u32, u64)], shared: SharedConfig) -> Spec {
    let scheme = scheme(control("fixed_window"), "ecmp");
    let flows = flows.iter().map(|&(src, dst, packets)| flow(src, dst, MSS * packets, Time::ZERO)).collect();
    let mut spec = spec(network, ports(Bytes::new(1 << 20), &[]), &scheme, flows);
    spec.initial_window = InitialWindow::Bytes(Bytes::new(1 << 20));
    spec.shared = shared;
    spec
}

fn dropped(spec: &Spec, outcome: &Outcome, port: &str) -> u64 {
    outcome.ports[spec.network.port_named(port).expect("a port").index()].dropped_packets
}

#[test]
fn a_full_pool_drops_at_another_port() {
    // Two senders fill the switch with packets for host 1; the path to host 3 is free.
    let flows = [(0, 1, 40), (2, 1, 40), (4, 3, 40)];
    let star = || star(5, Rate::from_gbps(100), Duration::from_us(1));
    let run = |shared| {
        let spec = burst(star(), &flows, shared);
        let outcome = run(&spec);
        [dropped(&spec, &outcome, "tor0->host1#0"), dropped(&spec, &outcome, "tor0->host3#0")]
    };
    assert_eq!(run(SharedConfig::None), [0, 0]);
    let [at_the_full_port, at_the_other] = run(SharedConfig::Pool(pool::PoolConfig { size: MTU * 10 }));
    assert!(at_the_full_port > 10 && at_the_other > 10, "{at_the_full_port}, {at_the_other}");
    assert_eq!(run(SharedConfig::Pool(pool::PoolConfig { size: MTU * 200 })), [0, 0]);
}

/// A flow over two switches to a host at half the rate, the link between the switches as long as `delay`,
/// under pause frames or without.
fn chain(delay: Duration, pauses: bool) -> (Spec, PortId) {
    let mut network = dumbbell(Rate::from_gbps(100));
    let is_switch = |node: farspan_units::NodeId| node.0 >= network.hosts;
    let between: Vec<_> = (0..network.links.len())
        .filter(|&id| is_switch(network.links[id].from) && is_switch(network.links[id].to))
        .collect();
    between.iter().for_each(|&id| network.links[id].delay = delay);
    let port = PortId(between[0] as u32);
    let receiver =
        (0..network.hosts).find(|&host| network.links[host as usize].to == network.links[between[0]].to);
    let receiver = receiver.expect("a host at the far switch");
    for link in network.links.iter_mut().filter(|link| link.to.0 == receiver) {
        link.rate = Rate::from_gbps(50);
    }
    let pause = pause::PauseConfig { pause_above: MTU * 8, resume_at: MTU * 2 };
    let shared = if pauses { SharedConfig::Pause(pause) } else { SharedConfig::None };
    let mut spec = burst(network, &[(0, receiver, 60)], shared);
    spec.trace = Trace { ports: vec![port], ..Trace::default() };
    (spec, port)
}

/// How many packets leave a port one behind the other, before the first pause.
fn before_the_first_gap(spec: &Spec) -> usize {
    let left: Vec<Time> = run(spec).trace.packets.iter().map(|event| event.at).collect();
    1 + left.windows(2).take_while(|pair| pair[1].since(pair[0]) <= PACKET).count()
}

#[test]
fn a_pause_frame_delays_packets_and_orders_before_data_of_its_picosecond() {
    // A frame comes back to the first switch a packet time and twice the link's delay after a packet came
    // there: with four packet times at the same picosecond as another packet.
    let delay = PACKET * 2;
    let count = |delay, pauses| before_the_first_gap(&chain(delay, pauses).0);
    assert_eq!(count(delay, false), 60, "without frames nothing waits");
    let together = count(delay, true);
    assert!(together < 60);
    let ps = Duration::from_ps(1);
    assert_eq!(count(delay - ps, true), together, "the frame comes just before the packet");
    assert_eq!(count(delay + ps, true), together + 1, "the frame comes just after it");
}

#[test]
fn what_a_closed_gate_holds_is_not_lost_and_all_of_it_arrives() {
    let (spec, _) = chain(Duration::from_us(1), true);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(flow.finish.is_some() && flow.dropped_packets == 0 && !outcome.is_held);
    let largest = outcome.ports.iter().map(|port| port.max_queue).max();
    assert!(largest < Some(MTU * 30), "{largest:?}: the queue stays at the switch that was paused");
}

/// Switches in a ring, a host at each of them, all links alike.
fn ring(switches: usize) -> Network {
    let node = |name: String, is_host| GraphNode { name, is_host, site: 0, switch_delay: Duration::ZERO };
    let (rate, delay) = (Rate::from_gbps(100), Duration::from_us(1));
    let link = |from, to| GraphLink { ends: [from, to], rate, delay, buffers: [None; 2] };
    let hosts = (0..switches).map(|number| node(format!("host{number}"), true));
    let others = (0..switches).map(|number| node(format!("switch{number}"), false));
    let uplinks = (0..switches).map(|number| link(number, switches + number));
    let around = (0..switches).map(|number| link(switches + number, switches + (number + 1) % switches));
    let (nodes, links) = (hosts.chain(others).collect(), uplinks.chain(around).collect());
    Graph { sites: 1, nodes, links, groups: Vec::new() }.build().expect("valid")
}

#[test]
fn switches_that_pause_each_other_around_a_ring_end_the_run_as_held() {
    // Each link between switches carries two flows, and waits for the next one.
    let flows: Vec<_> = (0..5).map(|host| (host, (host + 2) % 5, 100)).collect();
    let run = |shared| run(&burst(ring(5), &flows, shared));
    let pause = pause::PauseConfig { pause_above: MTU * 8, resume_at: MTU * 2 };
    let held = run(SharedConfig::Pause(pause));
    assert!(held.is_held && !held.interrupted);
    assert!(held.totals.in_network.packets > 0 && held.flows.iter().all(|flow| flow.finish.is_none()));
    let free = run(SharedConfig::None);
    assert!(!free.is_held && free.flows.iter().all(|flow| flow.finish.is_some()));
}
