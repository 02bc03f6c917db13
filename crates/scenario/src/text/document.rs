//! A scenario's text with the place of every key in it.

use crate::error::{Place, Problem, ScenarioError};
use crate::table::join;
use crate::text::schema::Keys;
use crate::text::typed;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A parsed text of TOML, such as a scenario: values, and where each stands.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, or the name of a built-in scenario.
    pub name: String,
    /// The text.
    pub text: String,
    /// Its values.
    pub table: toml::Table,
    /// By dotted path (`workload[0].flow_size`): the bytes of the key and of the value.
    spans: BTreeMap<String, (Range<usize>, Range<usize>)>,
}

/// The cure for a text that is not TOML, from the parser's message and the line that it means.
fn syntax_cure(message: &str, line: &str) -> &'static str {
    if message.contains("duplicate key") && line.trim_start().starts_with('[') {
        "write each [table] once; of what there can be several, such as workload and fault, each is a [[table]]"
    } else if message.contains("duplicate key") {
        "each key stands once in its table: remove one of the two"
    } else {
        "close brackets and quotes, and write key = value; https://toml.io/en/v1.0.0 has the syntax"
    }
}

impl Document {
    /// Parses TOML.
    ///
    /// # Errors
    /// If the text is not TOML; the error names line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let place = |error: &toml::de::Error| {
            let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
            ScenarioError {
                place: Place::Text { name: name.to_owned(), line, column },
                path: String::new(),
                problem: Box::new(Problem::Syntax {
                    message: error.message().replace('\n', ", "),
                    cure: syntax_cure(error.message(), text.lines().nth(line - 1).unwrap_or_default()),
                }),
            }
        };
        let tree = DeTable::parse(text).map_err(|error| place(&error))?;
        let mut spans = BTreeMap::new();
        record_table("", tree.get_ref(), &mut spans);
        let table = toml::from_str(text).map_err(|error| place(&error))?;
        Ok(Self { name: name.to_owned(), text: text.to_owned(), table, spans })
    }

    /// Where the value of `path` stands.
    #[must_use]
    pub fn value_place(&self, path: &str) -> Option<Place> {
        self.spans.get(path).map(|(_, value)| self.place(value.start))
    }

    /// Where the key of `path` stands.
    #[must_use]
    pub fn key_place(&self, path: &str) -> Option<Place> {
        self.spans.get(path).map(|(key, _)| self.place(key.start))
    }

    /// Where the value of `path`, or what contains it, stands; the begin of the text if nothing does.
    #[must_use]
    pub fn nearest_place(&self, path: &str) -> Place {
        let mut outer = path;
        loop {
            if let Some(place) = self.value_place(outer) {
                return place;
            }
            match outer.rfind(['.', '[']) {
                Some(end) => outer = &outer[..end],
                None => return self.place(0),
            }
        }
    }

    /// The bytes of the text that are the value of `path`.
    #[must_use]
    pub fn value_span(&self, path: &str) -> Option<Range<usize>> {
        self.spans.get(path).map(|(_, value)| value.clone())
    }

    /// Checks every key.
    ///
    /// # Errors
    /// The first key that is not known, with its place.
    pub(crate) fn check_keys(&self, keys: &Keys) -> Result<(), ScenarioError> {
        keys.check(&self.table).map_err(|error| {
            let place = self.key_place(&error.path).unwrap_or_else(|| self.place(0));
            error.at(place)
        })
    }

    /// The text as a value of a type.
    ///
    /// # Errors
    /// The first value of the wrong type, with its place.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        toml::from_str(&self.text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            typed::error(self.path_at(offset), error.message()).at(self.place(offset))
        })
    }

    /// The innermost path whose value covers a byte of the text.
    pub(crate) fn path_at(&self, offset: usize) -> &str {
        self.spans
            .iter()
            .filter(|(_, (key, value))| value.contains(&offset) || key.contains(&offset))
            .max_by_key(|(path, (_, value))| (usize::MAX - value.len(), path.len()))
            .map_or("", |(path, _)| path)
    }

    /// The place of a byte of the text.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let (line, column) = line_and_column(&self.text, offset);
        Place::Text { name: self.name.clone(), line, column }
    }
}

fn record_table(path: &str, table: &DeTable<'_>, spans: &mut BTreeMap<String, (Range<usize>, Range<usize>)>) {
    for (key, value) in table {
        let path = join(path, key.get_ref());
        spans.insert(path.clone(), (key.span(), value.span()));
        record(&path, value.get_ref(), spans);
    }
}

fn record(path: &str, value: &DeValue<'_>, spans: &mut BTreeMap<String, (Range<usize>, Range<usize>)>) {
    match value {
        DeValue::Table(table) => record_table(path, table, spans),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{path}[{index}]");
                spans.insert(path.clone(), (item.span(), item.span()));
                record(&path, item.get_ref(), spans);
            }
        }
        _ => {}
    }
}

/// Line and column, from 1, of a byte of `text`; the column counts characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|b| **b == b'\n').count() + 1;
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "name = \"a\"\n[topology]\nk = 8\nwan = { rtt = \"2ms\" }\n\n[[workload]]\nkind = \"incast\"\n\n[[workload]]\nsenders = [1, 22]\n";

    fn at(path: &str) -> (usize, usize) {
        let document = Document::parse("t", TEXT).unwrap();
        match document.value_place(path) {
            Some(Place::Text { line, column, .. }) => (line, column),
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn every_value_has_a_line_and_a_column() {
        assert_eq!(at("name"), (1, 8));
        assert_eq!(at("topology.k"), (3, 5));
        assert_eq!(at("topology.wan.rtt"), (4, 15));
        assert_eq!(at("workload[0].kind"), (7, 8));
        assert_eq!(at("workload[1].senders[1]"), (10, 15));
    }

    #[test]
    fn a_byte_of_the_text_names_its_innermost_key() {
        let document = Document::parse("t", TEXT).unwrap();
        assert_eq!(document.path_at(TEXT.find("2ms").unwrap()), "topology.wan.rtt");
        assert_eq!(document.path_at(TEXT.find("22").unwrap()), "workload[1].senders[1]");
    }

    #[test]
    fn text_that_is_not_toml_names_line_and_column() {
        let error = Document::parse("t.toml", "a = 1\nb = = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("t.toml:2:5: not TOML"), "{error}");
        let error = Document::parse("t.toml", "a = 1\na = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("t.toml:2:1: not TOML"), "{error}");
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("é = 1\nüü x", 12), (2, 4));
    }
}
