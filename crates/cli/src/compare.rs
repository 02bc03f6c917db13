//! `farspan compare`.

use crate::args::CompareArgs;
use crate::format::{NONE, Table, bytes, number, percent, time};
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
            let median = side.summary.pointer(&format!("{}/median", measure.path)).and_then(Value::as_f64);
            row.push(show(measure.unit, median));
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
        "over {}: median of the ratios seed by seed{}; {NONE}: infinite, or a p99 of too few flows\n",
        comparison.baseline,
        if several { " [95% bootstrap interval]" } else { "" }
    );
    for difference in &comparison.differences {
        let Difference { name, key, baseline, value } = difference;
        text += &format!("note: {name}: {key} = {value}, in {} {baseline}\n", comparison.baseline);
    }
    comparison.notes.iter().fold(text, |text, note| text + &format!("note: {note}\n"))
}

fn show(unit: Unit, value: Option<f64>) -> String {
    match unit {
        Unit::Us => time(value),
        Unit::Bytes => bytes(value),
        Unit::Share => percent(value),
        Unit::Number => number(value),
    }
}

/// The median of the ratios, and its interval if there are several.
fn ratio(ratios: Option<&Ratios>, path: &str) -> String {
    let Some(entry) = ratios.and_then(|ratios| ratios.fields.pointer(path)) else { return NONE.to_owned() };
    let value = |key: &str| entry.get(key).and_then(Value::as_f64);
    let pairs = entry.get("ratios").and_then(Value::as_array).map_or(0, Vec::len);
    let median = number(value("median"));
    if pairs < 2 {
        return median;
    }
    format!("{median} [{}, {}]", number(value("ci_low")), number(value("ci_high")))
}
