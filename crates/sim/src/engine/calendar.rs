//! What is under way: messages and wake-ups by window and node.
//!
//! Messages within the next [`SLOT`] windows wait in chunks by (window, node); later ones in coarse slots, which are filed
//! into the near windows when their time comes.

use farspan_units::{Duration, Time};
use std::collections::BTreeMap;

/// Windows in a coarse slot of the calendar.
const SLOT: u64 = 16;
/// Windows that are filed one by one: those of the current slot and of the next; a power of two. Few, so that the heads
/// of their chunks stay in cache.
const NEAR: u64 = 2 * SLOT;

/// Bits of a message in a packed key.
pub(super) const MSG_BITS: u32 = 32;
/// Bits of the channel's rank among those that end at a node.
const RANK_BITS: u32 = 11;
/// Bits below the time in a packed key.
pub(super) const TIME_SHIFT: u32 = MSG_BITS + RANK_BITS;
/// Links that can end at one node.
pub(crate) const MAX_LINKS: usize = 1 << RANK_BITS;
/// The longest window: its picoseconds take the remaining 21 bits.
pub(crate) const MAX_WINDOW: Duration = Duration::from_ps((1 << (64 - TIME_SHIFT)) - 1);

/// A message: picoseconds into its window, rank of its channel, number of the message; in this order, so that sorting
/// the integers puts a node's messages in the total order.
#[inline]
pub(super) const fn pack(offset: u64, rank: u16, msg: u32) -> u64 {
    offset << TIME_SHIFT | (rank as u64) << MSG_BITS | msg as u64
}

/// The channel's rank in a packed key.
#[inline]
pub(super) const fn rank(key: u64) -> usize {
    (key >> MSG_BITS) as usize & (MAX_LINKS - 1)
}

/// No chunk.
const NONE: u32 = u32::MAX;
/// Keys in a chunk: with its link, two cache lines.
const CHUNK: usize = 15;

/// Some messages of one (window, node).
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Chunk {
    len: u32,
    next: u32,
    keys: [u64; CHUNK],
}

/// Something for a window beyond the near ones.
struct Far {
    /// The message, or [`WAKE_UP`].
    key: u64,
    node: u32,
    /// The window's place in its slot.
    place: u32,
}

/// No message: the node knows what it waits for. No key has all bits set, since no packet has the number 2^32 - 1.
const WAKE_UP: u64 = u64::MAX;

/// Messages and wake-ups under way.
pub(super) struct Calendar {
    /// Length of a window, ps.
    pub(super) length: u64,
    /// 2^64 / length, rounded up: a multiplication by it divides by the length.
    reciprocal: u64,
    nodes: usize,
    /// First chunk by (window modulo [`NEAR`], node).
    heads: Vec<u32>,
    /// One bit a node that has something to do, by window modulo [`NEAR`].
    active: Vec<u64>,
    /// Words of a row of `active`.
    row: usize,
    chunks: Vec<Chunk>,
    free: u32,
    /// By coarse slot (window / [`SLOT`]).
    far: BTreeMap<u64, Vec<Far>>,
    /// The first window that is not a near one; a multiple of [`SLOT`].
    near_end: u64,
    /// Chunks that hold messages.
    chunks_in_use: usize,
    /// Messages beyond the near windows.
    far_messages: usize,
}

impl Calendar {
    /// A window is shorter than 2^21 ps.
    const LENGTH_BITS: u32 = 64 - TIME_SHIFT;

    pub(super) fn new(length: Duration, nodes: usize) -> Self {
        let row = nodes.div_ceil(64);
        Self {
            length: length.as_ps(),
            reciprocal: (1_u128 << 64).div_ceil(u128::from(length.as_ps())) as u64,
            nodes,
            heads: vec![NONE; NEAR as usize * nodes],
            active: vec![0; NEAR as usize * row],
            row,
            chunks: Vec::new(),
            free: NONE,
            far: BTreeMap::new(),
            near_end: NEAR,
            chunks_in_use: 0,
            far_messages: 0,
        }
    }

    /// The window that holds `at`.
    pub(super) const fn window(&self, at: Time) -> u64 {
        at.as_ps() / self.length
    }

    /// A stretch as a number of windows and the rest.
    #[inline(always)]
    pub(super) fn split(&self, ps: u64) -> (u64, u64) {
        // Exact as long as ps x length < 2^64, since the reciprocal is less than 2^-64 too large.
        if ps >> (64 - Self::LENGTH_BITS) != 0 {
            return (ps / self.length, ps % self.length);
        }
        let windows = ((u128::from(ps) * u128::from(self.reciprocal)) >> 64) as u64;
        (windows, ps - windows * self.length)
    }

    /// When a window begins.
    pub(super) const fn start(&self, window: u64) -> Time {
        Time::from_ps(window * self.length)
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

    /// Where the rows of a window and of the three after it begin among the heads; all of them are near.
    pub(super) fn rows(&self, window: u64) -> [u32; 4] {
        debug_assert!(window + 4 <= self.near_end, "the next windows are near");
        std::array::from_fn(|ahead| ((window + ahead as u64) % NEAR) as u32 * self.nodes as u32)
    }

    /// Files a message at a place among the heads, if there is a chunk with room.
    #[inline(always)]
    pub(super) fn file_quickly(&mut self, place: usize, key: u64) -> bool {
        if let Some(&head) = self.heads.get(place)
            && let Some(chunk) = self.chunks.get_mut(head as usize)
            && let Some(room) = chunk.keys.get_mut(chunk.len as usize)
        {
            *room = key;
            chunk.len += 1;
            return true;
        }
        false
    }

    /// Files a message for `node` in `window`.
    pub(super) fn file(&mut self, window: u64, node: u32, key: u64) {
        if window >= self.near_end {
            self.far_messages += 1;
            return self.file_far(window, node, key);
        }
        let place = (window % NEAR) as usize * self.nodes + node as usize;
        if !self.file_quickly(place, key) {
            self.file_afresh(place, window, node, key);
        }
    }

    /// Files a message in a fresh chunk.
    pub(super) fn file_afresh(&mut self, place: usize, window: u64, node: u32, key: u64) {
        self.chunks_in_use += 1;
        self.activate(window, node);
        let head = &mut self.heads[place];
        let next = *head;
        if self.free == NONE {
            *head = self.chunks.len() as u32;
            let mut keys = [0; CHUNK];
            keys[0] = key;
            self.chunks.push(Chunk { len: 1, next, keys });
        } else {
            *head = self.free;
            let chunk = &mut self.chunks[self.free as usize];
            self.free = chunk.next;
            (chunk.len, chunk.next, chunk.keys[0]) = (1, next, key);
        }
    }

    fn file_far(&mut self, window: u64, node: u32, key: u64) {
        let place = (window % SLOT) as u32;
        self.far.entry(window / SLOT).or_default().push(Far { key, node, place });
    }

    /// Takes the messages of (window, node), in any order; they no longer count as under way.
    #[inline]
    pub(super) fn gather(&mut self, window: u64, node: u32, into: &mut Vec<u64>) {
        into.clear();
        let head = &mut self.heads[(window % NEAR) as usize * self.nodes + node as usize];
        let last = std::mem::replace(head, NONE);
        if let Some(chunk) = self.chunks.get_mut(last as usize)
            && chunk.next == NONE
        {
            into.extend(chunk.keys[..chunk.len as usize].iter().copied());
            chunk.next = self.free;
            self.free = last;
            self.chunks_in_use -= 1;
            return;
        }
        self.gather_chain(last, into);
    }

    /// Takes the messages of several chunks, or of none.
    fn gather_chain(&mut self, last: u32, into: &mut Vec<u64>) {
        // The chunk filled first comes first: messages of one channel are then in order already.
        let (mut at, mut later) = (last, NONE);
        while at != NONE {
            let earlier = std::mem::replace(&mut self.chunks[at as usize].next, later);
            (at, later) = (earlier, at);
        }
        at = later;
        while at != NONE {
            let chunk = &self.chunks[at as usize];
            into.extend(&chunk.keys[..chunk.len as usize]);
            self.chunks_in_use -= 1;
            at = chunk.next;
        }
        if last != NONE {
            self.chunks[last as usize].next = self.free;
            self.free = later;
        }
    }

    /// The nodes that have something to do in a near window, 64 at a time: their number in the row, and one bit each,
    /// which are taken.
    #[inline]
    pub(super) fn take_active(&mut self, window: u64, word: usize) -> u64 {
        std::mem::take(&mut self.active[(window % NEAR) as usize * self.row + word])
    }

    /// How often to call [`Self::take_active`] for a window.
    pub(super) const fn words(&self) -> usize {
        self.row
    }

    /// The first window from `from` on and before `limit` in which a node has something to do; files coarse slots as they
    /// come near, and none that begins at `limit` or later: something may yet be filed before it.
    pub(super) fn next_active(&mut self, from: u64, limit: u64) -> Option<u64> {
        // Windows before the near ones are over.
        let mut from = from.max(self.near_end.saturating_sub(NEAR));
        loop {
            let near = from..self.near_end.min(limit);
            if let Some(window) = near.into_iter().find(|&window| self.is_active(window)) {
                let slot = window / SLOT + 1;
                if slot * SLOT == self.near_end {
                    self.approach(slot);
                }
                return Some(window);
            }
            let (&slot, _) = self.far.first_key_value()?;
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
        let far = self.far.first_key_value().map_or(u64::MAX, |(&slot, _)| slot * SLOT);
        near.into_iter().find(|&window| self.is_active(window)).unwrap_or(far)
    }

    fn is_active(&self, window: u64) -> bool {
        let row = (window % NEAR) as usize * self.row;
        self.active[row..row + self.row].iter().any(|&bits| bits != 0)
    }

    /// Makes the windows up to the end of a coarse slot near ones.
    fn approach(&mut self, slot: u64) {
        self.near_end = (slot + 1) * SLOT;
        for far in self.far.remove(&slot).unwrap_or_default() {
            let window = slot * SLOT + u64::from(far.place);
            if far.key == WAKE_UP {
                self.activate(window, far.node);
            } else {
                self.far_messages -= 1;
                self.file(window, far.node, far.key);
            }
        }
    }
}
