//! The receiving half of a flow: which packets have arrived, and one ACK for each arrival.
//!
//! A packet that comes trimmed is answered by a NACK. It is no arrival: it delivers nothing and is counted apart, by the
//! endpoint, as most flows never see one. Its payload may be here from another transmission; the sender finds that out
//! from `cumulative` or by sending once more.
//!
//! Up to `cumulative` everything has arrived; above it a bitmap knows, one bit a packet. After the last first arrival
//! only a small record stays, which goes on acknowledging duplicates: the ACKs before may have been lost.

use crate::balance::Entropy;
use crate::table::OfFlow;
use crate::wire;
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
    /// Packets that arrived whole, duplicates included.
    pub arrived_packets: u64,
    /// Of these, packets with a congestion mark.
    pub marked_packets: u64,
    /// Packets that arrived trimmed: sent = arrived + trimmed + dropped + still under way.
    pub trimmed_packets: u64,
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

    /// For probes; `trimmed`: how many packets came trimmed.
    pub(crate) fn view(&self, flow: FlowId, is_complete: bool, trimmed: u32) -> ReceiverView {
        ReceiverView {
            flow,
            goodput: self.goodput,
            arrived_packets: u64::from(self.arrived),
            marked_packets: u64::from(self.marked),
            trimmed_packets: u64::from(trimmed),
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
    wire::Ack { flow, seq, cumulative, sent_at, entropy, ecn_ce }
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
        Self { flow, tally, cumulative: 0, arrived: Bitmap::new(), ack_entropy_start }
    }

    /// A packet arrived; `None` if it cannot belong to the message or lies out of reach.
    #[inline(always)]
    pub(crate) fn on_data(&mut self, data: &wire::Data, ecn_ce: bool) -> Option<Arrival> {
        if !self.takes_in(data) {
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

    /// A packet came trimmed; `None` as in [`Self::on_data`].
    pub(crate) fn on_trimmed(&self, data: &wire::Data) -> Option<wire::Nack> {
        self.takes_in(data).then(|| refuse(data, self.cumulative))
    }

    fn takes_in(&self, data: &wire::Data) -> bool {
        self.tally.owns(data) && data.seq.saturating_sub(self.cumulative) <= REACH
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
    use alloc::collections::BTreeSet;
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
            };
            assert_eq!(ack, expected);
        }
    }

    #[test]
    fn a_duplicate_is_counted_but_gives_no_goodput() {
        let mut receiver = receiver(10);
        assert!(receiver.on_data(&data(3, 10), false).unwrap().is_new);
        assert!(!receiver.on_data(&data(3, 10), true).unwrap().is_new);
        let view = receiver.tally().view(FlowId(7), false, 0);
        assert_eq!((view.goodput, view.arrived_packets, view.marked_packets), (Bytes::new(100), 2, 1));
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
        assert_eq!(receiver.tally().view(FlowId(7), false, 0).arrived_packets, 0);
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
        assert_eq!(tally.view(FlowId(7), true, 0).arrived_packets, 3);
    }

    #[test]
    fn a_trimmed_packet_is_refused_with_its_send_time_and_entropy_and_changes_nothing() {
        let mut live = receiver(3);
        live.on_data(&data(0, 3), false);
        let sent_at = Time::from_ps(1002);
        let expected = wire::Nack { flow: FlowId(7), seq: 2, cumulative: 1, sent_at, entropy: 7 };
        assert_eq!(live.on_trimmed(&data(2, 3)), Some(expected));
        assert_eq!((live.on_trimmed(&data(3, 3)), live.on_trimmed(&data(2, 4))), (None, None));
        let view = live.tally().view(FlowId(7), false, 1);
        assert_eq!((view.goodput, view.arrived_packets, view.trimmed_packets), (Bytes::new(100), 1, 1));
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
    }
}
