//! For how long the packets of a flow are reordered.
//!
//! A missing packet may be on a slower path. How long it is waited for after the first later packet follows from how long
//! others were waited for: the reordering window of RACK (RFC 8985, section 3.3.2), whose length here is what TCP-PR takes
//! for its time-out ("A New TCP for Persistent Packet Reordering", 2006), a maximum that decays:
//!
//! ```text
//! delay of a reordered packet = its arrival - arrival of the first later one
//! delay = max(delay, delay of each reordered packet);  each 1024 packets: delay = 7/8 x delay
//! wait  = min((2 + 8 / (4 + reordered packets)) x delay, max_wait);  at first, initial_wait
//! ```
//!
//! The first delays say little of the largest, hence the second term; the initial wait counts as four of them. A packet
//! that arrives after its wait was over has a longer delay than that: so each false loss at least doubles the wait, up to
//! `max_wait`, as RACK's grows with each spurious retransmission.
//!
//! Measured and left out: a number of later packets that grows with false losses beside the wait. It prevents none that the
//! wait does not, and misses losses before pauses.

use farspan_units::{Duration, Time};

/// How many times in the past are kept.
const CHECKPOINTS: usize = 16;

/// The times that are kept span two waits, so that one is known to an eighth of the wait.
const SPACINGS_OF_A_WAIT: u64 = CHECKPOINTS as u64 / 2;

/// The wait, in delays, of a flow with many reordered packets.
const MARGIN: u64 = 2;

/// It is longer by so many delays, divided by the number of reordered packets.
const LEARNING: u64 = 8;

/// The initial wait counts as so many reordered packets.
const GIVEN: u64 = 4;

/// The delay decays once in so many packets.
const DECAY_PACKETS: u32 = 1024;

/// The delay decays by an eighth: this power of two.
const DECAY_SHIFT: u64 = 3;

/// The reordering of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reordering {
    /// Largest delay of a reordered packet, which decays.
    delay: Duration,
    /// The wait of a flow that has shown no reordering yet, and the least one without three later packets.
    initial_wait: Duration,
    /// The longest wait.
    max_wait: Duration,
    /// When the window moved on: a ring.
    times: [Time; CHECKPOINTS],
    /// Where its end was before the next of these times; 0: there is no such time yet.
    ends: [u32; CHECKPOINTS],
    /// How many reordered packets have arrived.
    reordered: u32,
    /// Packets until the delay decays.
    until_decay: u32,
    /// The index of the oldest time.
    oldest: u8,
}

impl Reordering {
    pub(super) fn new(initial_wait: Duration, max_wait: Duration) -> Self {
        Self {
            delay: initial_wait / (MARGIN + LEARNING / GIVEN),
            initial_wait,
            max_wait,
            times: [Time::ZERO; CHECKPOINTS],
            ends: [0; CHECKPOINTS],
            reordered: 0,
            until_decay: DECAY_PACKETS,
            oldest: 0,
        }
    }

    /// How long a packet is waited for that three later ones have overtaken, from the first of them on.
    pub(super) fn wait(&self) -> Duration {
        let learning = self.delay * LEARNING / (GIVEN + u64::from(self.reordered));
        (self.delay * MARGIN + learning).min(self.max_wait)
    }

    /// How long a packet is waited for that one or two later ones have overtaken.
    pub(super) fn long_wait(&self) -> Duration {
        self.wait().max(self.initial_wait)
    }

    /// The window has moved on to `end`.
    pub(super) fn note_end(&mut self, now: Time, end: u32) {
        let newest = (usize::from(self.oldest) + CHECKPOINTS - 1) % CHECKPOINTS;
        let spacing = self.wait() / SPACINGS_OF_A_WAIT;
        if self.ends[newest] == 0 || now.since(self.times[newest]) >= spacing {
            self.push(now, end);
        } else {
            self.ends[newest] = end;
        }
    }

    /// Notes that the window has moved on to `end`, however short a time has passed.
    pub(super) fn push(&mut self, now: Time, end: u32) {
        let index = usize::from(self.oldest);
        (self.ends[index], self.times[index]) = (end, now);
        self.oldest = ((index + 1) % CHECKPOINTS) as u8;
    }

    /// When the first packet after `seq` arrived, or up to an eighth of the wait before. If that is longer ago than the times
    /// that are kept: the oldest of them.
    pub(super) fn overtaken_at(&self, seq: u32) -> Time {
        let mut oldest_first = (0..CHECKPOINTS).map(|i| (i + usize::from(self.oldest)) % CHECKPOINTS);
        oldest_first.find(|&index| self.ends[index] > seq).map_or(Time::ZERO, |index| self.times[index])
    }

    /// A packet has arrived after later ones.
    pub(super) fn note_reordered(&mut self, now: Time, seq: u32) {
        let delay = now.since(self.overtaken_at(seq));
        self.delay = self.delay.max(delay).min(self.max_wait);
        self.reordered = self.reordered.saturating_add(1);
    }

    /// A packet has arrived: now and then the memory of reordering fades.
    pub(super) fn decay(&mut self) {
        self.until_decay -= 1;
        if self.until_decay == 0 {
            self.until_decay = DECAY_PACKETS;
            self.delay = self.delay.saturating_sub(Duration::from_ps(self.delay.as_ps() >> DECAY_SHIFT));
        }
    }
}
