//! Seeds as they are written: `1..10` (both ends included), `1,2,5`, or both: `1..3,7`.

use std::collections::BTreeSet;

/// The most seeds of one command.
const MOST: u64 = 100_000;

/// Why a text does not name seeds.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeedsError {
    /// A part is not a number.
    #[error(
        "{text:?} is not a whole number from 0 to {}; write A..B or a list, such as 1..5 or 1,2,5",
        i64::MAX
    )]
    NotANumber {
        /// The part.
        text: String,
    },
    /// The first is larger than the last.
    #[error("no seed lies between {first} and {last}; write the smaller one first")]
    Empty {
        /// The first.
        first: u64,
        /// The last.
        last: u64,
    },
    /// A seed stands there more than once.
    #[error("seed {seed} is given twice; give each seed once")]
    Twice {
        /// The seed.
        seed: u64,
    },
    /// Too many.
    #[error("too many seeds; give at most {MOST}")]
    TooMany,
}

/// The seeds that a text names, in its order.
///
/// # Errors
/// If it names none, one twice, or too many.
///
/// ```
/// assert_eq!(farspan_scenario::seeds("1..3,7"), Ok(vec![1, 2, 3, 7]));
/// assert!(farspan_scenario::seeds("3..1").is_err());
/// ```
pub fn seeds(text: &str) -> Result<Vec<u64>, SeedsError> {
    let mut seeds = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once("..").unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(SeedsError::Empty { first, last });
        }
        if last - first >= MOST || seeds.len() as u64 + (last - first) >= MOST {
            return Err(SeedsError::TooMany);
        }
        seeds.extend(first..=last);
    }
    let mut known = BTreeSet::new();
    match seeds.iter().find(|&&seed| !known.insert(seed)) {
        Some(&seed) => Err(SeedsError::Twice { seed }),
        None => Ok(seeds),
    }
}

/// TOML has no larger integers than those of 63 bits.
fn number(text: &str) -> Result<u64, SeedsError> {
    let number = text.trim().parse().ok().filter(|seed| i64::try_from(*seed).is_ok());
    number.ok_or_else(|| SeedsError::NotANumber { text: text.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lists_name_seeds_in_their_order() {
        assert_eq!(seeds("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("7..7"), Ok(vec![7]));
        assert_eq!(seeds("5, 1,2"), Ok(vec![5, 1, 2]));
        assert_eq!(seeds("4"), Ok(vec![4]));
    }

    #[test]
    fn what_names_no_seeds_is_refused() {
        for wrong in ["", "a..b", "-1..2", "1,", "1;2", "9223372036854775808"] {
            assert!(matches!(seeds(wrong), Err(SeedsError::NotANumber { .. })), "{wrong}");
        }
        assert_eq!(seeds("3..1"), Err(SeedsError::Empty { first: 3, last: 1 }));
        assert_eq!(seeds("1..3,2"), Err(SeedsError::Twice { seed: 2 }));
        assert_eq!(seeds("0..9223372036854775807"), Err(SeedsError::TooMany));
        assert_eq!(seeds("0..99999,100000"), Err(SeedsError::TooMany));
    }
}
