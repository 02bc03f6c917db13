//! Changes of links by pattern: `[topology.link."west-*->east-*"]`.

use crate::error::ValueError;
use crate::names::{first_ranges, matches, port_cure};
use crate::propagation::Propagation;
use crate::table::join;
use farspan_fabric::Network;
use farspan_units::{Bytes, Duration, NodeId, PortId, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// How many names of links a line has at most.
const LISTED: usize = 4;

/// Changes of the links that a pattern fits, in both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LinkChange {
    /// Propagation, one way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// In place of delay: propagation there and back, over this link alone. Its delay is half of it, rounded down to a picosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Rate, each way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Data bytes that each of its ports holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
}

impl LinkChange {
    pub(crate) const fn propagation(&self) -> Propagation {
        Propagation { delay: self.delay, rtt: self.rtt }
    }
}

/// Changes of links by pattern, in order: where several fit a link, the last one counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkChanges(pub Vec<(String, LinkChange)>);

impl LinkChanges {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key of a pattern.
    #[must_use]
    pub fn path(pattern: &str) -> String {
        join("topology.link", pattern)
    }

    /// The ports of the links that each pattern fits, those of the other direction among them.
    ///
    /// # Errors
    /// If a pattern fits no link.
    pub fn ports(&self, network: &Network) -> Result<Vec<Vec<PortId>>, ValueError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let names: Vec<_> =
            (0..network.links.len() as u32).map(|port| network.port_name(PortId(port))).collect();
        let reverse = network.reverse_links();
        let of = |(pattern, _): &(String, LinkChange)| {
            let fits = |port: usize| {
                matches(pattern, &names[port]) || matches(pattern, &names[reverse[port].index()])
            };
            let ports: Vec<_> =
                (0..names.len()).filter(|port| fits(*port)).map(|port| PortId(port as u32)).collect();
            if ports.is_empty() {
                let problem = format!("no link fits {pattern:?}");
                return Err(ValueError::rule(Self::path(pattern), problem, port_cure(pattern, &names)));
            }
            Ok(ports)
        };
        self.0.iter().map(of).collect()
    }

    /// Changes the links; `processing` is that of a node, a part of the delay of each link that leads to it.
    ///
    /// # Errors
    /// If a pattern fits no link.
    pub fn apply(
        &self,
        network: &mut Network,
        processing: impl Fn(NodeId) -> Duration,
    ) -> Result<(), ValueError> {
        for ((_, change), ports) in self.0.iter().zip(self.ports(network)?) {
            for port in ports {
                let link = &mut network.links[port.index()];
                link.delay =
                    change.propagation().one_way().map_or(link.delay, |delay| delay + processing(link.to));
                link.rate = change.rate.unwrap_or(link.rate);
                link.buffer = change.buffer.or(link.buffer);
            }
        }
        Ok(())
    }

    /// A line for each pattern: how many links it fits, and the names of some.
    ///
    /// # Errors
    /// If a pattern fits no link.
    pub fn lines(&self, network: &Network) -> Result<Vec<String>, ValueError> {
        let reverse = network.reverse_links();
        let line = |((pattern, _), ports): (&(String, LinkChange), Vec<PortId>)| {
            let name = |port: PortId| Some(network.port_name(port)).filter(|name| matches(pattern, name));
            // A link that fits in both directions has its first name.
            let once = ports.iter().filter(|port| **port < reverse[port.index()]);
            let links: Vec<_> =
                once.filter_map(|port| name(*port).or_else(|| name(reverse[port.index()]))).collect();
            let count = if links.len() == 1 { "1 link".to_owned() } else { format!("{} links", links.len()) };
            format!(
                "{}: {count}, both ways: {}",
                Self::path(pattern),
                first_ranges(links.iter().map(String::as_str), LISTED)
            )
        };
        Ok(self.0.iter().zip(self.ports(network)?).map(line).collect())
    }
}

impl Serialize for LinkChanges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(pattern, change)| (pattern, change)))
    }
}

impl<'de> Deserialize<'de> for LinkChanges {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LinkChangesVisitor;
        impl<'de> Visitor<'de> for LinkChangesVisitor {
            type Value = LinkChanges;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of patterns, such as { \"west-*->east-*\" = { delay = \"2ms\" } }")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LinkChanges, A::Error> {
                let mut changes = Vec::new();
                while let Some(change) = map.next_entry()? {
                    changes.push(change);
                }
                Ok(LinkChanges(changes))
            }
        }
        deserializer.deserialize_any(LinkChangesVisitor)
    }
}

impl JsonSchema for LinkChanges {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "LinkChanges".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let change = generator.subschema_for::<LinkChange>();
        json_schema!({ "type": "object", "additionalProperties": change })
    }
}
