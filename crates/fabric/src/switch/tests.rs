use super::shared::{SharedConfig, pause, pool};
use super::*;
use crate::network::Network;
use crate::port_config::PortConfig;
use crate::queue::port::PortModel;
use crate::routing::Routes;
use crate::topology::{FatTree, Star};
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{Bytes, FlowId, HostId, NodeId};

const RATE: Rate = Rate::from_gbps(100);
const DELAY: Duration = Duration::from_us(1);
/// How long a packet of 1,000 bytes takes to send.
const PACKET: Duration = Duration::from_ns(80);

/// The packets and frames that left the switch, with their times of arrival, links and flows.
#[derive(Default)]
struct Seen {
    packets: Vec<(Time, u32, PacketId)>,
    frames: Vec<(Time, u32, Frame)>,
    drops: Vec<u32>,
}

impl Sink<u32> for Seen {
    fn send(&mut self, link: &u32, at: Time, id: PacketId) {
        self.packets.push((at, *link, id));
    }

    fn send_frame(&mut self, link: &u32, at: Time, frame: Frame) {
        self.frames.push((at, *link, frame));
    }

    fn observes(&self) -> bool {
        true
    }

    fn observe(&mut self, _: Time, port: PortId, event: PortEvent<'_>) {
        if matches!(event, PortEvent::Dropped(..)) {
            self.drops.push(port.0);
        }
    }
}

/// A star of four hosts: links 0 to 3 lead to the switch, its ports 4 to 7 to the hosts.
struct World {
    switch: Switch<u32>,
    packets: Packets,
    seen: Seen,
}

impl World {
    fn new(config: &PortConfig, shared: SharedConfig) -> Self {
        let star = Star { switch_delay: Duration::ZERO, hosts: vec![(RATE, DELAY); 4] };
        let network: Network = star.build().expect("valid");
        let routes = Routes::new(&network, 1);
        let model = Arc::new(PortModel::changeable(config, RATE, DELAY));
        let ports = network.ports_of(NodeId(4));
        let reverse = network.reverse_links().into();
        let shared = shared.build().map(|model| shared::Attached { model, reverse });
        let config = SwitchConfig {
            routes: routes.tables[4].clone(),
            leaf_of: routes.leaf_of.as_slice().into(),
            first_port: PortId(ports.start),
            routing: Routing::Ecmp,
            jitter: Duration::ZERO,
            seed: 1,
            faults: None,
            shared,
            is_ordered: true,
        };
        let ports = ports.map(|id| (Port::new(&model, PortId(id), 1), id)).collect();
        Self { switch: Switch::new(config, ports), packets: Packets::for_test(), seen: Seen::default() }
    }

    /// A packet of 1,000 bytes arrives from one host for another.
    fn arrive(&mut self, ns: u64, from: u32, to: u32) {
        let packet = Packet::new(FlowId(from), HostId(to), Bytes::new(1000), 0, false, 0);
        let id = self.packets.insert(packet);
        self.switch.arrive(at(ns), PortId(from), id, Time::MAX, &mut self.packets, &mut self.seen);
    }

    fn advance(&mut self, ns: u64) -> Time {
        self.switch.advance(at(ns), &mut self.packets, &mut self.seen)
    }

    fn frame(&mut self, ns: u64, from: u32, frame: Frame) {
        self.switch.on_frame(at(ns), PortId(from), frame, &mut self.packets, &mut self.seen);
    }
}

fn at(ns: u64) -> Time {
    Time::ZERO + Duration::from_ns(ns)
}

fn drop_tail() -> PortConfig {
    PortConfig::drop_tail(Bytes::new(1 << 20))
}

/// The uplinks (0 or 1) that packets of one flow take at the first ToR of a small fat tree: data packets of these sizes, all
/// at once, and a control packet behind each.
fn uplinks(routing: Routing, sizes: &[u64]) -> (Vec<u32>, Vec<u32>) {
    let network = FatTree::new(4, RATE, DELAY).build().expect("valid");
    let (routes, tor) = (Routes::new(&network, 1), network.hosts);
    let model = Arc::new(PortModel::new(&drop_tail(), RATE, DELAY));
    let ports = network.ports_of(NodeId(tor));
    let config = SwitchConfig {
        routes: routes.tables[tor as usize].clone(),
        leaf_of: routes.leaf_of.as_slice().into(),
        first_port: PortId(ports.start),
        routing,
        jitter: Duration::ZERO,
        seed: 1,
        faults: None,
        shared: None,
        is_ordered: true,
    };
    let to = |id: u32| network.links[id as usize].to.0;
    let up: Vec<u32> = ports.clone().filter(|&id| to(id) >= network.hosts).collect();
    let ports = ports.map(|id| (Port::new(&model, PortId(id), 1), id)).collect();
    let mut world =
        World { switch: Switch::new(config, ports), packets: Packets::for_test(), seen: Seen::default() };
    let mut ids = [Vec::new(), Vec::new()];
    for size in sizes {
        for control in [false, true] {
            let packet = Packet::new(FlowId(7), HostId(15), Bytes::new(*size), 0, control, 0);
            let id = world.packets.insert(packet);
            ids[usize::from(control)].push(id);
            world.switch.arrive(at(0), PortId(0), id, Time::MAX, &mut world.packets, &mut world.seen);
        }
    }
    world.advance(100_000);
    let link = |id: PacketId| world.seen.packets.iter().find(|seen| seen.2 == id).map(|seen| seen.1);
    let place = |id| up.iter().position(|port| Some(*port) == link(id)).expect("it went up") as u32;
    let [data, control] = ids.map(|ids: Vec<_>| ids.into_iter().map(place).collect());
    (data, control)
}

#[test]
fn an_adaptive_switch_sends_data_to_the_port_with_the_least_of_it_and_of_several_to_the_hash_s() {
    let sizes = [1000, 3000, 1000, 1000, 500, 1000];
    let (hashed, control) = uplinks(Routing::Ecmp, &sizes);
    assert_eq!((&hashed, &hashed[1..]), (&control, &hashed[..5]), "one flow has one path");
    let (first, other) = (hashed[0], 1 - hashed[0]);
    let (adaptive, still) = uplinks(Routing::Adaptive, &sizes);
    // Queues before each: 0 0, 1000 0, 1000 3000, 2000 3000, 3000 3000, 3500 3000.
    assert_eq!(adaptive, [first, other, first, first, first, other]);
    assert_eq!(still, control, "control packets go by the hash");
}

#[test]
fn a_full_pool_drops_at_another_port_and_has_room_again_when_packets_have_left() {
    let mut world = World::new(&drop_tail(), SharedConfig::Pool(pool::PoolConfig { size: Bytes::new(3000) }));
    (0..3).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 0, 2);
    assert_eq!(world.seen.drops, [6], "port 6 to host 2 is empty");
    assert_eq!(world.switch.port(PortId(6)).counters().dropped, 1);
    world.arrive(80, 0, 2);
    assert_eq!(world.seen.drops, [6], "the first one has left at this instant");
    assert_eq!(world.advance(1000), Time::MAX);
    let arrivals: Vec<_> = world.seen.packets.iter().map(|&(time, link, _)| (time, link)).collect();
    let done = |count| Time::ZERO + PACKET * count + DELAY;
    assert_eq!(arrivals, [(done(1), 5), (done(2), 5), (done(2), 6), (done(3), 5)], "by time, then port");
}

#[test]
fn a_port_that_is_full_gives_back_what_the_packet_took_of_the_pool() {
    let config = PortConfig::drop_tail(Bytes::new(1000));
    let mut world = World::new(&config, SharedConfig::Pool(pool::PoolConfig { size: Bytes::new(2000) }));
    world.arrive(0, 0, 1);
    (0..5).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 0, 2);
    assert_eq!(world.seen.drops, [5; 5], "the pool still has room for host 2");
}

#[test]
fn a_switch_that_holds_much_from_a_neighbour_tells_it_to_wait_and_later_to_go_on() {
    let pause = pause::PauseConfig { pause_above: Bytes::new(2500), resume_at: Bytes::new(1000) };
    let mut world = World::new(&drop_tail(), SharedConfig::Pause(pause));
    (0..4).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 2, 3);
    assert_eq!(world.seen.frames, [(at(1000), 4, Frame::PAUSE)], "once, and only to host 0");
    world.advance(10_000);
    assert_eq!(world.seen.frames[1..], [(at(240) + DELAY, 4, Frame::RESUME)], "when a third one has left");
}

#[test]
fn a_closed_gate_holds_data_back_and_what_it_held_goes_when_it_opens() {
    let pause = pause::PauseConfig { pause_above: Bytes::MAX, resume_at: Bytes::ZERO };
    let mut world = World::new(&drop_tail(), SharedConfig::Pause(pause));
    world.arrive(0, 0, 1);
    world.arrive(0, 0, 1);
    world.frame(40, 1, Frame::PAUSE);
    assert_eq!(world.advance(500), Time::MAX, "nothing is due");
    assert_eq!(world.seen.packets.len(), 1, "the packet in service leaves");
    assert!(world.switch.is_held(), "and yet it is not idle");
    world.arrive(500, 0, 1);
    world.arrive(500, 0, 2);
    world.frame(600, 1, Frame::RESUME);
    world.advance(10_000);
    let arrivals: Vec<_> = world.seen.packets[1..].iter().map(|&(time, link, _)| (time, link)).collect();
    let expected = [(at(580) + DELAY, 6), (at(680) + DELAY, 5), (at(760) + DELAY, 5)];
    assert_eq!(arrivals, expected, "others are not held up");
    assert!(!world.switch.is_held());
}

#[test]
fn a_gate_that_opens_while_a_packet_is_in_service_changes_nothing() {
    let pause = pause::PauseConfig { pause_above: Bytes::MAX, resume_at: Bytes::ZERO };
    let mut world = World::new(&drop_tail(), SharedConfig::Pause(pause));
    world.arrive(0, 0, 1);
    world.arrive(0, 0, 1);
    world.frame(20, 1, Frame::PAUSE);
    world.frame(40, 1, Frame::RESUME);
    world.advance(10_000);
    let arrivals: Vec<_> = world.seen.packets.iter().map(|&(time, ..)| time).collect();
    assert_eq!(arrivals, [at(80) + DELAY, at(160) + DELAY]);
}
