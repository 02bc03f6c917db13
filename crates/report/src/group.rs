//! Which runs stand side by side: those of a scenario; and which are seeds of one arm: those that differ in nothing else.

use crate::load::Run;
use toml::{Table, Value};

/// Runs of one scenario.
#[derive(Clone, Debug)]
pub struct Group {
    /// The scenario's name.
    pub name: String,
    /// What is set side by side, in the order in which it was found.
    pub arms: Vec<Arm>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Runs that differ in the seed alone.
#[derive(Clone, Debug)]
pub struct Arm {
    /// The scheme; with the profile, then the folder, if that does not tell the arms apart.
    pub name: String,
    /// By seed, rising.
    pub runs: Vec<Run>,
}

impl Arm {
    /// Their seeds.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        self.runs.iter().map(Run::seed).collect()
    }
}

/// Sorts runs into groups, by scenario, and arms.
#[must_use]
pub fn groups(runs: Vec<Run>) -> Vec<Group> {
    let mut groups: Vec<(String, Vec<Run>)> = Vec::new();
    for run in runs {
        let name = run.text("scenario").to_owned();
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, runs)) => runs.push(run),
            None => groups.push((name, vec![run])),
        }
    }
    groups.into_iter().map(|(name, runs)| group(name, runs)).collect()
}

/// Puts runs side by side, whatever their scenarios are called.
pub(crate) fn group(name: String, runs: Vec<Run>) -> Group {
    let mut arms: Vec<((String, Table), Vec<Run>)> = Vec::new();
    let mut notes = Vec::new();
    for run in runs {
        let program = run.text("farspan_version").to_owned() + run.text("commit");
        let key = (program, apart_from_seed(&run));
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
                "{} repeats {}: the same scheme and seed; it is left out",
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

/// What makes a run's arm: all of its scenario but the seed, and words.
fn apart_from_seed(run: &Run) -> Table {
    let mut table = run.scenario.clone();
    for key in ["seed", "description"] {
        table.remove(key);
    }
    table
}

/// A name for each arm: the scheme, and as much more as it takes to tell them apart.
fn names(arms: &[Vec<Run>]) -> Vec<String> {
    let first =
        |of: &dyn Fn(&Run) -> String| -> Vec<String> { arms.iter().map(|runs| of(&runs[0])).collect() };
    let mut names = first(&|run| run.text("scheme").to_owned());
    let folder = |run: &Run| {
        let one = run.folder.file_name().unwrap_or(run.folder.as_os_str()).to_string_lossy().into_owned();
        // Of a seed's folder the one above tells more.
        let above =
            run.folder.parent().filter(|_| one.starts_with("seed-")).and_then(|above| above.file_name());
        above.map_or(one, |above| above.to_string_lossy().into_owned())
    };
    let whole = |run: &Run| run.folder.display().to_string();
    let more: [&dyn Fn(&Run) -> String; 3] = [&|run| run.text("profile").to_owned(), &folder, &whole];
    for more in more {
        let (known, more) = (names.clone(), first(more));
        // It tells arms of one name apart if they do not all have the same of it.
        let helps = |i: usize| {
            known.iter().zip(&more).any(|(name, more_of)| *name == known[i] && *more_of != more[i])
        };
        for i in (0..arms.len()).filter(|i| helps(*i)) {
            names[i] = format!("{} ({})", known[i], more[i]);
        }
    }
    names
}

/// Where two scenarios differ, the scheme, the seed and the words aside: key, value here, value there.
pub(crate) fn differences(here: &Run, there: &Run) -> Vec<(String, String, String)> {
    let bare = |run: &Run| {
        let mut table = apart_from_seed(run);
        table.remove("scheme");
        table
    };
    let mut found = Vec::new();
    differ("", Some(&Value::Table(bare(here))), Some(&Value::Table(bare(there))), &mut found);
    found
}

fn differ(
    path: &str,
    here: Option<&Value>,
    there: Option<&Value>,
    found: &mut Vec<(String, String, String)>,
) {
    match (here, there) {
        (Some(Value::Table(a)), Some(Value::Table(b))) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differ(&path, a.get(key), b.get(key), found);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{path}[{i}]"), Some(a), Some(b), found);
            }
        }
        _ if here == there => {}
        _ => {
            let text = |value: Option<&Value>| value.map_or_else(|| "not set".to_owned(), Value::to_string);
            found.push((path.to_owned(), text(here), text(there)));
        }
    }
}
