//! Charts side by side, with one legend above and notes below.

use crate::drawing::{Anchor, Drawing, Fill, Paint, Stroke};
use crate::font::{width, wrap};
use crate::labels::LINE;
use crate::panel::{Kind, Panel, paint, stroke};
use crate::style::{Marker, look};
use serde::Deserialize;

/// Charts side by side.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// In a few words, for readers who do not see it, and lists of files.
    pub title: String,
    /// In points (1/72 inch).
    pub width: f64,
    /// The size of its text, in points.
    pub font: f64,
    /// The height of a chart's marks, in points.
    pub height: f64,
    /// Charts side by side.
    pub columns: usize,
    /// The names of lines; the look of each follows from its number. The legend leaves out a line without a name.
    pub lines: Vec<String>,
    /// The charts.
    pub panels: Vec<Panel>,
    /// Below them, smaller.
    pub notes: Vec<String>,
}

/// How lines of a legend are shown.
enum Entry<'a> {
    Line(usize, &'a str),
    Printed,
}

impl Figure {
    /// An empty figure for a paper, so many inches wide: 3.33 is a column, 7 a page.
    #[must_use]
    pub fn paper(inches: f64) -> Self {
        let width = inches * 72.0;
        Self {
            title: String::new(),
            width,
            font: if inches < 5.0 { 7.0 } else { 9.0 },
            height: (width * 0.5).min(230.0),
            columns: 1,
            lines: Vec::new(),
            panels: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The drawing; `None` if no chart has a point.
    #[must_use]
    pub fn draw(&self) -> Option<Drawing> {
        let empty = |panel: &&Panel| panel.series.iter().all(|s| s.points.iter().all(Option::is_none));
        let panels: Vec<&Panel> = self.panels.iter().filter(|panel| !empty(panel)).collect();
        if panels.is_empty() {
            return None;
        }
        let mut drawing =
            Drawing { width: self.width, height: 0.0, title: self.title.clone(), marks: Vec::new() };
        let mut y = self.legend(&mut drawing, &panels);
        let columns = self.columns.max(1);
        let wide = self.width / columns as f64;
        for row in panels.chunks(columns) {
            let mut end = y;
            for (i, panel) in row.iter().enumerate() {
                let corner = (wide * i as f64 + self.font * 0.4, y);
                let frame = panel.frame(corner, wide - self.font * 0.4, self.height, self.font);
                frame.draw(&mut drawing);
                end = end.max(frame.end());
            }
            y = end;
        }
        let small = self.font * 0.85;
        for note in &self.notes {
            for line in wrap(note, small, self.width - self.font) {
                drawing.text(line, (self.font * 0.5, y + small), Anchor::Start, small);
                y += small * LINE;
            }
        }
        drawing.height = y + self.font * 0.4;
        Some(drawing)
    }

    /// Draws the legend; gives where it ends.
    fn legend(&self, drawing: &mut Drawing, panels: &[&Panel]) -> f64 {
        let shown = |line: usize| panels.iter().any(|panel| panel.series.iter().any(|s| s.line == line));
        let named = self.lines.iter().enumerate().filter(|(line, name)| shown(*line) && !name.is_empty());
        let mut entries: Vec<Entry<'_>> = named.map(|(line, name)| Entry::Line(line, name)).collect();
        if panels.iter().any(|panel| panel.has_printed()) {
            entries.push(Entry::Printed);
        }
        let bars = panels.iter().all(|panel| panel.kind == Kind::Bars);
        let symbol = self.font * if bars { 1.2 } else { 2.4 };
        let (start, font) = (self.font * 0.6, self.font);
        let (mut x, mut y) = (start, font * 0.9);
        for entry in &entries {
            let name = match entry {
                Entry::Line(_, name) => name,
                Entry::Printed => "printed in the paper",
            };
            let long = symbol + font * 0.4 + width(name, font);
            if x > start && x + long > self.width - start {
                (x, y) = (start, y + font * 1.4);
            }
            self.symbol(drawing, entry, (x, y), symbol, bars);
            drawing.text(name, (x + symbol + font * 0.4, y + font * 0.36), Anchor::Start, font);
            x += long + font * 1.2;
        }
        if entries.is_empty() { 0.0 } else { y + font * 0.9 }
    }

    fn symbol(&self, drawing: &mut Drawing, entry: &Entry<'_>, (x, y): (f64, f64), long: f64, bars: bool) {
        let bare = self.panels.iter().all(|panel| panel.bare);
        let (middle, radius) = ((x + long / 2.0, y), if bare { 0.0 } else { self.font * 0.3 });
        match *entry {
            Entry::Line(line, _) => {
                if bars {
                    let half = self.font * 0.45;
                    let corners = [(x, y - half), (x + long, y - half), (x + long, y + half), (x, y + half)];
                    drawing.shape(&corners, Fill { paint: paint(line), opacity: 1.0 });
                } else {
                    drawing.line(&[(x, y), (x + long, y)], stroke(line, self.font * 0.15));
                }
                drawing.marker(look(line).marker, middle, radius, paint(line), true);
            }
            Entry::Printed if bars => {
                drawing.line(&[(x, y), (x + long, y)], Stroke::solid(Paint::Ink, self.font * 0.17));
            }
            Entry::Printed => {
                drawing.line(&[(x, y), (x + long, y)], Stroke::solid(Paint::Ink, self.font * 0.07));
                drawing.marker(Marker::Disc, middle, radius, Paint::Ink, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::{Mark, Step, Text};
    use crate::panel::{Place, Point, Series};
    use crate::svg::Theme;

    fn lines(middles: &[Option<f64>]) -> Figure {
        let point = |middle| Point { middle: Some(middle), ..Point::default() };
        let panel = Panel {
            x_label: "topology.wan.rtt (ms)".to_owned(),
            places: (1..=middles.len()).map(|at| Place::number(at as f64)).collect(),
            y_label: "fct.inter.p99 (ms)".to_owned(),
            series: vec![Series { line: 0, points: middles.iter().map(|m| m.map(point)).collect() }],
            ..Panel::default()
        };
        Figure { lines: vec!["uno".to_owned()], panels: vec![panel], ..Figure::paper(3.33) }
    }

    fn texts(drawing: &Drawing) -> Vec<&Text> {
        drawing
            .marks
            .iter()
            .filter_map(|mark| if let Mark::Text(text) = mark { Some(text) } else { None })
            .collect()
    }

    /// Left, top, right and bottom of a text.
    fn bounds(text: &Text) -> [f64; 4] {
        let (long, (x, y)) = (width(&text.text, text.size), text.at);
        let start = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => long / 2.0,
            Anchor::End => long,
        };
        let (up, down) = (text.size * 0.72, text.size * 0.2);
        if text.upright {
            [x - up, y - (long - start), x + down, y + start]
        } else {
            [x - start, y - up, x - start + long, y + down]
        }
    }

    /// Every text stands within the drawing, and on no other.
    fn assert_apart(drawing: &Drawing, what: &str) {
        let boxes: Vec<_> = texts(drawing).into_iter().map(|text| (&text.text, bounds(text))).collect();
        for (i, (text, [left, top, right, bottom])) in boxes.iter().enumerate() {
            let inside = *left >= 0.0 && *top >= 0.0 && *right <= drawing.width && *bottom <= drawing.height;
            assert!(inside, "{text} leaves {what}: {left} {top} {right} {bottom}");
            for (other, [l, t, r, b]) in &boxes[..i] {
                let apart = right <= l || r <= left || bottom <= t || b <= top;
                assert!(apart, "{text} stands on {other}, of {what}");
            }
        }
    }

    /// How often the line of so many points is drawn in the colour of the first.
    fn runs(drawing: &Drawing, points: usize) -> usize {
        let of = |mark: &&Mark| {
            matches!(mark, Mark::Path { steps, stroke: Some(stroke), fill: None }
            if steps.len() == points && stroke.paint == paint(0) && steps.iter().all(|s| matches!(s, Step::Move(_) | Step::Line(_))))
        };
        drawing.marks.iter().filter(of).count()
    }

    #[test]
    fn a_line_breaks_at_what_is_infinite_and_goes_on_over_what_is_missing() {
        let whole = lines(&[Some(1.0), None, Some(2.0)]).draw().unwrap();
        // Both are lines of two points: the legend's and the chart's.
        assert_eq!(runs(&whole, 2), 1 + 1);
        assert!(!texts(&whole).iter().any(|text| text.text == "∞"));
        let broken = lines(&[Some(1.0), Some(f64::INFINITY), Some(2.0)]).draw().unwrap();
        assert_eq!(runs(&broken, 2), 1);
        assert_eq!(texts(&broken).iter().filter(|text| text.text == "∞").count(), 1);
        let marker = |drawing: &Drawing| {
            drawing.marks.iter().filter(|m| matches!(m, Mark::Path { fill: Some(_), .. })).count()
        };
        assert_eq!((marker(&whole), marker(&broken)), (1 + 2, 1 + 3));
        assert!(lines(&[None, None]).draw().is_none());
        assert!(lines(&[Some(f64::INFINITY)]).draw().is_some());
    }

    #[test]
    fn a_range_is_a_band_along_a_line_and_a_bar_where_a_point_stands_alone() {
        let mut figure = lines(&[Some(1.0), Some(2.0)]);
        let range = |figure: &mut Figure, i: usize| {
            let point = figure.panels[0].series[0].points[i].as_mut().unwrap();
            (point.low, point.high) = (Some(0.5), Some(3.0));
        };
        let opaque =
            |figure: &Figure, part: &str| figure.draw().unwrap().svg(Theme::Print).matches(part).count();
        range(&mut figure, 0);
        assert_eq!((opaque(&figure, "fill-opacity:0.15"), opaque(&figure, "stroke-opacity:0.5")), (0, 1));
        range(&mut figure, 1);
        assert_eq!((opaque(&figure, "fill-opacity:0.15"), opaque(&figure, "stroke-opacity:0.5")), (1, 0));
    }

    #[test]
    fn an_axis_may_begin_above_0_and_a_bare_line_without_a_name_is_only_a_line() {
        let mut figure = lines(&[Some(91.0), Some(99.0)]);
        figure.panels[0] =
            Panel { y_from: Some(90.0), bare: true, events: vec![1], ..figure.panels[0].clone() };
        figure.lines[0].clear();
        let svg = figure.draw().unwrap().svg(Theme::Print);
        assert!(svg.contains(">90</text>") && !svg.contains(">80</text>"));
        assert_eq!(["#0072b2", "dasharray"].map(|part| svg.matches(part).count()), [1, 1], "line and event");
    }

    #[test]
    fn a_papers_number_is_an_empty_marker_that_the_legend_names() {
        let mut figure = lines(&[Some(1.0), Some(2.0)]);
        let named =
            |figure: &Figure| figure.draw().unwrap().svg(Theme::Print).contains("printed in the paper");
        assert!(!named(&figure));
        figure.panels[0].series[0].points[0].as_mut().unwrap().printed = Some(1.5);
        assert!(named(&figure));
    }

    #[test]
    fn a_line_without_a_bar_at_a_place_takes_no_room_there() {
        let mut figure = lines(&[Some(1.0), Some(1.0)]);
        let panel = &mut figure.panels[0];
        panel.kind = Kind::Bars;
        let bar = |figure: &Figure| {
            let svg = figure.draw().unwrap().svg(Theme::Print);
            svg.lines()
                .filter(|line| line.ends_with("style=\"fill:#0072b2\"/>"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let mut none = panel.series[0].clone();
        (none.line, none.points) = (1, vec![None, None]);
        let alone = bar(&figure);
        figure.panels[0].series.push(none);
        assert_eq!(bar(&figure)[1..], alone[1..]);
        assert_eq!(alone.len(), 1 + 2, "the legend's, and two bars");
    }

    #[test]
    fn no_text_leaves_the_figure_or_stands_on_another() {
        let names = ["9 short, 100 Gb/s", "intra, profile paper", "8+2", "phantom queues drain at 0.952"];
        for kind in [Kind::Lines, Kind::Bars] {
            for (count, high) in
                (1..14).flat_map(|n| [0.3, 7.0, 12_345.0, f64::INFINITY].map(|high| (n, high)))
            {
                let place =
                    |i: usize| Place { label: format!("{} {i}", names[i % 4]), at: Some(f64::from(1 << i)) };
                let point =
                    |i: usize| Some(Point { middle: Some(high / (i + 1) as f64), ..Point::default() });
                let series = |line| Series { line, points: (0..count).map(|i| point(i + line)).collect() };
                let panel = Panel {
                    title: "p99 FCT over ideal".to_owned(),
                    kind,
                    x_label: "gap".to_owned(),
                    places: (0..count).map(place).collect(),
                    y_label: "fct (ms)".to_owned(),
                    series: (0..9).map(series).collect(),
                    ..Panel::default()
                };
                let figure = Figure {
                    columns: 2,
                    lines: (0..9).map(|i| format!("scheme number {i}")).collect(),
                    panels: vec![panel.clone(), panel],
                    notes: vec!["median over 6 seeds; band: its 95% interval".to_owned()],
                    ..Figure::paper(7.0)
                };
                assert_apart(&figure.draw().unwrap(), &format!("{count} {kind:?} up to {high}"));
            }
        }
    }

    #[test]
    fn long_texts_are_wrapped_and_stand_within_the_figure() {
        let long =
            "the mean completion time of flows between sites, as a share of what it would be without others";
        for text in [long, &"m".repeat(100), "topology.link[\"west-border->north-border#0\"].delay (ms)"] {
            for inches in [2.0, 3.33, 7.0] {
                let mut figure = Figure { width: inches * 72.0, ..lines(&[Some(1.0), Some(f64::INFINITY)]) };
                figure.height = Figure::paper(inches).height;
                let panel = &mut figure.panels[0];
                for label in [&mut panel.title, &mut panel.x_label, &mut panel.y_label] {
                    *label = text.to_owned();
                }
                assert_apart(&figure.draw().unwrap(), &format!("{inches} inches"));
            }
        }
    }

    #[test]
    fn both_formats_say_the_same_and_pdf_has_the_font() {
        let drawing = lines(&[Some(1.0), Some(2.0)]).draw().unwrap();
        let (svg, pdf) = (drawing.svg(Theme::Print), drawing.pdf());
        let has = |part: &[u8]| pdf.windows(part.len()).filter(|bytes| *bytes == part).count();
        assert_eq!((has(b"/FontFile2"), has(b"/ToUnicode")), (1, 1));
        assert_eq!(svg.matches("<text ").count(), has(b" Tj"));
        assert_eq!(svg.matches("<path ").count(), has(b"\nq\n") + 1, "a path each, and SVG's ground");
        assert!(svg.contains("width=\"239.76pt\"") && has(b"/MediaBox [0 0 239.76") == 1);
    }

    #[test]
    fn a_page_for_screens_is_light_or_dark_and_black_lines_follow_it() {
        let mut figure = lines(&[Some(1.0), Some(2.0)]);
        figure.lines = vec![String::new(); 7];
        figure.panels[0].series[0].line = 6;
        let drawing = figure.draw().unwrap();
        let screen = drawing.svg(Theme::Screen);
        assert!(screen.contains("prefers-color-scheme:dark") && !screen.contains("#000000"));
        assert!(drawing.svg(Theme::Print).contains("stroke:#000000"));
    }
}
