//! Which port of a switch has something due first: ports by time, in a short sorted ring.
//!
//! An added entry is mostly the last to be due, since services take about equally long, so insertion takes
//! few steps.

use alloc::vec::Vec;
use farspan_units::Time;

/// The ports at which something is due, each once, by (time, port).
#[derive(Clone, Debug)]
pub(super) struct Agenda {
    /// Times and ports, see [`key`], in a ring; its size is a power of two and has room for all ports.
    ring: Vec<u128>,
    /// The position of the first entry, and one past the last: both count on, and wrap with the ring.
    first: u32,
    end: u32,
}

/// time : 64 | port : 32.
#[inline(always)]
const fn key(at: Time, port: usize) -> u128 {
    (at.as_ps() as u128) << 32 | port as u128
}

#[inline(always)]
const fn at(key: u128) -> Time {
    Time::from_ps((key >> 32) as u64)
}

impl Agenda {
    /// Nothing is due at `ports` ports.
    pub(super) fn new(ports: usize) -> Self {
        let ring = alloc::vec![0; ports.next_power_of_two()];
        Self { ring, first: 0, end: 0 }
    }

    #[inline(always)]
    fn place(&self, place: u32) -> usize {
        place as usize & (self.ring.len() - 1)
    }

    /// When something is due next; [`Time::MAX`]: nothing is.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        if self.first == self.end { Time::MAX } else { at(self.ring[self.place(self.first)]) }
    }

    /// Takes out the first port, by (time, port), at which something is due up to `until`.
    #[inline]
    pub(super) fn pop(&mut self, until: Time) -> Option<usize> {
        if self.first == self.end {
            return None;
        }
        let key = self.ring[self.place(self.first)];
        if at(key) > until {
            return None;
        }
        self.first = self.first.wrapping_add(1);
        Some(key as u32 as usize)
    }

    /// Something is due at `port`, where nothing was, at `at`.
    #[inline]
    pub(super) fn push(&mut self, port: usize, at: Time) {
        let entry = key(at, port);
        let mut place = self.end;
        self.end = place.wrapping_add(1);
        while place != self.first {
            let before = self.place(place.wrapping_sub(1));
            if self.ring[before] < entry {
                break;
            }
            let here = self.place(place);
            self.ring[here] = self.ring[before];
            place = place.wrapping_sub(1);
        }
        let here = self.place(place);
        self.ring[here] = entry;
    }

    /// Nothing is due at `port` any more.
    pub(super) fn remove(&mut self, port: usize) {
        let (mut place, mut kept) = (self.first, self.first);
        while place != self.end {
            let entry = self.ring[self.place(place)];
            let here = self.place(kept);
            self.ring[here] = entry;
            kept = kept.wrapping_add(u32::from(entry as u32 as usize != port));
            place = place.wrapping_add(1);
        }
        self.end = kept;
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
