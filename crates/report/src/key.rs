//! Dotted keys of scenarios: how they are written, the values that they have, and those in which two scenarios differ.

use std::collections::BTreeSet;
use toml::{Table, Value};

/// The path of a key; a pattern of links, or what a path could not have bare, stands in quotes, as a scenario has it.
pub(crate) fn join(path: &str, key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if path == "topology.link" || !path.is_empty() && !key.chars().all(is_bare) {
        let quote = if key.contains('"') { '\'' } else { '"' };
        format!("{path}[{quote}{key}{quote}]")
    } else if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// The keys in which two values differ, with both values as TOML.
pub(crate) fn differ(
    path: &str,
    here: Option<&Value>,
    there: Option<&Value>,
    found: &mut Vec<(String, String, String)>,
) {
    let none = Value::Table(Table::new());
    // A link that one of them alone changes: key by key.
    let is_of_links = path.starts_with("topology.link");
    let (here, there) = match (here, there) {
        (Some(table @ Value::Table(_)), None) if is_of_links => (Some(table), Some(&none)),
        (None, Some(table @ Value::Table(_))) if is_of_links => (Some(&none), Some(table)),
        both => both,
    };
    match (here, there) {
        (Some(Value::Table(a)), Some(Value::Table(b))) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys {
                differ(&join(path, key), a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{i}]"), Some(a), Some(b), found);
            }
        }
        _ if here == there => {}
        _ => {
            let text = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), Value::to_string);
            found.push((path.to_owned(), text(here), text(there)));
        }
    }
}

/// The names of a key: dots separate them, and what has a dot of its own stands in quotes of either kind,
/// `topology.link["a->b"].delay`.
fn names(key: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = key;
    while !rest.is_empty() {
        let quotes = [("[\"", "\"]"), ("['", "']")];
        let quoted = quotes.iter().find_map(|(open, close)| rest.strip_prefix(open)?.split_once(close));
        let (name, after) = quoted.unwrap_or_else(|| {
            let is_end = |i: &usize| [".", "[\"", "['"].iter().any(|end| rest[*i..].starts_with(end));
            let end = rest.char_indices().map(|(i, _)| i).skip(1).find(is_end);
            rest.split_at(end.unwrap_or(rest.len()))
        });
        found.push(name);
        rest = after.strip_prefix('.').unwrap_or(after);
    }
    found
}

/// A key as errors and suggestions write it: `topology.link['a->b'].delay` is `topology.link["a->b"].delay`.
pub(crate) fn written(key: &str) -> String {
    if !key.contains('[') {
        return key.to_owned();
    }
    names(key).into_iter().fold(String::new(), |path, name| join(&path, name))
}

/// The value of a key in a scenario. Where a table stands several times, the first one with the key counts.
pub(crate) fn value_in(scenario: &Table, key: &str) -> Option<String> {
    let names = names(key);
    let (first, rest) = names.split_first()?;
    within(scenario.get(*first)?, rest)
}

fn within(value: &Value, names: &[&str]) -> Option<String> {
    match (value, names.split_first()) {
        (Value::Array(items), Some(_)) => items.iter().find_map(|item| within(item, names)),
        (Value::Table(table), Some((first, rest))) => within(table.get(*first)?, rest),
        (Value::Table(_), None) | (_, Some(_)) => None,
        (Value::String(text), None) => Some(text.clone()),
        (value, None) => Some(value.to_string()),
    }
}

/// Adds every dotted key of a value.
pub(crate) fn collect(path: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Table(table) => {
            table.iter().for_each(|(key, value)| collect(&join(path, key), value, found));
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            items.iter().for_each(|item| collect(path, item, found));
        }
        _ => {
            found.insert(path.to_owned());
        }
    }
}

/// `workload[0].load` is `workload.load`; the pattern in `topology.link["a->b"].delay` stays.
pub(crate) fn without_places(key: &str) -> String {
    let mut parts = key.split('[');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(']') {
            Some((place, rest)) if place.bytes().all(|byte| byte.is_ascii_digit()) => text += rest,
            _ => text += &format!("[{part}"),
        }
    }
    text
}
