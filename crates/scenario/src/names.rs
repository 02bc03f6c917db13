//! Names that people write: the nearest known one, and what to say about an unknown one.

use crate::ranges::Pattern;
use std::collections::BTreeMap;

/// The shortest beginning that says what name it is of.
const BEGINNING: usize = 3;

/// How alike two texts are, from 0 to 1, if they are alike enough for one to be meant by the other: a slip or two, or the
/// same beginning.
fn likeness(a: &str, b: &str) -> Option<f64> {
    let alike = strsim::normalized_damerau_levenshtein;
    let shorter = a.chars().count().min(b.chars().count());
    let [start_a, start_b] = [a, b].map(|text| text.chars().take(shorter).collect::<String>());
    let whole = alike(a, b);
    let begun_alike = shorter >= BEGINNING && alike(&start_a, &start_b) >= 0.8;
    (whole >= 0.6 || begun_alike).then_some(whole)
}

/// The known name that `text` was probably meant to be. A name that only happens to be the nearest would send the reader
/// astray.
fn nearest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase();
    let near = known.into_iter().filter_map(|name| Some((likeness(&text, &name.to_lowercase())?, name)));
    near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name)| name)
}

/// `did you mean "x"? `, or nothing if no known name is near.
#[must_use]
pub fn hint<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(text, known).map_or_else(String::new, |name| format!("did you mean {name:?}? "))
}

/// The most scenarios that a message names.
const FEW: usize = 3;

/// `did you mean "uno/websearch" or "steady/websearch"? `, of names `FOLDER/NAME` the few that are nearest, by their whole or by what
/// stands behind the folder; nothing if none is near.
pub(crate) fn few<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    let (whole, stem) = (text.to_lowercase(), last(text.trim_end_matches(".toml")));
    let near =
        |name: &str| likeness(&whole, name).into_iter().chain(likeness(&stem, &last(name))).reduce(f64::max);
    let mut near: Vec<_> = known.into_iter().filter_map(|name| Some((near(name)?, name))).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.truncate(FEW);
    let names: Vec<_> = near.iter().map(|(_, name)| format!("{name:?}")).collect();
    if names.is_empty() { String::new() } else { format!("did you mean {}? ", names.join(" or ")) }
}

/// A name that is not among those there are.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}; {}", self.problem(), self.cure())]
pub struct UnknownName {
    /// The kind of thing that is named.
    pub what: String,
    /// The name.
    pub name: String,
    /// The names there are.
    pub available: Vec<String>,
    /// Names that the interface has, but not this release.
    pub planned: Vec<String>,
}

impl UnknownName {
    fn is_planned(&self) -> bool {
        self.planned.contains(&self.name)
    }

    /// The problem: the name is unknown, or not in this release.
    #[must_use]
    pub fn problem(&self) -> String {
        let Self { what, name, .. } = self;
        match self.is_planned() {
            true => format!("{what} {name:?} is not in this release"),
            false => format!("{name:?} is not a known {what}"),
        }
    }

    /// The name that was probably meant, and all there are.
    #[must_use]
    pub fn cure(&self) -> String {
        let known = self.available.iter().chain(&self.planned).map(String::as_str);
        let near = if self.is_planned() { String::new() } else { hint(&self.name, known) };
        format!("{near}available: {}", self.available.join(", "))
    }
}

/// The error that `name` is not one of the names of a `what`.
///
/// `planned` are names that exist in the interface but not in this release.
#[must_use]
pub fn unknown(what: &str, name: &str, available: &[&str], planned: &[&str]) -> UnknownName {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    UnknownName {
        what: what.to_owned(),
        name: name.to_owned(),
        available: owned(available),
        planned: owned(planned),
    }
}

/// The most names that a message lists.
const LISTED: usize = 16;

/// Names by their stems, in a few words: `border0..1, host0..15, gateway`.
pub(crate) fn ranges<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    first_ranges(names, LISTED)
}

/// [`ranges`], of at most so many stems.
pub(crate) fn first_ranges<'a>(names: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let mut stems: BTreeMap<&str, Option<(u64, u64)>> = BTreeMap::new();
    for name in names {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        match name[stem.len()..].parse::<u64>() {
            Ok(n) => {
                let range = stems.entry(stem).or_default().get_or_insert((n, n));
                *range = (range.0.min(n), range.1.max(n));
            }
            Err(_) => drop(stems.entry(name).or_default()),
        }
    }
    let said = |(stem, range): (&&str, &Option<(u64, u64)>)| match range {
        Some((first, last)) if first < last => format!("{stem}{first}..{last}"),
        Some((only, _)) => format!("{stem}{only}"),
        None => (*stem).to_owned(),
    };
    let more = if stems.len() > most { ", ..." } else { "" };
    stems.iter().take(most).map(said).collect::<Vec<_>>().join(", ") + more
}

/// The cure for a name or a pattern of ports that fits none of `ports`.
#[must_use]
pub fn port_cure(text: &str, ports: &[String]) -> String {
    let ends = |port: &'_ String| port.split_once("->").map_or(0, |(from, _)| from.len());
    let nodes = || ports.iter().map(|port| &port[..ends(port)]);
    let near = match hint(text, ports.iter().map(String::as_str)) {
        near if near.is_empty() => end_hint(text, nodes),
        near => near,
    };
    let nodes = ranges(nodes());
    format!("{near}Links and ports are named FROM->TO#n, * stands for any text, and the nodes are: {nodes}")
}

/// The node that was probably meant by an end of a pattern FROM->TO#n that fits none.
fn end_hint<'a, I: Iterator<Item = &'a str>>(pattern: &str, nodes: impl Fn() -> I) -> String {
    let ends = pattern.split("->").map(|end| end.split('#').next().unwrap_or_default());
    let mut strange = ends.filter(|end| !nodes().any(|node| matches(end, node)));
    strange.next().map_or_else(String::new, |end| hint(end.trim_matches(['*', '?']), nodes()))
}

/// Whether the whole of a name fits a pattern: `*` stands for anything, `?` for one character, `[0..7]` for a number.
#[must_use]
pub fn matches(pattern: &str, name: &str) -> bool {
    pattern == name || Pattern::parse(pattern).is_ok_and(|pattern| pattern.fits(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_named() {
        assert_eq!(nearest("flow_sizes", ["flows", "flow_size", "sizes"]), Some("flow_size"));
        let error = unknown("topology", "fat_treee", &["fat_tree", "star"], &["leaf_spine"]);
        assert_eq!(error.problem(), "\"fat_treee\" is not a known topology");
        assert!(error.cure().starts_with("did you mean \"fat_tree\"?"), "{error}");
    }

    #[test]
    fn a_name_that_is_not_near_is_not_named() {
        for (text, near) in [
            ("UNO", Some("uno")),
            ("gemni", Some("gemini")),
            ("gem", Some("gemini")),
            ("gemini-fast", Some("gemini")),
            ("tcp", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(nearest(text, ["uno", "gemini", "mprdma-bbr"]), near, "{text:?}");
        }
        assert_eq!(unknown("scheme", "tcp", &["uno", "gemini"], &[]).cure(), "available: uno, gemini");
        assert_eq!(nearest("ms", ["us", "ps"]), None);
    }

    #[test]
    fn a_few_scenarios_are_named_by_what_stands_behind_their_folder() {
        let known =
            ["steady/websearch", "uno/websearch", "uno/steady", "uno/permutation", "reps/permutation"];
        let said = |text| few(text, known);
        assert_eq!(said("websearch"), "did you mean \"steady/websearch\" or \"uno/websearch\"? ");
        assert_eq!(said("uno/permutatoin"), "did you mean \"uno/permutation\" or \"reps/permutation\"? ");
        assert_eq!(said("my/websearch.toml"), said("websearch"));
        assert_eq!(said("zzz"), "");
    }

    #[test]
    fn many_names_are_said_in_few_words() {
        assert_eq!(ranges(["host1", "host0", "tor7", "gw", "host12", "a-b"]), "a-b, gw, host0..12, tor7");
        let many: Vec<_> = (0..40).map(|n| format!("n{n}x")).collect();
        assert!(ranges(many.iter().map(String::as_str)).ends_with(", ..."));
        let ports = ["tor0->host1#0", "host1->tor0#0"].map(str::to_owned);
        assert_eq!(
            port_cure("nowhere", &ports),
            "Links and ports are named FROM->TO#n, * stands for any text, and the nodes are: host1, tor0"
        );
        for (pattern, near) in [("hots1->*", "host1"), ("*->hots1#*", "host1")] {
            let cure = port_cure(pattern, &ports);
            assert!(cure.starts_with(&format!("did you mean {near:?}? ")), "{cure}");
        }
        assert!(port_cure("tor0->host1", &ports).starts_with("did you mean \"tor0->host1#0\"? "));
    }

    #[test]
    fn a_planned_name_says_what_there_is_instead() {
        let error = unknown("topology", "leaf_spine", &["fat_tree", "star"], &["leaf_spine"]);
        assert_eq!(error.problem(), "topology \"leaf_spine\" is not in this release");
        assert_eq!(error.cure(), "available: fat_tree, star");
    }

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, fits) in [
            ("border0->border1#0", "border0->border1#0", true),
            ("border0->border1#*", "border0->border1#17", true),
            ("core?->border*#1", "core7->border1#1", true),
            ("*", "tor0->host3#0", true),
            ("*", "", true),
            ("*r1*#0*", "tor12->host1#0", true),
            ("border0->border1#*", "border1->border0#0", false),
            ("border0", "border0->border1#0", false),
            ("core?->*", "core17->border1#1", false),
            ("*#1", "core1->border0#10", false),
            ("", "a", false),
            ("core[0..3]->border*", "core2->border1#0", true),
            ("core[0..3]->border*", "core4->border1#0", false),
            ("tag[0", "tag[0", true),
            ("tag[0", "tag0", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}
