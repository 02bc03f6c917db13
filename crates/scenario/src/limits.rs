//! Ranges outside which sums of times overflow, packet records are too narrow, or memory runs out.

use crate::error::{Problem, ValueError};
use farspan_units::{Bytes, Duration, Rate};
use std::fmt::Display;

/// The longest delay: nothing on earth takes longer.
pub const LONGEST_DELAY: Duration = Duration::from_ms(10_000);
/// The longest run. Send times travel in packets as 48 bits of picoseconds: 281 s.
pub const LONGEST_RUN: Duration = Duration::from_ms(281_000);
/// The slowest rate of a link.
pub const SLOWEST: Rate = Rate::from_bps(1_000_000);
/// The fastest rate of a link.
pub const FASTEST: Rate = Rate::from_gbps(100_000);
/// The largest buffer of a port.
pub const LARGEST_BUFFER: Bytes = Bytes::new(64 << 30);
/// The largest packet, headers included: packets carry their size in 16 bits.
pub const LARGEST_PACKET: Bytes = Bytes::new(u16::MAX as u64);
/// The most switches of a tier: the leaves and spines of a site, the routers of a backbone.
pub(crate) const MOST_SWITCHES: u32 = 4096;

/// Checks a value against its range, both ends included.
pub(crate) fn within<T: Copy + PartialOrd + Display>(
    path: &str,
    value: T,
    least: T,
    most: T,
) -> Result<(), ValueError> {
    if value >= least && value <= most {
        return Ok(());
    }
    let [value, least, most] = [value, least, most].map(|value| value.to_string());
    Err(ValueError::new(path, Problem::OutOfRange { value, least, most }))
}

/// Checks each value that is there, of perhaps none, against the range of all.
pub(crate) fn each_within<T: Copy + PartialOrd + Display>(
    path: &str,
    values: impl IntoIterator<Item = T>,
    least: T,
    most: T,
) -> Result<(), ValueError> {
    values.into_iter().try_for_each(|value| within(path, value, least, most))
}
