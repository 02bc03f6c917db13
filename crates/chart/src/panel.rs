//! One chart: lines over an axis with bands, or bars.

use crate::drawing::{Anchor, At, Drawing, Fill, Mark, Paint, Stroke, Text};
use crate::font::{width, wrap_all};
use crate::labels::{LINE, Labels};
use crate::scale::{Scale, plain, spans_a_decade, wants_log};
use crate::style::{INK, look};
use serde::{Deserialize, Deserializer};

/// The marks of a chart.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Points joined by lines, over an axis of numbers if every place has one.
    #[default]
    Lines,
    /// Bars side by side at each place.
    Bars,
}

/// A place on the axis.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Its name below the axis.
    pub label: String,
    /// Its number.
    pub at: Option<f64>,
}

impl Place {
    /// The place of a number, which is its name.
    #[must_use]
    pub fn number(at: f64) -> Self {
        Self { label: plain(at), at: Some(at) }
    }
}

/// A point of a line, or a bar.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Point {
    /// The number; infinite is shown above the axis, and is `null` in JSON. `None` if nothing was measured.
    #[serde(deserialize_with = "or_infinite")]
    pub middle: Option<f64>,
    /// The lower end of its range; may be infinite, too.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// A paper's number, beside ours.
    pub printed: Option<f64>,
}

/// A number of JSON, which has no infinity: `null` stands for it, as `serde_json` writes it.
fn or_infinite<'a, D: Deserializer<'a>>(source: D) -> Result<Option<f64>, D::Error> {
    Ok(Some(Option::deserialize(source)?.unwrap_or(f64::INFINITY)))
}

/// The points of a line.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Which of the figure's lines.
    pub line: usize,
    /// A point for each place.
    pub points: Vec<Option<Point>>,
}

/// One chart.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Panel {
    /// Above it; may be empty.
    pub title: String,
    /// Its marks.
    pub kind: Kind,
    /// Without a marker at each point: for lines of many points.
    pub bare: bool,
    /// Below the axis; may be empty.
    pub x_label: String,
    /// Whether the axis is logarithmic; `None` chooses (see [`wants_log`]).
    pub x_log: Option<bool>,
    /// The places, in rising order if they have numbers.
    pub places: Vec<Place>,
    /// Places with a dashed line across the chart, by their index.
    pub events: Vec<usize>,
    /// Beside the axis of values; may be empty.
    pub y_label: String,
    /// Whether the axis of values is logarithmic; `None`: if they span more than a decade.
    pub y_log: Option<bool>,
    /// Where a linear axis of values begins; `None`: at 0, or at the lowest value below 0.
    pub y_from: Option<f64>,
    /// The lines.
    pub series: Vec<Series>,
}

/// Where a chart's parts are, in points.
pub(crate) struct Frame<'a> {
    panel: &'a Panel,
    font: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    /// Where infinite values are, if there are any.
    infinite: Option<f64>,
    y: Scale,
    /// Where the places are.
    places: Vec<f64>,
    labels: Labels,
    title: Vec<String>,
    x_label: Vec<String>,
    y_label: Vec<String>,
    /// The widest tick.
    ticks: f64,
}

/// The colour of a line, which is that of text if it is black.
pub(crate) fn paint(line: usize) -> Paint {
    let colour = look(line).colour;
    if colour == INK { Paint::Ink } else { Paint::Colour(colour) }
}

/// The line of this number.
pub(crate) fn stroke(line: usize, width: f64) -> Stroke {
    let dashes = look(line).dashes.iter().map(|dash| dash * width).collect();
    Stroke { dashes, ..Stroke::solid(paint(line), width) }
}

/// The size of a chart's title, in that of its text.
const TITLE: f64 = 1.1;

/// The room of some lines, the first of which takes `one`.
fn room_of(lines: &[String], one: f64, size: f64) -> f64 {
    if lines.is_empty() { 0.0 } else { one + size * LINE * (lines.len() - 1) as f64 }
}

impl Panel {
    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| series.points.iter().flatten())
    }

    /// Whether a point has a paper's number.
    pub(crate) fn has_printed(&self) -> bool {
        self.points().any(|point| point.printed.is_some())
    }

    /// Every number that the axis of values must reach.
    fn values(&self) -> Vec<f64> {
        self.points().flat_map(|point| [point.middle, point.high, point.printed]).flatten().collect()
    }

    fn y_scale(&self, most: usize) -> Scale {
        let values = self.values();
        let log = self.y_log.unwrap_or_else(|| spans_a_decade(&values));
        let low = self.points().filter_map(|point| point.low);
        let all: Vec<f64> = values.iter().copied().chain(low.filter(|_| log)).collect();
        if let Some(low) = self.y_from.filter(|_| !log) {
            let high = all.into_iter().filter(|value| value.is_finite()).fold(low, f64::max);
            return Scale::linear(low, high, most);
        }
        // Where every value is infinite, there is an axis all the same.
        Scale::of(&all, log, most).unwrap_or_else(|| Scale::linear(0.0, 1.0, most))
    }

    /// The places' numbers, if all have one.
    fn numbers(&self) -> Option<Vec<f64>> {
        self.places.iter().map(|place| place.at).collect()
    }

    /// Lays the chart out below `corner`, so wide, its marks so high.
    pub(crate) fn frame(&self, corner: At, wide: f64, high: f64, font: f64) -> Frame<'_> {
        let most = (high / (font * 2.2)).max(2.0) as usize;
        let y = self.y_scale(most);
        let ticks = y.ticks(most).into_iter().map(|tick| width(&plain(tick), font)).fold(0.0, f64::max);
        let y_label = wrap_all(&self.y_label, font, high);
        let label = room_of(&y_label, font * 1.5, font);
        let any_infinite = self.points().any(|point| point.middle == Some(f64::INFINITY));
        let strip = if any_infinite { font * 1.4 } else { 0.0 };
        let (left, right) = (corner.0 + label + ticks + font * 0.8, corner.0 + wide - font * 0.8);
        let ends = (corner.0, corner.0 + wide);
        let title = wrap_all(&self.title, font * TITLE, ends.1 - left);
        let above = room_of(&title, font * 2.0, font * TITLE).max(font * 0.5);
        let top = corner.1 + above + strip;
        let infinite = any_infinite.then_some(top - strip + font * 0.4);
        let (places, labels) = self.place((left, right), ends, font);
        let middle = (left + right) / 2.0;
        let x_label = wrap_all(&self.x_label, font, 2.0 * (middle - ends.0).min(ends.1 - middle));
        let bottom = top + high;
        Frame {
            panel: self,
            font,
            left,
            right,
            top,
            bottom,
            infinite,
            y,
            places,
            labels,
            title,
            x_label,
            y_label,
            ticks,
        }
    }

    /// Where the places are on the axis, and their names, which stay within `ends`.
    fn place(&self, (left, right): At, ends: At, font: f64) -> (Vec<f64>, Labels) {
        let named = |places: &[f64]| -> Vec<(f64, String)> {
            places.iter().copied().zip(self.places.iter().map(|place| place.label.clone())).collect()
        };
        let numbers = self.numbers().filter(|_| self.kind == Kind::Lines);
        let Some(numbers) = numbers else {
            let slot = (right - left) / self.places.len().max(1) as f64;
            let places: Vec<f64> = (0..self.places.len()).map(|i| left + slot * (i as f64 + 0.5)).collect();
            let labels = Labels::fit(&named(&places), ends, font);
            return (places, labels);
        };
        let log = self.x_log.unwrap_or_else(|| wants_log(&numbers));
        let inner = (left + font, right - font);
        let scale = Scale::within(&numbers, log);
        let at = |value: f64| {
            let share = scale.map_or(0.5, |scale| scale.share(value));
            inner.0 + share * (inner.1 - inner.0)
        };
        let places: Vec<f64> = numbers.iter().map(|value| at(*value)).collect();
        let plainly = self.places.iter().zip(&numbers).all(|(place, at)| place.label == plain(*at));
        let straight = Labels::straight(&named(&places), ends, font);
        let labels = straight.unwrap_or_else(|| match scale.filter(|_| plainly) {
            // Round numbers in place of each one's own.
            Some(scale) => {
                let most = ((inner.1 - inner.0) / (font * 3.5)) as usize;
                let ticks = scale.ticks(most).into_iter().map(|tick| (at(tick), plain(tick)));
                Labels::fit(&ticks.collect::<Vec<_>>(), ends, font)
            }
            None => Labels::fit(&named(&places), ends, font),
        });
        (places, labels)
    }
}

impl Frame<'_> {
    /// Where it ends, below.
    pub(crate) fn end(&self) -> f64 {
        self.bottom + self.font * (0.4 + LINE * self.x_label.len() as f64 + 0.5) + self.labels.height()
    }

    fn y(&self, value: f64) -> f64 {
        match self.infinite {
            Some(infinite) if value == f64::INFINITY => infinite,
            _ => self.bottom - self.y.share(value) * (self.bottom - self.top),
        }
    }

    fn line_width(&self) -> f64 {
        self.font * 0.15
    }

    fn radius(&self) -> f64 {
        if self.panel.bare { 0.0 } else { self.font * 0.3 }
    }

    pub(crate) fn draw(&self, drawing: &mut Drawing) {
        self.axes(drawing);
        match self.panel.kind {
            Kind::Bars => self.bars(drawing),
            Kind::Lines => self.lines(drawing),
        }
        self.labels.draw(drawing, self.bottom + self.font * 0.4);
    }

    fn axes(&self, drawing: &mut Drawing) {
        let font = self.font;
        let most = ((self.bottom - self.top) / (font * 2.2)).max(2.0) as usize;
        let grid = Stroke::solid(Paint::Soft, font * 0.06);
        let mut tick = |y: f64, text: String, stroke: Stroke| {
            drawing.line(&[(self.left, y), (self.right, y)], stroke);
            drawing.text(text, (self.left - font * 0.4, y + font * 0.36), Anchor::End, font);
        };
        for value in self.y.ticks(most) {
            tick(self.y(value), plain(value), grid.clone());
        }
        if let Some(y) = self.infinite {
            tick(y, "∞".to_owned(), Stroke { dashes: vec![font * 0.2, font * 0.2], ..grid });
        }
        let axis = Stroke::solid(Paint::Ink, font * 0.07);
        drawing.line(&[(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)], axis);
        for x in self.panel.events.iter().filter_map(|place| self.places.get(*place)) {
            let dashed = Stroke { dashes: vec![font * 0.3; 2], ..Stroke::solid(Paint::Ink, font * 0.05) };
            drawing.line(&[(*x, self.top), (*x, self.bottom)], dashed);
        }
        self.texts(drawing);
    }

    /// The title, and what the axes are called.
    fn texts(&self, drawing: &mut Drawing) {
        let font = self.font;
        // Lines from the last one up.
        let rising = |lines: &[String]| lines.iter().rev().cloned().enumerate().collect::<Vec<_>>();
        let strip = if self.infinite.is_some() { font * 1.4 } else { 0.0 };
        for (n, line) in rising(&self.title) {
            let y = self.top - strip - font * (0.7 + TITLE * LINE * n as f64);
            drawing.text(line, (self.left, y), Anchor::Start, font * TITLE);
        }
        for (n, line) in rising(&self.x_label) {
            let y = self.end() - font * (0.75 + LINE * n as f64);
            drawing.text(line, ((self.left + self.right) / 2.0, y), Anchor::Middle, font);
        }
        for (n, line) in rising(&self.y_label) {
            let x = self.left - self.ticks - font * (0.9 + LINE * n as f64);
            drawing.marks.push(Mark::Text(Text {
                text: line,
                at: (x, (self.top + self.bottom) / 2.0),
                anchor: Anchor::Middle,
                upright: true,
                size: font,
            }));
        }
    }

    /// Bars stand beside each other around their place. A line without a point there takes no room.
    fn bars(&self, drawing: &mut Drawing) {
        let slot = (self.right - self.left) / self.places.len().max(1) as f64;
        let here = |i: usize| -> Vec<(usize, Point)> {
            let own = |series: &Series| Some((series.line, series.points.get(i).copied().flatten()?));
            self.panel.series.iter().filter_map(own).collect()
        };
        let most = (0..self.places.len()).map(|i| here(i).len()).max().unwrap_or_default();
        let bar = slot * 0.86 / most.max(1) as f64;
        for (i, place) in self.places.iter().enumerate() {
            let bars = here(i);
            let start = place - bar * bars.len() as f64 / 2.0;
            for (n, (line, point)) in bars.into_iter().enumerate() {
                self.bar(drawing, &point, (start + bar * (n as f64 + 0.05), bar * 0.9), line);
            }
        }
    }

    fn bar(&self, drawing: &mut Drawing, point: &Point, (x, wide): (f64, f64), line: usize) {
        let (base, middle) = (self.y(0.0), x + wide / 2.0);
        if let Some(value) = point.middle {
            let (y, opacity) = (self.y(value), if value.is_finite() { 1.0 } else { 0.3 });
            let corners = [(x, base), (x, y), (x + wide, y), (x + wide, base)];
            drawing.shape(&corners, Fill { paint: paint(line), opacity });
            if let (Some(low), Some(high)) = (point.low, point.high) {
                let range = Stroke { opacity: 0.6, ..Stroke::solid(Paint::Ink, self.font * 0.09) };
                drawing.line(&[(middle, self.y(low)), (middle, self.y(high))], range);
            }
            // Its scheme's sign tells bars apart where colours come round again, and in print.
            drawing.marker(look(line).marker, (middle, y), self.radius().min(wide * 0.42), paint(line), true);
        }
        if let Some(printed) = point.printed {
            let y = self.y(printed);
            drawing.line(&[(x, y), (x + wide, y)], Stroke::solid(Paint::Ink, self.font * 0.17));
        }
    }

    fn lines(&self, drawing: &mut Drawing) {
        for series in &self.panel.series {
            self.bands(drawing, series);
        }
        for series in &self.panel.series {
            self.series(drawing, series);
        }
    }

    /// The ranges: a band along a line, and a bar where a point stands alone.
    fn bands(&self, drawing: &mut Drawing, series: &Series) {
        let range = |(point, x): (&Option<Point>, &f64)| {
            let point = point.as_ref()?;
            let (middle, low, high) = (point.middle?, point.low?, point.high?);
            Some((*x, self.y(low), self.y(high), middle.is_finite()))
        };
        let ranges: Vec<(f64, f64, f64, bool)> =
            series.points.iter().zip(&self.places).filter_map(range).collect();
        for run in ranges.split(|(.., finite)| !finite) {
            if let [(x, low, high, _)] = run[..] {
                let bar = Stroke { opacity: 0.5, ..Stroke::solid(paint(series.line), self.line_width()) };
                drawing.line(&[(x, low), (x, high)], bar);
            } else if !run.is_empty() {
                let above = run.iter().map(|(x, _, high, _)| (*x, *high));
                let below = run.iter().rev().map(|(x, low, ..)| (*x, *low));
                let fill = Fill { paint: paint(series.line), opacity: 0.15 };
                drawing.shape(&above.chain(below).collect::<Vec<_>>(), fill);
            }
        }
    }

    /// A line and its markers. It breaks where a number is infinite, and goes on over places where none was measured.
    fn series(&self, drawing: &mut Drawing, series: &Series) {
        let values = |of: fn(&Point) -> Option<f64>| -> Vec<(At, bool)> {
            let at = |(point, x): (&Option<Point>, &f64)| {
                let value = of(point.as_ref()?)?;
                Some(((*x, self.y(value)), value.is_finite()))
            };
            series.points.iter().zip(&self.places).filter_map(at).collect()
        };
        let marker = look(series.line).marker;
        let thin = Stroke { opacity: 0.6, ..stroke(series.line, self.line_width() * 0.5) };
        let thick = stroke(series.line, self.line_width());
        let (printed, ours) = (values(|point| point.printed), values(|point| point.middle));
        for (points, stroke) in [(&printed, thin), (&ours, thick)] {
            for run in points.split(|(_, finite)| !finite).filter(|run| run.len() > 1) {
                drawing.line(&run.iter().map(|(at, _)| *at).collect::<Vec<_>>(), stroke.clone());
            }
        }
        for (points, full) in [(printed, false), (ours, true)] {
            for (at, _) in points {
                drawing.marker(marker, at, self.radius(), paint(series.line), full);
            }
        }
    }
}
