//! ACKs, NACKs, pulls and CNPs that wait for the NIC: one queue, each reply with the time from which on it may leave.

use crate::balance::Entropy;
use crate::flow::message::Transmit;
use crate::flow::profile::AckSignals;
use crate::queue::Queue;
use crate::wire::{Feedback, Header};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use farspan_units::{Bytes, HostId, Telemetry, Time};

/// An ACK, a NACK, a pull or a CNP to put on the wire: a control packet of the size of a header, and of what it echoes for a control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Where it goes.
    pub to: HostId,
    /// Its path, as switches hash it.
    pub entropy: Entropy,
    /// Bytes by which it is longer than a header.
    pub ack_bytes: u16,
    /// Its content.
    pub feedback: Feedback,
    /// For an ACK: the telemetry that came with the packet that it is for, and when that was.
    pub telemetry: Option<Box<Telemetry>>,
}

impl Reply {
    /// The ACK of a packet that came `now` with this telemetry, for a control that wants these signals.
    #[inline]
    pub(crate) fn ack(
        now: Time,
        (to, entropy): (HostId, Entropy),
        signals: AckSignals,
        feedback: Feedback,
        mut telemetry: Option<Box<Telemetry>>,
    ) -> Self {
        if signals.arrival {
            stamp_arrival(now, &mut telemetry);
        }
        Self { to, entropy, ack_bytes: signals.bytes, feedback, telemetry }
    }

    /// One of the size of a header.
    pub(crate) const fn bare(to: HostId, entropy: Entropy, feedback: Feedback) -> Self {
        Self { to, entropy, ack_bytes: 0, feedback, telemetry: None }
    }

    /// As the driver wants it; `size`: of a header.
    pub(crate) fn into_transmit(self, size: Bytes) -> Transmit {
        let Self { to, entropy, ack_bytes, feedback, telemetry } = self;
        let (header, size) = (Header::Feedback(feedback), size + Bytes::new(u64::from(ack_bytes)));
        Transmit {
            to,
            header,
            size,
            entropy,
            control: true,
            payload: None,
            retransmission: false,
            ecn_ce: false,
            telemetry,
        }
    }
}

/// Says in what an ACK carries when its packet came.
#[cold]
#[inline(never)]
fn stamp_arrival(now: Time, telemetry: &mut Option<Box<Telemetry>>) {
    telemetry.get_or_insert_default().received_at = Some(now);
}

/// A reply that is held: when it may leave, and how many were held before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Held(Time, u64);

/// The replies of one endpoint.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    /// Those that may leave, in order.
    ready: Queue<Reply>,
    /// Those that may not yet.
    held: BTreeMap<Held, Reply>,
    /// How many have been held so far.
    numbered: u64,
}

impl Replies {
    /// Whether none may leave.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// When [`Self::release`] is wanted; [`Time::MAX`]: none is held.
    #[cold]
    pub(crate) fn next_release(&self) -> Time {
        self.held.first_key_value().map_or(Time::MAX, |(held, _)| held.0)
    }

    /// A reply that may leave after those before it.
    #[inline]
    pub(crate) fn push(&mut self, reply: Reply) {
        self.ready.push(reply);
    }

    /// A reply that may leave from `at` on.
    #[cold]
    pub(crate) fn hold(&mut self, at: Time, reply: Reply) -> Held {
        let held = Held(at, self.numbered);
        self.numbered += 1;
        self.held.insert(held, reply);
        held
    }

    /// Forgets a reply that is held, and gives it; `None`: it may leave already.
    #[cold]
    pub(crate) fn forget(&mut self, held: Held) -> Option<Reply> {
        self.held.remove(&held)
    }

    /// Forgets all that go to a host.
    #[cold]
    pub(crate) fn forget_to(&mut self, host: HostId) {
        self.ready.filter_map(|reply| (reply.to != host).then_some(reply));
        self.held.retain(|_, reply| reply.to != host);
    }

    /// Replies whose time has come may leave, after those that could before.
    #[cold]
    pub(crate) fn release(&mut self, now: Time) {
        while let Some(first) = self.held.first_entry().filter(|first| first.key().0 <= now) {
            self.ready.push(first.remove());
        }
    }

    /// The first reply that may leave.
    #[inline(always)]
    pub(crate) fn first_mut(&mut self) -> Option<&mut Reply> {
        self.ready.first_mut()
    }

    /// Drops the first reply that may leave.
    #[inline(always)]
    pub(crate) fn drop_first(&mut self) {
        self.ready.drop_first();
    }
}

#[cfg(test)]
impl Replies {
    /// Takes the first reply that may leave.
    pub(crate) fn take(&mut self) -> Option<Reply> {
        self.ready.pop()
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
        reply_to(HostId(0), seq)
    }

    fn reply_to(to: HostId, seq: u32) -> Reply {
        let echo = Echo { sent_at: Time::ZERO, entropy: 0 };
        let feedback = Feedback {
            flow: FlowId(0),
            seq,
            cumulative: 0,
            fate: Fate::Trimmed { echo, at_last_hop: false, ecn_ce: false },
        };
        Reply::bare(to, 0, feedback)
    }

    fn take_all(replies: &mut Replies) -> Vec<u32> {
        core::iter::from_fn(|| replies.take()).map(|reply| reply.feedback.seq).collect()
    }

    #[test]
    fn replies_leave_in_order_and_held_ones_when_their_time_has_come() {
        let mut replies = Replies::default();
        assert_eq!(replies.next_release(), Time::MAX);
        for (seq, release) in [(1, 20), (2, 10), (3, 20)] {
            replies.hold(at(release), reply(seq));
        }
        assert_eq!((replies.next_release(), replies.is_empty()), (at(10), true));
        replies.push(reply(4));
        replies.push(reply(5));
        replies.release(at(10));
        assert_eq!(take_all(&mut replies), [4, 5, 2]);
        assert_eq!(replies.next_release(), at(20));
        replies.release(at(30));
        assert_eq!(take_all(&mut replies), [1, 3]);
        assert_eq!(replies.next_release(), Time::MAX);
    }

    #[test]
    fn replies_to_one_host_can_be_forgotten() {
        let mut replies = Replies::default();
        for seq in 0..8 {
            let reply = reply_to(HostId(seq % 2), seq);
            if seq < 4 {
                replies.push(reply);
            } else {
                replies.hold(at(10), reply);
            }
        }
        replies.forget_to(HostId(0));
        assert_eq!(take_all(&mut replies), [1, 3]);
        replies.release(at(10));
        assert_eq!(take_all(&mut replies), [5, 7]);
    }

    #[test]
    fn a_reply_that_is_held_can_be_forgotten_and_one_that_has_left_cannot() {
        let mut replies = Replies::default();
        let [first, second] = [1, 2].map(|seq| replies.hold(at(10), reply(seq)));
        replies.forget(first);
        replies.release(at(10));
        assert_eq!(take_all(&mut replies), [2]);
        replies.forget(second);
        assert_eq!(replies.next_release(), Time::MAX);
    }
}
