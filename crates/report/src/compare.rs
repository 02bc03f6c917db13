//! Paired ratios of arms, and why some do not pair.

use crate::axes::differences;
use crate::group::{Arm, Group, group, groups};
use crate::load::ReportError;
use crate::notes::{Note, faults_notes, interrupted, other_program, unended_note, warnings};
use crate::run::Run;
use crate::seeds::{interval_note, list};
use crate::setup::{Sums, setup, setups};
use crate::verdict::{Verdict, bottleneck_note, of_bottleneck, timeouts_note, verdicts};
use farspan_metrics::{FlowRow, Measure, Setup, SetupComparison, bottleneck, few_names, measures, summarize};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// The arms of one scenario, beside one of them.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The scenario's name.
    pub scenario: String,
    /// The arm that is the denominator of every ratio.
    pub baseline: String,
    /// Which parts of the schemes, beside the congestion control, all arms have in common, and in which they differ; null where an arm does
    /// not say.
    pub setup: Option<SetupComparison>,
    /// Every arm, the baseline first.
    pub runs: Vec<Side>,
    /// Every arm but the baseline, over the baseline.
    pub ratios: Vec<Ratios>,
    /// The verdict on each number that tables show: which arm is best, or between which there is no difference.
    pub verdicts: Vec<Verdict>,
    /// Keys of the scenario that differ from the baseline's; those of the scheme only if both have the same.
    pub differences: Vec<Difference>,
    /// Notes for the reader.
    pub notes: Vec<Note>,
    /// Warnings of the runs, each after the arms that bring it unless all do.
    pub warnings: Vec<String>,
    /// The numbers that tables show.
    #[serde(skip)]
    pub measures: Vec<Measure>,
}

/// One arm.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Its name in tables.
    pub name: String,
    /// Its scheme.
    pub scheme: String,
    /// Its profile.
    pub profile: String,
    /// Folders of its runs.
    pub folders: Vec<String>,
    /// Seeds of the runs that were not interrupted.
    pub seeds: Vec<u64>,
    /// The ports that were the bottleneck of one of them, each once; one, as a rule.
    pub bottlenecks: Vec<String>,
    /// The parts of its scheme beside its congestion control.
    pub setup: Option<Setup>,
    /// Sums over its runs.
    pub sums: Sums,
    /// The spread of every number over them, in the shape of a run's document.
    pub summary: Value,
}

impl Side {
    /// The port that its numbers of the bottleneck are of; of several, how many. `None` if there is none.
    #[must_use]
    pub fn port(&self) -> Option<String> {
        match &*self.bottlenecks {
            [] => None,
            [port] => Some(port.clone()),
            ports => Some(format!("{} ports", ports.len())),
        }
    }
}

impl Comparison {
    /// The heading of a number's row. Where the bottleneck is one port in all runs, its rows name it.
    #[must_use]
    pub fn heading(&self, measure: &Measure) -> String {
        let port = self.runs.iter().flat_map(|side| &side.bottlenecks).next();
        match port.filter(|_| measure.is_of_bottleneck() && !self.names_ports(measure)) {
            Some(port) => format!("{} ({port})", measure.name),
            None => measure.name.clone(),
        }
    }

    /// Whether the entries of a number name the ports that they are of: the bottleneck is not one port in all runs.
    #[must_use]
    pub fn names_ports(&self, measure: &Measure) -> bool {
        let first = self.runs.first().map(|side| &side.bottlenecks);
        let is_one = |side: &Side| side.bottlenecks.len() == 1 && Some(&side.bottlenecks) == first;
        measure.is_of_bottleneck() && !self.runs.iter().all(is_one)
    }

    /// Lines for the head of a table or a page.
    #[must_use]
    pub fn head(&self) -> Vec<String> {
        let lone = self.runs.len() < 2;
        let mut lines = match (&self.setup, self.runs.first().and_then(|side| side.setup.as_ref())) {
            (_, Some(setup)) if lone => vec![setup.line()],
            (Some(setups), _) => setups.lines(),
            (None, _) => Vec::new(),
        };
        let seeds = self.runs.iter().any(|side| side.seeds.len() > 1);
        let of = if seeds { "acted (all seeds together)" } else { "acted" };
        let said = |side: &Side| {
            let name = if lone { String::new() } else { format!(", {}", side.name) };
            (of.to_owned() + &name, side.sums.line())
        };
        let sums = self.runs.iter().map(said).filter(|(_, line)| !line.is_empty());
        lines.extend(sums.map(|(name, line)| format!("{name}: {line}")));
        lines
    }
}

/// An arm over the baseline.
#[derive(Clone, Debug, Serialize)]
pub struct Ratios {
    /// The numerator's index among the arms.
    #[serde(skip)]
    pub arm: usize,
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
/// `baseline` names the denominator, which comes first in the groups; without it, it is what the first folder holds.
///
/// # Errors
/// If there is nothing to compare, a run is given twice, no arm is called as `baseline` says, or the runs do not pair: other flows, or no seed in
/// common.
pub fn compare(runs: Vec<Run>, baseline: Option<&str>) -> Result<(Vec<Comparison>, Vec<Group>), ReportError> {
    given_once(&runs)?;
    let mut groups = side_by_side(runs);
    if let Some(name) = baseline {
        groups.iter_mut().filter(|group| group.arms.len() > 1).try_for_each(|group| lead(group, name))?;
    }
    Ok((comparisons(&groups)?, groups))
}

/// The comparisons of the groups that have several arms, over the first of each; see [`compare`].
///
/// # Errors
/// If no group has, or the runs do not pair.
pub fn comparisons(groups: &[Group]) -> Result<Vec<Comparison>, ReportError> {
    let comparable: Vec<_> = groups.iter().filter(|group| group.arms.len() > 1).collect();
    if comparable.is_empty() {
        return Err(ReportError::Unpaired {
            problem: format!("nothing to compare: there are only runs of {}", arm_names(groups)),
            cure: "give two folders, or one with runs of several schemes".to_owned(),
        });
    }
    comparable.iter().map(|group| compare_group(group, true)).collect()
}

/// A run beside itself would show that a scheme is as good as itself.
fn given_once(runs: &[Run]) -> Result<(), ReportError> {
    let mut known = BTreeSet::new();
    let place = |run: &Run| run.folder.canonicalize().unwrap_or_else(|_| run.folder.clone());
    match runs.iter().find(|run| !known.insert(place(run))) {
        None => Ok(()),
        Some(run) => Err(ReportError::Unpaired {
            problem: format!("the run in {} is given twice", run.folder.display()),
            cure: "give folders of different runs, none within another".to_owned(),
        }),
    }
}

fn side_by_side(runs: Vec<Run>) -> Vec<Group> {
    let roots = runs.iter().map(|run| run.root).max().map_or(0, |last| last + 1);
    let lone = (0..roots).all(|root| {
        let mut names = runs.iter().filter(|run| run.root == root).map(Run::title);
        let first = names.next();
        names.all(|name| Some(name) == first)
    });
    if roots < 2 || !lone {
        return groups(runs);
    }
    let mut names: Vec<String> = Vec::new();
    for run in &runs {
        let name = run.title();
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

/// Puts the arm of this name first: what ratios are over stands left of what is over it.
fn lead(group: &mut Group, name: &str) -> Result<(), ReportError> {
    let place = group.arms.iter().position(|arm| arm.name == name).ok_or_else(|| ReportError::Unpaired {
        problem: format!("--baseline {name}: {} has no such runs", group.name),
        cure: format!("there are {}", arm_names(std::slice::from_ref(group))),
    })?;
    group.arms[..=place].rotate_right(1);
    Ok(())
}

/// Compares the arms of a group with its first. What does not pair is an error if `strict`, else a note.
pub(crate) fn compare_group(group: &Group, strict: bool) -> Result<Comparison, ReportError> {
    let base = &group.arms[0];
    let documents: Vec<_> = group.arms.iter().flat_map(|arm| &arm.runs).map(|run| &run.summary).collect();
    let mut before = group.notes.clone();
    before.extend(group.arms.iter().filter_map(interrupted));
    before.extend(group.arms.iter().filter_map(unended_note));
    before.extend(faults_notes(&group.arms));
    let mut notes = Vec::new();
    let mut comparison = Comparison {
        scenario: group.name.clone(),
        baseline: base.name.clone(),
        setup: setups(group),
        runs: group.arms.iter().map(side).collect(),
        ratios: Vec::new(),
        verdicts: Vec::new(),
        differences: Vec::new(),
        notes: Vec::new(),
        warnings: warnings(group),
        measures: measures(&documents),
    };
    comparison.verdicts = verdicts(&group.arms, &comparison.measures);
    for (i, arm) in group.arms.iter().enumerate().skip(1) {
        let difference = |(key, baseline, value)| Difference { name: arm.name.clone(), key, baseline, value };
        comparison.differences.extend(differences(&base.runs[0], &arm.runs[0]).into_iter().map(difference));
        notes.extend(other_program(base, arm));
        match paired(base, arm, &mut notes) {
            Ok(ratios) => comparison.ratios.push(Ratios { arm: i, ..ratios }),
            Err(error) if strict => return Err(error),
            Err(error) => notes.push(error.to_string()),
        }
    }
    notes.extend(few_seeds(&comparison));
    let of_numbers = [timeouts_note(&group.arms), bottleneck_note(&group.arms)].into_iter().flatten();
    let of_numbers =
        of_numbers.chain(ports_notes(&comparison.runs)).filter(|note| note.is_on(&comparison.measures));
    let before = before.into_iter().map(Note::from);
    comparison.notes = before.chain(of_numbers).chain(notes.into_iter().map(Note::from)).collect();
    Ok(comparison)
}

pub(crate) fn side(arm: &Arm) -> Side {
    let whole: Vec<&Run> = arm.complete().collect();
    let documents: Vec<Value> = whole.iter().map(|run| run.summary.clone()).collect();
    let bottlenecks: BTreeSet<&str> = documents.iter().map(bottleneck).collect();
    Side {
        name: arm.name.clone(),
        scheme: arm.runs[0].text("scheme").to_owned(),
        profile: arm.runs[0].text("profile").to_owned(),
        folders: arm.runs.iter().map(|run| run.folder.display().to_string()).collect(),
        seeds: whole.iter().map(|run| run.seed()).collect(),
        bottlenecks: bottlenecks.into_iter().filter(|port| !port.is_empty()).map(str::to_owned).collect(),
        setup: setup(arm),
        sums: Sums::of(arm),
        summary: summarize(&documents),
    }
}

/// The ports of arms whose bottleneck was not the same one in all runs: cells of tables only count them.
pub(crate) fn ports_notes(sides: &[Side]) -> Vec<Note> {
    let mut several: Vec<(&[String], Vec<&str>)> = Vec::new();
    for side in sides.iter().filter(|side| side.bottlenecks.len() > 1) {
        match several.iter_mut().find(|(ports, _)| *ports == side.bottlenecks) {
            Some((_, names)) => names.push(&side.name),
            None => several.push((&side.bottlenecks, vec![&side.name])),
        }
    }
    let note = |(ports, names): (&[String], Vec<&str>)| {
        let ports = few_names(ports.iter().map(String::as_str));
        of_bottleneck(format!("bottleneck of {}: {ports}", names.join(", ")))
    };
    several.into_iter().map(note).collect()
}

/// A note on the arm with the fewest seeds. It has no name where all arms have as few.
fn few_seeds(comparison: &Comparison) -> Option<String> {
    let count = |ratios: &Ratios| ratios.seeds.len();
    let fewest = comparison.ratios.iter().min_by_key(|ratios| count(ratios))?;
    let all = comparison.ratios.iter().all(|ratios| count(ratios) == count(fewest));
    let of = if all { String::new() } else { format!("{}: ", fewest.name) };
    interval_note(count(fewest)).map(|note| of + &note)
}

/// The ratios of an arm over the baseline, over the seeds that both have.
fn paired(base: &Arm, arm: &Arm, notes: &mut Vec<String>) -> Result<Ratios, ReportError> {
    if let Some(none) = [base, arm].into_iter().find(|arm| arm.complete().next().is_none()) {
        return Err(ReportError::Unpaired {
            problem: format!("{}: all its runs were interrupted", none.name),
            cure: "run it again and let it finish".to_owned(),
        });
    }
    let pairs: Vec<(&Run, &Run)> = base
        .complete()
        .filter_map(|a| arm.complete().find(|b| b.seed() == a.seed()).map(|b| (a, b)))
        .collect();
    let only = |of: &Arm, other: &Arm| -> Vec<u64> {
        of.complete().map(Run::seed).filter(|seed| !other.complete().any(|run| run.seed() == *seed)).collect()
    };
    let (here, there) = (only(base, arm), only(arm, base));
    if pairs.is_empty() {
        return Err(ReportError::Unpaired {
            problem: format!(
                "the runs share no seed: {} has {}, {} has {}",
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
            problem: format!(
                "{} and {} cannot be paired at seed {}: {difference}",
                base.name,
                arm.name,
                a.seed()
            ),
            cure: "run both with the same topology, workload and seeds".to_owned(),
        })?;
    }
    let later = pairs.iter().map(|(a, b)| other_starts(a, b)).max().unwrap_or(0);
    if later > 0 {
        notes.push(format!(
            "{} over {}: up to {later} flows start at different times, because they wait for other flows to finish",
            arm.name, base.name
        ));
    }
    let below: Vec<(u64, &Value)> = pairs.iter().map(|(run, _)| (run.seed(), &run.summary)).collect();
    let above: Vec<(u64, &Value)> = pairs.iter().map(|(_, run)| (run.seed(), &run.summary)).collect();
    Ok(Ratios {
        arm: 0,
        name: arm.name.clone(),
        seeds: pairs.iter().map(|(run, _)| run.seed()).collect(),
        fields: farspan_metrics::compare(&above, &below),
    })
}

/// How many seeds have a ratio in an entry of [`Ratios::fields`], and how many have none.
#[must_use]
pub fn pairs(entry: &Value) -> (u64, u64) {
    let pairs = entry.get("ratios").and_then(Value::as_array).map_or(0, Vec::len);
    (pairs as u64, entry.get("missing").and_then(Value::as_u64).unwrap_or(0))
}

/// Whether two runs have the same flows; where they first differ.
fn same_flows(a: &Run, b: &Run) -> Result<(), String> {
    let text =
        |flow: &FlowRow| format!("{} -> {}, {} B, tag {:?}", flow.src, flow.dst, flow.size_bytes, flow.tag);
    let key = |flow: &FlowRow| (flow.flow_id, flow.src, flow.dst, flow.size_bytes);
    for (here, there) in a.flows.iter().zip(&b.flows) {
        if key(here) != key(there) || here.tag != there.tag {
            return Err(format!(
                "flow {} is {} in one and {} in the other",
                here.flow_id,
                text(here),
                text(there)
            ));
        }
    }
    if a.flows.len() != b.flows.len() {
        return Err(format!("{} flows in one, {} in the other", a.flows.len(), b.flows.len()));
    }
    Ok(())
}

fn other_starts(a: &Run, b: &Run) -> usize {
    let starts = a.flows.iter().zip(&b.flows).filter_map(|(a, b)| Some((a.start_ns?, b.start_ns?)));
    starts.filter(|(a, b)| a != b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::testing::run;
    use farspan_metrics::PortRow;

    fn notes(runs: Vec<Run>) -> Vec<String> {
        let notes = compare(runs, None).unwrap().0.remove(0).notes;
        notes.into_iter().map(|note| note.text).collect()
    }

    fn refusal(runs: Vec<Run>) -> String {
        compare(runs, None).unwrap_err().to_string()
    }

    #[test]
    fn another_program_is_named() {
        let (a, b) = (run("uno", 1, "aaaaaaa", false, ""), run("uno", 1, "bbbbbbb", false, ""));
        let said = "uno (uno-bbbbbbb): run by farspan 1.0.0, commit bbbbbbb; uno (uno-aaaaaaa): by farspan 1.0.0, commit aaaaaaa";
        assert!(notes(vec![a.clone(), b]).contains(&said.to_owned()));
        let quiet = notes(vec![a, run("gemini", 1, "aaaaaaa", false, "")]);
        assert!(!quiet.iter().any(|note| note.contains("run by")), "{quiet:?}");
    }

    #[test]
    fn warnings_are_said_once_with_the_arms_that_bring_them() {
        let with = |scheme: &str, seed, warnings: &[&str]| {
            let mut run = run(scheme, seed, "a", false, "");
            run.summary["warnings"] = warnings.iter().copied().collect();
            run
        };
        let runs = vec![with("uno", 1, &["loses"]), with("hpcc", 1, &["lossy", "loses"])];
        assert_eq!(compare(runs, None).unwrap().0[0].warnings, ["loses", "hpcc: lossy"]);
        let runs = vec![
            with("uno", 1, &["loses 5 B"]),
            with("uno", 2, &["loses 6 B"]),
            with("hpcc", 1, &["loses 5 B", "lossy"]),
            with("hpcc", 2, &["loses 5 B"]),
        ];
        assert_eq!(
            compare(runs, None).unwrap().0[0].warnings,
            ["loses 5 B (4 of 4 runs; numbers differ in 1)", "hpcc: lossy (1 of 2 runs)"]
        );
    }

    #[test]
    fn faults_are_told_with_what_each_arm_lost_to_them() {
        let with = |scheme: &str, seed, lost: [u64; 2]| {
            let ports = [("a->b#0", "link_down 1ms to 2ms"), ("b->c#0", "black_hole from 0ns")];
            let port = |((name, faults), losses): ((&str, &str), u64)| PortRow {
                losses,
                faults: faults.into(),
                ..crate::picture::testing::port(name, 0.0)
            };
            let ports = ports.into_iter().zip(lost).map(port).collect();
            Run { ports, ..run(scheme, seed, "a", false, "") }
        };
        let runs = vec![with("uno", 1, [3, 0]), with("uno", 2, [4, 0]), with("gemini", 1, [0, 0])];
        let said: Vec<_> = notes(runs).into_iter().filter(|note| note.starts_with("fault")).collect();
        assert_eq!(
            said,
            [
                "fault: a->b#0 link_down 1ms to 2ms: packets lost, all seeds together: uno 7 (seeds: 2), gemini 0 (seeds: 1)",
                "fault: b->c#0 black_hole from 0ns: no packet met it"
            ]
        );
        let one = vec![with("uno", 1, [3, 0]), with("gemini", 1, [0, 0])];
        assert!(
            notes(one)
                .contains(&"fault: a->b#0 link_down 1ms to 2ms: packets lost: uno 3, gemini 0".to_owned())
        );
        let lone = compare_group(&groups(vec![with("uno", 1, [3, 0])])[0], false).unwrap();
        assert_eq!(lone.notes[0].text, "fault: a->b#0 link_down 1ms to 2ms: 3 packets lost");
        assert!(
            !notes(vec![run("uno", 1, "a", false, ""), run("gemini", 1, "a", false, "")])
                .join("")
                .contains("fault")
        );
    }

    #[test]
    fn arms_that_were_interrupted_say_so() {
        let runs = vec![run("uno", 1, "a", false, ""), run("gemini", 1, "a", true, "")];
        assert_eq!(refusal(runs), "gemini: all its runs were interrupted; run it again and let it finish");
    }

    #[test]
    fn a_run_is_not_compared_with_itself() {
        let first = run("uno", 1, "a", false, "");
        let twice = vec![first.clone(), Run { root: 1, ..first }];
        assert!(
            refusal(twice).starts_with("the run in /no/such/uno-a/seed-1 is given twice; give folders of")
        );
    }

    #[test]
    fn the_baseline_comes_first_and_the_others_keep_their_order() {
        let runs = ["uno", "gemini", "dctcp", "hpcc"].map(|scheme| run(scheme, 1, "a", false, "")).to_vec();
        let (comparisons, groups) = compare(runs.clone(), Some("dctcp")).unwrap();
        let names: Vec<&str> = comparisons[0].runs.iter().map(|side| side.name.as_str()).collect();
        assert_eq!(
            (comparisons[0].baseline.as_str(), names.join(" ")),
            ("dctcp", "dctcp uno gemini hpcc".to_owned())
        );
        assert_eq!(groups[0].arms.iter().map(|arm| arm.name.as_str()).collect::<Vec<_>>(), names);
        let over: Vec<_> =
            comparisons[0].ratios.iter().map(|ratios| (ratios.arm, ratios.name.as_str())).collect();
        assert_eq!(over, [(1, "uno"), (2, "gemini"), (3, "hpcc")]);
        let missing = compare(runs, Some("swift")).unwrap_err().to_string();
        assert!(
            missing.starts_with("--baseline swift: s has no such runs; there are \"uno\", "),
            "{missing}"
        );
    }

    #[test]
    fn rows_of_the_bottleneck_name_its_port() {
        let of = |scheme: &str, seed: u64, port: &str| {
            let mut run = run(scheme, seed, "a", false, "");
            run.summary["queues"] = serde_json::json!({"bottleneck": port, "bottleneck_mean_bytes": 1.0});
            run
        };
        let told = |runs: Vec<Run>| {
            let comparison = compare(runs, None).unwrap().0.remove(0);
            let measure = comparison.measures.iter().find(|measure| measure.is_of_bottleneck()).unwrap();
            let ports: Vec<_> = comparison.runs.iter().filter_map(Side::port).collect();
            (comparison.heading(measure), comparison.names_ports(measure), ports.join(" | "))
        };
        let one = told(vec![of("uno", 1, "a->b#0"), of("gemini", 1, "a->b#0")]);
        assert_eq!(one, ("bottleneck queue, mean (a->b#0)".to_owned(), false, "a->b#0 | a->b#0".to_owned()));
        let two = told(vec![of("uno", 1, "a->b#0"), of("uno", 2, "c->d#0"), of("gemini", 1, "a->b#0")]);
        assert_eq!(two, ("bottleneck queue, mean".to_owned(), true, "2 ports | a->b#0".to_owned()));
        let none = told(vec![of("uno", 1, ""), of("gemini", 1, "a->b#0")]);
        assert_eq!(none, ("bottleneck queue, mean".to_owned(), true, "a->b#0".to_owned()));
    }

    #[test]
    fn the_arm_with_the_fewest_seeds_has_the_note() {
        let runs =
            |scheme: &'static str, last: u64| (1..=last).map(move |seed| run(scheme, seed, "a", false, ""));
        let all = |few| runs("uno", 8).chain(runs("gemini", 8)).chain(runs("dctcp", few)).collect();
        let few = notes(all(3));
        assert!(few.iter().any(|note| note.starts_with("dctcp: 3 seeds: a 95% interval of")), "{few:?}");
        assert_eq!(notes(all(8)), Vec::<String>::new());
        let as_few =
            notes(["uno", "gemini", "dctcp"].into_iter().flat_map(|scheme| runs(scheme, 3)).collect());
        assert!(as_few.len() == 1 && as_few[0].starts_with("3 seeds: a 95% interval of"), "{as_few:?}");
    }
}
