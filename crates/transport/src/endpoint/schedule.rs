//! Whose turn it is on the NIC: round robin over the flows that may send now, and those whose pacer releases them
//! later.
//!
//! A flow stands in at most one of the two places, or in none while it has nothing to send or its window is closed.
//! Each step costs a constant, or the logarithm of the number of paced flows.

use crate::queue::Queue;
use crate::table::{Key, room};
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use farspan_units::{FlowId, Time};

/// A sender's key, or [`Key::NONE`].
type SenderKey = Key<FlowId>;

/// The turns of one endpoint's flows.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    /// Flows that may send now, the next one first.
    ready: Queue<SenderKey>,
    /// Flows that may send from a time on.
    paced: BinaryHeap<Reverse<(Time, SenderKey)>>,
}

impl Schedule {
    /// A flow that stands in neither place may send from `at` on.
    #[inline(always)]
    pub(crate) fn add(&mut self, now: Time, at: Time, key: SenderKey) {
        if at <= now {
            self.ready.push(key);
        } else {
            self.hold(at, key);
        }
    }

    #[inline(never)]
    fn hold(&mut self, at: Time, key: SenderKey) {
        if self.paced.len() == self.paced.capacity() {
            self.paced.reserve_exact(room(self.paced.len()));
        }
        self.paced.push(Reverse((at, key)));
    }

    /// The flow whose turn it is. It may have ended, or its window may have closed since.
    #[inline(always)]
    pub(crate) fn turn(&mut self, now: Time) -> Option<SenderKey> {
        if let Some(&Reverse((at, _))) = self.paced.peek()
            && at <= now
        {
            self.release(now);
        }
        self.ready.first().copied()
    }

    /// Paced flows whose time has come may send now.
    #[inline(never)]
    fn release(&mut self, now: Time) {
        while let Some(&Reverse((at, key))) = self.paced.peek()
            && at <= now
        {
            self.paced.pop();
            self.ready.push(key);
        }
    }

    /// The flow whose turn it was may send again: the others come first.
    #[inline(always)]
    pub(crate) fn pass(&mut self) {
        self.ready.rotate();
    }

    /// The flow whose turn it was stands in neither place from now on.
    #[inline]
    pub(crate) fn leave(&mut self) {
        self.ready.pop();
    }

    /// No flow has its turn before; [`Time::ZERO`]: one may have it now, [`Time::MAX`]: there is none.
    #[inline]
    pub(crate) fn first(&self) -> Time {
        if !self.ready.is_empty() {
            return Time::ZERO;
        }
        self.paced.peek().map_or(Time::MAX, |&Reverse((at, _))| at)
    }

    /// When the first paced flow may send.
    pub(crate) fn next_release(&self) -> Option<Time> {
        self.paced.peek().map(|&Reverse((at, _))| at)
    }

    /// Forgets the first paced flows, up to one that `is_live`.
    pub(crate) fn purge(&mut self, is_live: impl Fn(SenderKey) -> bool) {
        while let Some(&Reverse((_, key))) = self.paced.peek()
            && !is_live(key)
        {
            self.paced.pop();
        }
    }

    /// Flows stand in other slots from now on: `new` gives their keys, and none for flows that are forgotten.
    pub(crate) fn rekey(&mut self, new: impl Fn(SenderKey) -> Option<SenderKey>) {
        self.ready.filter_map(&new);
        let paced = core::mem::take(&mut self.paced).into_vec();
        let moved = paced.into_iter().filter_map(|Reverse((at, key))| Some(Reverse((at, new(key)?))));
        self.paced = moved.collect::<Vec<_>>().into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn keys(n: u32) -> Vec<SenderKey> {
        let mut table = Table::new();
        (0..n).map(|flow| table.insert(FlowId(flow))).collect()
    }

    /// The flow whose turn it is, which then leaves.
    fn next(schedule: &mut Schedule, now: u64) -> Option<SenderKey> {
        let key = schedule.turn(at(now));
        schedule.leave();
        key
    }

    #[test]
    fn flows_take_turns_in_the_order_in_which_they_became_ready() {
        let (mut schedule, keys) = (Schedule::default(), keys(3));
        keys.iter().for_each(|&key| schedule.add(at(5), at(0), key));
        assert_eq!(schedule.turn(at(5)), Some(keys[0]));
        schedule.pass();
        assert_eq!([(); 3].map(|()| next(&mut schedule, 5)), [Some(keys[1]), Some(keys[2]), Some(keys[0])]);
        assert_eq!(next(&mut schedule, 5), None);
    }

    #[test]
    fn a_paced_flow_comes_when_its_time_has_come_in_order_of_time_then_flow() {
        let (mut schedule, keys) = (Schedule::default(), keys(3));
        for (key, release) in [(keys[2], 20), (keys[1], 20), (keys[0], 30)] {
            schedule.add(at(0), at(release), key);
        }
        assert_eq!(next(&mut schedule, 19), None);
        assert_eq!(schedule.next_release(), Some(at(20)));
        assert_eq!(next(&mut schedule, 20), Some(keys[1]));
        assert_eq!(next(&mut schedule, 20), Some(keys[2]));
        assert_eq!(next(&mut schedule, 20), None);
    }

    #[test]
    fn ended_flows_do_not_ask_for_a_release() {
        let (mut schedule, keys) = (Schedule::default(), keys(2));
        schedule.add(at(0), at(10), keys[0]);
        schedule.add(at(0), at(20), keys[1]);
        schedule.purge(|key| key == keys[1]);
        assert_eq!(schedule.next_release(), Some(at(20)));
        schedule.purge(|_| false);
        assert_eq!(schedule.next_release(), None);
    }

    #[test]
    fn flows_that_move_keep_their_turns_and_forgotten_ones_lose_them() {
        let (mut schedule, keys) = (Schedule::default(), keys(6));
        for (&key, release) in keys.iter().zip([0, 0, 0, 20, 10, 10]) {
            schedule.add(at(0), at(release), key);
        }
        let moved = |key: SenderKey| Key { slot: key.slot + 10, ..key };
        schedule.rekey(|key| (key.name.0 % 2 == 0 || key == keys[3]).then(|| moved(key)));
        assert_eq!([(); 2].map(|()| next(&mut schedule, 0)), [Some(moved(keys[0])), Some(moved(keys[2]))]);
        assert_eq!((next(&mut schedule, 9), next(&mut schedule, 10)), (None, Some(moved(keys[4]))));
        assert_eq!((next(&mut schedule, 19), next(&mut schedule, 20)), (None, Some(moved(keys[3]))));
    }
}
