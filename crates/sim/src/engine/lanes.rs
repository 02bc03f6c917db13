//! Room to deal the messages of a window in: what one node leaves there is gone before the next one runs, so that all
//! nodes of a part share it, and it stays in cache.
//!
//! A key is moved without a check of its place: that places lie in the room follows from how lanes are laid out.
#![allow(unsafe_code, reason = "places follow from the layout of the lanes; a debug build checks them")]

/// Lanes, each with room for the same number of keys.
#[derive(Default)]
pub(crate) struct Lanes {
    /// Where the next key of each lane goes: from lane x (mask + 1), while the lane is empty, to `mask` beyond it.
    next: Vec<u32>,
    /// As many as all lanes hold.
    keys: Vec<u64>,
    /// Room of a lane, less one: a power of two less one. A lane is never full when this is left to others.
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

    /// Adds each key to the lane that `way` names; calls `first` for lanes that get their first one. The loop looks at
    /// what is in the lanes, not at what `way` looks up, so that those lookups do not wait for each other.
    #[inline(always)]
    pub(crate) fn deal(&mut self, keys: &[u64], way: impl Fn(u64) -> usize, mut first: impl FnMut(usize)) {
        let mut rest = keys;
        while let Some(taken) = self.fill(rest, &way, &mut first) {
            self.resize(self.next.len(), 2 * self.mask + 1);
            rest = &rest[taken..];
        }
    }

    /// Deals keys until a lane is full; gives how many that were, or `None` if they all found room.
    #[inline(always)]
    fn fill(
        &mut self,
        from: &[u64],
        way: &impl Fn(u64) -> usize,
        first: &mut impl FnMut(usize),
    ) -> Option<usize> {
        let (next, keys, mask) = (&mut self.next[..], &mut self.keys[..], self.mask);
        for (number, &key) in from.iter().enumerate() {
            let lane = way(key);
            let mut place = next[lane] as usize;
            next[lane] += 1;
            let is_full = next[lane] & mask == mask;
            if place as u32 & mask == 0 {
                first(lane);
            }
            // SAFETY: `place` starts as that of a lane that is not full and falls to its first at most.
            unsafe {
                // Most come in order.
                while place as u32 & mask != 0
                    && place as u32 & mask < Self::SORTED
                    && *keys.get_unchecked(place - 1) > key
                {
                    *keys.get_unchecked_mut(place) = *keys.get_unchecked(place - 1);
                    place -= 1;
                }
                *keys.get_unchecked_mut(place) = key;
            }
            if is_full {
                return Some(number + 1);
            }
        }
        None
    }

    /// Takes the keys of a lane, in order.
    #[inline(always)]
    pub(crate) fn take(&mut self, lane: usize) -> &[u64] {
        let start = lane as u32 * (self.mask + 1);
        let end = std::mem::replace(&mut self.next[lane], start);
        // SAFETY: the keys of a lane lie between its start and where its next one would go.
        let keys = unsafe { self.keys.get_unchecked_mut(start as usize..end as usize) };
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
            let keys = self.take(lane);
            wider.deal(keys, |_| lane, |_| ());
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
            lanes.deal(&[key], |_| lane, |_| assert!(key == 0 || key == 1, "{key}"));
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
            let keys: Vec<u64> = (0..count).map(|n| n * 7919 % 1009).collect();
            lanes.deal(&keys, |_| 1, |_| ());
            let keys = lanes.take(1);
            assert!(keys.is_sorted() && keys.len() as u64 == count, "{count}: {keys:?}");
        }
    }
}
