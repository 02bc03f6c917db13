//! The real clock.

use farspan_units::Time;
use std::time::Instant;

/// Time since it was made, which is [`Time::ZERO`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the driver of real sockets is where time comes from")]
    pub(crate) fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// The current time.
    pub(crate) fn now(self) -> Time {
        // An endpoint takes times in ps: they last for 213 days.
        let ns = u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Time::from_ps(ns.saturating_mul(1000))
    }
}
