//! htsim's topologies (`.topo`): fat trees of two or three tiers.
//!
//! The format has no specification; what is read here is what the loader of uet-htsim accepts. A header (`Nodes`, `Tiers`,
//! `Podsize`) ends at the first `Tier` line; then comes a block for each tier. Keywords are case-insensitive, lines that begin
//! with `#` are comments, values are whole numbers. The wiring is htsim's, host by host and link by link. Where the loader
//! stops, this reader refuses and says why; where it cuts a number short or reads past an unknown header silently, this
//! reader refuses or warns.

mod parse;
mod shape;
#[cfg(test)]
mod tests;
mod wire;

use farspan_scenario::topology::TopologyFile;
use farspan_units::Duration;
use farspan_workload::input::{LONGEST_TOPOLOGY, read_file, utf8};
use std::fmt;
use std::path::Path;

/// A topology of htsim as one of farspan.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
    /// The topology file with the nodes and links of the import.
    pub file: TopologyFile,
    /// How many hosts there are.
    pub hosts: u64,
    /// How many switches there are.
    pub switches: u64,
    /// The `[topology]` table of a scenario that gives the same network by a generator, if one does.
    pub generator: Option<String>,
    /// Warnings about the import.
    pub warnings: Vec<String>,
}

impl Imported {
    /// The topology file, with what it comes from and what it equals as comments on top.
    #[must_use]
    pub fn to_toml(&self, source: &str) -> String {
        let source = source.replace('\n', " ");
        let mut text =
            format!("# From htsim's {source}: {} hosts, {} switches.\n", self.hosts, self.switches);
        if let Some(generator) = &self.generator {
            text += "# The same network by a generator, whose knobs --set reaches:\n#\n#   [topology]\n";
            for line in generator.lines() {
                text += &format!("#   {line}\n");
            }
        }
        text + "\n" + &self.file.to_toml()
    }
}

/// An error in a `.topo` file, with its place.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct TopoError {
    /// The file.
    pub file: String,
    /// The line, from 1, unless the whole file is concerned.
    pub line: Option<usize>,
    /// The problem, with what was expected.
    pub problem: String,
    /// The cure.
    pub cure: String,
}

impl fmt::Display for TopoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}; {}", self.problem, self.cure)
    }
}

/// The links between two sites. A `.topo` file has one site; htsim's programs for two datacenters build it twice, and take the
/// rest as arguments: a border switch for each, links from every switch of the highest tier to it, links between the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TwoSites {
    /// Propagation between the borders, one way.
    pub delay: Duration,
    /// Parallel links between the borders.
    pub links: u32,
    /// Parallel links from each switch of the highest tier to its border.
    pub core_border_links: u32,
}

/// Reads a `.topo` file, as one site, or as each of the two that a `wan` links.
///
/// # Errors
/// If the file cannot be read, or is not one: the error names the line, what is wrong, and the cure.
pub fn read(path: &Path, wan: Option<&TwoSites>) -> Result<Imported, TopoError> {
    let file = path.display().to_string();
    let fail = |problem: String, line| TopoError {
        file: file.clone(),
        line,
        problem,
        cure: "give a topology of htsim (.topo), which is plain text".to_owned(),
    };
    let bytes =
        read_file(path, LONGEST_TOPOLOGY).map_err(|error| fail(format!("cannot be read ({error})"), None))?;
    let text = utf8(bytes).map_err(|error| fail("not UTF-8".to_owned(), Some(error.line)))?;
    parse(&file, &text, wan)
}

/// Reads a `.topo` file from its text; `file` names it in messages.
///
/// # Errors
/// As [`read`].
pub fn parse(file: &str, text: &str, wan: Option<&TwoSites>) -> Result<Imported, TopoError> {
    let place = |(line, problem, cure): parse::Flaw| TopoError { file: file.to_owned(), line, problem, cure };
    let (tree, mut warnings) = parse::parse(text).map_err(place)?;
    let shape = shape::Shape::of(&tree).map_err(place)?;
    warnings.extend(shape.odd(&tree));
    let warnings = warnings.into_iter().map(|(line, text)| format!("{file}:{line}: {text}")).collect();
    let (sites, borders) = if wan.is_some() { (2, 2) } else { (1, 0) };
    Ok(Imported {
        file: wire::file(&tree, &shape, wan),
        hosts: tree.nodes * sites,
        switches: shape.switches() * sites + borders,
        generator: wire::generator(&tree, &shape).filter(|_| wan.is_none()),
        warnings,
    })
}
