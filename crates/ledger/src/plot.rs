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
    let place = |case: &usize| {
        let case = &figure.cases[*case];
        Place { label: case_name(&case.label), at: case.x }
    };
    let (kind, x_label) = match plot.kind {
        PlotKind::Bars => (Kind::Bars, String::new()),
        PlotKind::Lines => (Kind::Lines, figure.axis.clone()),
    };
    Panel {
        title: plot.title.clone(),
        kind,
        x_label,
        places: cases.iter().map(place).collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_case_reads_as_the_papers_data() {
        let names = ["paper", "intra, artifact", "4 and 10 us, paper", "as on paper"].map(case_name);
        assert_eq!(
            names,
            ["profile paper", "intra, profile artifact", "4 and 10 us, profile paper", "as on paper"]
        );
    }
}
