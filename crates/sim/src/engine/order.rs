//! The messages of a window in order: partitioned into buckets by time, which are nearly an order, then
//! sorted.

use super::packed::{Message, Packed};

/// Buckets, as a power of two.
const BUCKET_BITS: u32 = 6;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Fewer are put in order in place, and more by the standard library. A byte counts them.
const FEW: usize = 8;
const MANY: usize = 256;

/// Room to put messages in order.
pub(super) struct Order<M> {
    keys: Box<[Packed<M>; MANY]>,
}

impl<M: Message> Default for Order<M> {
    fn default() -> Self {
        Self { keys: Box::new([Packed::filler(); MANY]) }
    }
}

impl<M: Message> Order<M> {
    /// Puts messages of a window of `length` ps in order, there or here; equal ones keep the order that they have.
    #[inline]
    pub(super) fn sort<'a>(&'a mut self, keys: &'a mut [Packed<M>], length: u64) -> &'a mut [Packed<M>] {
        if keys.len() >= MANY {
            keys.sort_by_key(|key| key.order());
            return keys;
        }
        let keys = if keys.len() < FEW { keys } else { self.partition(keys, length) };
        put_in_place(keys);
        keys
    }

    /// Brings them in order of their buckets.
    #[inline(always)]
    fn partition(&mut self, from: &[Packed<M>], length: u64) -> &mut [Packed<M>] {
        let shift = Packed::<M>::shift(length, BUCKET_BITS);
        let bucket = |key: Packed<M>| key.stretch(shift) % BUCKETS;
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

/// Puts messages in order that nearly are, or that are few.
#[inline(always)]
fn put_in_place<M: Message>(keys: &mut [Packed<M>]) {
    for place in 1..keys.len() {
        let key = keys[place];
        if !keys[place - 1].is_after(key) {
            continue;
        }
        let mut to = place;
        while to > 0 && keys[to - 1].is_after(key) {
            keys[to] = keys[to - 1];
            to -= 1;
        }
        keys[to] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::IS_MESSAGE;
    use super::*;
    use farspan_units::{Purpose, Random};

    #[test]
    fn messages_come_in_order_and_equal_ones_as_they_were_sent_however_many_and_however_long_the_window() {
        let mut random = Random::new(1, Purpose::Test, 0);
        let mut order = Order::default();
        for length in [1, 2, 63, 64, 65, 1000, 1 << 20, (1 << 21) - 1] {
            for count in [0, 1, 2, 7, 8, 9, 64, 255, 256, 257, 1000] {
                for (within, ranks) in [(length, 1000), (1 + length / 100, 3)] {
                    let mut draw = |_| {
                        (
                            length - 1 - random.below(within),
                            IS_MESSAGE | random.below(ranks) as u16,
                            random.below(1 << 30) as u32,
                        )
                    };
                    let mut expected: Vec<_> = (0..count).map(&mut draw).collect();
                    let pack = |&(at, rank, number): &(u64, u16, u32)| Packed::message(at, rank, number);
                    let mut keys: Vec<Packed<u32>> = expected.iter().map(pack).collect();
                    expected.sort_by_key(|&(at, rank, _)| (at, rank));
                    let sorted: Vec<_> = order.sort(&mut keys, length).iter().map(|key| key.bits()).collect();
                    let expected: Vec<_> = expected.iter().map(|key| pack(key).bits()).collect();
                    assert_eq!(sorted, expected, "{count} in {length} ps");
                }
            }
        }
    }
}
