//! Tests of a driver on a wire that is fed by hand.

use super::*;
use crate::limits::Limits;
use crate::wire::OnDatagram;
use farspan_transport::balance::BalanceConfig;
use farspan_transport::coding::{CodingConfig, Shape};
use farspan_transport::congestion::CongestionConfig;
use farspan_transport::recovery::{RecoveryConfig, RecoveryPolicy, Rto};
use farspan_transport::wire::{Coded, Data, Echo, Fate, Feedback, Header, MAX_HEADER, Numbered, Place, View};
use farspan_transport::{Connection, FlowProfile, Path, Scheme, WindowCheck};
use farspan_units::{Bytes, HostId, Rate};
use proptest::prelude::*;
use std::io;

const MSS: Bytes = Bytes::new(100);
/// The number of the first peer.
const FIRST: HostId = HostId(1);

/// A wire that gives what was put in, and keeps what it takes.
#[derive(Debug, Default)]
struct Fed {
    given: Vec<(SocketAddr, Vec<u8>)>,
    taken: Vec<(SocketAddr, Header)>,
    /// Whom the system does not send to.
    refused: Option<SocketAddr>,
    is_full: bool,
}

impl Wire for Fed {
    fn send(&mut self, datagram: &Datagram) -> io::Result<Sending> {
        if self.is_full {
            return Ok(Sending::NoRoom);
        }
        if self.refused == Some(datagram.to) {
            return Ok(Sending::Refused(io::ErrorKind::InvalidInput));
        }
        self.taken.push((datagram.to, View::new(&datagram.bytes).unwrap().header()));
        Ok(Sending::Sent)
    }

    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
        self.given.iter().for_each(|(from, bytes)| take(*from, None, bytes));
        Ok(std::mem::take(&mut self.given).len())
    }

    fn address(&self) -> io::Result<SocketAddr> {
        Ok(peer(0))
    }
}

fn peer(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

fn driver() -> Driver<Fed> {
    with(Limits::default())
}

fn with(limits: Limits) -> Driver<Fed> {
    let longest_message = Bytes::new(10_000);
    let config = Config { seed: 1, mss: MSS, header: Bytes::new(64), longest_message, limits };
    Driver::new(Fed::default(), config).unwrap()
}

fn bytes(header: &Header, payload: usize) -> Vec<u8> {
    let mut bytes = vec![0; MAX_HEADER];
    let len = header.encode(&mut bytes).unwrap();
    bytes.truncate(len);
    bytes.resize(len + payload, 7);
    bytes
}

fn data(seq: u32, packets: u32, len: u16) -> Data {
    Data { flow: FlowId(1), seq, packets, len, sent_at: Time::ZERO, entropy: 0, profile: 0, ask: false }
}

/// Feeds one datagram of `from`, and gives the outcome.
fn feed(driver: &mut Driver<Fed>, from: u16, bytes: Vec<u8>) -> Option<MessageOutcome> {
    driver.wire.given.push((peer(from), bytes));
    driver.poll().unwrap();
    driver.poll_outcome()
}

#[test]
fn a_message_of_one_packet_arrives() {
    let outcome = feed(&mut driver(), 1, bytes(&Header::Data(data(0, 1, 3)), 3));
    let Some(MessageOutcome::Received { bytes, blocks_repaired: 0, .. }) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(bytes, [7; 3]);
}

#[test]
fn what_is_too_long_or_too_short_is_dropped() {
    let mut driver = driver();
    for (packets, len, payload) in [(101, 100, 100), (1, 3, 2), (1, 3, 4), (1, 3, 0), (0, 100, 100)] {
        feed(&mut driver, 1, bytes(&Header::Data(data(0, packets, len)), payload));
        assert_eq!(driver.endpoint().receiver(FIRST, FlowId(1)), None, "{packets} {len} {payload}");
    }
    feed(&mut driver, 1, bytes(&Header::Data(data(0, 100, 100)), 100));
    assert!(driver.endpoint().receiver(FIRST, FlowId(1)).is_some());
}

#[test]
fn parity_does_not_count_towards_the_longest_message() {
    let shape = Shape::new(8, 2).unwrap();
    let coded = |packets, last_len| {
        Header::Coded(Coded { data: data(0, packets, 100), shape, last_len, block_wait_ns: 0 })
    };
    // 100 segments are 12 blocks and a half: 126 packets. One segment more of one byte is too much.
    for (packets, last_len, is_taken) in [(126, 100, true), (126, 1, true), (127, 1, false)] {
        let mut driver = driver();
        feed(&mut driver, 1, bytes(&coded(packets, last_len), 100));
        let receiver = driver.endpoint().receiver(FIRST, FlowId(1));
        assert_eq!(receiver.is_some(), is_taken, "{packets} packets, the last of {last_len} B");
    }
}

#[test]
fn strangers_that_send_nothing_of_use_get_no_number() {
    let mut driver = driver();
    let fate =
        Fate::Trimmed { echo: Echo { sent_at: Time::ZERO, entropy: 0 }, at_last_hop: false, ecn_ce: false };
    let nack = Feedback { flow: FlowId(1), seq: 0, cumulative: 0, fate };
    feed(&mut driver, 1, bytes(&Header::Feedback(nack), 0));
    // Too long; beyond the end of the message; a short segment in the middle.
    for (seq, packets, len) in [(0, 101, 100), (7, 7, 100), (0, 2, 3)] {
        feed(&mut driver, 1, bytes(&Header::Data(data(seq, packets, len)), usize::from(len)));
    }
    assert_eq!(driver.host.known(), (1, 0, 0), "this host alone");
}

#[test]
fn two_peers_may_use_the_same_flow_number() {
    let mut driver = driver();
    let segment = |seq, fill| {
        let mut datagram = bytes(&Header::Data(data(seq, 2, 100)), 0);
        datagram.resize(datagram.len() + 100, fill);
        datagram
    };
    assert_eq!(feed(&mut driver, 1, segment(0, 1)), None);
    assert_eq!(feed(&mut driver, 2, segment(0, 2)), None);
    for (port, fill) in [(2_u16, 2_u8), (1, 1)] {
        let outcome = feed(&mut driver, port, segment(1, fill));
        let Some(MessageOutcome::Received { from, report, bytes, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((from, report.flow, bytes), (peer(port), FlowId(1), vec![fill; 200]));
    }
    assert_eq!(driver.wire.taken.len(), 4);
    assert!(driver.wire.taken.iter().all(|(_, header)| header.flow() == FlowId(1)), "each by its own number");
    let to = |port| driver.wire.taken.iter().filter(|(to, _)| *to == peer(port)).count();
    assert_eq!((to(1), to(2)), (2, 2));
}

fn any_header() -> impl Strategy<Value = Header> {
    let numbers = (0u32..3, 0u32..30, 0u32..30, 0u16..120);
    (0..9, numbers, 1u8..6, 1u8..4).prop_map(|(kind, (flow, seq, count, len), x, y)| {
        let (flow, sent_at, entropy) = (FlowId(flow), Time::ZERO, 0);
        let len = if len > 100 { 100 } else { len };
        let data = Data { flow, seq, packets: count, len, sent_at, entropy, profile: 0, ask: false };
        let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative: count, fate });
        let shape = Shape::new(x, y).unwrap();
        match kind {
            0 => Header::Data(data),
            1 | 2 => Header::Coded(Coded { data, shape, last_len: 100, block_wait_ns: 0 }),
            3 => feedback(Fate::Missing { packets: count }),
            4 => feedback(Fate::Taken { echo: Echo { sent_at, entropy }, ecn_ce: true, limit: u32::MAX }),
            5 => feedback(Fate::PassedOn { limit: u32::MAX }),
            6 => feedback(Fate::Gap { first: Place { lane: x, number: len }, count: u16::MAX }),
            7 => Header::Numbered(Numbered { data, place: Place { lane: x, number: len } }),
            _ => {
                let echo = Echo { sent_at, entropy };
                feedback(Fate::Arrived { echo, ecn_ce: false, block_complete: true, map: 0 })
            }
        }
    })
}

proptest! {
    #[test]
    fn forged_datagrams_stop_nothing(
        headers in prop::collection::vec((1u16..3, any_header()), 1..200),
        noise in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut driver = driver();
        feed(&mut driver, 1, noise);
        for (from, header) in headers {
            let payload = match header {
                Header::Feedback(_) => 0,
                header => header.data().map_or(0, |data| usize::from(data.len)),
            };
            feed(&mut driver, from, bytes(&header, payload));
        }
    }
}

/// Polls until `done`, or for two seconds.
fn poll_until(driver: &mut Driver<Fed>, mut done: impl FnMut(&mut Driver<Fed>) -> bool) {
    let began = driver.now();
    while !done(driver) {
        assert!(driver.now().since(began) < Duration::from_ms(2000), "nothing has happened");
        driver.poll().unwrap();
    }
}

fn route() -> Arc<Route> {
    let (base_rtt, line_rate) = (Duration::from_us(100), Rate::from_gbps(1));
    let path = Path { max_queueing: Duration::from_ms(1), mss: MSS, ..Path::new(line_rate, base_rtt) };
    let scheme = Scheme {
        congestion: CongestionConfig::by_name("fixed_window").unwrap(),
        balance: BalanceConfig::by_name("ecmp").unwrap(),
        coding: CodingConfig::by_name("none").unwrap(),
        recovery: RecoveryConfig {
            rto: Rto::Fixed(Duration::from_ms(2)),
            backoff: false,
            policy: RecoveryPolicy::PerPacketRto,
        },
        on_nack: None,
        window_check: WindowCheck::Below,
        connection: Connection::default(),
        profile: FlowProfile::default(),
    };
    Arc::new(Route::new(path, &scheme))
}

fn ack(flow: u32, seq: u32, cumulative: u32) -> Vec<u8> {
    let echo = Echo { sent_at: Time::ZERO, entropy: 0 };
    let fate = Fate::Arrived { echo, ecn_ce: false, block_complete: false, map: 0 };
    bytes(&Header::Feedback(Feedback { flow: FlowId(flow), seq, cumulative, fate }), 0)
}

#[test]
fn an_error_of_one_peer_stops_no_other() {
    let mut driver = driver();
    // The ACK of a datagram from port 0 cannot be sent (EINVAL).
    let refused = SocketAddr::from(([127, 0, 0, 2], 0));
    driver.wire.refused = Some(refused);
    driver.wire.given.push((refused, bytes(&Header::Data(data(0, 2, 100)), 100)));
    driver.poll().unwrap();
    assert_eq!((driver.counters().send_errors, driver.poll_outcome()), (1, None));
    let outcome = feed(&mut driver, 1, bytes(&Header::Data(data(0, 1, 3)), 3));
    assert!(matches!(outcome, Some(MessageOutcome::Received { .. })));
    assert_eq!(driver.wire.taken.len(), 1, "who can be reached has its ACK");
}

#[test]
fn a_peer_that_cannot_be_reached_is_told_once_and_its_message_given_up() {
    let limits = Limits { idle: Duration::from_ms(20), ..Limits::default() };
    let mut driver = with(limits);
    driver.wire.refused = Some(peer(1));
    driver.submit(FlowId(1), peer(1), vec![1; 300], route());
    driver.submit(FlowId(2), peer(2), vec![2; 100], route());
    driver.poll().unwrap();
    let unreachable = MessageOutcome::Unreachable { to: peer(1), error: io::ErrorKind::InvalidInput };
    assert_eq!(driver.poll_outcome(), Some(unreachable));
    let Some(MessageOutcome::Sent(report)) = feed(&mut driver, 2, ack(2, 0, 1)) else { panic!() };
    assert_eq!(report.flow, FlowId(2));
    let mut outcome = None;
    poll_until(&mut driver, |driver| {
        outcome = driver.poll_outcome();
        outcome.is_some()
    });
    let Some(MessageOutcome::GivenUp { to, report }) = outcome else { panic!("{outcome:?}") };
    assert_eq!((to, report.flow), (peer(1), FlowId(1)));
    assert!(report.counters.timeouts > 0, "it was tried again before");
    assert_eq!(driver.host.known(), (1, 0, 0), "peers without messages are forgotten");
    // A time-out that no message waits for any more may still have to run out.
    poll_until(&mut driver, |driver| driver.poll().unwrap().is_none());
}

#[test]
fn only_peers_that_a_message_goes_to_are_told_of() {
    let mut driver = driver();
    driver.wire.refused = Some(peer(1));
    let half = bytes(&Header::Data(data(0, 2, 100)), 100);
    assert_eq!(feed(&mut driver, 1, half.clone()), None, "one comes from there, none goes");
    driver.submit(FlowId(1), peer(2), vec![1; 100], route());
    assert_eq!(feed(&mut driver, 1, half.clone()), None, "one goes elsewhere");
    driver.submit(FlowId(2), peer(1), vec![1; 100], route());
    let Some(MessageOutcome::Unreachable { to, .. }) = feed(&mut driver, 1, half) else { panic!() };
    assert_eq!((to, driver.counters().send_errors > 2), (peer(1), true));
}

#[test]
fn a_sender_gives_up_when_it_hears_nothing_and_not_before() {
    let idle = Duration::from_ms(60);
    let mut driver = with(Limits { idle, ..Limits::default() });
    driver.submit(FlowId(1), peer(1), vec![1; 300], route());
    let (mut heard_at, mut given_up_at) = (driver.now(), Time::ZERO);
    let began = heard_at;
    poll_until(&mut driver, |driver| {
        if driver.now().since(began) < idle * 2 {
            // A stranger's feedback is none; the receiver's is, even if it says nothing new.
            driver.wire.given.push((peer(2), ack(1, 0, 0)));
            driver.wire.given.push((peer(1), ack(1, 0, 0)));
            heard_at = driver.now();
        } else {
            driver.wire.given.push((peer(2), ack(1, 0, 0)));
        }
        given_up_at = driver.now();
        matches!(driver.poll_outcome(), Some(MessageOutcome::GivenUp { .. }))
    });
    assert!(given_up_at.since(heard_at) >= idle, "{heard_at} {given_up_at}");
}

#[test]
fn a_half_message_expires_and_a_record_is_forgotten() {
    let mut driver = with(Limits { idle: Duration::from_ms(20), ..Limits::default() });
    assert_eq!(feed(&mut driver, 1, bytes(&Header::Data(data(0, 2, 100)), 100)), None);
    assert!(feed(&mut driver, 2, bytes(&Header::Data(data(0, 1, 100)), 100)).is_some());
    assert_eq!(driver.host.known(), (3, 1, 1));
    let mut outcome = None;
    poll_until(&mut driver, |driver| {
        outcome = outcome.take().or_else(|| driver.poll_outcome());
        driver.host.known() == (1, 0, 0)
    });
    assert_eq!(outcome, Some(MessageOutcome::Expired { from: peer(1), flow: FlowId(1) }));
    assert!([1, 2].iter().all(|&peer| driver.endpoint().receiver(HostId(peer), FlowId(1)).is_none()));
}

#[test]
fn half_messages_beyond_the_bound_are_not_acknowledged() {
    let mut driver = with(Limits { half_messages: 2, ..Limits::default() });
    for port in 1..=3 {
        feed(&mut driver, port, bytes(&Header::Data(data(0, 2, 100)), 100));
    }
    assert_eq!((driver.counters().refused_packets, driver.wire.taken.len()), (1, 2));
    // When one of the two is complete there is room.
    assert!(feed(&mut driver, 1, bytes(&Header::Data(data(1, 2, 100)), 100)).is_some());
    feed(&mut driver, 3, bytes(&Header::Data(data(0, 2, 100)), 100));
    assert_eq!((driver.counters().refused_packets, driver.wire.taken.len()), (1, 4));
}

#[test]
fn records_of_messages_beyond_the_bound_are_not_taken_on() {
    let mut driver = with(Limits { delivered: 2, ..Limits::default() });
    for port in 1..=3 {
        let outcome = feed(&mut driver, port, bytes(&Header::Data(data(0, 1, 100)), 100));
        assert_eq!(outcome.is_some(), port < 3, "{port}");
    }
    assert_eq!(driver.wire.taken.len(), 2);
    feed(&mut driver, 1, bytes(&Header::Data(data(0, 1, 100)), 100));
    assert_eq!(driver.wire.taken.len(), 3, "a duplicate is acknowledged");
}

#[test]
fn bytes_beyond_the_bound_wait_until_the_application_takes_what_is_there() {
    let mut driver = with(Limits { held: Bytes::new(6000), ..Limits::default() });
    let mut ports = 1..;
    let mut full = |driver: &mut Driver<Fed>| {
        let before = driver.counters().refused_packets;
        let taken = ports.by_ref().take(100).position(|port| {
            driver.wire.given.push((peer(port), bytes(&Header::Data(data(0, 1, 100)), 100)));
            driver.poll().unwrap();
            driver.counters().refused_packets > before
        });
        taken.expect("there is an end")
    };
    let taken = full(&mut driver);
    assert!((40..60).contains(&taken), "{taken} messages of 100 bytes");
    assert_eq!(full(&mut driver), 0);
    let mut count = 0;
    while driver.poll_outcome().is_some() {
        count += 1;
    }
    assert_eq!(count, taken);
    assert_eq!(full(&mut driver), taken, "there is room again");
}

#[test]
fn a_message_that_could_never_be_held_is_not_begun() {
    let mut driver = with(Limits { held: Bytes::new(6000), ..Limits::default() });
    // 1,280 bytes for itself, 196 and a quarter for each segment: 24 of them.
    feed(&mut driver, 1, bytes(&Header::Data(data(0, 25, 100)), 100));
    assert_eq!((driver.host.known(), driver.counters().refused_packets), ((1, 0, 0), 1));
    feed(&mut driver, 1, bytes(&Header::Data(data(0, 24, 100)), 100));
    assert_eq!(driver.host.known(), (2, 1, 0));
}

#[test]
fn a_packet_far_above_what_is_missing_is_not_taken() {
    let mut driver = with(Limits { reach: 10, ..Limits::default() });
    feed(&mut driver, 1, bytes(&Header::Data(data(11, 100, 100)), 100));
    assert_eq!(driver.host.known(), (1, 0, 0));
    feed(&mut driver, 1, bytes(&Header::Data(data(10, 100, 100)), 100));
    feed(&mut driver, 1, bytes(&Header::Data(data(11, 100, 100)), 100));
    assert_eq!((driver.wire.taken.len(), driver.counters().refused_packets), (1, 2));
    feed(&mut driver, 1, bytes(&Header::Data(data(0, 100, 100)), 100));
    feed(&mut driver, 1, bytes(&Header::Data(data(11, 100, 100)), 100));
    assert_eq!(driver.wire.taken.len(), 3);
}

#[test]
fn nothing_is_taken_in_while_nothing_can_leave() {
    let mut driver = driver();
    driver.wire.is_full = true;
    for seq in 0..100 {
        feed(&mut driver, 1, bytes(&Header::Data(data(seq, 100, 100)), 100));
    }
    assert_eq!(driver.wire.given.len(), 99, "they wait in the kernel, or are lost there");
    driver.wire.is_full = false;
    poll_until(&mut driver, |driver| driver.wire.taken.len() == 100);
}

#[test]
fn all_replies_leave_before_more_is_taken() {
    let mut driver = driver();
    for seq in (0..100).cycle().take(1000) {
        driver.wire.given.push((peer(1), bytes(&Header::Data(data(seq, 100, 100)), 100)));
    }
    driver.poll().unwrap();
    assert_eq!(driver.wire.taken.len(), 1000);
}
