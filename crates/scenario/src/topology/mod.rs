//! Topology files: networks of any shape as TOML.
//!
//! Stages of a file: text -> [`TopologyFile`] (keys as written) -> a graph of nodes and links, which checks itself ->
//! a network. Every error names file, line, column, key, what is wrong, and the cure.

mod graph;
mod model;

pub use model::{Defaults, Ecmp, Link, Node, Site, TopologyFile};

use crate::catalog::builtin::BuiltInTopology;
use crate::error::{Place, ScenarioError, ValueError};
use crate::limits::{FASTEST, LARGEST_BUFFER, LONGEST_DELAY, SLOWEST, each_within};
use crate::text::document::Document;
use crate::text::schema::Keys;
use farspan_fabric::Network;
use farspan_units::{Bytes, Duration, Rate};
use farspan_workload::input::{LONGEST_TOPOLOGY, read_file, utf8};
use std::path::Path;

/// The JSON Schema (2020-12) of a topology file.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(TopologyFile).to_value()
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

/// A topology file with the place of every key.
#[derive(Clone, Debug)]
pub struct TopologyDocument {
    document: Document,
    file: TopologyFile,
}

impl TopologyDocument {
    /// Reads a file, or a built-in topology by its name.
    ///
    /// # Errors
    /// See [`TopologyDocument::read`].
    pub fn open(file: &str) -> Result<Self, ScenarioError> {
        match BuiltInTopology::named(file) {
            Some(built_in) => Self::parse(file, built_in.text),
            None => Self::read(Path::new(file)),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, is not TOML, or has unknown keys or values of the wrong type or out of range.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
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
        Self::parse(&name, &text)
    }

    /// Reads a text; `name` is what errors call it.
    ///
    /// # Errors
    /// See [`TopologyDocument::read`].
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let document = Document::parse(name, text)?;
        document.check_keys(&Keys::of(schema()))?;
        let file: TopologyFile = document.typed()?;
        let topology = Self { document, file };
        topology.check_ranges().map_err(|error| topology.error(error))?;
        Ok(topology)
    }

    /// The parsed file.
    #[must_use]
    pub const fn file(&self) -> &TopologyFile {
        &self.file
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
        self.build(base).map_err(|error| self.error(error))
    }

    fn build(&self, base: &Base) -> Result<Network, ValueError> {
        let graph = graph::Parts::new(&self.file, base)?;
        graph.graph.build().map_err(|error| graph.error(error))
    }

    fn error(&self, error: ValueError) -> ScenarioError {
        let place = self.document.nearest_place(&error.path);
        error.at(place)
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
            each_within(&path("delay"), link.delay, Duration::ZERO, LONGEST_DELAY)?;
            each_within(&path("count"), link.count, 1, graph::MOST_PARALLEL)?;
            let buffers = link.buffer.iter().flat_map(|buffers| buffers.0);
            each_within(&path("buffer"), buffers, one, LARGEST_BUFFER)?;
        }
        Ok(())
    }
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
