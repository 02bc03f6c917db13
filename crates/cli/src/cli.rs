//! The whole command line: every command with its arguments, and what runs it. Each command's own arguments stand in its module.

use crate::bench::BenchArgs;
#[cfg(feature = "ledger")]
use crate::bundle::BundleArgs;
use crate::check::CheckArgs;
use crate::compare::CompareArgs;
use crate::demo::DemoArgs;
#[cfg(all(target_os = "linux", feature = "emu"))]
use crate::emu::EmuArgs;
#[cfg(feature = "import")]
use crate::export::ExportArgs;
#[cfg(feature = "import")]
use crate::import::ImportArgs;
#[cfg(all(target_os = "linux", feature = "kernel"))]
use crate::kernel::KernelArgs;
use crate::list::ListArgs;
use crate::new::NewArgs;
use crate::plot::PlotArgs;
use crate::report::ReportArgs;
#[cfg(feature = "ledger")]
use crate::reproduce::ReproduceArgs;
use crate::run::RunArgs;
use crate::schema::SchemaArgs;
use crate::shell::{CompletionsArgs, ManArgs};
use crate::sweep::SweepArgs;
use crate::{Failure, Itself, features, version};
use clap::{CommandFactory as _, Parser, Subcommand};
use farspan_scenario::unknown_name;
use std::ffi::OsString;

/// Simulates traffic inside and across datacenters.
#[derive(Parser, Debug)]
#[command(name = "farspan", version = version::short(), long_version = version::long(), max_term_width = 110)]
pub struct Cli {
    /// The subcommand and its arguments.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands of `farspan`.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run the demo's scenes.
    #[command(about = crate::demo::about())]
    Demo(DemoArgs),
    /// Run a scenario. Several schemes or a grid of values make it a sweep
    Run(RunArgs),
    /// List schemes, congestion, balance, coding, queues, topologies, workloads, scenarios or figures
    List(ListArgs),
    /// Validate a scenario, print it with every default, and estimate its cost. For a sweep file, count the runs and estimate their cost
    Check(CheckArgs),
    /// Write a commented starter: a scenario, a topology file, or the crate of a congestion control
    New(NewArgs),
    /// Print every key of scenarios or topology files, as JSON Schema
    Schema(SchemaArgs),
    /// Compare runs side by side: medians, and ratios paired by seed
    Compare(CompareArgs),
    /// Write an HTML page of results
    Report(ReportArgs),
    /// Run the simulations behind figures of papers, and check every claim
    #[cfg(feature = "ledger")]
    Reproduce(ReproduceArgs),
    /// Pack a figure's runs, results and instructions into one archive, or run such an archive again and compare every number
    #[cfg(feature = "ledger")]
    Bundle(BundleArgs),
    /// Run a grid of schemes, values and seeds, from a file or from arguments. Skips runs that are already complete
    Sweep(SweepArgs),
    /// Plot a result over a key that varies between runs, one line per scheme, as SVG or PDF
    Plot(PlotArgs),
    /// Convert another tool's workload into a flow list or a scenario, or its topology into a topology file
    #[cfg(feature = "import")]
    Import(ImportArgs),
    /// Write results in another tool's format
    #[cfg(feature = "import")]
    Export(ExportArgs),
    /// Run real programs on a scenario's network, with real packets in real time (Linux, as root)
    #[cfg(all(target_os = "linux", feature = "emu"))]
    Emu(EmuArgs),
    /// Install TCP congestion controls and phantom queues in the kernel, as eBPF programs (Linux, as root)
    #[cfg(all(target_os = "linux", feature = "kernel"))]
    Kernel(KernelArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Write man pages
    Man(ManArgs),
    /// Measure how fast farspan runs on this machine
    Bench(BenchArgs),
    /// Commands of later releases, and unknown ones.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// Commands that later releases bring.
#[cfg(target_os = "linux")]
const PLANNED: &[&str] = &["keygen", "send", "recv", "proxy", "doctor"];
#[cfg(not(target_os = "linux"))]
const PLANNED: &[&str] = &["keygen", "send", "recv", "proxy", "emu", "kernel", "doctor"];

/// The message for a command that is not there.
fn unknown_command(words: &[String]) -> String {
    let name = words.first().map_or("", String::as_str);
    features::absent(name).unwrap_or_else(|| {
        let command = Cli::command();
        let available: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        unknown_name("command", name, &available, PLANNED)
    })
}

impl Command {
    /// Runs the command. `words` are those of the command line.
    pub fn run(self, words: &[OsString], itself: &Itself<'_>) -> Result<(), Failure> {
        match self {
            Self::Demo(demo) => crate::demo::demo(&demo),
            Self::Run(run) => crate::run::run(&run, itself),
            Self::List(list) => crate::list::list(&list),
            Self::Check(check) => crate::check::check(&check),
            Self::New(new) => crate::new::new(&new),
            Self::Schema(schema) => {
                crate::schema::schema(&schema);
                Ok(())
            }
            Self::Bench(bench) => crate::bench::bench(&bench, itself.words),
            Self::Compare(compare) => crate::compare::compare(&compare),
            Self::Report(report) => crate::report::report(&report),
            #[cfg(feature = "ledger")]
            Self::Reproduce(reproduce) => crate::reproduce::reproduce(&reproduce, itself),
            #[cfg(feature = "ledger")]
            Self::Bundle(bundle) => crate::bundle::bundle(&bundle, itself),
            Self::Sweep(sweep) => crate::sweep::sweep(&sweep, words, itself),
            Self::Plot(plot) => crate::plot::plot(&plot),
            #[cfg(feature = "import")]
            Self::Import(import) => crate::import::import(&import),
            #[cfg(feature = "import")]
            Self::Export(export) => crate::export::export(&export),
            #[cfg(all(target_os = "linux", feature = "emu"))]
            Self::Emu(emu) => crate::emu::emu(&emu, itself),
            #[cfg(all(target_os = "linux", feature = "kernel"))]
            Self::Kernel(kernel) => crate::kernel::kernel(&kernel),
            Self::Completions(completions) => {
                crate::shell::completions(&completions, &mut Cli::command());
                Ok(())
            }
            Self::Man(man) => crate::shell::man(&man, Cli::command()),
            Self::Other(words) => Err(Failure::BadInput(unknown_command(&words))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    /// Every command with its name, those below others included.
    fn commands(command: &clap::Command, name: &str, all: &mut Vec<(String, clap::Command)>) {
        all.push((name.to_owned(), command.clone()));
        for below in command.get_subcommands() {
            commands(below, &format!("{name} {}", below.get_name()), all);
        }
    }

    #[test]
    fn every_command_with_an_output_takes_it_by_one_letter_and_two_names() {
        let mut all = Vec::new();
        commands(&Cli::command(), "farspan", &mut all);
        let mut with_output = Vec::new();
        for (name, command) in &all {
            let named = |arg: &&clap::Arg| matches!(arg.get_id().as_str(), "out" | "output");
            let Some(arg) = command.get_arguments().find(named) else { continue };
            let other = if arg.get_id() == "out" { "output" } else { "out" };
            let takes_folder = arg.get_value_names().is_some_and(|names| names[0] == "DIR");
            assert_eq!(arg.get_id() == "out", takes_folder, "{name}: --out is a folder, --output a file");
            assert_eq!(arg.get_short(), Some('o'), "{name}");
            assert!(arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&other)), "{name}");
            assert_eq!(arg.get_visible_aliases().map_or(0, |aliases| aliases.len()), 0, "{name}");
            with_output.push(name.as_str());
        }
        let expected = [
            "run",
            "sweep",
            "demo",
            "compare",
            "report",
            "new",
            "man",
            #[cfg(feature = "import")]
            "import cm",
            #[cfg(feature = "import")]
            "export hpcc",
            #[cfg(feature = "ledger")]
            "reproduce",
            #[cfg(feature = "ledger")]
            "bundle",
        ];
        for expected in expected {
            assert!(
                with_output.contains(&format!("farspan {expected}").as_str()),
                "{expected}: {with_output:?}"
            );
        }
    }
}
