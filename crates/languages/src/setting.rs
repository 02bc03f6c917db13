//! A control on a path: its parameters in both languages.

use farspan_transport::congestion::gemini::{CutInterval, GeminiConfig};
use farspan_transport::congestion::unocc::{Tolerance, UnoccConfig};
use farspan_transport::congestion::{CongestionConfig, Threshold};
use farspan_transport::{Class, Path};
use farspan_units::{Bytes, Duration, Rate};

/// Payload of a full packet over Ethernet, with timestamps.
pub const MSS: u64 = 1448;

/// The rate for which the defaults of the C controls are made, in bit/s.
pub const DEFAULT_RATE_BPS: u64 = 1_000_000_000;

/// A control that both languages have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// Gemini.
    Gemini,
    /// UnoCC.
    Unocc,
}

impl Name {
    /// The name in both languages.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Unocc => "unocc",
        }
    }
}

/// A control on a path. Its constants are the defaults of each language, so that these are compared too; those that follow from the
/// path's rate are the defaults at 1 Gbit/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setting {
    /// The control.
    pub name: Name,
    /// Rate of the NIC, in bit/s.
    pub rate_bps: u64,
    /// Base round trip of the path, in us.
    pub base_rtt_us: u64,
    /// Base round trip inside a datacenter, in us.
    pub intra_rtt_us: u64,
    /// First window, in packets.
    pub start_pkts: u64,
    /// Smallest window that a cut leaves, in packets; UnoCC: 1.
    pub min_cwnd_pkts: u64,
}

impl Setting {
    /// A host with this rate and base round trip, 14 us of it inside a datacenter, that starts with ten packets.
    #[must_use]
    pub const fn new(name: Name, rate_bps: u64, base_rtt_us: u64) -> Self {
        let min_cwnd_pkts = match name {
            Name::Gemini => 2,
            Name::Unocc => 1,
        };
        Self { name, rate_bps, base_rtt_us, intra_rtt_us: 14, start_pkts: 10, min_cwnd_pkts }
    }

    /// The bandwidth-delay product, in packets.
    #[must_use]
    pub fn bdp_pkts(&self) -> f64 {
        self.rate_bps as f64 / 8e6 * self.base_rtt_us as f64 / MSS as f64
    }

    /// Up to which delay the real queues count as empty: six packets of others, in whole us.
    fn tolerance_us(&self) -> u64 {
        (6 * 1500 * 8 * 1_000_000 / self.rate_bps).max(1)
    }

    /// Gemini's marking threshold, Table IV, in bytes.
    const fn gemini_k(&self) -> u64 {
        75_000 * self.rate_bps / 1_000_000_000
    }

    /// The path of the Rust control.
    #[must_use]
    pub fn path(&self) -> Path {
        let rate = Rate::from_bps(self.rate_bps);
        let path = Path::new(rate, Duration::from_us(self.base_rtt_us));
        Path {
            class: if self.base_rtt_us > self.intra_rtt_us { Class::Inter } else { Class::Intra },
            intra_base_rtt: Duration::from_us(self.intra_rtt_us),
            mss: Bytes::new(MSS),
            header: Bytes::new(1500 - MSS),
            // TCP begins with slow start, however small the BDP.
            bdp: match self.name {
                Name::Gemini => path.bdp.max(Bytes::new(1 << 30)),
                Name::Unocc => path.bdp,
            },
            ..path
        }
    }

    /// The configuration of the Rust control.
    #[must_use]
    pub fn config(&self) -> CongestionConfig {
        match self.name {
            Name::Gemini => CongestionConfig::Gemini(GeminiConfig {
                k: Threshold::Constant(Bytes::new(self.gemini_k())),
                min_cwnd: self.min_cwnd_pkts as f64,
                cut_interval: CutInterval::RttMin,
                ..GeminiConfig::default()
            }),
            Name::Unocc => {
                // Half a microsecond on top: delays are whole ones, and the product rounds.
                let tolerance = (self.tolerance_us() as f64 + 0.5) / self.base_rtt_us as f64;
                let mut config = UnoccConfig::default();
                config.delay.tolerance = Tolerance::Fraction(tolerance);
                CongestionConfig::Unocc(config)
            }
        }
    }

    /// The parameters of the C control that differ from its defaults: what the path says.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let mut values = Vec::new();
        if self.rate_bps != DEFAULT_RATE_BPS {
            values.push(("line_rate_bytes_per_s", self.rate_bps / 8));
            values.push(match self.name {
                Name::Gemini => ("k_bytes", self.gemini_k()),
                Name::Unocc => ("tolerance_us", self.tolerance_us()),
            });
        }
        // The kernel's own first window is ten packets.
        if self.start_pkts != 10 || self.name == Name::Unocc {
            values.push(("start_pkts", self.start_pkts));
        }
        if self.min_cwnd_pkts != 2 {
            values.push(("min_cwnd_pkts", self.min_cwnd_pkts));
        }
        if self.intra_rtt_us != 14 {
            values.push(("intra_rtt_us", self.intra_rtt_us));
        }
        // Where it is not above the floor of those that are measured, it has to be given.
        if self.name == Name::Unocc && self.base_rtt_us < 100 {
            values.push(("base_rtt_us", self.base_rtt_us));
        }
        values.iter().map(|(name, value)| format!("{name}={value}")).collect()
    }
}
