mod telemetry;
mod trimming;

use super::*;
use crate::packet::Packet;
use crate::port_config::{Marker, MarkingPoint, Overflow, Phantom, PortConfig, Red, Trim, Victim};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;
use farspan_units::Rate;
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
    seeded(config, 0, 1)
}

fn seeded(config: &PortConfig, id: u32, seed: u64) -> Port {
    Port::new(&Arc::new(PortModel::new(config, GBPS_100, Duration::from_us(1))), PortId(id), seed)
}

/// Completes everything and gives (time, packet) in order.
fn drain(port: &mut Port, packets: &mut Packets) -> Vec<(Time, PacketId)> {
    let mut out = vec![];
    while port.next_at() != Time::MAX {
        let at = port.next_at();
        out.extend(port.advance(at, packets, Gate::Open).left.map(|id| (at, id)));
    }
    out
}

#[test]
fn packets_leave_in_order_one_transmission_apart() {
    let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::MAX)));
    let ids: Vec<_> = (0..3).map(|_| data(&mut packets, 4160)).collect();
    for &id in &ids {
        port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
    }
    let left = drain(&mut port, &mut packets);
    assert_eq!(left.iter().map(|x| x.1).collect::<Vec<_>>(), ids);
    assert_eq!(left[2].0, Time::from_ps(3 * 332_800));
    assert_eq!(port.counters().sent_bytes, Bytes::new(3 * 4160));
    assert_eq!(port.busy_until(left[2].0), Duration::from_ps(3 * 332_800));
}

#[test]
fn control_packets_overtake_waiting_data_but_not_the_packet_in_service() {
    let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::MAX)));
    let (a, b, c) = (data(&mut packets, 4160), data(&mut packets, 4160), ack(&mut packets));
    for id in [a, b, c] {
        port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
    }
    let order: Vec<_> = drain(&mut port, &mut packets).into_iter().map(|x| x.1).collect();
    assert_eq!(order, [a, c, b]);
}

#[test]
fn what_waits_is_the_packet_in_service_then_control_packets_then_data_each_in_order() {
    let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::MAX)));
    assert_eq!(port.waiting(&packets).count(), 0);
    let [a, b, c] = [(); 3].map(|()| data(&mut packets, 4160));
    let [d, e] = [(); 2].map(|()| ack(&mut packets));
    for id in [a, b, c, d, e] {
        port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
    }
    assert_eq!(port.waiting(&packets).collect::<Vec<_>>(), [a, d, e, b, c]);
    drain(&mut port, &mut packets);
    assert_eq!(port.waiting(&packets).count(), 0);
}

#[test]
fn without_priority_control_packets_wait_their_turn_and_take_buffer() {
    let config = PortConfig { control_priority: false, ..PortConfig::drop_tail(Bytes::new(4200)) };
    let (mut packets, mut port) = (Packets::new(), port(&config));
    let (a, b) = (data(&mut packets, 4160), ack(&mut packets));
    assert!(matches!(port.enqueue(Time::ZERO, a, &mut packets, Gate::Open), Admission::Started(_)));
    assert_eq!(port.enqueue(Time::ZERO, b, &mut packets, Gate::Open), Admission::Dropped);
}

#[test]
fn the_buffer_holds_exactly_its_size_and_never_refuses_control_packets() {
    let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::new(3 * 4160))));
    let mut taken = 0;
    for _ in 0..10 {
        let id = data(&mut packets, 4160);
        taken += u32::from(port.enqueue(Time::ZERO, id, &mut packets, Gate::Open) != Admission::Dropped);
    }
    assert_eq!((taken, port.counters().dropped), (3, 7), "the packet in service counts");
    assert_eq!(port.counters().dropped_bytes, Bytes::new(7 * 4160));
    for _ in 0..1000 {
        let id = ack(&mut packets);
        assert_eq!(port.enqueue(Time::ZERO, id, &mut packets, Gate::Open), Admission::Queued);
    }
    assert_eq!(port.queued(Time::ZERO), Bytes::new(3 * 4160), "control packets are not in the data queue");
}

fn marks(config: &PortConfig, burst: usize) -> Vec<bool> {
    let (mut packets, mut port) = (Packets::new(), port(config));
    for _ in 0..burst {
        let id = data(&mut packets, 1000);
        port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
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
    let red = |min, max| Red::new(Bytes::new(min), Bytes::new(max));
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
        let (mut packets, mut port) = (Packets::new(), port(&config));
        for _ in 0..3 {
            let id = data(&mut packets, 4160);
            port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
        }
        assert!(port.phantom(Time::ZERO).is_some_and(|level| level.get().abs_diff(expected) <= 1));
    }
}

#[test]
fn an_m_d_1_queue_has_the_pollaczek_khinchine_mean_wait_within_three_percent() {
    // W = rho / (2 (1 - rho)) services (Pollaczek and Khinchine, deterministic service).
    let service = GBPS_100.transmission(Bytes::new(4160));
    for rho in [0.5, 0.8] {
        let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::MAX)));
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
            port.enqueue(now, id, &mut packets, Gate::Open);
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
    let id = port.advance(port.next_at(), packets, Gate::Open).left.expect("a packet is in service");
    packets.remove(id);
}

#[test]
fn the_mean_queue_is_weighted_by_time() {
    let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::MAX)));
    for _ in 0..2 {
        let id = data(&mut packets, 1000);
        port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
    }
    drain(&mut port, &mut packets);
    // 2,000 B for 80 ns, 1,000 B for 80 ns, nothing for 160 ns.
    assert_eq!(port.mean_queue(Time::from_ps(320_000)), 750.0);
    assert_eq!(port.counters().max_queue, Bytes::new(2000));
}

#[test]
fn the_queue_of_a_fifo_port_is_what_is_left_to_send() {
    let config = PortConfig { control_priority: false, ..PortConfig::drop_tail(Bytes::new(2500)) };
    let (mut packets, mut port) = (Packets::new(), port(&config));
    let mut arrive = |ns: u64| {
        let id = data(&mut packets, 1000);
        port.forward(Time::ZERO + Duration::from_ns(ns), &mut packets[id], Time::MAX).map(Time::as_ps)
    };
    // At 100 Gb/s a packet takes 80 ns. After 40 ns 1,500 B are left, and another packet just fits.
    assert_eq!(
        [arrive(0), arrive(0), arrive(39), arrive(40)],
        [Some(80_000), Some(160_000), None, Some(240_000)]
    );
    let at = |ns| Time::ZERO + Duration::from_ns(ns);
    assert_eq!([at(40), at(60), at(240)].map(|now| port.queued(now).get()), [2500, 2250, 0]);
    assert_eq!(port.counters().max_queue, Bytes::new(2500));
    // From 2,000 B to 1,500 B in 40 ns, then from 2,500 B to nothing in 200 ns.
    assert_eq!(port.mean_queue(at(40)), 1750.0);
    assert_eq!(port.mean_queue(at(320)), (1750.0 * 40.0 + 1250.0 * 200.0) / 320.0);
    assert_eq!(port.busy_until(at(320)), Duration::from_ns(240));
}

proptest! {
    #[test]
    fn forwarding_control_packets_changes_nothing_but_the_work(
        steps in proptest::collection::vec((0_u64..500_000, any::<bool>()), 1..300), horizon in 0_u64..40_000_000,
    ) {
        let red = Red::new(Bytes::new(4160), Bytes::new(8 * 4160));
        let config = PortConfig {
            phantom: Some(Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped: true }),
            markers: vec![Marker::Queue(red), Marker::Phantom(red)],
            ..PortConfig::drop_tail(Bytes::new(10 * 4160))
        };
        let horizon = Time::from_ps(horizon);
        // Gives, for each port, the packets in the order in which they left, with time and mark; counters; mean queue.
        let run = |passes: bool| {
            let (mut packets, mut port, mut now, mut left) = (Packets::new(), port(&config), Time::ZERO, vec![]);
            for (number, &(gap, control)) in (0..).zip(&steps) {
                now += Duration::from_ps(gap);
                while port.next_at() <= now {
                    let at = port.next_at();
                    left.extend(port.advance(now, &mut packets, Gate::Open).left.map(|id| (at, id)));
                }
                let size = if control { 64 } else { 4160 };
                let packet = Packet::new(FlowId(number), HostId(0), Bytes::new(size), 0, control, 0);
                let id = packets.insert(packet);
                match passes.then(|| port.bypass(now, &packets[id], horizon)).flatten() {
                    Some(at) => left.push((at, id)),
                    None if port.enqueue(now, id, &mut packets, Gate::Open) == Admission::Dropped => drop(packets.remove(id)),
                    None => {}
                }
            }
            while port.next_at() != Time::MAX {
                let at = port.next_at();
                left.extend(port.advance(at, &mut packets, Gate::Open).left.map(|id| (at, id)));
            }
            left.sort_unstable_by_key(|&(at, ..)| at);
            let seen: Vec<_> = left.iter().map(|&(at, id)| {
                let packet = &packets[id];
                (at, packet.flow, packet.ecn_ce())
            }).collect();
            (seen, port.counters(), port.mean_queue(now + Duration::from_ms(1)), port.busy_until(now))
        };
        prop_assert_eq!(run(true), run(false));
    }

    #[test]
    fn forwarding_at_a_fifo_port_changes_nothing_but_the_work(
        steps in proptest::collection::vec((0_u64..500_000, any::<bool>()), 1..300), horizon in 0_u64..80_000_000,
        odd in any::<bool>(), has_phantom in any::<bool>(),
    ) {
        let red = Red::new(Bytes::new(3 * 4160), Bytes::new(8 * 4160));
        let phantom = Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped: true };
        let markers = if has_phantom { vec![Marker::Queue(red), Marker::Phantom(red)] } else { vec![Marker::Queue(red)] };
        let config = PortConfig {
            phantom: has_phantom.then_some(phantom),
            markers,
            marking_point: MarkingPoint::Enqueue,
            control_priority: false,
            ..PortConfig::drop_tail(Bytes::new(10 * 4160))
        };
        let rate = if odd { Rate::from_bps(70_000_000_001) } else { GBPS_100 };
        let model = Arc::new(PortModel::new(&config, rate, Duration::from_us(1)));
        let horizon = Time::from_ps(horizon);
        // Gives, for each port, the packets in the order in which they left, with time and mark; counters; queue and mean
        // queue, busy time.
        let run = |flows: bool| {
            let (mut packets, mut port, mut now, mut left) =
                (Packets::new(), Port::new(&model, PortId(0), 1), Time::ZERO, vec![]);
            let mut looks = vec![];
            for (number, &(gap, control)) in (0..).zip(&steps) {
                now += Duration::from_ps(gap);
                while port.next_at() <= now {
                    let at = port.next_at();
                    left.extend(port.advance(now, &mut packets, Gate::Open).left.map(|id| (at, id)));
                }
                let size = if control { 64 } else { 4160 };
                let packet = Packet::new(FlowId(number), HostId(0), Bytes::new(size), 0, control, 0);
                let id = packets.insert(packet);
                match flows.then(|| port.forward(now, &mut packets[id], horizon)).flatten() {
                    Some(at) => left.push((at, id)),
                    None if port.enqueue(now, id, &mut packets, Gate::Open) == Admission::Dropped => drop(packets.remove(id)),
                    None => {}
                }
                looks.push((port.queued(now), port.mean_queue(now), port.phantom(now)));
                prop_assert!(port.queued(now) <= Bytes::new(10 * 4160));
            }
            while port.next_at() != Time::MAX {
                let at = port.next_at();
                left.extend(port.advance(at, &mut packets, Gate::Open).left.map(|id| (at, id)));
            }
            let seen: Vec<_> = left.iter().map(|&(at, id)| {
                let packet = &packets[id];
                (at, packet.flow, packet.ecn_ce())
            }).collect();
            Ok((seen, port.counters(), looks, port.busy_until(now)))
        };
        prop_assert_eq!(run(true)?, run(false)?);
    }

    #[test]
    fn packets_and_bytes_are_conserved(
        steps in proptest::collection::vec((0_u64..2_000_000, 64_u64..9000, any::<bool>()), 1..300),
        buffer in 10_000_u64..100_000,
    ) {
        let config = PortConfig::drop_tail(Bytes::new(buffer));
        let (mut packets, mut port, mut now) = (Packets::new(), port(&config), Time::ZERO);
        let (mut offered, mut left) = (Bytes::ZERO, 0_u64);
        for &(gap, size, control) in &steps {
            now += Duration::from_ps(gap);
            while port.next_at() <= now {
                packets_gone(&mut port, &mut packets);
                left += 1;
            }
            let id = if control { ack(&mut packets) } else { data(&mut packets, size) };
            offered += packets[id].size();
            if port.enqueue(now, id, &mut packets, Gate::Open) == Admission::Dropped {
                packets.remove(id);
            }
            prop_assert!(port.queued(Time::ZERO) <= Bytes::new(buffer));
        }
        while port.next_at() != Time::MAX {
            packets_gone(&mut port, &mut packets);
            left += 1;
        }
        let c = port.counters();
        prop_assert_eq!(left + c.dropped, steps.len() as u64);
        prop_assert_eq!(c.sent_bytes + c.dropped_bytes, offered);
        prop_assert!(packets.is_empty() && port.queued(Time::ZERO).is_zero());
    }
}

#[test]
fn a_port_that_stops_discards_what_waits_and_what_it_sends_and_begins_anew() {
    let (mut packets, mut port) = (Packets::new(), port(&PortConfig::drop_tail(Bytes::MAX)));
    for _ in 0..3 {
        let id = data(&mut packets, 4160);
        port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
    }
    let waiting = ack(&mut packets);
    port.enqueue(Time::ZERO, waiting, &mut packets, Gate::Open);
    // One has left; the ACK is in service, two wait.
    let first = port.next_at();
    assert!(port.advance(first, &mut packets, Gate::Open).left.is_some());
    let now = first + Duration::from_ps(1000);
    let lost = port.flush(now, &mut packets, |_, _| {});
    assert_eq!((lost.packets, lost.bytes), (3, Bytes::new(2 * 4160 + 64)));
    assert_eq!((port.next_at(), port.queued(now), packets.len()), (Time::MAX, Bytes::ZERO, 1));
    assert_eq!(port.busy_until(now), now.since(Time::ZERO), "it was busy all the time");
    assert_eq!(port.counters().sent_packets, 1);
    let mean = port.mean_queue(now);
    assert_eq!(port.mean_queue(now + now.since(Time::ZERO)), mean / 2.0, "nothing waits from there on");
    let id = data(&mut packets, 4160);
    let admission = port.enqueue(now, id, &mut packets, Gate::Open);
    let ends = now + Duration::from_ps(332_800);
    assert_eq!(admission, Admission::Started(Service { ends, backlogged: false }));
}

#[test]
fn another_rate_counts_from_the_next_service_on_and_leaves_the_phantom_queue_alone() {
    let phantom = Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped: false };
    let config = PortConfig { phantom: Some(phantom), ..PortConfig::drop_tail(Bytes::MAX) };
    let mut levels = vec![];
    for slower in [false, true] {
        let (mut packets, mut port) = (Packets::new(), port(&config));
        for _ in 0..2 {
            let id = data(&mut packets, 4160);
            port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
        }
        if slower {
            port.set_rate(Rate::from_gbps(10));
        }
        levels.push(port.phantom(Time::from_ps(300_000)));
        let second = if slower { 3_328_000 } else { 332_800 };
        let times: Vec<_> = drain(&mut port, &mut packets).into_iter().map(|x| x.0).collect();
        assert_eq!(times, [Time::from_ps(332_800), Time::from_ps(332_800 + second)]);
    }
    assert_eq!(levels[0], levels[1]);
}
