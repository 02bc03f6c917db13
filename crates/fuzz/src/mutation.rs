//! Inputs near another one.

use farspan_units::Random;

/// Words that parsers ask for, and numbers at their ends.
const WORDS: [&str; 16] = [
    "0",
    "-1",
    "1e99",
    "4294967296",
    "18446744073709551616",
    "\n",
    ",",
    "[[workload]]\n",
    "= ",
    "\"",
    "us",
    "GiB",
    "->",
    "#",
    "nan",
    "\u{feff}",
];

/// The input with one to four small changes: bits and bytes, pieces left out, doubled or put elsewhere, words of parsers.
#[must_use]
pub fn mutate(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        let end = (at + random.below(16) as usize).min(bytes.len());
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.bits() as u8,
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                let to = random.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, piece);
            }
            4 => {
                let word = WORDS[random.below(WORDS.len() as u64) as usize];
                bytes.splice(at..at, word.bytes());
            }
            5 => bytes.truncate(at.max(bytes.len() / 2)),
            _ => bytes.insert(at, random.bits() as u8),
        }
    }
    bytes
}
