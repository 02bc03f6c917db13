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

/// Time of all processors of the machine since it started: stolen by a hypervisor, and all of it, in ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ProcessorTime {
    stolen: u64,
    all: u64,
}

impl ProcessorTime {
    /// As it is now; `None`: the system does not say.
    pub(super) fn now() -> Option<Self> {
        Self::parse(&std::fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line of `/proc/stat` (proc(5)): the eighth number is stolen, and those behind it are parts of the first two.
    fn parse(text: &str) -> Option<Self> {
        let numbers = text.lines().next()?.strip_prefix("cpu ")?.split_ascii_whitespace();
        let numbers: Vec<u64> = numbers.take(8).map_while(|number| number.parse().ok()).collect();
        (numbers.len() == 8).then(|| Self { stolen: numbers[7], all: numbers.iter().sum() })
    }

    /// The share of the time since `earlier` that was stolen.
    pub(super) fn stolen_since(self, earlier: Self) -> f64 {
        let all = self.all.saturating_sub(earlier.all);
        if all == 0 { 0.0 } else { self.stolen.saturating_sub(earlier.stolen) as f64 / all as f64 }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        let text = |idle, stolen| format!("cpu  5 5 5 {idle} 5 5 5 {stolen} 9 9\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
        let [before, after] = [text(65, 5), text(145, 25)].map(|text| ProcessorTime::parse(&text).unwrap());
        assert_eq!(after.stolen_since(before), 0.2);
        assert_eq!(before.stolen_since(before), 0.0);
        assert_eq!(ProcessorTime::parse("cpu  1 2 3\n"), None);
    }
}
