//! Parameters of controls: keys, units, bounds, and how they are written.

use farspan_units::{Bytes, Duration, Rate};

/// How a parameter is written, and what an integer of the program's means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unit {
    /// A whole number of packets.
    Packets,
    /// A plain whole number.
    Count,
    /// Bytes, written with a unit: `64KiB`.
    Bytes,
    /// A time, written with a unit: `2ms`. The program counts in this many picoseconds.
    Time {
        /// The program's unit, in picoseconds.
        ps: u64,
    },
    /// A rate, written with a unit: `10Gbps`. The program counts in this many bit/s.
    Rate {
        /// The program's unit, in bit/s.
        bps: u64,
    },
    /// `on` or `off`: 1 or 0.
    Switch,
    /// A number that need not be whole, written as `0.5`. The program has a fixed point.
    Number {
        /// The integer that the program holds for 1.
        one: u64,
    },
}

impl Unit {
    /// The program counts in microseconds.
    pub const MICROSECONDS: Self = Self::Time { ps: 1_000_000 };
    /// The program counts in nanoseconds.
    pub const NANOSECONDS: Self = Self::Time { ps: 1_000 };

    /// The integer that the program holds for a text; `None`: the text means nothing in this unit.
    #[must_use]
    pub fn read(self, text: &str) -> Option<u64> {
        match self {
            Self::Packets | Self::Count => text.parse().ok(),
            Self::Bytes => text.parse().ok().map(Bytes::get),
            Self::Time { ps } => {
                let time = text.parse::<Duration>().ok()?.as_ps();
                // What the program cannot hold exactly would not be what was asked for.
                time.is_multiple_of(ps).then_some(time / ps)
            }
            Self::Rate { bps } => {
                let rate = text.parse::<Rate>().ok()?.as_bps();
                rate.is_multiple_of(bps).then_some(rate / bps)
            }
            Self::Switch => match text {
                "on" => Some(1),
                "off" => Some(0),
                _ => None,
            },
            Self::Number { one } => {
                let value: f64 = text.parse().ok()?;
                let scaled = (value * one as f64).round();
                (value.is_finite() && (0.0..=u64::MAX as f64).contains(&scaled)).then_some(scaled as u64)
            }
        }
    }

    /// An integer of the program's as it is written.
    #[must_use]
    pub fn show(self, raw: u64) -> String {
        match self {
            Self::Packets | Self::Count => raw.to_string(),
            Self::Bytes => show_bytes(u128::from(raw)),
            Self::Time { ps } => show_time(u128::from(raw) * u128::from(ps)),
            Self::Rate { bps } => show_rate(u128::from(raw) * u128::from(bps)),
            Self::Switch => (if raw == 0 { "off" } else { "on" }).to_owned(),
            Self::Number { one } => {
                // As many digits as the fixed point has, and no more.
                let digits = (one as f64).log10().ceil() as usize;
                let text = format!("{:.digits$}", raw as f64 / one as f64);
                let short = text.trim_end_matches('0').trim_end_matches('.');
                if text.contains('.') { short.to_owned() } else { text }
            }
        }
    }

    /// Its name, for tables and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Count => "a whole number",
            Self::Bytes => "bytes with a unit, such as 64KiB",
            Self::Time { .. } => "a time with a unit, such as 2ms",
            Self::Rate { .. } => "a rate with a unit, such as 10Gbps",
            Self::Switch => "on or off",
            Self::Number { .. } => "a number, such as 0.5",
        }
    }
}

fn show_bytes(bytes: u128) -> String {
    let units = [
        (1 << 30, "GiB"),
        (1_000_000_000, "GB"),
        (1 << 20, "MiB"),
        (1_000_000, "MB"),
        (1 << 10, "KiB"),
        (1_000, "KB"),
        (1, "B"),
    ];
    // Zero is whole in every unit; the smallest one is written.
    if bytes == 0 { "0B".to_owned() } else { show_whole(bytes, &units) }
}

fn show_time(ps: u128) -> String {
    let units =
        [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns"), (1, "ps")];
    show_whole(ps, &units)
}

fn show_rate(bps: u128) -> String {
    show_whole(bps, &[(1_000_000_000, "Gbps"), (1_000_000, "Mbps"), (1_000, "Kbps"), (1, "bps")])
}

/// In the largest unit that makes it whole.
fn show_whole(value: u128, units: &[(u128, &str)]) -> String {
    let fits = |(size, _): &&(u128, &str)| value.is_multiple_of(*size);
    let (size, unit) = units.iter().find(fits).copied().unwrap_or((1, ""));
    format!("{}{unit}", value / size)
}

/// A parameter of a control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Parameter {
    /// The name by which it is set.
    pub key: &'static str,
    /// The name of the program's variable.
    pub variable: &'static str,
    /// How it is written.
    pub unit: Unit,
    /// The least value, as the program holds it.
    pub least: u64,
    /// The largest value, as the program holds it.
    pub most: u64,
    /// Its meaning, and where it comes from.
    pub about: &'static str,
}

impl Parameter {
    pub(crate) const fn new(
        [key, variable]: [&'static str; 2],
        unit: Unit,
        (least, most): (u64, u64),
        about: &'static str,
    ) -> Self {
        Self { key, variable, unit, least, most, about }
    }

    /// Its bounds as they are written.
    #[must_use]
    pub fn bounds(&self) -> String {
        let joined = if self.unit == Unit::Switch { "or" } else { "to" };
        format!("{} {joined} {}", self.unit.show(self.least), self.unit.show(self.most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        let half = Unit::Number { one: 1 << 16 };
        for (unit, text, raw) in [
            (Unit::Packets, "12", 12),
            (Unit::Bytes, "64KiB", 65_536),
            (Unit::MICROSECONDS, "2ms", 2000),
            (Unit::NANOSECONDS, "1500ns", 1500),
            (Unit::Rate { bps: 8 }, "10Gbps", 1_250_000_000),
            (Unit::Switch, "off", 0),
            (half, "0.5", 32_768),
            (half, "1.2", 78_643),
        ] {
            assert_eq!(unit.read(text), Some(raw), "{text}");
            assert_eq!(unit.read(&unit.show(raw)), Some(raw), "{text}");
        }
        assert_eq!([half.show(32_768), half.show(65_536), half.show(0)], ["0.5", "1", "0"]);
        assert_eq!(
            [75_000, 1 << 28, 1_500, 0].map(|raw| Unit::Bytes.show(raw)),
            ["75KB", "256MiB", "1500B", "0B"]
        );
        assert_eq!([Unit::MICROSECONDS.show(2000), Unit::MICROSECONDS.show(0)], ["2ms", "0s"]);
    }

    #[test]
    fn what_a_program_cannot_hold_is_refused() {
        assert_eq!(Unit::MICROSECONDS.read("1500ns"), None);
        for text in ["nan", "-0.1", "inf", "x"] {
            assert_eq!(Unit::Number { one: 1024 }.read(text), None, "{text}");
        }
    }
}
