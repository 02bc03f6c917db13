//! The round-trip estimate of RFC 6298, in integer picoseconds.
//!
//! Every ACK gives a sample, of an original or of a retransmission: the ACK echoes the send time of the transmission
//! that it acknowledges, so Karn's rule is not needed. The gains are per sample, as printed; RFC 7323 appendix G, which
//! scales them by the samples per round trip, is left out.

use farspan_units::Duration;

/// A smoothed round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Smoothed(Duration);

impl Smoothed {
    /// Before the first sample.
    pub(crate) const NONE: Self = Self(Duration::MAX);

    /// The smoothed round trip; `None` before the first sample.
    pub(crate) const fn get(self) -> Option<Duration> {
        if self.0.as_ps() == Duration::MAX.as_ps() { None } else { Some(self.0) }
    }

    /// Takes a sample: (2.2) SRTT <- R; (2.3) SRTT <- 7/8 SRTT + 1/8 R'.
    #[inline]
    pub(crate) fn update(&mut self, sample: Duration) {
        let (srtt, r) = (self.0.as_ps(), sample.as_ps());
        self.0 = if self.0 == Duration::MAX { sample } else { Duration::from_ps(srtt - srtt / 8 + r / 8) };
    }
}

/// Smoothed round trip, its variation and its minimum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RttEstimate {
    /// Smoothed round trip.
    srtt: Smoothed,
    /// Mean deviation of the samples.
    rttvar: Duration,
    /// Smallest sample.
    min: Duration,
}

impl Default for RttEstimate {
    fn default() -> Self {
        Self { srtt: Smoothed::NONE, rttvar: Duration::ZERO, min: Duration::MAX }
    }
}

impl RttEstimate {
    /// The smoothed round trip; `None` before the first sample.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        self.srtt.get()
    }

    /// The smoothed round trip, in its stored form.
    #[inline]
    pub(crate) const fn smoothed(&self) -> Smoothed {
        self.srtt
    }

    /// The smallest sample; [`Duration::MAX`] before the first.
    #[must_use]
    pub const fn min(&self) -> Duration {
        self.min
    }

    /// Takes a sample.
    #[inline]
    pub fn update(&mut self, sample: Duration) {
        self.rttvar = match self.srtt.get() {
            // (2.2) RTTVAR <- R/2
            None => sample / 2,
            // (2.3) RTTVAR <- 3/4 RTTVAR + 1/4 |SRTT - R'|, with the SRTT from before the sample
            Some(srtt) => {
                let deviation = srtt.as_ps().abs_diff(sample.as_ps());
                Duration::from_ps(self.rttvar.as_ps() - self.rttvar.as_ps() / 4 + deviation / 4)
            }
        };
        self.srtt.update(sample);
        self.min = self.min.min(sample);
    }

    /// The time-out: SRTT + max(`variance_floor`, 4 RTTVAR) (2.3, with `variance_floor` for the clock's granularity G), at
    /// least `min` (2.4). Under a steady round trip RTTVAR falls to nothing: without a floor under it, any later packet
    /// would time out.
    #[must_use]
    #[inline]
    pub fn rto(&self, variance_floor: Duration, min: Duration) -> Duration {
        (self.srtt().unwrap_or(Duration::ZERO) + (self.rttvar * 4).max(variance_floor)).max(min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn after(samples: &[u64]) -> RttEstimate {
        let mut estimate = RttEstimate::default();
        samples.iter().for_each(|&us| estimate.update(Duration::from_us(us)));
        estimate
    }

    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_the_variation() {
        let estimate = after(&[100]);
        assert_eq!(estimate.srtt(), Some(Duration::from_us(100)));
        assert_eq!(estimate.rto(Duration::ZERO, Duration::ZERO), Duration::from_us(300));
        assert_eq!(RttEstimate::default().srtt(), None);
    }

    #[test]
    fn the_second_sample_moves_them_by_an_eighth_and_a_quarter() {
        let estimate = after(&[100, 180]);
        assert_eq!(estimate.srtt(), Some(Duration::from_us(110)));
        // RTTVAR = 3/4 x 50 + 1/4 x 80 = 57.5
        assert_eq!(estimate.rto(Duration::ZERO, Duration::ZERO), Duration::from_us(110 + 230));
    }

    #[test]
    fn the_variation_uses_the_srtt_from_before_the_sample() {
        // With the new SRTT (120) the variation would be 3/4 x 50 + 1/4 x 140.
        let estimate = after(&[100, 260]);
        assert_eq!(
            estimate.rto(Duration::ZERO, Duration::ZERO),
            Duration::from_us(120) + Duration::from_ns(4 * 77_500)
        );
    }

    #[test]
    fn the_minimum_is_kept() {
        assert_eq!(after(&[100, 20, 500]).min(), Duration::from_us(20));
    }

    #[test]
    fn a_steady_round_trip_times_out_no_earlier_than_the_floor_after_it() {
        let estimate = after(&[100; 200]);
        assert!(estimate.rto(Duration::ZERO, Duration::ZERO) < Duration::from_us(101));
        assert_eq!(estimate.rto(Duration::from_ms(1), Duration::ZERO), Duration::from_us(1100));
    }

    proptest! {
        #[test]
        fn the_estimate_stays_between_the_smallest_and_the_largest_sample(
            samples in prop::collection::vec(1_000u64..1_000_000_000_000, 1..100),
        ) {
            let mut estimate = RttEstimate::default();
            samples.iter().for_each(|&ps| estimate.update(Duration::from_ps(ps)));
            let srtt = estimate.srtt().unwrap().as_ps();
            let (min, max) = (samples.iter().min().unwrap(), samples.iter().max().unwrap());
            // Integer division loses at most 8 ps a step, and an eighth of the loss is forgotten each step.
            prop_assert!(srtt + 64 >= *min && srtt <= max + 64, "{srtt} outside {min}..{max}");
            prop_assert_eq!(estimate.min().as_ps(), *min);
        }
    }
}
