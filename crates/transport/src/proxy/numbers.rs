//! Numbers of transmissions, so that a proxy can tell which are lost without knowing the message.
//!
//! The sender numbers the transmissions of each lane: of each path, where order holds and a gap is a loss, or of the whole
//! flow. It keeps which packet bore a number while that transmission is in flight, and knows the packets of a gap again.
//!
//! A loss shows as a gap when a later packet of its lane comes. After the last packet of a burst none does: a mark goes after it
//! on each lane, which says up to which number packets have left. A mark may be lost, too: the proxy confirms it, and one that is
//! not confirmed leaves again, after twice as long each time.

use crate::balance::Entropy;
use crate::flow::via::Numbering;
use crate::wire::Place;
use alloc::vec::Vec;
use farspan_units::{Duration, Time};

/// Smallest ring of a lane.
const MIN_NUMBERS: usize = 16;
/// Numbers are modulo 2^16: a ring of so many tells any two of them apart.
const MAX_NUMBERS: usize = 1 << 16;
/// No mark leaves again sooner.
const LEAST_WAIT: Duration = Duration::from_us(1);

/// The transmissions of one lane, the last ones at `number % len`.
#[derive(Debug)]
struct Lane {
    /// The entropy of its last packet.
    entropy: Entropy,
    next: u16,
    mark: Mark,
    /// Packet and time; the length is a power of two.
    ring: Vec<(u32, Time)>,
}

/// The mark after the last packet of a lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    /// It is to leave when the burst ends.
    Owed,
    /// It has left.
    Sent,
    /// The proxy has it.
    Confirmed,
}

/// The numbers of one sender.
#[derive(Debug)]
pub(crate) struct Numbers {
    numbering: Numbering,
    lanes: Vec<Lane>,
    /// How many lanes' marks are owed.
    owed: usize,
    /// How long marks of a new burst wait to be confirmed.
    first_wait: Duration,
    /// How long the next ones do.
    wait: Duration,
    /// When marks that are not confirmed leave again; [`Time::MAX`]: there is none.
    repeat_at: Time,
}

impl Numbers {
    /// The numbers of a message that has sent nothing. `round_trip`: without queues, to the proxy and back.
    pub(crate) fn new(numbering: Numbering, round_trip: Duration) -> Self {
        let first_wait = (round_trip * 2).max(LEAST_WAIT);
        Self { numbering, lanes: Vec::new(), owed: 0, first_wait, wait: first_wait, repeat_at: Time::MAX }
    }

    fn lane(&mut self, entropy: Entropy) -> usize {
        let is_same = |lane: &Lane| self.numbering == Numbering::PerFlow || lane.entropy == entropy;
        if let Some(lane) = self.lanes.iter().position(is_same) {
            return lane;
        }
        debug_assert!(self.lanes.len() < 256, "a flow has at most 256 lanes");
        let ring = alloc::vec![(u32::MAX, Time::ZERO); MIN_NUMBERS];
        self.lanes.push(Lane { entropy, next: 0, mark: Mark::Confirmed, ring });
        self.lanes.len() - 1
    }

    /// The number of packet `seq`, which leaves now with this entropy; `is_open`: whether that transmission of a packet is in
    /// flight.
    pub(crate) fn next(
        &mut self,
        now: Time,
        entropy: Entropy,
        seq: u32,
        is_open: impl Fn(u32, Time) -> bool,
    ) -> Place {
        let place = self.lane(entropy);
        let lane = &mut self.lanes[place];
        let number = lane.next;
        let (oldest, left_at) = lane.ring[usize::from(number) & (lane.ring.len() - 1)];
        if oldest != u32::MAX && lane.ring.len() < MAX_NUMBERS && is_open(oldest, left_at) {
            lane.grow();
        }
        let index = usize::from(number) & (lane.ring.len() - 1);
        lane.ring[index] = (seq, now);
        lane.next = number.wrapping_add(1);
        lane.entropy = entropy;
        self.owed += usize::from(core::mem::replace(&mut lane.mark, Mark::Owed) != Mark::Owed);
        self.wait = self.first_wait;
        Place { lane: place as u8, number }
    }

    /// Whether a mark is to leave when the burst ends.
    pub(crate) const fn owes_mark(&self) -> bool {
        self.owed > 0
    }

    /// The mark of the first lane that wants one, which leaves now: its entropy, and the number that the lane's next packet will
    /// bear.
    pub(crate) fn take_mark(&mut self, now: Time) -> Option<(Entropy, Place)> {
        let mut lanes = self.lanes.iter_mut().enumerate();
        let (place, lane) = lanes.find(|(_, lane)| lane.mark == Mark::Owed)?;
        lane.mark = Mark::Sent;
        self.owed -= 1;
        self.repeat_at = now + self.wait;
        Some((lane.entropy, Place { lane: place as u8, number: lane.next }))
    }

    /// The proxy confirms the mark of a lane.
    pub(crate) fn confirm(&mut self, Place { lane, number }: Place) {
        let Some(lane) = self.lanes.get_mut(usize::from(lane)) else { return };
        if number == lane.next {
            self.owed -= usize::from(core::mem::replace(&mut lane.mark, Mark::Confirmed) == Mark::Owed);
        }
    }

    /// When marks that are not confirmed leave again; [`Time::MAX`]: there is none.
    pub(crate) const fn repeat_at(&self) -> Time {
        self.repeat_at
    }

    /// The marks that are not confirmed are to leave again, if it is time and `is_of_use`.
    pub(crate) fn repeat(&mut self, now: Time, is_of_use: bool) {
        if self.repeat_at > now {
            return;
        }
        (self.repeat_at, self.wait) = (Time::MAX, self.wait * 2);
        for lane in self.lanes.iter_mut().filter(|lane| is_of_use && lane.mark == Mark::Sent) {
            lane.mark = Mark::Owed;
            self.owed += 1;
        }
    }

    /// The packets that bore `count` numbers from `first` on, and when they left.
    pub(crate) fn resolve(&self, first: Place, count: u16) -> Vec<(u32, Time)> {
        let Some(lane) = self.lanes.get(usize::from(first.lane)) else { return Vec::new() };
        let behind = usize::from(lane.next.wrapping_sub(first.number));
        // Numbers that are not in the ring any more, or that were never given, are of nothing in flight.
        let skipped = behind.saturating_sub(lane.ring.len());
        let named = skipped..usize::from(count).min(behind);
        let at = |step: usize| lane.ring[(usize::from(first.number) + step) & (lane.ring.len() - 1)];
        named.map(at).filter(|(seq, _)| *seq != u32::MAX).collect()
    }
}

impl Lane {
    /// Twice the room.
    fn grow(&mut self) {
        let old = self.ring.len();
        let mut ring = alloc::vec![(u32::MAX, Time::ZERO); 2 * old];
        for behind in 1..=old as u16 {
            let number = usize::from(self.next.wrapping_sub(behind));
            ring[number & (2 * old - 1)] = self.ring[number & (old - 1)];
        }
        self.ring = ring;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn paths_have_numbers_of_their_own_and_a_flow_has_one_row() {
        let places = |numbering| {
            let mut numbers = Numbers::new(numbering, Duration::ZERO);
            [5, 9, 5].map(|entropy| numbers.next(at(0), entropy, 0, |_, _| true)).map(|p| (p.lane, p.number))
        };
        assert_eq!(places(Numbering::PerPath), [(0, 0), (1, 0), (0, 1)]);
        assert_eq!(places(Numbering::PerFlow), [(0, 0), (0, 1), (0, 2)]);
    }

    proptest! {
        /// A packet in flight is found by its number, however many there are; one that is not may be.
        #[test]
        fn a_gap_names_the_packets_that_bore_its_numbers(
            lanes in 1..8_u16, packets in 1..3_000_u32, window in 1..2_000_u32, count in 1..50_u16, pick in any::<u32>(),
        ) {
            let mut numbers = Numbers::new(Numbering::PerPath, Duration::ZERO);
            let mut sent = vec![Vec::new(); usize::from(lanes)];
            for seq in 0..packets {
                let entropy = (seq % u32::from(lanes)) as u16;
                let open = |other: u32, _| other + window > seq;
                let place = numbers.next(at(u64::from(seq)), entropy, seq, open);
                prop_assert_eq!(usize::from(place.number), sent[usize::from(place.lane)].len());
                sent[usize::from(place.lane)].push(seq);
            }
            let lane = pick as usize % sent.len().min(packets as usize);
            let first = pick as usize / 8 % sent[lane].len();
            let expected: Vec<_> = sent[lane][first..].iter().take(usize::from(count)).copied().collect();
            let named = numbers.resolve(Place { lane: lane as u8, number: first as u16 }, count);
            let open = |seq: &u32| seq + window > packets - 1;
            let found: Vec<_> = named.iter().map(|(seq, _)| *seq).collect();
            for seq in expected.iter().filter(|seq| open(seq)) {
                prop_assert!(found.contains(seq), "{seq} is in flight");
            }
            prop_assert!(found.iter().all(|seq| expected.contains(seq)), "{found:?} of {expected:?}");
            prop_assert!(named.iter().all(|(seq, left)| *left == at(u64::from(*seq))));
        }
    }

    #[test]
    fn packets_are_found_across_the_wrap_of_numbers() {
        let mut numbers = Numbers::new(Numbering::PerFlow, Duration::ZERO);
        for seq in 0..70_000 {
            numbers.next(at(seq.into()), 0, seq, |other, _| other + 100 > seq);
        }
        let named = numbers.resolve(Place { lane: 0, number: 69_900_u32 as u16 }, 100);
        assert!(named.iter().map(|(seq, _)| *seq).eq(69_900..70_000), "{named:?}");
    }

    #[test]
    fn each_lane_gets_one_mark_after_its_last_packet_on_its_path() {
        let marks = |numbering| {
            let mut numbers = Numbers::new(numbering, Duration::ZERO);
            let mut send = |entropy| {
                numbers.next(at(0), entropy, 0, |_, _| true);
            };
            [5, 9, 5].into_iter().for_each(&mut send);
            let mut marks: Vec<_> = core::iter::from_fn(|| numbers.take_mark(at(0))).collect();
            assert!(!numbers.owes_mark());
            numbers.next(at(0), 9, 0, |_, _| true);
            marks.extend(numbers.take_mark(at(0)));
            assert!(!numbers.owes_mark() && numbers.take_mark(at(0)).is_none());
            marks
                .into_iter()
                .map(|(entropy, Place { lane, number })| (entropy, lane, number))
                .collect::<Vec<_>>()
        };
        assert_eq!(marks(Numbering::PerPath), [(5, 0, 2), (9, 1, 1), (9, 1, 2)]);
        assert_eq!(marks(Numbering::PerFlow), [(5, 0, 3), (9, 0, 4)]);
    }

    #[test]
    fn a_mark_that_is_not_confirmed_leaves_again_later_and_later() {
        let us = |us: u64| Time::ZERO + Duration::from_us(us);
        let mut numbers = Numbers::new(Numbering::PerPath, Duration::from_us(5));
        for entropy in [5, 9] {
            numbers.next(at(0), entropy, 0, |_, _| true);
        }
        let mut marks = |confirmed: Option<Place>, now: u64| {
            confirmed.into_iter().for_each(|place| numbers.confirm(place));
            numbers.repeat(us(now), true);
            let marks = core::iter::from_fn(|| numbers.take_mark(us(now)));
            (marks.map(|(_, place)| place.lane).collect::<Vec<_>>(), numbers.repeat_at())
        };
        assert_eq!(marks(None, 0), (vec![0, 1], us(10)));
        assert_eq!(marks(Some(Place { lane: 0, number: 0 }), 9), (vec![], us(10)), "of an earlier burst");
        assert_eq!(marks(Some(Place { lane: 0, number: 1 }), 10), (vec![1], us(30)));
        assert_eq!(marks(None, 30), (vec![1], us(70)));
        assert_eq!(marks(Some(Place { lane: 1, number: 1 }), 70), (vec![], Time::MAX));
    }

    #[test]
    fn a_confirmation_that_comes_late_leaves_the_other_lanes_their_marks() {
        let us = |us: u64| Time::ZERO + Duration::from_us(us);
        let mut numbers = Numbers::new(Numbering::PerPath, Duration::from_us(5));
        for entropy in [5, 9] {
            numbers.next(at(0), entropy, 0, |_, _| true);
        }
        let _ = [numbers.take_mark(us(0)), numbers.take_mark(us(0))];
        numbers.repeat(us(10), true);
        assert!(numbers.take_mark(us(11)).is_some_and(|(_, place)| place.lane == 0));
        numbers.confirm(Place { lane: 1, number: 1 });
        assert_eq!((numbers.owes_mark(), numbers.repeat_at()), (false, us(31)));
    }

    #[test]
    fn any_number_of_lanes_and_of_packets_has_a_mark() {
        let mut numbers = Numbers::new(Numbering::PerPath, Duration::ZERO);
        for entropy in 0..256 {
            numbers.next(at(0), entropy, 0, |_, _| true);
        }
        assert_eq!(core::iter::from_fn(|| numbers.take_mark(at(0))).count(), 256);

        let mut numbers = Numbers::new(Numbering::PerFlow, Duration::ZERO);
        for seq in 0..1 << 16 {
            numbers.next(at(0), 0, seq, |_, _| false);
        }
        assert_eq!(numbers.take_mark(at(0)), Some((0, Place { lane: 0, number: 0 })));
        numbers.repeat(numbers.repeat_at(), true);
        assert!(numbers.owes_mark(), "it is not confirmed");
    }

    #[test]
    fn what_was_never_sent_is_nothing() {
        let mut numbers = Numbers::new(Numbering::PerFlow, Duration::ZERO);
        numbers.next(at(0), 0, 7, |_, _| true);
        assert_eq!(numbers.resolve(Place { lane: 0, number: 0 }, 100), [(7, at(0))]);
        assert_eq!(numbers.resolve(Place { lane: 0, number: 1 }, 100), []);
        assert_eq!(numbers.resolve(Place { lane: 3, number: 0 }, 1), []);
    }
}
