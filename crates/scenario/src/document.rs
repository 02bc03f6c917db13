//! A scenario's text with the place of every key in it.

use crate::error::{Place, Problem, ScenarioError, ValueError};
use crate::reader::{SIGNED, read};
use crate::table::join;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::num::{IntErrorKind, ParseIntError};
use std::ops::Range;
use toml::de::{DeString, DeTable, DeValue};
use toml::{Spanned, Table, Value};

/// A parsed text of TOML, such as a scenario: values, and where each stands.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, or the name of a built-in scenario.
    pub name: String,
    /// The text.
    pub text: String,
    /// Its values.
    pub table: Table,
    /// Where each stands, by its path, such as `workload[0].flow_size`.
    spans: Spans,
}

/// The bytes of a key and of its value, by dotted path.
type Spans = BTreeMap<String, (Range<usize>, Range<usize>)>;

impl Document {
    /// Parses TOML.
    ///
    /// # Errors
    /// If the text is not TOML, or a number in it is out of range; the error names line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let (tree, errors) = DeTable::parse_recoverable(text);
        let mut document = Self {
            name: name.to_owned(),
            text: text.to_owned(),
            table: Table::new(),
            spans: BTreeMap::new(),
        };
        if let Some(error) = errors.first() {
            let span = error.span().unwrap_or_default();
            let message = error.message().replace('\n', ", ");
            let problem = Problem::Syntax { message, cure: document.syntax_cure(tree.get_ref(), &span) };
            return Err(ValueError::new("", problem).at(document.place(span.start)));
        }
        let table = record_table("", tree.get_ref(), &mut document.spans);
        document.table = table.map_err(|error| {
            let place = document.nearest_place(&error.path);
            error.at(place)
        })?;
        Ok(document)
    }

    /// The cure for a text that is not TOML, from the bytes that are wrong and what could be read of the rest.
    fn syntax_cure(&self, tree: &DeTable<'_>, wrong: &Range<usize>) -> &'static str {
        let part = |bytes: Range<usize>| self.text.get(bytes).unwrap_or_default();
        let line = part(0..wrong.start).rfind('\n').map_or(0, |end| end + 1);
        let around = [part(line..wrong.start), part(wrong.clone()), part(wrong.end..self.text.len())];
        let [left, key, right] = around.map(|text| text.trim_matches(['"', '\'', ' ', '\t']));
        let is_key =
            (left.is_empty() || left.ends_with(['[', '{', ',', '.'])) && right.starts_with(['=', ']', '.']);
        // A header that comes again takes the place of the first one in the tree.
        let (before, _) = DeTable::parse_recoverable(part(0..line));
        if !(is_key && [tree, before.get_ref()].into_iter().any(|tree| has_key(tree, key, wrong))) {
            "close brackets and quotes, and write key = value; https://toml.io/en/v1.0.0 has the syntax"
        } else if left.starts_with('[') {
            "write each [table] once; write [[table]] for parts that can repeat, such as workload and fault"
        } else {
            "a key can stand only once in its table: remove one of the two"
        }
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

    /// The text as a value of a type.
    ///
    /// # Errors
    /// The first value of the wrong type, with its place.
    pub(crate) fn typed<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        read("", &self.table).map_err(|error| {
            let place = self.nearest_place(&error.path);
            error.at(place)
        })
    }

    /// The place of a byte of the text.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let (line, column) = line_and_column(&self.text, offset);
        Place::Text { name: self.name.clone(), line, column }
    }
}

/// A value alone, as it stands behind a key; `None` if the text is none.
pub(crate) fn value(text: &str) -> Option<Value> {
    let text = format!("value = {text}");
    let tree = DeTable::parse(&text).ok()?;
    record_table("", tree.get_ref(), &mut Spans::new()).ok()?.remove("value")
}

/// The value of `--set PATH=VALUE`: TOML if it can be, and text otherwise.
///
/// ```
/// use toml::Value;
///
/// assert_eq!(farspan_scenario::value_or_text("4"), Value::Integer(4));
/// assert_eq!(farspan_scenario::value_or_text("4ms"), Value::from("4ms"));
/// ```
#[must_use]
pub fn value_or_text(text: &str) -> Value {
    value(text.trim()).unwrap_or_else(|| text.trim().into())
}

/// Whether a tree has this key, other than at `wrong`.
fn has_key(table: &DeTable<'_>, key: &str, wrong: &Range<usize>) -> bool {
    let has = |value: &DeValue<'_>| value.as_table().is_some_and(|table| has_key(table, key, wrong));
    table.iter().any(|(known, value)| {
        let is_key = known.get_ref() == key && known.span() != *wrong;
        let items = value.get_ref().as_array().into_iter().flatten();
        is_key || has(value.get_ref()) || items.into_iter().any(|item| has(item.get_ref()))
    })
}

fn record_table(path: &str, table: &DeTable<'_>, spans: &mut Spans) -> Result<Table, ValueError> {
    let entry = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        let path = join(path, key.get_ref());
        spans.insert(path.clone(), (key.span(), value.span()));
        Ok((key.get_ref().to_string(), record(&path, value.get_ref(), spans)?))
    };
    table.iter().map(entry).collect()
}

fn record(path: &str, value: &DeValue<'_>, spans: &mut Spans) -> Result<Value, ValueError> {
    let out_of_range = |value: &str, [least, most]: [String; 2]| {
        ValueError::new(path, Problem::OutOfRange { value: value.to_owned(), least, most })
    };
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let ends = [i64::MIN, i64::MAX].map(|end| end.to_string());
            let wrong = |error: ParseIntError| match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                    out_of_range(&number.to_string(), ends)
                }
                // A prefix alone, such as 0x.
                _ => ValueError::wrong_type(path, number.to_string(), SIGNED),
            };
            Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).map_err(wrong)?)
        }
        DeValue::Float(number) => {
            let ends = [f64::MIN, f64::MAX].map(|end| format!("{end:e}"));
            let is_said =
                |value: &f64| value.is_finite() || !number.as_str().contains(|c: char| c.is_ascii_digit());
            let value = number.as_str().parse().ok().filter(is_said);
            Value::Float(value.ok_or_else(|| out_of_range(number.as_str(), ends))?)
        }
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(date) => Value::Datetime(*date),
        DeValue::Table(table) => Value::Table(record_table(path, table, spans)?),
        DeValue::Array(items) => {
            let item = |(index, item): (usize, &Spanned<DeValue<'_>>)| {
                let path = format!("{path}[{index}]");
                spans.insert(path.clone(), (item.span(), item.span()));
                record(&path, item.get_ref(), spans)
            };
            Value::Array(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
        }
    })
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
    fn text_that_is_not_toml_names_line_and_column() {
        let error = Document::parse("t.toml", "a = 1\nb = = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("t.toml:2:5: not TOML"), "{error}");
        let error = Document::parse("t.toml", "a = 1\na = 2\n").unwrap_err().to_string();
        assert!(error.starts_with("t.toml:2:1: not TOML"), "{error}");
    }

    #[test]
    fn the_cure_for_what_stands_twice_is_not_that_for_a_bracket() {
        for (text, cure) in [
            ("a = 1\na = 2", "remove one of the two"),
            ("a = 1\n'a' = 2", "remove one of the two"),
            ("a = { b = 1, b = 2 }", "remove one of the two"),
            ("[a]\n[a]", "write each [table] once"),
            ("[[a]]\nb = 1\n[a]", "write each [table] once"),
            ("a = 1\na", "close brackets and quotes"),
            ("a = 1\nb = a", "close brackets and quotes"),
            ("[a]\n[b] a", "close brackets and quotes"),
            ("[a", "close brackets and quotes"),
        ] {
            let error = Document::parse("t", text).unwrap_err();
            assert!(error.cure().contains(cure), "{text:?} gave {error}");
        }
    }

    #[test]
    fn a_number_out_of_range_names_its_key() {
        for (text, said) in [
            (
                "a = { b = [1, 9223372036854775808] }",
                "t:1:15: a.b[1]: 9223372036854775808 is out of range; give from -92",
            ),
            ("a = 0x", "t:1:5: a: 0x does not fit here; give a whole number, such as 8"),
            ("a = 1e400", "t:1:5: a: 1e400 is out of range; give from -1.79"),
        ] {
            let error = Document::parse("t", text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        let table = Document::parse("t", "a = 0xff\nb = -1_000\nc = -inf\nd = 1_0.5e1").unwrap().table;
        assert_eq!(
            Value::Table(table),
            Value::Table("a = 255\nb = -1000\nc = -inf\nd = 105.0".parse().unwrap())
        );
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("é = 1\nüü x", 12), (2, 4));
    }
}
