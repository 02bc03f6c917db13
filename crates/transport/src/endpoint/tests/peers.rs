//! Flows of several peers that have one number, and peers that are forgotten.

use super::*;
use crate::flow::profile::AckSignals;
use crate::proxy::{Delay, NaiveRelay, Relay, RelayKind, StreamlinedRelay};
use alloc::vec;

const OTHER: HostId = HostId(2);
const MSS: u16 = 4096;

fn from(from: HostId, packet: Incoming) -> Incoming {
    Incoming { from, ..packet }
}

#[test]
fn two_peers_with_one_number_have_a_receiver_each() {
    let mut endpoint = endpoint();
    assert!(endpoint.handle_packet(us(0), data(0, 2, MSS)).is_some());
    assert!(endpoint.handle_packet(us(0), from(OTHER, data(0, 3, MSS))).is_some(), "not a duplicate");
    endpoint.handle_packet(us(0), from(OTHER, trimmed(2, 3, 7)));
    endpoint.handle_packet(us(1), data(1, 2, 5));
    let complete = |endpoint: &Endpoint| {
        [PEER, OTHER, HostId(3)]
            .map(|peer| endpoint.receiver(peer, FlowId(9)).map(|view| (view.is_complete, view.goodput.get())))
    };
    assert_eq!(complete(&endpoint), [Some((true, 4101)), Some((false, 4096)), None]);
    let Some(Event::Delivered(report)) = endpoint.poll_event() else { panic!("one is complete") };
    assert_eq!((report.from, endpoint.poll_event()), (PEER, None));
    assert!(endpoint.handle_packet(us(2), from(OTHER, data(1, 3, MSS))).is_some());
    assert!(endpoint.handle_packet(us(2), from(OTHER, data(2, 3, 7))).is_some());
    assert!(endpoint.handle_packet(us(2), data(0, 2, MSS)).is_none(), "a duplicate");
    let counts = |peer| {
        let counters = endpoint.receiver(peer, FlowId(9)).unwrap().counters;
        (counters.arrived_packets, counters.trimmed_packets)
    };
    assert_eq!((counts(PEER), counts(OTHER)), ((3, 0), (3, 1)));
    assert_eq!(complete(&endpoint), [Some((true, 4101)), Some((true, 8199)), None]);
    let replies = send_all(&mut endpoint, us(2));
    assert_eq!([PEER, OTHER].map(|peer| replies.iter().filter(|reply| reply.to == peer).count()), [3, 4]);
    assert!(endpoint.forget(PEER, FlowId(9)));
    assert_eq!(complete(&endpoint), [None, Some((true, 8199)), None]);
}

/// NACKs of blocks that leave now: to whom, and the first packet that each asks for.
fn asked(endpoint: &mut Endpoint, now: Time) -> Vec<(HostId, u32)> {
    endpoint.handle_timeout(now);
    let asked = |packet: &Transmit| match packet.header {
        Header::Feedback(Feedback { seq, fate: Fate::Missing { .. }, .. }) => Some((packet.to, seq)),
        _ => None,
    };
    send_all(endpoint, now).iter().filter_map(asked).collect()
}

#[test]
fn a_timer_that_a_forgotten_flow_left_behind_asks_nothing_of_the_one_in_its_slot() {
    // The timer of the third peer is due first: those behind it stay where they are when their flows are forgotten.
    for forgets_peer in [false, true] {
        let mut endpoint = endpoint();
        endpoint.handle_packet(us(0), from(HostId(3), coded(0)));
        endpoint.handle_packet(us(1), coded(0));
        if forgets_peer {
            endpoint.forget_peer(us(1), PEER);
        } else {
            endpoint.forget(PEER, FlowId(9));
        }
        endpoint.handle_packet(us(2), from(OTHER, coded(6)));
        let mut due = Vec::new();
        while let Some(at) = endpoint.poll_timeout() {
            due.extend(asked(&mut endpoint, at).into_iter().map(|(to, seq)| (at, to, seq)));
        }
        assert_eq!(due, [(us(10), HostId(3), 0), (us(12), OTHER, 6)]);
    }
}

#[test]
fn timers_of_peers_with_one_number_that_are_due_at_once_come_by_peer() {
    let mut endpoint = endpoint();
    for peer in [3, 1, 2] {
        endpoint.handle_packet(us(1), from(HostId(peer), coded(0)));
    }
    send_all(&mut endpoint, us(1));
    assert_eq!(asked(&mut endpoint, us(11)), [1, 2, 3].map(|peer| (HostId(peer), 0)));
}

#[test]
fn after_a_peer_is_forgotten_its_numbers_arrive_anew_and_others_go_on() {
    let mut endpoint = endpoint();
    for peer in [PEER, OTHER] {
        endpoint.handle_packet(us(0), from(peer, data(0, 1, MSS)));
        endpoint.handle_packet(us(0), from(peer, trimmed(0, 1, MSS)));
        take_all_from(&mut endpoint, peer);
    }
    assert_eq!(endpoint.forget_peer(us(1), PEER), []);
    assert_eq!(endpoint.receiver(PEER, FlowId(9)), None);
    assert_eq!(endpoint.receiver(OTHER, FlowId(9)).unwrap().counters.trimmed_packets, 1);
    let replies = send_all(&mut endpoint, us(1));
    assert!(
        !replies.is_empty() && replies.iter().all(|reply| reply.to == OTHER),
        "what waited for it is gone"
    );
    while endpoint.poll_event().is_some() {}
    // Another message, of another length.
    assert!(endpoint.handle_packet(us(2), data(1, 2, 5)).is_some());
    assert!(endpoint.handle_packet(us(2), data(0, 2, MSS)).is_some());
    let Some(Event::Delivered(report)) = endpoint.poll_event() else { panic!("it has arrived") };
    assert_eq!((report.from, report.bytes, report.arrived_packets), (PEER, Bytes::new(4101), 2));
    assert_eq!(endpoint.receiver(PEER, FlowId(9)).unwrap().counters.trimmed_packets, 0);
}

/// A block of the next number, of which a packet comes.
fn take_all_from(endpoint: &mut Endpoint, peer: HostId) {
    let Header::Coded(coded) = coded(0).header else { unreachable!() };
    let coded = wire::Coded { data: wire::Data { flow: FlowId(10), ..coded.data }, ..coded };
    endpoint.handle_packet(us(0), Incoming { from: peer, header: Header::Coded(coded), ..data(0, 1, 1) });
}

#[test]
fn senders_to_a_forgotten_peer_end_and_its_late_feedback_is_dropped() {
    let mut endpoint = endpoint();
    let to = |to, flow| Message { to, ..message(flow, 2, Rto::Path) };
    for (peer, flow) in [(PEER, 3), (OTHER, 1), (PEER, 0)] {
        endpoint.submit(us(0), to(peer, flow));
    }
    assert_eq!(send_all(&mut endpoint, us(0)).len(), 6);
    let reports = endpoint.forget_peer(us(5), PEER);
    let said: Vec<_> = reports.iter().map(|report| (report.flow.0, report.to, report.finished_at)).collect();
    assert_eq!(said, [(0, PEER, us(5)), (3, PEER, us(5))]);
    // Its number is free; the peer's late feedback is not of this message.
    endpoint.submit(us(6), to(OTHER, 0));
    assert_eq!(send_all(&mut endpoint, us(6)).len(), 2);
    for (peer, flow) in [(PEER, 3), (PEER, 0), (PEER, 1)] {
        for seq in 0..2 {
            endpoint.handle_packet(us(9), ack(peer, flow, seq, us(6)));
        }
    }
    assert_eq!(endpoint.poll_event(), None);
    for flow in [1, 0] {
        for seq in 0..2 {
            endpoint.handle_packet(us(9), ack(OTHER, flow, seq, us(u64::from(flow == 0) * 6)));
        }
        assert!(
            matches!(endpoint.poll_event(), Some(Event::Finished(report)) if report.flow == FlowId(flow))
        );
    }
    assert_eq!((endpoint.poll_timeout(), endpoint.poll_transmit(us(99))), (None, Poll::Idle));
}

#[test]
fn a_number_is_used_again_towards_a_peer_that_was_forgotten() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(0, 3, Rto::Path));
    assert_eq!(send_all(&mut endpoint, us(0)).len(), 3);
    assert_eq!(endpoint.forget_peer(us(1), PEER).len(), 1);
    endpoint.handle_packet(us(2), ack(PEER, 0, 0, us(0)));
    endpoint.submit(us(3), message(0, 2, Rto::Path));
    // Late feedback that names what this message has not sent says nothing.
    endpoint.handle_packet(us(4), ack(PEER, 0, 0, us(0)));
    assert_eq!(send_all(&mut endpoint, us(5)).len(), 2);
    endpoint.handle_packet(us(6), ack(PEER, 0, 2, us(0)));
    assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.delivered), Some(Bytes::ZERO));
    for seq in 0..2 {
        endpoint.handle_packet(us(9), ack(PEER, 0, seq, us(5)));
    }
    let Some(Event::Finished(report)) = endpoint.poll_event() else { panic!("its own ACKs count") };
    assert_eq!((report.flow, report.size.get(), report.counters.sent_packets), (FlowId(0), 2 * 4096, 2));
    assert_eq!((endpoint.poll_timeout(), endpoint.poll_transmit(us(99))), (None, Poll::Idle));
}

#[test]
fn senders_that_are_left_keep_their_turns_when_others_end_with_their_peer() {
    let (mut endpoint, us0) = (endpoint(), us(0));
    for (flow, peer) in [PEER, OTHER, PEER, OTHER, OTHER].into_iter().enumerate() {
        endpoint.submit(us0, Message { to: peer, ..message(flow as u32, 2, Rto::Path) });
    }
    endpoint.forget_peer(us0, PEER);
    let flows: Vec<_> = send_all(&mut endpoint, us0).iter().map(|packet| packet.header.flow().0).collect();
    assert_eq!(flows, [1, 3, 4, 1, 3, 4]);
}

#[test]
fn pulls_that_are_owed_to_a_forgotten_peer_are_not_sent() {
    let congestion = CongestionConfig::by_name("ndp").unwrap();
    let profile = FlowProfile { pulls: congestion.needs().pulls, ..FlowProfile::default() };
    let mut endpoint = endpoint().with_profiles(&Profiles::new([profile]), testing::path().line_rate);
    for peer in [PEER, OTHER, PEER, OTHER] {
        endpoint.handle_packet(us(0), from(peer, data(0, 9, MSS)));
    }
    endpoint.forget_peer(us(0), PEER);
    let mut pulled = Vec::new();
    while let Some(at) = endpoint.poll_timeout() {
        endpoint.handle_timeout(at);
        pulled.extend(send_all(&mut endpoint, at).into_iter().filter_map(|packet| match packet.header {
            Header::Feedback(Feedback { fate: Fate::Pull { count }, .. }) => Some((packet.to, count)),
            _ => None,
        }));
    }
    // The first peer's turn was first, so it has had one.
    assert!(pulled.iter().all(|(to, _)| *to == OTHER), "{pulled:?}");
    assert_eq!(pulled.last(), Some(&(OTHER, 2)));
}

const RECEIVER: HostId = HostId(5);

/// A proxy of messages of three packets from two hosts, which give them one number: on the way from here they have others.
fn proxy(is_naive: bool) -> Endpoint {
    let mut proxy = endpoint().with_proxy(Delay::default());
    for (peer, onward) in [(PEER, 20), (OTHER, 21)] {
        proxy.relay(relay(peer, onward, is_naive));
    }
    proxy
}

fn relay(peer: HostId, onward: u32, is_naive: bool) -> Relay {
    let (signals, Message { size, initial_cwnd, route, .. }) =
        (AckSignals::default(), message(onward, 3, Rto::Path));
    let kind = if is_naive {
        RelayKind::Naive(NaiveRelay { onward: route, initial_cwnd, room: None, signals })
    } else {
        RelayKind::Streamlined(StreamlinedRelay { header: testing::path().header, signals, loss: None })
    };
    Relay { from: peer, flow: FlowId(9), to: RECEIVER, onward_flow: FlowId(onward), size, kind }
}

/// Where packets go that leave now, their flows, and whether they are data.
fn leaving(proxy: &mut Endpoint, now: Time) -> Vec<(HostId, u32, bool)> {
    send_all(proxy, now).iter().map(|packet| (packet.to, packet.header.flow().0, !packet.control)).collect()
}

#[test]
fn through_one_proxy_flows_of_one_number_go_apart_and_come_back_to_their_senders() {
    for is_naive in [false, true] {
        let mut proxy = proxy(is_naive);
        for peer in [PEER, OTHER] {
            assert_eq!(proxy.handle_packet(us(0), from(peer, data(0, 3, MSS))), None);
        }
        let mut left = leaving(&mut proxy, us(0));
        left.retain(|(.., is_data)| *is_data);
        assert_eq!(left, [(RECEIVER, 20, true), (RECEIVER, 21, true)]);
        let counts =
            |proxy: &Endpoint, peer| proxy.relayed(peer, FlowId(9)).map(|relayed| relayed.sent_packets);
        assert_eq!([PEER, OTHER, RECEIVER].map(|peer| counts(&proxy, peer)), [Some(1), Some(1), None]);
        // Others have no say in it, and neither has the receiver by the sender's number.
        for (host, flow) in [(OTHER, 20), (PEER, 21), (RECEIVER, 9)] {
            proxy.handle_packet(us(1), ack(host, flow, 0, us(0)));
            assert_eq!(proxy.poll_transmit(us(1)), Poll::Idle);
        }
        proxy.handle_packet(us(1), ack(RECEIVER, 21, 0, us(0)));
        if is_naive {
            assert_eq!(proxy.sender(FlowId(20)).unwrap().delivered, Bytes::ZERO);
            assert_eq!(proxy.sender(FlowId(21)).unwrap().delivered, Bytes::new(MSS.into()));
        } else {
            assert_eq!(leaving(&mut proxy, us(1)), [(OTHER, 9, false)]);
        }
    }
}

#[test]
fn a_streamlined_proxy_passes_telemetry_on_both_ways() {
    let mut proxy = proxy(false);
    let carried = |sent| {
        let hop = HopTelemetry { sent: Bytes::new(sent), ..HopTelemetry::default() };
        Some(Box::new(Telemetry::from_iter([hop])))
    };
    let with = |telemetry, packet| Incoming { telemetry, ..packet };
    proxy.handle_packet(us(0), with(carried(7), data(0, 3, MSS)));
    proxy.handle_packet(us(0), data(1, 3, MSS));
    let left = |proxy: &mut Endpoint, now| -> Vec<_> {
        send_all(proxy, now).into_iter().map(|packet| (packet.to, packet.telemetry)).collect()
    };
    assert_eq!(left(&mut proxy, us(0)), [(RECEIVER, carried(7)), (RECEIVER, None)]);
    proxy.handle_packet(us(1), with(carried(9), ack(RECEIVER, 20, 0, us(0))));
    proxy.handle_packet(us(1), ack(RECEIVER, 20, 1, us(0)));
    assert_eq!(left(&mut proxy, us(1)), [(PEER, carried(9)), (PEER, None)]);
}

#[test]
fn a_proxy_forgets_the_flows_of_one_sender_and_relays_its_numbers_anew() {
    for is_naive in [false, true] {
        let mut proxy = proxy(is_naive);
        let waiting = |proxy: &Endpoint| proxy.proxy_waiting().unwrap().get() / u64::from(MSS);
        for peer in [PEER, OTHER] {
            (0..2)
                .for_each(|seq| assert_eq!(proxy.handle_packet(us(0), from(peer, data(seq, 3, MSS))), None));
        }
        assert_eq!(waiting(&proxy), 4);
        assert_eq!(proxy.forget_peer(us(0), PEER), [], "no report tells of what is relayed");
        assert_eq!((waiting(&proxy), proxy.relayed(PEER, FlowId(9))), (2, None));
        let left = leaving(&mut proxy, us(0));
        assert!(
            left.iter().all(|(to, flow, _)| (*to, *flow) == (OTHER, 9) || (*to, *flow) == (RECEIVER, 21))
        );
        assert_eq!((left.iter().filter(|left| left.2).count(), waiting(&proxy)), (2, 0));
        proxy.handle_packet(us(1), ack(RECEIVER, 20, 0, us(0)));
        assert_eq!(proxy.poll_transmit(us(1)), Poll::Idle, "late feedback");
        for late in [data(2, 3, MSS), trimmed(2, 3, MSS)] {
            assert_eq!(proxy.handle_packet(us(1), late), None, "it is not taken for a message to here");
        }
        assert_eq!((proxy.poll_transmit(us(1)), proxy.receiver(PEER, FlowId(9))), (Poll::Idle, None));
        proxy.relay(relay(PEER, 22, is_naive));
        proxy.handle_packet(us(2), data(0, 3, MSS));
        assert!(leaving(&mut proxy, us(2)).contains(&(RECEIVER, 22, true)));
        assert_eq!(proxy.relayed(PEER, FlowId(9)).map(|relayed| relayed.arrived_packets), Some(1));
    }
}

#[test]
fn a_number_that_is_closed_is_free_when_it_or_its_peer_is_forgotten_once_more() {
    for forgets_peer in [false, true] {
        let mut proxy = proxy(false);
        proxy.handle_packet(us(0), data(0, 3, MSS));
        proxy.forget_peer(us(0), PEER);
        assert_eq!(proxy.handle_packet(us(1), data(1, 3, MSS)), None);
        if forgets_peer {
            proxy.forget_peer(us(1), PEER);
        } else {
            assert!(!proxy.forget(PEER, FlowId(9)), "there is no receiver");
        }
        assert!(proxy.handle_packet(us(2), data(0, 1, MSS)).is_some(), "a message to here");
        assert!(matches!(proxy.poll_event(), Some(Event::Delivered(report)) if report.from == PEER));
    }
}

#[test]
fn what_goes_to_a_forgotten_peer_goes_no_further_and_its_sender_hears_no_more() {
    for is_naive in [false, true] {
        let mut proxy = proxy(is_naive);
        (0..2).for_each(|seq| assert_eq!(proxy.handle_packet(us(0), data(seq, 3, MSS)), None));
        leaving(&mut proxy, us(0));
        proxy.handle_packet(us(1), from(OTHER, data(0, 3, MSS)));
        proxy.forget_peer(us(1), RECEIVER);
        leaving(&mut proxy, us(1));
        assert_eq!(proxy.proxy_waiting(), Some(Bytes::ZERO));
        proxy.handle_packet(us(2), ack(RECEIVER, 20, 0, us(0)));
        assert_eq!(
            proxy.handle_packet(us(2), data(2, 3, MSS)),
            None,
            "it is not taken for a message to here"
        );
        assert_eq!((proxy.poll_transmit(us(2)), proxy.poll_timeout()), (Poll::Idle, None));
        let relayed = proxy.relayed(PEER, FlowId(9)).unwrap();
        assert_eq!((relayed.arrived_packets, relayed.sent_packets), (3, 2));
        assert_eq!(proxy.forget_peer(us(3), PEER), []);
        assert_eq!(proxy.relayed(PEER, FlowId(9)), None);
    }
}

#[test]
fn a_message_is_one_whichever_way_its_packets_come() {
    let mut endpoint = endpoint();
    endpoint.expect_relayed(PEER, FlowId(9), OTHER, FlowId(20));
    assert!(endpoint.handle_packet(us(0), through(0, 3)).is_some());
    assert_eq!(endpoint.handle_packet(us(1), data(0, 3, MSS)), None, "it is here");
    assert!(endpoint.handle_packet(us(1), data(2, 3, MSS)).is_some());
    let received = endpoint.handle_packet(us(2), through(1, 3)).unwrap();
    assert_eq!((received.from, received.flow), (PEER, FlowId(9)), "the message is its sender's");
    let Some(Event::Delivered(report)) = endpoint.poll_event() else { panic!("it has arrived") };
    assert_eq!((report.from, report.flow, report.bytes.get()), (PEER, FlowId(9), 3 * 4096));
    endpoint.handle_packet(us(3), data(1, 3, MSS));
    let replies: Vec<_> =
        send_all(&mut endpoint, us(3)).iter().map(|reply| (reply.to, reply.header.flow().0)).collect();
    assert_eq!(replies, [(OTHER, 20), (PEER, 9), (PEER, 9), (OTHER, 20), (PEER, 9)], "each the way it came");
    let views =
        [(PEER, 9), (OTHER, 20)].map(|(peer, flow)| endpoint.receiver(peer, FlowId(flow)).unwrap().counters);
    assert_eq!((views[0], views[0].arrived_packets), (views[1], 5));
    endpoint.forget_peer(us(4), PEER);
    assert_eq!((endpoint.receiver(PEER, FlowId(9)), endpoint.receiver(OTHER, FlowId(20))), (None, None));
    assert!(endpoint.other_names.is_empty());
    assert!(
        endpoint.handle_packet(us(5), data(0, 1, MSS)).is_some(),
        "the peer's number means another message"
    );
    assert!(endpoint.handle_packet(us(5), through(0, 2)).is_some(), "and not the proxy's");
}

/// A packet of the first peer's message that comes through the other.
fn through(seq: u32, packets: u32) -> Incoming {
    let Header::Data(data) = data(seq, packets, MSS).header else { unreachable!() };
    Incoming::new(OTHER, Header::Data(wire::Data { flow: FlowId(20), ..data }))
}

#[test]
fn a_message_outlives_the_proxy_that_it_came_through() {
    for passed in [2, 4] {
        let mut endpoint = endpoint();
        endpoint.expect_relayed(PEER, FlowId(9), OTHER, FlowId(20));
        let (mut bytes, mut delivered) = (0, Vec::new());
        let mut take = |endpoint: &mut Endpoint, packet| {
            bytes += endpoint.handle_packet(us(0), packet).map_or(0, |received| received.delivered.get());
            while let Some(Event::Delivered(report)) = endpoint.poll_event() {
                delivered.push((report.from, report.flow.0, report.bytes.get()));
            }
        };
        (0..passed).for_each(|seq| take(&mut endpoint, through(seq, 4)));
        endpoint.forget_peer(us(0), OTHER);
        assert_eq!(send_all(&mut endpoint, us(0)), [], "what waited for the proxy is gone");
        // The sender goes straight here, from the first packet on that it does not know to have arrived.
        (0..4).for_each(|seq| take(&mut endpoint, data(seq, 4, MSS)));
        assert_eq!((bytes, delivered), (4 * 4096, vec![(PEER, 9, 4 * 4096)]));
        let acks = send_all(&mut endpoint, us(0));
        assert!(acks.len() == 4 && acks.iter().all(|ack| ack.to == PEER));
    }
}

#[test]
fn the_numbers_of_a_proxy_that_is_forgotten_are_free() {
    let mut endpoint = endpoint();
    endpoint.expect_relayed(PEER, FlowId(9), OTHER, FlowId(20));
    endpoint.handle_packet(us(0), through(0, 2));
    endpoint.forget_peer(us(0), OTHER);
    assert!(endpoint.other_names.is_empty());
    let received = endpoint.handle_packet(us(1), through(0, 3)).unwrap();
    assert_eq!((received.from, received.flow), (OTHER, FlowId(20)), "a message of the proxy's own");
    assert!(!endpoint.receiver(PEER, FlowId(9)).unwrap().is_complete);
}

#[test]
fn a_message_that_is_forgotten_leaves_none_of_its_names() {
    for (peer, flow) in [(PEER, 9), (OTHER, 20)] {
        let mut endpoint = endpoint();
        endpoint.expect_relayed(PEER, FlowId(9), OTHER, FlowId(20));
        endpoint.expect_relayed(PEER, FlowId(9), HostId(3), FlowId(20));
        endpoint.expect_relayed(PEER, FlowId(8), OTHER, FlowId(21));
        endpoint.handle_packet(us(0), through(0, 2));
        assert!(endpoint.forget(peer, FlowId(flow)));
        assert_eq!((endpoint.other_names.len(), endpoint.receiver(PEER, FlowId(9))), (1, None));
        assert!(!endpoint.forget(PEER, FlowId(8)), "nothing of it has come");
        assert!(endpoint.other_names.is_empty());
    }
}

#[test]
fn pulls_of_a_message_whose_proxy_is_forgotten_go_to_its_sender() {
    let congestion = CongestionConfig::by_name("ndp").unwrap();
    let profile = FlowProfile { pulls: congestion.needs().pulls, ..FlowProfile::default() };
    let mut endpoint = endpoint().with_profiles(&Profiles::new([profile]), testing::path().line_rate);
    endpoint.expect_relayed(PEER, FlowId(9), OTHER, FlowId(20));
    (0..2).for_each(|seq| assert!(endpoint.handle_packet(us(0), through(seq, 9)).is_some()));
    endpoint.forget_peer(us(0), OTHER);
    let at = endpoint.poll_timeout().unwrap();
    endpoint.handle_timeout(at);
    let pulled: Vec<_> =
        send_all(&mut endpoint, at).iter().map(|pull| (pull.to, pull.header.flow().0)).collect();
    assert_eq!(pulled, [(PEER, 9)]);
}

#[test]
fn a_host_whose_number_is_too_high_claims_no_receiver() {
    let mut endpoint = endpoint();
    for (peer, is_taken) in [(MAX_HOSTS - 1, true), (MAX_HOSTS, false), (u32::MAX, false)] {
        for packet in [data(0, 1, MSS), coded(0), trimmed(0, 1, MSS)] {
            endpoint.handle_packet(us(0), from(HostId(peer), packet));
            assert_eq!(endpoint.receiver(HostId(peer), FlowId(9)).is_some(), is_taken);
            assert_eq!(endpoint.forget(HostId(peer), FlowId(9)), is_taken);
        }
        assert_eq!(!send_all(&mut endpoint, us(0)).is_empty(), is_taken, "it is not answered");
    }
}
