//! The fast engine: windows of time, one node at a time, no global event queue.
//!
//! Nothing that happens in a window reaches another node before the window ends, as long as the window is no longer than
//! the lookahead. So each node that has something to do runs once a window: its messages are gathered and sorted as plain
//! integers, merged with the node's own events, and handled as a batch while the node's state is in cache.
//!
//! Messages within the next [`SLOT`] windows wait in chunks by (window, node); later ones in a coarse calendar, whose slots are
//! filed into the near windows when their time comes. Empty stretches are skipped.

use super::{EventClass, Key, Node, Outbox, Pause};
use farspan_units::{Duration, Time};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Windows in a coarse slot of the calendar.
const SLOT: u64 = 64;
/// Windows that are filed one by one: those of the current slot and of the next; a power of two.
const NEAR: u64 = 2 * SLOT;

/// Bits of a message in a packed key.
const MSG_BITS: u32 = 32;
/// Bits of the channel's rank among those that end at a node.
const RANK_BITS: u32 = 11;
/// Links that can end at one node.
pub(crate) const MAX_LINKS: usize = 1 << RANK_BITS;
/// The longest window: its picoseconds take the remaining 21 bits.
pub(crate) const MAX_WINDOW: Duration = Duration::from_ps((1 << (64 - MSG_BITS - RANK_BITS)) - 1);

/// No chunk.
const NONE: u32 = u32::MAX;
/// Keys in a chunk: with its link, two cache lines.
const CHUNK: usize = 15;

/// Some messages of one (window, node).
#[derive(Clone, Copy)]
struct Chunk {
    keys: [u64; CHUNK],
    len: u32,
    next: u32,
}

/// The end of a channel.
#[derive(Clone, Copy)]
struct End {
    node: u32,
    /// Place among the channels that end at the node, in order of their ids.
    rank: u32,
}

/// Something for a window beyond the near ones; a wake-up has no key, since the node's own heap holds it.
struct Far {
    window: u64,
    node: u32,
    key: Option<u64>,
}

/// Messages and wake-ups under way.
struct Calendar {
    /// Length of a window, ps.
    length: u64,
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
    /// Messages under way.
    messages: usize,
}

impl Calendar {
    fn new(length: Duration, nodes: usize) -> Self {
        let row = nodes.div_ceil(64);
        Self {
            length: length.as_ps(),
            nodes,
            heads: vec![NONE; NEAR as usize * nodes],
            active: vec![0; NEAR as usize * row],
            row,
            chunks: Vec::new(),
            free: NONE,
            far: BTreeMap::new(),
            near_end: NEAR,
            messages: 0,
        }
    }

    const fn window(&self, at: Time) -> u64 {
        at.as_ps() / self.length
    }

    fn activate(&mut self, window: u64, node: u32) {
        if window >= self.near_end {
            self.far.entry(window / SLOT).or_default().push(Far { window, node, key: None });
            return;
        }
        let row = (window % NEAR) as usize * self.row;
        self.active[row + (node / 64) as usize] |= 1 << (node % 64);
    }

    #[inline]
    fn file(&mut self, window: u64, node: u32, key: u64) {
        if window < self.near_end {
            let head = self.heads[(window % NEAR) as usize * self.nodes + node as usize];
            if let Some(chunk) = self.chunks.get_mut(head as usize)
                && let Some(place) = chunk.keys.get_mut(chunk.len as usize)
            {
                *place = key;
                chunk.len += 1;
                return;
            }
        }
        self.file_slowly(window, node, key);
    }

    /// Files a message that needs a fresh chunk or lies far ahead.
    #[cold]
    fn file_slowly(&mut self, window: u64, node: u32, key: u64) {
        if window >= self.near_end {
            self.far.entry(window / SLOT).or_default().push(Far { window, node, key: Some(key) });
            return;
        }
        let near = (window % NEAR) as usize;
        self.active[near * self.row + (node / 64) as usize] |= 1 << (node % 64);
        let head = &mut self.heads[near * self.nodes + node as usize];
        let mut fresh = Chunk { keys: [0; CHUNK], len: 1, next: *head };
        fresh.keys[0] = key;
        if self.free == NONE {
            *head = self.chunks.len() as u32;
            self.chunks.push(fresh);
        } else {
            *head = self.free;
            let place = &mut self.chunks[self.free as usize];
            self.free = place.next;
            *place = fresh;
        }
    }

    /// Takes the messages of (window, node), unsorted.
    fn gather(&mut self, window: u64, node: u32, into: &mut Vec<u64>) {
        let head = &mut self.heads[(window % NEAR) as usize * self.nodes + node as usize];
        let mut at = std::mem::replace(head, NONE);
        while at != NONE {
            let chunk = &mut self.chunks[at as usize];
            into.extend_from_slice(&chunk.keys[..chunk.len as usize]);
            let next = std::mem::replace(&mut chunk.next, self.free);
            self.free = at;
            at = next;
        }
    }

    /// The first window from `from` on in which a node has something to do; files coarse slots as they come near.
    fn next_active(&mut self, from: u64) -> Option<u64> {
        // Windows before the near ones are over.
        let mut window = from.max(self.near_end.saturating_sub(NEAR));
        loop {
            while window < self.near_end {
                if window.is_multiple_of(SLOT) && self.near_end - window < NEAR {
                    self.approach(window / SLOT + 1);
                }
                let row = (window % NEAR) as usize * self.row;
                if self.active[row..row + self.row].iter().any(|&bits| bits != 0) {
                    return Some(window);
                }
                window += 1;
            }
            let (&slot, _) = self.far.first_key_value()?;
            window = slot * SLOT;
            self.approach(slot);
        }
    }

    /// Makes the windows up to the end of a coarse slot near ones.
    fn approach(&mut self, slot: u64) {
        self.near_end = (slot + 1) * SLOT;
        for far in self.far.remove(&slot).unwrap_or_default() {
            match far.key {
                Some(key) => self.file(far.window, far.node, key),
                None => self.activate(far.window, far.node),
            }
        }
    }
}

/// What a node sees of a window: its events in order, and a way to speak.
pub(crate) struct Window<'a, M> {
    /// The window's number.
    index: u64,
    /// The window's start: packed keys count from here.
    start: Time,
    /// The window's end; events at or after it wait.
    end: Time,
    node: u32,
    /// The messages before the end, in order.
    keys: &'a [u64],
    taken: usize,
    channels: &'a [u32],
    wakes: &'a mut BinaryHeap<Reverse<Key>>,
    /// Wake-ups under way that are not probes, over all nodes.
    pending: &'a mut usize,
    ends: &'a [End],
    calendar: &'a mut Calendar,
    messages: std::marker::PhantomData<M>,
}

impl<M: Copy + From<u32> + Into<u32>> Window<'_, M> {
    /// Where the window ends.
    pub(crate) const fn end(&self) -> Time {
        self.end
    }

    /// Whether the node has events of its own in this window.
    pub(crate) fn has_wakes(&self) -> bool {
        self.wakes.peek().is_some_and(|Reverse(key)| key.at() < self.end)
    }

    const fn at(&self, packed: u64) -> Time {
        Time::from_ps(self.start.as_ps() + (packed >> (MSG_BITS + RANK_BITS)))
    }

    /// The next message; for nodes without [events of their own](Self::has_wakes).
    #[inline]
    pub(crate) fn next_message(&mut self) -> Option<(Time, M)> {
        let &packed = self.keys.get(self.taken)?;
        self.taken += 1;
        Some((self.at(packed), M::from(packed as u32)))
    }

    /// The next event before the window's end, in the total order.
    pub(crate) fn next(&mut self) -> Option<(Key, Option<M>)> {
        let message = self.keys.get(self.taken).map(|&packed| {
            let rank = (packed >> MSG_BITS) & ((1 << RANK_BITS) - 1);
            Key::new(self.at(packed), EventClass::Arrival, self.channels[rank as usize], 0)
        });
        if let Some(&Reverse(key)) = self.wakes.peek()
            && key.at() < self.end
            && message.is_none_or(|first| key < first)
        {
            self.wakes.pop();
            *self.pending -= usize::from(key.class() != EventClass::Probe);
            return Some((key, None));
        }
        let key = message?;
        let msg = M::from(self.keys[self.taken] as u32);
        self.taken += 1;
        Some((key, Some(msg)))
    }

    /// Asks to be run in the window that holds `at`, without an event.
    pub(crate) fn run_again(&mut self, at: Time) {
        let (window, _) = self.place(at);
        self.calendar.activate(window, self.node);
    }

    /// The window that holds `at`, and how far into it that is. Nearly always it is one of the next two.
    #[inline]
    fn place(&self, at: Time) -> (u64, u64) {
        debug_assert!(at >= self.start, "nothing can be asked for in the past");
        let length = self.calendar.length;
        let ahead = at.as_ps() - self.start.as_ps();
        match ahead {
            _ if ahead < length => (self.index, ahead),
            _ if ahead < 2 * length => (self.index + 1, ahead - length),
            _ => (self.index + ahead / length, ahead % length),
        }
    }
}

impl<M: Copy + From<u32> + Into<u32>> Outbox<M> for Window<'_, M> {
    #[inline]
    fn send(&mut self, channel: u32, at: Time, msg: M) {
        let End { node, rank } = self.ends[channel as usize];
        let (window, offset) = self.place(at);
        let key = offset << (MSG_BITS + RANK_BITS) | u64::from(rank) << MSG_BITS | u64::from(msg.into());
        self.calendar.messages += 1;
        self.calendar.file(window, node, key);
    }

    fn wake(&mut self, key: Key) {
        *self.pending += usize::from(key.class() != EventClass::Probe);
        self.wakes.push(Reverse(key));
        if key.at() >= self.end {
            let (window, _) = self.place(key.at());
            self.calendar.activate(window, self.node);
        }
    }
}

/// An engine that runs one node at a time over windows.
pub(crate) struct Windowed {
    calendar: Calendar,
    ends: Vec<End>,
    /// The channels that end at each node, by rank.
    channels: Vec<Vec<u32>>,
    wakes: Vec<BinaryHeap<Reverse<Key>>>,
    pending: usize,
    /// Nodes with something of their own under way, such as a transmission.
    busy: Vec<bool>,
    busy_count: usize,
    /// Everything before has been handled.
    now: Time,
    keys: Vec<u64>,
}

impl Windowed {
    /// An engine for nodes that are joined by channels; `ends[c]` is the node at the end of channel `c`. `window` must not
    /// exceed the lookahead nor [`MAX_WINDOW`].
    pub(crate) fn new(nodes: usize, ends: &[u32], window: Duration) -> Self {
        assert!(!window.is_zero() && window <= MAX_WINDOW, "a window has a length, and at most {MAX_WINDOW}");
        let mut channels: Vec<Vec<u32>> = vec![Vec::new(); nodes];
        let end = |(channel, &node): (u32, &u32)| {
            let list = &mut channels[node as usize];
            list.push(channel);
            End { node, rank: list.len() as u32 - 1 }
        };
        let ends: Vec<End> = (0..).zip(ends).map(end).collect();
        assert!(
            channels.iter().all(|list| list.len() <= MAX_LINKS),
            "at most {MAX_LINKS} links end at a node"
        );
        Self {
            calendar: Calendar::new(window, nodes),
            ends,
            channels,
            wakes: (0..nodes).map(|_| BinaryHeap::new()).collect(),
            pending: 0,
            busy: vec![false; nodes],
            busy_count: 0,
            now: Time::ZERO,
            keys: Vec::new(),
        }
    }

    /// Everything before has been handled.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Hands `node` an event of its own.
    pub(crate) fn wake(&mut self, node: u32, key: Key) {
        self.pending += usize::from(key.class() != EventClass::Probe);
        self.wakes[node as usize].push(Reverse(key));
        let window = self.calendar.window(key.at());
        self.calendar.activate(window, node);
    }

    /// Handles events before `until`, pausing after about `budget` of them.
    pub(crate) fn run<N>(
        &mut self,
        nodes: &mut [N],
        shared: &mut N::Shared,
        until: Time,
        budget: u64,
    ) -> Pause
    where
        N: Node,
        N::Msg: From<u32> + Into<u32>,
    {
        let mut left = budget;
        loop {
            if self.pending + self.calendar.messages + self.busy_count == 0 {
                return Pause::Idle;
            }
            let Some(window) = self.calendar.next_active(self.calendar.window(self.now)) else {
                return Pause::Idle;
            };
            let start = Time::from_ps(window * self.calendar.length);
            if start >= until {
                return Pause::Reached;
            }
            let end = (start + Duration::from_ps(self.calendar.length)).min(until);
            left = left.saturating_sub(self.run_window(nodes, shared, window, end));
            self.now = end;
            if left == 0 {
                return Pause::Budget;
            }
        }
    }

    /// Runs every active node over a window, or over its part before `end`; gives the number of messages handled.
    fn run_window<N>(&mut self, nodes: &mut [N], shared: &mut N::Shared, window: u64, end: Time) -> u64
    where
        N: Node,
        N::Msg: From<u32> + Into<u32>,
    {
        let start = Time::from_ps(window * self.calendar.length);
        let whole = end == start + Duration::from_ps(self.calendar.length);
        let (row, mut handled) = ((window % NEAR) as usize * self.calendar.row, 0);
        for word in 0..self.calendar.row {
            let mut bits = std::mem::take(&mut self.calendar.active[row + word]);
            while bits != 0 {
                let node = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                self.keys.clear();
                self.calendar.gather(window, node, &mut self.keys);
                self.keys.sort_unstable();
                let due = if whole {
                    self.keys.len()
                } else {
                    let limit = end.since(start).as_ps() << (MSG_BITS + RANK_BITS);
                    self.keys.partition_point(|&key| key < limit)
                };
                let mut view = Window {
                    index: window,
                    start,
                    end,
                    node,
                    keys: &self.keys[..due],
                    taken: 0,
                    channels: &self.channels[node as usize],
                    wakes: &mut self.wakes[node as usize],
                    pending: &mut self.pending,
                    ends: &self.ends,
                    calendar: &mut self.calendar,
                    messages: std::marker::PhantomData,
                };
                let busy = nodes[node as usize].run(shared, &mut view);
                let taken = view.taken;
                let was_busy = std::mem::replace(&mut self.busy[node as usize], busy);
                self.busy_count = self.busy_count + usize::from(busy) - usize::from(was_busy);
                self.calendar.messages -= taken;
                handled += taken as u64 + 1;
                if !whole {
                    self.put_back(window, node, taken);
                }
            }
        }
        handled
    }

    /// What a shortened window left over stays in it.
    fn put_back(&mut self, window: u64, node: u32, taken: usize) {
        let keys = std::mem::take(&mut self.keys);
        for &key in &keys[taken..] {
            self.calendar.file(window, node, key);
        }
        self.keys = keys;
        if let Some(&Reverse(key)) = self.wakes[node as usize].peek()
            && self.calendar.window(key.at()) == window
        {
            self.calendar.activate(window, node);
        }
    }
}
