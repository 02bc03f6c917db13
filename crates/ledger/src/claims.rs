//! From a `[[claim]]` or `[[check]]` as it is written to claims: each can be judged.

use crate::error::{Checked, wrong};
use crate::figure::{Across, Claim, Figure, Over, OverSeeds, Setup, Term};
use crate::names::{Names, cases_named, index};
use crate::statement::{Fill, Source, StatementText, Statements};
use crate::text::{ClaimText, Name, Numbers, OneOrMore, RuleText};
use crate::verdict::Rule;
use toml::Spanned;

/// The claims that one entry makes: one for each case, arm and measure that it names, or one across all of them.
pub(crate) fn claims(
    text: &ClaimText,
    is_published: bool,
    figure: &Figure,
    names: &Names,
) -> Checked<Vec<Claim>> {
    keys(text, figure, names)?;
    match (&text.statement, is_published) {
        (None, true) => {
            let cure = "name it in `statement`; a number of our own is a [[check]]";
            return wrong(&text.id, "a claim without a statement of the paper", cure);
        }
        (Some(statement), false) => {
            return wrong(
                statement,
                "a check of our own has no statement",
                "remove it, or make it a [[claim]]",
            );
        }
        _ => {}
    }
    let terms = terms(text, figure, names)?;
    let mut setups = terms.iter().flat_map(Term::setups);
    if is_published && setups.any(|setup| figure.cases[setup.case].ablates.is_some()) {
        return wrong(
            &text.id,
            "a claim of an ablation",
            "a paper states nothing of it: make it a [[check]]",
        );
    }
    if terms.is_empty() {
        return wrong(&text.id, "no claim comes of this", "name an arm in `of`, and a case");
    }
    if text.across.is_none() {
        return terms.into_iter().map(|term| claim(text, figure, names, vec![term])).collect();
    }
    if text.id.get_ref().contains('{') || text.text.contains('{') {
        return wrong(&text.id, "one claim across several has no {case}, {of} or {measure}", "remove it");
    }
    if text.across == Some(Across::Mean) && text.rank.is_some() {
        return wrong(&text.id, "a mean over one of several arms by rank", "name one arm in `over`");
    }
    if text.across == Some(Across::Slope) {
        let xs: Vec<f64> = terms.iter().filter_map(|term| figure.cases[term.of.case].x).collect();
        let is_one =
            terms.iter().all(|term| (term.measure, term.of.arm) == (terms[0].measure, terms[0].of.arm));
        let differ = xs.iter().any(|x| *x != xs[0]);
        if !is_one || !differ || xs.len() < terms.len() || !xs.iter().all(|x| *x > 0.0) {
            let cure = "name one arm, one measure, and two cases or more, each with an `x` above 0";
            return wrong(&text.id, "no slope comes of this", cure);
        }
    }
    Ok(vec![claim(text, figure, names, terms)?])
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
    for case in cases_named(text.cases.as_ref(), figure, names)? {
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
fn keys(text: &ClaimText, figure: &Figure, names: &Names) -> Checked<()> {
    let cases: Vec<usize> = cases_named(text.cases.as_ref(), figure, names)?;
    let mut known = Vec::new();
    for of in &text.of {
        known.push(of.get_ref().clone());
        known.extend(cases.iter().map(|case| format!("{}/{}", names.cases[*case], of.get_ref())));
    }
    known.extend(cases.iter().map(|case| names.cases[*case].clone()));
    if let Some(Numbers::Each(table)) = &text.artifact_rerun {
        for key in table.keys() {
            index("CASE/ARM of the claim", key, &known)?;
        }
    }
    Ok(())
}

/// The statement that a claim measures, with its key.
fn statement<'a>(
    text: &ClaimText,
    figure: &Figure,
    names: &Names<'a>,
) -> Checked<Option<(String, &'a StatementText)>> {
    let Some(name) = &text.statement else { return Ok(None) };
    let own = figure.name.rsplit('/').next().unwrap_or_default();
    if let Some(found) = names.statements.of(own, name.get_ref()) {
        return Ok(Some(found));
    }
    let short = |key: &str| key.strip_prefix(&format!("{own}/")).unwrap_or(key).to_owned();
    let known: Vec<String> = names.statements.keys().map(short).collect();
    index("statement", name, &known).map(|_| None)
}

/// Names and printed numbers are those of the first term.
fn claim(text: &ClaimText, figure: &Figure, names: &Names, terms: Vec<Term>) -> Checked<Claim> {
    let Term { measure, of, .. } = terms[0];
    let (at, arm, taken) = (&figure.cases[of.case], &figure.arms[of.arm], &figure.measures[measure]);
    let fill = Fill {
        case: (&at.name, &at.label),
        of: (&arm.name, &arm.label),
        measure: (&taken.name, &taken.label),
    };
    let is_ratio = terms[0].over.is_some() || text.across == Some(Across::Slope);
    let stated = statement(text, figure, names)?;
    let number = match &stated {
        Some((_, stated)) => stated
            .number(&fill, taken.unit, is_ratio, taken.per.is_some())
            .map_err(|fault| (Some(text.id.span()), fault))?,
        None => None,
    };
    let bars = drawn(text, figure, &terms[0]);
    let is_of_plot = stated.as_ref().is_some_and(|(_, stated)| stated.source() == Source::Plot);
    let printed = match &stated {
        Some((_, stated)) if stated.prints() || !is_of_plot => number,
        _ => bars,
    };
    let rule = rule(text, is_ratio || taken.per.is_some(), printed)?;
    if let Some((_, stated)) = stated.as_ref().filter(|(_, stated)| stated.prints())
        && matches!(rule, Rule::Order | Rule::NotBelow | Rule::Equal | Rule::Word(_) | Rule::Band(..))
    {
        let problem =
            format!("statement {:?} prints a number, and this rule does not look at it", stated.id.get_ref());
        return wrong(&text.id, problem, "give the rule \"factor\", \"value\", \"at-most\" or \"at-least\"");
    }
    let statement =
        stated.as_ref().map(|(key, stated)| Statements::filled(figure.paper(), key, stated, &fill));
    Ok(Claim {
        id: format!("{}-{}", figure.slug(), fill.id(text.id.get_ref())),
        statement,
        text: fill.text(&text.text),
        terms,
        across: text.across,
        rule,
        paper_text: number.filter(|_| !is_of_plot),
        paper_plot: number.filter(|_| is_of_plot).or(bars),
        artifact_rerun: text.artifact_rerun.as_ref().and_then(|n| n.of(&at.name, &arm.name)).copied(),
        profile: arm.profile.clone().unwrap_or_else(|| at.profile.clone()),
        note: text.note.clone(),
    })
}

/// The number of the bars that a claim is about.
fn drawn(text: &ClaimText, figure: &Figure, Term { measure, of, over }: &Term) -> Option<f64> {
    let bar = |point: Setup| figure.printed(point.case, point.arm, *measure);
    match over {
        _ if text.across.is_some() => None,
        None => bar(*of),
        Some(Over::Setup(over)) => bar(*of).zip(bar(*over)).map(|(of, over)| of / over),
        Some(Over::Rank(..)) => None,
    }
}

/// `printed` is the paper's number.
fn rule(text: &ClaimText, is_ratio: bool, printed: Option<f64>) -> Checked<Rule> {
    let name = &text.id;
    let needs_a_ratio = matches!(
        text.rule,
        RuleText::Factor | RuleText::Equal | RuleText::Order | RuleText::NotBelow | RuleText::Word
    );
    if needs_a_ratio && !is_ratio {
        return wrong(
            name,
            "this rule is of a ratio, and there is no `over`",
            "name the arm under the fraction bar, or `over_case`, or give the measure a `per`",
        );
    }
    let has_ends = matches!(text.rule, RuleText::Band | RuleText::Word);
    if !has_ends && (text.low.is_some() || text.high.is_some()) {
        return wrong(name, "`low` and `high` are for the rules \"band\" and \"word\"", "remove them");
    }
    let number = || match printed {
        Some(number) if number > 0.0 => Ok(number),
        Some(_) => wrong(name, "the printed number is not above 0", "give the rule \"band\""),
        None => wrong(
            name,
            "no printed number",
            "give the statement its `paper`, or with the source \"plot\" printed values",
        ),
    };
    match text.rule {
        RuleText::Equal => Ok(Rule::Equal),
        RuleText::Order => Ok(Rule::Order),
        RuleText::NotBelow => Ok(Rule::NotBelow),
        RuleText::Value => number().map(Rule::Value),
        RuleText::AtMost => number().map(|number| Rule::AtMost(number, is_ratio)),
        RuleText::AtLeast => number().map(|number| Rule::AtLeast(number, is_ratio)),
        RuleText::Factor => match number()? {
            1.0 => wrong(name, "no printed factor other than 1", "give the rule \"equal\""),
            factor => Ok(Rule::Factor(factor)),
        },
        RuleText::Word => match (text.low, text.high) {
            (Some(low), None) if low > 1.0 => Ok(Rule::Word(low)),
            (None, Some(high)) if high > 0.0 && high < 1.0 => Ok(Rule::Word(high)),
            _ => wrong(name, "the rule \"word\" has one bound", "give a `low` above 1 or a `high` below 1"),
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
