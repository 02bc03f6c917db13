//! `claims.toml` as it is written; [`figure`](crate::figure) checks it.

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, Visitor, value::MapAccessDeserializer};
use std::collections::BTreeMap;
use std::fmt;
use toml::Spanned;

/// A name with its place in the file.
pub(crate) type Name = Spanned<String>;

/// Printed values: case, arm, measure.
pub(crate) type Printed = BTreeMap<Name, BTreeMap<Name, BTreeMap<Name, f64>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FigureText {
    pub(crate) title: String,
    pub(crate) place: String,
    pub(crate) scenario: Option<String>,
    pub(crate) profile: Option<String>,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    /// The quantity that the cases vary, for the axis of lines.
    #[serde(default)]
    pub(crate) axis: String,
    pub(crate) size: SizesText,
    #[serde(default)]
    pub(crate) case: Vec<CaseText>,
    pub(crate) arm: Vec<ArmText>,
    pub(crate) measure: Vec<MeasureText>,
    #[serde(default)]
    pub(crate) printed: Printed,
    pub(crate) claim: Vec<ClaimText>,
    #[serde(default)]
    pub(crate) plot: Vec<PlotText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizesText {
    pub(crate) smoke: SizeText,
    pub(crate) small: SizeText,
    pub(crate) full: SizeText,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeText {
    pub(crate) seeds: Name,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    pub(crate) cases: Option<Vec<Name>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CaseText {
    pub(crate) name: Name,
    pub(crate) label: Option<String>,
    pub(crate) x: Option<f64>,
    pub(crate) scenario: Option<String>,
    pub(crate) profile: Option<String>,
    #[serde(default)]
    pub(crate) set: Vec<String>,
    pub(crate) arms: Option<Vec<Name>>,
    /// Replaces the seeds of every size.
    pub(crate) seeds: Option<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArmText {
    pub(crate) name: Name,
    pub(crate) label: Option<String>,
    pub(crate) scheme: Option<String>,
    pub(crate) profile: Option<String>,
    #[serde(default)]
    pub(crate) set: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeasureText {
    pub(crate) name: Name,
    pub(crate) label: Option<String>,
    pub(crate) path: Name,
    pub(crate) per: Option<String>,
    pub(crate) ideal: Option<Numbers>,
    #[serde(default)]
    pub(crate) unit: UnitText,
    pub(crate) least_flows: Option<u64>,
    #[serde(default)]
    pub(crate) over_seeds: OverSeeds,
    #[serde(default = "yes")]
    pub(crate) table: bool,
}

const fn yes() -> bool {
    true
}

/// The unit in which a measure is shown and printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitText {
    /// A count, an index or a factor.
    #[default]
    #[serde(rename = "")]
    Number,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
    /// Kilobytes.
    #[serde(rename = "KB")]
    Kb,
    /// Percent.
    #[serde(rename = "%")]
    Percent,
}

/// A statistic over the seeds of an arm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OverSeeds {
    /// The median; of two arms, the median of the ratios paired by seed.
    #[default]
    Median,
    /// The mean: what few seeds move counts, where the median of ratios is that of the many that nothing moves.
    Mean,
    /// The 99% quantile, nearest rank.
    P99,
    /// The sum over the sum of `per`: a share of counts.
    Sum,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimText {
    pub(crate) id: Name,
    pub(crate) text: String,
    pub(crate) place: Option<String>,
    pub(crate) measure: Name,
    pub(crate) of: Vec<Name>,
    pub(crate) over: Option<Name>,
    /// The case under the fraction bar, where it is another.
    pub(crate) over_case: Option<Name>,
    pub(crate) cases: Option<Vec<Name>>,
    pub(crate) rule: RuleText,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) paper_text: Option<Numbers>,
    pub(crate) paper_plot: Option<Numbers>,
    pub(crate) artifact_rerun: Option<Numbers>,
    #[serde(default)]
    pub(crate) note: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleText {
    Factor,
    Equal,
    Order,
    NotBelow,
    Band,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PlotText {
    pub(crate) title: String,
    pub(crate) measure: Name,
    #[serde(default)]
    pub(crate) kind: PlotKind,
    #[serde(default)]
    pub(crate) log: bool,
    pub(crate) arms: Option<Vec<Name>>,
    pub(crate) cases: Option<Vec<Name>>,
}

/// The marks of a plot.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlotKind {
    /// A group of bars a case, a bar an arm.
    #[default]
    Bars,
    /// A line an arm over the `x` of the cases.
    Lines,
}

/// A number, or one for each `CASE/ARM`, `ARM` or `CASE`.
pub(crate) enum Numbers {
    One(f64),
    Each(BTreeMap<Name, f64>),
}

impl Numbers {
    /// The number of an arm in a case.
    pub(crate) fn of(&self, case: &str, arm: &str) -> Option<f64> {
        match self {
            Self::One(number) => Some(*number),
            Self::Each(table) => {
                let both = format!("{case}/{arm}");
                [both.as_str(), arm, case].iter().find_map(|key| table.get(*key)).copied()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumbersVisitor;
        impl<'de> Visitor<'de> for NumbersVisitor {
            type Value = Numbers;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a table of numbers by \"CASE/ARM\", \"ARM\" or \"CASE\"")
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Numbers, E> {
                Ok(Numbers::One(number))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Numbers, E> {
                Ok(Numbers::One(number as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Numbers, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Numbers::Each)
            }
        }
        deserializer.deserialize_any(NumbersVisitor)
    }
}
