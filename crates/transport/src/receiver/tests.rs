//! Receivers: each arrival and the reply to it.

mod messages;

use super::*;
use crate::ack::AckConfig;
use crate::coding::Shape;
use crate::wire::Echo;
use alloc::collections::{BTreeMap, BTreeSet};
use farspan_units::{FlowId, Purpose, Random};
use proptest::prelude::*;

const NAME: PeerFlow = PeerFlow { peer: HostId(1), flow: FlowId(7) };

fn data(seq: u32, packets: u32) -> wire::Data {
    let sent_at = Time::from_ps(u64::from(seq) + 1000);
    wire::Data {
        flow: FlowId(7),
        seq,
        packets,
        len: 100,
        sent_at,
        entropy: (seq as u16).wrapping_add(5),
        profile: 0,
        ask: false,
    }
}

fn receiver(packets: u32) -> Receiver {
    Receiver::new(NAME, packets, (0, AckSignals::default()), None)
}

#[test]
fn acks_repeat_a_mark_until_the_sender_says_that_it_has_cut_its_window() {
    let mut duties = Duties::new(&FlowProfile { repeats_marks: true, ..FlowProfile::default() }, None, None)
        .expect("it has duties");
    let arrivals =
        [(false, false), (true, false), (false, false), (false, true), (false, false), (true, true)];
    let marks = arrivals.map(|(ecn_ce, has_cut)| duties.mark_of(ecn_ce, has_cut));
    assert_eq!(marks, [false, true, true, false, false, true]);
    let delayed = AckConfig::by_name("delayed").unwrap();
    let mut exact = Duties::new(&FlowProfile { acks: delayed, ..FlowProfile::default() }, None, None)
        .expect("it has duties");
    assert!(exact.mark_of(true, false) && !exact.mark_of(false, false));
}

#[test]
fn packets_that_are_taken_in_order_alone_are_dropped_behind_a_gap_which_is_named_once() {
    let profile = FlowProfile { in_order: true, ..FlowProfile::default() };
    let duties = Duties::new(&profile, None, None);
    let mut receiver = Receiver::new(NAME, 9, (0, AckSignals::default()), duties);
    let mut come = |seq: u32| {
        let data = data(seq, 9);
        if !receiver.refuses(&data) {
            return receiver.on_data(&data, false).map(|arrival| (arrival.is_new, arrival.feedback));
        }
        receiver.refuse(&data, false).map(|nack| (false, nack))
    };
    let nack = |due| {
        Some((
            false,
            Feedback { flow: FlowId(7), seq: due, cumulative: due, fate: Fate::Missing { packets: 1 } },
        ))
    };
    let is_new = |come: Option<(bool, Feedback)>| come.map(|(is_new, ack)| (is_new, ack.cumulative));
    assert_eq!(is_new(come(0)), Some((true, 1)));
    assert_eq!([come(2), come(3)], [nack(1), None]);
    assert_eq!(is_new(come(1)), Some((true, 2)), "what came behind the gap is not there");
    assert_eq!([come(4), come(3)], [nack(2), None]);
    assert_eq!(is_new(come(0)), Some((false, 2)), "a duplicate is acknowledged");
    assert_eq!([2, 3, 4].map(|seq| is_new(come(seq))), [3, 4, 5].map(|end| Some((true, end))));
    assert_eq!(come(6), nack(5));
    assert_eq!(receiver.counters().view(FlowId(7), false, 0, 0).counters.arrived_packets, 11);
}

#[test]
fn an_ack_says_when_the_packet_came_if_the_control_wants_to_know() {
    let at = |ps| Time::from_ps(ps);
    let reply = |arrival, telemetry| {
        let signals = AckSignals { bytes: 6, arrival, map: false };
        let mut receiver = Receiver::new(NAME, 9, (0, signals), None);
        let feedback = receiver.on_data(&data(0, 9), false).unwrap().feedback;
        receiver.ack(at(5), HostId(3), feedback, telemetry)
    };
    assert_eq!((reply(false, None).telemetry, reply(false, None).ack_bytes), (None, 6));
    assert_eq!(reply(true, None).telemetry.unwrap().received_at, Some(at(5)));
    let mut carried = Telemetry::default();
    carried.push(farspan_units::HopTelemetry::default());
    let kept = reply(true, Some(Box::new(carried))).telemetry.unwrap();
    assert_eq!((kept.received_at, kept.hops().len()), (Some(at(5)), 1), "beside what ports have written");
}

#[test]
fn every_arrival_is_acknowledged_with_its_send_time_entropy_and_mark() {
    let mut receiver = receiver(10);
    for ecn_ce in [true, false] {
        let ack = receiver.on_data(&data(3, 10), ecn_ce).unwrap().feedback;
        let echo = Echo { sent_at: Time::from_ps(1003), entropy: 8 };
        let fate = Fate::Arrived { echo, ecn_ce, block_complete: false, map: 0 };
        let expected = Feedback { flow: FlowId(7), seq: 3, cumulative: 0, fate };
        assert_eq!(ack, expected);
    }
}

#[test]
fn a_duplicate_is_counted_but_gives_no_goodput() {
    let mut receiver = receiver(10);
    assert!(receiver.on_data(&data(3, 10), false).unwrap().is_new);
    assert!(!receiver.on_data(&data(3, 10), true).unwrap().is_new);
    let view = receiver.counters().view(FlowId(7), false, 0, 0);
    assert_eq!(
        (view.goodput, view.counters.arrived_packets, view.counters.marked_packets),
        (Bytes::new(100), 2, 1)
    );
}

#[test]
fn filling_a_hole_moves_the_cumulative_number_over_all_that_came_before() {
    let mut receiver = receiver(300);
    for seq in (1..200).rev() {
        assert_eq!(receiver.on_data(&data(seq, 300), false).unwrap().feedback.cumulative, 0);
    }
    assert_eq!(receiver.on_data(&data(0, 300), false).unwrap().feedback.cumulative, 200);
    assert!(!receiver.is_complete());
}

#[test]
fn a_packet_of_another_message_or_out_of_reach_is_not_taken_in() {
    let mut receiver = receiver(u32::MAX);
    assert!(receiver.on_data(&data(0, 9), false).is_none());
    assert!(receiver.on_data(&data(REACH + 1, u32::MAX), false).is_none());
    assert!(receiver.on_data(&data(u32::MAX, u32::MAX), false).is_none());
    assert_eq!(receiver.counters().view(FlowId(7), false, 0, 0).counters.arrived_packets, 0);
}

#[test]
fn a_complete_message_goes_on_acknowledging_what_belongs_to_it() {
    let mut live = receiver(2);
    live.on_data(&data(0, 2), false);
    live.on_data(&data(1, 2), false);
    assert!(live.is_complete());
    let mut counters = *live.counters();
    let ack = counters.on_duplicate(&data(0, 2), true).unwrap();
    assert_eq!((ack.seq, ack.cumulative), (0, 2));
    assert!(matches!(ack.fate, Fate::Arrived { ecn_ce: true, .. }));
    assert_eq!(counters.on_duplicate(&data(2, 2), true), None);
    assert_eq!(counters.on_duplicate(&data(0, 3), true), None);
    assert_eq!(counters.view(FlowId(7), true, 0, 0).counters.arrived_packets, 3);
}

#[test]
fn a_trimmed_packet_is_refused_with_its_send_time_and_entropy_and_changes_nothing() {
    let mut live = receiver(3);
    live.on_data(&data(0, 3), false);
    let sent_at = Time::from_ps(1002);
    let fate = Fate::Trimmed { echo: Echo { sent_at, entropy: 7 }, at_last_hop: true, ecn_ce: true };
    let expected = Feedback { flow: FlowId(7), seq: 2, cumulative: 1, fate };
    assert_eq!(live.on_trimmed(&data(2, 3), true, true), Some(expected));
    assert_eq!(
        (live.on_trimmed(&data(3, 3), true, false), live.on_trimmed(&data(2, 4), true, false)),
        (None, None)
    );
    let view = live.counters().view(FlowId(7), false, 1, 0);
    assert_eq!(
        (view.goodput, view.counters.arrived_packets, view.counters.trimmed_packets),
        (Bytes::new(100), 1, 1)
    );
    assert!(live.on_data(&data(2, 3), false).unwrap().is_new);
    live.on_data(&data(1, 3), false);
    let nack = live.counters().on_trimmed_duplicate(&data(2, 3), false, true).unwrap();
    assert_eq!((nack.seq, nack.cumulative), (2, 3), "the whole message has arrived");
    assert!(matches!(nack.fate, Fate::Trimmed { at_last_hop: false, ecn_ce: true, .. }));
    assert_eq!(live.counters().on_trimmed_duplicate(&data(3, 3), false, false), None);
}

#[test]
fn acks_of_a_flow_go_round_over_256_entropies_from_a_start_of_its_own() {
    let start = ack_entropy_start(1, FlowId(7));
    assert_ne!(start, ack_entropy_start(1, FlowId(8)));
    let mut receiver = Receiver::new(NAME, 1000, (start, AckSignals::default()), None);
    let seen: BTreeSet<Entropy> = (0..256)
        .map(|seq| {
            receiver.on_data(&data(seq, 1000), false);
            receiver.counters().ack_entropy(start)
        })
        .collect();
    assert_eq!(seen, (0..256).collect());
}

#[test]
fn a_receiver_and_what_stays_of_it_are_small() {
    assert!(size_of::<Receiver>() <= 80, "{}", size_of::<Receiver>());
    // Records have room for a sixty-fourth more; their index is at least 7/16 full when it has grown, with a byte of its own for
    // each place.
    assert!(size_of::<(PeerFlow, Counters)>() * 65 / 64 + (size_of::<u32>() + 1) * 16 / 7 <= 40);
    let mut receiver = receiver(100_000);
    receiver.on_data(&data(65_535, 100_000), false);
    assert_eq!(receiver.arrived.capacity(), 65_536, "one bit a packet");
}

/// A message of 2,050 B in blocks of 4 + 2 packets of 100 B: 6 of them, the last one with a segment of 50 B alone.
fn layout() -> Layout {
    Layout::of_message(Bytes::new(2050), Bytes::new(100), Shape::new(4, 2).unwrap()).unwrap()
}

fn coded(seq: u32) -> wire::Coded {
    let layout = layout();
    let data = wire::Data { len: layout.len(seq), ..data(seq, layout.packets()) };
    let (shape, last_len) = (layout.shape(), layout.last_len());
    wire::Coded { data, shape, last_len, block_wait_ns: 1000 }
}

fn of_blocks() -> Receiver {
    Receiver::coded(NAME, layout(), (0, AckSignals::default()), None)
}

/// Whether an ACK says that its packet's block is complete.
fn completes_block(feedback: &Feedback) -> bool {
    matches!(feedback.fate, Fate::Arrived { block_complete: true, .. })
}

/// Takes a packet in; gives what is new, the bytes delivered, and whether the block is complete.
fn take(receiver: &mut Receiver, seq: u32) -> (bool, u64, bool) {
    let arrival = receiver.on_coded(Time::ZERO, &coded(seq), layout(), false).unwrap();
    (arrival.is_new, arrival.delivered.get(), completes_block(&arrival.feedback))
}

#[test]
fn packets_count_as_they_come_parity_too_and_decoding_adds_nothing() {
    let mut receiver = of_blocks();
    assert_eq!(take(&mut receiver, 1), (true, 100, false));
    assert_eq!(take(&mut receiver, 5), (true, 100, false), "parity");
    assert_eq!(take(&mut receiver, 4), (true, 100, false));
    assert_eq!(take(&mut receiver, 4), (false, 0, false), "a duplicate");
    let arrival = receiver.on_coded(Time::ZERO, &coded(3), layout(), false).unwrap();
    assert_eq!((arrival.delivered, arrival.decodable), (Bytes::new(100), Some(0)), "0 and 2 are decoded");
    assert_eq!((arrival.feedback.cumulative, completes_block(&arrival.feedback)), (6, true));
    assert_eq!(take(&mut receiver, 2), (false, 0, true), "it is here already");
    assert_eq!(receiver.counters().view(FlowId(7), false, 0, 0).counters.arrived_packets, 6);
}

#[test]
fn a_message_is_complete_when_its_blocks_are() {
    let mut receiver = of_blocks();
    let packets = layout().packets();
    assert_eq!((packets, take(&mut receiver, packets - 1)), (33, (true, 50, true)), "any of the last three");
    for block in 0..5 {
        assert!(!receiver.is_complete());
        (0..4).for_each(|i| assert_eq!(take(&mut receiver, block * 6 + i).2, i == 3));
    }
    assert!(receiver.is_complete());
    let report = receiver.counters().report(FlowId(7), HostId(1), Time::ZERO);
    assert_eq!((report.bytes, report.arrived_packets), (Bytes::new(2050), 21));
}

#[test]
fn a_block_is_asked_for_with_what_it_misses() {
    let mut receiver = of_blocks();
    (0..4).for_each(|seq| assert!(take(&mut receiver, seq).0));
    assert!(take(&mut receiver, 7).0 && take(&mut receiver, 11).0);
    let fate = Fate::Missing { packets: 0b01_1101 };
    let nack = Feedback { flow: FlowId(7), seq: 6, cumulative: 6, fate };
    assert_eq!(receiver.missing(1), [nack]);
    assert_eq!(receiver.take_timeout(Time::from_ps(1_000_000)), Some(1));
}

#[test]
fn a_block_of_more_than_32_packets_takes_several_nacks() {
    let layout = Layout::of_message(Bytes::new(6000), Bytes::new(100), Shape::new(60, 10).unwrap()).unwrap();
    let first = wire::Data { packets: layout.packets(), ..data(0, 70) };
    let mut receiver = Receiver::coded(NAME, layout, (0, AckSignals::default()), None);
    for seq in (0..32).chain([33]) {
        let data = wire::Data { seq, ..first };
        let coded = wire::Coded { data, shape: layout.shape(), last_len: 100, block_wait_ns: 0 };
        receiver.on_coded(Time::ZERO, &coded, layout, false).unwrap();
    }
    let nack =
        |seq, packets| Feedback { flow: FlowId(7), seq, cumulative: 32, fate: Fate::Missing { packets } };
    assert_eq!(receiver.missing(0), [nack(32, !2), nack(64, 0b11_1111)]);
}

#[test]
fn packets_of_other_blocks_than_the_first_told_of_are_not_taken_in() {
    let mut receiver = of_blocks();
    let other = Layout::of_message(Bytes::new(2050), Bytes::new(100), Shape::new(2, 1).unwrap()).unwrap();
    assert!(receiver.on_coded(Time::ZERO, &coded(0), other, false).is_none());
    assert!(receiver.on_data(&coded(0).data, false).is_none(), "nor those without blocks");
    assert!(self::receiver(33).on_coded(Time::ZERO, &coded(0), layout(), false).is_none());
}

proptest! {
    #[test]
    fn the_bitmap_agrees_with_a_set(
        packets in 1u32..600, picks in prop::collection::vec(any::<u32>(), 1..2000), near in 1u32..600,
    ) {
        let (mut receiver, mut seen) = (receiver(packets), BTreeSet::new());
        for pick in picks {
            // Mostly near the front, so that the ring goes round.
            let seq = (receiver.cumulative + pick % near).saturating_sub(near / 3).min(packets - 1);
            let arrival = receiver.on_data(&data(seq, packets), false).unwrap();
            prop_assert_eq!(arrival.is_new, seen.insert(seq));
            let cumulative = (0..packets).find(|seq| !seen.contains(seq)).unwrap_or(packets);
            prop_assert_eq!(arrival.feedback.cumulative, cumulative);
            prop_assert_eq!(receiver.is_complete(), cumulative == packets);
        }
    }

    #[test]
    fn any_packets_as_many_as_the_data_complete_a_block(
        size in 1_u64..8000, x in 1_u8..30, y in 1_u8..10, order in any::<u64>(),
    ) {
        let mss = Bytes::new(100);
        let layout = Layout::of_message(Bytes::new(size), mss, Shape::new(x, y).unwrap()).unwrap();
        let mut seqs: Vec<u32> = (0..layout.packets()).collect();
        Random::new(order, Purpose::Test, 0).shuffle(&mut seqs);
        let packet = |seq| wire::Coded {
            data: wire::Data { len: layout.len(seq), ..data(seq, layout.packets()) },
            shape: layout.shape(),
            last_len: layout.last_len(),
            block_wait_ns: 0,
        };
        let mut receiver = Receiver::coded(NAME, layout, (0, AckSignals::default()), None);
        let (mut arrived, mut delivered) = (BTreeMap::<u32, usize>::new(), Bytes::ZERO);
        for seq in seqs {
            let block = layout.block_of(seq);
            let arrival = receiver.on_coded(Time::ZERO, &packet(seq), layout, false).unwrap();
            let here = arrived.entry(block).or_default();
            *here += 1;
            let needed = layout.sources_of(block).len();
            prop_assert_eq!(completes_block(&arrival.feedback), *here >= needed);
            prop_assert_eq!(arrival.is_new, *here <= needed);
            prop_assert!(arrival.decodable.is_none() || *here == needed);
            prop_assert!(arrival.delivered <= Bytes::new(u64::from(layout.len(seq))), "no more than came");
            delivered += arrival.delivered;
            let complete = |block| arrived.get(&block).is_some_and(|&n| n >= layout.sources_of(block).len());
            prop_assert_eq!(receiver.is_complete(), (0..layout.blocks()).all(complete));
        }
        prop_assert_eq!(delivered, Bytes::new(size), "each byte once");
    }
}

/// A receiver that acknowledges after ten packets of 100 B, and what it has said since it was last asked.
struct Holding {
    receiver: Receiver,
    replies: Replies,
}

impl Holding {
    fn new() -> Self {
        let config = ack::coalesced::CoalescedConfig { bytes: Bytes::new(1000), gap: true };
        let acks = Duties::new(
            &FlowProfile { acks: AckConfig::Coalesced(config), ..FlowProfile::default() },
            None,
            None,
        );
        Self {
            receiver: Receiver::new(NAME, 200, (0, AckSignals::default()), acks),
            replies: Replies::default(),
        }
    }

    /// A packet arrives; gives number, cumulative number, map and mark of each ACK that leaves.
    fn take(&mut self, seq: u32, ecn_ce: bool) -> Vec<(u32, u32, u64, bool)> {
        let data = data(seq, 200);
        let UncodedArrival { feedback, is_new } = self.receiver.on_data(&data, ecn_ce).unwrap();
        let reply = Reply::bare(HostId(0), 0, feedback);
        let held = self.receiver.acknowledge(Time::ZERO, is_new, ecn_ce, &data, reply, &mut self.replies);
        assert!(!held, "there is no timer");
        let said = |reply: Reply| match reply.feedback {
            Feedback { seq, cumulative, fate: Fate::Arrived { map, ecn_ce, .. }, .. } => {
                (seq, cumulative, map, ecn_ce)
            }
            other => panic!("{other:?}"),
        };
        core::iter::from_fn(|| self.replies.take()).map(said).collect()
    }
}

#[test]
fn an_ack_names_what_has_arrived_above_the_cumulative_number() {
    let mut holding = Holding::new();
    assert_eq!(holding.take(0, false), [(0, 1, 0, false)], "the first packet");
    assert_eq!(holding.take(2, false), [(2, 1, 0b1, false)], "it opens a gap");
    assert_eq!(holding.take(4, false), []);
    assert_eq!(holding.take(3, false), []);
    assert_eq!(holding.take(4, false), [(4, 1, 0b111, false)], "a duplicate");
    assert_eq!(holding.take(65, false), [], "the last that a map can name");
    assert_eq!(holding.take(66, false), [(66, 1, 1 << 63 | 0b111, false)]);
    assert_eq!(holding.take(1, false), []);
    assert_eq!(holding.take(5, true), [(1, 5, 1 << 59 | 1 << 60, false), (5, 6, 1 << 58 | 1 << 59, true)]);
}

#[test]
fn an_ack_for_each_packet_has_a_map_if_the_profile_says_so() {
    let maps = |map| {
        let mut receiver = Receiver::new(NAME, 200, (0, AckSignals { map, ..AckSignals::default() }), None);
        [0, 2, 4, 66, 1, 3, 3].map(|seq| match receiver.on_data(&data(seq, 200), false).unwrap().feedback {
            Feedback { cumulative, fate: Fate::Arrived { map, .. }, .. } => (cumulative, map),
            other => panic!("{other:?}"),
        })
    };
    let above = [(1, 0), (1, 0b1), (1, 0b101), (1, 0b101), (3, 1 << 62 | 0b1), (5, 1 << 60), (5, 1 << 60)];
    assert_eq!(maps(true), above, "packet 66 lies beyond the map of packets 2 to 65");
    assert_eq!(maps(false), above.map(|(cumulative, _)| (cumulative, 0)));
}

#[test]
fn what_is_held_leaves_with_the_ack_of_the_whole_message() {
    let mut holding = Holding::new();
    let said: Vec<_> = (0..200).flat_map(|seq| holding.take(seq, false)).collect();
    let expected: Vec<_> = (0..200).step_by(10).chain([199]).map(|seq| (seq, seq + 1, 0, false)).collect();
    assert_eq!(said, expected);
}

proptest! {
    #[test]
    fn the_map_of_a_bitmap_is_what_it_contains(
        floor in 0_u32..300, above in prop::collection::btree_set(1_u32..400, 0..80),
    ) {
        let mut bitmap = Bitmap::new();
        for seq in &above {
            bitmap.insert(floor, floor + seq);
        }
        let expected = above.iter().filter(|&&seq| seq <= 64).fold(0, |map, seq| map | 1 << (seq - 1));
        prop_assert_eq!(bitmap.map(floor, floor + 1), expected);
    }
}
