//! Paths of keys: `topology.wan.rtt`, `workload[1].load`, `topology.link["west-*->east-*"].delay`.

use crate::error::ValueError;
use crate::table::join;
use crate::text::schema::Keys;
use toml::{Table, Value};

/// One step of a path: a key, and perhaps a position in an array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Step {
    pub key: String,
    pub index: Option<usize>,
}

/// The steps of a path. A key with other than letters, digits, `_`, `-`, `.` and `/` stands in quotes, in brackets or behind a dot as
/// in TOML.
///
/// # Errors
/// If it is not a path.
pub(super) fn steps(path: &str) -> Result<Vec<Step>, ValueError> {
    parse(path).ok_or_else(|| {
        ValueError::rule(
            path,
            "not a path",
            "write keys joined by dots, such as topology.wan.rtt, workload[1].load or topology.link[\"west-*->east-*\"].delay",
        )
    })
}

fn parse(path: &str) -> Option<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut rest, mut is_first) = (path, true);
    while is_first || !rest.is_empty() {
        let behind_dot = if is_first { Some(rest) } else { rest.strip_prefix('.') };
        if let Some((key, after)) = rest.strip_prefix('[').and_then(quoted) {
            steps.push(Step { key, index: None });
            rest = after.strip_prefix(']')?;
        } else if let Some((key, after)) = behind_dot.and_then(quoted) {
            steps.push(Step { key, index: None });
            rest = after;
        } else if let Some(after) = behind_dot {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let key = after[..end].to_owned();
            if key.is_empty() || key.contains([']', '"', '\'']) {
                return None;
            }
            steps.push(Step { key, index: None });
            rest = &after[end..];
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            let last = steps.last_mut().filter(|step| step.index.is_none())?;
            last.index = Some(index.parse().ok()?);
            rest = after;
        }
        is_first = false;
    }
    Some(steps)
}

/// A text in quotes at the begin, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (key, after) = text[1..].split_once(quote)?;
    Some((key.to_owned(), after))
}

/// The path of some steps.
pub(super) fn render(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |path, step| {
        let index = step.index.map_or(String::new(), |index| format!("[{index}]"));
        join(&path, &step.key) + &index
    })
}

/// Checks that a scenario can have this path; the keys inside a component are checked with its values.
///
/// # Errors
/// The first key that its table does not have.
pub(super) fn check(path: &str, steps: &[Step]) -> Result<(), ValueError> {
    let keys = Keys::of_scenario();
    let mut above: Vec<&str> = Vec::new();
    for step in steps {
        let known = keys.below(&above);
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        if let Some(list) = above.last().filter(|_| step.key.bytes().all(|byte| byte.is_ascii_digit())) {
            let right = path.replacen(&format!("{list}.{}", step.key), &format!("{list}[{}]", step.key), 1);
            return Err(ValueError::rule(path, "write positions in brackets", format!("write {right}")));
        }
        if !known.contains(&step.key.as_str()) && !keys.takes_any(&above) {
            return Err(ValueError::unknown_key(path, &step.key, &known));
        }
        above.push(&step.key);
    }
    Ok(())
}

/// A value, or its item at a position.
pub(super) fn at_position(value: &Value, index: Option<usize>) -> Option<&Value> {
    index.map_or(Some(value), |index| value.get(index))
}

/// Puts a value at a path, making the tables on the way; a component's bare name becomes a table with that name.
///
/// # Errors
/// If there is no such position, or something on the way is not a table.
pub(super) fn put(table: &mut Table, steps: &[Step], value: Value) -> Result<(), ValueError> {
    let [step, rest @ ..] = steps else { return Ok(()) };
    let path = || render(steps);
    let entry = table.entry(step.key.clone()).or_insert_with(|| Value::Table(Table::new()));
    let entry = match step.index {
        None => entry,
        Some(index) => {
            let items = entry.as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
            let count = items.len();
            items.get_mut(index).ok_or_else(|| {
                ValueError::rule(
                    path(),
                    format!("there is no {}[{index}]", step.key),
                    format!("there are {count}, from 0"),
                )
            })?
        }
    };
    if rest.is_empty() {
        *entry = value;
        return Ok(());
    }
    if let Value::String(name) = entry {
        *entry = Value::Table(Table::from_iter([("name".to_owned(), Value::String(std::mem::take(name)))]));
    }
    match entry {
        Value::Table(inner) => put(inner, rest, value),
        _ => Err(ValueError::rule(
            path(),
            format!("{} is not a table", step.key),
            format!("set one of its elements by position, as in {}[0]", step.key),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(path: &str) -> Option<Vec<(String, Option<usize>)>> {
        parse(path).map(|steps| steps.into_iter().map(|step| (step.key, step.index)).collect())
    }

    fn of(steps: &[(&str, Option<usize>)]) -> Option<Vec<(String, Option<usize>)>> {
        Some(steps.iter().map(|(key, index)| ((*key).to_owned(), *index)).collect())
    }

    #[test]
    fn keys_stand_plain_or_in_quotes_and_positions_in_brackets() {
        assert_eq!(keys("topology.wan.rtt"), of(&[("topology", None), ("wan", None), ("rtt", None)]));
        assert_eq!(keys("workload[1].load"), of(&[("workload", Some(1)), ("load", None)]));
        let link = of(&[("topology", None), ("link", None), ("a.b-*->c#0", None), ("delay", None)]);
        for path in [
            "topology.link[\"a.b-*->c#0\"].delay",
            "topology.link['a.b-*->c#0'].delay",
            "topology.link.\"a.b-*->c#0\".delay",
        ] {
            assert_eq!(keys(path), link, "{path}");
        }
        assert_eq!(
            render(&steps("topology.link['a.b-*->c#0'].delay").unwrap()),
            "topology.link[\"a.b-*->c#0\"].delay"
        );
    }

    #[test]
    fn what_is_no_path_says_so() {
        for path in [
            "",
            "a..b",
            "a.",
            ".a",
            "a[",
            "a[0",
            "a[x]",
            "a[0][1]",
            "a[\"b]",
            "a[\"b\"",
            "a]b",
            "a[\"b\"]c",
            "a\"b\"",
        ] {
            let error = steps(path).unwrap_err().to_string();
            assert!(error.contains("not a path"), "{path}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_rendered_reads_back(steps in prop::collection::vec(("[a-z*?>#. -]{1,8}", prop::option::of(0_usize..9)), 1..5)) {
            let steps: Vec<_> = steps.into_iter().map(|(key, index)| Step { key, index }).collect();
            // A dot parts plain keys: a key with one reads back as two, as always.
            prop_assume!(steps.iter().all(|step| !step.key.contains('.') || crate::table::is_quoted(&step.key)));
            prop_assert_eq!(parse(&render(&steps)), Some(steps));
        }

        #[test]
        fn no_text_panics(path in ".{0,24}") {
            let _ = parse(&path);
        }
    }
}
