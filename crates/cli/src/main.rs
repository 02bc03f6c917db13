//! The `farspan` command as a program.
#![forbid(unsafe_code)]

use farspan_memory as _;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let itself = std::env::current_exe().map_or_else(|_| "farspan".into(), PathBuf::into_os_string);
    ExitCode::from(farspan_cli::main_with_args(std::env::args_os(), &[itself]))
}
