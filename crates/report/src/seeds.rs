//! Seeds: how they are listed, and how many an interval takes.

use std::collections::BTreeSet;

/// Below so many seeds no interval of the median reaches 95%: with n seeds its widest misses it with chance 2 x 0.5^n.
pub(crate) const SEEDS_FOR_AN_INTERVAL: usize = 6;

/// A note for the reader on intervals over so few seeds; `None` if they are enough.
#[must_use]
pub fn interval_note(seeds: usize) -> Option<String> {
    match seeds {
        1 => Some("one seed gives a number but no interval; run with --seeds 1..10".to_owned()),
        _ if seeds < SEEDS_FOR_AN_INTERVAL => Some(format!(
            "{seeds} seeds: a 95% interval of the median needs {SEEDS_FOR_AN_INTERVAL} seeds; these intervals cover less than 95%"
        )),
        _ => None,
    }
}

/// The name of a bootstrap interval over so many seeds: fewer than six make it narrower than it should be.
#[must_use]
pub const fn interval_name(seeds: usize) -> &'static str {
    if seeds < SEEDS_FOR_AN_INTERVAL { "interval of less than 95%" } else { "95% interval" }
}

/// A note on so few seeds before they run; `None` if they are enough for an interval, or none.
#[must_use]
pub fn seeds_note(seeds: &BTreeSet<u64>) -> Option<String> {
    let least = SEEDS_FOR_AN_INTERVAL;
    match (seeds.first()?, seeds.len()) {
        (only, 1) => {
            let meant =
                if *only > 1 { format!("; for {only} seeds, write 1..{only}") } else { String::new() };
            Some(format!("one seed ({only}) gives a number but no interval{meant}"))
        }
        (first, count) if count < least => {
            let last = first.saturating_add(least as u64 - 1);
            Some(format!(
                "{count} seeds are too few for a 95% interval, which needs {least}, such as {first}..{last}"
            ))
        }
        _ => None,
    }
}

/// Seeds as a reader likes them: `1..5, 8`.
pub(crate) fn list(seeds: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &seed in seeds {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(seed) => *last = seed,
            _ => ranges.push((seed, seed)),
        }
    }
    let text = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}..{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_seeds_are_told_before_they_run() {
        let of = |seeds: &[u64]| seeds_note(&seeds.iter().copied().collect());
        assert_eq!(of(&[5]).unwrap(), "one seed (5) gives a number but no interval; for 5 seeds, write 1..5");
        assert_eq!(of(&[1]).unwrap(), "one seed (1) gives a number but no interval");
        let five = of(&[1, 2, 3, 4, 5]).unwrap();
        assert_eq!(five, "5 seeds are too few for a 95% interval, which needs 6, such as 1..6");
        assert!(of(&[7, 9]).unwrap().ends_with("such as 7..12"));
        assert_eq!((of(&[1, 2, 3, 4, 5, 6]), of(&[])), (None, None));
    }
}
