//! One endpoint per host: it owns the host's senders and receivers, and decides which packet the NIC sends next.
//!
//! A host numbers what it sends. A sender goes by its number alone, and only its receiver, or the proxy that it goes through, has
//! a say in it. What comes in goes by who sends it and the number there, so that two peers may use one number.
//!
//! Calls come in order of time; calls at one instant may come in any order, and the order decides ties.

mod abandon;
mod arrivals;
mod delivered;
mod live;
mod relaying;
mod schedule;
mod timers;

use crate::coding::Decoded;
use crate::flow::message::{AppendError, Incoming, Message, Poll, Received, Transmit, Trimmed};
use crate::flow::profile::Profiles;
use crate::path::Path;
use crate::proxy::Proxies;
use crate::pulls::Pulls;
use crate::receiver::{self, Receiver, ReceiverReport, ReceiverView};
use crate::recovery::PacketState;
use crate::replies::{Replies, Reply};
use crate::sender::{Leaving, Sender, SenderReport, SenderView, Take};
use crate::table::{Fixed, FlowMap, Key, PeerFlow, Table};
use crate::wire::{Echo, Fate, Feedback, Handshake, Header, Numbered};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use delivered::Delivered;
use farspan_units::{Bytes, FlowId, HostId, Rate, Telemetry, Time, random};
use live::Live;
use schedule::Schedule;
use timers::{Due, Timer, TimerKind, Timers, UNARMED};

/// Hosts have numbers below this one, 2^30.
pub const MAX_HOSTS: u32 = 1 << 30;

/// The inputs from which an endpoint is built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EndpointConfig {
    /// The host. Its number and those of its peers are below [`MAX_HOSTS`].
    pub host: HostId,
    /// Seed of every draw. Draws go by the seed and the flow's number: hosts that number flows by themselves, each from 0 on, have
    /// seeds of their own, or flows of equal numbers draw alike.
    pub seed: u64,
    /// Payload of a full packet; at most 65,535 bytes.
    pub mss: Bytes,
    /// Header of every packet on the wire; also the size of an ACK and of a NACK.
    pub header: Bytes,
}

impl EndpointConfig {
    /// An endpoint with a seed that follows from the host's number, and packets of the size that [`Path::new`] has. Give hosts of
    /// equal numbers in different networks, or in runs that are to differ, seeds of their own.
    #[must_use]
    pub const fn new(host: HostId) -> Self {
        let seed = random::mix(host.0 as u64 + 1);
        Self { host, seed, mss: Path::MSS, header: Path::HEADER }
    }
}

/// Something that the application wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A sender has its last ACK, or that of a message of a persistent flow.
    Finished(SenderReport),
    /// A receiver has its last byte, or that of a message of a persistent flow and all before it.
    Delivered(ReceiverReport),
    /// The proxy of a sender was silent for too long: the message goes straight to its receiver from now on.
    WentDirect {
        /// The flow.
        flow: FlowId,
        /// When.
        at: Time,
    },
}

/// Whether a timer's flow has not ended.
fn is_live(timer: Timer, senders: &Table<Live>, receivers: &Table<Receiver>) -> bool {
    match timer.kind() {
        TimerKind::Recovery | TimerKind::Control => senders.key(timer.sender()).is_some(),
        TimerKind::Block => receivers.key(timer.receiver()).is_some(),
        TimerKind::Reply => true,
    }
}

/// The endpoint of one host.
///
/// # The contract for drivers
///
/// After the calls of one instant that tell the endpoint something, any number of them in any order, drain it:
/// [`Self::poll_transmit`], as often as the NIC is free, until it gives no packet; [`Self::poll_event`] until `None`; then arm a
/// timer for [`Self::poll_timeout`], and one for [`Poll::At`]. A driver that does so, and calls [`Self::handle_timeout`] and
/// `poll_transmit` when those times come, gets every packet and every event; a time that has passed has come. Nothing comes after
/// that: until the endpoint is told something or such a time comes, asking again gives the same, and changes nothing.
///
/// # Beside the verbs
///
/// | to | functions |
/// |---|---|
/// | build it | [`Self::new`], [`Self::with_profiles`], [`Self::with_proxy`] |
/// | let control packets alone leave while a link pauses data | [`Self::poll_control`] |
/// | let further messages follow on a flow | [`Self::append`], [`Self::open_messages`], [`Self::open_message`] |
/// | end flows early, where peers may fall silent or begin anew | [`Self::cancel`], [`Self::forget`], [`Self::forget_peer`] |
/// | set proxies up, and let one fail | [`Self::relay`], [`Self::expect_relayed`], [`Self::fail_proxy`] |
/// | look on, which changes nothing | [`Self::host`], [`Self::sender`], [`Self::packet_state`], [`Self::receiver`], [`Self::relayed`], [`Self::proxy_waiting`], [`Self::proxy_queue`] |
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    profiles: Profiles,
    senders: Table<Live>,
    schedule: Schedule,
    timers: Timers,
    receivers: Table<Receiver>,
    /// Records of complete receivers.
    delivered: Delivered,
    /// How many packets of a flow came trimmed, for flows of which one did.
    trimmed: FlowMap<PeerFlow, u32>,
    /// Records of complete receivers of coded messages of which segments were decoded.
    decoded: FlowMap<PeerFlow, Box<Decoded>>,
    /// Messages that may also come through proxies: the senders' names, under which they are kept, by the proxies'.
    other_names: FlowMap<PeerFlow, PeerFlow>,
    /// ACKs, NACKs, pulls and CNPs that wait for the NIC.
    replies: Replies,
    /// Flows that pulls wait for.
    pulls: Pulls,
    /// Rate of the host's NIC, which pulls are paced by.
    line_rate: Rate,
    /// Flows that the host relays.
    proxies: Option<Box<Proxies>>,
    /// When the live entry of the timer of replies and pulls comes up.
    replies_armed: Time,
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
            profiles: Profiles::default(),
            senders: Table::new(),
            schedule: Schedule::default(),
            timers: Timers::default(),
            receivers: Table::new(),
            delivered: Delivered::default(),
            trimmed: FlowMap::with_hasher(Fixed),
            decoded: FlowMap::with_hasher(Fixed),
            other_names: FlowMap::with_hasher(Fixed),
            replies: Replies::default(),
            pulls: Pulls::default(),
            line_rate: Rate::from_bps(u64::MAX),
            proxies: None,
            replies_armed: Time::MAX,
            events: VecDeque::new(),
        }
    }

    /// With these profiles, before its first flow, at a host with this line rate, which bounds what it pulls; without this,
    /// with the default profile alone.
    #[must_use]
    pub fn with_profiles(mut self, profiles: &Profiles, line_rate: Rate) -> Self {
        (self.profiles, self.line_rate) = (profiles.clone(), line_rate);
        self
    }

    /// The host.
    #[must_use]
    pub const fn host(&self) -> HostId {
        self.config.host
    }

    /// Takes a message; its first packet may leave now.
    ///
    /// # Panics
    /// If the message has more than 2^32 - 1 packets, or its route's profile is none of the endpoint's.
    #[allow(clippy::needless_pass_by_value, reason = "a message is handed over")]
    pub fn submit(&mut self, now: Time, message: Message) {
        debug_assert!(!message.size.is_zero(), "flow {} has no payload", message.flow);
        debug_assert_eq!(message.route.path.mss, self.config.mss, "one payload size for the whole network");
        let profile = self.profiles.place(&message.route.profile);
        let profile = profile.expect("the profile of a route is one of its endpoint's");
        let sender = Sender::new(now, &message, profile, self.config.seed, self.active_flows());
        self.add_sender(now, sender);
    }

    /// How many flows this host is sending.
    pub(super) fn active_flows(&self) -> u32 {
        self.senders.len() as u32
    }

    /// Takes a further message of a [persistent](crate::FlowProfile::persistent) flow that this host is sending: it leaves after those
    /// before it. Gives its index among the flow's messages, which the [events](Event) of its ends name. Packets number on from the last of
    /// the message before: the bytes that [`Received`] and [`Transmit`] name are counted as if each packet were a full one.
    ///
    /// # Errors
    /// No such flow, or its numbers do not reach.
    pub fn append(&mut self, now: Time, flow: FlowId, size: Bytes) -> Result<u32, AppendError> {
        let (key, live) = self.senders.find(flow).ok_or(AppendError::Unknown { flow })?;
        let index = live.sender.append(now, size)?;
        live.settle(now, key, &mut self.timers, &mut self.schedule);
        Ok(index)
    }

    fn add_sender(&mut self, now: Time, sender: Sender) {
        let live = Live { sender, armed: UNARMED };
        let key = self.senders.insert(live);
        if let Some(live) = self.senders.get_mut(key) {
            live.settle(now, key, &mut self.timers, &mut self.schedule);
        }
    }

    /// Takes a packet that has arrived; returns the payload that came for the first time.
    pub fn handle_packet(&mut self, now: Time, packet: Incoming) -> Option<Received> {
        self.dispatch::<false>(now, packet)
    }

    /// As [`Self::handle_packet`]. `TRUSTED`: whether feedback is known to come from where its flow goes.
    #[inline(always)]
    pub(crate) fn dispatch<const TRUSTED: bool>(&mut self, now: Time, packet: Incoming) -> Option<Received> {
        let Incoming { from, header, ecn_ce, trimmed, telemetry } = packet;
        let cut = match (header, trimmed) {
            (Header::Data(data), Trimmed::No) => return self.on_data(now, from, &data, ecn_ce, telemetry),
            (Header::Feedback(feedback), _) => {
                if TRUSTED || self.has_a_say(from, feedback.flow) {
                    self.on_feedback(now, &feedback, telemetry.as_deref());
                }
                return None;
            }
            (Header::Coded(coded), Trimmed::No) => {
                return self.on_coded(now, from, &coded, ecn_ce, telemetry);
            }
            (Header::Numbered(numbered), Trimmed::No) => {
                return self.on_numbered(now, from, &numbered, ecn_ce, telemetry);
            }
            (Header::Handshake(open), _) => {
                self.on_opening(from, &open, ecn_ce);
                return None;
            }
            (header, Trimmed::Returned) => {
                self.on_returned(now, from, &header);
                return None;
            }
            (Header::Data(data), _) => (data, None, None),
            (Header::Numbered(Numbered { data, place }), _) => (data, Some(place), None),
            (Header::Coded(coded), _) => (coded.data, None, Some(self.layout(&coded)?)),
        };
        self.on_trimmed(now, from, cut, (trimmed, ecn_ce));
        None
    }

    /// Whether a flow that leaves here goes to this host, so that its feedback counts.
    fn has_a_say(&mut self, host: HostId, flow: FlowId) -> bool {
        match self.senders.find(flow) {
            Some((_, live)) => live.sender.listens_to(host),
            None => self.relays_to(host, flow),
        }
    }

    /// Feedback from the receiver of its flow, or from its proxy. Late news of a sender that has finished says nothing new.
    #[inline(always)]
    fn on_feedback(&mut self, now: Time, feedback: &Feedback, telemetry: Option<&Telemetry>) {
        let Some((key, live)) = self.senders.find(feedback.flow) else {
            // Put together anew, so that otherwise it need not lie in memory.
            let Feedback { flow, seq, cumulative, fate } = *feedback;
            return self.relay_feedback(now, &Feedback { flow, seq, cumulative, fate }, telemetry);
        };
        let is_earlier = live.sender.on_feedback(now, feedback, telemetry);
        if live.sender.is_finished() {
            return self.finish(now, key);
        }
        if is_earlier {
            let deadline = live.sender.deadline(now);
            live.arm_recovery(deadline, &mut self.timers);
        }
        live.settle(now, key, &mut self.timers, &mut self.schedule);
        if self.proxies.is_some() {
            self.note_onward(now, feedback.flow);
        }
    }

    /// A flow is opened: the answer waits for the NIC. Nothing is kept of it.
    #[cold]
    fn on_opening(&mut self, from: HostId, open: &Handshake, ecn_ce: bool) {
        let Handshake { flow, packets, sent_at, entropy, .. } = *open;
        let echo = Echo { sent_at, entropy };
        let fate = Fate::Arrived { echo, ecn_ce, block_complete: false, map: 0 };
        let feedback = Feedback { flow, seq: packets, cumulative: 0, fate };
        let entropy = u16::from(receiver::ack_entropy_start(self.config.seed, flow));
        self.replies.push(Reply::bare(from, entropy, feedback));
    }

    /// A sender has its last ACK, or that of a message of a persistent flow, which goes on.
    #[cold]
    fn finish(&mut self, now: Time, key: Key<FlowId>) {
        if let Some(live) = self.senders.get_mut(key).filter(|live| live.sender.is_persistent()) {
            while let Some(report) = live.sender.take_finished(now) {
                self.events.push_back(Event::Finished(report));
            }
            let deadline = live.sender.deadline(now);
            live.arm_recovery(deadline, &mut self.timers);
            return live.settle(now, key, &mut self.timers, &mut self.schedule);
        }
        let is_onward = self.ends_onward(now, key.name);
        if let Some(live) = self.senders.remove(key)
            && !is_onward
        {
            self.events.push_back(Event::Finished(live.sender.report(now)));
        }
        self.purge_timers();
    }

    /// Does what is due: time-outs, timers of controls and of blocks, and replies that were held, in order of (time,
    /// number, kind, peer).
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(due) = self.timers.pop(now) {
            match due.timer().kind() {
                TimerKind::Recovery | TimerKind::Control => self.on_sender_timer(now, &due),
                TimerKind::Block => self.on_block_timer(now, &due),
                TimerKind::Reply => self.on_reply_timer(now, &due),
            }
        }
    }

    fn on_sender_timer(&mut self, now: Time, due: &Due) {
        let (flow, kind) = (due.timer().sender(), due.timer().kind());
        let Some((key, live)) = self.senders.find(flow) else { return };
        if !due.disarm(&mut live.armed[kind as usize]) {
            return;
        }
        if kind == TimerKind::Recovery {
            let deadline = live.sender.on_timeout(now);
            if live.sender.gives_proxy_up(now) {
                return self.fall_back(now, key);
            }
            live.arm_recovery(deadline, &mut self.timers);
        } else {
            live.sender.on_control_timer(now);
        }
        live.settle(now, key, &mut self.timers, &mut self.schedule);
    }

    /// The next packet for the NIC, which is free: control packets first, in order; then one data packet of the flow
    /// whose turn it is.
    pub fn poll_transmit(&mut self, now: Time) -> Poll {
        let mut packet = None;
        if !self.send_reply(&mut packet) {
            self.send_data(now, &mut packet);
        }
        match packet {
            Some(packet) => Poll::Packet(self.transmit(packet)),
            None => self.schedule.next_release().map_or(Poll::Idle, Poll::At),
        }
    }

    /// The next control packet alone, for a NIC whose link does not take data now.
    pub fn poll_control(&mut self) -> Option<Transmit> {
        let mut packet = None;
        self.send_reply(&mut packet);
        packet.map(|packet| self.transmit(packet))
    }

    /// A packet that leaves, as the driver wants it.
    fn transmit(&self, packet: Leaving) -> Transmit {
        packet.into_transmit(self.config.mss, self.config.header)
    }

    /// The next control packet, if one may leave: `to` takes it. Says whether there was one.
    #[inline(always)]
    pub(crate) fn send_reply(&mut self, to: impl Take) -> bool {
        let Some(reply) = self.replies.first_mut() else { return false };
        to.reply(reply);
        self.replies.drop_first();
        true
    }

    /// The next data packet, of the flow whose turn it is: `to` takes it. Says whether there was one.
    #[inline(always)]
    pub(crate) fn send_data(&mut self, now: Time, to: impl Take) -> bool {
        while let Some(key) = self.schedule.turn(now) {
            if let Some(live) = self.senders.get_mut(key) {
                if live.sender.next_send().is_some() {
                    let deadline = live.sender.transmit(now, to);
                    live.arm_recovery(deadline, &mut self.timers);
                    live.end_turn(now, key, &mut self.timers, &mut self.schedule);
                    if self.proxies.is_some() {
                        self.note_onward(now, key.name);
                    }
                    return true;
                }
                live.sender.set_scheduled(false);
            } else if key == Key::NONE && self.has_forwards() {
                return self.send_forward(now, to);
            }
            self.schedule.leave();
        }
        let senders = &self.senders;
        self.schedule.purge(|key| senders.get(key).is_some());
        false
    }

    /// Whether a control packet may leave.
    #[inline]
    pub(crate) const fn has_replies(&self) -> bool {
        !self.replies.is_empty()
    }

    /// No data packet leaves before this time; [`Time::ZERO`]: one may leave at once, [`Time::MAX`]: none waits.
    #[inline]
    pub(crate) fn next_data(&self) -> Time {
        self.schedule.first()
    }

    /// When [`Self::handle_timeout`] is wanted; it may turn out that nothing was due. Pacing is not in it:
    /// [`Poll::At`] says when to ask for the next packet.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Time> {
        Some(self.timers.next()).filter(|&at| at != Time::MAX)
    }

    /// Whether there is an event to [poll](Self::poll_event).
    #[inline]
    pub(crate) fn has_events(&self) -> bool {
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
        self.senders.by_name(flow).map(|live| live.sender.view())
    }

    /// The messages of a live sender's [persistent](crate::FlowProfile::persistent) flow that have not ended, the oldest first, as if
    /// they did so at `now`.
    pub fn open_messages(&self, now: Time, flow: FlowId) -> impl Iterator<Item = SenderReport> {
        self.senders.by_name(flow).into_iter().flat_map(move |live| live.sender.open_messages(now))
    }

    /// The message with this index of a live sender's persistent flow, if it has not ended, as if it did so at `now`.
    #[must_use]
    pub fn open_message(&self, now: Time, flow: FlowId, index: u32) -> Option<SenderReport> {
        self.senders.by_name(flow)?.sender.open_message(now, index)
    }

    /// The state of packet `seq` at the live sender of `flow`; `None` without a live sender.
    #[must_use]
    pub fn packet_state(&self, flow: FlowId, seq: u32) -> Option<PacketState> {
        self.senders.by_name(flow).map(|live| live.sender.packet_state(seq))
    }

    /// A receiver of a message from `peer`, live or complete; `None` before its first packet.
    #[must_use]
    pub fn receiver(&self, peer: HostId, flow: FlowId) -> Option<ReceiverView> {
        let name = self.known_as(PeerFlow { peer, flow });
        let trimmed = self.trimmed.get(&name).copied().unwrap_or_default();
        if let Some(receiver) = self.receivers.by_name(name) {
            let repaired = receiver.blocks.as_ref().map_or(0, |blocks| blocks.repaired());
            return Some(receiver.counters().view(name.flow, false, trimmed, repaired));
        }
        let repaired = self.decoded.get(&name).map_or(0, |decoded| decoded.blocks());
        self.delivered.get(name).map(|counters| counters.view(name.flow, true, trimmed, repaired))
    }
}

#[cfg(test)]
mod tests;
