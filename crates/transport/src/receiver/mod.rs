//! The receiving half of a flow: which packets have arrived, and the feedback to its sender on each.
//!
//! A packet that comes trimmed is answered by a NACK. It is no arrival: it delivers nothing and is counted apart, by
//! the endpoint, as most flows never see one. Its payload may be here from another transmission; the sender finds that
//! out from `cumulative` or by sending once more.
//!
//! All packets of a coded block count as here when enough of them are.
//!
//! Where a flow's profile says so, packets are taken in their order alone: one behind a gap is dropped, and the first of them is
//! answered by a NACK that names the packet that is due (go-back-N).
//!
//! Up to `cumulative` everything has arrived; above it a bitmap knows, one bit a packet. After the last first arrival
//! only a small record stays, which goes on acknowledging duplicates: the ACKs before may have been lost.

mod bitmap;
mod counters;
mod messages;

use crate::ack::{self, AckPolicy};
use crate::balance::Entropy;
use crate::coding::{Decoded, IncomingBlocks, Layout, Progress};
use crate::flow::profile::{AckSignals, FlowProfile};
use crate::notifier::Notifier;
use crate::pulls::{Owed, Pulls};
use crate::replies::{Held, Replies, Reply};
use crate::table::{Named, PeerFlow};
use crate::wire::{self, Fate, Feedback};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bitmap::Bitmap;
pub(crate) use counters::{Counters, ack_entropy_start};
pub use counters::{ReceiverReport, ReceiverView};
use counters::{arrived, trimmed};
use farspan_units::{Bytes, HostId, Telemetry, Time};
use messages::MessageEnds;

/// A packet farther than this above the cumulative one is not taken in: a forged number must not claim memory.
const REACH: u32 = (1 << REACH_BITS) - 1;
const REACH_BITS: u8 = 22;

/// The receiving half of one flow.
#[derive(Debug)]
pub(crate) struct Receiver {
    name: PeerFlow,
    counters: Counters,
    /// Everything below has arrived.
    cumulative: u32,
    arrived: Bitmap,
    /// Where this flow's ACKs start in the round of entropies.
    ack_entropy_start: u8,
    /// The signals that its ACKs bring, apart, so that they fill what is left of a word.
    ack_bytes: u16,
    acks_arrival: bool,
    /// Whether its ACKs have a map.
    maps: bool,
    /// In bits: how far above `cumulative` a packet may lie and still be taken in; 0 where packets are taken in order alone.
    reach_bits: u8,
    /// The blocks of a coded message.
    pub blocks: Option<Box<IncomingBlocks>>,
    /// Its duties beside an ACK for each packet at once, if there are any.
    duties: Option<Box<Duties>>,
}

/// The duties of a receiver that does more than acknowledge each packet at once.
#[derive(Debug)]
pub(crate) struct Duties {
    policy: ack::Acknowledger,
    /// The ACK that is held, or was held last.
    held: Option<Held>,
    /// The ACK that goes with the next one.
    waiting: Option<Reply>,
    /// The pulls that it owes.
    owed: Option<Owed>,
    /// The CNPs that it sends.
    notifier: Option<Notifier>,
    /// Whether ACKs repeat a mark now; `None`: the profile has no such ACKs.
    repeats: Option<bool>,
    /// Where the messages of a persistent flow end.
    messages: Option<Box<MessageEnds>>,
    /// Whether packets are taken in their order alone.
    in_order: bool,
    /// The packet that such a receiver last named as missing.
    named: Option<u32>,
}

impl Duties {
    /// Those of a profile, of `owed` pulls and of CNPs; `None`: there are none.
    pub(crate) fn new(
        profile: &FlowProfile,
        owed: Option<Owed>,
        notifier: Option<Notifier>,
    ) -> Option<Box<Self>> {
        let &FlowProfile { ref acks, repeats_marks, persistent, in_order, .. } = profile;
        let (policy, repeats) = (acks.build(), repeats_marks.then_some(false));
        let any = policy.wants_arrivals()
            || owed.is_some()
            || notifier.is_some()
            || repeats_marks
            || persistent
            || in_order;
        let messages = persistent.then(Box::default);
        any.then(|| {
            let (held, waiting, named) = (None, None, None);
            Box::new(Self { policy, held, waiting, owed, notifier, repeats, messages, in_order, named })
        })
    }

    /// The mark that the ACK of a packet brings which came with this one, or says that the sender has cut its window.
    fn mark_of(&mut self, ecn_ce: bool, has_cut: bool) -> bool {
        let Some(repeats) = &mut self.repeats else { return ecn_ce };
        *repeats = ecn_ce || (*repeats && !has_cut);
        *repeats
    }
}

/// The outcome of the arrival of a packet of a coded message.
pub(crate) struct CodedArrival {
    /// Goes back to its sender.
    pub feedback: Feedback,
    /// Whether the packet came for the first time, and its block was not complete.
    pub is_new: bool,
    /// A block that is complete now and has segments to be decoded.
    pub decodable: Option<u32>,
    /// The packet's part in goodput: see [`Progress::goodput`].
    pub delivered: Bytes,
}

/// The outcome of the arrival of a packet of a message without blocks.
pub(crate) struct UncodedArrival {
    /// Goes back to its sender.
    pub feedback: Feedback,
    /// Whether the packet came for the first time.
    pub is_new: bool,
}

impl Named for Receiver {
    type Name = PeerFlow;

    #[inline]
    fn name(&self) -> PeerFlow {
        self.name
    }
}

impl Receiver {
    /// A receiver for a message of `packets` packets, whose ACKs start at this entropy and bring these signals.
    pub(crate) fn new(
        name: PeerFlow,
        packets: u32,
        (ack_entropy_start, signals): (u8, AckSignals),
        duties: Option<Box<Duties>>,
    ) -> Self {
        let counters = Counters::new(packets);
        let holds = duties.as_ref().is_some_and(|duties| !duties.policy.holds().is_zero());
        let in_order = duties.as_ref().is_some_and(|duties| duties.in_order);
        Self {
            name,
            counters,
            cumulative: 0,
            arrived: Bitmap::new(),
            ack_entropy_start,
            ack_bytes: signals.bytes,
            acks_arrival: signals.arrival,
            maps: signals.map || holds,
            reach_bits: if in_order { 0 } else { REACH_BITS },
            blocks: None,
            duties,
        }
    }

    /// A receiver for a coded message.
    pub(crate) fn coded(
        name: PeerFlow,
        layout: Layout,
        acks: (u8, AckSignals),
        duties: Option<Box<Duties>>,
    ) -> Self {
        let blocks = Some(Box::new(IncomingBlocks::new(layout)));
        Self { blocks, ..Self::new(name, layout.packets(), acks, duties) }
    }

    /// A packet arrived; `None` if it cannot belong to the message or lies out of reach.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, data: &wire::Data, ecn_ce: bool) -> Option<UncodedArrival> {
        if !self.takes_in(data) || self.blocks.is_some() {
            return None;
        }
        self.counters.count(ecn_ce);
        let is_new = data.seq >= self.cumulative && self.insert(data.seq);
        if is_new {
            self.counters.deliver(u64::from(data.len));
        }
        Some(UncodedArrival { feedback: self.arrived(data, ecn_ce, false), is_new })
    }

    /// Whether a packet is dropped: it lies behind a gap, where packets are taken in their order alone.
    pub(crate) const fn refuses(&self, data: &wire::Data) -> bool {
        self.reach_bits == 0 && data.seq > self.cumulative
    }

    /// A packet is dropped that lies behind a gap; the first one since the gap opened gives a NACK of the packet that is due.
    #[cold]
    pub(crate) fn refuse(&mut self, data: &wire::Data, ecn_ce: bool) -> Option<Feedback> {
        if !self.knows(data) {
            return None;
        }
        self.counters.count(ecn_ce);
        let (flow, due) = (data.flow, self.cumulative);
        let named = self.duties.as_mut()?.named.replace(due);
        let fate = Fate::Missing { packets: 1 };
        (named != Some(due)).then_some(Feedback { flow, seq: due, cumulative: due, fate })
    }

    /// A packet of a coded message arrived; `None` as in [`Self::on_data`].
    pub(crate) fn on_coded(
        &mut self,
        now: Time,
        coded: &wire::Coded,
        layout: Layout,
        ecn_ce: bool,
    ) -> Option<CodedArrival> {
        let wire::Data { seq, .. } = coded.data;
        if !self.takes_in(&coded.data) || self.blocks.as_ref()?.layout() != &layout {
            return None;
        }
        self.counters.count(ecn_ce);
        let block = layout.block_of(seq);
        let is_new = seq >= self.cumulative && self.insert(seq);
        let blocks = self.blocks.as_mut()?;
        let Progress { is_complete, goodput } = if is_new {
            blocks.on_new(now, seq, coded.block_wait())
        } else {
            Progress { is_complete: blocks.on_duplicate(block, seq), goodput: Bytes::ZERO }
        };
        self.counters.deliver(goodput.get());
        let decodable = if is_new && is_complete { self.complete(&layout, block) } else { None };
        let feedback = self.arrived(&coded.data, ecn_ce, is_complete);
        Some(CodedArrival { feedback, is_new, decodable, delivered: goodput })
    }

    /// Enough packets of `block` have arrived: the others count as here. Gives the block if segments are to be decoded.
    fn complete(&mut self, layout: &Layout, block: u32) -> Option<u32> {
        let mut decodes = false;
        for seq in layout.packets_of(block) {
            if seq < self.cumulative || !self.insert(seq) {
                continue;
            }
            if layout.is_source(seq) {
                decodes = true;
                self.blocks.as_mut()?.on_decoded(seq);
            }
        }
        decodes.then_some(block)
    }

    /// A packet came trimmed; `None` as in [`Self::on_data`].
    pub(crate) fn on_trimmed(&self, data: &wire::Data, at_last_hop: bool, ecn_ce: bool) -> Option<Feedback> {
        self.knows(data).then(|| trimmed(data, at_last_hop, ecn_ce, self.cumulative))
    }

    #[inline(always)]
    fn takes_in(&self, data: &wire::Data) -> bool {
        (self.counters.owns(data) || self.may_have(data.seq, data.packets))
            && data.seq.saturating_sub(self.cumulative) >> self.reach_bits == 0
    }

    /// Whether it can be a packet of this flow, taken in or not.
    fn knows(&self, data: &wire::Data) -> bool {
        (self.counters.owns(data) || self.may_have(data.seq, data.packets))
            && data.seq.saturating_sub(self.cumulative) <= REACH
    }

    /// Whether packet `seq`, whose message ends before `end`, can be one of a persistent flow.
    #[cold]
    #[inline(never)]
    fn may_have(&self, seq: u32, end: u32) -> bool {
        self.messages().is_some_and(|messages| messages.may_have(seq, end))
    }

    fn messages(&self) -> Option<&MessageEnds> {
        self.duties.as_ref()?.messages.as_deref()
    }

    /// Takes out the oldest message of a persistent flow that is here in full, and was not taken out before.
    pub(crate) fn take_delivered(&mut self, now: Time, mss: Bytes) -> Option<ReceiverReport> {
        let state = (self.cumulative, &self.counters, mss);
        self.duties.as_mut()?.messages.as_mut()?.take_delivered(now, self.name, state)
    }

    /// A block whose timer has run out at `now`; call until `None`. [`Self::missing`] says what to ask for.
    pub(crate) fn take_timeout(&mut self, now: Time) -> Option<u32> {
        self.blocks.as_mut()?.take_timeout(now)
    }

    /// The entropy of the NACK of a block that is sent now: NACKs go round over the entropies as ACKs do.
    pub(crate) fn nack_entropy(&mut self) -> Entropy {
        let nacks = self.blocks.as_mut().map_or(0, |blocks| {
            blocks.nacks = blocks.nacks.wrapping_add(1);
            blocks.nacks
        });
        self.counters.ack_entropy(self.ack_entropy_start.wrapping_add(nacks))
    }

    /// NACKs for the packets of `block` that have not arrived, each of up to 32.
    pub(crate) fn missing(&self, block: u32) -> Vec<Feedback> {
        let packets = self.blocks.as_ref().map_or(0..0, |blocks| blocks.layout().packets_of(block));
        let is_missing = |seq: u32| seq >= self.cumulative && !self.arrived.contains(self.cumulative, seq);
        let nack = |first| {
            let bits = (0..32.min(packets.end - first)).filter(|bit| is_missing(first + bit));
            let packets = bits.fold(0, |packets, bit| packets | 1 << bit);
            let (flow, seq, cumulative) = (self.name.flow, first, self.cumulative);
            (packets != 0).then_some(Feedback { flow, seq, cumulative, fate: Fate::Missing { packets } })
        };
        packets.clone().step_by(32).filter_map(nack).collect()
    }

    /// The blocks' remains when the message is complete.
    pub(crate) fn into_decoded(self) -> Option<Decoded> {
        self.blocks.and_then(|blocks| blocks.into_decoded())
    }

    /// Notes a packet at or above `cumulative`; returns whether it is new.
    #[inline(always)]
    fn insert(&mut self, seq: u32) -> bool {
        if seq == self.cumulative {
            self.cumulative += 1;
            if !self.arrived.is_empty() {
                self.cumulative += self.arrived.take_run(self.cumulative);
            }
            return true;
        }
        self.arrived.insert(self.cumulative, seq)
    }

    /// The ACK of a packet waits for the NIC, or is held as the flow's policy says; behind it a CNP, if the packet brings one;
    /// the packet earns its pull, if the flow's profile has any. Says whether something is left to do: see [`Self::takes_turn`].
    #[inline(always)]
    pub(crate) fn acknowledge(
        &mut self,
        now: Time,
        is_new: bool,
        ecn_ce: bool,
        data: &wire::Data,
        reply: Reply,
        replies: &mut Replies,
    ) -> bool {
        if self.duties.is_none() {
            replies.push(reply);
            return false;
        }
        self.acknowledge_by_policy(now, is_new, ecn_ce, (data.packets, data.len, data.ask), reply, replies)
    }

    #[cold]
    fn acknowledge_by_policy(
        &mut self,
        now: Time,
        is_new: bool,
        ecn_ce: bool,
        (end, len, asks): (u32, u16, bool),
        mut reply: Reply,
        replies: &mut Replies,
    ) -> bool {
        let (is_last, seq) = (self.is_complete(), reply.feedback.seq);
        let to = PeerFlow { peer: reply.to, flow: reply.feedback.flow };
        let Some(duties) = &mut self.duties else { return false };
        let Fate::Arrived { block_complete, ecn_ce: echoed, .. } = &mut reply.feedback.fate else {
            return false;
        };
        let block_complete = *block_complete;
        *echoed = duties.mark_of(ecn_ce, asks);
        let is_echoed = *echoed;
        let mut ends_message = false;
        if let Some(messages) = &mut duties.messages {
            if is_new {
                messages.note(seq, end, len);
            }
            ends_message = messages.has_delivered(self.cumulative);
        }
        let arrival = ack::Arrival {
            now,
            seq,
            bytes: Bytes::new(u64::from(len)),
            is_new,
            is_covered: seq < self.cumulative,
            is_mapped: seq.saturating_sub(self.cumulative) <= u64::BITS,
            opens_gap: is_new && seq >= self.cumulative && self.arrived.is_single(),
            fills_gap: is_new
                && seq < self.cumulative
                && (self.cumulative - seq > 1 || !self.arrived.is_empty()),
            ecn_ce: is_echoed,
            asks,
            completes_block: block_complete,
            is_last,
        };
        let held = duties.held.take().and_then(|held| replies.forget(held));
        let waiting = duties.waiting.take().or(held);
        match duties.policy.on_arrival(&arrival) {
            ack::Release::Now => replies.push(reply),
            ack::Release::At(at) => duties.held = Some(replies.hold(at, reply)),
            ack::Release::WithNext => duties.waiting = Some(reply),
            ack::Release::Apart => {
                waiting.into_iter().for_each(|waiting| replies.push(waiting));
                replies.push(reply);
            }
        }
        let is_held = duties.held.is_some();
        self.notify(now, to, ecn_ce, replies);
        self.earn_pull(is_new) || is_held || ends_message
    }

    /// A packet has come, whole or trimmed: a CNP to where it came from waits for the NIC if the flow's profile asks for one.
    pub(crate) fn notify(&mut self, now: Time, to: PeerFlow, ecn_ce: bool, replies: &mut Replies) {
        let notifier = self.duties.as_mut().and_then(|duties| duties.notifier.as_mut());
        if notifier.is_some_and(|notifier| notifier.on_arrival(now, ecn_ce)) {
            let entropy = self.counters.ack_entropy(self.ack_entropy_start);
            let (flow, cumulative) = (to.flow, self.cumulative);
            replies.push(Reply::bare(
                to.peer,
                entropy,
                Feedback { flow, seq: 0, cumulative, fate: Fate::Cnp },
            ));
        }
    }

    /// A packet has come, whole or trimmed: a pull is owed. Says whether the flow's profile has pulls.
    pub(crate) fn earn_pull(&mut self, is_new: bool) -> bool {
        let packets = self.counters.packets();
        let owed = self.duties.as_mut().and_then(|duties| duties.owed.as_mut());
        owed.map(|owed| owed.earn(is_new, packets)).is_some()
    }

    /// Whether the flow is to wait for its turn to pull from now on.
    pub(crate) fn takes_turn(&mut self) -> bool {
        self.duties.as_mut().and_then(|duties| duties.owed.as_mut()).is_some_and(Owed::takes_turn)
    }

    /// It is the flow's turn to pull: gives the pull, which leaves now, if one is owed still.
    pub(crate) fn pull(&mut self, now: Time, pulls: &mut Pulls) -> Option<Reply> {
        let owed = self.duties.as_mut()?.owed.as_mut()?;
        let count = pulls.leave(now, self.name, owed)?;
        let entropy = self.counters.ack_entropy(self.ack_entropy_start.wrapping_add(count as u8));
        let (PeerFlow { peer, flow }, cumulative) = (owed.to, self.cumulative);
        let feedback = Feedback { flow, seq: 0, cumulative, fate: Fate::Pull { count } };
        Some(Reply::bare(peer, entropy, feedback))
    }

    /// A host is forgotten through which packets may have come: nothing more is said to it, and pulls go to the sender.
    pub(crate) fn forget_proxy(&mut self, host: HostId) {
        let Some(duties) = &mut self.duties else { return };
        duties.waiting.take_if(|reply| reply.to == host);
        if let Some(owed) = duties.owed.as_mut().filter(|owed| owed.to.peer == host) {
            owed.to = self.name;
        }
    }

    /// The ACK of a packet. Its map, if it has one: which of the 64 packets after the cumulative one, which is missing, have
    /// arrived, the first the lowest bit.
    #[inline(always)]
    fn arrived(&self, data: &wire::Data, ecn_ce: bool, block_complete: bool) -> Feedback {
        let floor = self.cumulative;
        let map = if self.maps && !self.arrived.is_empty() { self.arrived.map(floor, floor + 1) } else { 0 };
        arrived(data, (floor, map), ecn_ce, block_complete)
    }

    /// The ACK of the arrival of just now; `telemetry`: what came with that packet.
    #[inline]
    pub(crate) fn ack(
        &self,
        now: Time,
        to: HostId,
        feedback: Feedback,
        telemetry: Option<Box<Telemetry>>,
    ) -> Reply {
        let entropy = self.counters.ack_entropy(self.ack_entropy_start);
        let signals = AckSignals { bytes: self.ack_bytes, arrival: self.acks_arrival, map: self.maps };
        Reply::ack(now, (to, entropy), signals, feedback, telemetry)
    }

    /// All packets below have arrived.
    pub(crate) const fn cumulative(&self) -> u32 {
        self.cumulative
    }

    /// Whether the whole message has arrived.
    #[inline]
    pub(crate) const fn is_complete(&self) -> bool {
        self.cumulative == self.counters.packets()
    }

    /// The counts so far.
    #[inline]
    pub(crate) const fn counters(&self) -> &Counters {
        &self.counters
    }
}

#[cfg(test)]
mod tests;
