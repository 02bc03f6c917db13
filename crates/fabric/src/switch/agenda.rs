//! Which port of a switch has something due first: ports by time, in two short sorted rings.
//!
//! Services of packets of one size end in the order in which they begin. So an added entry is mostly the last of one of
//! the rings: data in one, and control packets, which overtake it, in the other.

use alloc::vec::Vec;
use farspan_units::Time;

/// Something is due at a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    at: Time,
    port: u32,
}

/// After every entry.
const NONE: Entry = Entry { at: Time::MAX, port: u32::MAX };

impl Entry {
    /// Times are hardly ever equal.
    #[inline(always)]
    fn is_before(self, other: Self) -> bool {
        self.at < other.at || self.at == other.at && self.port < other.port
    }
}

/// Entries in order.
#[derive(Clone, Debug)]
struct Ring {
    /// The room is a power of two, enough for all ports and one free place, which holds [`NONE`].
    entries: Vec<Entry>,
    /// The positions of the first entry and of the last: both count on, and wrap with the ring.
    first: u32,
    last: u32,
}

impl Ring {
    fn new(ports: usize) -> Self {
        Self { entries: alloc::vec![NONE; (ports + 1).next_power_of_two()], first: 1, last: 0 }
    }

    #[inline(always)]
    fn at(&mut self, position: u32) -> &mut Entry {
        let index = position as usize & (self.entries.len() - 1);
        &mut self.entries[index]
    }

    /// Drops the first entry, and gives the next one.
    #[inline(always)]
    fn drop_first(&mut self) -> Entry {
        *self.at(self.first) = NONE;
        self.first = self.first.wrapping_add(1);
        *self.at(self.first)
    }

    /// Adds an entry if it comes after all others. `first` is the first of these, and stays it.
    #[inline(always)]
    fn append(&mut self, first: &mut Entry, entry: Entry) -> bool {
        let is_first = first.at == Time::MAX;
        let is_last = is_first || self.at(self.last).is_before(entry);
        if is_last {
            self.last = self.last.wrapping_add(1);
            *self.at(self.last) = entry;
            if is_first {
                *first = entry;
            }
        }
        is_last
    }

    /// Adds an entry; gives the first one.
    #[cold]
    #[inline(never)]
    fn insert(&mut self, entry: Entry) -> Entry {
        let mut position = self.last.wrapping_add(1);
        self.last = position;
        while position != self.first {
            let before = *self.at(position.wrapping_sub(1));
            if before.is_before(entry) {
                break;
            }
            *self.at(position) = before;
            position = position.wrapping_sub(1);
        }
        *self.at(position) = entry;
        *self.at(self.first)
    }

    fn remove(&mut self, port: u32) {
        let (mut position, mut kept, end) = (self.first, self.first, self.last.wrapping_add(1));
        while position != end {
            let entry = core::mem::replace(self.at(position), NONE);
            if entry.port != port {
                *self.at(kept) = entry;
                kept = kept.wrapping_add(1);
            }
            position = position.wrapping_add(1);
        }
        self.last = kept.wrapping_sub(1);
    }
}

/// The ports at which something is due, each once, by (time, port).
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// The first entries of the rings.
    first: [Entry; 2],
    rings: [Ring; 2],
}

impl Agenda {
    /// Nothing is due at `ports` ports.
    pub(super) fn new(ports: usize) -> Self {
        Self { first: [NONE; 2], rings: [Ring::new(ports), Ring::new(ports)] }
    }

    /// When something is due next; [`Time::MAX`]: nothing is.
    #[inline(always)]
    pub(super) fn next_at(&self) -> Time {
        self.first[0].at.min(self.first[1].at)
    }

    /// Takes out the first port, by (time, port), at which something is due up to `until`.
    #[inline(always)]
    pub(super) fn pop(&mut self, until: Time) -> Option<usize> {
        let ring = usize::from(self.first[1].is_before(self.first[0]));
        let Entry { at, port } = self.first[ring];
        if at > until || at == Time::MAX {
            return None;
        }
        self.first[ring] = self.rings[ring].drop_first();
        Some(port as usize)
    }

    /// Something is due at `port`, where nothing was, at `at`.
    #[inline(always)]
    pub(super) fn push(&mut self, port: usize, at: Time) {
        debug_assert!(at != Time::MAX, "something is due");
        let entry = Entry { at, port: port as u32 };
        let ([a, b], [first_of_a, first_of_b]) = (&mut self.rings, &mut self.first);
        if !a.append(first_of_a, entry) && !b.append(first_of_b, entry) {
            *first_of_b = b.insert(entry);
        }
    }

    /// Nothing is due at `port` any more.
    pub(super) fn remove(&mut self, port: usize) {
        for (first, ring) in self.first.iter_mut().zip(&mut self.rings) {
            ring.remove(port as u32);
            *first = *ring.at(ring.first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Purpose, Random};

    #[test]
    fn ports_come_by_time_then_number() {
        let mut random = Random::new(1, Purpose::Test, 0);
        for ports in [1, 2, 3, 8, 37] {
            let (mut agenda, mut model) = (Agenda::new(ports), alloc::vec![Time::MAX; ports]);
            for _ in 0..2000 {
                let port = random.below(ports as u64) as usize;
                if model[port] != Time::MAX {
                    agenda.remove(port);
                    model[port] = Time::MAX;
                } else {
                    model[port] = Time::from_ps(random.below(20));
                    agenda.push(port, model[port]);
                }
                let first = (0..ports).min_by_key(|&port| (model[port], port)).expect("a port");
                assert_eq!(agenda.next_at(), model[first]);
                if random.below(3) == 0 {
                    let due = Some(first).filter(|_| model[first] <= Time::from_ps(10));
                    assert_eq!(agenda.pop(Time::from_ps(10)), due);
                    due.into_iter().for_each(|port| model[port] = Time::MAX);
                }
            }
        }
    }
}
