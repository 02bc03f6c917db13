//! Telemetry: the state of ports on the packets that they send.

use super::*;
use crate::port_config::TelemetryCounts;
use farspan_units::TelemetryKind;

/// The stamps of four packets: the first finds the port idle and has an ACK and another behind it; the third comes while the first
/// is sent, the last while the second is.
fn stamps(control_priority: bool, telemetry_counts: TelemetryCounts) -> [(u64, u64, u64); 4] {
    let config = PortConfig {
        telemetry: TelemetryKind::Int,
        telemetry_counts,
        control_priority,
        ..PortConfig::drop_tail(Bytes::new(90_000))
    };
    let (mut packets, mut port) = (Packets::new(), port(&config));
    assert!(!port.model().is_fifo());
    let [first, second, third, last] = [0; 4].map(|_| data(&mut packets, 4160));
    let ack = ack(&mut packets);
    for (at, id) in [(0, first), (0, second), (0, ack), (100_000, third), (400_000, last)] {
        while port.next_at() <= Time::from_ps(at) {
            let due = port.next_at();
            port.advance(due, &mut packets, Gate::Open);
        }
        port.enqueue(Time::from_ps(at), id, &mut packets, Gate::Open);
        assert_eq!(packets.take_telemetry(id), None, "nothing has left");
    }
    drain(&mut port, &mut packets);
    assert_eq!(packets.take_telemetry(ack), None, "control packets carry none of their own");
    [first, second, third, last].map(|id| {
        let carried = packets.take_telemetry(id).unwrap();
        let [hop] = carried.hops() else { panic!("one port, not {:?}", carried.hops()) };
        assert_eq!(hop.rate, GBPS_100);
        (hop.at.as_ps(), hop.sent.get(), hop.queued.get())
    })
}

#[test]
fn a_stamp_is_the_state_in_which_service_begins_without_the_packet() {
    // The ACK leaves between the first two, or after them, in the queue that they wait in.
    assert_eq!(
        stamps(true, TelemetryCounts::Departures),
        [(0, 0, 0), (337_920, 4224, 4160), (670_720, 8384, 4160), (1_003_520, 12_544, 0)]
    );
    assert_eq!(
        stamps(false, TelemetryCounts::Departures),
        [(0, 0, 0), (332_800, 4160, 4224), (670_720, 8384, 4160), (1_003_520, 12_544, 0)]
    );
}

#[test]
fn a_port_that_counts_arrivals_counts_all_that_has_come_when_service_begins() {
    assert_eq!(
        stamps(true, TelemetryCounts::Arrivals),
        [(0, 4160, 0), (337_920, 12_544, 4160), (670_720, 16_704, 4160), (1_003_520, 16_704, 0)]
    );
    assert_eq!(
        stamps(false, TelemetryCounts::Arrivals),
        [(0, 4160, 0), (332_800, 12_544, 4224), (670_720, 16_704, 4160), (1_003_520, 16_704, 0)]
    );
}

#[test]
fn a_change_of_rate_inside_a_service_does_not_move_its_stamp() {
    let config = PortConfig { telemetry: TelemetryKind::Int, ..PortConfig::drop_tail(Bytes::new(9000)) };
    let model = Arc::new(PortModel::changeable(&config, GBPS_100, Duration::ZERO));
    let (mut packets, mut port) = (Packets::new(), Port::new(&model, PortId(0), 1));
    let id = data(&mut packets, 4160);
    port.enqueue(Time::from_ps(500), id, &mut packets, Gate::Open);
    port.set_rate(Rate::from_gbps(10));
    drain(&mut port, &mut packets);
    assert_eq!(packets.take_telemetry(id).unwrap().hops()[0].at, Time::from_ps(500));
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
    // This many packets wait behind it when its service begins, after that of one before it.
    for behind in [1, 4, 0, 3] {
        let mut port = port(&config);
        let before = data(&mut packets, 4160);
        port.enqueue(now, before, &mut packets, Gate::Open);
        port.enqueue(now, id, &mut packets, Gate::Open);
        for _ in 0..behind {
            let other = data(&mut packets, 4160);
            port.enqueue(now, other, &mut packets, Gate::Open);
        }
        let began = port.next_at();
        drain(&mut port, &mut packets);
        let carried = packets.take_telemetry(id).unwrap();
        let [hop] = carried.hops() else { panic!("one port, not {:?}", carried.hops()) };
        kept.push((hop.queued.get() / 4160, hop.at == began));
        packets.set_telemetry(id, carried);
        now = began + Duration::from_us(10);
    }
    assert_eq!(kept, [(1, true), (4, true), (4, false), (4, false)]);
}
