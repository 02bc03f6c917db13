//! Receivers that hold ACKs: which packets ask for one.

use super::*;

/// A sender whose receiver holds 16 KiB, four packets.
fn holding(setup: Setup) -> Bench {
    Bench::new(Setup { acks: "coalesced", ..setup })
}

impl Bench {
    /// Sends all that may leave now; gives the numbers of the packets that ask for an ACK.
    fn send_asking(&mut self, now: Time) -> Vec<u32> {
        let mut asking = Vec::new();
        while self.sender.next_send().is_some_and(|at| at <= now) {
            let header = self.sender.send(now).0.header;
            asking.extend(header.ask.then_some(header.seq));
        }
        asking
    }

    /// An ACK of `seq`, which left at the start, with a map.
    fn ack_mapped(&mut self, now: Time, seq: u32, cumulative: u32, map: u64) {
        self.ack_mapped_of(now, seq, Time::ZERO, cumulative, map);
    }

    /// An ACK of the transmission of `seq` that left at `sent_at`, with a map.
    fn ack_mapped_of(&mut self, now: Time, seq: u32, sent_at: Time, cumulative: u32, map: u64) {
        self.ack_marked(now, (seq, sent_at), (cumulative, map), false);
    }

    /// Such an ACK, with a mark or without.
    fn ack_marked(&mut self, now: Time, of: (u32, Time), (cumulative, map): (u32, u64), ecn_ce: bool) {
        let (seq, sent_at) = of;
        let echo = Echo { sent_at, entropy: 0 };
        self.dispatch_ack(now, seq, cumulative, Fate::Arrived { echo, ecn_ce, block_complete: false, map });
    }
}

#[test]
fn an_ack_with_a_map_acknowledges_what_it_names_and_was_sent_once() {
    let mut bench = holding(Setup { cwnd: mss(10), ..Setup::default() });
    bench.send(us(0));
    // Packets 4 and 7 by the map; beyond packet 9 nothing was sent.
    let map = 1 << 1 | 1 << 4 | 1 << 7 | 1 << 63;
    bench.ack_mapped(us(20), 7, 2, map);
    let ack = bench.last_ack();
    assert_eq!((ack.bytes_acked, ack.acked_packets, ack.in_flight), (mss(4), 4, mss(6)));
    let acked = (0..11).filter(|&seq| bench.sender.packet_state(seq) == PacketState::Acked);
    assert_eq!(acked.collect::<Vec<_>>(), [0, 1, 4, 7]);
    let heard = |bench: &Bench| bench.log.lock().unwrap().entropies_acked.clone();
    assert_eq!(heard(&bench), [100, 101, 104, 0], "the path selector hears of each, last of the echoed one");
    bench.ack_mapped(us(21), 7, 2, map);
    let ack = bench.last_ack();
    assert_eq!((ack.bytes_acked, ack.acked_packets, ack.in_flight), (Bytes::ZERO, 1, mss(6)));
    assert_eq!(heard(&bench)[4..], [0], "of the echoed packet alone");
}

#[test]
fn of_packets_that_an_ack_with_a_mark_acknowledges_the_path_selector_hears_of_the_marked_one() {
    let mut bench = holding(Setup { cwnd: mss(10), ..Setup::default() });
    bench.send(us(0));
    bench.ack_up_to(us(20), 3, us(0), 4);
    assert_eq!((bench.last_ack().bytes_acked, bench.last_ack().ecn_ce), (mss(4), true));
    assert_eq!(
        bench.log.lock().unwrap().entropies_acked,
        [3],
        "the ACK of the others was overtaken, or is lost"
    );
}

#[test]
fn an_ack_stands_for_one_packet_where_each_has_its_own() {
    let mut bench = Bench::new(Setup { cwnd: mss(10), ..Setup::default() });
    bench.send(us(0));
    bench.ack_up_to(us(20), 4, us(0), 5);
    assert_eq!((bench.last_ack().bytes_acked, bench.last_ack().acked_packets), (mss(5), 1));
}

#[test]
fn where_each_packet_has_its_ack_a_map_is_read_once_the_oldest_packet_is_overdue() {
    let base_rtt = testing::path().base_rtt;
    let mut bench = Bench::new(Setup { cwnd: mss(4), ..Setup::default() });
    bench.send(us(0));
    bench.ack_mapped_of(us(15), 3, us(0), 0, 0b111);
    assert_eq!(bench.last_ack().bytes_acked, mss(1), "the ACKs of packets 1 and 2 may be on their way");
    let later = Time::ZERO + base_rtt;
    assert_eq!(bench.send(later), [4]);
    bench.ack_mapped_of(later + base_rtt, 4, later, 0, 0b1111);
    assert_eq!(
        (bench.last_ack().bytes_acked, bench.last_ack().acked_packets),
        (mss(3), 1),
        "packet 0 left so long before"
    );
}

#[test]
fn where_each_packet_has_its_ack_a_map_is_read_while_the_oldest_packet_has_timed_out() {
    let mut bench = Bench::new(Setup { cwnd: mss(3), rto: Rto::Fixed(RTO), ..Setup::default() });
    assert_eq!(bench.send(us(0)), [0, 1, 2]);
    let timed_out = Time::ZERO + RTO;
    bench.sender.on_timeout(timed_out);
    assert_eq!(bench.send(timed_out), [0, 1, 2], "they leave again");
    bench.ack_mapped_of(timed_out + Duration::from_us(1), 2, us(0), 0, 0b11);
    assert_eq!(bench.last_ack().bytes_acked, mss(2), "packet 0 alone is missing");
}

#[test]
fn an_ack_does_not_tell_whether_what_only_its_map_names_came_marked() {
    let later = Time::ZERO + testing::path().base_rtt * 2;
    for marked in [false, true] {
        // Where each packet has its ACK, those of packets 1 and 2 are lost; packet 0 is. Packet 3 is acknowledged itself.
        let mut bench = Bench::new(Setup { cwnd: mss(5), ..Setup::default() });
        bench.send(us(0));
        bench.ack(us(15), 4, us(0));
        bench.send(later);
        bench.ack_marked(later, (5, later), (0, 0b1_1011), marked);
        let ack = bench.last_ack();
        assert_eq!((ack.bytes_acked, ack.mapped, ack.ecn_ce), (mss(3), mss(2), marked));
        assert_eq!(ack.echoed_bytes(), mss(1));
        // Where ACKs are held, one without a mark stands for all that it names; one with a mark for its packet.
        let mut bench = holding(Setup { cwnd: mss(5), ..Setup::default() });
        bench.send(us(0));
        bench.ack_marked(us(15), (3, us(0)), (0, 0b111), marked);
        let (mapped, packets) = if marked { (mss(2), 1) } else { (mss(0), 3) };
        let ack = bench.last_ack();
        assert_eq!((ack.bytes_acked, ack.mapped, ack.acked_packets), (mss(3), mapped, packets));
        // What the cumulative number alone acknowledges goes with the mark of its ACK.
        bench.ack_marked(us(16), (4, us(0)), (5, 0), marked);
        assert_eq!((bench.last_ack().bytes_acked, bench.last_ack().mapped), (mss(2), mss(0)));
    }
}

#[test]
fn the_first_packet_asks_and_then_only_what_closes_a_small_window() {
    let asking = |packets| holding(Setup { cwnd: mss(packets), ..Setup::default() }).send_asking(us(0));
    assert_eq!(asking(1), [0]);
    assert_eq!(asking(3), [0, 2]);
    assert_eq!(asking(15), [0, 14]);
    assert_eq!(asking(16), [0], "four times 16 KiB");
    let asked = Bench::new(Setup::default()).send_asking(us(0));
    assert!(asked.is_empty(), "where every packet has its ACK none asks");
}

#[test]
fn the_last_packet_a_retransmission_and_a_probe_ask() {
    let setup = Setup { size: mss(8), cwnd: mss(20), rto: Rto::Fixed(RTO), ..Setup::default() };
    let mut bench = holding(setup);
    assert_eq!(bench.send_asking(us(0)), [0, 7]);
    bench.sender.on_timeout(us(200));
    assert_eq!(bench.send_asking(us(200)), (0..8).collect::<Vec<_>>());
    let mut bench = holding(Setup { cwnd: mss(20), ..setup });
    bench.sender.wants = bench.sender.wants.probe_if(true);
    bench.send_asking(us(0));
    bench.sender.probe(us(50));
    assert_eq!(bench.send_asking(us(50)), [7]);
}

#[test]
fn a_window_that_closes_over_little_that_has_not_asked_lets_one_packet_go_to_ask() {
    let mut bench = holding(Setup { cwnd: mss(16), ..Setup::default() });
    bench.send(us(0));
    // What leaves, if anything may, once packets below `acked` are acknowledged and the window is cut.
    let mut cut = |acked: u32, cwnd: Bytes| {
        bench.ack_mapped(us(20), acked - 1, acked, 0);
        bench.sender.cwnd = cwnd;
        let header = bench.sender.next_send().map(|_| bench.sender.send(us(20)).0.header)?;
        bench.sender.cwnd = cwnd;
        assert_eq!(bench.sender.next_send(), None, "one is enough");
        Some((header.seq, header.ask))
    };
    assert_eq!(cut(12, mss(1)), None, "four packets are acknowledged without being asked");
    assert_eq!(cut(13, Bytes::ZERO), None, "a window of nothing stays closed");
    assert_eq!(cut(13, mss(1)), Some((16, false)), "now they are four again");
    assert_eq!(cut(15, mss(1)), Some((17, true)));
    assert_eq!(cut(17, mss(1)), None, "one has asked");
}

#[test]
fn a_packet_asks_when_the_pacer_would_take_longer_for_the_next_ones_than_the_time_out_leaves() {
    // 16 KiB take 33 us at 4 Gb/s and 66 us at 2 Gb/s; the time-out leaves 86 us after a round trip.
    let asks = |gbps| {
        let pacing_rate = Some(Rate::from_gbps(gbps));
        let mut bench = holding(Setup { cwnd: mss(50), pacing_rate, ..Setup::default() });
        (0..5).flat_map(|n| bench.send_asking(us(n * 20))).collect::<Vec<_>>()
    };
    assert_eq!(asks(4), [0]);
    assert_eq!(asks(2), [0, 1, 2, 3, 4]);
}

#[test]
fn a_delayed_ack_tells_the_path_selector_of_all_its_packets_with_its_mark() {
    let mut bench = Bench::new(Setup { acks: "delayed", ..Setup::default() });
    assert_eq!(bench.send(us(0)), [0, 1, 2, 3]);
    bench.ack_up_to(us(20), 1, us(0), 2);
    // Packet 3 comes marked, and so did packet 2: marks that begin release what is held.
    bench.ack_up_to(us(21), 3, us(0), 4);
    assert_eq!((bench.last_ack().acked_packets, bench.last_ack().ecn_ce), (2, true));
    assert_eq!(bench.log.lock().unwrap().entropies_acked, [100, 1, 102, 3]);
}
