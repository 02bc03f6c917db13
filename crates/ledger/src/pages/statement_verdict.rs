//! Statements of papers, each with the claims that measure it.

use crate::figure::{Claim, Figure};
use crate::record::{Outcome, Record};
use crate::statement::{Paper, Statement};
use crate::verdict::Verdict;
use std::collections::BTreeMap;

/// The verdict on a statement. Its claims are its columns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum StatementVerdict {
    /// All that ran hold, and those with a number are close to it.
    Close,
    /// All that ran hold.
    Holds,
    /// All that ran have the paper's direction.
    Direction,
    /// The columns disagree.
    Mixed,
    /// All that ran are inconclusive.
    Inconclusive,
    /// All that ran say otherwise.
    Differs,
    /// Nothing ran.
    NotRun,
}

impl StatementVerdict {
    /// Every one, the best first.
    pub(crate) const ALL: [Self; 7] = [
        Self::Close,
        Self::Holds,
        Self::Direction,
        Self::Mixed,
        Self::Inconclusive,
        Self::Differs,
        Self::NotRun,
    ];

    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::Holds => "in band",
            Self::Direction => "direction",
            Self::Mixed => "mixed",
            Self::Inconclusive => "inconclusive",
            Self::Differs => "differs",
            Self::NotRun => "not run",
        }
    }

    fn of<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> Self {
        let ran: Vec<&Outcome> = outcomes.filter(|outcome| outcome.verdict != Verdict::NotRun).collect();
        let Some(first) = ran.first() else { return Self::NotRun };
        if ran.iter().any(|outcome| outcome.verdict != first.verdict) {
            return Self::Mixed;
        }
        match first.verdict {
            Verdict::Holds => {
                let close = || ran.iter().filter_map(|outcome| outcome.close);
                if close().next().is_some() && close().all(|close| close) { Self::Close } else { Self::Holds }
            }
            Verdict::Direction => Self::Direction,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Differs => Self::Differs,
            Verdict::NotRun => Self::NotRun,
        }
    }
}

/// A statement and its columns.
pub(crate) struct Judged<'a> {
    pub(crate) statement: &'a Statement,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) verdict: StatementVerdict,
}

/// A claim with its outcome.
pub(crate) struct Column<'a> {
    pub(crate) figure: &'a Figure,
    pub(crate) claim: &'a Claim,
    pub(crate) outcome: &'a Outcome,
}

/// The statements of a paper, in the order of its figures, then those that nothing measures.
pub(crate) fn judged<'a>(paper: &'a Paper, records: &'a [(&'a Figure, Record)]) -> Vec<Judged<'a>> {
    let own = records.iter().filter(|(figure, _)| figure.paper() == paper.folder);
    let mut found: Vec<(&Statement, Vec<Column<'a>>)> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (figure, record) in own {
        for (claim, outcome) in record.of(figure) {
            let Some(statement) = &claim.statement else { continue };
            let place = *places.entry(&statement.id).or_insert_with(|| {
                found.push((statement, Vec::new()));
                found.len() - 1
            });
            found[place].1.push(Column { figure, claim, outcome });
        }
    }
    let measured = found.into_iter().map(|(statement, columns)| Judged {
        verdict: StatementVerdict::of(columns.iter().map(|column| column.outcome)),
        statement,
        columns,
    });
    let unmeasured = paper.unmeasured.iter().map(|statement| Judged {
        statement,
        columns: Vec::new(),
        verdict: StatementVerdict::NotRun,
    });
    measured.chain(unmeasured).collect()
}

impl Judged<'_> {
    /// Whether it can be close: it prints a number or a bound, or says that two things are equal.
    pub(crate) fn can_be_close(&self) -> bool {
        match self.columns.as_slice() {
            [] => self.statement.paper.is_some(),
            columns => columns.iter().any(|column| column.claim.rule.can_be_close()),
        }
    }

    /// How far the columns that differ are from the paper: the largest logarithm of a ratio. What never ends is farthest.
    pub(crate) fn distance(&self) -> f64 {
        let differs = self.columns.iter().filter(|column| column.outcome.verdict == Verdict::Differs);
        differs.map(Column::distance).fold(0.0, f64::max)
    }

    /// The columns that ran.
    pub(crate) fn ran(&self) -> impl Iterator<Item = &Column<'_>> {
        self.columns.iter().filter(|column| column.outcome.verdict != Verdict::NotRun)
    }
}

impl Column<'_> {
    /// The logarithm of the number over the paper's; of an order or a band without a number, over its nearest end.
    fn distance(&self) -> f64 {
        let Some(measured) = self.outcome.measured else { return f64::INFINITY };
        let (low, high) = self.claim.rule.band();
        let paper = self.paper().or(if low.is_some_and(|low| measured < low) { low } else { high });
        match paper {
            Some(paper) if paper > 0.0 && measured > 0.0 => (measured / paper).ln().abs(),
            Some(paper) if paper != measured => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// The paper's number.
    pub(crate) fn paper(&self) -> Option<f64> {
        self.claim.paper_text.or(self.claim.paper_plot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(verdict: Verdict, close: Option<bool>) -> Outcome {
        Outcome {
            id: String::new(),
            statement: None,
            text: String::new(),
            place: String::new(),
            source: None,
            paper_text: None,
            paper_plot: None,
            artifact_rerun: None,
            profile: String::new(),
            seeds: 10,
            measured: None,
            ci_low: None,
            ci_high: None,
            ratio: None,
            low: None,
            high: None,
            verdict,
            close,
            note: String::new(),
        }
    }

    fn verdict(columns: &[(Verdict, Option<bool>)]) -> StatementVerdict {
        let outcomes: Vec<Outcome> =
            columns.iter().map(|(verdict, close)| outcome(*verdict, *close)).collect();
        StatementVerdict::of(outcomes.iter())
    }

    #[test]
    fn columns_that_disagree_are_mixed_and_those_that_did_not_run_say_nothing() {
        let (holds, differs, not_run) = (Verdict::Holds, Verdict::Differs, Verdict::NotRun);
        assert_eq!(verdict(&[(holds, None), (differs, None)]), StatementVerdict::Mixed);
        assert_eq!(verdict(&[(holds, None), (Verdict::Direction, None)]), StatementVerdict::Mixed);
        assert_eq!(verdict(&[(differs, None), (not_run, None)]), StatementVerdict::Differs);
        assert_eq!(verdict(&[(not_run, None)]), StatementVerdict::NotRun);
        assert_eq!(verdict(&[]), StatementVerdict::NotRun);
    }

    #[test]
    fn a_statement_is_close_if_each_of_its_numbers_is() {
        let holds = Verdict::Holds;
        assert_eq!(verdict(&[(holds, Some(true)), (holds, None)]), StatementVerdict::Close);
        assert_eq!(verdict(&[(holds, Some(true)), (holds, Some(false))]), StatementVerdict::Holds);
        assert_eq!(verdict(&[(holds, None)]), StatementVerdict::Holds);
    }
}
