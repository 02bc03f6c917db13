//! Values of proxies: which host, how long it takes, how much may wait.

use super::Part;
use super::words::{ProxyDelayName, ProxyHostRule, ProxyLossName};
use crate::error::ValueError;
use crate::reader::AsIs;
use farspan_transport::ByName;
use farspan_transport::proxy::Delay;
use farspan_transport::proxy::detector::PerFlowConfig;
use farspan_units::{Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Which host is the proxy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProxyHost {
    /// As a rule says.
    Rule(ProxyHostRule),
    /// This one, for all incasts.
    Number(u32),
    /// One for each incast, in order; `None`: it goes straight.
    Each(Vec<Option<u32>>),
}

const HOSTS: &str = "the value does not fit here; give a host's number, such as 63, a rule (\"last\", \"random\", \
                     \"planned\", \"probed\"), or a list with a number or \"none\" for each incast, such as [63, \"none\"]";

impl ProxyHost {
    fn of(value: &toml::Value) -> Option<Self> {
        let number = |value: &toml::Value| value.as_integer().and_then(|host| u32::try_from(host).ok());
        let each = |value: &toml::Value| match value.as_str() {
            Some("none") => Some(None),
            _ => number(value).map(Some),
        };
        match value {
            toml::Value::Array(hosts) => hosts.iter().map(each).collect::<Option<_>>().map(Self::Each),
            toml::Value::String(word) => word.parse().ok().map(Self::Rule),
            _ => number(value).map(Self::Number),
        }
    }
}

impl Serialize for ProxyHost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let each = |host: &Option<u32>| match host {
            None => toml::Value::String("none".to_owned()),
            Some(host) => toml::Value::Integer((*host).into()),
        };
        match self {
            Self::Rule(rule) => rule.serialize(serializer),
            Self::Number(host) => serializer.serialize_u32(*host),
            Self::Each(hosts) => hosts.iter().map(each).collect::<Vec<_>>().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ProxyHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(&AsIs::deserialize(deserializer)?.0).ok_or_else(|| D::Error::custom(HOSTS))
    }
}

impl JsonSchema for ProxyHost {
    fn schema_name() -> Cow<'static, str> {
        "ProxyHost".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = json_schema!({ "type": "integer", "minimum": 0 });
        let each = json_schema!({ "anyOf": [number, { "type": "string", "enum": ["none"] }] });
        json_schema!({ "anyOf": [
            number,
            generator.subschema_for::<ProxyHostRule>(),
            { "type": "array", "items": each },
        ] })
    }
}

/// How long a proxy takes over a packet.
#[derive(Clone, PartialEq, Debug)]
pub enum ProxyDelay {
    /// Always this time.
    Constant(Duration),
    /// As the paper measured it.
    Named(ProxyDelayName),
    /// Points of probability and time.
    Points(Vec<(f64, Duration)>),
}

/// Points of the paper: one quantile of each is printed, and the rest is a line.
const EBPF: [(f64, u64); 3] = [(0.0, 0), (0.5, 420), (1.0, 840)];
const USER_SPACE: [(f64, u64); 3] = [(0.0, 0), (0.99, 359_170), (1.0, 362_798)];

impl ProxyDelay {
    /// As the transport has it.
    ///
    /// # Errors
    /// If the points at `path` are no distribution.
    pub fn get(&self, path: &str) -> Result<Delay, ValueError> {
        let of = |points: &[(f64, u64)]| points.iter().map(|&(p, ns)| (p, Duration::from_ns(ns))).collect();
        let points = match self {
            Self::Constant(delay) => return Ok(Delay::Constant(*delay)),
            Self::Named(ProxyDelayName::Ebpf) => of(&EBPF),
            Self::Named(ProxyDelayName::UserSpace) => of(&USER_SPACE),
            Self::Points(points) => points.clone(),
        };
        Delay::drawn(points).map_err(|error| {
            let cure = "write points such as [[0.0, \"0us\"], [0.5, \"2us\"], [1.0, \"9us\"]]";
            ValueError::rule(path, error.to_string(), cure)
        })
    }
}

impl Serialize for ProxyDelay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(delay) => delay.serialize(serializer),
            Self::Named(name) => name.serialize(serializer),
            Self::Points(points) => points.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ProxyDelay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct DelayVisitor;
        impl<'de> Visitor<'de> for DelayVisitor {
            type Value = ProxyDelay;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a time, or points of probability and time, such as [[0.0, \"0us\"], [1.0, \"9us\"]]",
                )
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ProxyDelay, E> {
                if let Ok(name) = text.parse() {
                    return Ok(ProxyDelay::Named(name));
                }
                let or_named = |error: farspan_units::ParseQuantityError| {
                    E::custom(format!("{error}, or \"ebpf\", or \"user-space\""))
                };
                text.parse().map(ProxyDelay::Constant).map_err(or_named)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ProxyDelay, A::Error> {
                let mut points = Vec::new();
                while let Some(point) = seq.next_element()? {
                    points.push(point);
                }
                Ok(ProxyDelay::Points(points))
            }
        }
        deserializer.deserialize_any(DelayVisitor)
    }
}

impl JsonSchema for ProxyDelay {
    fn schema_name() -> Cow<'static, str> {
        "ProxyDelay".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let point = json_schema!({ "type": "array", "minItems": 2, "maxItems": 2 });
        json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": point }] })
    }
}

/// How a proxy learns of losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyLoss {
    /// From trimmed packets.
    Trim,
    /// From gaps in the numbers of each path.
    GapPath,
    /// From later packets of the flow, and time.
    GapFlow(PerFlowConfig),
    /// Not at all.
    None,
}

impl ProxyLoss {
    const fn name(self) -> ProxyLossName {
        match self {
            Self::Trim => ProxyLossName::Trim,
            Self::GapPath => ProxyLossName::GapPath,
            Self::GapFlow(_) => ProxyLossName::GapFlow,
            Self::None => ProxyLossName::None,
        }
    }
}

/// As text has it: a name, or a table with name and parameters.
impl From<ProxyLoss> for Part {
    fn from(loss: ProxyLoss) -> Self {
        let mut part = Self::default();
        if let ProxyLoss::GapFlow(config) = loss {
            part.0 = toml::Table::try_from(config).expect("numbers and times have a TOML form");
        }
        part.0.insert("name".to_owned(), loss.name().name().into());
        part
    }
}

impl ByName for ProxyLoss {
    fn deserialize_named<'de, D: Deserializer<'de>>(name: &str, parameters: D) -> Result<Self, D::Error> {
        let unknown = |_| D::Error::unknown_variant(name, ProxyLossName::NAMES);
        let loss = match name.parse().map_err(unknown)? {
            ProxyLossName::GapFlow => return PerFlowConfig::deserialize(parameters).map(Self::GapFlow),
            ProxyLossName::Trim => Self::Trim,
            ProxyLossName::GapPath => Self::GapPath,
            ProxyLossName::None => Self::None,
        };
        let parameters = BTreeMap::<String, IgnoredAny>::deserialize(parameters)?;
        match parameters.keys().next() {
            None => Ok(loss),
            Some(key) => Err(D::Error::custom(format!(
                "{name} has no parameter {key}; remove it, or write name = \"gap-flow\""
            ))),
        }
    }
}

impl JsonSchema for ProxyLoss {
    fn schema_name() -> Cow<'static, str> {
        "ProxyLoss".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let name = generator.subschema_for::<ProxyLossName>();
        let mut parameters = PerFlowConfig::json_schema(generator);
        if let Some(properties) = parameters.get_mut("properties").and_then(serde_json::Value::as_object_mut)
        {
            properties.insert("name".to_owned(), name.clone().to_value());
        }
        parameters.insert("required".to_owned(), serde_json::json!(["name"]));
        json_schema!({ "anyOf": [name, parameters] })
    }
}

word_or_quantity! {
    /// How many bytes may wait at a proxy.
    ProxyQueueLimit(Bytes) {
        /// Any number.
        Unbounded = "unbounded",
    }
}

impl ProxyQueueLimit {
    /// The bound, if there is one.
    #[must_use]
    pub const fn get(self) -> Option<Bytes> {
        match self {
            Self::Unbounded => None,
            Self::Value(bytes) => Some(bytes),
        }
    }
}
