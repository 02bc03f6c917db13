//! Runs random small worlds under every engine and asks for equal outcomes: `equality FROM TO`, for long runs.
//! Ends with 3 at the first inequality, and names its seed.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::process::ExitCode;

fn main() -> ExitCode {
    let numbers: Option<Vec<u64>> = std::env::args().skip(1).map(|text| text.parse().ok()).collect();
    let Some(&[from, to]) = numbers.as_deref() else {
        eprintln!("usage: equality FROM TO (seeds FROM up to, but not including, TO)");
        return ExitCode::from(2);
    };
    let (mut hops, mut seen) = (0, BTreeMap::<_, u64>::new());
    for seed in from..to {
        let spec = random::random_spec(seed);
        match common::equal_under_all(&spec) {
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
        if (seed - from) % 500 == 499 {
            eprintln!("{} worlds, {hops} packet-hops each engine", seed - from + 1);
        }
    }
    println!("seeds {from}..{to}: equal; {hops} packet-hops under each engine");
    seen.iter().for_each(|(name, count)| println!("{count:8} {name}"));
    ExitCode::SUCCESS
}
