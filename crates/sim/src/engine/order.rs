//! The messages of a window in order: dealt to buckets by time, which are nearly an order, then put in place.

use super::calendar::TIME_SHIFT;

/// Buckets, as a power of two.
const BUCKET_BITS: u32 = 6;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Fewer are put in order in place, and more by the standard library. A byte counts them.
const FEW: usize = 8;
const MANY: usize = 256;

/// Room to put messages in order.
pub(super) struct Order {
    keys: Box<[u64; MANY]>,
}

impl Default for Order {
    fn default() -> Self {
        Self { keys: Box::new([0; MANY]) }
    }
}

impl Order {
    /// Puts packed messages of a window of `length` ps in order, there or here.
    #[inline]
    pub(super) fn sort<'a>(&'a mut self, keys: &'a mut [u64], length: u64) -> &'a [u64] {
        if keys.len() >= MANY {
            keys.sort_unstable();
            return keys;
        }
        let keys = if keys.len() < FEW { keys } else { self.deal(keys, length) };
        put_in_place(keys);
        keys
    }

    /// Brings them in order of their buckets.
    #[inline(always)]
    fn deal(&mut self, from: &[u64], length: u64) -> &mut [u64] {
        // All bits of a time within a window, and the highest of them.
        let bits = u64::BITS - (length - 1).leading_zeros();
        let shift = TIME_SHIFT + bits.saturating_sub(BUCKET_BITS);
        let bucket = |key: u64| (key >> shift) as usize % BUCKETS;
        let mut ends = [0_u8; BUCKETS];
        for &key in from {
            ends[bucket(key)] += 1;
        }
        let mut before = 0;
        for eight in ends.as_chunks_mut::<8>().0 {
            // The sums of the bytes up to each: no byte overflows, since there are fewer than 256.
            let counts = u64::from_le_bytes(*eight);
            let sums = counts.wrapping_mul(0x0101_0101_0101_0101);
            let starts = (sums - counts).wrapping_add(before * 0x0101_0101_0101_0101);
            before += sums >> 56;
            *eight = starts.to_le_bytes();
        }
        for &key in from {
            let next = &mut ends[bucket(key)];
            self.keys[usize::from(*next)] = key;
            *next = next.wrapping_add(1);
        }
        &mut self.keys[..from.len()]
    }
}

/// Puts integers in order that nearly are, or that are few.
#[inline(always)]
fn put_in_place(keys: &mut [u64]) {
    for place in 1..keys.len() {
        let key = keys[place];
        if keys[place - 1] <= key {
            continue;
        }
        let mut to = place;
        while to > 0 && keys[to - 1] > key {
            keys[to] = keys[to - 1];
            to -= 1;
        }
        keys[to] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Purpose, Random};

    #[test]
    fn messages_come_in_order_however_many_and_however_long_the_window() {
        let mut random = Random::new(1, Purpose::Test, 0);
        let mut order = Order::default();
        for length in [1, 2, 63, 64, 65, 1000, 1 << 20, (1 << 21) - 1] {
            for count in [0, 1, 2, 7, 8, 9, 64, 255, 256, 257, 1000] {
                for within in [length, 1 + length / 100] {
                    let key =
                        |_| (length - 1 - random.below(within)) << TIME_SHIFT | random.below(1 << TIME_SHIFT);
                    let mut keys: Vec<u64> = (0..count).map(key).collect();
                    let mut expected = keys.clone();
                    expected.sort_unstable();
                    assert_eq!(order.sort(&mut keys, length), expected, "{count} in {length} ps");
                }
            }
        }
    }
}
