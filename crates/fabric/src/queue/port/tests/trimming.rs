//! Trimming: the headers that a full port sends in place of packets.

use super::*;

const HEADER: Bytes = Bytes::new(64);

/// A port that keeps three full packets, and headers without limit.
fn trimming(victim: Victim) -> PortConfig {
    let trim = Trim {
        header: HEADER,
        victim,
        headers: Bytes::MAX,
        at_last_hop: false,
        weight: None,
        returns: false,
    };
    PortConfig { overflow: Overflow::Trim(trim), ..PortConfig::drop_tail(Bytes::new(3 * 4160)) }
}

/// Full packets that arrive at once; gives their places and what the port said.
fn burst(port: &mut Port, packets: &mut Packets, count: u32) -> Vec<(PacketId, Admission)> {
    let arrive = |n: u32| {
        let packet = Packet::new(FlowId(n), HostId(1), Bytes::new(4160), 0, false, 0);
        let id = packets.insert(packet);
        (id, port.enqueue(Time::ZERO, id, packets, Gate::Open))
    };
    (0..count).map(arrive).collect()
}

/// Flows of the packets as they leave, with whether they were trimmed.
fn leave(port: &mut Port, packets: &mut Packets) -> Vec<(u32, bool)> {
    drain(port, packets).iter().map(|&(_, id)| (packets[id].flow.0, packets[id].trimmed())).collect()
}

#[test]
fn a_full_port_that_trims_sends_the_header_of_what_arrives_before_waiting_data() {
    let (mut packets, mut port) = (Packets::new(), port(&trimming(Victim::Arriving)));
    let taken = burst(&mut port, &mut packets, 5);
    assert!(taken.iter().all(|&(_, admission)| admission != Admission::Dropped));
    let left = drain(&mut port, &mut packets);
    let what =
        |&(_, id): &(Time, PacketId)| (packets[id].flow.0, packets[id].trimmed(), packets[id].size().get());
    let full = |flow| (flow, false, 4160);
    let expected = [full(0), (3, true, 64), (4, true, 64), full(1), full(2)];
    assert_eq!(left.iter().map(what).collect::<Vec<_>>(), expected);
    assert_eq!(left[1].0 - left[0].0, Duration::from_ps(64 * 80), "a header takes a header's time");
    assert_eq!((port.trimmed(), port.counters().dropped), ((2, Bytes::new(2 * 4096)), 0));
    assert_eq!(port.counters().sent_bytes, Bytes::new(3 * 4160 + 2 * 64));
}

#[test]
fn trimmed_packets_take_no_buffer_and_are_not_trimmed_again() {
    let (mut packets, mut port) = (Packets::new(), port(&trimming(Victim::Arriving)));
    let taken = burst(&mut port, &mut packets, 4);
    assert_eq!(port.queued(Time::ZERO), Bytes::new(3 * 4160));
    let mut next = self::port(&trimming(Victim::Arriving));
    burst(&mut next, &mut packets, 3);
    assert_eq!(next.enqueue(Time::ZERO, taken[3].0, &mut packets, Gate::Open), Admission::Queued);
    assert_eq!((next.trimmed().0, next.queued(Time::ZERO)), (0, Bytes::new(3 * 4160)));
}

#[test]
fn the_coin_trims_the_last_in_the_queue_or_what_arrives_about_as_often() {
    let (mut tails, n) = (0_u32, 1000);
    for seed in 0..n {
        let model = trimming(Victim::Coin);
        let (mut packets, mut port) = (Packets::new(), seeded(&model, 0, seed));
        burst(&mut port, &mut packets, 4);
        match leave(&mut port, &mut packets)[..] {
            [(0, false), (3, true), (1, false), (2, false)] => {}
            [(0, false), (2, true), (1, false), (3, false)] => tails += 1,
            ref other => panic!("{other:?}"),
        }
        assert_eq!(port.trimmed(), (1, Bytes::new(4096)));
    }
    // Three standard deviations of a fair coin.
    assert!((f64::from(tails) - 500.0).abs() < 3.0 * 250_f64.sqrt(), "{tails} of {n}");
}

#[test]
fn the_coin_s_draws_are_the_port_s_own_and_touch_no_others() {
    let config = PortConfig {
        markers: vec![Marker::Queue(Red::new(Bytes::ZERO, Bytes::new(20_000)))],
        ..trimming(Victim::Arriving)
    };
    let coin = PortConfig { overflow: trimming(Victim::Coin).overflow, ..config.clone() };
    let run = |config: &PortConfig, id| {
        let (mut packets, mut port) = (Packets::new(), seeded(config, id, 1));
        burst(&mut port, &mut packets, 40);
        leave(&mut port, &mut packets);
        (packets.iter().map(|p| (p.flow.0, p.trimmed())).collect::<Vec<_>>(), port.counters().marked)
    };
    assert_eq!(run(&coin, 0), run(&coin, 0));
    assert_ne!(run(&coin, 0).0, run(&coin, 1).0);
    assert_eq!(run(&coin, 0).1, run(&config, 0).1, "marks are drawn apart");
}

#[test]
fn a_packet_that_does_not_fit_in_the_last_one_s_place_is_trimmed_itself() {
    for seed in 0..20 {
        let (mut packets, mut port) = (Packets::new(), seeded(&trimming(Victim::Coin), 0, seed));
        for (flow, size) in [(0, 4160), (1, 4160), (2, 4000), (3, 4160), (4, 4160)] {
            let packet = Packet::new(FlowId(flow), HostId(1), Bytes::new(size), 0, false, 0);
            let id = packets.insert(packet);
            port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
            assert!(port.queued(Time::ZERO) <= Bytes::new(3 * 4160));
        }
        let left = leave(&mut port, &mut packets);
        assert_eq!(left.iter().filter(|packet| packet.1).count(), 2, "{left:?}");
    }
    let small =
        PortConfig { overflow: trimming(Victim::Coin).overflow, ..PortConfig::drop_tail(Bytes::new(8200)) };
    for seed in 0..20 {
        let (mut packets, mut port) = (Packets::new(), seeded(&small, 0, seed));
        for (flow, size) in [(0, 4160), (1, 4000), (2, 4160)] {
            let packet = Packet::new(FlowId(flow), HostId(1), Bytes::new(size), 0, false, 0);
            let id = packets.insert(packet);
            port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
        }
        assert_eq!(leave(&mut port, &mut packets), [(0, false), (2, true), (1, false)]);
    }
}

#[test]
fn nothing_but_the_packet_in_service_leaves_the_coin_no_choice() {
    let one =
        PortConfig { overflow: trimming(Victim::Coin).overflow, ..PortConfig::drop_tail(Bytes::new(4160)) };
    for seed in 0..20 {
        let (mut packets, mut port) = (Packets::new(), seeded(&one, 0, seed));
        burst(&mut port, &mut packets, 2);
        assert_eq!(leave(&mut port, &mut packets), [(0, false), (1, true)]);
    }
}

#[test]
fn a_trimmed_packet_keeps_its_mark_and_gets_none() {
    for marking_point in [MarkingPoint::Enqueue, MarkingPoint::Dequeue] {
        let config = PortConfig {
            markers: vec![Marker::Step(Bytes::ZERO)],
            marking_point,
            ..trimming(Victim::Arriving)
        };
        let (mut packets, mut port) = (Packets::new(), port(&config));
        burst(&mut port, &mut packets, 3);
        let (plain, marked) = (data(&mut packets, 4160), data(&mut packets, 4160));
        packets[marked].mark();
        for id in [plain, marked] {
            port.enqueue(Time::ZERO, id, &mut packets, Gate::Open);
        }
        drain(&mut port, &mut packets);
        assert_eq!((packets[plain].ecn_ce(), packets[marked].ecn_ce()), (false, true));
    }
}

#[test]
fn what_takes_the_last_one_s_place_is_marked_as_what_is_queued() {
    let markers = vec![Marker::Step(Bytes::new(9000))];
    let config = PortConfig { markers, marking_point: MarkingPoint::Enqueue, ..trimming(Victim::Coin) };
    for seed in 0..20 {
        let (mut packets, mut port) = (Packets::new(), seeded(&config, 0, seed));
        burst(&mut port, &mut packets, 4);
        let marks: Vec<_> = packets.iter().map(|p| (p.trimmed(), p.ecn_ce(), p.flow.0)).collect();
        // Queued third, above the step: marked, whether trimmed later or not. Trimmed on arrival: not marked.
        for (trimmed, ecn_ce, flow) in marks {
            assert_eq!(ecn_ce, flow == 2 || (flow == 3 && !trimmed));
        }
    }
}

#[test]
fn headers_beyond_their_limit_are_dropped_whole_until_some_have_left() {
    let trim = Trim {
        header: HEADER,
        victim: Victim::Arriving,
        headers: Bytes::new(3 * 64),
        at_last_hop: false,
        weight: None,
        returns: false,
    };
    let config = PortConfig { overflow: Overflow::Trim(trim), ..trimming(Victim::Arriving) };
    let (mut packets, mut port) = (Packets::new(), port(&config));
    let taken = burst(&mut port, &mut packets, 8);
    let dropped: Vec<_> = taken.iter().map(|&(_, admission)| admission == Admission::Dropped).collect();
    assert_eq!(dropped, [false, false, false, false, false, false, true, true]);
    assert_eq!((port.counters().dropped, port.counters().dropped_bytes), (2, Bytes::new(2 * 4160)));
    assert_eq!(port.trimmed().0, 3);
    // The first data packet and one header leave; one more header starts, and counts until it has left.
    for _ in 0..2 {
        packets_gone(&mut port, &mut packets);
    }
    let now = Time::ZERO + Duration::from_ps(332_800 + 64 * 80);
    let mut offer = |port: &mut Port| {
        let id = data(&mut packets, 4160);
        port.enqueue(now, id, &mut packets, Gate::Open)
    };
    assert_eq!(offer(&mut port), Admission::Queued, "into the buffer, where a packet has left");
    let more: Vec<_> = (0..3).map(|_| offer(&mut port)).collect();
    assert_eq!(more, [Admission::Queued, Admission::Dropped, Admission::Dropped]);
}

#[test]
fn headers_that_were_cut_elsewhere_find_the_same_room() {
    let trim = Trim {
        header: HEADER,
        victim: Victim::Arriving,
        headers: Bytes::new(2 * 64),
        at_last_hop: false,
        weight: None,
        returns: false,
    };
    let config = PortConfig { overflow: Overflow::Trim(trim), ..trimming(Victim::Arriving) };
    let (mut packets, mut port) = (Packets::new(), port(&config));
    let taken = burst(&mut port, &mut packets, 4);
    assert_eq!((taken.len(), port.trimmed().0), (4, 1), "one was cut here");
    let admissions = [(); 2].map(|()| {
        let id = data(&mut packets, 4160);
        packets.trim(id, HEADER, false);
        port.enqueue_control(Time::ZERO, id, &mut packets)
    });
    assert_eq!(admissions, [Admission::Queued, Admission::Dropped]);
    assert_eq!((port.counters().dropped, port.counters().dropped_bytes), (1, HEADER));
}

/// A port that keeps three full packets and two headers, and sends other headers back.
fn returning(victim: Victim) -> PortConfig {
    let headers = HEADER * 2;
    let trim = Trim { header: HEADER, victim, headers, at_last_hop: false, weight: None, returns: true };
    PortConfig { overflow: Overflow::Trim(trim), ..trimming(victim) }
}

#[test]
fn a_header_that_finds_no_room_is_returned_and_not_dropped() {
    let (mut packets, mut port) = (Packets::new(), port(&returning(Victim::Arriving)));
    let taken = burst(&mut port, &mut packets, 7);
    let returned = |&(_, admission): &(PacketId, Admission)| admission == Admission::Returned;
    assert_eq!(taken.iter().filter(|taken| returned(taken)).count(), 2);
    assert!(returned(&taken[5]) && returned(&taken[6]), "two were cut that found room");
    let packet = packets[taken[6].0];
    assert!(packet.trimmed() && !packet.returned(), "it is the switch that turns it round");
    assert_eq!(packet.size(), HEADER);
    // One that was cut elsewhere goes back, too.
    let elsewhere = data(&mut packets, 4160);
    packets.trim(elsewhere, HEADER, true);
    assert_eq!(port.enqueue_control(Time::ZERO, elsewhere, &mut packets), Admission::Returned);
    assert_eq!((port.returned(), port.trimmed(), port.counters().dropped), (3, (4, Bytes::new(4 * 4096)), 0));
    assert_eq!(leave(&mut port, &mut packets).len(), 5, "what goes back does not leave here");
}

#[test]
fn a_header_on_its_way_back_is_dropped_where_it_finds_no_room_and_acks_go_on() {
    let (mut packets, mut port) = (Packets::new(), port(&returning(Victim::Arriving)));
    burst(&mut port, &mut packets, 5);
    let back = data(&mut packets, 4160);
    packets.trim(back, HEADER, false);
    packets[back].turn_round(HostId(0));
    assert_eq!(port.enqueue_control(Time::ZERO, back, &mut packets), Admission::Dropped);
    assert_eq!((port.returned(), port.counters().dropped, port.counters().dropped_bytes), (0, 1, HEADER));
    let ack = packets.insert(Packet::new(FlowId(9), HostId(1), HEADER, 0, true, 0));
    assert_eq!(port.enqueue_control(Time::ZERO, ack, &mut packets), Admission::Queued);
    // Where there is room, one on its way back takes it as any header does.
    let (mut next, other) = (self::port(&returning(Victim::Arriving)), data(&mut packets, 4160));
    burst(&mut next, &mut packets, 4);
    packets.trim(other, HEADER, false);
    packets[other].turn_round(HostId(0));
    assert_eq!(next.enqueue_control(Time::ZERO, other, &mut packets), Admission::Queued);
    assert_eq!(next.enqueue_control(Time::ZERO, back, &mut packets), Admission::Dropped);
}

#[test]
fn the_coin_decides_whose_header_is_returned() {
    let mut tails = 0_u32;
    for seed in 0..100 {
        let (mut packets, mut port) = (Packets::new(), seeded(&returning(Victim::Coin), 0, seed));
        let taken = burst(&mut port, &mut packets, 6);
        assert_eq!(taken[5].1, Admission::Returned);
        // The record of what came may hold what it took the place of.
        let returned = packets[taken[5].0].flow.0;
        tails += u32::from(returned != 5);
        let left: Vec<_> = leave(&mut port, &mut packets).iter().map(|packet| packet.0).collect();
        assert!(left.len() == 5 && !left.contains(&returned), "{left:?} without {returned}");
        assert_eq!((port.returned(), port.trimmed().0, port.counters().dropped), (1, 3, 0));
    }
    assert!((30..70).contains(&tails), "{tails} of 100");
}

#[test]
fn acks_are_never_refused_whatever_headers_wait() {
    let trim = Trim {
        header: HEADER,
        victim: Victim::Arriving,
        headers: Bytes::ZERO,
        at_last_hop: false,
        weight: None,
        returns: false,
    };
    let config = PortConfig { overflow: Overflow::Trim(trim), ..trimming(Victim::Arriving) };
    let (mut packets, mut port) = (Packets::new(), port(&config));
    burst(&mut port, &mut packets, 4);
    assert_eq!((port.trimmed().0, port.counters().dropped), (0, 1));
    let id = ack(&mut packets);
    assert_eq!(port.enqueue(Time::ZERO, id, &mut packets, Gate::Open), Admission::Queued);
}

#[test]
fn trimmed_packets_count_in_the_phantom_queue_only_if_asked() {
    for victim in [Victim::Arriving, Victim::Coin] {
        for (count_dropped, expected) in [(false, 3 * 4160), (true, 5 * 4160)] {
            let phantom = Some(Phantom { size: Bytes::new(100_000), drain: 0.9, count_dropped });
            let (mut packets, mut port) = (Packets::new(), port(&PortConfig { phantom, ..trimming(victim) }));
            burst(&mut port, &mut packets, 5);
            assert!(port.phantom(Time::ZERO).is_some_and(|level| level.get().abs_diff(expected) <= 1));
        }
    }
}

#[test]
#[should_panic(expected = "trimmed packets travel in the priority queue")]
fn a_port_that_trims_needs_a_priority_queue() {
    port(&PortConfig { control_priority: false, ..trimming(Victim::Arriving) });
}

/// A port that trims, and serves headers by weight.
fn weighted(weight: u32, headers: Bytes) -> PortConfig {
    let weight = NonZeroU32::new(weight);
    let trim = Trim {
        header: HEADER,
        victim: Victim::Arriving,
        headers,
        at_last_hop: false,
        weight,
        returns: false,
    };
    PortConfig { overflow: Overflow::Trim(trim), ..trimming(Victim::Arriving) }
}

#[test]
fn at_most_so_many_headers_leave_in_a_row_while_data_waits() {
    let (mut packets, mut port) = (Packets::new(), port(&weighted(2, Bytes::MAX)));
    burst(&mut port, &mut packets, 8);
    // Three fit, of five the headers stay: two of them to one of data, and the rest when no data waits.
    let trimmed: Vec<_> = leave(&mut port, &mut packets).iter().map(|packet| packet.1).collect();
    assert_eq!(trimmed, [false, true, true, false, true, true, false, true]);
}

#[test]
fn acks_count_in_the_row_of_headers() {
    let (mut packets, mut port) = (Packets::new(), port(&weighted(2, Bytes::MAX)));
    burst(&mut port, &mut packets, 3);
    for _ in 0..3 {
        let id = ack(&mut packets);
        assert!(port.bypass(Time::ZERO, &packets[id], Time::MAX).is_none(), "none goes first for sure");
        port.enqueue_control(Time::ZERO, id, &mut packets);
    }
    let left = drain(&mut port, &mut packets);
    let control: Vec<_> = left.iter().map(|&(_, id)| packets[id].control()).collect();
    assert_eq!(control, [false, true, true, false, true, false]);
}

#[test]
fn headers_that_left_while_no_data_waited_do_not_count_in_the_row() {
    let (mut packets, mut port) = (Packets::new(), port(&weighted(2, Bytes::MAX)));
    // Two leave before data comes: the row begins with the first that data waits for.
    for _ in 0..5 {
        let id = ack(&mut packets);
        port.enqueue_control(Time::ZERO, id, &mut packets);
    }
    (0..2).for_each(|_| packets_gone(&mut port, &mut packets));
    let id = data(&mut packets, 4160);
    port.enqueue(port.next_at() - Duration::from_ps(1), id, &mut packets, Gate::Open);
    let left = drain(&mut port, &mut packets);
    let control: Vec<_> = left.iter().map(|&(_, id)| packets[id].control()).collect();
    assert_eq!(control, [true, true, true, false], "the third was in service when data came");
}

#[test]
fn while_pauses_hold_data_headers_leave_whatever_their_weight() {
    let (mut packets, mut port) = (Packets::new(), port(&weighted(1, Bytes::MAX)));
    burst(&mut port, &mut packets, 6);
    let mut left = vec![];
    while port.next_at() != Time::MAX {
        left.extend(port.advance(port.next_at(), &mut packets, Gate::Closed).left);
    }
    let trimmed: Vec<_> = left.iter().map(|&id| packets[id].trimmed()).collect();
    assert_eq!(trimmed, [false, true, true, true]);
}

#[test]
fn headers_with_a_weight_find_the_room_that_is_left_of_their_limit() {
    let (mut packets, mut port) = (Packets::new(), port(&weighted(1, Bytes::new(3 * 64))));
    let taken = burst(&mut port, &mut packets, 8);
    let dropped: Vec<_> = taken.iter().map(|&(_, admission)| admission == Admission::Dropped).collect();
    assert_eq!(dropped, [false, false, false, false, false, false, true, true]);
    // One packet of data, a header and the next packet leave: one header has made room, though data went between.
    for _ in 0..3 {
        packets_gone(&mut port, &mut packets);
    }
    let now = port.next_at() - Duration::from_ps(1);
    let more: Vec<_> = (0..4)
        .map(|_| {
            let id = data(&mut packets, 4160);
            port.enqueue(now, id, &mut packets, Gate::Open)
        })
        .collect();
    assert_eq!(more, [Admission::Queued, Admission::Queued, Admission::Queued, Admission::Dropped]);
}

proptest! {
    #[test]
    fn packets_and_bytes_are_conserved_where_packets_are_trimmed(
        steps in proptest::collection::vec((0_u64..600_000, 64_u64..9000, 0_u8..4), 1..300),
        buffer in 10_000_u64..60_000,
        headers in prop_oneof![Just(0_u64), 64_u64..1000, Just(1 << 40)],
        victim in prop_oneof![Just(Victim::Arriving), Just(Victim::Coin)],
        weight in 0_u32..4,
    ) {
        let (headers, weight) = (Bytes::new(headers), NonZeroU32::new(weight));
        let trim = Trim { header: HEADER, victim, headers, at_last_hop: false, weight, returns: false };
        let config = PortConfig { overflow: Overflow::Trim(trim), ..PortConfig::drop_tail(Bytes::new(buffer)) };
        let (mut packets, mut port, mut now) = (Packets::new(), port(&config), Time::ZERO);
        let (mut offered, mut left, mut trimmed) = (Bytes::ZERO, 0_u64, 0_u64);
        let mut order = vec![];
        for (n, &(gap, size, kind)) in (0..).zip(&steps) {
            now += Duration::from_ps(gap);
            while port.next_at() <= now {
                let done = port.advance(now, &mut packets, Gate::Open).left.expect("a packet is in service");
                let packet = packets.remove(done);
                if !packet.control() { order.push(packet.flow.0); }
                trimmed += u64::from(packet.trimmed());
                left += 1;
            }
            let packet = if kind == 0 {
                Packet::new(FlowId(n), HostId(1), HEADER, 0, true, 1)
            } else {
                Packet::new(FlowId(n), HostId(1), Bytes::new(size), 0, false, 0)
            };
            let id = packets.insert(packet);
            offered += packets[id].size();
            if port.enqueue(now, id, &mut packets, Gate::Open) == Admission::Dropped {
                packets.remove(id);
            }
            prop_assert!(port.queued(Time::ZERO) <= Bytes::new(buffer));
            let held: Bytes = packets.iter().filter(|p| !p.control()).map(Packet::size).sum();
            prop_assert_eq!(port.queued(Time::ZERO), held);
        }
        while port.next_at() != Time::MAX {
            let done = port.advance(port.next_at(), &mut packets, Gate::Open).left.expect("a packet is in service");
            let packet = packets.remove(done);
            if !packet.control() { order.push(packet.flow.0); }
            trimmed += u64::from(packet.trimmed());
            left += 1;
        }
        let c = port.counters();
        prop_assert_eq!(left + c.dropped, steps.len() as u64);
        prop_assert_eq!(c.sent_bytes + c.dropped_bytes + port.trimmed().1, offered);
        prop_assert_eq!(port.trimmed().0, trimmed);
        prop_assert!(packets.is_empty() && port.queued(Time::ZERO).is_zero());
        prop_assert!(order.is_sorted(), "data leaves in the order in which it came");
    }
}
