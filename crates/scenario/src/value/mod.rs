//! Values of a scenario that are more than a number or a quantity: words, and words or quantities.
//!
//! Each is written as TOML text, read by [`FromStr`] and written back by [`Display`](fmt::Display), so that a resolved
//! scenario reads like a hand-written one. Where they act, a match names all of them: a new word compiles nowhere before it acts.

#[macro_use]
mod text;
mod hosts;
mod parameter;
mod recovery;
mod shape;
mod trim_service;
mod words;

pub use hosts::Hosts;
pub use parameter::Parameter;
pub use recovery::Recovery;
pub use shape::{Buffers, ClassSizes, FlowChoice, Names, Oversubscription, Part, PortChoice, Sizes};
pub(crate) use text::as_text;
pub use trim_service::TrimService;
pub(crate) use words::words;
pub use words::{
    CollectiveAlgorithm, ConnectionScope, LoadReference, LoadUnit, LossPackets, LossPer, MarkAt, MixUnit,
    NamedMix, NodeType, OnwardRule, Overflow, PfcLinks, PoolAccounts, PortTier, Profile, ProxyDelayName,
    ProxyHostRule, ProxyLossName, ProxyRule, RoutingRule, SchemePart, SwitchSet, Telemetry, TelemetryCounts,
    TrimVictim, Wiring,
};

use crate::names;
use farspan_units::{Bytes, Duration};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// A word or a quantity.
macro_rules! word_or_quantity {
    (
        $(#[$doc:meta])* $name:ident($quantity:ident) {
            $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// A value.
            Value($quantity),
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant => f.write_str($word),)*
                    Self::Value(value) => value.fmt(f),
                }
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => text.parse().map(Self::Value).map_err(|error: farspan_units::ParseQuantityError| {
                        format!("{error}, or {}", [$(concat!("\"", $word, "\"")),*].join(", or "))
                    }),
                }
            }
        }

        as_text!($name, { "type": "string" });
    };
}

mod proxy;
pub use proxy::{ProxyDelay, ProxyHost, ProxyLoss, ProxyQueueLimit};

word_or_quantity! {
    /// How the retransmission time-out is set.
    RtoRule(Duration) {
        /// Base RTT and full buffers along the path.
        Path = "path",
        /// From measured RTTs.
        Rfc6298 = "rfc6298",
        /// Three base RTTs.
        ThreeRtts = "3rtt",
    }
}

word_or_quantity! {
    /// Send jitter.
    Jitter(Duration) {
        /// One packet time of the NIC.
        OnePacket = "1packet",
    }
}

word_or_quantity! {
    /// Delay of a notification from host to host.
    TriggerDelay(Duration) {
        /// The shortest delay of a link.
        Lookahead = "lookahead",
    }
}

word_or_quantity! {
    /// The interval of a probe.
    Interval(Duration) {
        /// No samples.
        Off = "off",
    }
}

word_or_quantity! {
    /// The size of a phantom queue.
    PhantomSize(Bytes) {
        /// Host rate x base RTT between the sites (inside a site, where there is only one).
        InterBdp = "inter_bdp",
        /// Host rate x largest base RTT inside a site.
        IntraBdp = "intra_bdp",
    }
}

word_or_quantity! {
    /// The threshold of a step marker.
    StepAt(Bytes) {
        /// Rate of the port x largest base RTT inside a site / 7.
        BdpOver7 = "bdp_over_7",
    }
}

word_or_quantity! {
    /// The buffer that the ports of a switch share.
    PoolSize(Bytes) {
        /// None: each port has its own.
        Off = "off",
    }
}

word_or_quantity! {
    /// Room for what comes after a pause.
    Headroom(Bytes) {
        /// As much as can come.
        Auto = "auto",
    }
}

impl PoolSize {
    /// The size, unless it is off.
    #[must_use]
    pub const fn get(self) -> Option<Bytes> {
        match self {
            Self::Off => None,
            Self::Value(size) => Some(size),
        }
    }
}

impl Interval {
    /// The interval, unless it is off.
    #[must_use]
    pub const fn get(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Value(interval) => Some(interval),
        }
    }
}

/// The fraction of traffic that stays inside a site: a named mix, or intra : inter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mix {
    /// One with a name, which brings its sizes.
    Named(NamedMix),
    /// Parts intra and parts inter.
    Ratio(f64, f64),
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(mix) => mix.fmt(f),
            Self::Ratio(intra, inter) => write!(f, "{intra}:{inter}"),
        }
    }
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(mix) = text.parse() {
            return Ok(Self::Named(mix));
        }
        let part = |s: &str| s.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
        text.split_once(':')
            .and_then(|(intra, inter)| Some((part(intra)?, part(inter)?)))
            .filter(|(intra, inter)| intra + inter > 0.0)
            .map(|(intra, inter)| Self::Ratio(intra, inter))
            .ok_or_else(|| {
                format!(
                    "{text:?} is not a mix; write intra : inter, such as \"4:1\", or \"paper\", or \"artifact\""
                )
            })
    }
}
as_text!(Mix, { "type": "string", "pattern": r"^(paper|artifact|[0-9.]+\s*:\s*[0-9.]+)$" });

/// Which markers a port carries; any of them marks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marking {
    /// RED on the real queue.
    pub red: bool,
    /// RED on the phantom counter.
    pub phantom: bool,
    /// A step on the real queue.
    pub step: bool,
}

impl Marking {
    /// The markers of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self {
            red: self.red || other.red,
            phantom: self.phantom || other.phantom,
            step: self.step || other.step,
        }
    }
}

impl fmt::Display for Marking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.red, "red"), (self.phantom, "phantom"), (self.step, "step")];
        let words: Vec<_> = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
        f.write_str(if words.is_empty() { "none".into() } else { words.join("+") }.as_str())
    }
}

impl FromStr for Marking {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut marking = Self::default();
        if text == "none" {
            return Ok(marking);
        }
        for word in text.split('+').map(str::trim) {
            let marker = match word {
                "red" => &mut marking.red,
                "phantom" => &mut marking.phantom,
                "step" => &mut marking.step,
                _ => {
                    let known = ["red", "phantom", "step", "red+phantom", "none"];
                    return Err(names::unknown("marking", word, &known, &[]).to_string());
                }
            };
            if std::mem::replace(marker, true) {
                return Err(format!("{word:?} appears twice; write each marker once"));
            }
        }
        Ok(marking)
    }
}
as_text!(Marking, { "type": "string", "pattern": r"^(none|(red|phantom|step)(\+(red|phantom|step))*)$" });

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip<T: FromStr + fmt::Display>(text: &str) -> String
    where
        T::Err: fmt::Debug,
    {
        text.parse::<T>().unwrap().to_string()
    }

    #[test]
    fn words_and_quantities_come_back_as_they_were_written() {
        assert_eq!(round_trip::<Interval>("off"), "off");
        assert_eq!(round_trip::<Jitter>("1packet"), "1packet");
        assert_eq!(round_trip::<Mix>("paper"), "paper");
        assert_eq!(round_trip::<Mix>("4:1"), "4:1");
        assert_eq!(round_trip::<Marking>("red+phantom"), "red+phantom");
        assert_eq!(round_trip::<Marking>("none"), "none");
        assert_eq!(round_trip::<StepAt>("bdp_over_7"), "bdp_over_7");
        assert_eq!(round_trip::<PoolSize>("off"), "off");
        assert_eq!(round_trip::<PoolSize>("32MiB"), "32MiB");
        assert_eq!(round_trip::<Headroom>("auto"), "auto");
        assert_eq!(round_trip::<TrimService>("strict"), "strict");
        assert_eq!(round_trip::<TrimService>("10:1"), "10:1");
    }

    #[test]
    fn wrong_words_name_what_there_is() {
        assert!("4:".parse::<Mix>().unwrap_err().contains("\"4:1\""));
        assert!("0:0".parse::<Mix>().unwrap_err().contains("\"4:1\""));
        assert!("red+red".parse::<Marking>().unwrap_err().contains("\"red\" appears twice"));
        for wrong in ["0:1", "10", "10:2", "-1:1", "lax"] {
            assert!(wrong.parse::<TrimService>().unwrap_err().contains("\"10:1\""), "{wrong}");
        }
        assert!("redd".parse::<Marking>().unwrap_err().contains("did you mean \"red\""));
        assert_eq!("published-code".parse::<Profile>().unwrap().to_string(), "artifact");
        assert!("rescaled".parse::<Profile>().unwrap_err().problem().contains("not in this release"));
    }

    proptest! {
        #[test]
        fn no_text_makes_a_value_panic(text in ".{0,24}") {
            let _ = text.parse::<Mix>();
            let _ = text.parse::<Marking>();
            let _ = text.parse::<Interval>();
            let _ = text.parse::<NodeType>();
        }
    }
}
