//! From the text to what it says.

use farspan_scenario::names;
use std::collections::BTreeMap;

/// A line (from 1; none: the whole file), what is wrong, what to do.
pub(super) type Flaw = (Option<usize>, String, String);

/// A number, and the line that says it.
pub(super) type Said = (u64, usize);

/// A fat tree as written.
pub(super) struct Tree {
    pub nodes: u64,
    pub nodes_line: usize,
    pub pod_size: u64,
    pub pod_line: usize,
    /// From the hosts up: two or three.
    pub tiers: Vec<Tier>,
}

/// A tier of switches.
pub(super) struct Tier {
    /// Its `Tier` line.
    pub line: usize,
    /// Values by keyword, in lower case.
    pub values: BTreeMap<&'static str, Said>,
}

impl Tier {
    /// A value, or its default.
    pub fn get(&self, key: &str, default: u64) -> u64 {
        self.values.get(key).map_or(default, |said| said.0)
    }

    /// The line of a value, or of the tier.
    pub fn line_of(&self, key: &str) -> Option<usize> {
        Some(self.values.get(key).map_or(self.line, |said| said.1))
    }
}

/// The keywords of a tier, as htsim writes them.
const KEYS: &[&str] = &[
    "Downlink_speed_Gbps",
    "Radix_Down",
    "Radix_Up",
    "Bundle",
    "Oversubscribed",
    "Queue_Up",
    "Queue_Down",
    "Downlink_Latency_ns",
    "Switch_Latency_ns",
];
/// The keywords of a tier in lower case.
const LOWER: &[&str] = &[
    "downlink_speed_gbps",
    "radix_down",
    "radix_up",
    "bundle",
    "oversubscribed",
    "queue_up",
    "queue_down",
    "downlink_latency_ns",
    "switch_latency_ns",
];
const HEADER: &[&str] = &["nodes", "tiers", "podsize"];

fn flaw<T>(line: usize, problem: impl Into<String>, cure: impl Into<String>) -> Result<T, Flaw> {
    Err((Some(line), problem.into(), cure.into()))
}

/// Parses the text: the tree that it describes, and warnings with their lines.
pub(super) fn parse(text: &str) -> Result<(Tree, Vec<(usize, String)>), Flaw> {
    let mut header: BTreeMap<&str, Said> = BTreeMap::new();
    let mut tiers: BTreeMap<u64, Tier> = BTreeMap::new();
    let mut current = None;
    let mut odd = Vec::new();
    for (n, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let tokens: Vec<_> = line.split_whitespace().collect();
        let Some(first) = tokens.first().filter(|first| !first.starts_with('#')) else { continue };
        let keyword = first.to_ascii_lowercase();
        if keyword == "tier" {
            let number = self::number(n, first, &tokens, 0, 2)?;
            let tier = Tier { line: n, values: BTreeMap::new() };
            if let Some(before) = tiers.insert(number, tier) {
                let problem = format!("tier {number} was begun on line {}", before.line);
                return flaw(n, problem, "write each tier once");
            }
            current = Some(number);
        } else if let Some(number) = current {
            let tier = tiers.get_mut(&number).expect("it has begun");
            attribute(n, first, &keyword, &tokens, (number, tier))?;
        } else if let Some(key) = HEADER.iter().find(|key| **key == keyword) {
            let (least, most) = if *key == "tiers" { (2, 3) } else { (1, MOST_HOSTS) };
            let value = self::number(n, first, &tokens, least, most)?;
            if let Some((_, before)) = header.insert(key, (value, n)) {
                return flaw(n, format!("{first} was given on line {before}"), "write it once");
            }
        } else {
            let near = names::hint(first, ["Nodes", "Tiers", "Podsize"]);
            let said = format!(
                "{first:?} is not a keyword of the header, and was left out; {near}Known: Nodes, Tiers, Podsize"
            );
            odd.push((n, said));
        }
    }
    let tree = tree(&header, tiers)?;
    odd.extend(queues(&tree));
    Ok((tree, odd))
}

/// More hosts than any network here can have.
const MOST_HOSTS: u64 = 1 << 20;

fn tree(header: &BTreeMap<&str, Said>, mut tiers: BTreeMap<u64, Tier>) -> Result<Tree, Flaw> {
    let said = |key: &str, written: &str, example: &str| {
        header.get(key).copied().ok_or_else(|| {
            (
                None,
                format!("{written} is missing"),
                format!("begin the file with a line such as \"{written} {example}\""),
            )
        })
    };
    let (nodes, nodes_line) = said("nodes", "Nodes", "128")?;
    let (count, tiers_line) = said("tiers", "Tiers", "3")?;
    let (pod_size, pod_line) = said("podsize", "Podsize", "16")?;
    if let Some(tier) = (count..=2).find_map(|tier| tiers.get(&tier)) {
        return flaw(
            tier.line,
            format!("there are {count} tiers, from 0"),
            "remove this one, or raise Tiers",
        );
    }
    let mut all = Vec::new();
    for number in 0..count {
        let Some(tier) = tiers.remove(&number) else {
            return flaw(
                tiers_line,
                format!("tier {number} of {count} is missing"),
                format!("add a block Tier {number}"),
            );
        };
        all.push(tier);
    }
    Ok(Tree { nodes, nodes_line, pod_size, pod_line, tiers: all })
}

fn attribute(
    n: usize,
    first: &str,
    keyword: &str,
    tokens: &[&str],
    (number, tier): (u64, &mut Tier),
) -> Result<(), Flaw> {
    let Some(key) = LOWER.iter().copied().find(|key| *key == keyword) else {
        if HEADER.contains(&keyword) {
            return flaw(n, format!("{first} after the first Tier line"), "move it to the top");
        }
        let near = names::hint(first, KEYS.iter().copied());
        let cure = format!("{near}Known: {}", KEYS.join(", "));
        return flaw(n, format!("{first:?} is not a keyword of a tier"), cure);
    };
    let (least, most) = match key {
        "downlink_speed_gbps" => (1, 100_000),
        "queue_up" | "queue_down" => (1, 64 << 30),
        "downlink_latency_ns" | "switch_latency_ns" => (0, 10_000_000_000),
        _ => (1, MOST_HOSTS),
    };
    let value = self::number(n, first, tokens, least, most)?;
    match (key, number, value) {
        ("radix_up" | "queue_up", 2, _) => {
            return flaw(n, format!("{first} in tier 2, which has no tier above it"), "remove it");
        }
        ("bundle", 0, 2..) => {
            return flaw(n, "a host has one link", "write Bundle 1 in tier 0, or leave it out");
        }
        _ => {}
    }
    if let Some((_, before)) = tier.values.insert(key, (value, n)) {
        return flaw(n, format!("{first} was given for this tier on line {before}"), "write it once");
    }
    Ok(())
}

/// The one number behind a keyword.
fn number(n: usize, keyword: &str, tokens: &[&str], least: u64, most: u64) -> Result<u64, Flaw> {
    let cure = format!("write one whole number from {least} to {most} behind {keyword}");
    match tokens {
        [_] => flaw(n, format!("{keyword} has no value"), cure),
        [_, text] => match text.parse::<u64>() {
            Ok(value) if (least..=most).contains(&value) => Ok(value),
            Ok(value) => flaw(n, format!("{keyword} {value} is out of range"), cure),
            Err(_) if text.parse::<f64>().is_ok_and(|x| x.fract() != 0.0) => {
                let problem = format!("{text:?} is not a whole number: htsim would cut its fraction off");
                flaw(n, problem, cure)
            }
            Err(_) => flaw(n, format!("{text:?} is not a whole number"), cure),
        },
        [_, _, more, ..] if more.starts_with('#') => number(n, keyword, &tokens[..2], least, most),
        [_, _, more, ..] => flaw(n, format!("{more:?} behind the value of {keyword}"), cure),
        [] => unreachable!("a line has a keyword"),
    }
}

/// The warning that imported queues become port buffers, which htsim_uec ignores; `None` without queues.
fn queues(tree: &Tree) -> Option<(usize, String)> {
    let lines = tree.tiers.iter().flat_map(|tier| ["queue_up", "queue_down"].map(|key| tier.values.get(key)));
    let (_, line) = lines.flatten().min_by_key(|(_, line)| *line)?;
    let text = "queue sizes became port buffers; htsim_uec ignores them and gives all ports one size (-q): for that, \
        remove them and set topology.buffer";
    Some((*line, text.to_owned()))
}
