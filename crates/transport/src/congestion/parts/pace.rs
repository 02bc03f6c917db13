//! The rate at which a window leaves: spread over one round trip.

use crate::path::Path;
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

/// How the windows of a path turn into rates.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct PaceParams {
    /// Which round trip.
    pacing: Pacing,
    /// Bits on the wire for each byte of window, with the gain.
    bits_per_byte: f64,
    /// The base round trip, in seconds.
    base_rtt: f64,
}

impl PaceParams {
    /// `headers`: the window is payload and its headers come on top; otherwise they share the window's rate.
    pub(crate) fn new(pacing: Pacing, headers: bool, path: &Path) -> Self {
        let share = if headers { path.mtu().as_f64() / path.mss.as_f64() } else { 1.0 };
        Self { pacing, bits_per_byte: 8.0 * share, base_rtt: path.base_rtt.as_secs_f64() }
    }

    /// Multiplies the rate by `gain`: the rate is then `gain` windows in a round trip.
    pub(crate) fn with_gain(mut self, gain: f64) -> Self {
        self.bits_per_byte *= gain;
        self
    }
}

/// The state of one flow, beside its window, that its rate depends on.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Pace {
    /// The smoothed round trip, in seconds; 0 before the first sample, when the path's base round trip serves, and
    /// where the pacing rule does not use it.
    srtt: f64,
}

impl Pace {
    /// Takes a round trip in.
    #[inline]
    pub(crate) fn on_rtt(&mut self, params: &PaceParams, rtt: Duration) {
        if params.pacing == Pacing::Srtt {
            self.smooth(rtt);
        }
    }

    /// The smoothed round trip, in seconds; zero before the first.
    pub(crate) const fn srtt(&self) -> f64 {
        self.srtt
    }

    /// Takes a round trip in, whatever the rule.
    #[inline(never)]
    pub(crate) fn smooth(&mut self, rtt: Duration) {
        let rtt = rtt.as_secs_f64();
        self.srtt = if self.srtt > 0.0 { self.srtt + SRTT_GAIN * (rtt - self.srtt) } else { rtt };
    }

    /// The rate, on the wire, for a window of `cwnd` payload bytes.
    #[inline]
    pub(crate) fn rate(&self, params: &PaceParams, cwnd: f64) -> Option<Rate> {
        let rtt = match params.pacing {
            Pacing::Off => return None,
            Pacing::Srtt if self.srtt > 0.0 => self.srtt,
            Pacing::Srtt | Pacing::BaseRtt => params.base_rtt,
        };
        Some(Rate::from_bps(((cwnd * params.bits_per_byte / rtt) as i64).max(1) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::testing::{near, path};

    fn gbps(pace: &Pace, params: &PaceParams, cwnd: f64) -> f64 {
        pace.rate(params, cwnd).expect("paced").as_bps() as f64 * 1e-9
    }

    #[test]
    fn one_bdp_leaves_at_line_rate_and_its_headers_on_top() {
        let bdp = path().bdp.as_f64();
        let rate = |headers| gbps(&Pace::default(), &PaceParams::new(Pacing::BaseRtt, headers, &path()), bdp);
        near(rate(false), 100.0, 0.001);
        near(rate(true), 100.0 * 4160.0 / 4096.0, 0.001);
    }

    #[test]
    fn a_gain_spreads_a_window_over_less_than_a_round_trip() {
        let bdp = path().bdp.as_f64();
        let params = PaceParams::new(Pacing::BaseRtt, false, &path()).with_gain(1.2);
        near(gbps(&Pace::default(), &params, bdp), 120.0, 0.001);
    }

    #[test]
    fn the_base_round_trip_is_never_learnt() {
        let (mut pace, params) = (Pace::default(), PaceParams::new(Pacing::BaseRtt, false, &path()));
        pace.on_rtt(&params, Duration::from_ms(1));
        assert_eq!(pace, Pace::default());
    }

    #[test]
    fn the_first_sample_is_the_smoothed_round_trip_and_each_next_moves_it_by_an_eighth() {
        let (mut pace, params) = (Pace::default(), PaceParams::new(Pacing::Srtt, false, &path()));
        near(gbps(&pace, &params, 175_344.0), 100.0, 0.001);
        pace.on_rtt(&params, Duration::from_us(80));
        near(gbps(&pace, &params, 100_000.0), 10.0, 1e-6);
        pace.on_rtt(&params, Duration::from_us(160));
        near(gbps(&pace, &params, 100_000.0), 100_000.0 * 8.0 / 90e-6 * 1e-9, 1e-6);
    }

    #[test]
    fn off_is_as_fast_as_the_nic() {
        assert_eq!(Pace::default().rate(&PaceParams::new(Pacing::Off, true, &path()), 4096.0), None);
    }
}
