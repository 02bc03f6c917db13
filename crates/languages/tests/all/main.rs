//! The controls in C against those in Rust, by the events of random and of recorded flows.
#![allow(clippy::unwrap_used, reason = "only tests here")]

mod bpf;
mod constants;
mod epochs;
mod kernel;
mod random;
mod recorded;
mod simulation;

use farspan_languages::{Distance, Event, Name, Program, ReplayError, Setting, simulated_windows};
use std::path::Path;

/// The words of docs/src/kernel-tcp.md, with a space between each two.
fn page() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/kernel-tcp.md");
    std::fs::read_to_string(file).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The compiled control of this checkout, unless there is no compiler, which it says.
fn compiled(name: Name, folder: &Path) -> Option<Program> {
    compiled_from(name, &Program::sources(), folder)
}

/// The compiled control of a folder of sources.
fn compiled_from(name: Name, sources: &Path, folder: &Path) -> Option<Program> {
    match Program::compile(name, sources, folder) {
        Ok(program) => Some(program),
        Err(ReplayError::NoCompiler) => {
            farspan_skip::skip("cc", "no control in C was compared with its twin in Rust: apt install gcc");
            None
        }
        Err(error) => panic!("{}: {error:?}", name.text()),
    }
}

/// Holds a line of docs/src/kernel-tcp.md to what was found.
fn hold_to_page(setting: &Setting, events: &str, distance: &Distance) {
    let line = format!(
        "| {} | {} Mbit/s, {} us | {events} | {:.4} | {:.0} |",
        setting.name.text(),
        setting.rate_bps / 1_000_000,
        setting.base_rtt_us,
        distance.largest,
        distance.window
    );
    println!("{line}");
    assert!(distance.is_small(), "{line}: {distance:?}");
    assert!(page().contains(&line), "docs/src/kernel-tcp.md does not have: {line}");
}

/// How far the languages are apart over the events of a flow.
fn distance(program: &Program, setting: &Setting, events: &[Event]) -> Distance {
    let (windows, _) = program.windows(setting, events).unwrap();
    assert_eq!(windows.len(), events.len());
    Distance::between(&windows, &simulated_windows(setting, events))
}
