//! A drawing as SVG. Text stays text.

use crate::drawing::{Anchor, At, Drawing, Fill, Mark, Paint, Step, Stroke, Text};
use crate::font::FAMILIES;
use crate::style::INK;
use std::fmt::Write as _;

/// For what a drawing is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theme {
    /// Paper: black on white.
    Print,
    /// A page that is light or dark as the reader's screen, and as wide as there is room.
    Screen,
}

const STYLE: &str = "svg{--ink:#24292f;--soft:#d0d7de;--ground:#fff}\
@media(prefers-color-scheme:dark){svg{--ink:#e6edf3;--soft:#343c45;--ground:#0d1117}}text{fill:var(--ink)}";

impl Drawing {
    /// The drawing as an SVG document. Its text is selectable, in a font that readers have: Arimo, Liberation Sans, Arial
    /// or Helvetica, which have one metric.
    #[must_use]
    pub fn svg(&self, theme: Theme) -> String {
        let (width, height) = (number(self.width), number(self.height));
        let size = match theme {
            Theme::Print => format!(" width=\"{width}pt\" height=\"{height}pt\""),
            Theme::Screen => String::new(),
        };
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"{size} viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILIES}\">\n\
             <title>{}</title>\n",
            escape(&self.title)
        );
        if theme == Theme::Screen {
            writeln!(text, "<style>{STYLE}</style>").expect("text can be written to");
        }
        let ground = colour(Paint::Ground, theme);
        writeln!(text, "<path d=\"M0 0H{width}V{height}H0z\" style=\"fill:{ground}\"/>")
            .expect("text can be written to");
        for mark in &self.marks {
            text += &match mark {
                Mark::Path { steps, stroke, fill } => path(steps, stroke.as_ref(), *fill, theme),
                Mark::Text(text) => line(text),
            };
            text.push('\n');
        }
        text + "</svg>\n"
    }
}

const fn colour(paint: Paint, theme: Theme) -> &'static str {
    match (paint, theme) {
        (Paint::Ink, Theme::Print) => INK,
        (Paint::Soft, Theme::Print) => "#dddddd",
        (Paint::Ground, Theme::Print) => "#ffffff",
        (Paint::Ink, Theme::Screen) => "var(--ink)",
        (Paint::Soft, Theme::Screen) => "var(--soft)",
        (Paint::Ground, Theme::Screen) => "var(--ground)",
        (Paint::Colour(colour), _) => colour,
    }
}

fn path(steps: &[Step], stroke: Option<&Stroke>, fill: Option<Fill>, theme: Theme) -> String {
    let point = |(x, y): &At| format!("{} {}", number(*x), number(*y));
    let mut d = String::new();
    for step in steps {
        d += &match step {
            Step::Move(to) => format!("M{}", point(to)),
            Step::Line(to) => format!("L{}", point(to)),
            Step::Curve(a, b, to) => format!("C{} {} {}", point(a), point(b), point(to)),
            Step::Close => "z".to_owned(),
        };
    }
    let mut style = String::new();
    match fill {
        None => style += "fill:none",
        Some(Fill { paint, opacity }) => {
            style += &format!("fill:{}", colour(paint, theme));
            if opacity < 1.0 {
                style += &format!(";fill-opacity:{}", number(opacity));
            }
        }
    }
    if let Some(Stroke { paint, width, dashes, opacity }) = stroke {
        style += &format!(";stroke:{};stroke-width:{}", colour(*paint, theme), number(*width));
        if !dashes.is_empty() {
            let dashes: Vec<String> = dashes.iter().map(|dash| number(*dash)).collect();
            style += &format!(";stroke-dasharray:{}", dashes.join(" "));
        }
        if *opacity < 1.0 {
            style += &format!(";stroke-opacity:{}", number(*opacity));
        }
    }
    format!("<path d=\"{d}\" style=\"{style}\"/>")
}

fn line(text: &Text) -> String {
    let (x, y) = (number(text.at.0), number(text.at.1));
    let place = if text.upright {
        format!("transform=\"translate({x} {y})rotate(-90)\"")
    } else {
        format!("x=\"{x}\" y=\"{y}\"")
    };
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    format!("<text {place}{anchor} font-size=\"{}\">{}</text>", number(text.size), escape(&text.text))
}

/// A hundredth of a point is finer than any printer.
fn number(x: f64) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
