//! Signals of congestion: the share of marked bytes, rounds, and the marking threshold that controls assume.

use crate::congestion::contract::Ack;
use crate::path::Path;
use crate::registry::ConfigError;
use farspan_units::{Bytes, Time};

/// The marking threshold K that a control assumes of the switches, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
#[cfg_attr(
    feature = "serde",
    serde(
        expecting = "the value does not fit here; give \"bdp_over_7\", \"ports\", a size, or { per_gbps = SIZE }"
    )
)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Threshold {
    /// A rule.
    Rule(ThresholdRule),
    /// A size for each Gb/s of line rate (Gemini Table IV: 50 packets of 1,500 B).
    Scaled {
        /// Bytes for each Gb/s.
        per_gbps: Bytes,
    },
    /// A constant.
    Constant(Bytes),
}

/// How a marking threshold follows from the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum ThresholdRule {
    /// A seventh of the bandwidth-delay product inside a datacenter (Uno Table 2; DCTCP's guideline).
    #[cfg_attr(feature = "serde", serde(rename = "bdp_over_7"))]
    BdpOver7,
    /// The queue at which the ports of the path begin to mark; where none marks, as [`Self::BdpOver7`].
    #[cfg_attr(feature = "serde", serde(rename = "ports"))]
    Ports,
}

/// A seventh of the bandwidth-delay product inside a datacenter, in bytes.
fn bdp_over_7(path: &Path) -> f64 {
    path.line_rate.bytes_per_sec_f64() * path.intra_base_rtt.as_secs_f64() / 7.0
}

impl Threshold {
    /// The threshold in bytes on this path.
    pub(crate) fn bytes(self, path: &Path) -> f64 {
        match self {
            Self::Rule(ThresholdRule::BdpOver7) => bdp_over_7(path),
            Self::Rule(ThresholdRule::Ports) => path.k_min.map_or_else(|| bdp_over_7(path), Bytes::as_f64),
            Self::Scaled { per_gbps } => per_gbps.as_f64() * path.line_rate.as_bps() as f64 * 1e-9,
            Self::Constant(bytes) => bytes.as_f64(),
        }
    }

    /// Refuses a threshold of zero, with which nothing would ever be cut.
    pub(crate) fn check(self, algorithm: &'static str) -> Result<(), ConfigError> {
        let size = match self {
            Self::Rule(_) => return Ok(()),
            Self::Scaled { per_gbps } => per_gbps,
            Self::Constant(bytes) => bytes,
        };
        let effect = "would never cut the window";
        ConfigError::if_zero(size.is_zero(), algorithm, "k", &size, effect, "a size or \"bdp_over_7\"")
    }
}

/// Where the base round trip comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum RttBase {
    /// The smallest sample of the flow; its first ACK stands for the handshake's.
    Measured,
    /// Computed from the topology.
    Given,
}

/// The share of marked bytes: counted over a period, averaged over periods.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Marks {
    /// The average, in [0, 1].
    average: f64,
    /// Bytes acknowledged in the current period, but those whose marks are not known.
    acked: Bytes,
    /// Those of them that were marked.
    marked: Bytes,
}

impl Marks {
    pub(crate) const fn new(average: f64) -> Self {
        Self { average, acked: Bytes::ZERO, marked: Bytes::ZERO }
    }

    /// Counts an ACK: the bytes of which it tells whether they came marked.
    #[inline]
    pub(crate) fn count(&mut self, ack: &Ack) {
        let told = ack.echoed_bytes();
        self.acked += told;
        if ack.ecn_ce {
            self.marked += told;
        }
    }

    /// The average over the periods that have ended.
    pub(crate) const fn average(&self) -> f64 {
        self.average
    }

    /// Bytes acknowledged in the current period, but those whose marks are not known.
    pub(crate) const fn acked(&self) -> Bytes {
        self.acked
    }

    /// Ends a period: average = (1 - gain) x average + gain x share. Gives the share; a period in which nothing was
    /// acknowledged leaves the average alone.
    #[inline(never)]
    pub(crate) fn end_period(&mut self, gain: f64) -> f64 {
        if self.acked.is_zero() {
            return 0.0;
        }
        let share = self.marked.as_f64() / self.acked.as_f64();
        self.average = (1.0 - gain) * self.average + gain * share;
        self.restart();
        share
    }

    /// Forgets the current period; the average stays.
    pub(crate) fn restart(&mut self) {
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
    }
}

/// A window of data: it ends at the first ACK of a packet that was sent after it began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct DataWindow {
    /// When it began.
    began: Time,
}

impl DataWindow {
    /// One that began at this time.
    pub(crate) const fn begun(began: Time) -> Self {
        Self { began }
    }

    /// When it began.
    pub(crate) const fn began(&self) -> Time {
        self.began
    }

    /// Begins the next one, whatever ended this.
    pub(crate) const fn begin(&mut self, now: Time) {
        self.began = now;
    }

    /// Whether news at `now` of a packet sent at `sent_at` ends it; if so, it begins the next one.
    #[inline]
    pub(crate) fn ended_at(&mut self, now: Time, sent_at: Time) -> bool {
        let ended = sent_at >= self.began;
        if ended {
            self.began = now;
        }
        ended
    }

    /// Whether this ACK ends it; if so, it begins the next one.
    #[inline]
    pub(crate) fn ended_by(&mut self, ack: &Ack) -> bool {
        self.ended_at(ack.now, ack.sent_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{AckStream, near, path, start, wan_path};

    #[test]
    fn a_seventh_of_the_bdp_inside_a_datacenter_is_25_kb_for_both_classes() {
        let rule = Threshold::Rule(ThresholdRule::BdpOver7);
        near(rule.bytes(&path()), 25_049.0, 1.0);
        near(rule.bytes(&wan_path()), 25_049.0, 1.0);
    }

    #[test]
    fn the_ports_threshold_is_that_of_the_path_s_ports_if_any_marks() {
        let rule = Threshold::Rule(ThresholdRule::Ports);
        let marking = Path { k_min: Some(Bytes::new(262_144)), ..path() };
        near(rule.bytes(&marking), 262_144.0, 0.0);
        near(rule.bytes(&path()), 25_049.0, 1.0);
    }

    #[test]
    fn gemini_s_threshold_grows_with_the_rate() {
        near(Threshold::Scaled { per_gbps: Bytes::new(75_000) }.bytes(&path()), 7_500_000.0, 1e-6);
        near(Threshold::Constant(Bytes::new(24_576)).bytes(&path()), 24_576.0, 0.0);
    }

    #[test]
    fn a_threshold_of_zero_is_refused() {
        assert!(Threshold::Constant(Bytes::ZERO).check("x").is_err());
        assert!(Threshold::Scaled { per_gbps: Bytes::ZERO }.check("x").is_err());
        assert!(Threshold::Rule(ThresholdRule::BdpOver7).check("x").is_ok());
    }

    #[test]
    fn the_average_moves_by_the_gain_towards_the_share_of_marked_bytes() {
        let mut marks = Marks::new(0.0);
        let mut acks = AckStream::new(&start());
        for marked in [true, false, false, false] {
            marks.count(&acks.next(marked));
        }
        near(marks.end_period(0.5), 0.25, 0.0);
        near(marks.average(), 0.125, 0.0);
        marks.count(&acks.next(false));
        near(marks.end_period(0.5), 0.0, 0.0);
        near(marks.average(), 0.0625, 0.0);
    }

    #[test]
    fn what_only_a_map_names_has_no_part_in_the_share() {
        for marked in [false, true] {
            let mut marks = Marks::new(0.0);
            let mut acks = AckStream::new(&start());
            marks.count(&acks.next(!marked));
            let bytes_acked = Bytes::new(3 * 4096);
            let of_three = Ack { bytes_acked, mapped: Bytes::new(2 * 4096), ..acks.next(marked) };
            marks.count(&of_three);
            assert_eq!(marks.acked(), Bytes::new(2 * 4096));
            near(marks.end_period(0.5), 0.5, 0.0);
        }
    }

    #[test]
    fn a_period_without_bytes_says_nothing() {
        let mut marks = Marks::new(1.0);
        near(marks.end_period(0.5), 0.0, 0.0);
        near(marks.average(), 1.0, 0.0);
    }

    #[test]
    fn a_round_ends_with_the_ack_of_a_packet_sent_after_it_began() {
        let mut round = DataWindow::default();
        let mut acks = AckStream::new(&start());
        let first = acks.next(false);
        assert!(round.ended_by(&first), "the first ACK of a flow begins the first full round");
        let before = Ack { sent_at: Time::from_ps(first.now.as_ps() - 1), ..acks.next(false) };
        assert!(!round.ended_by(&before));
        let after = Ack { sent_at: first.now, ..acks.next(false) };
        assert!(round.ended_by(&after));
        assert!(!round.ended_by(&after));
    }
}
