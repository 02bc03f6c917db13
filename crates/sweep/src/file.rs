//! The sweep file: axes, expanded into points.

use crate::ask::Ask;
use crate::draw::{Draw, is_range};
use crate::point::Point;
use farspan_scenario::table::join;
use farspan_scenario::value::SchemePart;
use farspan_scenario::{
    BuiltIn, Document, LONGEST_SCENARIO, Place, Problem, Request, ScenarioError, read_file, same_as, seeds,
    utf8,
};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The most points of a sweep.
const MOST_POINTS: usize = 100_000;
/// The keys of a sweep.
pub(crate) const KEYS: [&str; 8] =
    ["scenario", "scheme", "profile", "seeds", "same", "grid", "draw", CONTROL];
/// The key that says with which control from outside a sweep was run.
const CONTROL: &str = "control";

/// A sweep: every point of it, resolved.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The points, in the order of the file: of two axes the later one varies faster; then random points, schemes, seeds.
    pub points: Vec<Point>,
    /// How many combinations resolve to the run of an earlier one, and are left out.
    pub repeated: usize,
    /// Its text, with scenario files by their whole paths: it is the same sweep wherever it lies.
    pub text: String,
}

impl Sweep {
    /// The points, those that differ in their seeds alone together.
    pub fn apart_from_seeds(&self) -> impl Iterator<Item = &[Point]> {
        let request = |point: &Point| Request { seed: None, ..point.request.clone() };
        self.points.chunk_by(move |a, b| request(a) == request(b))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is bad input: the error names the place, what was expected, and the cure.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let name = path.display().to_string();
        let text = read_file(path, LONGEST_SCENARIO)
            .and_then(|bytes| utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)));
        let text = text.map_err(|error| ScenarioError {
            place: Place::Whole(name.clone()),
            path: String::new(),
            problem: Box::new(rule(
                format!("a sweep that cannot be read ({error})"),
                "give a TOML file with scenario = \"...\", seeds = \"1..10\" and [grid]".to_owned(),
            )),
        })?;
        Self::parse(&name, &text, path.parent())
    }

    /// Expands the text of a sweep, whose scenario files lie relative to `folder`.
    ///
    /// # Errors
    /// If it is bad input: the error names the place, what was expected, and the cure.
    pub fn parse(name: &str, text: &str, folder: Option<&Path>) -> Result<Self, ScenarioError> {
        Self::parse_with(name, text, folder, None)
    }

    /// Expands the text of a sweep whose runs have the control of this name from outside; the text that is left says so.
    ///
    /// # Errors
    /// If it is bad input, or was run with another control.
    pub fn parse_with(
        name: &str,
        text: &str,
        folder: Option<&Path>,
        control: Option<&str>,
    ) -> Result<Self, ScenarioError> {
        let document = Document::parse(name, text)?;
        let file = File { document, folder: folder.map(Path::to_owned), arguments: Vec::new() };
        file.check_control(control)?;
        let mut sweep = file.expand()?;
        if let Some(control) = control.filter(|_| !file.document.table.contains_key(CONTROL)) {
            sweep.text.insert_str(0, &format!("{CONTROL} = {}\n", Value::from(control)));
        }
        Ok(sweep)
    }

    /// Expands what the arguments of a command ask for.
    ///
    /// # Errors
    /// If it is bad input: the error names the argument, what was expected, and the cure.
    pub fn of(ask: &Ask) -> Result<Self, ScenarioError> {
        let (text, arguments) = ask.written()?;
        File { document: Document::parse(&ask.scenario, &text)?, folder: None, arguments }.expand()
    }
}

/// The point `index`, if it differs from the one before in the seed alone: seeds vary fastest.
fn another_seed(last: &Point, axes: &[Axis], settings: &[&Setting], index: usize) -> Option<Point> {
    let seeds = axes.last()?.values.len();
    let setting =
        settings.last().filter(|setting| setting.target == Target::Seed && !index.is_multiple_of(seeds))?;
    Some(last.with_seed(u64::try_from(setting.value.as_integer()?).ok()?))
}

/// Whether these are values of the sweep's first scheme, or of its only one.
fn is_first_scheme(settings: &[&Setting]) -> bool {
    let scheme = settings.iter().find(|setting| setting.target == Target::Scheme);
    scheme.is_none_or(|setting| matches!(setting.path.as_str(), "scheme" | "scheme[0]"))
}

/// The values of point `index`: the last axis varies fastest.
fn chosen(axes: &[Axis], mut index: usize) -> Vec<&Setting> {
    let mut values = Vec::new();
    for axis in axes.iter().rev() {
        values.push(&axis.values[index % axis.values.len()]);
        index /= axis.values.len();
    }
    values.into_iter().rev().flatten().collect()
}

/// An axis; each of its values sets one key, or several.
struct Axis {
    values: Vec<Vec<Setting>>,
}

/// A key with its value, and where the file has it.
#[derive(Clone)]
struct Setting {
    target: Target,
    value: Value,
    path: String,
}

/// The part of a request that a value sets.
#[derive(Clone, PartialEq, Eq)]
enum Target {
    Scenario,
    Scheme,
    Profile,
    Seed,
    /// A key of the scenario.
    Key(String),
}

struct File {
    document: Document,
    folder: Option<PathBuf>,
    /// The argument that each path comes from, where the text was made of arguments.
    arguments: Vec<(String, String)>,
}

impl File {
    /// A sweep that was run with a control from outside means that one: without it, it is another study.
    fn check_control(&self, given: Option<&str>) -> Result<(), ScenarioError> {
        let Some(value) = self.document.table.get(CONTROL) else { return Ok(()) };
        let Some(written) = value.as_str() else {
            return Err(self.wrong(CONTROL, value, "the name of a control in Python, in quotes"));
        };
        if given == Some(written) {
            return Ok(());
        }
        let has = given.map_or_else(|| "which is not given".to_owned(), |given| format!("not {given:?}"));
        let problem = format!("its runs use {written:?}, a control in Python, {has}");
        let cure = format!(
            "call farspan.sweep({:?}, control=...) in Python with that control; or remove this line to sweep the scheme's \
             own control, in another folder",
            self.document.name
        );
        Err(self.error(CONTROL, rule(problem, cure)))
    }

    fn expand(&self) -> Result<Sweep, ScenarioError> {
        let (axes, same) = (self.axes()?, self.same()?);
        let count = axes.iter().try_fold(1_usize, |count, axis| count.checked_mul(axis.values.len()));
        if count.is_none_or(|count| count > MOST_POINTS) {
            let problem = format!("more than {MOST_POINTS} points");
            return Err(self.error("", rule(problem, "split it into several sweeps".to_owned())));
        }
        let (mut points, mut repeated) = (Vec::new(), 0);
        let mut known = BTreeSet::new();
        let mut last: Option<Point> = None;
        // What other schemes take over: the first one comes before them in every combination.
        let mut taken = Vec::new();
        for index in 0..count.unwrap_or(0) {
            let settings = chosen(&axes, index);
            let point = match last.as_ref().and_then(|last| another_seed(last, &axes, &settings, index)) {
                Some(point) => point,
                None if is_first_scheme(&settings) => {
                    let point = self.point(&settings, &[])?;
                    taken = same_as(&point.resolved, &same);
                    point
                }
                None => self.point(&settings, &taken)?,
            };
            match known.insert(point.identity()) {
                true => points.push(point.clone()),
                false => repeated += 1,
            }
            last = Some(point);
        }
        Ok(Sweep { points, repeated, text: self.text(&axes) })
    }

    /// Where the value of a path was written.
    fn place(&self, path: &str) -> Place {
        let is_of = |known: &str| {
            path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
        };
        match self.arguments.iter().find(|(known, _)| is_of(known)) {
            Some((_, argument)) => Place::Argument(argument.clone()),
            None if self.arguments.is_empty() => self.document.nearest_place(path),
            None => Place::Whole(self.document.name.clone()),
        }
    }

    fn error(&self, path: &str, problem: Problem) -> ScenarioError {
        ScenarioError { place: self.place(path), path: path.to_owned(), problem: Box::new(problem) }
    }

    fn wrong(&self, path: &str, found: &Value, expected: &str) -> ScenarioError {
        self.error(path, Problem::WrongType { found: found.to_string(), expected: expected.to_owned() })
    }

    fn axes(&self) -> Result<Vec<Axis>, ScenarioError> {
        let table = &self.document.table;
        if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let problem = Problem::UnknownKey { key: key.clone(), known: KEYS.map(str::to_owned).into() };
            let place = self.document.key_place(key).unwrap_or_else(|| self.document.nearest_place(key));
            return Err(ScenarioError { place, path: key.clone(), problem: Box::new(problem) });
        }
        let mut axes = Vec::new();
        match self.names("scenario", &Target::Scenario)? {
            Some(axis) => axes.push(axis),
            None => {
                let example = "scenario = \"uno/incast-mixed\", or the name of a file".to_owned();
                return Err(self.error("scenario", Problem::Missing { example }));
            }
        }
        axes.extend(self.names("profile", &Target::Profile)?);
        for (key, path, value) in self.leaves("grid")? {
            axes.push(self.axis(&Target::Key(key), &path, value)?);
        }
        axes.extend(self.draws()?);
        axes.extend(self.names("scheme", &Target::Scheme)?);
        let key = Target::Key("seed".to_owned());
        let seed = axes.iter().flat_map(|axis| axis.values.iter().flatten()).find(|it| it.target == key);
        let seeds = self.seeds()?;
        if let (Some(seed), Some(_)) = (seed, &seeds) {
            let other = match self.place("seeds") {
                Place::Argument(argument) => argument,
                _ => "seeds".to_owned(),
            };
            let problem = format!("seed is also given by {other}");
            return Err(ScenarioError {
                place: self.place(&seed.path),
                path: String::new(),
                problem: Box::new(rule(problem, "give the seeds in one of them")),
            });
        }
        axes.extend(seeds);
        Ok(axes)
    }

    /// The parts that other schemes take over from the first one.
    fn same(&self) -> Result<Vec<SchemePart>, ScenarioError> {
        let Some(value) = self.document.table.get("same") else { return Ok(Vec::new()) };
        let names: Option<Vec<(String, &str)>> = match value {
            Value::String(text) => {
                Some(text.split(',').map(|name| ("same".to_owned(), name.trim())).collect())
            }
            Value::Array(items) => {
                let texts = items.iter().map(Value::as_str).enumerate();
                texts.map(|(i, text)| Some((format!("same[{i}]"), text?))).collect()
            }
            _ => None,
        };
        let names =
            names.ok_or_else(|| self.wrong("same", value, "a list, such as [\"recovery\", \"balance\"]"))?;
        let part = |(path, name): (String, &str)| {
            name.parse::<SchemePart>().map_err(|error| self.error(&path, Problem::UnknownName(error)))
        };
        let parts = names.into_iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let schemes = self.document.table.get("scheme").and_then(Value::as_array).map_or(1, Vec::len);
        if schemes < 2 && !parts.is_empty() {
            let cure = match self.arguments.is_empty() {
                true => {
                    "give several, such as scheme = [\"uno\", \"oscar\"]: the others use this part of the first"
                }
                false => "give several, such as --scheme uno,oscar: the others use this part of the first",
            };
            return Err(
                self.error("same", rule("there is no other scheme to share it with".to_owned(), cure))
            );
        }
        Ok(parts)
    }

    /// An axis of names.
    fn names(&self, key: &str, target: &Target) -> Result<Option<Axis>, ScenarioError> {
        let Some(value) = self.document.table.get(key) else { return Ok(None) };
        let axis = self.axis(target, key, value)?;
        match axis.values.iter().flatten().find(|setting| !setting.value.is_str()) {
            Some(Setting { path, value, .. }) => {
                Err(self.wrong(path, value, "a name in quotes, or a list of names"))
            }
            None => Ok(Some(axis)),
        }
    }

    /// The axis of a value, or of a list of them.
    fn axis(&self, target: &Target, path: &str, value: &Value) -> Result<Axis, ScenarioError> {
        let setting = |value: &Value, path: String| {
            vec![Setting { target: target.clone(), value: value.clone(), path }]
        };
        let values: Vec<_> = match value {
            Value::Array(items) => {
                items.iter().enumerate().map(|(i, item)| setting(item, format!("{path}[{i}]"))).collect()
            }
            value => vec![setting(value, path.to_owned())],
        };
        if values.is_empty() {
            let cure =
                "give at least one value; write a value that is a list in a list of its own, as in [[0, 1]]";
            return Err(self.error(path, rule("an axis without values".to_owned(), cure.to_owned())));
        }
        for (i, setting) in values.iter().enumerate() {
            if values[..i].iter().any(|other| other[0].value == setting[0].value) {
                let problem = format!("{} is given twice", setting[0].value);
                return Err(self.error(&setting[0].path, rule(problem, "give each value once".to_owned())));
            }
        }
        Ok(Axis { values })
    }

    /// The keys of a scenario that stand in a table of the file, with their paths in it and their values.
    fn leaves(&self, table: &str) -> Result<Vec<(String, String, &Value)>, ScenarioError> {
        let mut found = Vec::new();
        match self.document.table.get(table) {
            None => {}
            Some(Value::Table(inner)) => leaves("", table, inner, &mut found),
            Some(other) => return Err(self.wrong(table, other, "a table, such as \"topology.k\" = [4, 8]")),
        }
        Ok(found)
    }

    fn seeds(&self) -> Result<Option<Axis>, ScenarioError> {
        let Some(value) = self.document.table.get("seeds") else { return Ok(None) };
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(seed) => seed.to_string(),
            Value::Array(items) if items.iter().all(Value::is_integer) => {
                items.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
            }
            other => return Err(self.wrong("seeds", other, "\"1..10\", \"1,2,5\" or [1, 2, 5]")),
        };
        let seeds = seeds(&text)
            .map_err(|error| self.error("seeds", Problem::Unreadable { message: error.to_string() }))?;
        let setting = |seed: u64| Setting {
            target: Target::Seed,
            value: Value::Integer(i64::try_from(seed).expect("a seed has 63 bits")),
            path: "seeds".to_owned(),
        };
        Ok(Some(Axis { values: seeds.into_iter().map(|seed| vec![setting(seed)]).collect() }))
    }

    /// The axis of random points.
    fn draws(&self) -> Result<Option<Axis>, ScenarioError> {
        let (mut count, mut seed, mut draws) = (None, 0, Vec::new());
        for (key, path, value) in self.leaves("draw")? {
            let whole = value.as_integer().and_then(|whole| u64::try_from(whole).ok());
            match key.as_str() {
                "count" | "seed" => {
                    let whole = whole
                        .ok_or_else(|| self.wrong(&path, value, "a whole number that is not negative"))?;
                    if key == "count" { count = Some(whole) } else { seed = whole }
                }
                _ => {
                    let draw = Draw::new(value).map_err(|problem| self.error(&path, problem))?;
                    draws.push((key, path, draw));
                }
            }
        }
        let Some(count) = count else {
            return match draws.is_empty() {
                true => Ok(None),
                false => Err(self.error("draw", Problem::Missing { example: "count = 100".to_owned() })),
            };
        };
        if draws.is_empty() && count > 0 {
            let cure = "give a key with its values, such as \"topology.k\" = [4, 8], or leave count out";
            return Err(self.error("draw.count", rule("nothing is drawn".to_owned(), cure)));
        }
        let setting = |index: u64, (key, path, draw): &(String, String, Draw)| Setting {
            target: Target::Key(key.clone()),
            value: draw.value(seed, key, index),
            path: path.clone(),
        };
        let values: Vec<_> = (0..count.min(MOST_POINTS as u64 + 1))
            .map(|index| draws.iter().map(|draw| setting(index, draw)).collect())
            .collect();
        Ok((!values.is_empty()).then_some(Axis { values }))
    }

    /// The point of these values, its scheme with the parts that were taken over; what the sweep sets itself stands above them.
    fn point(&self, settings: &[&Setting], taken: &[String]) -> Result<Point, ScenarioError> {
        let (mut request, mut parameters) =
            (Request { set: taken.to_vec(), ..Request::default() }, Vec::new());
        let mut places: Vec<_> = taken.iter().map(|taken| (format!("--set {taken}"), "same")).collect();
        for Setting { target, value, path } in settings {
            let text = value.as_str().unwrap_or_default().to_owned();
            let argument = match target {
                Target::Scenario => {
                    request.scenario = self.scenario(&text);
                    continue;
                }
                Target::Scheme => format!("--scheme {}", request.scheme.insert(text)),
                Target::Profile => format!("--profile {}", request.profile.insert(text)),
                Target::Seed => {
                    let seed = value.as_integer().and_then(|seed| u64::try_from(seed).ok());
                    request.seed = seed;
                    format!("--seed {value}")
                }
                Target::Key(key) => {
                    parameters.push((key.clone(), value.clone()));
                    request.set.push(format!("{key}={value}"));
                    format!("--set {key}={value}")
                }
            };
            places.push((argument, path.as_str()));
        }
        Point::new(request, parameters).map_err(|error| {
            let place = match &error.place {
                Place::Argument(argument) => places.iter().find(|(known, _)| known == argument),
                _ => None,
            };
            let scenario = settings.iter().find(|setting| setting.target == Target::Scenario);
            let whole = scenario.filter(|_| matches!(error.place, Place::Whole(_)));
            let path = place.map(|(_, path)| *path).or_else(|| whole.map(|setting| setting.path.as_str()));
            match path {
                Some(path) => ScenarioError { place: self.place(path), ..error },
                None => error,
            }
        })
    }

    /// A built-in scenario's name, or a file beside this one, by its whole path: files that it names are the same ones
    /// wherever the sweep lies.
    fn scenario(&self, name: &str) -> String {
        if BuiltIn::named(name).is_some() {
            return name.to_owned();
        }
        let path = self.folder.as_ref().map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        let whole = std::path::absolute(&path).ok().filter(|whole| whole.exists());
        whole.unwrap_or(path).display().to_string()
    }

    /// The text with whole paths.
    fn text(&self, axes: &[Axis]) -> String {
        let scenarios = axes.iter().flat_map(|axis| axis.values.iter().flatten());
        let mut text = self.document.text.clone();
        // From the end on, so that what is still to be replaced stays where it is.
        for Setting { value, path, .. } in scenarios.filter(|it| it.target == Target::Scenario).rev() {
            let name = value.as_str().filter(|name| BuiltIn::named(name).is_none());
            if let (Some(name), Some(span)) = (name, self.document.value_span(path)) {
                text.replace_range(span, &Value::from(self.scenario(name)).to_string());
            }
        }
        text
    }
}

/// The values of a table and of the tables in it, by their key in a scenario and their path in the file. A range of a draw is a
/// value. A key of the table itself can be a path: `"topology.wan.rtt"`.
fn leaves<'a>(above: &str, path: &str, table: &'a Table, found: &mut Vec<(String, String, &'a Value)>) {
    for (key, value) in table {
        let path = join(path, key);
        let key = if above.is_empty() { key.clone() } else { join(above, key) };
        match value {
            Value::Table(inner) if !is_range(inner) => leaves(&key, &path, inner, found),
            value => found.push((key, path, value)),
        }
    }
}

fn rule(problem: String, cure: impl Into<String>) -> Problem {
    Problem::Rule { problem, cure: cure.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(text: &str) -> Result<Sweep, String> {
        Sweep::parse("s.toml", text, None).map_err(|error| error.to_string())
    }

    fn said(text: &str) -> String {
        sweep(text).map(|_| ()).unwrap_err()
    }

    const HEAD: &str = "scenario = \"uno/incast-mixed\"\n";

    #[test]
    fn wherever_one_value_stands_a_list_is_an_axis() {
        let text = "scheme = ['uno', 'gemini']\nprofile = ['paper', 'artifact']\nseeds = '1..3'\n[grid]\n\"topology.k\" = [4, 8]\n";
        let points = sweep(&format!("{HEAD}{text}")).unwrap().points;
        assert_eq!(points.len(), 24);
        let first: Vec<_> = points[..4].iter().map(|p| (p.resolved.scheme(), p.resolved.seed())).collect();
        assert_eq!(first, [("uno", 1), ("uno", 2), ("uno", 3), ("gemini", 1)]);
        assert_eq!(points[0].parameters, [("topology.k".to_owned(), Value::Integer(4))]);
        assert!(points[23].resolved.to_toml().contains("\nk = 8\n"));
    }

    #[test]
    fn without_axes_there_is_one_point() {
        let point = &sweep(HEAD).unwrap().points[0];
        assert_eq!((point.resolved.seed(), point.parameters.len()), (1, 0));
    }

    #[test]
    fn seeds_are_a_text_a_list_or_a_number() {
        for (seeds, count) in [("\"1,2,5\"", 3), ("[1, 2, 5]", 3), ("7", 1)] {
            assert_eq!(sweep(&format!("{HEAD}seeds = {seeds}\n")).unwrap().points.len(), count, "{seeds}");
        }
        assert!(
            said(&format!("{HEAD}seeds = \"1..x\"\n")).starts_with("s.toml:2:9: seeds: \"x\" is not a whole")
        );
    }

    #[test]
    fn seeds_stand_in_one_place() {
        for table in [
            "[grid]\nseed = [1, 2]",
            "[grid]\nseed = 1",
            "[draw]\ncount = 2\nseed = 3\n\"topology.k\" = [4, 8]",
        ] {
            let sweep = sweep(&format!("{HEAD}seeds = '5'\n{table}\n"));
            // The seed of a draw is its own.
            match table.starts_with("[draw]") {
                true => assert!(sweep.is_ok(), "{sweep:?}"),
                false => {
                    let said = sweep.unwrap_err();
                    assert!(
                        said.starts_with("s.toml:4:") && said.contains("seed is also given by seeds; give"),
                        "{said}"
                    );
                }
            }
        }
    }

    #[test]
    fn keys_stand_quoted_or_in_tables() {
        let dotted = sweep(&format!("{HEAD}[grid]\n\"topology.wan.rtt\" = ['1ms', '2ms']\n")).unwrap();
        let tables = sweep(&format!("{HEAD}[grid.topology]\nwan.rtt = ['1ms', '2ms']\n")).unwrap();
        let names = |sweep: &Sweep| sweep.points.iter().map(|p| p.resolved.to_toml()).collect::<Vec<_>>();
        assert_eq!(names(&dotted), names(&tables));
    }

    #[test]
    fn a_pattern_of_links_is_an_axis_and_a_range() {
        let delays = |sweep: &Sweep| {
            let of =
                |point: &Point| point.resolved.scenario().topology.link.0[0].1.delay.unwrap().to_string();
            sweep.points.iter().map(of).collect::<Vec<_>>()
        };
        for grid in [
            "[grid]\n'topology.link[\"border0->*\"].delay' = ['1ms', '2ms']\n",
            "[grid]\n\"topology.link['border0->*'].delay\" = ['1ms', '2ms']\n",
            "[grid.topology.link.'border0->*']\ndelay = ['1ms', '2ms']\n",
        ] {
            let sweep = sweep(&format!("{HEAD}{grid}")).unwrap();
            assert_eq!(delays(&sweep), ["1ms", "2ms"], "{grid}");
            assert!(sweep.points[0].parameters[0].0.ends_with(".delay"), "{:?}", sweep.points[0].parameters);
        }
        let draw = "[draw]\ncount = 9\n'topology.link[\"*\"].delay' = { from = '1us', to = '9us' }\n";
        let drawn = sweep(&format!("{HEAD}{draw}")).unwrap();
        assert_eq!(drawn.points.len(), 9);
        let wrong = said(&format!("{HEAD}[grid.topology.link.'a->*']\ndelay = ['1ms', '2 parsecs']\n"));
        assert!(wrong.starts_with("s.toml:3:17: topology.link[\"a->*\"].delay: "), "{wrong}");
        let twice = said(&format!("{HEAD}[grid]\n'topology.link[\"*\"].delay' = ['1ms', '1ms']\n"));
        assert!(twice.starts_with("s.toml:3:38: "), "{twice}");
    }

    #[test]
    fn random_points_are_beside_the_grid_and_the_same_for_every_scheme() {
        let text = "scheme = ['uno', 'dctcp']\n[grid]\n\"topology.k\" = [4, 8]\n[draw]\ncount = 3\n\
                    \"topology.buffer\" = { from = '128KiB', to = '8MiB', log = true }\n\"stop.time\" = ['1s', '2s']\n";
        let points = sweep(&format!("{HEAD}{text}")).unwrap().points;
        assert_eq!(points.len(), 12);
        assert_eq!(points[0].parameters[1..], points[1].parameters[1..]);
        assert_eq!(points[0].parameters[1..], points[6].parameters[1..]);
        assert_ne!(points[0].parameters[1], points[2].parameters[1]);
        let longer = text.replace("count = 3", "count = 4");
        let longer = sweep(&format!("{HEAD}{longer}")).unwrap().points;
        assert_eq!(longer[5].parameters, points[5].parameters);
        let none = text.replace("count = 3", "count = 0");
        assert_eq!(sweep(&format!("{HEAD}{none}")).unwrap().points.len(), 4);
    }

    #[test]
    fn points_that_are_one_run_are_one_row() {
        let twice = sweep(&format!("{HEAD}[grid]\n\"topology.wan.rtt\" = ['2ms', '2000us']\n")).unwrap();
        assert_eq!((twice.points.len(), twice.repeated), (1, 1));
    }

    #[test]
    fn bad_input_names_place_and_cure() {
        for (text, place, cure) in [
            ("schemes = 'uno'\n", "s.toml:2:1: schemes: unknown key", "did you mean \"scheme\"?"),
            ("scheme = ['uno', 'unoo']\n", "s.toml:2:18: ", "did you mean \"uno\"?"),
            ("scheme = 3\n", "s.toml:2:10: scheme: 3 does not fit here", "a name in quotes"),
            (
                "[grid]\n\"topology.bufer\" = [4]\n",
                "s.toml:3:21: topology.bufer: unknown key",
                "did you mean \"buffer\"?",
            ),
            (
                "[grid]\n\"topology.link_rate\" = ['1Gbps', '5 parsecs']\n",
                "s.toml:3:34: topology.link_rate: ",
                "Gbps",
            ),
            (
                "[grid]\n\"topology.k\" = [4, 4]\n",
                "s.toml:3:20: grid.topology.k[1]: 4 is given twice",
                "once",
            ),
            (
                "[grid]\n\"topology.k\" = []\n",
                "s.toml:3:16: grid.topology.k: an axis without values",
                "at least one",
            ),
            (
                "same = 'recovery'\n",
                "s.toml:2:8: same: there is no other scheme",
                "scheme = [\"uno\", \"oscar\"]",
            ),
            (
                "scheme = ['uno', 'dctcp']\nsame = ['coding', 'recover']\n",
                "s.toml:3:19: same[1]: \"recover\" is not a known part",
                "did you mean \"recovery\"?",
            ),
            ("same = [3]\n", "s.toml:2:8: same: [3] does not fit here", "a list"),
            ("grid = 3\n", "s.toml:2:8: grid: 3 does not fit here", "a table"),
            ("[draw]\n\"topology.k\" = [4]\n", "s.toml:2:1: draw: missing", "count = 100"),
            ("[draw]\ncount = 3\n", "s.toml:3:9: draw.count: nothing is drawn", "give a key"),
            ("[draw]\ncount = -1\n", "s.toml:3:9: draw.count: -1", "not negative"),
            ("[draw]\ncount = 1\n\"topology.k\" = 4\n", "s.toml:4:16: draw.topology.k: 4", "a range"),
            ("[draw]\ncount = 1\n\"a.b\" = { from = 1 }\n", "s.toml:4:9: draw.a.b: missing", "to ="),
            (
                "[draw]\ncount = 1\n\"a.b\" = { from = 2, to = 1 }\n",
                "s.toml:4:9: draw.a.b: nothing lies",
                "smaller",
            ),
            (
                "[draw]\ncount = 1\n\"a.b\" = { from = '1ms', to = '1MiB' }\n",
                "s.toml:4:9: draw.a.b: from",
                "one kind",
            ),
            ("[draw]\ncount = 1\n\"a.b\" = { from = 0, to = 1, log = true }\n", "s.toml:4:9: ", "above zero"),
            (
                "[draw]\ncount = 1\n\"a.b\" = { from = 1, too = 2 }\n",
                "s.toml:4:9: draw.a.b: unknown key",
                "\"to\"",
            ),
            (
                "[draw]\ncount = 1000000\n\"stop.time\" = { from = '1s', to = '2s' }\n",
                "s.toml:1:1: more than",
                "several",
            ),
        ] {
            let error = said(&format!("{HEAD}{text}"));
            assert!(error.starts_with(place) && error.contains(cure), "{text}: {error}");
        }
        assert!(said("seeds = 1").contains("scenario: missing"));
        assert!(said("scenario = 'no/such'").starts_with("s.toml:1:12: neither a built-in"));
        assert!(said("scenario = = 3").starts_with("s.toml:1:12: not TOML"));
    }

    #[test]
    fn other_schemes_take_parts_over_from_the_first_at_every_point() {
        let head = format!(
            "{HEAD}scheme = ['uno', 'gemini', 'dctcp']\nseeds = '1,2'\nsame = ['recovery', 'coding']\n"
        );
        let grid = "[grid]\n\"scheme.inter.coding.data\" = [4, 8]\n\"scheme.inter.coding.name\" = 'mds'\n";
        let points = sweep(&format!("{head}{grid}")).unwrap().points;
        assert_eq!(points.len(), 12);
        for same in points.chunks(6) {
            let class = |point: &Point| point.resolved.scenario().scheme.inter.clone();
            let uno = class(&same[0]);
            for point in same {
                assert_eq!(
                    (class(point).recovery, class(point).coding),
                    (uno.recovery.clone(), uno.coding.clone())
                );
            }
            assert_ne!(class(&same[2]).balance, uno.balance);
        }
        let shape = |point: &Point| point.resolved.scenario().scheme.inter.coding.clone();
        assert_ne!(shape(&points[2]), shape(&points[8]));
        // One key as text says the same.
        let text = head.replace("['recovery', 'coding']", "'recovery, coding'");
        assert_eq!(sweep(&format!("{text}{grid}")).unwrap().points[2].identity(), points[2].identity());
    }

    #[test]
    fn what_the_sweep_sets_stands_above_what_is_taken_over() {
        let text = "scheme = ['uno', 'dctcp']\nsame = 'balance'\n[grid]\n'scheme.intra.balance' = 'rps'\n";
        let points = sweep(&format!("{HEAD}{text}")).unwrap().points;
        let balance = |i: usize| points[i].resolved.scenario().scheme.intra.balance.name().map(str::to_owned);
        assert_eq!([balance(0), balance(1)], [Some("rps".to_owned()), Some("rps".to_owned())]);
    }

    #[test]
    fn a_sweep_of_a_control_from_outside_is_none_without_it() {
        let with = |text: &str, control| Sweep::parse_with("s.toml", text, None, control);
        let text = with(HEAD, Some("Mine")).unwrap().text;
        assert_eq!(text, format!("control = \"Mine\"\n{HEAD}"));
        assert_eq!(with(&text, Some("Mine")).unwrap().text, text);
        for (control, has) in [(None, "which is not given"), (Some("Other"), "not \"Other\"")] {
            let error = with(&text, control).unwrap_err().to_string();
            assert!(error.starts_with("s.toml:1:") && error.contains(has), "{error}");
            assert!(error.contains("farspan.sweep(\"s.toml\", control=...)"), "{error}");
        }
        let error = sweep(&format!("control = 1\n{HEAD}")).unwrap_err();
        assert!(error.contains("the name of a control in Python"), "{error}");
    }

    #[test]
    fn the_text_names_scenario_files_by_their_whole_paths() {
        let folder = std::env::temp_dir().join(format!("farspan-sweep-text-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let names = ["ä.toml", "b.toml"];
        names.iter().for_each(|name| std::fs::write(folder.join(name), "base = 'uno/steady'").unwrap());
        let text = "scenario = ['ä.toml', 'uno/steady', \"b.toml\"] # mine\nseeds = 3\n";
        let sweep = Sweep::parse("s.toml", text, Some(&folder)).unwrap();
        let again = Sweep::parse("s.toml", &sweep.text, None).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let [a, b] = names.map(|name| folder.join(name).display().to_string());
        assert_eq!(sweep.text, format!("scenario = [{a:?}, 'uno/steady', {b:?}] # mine\nseeds = 3\n"));
        assert_eq!((again.text, again.points.len()), (sweep.text, 3));
    }

    #[test]
    fn scenario_files_lie_beside_the_sweep() {
        let folder = std::env::temp_dir().join(format!("farspan-sweep-file-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("mine.toml"), "base = 1").unwrap();
        std::fs::write(folder.join("s.toml"), "scenario = 'mine.toml'").unwrap();
        let error = Sweep::read(&folder.join("s.toml")).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(error.starts_with(&folder.join("mine.toml").display().to_string()), "{error}");
        assert!(Sweep::read(Path::new("no-such.toml")).unwrap_err().to_string().contains("cannot be read"));
    }
}
