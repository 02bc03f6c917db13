//! The files of scenarios.

use crate::catalog::builtin::BUILT_IN;
use crate::error::ValueError;
use crate::names;
use farspan_workload::input::{LONGEST_SCENARIO, read_file, utf8};
use std::io::ErrorKind;
use std::path::Path;

/// The text of a scenario's file, which was asked for as `name`.
pub(crate) fn read(path: &Path, name: &str) -> Result<String, ValueError> {
    let text = read_file(path, LONGEST_SCENARIO).map_err(|error| {
        let known: Vec<_> = BUILT_IN.iter().map(|built_in| built_in.name).collect();
        let near = names::few(name, known.iter().copied());
        let problem = format!("neither a built-in scenario nor a file that can be read ({error})");
        let mut cure = format!(
            "{near}see `farspan list scenarios` for the built-in ones, or write a file with `farspan new`"
        );
        if error.kind() == ErrorKind::FileTooLarge {
            cure = "give flows in a list of their own (workload kind = \"flows\", file = ...)".to_owned();
        }
        ValueError::rule("", problem, cure)
    })?;
    utf8(text).map_err(|error| ValueError::rule("", error.to_string(), "save the scenario as UTF-8"))
}
