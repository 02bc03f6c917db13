//! Names of the settings in which runs differ: keys of the scenario with their values, files by their base names.

use crate::file_name::{FileNames, file_names, with_names};
use crate::key::{differ, without_places, written};
use crate::run::Run;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// The longest heading, in characters, that is not made shorter.
const LONGEST: usize = 60;

/// The longest value in a heading that is too long, in characters.
const LONGEST_VALUE: usize = 16;

/// Names the runs of a sweep by its axes, where they differ in more than scheme and seed: runs of other values are no arms of one
/// comparison. Runs that differ in constants of one scheme are arms, which these distinguish.
pub(crate) fn name_axes(runs: &mut [Run]) {
    let scenarios: BTreeSet<String> = runs.iter().map(|run| run.text("scenario").to_owned()).collect();
    let several = scenarios.len() > 1;
    for scenario in scenarios {
        let mut of: Vec<&mut Run> = runs.iter_mut().filter(|run| run.text("scenario") == scenario).collect();
        let shown: Vec<Table> = {
            let files = file_names(of.iter().map(|run| &run.scenario));
            of.iter().map(|run| named(run, &files)).collect()
        };
        let bare = |table: &Table| {
            let mut table = table.clone();
            table.remove("scheme");
            Value::Table(table)
        };
        let axes = Axes::of(&shown.iter().map(bare).collect::<Vec<_>>()).sorted_as_swept(&of[0].parameters);
        let titles = titles(&scenario, several, &axes);
        let schemes: BTreeSet<String> = of.iter().map(|run| run.text("scheme").to_owned()).collect();
        for scheme in schemes {
            let places: Vec<usize> = (0..of.len()).filter(|i| of[*i].text("scheme") == scheme).collect();
            let own =
                |i: &usize| shown[*i].get("scheme").cloned().unwrap_or_else(|| Value::Table(Table::new()));
            let constants =
                Axes::of(&places.iter().map(own).map(without_name).collect::<Vec<_>>()).short(true);
            for (row, place) in places.into_iter().enumerate() {
                of[place].constants = constants.said(row);
            }
        }
        of.into_iter().zip(titles).for_each(|(run, title)| run.title = title);
    }
}

/// The settings of a scheme that its name and profile do not say.
fn without_name(mut scheme: Value) -> Value {
    if let Some(scheme) = scheme.as_table_mut() {
        ["name", "profile"].iter().for_each(|key| drop(scheme.remove(*key)));
    }
    scheme
}

/// A title for each run: as long as it may be, and another one for other values. All runs of a sweep share the name of its only
/// scenario.
fn titles(scenario: &str, several: bool, axes: &Axes) -> Vec<String> {
    let of = |axes: &Axes, is_named: bool| -> Vec<String> {
        let title = |said: String| match (is_named, said.is_empty()) {
            (_, true) => scenario.to_owned(),
            (true, false) => format!("{scenario}, {said}"),
            (false, false) => said,
        };
        (0..axes.rows).map(|row| title(axes.said(row))).collect()
    };
    let fits = |titles: &[String]| titles.iter().all(|title| title.chars().count() <= LONGEST);
    let is_fit = |axes: &Axes| fits(&of(axes, several));
    let (short, shortest) = (axes.short(true), axes.short(false));
    let (needed, cut) = (shortest.needed(&is_fit), shortest.cut().needed(&is_fit));
    let whole = [
        (axes, true),
        (&short, true),
        (&short, several),
        (&shortest, several),
        (&needed, several),
        (&cut, several),
    ];
    let titles = whole.map(|(axes, is_named)| of(axes, is_named));
    let settings = axes.settings();
    let mut distinct =
        titles.into_iter().filter(|titles| titles.iter().collect::<BTreeSet<_>>().len() == settings);
    let mut last = distinct.next().unwrap_or_default();
    while !fits(&last)
        && let Some(next) = distinct.next()
    {
        last = next;
    }
    last
}

/// Keys that differ, each with its value in each of some runs.
struct Axes {
    keys: Vec<(String, Vec<String>)>,
    rows: usize,
}

impl Axes {
    /// Where scenarios differ. What follows from another topology file is left out.
    fn of(scenarios: &[Value]) -> Self {
        let mut keys: Vec<(String, String)> = Vec::new();
        let mut found = Vec::new();
        for scenario in scenarios {
            let mut here = Vec::new();
            differ("", scenarios.first(), Some(scenario), &mut here);
            for (key, value, _) in &here {
                if !keys.iter().any(|(known, _)| known == key) {
                    keys.push((key.clone(), value.clone()));
                }
            }
            found.push(here);
        }
        let value = |here: &Vec<(String, String, String)>, key: &str, first: &str| {
            let own = here.iter().find(|(known, ..)| known == key).map_or(first, |(_, _, value)| value);
            own.trim_matches('"').to_owned()
        };
        let of_all = |key: &str, first: &str| found.iter().map(|here| value(here, key, first)).collect();
        let keys = keys.into_iter().map(|(key, first)| (key.clone(), of_all(&key, &first))).collect();
        Self { keys, rows: scenarios.len() }.without_what_follows()
    }

    /// With the keys that a sweep varies in its order, before others.
    fn sorted_as_swept(mut self, parameters: &[(String, String)]) -> Self {
        let is_at = |key: &str, swept: &str| {
            key.strip_prefix(swept).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let place = |key: &str| {
            let bare = without_places(key);
            let swept = parameters.iter().position(|(swept, _)| {
                let swept = written(swept);
                is_at(key, &swept) || is_at(&bare, &swept)
            });
            swept.unwrap_or(parameters.len())
        };
        self.keys.sort_by_key(|(key, _)| place(key));
        self
    }

    /// The values of a run, with their keys.
    fn said(&self, row: usize) -> String {
        self.keys.iter().map(|(key, values)| format!("{key} {}", values[row])).collect::<Vec<_>>().join(", ")
    }

    /// How many settings there are.
    fn settings(&self) -> usize {
        let setting = |row: usize| self.keys.iter().map(|(_, values)| &values[row]).collect::<Vec<_>>();
        (0..self.rows).map(setting).collect::<BTreeSet<_>>().len()
    }

    /// Without defaults and parameters of topology files that are others because the files are, and without a key of the workload
    /// that every part has alike.
    fn without_what_follows(mut self) -> Self {
        let file = self.keys.iter().find(|(key, _)| key == "topology.file").map(|(_, values)| values.clone());
        let follows = |values: &[String]| {
            file.as_ref().is_some_and(|file| {
                let mut of_file = BTreeMap::new();
                file.iter().zip(values).all(|(file, value)| *of_file.entry(file).or_insert(value) == value)
            })
        };
        let is_of_file = |key: &str| {
            ["link_rate", "link_delay", "switch_delay", "buffer"]
                .iter()
                .any(|of| key.strip_prefix("topology.") == Some(of))
                || key.starts_with("topology.parameters.")
        };
        self.keys.retain(|(key, values)| !(is_of_file(key) && follows(values)));
        let keys = std::mem::take(&mut self.keys);
        for (key, values) in keys {
            let is_alike = |(known, of_known): &(String, Vec<String>)| {
                let part = |key: &str| {
                    key.strip_prefix("workload[").and_then(|rest| Some(rest.split_once(']')?.1.to_owned()))
                };
                part(known).is_some() && part(known) == part(&key) && *of_known == values
            };
            if !self.keys.iter().any(is_alike) {
                self.keys.push((key, values));
            }
        }
        self
    }

    /// With keys no longer than it takes to distinguish them: `topology.wan.rtt` is `rtt`.
    fn short(&self, with_patterns: bool) -> Self {
        let words: Vec<Vec<String>> = self.keys.iter().map(|(key, _)| words(key, with_patterns)).collect();
        let name = |key: usize, count: usize| words[key][words[key].len().saturating_sub(count)..].join(" ");
        let of = |key: usize| {
            let is_only = |count: &usize| {
                (0..words.len()).all(|other| other == key || name(other, *count) != name(key, *count))
            };
            name(key, (1..words[key].len()).find(is_only).unwrap_or(words[key].len()))
        };
        let keys = self.keys.iter().enumerate().map(|(key, (_, values))| (of(key), values.clone()));
        Self { keys: keys.collect(), rows: self.rows }
    }

    /// With values that are no longer than a word or two.
    fn cut(&self) -> Self {
        let cut = |value: &String| match value.char_indices().nth(LONGEST_VALUE) {
            Some((end, _)) => format!("{}…", &value[..end]),
            None => value.clone(),
        };
        let keys = self.keys.iter().map(|(key, values)| (key.clone(), values.iter().map(cut).collect()));
        Self { keys: keys.collect(), rows: self.rows }
    }

    /// Without keys that distinguish no settings beside the others, from the last one on, until it is short enough.
    fn needed(&self, is_short: &dyn Fn(&Self) -> bool) -> Self {
        let mut needed = Self { keys: self.keys.clone(), rows: self.rows };
        for key in (0..self.keys.len()).rev() {
            if is_short(&needed) {
                break;
            }
            let (name, values) = needed.keys.remove(key);
            if needed.settings() < self.settings() {
                needed.keys.insert(key, (name, values));
            }
        }
        needed
    }
}

/// The words of a key, without positions. `with_patterns`: those behind a pattern of links belong to it.
fn words(key: &str, with_patterns: bool) -> Vec<String> {
    if let Some((pattern, of)) = key.strip_prefix("topology.link[\"").and_then(|rest| rest.split_once("\"]"))
    {
        let of = of.trim_start_matches('.');
        let apart = vec![pattern.to_owned(), of.to_owned()];
        return if with_patterns { vec![apart.join(" ")] } else { apart };
    }
    let bare = |word: &str| word.split('[').next().unwrap_or_default().to_owned();
    key.split('.').map(bare).collect()
}

/// The scenario of a run without its seed and description, and with files by their names.
fn named(run: &Run, files: &FileNames<'_>) -> Table {
    with_names(run.apart_from_seed(), files)
}

/// Where two scenarios differ, the seed and the words aside, and constants of the scheme if it is another: key, value here,
/// value there. Files are called by their names.
pub(crate) fn differences(here: &Run, there: &Run) -> Vec<(String, String, String)> {
    let same_scheme = here.text("scheme") == there.text("scheme");
    let files = file_names([here, there].into_iter().map(|run| &run.scenario));
    let bare = |run: &Run| {
        let mut table = named(run, &files);
        if !same_scheme {
            table.remove("scheme");
        }
        Value::Table(table)
    };
    let mut found = Vec::new();
    differ("", Some(&bare(here)), Some(&bare(there)), &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::groups;
    use crate::group::testing::run;

    /// The headings of a sweep's runs, and how many arms each has.
    fn headings(mut runs: Vec<Run>) -> Vec<(String, usize)> {
        runs.iter_mut().for_each(|run| drop(run.scenario.remove("name")));
        name_axes(&mut runs);
        groups(runs).into_iter().map(|group| (group.name, group.arms.len())).collect()
    }

    fn names(runs: Vec<Run>) -> Vec<String> {
        headings(runs).into_iter().map(|(name, _)| name).collect()
    }

    fn of(scheme: &str, seed: u64, scenario: &str) -> Run {
        run(scheme, seed, "a", false, scenario)
    }

    #[test]
    fn runs_of_a_sweep_are_grouped_by_their_axes() {
        let of = |scheme: &str, k: u32, seed| {
            of(scheme, seed, &format!("[scheme]\nname = '{scheme}'\n[topology]\nk = {k}\nsize = '{k}B'"))
        };
        let found = headings(vec![of("uno", 4, 1), of("uno", 4, 2), of("uno", 8, 1), of("gemini", 8, 1)]);
        let expected = [("s, topology.k 4, topology.size 4B", 1), ("s, topology.k 8, topology.size 8B", 2)];
        assert_eq!(found, expected.map(|(name, arms)| (name.to_owned(), arms)));
    }

    /// A run over a topology file at a path, with what follows from it.
    fn over_file(path: &str, digest: &str, extra: &str) -> Run {
        let files = format!("[files]\n\"{path}\" = \"{digest}\"");
        of("uno", 1, &format!("[topology]\nfile = '{path}'\nlink_rate = '{digest}Gbps'\n{extra}\n{files}"))
    }

    #[test]
    fn files_are_called_by_their_base_names() {
        assert_eq!(
            names(vec![over_file("/a/net-1.toml", "11", ""), over_file("/a/net-2.toml", "22", "")]),
            ["s, topology.file net-1.toml", "s, topology.file net-2.toml"]
        );
        assert_eq!(
            names(vec![over_file("/a/net.toml", "11", ""), over_file("/b/net.toml", "22", "")]),
            ["s, topology.file a/net.toml", "s, topology.file b/net.toml"]
        );
        assert_eq!(
            names(vec![over_file("/a/net.toml", "11", ""), over_file("/a/net.toml", "22", "")]),
            ["s, topology.file net.toml (1)", "s, topology.file net.toml (2)"]
        );
        assert_eq!(
            names(vec![over_file("/a/net.toml", "11", ""), over_file("/b/net.toml", "11", "")]),
            ["s"]
        );
        let flows = |path: &str, digest: &str| {
            of("uno", 1, &format!("[[workload]]\nfile = '{path}'\n[files]\n'{path}' = '{digest}'"))
        };
        assert_eq!(
            names(vec![flows("/a/x.csv", "1"), flows("/a/y.csv", "2")]),
            ["s, workload[0].file x.csv", "s, workload[0].file y.csv"]
        );
    }

    #[test]
    fn what_does_not_follow_from_the_file_is_named_beside_it() {
        let of = |file: &str, rate: &str| over_file(file, "11", &format!("buffer = '{rate}'"));
        let runs = vec![of("/a/x.toml", "1B"), of("/a/x.toml", "2B"), of("/a/x.toml", "1B")];
        assert_eq!(names(runs), ["s, topology.buffer 1B", "s, topology.buffer 2B"]);
    }

    #[test]
    fn long_headings_lose_what_all_share_and_keep_what_distinguishes() {
        let of = |rtt: u32, size: u32, rate: u32| {
            of(
                "uno",
                1,
                &format!(
                    "[topology]\nbuffer = '{size}KiB'\n[topology.wan]\nrtt = '{rtt}ms'\nbuffer = '{rate}MiB'\n\
                     [topology.link.'west-*->east-*']\nrate = '{rate}Gbps'\n\
                     [[workload]]\nflow_size = '{rate}KiB'\n[[workload]]\nflow_size = '{rate}KiB'"
                ),
            )
        };
        let found = names(vec![of(1, 10, 3), of(2, 10, 3), of(1, 20, 4)]);
        assert_eq!(
            found,
            [
                "rtt 1ms, topology buffer 10KiB, wan buffer 3MiB, rate 3Gbps",
                "rtt 2ms, topology buffer 10KiB, wan buffer 3MiB, rate 3Gbps",
                "rtt 1ms, topology buffer 20KiB, wan buffer 4MiB, rate 4Gbps"
            ]
            .map(str::to_owned)
        );
    }

    #[test]
    fn headings_have_the_axes_in_the_order_of_the_sweep() {
        let of = |size: u32, buffer: u32| {
            let mut one = of(
                "uno",
                1,
                &format!(
                    "[topology]\nk = {buffer}\nbuffer = {buffer}\n[[workload]]\nflow_size = {size}\n[topology.parameters]\nx = {size}"
                ),
            );
            let keys = ["workload.flow_size", "topology.parameters", "topology.buffer"];
            one.parameters = keys.map(|key| (key.to_owned(), String::new())).into();
            one
        };
        let found = names(vec![of(1, 1), of(2, 2)]);
        let said = |n| {
            format!(
                "s, workload[0].flow_size {n}, topology.parameters.x {n}, topology.buffer {n}, topology.k {n}"
            )
        };
        let short = |n| format!("s, flow_size {n}, x {n}, buffer {n}, k {n}");
        assert!(said(1).chars().count() > LONGEST);
        assert_eq!(found, [short(1), short(2)]);
    }

    #[test]
    fn keys_that_distinguish_nothing_go_from_a_heading_that_is_too_long() {
        let of = |n: u32| {
            let keys =
                ["one", "two", "three", "four", "five", "six"].map(|key| format!("{key} = '{n}-{key}-{n}'"));
            of("uno", 1, &keys.join("\n"))
        };
        assert_eq!(names(vec![of(1), of(2)])[1], "one 2-one-2, two 2-two-2, three 2-three-2, four 2-four-2");
    }

    #[test]
    fn a_long_value_is_cut_where_that_distinguishes_still() {
        let of = |first: u32| of("uno", 1, &format!("ranks = '{first}{}'", "x".repeat(70)));
        assert_eq!(names(vec![of(1), of(2)]), ["ranks 1xxxxxxxxxxxxxxx…", "ranks 2xxxxxxxxxxxxxxx…"]);
        let end = |last: u32| super::tests::of("uno", 1, &format!("ranks = '{}{last}'", "x".repeat(70)));
        assert_eq!(names(vec![end(1), end(2)])[1], format!("ranks {}2", "x".repeat(70)));
    }

    /// Over three topology files of one name, link delays, buffers and schemes, six seeds each.
    #[test]
    fn no_heading_of_a_large_sweep_is_long_or_has_a_digest() {
        let mut runs = Vec::new();
        for (folder, digest) in
            [("one", "00112233445566aa"), ("two", "00112233445566bb"), ("six", "00112233445566cc")]
        {
            for delay in ["500us", "2ms", "20ms"] {
                for buffer in ["128KiB", "1MiB", "8MiB", "64MiB"] {
                    for seed in 1..=6 {
                        let path = format!("/home/someone/a/long/folder/{folder}/three-sites.toml");
                        let text = format!(
                            "[topology]\nfile = '{path}'\nlink_rate = '{folder}Gbps'\nbuffer = '{buffer}'\n\
                             [topology.parameters]\nother = '{folder}'\n\
                             [topology.link.'west-border*->east-border*']\ndelay = '{delay}'\n\
                             [files]\n'{path}' = '{digest}'"
                        );
                        runs.push(of("uno", seed, &text));
                        runs.push(of("gemini", seed, &text));
                    }
                }
            }
        }
        let found = headings(runs);
        assert_eq!(found.len(), 36);
        for (name, arms) in &found {
            assert!(name.chars().count() <= LONGEST && !name.contains("0011"), "{name}");
            assert_eq!(*arms, 2, "{name}");
        }
        let distinct: BTreeSet<_> = found.iter().map(|(name, _)| name).collect();
        assert_eq!(distinct.len(), 36);
    }

    #[test]
    fn arms_of_one_scheme_are_told_apart_by_its_constants() {
        let of = |beta: &str, seed| {
            of("uno", seed, &format!("[scheme]\nname = 'uno'\nintra = {{ beta = {beta} }}"))
        };
        let mut runs = vec![of("0.5", 1), of("0.5", 2), of("0.7", 1)];
        name_axes(&mut runs);
        let groups = groups(runs);
        let names: Vec<_> = groups[0].arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!((groups.len(), names), (1, vec!["uno (beta 0.5)", "uno (beta 0.7)"]));
    }

    #[test]
    fn a_file_that_differs_is_named_and_no_digest() {
        let told = |here: &Run, there: &Run| differences(here, there);
        let of = |path: &str, digest: &str| over_file(path, digest, "");
        let keys = |found: Vec<(String, String, String)>| {
            found.into_iter().map(|(key, here, there)| format!("{key} {here} {there}")).collect::<Vec<_>>()
        };
        let mut found = keys(told(&of("/a/x.toml", "11"), &of("/a/y.toml", "22")));
        assert_eq!(found.remove(0), "topology.file \"x.toml\" \"y.toml\"");
        let mut found = keys(told(&of("/a/x.toml", "11"), &of("/a/x.toml", "22")));
        assert_eq!(found.remove(0), "topology.file \"x.toml (1)\" \"x.toml (2)\"");
        let link = |text: &str| super::tests::of("uno", 1, text);
        let found = keys(told(&link("[topology]"), &link("[topology.link.'a->*']\ndelay = '2ms'")));
        assert_eq!(found, ["topology.link[\"a->*\"].delay not set \"2ms\""]);
    }
}
