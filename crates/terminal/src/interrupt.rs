//! Ctrl-C.

use crate::output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set by Ctrl-C.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Signals that follow one another faster are one: `timeout` sends to the process and then to its group, which holds it.
const ONE_SIGNAL: Duration = Duration::from_millis(300);

const NO_HANDLER: &str = "Ctrl-C will not keep partial results on this system";

/// From now on Ctrl-C ends runs early; a second one ends the process.
#[expect(clippy::disallowed_methods, reason = "signals are told apart by wall time")]
pub fn catch_interrupts() {
    let began = Instant::now();
    let mut first = None;
    let handler = move || {
        if ends_process(&mut first, began.elapsed()) {
            std::process::exit(130);
        }
        INTERRUPTED.store(true, Ordering::Relaxed);
    };
    if ctrlc::set_handler(handler).is_err() {
        output::note(NO_HANDLER);
    }
}

/// Whether an interrupt at a time is a second one, which ends the process. `first` is the time of the first one.
fn ends_process(first: &mut Option<Duration>, now: Duration) -> bool {
    now.saturating_sub(*first.get_or_insert(now)) >= ONE_SIGNAL
}

/// From now on Ctrl-C, and a request to end, end runs early, however often they come: what ends may take its time to write results.
pub fn catch_every_interrupt() {
    if ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed)).is_err() {
        output::note(NO_HANDLER);
    }
}

/// Whether Ctrl-C was pressed.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_follow_one_another_fast_are_one_and_a_later_one_ends_the_process() {
        let mut first = None;
        let mut ends = |ms| ends_process(&mut first, Duration::from_millis(ms));
        assert_eq!([5000, 5000, 5299, 5300].map(&mut ends), [false, false, false, true]);
    }
}
