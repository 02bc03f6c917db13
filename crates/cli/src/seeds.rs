//! Notes on seeds before they run.

use farspan_report::seeds_note;
use farspan_terminal::output;

/// Says of seeds that were asked for, before any of them runs, that they are too few for an interval.
pub fn announce(seeds: impl IntoIterator<Item = u64>, is_quiet: bool) {
    note(seeds).filter(|_| !is_quiet).iter().for_each(|note| output::note(note));
}

/// The note on these seeds; `None` if they are enough for an interval, or none.
pub fn note(seeds: impl IntoIterator<Item = u64>) -> Option<String> {
    seeds_note(&seeds.into_iter().collect()).map(|note| format!("note: {note}"))
}
