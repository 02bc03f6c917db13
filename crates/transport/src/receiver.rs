//! The receiving half of a flow: which packets have arrived, and one ACK for each arrival.
//!
//! A packet that comes trimmed is answered by a NACK. It is no arrival: it delivers nothing and is counted apart, by the
//! endpoint, as most flows never see one. Its payload may be here from another transmission; the sender finds that out
//! from `cumulative` or by sending once more.
//!
//! Of a coded message all packets of a block count as here when enough of them are.
//!
//! Up to `cumulative` everything has arrived; above it a bitmap knows, one bit a packet. After the last first arrival
//! only a small record stays, which goes on acknowledging duplicates: the ACKs before may have been lost.

use crate::balance::Entropy;
use crate::coding::{Decoded, Incoming, Layout};
use crate::counters::ReceiverCounters;
use crate::table::OfFlow;
use crate::wire;
use alloc::boxed::Box;
use alloc::vec::Vec;
use farspan_units::{Bytes, FlowId, HostId, Purpose, Random, Time};

/// A message that has arrived in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverReport {
    /// The flow.
    pub flow: FlowId,
    /// Where it came from.
    pub from: HostId,
    /// When the last byte came.
    pub delivered_at: Time,
    /// Its payload.
    pub bytes: Bytes,
    /// Packets that arrived whole until then, duplicates included.
    pub arrived_packets: u64,
    /// Of these, packets with a congestion mark.
    pub marked_packets: u64,
}

/// A receiver, live or finished, for probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverView {
    /// The flow.
    pub flow: FlowId,
    /// Payload that arrived for the first time.
    pub goodput: Bytes,
    /// What was counted so far.
    pub counters: ReceiverCounters,
    /// Whether the whole message has arrived.
    pub is_complete: bool,
}

/// A packet farther than this above the cumulative one is not taken in: a forged number must not claim memory.
const REACH: u32 = 1 << 22;

/// What a receiver counts, and all that stays of a finished one: 20 bytes, so that a table of them stays small.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C, packed(4))]
pub(crate) struct Tally {
    goodput: Bytes,
    /// How many packets the message has.
    packets: u32,
    arrived: u32,
    marked: u32,
}

impl Tally {
    /// An arrival; every arrival is acknowledged.
    #[inline]
    fn count(&mut self, ecn_ce: bool) {
        self.arrived = self.arrived.saturating_add(1);
        if ecn_ce {
            self.marked = self.marked.saturating_add(1);
        }
    }

    /// A packet of a message that has arrived in full: acknowledged, if it belongs to the message.
    pub(crate) fn on_duplicate(&mut self, data: &wire::Data, ecn_ce: bool) -> Option<wire::Ack> {
        self.owns(data).then(|| {
            self.count(ecn_ce);
            acknowledge(data, self.packets, ecn_ce)
        })
    }

    /// A packet of a message that has arrived in full came trimmed: refused, if it belongs to the message.
    pub(crate) fn on_trimmed_duplicate(&self, data: &wire::Data) -> Option<wire::Nack> {
        self.owns(data).then(|| refuse(data, self.packets))
    }

    const fn owns(&self, data: &wire::Data) -> bool {
        data.packets == self.packets && data.seq < self.packets
    }

    /// The entropy of the ACK of the latest arrival: ACKs of a flow go round over 256 of them, whatever the scheme.
    #[inline]
    pub(crate) fn ack_entropy(&self, start: u8) -> Entropy {
        Entropy::from(start.wrapping_add(self.arrived as u8))
    }

    #[cfg(test)]
    pub(crate) fn of_packets(packets: u32) -> Self {
        Self { packets, ..Self::default() }
    }

    /// For probes; `trimmed`: how many packets came trimmed; `repaired`: how many blocks were decoded.
    pub(crate) fn view(&self, flow: FlowId, is_complete: bool, trimmed: u32, repaired: u64) -> ReceiverView {
        ReceiverView {
            flow,
            goodput: self.goodput,
            counters: ReceiverCounters {
                arrived_packets: u64::from(self.arrived),
                marked_packets: u64::from(self.marked),
                trimmed_packets: u64::from(trimmed),
                blocks_repaired: repaired,
            },
            is_complete,
        }
    }
}

/// Where a flow's ACKs start in the round of entropies.
pub(crate) fn ack_entropy_start(seed: u64, flow: FlowId) -> u8 {
    Random::new(seed, Purpose::Control, u64::from(flow.0)).at(0) as u8
}

#[inline]
fn acknowledge(data: &wire::Data, cumulative: u32, ecn_ce: bool) -> wire::Ack {
    let wire::Data { flow, seq, sent_at, entropy, .. } = *data;
    wire::Ack { flow, seq, cumulative, sent_at, entropy, ecn_ce, block_complete: false }
}

fn refuse(data: &wire::Data, cumulative: u32) -> wire::Nack {
    let wire::Data { flow, seq, sent_at, entropy, .. } = *data;
    wire::Nack { flow, seq, cumulative, sent_at, entropy }
}

/// The receiving half of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    flow: FlowId,
    tally: Tally,
    /// Everything below has arrived.
    cumulative: u32,
    arrived: Bitmap,
    /// Where this flow's ACKs start in the round of entropies.
    pub ack_entropy_start: u8,
    /// The blocks of a coded message.
    pub blocks: Option<Box<Incoming>>,
}

/// What the arrival of a packet of a coded message leads to.
pub(crate) struct CodedArrival {
    /// The ACK.
    pub ack: wire::Ack,
    /// Whether the packet came for the first time, and its block was not complete.
    pub is_new: bool,
    /// A block that is complete now and has pieces to be decoded.
    pub decodable: Option<u32>,
    /// Payload that is here now and was not before: the packet's, if it carries a piece, and what is decoded.
    pub delivered: Bytes,
}

/// What an arrival leads to.
pub(crate) struct Arrival {
    /// The ACK.
    pub ack: wire::Ack,
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
    pub(crate) const fn new(flow: FlowId, packets: u32, ack_entropy_start: u8) -> Self {
        let tally = Tally { goodput: Bytes::ZERO, packets, arrived: 0, marked: 0 };
        Self { flow, tally, cumulative: 0, arrived: Bitmap::new(), ack_entropy_start, blocks: None }
    }

    /// A receiver for a coded message, which `from` sends.
    pub(crate) fn coded(flow: FlowId, from: HostId, layout: Layout, ack_entropy_start: u8) -> Self {
        let blocks = Some(Box::new(Incoming::new(from, layout)));
        Self { blocks, ..Self::new(flow, layout.packets(), ack_entropy_start) }
    }

    /// A packet arrived; `None` if it cannot belong to the message or lies out of reach.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, data: &wire::Data, ecn_ce: bool) -> Option<Arrival> {
        if !self.takes_in(data) || self.blocks.is_some() {
            return None;
        }
        self.tally.count(ecn_ce);
        let is_new = data.seq >= self.cumulative && self.insert(data.seq);
        if is_new {
            let goodput = self.tally.goodput;
            self.tally.goodput = goodput + Bytes::new(u64::from(data.len));
        }
        Some(Arrival { ack: acknowledge(data, self.cumulative, ecn_ce), is_new })
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
        self.tally.count(ecn_ce);
        let before = self.tally.goodput;
        let (block, mut decodable) = (layout.block_of(seq), None);
        let is_new = seq >= self.cumulative && self.insert(seq);
        let blocks = self.blocks.as_mut()?;
        let block_complete =
            if is_new { blocks.on_new(now, block, coded.block_wait()) } else { blocks.on_again(block, seq) };
        if is_new {
            self.deliver(&layout, seq);
            decodable = if block_complete { self.complete(&layout, block) } else { None };
        }
        let ack = wire::Ack { block_complete, ..acknowledge(&coded.data, self.cumulative, ecn_ce) };
        let goodput = self.tally.goodput;
        Some(CodedArrival { ack, is_new, decodable, delivered: goodput - before })
    }

    /// The payload of packet `seq` is here.
    fn deliver(&mut self, layout: &Layout, seq: u32) {
        if layout.is_source(seq) {
            let goodput = self.tally.goodput;
            self.tally.goodput = goodput + Bytes::new(u64::from(layout.len(seq)));
        }
    }

    /// Enough packets of `block` have arrived: the others count as here. Gives the block if pieces are to be decoded.
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
    pub(crate) fn on_trimmed(&self, data: &wire::Data) -> Option<wire::Nack> {
        self.takes_in(data).then(|| refuse(data, self.cumulative))
    }

    fn takes_in(&self, data: &wire::Data) -> bool {
        self.tally.owns(data) && data.seq.saturating_sub(self.cumulative) <= REACH
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
        self.tally.ack_entropy(self.ack_entropy_start.wrapping_add(nacks))
    }

    /// NACKs for the packets of `block` that have not arrived, each of up to 32.
    pub(crate) fn missing(&self, block: u32) -> Vec<wire::BlockNack> {
        let packets = self.blocks.as_ref().map_or(0..0, |blocks| blocks.layout().packets_of(block));
        let is_missing = |seq: u32| seq >= self.cumulative && !self.arrived.contains(self.cumulative, seq);
        let nack = |first| {
            let bits = (0..32.min(packets.end - first)).filter(|bit| is_missing(first + bit));
            let missing = bits.fold(0, |missing, bit| missing | 1 << bit);
            let (flow, cumulative) = (self.flow, self.cumulative);
            (missing != 0).then_some(wire::BlockNack { flow, first, missing, cumulative })
        };
        packets.clone().step_by(32).filter_map(nack).collect()
    }

    /// What stays of the blocks when the message is complete.
    pub(crate) fn into_decoded(self) -> Option<Decoded> {
        self.blocks.and_then(|blocks| blocks.into_decoded())
    }

    /// Notes a packet at or above `cumulative`; returns whether it is new.
    #[inline]
    fn insert(&mut self, seq: u32) -> bool {
        if seq == self.cumulative {
            self.cumulative += 1;
            if self.arrived.set > 0 {
                self.cumulative += self.arrived.take_run(self.cumulative);
            }
            return true;
        }
        self.arrived.insert(self.cumulative, seq)
    }

    /// Whether the whole message has arrived.
    #[inline]
    pub(crate) const fn is_complete(&self) -> bool {
        self.cumulative == self.tally.packets
    }

    /// The counts so far.
    #[inline]
    pub(crate) const fn tally(&self) -> &Tally {
        &self.tally
    }

    /// For the end.
    pub(crate) fn report(&self, flow: FlowId, from: HostId, delivered_at: Time) -> ReceiverReport {
        let Tally { goodput, arrived, marked, .. } = self.tally;
        let (arrived_packets, marked_packets) = (u64::from(arrived), u64::from(marked));
        ReceiverReport { flow, from, delivered_at, bytes: goodput, arrived_packets, marked_packets }
    }
}

/// Which packets above the cumulative one have arrived: a ring of bits that grows to the farthest of them.
#[derive(Clone, Debug)]
struct Bitmap {
    /// Bit of packet `n`: bit `n % 64` of word `n / 64 % len`; the length is a power of two.
    words: Vec<u64>,
    /// How many bits are set.
    set: u32,
}

impl Bitmap {
    const fn new() -> Self {
        Self { words: Vec::new(), set: 0 }
    }

    const fn index(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.words.len() - 1)
    }

    /// Whether the bit of `seq` is set, given that none below `floor` is.
    fn contains(&self, floor: u32, seq: u32) -> bool {
        let word = (seq / 64 - floor / 64) as usize;
        word < self.words.len() && self.words[self.index(seq)] >> (seq % 64) & 1 == 1
    }

    /// Sets the bit of `seq`, given that none below `floor` is set; returns whether it was clear.
    #[inline]
    fn insert(&mut self, floor: u32, seq: u32) -> bool {
        let words = (seq / 64 - floor / 64) as usize + 1;
        if words > self.words.len() {
            self.grow(floor, words.next_power_of_two());
        }
        let (index, bit) = (self.index(seq), 1 << (seq % 64));
        let was_clear = self.words[index] & bit == 0;
        self.words[index] |= bit;
        self.set += u32::from(was_clear);
        was_clear
    }

    #[cold]
    fn grow(&mut self, floor: u32, len: usize) {
        let old = core::mem::replace(&mut self.words, alloc::vec![0; len]);
        for word in (floor / 64..).take(old.len()) {
            self.words[word as usize & (len - 1)] = old[word as usize & (old.len() - 1)];
        }
    }

    /// Clears the run of set bits that starts at `from`; returns its length.
    #[inline(never)]
    fn take_run(&mut self, from: u32) -> u32 {
        let mut at = from;
        while self.set > 0 {
            let index = self.index(at);
            let run = (self.words[index] >> (at % 64)).trailing_ones();
            if run == 0 {
                break;
            }
            let ones = if run == 64 { u64::MAX } else { (1 << run) - 1 };
            self.words[index] &= !(ones << (at % 64));
            self.set -= run;
            at += run;
            if !at.is_multiple_of(64) {
                break;
            }
        }
        at - from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Shape;
    use alloc::collections::{BTreeMap, BTreeSet};
    use proptest::prelude::*;

    fn data(seq: u32, packets: u32) -> wire::Data {
        let sent_at = Time::from_ps(u64::from(seq) + 1000);
        wire::Data { flow: FlowId(7), seq, packets, len: 100, sent_at, entropy: (seq as u16).wrapping_add(5) }
    }

    fn receiver(packets: u32) -> Receiver {
        Receiver::new(FlowId(7), packets, 0)
    }

    #[test]
    fn every_arrival_is_acknowledged_with_its_send_time_entropy_and_mark() {
        let mut receiver = receiver(10);
        for ecn_ce in [true, false] {
            let ack = receiver.on_data(&data(3, 10), ecn_ce).unwrap().ack;
            let expected = wire::Ack {
                flow: FlowId(7),
                seq: 3,
                cumulative: 0,
                sent_at: Time::from_ps(1003),
                entropy: 8,
                ecn_ce,
                block_complete: false,
            };
            assert_eq!(ack, expected);
        }
    }

    #[test]
    fn a_duplicate_is_counted_but_gives_no_goodput() {
        let mut receiver = receiver(10);
        assert!(receiver.on_data(&data(3, 10), false).unwrap().is_new);
        assert!(!receiver.on_data(&data(3, 10), true).unwrap().is_new);
        let view = receiver.tally().view(FlowId(7), false, 0, 0);
        assert_eq!(
            (view.goodput, view.counters.arrived_packets, view.counters.marked_packets),
            (Bytes::new(100), 2, 1)
        );
    }

    #[test]
    fn filling_a_hole_moves_the_cumulative_number_over_all_that_came_before() {
        let mut receiver = receiver(300);
        for seq in (1..200).rev() {
            assert_eq!(receiver.on_data(&data(seq, 300), false).unwrap().ack.cumulative, 0);
        }
        assert_eq!(receiver.on_data(&data(0, 300), false).unwrap().ack.cumulative, 200);
        assert!(!receiver.is_complete());
    }

    #[test]
    fn a_packet_of_another_message_or_out_of_reach_is_not_taken_in() {
        let mut receiver = receiver(u32::MAX);
        assert!(receiver.on_data(&data(0, 9), false).is_none());
        assert!(receiver.on_data(&data(REACH + 1, u32::MAX), false).is_none());
        assert!(receiver.on_data(&data(u32::MAX, u32::MAX), false).is_none());
        assert_eq!(receiver.tally().view(FlowId(7), false, 0, 0).counters.arrived_packets, 0);
    }

    #[test]
    fn a_complete_message_goes_on_acknowledging_what_belongs_to_it() {
        let mut live = receiver(2);
        live.on_data(&data(0, 2), false);
        live.on_data(&data(1, 2), false);
        assert!(live.is_complete());
        let mut tally = *live.tally();
        let ack = tally.on_duplicate(&data(0, 2), true).unwrap();
        assert_eq!((ack.seq, ack.cumulative, ack.ecn_ce), (0, 2, true));
        assert_eq!(tally.on_duplicate(&data(2, 2), true), None);
        assert_eq!(tally.on_duplicate(&data(0, 3), true), None);
        assert_eq!(tally.view(FlowId(7), true, 0, 0).counters.arrived_packets, 3);
    }

    #[test]
    fn a_trimmed_packet_is_refused_with_its_send_time_and_entropy_and_changes_nothing() {
        let mut live = receiver(3);
        live.on_data(&data(0, 3), false);
        let sent_at = Time::from_ps(1002);
        let expected = wire::Nack { flow: FlowId(7), seq: 2, cumulative: 1, sent_at, entropy: 7 };
        assert_eq!(live.on_trimmed(&data(2, 3)), Some(expected));
        assert_eq!((live.on_trimmed(&data(3, 3)), live.on_trimmed(&data(2, 4))), (None, None));
        let view = live.tally().view(FlowId(7), false, 1, 0);
        assert_eq!(
            (view.goodput, view.counters.arrived_packets, view.counters.trimmed_packets),
            (Bytes::new(100), 1, 1)
        );
        assert!(live.on_data(&data(2, 3), false).unwrap().is_new);
        live.on_data(&data(1, 3), false);
        let nack = live.tally().on_trimmed_duplicate(&data(2, 3)).unwrap();
        assert_eq!((nack.seq, nack.cumulative), (2, 3), "the whole message has arrived");
        assert_eq!(live.tally().on_trimmed_duplicate(&data(3, 3)), None);
    }

    #[test]
    fn acks_of_a_flow_go_round_over_256_entropies_from_a_start_of_its_own() {
        let start = ack_entropy_start(1, FlowId(7));
        assert_ne!(start, ack_entropy_start(1, FlowId(8)));
        let mut receiver = Receiver::new(FlowId(7), 1000, start);
        let seen: BTreeSet<Entropy> = (0..256)
            .map(|seq| {
                receiver.on_data(&data(seq, 1000), false);
                receiver.tally().ack_entropy(start)
            })
            .collect();
        assert_eq!(seen, (0..256).collect());
    }

    #[test]
    fn a_receiver_and_what_stays_of_it_are_small() {
        assert!(size_of::<Receiver>() <= 80, "{}", size_of::<Receiver>());
        // A table is at least 7/16 full when it has grown, with a byte of its own for each place.
        assert!((size_of::<(FlowId, Tally)>() + 1) * 16 / 7 <= 64);
        let mut receiver = receiver(100_000);
        receiver.on_data(&data(65_535, 100_000), false);
        assert_eq!(receiver.arrived.words.len() * 64, 65_536, "one bit a packet");
    }

    /// A message of 2,050 B in blocks of 4 + 2 packets of 100 B: 6 of them, the last one with a piece of 50 B alone.
    fn layout() -> Layout {
        Layout::of_message(Bytes::new(2050), Bytes::new(100), Shape::new(4, 2).unwrap()).unwrap()
    }

    fn coded(seq: u32) -> wire::Coded {
        let layout = layout();
        let data = wire::Data { len: layout.len(seq), ..data(seq, layout.packets()) };
        let (shape, last_len) = (layout.shape(), layout.last_len());
        wire::Coded { data, shape, last_len, block_wait_ns: 1000 }
    }

    fn of_blocks() -> Receiver {
        Receiver::coded(FlowId(7), HostId(1), layout(), 0)
    }

    /// Takes a packet in; gives what is new, the bytes delivered, and whether the block is complete.
    fn take(receiver: &mut Receiver, seq: u32) -> (bool, u64, bool) {
        let arrival = receiver.on_coded(Time::ZERO, &coded(seq), layout(), false).unwrap();
        (arrival.is_new, arrival.delivered.get(), arrival.ack.block_complete)
    }

    #[test]
    fn pieces_are_delivered_as_they_come_and_the_missing_ones_when_the_block_is_complete() {
        let mut receiver = of_blocks();
        assert_eq!(take(&mut receiver, 1), (true, 100, false));
        assert_eq!(take(&mut receiver, 5), (true, 0, false), "parity");
        assert_eq!(take(&mut receiver, 4), (true, 0, false));
        assert_eq!(take(&mut receiver, 4), (false, 0, false), "a duplicate");
        let arrival = receiver.on_coded(Time::ZERO, &coded(3), layout(), false).unwrap();
        assert_eq!((arrival.delivered, arrival.decodable), (Bytes::new(300), Some(0)), "3, and 0 and 2");
        assert_eq!((arrival.ack.cumulative, arrival.ack.block_complete), (6, true));
        assert_eq!(take(&mut receiver, 2), (false, 0, true), "it is here already");
        assert_eq!(receiver.tally().view(FlowId(7), false, 0, 0).counters.arrived_packets, 6);
    }

    #[test]
    fn a_message_is_complete_when_its_blocks_are() {
        let mut receiver = of_blocks();
        let packets = layout().packets();
        assert_eq!(
            (packets, take(&mut receiver, packets - 1)),
            (33, (true, 50, true)),
            "any of the last three"
        );
        for block in 0..5 {
            assert!(!receiver.is_complete());
            (0..4).for_each(|i| assert_eq!(take(&mut receiver, block * 6 + i).2, i == 3));
        }
        assert!(receiver.is_complete());
        let report = receiver.report(FlowId(7), HostId(1), Time::ZERO);
        assert_eq!((report.bytes, report.arrived_packets), (Bytes::new(2050), 21));
    }

    #[test]
    fn a_block_is_asked_for_with_what_it_misses() {
        let mut receiver = of_blocks();
        (0..4).for_each(|seq| assert!(take(&mut receiver, seq).0));
        assert!(take(&mut receiver, 7).0 && take(&mut receiver, 11).0);
        let nack = wire::BlockNack { flow: FlowId(7), first: 6, missing: 0b01_1101, cumulative: 6 };
        assert_eq!(receiver.missing(1), [nack]);
        assert_eq!(receiver.take_timeout(Time::from_ps(1_000_000)), Some(1));
    }

    #[test]
    fn a_block_of_more_than_32_packets_takes_several_nacks() {
        let layout =
            Layout::of_message(Bytes::new(6000), Bytes::new(100), Shape::new(60, 10).unwrap()).unwrap();
        let first = wire::Data { packets: layout.packets(), ..data(0, 70) };
        let mut receiver = Receiver::coded(FlowId(7), HostId(1), layout, 0);
        for seq in (0..32).chain([33]) {
            let data = wire::Data { seq, ..first };
            let coded = wire::Coded { data, shape: layout.shape(), last_len: 100, block_wait_ns: 0 };
            receiver.on_coded(Time::ZERO, &coded, layout, false).unwrap();
        }
        let nack = |first, missing| wire::BlockNack { flow: FlowId(7), first, missing, cumulative: 32 };
        assert_eq!(receiver.missing(0), [nack(32, !2), nack(64, 0b11_1111)]);
    }

    #[test]
    fn packets_of_other_blocks_than_the_first_told_of_are_not_taken_in() {
        let mut receiver = of_blocks();
        let other = Layout::of_message(Bytes::new(2050), Bytes::new(100), Shape::new(2, 1).unwrap()).unwrap();
        assert!(receiver.on_coded(Time::ZERO, &coded(0), other, false).is_none());
        assert!(receiver.on_data(&coded(0).data, false).is_none(), "nor those without blocks");
        assert!(self::receiver(33).on_coded(Time::ZERO, &coded(0), layout(), false).is_none());
    }

    proptest! {
        #[test]
        fn the_bitmap_agrees_with_a_set(
            packets in 1u32..600, picks in prop::collection::vec(any::<u32>(), 1..2000), near in 1u32..600,
        ) {
            let (mut receiver, mut seen) = (receiver(packets), BTreeSet::new());
            for pick in picks {
                // Mostly near the front, so that the ring goes round.
                let seq = (receiver.cumulative + pick % near).saturating_sub(near / 3).min(packets - 1);
                let arrival = receiver.on_data(&data(seq, packets), false).unwrap();
                prop_assert_eq!(arrival.is_new, seen.insert(seq));
                let cumulative = (0..packets).find(|seq| !seen.contains(seq)).unwrap_or(packets);
                prop_assert_eq!(arrival.ack.cumulative, cumulative);
                prop_assert_eq!(receiver.is_complete(), cumulative == packets);
            }
        }

        #[test]
        fn any_packets_as_many_as_the_data_complete_a_block(
            size in 1_u64..8000, x in 1_u8..30, y in 1_u8..10, order in any::<u64>(),
        ) {
            let mss = Bytes::new(100);
            let layout = Layout::of_message(Bytes::new(size), mss, Shape::new(x, y).unwrap()).unwrap();
            let mut seqs: Vec<u32> = (0..layout.packets()).collect();
            Random::new(order, Purpose::Test, 0).shuffle(&mut seqs);
            let packet = |seq| wire::Coded {
                data: wire::Data { len: layout.len(seq), ..data(seq, layout.packets()) },
                shape: layout.shape(),
                last_len: layout.last_len(),
                block_wait_ns: 0,
            };
            let mut receiver = Receiver::coded(FlowId(7), HostId(1), layout, 0);
            let (mut arrived, mut delivered) = (BTreeMap::<u32, usize>::new(), Bytes::ZERO);
            for seq in seqs {
                let block = layout.block_of(seq);
                let arrival = receiver.on_coded(Time::ZERO, &packet(seq), layout, false).unwrap();
                let here = arrived.entry(block).or_default();
                *here += 1;
                let needed = layout.sources_of(block).len();
                prop_assert_eq!(arrival.ack.block_complete, *here >= needed);
                prop_assert_eq!(arrival.is_new, *here <= needed);
                prop_assert!(arrival.decodable.is_none() || *here == needed);
                delivered += arrival.delivered;
                let complete = |block| arrived.get(&block).is_some_and(|&n| n >= layout.sources_of(block).len());
                prop_assert_eq!(receiver.is_complete(), (0..layout.blocks()).all(complete));
            }
            prop_assert_eq!(delivered, Bytes::new(size), "each byte once");
        }
    }
}
