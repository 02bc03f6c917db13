//! The arguments.

use crate::ask_args::{AskArgs, one_scheme, part};
use crate::bench::BenchArgs;
use crate::bundle::BundleArgs;
#[cfg(target_os = "linux")]
pub use crate::emu_args::*;
use crate::export::ExportArgs;
#[cfg(target_os = "linux")]
pub use crate::kernel_args::*;
use crate::plot::PlotArgs;
use crate::reproduce::ReproduceArgs;
use crate::shell::{CompletionsArgs, ManArgs};
use crate::sweep::SweepArgs;
use crate::version;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use farspan_formats::cm::TimeUnit;
use farspan_scenario::value::SchemePart;
use farspan_scenario::{Request, SeedsError, unknown_name};
use farspan_units::Duration;
use farspan_world::EngineKind;
use farspan_world::runner::engine;
use std::path::PathBuf;

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
    Reproduce(ReproduceArgs),
    /// Pack a figure's runs, results and instructions into one archive, or run such an archive again and compare every number
    Bundle(BundleArgs),
    /// Run a grid of schemes, values and seeds, from a file or from arguments. Skips runs that are already complete
    Sweep(SweepArgs),
    /// Plot a result over a key that varies between runs, one line per scheme, as SVG or PDF
    Plot(PlotArgs),
    /// Convert another tool's workload into a flow list or a scenario, or its topology into a topology file
    Import(ImportArgs),
    /// Write results in another tool's format
    Export(ExportArgs),
    /// Run real programs on a scenario's network, with real packets in real time (Linux, as root)
    #[cfg(target_os = "linux")]
    Emu(EmuArgs),
    /// Install TCP congestion controls and phantom queues in the kernel, as eBPF programs (Linux, as root)
    #[cfg(target_os = "linux")]
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
pub fn unknown_command(words: &[String]) -> String {
    let command = Cli::command();
    let available: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
    unknown_name("command", words.first().map_or("", String::as_str), &available, PLANNED)
}

/// Which scenario, and what changes it.
#[derive(Args, Debug)]
pub struct ScenarioArgs {
    /// A file, or the name of a built-in scenario (`farspan list scenarios`)
    pub scenario: String,
    /// Scheme: a built-in name (`farspan list schemes`), CC+LB, or A/B (A inside a datacenter, B between datacenters)
    #[arg(long, value_name = "NAME", value_parser = one_scheme)]
    pub scheme: Option<String>,
    /// Set of constants: paper, or artifact (those of the published code; also called published-code)
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Set a key of the scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
}

impl ScenarioArgs {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--scheme", self.scheme.is_some()),
            ("--profile", self.profile.is_some()),
            ("--set", !self.set.is_empty()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// The request that they make.
    pub fn request(&self, seed: Option<u64>) -> Request {
        Request {
            scenario: self.scenario.clone(),
            scheme: self.scheme.clone(),
            profile: self.profile.clone(),
            seed,
            set: self.set.clone(),
            ..Request::default()
        }
    }
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// A file, or the name of a built-in scenario (`farspan list scenarios`)
    pub scenario: String,
    /// Schemes, values and axes.
    #[command(flatten)]
    pub ask: AskArgs,
    /// Seed of all random draws
    #[arg(long, conflicts_with = "seeds", allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
    /// Several seeds: A..B (both ends included) or a list, such as 1,2,5. --seeds 5 is the single seed 5; --seeds 1..5 is
    /// five seeds. A 95% interval needs six seeds
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub seeds: Option<Seeds>,
    /// Maximum number of threads. The windowed engine uses at most one per site or pod. The result does not depend on it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// Engine: windowed (fast) or oracle (simple and slow). Both give the same result
    #[arg(long, value_name = "NAME", default_value = "windowed", value_parser = engine)]
    pub engine: EngineKind,
    /// Folder for summary.json, scenario.toml, the Parquet tables and report.html. With several schemes or --grid it is a
    /// sweep's folder, and complete runs in it are skipped [default of a sweep: the scenario's name]
    #[arg(short, long, alias = "output", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace whatever is in --out. Without it, only results of the same scenario, scheme, profile and seeds are replaced
    #[arg(long)]
    pub force: bool,
    /// Log the events of flows as qlog in DIR/trace: flow=17,20..29, tag=NAME or class=inter; can be given several times
    #[arg(long, value_name = "FLOWS")]
    pub trace: Vec<String>,
    /// Capture the packets of ports in DIR/trace/ports.pcapng: a port's name or a pattern, such as 'tor0->*'; can be given several times
    #[arg(long, value_name = "PORT")]
    pub pcap: Vec<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
    /// End when standard input does: what started this run has ended
    #[arg(long, hide = true)]
    pub end_with_stdin: bool,
}

/// Several seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seeds(pub Vec<u64>);

pub fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| i64::try_from(*seed).is_ok());
    seed.ok_or_else(|| format!("write a whole number from 0 to {}, such as 7", i64::MAX))
}

pub fn seeds(text: &str) -> Result<Seeds, SeedsError> {
    farspan_scenario::seeds(text).map(Seeds)
}

/// Arguments of `demo`.
#[derive(Args, Debug)]
pub struct DemoArgs {
    /// First seed
    #[arg(long, default_value_t = 1, allow_negative_numbers = true, value_parser = seed)]
    pub seed: u64,
    /// Seeds to use instead of each scenario's own: A..B (both ends included) or a list. A 95% interval needs six seeds
    #[arg(long, value_name = "A..B", conflicts_with = "seed", value_parser = seeds)]
    pub seeds: Option<Seeds>,
    /// Set a key of every scenario; can be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    pub set: Vec<String>,
    /// Parts of each scenario's first scheme that its other schemes use too: recovery, balance, coding
    #[arg(long, value_name = "PART[,PART]...", value_delimiter = ',', value_parser = part)]
    pub same: Vec<SchemePart>,
    /// Folder for the results of every run, and report.html
    #[arg(short, long, alias = "output", value_name = "DIR", default_value = "farspan-demo")]
    pub out: PathBuf,
    /// Replace whatever is in the folder. Without it, only results of the same demo are replaced
    #[arg(long)]
    pub force: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long)]
    pub quiet: bool,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Folders written by `farspan run --out`, or folders that contain them. Ratios are over the first
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Compute ratios over this run instead of the first. Give its name in the table: a scheme, or more where one scheme has several runs
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Also write an HTML page
    #[arg(short, long, alias = "out", value_name = "FILE.html")]
    pub output: Option<PathBuf>,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// A folder written by `farspan run --out`, or a folder that contains such folders
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The page to write [default: report.html in the folder]
    #[arg(short, long, alias = "out", value_name = "FILE.html")]
    pub output: Option<PathBuf>,
}

/// Arguments of `list`.
#[derive(Args, Debug)]
pub struct ListArgs {
    /// schemes, congestion, balance, coding, queues, topologies, workloads, scenarios or figures. Without it, the kinds are listed
    pub kind: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The scenario, or a sweep.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Print only the summary and the cost, not the scenario itself
    #[arg(long)]
    pub brief: bool,
    /// Seed of all random draws
    #[arg(long, allow_negative_numbers = true, value_parser = seed)]
    pub seed: Option<u64>,
}

/// Arguments of `schema`.
#[derive(Args, Debug)]
pub struct SchemaArgs {
    /// Print the JSON Schema of topology files
    #[arg(long)]
    pub topology: bool,
}

/// Arguments of `new`.
#[derive(Args, Debug)]
pub struct NewArgs {
    /// The file to write, which must not exist, or the folder of a crate, which must be empty; default: scenario.toml,
    /// topology.toml, or the control's name
    pub file: Option<PathBuf>,
    /// Another way to name it
    #[arg(short, long, alias = "out", value_name = "FILE", conflicts_with = "file")]
    pub output: Option<PathBuf>,
    /// A topology file instead of a scenario
    #[arg(long)]
    pub topology: bool,
    /// The crate of a congestion control with this name, its tests, and the whole command with it
    #[arg(long, value_name = "NAME", conflicts_with = "topology")]
    pub control: Option<String>,
    /// The checkout of farspan whose crates the control's crate is built on; default: the one that this program was built
    /// from, or that the current folder is in
    #[arg(long, value_name = "DIR", requires = "control")]
    pub farspan: Option<PathBuf>,
}

/// Arguments of `import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// Whose workload.
    #[command(subcommand)]
    pub format: ImportFormat,
}

/// Whose workload to import.
#[derive(Subcommand, Debug)]
pub enum ImportFormat {
    /// A connection matrix of htsim (.cm, .tm)
    Cm(CmArgs),
    /// A topology of htsim (.topo), as a topology file
    Topo(TopoArgs),
    /// Topology, flows and configuration of HPCC's simulator (ns-3) or SimAI's, as a scenario
    Hpcc(HpccArgs),
    /// Formats of later releases, and unknown ones.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// The message for a format that cannot be imported.
pub fn unknown_format(words: &[String]) -> String {
    unknown_name("format", words.first().map_or("", String::as_str), &["cm", "hpcc", "topo"], &["goal"])
}

/// Arguments of `import cm`.
#[derive(Args, Debug)]
#[command(override_usage = "farspan import cm --time-unit <us|ps> [--nodes <N>] [-o <FILE>] <FILE>")]
pub struct CmArgs {
    /// The connection matrix
    pub file: PathBuf,
    /// Unit of `start`. The file does not name it, and htsim's programs differ: us for files of htsim_uec and
    /// htsim_swift; ps for htsim_ndp, htsim_eqds, htsim_hpcc, htsim_roce and htsim's generators [required]
    #[arg(long, value_name = "us|ps", value_parser = time_unit)]
    pub time_unit: Option<TimeUnit>,
    /// Number of hosts, if the file's `Nodes` is wrong or missing
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub nodes: Option<u32>,
    /// File for the list: Parquet if it ends in .parquet, else CSV [default: CSV on standard output]
    #[arg(short, long, alias = "out", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `import topo`.
#[derive(Args, Debug)]
pub struct TopoArgs {
    /// The topology
    pub file: PathBuf,
    /// Build two sites of this topology, with this one-way delay between their border switches (htsim's -interdcDelay), such as 886500ns
    #[arg(long, value_name = "TIME", value_parser = delay)]
    pub wan_delay: Option<Duration>,
    /// With --wan-delay: parallel links between the border switches
    #[arg(long, value_name = "N", default_value_t = 8, requires = "wan_delay", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub wan_links: u32,
    /// With --wan-delay: parallel links from each switch of the highest tier to its border switch
    #[arg(long, value_name = "N", default_value_t = 8, requires = "wan_delay", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub core_border_links: u32,
    /// File for the topology in TOML [default: standard output]
    #[arg(short, long, alias = "out", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `import hpcc`.
#[derive(Args, Debug)]
pub struct HpccArgs {
    /// The topology (topology.txt): nodes, switches and links
    #[arg(value_name = "TOPOLOGY")]
    pub topology: PathBuf,
    /// The flows (flow.txt)
    #[arg(value_name = "FLOWS")]
    pub flows: PathBuf,
    /// The configuration (config.txt). Only settings that farspan has are read: control, RED, buffers, faults, packets
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// File for the scenario. The topology and the flows are written beside it, as NAME-topology.toml and NAME-flows.csv.
    /// Without it, the name is scenario.toml, and no existing file is replaced
    #[arg(short, long, alias = "out", value_name = "FILE.toml")]
    pub output: Option<PathBuf>,
}

/// A time.
pub fn delay(text: &str) -> Result<Duration, String> {
    text.parse::<Duration>().map_err(|error| error.to_string())
}

fn time_unit(text: &str) -> Result<TimeUnit, String> {
    match text {
        "us" => Ok(TimeUnit::Us),
        "ps" => Ok(TimeUnit::Ps),
        _ => Err(unknown_name("time unit", text, &["us", "ps"], &[])),
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
        for expected in [
            "run",
            "sweep",
            "demo",
            "reproduce",
            "bundle",
            "compare",
            "report",
            "import cm",
            "export hpcc",
            "new",
            "man",
        ] {
            assert!(
                with_output.contains(&format!("farspan {expected}").as_str()),
                "{expected}: {with_output:?}"
            );
        }
    }
}
