//! The real clocks.

use farspan_units::{Duration, Time};
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds of CLOCK_MONOTONIC, the same for all processes of the machine.
pub(super) fn monotonic_ns() -> u64 {
    ns(clock_gettime(ClockId::Monotonic))
}

fn ns(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

pub(super) const fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Sleeps until this time of [`monotonic_ns`].
pub(super) fn sleep_until(at: u64) {
    while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(at)).is_err() {}
}

/// CPU time of the calling thread.
pub(super) fn thread_cpu() -> Duration {
    Duration::from_ns(ns(clock_gettime(ClockId::ThreadCPUTime)))
}

/// Time since it was made, which is [`Time::ZERO`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    epoch: u64,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { epoch: monotonic_ns() }
    }

    pub(super) fn now(self) -> Time {
        self.at(monotonic_ns())
    }

    /// A time of [`monotonic_ns`] on this clock.
    pub(super) const fn at(self, monotonic: u64) -> Time {
        Time::from_ps(monotonic.saturating_sub(self.epoch).saturating_mul(1000))
    }
}
