//! Telemetry: the state of ports on the packets that they send.

use super::*;
use farspan_units::TelemetryKind;

#[test]
fn a_stamp_is_the_state_that_the_packet_leaves_behind() {
    let config = PortConfig { telemetry: TelemetryKind::Int, ..PortConfig::drop_tail(Bytes::new(9000)) };
    for control_priority in [true, false] {
        let config = PortConfig { control_priority, ..config.clone() };
        let (mut packets, mut port) = (Packets::new(), port(&config));
        assert!(!port.model().is_fifo());
        let ids = [data(&mut packets, 4160), data(&mut packets, 4160), ack(&mut packets)];
        for id in ids {
            port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
            assert_eq!(packets.take_telemetry(id), None, "nothing has left");
        }
        drain(&mut port, &mut packets);
        let [first, second, of_ack] = ids.map(|id| packets.take_telemetry(id));
        let hop = |at, sent, queued| HopTelemetry {
            at: Time::from_ps(at),
            sent: Bytes::new(sent),
            queued: Bytes::new(queued),
            rate: GBPS_100,
        };
        // The ACK leaves between the two, or after them, in the queue that they wait in.
        let expected = match control_priority {
            true => [hop(332_800, 4160, 4160), hop(670_720, 8384, 0)],
            false => [hop(332_800, 4160, 4224), hop(665_600, 8320, 64)],
        };
        assert_eq!(
            [first, second].map(|carried| carried.unwrap().hops().to_vec()),
            expected.map(|hop| vec![hop])
        );
        assert_eq!(of_ack, None, "control packets carry none of their own");
    }
}

#[test]
fn a_port_with_telemetry_marks_as_one_without() {
    let red = Red::new(Bytes::new(4000), Bytes::new(20_000));
    for marking_point in [MarkingPoint::Enqueue, MarkingPoint::Dequeue] {
        let config = PortConfig {
            markers: vec![Marker::Queue(red)],
            marking_point,
            ..PortConfig::drop_tail(Bytes::new(40_000))
        };
        let marked = |&telemetry: &TelemetryKind| {
            let (mut packets, mut port) = (Packets::new(), port(&PortConfig { telemetry, ..config.clone() }));
            let ids: Vec<_> = (0..9).map(|_| data(&mut packets, 4160)).collect();
            for &id in &ids {
                port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
            }
            drain(&mut port, &mut packets);
            ids.iter().map(|&id| packets[id].ecn_ce()).collect::<Vec<_>>()
        };
        let plain = marked(&TelemetryKind::None);
        assert!(plain.contains(&true) && plain.contains(&false));
        assert!(TelemetryKind::ALL.iter().all(|kind| marked(kind) == plain));
    }
}

#[test]
fn no_control_packet_passes_a_port_with_telemetry_before_it_is_counted() {
    for &telemetry in TelemetryKind::ALL.iter().filter(|&&kind| kind != TelemetryKind::None) {
        let config = PortConfig { telemetry, ..PortConfig::drop_tail(Bytes::new(9000)) };
        let (mut packets, mut port) = (Packets::new(), port(&config));
        let id = ack(&mut packets);
        assert_eq!(port.bypass(Time::ZERO, &packets[id], Time::MAX), None);
    }
}

#[test]
fn the_largest_queueing_delay_of_the_ports_travels_alone() {
    let config = PortConfig { telemetry: TelemetryKind::Mpd, ..PortConfig::drop_tail(Bytes::new(90_000)) };
    let (mut packets, mut now) = (Packets::new(), Time::ZERO);
    let id = data(&mut packets, 4160);
    let mut kept = vec![];
    // So many packets wait behind it at one port after the other.
    for behind in [1, 4, 0, 3] {
        let mut port = port(&config);
        port.enqueue(now, id, &mut packets, Gate::Open);
        for _ in 0..behind {
            let other = data(&mut packets, 4160);
            port.enqueue(now, other, &mut packets, Gate::Open);
        }
        now = port.next_at();
        drain(&mut port, &mut packets);
        let carried = packets.take_telemetry(id).unwrap();
        let [hop] = carried.hops() else { panic!("one port, not {:?}", carried.hops()) };
        kept.push((hop.queued.get() / 4160, hop.at == now));
        packets.set_telemetry(id, carried);
    }
    assert_eq!(kept, [(1, true), (4, true), (4, false), (4, false)]);
}
