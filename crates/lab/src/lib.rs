//! The makers' program, `farspan-lab`: benchmarks of single parts, and pages and pictures of the book. Users need none of it:
//! CI, `bench/` and `docs/generate.py` call it.
#![forbid(unsafe_code)]
// These macros panic where nothing can be written: `output` does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bench;
mod chart;
mod failure;
pub mod reference;

use bench::BenchArgs;
use clap::{Args, Parser, Subcommand};
use failure::Failure;
use farspan_scenario::unknown_name;
use farspan_terminal::output;
use std::process::ExitCode;

/// Measures parts of farspan, and writes pages from its source.
#[derive(Parser, Debug)]
#[command(name = "farspan-lab", version, max_term_width = 110)]
struct Cli {
    /// The subcommand and its arguments.
    #[command(subcommand)]
    command: Command,
}

/// The subcommands of `farspan-lab`.
#[derive(Subcommand, Debug)]
enum Command {
    /// Measure one part of farspan on this machine
    Bench(BenchArgs),
    /// Draw the charts on standard input, in JSON, as SVG
    Chart,
    /// Print the Markdown page of all keys of a scenario, or the constants of one component
    Reference(ReferenceArgs),
}

/// Arguments of `reference`.
#[derive(Args, Debug)]
struct ReferenceArgs {
    /// Print the constants of this control, path selector or coding in both profiles, not the keys
    name: Option<String>,
}

/// Runs the command with the arguments of this process.
pub fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Bench(args) => bench::bench(&args),
        Command::Chart => chart::chart().map_err(|error| Failure::BadInput(error.to_string())),
        Command::Reference(args) => print_reference(&args),
    };
    let Err(failure) = done else { return ExitCode::SUCCESS };
    let (message, code) = failure.message_and_code();
    output::note(&message);
    ExitCode::from(code)
}

fn print_reference(args: &ReferenceArgs) -> Result<(), Failure> {
    let page = match &args.name {
        Some(name) => reference::constants(name).ok_or_else(|| {
            let all: Vec<_> = reference::components().collect();
            Failure::BadInput(unknown_name("control, path selector or coding", name, &all, &[]))
        })?,
        None => reference::reference(),
    };
    output::text(&page);
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_arguments_are_consistent() {
        super::Cli::command().debug_assert();
    }
}
