//! The cache of entropies that both versions of REPS keep: a ring of up to eight.

use crate::balance::contract::Entropy;

/// A ring of slots. What was put in and not taken waits; a slot keeps its entropy until another takes its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cache {
    entropies: [Entropy; Self::MOST],
    /// How many slots are in use, at most.
    slots: u8,
    /// The slot that is written next.
    head: u8,
    /// How many slots were ever written, up to all of them.
    written: u8,
    /// How many entropies wait: those put in last.
    waiting: u8,
}

impl Cache {
    /// The most slots that there can be.
    pub(super) const MOST: usize = 8;

    /// An empty cache with 1 to 8 slots.
    pub(super) const fn new(slots: u32) -> Self {
        Self { entropies: [0; Self::MOST], slots: slots as u8, head: 0, written: 0, waiting: 0 }
    }

    /// Keeps `entropy` in the place of the one that was put in longest ago, waiting or not.
    pub(super) fn put(&mut self, entropy: Entropy) {
        self.entropies[usize::from(self.head)] = entropy;
        self.head = (self.head + 1) % self.slots;
        self.written = (self.written + 1).min(self.slots);
        self.waiting = (self.waiting + 1).min(self.slots);
    }

    /// Takes the entropy that has waited longest; `None`: none waits.
    pub(super) fn take_oldest(&mut self) -> Option<Entropy> {
        if self.waiting == 0 {
            return None;
        }
        let slot = (self.head + self.slots - self.waiting) % self.slots;
        self.waiting -= 1;
        Some(self.entropies[usize::from(slot)])
    }

    /// Forgets all of them.
    pub(super) const fn clear(&mut self) {
        *self = Self::new(self.slots as u32);
    }

    /// The entropy of slot `turn`, waiting or not, and the turn of the next; `None`: nothing was put in yet.
    pub(super) fn at(&self, turn: &mut u8) -> Option<Entropy> {
        if self.written == 0 {
            return None;
        }
        let slot = *turn;
        *turn = (slot + 1) % self.written;
        Some(self.entropies[usize::from(slot)])
    }
}
