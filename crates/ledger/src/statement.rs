//! Statements of papers about results: a sentence of ours, where it stands in the paper, and the number that it prints.

use crate::error::{Fault, FigureError};
use crate::text::{Name, Numbers, OneNumber, UnitText as Unit};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where a paper's number stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// In its text, in a caption or in a table.
    Text,
    /// Computed by us from numbers that it prints.
    Derived,
    /// Read off a plot.
    Plot,
}

/// How a printed number compares two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Comparison {
    /// A percentage by which a cost is lower, faster or better.
    Lower,
    /// A percentage by which a value is higher, more or longer.
    Higher,
    /// A factor.
    Times,
}

/// Whose fault a statement that does not hold probably is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Something of ours lacks, or is known to differ.
    Ours,
    /// How we read what the paper leaves open.
    Reading,
    /// The paper's: its own set-up does not lead to it.
    Paper,
}

/// A number with its unit, as printed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PrintedNumber {
    pub(crate) text: String,
    value: f64,
    unit: &'static (&'static str, Dimension, f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dimension {
    Number,
    Share,
    Time,
    Size,
    Rate,
}

/// Units, and the factor to those of a document: shares, microseconds, bytes and bit/s.
const UNITS: [(&str, Dimension, f64); 14] = [
    ("", Dimension::Number, 1.0),
    ("x", Dimension::Number, 1.0),
    ("%", Dimension::Share, 0.01),
    ("ns", Dimension::Time, 1e-3),
    ("us", Dimension::Time, 1.0),
    ("ms", Dimension::Time, 1e3),
    ("s", Dimension::Time, 1e6),
    ("B", Dimension::Size, 1.0),
    ("KB", Dimension::Size, 1e3),
    ("MB", Dimension::Size, 1e6),
    ("GB", Dimension::Size, 1e9),
    ("Mb/s", Dimension::Rate, 1e6),
    ("Gb/s", Dimension::Rate, 1e9),
    ("Tb/s", Dimension::Rate, 1e12),
];

impl PrintedNumber {
    fn read(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && !"-.e".contains(c)).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let unit = UNITS.iter().find(|(name, ..)| *name == unit.trim_start())?;
        Some(Self { text: text.to_owned(), value: number.parse().ok()?, unit })
    }

    /// The ratio that it says; `None` if it says none.
    fn ratio(&self, comparison: Comparison) -> Option<f64> {
        let (_, dimension, factor) = *self.unit;
        let value = self.value * factor;
        match (comparison, dimension) {
            (Comparison::Lower, Dimension::Share) if value < 1.0 => Some(1.0 / (1.0 - value)),
            (Comparison::Higher, Dimension::Share) => Some(1.0 + value),
            (Comparison::Times, Dimension::Number) => Some(value),
            _ => None,
        }
    }

    /// It as a ratio or an exponent; `None` if it has a unit.
    fn plain(&self) -> Option<f64> {
        (self.unit.1 == Dimension::Number).then_some(self.value)
    }

    /// It in the unit of a measure; `None` if that is another quantity.
    fn value_in(&self, unit: Unit) -> Option<f64> {
        let (_, dimension, factor) = *self.unit;
        let of_unit = match unit {
            Unit::Number => Dimension::Number,
            Unit::Percent => Dimension::Share,
            Unit::Us | Unit::Ms | Unit::S => Dimension::Time,
            Unit::Kb => Dimension::Size,
            Unit::Gbps => Dimension::Rate,
        };
        // An index or a utilisation may be printed as a percentage.
        let is_same = dimension == of_unit || (unit == Unit::Number && dimension == Dimension::Share);
        is_same.then(|| self.value * factor * unit.scale())
    }
}

impl OneNumber for PrintedNumber {
    const EXPECTED: &'static str =
        "a number as printed, such as \"10%\", or a table of them by \"CASE/ARM\", \"ARM\" or \"CASE\"";
    fn of_float<E: Error>(number: f64) -> Result<Self, E> {
        Self::of_text(&number.to_string())
    }
    fn of_text<E: Error>(text: &str) -> Result<Self, E> {
        Self::read(text).ok_or_else(|| {
            let units: Vec<&str> = UNITS[1..].iter().map(|(name, ..)| *name).collect();
            E::custom(format!("{text:?} is not a number with a unit ({})", units.join(", ")))
        })
    }
}

impl<'de> Deserialize<'de> for PrintedNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of_text(&String::deserialize(deserializer)?)
    }
}

/// A statement as written. Its id and text may have `{case}`, `{of}` and `{measure}`, which its claims fill in.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatementText {
    pub(crate) id: Name,
    text: String,
    source: Source,
    section: String,
    place: String,
    paper: Option<Numbers<PrintedNumber>>,
    comparison: Option<Comparison>,
    /// The number in words, as it is printed: `tools/check_statements.py` looks for them.
    #[serde(rename = "words")]
    _words: Option<String>,
    not_run: Option<String>,
    cause: Option<Cause>,
    why: Option<String>,
}

/// A statement of a paper.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// `PAPER/FIGURE/ID`, or `PAPER/ID`.
    pub id: String,
    /// The id as it is written, with `{case}`, `{of}` and `{measure}`.
    pub template: String,
    /// The statement in our words.
    pub text: String,
    /// Where its number stands.
    pub source: Source,
    /// Section, paragraph, and figure or table.
    pub place: String,
    /// The number as printed.
    pub paper: Option<String>,
    /// Why nothing measures it, if nothing does.
    pub not_run: Option<String>,
    /// Whose fault it is, where it does not hold.
    pub cause: Option<Cause>,
    /// In a line: why it does not hold.
    pub why: Option<String>,
}

/// Names and labels that fill in a template.
pub(crate) struct Fill<'a> {
    pub(crate) case: (&'a str, &'a str),
    pub(crate) of: (&'a str, &'a str),
    pub(crate) measure: (&'a str, &'a str),
}

impl Fill<'_> {
    /// With names, for ids.
    pub(crate) fn id(&self, template: &str) -> String {
        self.with(template, |(name, _)| name)
    }

    /// With labels, for readers.
    pub(crate) fn text(&self, template: &str) -> String {
        self.with(template, |(_, label)| label)
    }

    fn with<'a>(&'a self, template: &str, pick: impl Fn((&'a str, &'a str)) -> &'a str) -> String {
        let pairs = [("{case}", self.case), ("{of}", self.of), ("{measure}", self.measure)];
        pairs.into_iter().fold(template.to_owned(), |text, (key, value)| text.replace(key, pick(value)))
    }
}

impl StatementText {
    fn statement(&self, key: &str, fill: Option<&Fill<'_>>) -> Statement {
        let number = match (&self.paper, fill) {
            (Some(numbers), Some(fill)) => {
                numbers.of(fill.case.0, fill.of.0).map(|number| number.text.clone())
            }
            (Some(Numbers::One(number)), None) => Some(number.text.clone()),
            _ => None,
        };
        Statement {
            id: fill.map_or_else(|| key.to_owned(), |fill| fill.id(key)),
            template: key.to_owned(),
            text: fill.map_or_else(|| self.text.clone(), |fill| fill.text(&self.text)),
            source: self.source,
            place: match self.section.as_str() {
                named if named.starts_with(|c: char| c.is_ascii_digit()) => {
                    format!("section {named}, {}", self.place)
                }
                named => format!("{named}, {}", self.place),
            },
            paper: number,
            not_run: self.not_run.clone(),
            cause: self.cause,
            why: self.why.clone(),
        }
    }

    /// The number of a claim: a ratio, or a value in the unit of its measure; `None` if it prints none. A measure may be a ratio
    /// by itself.
    pub(crate) fn number(
        &self,
        fill: &Fill<'_>,
        unit: Unit,
        is_ratio: bool,
        measure_is_ratio: bool,
    ) -> Result<Option<f64>, Fault> {
        let Some(numbers) = &self.paper else { return Ok(None) };
        let Some(printed) = numbers.of(fill.case.0, fill.of.0) else { return Ok(None) };
        let found = match self.comparison {
            Some(comparison) if is_ratio || measure_is_ratio => printed.ratio(comparison),
            Some(_) => None,
            None if is_ratio => printed.plain(),
            None => printed.value_in(unit),
        };
        found.map(Some).ok_or_else(|| {
            Fault::new(
                format!("{:?} does not fit the claim's number", printed.text),
                "a ratio needs a `comparison` (\"lower\" or \"higher\" with %, \"times\" with x), an absolute number the `unit` of its measure",
            )
        })
    }

    /// A reason names its cause, and shows a number or a page, or says that it is probable or not found.
    fn reason_lacks(&self) -> Option<Fault> {
        match (self.cause, &self.why) {
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                Some(Fault::new("one of `cause` and `why` is missing", "give both, or neither"))
            }
            (Some(_), Some(why)) => {
                let shows =
                    ["{{", "](", " probably", "Probably", "ot found"].iter().any(|sign| why.contains(sign));
                let cure =
                    "name a number in {{}} or a page that shows it, or say \"probably\" or \"not found\"";
                (!shows).then(|| Fault::new("a `why` that nothing shows", cure))
            }
        }
    }

    /// Whether it prints a number.
    pub(crate) const fn prints(&self) -> bool {
        self.paper.is_some()
    }

    pub(crate) const fn source(&self) -> Source {
        self.source
    }
}

/// The statements of a paper, by `FIGURE/ID`; those of no figure by `statements/ID`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Statements {
    by_key: BTreeMap<String, StatementText>,
}

/// The part of a file that states.
#[derive(Deserialize)]
struct Stating {
    #[serde(default)]
    statement: Vec<StatementText>,
}

impl Statements {
    /// Adds those of a file: `PAPER/FIGURE`'s `claims.toml`, or `PAPER/statements`'s `statements.toml`.
    ///
    /// # Errors
    /// A mistake in the text.
    pub fn add(&mut self, name: &str, text: &str) -> Result<(), FigureError> {
        let stating: Stating =
            toml::from_str(text).map_err(|error| FigureError::written(name, text, &error))?;
        let figure = name.rsplit('/').next().unwrap_or(name);
        for statement in stating.statement {
            let key = format!("{figure}/{}", statement.id.get_ref());
            if self.by_key.contains_key(&key) {
                let fault =
                    Fault::new(format!("two statements have the id {key:?}"), "give each an id of its own");
                return Err(FigureError::at(name, text, Some(statement.id.span()), fault));
            }
            if statement.comparison.is_some() && statement.paper.is_none() {
                let fault =
                    Fault::new("a `comparison` of no number", "give the statement its `paper`, or remove it");
                return Err(FigureError::at(name, text, Some(statement.id.span()), fault));
            }
            if let Some(fault) = statement.reason_lacks() {
                return Err(FigureError::at(name, text, Some(statement.id.span()), fault));
            }
            self.by_key.insert(key, statement);
        }
        Ok(())
    }

    /// The statement of a claim of this figure, and its key.
    pub(crate) fn of(&self, figure: &str, name: &str) -> Option<(String, &StatementText)> {
        let key = if name.contains('/') { name.to_owned() } else { format!("{figure}/{name}") };
        self.by_key.get(&key).map(|statement| (key, statement))
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.by_key.keys().map(String::as_str)
    }

    /// The statement that a claim measures.
    pub(crate) fn filled(paper: &str, key: &str, statement: &StatementText, fill: &Fill<'_>) -> Statement {
        statement.statement(&full_key(paper, key), Some(fill))
    }

    /// Those that nothing measures, with the reason.
    #[must_use]
    pub fn unmeasured(&self, paper: &str) -> Vec<Statement> {
        let all = self.by_key.iter().filter(|(_, statement)| statement.not_run.is_some());
        all.map(|(key, statement)| statement.statement(&full_key(paper, key), None)).collect()
    }
}

/// The file of a paper's statements that belong to no figure, without its ending.
pub(crate) const FILE: &str = "statements";

/// A paper: what it states beside its figures, and what of it is quoted most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paper {
    /// The folder of its experiments.
    pub folder: String,
    /// Its name on pages.
    pub name: String,
    /// Its authors, such as "Name et al.".
    pub authors: String,
    /// Its title.
    pub title: String,
    /// Its headline's statements: a few words for each, and the template.
    pub headline: Vec<(String, String)>,
    /// The templates of its most quoted statements.
    pub quoted: Vec<String>,
    /// Statements that nothing measures, of all of its files.
    pub unmeasured: Vec<Statement>,
    /// The templates of all of its statements.
    pub statements: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadlineText {
    label: String,
    statement: Name,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PaperText {
    name: String,
    authors: String,
    title: String,
    headline: Vec<HeadlineText>,
    quoted: Vec<Name>,
    /// [`Statements`] reads them.
    #[serde(default, rename = "statement")]
    _statement: serde::de::IgnoredAny,
}

impl Paper {
    /// The paper of a `statements.toml`; `statements` are all that it states.
    ///
    /// # Errors
    /// A mistake in the text: the error names the place and the cure.
    pub fn parse(folder: &str, text: &str, statements: &Statements) -> Result<Self, FigureError> {
        let name = name_of(folder);
        let written: PaperText =
            toml::from_str(text).map_err(|error| FigureError::written(&name, text, &error))?;
        let template = |quoted: &Name| match statements.of(FILE, quoted.get_ref()) {
            Some((key, _)) => Ok(full_key(folder, &key)),
            None => {
                let fault = Fault::new(
                    format!("no statement {:?}", quoted.get_ref()),
                    "write FIGURE/ID, or ID for one of this file",
                );
                Err(FigureError::at(&name, text, Some(quoted.span()), fault))
            }
        };
        let headline = |line: HeadlineText| Ok((line.label, template(&line.statement)?));
        Ok(Self {
            folder: folder.to_owned(),
            headline: written.headline.into_iter().map(headline).collect::<Result<_, _>>()?,
            quoted: written.quoted.iter().map(template).collect::<Result<_, _>>()?,
            unmeasured: statements.unmeasured(folder),
            statements: statements.keys().map(|key| full_key(folder, key)).collect(),
            name: written.name,
            authors: written.authors,
            title: written.title,
        })
    }
}

fn name_of(folder: &str) -> String {
    format!("{folder}/{FILE}")
}

fn full_key(paper: &str, key: &str) -> String {
    format!("{paper}/{}", key.strip_prefix("statements/").unwrap_or(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> PrintedNumber {
        PrintedNumber::read(text).unwrap()
    }

    #[test]
    fn the_verb_of_the_paper_makes_a_ratio_of_a_percentage() {
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-12;
        assert!(near(read("50%").ratio(Comparison::Lower), 2.0));
        assert!(near(read("50%").ratio(Comparison::Higher), 1.5));
        assert!(near(read("5.3x").ratio(Comparison::Times), 5.3));
        for (text, comparison) in
            [("5.3x", Comparison::Lower), ("10%", Comparison::Times), ("100%", Comparison::Lower)]
        {
            assert_eq!(read(text).ratio(comparison), None, "{text}");
        }
    }

    #[test]
    fn an_absolute_number_is_read_in_the_unit_of_its_measure() {
        let near = |found: Option<f64>, expected: f64| (found.unwrap() - expected).abs() < 1e-9;
        assert!(near(read("40.43 ms").value_in(Unit::Us), 40_430.0));
        assert!(near(read("12.02s").value_in(Unit::S), 12.02));
        assert!(near(read("944 Mb/s").value_in(Unit::Gbps), 0.944));
        assert!(near(read("95%").value_in(Unit::Number), 0.95));
        assert!(near(read("95%").value_in(Unit::Percent), 95.0));
        assert!(near(read("75 KB").value_in(Unit::Kb), 75.0));
        assert_eq!(read("75 KB").value_in(Unit::Ms), None);
        assert_eq!(PrintedNumber::read("10 parsecs"), None);
        assert_eq!(PrintedNumber::read("fast"), None);
    }

    #[test]
    fn a_reason_has_its_cause_and_what_shows_it() {
        let add = |more: &str| {
            let text = format!(
                "[[statement]]\nid = \"one\"\ntext = \"One.\"\nsource = \"text\"\nsection = \"1\"\nplace = \"p\"\n{more}"
            );
            Statements::default().add("x/fig1", &text).map_err(|error| error.to_string())
        };
        for (more, part) in [
            ("why = \"probably rounding\"", "`cause` and `why`"),
            ("cause = \"ours\"", "`cause` and `why`"),
            ("cause = \"ours\"\nwhy = \"The queue is longer.\"", "nothing shows"),
            ("cause = \"paper\"\nwhy = \"Improbably small.\"", "nothing shows"),
        ] {
            let error = add(more).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        add("cause = \"ours\"\nwhy = \"Probably the queue.\"").unwrap();
        add("cause = \"reading\"\nwhy = \"The queue: {{a/b/c}}.\"").unwrap();
        add("cause = \"paper\"\nwhy = \"Not found.\"").unwrap();
    }
}
