//! The rate at which a window leaves: spread over one round trip.

use super::Start;
use farspan_units::{Duration, Rate};

/// Which round trip the packets of a window are spread over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub enum Pacing {
    /// The path's base round trip.
    BaseRtt,
    /// The smoothed round trip, with gain 1/8 (RFC 6298 section 2).
    Srtt,
    /// None: packets leave as fast as the NIC lets them.
    Off,
}

/// Gain of the smoothed round trip (RFC 6298 section 2).
const SRTT_GAIN: f64 = 0.125;

/// Turns windows into rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Pace {
    /// Which round trip.
    pacing: Pacing,
    /// Bits on the wire for each byte of window.
    bits_per_byte: f64,
    /// The round trip, in seconds.
    rtt: f64,
    /// Whether `rtt` has seen a sample.
    sampled: bool,
}

impl Pace {
    /// Before the first sample the path's base round trip serves. `headers`: the window is payload and its headers
    /// come on top; otherwise they share the window's rate.
    pub(super) fn new(pacing: Pacing, headers: bool, start: &Start<'_>) -> Self {
        let path = start.path;
        let share = if headers { path.mtu().as_f64() / path.mss.as_f64() } else { 1.0 };
        Self { pacing, bits_per_byte: 8.0 * share, rtt: path.base_rtt.as_secs_f64(), sampled: false }
    }

    /// Takes a round trip in.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        if self.pacing != Pacing::Srtt {
            return;
        }
        let rtt = rtt.as_secs_f64();
        self.rtt = if self.sampled { self.rtt + SRTT_GAIN * (rtt - self.rtt) } else { rtt };
        self.sampled = true;
    }

    /// The rate, on the wire, for a window of `cwnd` payload bytes.
    pub(super) fn rate(&self, cwnd: f64) -> Option<Rate> {
        if self.pacing == Pacing::Off {
            return None;
        }
        Some(Rate::from_bps(((cwnd * self.bits_per_byte / self.rtt) as u64).max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{near, start};

    fn gbps(pace: &Pace, cwnd: f64) -> f64 {
        pace.rate(cwnd).expect("paced").as_bps() as f64 * 1e-9
    }

    #[test]
    fn one_bdp_leaves_at_line_rate_and_its_headers_on_top() {
        let bdp = start().path.bdp.as_f64();
        near(gbps(&Pace::new(Pacing::BaseRtt, false, &start()), bdp), 100.0, 0.001);
        near(gbps(&Pace::new(Pacing::BaseRtt, true, &start()), bdp), 100.0 * 4160.0 / 4096.0, 0.001);
    }

    #[test]
    fn the_base_round_trip_is_never_learnt() {
        let mut pace = Pace::new(Pacing::BaseRtt, false, &start());
        let before = pace;
        pace.on_rtt(Duration::from_ms(1));
        assert_eq!(pace, before);
    }

    #[test]
    fn the_first_sample_is_the_smoothed_round_trip_and_each_next_moves_it_by_an_eighth() {
        let mut pace = Pace::new(Pacing::Srtt, false, &start());
        near(gbps(&pace, 175_344.0), 100.0, 0.001);
        pace.on_rtt(Duration::from_us(80));
        near(gbps(&pace, 100_000.0), 10.0, 1e-6);
        pace.on_rtt(Duration::from_us(160));
        near(gbps(&pace, 100_000.0), 100_000.0 * 8.0 / 90e-6 * 1e-9, 1e-6);
    }

    #[test]
    fn off_is_as_fast_as_the_nic() {
        assert_eq!(Pace::new(Pacing::Off, true, &start()).rate(4096.0), None);
    }
}
