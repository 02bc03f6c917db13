//! Rates and times as ns-3 writes them.

use super::{HpccFlaw, flaw, shown};
use crate::decimal::scaled;
use farspan_scenario::limits::{FASTEST, LONGEST_DELAY, SLOWEST};
use farspan_units::{Duration, Rate};

/// A number, and the unit behind it.
fn split_unit(text: &str) -> (&str, &str) {
    let unit = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '/');
    text.split_at(unit.len())
}

/// A rate, such as `100Gbps` or `50Mb/s`.
pub(super) fn rate(text: &str) -> Option<Rate> {
    let (number, unit) = split_unit(text);
    let (power, bits) = match unit {
        "" | "bps" | "b/s" => (0, 1),
        "Bps" | "B/s" => (0, 8),
        "kbps" | "kb/s" | "Kbps" | "Kb/s" => (3, 1),
        "kBps" | "kB/s" | "KBps" | "KB/s" => (3, 8),
        "Mbps" | "Mb/s" => (6, 1),
        "MBps" | "MB/s" => (6, 8),
        "Gbps" | "Gb/s" => (9, 1),
        "GBps" | "GB/s" => (9, 8),
        _ => return None,
    };
    Some(Rate::from_bps(scaled(number, power)?.whole.checked_mul(bits)?))
}

/// A time, such as `0.001ms`; seconds without a unit.
fn time(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text);
    let power = match unit {
        "" | "s" => 12,
        "ms" => 9,
        "us" => 6,
        "ns" => 3,
        "ps" => 0,
        _ => return None,
    };
    Some(Duration::from_ps(scaled(number, power)?.whole))
}

/// The rate of a link.
pub(super) fn link_rate(line: usize, text: &str) -> Result<Rate, HpccFlaw> {
    let cure = format!("write a rate from {SLOWEST} to {FASTEST}, such as 100Gbps");
    match rate(text) {
        Some(rate) if (SLOWEST..=FASTEST).contains(&rate) => Ok(rate),
        Some(rate) => flaw(line, format!("the rate {rate} is out of range"), cure),
        None => flaw(line, format!("{} is not a rate", shown(text)), cure),
    }
}

/// The propagation of a link.
pub(super) fn link_delay(line: usize, text: &str) -> Result<Duration, HpccFlaw> {
    let cure = format!("write a time of at most {LONGEST_DELAY}, such as 0.001ms");
    match time(text) {
        Some(delay) if delay <= LONGEST_DELAY => Ok(delay),
        Some(delay) => flaw(line, format!("the delay {delay} is too long"), cure),
        None => flaw(line, format!("{} is not a time", shown(text)), cure),
    }
}

/// A number of seconds from zero, as whole nanoseconds, and whether rounding changed it.
pub(super) fn seconds(text: &str) -> Option<(Duration, bool)> {
    let ns = scaled(text, 9)?;
    Some((Duration::from_ps(ns.whole.checked_mul(1000)?), ns.rounded))
}

/// A number of seconds from zero; the longest time there is for more, as the published configurations of forks have it.
pub(super) fn seconds_or_longer(text: &str) -> Option<Duration> {
    let longer = || text.parse::<f64>().is_ok_and(|seconds| (1.0..f64::INFINITY).contains(&seconds));
    seconds(text).map(|(time, _)| time).or_else(|| longer().then_some(Duration::MAX))
}

/// A number of microseconds.
pub(super) fn micros(text: &str) -> Option<Duration> {
    Some(Duration::from_ps(scaled(text, 6)?.whole))
}

/// A part of one: below one where it is a probability of loss.
pub(super) fn share(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_are_those_of_ns3() {
        for (text, bps) in [
            ("100Gbps", 100_000_000_000),
            ("50Mb/s", 50_000_000),
            ("2.5GB/s", 20_000_000_000),
            ("1000000", 1_000_000),
        ] {
            assert_eq!(rate(text), Some(Rate::from_bps(bps)), "{text}");
        }
        for (text, ps) in
            [("0.001ms", 1_000_000), ("1000ns", 1_000_000), ("1e-06s", 1_000_000), ("2", 2_000_000_000_000)]
        {
            assert_eq!(time(text), Some(Duration::from_ps(ps)), "{text}");
        }
        for bad in ["", "Gbps", "100Gib", "-1Gbps", "1 Gbps", "nan", "18446744073709551615GB/s"] {
            assert_eq!(rate(bad), None, "{bad}");
            assert_eq!(time(bad), None, "{bad}");
        }
        for (text, time) in
            [("4.00", Some(Duration::from_ms(4000))), ("40000000000000.00", Some(Duration::MAX))]
        {
            assert_eq!(seconds_or_longer(text), time);
        }
        assert_eq!(["-1", "inf", "nan", "4s"].map(seconds_or_longer), [None; 4]);
        assert!(link_rate(1, "0Gbps").is_err() && link_delay(1, "11s").is_err());
    }
}
