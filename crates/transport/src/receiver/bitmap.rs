//! Which packets have arrived out of order.

use alloc::boxed::Box;

/// Which packets above the cumulative one have arrived: a ring of bits that grows to the farthest of them.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    /// Bit of packet `n`: bit `n % 64` of word `n / 64 % len`; the length is a power of two.
    words: Box<[u64]>,
    /// How many bits are set.
    set: u32,
}

impl Bitmap {
    pub(super) fn new() -> Self {
        Self { words: Box::default(), set: 0 }
    }

    /// Whether no bit is set.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.set == 0
    }

    /// Whether one bit is set.
    pub(super) const fn is_single(&self) -> bool {
        self.set == 1
    }

    /// How many packets there is room for.
    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.words.len() * 64
    }

    const fn index(&self, seq: u32) -> usize {
        (seq / 64) as usize & (self.words.len() - 1)
    }

    /// Whether the bit of `seq` is set, given that none below `floor` is.
    pub(super) fn contains(&self, floor: u32, seq: u32) -> bool {
        let word = (seq / 64 - floor / 64) as usize;
        word < self.words.len() && self.words[self.index(seq)] >> (seq % 64) & 1 == 1
    }

    /// Sets the bit of `seq`, given that none below `floor` is set; returns whether it was clear.
    #[inline(always)]
    pub(super) fn insert(&mut self, floor: u32, seq: u32) -> bool {
        let words = (seq / 64 - floor / 64) as usize + 1;
        if words > self.words.len() {
            self.grow(floor, words.next_power_of_two());
        }
        let (index, bit) = (self.index(seq), 1 << (seq % 64));
        let was_clear = self.words[index] & bit == 0;
        self.words[index] |= bit;
        self.set += u32::from(was_clear);
        was_clear
    }

    #[cold]
    fn grow(&mut self, floor: u32, len: usize) {
        let old = core::mem::replace(&mut self.words, alloc::vec![0; len].into());
        for word in (floor / 64..).take(old.len()) {
            self.words[word as usize & (len - 1)] = old[word as usize & (old.len() - 1)];
        }
    }

    /// The bits of the 64 packets from `from` on, which is not below `floor`, given that none below `floor` is set.
    pub(super) fn map(&self, floor: u32, from: u32) -> u64 {
        let first = from / 64;
        let word = |at: u32| {
            let is_there = ((at - floor / 64) as usize) < self.words.len();
            if is_there { self.words[at as usize & (self.words.len() - 1)] } else { 0 }
        };
        match from % 64 {
            0 => word(first),
            shift => word(first) >> shift | word(first + 1) << (64 - shift),
        }
    }

    /// Clears the run of set bits that starts at `from`; returns its length.
    #[inline(never)]
    pub(super) fn take_run(&mut self, from: u32) -> u32 {
        let mut at = from;
        while self.set > 0 {
            let index = self.index(at);
            let run = (self.words[index] >> (at % 64)).trailing_ones();
            if run == 0 {
                break;
            }
            let ones = if run == 64 { u64::MAX } else { (1 << run) - 1 };
            self.words[index] &= !(ones << (at % 64));
            self.set -= run;
            at += run;
            if !at.is_multiple_of(64) {
                break;
            }
        }
        at - from
    }
}
