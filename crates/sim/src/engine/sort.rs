//! Puts the keys of one (window, node) in order.

/// Up to so many keys, insertion alone is fastest.
const FEW: usize = 8;
/// Beyond so many, buckets hold too many for insertion.
const MANY: usize = 256;
/// Buckets that more keys are dealt to first.
const BUCKETS: usize = 32;

/// Room to sort in, used again and again.
pub(super) struct Sorter {
    keys: Vec<u64>,
    /// Room to deal to; only the first `keys.len()` places count.
    dealt: Vec<u64>,
    /// Whether the keys in order are those that were dealt.
    is_dealt: bool,
    /// The bits of a key from here on count up to [`BUCKETS`].
    shift: u32,
}

impl Sorter {
    /// For keys of so many significant bits, spread evenly over the highest of them.
    pub(super) const fn new(bits: u32) -> Self {
        let shift = bits.saturating_sub(BUCKETS.ilog2());
        Self { keys: Vec::new(), dealt: Vec::new(), is_dealt: false, shift }
    }

    /// Forgets all keys.
    #[inline]
    pub(super) fn clear(&mut self) {
        self.keys.clear();
        self.is_dealt = false;
    }

    /// Adds keys.
    #[inline]
    pub(super) fn extend(&mut self, keys: &[u64]) {
        self.keys.extend_from_slice(keys);
    }

    /// Sorts the keys: a deal to buckets, then insertion over what is nearly in order.
    #[inline]
    pub(super) fn sort(&mut self) -> &[u64] {
        match self.keys.len() {
            0..=FEW => insertion(&mut self.keys),
            ..=MANY => self.deal(),
            _ => self.keys.sort_unstable(),
        }
        self.sorted()
    }

    /// The keys in order, once [sorted](Self::sort).
    pub(super) fn sorted(&self) -> &[u64] {
        if self.is_dealt { &self.dealt[..self.keys.len()] } else { &self.keys }
    }

    fn deal(&mut self) {
        let shift = self.shift;
        let bucket = |key: u64| (key >> shift) as usize & (BUCKETS - 1);
        let mut next = [0_u32; BUCKETS];
        for &key in &self.keys {
            next[bucket(key)] += 1;
        }
        let mut sum = 0;
        for place in &mut next {
            sum += std::mem::replace(place, sum);
        }
        if self.dealt.len() < self.keys.len() {
            self.dealt.resize(MANY, 0);
        }
        let dealt = &mut self.dealt[..self.keys.len()];
        for &key in &self.keys {
            let place = &mut next[bucket(key)];
            dealt[*place as usize] = key;
            *place += 1;
        }
        insertion(dealt);
        self.is_dealt = true;
    }
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
                sorter.clear();
                sorter.extend(&keys);
                prop_assert_eq!(sorter.sort(), &expected[..]);
                prop_assert_eq!(sorter.sorted(), &expected[..]);
            }
        }
    }
}
