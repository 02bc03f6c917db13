//! The memory that peers can make a driver take, counted by the allocator: bytes asked for, its own overhead not counted.

use farspan_transport::coding::Shape;
use farspan_transport::wire::{Coded, Data, Header, MAX_HEADER};
use farspan_udp::wire::{Datagram, OnDatagram, Sending, Wire};
use farspan_udp::{Config, Driver, Limits, MessageOutcome};
use farspan_units::{Bytes, FlowId, Time};
use std::io;
use std::net::SocketAddr;

/// A wire with one datagram at a time on it, which takes every reply and keeps none.
struct Fed {
    from: SocketAddr,
    bytes: Vec<u8>,
    is_there: bool,
    replies: u64,
}

impl Wire for Fed {
    fn send(&mut self, _: &Datagram) -> io::Result<Sending> {
        self.replies += 1;
        Ok(Sending::Sent)
    }

    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
        if std::mem::take(&mut self.is_there) {
            take(self.from, None, &self.bytes);
            return Ok(1);
        }
        Ok(0)
    }

    fn address(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
    }
}

const MSS: usize = 1400;
/// The longest message: 1 GiB.
const LONGEST: u64 = 1 << 30;
/// The packets of such a message.
const PACKETS: u32 = LONGEST.div_ceil(MSS as u64) as u32;

/// Feeds a driver with datagrams that an iterator makes, one at a time: from which peer, and the header of each.
fn feed(limits: Limits, datagrams: impl Iterator<Item = (u32, Header)>) -> (usize, Driver<Fed>) {
    let bytes = Vec::with_capacity(MAX_HEADER + MSS);
    let wire = Fed { from: SocketAddr::from(([127, 0, 0, 1], 2)), bytes, is_there: false, replies: 0 };
    let longest_message = Bytes::new(LONGEST);
    let config =
        Config { seed: 1, mss: Bytes::new(MSS as u64), header: Bytes::new(64), longest_message, limits };
    let mut driver = Driver::new(wire, config).unwrap();
    let (most, ()) = farspan_counting::peak(|| {
        for (from, header) in datagrams {
            let wire = driver.wire_mut();
            let [_, a, b, c] = from.to_be_bytes();
            wire.from = SocketAddr::from(([10, a, b, c], 7));
            wire.bytes.resize(MAX_HEADER, 0);
            let len = header.encode(&mut wire.bytes).unwrap();
            let (Header::Data(data) | Header::Coded(Coded { data, .. })) = header else { return };
            wire.bytes.truncate(len);
            wire.bytes.resize(len + usize::from(data.len), 7);
            wire.is_there = true;
            driver.poll().unwrap();
        }
    });
    (most as usize, driver)
}

fn data(seq: u32, packets: u32) -> Data {
    let (flow, sent_at) = (FlowId(1), Time::ZERO);
    Data { flow, seq, packets, len: MSS as u16, sent_at, entropy: 0, profile: 0, ask: false }
}

fn coded(seq: u32, packets: u32) -> Header {
    let shape = Shape::new(8, 2).unwrap();
    let data = data(seq, packets / 10 * 10);
    Header::Coded(Coded { data, shape, last_len: MSS as u16, block_wait_ns: 1_000_000 })
}

#[test]
fn one_datagram_costs_little_whatever_it_claims() {
    // The first packet; as far from it as is taken; and the very last.
    let limits = Limits { held: Bytes::new(2 * LONGEST), ..Limits::default() };
    for (seq, is_taken) in [(0, true), (1 << 16, true), (PACKETS - 10, false)] {
        for header in [Header::Data(data(seq, PACKETS)), coded(seq, PACKETS)] {
            let (most, driver) = feed(limits, std::iter::once((1, header)));
            assert_eq!(driver.wire().replies, u64::from(is_taken));
            assert!(most < 32 << 10, "{most} bytes for packet {seq} of {PACKETS}");
        }
    }
}

#[test]
fn forged_messages_cost_no_more_than_the_bound() {
    const HELD: usize = 4 << 20;
    let limits = Limits { held: Bytes::new(HELD as u64), ..Limits::default() };
    // Ten thousand peers send three packets each, with gaps: they could be held alone.
    const CLAIMED: u32 = (HELD / (MSS + 200)) as u32;
    let packets = |n: u32| (1..10_000).map(move |peer| (peer, n));
    for header in [|n| Header::Data(data(n * 900, CLAIMED)), |n| coded(n * 900 + 9, CLAIMED)] {
        let datagrams = (0..3).flat_map(packets).map(|(peer, n)| (peer, header(n)));
        let (most, driver) = feed(limits, datagrams);
        assert!(driver.counters().refused_packets > 10_000);
        assert!(most < HELD, "{most} bytes");
        assert!(most > HELD / 4, "{most} bytes: the bound is no tighter than it says");
    }
}

#[test]
fn messages_that_outgrow_the_bound_together_stay_below_it() {
    // Each makes room for a quarter more whenever it is full.
    const HELD: usize = 4 << 20;
    const COUNT: u32 = 1800;
    let limits = Limits { held: Bytes::new(HELD as u64), ..Limits::default() };
    for peers in 2..=5 {
        let datagrams =
            (0..COUNT).flat_map(|n| (1..=peers).map(move |peer| (peer, Header::Data(data(n, COUNT)))));
        let (most, driver) = feed(limits, datagrams);
        assert!(driver.counters().refused_packets > 0);
        assert!(most <= HELD, "{most} bytes of {peers} messages");
        assert!(
            most > HELD / 10 * 9,
            "{most} bytes of {peers} messages: the bound is no tighter than it says"
        );
    }
}

#[test]
fn the_longest_message_that_is_begun_arrives_in_any_order_within_the_bound() {
    const COUNT: u32 = 1000;
    let evens_first = |n| if n < COUNT / 2 { 2 * n } else { 2 * n - COUNT + 1 };
    let orders: [fn(u32) -> u32; 4] = [|n| n, |n| COUNT - 1 - n, |n| n * 7 % COUNT, evens_first];
    let plain = |n| Header::Data(data(n, COUNT));
    // Each coded block of ten loses two packets.
    type Packet = fn(u32) -> Header;
    let headers: [(Packet, u64, u32); 2] = [(plain, 1000, 1), (|n| coded(n, COUNT), 800, 5)];
    for (header, segments, lost) in headers {
        let fits = segments * (MSS as u64 + 96) + 1280 + u64::from(COUNT / 4);
        for (held, is_taken) in [(fits, true), (fits - 1, false)] {
            let limits = Limits { held: Bytes::new(held), ..Limits::default() };
            for (number, order) in orders.into_iter().enumerate() {
                // What was refused is sent again.
                let packets = (0..3 * COUNT).map(|n| order(n % COUNT)).filter(|n| lost == 1 || n % lost != 3);
                let (most, mut driver) = feed(limits, packets.map(|n| (1, header(n))));
                assert!(most as u64 <= held, "{most} bytes of {held} in order {number}");
                let arrived = matches!(driver.poll_outcome(), Some(MessageOutcome::Received { .. }));
                assert_eq!(arrived, is_taken, "{segments} segments in order {number}");
            }
        }
    }
}

#[test]
fn records_of_messages_that_have_arrived_are_small() {
    const RECORDS: usize = 10_000;
    let limits = Limits { delivered: RECORDS, ..Limits::default() };
    let datagrams = (1..=RECORDS as u32).map(|peer| (peer, Header::Data(data(0, 1))));
    let before = farspan_counting::now();
    let (_, mut driver) = feed(limits, datagrams);
    let mut count = 0;
    while let Some(MessageOutcome::Received { .. }) = driver.poll_outcome() {
        count += 1;
    }
    let each = (farspan_counting::now() - before) as usize / RECORDS;
    assert_eq!((count, driver.counters().refused_packets), (RECORDS, 0));
    assert!(each < 600, "{each} bytes a record, each of a peer of its own");
}

#[test]
fn a_message_takes_its_bytes_and_a_quarter_more_in_any_order() {
    const COUNT: u32 = 20_000;
    let size = COUNT as usize * MSS;
    let orders: [fn(u32) -> u32; 2] = [|n| n, |n| COUNT - 1 - n];
    for (order, most_over) in orders.into_iter().zip([1.3, 2.2]) {
        let datagrams = (0..COUNT).map(|n| (1, Header::Data(data(order(n), COUNT))));
        let (most, mut driver) = feed(Limits::default(), datagrams);
        let Some(MessageOutcome::Received { bytes, .. }) = driver.poll_outcome() else { panic!() };
        assert_eq!(bytes.len(), size);
        let over = most as f64 / size as f64;
        assert!(over < most_over, "{over:.2} times the message");
    }
}
