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
    let mut first: Option<Instant> = None;
    let handler = move || match first {
        Some(at) if at.elapsed() >= ONE_SIGNAL => std::process::exit(130),
        Some(_) => {}
        None => {
            first = Some(Instant::now());
            INTERRUPTED.store(true, Ordering::Relaxed);
        }
    };
    if ctrlc::set_handler(handler).is_err() {
        output::note(NO_HANDLER);
    }
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
