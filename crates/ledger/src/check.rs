//! From `claims.toml` as it is written to a [`Figure`]: every name is known.

use crate::claims::claims;
use crate::computed;
use crate::error::{Checked, FigureError, wrong};
use crate::figure::{Arm, COMPUTED, Case, Computed, Figure, Measure, OverSeeds, Plot, SizeRuns};
use crate::names::{Names, cases_named, index, indices};
use crate::plan::key;
use crate::statement::Statements;
use crate::text::{ArmText, CaseText, FigureText, MeasureText, Name, PlotText, SizeText, UnitText};
use std::collections::BTreeSet;

/// Flows that a 99% quantile needs, and a 99.9% one.
const FLOWS_OF_P99: u64 = 1_000;
const FLOWS_OF_P999: u64 = 10_000;

/// Names that are ids, each once.
fn distinct(what: &str, names: impl Iterator<Item = Name>) -> Checked<Vec<String>> {
    let mut known = Vec::new();
    for name in names {
        let text = name.get_ref();
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if text.is_empty() || !text.chars().all(fits) {
            return wrong(&name, format!("{text:?} is not a name of a {what}"), "use a-z, 0-9 and -");
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

impl Figure {
    /// The figure in a `claims.toml`.
    ///
    /// # Errors
    /// A mistake in the text: the error names the place and the cure.
    pub fn parse(name: &str, text: &str, why: &str) -> Result<Self, FigureError> {
        let mut own = Statements::default();
        own.add(name, text)?;
        Self::parse_among(&own, name, text, why)
    }

    /// The figure in a `claims.toml`, whose claims may measure statements of the paper's other files.
    ///
    /// # Errors
    /// A mistake in the text: the error names the place and the cure.
    pub fn parse_among(
        statements: &Statements,
        name: &str,
        text: &str,
        why: &str,
    ) -> Result<Self, FigureError> {
        let written: FigureText =
            toml::from_str(text).map_err(|error| FigureError::written(name, text, &error))?;
        check(name, written, why, statements)
            .map_err(|(span, fault)| FigureError::at(name, text, span, fault))
    }
}

/// The figure that a text describes.
fn check(name: &str, written: FigureText, why: &str, statements: &Statements) -> Checked<Figure> {
    let cases = if written.case.is_empty() { vec![CaseText::lone()] } else { written.case };
    let case_names = distinct("case", cases.iter().map(|case| case.name.clone()))?;
    let arm_names = distinct("arm", written.arm.iter().map(|arm| arm.name.clone()))?;
    let measure_names = distinct("measure", written.measure.iter().map(|measure| measure.name.clone()))?;
    let ablated: Vec<Option<Name>> = cases.iter().map(|case| case.ablates.clone()).collect();
    // Ablations run at size small, unless another one names them.
    let size = |size: &SizeText, ablations: bool| -> Checked<SizeRuns> {
        let mut cases = indices("case", size.cases.as_ref(), &case_names)?;
        cases.retain(|case| ablations || size.cases.is_some() || ablated[*case].is_none());
        Ok(SizeRuns { seeds: seeds(&size.seeds)?, set: size.set.clone(), cases })
    };
    let sizes = [
        size(&written.size.smoke, false)?,
        size(&written.size.small, true)?,
        size(&written.size.full, false)?,
    ];
    let default = (written.scenario, written.profile);
    let cases: Checked<Vec<Case>> =
        cases.into_iter().map(|c| case(c, &default, &arm_names, &case_names)).collect();
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
    let names = Names { cases: &case_names, arms: &arm_names, measures: &measure_names, statements };
    ablations(&figure, &ablated)?;
    let mut ids = BTreeSet::new();
    let all = written.claim.iter().map(|claim| (true, claim));
    for (is_published, text) in all.chain(written.check.iter().map(|check| (false, check))) {
        for claim in claims(text, is_published, &figure, &names)? {
            if !ids.insert(claim.id.clone()) {
                return wrong(
                    &text.id,
                    format!("two claims have the id {:?}", claim.id),
                    "put {of}, {case} or {measure} into it",
                );
            }
            figure.claims.push(claim);
        }
    }
    let plots: Checked<Vec<Plot>> = written.plot.iter().map(|text| plot(text, &figure, &names)).collect();
    figure.plots = plots?;
    Ok(figure)
}

/// An ablation changes a case that is none itself, and has no arm that the case lacks. `names` are those that `ablates` names.
fn ablations(figure: &Figure, names: &[Option<Name>]) -> Checked<()> {
    for (case, name) in figure.cases.iter().zip(names) {
        let (Some(base), Some(name)) = (case.ablates.map(|base| &figure.cases[base]), name) else { continue };
        if base.ablates.is_some() {
            return wrong(name, "an ablation of an ablation", "name the case that both change");
        }
        let lost = base.set.iter().find(|set| !case.set.iter().any(|own| key(own) == key(set)));
        if case.scenario != base.scenario || lost.is_some() {
            let what = lost.map_or("scenario", String::as_str);
            let problem = format!("more than one change: {what:?} of case {:?} is not there", base.name);
            return wrong(name, problem, "repeat what the case sets, and change one thing of it");
        }
        if let Some(arm) = case.arms.iter().find(|arm| !base.arms.contains(arm)) {
            let problem = format!("arm {:?} does not run in case {:?}", figure.arms[*arm].name, base.name);
            return wrong(name, problem, "name `arms` that both have");
        }
    }
    Ok(())
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
            ablates: None,
            seeds: None,
        }
    }
}

fn case(
    text: CaseText,
    default: &(Option<String>, Option<String>),
    arms: &[String],
    cases: &[String],
) -> Checked<Case> {
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
        ablates: text.ablates.as_ref().map(|name| index("case", name, cases)).transpose()?,
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
            let each: Option<Vec<f64>> = cases.iter().map(|case| numbers.of(case, "").copied()).collect();
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
    if text.off_ideal && ideal.is_none() {
        return wrong(&text.name, format!("{name}: off which ideal?"), "give the measure its `ideal`");
    }
    if text.off_ideal && text.unit != UnitText::Number {
        return wrong(
            &text.name,
            format!("{name}: how far off is a share"),
            "leave its `unit` out; print 0.56% as it is",
        );
    }
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
        off_ideal: text.off_ideal,
        unit: text.unit,
        least_flows: text.least_flows.unwrap_or(default),
        over_seeds: text.over_seeds,
        table: text.table,
        name,
    })
}

fn plot(text: &PlotText, figure: &Figure, names: &Names) -> Checked<Plot> {
    Ok(Plot {
        title: text.title.clone(),
        measure: index("measure", &text.measure, names.measures)?,
        kind: text.kind,
        log: text.log,
        arms: indices("arm", text.arms.as_ref(), names.arms)?,
        cases: cases_named(text.cases.as_ref(), figure, names)?,
    })
}
