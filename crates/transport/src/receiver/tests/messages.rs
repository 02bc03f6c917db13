//! Persistent flows: which messages are here, when, and with which counts.

use super::*;
use farspan_units::Duration;

const MSS: Bytes = Bytes::new(100);

/// The receiver of a persistent flow, and its replies.
struct Persistent {
    receiver: Receiver,
    replies: Replies,
    now: Time,
}

impl Persistent {
    fn new(acks: AckConfig) -> Self {
        let profile = FlowProfile { acks, persistent: true, ..FlowProfile::default() };
        let duties = Duties::new(&profile, None, None);
        let receiver = Receiver::new(NAME, u32::MAX, (0, AckSignals::default()), duties);
        Self { receiver, replies: Replies::default(), now: Time::ZERO }
    }

    /// A packet of a message that ends before `end` comes; gives the messages that are here in full with it. `None`: it is not taken in.
    fn take(&mut self, (seq, end, len): (u32, u32, u16), ecn_ce: bool) -> Option<Vec<ReceiverReport>> {
        self.now += Duration::from_us(1);
        let data = wire::Data { len, ..data(seq, end) };
        let UncodedArrival { feedback, is_new } = self.receiver.on_data(&data, ecn_ce)?;
        let reply = Reply::bare(HostId(1), 0, feedback);
        let more = self.receiver.acknowledge(self.now, is_new, ecn_ce, &data, reply, &mut self.replies);
        let here: Vec<_> = core::iter::from_fn(|| self.receiver.take_delivered(self.now, MSS)).collect();
        assert!(more || here.is_empty(), "who has a message in full says so");
        assert!(!self.receiver.is_complete());
        Some(here)
    }

    /// As [`Self::take`], of an unmarked packet: index and payload of the messages that are here with it.
    fn here(&mut self, packet: (u32, u32, u16)) -> Option<Vec<(u32, u64)>> {
        let reports = self.take(packet, false)?;
        Some(reports.iter().map(|report| (report.message, report.bytes.get())).collect())
    }

    /// The numbers of the packets that the ACKs which left since are for.
    fn said(&mut self) -> Vec<u32> {
        core::iter::from_fn(|| self.replies.take()).map(|reply| reply.feedback.seq).collect()
    }
}

#[test]
fn messages_are_here_in_order_with_their_payload_and_counted_from_0() {
    let mut flow = Persistent::new(AckConfig::default());
    assert_eq!(flow.here((0, 1, 7)), Some([(0, 7)].into()));
    assert_eq!(flow.here((1, 3, 100)), Some([].into()));
    assert_eq!(flow.here((2, 3, 100)), Some([(1, 200)].into()));
    assert_eq!(flow.here((4, 6, 100)), Some([].into()));
    assert_eq!(flow.here((5, 6, 1)), Some([].into()), "packet 3 is missing");
    assert_eq!(flow.here((6, 7, 50)), Some([].into()));
    assert_eq!(flow.here((3, 6, 100)), Some([(2, 201), (3, 50)].into()));
}

#[test]
fn a_duplicate_is_acknowledged_and_makes_no_message_once_more() {
    let mut flow = Persistent::new(AckConfig::default());
    assert_eq!(flow.here((0, 1, 7)), Some([(0, 7)].into()));
    assert_eq!(flow.here((2, 3, 9)), Some([].into()));
    assert_eq!(flow.here((0, 1, 7)), Some([].into()));
    assert_eq!(flow.here((2, 3, 9)), Some([].into()));
    assert_eq!(flow.here((1, 3, 100)), Some([(1, 109)].into()));
    assert_eq!(flow.here((2, 3, 9)), Some([].into()));
    assert_eq!(flow.said(), [0, 2, 0, 2, 1, 2]);
    assert_eq!(flow.receiver.counters().goodput(), Bytes::new(116));
}

#[test]
fn a_message_counts_what_came_since_the_one_before_was_here() {
    let mut flow = Persistent::new(AckConfig::default());
    let counts = |reports: Option<Vec<ReceiverReport>>| {
        let reports = reports.unwrap();
        reports.iter().map(|r| (r.arrived_packets, r.marked_packets)).collect::<Vec<_>>()
    };
    assert_eq!(counts(flow.take((1, 2, 100), true)), []);
    assert_eq!(counts(flow.take((0, 2, 100), false)), [(2, 1)]);
    assert_eq!(counts(flow.take((0, 2, 100), true)), []);
    assert_eq!(counts(flow.take((3, 4, 1), false)), []);
    assert_eq!(
        counts(flow.take((2, 3, 1), true)),
        [(3, 2), (0, 0)],
        "the fourth came before the third was here"
    );
}

#[test]
fn a_packet_that_contradicts_a_known_end_is_not_taken_in() {
    let mut flow = Persistent::new(AckConfig::default());
    assert_eq!(flow.here((5, 6, 3)), Some([].into()));
    for beyond in [(5, 7, 100), (3, 7, 100), (0, 9, 100)] {
        assert_eq!(flow.here(beyond), None, "it goes on after packet 5");
    }
    for impossible in [(6, 6, 100), (7, 6, 100), (REACH + 1, REACH + 2, 100)] {
        assert_eq!(flow.here(impossible), None);
    }
    let trimmed = |seq, end| flow.receiver.on_trimmed(&data(seq, end), false, false).is_some();
    assert_eq!([trimmed(3, 7), trimmed(3, 6), trimmed(6, 7)], [false, true, true]);
    assert_eq!(flow.receiver.counters().view(FlowId(7), false, 0, 0).counters.arrived_packets, 1);
    (0..4).for_each(|seq| assert_eq!(flow.here((seq, 6, 100)), Some([].into())));
    assert_eq!(flow.here((4, 6, 100)), Some([(0, 503)].into()));
}

#[test]
fn the_ack_of_a_message_s_last_packet_may_be_delayed_as_any_other() {
    let config = ack::delayed::DelayedConfig { quick: 0, ..ack::delayed::DelayedConfig::default() };
    let mut flow = Persistent::new(AckConfig::Delayed(config));
    assert_eq!((flow.here((0, 1, 7)), flow.said()), (Some([(0, 7)].into()), [].into()));
    assert_eq!((flow.here((1, 3, 100)), flow.said()), (Some([].into()), [1].into()));
    assert_eq!((flow.here((2, 3, 1)), flow.said()), (Some([(1, 101)].into()), [].into()));
    assert_eq!((flow.here((3, 4, 1)), flow.said()), (Some([(2, 1)].into()), [3].into()));
}

proptest! {
    #[test]
    fn each_message_is_here_once_in_order_when_all_before_it_are(
        sizes in prop::collection::vec(1_u64..700, 1..20),
        picks in prop::collection::vec(any::<u32>(), 1..200),
    ) {
        let mut packets = Vec::new();
        let mut ends = Vec::new();
        for &size in &sizes {
            let (first, count) = (packets.len() as u64, size.div_ceil(100));
            let end = first + count;
            let len = |i| if i + 1 == count { size - i * 100 } else { 100 };
            packets.extend((0..count).map(|i| ((first + i) as u32, end as u32, len(i) as u16)));
            ends.push(end as u32);
        }
        let (mut flow, mut seen) = (Persistent::new(AckConfig::default()), BTreeSet::new());
        let (mut arrived, mut reports) = (0, Vec::new());
        // At last each once, so that all are here.
        let random = picks.iter().map(|&pick| packets[pick as usize % packets.len()]);
        for packet in random.chain(packets.iter().copied()) {
            seen.insert(packet.0);
            arrived += 1;
            reports.extend(flow.take(packet, false).unwrap());
            let cumulative = (0..).find(|seq| !seen.contains(seq)).unwrap();
            prop_assert_eq!(reports.len(), ends.iter().filter(|&&end| end <= cumulative).count());
            let counted = reports.iter().map(|report| report.arrived_packets).sum::<u64>();
            prop_assert!(counted <= arrived);
        }
        prop_assert_eq!(reports.iter().map(|report| report.bytes.get()).collect::<Vec<_>>(), sizes);
        prop_assert!(reports.iter().zip(0..).all(|(report, index)| report.message == index));
        prop_assert!(flow.receiver.messages().is_some_and(|messages| !messages.has_delivered(u32::MAX)));
    }
}
