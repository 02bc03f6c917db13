//! Which runs stand side by side: those of a scenario; and which are seeds of one arm: those that differ in nothing else.

use crate::run::Run;
use std::path::PathBuf;
use toml::Table;

/// Runs of one scenario.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Group {
    /// The scenario's name.
    pub name: String,
    /// The arms to compare, in the order in which they were found.
    pub arms: Vec<Arm>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Runs that differ in the seed alone.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Arm {
    /// The scheme; with the profile, then the folder, if that does not distinguish the arms.
    pub name: String,
    /// The runs by seed, rising.
    pub runs: Vec<Run>,
}

impl Arm {
    /// Their seeds.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        self.runs.iter().map(Run::seed).collect()
    }

    /// The runs that were not interrupted.
    pub fn complete(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.partial())
    }

    /// Flows of its complete runs that had not ended, flows that count, and runs that left any.
    pub(crate) fn unended(&self) -> (u64, u64, usize) {
        let count = |run: &Run, key: &str| run.number(&format!("/fct/all/{key}")).unwrap_or(0.0) as u64;
        let left = || self.complete().map(|run| count(run, "unfinished"));
        let all = self.complete().map(|run| count(run, "count")).sum();
        (left().sum(), all, left().filter(|n| *n > 0).count())
    }

    /// The runs whose flows make curves: the complete ones; if there are none, all.
    pub(crate) fn drawn(&self) -> Vec<&Run> {
        let complete: Vec<&Run> = self.complete().collect();
        if complete.is_empty() { self.runs.iter().collect() } else { complete }
    }
}

/// Sorts runs into groups, by scenario, and arms.
#[must_use]
pub fn groups(runs: Vec<Run>) -> Vec<Group> {
    let mut groups: Vec<(String, Vec<Run>)> = Vec::new();
    for run in runs {
        let name = run.title();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, runs)) => runs.push(run),
            None => groups.push((name, vec![run])),
        }
    }
    groups.into_iter().map(|(name, runs)| group(name, runs)).collect()
}

/// Puts runs side by side, whatever their scenarios are called.
pub(crate) fn group(name: String, runs: Vec<Run>) -> Group {
    let mut arms: Vec<((String, String, Table), Vec<Run>)> = Vec::new();
    let mut notes = Vec::new();
    for run in runs {
        let program = run.text("farspan_version").to_owned() + run.text("commit");
        // A control from elsewhere stands in no scenario: the scheme is called after it.
        let key = (program, run.text("scheme").to_owned(), run.apart_from_seed());
        let fits =
            |of: &dyn Fn(&[Run]) -> bool| arms.iter().position(|(known, arm)| *known == key && of(arm));
        // Seeds may lie in several of the folders that were asked for; the same seed in two of them makes two arms.
        let own = fits(&|arm| arm.iter().any(|other| other.root == run.root));
        let place = own.or_else(|| fits(&|arm| arm.iter().all(|other| other.seed() != run.seed())));
        let Some(place) = place else {
            arms.push((key, vec![run]));
            continue;
        };
        let arm = &mut arms[place].1;
        match arm.iter().find(|known| known.seed() == run.seed()) {
            Some(known) => notes.push(format!(
                "{} repeats {} (same scheme and seed) and is left out",
                run.folder.display(),
                known.folder.display()
            )),
            None => arm.push(run),
        }
    }
    let mut arms: Vec<Vec<Run>> = arms.into_iter().map(|(_, runs)| runs).collect();
    arms.iter_mut().for_each(|runs| runs.sort_by_key(Run::seed));
    let names = names(&arms);
    let arms = names.into_iter().zip(arms).map(|(name, runs)| Arm { name, runs }).collect();
    Group { name, arms, notes }
}

/// A name for each arm: the scheme, and as much more as it takes to distinguish them.
fn names(arms: &[Vec<Run>]) -> Vec<String> {
    let first =
        |of: &dyn Fn(&Run) -> String| -> Vec<String> { arms.iter().map(|runs| of(&runs[0])).collect() };
    let mut names = first(&|run| run.text("scheme").to_owned());
    let folder = |run: &Run| {
        let one = run.folder.file_name().unwrap_or(run.folder.as_os_str()).to_string_lossy().into_owned();
        // The arm of a seed's folder is named after the folder above.
        let above =
            run.folder.parent().filter(|_| one.starts_with("seed-")).and_then(|above| above.file_name());
        above.map_or(one, |above| above.to_string_lossy().into_owned())
    };
    // The part of the path that not all have in common.
    let parts =
        |run: &Run| run.folder.components().map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>();
    let all: Vec<_> = arms.iter().map(|runs| parts(&runs[0])).collect();
    let shared =
        (0..).take_while(|i| all.iter().all(|path| path.len() > i + 1 && path[*i] == all[0][*i])).count();
    let whole = |run: &Run| parts(run).into_iter().skip(shared).collect::<PathBuf>().display().to_string();
    let more: [&dyn Fn(&Run) -> String; 4] =
        [&|run| run.text("profile").to_owned(), &|run| run.constants.clone(), &folder, &whole];
    for more in more {
        let (known, more) = (names.clone(), first(more));
        // It distinguishes arms of one name if it is not equal in all of them.
        let helps = |i: usize| {
            known.iter().zip(&more).any(|(name, more_of)| *name == known[i] && *more_of != more[i])
        };
        for i in (0..arms.len()).filter(|i| helps(*i)) {
            names[i] = format!("{} ({})", known[i], more[i]);
        }
    }
    names
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use serde_json::json;

    /// A run of a scheme, which has its name in the scenario, without flows.
    pub(crate) fn run(scheme: &str, seed: u64, commit: &str, partial: bool, scenario: &str) -> Run {
        let summary = json!({
            "scenario": "s", "scheme": scheme, "profile": "paper", "seed": seed, "partial": partial,
            "farspan_version": "1.0.0", "commit": commit, "fct": {"all": {"mean_us": 2.0}},
        });
        Run {
            folder: format!("/no/such/{scheme}-{commit}/seed-{seed}").into(),
            root: 0,
            title: String::new(),
            constants: String::new(),
            parameters: Vec::new(),
            summary,
            scenario: format!("name = '{scheme}'\n{scenario}").parse().unwrap(),
            flows: Vec::new(),
            ports: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::run;
    use super::*;
    use crate::axes::differences;

    #[test]
    fn interrupted_runs_are_drawn_only_where_there_is_no_other() {
        let arm = |partial: [bool; 2]| Arm {
            name: String::new(),
            runs: [1, 2].map(|seed| run("uno", seed, "a", partial[seed as usize - 1], "")).into(),
        };
        let drawn = |arm: &Arm| arm.drawn().into_iter().map(Run::seed).collect::<Vec<_>>();
        assert_eq!(drawn(&arm([true, false])), [2]);
        assert_eq!(drawn(&arm([true, true])), [1, 2]);
    }

    #[test]
    fn a_control_and_the_scheme_that_it_was_put_into_are_two_arms() {
        let mut mine = run("dctcp", 2, "a", false, "");
        mine.summary["scheme"] = "Mine".into();
        let groups = groups(vec![run("dctcp", 1, "a", false, ""), mine]);
        let names: Vec<_> = groups[0].arms.iter().map(|arm| (arm.name.as_str(), arm.seeds())).collect();
        assert_eq!(names, [("dctcp", vec![1]), ("Mine", vec![2])]);
    }

    #[test]
    fn folders_of_one_name_are_told_apart_by_what_their_paths_do_not_share() {
        let at = |root, folder: &str| Run { root, folder: folder.into(), ..run("uno", 1, "a", false, "") };
        let groups = groups(vec![at(0, "/long/way/a/out/seed-1"), at(1, "/long/way/b/out/seed-1")]);
        let names: Vec<_> = groups[0].arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(names, ["uno (a/out/seed-1)", "uno (b/out/seed-1)"]);
    }

    #[test]
    fn constants_differ_within_a_scheme_alone() {
        let (three, four) = ("[scheme]\nk = 3\n[stop]\na = 1", "[scheme]\nk = 4\n[stop]\na = 1");
        let here = run("uno", 1, "a", false, three);
        let found = differences(&here, &run("uno", 1, "a", false, four));
        assert_eq!(found, [("scheme.k".to_owned(), "3".to_owned(), "4".to_owned())]);
        let other = differences(&here, &run("gemini", 1, "a", false, four));
        assert_eq!(other.iter().map(|(key, ..)| key.as_str()).collect::<Vec<_>>(), ["name"]);
    }
}
