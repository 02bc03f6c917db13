//! The pages of the whole ledger: its first screen, a page a paper, and one of our own checks.

use super::cell::{band, interval, number_of, row, rule_of, show, unit};
use super::statement_verdict::{Column, Judged, StatementVerdict, judged};
use crate::figure::{Claim, Figure};
use crate::record::{Outcome, Record};
use crate::statement::{Cause, Paper};
use crate::verdict::Verdict;
use std::collections::{BTreeMap, BTreeSet};

/// Contradictions on the first screen.
const LARGEST: usize = 3;

type Records<'a> = [(&'a Figure, Record)];

/// Every paper with its statements.
pub(crate) fn all<'a>(papers: &'a [Paper], records: &'a Records<'a>) -> Vec<(&'a Paper, Vec<Judged<'a>>)> {
    papers.iter().map(|paper| (paper, judged(paper, records))).collect()
}

fn count(judged: &[Judged<'_>], verdict: StatementVerdict) -> usize {
    judged.iter().filter(|one| one.verdict == verdict).count()
}

/// A row a paper: how many statements stand how. `folder` is where the pages of papers are.
pub(crate) fn counts(all: &[(&Paper, Vec<Judged<'_>>)], folder: &str) -> String {
    let mut heading = vec!["paper".to_owned(), "statements".to_owned()];
    heading.extend(StatementVerdict::ALL.map(|verdict| verdict.name().to_owned()));
    heading.push("headline, paper \u{2192} here".to_owned());
    let mut text = row(&heading) + &rule_of(heading.len());
    for (paper, judged) in all {
        let of = |(label, template): &(String, String)| -> Vec<String> {
            named(judged, std::slice::from_ref(template)).map(|one| headline(label, one)).collect()
        };
        let headline: Vec<String> = paper.headline.iter().flat_map(of).collect();
        let mut cells =
            vec![format!("[{}]({folder}{}.md)", paper.name, paper.folder), judged.len().to_string()];
        cells.extend(StatementVerdict::ALL.map(|verdict| count(judged, verdict).to_string()));
        cells.push(headline.join("; "));
        text += &row(&cells);
    }
    text
}

/// The statements of these templates, in their order.
fn named<'a>(judged: &'a [Judged<'a>], templates: &'a [String]) -> impl Iterator<Item = &'a Judged<'a>> {
    templates.iter().flat_map(|template| judged.iter().filter(move |one| one.statement.template == *template))
}

/// The paper's number as a ratio or in its unit, and the number here.
fn headline(label: &str, one: &Judged<'_>) -> String {
    let paper = spread(one.columns.iter().filter_map(Column::paper));
    match if paper.is_empty() { printed(one) } else { paper } {
        none if none.is_empty() => format!("{label}: {}", found(one)),
        paper => format!("{label}: {paper} \u{2192} {}", found(one)),
    }
}

/// Ours beside a printed number; how the statement stands where it has none, or none of ours.
fn found(one: &Judged<'_>) -> String {
    match (one.ran().next(), one.can_be_close()) {
        (Some(_), true) => spread(one.ran().map(|column| column.outcome.measured.unwrap_or(f64::INFINITY))),
        _ => one.verdict.name().to_owned(),
    }
}

/// How many statements there are, and how many of those that can are close, in a sentence.
pub(crate) fn sentence(all: &[(&Paper, Vec<Judged<'_>>)]) -> String {
    let every = || all.iter().flat_map(|(_, judged)| judged);
    let numbers = every().filter(|one| one.can_be_close()).count();
    let of = |verdict| every().filter(|one| one.verdict == verdict).count();
    let close = of(StatementVerdict::Close);
    let contradicted = every()
        .filter(|one| one.verdict == StatementVerdict::Mixed)
        .filter(|one| one.ran().any(|column| column.outcome.verdict == Verdict::Differs))
        .count();
    let share = (100 * close + numbers / 2).checked_div(numbers).unwrap_or_default();
    format!(
        "The papers make {} statements about results. {numbers} of them give a number, or say that two things are equal. We \
         come close for {close} of those ({share}%). Our runs contradict {} of all statements. For {} more, what we measured \
         disagrees by profile, rival, load or measure, and in {contradicted} of these a part contradicts the paper. We have not tested {}.",
        every().count(),
        of(StatementVerdict::Differs),
        of(StatementVerdict::Mixed),
        of(StatementVerdict::NotRun),
    )
}

pub(crate) fn first_screen(all: &[(&Paper, Vec<Judged<'_>>)]) -> String {
    let mut text = format!("# The ledger\n\n{}\n\n{}", sentence(all), counts(all, "papers/"));
    let mut differing: Vec<(&Paper, &Judged<'_>)> = all
        .iter()
        .flat_map(|(paper, judged)| judged.iter().map(move |one| (*paper, one)))
        .filter(|(_, one)| one.verdict == StatementVerdict::Differs)
        .collect();
    differing.sort_by(|a, b| b.1.distance().total_cmp(&a.1.distance()));
    // Statements of one figure often differ for one reason.
    let mut figures = BTreeSet::new();
    differing.retain(|(_, one)| figures.insert(one.columns.first().map(|column| &column.figure.name)));
    text += "\n**The largest contradictions**, of statements all of whose columns differ, at most one of each figure\n\n";
    let heading = ["paper", "it states", "printed", "measured", "why"].map(str::to_owned);
    text += &(row(&heading) + &rule_of(heading.len()));
    for (paper, one) in differing.into_iter().take(LARGEST) {
        let why = why(one);
        let line = why.split_once(". ").map_or_else(|| why.clone(), |(first, _)| format!("{first}."));
        let cells = [paper.name.clone(), linked(one, "figures/"), printed(one), measured(one), line];
        text += &row(&cells);
    }
    text += "\n[How a verdict is made](verdicts.md). [Our own checks](own-checks.md), which are not counted here. Each paper's page has \
             its most quoted statements, and what differs. `farspan reproduce --all` runs them again.\n";
    text
}

/// How verdicts are made.
pub(crate) const RULES: &str = "\
# How a verdict is made

A statement is a sentence of a paper about a result, in our words. Its columns are the claims that measure it: profiles, ports that drop or trim, sizes. A
statement without a column, or whose columns did not run, is *not run*, and stays in every count.

| statement | when |
|---|---|
| close | each column that ran holds, and each number is near: the logarithm of a factor within a quarter of itself, an absolute number within 25%, *equal* within 5%; a printed bound is met |
| in band | each column that ran holds, and a number is not near, or there is none |
| direction, inconclusive, differs | each column that ran has this verdict |
| mixed | columns disagree |

A column has an interval, and its rule says what that means.

| verdict of a column | when |
|---|---|
| holds | of a printed factor: the median of the ratios paired by seed lies between the factor's square root and its square, and the 95% interval excludes 1; of an absolute number: the whole interval is within 25% of it; of a printed bound: the whole interval is on its side; of *equal*: within a tenth, the interval within 0.8 and 1.25; of an order without a number: the interval is above 1; of *outperforms or matches*: above 1, or at least 0.9 with the interval above 0.8; of a word, or of a band: the whole interval is in it |
| direction | of a printed factor: the interval is on the paper's side of 1, the median outside the band; of a printed bound: the interval is on the paper's side of 1, and not wholly beyond the bound; of a word that asks for a difference, the first two below: the interval is beyond 1.02, or below 1 / 1.02, and not wholly beyond the word's bound; or the paper measured on hardware that is not simulated, and the rule is met |
| inconclusive | of a printed factor or an order: the interval contains 1; else: it reaches over an end of the band, and there is no direction |
| differs | the other side; of a printed bound: the whole interval beyond it, and not on the paper's side of 1; of a word or a band: the whole interval is outside it, and there is no direction |
| not run | fewer than six seeds with a value, or not part of the size that ran |

A printed percentage becomes a factor by the paper's verb: x% lower, faster or better of a time is 1 / (1 - x), x% higher, more or longer is 1 + x. Growth is the
slope of logarithms: 1 is linear. `ratio` is the measured number over the paper's.

A word is a number, too, and the same one in each paper. Each row says which it takes.

| the paper says | we take |
|---|---|
| clearly, much, significantly | at least 1.25 times |
| far better, drastically, vastly | at least 1.5 times |
| slightly, a little | at most 1.25 times |
| near the ideal | at most a tenth above it |
| no difference, or none worth a word | at most 1.02 times |
| fair | Jain's index of at least 0.95 |

What does not hold has a probable cause. *Ours* is our model or our setting. *Our reading* is what the paper leaves open. *The paper's own* is that its text, figures or
code disagree.

A flow that never ends has an infinite completion time. A 99% quantile needs 1,000 flows. Intervals are bootstraps over seeds, of shares of counts
Wilson's. Each size has a record of its own; pages show the largest. No number of a table is typed in: `farspan reproduce --accept` writes these
pages and `docs/ledger.json`. A claim or check that holds there and no longer does at the same size ends `farspan reproduce` with 3.
";

/// A statement, with a link to its first figure.
fn linked(one: &Judged<'_>, folder: &str) -> String {
    match one.columns.first() {
        Some(column) => format!("[{}]({folder}{}.md)", one.statement.text, column.figure.slug()),
        None => one.statement.text.clone(),
    }
}

/// The printed numbers of the columns, each once, and the ratios that they say; of a statement without one those of the plot.
fn printed(one: &Judged<'_>) -> String {
    let own = || one.columns.iter().filter_map(|column| column.claim.statement.as_ref()?.paper.as_deref());
    let mut distinct: Vec<&str> = Vec::new();
    for number in own().chain(one.statement.paper.as_deref()) {
        if !distinct.contains(&number) {
            distinct.push(number);
        }
    }
    let numbers = spread(one.columns.iter().filter_map(Column::paper));
    let is_ratio = one.columns.iter().any(|column| column.claim.terms[0].over.is_some());
    match distinct.join(", ") {
        none if none.is_empty() => numbers,
        printed if is_ratio && !numbers.is_empty() && printed.trim_end_matches('x') != numbers => {
            format!("{printed} ({numbers})")
        }
        printed => printed,
    }
}

/// The numbers of the columns that ran: one, or the least and the largest of each unit.
fn measured(one: &Judged<'_>) -> String {
    let mut only = one.ran();
    match (only.next(), only.next()) {
        (Some(column), None) => interval(column.figure, column.claim, column.outcome),
        _ => {
            let mut by_unit: BTreeMap<String, Vec<&Column<'_>>> = BTreeMap::new();
            for column in one.ran() {
                by_unit.entry(unit(column.figure, column.claim)).or_default().push(column);
            }
            let spreads = by_unit.into_iter().map(|(unit, columns)| {
                let number = |column: &Column<'_>| {
                    let measured = column.outcome.measured;
                    let text = number_of(column.figure, column.claim, column.outcome, measured);
                    (measured.unwrap_or(f64::INFINITY), text)
                };
                least_to_most(columns.into_iter().map(number).collect()) + &unit
            });
            spreads.collect::<Vec<_>>().join(", ")
        }
    }
}

fn spread(numbers: impl Iterator<Item = f64>) -> String {
    least_to_most(numbers.map(|x| (x, show(x.is_finite().then_some(x)))).collect())
}

/// The least and the largest of numbers, as they are shown; one where they look alike.
fn least_to_most(mut numbers: Vec<(f64, String)>) -> String {
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ends = [numbers.first(), numbers.last()].into_iter().flatten();
    let mut ends: Vec<&str> = ends.map(|(_, text)| text.as_str()).collect();
    ends.dedup();
    ends.join(" to ")
}

fn ratio(one: &Judged<'_>) -> String {
    spread(one.ran().filter_map(|column| column.outcome.ratio))
}

/// How it stands, and how many of its columns ran if not all did.
fn verdict(one: &Judged<'_>) -> String {
    let (ran, all) = (one.ran().count(), one.columns.len());
    match one.verdict {
        StatementVerdict::NotRun => StatementVerdict::NotRun.name().to_owned(),
        verdict if ran == all => verdict.name().to_owned(),
        verdict => format!("{} ({ran} of {all} columns ran)", verdict.name()),
    }
}

fn why(one: &Judged<'_>) -> String {
    let not_run = || one.statement.not_run.clone();
    one.statement.why.clone().or_else(not_run).unwrap_or_default()
}

const fn cause(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::Ours) => "ours",
        Some(Cause::Reading) => "our reading",
        Some(Cause::Paper) => "the paper's own",
        None => "not found",
    }
}

/// The statements of a paper: the most quoted, and those that do not hold. Those that are mixed or not run have a page each.
pub(crate) fn paper_page(paper: &Paper, judged: &[Judged<'_>]) -> String {
    let counted: Vec<String> = StatementVerdict::ALL
        .into_iter()
        .map(|verdict| {
            let name = match page_of(verdict) {
                Some(end) => format!("[{}]({}-{end}.md)", verdict.name(), paper.folder),
                None => verdict.name().to_owned(),
            };
            format!("{} {name}", count(judged, verdict))
        })
        .collect();
    let mut text = format!(
        "# {}\n\n{}, *{}*. {} statements about results: {}. [How a verdict is made](../verdicts.md).\n\n## Most quoted\n\n",
        paper.name,
        paper.authors,
        paper.title,
        judged.len(),
        counted.join(", "),
    );
    let heading = ["it states", "place", "printed", "measured", "ratio", "verdict", "why"].map(str::to_owned);
    text += &(row(&heading) + &rule_of(heading.len()));
    for one in named(judged, &paper.quoted) {
        text += &row(&[
            linked(one, "../figures/"),
            one.statement.place.clone(),
            printed(one),
            measured(one),
            ratio(one),
            verdict(one),
            why(one),
        ]);
    }
    for (verdict, heading) in [
        (StatementVerdict::Differs, "What differs"),
        (StatementVerdict::Inconclusive, "What is inconclusive"),
    ] {
        let those = by_cause(judged, verdict);
        if !those.is_empty() {
            text += &format!("\n## {heading}\n\n{}", causes(&those));
        }
    }
    text
}

/// The end of the name of the page that lists these; none of those that stand elsewhere.
const fn page_of(verdict: StatementVerdict) -> Option<&'static str> {
    match verdict {
        StatementVerdict::Mixed => Some("mixed"),
        StatementVerdict::NotRun => Some("not-run"),
        _ => None,
    }
}

/// The statements of a paper whose columns disagree, by cause.
pub(crate) fn mixed_page(paper: &Paper, judged: &[Judged<'_>]) -> String {
    let those = by_cause(judged, StatementVerdict::Mixed);
    format!(
        "# {}: where columns disagree\n\nThe columns of these {} statements have different verdicts: [the paper]({}.md).\n\n{}",
        paper.name,
        those.len(),
        paper.folder,
        causes(&those)
    )
}

fn by_cause<'a>(judged: &'a [Judged<'a>], verdict: StatementVerdict) -> Vec<&'a Judged<'a>> {
    let mut those: Vec<&Judged<'_>> = judged.iter().filter(|one| one.verdict == verdict).collect();
    those.sort_by_key(|one| (one.statement.cause.is_none(), one.statement.cause));
    those
}

fn causes(those: &[&Judged<'_>]) -> String {
    let heading = ["it states", "printed", "measured", "cause", "why"].map(str::to_owned);
    let mut text = row(&heading) + &rule_of(heading.len());
    for one in those {
        let cells = [
            linked(one, "../figures/"),
            printed(one),
            measured(one),
            cause(one.statement.cause).to_owned(),
            why(one),
        ];
        text += &row(&cells);
    }
    text
}

/// The statements of a paper that nothing measures, or that were not run.
pub(crate) fn not_run_page(paper: &Paper, judged: &[Judged<'_>]) -> String {
    let those: Vec<&Judged<'_>> =
        judged.iter().filter(|one| one.verdict == StatementVerdict::NotRun).collect();
    let mut text = format!(
        "# {}: not run\n\n{} statements of [the paper]({}.md).\n\n",
        paper.name,
        those.len(),
        paper.folder
    );
    let heading = ["it states", "place", "why"].map(str::to_owned);
    text += &(row(&heading) + &rule_of(heading.len()));
    for one in those {
        let reason = match one.columns.first() {
            Some(column) if why(one).is_empty() => column.outcome.note.clone(),
            _ => why(one),
        };
        text += &row(&[linked(one, "../figures/"), one.statement.place.clone(), reason]);
    }
    text
}

/// Our own checks: how many of each figure hold, and each that does not.
pub(crate) fn checks_page(records: &Records<'_>) -> String {
    let of = |record: &Record, verdict| record.checks.iter().filter(|check| check.verdict == verdict).count();
    let total: usize = records.iter().map(|(_, record)| record.checks.len()).sum();
    let holding: usize = records.iter().map(|(_, record)| of(record, Verdict::Holds)).sum();
    let mut text = format!(
        "# Our own checks\n\nNo paper states these: cases beside a figure, bounds, ablations. {holding} of {total} hold. \
         `farspan reproduce --all --checks` runs them and nothing else.\n\n"
    );
    let mut heading = vec!["figure".to_owned()];
    heading.extend(Verdict::ALL.map(|verdict| verdict.name().replace('_', " ")));
    text += &(row(&heading) + &rule_of(heading.len()));
    for (figure, record) in records.iter().filter(|(_, record)| !record.checks.is_empty()) {
        let mut cells = vec![format!("[{}: {}](figures/{}.md)", figure.paper(), figure.title, figure.slug())];
        cells.extend(Verdict::ALL.map(|verdict| of(record, verdict).to_string()));
        text += &row(&cells);
    }
    let failing: Vec<(&Figure, &Claim, &Outcome)> = records
        .iter()
        .flat_map(|(figure, record)| record.of(figure).map(|(claim, check)| (*figure, claim, check)))
        .filter(|(_, claim, _)| claim.statement.is_none())
        .filter(|(.., check)| !matches!(check.verdict, Verdict::Holds | Verdict::NotRun))
        .collect();
    if !failing.is_empty() {
        text += "\n## Those that do not hold\n\n";
        let heading = ["figure", "check", "measured, 95% interval", "band", "verdict"].map(str::to_owned);
        text += &(row(&heading) + &rule_of(heading.len()));
        for (figure, claim, check) in failing {
            text += &row(&[
                format!("[{}](figures/{}.md)", figure.name, figure.slug()),
                check.text.clone(),
                interval(figure, claim, check),
                band(check),
                check.verdict.name().to_owned(),
            ]);
        }
    }
    text
}
