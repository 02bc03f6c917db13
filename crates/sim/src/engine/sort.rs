//! Puts packed keys in order.

/// Beyond so many keys, insertion takes too long.
const FEW: usize = 24;

/// Sorts keys that are few, or nearly in order, as a rule.
#[inline]
pub(crate) fn sort(keys: &mut [u64]) {
    if keys.len() > FEW {
        return keys.sort_unstable();
    }
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
        fn keys_come_out_in_order(keys in prop::collection::vec(any::<u64>(), 0..60)) {
            let (mut keys, mut expected) = (keys.clone(), keys);
            sort(&mut keys);
            expected.sort_unstable();
            prop_assert_eq!(keys, expected);
        }
    }
}
