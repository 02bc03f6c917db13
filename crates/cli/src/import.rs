//! `farspan import`.

use crate::Failure;
use clap::{Args, Subcommand};
use farspan_formats::cm::TimeUnit;
use farspan_formats::{Format, cm, hpcc, htsim, list};
use farspan_scenario::unknown_name;
use farspan_terminal::format::counted;
use farspan_terminal::output;
use farspan_units::Duration;
use std::io::Read as _;
use std::path::{Path, PathBuf};

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

fn time_unit(text: &str) -> Result<TimeUnit, String> {
    match text {
        "us" => Ok(TimeUnit::Us),
        "ps" => Ok(TimeUnit::Ps),
        _ => Err(unknown_name("time unit", text, &["us", "ps"], &[])),
    }
}

/// A time.
pub fn delay(text: &str) -> Result<Duration, String> {
    text.parse::<Duration>().map_err(|error| error.to_string())
}

/// Whose constants an imported scenario takes, where they differ by scenario.
const CONSTANTS: &str = "for --profile artifact, choose its constants with a line such as constants = \"uno/permutation\" at its head";

/// The part of a refused file that is looked at for its format.
const HEAD: u64 = 1 << 14;

/// Turns another tool's workload into a flow list or a scenario, or its topology into a topology file.
pub fn import(args: &ImportArgs) -> Result<(), Failure> {
    match &args.format {
        ImportFormat::Cm(args) => connection_matrix(args),
        ImportFormat::Topo(args) => topology(args),
        ImportFormat::Hpcc(args) => scenario(args),
        ImportFormat::Other(words) => Err(Failure::BadInput(unknown_format(words))),
    }
}

/// Why a file was refused, which begins with its name, and the format that it seems to have, unless that is the one it was given for.
fn refused(error: &impl std::fmt::Display, read: &[(&Path, Format)]) -> Failure {
    let mut text = error.to_string();
    let is_named = |(file, _): &&(&Path, Format)| text.starts_with(&format!("{}:", file.display()));
    let Some((file, expected)) = read.iter().find(is_named) else { return Failure::BadInput(text) };
    let mut head = Vec::new();
    let looked_at = std::fs::File::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    if let Some(format) = Format::of(&head).filter(|format| looked_at.is_ok() && format != expected) {
        text += &format!("; the file looks like {format}");
    }
    Failure::BadInput(text)
}

fn topology(args: &TopoArgs) -> Result<(), Failure> {
    let wan = args.wan_delay.map(|delay| htsim::TwoSites {
        delay,
        links: args.wan_links,
        core_border_links: args.core_border_links,
    });
    let topology = htsim::read(&args.file, wan.as_ref())
        .map_err(|error| refused(&error, &[(args.file.as_path(), Format::HtsimTopology)]))?;
    for warning in &topology.warnings {
        output::note(&format!("warning: {warning}"));
    }
    let text = topology.to_toml(&args.file.file_name().unwrap_or_default().to_string_lossy());
    let Some(out) = &args.output else {
        output::text(&text);
        return Ok(());
    };
    farspan_world::write(out, &text)?;
    output::text(&format!(
        "wrote {}: {} hosts, {} switches; next: write a scenario with kind = \"from_file\" and this file under [topology]; {CONSTANTS}\n",
        out.display(),
        topology.hosts,
        topology.switches,
    ));
    Ok(())
}

/// Why a unit is needed, and which.
fn no_time_unit(file: &Path) -> String {
    format!(
        "--time-unit is missing: {} does not name the unit of `start`, and htsim's programs differ. Write\n  \
         --time-unit us   (microseconds) if it was made for htsim_uec or htsim_swift\n  \
         --time-unit ps   (picoseconds) if it was made for htsim_ndp, htsim_eqds, htsim_hpcc or htsim_roce, or comes from \
         htsim's generators (connection_matrices/*.py)",
        file.display()
    )
}

fn connection_matrix(args: &CmArgs) -> Result<(), Failure> {
    let unit = args.time_unit.ok_or_else(|| Failure::BadInput(no_time_unit(&args.file)))?;
    let matrix = cm::read(&args.file, unit, args.nodes)
        .map_err(|error| refused(&error, &[(args.file.as_path(), Format::ConnectionMatrix)]))?;
    for warning in &matrix.warnings {
        output::note(&format!("warning: {warning}"));
    }
    let Some(out) = &args.output else {
        output::text(&list::to_csv(&matrix.rows));
        return Ok(());
    };
    list::save(out, &matrix.rows).map_err(|error| Failure::Failed(error.to_string()))?;
    let hosts =
        matrix.hosts.map_or(String::new(), |hosts| format!(", for {}", counted(hosts as usize, "host")));
    output::text(&format!(
        "wrote {}: {}, {}{hosts}; next: write a scenario with kind = \"flows\" and this file; {CONSTANTS}\n",
        out.display(),
        counted(matrix.rows.len(), "flow"),
        counted(matrix.triggers, "trigger"),
    ));
    Ok(())
}

/// The files of an imported scenario.
struct ScenarioFiles {
    scenario: PathBuf,
    topology: PathBuf,
    flows: PathBuf,
}

impl ScenarioFiles {
    /// The scenario of this name, and what it reads beside it.
    fn new(scenario: &Path) -> Self {
        let beside = |what: &str| {
            let stem = scenario.file_stem().unwrap_or_default().to_string_lossy();
            scenario.with_file_name(format!("{stem}-{what}"))
        };
        Self { scenario: scenario.to_owned(), topology: beside("topology.toml"), flows: beside("flows.csv") }
    }

    /// A file's name for a scenario that lies beside it.
    fn name(file: &Path) -> String {
        file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Writes the three, the scenario last. Of files that were not there before, a failure leaves none.
    fn write(&self, imported: &hpcc::ImportedRun) -> Result<(), Failure> {
        let text = imported.scenario(&Self::name(&self.topology), &Self::name(&self.flows));
        let all = [&self.topology, &self.flows, &self.scenario];
        let new: Vec<_> = all.into_iter().filter(|file| !file.exists()).collect();
        let written = farspan_world::write(&self.topology, &imported.topology.to_toml())
            .map_err(Failure::from)
            .and_then(|()| {
                list::save(&self.flows, &imported.rows).map_err(|error| Failure::Failed(error.to_string()))
            })
            .and_then(|()| Ok(farspan_world::write(&self.scenario, &text)?));
        if written.is_err() {
            // One that cannot be removed either is a valid file of its own.
            new.into_iter().for_each(|file| drop(std::fs::remove_file(file)));
        }
        written
    }
}

fn scenario(args: &HpccArgs) -> Result<(), Failure> {
    let files = ScenarioFiles::new(args.output.as_deref().unwrap_or(Path::new("scenario.toml")));
    if args.output.is_none() {
        for file in [&files.scenario, &files.topology, &files.flows] {
            if file.exists() {
                let problem =
                    format!("{} exists already; give another name with -o FILE.toml", file.display());
                return Err(Failure::BadInput(problem));
            }
        }
    }
    let mut read = vec![(&*args.topology, Format::HpccTopology), (&*args.flows, Format::HpccFlows)];
    read.extend(args.config.as_deref().map(|config| (config, Format::HpccConfig)));
    let imported = hpcc::read(&args.topology, &args.flows, args.config.as_deref())
        .map_err(|error| refused(&error, &read))?;
    for warning in &imported.warnings {
        output::note(&format!("warning: {warning}"));
    }
    files.write(&imported)?;
    let switches = match imported.switches {
        1 => "1 switch".to_owned(),
        n => format!("{n} switches"),
    };
    output::text(&format!(
        "wrote {}, {} and {}: {}, {}, {}; next: farspan run {}\n",
        files.scenario.display(),
        ScenarioFiles::name(&files.topology),
        ScenarioFiles::name(&files.flows),
        counted(imported.hosts, "host"),
        switches,
        counted(imported.rows.len(), "flow"),
        files.scenario.display(),
    ));
    Ok(())
}
