//! The page of instructions in a bundle.

use super::{Bundle, SCENARIO};
use crate::record::{Outcome, Record};
use std::fmt::Write as _;

/// The page.
pub(super) fn text(bundle: &Bundle, record: &Record) -> String {
    [head(bundle), contents(bundle), steps(bundle), outcome(record), tolerance(bundle)].join("\n")
}

fn head(bundle: &Bundle) -> String {
    let manifest = &bundle.manifest;
    format!(
        "# {}: {}\n\nThis bundle holds a figure of a paper, simulated again by farspan: {}, {}.\n\
         It has {} of size {}.\n",
        manifest.figure,
        manifest.title,
        manifest.figure,
        manifest.place,
        runs(bundle),
        manifest.size.name()
    )
}

/// The number of runs, as a sentence has it.
fn runs(bundle: &Bundle) -> String {
    match bundle.manifest.runs.len() {
        1 => "1 run".to_owned(),
        several => format!("{several} runs"),
    }
}

fn contents(bundle: &Bundle) -> String {
    let slug = bundle.manifest.figure.replace('/', "-");
    format!(
        "## Files\n\n| file | what it holds |\n|---|---|\n\
         | `manifest.json` | the program, the size, the seeds, and each run with its digests and its time |\n\
         | `runs/CASE/ARM/sSEED/scenario.toml` | the scenario of a run, with every default spelled out |\n\
         | `runs/CASE/ARM/sSEED/summary.json` | its results |\n\
         | `runs/CASE/ARM/sSEED/computed.json` | what the figure computes of its samples or flows, if it does |\n\
         | `runs.parquet` | one table over all runs |\n\
         | `claims.json` | each claim with its number, ratio, band and verdict |\n\
         | `{slug}.md`, `{slug}.svg` | the figure's page, and its plot if it has one |\n\
         | `SHA256SUMS` | the checksums of the files |\n\n\
         Two bundles of the same results are equal byte by byte. Bundles of two runs of the same build differ in times and\n\
         memory alone: `wall_time_s`, `setup_time_s`, `run_time_s`, `peak_rss_bytes`, and what is computed from files that\n\
         hold these.\n"
    )
}

fn steps(bundle: &Bundle) -> String {
    let manifest = &bundle.manifest;
    let build = &manifest.build;
    let first = manifest.runs.first().map_or("", |run| &run.folder);
    format!(
        "## Run it again\n\n\
         1. Install farspan {} (commit {}). `farspan --version` prints both.\n   \
         From its source: `git checkout {}`, then `cargo build --release --locked -p farspan-cli --features ledger --bin farspan`.\n   \
         A check needs no network, no GPU and no root.\n\
         2. Run `farspan bundle --check FILE`, where FILE is the archive that holds this page. It does {} again, and compares\n   \
         every number. It took {:.1} s of one core where the bundle was made. More cores share that: `--jobs N`.\n\
         3. It prints `all of it holds`, and ends with 0. It ends with 3 where a number differs, and names it.\n\n\
         One run alone: `farspan run {first}/{SCENARIO} --json`. Its `digest` is that in `manifest.json`.\n",
        build.farspan_version,
        build.commit,
        build.commit,
        runs(bundle),
        manifest.run_time_s,
    )
}

fn outcome(record: &Record) -> String {
    let tables = [("What the paper states", &record.claims), ("Checks of farspan's own", &record.checks)];
    let mut text = "## What must come out\n".to_owned();
    for (title, outcomes) in tables.into_iter().filter(|(_, outcomes)| !outcomes.is_empty()) {
        write!(text, "\n{title}:\n\n| claim | what | measured | ratio to the paper | band | verdict |\n|---|---|---|---|---|---|\n")
            .expect("text can be written to");
        outcomes.iter().for_each(|outcome| text += &row(outcome));
    }
    text
}

fn row(outcome: &Outcome) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    format!(
        "| `{}` | {} | {} | {} | {} to {} | {} |\n",
        outcome.id,
        outcome.text.replace('|', "\\|"),
        number(outcome.measured),
        number(outcome.ratio),
        number(outcome.low),
        number(outcome.high),
        outcome.verdict.name()
    )
}

fn tolerance(bundle: &Bundle) -> String {
    let tolerance = &bundle.manifest.tolerance;
    format!(
        "## Tolerance\n\n- The same build ({}, commit {}): {}.\n- Another build: {}.\n",
        bundle.manifest.build.farspan_version,
        bundle.manifest.build.commit,
        tolerance.same_build,
        tolerance.other_build
    )
}
