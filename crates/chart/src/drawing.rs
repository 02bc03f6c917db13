//! A drawing: paths and texts, which SVG and PDF both have.

use crate::style::Marker;

/// A point: to the right, and down, in points (1/72 inch).
pub(crate) type At = (f64, f64);

/// A colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paint {
    /// That of text and axes.
    Ink,
    /// That of quiet lines.
    Soft,
    /// That of the page.
    Ground,
    /// One as `#rrggbb`.
    Colour(&'static str),
}

/// A step of a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Step {
    /// Goes on elsewhere.
    Move(At),
    /// A straight line.
    Line(At),
    /// A Bézier curve: two control points and its end.
    Curve(At, At, At),
    /// Back to where it began.
    Close,
}

/// How a path's line is drawn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Stroke {
    pub(crate) paint: Paint,
    pub(crate) width: f64,
    /// In points; none is solid.
    pub(crate) dashes: Vec<f64>,
    /// From 0 to 1.
    pub(crate) opacity: f64,
}

impl Stroke {
    pub(crate) const fn solid(paint: Paint, width: f64) -> Self {
        Self { paint, width, dashes: Vec::new(), opacity: 1.0 }
    }
}

/// The area within a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fill {
    pub(crate) paint: Paint,
    /// From 0 to 1.
    pub(crate) opacity: f64,
}

/// Where a text stands beside its point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// A line of text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// On its base line.
    pub(crate) at: At,
    pub(crate) anchor: Anchor,
    /// Whether it runs upwards.
    pub(crate) upright: bool,
    pub(crate) size: f64,
}

/// A part of a drawing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Mark {
    Path { steps: Vec<Step>, stroke: Option<Stroke>, fill: Option<Fill> },
    Text(Text),
}

/// Marks from the back to the front. [`Drawing::svg`] and [`Drawing::pdf`] write the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawing {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// In a few words, for readers who do not see it.
    pub(crate) title: String,
    pub(crate) marks: Vec<Mark>,
}

impl Drawing {
    pub(crate) fn line(&mut self, points: &[At], stroke: Stroke) {
        let mut steps: Vec<Step> = points.iter().copied().map(Step::Line).collect();
        if let Some(first) = steps.first_mut() {
            *first = Step::Move(points[0]);
            self.marks.push(Mark::Path { steps, stroke: Some(stroke), fill: None });
        }
    }

    pub(crate) fn shape(&mut self, points: &[At], fill: Fill) {
        let steps = polygon(points);
        self.marks.push(Mark::Path { steps, stroke: None, fill: Some(fill) });
    }

    pub(crate) fn text(&mut self, text: impl Into<String>, at: At, anchor: Anchor, size: f64) {
        self.marks.push(Mark::Text(Text { text: text.into(), at, anchor, upright: false, size }));
    }

    /// A marker of this radius: full, or empty. A radius of 0 leaves it out.
    pub(crate) fn marker(&mut self, marker: Marker, at: At, radius: f64, paint: Paint, full: bool) {
        let fill = Fill { paint: if full { paint } else { Paint::Ground }, opacity: 1.0 };
        let stroke = Stroke::solid(if full { Paint::Ground } else { paint }, radius * 0.25);
        let steps = outline(marker, at, radius);
        let drawn = Mark::Path { steps, stroke: Some(stroke), fill: Some(fill) };
        self.marks.extend((radius > 0.0).then_some(drawn));
    }
}

fn polygon(points: &[At]) -> Vec<Step> {
    let mut steps: Vec<Step> = points.iter().copied().map(Step::Line).collect();
    if let (Some(step), Some(first)) = (steps.first_mut(), points.first()) {
        *step = Step::Move(*first);
        steps.push(Step::Close);
    }
    steps
}

/// The outline of a marker. All have about the area of a disc.
fn outline(marker: Marker, (x, y): At, radius: f64) -> Vec<Step> {
    let around = |points: &[At], size: f64| {
        let size = size * radius;
        polygon(&points.iter().map(|(a, b)| (x + a * size, y + b * size)).collect::<Vec<_>>())
    };
    let turned = |points: &[At]| -> Vec<At> { points.iter().map(|(a, b)| (a - b, a + b)).collect() };
    const SQUARE: [At; 4] = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)];
    const PLUS: [At; 12] = [
        (-0.4, -1.0),
        (0.4, -1.0),
        (0.4, -0.4),
        (1.0, -0.4),
        (1.0, 0.4),
        (0.4, 0.4),
        (0.4, 1.0),
        (-0.4, 1.0),
        (-0.4, 0.4),
        (-1.0, 0.4),
        (-1.0, -0.4),
        (-0.4, -0.4),
    ];
    match marker {
        Marker::Disc => disc((x, y), radius),
        Marker::Square => around(&SQUARE, 0.88),
        Marker::Diamond => around(&turned(&SQUARE), 0.62),
        Marker::Up => around(&[(0.0, -1.25), (1.1, 0.75), (-1.1, 0.75)], 1.0),
        Marker::Down => around(&[(0.0, 1.25), (1.1, -0.75), (-1.1, -0.75)], 1.0),
        Marker::Plus => around(&PLUS, 1.1),
        Marker::Cross => around(&turned(&PLUS), 0.78),
    }
}

/// A disc of four Bézier curves, whose control points stand off by 4/3 (sqrt(2) - 1) of the radius.
fn disc((x, y): At, r: f64) -> Vec<Step> {
    let c = 0.552_285 * r;
    vec![
        Step::Move((x + r, y)),
        Step::Curve((x + r, y + c), (x + c, y + r), (x, y + r)),
        Step::Curve((x - c, y + r), (x - r, y + c), (x - r, y)),
        Step::Curve((x - r, y - c), (x - c, y - r), (x, y - r)),
        Step::Curve((x + c, y - r), (x + r, y - c), (x + r, y)),
        Step::Close,
    ]
}
