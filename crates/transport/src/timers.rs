//! The endpoint's timers: a heap with at most one live entry for each flow and kind, re-armed lazily.
//!
//! A timer that moves later costs nothing: its entry comes up early, and is put back at the true time. A timer that
//! moves earlier gets a new entry, and the old one is dropped when it comes up.

use crate::table::Key;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use farspan_units::Time;

/// What a timer is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Time-outs of packets.
    Recovery = 0,
    /// The congestion control's own.
    Control = 1,
}

impl Kind {
    /// How many kinds there are.
    pub(crate) const COUNT: usize = 2;
}

/// An entry that has come up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Due {
    at: Time,
    /// Whose.
    pub key: Key,
    /// What for.
    pub kind: Kind,
}

impl Due {
    /// Whether this is the live entry of its timer, given the flow's; if so the timer is no longer armed.
    pub(crate) fn disarm(&self, armed: &mut [Option<Time>; Kind::COUNT]) -> bool {
        let live = &mut armed[self.kind as usize];
        let is_live = *live == Some(self.at);
        if is_live {
            *live = None;
        }
        is_live
    }
}

/// The timers of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<Due>>,
}

impl Timers {
    /// Sees to it that the timer comes up at `at` or before; `armed` are the live entries of the flow.
    pub(crate) fn arm(&mut self, armed: &mut [Option<Time>; Kind::COUNT], at: Time, key: Key, kind: Kind) {
        let live = &mut armed[kind as usize];
        if live.is_none_or(|entry| at < entry) {
            *live = Some(at);
            self.heap.push(Reverse(Due { at, key, kind }));
        }
    }

    /// When the first entry comes up.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse(due)| due.at)
    }

    /// Takes out the first entry, in order of (time, flow, kind), if it is due.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Due> {
        if self.next()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(due)| due)
    }

    /// Forgets the entries of ended flows that would come up next.
    pub(crate) fn purge(&mut self, is_live: impl Fn(Key) -> bool) {
        while let Some(Reverse(due)) = self.heap.peek()
            && !is_live(due.key)
        {
            self.heap.pop();
        }
    }
}
