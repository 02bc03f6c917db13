//! From `claims.toml` as it is written to a [`Figure`]: every name is known, and every claim can be judged.

use crate::computed;
use crate::error::Fault;
use crate::figure::{
    Arm, COMPUTED, Case, Claim, Computed, Figure, Measure, Over, OverSeeds, Plot, Setup, SizeRuns, Term,
};
use crate::text::{
    ArmText, CaseText, ClaimText, FigureText, MeasureText, Name, Numbers, OneOrMore, PlotText, RuleText,
    SizeText,
};
use crate::verdict::Rule;
use farspan_scenario::unknown_name;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;

/// Flows that a 99% quantile needs, and a 99.9% one.
const FLOWS_OF_P99: u64 = 1_000;
const FLOWS_OF_P999: u64 = 10_000;

pub(crate) type Checked<T> = Result<T, (Option<Range<usize>>, Fault)>;

pub(crate) fn wrong<T>(name: &Name, problem: impl Into<String>, cure: impl Into<String>) -> Checked<T> {
    Err((Some(name.span()), Fault::new(problem, cure)))
}

/// The index of a name among those that there are.
fn index(what: &str, name: &Name, known: &[String]) -> Checked<usize> {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    known.iter().position(|known| known == name.get_ref()).map_or_else(
        || {
            let message = unknown_name(what, name.get_ref(), &names, &[]);
            let (problem, cure) = message.split_once(": ").unwrap_or((&message, "correct it"));
            wrong(name, problem, cure)
        },
        Ok,
    )
}

fn indices(what: &str, names: Option<&Vec<Name>>, known: &[String]) -> Checked<Vec<usize>> {
    match names {
        None => Ok((0..known.len()).collect()),
        Some(names) => names.iter().map(|name| index(what, name, known)).collect(),
    }
}

/// Names that are ids, each once.
fn distinct(what: &str, names: impl Iterator<Item = Name>) -> Checked<Vec<String>> {
    let mut known = Vec::new();
    for name in names {
        let text = name.get_ref();
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || !text.chars().all(fits) {
            return wrong(&name, format!("{text:?} is no name of a {what}"), "use a-z, 0-9 and -");
        }
        if known.contains(text) {
            return wrong(&name, format!("there are two {what}s {text:?}"), "give each a name of its own");
        }
        known.push(text.clone());
    }
    Ok(known)
}

fn seeds(name: &Name) -> Checked<Vec<u64>> {
    farspan_scenario::seeds(name.get_ref()).or_else(|error| {
        let message = error.to_string();
        let (problem, cure) = message.split_once("; ").unwrap_or((&message, "correct it"));
        wrong(name, problem, cure)
    })
}

/// The figure that a text describes.
pub(crate) fn check(name: &str, written: FigureText, why: &str) -> Checked<Figure> {
    let cases = if written.case.is_empty() { vec![CaseText::lone()] } else { written.case };
    let case_names = distinct("case", cases.iter().map(|case| case.name.clone()))?;
    let arm_names = distinct("arm", written.arm.iter().map(|arm| arm.name.clone()))?;
    let measure_names = distinct("measure", written.measure.iter().map(|measure| measure.name.clone()))?;
    let size = |size: &SizeText| -> Checked<SizeRuns> {
        let cases = indices("case", size.cases.as_ref(), &case_names)?;
        Ok(SizeRuns { seeds: seeds(&size.seeds)?, set: size.set.clone(), cases })
    };
    let sizes = [size(&written.size.smoke)?, size(&written.size.small)?, size(&written.size.full)?];
    let default = (written.scenario, written.profile);
    let cases: Checked<Vec<Case>> = cases.into_iter().map(|c| case(c, &default, &arm_names)).collect();
    let measures: Checked<Vec<Measure>> =
        written.measure.into_iter().map(|m| measure(m, &case_names)).collect();
    let mut figure = Figure {
        name: name.to_owned(),
        title: written.title,
        place: written.place,
        hardware: written.hardware,
        axis: written.axis,
        set: written.set,
        sizes,
        cases: cases?,
        arms: written.arm.into_iter().map(arm).collect(),
        measures: measures?,
        printed: Vec::new(),
        claims: Vec::new(),
        plots: Vec::new(),
        why: why.to_owned(),
    };
    for (c, arms) in &written.printed {
        let case = index("case", c, &case_names)?;
        for (a, measures) in arms {
            let arm = index("arm", a, &arm_names)?;
            for (m, value) in measures {
                figure.printed.push((case, arm, index("measure", m, &measure_names)?, *value));
            }
        }
    }
    let names = Names { cases: &case_names, arms: &arm_names, measures: &measure_names };
    for claim in &written.claim {
        let claims = claims(claim, &figure, &names)?;
        figure.claims.extend(claims);
    }
    let mut ids = BTreeSet::new();
    for (claim, text) in figure.claims.iter().zip(written.claim.iter().cycle()) {
        if !ids.insert(claim.id.clone()) {
            return wrong(
                &text.id,
                format!("two claims have the id {:?}", claim.id),
                "put {of}, {case} or {measure} into it",
            );
        }
    }
    let plots: Checked<Vec<Plot>> = written.plot.iter().map(|text| plot(text, &names)).collect();
    figure.plots = plots?;
    Ok(figure)
}

/// The names that claims and plots refer to.
struct Names<'a> {
    cases: &'a [String],
    arms: &'a [String],
    measures: &'a [String],
}

impl CaseText {
    /// The case of a figure without an axis.
    fn lone() -> Self {
        Self {
            name: Name::new(0..0, "default".to_owned()),
            label: Some(String::new()),
            x: None,
            scenario: None,
            profile: None,
            set: Vec::new(),
            arms: None,
            seeds: None,
        }
    }
}

fn case(text: CaseText, default: &(Option<String>, Option<String>), arms: &[String]) -> Checked<Case> {
    let Some(scenario) = text.scenario.or_else(|| default.0.clone()) else {
        return wrong(&text.name, "no scenario", "give the figure or the case a `scenario`");
    };
    Ok(Case {
        label: text.label.unwrap_or_else(|| text.name.get_ref().clone()),
        x: text.x,
        scenario,
        profile: text.profile.or_else(|| default.1.clone()).unwrap_or_else(|| "paper".to_owned()),
        set: text.set,
        arms: indices("arm", text.arms.as_ref(), arms)?,
        seeds: text.seeds.as_ref().map(seeds).transpose()?,
        name: text.name.into_inner(),
    })
}

fn arm(text: ArmText) -> Arm {
    let name = text.name.into_inner();
    let scheme = text.scheme.unwrap_or_else(|| name.clone());
    Arm {
        label: text.label.unwrap_or_else(|| name.clone()),
        scheme,
        profile: text.profile,
        set: text.set,
        name,
    }
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

/// The place in a run's document, and what is computed and put there.
fn source(text: &MeasureText) -> Checked<(String, Option<Computed>)> {
    let name = text.name.get_ref();
    let computed = match (&text.path, &text.series, &text.flows) {
        (Some(path), None, None) => return Ok((pointer(path.get_ref()), None)),
        (None, Some(series), None) => computed::check::series(series)?,
        (None, None, Some(flows)) => computed::check::flows(flows)?,
        _ => {
            let problem = format!("{name}: not one of `path`, `series` and `flows`");
            return wrong(&text.name, problem, "say where the number comes from, once");
        }
    };
    Ok((format!("/{COMPUTED}/{name}/value"), Some(computed)))
}

fn measure(text: MeasureText, cases: &[String]) -> Checked<Measure> {
    let (path, computed) = source(&text)?;
    let name = text.name.get_ref().clone();
    let of_flows = path.starts_with("/fct/") || path.starts_with("/delivery/");
    let p99 = matches!(&computed, Some(Computed::Flows(flows)) if flows.take.is_p99());
    let default = match () {
        () if of_flows && path.contains("p999") => FLOWS_OF_P999,
        () if p99 || of_flows && path.contains("p99") => FLOWS_OF_P99,
        () => 0,
    };
    let ideal = match &text.ideal {
        None => None,
        Some(numbers) => {
            let each: Option<Vec<f64>> = cases.iter().map(|case| numbers.of(case, "")).collect();
            let Some(each) = each.filter(|each| each.iter().all(|number| *number > 0.0)) else {
                return wrong(
                    &text.name,
                    format!("{name}: `ideal` lacks a case, or is not above 0"),
                    "give it one for each case",
                );
            };
            Some(each)
        }
    };
    if text.over_seeds == OverSeeds::Sum && text.per.is_none() {
        return wrong(
            &text.name,
            format!("{name}: a sum over seeds has no `per`"),
            "say per what, such as per = \"recovery.flows_with_loss\"",
        );
    }
    Ok(Measure {
        label: text.label.unwrap_or_else(|| name.clone()),
        path,
        computed,
        per: text.per.as_deref().map(pointer),
        ideal,
        unit: text.unit,
        least_flows: text.least_flows.unwrap_or(default),
        over_seeds: text.over_seeds,
        table: text.table,
        name,
    })
}

/// The claims that one entry makes: one for each case, arm and measure that it names, or one across all of them.
fn claims(text: &ClaimText, figure: &Figure, names: &Names) -> Checked<Vec<Claim>> {
    keys(text, names)?;
    let terms = terms(text, figure, names)?;
    if terms.is_empty() {
        return wrong(&text.id, "no claim comes of this", "name an arm in `of`, and a case");
    }
    if text.across.is_none() {
        return terms.into_iter().map(|term| claim(text, figure, vec![term])).collect();
    }
    if text.id.get_ref().contains('{') || text.text.contains('{') {
        return wrong(&text.id, "one claim across several has no {case}, {of} or {measure}", "remove it");
    }
    Ok(vec![claim(text, figure, terms)?])
}

/// Several names of one value.
fn listed(what: &str, value: &Spanned<OneOrMore>, known: &[String]) -> Checked<Vec<usize>> {
    let name = |name: &String| index(what, &Name::new(value.span(), name.clone()), known);
    value.get_ref().names().iter().map(name).collect()
}

/// The numbers that one entry is of.
fn terms(text: &ClaimText, figure: &Figure, names: &Names) -> Checked<Vec<Term>> {
    let measures = listed("measure", &text.measure, names.measures)?;
    let over_arms = text.over.as_ref().map(|over| listed("arm", over, names.arms)).transpose()?;
    let over_case = text.over_case.as_ref().map(|over| index("case", over, names.cases)).transpose()?;
    let rank = rank(text, over_arms.as_ref().map_or(1, Vec::len))?;
    let mut found = Vec::new();
    for case in indices("case", text.cases.as_ref(), names.cases)? {
        for name in &text.of {
            let of = Setup { case, arm: index("arm", name, names.arms)? };
            let under = |arm: usize| Setup { case: over_case.unwrap_or(case), arm };
            let over = match (rank, &over_arms) {
                (Some(rank), Some(arms)) => Some(Over::Rank(rank, arms.iter().copied().map(under).collect())),
                (_, Some(arms)) => arms.first().copied().map(under).map(Over::Setup),
                (_, None) => over_case.map(|_| Over::Setup(under(of.arm))),
            };
            let to_itself = over == Some(Over::Setup(of));
            let term = |measure| Term { measure, of, over: over.clone() };
            let added: Vec<Term> = measures.iter().copied().map(term).collect();
            for Setup { case, arm } in added.iter().flat_map(Term::setups) {
                if !figure.cases[case].arms.contains(&arm) {
                    let problem =
                        format!("arm {:?} does not run in case {:?}", names.arms[arm], names.cases[case]);
                    return wrong(name, problem, "name other `cases`");
                }
            }
            if to_itself {
                return wrong(
                    name,
                    "a ratio of a number to itself",
                    "name another arm or case under the fraction bar",
                );
            }
            found.extend(added);
        }
    }
    let by_seed = |term: &Term| figure.measures[term.measure].over_seeds == OverSeeds::Median;
    if (rank.is_some() || text.across.is_some()) && !found.iter().all(by_seed) {
        return wrong(
            &text.id,
            "`rank` and `across` take medians over seeds",
            "give the measure no `over_seeds`",
        );
    }
    Ok(found)
}

/// The rank of the denominator among so many arms, if it is given by rank.
fn rank(text: &ClaimText, arms: usize) -> Checked<Option<usize>> {
    match (&text.rank, &text.over) {
        (None, Some(over)) if arms != 1 => {
            let over = Name::new(over.span(), String::new());
            wrong(&over, "several arms under the fraction bar", "name one, or say which by its `rank`")
        }
        (Some(rank), _) if *rank.get_ref() < 1 || *rank.get_ref() > arms || text.over.is_none() => {
            let at = Name::new(rank.span(), String::new());
            wrong(&at, "no arm of `over` has this rank", format!("write 1 to {arms}, the smallest first"))
        }
        (rank, _) => Ok(rank.as_ref().map(|rank| *rank.get_ref())),
    }
}

/// Tables of numbers name only what the claim is about.
fn keys(text: &ClaimText, names: &Names) -> Checked<()> {
    let cases: Vec<usize> = indices("case", text.cases.as_ref(), names.cases)?;
    let mut known = Vec::new();
    for of in &text.of {
        known.push(of.get_ref().clone());
        known.extend(cases.iter().map(|case| format!("{}/{}", names.cases[*case], of.get_ref())));
    }
    known.extend(cases.iter().map(|case| names.cases[*case].clone()));
    let tables = [&text.paper_text, &text.paper_plot, &text.artifact_rerun];
    for table in tables.into_iter().flatten() {
        if let Numbers::Each(table) = table {
            for key in table.keys() {
                index("CASE/ARM of the claim", key, &known)?;
            }
        }
    }
    Ok(())
}

/// Names and printed numbers are those of the first term.
fn claim(text: &ClaimText, figure: &Figure, terms: Vec<Term>) -> Checked<Claim> {
    let Term { measure, of, over } = terms[0].clone();
    let (at, arm) = (&figure.cases[of.case], &figure.arms[of.arm]);
    let number = |numbers: &Option<Numbers>| numbers.as_ref().and_then(|n| n.of(&at.name, &arm.name));
    let bar = |point: Setup| figure.printed(point.case, point.arm, measure);
    let drawn = match over {
        _ if text.across.is_some() => None,
        None => bar(of),
        Some(Over::Setup(over)) => bar(of).zip(bar(over)).map(|(of, over)| of / over),
        Some(Over::Rank(..)) => None,
    };
    let paper_plot = number(&text.paper_plot).or(drawn);
    let paper_text = number(&text.paper_text);
    let taken = &figure.measures[measure];
    let rule = rule(text, terms[0].over.is_some() || taken.per.is_some(), paper_plot.or(paper_text))?;
    let fill = |template: &str, case: &str, of: &str, measure: &str| {
        template.replace("{case}", case).replace("{of}", of).replace("{measure}", measure)
    };
    Ok(Claim {
        id: format!("{}-{}", figure.slug(), fill(text.id.get_ref(), &at.name, &arm.name, &taken.name)),
        text: fill(&text.text, &at.label, &arm.label, &taken.label),
        place: text.place.clone().unwrap_or_else(|| figure.place.clone()),
        terms,
        across: text.across,
        rule,
        paper_text,
        paper_plot,
        artifact_rerun: number(&text.artifact_rerun),
        profile: arm.profile.clone().unwrap_or_else(|| at.profile.clone()),
        note: text.note.clone(),
    })
}

fn rule(text: &ClaimText, is_ratio: bool, printed: Option<f64>) -> Checked<Rule> {
    let name = &text.id;
    let is_band = text.rule == RuleText::Band;
    if !is_band && !is_ratio {
        return wrong(
            name,
            "this rule is of a ratio, and there is no `over`",
            "name the arm under the fraction bar, or `over_case`, or give the measure a `per`",
        );
    }
    if !is_band && (text.low.is_some() || text.high.is_some()) {
        return wrong(name, "`low` and `high` are for the rule \"band\"", "remove them");
    }
    match text.rule {
        RuleText::Equal => Ok(Rule::Equal),
        RuleText::Order => Ok(Rule::Order),
        RuleText::NotBelow => Ok(Rule::NotBelow),
        RuleText::Factor => match printed.filter(|factor| *factor > 0.0 && *factor != 1.0) {
            Some(factor) => Ok(Rule::Factor(factor)),
            None => wrong(
                name,
                "no printed factor other than 1",
                "give `paper_plot` or `paper_text`, printed values, or the rule \"equal\"",
            ),
        },
        RuleText::Band => match (text.low, text.high) {
            (None, None) => wrong(name, "a band without ends", "give `low`, `high` or both"),
            (Some(low), Some(high)) if low >= high => {
                wrong(name, "`low` is not below `high`", "exchange them")
            }
            (low, high) => Ok(Rule::Band(low, high)),
        },
    }
}

fn plot(text: &PlotText, names: &Names) -> Checked<Plot> {
    Ok(Plot {
        title: text.title.clone(),
        measure: index("measure", &text.measure, names.measures)?,
        kind: text.kind,
        log: text.log,
        arms: indices("arm", text.arms.as_ref(), names.arms)?,
        cases: indices("case", text.cases.as_ref(), names.cases)?,
    })
}
