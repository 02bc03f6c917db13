//! Ports that share a buffer, and the pauses that come of it, do what they say, under every engine alike.

use crate::common::*;
use farspan_fabric::Network;
use farspan_fabric::switch::shared::pause::{LosslessLinks, PauseConfig};
use farspan_fabric::switch::shared::pool::{Accounts, PoolConfig, Pooled};
use farspan_fabric::topology::{Graph, GraphLink, GraphNode};
use farspan_sim::{InitialWindow, Outcome, Spec, Trace};
use farspan_units::{Bytes, Duration, NodeId, PortId, Rate, Time};

/// A packet on the wire, and how long it takes at 100 Gb/s.
const MTU: Bytes = Bytes::new(4160);
const PACKET: Duration = Duration::from_ps(332_800);
/// How long a frame takes.
const FRAME: Duration = Duration::from_ps(5120);

/// Flows of so many packets over a network, all sent at once.
fn burst(network: Network, flows: &[(u32, u32, u64)], pool: Option<PoolConfig>) -> Spec {
    let scheme = scheme(control("fixed_window"), "ecmp");
    let flows = flows.iter().map(|&(src, dst, packets)| flow(src, dst, MSS * packets, Time::ZERO)).collect();
    // The wait is so long that nothing times out.
    let mut spec = spec(network, ports(Bytes::new(1 << 30), &[]), &scheme, flows);
    spec.initial_window = InitialWindow::Bytes(Bytes::new(1 << 20));
    spec.pool = pool;
    spec
}

/// A pool of which, beside headroom, this much is shared at the switch with most links.
fn shares(network: &Network, shared: Bytes, pause: Option<PauseConfig>) -> Option<PoolConfig> {
    let pool = PoolConfig {
        size: shared,
        alpha: 1.0,
        reserve: Bytes::ZERO,
        accounts: Accounts::Ingress,
        switches: Pooled::All,
        pause,
    };
    Some(sharing(&burst(network.clone(), &[], None), pool, shared))
}

/// Pauses inside a site, with enough headroom.
const PAUSES: PauseConfig =
    PauseConfig { links: LosslessLinks::InsideSites, resume_offset: Bytes::new(3072), headroom: None };

fn port<'a>(spec: &Spec, outcome: &'a Outcome, port: &str) -> &'a farspan_sim::PortOutcome {
    &outcome.ports[spec.network.port_named(port).expect("a port").index()]
}

fn pauses(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.pauses).sum()
}

fn star_of(hosts: usize) -> Network {
    star(hosts, Rate::from_gbps(100), Duration::from_us(1))
}

#[test]
fn a_full_pool_drops_at_another_port() {
    // Two senders fill the switch with packets for host 1; the path to host 3 is free.
    let flows = [(0, 1, 40), (2, 1, 40), (4, 3, 40)];
    let run = |shared: u64| {
        let mut spec = burst(star_of(5), &flows, shares(&star_of(5), MTU * shared, None));
        spec.pool.iter_mut().for_each(|pool| pool.alpha = 64.0);
        let outcome = run(&spec);
        ["tor0->host1#0", "tor0->host3#0"].map(|name| port(&spec, &outcome, name).dropped_packets)
    };
    let [at_the_full_port, at_the_other] = run(10);
    assert!(at_the_full_port > 10 && at_the_other > 10, "{at_the_full_port}, {at_the_other}");
    assert_eq!(run(200), [0, 0]);
}

/// 64 hosts send to one, through a buffer of which 256 packets are shared.
fn incast(pause: Option<PauseConfig>) -> Spec {
    let flows: Vec<_> = (1..65).map(|host| (host, 0, 32)).collect();
    burst(star_of(65), &flows, shares(&star_of(65), MTU * 256, pause))
}

#[test]
fn lossless_links_drop_nothing_in_an_incast_of_64_and_lossy_ones_do() {
    let spec = incast(Some(PAUSES));
    let outcome = run(&spec);
    assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
    assert_eq!(
        (outcome.totals.dropped.packets, outcome.flows.iter().map(|f| f.sender.timeouts).sum()),
        (0, 0_u64)
    );
    let hosts = (1..65).map(|host| port(&spec, &outcome, &format!("host{host}->tor0#0")));
    assert!(hosts.clone().all(|port| port.pauses > 0 && !port.paused.is_zero()), "every sender was paused");
    let of_others = pauses(&outcome) - hosts.map(|port| port.pauses).sum::<u64>();
    assert_eq!(of_others, 0, "no one pauses a switch that has only hosts around it, nor the receiver");
    // At the full rate: 64 flows of 32 packets and the first one's way.
    let (end, sending) = (outcome.end.since(Time::ZERO), PACKET * (64 * 32));
    assert!(end < sending + Duration::from_us(12), "{end}: the receiver's link is never idle for long");
    let lossy = run(&incast(None));
    assert!(lossy.totals.dropped.packets > 100 && pauses(&lossy) == 0);
}

#[test]
fn pauses_spread_from_switch_to_switch_and_nothing_is_dropped() {
    let network = tree(4).build().expect("valid");
    let flows: Vec<_> = (1..16).map(|host| (host, 0, 60)).collect();
    for control_goes_first in [true, false] {
        let mut spec = burst(network.clone(), &flows, shares(&network, MTU * 40, Some(PAUSES)));
        spec.ports.0.iter_mut().for_each(|port| port.control_priority = control_goes_first);
        (spec.jitter, spec.port_jitter) = (PACKET, PACKET);
        let outcome = run(&spec);
        assert_eq!(outcome.totals.dropped.packets, 0);
        assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()) && outcome.deadlock.is_empty());
        let of = |from: &str, to: &str| {
            let is_meant = |port: &&farspan_sim::PortOutcome| {
                port.name.split_once("->").is_some_and(|(a, b)| a.starts_with(from) && b.starts_with(to))
            };
            outcome.ports.iter().filter(is_meant).map(|port| port.pauses).sum::<u64>()
        };
        let tiers = [("agg", "tor"), ("core", "agg"), ("agg", "core"), ("tor", "agg"), ("host", "tor")];
        let counts = tiers.map(|(from, to)| of(from, to));
        assert!(counts.iter().all(|count| *count > 0), "{counts:?} on the way back to the hosts");
        assert_eq!(pauses(&outcome), counts.iter().sum::<u64>());
    }
}

#[test]
fn links_between_sites_are_lossy_and_drop_while_those_inside_pause() {
    let network = two_sites(4, Duration::from_us(50));
    // Out of one site, to a host that others of its own site send to as well.
    let flows: Vec<_> =
        (0..8).map(|host| (host, 16, 200)).chain((17..24).map(|host| (host, 16, 200))).collect();
    let spec = burst(network.clone(), &flows, shares(&network, MTU * 30, Some(PAUSES)));
    let outcome = run(&spec);
    let dropped = |is: fn(&str) -> bool| {
        let ports = outcome.ports.iter().filter(|port| is(&port.name));
        ports.map(|port| port.dropped_packets).sum::<u64>()
    };
    assert!(dropped(|name| name.starts_with("border1->")) > 0, "what comes from the other site");
    assert_eq!(dropped(|name| !name.starts_with("border1->")), 0);
    assert!(pauses(&outcome) > 0);
    let wan = outcome.ports.iter().filter(|port| port.name.starts_with("border0->border1"));
    assert!(
        wan.clone().all(|port| port.pauses == 0 && port.sent_packets > 0),
        "no one pauses the link between"
    );
}

/// A flow over two switches to a host at half the rate, the link between the switches as long as `delay`,
/// under pause frames or without.
fn chain(delay: Duration, pauses: bool) -> (Spec, PortId) {
    let mut network = dumbbell(Rate::from_gbps(100));
    let is_switch = |node: NodeId| node.0 >= network.hosts;
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
    // With eight of sixteen packets taken the threshold is reached.
    let pool = shares(&network, MTU * 16, pauses.then_some(PAUSES)).filter(|_| pauses);
    let mut spec = burst(network, &[(0, receiver, 60)], pool);
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
    // A frame comes back to the first switch its own time and twice the link's delay after a packet came
    // to the other: with four packet times together at the same picosecond as another packet.
    let delay = Duration::from_ps((PACKET * 4 - FRAME).as_ps() / 2);
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
    let (spec, between) = chain(Duration::from_us(1), true);
    let outcome = run(&spec);
    let flow = &outcome.flows[0];
    assert!(flow.finish.is_some() && flow.dropped_packets == 0 && outcome.deadlock.is_empty());
    let largest = outcome.ports.iter().map(|port| port.max_queue).max();
    assert!(largest < Some(MTU * 30), "{largest:?}: the queue stays at the switch that was paused");
    let (first, paused) = (&outcome.ports[between.index()], port(&spec, &outcome, "host0->tor0#0"));
    assert!(first.pauses > 1 && paused.pauses > 0, "{}, {}", first.pauses, paused.pauses);
    // Half of the time, since the other end drains at half the rate, once it has begun.
    let share = first.paused / outcome.end.since(Time::ZERO);
    assert!((0.2..0.5).contains(&share), "{share}");
    assert!(port(&spec, &outcome, "tor0->host0#0").utilization > 0.0, "acknowledgements and frames");
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

/// Each link between the switches of a ring carries two flows, and waits for the next one.
fn around(pause: Option<PauseConfig>) -> Spec {
    let flows: Vec<_> = (0..5).map(|host| (host, (host + 2) % 5, 100)).collect();
    burst(ring(5), &flows, shares(&ring(5), MTU * 16, pause))
}

#[test]
fn switches_that_pause_each_other_around_a_ring_are_found_in_a_deadlock() {
    let spec = around(Some(PAUSES));
    let held = run(&spec);
    assert!(held.totals.in_network.packets > 0 && held.flows.iter().all(|flow| flow.finish.is_none()));
    let names: Vec<_> = held.deadlock.iter().map(|port| spec.network.port_name(*port)).collect();
    for switch in 0..5 {
        let (next, host) = ((switch + 1) % 5, format!("host{switch}->switch{switch}#0"));
        assert!(names.contains(&format!("switch{switch}->switch{next}#0")), "{names:?}");
        assert!(names.contains(&host), "{names:?}: it waits for the cycle");
    }
    assert_eq!((names.len(), held.totals.dropped.packets), (10, 0));
    let free = Spec { pool: None, ..spec };
    let free = run(&free);
    assert!(free.deadlock.is_empty() && free.flows.iter().all(|flow| flow.finish.is_some()));
}

#[test]
fn a_deadlock_is_found_even_while_timers_run() {
    let mut spec = around(Some(PAUSES));
    let mut ends_at = |us| {
        spec.stop.time = Time::ZERO + Duration::from_us(us);
        let outcome = run(&spec);
        assert_eq!(outcome.end, spec.stop.time, "time-outs are to come: it is not idle");
        outcome.deadlock.len()
    };
    assert_eq!((ends_at(5), ends_at(100)), (0, 10), "before and after the queues have grown");
}
