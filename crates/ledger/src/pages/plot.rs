//! Plots of a figure: what was measured, with its range over seeds, beside what the paper printed. Light or dark as the
//! reader's screen.

use crate::figure::{Figure, Plot, PlotKind};
use crate::record::Record;
use farspan_chart::{Figure as Drawn, Kind, Panel, Place, Point, Series, Theme};

/// The plots of a figure as one SVG document; `None` if there is nothing to draw.
#[must_use]
pub fn svg(figure: &Figure, record: &Record) -> Option<String> {
    let drawn = Drawn {
        title: format!("{}: measured and printed", figure.title),
        width: 960.0,
        font: 12.0,
        height: 190.0,
        columns: 2,
        lines: figure.arms.iter().map(|arm| arm.label.clone()).collect(),
        panels: figure.plots.iter().map(|plot| panel(figure, record, plot)).collect(),
        notes: Vec::new(),
    };
    drawn.draw().map(|drawing| drawing.svg(Theme::Screen))
}

fn panel(figure: &Figure, record: &Record, plot: &Plot) -> Panel {
    let measure = &figure.measures[plot.measure];
    let point = |case: usize, arm: usize| {
        let named = (&figure.cases[case].name, &figure.arms[arm].name);
        let row = record.rows.iter().find(|row| (&row.case, &row.arm) == named);
        let cell = row.and_then(|row| row.values.get(&measure.name));
        let printed = figure.printed(case, arm, plot.measure);
        // A number that is missing is infinite: flows that never end.
        let number = |of: Option<f64>| of.unwrap_or(f64::INFINITY);
        (cell.is_some() || printed.is_some()).then(|| Point {
            middle: cell.map(|cell| number(cell.median)),
            low: cell.map(|cell| number(cell.min)),
            high: cell.map(|cell| number(cell.max)),
            printed,
        })
    };
    let drawn = |case: &usize| plot.arms.iter().any(|arm| point(*case, *arm).is_some());
    let mut cases: Vec<usize> = plot.cases.iter().copied().filter(drawn).collect();
    if plot.kind == PlotKind::Lines && cases.iter().all(|case| figure.cases[*case].x.is_some()) {
        cases
            .sort_by(|a, b| figure.cases[*a].x.partial_cmp(&figure.cases[*b].x).expect("numbers are finite"));
    }
    let series =
        |&line: &usize| Series { line, points: cases.iter().map(|case| point(*case, line)).collect() };
    let mut series: Vec<Series> = plot.arms.iter().map(series).collect();
    series.retain(|series| series.points.iter().any(Option::is_some));
    let (names, common) =
        apart(&cases.iter().map(|case| case_name(&figure.cases[*case].label)).collect::<Vec<_>>());
    let places = cases.iter().zip(names);
    let places = places.map(|(case, label)| Place { label, at: figure.cases[*case].x }).collect();
    let (kind, axis) = match plot.kind {
        PlotKind::Bars => (Kind::Bars, ""),
        PlotKind::Lines => (Kind::Lines, figure.axis.as_str()),
    };
    let x_label = [axis, &common].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    Panel {
        title: plot.title.clone(),
        kind,
        x_label,
        places,
        y_log: Some(plot.log),
        series,
        ..Panel::default()
    }
}

/// A case's name, which says where it is of a profile: the name of one alone would read as the paper's own data.
fn case_name(label: &str) -> String {
    let named = |part: &str| match part {
        "paper" | "artifact" => format!("profile {part}"),
        other => other.to_owned(),
    };
    label.split(", ").map(named).collect::<Vec<_>>().join(", ")
}

/// Names without the parts at their end that all have, and those parts.
fn apart(names: &[String]) -> (Vec<String>, String) {
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split(", ").collect()).collect();
    let shortest = parts.iter().map(Vec::len).min().unwrap_or_default();
    let equal = |back: &usize| {
        let part = |parts: &Vec<&str>| parts[parts.len() - back].to_owned();
        parts.iter().all(|other| part(other) == part(&parts[0]))
    };
    // A name keeps its first part, and a lone one all of them.
    let common = if names.len() < 2 { 0 } else { (1..shortest).take_while(equal).count() };
    let own = parts.iter().map(|parts| parts[..parts.len() - common].join(", ")).collect();
    (own, parts.first().map_or_else(String::new, |parts| parts[parts.len() - common..].join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_all_names_end_with_stand_once() {
        let of = |names: &[&str]| apart(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        let (names, common) = of(&["1 short, 100 Gb/s", "9 short, 100 Gb/s"]);
        assert_eq!((names.join("; "), common.as_str()), ("1 short; 9 short".to_owned(), "100 Gb/s"));
        assert_eq!(of(&["9 short, 25 Gb/s", "9 short, 50 Gb/s"]).1, "");
        assert_eq!(of(&["a", "a"]).1, "");
        assert_eq!(of(&["16 MiB, 10 iterations"]).0, ["16 MiB, 10 iterations"]);
    }

    #[test]
    fn no_case_reads_as_the_papers_data() {
        let names = ["paper", "intra, artifact", "4 and 10 us, paper", "as on paper"].map(case_name);
        assert_eq!(
            names,
            ["profile paper", "intra, profile artifact", "4 and 10 us, profile paper", "as on paper"]
        );
    }
}
