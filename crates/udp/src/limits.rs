//! Bounds on what peers can make a driver keep, and counts of what it did not do for them.

use farspan_units::{Bytes, Duration};

/// Bounds on what peers can make a driver keep: nothing is authenticated, and addresses can be forged.
///
/// Packets beyond them are not acknowledged, so that a sender tries again, and gives up when its own time has run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Messages that have arrived in part; 4,096.
    pub half_messages: usize,
    /// Payload and bookkeeping of messages that have arrived in part, and payload of those that have arrived and were
    /// not [taken](crate::Driver::poll_outcome) yet; 256 MiB. A message is begun only if it fits alone, whatever the order
    /// in which it arrives: its segments with 96 bytes each, 1,280 for itself, and a quarter of a byte a packet up to
    /// [`Self::reach`].
    pub held: Bytes,
    /// How far above the first missing segment of its message a packet is taken, in segments; 65,536. Wider than any
    /// window: a forged number must not claim memory.
    pub reach: u32,
    /// Records of messages that have arrived, by which duplicates are acknowledged; 262,144, of up to 600 bytes. They are
    /// kept for [`Self::idle`], so that this also bounds how many messages can arrive in that time.
    pub delivered: usize,
    /// A message of which nothing was heard for so long is given up, and the record of one that has arrived is
    /// forgotten; 30 s. Longer than any time-out: the sender of a forgotten message must have given up.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            half_messages: 4096,
            held: Bytes::new(256 << 20),
            reach: 1 << 16,
            delivered: 1 << 18,
            idle: Duration::from_ms(30_000),
        }
    }
}

/// Counts of what a driver did not do, for one peer or another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct DriverCounters {
    /// Datagrams that the system did not send to where they were to go; for the transport they are lost.
    pub send_errors: u64,
    /// Data packets that were not taken, as a message is too long or a bound of [`Limits`] is reached.
    pub refused_packets: u64,
    /// Messages that were forgotten because their blocks could not be decoded: their headers contradict themselves.
    pub undecodable_messages: u64,
}
