//! Values that take one of several shapes: a word or a list, a number or two, a name or a table.

use crate::reader::AsIs;
use farspan_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The ports that a probe samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PortChoice {
    /// The last links to the receivers with most traffic, and the links between the sites.
    Bottlenecks,
    /// Every port.
    All,
    /// These, by name or pattern: `*` stands for any text.
    Named(Vec<String>),
}

/// The flows that a probe samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowChoice {
    /// Every flow.
    All,
    /// Those that one of these selects: `flow=17,20..29`, `tag=incast*`, `class=inter`.
    Selected(Vec<String>),
}

impl Serialize for PortChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bottlenecks => serializer.serialize_str("bottlenecks"),
            Self::All => serializer.serialize_str("all"),
            Self::Named(names) => names.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PortChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PortChoiceVisitor;
        impl<'de> Visitor<'de> for PortChoiceVisitor {
            type Value = PortChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"bottlenecks\", \"all\", a pattern such as \"border*->*\", or a list of names and patterns")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<PortChoice, E> {
                match text {
                    "bottlenecks" => Ok(PortChoice::Bottlenecks),
                    "all" => Ok(PortChoice::All),
                    _ => Ok(PortChoice::Named(vec![text.to_owned()])),
                }
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PortChoice, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(PortChoice::Named(names))
            }
        }
        deserializer.deserialize_any(PortChoiceVisitor)
    }
}

impl JsonSchema for PortChoice {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "PortChoice".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "description": "\"bottlenecks\", \"all\", or a pattern such as \"border*->*\"." },
            { "type": "array", "items": { "type": "string" } },
        ] })
    }
}

impl Serialize for FlowChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => serializer.serialize_str("all"),
            Self::Selected(words) => words.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for FlowChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlowChoiceVisitor;
        impl<'de> Visitor<'de> for FlowChoiceVisitor {
            type Value = FlowChoice;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"all\", a selector such as \"flow=17,20..29\", \"tag=incast*\" or \"class=inter\", or a list of these")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<FlowChoice, E> {
                Ok(if text == "all" { FlowChoice::All } else { FlowChoice::Selected(vec![text.to_owned()]) })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<FlowChoice, A::Error> {
                let mut words = Vec::new();
                while let Some(word) = seq.next_element()? {
                    words.push(word);
                }
                Ok(FlowChoice::Selected(words))
            }
        }
        deserializer.deserialize_any(FlowChoiceVisitor)
    }
}

impl JsonSchema for FlowChoice {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "FlowChoice".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string", "description": "\"all\", or a selector such as \"flow=17,20..29\", \"tag=incast*\" or \"class=inter\"." },
            { "type": "array", "items": { "type": "string" } },
        ] })
    }
}

/// How many times fewer uplinks than downlinks a switch has: at the ToR, or at the ToR and the aggregation switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Oversubscription {
    /// At the ToR.
    pub tor: u32,
    /// At the aggregation switch.
    pub agg: u32,
}

impl Serialize for Oversubscription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.agg == 1 {
            self.tor.serialize(serializer)
        } else {
            [self.tor, self.agg].serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Oversubscription {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OversubscriptionVisitor;
        impl<'de> Visitor<'de> for OversubscriptionVisitor {
            type Value = Oversubscription;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of at least 1 (at the ToR), or two: [ToR, aggregation]")
            }
            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Oversubscription, E> {
                let tor = u32::try_from(n).ok().filter(|n| *n >= 1);
                let tor = tor.ok_or_else(|| E::invalid_value(serde::de::Unexpected::Signed(n), &self))?;
                Ok(Oversubscription { tor, agg: 1 })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Oversubscription, A::Error> {
                let mut numbers: Vec<u32> = Vec::new();
                while let Some(n) = seq.next_element()? {
                    numbers.push(n);
                }
                match numbers[..] {
                    [tor, agg] if tor >= 1 && agg >= 1 => Ok(Oversubscription { tor, agg }),
                    _ => Err(A::Error::invalid_length(numbers.len(), &self)),
                }
            }
        }
        deserializer.deserialize_any(OversubscriptionVisitor)
    }
}

impl JsonSchema for Oversubscription {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Oversubscription".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "array", "items": { "type": "integer", "minimum": 1 }, "minItems": 2, "maxItems": 2 },
        ] })
    }
}

/// Names, each of which may be a range: one, or a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Names(pub Vec<String>);

impl Serialize for Names {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [name] = &self.0[..] { name.serialize(serializer) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NamesVisitor;
        impl<'de> Visitor<'de> for NamesVisitor {
            type Value = Names;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name such as \"leaf0\", a range such as \"leaf[0..3]\", or a list of these")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Names, E> {
                Ok(Names(vec![text.to_owned()]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_any(NamesVisitor)
    }
}

impl JsonSchema for Names {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Names".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "minItems": 1 },
        ] })
    }
}

/// The buffers of the two ports of a link: one size for both, or two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffers(pub [Bytes; 2]);

impl Serialize for Buffers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [a, b] = &self.0;
        if a == b { a.serialize(serializer) } else { self.0.serialize(serializer) }
    }
}

impl<'de> Deserialize<'de> for Buffers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BuffersVisitor;
        impl<'de> Visitor<'de> for BuffersVisitor {
            type Value = Buffers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size such as \"1MiB\", or two: [that of a's port, that of b's]")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Buffers, E> {
                text.parse().map(|size| Buffers([size; 2])).map_err(E::custom)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Buffers, A::Error> {
                let mut sizes: Vec<Bytes> = Vec::new();
                while let Some(size) = seq.next_element()? {
                    sizes.push(size);
                }
                let count = sizes.len();
                sizes.try_into().map(Buffers).map_err(|_| A::Error::invalid_length(count, &self))
            }
        }
        deserializer.deserialize_any(BuffersVisitor)
    }
}

impl JsonSchema for Buffers {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Buffers".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 },
        ] })
    }
}

/// A flow-size distribution: one for all, or one for each class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sizes {
    /// One distribution for both classes.
    Both(String),
    /// One for each.
    PerClass(ClassSizes),
}

/// A flow-size distribution for each class.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassSizes {
    /// Inside a site: a built-in name or a CSV file.
    pub intra: String,
    /// Between the sites: a built-in name or a CSV file.
    pub inter: String,
}

impl Serialize for Sizes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Both(name) => name.serialize(serializer),
            Self::PerClass(sizes) => sizes.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Sizes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizesVisitor;
        impl<'de> Visitor<'de> for SizesVisitor {
            type Value = Sizes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a distribution such as \"websearch\", a CSV file, or { intra = ..., inter = ... }",
                )
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Sizes, E> {
                Ok(Sizes::Both(text.to_owned()))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Sizes, A::Error> {
                ClassSizes::deserialize(MapAccessDeserializer::new(map)).map(Sizes::PerClass)
            }
        }
        deserializer.deserialize_any(SizesVisitor)
    }
}

impl JsonSchema for Sizes {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Sizes".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let per_class = generator.subschema_for::<ClassSizes>();
        json_schema!({ "anyOf": [{ "type": "string" }, per_class] })
    }
}

/// A component by name, with parameters or without: `"unocc"` or `{ name = "unocc", beta = 0.5 }`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Part(pub toml::Table);

impl Part {
    /// The component with this name and no parameters.
    #[must_use]
    pub fn named(name: &str) -> Self {
        Self(toml::Table::from_iter([("name".to_owned(), name.into())]))
    }

    /// The component's name, if it is given.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.get("name").and_then(toml::Value::as_str)
    }

    /// Writes a component that has no parameters as its bare name.
    pub(crate) fn in_short<S: Serializer>(part: &Option<Self>, serializer: S) -> Result<S::Ok, S::Error> {
        match part.as_ref().map(|part| (part.name(), part.0.len())) {
            Some((Some(name), 1)) => serializer.serialize_some(name),
            _ => part.serialize(serializer),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartVisitor;
        impl<'de> Visitor<'de> for PartVisitor {
            type Value = Part;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a table such as { name = \"unocc\", beta = 0.5 }")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Part, E> {
                Ok(Part::named(text))
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Part, A::Error> {
                let mut table = toml::Table::new();
                while let Some((key, AsIs(value))) = map.next_entry()? {
                    table.insert(key, value);
                }
                if table.is_empty() {
                    let problem = "an empty table; give a name or a parameter, or leave it out";
                    return Err(serde::de::Error::custom(problem));
                }
                if table.get("name").is_some_and(|name| !name.is_str()) {
                    return Err(serde::de::Error::custom("name is not text; give a name in quotes"));
                }
                Ok(Part(table))
            }
        }
        deserializer.deserialize_any(PartVisitor)
    }
}
