//! Numbers in prose: `why.md`, and the `why` of a statement, name them in double braces, and pages fill them in.
//!
//! `{{CASE/ARM/MEASURE}}` is a median over seeds with its unit; `{{... over CASE/ARM}}` a ratio of two, `{{... below CASE/ARM}}` how
//! much less it is, in percent; `{{ID}}` what a claim or check measured. The case may be left out where a figure has one, and after
//! `over` where it is the same. A ratio that a claim or check measures, too, is that one: the median of paired ratios. All numbers of
//! one paragraph, table or item of a list are of one size, the largest that has them all. `FIGURE:` in front names another figure, of this paper where it has no
//! stroke.

use super::cell::{number_of, show, unit};
use crate::error::{Fault, FigureError};
use crate::figure::{Claim, Figure, Over, Setup, Size, Term};
use crate::record::{Ledger, Record};

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
const NOT_RUN: &str = "(not run yet)";

/// A median: of a measure, in an arm of a case.
#[derive(Clone, Copy)]
struct Place {
    setup: Setup,
    measure: usize,
}

/// A number that a text names.
enum Named {
    Value(Place),
    Over(Place, Place),
    Below(Place, Place),
    /// Index of the claim.
    Claim(usize),
}

/// Every reason of the figures with its numbers. Those of one paragraph, table or item of a list are of one size, the largest that
/// has them all. A size that is not the page's is said. A paragraph or item with a number that nobody ran is left out.
pub(crate) fn filled(figures: &[Figure], ledger: &Ledger) -> Vec<Figure> {
    let fill = |own: &Figure, text: &str| {
        let all = blocks(text).into_iter().map(|block| block_filled(own, figures, ledger, block));
        all.collect::<String>().trim_start_matches('\n').to_owned()
    };
    let one = |figure: &Figure| {
        let mut one = figure.clone();
        one.why = fill(figure, &figure.why);
        for statement in one.claims.iter_mut().filter_map(|claim| claim.statement.as_mut()) {
            statement.why = statement.why.as_ref().map(|why| fill(figure, why));
        }
        one
    };
    figures.iter().map(one).collect()
}

/// Paragraphs, tables and items of lists, each with what parts it from the one before.
fn blocks(text: &str) -> Vec<&str> {
    let mut starts = vec![0];
    for (at, _) in text.match_indices('\n') {
        let after = &text[at + 1..];
        let is_in_gap = text[..at].ends_with('\n');
        if !is_in_gap && (after.starts_with('\n') || after.trim_start_matches(' ').starts_with("- ")) {
            starts.push(at);
        }
    }
    starts.push(text.len());
    starts.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect()
}

fn block_filled(own: &Figure, figures: &[Figure], ledger: &Ledger, block: &str) -> String {
    let of_size = |size: Option<Size>| {
        let mut is_whole = true;
        let made = replaced(block, |inner| {
            let found = named(own, figures, inner).ok();
            let found = found.and_then(|(figure, named)| value(figure, &named, ledger, size));
            is_whole &= found.is_some();
            found.unwrap_or_else(|| NOT_RUN.to_owned())
        });
        made.map(|made| (made, is_whole)).unwrap_or_else(|fault| (fault.problem, true))
    };
    let page = ledger.record(&own.name).map(|record| record.size);
    for size in [Size::Full, Size::Small] {
        let (made, is_whole) = of_size(Some(size));
        if is_whole {
            let is_another = page.is_some_and(|page| page != size) && block.contains(OPEN);
            return if is_another { with_size(&made, size) } else { made };
        }
    }
    let (made, is_whole) = of_size(None);
    let is_row = block.trim_start().starts_with('|');
    if is_whole || is_row { made } else { String::new() }
}

/// A block that says of which size its numbers are. One that introduces a table leaves that to the table.
fn with_size(block: &str, size: Size) -> String {
    let text = block.trim_end();
    let end = &block[text.len()..];
    let before = match text.lines().last() {
        Some(row) if text.ends_with('|') => format!("\n\n{}", &row[..row.len() - row.trim_start().len()]),
        _ if text.ends_with(':') => return block.to_owned(),
        _ => " ".to_owned(),
    };
    format!("{text}{before}These numbers are of size `{}`.{end}", size.name())
}

/// Every name in a reason is known.
///
/// # Errors
/// The first that is not.
pub(crate) fn check(figures: &[Figure]) -> Result<(), FigureError> {
    for figure in figures {
        let known = |text: &str| {
            let mut wrong = None;
            let found = replaced(text, |inner| {
                wrong = wrong.take().or_else(|| named(figure, figures, inner).err());
                String::new()
            });
            found.map(drop).and(wrong.map_or(Ok(()), Err))
        };
        let whys = figure.claims.iter().filter_map(|claim| claim.statement.as_ref()?.why.as_deref());
        known(&figure.why).map_err(|fault| FigureError::in_reasons(&figure.name, fault))?;
        for why in whys {
            known(why).map_err(|fault| {
                let problem = format!("in the `why` {why:?}: {}", fault.problem);
                FigureError::at(&figure.name, "", None, Fault { problem, ..fault })
            })?;
        }
    }
    Ok(())
}

/// A text with what stands in double braces replaced.
fn replaced(text: &str, mut number: impl FnMut(&str) -> String) -> Result<String, Fault> {
    let mut parts = text.split(OPEN);
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((inner, rest)) = part.split_once(CLOSE) else {
            let start: String = part.chars().take(20).collect();
            return Err(Fault::new(format!("{OPEN}{start} has no end"), "close it with }}"));
        };
        made += &number(inner.trim());
        made += rest;
    }
    Ok(made)
}

/// The number that a text of this figure names, and its figure.
fn named<'a>(own: &'a Figure, figures: &'a [Figure], text: &str) -> Result<(&'a Figure, Named), Fault> {
    let (figure, text) = match text.split_once(':') {
        None => (own, text),
        Some((name, rest)) => {
            let name = if name.contains('/') { name.to_owned() } else { format!("{}/{name}", own.paper()) };
            let found = figures.iter().find(|figure| figure.name == name);
            let fault = || Fault::new(format!("no figure {name:?}"), "see `farspan list figures`");
            (found.ok_or_else(fault)?, rest.trim())
        }
    };
    let two = |over: &str, under: &str| -> Result<(Place, Place), Fault> {
        let above = place(figure, over.trim(), None)?;
        Ok((above, place(figure, under.trim(), Some(above))?))
    };
    if let Some((over, under)) = text.split_once(" over ") {
        return two(over, under).map(|(above, below)| (figure, Named::Over(above, below)));
    }
    if let Some((less, more)) = text.split_once(" below ") {
        return two(less, more).map(|(above, below)| (figure, Named::Below(above, below)));
    }
    if text.contains('/') {
        return Ok((figure, Named::Value(place(figure, text, None)?)));
    }
    let id = format!("{}-{text}", figure.slug());
    let found = figure.claims.iter().position(|claim| claim.id == id);
    let fault = || {
        Fault::new(
            format!("no claim {text:?} of {}", figure.name),
            "write CASE/ARM/MEASURE, or the id of a claim",
        )
    };
    Ok((figure, Named::Claim(found.ok_or_else(fault)?)))
}

/// `CASE/ARM/MEASURE`; beside `other` `ARM` and `CASE/ARM` do, and else `ARM/MEASURE` where there is one case.
fn place(figure: &Figure, text: &str, other: Option<Place>) -> Result<Place, Fault> {
    let case_of = |name: &str| figure.cases.iter().position(|case| case.name == name);
    let arm_of = |name: &str| figure.arms.iter().position(|arm| arm.name == name);
    let measure_of = |name: &str| figure.measures.iter().position(|measure| measure.name == name);
    let only = (figure.cases.len() == 1).then_some(0);
    let parts: Vec<&str> = text.split('/').collect();
    let (case, arm, measure) = match (parts.as_slice(), other) {
        ([case, arm, measure], _) => (case_of(case), arm_of(arm), measure_of(measure)),
        ([arm, measure], None) => (only, arm_of(arm), measure_of(measure)),
        ([case, arm], Some(other)) => (case_of(case), arm_of(arm), Some(other.measure)),
        ([arm], Some(other)) => (Some(other.setup.case), arm_of(arm), Some(other.measure)),
        _ => (None, None, None),
    };
    let found = case.zip(arm).zip(measure);
    let found = found.filter(|((case, arm), _)| figure.cases[*case].arms.contains(arm));
    let fault = || {
        Fault::new(
            format!("{}: {text:?} names no number", figure.name),
            "write CASE/ARM/MEASURE, of a case in which the arm runs",
        )
    };
    found.map(|((case, arm), measure)| Place { setup: Setup { case, arm }, measure }).ok_or_else(fault)
}

/// A number as text, of this size or else of the largest that has it; `None` if none has.
fn value(figure: &Figure, named: &Named, ledger: &Ledger, size: Option<Size>) -> Option<String> {
    let mut records = ledger.of(&figure.name);
    records.retain(|record| size.is_none_or(|size| record.size == size));
    let of = |record: &Record, place: Place| {
        let (case, arm) = (&figure.cases[place.setup.case].name, &figure.arms[place.setup.arm].name);
        let row = record.rows.iter().find(|row| (&row.case, &row.arm) == (case, arm))?;
        Some(row.values.get(&figure.measures[place.measure].name)?.median)
    };
    let two = |above, below| {
        let ratio = |record: &&Record| {
            let (over, under) = (of(record, above)?, of(record, below)?);
            Some(claimed(figure, record, above, below).or_else(|| Some(over? / under?)))
        };
        records.iter().find_map(ratio)
    };
    match *named {
        Named::Value(place) => {
            let median = records.iter().find_map(|record| of(record, place))?;
            let unit = figure.measures[place.measure].unit.name();
            let space = if unit.is_empty() || unit == "%" { "" } else { " " };
            Some(median.map_or_else(|| show(None), |_| format!("{}{space}{unit}", show(median))))
        }
        Named::Over(above, below) => Some(show(two(above, below)?)),
        Named::Below(above, below) => Some(
            two(above, below)?
                .map_or_else(|| show(None), |ratio| format!("{}%", show(Some(100.0 * (1.0 - ratio))))),
        ),
        Named::Claim(claim) => {
            let claim = &figure.claims[claim];
            let found = records.iter().find_map(|record| record.all().find(|found| found.id == claim.id))?;
            (found.seeds > 0).then(|| {
                format!("{}{}", number_of(figure, claim, found, found.measured), unit(figure, claim))
            })
        }
    }
}

/// The ratio that a claim or check measures, or the inverse of one, if there is one.
fn claimed(figure: &Figure, record: &Record, above: Place, below: Place) -> Option<f64> {
    let measured = |over: Place, under: Place| {
        let term = Term { measure: over.measure, of: over.setup, over: Some(Over::Setup(under.setup)) };
        let is_ratio = |claim: &&Claim| {
            claim.across.is_none() && claim.terms == [term.clone()] && under.measure == over.measure
        };
        let found = |claim: &Claim| record.all().find(|found| found.id == claim.id)?.measured;
        figure.claims.iter().filter(is_ratio).find_map(found)
    };
    measured(above, below).or_else(|| measured(below, above).map(|inverse| 1.0 / inverse))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Run;
    use serde_json::{Value, json};

    const FIGURE: &str = r#"
        title = "A figure"
        place = "Section 1"
        scenario = "uno/incast-mixed"
        size = { smoke = { seeds = "1" }, small = { seeds = "1..6" }, full = { seeds = "1..6", cases = ["near"] } }
        case = [{ name = "near" }, { name = "far", ablates = "near", arms = ["uno"] }]
        arm = [{ name = "uno" }, { name = "gemini" }]
        measure = [{ name = "mean", path = "fct.all.mean_us", unit = "ms" }]
        [[check]]
        id = "check"
        text = "mean"
        measure = "mean"
        of = ["gemini"]
        over = "uno"
        rule = "order"
    "#;

    /// A statement, and the beginning of its claim.
    const STATEMENT: &str = r#"
        [[statement]]
        id = "said"
        text = "Uno takes a second."
        source = "text"
        section = "1"
        place = "paragraph 1"
        paper = "1 s"
        [[claim]]
        id = "claim"
        statement = "said"
        text = "mean"
        measure = "mean"
        of = ["uno"]
        rule = "value"
        "#;

    fn figure(name: &str, why: &str) -> Figure {
        Figure::parse(name, FIGURE, why).unwrap()
    }

    /// A record in which uno takes so many milliseconds and gemini three times as long.
    fn record(figure: &Figure, size: Size, ms: f64) -> Record {
        let plan = figure.plan(size);
        let mean = |run: &Run| ms * 1e3 * if run.arm == 0 { 1.0 } else { 3.0 };
        let documents: Vec<Value> =
            plan.iter().map(|run| json!({"fct": {"all": {"mean_us": mean(run)}}})).collect();
        figure.evaluate(size, &plan.iter().zip(&documents).collect::<Vec<_>>())
    }

    fn reasons(why: &str, records: impl Fn(&Figure) -> Vec<Record>) -> String {
        let own = figure("x/fig2", why);
        let ledger = Ledger { figures: records(&own) };
        let figures = [figure("x/fig1", ""), own];
        check(&figures).unwrap();
        filled(&figures, &ledger)[1].why.clone()
    }

    #[test]
    fn numbers_of_a_text_are_of_the_largest_size_that_has_them_all() {
        let both = |figure: &Figure| vec![record(figure, Size::Small, 2.0), record(figure, Size::Full, 4.0)];
        let why = "{{near/uno/mean}}; {{far/uno/mean}}; {{near/gemini/mean over uno}}; \
                   {{near/uno/mean below near/gemini}}; {{far/uno/mean over near/uno}}; {{check}}.\n\n{{near/uno/mean}}.\n\n\
                   - {{far/uno/mean}}:\n\n  | {{far/uno/mean}} |\n\n- {{far/uno/mean}}.\n";
        let filled = "2 ms; 2 ms; 3; 66.7%; 1; 3. These numbers are of size `small`.\n\n4 ms.\n\n\
                      - 2 ms:\n\n  | 2 ms |\n\n  These numbers are of size `small`.\n\n\
                      - 2 ms. These numbers are of size `small`.\n";
        assert_eq!(reasons(why, both), filled, "the full size has no ablation");
    }

    #[test]
    fn a_ratio_that_a_check_measures_is_the_median_of_paired_ratios() {
        let apart = |figure: &Figure| {
            let mut one = record(figure, Size::Small, 2.0);
            one.checks[0].measured = Some(2.5);
            vec![one]
        };
        let why = "{{near/gemini/mean over uno}} {{near/uno/mean over gemini}}";
        assert_eq!(reasons(why, apart), "2.50 0.400", "the inverse, too");
    }

    #[test]
    fn a_paragraph_with_a_number_that_did_not_run_is_left_out() {
        let one = |figure: &Figure| vec![record(figure, Size::Full, 4.0)];
        let why = "First {{near/uno/mean}}.\n\nSo {{far/uno/mean}}. Therefore.\n\n- {{far/uno/mean}}. A.\n- B.\n\n\
                   | {{near/uno/mean}} | {{far/uno/mean}} |";
        assert_eq!(reasons(why, one), "First 4 ms.\n- B.\n\n| 4 ms | (not run yet) |");
        assert_eq!(reasons("{{near/uno/mean}} {{fig1: near/uno/mean}}", |_| Vec::new()), "");
    }

    #[test]
    fn a_name_that_is_unknown_is_refused_with_its_file() {
        for (why, part) in [
            ("{{near/uno/median}}", "names no number"),
            ("{{far/gemini/mean}}", "in which the arm runs"),
            ("{{uno/mean}}", "names no number"),
            ("{{fig9: near/uno/mean}}", "no figure \"x/fig9\""),
            ("{{other}}", "no claim \"other\""),
            ("{{near/uno/mean", "has no end"),
        ] {
            let error = check(&[figure("x/fig1", why)]).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("experiments/x/fig1/why.md"), "{why}: {error}");
        }
    }

    #[test]
    fn an_ablation_is_in_no_claim_that_names_no_case_and_not_ablated_itself() {
        assert_eq!(figure("x/fig1", "").claims.len(), 1);
        let twice = FIGURE.replace(
            "\"uno\"] }]",
            "\"uno\"] }, { name = \"farther\", ablates = \"far\", arms = [\"uno\"] }]",
        );
        let error = Figure::parse("x/fig1", &twice, "").unwrap_err().to_string();
        assert!(error.contains("ablation of an ablation"), "{error}");
        let lacking = FIGURE.replace("{ name = \"near\" }", "{ name = \"near\", arms = [\"gemini\"] }");
        let error = Figure::parse("x/fig1", &lacking, "").unwrap_err().to_string();
        assert!(error.contains("does not run in case \"near\""), "{error}");
        let set =
            FIGURE.replace("{ name = \"near\" }", "{ name = \"near\", set = [\"workload.flow_size=1MiB\"] }");
        let error = Figure::parse("x/fig1", &set, "").unwrap_err().to_string();
        assert!(error.contains("more than one change: \"workload.flow_size=1MiB\""), "{error}");
        let claimed = FIGURE.replace("[[check]]", &format!("{STATEMENT}cases = [\"far\"]\n[[check]]"));
        let error = Figure::parse("x/fig1", &claimed, "").unwrap_err().to_string();
        assert!(error.contains("a claim of an ablation"), "{error}");
    }

    #[test]
    fn how_far_a_number_is_off_has_no_unit() {
        let off = FIGURE.replace("unit = \"ms\"", "unit = \"%\", ideal = 1, off_ideal = true");
        let error = Figure::parse("x/fig1", &off, "").unwrap_err().to_string();
        assert!(error.contains("how far off is a share"), "{error}");
    }
}
