//! The endpoint's timers: a heap with at most one live entry for each flow and kind, re-armed lazily.
//!
//! A timer that moves later costs nothing: its entry comes up early, and is put back at the true time. A timer that
//! moves earlier gets a new entry, and the old one is dropped when it comes up.

use crate::table::{Key, room};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use farspan_units::{FlowId, Time};

/// The purpose of a timer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum TimerKind {
    /// Time-outs of packets.
    Recovery = 0,
    /// The congestion control's own.
    Control = 1,
    /// Blocks that a receiver waits for.
    Block = 2,
    /// Replies that may not leave yet: one timer for the endpoint, of no flow.
    Reply = 3,
}

/// When the live entry of each of a sender's timers comes up; [`Time::MAX`]: the timer is not armed.
pub(crate) type Armed = [Time; 2];

/// No timer is armed.
pub(crate) const UNARMED: Armed = [Time::MAX; 2];

/// An entry that has come up; one number, so that one comparison decides between two.
///
/// time : 64 | flow : 32 | kind : 2 | the flow's slot : 30.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Due(u128);

impl Due {
    const KIND: u32 = u32::BITS - 2;

    const fn new(at: Time, key: Key, kind: TimerKind) -> Self {
        let place = key.slot | (kind as u32) << Self::KIND;
        Self((at.as_ps() as u128) << 64 | (key.flow.0 as u128) << 32 | place as u128)
    }

    /// When it comes up.
    const fn at(&self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }

    /// The flow and slot of the timer.
    pub(crate) const fn key(&self) -> Key {
        Key { flow: FlowId((self.0 >> 32) as u32), slot: self.0 as u32 & ((1 << Self::KIND) - 1) }
    }

    /// The purpose of the timer.
    pub(crate) const fn kind(&self) -> TimerKind {
        match self.0 as u32 >> Self::KIND {
            0 => TimerKind::Recovery,
            1 => TimerKind::Control,
            2 => TimerKind::Block,
            _ => TimerKind::Reply,
        }
    }

    /// Whether this is the live entry of its timer, given when that comes up; if so the timer is no longer armed.
    pub(crate) fn disarm(&self, live: &mut Time) -> bool {
        let is_live = *live == self.at();
        if is_live {
            *live = Time::MAX;
        }
        is_live
    }
}

/// The timers of one endpoint.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Due>>,
    /// When the first entry comes up; [`Time::MAX`] without entries.
    next: Time,
}

impl Default for Timers {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), next: Time::MAX }
    }
}

impl Timers {
    /// Sees to it that the timer comes up at `at` or before; `live` is when its live entry does.
    #[inline]
    pub(crate) fn arm(&mut self, live: &mut Time, at: Time, key: Key, kind: TimerKind) {
        if at < *live {
            *live = at;
            self.push(Due::new(at, key, kind));
        }
    }

    #[inline(never)]
    fn push(&mut self, due: Due) {
        if self.heap.len() == self.heap.capacity() {
            self.heap.reserve_exact(room(self.heap.len()));
        }
        self.next = self.next.min(due.at());
        self.heap.push(Reverse(due));
    }

    fn drop_first(&mut self) -> Option<Due> {
        let first = self.heap.pop();
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse(due)| due.at());
        first.map(|Reverse(due)| due)
    }

    /// When the first entry comes up; [`Time::MAX`] without entries.
    #[inline]
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Takes out the first entry, in order of (time, flow, kind), if it is due.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Due> {
        if self.next > now { None } else { self.drop_first() }
    }

    /// Forgets the entries of ended flows that would come up next.
    pub(crate) fn purge(&mut self, is_live: impl Fn(Key, TimerKind) -> bool) {
        while let Some(Reverse(due)) = self.heap.peek()
            && !is_live(due.key(), due.kind())
        {
            self.drop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;
    use alloc::vec::Vec;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn keys() -> [Key; 2] {
        let mut table = Table::new();
        [0, 1].map(|flow| table.insert(FlowId(flow)))
    }

    #[test]
    fn a_timer_that_moves_later_keeps_its_entry_and_one_that_moves_earlier_gets_a_new_one() {
        let (mut timers, mut armed, [key, _]) = (Timers::default(), Time::MAX, keys());
        timers.arm(&mut armed, at(10), key, TimerKind::Recovery);
        timers.arm(&mut armed, at(20), key, TimerKind::Recovery);
        assert_eq!((timers.heap.len(), timers.next()), (1, at(10)));
        timers.arm(&mut armed, at(5), key, TimerKind::Recovery);
        assert_eq!((timers.heap.len(), timers.next()), (2, at(5)));
        assert!(timers.pop(at(10)).unwrap().disarm(&mut armed));
        assert!(!timers.pop(at(10)).unwrap().disarm(&mut armed), "the old entry is no longer live");
        assert_eq!(timers.pop(at(10)), None);
    }

    #[test]
    fn entries_come_up_in_order_of_time_flow_and_kind() {
        let (mut timers, keys) = (Timers::default(), keys());
        let mut armed = [[Time::MAX; 3]; 2];
        for (flow, time, kind) in [
            (1, 5, TimerKind::Block),
            (1, 5, TimerKind::Control),
            (1, 5, TimerKind::Recovery),
            (0, 5, TimerKind::Control),
            (0, 4, TimerKind::Recovery),
        ] {
            timers.arm(&mut armed[flow][kind as usize], at(time), keys[flow], kind);
        }
        assert_eq!(timers.pop(at(3)), None);
        let order: Vec<_> =
            core::iter::from_fn(|| timers.pop(at(5))).map(|due| (due.key().flow.0, due.kind())).collect();
        let expected = [
            (0, TimerKind::Recovery),
            (0, TimerKind::Control),
            (1, TimerKind::Recovery),
            (1, TimerKind::Control),
            (1, TimerKind::Block),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_entries_of_ended_flows_are_forgotten_when_they_are_next() {
        let (mut timers, keys) = (Timers::default(), keys());
        timers.arm(&mut { Time::MAX }, at(1), keys[0], TimerKind::Recovery);
        timers.arm(&mut { Time::MAX }, at(2), keys[1], TimerKind::Recovery);
        timers.purge(|key, _| key == keys[1]);
        assert_eq!(timers.next(), at(2));
        timers.purge(|key, kind| key == keys[1] && kind == TimerKind::Block);
        assert_eq!(timers.next(), Time::MAX);
    }
}
