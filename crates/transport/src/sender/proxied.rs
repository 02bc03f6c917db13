//! A sender whose message goes through a proxy: what the proxy says, and how it goes straight to the receiver when the proxy
//! falls silent.

use super::Sender;
use super::cold_state::ColdState;
use super::feedback::WireAck;
use super::packet::{DataPacket, More, Take};
use crate::congestion::{self, NackCause};
use crate::flow::message::Message;
use crate::path::Path;
use crate::proxy::{Numbers, Via};
use crate::recovery::{LossCounters, SentMap};
use crate::wire::{self, Place};
use alloc::boxed::Box;
use alloc::sync::Arc;
use farspan_units::{Bytes, HostId, Time};

/// The state of a message on its way through a proxy.
#[derive(Debug)]
pub(super) struct ViaState {
    via: Arc<Via>,
    /// Where the message ends.
    receiver: HostId,
    /// All packets below have reached the receiver, as far as the proxy has passed on.
    passed: u32,
}

/// The state of a sender whose message goes through a proxy, or went through one before.
#[derive(Debug)]
pub(super) struct ProxiedState {
    /// When feedback came last, or else when the flow started.
    pub feedback_at: Time,
    /// For a message that goes through a proxy.
    via: Option<ViaState>,
    /// The numbers of its transmissions, if they have any.
    pub numbers: Option<Numbers>,
    /// The part that was sent through a proxy before.
    before: Option<Before>,
}

impl ProxiedState {
    /// That of a message, if it goes through a proxy.
    pub(super) fn of(now: Time, message: &Message) -> Option<Self> {
        let via = message.via.as_ref().map(Arc::clone)?;
        let round_trip = message.route.path.intra_base_rtt;
        let numbers = via.numbers.map(|numbering| Numbers::new(numbering, round_trip));
        let via = Some(ViaState { via, receiver: message.to, passed: 0 });
        Some(Self { feedback_at: now, via, numbers, before: None })
    }
}

/// The part of a message that was sent before it went straight to its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    /// Where it was sent.
    proxy: HostId,
    /// The first packet that had not been sent.
    pub next: u32,
    /// The first packet that was not known to have arrived: the first that leaves again.
    from: u32,
    /// The counters.
    losses: LossCounters,
}

impl ColdState {
    /// Feedback has come.
    pub(super) fn note_news(&mut self, now: Time) {
        if let Some(state) = &mut self.proxied {
            state.feedback_at = now;
        }
    }

    /// The numbers of the message's transmissions, if they have any.
    pub(super) fn numbers(&mut self) -> Option<&mut Numbers> {
        self.proxied.as_mut()?.numbers.as_mut()
    }
}

impl Sender {
    fn via_state(&self) -> Option<&ViaState> {
        self.cold.as_ref()?.proxied.as_ref()?.via.as_ref()
    }

    fn via(&mut self) -> Option<&mut ViaState> {
        self.cold.as_mut()?.proxied.as_mut()?.via.as_mut()
    }

    #[inline]
    pub(super) fn before(&self) -> Option<&Before> {
        self.cold.as_ref()?.proxied.as_ref()?.before.as_ref()
    }

    /// Where the message ends.
    pub(crate) fn receiver(&self) -> HostId {
        self.via_state().map_or(self.to, |state| state.receiver)
    }

    /// Whether feedback from this host counts: from where its packets go, or went before.
    #[inline]
    pub(crate) fn listens_to(&self, host: HostId) -> bool {
        self.to == host || self.before().is_some_and(|before| before.proxy == host)
    }

    /// Nothing of the message is here yet.
    pub(crate) fn empty_handed(mut self, now: Time, message: &Message) -> Self {
        self.cold_of(now, message).available = 0;
        self
    }

    /// The cold state, which `message` alone does not ask for.
    fn cold_of(&mut self, now: Time, message: &Message) -> &mut ColdState {
        let packets = self.packets;
        self.cold.get_or_insert_with(|| {
            let recovery = message.route.recovery.policy.build(now);
            ColdState::with(now, message, packets, recovery, None, None)
        })
    }

    /// No packet from this one on may be sent yet.
    #[inline]
    pub(super) fn available(&self) -> u32 {
        self.cold.as_ref().map_or(self.packets, |cold| cold.available)
    }

    /// More of the message is here: all packets below this one.
    pub(crate) fn extend(&mut self, available: u32) {
        if let Some(cold) = &mut self.cold {
            cold.available = cold.available.max(available.min(self.packets));
        }
    }

    /// Whether those that acknowledge are not the receiver's, which has not all of it yet as far as is known.
    #[cold]
    pub(super) fn awaits_receiver(&self) -> bool {
        self.via_state().is_some_and(|state| state.via.acknowledges && state.passed < self.packets)
    }

    /// The first packet that was never sent.
    #[inline]
    pub(crate) const fn next(&self) -> u32 {
        self.sent.next()
    }

    /// The oldest packet that is not acknowledged.
    #[inline]
    pub(crate) const fn base(&self) -> u32 {
        self.sent.base()
    }

    /// Feedback that is no ACK has come: the control hears of the packets below `cumulative` with the next ACK.
    pub(super) fn acknowledge_unreported(&mut self, now: Time, cumulative: u32) {
        let before = self.delivered;
        self.acknowledge_below(now, cumulative);
        let news = self.delivered - before;
        self.sent.counters_mut().leave_unreported(news);
        self.note_news(now);
    }

    /// Feedback has come.
    pub(super) fn note_news(&mut self, now: Time) {
        if let Some(cold) = &mut self.cold {
            cold.note_news(now);
        }
    }

    /// A packet has reached the proxy. Returns whether the next time-out may run out earlier than before.
    #[cold]
    pub(super) fn on_taken(&mut self, now: Time, ack: &WireAck<'_>, limit: u32) -> bool {
        if !self.via().is_some_and(|state| state.via.acknowledges) {
            return false;
        }
        let is_earlier = self.on_ack(now, ack);
        self.extend(limit);
        is_earlier
    }

    /// The proxy has passed on what the receiver said.
    #[cold]
    pub(super) fn on_passed_on(&mut self, now: Time, cumulative: u32, limit: u32) {
        let packets = self.packets;
        let Some(state) = self.via().filter(|state| state.via.acknowledges) else { return };
        state.passed = state.passed.max(cumulative.min(packets));
        self.acknowledge_unreported(now, cumulative);
        self.extend(limit);
    }

    /// Whether a lane has no mark after its last packet; it leaves when there is nothing else to send.
    #[cold]
    pub(super) fn owes_mark(&self) -> bool {
        let numbers = self.cold.as_ref().and_then(|cold| cold.proxied.as_ref()?.numbers.as_ref());
        numbers.is_some_and(Numbers::owes_mark)
    }

    /// A mark leaves; as [`Self::transmit`].
    #[cold]
    pub(super) fn transmit_mark(&mut self, now: Time, to: impl Take) -> Time {
        let mark = self.cold.as_mut().and_then(|cold| cold.numbers()?.take_mark(now));
        let (entropy, place) = mark.expect("a mark is owed");
        let Path { header: size, line_rate, .. } = self.route.path;
        self.pacer.on_sent(now, size, self.pacing_rate, line_rate);
        let (flow, packets, profile) = (self.flow, self.packets, self.profile);
        let header =
            wire::Data { flow, seq: packets, packets, len: 0, sent_at: now, entropy, profile, ask: false };
        to.take(DataPacket { to: self.to, header, more: More::Place(place), retransmission: false, size });
        self.deadline(now).min(self.repeats_marks_at())
    }

    /// When marks that the proxy has not confirmed leave again; [`Time::MAX`]: there is none.
    pub(super) fn repeats_marks_at(&self) -> Time {
        let numbers = self.cold.as_ref().and_then(|cold| cold.proxied.as_ref()?.numbers.as_ref());
        numbers.map_or(Time::MAX, Numbers::repeat_at)
    }

    /// Marks that the proxy has not confirmed are to leave again, if it is time and something is in flight.
    pub(super) fn repeat_marks(&mut self, now: Time) {
        let is_of_use = !self.in_flight.is_zero();
        if let Some(numbers) = self.cold.as_mut().and_then(|cold| cold.numbers()) {
            numbers.repeat(now, is_of_use);
        }
    }

    /// A proxy has found transmissions lost, or confirms a mark.
    #[cold]
    pub(super) fn on_gap(&mut self, now: Time, first: Place, count: u16) {
        self.note_news(now);
        let Some(numbers) = self.cold.as_mut().and_then(|cold| cold.numbers()) else { return };
        if count == 0 {
            return numbers.confirm(first);
        }
        let named = numbers.resolve(first, count);
        let (mut bytes, mut sent_at) = (Bytes::ZERO, Time::ZERO);
        for (seq, left_at) in named {
            if let Some(lost) = self.sent.take_one(now, seq, left_at) {
                bytes += self.take_nacked(now, lost, (true, false));
                sent_at = sent_at.max(lost.sent_at);
            }
        }
        self.sent.counters_mut().nacks += 1;
        if !bytes.is_zero() {
            let in_flight = self.in_flight;
            let nack = congestion::Nack { now, bytes, sent_at, in_flight, cause: NackCause::Gap };
            let decision = self.route.on_nack.apply(&mut self.control, &nack);
            self.decide(decision);
        }
    }

    /// When the proxy has been silent for too long; [`Time::MAX`]: there is none.
    pub(super) fn silence_ends(&self) -> Time {
        let proxied = self.cold.as_ref().and_then(|cold| cold.proxied.as_ref());
        let Some(ProxiedState { via: Some(state), feedback_at, .. }) = proxied.map(|state| &**state) else {
            return Time::MAX;
        };
        feedback_at.saturating_add(state.via.longest_silence)
    }

    /// Whether the proxy has been silent for too long.
    pub(crate) fn gives_proxy_up(&self, now: Time) -> bool {
        self.silence_ends() <= now
    }

    /// The message, straight to its receiver, from the first packet on that is not known to have arrived there; as if
    /// it began now. `None`: it does not go through a proxy.
    pub(crate) fn go_direct(
        &mut self,
        now: Time,
        profile: impl Fn(&Via) -> u8,
        (seed, active_flows): (u64, u32),
    ) -> Option<Self> {
        let (size, losses, next, base) = (self.size(), self.all_losses(), self.sent.next(), self.sent.base());
        let flow = self.flow;
        let state = self.via()?;
        let (via, to) = (Arc::clone(&state.via), state.receiver);
        let from = if via.acknowledges { state.passed } else { base };
        let (route, initial_cwnd) = (Arc::clone(&via.direct), via.direct_cwnd);
        let message = Message { flow, to, size, initial_cwnd, route, via: None };
        let mut direct = Self::new(now, &message, profile(&via), seed, active_flows);
        direct.sent = SentMap::from_packet(direct.sent.keeps_entropies(), from);
        direct.delivered = (0..from).map(|seq| direct.len(seq)).sum();
        let before = Some(Before { proxy: via.proxy, next, from, losses });
        let state = ProxiedState { feedback_at: now, via: None, numbers: None, before };
        direct.cold_of(now, &message).proxied = Some(Box::new(state));
        Some(direct)
    }

    /// The loss counters, those of the way through a proxy that fell silent included; what was sent on that way and leaves
    /// again is a retransmission.
    pub(super) fn all_losses(&self) -> LossCounters {
        let mut all = self.sent.counters();
        let Some(Before { next, from, losses, .. }) = self.before() else { return all };
        let again = *from..self.sent.next().min(*next);
        all.retransmitted_packets += losses.retransmitted_packets + again.len() as u32;
        let bytes: Bytes = again.map(|seq| self.len(seq)).sum();
        all.retransmitted_bytes += losses.retransmitted_bytes + bytes;
        all.timeouts += losses.timeouts;
        all.nacks += losses.nacks;
        all.losses += losses.losses;
        all.probes += losses.probes;
        all.spurious += losses.spurious;
        all
    }
}
