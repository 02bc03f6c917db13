//! The experiments that come with the program.

use farspan_ledger::{
    Claim, Figure, Interval, Ledger, Rule, SEEDS_FOR_A_VERDICT, Size, Texts, Verdict, figures, pages, papers,
};
use farspan_world::{EngineKind, World};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn every_run_of_every_size_is_a_scenario() {
    let mut known = BTreeSet::new();
    for figure in figures().unwrap() {
        for size in Size::ALL {
            let plan = figure.plan(size);
            assert!(!plan.is_empty(), "{}", figure.name);
            for run in plan {
                let one = farspan_scenario::Request { seed: Some(1), ..run.request.clone() };
                if known.insert(format!("{one:?}")) {
                    one.resolve().unwrap_or_else(|error| panic!("{} {}: {error}", figure.name, size.name()));
                }
            }
        }
    }
}

/// A setting of the size, or a second name of the same key, must not undo the one change. The case itself runs beside it.
#[test]
fn an_ablation_changes_its_case_at_every_size() {
    for figure in figures().unwrap() {
        for size in Size::ALL {
            let plan = figure.plan(size);
            let scenario = |case: usize, arm: usize| {
                let run = plan.iter().find(|run| (run.case, run.arm) == (case, arm));
                let run = run.unwrap_or_else(|| panic!("{}: {}", figure.name, figure.cases[case].name));
                let one = farspan_scenario::Request { seed: Some(1), ..run.request.clone() };
                one.resolve().unwrap().to_toml()
            };
            let planned: BTreeSet<_> = plan.iter().map(|run| (run.case, run.arm)).collect();
            for (case, arm) in planned {
                let Some(base) = figure.cases[case].ablates else { continue };
                let place = format!("{} {}: {}", figure.name, size.name(), figure.cases[case].name);
                assert_ne!(scenario(case, arm), scenario(base, arm), "{place}");
            }
        }
    }
}

/// In a run of every case: what only some arms have, such as a proxy, in one of theirs.
#[test]
fn every_measure_stands_in_the_documents_of_its_figure() {
    for figure in figures().unwrap() {
        let paths =
            || figure.measures.iter().flat_map(|measure| std::iter::once(&measure.path).chain(&measure.per));
        let mut missing = BTreeMap::new();
        for run in figure.plan(Size::Smoke) {
            let missing: &mut BTreeSet<_> = missing.entry(run.case).or_insert_with(|| paths().collect());
            if missing.is_empty() {
                continue;
            }
            let resolved = run.request.resolve().unwrap();
            let world = World::build(&resolved).unwrap();
            let results = farspan_world::run(&resolved, &world, EngineKind::Windowed, &mut |_| true);
            let mut document = serde_json::to_value(&results.summary).unwrap();
            let folder = std::env::temp_dir().join(format!("farspan-ledger-{}", std::process::id()));
            results.save(&folder).unwrap();
            figure.complete(&mut document, &folder).unwrap();
            std::fs::remove_dir_all(&folder).unwrap();
            missing.retain(|path| document.pointer(path).is_none());
        }
        // A measure of a part of the traffic is missing where that part is: but in some case it stands, and in those that a claim reads.
        let setups = |claim: &'_ Claim| {
            claim.terms.iter().map(|term| (term.measure, term.of.case)).collect::<Vec<_>>()
        };
        let read: BTreeSet<_> = figure.claims.iter().flat_map(setups).collect();
        for (m, measure) in figure.measures.iter().enumerate() {
            let lacks: Vec<usize> = missing
                .iter()
                .filter(|(_, paths)| paths.contains(&measure.path))
                .map(|(case, _)| *case)
                .collect();
            let is_wanted =
                lacks.len() == missing.len() || lacks.iter().any(|case| read.contains(&(m, *case)));
            assert!(lacks.is_empty() || !is_wanted, "{}: {}", figure.name, measure.name);
            assert!(
                measure.per.as_ref().is_none_or(|per| !missing.values().all(|paths| paths.contains(per)))
            );
        }
    }
}

/// Null reads as infinite: a measure that never has a value would be judged all the same.
#[test]
fn every_measure_of_the_ledger_has_a_number_somewhere() {
    let figures = figures().unwrap();
    for record in Ledger::committed().figures.iter().filter(|record| !record.rows.is_empty()) {
        let figure = figures.iter().find(|figure| figure.name == record.figure).unwrap();
        for measure in &figure.measures {
            let cells = record.rows.iter().filter_map(|row| row.values.get(&measure.name));
            assert!(
                cells.filter_map(|cell| cell.median).next().is_some(),
                "{}: {}",
                figure.name,
                measure.name
            );
        }
    }
}

#[test]
fn ids_are_the_figure_s_name_and_each_once() {
    let figures = figures().unwrap();
    let mut ids = BTreeSet::new();
    for claim in figures.iter().flat_map(|figure| figure.claims.iter().map(move |claim| (figure, claim))) {
        assert!(claim.1.id.starts_with(&claim.0.slug()), "{}", claim.1.id);
        assert!(!claim.1.id.contains(['{', ' ']) && !claim.1.text.contains('{'), "{}", claim.1.id);
        assert!(ids.insert(claim.1.id.clone()), "{}", claim.1.id);
    }
    assert!(ids.contains("uno-fig10-p99-intra-vs-gemini-40"));
}

/// Verdicts are computed: whoever types one in, or changes a claim and not the ledger, fails here.
#[test]
fn the_committed_verdicts_follow_from_the_committed_numbers() {
    let figures = figures().unwrap();
    for record in Ledger::committed().figures {
        let figure = figures.iter().find(|figure| figure.name == record.figure).unwrap();
        let ids: Vec<_> = figure.claims.iter().map(|claim| &claim.id).collect();
        assert_eq!(record.all().map(|claim| &claim.id).collect::<Vec<_>>(), ids, "{}", record.figure);
        for (outcome, claim) in record.all().zip(&figure.claims) {
            let six_digits = |x: Option<f64>| x.map(|x| format!("{x:.5e}"));
            assert_eq!(outcome.text, claim.text, "{}", claim.id);
            let stated =
                claim.statement.as_ref().map(|statement| (&statement.id, &statement.place, statement.source));
            let kept = outcome.statement.as_ref().map(|id| (id, &outcome.place, outcome.source.unwrap()));
            assert_eq!(kept, stated, "{}", claim.id);
            assert_eq!(six_digits(outcome.paper_text), six_digits(claim.paper_text), "{}", claim.id);
            let paper = claim.paper_text.or(claim.paper_plot);
            let ran = outcome.measured.zip(paper).filter(|_| outcome.verdict != Verdict::NotRun);
            let ratio = ran.map(|(measured, paper)| measured / paper);
            let near = |ratio: f64| (ratio / outcome.ratio.unwrap() - 1.0).abs() < 1e-4;
            assert!(ratio.is_none_or(|ratio| ratio == 0.0 || near(ratio)), "{}", claim.id);
            let [point, low, high] =
                [outcome.measured, outcome.ci_low, outcome.ci_high].map(|x| x.unwrap_or(f64::INFINITY));
            let close = claim
                .rule
                .close(Interval { point, low, high })
                .filter(|_| outcome.verdict != Verdict::NotRun);
            assert_eq!(
                outcome.close,
                close.map(|close| close && outcome.verdict == Verdict::Holds),
                "{}",
                claim.id
            );
            assert_eq!(outcome.verdict, again(figure, record.size, claim, outcome), "{}", claim.id);
        }
    }
}

fn again(
    figure: &Figure,
    size: Size,
    claim: &farspan_ledger::Claim,
    outcome: &farspan_ledger::Outcome,
) -> Verdict {
    let enough = outcome.seeds as usize >= SEEDS_FOR_A_VERDICT;
    let runs = |setup: farspan_ledger::Setup| figure.runs(size).cases.contains(&setup.case);
    if size == Size::Smoke || !claim.terms.iter().flat_map(farspan_ledger::Term::setups).all(runs) || !enough
    {
        return Verdict::NotRun;
    }
    let [point, low, high] =
        [outcome.measured, outcome.ci_low, outcome.ci_high].map(|x| x.unwrap_or(f64::INFINITY));
    match claim.rule.verdict(Interval { point, low, high }) {
        Verdict::Holds if figure.hardware => Verdict::Direction,
        verdict => verdict,
    }
}

#[test]
fn every_statement_is_measured_or_says_why_not() {
    let figures = figures().unwrap();
    for paper in papers().unwrap() {
        let of_paper = figures.iter().filter(|figure| figure.paper() == paper.folder);
        let mut measured: BTreeSet<_> = of_paper
            .flat_map(|figure| &figure.claims)
            .filter_map(|claim| claim.statement.as_ref())
            .map(|statement| statement.template.clone())
            .collect();
        for statement in &paper.unmeasured {
            assert!(measured.insert(statement.template.clone()), "{}: measured, and `not_run`", statement.id);
        }
        let all: BTreeSet<_> = paper.statements.iter().cloned().collect();
        assert_eq!(all, measured, "{}", paper.folder);
        assert!((5..=10).contains(&paper.quoted.len()), "{}: {} quoted", paper.folder, paper.quoted.len());
    }
}

/// The text prints 5.3, its bars say 3.4.
#[test]
fn a_claim_is_judged_by_the_number_of_the_text() {
    let figures = figures().unwrap();
    let claim = figures.iter().flat_map(|figure| &figure.claims);
    let claim = claim.clone().find(|claim| claim.id == "uno-fig10-p99-intra-vs-gemini-40").unwrap();
    assert_eq!((claim.paper_text, claim.rule), (Some(5.3), Rule::Factor(5.3)));
    assert_eq!(claim.paper_plot, Some(527.0 / 154.0));
}

#[test]
fn the_full_size_has_the_seeds_of_a_verdict() {
    for figure in figures().unwrap() {
        let (small, full) = (figure.runs(Size::Small), figure.runs(Size::Full));
        assert!(full.seeds.len() >= SEEDS_FOR_A_VERDICT, "{}", figure.name);
        let is_ablation = |case: &usize| figure.cases[*case].ablates.is_some();
        assert!(
            small.cases.iter().all(|case| full.cases.contains(case) || is_ablation(case)),
            "{}",
            figure.name
        );
        for case in figure.cases.iter().filter(|case| case.ablates.is_none()) {
            assert!(
                case.seeds.as_ref().is_none_or(|seeds| seeds.len() >= SEEDS_FOR_A_VERDICT),
                "{}: {}",
                figure.name,
                case.name
            );
        }
    }
}

/// A digit in a reason stands in braces, in code, in the name of a figure, table, section or formula, or beside the paper's own: what we
/// measured is filled in.
#[test]
fn no_number_of_ours_is_typed_in_a_reason() {
    let typed: Vec<String> = figures()
        .unwrap()
        .iter()
        .flat_map(|figure| {
            let statements = figure.claims.iter().filter_map(|claim| claim.statement.as_ref());
            let whys = statements.filter_map(|statement| statement.why.as_ref());
            let name = figure.name.clone();
            let typed = [&figure.why].into_iter().chain(whys).flat_map(|why| typed_numbers(why));
            typed.map(move |sentence| format!("{name}: {sentence}")).collect::<Vec<_>>()
        })
        .collect();
    assert!(typed.is_empty(), "{} typed numbers:\n{}", typed.len(), typed.join("\n"));
}

/// Sentences, and cells of tables, with a number of ours.
fn typed_numbers(why: &str) -> Vec<String> {
    let without = |text: &str, open: &str, close: &str| {
        let mut parts = text.split(open);
        let mut kept = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            kept += part.split_once(close).map_or("", |(_, rest)| rest);
        }
        kept
    };
    let mut text = without(&without(why, "{{", "}}"), "](", ")");
    // Code stands between two marks.
    text = text.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let names = ["figure", "figures", "table", "section", "sections", "equation", "algorithm", "algorithms"];
    let is_ours = |sentence: &&str| {
        // "figures 3 and 4": a number after a name, and one that follows it.
        let (mut named, mut has_number) = (false, false);
        for word in sentence.split_whitespace() {
            let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
            if word.contains(|c: char| c.is_ascii_digit()) {
                has_number |= !named;
            } else {
                named =
                    names.contains(&bare.as_str()) || named && ["and", "to", "or"].contains(&bare.as_str());
            }
        }
        has_number && !sentence.contains("paper")
    };
    let ends = text
        .replace(". ", ".|")
        .replace(".\n", ".|")
        .replace("; ", "|")
        .replace(": ", "|")
        .replace("\n\n", "|");
    ends.split('|').filter(is_ours).map(|sentence| sentence.trim().to_owned()).collect()
}

#[test]
fn a_typed_number_is_found_and_a_name_is_not() {
    assert_eq!(
        typed_numbers("It takes 3.2 ms. In figure 3 {{a/b/c}} of `2ms` [is](x1.md); the paper has 4 ms."),
        ["It takes 3.2 ms."]
    );
    assert_eq!(typed_numbers("| 12 us | {{x}} |"), ["12 us"]);
    assert_eq!(typed_numbers("Figures 3 and 4 show it."), [""; 0]);
    assert_eq!(typed_numbers("It rises to 5 ms."), ["It rises to 5 ms."]);
}

#[test]
fn what_does_not_hold_has_a_cause() {
    let pages = pages(&figures().unwrap(), &papers().unwrap(), &Ledger::committed(), &Texts::default());
    let lacking: Vec<&str> = pages
        .iter()
        .filter(|(path, _)| path.starts_with("docs/src/papers/"))
        .flat_map(|(_, page)| page.lines().filter(|line| line.contains("| not found |")))
        .collect();
    assert!(lacking.is_empty(), "give their statements `cause` and `why`:\n{}", lacking.join("\n"));
}
