//! Puts the keys of one (window, node) in order.

/// Beyond so many, buckets hold too many for insertion.
const MANY: usize = 256;
/// Buckets that more keys are dealt to first.
const BUCKETS: usize = 32;

/// Room to sort in, used again and again: all keys are [counted](Self::count), then [dealt](Self::deal) to buckets.
pub(super) struct Sorter {
    /// Only the first `len` places count.
    keys: Vec<u64>,
    len: usize,
    /// How many keys each bucket gets; then, where its next key goes.
    next: [u32; BUCKETS],
    /// The bits of a key from here on count up to [`BUCKETS`].
    shift: u32,
}

impl Sorter {
    /// For keys of so many significant bits, spread evenly over the highest of them.
    pub(super) const fn new(bits: u32) -> Self {
        let shift = bits.saturating_sub(BUCKETS.ilog2());
        Self { keys: Vec::new(), len: 0, next: [0; BUCKETS], shift }
    }

    /// Up to so many keys, insertion alone is fastest.
    pub(super) const FEW: usize = 8;

    /// Sorts up to [`Self::FEW`] keys.
    #[inline]
    pub(super) fn few(&mut self, keys: &[u64]) {
        self.len = keys.len();
        if self.keys.len() < Self::FEW {
            self.keys.resize(Self::FEW, 0);
        }
        for (place, &key) in self.keys.iter_mut().zip(keys) {
            *place = key;
        }
        insertion(&mut self.keys[..keys.len()]);
    }

    /// Forgets all keys.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.len, self.next) = (0, [0; BUCKETS]);
    }

    /// Counts keys that are to be dealt.
    #[inline]
    pub(super) fn count(&mut self, keys: &[u64]) {
        self.len += keys.len();
        let shift = self.shift;
        for &key in keys {
            self.next[bucket(key, shift)] += 1;
        }
    }

    /// All keys have been counted.
    #[inline]
    pub(super) fn prepare(&mut self) {
        if self.keys.len() < self.len {
            self.keys.resize(self.len.next_power_of_two(), 0);
        }
        let mut sum = 0;
        for place in &mut self.next {
            sum += std::mem::replace(place, sum);
        }
    }

    /// Deals keys that have been counted.
    #[inline]
    pub(super) fn deal(&mut self, keys: &[u64]) {
        let (shift, sorted) = (self.shift, &mut self.keys[..]);
        for &key in keys {
            let place = &mut self.next[bucket(key, shift)];
            sorted[*place as usize] = key;
            *place += 1;
        }
    }

    /// All keys have been dealt: puts what is nearly in order in order.
    #[inline]
    pub(super) fn finish(&mut self) {
        let keys = &mut self.keys[..self.len];
        if keys.len() > MANY { keys.sort_unstable() } else { insertion(keys) }
    }

    /// The keys in order, once [finished](Self::finish).
    pub(super) fn sorted(&self) -> &[u64] {
        &self.keys[..self.len]
    }
}

#[inline(always)]
const fn bucket(key: u64, shift: u32) -> usize {
    (key >> shift) as usize & (BUCKETS - 1)
}

#[inline]
fn insertion(keys: &mut [u64]) {
    for i in 1..keys.len() {
        let key = keys[i];
        let mut at = i;
        while at > 0 && keys[at - 1] > key {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_come_out_in_order_however_they_lie(
            keys in prop::collection::vec(any::<u64>(), 0..400), bits in 1_u32..64, clustered in any::<bool>(),
        ) {
            let keep = if clustered { 0b111 } else { u64::MAX } & ((1 << bits) - 1);
            let keys: Vec<u64> = keys.iter().map(|key| key & keep).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            let mut sorter = Sorter::new(bits);
            for _ in 0..2 {
                if keys.len() <= Sorter::FEW {
                    sorter.few(&keys);
                    prop_assert_eq!(sorter.sorted(), &expected[..]);
                }
                sorter.clear();
                let (some, others) = keys.split_at(keys.len() / 3);
                sorter.count(others);
                sorter.count(some);
                sorter.prepare();
                sorter.deal(some);
                sorter.deal(others);
                sorter.finish();
                prop_assert_eq!(sorter.sorted(), &expected[..]);
            }
        }
    }
}
