//! The reference of all keys, and the constants of schemes, as Markdown.
//!
//! Both are made of what the command itself reads: the schema, the profiles' data file, and the checks of ranges, which are
//! asked by giving them values that are surely too large.

mod constants;
mod kind;
mod range;

pub use constants::{components, constants};

use farspan_scenario::table::join;
use farspan_scenario::{flatten_schema as flatten, schema};
use kind::{default, kind, meaning};
use serde_json::Value;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Scenario reference

This page lists every key of a scenario. `farspan schema` prints the same as JSON Schema, for editors. Only keys of a workload part or a
fault can be required: those without a default. A key that its `kind` does not use is an error. `farspan check FILE` prints a scenario
with every default filled in.

| type | how it is written | units |
|---|---|---|
| time | text, `\"14us\"` | `ps`, `ns`, `us`, `ms`, `s`; counted in ps |
| size | text, `\"1MiB\"` | `B`; `KiB`, `MiB`, `GiB` are powers of two; `KB`, `MB`, `GB` powers of ten |
| rate | text, `\"100Gbps\"` | `bps`, `Kbps`, `Mbps`, `Gbps`, `Tbps`: powers of ten of a bit per second |
| integer, number | `8`, `0.25` | none: counts and fractions |
| text | `\"border0->border1#0\"` | |
| yes or no | `true`, `false` | |
| hosts | `[0, 10, 20]`, `\"0..255\"`, `\"host[0..7]\"`, `\"all\"` | [ranges](first-run.md#ranges) |
| list of ... | `[0, 10, 20]` | of its items |

\"Of the profile\" means that the value depends on `scheme.profile` and on the scenario's name. \"Of the scheme\" means that it depends on
`scheme.name`. The constants are on the pages of the [schemes](schemes/uno.md).
";

/// The page of all keys.
#[must_use]
pub fn reference() -> String {
    let page = Page { root: schema(), text: INTRODUCTION.to_owned() };
    page.scenario()
}

/// A key of a table, and the kinds of the table that have it.
struct Key<'a> {
    key: &'a str,
    node: &'a Value,
    kinds: Vec<&'a str>,
}

/// The tables of each kind, of a table whose kind says which keys it has.
fn kinds_of(node: &Value) -> Option<Vec<&Value>> {
    let tables: Vec<_> = node["oneOf"].as_array()?.iter().collect();
    tables.iter().all(|table| table.pointer("/properties/kind/const").is_some()).then_some(tables)
}

/// The keys of a table by name, `kind` and `name` first; one that means different things for different kinds stands there several times.
fn keys_of(node: &Value) -> Vec<Key<'_>> {
    let own = node["properties"].as_object().into_iter().flatten();
    let mut keys: Vec<_> = own.map(|(key, node)| Key { key, node, kinds: Vec::new() }).collect();
    for table in kinds_of(node).unwrap_or_default() {
        let kind = table["properties"]["kind"]["const"].as_str().unwrap_or_default();
        for (key, node) in
            table["properties"].as_object().into_iter().flatten().filter(|(key, _)| *key != "kind")
        {
            match keys.iter_mut().find(|known| known.key == key && known.node == node) {
                Some(known) => known.kinds.push(kind),
                None => keys.push(Key { key, node, kinds: vec![kind] }),
            }
        }
    }
    keys.sort_by_key(|Key { key, .. }| (!matches!(*key, "kind" | "name"), *key));
    keys
}

struct Page {
    root: Value,
    text: String,
}

impl Page {
    fn scenario(mut self) -> String {
        let root = self.root.clone();
        self.section("", &root, "The scenario itself");
        for part in ["congestion", "balance", "coding"] {
            self.components(part);
        }
        self.text
    }

    /// A table of keys at `path`, and after it those of the tables below.
    fn section(&mut self, path: &str, node: &Value, title: &str) {
        let about =
            node["description"].as_str().filter(|_| !path.is_empty()).map(kind::line).unwrap_or_default();
        writeln!(self.text, "\n## {title}\n").expect("a string takes any text");
        if !about.is_empty() {
            writeln!(self.text, "{about}\n").expect("a string takes any text");
        }
        let kinds = kinds_of(node).map_or(0, |tables| tables.len());
        let mut below = Vec::new();
        let mut rows = String::new();
        for Key { key, node, kinds: of_key } in keys_of(node) {
            let here = join(path, key);
            let all = of_key.is_empty() || of_key.len() == kinds;
            let of_key = if all { "all".to_owned() } else { format!("`{}`", of_key.join("`, `")) };
            let first = if kinds > 0 { format!("`{key}` | {of_key}") } else { format!("`{key}`") };
            match self.table_of(node) {
                Some((inner, list)) => below.push((here, inner, list)),
                None => rows.push_str(&self.row(&here, &first, node)),
            }
        }
        below.dedup_by(|(here, ..), (before, ..)| here == before);
        if !rows.is_empty() {
            let (kinds, line) = if kinds > 0 { (" kind |", "---|") } else { ("", "") };
            writeln!(
                self.text,
                "| key |{kinds} type | default | allowed | meaning |\n|---|{line}---|---|---|---|"
            )
            .expect("a string takes any text");
            self.text.push_str(&rows);
        }
        for (here, inner, list) in below {
            let title = if list { format!("`[[{here}]]`") } else { format!("`[{here}]`") };
            self.section(&here, &inner, &title);
        }
    }

    /// The table of keys that a key holds, and whether it holds a list of them; `None` if it is a value.
    fn table_of(&self, node: &Value) -> Option<(Value, bool)> {
        let mut nodes = Vec::new();
        flatten(&self.root, node, &mut nodes);
        if let Some(items) = nodes.iter().find_map(|node| node.get("items")) {
            let (inner, _) = self.table_of(items)?;
            return Some((inner, true));
        }
        // Components, and values that may be words or tables, have their own section or say it in their meaning.
        if nodes.iter().any(|node| matches!(node["type"].as_str(), Some("string" | "number" | "integer"))) {
            return None;
        }
        let by_kind = nodes.iter().copied().find(|node| kinds_of(node).is_some());
        let table = by_kind.or_else(|| nodes.into_iter().find(|node| node["properties"].is_object()));
        table.map(|table| (table.clone(), false))
    }

    fn row(&self, path: &str, key: &str, node: &Value) -> String {
        let mut nodes = Vec::new();
        flatten(&self.root, node, &mut nodes);
        let kind = kind(&self.root, node, &nodes);
        let allowed = kind.words.clone().or_else(|| range::of(path, &kind)).unwrap_or_default();
        let about = node["description"].as_str().map(kind::line).unwrap_or_default();
        format!("| {key} | {} | {} | {allowed} | {} |\n", kind.name, default(&about), meaning(&about))
    }

    /// The parameters of every component of a kind.
    fn components(&mut self, part: &str) {
        let class = &self.root["$defs"]["SchemeClass"]["properties"][part];
        let mut nodes = Vec::new();
        flatten(&self.root, class, &mut nodes);
        let tables: Vec<Value> = nodes
            .iter()
            .filter(|node| node.pointer("/properties/name/const").is_some())
            .map(|&node| node.clone())
            .collect();
        for table in tables {
            let name = table.pointer("/properties/name/const").and_then(Value::as_str).unwrap_or_default();
            let about = table["description"].as_str().map(kind::line).unwrap_or_default();
            let mut rows = String::new();
            self.parameters(&format!("scheme.inter.{part}"), name, "", &table, &mut rows);
            writeln!(self.text, "\n## `{part} = {{ name = \"{name}\" }}`\n\n{about}")
                .expect("a string takes any text");
            if rows.is_empty() {
                self.text.push_str("\nNo parameters.\n");
            } else {
                self.text.push_str("\n| parameter | type | allowed | meaning |\n|---|---|---|---|\n");
                self.text.push_str(&rows);
            }
        }
    }

    /// The parameters of a component, those of its tables with dotted names.
    fn parameters(&self, part: &str, component: &str, prefix: &str, table: &Value, rows: &mut String) {
        for (key, node) in
            table["properties"].as_object().into_iter().flatten().filter(|(key, _)| *key != "name")
        {
            let dotted = join(prefix, key);
            let mut nodes = Vec::new();
            flatten(&self.root, node, &mut nodes);
            if let Some((inner, _)) = self.table_of(node) {
                self.parameters(part, component, &dotted, &inner, rows);
                continue;
            }
            let kind = kind(&self.root, node, &nodes);
            let allowed = kind.words.clone().or_else(|| range::of_component(part, component, &dotted, &kind));
            let about = node["description"].as_str().map(kind::line).unwrap_or_default();
            writeln!(rows, "| `{dotted}` | {} | {} | {about} |", kind.name, allowed.unwrap_or_default())
                .expect("a string takes any text");
        }
    }
}
