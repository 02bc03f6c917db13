//! Layers of a scenario: a text, on top of it the texts of which it is the base, and on top what arguments change.

mod base;
mod rivals;

use crate::document::{self, Document};
use crate::error::{Place, ScenarioError, ValueError};
use crate::model::{ScenarioText, WorkloadKind};
use crate::reader::read;
use crate::table::overlay;
use crate::text::path::{Step, at_position, check, put, render, steps};
use crate::text::schema::Keys;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::{Table, Value};

/// A scenario's values as written, and where each was written.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The file, or the name of a built-in scenario.
    name: String,
    /// The text at the bottom: its own, or that of its base.
    bottom: Text,
    /// The values, changes applied.
    table: Table,
    /// Values that were set over the bottom, in order.
    changes: Vec<Change>,
    /// Keys that gave way to a change, in words.
    dropped: Vec<String>,
    /// Whether the workload is left out: the traffic comes from elsewhere.
    pub is_idle: bool,
}

/// A text, and the folder that its files are relative to; built-in scenarios have none.
#[derive(Clone, Debug)]
struct Text {
    document: Arc<Document>,
    folder: Option<PathBuf>,
}

/// A value that was set over others.
#[derive(Clone, Debug)]
struct Change {
    path: String,
    origin: Origin,
}

/// Who set a value.
#[derive(Clone, Debug)]
enum Origin {
    /// An argument, as the user wrote it.
    Argument(String),
    /// A text with a base, under this key.
    Text(Text, String),
}

impl Origin {
    /// Where the value was written, or what is below it at `rest`.
    fn place(&self, rest: &str) -> Place {
        match self {
            Self::Argument(argument) => Place::Argument(argument.clone()),
            Self::Text(text, key) => text.document.nearest_place(&format!("{key}{rest}")),
        }
    }

    /// Where the key of the value was written.
    fn key_place(&self) -> Place {
        match self {
            Self::Argument(argument) => Place::Argument(argument.clone()),
            Self::Text(text, key) => text.document.key_place(key).unwrap_or_else(|| self.place("")),
        }
    }

    /// Whether both stand in the same text, or are arguments of the same command.
    fn is_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Argument(_), Self::Argument(_)) => true,
            (Self::Text(a, _), Self::Text(b, _)) => Arc::ptr_eq(&a.document, &b.document),
            _ => false,
        }
    }
}

/// The rest of `path` below `outer`, if it is at or below it.
fn below<'a>(outer: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(outer).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

impl Source {
    /// Reads a text; its keys and types are right afterwards.
    pub fn new(name: &str, text: &str, folder: Option<PathBuf>) -> Result<Self, ScenarioError> {
        Self::read(name, text, folder, &mut Vec::new())
    }

    /// Reads a text and its base; `above` are the files whose bases lead here.
    fn read(
        name: &str,
        text: &str,
        folder: Option<PathBuf>,
        above: &mut Vec<PathBuf>,
    ) -> Result<Self, ScenarioError> {
        let document = Arc::new(Document::parse(name, text)?);
        let base = document.table.get("base").is_some();
        // A table changes all parts of the base's workload.
        if !(base && document.table.get("workload").is_some_and(Value::is_table)) {
            Keys::of_scenario().check_text(&document)?;
            document.typed::<ScenarioText>()?;
        }
        let text = Text { document, folder };
        if base {
            return base::over(&text, above);
        }
        let table = text.document.table.clone();
        Ok(Self {
            name: name.to_owned(),
            bottom: text,
            table,
            changes: Vec::new(),
            dropped: Vec::new(),
            is_idle: false,
        })
    }

    /// Leaves the workload out, whatever is written.
    pub fn leave_out_workload(&mut self) {
        for key in ["workload", "incast"] {
            self.table.remove(key);
        }
        self.is_idle = true;
    }

    /// The values over those of `base`, typed.
    pub fn scenario(&self, base: &Table) -> Result<ScenarioText, ScenarioError> {
        let mut table = base.clone();
        overlay(&mut table, &self.table);
        read("", &table).map_err(|error| error.at(self.whole()))
    }

    /// The name of the file, without folder and extension.
    pub fn stem(&self) -> String {
        let stem = Path::new(&self.name).file_stem();
        stem.map_or_else(|| self.name.clone(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Keys that gave way to changes, in words.
    pub fn dropped(&self) -> &[String] {
        &self.dropped
    }

    /// Whether topology or workload were changed after digests of files were written: they may name others now.
    pub fn has_other_files(&self) -> bool {
        let written = self.changes.iter().rposition(|change| change.path == "files");
        let is_other = |change: &Change| {
            let is_there = ["topology", "workload"].iter().any(|path| below(path, &change.path).is_some());
            is_there && written.is_none_or(|at| !self.changes[at].origin.is_beside(&change.origin))
        };
        self.changes[written.map_or(0, |at| at + 1)..].iter().any(is_other)
    }

    /// The last change at `path`, or at what contains it, with the rest of the path.
    fn change_of<'a>(&self, path: &'a str) -> Option<(&Change, &'a str)> {
        self.changes.iter().rev().find_map(|change| Some((change, below(&change.path, path)?)))
    }

    /// Where the value of `path`, or what contains it, was written.
    pub fn place(&self, path: &str) -> Place {
        if let Some((change, rest)) = self.change_of(path) {
            return change.origin.place(rest);
        }
        let mut outer = path;
        loop {
            if let Some(place) = self.bottom.document.value_place(outer) {
                return place;
            }
            // A table that only changes have made.
            let inside = |change: &&Change| below(outer, &change.path).is_some_and(|rest| !rest.is_empty());
            if let Some(change) = self.changes.iter().rev().find(inside) {
                return change.origin.place("");
            }
            match outer.rfind(['.', '[']) {
                Some(end) => outer = &outer[..end],
                None => return self.whole(),
            }
        }
    }

    fn whole(&self) -> Place {
        Place::Whole(self.name.clone())
    }

    /// A file named at `path`: relative to the folder of the text that names it, or to the working one if an argument does.
    pub fn file(&self, path: &str, file: &str) -> PathBuf {
        let folder = match self.change_of(path).map(|(change, _)| &change.origin) {
            Some(Origin::Argument(_)) => None,
            Some(Origin::Text(text, _)) => text.folder.as_ref(),
            None => self.bottom.folder.as_ref(),
        };
        folder.map_or_else(|| Path::new(file).to_owned(), |folder| folder.join(file))
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
        let mut value = at_position(self.table.get(&first.key)?, first.index)?;
        for Step { key, index: i } in steps {
            value = at_position(value.get(&key)?, i)?;
        }
        Some(value)
    }

    /// Replaces the scheme: parts that the text overrides belong to its own scheme, so they go.
    pub fn set_scheme(&mut self, name: &str) -> Result<(), ScenarioError> {
        self.drop_scheme(None);
        self.set_value("scheme.name", &name.into(), &format!("--scheme {name}"))
    }

    /// Takes a scheme and its parts away, unless it is the one named.
    fn drop_scheme(&mut self, name: Option<&Value>) {
        if let Some(Value::Table(scheme)) = self.table.get_mut("scheme")
            && (name.is_none() || scheme.get("name") != name)
        {
            scheme.retain(|key, _| key == "profile");
        }
    }

    /// Applies `--set PATH=VALUE`.
    pub fn set(&mut self, assignment: &str) -> Result<(), ScenarioError> {
        let argument = format!("--set {assignment}");
        let Some((path, value)) = assignment.split_once('=') else {
            let error =
                ValueError::rule("", "no \"=\" in it", "write --set PATH=VALUE, such as --set topology.k=4");
            return Err(error.at(Place::Argument(argument)));
        };
        self.set_value(path.trim(), &document::value_or_text(value), &argument)
    }

    /// Puts a value at a path; `argument` is what the user wrote.
    pub fn set_value(&mut self, path: &str, value: &Value, argument: &str) -> Result<(), ScenarioError> {
        self.change(path, value, &Origin::Argument(argument.to_owned()))
    }

    fn change(&mut self, path: &str, value: &Value, origin: &Origin) -> Result<(), ScenarioError> {
        let at_key = |error: ValueError| error.at(origin.key_place());
        let steps = steps(path).map_err(at_key)?;
        check(path, &steps).map_err(at_key)?;
        let targets = self.targets(path, &steps, value).map_err(at_key)?;
        for target in &targets {
            self.move_to_the_end(target);
            put(&mut self.table, target, value.clone()).map_err(at_key)?;
            self.make_way(target, origin);
            self.changes.push(Change { path: render(target), origin: origin.clone() });
        }
        Keys::of_scenario().check(&self.table).map_err(at_key)?;
        // The error is told at the path that was written, which may stand for several.
        let as_written = |error: ValueError| {
            let inside = targets.iter().find_map(|target| below(&render(target), &error.path));
            let rest = inside.unwrap_or_default().to_owned();
            ValueError { path: format!("{path}{rest}"), ..error }.at(origin.place(&rest))
        };
        read::<ScenarioText>("", &self.table).map(|_| ()).map_err(as_written)
    }

    /// The last pattern that fits a link counts, so one that is set again comes behind the others.
    fn move_to_the_end(&mut self, target: &[Step]) {
        let [topology, link, pattern, ..] = target else { return };
        if (topology.key.as_str(), link.key.as_str()) != ("topology", "link") {
            return;
        }
        let links = self.table.get_mut("topology").and_then(|topology| topology.get_mut("link"));
        if let Some(links) = links.and_then(Value::as_table_mut)
            && let Some(change) = links.remove(&pattern.key)
        {
            links.insert(pattern.key.clone(), change);
        }
    }

    /// A key takes the place of keys that it excludes and that it was set over. It does not take the place of keys that were set
    /// beside it: whoever gives both gets an error.
    fn make_way(&mut self, target: &[Step], origin: &Origin) {
        let rivals = rivals::of(&self.table, target);
        let beside = |rival: &Vec<Step>| {
            self.change_of(&render(rival)).is_some_and(|(change, _)| change.origin.is_beside(origin))
        };
        let rivals: Vec<_> = rivals.into_iter().filter(|rival| !beside(rival)).collect();
        rivals.iter().for_each(|rival| rivals::remove(&mut self.table, rival));
        let told: Vec<_> =
            rivals.iter().filter(|rival| rival[0].key == "topology").map(|rival| render(rival)).collect();
        if !told.is_empty() {
            let by = match origin {
                Origin::Argument(argument) => argument.clone(),
                Origin::Text(..) => render(target),
            };
            self.dropped.push(format!("{by} takes the place of {}", told.join(", ")));
        }
    }

    /// The places that a path means: `workload.X` is every part that has such a knob.
    fn targets(&self, path: &str, steps: &[Step], value: &Value) -> Result<Vec<Vec<Step>>, ValueError> {
        if path == "base" {
            let cure = "write it at the head of a file, or give the scenario itself";
            return Err(ValueError::rule(path, "a scenario's base cannot be changed", cure));
        }
        if let [Step { key, .. }, knob] = steps
            && (key.as_str(), knob.key.as_str()) == ("workload", "kind")
        {
            return Err(other_kind(path, value));
        }
        let [Step { key, index: None }, knob, ..] = steps else { return Ok(vec![steps.to_vec()]) };
        if key != "workload" {
            return Ok(vec![steps.to_vec()]);
        }
        let parts = self.table.get("workload").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let kinds: Vec<_> = parts.iter().map(|part| part.get("kind").and_then(Value::as_str)).collect();
        let kind = |name: &Option<&str>| name.and_then(|name| name.parse::<WorkloadKind>().ok());
        let knob_of =
            |name: &Option<&str>| kind(name).is_none_or(|kind| kind.keys().contains(&knob.key.as_str()));
        // An incast whose senders are listed comes once.
        let is_of_drawn = matches!(knob.key.as_str(), "load" | "duration");
        let comes_once = |part: &Value| part.get("senders").is_some();
        let has = |part: &Value, name: &Option<&str>| knob_of(name) && !(is_of_drawn && comes_once(part));
        let with_index = |index| {
            let mut target = steps.to_vec();
            target[0].index = Some(index);
            target
        };
        let parts = (0..).zip(parts.iter().zip(&kinds));
        let targets: Vec<_> =
            parts.filter(|(_, (part, name))| has(part, name)).map(|(index, _)| with_index(index)).collect();
        if targets.is_empty() {
            let known: Vec<_> =
                kinds.iter().filter_map(kind).flat_map(|kind| kind.keys().iter().copied()).collect();
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

/// The error for a part of the workload that is to become another.
fn other_kind(path: &str, value: &Value) -> ValueError {
    let kind = value.as_str().unwrap_or("flows");
    let example = if kind == "flows" {
        "kind = \"flows\" and file = \"flows.csv\"".to_owned()
    } else {
        format!("kind = {kind:?}")
    };
    let cure = format!(
        "each kind has keys of its own: write a file that begins with base = \"NAME\", and in it a [[workload]] with {example}"
    );
    ValueError::rule(path, "the kind of a part of the workload cannot be changed", cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "[topology]\nk = 8\n[scheme]\nname = 'gemini'\n[scheme.intra]\ncongestion = 'dctcp'\n\
                        [[workload]]\nkind = 'incast'\nflow_size = '1MiB'\n[[workload]]\nkind = 'poisson'\nflows = 3\n";

    fn source() -> Source {
        Source::new("t.toml", TEXT, None).unwrap()
    }

    fn set(assignment: &str) -> Result<ScenarioText, String> {
        let mut source = source();
        source.set(assignment).map_err(|error| error.to_string())?;
        source.scenario(&Table::new()).map_err(|error| error.to_string())
    }

    /// A key of a part of the workload.
    fn of_part(scenario: &ScenarioText, part: usize, key: &str) -> Option<Value> {
        Table::try_from(&scenario.workload[part]).unwrap().remove(key)
    }

    #[test]
    fn values_are_toml_if_they_can_be_and_text_otherwise() {
        let topology = |assignment| Table::try_from(set(assignment).unwrap().topology).unwrap();
        assert_eq!(topology("topology.k=4")["k"], 4.into());
        assert_eq!(topology("topology.wan.rtt=4ms")["wan"]["rtt"], "4ms".into());
        let of_first = |assignment, key| of_part(&set(assignment).unwrap(), 0, key);
        assert_eq!(of_first("workload[0].senders=[1, 2]", "senders"), Some(vec![1, 2].into()));
        assert_eq!(of_first("workload[0].tag=a b", "tag"), Some("a b".into()));
    }

    #[test]
    fn a_workload_knob_reaches_every_part_that_has_it() {
        let scenario = set("workload.flow_size=2MiB").unwrap();
        assert_eq!(of_part(&scenario, 0, "flow_size"), Some("2MiB".into()));
        assert_eq!(of_part(&scenario, 1, "flow_size"), None);
        let error = set("workload.file=x.csv").unwrap_err();
        assert!(error.contains("no part of the workload has \"file\""), "{error}");
    }

    #[test]
    fn the_last_of_two_keys_that_exclude_each_other_stays() {
        let scenario = set("workload.duration=1ms").unwrap();
        assert_eq!(of_part(&scenario, 1, "flows"), None);
        assert_eq!(of_part(&scenario, 1, "duration"), Some("1ms".into()));
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
        assert!(set("workload.0.tag=x").unwrap_err().contains("write workload[0].tag"));
    }

    #[test]
    fn a_wrong_value_names_the_argument() {
        let error = set("workload.flow_size=4 parsecs").unwrap_err();
        assert!(error.starts_with("--set workload.flow_size=4 parsecs: workload.flow_size: "), "{error}");
        assert!(error.contains("the unit is not known here"), "{error}");
    }

    #[test]
    fn a_wrong_item_is_told_at_its_own_place_over_a_base_or_without() {
        let error = |text: &str| Source::new("t.toml", text, None).unwrap_err().to_string();
        let item = "senders[2]: -1 does not fit here; give a host's number, such as 8";
        let over = error("base = 'uno/incast-intra'\n[workload]\nsenders = [0, 1, -1]");
        assert_eq!(over, format!("t.toml:3:18: workload.{item}"));
        let alone = error("[[workload]]\nkind = 'incast'\nsenders = [0, 1, -1]");
        assert_eq!(alone, format!("t.toml:3:18: workload[0].{item}"));
        let set = set("workload.senders=[0, 1, -1]").unwrap_err();
        assert_eq!(set, format!("--set workload.senders=[0, 1, -1]: workload.{item}"));
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
