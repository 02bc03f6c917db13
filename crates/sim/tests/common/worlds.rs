//! The committed digests of random worlds, a hundred worlds a line: line n of `worlds.txt` is that of the seeds from 100 (n - 1).
//!
//! They hold as long as neither the simulated behaviour nor the draws of `random_spec` change. Where a change
//! of behaviour is meant: `cargo run --release -p farspan-sim --example equality -- --list 0 10000`.

use farspan_sim::Outcome;
use farspan_units::random::mix;

const LIST: &str = include_str!("worlds.txt");

/// The number of worlds in a block: these have one digest together.
pub const BLOCK: u64 = 100;

/// The number of worlds that are listed.
pub fn count() -> u64 {
    LIST.lines().count() as u64 * BLOCK
}

/// The digest of the worlds of a block so far.
#[derive(Default)]
pub struct Digest {
    hash: u64,
    worlds: u64,
}

impl Digest {
    /// Adds the next world. The last one of a block that was added as a whole gives its first seed and its digest.
    pub fn add(&mut self, seed: u64, outcome: &Outcome) -> Option<(u64, u64)> {
        if seed.is_multiple_of(BLOCK) {
            *self = Self::default();
        }
        self.hash = mix(self.hash ^ world(outcome));
        self.worlds += 1;
        (self.worlds == BLOCK).then(|| (seed + 1 - BLOCK, self.hash))
    }

    /// Adds the next world, and compares the digest of a block with its line. Blocks beyond the list pass.
    ///
    /// # Errors
    /// See [`compare`].
    pub fn as_listed(&mut self, seed: u64, outcome: &Outcome) -> Result<(), String> {
        self.add(seed, outcome).map_or(Ok(()), |(start, digest)| compare(start, digest))
    }
}

/// The first halves of the digest and of the packet digest of a world.
pub fn world(outcome: &Outcome) -> u64 {
    (outcome.digest & !0 << 32) | outcome.packet_digest >> 32
}

/// A line of the list.
pub fn line(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Compares the digest of the block from a seed with its line.
///
/// # Errors
/// Both digests, where they differ, and how to find the first world that differs.
pub fn compare(start: u64, digest: u64) -> Result<(), String> {
    let (found, end) = (line(digest), start + BLOCK);
    match LIST.lines().nth((start / BLOCK) as usize) {
        Some(listed) if listed != found => Err(format!(
            "the digest of seeds {start}..{end} is {found}, listed {listed}; run `equality --each {start} {end}` here and at the \
             last commit that passed, and compare: the first line that differs is the world"
        )),
        _ => Ok(()),
    }
}
