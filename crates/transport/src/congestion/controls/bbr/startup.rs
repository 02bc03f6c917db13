//! STARTUP (section 4.3.2): doubles the rate each round trip until the pipe is full.

use super::Model;

/// The bandwidth must grow by this factor, or the pipe looks full (section 4.3.2.2).
const GROWTH: f64 = 1.25;

/// The pipe is full after this many round trips in a row without such growth (section 4.3.2.2).
const ROUNDS: u8 = 3;

/// Whether STARTUP has found all the bandwidth that there is.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth when it last grew, in bytes per second.
    bandwidth: f64,
    /// Round trips since.
    rounds: u8,
    /// Whether the pipe has been found full; for ever.
    filled: bool,
}

impl FullPipe {
    /// Whether the pipe has been found full.
    pub(super) const fn is_filled(&self) -> bool {
        self.filled
    }

    /// BBRCheckFullPipe, at each ACK.
    pub(super) fn check(&mut self, model: &Model) {
        if self.filled || !model.round_start || model.app_limited {
            return;
        }
        if model.bandwidth.get() >= GROWTH * self.bandwidth {
            *self = Self { bandwidth: model.bandwidth.get(), rounds: 0, filled: false };
            return;
        }
        self.rounds += 1;
        self.filled = self.rounds >= ROUNDS;
    }
}
