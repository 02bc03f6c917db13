//! The common part of all registries: the entry of a list, range checks, the enum of all configurations.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::RangeInclusive;
use farspan_units::Duration;

/// One algorithm of a registry, as `list` shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Entry {
    /// The name in configurations.
    pub name: &'static str,
    /// A one-line summary of the algorithm.
    pub summary: &'static str,
    /// The paper or RFC that it follows.
    pub source: &'static str,
}

/// A parameter that an algorithm cannot have. The message names the algorithm, the parameter, its value and the cure.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{algorithm}: {}; {}", self.problem(), self.cure())]
pub struct ConfigError {
    /// The control, balancer or coding, by its name in configurations.
    pub algorithm: &'static str,
    /// The parameter, as a dotted path below the algorithm.
    pub parameter: &'static str,
    /// Its value.
    pub value: String,
    /// The requirement that the value does not meet.
    pub expected: Requirement,
}

/// A requirement on a parameter's value.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Requirement {
    /// A number in a range, both ends included.
    InRange {
        /// The smallest.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// A time of at most this.
    AtMost {
        /// The longest.
        most: Duration,
        /// The alternative to giving a time.
        otherwise: &'static str,
    },
    /// A value with a meaning, such as anything but zero.
    Meaningful {
        /// The effect of one without.
        effect: &'static str,
        /// The values to give instead.
        give: &'static str,
    },
}

impl ConfigError {
    /// Describes the error: the parameter, its value, and why it cannot be.
    #[must_use]
    pub fn problem(&self) -> String {
        let Self { parameter, value, expected, .. } = self;
        match expected {
            Requirement::InRange { .. } | Requirement::AtMost { .. } => {
                format!("{parameter} = {value} is out of range")
            }
            Requirement::Meaningful { effect, .. } => format!("{parameter} = {value} {effect}"),
        }
    }

    /// Names the values to write instead.
    #[must_use]
    pub fn cure(&self) -> String {
        match &self.expected {
            Requirement::InRange { least, most } => format!("give a number from {least} to {most}"),
            Requirement::AtMost { most, otherwise } => format!("give at most {most}, or {otherwise}"),
            Requirement::Meaningful { give, .. } => format!("give {give}"),
        }
    }

    /// `Ok` if `value` lies in `range`, both ends included.
    ///
    /// # Errors
    /// If it does not.
    pub fn unless_in(
        range: RangeInclusive<f64>,
        algorithm: &'static str,
        parameter: &'static str,
        value: f64,
    ) -> Result<(), Self> {
        let expected = Requirement::InRange { least: *range.start(), most: *range.end() };
        Self::unless(range.contains(&value), algorithm, parameter, &value, expected)
    }

    /// `Ok` if `value` is at most `most`.
    pub(crate) fn unless_at_most(
        most: Duration,
        algorithm: &'static str,
        parameter: &'static str,
        value: Duration,
        otherwise: &'static str,
    ) -> Result<(), Self> {
        let expected = Requirement::AtMost { most, otherwise };
        Self::unless(value <= most, algorithm, parameter, &value, expected)
    }

    /// `Err` if the value is zero.
    pub(crate) fn if_zero(
        is_zero: bool,
        algorithm: &'static str,
        parameter: &'static str,
        value: &impl ToString,
        effect: &'static str,
        give: &'static str,
    ) -> Result<(), Self> {
        Self::unless_meaningful(!is_zero, algorithm, parameter, value, effect, give)
    }

    /// `Ok` if the value means something.
    pub(crate) fn unless_meaningful(
        is_meaningful: bool,
        algorithm: &'static str,
        parameter: &'static str,
        value: &impl ToString,
        effect: &'static str,
        give: &'static str,
    ) -> Result<(), Self> {
        Self::unless(is_meaningful, algorithm, parameter, value, Requirement::Meaningful { effect, give })
    }

    fn unless(
        valid: bool,
        algorithm: &'static str,
        parameter: &'static str,
        value: &impl ToString,
        expected: Requirement,
    ) -> Result<(), Self> {
        if valid {
            return Ok(());
        }
        Err(Self { algorithm, parameter, value: value.to_string(), expected })
    }
}

/// A configuration that is read by the name of its algorithm, so that an error keeps the place of the parameter.
#[cfg(feature = "serde")]
pub trait ByName: Sized {
    /// The algorithm `name` with these parameters; the name is not among them.
    ///
    /// # Errors
    /// If no algorithm has the name, or a parameter does not fit.
    fn deserialize_named<'de, D: serde::Deserializer<'de>>(
        name: &str,
        parameters: D,
    ) -> Result<Self, D::Error>;
}

/// Generates the enum of a registry's configurations, `NAMES` and `ENTRIES` from one line per algorithm: its variant, its
/// configuration, its name in text, a summary and a source. Each configuration has `Default` and `check`. `or TYPE`: one
/// more variant for algorithms from outside this crate.
macro_rules! config_registry {
    ($registry:ident, $what:literal $(or $custom:ident)?;
     $($(#[$meta:meta])* $variant:ident, $module:ident::$config:ident, $name:literal, $summary:literal, $source:literal;)*) => {
        #[doc = concat!("Which ", $what, ", and its parameters. In text: a table with `name` and the parameters.")]
        #[derive(Clone, PartialEq, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(tag = "name"))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        // The JSON Schema of scenarios keeps the names that it has.
        #[cfg_attr(feature = "schemars", schemars(rename = "Config"))]
        #[non_exhaustive]
        pub enum $registry {
            $(
                #[doc = concat!($summary, " (", $source, ").")]
                $(#[$meta])*
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant($module::$config),
            )*
            $(
                #[doc = concat!("A ", $what, " from outside this crate; text has no name for it.")]
                #[cfg_attr(feature = "serde", serde(skip))]
                $custom($custom),
            )?
        }

        #[doc = concat!("The name of every built-in ", $what, ", in the order of the registry.")]
        pub const NAMES: &[&str] = &[$($(#[$meta])* $name),*];

        #[doc = concat!("Every built-in ", $what, " with a line about it.")]
        pub const ENTRIES: &[$crate::registry::Entry] =
            &[$($(#[$meta])* $crate::registry::Entry { name: $name, summary: $summary, source: $source }),*];

        #[cfg(feature = "serde")]
        impl $crate::registry::ByName for $registry {
            fn deserialize_named<'de, D: serde::Deserializer<'de>>(
                name: &str,
                parameters: D,
            ) -> Result<Self, D::Error> {
                match name {
                    $($(#[$meta])* $name => serde::Deserialize::deserialize(parameters).map(Self::$variant),)*
                    _ => Err(serde::de::Error::unknown_variant(name, NAMES)),
                }
            }
        }

        impl $registry {
            /// The algorithm with this name, all its parameters at their defaults (the `paper` profile).
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                match name {
                    $($(#[$meta])* $name => Some(Self::$variant($module::$config::default())),)*
                    _ => None,
                }
            }

            /// The algorithm's name in text.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    $($(#[$meta])* Self::$variant(_) => $name,)*
                    $(Self::$custom(custom) => custom.name(),)?
                }
            }

            /// Checks every parameter against its range.
            ///
            /// # Errors
            /// The first parameter that is out of range.
            pub fn check(&self) -> Result<(), $crate::registry::ConfigError> {
                match self {
                    $($(#[$meta])* Self::$variant(config) => config.check(),)*
                    $(Self::$custom(custom) => custom.check(),)?
                }
            }
        }
    };
}
pub(crate) use config_registry;
