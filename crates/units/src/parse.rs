//! Quantities from text: `"100Gbps"`, `"1.792ms"`, `"1MiB"`.
//!
//! KiB, MiB and GiB are powers of two; KB, MB and GB powers of ten; rates are powers of ten. The arithmetic is exact:
//! no floating point between the text and the integer.

use crate::{Bytes, Duration, Rate};
use alloc::format;
use alloc::string::{String, ToString};
use core::str::FromStr;

/// Why a text is not a quantity. The message says what was expected and gives an example.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{text:?} is not a {what}: {problem}; {}write a number and a unit, such as {example:?} (units: {units})",
    hint(meant.as_deref())
)]
pub struct ParseQuantityError {
    /// The text as given.
    pub text: String,
    /// The quantity expected.
    pub what: &'static str,
    /// The problem with the text.
    pub problem: &'static str,
    /// A text that would do.
    pub example: &'static str,
    /// The units that are known.
    pub units: &'static str,
    /// The text that was probably meant, if its unit is one of these in other letters.
    pub meant: Option<String>,
}

/// `did you mean "x"? `, or nothing.
fn hint(meant: Option<&str>) -> String {
    meant.map_or_else(String::new, |meant| format!("did you mean {meant:?}? "))
}

/// A quantity that is written as a number with a unit.
pub trait Quantity: Sized {
    /// The name of this quantity in messages.
    const WHAT: &'static str;
    /// A text that would do.
    const EXAMPLE: &'static str;
    /// The units, for messages.
    const UNITS: &'static str;
    /// The units with their size in the base unit.
    const TABLE: &'static [(&'static str, u64)];

    /// From a count of base units.
    fn from_base(value: u64) -> Self;
}

impl Quantity for Duration {
    const WHAT: &'static str = "time";
    const EXAMPLE: &'static str = "14us";
    const UNITS: &'static str = "ps, ns, us, ms, s";
    const TABLE: &'static [(&'static str, u64)] =
        &[("ps", 1), ("ns", 1000), ("us", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

    fn from_base(value: u64) -> Self {
        Self::from_ps(value)
    }
}

impl Quantity for Bytes {
    const WHAT: &'static str = "size";
    const EXAMPLE: &'static str = "1MiB";
    const UNITS: &'static str = "B, KB, MB, GB, KiB, MiB, GiB";
    const TABLE: &'static [(&'static str, u64)] = &[
        ("B", 1),
        ("KB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ];

    fn from_base(value: u64) -> Self {
        Self::new(value)
    }
}

impl Quantity for Rate {
    const WHAT: &'static str = "rate";
    const EXAMPLE: &'static str = "100Gbps";
    const UNITS: &'static str = "bps, Kbps, Mbps, Gbps, Tbps";
    const TABLE: &'static [(&'static str, u64)] = &[
        ("bps", 1),
        ("Kbps", 1000),
        ("Mbps", 1_000_000),
        ("Gbps", 1_000_000_000),
        ("Tbps", 1_000_000_000_000),
    ];

    fn from_base(value: u64) -> Self {
        Self::from_bps(value)
    }
}

/// The unit that is written so elsewhere: `Gbit/s`, `gb/s` and `Gb` for `Gbps`, `kib` for `KiB`, `usec` for `us`.
fn likely<Q: Quantity>(unit: &str) -> Option<&'static str> {
    let plain = unit
        .to_lowercase()
        .replace("bits", "b")
        .replace("bit", "b")
        .replace("/s", "ps")
        .replace('\u{b5}', "u");
    let plain = plain.strip_suffix("ec").or_else(|| plain.strip_suffix("ecs")).unwrap_or(&plain);
    let same = |name: &str| {
        let name = name.to_lowercase();
        name == plain || name.strip_suffix("ps") == Some(plain)
    };
    Q::TABLE.iter().map(|(name, _)| *name).find(|name| same(name))
}

fn parse<Q: Quantity>(text: &str) -> Result<Q, ParseQuantityError> {
    let fail = |problem| ParseQuantityError {
        text: text.to_string(),
        what: Q::WHAT,
        problem,
        example: Q::EXAMPLE,
        units: Q::UNITS,
        meant: None,
    };
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(fail("it is negative"));
    }
    let split = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(trimmed.len());
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    if !number.starts_with(|c: char| c.is_ascii_digit()) || number.matches('.').count() > 1 {
        return Err(fail("the number is missing"));
    }
    if unit.is_empty() {
        return Err(fail("the unit is missing"));
    }
    let Some(&(_, size)) = Q::TABLE.iter().find(|(name, _)| *name == unit) else {
        let meant = likely::<Q>(unit).map(|unit| format!("{number}{unit}"));
        return Err(ParseQuantityError { meant, ..fail("the unit is not known here") });
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |s: &str| {
        s.bytes().filter(|b| *b != b'_').map(|b| u128::from(b - b'0')).collect::<alloc::vec::Vec<_>>()
    };
    let too_large = || fail("it is too large");
    let mut value: u128 = 0;
    for d in digits(whole) {
        value = value.checked_mul(10).and_then(|v| v.checked_add(d)).ok_or_else(too_large)?;
    }
    value = value.checked_mul(u128::from(size)).ok_or_else(too_large)?;
    let mut place = u128::from(size);
    for d in digits(fraction) {
        if d != 0 && !place.is_multiple_of(10) {
            return Err(fail("it is finer than the smallest unit"));
        }
        place /= 10;
        value = value.checked_add(d * place).ok_or_else(too_large)?;
    }
    u64::try_from(value).map(Q::from_base).map_err(|_| too_large())
}

macro_rules! text {
    ($name:ident, $pattern:literal) => {
        impl FromStr for $name {
            type Err = ParseQuantityError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                parse(text)
            }
        }

        #[cfg(feature = "serde")]
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $name;
                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        write!(f, "a {} as text, such as {:?}", $name::WHAT, $name::EXAMPLE)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> alloc::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}
text!(Duration, r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*(ps|ns|us|ms|s)\s*$");
text!(Bytes, r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*(B|KB|MB|GB|KiB|MiB|GiB)\s*$");
text!(Rate, r"^\s*[0-9][0-9_]*(\.[0-9_]*)?\s*(bps|Kbps|Mbps|Gbps|Tbps)\s*$");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!("1.792ms".parse(), Ok(Duration::from_us(1792)));
        assert_eq!("0.3332us".parse(), Ok(Duration::from_ps(333_200)));
        assert_eq!("1.5KiB".parse::<Bytes>().unwrap_err().problem, "it is finer than the smallest unit");
        assert_eq!("2.5Gbps".parse(), Ok(Rate::from_bps(2_500_000_000)));
    }

    #[test]
    fn binary_and_decimal_sizes_differ() {
        assert_eq!("1MiB".parse(), Ok(Bytes::new(1_048_576)));
        assert_eq!("1MB".parse(), Ok(Bytes::new(1_000_000)));
        assert_eq!("4096 B".parse(), Ok(Bytes::new(4096)));
    }

    #[test]
    fn a_unit_in_other_letters_is_named() {
        let meant = |error: ParseQuantityError| error.meant.unwrap_or_default();
        for text in ["100Gbit", "100Gbit/s", "100 gbps", "100Gb/s", "100Gb", "100GBPS"] {
            assert_eq!(meant(text.parse::<Rate>().unwrap_err()), "100Gbps", "{text}");
        }
        for (text, size) in [("1mib", "1MiB"), ("2kB", "2KB"), ("3b", "3B")] {
            assert_eq!(meant(text.parse::<Bytes>().unwrap_err()), size);
        }
        for (text, time) in [("14usec", "14us"), ("2MS", "2ms"), ("5\u{b5}s", "5us")] {
            assert_eq!(meant(text.parse::<Duration>().unwrap_err()), time);
        }
        assert_eq!(meant("14 parsecs".parse::<Duration>().unwrap_err()), "");
        let said = "100Gbit".parse::<Rate>().unwrap_err().to_string();
        assert!(said.contains("not known here; did you mean \"100Gbps\"? write a number"), "{said}");
    }

    #[test]
    fn wrong_texts_say_what_is_wrong() {
        let problem = |t: &str| t.parse::<Duration>().unwrap_err().problem;
        assert_eq!(problem("14"), "the unit is missing");
        assert_eq!(problem("us"), "the number is missing");
        assert_eq!(problem("14 parsecs"), "the unit is not known here");
        assert_eq!(problem("-1us"), "it is negative");
        assert_eq!(problem("1.2.3us"), "the number is missing");
        assert_eq!(problem("99999999999999999999s"), "it is too large");
        assert_eq!(problem("1e3us"), "the unit is not known here");
    }
}
