//! Losses by gaps in numbers that count the packets of each path.
//!
//! Packets of one path stay in order: each of its queues is first in, first out. So the first number that is skipped is a
//! loss, and it is found at the very next packet of its path. Numbers have 16 bits and wrap; they compare as serial
//! numbers (RFC 1982), and at most 2^15 packets in a row can be missing.
//!
//! Its page: `docs/src/schemes/loss-detector.md`.

use crate::registry::ConfigError;
use alloc::boxed::Box;
use alloc::vec;
use farspan_units::Bytes;

/// The most packets in a row that can be missing: half of the numbers.
const LONGEST_GAP: u16 = 1 << 15;

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
}

impl Default for PerPathConfig {
    fn default() -> Self {
        Self { paths: 8 }
    }
}

impl PerPathConfig {
    /// Checks the ranges.
    ///
    /// # Errors
    /// No path, or too many.
    pub fn check(&self) -> Result<(), ConfigError> {
        ConfigError::unless_in(1.0..=64.0, "gap-path", "paths", f64::from(self.paths))
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
    false_losses: u32,
}

impl PerPath {
    /// The detector of a flow that has sent nothing; numbers begin at 0.
    #[must_use]
    pub fn new(config: &PerPathConfig) -> Self {
        Self { next: vec![0; usize::from(config.paths)].into(), false_losses: 0 }
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
            self.false_losses = self.false_losses.saturating_add(arrived.into());
            return nothing;
        }
        *next = number.wrapping_add(arrived);
        LostNumbers { path, first, count }
    }

    /// How many packets were taken for lost and arrived after all; one that comes twice counts, too.
    #[must_use]
    pub const fn false_losses(&self) -> u32 {
        self.false_losses
    }

    /// Memory that the state takes.
    #[must_use]
    pub const fn state_bytes(&self) -> Bytes {
        Bytes::new((size_of::<Self>() + size_of::<u16>() * self.next.len()) as u64)
    }
}
