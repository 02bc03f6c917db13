//! The sent-packet map: what became of each packet from the oldest unacknowledged one on.
//!
//! A ring with 8 bytes for each packet of the window (10 where the path selector wants its entropies back), which follows
//! the window down as well as up: in a ring far larger than its window, each cell has left the caches when its turn comes
//! again. Packets are judged by the age of their last transmission, and never searched for:
//!
//! - first transmissions leave in order of their numbers and share one time-out, so the oldest one in flight is found
//!   by a mark that only moves forward;
//! - retransmissions of packets that timed out n times share one time-out too, and stand in a queue per n in the order
//!   in which they left. One that is given up for its age leaves its queue; one that was acknowledged, or given up for
//!   itself and perhaps sent again, when it comes up.
//!
//! Each packet thus passes each step once: a burst of thousands of losses costs a constant for each.

mod cell;

use crate::balance::Entropy;
use crate::sender::PacketState;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use cell::{Cell, State};
use core::ops::Range;
use farspan_units::{Bytes, Duration, Time};

/// Smallest ring.
const MIN_PACKETS: u32 = 8;
/// A ring shrinks when less than one in so many of its cells is in use.
const SPARE: u32 = 4;

/// A transmission in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flight {
    sent_at: Time,
    seq: u32,
}

/// What an ACK says about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It was in flight.
    Arrived {
        /// Whether the transmission that is told of was its last.
        is_last: bool,
    },
    /// It was held for lost.
    WasLost,
    /// It was acknowledged before.
    Known,
}

/// A transmission that was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Late {
    /// Which packet.
    pub seq: u32,
    /// When the transmission left.
    pub sent_at: Time,
    /// The path it took; 0 where entropies are not kept.
    pub entropy: Entropy,
}

/// What a sender counts of its losses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Payload sent again.
    pub retransmitted_bytes: Bytes,
    /// Packets sent again.
    pub retransmitted_packets: u32,
    /// Packets whose time-out ran out, each time it did.
    pub timeouts: u32,
    /// NACKs received.
    pub nacks: u32,
    /// Packets found lost without a time-out.
    pub losses: u32,
    /// Packets that arrived after they were held for lost.
    pub spurious: u32,
    /// Payload that NACKs acknowledged since the last ACK, which is left to the next one to tell the control.
    unreported: u32,
}

impl Tally {
    /// Leaves it to the next ACK to tell the control.
    pub(crate) fn leave_unreported(&mut self, bytes: Bytes) {
        self.unreported = self.unreported.saturating_add(u32::try_from(bytes.get()).unwrap_or(u32::MAX));
    }
}

/// What only a flow that has lost a packet needs.
#[derive(Clone, Debug, Default)]
struct Losses {
    /// Packets in state `Lost`.
    packets: u32,
    /// They, in the order in which they were found; acknowledged ones are skipped.
    line: VecDeque<u32>,
    /// Retransmissions in flight, by time-outs of the packet so far; others among them are skipped.
    again: Vec<VecDeque<Flight>>,
    tally: Tally,
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

/// How long packets are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patience {
    /// The time-out of a packet that never timed out.
    pub rto: Duration,
    /// Whether it doubles with each time-out of the same packet.
    pub backs_off: bool,
}

impl Patience {
    /// The time-out of a packet that timed out so often.
    #[inline]
    pub(crate) const fn after(self, timeouts: u32) -> Duration {
        if self.backs_off && timeouts > 0 { self.rto.doubled(timeouts) } else { self.rto }
    }

    /// When a packet times out that left at `sent_at`, having timed out so often.
    #[inline]
    const fn due(self, sent_at: Time, timeouts: u32) -> Time {
        sent_at.saturating_add(self.after(timeouts))
    }
}

/// Cells for so many packets.
fn ring(packets: u32, keeps_entropies: bool) -> Box<[Cell]> {
    let cells = if keeps_entropies { packets + packets / 4 } else { packets };
    alloc::vec![Cell::default(); cells as usize].into()
}

impl SentMap {
    /// An empty map; `keeps_entropies`: whether [`Late::entropy`] is wanted.
    pub(crate) fn new(keeps_entropies: bool) -> Self {
        let ring = ring(MIN_PACKETS, keeps_entropies);
        Self { ring, losses: None, mask: MIN_PACKETS - 1, base: 0, next: 0, first: 0 }
    }

    /// Whether [`Late::entropy`] is known.
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

    /// What is known of a packet.
    pub(crate) fn state_of(&self, seq: u32) -> PacketState {
        if seq < self.base {
            return PacketState::Acked;
        }
        if seq >= self.next {
            return PacketState::Unsent;
        }
        match self.cell(seq).state() {
            State::Acked => PacketState::Acked,
            State::First | State::Again => PacketState::InFlight,
            State::Lost => PacketState::Lost,
        }
    }

    /// Whether a packet waits to be sent again.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.packets > 0)
    }

    /// What was counted of losses.
    pub(crate) fn tally(&self) -> Tally {
        self.losses.as_ref().map(|losses| losses.tally).unwrap_or_default()
    }

    /// The same, to be counted on.
    pub(crate) fn tally_mut(&mut self) -> &mut Tally {
        &mut self.losses.get_or_insert_default().tally
    }

    /// What was left to this ACK.
    #[inline]
    pub(crate) fn take_unreported(&mut self) -> Bytes {
        let take = |losses: &mut Box<Losses>| core::mem::take(&mut losses.tally.unreported);
        Bytes::new(u64::from(self.losses.as_mut().map_or(0, take)))
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
        self.record(seq, Cell::new(State::First, 0, now), entropy);
        self.next = seq + 1;
        seq
    }

    /// A lost packet leaves again, the one lost first; gives its number and how often it timed out.
    pub(crate) fn resend(&mut self, now: Time, entropy: Entropy) -> Option<(u32, u32)> {
        loop {
            let seq = self.pop_line()?;
            if seq >= self.base && self.cell(seq).state() == State::Lost {
                return Some((seq, self.resend_one(now, seq, entropy)));
            }
        }
    }

    /// Packet `seq`, which is lost, leaves again; gives how often it timed out.
    pub(crate) fn resend_one(&mut self, now: Time, seq: u32, entropy: Entropy) -> u32 {
        let timeouts = self.cell(seq).timeouts();
        self.record(seq, Cell::new(State::Again, timeouts, now), entropy);
        let losses = self.losses.get_or_insert_default();
        losses.packets -= 1;
        let level = timeouts as usize;
        if losses.again.len() <= level {
            losses.again.resize_with(level + 1, VecDeque::new);
        }
        losses.again[level].push_back(Flight { sent_at: now, seq });
        timeouts
    }

    /// Takes the first out of the line of lost packets; it may have been acknowledged since.
    pub(crate) fn pop_line(&mut self) -> Option<u32> {
        self.losses.as_mut()?.line.pop_front()
    }

    /// Empties the line: none of the packets lost so far is to leave again for itself.
    pub(crate) fn clear_line(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.line.clear();
        }
    }

    /// The lost packet among these that left before the others.
    pub(crate) fn oldest_lost(&self, now: Time, packets: Range<u32>) -> Option<u32> {
        let lost = packets
            .filter(|&seq| seq >= self.base && seq < self.next && self.cell(seq).state() == State::Lost);
        lost.min_by_key(|&seq| (self.cell(seq).sent_at(now), seq))
    }

    /// The next packet need never be sent.
    pub(crate) fn skip_new(&mut self) {
        if self.may_not_fit() {
            self.fit();
        }
        self.set(self.next, Cell::default());
        self.next += 1;
    }

    /// Gives up the transmission of `seq`, if it is in flight and left at `mark` or before; the packet is lost.
    pub(crate) fn take_old(&mut self, now: Time, seq: u32, mark: Time) -> Option<Late> {
        if seq < self.base || seq >= self.next {
            return None;
        }
        let sent_at = self.cell(seq).sent_at(now);
        if sent_at > mark { None } else { self.take_one(now, seq, sent_at) }
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

    /// Packet `seq`, which was sent, is acknowledged by what tells of a transmission that left at `sent_at`. If it is the oldest one, [`Self::advance`] must follow.
    #[inline]
    pub(crate) fn acknowledge(&mut self, sent_at: Time, seq: u32) -> Outcome {
        if seq < self.base {
            return Outcome::Known;
        }
        debug_assert!(seq < self.next, "a packet that was never sent cannot be acknowledged");
        let cell = self.cell(seq);
        self.set(seq, Cell::default());
        match cell.state() {
            State::Acked => Outcome::Known,
            State::First | State::Again => Outcome::Arrived { is_last: cell.left_at(sent_at) },
            State::Lost => {
                if let Some(losses) = &mut self.losses {
                    losses.packets -= 1;
                }
                Outcome::WasLost
            }
        }
    }

    /// Whether packet `seq`, which was sent, is acknowledged.
    pub(crate) fn is_acknowledged(&self, seq: u32) -> bool {
        seq < self.base || self.cell(seq).state() == State::Acked
    }

    /// Forgets the acknowledged packets at the front.
    #[inline]
    pub(crate) fn advance(&mut self) {
        while self.base < self.next && self.cell(self.base).state() == State::Acked {
            self.base += 1;
        }
        self.first = self.first.max(self.base);
        if let Some(losses) = &mut self.losses
            && losses.packets == 0
        {
            losses.line.clear();
        }
    }

    /// The oldest first transmission in flight.
    #[inline]
    fn oldest_first(&mut self, now: Time) -> Option<Flight> {
        while self.first < self.next {
            let cell = self.cell(self.first);
            if cell.state() == State::First {
                return Some(Flight { sent_at: cell.sent_at(now), seq: self.first });
            }
            self.first += 1;
        }
        None
    }

    /// The oldest retransmission in flight among packets that timed out `level` times.
    fn oldest_again(&mut self, now: Time, level: usize) -> Option<Flight> {
        loop {
            let &flight = self.losses.as_ref()?.again[level].front()?;
            if self.is_in_flight(now, flight) {
                return Some(flight);
            }
            self.losses.as_mut()?.again[level].pop_front();
        }
    }

    /// Whether this transmission is in flight, and its packet's last.
    fn is_in_flight(&self, now: Time, Flight { sent_at, seq }: Flight) -> bool {
        if seq < self.base || seq >= self.next {
            return false;
        }
        let cell = self.cell(seq);
        matches!(cell.state(), State::First | State::Again) && cell.sent_at(now) == sent_at
    }

    /// How many queues of retransmissions there are.
    #[inline]
    fn levels(&self) -> usize {
        self.losses.as_ref().map_or(0, |losses| losses.again.len())
    }

    /// When the first packet in flight times out; [`Time::MAX`]: none is in flight.
    pub(crate) fn deadline(&mut self, now: Time, patience: Patience) -> Time {
        self.take(now, None, true, |sent_at, timeouts| patience.due(sent_at, timeouts))
            .err()
            .unwrap_or(Time::MAX)
    }

    /// Gives up one transmission whose time-out has run out at `now`; its packet is lost. Call until it gives the time at
    /// which the next one runs out ([`Time::MAX`]: none is in flight).
    pub(crate) fn take_timed_out(&mut self, now: Time, patience: Patience) -> Result<Late, Time> {
        self.take(now, Some(now), true, |sent_at, timeouts| patience.due(sent_at, timeouts))
    }

    /// Whether a transmission in flight may have left at `mark` or before.
    #[inline]
    pub(crate) fn may_hold_sent_until(&mut self, now: Time, mark: Time) -> bool {
        self.levels() > 0 || self.oldest_first(now).is_some_and(|oldest| oldest.sent_at <= mark)
    }

    /// Gives up one transmission that left at `mark` or before; its packet is lost. Call until `None`.
    pub(crate) fn take_sent_until(&mut self, now: Time, mark: Time) -> Option<Late> {
        self.take(now, Some(mark), false, |sent_at, _| sent_at).ok()
    }

    /// Gives up the transmission of `seq` that left at `sent_at`, if it is in flight; its packet is lost.
    pub(crate) fn take_one(&mut self, now: Time, seq: u32, sent_at: Time) -> Option<Late> {
        let flight = Flight { sent_at, seq };
        self.is_in_flight(now, flight).then(|| self.give_up(flight, self.cell(seq).timeouts()))
    }

    /// Gives up one transmission that is due at `limit`, if there is a limit, or says when the next one is due.
    #[inline(always)]
    fn take(
        &mut self,
        now: Time,
        limit: Option<Time>,
        timed_out: bool,
        due: impl Fn(Time, u32) -> Time,
    ) -> Result<Late, Time> {
        let mut next = Time::MAX;
        if let Some(oldest) = self.oldest_first(now) {
            next = due(oldest.sent_at, 0);
            if Some(next) <= limit {
                self.first += 1;
                return Ok(self.give_up(oldest, u32::from(timed_out)));
            }
        }
        for level in 0..self.levels() {
            if let Some(oldest) = self.oldest_again(now, level) {
                let at = due(oldest.sent_at, level as u32);
                if Some(at) <= limit
                    && let Some(losses) = &mut self.losses
                {
                    losses.again[level].pop_front();
                    return Ok(self.give_up(oldest, level as u32 + u32::from(timed_out)));
                }
                next = next.min(at);
            }
        }
        Err(next)
    }

    fn give_up(&mut self, Flight { sent_at, seq }: Flight, timeouts: u32) -> Late {
        self.set(seq, Cell::new(State::Lost, timeouts, sent_at));
        let losses = self.losses.get_or_insert_default();
        losses.line.push_back(seq);
        losses.packets += 1;
        Late { seq, sent_at, entropy: self.entropy(seq) }
    }
}

#[cfg(test)]
mod tests;
