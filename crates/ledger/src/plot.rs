//! Plots of a figure as SVG: what was measured, with its range over seeds, beside what the paper printed. Light or dark as
//! the reader's screen.

use crate::figure::{Figure, Plot, PlotKind};
use crate::page::show;
use crate::record::{Cell, Record};
use std::fmt::Write as _;

/// Colours of arms, to be told apart by everyone on light and dark ground.
const COLOURS: [&str; 8] =
    ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#999999", "#ee8866"];
const WIDTH: f64 = 960.0;
const PANEL: (f64, f64) = (WIDTH / 2.0, 250.0);
/// Space around the marks of a panel: left, top, right, bottom.
const MARGIN: [f64; 4] = [52.0, 30.0, 12.0, 34.0];
const STYLE: &str = "text{fill:#24292f}.ground{fill:#fff}.axis{stroke:#8c959f;fill:none}.grid{stroke:#8c959f;stroke-opacity:.25}\
.paper{stroke:#24292f;stroke-width:2;fill:none}.range{stroke:#24292f;stroke-opacity:.6}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.ground{fill:#0d1117}.paper,.range{stroke:#e6edf3}}";

/// The plots of a figure as one SVG document; `None` if there is nothing to draw.
#[must_use]
pub fn svg(figure: &Figure, record: &Record) -> Option<String> {
    let panels: Vec<Panel> = figure.plots.iter().filter_map(|plot| Panel::of(figure, record, plot)).collect();
    if panels.is_empty() {
        return None;
    }
    let legend = legend(figure, &panels);
    let top = 24.0 * legend.len() as f64 + 6.0;
    let height = top + PANEL.1 * panels.len().div_ceil(2) as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>{STYLE}</style>\n<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n"
    );
    for (i, line) in legend.iter().enumerate() {
        text += &format!("<g transform=\"translate(0 {})\">{line}</g>\n", 24 * i);
    }
    for (i, panel) in panels.iter().enumerate() {
        let (x, y) = (PANEL.0 * (i % 2) as f64, top + PANEL.1 * (i / 2) as f64);
        text += &format!("<g transform=\"translate({x} {y})\">\n{}</g>\n", panel.draw());
    }
    Some(text + "</svg>\n")
}

/// Lines of the legend: the arms that some panel shows, and the paper's mark.
fn legend(figure: &Figure, panels: &[Panel]) -> Vec<String> {
    let mut entries: Vec<(f64, String)> = Vec::new();
    let mut add = |mark: String, label: &str| {
        let text = format!("{mark}<text x=\"22\" y=\"17\">{}</text>", escape(label));
        entries.push((40.0 + 7.0 * label.chars().count() as f64, text));
    };
    for (arm, scheme) in figure.arms.iter().enumerate() {
        if panels.iter().any(|panel| panel.series.iter().any(|series| series.arm == arm)) {
            add(
                format!("<rect x=\"4\" y=\"7\" width=\"12\" height=\"12\" fill=\"{}\"/>", colour(arm)),
                &scheme.label,
            );
        }
    }
    if panels.iter().any(|panel| panel.series.iter().any(|s| s.points.iter().any(|p| p.paper.is_some()))) {
        add("<path class=\"paper\" d=\"M4 13h12\"/>".to_owned(), "paper");
    }
    let (mut lines, mut x) = (vec![String::new()], 12.0);
    for (width, entry) in entries {
        if x + width > WIDTH {
            lines.push(String::new());
            x = 12.0;
        }
        let line = lines.last_mut().expect("there is a line");
        write!(line, "<g transform=\"translate({x} 0)\">{entry}</g>").expect("text can be written to");
        x += width;
    }
    lines
}

const fn colour(arm: usize) -> &'static str {
    COLOURS[arm % COLOURS.len()]
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// One plot.
struct Panel {
    title: String,
    kind: PlotKind,
    axis: String,
    /// Label and place of each case.
    cases: Vec<(String, Option<f64>)>,
    series: Vec<Series>,
    scale: Scale,
}

/// The points of an arm, one a case.
struct Series {
    arm: usize,
    points: Vec<Point>,
}

struct Point {
    cell: Option<Cell>,
    paper: Option<f64>,
}

/// The axis of values, from its lowest to its highest.
struct Scale {
    log: bool,
    low: f64,
    high: f64,
}

impl Scale {
    fn of(values: &[f64], log: bool) -> Option<Self> {
        let above = values.iter().copied().filter(|value| value.is_finite() && (!log || *value > 0.0));
        let high = above.clone().reduce(f64::max)?;
        if log {
            let low = above.reduce(f64::min)?;
            return Some(Self {
                log,
                low: 10_f64.powf(low.log10().floor()),
                high: 10_f64.powf(high.log10().ceil()),
            });
        }
        let step = step(high);
        Some(Self { log, low: 0.0, high: (high / step).ceil().max(1.0) * step })
    }

    /// From 0 at the bottom to 1 at the top.
    fn share(&self, value: f64) -> f64 {
        let share = match self.log {
            true if value <= 0.0 => 0.0,
            true => (value / self.low).ln() / (self.high / self.low).max(1.0 + 1e-9).ln(),
            false => value / self.high,
        };
        share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10().round() as i32;
            return (0..=decades).map(|i| self.low * 10_f64.powi(i)).collect();
        }
        let step = step(self.high);
        (0..=(self.high / step).round() as u32).map(|i| f64::from(i) * step).collect()
    }
}

/// A round distance between about five ticks up to `high`.
fn step(high: f64) -> f64 {
    let rough = (high / 5.0).max(f64::MIN_POSITIVE);
    let decade = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
    steps.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(10.0 * decade)
}

impl Panel {
    fn of(figure: &Figure, record: &Record, plot: &Plot) -> Option<Self> {
        let measure = &figure.measures[plot.measure];
        let point = |case: usize, arm: usize| {
            let named = (&figure.cases[case].name, &figure.arms[arm].name);
            let row = record.rows.iter().find(|row| (&row.case, &row.arm) == named);
            Point {
                cell: row.and_then(|row| row.values.get(&measure.name)).copied(),
                paper: figure.printed(case, arm, plot.measure),
            }
        };
        let some = |point: &Point| point.cell.is_some() || point.paper.is_some();
        let drawn = |case: &usize| plot.arms.iter().any(|arm| some(&point(*case, *arm)));
        let cases: Vec<usize> = plot.cases.iter().copied().filter(drawn).collect();
        let series =
            |&arm: &usize| Series { arm, points: cases.iter().map(|case| point(*case, arm)).collect() };
        let mut series: Vec<Series> = plot.arms.iter().map(series).collect();
        series.retain(|series| series.points.iter().any(some));
        let points = || series.iter().flat_map(|series| &series.points);
        let values: Vec<f64> = points()
            .flat_map(|point| {
                [point.cell.and_then(|c| c.median), point.cell.and_then(|c| c.max), point.paper]
            })
            .flatten()
            .collect();
        let label = |case: &usize| (figure.cases[*case].label.clone(), figure.cases[*case].x);
        Some(Self {
            title: plot.title.clone(),
            kind: plot.kind,
            axis: figure.axis.clone(),
            cases: cases.iter().map(label).collect(),
            scale: Scale::of(&values, plot.log)?,
            series,
        })
    }

    const fn width() -> f64 {
        PANEL.0 - MARGIN[0] - MARGIN[2]
    }

    fn y(&self, value: Option<f64>) -> f64 {
        let (top, bottom) = (MARGIN[1], PANEL.1 - MARGIN[3]);
        bottom - self.scale.share(value.unwrap_or(f64::INFINITY)) * (bottom - top)
    }

    fn draw(&self) -> String {
        let (left, right, bottom) = (MARGIN[0], PANEL.0 - MARGIN[2], PANEL.1 - MARGIN[3]);
        let mut text =
            format!("<text x=\"{left}\" y=\"18\" font-weight=\"bold\">{}</text>\n", escape(&self.title));
        for tick in self.scale.ticks() {
            let y = self.y(Some(tick));
            text += &format!(
                "<path class=\"grid\" d=\"M{left} {y:.1}H{right}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                left - 5.0,
                y + 4.0,
                show(Some(tick))
            );
        }
        text += &format!("<path class=\"axis\" d=\"M{left} {}V{bottom}H{right}\"/>\n", MARGIN[1]);
        text + &match self.kind {
            PlotKind::Bars => self.bars(),
            PlotKind::Lines => self.lines(),
        }
    }

    fn bars(&self) -> String {
        let group = Self::width() / self.cases.len() as f64;
        let bar = group * 0.86 / self.series.len() as f64;
        let mut text = String::new();
        for (i, (label, _)) in self.cases.iter().enumerate() {
            let start = MARGIN[0] + group * (i as f64 + 0.07);
            for (n, series) in self.series.iter().enumerate() {
                text += &self.bar(&series.points[i], start + bar * n as f64, bar * 0.9, colour(series.arm));
            }
            text += &self.label(start + group * 0.43, label);
        }
        text
    }

    fn bar(&self, point: &Point, x: f64, width: f64, colour: &str) -> String {
        let (bottom, middle) = (PANEL.1 - MARGIN[3], x + width / 2.0);
        let mut text = String::new();
        if let Some(cell) = point.cell {
            let y = self.y(cell.median);
            let faint = if cell.median.is_none() { " fill-opacity=\".3\"" } else { "" };
            text += &format!(
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{colour}\"{faint}/>",
                bottom - y
            );
            if cell.median.is_none() {
                text += &format!(
                    "<text transform=\"translate({:.1} {:.1}) rotate(-90)\" font-size=\"10\">never</text>",
                    middle + 3.0,
                    bottom - 4.0
                );
            } else {
                text += &format!(
                    "<path class=\"range\" d=\"M{middle:.1} {:.1}V{:.1}\"/>",
                    self.y(cell.min),
                    self.y(cell.max)
                );
            }
        }
        if point.paper.is_some() {
            text += &format!("<path class=\"paper\" d=\"M{x:.1} {:.1}h{width:.1}\"/>", self.y(point.paper));
        }
        text + "\n"
    }

    fn label(&self, x: f64, label: &str) -> String {
        format!(
            "<text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            PANEL.1 - 18.0,
            escape(label)
        )
    }

    fn lines(&self) -> String {
        let places = self.places();
        let mut text = String::new();
        for ((label, _), x) in self.cases.iter().zip(&places) {
            text += &self.label(*x, label);
        }
        let axis = MARGIN[0] + Self::width() / 2.0;
        text += &format!(
            "<text x=\"{axis}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
            PANEL.1 - 4.0,
            escape(&self.axis)
        );
        for series in &self.series {
            let colour = colour(series.arm);
            let at = |value: fn(&Point) -> Option<Option<f64>>| -> Vec<(f64, f64)> {
                let points = series.points.iter().zip(&places);
                points.filter_map(|(point, x)| Some((*x, self.y(value(point)?)))).collect()
            };
            let line = |points: &[(f64, f64)], dashes: &str| {
                let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
                format!(
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>\n",
                    points.join(" ")
                )
            };
            let ours = at(|point| point.cell.map(|cell| cell.median));
            text += &line(&ours, "");
            for (x, y) in &ours {
                text += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>\n");
            }
            for (point, x) in series.points.iter().zip(&places) {
                if let Some(cell) = point.cell {
                    let (low, high) = (self.y(cell.min), self.y(cell.max));
                    text += &format!("<path class=\"range\" d=\"M{x:.1} {low:.1}V{high:.1}\"/>\n");
                }
            }
            text += &line(&at(|point| point.paper.map(Some)), " stroke-dasharray=\"5 4\"");
            for (x, y) in at(|point| point.paper.map(Some)) {
                text += &format!("<path class=\"paper\" d=\"M{:.1} {y:.1}h10\"/>\n", x - 5.0);
            }
        }
        text
    }

    /// Where the cases stand: by their `x` (logarithmic if that spans a decade), or evenly.
    fn places(&self) -> Vec<f64> {
        let known: Option<Vec<f64>> = self.cases.iter().map(|(_, x)| *x).collect();
        let even = || (0..self.cases.len()).map(|i| i as f64).collect();
        let mut values: Vec<f64> = known.unwrap_or_else(even);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        if least > 0.0 && most / least >= 10.0 {
            values.iter_mut().for_each(|value| *value = value.ln());
        }
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let span = (most - least).max(f64::MIN_POSITIVE);
        let inner = Self::width() - 40.0;
        values.iter().map(|value| MARGIN[0] + 20.0 + inner * (value - least) / span).collect()
    }
}
