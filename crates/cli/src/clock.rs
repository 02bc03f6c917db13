//! The wall clock. The command measures with it; no result depends on it.

use std::time::Instant;

/// The current time.
#[expect(clippy::disallowed_methods, reason = "the command measures wall time; results do not depend on it")]
pub fn now() -> Instant {
    Instant::now()
}
