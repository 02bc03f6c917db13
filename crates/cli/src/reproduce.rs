//! `farspan reproduce`.

use crate::figure_runs::{RunningArgs, failed as runs_failed, points, run_points, size};
use crate::{Failure, Itself};
use clap::Args;
use farspan_ledger::{
    Figure, FigureError, Ledger, Outcome, Paper, Record, Run, SelectionError, Size, Texts, Verdict, figures,
    pages, papers, select,
};
use farspan_sweep::{Finished, Program, Store};
use farspan_terminal::format::Table;
use farspan_terminal::output;
use farspan_world::clock::now;
use farspan_world::write;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
pub struct ReproduceArgs {
    /// A figure (`farspan list figures`), or a paper for all its figures
    #[arg(value_name = "PAPER/FIGURE")]
    pub figure: Option<String>,
    /// Every figure
    #[arg(long, conflicts_with = "figure")]
    pub all: bool,
    /// How much to run: smoke (seconds, no verdicts), small (minutes) or full (as the papers)
    #[arg(long, value_name = "SIZE", default_value = "small", value_parser = size)]
    pub size: Size,
    /// Folder for the runs, and a page and a plot per figure
    #[arg(short, long, alias = "output", value_name = "DIR", default_value = "out/reproduce")]
    pub out: PathBuf,
    /// Run only the simulations that our own checks need
    #[arg(long, conflicts_with_all = ["accept", "pages"])]
    pub checks: bool,
    /// Skip runs that are already complete
    #[arg(long)]
    pub resume: bool,
    /// With --resume: the farspan program that runs the simulations and made the complete ones. This build computes the
    /// verdicts [default: this program]
    #[arg(long, value_name = "FILE", requires = "resume")]
    pub program: Option<PathBuf>,
    /// Write the verdicts into ledger.json in this folder of a checkout, and update the pages made from it [default: docs]
    #[arg(long, value_name = "DOCS", num_args = 0..=1, require_equals = true, default_missing_value = "docs")]
    pub accept: Option<PathBuf>,
    /// Run nothing. Print the pages made from ledger.json in this folder of a checkout, by path [default: docs]
    #[arg(long, value_name = "DOCS", num_args = 0..=1, require_equals = true, default_missing_value = "docs", conflicts_with_all = ["all", "figure", "accept"])]
    pub pages: Option<PathBuf>,
    /// How the runs are executed and reported.
    #[command(flatten)]
    pub running: RunningArgs,
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        Self::BadInput(error.to_string())
    }
}

impl From<FigureError> for Failure {
    fn from(error: FigureError) -> Self {
        Self::BadInput(error.to_string())
    }
}

/// Runs what figures need, and says of each claim whether it holds.
pub fn reproduce(args: &ReproduceArgs, itself: &Itself<'_>) -> Result<(), Failure> {
    if let Some(docs) = &args.pages {
        let checkout = Checkout::open(docs)?;
        output::json(&Value::Object(
            checkout.pages(&figures()?, &papers()?).map(|(path, text)| (path, text.into())).collect(),
        ));
        return Ok(());
    }
    if args.figure.is_none() && !args.all {
        let cure = "name a figure or a paper (`farspan list figures`), or give --all";
        return Err(Failure::BadInput(format!("nothing to reproduce: {cure}")));
    }
    if args.accept.is_some() && args.size == Size::Smoke {
        return Err(Failure::BadInput(
            "--accept: smoke size has no verdicts: give --size small or full".to_owned(),
        ));
    }
    let checkout = args.accept.as_deref().map(Checkout::open).transpose()?;
    let mut chosen = args.figure.as_deref().map_or_else(|| Ok(figures()?), select)?;
    if args.checks {
        chosen.iter_mut().for_each(Figure::keep_checks);
        chosen.retain(|figure| !figure.claims.is_empty());
        if chosen.is_empty() {
            let problem =
                format!("--checks: {} has no checks of our own", args.figure.as_deref().unwrap_or_default());
            return Err(Failure::BadInput(format!("{problem}: leave --checks out, or name another figure")));
        }
    }
    let began = now();
    let finished = run(args, itself, &chosen)?;
    let seconds = began.elapsed().as_secs_f64();
    let records: Vec<Record> = finished.iter().map(|done| done.record.clone()).collect();
    if !args.checks {
        keep_pages(&args.out, &chosen, &records)?;
    }
    show(args, &finished, seconds);
    if let Some(error) = finished.iter().find_map(|done| done.error.as_ref()) {
        let failed: usize = finished.iter().map(|done| done.failed).sum();
        return Err(runs_failed(failed, error));
    }
    match checkout {
        Some(checkout) => checkout.accept(records),
        None => hold(&Ledger::committed(), &records),
    }
}

/// The results of a figure.
struct Reproduced {
    record: Record,
    /// The time that its runs took, one after another, whenever that was.
    run_time_s: f64,
    failed: usize,
    error: Option<String>,
}

/// Runs all figures as one sweep: what several need runs once.
fn run(args: &ReproduceArgs, itself: &Itself<'_>, chosen: &[Figure]) -> Result<Vec<Reproduced>, Failure> {
    let plans: Vec<Vec<Run>> = chosen.iter().map(|figure| figure.plan(args.size)).collect();
    let mut all = Vec::new();
    for (figure, plan) in chosen.iter().zip(&plans) {
        all.extend(points(figure, plan)?);
    }
    let program = match &args.program {
        Some(file) => {
            let found = file.canonicalize().map_err(|error| {
                let cure = "give the farspan that made the runs";
                Failure::BadInput(format!("--program {}: {error}: {cure}", file.display()))
            })?;
            Program::new(vec![found.clone().into()], &[&found])?
        }
        None => Program::new(itself.words.to_vec(), &[itself.code])?,
    };
    let store = Store::open(&args.out, &program)?;
    let finished = run_points(&all, &store, args.size, args.resume, &args.running)?;
    let mut first = 0;
    let evaluate = |(figure, plan): (&Figure, &Vec<Run>)| {
        let done = done(figure, args.size, plan, first, &finished);
        first += plan.len();
        done
    };
    Ok(chosen.iter().zip(&plans).map(evaluate).collect())
}

/// Evaluates a figure, whose runs are the points from `first` on.
fn done(figure: &Figure, size: Size, plan: &[Run], first: usize, finished: &[Finished]) -> Reproduced {
    let own = finished.iter().filter_map(|done| Some((plan.get(done.point.checked_sub(first)?)?, done)));
    let (mut documents, mut errors): (Vec<(&Run, Value)>, Vec<String>) = (Vec::new(), Vec::new());
    for (run, done) in own {
        let complete = |mut document: Value| {
            let completed = figure.complete(&mut document, &done.folder);
            completed.map(|()| document).map_err(|error| error.to_string())
        };
        match done.result.clone().and_then(complete) {
            Ok(document) => documents.push((run, document)),
            Err(error) => errors.push(error),
        }
    }
    let wall_time = |document: &Value| document["wall_time_s"].as_f64().unwrap_or_default();
    let run_time_s = documents.iter().map(|(_, document)| wall_time(document)).sum();
    let documents: Vec<(&Run, &Value)> = documents.iter().map(|(run, document)| (*run, document)).collect();
    Reproduced {
        record: figure.evaluate(size, &documents),
        run_time_s,
        failed: errors.len(),
        error: errors.into_iter().next(),
    }
}

/// A page and a plot a figure, beside the runs.
fn keep_pages(out: &Path, chosen: &[Figure], records: &[Record]) -> Result<(), Failure> {
    let ledger = Ledger { figures: records.to_vec() };
    for (path, text) in pages(chosen, &[], &ledger, &Texts::default()) {
        if let Some(name) = path.strip_prefix("docs/src/figures/") {
            write(&out.join(name), &text)?;
        }
    }
    Ok(())
}

fn show(args: &ReproduceArgs, finished: &[Reproduced], seconds: f64) {
    if args.running.json {
        let mut documents: Vec<Value> = finished.iter().map(|done| document(done, seconds)).collect();
        match documents.len() {
            1 => output::json(&documents.remove(0)),
            _ => output::json(&json!({ "wall_time_s": seconds, "figures": documents })),
        }
        return;
    }
    let tables: Vec<String> = finished.iter().map(|done| table(&done.record)).collect();
    let counted = |what: &str, verdicts: Vec<Verdict>| {
        let count = |verdict| verdicts.iter().filter(|found| **found == verdict).count();
        let counts = Verdict::ALL.map(|verdict| format!("{} {}", count(verdict), verdict.name()));
        format!("{} {what}: {}", verdicts.len(), counts.join(", "))
    };
    let claims = finished.iter().flat_map(|done| &done.record.claims).map(|claim| claim.verdict);
    let checks = finished.iter().flat_map(|done| &done.record.checks).map(|check| check.verdict);
    output::text(&format!(
        "{}\n{}\n{}\npages and plots in {}\n",
        tables.join("\n"),
        counted("claims of the papers", claims.collect()),
        counted("checks of our own", checks.collect()),
        args.out.display()
    ));
}

/// Figures run side by side: the time that passed is one for all of them.
fn document(done: &Reproduced, seconds: f64) -> Value {
    let mut document = json!(done.record);
    document["wall_time_s"] = seconds.into();
    document["run_time_s"] = done.run_time_s.into();
    document
}

/// The claims and checks of a figure with their verdicts.
pub fn table(record: &Record) -> String {
    let of = |title: &str, all: &[Outcome]| match all {
        [] => String::new(),
        all => format!("\n{title}\n\n{}", outcomes(all)),
    };
    let (claims, checks) =
        (of("What the paper states", &record.claims), of("Our own checks", &record.checks));
    format!("{}, size {}\n{claims}{checks}", record.figure, record.size.name())
}

fn outcomes(all: &[Outcome]) -> String {
    let number = |number: Option<f64>| farspan_terminal::format::number(number);
    let mut table = Table::new(["claim", "paper", "measured", "95% interval", "ratio", "verdict"]);
    for claim in all {
        let paper = claim.paper_text.or(claim.paper_plot);
        let ratio = claim.ratio.map_or_else(String::new, |ratio| number(Some(ratio)));
        let interval = format!("{} to {}", number(claim.ci_low), number(claim.ci_high));
        table.row([
            claim.id.as_str(),
            &number(paper),
            &number(claim.measured),
            &interval,
            &ratio,
            if claim.close == Some(true) { "holds, close" } else { claim.verdict.name() },
        ]);
    }
    table.render(&[])
}

/// Whether what the ledger holds still does.
fn hold(ledger: &Ledger, records: &[Record]) -> Result<(), Failure> {
    let lost: Vec<String> =
        records.iter().flat_map(|record| ledger.regressions(record)).map(|lost| lost.to_string()).collect();
    if lost.is_empty() {
        return Ok(());
    }
    Err(Failure::Unheld(format!(
        "{} claims of docs/ledger.json no longer hold; --accept updates the file; say why in the changelog:\n  {}",
        lost.len(),
        lost.join("\n  ")
    )))
}

/// The folder of documents in a checkout.
struct Checkout {
    docs: PathBuf,
    ledger: Ledger,
    texts: Texts,
}

impl Checkout {
    fn open(docs: &Path) -> Result<Self, Failure> {
        let read = |path: PathBuf| {
            std::fs::read_to_string(&path).map_err(|error| {
                let cure = "run this in a checkout of farspan, or give its docs, as --accept=DIR/docs";
                Failure::BadInput(format!("{}: {error}: {cure}", path.display()))
            })
        };
        let text = read(docs.join("ledger.json"))?;
        let ledger = serde_json::from_str(&text).map_err(|error| {
            Failure::BadInput(format!("{}: {error}: restore it", docs.join("ledger.json").display()))
        })?;
        let texts = Texts {
            readme: read(docs.join("../README.md"))?,
            introduction: read(docs.join("src/introduction.md"))?,
            contents: read(docs.join("src/SUMMARY.md"))?,
        };
        Ok(Self { docs: docs.to_owned(), ledger, texts })
    }

    fn pages(&self, figures: &[Figure], papers: &[Paper]) -> impl Iterator<Item = (String, String)> {
        pages(figures, papers, &self.ledger, &self.texts).into_iter()
    }

    fn accept(mut self, records: Vec<Record>) -> Result<(), Failure> {
        let figures = figures()?;
        let order: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
        for record in records {
            for lost in self.ledger.regressions(&record) {
                output::note(&format!("note: {lost}: say why in the changelog"));
            }
            for id in self.ledger.gone(&record) {
                output::note(&format!(
                    "note: {id}: no longer exists, but holds in the ledger: say why in the changelog"
                ));
            }
            self.ledger.accept(record, &order);
        }
        let ledger = ("docs/ledger.json".to_owned(), self.ledger.to_json());
        for (path, text) in self.pages(&figures, &papers()?).chain([ledger]) {
            let path = path
                .strip_prefix("docs/")
                .map_or_else(|| self.docs.join("..").join(&path), |name| self.docs.join(name));
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)
                    .map_err(|error| Failure::Failed(format!("{}: {error}", folder.display())))?;
            }
            write(&path, &text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure with one claim, and its record from documents in which the rival takes so many times as long.
    fn record(factor: f64) -> Record {
        let text = r#"
            title = "A figure"
            place = "Section 1"
            scenario = "uno/incast-mixed"
            size = { smoke = { seeds = "1" }, small = { seeds = "1..6" }, full = { seeds = "1..6" } }
            arm = [{ name = "uno" }, { name = "gemini" }]
            measure = [{ name = "mean", path = "fct.all.mean_us" }]
            [[check]]
            id = "mean"
            text = "mean"
            measure = "mean"
            of = ["gemini"]
            over = "uno"
            rule = "order"
        "#;
        let figure = Figure::parse("x/fig1", text, "").unwrap();
        let plan = figure.plan(Size::Small);
        let mean = |arm: usize| if arm == 0 { 1.0 } else { factor };
        let documents: Vec<Value> =
            plan.iter().map(|run| json!({"fct": {"all": {"mean_us": mean(run.arm)}}})).collect();
        figure.evaluate(Size::Small, &plan.iter().zip(&documents).collect::<Vec<_>>())
    }

    #[test]
    fn the_time_that_passed_is_not_that_of_the_runs() {
        let done = Reproduced { record: record(2.0), run_time_s: 7.0, failed: 0, error: None };
        let document = document(&done, 2.0);
        assert_eq!((&document["wall_time_s"], &document["run_time_s"]), (&2.0.into(), &7.0.into()));
    }

    #[test]
    fn a_claim_that_holds_no_longer_ends_with_3() {
        let mut ledger = Ledger::default();
        ledger.accept(record(2.0), &["x/fig1"]);
        assert!(hold(&ledger, &[record(3.0)]).is_ok());
        let failure = hold(&ledger, &[record(0.5)]).unwrap_err();
        let (message, code) = failure.message_and_code();
        assert!(
            code == 3 && message.contains("x-fig1-mean: differs now, but holds in the ledger"),
            "{message}"
        );
    }
}
