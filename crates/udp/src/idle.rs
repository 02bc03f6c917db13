//! Messages of which nothing was heard for too long: one entry for each, put back as long as something was heard.

use farspan_units::{FlowId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A message of this driver, by its direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Direction {
    /// It is being sent.
    Out,
    /// It comes in, or has come.
    In,
}

/// When it is to be looked whether something was heard.
#[derive(Debug, Default)]
pub(crate) struct IdleTimers(BinaryHeap<Reverse<(Time, Direction, FlowId)>>);

impl IdleTimers {
    /// Looks after a message at `at`.
    pub(crate) fn add(&mut self, at: Time, direction: Direction, flow: FlowId) {
        self.0.push(Reverse((at, direction, flow)));
    }

    /// When the first is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, ..))| *at)
    }

    /// Takes out the first, if it is due.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Direction, FlowId)> {
        let due = self.next().is_some_and(|at| at <= now);
        due.then(|| self.0.pop()).flatten().map(|Reverse((_, direction, flow))| (direction, flow))
    }
}
