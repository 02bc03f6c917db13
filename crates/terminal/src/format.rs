//! Numbers and tables as people read them.

use farspan_metrics::Unit;
use std::fmt::Write;

/// Text for a missing number.
pub const NONE: &str = "-";

/// Text for a number that unfinished flows, or rates that never converged, make infinite.
pub const INFINITE: &str = "inf";

/// Microseconds in the unit that suits them, three digits.
pub fn time(us: Option<f64>) -> String {
    let Some(us) = us else { return NONE.to_owned() };
    let (value, unit) = match us {
        _ if us >= 1e6 => (us / 1e6, "s"),
        _ if us >= 1e3 => (us / 1e3, "ms"),
        _ => (us, "us"),
    };
    format!("{} {unit}", digits(value))
}

/// Seconds of wall time.
pub fn seconds(s: f64) -> String {
    match s {
        _ if s >= 3600.0 => format!("{:.1} h", s / 3600.0),
        _ if s >= 120.0 => format!("{:.1} min", s / 60.0),
        _ => format!("{:.1} s", s),
    }
}

/// Bytes in a decimal unit, three digits.
pub fn bytes(bytes: Option<f64>) -> String {
    bytes.map_or_else(|| NONE.to_owned(), |bytes| with_prefix(bytes, "B"))
}

/// Bits per second in a decimal unit, three digits.
pub fn bits_per_second(rate: Option<f64>) -> String {
    rate.map_or_else(|| NONE.to_owned(), |rate| with_prefix(rate, "b/s"))
}

/// A count of `what` with a decimal prefix, three digits.
pub fn with_prefix(value: f64, what: &str) -> String {
    let prefixes = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")];
    let (size, prefix) = prefixes.into_iter().find(|(size, _)| value >= *size).unwrap_or((1.0, ""));
    let joint = if what.len() > 3 && !prefix.is_empty() { " " } else { "" };
    format!("{} {prefix}{joint}{what}", digits(value / size))
}

/// A plain number, three digits.
pub fn number(value: Option<f64>) -> String {
    value.map_or_else(|| NONE.to_owned(), digits)
}

/// A count and its noun, in the plural where it must be.
pub fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A count, exact, with a comma between thousands; the median of an even number of counts may lie half way.
pub fn count(value: Option<f64>) -> String {
    let Some(value) = value else { return NONE.to_owned() };
    let text = format!("{value:.1}");
    let (whole, part) = text.split_once('.').unwrap_or((&text, "0"));
    let digits = whole.len();
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        let comma = i > 0 && digit.is_ascii_digit() && (digits - i).is_multiple_of(3);
        grouped.extend(comma.then_some(','));
        grouped.push(digit);
    }
    if part == "0" { grouped } else { format!("{grouped}.{part}") }
}

/// A share in per cent.
pub fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| NONE.to_owned(), |share| format!("{}%", digits(share * 100.0)))
}

/// A number over several runs in its unit: if it is not there, the runs made it infinite.
pub fn or_infinite(value: Option<f64>, unit: Unit) -> String {
    value.map_or_else(|| INFINITE.to_owned(), |value| in_unit(Some(value), unit))
}

/// A number of a run's document in its unit.
pub fn in_unit(value: Option<f64>, unit: Unit) -> String {
    match unit {
        Unit::Us => time(value),
        Unit::Bytes => bytes(value),
        Unit::Bps => bits_per_second(value),
        Unit::Share => percent(value),
        Unit::Count => count(value),
        Unit::Number => number(value),
    }
}

fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        x if x >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A table: the first column left, the others right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this heading.
    pub fn new<S: Into<String>>(heading: impl IntoIterator<Item = S>) -> Self {
        Self { rows: vec![heading.into_iter().map(Into::into).collect()] }
    }

    /// Adds a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The lines; columns in `left` (beside the first) are left-aligned.
    pub fn render(&self, left: &[usize]) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell_width = |row: &Vec<String>, c: usize| row.get(c).map_or(0, |cell| cell.chars().count());
        let width = |c: usize| self.rows.iter().map(|row| cell_width(row, c)).max().unwrap_or(0);
        let widths: Vec<_> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (c, cell) in row.iter().enumerate() {
                let gap = if c == 0 { "" } else { "  " };
                let width = widths[c];
                let written = match c == 0 || left.contains(&c) {
                    true => write!(line, "{gap}{cell:<width$}"),
                    false => write!(line, "{gap}{cell:>width$}"),
                };
                written.expect("writing to a string does not fail");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit_that_suits() {
        assert_eq!(time(Some(0.25)), "0.250 us");
        assert_eq!(time(Some(1234.0)), "1.23 ms");
        assert_eq!(time(Some(711_000.0)), "711 ms");
        assert_eq!(time(None), "-");
        assert_eq!(bytes(Some(1_048_576.0)), "1.05 MB");
        assert_eq!(bytes(Some(12.0)), "12.0 B");
        assert_eq!(percent(Some(0.4567)), "45.7%");
        assert_eq!(seconds(75.0), "75.0 s");
        assert_eq!(seconds(600.0), "10.0 min");
    }

    #[test]
    fn counts_are_exact() {
        let of = |value| in_unit(Some(value), Unit::Count);
        assert_eq!([0.0, 101.5, 25_102.0, 714_389.0].map(of), ["0", "101.5", "25,102", "714,389"]);
        assert_eq!(of(1_234_567.0), "1,234,567");
    }

    #[test]
    fn infinite_is_not_absent() {
        assert_eq!(
            (or_infinite(None, Unit::Us), in_unit(None, Unit::Us)),
            ("inf".to_owned(), "-".to_owned())
        );
        assert_eq!(or_infinite(Some(2.0), Unit::Us), "2.00 us");
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["", "mean", "p99"]);
        table.row(["all", "1 us", "10 ms"]);
        table.row(["intra", "200 us", "-"]);
        assert_eq!(table.render(&[]), "         mean    p99\nall      1 us  10 ms\nintra  200 us      -\n");
    }
}
