//! Captures of ports.

use super::*;

#[test]
fn a_capture_is_in_order_of_time_and_has_what_finds_no_room_and_nothing_that_has_not_left() {
    let spec = spec(STAR);
    let ports = ["host0->tor0#0", "tor0->host3#0", "host1->tor0#0"];
    let ports = ports.map(|name| spec.network.port_named(name).unwrap());
    let mut engine = Engine::new(&spec);
    let (to, from) = std::sync::mpsc::sync_channel(100_000);
    engine.capture(ports, to);
    let many = NIC_QUEUE as u64 + 5;
    for n in 0..many {
        engine.take(at_us(n), HostId(0), &datagram(false, 0, 3, 1000, 0));
        engine.take(at_us(n), HostId(1), &datagram(false, 1, 3, 700, 0));
    }
    let end = at_us(100_500);
    engine.advance(end);
    engine.end_capture();
    let captured: Vec<_> = from.into_iter().collect();
    assert!(captured.windows(2).all(|pair| pair[0].at <= pair[1].at));
    assert!(captured.iter().all(|packet| packet.at <= end), "nothing is of the future");
    let of = |port: PortId| captured.iter().filter(move |packet| packet.port == port);
    let dropped = |port| of(port).filter(|packet| matches!(packet.remarks[..], [Remark::Dropped { .. }]));
    // One is in service while a thousand wait; the second is begun after a millisecond.
    assert_eq!(of(ports[0]).count() - dropped(ports[0]).count(), 100);
    assert_eq!(dropped(ports[0]).count(), 3, "of those that came first");
    let counted = engine.outcome(end).ports.iter().map(|port| port.dropped_packets).sum::<u64>();
    assert_eq!(ports.into_iter().map(|port| dropped(port).count() as u64).sum::<u64>(), counted);
    assert!(engine.warnings().is_empty());
}

#[test]
fn a_capture_has_what_is_lost_when_a_link_fails() {
    let text = format!(
        "{STAR}[[fault]]\nkind = \"link_down\"\nlink = \"tor0->host3#0\"\nat = \"14.5ms\"\nuntil = \"16.5ms\"\n"
    );
    let spec = spec(&text);
    let mut engine = Engine::new(&spec);
    let (to, from) = std::sync::mpsc::sync_channel(100);
    let port = spec.network.port_named("tor0->host3#0").unwrap();
    engine.capture([port], to);
    // They come to the port at 11, 12, 13 ms, ..., two at a time, and leave it at 12, 13, ...
    for _ in 0..8 {
        for host in 0..2 {
            engine.take(at_us(0), HostId(host), &datagram(false, host, 3, 1000, 0));
        }
    }
    drain(&mut engine);
    let lost = engine.outcome(at_us(100_000)).ports[port.index()].lost_packets;
    engine.end_capture();
    let captured: Vec<_> = from.into_iter().collect();
    assert_eq!(captured.len(), 16);
    let of = |at: Time| {
        captured.iter().filter(move |packet| packet.at == at && packet.remarks == [Remark::Lost]).count()
    };
    // Eight have come by then, and three have left; four come while it is down.
    assert_eq!((of(at_us(14_500)), of(at_us(15_000)), of(at_us(16_000))), (5, 2, 2));
    assert_eq!(lost, 9);
    assert!(captured.windows(2).all(|pair| pair[0].at <= pair[1].at));
}

#[test]
fn a_capture_that_cannot_keep_up_leaves_packets_out_and_says_how_many() {
    let spec = spec(STAR);
    let mut engine = Engine::new(&spec);
    let (to, from) = std::sync::mpsc::sync_channel(7);
    engine.capture(spec.network.port_named("host0->tor0#0"), to);
    (0..10).for_each(|_| engine.take(at_us(0), HostId(0), &datagram(false, 0, 3, 1000, 0)));
    drain(&mut engine);
    engine.end_capture();
    assert_eq!(from.into_iter().count(), 7);
    assert!(engine.warnings().iter().any(|text| text.contains("lack 3 packets")), "{:?}", engine.warnings());
}
