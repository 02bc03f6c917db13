//! Errors for values of another type than their key's, in words.

use crate::error::{Problem, ValueError};
use crate::names;
use crate::table::join;
use serde::de::DeserializeOwned;
use toml::{Table, Value};

/// The error of a value, from what the reader of TOML says of it.
pub(crate) fn error(path: &str, message: &str) -> ValueError {
    let message = message.trim().replace('\n', ", ");
    ValueError::new(path, explain(&message).unwrap_or(Problem::Unreadable { message }))
}

/// `None` if the message is of no known form.
fn explain(message: &str) -> Option<Problem> {
    let invalid = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = invalid.and_then(|rest| rest.split_once(", expected ")) {
        let found = found.replace('`', "");
        let (kind, value) = found.split_once(' ').unwrap_or((&found, ""));
        let found = if value.is_empty() { format!("a {kind}") } else { value.to_owned() };
        return Some(Problem::WrongType { found, expected: plain(expected) });
    }
    if let Some((length, expected)) =
        message.strip_prefix("invalid length ").and_then(|rest| rest.split_once(", expected "))
    {
        return Some(Problem::WrongType { found: format!("a list of {length}"), expected: plain(expected) });
    }
    if let Some(expected) = message.strip_suffix(" was expected") {
        return Some(Problem::WrongType { found: "the value".to_owned(), expected: expected.to_owned() });
    }
    if let Some((found, rest)) =
        message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
        return Some(Problem::UnknownName(names::unknown("word for this key", found, &known, &[])));
    }
    if message == "wanted string or table" {
        // Of a value that is one of several words.
        let expected = "one of the words for this key, as text in quotes".to_owned();
        return Some(Problem::WrongType { found: "the value".to_owned(), expected });
    }
    let missing = message.strip_prefix("missing field `")?.split('`').next()?;
    Some(Problem::rule(format!("{missing} is missing"), format!("add {missing} = ... to it")))
}

/// The expected type in plain words.
fn plain(expected: &str) -> String {
    let words = match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number that is not negative, such as 8",
        "f64" | "f32" => "a number, such as 0.5",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "a sequence" => "a list in brackets, such as [0, 1]",
        "a map" => "a table, such as { key = \"value\" }",
        other if other.starts_with("struct ") => "a table, such as { key = \"value\" }",
        other => other,
    };
    words.to_owned()
}

/// A component (a control, a path selector, a coding, an ACK policy) from its table at `path`.
///
/// # Errors
/// The first parameter that does not fit.
pub fn component<T: DeserializeOwned>(path: &str, table: &Table) -> Result<T, ValueError> {
    let read = |table: &Table| Value::Table(table.clone()).try_into::<T>();
    read(table).map_err(|whole| {
        let alone = |(key, single): (String, Table)| read(&single).err().map(|error| (key, error));
        let named = singles("", table).into_iter().find_map(|(key, mut single)| {
            single.extend(table.get("name").map(|name| ("name".to_owned(), name.clone())));
            alone((key, single))
        });
        match named {
            Some((key, wrong)) => error(&format!("{path}.{key}"), wrong.message()),
            None => error(path, whole.message()),
        }
    })
}

/// Each value of a table, with its dotted key, in a table in which it is the only one.
fn singles(prefix: &str, table: &Table) -> Vec<(String, Table)> {
    let one = |(key, value): (&String, &Value)| {
        let inner = match value {
            Value::Table(inner) => singles(&join(prefix, key), inner),
            value => vec![(join(prefix, key), Table::from_iter([(key.clone(), value.clone())]))],
        };
        let is_table = value.is_table();
        let wrap = |(path, single): (String, Table)| {
            let single =
                if is_table { Table::from_iter([(key.clone(), Value::Table(single))]) } else { single };
            (path, single)
        };
        inner.into_iter().map(wrap).collect::<Vec<_>>()
    };
    table.iter().filter(|(key, _)| *key != "name").flat_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_transport::balance::BalanceConfig;
    use farspan_transport::coding::CodingConfig;
    use farspan_transport::congestion::CongestionConfig;

    fn said<T: DeserializeOwned>(text: &str) -> String {
        let error = component::<T>("here", &text.parse().unwrap()).map(|_| ()).unwrap_err();
        format!("{}: {}; {}", error.path, error.problem, error.problem.cure())
    }

    #[test]
    fn the_parameter_and_what_to_give_are_named() {
        assert_eq!(
            said::<CodingConfig>("name = 'mds'\ntimer = 5\ndata = 8"),
            "here.timer: 5 does not fit here; give a time as text, such as \"14us\""
        );
        assert_eq!(
            said::<BalanceConfig>("name = 'plb'\nbusy_rounds = -1"),
            "here.busy_rounds: -1 does not fit here; give a whole number that is not negative, such as 8"
        );
        let word = said::<CongestionConfig>("name = 'unocc'\nqa = { factor = 1.0, pause = 'first' }");
        assert!(
            word.starts_with(
                "here.qa.pause: \"first\" is not a known word for this key; did you mean \"first_ack\"?"
            ),
            "{word}"
        );
    }

    #[test]
    fn types_have_words() {
        let cure = |message: &str| explain(message).unwrap().cure();
        assert_eq!(cure("invalid type: integer `1`, expected a boolean"), "give true or false");
        assert_eq!(cure("invalid type: map, expected a string"), "give text in quotes");
        assert_eq!(
            explain("invalid type: map, expected f64").unwrap().to_string(),
            "a map does not fit here"
        );
        assert_eq!(cure("invalid length 0, expected one number or two"), "give one number or two");
        assert_eq!(cure("\"ports\" or a size was expected"), "give \"ports\" or a size");
        assert_eq!(cure("missing field `per_gbps`"), "add per_gbps = ... to it");
        assert_eq!(cure("wanted string or table"), "give one of the words for this key, as text in quotes");
        assert_eq!(explain("something else"), None);
    }
}
