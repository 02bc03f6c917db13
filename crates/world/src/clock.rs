//! Clocks. What runs take is measured with them; no result depends on them.

use std::time::{Duration, Instant};

/// The current time.
#[expect(clippy::disallowed_methods, reason = "runs are measured in wall time; results do not depend on it")]
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The CPU time that this thread has used: what others do on the machine is not in it. Where the system does not say, the
/// time since `began`.
#[cfg(any(target_os = "linux", target_os = "macos"))]
#[must_use]
pub fn cpu_time(_began: Instant) -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The time since `began`: this system does not say what a thread has used.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
#[must_use]
pub fn cpu_time(began: Instant) -> Duration {
    began.elapsed()
}
