use super::*;
use crate::packet::Packet;
use crate::port_config::{Marker, Phantom, Red};
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::{FlowId, HostId};
use proptest::prelude::*;

const GBPS_100: Rate = Rate::from_gbps(100);

fn data(packets: &mut Packets, size: u64) -> PacketId {
    packets.insert(Packet::new(FlowId(0), HostId(0), Bytes::new(size), 0, false, 0))
}

fn ack(packets: &mut Packets) -> PacketId {
    packets.insert(Packet::new(FlowId(0), HostId(0), Bytes::new(64), 0, true, 0))
}

fn port(config: &PortConfig) -> Port {
    Port::new(&Arc::new(PortModel::new(config, GBPS_100, Duration::from_us(1))), PortId(0), 1)
}

/// Completes everything and gives (time, packet) in order.
fn drain(port: &mut Port, packets: &mut Packets) -> Vec<(Time, PacketId)> {
    let mut out = vec![];
    while port.next_at() != Time::MAX {
        let at = port.next_at();
        out.extend(port.advance(at, packets).left.map(|id| (at, id)));
    }
    out
}

#[test]
fn packets_leave_in_order_one_transmission_apart() {
    let (mut packets, mut port) = (Packets::default(), port(&PortConfig::drop_tail(Bytes::MAX)));
    let ids: Vec<_> = (0..3).map(|_| data(&mut packets, 4160)).collect();
    for &id in &ids {
        port.enqueue(Time::ZERO, id, &mut packets);
    }
    let left = drain(&mut port, &mut packets);
    assert_eq!(left.iter().map(|x| x.1).collect::<Vec<_>>(), ids);
    assert_eq!(left[2].0, Time::from_ps(3 * 332_800));
    assert_eq!(port.counters().sent_bytes, Bytes::new(3 * 4160));
    assert_eq!(port.busy_until(left[2].0), Duration::from_ps(3 * 332_800));
}

#[test]
fn control_packets_overtake_waiting_data_but_not_the_packet_in_service() {
    let (mut packets, mut port) = (Packets::default(), port(&PortConfig::drop_tail(Bytes::MAX)));
    let (a, b, c) = (data(&mut packets, 4160), data(&mut packets, 4160), ack(&mut packets));
    for id in [a, b, c] {
        port.enqueue(Time::ZERO, id, &mut packets);
    }
    let order: Vec<_> = drain(&mut port, &mut packets).into_iter().map(|x| x.1).collect();
    assert_eq!(order, [a, c, b]);
}

#[test]
fn without_priority_control_packets_wait_their_turn_and_take_buffer() {
    let config = PortConfig { control_priority: false, ..PortConfig::drop_tail(Bytes::new(4200)) };
    let (mut packets, mut port) = (Packets::default(), port(&config));
    let (a, b) = (data(&mut packets, 4160), ack(&mut packets));
    assert!(matches!(port.enqueue(Time::ZERO, a, &mut packets), Admission::Started(_)));
    assert_eq!(port.enqueue(Time::ZERO, b, &mut packets), Admission::Dropped);
}

#[test]
fn the_buffer_holds_exactly_its_size_and_never_refuses_control_packets() {
    let (mut packets, mut port) = (Packets::default(), port(&PortConfig::drop_tail(Bytes::new(3 * 4160))));
    let mut taken = 0;
    for _ in 0..10 {
        let id = data(&mut packets, 4160);
        taken += u32::from(port.enqueue(Time::ZERO, id, &mut packets) != Admission::Dropped);
    }
    assert_eq!((taken, port.counters().dropped), (3, 7), "the packet in service counts");
    assert_eq!(port.counters().dropped_bytes, Bytes::new(7 * 4160));
    for _ in 0..1000 {
        let id = ack(&mut packets);
        assert_eq!(port.enqueue(Time::ZERO, id, &mut packets), Admission::Queued);
    }
    assert_eq!(port.queued(), Bytes::new(3 * 4160), "control packets are not in the data queue");
}

fn marks(config: &PortConfig, burst: usize) -> Vec<bool> {
    let (mut packets, mut port) = (Packets::default(), port(config));
    for _ in 0..burst {
        let id = data(&mut packets, 1000);
        port.enqueue(Time::ZERO, id, &mut packets);
    }
    drain(&mut port, &mut packets).into_iter().map(|(_, id)| packets[id].ecn_ce()).collect()
}

#[test]
fn a_step_marks_by_the_queue_left_behind_at_dequeue_and_by_the_queue_joined_at_enqueue() {
    let mut config =
        PortConfig { markers: vec![Marker::Step(Bytes::new(2500))], ..PortConfig::drop_tail(Bytes::MAX) };
    assert_eq!(marks(&config, 6), [true, true, true, false, false, false]);
    config.marking_point = MarkingPoint::Enqueue;
    assert_eq!(marks(&config, 6), [false, false, true, true, true, true]);
}

#[test]
fn any_marker_of_a_port_marks() {
    let phantom = Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped: false };
    let red = |min, max| Red { min: Bytes::new(min), max: Bytes::new(max) };
    let never = red(1 << 40, 1 << 41);
    let only_phantom = PortConfig {
        phantom: Some(phantom),
        markers: vec![Marker::Queue(never), Marker::Phantom(red(0, 1))],
        ..PortConfig::drop_tail(Bytes::MAX)
    };
    assert!(marks(&only_phantom, 3).iter().all(|&m| m));
    let only_queue =
        PortConfig { markers: vec![Marker::Queue(red(0, 1)), Marker::Phantom(never)], ..only_phantom };
    assert_eq!(marks(&only_queue, 3), [true, true, false], "the last leaves an empty queue");
}

#[test]
fn refused_packets_count_in_the_phantom_queue_only_if_asked() {
    for (count_dropped, expected) in [(false, 4160), (true, 3 * 4160)] {
        let config = PortConfig {
            phantom: Some(Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped }),
            ..PortConfig::drop_tail(Bytes::new(5000))
        };
        let (mut packets, mut port) = (Packets::default(), port(&config));
        for _ in 0..3 {
            let id = data(&mut packets, 4160);
            port.enqueue(Time::ZERO, id, &mut packets);
        }
        assert!(port.phantom(Time::ZERO).is_some_and(|level| level.get().abs_diff(expected) <= 1));
    }
}

#[test]
fn an_m_d_1_queue_has_the_pollaczek_khinchine_mean_wait_within_three_percent() {
    // W = rho / (2 (1 - rho)) services (Pollaczek and Khinchine, deterministic service).
    let service = GBPS_100.transmission(Bytes::new(4160));
    for rho in [0.5, 0.8] {
        let (mut packets, mut port) = (Packets::default(), port(&PortConfig::drop_tail(Bytes::MAX)));
        let mut random = Random::new(11, Purpose::Test, (rho * 100.0) as u64);
        let (mut now, mut arrivals, n) = (Time::ZERO, alloc::collections::VecDeque::new(), 1_000_000);
        let mut waited = 0_u128;
        let mut complete =
            |port: &mut Port, packets: &mut Packets, arrivals: &mut alloc::collections::VecDeque<Time>| {
                let at = port.next_at();
                packets_gone(port, packets);
                waited += u128::from((at - service).since(arrivals.pop_front().unwrap()).as_ps());
            };
        for _ in 0..n {
            now += service.mul_f64(random.exponential() / rho);
            while port.next_at() <= now {
                complete(&mut port, &mut packets, &mut arrivals);
            }
            let id = data(&mut packets, 4160);
            port.enqueue(now, id, &mut packets);
            arrivals.push_back(now);
        }
        while port.next_at() != Time::MAX {
            complete(&mut port, &mut packets, &mut arrivals);
        }
        let mean = waited as f64 / f64::from(n) / service.as_ps() as f64;
        let expected = rho / (2.0 * (1.0 - rho));
        assert!((mean / expected - 1.0).abs() < 0.03, "rho {rho}: {mean} against {expected}");
    }
}

fn packets_gone(port: &mut Port, packets: &mut Packets) {
    let id = port.advance(port.next_at(), packets).left.expect("a packet is in service");
    packets.remove(id);
}

#[test]
fn the_mean_queue_is_weighted_by_time() {
    let (mut packets, mut port) = (Packets::default(), port(&PortConfig::drop_tail(Bytes::MAX)));
    for _ in 0..2 {
        let id = data(&mut packets, 1000);
        port.enqueue(Time::ZERO, id, &mut packets);
    }
    drain(&mut port, &mut packets);
    // 2,000 B for 80 ns, 1,000 B for 80 ns, nothing for 160 ns.
    assert_eq!(port.mean_queue(Time::from_ps(320_000)), 750.0);
    assert_eq!(port.counters().max_queue, Bytes::new(2000));
}

proptest! {
    #[test]
    fn letting_control_packets_pass_changes_nothing_but_the_work(
        steps in proptest::collection::vec((0_u64..500_000, any::<bool>()), 1..300), horizon in 0_u64..40_000_000,
    ) {
        let red = Red { min: Bytes::new(4160), max: Bytes::new(8 * 4160) };
        let config = PortConfig {
            phantom: Some(Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped: true }),
            markers: vec![Marker::Queue(red), Marker::Phantom(red)],
            ..PortConfig::drop_tail(Bytes::new(10 * 4160))
        };
        let horizon = Time::from_ps(horizon);
        // By port: the packets in the order in which they left, with time and mark; counters; mean queue.
        let run = |passes: bool| {
            let (mut packets, mut port, mut now, mut left) = (Packets::default(), port(&config), Time::ZERO, vec![]);
            for (number, &(gap, control)) in (0..).zip(&steps) {
                now += Duration::from_ps(gap);
                while port.next_at() <= now {
                    let at = port.next_at();
                    left.extend(port.advance(now, &mut packets).left.map(|id| (at, id)));
                }
                let size = if control { 64 } else { 4160 };
                let packet = Packet::new(FlowId(number), HostId(0), Bytes::new(size), 0, control, 0);
                let id = packets.insert(packet);
                match passes.then(|| port.pass(now, &packets[id], horizon)).flatten() {
                    Some(at) => left.push((at, id)),
                    None if port.enqueue(now, id, &mut packets) == Admission::Dropped => drop(packets.remove(id)),
                    None => {}
                }
            }
            while port.next_at() != Time::MAX {
                let at = port.next_at();
                left.extend(port.advance(at, &mut packets).left.map(|id| (at, id)));
            }
            left.sort_unstable_by_key(|&(at, ..)| at);
            let seen: Vec<_> = left.iter().map(|&(at, id)| {
                let packet = &packets[id];
                (at, packet.flow, packet.ecn_ce())
            }).collect();
            (seen, *port.counters(), port.mean_queue(now + Duration::from_ms(1)), port.busy_until(now))
        };
        prop_assert_eq!(run(true), run(false));
    }

    #[test]
    fn packets_and_bytes_are_conserved(
        steps in proptest::collection::vec((0_u64..2_000_000, 64_u64..9000, any::<bool>()), 1..300),
        buffer in 10_000_u64..100_000,
    ) {
        let config = PortConfig::drop_tail(Bytes::new(buffer));
        let (mut packets, mut port, mut now) = (Packets::default(), port(&config), Time::ZERO);
        let (mut offered, mut left) = (Bytes::ZERO, 0_u64);
        for &(gap, size, control) in &steps {
            now += Duration::from_ps(gap);
            while port.next_at() <= now {
                packets_gone(&mut port, &mut packets);
                left += 1;
            }
            let id = if control { ack(&mut packets) } else { data(&mut packets, size) };
            offered += packets[id].size();
            if port.enqueue(now, id, &mut packets) == Admission::Dropped {
                packets.remove(id);
            }
            prop_assert!(port.queued() <= Bytes::new(buffer));
        }
        while port.next_at() != Time::MAX {
            packets_gone(&mut port, &mut packets);
            left += 1;
        }
        let c = port.counters();
        prop_assert_eq!(left + c.dropped, steps.len() as u64);
        prop_assert_eq!(c.sent_bytes + c.dropped_bytes, offered);
        prop_assert!(packets.is_empty() && port.queued().is_zero());
    }
}
