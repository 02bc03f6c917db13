//! Wake-ups of the nodes of the windowed engine: their own events, apart from messages.

use super::{EventClass, Key};
use farspan_units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The own events that one node waits for.
pub(super) struct Wakes {
    /// Events that it asked for.
    asked: BinaryHeap<Reverse<Key>>,
    /// Those of them that are not probes.
    pending: usize,
    /// Its own next event, which it keeps to itself.
    pub(super) own: Time,
    /// A window later than the next one is booked for this time; [`Time::MAX`]: none is.
    booked: Time,
}

impl Wakes {
    pub(super) const fn new() -> Self {
        Self { asked: BinaryHeap::new(), pending: 0, own: Time::MAX, booked: Time::MAX }
    }

    pub(super) fn push(&mut self, key: Key) {
        self.pending += usize::from(key.class() != EventClass::Probe);
        self.asked.push(Reverse(key));
    }

    /// When the first event that was asked for comes, or [`Time::MAX`].
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.asked.peek().map_or(Time::MAX, |Reverse(key)| key.at())
    }

    /// Takes out the first event, if it comes before `end` and before `message`.
    pub(super) fn take_before(&mut self, end: Time, message: Option<Key>) -> Option<Key> {
        let &Reverse(key) = self.asked.peek()?;
        if key.at() >= end || message.is_some_and(|first| first < key) {
            return None;
        }
        self.asked.pop();
        self.pending -= usize::from(key.class() != EventClass::Probe);
        Some(key)
    }

    /// When the node must run for something of its own, unless that is booked. `ahead`: when the node's next window
    /// begins, and the one after it. One booking further ahead is enough: when it comes up early, the next is made.
    #[inline]
    pub(super) fn book(&mut self, ahead: [Time; 2]) -> Option<Time> {
        let next = self.own.min(self.next());
        if self.booked < ahead[0] {
            self.booked = Time::MAX;
        }
        if next >= self.booked {
            return None;
        }
        if next >= ahead[1] {
            self.booked = next;
        }
        Some(next)
    }

    /// Whether something is under way that may lead to something else.
    pub(super) const fn is_waiting(&self) -> bool {
        self.pending > 0 || self.own.as_ps() != Time::MAX.as_ps()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    const fn timer(ps: u64) -> Key {
        Key::new(at(ps), EventClass::Timer, 0, 0)
    }

    #[test]
    fn what_was_asked_for_comes_in_order_before_the_end_and_before_messages() {
        let mut wakes = Wakes::new();
        [7, 3, 5, 12].into_iter().for_each(|ps| wakes.push(timer(ps)));
        let arrival = |ps| Some(Key::new(at(ps), EventClass::Arrival, 0, 0));
        assert_eq!(wakes.take_before(at(10), None), Some(timer(3)));
        assert_eq!(wakes.take_before(at(10), arrival(4)), None);
        assert_eq!(wakes.take_before(at(10), arrival(5)), None, "an arrival comes before a timer");
        assert_eq!(wakes.take_before(at(10), arrival(6)), Some(timer(5)));
        assert_eq!(wakes.take_before(at(10), None), Some(timer(7)));
        assert_eq!(wakes.take_before(at(12), None), None);
        assert_eq!(wakes.next(), at(12));
    }

    #[test]
    fn probes_alone_are_nothing_to_wait_for() {
        let mut wakes = Wakes::new();
        wakes.push(Key::new(at(1), EventClass::Probe, 0, 0));
        assert!(!wakes.is_waiting());
        wakes.push(timer(2));
        assert!(wakes.is_waiting());
        assert!(wakes.take_before(at(9), None).is_some() && wakes.is_waiting(), "the probe came first");
        assert!(wakes.take_before(at(9), None).is_some() && !wakes.is_waiting());
        wakes.own = at(5);
        assert!(wakes.is_waiting());
    }

    #[test]
    fn one_booking_far_ahead_is_enough() {
        let mut wakes = Wakes::new();
        assert_eq!(wakes.book([at(10), at(20)]), None, "nothing is under way");
        wakes.own = at(55);
        assert_eq!(wakes.book([at(10), at(20)]), Some(at(55)));
        wakes.own = at(70);
        assert_eq!(wakes.book([at(20), at(30)]), None, "it will run at 55");
        wakes.own = at(15);
        assert_eq!(wakes.book([at(10), at(20)]), Some(at(15)), "that is sooner");
        wakes.own = at(70);
        assert_eq!(wakes.book([at(60), at(70)]), Some(at(70)), "55 is over");
        wakes.own = at(75);
        assert_eq!(wakes.book([at(70), at(80)]), None, "it is run at 70");
    }
}
