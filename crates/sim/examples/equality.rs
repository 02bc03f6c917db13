//! Runs random small worlds under every engine and asks for equal outcomes, and for the digests of the committed list:
//! `equality FROM TO`, for long runs. Ends with 3 at the first difference, and names its seed.
//!
//! `equality --verbs FROM TO` compares hosts that call the verbs of their endpoints alone with those that are called in place.
//!
//! `equality --list FROM TO` prints the lines of the list instead, one for each hundred worlds, and `equality --each FROM TO` the
//! digests of each world: by the windowed engine alone.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/random/mod.rs"]
mod random;
#[path = "../tests/common/worlds.rs"]
mod worlds;

use farspan_sim::{EngineKind, Outcome, Spec};
use std::collections::BTreeMap;
use std::ops::Range;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mode, numbers) = match words.split_first() {
        Some((first, rest)) if first.starts_with("--") => (&first[..], rest),
        _ => ("", &words[..]),
    };
    let numbers: Option<Vec<u64>> = numbers.iter().map(|text| text.parse().ok()).collect();
    match (mode, numbers.as_deref()) {
        ("--list", Some(&[from, to])) => print(from..to, true),
        ("--each", Some(&[from, to])) => print(from..to, false),
        ("--verbs", Some(&[from, to])) => compare(from..to, by_verbs),
        ("", Some(&[from, to])) => compare(from..to, common::equal_under_all),
        _ => {
            eprintln!(
                "usage: equality [--each|--list|--verbs] FROM TO (seeds FROM up to, but not including, TO)"
            );
            ExitCode::from(2)
        }
    }
}

/// The windowed engine's outcome, if hosts that call the verbs alone have the same.
fn by_verbs(spec: &Spec) -> Result<Outcome, String> {
    let outcome = farspan_sim::run(spec, EngineKind::Windowed, &mut |_| true);
    common::equal_by_verbs(spec, &outcome)?;
    Ok(outcome)
}

/// Prints the digests of blocks, or of each world.
fn print(seeds: Range<u64>, blocks: bool) -> ExitCode {
    let mut digest = worlds::Digest::default();
    for seed in seeds {
        let outcome = farspan_sim::run(&random::random_spec(seed), EngineKind::Windowed, &mut |_| true);
        let block = digest.add(seed, &outcome);
        match block {
            Some((_, digest)) if blocks => println!("{}", worlds::line(digest)),
            _ if blocks => {}
            _ => println!("{seed} {}", worlds::line(worlds::world(&outcome))),
        }
    }
    ExitCode::SUCCESS
}

fn compare(seeds: Range<u64>, equal: fn(&Spec) -> Result<Outcome, String>) -> ExitCode {
    let (mut hops, mut seen, mut digest) = (0, BTreeMap::<_, u64>::new(), worlds::Digest::default());
    for seed in seeds.clone() {
        let spec = random::random_spec(seed);
        let outcome = equal(&spec).and_then(|outcome| {
            digest.as_listed(seed, &outcome)?;
            Ok(outcome)
        });
        match outcome {
            Ok(outcome) => {
                hops += outcome.totals.packet_hops;
                random::features(&spec, &outcome)
                    .into_iter()
                    .for_each(|name| *seen.entry(name).or_default() += 1);
            }
            Err(what) => {
                println!("seed {seed}: {what}");
                return ExitCode::from(3);
            }
        }
        if (seed - seeds.start) % 500 == 499 {
            eprintln!("{} worlds, {hops} packet-hops each engine", seed - seeds.start + 1);
        }
    }
    let blocks = seeds.start.div_ceil(worlds::BLOCK)..seeds.end.min(worlds::count()) / worlds::BLOCK;
    let listed = blocks.end.saturating_sub(blocks.start) * worlds::BLOCK;
    println!("seeds {seeds:?}: equal, {listed} of them as listed; {hops} packet-hops under each engine");
    seen.iter().for_each(|(name, count)| println!("{count:8} {name}"));
    ExitCode::SUCCESS
}
