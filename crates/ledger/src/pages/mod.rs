//! The pages of the book that the ledger makes. That of a figure: a table and a plot first, then verdicts, then reasons.

mod cell;
mod ledger_page;
mod plot;
mod statement_verdict;
pub(crate) mod template;

pub use plot::svg;

use crate::figure::{Figure, Measure, Size};
use crate::record::{Cell, Ledger, Outcome, Record, Row};
use crate::statement::Paper;
use cell::{band, interval, row, rule_of, show};
use statement_verdict::Judged;
use std::fmt::Write as _;
use template::filled;

/// A page that begins with this was made by a command.
const MADE: &str = "<!-- made: ledger -->";
const END: &str = "<!-- end -->";

/// Texts of a checkout of which a part is made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts {
    /// `README.md`.
    pub readme: String,
    /// `docs/src/introduction.md`.
    pub introduction: String,
    /// `docs/src/SUMMARY.md`.
    pub contents: String,
}

/// The files that follow from the ledger, by their path in a checkout.
#[must_use]
pub fn pages(figures: &[Figure], papers: &[Paper], ledger: &Ledger, texts: &Texts) -> Vec<(String, String)> {
    let figures = filled(figures, ledger);
    let records: Vec<(&Figure, Record)> = figures
        .iter()
        .map(|figure| {
            let record = ledger.record(&figure.name).cloned();
            (figure, record.map_or_else(|| Record::of_none(figure), |record| record.completed(figure)))
        })
        .collect();
    let all = ledger_page::all(papers, &records);
    let mut made = vec![
        ("README.md".to_owned(), between(&texts.readme, &result_line(&all, &records))),
        ("docs/src/introduction.md".to_owned(), between(&texts.introduction, &introduction(&all))),
        ("docs/src/SUMMARY.md".to_owned(), listed(&texts.contents, &figures, papers)),
        ("docs/src/ledger.md".to_owned(), ledger_page::first_screen(&all)),
        ("docs/src/verdicts.md".to_owned(), ledger_page::RULES.to_owned()),
        ("docs/src/own-checks.md".to_owned(), ledger_page::checks_page(&records)),
        (
            "docs/ledger.md".to_owned(),
            format!("# The ledger\n\n{} [Paper by paper](src/ledger.md).\n", ledger_page::sentence(&all)),
        ),
    ];
    for (paper, judged) in &all {
        let name = |end: &str| format!("docs/src/papers/{}{end}.md", paper.folder);
        made.push((name(""), ledger_page::paper_page(paper, judged)));
        made.push((name("-mixed"), ledger_page::mixed_page(paper, judged)));
        made.push((name("-not-run"), ledger_page::not_run_page(paper, judged)));
    }
    for (figure, record) in &records {
        let picture = svg(figure, record);
        let name = format!("docs/src/figures/{}", figure.slug());
        made.push((format!("{name}.md"), figure_page(figure, record, ledger, picture.is_some())));
        made.extend(picture.map(|picture| (format!("{name}.svg"), picture)));
    }
    made
}

/// `text` with what stands between the marks replaced.
fn between(text: &str, part: &str) -> String {
    let Some((before, rest)) = text.split_once(MADE) else { return text.to_owned() };
    let after = rest.split_once(END).map_or("", |(_, after)| after);
    format!("{before}{MADE}\n\n{part}\n{END}{after}")
}

/// The heading of the book's last part.
const FIGURES: &str = "# Figures";
/// The line of the book's contents under which the papers stand.
const LEDGER: &str = "(ledger.md)\n";

/// The book's contents: the papers under the ledger, and after all else a line a figure, which begins with its paper.
fn listed(contents: &str, figures: &[Figure], papers: &[Paper]) -> String {
    let before = contents.split_once(FIGURES).map_or(contents, |(before, _)| before);
    let mut text = format!("{}\n\n{FIGURES}\n\n", before.trim_end());
    if let Some((head, rest)) = text.split_once(LEDGER) {
        // The lines that were made before are those indented under it.
        let kept: Vec<&str> = rest.lines().skip_while(|line| line.starts_with("  ")).collect();
        let lines = |paper: &Paper| {
            let page = format!("papers/{}", paper.folder);
            [
                format!("  - [{}]({page}.md)", paper.name),
                format!("    - [Where columns disagree]({page}-mixed.md)"),
                format!("    - [Not run]({page}-not-run.md)"),
            ]
        };
        let mut own: Vec<String> = papers.iter().flat_map(lines).collect();
        own.push("  - [How a verdict is made](verdicts.md)".to_owned());
        own.push("  - [Our own checks](own-checks.md)".to_owned());
        text = format!("{head}{LEDGER}{}\n{}\n", own.join("\n"), kept.join("\n"));
    }
    for figure in figures {
        let paper = figure.place.split([',', ':']).next().unwrap_or_default();
        writeln!(text, "- [{paper}: {}](figures/{}.md)", figure.title, figure.slug())
            .expect("text can be written to");
    }
    text
}

fn introduction(all: &[(&Paper, Vec<Judged<'_>>)]) -> String {
    format!(
        "{} [The ledger](ledger.md) lists them, and [How a verdict is made](verdicts.md) explains the columns.\n\n{}",
        ledger_page::sentence(all),
        ledger_page::counts(all, "papers/")
    )
}

fn result_line(all: &[(&Paper, Vec<Judged<'_>>)], records: &[(&Figure, Record)]) -> String {
    let shown = records.iter().find(|(figure, record)| figure.name == "uno/fig10" && !record.rows.is_empty());
    let picture = shown.map_or_else(String::new, |(figure, _)| {
        format!("\n[![{}](docs/src/figures/{}.svg)](docs/src/figures/{1}.md)\n", figure.title, figure.slug())
    });
    format!(
        "{} [The ledger](docs/src/ledger.md) lists them, and [How a verdict is made](docs/src/verdicts.md) explains the columns. `farspan \
         reproduce --all` runs the experiments again.\n\n{}{picture}",
        ledger_page::sentence(all),
        ledger_page::counts(all, "docs/src/papers/"),
    )
}

fn figure_page(figure: &Figure, record: &Record, ledger: &Ledger, picture: bool) -> String {
    let size = if record.rows.is_empty() { Size::Small } else { record.size };
    let mut text = format!(
        "# {}\n\n{}. `farspan reproduce {} --size {}`",
        figure.title,
        figure.place,
        figure.name,
        size.name()
    );
    text += match record.rows.is_empty() {
        true => " has not been run yet.\n",
        false => ": medians over seeds, in brackets the range, then what the paper prints.\n",
    };
    if picture {
        text += &format!("\n![{}: measured and printed]({}.svg)\n", figure.title, figure.slug());
    }
    if !record.rows.is_empty() {
        text += &format!("\n{}", table(figure, record));
    }
    if !record.claims.is_empty() {
        text += &format!("\n## What the paper states\n\n{}", statements(figure, record));
    }
    if !record.checks.is_empty() {
        text += &format!("\n## Our own checks\n\n{}", checks(figure, record));
    }
    let changed: String = ledger.of(&figure.name).iter().map(|record| ablations(figure, record)).collect();
    if !changed.is_empty() {
        text += &format!(
            "\n## One change at a time\n\nMedians over seeds, in brackets without the change.\n{changed}"
        );
    }
    if !figure.why.trim().is_empty() {
        text += &format!("\n## Why\n\n{}\n", figure.why.trim());
    }
    text
}

fn table(figure: &Figure, record: &Record) -> String {
    let shown: Vec<usize> = (0..figure.measures.len())
        .filter(|m| figure.measures[*m].table)
        .filter(|m| record.rows.iter().any(|row| row.values.contains_key(&figure.measures[*m].name)))
        .collect();
    let several = figure.cases.iter().filter(|case| case.ablates.is_none()).count() > 1;
    let mut heading = vec!["scheme".to_owned(), "runs".to_owned()];
    if several {
        heading.insert(0, if figure.axis.is_empty() { "case".to_owned() } else { figure.axis.clone() });
    }
    heading.extend(shown.iter().map(|m| headed(&figure.measures[*m])));
    let mut text = row(&heading) + &rule_of(heading.len());
    for values in &record.rows {
        let found = (
            figure.cases.iter().position(|case| case.name == values.case),
            figure.arms.iter().position(|arm| arm.name == values.arm),
        );
        let (Some(case), Some(arm)) = found else { continue };
        if figure.cases[case].ablates.is_some() {
            continue;
        }
        let mut cells = vec![format!("`{}`", figure.arms[arm].scheme), values.runs.to_string()];
        if figure.arms[arm].label != figure.arms[arm].scheme {
            cells[0] = figure.arms[arm].label.clone();
        }
        if several {
            cells.insert(0, figure.cases[case].label.clone());
        }
        cells.extend(shown.iter().map(|m| {
            let cell = values.values.get(&figure.measures[*m].name);
            number(cell, values.runs, figure.printed(case, arm, *m))
        }));
        text += &row(&cells);
    }
    text
}

/// A table of one change of a case each, of the size's ablations; empty if it has none.
fn ablations(figure: &Figure, record: &Record) -> String {
    let row_of = |case: &str, arm: &str| {
        record.rows.iter().find(|row| (row.case.as_str(), row.arm.as_str()) == (case, arm))
    };
    let mut found: Vec<(String, &Row, &Row)> = Vec::new();
    for case in &figure.cases {
        let Some(base) = case.ablates.map(|base| &figure.cases[base]) else { continue };
        for arm in case.arms.iter().map(|arm| &figure.arms[*arm]) {
            let (Some(with), Some(without)) = (row_of(&case.name, &arm.name), row_of(&base.name, &arm.name))
            else {
                continue;
            };
            found.push((format!("{} | {} | {}", case.label, base.label, arm.label), with, without));
        }
    }
    let shown = |measure: &&Measure| {
        measure.table && found.iter().any(|(_, with, _)| with.values.contains_key(&measure.name))
    };
    let shown: Vec<&Measure> = figure.measures.iter().filter(shown).collect();
    if found.is_empty() {
        return String::new();
    }
    let mut heading = ["of", "scheme", "runs"].map(str::to_owned).to_vec();
    heading.insert(0, format!("change, size {}", record.size.name()));
    heading.extend(shown.iter().map(|measure| headed(measure)));
    let mut text = format!("\n{}{}", row(&heading), rule_of(heading.len()));
    for (what, with, without) in found {
        let median =
            |row: &Row, measure: &Measure| row.values.get(&measure.name).map(|cell| show(cell.median));
        let mut cells = vec![what, format!("{} ({})", with.runs, without.runs)];
        cells.extend(shown.iter().map(|measure| match (median(with, measure), median(without, measure)) {
            (Some(with), Some(without)) => format!("{with} ({without})"),
            (with, _) => with.unwrap_or_else(|| "-".to_owned()),
        }));
        text += &row(&cells);
    }
    text
}

/// A measure's label with its unit.
fn headed(measure: &Measure) -> String {
    match measure.unit.name() {
        "" => measure.label.clone(),
        unit => format!("{}, {unit}", measure.label),
    }
}

/// Median, range, seeds if not all have a value, and what is printed.
fn number(cell: Option<&Cell>, runs: usize, printed: Option<f64>) -> String {
    let mut text = cell.map_or_else(
        || "-".to_owned(),
        |cell| {
            let (median, min, max) = (show(cell.median), show(cell.min), show(cell.max));
            let range = if min == max { median } else { format!("{median} ({min} to {max})") };
            let of =
                if cell.seeds == runs as u64 { String::new() } else { format!(" [{} seeds]", cell.seeds) };
            range + &of
        },
    );
    if let Some(printed) = printed {
        write!(text, "; paper {}", show(Some(printed))).expect("text can be written to");
    }
    text
}

/// The claims by statement: what it says in the first row of each, and where.
fn statements(figure: &Figure, record: &Record) -> String {
    let heading = [
        "the paper states",
        "measured here",
        "printed",
        "its code",
        "median, 95% interval",
        "ratio",
        "band",
        "profile",
        "verdict",
    ];
    let mut text = row(&heading.map(str::to_owned)) + &rule_of(heading.len());
    let mut last = "";
    for (claim, outcome) in record.of(figure) {
        let Some(statement) = &claim.statement else { continue };
        let said = if last == statement.id {
            String::new()
        } else {
            format!("{} ({})", statement.text, statement.place)
        };
        last = &statement.id;
        let number =
            claim.paper_text.or(claim.paper_plot).map_or_else(String::new, |number| show(Some(number)));
        let printed = match &statement.paper {
            Some(printed) if *printed != number => format!("{printed}: {number}"),
            _ => number,
        };
        let optional = |number: Option<f64>| number.map_or_else(String::new, |number| show(Some(number)));
        let verdict = match outcome.close {
            Some(true) => "close".to_owned(),
            _ => outcome.verdict.name().replace('_', " "),
        };
        text += &row(&[
            said,
            noted(outcome),
            printed,
            optional(outcome.artifact_rerun),
            interval(figure, claim, outcome),
            optional(outcome.ratio),
            band(outcome),
            outcome.profile.clone(),
            verdict,
        ]);
    }
    text
}

fn checks(figure: &Figure, record: &Record) -> String {
    let heading = ["check", "median, 95% interval", "band", "profile", "verdict"];
    let mut text = row(&heading.map(str::to_owned)) + &rule_of(heading.len());
    for (claim, check) in record.of(figure).filter(|(claim, _)| claim.statement.is_none()) {
        text += &row(&[
            noted(check),
            interval(figure, claim, check),
            band(check),
            check.profile.clone(),
            check.verdict.name().replace('_', " "),
        ]);
    }
    text
}

fn noted(outcome: &Outcome) -> String {
    let note = if outcome.note.is_empty() { String::new() } else { format!(" ({})", outcome.note) };
    outcome.text.clone() + &note
}
