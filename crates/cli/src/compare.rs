//! `farspan compare`.

use crate::Failure;
use clap::Args;
use farspan_metrics::{Measure, Unit};
use farspan_report::{
    Comparison, Difference, Ratios, Side, Verdict, compare as paired, html, interval_name, load, pairs, write,
};
use farspan_terminal::format::{INFINITE, NONE, Table, or_infinite};
use farspan_terminal::output;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Folders written by `farspan run --out`, or folders that contain them. Ratios are over the first
    #[arg(required = true, value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Compute ratios over this run instead of the first. Give its name in the table: a scheme, or more where one scheme has several runs
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub json: bool,
    /// Also write an HTML page
    #[arg(short, long, alias = "out", value_name = "FILE.html")]
    pub output: Option<PathBuf>,
}

/// Sets the runs of some folders side by side.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let (comparisons, groups) = paired(load(&args.folders)?, args.baseline.as_deref())?;
    if let Some(path) = &args.output {
        write(path, &html(&groups)?)?;
        output::note(&format!("wrote {}", path.display()));
    }
    if args.json {
        output::json(&json!({ "comparisons": comparisons }));
    } else {
        let pages: Vec<String> = comparisons.iter().map(page).collect();
        output::text(&pages.join("\n"));
    }
    Ok(())
}

/// A comparison as a page of text.
pub fn page(comparison: &Comparison) -> String {
    let several = comparison.runs.iter().any(|side| side.seeds.len() > 1);
    let mut heading = vec![String::new()];
    for (i, side) in comparison.runs.iter().enumerate() {
        heading.push(side.name.clone());
        if i > 0 {
            heading.push(format!("ratio to {}", comparison.baseline));
        }
    }
    heading.push("best".to_owned());
    let last = heading.len() - 1;
    let mut table = Table::new(heading);
    for (measure, verdict) in comparison.measures.iter().zip(&comparison.verdicts) {
        let mut row = vec![comparison.heading(measure)];
        for (i, side) in comparison.runs.iter().enumerate() {
            row.push(entry(comparison, side, measure));
            if i > 0 {
                let ratios = comparison.ratios.iter().find(|ratios| ratios.arm == i);
                row.push(ratio(ratios, &measure.path));
            }
        }
        row.push(best(verdict));
        table.row(row);
    }
    let fewest = comparison.ratios.iter().map(|ratios| ratios.seeds.len()).min().unwrap_or(0);
    let of = if several { "medians over the seeds" } else { "one seed" };
    let seeds: Vec<String> =
        comparison.ratios.iter().map(|ratios| format!("{} {}", ratios.name, ratios.seeds.len())).collect();
    let head = [
        vec![format!(
            "{}: {of}; seeds paired with {}: {}",
            comparison.scenario,
            comparison.baseline,
            seeds.join(", ")
        )],
        comparison.head(),
    ];
    let mut text = head.concat().join("\n") + "\n\n";
    text += &table.render(&[last]);
    text += &format!(
        "ratio to {}: median of the ratios paired by seed{}; {INFINITE}: some flows did not finish, or rates never converged; \
         {NONE}: no such number; (1 of 4): 1 of 4 seeds has a ratio\n",
        comparison.baseline,
        if several { format!(" [{} by bootstrap]", interval_name(fewest)) } else { String::new() }
    );
    text += &format!("{BEST}\n");
    for difference in &comparison.differences {
        let Difference { name, key, baseline, value } = difference;
        text += &format!("note: {name}: {key} = {value}, in {} {baseline}\n", comparison.baseline);
    }
    text + &notes(comparison, &comparison.measures.iter().collect::<Vec<_>>()) + &warnings(comparison)
}

/// The warnings of the runs, a line each.
pub fn warnings(comparison: &Comparison) -> String {
    comparison.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect()
}

/// The meaning of a table's last column.
pub const BEST: &str = "best: the 95% interval of its paired ratio to every other scheme excludes 1 (needs 6 seeds); a \
    scheme with unfinished flows is never marked best";

/// The notes on a table of these numbers, a line each.
pub fn notes(comparison: &Comparison, shown: &[&Measure]) -> String {
    let on_it = comparison.notes.iter().filter(|note| note.is_on(shown.iter().copied()));
    on_it.map(|note| format!("note: {}\n", note.text)).collect()
}

/// Which arm is best by a number, and by how much it is ahead of the nearest; or that there is no difference.
pub fn best(verdict: &Verdict) -> String {
    let number = |x| or_infinite(x, Unit::Number);
    match (&verdict.best, &verdict.over) {
        (Some(best), Some(over)) => format!(
            "{best}: {} [{}, {}] times {}",
            number(over.median),
            number(over.ci_low),
            number(over.ci_high),
            over.name
        ),
        (Some(best), None) => best.clone(),
        (None, _) if verdict.no_difference.is_empty() => NONE.to_owned(),
        (None, _) if verdict.all_even => "no difference".to_owned(),
        (None, _) => format!("no difference: {}", verdict.no_difference.join(", ")),
    }
}

/// An arm's number; of a bottleneck that is another port elsewhere, with its port.
pub fn entry(comparison: &Comparison, side: &Side, measure: &Measure) -> String {
    if !measure.is_of_bottleneck() {
        return median(&side.summary, &measure.path, measure.unit);
    }
    // A port's number that is null was not measured.
    let number = side.summary.pointer(&measure.path).and_then(|spread| spread.get("median")?.as_f64());
    let number = number.map_or_else(|| NONE.to_owned(), |number| or_infinite(Some(number), measure.unit));
    if !comparison.names_ports(measure) {
        return number;
    }
    side.port().map_or_else(|| "none".to_owned(), |port| format!("{number} at {port}"))
}

/// The median of a number that some arm has: one that lacks it, lacks it for flows that did not end or rates that never
/// converged.
fn median(summary: &Value, path: &str, unit: Unit) -> String {
    if summary.is_null() {
        return NONE.to_owned();
    }
    let median = summary.pointer(path).and_then(|spread| spread.get("median")?.as_f64());
    or_infinite(median, unit)
}

/// The median of the ratios, its interval if there are several, and of how many seeds if not of all.
fn ratio(ratios: Option<&Ratios>, path: &str) -> String {
    let entry = ratios.and_then(|ratios| ratios.fields.pointer(path));
    let (pairs, missing) = entry.map_or((0, 0), pairs);
    let Some(entry) = entry.filter(|_| pairs > 0) else { return NONE.to_owned() };
    let value = |key: &str| or_infinite(entry.get(key).and_then(Value::as_f64), Unit::Number);
    let of = if missing > 0 { format!(" ({pairs} of {})", pairs + missing) } else { String::new() };
    match pairs {
        1 => value("median") + &of,
        _ => format!("{} [{}, {}]{of}", value("median"), value("ci_low"), value("ci_high")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_report::Sums;

    #[test]
    fn a_number_of_a_port_names_it_where_ports_differ() {
        let measured =
            |port: &str, mean: Value| json!({"queues": {"bottleneck": port, "bottleneck_mean_bytes": mean}});
        let documents =
            [measured("a->b#0", json!(500.0)), measured("c->d#0", Value::Null), measured("", Value::Null)];
        let measures = farspan_metrics::measures(&documents.iter().collect::<Vec<_>>());
        let side = |document: &Value| Side {
            name: String::new(),
            scheme: String::new(),
            profile: String::new(),
            folders: Vec::new(),
            seeds: vec![1],
            bottlenecks: vec![farspan_metrics::bottleneck(document).to_owned()]
                .into_iter()
                .filter(|port| !port.is_empty())
                .collect(),
            setup: None,
            sums: Sums::default(),
            summary: farspan_metrics::summarize(std::slice::from_ref(document)),
        };
        let entries = |documents: &[Value]| -> Vec<String> {
            let comparison = Comparison {
                scenario: String::new(),
                baseline: String::new(),
                setup: None,
                warnings: Vec::new(),
                runs: documents.iter().map(side).collect(),
                ratios: Vec::new(),
                verdicts: Vec::new(),
                differences: Vec::new(),
                notes: Vec::new(),
                measures: measures.clone(),
            };
            comparison.runs.iter().map(|side| entry(&comparison, side, &measures[0])).collect()
        };
        assert_eq!(entries(&documents), ["500 B at a->b#0", "- at c->d#0", "none"]);
        assert_eq!(entries(&documents[..1]), ["500 B"]);
    }

    #[test]
    fn a_ratio_says_of_how_many_seeds_it_is() {
        let entry = |ratios: Value, missing: u64| {
            let fields = json!({"a": {"ratios": ratios, "median": 2.0, "ci_low": 1.0, "ci_high": null, "missing": missing}});
            let ratios = Ratios { arm: 1, name: String::new(), seeds: Vec::new(), fields };
            ratio(Some(&ratios), "/a")
        };
        let one = json!({"seed": 1, "ratio": 2.0});
        assert_eq!(entry(json!([one]), 0), "2.00");
        assert_eq!(entry(json!([one]), 3), "2.00 (1 of 4)");
        assert_eq!(entry(json!([one, one]), 2), "2.00 [1.00, inf] (2 of 4)");
        assert_eq!(entry(json!([]), 4), NONE);
    }
}
