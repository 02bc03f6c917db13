//! Seeds that are asked for, and notes on them before they run.

use farspan_report::seeds_note;
use farspan_scenario::SeedsError;
use farspan_terminal::output;

/// Several seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeds(pub Vec<u64>);

/// A seed.
pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| i64::try_from(*seed).is_ok());
    seed.ok_or_else(|| format!("write a whole number from 0 to {}, such as 7", i64::MAX))
}

/// Several seeds, as a range or a list.
pub fn seeds(text: &str) -> Result<Seeds, SeedsError> {
    farspan_scenario::seeds(text).map(Seeds)
}

/// Says of seeds that were asked for, before any of them runs, that they are too few for an interval.
pub fn announce(seeds: impl IntoIterator<Item = u64>, is_quiet: bool) {
    note(seeds).filter(|_| !is_quiet).iter().for_each(|note| output::note(note));
}

/// The note on these seeds; `None` if they are enough for an interval, or none.
pub fn note(seeds: impl IntoIterator<Item = u64>) -> Option<String> {
    seeds_note(&seeds.into_iter().collect()).map(|note| format!("note: {note}"))
}
