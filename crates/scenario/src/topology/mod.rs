//! Topology files: networks of any shape as TOML.
//!
//! Stages of a file: text -> [`TopologyFile`] (keys as written, parameters in their places) -> a graph of nodes and links, which checks itself ->
//! a network. Every error names file, line, column, key, what is wrong, and the cure.

mod graph;
mod model;
mod parameters;

pub use model::{Defaults, Ecmp, Link, Node, Site, TopologyFile};
pub use parameters::Parameters;

use crate::catalog::builtin::BuiltInTopology;
use crate::document::Document;
use crate::error::{Place, Problem, ScenarioError, ValueError};
use crate::limits::{FASTEST, LARGEST_BUFFER, LONGEST_DELAY, SLOWEST, each_within};
use crate::model::{LinkChanges, Topology};
use crate::names;
use crate::reader::read;
use crate::table::join;
use crate::text::schema::Keys;
use farspan_fabric::Network;
use farspan_fabric::topology::Graph;
use farspan_units::{Bytes, Duration, Rate};
use farspan_workload::input::{LONGEST_TOPOLOGY, read_file, utf8};
use parameters::Filled;
use std::collections::BTreeMap;
use std::path::Path;

/// A text that names a parameter, as a regular expression.
const NAMED: &str = r"^\$[A-Za-z][A-Za-z0-9_-]*$";

/// The JSON Schema (2020-12) of a topology file. Quantities and counts may name a parameter.
#[must_use]
pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(TopologyFile).to_value();
    for quantity in ["Bytes", "Duration", "Rate"] {
        let pattern = &mut schema["$defs"][quantity]["pattern"];
        *pattern = format!("{}|{NAMED}", pattern.as_str().unwrap_or_default()).into();
    }
    let count = &mut schema["$defs"]["Link"]["properties"]["count"];
    count["type"] = serde_json::json!(["integer", "string", "null"]);
    count["pattern"] = NAMED.into();
    schema
}

/// The scenario's settings for links and switches that do not set their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Base {
    /// Rate of a link.
    pub rate: Rate,
    /// Propagation of a link, one way.
    pub delay: Duration,
    /// Processing in a switch.
    pub switch_delay: Duration,
}

impl Base {
    /// The settings of a scenario.
    #[must_use]
    pub const fn of(topology: &Topology) -> Self {
        Self { rate: topology.link_rate, delay: topology.link_delay, switch_delay: topology.switch_delay }
    }
}

/// A topology file with the place of every key.
#[derive(Clone, Debug)]
pub struct TopologyDocument {
    document: Document,
    file: TopologyFile,
    parameters: Filled,
}

impl TopologyDocument {
    /// Reads a file, or a built-in topology by its name.
    ///
    /// # Errors
    /// See [`TopologyDocument::read`].
    pub fn open(file: &str) -> Result<Self, ScenarioError> {
        Self::open_over(file, &Parameters::new())
    }

    /// Reads the file that a scenario names at `topology.file`; `parameters` are its `topology.parameters`.
    ///
    /// # Errors
    /// See [`TopologyDocument::read`]; and if the file has no such parameter. The error stands at the key of the scenario.
    pub fn of_scenario(file: &str, parameters: &Parameters) -> Result<Self, ValueError> {
        let topology = Self::open_over(file, parameters).map_err(|error| of_file(error, parameters))?;
        let known = &topology.parameters.values;
        let Some(name) = parameters.keys().find(|name| !known.contains_key(*name)) else {
            return Ok(topology);
        };
        let path = join("topology.parameters", name);
        if known.is_empty() {
            let problem = format!("{name:?} is not a known parameter: {file} has none");
            let cure = format!(
                "add [parameters] with {name} = ... to it, and name it where it belongs: \"${name}\""
            );
            return Err(ValueError::rule(path, problem, cure));
        }
        let known: Vec<_> = known.keys().map(String::as_str).collect();
        let unknown = names::unknown(&format!("parameter of {file}"), name, &known, &[]);
        Err(ValueError::new(path, Problem::UnknownName(unknown)))
    }

    fn open_over(file: &str, parameters: &Parameters) -> Result<Self, ScenarioError> {
        match BuiltInTopology::named(file) {
            Some(built_in) => Self::parse_over(file, built_in.text, parameters),
            None => Self::read_over(Path::new(file), parameters),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, or has unknown keys, parameters that are unknown or not named, or values of the wrong type
    /// or out of range.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        Self::read_over(path, &Parameters::new())
    }

    fn read_over(path: &Path, parameters: &Parameters) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let fail =
            |problem: String, cure: &str| ValueError::rule("", problem, cure).at(Place::Whole(name.clone()));
        let text = read_file(path, LONGEST_TOPOLOGY).map_err(|error| {
            fail(
                format!("cannot be read ({error})"),
                "give a topology file; `farspan new --topology` writes one",
            )
        })?;
        let text = utf8(text).map_err(|error| fail(error.to_string(), "save the topology as UTF-8"))?;
        Self::parse_over(&name, &text, parameters)
    }

    /// Reads a text; `name` is what errors call it.
    ///
    /// # Errors
    /// See [`TopologyDocument::read`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::parse_over(name, text, &Parameters::new())
    }

    fn parse_over(name: &str, text: &str, over: &Parameters) -> Result<Self, ScenarioError> {
        let mut document = Document::parse(name, text)?;
        Keys::of(schema()).check_text(&document)?;
        let placed = |document: &Document, error: ValueError| {
            let place = document.nearest_place(&error.path);
            error.at(place)
        };
        let parameters = Filled::new(&mut document.table, over).map_err(|error| placed(&document, error))?;
        let typed = read("", &document.table).map_err(|error| parameters.name_in(error));
        let file: TopologyFile = typed.map_err(|error| placed(&document, error))?;
        let topology = Self { document, file, parameters };
        topology.check_ranges().map_err(|error| topology.error(error))?;
        Ok(topology)
    }

    /// The parsed file.
    #[must_use]
    pub const fn file(&self) -> &TopologyFile {
        &self.file
    }

    /// The values of its parameters, those of the scenario in place of its own.
    #[must_use]
    pub const fn parameters(&self) -> &Parameters {
        &self.parameters.values
    }

    /// How many sites there are.
    #[must_use]
    pub fn sites(&self) -> usize {
        self.file.site.len().max(1)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// If names are unknown, given twice or no names, or the graph is no network.
    pub fn network(&self, base: &Base) -> Result<Network, ScenarioError> {
        self.build(base).map(|(_, network)| network).map_err(|error| self.error(error))
    }

    /// Builds the network of a scenario, and changes its links.
    ///
    /// # Errors
    /// As [`Self::network`], and if a pattern fits no link. The error stands at the key of the scenario.
    pub fn changed_network(&self, base: &Base, links: &LinkChanges) -> Result<Network, ValueError> {
        let built = self.build(base).map_err(|error| of_file(self.error(error), self.parameters()));
        let (graph, mut network) = built?;
        let processing: BTreeMap<_, _> =
            graph.nodes.into_iter().map(|node| (node.name, node.switch_delay)).collect();
        let of_node: Vec<_> = network.nodes.iter().map(|node| processing[&node.name]).collect();
        links.apply(&mut network, |node| of_node[node.index()])?;
        Ok(network)
    }

    fn build(&self, base: &Base) -> Result<(Graph, Network), ValueError> {
        let parts = graph::Parts::new(&self.file, base)?;
        let network = parts.graph.build().map_err(|error| parts.error(error))?;
        Ok((parts.graph, network))
    }

    fn error(&self, error: ValueError) -> ScenarioError {
        let place = self.document.nearest_place(&error.path);
        self.parameters.name_in(error).at(place)
    }

    fn check_ranges(&self) -> Result<(), ValueError> {
        let one = Bytes::new(1);
        let Defaults { rate, delay, buffer, switch_delay } = self.file.defaults;
        each_within("defaults.rate", rate, SLOWEST, FASTEST)?;
        each_within("defaults.delay", delay, Duration::ZERO, LONGEST_DELAY)?;
        each_within("defaults.buffer", buffer, one, LARGEST_BUFFER)?;
        each_within("defaults.switch_delay", switch_delay, Duration::ZERO, LONGEST_DELAY)?;
        for (n, node) in self.file.node.iter().enumerate() {
            let path = format!("node[{n}].switch_delay");
            each_within(&path, node.switch_delay, Duration::ZERO, LONGEST_DELAY)?;
        }
        for (l, link) in self.file.link.iter().enumerate() {
            let path = |key: &str| format!("link[{l}].{key}");
            each_within(&path("rate"), link.rate, SLOWEST, FASTEST)?;
            link.propagation().check(path)?;
            each_within(&path("count"), link.count, 1, graph::MOST_PARALLEL)?;
            let buffers = link.buffer.iter().flat_map(|buffers| buffers.0);
            each_within(&path("buffer"), buffers, one, LARGEST_BUFFER)?;
        }
        Ok(())
    }
}

/// The error of a file at the key of the scenario: at that of the parameter whose value it is about, if the scenario gives it.
fn of_file(error: ScenarioError, given: &Parameters) -> ValueError {
    let path = match &*error.problem {
        Problem::OfParameter { name, .. } if given.contains_key(name) => join("topology.parameters", name),
        _ => "topology.file".to_owned(),
    };
    ValueError::new(path, Problem::File(Box::new(error)))
}

impl TopologyFile {
    /// As TOML; reading it gives the same.
    ///
    /// # Panics
    /// Never: every value has a TOML form.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a topology has a TOML form")
    }
}

#[cfg(test)]
mod tests;
