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
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use farspan_units::{Duration, Time};

/// Smallest ring.
const MIN_PACKETS: usize = 8;
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
/// relative to the newest transmission, so that ages up to 80 hours are exact).
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

    /// The send time, which is not after `newest`.
    #[inline]
    const fn sent_at(self, newest: Time) -> Time {
        Time::from_ps(newest.as_ps() - (newest.as_ps().wrapping_sub(self.0) & Self::TIME))
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

/// The sent-packet map of one sender.
#[derive(Clone, Debug)]
pub(crate) struct SentMap {
    /// Cells of packets `base..next`, at `seq % len`; the length is a power of two.
    ring: Vec<Cell>,
    /// Entropies of the same packets, or empty.
    entropies: Vec<Entropy>,
    keeps_entropies: bool,
    /// Whether time-outs double with each time-out of the same packet.
    backs_off: bool,
    /// The oldest packet that is not acknowledged.
    base: u32,
    /// The first packet that was never sent.
    next: u32,
    /// No first transmission before this packet is in flight.
    first: u32,
    /// Packets in state `Lost`.
    lost_packets: u32,
    /// When the newest transmission left.
    newest: Time,
    /// Packets held for lost, in the order in which they were found; acknowledged ones are skipped.
    lost: VecDeque<u32>,
    /// Retransmissions in flight, by time-outs of the packet so far; others among them are skipped.
    again: Vec<VecDeque<Flight>>,
}

const fn time_out(rto: Duration, backs_off: bool, timeouts: u32) -> Duration {
    if backs_off { rto.doubled(timeouts) } else { rto }
}

impl SentMap {
    /// An empty map; `keeps_entropies`: whether [`Late::entropy`] is wanted; `backs_off`: whether time-outs double.
    pub(crate) const fn new(keeps_entropies: bool, backs_off: bool) -> Self {
        Self {
            ring: Vec::new(),
            entropies: Vec::new(),
            keeps_entropies,
            backs_off,
            base: 0,
            next: 0,
            first: 0,
            lost_packets: 0,
            newest: Time::ZERO,
            lost: VecDeque::new(),
            again: Vec::new(),
        }
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
    pub(crate) const fn has_lost(&self) -> bool {
        self.lost_packets > 0
    }

    const fn index(&self, seq: u32) -> usize {
        seq as usize & (self.ring.len() - 1)
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
        if (self.next - self.base) as usize == self.ring.len() {
            self.grow();
        }
        let seq = self.next;
        self.next += 1;
        self.record(seq, Cell::new(State::First, 0, now), now, entropy);
        seq
    }

    /// A lost packet leaves again; gives its number and how often it timed out.
    pub(crate) fn resend(&mut self, now: Time, entropy: Entropy) -> Option<(u32, u32)> {
        while let Some(seq) = self.lost.pop_front() {
            if seq < self.base || self.cell(seq).state() != State::Lost {
                continue;
            }
            let timeouts = self.cell(seq).timeouts();
            self.lost_packets -= 1;
            self.record(seq, Cell::new(State::Again, timeouts, now), now, entropy);
            let level = timeouts as usize;
            if self.again.len() <= level {
                self.again.resize_with(level + 1, VecDeque::new);
            }
            self.again[level].push_back(Flight { sent_at: now, seq });
            return Some((seq, timeouts));
        }
        None
    }

    #[inline]
    fn record(&mut self, seq: u32, cell: Cell, now: Time, entropy: Entropy) {
        debug_assert!(now >= self.newest, "time moved backwards");
        self.newest = now;
        let index = self.index(seq);
        self.ring[index] = cell;
        if self.keeps_entropies {
            self.entropies[index] = entropy;
        }
    }

    fn grow(&mut self) {
        let (old, old_entropies) = (core::mem::take(&mut self.ring), core::mem::take(&mut self.entropies));
        self.ring = alloc::vec![Cell::default(); (old.len() * 2).max(MIN_PACKETS)];
        if self.keeps_entropies {
            self.entropies = alloc::vec![0; self.ring.len()];
        }
        for seq in self.base..self.next {
            let (from, to) = (seq as usize & (old.len() - 1), self.index(seq));
            self.ring[to] = old[from];
            if self.keeps_entropies {
                self.entropies[to] = old_entropies[from];
            }
        }
    }

    /// Packet `seq`, which was sent, is acknowledged. [`Self::advance`] must follow.
    #[inline]
    pub(crate) fn acknowledge(&mut self, seq: u32) -> Outcome {
        if seq < self.base {
            return Outcome::Known;
        }
        debug_assert!(seq < self.next, "a packet that was never sent cannot be acknowledged");
        let cell = self.cell(seq);
        self.set(seq, Cell::default());
        match cell.state() {
            State::Acked => Outcome::Known,
            State::First | State::Again => Outcome::Arrived { sent_at: cell.sent_at(self.newest) },
            State::Lost => {
                self.lost_packets -= 1;
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
        if self.lost_packets == 0 {
            self.lost.clear();
        }
    }

    /// The oldest first transmission in flight.
    fn oldest_first(&mut self) -> Option<Flight> {
        while self.first < self.next {
            let cell = self.cell(self.first);
            if cell.state() == State::First {
                return Some(Flight { sent_at: cell.sent_at(self.newest), seq: self.first });
            }
            self.first += 1;
        }
        None
    }

    /// The oldest retransmission in flight among packets that timed out `level` times.
    fn oldest_again(&mut self, level: usize) -> Option<Flight> {
        while let Some(&flight) = self.again[level].front() {
            if self.is_in_flight(flight) {
                return Some(flight);
            }
            self.again[level].pop_front();
        }
        None
    }

    /// Whether this transmission is in flight, and its packet's last.
    fn is_in_flight(&self, Flight { sent_at, seq }: Flight) -> bool {
        if seq < self.base || seq >= self.next {
            return false;
        }
        let cell = self.cell(seq);
        matches!(cell.state(), State::First | State::Again) && cell.sent_at(self.newest) == sent_at
    }

    /// When the first packet in flight times out, if `rto` is the time-out of one that never did.
    pub(crate) fn deadline(&mut self, rto: Duration) -> Option<Time> {
        let mut deadline = self.oldest_first().map(|oldest| oldest.sent_at.saturating_add(rto));
        for level in 0..self.again.len() {
            if let Some(oldest) = self.oldest_again(level) {
                let due = oldest.sent_at.saturating_add(self.time_out(rto, level as u32));
                deadline = Some(deadline.map_or(due, |earliest| earliest.min(due)));
            }
        }
        deadline
    }

    /// Gives up one transmission whose time-out has run out at `now`; its packet is lost. Call until `None`.
    pub(crate) fn take_timed_out(&mut self, now: Time, rto: Duration) -> Option<Late> {
        let backs_off = self.backs_off;
        self.take(true, |sent_at, timeouts| sent_at.saturating_add(time_out(rto, backs_off, timeouts)) <= now)
    }

    /// The time-out of a packet that timed out so often, if `rto` is that of one that never did.
    pub(crate) const fn time_out(&self, rto: Duration, timeouts: u32) -> Duration {
        time_out(rto, self.backs_off, timeouts)
    }

    /// Gives up one transmission that left at `mark` or before; its packet is lost. Call until `None`.
    pub(crate) fn take_sent_until(&mut self, mark: Time) -> Option<Late> {
        self.take(false, |sent_at, _| sent_at <= mark)
    }

    /// Gives up the transmission of `seq` that left at `sent_at`, if it is in flight; its packet is lost.
    pub(crate) fn take_one(&mut self, seq: u32, sent_at: Time) -> Option<Late> {
        let flight = Flight { sent_at, seq };
        self.is_in_flight(flight).then(|| self.give_up(flight, self.cell(seq).timeouts()))
    }

    fn take(&mut self, timed_out: bool, is_late: impl Fn(Time, u32) -> bool) -> Option<Late> {
        if let Some(oldest) = self.oldest_first()
            && is_late(oldest.sent_at, 0)
        {
            self.first += 1;
            return Some(self.give_up(oldest, u32::from(timed_out)));
        }
        for level in 0..self.again.len() {
            if let Some(oldest) = self.oldest_again(level)
                && is_late(oldest.sent_at, level as u32)
            {
                self.again[level].pop_front();
                return Some(self.give_up(oldest, level as u32 + u32::from(timed_out)));
            }
        }
        None
    }

    fn give_up(&mut self, Flight { sent_at, seq }: Flight, timeouts: u32) -> Late {
        self.set(seq, Cell::new(State::Lost, timeouts, sent_at));
        self.lost.push_back(seq);
        self.lost_packets += 1;
        let entropy = self.entropies.get(self.index(seq)).copied().unwrap_or_default();
        Late { seq, sent_at, entropy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const RTO: Duration = Duration::from_us(100);

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A map whose packet `i` left at `i` us.
    fn sent(packets: u32) -> SentMap {
        let mut map = SentMap::new(true, true);
        for i in 0..packets {
            assert_eq!(map.send_new(us(u64::from(i)), i as Entropy + 100), i);
        }
        map
    }

    fn ack(map: &mut SentMap, seq: u32) -> Outcome {
        let outcome = map.acknowledge(seq);
        map.advance();
        outcome
    }

    fn timed_out(map: &mut SentMap, now: u64) -> Vec<u32> {
        core::iter::from_fn(|| map.take_timed_out(us(now), RTO)).map(|late| late.seq).collect()
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
        assert_eq!(map.deadline(RTO), Some(us(100)));
        ack(&mut map, 0);
        assert_eq!(map.deadline(RTO), Some(us(101)));
        assert!(timed_out(&mut map, 100).is_empty());
        assert_eq!(timed_out(&mut map, 102), [1, 2]);
        assert_eq!(map.deadline(RTO), None);
    }

    #[test]
    fn the_time_out_doubles_with_every_repeat_of_one_packet() {
        let mut map = sent(1);
        let mut now = 0;
        for repeat in 0..4 {
            assert_eq!(map.deadline(RTO), Some(us(now + (100 << repeat))));
            now += 100 << repeat;
            assert!(timed_out(&mut map, now - 1).is_empty());
            assert_eq!(timed_out(&mut map, now), [0]);
            assert_eq!(map.resend(us(now), 0), Some((0, repeat + 1)));
        }
    }

    #[test]
    fn a_loss_found_without_a_time_out_does_not_double_it() {
        let mut map = sent(2);
        assert_eq!(map.take_sent_until(us(0)).map(|late| late.seq), Some(0));
        assert_eq!(map.take_sent_until(us(0)), None);
        assert_eq!(map.resend(us(10), 0), Some((0, 0)));
        ack(&mut map, 1);
        assert_eq!(map.deadline(RTO), Some(us(110)));
    }

    #[test]
    fn one_transmission_given_up_for_itself_times_out_no_more_and_later_ones_of_the_packet_do() {
        let mut map = sent(3);
        assert_eq!(map.take_one(0, us(0)), Some(Late { seq: 0, sent_at: us(0), entropy: 100 }));
        assert_eq!(map.take_one(0, us(0)), None, "it is lost already");
        assert_eq!(map.deadline(RTO), Some(us(101)));
        assert_eq!(map.resend(us(5), 7), Some((0, 0)), "no time-out has run out");
        assert_eq!(map.take_one(0, us(0)), None, "an earlier transmission");
        assert_eq!(map.take_one(9, us(0)), None, "never sent");
        ack(&mut map, 1);
        assert_eq!(map.take_one(1, us(1)), None, "acknowledged");
        ack(&mut map, 2);
        assert_eq!(map.deadline(RTO), Some(us(105)));
    }

    #[test]
    fn a_retransmission_given_up_and_sent_again_stands_behind_those_sent_before() {
        let mut map = sent(2);
        timed_out(&mut map, 101);
        map.resend(us(110), 0);
        map.resend(us(111), 0);
        assert!(map.take_one(0, us(110)).is_some());
        assert_eq!(map.resend(us(150), 0), Some((0, 1)), "the time-outs so far stay");
        assert_eq!(map.deadline(RTO), Some(us(311)), "packet 1");
        assert_eq!(timed_out(&mut map, 349), [1]);
        assert_eq!(map.deadline(RTO), Some(us(350)));
    }

    #[test]
    fn a_late_packet_comes_with_its_last_send_time_and_entropy() {
        let mut map = sent(20);
        timed_out(&mut map, 100);
        map.resend(us(100), 7);
        let late: Vec<_> = core::iter::from_fn(|| map.take_sent_until(us(100))).collect();
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
        assert_eq!(map.deadline(RTO), Some(us(312)));
        assert_eq!(timed_out(&mut map, 312), [2]);
    }

    #[test]
    fn without_back_off_every_repeat_waits_the_same_time() {
        let mut map = SentMap::new(false, false);
        map.send_new(us(0), 0);
        for n in 0..5 {
            let due = 100 * (n + 1);
            assert_eq!(map.deadline(RTO), Some(us(due)));
            assert_eq!(timed_out(&mut map, due), [0]);
            map.resend(us(due), 0);
        }
    }

    #[test]
    fn send_times_are_exact_after_the_58_bits_wrap() {
        let mut map = SentMap::new(false, true);
        let start = Time::from_ps((1 << 58) - 1);
        map.send_new(start, 0);
        map.send_new(start + Duration::from_ps(1), 0);
        assert_eq!(map.deadline(RTO), Some(start + RTO));
        assert_eq!(map.acknowledge(1), Outcome::Arrived { sent_at: start + Duration::from_ps(1) });
    }

    #[test]
    fn a_packet_of_the_window_takes_eight_bytes() {
        let map = sent(4096);
        assert_eq!(map.ring.len() * size_of::<Cell>(), 4096 * 8);
        assert!(SentMap::new(false, true).entropies.is_empty());
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
            let (mut map, mut model, mut now) = (SentMap::new(false, true), Model::default(), Time::ZERO);
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
                        let taken = map.take_one(seq, echoed);
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
                            if by_time { map.take_sent_until(mark) } else { map.take_timed_out(now, RTO) }
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
                prop_assert_eq!(map.deadline(RTO), model.deadline());
                let base = model.packets.iter().find(|(_, packet)| packet.0 != State::Acked).map(|(seq, _)| *seq);
                prop_assert_eq!(map.base(), base.unwrap_or(map.next()));
            }
        }
    }
}
