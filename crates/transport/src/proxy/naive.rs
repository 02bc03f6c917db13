//! The naive proxy: two connections, the second fed by the queue of the first (section 4.1).
//!
//! Its ACK says that a packet is here, and moves the sender's window; what the receiver says is passed on, and ends the flow.
//! The sender of the second connection takes packets in order, as far as all before them are here.
//!
//! Where the room is bounded, each flow may have so many packets here that have not been sent on. The sender knows that number
//! from the start, and each ACK of the proxy says up to which packet it may send. When the room grows without an ACK to say
//! so, the proxy says it by itself, at the latest when half of the room is new.
//!
//! Its page: `docs/src/schemes/proxy.md`.

use super::Waiting;
use crate::flow::message::Trimmed;
use crate::flow::profile::AckSignals;
use crate::receiver::Receiver;
use crate::table::{Named as _, PeerFlow};
use crate::wire::{Data, Fate, Feedback};
use farspan_units::{Bytes, Duration, Time};

/// The receiver's progress is passed on when so many packets more have reached it, when as long as the second connection's
/// time-out has passed since the sender last heard of it, and at the end: a sender whose packets are few among many at the
/// proxy does not take it for silent.
const PASS_EVERY: u32 = 64;

/// The second connection of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Onward {
    /// Its first packet is not here.
    Awaited,
    /// It is one of the host's senders.
    Live,
    /// The receiver has all of it, or the proxy has failed.
    Ended,
}

/// The state of one flow.
#[derive(Debug)]
pub(crate) struct Naive {
    /// The receiving half of the first connection.
    receiver: Receiver,
    /// The sending half of the second one.
    pub onward: Onward,
    mss: Bytes,
    /// Packets of the message.
    packets: u32,
    /// Payload of the last one.
    last_len: Bytes,
    room: Option<u32>,
    /// All packets below have been sent on.
    sent: u32,
    /// All packets below have reached the receiver.
    reached: u32,
    /// The sender knows of both: the limit, and what has reached the receiver.
    known: (u32, u32),
    /// The time after which the sender is told again of what has reached the receiver.
    pass_after: Duration,
    passed_on_at: Time,
}

/// The outcome of a data packet.
pub(crate) struct Taken {
    /// Goes back to the sender.
    pub feedback: Feedback,
    /// All packets below are here.
    pub available: u32,
}

impl Naive {
    /// Nothing has come yet of a message of `size` bytes whose full packets have `mss`; `rto`: of the second connection.
    pub(crate) fn new(name: PeerFlow, size: Bytes, room: Option<u32>, mss: Bytes, rto: Duration) -> Self {
        let packets = size.segments(mss).max(1) as u32;
        let receiver = Receiver::new(name, packets, (0, AckSignals::default()), None);
        let last_len = size - mss * u64::from(packets - 1);
        let known = (room.unwrap_or(u32::MAX), 0);
        Self {
            receiver,
            onward: Onward::Awaited,
            mss,
            packets,
            last_len,
            room,
            sent: 0,
            reached: 0,
            known,
            pass_after: rto,
            passed_on_at: Time::ZERO,
        }
    }

    /// Whether the second connection begins, now that all packets below `available` are here.
    pub(crate) const fn begins(&self, available: u32) -> bool {
        matches!(self.onward, Onward::Awaited) && available > 0
    }

    /// Payload that is here and has not been sent on.
    pub(crate) fn waiting(&self) -> Bytes {
        self.receiver.counters().goodput() - self.bytes_below(self.sent)
    }

    /// Payload that was sent on and has not reached the receiver.
    pub(crate) fn unacked(&self) -> Bytes {
        self.bytes_below(self.sent) - self.bytes_below(self.reached)
    }

    /// The payload of packets below `end`.
    fn bytes_below(&self, end: u32) -> Bytes {
        if end < self.packets {
            self.mss * u64::from(end)
        } else {
            self.mss * u64::from(self.packets - 1) + self.last_len
        }
    }

    /// The sender may send packets below this one.
    fn limit(&self) -> u32 {
        self.room.map_or(u32::MAX, |room| self.sent.saturating_add(room))
    }

    /// A data packet has come; `None` if it cannot belong to the message.
    pub(crate) fn on_data(
        &mut self,
        now: Time,
        data: &Data,
        trimmed: Trimmed,
        ecn_ce: bool,
        waiting: &mut Waiting,
    ) -> Option<Taken> {
        let (len, available) = (Bytes::new(u64::from(data.len)), |receiver: &Receiver| receiver.cumulative());
        if data.seq >= self.packets || len != self.bytes_below(data.seq + 1) - self.bytes_below(data.seq) {
            return None;
        }
        if trimmed != Trimmed::No {
            let feedback = self.receiver.on_trimmed(data, trimmed == Trimmed::AtLastHop, ecn_ce)?;
            return Some(Taken { feedback, available: available(&self.receiver) });
        }
        let arrival = self.receiver.on_data(data, ecn_ce)?;
        if arrival.is_new {
            waiting.add(now, len);
        }
        let mut feedback = arrival.feedback;
        feedback.cumulative = available(&self.receiver);
        if let Fate::Arrived { echo, ecn_ce, .. } = feedback.fate {
            self.known.0 = self.limit();
            feedback.fate = Fate::Taken { echo, ecn_ce, limit: self.known.0 };
        }
        Some(Taken { feedback, available: feedback.cumulative })
    }

    /// All packets below `sent` have been sent on; gives news of the room that the sender must hear.
    pub(crate) fn on_sent(&mut self, now: Time, sent: u32, waiting: &mut Waiting) -> Option<Feedback> {
        let bytes = self.bytes_below(sent) - self.bytes_below(self.sent);
        if !bytes.is_zero() {
            waiting.remove(now, bytes);
            waiting.keep(bytes, Bytes::ZERO);
        }
        self.sent = sent;
        let room = self.room?;
        let (limit, known) = (self.limit(), self.known.0);
        let is_news = known < self.packets && limit - known >= (room / 2).max(1);
        is_news.then(|| self.notify(now))
    }

    /// All packets below `reached` have reached the receiver; gives news that the sender must hear.
    pub(crate) fn on_reached(&mut self, now: Time, reached: u32, waiting: &mut Waiting) -> Option<Feedback> {
        let bytes = self.bytes_below(reached) - self.bytes_below(self.reached);
        if !bytes.is_zero() {
            waiting.keep(Bytes::ZERO, bytes);
        }
        self.reached = reached;
        let is_news = reached == self.packets
            || reached - self.known.1 >= PASS_EVERY
            || now.since(self.passed_on_at) >= self.pass_after;
        (is_news && reached > self.known.1).then(|| self.notify(now))
    }

    fn notify(&mut self, now: Time) -> Feedback {
        self.passed_on_at = now;
        self.known = (self.limit(), self.reached);
        let (flow, (limit, cumulative)) = (self.receiver.name().flow, self.known);
        Feedback { flow, seq: 0, cumulative, fate: Fate::PassedOn { limit } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{FlowId, HostId};

    const MSS: Bytes = Bytes::new(4096);

    fn naive(packets: u64, room: Option<u32>) -> Naive {
        Naive::new(
            PeerFlow { peer: HostId(1), flow: FlowId(3) },
            MSS * packets,
            room,
            MSS,
            Duration::from_us(10),
        )
    }

    fn data(seq: u32, packets: u32) -> Data {
        let len = MSS.get() as u16;
        Data { flow: FlowId(3), seq, packets, len, sent_at: Time::ZERO, entropy: 7, profile: 0, ask: false }
    }

    #[test]
    fn each_packet_is_taken_and_those_in_order_can_be_sent_on() {
        let (mut naive, mut waiting) = (naive(4, None), Waiting::default());
        let mut take = |seq| {
            let taken = naive.on_data(Time::ZERO, &data(seq, 4), Trimmed::No, true, &mut waiting).unwrap();
            (
                matches!(taken.feedback.fate, Fate::Taken { ecn_ce: true, limit: u32::MAX, .. }),
                taken.available,
            )
        };
        assert_eq!([1, 0, 0, 2].map(&mut take), [(true, 0), (true, 2), (true, 2), (true, 3)]);
        assert_eq!(waiting.queue.max, naive.mss * 3);
        let alien = [data(9, 4), Data { len: 5, ..data(3, 4) }, data(3, 5)];
        let mut taken =
            alien.iter().filter_map(|data| naive.on_data(Time::ZERO, data, Trimmed::No, false, &mut waiting));
        assert!(taken.next().is_none(), "not of this message");
    }

    #[test]
    fn an_empty_message_ends_as_any_other() {
        let (mut naive, mut waiting) = (naive(0, None), Waiting::default());
        assert_eq!(naive.on_sent(Time::ZERO, 1, &mut waiting), None);
        assert_eq!(
            naive.on_reached(Time::ZERO, 1, &mut waiting).map(|feedback| feedback.cumulative),
            Some(1)
        );
    }

    #[test]
    fn no_more_packets_wait_than_there_is_room_for_and_room_is_told() {
        let (mut naive, mut waiting) = (naive(8, Some(2)), Waiting::default());
        let limit = |feedback: Feedback| match feedback.fate {
            Fate::Taken { limit, .. } | Fate::PassedOn { limit } => limit,
            fate => panic!("{fate:?}"),
        };
        for seq in 0..2 {
            let taken = naive.on_data(Time::ZERO, &data(seq, 8), Trimmed::No, false, &mut waiting).unwrap();
            assert_eq!(limit(taken.feedback), 2);
        }
        assert_eq!(naive.on_sent(Time::ZERO, 1, &mut waiting).map(limit), Some(3));
        assert_eq!(waiting.bytes, naive.mss);
        assert_eq!((waiting.unacked, naive.on_reached(Time::ZERO, 1, &mut waiting)), (naive.mss, None));
        assert!(waiting.unacked.is_zero());
    }

    #[test]
    fn what_the_receiver_says_is_passed_on_now_and_then_and_at_the_end() {
        let (mut naive, mut waiting) = (naive(100, None), Waiting::default());
        waiting.add(Time::ZERO, naive.mss * 100);
        assert_eq!(naive.on_sent(Time::ZERO, 100, &mut waiting), None);
        let mut known = |us, reached| {
            let now = Time::ZERO + Duration::from_us(us);
            naive.on_reached(now, reached, &mut waiting).map(|feedback| feedback.cumulative)
        };
        let at_once = [63, 64, 65].map(|reached| known(1, reached));
        assert_eq!(at_once, [None, Some(64), None]);
        assert_eq!(
            [known(10, 66), known(11, 67), known(20, 67)],
            [None, Some(67), None],
            "each 10 us, if there is news"
        );
        assert_eq!([99, 100, 100].map(|reached| known(20, reached)), [None, Some(100), None]);
    }
}
