//! The calendar of pending messages and wake-ups, by window and node.
//!
//! Messages within the next [`SLOT`] windows wait in chunks by (window, node); later ones in coarse slots,
//! which are filed into the near windows when their time comes.
#![allow(unsafe_code, reason = "keys go where chunks have room; a debug build checks it")]

use super::far_slots::Far;
use super::packed::{Message, Packed, WINDOW_BITS};
use farspan_units::{Duration, Time};
use std::marker::PhantomData;

/// Windows in a coarse slot of the calendar.
const SLOT: u64 = 16;
/// Windows that are filed one by one: those of the current slot and of the next; a power of two. Few, so that
/// the heads of their chunks take little memory.
const NEAR: u64 = 2 * SLOT;

/// No chunk.
const NONE: u32 = u32::MAX;
/// 64-bit elements of a chunk: where the keys end that were filed before, then keys. A power of two.
const CHUNK: u32 = 16;

/// Where the chunk begins whose keys end at `end`.
#[inline(always)]
const fn chunk(end: u32) -> usize {
    (end.wrapping_sub(1) & !(CHUNK - 1)) as usize
}

/// Something for a window beyond the near ones.
struct Later {
    /// The message, or [`WAKE_UP`].
    key: u64,
    node: u32,
    /// The index of the window in its slot.
    place: u32,
}

/// A wake-up without a message: the node knows its own events. No key has all bits set, since no message has
/// the number 2^32 - 1.
const WAKE_UP: u64 = u64::MAX;

/// Messages and wake-ups under way.
pub(super) struct Calendar<M> {
    messages: PhantomData<M>,
    /// Whether a frame was ever filed.
    pub(super) has_frames: bool,
    /// Time between the beginnings of windows, ps.
    step: u64,
    /// Number of groups, see [`super::Alternation::groups`]: with two, nodes of group 1 run the odd windows,
    /// and those of group 0 the others.
    groups: u64,
    /// The group of each node.
    group_of: Vec<u8>,
    /// Length of a window, ps: a step for each group.
    pub(super) length: u64,
    /// 2^64 / step, rounded up: a multiplication by it divides by the step.
    reciprocal: u64,
    nodes: usize,
    /// Where the keys end that were filed last, by (window modulo [`NEAR`], node): a chunk begins there if it is a
    /// multiple of [`CHUNK`], so that there is no room; zero: nothing was filed.
    ends: Vec<u32>,
    /// One bit a node that has something to do, by window modulo [`NEAR`].
    active: Vec<u64>,
    /// 64-bit elements of a row of `active`.
    row: usize,
    /// Chunks, back to back.
    keys: Vec<u64>,
    /// A chunk that is free; the first element of each leads to the next one.
    free: u32,
    /// Messages and wake-ups by coarse slot (window / [`SLOT`]).
    far: Far<Later>,
    /// The first window that is not a near one; a multiple of [`SLOT`].
    near_end: u64,
    /// Chunks that hold messages.
    chunks_in_use: usize,
    /// Messages beyond the near windows.
    far_messages: usize,
}

impl<M: Message> Calendar<M> {
    /// A calendar for nodes in `groups` groups, by node in `group_of`.
    pub(super) fn new(step: Duration, groups: u8, group_of: Vec<u8>) -> Self {
        let nodes = group_of.len();
        let row = nodes.div_ceil(64);
        Self {
            messages: PhantomData,
            has_frames: false,
            step: step.as_ps(),
            groups: u64::from(groups),
            group_of,
            length: step.as_ps() * u64::from(groups),
            reciprocal: (1_u128 << 64).div_ceil(u128::from(step.as_ps())) as u64,
            nodes,
            ends: vec![0; NEAR as usize * nodes],
            active: vec![0; NEAR as usize * row],
            row,
            keys: Vec::new(),
            free: NONE,
            far: Far::new(),
            near_end: NEAR,
            chunks_in_use: 0,
            far_messages: 0,
        }
    }

    /// The first window that holds `at`, for whichever node.
    pub(super) const fn window(&self, at: Time) -> u64 {
        at.as_ps() / self.step
    }

    /// The window in which `node` runs through `at`.
    pub(super) fn window_of(&self, node: u32, at: Time) -> u64 {
        self.own_window(node, self.window(at) + self.groups - 1)
    }

    /// The last window up to this one that `node` runs.
    #[inline(always)]
    fn own_window(&self, node: u32, window: u64) -> u64 {
        window - ((window ^ u64::from(self.group_of[node as usize])) & (self.groups - 1))
    }

    /// The position, among the windows of `node`, of something that comes `ps` after the start of `window`, a
    /// window of any node: the window, and picoseconds into it.
    #[inline(always)]
    pub(super) fn place_of(&self, node: u32, window: u64, ps: u64) -> (u64, u64) {
        let (windows, rest) = self.split(ps);
        let last = window + windows;
        let turn = self.own_window(node, last);
        (turn, rest + (last - turn) * self.step)
    }

    /// A length of time as a number of steps and the rest.
    #[inline(always)]
    fn split(&self, ps: u64) -> (u64, u64) {
        // Exact as long as ps x step < 2^64 (a step has at most so many bits): the reciprocal is less than
        // 2^-64 too large.
        if ps >> (64 - WINDOW_BITS) != 0 {
            return (ps / self.step, ps % self.step);
        }
        let steps = ((u128::from(ps) * u128::from(self.reciprocal)) >> 64) as u64;
        (steps, ps - steps * self.step)
    }

    /// When a window begins. The first window of two groups begins before time zero: its start wraps, and so
    /// do offsets from it.
    pub(super) const fn start(&self, window: u64) -> Time {
        Time::from_ps((window * self.step).wrapping_sub(self.length - self.step))
    }

    /// Nothing of a window happens before; [`Time::MAX`] for a window that never comes.
    pub(super) const fn begins(&self, window: u64) -> Time {
        match window.checked_mul(self.step) {
            Some(ps) => Time::from_ps(ps.saturating_sub(self.length - self.step)),
            None => Time::MAX,
        }
    }

    /// Number of groups: see [`super::Alternation::groups`].
    pub(super) const fn groups(&self) -> u64 {
        self.groups
    }

    /// Windows that begin before `limit` have lower numbers.
    pub(super) const fn windows_before(&self, limit: Time) -> u64 {
        limit.as_ps().div_ceil(self.step) + self.groups - 1
    }

    /// Sees to it that `node` runs in `window`.
    #[inline]
    pub(super) fn activate(&mut self, window: u64, node: u32) {
        if window >= self.near_end {
            return self.file_far(window, node, WAKE_UP);
        }
        let row = (window % NEAR) as usize * self.row;
        self.active[row + (node / 64) as usize] |= 1 << (node % 64);
    }

    /// Whether no message is under way.
    pub(super) const fn is_empty(&self) -> bool {
        self.chunks_in_use + self.far_messages == 0
    }

    /// Where the row of a near window begins among the ends.
    #[inline(always)]
    pub(super) fn row(&self, window: u64) -> usize {
        debug_assert!(window < self.near_end, "the window is near");
        (window % NEAR) as usize * self.nodes
    }

    /// Files a message at an index of the ends, if there is a chunk with room.
    #[inline(always)]
    pub(super) fn file_quickly(&mut self, place: usize, key: Packed<M>) -> bool {
        if let Some(end) = self.ends.get_mut(place)
            && !end.is_multiple_of(CHUNK)
        {
            debug_assert!((*end as usize) < self.keys.len(), "chunks are never given back");
            // SAFETY: unless a chunk begins there, where the keys end is inside a chunk, and none is ever given back.
            unsafe { *self.keys.get_unchecked_mut(*end as usize) = key.bits() };
            *end += 1;
            return true;
        }
        false
    }

    /// Files a message for `node` in `window`.
    pub(super) fn file(&mut self, window: u64, node: u32, key: Packed<M>) {
        if window >= self.near_end {
            self.far_messages += 1;
            return self.file_far(window, node, key.bits());
        }
        let place = self.row(window) + node as usize;
        if !self.file_quickly(place, key) {
            self.file_afresh(place, window, node, key);
        }
    }

    /// Files a message in a fresh chunk.
    pub(super) fn file_afresh(&mut self, place: usize, window: u64, node: u32, key: Packed<M>) {
        self.chunks_in_use += 1;
        if self.free == NONE {
            self.add_chunk();
        }
        let end = std::mem::replace(&mut self.ends[place], self.free + 2);
        let [chain, first] = self.keys[self.free as usize..].first_chunk_mut().expect("a chunk has room");
        self.free = *chain as u32;
        (*chain, *first) = (u64::from(end), key.bits());
        if end == 0 {
            self.activate(window, node);
        }
    }

    #[cold]
    fn add_chunk(&mut self) {
        self.free = u32::try_from(self.keys.len()).expect("fewer than 2^32 messages are under way");
        self.keys.resize(self.keys.len() + CHUNK as usize, u64::from(NONE));
    }

    fn file_far(&mut self, window: u64, node: u32, key: u64) {
        let place = (window % SLOT) as u32;
        self.far.push(window / SLOT, Later { key, node, place });
    }

    /// Takes the messages at an index of the ends, those of one channel in the order in which they were sent:
    /// puts them in front `into`, which grows, and returns their number. They no longer count as under way.
    #[inline]
    pub(super) fn gather(&mut self, place: usize, into: &mut Vec<Packed<M>>) -> usize {
        let end = std::mem::take(&mut self.ends[place]);
        if end == 0 {
            return 0;
        }
        let at = chunk(end);
        let before = std::mem::replace(&mut self.keys[at], u64::from(self.free)) as u32;
        self.free = at as u32;
        self.chunks_in_use -= 1;
        let earlier = if before == 0 { 0 } else { self.gather_chain(before, into) };
        self.copy(at, earlier, into);
        earlier + end as usize - at - 1
    }

    /// Copies the keys of a chunk, and what is behind the last of them.
    #[inline(always)]
    fn copy(&self, chunk: usize, to: usize, into: &mut Vec<Packed<M>>) {
        const KEYS: usize = CHUNK as usize - 1;
        if into.len() < to + KEYS {
            into.resize(2 * (to + KEYS), Packed::filler());
        }
        // SAFETY: `gather` says how many of the keys are messages that were filed.
        let keys = unsafe { Packed::of_bits(&self.keys[chunk + 1..][..KEYS]) };
        into[to..to + KEYS].copy_from_slice(keys);
    }

    /// Takes the messages of full chunks, that which ends at `last` and those before. The chunk filled first
    /// comes first: messages of one channel are then in order already.
    fn gather_chain(&mut self, last: u32, into: &mut Vec<Packed<M>>) -> usize {
        let (mut end, mut later, mut chunks) = (last, self.free, 0);
        while end != 0 {
            let at = chunk(end);
            end = std::mem::replace(&mut self.keys[at], u64::from(later)) as u32;
            later = at as u32;
            chunks += 1;
        }
        self.chunks_in_use -= chunks;
        self.free = later;
        let (mut at, keys) = (later as usize, CHUNK as usize - 1);
        for number in 0..chunks {
            self.copy(at, number * keys, into);
            at = self.keys[at] as usize;
        }
        chunks * keys
    }

    /// The nodes that have something to do in a near window, 64 at a time: their number in the row, and one bit each,
    /// which are taken.
    #[inline]
    pub(super) fn take_active(&mut self, window: u64, word: usize) -> u64 {
        std::mem::take(&mut self.active[(window % NEAR) as usize * self.row + word])
    }

    /// How often to call [`Self::take_active`] for a window.
    pub(super) const fn row_len(&self) -> usize {
        self.row
    }

    /// The first window from `from` on and before `limit` in which a node has something to do; files coarse
    /// slots as they come near, and none that begins at `limit` or later: something may yet be filed before
    /// it.
    pub(super) fn next_active(&mut self, from: u64, limit: u64) -> Option<u64> {
        // Windows before the near ones are over.
        let mut from = from.max(self.near_end.saturating_sub(NEAR));
        loop {
            let near = from..self.near_end.min(limit);
            if let Some(window) = near.into_iter().find(|&window| self.is_active(window)) {
                // The window before may be run on after this one.
                if window > self.near_end - SLOT {
                    self.approach(self.near_end / SLOT);
                }
                return Some(window);
            }
            let slot = self.far.first()?;
            from = slot * SLOT;
            if from >= limit {
                return None;
            }
            self.approach(slot);
        }
    }

    /// No window from `from` on and before this one has anything to do; [`u64::MAX`] if none has.
    pub(super) fn earliest(&self, from: u64) -> u64 {
        let near = from.max(self.near_end.saturating_sub(NEAR))..self.near_end;
        let far = self.far.first().map_or(u64::MAX, |slot| slot * SLOT);
        near.into_iter().find(|&window| self.is_active(window)).unwrap_or(far)
    }

    fn is_active(&self, window: u64) -> bool {
        let row = (window % NEAR) as usize * self.row;
        self.active[row..row + self.row].iter().any(|&bits| bits != 0)
    }

    /// Makes the windows up to the end of a coarse slot near ones.
    fn approach(&mut self, slot: u64) {
        self.near_end = (slot + 1) * SLOT;
        let mut held = self.far.take(slot);
        for far in held.drain(..) {
            let window = slot * SLOT + u64::from(far.place);
            if far.key == WAKE_UP {
                self.activate(window, far.node);
            } else {
                self.far_messages -= 1;
                // SAFETY: it is the key of a message that was filed.
                let key = unsafe { Packed::of_bits(&[far.key])[0] };
                self.file(window, far.node, key);
            }
        }
        self.far.reuse(held);
    }
}

#[cfg(test)]
mod tests {
    use super::super::packed::{MAX_WINDOW, Packed};
    use super::*;
    use farspan_units::{Purpose, Random};
    use std::collections::BTreeMap;

    const LENGTH: Duration = Duration::from_ps(1_000_003);
    const NODES: u64 = 70;

    fn calendar(length: Duration, nodes: usize) -> Calendar<u32> {
        Calendar::new(length, 1, vec![0; nodes])
    }

    fn pack(offset: u64, rank: u16, msg: u32) -> Packed<u32> {
        Packed::message(offset, rank | super::super::packed::IS_MESSAGE, msg)
    }

    /// Takes what a window holds: the keys of each node that has something to do, in order.
    fn take(calendar: &mut Calendar<u32>, window: u64) -> BTreeMap<u64, Vec<u64>> {
        let (mut held, mut room) = (BTreeMap::new(), Vec::new());
        for word in 0..calendar.row_len() {
            let bits = calendar.take_active(window, word);
            for node in (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| word as u64 * 64 + bit) {
                let due = calendar.gather(calendar.row(window) + node as usize, &mut room);
                let mut keys: Vec<_> = room[..due].iter().map(|key| key.bits()).collect();
                keys.sort_unstable();
                held.insert(node, keys);
            }
        }
        held
    }

    #[test]
    fn everything_comes_back_in_its_window_however_much_and_however_far_ahead_it_was() {
        let mut random = Random::new(1, Purpose::Test, 0);
        let mut calendar = self::calendar(LENGTH, NODES as usize);
        let mut model = BTreeMap::<u64, BTreeMap<u64, Vec<u64>>>::new();
        let (mut now, mut number) = (0, 0);
        for round in 0..if cfg!(miri) { 20 } else { 3000 } {
            for _ in 0..random.below(40) {
                let ahead = [2, 2, 2, SLOT, NEAR, 1000, 100_000][random.below(7) as usize];
                // A few nodes get most, so that some of them fill several chunks.
                let (window, node) = (now + 1 + random.below(ahead), random.below(NODES) * random.below(2));
                let held = model.entry(window).or_default().entry(node).or_default();
                if random.below(10) == 0 {
                    calendar.activate(window, node as u32);
                } else {
                    number += 1;
                    let key = pack(random.below(LENGTH.as_ps()), (number % 100) as u16, number);
                    calendar.file(window, node as u32, key);
                    held.push(key.bits());
                }
            }
            let Some((window, mut expected)) = model.pop_first() else { continue };
            assert_eq!(calendar.earliest(now), window.min(calendar.earliest(now)), "nothing is missed");
            assert_eq!(calendar.next_active(now, window), None, "a limit is exclusive");
            assert_eq!(calendar.next_active(now, u64::MAX), Some(window), "round {round}");
            expected.values_mut().for_each(|keys| keys.sort_unstable());
            assert_eq!(take(&mut calendar, window), expected);
            let is_empty = model.values().all(|nodes| nodes.values().all(Vec::is_empty));
            assert_eq!(calendar.is_empty(), is_empty);
            now = window;
        }
    }

    #[test]
    fn chunks_that_are_taken_are_used_again() {
        let mut calendar = self::calendar(LENGTH, 1);
        for window in 0..if cfg!(miri) { 20 } else { 1000 } {
            (0..100).for_each(|number| calendar.file(window, 0, pack(0, 0, number)));
            assert_eq!(calendar.next_active(window, u64::MAX), Some(window));
            assert_eq!(take(&mut calendar, window)[&0].len(), 100);
        }
        let chunks = 100_usize.div_ceil(CHUNK as usize - 1);
        assert_eq!(calendar.keys.len(), chunks * CHUNK as usize);
    }

    #[test]
    fn each_node_has_a_window_for_every_time_and_a_message_is_filed_there_from_whichever() {
        let mut random = Random::new(1, Purpose::Test, 0);
        for groups in [1, 2] {
            let calendar = Calendar::<u32>::new(LENGTH, groups, vec![0, groups - 1]);
            for _ in 0..if cfg!(miri) { 100 } else { 10_000 } {
                let (node, bits) = (random.below(2) as u32, random.below(50));
                let at = Time::from_ps(random.below(1 << bits));
                let window = calendar.window_of(node, at);
                let into = |window| at.as_ps().wrapping_sub(calendar.start(window).as_ps());
                assert!(into(window) < calendar.length, "{at} lies in window {window}");
                assert_eq!(
                    window % u64::from(groups),
                    u64::from(node) % u64::from(groups),
                    "whose turn it is"
                );
                assert!(
                    calendar.window(at) <= window
                        && window < calendar.windows_before(at + Duration::from_ps(1))
                );
                assert!(calendar.begins(window) <= at);
                let earlier = random.below(window + 1);
                assert_eq!(calendar.place_of(node, earlier, into(earlier)), (window, into(window)));
            }
        }
    }

    #[test]
    fn the_window_before_may_be_run_on_after_the_next_one() {
        for last in (1..4 * SLOT).step_by(if cfg!(miri) { 9 } else { 1 }) {
            let mut calendar = Calendar::new(LENGTH, 2, vec![0, 1]);
            for window in [last, last - 1] {
                let node = (window % 2) as u32;
                calendar.file(window, node, pack(0, 0, 7));
                assert_eq!(calendar.next_active(last - 1, u64::MAX), Some(window));
                assert_eq!(take(&mut calendar, window)[&u64::from(node)].len(), 1);
            }
        }
    }

    #[test]
    fn a_stretch_is_split_as_by_division() {
        let mut random = Random::new(1, Purpose::Test, 0);
        for length in [2, 3, 999_983, 1 << 20, MAX_WINDOW.as_ps()] {
            let calendar = self::calendar(Duration::from_ps(length), 1);
            for bits in 0..64 {
                let ps = random.below(1 << bits);
                for ps in [ps, ps / length * length, (ps / length * length).saturating_sub(1)] {
                    assert_eq!(calendar.split(ps), (ps / length, ps % length), "{ps} by {length}");
                }
            }
        }
    }
}
