//! `farspan-lab chart`: draws charts whose numbers a script gives.

use farspan_chart::{Figure, Series, Theme};
use farspan_terminal::output;
use std::io;
use thiserror::Error;

/// Why charts cannot be drawn.
#[derive(Error, Debug)]
pub enum ChartError {
    /// Not the JSON of a figure.
    #[error("standard input is not a figure: {0}; docs/chart.py writes one")]
    Json(#[from] serde_json::Error),
    /// A line without a name, or with more or fewer points than places.
    #[error("chart \"{0}\", line {1}: give its name in `lines`, and a point or null for each place")]
    Line(String, usize),
    /// An event at a place that is not there.
    #[error("chart \"{0}\", events: place {1} is not there, give the index of one")]
    Event(String, usize),
    /// Nothing to draw.
    #[error("no chart has a point: give at least one")]
    Empty,
}

/// Draws the figure on standard input as SVG.
pub fn chart() -> Result<(), ChartError> {
    let figure: Figure = serde_json::from_reader(io::stdin().lock())?;
    for panel in &figure.panels {
        if let Some(&event) = panel.events.iter().find(|&&event| event >= panel.places.len()) {
            return Err(ChartError::Event(panel.title.clone(), event));
        }
        let wrong = |s: &&Series| s.line >= figure.lines.len() || s.points.len() != panel.places.len();
        if let Some(series) = panel.series.iter().find(wrong) {
            return Err(ChartError::Line(panel.title.clone(), series.line));
        }
    }
    output::text(&figure.draw().ok_or(ChartError::Empty)?.svg(Theme::Screen));
    Ok(())
}
