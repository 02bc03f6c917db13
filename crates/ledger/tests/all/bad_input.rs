//! Mistakes in `claims.toml`: each names its place and its cure.

use farspan_ledger::{Figure, Rule};

const GOOD: &str = r#"title = "A figure"
place = "Section 1"
scenario = "uno/incast-mixed"

[size]
smoke = { seeds = "1", cases = ["a"] }
small = { seeds = "1..10" }
full = { seeds = "1,2,5" }

[[case]]
name = "a"

[[case]]
name = "b"
arms = ["uno"]

[[arm]]
name = "uno"

[[arm]]
name = "gemini"

[[measure]]
name = "mean"
path = "fct.all.mean_us"

[printed.a]
uno = { mean = 2 }
gemini = { mean = 3.0 }

[[claim]]
id = "mean-vs-{of}-{case}"
text = "mean"
statement = "shorter"
measure = "mean"
of = ["gemini"]
over = "uno"
cases = ["a"]
rule = "factor"

[[plot]]
title = "Mean"
measure = "mean"

[[statement]]
id = "shorter"
text = "Uno is shorter."
source = "plot"
section = "1"
place = "figure 1"
"#;

fn mistake(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    Figure::parse("x/fig1", &text, "").map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_band_may_be_of_one_arm_or_of_a_ratio() {
    let of = |over: &str| {
        let text = GOOD.replacen("rule = \"factor\"", "rule = \"band\"\nhigh = 1.05", 1).replacen(
            "over = \"uno\"\n",
            over,
            1,
        );
        let claim = Figure::parse("x/fig1", &text, "").unwrap().claims.remove(0);
        (claim.terms[0].over.is_some(), claim.rule)
    };
    assert_eq!(of("over = \"uno\"\n"), (true, Rule::Band(None, Some(1.05))));
    assert_eq!(of(""), (false, Rule::Band(None, Some(1.05))));
}

#[test]
fn the_text_that_the_cases_change_is_a_figure() {
    let figure = Figure::parse("x/fig1", GOOD, "").unwrap();
    let claim = &figure.claims[0];
    assert_eq!((claim.id.as_str(), claim.paper_plot), ("x-fig1-mean-vs-gemini-a", Some(1.5)));
    assert_eq!(figure.plan(farspan_ledger::Size::Full).len(), (2 + 1) * 3);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn every_mistake_names_its_place_and_its_cure() {
    let cases = [
        ("[[plot]]", "[[plots]]", "41:3", "plots"),
        ("title = \"A figure\"\n", "", "1:1", "title"),
        ("rule = \"factor\"", "rule = \"facto\"", "39:8", "facto"),
        ("seeds = \"1..10\"", "seeds = \"10..1\"", "7:19", "write the smaller one first"),
        ("seeds = \"1,2,5\"", "seeds = \"1,1\"", "8:18", "give each seed once"),
        ("cases = [\"a\"] }", "cases = [\"c\"] }", "6:33", "case"),
        ("arms = [\"uno\"]", "arms = [\"un\"]", "15:9", "did you mean \"uno\""),
        ("name = \"b\"", "name = \"a\"", "14:8", "two cases"),
        ("name = \"gemini\"", "name = \"Gemini\"", "21:8", "use a-z"),
        ("uno = { mean = 2 }", "uno = { men = 2 }", "28:9", "did you mean \"mean\""),
        ("uno = { mean = 2 }", "unno = { mean = 2 }", "28:1", "did you mean \"uno\""),
        ("measure = \"mean\"\nof", "measure = \"p99\"\nof", "35:11", "measure"),
        ("of = [\"gemini\"]", "of = [\"gemin\"]", "36:7", "did you mean \"gemini\""),
        ("of = [\"gemini\"]", "of = []", "32:6", "name an arm"),
        ("over = \"uno\"\n", "", "32:6", "name the arm under the fraction bar"),
        ("over = \"uno\"\n", "over = \"gemini\"\n", "36:7", "another arm or case"),
        ("over = \"uno\"\n", "over_case = \"c\"\n", "37:13", "case"),
        ("over = \"uno\"\n", "over = \"un\"\n", "37:8", "did you mean \"uno\""),
        ("over = \"uno\"\n", "over = [\"uno\", \"gemini\"]\n", "37:8", "say which by its `rank`"),
        ("over = \"uno\"\n", "over = [\"uno\", \"gemini\"]\nrank = 3\n", "38:8", "write 1 to 2"),
        ("over = \"uno\"\n", "rank = 1\n", "37:8", "no arm of `over`"),
        ("rule = \"factor\"", "rule = \"factor\"\nacross = \"max\"", "32:6", "remove it"),
        ("cases = [\"a\"]\nrule", "rule", "36:7", "does not run in case \"b\""),
        ("rule = \"factor\"", "rule = \"factor\"\nlow = 1", "32:6", "remove them"),
        ("rule = \"factor\"", "rule = \"word\"\nlow = 0.9", "32:6", "`low` above 1"),
        (
            "over = \"uno\"\ncases = [\"a\"]\nrule = \"factor\"",
            "cases = [\"a\"]\nrule = \"word\"\nlow = 1.25",
            "32:6",
            "under the fraction bar",
        ),
        ("rule = \"factor\"", "rule = \"word\"\nlow = 1.2\nhigh = 1.5", "32:6", "`low` above 1"),
        (
            "over = \"uno\"\ncases = [\"a\"]\nrule = \"factor\"",
            "cases = [\"a\"]\nrule = \"band\"",
            "32:6",
            "give `low`",
        ),
        (
            "over = \"uno\"\ncases = [\"a\"]\nrule = \"factor\"",
            "cases = [\"a\"]\nrule = \"band\"\nlow = 2\nhigh = 1",
            "32:6",
            "exchange",
        ),
        ("gemini = { mean = 3.0 }", "gemini = { mean = 2.0 }", "32:6", "rule \"equal\""),
        ("rule = \"factor\"", "rule = \"factor\"\nartifact_rerun = { uno = 2 }", "40:20", "CASE/ARM"),
        ("rule = \"factor\"", "rule = \"factor\"\nartifact_rerun = \"2\"", "40:18", "a number"),
        ("statement = \"shorter\"\n", "", "32:6", "is a [[check]]"),
        ("statement = \"shorter\"", "statement = \"short\"", "34:13", "did you mean \"shorter\""),
        ("[[claim]]", "[[check]]", "34:13", "make it a [[claim]]"),
        ("place = \"figure 1\"", "place = \"figure 1\"\ncomparison = \"times\"", "46:6", "its `paper`"),
        ("source = \"plot\"", "source = \"page\"", "48:10", "page"),
        (
            "place = \"figure 1\"",
            "place = \"figure 1\"\npaper = \"2 parsecs\"",
            "51:9",
            "not a number with a unit",
        ),
        (
            "place = \"figure 1\"",
            "place = \"figure 1\"\npaper = \"50%\"\ncomparison = \"times\"",
            "32:6",
            "does not fit",
        ),
        ("place = \"figure 1\"", "place = \"figure 1\"\npaper = \"2 ms\"", "32:6", "does not fit"),
        ("rule = \"factor\"", "rule = \"factor\"\nacross = \"slope\"", "32:6", "remove it"),
        ("scenario = \"uno/incast-mixed\"\n", "", "10:8", "`scenario`"),
        (
            "path = \"fct.all.mean_us\"",
            "path = \"fct.all.mean_us\"\nideal = { a = 1 }",
            "24:8",
            "for each case",
        ),
        (
            "path = \"fct.all.mean_us\"",
            "path = \"fct.all.mean_us\"\nover_seeds = \"sum\"",
            "24:8",
            "say per what",
        ),
        ("-{case}\"", "-{case}\"\nid = \"x\"", "33:1", "duplicate"),
        ("of = [\"gemini\"]", "of = [\"gemini\", \"gemini\"]", "32:6", "put {of}"),
        ("measure = \"mean\"\nof", "measure = [\"mean\", \"p99\"]\nof", "35:11", "measure"),
        ("path = \"fct.all.mean_us\"\n", "", "24:8", "where the number comes from"),
    ];
    let mut missed = Vec::new();
    for (from, to, place, cure) in cases {
        let message = mistake(from, to);
        let begins = format!("experiments/x/fig1/claims.toml:{place}: ");
        if !message.starts_with(&begins) || !message.contains(cure) {
            missed.push(format!("{to:?}: expected {place} and {cure:?}: {message}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_claim_that_does_not_look_at_the_printed_number_is_refused() {
    let printed =
        GOOD.replace("place = \"figure 1\"", "place = \"figure 1\"\npaper = \"2x\"\ncomparison = \"times\"");
    assert!(Figure::parse("x/fig1", &printed, "").is_ok());
    for rule in ["order", "equal", "not-below", "band\"\nhigh = \"3"] {
        let text = printed.replace("rule = \"factor\"", &format!("rule = \"{rule}\"")).replace("\"3\"", "3");
        let message = Figure::parse("x/fig1", &text, "").unwrap_err().to_string();
        assert!(message.contains("prints a number"), "{rule}: {message}");
    }
}

/// The text that follows `series = ` or `flows = ` in place of a path; the text of it begins in line 25.
fn computed(what: &str) -> String {
    mistake("path = \"fct.all.mean_us\"", what)
}

#[test]
fn a_measure_of_samples_or_flows_that_says_nothing_is_refused() {
    let series = |rest: &str| format!("series = {{ probe = \"rate\", of = \"tag=incast\", {rest} }}");
    let cases = [
        (series("take = \"mean\"") + "\npath = \"fct.all.mean_us\"", "24:8", "once"),
        (series("take = \"median\""), "25:54", "median"),
        (series("take = \"first_above\""), "25:54", "give one, such as"),
        (series("take = \"mean\", level = 1"), "25:70", "compares with no level"),
        (series("take = \"first_above\", level = 1"), "25:77", "\"90Gbps\""),
        (series("take = \"first_above\", level = \"1KB\""), "25:77", "units: bps"),
        (
            series("take = \"first_above\", level = \"1Gbps\", reference = [\"0us\", \"1us\"]"),
            "25:77",
            "such as 0.9",
        ),
        (series("combine = \"jain\", take = \"first_above\", level = \"1Gbps\""), "25:95", "such as 0.95"),
        (series("take = \"mean\", from = \"1m\""), "25:69", "units: ps"),
        (series("take = \"mean\", from = \"middle of incast\""), "25:69", "start of TAG"),
        (series("take = \"mean\", from = \"110% of incast\""), "25:69", "45% of TAG"),
        (series("take = \"mean\", from = \"end of incast + 3\""), "25:69", "the unit is missing"),
        (series("take = \"mean\", from = \"3ms + 2us\""), "25:69", "behind the tag"),
        (series("take = \"mean\", from = \"2us\", to = \"1us\""), "25:81", "exchange"),
        (series("per = \"flow=x\", take = \"mean\""), "25:53", "flow=ID"),
        (series("per = \"bottleneck\", take = \"mean\""), "25:53", "has no rate"),
        ("series = { probe = \"queue\", of = \"tag=a\", take = \"max\" }".to_owned(), "25:34", "FROM->TO#n"),
        ("series = { probe = \"queue\", of = \"port\", take = \"max\" }".to_owned(), "25:34", "FROM->TO#n"),
        ("flows = { take = \"mean\" }".to_owned(), "25:18", "slowdown_mean"),
        ("flows = { up_to = \"1\", take = \"fct_mean\" }".to_owned(), "25:19", "the unit is missing"),
        ("flows = { above = \"2KB\", up_to = \"2KB\", take = \"fct_mean\" }".to_owned(), "25:34", "larger"),
    ];
    let mut missed = Vec::new();
    for (what, place, cure) in cases {
        let message = computed(&what);
        let begins = format!("experiments/x/fig1/claims.toml:{place}: ");
        if !message.starts_with(&begins) || !message.contains(cure) {
            missed.push(format!("{what:?}: expected {place} and {cure:?}: {message}"));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
