//! `farspan export`.

use crate::Failure;
use crate::import::delay;
use clap::{Args, Subcommand};
use farspan_formats::hpcc::FctNames;
use farspan_scenario::unknown_name;
use farspan_terminal::output;
use farspan_units::Duration;
use std::path::PathBuf;

/// Arguments of `export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Whose format.
    #[command(subcommand)]
    pub format: ExportFormat,
}

/// Whose format to write results in.
#[derive(Subcommand, Debug)]
pub enum ExportFormat {
    /// Completion times as HPCC's simulator writes them (fct.txt)
    Hpcc(HpccFctArgs),
    /// Unknown ones.
    #[command(external_subcommand)]
    Other(Vec<String>),
}

/// The message for a format that cannot be exported.
pub fn unknown_export(words: &[String]) -> String {
    unknown_name("format", words.first().map_or("", String::as_str), &["hpcc"], &[])
}

/// Arguments of `export hpcc`.
#[derive(Args, Debug)]
pub struct HpccFctArgs {
    /// The folder of a run, written by `farspan run --out`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The topology (topology.txt) that was imported. Hosts are written with their ids in this file, not with their numbers in farspan
    #[arg(long, value_name = "FILE")]
    pub topology: Option<PathBuf>,
    /// Time in the output that stands for time zero of the run
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = delay)]
    pub zero: Duration,
    /// File for the lines [default: standard output]
    #[arg(short, long, alias = "out", value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Writes results as another tool does.
pub fn export(args: &ExportArgs) -> Result<(), Failure> {
    match &args.format {
        ExportFormat::Hpcc(args) => fct(args),
        ExportFormat::Other(words) => Err(Failure::BadInput(unknown_export(words))),
    }
}

fn fct(args: &HpccFctArgs) -> Result<(), Failure> {
    let mut names = FctNames::default().with_zero(args.zero);
    if let Some(topology) = &args.topology {
        names = names.with_topology(topology).map_err(|error| Failure::BadInput(error.to_string()))?;
    }
    let table = args.folder.join("flows.parquet");
    let flows = farspan_metrics::read_flows(&table).map_err(|error| Failure::BadInput(error.to_string()))?;
    let text = names.write(&flows).map_err(|error| Failure::BadInput(error.to_string()))?;
    match &args.output {
        None => output::text(&text),
        Some(file) => farspan_world::write(file, &text)?,
    }
    Ok(())
}
