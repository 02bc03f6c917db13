//! A text over its base.

use super::{Origin, Source, Text};
use crate::catalog::builtin::BuiltIn;
use crate::error::{Problem, ScenarioError, ValueError};
use crate::table::join;
use crate::text::file;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Reads the base that a text names, and lays the text over it; `above` are the files whose bases lead here.
pub(super) fn over(text: &Text, above: &mut Vec<PathBuf>) -> Result<Source, ScenarioError> {
    let Some(Value::String(name)) = text.document.table.get("base") else {
        let found = text.document.table.get("base").map_or_else(String::new, Value::to_string);
        let expected = "a built-in scenario's name or a file, as text".to_owned();
        let error = ValueError::new("base", Problem::WrongType { found, expected });
        return Err(error.at(text.document.nearest_place("base")));
    };
    let base = read(name, text, above)?;
    let mut source = Source { name: text.document.name.clone(), ..base };
    // What the base is called says whose constants hold; this scenario has a name of its own.
    let special = source.table.remove("name").unwrap_or_else(|| Value::String(name.clone()));
    source.table.remove("description");
    if special.as_str().is_some_and(|special| BuiltIn::named(special).is_some()) {
        source.table.entry("constants").or_insert(special);
    }
    let mut values = Vec::new();
    leaves("", &text.document.table, &mut values);
    // A kind or a scheme first: what belongs to the base's gives way to it, and what stands beside it does not.
    values.sort_by_key(|(path, _)| !matches!(path.as_str(), "topology.kind" | "scheme.name"));
    for (path, value) in values {
        if path == "scheme.name" {
            source.drop_scheme(Some(value));
        }
        source.change(&path, value, &Origin::Text(text.clone(), path.clone()))?;
    }
    Ok(source)
}

fn read(name: &str, text: &Text, above: &mut Vec<PathBuf>) -> Result<Source, ScenarioError> {
    if let Some(built_in) = BuiltIn::named(name) {
        return Source::new(name, built_in.text, None);
    }
    let at_key = |error: ValueError| {
        ValueError { path: "base".to_owned(), ..error }.at(text.document.nearest_place("base"))
    };
    let path = text.folder.as_ref().map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    let content = file::read(&path, name).map_err(at_key)?;
    let same = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if above.is_empty() {
        above.push(same(Path::new(&text.document.name)));
    }
    if above.contains(&same(&path)) {
        let cure = "remove base from one of them";
        return Err(at_key(ValueError::rule(
            "base",
            format!("{name} has this file as its base in turn"),
            cure,
        )));
    }
    above.push(same(&path));
    Source::read(&path.display().to_string(), &content, path.parent().map(Path::to_owned), above)
}

/// Whether a table is a component with its name: one that is called so can be the name of a parameter, too.
fn is_component(path: &str, table: &Table) -> bool {
    table.contains_key("name") && !matches!(path, "scheme" | "topology.parameters")
}

/// The values of a table that are set one by one. A list goes as a whole, and so does a component with its name.
fn leaves<'a>(path: &str, table: &'a Table, values: &mut Vec<(String, &'a Value)>) {
    for (key, value) in table {
        let here = join(path, key);
        match value {
            _ if here == "base" => {}
            Value::Table(inner) if here != "files" && !is_component(&here, inner) => {
                leaves(&here, inner, values);
            }
            value => values.push((here, value)),
        }
    }
}
