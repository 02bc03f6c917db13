//! Data packets that arrive at an endpoint, whole or trimmed, blocks that wait, and headers of its own packets that come back.

use super::timers::{Due, Timer};
use super::{Endpoint, Event, MAX_HOSTS, is_live};
use crate::coding::{Layout, Payload};
use crate::flow::message::{Received, Trimmed};
use crate::flow::profile::{AckSignals, FlowProfile};
use crate::notifier::Notifier;
use crate::pulls::Owed;
use crate::receiver::{self, Duties, Receiver};
use crate::replies::Reply;
use crate::table::{Key, Named as _, PeerFlow};
use crate::wire;
use alloc::boxed::Box;
use farspan_units::{Bytes, HostId, Telemetry, Time};

impl Endpoint {
    /// A data packet that was not trimmed.
    #[inline(always)]
    pub(super) fn on_data(
        &mut self,
        now: Time,
        from: HostId,
        data: &wire::Data,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received> {
        if !self.is_segment(data) {
            return None;
        }
        let name = PeerFlow { peer: from, flow: data.flow };
        let known = match self.receivers.find(name) {
            Some((_, known)) => Some(known),
            None => {
                let key = self.other_receiver(name, (data.seq, data.packets, data.profile), None);
                key.and_then(|key| self.receivers.get_mut(key))
            }
        };
        let Some(receiver) = known else {
            // Put together anew, so that otherwise the header need not lie in memory.
            let wire::Data { flow, seq, packets, len, sent_at, entropy, profile, ask } = *data;
            let duplicate = wire::Data { flow, seq, packets, len, sent_at, entropy, profile, ask };
            self.acknowledge_duplicate(now, from, duplicate, ecn_ce, telemetry);
            return None;
        };
        let Some(arrival) = receiver.on_data(data, ecn_ce) else {
            let wire::Data { flow, seq, packets, len, sent_at, entropy, profile, ask } = *data;
            let refused = wire::Data { flow, seq, packets, len, sent_at, entropy, profile, ask };
            self.on_refused(now, from, refused, ecn_ce);
            return None;
        };
        let reply = receiver.ack(now, from, arrival.feedback, telemetry);
        let has_more = receiver.acknowledge(now, arrival.is_new, ecn_ce, data, reply, &mut self.replies);
        let (PeerFlow { peer: from, flow }, is_complete) = (receiver.name(), receiver.is_complete());
        if has_more {
            self.follow_up(now, name);
        }
        if !arrival.is_new {
            return None;
        }
        if is_complete {
            self.complete(now, name);
        }
        let (start, len) = (u64::from(data.seq) * self.config.mss.get(), u64::from(data.len));
        let payload = Payload::Source(start..start + len);
        Some(Received { from, flow, payload, decodable: None, delivered: Bytes::new(len) })
    }

    /// A packet is not taken in: perhaps it came behind a gap, where its receiver takes packets in their order alone.
    #[cold]
    #[inline(never)]
    fn on_refused(&mut self, now: Time, from: HostId, data: wire::Data, ecn_ce: bool) {
        let name = PeerFlow { peer: from, flow: data.flow };
        let known_as = self.known_as(name);
        let Some((_, receiver)) = self.receivers.find(known_as).filter(|(_, known)| known.refuses(&data))
        else {
            return;
        };
        if let Some(feedback) = receiver.refuse(&data, ecn_ce) {
            let entropy = receiver.nack_entropy();
            self.replies.push(Reply::bare(from, entropy, feedback));
        }
        receiver.notify(now, name, ecn_ce, &mut self.replies);
        if receiver.earn_pull(false) {
            self.follow_up(now, name);
        }
    }

    /// How the packets of this one's message make blocks; `None` if the header contradicts itself.
    pub(super) fn layout(&self, coded: &wire::Coded) -> Option<Layout> {
        let wire::Data { seq, packets, len, .. } = coded.data;
        let layout = Layout::of_header(coded.shape, packets, coded.last_len, self.config.mss)?;
        (seq < packets && len == layout.len(seq)).then_some(layout)
    }

    /// A packet of a coded message that was not trimmed.
    pub(super) fn on_coded(
        &mut self,
        now: Time,
        from: HostId,
        coded: &wire::Coded,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received> {
        let layout = self.layout(coded)?;
        let seq = coded.data.seq;
        let name = PeerFlow { peer: from, flow: coded.data.flow };
        let key = match self.receivers.find(name) {
            Some((key, _)) => Some(key),
            None => self.other_receiver(name, (seq, layout.packets(), coded.data.profile), Some(layout)),
        };
        let Some(key) = key else {
            if let Some(decoded) = self.decoded.get_mut(&self.known_as(name)) {
                decoded.on_surplus(seq);
            }
            self.acknowledge_duplicate(now, from, coded.data, ecn_ce, telemetry);
            return None;
        };
        let receiver = self.receivers.get_mut(key)?;
        let arrival = receiver.on_coded(now, coded, layout, ecn_ce)?;
        let reply = receiver.ack(now, from, arrival.feedback, telemetry);
        let has_more =
            receiver.acknowledge(now, arrival.is_new, ecn_ce, &coded.data, reply, &mut self.replies);
        let is_complete = receiver.is_complete();
        if has_more {
            self.follow_up(now, name);
        }
        if !arrival.is_new {
            return None;
        }
        if is_complete {
            self.complete(now, name);
        } else {
            self.arm_block_timer(key);
        }
        let decodable = arrival.decodable.map(|block| layout.block(block));
        let PeerFlow { peer: from, flow } = key.name;
        Some(Received { from, flow, payload: layout.payload(seq), decodable, delivered: arrival.delivered })
    }

    fn arm_block_timer(&mut self, key: Key<PeerFlow>) {
        let Some(blocks) = self.receivers.get_mut(key).and_then(|receiver| receiver.blocks.as_mut()) else {
            return;
        };
        if let Some(at) = blocks.next_timer() {
            self.timers.arm(&mut blocks.armed, at, Timer::of_blocks(key.name));
        }
    }

    /// A timer of a receiver's blocks has come up: packets of blocks that have waited long enough are asked for.
    #[cold]
    pub(super) fn on_block_timer(&mut self, now: Time, due: &Due) {
        let Some((key, receiver)) = self.receivers.find(due.timer().receiver()) else { return };
        let Some(blocks) = &mut receiver.blocks else { return };
        if !due.disarm(&mut blocks.armed) {
            return;
        }
        while let Some(block) = receiver.take_timeout(now) {
            for feedback in receiver.missing(block) {
                let entropy = receiver.nack_entropy();
                self.replies.push(Reply::bare(key.name.peer, entropy, feedback));
            }
        }
        self.arm_block_timer(key);
    }

    /// A receiver holds an ACK, owes a pull, or has a message of a persistent flow in full.
    #[cold]
    fn follow_up(&mut self, now: Time, name: PeerFlow) {
        let name = self.known_as(name);
        if let Some((_, receiver)) = self.receivers.find(name) {
            if receiver.takes_turn() {
                self.pulls.add(name);
            }
            while let Some(report) = receiver.take_delivered(now, self.config.mss) {
                self.events.push_back(Event::Delivered(report));
            }
        }
        self.release_pulls(now);
        self.arm_reply_timer();
    }

    /// The pulls that may leave now join the replies.
    fn release_pulls(&mut self, now: Time) {
        while let Some(name) = self.pulls.turn(now) {
            let Some((_, receiver)) = self.receivers.find(name) else { continue };
            if let Some(pull) = receiver.pull(now, &mut self.pulls) {
                self.replies.push(pull);
            }
        }
    }

    pub(super) fn arm_reply_timer(&mut self) {
        let at = self.replies.next_release().min(self.pulls.next_release()).min(self.next_relayed());
        self.timers.arm(&mut self.replies_armed, at, Timer::REPLY);
    }

    /// The time of replies that were held, or of a pull, has come.
    #[cold]
    pub(super) fn on_reply_timer(&mut self, now: Time, due: &Due) {
        if due.disarm(&mut self.replies_armed) {
            self.replies.release(now);
            self.release_pulls(now);
            self.release_relayed(now);
            self.arm_reply_timer();
        }
    }

    /// A message has arrived in full; `name`: as its last packet names it.
    #[cold]
    fn complete(&mut self, now: Time, name: PeerFlow) {
        let key = self.receivers.key(self.known_as(name));
        if let Some((key, receiver)) = key.and_then(|key| Some((key, self.receivers.remove(key)?))) {
            let report = receiver.counters().report(key.name.flow, key.name.peer, now);
            self.events.push_back(Event::Delivered(report));
            self.delivered.insert(key.name, *receiver.counters());
            if receiver.blocks.is_some() {
                let decoded = receiver.into_decoded();
                self.decoded.extend(decoded.map(|decoded| (key.name, Box::new(decoded))));
                self.purge_timers();
            }
        }
    }

    /// Forgets timers of flows that have ended.
    pub(super) fn purge_timers(&mut self) {
        let Self { senders, receivers, timers, .. } = self;
        timers.purge(|timer| is_live(timer, senders, receivers));
    }

    /// A data packet came without its payload: it is answered by a NACK, so that the sender sends it again. `place`: its
    /// number, if it has one; `layout`: of a coded message.
    #[cold]
    pub(super) fn on_trimmed(
        &mut self,
        now: Time,
        from: HostId,
        (data, place, layout): (wire::Data, Option<wire::Place>, Option<Layout>),
        (trimmed, ecn_ce): (Trimmed, bool),
    ) {
        if layout.is_none() && !self.is_segment(&data) {
            return;
        }
        let name = PeerFlow { peer: from, flow: data.flow };
        if self.is_relayed(name) {
            return self.relay_data(now, from, (data, place), (trimmed, ecn_ce), None);
        }
        let at_last_hop = trimmed == Trimmed::AtLastHop;
        let known = self.receivers.key(name);
        let key = known.or_else(|| self.other_receiver(name, (data.seq, data.packets, data.profile), layout));
        let known_as = self.known_as(name);
        let refused = match key.and_then(|key| self.receivers.get(key)) {
            Some(receiver) => receiver.on_trimmed(&data, at_last_hop, ecn_ce).zip(Some(*receiver.counters())),
            None => {
                let record = self.delivered.get(known_as);
                record.and_then(|t| t.on_trimmed_duplicate(&data, at_last_hop, ecn_ce).zip(Some(*t)))
            }
        };
        let Some((feedback, counters)) = refused else { return };
        let count = self.trimmed.entry(known_as).or_default();
        *count = count.saturating_add(1);
        // NACKs go round over the entropies as ACKs do.
        let start = receiver::ack_entropy_start(self.config.seed, known_as.flow);
        let entropy = counters.ack_entropy(start.wrapping_add(*count as u8));
        self.replies.push(Reply::bare(from, entropy, feedback));
        let Some(key) = key else { return };
        let Some(receiver) = self.receivers.get_mut(key) else { return };
        receiver.notify(now, name, ecn_ce, &mut self.replies);
        if receiver.earn_pull(false) {
            self.follow_up(now, name);
        }
    }

    /// The header of a data packet that left here has come back. From another host than this one none can, and of a flow that
    /// has ended it says nothing new.
    #[cold]
    pub(super) fn on_returned(&mut self, now: Time, from: HostId, header: &wire::Header) {
        let Some(data) = header.data().filter(|_| from == self.config.host && !header.is_mark()) else {
            return;
        };
        let Some((key, live)) = self.senders.find(data.flow) else { return };
        live.sender.on_returned(now, data.seq, data.sent_at);
        live.settle(now, key, &mut self.timers, &mut self.schedule);
    }

    /// Whether the length is that of a segment of a message.
    #[inline]
    pub(super) fn is_segment(&self, data: &wire::Data) -> bool {
        let (len, mss) = (u64::from(data.len), self.config.mss.get());
        let is_last = || data.seq.checked_add(1) == Some(data.packets);
        len == mss || (len > 0 && len < mss && is_last())
    }

    /// The name under which a message is kept whose packets bear this one: its sender's.
    #[inline]
    pub(super) fn known_as(&self, name: PeerFlow) -> PeerFlow {
        self.other_names.get(&name).copied().unwrap_or(name)
    }

    /// The receiver of a message of `packets` packets with this profile, which has none of this name: that of a message which
    /// comes through a proxy, or a new one. `None` if the message is complete, packet `seq`, which arrived, lies beyond its
    /// end, or the profile or the host's number is not one that it knows. `layout`: of a coded message.
    #[cold]
    fn other_receiver(
        &mut self,
        name: PeerFlow,
        (seq, packets, profile): (u32, u32, u8),
        layout: Option<Layout>,
    ) -> Option<Key<PeerFlow>> {
        let from = name;
        let name = self.known_as(from);
        if name != from
            && let Some((key, _)) = self.receivers.find(name)
        {
            return Some(key);
        }
        if name.peer.0 >= MAX_HOSTS
            || seq >= packets
            || self.delivered.contains(name)
            || self.is_relayed(from)
        {
            return None;
        }
        let profile = self.profiles.get(profile)?;
        let FlowProfile { pulls, cnps, signals, persistent, .. } = profile;
        // A persistent flow has no last packet that could be known.
        let packets = if *persistent { u32::MAX } else { packets };
        let mtu = self.config.mss + self.config.header;
        let owed = pulls.map(|pulls| Owed::new(from, pulls, self.line_rate, mtu));
        let duties = Duties::new(profile, owed, cnps.map(Notifier::new));
        let start = receiver::ack_entropy_start(self.config.seed, name.flow);
        Some(self.receivers.insert(match layout {
            None => Receiver::new(name, packets, (start, *signals), duties),
            Some(layout) => Receiver::coded(name, layout, (start, *signals), duties),
        }))
    }

    /// A packet of a message that is complete, or of a flow that the host relays.
    #[cold]
    fn acknowledge_duplicate(
        &mut self,
        now: Time,
        from: HostId,
        data: wire::Data,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) {
        let name = PeerFlow { peer: from, flow: data.flow };
        if self.is_relayed(name) {
            return self.relay_data(now, from, (data, None), (Trimmed::No, ecn_ce), telemetry);
        }
        let name = self.known_as(name);
        let signals =
            self.profiles.get(data.profile).map_or_else(AckSignals::default, |profile| profile.signals);
        let Some(counters) = self.delivered.get_mut(name) else { return };
        let Some(feedback) = counters.on_duplicate(&data, ecn_ce) else { return };
        let entropy = counters.ack_entropy(receiver::ack_entropy_start(self.config.seed, name.flow));
        self.replies.push(Reply::ack(now, (from, entropy), signals, feedback, telemetry));
    }
}
