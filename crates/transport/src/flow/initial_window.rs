//! The first window of every flow.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt;
use core::num::NonZeroU32;
use core::str::FromStr;
use farspan_units::Bytes;

/// The first window of a flow, the same for every scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(into = "String", try_from = "String")
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(inline))]
pub enum InitialWindow {
    /// The bandwidth-delay product of the flow's own path.
    Bdp,
    /// The BDP over this number: the fair share of as many flows that start together.
    BdpOver(NonZeroU32),
    /// Ten full packets (RFC 6928).
    Iw10,
    /// A number of bytes.
    Bytes(Bytes),
}

impl InitialWindow {
    /// The window on a path with this BDP, where a full packet has a payload of `mss`.
    #[must_use]
    pub fn bytes(self, bdp: Bytes, mss: Bytes) -> Bytes {
        match self {
            Self::Bdp => bdp,
            Self::BdpOver(flows) => bdp / u64::from(flows.get()),
            Self::Iw10 => mss * 10,
            Self::Bytes(bytes) => bytes,
        }
    }
}

impl fmt::Display for InitialWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bdp => f.write_str("bdp"),
            Self::BdpOver(flows) => write!(f, "bdp/{flows}"),
            Self::Iw10 => f.write_str("iw10"),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

impl FromStr for InitialWindow {
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
            _ => text.parse().map(Self::Bytes).map_err(|error| format!("{error}, or {words}")),
        }
    }
}

impl TryFrom<String> for InitialWindow {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<InitialWindow> for String {
    fn from(window: InitialWindow) -> Self {
        window.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_and_a_size_come_back_as_they_were_written_and_give_their_bytes() {
        let (bdp, mss) = (Bytes::new(100_000), Bytes::new(4096));
        for (text, bytes) in [("bdp", 100_000), ("bdp/8", 12_500), ("iw10", 40_960), ("64KiB", 65_536)] {
            let window: InitialWindow = text.parse().unwrap();
            assert_eq!(window.to_string(), text);
            assert_eq!(window.bytes(bdp, mss), Bytes::new(bytes), "{text}");
        }
    }

    #[test]
    fn wrong_words_name_what_there_is() {
        for (wrong, cure) in [("bpd", "\"bdp\""), ("bdp/0", "\"bdp/8\""), ("bdp/x", "\"bdp/8\"")] {
            assert!(wrong.parse::<InitialWindow>().unwrap_err().contains(cure), "{wrong}");
        }
    }
}
