//! Random values of a key: one of a list, or from a range.

use farspan_scenario::Problem;
use farspan_units::{Bytes, Duration, Purpose, Random, Rate, random};
use toml::{Table, Value};

/// The keys of a range.
const KEYS: [&str; 3] = ["from", "to", "log"];

/// The values that a key is drawn from.
#[derive(Clone, PartialEq, Debug)]
pub enum Draw {
    /// Each of them with one chance.
    List(Vec<Value>),
    /// Whole numbers, both ends included; of base units, if they have one.
    Whole { from: i64, to: i64, log: bool, unit: Option<&'static str> },
    /// Numbers.
    Real { from: f64, to: f64, log: bool },
}

/// Whether a table describes a range.
pub fn is_range(table: &Table) -> bool {
    KEYS.iter().any(|key| table.contains_key(*key))
}

impl Draw {
    /// The draw that a value of the file describes.
    pub fn new(value: &Value) -> Result<Self, Problem> {
        match value {
            Value::Array(items) if !items.is_empty() => Ok(Self::List(items.clone())),
            Value::Table(table) if is_range(table) => range(table),
            other => Err(Problem::WrongType {
                found: other.to_string(),
                expected: "a list, or a range such as { from = \"128KiB\", to = \"8MiB\", log = true }"
                    .to_owned(),
            }),
        }
    }

    /// The value of `key` in point `index`: a function of seed, key and index alone, so that a longer sweep begins with
    /// the points of a shorter one.
    pub fn value(&self, seed: u64, key: &str, index: u64) -> Value {
        let mut random = Random::new(seed, Purpose::Sweep, random::entity(key));
        let bits = random.at(index);
        random = Random::new(bits, Purpose::Sweep, index);
        match self {
            Self::List(items) => items[random.below(items.len() as u64) as usize].clone(),
            Self::Whole { from, to, log, unit } => {
                let drawn = match log {
                    false => from + random.below((to - from) as u64 + 1) as i64,
                    true => (between_logs(*from as f64, *to as f64, random.uniform()).round() as i64)
                        .clamp(*from, *to),
                };
                unit.map_or(Value::Integer(drawn), |unit| Value::String(format!("{drawn}{unit}")))
            }
            Self::Real { from, to, log: false } => Value::Float(from + random.uniform() * (to - from)),
            Self::Real { from, to, log: true } => Value::Float(between_logs(*from, *to, random.uniform())),
        }
    }
}

fn between_logs(from: f64, to: f64, share: f64) -> f64 {
    libm::exp(libm::log(from) + share * (libm::log(to) - libm::log(from)))
}

fn range(table: &Table) -> Result<Draw, Problem> {
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(Problem::UnknownKey { key: key.clone(), known: KEYS.map(str::to_owned).into() });
    }
    let log = match table.get("log") {
        None => false,
        Some(Value::Boolean(log)) => *log,
        Some(other) => {
            return Err(Problem::WrongType {
                found: other.to_string(),
                expected: "true or false".to_owned(),
            });
        }
    };
    let end = |key: &str, example: &str| {
        table.get(key).ok_or_else(|| Problem::Missing { example: format!("{key} = {example}") })
    };
    let (from, to) = (end("from", "\"128KiB\"")?, end("to", "\"8MiB\"")?);
    let draw = match (from, to) {
        (Value::Integer(from), Value::Integer(to)) => Draw::Whole { from: *from, to: *to, log, unit: None },
        (Value::String(from), Value::String(to)) => quantities(from, to, log)?,
        _ => match (real(from), real(to)) {
            (Some(from), Some(to)) => Draw::Real { from, to, log },
            _ => {
                return Err(Problem::WrongType {
                    found: format!("from {from} to {to}"),
                    expected: "two numbers, or two quantities of one kind such as \"1ms\" and \"20ms\""
                        .to_owned(),
                });
            }
        },
    };
    let (empty, has_zero) = match draw {
        Draw::Whole { from, to, .. } => (from > to || to.checked_sub(from).is_none(), from <= 0),
        Draw::Real { from, to, .. } => (from > to || !(to - from).is_finite(), from <= 0.0),
        Draw::List(_) => (false, false),
    };
    let rule =
        |problem: &str, cure: &str| Problem::Rule { problem: problem.to_owned(), cure: cure.to_owned() };
    if empty {
        return Err(rule(&format!("nothing lies between {from} and {to}"), "write the smaller one first"));
    }
    if log && has_zero {
        return Err(rule(
            "a logarithmic range that starts at zero or below",
            "start above zero, or leave log out",
        ));
    }
    Ok(draw)
}

fn real(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// A draw between two sizes, times or rates.
fn quantities(from: &str, to: &str, log: bool) -> Result<Draw, Problem> {
    let both = |base: fn(&str) -> Option<u64>| Some((base(from)?, base(to)?));
    let found = [(bytes as fn(&str) -> Option<u64>, "B"), (picoseconds, "ps"), (bits_a_second, "bps")]
        .into_iter()
        .find_map(|(base, unit)| both(base).map(|ends| (ends, unit)));
    let whole = |n: u64| i64::try_from(n).ok();
    let draw = found.and_then(|((from, to), unit)| {
        Some(Draw::Whole { from: whole(from)?, to: whole(to)?, log, unit: Some(unit) })
    });
    draw.ok_or_else(|| Problem::WrongType {
        found: format!("from {from:?} to {to:?}"),
        expected: "two numbers, or two quantities of one kind such as \"1ms\" and \"20ms\"".to_owned(),
    })
}

pub fn bytes(text: &str) -> Option<u64> {
    text.parse().ok().map(Bytes::get)
}

pub fn picoseconds(text: &str) -> Option<u64> {
    text.parse().ok().map(Duration::as_ps)
}

pub fn bits_a_second(text: &str) -> Option<u64> {
    text.parse().ok().map(Rate::as_bps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(text: &str) -> Draw {
        let table: Table = format!("x = {text}").parse().unwrap();
        Draw::new(&table["x"]).unwrap()
    }

    fn drawn(draw: &Draw, count: u64) -> Vec<Value> {
        (0..count).map(|i| draw.value(7, "a.b", i)).collect()
    }

    #[test]
    fn draws_are_frozen() {
        let sizes = draw("{ from = '128KiB', to = '8MiB', log = true }");
        let first: Vec<_> = drawn(&sizes, 3).iter().map(|size| size.as_str().unwrap().to_owned()).collect();
        assert_eq!(
            first,
            ["1124779B", "675796B", "417793B"],
            "sweeps of every release depend on these values"
        );
    }

    #[test]
    fn draws_stay_in_their_range_and_fill_it() {
        let whole: Vec<_> =
            drawn(&draw("{ from = 1, to = 6 }"), 200).iter().filter_map(Value::as_integer).collect();
        assert_eq!((whole.iter().min(), whole.iter().max(), whole.len()), (Some(&1), Some(&6), 200));
        let real: Vec<_> =
            drawn(&draw("{ from = 0.25, to = 1 }"), 200).iter().filter_map(Value::as_float).collect();
        assert!(real.len() == 200 && real.iter().all(|x| (0.25..=1.0).contains(x)));
        let logs = drawn(&draw("{ from = '1us', to = '1s', log = true }"), 200);
        let small = logs.iter().filter(|x| picoseconds(x.as_str().unwrap()).unwrap() < 1_000_000_000).count();
        assert!((70..130).contains(&small), "half of them lie below the geometric mean: {small}");
        let list: std::collections::BTreeSet<_> =
            drawn(&draw("['a', 'b', 'c']"), 50).iter().map(Value::to_string).collect();
        assert_eq!(list.len(), 3);
    }

    #[test]
    fn keys_and_seeds_have_draws_of_their_own() {
        let whole = draw("{ from = 1, to = 1000000 }");
        assert_ne!(whole.value(1, "a", 0), whole.value(1, "b", 0));
        assert_ne!(whole.value(1, "a", 0), whole.value(2, "a", 0));
    }
}
