//! Files of HPCC's simulator (ns-3 with RDMA hosts), and of SimAI's fork of it: a topology, flows, settings.
//!
//! The formats have no specification; what is read here is what the simulator's own loader takes. Files are words between
//! blanks, counts stand before what they count, and what follows the last counted line is left out. Where the loader goes on
//! with what it happened to read, this reader refuses and says why.

mod config;
mod control;
mod fct;
mod flows;
mod quantity;
#[cfg(test)]
mod tests;
mod topology;
mod write;

pub use fct::{FctError, FctNames};

use config::Config;
use farspan_scenario::limits::LONGEST_RUN;
use farspan_scenario::topology::TopologyFile;
use farspan_units::Duration;
use farspan_workload::input::{LONGEST_LIST, LONGEST_SCENARIO, LONGEST_TOPOLOGY, read_file, utf8};
use farspan_workload::list::Row;
use std::fmt;
use std::path::Path;

/// When traffic starts there: its generators and its link failures count from this time.
const TRAFFIC_START: Duration = Duration::from_ms(2000);

/// A run of HPCC's simulator as farspan has it: a topology, a list of flows, and a scenario around them.
#[derive(Clone, PartialEq, Debug)]
pub struct ImportedRun {
    /// Nodes and links; a node's name is its id there, such as `node17`.
    pub topology: TopologyFile,
    /// One row a flow, in the order of the file.
    pub rows: Vec<Row>,
    /// How many hosts there are.
    pub hosts: usize,
    /// How many switches there are.
    pub switches: usize,
    /// Warnings about the import.
    pub warnings: Vec<String>,
    /// The time there that is zero here.
    pub zero: Duration,
    config: Config,
    header: u64,
    links: write::LinkFacts,
}

/// A file by its name in messages, and its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HpccText<'a> {
    /// The name.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// An error in a file of HPCC's simulator, with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct HpccError {
    /// The file.
    pub file: String,
    /// The line, from 1, unless the whole file is concerned.
    pub line: Option<usize>,
    /// The problem, with what was expected.
    pub problem: String,
    /// The cure.
    pub cure: String,
}

impl fmt::Display for HpccError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.problem, self.cure)
    }
}

/// A line (from 1; none: the whole file), what is wrong, what to do.
type HpccFlaw = (Option<usize>, String, String);

fn flaw<T>(line: usize, problem: impl Into<String>, cure: impl Into<String>) -> Result<T, HpccFlaw> {
    Err((Some(line), problem.into(), cure.into()))
}

/// Warnings with their lines.
type Odd = Vec<(usize, String)>;

/// Reads the files.
///
/// # Errors
/// If one cannot be read, or is not such a file: the error names file and line, what is wrong, and the cure.
pub fn read(topology: &Path, flows: &Path, config: Option<&Path>) -> Result<ImportedRun, HpccError> {
    let texts = [
        Some((topology, LONGEST_TOPOLOGY, "give a topology of HPCC's simulator, which is plain text")),
        Some((flows, LONGEST_LIST, "give a list of flows of HPCC's simulator, which is plain text")),
        config.map(|config| {
            (config, LONGEST_SCENARIO, "give a configuration of HPCC's simulator, which is plain text")
        }),
    ];
    let mut read = Vec::new();
    for (path, longest, cure) in texts.into_iter().flatten() {
        read.push((path.display().to_string(), text(path, longest, cure)?));
    }
    let mut sources = read.iter().map(|(name, text)| HpccText { name, text });
    let mut next = || sources.next().expect("each file has been read");
    parse(next(), next(), config.map(|_| next()))
}

fn text(path: &Path, longest: u64, cure: &str) -> Result<String, HpccError> {
    let fail = |problem: String, line| HpccError {
        file: path.display().to_string(),
        line,
        problem,
        cure: cure.to_owned(),
    };
    let bytes = read_file(path, longest).map_err(|error| fail(format!("cannot be read ({error})"), None))?;
    utf8(bytes).map_err(|error| fail("not UTF-8".to_owned(), Some(error.line)))
}

/// Reads the files from their texts.
///
/// # Errors
/// As [`read`].
pub fn parse(
    topology: HpccText<'_>,
    flows: HpccText<'_>,
    config: Option<HpccText<'_>>,
) -> Result<ImportedRun, HpccError> {
    let place = |source: HpccText<'_>| {
        let file = source.name.to_owned();
        move |(line, problem, cure): HpccFlaw| HpccError { file, line, problem, cure }
    };
    let mut warnings = Vec::new();
    let mut say = |source: HpccText<'_>, odd: Odd| {
        warnings.extend(odd.into_iter().map(|(line, text)| format!("{}:{line}: {text}", source.name)));
    };
    let (network, odd) = topology::parse(topology.text).map_err(place(topology))?;
    say(topology, odd);
    let (list, odd) = flows::parse(flows.text, &network).map_err(place(flows))?;
    say(flows, odd);
    let settings = match config {
        None => Config::default(),
        Some(config) => {
            let (settings, odd) = config::parse(config.text, &network).map_err(place(config))?;
            say(config, odd);
            settings
        }
    };
    let faster = network.links.iter().find(|link| link.rate > control::host_rate(&network));
    if let Some(link) = faster {
        let text = "in the simulator a port that is faster than the hosts' may take more of a switch's buffer; in farspan it may not";
        say(topology, vec![(link.line, text.to_owned())]);
    }
    let zero = if list.first < TRAFFIC_START { Duration::ZERO } else { TRAFFIC_START };
    if let (Some(config), Some((line, stop))) = (config, settings.stop)
        && stop.saturating_sub(zero) > LONGEST_RUN
    {
        let text =
            format!("SIMULATOR_STOP_TIME is beyond the longest run here, which ends after {LONGEST_RUN}");
        say(config, vec![(line, text)]);
    }
    let file = write::topology(&network);
    write::check(&file)
        .map_err(|problem| place(topology)((None, problem, "correct the topology".to_owned())))?;
    Ok(ImportedRun {
        topology: file,
        rows: list.rows(zero),
        hosts: network.hosts(),
        switches: network.switches(),
        warnings,
        zero,
        config: settings,
        header: if network.is_simai { 52 } else { 48 },
        links: write::LinkFacts::of(&network),
    })
}

/// The lines that are not blank, with their numbers from 1, as words.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let rows = (1..).zip(text.trim_start_matches('\u{feff}').lines());
    rows.map(|(n, line)| (n, line.split_whitespace().collect()))
        .filter(|(_, words): &(_, Vec<_>)| !words.is_empty())
}

/// A piece of an input, cut short for a message.
fn shown(piece: &str) -> String {
    match piece.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}...", &piece[..end]),
        None => format!("{piece:?}"),
    }
}

/// A whole number in a range, both ends included.
fn whole(line: usize, what: &str, text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, HpccFlaw> {
    let cure = || format!("write a whole number from {} to {}", range.start(), range.end());
    match text.parse::<u64>() {
        Ok(value) if range.contains(&value) => Ok(value),
        Ok(value) => flaw(line, format!("{what} {value} is out of range"), cure()),
        Err(_) => flaw(line, format!("{what}: {} is not a whole number", shown(text)), cure()),
    }
}

/// The warning of lines behind the counted ones.
fn left_out<'a>(mut rest: impl Iterator<Item = (usize, Vec<&'a str>)>, counted: u64, what: &str) -> Odd {
    let Some((line, _)) = rest.next() else { return Vec::new() };
    let text = format!(
        "{} lines from here on are ignored, as in the simulator: the file counts {counted} {what}",
        1 + rest.count()
    );
    vec![(line, text)]
}
