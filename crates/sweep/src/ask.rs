//! A sweep as arguments ask for it: the file that says the same, and which argument each of its keys comes from.

use farspan_scenario::value::SchemePart;
use farspan_scenario::{Place, Problem, ScenarioError, value_or_text};
use toml::Value;

/// A scenario with several schemes or values, as the arguments of a command give them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ask {
    /// A built-in scenario's name, or a file.
    pub scenario: String,
    /// `--scheme`; without any, the scenario's own.
    pub schemes: Vec<String>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--seed` or `--seeds`; without any, the scenario's own.
    pub seeds: Vec<u64>,
    /// `--set PATH=VALUE`, in order.
    pub set: Vec<String>,
    /// `--grid PATH=V1,V2`, in order: of two axes the later one varies faster.
    pub grid: Vec<String>,
    /// `--same`: the parts that other schemes take over from the first.
    pub same: Vec<SchemePart>,
}

/// The text of a sweep, and by path in it the argument that says so.
type Written = (String, Vec<(String, String)>);

impl Ask {
    /// The sweep file that asks for the same.
    ///
    /// # Errors
    /// If an argument has no value, or a key two.
    pub(crate) fn written(&self) -> Result<Written, ScenarioError> {
        let names = |names: &[String]| match names {
            [one] => Value::from(one.as_str()),
            names => Value::from(names.to_vec()),
        };
        let mut text = format!(
            "# `farspan sweep` of this file runs it again.\nscenario = {}\n",
            Value::from(self.scenario.as_str())
        );
        let mut arguments = vec![("scenario".to_owned(), self.scenario.clone())];
        let mut option = |key: &str, option: &str, value: Value, argument: &str| {
            text += &format!("{key} = {value}\n");
            arguments.push((key.to_owned(), format!("--{option} {argument}")));
        };
        if !self.schemes.is_empty() {
            option("scheme", "scheme", names(&self.schemes), &self.schemes.join(","));
        }
        if let Some(profile) = &self.profile {
            option("profile", "profile", Value::from(profile.as_str()), profile);
        }
        if !self.seeds.is_empty() {
            let seeds = seeds(&self.seeds);
            option("seeds", "seeds", Value::from(seeds.as_str()), &seeds);
        }
        if !self.same.is_empty() {
            let parts: Vec<String> = self.same.iter().map(ToString::to_string).collect();
            let argument = parts.join(",");
            option("same", "same", Value::from(parts), &argument);
        }
        let keys = self.keys()?;
        if !keys.is_empty() {
            text += "[grid]\n";
        }
        for Key { path, value, argument } in keys {
            // JSON quotes a key as TOML does.
            text += &format!("{} = {value}\n", serde_json::Value::from(path.as_str()));
            arguments.push((format!("grid.{path}"), argument));
        }
        Ok((text, arguments))
    }

    /// The keys that `--set` and `--grid` name. Of two `--set` of one key the last one counts, as on `farspan run`.
    fn keys(&self) -> Result<Vec<Key>, ScenarioError> {
        let mut keys: Vec<Key> = Vec::new();
        for set in &self.set {
            let key = Key::set(set)?;
            keys.retain(|known| known.path != key.path);
            keys.push(key);
        }
        for grid in &self.grid {
            let key = Key::axis(grid)?;
            if let Some(known) = keys.iter().find(|known| known.path == key.path) {
                let problem = format!("{} is also given by {}", key.path, known.argument);
                return Err(wrong(&key.argument, &problem, "write all its values in one --grid"));
            }
            keys.push(key);
        }
        Ok(keys)
    }
}

/// A key of the scenario.
struct Key {
    path: String,
    /// As it stands in `[grid]`: a list is one of values.
    value: Value,
    argument: String,
}

impl Key {
    fn set(set: &str) -> Result<Self, ScenarioError> {
        let argument = format!("--set {set}");
        let Some((path, value)) = assignment(set) else {
            return Err(wrong(
                &argument,
                "no \"=\" in it",
                "write --set PATH=VALUE, such as --set topology.k=4",
            ));
        };
        let value = match value_or_text(value) {
            // As an axis it would be one of several values, or of several keys.
            value @ (Value::Array(_) | Value::Table(_)) => Value::Array(vec![value]),
            value => value,
        };
        Ok(Self { path: path.to_owned(), value, argument })
    }

    fn axis(grid: &str) -> Result<Self, ScenarioError> {
        let argument = format!("--grid {grid}");
        let example = "write --grid PATH=V1,V2, such as --grid topology.wan.rtt=1ms,2ms";
        let Some((path, values)) = assignment(grid) else {
            return Err(wrong(&argument, "no \"=\" in it", example));
        };
        let values = split(values);
        if values.contains(&"") {
            return Err(wrong(&argument, "a value is missing", example));
        }
        let values = values.into_iter().map(value_or_text).collect();
        Ok(Self { path: path.to_owned(), value: Value::Array(values), argument })
    }
}

fn wrong(argument: &str, problem: &str, cure: &str) -> ScenarioError {
    let problem = Problem::Rule { problem: problem.to_owned(), cure: cure.to_owned() };
    ScenarioError {
        place: Place::Argument(argument.to_owned()),
        path: String::new(),
        problem: Box::new(problem),
    }
}

/// Path and value around the first `=` outside quotes and brackets.
fn assignment(text: &str) -> Option<(&str, &str)> {
    let at = outside(text, '=').next()?;
    Some((text[..at].trim(), text[at + 1..].trim()))
}

/// The parts of a text between commas, but for those inside quotes or brackets.
///
/// ```
/// assert_eq!(farspan_sweep::split("uno, unocc+plb+mds(8,2)"), ["uno", "unocc+plb+mds(8,2)"]);
/// ```
#[must_use]
pub fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for at in outside(text, ',') {
        parts.push(text[from..at].trim());
        from = at + 1;
    }
    parts.push(text[from..].trim());
    parts
}

/// Where `wanted` stands outside quotes and brackets.
fn outside(text: &str, wanted: char) -> impl Iterator<Item = usize> {
    let (mut quote, mut escaped, mut depth) = (None, false, 0_u32);
    text.char_indices().filter_map(move |(at, c)| {
        match (quote, c) {
            (Some('"'), '\\') => escaped = !escaped,
            (Some(open), _) => {
                if c == open && !escaped {
                    quote = None;
                }
                escaped = false;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) => return (c == wanted && depth == 0).then_some(at),
        }
        None
    })
}

/// Seeds as a sweep file has them: `1..5` where they follow one another.
fn seeds(seeds: &[u64]) -> String {
    let (first, last) = (seeds[0], seeds[seeds.len() - 1]);
    let follow = seeds.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    match seeds {
        [one] => one.to_string(),
        _ if follow => format!("{first}..{last}"),
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sweep;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn ask() -> Ask {
        Ask { scenario: "uno/incast-mixed".to_owned(), ..Ask::default() }
    }

    fn grid(grid: &[&str]) -> Ask {
        Ask { grid: words(grid), ..ask() }
    }

    fn said(ask: &Ask) -> String {
        Sweep::of(ask).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn arguments_are_the_sweep_of_the_file_that_says_the_same() {
        let ask = Ask {
            schemes: words(&["uno", "unocc+plb+mds(8,2)"]),
            profile: Some("artifact".to_owned()),
            seeds: vec![1, 2, 3],
            set: words(&[
                "workload.flow_size=1MiB",
                "topology.k=8",
                "workload.senders=[0, 1]",
                "topology.k=4",
            ]),
            grid: words(&["topology.wan.rtt=1ms,2ms", "transport.rto=\"path\",10ms"]),
            same: vec![SchemePart::Recovery],
            ..ask()
        };
        let asked = Sweep::of(&ask).unwrap();
        let text = "# `farspan sweep` of this file runs it again.\nscenario = \"uno/incast-mixed\"\nscheme = [\"uno\", \"unocc+plb+mds(8,2)\"]\n\
                    profile = \"artifact\"\nseeds = \"1..3\"\nsame = [\"recovery\"]\n[grid]\n\
                    \"workload.flow_size\" = \"1MiB\"\n\"workload.senders\" = [[0, 1]]\n\"topology.k\" = 4\n\
                    \"topology.wan.rtt\" = [\"1ms\", \"2ms\"]\n\"transport.rto\" = [\"path\", \"10ms\"]\n";
        assert_eq!(asked.text, text);
        let read = Sweep::parse("sweep.toml", text, None).unwrap();
        let identities = |sweep: &Sweep| sweep.points.iter().map(crate::Point::identity).collect::<Vec<_>>();
        assert_eq!((asked.points.len(), identities(&asked)), (24, identities(&read)));
        let resolved = &asked.points[0].resolved;
        assert_eq!(resolved.profile().name(), "artifact");
        assert!(resolved.to_toml().contains("\nk = 4\n"));
    }

    #[test]
    fn commas_in_quotes_and_brackets_part_nothing() {
        for (text, parts) in [
            ("uno", vec!["uno"]),
            ("uno , oscar", vec!["uno", "oscar"]),
            ("a+b+mds(8,2),c", vec!["a+b+mds(8,2)", "c"]),
            ("[0, 1],[2]", vec!["[0, 1]", "[2]"]),
            ("{ a = \"x,}\", b = 1 },2", vec!["{ a = \"x,}\", b = 1 }", "2"]),
            (r#""a\",b",'c\',d"#, vec![r#""a\",b""#, r"'c\'", "d"]),
            ("a,,b", vec!["a", "", "b"]),
            ("a)],b", vec!["a)]", "b"]),
        ] {
            assert_eq!(split(text), parts, "{text}");
        }
        assert_eq!(assignment("a[\"x=y\"].b=c=d"), Some(("a[\"x=y\"].b", "c=d")));
    }

    #[test]
    fn a_value_that_is_a_list_or_a_table_stays_one() {
        let control = "scheme.intra.congestion={ name = \"unocc\", beta = 0.5 }";
        let table = Ask { set: words(&[control]), ..grid(&["workload.senders=[0,1],[0,1,2]"]) };
        let points = Sweep::of(&table).unwrap().points;
        let texts = points.iter().map(|point| point.resolved.to_toml());
        let senders =
            texts.map(|text| text.lines().find(|line| line.starts_with("senders")).map(str::to_owned));
        let expected = ["senders = [0, 1]", "senders = [0, 1, 2]"].map(|line| Some(line.to_owned()));
        assert_eq!(senders.collect::<Vec<_>>(), expected);
        assert_eq!(points[0].request.set[0], control);
    }

    #[test]
    fn seeds_that_follow_one_another_are_a_range() {
        for (given, text) in
            [(vec![7], "7"), (vec![2, 3, 4], "2..4"), (vec![1, 3], "1,3"), (vec![3, 2], "3,2")]
        {
            assert_eq!(seeds(&given), text);
        }
    }

    #[test]
    fn bad_input_names_the_argument_and_the_cure() {
        let schemes = |schemes: &[&str]| Ask { schemes: words(schemes), ..ask() };
        let same =
            |schemes: &[&str]| Ask { schemes: words(schemes), same: vec![SchemePart::Coding], ..ask() };
        for (ask, argument, cure) in [
            (schemes(&["uno", "osca"]), "--scheme uno,osca: ", "did you mean \"oscar\"?"),
            (schemes(&["uno", "uno"]), "--scheme uno,uno: scheme[1]: \"uno\" is given twice", "once"),
            (same(&[]), "--same coding: same: there is no other scheme", "--scheme uno,oscar"),
            (same(&["uno"]), "--same coding: same: there is no other scheme", "--scheme uno,oscar"),
            (grid(&["topology.k"]), "--grid topology.k: no \"=\"", "--grid PATH=V1,V2"),
            (grid(&["topology.k="]), "--grid topology.k=: a value is missing", "--grid PATH=V1,V2"),
            (grid(&["topology.k=4,"]), "--grid topology.k=4,: a value is missing", "--grid PATH=V1,V2"),
            (grid(&["topology.k=4,4"]), "--grid topology.k=4,4: ", "once"),
            (
                grid(&["topology.bufer=4,8"]),
                "--grid topology.bufer=4,8: topology.bufer: unknown key",
                "did you mean",
            ),
            (
                grid(&["topology.k=4", "topology.k=8"]),
                "--grid topology.k=8: topology.k is also given by --grid",
                "one --grid",
            ),
            (
                Ask { set: words(&["topology.bufer=4"]), ..ask() },
                "--set topology.bufer=4: topology.bufer: ",
                "did you mean",
            ),
            (Ask { set: words(&["nothing"]), ..ask() }, "--set nothing: no \"=\"", "--set PATH=VALUE"),
            (
                Ask { set: words(&["topology.k=4"]), ..grid(&["topology.k=8"]) },
                "--grid topology.k=8: ",
                "one --grid",
            ),
            (Ask { profile: Some("papers".to_owned()), ..ask() }, "--profile papers: ", "paper"),
            (
                Ask { scenario: "uno/incast-mixd".to_owned(), ..ask() },
                "uno/incast-mixd: ",
                "did you mean \"uno/incast-mixed\"",
            ),
        ] {
            let error = said(&ask);
            assert!(error.starts_with(argument) && error.contains(cure), "{ask:?}: {error}");
        }
    }

    #[test]
    fn a_scenario_file_is_named_by_its_whole_path() {
        let folder = std::env::temp_dir().join(format!("farspan-ask-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("mine.toml");
        std::fs::write(&file, "base = 'uno/steady'").unwrap();
        let dotted = folder.join(".").join("mine.toml").display().to_string();
        let sweep = Sweep::of(&Ask { scenario: dotted, ..ask() }).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(sweep.points[0].request.scenario, file.display().to_string());
        assert!(
            sweep.text.contains(&format!("scenario = {:?}", file.display().to_string())),
            "{}",
            sweep.text
        );
    }
}
