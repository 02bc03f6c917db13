//! From a computed measure as it is written to one that can be computed.

use super::{Computed, Event, FlowsMeasure, Level, Moment, Period, SeriesMeasure, Subject};
use crate::error::{Checked, wrong};
use crate::text::{FlowsText, LevelText, Name, SampledProbe, SeriesText, Take};
use farspan_units::{Bytes, Duration, ParseQuantityError, Rate};
use std::str::FromStr;

impl SampledProbe {
    /// Its name in `series.parquet`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Cwnd => "cwnd",
            Self::Rtt => "rtt",
            Self::Queue => "queue",
            Self::PhantomQueue => "phantom_queue",
            Self::Utilization => "utilization",
            Self::Signal => "signal",
        }
    }

    /// The factor from the unit of `series.parquet` to that of documents.
    pub(crate) const fn scale(self) -> f64 {
        match self {
            Self::Rtt => 1e-3,
            _ => 1.0,
        }
    }

    const fn of_flows(self) -> bool {
        matches!(self, Self::Rate | Self::Cwnd | Self::Rtt | Self::Signal)
    }

    /// A value from text; `None` where values have no unit.
    fn quantity(self, text: &str) -> Option<Result<f64, ParseQuantityError>> {
        match self {
            Self::Rate => Some(Rate::from_str(text).map(|rate| rate.as_bps() as f64)),
            Self::Cwnd | Self::Queue | Self::PhantomQueue => {
                Some(Bytes::from_str(text).map(|bytes| bytes.as_f64()))
            }
            Self::Rtt => Some(Duration::from_str(text).map(Duration::as_us_f64)),
            Self::Utilization | Self::Signal => None,
        }
    }
}

impl Take {
    const fn needs_level(self) -> bool {
        !matches!(self, Self::Mean | Self::Min | Self::Max | Self::Deviation | Self::Slope)
    }
}

fn quantity<T: FromStr<Err = ParseQuantityError>>(text: &str, at: &Name) -> Checked<T> {
    T::from_str(text).or_else(|error| {
        let message = error.to_string();
        let (problem, cure) = message.split_once("; ").unwrap_or((&message, "correct it"));
        wrong(at, problem, cure)
    })
}

/// The measure that a text describes.
pub(crate) fn series(text: &SeriesText) -> Checked<Computed> {
    let period = period(text.from.as_ref(), text.to.as_ref())?;
    let level = level(text)?;
    Ok(Computed::Series(SeriesMeasure {
        probe: text.probe,
        of: subject(text.probe, &text.of)?,
        per: text.per.as_ref().map(|per| subject(text.probe, per)).transpose()?,
        combine: text.combine,
        period,
        take: *text.take.get_ref(),
        level,
    }))
}

fn subject(probe: SampledProbe, name: &Name) -> Checked<Subject> {
    let found = match name.get_ref().split_once('=') {
        Some(("tag", tag)) if !tag.is_empty() => Some(Subject::Tag(tag.to_owned())),
        Some(("flow", id)) => id.parse().ok().map(Subject::Flow),
        None if name.get_ref() == "bottleneck" => Some(Subject::Bottleneck),
        None if name.get_ref().contains("->") => Some(Subject::Port(name.get_ref().clone())),
        _ => None,
    };
    let cure = "write \"tag=NAME\" or \"flow=ID\" of rate, cwnd, rtt and signal, \"FROM->TO#n\" or \"bottleneck\" of the others";
    match found {
        Some(found) if matches!(found, Subject::Tag(_) | Subject::Flow(_)) == probe.of_flows() => Ok(found),
        Some(_) => wrong(name, format!("{:?} has no {}", name.get_ref(), probe.name()), cure),
        None => wrong(name, format!("{:?} is neither flows nor a port", name.get_ref()), cure),
    }
}

fn level(text: &SeriesText) -> Checked<Option<Level>> {
    let take = Name::new(text.take.span(), String::new());
    let Some(level) = &text.level else {
        return match text.take.get_ref().needs_level() || text.reference.is_some() {
            true => wrong(&take, "there is no `level` to compare with", "give one, such as level = \"75KB\""),
            false => Ok(None),
        };
    };
    let at = Name::new(level.span(), String::new());
    if !text.take.get_ref().needs_level() {
        return wrong(&at, "this `take` compares with no level", "remove it, or take another number");
    }
    if let Some([from, to]) = &text.reference {
        let LevelText::Number(factor) = level.get_ref() else {
            return wrong(&at, "with a `reference` the level is a factor", "write a number, such as 0.9");
        };
        return Ok(Some(Level::OfMean(*factor, period(Some(from), Some(to))?)));
    }
    let example = match text.probe {
        SampledProbe::Rate => "90Gbps",
        SampledProbe::Rtt => "20us",
        _ => "75KB",
    };
    let unitless = matches!(text.probe, SampledProbe::Utilization | SampledProbe::Signal)
        || text.combine == crate::text::Combine::Jain;
    match level.get_ref() {
        LevelText::Number(value) if unitless => Ok(Some(Level::Value(*value))),
        LevelText::Quantity(text_of) if !unitless => {
            let parsed = text.probe.quantity(text_of).expect("only a share has no unit");
            let message = match parsed {
                Ok(value) => return Ok(Some(Level::Value(value))),
                Err(error) => error.to_string(),
            };
            let (problem, cure) = message.split_once("; ").unwrap_or((&message, "correct it"));
            wrong(&at, problem, cure)
        }
        LevelText::Quantity(_) => wrong(&at, "these values have no unit", "write a number, such as 0.95"),
        LevelText::Number(_) => wrong(
            &at,
            "the level has no unit",
            format!("write one, such as {example:?}, or give a `reference`"),
        ),
    }
}

fn period(from: Option<&Name>, to: Option<&Name>) -> Checked<Period> {
    let beginning = Moment { event: Event::Beginning, offset_ns: 0 };
    let period = Period { from: from.map_or(Ok(beginning), moment)?, to: to.map(moment).transpose()? };
    match (&period.to, to) {
        (Some(end), Some(to)) if end.event == period.from.event && end.offset_ns <= period.from.offset_ns => {
            wrong(to, "the period ends before it begins", "exchange `from` and `to`")
        }
        _ => Ok(period),
    }
}

/// `3ms`, `end of TAG`, `start of TAG + 100us`, `45% of TAG`.
fn moment(name: &Name) -> Checked<Moment> {
    const CURE: &str =
        "write a time, or \"start of TAG\", \"end of TAG\" or \"45% of TAG\", and \"+ 100us\" behind the tag";
    let text = name.get_ref();
    let (event, offset) = match (text.split_once(" + "), text.split_once(" - ")) {
        (Some((event, after)), _) => (event, Some((after, 1))),
        (_, Some((event, before))) => (event, Some((before, -1))),
        _ => (text.as_str(), None),
    };
    let Some((word, tag)) = event.split_once(" of ") else {
        if text.contains(char::is_whitespace) {
            return wrong(name, format!("{text:?} is not a time of a run"), CURE);
        }
        return Ok(Moment { event: Event::Beginning, offset_ns: nanoseconds(quantity(text, name)?) });
    };
    let share = match word.trim() {
        "start" => Some(0.0),
        "end" => Some(1.0),
        part => part.strip_suffix('%').and_then(|part| part.parse().ok()).map(|part: f64| part / 100.0),
    };
    let Some(share) = share.filter(|share| (0.0..=1.0).contains(share)) else {
        return wrong(name, format!("{word:?} is not an event of flows"), CURE);
    };
    let offset_ns = match offset {
        None => 0,
        Some((time, sign)) => sign * nanoseconds(quantity(time.trim(), name)?),
    };
    Ok(Moment { event: Event::Within(tag.trim().to_owned(), share), offset_ns })
}

fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_ns()).unwrap_or(i64::MAX)
}

/// The measure that a text describes.
pub(crate) fn flows(text: &FlowsText) -> Checked<Computed> {
    let size = |name: &Option<Name>, default| {
        name.as_ref().map_or(Ok(default), |name| quantity::<Bytes>(name.get_ref(), name).map(Bytes::get))
    };
    let (above, up_to) = (size(&text.above, 0)?, size(&text.up_to, u64::MAX)?);
    match &text.up_to {
        Some(name) if up_to <= above => {
            wrong(name, "no flow has such a size", "let `up_to` be larger than `above`")
        }
        _ => Ok(Computed::Flows(FlowsMeasure { tag: text.tag.clone(), above, up_to, take: text.take })),
    }
}
