//! Paired ratios of arms, and why some do not pair.

use crate::group::{Arm, Group, differences, group, groups};
use crate::load::{ReportError, Run};
use farspan_metrics::{FlowRow, Measure, measures, summarize};
use serde::Serialize;
use serde_json::Value;

/// Below so many seeds no interval of the median reaches 95%: with n seeds its widest misses it with chance 2 x 0.5^n.
const SEEDS_FOR_AN_INTERVAL: usize = 6;

/// The arms of one scenario, beside one of them.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// The arm that is the denominator of every ratio.
    pub baseline: String,
    /// Every arm, in the order in which they were given.
    pub runs: Vec<Side>,
    /// Every arm but the baseline, over the baseline.
    pub ratios: Vec<Ratios>,
    /// Keys of the scenario that differ from the baseline's, the scheme's aside.
    pub differences: Vec<Difference>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// The numbers that tables show.
    #[serde(skip)]
    pub measures: Vec<Measure>,
}

/// One arm.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// What tables call it.
    pub name: String,
    /// Its scheme.
    pub scheme: String,
    /// Its profile.
    pub profile: String,
    /// Folders of its runs.
    pub folders: Vec<String>,
    /// Seeds of the runs that were not interrupted.
    pub seeds: Vec<u64>,
    /// The spread of every number over them, in the shape of a run's document.
    pub summary: Value,
}

/// An arm over the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Ratios {
    /// The numerator.
    pub name: String,
    /// Seeds that both have.
    pub seeds: Vec<u64>,
    /// In the shape of a run's document, each number replaced by its ratios by seed, their median and its 95% interval.
    pub fields: Value,
}

/// A key of the scenario that differs.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// The arm.
    pub name: String,
    /// The key.
    pub key: String,
    /// Its value in the baseline.
    pub baseline: String,
    /// Its value in the arm.
    pub value: String,
}

/// Sets the runs of some folders side by side: those of each scenario, or all if each folder holds one scenario only.
///
/// `baseline` names the denominator; without it, it is what the first folder holds.
///
/// # Errors
/// If there is nothing to compare, no arm is called as `baseline` says, or the runs do not pair: other flows, or no seed in
/// common.
pub fn compare(runs: Vec<Run>, baseline: Option<&str>) -> Result<(Vec<Comparison>, Vec<Group>), ReportError> {
    let groups = side_by_side(runs);
    let comparable: Vec<_> = groups.iter().filter(|group| group.arms.len() > 1).collect();
    if comparable.is_empty() {
        return Err(ReportError::Unpaired {
            problem: format!("nothing to compare: there is one arm, {}", arm_names(&groups)),
            cure: "give two folders, or one with runs of several schemes".to_owned(),
        });
    }
    let comparisons: Result<Vec<_>, _> =
        comparable.iter().map(|group| compare_group(group, baseline, true)).collect();
    Ok((comparisons?, groups))
}

fn side_by_side(runs: Vec<Run>) -> Vec<Group> {
    let roots = runs.iter().map(|run| run.root).max().map_or(0, |last| last + 1);
    let lone = (0..roots).all(|root| {
        let mut names = runs.iter().filter(|run| run.root == root).map(|run| run.text("scenario"));
        let first = names.next();
        names.all(|name| Some(name) == first)
    });
    if roots < 2 || !lone {
        return groups(runs);
    }
    let mut names: Vec<String> = Vec::new();
    for run in &runs {
        let name = run.text("scenario").to_owned();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    vec![group(names.join(", "), runs)]
}

fn arm_names(groups: &[Group]) -> String {
    let arms = groups.iter().flat_map(|group| &group.arms);
    arms.map(|arm| format!("{:?}", arm.name)).collect::<Vec<_>>().join(", ")
}

/// Compares the arms of a group. What does not pair is an error if `strict`, else a note.
pub(crate) fn compare_group(
    group: &Group,
    baseline: Option<&str>,
    strict: bool,
) -> Result<Comparison, ReportError> {
    let base = match baseline {
        None => &group.arms[0],
        Some(name) => {
            group.arms.iter().find(|arm| arm.name == name).ok_or_else(|| ReportError::Unpaired {
                problem: format!("--baseline {name}: {} has no such runs", group.name),
                cure: format!("there are {}", arm_names(std::slice::from_ref(group))),
            })?
        }
    };
    let documents: Vec<_> = group.arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
    let mut comparison = Comparison {
        scenario: group.name.clone(),
        baseline: base.name.clone(),
        runs: group.arms.iter().map(side).collect(),
        ratios: Vec::new(),
        differences: Vec::new(),
        notes: group.notes.clone(),
        measures: measures(&documents),
    };
    comparison.notes.extend(group.arms.iter().filter_map(interrupted));
    for arm in group.arms.iter().filter(|arm| arm.name != base.name) {
        let difference = |(key, baseline, value)| Difference { name: arm.name.clone(), key, baseline, value };
        comparison.differences.extend(differences(&base.runs[0], &arm.runs[0]).into_iter().map(difference));
        match paired(base, arm, &mut comparison.notes) {
            Ok(ratios) => comparison.ratios.push(ratios),
            Err(error) if strict => return Err(error),
            Err(error) => comparison.notes.push(error.to_string()),
        }
    }
    few_seeds(&mut comparison);
    Ok(comparison)
}

fn side(arm: &Arm) -> Side {
    let whole: Vec<&Run> = complete(arm).collect();
    let documents: Vec<Value> = whole.iter().map(|run| run.summary.clone()).collect();
    Side {
        name: arm.name.clone(),
        scheme: arm.runs[0].text("scheme").to_owned(),
        profile: arm.runs[0].text("profile").to_owned(),
        folders: arm.runs.iter().map(|run| run.folder.display().to_string()).collect(),
        seeds: whole.iter().map(|run| run.seed()).collect(),
        summary: summarize(&documents),
    }
}

fn complete(arm: &Arm) -> impl Iterator<Item = &Run> {
    arm.runs.iter().filter(|run| !run.partial())
}

fn interrupted(arm: &Arm) -> Option<String> {
    let seeds: Vec<u64> = arm.runs.iter().filter(|run| run.partial()).map(Run::seed).collect();
    (!seeds.is_empty()).then(|| {
        format!("{}: the runs of seeds {} were interrupted and are left out", arm.name, list(&seeds))
    })
}

fn few_seeds(comparison: &mut Comparison) {
    let most = comparison.ratios.iter().map(|ratios| ratios.seeds.len()).max().unwrap_or(0);
    if most == 1 {
        comparison.notes.push("one seed: a ratio, but no interval; run with --seeds 1..10".to_owned());
    } else if (1..SEEDS_FOR_AN_INTERVAL).contains(&most) {
        comparison.notes.push(format!(
            "{most} seeds: an interval of the median reaches 95% from {SEEDS_FOR_AN_INTERVAL} seeds on; these are narrower"
        ));
    }
}

/// The ratios of an arm over the baseline, over the seeds that both have.
fn paired(base: &Arm, arm: &Arm, notes: &mut Vec<String>) -> Result<Ratios, ReportError> {
    let pairs: Vec<(&Run, &Run)> =
        complete(base).filter_map(|a| complete(arm).find(|b| b.seed() == a.seed()).map(|b| (a, b))).collect();
    let only = |of: &Arm, other: &Arm| -> Vec<u64> {
        complete(of).map(Run::seed).filter(|seed| !complete(other).any(|run| run.seed() == *seed)).collect()
    };
    let (here, there) = (only(base, arm), only(arm, base));
    if pairs.is_empty() {
        return Err(ReportError::Unpaired {
            problem: format!(
                "no seed in common: {} has {}, {} has {}",
                base.name,
                list(&here),
                arm.name,
                list(&there)
            ),
            cure: "run both with the same --seeds".to_owned(),
        });
    }
    for (name, seeds) in [(&base.name, here), (&arm.name, there)] {
        if !seeds.is_empty() {
            notes.push(format!("{} over {}: only {name} has seeds {}", arm.name, base.name, list(&seeds)));
        }
    }
    for (a, b) in &pairs {
        same_flows(a, b).map_err(|difference| ReportError::Unpaired {
            problem: format!("{} and {} do not pair at seed {}: {difference}", base.name, arm.name, a.seed()),
            cure: "run both with the same topology, workload and seeds".to_owned(),
        })?;
    }
    let later = pairs.iter().map(|(a, b)| other_starts(a, b)).max().unwrap_or(0);
    if later > 0 {
        notes.push(format!(
            "{} over {}: up to {later} flows start at other times; where flows wait for others, a scheme decides that",
            arm.name, base.name
        ));
    }
    let below: Vec<(u64, &Value)> = pairs.iter().map(|(run, _)| (run.seed(), &run.summary)).collect();
    let above: Vec<(u64, &Value)> = pairs.iter().map(|(_, run)| (run.seed(), &run.summary)).collect();
    Ok(Ratios {
        name: arm.name.clone(),
        seeds: pairs.iter().map(|(run, _)| run.seed()).collect(),
        fields: farspan_metrics::compare(&above, &below),
    })
}

/// Whether two runs have the same flows; where they first differ.
fn same_flows(a: &Run, b: &Run) -> Result<(), String> {
    let text =
        |flow: &FlowRow| format!("{} -> {}, {} B, tag {:?}", flow.src, flow.dst, flow.size_bytes, flow.tag);
    let key = |flow: &FlowRow| (flow.flow_id, flow.src, flow.dst, flow.size_bytes);
    for (here, there) in a.flows.iter().zip(&b.flows) {
        if key(here) != key(there) || here.tag != there.tag {
            return Err(format!("flow {} is {} here and {} there", here.flow_id, text(here), text(there)));
        }
    }
    if a.flows.len() != b.flows.len() {
        return Err(format!("{} flows here, {} there", a.flows.len(), b.flows.len()));
    }
    Ok(())
}

fn other_starts(a: &Run, b: &Run) -> usize {
    let starts = a.flows.iter().zip(&b.flows).filter_map(|(a, b)| Some((a.start_ns?, b.start_ns?)));
    starts.filter(|(a, b)| a != b).count()
}

/// Seeds as a reader likes them: `1..5, 8`.
pub(crate) fn list(seeds: &[u64]) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for &seed in seeds {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(seed) => *last = seed,
            _ => ranges.push((seed, seed)),
        }
    }
    let text = |&(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}..{last}") }
    };
    ranges.iter().map(text).collect::<Vec<_>>().join(", ")
}
