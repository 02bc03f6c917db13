//! Losses by gaps in numbers that count the packets of each path.
//!
//! Packets of one path stay in order: each of its queues is first in, first out. So the first number that is skipped is a
//! loss, and it is found at the very next packet of its path. Numbers have 16 bits and wrap; they compare as serial
//! numbers (RFC 1982), and at most 2^15 packets in a row can be missing.

use crate::registry::ConfigError;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use farspan_units::Bytes;

/// So many packets in a row can be missing, that is half of the numbers.
const LONGEST_GAP: u16 = 1 << 15;

/// The numbers that a path's ring has room for at first.
const SMALLEST_RING: usize = 16;

/// Parameters of the numbering per path, known to the sender and the proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PerPathConfig {
    /// How many paths a flow takes, 1 to 64; 8.
    pub paths: u8,
    /// How many packets of each path the sender can name at most, a power of two from 16 to 32768; 4096.
    pub ring: u32,
}

impl Default for PerPathConfig {
    fn default() -> Self {
        Self { paths: 8, ring: 4096 }
    }
}

impl PerPathConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// The first parameter out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=64.0, "gap-path", "paths", f64::from(self.paths))?;
        ConfigError::unless_in(16.0..=32768.0, "gap-path", "ring", f64::from(self.ring))?;
        let (valid, effect) = (self.ring.is_power_of_two(), "is no power of two");
        ConfigError::unless_meaningful(valid, "gap-path", "ring", &self.ring, effect, "1024 or 4096")
    }
}

/// Packets in a row that are missing on one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostNumbers {
    /// The path.
    pub path: u8,
    /// The number of the first of them on this path.
    pub first: u16,
    /// How many there are, at most 2^15; 0: none.
    pub count: u16,
}

impl LostNumbers {
    /// Whether nothing is missing.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The numbers, in the order in which they were sent.
    pub fn numbers(&self) -> impl Iterator<Item = u16> + use<> {
        let first = self.first;
        (0..self.count).map(move |i| first.wrapping_add(i))
    }
}

/// The proxy's state for one flow: the number that is next on each path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PerPath {
    next: Box<[u16]>,
}

impl PerPath {
    /// The detector of a flow that has sent nothing; numbers begin at 0.
    #[must_use]
    pub fn new(config: &PerPathConfig) -> Self {
        Self { next: vec![0; usize::from(config.paths)].into() }
    }

    /// A packet has come: returns what is missing before it on its path.
    ///
    /// One at or behind the last number shows nothing, nor does one of a path that the flow does not have.
    #[inline]
    pub fn on_packet(&mut self, path: u8, number: u16) -> LostNumbers {
        self.advance(path, number, 1)
    }

    /// The sender has paused, and the next packet of this path will have this number: returns what is missing before it.
    pub fn on_end(&mut self, path: u8, next_number: u16) -> LostNumbers {
        self.advance(path, next_number, 0)
    }

    /// Everything before `number` was sent, and `arrived` packets from it on have come.
    #[inline]
    fn advance(&mut self, path: u8, number: u16, arrived: u16) -> LostNumbers {
        let nothing = LostNumbers { path, first: number, count: 0 };
        let Some(next) = self.next.get_mut(usize::from(path)) else { return nothing };
        let (first, count) = (*next, number.wrapping_sub(*next));
        if count > LONGEST_GAP {
            return nothing;
        }
        *next = number.wrapping_add(arrived);
        LostNumbers { path, first, count }
    }

    /// Memory that the state takes.
    #[must_use]
    pub const fn state_bytes(&self) -> Bytes {
        Bytes::new((size_of::<Self>() + size_of::<u16>() * self.next.len()) as u64)
    }
}

/// The packets of one path that its sender can name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct PathRing {
    /// The number of the next packet.
    next: u16,
    /// How many of the last packets are in the ring.
    held: usize,
    /// Packet `n` of the path at `n % len`; the length is a power of two, or 0.
    seqs: Vec<u32>,
}

impl PathRing {
    const fn index(&self, number: u16) -> usize {
        number as usize & (self.seqs.len() - 1)
    }

    /// The packet with this number, if it is still known.
    fn get(&self, number: u16) -> Option<u32> {
        let age = usize::from(self.next.wrapping_sub(number));
        (1..=self.held).contains(&age).then(|| self.seqs[self.index(number)])
    }

    /// Notes a packet; a full ring drops its oldest one if that is acknowledged, or if the ring has its full length.
    fn push(&mut self, seq: u32, acknowledged: u32, longest: usize) -> u16 {
        let number = self.next;
        if self.held == self.seqs.len() && !self.can_drop(acknowledged, longest) {
            self.grow();
        }
        self.held = (self.held + 1).min(self.seqs.len());
        let index = self.index(number);
        self.seqs[index] = seq;
        self.next = number.wrapping_add(1);
        number
    }

    fn can_drop(&self, acknowledged: u32, longest: usize) -> bool {
        let is_full = self.seqs.len() == longest;
        is_full || (!self.seqs.is_empty() && self.seqs[self.index(self.next)] < acknowledged)
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.seqs.len() * 2).max(SMALLEST_RING);
        let mut seqs = vec![0; len];
        for age in 1..=self.held {
            let number = self.next.wrapping_sub(age as u16);
            seqs[usize::from(number) & (len - 1)] = self.seqs[self.index(number)];
        }
        self.seqs = seqs;
    }
}

/// The sender's state for one flow: which packet had which number on which path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathNumbers {
    paths: Box<[PathRing]>,
    /// The longest ring of a path.
    longest: usize,
}

impl PathNumbers {
    /// The numbers of a flow that has sent nothing.
    #[must_use]
    pub fn new(config: &PerPathConfig) -> Self {
        let paths = vec![PathRing::default(); usize::from(config.paths)].into();
        Self { paths, longest: config.ring as usize }
    }

    /// The packet `seq` leaves on this path: returns its number there. Every packet below `acknowledged` has been
    /// acknowledged; those are forgotten where a ring would have to grow, so that rings are as long as the window needs.
    ///
    /// # Panics
    /// If the flow has no such path.
    pub fn next(&mut self, path: u8, seq: u32, acknowledged: u32) -> u16 {
        self.paths[usize::from(path)].push(seq, acknowledged, self.longest)
    }

    /// The number of the next packet on this path, for the mark at the end of a burst.
    ///
    /// # Panics
    /// If the flow has no such path.
    #[must_use]
    pub fn next_number(&self, path: u8) -> u16 {
        self.paths[usize::from(path)].next
    }

    /// The packets that were sent with these numbers on this path; those that are forgotten are left out.
    pub fn resolve(&self, path: u8, first: u16, count: u16) -> impl Iterator<Item = u32> + '_ {
        let numbered = self.paths.get(usize::from(path));
        (0..count).filter_map(move |i| numbered?.get(first.wrapping_add(i)))
    }

    /// Memory that the state takes.
    #[must_use]
    pub fn state_bytes(&self) -> Bytes {
        let rings: usize = self.paths.iter().map(|path| path.seqs.capacity()).sum();
        let paths = size_of::<PathRing>() * self.paths.len();
        Bytes::new((size_of::<Self>() + paths + size_of::<u32>() * rings) as u64)
    }
}
