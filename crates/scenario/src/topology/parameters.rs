//! Parameters: `delay = "$wan_delay"` takes the value of `wan_delay` in `[parameters]`, or the one that a scenario gives.

use crate::error::{Problem, ValueError};
use crate::names;
use crate::reader::read_value;
use crate::table::join;
use crate::value::Parameter;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// The table of the parameters.
const TABLE: &str = "parameters";

/// The value of each parameter, by name.
pub type Parameters = BTreeMap<String, Parameter>;

/// The parameters of a file, and where it names them.
#[derive(Clone, Debug, Default)]
pub(super) struct Filled {
    /// Their values.
    pub values: Parameters,
    /// The parameter that stands at each path.
    places: BTreeMap<String, String>,
}

impl Filled {
    /// Takes the parameters out of a file, and puts their values where it names them; `over` replaces values.
    ///
    /// # Errors
    /// If a name is no name or unknown, a value is none, or nothing names a parameter. That all of `over` are known is checked
    /// elsewhere.
    pub fn new(table: &mut Table, over: &Parameters) -> Result<Self, ValueError> {
        let written = table.remove(TABLE).unwrap_or_else(|| Value::Table(Table::new()));
        let mut values: Parameters = read_value(&written).map_err(|error| error.below(TABLE))?;
        for (name, value) in &values {
            check(name, value)?;
        }
        let known: Vec<String> = values.keys().cloned().collect();
        values.extend(
            over.iter()
                .filter(|(name, _)| known.contains(name))
                .map(|(name, value)| (name.clone(), value.clone())),
        );
        let mut filled = Self { values, places: BTreeMap::new() };
        for (key, value) in table.iter_mut().filter(|(key, _)| *key != "description") {
            filled.put(&join("", key), value)?;
        }
        let named: BTreeSet<&String> = filled.places.values().collect();
        if let Some(name) = known.iter().find(|name| !named.contains(name)) {
            let cure =
                format!("write \"${name}\" where it belongs, such as delay = \"${name}\", or remove it");
            return Err(ValueError::rule(join(TABLE, name), "nothing in the file uses this parameter", cure));
        }
        Ok(filled)
    }

    /// Puts values where they are named, in a value and what is in it.
    fn put(&mut self, path: &str, value: &mut Value) -> Result<(), ValueError> {
        match value {
            Value::Table(inner) => {
                inner.iter_mut().try_for_each(|(key, value)| self.put(&join(path, key), value))
            }
            Value::Array(items) => {
                (0..).zip(items).try_for_each(|(i, item)| self.put(&format!("{path}[{i}]"), item))
            }
            Value::String(text) => {
                let Some(name) = text.strip_prefix('$') else { return Ok(()) };
                let known = self.values.get(name).ok_or_else(|| unknown(path, name, &self.values))?;
                self.places.insert(path.to_owned(), name.to_owned());
                *value = known.into();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The error, with the parameter that stands at its path.
    pub fn name_in(&self, error: ValueError) -> ValueError {
        let inside = |path: &String| {
            path == &error.path || path.strip_prefix(&error.path).is_some_and(|rest| rest.starts_with('['))
        };
        let Some((_, name)) = self.places.iter().find(|(path, _)| inside(path)) else { return error };
        ValueError::new(error.path, Problem::OfParameter { name: name.clone(), problem: error.problem })
    }
}

fn check(name: &str, value: &Parameter) -> Result<(), ValueError> {
    let path = join(TABLE, name);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !is_name {
        let cure = "begin with a letter, and use letters, digits, _ and - only";
        return Err(ValueError::rule(path, format!("{name:?} is not a valid name"), cure));
    }
    match value {
        Parameter::Text(text) if text.starts_with('$') => {
            Err(ValueError::rule(path, format!("{text:?} names another parameter"), "give the value itself"))
        }
        _ => Ok(()),
    }
}

fn unknown(path: &str, name: &str, values: &Parameters) -> ValueError {
    let known = || values.keys().map(String::as_str);
    let cure = if values.is_empty() {
        format!("add a table [parameters] with {name} = ...")
    } else {
        format!(
            "{}Parameters are declared in [parameters]; there are: {}",
            names::hint(name, known()),
            known().collect::<Vec<_>>().join(", ")
        )
    };
    ValueError::rule(path, format!("there is no parameter {name:?}"), cure)
}
