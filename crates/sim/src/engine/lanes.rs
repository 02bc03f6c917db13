//! Room to deal the messages of a window in: what one node leaves there is gone before the next one runs, so that all
//! nodes of a part share it, and it stays in cache.

/// Lanes, each with room for the same number of keys.
#[derive(Default)]
pub(crate) struct Lanes {
    /// Where the next key of each lane goes.
    next: Vec<u32>,
    keys: Vec<u64>,
    /// Room of a lane, less one: a power of two less one. A lane is never full.
    mask: u32,
}

impl Lanes {
    /// Up to so many keys of a lane are put in order as they come.
    const SORTED: u32 = 24;

    /// Sees to it that there are so many lanes.
    #[inline]
    pub(crate) fn fit(&mut self, lanes: usize) {
        if self.next.len() < lanes {
            self.resize(lanes, self.mask.max(7));
        }
    }

    /// Adds a key to a lane; says whether it is the first one there.
    #[inline(always)]
    pub(crate) fn push(&mut self, lane: usize, key: u64) -> bool {
        let (mut place, mask) = (self.next[lane], self.mask);
        self.next[lane] = place + 1;
        if place & mask == 0 {
            self.keys[place as usize] = key;
            return true;
        }
        let is_full = (place + 1) & mask == mask;
        // Most come in order.
        while place & mask != 0 && place & mask < Self::SORTED && self.keys[place as usize - 1] > key {
            self.keys[place as usize] = self.keys[place as usize - 1];
            place -= 1;
        }
        self.keys[place as usize] = key;
        if is_full {
            self.resize(self.next.len(), 2 * mask + 1);
        }
        false
    }

    /// Takes the keys of a lane, in order.
    #[inline(always)]
    pub(crate) fn take(&mut self, lane: usize) -> &[u64] {
        let start = lane as u32 * (self.mask + 1);
        let end = std::mem::replace(&mut self.next[lane], start);
        let keys = &mut self.keys[start as usize..end as usize];
        if keys.len() > Self::SORTED as usize {
            keys.sort_unstable();
        }
        keys
    }

    #[cold]
    fn resize(&mut self, lanes: usize, mask: u32) {
        let mut wider =
            Self { next: (0..lanes as u32).map(|lane| lane * (mask + 1)).collect(), keys: Vec::new(), mask };
        wider.keys.resize(lanes * (mask as usize + 1), 0);
        for lane in 0..self.next.len() {
            for &key in self.take(lane) {
                wider.push(lane, key);
            }
        }
        *self = wider;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_keep_what_they_were_given_however_much() {
        let mut lanes = Lanes::default();
        lanes.fit(3);
        for key in 0..1000 {
            let lane = if key % 10 == 0 { 2 } else { 0 };
            assert_eq!(lanes.push(lane, key), key < 2, "{key}");
        }
        lanes.fit(70);
        assert!(lanes.take(0).iter().copied().eq((0..1000).filter(|key| key % 10 != 0)));
        assert!(lanes.take(2).iter().copied().eq((0..1000).step_by(10)));
        assert!((0..70).all(|lane| lanes.take(lane).is_empty()));
    }

    #[test]
    fn a_lane_is_in_order_when_it_is_taken() {
        for count in [3_u64, 23, 24, 25, 300] {
            let mut lanes = Lanes::default();
            lanes.fit(2);
            (0..count).for_each(|n| _ = lanes.push(1, n * 7919 % 1009));
            let keys = lanes.take(1);
            assert!(keys.is_sorted() && keys.len() as u64 == count, "{count}: {keys:?}");
        }
    }
}
