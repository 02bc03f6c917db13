//! How a port that trims serves headers beside data.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// How a port that trims serves headers, and the ACKs, NACKs and pulls in their queue, beside data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TrimService {
    /// They always go first.
    Strict,
    /// While data waits, at most so many leave in a row, then one data packet.
    Weighted(NonZeroU32),
}

impl TrimService {
    /// How many leave in a row while data waits, if that is bounded.
    #[must_use]
    pub const fn weight(self) -> Option<NonZeroU32> {
        match self {
            Self::Strict => None,
            Self::Weighted(weight) => Some(weight),
        }
    }
}

impl fmt::Display for TrimService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strict => f.write_str("strict"),
            Self::Weighted(weight) => write!(f, "{weight}:1"),
        }
    }
}

impl FromStr for TrimService {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let weight = || text.strip_suffix(":1")?.parse().ok();
        match text {
            "strict" => Ok(Self::Strict),
            _ => weight().map(Self::Weighted).ok_or_else(|| {
                format!(
                    "{text:?} is not a service of headers; write \"strict\", or a ratio of headers to data packets, such as \"10:1\""
                )
            }),
        }
    }
}

as_text!(TrimService, { "type": "string", "pattern": r"^(strict|[0-9]+:1)$" });
