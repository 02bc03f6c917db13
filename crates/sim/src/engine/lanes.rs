//! Room to deal the messages of a window in: what one node leaves there is gone before the next one runs, so that all
//! nodes of a part share it, and it stays in cache.
//!
//! A key is moved without a check of its place: that places lie in the room follows from how lanes are laid out.
#![allow(unsafe_code, reason = "places follow from the layout of the lanes; a debug build checks them")]

/// Knows the lanes of keys.
pub(crate) trait Way {
    /// The lane that a key goes to. Part of the loop over all keys.
    fn lane(&self, key: u64) -> usize;
}

/// Lanes, each with room for all keys of a window, as long as that is little; else each with what it needs.
#[derive(Default)]
pub(crate) struct Lanes {
    /// Where the next key of each lane goes.
    next: Vec<u32>,
    /// Lane after lane: a zero, which is not greater than any key, then room for keys.
    keys: Vec<u64>,
    /// Words of a lane.
    stride: usize,
    /// Keys that have been dealt and not taken.
    held: usize,
    /// Whether they are put in order as they come.
    ordered: bool,
    /// What was dealt last, if room for all in each lane would have been too much.
    crowd: Option<Box<Crowd>>,
}

/// Keys that lie lane after lane without room between.
struct Crowd {
    keys: Vec<u64>,
    /// Where the keys of each lane begin, and where the last one's end.
    starts: Vec<u32>,
}

impl Lanes {
    /// Up to so many keys are put in order as they come: most come in order. With 64, dense windows of two sides
    /// cost 10 instructions a packet-hop more.
    const FEW: usize = 192;
    /// Words that all lanes may take: a megabyte. Room grows with the square of a switch's ports.
    const MOST: usize = 1 << 17;

    /// Adds each key to the lane that `way` names, one of `lanes`; calls `note` with it. All lanes are empty before. The
    /// loop looks at what is in the lanes, not at what `way` looks up, so that those lookups do not wait for each other.
    #[inline(always)]
    pub(crate) fn deal(&mut self, lanes: usize, keys: &[u64], way: &impl Way, note: impl FnMut(usize)) {
        assert!(self.held == 0, "what was dealt before has been taken");
        self.held = keys.len();
        if (self.next.len() < lanes || self.stride <= keys.len()) && !self.resize(lanes, keys.len()) {
            return self.crowd_in(lanes, keys, way, note);
        }
        self.ordered = keys.len() <= Self::FEW;
        if self.ordered {
            self.fill::<true>(keys, way, note);
        } else {
            self.crowd = None;
            self.fill::<false>(keys, way, note);
        }
    }

    #[inline(always)]
    fn fill<const ORDERED: bool>(&mut self, from: &[u64], way: &impl Way, mut note: impl FnMut(usize)) {
        let (next, keys) = (&mut self.next[..], &mut self.keys[..]);
        for &key in from {
            let lane = way.lane(key);
            note(lane);
            let mut place = next[lane] as usize;
            next[lane] += 1;
            debug_assert!(place < (lane + 1) * self.stride, "a lane has room for all keys");
            // SAFETY: the lanes were empty and each has room for as many keys as are dealt, after its zero. `place` is
            // beyond that zero, and falls no further since the zero is not greater than any key.
            unsafe {
                while ORDERED && *keys.get_unchecked(place - 1) > key {
                    *keys.get_unchecked_mut(place) = *keys.get_unchecked(place - 1);
                    place -= 1;
                }
                *keys.get_unchecked_mut(place) = key;
            }
        }
    }

    /// [`Self::deal`] for many keys of many lanes: they are counted first.
    #[cold]
    fn crowd_in(&mut self, lanes: usize, keys: &[u64], way: &impl Way, mut note: impl FnMut(usize)) {
        let ways: Vec<u32> = keys.iter().map(|&key| way.lane(key) as u32).collect();
        let mut starts = vec![0; lanes + 1];
        for &lane in &ways {
            note(lane as usize);
            starts[lane as usize + 1] += 1;
        }
        for lane in 0..lanes {
            starts[lane + 1] += starts[lane];
        }
        let (mut next, mut dealt) = (starts.clone(), vec![0; keys.len()]);
        for (&key, &lane) in keys.iter().zip(&ways) {
            let place = &mut next[lane as usize];
            dealt[*place as usize] = key;
            *place += 1;
        }
        self.ordered = false;
        self.crowd = Some(Box::new(Crowd { keys: dealt, starts }));
    }

    #[inline(never)]
    fn take_unordered(&mut self, lane: usize) -> &[u64] {
        let keys = if self.crowd.is_some() { self.take_from_crowd(lane) } else { self.take_as_is(lane) };
        keys.sort_unstable();
        keys
    }

    fn take_from_crowd(&mut self, lane: usize) -> &mut [u64] {
        let Crowd { keys, starts } = &mut **self.crowd.as_mut().expect("the caller has looked");
        let keys = &mut keys[starts[lane] as usize..starts[lane + 1] as usize];
        self.held -= keys.len();
        keys
    }

    /// Takes the keys of a lane, in order; to be asked once for each lane that has got any.
    #[inline(always)]
    pub(crate) fn take(&mut self, lane: usize) -> &[u64] {
        if self.ordered { self.take_as_is(lane) } else { self.take_unordered(lane) }
    }

    #[inline(always)]
    fn take_as_is(&mut self, lane: usize) -> &mut [u64] {
        let start = lane * self.stride + 1;
        let end = std::mem::replace(&mut self.next[lane], start as u32) as usize;
        self.held -= end - start;
        debug_assert!(start <= end && end <= start + self.stride, "a lane has room for all keys");
        // SAFETY: the keys of a lane lie between its start and where its next one would go.
        unsafe { self.keys.get_unchecked_mut(start..end) }
    }

    /// Makes room for so many lanes, each of which may get so many keys; says whether that is not too much.
    #[cold]
    fn resize(&mut self, lanes: usize, keys: usize) -> bool {
        let lanes = lanes.max(self.next.len());
        // A power of two, and a cache line more: lanes begin in different sets of the cache.
        let stride = self.stride.max((keys + 1).next_power_of_two().max(16) + 8);
        let words = lanes * stride;
        if words > Self::MOST {
            return false;
        }
        self.stride = stride;
        self.next = (0..words as u32).step_by(stride).map(|start| start + 1).collect();
        self.keys = vec![0; words];
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Purpose, Random};

    /// The remainder of the key.
    struct By(u64);

    impl Way for By {
        fn lane(&self, key: u64) -> usize {
            (key % self.0) as usize
        }
    }

    #[test]
    fn a_lane_gives_what_was_dealt_to_it_in_order_however_much() {
        let mut lanes = Lanes::default();
        let mut random = Random::new(1, Purpose::Test, 0);
        for (count, number) in [
            (0, 1),
            (3, 8),
            (64, 3),
            (65, 3),
            (1000, 3),
            (5, 3),
            (30, 70),
            (64, 2),
            (500, 2000),
            (3, 2000),
            (70, 3),
            (2000, 100),
        ] {
            let keys: Vec<u64> = (0..count).map(|_| random.below(1 << 40)).collect();
            let way = By(number);
            let mut noted = vec![0; number as usize];
            lanes.deal(number as usize, &keys, &way, |lane| noted[lane] += 1);
            for (lane, noted) in noted.into_iter().enumerate() {
                let mut expected: Vec<u64> =
                    keys.iter().copied().filter(|&key| way.lane(key) == lane).collect();
                expected.sort_unstable();
                assert_eq!((lanes.take(lane), noted), (&expected[..], expected.len()), "{count} keys");
            }
        }
    }

    #[test]
    fn room_does_not_grow_with_the_square_of_the_lanes() {
        let mut lanes = Lanes::default();
        let keys: Vec<u64> = (0..2000).collect();
        lanes.deal(2000, &keys, &By(2000), |_| ());
        let words =
            lanes.keys.len() + lanes.crowd.as_ref().map_or(0, |crowd| crowd.keys.len() + crowd.starts.len());
        assert!(words <= Lanes::MOST, "{words} words");
    }

    #[test]
    #[should_panic(expected = "what was dealt before has been taken")]
    fn nothing_is_dealt_to_lanes_that_hold_something() {
        let mut lanes = Lanes::default();
        lanes.deal(2, &[5], &By(2), |_| ());
        lanes.deal(2, &[6], &By(2), |_| ());
    }
}
