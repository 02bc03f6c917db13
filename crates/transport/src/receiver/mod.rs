//! The receiving half of a flow: which packets have arrived, and the feedback to its sender on each.
//!
//! A packet that comes trimmed is answered by a NACK. It is no arrival: it delivers nothing and is counted apart, by
//! the endpoint, as most flows never see one. Its payload may be here from another transmission; the sender finds that
//! out from `cumulative` or by sending once more.
//!
//! Of a coded message all packets of a block count as here when enough of them are.
//!
//! Up to `cumulative` everything has arrived; above it a bitmap knows, one bit a packet. After the last first arrival
//! only a small record stays, which goes on acknowledging duplicates: the ACKs before may have been lost.

mod bitmap;
mod counters;

use crate::ack::{self, AckConfig, AckPolicy};
use crate::balance::Entropy;
use crate::coding::{Decoded, IncomingBlocks, Layout};
use crate::replies::{Held, Replies, Reply};
use crate::table::OfFlow;
use crate::wire::{self, Fate, Feedback};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bitmap::Bitmap;
pub(crate) use counters::{Counters, ack_entropy_start};
pub use counters::{ReceiverReport, ReceiverView};
use counters::{arrived, trimmed};
use farspan_units::{Bytes, FlowId, HostId, Time};

/// A packet farther than this above the cumulative one is not taken in: a forged number must not claim memory.
const REACH: u32 = 1 << 22;

/// The receiving half of one flow.
#[derive(Debug)]
pub(crate) struct Receiver {
    flow: FlowId,
    counters: Counters,
    /// Everything below has arrived.
    cumulative: u32,
    arrived: Bitmap,
    /// Where this flow's ACKs start in the round of entropies.
    ack_entropy_start: u8,
    /// The blocks of a coded message.
    pub blocks: Option<Box<IncomingBlocks>>,
    /// When its packets are acknowledged; `None`: each at once.
    acks: Option<Box<Acks>>,
}

/// When the packets of a flow are acknowledged.
#[derive(Debug)]
pub(crate) struct Acks {
    policy: ack::Acknowledger,
    /// The ACK that is held, or was held last.
    held: Option<Held>,
}

impl Acks {
    /// The policy of `config`; `None`: an ACK for each packet at once.
    pub(crate) fn new(config: &AckConfig) -> Option<Box<Self>> {
        let policy = config.build();
        policy.wants_arrivals().then(|| Box::new(Self { policy, held: None }))
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
    /// Payload that is here now and was not before: the packet's, if it carries a segment, and what is decoded.
    pub delivered: Bytes,
}

/// The outcome of the arrival of a packet of a message without blocks.
pub(crate) struct UncodedArrival {
    /// Goes back to its sender.
    pub feedback: Feedback,
    /// Whether the packet came for the first time.
    pub is_new: bool,
}

impl OfFlow for Receiver {
    #[inline]
    fn flow(&self) -> FlowId {
        self.flow
    }
}

impl Receiver {
    /// A receiver for a message of `packets` packets.
    pub(crate) const fn new(
        flow: FlowId,
        packets: u32,
        ack_entropy_start: u8,
        acks: Option<Box<Acks>>,
    ) -> Self {
        let counters = Counters::new(packets);
        Self { flow, counters, cumulative: 0, arrived: Bitmap::new(), ack_entropy_start, blocks: None, acks }
    }

    /// A receiver for a coded message, which `from` sends.
    pub(crate) fn coded(
        flow: FlowId,
        from: HostId,
        layout: Layout,
        ack_entropy_start: u8,
        acks: Option<Box<Acks>>,
    ) -> Self {
        let blocks = Some(Box::new(IncomingBlocks::new(from, layout)));
        Self { blocks, ..Self::new(flow, layout.packets(), ack_entropy_start, acks) }
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
        Some(UncodedArrival { feedback: arrived(data, self.cumulative, ecn_ce, false), is_new })
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
        let before = self.counters.goodput();
        let (block, mut decodable) = (layout.block_of(seq), None);
        let is_new = seq >= self.cumulative && self.insert(seq);
        let blocks = self.blocks.as_mut()?;
        let block_complete = if is_new {
            blocks.on_new(now, block, coded.block_wait())
        } else {
            blocks.on_duplicate(block, seq)
        };
        if is_new {
            self.deliver(&layout, seq);
            decodable = if block_complete { self.complete(&layout, block) } else { None };
        }
        let feedback = arrived(&coded.data, self.cumulative, ecn_ce, block_complete);
        let goodput = self.counters.goodput();
        Some(CodedArrival { feedback, is_new, decodable, delivered: goodput - before })
    }

    /// The payload of packet `seq` is here.
    fn deliver(&mut self, layout: &Layout, seq: u32) {
        if layout.is_source(seq) {
            self.counters.deliver(u64::from(layout.len(seq)));
        }
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
                self.deliver(layout, seq);
                self.blocks.as_mut()?.on_decoded(seq);
            }
        }
        decodes.then_some(block)
    }

    /// A packet came trimmed; `None` as in [`Self::on_data`].
    pub(crate) fn on_trimmed(&self, data: &wire::Data) -> Option<Feedback> {
        self.takes_in(data).then(|| trimmed(data, self.cumulative))
    }

    fn takes_in(&self, data: &wire::Data) -> bool {
        self.counters.owns(data) && data.seq.saturating_sub(self.cumulative) <= REACH
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
            let (flow, seq, cumulative) = (self.flow, first, self.cumulative);
            (packets != 0).then_some(Feedback { flow, seq, cumulative, fate: Fate::Missing { packets } })
        };
        packets.clone().step_by(32).filter_map(nack).collect()
    }

    /// The blocks' remains when the message is complete.
    pub(crate) fn into_decoded(self) -> Option<Decoded> {
        self.blocks.and_then(|blocks| blocks.into_decoded())
    }

    /// Notes a packet at or above `cumulative`; returns whether it is new.
    #[inline]
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

    /// The ACK of a packet waits for the NIC, or is held as the flow's policy says: says whether it is.
    #[inline(always)]
    pub(crate) fn acknowledge(
        &mut self,
        now: Time,
        is_new: bool,
        ecn_ce: bool,
        reply: Reply,
        replies: &mut Replies,
    ) -> bool {
        if self.acks.is_none() {
            replies.push(reply);
            return false;
        }
        let (is_covered, is_last) = (reply.feedback.seq < self.cumulative, self.is_complete());
        self.acknowledge_by_policy(ack::Arrival { now, is_new, is_covered, ecn_ce, is_last }, reply, replies)
    }

    #[cold]
    fn acknowledge_by_policy(&mut self, arrival: ack::Arrival, reply: Reply, replies: &mut Replies) -> bool {
        let Some(acks) = &mut self.acks else { return false };
        if let Some(held) = acks.held.take() {
            replies.forget(held);
        }
        match acks.policy.on_arrival(&arrival) {
            ack::Release::Now => replies.push(reply),
            ack::Release::At(at) => acks.held = Some(replies.hold(at, reply)),
        }
        acks.held.is_some()
    }

    /// The entropy of the ACK of the latest arrival.
    #[inline]
    pub(crate) fn ack_entropy(&self) -> Entropy {
        self.counters.ack_entropy(self.ack_entropy_start)
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
