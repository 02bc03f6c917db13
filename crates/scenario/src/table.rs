//! Tables: the paths of their keys, and one laid over another.

/// The dotted path of `key` in the table at `parent`; a key that a path could not have bare stands in quotes, in brackets:
/// `topology.link["west-*->east-*"]`.
#[must_use]
pub fn join(parent: &str, key: &str) -> String {
    if is_quoted(key) {
        let quote = if key.contains('"') { '\'' } else { '"' };
        format!("{parent}[{quote}{key}{quote}]")
    } else if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}

/// Whether a key of a path stands in quotes: patterns of links do.
#[must_use]
pub fn is_quoted(key: &str) -> bool {
    key.contains(|c: char| c.is_whitespace() || matches!(c, '*' | '?' | '>' | '#' | '[' | ']' | '"' | '\''))
}

/// Puts the values of `top` over those of `base`, table by table.
pub(crate) fn overlay(base: &mut toml::Table, top: &toml::Table) {
    for (key, value) in top {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(below)), toml::Value::Table(above)) => overlay(below, above),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}
