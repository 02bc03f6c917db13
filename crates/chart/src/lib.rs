//! Draws charts: lines with bands over an axis, and bars. One drawing gives both SVG and PDF.
//!
//! ```
//! use farspan_chart::{Figure, Kind, Panel, Place, Point, Series, Theme};
//!
//! let point = |middle| Some(Point { middle: Some(middle), ..Point::default() });
//! let panel = Panel {
//!     kind: Kind::Lines,
//!     x_label: "topology.wan.rtt (ms)".to_owned(),
//!     places: [1.0, 2.0, 20.0].map(Place::number).to_vec(),
//!     series: vec![Series { line: 0, points: vec![point(3.0), point(4.5), point(f64::INFINITY)] }],
//!     ..Panel::default()
//! };
//! let figure = Figure { lines: vec!["uno".to_owned()], panels: vec![panel], ..Figure::paper(3.33) };
//! let drawing = figure.draw().expect("there is something to draw");
//! assert!(drawing.svg(Theme::Print).contains("topology.wan.rtt (ms)"));
//! assert!(drawing.pdf().starts_with(b"%PDF"));
//! ```
#![forbid(unsafe_code)]

mod drawing;
mod figure;
mod font;
mod labels;
mod panel;
mod pdf;
mod scale;
mod style;
mod svg;

pub use drawing::Drawing;
pub use figure::Figure;
pub use font::lacks;
pub use panel::{Kind, Panel, Place, Point, Series};
pub use scale::{plain, spans_a_decade, wants_log};
pub use style::{Look, Marker, look};
pub use svg::Theme;
