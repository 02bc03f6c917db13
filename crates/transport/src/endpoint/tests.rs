//! Tests of an endpoint: its reactions to packets, and their times.

use super::*;
use crate::balance::BalanceConfig;
use crate::coding::Payload;
use crate::coding::{self, CodingConfig};
use crate::congestion::{
    Ack, Cnp, Congestion, CongestionConfig, Custom, Decision, Ecn, Factory, NackRule, Needs, SignalBytes,
    Start, testing,
};
use crate::notifier::CnpConfig;
use crate::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use crate::wire::{self, Echo, Fate};
use crate::{Connection, FlowProfile, Path, Route, Scheme, WindowCheck};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::{Duration, HopTelemetry, TelemetryKind};

mod peers;

const PEER: HostId = HostId(1);

fn endpoint() -> Endpoint {
    let path = testing::path();
    Endpoint::new(EndpointConfig { host: HostId(0), seed: 1, mss: path.mss, header: path.header })
}

fn message(flow: u32, packets: u64, rto: Rto) -> Message {
    message_over(testing::path(), flow, packets, rto)
}

fn message_over(path: Path, flow: u32, packets: u64, rto: Rto) -> Message {
    let scheme = Scheme {
        congestion: CongestionConfig::by_name("fixed_window").unwrap(),
        balance: BalanceConfig::by_name("ecmp").unwrap(),
        recovery: RecoveryConfig { rto, backoff: true, policy: RecoveryPolicy::PerPacketRto },
        coding: CodingConfig::by_name("none").unwrap(),
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
        profile: FlowProfile::default(),
    };
    let (flow, size, initial_cwnd) = (FlowId(flow), path.mss * packets, path.bdp);
    Message { flow, to: PEER, size, initial_cwnd, route: Arc::new(Route::new(path, &scheme)), via: None }
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_us(us)
}

fn data(seq: u32, packets: u32, len: u16) -> Incoming {
    let (flow, sent_at) = (FlowId(9), Time::ZERO);
    let header =
        Header::Data(wire::Data { flow, seq, packets, len, sent_at, entropy: 0, profile: 0, ask: false });
    Incoming::new(PEER, header)
}

fn ack(from: HostId, flow: u32, seq: u32, sent_at: Time) -> Incoming {
    let flow = FlowId(flow);
    let echo = Echo { sent_at, entropy: 0 };
    let fate = Fate::Arrived { echo, ecn_ce: false, block_complete: false, map: 0 };
    let header = Header::Feedback(Feedback { flow, seq, cumulative: 0, fate });
    Incoming::new(from, header)
}

fn send_all(endpoint: &mut Endpoint, now: Time) -> Vec<Transmit> {
    core::iter::from_fn(|| match endpoint.poll_transmit(now) {
        Poll::Packet(packet) => Some(packet),
        Poll::At(_) | Poll::Idle => None,
    })
    .collect()
}

#[test]
fn a_live_flow_takes_512_bytes_of_the_sender_s_table_at_most() {
    let (slot, sender) = (size_of::<Option<Live>>(), size_of::<Sender>());
    assert!(slot <= 512, "{slot} bytes, {sender} of them the sender");
}

#[test]
fn only_the_host_that_a_message_goes_to_can_acknowledge_it() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(0, 1, Rto::Path));
    send_all(&mut endpoint, us(0));
    endpoint.handle_packet(us(9), ack(HostId(2), 0, 0, us(0)));
    assert_eq!(endpoint.poll_event(), None);
    endpoint.handle_packet(us(9), ack(PEER, 0, 0, us(0)));
    assert!(matches!(endpoint.poll_event(), Some(Event::Finished(report)) if report.finished_at == us(9)));
}

#[test]
fn an_ack_echoes_the_telemetry_of_its_packet() {
    let mut endpoint = endpoint();
    let hop = HopTelemetry { sent: Bytes::new(7), ..HopTelemetry::default() };
    let telemetry = Some(Box::new(Telemetry::from_iter([hop])));
    endpoint.handle_packet(us(1), Incoming { telemetry: telemetry.clone(), ..data(0, 2, 4096) });
    endpoint.handle_packet(us(1), data(1, 2, 4096));
    let echoed: Vec<_> = send_all(&mut endpoint, us(1)).into_iter().map(|packet| packet.telemetry).collect();
    assert_eq!(echoed, [telemetry, None]);
}

#[test]
fn control_packets_can_be_asked_for_alone() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(0, 1, Rto::Path));
    endpoint.handle_packet(us(0), data(0, 1, 4096));
    assert!(endpoint.poll_control().is_some_and(|packet| packet.control));
    assert_eq!(endpoint.poll_control(), None);
    let waited: Vec<_> = send_all(&mut endpoint, us(0)).iter().map(|packet| packet.control).collect();
    assert_eq!(waited, [false], "data has waited");
}

#[test]
fn a_flow_that_ends_takes_its_timers_with_it_and_late_acks_say_nothing() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(0, 1, Rto::Path));
    send_all(&mut endpoint, us(0));
    assert_eq!(endpoint.poll_timeout(), Some(us(0) + Rto::Path.initial(&testing::path(), Duration::ZERO)));
    endpoint.handle_packet(us(9), ack(PEER, 0, 0, us(0)));
    assert_eq!(endpoint.poll_timeout(), None);
    endpoint.poll_event();
    endpoint.handle_packet(us(10), ack(PEER, 0, 0, us(0)));
    assert_eq!((endpoint.poll_event(), endpoint.sender(FlowId(0))), (None, None));
}

#[test]
fn pieces_of_a_wrong_length_or_number_claim_no_receiver() {
    let mut endpoint = endpoint();
    // Empty; too long; short but not the last; beyond the last; of a message without packets.
    for (seq, packets, len) in [(0, 2, 0), (0, 2, 4097), (0, 2, 4095), (2, 2, 4096), (0, 0, 4096)] {
        assert_eq!(endpoint.handle_packet(us(0), data(seq, packets, len)), None);
    }
    assert_eq!(endpoint.receiver(PEER, FlowId(9)), None);
    assert_eq!(endpoint.poll_transmit(us(0)), Poll::Idle, "what was not taken in is not acknowledged");
    let received = endpoint.handle_packet(us(0), data(1, 2, 1));
    assert_eq!(
        received,
        Some(Received {
            from: PEER,
            flow: FlowId(9),
            payload: Payload::Source(4096..4097),
            decodable: None,
            delivered: Bytes::new(1),
        })
    );
}

#[test]
fn a_complete_message_is_reported_once_and_its_duplicates_still_acknowledged() {
    let mut endpoint = endpoint();
    assert!(endpoint.handle_packet(us(3), data(0, 1, 4096)).is_some());
    assert!(endpoint.handle_packet(us(4), data(0, 1, 4096)).is_none());
    assert!(matches!(endpoint.poll_event(), Some(Event::Delivered(report)) if report.delivered_at == us(3)));
    assert_eq!(endpoint.poll_event(), None);
    let acks = send_all(&mut endpoint, us(4));
    assert!(acks.iter().all(|packet| packet.control && packet.to == PEER) && acks.len() == 2);
    assert_eq!(acks[1].entropy, (acks[0].entropy + 1) % 256, "the round of entropies goes on");
    let view = endpoint.receiver(PEER, FlowId(9)).unwrap();
    assert_eq!((view.is_complete, view.counters.arrived_packets), (true, 2));
}

fn trimmed(seq: u32, packets: u32, len: u16) -> Incoming {
    Incoming { trimmed: Trimmed::OnItsWay, ..data(seq, packets, len) }
}

/// The numbers of the NACKs among these packets, with their cumulative numbers.
fn nacks(packets: &[Transmit]) -> Vec<(u32, u32)> {
    let number = |packet: &Transmit| match packet.header {
        Header::Feedback(Feedback { seq, cumulative, fate: Fate::Trimmed { .. }, .. }) => {
            Some((seq, cumulative))
        }
        _ => None,
    };
    packets.iter().filter_map(number).collect()
}

#[test]
fn a_trimmed_packet_is_answered_by_a_nack_and_delivers_nothing() {
    let mut endpoint = endpoint();
    assert_eq!(endpoint.handle_packet(us(1), trimmed(1, 2, 100)), None);
    assert!(endpoint.handle_packet(us(2), data(0, 2, 4096)).is_some());
    assert_eq!(endpoint.handle_packet(us(3), trimmed(1, 2, 100)), None);
    assert_eq!(endpoint.poll_event(), None);
    let replies = send_all(&mut endpoint, us(3));
    assert_eq!(nacks(&replies), [(1, 0), (1, 1)]);
    assert!(replies.iter().all(|p| p.control && p.to == PEER && p.size == testing::path().header));
    let view = endpoint.receiver(PEER, FlowId(9)).unwrap();
    assert_eq!((view.counters.arrived_packets, view.counters.trimmed_packets), (1, 2));
    assert_eq!((view.goodput, view.is_complete), (Bytes::new(4096), false));
    assert!(endpoint.handle_packet(us(4), data(1, 2, 100)).is_some());
    assert_eq!(endpoint.handle_packet(us(5), trimmed(0, 2, 4096)), None);
    assert_eq!(nacks(&send_all(&mut endpoint, us(5))), [(0, 2)], "the message is complete");
    assert_eq!(endpoint.receiver(PEER, FlowId(9)).unwrap().counters.trimmed_packets, 3);
}

#[test]
fn a_header_that_comes_back_lets_its_packet_leave_again_and_none_comes_from_a_peer() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(9, 3, Rto::Fixed(Duration::from_ms(1))));
    assert_eq!(send_all(&mut endpoint, us(0)).len(), 3);
    let returned = |from| Incoming { from, trimmed: Trimmed::Returned, ..data(1, 3, 4096) };
    assert_eq!(endpoint.handle_packet(us(9), returned(PEER)), None);
    assert!(send_all(&mut endpoint, us(9)).is_empty(), "nothing is believed, and nothing answered");
    assert_eq!(endpoint.handle_packet(us(9), returned(HostId(0))), None);
    let again = send_all(&mut endpoint, us(9));
    assert_eq!(again.iter().map(|packet| packet.retransmission).collect::<Vec<_>>(), [true]);
    assert!(matches!(again[0].header, Header::Data(data) if data.seq == 1));
    // A flow that is not here.
    let mut other = self::endpoint();
    assert_eq!(other.handle_packet(us(9), returned(HostId(0))), None);
    assert!(send_all(&mut other, us(9)).is_empty() && other.receiver(HostId(0), FlowId(9)).is_none());
}

#[test]
fn trimmed_pieces_of_a_wrong_length_or_number_are_not_answered() {
    let mut endpoint = endpoint();
    for (seq, packets, len) in [(0, 2, 0), (0, 2, 4097), (0, 2, 4095), (2, 2, 4096), (0, 0, 4096)] {
        assert_eq!(endpoint.handle_packet(us(0), trimmed(seq, packets, len)), None);
    }
    assert_eq!(endpoint.receiver(PEER, FlowId(9)), None);
    assert_eq!(endpoint.poll_transmit(us(0)), Poll::Idle);
}

#[test]
fn a_nack_lets_the_packet_leave_again_if_it_comes_from_the_receiver() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(0, 1, Rto::Path));
    send_all(&mut endpoint, us(0));
    let nack = |from| {
        let fate =
            Fate::Trimmed { echo: Echo { sent_at: us(0), entropy: 0 }, at_last_hop: false, ecn_ce: false };
        let nack = Feedback { flow: FlowId(0), seq: 0, cumulative: 0, fate };
        Incoming::new(from, Header::Feedback(nack))
    };
    endpoint.handle_packet(us(9), nack(HostId(2)));
    assert_eq!(send_all(&mut endpoint, us(9)), []);
    endpoint.handle_packet(us(9), nack(PEER));
    let again = send_all(&mut endpoint, us(9));
    assert_eq!(again.iter().map(|packet| packet.retransmission).collect::<Vec<_>>(), [true]);
    assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.counters.nacks), Some(1));
}

/// Packet `seq` of a message of eight full segments in blocks of 4 + 2, to be waited for 10 us.
fn coded(seq: u32) -> Incoming {
    let data = wire::Data {
        flow: FlowId(9),
        seq,
        packets: 12,
        len: 4096,
        sent_at: Time::ZERO,
        entropy: 0,
        profile: 0,
        ask: false,
    };
    let shape = coding::Shape::new(4, 2).unwrap();
    let header = Header::Coded(wire::Coded { data, shape, last_len: 4096, block_wait_ns: 10_000 });
    Incoming::new(PEER, header)
}

fn take_all(endpoint: &mut Endpoint, now: Time, seqs: impl IntoIterator<Item = u32>) {
    for seq in seqs {
        endpoint.handle_packet(now, coded(seq));
    }
    send_all(endpoint, now);
}

fn block_nacks(endpoint: &mut Endpoint, now: Time) -> Vec<(u32, u32, u32)> {
    let number = |packet: &Transmit| match packet.header {
        Header::Feedback(Feedback { seq, cumulative, fate: Fate::Missing { packets }, .. }) => {
            Some((seq, packets, cumulative))
        }
        _ => None,
    };
    send_all(endpoint, now).iter().filter_map(number).collect()
}

#[test]
fn a_block_that_waits_too_long_is_asked_for_once_and_again_after_another_packet() {
    let mut endpoint = endpoint();
    take_all(&mut endpoint, us(1), [0, 1, 6]);
    assert_eq!(endpoint.poll_timeout(), Some(us(11)));
    take_all(&mut endpoint, us(5), [7, 8, 9]);
    endpoint.handle_timeout(us(10));
    assert_eq!(block_nacks(&mut endpoint, us(10)), []);
    endpoint.handle_timeout(us(11));
    assert_eq!(block_nacks(&mut endpoint, us(11)), [(0, 0b11_1100, 2)]);
    assert_eq!(endpoint.poll_timeout(), None);
    take_all(&mut endpoint, us(20), [5]);
    assert_eq!(endpoint.poll_timeout(), Some(us(30)));
    endpoint.handle_timeout(us(30));
    assert_eq!(block_nacks(&mut endpoint, us(30)), [(0, 0b01_1100, 2)]);
    take_all(&mut endpoint, us(40), [4]);
    assert!(matches!(endpoint.poll_event(), Some(Event::Delivered(_))));
    assert_eq!(endpoint.poll_timeout(), None, "the timer went with the receiver");
}

#[test]
fn what_is_decoded_is_told_and_what_comes_late_was_not_lost() {
    let mut endpoint = endpoint();
    take_all(&mut endpoint, us(1), [0, 1, 2, 6, 7, 10]);
    let repaired = |endpoint: &Endpoint| endpoint.receiver(PEER, FlowId(9)).unwrap().counters.blocks_repaired;
    let received = endpoint.handle_packet(us(2), coded(5)).unwrap();
    assert!(matches!(received.payload, Payload::Parity { index: 1, .. }));
    let block = received.decodable.unwrap();
    assert_eq!((block.number, block.source, received.delivered), (0, 0..4 * 4096, Bytes::new(4096)));
    assert_eq!(repaired(&endpoint), 1);
    take_all(&mut endpoint, us(3), [11]);
    assert!(matches!(endpoint.poll_event(), Some(Event::Delivered(_))));
    assert_eq!(repaired(&endpoint), 2);
    assert_eq!(endpoint.handle_packet(us(4), coded(3)), None);
    assert_eq!(repaired(&endpoint), 1, "segment 3 was only delayed");
    take_all(&mut endpoint, us(5), [4, 8, 9]);
    assert_eq!(
        (repaired(&endpoint), endpoint.receiver(PEER, FlowId(9)).unwrap().counters.arrived_packets),
        (0, 12)
    );
}

#[test]
fn a_coded_header_that_contradicts_itself_claims_no_receiver() {
    let mut endpoint = endpoint();
    let Header::Coded(good) = coded(0).header else { unreachable!() };
    let data = good.data;
    let bad = [
        wire::Coded { data: wire::Data { seq: 12, ..data }, ..good },
        wire::Coded { data: wire::Data { len: 100, ..data }, ..good },
        wire::Coded { data: wire::Data { packets: 7, ..data }, ..good },
        wire::Coded { last_len: 0, ..good },
        wire::Coded { last_len: 4097, ..good },
    ];
    for header in bad.map(Header::Coded) {
        for trimmed in [Trimmed::No, Trimmed::OnItsWay] {
            let packet = Incoming { header, trimmed, ..coded(0) };
            assert_eq!(endpoint.handle_packet(us(0), packet), None);
        }
    }
    assert_eq!(endpoint.receiver(PEER, FlowId(9)), None);
    assert_eq!(endpoint.poll_transmit(us(0)), Poll::Idle);
}

#[test]
fn a_time_out_that_shrinks_comes_earlier() {
    let mut endpoint = endpoint();
    let (initial, variance_floor) = (Duration::from_us(300), Duration::from_us(1));
    let rto = Rto::Rfc6298 { initial, variance_floor, min: Duration::ZERO };
    endpoint
        .submit(us(0), message_over(Path { base_rtt: Duration::from_us(100), ..testing::path() }, 0, 2, rto));
    send_all(&mut endpoint, us(0));
    assert_eq!(endpoint.poll_timeout(), Some(us(300)));
    endpoint.handle_packet(us(10), ack(PEER, 0, 0, us(0)));
    assert_eq!(endpoint.poll_timeout(), Some(us(30)), "SRTT 10, RTTVAR 5");
    endpoint.handle_timeout(us(30));
    assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.counters.timeouts), Some(1));
}

#[test]
fn a_timer_whose_packets_were_acknowledged_comes_up_early_and_is_put_back() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(0, 2, Rto::Fixed(Duration::from_us(50))));
    assert!(matches!(endpoint.poll_transmit(us(0)), Poll::Packet(_)));
    assert!(matches!(endpoint.poll_transmit(us(7)), Poll::Packet(_)));
    endpoint.handle_packet(us(20), ack(PEER, 0, 0, us(0)));
    assert_eq!(endpoint.poll_timeout(), Some(us(50)), "an ACK moves no timer");
    endpoint.handle_timeout(us(50));
    assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.counters.timeouts), Some(0));
    assert_eq!(endpoint.poll_timeout(), Some(us(57)));
}

#[test]
fn a_sender_that_is_cancelled_leaves_nothing_behind() {
    let mut endpoint = endpoint();
    endpoint.submit(us(0), message(3, 2, Rto::Fixed(Duration::from_us(100))));
    assert_eq!(send_all(&mut endpoint, us(0)).len(), 2);
    let report = endpoint.cancel(us(50), FlowId(3)).unwrap();
    assert_eq!((report.finished_at, report.counters.sent_packets), (us(50), 2));
    assert_eq!((endpoint.poll_timeout(), endpoint.cancel(us(50), FlowId(3))), (None, None));
    endpoint.handle_packet(us(60), ack(PEER, 3, 0, us(0)));
    endpoint.handle_timeout(us(1000));
    assert_eq!(endpoint.poll_transmit(us(1000)), Poll::Idle);
    assert_eq!(endpoint.poll_event(), None);
}

#[test]
fn a_receiver_that_is_forgotten_starts_anew() {
    let mut endpoint = endpoint();
    let mss = testing::path().mss.get() as u16;
    for (packets, is_complete) in [(2, false), (1, true)] {
        endpoint.handle_packet(us(0), data(0, packets, mss));
        assert_eq!(endpoint.receiver(PEER, FlowId(9)).map(|view| view.is_complete), Some(is_complete));
        assert!(endpoint.forget(PEER, FlowId(9)) && !endpoint.forget(PEER, FlowId(9)));
        assert_eq!(endpoint.receiver(PEER, FlowId(9)), None);
    }
    take_all(&mut endpoint, us(0), [0, 1]);
    assert!(endpoint.poll_timeout().is_some(), "the timer of a block");
    assert!(endpoint.forget(PEER, FlowId(9)));
    assert_eq!(endpoint.poll_timeout(), None);
}

/// The kinds of the replies that have left: A for an ACK, N for a NACK, C for a CNP.
fn kinds(replies: &[Transmit]) -> String {
    let kind = |packet: &Transmit| match packet.header {
        Header::Feedback(Feedback { fate: Fate::Arrived { .. }, .. }) => 'A',
        Header::Feedback(Feedback { fate: Fate::Trimmed { .. }, .. }) => 'N',
        Header::Feedback(Feedback { fate: Fate::Cnp, .. }) => 'C',
        _ => '?',
    };
    replies.iter().map(kind).collect()
}

#[test]
fn a_marked_packet_brings_a_cnp_behind_its_ack_unless_one_left_within_the_interval() {
    let cnps = Some(CnpConfig { interval: Duration::from_us(50) });
    let profiles = Profiles::new([FlowProfile { cnps, ..FlowProfile::default() }]);
    let mut endpoint = endpoint().with_profiles(&profiles, testing::path().line_rate);
    let mut said = Vec::new();
    let marked = |packet| Incoming { ecn_ce: true, ..packet };
    for (at, packet) in [
        (0, data(0, 9, 4096)),
        (1, marked(data(1, 9, 4096))),
        (2, marked(data(3, 9, 4096))),
        (50, marked(trimmed(2, 9, 4096))),
        (51, marked(trimmed(2, 9, 4096))),
        (120, data(2, 9, 4096)),
    ] {
        endpoint.handle_packet(us(at), packet);
        let replies = send_all(&mut endpoint, us(at));
        assert!(replies.iter().all(|packet| packet.control && packet.to == PEER));
        said.push((kinds(&replies), replies));
    }
    assert_eq!(
        said.iter().map(|(kinds, _)| kinds.as_str()).collect::<Vec<_>>(),
        ["A", "AC", "A", "N", "NC", "A"]
    );
    let [ack, cnp] = &said[1].1[..] else { panic!("two replies") };
    let expected = Feedback { flow: FlowId(9), seq: 0, cumulative: 2, fate: Fate::Cnp };
    assert_eq!((cnp.header, cnp.size), (Header::Feedback(expected), testing::path().header));
    assert_eq!(cnp.entropy, ack.entropy, "it goes where the ACK goes");
}

/// A window of eight packets, which each CNP halves.
struct Halving(Bytes);

impl Factory for Halving {
    fn name(&self) -> &'static str {
        "halving"
    }
    fn needs(&self) -> Needs {
        Needs {
            ecn: Ecn::Ignored,
            sent: false,
            send_record: false,
            pulls: None,
            cnps: Some(CnpConfig { interval: Duration::from_us(50) }),
            telemetry: TelemetryKind::None,
            arrival: false,
            nacks: NackRule::Only,
            signal_bytes: SignalBytes::NONE,
        }
    }
    fn control(&self, _start: &Start<'_>) -> Box<dyn Congestion + Send> {
        Box::new(Self(self.0))
    }
}

impl Congestion for Halving {
    fn decision(&self) -> Decision {
        Decision::window(self.0)
    }
    fn on_ack(&mut self, _ack: &Ack<'_>) -> Decision {
        self.decision()
    }
    fn on_cnp(&mut self, _cnp: &Cnp) -> Decision {
        self.0 = self.0 / 2;
        self.decision()
    }
}

#[test]
fn a_cnp_reaches_the_control_if_it_comes_from_the_receiver_and_acknowledges_what_it_names() {
    let congestion = CongestionConfig::Custom(Custom::new(Halving(testing::path().mss * 8)));
    assert_eq!(congestion.needs().cnps, Some(CnpConfig { interval: Duration::from_us(50) }));
    let (mut endpoint, mut message) = (endpoint(), message(0, 20, Rto::Path));
    Arc::make_mut(&mut message.route).congestion = congestion.params(&testing::path());
    endpoint.submit(us(0), message);
    assert_eq!(send_all(&mut endpoint, us(0)).len(), 8);
    let cnp = |from| {
        let cnp = Feedback { flow: FlowId(0), seq: 0, cumulative: 5, fate: Fate::Cnp };
        Incoming::new(from, Header::Feedback(cnp))
    };
    endpoint.handle_packet(us(9), cnp(HostId(2)));
    let state = |endpoint: &Endpoint| {
        let view = endpoint.sender(FlowId(0)).unwrap();
        (view.cwnd.get() / 4096, view.in_flight.get() / 4096)
    };
    assert_eq!(state(&endpoint), (8, 8));
    endpoint.handle_packet(us(9), cnp(PEER));
    assert_eq!(state(&endpoint), (4, 3));
    assert_eq!(send_all(&mut endpoint, us(9)).len(), 1, "the window has room for one");
}
