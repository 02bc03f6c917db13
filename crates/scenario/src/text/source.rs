//! Layers of a scenario: its text, and on top of it what the command's arguments change.

use crate::error::{Place, ScenarioError, ValueError};
use crate::model::Scenario;
use crate::table::{join, overlay};
use crate::text::document::Document;
use crate::text::schema::{Keys, unknown_key};
use crate::text::typed;
use crate::value::WorkloadKind;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// A scenario's values as written, and where each was written.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    document: Document,
    /// The values, arguments applied.
    table: Table,
    /// The paths that arguments set, with the argument.
    arguments: Vec<(String, String)>,
    /// The folder of the file; built-in scenarios have none.
    folder: Option<PathBuf>,
}

impl Source {
    /// Reads a text; its keys and types are right afterwards.
    pub fn new(name: &str, text: &str, folder: Option<PathBuf>) -> Result<Self, ScenarioError> {
        let document = Document::parse(name, text)?;
        document.check_keys(&Keys::new())?;
        document.typed::<Scenario>()?;
        let table = document.table.clone();
        Ok(Self { document, table, arguments: Vec::new(), folder })
    }

    /// The values over those of `base`, typed.
    pub fn scenario(&self, base: &Table) -> Result<Scenario, ScenarioError> {
        let mut table = base.clone();
        overlay(&mut table, &self.table);
        Scenario::deserialize_from("", table).map_err(|error| error.at(self.whole()))
    }

    /// The name of the file, without folder and extension.
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.document.name).file_stem();
        stem.map_or_else(|| self.document.name.clone(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Where the value of `path`, or what contains it, was written.
    pub fn place(&self, path: &str) -> Place {
        let covers = |outer: &str| {
            path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let argument = self.arguments.iter().rev().find(|(set, _)| covers(set));
        if let Some((_, argument)) = argument {
            return Place::Argument(argument.clone());
        }
        let mut outer = path;
        loop {
            if let Some(place) = self.document.value_place(outer) {
                return place;
            }
            // A table that only arguments have made.
            let below = |set: &str| set.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['.', '[']));
            if let Some((_, argument)) = self.arguments.iter().rev().find(|(set, _)| below(set)) {
                return Place::Argument(argument.clone());
            }
            match outer.rfind(['.', '[']) {
                Some(end) => outer = &outer[..end],
                None => return self.whole(),
            }
        }
    }

    fn whole(&self) -> Place {
        Place::Whole(self.document.name.clone())
    }

    /// A file named at `path`: relative to the scenario's folder, or to the working one if an argument names it.
    pub fn file(&self, path: &str, file: &str) -> PathBuf {
        let by_argument = matches!(self.place(path), Place::Argument(_));
        match &self.folder {
            Some(folder) if !by_argument => folder.join(file),
            _ => Path::new(file).to_owned(),
        }
    }

    /// The keys that were written in the table at `path`.
    pub fn keys(&self, path: &str) -> Vec<String> {
        let table = self.at(path).and_then(Value::as_table);
        table.map_or_else(Vec::new, |table| table.keys().cloned().collect())
    }

    /// Whether `path` was written.
    pub fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    fn at(&self, path: &str) -> Option<&Value> {
        let mut steps = steps(path).ok()?.into_iter();
        let first = steps.next()?;
        let mut value = index(self.table.get(&first.key)?, first.index)?;
        for Step { key, index: i } in steps {
            value = index(value.get(&key)?, i)?;
        }
        Some(value)
    }

    /// Replaces the scheme: parts that the text overrides belong to its own scheme, so they go.
    pub fn set_scheme(&mut self, name: &str) -> Result<(), ScenarioError> {
        let scheme = self.table.entry("scheme").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(scheme) = scheme {
            scheme.retain(|key, _| key == "profile");
        }
        self.set_value("scheme.name", &name.into(), &format!("--scheme {name}"))
    }

    /// Applies `--set PATH=VALUE`.
    pub fn set(&mut self, assignment: &str) -> Result<(), ScenarioError> {
        let argument = format!("--set {assignment}");
        let Some((path, value)) = assignment.split_once('=') else {
            let error =
                ValueError::rule("", "no \"=\" in it", "write --set PATH=VALUE, such as --set topology.k=4");
            return Err(error.at(Place::Argument(argument)));
        };
        let value = value.trim();
        let parsed =
            toml::from_str::<Table>(&format!("value = {value}")).ok().and_then(|mut t| t.remove("value"));
        self.set_value(path.trim(), &parsed.unwrap_or_else(|| value.into()), &argument)
    }

    /// Puts a value at a path; `argument` is what the user wrote.
    pub fn set_value(&mut self, path: &str, value: &Value, argument: &str) -> Result<(), ScenarioError> {
        let place = || Place::Argument(argument.to_owned());
        let steps = steps(path).map_err(|error| error.at(place()))?;
        check_path(path, &steps).map_err(|error| error.at(place()))?;
        for target in self.targets(path, &steps).map_err(|error| error.at(place()))? {
            put(&mut self.table, &target, value.clone()).map_err(|error| error.at(place()))?;
            replace_rivals(&mut self.table, &target);
            self.arguments.push((render(&target), argument.to_owned()));
        }
        Keys::new().check(&self.table).map_err(|error| error.at(place()))?;
        Scenario::deserialize_from(path, self.table.clone()).map(|_| ()).map_err(|error| error.at(place()))
    }

    /// The places that a path means: `workload.X` is every part that has such a knob.
    fn targets(&self, path: &str, steps: &[Step]) -> Result<Vec<Vec<Step>>, ValueError> {
        let [Step { key, index: None }, knob, ..] = steps else { return Ok(vec![steps.to_vec()]) };
        if key != "workload" {
            return Ok(vec![steps.to_vec()]);
        }
        let parts = self.table.get("workload").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let kinds: Vec<_> = parts.iter().map(|part| part.get("kind").and_then(Value::as_str)).collect();
        let kind = |name: &Option<&str>| name.and_then(|name| name.parse::<WorkloadKind>().ok());
        let has =
            |name: &Option<&str>| kind(name).is_none_or(|kind| knobs(kind).contains(&knob.key.as_str()));
        let with_index = |index| {
            let mut target = steps.to_vec();
            target[0].index = Some(index);
            target
        };
        let targets: Vec<_> =
            (0..).zip(&kinds).filter(|(_, name)| has(name)).map(|(index, _)| with_index(index)).collect();
        if targets.is_empty() {
            let known: Vec<_> =
                kinds.iter().filter_map(kind).flat_map(|kind| knobs(kind).iter().copied()).collect();
            let cure = if known.is_empty() {
                "add a [[workload]] part to it".to_owned()
            } else {
                format!("its parts have: {}", known.join(", "))
            };
            return Err(ValueError::rule(path, format!("no part of the workload has {:?}", knob.key), cure));
        }
        Ok(targets)
    }
}

/// The keys that apply to a kind of workload, beside `kind`.
pub(crate) const fn knobs(kind: WorkloadKind) -> &'static [&'static str] {
    match kind {
        WorkloadKind::Incast => &["tag", "receiver", "senders", "flow_size", "start"],
        WorkloadKind::Permutation => &["tag", "class", "flow_size", "start"],
        WorkloadKind::Pairs => &["tag", "pairs", "flow_size", "start", "gap"],
        WorkloadKind::Poisson => &[
            "tag",
            "class",
            "receivers",
            "sizes",
            "large",
            "load",
            "load_reference",
            "load_unit",
            "mix",
            "mix_unit",
            "flows",
            "duration",
            "start",
            "start_granularity",
        ],
        WorkloadKind::Flows => &["tag", "file", "start", "trigger_delay"],
        WorkloadKind::Allreduce
        | WorkloadKind::ReduceScatter
        | WorkloadKind::AllGather
        | WorkloadKind::AllToAll => &[
            "tag",
            "ranks",
            "groups",
            "flow_size",
            "algorithm",
            "iterations",
            "compute_time",
            "barrier",
            "start",
            "trigger_delay",
        ],
    }
}

impl Scenario {
    /// From values whose places are known elsewhere.
    fn deserialize_from(path: &str, table: Table) -> Result<Self, ValueError> {
        Value::Table(table).try_into().map_err(|error: toml::de::Error| typed::error(path, error.message()))
    }
}

/// One step of a path: a key, and perhaps a position in an array.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    key: String,
    index: Option<usize>,
}

/// The steps of `workload[1].load`.
fn steps(path: &str) -> Result<Vec<Step>, ValueError> {
    let step = |text: &str| {
        let (key, index) = match text.split_once('[') {
            None => (text, None),
            Some((key, rest)) => (key, Some(rest.strip_suffix(']')?.parse().ok()?)),
        };
        (!key.is_empty()).then(|| Step { key: key.to_owned(), index })
    };
    path.split('.').map(step).collect::<Option<Vec<_>>>().ok_or_else(|| {
        ValueError::rule(
            path,
            "not a path",
            "write keys joined by dots, such as topology.wan.rtt or workload[1].load",
        )
    })
}

fn index(value: &Value, index: Option<usize>) -> Option<&Value> {
    index.map_or(Some(value), |index| value.get(index))
}

fn render(steps: &[Step]) -> String {
    steps.iter().fold(String::new(), |path, step| {
        let index = step.index.map_or(String::new(), |index| format!("[{index}]"));
        join(&path, &format!("{}{index}", step.key))
    })
}

/// Checks that a scenario can have this path; the keys inside a component are checked with its values.
fn check_path(path: &str, steps: &[Step]) -> Result<(), ValueError> {
    let keys = Keys::new();
    let mut above: Vec<&str> = Vec::new();
    for step in steps {
        let known = keys.below(&above);
        let known: Vec<_> = known.iter().map(String::as_str).collect();
        if !known.contains(&step.key.as_str()) {
            return Err(unknown_key(path, &step.key, &known));
        }
        above.push(&step.key);
    }
    Ok(())
}

/// Puts a value at a path, making the tables on the way; a component's bare name becomes a table with that name.
fn put(table: &mut Table, steps: &[Step], value: Value) -> Result<(), ValueError> {
    let [step, rest @ ..] = steps else { return Ok(()) };
    let path = || render(steps);
    let entry = table.entry(step.key.clone()).or_insert_with(|| Value::Table(Table::new()));
    let entry = match step.index {
        None => entry,
        Some(index) => {
            let items = entry.as_array_mut().map_or(&mut [][..], Vec::as_mut_slice);
            let count = items.len();
            items.get_mut(index).ok_or_else(|| {
                ValueError::rule(
                    path(),
                    format!("there is no {}[{index}]", step.key),
                    format!("there are {count}, from 0"),
                )
            })?
        }
    };
    if rest.is_empty() {
        *entry = value;
        return Ok(());
    }
    if let Value::String(name) = entry {
        *entry = Value::Table(Table::from_iter([("name".to_owned(), Value::String(std::mem::take(name)))]));
    }
    match entry {
        Value::Table(inner) => put(inner, rest, value),
        _ => Err(ValueError::rule(
            path(),
            format!("{} is not a table", step.key),
            "set one of its elements by position",
        )),
    }
}

/// Of keys that exclude each other, the one that was set last stays.
fn replace_rivals(table: &mut Table, steps: &[Step]) {
    if let [Step { key, index: None }, knob] = steps
        && key == "topology"
        && let Some(topology) = table.get_mut(key).and_then(Value::as_table_mut)
    {
        // Only a leaf-spine has both, and each follows from the other.
        match knob.key.as_str() {
            "oversubscription" => topology.remove("spines"),
            "spines" => topology.remove("oversubscription"),
            _ => None,
        };
    }
    let [Step { key, index: Some(index) }, knob] = steps else { return };
    let part = table.get_mut(key).and_then(|parts| parts.get_mut(*index)).and_then(Value::as_table_mut);
    let Some(part) = part else { return };
    let named_mix = matches!(part.get("mix").and_then(Value::as_str), Some("paper" | "artifact"));
    let rival = match knob.key.as_str() {
        "flows" => "duration",
        "duration" => "flows",
        "ranks" => "groups",
        "groups" => "ranks",
        "mix" if named_mix => "sizes",
        "sizes" if named_mix => "mix",
        _ => return,
    };
    part.remove(rival);
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[topology]\nk = 8\n[scheme]\nname = 'gemini'\n[scheme.intra]\ncongestion = 'dctcp'\n\
                        [[workload]]\nkind = 'incast'\nflow_size = '1MiB'\n[[workload]]\nkind = 'poisson'\nflows = 3\n";

    fn source() -> Source {
        Source::new("t.toml", TEXT, None).unwrap()
    }

    fn set(assignment: &str) -> Result<Scenario, String> {
        let mut source = source();
        source.set(assignment).map_err(|error| error.to_string())?;
        source.scenario(&Table::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_toml_if_they_can_be_and_text_otherwise() {
        assert_eq!(set("topology.k=4").unwrap().topology.k, Some(4));
        assert_eq!(
            set("topology.wan.rtt=4ms").unwrap().topology.wan.unwrap().rtt.unwrap().to_string(),
            "4ms"
        );
        assert_eq!(set("workload[0].senders=[1, 2]").unwrap().workload[0].senders, Some(vec![1, 2]));
        assert_eq!(set("workload[0].tag=a b").unwrap().workload[0].tag.as_deref(), Some("a b"));
    }

    #[test]
    fn a_workload_knob_reaches_every_part_that_has_it() {
        let scenario = set("workload.flow_size=2MiB").unwrap();
        assert_eq!(scenario.workload[0].flow_size.unwrap().to_string(), "2MiB");
        assert_eq!(scenario.workload[1].flow_size, None);
        let error = set("workload.file=x.csv").unwrap_err();
        assert!(error.contains("no part of the workload has \"file\""), "{error}");
    }

    #[test]
    fn the_last_of_two_keys_that_exclude_each_other_stays() {
        let scenario = set("workload.duration=1ms").unwrap();
        assert_eq!((scenario.workload[1].flows, scenario.workload[1].duration.is_some()), (None, true));
    }

    #[test]
    fn an_unknown_path_names_the_nearest_key() {
        let error = set("workload.flow_sizes=4MiB").unwrap_err();
        assert!(error.starts_with("--set workload.flow_sizes=4MiB: "), "{error}");
        assert!(error.contains("did you mean \"flow_size\"?"), "{error}");
        assert!(set("topology.wan.rrt=1ms").unwrap_err().contains("\"rtt\""));
        assert!(set("nothing").unwrap_err().contains("PATH=VALUE"));
        assert!(set("workload[7].tag=x").unwrap_err().contains("there are 2, from 0"));
        assert!(set("a..b=1").unwrap_err().contains("not a path"));
    }

    #[test]
    fn a_wrong_value_names_the_argument() {
        let error = set("workload.flow_size=4 parsecs").unwrap_err();
        assert!(error.starts_with("--set workload.flow_size=4 parsecs: workload.flow_size: "), "{error}");
        assert!(error.contains("the unit is not known here"), "{error}");
    }

    #[test]
    fn a_scheme_from_the_command_drops_the_overrides_of_the_old_one() {
        let mut source = source();
        source.set_scheme("uno-noec").unwrap();
        let scenario = source.scenario(&Table::new()).unwrap();
        assert_eq!(scenario.scheme.name.as_deref(), Some("uno-noec"));
        assert_eq!(scenario.scheme.intra.congestion, None);
    }

    #[test]
    fn errors_of_the_text_name_file_line_and_column() {
        let error = |text: &str| Source::new("t.toml", text, None).unwrap_err().to_string();
        assert!(error("[topology]\nkk = 8").starts_with("t.toml:2:1: topology.kk: unknown key \"kk\""));
        let text = error("[topology]\nlink_rate = \"100Gbit\"");
        assert!(text.starts_with("t.toml:2:13: topology.link_rate: \"100Gbit\" is not a rate"), "{text}");
        let text = error("[[workload]]\nkind = 'incast'\n[[workload]]\nkind = 'poison'");
        assert!(text.starts_with("t.toml:4:8: workload[1].kind: "), "{text}");
        let text = error("[topology]\nwan = { links = -1 }");
        assert!(text.starts_with("t.toml:2:17: topology.wan.links: "), "{text}");
    }
}
