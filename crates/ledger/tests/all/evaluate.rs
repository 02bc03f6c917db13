//! Claims and rows from documents.

use farspan_ledger::{
    Figure, Ledger, Outcome, Paper, Record, Run, Size, Statements, Texts, Verdict, pages, svg,
};
use farspan_units::{Purpose, Random};
use serde_json::{Value, json};

const TEXT: &str = r#"
title = "A figure"
place = "Section 1"
scenario = "uno/incast-mixed"
size = { smoke = { seeds = "1..10" }, small = { seeds = "1..10" }, full = { seeds = "1..10" } }
arm = [{ name = "uno" }, { name = "gemini" }]
[[measure]]
name = "mean"
path = "fct.all.mean_us"
unit = "ms"
[[measure]]
name = "p99"
path = "fct.all.p99_us"
[[measure]]
name = "again"
path = "recovery.retransmitted"
per = "recovery.with_loss"
over_seeds = "sum"
unit = "%"
[[measure]]
name = "worst"
path = "fct.all.mean_us"
over_seeds = "p99"
[printed.default]
uno = { mean = 1, p99 = 1 }
gemini = { mean = 2, p99 = 2 }
[[statement]]
id = "twice"
text = "Gemini takes twice as long."
source = "plot"
section = "1"
place = "figure 1"
[[claim]]
id = "mean"
statement = "twice"
text = "mean of {of}"
measure = "mean"
of = ["gemini"]
over = "uno"
rule = "factor"
[[claim]]
id = "p99"
statement = "twice"
text = "p99"
measure = "p99"
of = ["gemini"]
over = "uno"
rule = "factor"
[[check]]
id = "again"
text = "again"
measure = "again"
of = ["uno"]
rule = "band"
low = 40
high = 60
[[check]]
id = "worst"
text = "worst"
measure = "worst"
of = ["gemini"]
over = "uno"
rule = "order"
[[plot]]
title = "Mean <ms>"
measure = "mean"
"#;

fn figure() -> Figure {
    Figure::parse("x/fig1", TEXT, "Because.").unwrap()
}

fn document(mean: impl Into<Value>, p99: impl Into<Value>, count: u64, again: u64) -> Value {
    let fct = json!({"count": count, "unfinished": 0, "mean_us": mean.into(), "p99_us": p99.into()});
    json!({"fct": {"all": fct}, "recovery": {"retransmitted": again, "with_loss": 2}})
}

/// The record of documents by scheme and seed; those of `None` failed.
fn record(size: Size, of: impl Fn(&str, u64) -> Option<Value>) -> Record {
    record_of(&figure(), size, of)
}

fn record_of(figure: &Figure, size: Size, of: impl Fn(&str, u64) -> Option<Value>) -> Record {
    let plan = figure.plan(size);
    let documents: Vec<(Run, Value)> = plan
        .into_iter()
        .filter_map(|run| Some((run.clone(), of(&figure.arms[run.arm].name, run.seed)?)))
        .collect();
    figure.evaluate(size, &documents.iter().map(|(run, document)| (run, document)).collect::<Vec<_>>())
}

fn claim<'a>(record: &'a Record, name: &str) -> &'a Outcome {
    record.all().find(|claim| claim.id == format!("x-fig1-{name}")).unwrap()
}

fn doubled(scheme: &str, seed: u64) -> Option<Value> {
    let factor = if scheme == "gemini" { 2.0 } else { 1.0 };
    Some(document(factor * 1000.0 * seed as f64, factor, 1000, seed % 2 * 2))
}

#[test]
fn ratios_are_paired_by_seed_and_absolutes_in_their_unit() {
    let record = record(Size::Small, doubled);
    let mean = claim(&record, "mean");
    assert_eq!((mean.measured, mean.ci_low, mean.ci_high, mean.seeds), (Some(2.0), Some(2.0), Some(2.0), 10));
    assert_eq!((mean.verdict, mean.text.as_str()), (Verdict::Holds, "mean of gemini"));
    let again = claim(&record, "again");
    assert_eq!(again.measured, Some(50.0));
    // Wilson's interval of 10 of 20.
    assert!(
        (again.ci_low.unwrap() - 29.93).abs() < 0.01 && (again.ci_high.unwrap() - 70.07).abs() < 0.01,
        "{again:?}"
    );
    assert_eq!(again.verdict, Verdict::Inconclusive);
    let cell = record.rows[1].values["mean"];
    assert_eq!((cell.median, cell.min, cell.max, cell.seeds), (Some(11.0), Some(2.0), Some(20.0), 10));
    assert_eq!(record.rows[0].values["worst"].median, Some(10_000.0));
    assert_eq!(
        (claim(&record, "worst").measured, claim(&record, "worst").verdict),
        (Some(2.0), Verdict::Holds)
    );
}

#[test]
fn of_hardware_that_is_not_simulated_a_claim_has_the_right_direction_at_best() {
    let figure = Figure::parse("x/fig1", &format!("hardware = true{TEXT}"), "").unwrap();
    let swapped = |scheme: &str, seed: u64| doubled(if scheme == "uno" { "gemini" } else { "uno" }, seed);
    for (simulated, expected) in [
        (record_of(&figure, Size::Small, doubled), Verdict::Direction),
        (record_of(&figure, Size::Small, swapped), Verdict::Differs),
    ] {
        assert_eq!([claim(&simulated, "mean").verdict, claim(&simulated, "worst").verdict], [expected; 2]);
    }
}

#[test]
fn none_among_few_is_not_none_for_certain() {
    let none = |scheme: &str, seed: u64| {
        let mut document = doubled(scheme, seed)?;
        document["recovery"]["retransmitted"] = 0.into();
        Some(document)
    };
    let record = record(Size::Small, none);
    let again = claim(&record, "again");
    assert_eq!((again.measured, again.ci_low), (Some(0.0), Some(0.0)));
    assert!((again.ci_high.unwrap() - 16.11).abs() < 0.01, "{again:?}");
}

#[test]
fn what_never_ends_counts_as_infinite() {
    let never = |scheme: &str, seed: u64| match scheme {
        "gemini" => Some(document(Value::Null, Value::Null, 1000, 0)),
        _ => doubled(scheme, seed),
    };
    let record = record(Size::Small, never);
    let mean = claim(&record, "mean");
    assert_eq!((mean.measured, mean.ci_low, mean.verdict), (None, None, Verdict::Direction));
    assert!(mean.note.contains("infinite"), "{}", mean.note);
    assert_eq!(record.rows[1].values["mean"].median, None);
    assert_eq!(claim(&record, "worst").verdict, Verdict::Holds);
}

#[test]
fn a_p99_needs_a_thousand_flows_and_a_verdict_six_seeds() {
    let few = |enough: u64| {
        move |scheme: &str, seed: u64| {
            let mut document = doubled(scheme, seed)?;
            document["fct"]["all"]["count"] = (if seed <= enough { 1000 } else { 999 }).into();
            Some(document)
        }
    };
    let (five, six) = (record(Size::Small, few(5)), record(Size::Small, few(6)));
    assert_eq!((claim(&five, "p99").seeds, claim(&five, "p99").verdict), (5, Verdict::NotRun));
    assert!(claim(&five, "p99").note.contains("5 of 10 seeds"), "{}", claim(&five, "p99").note);
    assert_eq!((claim(&six, "p99").seeds, claim(&six, "p99").verdict), (6, Verdict::Holds));
    assert_eq!(claim(&five, "mean").verdict, Verdict::Holds);
}

#[test]
fn a_failed_run_is_no_value_and_not_an_infinite_one() {
    let record =
        record(Size::Small, |scheme, seed| doubled(scheme, seed).filter(|_| scheme == "uno" || seed > 3));
    let mean = claim(&record, "mean");
    assert_eq!((mean.seeds, mean.measured, mean.verdict), (7, Some(2.0), Verdict::Holds));
    assert_eq!((record.rows[0].runs, record.rows[1].runs), (10, 7));
}

#[test]
fn smoke_size_has_no_verdicts() {
    let record = record(Size::Smoke, doubled);
    assert!(record.all().all(|claim| claim.verdict == Verdict::NotRun && claim.close.is_none()));
}

#[test]
fn a_claim_that_the_ledger_holds_and_a_run_does_not_is_a_regression() {
    let before = record(Size::Small, doubled);
    let mut ledger = Ledger::default();
    ledger.accept(before.clone(), &["x/fig1"]);
    assert!(ledger.regressions(&before).is_empty());
    let equal = |_: &str, seed: u64| doubled("uno", seed);
    let now = record(Size::Small, equal);
    let lost = ledger.regressions(&now);
    assert_eq!(
        lost.iter().map(|lost| lost.id.as_str()).collect::<Vec<_>>(),
        ["x-fig1-mean", "x-fig1-p99", "x-fig1-worst"]
    );
    assert!(ledger.regressions(&record(Size::Full, equal)).is_empty(), "a size is compared with its own");
    let mut smoke = Ledger::default();
    smoke.accept(record(Size::Smoke, doubled), &["x/fig1"]);
    assert!(smoke.regressions(&record(Size::Smoke, equal)).is_empty());
}

#[test]
fn the_ledger_s_text_reads_back_and_has_a_claim_a_line() {
    let mut ledger = Ledger::default();
    ledger.accept(record(Size::Small, doubled), &["x/fig1"]);
    let text = ledger.to_json();
    assert_eq!(serde_json::from_str::<Ledger>(&text).unwrap(), ledger);
    assert_eq!(text.lines().filter(|line| line.contains("\"verdict\"")).count(), 4);
    ledger.accept(record(Size::Full, doubled), &["x/fig1"]);
    assert_eq!(ledger.record("x/fig1").unwrap().size, Size::Full, "the largest is shown");
    ledger.accept(record(Size::Small, doubled), &["x/fig1"]);
    assert_eq!(
        ledger.figures.iter().map(|record| record.size).collect::<Vec<_>>(),
        [Size::Small, Size::Full]
    );
    assert_eq!(serde_json::from_str::<Ledger>(&ledger.to_json()).unwrap(), ledger);
}

#[test]
fn an_id_that_held_and_is_gone_is_named() {
    let mut ledger = Ledger::default();
    let mut after = record(Size::Small, doubled);
    ledger.accept(after.clone(), &["x/fig1"]);
    assert!(ledger.gone(&after).is_empty());
    let held = after.claims.iter().position(|claim| claim.verdict == Verdict::Holds).unwrap();
    let gone = after.claims.remove(held).id;
    assert_eq!(ledger.gone(&after), [gone.as_str()]);
    after.size = Size::Full;
    assert!(ledger.gone(&after).is_empty(), "another size is another record");
}

/// A paper with one figure, and a statement that nothing measures.
fn paper() -> Paper {
    let text = r#"
name = "Paper"
authors = "Author et al."
title = "A paper"
headline = [{ label = "twice", statement = "fig1/twice" }]
quoted = ["fig1/twice", "chip"]
[[statement]]
id = "chip"
text = "A chip does it in a nanosecond."
source = "text"
section = "2"
place = "paragraph 1"
paper = "1 ns"
not_run = "hardware"
"#;
    let mut statements = Statements::default();
    statements.add("x/fig1", TEXT).unwrap();
    statements.add("x/statements", text).unwrap();
    Paper::parse("x", text, &statements).unwrap()
}

#[test]
fn pages_have_the_table_and_the_plot_first_and_replace_only_what_is_made() {
    let ledger = Ledger { figures: vec![record(Size::Small, doubled)] };
    let readme = "Before\n<!-- made: ledger -->\nstale\n<!-- end -->\nAfter\n";
    let contents = "- [The ledger](ledger.md)\n  - [Old](papers/old.md)\n- [Speed](speed.md)\n\n# Figures\n\n- [Old](figures/old.md)\n";
    let texts =
        Texts { readme: readme.to_owned(), introduction: readme.to_owned(), contents: contents.to_owned() };
    let made = pages(&[figure()], &[paper()], &ledger, &texts);
    let of = |path: &str| made.iter().find(|(name, _)| name == path).unwrap().1.clone();
    let page = of("docs/src/figures/x-fig1.md");
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    assert!(
        place("x-fig1.svg") < place("| scheme |") && place("| scheme |") < place("## What the paper states")
    );
    assert!(
        place("## What the paper states") < place("## Our own checks") && place("checks") < place("Because.")
    );
    assert!(page.contains("11 (2 to 20); paper 2"), "{page}");
    let readme = of("README.md");
    assert!(readme.starts_with("Before") && readme.ends_with("After\n") && !readme.contains("stale"));
    assert!(
        readme.contains(
            "2 statements about results. 2 of them give a number, or say that two things are equal. We come close for 1 of those (50%)."
        ),
        "{readme}"
    );
    assert!(of("docs/src/introduction.md").contains("| [Paper](papers/x.md) | 2 |"));
    assert_eq!(
        of("docs/src/SUMMARY.md"),
        "- [The ledger](ledger.md)\n  - [Paper](papers/x.md)\n    - [Where columns disagree](papers/x-mixed.md)\n    - [Not run](papers/x-not-run.md)\n  - [How a verdict is made](verdicts.md)\n  - [Our own checks](own-checks.md)\n\
         - [Speed](speed.md)\n\n# Figures\n\n- [Section 1: A figure](figures/x-fig1.md)\n"
    );
}

#[test]
fn one_statement_is_counted_once_and_what_did_not_run_stays_in_the_count() {
    let ledger = Ledger { figures: vec![record(Size::Small, doubled)] };
    let made = pages(&[figure()], &[paper()], &ledger, &Texts::default());
    let of = |path: &str| &made.iter().find(|(name, _)| name == path).unwrap().1;
    let first = of("docs/src/ledger.md");
    assert!(
        first.contains("| [Paper](papers/x.md) | 2 | 1 | 0 | 0 | 0 | 0 | 0 | 1 | twice: 2 \u{2192} 2 |"),
        "{first}"
    );
    let page = of("docs/src/papers/x.md");
    assert!(page.contains("| A chip does it in a nanosecond. | section 2, paragraph 1 | 1 ns |"), "{page}");
    assert!(page.contains("1 [not run](x-not-run.md)"), "{page}");
    let not_run = of("docs/src/papers/x-not-run.md");
    assert!(
        not_run.contains("| A chip does it in a nanosecond. | section 2, paragraph 1 | hardware |"),
        "{not_run}"
    );
    let checks = of("docs/src/own-checks.md");
    assert!(checks.contains("1 of 2 hold") && checks.contains("| again |"), "{checks}");
}

#[test]
fn columns_that_disagree_are_said_to() {
    // The 99% quantile is the other way round.
    let other = |scheme: &str, seed: u64| {
        let mut document = doubled(scheme, seed)?;
        document["fct"]["all"]["p99_us"] = if scheme == "uno" { 2.0 } else { 1.0 }.into();
        Some(document)
    };
    let ledger = Ledger { figures: vec![record(Size::Small, other)] };
    let made = pages(&[figure()], &[paper()], &ledger, &Texts::default());
    let of = |path: &str| &made.iter().find(|(name, _)| name == path).unwrap().1;
    let page = of("docs/src/papers/x.md");
    assert!(page.contains("1 [mixed](x-mixed.md)") && page.contains("| mixed |"), "{page}");
    assert!(of("docs/src/papers/x-mixed.md").contains("of these 1 statements"));
}

#[test]
fn a_plot_has_what_was_measured_and_what_is_printed() {
    let picture = svg(&figure(), &record(Size::Small, doubled)).unwrap();
    assert!(picture.contains("Mean &lt;ms&gt;") && picture.contains("prefers-color-scheme"));
    let marks = |style: &str| picture.matches(style).count();
    assert_eq!(
        (marks("stroke-width:2.04"), marks("stroke-opacity:0.6")),
        (2 + 1, 2),
        "two bars, and the legend's mark"
    );
    assert_eq!(marks("style=\"fill:#0072b2\"") + marks("style=\"fill:#d55e00\""), 2 + 2);
}

/// The mean of an arm in a case, a multiple of the seed. Over the arm `uno` the arm `gemini` has 2, 1/3 and 2 in the median, but the
/// case in which it has most is another from seed to seed.
fn by_seed(case: usize, arm: usize, seed: u64) -> f64 {
    let by_arm = [[1.0, 2.0, 4.0], [3.0, 1.0, 2.0], [5.0, 10.0, 1.0]];
    let best = case == seed as usize % 3 && arm == 1;
    by_arm[case][arm] * seed as f64 * if best { 30.0 } else { 1.0 }
}

const SEVERAL: &str = "[[statement]]\nid = \"times\"\ntext = \"times\"\nsource = \"text\"\nsection = \"1\"\nplace = \"figure 1\"\n\
                       comparison = \"times\"\npaper = \"2x\"\n";

/// The claims under test in place of the last one.
fn of_several(claims: &str, mean: impl Fn(usize, usize, u64) -> f64) -> Record {
    let text = format!(
        r#"
title = "A figure"
place = "Section 1"
scenario = "uno/incast-mixed"
size = {{ smoke = {{ seeds = "1" }}, small = {{ seeds = "1..6" }}, full = {{ seeds = "1..6" }} }}
case = [{{ name = "a", x = 1 }}, {{ name = "b", x = 2 }}, {{ name = "c", x = 4 }}]
arm = [{{ name = "uno" }}, {{ name = "gemini" }}, {{ name = "swift" }}]
[[measure]]
name = "mean"
path = "mean"
[[measure]]
name = "share"
path = "mean"
per = "whole"
{SEVERAL}{claims}"#
    );
    let figure = Figure::parse("x/fig1", &text, "").unwrap();
    let plan = figure.plan(Size::Small);
    let document =
        |run: &Run| json!({ "mean": mean(run.case, run.arm, run.seed), "whole": run.seed as f64 / 2.0 });
    let documents: Vec<(Run, Value)> = plan.iter().map(|run| (run.clone(), document(run))).collect();
    figure.evaluate(Size::Small, &documents.iter().map(|(run, document)| (run, document)).collect::<Vec<_>>())
}

/// A claim if the rule is of a printed factor, else a check.
fn across(across: &str, rule: &str) -> String {
    let kind = if rule == "factor" { "[[claim]]\nstatement = \"times\"" } else { "[[check]]" };
    format!(
        "{kind}\nid = \"up-to\"\ntext = \"up to\"\nmeasure = \"mean\"\nof = [\"gemini\"]\nover = \"uno\"\n\
         across = \"{across}\"\nrule = \"{rule}\""
    )
}

#[test]
fn a_mean_of_ratios_is_a_mean_over_a_mean() {
    // 2, 1 and 10 over 1, 3 and 1: 13 over 5, where the mean of ratios is 4.1.
    let uneven = |case: usize, arm: usize, seed: u64| {
        [[1.0, 2.0], [3.0, 1.0], [1.0, 10.0]][case][arm.min(1)] * seed as f64
    };
    let record = of_several(&across("mean", "factor"), uneven);
    assert_eq!(
        (claim(&record, "up-to").measured, claim(&record, "up-to").verdict),
        (Some(2.6), Verdict::Holds)
    );
}

#[test]
fn one_number_of_several_is_that_of_their_medians_over_seeds() {
    for (kind, expected) in [("max", 2.0), ("min", 1.0 / 3.0), ("median", 2.0)] {
        let record = of_several(&across(kind, "factor"), by_seed);
        let claim = claim(&record, "up-to");
        assert_eq!((claim.measured, claim.seeds), (Some((expected * 1e6_f64).round() / 1e6), 6), "{kind}");
    }
}

#[test]
fn the_largest_of_noisy_ratios_of_one_is_not_for_certain_above_one() {
    // In each seed one case is 10% up and another 10% down, and none is so in the median.
    let noisy = |case: usize, arm: usize, seed: u64| match (case as u64 + seed + seed / 4) % 3 {
        0 if arm == 1 => 1.1,
        1 if arm == 1 => 0.9,
        _ => 1.0,
    };
    for kind in ["max", "min", "median"] {
        let record = of_several(&across(kind, "order"), noisy);
        let claim = claim(&record, "up-to");
        assert!(claim.ci_low.unwrap() <= 1.0 && claim.ci_high.unwrap() >= 1.0, "{kind}: {claim:?}");
        assert_eq!((claim.measured, claim.verdict), (Some(1.0), Verdict::Inconclusive), "{kind}");
    }
}

#[test]
fn the_interval_of_the_largest_of_noisy_ratios_contains_the_truth() {
    // Noise of a tenth that differs by set, case and seed; every ratio is 1 in truth.
    let missed = |set: u64| {
        let noise = |case: usize, arm: usize, seed: u64| {
            let mut random = Random::new(set, Purpose::Bootstrap, 100 * case as u64 + seed);
            let drawn: u64 = (0..12).map(|_| random.below(1_000)).sum();
            if arm == 1 { ((drawn as f64 - 5_994.0) / 10_000.0).exp() } else { 1.0 }
        };
        let record = of_several(&across("max", "order"), noise);
        claim(&record, "up-to").ci_low.unwrap() > 1.0
    };
    let missed = (0..100).filter(|set| missed(*set)).count();
    assert!(missed <= 10, "{missed} of 100");
}

#[test]
fn resamples_draw_whole_seeds() {
    // What moves every case of a seed alike is no reason for a largest one above each of them.
    let together = |_: usize, arm: usize, seed: u64| if arm == 1 { 1.0 + seed as f64 / 10.0 } else { 1.0 };
    let record = of_several(&across("max", "order"), together);
    let record_of_one = of_several(&across("min", "order"), together);
    let ends = |record: &Record| (claim(record, "up-to").ci_low, claim(record, "up-to").ci_high);
    assert_eq!(ends(&record), ends(&record_of_one));
}

#[test]
fn a_seed_with_nothing_under_the_fraction_bar_is_left_out() {
    let none = |case: usize, arm: usize, seed: u64| match (arm, seed) {
        (0, 1) => 0.0,
        _ => by_seed(case, arm, seed),
    };
    let record = of_several(&across("max", "factor"), none);
    assert_eq!(claim(&record, "up-to").seeds, 5);
}

#[test]
fn a_denominator_by_rank_is_another_arm_in_each_case() {
    // The arms have 1, 2, 4 in the first case, 3, 1, 2 in the second and 5, 10, 1 in the third.
    for (rank, expected) in [(1, [1.0, 3.0, 5.0]), (2, [0.5, 1.5, 1.0]), (3, [0.25, 1.0, 0.5])] {
        let record = of_several(
            &format!(
                "[[check]]\nid = \"{{case}}\"\ntext = \"ranked\"\nmeasure = \"mean\"\nof = [\"uno\"]\nover = [\"uno\", \"gemini\", \"swift\"]\n\
             rank = {rank}\nrule = \"band\"\nhigh = 1"
            ),
            |case, arm, seed| {
                by_seed(case, arm, 1) / if arm == 1 && case == 1 { 30.0 } else { 1.0 } * seed as f64
            },
        );
        let measured = ["a", "b", "c"].map(|case| claim(&record, case).measured.unwrap());
        assert_eq!(measured, expected, "rank {rank}");
    }
}

#[test]
fn a_measure_per_another_is_a_ratio_of_its_own() {
    let record = of_several(
        "[[claim]]\nid = \"{case}\"\nstatement = \"times\"\ntext = \"share\"\nmeasure = \"share\"\nof = [\"uno\"]\nrule = \"factor\"",
        by_seed,
    );
    let found =
        ["a", "b", "c"].map(|case| (claim(&record, case).measured.unwrap(), claim(&record, case).verdict));
    assert_eq!(found, [(2.0, Verdict::Holds), (6.0, Verdict::Direction), (10.0, Verdict::Direction)]);
}

#[test]
fn growth_is_the_slope_of_logarithms() {
    let slope = |power: i32| {
        let check = "[[check]]\nid = \"grows\"\ntext = \"grows\"\nmeasure = \"mean\"\nof = [\"uno\"]\nacross = \"slope\"\nrule = \"equal\"";
        let record = of_several(check, |case, _, seed| seed as f64 * f64::from(1 << case).powi(power));
        let found = claim(&record, "grows").clone();
        (found.measured.unwrap(), found.verdict)
    };
    assert_eq!(slope(1), (1.0, Verdict::Holds));
    assert_eq!(slope(2), (2.0, Verdict::Differs));
    assert_eq!(slope(0), (0.0, Verdict::Differs));
}

#[test]
fn a_noisy_slope_has_an_interval_and_one_of_what_never_ends_no_number() {
    let check = "[[check]]\nid = \"grows\"\ntext = \"grows\"\nmeasure = \"mean\"\nof = [\"uno\"]\nacross = \"slope\"\nrule = \"equal\"";
    let noisy = |case: usize, _: usize, seed: u64| {
        f64::from(1 << case) * if case == 2 { 1.0 + seed as f64 / 10.0 } else { 1.0 }
    };
    let record = of_several(check, noisy);
    let found = claim(&record, "grows");
    assert!(found.ci_low < found.measured && found.measured < found.ci_high, "{found:?}");
    assert!(found.ci_low > Some(1.0), "the last case is always longer: {found:?}");
    let none = of_several(check, |case, _, _| if case == 1 { 0.0 } else { 1.0 });
    let found = claim(&none, "grows");
    assert_eq!(
        (found.verdict, found.note.as_str()),
        (Verdict::NotRun, "no number comes of these: one is 0, or never ends")
    );
}

#[test]
fn only_what_checks_need_is_planned_for_them() {
    let mut figure = figure();
    let all = figure.plan(Size::Small).len();
    figure.keep_checks();
    assert_eq!(
        figure.claims.iter().map(|check| check.id.as_str()).collect::<Vec<_>>(),
        ["x-fig1-again", "x-fig1-worst"]
    );
    assert_eq!((all, figure.plan(Size::Small).len()), (20, 20), "both arms are needed");
    figure.claims.retain(|check| check.id == "x-fig1-again");
    figure.keep_checks();
    assert_eq!(figure.plan(Size::Small).len(), 10);
}
