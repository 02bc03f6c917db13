//! The sender's state of its blocks: how many packets of each are lost, and whether that is too many.
//!
//! A block can be completed while no more of its packets are lost than it has parity: the others are acknowledged, in
//! flight or still to come. So a lost packet is sent again only if more are, and only until no more are. Which one
//! makes no difference to the block: the one that left first.
//!
//! Nothing is kept of blocks that lose nothing.

use super::blocks::{Layout, Resend};
use crate::balance::Entropy;
use crate::recovery::SentMap;
use crate::table::Fixed;
use core::ops::Range;
use farspan_units::{Bytes, Time};
use hashbrown::HashMap;

/// The losses of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct BlockLosses {
    /// Packets marked lost and not sent again.
    packets: u8,
    /// Whether it is counted among those that lost more than their parity.
    is_undecodable: bool,
    /// Packets that were lost, sent again or not; if they have arrived since, until the next one is lost. Bit `i` is
    /// the block's packet `i`.
    missing: [u64; 4],
}

impl BlockLosses {
    /// The word and the bit of the block's packet `i`.
    const fn place(i: u32) -> (usize, u64) {
        ((i / 64) as usize, 1 << (i % 64))
    }

    /// How many of the block's packets, the first of which is `first`, were lost and have not arrived.
    fn missing(&mut self, first: u32, sent: &SentMap) -> u32 {
        for (word, base) in self.missing.iter_mut().zip((first..).step_by(64)) {
            let mut lost = *word;
            while lost != 0 {
                let i = lost.trailing_zeros();
                lost &= lost - 1;
                if sent.is_acknowledged(base + i) {
                    *word &= !(1 << i);
                }
            }
        }
        self.missing.iter().map(|word| word.count_ones()).sum()
    }
}

/// The blocks of one sender.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingBlocks {
    layout: Layout,
    /// How many lost packets of a block are not sent again.
    spare: u8,
    /// Blocks that have lost packets and are not complete.
    losses: HashMap<u32, BlockLosses, Fixed>,
    /// Packets to be sent again.
    wanted: u32,
    /// A lost packet that leaves again though its block can do without it: a probe asks for an ACK.
    probe: Option<u32>,
    /// Parity packets sent, retransmissions not counted.
    parity_packets: u32,
    /// Their payload.
    parity_bytes: Bytes,
    /// Blocks that lost more packets than they could spare.
    undecodable: u32,
}

impl OutgoingBlocks {
    /// Blocks of which nothing was sent.
    pub(crate) fn new(layout: Layout, resend: Resend) -> Self {
        let spare = match resend {
            Resend::Needed => layout.shape().parity(),
            Resend::All => 0,
        };
        Self {
            layout,
            spare,
            losses: HashMap::with_hasher(Fixed),
            wanted: 0,
            probe: None,
            parity_packets: 0,
            parity_bytes: Bytes::ZERO,
            undecodable: 0,
        }
    }

    /// Which packet is what.
    #[inline]
    pub(crate) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether a packet waits to be sent again.
    #[inline]
    pub(crate) const fn has_wanted(&self) -> bool {
        self.wanted > 0 || self.probe.is_some()
    }

    /// Parity packets sent, retransmissions not counted.
    pub(crate) const fn parity_packets(&self) -> u32 {
        self.parity_packets
    }

    /// Their payload.
    pub(crate) const fn parity_bytes(&self) -> Bytes {
        self.parity_bytes
    }

    /// Blocks that lost more packets than they have parity, before they were complete.
    pub(crate) const fn undecodable(&self) -> u32 {
        self.undecodable
    }

    /// Packet `seq` leaves for the first time.
    #[inline]
    pub(crate) fn on_sent(&mut self, seq: u32) {
        if !self.layout.is_source(seq) {
            self.parity_packets += 1;
            self.parity_bytes += Bytes::new(u64::from(self.layout.len(seq)));
        }
    }

    /// Packet `seq`, which was in flight, is marked lost; `sent` has it in its retransmit queue.
    #[cold]
    pub(crate) fn on_lost(&mut self, seq: u32, sent: &mut SentMap) {
        let number = self.layout.block_of(seq);
        let first = self.layout.packets_of(number).start;
        let (word, bit) = BlockLosses::place(seq - first);
        let block = self.losses.entry(number).or_default();
        block.packets += 1;
        block.missing[word] |= bit;
        self.wanted += u32::from(block.packets > self.spare);
        if !block.is_undecodable && block.missing(first, sent) > u32::from(self.layout.shape().parity()) {
            block.is_undecodable = true;
            self.undecodable += 1;
        }
        if self.wanted == 0 {
            sent.clear_retransmits();
        }
    }

    /// A probe is due, and repeats packet `seq`, which is marked lost for it: it leaves again, needed or not.
    #[cold]
    pub(crate) fn on_probe(&mut self, seq: u32) {
        self.probe = Some(seq);
    }

    /// Packet `seq`, which was marked lost, is so no more: it has arrived, or leaves again.
    #[cold]
    pub(crate) fn on_found(&mut self, seq: u32) {
        self.probe = self.probe.filter(|&probe| probe != seq);
        if let Some(block) = self.losses.get_mut(&self.layout.block_of(seq)) {
            self.wanted -= u32::from(block.packets > self.spare);
            block.packets -= 1;
        }
    }

    /// A block is complete, and none of its packets lost any more.
    #[inline]
    pub(crate) fn on_complete(&mut self, block: u32) {
        if !self.losses.is_empty() {
            self.losses.remove(&block);
            self.probe = self.probe.filter(|&probe| self.layout.block_of(probe) != block);
        }
    }

    /// A lost packet leaves again, if one is to; gives its number and how often it timed out.
    pub(crate) fn resend(&mut self, now: Time, entropy: Entropy, sent: &mut SentMap) -> Option<(u32, u32)> {
        let seq = if self.wanted > 0 { self.next_wanted(now, sent) } else { self.probe };
        debug_assert!(seq.is_some() || !self.has_wanted(), "a packet that is wanted is in line");
        let seq = seq?;
        // One packet is enough of a probe, whichever it is.
        self.probe = None;
        self.on_found(seq);
        if self.wanted == 0 {
            sent.clear_retransmits();
        }
        Some((seq, sent.resend_one(now, seq, entropy)))
    }

    /// The lost packet to be sent again next. The retransmit queue of `sent` has at least as many packets of a block as
    /// are wanted of it: each stood there when it made the block want one more.
    fn next_wanted(&self, now: Time, sent: &mut SentMap) -> Option<u32> {
        loop {
            let block = self.layout.block_of(sent.pop_retransmit()?);
            if self.losses.get(&block).is_some_and(|losses| losses.packets > self.spare) {
                return sent.oldest_lost(now, self.layout.packets_of(block));
            }
        }
    }

    /// Given that the packets before `next` were sent: those of `block` that need not be, as it is complete. A block is
    /// so only if as many of its packets were sent as it has data.
    pub(crate) fn needless(&self, block: u32, next: u32) -> Range<u32> {
        let range = self.layout.packets_of(block);
        if next >= self.layout.sources_of(block).end && next < range.end {
            next..range.end
        } else {
            next..next
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Shape;
    use farspan_units::{Duration, Time};
    use proptest::prelude::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    struct Bench {
        outgoing: OutgoingBlocks,
        sent: SentMap,
        now: Time,
    }

    impl Bench {
        /// A message of 20 segments in blocks of 8 + 2, 8 + 2 and 4 + 2, of which so many packets were sent.
        fn new(packets: u32, resend: Resend) -> Self {
            let mss = Bytes::new(1000);
            let layout = Layout::of_message(mss * 20, mss, Shape::new(8, 2).unwrap()).unwrap();
            let (mut outgoing, mut sent) = (OutgoingBlocks::new(layout, resend), SentMap::new(false));
            for i in 0..packets {
                outgoing.on_sent(sent.send_new(us(u64::from(i)), 0));
            }
            Self { outgoing, sent, now: us(1000) }
        }

        fn lose(&mut self, seqs: &[u32]) {
            for &seq in seqs {
                assert!(self.sent.take_old(self.now, seq, self.now).is_some());
                self.outgoing.on_lost(seq, &mut self.sent);
            }
        }

        /// Sends all again that is wanted.
        fn resend(&mut self) -> alloc::vec::Vec<u32> {
            core::iter::from_fn(|| {
                self.now += Duration::from_us(1);
                self.outgoing.resend(self.now, 0, &mut self.sent).map(|(seq, _)| seq)
            })
            .collect()
        }
    }

    #[test]
    fn a_block_spares_as_many_packets_as_it_has_parity() {
        let mut bench = Bench::new(26, Resend::Needed);
        bench.lose(&[3, 9, 14, 20]);
        assert_eq!((bench.resend(), bench.outgoing.undecodable()), (alloc::vec![], 0));
        bench.lose(&[7, 25, 21]);
        assert_eq!(bench.resend(), [3, 20], "the one that left first");
        assert_eq!(bench.outgoing.undecodable(), 2);
        bench.lose(&[3]);
        assert_eq!(bench.resend(), [7], "3 left again since, and would be the last");
        assert_eq!(bench.outgoing.undecodable(), 2, "each block is counted once");
    }

    #[test]
    fn a_lost_packet_that_arrives_makes_another_needless() {
        let mut bench = Bench::new(10, Resend::Needed);
        bench.lose(&[0, 1, 2, 3]);
        bench.sent.acknowledge(bench.now, 0);
        bench.outgoing.on_found(0);
        assert_eq!(bench.resend(), [1]);
    }

    #[test]
    fn nothing_of_a_complete_block_is_wanted() {
        let mut bench = Bench::new(20, Resend::Needed);
        bench.lose(&[0, 1, 2, 12, 13, 14]);
        for seq in 0..10 {
            if bench.sent.acknowledge(bench.now, seq) == crate::recovery::AckOutcome::WasLost {
                bench.outgoing.on_found(seq);
            }
        }
        bench.outgoing.on_complete(0);
        assert_eq!(bench.resend(), [12]);
    }

    #[test]
    fn the_published_code_sends_all_again() {
        let mut bench = Bench::new(10, Resend::All);
        bench.lose(&[3]);
        assert_eq!((bench.resend(), bench.outgoing.undecodable()), (alloc::vec![3], 0));
        bench.lose(&[3]);
        assert_eq!((bench.resend(), bench.outgoing.undecodable()), (alloc::vec![3], 0));
        bench.lose(&[3, 4]);
        assert_eq!(bench.resend(), [4, 3], "those that left first go first");
        assert_eq!(bench.outgoing.undecodable(), 0, "two packets, whatever one of them has been through");
        bench.lose(&[5]);
        assert_eq!((bench.resend(), bench.outgoing.undecodable()), (alloc::vec![5], 1));
    }

    #[test]
    fn a_retransmission_that_arrives_is_missing_no_more() {
        let mut bench = Bench::new(10, Resend::All);
        for seq in 0..6 {
            bench.lose(&[seq]);
            assert_eq!(bench.resend(), [seq]);
            assert!(matches!(
                bench.sent.acknowledge(bench.now, seq),
                crate::recovery::AckOutcome::Arrived { .. }
            ));
        }
        assert_eq!(bench.outgoing.undecodable(), 0, "never more than one at a time");
        bench.lose(&[6, 7, 8]);
        assert_eq!(bench.outgoing.undecodable(), 1);
    }

    #[test]
    fn only_the_rest_of_a_block_whose_data_was_sent_is_needless() {
        let bench = Bench::new(0, Resend::Needed);
        let needless = |block, next| bench.outgoing.needless(block, next);
        assert_eq!((needless(0, 8), needless(0, 9), needless(2, 24)), (8..10, 9..10, 24..26));
        assert!(needless(0, 7).is_empty() && needless(0, 10).is_empty() && needless(0, 18).is_empty());
    }

    #[test]
    fn parity_is_counted_when_it_leaves_first() {
        let bench = Bench::new(19, Resend::Needed);
        assert_eq!((bench.outgoing.parity_packets(), bench.outgoing.parity_bytes()), (3, Bytes::new(3000)));
    }

    proptest! {
        #[test]
        fn no_more_than_the_parity_of_a_block_stays_lost(
            steps in prop::collection::vec((any::<bool>(), 0_u32..26), 1..200),
        ) {
            let mut bench = Bench::new(26, Resend::Needed);
            let mut lost = alloc::collections::BTreeSet::new();
            for (again, seq) in steps {
                bench.now += Duration::from_us(1);
                if bench.sent.take_old(bench.now, seq, bench.now).is_some() {
                    bench.outgoing.on_lost(seq, &mut bench.sent);
                    lost.insert(seq);
                }
                let of = |lost: &alloc::collections::BTreeSet<u32>, block: u32| lost.range(block * 10..block * 10 + 10).count();
                let wanted: usize = (0..3).map(|block| of(&lost, block).saturating_sub(2)).sum();
                prop_assert_eq!(bench.outgoing.wanted as usize, wanted);
                if again {
                    for seq in bench.resend() {
                        prop_assert!(lost.remove(&seq));
                    }
                    prop_assert!((0..3).all(|block| of(&lost, block) <= 2));
                }
            }
        }
    }
}
