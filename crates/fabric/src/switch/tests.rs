use super::buckets::tests::Coming;
use super::shared::pause::{LosslessLinks, PauseConfig};
use super::shared::pool::{Accounts, Ingress, PoolConfig, Pooled};
use super::*;
use crate::network::Network;
use crate::port_config::{Overflow, PortConfig, Trim, Victim};
use crate::queue::port::PortModel;
use crate::routing::Routes;
use crate::topology::{FatTree, Star};
use alloc::sync::Arc;
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
    returns: Vec<u32>,
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

    /// Hosts send under their own number.
    fn sender(&self, packet: &Packet, _: [u32; 2]) -> HostId {
        HostId(packet.flow.0)
    }

    fn observe(&mut self, _: Time, port: PortId, event: PortEvent<'_>) {
        match event {
            PortEvent::Dropped(..) => self.drops.push(port.0),
            PortEvent::Returned { .. } => self.returns.push(port.0),
            _ => {}
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
    fn new(config: &PortConfig, pool: PoolConfig) -> Self {
        let star = Star { switch_delay: Duration::ZERO, hosts: vec![(RATE, DELAY); 4] };
        let network: Network = star.build().expect("valid");
        let routes = Routes::new(&network, 1);
        let model = Arc::new(PortModel::changeable(config, RATE, DELAY));
        let ports = network.ports_of(NodeId(4));
        let reverse: Arc<[PortId]> = network.reverse_links().into();
        let ingress = |port| {
            Ingress::new(&network, [reverse[port as usize], PortId(port)], Duration::ZERO, Bytes::new(1000))
        };
        let ingress: Vec<_> = ports.clone().map(ingress).collect();
        let shared = Shared::new(&pool, PortId(ports.start), &ingress, reverse).expect("large enough");
        let config = SwitchConfig {
            shared: Some(shared),
            ..SwitchConfig::new(routes.tables[4].clone(), PortId(ports.start))
        };
        let ports = ports.map(|id| (Port::new(&model, PortId(id), 1), id)).collect();
        Self { switch: Switch::new(config, ports), packets: Packets::new(), seen: Seen::default() }
    }

    /// A packet of 1,000 bytes arrives from one host for another.
    fn arrive(&mut self, ns: u64, from: u32, to: u32) {
        self.arrive_as(ns, from, to, 1000, false);
    }

    fn arrive_as(&mut self, ns: u64, from: u32, to: u32, size: u64, control: bool) {
        let packet = Packet::new(FlowId(from), HostId(to), Bytes::new(size), 0, control, 0);
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
        routing,
        ..SwitchConfig::new(routes.tables[tor as usize].clone(), PortId(ports.start))
    };
    let to = |id: u32| network.links[id as usize].to.0;
    let up: Vec<u32> = ports.clone().filter(|&id| to(id) >= network.hosts).collect();
    let ports = ports.map(|id| (Port::new(&model, PortId(id), 1), id)).collect();
    let mut world =
        World { switch: Switch::new(config, ports), packets: Packets::new(), seen: Seen::default() };
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

/// Everything is shared, and an account may take all of it.
fn pool(size: u64) -> PoolConfig {
    PoolConfig {
        size: Bytes::new(size),
        alpha: 64.0,
        reserve: Bytes::ZERO,
        accounts: Accounts::Ingress,
        switches: Pooled::All,
        pause: None,
    }
}

/// Over four links, each with headroom for three packets, `shared` bytes are shared.
fn lossless(shared: u64) -> PoolConfig {
    let (links, resume_offset) = (LosslessLinks::InsideSites, Bytes::new(1000));
    let pause = PauseConfig { links, resume_offset, headroom: Some(Bytes::new(3000)) };
    PoolConfig { alpha: 1.0, pause: Some(pause), ..pool(4 * 3000 + shared) }
}

const NEVER_FULL: u64 = 1 << 20;

#[test]
fn a_full_pool_drops_at_another_port_and_has_room_again_when_packets_have_left() {
    let mut world = World::new(&drop_tail(), pool(3000));
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
    assert_eq!(world.switch.pooled(), Bytes::ZERO);
}

#[test]
fn by_port_a_pool_drops_for_the_port_that_is_full_whoever_sends() {
    // A port that is full alone has half of the 6,000 B.
    let shares = PoolConfig { alpha: 1.0, accounts: Accounts::Egress, ..pool(6000) };
    let mut world = World::new(&drop_tail(), shares);
    (0..5).for_each(|from| world.arrive(0, [0, 2, 3][from % 3], 1));
    assert_eq!(world.seen.drops, [5, 5], "two packets too many wait for host 1");
    (0..3).for_each(|_| world.arrive(0, 0, 2));
    assert_eq!(
        world.seen.drops,
        [5, 5, 6],
        "of the 3,000 B that are free, the port to host 2 has two packets"
    );
    assert_eq!(world.advance(1000), Time::MAX);
    assert_eq!(world.switch.pooled(), Bytes::ZERO, "each packet gives back to the account that it took from");
}

#[test]
fn control_packets_that_go_first_take_nothing_of_the_pool_and_others_take_their_size() {
    for (first, held) in [(true, 1000), (false, 1128)] {
        let config = PortConfig { control_priority: first, ..drop_tail() };
        let mut world = World::new(&config, pool(NEVER_FULL));
        world.arrive(0, 0, 1);
        (0..2).for_each(|_| world.arrive_as(0, 0, 1, 64, true));
        assert_eq!(world.switch.pooled(), Bytes::new(held));
    }
}

#[test]
fn a_port_that_is_full_gives_back_what_the_packet_took_of_the_pool() {
    let config = PortConfig::drop_tail(Bytes::new(1000));
    let mut world = World::new(&config, pool(2000));
    world.arrive(0, 0, 1);
    (0..5).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 0, 2);
    assert_eq!(world.seen.drops, [5; 5], "the pool still has room for host 2");
}

#[test]
fn a_port_that_trims_cuts_off_the_payload_of_what_the_pool_refuses() {
    let (header, victim, headers) = (Bytes::new(64), Victim::Coin, Bytes::new(100));
    let overflow =
        Overflow::Trim(Trim { header, victim, headers, at_last_hop: false, weight: None, returns: false });
    let mut world = World::new(&PortConfig { overflow, ..drop_tail() }, pool(2000));
    (0..4).for_each(|_| world.arrive(0, 0, 1));
    assert_eq!(world.switch.port(PortId(5)).trimmed().0, 1, "of what came, whatever the coin says");
    assert_eq!((world.switch.pooled(), world.seen.drops.len()), (Bytes::new(2000), 1), "room for one header");
    world.advance(1000);
    let sizes = world.seen.packets.iter().map(|&(.., id)| world.packets[id].size().get());
    assert_eq!(sizes.collect::<Vec<_>>(), [1000, 64, 1000]);
}

/// Ports that hold two packets of 1,000 bytes and one header, and send other headers back.
fn returning() -> PortConfig {
    let (header, victim, headers) = (Bytes::new(64), Victim::Arriving, Bytes::new(64));
    let trim = Trim { header, victim, headers, at_last_hop: false, weight: None, returns: true };
    PortConfig { overflow: Overflow::Trim(trim), ..PortConfig::drop_tail(Bytes::new(2000)) }
}

#[test]
fn a_header_without_room_turns_round_and_leaves_by_the_port_to_its_sender() {
    let mut world = World::new(&returning(), pool(1 << 20));
    (0..2).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 2, 1);
    world.arrive(0, 3, 1);
    assert_eq!((&world.seen.returns[..], &world.seen.drops[..]), (&[5][..], &[][..]));
    assert_eq!(world.switch.pooled(), Bytes::new(3000), "of three that wait: what it took is given back");
    world.advance(1000);
    let back = world.seen.packets.iter().find(|&&(_, link, _)| link == 7).expect("it leaves for host 3");
    let packet = world.packets[back.2];
    assert_eq!(
        (back.0, packet.to(), packet.size()),
        (at(0) + Duration::from_ps(5120) + DELAY, HostId(3), Bytes::new(64))
    );
    assert!(packet.returned() && packet.control() && packet.trimmed());
    let counts = |port| {
        (world.switch.port(PortId(port)).returned(), world.switch.port(PortId(port)).counters().dropped)
    };
    assert_eq!([4, 5, 6, 7].map(counts), [(0, 0), (1, 0), (0, 0), (0, 0)]);
}

#[test]
fn a_header_that_finds_no_room_on_its_way_back_is_dropped_there() {
    let mut world = World::new(&returning(), pool(1 << 20));
    // Two packets and a header wait for host 3, and for host 1.
    (0..3).for_each(|_| world.arrive(0, 2, 3));
    (0..3).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 3, 1);
    assert_eq!((&world.seen.returns[..], &world.seen.drops[..]), (&[5][..], &[7][..]));
    assert_eq!((world.packets.dropped().trimmed[0], world.packets.dropped().whole[0]), (1, 0));
}

#[test]
fn ports_that_send_headers_back_are_served_in_one_order() {
    let star = Star { switch_delay: Duration::ZERO, hosts: vec![(RATE, DELAY); 2] };
    let (network, first) = (star.build().expect("valid"), PortId(2));
    let routes = Routes::new(&network, 1);
    let wants_order = |config: &PortConfig| {
        let model = Arc::new(PortModel::new(config, RATE, DELAY));
        let ports = (2..4).map(|id| (Port::new(&model, PortId(id), 1), id)).collect();
        let config = SwitchConfig { is_ordered: false, ..SwitchConfig::new(routes.tables[2].clone(), first) };
        Switch::new(config, ports).wants_order()
    };
    assert!(!wants_order(&drop_tail()) && wants_order(&returning()));
}

#[test]
fn a_neighbour_is_told_to_wait_and_later_to_go_on() {
    let mut world = World::new(&drop_tail(), lossless(6000));
    // Four share 6,000 B at alpha = 1: with three of them the threshold is reached.
    (0..4).for_each(|_| world.arrive(0, 0, 1));
    world.arrive(0, 2, 3);
    // 64 B take 5.12 ns.
    let frame = Duration::from_ps(5120);
    assert_eq!(
        world.seen.frames,
        [(Time::ZERO + frame + DELAY, 4, Frame::PAUSE)],
        "once, and only to host 0"
    );
    world.advance(10_000);
    // One leaves the headroom at 80 ns, and one of the three the shared part at 160 ns, as does the one from host 2.
    assert_eq!(world.seen.frames[1..], [(at(160) + frame + DELAY, 4, Frame::RESUME)]);
    assert_eq!(world.switch.pooled(), Bytes::ZERO);
}

#[test]
fn a_frame_leaves_before_what_waits_and_after_what_is_in_service() {
    let mut world = World::new(&drop_tail(), lossless(6000));
    // Two for host 0 itself, the first in service.
    (0..2).for_each(|_| world.arrive(0, 2, 0));
    (0..4).for_each(|_| world.arrive(40, 0, 1));
    assert_eq!(world.seen.frames, [(at(80) + Duration::from_ps(5120) + DELAY, 4, Frame::PAUSE)]);
    world.advance(200);
    let to_host_0 = world.seen.packets.iter().filter(|(_, link, _)| *link == 4);
    let arrivals: Vec<_> = to_host_0.map(|&(time, ..)| time).collect();
    assert_eq!(
        arrivals,
        [at(80) + DELAY, at(160) + Duration::from_ps(5120) + DELAY],
        "the second one waits for it"
    );
}

#[test]
fn a_packet_that_comes_while_a_frame_leaves_waits_for_it() {
    let mut world = World::new(&drop_tail(), lossless(6000));
    (0..3).for_each(|_| world.arrive(0, 0, 1));
    assert_eq!(world.seen.frames.len(), 1);
    world.arrive(0, 2, 0);
    world.advance(1000);
    let arrival = world.seen.packets.iter().find(|(_, link, _)| *link == 4).expect("it left");
    assert_eq!(arrival.0, at(80) + Duration::from_ps(5120) + DELAY);
}

#[test]
fn a_closed_gate_holds_data_back_and_what_it_held_goes_when_it_opens() {
    let mut world = World::new(&drop_tail(), pool(NEVER_FULL));
    world.arrive(0, 0, 1);
    world.arrive(0, 0, 1);
    world.frame(40, 1, Frame::PAUSE);
    assert_eq!(world.advance(500), Time::MAX, "nothing is due");
    assert_eq!(world.seen.packets.len(), 1, "the packet in service leaves");
    assert!(world.switch.is_held(), "and yet it is not idle");
    world.arrive(500, 0, 1);
    world.arrive(500, 0, 2);
    world.arrive_as(500, 0, 1, 1000, true);
    world.frame(600, 1, Frame::RESUME);
    world.advance(10_000);
    let arrivals: Vec<_> = world.seen.packets[1..].iter().map(|&(time, link, _)| (time, link)).collect();
    let expected = [(580, 5), (580, 6), (680, 5), (760, 5)].map(|(ns, link)| (at(ns) + DELAY, link));
    assert_eq!(arrivals, expected, "others, and control packets, are not held up");
    assert!(!world.switch.is_held());
    let record = world.switch.pauses(PortId(5));
    assert_eq!((record.count(), record.time(at(10_000))), (1, Duration::from_ns(560)));
}

#[test]
fn a_gate_that_opens_while_a_packet_is_in_service_changes_nothing() {
    let mut world = World::new(&drop_tail(), pool(NEVER_FULL));
    world.arrive(0, 0, 1);
    world.arrive(0, 0, 1);
    world.frame(20, 1, Frame::PAUSE);
    world.frame(40, 1, Frame::RESUME);
    world.advance(10_000);
    let arrivals: Vec<_> = world.seen.packets.iter().map(|&(time, ..)| time).collect();
    assert_eq!(arrivals, [at(80) + DELAY, at(160) + DELAY]);
}

#[test]
fn a_gate_that_opens_while_a_frame_leaves_lets_data_go_behind_it() {
    let mut world = World::new(&drop_tail(), lossless(6000));
    world.frame(0, 0, Frame::PAUSE);
    world.arrive(0, 2, 0);
    (0..3).for_each(|_| world.arrive(1, 0, 1));
    assert_eq!(world.seen.frames.len(), 1, "host 0 is paused in turn");
    world.frame(2, 0, Frame::RESUME);
    world.advance(100);
    let arrival = world.seen.packets.iter().find(|(_, link, _)| *link == 4).expect("it left");
    assert_eq!(arrival.0, at(81) + Duration::from_ps(5120) + DELAY);
}

#[test]
fn who_waits_for_which_ports_is_known() {
    let mut world = World::new(&drop_tail(), lossless(6000));
    (0..2).for_each(|_| world.arrive(0, 0, 1));
    assert_eq!(world.switch.waits_for(PortId(0), &world.packets), None, "it is not paused");
    world.arrive(0, 0, 3);
    world.arrive(0, 2, 3);
    assert_eq!(world.switch.waits_for(PortId(0), &world.packets), Some(vec![PortId(5), PortId(7)]));
    assert_eq!(world.switch.waits_for(PortId(2), &world.packets), None);
}

/// Departures by time, link and flow of a window in which so many packets come.
fn window(count: u32, buckets: &mut Buckets<Coming>) -> Vec<(Time, u32, FlowId)> {
    let network =
        Star { switch_delay: Duration::ZERO, hosts: vec![(RATE, DELAY); 4] }.build().expect("valid");
    let routes = Routes::new(&network, 1);
    // Control packets go first: no FIFO, so that packets are served port by port.
    let config = PortConfig { control_priority: true, ..PortConfig::drop_tail(Bytes::new(20_000)) };
    let model = Arc::new(PortModel::new(&config, RATE, DELAY));
    let ports = network.ports_of(NodeId(4));
    let config = SwitchConfig {
        is_ordered: false,
        ..SwitchConfig::new(routes.tables[4].clone(), PortId(ports.start))
    };
    let ports = ports.map(|id| (Port::new(&model, PortId(id), 1), id)).collect();
    let (mut switch, mut packets, mut seen) = (Switch::new(config, ports), Packets::new(), Seen::default());
    // 61 is prime to the number of packets: each comes at another time, late ones first.
    let arrival = |n: u32| {
        let packet = Packet::new(FlowId(n), HostId(n % 4), Bytes::new(1000), 0, n.is_multiple_of(5), 0);
        Coming(u64::from(n * 61 % count) * 3, packets.insert(packet))
    };
    let mut arrivals: Vec<_> = (0..count).map(arrival).collect();
    let end = at(u64::from(count) * 3);
    let span = Span { start: Time::ZERO, end, horizon: Time::ZERO, ingress: &[0] };
    switch.run(&span, &mut arrivals, buckets, &mut packets, &mut seen);
    switch.advance(end + PACKET * u64::from(count), &mut packets, &mut seen);
    let mut left: Vec<_> = seen.packets.iter().map(|&(at, link, id)| (at, link, packets[id].flow)).collect();
    left.sort_unstable();
    left
}

#[test]
fn a_window_with_more_packets_than_buckets_have_room_for_comes_out_as_one_that_fits() {
    let count = 3000;
    let (mut few, mut enough) = (Buckets::of(1 << 10), Buckets::default());
    assert!(few.room(4) < count as usize && enough.room(4) > count as usize);
    let left = window(count, &mut few);
    assert_eq!(left, window(count, &mut enough));
    assert!(!left.is_empty() && left.len() < count as usize, "some are dropped: {}", left.len());
}
