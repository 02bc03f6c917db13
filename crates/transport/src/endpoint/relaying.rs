//! Flows that the host relays: packets that arrive for them, and those that leave.

use super::{Endpoint, Event};
use crate::flow::message::{Message, Received, Trimmed};
use crate::proxy::{
    Delay, Forward, Lost, NaiveRelay, Onward, Proxies, ProxyQueue, Relay, RelayCounters, RelayKind, Relayed,
    RelayedPacket, State, StreamlinedRelay, Via,
};
use crate::replies::Reply;
use crate::sender::{Sender, Take};
use crate::table::{Key, Named as _, PeerFlow};
use crate::wire::{Data, Echo, Fate, Feedback, Numbered, Place};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use farspan_units::{Bytes, FlowId, HostId, Telemetry, Time};

impl Endpoint {
    /// Takes so long over each packet of flows that it relays; before the first.
    #[must_use]
    pub fn with_proxy(mut self, delay: Delay) -> Self {
        self.proxies = Some(Box::new(Proxies::new(self.config.host, self.config.seed, delay)));
        self
    }

    /// Relays a flow from now on: before its first packet comes. Its number may be one of a flow that was
    /// [forgotten](Self::forget_peer) with its sender.
    ///
    /// # Panics
    /// If the endpoint was built without [`Self::with_proxy`].
    pub fn relay(&mut self, relay: Relay) {
        let proxies = self.proxies.as_mut().expect("an endpoint that relays was built with a proxy");
        proxies.add(relay, self.config.mss);
    }

    /// A message from `from` that it calls `flow` may also come through a proxy, which calls it `proxy_flow` on the way here
    /// ([`Relay::onward_flow`]): whichever way its packets come, they are those of one message, which goes by its sender and the
    /// number there. Before the first of them.
    pub fn expect_relayed(&mut self, from: HostId, flow: FlowId, proxy: HostId, proxy_flow: FlowId) {
        let through = PeerFlow { peer: proxy, flow: proxy_flow };
        self.other_names.insert(through, PeerFlow { peer: from, flow });
    }

    /// Its proxy fails: it forgets all that waits, and from now on takes no packet of the flows that it relayed.
    pub fn fail_proxy(&mut self, now: Time) {
        let Some(proxies) = &mut self.proxies else { return };
        proxies.fail(now);
        let live = proxies.flows().filter(|relayed| relayed.state.has_onward());
        let live: Vec<_> = live.map(|relayed| (relayed.name(), relayed.relay.onward_flow)).collect();
        for (name, own) in live {
            let Some(key) = self.senders.key(own) else { continue };
            self.count_onward(name);
            self.senders.remove(key);
            self.set_onward(name, Onward::Ended);
        }
        self.purge_timers();
    }

    /// Forgets what it relays for a peer or to it. Gives the numbers of second connections that end with it.
    pub(super) fn forget_relays(&mut self, now: Time, peer: HostId) -> BTreeSet<FlowId> {
        let Some(proxies) = &mut self.proxies else { return BTreeSet::new() };
        let is_of = |relayed: &&Relayed| relayed.relay.from == peer || relayed.relay.to == peer;
        let live = proxies.flows().filter(is_of).filter(|relayed| relayed.state.has_onward());
        let live: Vec<_> = live.map(|relayed| (relayed.name(), relayed.relay.onward_flow)).collect();
        live.iter().for_each(|&(name, _)| self.count_onward(name));
        if let Some(proxies) = &mut self.proxies {
            proxies.forget_peer(now, peer);
        }
        live.into_iter().map(|(_, own)| own).collect()
    }

    /// A flow that the host relayed before may be a message to here.
    pub(super) fn reopen(&mut self, name: PeerFlow) {
        if let Some(proxies) = &mut self.proxies {
            proxies.reopen(name);
        }
    }

    /// The counters of a flow from `from` that it relays; `None`: it does not relay it.
    #[must_use]
    pub fn relayed(&self, from: HostId, flow: FlowId) -> Option<RelayCounters> {
        let relayed = self.proxies.as_ref()?.get(PeerFlow { peer: from, flow })?;
        let mut counters = relayed.counters;
        if relayed.state.has_onward()
            && let Some(live) = self.senders.by_name(relayed.relay.onward_flow)
        {
            let onward = live.sender.view().counters;
            counters.sent_packets += onward.sent_packets;
            counters.sent_bytes += onward.sent_bytes;
        }
        if let State::Streamlined(streamlined) = &relayed.state {
            counters.false_packets = streamlined.false_losses().into();
        }
        Some(counters)
    }

    /// The payload that waits at its proxy to be sent on; `None`: it is none.
    #[must_use]
    pub fn proxy_waiting(&self) -> Option<Bytes> {
        self.proxies.as_ref().map(|proxies| proxies.waiting_bytes())
    }

    /// The queue of its proxy up to `now`; `None`: it is none.
    #[must_use]
    pub fn proxy_queue(&self, now: Time) -> Option<ProxyQueue> {
        self.proxies.as_ref().map(|proxies| proxies.queue(now))
    }

    /// Whether the host relays a flow, or did for a sender that it has forgotten.
    #[cold]
    #[inline(never)]
    pub(super) fn is_relayed(&self, name: PeerFlow) -> bool {
        self.proxies.as_ref().is_some_and(|proxies| proxies.holds(name))
    }

    /// The relayed flow that has this number on the way to its receiver.
    fn by_onward(&self, own: FlowId) -> Option<&Relayed> {
        let proxies = self.proxies.as_ref()?;
        proxies.get(proxies.onward(own)?)
    }

    /// Whether the host relays a flow under this number to that host.
    #[cold]
    pub(super) fn relays_to(&self, to: HostId, own: FlowId) -> bool {
        self.by_onward(own).is_some_and(|relayed| relayed.relay.to == to)
    }

    /// A data packet of a relayed flow has come.
    #[cold]
    #[inline(never)]
    pub(super) fn relay_data(
        &mut self,
        now: Time,
        from: HostId,
        (data, place): (Data, Option<Place>),
        (trimmed, ecn_ce): (Trimmed, bool),
        telemetry: Option<Box<Telemetry>>,
    ) {
        let name = PeerFlow { peer: from, flow: data.flow };
        self.arrive(now, name, RelayedPacket::Data { data, place, trimmed, ecn_ce, telemetry });
    }

    /// A numbered data packet that was not trimmed.
    pub(super) fn on_numbered(
        &mut self,
        now: Time,
        from: HostId,
        numbered: &Numbered,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    ) -> Option<Received> {
        let Numbered { data, place } = numbered;
        let name = PeerFlow { peer: from, flow: data.flow };
        if !self.is_relayed(name) {
            return self.on_data(now, from, data, ecn_ce, telemetry);
        }
        if numbered.is_mark() {
            self.arrive(now, name, RelayedPacket::Mark { place: *place });
        } else if self.is_segment(data) {
            self.relay_data(now, from, (*data, Some(*place)), (Trimmed::No, ecn_ce), telemetry);
        }
        None
    }

    /// Feedback of a relayed flow has come, if it is one.
    #[cold]
    #[inline(never)]
    pub(super) fn relay_feedback(&mut self, now: Time, &feedback: &Feedback, telemetry: Option<&Telemetry>) {
        let through = self.by_onward(feedback.flow);
        if let Some(relayed) = through.filter(|relayed| matches!(relayed.state, State::Streamlined(_))) {
            let name = relayed.name();
            let telemetry = telemetry.map(|telemetry| Box::new(telemetry.clone()));
            self.arrive(now, name, RelayedPacket::Feedback { feedback, telemetry });
        }
    }

    fn arrive(&mut self, now: Time, name: PeerFlow, packet: RelayedPacket) {
        let Some(proxies) = &mut self.proxies else { return };
        if let Some(packet) = proxies.arrive(now, name, packet) {
            self.process(now, name, packet);
        }
        self.arm_reply_timer();
    }

    /// Packets that the proxy is done with, and flows whose detector has waited long enough.
    pub(super) fn release_relayed(&mut self, now: Time) {
        while let Some((name, packet)) = self.proxies.as_mut().and_then(|proxies| proxies.take_done(now)) {
            self.process(now, name, packet);
        }
        let Some(proxies) = &mut self.proxies else { return };
        if !proxies.take_ask(now) {
            return;
        }
        let names: Vec<_> = proxies.flows().map(Relayed::name).collect();
        for name in names {
            let Some(proxies) = &mut self.proxies else { return };
            let Some(relayed) = proxies.get_mut(name) else { continue };
            let State::Streamlined(streamlined) = &mut relayed.state else { continue };
            let lost =
                if streamlined.next_timeout() <= now { streamlined.on_timeout(now) } else { Vec::new() };
            let (next, is_tail) = (streamlined.next_timeout(), streamlined.has_ended());
            proxies.ask_at(next);
            self.report(name, lost, is_tail);
        }
    }

    /// NACKs for what a detector has found; `is_tail`: at the end of a burst.
    fn report(&mut self, name: PeerFlow, lost: Vec<Lost>, is_tail: bool) {
        let Some(relayed) = self.proxies.as_mut().and_then(|proxies| proxies.get_mut(name)) else { return };
        let State::Streamlined(streamlined) = &mut relayed.state else { return };
        for lost in lost {
            relayed.counters.nacks += 1;
            relayed.counters.gap_packets += u64::from(lost.count);
            relayed.counters.tail_packets += u64::from(lost.count) * u64::from(is_tail);
            let entropy = streamlined.entropy_back();
            self.replies.push(Reply::bare(name.peer, entropy, lost.nack(name.flow)));
        }
    }

    /// When the proxy wants its timer; [`Time::MAX`]: never.
    pub(super) fn next_relayed(&self) -> Time {
        self.proxies.as_ref().map_or(Time::MAX, |proxies| proxies.next_done())
    }

    fn process(&mut self, now: Time, name: PeerFlow, packet: RelayedPacket) {
        match packet {
            RelayedPacket::Data { data, place, trimmed, ecn_ce, telemetry } => {
                let is_naive = {
                    let relayed = self.proxies.as_ref().and_then(|proxies| proxies.get(name));
                    relayed.is_some_and(|relayed| matches!(relayed.state, State::Naive(_)))
                };
                if is_naive {
                    self.take(now, name, &data, (trimmed, ecn_ce), telemetry);
                } else {
                    self.pass(now, name, data, place, (trimmed, ecn_ce), telemetry);
                }
            }
            RelayedPacket::Mark { place } => self.note_mark(now, name, place),
            RelayedPacket::Feedback { feedback, telemetry } => self.pass_back(name, feedback, telemetry),
        }
    }

    /// Streamlined: no packet follows for now; what is found lost becomes a NACK.
    fn note_mark(&mut self, now: Time, name: PeerFlow, place: Place) {
        let Some(proxies) = &mut self.proxies else { return };
        let Some(relayed) = proxies.get_mut(name) else { return };
        let State::Streamlined(streamlined) = &mut relayed.state else { return };
        let (lost, next) = (streamlined.on_mark(now, place), streamlined.next_timeout());
        let confirmed = Lost { first: place, count: 0 }.nack(name.flow);
        let reply = Reply::bare(name.peer, streamlined.entropy_back(), confirmed);
        proxies.ask_at(next);
        self.report(name, lost, true);
        self.replies.push(reply);
    }

    /// Streamlined: a data packet goes on, and what is found lost becomes a NACK.
    fn pass(
        &mut self,
        now: Time,
        name: PeerFlow,
        data: Data,
        place: Option<Place>,
        (trimmed, ecn_ce): (Trimmed, bool),
        telemetry: Option<Box<Telemetry>>,
    ) {
        let Some(proxies) = &mut self.proxies else { return };
        let Some((relayed, waiting)) = proxies.parts(name) else { return };
        let State::Streamlined(streamlined) = &mut relayed.state else { return };
        let RelayKind::Streamlined(StreamlinedRelay { header, .. }) = relayed.relay.kind else { return };
        let (lost, next) = (streamlined.on_packet(now, place), streamlined.next_timeout());
        if trimmed != Trimmed::No {
            let echo = Echo { sent_at: data.sent_at, entropy: data.entropy };
            let fate = Fate::Trimmed { echo, at_last_hop: trimmed == Trimmed::AtLastHop, ecn_ce };
            let nack = Feedback { flow: name.flow, seq: data.seq, cumulative: 0, fate };
            relayed.counters.nacks += 1;
            let entropy = streamlined.entropy_back();
            self.replies.push(Reply::bare(name.peer, entropy, nack));
            proxies.ask_at(next);
            return self.report(name, lost, false);
        }
        let len = Bytes::new(u64::from(data.len));
        waiting.add(now, len);
        let (to, size) = (relayed.relay.to, len + header);
        let header = Data { flow: relayed.relay.onward_flow, ..data };
        let forward = Forward { to, header, ecn_ce, size, telemetry };
        if proxies.forwards.is_empty() {
            self.schedule.add(now, now, Key::NONE);
        }
        proxies.forwards.push_back(forward);
        proxies.ask_at(next);
        self.report(name, lost, false);
    }

    /// Streamlined: feedback goes back to the sender.
    fn pass_back(&mut self, name: PeerFlow, feedback: Feedback, telemetry: Option<Box<Telemetry>>) {
        let relayed = self.proxies.as_mut().and_then(|proxies| proxies.get_mut(name));
        let Some(relayed) = relayed else { return };
        let (State::Streamlined(streamlined), RelayKind::Streamlined(StreamlinedRelay { signals, .. })) =
            (&mut relayed.state, &relayed.relay.kind)
        else {
            return;
        };
        let entropy = streamlined.entropy_back();
        let ack_bytes = if matches!(feedback.fate, Fate::Arrived { .. }) { signals.bytes } else { 0 };
        let feedback = Feedback { flow: name.flow, ..feedback };
        self.replies.push(Reply { to: name.peer, entropy, ack_bytes, feedback, telemetry });
    }

    /// Whether packets wait to be sent on: a proxy that fails forgets them, but not their turn.
    #[cold]
    pub(super) fn has_forwards(&self) -> bool {
        self.proxies.as_ref().is_some_and(|proxies| !proxies.forwards.is_empty())
    }

    /// The next packet that the host sends on leaves, when it is its turn.
    #[cold]
    #[inline(never)]
    pub(super) fn send_forward(&mut self, now: Time, to: impl Take) -> bool {
        let Some(proxies) = &mut self.proxies else { return false };
        let Some(forward) = proxies.forwards.pop_front() else { return false };
        let len = Bytes::new(u64::from(forward.header.len));
        let is_last = proxies.forwards.is_empty();
        let name = proxies.onward(forward.header.flow);
        if let Some((relayed, waiting)) = name.and_then(|name| proxies.parts(name)) {
            relayed.counters.sent_packets += 1;
            relayed.counters.sent_bytes += len;
            waiting.remove(now, len);
        }
        to.forward(forward);
        if is_last {
            self.schedule.leave();
        } else {
            self.schedule.pass();
        }
        true
    }

    /// Naive: a data packet is taken in, and can be sent on when all before it are here.
    fn take(
        &mut self,
        now: Time,
        name: PeerFlow,
        data: &Data,
        (trimmed, ecn_ce): (Trimmed, bool),
        telemetry: Option<Box<Telemetry>>,
    ) {
        let Some((relayed, waiting)) = self.proxies.as_mut().and_then(|proxies| proxies.parts(name)) else {
            return;
        };
        let State::Naive(naive) = &mut relayed.state else { return };
        let Some(taken) = naive.on_data(now, data, trimmed, ecn_ce, waiting) else { return };
        relayed.counters.nacks += u64::from(trimmed != Trimmed::No);
        let entropy = relayed.counters.arrived_packets as u8;
        let (begins, relay) = (naive.begins(taken.available), &relayed.relay);
        let (to, own) = ((name.peer, entropy.into()), relay.onward_flow);
        self.replies.push(match relay.kind {
            RelayKind::Naive(NaiveRelay { signals, .. }) if trimmed == Trimmed::No => {
                Reply::ack(now, to, signals, taken.feedback, telemetry)
            }
            _ => Reply::bare(to.0, to.1, taken.feedback),
        });
        if begins {
            let relay = relay.clone();
            self.begin_onward(now, &relay);
        }
        self.extend_to(now, own, taken.available);
    }

    /// The second connection of a relayed flow begins.
    fn begin_onward(&mut self, now: Time, relay: &Relay) {
        let RelayKind::Naive(NaiveRelay { onward, initial_cwnd, .. }) = &relay.kind else { return };
        let Relay { onward_flow: flow, to, size, .. } = *relay;
        let (route, initial_cwnd) = (onward.clone(), *initial_cwnd);
        let profile = self.profiles.place(&route.profile);
        let profile = profile.expect("the profile of a route is one of its endpoint's");
        let message = Message { flow, to, size, initial_cwnd, route, via: None };
        let (seed, active_flows) = (self.config.seed, self.active_flows());
        let sender = Sender::new(now, &message, profile, seed, active_flows).empty_handed(now, &message);
        self.add_sender(now, sender);
        self.set_onward(PeerFlow { peer: relay.from, flow: relay.flow }, Onward::Live);
    }

    fn set_onward(&mut self, name: PeerFlow, onward: Onward) {
        let relayed = self.proxies.as_mut().and_then(|proxies| proxies.get_mut(name));
        if let Some(State::Naive(naive)) = relayed.map(|relayed| &mut relayed.state) {
            naive.onward = onward;
        }
    }

    /// More of a live sender's message is here: all packets below `available`.
    fn extend_to(&mut self, now: Time, flow: FlowId, available: u32) {
        if let Some((key, live)) = self.senders.find(flow) {
            live.sender.extend(available);
            live.settle(now, key, &mut self.timers, &mut self.schedule);
        }
    }

    /// A sender has sent a packet, or had feedback: if it is the second connection of a relayed flow, the first may have to
    /// hear of it.
    #[cold]
    #[inline(never)]
    pub(super) fn note_onward(&mut self, now: Time, flow: FlowId) {
        let Some(proxies) = &mut self.proxies else { return };
        let Some(name) = proxies.onward(flow) else { return };
        let Some((relayed, waiting)) = proxies.parts(name) else { return };
        let State::Naive(naive) = &mut relayed.state else { return };
        let Some((_, live)) = self.senders.find(flow).filter(|_| naive.onward == Onward::Live) else {
            return;
        };
        let news = [
            naive.on_sent(now, live.sender.next(), waiting),
            naive.on_reached(now, live.sender.base(), waiting),
        ];
        for feedback in news.into_iter().flatten() {
            self.replies.push(Reply::bare(name.peer, u16::from(feedback.cumulative as u8), feedback));
        }
    }

    /// A sender has its last ACK: whether it was the second connection of a relayed flow, of which no event tells.
    #[cold]
    pub(super) fn ends_onward(&mut self, now: Time, flow: FlowId) -> bool {
        let onward = self.by_onward(flow).filter(|relayed| relayed.state.has_onward());
        let Some(name) = onward.map(Relayed::name) else { return false };
        self.note_onward(now, flow);
        self.count_onward(name);
        self.set_onward(name, Onward::Ended);
        true
    }

    /// Keeps the counters of a second connection that ends.
    fn count_onward(&mut self, name: PeerFlow) {
        if let Some(all) = self.relayed(name.peer, name.flow)
            && let Some(relayed) = self.proxies.as_mut().and_then(|proxies| proxies.get_mut(name))
        {
            relayed.counters = all;
        }
    }

    /// The proxy of a sender has been silent for too long: the sender goes straight to its receiver.
    #[cold]
    pub(super) fn fall_back(&mut self, now: Time, key: Key<FlowId>) {
        let Some(mut live) = self.senders.remove(key) else { return };
        let (profiles, own) = (&self.profiles, (self.config.seed, self.active_flows()));
        let place = |via: &Via| profiles.place(&via.direct.profile);
        let profile = |via: &Via| place(via).expect("the profile of a route is one of its endpoint's");
        if let Some(direct) = live.sender.go_direct(now, profile, own) {
            self.events.push_back(Event::WentDirect { flow: key.name, at: now });
            self.add_sender(now, direct);
        }
        self.purge_timers();
    }
}
