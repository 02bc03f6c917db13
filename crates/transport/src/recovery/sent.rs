//! The sent-packet map: what became of each packet from the oldest unacknowledged one on.
//!
//! A ring with 8 bytes for each packet of the window (10 where the path selector wants its entropies back). Packets are
//! judged by the age of their last transmission, and never searched for:
//!
//! - first transmissions leave in order of their numbers and share one time-out, so the oldest one in flight is found
//!   by a mark that only moves forward;
//! - retransmissions of packets that timed out n times share one time-out too, and stand in a queue per n in the order
//!   in which they left. One that is given up for its age leaves its queue; one that was acknowledged, or given up for
//!   itself and perhaps sent again, when it comes up.
//!
//! Each packet thus passes each step once: a burst of thousands of losses costs a constant for each.

use crate::balance::Entropy;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use farspan_units::{Bytes, Duration, Time};

/// Smallest ring.
const MIN_PACKETS: u32 = 8;
/// A packet's time-outs are counted up to here.
const MAX_TIMEOUTS: u32 = 15;

/// What became of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Acknowledged (or never sent: cells start so).
    Acked = 0,
    /// In flight for the first time.
    First = 1,
    /// In flight again.
    Again = 2,
    /// Held for lost, and not sent again yet.
    Lost = 3,
}

/// One packet: state in 2 bits, time-outs so far in 4, send time of its last transmission in 58 (ps, the low bits; read
/// relative to now, so that ages up to 80 hours are exact).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Cell(u64);

impl Cell {
    const TIME_BITS: u32 = 58;
    const TIME: u64 = (1 << Self::TIME_BITS) - 1;

    #[inline]
    const fn new(state: State, timeouts: u32, sent_at: Time) -> Self {
        let timeouts = if timeouts < MAX_TIMEOUTS { timeouts } else { MAX_TIMEOUTS };
        Self((state as u64) << 62 | (timeouts as u64) << Self::TIME_BITS | sent_at.as_ps() & Self::TIME)
    }

    #[inline]
    const fn state(self) -> State {
        match self.0 >> 62 {
            0 => State::Acked,
            1 => State::First,
            2 => State::Again,
            _ => State::Lost,
        }
    }

    const fn timeouts(self) -> u32 {
        (self.0 >> Self::TIME_BITS) as u32 & MAX_TIMEOUTS
    }

    /// The send time, which is not after `now`.
    #[inline]
    const fn sent_at(self, now: Time) -> Time {
        Time::from_ps(now.as_ps() - (now.as_ps().wrapping_sub(self.0) & Self::TIME))
    }
}

/// A transmission in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flight {
    sent_at: Time,
    seq: u32,
}

/// What an ACK says about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It was in flight; its last transmission left then.
    Arrived {
        /// When it left.
        sent_at: Time,
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
        if self.next - self.base == self.capacity() {
            self.grow();
        }
        let seq = self.next;
        self.next += 1;
        self.record(seq, Cell::new(State::First, 0, now), entropy);
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
        if self.next - self.base == self.capacity() {
            self.grow();
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

    fn grow(&mut self) {
        let packets = self.capacity() * 2;
        let mut grown = Self {
            ring: ring(packets, self.keeps_entropies()),
            losses: self.losses.take(),
            mask: packets - 1,
            ..*self
        };
        for seq in self.base..self.next {
            grown.set(seq, self.cell(seq));
            if self.keeps_entropies() {
                grown.set_entropy(seq, self.entropy(seq));
            }
        }
        *self = grown;
    }

    /// Packet `seq`, which was sent, is acknowledged. If it is the oldest one, [`Self::advance`] must follow.
    #[inline]
    pub(crate) fn acknowledge(&mut self, now: Time, seq: u32) -> Outcome {
        if seq < self.base {
            return Outcome::Known;
        }
        debug_assert!(seq < self.next, "a packet that was never sent cannot be acknowledged");
        let cell = self.cell(seq);
        self.set(seq, Cell::default());
        match cell.state() {
            State::Acked => Outcome::Known,
            State::First | State::Again => Outcome::Arrived { sent_at: cell.sent_at(now) },
            State::Lost => {
                if let Some(losses) = &mut self.losses {
                    losses.packets -= 1;
                }
                Outcome::WasLost
            }
        }
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

    /// When the first packet in flight times out.
    pub(crate) fn deadline(&mut self, now: Time, patience: Patience) -> Option<Time> {
        let mut deadline = self.oldest_first(now).map(|oldest| oldest.sent_at.saturating_add(patience.rto));
        for level in 0..self.levels() {
            if let Some(oldest) = self.oldest_again(now, level) {
                let due = oldest.sent_at.saturating_add(patience.after(level as u32));
                deadline = Some(deadline.map_or(due, |earliest| earliest.min(due)));
            }
        }
        deadline
    }

    /// Gives up one transmission whose time-out has run out at `now`; its packet is lost. Call until `None`.
    pub(crate) fn take_timed_out(&mut self, now: Time, patience: Patience) -> Option<Late> {
        self.take(now, true, |sent_at, timeouts| sent_at.saturating_add(patience.after(timeouts)) <= now)
    }

    /// Whether a transmission in flight may have left at `mark` or before.
    #[inline]
    pub(crate) fn may_hold_sent_until(&mut self, now: Time, mark: Time) -> bool {
        self.levels() > 0 || self.oldest_first(now).is_some_and(|oldest| oldest.sent_at <= mark)
    }

    /// Gives up one transmission that left at `mark` or before; its packet is lost. Call until `None`.
    pub(crate) fn take_sent_until(&mut self, now: Time, mark: Time) -> Option<Late> {
        self.take(now, false, |sent_at, _| sent_at <= mark)
    }

    /// Gives up the transmission of `seq` that left at `sent_at`, if it is in flight; its packet is lost.
    pub(crate) fn take_one(&mut self, now: Time, seq: u32, sent_at: Time) -> Option<Late> {
        let flight = Flight { sent_at, seq };
        self.is_in_flight(now, flight).then(|| self.give_up(flight, self.cell(seq).timeouts()))
    }

    fn take(&mut self, now: Time, timed_out: bool, is_late: impl Fn(Time, u32) -> bool) -> Option<Late> {
        if let Some(oldest) = self.oldest_first(now)
            && is_late(oldest.sent_at, 0)
        {
            self.first += 1;
            return Some(self.give_up(oldest, u32::from(timed_out)));
        }
        for level in 0..self.levels() {
            if let Some(oldest) = self.oldest_again(now, level)
                && is_late(oldest.sent_at, level as u32)
            {
                self.losses.as_mut()?.again[level].pop_front();
                return Some(self.give_up(oldest, level as u32 + u32::from(timed_out)));
            }
        }
        None
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
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const RTO: Duration = Duration::from_us(100);
    const PATIENCE: Patience = Patience { rto: RTO, backs_off: true };
    /// After all that happens in tests that do not count time themselves.
    const LATER: Time = Time::from_ps(1 << 40);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A map whose packet `i` left at `i` us.
    fn sent(packets: u32) -> SentMap {
        let mut map = SentMap::new(true);
        for i in 0..packets {
            assert_eq!(map.send_new(us(u64::from(i)), i as Entropy + 100), i);
        }
        map
    }

    fn ack(map: &mut SentMap, seq: u32) -> Outcome {
        let outcome = map.acknowledge(LATER, seq);
        map.advance();
        outcome
    }

    fn timed_out(map: &mut SentMap, now: u64) -> Vec<u32> {
        core::iter::from_fn(|| map.take_timed_out(us(now), PATIENCE)).map(|late| late.seq).collect()
    }

    #[test]
    fn acks_in_any_order_move_the_base_over_what_is_acknowledged() {
        let mut map = sent(4);
        assert_eq!(ack(&mut map, 2), Outcome::Arrived { sent_at: us(2) });
        assert_eq!(ack(&mut map, 1), Outcome::Arrived { sent_at: us(1) });
        assert_eq!(map.base(), 0);
        assert_eq!(ack(&mut map, 0), Outcome::Arrived { sent_at: us(0) });
        assert_eq!(map.base(), 3);
        assert_eq!(ack(&mut map, 2), Outcome::Known);
        assert_eq!(ack(&mut map, 1), Outcome::Known);
    }

    #[test]
    fn each_packet_times_out_a_time_out_after_it_left() {
        let mut map = sent(3);
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(100)));
        ack(&mut map, 0);
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(101)));
        assert!(timed_out(&mut map, 100).is_empty());
        assert_eq!(timed_out(&mut map, 102), [1, 2]);
        assert_eq!(map.deadline(LATER, PATIENCE), None);
    }

    #[test]
    fn the_time_out_doubles_with_every_repeat_of_one_packet() {
        let mut map = sent(1);
        let mut now = 0;
        for repeat in 0..4 {
            assert_eq!(map.deadline(LATER, PATIENCE), Some(us(now + (100 << repeat))));
            now += 100 << repeat;
            assert!(timed_out(&mut map, now - 1).is_empty());
            assert_eq!(timed_out(&mut map, now), [0]);
            assert_eq!(map.resend(us(now), 0), Some((0, repeat + 1)));
        }
    }

    #[test]
    fn a_loss_found_without_a_time_out_does_not_double_it() {
        let mut map = sent(2);
        assert_eq!(map.take_sent_until(LATER, us(0)).map(|late| late.seq), Some(0));
        assert_eq!(map.take_sent_until(LATER, us(0)), None);
        assert_eq!(map.resend(us(10), 0), Some((0, 0)));
        ack(&mut map, 1);
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(110)));
    }

    #[test]
    fn one_transmission_given_up_for_itself_times_out_no_more_and_later_ones_of_the_packet_do() {
        let mut map = sent(3);
        assert_eq!(map.take_one(LATER, 0, us(0)), Some(Late { seq: 0, sent_at: us(0), entropy: 100 }));
        assert_eq!(map.take_one(LATER, 0, us(0)), None, "it is lost already");
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(101)));
        assert_eq!(map.resend(us(5), 7), Some((0, 0)), "no time-out has run out");
        assert_eq!(map.take_one(LATER, 0, us(0)), None, "an earlier transmission");
        assert_eq!(map.take_one(LATER, 9, us(0)), None, "never sent");
        ack(&mut map, 1);
        assert_eq!(map.take_one(LATER, 1, us(1)), None, "acknowledged");
        ack(&mut map, 2);
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(105)));
    }

    #[test]
    fn a_retransmission_given_up_and_sent_again_stands_behind_those_sent_before() {
        let mut map = sent(2);
        timed_out(&mut map, 101);
        map.resend(us(110), 0);
        map.resend(us(111), 0);
        assert!(map.take_one(LATER, 0, us(110)).is_some());
        assert_eq!(map.resend(us(150), 0), Some((0, 1)), "the time-outs so far stay");
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(311)), "packet 1");
        assert_eq!(timed_out(&mut map, 349), [1]);
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(350)));
    }

    #[test]
    fn a_late_packet_comes_with_its_last_send_time_and_entropy() {
        let mut map = sent(20);
        timed_out(&mut map, 100);
        map.resend(us(100), 7);
        let late: Vec<_> = core::iter::from_fn(|| map.take_sent_until(LATER, us(100))).collect();
        assert_eq!(late[2], Late { seq: 3, sent_at: us(3), entropy: 103 });
        assert_eq!(late.last(), Some(&Late { seq: 0, sent_at: us(100), entropy: 7 }));
    }

    #[test]
    fn a_lost_packet_that_is_acknowledged_is_not_sent_again() {
        let mut map = sent(3);
        assert_eq!(timed_out(&mut map, 101), [0, 1]);
        assert_eq!(ack(&mut map, 0), Outcome::WasLost);
        assert_eq!(map.resend(us(102), 0), Some((1, 1)));
        assert_eq!(map.resend(us(102), 0), None);
        assert!(!map.has_lost());
    }

    #[test]
    fn retransmissions_that_were_acknowledged_do_not_hold_up_later_ones() {
        let mut map = sent(3);
        timed_out(&mut map, 102);
        for now in [110, 111, 112] {
            map.resend(us(now), 0);
        }
        ack(&mut map, 0);
        ack(&mut map, 1);
        assert_eq!(map.deadline(LATER, PATIENCE), Some(us(312)));
        assert_eq!(timed_out(&mut map, 312), [2]);
    }

    #[test]
    fn without_back_off_every_repeat_waits_the_same_time() {
        let steady = Patience { backs_off: false, ..PATIENCE };
        let mut map = SentMap::new(false);
        map.send_new(us(0), 0);
        for n in 0..5 {
            let due = 100 * (n + 1);
            assert_eq!(map.deadline(us(due), steady), Some(us(due)));
            assert_eq!(map.take_timed_out(us(due), steady).map(|late| late.seq), Some(0));
            map.resend(us(due), 0);
        }
    }

    #[test]
    fn send_times_are_exact_after_the_58_bits_wrap() {
        let mut map = SentMap::new(false);
        let start = Time::from_ps((1 << 58) - 1);
        map.send_new(start, 0);
        map.send_new(start + Duration::from_ps(1), 0);
        assert_eq!(map.deadline(start + RTO, PATIENCE), Some(start + RTO));
        assert_eq!(
            map.acknowledge(start + RTO, 1),
            Outcome::Arrived { sent_at: start + Duration::from_ps(1) }
        );
    }

    #[test]
    fn a_packet_of_the_window_takes_eight_bytes_and_two_more_for_its_entropy() {
        let map = sent(4096);
        assert_eq!(map.ring.len() * size_of::<Cell>(), 4096 * 10);
        let mut map = SentMap::new(false);
        for i in 0..4096 {
            map.send_new(us(i), 7);
        }
        assert_eq!(map.ring.len() * size_of::<Cell>(), 4096 * 8);
    }

    /// What the map must do, told the slow way: every packet in a table, every question a scan.
    #[derive(Default)]
    struct Model {
        /// By packet: (state, time-outs, last send time).
        packets: BTreeMap<u32, (State, u32, Time)>,
    }

    impl Model {
        fn in_flight(&self) -> impl Iterator<Item = (u32, u32, Time)> {
            let flying = |(&seq, &(state, timeouts, at)): (&u32, &(State, u32, Time))| {
                matches!(state, State::First | State::Again).then_some((seq, timeouts, at))
            };
            self.packets.iter().filter_map(flying)
        }

        fn deadline(&self) -> Option<Time> {
            self.in_flight().map(|(_, timeouts, at)| at + RTO.doubled(timeouts)).min()
        }
    }

    proptest! {
        #[test]
        fn the_map_agrees_with_a_table_that_is_scanned(
            steps in prop::collection::vec((0u8..6, any::<u16>(), 0u64..40), 1..400),
        ) {
            let (mut map, mut model, mut now) = (SentMap::new(false), Model::default(), Time::ZERO);
            for (step, pick, wait) in steps {
                now += Duration::from_us(wait);
                match step {
                    0 | 1 => {
                        let seq = map.send_new(now, 0);
                        model.packets.insert(seq, (State::First, 0, now));
                    }
                    2 if map.next() > 0 => {
                        let seq = u32::from(pick) % map.next();
                        let (state, _, at) = model.packets[&seq];
                        let expected = match state {
                            State::Acked => Outcome::Known,
                            State::Lost => Outcome::WasLost,
                            State::First | State::Again => Outcome::Arrived { sent_at: at },
                        };
                        prop_assert_eq!(ack(&mut map, seq), expected);
                        model.packets.entry(seq).and_modify(|packet| packet.0 = State::Acked);
                    }
                    5 if map.next() > 0 => {
                        let seq = u32::from(pick) % map.next();
                        let (state, timeouts, at) = model.packets[&seq];
                        // Now and then of another transmission than the last.
                        let echoed = if pick % 5 == 0 { Time::from_ps(at.as_ps() / 2) } else { at };
                        let flies = matches!(state, State::First | State::Again) && echoed == at;
                        let taken = map.take_one(LATER, seq, echoed);
                        prop_assert_eq!(taken, flies.then_some(Late { seq, sent_at: at, entropy: 0 }));
                        if flies {
                            model.packets.insert(seq, (State::Lost, timeouts, at));
                        }
                    }
                    3 => {
                        let is_lost = model.packets.values().any(|packet| packet.0 == State::Lost);
                        prop_assert_eq!(map.has_lost(), is_lost);
                        let sent = map.resend(now, 0);
                        prop_assert_eq!(sent.is_some(), is_lost);
                        if let Some((seq, timeouts)) = sent {
                            prop_assert_eq!(model.packets[&seq].0, State::Lost);
                            prop_assert_eq!(model.packets[&seq].1, timeouts);
                            model.packets.insert(seq, (State::Again, timeouts, now));
                        }
                    }
                    _ => {
                        let by_time = pick % 2 == 0;
                        let mark = Time::from_ps(now.as_ps().saturating_sub(RTO.as_ps() / 2));
                        let late = |timeouts: u32, at: Time| {
                            if by_time { at <= mark } else { at + RTO.doubled(timeouts) <= now }
                        };
                        let mut expected: Vec<u32> =
                            model.in_flight().filter(|&(_, timeouts, at)| late(timeouts, at)).map(|p| p.0).collect();
                        let take = |map: &mut SentMap| {
                            if by_time { map.take_sent_until(LATER, mark) } else { map.take_timed_out(now, PATIENCE) }
                        };
                        let mut taken: Vec<u32> =
                            core::iter::from_fn(|| take(&mut map)).map(|late| late.seq).collect();
                        for seq in &taken {
                            let timeouts = model.packets[seq].1 + u32::from(!by_time);
                            let at = model.packets[seq].2;
                            model.packets.insert(*seq, (State::Lost, timeouts.min(MAX_TIMEOUTS), at));
                        }
                        taken.sort_unstable();
                        expected.sort_unstable();
                        prop_assert_eq!(taken, expected);
                    }
                }
                prop_assert_eq!(map.deadline(LATER, PATIENCE), model.deadline());
                let base = model.packets.iter().find(|(_, packet)| packet.0 != State::Acked).map(|(seq, _)| *seq);
                prop_assert_eq!(map.base(), base.unwrap_or(map.next()));
            }
        }
    }
}
