//! Broken invariants as errors: a panic ends what was under way, and no more.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// An invariant of farspan did not hold.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "this is a bug in farspan, not in your input: {message}. Standard error shows where. Please report both, with the \
     scenario and the command"
)]
pub struct Bug {
    /// The message of the panic: the invariant that did not hold.
    pub message: String,
}

impl Bug {
    fn of(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Self { message: text.unwrap_or("an invariant does not hold").to_owned() }
    }
}

/// Runs `work` and returns its value; a panic becomes a [`Bug`].
///
/// # Errors
/// If it panics. What it was about is lost with it, so that nothing half-done is seen afterwards.
pub fn guard<T>(work: impl FnOnce() -> T) -> Result<T, Bug> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Bug::of(&*panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_keeps_its_words() {
        assert_eq!(guard(|| 7), Ok(7));
        for (error, message) in [
            (guard(|| panic!("a packet {} was lost", 3)), "a packet 3 was lost"),
            (guard(|| panic!("in few words")), "in few words"),
            (guard(|| std::panic::panic_any(3_u8)), "an invariant does not hold"),
        ] {
            let error: Result<(), _> = error;
            assert_eq!(error, Err(Bug { message: message.to_owned() }));
        }
    }

    #[test]
    fn the_panic_of_a_thread_keeps_its_words() {
        let threads = || {
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| -> u8 { panic!("in a thread") });
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        };
        assert_eq!(guard(threads), Err(Bug { message: "in a thread".to_owned() }));
    }
}
