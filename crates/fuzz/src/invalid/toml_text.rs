//! TOML files, in which one line is changed so that it cannot be right.

use super::pick;
use farspan_scenario::{BUILT_IN, BUILT_IN_TOPOLOGIES, Request};
use farspan_units::Random;

/// A valid file, by name, in lines.
type Document = (String, Vec<String>);

/// Valid files.
pub(super) struct Documents {
    /// Built-in scenarios, written out with every default.
    pub scenarios: Vec<Document>,
    pub sweeps: Vec<Document>,
    pub topologies: Vec<Document>,
}

const SWEEPS: [&str; 2] = [
    "scenario = 'uno/incast-mixed'\nscheme = ['uno', 'gemini']\nprofile = 'paper'\nseeds = '1..3'\n\
     [grid]\n'topology.wan.rtt' = ['1ms', '2ms']\n'topology.k' = [4, 8]\n",
    "scenario = 'uno/steady'\nscheme = 'uno'\nseeds = '1,2,5'\n[draw]\ncount = 4\n\
     'topology.buffer' = { from = '128KiB', to = '8MiB', log = true }\n",
];

fn document(name: &str, text: &str) -> Document {
    // Without its comments.
    let table: toml::Table = text.parse().expect("a valid file is TOML");
    let text = toml::to_string(&table).expect("what was TOML can be written");
    (name.to_owned(), text.lines().map(str::to_owned).collect())
}

impl Documents {
    pub fn new() -> Self {
        let scenario = |name: &str| {
            let resolved = Request::new(name).resolve().expect("a built-in scenario");
            document(name, &resolved.to_toml())
        };
        Self {
            scenarios: BUILT_IN.iter().map(|built_in| scenario(built_in.name)).collect(),
            sweeps: SWEEPS.iter().map(|text| document("sweep", text)).collect(),
            topologies: BUILT_IN_TOPOLOGIES.iter().map(|known| document(known.name, known.text)).collect(),
        }
    }
}

/// One of these files with a change: how it was made, and its text.
pub(super) fn one_of(documents: &[Document], random: &mut Random) -> (String, String) {
    let (name, lines) = &documents[random.below(documents.len() as u64) as usize];
    loop {
        let at = random.below(lines.len() as u64) as usize;
        let change = CHANGES[random.below(CHANGES.len() as u64) as usize];
        if let Some(changed) = change(&lines[at], random) {
            let how = format!("{name}: {} -> {changed}", lines[at]);
            let mut new = lines.clone();
            new[at] = changed;
            return (how, new.join("\n"));
        }
    }
}

/// Changes a line, if it is one of its kind, to one that cannot be right.
type Change = fn(&str, &mut Random) -> Option<String>;

const CHANGES: [Change; 7] =
    [unknown_key, unknown_table, other_type, other_number, other_quantity, twice, broken];

/// Key and value of a line.
fn assignment(line: &str) -> Option<(&str, &str)> {
    line.split_once(" = ").filter(|(key, _)| !key.starts_with(['#', '[', ' ']))
}

fn unknown_key(line: &str, random: &mut Random) -> Option<String> {
    let (key, value) = assignment(line)?;
    let key = match random.below(3) {
        0 => format!("x{key}"),
        1 => format!("{key}_"),
        _ => format!("\"{key} \""),
    };
    Some(format!("{key} = {value}"))
}

fn unknown_table(line: &str, random: &mut Random) -> Option<String> {
    let inside = line.strip_prefix('[')?.strip_suffix(']')?;
    Some(match (random.below(2), inside.starts_with('[')) {
        (0, _) => line.replacen(|c: char| c.is_ascii_alphabetic(), "zz", 1),
        (_, true) => format!("[{line}]"),
        (_, false) => line.replacen(']', "", 1),
    })
}

fn other_type(line: &str, random: &mut Random) -> Option<String> {
    let (key, _) = assignment(line)?;
    Some(format!("{key} = {}", pick(&["[[[]]]", "{ a = { b = [] } }", "1979-05-27", "[{}, 1]"], random)))
}

fn other_number(line: &str, random: &mut Random) -> Option<String> {
    let (key, value) = assignment(line)?;
    // Seeds are as large as they like; shares and factors of controls are checked by their own ranges.
    value.parse::<f64>().ok().filter(|_| key != "seed")?;
    Some(format!("{key} = {}", pick(&["-1", "-9223372036854775808", "nan", "inf", "'many'", "0x"], random)))
}

fn other_quantity(line: &str, random: &mut Random) -> Option<String> {
    let (key, value) = assignment(line)?;
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.starts_with(|c: char| c.is_ascii_digit())
        || !inside.ends_with(|c: char| c.is_ascii_alphabetic())
    {
        return None;
    }
    Some(format!("{key} = \"{}\"", pick(&super::arguments::NO_QUANTITIES, random)))
}

fn twice(line: &str, _: &mut Random) -> Option<String> {
    assignment(line)?;
    Some(format!("{line}\n{line}"))
}

fn broken(line: &str, random: &mut Random) -> Option<String> {
    let (key, value) = assignment(line)?;
    Some(match random.below(5) {
        0 => format!("{key} {value}"),
        1 => format!("{key} = "),
        2 => format!("{key} = \"{value}"),
        3 => format!("{key} = {value} {value}"),
        _ => format!("{key} = {value}\u{0}"),
    })
}
