//! The `farspan-lab` command as a program.
#![forbid(unsafe_code)]

use farspan_memory as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    farspan_lab::main()
}
