//! htsim's connection matrices: flows, and the triggers that start some of them when others are done.
//!
//! The format has no specification; what is read here is what the loaders of uet-htsim and csg-htsim accept. Tokens stand
//! between single spaces and keywords are case-sensitive. A header (`Nodes`, `Connections`, `Triggers`, `Failures`) ends
//! at the first line of the body: a connection `src->dst`, a `trigger` or a `failure`. Where the loaders stop, or would
//! wait for ever silently, this reader refuses and says why. It differs in three things: sizes may exceed 2 GiB, a
//! start is an exact decimal instead of a 32-bit float, and line ends may be those of Windows.

mod error;
mod number;
mod parse;
#[cfg(test)]
mod tests;
mod wait;

pub use error::{CmError, Problem};

use farspan_workload::list::{Row, describe};
use farspan_workload::text::{self, TextProblem};
use std::path::Path;

/// The unit of `start`: it depends on the program that a file was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeUnit {
    /// Microseconds: htsim_uec, htsim_swift.
    Us,
    /// Picoseconds: htsim_ndp, htsim_eqds, htsim_hpcc, htsim_roce, and the generators that come with htsim.
    Ps,
}

/// Starts from here on, in ns, are suspicious in a file of microseconds: 10^6 of them.
const LATE_NS: u64 = 1_000_000_000;

/// A connection matrix as a flow list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Matrix {
    /// One row a connection, in the order of the file.
    pub rows: Vec<Row>,
    /// Number of hosts, from `Nodes`.
    pub hosts: Option<u32>,
    /// How many triggers start flows.
    pub triggers: usize,
    /// Warnings about the import.
    pub warnings: Vec<String>,
}

/// Reads a connection matrix. `nodes` takes the place of a wrong `Nodes`.
///
/// # Errors
/// If the file cannot be read, or is not one: the error names the line, the token, what was expected, and the cure.
pub fn read(path: &Path, unit: TimeUnit, nodes: Option<u32>) -> Result<Matrix, CmError> {
    let file = path.display().to_string();
    match text::read(path) {
        Ok(text) => parse(&file, &text, unit, nodes),
        Err(TextProblem::Unreadable(reason)) => Err(Problem::Unreadable(reason).at(&file, None)),
        Err(TextProblem::NotUtf8(line)) => Err(Problem::NotUtf8.at(&file, Some(line))),
    }
}

/// Reads a connection matrix from its text; `file` names it in messages.
///
/// # Errors
/// As [`read`].
pub fn parse(file: &str, text: &str, unit: TimeUnit, nodes: Option<u32>) -> Result<Matrix, CmError> {
    let parsed = parse::parse(file, text, unit, nodes)?;
    let triggers = wait::triggers(file, &parsed)?;
    let row = |c: &parse::Connection| Row {
        src: c.src.into(),
        dst: c.dst.into(),
        size_bytes: c.size,
        start_ns: c.start.map_or(0, |start| start.ns),
        ..Row::default()
    };
    let mut rows: Vec<Row> = parsed.connections.iter().map(row).collect();
    for (id, trigger) in &triggers {
        describe(&mut rows, trigger, &id.to_string());
    }
    let warnings = warnings(file, &parsed, unit);
    Ok(Matrix { rows, hosts: parsed.nodes, triggers: triggers.len(), warnings })
}

fn warnings(file: &str, parsed: &parse::Parsed, unit: TimeUnit) -> Vec<String> {
    let mut warnings: Vec<_> =
        parsed.odd.iter().map(|(line, text)| format!("{file}:{line}: {text}")).collect();
    let starts = || parsed.connections.iter().filter_map(|c| Some((c.line, c.start?)));
    if let Some((line, start)) = starts().max_by_key(|(_, start)| start.ns)
        && unit == TimeUnit::Us
        && start.ns >= LATE_NS
    {
        warnings.push(format!(
            "{file}:{line}: the largest start is {} s; if the file was made for htsim_ndp, htsim_eqds, htsim_hpcc or \
             htsim_roce, or by htsim's generators, its unit is ps: give --time-unit ps",
            start.ns as f64 / 1e9
        ));
    }
    let mut first = |odd: &dyn Fn(&number::Start) -> bool, what: &str| {
        let mut found = starts().filter(|(_, start)| odd(start));
        if let Some((line, _)) = found.next() {
            let more = found.count();
            let also = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            warnings.push(format!("{file}:{line}: {what}{also}"));
        }
    };
    first(&|start| start.rounded, "the start is not a whole number of ns, and was rounded half up");
    if unit == TimeUnit::Us {
        let cut = |start: &number::Start| start.rounded || !start.ns.is_multiple_of(1000);
        first(
            &cut,
            "the start is not a whole number of us: it is kept, but htsim would cut the fraction off",
        );
    }
    warnings
}
