//! The committed digests of random worlds: line n of `worlds.txt` is that of seed n - 1.
//!
//! They hold as long as neither the simulated behaviour nor the draws of `random_spec` change. Where a change
//! of behaviour is meant: `cargo run --release -p farspan-sim --example equality -- --list 0 10000`.

use farspan_sim::Outcome;

const LIST: &str = include_str!("worlds.txt");

/// How many worlds are listed.
const LISTED: usize = 10_000;

/// How many worlds are listed.
pub fn count() -> u64 {
    assert_eq!(LIST.lines().count(), LISTED, "lines of worlds.txt");
    LISTED as u64
}

/// The first halves of the digest and of the packet digest.
pub fn line(outcome: &Outcome) -> String {
    format!("{:08x} {:08x}", outcome.digest >> 32, outcome.packet_digest >> 32)
}

/// Compares an outcome with the line of its seed; seeds beyond the list pass.
///
/// # Errors
/// Both lines, where they differ.
pub fn as_listed(seed: u64, outcome: &Outcome) -> Result<(), String> {
    let found = line(outcome);
    match LIST.lines().nth(seed as usize) {
        Some(listed) if listed != found => Err(format!("digests are {found}, listed {listed}")),
        _ => Ok(()),
    }
}
