//! The constants of a control, a path selector or a coding in both profiles, with the sources that the data file names.

use farspan_scenario::table::join;
use farspan_scenario::{PROFILES, Request};
use farspan_transport::{balance, coding, congestion};
use std::collections::BTreeMap;
use std::fmt::Write;
use toml::{Table, Value};

/// The names of all controls, path selectors and codings.
pub fn components() -> impl Iterator<Item = &'static str> {
    let coding = coding::NAMES.iter().filter(|name| **name != "none");
    congestion::NAMES.iter().chain(balance::NAMES).chain(coding).copied()
}

/// The constants of a control, a path selector or a coding as tables in Markdown: both profiles, and what differs in some
/// scenarios; `None` if there is no such component.
#[must_use]
pub fn constants(name: &str) -> Option<String> {
    components().find(|known| *known == name)?;
    let comments = Comments::of(PROFILES);
    let (paper, artifact) = (values(name, "paper"), values(name, "artifact"));
    let mut text = String::from("| key | `paper` | source | `artifact` | source |\n|---|---|---|---|---|\n");
    if paper.is_empty() {
        return Some(String::from("No parameters. Both profiles are the same.\n"));
    }
    let all =
        paper.iter().chain(artifact.iter().filter(|(key, _)| !paper.iter().any(|(known, _)| known == key)));
    for (key, _) in all {
        let value = |values: &[(String, String)]| {
            values.iter().find(|(known, _)| known == key).map(|(_, value)| format!("`{value}`"))
        };
        let cell = |profile, value: Option<String>| match value {
            Some(value) => (value, comments.of_key(profile, name, key)),
            None => ("left out".to_owned(), String::new()),
        };
        let (ours, theirs) = (value(&paper), value(&artifact));
        let (theirs, why) = if theirs == ours { Default::default() } else { cell("artifact", theirs) };
        let (ours, source) = cell("paper", ours);
        writeln!(text, "| `{key}` | {ours} | {source} | {theirs} | {why} |")
            .expect("a string takes any text");
    }
    text.push_str("\nWhere the column `artifact` is empty, it is as `paper`.\n");
    text.push_str(&in_some_scenarios(name, &comments));
    Some(text)
}

/// The constants that the profiles set for some scenarios only.
fn in_some_scenarios(name: &str, comments: &Comments) -> String {
    let data: Table = PROFILES.parse().expect("the data file is TOML");
    let mut rows = String::new();
    for profile in ["paper", "artifact"] {
        let scenarios = data[profile].get("scenario").and_then(Value::as_table);
        for (pattern, parts) in scenarios.into_iter().flatten() {
            let Some(part) = parts.get(name).and_then(Value::as_table) else { continue };
            for (key, value) in flatten("", part) {
                let place = format!("{profile}.scenario.\"{pattern}\".{name}.{key}");
                let shown = key
                    .split_once('.')
                    .filter(|(part, _)| PARTS.contains(part))
                    .map_or(&*key, |(_, key)| key);
                writeln!(
                    rows,
                    "| `{profile}` | `{pattern}` | `{shown}` | `{value}` | {} |",
                    comments.at(&place)
                )
                .expect("a string takes any text");
            }
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!("\n| profile | in scenarios | key | value | source |\n|---|---|---|---|---|\n{rows}")
}

/// No scenario is without one.
const WORKLOAD: &str = "[[workload]]\nkind = 'permutation'\nflow_size = '1MiB'";

/// The tables of a component whose keys stand without the table's name.
const PARTS: [&str; 3] = ["congestion", "balance", "coding"];

/// Every constant of a component in a profile, by dotted key.
fn values(name: &str, profile: &str) -> Vec<(String, String)> {
    let is = |names: &[&str]| names.contains(&name);
    let scheme = match () {
        () if is(congestion::NAMES) => name.to_owned(),
        () if is(balance::NAMES) => format!("fixed_window+{name}"),
        () => format!("fixed_window+ecmp+{name}"),
    };
    let text = format!(
        "name = 'any'\n[topology]\nk = 4\n[scheme]\nname = '{scheme}'\nprofile = '{profile}'\n{WORKLOAD}"
    );
    let request = Request { text: Some(text), ..Request::new("reference") };
    let resolved = request.resolve().expect("the schemes of the reference are built in");
    let scenario = Value::try_from(resolved.text()).expect("a scenario has a TOML form");
    let class = &scenario["scheme"]["inter"];
    let part = match () {
        () if is(congestion::NAMES) => "congestion",
        () if is(balance::NAMES) => "balance",
        () => "coding",
    };
    let without_name = |table: &Value| {
        let mut table = table.as_table().cloned().unwrap_or_default();
        table.remove("name");
        table
    };
    let mut all = flatten("", &without_name(&class[part]));
    if part == "congestion" {
        let mut rest = Table::new();
        rest.insert("window_check".to_owned(), class["window_check"].clone());
        rest.insert("recovery".to_owned(), class["recovery"].clone());
        // The buffer of switches is a scenario's, not a control's.
        let mut ports = scenario["scheme"]["ports"].as_table().cloned().unwrap_or_default();
        ["pool", "pfc"].iter().for_each(|key| drop(ports.remove(*key)));
        rest.insert("ports".to_owned(), Value::Table(ports));
        all.extend(flatten("", &rest));
    }
    all
}

/// A table's values by dotted key, as TOML.
fn flatten(prefix: &str, table: &Table) -> Vec<(String, String)> {
    let one = |(key, value): (&String, &Value)| {
        let key = join(prefix, key);
        match value {
            Value::Table(inner) => flatten(&key, inner),
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(plain).collect();
                vec![(key, items.join(", "))]
            }
            value => vec![(key, plain(value))],
        }
    };
    table.iter().flat_map(one).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The comments behind the keys of the data file.
struct Comments(BTreeMap<String, String>);

impl Comments {
    fn of(data: &str) -> Self {
        let mut found = BTreeMap::new();
        let mut header = String::new();
        for line in data.lines() {
            let (code, comment) = line.split_once('#').unwrap_or((line, ""));
            let code = code.trim();
            if let Some(name) = code.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                name.clone_into(&mut header);
            } else if let Some((key, _)) = code.split_once('=') {
                found.insert(format!("{header}.{}", key.trim()), comment.trim().replace('|', "\\|"));
            }
        }
        Self(found)
    }

    /// The comment of a key, or of the table that holds it.
    fn at(&self, place: &str) -> &str {
        let mut place = place;
        loop {
            if let Some(comment) = self.0.get(place) {
                return comment;
            }
            match place.rfind('.') {
                Some(end) => place = &place[..end],
                None => return "",
            }
        }
    }

    /// The source of a component's constant in a profile: its own, else that of all ports.
    fn of_key(&self, profile: &str, name: &str, key: &str) -> String {
        let part = PARTS.iter().map(|part| format!("{profile}.{name}.{part}.{key}"));
        let own = part.chain([format!("{profile}.{name}.{key}"), format!("{profile}.{key}")]);
        own.map(|place| self.at(&place)).find(|comment| !comment.is_empty()).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_has_its_constants_and_nothing_else_has() {
        for name in components() {
            assert!(constants(name).is_some_and(|text| !text.is_empty()), "{name}");
        }
        assert_eq!((constants("none"), constants("uno")), (None, None));
    }

    #[test]
    fn values_and_sources_come_from_the_data_file() {
        let text = constants("unocc").unwrap();
        let row =
            |key: &str| text.lines().find(|line| line.starts_with(&format!("| `{key}`"))).unwrap_or_default();
        assert_eq!(row("alpha"), "| `alpha` | `0.001` | Uno, Table 2 |  |  |");
        assert!(row("md_scale.factor").contains("| `0.35` | published code"), "{}", row("md_scale.factor"));
        assert!(row("ports.phantom.drain").contains("Uno, section 5.1"), "{}", row("ports.phantom.drain"));
        assert!(text.contains("| `artifact` | `uno/incast-*` |"), "{text}");
        assert_eq!(constants("ecmp").unwrap(), "No parameters. Both profiles are the same.\n");
    }
}
