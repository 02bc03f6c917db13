//! The endpoint's timers: a heap with at most one live entry for each flow and kind, re-armed lazily.
//!
//! A timer that moves later costs nothing: its entry comes up early, and is put back at the true time. A timer that
//! moves earlier gets a new entry, and the old one is dropped when it comes up.
//!
//! An entry names its flow, not where the flow stands: one that has been left behind by a flow that ended finds no flow, or
//! one of the same name, which knows when its own live entry comes up.

use super::MAX_HOSTS;
use crate::table::{PeerFlow, room};
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use farspan_units::{FlowId, HostId, Time};

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

/// A timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timer {
    flow: FlowId,
    kind: TimerKind,
    /// Whose number it is; of a sender's timer nothing.
    peer: HostId,
}

impl Timer {
    /// That of replies.
    pub(crate) const REPLY: Self = Self { flow: FlowId(u32::MAX), kind: TimerKind::Reply, peer: HostId(0) };

    /// One of a sender's.
    #[inline]
    pub(crate) const fn of_sender(flow: FlowId, kind: TimerKind) -> Self {
        Self { flow, kind, peer: HostId(0) }
    }

    /// That of a receiver's blocks.
    pub(crate) const fn of_blocks(PeerFlow { peer, flow }: PeerFlow) -> Self {
        Self { flow, kind: TimerKind::Block, peer }
    }

    /// The purpose.
    pub(crate) const fn kind(self) -> TimerKind {
        self.kind
    }

    /// The sender whose it is.
    pub(crate) const fn sender(self) -> FlowId {
        self.flow
    }

    /// The receiver whose it is.
    pub(crate) const fn receiver(self) -> PeerFlow {
        PeerFlow { peer: self.peer, flow: self.flow }
    }
}

/// An entry that has come up; one number, so that one comparison decides between two.
///
/// time : 64 | flow : 32 | kind : 2 | peer : 30.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Due(u128);

impl Due {
    const PEER: u32 = MAX_HOSTS.trailing_zeros();

    const fn new(at: Time, Timer { flow, kind, peer }: Timer) -> Self {
        debug_assert!(peer.0 < MAX_HOSTS, "hosts have smaller numbers");
        let whose = peer.0 & (MAX_HOSTS - 1) | (kind as u32) << Self::PEER;
        Self((at.as_ps() as u128) << 64 | (flow.0 as u128) << 32 | whose as u128)
    }

    /// When it comes up.
    const fn at(&self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }

    /// The timer.
    pub(crate) const fn timer(&self) -> Timer {
        let kind = match self.0 as u32 >> Self::PEER {
            0 => TimerKind::Recovery,
            1 => TimerKind::Control,
            2 => TimerKind::Block,
            _ => TimerKind::Reply,
        };
        Timer { flow: FlowId((self.0 >> 32) as u32), kind, peer: HostId(self.0 as u32 & (MAX_HOSTS - 1)) }
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
    pub(crate) fn arm(&mut self, live: &mut Time, at: Time, timer: Timer) {
        if at < *live {
            *live = at;
            self.push(Due::new(at, timer));
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

    fn note_first(&mut self) {
        self.next = self.heap.peek().map_or(Time::MAX, |Reverse(due)| due.at());
    }

    fn drop_first(&mut self) -> Option<Due> {
        let first = self.heap.pop();
        self.note_first();
        first.map(|Reverse(due)| due)
    }

    /// When the first entry comes up; [`Time::MAX`] without entries.
    #[inline]
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// Takes out the first entry, in order of (time, number, kind, peer), if it is due.
    pub(crate) fn pop(&mut self, now: Time) -> Option<Due> {
        if self.next > now { None } else { self.drop_first() }
    }

    /// Forgets the entries of ended flows that would come up next.
    pub(crate) fn purge(&mut self, is_live: impl Fn(Timer) -> bool) {
        while let Some(Reverse(due)) = self.heap.peek()
            && !is_live(due.timer())
        {
            self.drop_first();
        }
    }

    /// Forgets all entries of ended flows, and gives back their memory.
    pub(crate) fn retain(&mut self, is_live: impl Fn(Timer) -> bool) {
        self.heap.retain(|Reverse(due)| is_live(due.timer()));
        self.heap.shrink_to_fit();
        self.note_first();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::iter::from_fn;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn recovery(flow: u32) -> Timer {
        Timer::of_sender(FlowId(flow), TimerKind::Recovery)
    }

    fn control(flow: u32) -> Timer {
        Timer::of_sender(FlowId(flow), TimerKind::Control)
    }

    fn blocks(peer: u32, flow: u32) -> Timer {
        Timer::of_blocks(PeerFlow { peer: HostId(peer), flow: FlowId(flow) })
    }

    #[test]
    fn a_timer_that_moves_later_keeps_its_entry_and_one_that_moves_earlier_gets_a_new_one() {
        let (mut timers, mut armed) = (Timers::default(), Time::MAX);
        timers.arm(&mut armed, at(10), recovery(0));
        timers.arm(&mut armed, at(20), recovery(0));
        assert_eq!((timers.heap.len(), timers.next()), (1, at(10)));
        timers.arm(&mut armed, at(5), recovery(0));
        assert_eq!((timers.heap.len(), timers.next()), (2, at(5)));
        assert!(timers.pop(at(10)).unwrap().disarm(&mut armed));
        assert!(!timers.pop(at(10)).unwrap().disarm(&mut armed), "the old entry is no longer live");
        assert_eq!(timers.pop(at(10)), None);
    }

    #[test]
    fn entries_come_up_in_order_of_time_number_kind_and_peer() {
        let mut timers = Timers::default();
        for (time, timer) in [
            (5, Timer::REPLY),
            (5, blocks(3, 1)),
            (5, blocks(2, 1)),
            (5, control(1)),
            (5, recovery(1)),
            (5, blocks(9, 0)),
            (5, control(0)),
            (4, recovery(0)),
        ] {
            timers.arm(&mut { Time::MAX }, at(time), timer);
        }
        assert_eq!(timers.pop(at(3)), None);
        let order: Vec<_> = from_fn(|| timers.pop(at(5))).map(|due| due.timer()).collect();
        let expected = [
            recovery(0),
            control(0),
            blocks(9, 0),
            recovery(1),
            control(1),
            blocks(2, 1),
            blocks(3, 1),
            Timer::REPLY,
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn the_entries_of_ended_flows_are_forgotten_when_they_are_next() {
        let mut timers = Timers::default();
        timers.arm(&mut { Time::MAX }, at(1), recovery(0));
        timers.arm(&mut { Time::MAX }, at(2), recovery(1));
        timers.purge(|timer| timer == recovery(1));
        assert_eq!(timers.next(), at(2));
        timers.purge(|timer| timer == blocks(0, 1));
        assert_eq!(timers.next(), Time::MAX);
    }

    #[test]
    fn all_entries_of_ended_flows_can_be_forgotten_at_once() {
        let mut timers = Timers::default();
        (0..9).for_each(|n| timers.arm(&mut { Time::MAX }, at(9 - n), blocks(n as u32 % 2, 7)));
        timers.retain(|timer| timer.receiver().peer == HostId(1));
        assert_eq!(
            from_fn(|| timers.pop(at(9))).map(|due| due.at().as_ps()).collect::<Vec<_>>(),
            [2, 4, 6, 8]
        );
        timers.retain(|_| false);
        assert_eq!((timers.next(), timers.heap.capacity()), (Time::MAX, 0));
    }
}
