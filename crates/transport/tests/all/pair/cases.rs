//! Cases of which the outcome is known.

use super::*;

#[test]
fn a_lossless_channel_needs_no_retransmission() {
    for name in congestion::NAMES {
        let mut pair = Pair::new(Channel::default(), 1);
        pair.submit(0, 0, 200 * MSS + 1, &Arc::new(scheme(CongestionConfig::by_name(name).unwrap())));
        pair.run();
        pair.assert_all_delivered();
        let counters = pair.hosts[0].finished[0].counters;
        assert_eq!((counters.sent_packets, counters.retransmitted_packets), (201, 0), "{name}");
        assert_eq!((counters.timeouts, counters.losses, counters.spurious), (0, 0, 0), "{name}");
    }
}

#[test]
fn a_channel_that_trims_needs_no_time_out() {
    for name in congestion::NAMES {
        for backwards in [0, 5] {
            let channel =
                Channel { trimming: 0.4, jitter: Duration::from_us(backwards), ..Channel::default() };
            let mut pair = Pair::new(channel, 1);
            pair.submit(0, 0, 200 * MSS + 1, &Arc::new(scheme(CongestionConfig::by_name(name).unwrap())));
            pair.run();
            pair.assert_all_delivered();
            let counters = pair.hosts[0].finished[0].counters;
            let view = pair.hosts[1].endpoint.receiver(HostId(0), FlowId(0)).unwrap();
            assert_eq!((counters.timeouts, counters.spurious), (0, 0), "{name}");
            assert_eq!(
                (view.counters.arrived_packets, view.counters.trimmed_packets),
                (201, pair.trimmed),
                "{name}"
            );
            assert_eq!(
                (counters.nacks, counters.retransmitted_packets),
                (pair.trimmed, pair.trimmed),
                "{name}"
            );
            assert!(pair.trimmed > 60, "{name}: {}", pair.trimmed);
        }
    }
}

#[test]
fn a_trimmed_packet_is_sent_again_a_round_trip_after_it_left() {
    let mut pair = Pair::new(Channel { trimming: 1.0, ..Channel::default() }, 1);
    pair.submit(0, 0, 3 * MSS, &Arc::new(scheme(fixed_window(MSS, None))));
    while pair.trimmed == 0 {
        pair.step();
    }
    pair.channel.trimming = 0.0;
    pair.run();
    pair.assert_all_delivered();
    let data: Vec<_> = pair.sent.iter().filter(|(_, p)| !p.control).collect();
    // The channel holds a packet up by its own transmission only, whatever was cut off.
    assert_eq!(data[1].0, Time::ZERO + path().base_rtt);
    let seqs: Vec<_> = data.iter().map(|(_, p)| (p.payload.clone().unwrap(), p.retransmission)).collect();
    let source = |n: u64, again| (Payload::Source(n * MSS..(n + 1) * MSS), again);
    assert_eq!(seqs, [source(0, false), source(0, true), source(1, false), source(2, false)]);
}

#[test]
fn a_lone_flow_with_a_large_enough_window_ends_at_the_ideal_time() {
    let mut pair = Pair::new(Channel::default(), 1);
    let packets = 500;
    let cwnd = path().bdp.get() + 2 * MSS;
    pair.submit(0, 0, packets * MSS, &Arc::new(scheme(fixed_window(cwnd, None))));
    pair.run();
    let ideal = path().base_rtt + path().packet_time() * (packets - 1);
    assert_eq!(pair.hosts[0].finished[0].finished_at, Time::ZERO + ideal);
}

#[test]
fn acks_leave_before_data() {
    let mut pair = Pair::new(Channel::default(), 1);
    let scheme = Arc::new(scheme(fixed_window(1 << 20, None)));
    pair.submit(0, 0, 400 * MSS, &scheme);
    pair.submit(1, 1, 400 * MSS, &scheme);
    pair.run();
    // With data always waiting, an ACK waits for the packet on the NIC at most: data and ACKs alternate.
    let from_0: Vec<bool> =
        pair.sent.iter().filter(|(_, p)| p.to == HostId(1)).map(|(_, p)| p.control).collect();
    let middle = &from_0[100..300];
    assert!(middle.windows(3).all(|w| w != [false; 3]), "three data packets in a row although ACKs waited");
}

#[test]
fn the_acks_of_a_flow_go_round_over_256_entropies() {
    let mut pair = Pair::new(Channel::default(), 1);
    pair.submit(0, 3, 300 * MSS, &Arc::new(scheme(fixed_window(1 << 20, None))));
    pair.run();
    let entropies: Vec<u16> = pair.sent.iter().filter(|(_, p)| p.control).map(|(_, p)| p.entropy).collect();
    assert!(entropies.windows(2).all(|w| w[1] == (w[0] + 1) % 256));
    assert_eq!(entropies.len(), 300);
}

#[test]
fn flows_with_open_windows_share_the_nic_packet_by_packet() {
    let mut pair = Pair::new(Channel::default(), 1);
    let scheme = Arc::new(scheme(fixed_window(1 << 20, None)));
    for flow in 0..4 {
        pair.submit(0, flow, 50 * MSS, &scheme);
    }
    pair.run();
    let flows: Vec<u32> =
        pair.sent.iter().filter(|(_, p)| !p.control).map(|(_, p)| p.header.flow().0).collect();
    // The first packet left before the second message was submitted, and its flow was the first to be queued again.
    assert_eq!(flows[0], 0);
    assert!(flows[1..197].chunks(4).all(|turn| turn == [0, 1, 2, 3]), "{flows:?}");
}

#[test]
fn a_flow_that_is_held_up_by_its_window_does_not_hold_up_another() {
    let mut pair = Pair::new(Channel::default(), 1);
    pair.submit(0, 0, 100 * MSS, &Arc::new(scheme(fixed_window(MSS, None))));
    pair.submit(0, 1, 300 * MSS, &Arc::new(scheme(fixed_window(1 << 20, None))));
    pair.run();
    let finish = |flow| {
        let at = pair.hosts[0].finished.iter().find(|r| r.flow == FlowId(flow)).unwrap().finished_at;
        at.since(Time::ZERO)
    };
    // One packet a round trip for the one, everything else for the other.
    assert!(finish(0) >= path().base_rtt * 100);
    assert!(finish(1) <= path().base_rtt + path().packet_time() * 330);
}

/// Bytes on the wire per second of the data packets of `flow`, from its first to its last.
fn measured_rate(pair: &Pair, flow: u32) -> Rate {
    let data: Vec<_> =
        pair.sent.iter().filter(|(_, p)| !p.control && p.header.flow() == FlowId(flow)).collect();
    let bytes: Bytes = data[1..].iter().map(|(_, p)| p.size).sum();
    Rate::per(bytes, data[data.len() - 1].0 - data[0].0)
}

#[test]
fn a_paced_flow_leaves_at_its_rate_alone_and_beside_another() {
    for beside in [false, true] {
        let mut pair = Pair::new(Channel::default(), 1);
        pair.submit(0, 0, 500 * MSS, &Arc::new(scheme(fixed_window(1 << 20, Some(Rate::from_gbps(2))))));
        if beside {
            pair.submit(0, 1, 4000 * MSS, &Arc::new(scheme(fixed_window(1 << 20, None))));
        }
        pair.run();
        let rate = measured_rate(&pair, 0).as_bps() as f64 / 2e9;
        assert!((rate - 1.0).abs() < 0.003, "{rate} of the pacing rate, beside another: {beside}");
    }
}

#[test]
fn paced_packets_are_evenly_spaced() {
    let mut pair = Pair::new(Channel::default(), 1);
    let rate = Rate::from_gbps(2);
    pair.submit(0, 0, 100 * MSS, &Arc::new(scheme(fixed_window(1 << 20, Some(rate)))));
    pair.run();
    let times: Vec<Time> = pair.sent.iter().filter(|(_, p)| !p.control).map(|(at, _)| *at).collect();
    let gap = rate.transmission(Bytes::new(MSS) + HEADER);
    assert!(times.windows(2).all(|w| w[1] - w[0] == gap), "{times:?}");
}

#[test]
fn two_runs_leave_the_same_trace_and_another_seed_another_one() {
    let trace = |seed| {
        let channel = Channel {
            loss: 0.1,
            trimming: 0.1,
            duplication: 0.1,
            marking: 0.2,
            jitter: Duration::from_us(10),
        };
        let mut pair = Pair::new(channel, seed);
        for (flow, name) in congestion::NAMES.iter().enumerate() {
            let mut scheme = scheme(CongestionConfig::by_name(name).unwrap());
            scheme.balance = BalanceConfig::by_name(balance::NAMES[flow % balance::NAMES.len()]).unwrap();
            pair.submit(flow % 2, flow as u32, 100_000, &Arc::new(scheme));
        }
        pair.run();
        pair.trace_hash()
    };
    assert_eq!(trace(1), trace(1));
    assert_ne!(trace(1), trace(2));
}

#[test]
fn a_burst_of_lost_packets_is_sent_again_after_one_time_out_each() {
    // Everything is lost at first: the packets leave back to back within one time-out, and each times out once.
    let packets = 30;
    let mut pair = Pair::new(Channel { loss: 1.0, ..Channel::default() }, 1);
    pair.submit(0, 0, packets as u64 * MSS, &Arc::new(scheme(fixed_window(1 << 20, None))));
    while pair.sent.len() < packets {
        pair.step();
    }
    pair.channel.loss = 0.0;
    pair.run();
    pair.assert_all_delivered();
    let counters = pair.hosts[0].finished[0].counters;
    assert_eq!((counters.timeouts, counters.retransmitted_packets), (packets as u64, packets as u64));
    // Each packet again exactly one time-out after it left, as the NIC was free then.
    let rto = path().base_rtt + path().max_queueing;
    let data: Vec<_> = pair.sent.iter().filter(|(_, p)| !p.control).collect();
    assert!(
        (0..packets).all(|i| data[packets + i].0 == data[i].0 + rto && data[packets + i].1.retransmission)
    );
}

#[test]
fn rack_resends_a_hole_without_waiting_for_the_time_out() {
    let finish = |policy| {
        let mut pair = Pair::new(Channel::default(), 1);
        let recovery = RecoveryConfig { rto: Rto::Fixed(Duration::from_ms(10)), backoff: false, policy };
        pair.submit(0, 0, 200 * MSS, &Arc::new(Scheme { recovery, ..scheme(fixed_window(1 << 20, None)) }));
        while pair.sent.len() < 50 {
            pair.channel.loss = if pair.sent.len() == 20 { 1.0 } else { 0.0 };
            pair.step();
        }
        pair.run();
        pair.assert_all_delivered();
        assert_eq!(pair.hosts[0].finished[0].counters.retransmitted_packets, 1);
        pair.hosts[0].finished[0].finished_at.since(Time::ZERO)
    };
    assert!(finish(RecoveryPolicy::PerPacketRto) > Duration::from_ms(10));
    assert!(finish(RecoveryPolicy::Rack) < Duration::from_us(300));
}

/// A flow of blocks of 8 + 2 packets, of which the channel takes what `lose` names, once.
fn lossy_blocks(segments: u64, lose: impl Fn(u32) -> bool) -> Pair {
    let mut pair = Pair::new(Channel::default(), 1);
    let packets = segments + segments.div_ceil(8) * 2;
    pair.lost = (0..packets as u32).filter(|&seq| lose(seq)).collect();
    // A packet's own time-out would come shortly before the NACK of its block.
    let rto = Rto::Fixed(Duration::from_ms(1));
    let recovery = RecoveryConfig { rto, backoff: false, policy: RecoveryPolicy::PerPacketRto };
    let scheme = Scheme { coding: mds(8, 2), recovery, ..scheme(fixed_window(1 << 20, None)) };
    pair.submit(0, 0, segments * MSS, &Arc::new(scheme));
    pair.run();
    pair.assert_all_delivered();
    pair
}

proptest! {
    #[test]
    fn blocks_that_lose_as_much_as_their_parity_need_no_retransmission(
        segments in 1_u64..80, losses in prop::collection::vec((0_u32..10, 0_u32..10), 12),
    ) {
        // Each block loses up to two packets, by their place; places beyond a short block take nothing.
        let lose = |seq: u32| {
            let (a, b) = losses[seq as usize / 10];
            [a, b].contains(&(seq % 10))
        };
        let pair = lossy_blocks(segments, lose);
        let counters = pair.hosts[0].finished[0].counters;
        prop_assert_eq!((counters.retransmitted_packets, counters.timeouts, counters.nacks), (0, 0, 0));
        prop_assert_eq!((counters.blocks, counters.blocks_undecodable), (segments.div_ceil(8), 0));
        let sources = |block: u64| 8.min(segments - block * 8);
        let decoded = (0..segments.div_ceil(8)).filter(|&block| {
            (0..sources(block)).any(|place| lose((block * 10 + place) as u32))
        });
        prop_assert_eq!(pair.hosts[1].endpoint.receiver(HostId(0), FlowId(0)).unwrap().counters.blocks_repaired, decoded.count() as u64);
    }
}

#[test]
fn a_block_that_loses_more_is_asked_for_before_its_time_out() {
    let pair = lossy_blocks(24, |seq| (11..15).contains(&seq));
    let counters = pair.hosts[0].finished[0].counters;
    assert_eq!((counters.nacks, counters.blocks_undecodable, counters.retransmitted_packets), (1, 1, 2));
    // The other two are decoded.
    assert_eq!(pair.hosts[1].endpoint.receiver(HostId(0), FlowId(0)).unwrap().counters.blocks_repaired, 1);
    let again = pair.sent.iter().find(|(_, packet)| packet.retransmission).map(|(at, _)| *at);
    // Its first packet is the 11th of the flow; the timer is for full buffers, and nine packets more.
    let first = Time::ZERO + path().packet_time() * 11 + DELAY;
    let wait = path().max_queueing + path().packet_time() * 9;
    let nack = first + Duration::from_ns(wait.as_ps().div_ceil(1000));
    assert_eq!(again, Some(nack + LINE.transmission(HEADER) + DELAY));
}

#[test]
fn when_all_is_done_no_timer_is_left() {
    let mut pair = Pair::new(Channel { loss: 0.2, ..Channel::default() }, 3);
    for flow in 0..5 {
        pair.submit(0, flow, 20 * MSS, &Arc::new(scheme(fixed_window(10 * MSS, None))));
    }
    pair.run();
    pair.assert_all_delivered();
    for host in &mut pair.hosts {
        assert_eq!(host.endpoint.poll_timeout(), None);
        assert_eq!(host.endpoint.poll_transmit(pair.now), Poll::Idle);
        assert_eq!(host.endpoint.poll_event(), None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn senders_of_held_acks_never_wait_for_a_time_out_while_nothing_is_lost(
        marking in 0.0..0.5, duplication in 0.0..0.2, jitter_us in 0_u64..30, seed in any::<u64>(),
        scheme in any_scheme(), profile in prop::sample::select(holding_profiles().collect::<Vec<_>>()),
        messages in prop::collection::vec((0_usize..2, any_size()), 1..4),
    ) {
        let jitter = Duration::from_us(jitter_us);
        let mut pair = Pair::new(Channel { marking, duplication, jitter, ..Channel::default() }, seed);
        let mut scheme = Scheme { profile, ..Scheme::clone(&scheme) };
        let rto = Rto::Fixed(Duration::from_ms(20));
        scheme.recovery = RecoveryConfig { rto, backoff: false, policy: RecoveryPolicy::PerPacketRto };
        let scheme = Arc::new(scheme);
        for (flow, (from, size)) in messages.iter().enumerate() {
            pair.submit(*from, flow as u32, *size, &scheme);
        }
        pair.run();
        pair.assert_all_delivered();
        let timeouts = |host: &Host| host.finished.iter().map(|report| report.counters.timeouts).sum::<u64>();
        prop_assert_eq!(pair.hosts.iter().map(timeouts).sum::<u64>(), 0);
    }
}
