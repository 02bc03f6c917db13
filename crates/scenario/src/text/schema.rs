//! The JSON Schema of a scenario, and what it knows about keys.
//!
//! The schema is generated from the types, so that the key check, `--set` and the published schema cannot differ.

use crate::error::{ScenarioError, ValueError};
use crate::schemes::control;

use crate::document::Document;
use crate::model::ScenarioText;
use crate::table::join;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// The JSON Schema (2020-12) of a scenario.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(ScenarioText).to_value()
}

/// The keys of a scenario, and how many controls of other crates they count: each component of each class is checked against
/// them, and to make the schema takes longer than all of these checks.
static SCENARIO: Mutex<Option<(usize, Arc<Keys>)>> = Mutex::new(None);

/// The keys of a scenario, or of what another schema describes.
pub(crate) struct Keys {
    root: Value,
}

impl Keys {
    /// The keys of a scenario, those of controls that are [registered](control::register) among them.
    pub fn of_scenario() -> Arc<Self> {
        let controls = control::registered().len();
        let mut made = SCENARIO.lock().unwrap_or_else(PoisonError::into_inner);
        match &*made {
            Some((known, keys)) if *known == controls => keys.clone(),
            _ => made.insert((controls, Arc::new(Self::of(schema())))).1.clone(),
        }
    }

    /// The keys that a schema describes.
    pub const fn of(root: Value) -> Self {
        Self { root }
    }

    /// Checks every key of `table` against the schema.
    pub fn check(&self, table: &toml::Table) -> Result<(), ValueError> {
        let mut nodes = Vec::new();
        self.flatten(&self.root, &mut nodes);
        self.check_table("", table, &nodes)
    }

    /// Checks every key of a text.
    ///
    /// # Errors
    /// The first key that is not known, with its place.
    pub fn check_text(&self, document: &Document) -> Result<(), ScenarioError> {
        self.check(&document.table).map_err(|error| {
            let place = document.key_place(&error.path).unwrap_or_else(|| document.place(0));
            error.at(place)
        })
    }

    fn flatten<'a>(&'a self, node: &'a Value, nodes: &mut Vec<&'a Value>) {
        flatten(&self.root, node, nodes);
    }

    /// The nodes that describe the value of `key`, and whether the key is known at all.
    fn children<'a>(&'a self, nodes: &[&'a Value], key: &str) -> Vec<&'a Value> {
        let mut children = Vec::new();
        for node in nodes {
            let child = node.get("properties").and_then(|properties| properties.get(key));
            if let Some(child) = child.or_else(|| of_any(node)) {
                self.flatten(child, &mut children);
            }
        }
        children
    }

    /// The nodes of alternatives that fit the `name` of a component's table.
    fn of_name<'a>(&self, nodes: &[&'a Value], table: &toml::Table) -> Vec<&'a Value> {
        let name = table.get("name").and_then(toml::Value::as_str);
        let constant = |node: &'a Value| node.get("properties")?.get("name")?.get("const")?.as_str();
        let fits = |node: &&'a Value| match (constant(node), name) {
            (Some(constant), Some(name)) => constant == name,
            _ => true,
        };
        nodes.iter().copied().filter(fits).collect()
    }

    /// `nodes` are flat: those that references and alternatives lead to are among them.
    fn check_table(&self, path: &str, table: &toml::Table, nodes: &[&Value]) -> Result<(), ValueError> {
        let nodes = self.of_name(nodes, table);
        let known = known_keys(&nodes);
        let takes_any = nodes.iter().any(|node| of_any(node).is_some());
        if known.is_empty() && !takes_any {
            return Ok(());
        }
        for (key, value) in table {
            let here = join(path, key);
            if !takes_any && !known.contains(&key.as_str()) {
                return Err(ValueError::unknown_key(&here, key, &known));
            }
            let children = self.children(&nodes, key);
            self.check_header(&here, value, &children)?;
            self.check_value(&here, value, &children)?;
        }
        Ok(())
    }

    /// Checks that what is a table stands as one, and what is a list of tables as a list.
    fn check_header(&self, path: &str, value: &toml::Value, nodes: &[&Value]) -> Result<(), ValueError> {
        let is_table = |nodes: &[&Value]| nodes.iter().any(|node| node.get("properties").is_some());
        let of_tables = |items: &Value| {
            let mut nodes = Vec::new();
            self.flatten(items, &mut nodes);
            is_table(&nodes)
        };
        let table = is_table(nodes);
        let list = nodes.iter().filter_map(|node| node.get("items")).any(of_tables);
        let header = header(path);
        let (problem, cure) = match value {
            toml::Value::Array(items) if table && !list && items.iter().all(toml::Value::is_table) => {
                ("a list of tables, where one table belongs", format!("write [{header}], once"))
            }
            toml::Value::Array(_) => return Ok(()),
            _ if list && !table => {
                ("not a list of tables", format!("write [[{header}]] above the keys of each of them"))
            }
            _ => return Ok(()),
        };
        Err(ValueError::rule(path, problem, cure))
    }

    fn check_value(&self, path: &str, value: &toml::Value, nodes: &[&Value]) -> Result<(), ValueError> {
        match value {
            toml::Value::Table(table) => self.check_table(path, table, nodes),
            toml::Value::Array(items) => {
                let of_item = nodes.iter().filter_map(|node| node.get("items"));
                let mut nodes = Vec::new();
                of_item.for_each(|node| self.flatten(node, &mut nodes));
                (0..)
                    .zip(items)
                    .try_for_each(|(i, item)| self.check_value(&format!("{path}[{i}]"), item, &nodes))
            }
            _ => Ok(()),
        }
    }

    /// The keys below a table at `path` (through arrays), for `--set`; none if the path is unknown.
    pub fn below(&self, path: &[&str]) -> Vec<String> {
        known_keys(&self.nodes(path)).into_iter().map(str::to_owned).collect()
    }

    /// Whether the table at `path` takes keys of any name.
    pub fn takes_any(&self, path: &[&str]) -> bool {
        self.nodes(path).into_iter().any(|node| of_any(node).is_some())
    }

    /// The nodes that describe the table at `path`, or the items of the list there.
    fn nodes(&self, path: &[&str]) -> Vec<&Value> {
        let mut nodes = Vec::new();
        self.flatten(&self.root, &mut nodes);
        for key in path {
            let children = self.children(&nodes, key);
            nodes = Vec::new();
            for child in children {
                self.flatten(child, &mut nodes);
                if let Some(items) = child.get("items") {
                    self.flatten(items, &mut nodes);
                }
            }
        }
        nodes
    }
}

/// The schema of the values of a table whose keys may be any, such as one of links by pattern.
fn of_any(node: &Value) -> Option<&Value> {
    node.get("additionalProperties").filter(|schema| schema.is_object())
}

/// Follows references and alternatives of a schema down to the nodes that say something themselves.
pub fn flatten<'a>(root: &'a Value, node: &'a Value, nodes: &mut Vec<&'a Value>) {
    if let Some(name) = node.get("$ref").and_then(Value::as_str).and_then(|r| r.strip_prefix("#/$defs/")) {
        flatten(root, &root["$defs"][name], nodes);
    }
    for alternatives in ["anyOf", "oneOf", "allOf"] {
        for alternative in node.get(alternatives).and_then(Value::as_array).into_iter().flatten() {
            flatten(root, alternative, nodes);
        }
    }
    nodes.push(node);
}

/// The keys of tables, those of any kind, by name.
fn known_keys<'a>(nodes: &[&'a Value]) -> Vec<&'a str> {
    let tables = nodes.iter().filter_map(|node| node.get("properties")?.as_object());
    let keys: BTreeSet<&str> = tables.flat_map(|properties| properties.keys().map(String::as_str)).collect();
    keys.into_iter().collect()
}

/// The header of the table at a path: the path without positions in lists.
fn header(path: &str) -> String {
    path.split('[').map(|piece| piece.split_once(']').map_or(piece, |(_, rest)| rest)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), ValueError> {
        Keys::of_scenario().check(&toml::from_str(text).unwrap())
    }

    #[test]
    fn every_level_of_keys_is_checked() {
        for (text, path, nearest) in [
            ("seeed = 1", "seeed", "seed"),
            ("[topology]\nleafs = 8", "topology.leafs", "leaves"),
            ("[topology.wan]\nrrt = '2ms'", "topology.wan.rrt", "rtt"),
            (
                "[[workload]]\nkind = 'incast'\n[[workload]]\nflow_sizes = '1B'",
                "workload[1].flow_sizes",
                "flow_size",
            ),
            ("[scheme.ports]\nred = { mim = 0.25 }", "scheme.ports.red.mim", "min"),
            ("[[workload]]\nsizes = { inta = 'a' }", "workload[0].sizes.inta", "intra"),
            (
                "[scheme.intra]\ncongestion = { name = 'fixed_window', cwmd = '1KiB' }",
                "scheme.intra.congestion.cwmd",
                "cwnd",
            ),
        ] {
            let error = check(text).unwrap_err();
            assert_eq!(error.path, path);
            assert!(error.problem.cure().starts_with(&format!("did you mean {nearest:?}?")), "{error:?}");
        }
    }

    #[test]
    fn known_keys_pass() {
        check(
            "seed = 1\n[topology]\nk = 8\nwan = { rtt = '2ms' }\n[scheme.intra]\ncongestion = 'fixed_window'",
        )
        .unwrap();
    }

    #[test]
    fn the_constants_of_all_scenarios_are_keys_of_a_scenario() {
        let data: toml::Table = crate::PROFILES.parse().unwrap();
        for layer in data.values().filter_map(toml::Value::as_table) {
            let special = layer.get("scenario").and_then(toml::Value::as_table).into_iter().flatten();
            let special = special.filter_map(|(_, values)| values.as_table());
            for world in
                [layer].into_iter().chain(special).filter_map(|values| values.get("world")?.as_table())
            {
                Keys::of_scenario().check(world).unwrap();
            }
        }
    }

    #[test]
    fn the_schema_describes_every_key_of_the_top_level() {
        let schema = schema();
        for (key, node) in schema["properties"].as_object().unwrap() {
            assert!(node.get("description").is_some(), "{key} has no description");
        }
        assert_eq!(schema["additionalProperties"], Value::Bool(false));
        assert!(schema["$schema"].as_str().unwrap().contains("2020-12"));
    }

    #[test]
    fn the_keys_below_a_path_look_through_arrays() {
        let keys = Keys::of_scenario();
        assert!(keys.below(&["workload"]).contains(&"flow_size".to_owned()));
        assert!(keys.below(&["topology", "wan"]).contains(&"rtt".to_owned()));
        assert!(keys.below(&["topology", "nothing"]).is_empty());
    }
}
