//! The state of a port that trims: a coin, how long its headers keep the link busy, and counters of trimmed
//! packets.

use crate::port_config::{Trim, Victim};
use farspan_units::random::Random;
use farspan_units::{Bytes, PortId, Purpose, Rate, Time};

/// The state of a port that trims. Read only when the buffer is full.
#[derive(Clone, Debug)]
pub(super) struct Trimming {
    coin: Random,
    /// When all headers have left, if they go before other control packets.
    clear_at: Time,
    /// Packets trimmed.
    pub(super) trimmed: u64,
    /// Bytes cut off trimmed packets.
    pub(super) cut_bytes: Bytes,
}

impl Trimming {
    pub(super) const fn new(id: PortId, seed: u64) -> Self {
        let coin = Random::new(seed, Purpose::Trim, id.0 as u64);
        Self { coin, clear_at: Time::ZERO, trimmed: 0, cut_bytes: Bytes::ZERO }
    }

    /// Whether one more header may wait; `free_at`: when the link, of `rate`, is free for it.
    ///
    /// While a header waits, no data packet starts. So how many bytes of them wait follows from the time that
    /// has passed, without a count to keep at every packet.
    pub(super) fn has_room(&self, trim: &Trim, free_at: Time, rate: Rate) -> bool {
        rate.bytes_in(self.clear_at.since(free_at)) + trim.header <= trim.headers
    }

    /// Counts one more header in, if it may wait; says whether it does.
    pub(super) fn admit(&mut self, trim: &Trim, free_at: Time, rate: Rate) -> bool {
        let fits = self.has_room(trim, free_at, rate);
        if fits {
            self.clear_at = self.clear_at.max(free_at) + rate.transmission(trim.header);
        }
        fits
    }

    /// All headers are gone by `now`.
    pub(super) fn clear(&mut self, now: Time) {
        self.clear_at = self.clear_at.min(now);
    }

    /// Whether the last packet in the queue is to be trimmed rather than the one that arrives.
    pub(super) fn picks_the_last(&mut self, victim: Victim) -> bool {
        match victim {
            Victim::Arriving => false,
            Victim::Coin => self.coin.bits() >> 63 == 1,
        }
    }
}
