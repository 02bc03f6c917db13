//! Puts the keys of one (window, node) in order.

/// Up to so many keys, insertion alone is fastest.
const FEW: usize = 12;
/// Beyond so many, buckets hold too many for insertion.
const MANY: usize = 256;
/// Buckets that more keys are dealt to first.
const BUCKETS: usize = 32;

/// Sorts keys whose bits from `shift` on count up to [`BUCKETS`] and are spread evenly: a deal to buckets, then
/// insertion over what is nearly in order. `spare` is room to deal to.
pub(super) fn sort(keys: &mut Vec<u64>, spare: &mut Vec<u64>, shift: u32) {
    if keys.len() > MANY {
        return keys.sort_unstable();
    }
    if keys.len() > FEW {
        deal(keys, spare, shift);
    }
    insertion(keys);
}

/// How far to shift keys of so many significant bits for [`sort`].
pub(super) const fn shift(bits: u32) -> u32 {
    bits.saturating_sub(BUCKETS.ilog2())
}

fn deal(keys: &mut Vec<u64>, spare: &mut Vec<u64>, shift: u32) {
    let bucket = |key: u64| (key >> shift) as usize & (BUCKETS - 1);
    let mut next = [0_u32; BUCKETS];
    for &key in &*keys {
        next[bucket(key)] += 1;
    }
    let mut sum = 0;
    for place in &mut next {
        sum += std::mem::replace(place, sum);
    }
    spare.resize(keys.len(), 0);
    for &key in &*keys {
        let place = &mut next[bucket(key)];
        spare[*place as usize] = key;
        *place += 1;
    }
    std::mem::swap(keys, spare);
}

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
            let mut keys: Vec<u64> = keys.iter().map(|key| key & keep).collect();
            let mut expected = keys.clone();
            expected.sort_unstable();
            sort(&mut keys, &mut Vec::new(), shift(bits));
            prop_assert_eq!(keys, expected);
        }
    }
}
