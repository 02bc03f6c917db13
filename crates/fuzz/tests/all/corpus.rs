//! Replays the committed corpora, and neighbours of each input.

use farspan_fuzz::{TARGETS, Target, mutate};
use farspan_units::{Purpose, Random};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The inputs of a corpus, in order.
pub fn corpus(name: &str) -> Vec<Vec<u8>> {
    let files: BTreeSet<PathBuf> =
        fs::read_dir(folder().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let there: BTreeSet<String> =
        fs::read_dir(folder()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect());
    assert!(TARGETS.iter().all(|(name, _)| !corpus(name).is_empty()));
}

fn replay(name: &str, target: Target, neighbours: u64) {
    for (number, input) in (0..).zip(corpus(name)) {
        target(&input);
        let mut random = Random::new(number, Purpose::Test, 0);
        for _ in 0..neighbours {
            target(&mutate(&input, &mut random));
        }
    }
}

#[test]
fn no_input_of_the_corpora_breaks_its_target() {
    for (name, target) in TARGETS {
        replay(name, target, 50);
    }
}
