//! The sent-packet map: what became of each packet from the oldest unacknowledged one on.
//!
//! A ring with 8 bytes for each packet of the window (10 where the path selector wants its entropies back), which
//! follows the window down as well as up: in a ring far larger than its window, each cell has left the caches when its
//! turn comes again. Packets are judged by the age of their last transmission, and what can come in a burst is found without
//! a search:
//!
//! - first transmissions leave in order of their numbers and share one time-out, so the oldest one in flight is found
//!   by a mark that only moves forward;
//! - retransmissions of packets that timed out n times share one time-out too, and stand in a queue per n in the order
//!   in which they left. One that is given up for its age leaves its queue; one that was acknowledged, or given up for
//!   itself and perhaps sent again, when it comes up.
//!
//! Each packet thus takes each of these steps once: a burst of thousands of losses costs a constant for each.
//!
//! Four questions are answered by a walk: for the oldest lost packet of a coded block, through the block
//! ([`SentMap::oldest_lost`]); through the window for its first packet in flight, when a flow's time-out has run out
//! ([`SentMap::take_front`]), for its last, when a probe repeats it ([`SentMap::take_last`]), and for acknowledged ones above
//! the oldest that is not, from the newest down, at an ACK while RACK has seen no reordering ([`SentMap::has_acked`]).

mod cell;
mod losses;

use crate::balance::Entropy;
use alloc::boxed::Box;
use cell::{Cell, SentState};
use farspan_units::{Duration, Time};
use losses::Losses;
pub(crate) use losses::{LossCounters, LostPacket, RtoPolicy};

/// Smallest ring.
const MIN_PACKETS: u32 = 8;
/// A ring shrinks when less than one in so many of its cells is in use.
const SPARE: u32 = 4;

/// The state of a live sender's packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketState {
    /// It was never sent.
    Unsent,
    /// It is in flight.
    InFlight,
    /// It is marked lost, and was not sent again yet.
    Lost,
    /// It is acknowledged, or its block is complete.
    Acked,
}

/// The news that an ACK brings of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AckOutcome {
    /// It was in flight.
    Arrived {
        /// Whether the acknowledged transmission was its last.
        is_last: bool,
    },
    /// It was marked lost.
    WasLost,
    /// It was acknowledged before.
    Known,
}

/// The sent-packet map of one sender.
#[derive(Clone, Debug)]
pub(crate) struct SentMap {
    /// Cells of packets `base..next`, at `seq & mask`; behind them their entropies, four to a cell, if they are kept.
    ring: Box<[Cell]>,
    losses: Option<Box<Losses>>,
    /// Number of packets that the ring holds, a power of two, less one.
    mask: u32,
    /// The oldest packet that is not acknowledged.
    base: u32,
    /// The first packet that was never sent.
    next: u32,
    /// No first transmission before this packet is in flight.
    first: u32,
}

/// Cells for so many packets.
fn ring(packets: u32, keeps_entropies: bool) -> Box<[Cell]> {
    let cells = if keeps_entropies { packets + packets / 4 } else { packets };
    alloc::vec![Cell::default(); cells as usize].into()
}

impl SentMap {
    /// An empty map; `keeps_entropies`: whether [`LostPacket::entropy`] is wanted.
    pub(crate) fn new(keeps_entropies: bool) -> Self {
        let ring = ring(MIN_PACKETS, keeps_entropies);
        Self { ring, losses: None, mask: MIN_PACKETS - 1, base: 0, next: 0, first: 0 }
    }

    /// An empty map of a message of which all packets below `first` have arrived.
    pub(crate) fn from_packet(keeps_entropies: bool, first: u32) -> Self {
        Self { base: first, next: first, first, ..Self::new(keeps_entropies) }
    }

    /// Whether [`LostPacket::entropy`] is known.
    #[inline]
    pub(crate) const fn keeps_entropies(&self) -> bool {
        self.ring.len() > self.capacity() as usize
    }

    /// The oldest packet that is not acknowledged; equal to [`Self::next`] if all are.
    #[inline]
    pub(crate) const fn base(&self) -> u32 {
        self.base
    }

    /// The first packet that was never sent.
    #[inline]
    pub(crate) const fn next(&self) -> u32 {
        self.next
    }

    /// The state of a packet.
    pub(crate) fn state_of(&self, seq: u32) -> PacketState {
        if seq < self.base {
            return PacketState::Acked;
        }
        if seq >= self.next {
            return PacketState::Unsent;
        }
        match self.cell(seq).state() {
            SentState::Acked => PacketState::Acked,
            SentState::First | SentState::Retransmitted => PacketState::InFlight,
            SentState::Lost => PacketState::Lost,
        }
    }

    const fn index(&self, seq: u32) -> usize {
        (seq & self.mask) as usize
    }

    /// How many packets the ring holds.
    const fn capacity(&self) -> u32 {
        self.mask + 1
    }

    /// The cell of a packet's entropy, and where in it that stands.
    const fn place(&self, seq: u32) -> (usize, u32) {
        let index = seq & self.mask;
        ((self.capacity() + index / 4) as usize, index % 4 * Entropy::BITS)
    }

    /// The entropy of a packet's last transmission; 0 where entropies are not kept.
    fn entropy(&self, seq: u32) -> Entropy {
        let (index, shift) = self.place(seq);
        if self.keeps_entropies() { (self.ring[index].0 >> shift) as Entropy } else { 0 }
    }

    fn set_entropy(&mut self, seq: u32, entropy: Entropy) {
        let (index, shift) = self.place(seq);
        let others = self.ring[index].0 & !(u64::from(Entropy::MAX) << shift);
        self.ring[index] = Cell(others | u64::from(entropy) << shift);
    }

    fn cell(&self, seq: u32) -> Cell {
        self.ring[self.index(seq)]
    }

    fn set(&mut self, seq: u32, cell: Cell) {
        let index = self.index(seq);
        self.ring[index] = cell;
    }

    /// The next packet leaves for the first time; gives its number.
    #[inline]
    pub(crate) fn send_new(&mut self, now: Time, entropy: Entropy) -> u32 {
        if self.may_not_fit() {
            self.fit();
        }
        let seq = self.next;
        self.record(seq, Cell::new(SentState::First, 0, now), entropy);
        self.next = seq + 1;
        seq
    }

    /// The next packet need never be sent.
    pub(crate) fn skip_new(&mut self) {
        if self.may_not_fit() {
            self.fit();
        }
        self.set(self.next, Cell::default());
        self.next += 1;
    }

    #[inline]
    fn record(&mut self, seq: u32, cell: Cell, entropy: Entropy) {
        self.set(seq, cell);
        if self.keeps_entropies() {
            self.set_entropy(seq, entropy);
        }
    }

    /// Whether the ring is full, or has been gone round once more.
    #[inline(always)]
    const fn may_not_fit(&self) -> bool {
        self.next - self.base == self.capacity() || self.next & self.mask == 0
    }

    /// Makes room for the next packet: twice as much if there is none, half as much or less if most is not in use.
    #[cold]
    #[inline(never)]
    fn fit(&mut self) {
        let (held, capacity) = (self.next - self.base, self.capacity());
        if held == capacity {
            self.resize(2 * capacity);
        } else if held < capacity / SPARE && capacity > MIN_PACKETS {
            self.resize((2 * held).next_power_of_two().max(MIN_PACKETS));
        }
    }

    /// Moves to a ring for so many packets.
    fn resize(&mut self, packets: u32) {
        let mut resized = Self {
            ring: ring(packets, self.keeps_entropies()),
            losses: self.losses.take(),
            mask: packets - 1,
            ..*self
        };
        for seq in self.base..self.next {
            resized.set(seq, self.cell(seq));
            if self.keeps_entropies() {
                resized.set_entropy(seq, self.entropy(seq));
            }
        }
        *self = resized;
    }

    /// Packet `seq`, which was sent, is acknowledged by feedback on a transmission that left at `sent_at`. If it is the
    /// oldest one, [`Self::advance`] must follow.
    #[inline(always)]
    pub(crate) fn acknowledge(&mut self, sent_at: Time, seq: u32) -> AckOutcome {
        if seq < self.base {
            return AckOutcome::Known;
        }
        debug_assert!(seq < self.next, "a packet that was never sent cannot be acknowledged");
        let cell = self.cell(seq);
        self.set(seq, Cell::default());
        match cell.state() {
            SentState::Acked => AckOutcome::Known,
            SentState::First => AckOutcome::Arrived { is_last: cell.left_at(sent_at) },
            SentState::Retransmitted => {
                if let Some(losses) = &mut self.losses {
                    losses.standing -= 1;
                }
                AckOutcome::Arrived { is_last: cell.left_at(sent_at) }
            }
            SentState::Lost => {
                if let Some(losses) = &mut self.losses {
                    losses.packets -= 1;
                    losses.standing -= 1;
                }
                AckOutcome::WasLost
            }
        }
    }

    /// Whether packet `seq`, which was sent, is acknowledged.
    pub(crate) fn is_acknowledged(&self, seq: u32) -> bool {
        seq < self.base || self.cell(seq).state() == SentState::Acked
    }

    /// Whether the oldest packet that is not acknowledged has timed out, or left so long or longer before `sent_at`.
    #[inline(always)]
    pub(crate) fn is_overdue(&self, now: Time, sent_at: Time, by: Duration) -> bool {
        let cell = self.cell(self.base);
        self.base < self.next && (cell.timeouts() > 0 || cell.sent_at(now) + by <= sent_at)
    }

    /// Forgets the acknowledged packets at the front.
    #[inline(always)]
    pub(crate) fn advance(&mut self) {
        while self.base < self.next && self.cell(self.base).state() == SentState::Acked {
            self.base += 1;
        }
        self.first = self.first.max(self.base);
        if let Some(losses) = &mut self.losses
            && losses.packets == 0
        {
            losses.retransmit_queue.clear();
        }
    }
}

#[cfg(test)]
mod tests;
