//! Which of a flow's last packets have arrived.

use alloc::boxed::Box;
use alloc::vec;

/// A bit for each of the last packets: those from `end - window` up to `end`, which is one past the highest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ArrivalMap {
    /// Bit of packet `n`: bit `n % 64` of element `n / 64 % len`; the length is a power of two.
    bits: Box<[u64]>,
    /// One past the highest packet that is known to have been sent.
    end: u32,
}

impl ArrivalMap {
    pub(super) fn new(window: u32) -> Self {
        Self { bits: vec![0; window as usize / 64].into(), end: 0 }
    }

    /// How many packets there are bits for.
    pub(super) const fn window(&self) -> u32 {
        self.bits.len() as u32 * 64
    }

    /// One past the highest packet.
    pub(super) const fn end(&self) -> u32 {
        self.end
    }

    /// The first packet that has a bit, if the window ended at `end`.
    pub(super) const fn start_of(&self, end: u32) -> u32 {
        end.saturating_sub(self.window())
    }

    const fn index(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.bits.len() - 1)
    }

    /// Whether a packet of the window has arrived.
    pub(super) const fn contains(&self, seq: u32) -> bool {
        seq < self.end && self.bits[self.index(seq)] >> (seq % 64) & 1 == 1
    }

    /// Sets the bit of a packet of the window; returns whether it was clear.
    pub(super) fn insert(&mut self, seq: u32) -> bool {
        let (index, bit) = (self.index(seq), 1 << (seq % 64));
        let was_clear = self.bits[index] & bit == 0;
        self.bits[index] |= bit;
        was_clear
    }

    /// Moves the window on, so that it ends at `end`; none of the new packets has arrived.
    pub(super) fn advance(&mut self, end: u32) {
        let first = self.end.max(self.start_of(end));
        for seq in first..end {
            let index = self.index(seq);
            self.bits[index] &= !(1 << (seq % 64));
        }
        self.end = self.end.max(end);
    }

    /// Memory beside the value itself.
    pub(super) const fn heap_bytes(&self) -> usize {
        size_of::<u64>() * self.bits.len()
    }
}
