//! Messages of which nothing was heard for too long: one entry for each, put back as long as something was heard.

use farspan_units::{FlowId, HostId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which way messages go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// To a peer.
    Out,
    /// From a peer.
    In,
}

/// A message of this driver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Subject {
    /// One that is being sent, by its number here.
    Out(FlowId),
    /// One that comes in, or has come, by who sends it and its number there.
    In(HostId, FlowId),
}

/// When it is to be looked whether something was heard.
#[derive(Debug, Default)]
pub(crate) struct IdleTimers(BinaryHeap<Reverse<(Time, Subject)>>);

impl IdleTimers {
    /// Looks after a message at `at`.
    pub(crate) fn add(&mut self, at: Time, subject: Subject) {
        self.0.push(Reverse((at, subject)));
    }

    /// When the first is due.
    pub(crate) fn next(&self) -> Option<Time> {
        self.0.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes out the first, if it is due: when it was, and which message.
    pub(crate) fn pop(&mut self, now: Time) -> Option<(Time, Subject)> {
        let due = self.next().is_some_and(|at| at <= now);
        due.then(|| self.0.pop()).flatten().map(|Reverse(first)| first)
    }
}
