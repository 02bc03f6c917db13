//! Notes on seeds before they run.

use crate::output;
use farspan_report::seeds_note;

/// Says of seeds that were asked for, before any of them runs, that they are too few for an interval.
pub fn announce(seeds: impl IntoIterator<Item = u64>, is_quiet: bool) {
    let note = seeds_note(&seeds.into_iter().collect()).filter(|_| !is_quiet);
    if let Some(note) = note {
        output::note(&format!("note: {note}"));
    }
}
