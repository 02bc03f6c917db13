//! Hosts as they are listed: numbers, ranges, names.

use crate::error::Problem;
use crate::names;
use crate::ranges::{self, Pattern};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The most hosts of one list.
const MOST: usize = 1 << 20;

/// The items that a list can have.
const ITEM: &str = "a host's number, a range such as \"0..7\", names such as \"host[0..7]\", or \"all\"";

/// Hosts in the order in which they are listed: `[0, 10, 20]`, `"0..255"` (both ends included), `["0..7", 12]`, `"host[0..7]"`,
/// `"east-*"`, `"all"`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hosts(Vec<HostItem>);

/// An item of a list of hosts.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HostItem {
    /// A number.
    Number(u32),
    /// Numbers or names, as text.
    Text(String),
}

impl Hosts {
    /// Whether the list has no items.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these are all hosts, by that word.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(&self.0[..], [HostItem::Text(text)] if text == "all")
    }

    /// How many hosts these are, if that follows from the text alone: `"all"` and patterns say nothing of it.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        self.0.iter().map(HostItem::count).sum()
    }

    /// The numbers of these hosts, in their order; `known` are the names of all hosts, by number.
    ///
    /// # Errors
    /// If a name is that of no host. Whether there is a host of each number is not looked at.
    pub fn numbers(&self, known: &[&str]) -> Result<Vec<u32>, Problem> {
        let mut all = Vec::new();
        for item in &self.0 {
            match item {
                HostItem::Number(number) => all.push(*number),
                HostItem::Text(text) => {
                    for part in ranges::parts(text) {
                        numbers_of(part, known, &mut all)?;
                    }
                }
            }
        }
        Ok(all)
    }
}

impl From<Vec<u32>> for Hosts {
    fn from(numbers: Vec<u32>) -> Self {
        Self(numbers.into_iter().map(HostItem::Number).collect())
    }
}

impl HostItem {
    fn count(&self) -> Option<u64> {
        let Self::Text(text) = self else { return Some(1) };
        let count = |part: &str| {
            if is_number(part) {
                return ranges::numbers(part, MOST).ok().map(|all| all.len() as u64);
            }
            let is_listed = part != "all" && !part.contains(['*', '?']);
            if is_listed { ranges::names(part, MOST).ok().map(|all| all.len() as u64) } else { None }
        };
        ranges::parts(text).map(count).sum()
    }
}

fn is_number(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_digit())
}

/// Adds the hosts of one part of a text.
fn numbers_of(part: &str, known: &[&str], all: &mut Vec<u32>) -> Result<(), Problem> {
    let hosts = || (0..).zip(known);
    if is_number(part) {
        // Numbers beyond those of hosts are refused with those that do not exist.
        let number = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        all.extend(ranges::numbers(part, MOST)?.into_iter().map(number));
        return Ok(());
    }
    if part == "all" {
        all.extend(hosts().map(|(host, _)| host));
        return Ok(());
    }
    let unknown = |name: &str| {
        let near = names::hint(name, known.iter().copied());
        let there = names::ranges(known.iter().copied());
        Problem::rule(
            format!("no host is named {name:?}"),
            format!("{near}hosts are: {there}, or 0..{}", known.len().max(1) - 1),
        )
    };
    if part.contains(['*', '?']) {
        let pattern = Pattern::parse(part)?;
        let before = all.len();
        all.extend(hosts().filter(|(_, name)| pattern.fits(name)).map(|(host, _)| host));
        return if all.len() > before { Ok(()) } else { Err(unknown(part)) };
    }
    let wanted = ranges::names(part, MOST)?;
    let by_name: BTreeMap<_, _> = known.iter().zip(0..).collect();
    for name in &wanted {
        all.push(*by_name.get(&name.as_str()).ok_or_else(|| unknown(name))?);
    }
    Ok(())
}

/// A text that can be an item, if it says something.
fn item<E: serde::de::Error>(text: &str) -> Result<HostItem, E> {
    for part in ranges::parts(text) {
        let checked = match part {
            "" => return Err(E::invalid_value(Unexpected::Str(text), &ITEM)),
            _ if is_number(part) => ranges::numbers(part, MOST).map(drop),
            _ => ranges::names(part, MOST).map(drop),
        };
        checked.map_err(E::custom)?;
    }
    Ok(HostItem::Text(text.to_owned()))
}

fn number<E: serde::de::Error>(number: i64) -> Result<HostItem, E> {
    let wrong = || E::invalid_value(Unexpected::Signed(number), &"a host's number, such as 8");
    u32::try_from(number).map(HostItem::Number).map_err(|_| wrong())
}

impl Serialize for HostItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for HostItem {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HostItemVisitor;
        impl Visitor<'_> for HostItemVisitor {
            type Value = HostItem;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(ITEM)
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<HostItem, E> {
                number(value)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<HostItem, E> {
                item(text)
            }
        }
        deserializer.deserialize_any(HostItemVisitor)
    }
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [HostItem::Text(text)] => text.serialize(serializer),
            items => items.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HostsVisitor;
        impl<'de> Visitor<'de> for HostsVisitor {
            type Value = Hosts;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("hosts, such as [0, 1, 2], \"0..7\", [\"0..7\", 12], \"host[0..7]\" or \"all\"")
            }
            fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Hosts, E> {
                number(value).map(|item| Hosts(vec![item]))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Hosts, E> {
                item(text).map(|item| Hosts(vec![item]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Hosts, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Hosts(items))
            }
        }
        deserializer.deserialize_any(HostsVisitor)
    }
}

impl JsonSchema for Hosts {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Hosts".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "hosts",
            "type": ["integer", "string", "array"],
            "items": { "type": ["integer", "string"], "minimum": 0 },
            "minimum": 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ValueError;
    use crate::reader::read_value;

    fn read(value: &str) -> Result<Hosts, String> {
        let table: toml::Table = format!("hosts = {value}").parse().unwrap();
        read_value(&table["hosts"]).map_err(|error| error.to_string())
    }

    const KNOWN: &[&str] = &["host0", "host1", "host2", "east-0", "east-1", "gateway"];

    #[test]
    fn hosts_are_numbers_ranges_names_patterns_or_all() {
        for (text, numbers, count) in [
            ("[0, 10, 20]", vec![0, 10, 20], Some(3)),
            ("\"0..3\"", vec![0, 1, 2, 3], Some(4)),
            ("[\"0..3\"]", vec![0, 1, 2, 3], Some(4)),
            ("[5, \"0..4 step 2\", \"7,9\"]", vec![5, 0, 2, 4, 7, 9], Some(6)),
            ("2", vec![2], Some(1)),
            ("\"host[1..2]\"", vec![1, 2], Some(2)),
            ("[\"east-[0,1]\", \"gateway\"]", vec![3, 4, 5], Some(3)),
            ("\"gateway,host0\"", vec![5, 0], Some(2)),
            ("\"east-*\"", vec![3, 4], None),
            ("\"all\"", vec![0, 1, 2, 3, 4, 5], None),
            ("[]", vec![], Some(0)),
        ] {
            let hosts = read(text).unwrap();
            assert_eq!((hosts.numbers(KNOWN).unwrap(), hosts.count()), (numbers, count), "{text}");
        }
    }

    #[test]
    fn what_is_no_host_says_so_where_it_stands() {
        for (text, words) in [
            ("[0, -1]", "[1]: -1 does not fit here; give a host's number"),
            ("[0, true]", "[1]: true does not fit here; give a host's number, a range"),
            ("[0, \"1..\"]", "[1]: \"\" is not a whole number"),
            ("\"3..1\"", "no number lies between 3 and 1"),
            ("\"0..2000000\"", "stands for more than 1048576"),
            ("\"host[0\"", "a bracket without the other one"),
            ("\"\"", "\"\" does not fit here; give a host's number"),
            ("0.5", "0.5 does not fit here; give hosts, such as [0, 1, 2]"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
        for (text, words) in [
            (
                "\"hots0\"",
                "no host is named \"hots0\"; did you mean \"host0\"? hosts are: east-0..1, gateway, host0..2, or 0..5",
            ),
            ("\"host[2..3]\"", "no host is named \"host3\""),
            ("\"west-*\"", "no host is named \"west-*\""),
        ] {
            let error = read(text).unwrap().numbers(KNOWN).unwrap_err();
            let error = ValueError::new("", error).to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn hosts_are_written_as_they_were_read() {
        for text in ["[0, 10, 20]", "\"0..3\"", "[5, \"0..4\"]", "\"all\""] {
            let table: toml::Table = format!("hosts = {text}").parse().unwrap();
            let written = toml::Value::try_from(read(text).unwrap()).unwrap();
            assert_eq!(written, table["hosts"], "{text}");
        }
    }
}
