//! The page: template, style, scripts and data in one file that needs no network.

use crate::chart_order::Question;
use crate::compare::{Comparison, compare_group, pairs};
use crate::curve::{completion, slowdown};
use crate::detail::{BUDGET, Names, Share, curves, detail};
use crate::group::{Arm, Group, groups};
use crate::load::{ReportError, load};
use crate::notes::warned;
use crate::number::{point, short};
use crate::over::axes;
use crate::picture::Picture;
use crate::proxy;
use crate::run::Run;
use crate::seeds::list;
use crate::verdict::{Lead, Verdict};
use farspan_metrics::{Measure, Unit, count_rows};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const TEMPLATE: &str = include_str!("../assets/template.html");
const STYLE: &str = include_str!("../assets/report.css");
/// Longest title that holds the names of all groups, characters.
const LONGEST_TITLE: usize = 60;
/// In the order in which they build on each other.
const SCRIPTS: [&str; 11] = [
    include_str!("../assets/base.js"),
    include_str!("../assets/listing.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/numbers.js"),
    include_str!("../assets/picture.js"),
    include_str!("../assets/flows.js"),
    include_str!("../assets/ports.js"),
    include_str!("../assets/proxies.js"),
    include_str!("../assets/tables.js"),
    include_str!("../assets/over.js"),
    include_str!("../assets/report.js"),
];
/// Vega 6.4.0, Vega-Lite 6.4.3, Vega-Embed 7.3.0: see `vendor/README.md`.
const VENDOR: [&str; 3] = [
    include_str!("../vendor/vega.min.js"),
    include_str!("../vendor/vega-lite.min.js"),
    include_str!("../vendor/vega-embed.min.js"),
];
/// The licences of [`VENDOR`], which must stand in every copy.
const LICENCES: [&str; 3] = [
    include_str!("../vendor/LICENSE-vega"),
    include_str!("../vendor/LICENSE-vega-lite"),
    include_str!("../vendor/LICENSE-vega-embed"),
];

/// Makes the report of the runs in a folder or below and writes it: to `to`, or to `report.html` in the folder. Returns
/// where it is.
///
/// # Errors
/// If the folder holds no runs, or the page cannot be written.
pub fn write_report(folder: &Path, to: Option<&Path>) -> Result<PathBuf, ReportError> {
    let path = to.map_or_else(|| folder.join("report.html"), Path::to_owned);
    let page = html(&groups(load(&[folder.to_owned()])?))?;
    write(&path, &page)?;
    Ok(path)
}

/// Writes a page that is complete once it has its name.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, page: &str) -> Result<(), ReportError> {
    let written = farspan_files::write(path, page.as_bytes());
    written.map_err(|source| ReportError::Write { path: path.to_owned(), source })
}

/// The page of these groups. Ratios are over the first arm of each.
///
/// # Errors
/// If the series of a run cannot be read.
pub fn html(groups: &[Group]) -> Result<String, ReportError> {
    let arms = || groups.iter().flat_map(|group| &group.arms);
    let count = arms().count();
    let detailed =
        || arms().enumerate().flat_map(move |(i, arm)| arm.runs.iter().take(BUDGET.runs_of(i, count)));
    let sampled: Result<Vec<u64>, _> = detailed().map(|run| count_rows(&run.series())).collect();
    let sampled = sampled?.into_iter().filter(|rows| *rows > 0).count();
    let proxies = detailed().map(|run| proxy::hosts(run).len()).max().unwrap_or_default();
    let share = BUDGET.share(&detailed().map(|run| run.flows.len()).collect::<Vec<_>>(), sampled, proxies);
    let shown = Shown { arms: count, share };
    let mut before = 0;
    let mut parts = Vec::new();
    for group in groups {
        parts.push(shown.group(group, before)?);
        before += group.arms.len();
    }
    let title = title(groups);
    let data = json!({ "title": title, "groups": parts, "axes": axes(groups) });
    Ok(assemble(&title, &data))
}

/// A title of one line: the groups' names; of many, their scenarios and how many combinations they are.
fn title(groups: &[Group]) -> String {
    let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
    let names = names.join(", ");
    if names.chars().count() <= LONGEST_TITLE {
        return names;
    }
    let mut scenarios: Vec<&str> = Vec::new();
    for group in groups {
        let scenario = group.arms[0].runs[0].text("scenario");
        if !scenarios.contains(&scenario) {
            scenarios.push(scenario);
        }
    }
    let more = match scenarios.len() - 1 {
        0 => String::new(),
        1 => " and another scenario".to_owned(),
        others => format!(" and {others} other scenarios"),
    };
    let combinations = if groups.len() > scenarios.len() {
        format!(": {} combinations", groups.len())
    } else {
        String::new()
    };
    format!("{}{more}{combinations}", scenarios[0])
}

fn assemble(title: &str, data: &Value) -> String {
    // A comment that names a source map would make a browser's tools look for it on the network.
    let code = |script: &str| {
        let lines = script.lines().filter(|line| !line.starts_with("//# sourceMappingURL"));
        format!("<script>\n{}\n</script>\n", lines.collect::<Vec<_>>().join("\n"))
    };
    let licences = format!("<!--\n{}-->\n", LICENCES.join("\n").replace("--", "- -"));
    let vendor = licences + &VENDOR.map(code).concat();
    let scripts = code(&format!("(() => {{\n\"use strict\";\n{}}})();", SCRIPTS.concat()));
    let mut page = String::with_capacity(TEMPLATE.len() + vendor.len() + scripts.len());
    for (i, piece) in TEMPLATE.split("{{").enumerate() {
        let Some((name, rest)) = piece.split_once("}}").filter(|_| i > 0) else {
            page += piece;
            continue;
        };
        match name {
            "title" => page += &escape(title),
            "style" => page += STYLE,
            "vendor" => page += &vendor,
            "data" => page += &embed(data),
            "script" => page += &scripts,
            _ => unreachable!("the template has no other place"),
        }
        page += rest;
    }
    page
}

/// Text as HTML shows it.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that no HTML parser mistakes for markup: within a script element only `<` can end it or begin a comment.
fn embed(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

/// Parts that runs of a group have in common: the page holds each once.
#[derive(Default)]
struct SharedParts {
    pictures: Vec<Picture>,
    ports: Names,
}

/// How much of the runs is shown.
struct Shown {
    arms: usize,
    share: Share,
}

impl Shown {
    /// A group, after so many arms of others.
    fn group(&self, group: &Group, before: usize) -> Result<Value, ReportError> {
        let comparison = compare_group(group, false)?;
        let headed = |measure: &Measure| {
            let mut measure = measure.clone();
            measure.name = comparison.heading(&measure);
            measure
        };
        let mut shared = SharedParts::default();
        let mut arms = Vec::new();
        for (i, arm) in group.arms.iter().enumerate() {
            let detailed = BUDGET.runs_of(before + i, self.arms);
            arms.push(self.arm((i, arm), detailed, &comparison, &mut shared)?);
        }
        Ok(json!({
            "name": group.name,
            "description": group.arms[0].runs[0].scenario.get("description").and_then(toml::Value::as_str),
            "head": comparison.head(),
            "notes": comparison.notes,
            "warnings": warned(group, Run::warnings),
            "differences": comparison.differences,
            "baseline": comparison.baseline,
            "question": Question::of(&group.arms[0].runs[0].scenario).page(&comparison.measures),
            "measures": comparison.measures.iter().map(headed).collect::<Vec<_>>(),
            "verdicts": comparison.verdicts.iter().map(|v| said(v, &comparison)).collect::<Vec<_>>(),
            "pictures": shared.pictures.iter().map(Picture::layout).collect::<Vec<_>>(),
            "ports": shared.ports,
            "arms": arms,
        }))
    }

    fn arm(
        &self,
        (place, arm): (usize, &Arm),
        detailed: usize,
        comparison: &Comparison,
        shared: &mut SharedParts,
    ) -> Result<Value, ReportError> {
        let mut runs = Vec::new();
        for (i, run) in arm.runs.iter().enumerate() {
            let mut value = head(run);
            if i < detailed {
                let picture = Picture::of(&run.ports);
                let SharedParts { pictures, ports } = shared;
                let known = pictures.iter().position(|known| *known == picture);
                let place = known.unwrap_or_else(|| {
                    pictures.push(picture);
                    pictures.len() - 1
                });
                value["detail"] = detail(run, self.share, &pictures[place], ports)?;
                value["detail"]["picture"] = place.into();
            }
            runs.push(value);
        }
        let first = &arm.runs[0];
        Ok(json!({
            "name": arm.name,
            "scheme": first.text("scheme"),
            "profile": first.text("profile"),
            "seeds": list(&arm.seeds()),
            "unended": arm.unended().0,
            "numbers": numbers(place, comparison),
            "fct": curves(&arm.drawn(), completion),
            "slowdown": curves(&arm.drawn(), slowdown),
            "runs": runs,
        }))
    }
}

/// For each measure the median over seeds and its interval, and over the baseline the median of the ratios and its interval. Null within
/// them is infinite: some arm has the number, so this one lacks it for flows that did not end or rates that never
/// converged. Null instead of them says that there is none. A ratio that not all seeds have ends with how many have it, and
/// how many there are. Where the bottlenecks of arms are different ports, a third entry names this one's.
fn numbers(arm: usize, comparison: &Comparison) -> Value {
    let spread = comparison.runs.get(arm).map(|side| &side.summary);
    let ratios = comparison.ratios.iter().find(|ratios| ratios.arm == arm).map(|ratios| &ratios.fields);
    let three = |entry: Option<&Value>, short: fn(f64) -> Value| {
        let number = |key: &str| entry.and_then(|entry| entry.get(key)?.as_f64()).map_or(Value::Null, short);
        vec![number("median"), number("ci_low"), number("ci_high")]
    };
    let ratio = |entry: &Value| {
        let (pairs, missing) = pairs(entry);
        let of = if missing > 0 { vec![json!(pairs), json!(pairs + missing)] } else { Vec::new() };
        [three(Some(entry), point), of].concat()
    };
    let row = |measure: &Measure| {
        let exact = if measure.unit == Unit::Count { count } else { point };
        let spread =
            spread.filter(|tree| !tree.is_null()).map(|tree| three(tree.pointer(&measure.path), exact));
        // A number of a port that is null was not measured.
        let spread = spread.filter(|three| !(measure.is_of_bottleneck() && three[0].is_null()));
        let entry = ratios.and_then(|tree| tree.pointer(&measure.path)).filter(|entry| pairs(entry).0 > 0);
        let port = comparison
            .runs
            .get(arm)
            .filter(|_| comparison.names_ports(measure))
            .map(|side| side.port().unwrap_or_else(|| "none".to_owned()));
        let entries = [json!(spread), json!(entry.map(ratio))];
        Value::Array(entries.into_iter().chain(port.map(Value::from)).collect())
    };
    comparison.measures.iter().map(row).collect()
}

/// A count as it is.
fn count(x: f64) -> Value {
    short(x, 15)
}

/// A verdict, with arms by number.
fn said(verdict: &Verdict, comparison: &Comparison) -> Value {
    let arm = |name: &String| comparison.runs.iter().position(|side| side.name == *name);
    let over = |lead: &Lead| {
        let ratio = [lead.median, lead.ci_low, lead.ci_high].map(|x| x.map_or(Value::Null, point));
        json!([arm(&lead.name), ratio])
    };
    json!({
        "best": verdict.best.as_ref().and_then(arm),
        "over": verdict.over.as_ref().map(over),
        "even": verdict.no_difference.iter().map(arm).collect::<Vec<_>>(),
        "all": verdict.all_even,
    })
}

/// The overview's entry for a run.
fn head(run: &Run) -> Value {
    let mut head = json!({
        "folder": run.folder.display().to_string(),
        "partial": run.partial(),
        "flows": run.flows.len(),
    });
    for key in ["seed", "sites", "digest", "packet_digest", "farspan_version", "commit", "engine", "threads"]
    {
        head[key] = run.summary[key].clone();
    }
    for key in ["sim_time_s", "wall_time_s", "packet_hops"] {
        head[key] = run.number(&format!("/{key}")).map_or(Value::Null, point);
    }
    for key in ["started", "finished"] {
        head[key] = run.summary["flows"][key].clone();
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::testing::run;

    #[test]
    fn nothing_in_the_data_ends_the_script() {
        let name = "</script><script>alert(1)</script><!--";
        let page = assemble(name, &json!({ "groups": [{ "name": name }] }));
        assert!(!page.contains(name));
        assert!(page.contains("<title>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;!--"));
        let data = page.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        let back: Value = serde_json::from_str(data).unwrap();
        assert_eq!(back["groups"][0]["name"], name);
    }

    #[test]
    fn a_title_has_one_line() {
        let group = |name: &str, scenario: &str| {
            let mut run = run("uno", 1, "a", false, "");
            run.summary["scenario"] = scenario.into();
            Group { name: name.to_owned(), arms: groups(vec![run]).remove(0).arms, notes: Vec::new() }
        };
        let sweep = |scenarios: &[&str]| -> Vec<Group> {
            let axes = (0..36).map(|i| format!("topology.wan.rtt {i}ms"));
            let of = |(i, axes): (usize, String)| group(&axes, scenarios[i % scenarios.len()]);
            axes.enumerate().map(of).collect()
        };
        assert_eq!(title(&[group("uno/steady", "s"), group("uno/incast", "t")]), "uno/steady, uno/incast");
        assert_eq!(title(&sweep(&["three"])), "three: 36 combinations");
        assert_eq!(title(&sweep(&["three", "four"])), "three and another scenario: 36 combinations");
    }

    #[test]
    fn the_page_asks_for_nothing_from_a_network() {
        let page = assemble("t", &json!({}));
        for element in ["<script src", "<link", "@import", "sourceMappingURL"] {
            assert!(!page.contains(element), "{element}");
        }
        assert!(page.contains("Interactive Data Lab"));
        // Beside our own scripts and the data, each library is one element.
        assert_eq!(page.matches("</script").count(), VENDOR.len() + 2);
    }
}
