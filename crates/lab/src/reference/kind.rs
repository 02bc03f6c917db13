//! Types of values in the schema, in words.

use serde_json::Value;

/// The type of a key's value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Kind {
    /// In words.
    pub name: String,
    /// The words that it may be, if it is one of a list.
    pub words: Option<String>,
}

/// The type of lists of hosts, which the schema titles so.
const HOSTS: &str = "hosts";

/// The type of `node`, whose alternatives are `nodes`.
pub(super) fn kind(root: &Value, node: &Value, nodes: &[&Value]) -> Kind {
    if nodes.iter().any(|node| node["title"] == HOSTS) {
        return Kind { name: HOSTS.to_owned(), words: None };
    }
    if let Some(items) = nodes.iter().find_map(|node| node.get("items")) {
        let single = nodes.iter().any(|node| is(node, "string") || is(node, "integer"));
        let inner = kind_of_items(root, items);
        let name = if single { format!("{} or a list of them", inner.name) } else { list_of(&inner.name) };
        return Kind { name, words: inner.words };
    }
    let words = words(nodes);
    let mut names: Vec<&str> = nodes.iter().filter_map(|node| quantity(root, node)).collect();
    let all = names.is_empty() || !words.is_empty();
    let plainly = nodes.iter().filter(|node| all || is_table(node));
    names.extend(plainly.filter_map(|node| plain(node)));
    if node["$ref"].is_string() {
        names.extend(quantity(root, node));
    }
    let mut unique: Vec<&str> = Vec::new();
    for name in names {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    let name = if unique.is_empty() { "text".to_owned() } else { unique.join(" or ") };
    Kind { name, words: (!words.is_empty()).then(|| words.join(", ")) }
}

fn kind_of_items(root: &Value, items: &Value) -> Kind {
    match items.get("items").filter(|_| items["title"] != HOSTS) {
        Some(inner) => Kind { name: list_of(&kind_of_items(root, inner).name), words: None },
        None => kind(root, items, &[items]),
    }
}

fn list_of(name: &str) -> String {
    let inner = name.strip_prefix("list").map_or_else(|| plural(name), |rest| format!("lists{rest}"));
    format!("list of {inner}")
}

fn plural(name: &str) -> String {
    match name {
        "text" => "texts".to_owned(),
        HOSTS => name.to_owned(),
        _ => format!("{name}s"),
    }
}

fn is_table(node: &Value) -> bool {
    is(node, "object") || node["properties"].is_object()
}

fn is(node: &Value, wanted: &str) -> bool {
    match &node["type"] {
        Value::String(name) => name == wanted,
        Value::Array(names) => names.iter().any(|name| name == wanted),
        _ => false,
    }
}

/// A time, a size or a rate.
fn quantity(root: &Value, node: &Value) -> Option<&'static str> {
    let defined = |name: &str, words| (node["$ref"] == format!("#/$defs/{name}")).then_some(words);
    let same = |name: &str, words| {
        let pattern = &root["$defs"][name]["pattern"];
        (pattern.is_string() && node["pattern"] == *pattern).then_some(words)
    };
    [("Duration", "time"), ("Bytes", "size"), ("Rate", "rate")]
        .into_iter()
        .find_map(|(name, words)| defined(name, words).or_else(|| same(name, words)))
}

fn plain(node: &Value) -> Option<&'static str> {
    if is_table(node) {
        return Some("table");
    }
    let types = [("integer", "integer"), ("number", "number"), ("boolean", "yes or no"), ("string", "text")];
    types.into_iter().find(|(name, _)| is(node, name)).map(|(_, words)| words)
}

/// The words that a value may be.
fn words(nodes: &[&Value]) -> Vec<String> {
    let listed = nodes.iter().filter_map(|node| node["enum"].as_array()).flatten();
    let single = nodes.iter().map(|node| &node["const"]);
    let words = listed.chain(single).filter_map(Value::as_str);
    let mut all: Vec<String> = Vec::new();
    for word in words.map(|word| format!("`{word}`")) {
        if !all.contains(&word) {
            all.push(word);
        }
    }
    all
}

/// A description on one line, fit for a cell of a table.
pub(super) fn line(description: &str) -> String {
    description.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|").replace(" ().", ".")
}

/// Where a description says its default: from the word on, and what follows it.
fn split(about: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = about.split_once("Default: ")?;
    let end = rest.find(". ").map_or(rest.len(), |at| at + 1);
    Some((before, &rest[..end], &rest[end..]))
}

/// The default that a description names.
pub(super) fn default(about: &str) -> String {
    let Some((_, default, _)) = split(about) else { return String::new() };
    let default = default.strip_suffix('.').unwrap_or(default);
    let is_value = !default.contains([' ', ';']);
    if is_value { format!("`{default}`") } else { default.to_owned() }
}

/// The rest of it.
pub(super) fn meaning(about: &str) -> String {
    match split(about) {
        Some((before, _, after)) => format!("{}{after}", before.trim_end()).trim().to_owned(),
        None => about.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(node: &Value) -> Kind {
        let root = farspan_scenario::schema();
        let mut nodes = Vec::new();
        farspan_scenario::flatten_schema(&root, node, &mut nodes);
        kind(&root, node, &nodes)
    }

    #[test]
    fn types_are_told_in_words() {
        let optional =
            |name: &str| json!({ "anyOf": [{ "$ref": format!("#/$defs/{name}") }, { "type": "null" }] });
        assert_eq!(of(&optional("Duration")).name, "time");
        assert_eq!(of(&optional("Bytes")).name, "size");
        assert_eq!(of(&json!({ "type": ["integer", "null"] })).name, "integer");
        assert_eq!(
            of(&json!({ "type": "array", "items": { "type": "array", "items": { "type": "integer" } } }))
                .name,
            "list of lists of integers"
        );
        let word = of(&json!({ "type": ["string", "null"], "enum": ["a", "b", null] }));
        assert_eq!((word.name.as_str(), word.words.as_deref()), ("text", Some("`a`, `b`")));
    }

    #[test]
    fn the_default_is_taken_out_of_the_description() {
        let about = "How often. Default: 1us. Never less.";
        assert_eq!((default(about).as_str(), meaning(about).as_str()), ("`1us`", "How often. Never less."));
        assert_eq!(default("Which. Default: ring; all_to_all: direct."), "ring; all_to_all: direct");
        assert_eq!((default("Plain."), meaning("Plain.")), (String::new(), "Plain.".to_owned()));
        assert_eq!(default("A part. Default: 0.5."), "`0.5`");
    }
}
