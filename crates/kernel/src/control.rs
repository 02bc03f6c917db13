//! The controls that can be installed.

use crate::parameter::{Parameter, Unit};
use std::fmt;
use std::str::FromStr;

/// A congestion control of TCP, as an eBPF program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Control {
    /// Gemini (Zeng et al., "Congestion Control for Cross-Datacenter Networks"): marks inside, delay between datacenters.
    Gemini,
    /// `UnoCC` (Uno, section 4.1): one control for both, by marks of phantom queues.
    Unocc,
    /// A window that never changes: it shows what a path does without a control.
    Fixed,
}

/// No control has this name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name:?} is not a control that can be installed: choose from {}", Control::names())]
pub struct UnknownControl {
    name: String,
}

impl Control {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Gemini, Self::Unocc, Self::Fixed];

    /// Its name: of the program's file, and what the kernel calls it where nothing else is asked for.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Unocc => "unocc",
            Self::Fixed => "fixed",
        }
    }

    /// Its way, in half a line.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Gemini => "marks inside a datacenter, delay between datacenters",
            Self::Unocc => "marks of phantom queues, inside and between datacenters",
            Self::Fixed => "a window that never changes",
        }
    }

    /// Its parameters. Their defaults stand in the program.
    #[must_use]
    pub const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Gemini => GEMINI,
            Self::Unocc => UNOCC,
            Self::Fixed => FIXED,
        }
    }

    /// Pairs of parameters of which the first must not exceed the second.
    #[must_use]
    pub const fn orders(self) -> &'static [[&'static str; 2]] {
        match self {
            Self::Gemini => &[["h_min", "h_max"], ["min_cwnd", "max_cwnd"], ["start_cwnd", "max_cwnd"]],
            Self::Unocc => &[["min_cwnd", "max_cwnd"], ["start_cwnd", "max_cwnd"]],
            Self::Fixed => &[],
        }
    }

    fn names() -> String {
        Self::ALL.iter().map(|control| control.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// Fixed points of the programs.
const PPM: Unit = Unit::Number { one: 1_000_000 };
const MILLI: Unit = Unit::Number { one: 1_000 };
/// Rates are bytes per second there.
const RATE: Unit = Unit::Rate { bps: 8 };
const US: Unit = Unit::MICROSECONDS;
/// Rates of 100 Kbit/s to 500 Gbit/s: with a little more, products of the programs would leave 64 bits.
const RATES: (u64, u64) = (12_500, 62_500_000_000);
const TEN_SECONDS: u64 = 10_000_000;
/// The largest window of the programs, packets.
const MOST_CWND: u64 = 1 << 20;

const GEMINI: &[Parameter] = &[
    Parameter::new(["line_rate", "line_rate_bytes_per_s"], RATE, RATES, "C: the rate of the NIC"),
    Parameter::new(
        ["k", "k_bytes"],
        Unit::Bytes,
        (1, 1 << 28),
        "K in F: the queue at which ports mark (Table IV: 75 KB for each Gb/s)",
    ),
    Parameter::new(
        ["h_bits", "h_bits_per_pkt"],
        Unit::Count,
        (1, u32::MAX as u64),
        "1 / H: bits of C x RTT for each packet of h (Table IV: H = 1.2e-7)",
    ),
    Parameter::new(["h_min", "h_min_millipkts"], MILLI, (0, 4_000_000), "smallest h, packets (III-C: 0.1)"),
    Parameter::new(["h_max", "h_max_millipkts"], MILLI, (1, 4_000_000), "largest h, packets (III-C: 5)"),
    Parameter::new(
        ["h_fixed", "h_fixed_millipkts"],
        MILLI,
        (0, 4_000_000),
        "h itself, packets; 0: in proportion to C x RTT",
    ),
    Parameter::new(["beta", "beta_ppm"], PPM, (0, 500_000), "the cut for delay (Table IV: 0.2)"),
    Parameter::new(
        ["delay_threshold", "delay_threshold_us"],
        US,
        (0, TEN_SECONDS),
        "T: a longer queueing delay means congestion in the WAN (Table IV: 5 ms)",
    ),
    Parameter::new(
        ["gain", "gain_ppm"],
        PPM,
        (1, 1_000_000),
        "weight of the newest window in the average share of marks (DCTCP: 1/16)",
    ),
    Parameter::new(
        ["alpha_start", "alpha_start_ppm"],
        PPM,
        (0, 1_000_000),
        "initial value of that average (DCTCP: 1)",
    ),
    Parameter::new(
        ["base_rtt", "base_rtt_us"],
        US,
        (0, TEN_SECONDS),
        "RTT_base; 0: the smallest round trip of the connection",
    ),
    Parameter::new(
        ["start_cwnd", "start_pkts"],
        Unit::Packets,
        (0, MOST_CWND),
        "first window; 0: the kernel's",
    ),
    Parameter::new(["min_cwnd", "min_cwnd_pkts"], Unit::Packets, (1, 10_000), "smallest window after a cut"),
    Parameter::new(["max_cwnd", "max_cwnd_pkts"], Unit::Packets, (2, MOST_CWND), "largest window"),
    Parameter::new(
        ["cut_per_rtt_min", "cut_per_rtt_min"],
        Unit::Switch,
        (0, 1),
        "on: cuts are RTT_min apart, queueing included (III-B: the time that feedback takes); off: RTT_base",
    ),
    Parameter::new(
        ["restart_after_idle", "restart_after_idle"],
        Unit::Switch,
        (0, 1),
        "on: the window is halved for each time-out that the flow was idle (RFC 2861)",
    ),
];

const UNOCC: &[Parameter] = &[
    Parameter::new(["line_rate", "line_rate_bytes_per_s"], RATE, RATES, "C: the rate of the NIC"),
    Parameter::new(
        ["k", "k_bytes"],
        Unit::Bytes,
        (0, 1 << 28),
        "K of the decrease; 0: C x intra_rtt / 7 (Table 2)",
    ),
    Parameter::new(
        ["intra_rtt", "intra_rtt_us"],
        US,
        (1, 1_000_000),
        "base round trip inside a datacenter, the period of epochs (Table 2: 14 us)",
    ),
    Parameter::new(
        ["base_rtt", "base_rtt_us"],
        US,
        (0, TEN_SECONDS),
        "base round trip of the path; 0: the smallest of the connection",
    ),
    Parameter::new(
        ["base_rtt_floor", "base_rtt_floor_us"],
        US,
        (0, 1_000_000),
        "least value of a measured base round trip",
    ),
    Parameter::new(
        ["tolerance", "tolerance_us"],
        US,
        (0, 1_000_000),
        "real queues count as empty up to this delay",
    ),
    Parameter::new(
        ["alpha", "alpha_ppm"],
        PPM,
        (1, 1_000_000),
        "increase a round trip, as a part of the BDP (Table 2: 0.001)",
    ),
    Parameter::new(
        ["beta", "beta_ppm"],
        PPM,
        (1, 1_000_000),
        "Quick Adapt acts below this part of the window (Table 2: 0.5)",
    ),
    Parameter::new(
        ["gain", "gain_ppm"],
        PPM,
        (1, 1_000_000),
        "weight of the newest epoch in the average share of marks",
    ),
    Parameter::new(
        ["md_scale", "md_scale_ppm"],
        PPM,
        (1, 1_000_000),
        "factor on a cut while only phantom queues are full (Algorithm 1: 0.3)",
    ),
    Parameter::new(
        ["qa_factor", "qa_factor_ppm"],
        PPM,
        (1, 1_000_000),
        "the window after a Quick Adapt, as a part of the bytes acknowledged",
    ),
    Parameter::new(["start_cwnd", "start_pkts"], Unit::Packets, (0, MOST_CWND), "first window; 0: one BDP"),
    Parameter::new(["min_cwnd", "min_cwnd_pkts"], Unit::Packets, (1, 10_000), "smallest window"),
    Parameter::new(
        ["max_cwnd", "max_cwnd_pkts"],
        Unit::Packets,
        (2, MOST_CWND),
        "largest window, beside one BDP",
    ),
];

const FIXED: &[Parameter] =
    &[Parameter::new(["window", "window"], Unit::Packets, (2, 1_000_000), "the congestion window")];

impl FromStr for Control {
    type Err = UnknownControl;

    fn from_str(name: &str) -> Result<Self, UnknownControl> {
        let found = Self::ALL.iter().find(|control| control.as_str() == name);
        found.copied().ok_or_else(|| UnknownControl { name: name.to_owned() })
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;

    #[test]
    fn every_control_is_found_by_its_name_which_the_kernel_takes() {
        for control in Control::ALL {
            assert_eq!(control.as_str().parse(), Ok(*control));
            assert_eq!(control.as_str().parse::<Name>(), Ok(Name::from(*control)));
            assert!(!control.about().is_empty() && !control.parameters().is_empty());
        }
        assert!("cubic".parse::<Control>().unwrap_err().to_string().contains("fixed"));
    }

    #[test]
    fn parameters_have_names_of_their_own_and_bounds() {
        for control in Control::ALL {
            for (index, parameter) in control.parameters().iter().enumerate() {
                assert!(parameter.least < parameter.most, "{}", parameter.key);
                assert!(control.parameters()[..index].iter().all(|other| other.key != parameter.key));
            }
            for key in control.orders().as_flattened() {
                assert!(control.parameters().iter().any(|parameter| parameter.key == *key), "{key}");
            }
        }
    }
}
