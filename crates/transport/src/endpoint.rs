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
use crate::coding::{Block, Decoded, Layout, Payload};
use crate::delivered::Delivered;
use crate::receiver::{self, Receiver, ReceiverReport, ReceiverView};
use crate::schedule::Schedule;
use crate::sender::{DataPacket, Sender, SenderReport, SenderView};
use crate::table::{Fixed, FlowMap, Key, OfFlow, Table};
use crate::timers::{Armed, Due, Kind, Timers, UNARMED};
use crate::wire::{self, Header};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
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

/// A payload that arrived for the first time: the driver copies it, if there are bytes at all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Received {
    /// The flow.
    pub flow: FlowId,
    /// Where in the message it belongs, or which parity it is.
    pub payload: Payload,
    /// A block that is complete with it, of which pieces have not arrived: they can be decoded now. Its packets are of no
    /// use any more when they arrive.
    pub decodable: Option<Block>,
    /// How many bytes of the message are here that were not before, decoded ones included.
    pub delivered: Bytes,
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
    /// What it carries; nothing, if it is a control packet.
    pub payload: Option<Payload>,
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
    says: Says,
    /// What it says. A NACK says nothing of marks; that of a block keeps its bit map in the place of the send time.
    ack: wire::Ack,
}

/// What a reply is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    Ack,
    Nack,
    BlockNack,
}

impl Reply {
    /// Its header.
    #[must_use]
    #[inline]
    pub const fn header(&self) -> Header {
        let wire::Ack { flow, seq, cumulative, sent_at, entropy, .. } = self.ack;
        match self.says {
            Says::Ack => Header::Ack(self.ack),
            Says::Nack => Header::Nack(wire::Nack { flow, seq, cumulative, sent_at, entropy }),
            Says::BlockNack => {
                let missing = sent_at.as_ps() as u32;
                Header::BlockNack(wire::BlockNack { flow, first: seq, missing, cumulative })
            }
        }
    }

    /// An ACK.
    #[inline]
    const fn acknowledgement(to: HostId, entropy: Entropy, ack: wire::Ack) -> Self {
        Self { to, entropy, says: Says::Ack, ack }
    }

    /// The NACK.
    const fn refusal(to: HostId, entropy: Entropy, nack: &wire::Nack) -> Self {
        let wire::Nack { flow, seq, cumulative, sent_at, entropy: echo } = *nack;
        let (ecn_ce, block_complete) = (false, false);
        let ack = wire::Ack { flow, seq, cumulative, sent_at, entropy: echo, ecn_ce, block_complete };
        Self { to, entropy, says: Says::Nack, ack }
    }

    /// The NACK of a block.
    const fn request(to: HostId, entropy: Entropy, nack: &wire::BlockNack) -> Self {
        let wire::BlockNack { flow, first: seq, missing, cumulative } = *nack;
        let (sent_at, echo, ecn_ce, block_complete) = (Time::from_ps(missing as u64), 0, false, false);
        let ack = wire::Ack { flow, seq, cumulative, sent_at, entropy: echo, ecn_ce, block_complete };
        Self { to, entropy, says: Says::BlockNack, ack }
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
    BlockNack(&'a wire::BlockNack),
}

/// The place of a sender's recovery timer.
const RECOVERY: usize = Kind::Recovery as usize;

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
            timers.arm(&mut self.armed[Kind::Control as usize], at, key, Kind::Control);
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
    /// What stays of complete receivers of coded messages of which pieces were decoded.
    decoded: FlowMap<Box<Decoded>>,
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
            decoded: FlowMap::with_hasher(Fixed),
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
                if self.is_piece(data) {
                    self.on_trimmed(packet.from, data, None);
                }
                None
            }
            Header::Coded(coded) if packet.trimmed => {
                let layout = self.layout(coded)?;
                self.on_trimmed(packet.from, &coded.data, Some(layout));
                None
            }
            Header::Coded(coded) => self.handle_coded(now, packet.from, coded, packet.ecn_ce),
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
            Header::BlockNack(nack) => {
                if self.comes_from_receiver(nack.flow, packet.from) {
                    self.on_feedback(now, nack.flow, Feedback::BlockNack(nack));
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
                let key = self.new_receiver(from, flow, (data.seq, data.packets), None);
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
        self.replies.push_back(Reply::acknowledgement(from, entropy, arrival.ack));
        if !arrival.is_new {
            return None;
        }
        if receiver.is_complete() {
            self.complete(now, from, key);
        }
        let (start, len) = (u64::from(data.seq) * self.config.mss.get(), u64::from(data.len));
        let payload = Payload::Source(start..start + len);
        Some(Received { flow, payload, decodable: None, delivered: Bytes::new(len) })
    }

    /// How the packets of this one's message make blocks; `None` if the header contradicts itself.
    fn layout(&self, coded: &wire::Coded) -> Option<Layout> {
        let wire::Data { seq, packets, len, .. } = coded.data;
        let layout = Layout::of_header(coded.shape, packets, coded.last_len, self.config.mss)?;
        (seq < packets && len == layout.len(seq)).then_some(layout)
    }

    /// [`Self::handle_packet`] of a packet of a coded message that was not trimmed.
    pub fn handle_coded(
        &mut self,
        now: Time,
        from: HostId,
        coded: &wire::Coded,
        ecn_ce: bool,
    ) -> Option<Received> {
        let layout = self.layout(coded)?;
        let wire::Data { flow, seq, .. } = coded.data;
        let key = match self.receivers.find(flow) {
            Some((key, _)) => Some(key),
            None => self.new_receiver(from, flow, (seq, layout.packets()), Some(layout)),
        };
        let Some(key) = key else {
            if let Some(decoded) = self.decoded.get_mut(&flow) {
                decoded.on_late(seq);
            }
            self.acknowledge_duplicate(from, coded.data, ecn_ce);
            return None;
        };
        let receiver = self.receivers.get_mut(key)?;
        let arrival = receiver.on_coded(now, coded, layout, ecn_ce)?;
        let entropy = receiver.tally().ack_entropy(receiver.ack_entropy_start);
        self.replies.push_back(Reply::acknowledgement(from, entropy, arrival.ack));
        if !arrival.is_new {
            return None;
        }
        if receiver.is_complete() {
            self.complete(now, from, key);
        } else {
            self.arm_block_timer(key);
        }
        let decodable = arrival.decodable.map(|block| layout.block(block));
        Some(Received { flow, payload: layout.payload(seq), decodable, delivered: arrival.delivered })
    }

    fn arm_block_timer(&mut self, key: Key) {
        let Some(blocks) = self.receivers.get_mut(key).and_then(|receiver| receiver.blocks.as_mut()) else {
            return;
        };
        if let Some(at) = blocks.next_timer() {
            self.timers.arm(&mut blocks.armed, at, key, Kind::Block);
        }
    }

    /// A timer of a receiver's blocks has come up: packets of blocks that have waited long enough are asked for.
    #[cold]
    fn on_block_timer(&mut self, now: Time, due: &Due) {
        let Some(receiver) = self.receivers.get_mut(due.key()) else { return };
        let Some(blocks) = &mut receiver.blocks else { return };
        if !due.disarm(&mut blocks.armed) {
            return;
        }
        let from = blocks.from;
        while let Some(block) = receiver.take_timeout(now) {
            for nack in receiver.missing(block) {
                let entropy = receiver.nack_entropy();
                self.replies.push_back(Reply::request(from, entropy, &nack));
            }
        }
        self.arm_block_timer(due.key());
    }

    /// A message has arrived in full.
    #[cold]
    fn complete(&mut self, now: Time, from: HostId, key: Key) {
        if let Some(receiver) = self.receivers.remove(key) {
            self.events.push_back(Event::Delivered(receiver.report(key.flow, from, now)));
            self.delivered.insert(key.flow, *receiver.tally());
            if receiver.blocks.is_some() {
                let decoded = receiver.into_decoded();
                self.decoded.extend(decoded.map(|decoded| (key.flow, Box::new(decoded))));
                self.purge_timers();
            }
        }
    }

    /// Forgets timers of flows that have ended.
    fn purge_timers(&mut self) {
        let (senders, receivers) = (&self.senders, &self.receivers);
        self.timers.purge(|key, kind| match kind {
            Kind::Recovery | Kind::Control => senders.get(key).is_some(),
            Kind::Block => receivers.get(key).is_some(),
        });
    }

    /// A data packet came without its payload: it is refused, so that the sender sends it again.
    #[cold]
    fn on_trimmed(&mut self, from: HostId, data: &wire::Data, layout: Option<Layout>) {
        let flow = data.flow;
        let place = (data.seq, data.packets);
        let key = self.receivers.key(flow).or_else(|| self.new_receiver(from, flow, place, layout));
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

    /// A receiver for a message of `packets` packets, which has none; `None` if the message is complete, or packet `seq`,
    /// which arrived, lies beyond its end. `layout`: of a coded message.
    #[cold]
    fn new_receiver(
        &mut self,
        from: HostId,
        flow: FlowId,
        (seq, packets): (u32, u32),
        layout: Option<Layout>,
    ) -> Option<Key> {
        if seq >= packets || self.delivered.contains(flow) {
            return None;
        }
        let start = receiver::ack_entropy_start(self.config.seed, flow);
        Some(self.receivers.insert(match layout {
            None => Receiver::new(flow, packets, start),
            Some(layout) => Receiver::coded(flow, from, layout, start),
        }))
    }

    #[cold]
    fn acknowledge_duplicate(&mut self, from: HostId, data: wire::Data, ecn_ce: bool) {
        let Some(tally) = self.delivered.get_mut(data.flow) else { return };
        let Some(ack) = tally.on_duplicate(&data, ecn_ce) else { return };
        let entropy = tally.ack_entropy(receiver::ack_entropy_start(self.config.seed, data.flow));
        self.replies.push_back(Reply::acknowledgement(from, entropy, ack));
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
            Feedback::BlockNack(nack) => live.sender.on_block_nack(now, nack),
        };
        if live.sender.is_finished() {
            return self.finish(now, key);
        }
        if rto_shrank && let Some(deadline) = live.sender.deadline(now) {
            self.timers.arm(&mut live.armed[RECOVERY], deadline, key, Kind::Recovery);
        }
        live.settle(now, key, &mut self.timers, &mut self.schedule);
    }

    /// A sender has its last ACK.
    #[cold]
    fn finish(&mut self, now: Time, key: Key) {
        if let Some(live) = self.senders.remove(key) {
            self.events.push_back(Event::Finished(live.sender.report(now)));
        }
        self.purge_timers();
    }

    /// Does what is due: time-outs, control timers and timers of blocks, in order of (time, flow, kind).
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(due) = self.timers.pop(now) {
            match due.kind() {
                Kind::Recovery | Kind::Control => self.on_sender_timer(now, &due),
                Kind::Block => self.on_block_timer(now, &due),
            }
        }
    }

    fn on_sender_timer(&mut self, now: Time, due: &Due) {
        let (key, kind) = (due.key(), due.kind());
        let Some(live) = self.senders.get_mut(key) else { return };
        if !due.disarm(&mut live.armed[kind as usize]) {
            return;
        }
        if kind == Kind::Recovery {
            live.sender.on_timeout(now);
            if let Some(deadline) = live.sender.deadline(now) {
                self.timers.arm(&mut live.armed[RECOVERY], deadline, key, Kind::Recovery);
            }
        } else {
            live.sender.on_control_timer(now);
        }
        live.settle(now, key, &mut self.timers, &mut self.schedule);
    }

    /// The next packet for the NIC, which is free: control packets first, in order; then one data packet of the flow
    /// whose turn it is.
    pub fn poll_transmit(&mut self, now: Time) -> Poll {
        if let Some(reply) = self.poll_reply() {
            return Poll::Packet(reply.into_transmit(self.config.header));
        }
        match self.poll_data(now) {
            Some(packet) => Poll::Packet(packet.into_transmit(self.config.mss, self.config.header)),
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
                    self.timers.arm(&mut live.armed[RECOVERY], packet.deadline, key, Kind::Recovery);
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
        if let Some(receiver) = self.receivers.key(flow).and_then(|key| self.receivers.get(key)) {
            let repaired = receiver.blocks.as_ref().map_or(0, |blocks| blocks.repaired());
            return Some(receiver.tally().view(flow, false, trimmed, repaired));
        }
        let repaired = self.decoded.get(&flow).map_or(0, |decoded| decoded.blocks());
        self.delivered.get(flow).map(|tally| tally.view(flow, true, trimmed, repaired))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{self, testing};
    use crate::recovery::{self, Detection, Rto};
    use crate::{Path, Scheme, WindowCheck, balance, coding};
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
            coding: coding::Config::by_name("none").unwrap(),
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
        let ack =
            wire::Ack { flow, seq, cumulative: 0, sent_at, entropy: 0, ecn_ce: false, block_complete: false };
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
        assert_eq!(
            received,
            Some(Received {
                flow: FlowId(9),
                payload: Payload::Source(4096..4097),
                decodable: None,
                delivered: Bytes::new(1),
            })
        );
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
            _ => None,
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

    /// Packet `seq` of a message of eight full pieces in blocks of 4 + 2, to be waited for 10 us.
    fn coded(seq: u32) -> Incoming {
        let data =
            wire::Data { flow: FlowId(9), seq, packets: 12, len: 4096, sent_at: Time::ZERO, entropy: 0 };
        let shape = coding::Shape::new(4, 2).unwrap();
        let header = Header::Coded(wire::Coded { data, shape, last_len: 4096, block_wait_ns: 10_000 });
        Incoming { from: PEER, header, ecn_ce: false, trimmed: false }
    }

    fn take_all(endpoint: &mut Endpoint, now: Time, seqs: impl IntoIterator<Item = u32>) {
        for seq in seqs {
            endpoint.handle_packet(now, &coded(seq));
        }
        send_all(endpoint, now);
    }

    fn block_nacks(endpoint: &mut Endpoint, now: Time) -> Vec<(u32, u32, u32)> {
        let number = |packet: &Transmit| match packet.header {
            Header::BlockNack(nack) => Some((nack.first, nack.missing, nack.cumulative)),
            _ => None,
        };
        send_all(endpoint, now).iter().filter_map(number).collect()
    }

    #[test]
    fn a_block_that_waits_too_long_is_asked_for_once_and_again_after_another_packet() {
        let mut endpoint = endpoint();
        take_all(&mut endpoint, us(1), [0, 1, 6]);
        assert_eq!(endpoint.poll_timeout(), Some(us(11)));
        take_all(&mut endpoint, us(5), [7, 8, 9]);
        endpoint.handle_timeout(us(10));
        assert_eq!(block_nacks(&mut endpoint, us(10)), []);
        endpoint.handle_timeout(us(11));
        assert_eq!(block_nacks(&mut endpoint, us(11)), [(0, 0b11_1100, 2)]);
        assert_eq!(endpoint.poll_timeout(), None);
        take_all(&mut endpoint, us(20), [5]);
        assert_eq!(endpoint.poll_timeout(), Some(us(30)));
        endpoint.handle_timeout(us(30));
        assert_eq!(block_nacks(&mut endpoint, us(30)), [(0, 0b01_1100, 2)]);
        take_all(&mut endpoint, us(40), [4]);
        assert!(matches!(endpoint.poll_event(), Some(Event::Delivered(_))));
        assert_eq!(endpoint.poll_timeout(), None, "the timer went with the receiver");
    }

    #[test]
    fn what_is_decoded_is_told_and_what_comes_late_was_not_lost() {
        let mut endpoint = endpoint();
        take_all(&mut endpoint, us(1), [0, 1, 2, 6, 7, 10]);
        let repaired = |endpoint: &Endpoint| endpoint.receiver(FlowId(9)).unwrap().blocks_repaired;
        let received = endpoint.handle_packet(us(2), &coded(5)).unwrap();
        assert!(matches!(received.payload, Payload::Parity { index: 1, .. }));
        let block = received.decodable.unwrap();
        assert_eq!((block.number, block.source, received.delivered), (0, 0..4 * 4096, Bytes::new(4096)));
        assert_eq!(repaired(&endpoint), 1);
        take_all(&mut endpoint, us(3), [11]);
        assert!(matches!(endpoint.poll_event(), Some(Event::Delivered(_))));
        assert_eq!(repaired(&endpoint), 2);
        assert_eq!(endpoint.handle_packet(us(4), &coded(3)), None);
        assert_eq!(repaired(&endpoint), 1, "piece 3 was only late");
        take_all(&mut endpoint, us(5), [4, 8, 9]);
        assert_eq!((repaired(&endpoint), endpoint.receiver(FlowId(9)).unwrap().arrived_packets), (0, 12));
    }

    #[test]
    fn a_coded_header_that_contradicts_itself_claims_no_receiver() {
        let mut endpoint = endpoint();
        let Header::Coded(good) = coded(0).header else { unreachable!() };
        let data = good.data;
        let bad = [
            wire::Coded { data: wire::Data { seq: 12, ..data }, ..good },
            wire::Coded { data: wire::Data { len: 100, ..data }, ..good },
            wire::Coded { data: wire::Data { packets: 7, ..data }, ..good },
            wire::Coded { last_len: 0, ..good },
            wire::Coded { last_len: 4097, ..good },
        ];
        for header in bad.map(Header::Coded) {
            for trimmed in [false, true] {
                let packet = Incoming { header, trimmed, ..coded(0) };
                assert_eq!(endpoint.handle_packet(us(0), &packet), None);
            }
        }
        assert_eq!(endpoint.receiver(FlowId(9)), None);
        assert_eq!(endpoint.poll_transmit(us(0)), Poll::Idle);
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
