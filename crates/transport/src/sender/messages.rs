//! A persistent flow: messages one after another on one connection, as an application's on TCP's.
//!
//! A message takes up the packets after those of the message before; its last packet may be short. Packets are numbered through
//! the flow, and each says where its own message ends, so that nothing that was sent changes when another message follows. The
//! messages end in their order: a lost packet holds back all that come after it.
//!
//! After an idle time the control is notified before the next message leaves (RFC 5681, section 4.1). Left out: that TCP puts the beginning
//! of a message into the last, short packet of the one before.

use super::Sender;
use crate::congestion::{self, Congestion};
use crate::flow::counters::SenderCounters;
use crate::flow::message::{AppendError, Message};
use crate::recovery::{LossCounters, Recover as _};
use crate::sender::report::SenderReport;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use farspan_units::{Bytes, Time};

/// A message that is not acknowledged in full.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// The packet after its last.
    end: u32,
    /// Payload of its last packet.
    last_len: u16,
    /// Packets of it that were sent again, and their payload.
    retransmitted: (u32, Bytes),
}

/// The messages of a persistent flow.
#[derive(Debug)]
pub(super) struct Messages {
    /// Those that are not acknowledged in full, the oldest first.
    open: VecDeque<Extent>,
    /// The first packet of the oldest of them, or of the next message.
    first: u32,
    /// The index of that message.
    index: u32,
    /// Payload of all before it.
    payload_before: Bytes,
    /// The loss counters when the message before it ended.
    before: LossCounters,
    /// The first window, which the flow begins with again after an idle time.
    initial_cwnd: Bytes,
    /// When a packet last left.
    sent_at: Time,
    /// ACKs have been counted as [packets](congestion::Ack::acked_packets) below this one.
    counted_below: u32,
    /// Packets below it for which no ACK was counted, of messages that have ended, and their payload.
    uncounted: (u32, Bytes),
}

impl Messages {
    /// Those of a flow that begins with this message of so many packets; `None`: it is not persistent.
    pub(super) fn of(now: Time, message: &Message, packets: u32) -> Option<Box<Self>> {
        message.route.profile.persistent.then(|| {
            let mss = message.route.path.mss;
            assert!(
                message.size.segments(mss) == u64::from(packets) && message.via.is_none(),
                "persistent flows are not coded, and go through no proxy"
            );
            let last_len = (message.size - mss * u64::from(packets - 1)).get() as u16;
            let first = Extent { end: packets, last_len, retransmitted: (0, Bytes::ZERO) };
            Box::new(Self {
                open: [first].into(),
                first: 0,
                index: 0,
                payload_before: Bytes::ZERO,
                before: LossCounters::default(),
                initial_cwnd: message.initial_cwnd,
                sent_at: now,
                counted_below: 0,
                uncounted: (0, Bytes::ZERO),
            })
        })
    }

    /// The packet after the last of all messages so far.
    pub(super) fn end(&self) -> u32 {
        self.open.back().map_or(self.first, |extent| extent.end)
    }

    /// The message that packet `seq` is of, which is not acknowledged.
    fn of_packet(&self, seq: u32) -> Option<&Extent> {
        self.open.get(self.open.partition_point(|extent| extent.end <= seq))
    }

    /// Each open message, with its first packet.
    fn with_first(&self) -> impl Iterator<Item = (u32, &Extent)> {
        let firsts = core::iter::once(self.first).chain(self.open.iter().map(|extent| extent.end));
        firsts.zip(&self.open)
    }
}

/// The payload of the packets `first..next` of a message, of which `extent` is the rest.
fn payload(mss: Bytes, first: u32, extent: &Extent, next: u32) -> Bytes {
    let sent = next.clamp(first, extent.end);
    let whole = mss * u64::from(sent - first);
    if sent == extent.end { whole - mss + Bytes::new(u64::from(extent.last_len)) } else { whole }
}

impl Sender {
    fn messages(&self) -> Option<&Messages> {
        self.connection()?.messages.as_deref()
    }

    fn messages_mut(&mut self) -> Option<&mut Messages> {
        self.connection_mut()?.messages.as_deref_mut()
    }

    /// Whether further messages may follow on the flow.
    pub(crate) fn is_persistent(&self) -> bool {
        self.messages().is_some()
    }

    /// The packet after the last that may be numbered so far: of the message, or of all messages of the flow.
    pub(super) fn end(&self) -> u32 {
        self.messages().map_or(self.packets, Messages::end)
    }

    /// The packet after the last of the message that packet `seq` is of.
    #[cold]
    pub(super) fn end_of(&self, seq: u32) -> u32 {
        self.messages().and_then(|messages| messages.of_packet(seq)).map_or(self.packets, |extent| extent.end)
    }

    /// The payload of packet `seq`, which may be the last of its message; `None`: the flow is not persistent.
    pub(super) fn len_in_messages(&self, seq: u32) -> Option<Bytes> {
        let extent = self.messages()?.of_packet(seq)?;
        let is_last = seq + 1 == extent.end;
        Some(if is_last { Bytes::new(u64::from(extent.last_len)) } else { self.route.path.mss })
    }

    /// For how many packets an ACK of so many bytes stands that moves the oldest packet in flight to where it is; `None`: it is not
    /// known by that alone, since some of them were acknowledged before, or the flow is not persistent.
    pub(super) fn packets_of_messages(&mut self, bytes: Bytes) -> Option<u32> {
        let base = self.sent.base();
        let messages = self.messages_mut()?;
        let from = core::mem::replace(&mut messages.counted_below, base);
        let (before, payload_before) = core::mem::take(&mut messages.uncounted);
        let payload = payload_before + (from..base).map(|seq| self.len(seq)).sum();
        let packets = before + (base - from);
        (payload == bytes && packets > 0).then_some(packets)
    }

    /// A packet leaves, perhaps one that was sent before.
    pub(super) fn note_left(&mut self, now: Time, seq: u32, resent: Option<Bytes>) {
        let Some(messages) = self.messages_mut() else { return };
        messages.sent_at = now;
        let place = messages.open.partition_point(|extent| extent.end <= seq);
        if let (Some(len), Some(extent)) = (resent, messages.open.get_mut(place)) {
            extent.retransmitted.0 += 1;
            extent.retransmitted.1 += len;
        }
    }

    /// A further message of a persistent flow; gives its index.
    pub(crate) fn append(&mut self, now: Time, size: Bytes) -> Result<u32, AppendError> {
        let (flow, mss) = (self.flow, self.route.path.mss);
        let is_idle = self.sent.base() == self.end();
        let is_opening = self.connection().is_some_and(|connection| connection.opening.is_some());
        let Some(messages) = self.messages_mut() else { return Err(AppendError::NotPersistent { flow }) };
        let first = messages.end();
        let packets = u32::try_from(size.segments(mss)).ok().filter(|&packets| packets > 0);
        let end = packets.and_then(|packets| first.checked_add(packets)).filter(|&end| end < u32::MAX);
        let (Some(packets), Some(end)) = (packets, end) else {
            return Err(AppendError::NoNumbers { flow, size, left: (u32::MAX - 1).saturating_sub(first) });
        };
        let last_len = (size - mss * u64::from(packets - 1)).get() as u16;
        messages.open.push_back(Extent { end, last_len, retransmitted: (0, Bytes::ZERO) });
        let index = messages.index + messages.open.len() as u32 - 1;
        let (idle, initial_cwnd) = (now.since(messages.sent_at), messages.initial_cwnd);
        self.face_oldest();
        if !is_opening && let Some(cold) = self.cold.as_deref_mut() {
            cold.available = end;
        }
        if is_idle && !is_opening && self.route.connection.idle_restart {
            let rto = self.rto_policy().rto;
            let decision = self.control.on_idle(&congestion::Idle { now, idle, rto, initial_cwnd });
            self.decide(decision);
        }
        Ok(index)
    }

    /// The sender's own bounds are those of the oldest message that is not acknowledged.
    fn face_oldest(&mut self) {
        let oldest = self.messages().and_then(|messages| messages.open.front().copied());
        if let Some(Extent { end, last_len, .. }) = oldest {
            (self.packets, self.last_len) = (end, last_len);
        }
    }

    /// The oldest message, if it has ended and was not given before.
    pub(crate) fn take_finished(&mut self, now: Time) -> Option<SenderReport> {
        let (base, mss, losses) = (self.sent.base(), self.route.path.mss, self.sent.counters());
        let extent = *self.messages()?.open.front().filter(|extent| extent.end <= base)?;
        let report = self.message_report(now, 0)?;
        let messages = self.messages_mut()?;
        messages.open.pop_front();
        let from = messages.counted_below.max(messages.first);
        if from < extent.end {
            messages.uncounted.0 += extent.end - from;
            messages.uncounted.1 += payload(mss, from, &extent, extent.end);
            messages.counted_below = extent.end;
        }
        messages.payload_before += payload(mss, messages.first, &extent, extent.end);
        (messages.first, messages.before) = (extent.end, losses);
        messages.index += 1;
        self.face_oldest();
        if base == self.end() {
            self.rest();
        }
        Some(report)
    }

    /// All messages have ended: nothing of a recovery is left for the next one.
    fn rest(&mut self) {
        self.sent.forget_retransmissions();
        if let Some(cold) = self.cold.as_deref_mut() {
            cold.recovery.on_rest();
        }
        self.end_reduction();
        let decision = self.control.decision();
        self.decide(decision);
    }

    /// The message with this index, if it has not ended.
    pub(crate) fn open_message(&self, now: Time, index: u32) -> Option<SenderReport> {
        self.message_report(now, index.checked_sub(self.messages()?.index)? as usize)
    }

    /// The messages that have not ended, the oldest first.
    pub(crate) fn open_messages(&self, now: Time) -> impl Iterator<Item = SenderReport> {
        let count = self.messages().map_or(0, |messages| messages.open.len());
        (0..count).filter_map(move |place| self.message_report(now, place))
    }

    /// The report of the oldest message that has not ended, or of an empty one if all have; `None`: the flow is not persistent.
    pub(super) fn last_report(&self, now: Time) -> Option<SenderReport> {
        let nothing = SenderReport {
            flow: self.flow,
            message: self.messages()?.index,
            to: self.receiver(),
            size: Bytes::ZERO,
            finished_at: now,
            counters: SenderCounters::default(),
        };
        Some(self.message_report(now, 0).unwrap_or(nothing))
    }

    /// The report of the open message at this place. What is counted by flow is the oldest one's since the message before it ended.
    pub(super) fn message_report(&self, now: Time, place: usize) -> Option<SenderReport> {
        let (messages, mss, next) = (self.messages()?, self.route.path.mss, self.sent.next());
        let extent = messages.open.get(place)?;
        let before_it = place.checked_sub(1).map(|place| messages.open[place].end);
        let first = before_it.unwrap_or(messages.first);
        let (retransmitted_packets, retransmitted_bytes) = extent.retransmitted;
        let sent = u64::from(next.clamp(first, extent.end) - first) + u64::from(retransmitted_packets);
        let (all, before) = (self.sent.counters(), messages.before);
        let of_flow = |count: fn(&LossCounters) -> u32| {
            if place == 0 { u64::from(count(&all) - count(&before)) } else { 0 }
        };
        Some(SenderReport {
            flow: self.flow,
            message: messages.index + place as u32,
            to: self.receiver(),
            size: payload(mss, first, extent, extent.end),
            finished_at: now,
            counters: SenderCounters {
                sent_packets: sent,
                sent_bytes: payload(mss, first, extent, next) + retransmitted_bytes,
                retransmitted_packets: u64::from(retransmitted_packets),
                retransmitted_bytes,
                timeouts: of_flow(|counters| counters.timeouts),
                nacks: of_flow(|counters| counters.nacks),
                losses: of_flow(|counters| counters.losses),
                probes: of_flow(|counters| counters.probes),
                spurious: of_flow(|counters| counters.spurious),
                ..SenderCounters::default()
            },
        })
    }

    /// Payload of the packets that were sent at least once, of a persistent flow.
    pub(super) fn first_payload(&self) -> Option<Bytes> {
        let (messages, mss, next) = (self.messages()?, self.route.path.mss, self.sent.next());
        let sent = messages.with_first().take_while(|(first, _)| *first < next);
        let open: Bytes = sent.map(|(first, extent)| payload(mss, first, extent, next)).sum();
        Some(messages.payload_before + open)
    }
}
