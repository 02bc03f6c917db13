//! Names in `claims.toml` that refer to a case, an arm, a measure or a statement: each must be known.

use crate::error::{Checked, wrong};
use crate::figure::Figure;
use crate::statement::Statements;
use crate::text::Name;
use farspan_scenario::unknown_name;

/// Names that claims and plots refer to.
pub(crate) struct Names<'a> {
    pub(crate) cases: &'a [String],
    pub(crate) arms: &'a [String],
    pub(crate) measures: &'a [String],
    pub(crate) statements: &'a Statements,
}

/// The index of a name among those that there are.
pub(crate) fn index(what: &str, name: &Name, known: &[String]) -> Checked<usize> {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    known.iter().position(|known| known == name.get_ref()).map_or_else(
        || {
            let message = unknown_name(what, name.get_ref(), &names, &[]);
            let (problem, cure) = message.split_once(": ").unwrap_or((&message, "correct it"));
            wrong(name, problem, cure)
        },
        Ok,
    )
}

/// The indices of names; where none is named, all.
pub(crate) fn indices(what: &str, names: Option<&Vec<Name>>, known: &[String]) -> Checked<Vec<usize>> {
    match names {
        None => Ok((0..known.len()).collect()),
        Some(names) => names.iter().map(|name| index(what, name, known)).collect(),
    }
}

/// The cases of these names; where none is named all but the ablations.
pub(crate) fn cases_named(text: Option<&Vec<Name>>, figure: &Figure, names: &Names) -> Checked<Vec<usize>> {
    let mut found = indices("case", text, names.cases)?;
    found.retain(|case| text.is_some() || figure.cases[*case].ablates.is_none());
    Ok(found)
}
