//! TCP's connections: handshake, bursts, and the window of a recovery.

use super::*;
use crate::congestion::CongestionConfig;
use crate::endpoint::{Endpoint, EndpointConfig};
use crate::flow::message::{Incoming, Poll};
use crate::wire::Handshake;

/// A window of so many packets, and this connection.
fn connected(packets: u64, connection: Connection) -> Setup {
    Setup { cwnd: mss(packets), connection, ..Setup::default() }
}

impl Bench {
    /// Sends so many packets, one each microsecond, and no more may leave.
    fn send_each_us(&mut self, packets: u32) {
        for seq in 0..packets {
            let now = us(u64::from(seq));
            assert!(self.sender.next_send().is_some_and(|at| at <= now), "packet {seq} may leave");
            assert_eq!(self.sender.send(now).0.header.seq, seq);
        }
        assert_eq!(self.sender.next_send(), None);
    }
}

fn opening() -> Bench {
    Bench::new(connected(4, Connection { handshake: true, ..Connection::default() }))
}

/// The header of the packet that is to leave now.
fn next_header(bench: &mut Bench, now: Time) -> Header {
    assert!(bench.sender.next_send().is_some_and(|at| at <= now), "a packet may leave");
    bench.sender.send(now).0.header()
}

/// Answers a packet of so many that opened the flow at this time.
fn ack_handshake(bench: &mut Bench, now: Time, packets: u32, sent_at: Time) {
    let echo = Echo { sent_at, entropy: 0 };
    let fate = Fate::Arrived { echo, ecn_ce: false, block_complete: false, map: 0 };
    bench.dispatch_ack(now, packets, 0, fate);
}

#[test]
fn a_flow_opens_with_a_packet_without_payload_and_goes_on_when_it_is_answered() {
    let mut bench = opening();
    let (flow, sent_at) = (FlowId(1), us(5));
    let open = Handshake { flow, packets: 100, sent_at, entropy: 100, profile: 0 };
    assert_eq!(next_header(&mut bench, us(5)), Header::Handshake(open));
    assert_eq!(bench.sender.next_send(), None, "one is enough");
    ack_handshake(&mut bench, us(25), 100, us(5));
    let ack = bench.last_ack();
    assert_eq!((ack.rtt, ack.bytes_acked, ack.in_flight), (Duration::from_us(20), Bytes::ZERO, Bytes::ZERO));
    assert_eq!(bench.sender.view().srtt, Some(Duration::from_us(20)), "its round trip is the first sample");
    assert_eq!(bench.send(us(25)), [0, 1, 2, 3]);
    ack_handshake(&mut bench, us(30), 100, us(5));
    assert_eq!(bench.log.lock().unwrap().acks.len(), 1, "a second answer is none");
    let counters = bench.sender.view().counters;
    assert_eq!((counters.timeouts, bench.sender.view().in_flight), (0, mss(4)));
}

#[test]
fn what_is_no_answer_opens_nothing() {
    let mut bench = opening();
    next_header(&mut bench, us(5));
    ack_handshake(&mut bench, us(25), 99, us(5));
    ack_handshake(&mut bench, us(25), 100, us(26));
    bench.dispatch_ack(us(25), 100, 0, Fate::Cnp);
    assert_eq!(bench.sender.next_send(), None);
}

#[test]
fn a_packet_that_opens_and_is_lost_leaves_after_a_time_out_and_then_after_twice_as_long() {
    let mut bench = opening();
    let (mut at, mut leaves) = (us(0), Vec::new());
    for _ in 0..4 {
        leaves.push(at);
        let (packet, deadline) = bench.sender.send(at);
        assert!(matches!(packet.header(), Header::Handshake(_)));
        assert_eq!(bench.sender.on_timeout(at), deadline, "none is due before");
        bench.sender.on_timeout(deadline);
        at = deadline;
    }
    assert_eq!(leaves, [0, 1, 3, 7].map(|rtos| Time::ZERO + RTO * rtos));
    assert_eq!(bench.sender.view().counters.timeouts, 4);
    ack_handshake(&mut bench, us(720), 100, us(700));
    assert_eq!(bench.send(us(720)), [0, 1, 2, 3]);
    assert_eq!(bench.sender.deadline(us(720)), us(820), "back-off ends with the handshake");
}

#[test]
fn a_receiver_answers_whoever_opens_a_flow_and_keeps_nothing() {
    let config = EndpointConfig::new(HostId(1));
    let mut endpoint = Endpoint::new(config);
    let open = Handshake { flow: FlowId(7), packets: 3, sent_at: us(1), entropy: 9, profile: 0 };
    let packet = Incoming { ecn_ce: true, ..Incoming::new(HostId(4), Header::Handshake(open)) };
    assert_eq!(endpoint.handle_packet(us(2), packet), None);
    let Poll::Packet(reply) = endpoint.poll_transmit(us(2)) else { panic!("it answers") };
    let echo = Echo { sent_at: us(1), entropy: 9 };
    let fate = Fate::Arrived { echo, ecn_ce: true, block_complete: false, map: 0 };
    let expected = Feedback { flow: FlowId(7), seq: 3, cumulative: 0, fate };
    assert_eq!((reply.to, reply.header, reply.control), (HostId(4), Header::Feedback(expected), true));
    assert_eq!(endpoint.receiver(HostId(4), FlowId(7)), None);
}

/// Bursts of up to so many packets.
fn bursts(packets: u64) -> Connection {
    Connection { burst: mss(packets), ..Connection::default() }
}

#[test]
fn a_sender_waits_until_a_third_of_its_window_may_leave() {
    let mut bench = Bench::new(connected(12, bursts(16)));
    assert_eq!(bench.send(us(0)).len(), 12);
    let sent: Vec<_> = (0..8)
        .map(|seq| {
            bench.ack(us(100 + u64::from(seq)), seq, us(0));
            bench.send(us(100 + u64::from(seq))).len()
        })
        .collect();
    assert_eq!(sent, [0, 0, 0, 4, 0, 0, 0, 4]);
}

#[test]
fn the_largest_burst_is_enough_and_so_is_what_is_left_of_the_message() {
    let mut bench = Bench::new(Setup { size: mss(33), ..connected(30, bursts(2)) });
    assert_eq!(bench.send(us(0)).len(), 30);
    let sent: Vec<_> = (0..4)
        .map(|seq| {
            bench.ack(us(100), seq, us(0));
            bench.send(us(100)).len()
        })
        .collect();
    assert_eq!(sent, [0, 2, 1, 0]);
}

#[test]
fn a_burst_is_no_more_than_a_millisecond_at_the_flow_s_rate_and_the_pacer_holds_back_the_next() {
    // 8 packets of 4,160 B a millisecond.
    let pacing_rate = Some(Rate::from_bps(8 * 4160 * 8 * 1000));
    let mut bench = Bench::new(Setup { pacing_rate, ..connected(40, bursts(16)) });
    assert_eq!(bench.send(us(0)).len(), 8);
    assert!(bench.sender.next_send().is_some_and(|at| at > us(970) && at <= us(1000)), "a millisecond later");
    assert_eq!(bench.send(us(1000)).len(), 8);
}

#[test]
fn the_first_packets_of_a_connection_are_not_paced_where_its_scheme_says_so() {
    let pacing_rate = Some(Rate::from_bps(8 * 4160 * 8 * 1000));
    let connection = Connection { unpaced: 10, ..bursts(16) };
    let mut bench = Bench::new(Setup { pacing_rate, ..connected(40, connection) });
    // Two bursts of eight: the second one has the tenth packet, from which on the pacer counts.
    assert_eq!(bench.send(us(0)).len(), 16);
    assert!(bench.sender.next_send().is_some_and(|at| at > us(850) && at <= us(875)), "seven packets later");
}

#[test]
fn a_burst_that_is_leaving_keeps_its_turn() {
    let mut bench = Bench::new(connected(40, bursts(4)));
    bench.sender.set_scheduled(true);
    let turns: Vec<_> = (0..8)
        .map(|_| {
            bench.sender.send(us(0));
            bench.sender.next_send() == Some(IN_TURN)
        })
        .collect();
    assert_eq!(turns, [true, true, true, false, true, true, true, false]);
}

#[test]
fn a_lost_packet_does_not_wait_for_a_burst() {
    let mut bench = Bench::new(Setup { policy: RecoveryPolicy::Rack, ..connected(12, bursts(16)) });
    bench.send_each_us(12);
    for seq in 1..4 {
        bench.ack(us(100 + seq), seq as u32, us(seq));
    }
    assert_eq!(bench.send(us(103)), [0, 12, 13, 14], "what is lost leaves at once, and others with it");
}

/// A NewReno flow with so many packets in flight, and what it sends when each of these is acknowledged but the first `lost`.
fn recovery(packets: u32, lost: u32, prr: bool) -> Vec<usize> {
    let connection = Connection { prr, ..Connection::default() };
    let recovery = RecoveryConfig { rto: Rto::Fixed(us(100_000) - us(0)), ..RecoveryConfig::default() };
    let congestion = CongestionConfig::by_name("newreno").unwrap();
    let scheme = Scheme { recovery, connection, ..Scheme::new(congestion) };
    let route = Arc::new(Route::new(testing::path(), &scheme));
    let initial_cwnd = mss(u64::from(packets));
    let message = Message { initial_cwnd, ..Message::new(FlowId(1), HostId(2), mss(1000), route) };
    let log = Log::default();
    let mut bench = Bench { sender: Sender::new(Time::ZERO, &message, 0, 1, 0), log };
    bench.send_each_us(packets);
    let sent = (lost..packets).map(|seq| {
        let now = us(100 + u64::from(seq));
        bench.ack(now, seq, us(u64::from(seq)));
        bench.send(now).len()
    });
    sent.collect()
}

#[test]
fn with_rate_reduction_every_second_ack_of_a_halved_window_lets_a_packet_go() {
    let sent = recovery(40, 1, true);
    // The third ACK finds the loss; the two before are of slow start.
    assert_eq!(sent[2], 1, "what is lost: {sent:?}");
    assert!(sent[3..].windows(4).all(|four| (1..=3).contains(&four.iter().sum::<usize>())), "{sent:?}");
    let without = recovery(40, 1, false);
    let silence = without.iter().skip(3).take_while(|&&packets| packets == 0).count();
    assert!(silence >= 15 && without[2] <= 1, "half a round trip of silence: {without:?}");
    let total = |sent: &[usize]| sent.iter().sum::<usize>();
    assert!(total(&sent).abs_diff(total(&without)) <= 2, "{sent:?} {without:?}");
}

#[test]
fn when_much_is_lost_rate_reduction_grows_by_no_more_than_a_packet_an_ack() {
    let sent = recovery(40, 30, true);
    assert!(sent.iter().all(|&packets| packets <= 2), "{sent:?}");
    let without = recovery(40, 30, false);
    assert!(without.iter().any(|&packets| packets > 2), "a burst: {without:?}");
}

#[test]
fn a_sender_says_once_a_window_that_it_has_cut_it() {
    let mut bench = Bench::new(Setup { repeats_marks: true, ..connected(4, Connection::default()) });
    assert_eq!(bench.send(us(0)), [0, 1, 2, 3]);
    let mut said = Vec::new();
    for (cumulative, marked) in [(1, true), (2, true), (3, true), (4, false), (5, true), (6, true)] {
        let echo = Echo { sent_at: us(0), entropy: 0 };
        let fate = Fate::Arrived { echo, ecn_ce: marked, block_complete: false, map: 0 };
        bench.dispatch_ack(us(20), cumulative - 1, cumulative, fate);
        said.push(bench.sender.send(us(20)).0.header.ask);
    }
    // The first window ends with packet 3, the second with packet 8.
    assert_eq!(said, [true, false, false, false, true, false]);
}
