//! Seeds as they are written: numbers in [the notation of ranges](crate::ranges), each once.

use crate::ranges::{RangeError, numbers};
use std::collections::BTreeSet;

/// The most seeds of one command.
const MOST: usize = 100_000;

/// Why a text does not name seeds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedsError {
    /// It names no numbers, or too many.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// A seed stands there more than once.
    #[error("seed {seed} is given twice; give each seed once")]
    Twice {
        /// The seed.
        seed: u64,
    },
}

/// The seeds that a text names, in its order.
///
/// # Errors
/// If it names none, one twice, or too many.
///
/// ```
/// assert_eq!(farspan_scenario::seeds("1..3,7"), Ok(vec![1, 2, 3, 7]));
/// assert_eq!(farspan_scenario::seeds("1-3"), farspan_scenario::seeds("1..3"));
/// assert!(farspan_scenario::seeds("3..1").is_err());
/// ```
pub fn seeds(text: &str) -> Result<Vec<u64>, SeedsError> {
    let seeds = numbers(text, MOST)?;
    let mut known = BTreeSet::new();
    match seeds.iter().find(|&&seed| !known.insert(seed)) {
        Some(&seed) => Err(SeedsError::Twice { seed }),
        None => Ok(seeds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_name_seeds_in_their_order() {
        assert_eq!(seeds("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("1-3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("5, 1,2"), Ok(vec![5, 1, 2]));
    }

    #[test]
    fn what_names_no_seeds_is_refused() {
        for wrong in ["", "a..b", "1,", "3..1", "9223372036854775808", "0..100000"] {
            assert!(matches!(seeds(wrong), Err(SeedsError::Range(_))), "{wrong}");
        }
        assert_eq!(seeds("1..3,2"), Err(SeedsError::Twice { seed: 2 }));
        assert_eq!(seeds("0..99999").map(|seeds| seeds.len()), Ok(100_000));
    }
}
