//! ACKs and NACKs that wait for the NIC: one queue, each reply with the time from which on it may leave.

use crate::balance::Entropy;
use crate::message::Transmit;
use crate::queue::Queue;
use crate::wire::{Feedback, Header};
use alloc::collections::BTreeMap;
use farspan_units::{Bytes, HostId, Time};

/// An ACK or a NACK to put on the wire: a control packet of the size of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Where it goes.
    pub to: HostId,
    /// Its path, as switches hash it.
    pub entropy: Entropy,
    /// What it says.
    pub feedback: Feedback,
}

impl Reply {
    /// `size`: of a header.
    pub(crate) const fn into_transmit(self, size: Bytes) -> Transmit {
        let Self { to, entropy, feedback } = self;
        let header = Header::Feedback(feedback);
        Transmit { to, header, size, entropy, control: true, payload: None, retransmission: false }
    }
}

/// A reply that is held: when it may leave, and how many were held before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Held(Time, u64);

/// The replies of one endpoint.
#[derive(Debug)]
pub(crate) struct Replies {
    /// Those that may leave, in order.
    ready: Queue<Reply>,
    /// Those that may not yet.
    held: BTreeMap<Held, Reply>,
    /// How many have been held so far.
    numbered: u64,
    /// None may leave before; see [`Self::next`].
    next: Time,
}

impl Default for Replies {
    fn default() -> Self {
        Self { ready: Queue::default(), held: BTreeMap::new(), numbered: 0, next: Time::MAX }
    }
}

impl Replies {
    /// None may leave before this time; [`Time::ZERO`]: one may now, [`Time::MAX`]: there is none.
    #[inline]
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// A reply that may leave after those before it.
    #[inline]
    pub(crate) fn push(&mut self, reply: Reply) {
        self.ready.push(reply);
        self.next = Time::ZERO;
    }

    /// A reply that may leave from `at` on.
    #[cold]
    pub(crate) fn hold(&mut self, at: Time, reply: Reply) -> Held {
        let held = Held(at, self.numbered);
        self.numbered += 1;
        self.held.insert(held, reply);
        self.next = self.next.min(at);
        held
    }

    /// Forgets a reply that is held, if it is still.
    #[cold]
    pub(crate) fn forget(&mut self, held: Held) {
        self.held.remove(&held);
        self.find_next();
    }

    /// The reply that may leave at `now`, if there is one.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<Reply> {
        if self.next > now {
            return None;
        }
        if !self.held.is_empty() {
            self.release(now);
        }
        let reply = self.ready.pop();
        if self.ready.is_empty() {
            self.find_next();
        }
        reply
    }

    /// Replies whose time has come may leave, after those that could before.
    #[cold]
    fn release(&mut self, now: Time) {
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= now) {
            self.ready.push(first.remove());
        }
    }

    fn find_next(&mut self) {
        let first_held = || self.held.first_key_value().map_or(Time::MAX, |(held, _)| held.0);
        self.next = if self.ready.is_empty() { first_held() } else { Time::ZERO };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Echo, Fate};
    use alloc::vec::Vec;
    use farspan_units::FlowId;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn reply(seq: u32) -> Reply {
        let echo = Echo { sent_at: Time::ZERO, entropy: 0 };
        let feedback = Feedback { flow: FlowId(0), seq, cumulative: 0, fate: Fate::Trimmed { echo } };
        Reply { to: HostId(0), entropy: 0, feedback }
    }

    fn pop_all(replies: &mut Replies, now: u64) -> Vec<u32> {
        core::iter::from_fn(|| replies.pop(at(now))).map(|reply| reply.feedback.seq).collect()
    }

    #[test]
    fn replies_leave_in_order_and_held_ones_when_their_time_has_come() {
        let mut replies = Replies::default();
        assert_eq!(replies.next(), Time::MAX);
        for (seq, release) in [(1, 20), (2, 10), (3, 20)] {
            replies.hold(at(release), reply(seq));
        }
        assert_eq!((replies.next(), replies.pop(at(9))), (at(10), None));
        replies.push(reply(4));
        replies.push(reply(5));
        assert_eq!(replies.next(), Time::ZERO);
        assert_eq!(pop_all(&mut replies, 10), [4, 5, 2]);
        assert_eq!(replies.next(), at(20));
        assert_eq!(pop_all(&mut replies, 30), [1, 3]);
        assert_eq!(replies.next(), Time::MAX);
    }

    #[test]
    fn a_reply_that_is_held_can_be_forgotten_and_one_that_has_left_cannot() {
        let mut replies = Replies::default();
        let [first, second] = [1, 2].map(|seq| replies.hold(at(10), reply(seq)));
        replies.forget(first);
        assert_eq!(pop_all(&mut replies, 10), [2]);
        replies.forget(second);
        assert_eq!(replies.next(), Time::MAX);
    }
}
