//! Inputs that cannot be right, through the command: bad input, said with its place and a cure, within bounds of time and
//! memory.
#![cfg(target_os = "linux")]

use farspan_fuzz::invalid;
use std::process::{Command, Stdio};

/// A part of the thousand that `crates/fuzz` takes in process, each kind in turn.
const COUNT: usize = 250;
/// Address space of a command, in KiB, and the seconds after which it is killed.
const BOUNDS: &str = "ulimit -v 1000000 && exec timeout -s KILL 10 \"$0\" \"$@\"";

#[test]
fn each_ends_with_2_and_says_its_place_and_a_cure() {
    let folder = std::env::temp_dir().join(format!("farspan-cli-invalid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut flaws = Vec::new();
    for input in invalid(COUNT) {
        let words = input.write(&folder).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", BOUNDS, env!("CARGO_BIN_EXE_farspan")]).args(&words);
        let output = command.current_dir(&folder).stdin(Stdio::null()).output().unwrap();
        let (stdout, stderr) = (output.stdout, String::from_utf8_lossy(&output.stderr));
        let flaw = match output.status.code() {
            Some(2) if !stdout.is_empty() => Some("prints results".to_owned()),
            Some(2) => match stderr.trim_end().strip_prefix("farspan: ") {
                Some(message) => input.flaw_of(message),
                None => Some(stderr.to_string()),
            },
            _ => Some(format!("ends with {}: {stderr}", output.status)),
        };
        flaws.extend(flaw.map(|flaw| format!("{}: {flaw}", input.how)));
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(flaws.is_empty(), "{} of {COUNT}:\n{}", flaws.len(), flaws.join("\n"));
}
