//! The whole farspan command, in which scenarios and schemes know `my-control` by its name.

// Memory in huge pages, as the farspan command takes it.
use farspan_memory as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    farspan_cli::Program::new().control::<my_control::Config>().main()
}
