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
    /// Whether the paper's numbers are of hardware that is not simulated.
    #[serde(default)]
    pub(crate) hardware: bool,
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
    /// `Statements` reads them.
    #[serde(default, rename = "statement")]
    _statement: serde::de::IgnoredAny,
    /// How statements of the paper are measured.
    #[serde(default)]
    pub(crate) claim: Vec<ClaimText>,
    /// Numbers of our own, which no paper states.
    #[serde(default)]
    pub(crate) check: Vec<ClaimText>,
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
    /// The case of which it changes one thing.
    pub(crate) ablates: Option<Name>,
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
    pub(crate) path: Option<Name>,
    pub(crate) series: Option<SeriesText>,
    pub(crate) flows: Option<FlowsText>,
    pub(crate) per: Option<String>,
    pub(crate) ideal: Option<Numbers<f64>>,
    #[serde(default)]
    pub(crate) off_ideal: bool,
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
    /// Gigabits per second.
    #[serde(rename = "Gb/s")]
    Gbps,
    /// Percent.
    #[serde(rename = "%")]
    Percent,
}

/// A number of samples, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SeriesText {
    pub(crate) probe: SampledProbe,
    pub(crate) of: Name,
    pub(crate) per: Option<Name>,
    #[serde(default)]
    pub(crate) combine: Combine,
    pub(crate) from: Option<Name>,
    pub(crate) to: Option<Name>,
    pub(crate) take: Spanned<Take>,
    pub(crate) level: Option<Spanned<LevelText>>,
    /// The period of whose mean the level is a multiple.
    pub(crate) reference: Option<[Name; 2]>,
}

/// A level: a quantity in the unit of the probe, or a number.
#[derive(Deserialize)]
#[serde(untagged)]
#[serde(expecting = "a number, or a quantity such as \"75KB\" was expected")]
pub(crate) enum LevelText {
    Number(f64),
    Quantity(String),
}

/// A sampled quantity, as `series.parquet` names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampledProbe {
    /// Receiver goodput over the interval that ends with the sample, bit/s.
    Rate,
    /// Congestion window, bytes.
    Cwnd,
    /// Smoothed RTT, us.
    Rtt,
    /// Data queue, bytes.
    Queue,
    /// Phantom queue, bytes.
    PhantomQueue,
    /// Busy share of the interval that ends with the sample.
    Utilization,
    /// The number that the control judges congestion by.
    Signal,
}

/// From the values of several flows at a time to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// Their sum.
    #[default]
    Sum,
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Jain's index.
    Jain,
}

/// From the values of a period to a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// Their mean.
    Mean,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their standard deviation over their mean.
    Deviation,
    /// Their slope by least squares, per second.
    Slope,
    /// The share of them above the level.
    ShareAbove,
    /// The mean of what they lack to the level.
    Shortfall,
    /// The time until the first one above the level.
    FirstAbove,
    /// The time until the first one below the level.
    FirstBelow,
    /// The time until the last one above the level.
    LastAbove,
    /// The time until the last one below the level.
    LastBelow,
}

/// A number of flows, as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowsText {
    pub(crate) tag: Option<String>,
    /// Their size is larger than this.
    pub(crate) above: Option<Name>,
    /// Their size is at most this.
    pub(crate) up_to: Option<Name>,
    pub(crate) take: FlowTake,
}

/// A number of flows. Those that do not end count as infinite.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowTake {
    /// Mean of FCT over ideal FCT.
    SlowdownMean,
    /// Its 99% quantile, nearest rank.
    SlowdownP99,
    /// Mean FCT, us.
    FctMean,
    /// Its 99% quantile, nearest rank, us.
    FctP99,
}

impl FlowTake {
    pub(crate) const fn is_p99(self) -> bool {
        matches!(self, Self::SlowdownP99 | Self::FctP99)
    }
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
    /// The statement of the paper that it measures: `ID`, `FIGURE/ID`, or `statements/ID`.
    pub(crate) statement: Option<Name>,
    pub(crate) text: String,
    pub(crate) measure: Spanned<OneOrMore>,
    pub(crate) of: Vec<Name>,
    pub(crate) over: Option<Spanned<OneOrMore>>,
    /// The arm that counts of several in `over`: its rank by value, the smallest first.
    pub(crate) rank: Option<Spanned<usize>>,
    /// The case under the fraction bar, where it is another.
    pub(crate) over_case: Option<Name>,
    pub(crate) cases: Option<Vec<Name>>,
    pub(crate) across: Option<Across>,
    pub(crate) rule: RuleText,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) artifact_rerun: Option<Numbers<f64>>,
    #[serde(default)]
    pub(crate) note: String,
}

/// A name, or several.
#[derive(Deserialize)]
#[serde(untagged)]
#[serde(expecting = "a name, or a list of names was expected")]
pub(crate) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    pub(crate) fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::More(names) => names,
        }
    }
}

/// From the medians over seeds of several cases, arms and measures to one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Across {
    /// The largest: "up to".
    Max,
    /// The smallest.
    Min,
    /// The middle one: "in most cases".
    Median,
    /// Their mean: "on average".
    Mean,
    /// The least-squares slope of their logarithm over that of the cases' `x`: 1 is linear growth, 0 is none.
    Slope,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleText {
    Factor,
    Value,
    AtMost,
    AtLeast,
    Equal,
    Order,
    NotBelow,
    Word,
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

/// A number, or one for each `CASE/ARM`, `ARM` or `CASE`; `T` is a number, or one with a unit, as printed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Numbers<T> {
    One(T),
    Each(BTreeMap<Name, T>),
}

impl<T> Numbers<T> {
    /// The number of an arm in a case.
    pub(crate) fn of(&self, case: &str, arm: &str) -> Option<&T> {
        match self {
            Self::One(number) => Some(number),
            Self::Each(table) => {
                let both = format!("{case}/{arm}");
                [both.as_str(), arm, case].iter().find_map(|key| table.get(*key))
            }
        }
    }
}

/// A kind of value of [`Numbers`], and how it is written.
pub(crate) trait OneNumber: Sized {
    const EXPECTED: &'static str;
    fn of_float<E: Error>(number: f64) -> Result<Self, E>;
    fn of_text<E: Error>(text: &str) -> Result<Self, E>;
}

impl OneNumber for f64 {
    const EXPECTED: &'static str = "a number, or a table of numbers by \"CASE/ARM\", \"ARM\" or \"CASE\"";
    fn of_float<E: Error>(number: f64) -> Result<Self, E> {
        Ok(number)
    }
    fn of_text<E: Error>(text: &str) -> Result<Self, E> {
        Err(E::invalid_type(serde::de::Unexpected::Str(text), &"a number"))
    }
}

impl<'de, T: OneNumber + Deserialize<'de>> Deserialize<'de> for Numbers<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumbersVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: OneNumber + Deserialize<'de>> Visitor<'de> for NumbersVisitor<T> {
            type Value = Numbers<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Numbers<T>, E> {
                T::of_float(number).map(Numbers::One)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Numbers<T>, E> {
                T::of_float(number as f64).map(Numbers::One)
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Numbers<T>, E> {
                T::of_text(text).map(Numbers::One)
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Numbers<T>, A::Error> {
                BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Numbers::Each)
            }
        }
        deserializer.deserialize_any(NumbersVisitor(std::marker::PhantomData))
    }
}
