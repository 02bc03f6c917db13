//! The `farspan` command as a program.
#![forbid(unsafe_code)]

use farspan_cli::Itself;
use farspan_memory as _;
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let code = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("farspan"));
    let itself = Itself { words: &[code.clone().into_os_string()], code: &code };
    ExitCode::from(farspan_cli::main_with_args(std::env::args_os(), &itself))
}
