//! Notes and warnings for the reader of a comparison.

use crate::group::{Arm, Group};
use crate::run::Run;
use crate::seeds::list;
use farspan_metrics::{FaultyLinks, Measure, Warned};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

/// A note for the reader.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Note {
    /// Its text.
    pub text: String,
    /// The numbers that it is about; `None`: the whole comparison.
    #[serde(skip)]
    pub about: Option<fn(&Measure) -> bool>,
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self { text, about: None }
    }
}

impl Note {
    /// Whether it belongs to a table of these numbers.
    pub fn is_on<'a>(&self, shown: impl IntoIterator<Item = &'a Measure>) -> bool {
        self.about.is_none_or(|about| shown.into_iter().any(about))
    }
}

/// The warnings in the runs' documents.
pub(crate) fn warnings(group: &Group) -> Vec<String> {
    let said = |run: &Run| {
        let warnings = run.summary.get("warnings").and_then(Value::as_array);
        warnings.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    warned(group, said)
}

/// Warnings of runs, each text after the arms that bring it unless all do.
pub(crate) fn warned(group: &Group, of_run: impl Fn(&Run) -> Vec<String>) -> Vec<String> {
    let runs =
        || group.arms.iter().enumerate().flat_map(|(arm, of)| of.runs.iter().map(move |run| (arm, run)));
    let said: Vec<(usize, Vec<String>)> = runs().map(|(arm, run)| (arm, of_run(run))).collect();
    let text = |warned: &Warned| {
        let arms: BTreeSet<usize> = warned.runs.iter().map(|run| said[*run].0).collect();
        let line = warned.line(said.iter().filter(|(arm, _)| arms.contains(arm)).count());
        if arms.len() == group.arms.len() {
            return line;
        }
        let names: Vec<&str> = arms.iter().map(|arm| group.arms[*arm].name.as_str()).collect();
        format!("{}: {line}", names.join(", "))
    };
    Warned::of(said.iter().map(|(_, texts)| texts.iter().map(String::as_str))).iter().map(text).collect()
}

pub(crate) fn interrupted(arm: &Arm) -> Option<String> {
    let seeds: Vec<u64> = arm.runs.iter().filter(|run| run.partial()).map(Run::seed).collect();
    (!seeds.is_empty()).then(|| {
        format!("{}: the runs of seeds {} were interrupted and are left out", arm.name, list(&seeds))
    })
}

pub(crate) fn unended_note(arm: &Arm) -> Option<String> {
    let (left, all, runs) = arm.unended();
    let of = arm.complete().count();
    (left > 0).then(|| {
        let seeds = if of > 1 { format!(" in {runs} of {of} seeds") } else { String::new() };
        format!("{}: {left} of {all} flows unfinished{seeds}; it is never marked best", arm.name)
    })
}

/// As many notes tell of faults.
const MOST_FAULTS: usize = 8;

/// The losses by faults in each arm, all its seeds together.
pub(crate) fn faults_notes(arms: &[Arm]) -> Vec<String> {
    let of_arm = |arm: &Arm| {
        let ports = arm.complete().flat_map(|run| &run.ports);
        FaultyLinks::of(ports.map(|port| (&*port.port, &*port.faults, port.losses)))
    };
    let by_arm: Vec<_> = arms.iter().map(of_arm).collect();
    let all = FaultyLinks::together(by_arm.iter().flatten().cloned());
    let counts: Vec<usize> = arms.iter().map(|arm| arm.complete().count()).collect();
    let is_even = counts.iter().all(|count| *count == counts[0]);
    let seeds = if counts.iter().any(|count| *count > 1) { ", all seeds together" } else { "" };
    let note = |links: &FaultyLinks| {
        if links.lost == 0 || arms.len() == 1 {
            return format!("fault: {}", links.line());
        }
        let named = arms.iter().zip(&by_arm).zip(&counts);
        let lost = named.filter_map(|((arm, of), count)| {
            let own = of.iter().find(|own| own.faults == links.faults)?;
            let of_seeds = if is_even { String::new() } else { format!(" (seeds: {count})") };
            Some(format!("{} {}{of_seeds}", arm.name, own.lost))
        });
        let lost = lost.collect::<Vec<_>>().join(", ");
        format!("fault: {}: packets lost{seeds}: {lost}", links.name())
    };
    let mut notes: Vec<String> = all.iter().take(MOST_FAULTS).map(note).collect();
    if all.len() > MOST_FAULTS {
        notes.push(format!("faults: ports.parquet of each run lists {} more", all.len() - MOST_FAULTS));
    }
    notes
}

/// Two versions of the program may differ in more than the scenario says.
pub(crate) fn other_program(base: &Arm, arm: &Arm) -> Option<String> {
    let program = |arm: &Arm| {
        let run = &arm.runs[0];
        format!("farspan {}, commit {}", run.text("farspan_version"), run.text("commit"))
    };
    let (here, there) = (program(arm), program(base));
    (here != there).then(|| format!("{}: run by {here}; {}: by {there}", arm.name, base.name))
}
