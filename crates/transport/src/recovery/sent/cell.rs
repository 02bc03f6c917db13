//! One packet in eight bytes.

use farspan_units::Time;

/// A packet's time-outs are counted up to here.
pub(super) const MAX_TIMEOUTS: u32 = 15;

/// The state of a sent packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentState {
    /// Acknowledged (or never sent: cells start so).
    Acked = 0,
    /// In flight for the first time.
    First = 1,
    /// In flight again.
    Retransmitted = 2,
    /// Marked lost, and not sent again yet.
    Lost = 3,
}

/// One packet: state in 2 bits, time-outs so far in 4, send time of its last transmission in 58 (ps, the low bits; read
/// relative to now, so that ages up to 80 hours are exact).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Cell(pub(super) u64);

impl Cell {
    const TIME_BITS: u32 = 58;
    const TIME: u64 = (1 << Self::TIME_BITS) - 1;

    #[inline]
    pub(super) const fn new(state: SentState, timeouts: u32, sent_at: Time) -> Self {
        let timeouts = if timeouts < MAX_TIMEOUTS { timeouts } else { MAX_TIMEOUTS };
        Self((state as u64) << 62 | (timeouts as u64) << Self::TIME_BITS | sent_at.as_ps() & Self::TIME)
    }

    #[inline]
    pub(super) const fn state(self) -> SentState {
        match self.0 >> 62 {
            0 => SentState::Acked,
            1 => SentState::First,
            2 => SentState::Retransmitted,
            _ => SentState::Lost,
        }
    }

    pub(super) const fn timeouts(self) -> u32 {
        (self.0 >> Self::TIME_BITS) as u32 & MAX_TIMEOUTS
    }

    /// Whether the last transmission left at `at`.
    #[inline]
    pub(super) const fn left_at(self, at: Time) -> bool {
        (self.0 ^ at.as_ps()) & Self::TIME == 0
    }

    /// The send time, which is not after `now`.
    #[inline]
    pub(super) const fn sent_at(self, now: Time) -> Time {
        Time::from_ps(now.as_ps() - (now.as_ps().wrapping_sub(self.0) & Self::TIME))
    }
}
