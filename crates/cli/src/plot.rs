//! `farspan plot`.

use crate::Failure;
use clap::Args;
use farspan_chart::{Figure, Panel, Place, Point, Series, Theme, lacks};
use farspan_report::{Asked, Over, OverError, heads, over};
use farspan_terminal::output;
use std::path::{Path, PathBuf};

/// Arguments of `plot`.
#[derive(Args, Debug)]
pub struct PlotArgs {
    /// The folder of a sweep, or one that holds folders of runs
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The key on the axis, such as topology.wan.rtt
    #[arg(long, value_name = "PATH")]
    pub x: String,
    /// The number: its place in summary.json, such as fct.inter.p99_us
    #[arg(long, value_name = "FIELD")]
    pub y: String,
    /// The key that has one line per value
    #[arg(long, value_name = "PATH", default_value = "scheme")]
    pub by: String,
    /// Plot only runs with this value of a key; can be given several times
    #[arg(long = "where", value_name = "PATH=VALUE", value_parser = only)]
    pub only: Vec<(String, String)>,
    /// The file to write, as SVG or PDF by its ending [default: an SVG in DIR]
    #[arg(short, long, alias = "out", value_name = "FILE.svg|FILE.pdf")]
    pub output: Option<PathBuf>,
    /// Width in inches: 3.33 fits a paper's column, 7 its page
    #[arg(long, value_name = "INCHES", default_value_t = 3.33, value_parser = inches)]
    pub width: f64,
    /// Label of the x axis, instead of the key and its unit
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub x_label: Option<String>,
    /// Label of the y axis, instead of the number's name and its unit
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub y_label: Option<String>,
    /// Title above the chart [default: none]
    #[arg(long, value_name = "TEXT", value_parser = title)]
    pub title: Option<String>,
    /// Logarithmic axes: x, y or x,y [default: axes whose values span more than a decade; x only if its steps grow]
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    pub log: Vec<Axis>,
    /// Linear axes
    #[arg(long, value_name = "AXES", value_delimiter = ',')]
    pub linear: Vec<Axis>,
}

/// An axis.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Axis {
    /// That of the key.
    X,
    /// That of the number.
    Y,
}

fn only(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(key, value)| (key.trim(), value.trim().trim_matches('"')));
    let named = pair.filter(|(key, value)| !key.is_empty() && !value.is_empty());
    named
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .ok_or_else(|| "write PATH=VALUE, such as topology.buffer=1MiB".to_owned())
}

fn inches(text: &str) -> Result<f64, String> {
    let inches = text.parse::<f64>().ok().filter(|inches| (2.0..=20.0).contains(inches));
    inches.ok_or_else(|| "give inches from 2 to 20: 3.33 fits a paper's column, 7 its page".to_owned())
}

/// The longest texts, in characters: more lines of them would take the chart's room.
const LONGEST_LABEL: usize = 100;
const LONGEST_TITLE: usize = 200;

fn label(text: &str) -> Result<String, String> {
    fitting(text, LONGEST_LABEL)
}

fn title(text: &str) -> Result<String, String> {
    fitting(text, LONGEST_TITLE)
}

/// A text that has room in a figure, and signs in its font.
fn fitting(text: &str, most: usize) -> Result<String, String> {
    let long = text.chars().count();
    match lacks(text) {
        Some(sign) => Err(format!("the font of figures has no {sign:?}; leave it out")),
        None if long > most => Err(format!("{long} characters do not fit; give at most {most}")),
        None => Ok(text.to_owned()),
    }
}

impl From<OverError> for Failure {
    fn from(error: OverError) -> Self {
        Self::BadInput(error.to_string())
    }
}

/// How a figure is written.
#[derive(Clone, Copy)]
enum Format {
    Svg,
    Pdf,
}

/// Draws a number of the runs in a folder over what varies among them.
pub fn plot(args: &PlotArgs) -> Result<(), Failure> {
    let (path, format) = place(args)?;
    if let Some(axis) = args.log.iter().find(|axis| args.linear.contains(axis)) {
        let axis = format!("{axis:?}").to_lowercase();
        return Err(Failure::BadInput(format!(
            "--log {axis} --linear {axis}: an axis is either logarithmic or linear; leave one out"
        )));
    }
    let asked = Asked { x: &args.x, y: &args.y, by: &args.by, only: &args.only };
    let over = over(&heads(&args.folder)?, &asked)?;
    let figure = figure(&over, args)?;
    let drawing = figure.draw().expect("there is a number at least");
    let bytes = match format {
        Format::Svg => drawing.svg(Theme::Print).into_bytes(),
        Format::Pdf => drawing.pdf(),
    };
    farspan_files::write(&path, &bytes).map_err(|error| {
        Failure::Failed(format!("{}: cannot be written ({error}); choose another -o", path.display()))
    })?;
    output::text(&format!("wrote {}\n", path.display()));
    Ok(())
}

fn place(args: &PlotArgs) -> Result<(PathBuf, Format), Failure> {
    let Some(path) = &args.output else {
        let sign = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
        let name: String = format!("plot-{}-over-{}.svg", args.y, args.x).chars().map(sign).collect();
        return Ok((args.folder.join(name), Format::Svg));
    };
    let format = match path.extension().and_then(|end| end.to_str()) {
        Some("svg") => Format::Svg,
        Some("pdf") => Format::Pdf,
        _ => return Err(Failure::BadInput(ending(path))),
    };
    Ok((path.clone(), format))
}

fn ending(path: &Path) -> String {
    format!("-o {}: the file's ending chooses the format; write FILE.svg or FILE.pdf", path.display())
}

/// The figure of a number over an axis.
fn figure(over: &Over, args: &PlotArgs) -> Result<Figure, Failure> {
    let chosen = |axis: Axis| {
        let log = args.log.contains(&axis).then_some(true);
        log.or_else(|| args.linear.contains(&axis).then_some(false))
    };
    let (x_log, y_log) = (chosen(Axis::X), chosen(Axis::Y));
    let above_zero = |number: &Option<f64>| number.is_some_and(|number| number > 0.0);
    if x_log == Some(true) && !over.places.iter().all(|place| above_zero(&place.number)) {
        return Err(Failure::BadInput(format!(
            "--log x: some values of {} are not above 0; leave --log x out",
            args.x
        )));
    }
    let drawn = || over.lines.iter().flat_map(|line| line.points.iter().flatten());
    if y_log == Some(true)
        && !drawn().flat_map(|point| [point.median, point.high]).any(|number| above_zero(&number))
    {
        return Err(Failure::BadInput(format!(
            "--log y: no value of {} is above 0; leave --log y out",
            args.y
        )));
    }
    let infinite = |number: Option<f64>| Some(number.unwrap_or(f64::INFINITY));
    let point = |point: &farspan_report::Point| Point {
        middle: infinite(point.median),
        low: infinite(point.low),
        high: infinite(point.high),
        printed: None,
    };
    let lines = over.lines.iter().enumerate();
    let series = lines.map(|(line, own)| Series {
        line,
        points: own.points.iter().map(|own| own.as_ref().map(point)).collect(),
    });
    let place = |place: &farspan_report::Place| match place.number {
        Some(number) => Place::number(number),
        None => Place { label: place.name.clone(), at: None },
    };
    let x_label = args.x_label.as_ref().unwrap_or(&over.x_label);
    let y_label = args.y_label.as_ref().unwrap_or(&over.y_label);
    let panel = Panel {
        title: args.title.clone().unwrap_or_default(),
        x_label: x_label.clone(),
        x_log: Some(x_log.unwrap_or(over.x_log)),
        places: over.places.iter().map(place).collect(),
        y_label: y_label.clone(),
        y_log: Some(y_log.unwrap_or(over.y_log)),
        series: series.collect(),
        ..Panel::default()
    };
    let notes = [&over.heading].into_iter().chain(&over.notes).map(String::as_str).collect::<Vec<_>>();
    Ok(Figure {
        title: args.title.clone().unwrap_or_else(|| format!("{y_label} over {x_label}")),
        lines: over.lines.iter().map(|line| line.name.clone()).collect(),
        panels: vec![panel],
        notes: vec![notes.join("; ")],
        ..Figure::paper(args.width)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_does_not_fit_is_refused() {
        assert_eq!(label("RTT of west to east (ms)"), Ok("RTT of west to east (ms)".to_owned()));
        let long = "m".repeat(101);
        assert_eq!(label(&long), Err("101 characters do not fit; give at most 100".to_owned()));
        assert_eq!(title(&long), Ok(long));
        assert!(title("往返").unwrap_err().contains("has no '往'"));
    }

    #[test]
    fn a_condition_has_a_key_and_a_value() {
        let pair = |key: &str, value: &str| Ok((key.to_owned(), value.to_owned()));
        assert_eq!(only("topology.buffer=1MiB"), pair("topology.buffer", "1MiB"));
        assert_eq!(only("scheme = \"uno\""), pair("scheme", "uno"));
        for wrong in ["topology.buffer", "=1MiB", "topology.buffer="] {
            assert!(only(wrong).is_err(), "{wrong}");
        }
    }
}
