//! Values of an axis: quantities and numbers in one unit, or words.

use farspan_units::{Bytes, Duration, Rate};

/// A kind of number, which has its units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Picoseconds.
    Time,
    /// Bytes.
    Size,
    /// Bit/s.
    Rate,
    /// It has no unit.
    Plain,
}

const TIMES: [(f64, &str); 4] = [(1e12, "s"), (1e9, "ms"), (1e6, "us"), (1e3, "ns")];
const SIZES: [(f64, &str); 4] = [(1e9, "GB"), (1e6, "MB"), (1e3, "KB"), (1.0, "B")];
const BINARY: [(f64, &str); 4] =
    [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
const RATES: [(f64, &str); 4] = [(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")];

impl Kind {
    /// The unit that leaves numbers of about one to three digits, and how many of the base are in it.
    pub(crate) fn unit(self, values: &[f64]) -> (f64, &'static str) {
        let above = || values.iter().copied().filter(|value| value.is_finite() && *value > 0.0);
        let whole = |value: f64| (value / 1024.0).fract() == 0.0;
        let units = match self {
            Self::Time => TIMES,
            Self::Size if above().all(whole) => BINARY,
            Self::Size => SIZES,
            Self::Rate => RATES,
            Self::Plain => return (1.0, ""),
        };
        let (Some(low), Some(high)) = (above().reduce(f64::min), above().reduce(f64::max)) else {
            return units[2];
        };
        let middle = (low * high).sqrt();
        units.into_iter().find(|(size, _)| middle >= *size).unwrap_or(units[3])
    }
}

/// A text as a number of a kind.
pub(crate) fn number(text: &str) -> Option<(Kind, f64)> {
    if let Ok(number) = text.parse::<f64>() {
        return number.is_finite().then_some((Kind::Plain, number));
    }
    let time = || Some((Kind::Time, text.parse::<Duration>().ok()?.as_ps() as f64));
    let size = || Some((Kind::Size, text.parse::<Bytes>().ok()?.get() as f64));
    let rate = || Some((Kind::Rate, text.parse::<Rate>().ok()?.as_bps() as f64));
    size().or_else(time).or_else(rate)
}

/// Numbers of one kind; `None` if a text is none, or of another kind.
pub(crate) fn numbers(texts: &[&str]) -> Option<(Kind, Vec<f64>)> {
    let (kind, _) = number(texts.first()?)?;
    let of = |text: &&str| number(text).filter(|(other, _)| *other == kind).map(|(_, number)| number);
    Some((kind, texts.iter().map(of).collect::<Option<_>>()?))
}

/// Whether two texts are one value: `1ms` is `1000us`.
pub(crate) fn equal(a: &str, b: &str) -> bool {
    a == b || number(a).is_some_and(|number_of_a| number(b) == Some(number_of_a))
}

/// Whether a value is the one asked for: a size may be asked for in bytes, and a rate in bit/s, without a unit.
pub(crate) fn is_asked(value: &str, asked: &str) -> bool {
    let in_base = || {
        let ((of, value), (kind, asked)) = (number(value)?, number(asked)?);
        Some(kind == Kind::Plain && matches!(of, Kind::Size | Kind::Rate) && value == asked)
    };
    equal(value, asked) || in_base() == Some(true)
}

/// The kind of a number of the summary, and how many of its base its unit is, by the end of its name; and the name without
/// it.
pub(crate) fn of_summary(path: &str) -> (Kind, f64, &str) {
    let ends = [
        ("_us", Kind::Time, 1e6),
        ("_s", Kind::Time, 1e12),
        ("_bytes", Kind::Size, 1.0),
        ("_bps", Kind::Rate, 1.0),
    ];
    let found = ends.into_iter().find_map(|(end, kind, base)| Some((kind, base, path.strip_suffix(end)?)));
    found.unwrap_or((Kind::Plain, 1.0, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_of_one_kind_are_numbers_and_others_are_words() {
        assert_eq!(numbers(&["1ms", "20ms"]), Some((Kind::Time, vec![1e9, 2e10])));
        assert_eq!(numbers(&["1KiB", "1MB"]), Some((Kind::Size, vec![1024.0, 1e6])));
        assert_eq!(numbers(&["0.4", "0.8"]), Some((Kind::Plain, vec![0.4, 0.8])));
        assert_eq!(numbers(&["1ms", "off"]), None);
        assert_eq!(numbers(&["1ms", "1KiB"]), None);
    }

    #[test]
    fn one_value_can_be_written_in_two_ways() {
        assert!(equal("1ms", "1000us") && equal("0.5", "0.50") && equal("off", "off"));
        assert!(!equal("1ms", "1us") && !equal("1", "1B"));
        for asked in ["4MiB", "4194304", "4194304B", "4096KiB", "4.194304MB"] {
            assert!(is_asked("4MiB", asked), "{asked}");
        }
        assert!(is_asked("10Gbps", "1e10") && is_asked("0.5", "0.50") && is_asked("1s", "1000ms"));
        assert!(!is_asked("4MiB", "4") && !is_asked("1ms", "1000000000") && !is_asked("4", "4B"));
    }

    #[test]
    fn units_leave_few_digits() {
        assert_eq!(Kind::Time.unit(&[1e9, 2e9, 2e10]).1, "ms");
        assert_eq!(Kind::Time.unit(&[14e6, 20e9]).1, "us");
        assert_eq!(Kind::Size.unit(&[1_048_576.0]).1, "MiB");
        assert_eq!(Kind::Size.unit(&[1e6]).1, "MB");
        assert_eq!(Kind::Rate.unit(&[1e11]).1, "Gbps");
    }
}
