//! Time, durations, sizes and rates as integers with their unit in the type.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// Picoseconds in a second.
const PS: u128 = 1_000_000_000_000;

/// An instant: picoseconds since the start of the run (or since any epoch that a driver chose).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Time(u64);

/// A length of time in picoseconds; at most 213 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Duration(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Bytes(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Rate(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens.
    pub const MAX: Self = Self(u64::MAX);

    /// An instant from picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// Picoseconds since the start.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds since the start, rounded down.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0 / 1000
    }
    /// Seconds since the start, for people.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// The time since `earlier`, or zero if that lies in the future.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
    /// `self + d`, held at [`Time::MAX`].
    #[must_use]
    pub const fn saturating_add(self, d: Duration) -> Self {
        Self(self.0.saturating_add(d.0))
    }
}

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// The longest duration.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration from picoseconds.
    #[must_use]
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// A duration from nanoseconds.
    #[must_use]
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1000)
    }
    /// A duration from microseconds.
    #[must_use]
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }
    /// A duration from milliseconds.
    #[must_use]
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }
    /// A duration from seconds, rounded to the nearest picosecond; negative or not-a-number gives zero.
    #[must_use]
    pub fn from_secs_f64(s: f64) -> Self {
        Self(libm::round(s * 1e12) as u64)
    }
    /// Picoseconds.
    #[must_use]
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// Whole nanoseconds, rounded down.
    #[must_use]
    pub const fn as_ns(self) -> u64 {
        self.0 / 1000
    }
    /// Microseconds, for people and for floating-point formulas.
    #[must_use]
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }
    /// Seconds, for people and for floating-point formulas.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-12
    }
    /// Whether this is no time at all.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// `self * 2^shift`, held at [`Duration::MAX`]: an exponential back-off.
    #[must_use]
    pub const fn doubled(self, shift: u32) -> Self {
        if shift >= 64 || self.0.leading_zeros() < shift { Self::MAX } else { Self(self.0 << shift) }
    }
    /// This duration times a non-negative factor, rounded to the nearest picosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as u64)
    }
}

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// The largest size; as a buffer, no limit.
    pub const MAX: Self = Self(u64::MAX);

    /// A size from a count of bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }
    /// The count of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
    /// The count of bytes for floating-point formulas.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64
    }
    /// Whether there are none.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
    /// How many segments of `segment` bytes it takes to hold this size.
    ///
    /// # Panics
    /// If `segment` is zero.
    #[must_use]
    pub const fn segments(self, segment: Self) -> u64 {
        self.0.div_ceil(segment.0)
    }
    /// This size times a non-negative factor, rounded to the nearest byte.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as u64)
    }
}

impl Rate {
    /// No rate.
    pub const ZERO: Self = Self(0);

    /// A rate from bits per second.
    #[must_use]
    pub const fn from_bps(bps: u64) -> Self {
        Self(bps)
    }
    /// A rate from 10^9 bits per second.
    #[must_use]
    pub const fn from_gbps(gbps: u64) -> Self {
        Self(gbps * 1_000_000_000)
    }
    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bytes per second for floating-point formulas.
    #[must_use]
    pub fn bytes_per_sec_f64(self) -> f64 {
        self.0 as f64 / 8.0
    }
    /// Whether nothing moves.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
    /// The rate that moves `bytes` in `period`, rounded to the nearest bit per second; no time gives the largest rate.
    #[must_use]
    pub const fn per(bytes: Bytes, period: Duration) -> Self {
        if period.0 == 0 {
            return Self(u64::MAX);
        }
        let bps = (bytes.0 as u128 * 8 * PS + period.0 as u128 / 2) / period.0 as u128;
        if bps > u64::MAX as u128 { Self(u64::MAX) } else { Self(bps as u64) }
    }
    /// How long `bytes` take at this rate, in picoseconds, rounded half up; no rate gives [`Duration::MAX`].
    #[must_use]
    pub const fn transmission(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // What a packet takes fits 64 bits on the way.
        if bytes.0 < 1 << 20 && self.0 < 1 << 62 {
            return Duration((bytes.0 * 8 * PS as u64 + self.0 / 2) / self.0);
        }
        let ps = (bytes.0 as u128 * 8 * PS + self.0 as u128 / 2) / self.0 as u128;
        if ps > u64::MAX as u128 { Duration::MAX } else { Duration(ps as u64) }
    }
    /// How many whole bytes pass in `period`: with a round trip, the bandwidth-delay product.
    #[must_use]
    pub const fn bytes_in(self, period: Duration) -> Bytes {
        Bytes((self.0 as u128 * period.0 as u128 / (8 * PS)) as u64)
    }
    /// This rate times a non-negative factor, rounded to the nearest bit per second.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as u64)
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, d: Duration) -> Self {
        Self(self.0 + d.0)
    }
}
impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        self.0 += d.0;
    }
}
impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, d: Duration) -> Self {
        Self(self.0 - d.0)
    }
}
impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0 - earlier.0)
    }
}

macro_rules! linear {
    ($name:ident) => {
        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }
        impl Sub for $name {
            type Output = Self;
            fn sub(self, other: Self) -> Self {
                Self(self.0 - other.0)
            }
        }
        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                self.0 += other.0;
            }
        }
        impl SubAssign for $name {
            fn sub_assign(&mut self, other: Self) {
                self.0 -= other.0;
            }
        }
        impl Mul<u64> for $name {
            type Output = Self;
            fn mul(self, n: u64) -> Self {
                Self(self.0 * n)
            }
        }
        impl Div<u64> for $name {
            type Output = Self;
            fn div(self, n: u64) -> Self {
                Self(self.0 / n)
            }
        }
        impl core::iter::Sum for $name {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self(0), Add::add)
            }
        }
    };
}
linear!(Duration);
linear!(Bytes);
linear!(Rate);

impl Div for Duration {
    type Output = f64;
    fn div(self, other: Self) -> f64 {
        self.0 as f64 / other.0 as f64
    }
}

/// Writes `value` in the largest unit that divides it exactly, so that parsing the text gives the value back.
fn exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(u64, &str)]) -> fmt::Result {
    let (size, name) = units
        .iter()
        .find(|(size, _)| value != 0 && value.is_multiple_of(*size))
        .unwrap_or(units.last().expect("a unit table has at least one row"));
    write!(f, "{}{name}", value / size)
}

/// Durations in decimal, at the largest unit not above the value: `1.792ms`, `332.8ns`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, usize, &str); 5] = [
            (1_000_000_000_000, 12, "s"),
            (1_000_000_000, 9, "ms"),
            (1_000_000, 6, "us"),
            (1000, 3, "ns"),
            (1, 0, "ps"),
        ];
        let (size, digits, name) = if self.0 == 0 {
            UNITS[3]
        } else {
            *UNITS.iter().find(|(size, ..)| self.0 >= *size).expect("one picosecond is the smallest value")
        };
        let (whole, part) = (self.0 / size, self.0 % size);
        if part == 0 {
            return write!(f, "{whole}{name}");
        }
        let text = alloc::format!("{part:0digits$}");
        write!(f, "{whole}.{}{name}", text.trim_end_matches('0'))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(
            f,
            self.0,
            &[
                (1 << 30, "GiB"),
                (1 << 20, "MiB"),
                (1_000_000_000, "GB"),
                (1_000_000, "MB"),
                (1 << 10, "KiB"),
                (1, "B"),
            ],
        )
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        exact(
            f,
            self.0,
            &[
                (1_000_000_000_000, "Tbps"),
                (1_000_000_000, "Gbps"),
                (1_000_000, "Mbps"),
                (1000, "Kbps"),
                (1, "bps"),
            ],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    #[test]
    fn a_full_packet_takes_332_8_ns_at_100_gbps() {
        assert_eq!(Rate::from_gbps(100).transmission(Bytes::new(4160)), Duration::from_ps(332_800));
    }

    #[test]
    fn transmission_rounds_half_up_to_the_picosecond() {
        assert_eq!(Rate::from_bps(16_000_000_000_000).transmission(Bytes::new(1)), Duration::from_ps(1));
        assert_eq!(Rate::from_bps(3_000_000_000_000).transmission(Bytes::new(1)), Duration::from_ps(3));
    }

    #[test]
    fn the_bdp_of_uno_s_intra_dc_path_is_175_kb() {
        assert_eq!(Rate::from_gbps(100).bytes_in(Duration::from_ps(14_027_520)), Bytes::new(175_344));
    }

    #[test]
    fn rates_too_fast_or_too_slow_are_held_at_the_limits() {
        assert_eq!(Rate::ZERO.transmission(Bytes::new(1)), Duration::MAX);
        assert_eq!(Rate::per(Bytes::new(1), Duration::ZERO).as_bps(), u64::MAX);
        assert_eq!(Duration::from_ns(1).doubled(70), Duration::MAX);
        assert_eq!(Duration::from_ns(1).doubled(3), Duration::from_ns(8));
    }

    #[test]
    fn quantities_print_in_their_natural_unit() {
        assert_eq!(Duration::from_ps(1_792_041_280).to_string(), "1.79204128ms");
        assert_eq!(Duration::from_ps(332_800).to_string(), "332.8ns");
        assert_eq!(Bytes::new(1 << 20).to_string(), "1MiB");
        assert_eq!(Bytes::new(1_000_000).to_string(), "1MB");
        assert_eq!(Rate::from_gbps(100).to_string(), "100Gbps");
    }

    proptest! {
        #[test]
        fn transmission_and_bytes_in_undo_each_other(bytes in 1u64..1 << 40, gbps in 1u64..1600) {
            let rate = Rate::from_gbps(gbps);
            let back = rate.bytes_in(rate.transmission(Bytes::new(bytes)) + Duration::from_ps(1));
            prop_assert!(back.get().abs_diff(bytes) <= 1);
        }

        #[test]
        fn printing_then_parsing_gives_the_quantity_back(x in any::<u64>()) {
            let (d, b, r) = (Duration::from_ps(x), Bytes::new(x), Rate::from_bps(x));
            prop_assert_eq!(d.to_string().parse::<Duration>(), Ok(d));
            prop_assert_eq!(b.to_string().parse::<Bytes>(), Ok(b));
            prop_assert_eq!(r.to_string().parse::<Rate>(), Ok(r));
        }
    }
}
