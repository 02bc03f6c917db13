//! One endpoint per host: it owns the host's senders and receivers, and decides which packet the NIC sends next.
//!
//! | verb | when the driver calls it |
//! |---|---|
//! | [`Endpoint::submit`] | a message is to be sent |
//! | [`Endpoint::handle_packet`] | a packet has arrived |
//! | [`Endpoint::handle_timeout`] | the time of [`Endpoint::poll_timeout`] has come |
//! | [`Endpoint::poll_transmit`] | the NIC is free, after any of the three above or at the time of [`Poll::At`] |
//! | [`Endpoint::poll_timeout`] | after any of the above |
//! | [`Endpoint::poll_event`] | after `handle_packet`, until `None` |
//!
//! Calls come in order of time; calls at one instant may come in any order, and the order decides ties.

use crate::Route;
use crate::balance::Entropy;
use crate::delivered::Delivered;
use crate::receiver::{self, Receiver, ReceiverReport, ReceiverView};
use crate::schedule::Schedule;
use crate::sender::{DataPacket, Sender, SenderReport, SenderView};
use crate::table::{Fixed, FlowMap, Key, OfFlow, Table};
use crate::timers::{Armed, Kind, Timers, UNARMED};
use crate::wire::{self, Header};
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::ops::Range;
use farspan_units::{Bytes, FlowId, HostId, Time};

/// What an endpoint is built with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointConfig {
    /// The host.
    pub host: HostId,
    /// Seed of every draw.
    pub seed: u64,
    /// Payload of a full packet; at most 65,535 bytes.
    pub mss: Bytes,
    /// Header of every packet on the wire; also the size of an ACK and of a NACK.
    pub header: Bytes,
}

/// A message to be sent.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its number: never used before at either end.
    pub flow: FlowId,
    /// Where it goes.
    pub to: HostId,
    /// Its payload; at least one byte.
    pub size: Bytes,
    /// First window.
    pub initial_cwnd: Bytes,
    /// What the sender knows of its path, and what it is assembled from.
    pub route: Arc<Route>,
}

/// A packet that has arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Incoming {
    /// The host that sent the packet.
    pub from: HostId,
    /// Its header.
    pub header: Header,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Whether a switch cut its payload off; its header still says how long that was. Only data packets are trimmed.
    pub trimmed: bool,
}

/// Payload that arrived for the first time: the driver copies it, if there are bytes at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// The flow.
    pub flow: FlowId,
    /// Where in the message the payload belongs.
    pub offset: u64,
    /// How many bytes.
    pub len: u16,
}

/// A packet to put on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where it goes.
    pub to: HostId,
    /// Its header.
    pub header: Header,
    /// Its size on the wire.
    pub size: Bytes,
    /// Its path, as switches hash it.
    pub entropy: Entropy,
    /// Whether it is a control packet (an ACK or a NACK), which ports may serve first.
    pub control: bool,
    /// The part of the message that it carries.
    pub payload: Option<Range<u64>>,
    /// Whether the payload was sent before.
    pub retransmission: bool,
}

/// An ACK or a NACK to put on the wire: a control packet of the size of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Where it goes.
    pub to: HostId,
    /// Its path, as switches hash it.
    pub entropy: Entropy,
    /// Whether it is a NACK.
    pub refuses: bool,
    /// What it says; a NACK says nothing of marks.
    pub ack: wire::Ack,
}

impl Reply {
    /// Its header.
    #[must_use]
    #[inline]
    pub const fn header(&self) -> Header {
        let wire::Ack { flow, seq, cumulative, sent_at, entropy, .. } = self.ack;
        if self.refuses {
            Header::Nack(wire::Nack { flow, seq, cumulative, sent_at, entropy })
        } else {
            Header::Ack(self.ack)
        }
    }

    /// The NACK.
    const fn refusal(to: HostId, entropy: Entropy, nack: &wire::Nack) -> Self {
        let wire::Nack { flow, seq, cumulative, sent_at, entropy: echo } = *nack;
        let ack = wire::Ack { flow, seq, cumulative, sent_at, entropy: echo, ecn_ce: false };
        Self { to, entropy, refuses: true, ack }
    }

    /// `size`: of a header.
    const fn into_transmit(self, size: Bytes) -> Transmit {
        let (header, Self { to, entropy, .. }) = (self.header(), self);
        Transmit { to, header, size, entropy, control: true, payload: None, retransmission: false }
    }
}

/// What a receiver says.
#[derive(Clone, Copy)]
enum Feedback<'a> {
    Ack(&'a wire::Ack),
    Nack(&'a wire::Nack),
}

/// What the NIC is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Poll {
    /// Send this packet.
    Packet(Transmit),
    /// Nothing now; a pacer releases a packet at this time, if nothing else happens before.
    At(Time),
    /// Nothing until something happens.
    Idle,
}

/// Something that the application wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A sender has its last ACK.
    Finished(SenderReport),
    /// A receiver has its last byte.
    Delivered(ReceiverReport),
}

/// A live sender and where it stands.
#[derive(Debug)]
struct Live {
    sender: Sender,
    /// The live entry of each of its timers.
    armed: Armed,
}

impl OfFlow for Live {
    #[inline]
    fn flow(&self) -> FlowId {
        self.sender.flow()
    }
}

impl Live {
    /// After anything that may have changed the sender's decision: arms its control timer, and gives it its turn.
    #[inline(always)]
    fn settle(&mut self, now: Time, key: Key, timers: &mut Timers, schedule: &mut Schedule) {
        if self.sender.wants_timer() {
            self.arm_control(key, timers);
        }
        if !self.sender.is_scheduled
            && let Some(at) = self.sender.next_send()
        {
            self.sender.is_scheduled = true;
            schedule.add(now, at, key);
        }
    }

    /// After a packet that the sender sent in its turn: when it is its turn again.
    #[inline(always)]
    fn end_turn(&mut self, now: Time, key: Key, timers: &mut Timers, schedule: &mut Schedule) {
        if self.sender.wants_timer() {
            self.arm_control(key, timers);
        }
        let next = self.sender.next_send();
        if next.is_some_and(|at| at <= now) {
            return schedule.pass();
        }
        schedule.leave();
        self.sender.is_scheduled = next.is_some();
        if let Some(at) = next {
            schedule.add(now, at, key);
        }
    }

    #[cold]
    fn arm_control(&mut self, key: Key, timers: &mut Timers) {
        if let Some(at) = self.sender.control_timer() {
            timers.arm(&mut self.armed, at, key, Kind::Control);
        }
    }
}

/// The endpoint of one host.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    senders: Table<Live>,
    schedule: Schedule,
    timers: Timers,
    receivers: Table<Receiver>,
    /// What stays of receivers that are complete.
    delivered: Delivered,
    /// How many packets of a flow came trimmed, for flows of which one did.
    trimmed: FlowMap<u32>,
    /// ACKs and NACKs that wait for the NIC.
    replies: VecDeque<Reply>,
    events: VecDeque<Event>,
}

impl Endpoint {
    /// An endpoint without flows.
    #[must_use]
    pub fn new(config: EndpointConfig) -> Self {
        debug_assert!(
            !config.mss.is_zero() && config.mss.get() <= u64::from(u16::MAX),
            "mss is in 1..=65535"
        );
        Self {
            config,
            senders: Table::new(),
            schedule: Schedule::default(),
            timers: Timers::default(),
            receivers: Table::new(),
            delivered: Delivered::default(),
            trimmed: FlowMap::with_hasher(Fixed),
            replies: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The host.
    #[must_use]
    pub const fn host(&self) -> HostId {
        self.config.host
    }

    /// Takes a message; its first packet may leave now.
    ///
    /// # Panics
    /// If the message has more than 2^32 - 1 packets.
    #[allow(clippy::needless_pass_by_value, reason = "a message is handed over")]
    pub fn submit(&mut self, now: Time, message: Message) {
        debug_assert!(!message.size.is_zero(), "flow {} has no payload", message.flow);
        debug_assert_eq!(message.route.path.mss, self.config.mss, "one payload size for the whole network");
        let sender = Sender::new(now, &message, self.config.seed);
        self.add_sender(now, sender);
    }

    fn add_sender(&mut self, now: Time, sender: Sender) {
        let live = Live { sender, armed: UNARMED };
        let key = self.senders.insert(live);
        if let Some(live) = self.senders.get_mut(key) {
            live.settle(now, key, &mut self.timers, &mut self.schedule);
        }
    }

    /// Takes a packet that has arrived; returns the payload that came for the first time.
    pub fn handle_packet(&mut self, now: Time, packet: &Incoming) -> Option<Received> {
        match &packet.header {
            Header::Data(data) if packet.trimmed => {
                self.on_trimmed(packet.from, data);
                None
            }
            Header::Data(data) => self.handle_data(now, packet.from, data, packet.ecn_ce),
            Header::Ack(ack) => {
                if self.comes_from_receiver(ack.flow, packet.from) {
                    self.handle_ack(now, ack);
                }
                None
            }
            Header::Nack(nack) => {
                if self.comes_from_receiver(nack.flow, packet.from) {
                    self.on_nack(now, nack);
                }
                None
            }
        }
    }

    /// [`Self::handle_packet`] of a data packet that was not trimmed.
    #[inline(always)]
    pub fn handle_data(
        &mut self,
        now: Time,
        from: HostId,
        data: &wire::Data,
        ecn_ce: bool,
    ) -> Option<Received> {
        if !self.is_piece(data) {
            return None;
        }
        let flow = data.flow;
        let known = match self.receivers.find(flow) {
            Some(known) => Some(known),
            None => {
                let key = self.new_receiver(flow, data.seq, data.packets);
                key.and_then(|key| Some((key, self.receivers.get_mut(key)?)))
            }
        };
        let Some((key, receiver)) = known else {
            // Put together anew, so that otherwise the header need not lie in memory.
            let wire::Data { flow, seq, packets, len, sent_at, entropy } = *data;
            let duplicate = wire::Data { flow, seq, packets, len, sent_at, entropy };
            self.acknowledge_duplicate(from, duplicate, ecn_ce);
            return None;
        };
        let arrival = receiver.on_data(data, ecn_ce)?;
        let entropy = receiver.tally().ack_entropy(receiver.ack_entropy_start);
        self.replies.push_back(Reply { to: from, entropy, refuses: false, ack: arrival.ack });
        if !arrival.is_new {
            return None;
        }
        if receiver.is_complete() {
            self.complete(now, from, key);
        }
        Some(Received { flow, offset: u64::from(data.seq) * self.config.mss.get(), len: data.len })
    }

    /// A message has arrived in full.
    #[cold]
    fn complete(&mut self, now: Time, from: HostId, key: Key) {
        if let Some(receiver) = self.receivers.remove(key) {
            self.events.push_back(Event::Delivered(receiver.report(key.flow, from, now)));
            self.delivered.insert(key.flow, *receiver.tally());
        }
    }

    /// A data packet came without its payload: it is refused, so that the sender sends it again.
    #[cold]
    fn on_trimmed(&mut self, from: HostId, data: &wire::Data) {
        if !self.is_piece(data) {
            return;
        }
        let flow = data.flow;
        let key = self.receivers.key(flow).or_else(|| self.new_receiver(flow, data.seq, data.packets));
        let refused = match key.and_then(|key| self.receivers.get(key)) {
            Some(receiver) => receiver.on_trimmed(data).zip(Some(*receiver.tally())),
            None => self.delivered.get(flow).and_then(|t| t.on_trimmed_duplicate(data).zip(Some(*t))),
        };
        let Some((nack, tally)) = refused else { return };
        let trimmed = self.trimmed.entry(flow).or_default();
        *trimmed = trimmed.saturating_add(1);
        // NACKs go round over the entropies as ACKs do.
        let start = receiver::ack_entropy_start(self.config.seed, flow);
        let entropy = tally.ack_entropy(start.wrapping_add(*trimmed as u8));
        self.replies.push_back(Reply::refusal(from, entropy, &nack));
    }

    /// Whether the length is that of a piece of a message.
    #[inline]
    fn is_piece(&self, data: &wire::Data) -> bool {
        let (len, mss) = (u64::from(data.len), self.config.mss.get());
        let is_last = || data.seq.checked_add(1) == Some(data.packets);
        len == mss || (len > 0 && len < mss && is_last())
    }

    /// A receiver for a message of `packets` packets, which has none; `None` if the message is complete, or the packet
    /// that arrived lies beyond its end.
    #[cold]
    fn new_receiver(&mut self, flow: FlowId, seq: u32, packets: u32) -> Option<Key> {
        if seq >= packets || self.delivered.contains(flow) {
            return None;
        }
        let start = receiver::ack_entropy_start(self.config.seed, flow);
        Some(self.receivers.insert(Receiver::new(flow, packets, start)))
    }

    #[cold]
    fn acknowledge_duplicate(&mut self, from: HostId, data: wire::Data, ecn_ce: bool) {
        let Some(tally) = self.delivered.get_mut(data.flow) else { return };
        let Some(ack) = tally.on_duplicate(&data, ecn_ce) else { return };
        let entropy = tally.ack_entropy(receiver::ack_entropy_start(self.config.seed, data.flow));
        self.replies.push_back(Reply { to: from, entropy, refuses: false, ack });
    }

    /// Whether `from` is where a live sender's message goes.
    fn comes_from_receiver(&mut self, flow: FlowId, from: HostId) -> bool {
        self.senders.find(flow).is_some_and(|(_, live)| live.sender.to() == from)
    }

    /// [`Self::handle_packet`] of an ACK that is known to come from the receiver of its flow.
    #[inline(always)]
    pub fn handle_ack(&mut self, now: Time, ack: &wire::Ack) {
        self.on_feedback(now, ack.flow, Feedback::Ack(ack));
    }

    #[cold]
    fn on_nack(&mut self, now: Time, nack: &wire::Nack) {
        self.on_feedback(now, nack.flow, Feedback::Nack(nack));
    }

    /// News from the receiver of `flow`.
    #[inline(always)]
    fn on_feedback(&mut self, now: Time, flow: FlowId, feedback: Feedback<'_>) {
        // News of a flow that has finished says nothing new.
        let Some((key, live)) = self.senders.find(flow) else { return };
        let rto_shrank = match feedback {
            Feedback::Ack(ack) => live.sender.on_ack(now, ack),
            Feedback::Nack(nack) => live.sender.on_nack(now, nack),
        };
        if live.sender.is_finished() {
            return self.finish(now, key);
        }
        if rto_shrank && let Some(deadline) = live.sender.deadline(now) {
            self.timers.arm(&mut live.armed, deadline, key, Kind::Recovery);
        }
        live.settle(now, key, &mut self.timers, &mut self.schedule);
    }

    /// A sender has its last ACK.
    #[cold]
    fn finish(&mut self, now: Time, key: Key) {
        if let Some(live) = self.senders.remove(key) {
            self.events.push_back(Event::Finished(live.sender.report(now)));
        }
        let senders = &self.senders;
        self.timers.purge(|key| senders.get(key).is_some());
    }

    /// Does what is due: time-outs and control timers, in order of (time, flow, kind).
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(due) = self.timers.pop(now) {
            let key = due.key();
            let Some(live) = self.senders.get_mut(key) else { continue };
            if !due.disarm(&mut live.armed) {
                continue;
            }
            match due.kind() {
                Kind::Recovery => {
                    live.sender.on_timeout(now);
                    if let Some(deadline) = live.sender.deadline(now) {
                        self.timers.arm(&mut live.armed, deadline, key, Kind::Recovery);
                    }
                }
                Kind::Control => live.sender.on_control_timer(now),
            }
            live.settle(now, key, &mut self.timers, &mut self.schedule);
        }
    }

    /// The next packet for the NIC, which is free: control packets first, in order; then one data packet of the flow
    /// whose turn it is.
    pub fn poll_transmit(&mut self, now: Time) -> Poll {
        if let Some(reply) = self.poll_reply() {
            return Poll::Packet(reply.into_transmit(self.config.header));
        }
        match self.poll_data(now) {
            Some(packet) => Poll::Packet(packet.into_transmit(self.config.header)),
            None => self.schedule.next_release().map_or(Poll::Idle, Poll::At),
        }
    }

    /// The first half of [`Self::poll_transmit`], for drivers that have no use for a whole [`Transmit`]: the next control
    /// packet.
    #[inline]
    pub fn poll_reply(&mut self) -> Option<Reply> {
        self.replies.pop_front()
    }

    /// The other half, when there is no control packet: the next data packet.
    #[inline(always)]
    pub fn poll_data(&mut self, now: Time) -> Option<DataPacket> {
        while let Some(key) = self.schedule.turn(now) {
            if let Some(live) = self.senders.get_mut(key) {
                if live.sender.next_send().is_some() {
                    let packet = live.sender.transmit(now);
                    self.timers.arm(&mut live.armed, packet.deadline, key, Kind::Recovery);
                    live.end_turn(now, key, &mut self.timers, &mut self.schedule);
                    return Some(packet);
                }
                live.sender.is_scheduled = false;
            }
            self.schedule.leave();
        }
        let senders = &self.senders;
        self.schedule.purge(|key| senders.get(key).is_some());
        None
    }

    /// No packet leaves before this time, unless something happens: a driver need not poll before. [`Time::ZERO`]: one may
    /// leave at once; [`Time::MAX`]: none waits.
    #[must_use]
    #[inline]
    pub fn next_transmit(&self) -> Time {
        if self.replies.is_empty() { self.schedule.first() } else { Time::ZERO }
    }

    /// When [`Self::handle_timeout`] is wanted; it may turn out that nothing was due. Pacing is not in it:
    /// [`Poll::At`] says when to ask for the next packet.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        Some(self.next_timeout()).filter(|&at| at != Time::MAX)
    }

    /// The same; [`Time::MAX`]: never.
    #[must_use]
    #[inline]
    pub const fn next_timeout(&self) -> Time {
        self.timers.next()
    }

    /// Whether there is an event to [poll](Self::poll_event).
    #[must_use]
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next event, in the order in which they happened.
    #[inline]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// A live sender; `None` before its message is submitted and after it has finished.
    #[must_use]
    pub fn sender(&self, flow: FlowId) -> Option<SenderView> {
        self.senders.get(self.senders.key(flow)?).map(|live| live.sender.view())
    }

    /// A receiver, live or complete; `None` before its first packet.
    #[must_use]
    pub fn receiver(&self, flow: FlowId) -> Option<ReceiverView> {
        let trimmed = self.trimmed.get(&flow).copied().unwrap_or_default();
        match self.receivers.key(flow) {
            Some(key) => self.receivers.get(key).map(|receiver| receiver.tally().view(flow, false, trimmed)),
            None => self.delivered.get(flow).map(|tally| tally.view(flow, true, trimmed)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{self, testing};
    use crate::recovery::{self, Detection, Rto};
    use crate::{Path, Scheme, WindowCheck, balance};
    use alloc::vec::Vec;
    use farspan_units::Duration;

    const PEER: HostId = HostId(1);

    fn endpoint() -> Endpoint {
        let path = testing::path();
        Endpoint::new(EndpointConfig { host: HostId(0), seed: 1, mss: path.mss, header: path.header })
    }

    fn message(flow: u32, packets: u64, rto: Rto) -> Message {
        message_over(testing::path(), flow, packets, rto)
    }

    fn message_over(path: Path, flow: u32, packets: u64, rto: Rto) -> Message {
        let scheme = Scheme {
            congestion: congestion::Config::by_name("fixed_window").unwrap(),
            balance: balance::Config::by_name("ecmp").unwrap(),
            recovery: recovery::Config { rto, backoff: true, detection: Detection::TimeoutOnly },
            window_check: WindowCheck::Below,
        };
        let (flow, size, initial_cwnd) = (FlowId(flow), path.mss * packets, path.bdp);
        Message { flow, to: PEER, size, initial_cwnd, route: Arc::new(Route::new(path, &scheme)) }
    }

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn data(seq: u32, packets: u32, len: u16) -> Incoming {
        let (flow, sent_at) = (FlowId(9), Time::ZERO);
        let header = Header::Data(wire::Data { flow, seq, packets, len, sent_at, entropy: 0 });
        Incoming { from: PEER, header, ecn_ce: false, trimmed: false }
    }

    fn ack(from: HostId, flow: u32, seq: u32, sent_at: Time) -> Incoming {
        let flow = FlowId(flow);
        let ack = wire::Ack { flow, seq, cumulative: 0, sent_at, entropy: 0, ecn_ce: false };
        Incoming { from, header: Header::Ack(ack), ecn_ce: false, trimmed: false }
    }

    fn send_all(endpoint: &mut Endpoint, now: Time) -> Vec<Transmit> {
        core::iter::from_fn(|| match endpoint.poll_transmit(now) {
            Poll::Packet(packet) => Some(packet),
            Poll::At(_) | Poll::Idle => None,
        })
        .collect()
    }

    #[test]
    fn a_live_flow_takes_512_bytes_of_the_sender_s_table_at_most() {
        let (slot, sender) = (size_of::<Option<Live>>(), size_of::<Sender>());
        assert!(slot <= 512, "{slot} bytes, {sender} of them the sender");
    }

    #[test]
    fn only_the_host_that_a_message_goes_to_can_acknowledge_it() {
        let mut endpoint = endpoint();
        endpoint.submit(us(0), message(0, 1, Rto::Path));
        send_all(&mut endpoint, us(0));
        endpoint.handle_packet(us(9), &ack(HostId(2), 0, 0, us(0)));
        assert_eq!(endpoint.poll_event(), None);
        endpoint.handle_packet(us(9), &ack(PEER, 0, 0, us(0)));
        assert!(
            matches!(endpoint.poll_event(), Some(Event::Finished(report)) if report.finished_at == us(9))
        );
    }

    #[test]
    fn a_flow_that_ends_takes_its_timers_with_it_and_late_acks_say_nothing() {
        let mut endpoint = endpoint();
        endpoint.submit(us(0), message(0, 1, Rto::Path));
        send_all(&mut endpoint, us(0));
        assert_eq!(endpoint.poll_timeout(), Some(us(0) + Rto::Path.initial(&testing::path())));
        endpoint.handle_packet(us(9), &ack(PEER, 0, 0, us(0)));
        assert_eq!(endpoint.poll_timeout(), None);
        endpoint.poll_event();
        endpoint.handle_packet(us(10), &ack(PEER, 0, 0, us(0)));
        assert_eq!((endpoint.poll_event(), endpoint.sender(FlowId(0))), (None, None));
    }

    #[test]
    fn pieces_of_a_wrong_length_or_number_claim_no_receiver() {
        let mut endpoint = endpoint();
        // Empty; too long; short but not the last; beyond the last; of a message without packets.
        for (seq, packets, len) in [(0, 2, 0), (0, 2, 4097), (0, 2, 4095), (2, 2, 4096), (0, 0, 4096)] {
            assert_eq!(endpoint.handle_packet(us(0), &data(seq, packets, len)), None);
        }
        assert_eq!(endpoint.receiver(FlowId(9)), None);
        assert_eq!(endpoint.poll_transmit(us(0)), Poll::Idle, "what was not taken in is not acknowledged");
        let received = endpoint.handle_packet(us(0), &data(1, 2, 1));
        assert_eq!(received, Some(Received { flow: FlowId(9), offset: 4096, len: 1 }));
    }

    #[test]
    fn a_complete_message_is_reported_once_and_its_duplicates_still_acknowledged() {
        let mut endpoint = endpoint();
        assert!(endpoint.handle_packet(us(3), &data(0, 1, 4096)).is_some());
        assert!(endpoint.handle_packet(us(4), &data(0, 1, 4096)).is_none());
        assert!(
            matches!(endpoint.poll_event(), Some(Event::Delivered(report)) if report.delivered_at == us(3))
        );
        assert_eq!(endpoint.poll_event(), None);
        let acks = send_all(&mut endpoint, us(4));
        assert!(acks.iter().all(|packet| packet.control && packet.to == PEER) && acks.len() == 2);
        assert_eq!(acks[1].entropy, (acks[0].entropy + 1) % 256, "the round of entropies goes on");
        let view = endpoint.receiver(FlowId(9)).unwrap();
        assert_eq!((view.is_complete, view.arrived_packets), (true, 2));
    }

    fn trimmed(seq: u32, packets: u32, len: u16) -> Incoming {
        Incoming { trimmed: true, ..data(seq, packets, len) }
    }

    /// The numbers of the NACKs among these packets, with their cumulative numbers.
    fn nacks(packets: &[Transmit]) -> Vec<(u32, u32)> {
        let number = |packet: &Transmit| match packet.header {
            Header::Nack(nack) => Some((nack.seq, nack.cumulative)),
            Header::Data(_) | Header::Ack(_) => None,
        };
        packets.iter().filter_map(number).collect()
    }

    #[test]
    fn a_trimmed_packet_is_answered_by_a_nack_and_delivers_nothing() {
        let mut endpoint = endpoint();
        assert_eq!(endpoint.handle_packet(us(1), &trimmed(1, 2, 100)), None);
        assert!(endpoint.handle_packet(us(2), &data(0, 2, 4096)).is_some());
        assert_eq!(endpoint.handle_packet(us(3), &trimmed(1, 2, 100)), None);
        assert_eq!(endpoint.poll_event(), None);
        let answers = send_all(&mut endpoint, us(3));
        assert_eq!(nacks(&answers), [(1, 0), (1, 1)]);
        assert!(answers.iter().all(|p| p.control && p.to == PEER && p.size == testing::path().header));
        let view = endpoint.receiver(FlowId(9)).unwrap();
        assert_eq!((view.arrived_packets, view.trimmed_packets), (1, 2));
        assert_eq!((view.goodput, view.is_complete), (Bytes::new(4096), false));
        assert!(endpoint.handle_packet(us(4), &data(1, 2, 100)).is_some());
        assert_eq!(endpoint.handle_packet(us(5), &trimmed(0, 2, 4096)), None);
        assert_eq!(nacks(&send_all(&mut endpoint, us(5))), [(0, 2)], "the message is complete");
        assert_eq!(endpoint.receiver(FlowId(9)).unwrap().trimmed_packets, 3);
    }

    #[test]
    fn trimmed_pieces_of_a_wrong_length_or_number_are_not_answered() {
        let mut endpoint = endpoint();
        for (seq, packets, len) in [(0, 2, 0), (0, 2, 4097), (0, 2, 4095), (2, 2, 4096), (0, 0, 4096)] {
            assert_eq!(endpoint.handle_packet(us(0), &trimmed(seq, packets, len)), None);
        }
        assert_eq!(endpoint.receiver(FlowId(9)), None);
        assert_eq!(endpoint.poll_transmit(us(0)), Poll::Idle);
    }

    #[test]
    fn a_nack_lets_the_packet_leave_again_if_it_comes_from_the_receiver() {
        let mut endpoint = endpoint();
        endpoint.submit(us(0), message(0, 1, Rto::Path));
        send_all(&mut endpoint, us(0));
        let nack = |from| {
            let nack = wire::Nack { flow: FlowId(0), seq: 0, cumulative: 0, sent_at: us(0), entropy: 0 };
            Incoming { from, header: Header::Nack(nack), ecn_ce: false, trimmed: false }
        };
        endpoint.handle_packet(us(9), &nack(HostId(2)));
        assert_eq!(send_all(&mut endpoint, us(9)), []);
        endpoint.handle_packet(us(9), &nack(PEER));
        let again = send_all(&mut endpoint, us(9));
        assert_eq!(again.iter().map(|packet| packet.retransmission).collect::<Vec<_>>(), [true]);
        assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.counters.nacks), Some(1));
    }

    #[test]
    fn a_time_out_that_shrinks_comes_earlier() {
        let mut endpoint = endpoint();
        let rto = Rto::Rfc6298 { min: Duration::from_us(1) };
        endpoint.submit(
            us(0),
            message_over(Path { base_rtt: Duration::from_us(100), ..testing::path() }, 0, 2, rto),
        );
        send_all(&mut endpoint, us(0));
        assert_eq!(endpoint.poll_timeout(), Some(us(300)));
        endpoint.handle_packet(us(10), &ack(PEER, 0, 0, us(0)));
        assert_eq!(endpoint.poll_timeout(), Some(us(30)), "SRTT 10, RTTVAR 5");
        endpoint.handle_timeout(us(30));
        assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.counters.timeouts), Some(1));
    }

    #[test]
    fn a_timer_whose_packets_were_acknowledged_comes_up_early_and_is_put_back() {
        let mut endpoint = endpoint();
        endpoint.submit(us(0), message(0, 2, Rto::Fixed(Duration::from_us(50))));
        assert!(matches!(endpoint.poll_transmit(us(0)), Poll::Packet(_)));
        assert!(matches!(endpoint.poll_transmit(us(7)), Poll::Packet(_)));
        endpoint.handle_packet(us(20), &ack(PEER, 0, 0, us(0)));
        assert_eq!(endpoint.poll_timeout(), Some(us(50)), "an ACK moves no timer");
        endpoint.handle_timeout(us(50));
        assert_eq!(endpoint.sender(FlowId(0)).map(|view| view.counters.timeouts), Some(0));
        assert_eq!(endpoint.poll_timeout(), Some(us(57)));
    }
}
