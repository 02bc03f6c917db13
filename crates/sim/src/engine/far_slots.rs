//! Messages and wake-ups for windows that are not near yet: by coarse slot, in a ring of the next slots and a
//! tree of the rest.

use std::collections::BTreeMap;

/// Slots of the ring: with windows of 1 us and 16 of them a slot, 16 ms ahead, more than most links are long.
const RING: u64 = 1024;

/// Things by slot. Slots are taken in rising order, and nothing is added to those before the first that was not taken.
pub(super) struct Far<T> {
    /// The next slots, at slot modulo [`RING`].
    ring: Vec<Vec<T>>,
    /// One bit a slot of the ring that holds something.
    full: [u64; RING as usize / 64],
    /// Slots that were too far ahead for the ring when something was added to them.
    beyond: BTreeMap<u64, Vec<T>>,
    /// The first slot of the ring.
    first: u64,
    /// Room that the slot had which was taken last: the next one that begins to fill has use for it.
    spare: Vec<T>,
}

impl<T> Far<T> {
    pub(super) fn new() -> Self {
        let ring = std::iter::repeat_with(Vec::new).take(RING as usize).collect();
        Self { ring, full: [0; RING as usize / 64], beyond: BTreeMap::new(), first: 0, spare: Vec::new() }
    }

    /// Adds something to a slot.
    #[inline]
    pub(super) fn push(&mut self, slot: u64, what: T) {
        debug_assert!(slot >= self.first, "the slot has been taken");
        if slot - self.first >= RING {
            return self.beyond.entry(slot).or_default().push(what);
        }
        let place = (slot % RING) as usize;
        self.full[place / 64] |= 1 << (place % 64);
        let held = &mut self.ring[place];
        if held.capacity() == 0 {
            *held = std::mem::take(&mut self.spare);
        }
        held.push(what);
    }

    /// The first slot that holds something.
    pub(super) fn first(&self) -> Option<u64> {
        let start = self.first % RING;
        let beyond = self.beyond.first_key_value().map(|(&slot, _)| slot);
        self.next_full(start).map(|ahead| self.first + ahead).into_iter().chain(beyond).min()
    }

    /// The distance from an index of the ring to the first slot that holds something.
    fn next_full(&self, start: u64) -> Option<u64> {
        let words = self.full.len();
        let (word, bit) = ((start / 64) as usize, start % 64);
        // The 64 bits around the start come twice: first the upper ones, at the end those below.
        (0..=words).find_map(|step| {
            let upper = u64::MAX << bit;
            let mask = if step == 0 {
                upper
            } else if step == words {
                !upper
            } else {
                u64::MAX
            };
            let bits = self.full[(word + step) % words] & mask;
            let ahead = (step as u64 * 64 + u64::from(bits.trailing_zeros())).wrapping_sub(bit);
            (bits != 0).then_some(ahead)
        })
    }

    /// Takes what a slot holds; no slot up to it is added to any more.
    pub(super) fn take(&mut self, slot: u64) -> Vec<T> {
        let place = (slot % RING) as usize;
        // A slot further ahead than the ring is reached only if the ring is empty.
        let mut held = std::mem::take(&mut self.ring[place]);
        held.extend(self.beyond.remove(&slot).into_iter().flatten());
        self.full[place / 64] &= !(1 << (place % 64));
        self.first = slot + 1;
        held
    }

    /// Takes back the room that a slot had.
    pub(super) fn reuse(&mut self, mut room: Vec<T>) {
        if room.capacity() > self.spare.capacity() {
            room.clear();
            self.spare = room;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Purpose, Random};

    #[test]
    fn the_room_of_a_slot_is_used_again_also_after_empty_ones() {
        let mut far = Far::new();
        (0..100).for_each(|number| far.push(0, number));
        let room = far.take(0);
        let capacity = room.capacity();
        far.reuse(room);
        let empty = far.take(1);
        far.reuse(empty);
        far.push(2, 0);
        assert_eq!(far.take(2).capacity(), capacity);
    }

    #[test]
    fn everything_comes_back_slot_by_slot_however_far_ahead_it_was() {
        let mut random = Random::new(1, Purpose::Test, 0);
        let (mut far, mut model) = (Far::new(), BTreeMap::<u64, Vec<u64>>::new());
        let mut first = 0;
        for number in 0..20_000_u64 {
            let ahead = [1, 70, 1023, 1024, 5000][random.below(5) as usize];
            let slot = first + random.below(ahead);
            far.push(slot, number);
            model.entry(slot).or_default().push(number);
            if random.below(3) == 0 {
                let (slot, mut expected) = model.pop_first().expect("one was just added");
                assert_eq!(far.first(), Some(slot));
                let mut found = far.take(slot);
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected);
                far.reuse(found);
                first = slot + 1;
            }
        }
        while let Some((slot, expected)) = model.pop_first() {
            assert_eq!((far.first(), far.take(slot).len()), (Some(slot), expected.len()));
        }
        assert_eq!(far.first(), None);
    }
}
