//! The whole farspan command, in which scenarios and schemes know `my-control` by its name.

use std::process::ExitCode;

fn main() -> ExitCode {
    farspan_extend::Program::new().control::<my_control::Config>().main()
}
