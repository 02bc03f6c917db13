//! `farspan compare`.

use crate::args::CompareArgs;
use crate::format::{NONE, Table, in_unit, number};
use crate::{Failure, output};
use farspan_metrics::Unit;
use farspan_report::{Comparison, Difference, Ratios, compare as paired, html, load, write};
use serde_json::{Value, json};

/// Sets the runs of some folders side by side.
pub fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let (comparisons, groups) = paired(load(&args.folders)?, args.baseline.as_deref())?;
    if let Some(path) = &args.output {
        write(path, &html(&groups, args.baseline.as_deref())?)?;
        eprintln!("farspan: wrote {}", path.display());
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
fn page(comparison: &Comparison) -> String {
    let several = comparison.runs.iter().any(|side| side.seeds.len() > 1);
    let mut heading = vec![String::new()];
    for side in &comparison.runs {
        heading.push(side.name.clone());
        if side.name != comparison.baseline {
            heading.push(format!("over {}", comparison.baseline));
        }
    }
    let mut table = Table::new(heading);
    for measure in &comparison.measures {
        let mut row = vec![measure.name.clone()];
        for side in &comparison.runs {
            row.push(median(&side.summary, &measure.path, measure.unit));
            if side.name != comparison.baseline {
                let ratios = comparison.ratios.iter().find(|ratios| ratios.name == side.name);
                row.push(ratio(ratios, &measure.path));
            }
        }
        table.row(row);
    }
    let of = if several { "median over seeds" } else { "one seed" };
    let seeds: Vec<String> =
        comparison.ratios.iter().map(|ratios| format!("{} of {}", ratios.seeds.len(), ratios.name)).collect();
    let mut text = format!("{}: {of}; pairs of runs: {}\n\n", comparison.scenario, seeds.join(", "));
    text += &table.render(&[]);
    text += &format!(
        "over {}: median of the ratios seed by seed{}; {INFINITE}: flows did not end, or rates never converged; {NONE}: \
         no such number\n",
        comparison.baseline,
        if several { " [95% bootstrap interval]" } else { "" }
    );
    for difference in &comparison.differences {
        let Difference { name, key, baseline, value } = difference;
        text += &format!("note: {name}: {key} = {value}, in {} {baseline}\n", comparison.baseline);
    }
    comparison.notes.iter().fold(text, |text, note| text + &format!("note: {note}\n"))
}

/// What stands for a number that unfinished flows make infinite.
const INFINITE: &str = "inf";

/// The median of a number that some arm has: one that lacks it, lacks it for flows that did not end or rates that never
/// converged.
fn median(summary: &Value, path: &str, unit: Unit) -> String {
    if summary.is_null() {
        return NONE.to_owned();
    }
    let median = summary.pointer(path).and_then(|spread| spread.get("median")?.as_f64());
    median.map_or_else(|| INFINITE.to_owned(), |median| in_unit(Some(median), unit))
}

/// The median of the ratios, and its interval if there are several.
fn ratio(ratios: Option<&Ratios>, path: &str) -> String {
    let entry = ratios.and_then(|ratios| ratios.fields.pointer(path));
    let pairs = entry.and_then(|entry| entry.get("ratios")?.as_array()).map_or(0, Vec::len);
    let Some(entry) = entry.filter(|_| pairs > 0) else { return NONE.to_owned() };
    let value = |key: &str| {
        let value = entry.get(key).and_then(Value::as_f64);
        value.map_or_else(|| INFINITE.to_owned(), |value| number(Some(value)))
    };
    match pairs {
        1 => value("median"),
        _ => format!("{} [{}, {}]", value("median"), value("ci_low"), value("ci_high")),
    }
}
