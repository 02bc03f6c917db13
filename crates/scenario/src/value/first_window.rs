//! The first window of every flow.

use farspan_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The first window of every flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FirstWindow {
    /// The bandwidth-delay product of the flow's own path.
    Bdp,
    /// One n-th of it: the fair share of as many flows that start together.
    BdpOver(NonZeroU32),
    /// Ten full packets.
    Iw10,
    /// A size.
    Value(Bytes),
}

impl fmt::Display for FirstWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp => f.write_str("bdp"),
            Self::BdpOver(flows) => write!(f, "bdp/{flows}"),
            Self::Iw10 => f.write_str("iw10"),
            Self::Value(size) => size.fmt(f),
        }
    }
}

impl FromStr for FirstWindow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words = "\"bdp\", or \"bdp/8\", or \"iw10\"";
        match (text, text.strip_prefix("bdp/")) {
            ("bdp", _) => Ok(Self::Bdp),
            ("iw10", _) => Ok(Self::Iw10),
            (_, Some(flows)) => flows
                .parse()
                .map(Self::BdpOver)
                .map_err(|_| format!("expected {words}, or a size, found \"{text}\"")),
            _ => text.parse().map(Self::Value).map_err(|error| format!("{error}, or {words}")),
        }
    }
}

as_text!(FirstWindow, { "type": "string" });
