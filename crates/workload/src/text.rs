//! Text files that people write: how they are read, lines of small tables, and the nearest name to a wrong one.

use crate::input::{LONGEST_LIST, read_file, utf8};
use std::path::Path;

/// Why the text of a table cannot be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TextProblem {
    /// The file cannot be read; what the system says.
    Unreadable(String),
    /// The line, from 1, with the first byte that is not UTF-8.
    NotUtf8(u64),
}

/// Reads a file of at most [`LONGEST_LIST`] bytes as UTF-8, without a byte-order mark.
///
/// # Errors
/// If it cannot be read, or is not UTF-8.
pub fn read(path: &Path) -> Result<String, TextProblem> {
    let bytes = read_file(path, LONGEST_LIST).map_err(|e| TextProblem::Unreadable(e.to_string()))?;
    let text = utf8(bytes).map_err(|error| TextProblem::NotUtf8(error.line as u64))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// The lines that hold data, with their numbers from 1, split at commas.
pub(crate) fn rows(text: &str) -> impl Iterator<Item = (u64, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(i, line)| {
        let line = line.trim();
        let data = !line.is_empty() && !line.starts_with('#');
        data.then(|| (i as u64 + 1, line.split(',').map(unquoted).collect()))
    })
}

fn unquoted(field: &str) -> &str {
    let field = field.trim();
    field.strip_prefix('"').and_then(|f| f.strip_suffix('"')).unwrap_or(field)
}

/// The longest piece of an input that a message repeats, in characters.
const SHOWN: usize = 60;

/// A piece of an input, cut short for a message.
pub(crate) fn shown(piece: &str) -> String {
    match piece.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &piece[..end]),
        None => piece.to_owned(),
    }
}

/// The known name nearest to `name`, if it is near at all.
#[must_use]
pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let near = |k: &&'a str| strsim::jaro_winkler(&name.to_lowercase(), k);
    known.iter().copied().max_by(|a, b| near(a).total_cmp(&near(b))).filter(|k| near(k) > 0.7)
}

/// `; did you mean "x"?`, or nothing.
#[must_use]
pub fn hint(near: Option<&str>) -> String {
    near.map(|n| format!("; did you mean {n:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::shown;

    #[test]
    fn a_message_repeats_sixty_characters_of_an_input() {
        assert_eq!(shown(&"é".repeat(60)), "é".repeat(60));
        assert_eq!(shown(&"é".repeat(61)), format!("{}...", "é".repeat(60)));
    }
}
