//! The state of a port that trims: a coin, how long its headers keep the link busy, and counters of trimmed
//! packets.

use crate::port_config::{Trim, Victim};
use core::num::NonZeroU32;
use farspan_units::random::Random;
use farspan_units::{Bytes, PortId, Purpose, Rate, Time};

/// The state of a port that trims. Read only when the buffer is full.
#[derive(Clone, Debug)]
pub(super) struct Trimming {
    coin: Random,
    /// When all headers have left, if they go before all else: where they have no weight.
    clear_at: Time,
    /// Bytes of headers that wait or are on their way out, where they have a weight.
    headers: Bytes,
    /// How many control packets have left in a row while data waited, and how many packets had left when the last one's service
    /// began.
    row: (u32, u64),
    /// Packets trimmed.
    pub(super) trimmed: u64,
    /// Bytes cut off trimmed packets.
    pub(super) cut_bytes: Bytes,
    /// Headers sent back.
    pub(super) returned: u64,
}

impl Trimming {
    pub(super) const fn new(id: PortId, seed: u64) -> Self {
        let coin = Random::new(seed, Purpose::Trim, id.0 as u64);
        Self {
            coin,
            clear_at: Time::ZERO,
            headers: Bytes::ZERO,
            row: (0, 0),
            trimmed: 0,
            cut_bytes: Bytes::ZERO,
            returned: 0,
        }
    }

    /// Whether one more header may wait; `free_at`: when the link, of `rate`, is free for it.
    ///
    /// Where headers go first, no data packet starts while one waits. So how many bytes of them wait follows from the time that
    /// has passed, without a count to keep at every packet. Where they have a weight, they are counted.
    pub(super) fn has_room(&self, trim: &Trim, free_at: Time, rate: Rate) -> bool {
        let waiting = match trim.weight {
            None => rate.bytes_in(self.clear_at.since(free_at)),
            Some(_) => self.headers,
        };
        waiting + trim.header <= trim.headers
    }

    /// Counts one more header in, if it may wait; says whether it does.
    pub(super) fn admit(&mut self, trim: &Trim, free_at: Time, rate: Rate) -> bool {
        let fits = self.has_room(trim, free_at, rate);
        if fits {
            match trim.weight {
                None => self.clear_at = self.clear_at.max(free_at) + rate.transmission(trim.header),
                Some(_) => self.headers += trim.header,
            }
        }
        fits
    }

    /// A header has left, where they have a weight.
    pub(super) fn leave(&mut self, trim: &Trim) {
        self.headers -= trim.header;
    }

    /// All headers are gone by `now`.
    pub(super) fn clear(&mut self, now: Time) {
        self.clear_at = self.clear_at.min(now);
        self.headers = Bytes::ZERO;
    }

    /// Whether a control packet is to let data go first, of which some waits; if not, it counts in the row. `sent`: how many packets
    /// have left, which says whether any but control packets did since.
    pub(super) fn yields(&mut self, weight: NonZeroU32, sent: u64) -> bool {
        let (row, last) = self.row;
        let row = if last + 1 == sent { row } else { 0 };
        let yields = row >= weight.get();
        if !yields {
            self.row = (row + 1, sent);
        }
        yields
    }

    /// Whether the last packet in the queue is to be trimmed rather than the one that arrives.
    pub(super) fn picks_the_last(&mut self, victim: Victim) -> bool {
        match victim {
            Victim::Arriving => false,
            Victim::Coin => self.coin.bits() >> 63 == 1,
        }
    }
}
