//! The pages of the book that the ledger makes: a table and a plot first, then verdicts, then reasons.

use crate::figure::{Figure, Size, Unit};
use crate::plot::svg;
use crate::record::{Cell, Ledger, Outcome, Record};
use crate::verdict::Verdict;
use std::fmt::Write as _;

/// A page that begins with this was made by a command.
const MADE: &str = "<!-- made: ledger -->";
const END: &str = "<!-- end -->";

/// The files that follow from the ledger, by their path in a checkout; `readme` and `contents` are the texts of `README.md`
/// and `docs/src/SUMMARY.md`, of which a part is made.
#[must_use]
pub fn pages(figures: &[Figure], ledger: &Ledger, readme: &str, contents: &str) -> Vec<(String, String)> {
    let records: Vec<(&Figure, Record)> = figures
        .iter()
        .map(|figure| {
            (figure, ledger.record(&figure.name).cloned().unwrap_or_else(|| Record::of_none(figure)))
        })
        .collect();
    let mut made = vec![
        ("README.md".to_owned(), between(readme, &result_line(&records))),
        ("docs/src/SUMMARY.md".to_owned(), listed(contents, figures)),
        ("docs/src/ledger.md".to_owned(), ledger_page(&records)),
        (
            "docs/ledger.md".to_owned(),
            format!("# The ledger\n\n{} [Claim by claim](src/ledger.md).\n", counted(&records)),
        ),
    ];
    for (figure, record) in &records {
        let picture = svg(figure, record);
        let name = format!("docs/src/figures/{}", figure.slug());
        made.push((format!("{name}.md"), figure_page(figure, record, picture.is_some())));
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

/// The book's contents, and after all else a line a figure, which begins with its paper.
fn listed(contents: &str, figures: &[Figure]) -> String {
    let before = contents.split_once(FIGURES).map_or(contents, |(before, _)| before);
    let mut text = format!("{}\n\n{FIGURES}\n\n", before.trim_end());
    for figure in figures {
        let paper = figure.place.split([',', ':']).next().unwrap_or_default();
        writeln!(text, "- [{paper}: {}](figures/{}.md)", figure.title, figure.slug())
            .expect("text can be written to");
    }
    text
}

/// Whether a claim stands in a paper: the place of the others says that it is a case of ours.
fn is_of_a_paper(claim: &Outcome) -> bool {
    !["not in the paper", "does not give", "beside"].iter().any(|ours| claim.place.contains(ours))
}

/// How many claims of the papers have which verdict, and how many of our own hold, in two sentences.
fn counted(records: &[(&Figure, Record)]) -> String {
    let claims = records.iter().flat_map(|(_, record)| &record.claims);
    let (papers, own): (Vec<_>, Vec<_>) = claims.partition(|claim| is_of_a_paper(claim));
    let count = |claims: &[&Outcome], verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let of = |verdict| count(&papers, verdict);
    format!(
        "Of {} claims of the papers in {} figures, {} hold, {} have the right direction, {} are inconclusive, {} differ and {} are \
         not run. Beside them stand {} of our own, of which {} hold.",
        papers.len(),
        records.len(),
        of(Verdict::Holds),
        of(Verdict::Direction),
        of(Verdict::Inconclusive),
        of(Verdict::Differs),
        of(Verdict::NotRun),
        own.len(),
        count(&own, Verdict::Holds),
    )
}

fn result_line(records: &[(&Figure, Record)]) -> String {
    let shown = records.iter().find(|(figure, record)| figure.name == "uno/fig10" && !record.rows.is_empty());
    let picture = shown.map_or_else(String::new, |(figure, _)| {
        format!("\n[![{}](docs/src/figures/{}.svg)](docs/src/figures/{1}.md)\n", figure.title, figure.slug())
    });
    format!(
        "{} [Claim by claim](docs/src/ledger.md); `farspan reproduce --all` runs them again.\n{picture}",
        counted(records)
    )
}

const RULES: &str = "\
| verdict | when |
|---|---|
| holds | of a printed factor: the median of the ratios paired by seed lies between the factor's square root and its square, and the 95% interval excludes 1; of *equal*: within a tenth, the interval within 0.8 and 1.25; of an order: the interval is above 1; of *outperforms or matches*: above 1, or at least 0.9 with the interval above 0.8; of a band: the whole interval is in it |
| direction | the interval is on the paper's side of 1, the median outside the band; or the paper measured on hardware that is not simulated, and the rule is met |
| inconclusive | the interval contains 1, or reaches over an end of the band |
| differs | the other side |
| not run | fewer than six seeds with a value, or not part of the size that ran |

What never ends counts as infinite. A 99% quantile needs 1,000 flows. Intervals are bootstraps over seeds, of shares of counts
Wilson's. No number of a table is typed in: `farspan reproduce --accept` writes this page, the figures' and `docs/ledger.json`, and a
claim that holds there and no longer does ends `farspan reproduce` with 3.
";

fn ledger_page(records: &[(&Figure, Record)]) -> String {
    let mut text = format!(
        "# The ledger\n\n{}\n\n| figure | size | holds | direction | inconclusive | differs | not run |\n|---|---|---|---|---|---|---|\n",
        counted(records)
    );
    for (figure, record) in records {
        let of = |verdict| record.claims.iter().filter(|claim| claim.verdict == verdict).count().to_string();
        let counts: Vec<String> = Verdict::ALL.into_iter().map(of).collect();
        writeln!(
            text,
            "| [{}](figures/{}.md) | {} | {} |",
            figure.title,
            figure.slug(),
            size(record),
            counts.join(" | ")
        )
        .expect("text can be written to");
    }
    text += &format!("\n{RULES}");
    for (figure, record) in records {
        text += &format!(
            "\n## {}\n\n[`{}`](figures/{}.md), {}.\n\n",
            figure.title,
            figure.name,
            figure.slug(),
            figure.place
        );
        text += &verdicts(record);
    }
    text
}

fn size(record: &Record) -> &'static str {
    if record.rows.is_empty() { "not run" } else { record.size.name() }
}

fn figure_page(figure: &Figure, record: &Record, picture: bool) -> String {
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
    text += &format!("\n## Verdicts\n\n{}", verdicts(record));
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
    let several = figure.cases.len() > 1;
    let mut heading = vec!["scheme".to_owned(), "runs".to_owned()];
    if several {
        heading.insert(0, if figure.axis.is_empty() { "case".to_owned() } else { figure.axis.clone() });
    }
    heading.extend(shown.iter().map(|m| {
        let measure = &figure.measures[*m];
        let unit = measure.unit.name();
        if unit.is_empty() { measure.label.clone() } else { format!("{}, {unit}", measure.label) }
    }));
    let mut text = row(&heading) + &row(&vec!["---".to_owned(); heading.len()]);
    for values in &record.rows {
        let found = (
            figure.cases.iter().position(|case| case.name == values.case),
            figure.arms.iter().position(|arm| arm.name == values.arm),
        );
        let (Some(case), Some(arm)) = found else { continue };
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

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
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

fn verdicts(record: &Record) -> String {
    let heading =
        ["claim", "paper's text", "plot", "its code", "measured, 95% interval", "band", "profile", "verdict"];
    let mut text = row(&heading.map(str::to_owned)) + &row(&vec!["---".to_owned(); heading.len()]);
    for claim in &record.claims {
        let optional = |number: Option<f64>| number.map_or_else(String::new, |number| show(Some(number)));
        let note = if claim.note.is_empty() { String::new() } else { format!(" ({})", claim.note) };
        text += &row(&[
            claim.text.clone() + &note,
            optional(claim.paper_text),
            optional(claim.paper_plot),
            optional(claim.artifact_rerun),
            measured(claim),
            band(claim),
            claim.profile.clone(),
            claim.verdict.name().replace('_', " "),
        ]);
    }
    text
}

fn measured(claim: &Outcome) -> String {
    match claim.verdict {
        Verdict::NotRun => String::new(),
        _ => format!("{} [{}, {}]", show(claim.measured), show(claim.ci_low), show(claim.ci_high)),
    }
}

fn band(claim: &Outcome) -> String {
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
