//! Tries the scenarios of many numbers: `cargo run --release -p farspan-fuzz --example runs -- FROM TO`. Prints how many ran (`halved`: up
//! to half of where they were too long), and how often each identity was broken; ends with 3 if one was broken that `fuzz/known.txt` does
//! not list. `runs --show N` prints a scenario.

use farspan_fuzz::runs::{Breach, Trial, scenario_of, try_number};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identities that are known not to hold, each with the reason.
const KNOWN: &str = include_str!("../../../fuzz/known.txt");
/// Breaches of one identity that are printed.
const MOST_SHOWN: u64 = 3;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (show, numbers) = match words.split_first() {
        Some((first, rest)) if first == "--show" => (true, rest),
        _ => (false, &words[..]),
    };
    let numbers: Option<Vec<u64>> = numbers.iter().map(|text| text.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[number]) if show => {
            print!("{}", scenario_of(number));
            ExitCode::SUCCESS
        }
        Some(&[from, to]) if !show => try_all(from, to),
        _ => {
            eprintln!(
                "usage: runs FROM TO (numbers FROM up to, but not including, TO), or runs --show NUMBER"
            );
            ExitCode::from(2)
        }
    }
}

fn try_all(from: u64, to: u64) -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    let (next, counts) = (AtomicU64::new(from), Mutex::new(BTreeMap::<&str, u64>::new()));
    let count = |what: &'static str| {
        let mut counts = counts.lock().expect("no thread panics here");
        let count = counts.entry(what).or_default();
        *count += 1;
        *count
    };
    let report = |number: u64, fate: &'static str, breaches: Vec<Breach>| {
        count(fate);
        for breach in breaches {
            if count(breach.identity) <= MOST_SHOWN {
                println!("{number}: {}: {}", breach.identity, breach.what);
            }
        }
    };
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= to {
            return;
        }
        match try_number(number) {
            Trial::Refused(_) => drop(count("refused")),
            Trial::TooLong(_) => drop(count("too long")),
            Trial::Ran(breaches) => report(number, "ran", breaches),
            Trial::Halved(breaches) => report(number, "halved", breaches),
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let counts = counts.into_inner().expect("no thread panics here");
    println!("{counts:?}");
    let known: Vec<_> =
        KNOWN.lines().filter_map(|line| line.split_whitespace().next()).filter(|word| *word != "#").collect();
    let broken = counts
        .keys()
        .filter(|name| !["refused", "too long", "ran", "halved"].contains(name) && !known.contains(name));
    let broken: Vec<_> = broken.collect();
    // A check of scenarios that are all refused would be none.
    let ran = counts.get("ran").copied().unwrap_or_default();
    if broken.is_empty() && 2 * ran >= to.saturating_sub(from) {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(3)
    }
}
