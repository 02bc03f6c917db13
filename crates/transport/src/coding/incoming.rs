//! The receiver's state of the blocks of a message: which are open, how long it waits for them, and which segments came
//! out of parity.
//!
//! A block opens with its first packet, which starts its timer (Uno, section 4.2); each packet says how long its block
//! is to be waited for. The block closes when enough of its packets have arrived. If the timer runs out before, its
//! missing packets are asked for, once; the next packet of the block that arrives starts the timer again.
//!
//! Closed blocks leave nothing behind, but for segments that were decoded and have not arrived themselves: if they
//! still do, they were delayed and not lost.

use super::blocks::Layout;
use crate::table::{Fixed, room};
use alloc::collections::{BTreeSet, BinaryHeap};
use core::cmp::Reverse;
use farspan_units::{Bytes, Duration, Time};
use hashbrown::HashMap;

/// A block of which a packet has arrived, and not enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Open {
    /// When its timer runs out; [`Time::MAX`]: it has, and nothing has arrived since.
    due: Time,
    /// Packets that have arrived.
    arrived: u8,
    /// Their payload, parity's included: at most 254 times 65,535 B.
    bytes: u32,
}

/// The gain of a block by the first arrival of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Progress {
    /// Whether the block is complete now.
    pub is_complete: bool,
    /// The growth of min(payload of the block's packets that have arrived, the block's own): a packet of parity counts as
    /// the segment that it will be decoded to, and decoding adds nothing.
    pub goodput: Bytes,
}

/// Segments that were decoded and have not arrived.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    layout: Layout,
    /// Their numbers.
    packets: BTreeSet<u32>,
}

impl Decoded {
    /// Packet `seq` of a complete block has arrived after all.
    #[inline]
    pub(crate) fn on_surplus(&mut self, seq: u32) {
        if !self.packets.is_empty() {
            self.packets.remove(&seq);
        }
    }

    /// How many blocks were decoded to recover a segment that has not arrived.
    pub(crate) fn blocks(&self) -> u64 {
        let blocks = self.packets.iter().map(|&seq| self.layout.block_of(seq));
        blocks.fold((0, None), |(count, last), block| (count + u64::from(last != Some(block)), Some(block))).0
    }
}

/// The blocks of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct IncomingBlocks {
    layout: Layout,
    open: HashMap<u32, Open, Fixed>,
    /// When timers run out, and of which block; those of blocks that have closed, or wait for another time, are
    /// skipped.
    timers: BinaryHeap<Reverse<(Time, u32)>>,
    decoded: Decoded,
    /// The live entry of the endpoint's timer; [`Time::MAX`]: there is none.
    pub armed: Time,
    /// NACKs sent of blocks, modulo 256.
    pub nacks: u8,
}

impl IncomingBlocks {
    /// Blocks of which nothing has arrived.
    pub(crate) fn new(layout: Layout) -> Self {
        let decoded = Decoded { layout, packets: BTreeSet::new() };
        let (open, timers) = (HashMap::with_hasher(Fixed), BinaryHeap::new());
        Self { layout, open, timers, decoded, armed: Time::MAX, nacks: 0 }
    }

    /// Which packet is what.
    #[inline]
    pub(crate) const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Packet `seq` of a block that is not complete arrived for the first time; `wait`: how long to wait for the rest.
    #[inline]
    pub(crate) fn on_new(&mut self, now: Time, seq: u32, wait: Duration) -> Progress {
        let block = self.layout.block_of(seq);
        let payload = self.layout.payload_of(block);
        let open = self.open.entry(block).or_insert(Open { due: Time::MAX, arrived: 0, bytes: 0 });
        let before = Bytes::new(u64::from(open.bytes)).min(payload);
        open.arrived += 1;
        open.bytes += u32::from(self.layout.len(seq));
        let goodput = Bytes::new(u64::from(open.bytes)).min(payload) - before;
        if u32::from(open.arrived) == self.layout.sources_of(block).len() as u32 {
            self.open.remove(&block);
            return Progress { is_complete: true, goodput };
        }
        if open.due == Time::MAX {
            open.due = now.saturating_add(wait);
            if self.timers.len() == self.timers.capacity() {
                self.timers.reserve_exact(room(self.timers.len()).max(4));
            }
            self.timers.push(Reverse((open.due, block)));
        }
        Progress { is_complete: false, goodput }
    }

    /// Packet `seq` was decoded.
    #[cold]
    pub(crate) fn on_decoded(&mut self, seq: u32) {
        self.decoded.packets.insert(seq);
    }

    /// Packet `seq` of `block` arrived, which had arrived or is not needed any more. Returns whether the block is
    /// complete.
    #[inline]
    pub(crate) fn on_duplicate(&mut self, block: u32, seq: u32) -> bool {
        self.decoded.on_surplus(seq);
        !self.open.contains_key(&block)
    }

    /// No timer runs out before.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.peek().map(|&Reverse((at, _))| at)
    }

    /// When the first timer runs out.
    fn deadline(&mut self) -> Option<Time> {
        while let Some(&Reverse((at, block))) = self.timers.peek() {
            if self.open.get(&block).is_some_and(|open| open.due == at) {
                return Some(at);
            }
            self.timers.pop();
        }
        None
    }

    /// A block whose timer has run out at `now`; call until `None`.
    pub(crate) fn take_timeout(&mut self, now: Time) -> Option<u32> {
        if self.deadline()? > now {
            return None;
        }
        let Reverse((_, block)) = self.timers.pop()?;
        self.open.get_mut(&block)?.due = Time::MAX;
        Some(block)
    }

    /// How many blocks were decoded to recover a segment that has not arrived.
    pub(crate) fn repaired(&self) -> u64 {
        self.decoded.blocks()
    }

    /// The decoded packets, to be kept when the message is complete; `None` if there are none.
    pub(crate) fn into_decoded(self) -> Option<Decoded> {
        (!self.decoded.packets.is_empty()).then_some(self.decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Shape;
    use alloc::vec::Vec;

    const WAIT: Duration = Duration::from_us(100);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// Whether the block is complete with its `i`-th packet.
    fn completes(incoming: &mut IncomingBlocks, now: Time, block: u32, i: u32, wait: Duration) -> bool {
        incoming.on_new(now, block * 10 + i, wait).is_complete
    }

    /// A message of 20 segments: blocks of 8 + 2, 8 + 2 and 4 + 2.
    fn incoming() -> IncomingBlocks {
        let mss = Bytes::new(1000);
        let layout = Layout::of_message(mss * 20, mss, Shape::new(8, 2).unwrap()).unwrap();
        IncomingBlocks::new(layout)
    }

    #[test]
    fn a_block_is_complete_when_as_many_packets_have_arrived_as_it_has_data() {
        let mut incoming = incoming();
        let complete: Vec<bool> = (0..8).map(|i| completes(&mut incoming, us(0), 1, i, WAIT)).collect();
        assert_eq!(complete, [false, false, false, false, false, false, false, true]);
        assert!(incoming.on_duplicate(1, 19), "it stays complete");
        let last: Vec<bool> = (0..4).map(|i| completes(&mut incoming, us(0), 2, i, WAIT)).collect();
        assert_eq!(last, [false, false, false, true]);
    }

    #[test]
    fn the_first_packet_starts_the_timer_and_later_ones_do_not_move_it() {
        let mut incoming = incoming();
        incoming.on_new(us(5), 0, WAIT);
        incoming.on_new(us(50), 1, WAIT * 3);
        assert_eq!(incoming.next_timer(), Some(us(105)));
        assert_eq!(incoming.take_timeout(us(104)), None);
        assert_eq!(incoming.take_timeout(us(105)), Some(0));
        assert_eq!(incoming.take_timeout(us(1000)), None, "asked for once");
    }

    #[test]
    fn a_packet_after_the_time_out_starts_the_timer_again() {
        let mut incoming = incoming();
        incoming.on_new(us(0), 0, WAIT);
        assert_eq!(incoming.take_timeout(us(100)), Some(0));
        assert!(!incoming.on_duplicate(0, 0), "a duplicate brings nothing");
        assert_eq!(incoming.next_timer(), None);
        incoming.on_new(us(300), 1, WAIT);
        incoming.on_new(us(310), 2, WAIT);
        assert_eq!(incoming.take_timeout(us(399)), None);
        assert_eq!(incoming.take_timeout(us(400)), Some(0));
    }

    #[test]
    fn blocks_run_out_in_order_of_time_and_complete_ones_not_at_all() {
        let mut incoming = incoming();
        incoming.on_new(us(0), 10, WAIT);
        incoming.on_new(us(1), 0, WAIT);
        incoming.on_new(us(2), 20, WAIT / 2);
        (1..4).for_each(|i| assert_eq!(completes(&mut incoming, us(3), 2, i, WAIT), i == 3));
        assert_eq!(incoming.take_timeout(us(60)), None, "block 2 is complete");
        assert_eq!([(); 3].map(|()| incoming.take_timeout(us(200))), [Some(1), Some(0), None]);
    }

    #[test]
    fn a_block_counts_as_much_as_has_arrived_of_it_and_never_more_than_it_carries() {
        // 4,900 B in blocks of 4 + 2: the second has a segment of 900 B alone, its parity as short.
        let layout =
            Layout::of_message(Bytes::new(4900), Bytes::new(1000), Shape::new(4, 2).unwrap()).unwrap();
        let goodput = |incoming: &mut IncomingBlocks, seq| incoming.on_new(us(0), seq, WAIT).goodput.get();
        let mut incoming = IncomingBlocks::new(layout);
        assert_eq!([0, 4, 5, 3].map(|seq| goodput(&mut incoming, seq)), [1000; 4], "parity as well as data");
        assert_eq!(goodput(&mut incoming, 8), 900);
        let layout =
            Layout::of_message(Bytes::new(3400), Bytes::new(1000), Shape::new(4, 2).unwrap()).unwrap();
        let mut incoming = IncomingBlocks::new(layout);
        let in_turn = [4, 5, 1, 3].map(|seq| goodput(&mut incoming, seq));
        assert_eq!(in_turn, [1000, 1000, 1000, 400], "parity is longer than what it stands for");
        let mut incoming = IncomingBlocks::new(layout);
        let in_turn = [3, 4, 5, 1].map(|seq| goodput(&mut incoming, seq));
        assert_eq!(in_turn, [400, 1000, 1000, 1000]);
    }

    #[test]
    fn what_was_decoded_and_arrives_late_was_not_lost() {
        let mut incoming = incoming();
        [3, 4, 11, 12].into_iter().for_each(|seq| incoming.on_decoded(seq));
        assert_eq!(incoming.repaired(), 2);
        incoming.on_duplicate(0, 3);
        incoming.on_duplicate(0, 3);
        assert_eq!(incoming.repaired(), 2, "4 is still missing");
        incoming.on_duplicate(0, 4);
        let mut decoded = incoming.into_decoded().unwrap();
        assert_eq!(decoded.blocks(), 1);
        [11, 12].into_iter().for_each(|seq| decoded.on_surplus(seq));
        assert_eq!(decoded.blocks(), 0);
        assert!(self::incoming().into_decoded().is_none(), "nothing stays of a message without losses");
    }
}
