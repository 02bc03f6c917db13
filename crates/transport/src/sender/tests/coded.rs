//! Coded messages: which packets of a block are sent, and sent again.

use super::*;

/// A flow of blocks of 4 + 2 packets, all of which may be in flight.
const CODED: Setup = Setup {
    size: Bytes::new(20 * MSS),
    cwnd: Bytes::new(100 * MSS),
    pacing_rate: None,
    next_timer: None,
    on_nack: None,
    window_check: WindowCheck::Below,
    connection: Connection {
        handshake: false,
        burst: Bytes::ZERO,
        unpaced: 0,
        prr: false,
        idle_restart: false,
    },
    repeats_marks: false,
    persistent: false,
    policy: RecoveryPolicy::PerPacketRto,
    rto: Rto::Fixed(RTO),
    send_record: false,
    coding: Some((4, 2)),
    acks: "per_packet",
    numbers: None,
    rtt_noise: Duration::ZERO,
};

impl Bench {
    /// An ACK that says that the block of `seq` is complete.
    fn ack_last(&mut self, now: Time, seq: u32, sent_at: Time, cumulative: u32) {
        let echo = Echo { sent_at, entropy: seq as u16 };
        self.dispatch_ack(
            now,
            seq,
            cumulative,
            Fate::Arrived { echo, ecn_ce: false, block_complete: true, map: 0 },
        );
    }

    fn block_nack(&mut self, now: Time, first: u32, missing: u32, cumulative: u32) {
        self.dispatch_ack(now, first, cumulative, Fate::Missing { packets: missing });
    }
}

#[test]
fn packets_of_a_complete_block_leave_the_window_and_are_never_sent_again() {
    let mut bench = Bench::new(CODED);
    assert_eq!(bench.send(us(0)).len(), 30, "5 blocks of 6");
    for seq in [0, 2, 5] {
        bench.ack(us(20), seq, us(0));
    }
    bench.ack_last(us(21), 3, us(0), 6);
    assert_eq!(bench.last_ack().bytes_acked, mss(3), "3, and 1 and 4, which are not needed");
    assert_eq!(bench.sender.view().in_flight, mss(24));
    bench.ack_last(us(22), 4, us(0), 6);
    assert_eq!(bench.last_ack().bytes_acked, Bytes::ZERO, "known");
    bench.sender.on_timeout(us(100));
    let again: Vec<u32> = (6..30).filter(|seq| seq % 6 < 4).collect();
    assert_eq!(bench.send(us(100)), again, "of the others as much as they need");
}

#[test]
fn one_ack_may_complete_several_blocks() {
    let mut bench = Bench::new(CODED);
    bench.send(us(0));
    bench.ack_last(us(20), 13, us(0), 18);
    assert_eq!(bench.last_ack().bytes_acked, mss(18), "the ACKs of the first two blocks were lost");
    bench.ack_last(us(21), 25, us(0), 18);
    assert_eq!(bench.last_ack().bytes_acked, mss(6));
    bench.ack_last(us(22), 20, us(0), 30);
    assert!(bench.sender.is_finished());
}

#[test]
fn parity_of_a_block_that_is_complete_before_need_not_be_sent() {
    let mut bench = Bench::new(Setup { size: mss(5), cwnd: mss(1), ..CODED });
    for seq in 0..3 {
        assert_eq!(bench.send(us(u64::from(seq))), [seq]);
        bench.ack(us(u64::from(seq)), seq, us(u64::from(seq)));
    }
    assert_eq!(bench.send(us(3)), [3]);
    bench.ack_last(us(3), 3, us(3), 6);
    assert_eq!(bench.send(us(4)), [6], "the next block");
    bench.ack_last(us(4), 6, us(4), 9);
    assert!(bench.sender.is_finished());
    let counters = bench.sender.report(us(4)).counters;
    assert_eq!((counters.sent_packets, counters.sent_bytes), (5, mss(5)));
    assert_eq!((counters.parity_bytes, counters.blocks), (Bytes::ZERO, 2));
}

#[test]
fn of_what_a_block_misses_only_as_much_is_sent_again_as_completes_it() {
    let mut bench = Bench::new(CODED);
    bench.send(us(0));
    for seq in [0, 5] {
        bench.ack(us(20), seq, us(0));
    }
    bench.block_nack(us(50), 0, 0b01_1110, 0);
    let expected =
        Nack { now: us(50), bytes: mss(4), sent_at: us(0), in_flight: mss(24), cause: NackCause::Block };
    assert_eq!(bench.log.lock().unwrap().nacks, [expected]);
    assert_eq!(bench.log.lock().unwrap().entropies_nacked, [101, 102, 103, 104]);
    assert_eq!(bench.send(us(50)), [1, 2], "4 of 6 are needed, and 2 are here");
    assert_eq!(bench.sender.view().in_flight, mss(26));
    bench.ack(us(70), 1, us(50));
    bench.ack_last(us(71), 2, us(50), 6);
    assert_eq!(bench.sender.view().in_flight, mss(24));
    let counters = bench.sender.view().counters;
    assert_eq!((counters.nacks, counters.blocks_undecodable, counters.retransmitted_packets), (1, 1, 2));
    assert_eq!((counters.sent_packets, counters.parity_bytes, counters.blocks), (32, mss(10), 5));
}

#[test]
fn a_nack_of_a_block_does_not_concern_transmissions_younger_than_a_base_round_trip() {
    let mut bench = Bench::new(CODED);
    bench.send(us(0));
    bench.block_nack(us(14), 0, 0b11_1111, 0);
    assert_eq!(bench.nacks_seen(), 0, "the base RTT is 14.03 us");
    bench.block_nack(us(15), 0, 0b11_1000, 0);
    assert_eq!((bench.nacks_seen(), bench.send(us(15))), (1, [3].to_vec()));
    bench.block_nack(us(20), 0, 0b11_1000, 0);
    assert_eq!(
        (bench.nacks_seen(), bench.send(us(20))),
        (1, Vec::new()),
        "3 is on its way, 4 and 5 are spared"
    );
    bench.block_nack(us(40), 0, 0b11_1000, 0);
    assert_eq!((bench.nacks_seen(), bench.send(us(40))), (2, [4].to_vec()), "4 left first");
    bench.block_nack(us(41), 30, 1, 0);
    assert_eq!(bench.sender.view().counters.nacks, 4, "but not that of what was never sent");
}

#[test]
fn a_nack_of_a_block_may_name_what_was_not_sent_yet_and_acknowledges() {
    let mut bench = Bench::new(Setup { cwnd: mss(8), ..CODED });
    bench.send(us(0));
    bench.block_nack(us(40), 6, 0b11_1100, 6);
    assert_eq!((bench.nacks_seen(), bench.sender.view().delivered), (0, mss(6)));
    assert_eq!(bench.send(us(40)), [8, 9, 10, 11, 12, 13]);
    bench.ack(us(60), 6, us(0));
    assert_eq!(bench.last_ack().bytes_acked, mss(7));
}

#[test]
fn what_times_out_is_sent_again_if_its_block_cannot_spare_it() {
    let mut bench = Bench::new(Setup { size: mss(8), ..CODED });
    bench.send(us(0));
    for seq in [0, 1, 2, 6, 7] {
        bench.ack(us(20), seq, us(0));
    }
    bench.sender.on_timeout(us(100));
    assert_eq!(bench.sender.view().in_flight, Bytes::ZERO);
    assert_eq!(bench.log.lock().unwrap().timeouts[0].bytes, mss(7));
    assert_eq!(bench.send(us(100)), [3, 8, 9], "3 of 6 and 2 of 6 are here");
    assert_eq!(bench.sender.deadline(us(1000)), us(300), "twice as long");
    bench.sender.on_timeout(us(300));
    assert_eq!(bench.send(us(300)), [4, 10, 11], "those that left first");
    bench.ack_last(us(320), 4, us(300), 6);
    bench.ack(us(320), 10, us(300));
    bench.ack_last(us(321), 11, us(300), 12);
    assert!(bench.sender.is_finished());
}

#[test]
fn a_block_s_timer_is_the_control_s_own_affair_whatever_trimmed_packets_do() {
    for (on_nack, seen) in [(OnNack::Published, [1, 2]), (OnNack::Before, [0, 1]), (OnNack::None, [0, 1])] {
        let mut bench = Bench::new(Setup { on_nack: Some(on_nack), ..CODED });
        bench.send(us(0));
        bench.nack(us(20), 1, us(0), 0);
        let trimmed = bench.nacks_seen();
        bench.block_nack(us(50), 6, 0b11, 0);
        assert_eq!([trimmed, bench.nacks_seen()], seen, "{on_nack:?}");
    }
}

#[test]
fn trimmed_packets_that_a_block_can_spare_are_not_sent_again() {
    let mut bench = Bench::new(CODED);
    bench.send(us(0));
    bench.nack(us(20), 1, us(0), 0);
    bench.nack(us(20), 4, us(0), 0);
    assert_eq!((bench.send(us(20)), bench.sender.view().in_flight), (Vec::new(), mss(28)));
    bench.nack(us(21), 5, us(0), 0);
    assert_eq!((bench.send(us(21)), bench.sender.view().counters.nacks), ([1].to_vec(), 3));
}

#[test]
fn every_packet_says_how_long_its_block_is_to_be_waited_for() {
    let wait = |setup| match Bench::new(setup).sender.send(us(0)).0.header() {
        Header::Coded(coded) => coded.block_wait(),
        _ => unreachable!("the flow is coded"),
    };
    let path = testing::path();
    // 4160 B at 100 Gb/s; then 4096 B of a window of 20 KiB in a base RTT; then a pacer of 1 Gb/s.
    let ns = |ps: u64| Duration::from_ns(ps.div_ceil(1000));
    let largest = path.max_queueing.as_ps();
    assert_eq!(wait(CODED), ns(largest + 5 * 332_800));
    assert_eq!(wait(Setup { cwnd: mss(5), ..CODED }), ns(largest + 14_027_520));
    let pacing_rate = Some(Rate::from_gbps(1));
    assert_eq!(wait(Setup { pacing_rate, ..CODED }), ns(largest + 5 * 33_280_000));
}
