//! Numbers, intervals and rows as the pages show them.

use crate::figure::{Across, Claim, Figure, Unit};
use crate::record::Outcome;
use crate::verdict::Verdict;

/// A row of a table.
pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The line under a heading of so many cells.
pub(crate) fn rule_of(cells: usize) -> String {
    row(&vec!["---".to_owned(); cells])
}

/// The unit of a claim's number, with a space before it; none of a ratio or a slope.
pub(crate) fn unit(figure: &Figure, claim: &Claim) -> String {
    let measure = &figure.measures[claim.terms[0].measure];
    let is_plain = claim.terms[0].over.is_none() && claim.across != Some(Across::Slope);
    match measure.unit.name() {
        name if name.is_empty() || !is_plain => String::new(),
        name => format!(" {name}"),
    }
}

pub(crate) fn interval(figure: &Figure, claim: &Claim, found: &Outcome) -> String {
    match found.verdict {
        Verdict::NotRun => String::new(),
        _ => {
            let shown = |number| number_of(figure, claim, found, number);
            let (low, high) = (shown(found.ci_low), shown(found.ci_high));
            match (found.measured, found.ci_low, found.ci_high) {
                (None, None, None) => shown(None),
                (measured, ..) => format!("{}{} [{low}, {high}]", shown(measured), unit(figure, claim)),
            }
        }
    }
}

pub(crate) fn band(claim: &Outcome) -> String {
    match (claim.low, claim.high) {
        (Some(low), Some(high)) => format!("{} to {}", show(Some(low)), show(Some(high))),
        (Some(low), None) => format!("above {}", show(Some(low))),
        (None, Some(high)) => format!("below {}", show(Some(high))),
        (None, None) => String::new(),
    }
}

impl Unit {
    /// Its name in headings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Number => "",
            Self::Us => "us",
            Self::Ms => "ms",
            Self::S => "s",
            Self::Kb => "KB",
            Self::Gbps => "Gb/s",
            Self::Percent => "%",
        }
    }
}

/// A number of a claim: with as many digits as say on which side it is of what decides the verdict.
pub(crate) fn number_of(figure: &Figure, claim: &Claim, found: &Outcome, value: Option<f64>) -> String {
    let term = &claim.terms[0];
    let Some(value) = value else {
        let is_share = figure.measures[term.measure].per.is_some();
        return if is_share { "infinite".to_owned() } else { show(None) };
    };
    let one = term.over.as_ref().map(|_| 1.0);
    let ends = [found.low, found.high, one].into_iter().flatten();
    digits_beside(value, &ends.collect::<Vec<_>>())
}

/// A number with three significant digits, or with more where it would else be written as one of these ends and is not.
fn digits_beside(value: f64, ends: &[f64]) -> String {
    let text = show(Some(value));
    let is_told = |text: &str| {
        let shown: f64 = text.parse().unwrap_or(f64::NAN);
        ends.iter().all(|end| value == *end || shown != *end)
    };
    let longer = (3..=6).map(|digits| format!("{value:.digits$}"));
    std::iter::once(text.clone()).chain(longer).find(|text| is_told(text)).unwrap_or(text)
}

/// A number with three significant digits; infinite ones are said to be never there.
pub(crate) fn show(value: Option<f64>) -> String {
    let Some(value) = value else { return "never".to_owned() };
    let digits = match value.abs() {
        0.0 => 0,
        x if x >= 99.95 => 0,
        x if x >= 9.995 => 1,
        x if x >= 0.9995 => 2,
        x if x >= 0.0995 => 3,
        _ => 4,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') && value == value.trunc() { format!("{value:.0}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn a_number_shows_its_side_of_what_decides() {
        let shown = |value| digits_beside(value, &[1.0, 1.25]);
        let numbers = [1.0, 1.003_21, 0.999_64, 1.000_01, 1.006, 1.254, 2.0];
        assert_eq!(numbers.map(shown), ["1", "1.003", "0.9996", "1.00001", "1.01", "1.254", "2"]);
        assert_eq!(digits_beside(0.999_999_99, &[1.0]), "1.00", "six digits are enough");
    }

    #[test]
    fn what_has_no_end_is_never_there_and_a_share_of_nothing_infinite() {
        let figures = crate::figures().unwrap();
        let shown = |id: &str| {
            let of = |figure: &&crate::Figure| figure.claims.iter().any(|claim| claim.id == id);
            let figure = figures.iter().find(of).unwrap();
            let claim = figure.claims.iter().find(|claim| claim.id == id).unwrap();
            let mut found = Record::of_none(figure).all().find(|found| found.id == id).unwrap().clone();
            found.verdict = Verdict::Differs;
            interval(figure, claim, &found)
        };
        assert_eq!(shown("gemini-table2-over-wan-most"), "infinite");
        assert_eq!(shown("oscar-fig23b-total-vs-hpcc-paper"), "never");
    }
}
