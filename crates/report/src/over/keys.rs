//! Keys as they are asked for: whole, or by their last names.

use super::error::OverError;
use super::heads::{Head, candidates, keys};
use super::values;
use crate::key::written;

/// The key that a name stands for: that key itself, or the one key that varies and ends with it. A name that is none of these stays,
/// and is told as unknown.
///
/// # Errors
/// If several keys that vary end with it.
pub(super) fn meant(runs: &[&Head], what: &'static str, name: &str) -> Result<String, OverError> {
    let name = written(name);
    if runs.iter().any(|head| head.value(&name).is_some()) {
        return Ok(name);
    }
    let axes = candidates(runs);
    let is_of_axis = |key: &str| {
        axes.iter().any(|axis| {
            key.strip_prefix(&**axis).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    };
    let end = format!(".{name}");
    let fits = |key: &String| key.ends_with(&end) && is_of_axis(key) && values(runs, key).len() > 1;
    let mut found: Vec<String> = keys(runs).into_iter().filter(fits).collect();
    match found.len() {
        0 => Ok(name),
        1 => Ok(found.remove(0)),
        _ => Err(OverError::Ambiguous { what, name, keys: found }),
    }
}
