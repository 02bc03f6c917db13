//! Persistent flows: where each message ends, what it counts, and what the control hears after an idle time.

use super::*;
use crate::flow::message::AppendError;
use crate::wire::Handshake;

/// A persistent flow whose first message has this size, with a window of 100 packets.
fn persistent(size: Bytes) -> Setup {
    Setup { size, cwnd: mss(100), persistent: true, ..Setup::default() }
}

/// With a notification of idle times.
fn restarting(setup: Setup) -> Setup {
    Setup { connection: Connection { idle_restart: true, ..Connection::default() }, ..setup }
}

impl Bench {
    fn append(&mut self, now: Time, size: Bytes) -> u32 {
        self.sender.append(now, size).expect("the flow is persistent")
    }

    /// Sends all that may leave now; gives number, end of the message, and length of each packet.
    fn send_ends(&mut self, now: Time) -> Vec<(u32, u32, u64)> {
        core::iter::from_fn(|| {
            let may = self.sender.next_send().is_some_and(|at| at <= now);
            may.then(|| self.sender.send(now).0.header)
        })
        .map(|header| (header.seq, header.packets, u64::from(header.len)))
        .collect()
    }

    /// The messages that have ended.
    fn ended(&mut self, now: Time) -> Vec<SenderReport> {
        core::iter::from_fn(|| self.sender.take_finished(now)).collect()
    }

    fn idles(&self) -> Vec<Idle> {
        self.log.lock().unwrap().idles.clone()
    }
}

/// Index, size, packets sent, and packets and bytes sent again.
fn counts(report: &SenderReport) -> (u32, u64, u64, u64, u64) {
    let SenderReport { message, size, counters, .. } = report;
    let again = (counters.retransmitted_packets, counters.retransmitted_bytes.get());
    (*message, size.get(), counters.sent_packets, again.0, again.1)
}

#[test]
fn each_packet_says_where_its_own_message_ends_and_the_last_ones_are_as_long_as_what_is_left() {
    let mut bench = Bench::new(persistent(Bytes::new(1)));
    let sizes = [MSS, MSS + 1, 2 * MSS, 7, 2 * MSS + 5];
    let indices: Vec<_> = sizes.map(|size| bench.append(us(0), Bytes::new(size))).into();
    assert_eq!(indices, [1, 2, 3, 4, 5]);
    let expected = [
        (0, 1, 1),
        (1, 2, MSS),
        (2, 4, MSS),
        (3, 4, 1),
        (4, 6, MSS),
        (5, 6, MSS),
        (6, 7, 7),
        (7, 10, MSS),
        (8, 10, MSS),
        (9, 10, 5),
    ];
    assert_eq!(bench.send_ends(us(0)), expected);
    assert_eq!(bench.sender.view().in_flight.get(), 1 + sizes.iter().sum::<u64>());
}

#[test]
fn a_retransmission_says_what_its_packet_did_before_whatever_follows() {
    let mut bench = Bench::new(persistent(Bytes::new(MSS + 1)));
    let sent = bench.send_ends(us(0));
    bench.append(us(10), Bytes::new(3 * MSS + 3));
    let further = bench.send_ends(us(10));
    bench.append(us(20), mss(1));
    bench.sender.on_timeout(us(1000));
    let again = bench.send_ends(us(1000));
    let all: Vec<_> = sent.into_iter().chain(further).chain([(6, 7, MSS)]).collect();
    assert_eq!(again, all, "lost ones first, then the third message");
}

#[test]
fn messages_end_in_order_each_once() {
    let mut bench = Bench::new(persistent(mss(1)));
    bench.append(us(0), mss(2));
    bench.append(us(0), mss(1));
    assert_eq!(bench.send(us(0)), [0, 1, 2, 3]);
    for seq in [3, 1, 2] {
        bench.ack(us(20), seq, us(0));
        assert!(!bench.sender.is_finished() && bench.ended(us(20)).is_empty(), "packet 0 holds them back");
    }
    bench.ack(us(30), 0, us(0));
    assert!(bench.sender.is_finished());
    let ended = bench.ended(us(30));
    assert_eq!(ended.iter().map(|report| report.message).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(ended.iter().all(|report| report.finished_at == us(30)));
    bench.ack(us(40), 0, us(0));
    assert!(bench.ended(us(40)).is_empty());
    assert_eq!(bench.append(us(50), mss(1)), 3, "indices go on");
    assert_eq!(bench.sender.open_messages(us(50)).map(|report| report.message).collect::<Vec<_>>(), [3]);
}

#[test]
fn what_is_sent_again_counts_for_its_message_and_all_add_up_to_the_flow() {
    let mut bench = Bench::new(persistent(Bytes::new(2 * MSS + 1)));
    bench.append(us(0), Bytes::new(10));
    bench.append(us(0), Bytes::new(MSS + 20));
    assert_eq!(bench.send(us(0)), [0, 1, 2, 3, 4, 5]);
    [0, 1, 4].into_iter().for_each(|seq| bench.ack(us(20), seq, us(0)));
    bench.sender.on_timeout(us(100));
    assert_eq!(bench.send(us(100)), [2, 3, 5]);
    bench.ack(us(120), 2, us(100));
    bench.ack(us(120), 3, us(100));
    let mut all = bench.ended(us(120));
    all.extend(bench.sender.open_messages(us(120)));
    let expected = [(0, 2 * MSS + 1, 4, 1, 1), (1, 10, 2, 1, 10), (2, MSS + 20, 3, 1, 20)];
    assert_eq!(all.iter().map(counts).collect::<Vec<_>>(), expected);
    let counters = bench.sender.view().counters;
    let sum = |count: fn(&SenderReport) -> u64| all.iter().map(count).sum::<u64>();
    assert_eq!(sum(|report| report.counters.sent_packets), counters.sent_packets);
    assert_eq!(sum(|report| report.counters.sent_bytes.get()), counters.sent_bytes.get());
    assert_eq!(sum(|report| report.counters.retransmitted_bytes.get()), counters.retransmitted_bytes.get());
    assert_eq!(sum(|report| report.counters.timeouts), counters.timeouts);
    assert_eq!(
        all.iter().map(|report| report.counters.timeouts).collect::<Vec<_>>(),
        [3, 0, 0],
        "the oldest's"
    );
}

#[test]
fn a_message_follows_at_once_in_flight_and_after_an_idle_time() {
    let mut bench = Bench::new(Setup { cwnd: mss(3), ..persistent(mss(2)) });
    assert_eq!(bench.send(us(0)), [0, 1]);
    bench.append(us(1), mss(2));
    assert_eq!(bench.send(us(1)), [2], "as the window lets it");
    bench.ack_up_to(us(20), 2, us(1), 3);
    assert_eq!((bench.send(us(20)), bench.ended(us(20)).len()), (Vec::from([3]), 1));
    bench.ack(us(40), 3, us(20));
    assert_eq!((bench.ended(us(40)).len(), bench.sender.next_send()), (1, None));
    bench.append(us(900), mss(1));
    assert_eq!(bench.send(us(900)), [4]);
    assert_eq!(bench.sender.deadline(us(900)), us(1000));
}

/// A persistent flow that begins with a handshake, whose opening packet has left at 5 us; with its header.
fn opening() -> (Bench, Handshake) {
    let connection = Connection { handshake: true, idle_restart: true, ..Connection::default() };
    let mut bench = Bench::new(Setup { connection, ..persistent(mss(1)) });
    let Header::Handshake(open) = bench.sender.send(us(5)).0.header() else { panic!("it opens the flow") };
    (bench, open)
}

impl Bench {
    /// The answer to the packet that opened the flow.
    fn ack_opening(&mut self, now: Time, open: &Handshake) {
        let echo = Echo { sent_at: open.sent_at, entropy: open.entropy };
        let fate = Fate::Arrived { echo, ecn_ce: false, block_complete: false, map: 0 };
        self.dispatch_ack(now, open.packets, 0, fate);
    }
}

#[test]
fn what_follows_during_the_handshake_waits_for_its_answer() {
    let (mut bench, open) = opening();
    bench.append(us(6), mss(2));
    assert_eq!(bench.sender.next_send(), None);
    bench.ack_opening(us(25), &open);
    assert_eq!(bench.send(us(25)), [0, 1, 2]);
    assert!(bench.idles().is_empty(), "the flow has not begun");
}

#[test]
fn a_late_second_answer_to_the_handshake_acknowledges_nothing_of_a_later_message() {
    let (mut bench, open) = opening();
    bench.ack_opening(us(25), &open);
    bench.append(us(25), mss(2));
    assert_eq!(bench.send(us(25)), [0, 1, 2]);
    bench.ack_opening(us(26), &open);
    assert_eq!((bench.sender.view().in_flight, bench.sender.view().delivered), (mss(3), Bytes::ZERO));
}

#[test]
fn what_may_not_follow_is_refused_and_changes_nothing() {
    let mut alone = Bench::new(Setup { size: mss(2), ..Setup::default() });
    let flow = FlowId(1);
    assert_eq!(alone.sender.append(us(0), mss(1)), Err(AppendError::NotPersistent { flow }));
    assert_eq!(alone.send(us(0)), [0, 1]);

    let mut bench = Bench::new(restarting(persistent(mss(2))));
    let left = u32::MAX - 1 - 2;
    for size in [Bytes::ZERO, mss(u64::from(left) + 1), mss(1 << 32), mss(1 << 40)] {
        assert_eq!(bench.sender.append(us(0), size), Err(AppendError::NoNumbers { flow, size, left }));
    }
    assert_eq!((bench.sender.open_messages(us(0)).count(), bench.idles().len()), (1, 0));
    assert_eq!(bench.send_ends(us(0)), [(0, 2, MSS), (1, 2, MSS)]);
    assert_eq!(bench.append(us(0), mss(u64::from(left))), 1, "as many as there are numbers");
    let size = mss(1);
    assert_eq!(bench.sender.append(us(0), size), Err(AppendError::NoNumbers { flow, size, left: 0 }));

    let mut full = Bench::new(persistent(mss(u64::from(u32::MAX))));
    assert_eq!(full.sender.append(us(0), size), Err(AppendError::NoNumbers { flow, size, left: 0 }));
}

#[test]
fn a_delayed_ack_stands_for_as_many_packets_as_it_acknowledges_however_short() {
    let mut bench = Bench::new(Setup { acks: "delayed", ..persistent(Bytes::new(1)) });
    for _ in 0..6 {
        bench.append(us(0), Bytes::new(10));
    }
    bench.append(us(0), Bytes::new(MSS + 5));
    assert_eq!(bench.send(us(0)).len(), 9);
    let mut stands_for = |seq, cumulative| {
        bench.ack_up_to(us(20), seq, us(0), cumulative);
        bench.ended(us(20));
        (bench.last_ack().acked_packets, bench.last_ack().bytes_acked.get())
    };
    assert_eq!(stands_for(1, 2), (2, 11));
    assert_eq!(stands_for(2, 3), (1, 10));
    assert_eq!(stands_for(2, 3), (1, 0), "a duplicate is one, too");
    assert_eq!(stands_for(6, 7), (4, 40));
    assert_eq!(stands_for(8, 9), (2, MSS + 5));
}

#[test]
fn packets_that_a_nack_acknowledges_count_with_the_next_ack_though_their_messages_have_ended() {
    let mut bench = Bench::new(Setup { acks: "delayed", ..persistent(Bytes::new(1)) });
    for _ in 0..3 {
        bench.append(us(0), Bytes::new(10));
    }
    assert_eq!(bench.send(us(0)), [0, 1, 2, 3]);
    bench.nack(us(20), 3, us(0), 2);
    assert_eq!(bench.ended(us(20)).len(), 2);
    bench.ack_up_to(us(21), 2, us(0), 3);
    assert_eq!((bench.last_ack().acked_packets, bench.last_ack().bytes_acked.get()), (3, 21));
}

#[test]
fn the_control_hears_of_an_idle_time_when_all_is_acknowledged() {
    let mut bench = Bench::new(restarting(persistent(mss(2))));
    assert_eq!(bench.send(us(0)), [0, 1]);
    bench.append(us(7), mss(1));
    assert_eq!(bench.send(us(7)), [2]);
    bench.ack_up_to(us(30), 2, us(7), 3);
    bench.ended(us(30));
    assert!(bench.idles().is_empty());
    bench.append(us(500), mss(1));
    bench.append(us(501), mss(1));
    let idle = Idle { now: us(500), idle: us(500).since(us(7)), rto: RTO, initial_cwnd: mss(100) };
    assert_eq!(bench.idles(), [idle], "the second follows on one that has not left");
}

#[test]
fn a_flow_is_not_idle_while_something_is_in_flight_unsent_or_lost() {
    let mut bench = Bench::new(restarting(persistent(mss(2))));
    bench.append(us(1000), mss(1));
    assert!(bench.idles().is_empty(), "nothing was sent yet");
    assert_eq!(bench.send(us(1000)), [0, 1, 2]);
    bench.append(us(1050), mss(1));
    assert_eq!((bench.idles().len(), bench.send(us(1050)).len()), (0, 1), "in flight");
    bench.sender.on_timeout(us(2000));
    assert_eq!(bench.sender.view().in_flight, Bytes::ZERO);
    bench.append(us(2000), mss(1));
    assert!(bench.idles().is_empty(), "lost packets are to leave again");
}

#[test]
fn a_flow_that_does_not_restart_says_nothing_of_idle_times() {
    let mut bench = Bench::new(persistent(mss(1)));
    bench.send(us(0));
    bench.ack(us(20), 0, us(0));
    bench.ended(us(20));
    bench.append(us(100_000), mss(1));
    assert!(bench.idles().is_empty());
}

#[test]
fn a_report_is_of_the_oldest_message_that_has_not_ended_or_of_nothing() {
    let mut bench = Bench::new(persistent(mss(1)));
    bench.append(us(0), mss(2));
    let last = |bench: &Bench| {
        let report = bench.sender.report(us(30));
        (report.message, report.size)
    };
    assert_eq!(last(&bench), (0, mss(1)));
    assert_eq!(bench.send(us(0)), [0, 1, 2]);
    bench.ack(us(20), 0, us(0));
    bench.ended(us(20));
    assert_eq!(last(&bench), (1, mss(2)));
    bench.ack(us(20), 1, us(0));
    bench.ack(us(20), 2, us(0));
    bench.ended(us(20));
    assert_eq!(last(&bench), (2, Bytes::ZERO));
}
