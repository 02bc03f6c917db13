//! How long a proxy takes over a packet.

use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::{Duration, Random};

/// Why points are no distribution.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum DelayError {
    /// There is none, or they do not begin at probability 0 and end at 1.
    #[error("the points of a delay go from probability 0 to 1; give a first point at 0 and a last one at 1")]
    Ends,
    /// They do not rise.
    #[error(
        "point {place} of a delay lies below the one before; give probabilities and times in rising order"
    )]
    Falls {
        /// Which one.
        place: usize,
    },
}

/// How long a proxy takes over a packet.
#[derive(Clone, PartialEq, Debug)]
pub enum Delay {
    /// Always the same time.
    Constant(Duration),
    /// Drawn for each packet: linear between points of probability and time.
    Drawn(Arc<[(f64, Duration)]>),
}

impl Default for Delay {
    fn default() -> Self {
        Self::Constant(Duration::ZERO)
    }
}

impl Delay {
    /// A distribution with these points.
    ///
    /// # Errors
    /// [`DelayError`].
    pub fn drawn(points: Vec<(f64, Duration)>) -> Result<Self, DelayError> {
        let is_whole = points.first().is_some_and(|first| first.0 == 0.0)
            && points.last().is_some_and(|last| last.0 == 1.0);
        if !is_whole {
            return Err(DelayError::Ends);
        }
        let falls = |pair: &[(f64, Duration)]| !(pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1);
        if let Some(place) = points.windows(2).position(falls) {
            return Err(DelayError::Falls { place: place + 1 });
        }
        Ok(Self::Drawn(points.into()))
    }

    /// The time of the next packet.
    pub(crate) fn draw(&self, random: &mut Random) -> Duration {
        match self {
            Self::Constant(delay) => *delay,
            Self::Drawn(points) => at(points, random.uniform()),
        }
    }
}

/// The time at this probability.
fn at(points: &[(f64, Duration)], probability: f64) -> Duration {
    let after = points.partition_point(|point| point.0 <= probability).min(points.len() - 1);
    let ((low, from), (high, to)) = (points[after.saturating_sub(1)], points[after]);
    if high <= low {
        return to;
    }
    from + (to.saturating_sub(from)).mul_f64((probability - low) / (high - low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Purpose;

    fn us(us: u64) -> Duration {
        Duration::from_us(us)
    }

    #[test]
    fn times_lie_on_the_line_between_points() {
        let points = [(0.0, us(0)), (0.5, us(10)), (1.0, us(30))];
        for (probability, expected) in [(0.0, 0), (0.25, 5), (0.5, 10), (0.75, 20), (1.0, 30)] {
            assert_eq!(at(&points, probability), us(expected), "{probability}");
        }
    }

    #[test]
    fn draws_have_the_median_of_the_points() {
        let delay = Delay::drawn(alloc::vec![(0.0, us(0)), (0.5, us(4)), (1.0, us(100))]).unwrap();
        let mut random = Random::new(1, Purpose::Test, 0);
        let below = (0..10_000).filter(|_| delay.draw(&mut random) < us(4)).count();
        assert!((4_800..5_200).contains(&below), "{below}");
        assert_eq!(Delay::default().draw(&mut random), Duration::ZERO);
    }

    #[test]
    fn points_that_are_no_distribution_are_refused() {
        let drawn = |points: &[(f64, Duration)]| Delay::drawn(points.to_vec());
        assert_eq!(drawn(&[]), Err(DelayError::Ends));
        assert_eq!(drawn(&[(0.0, us(1)), (0.9, us(2))]), Err(DelayError::Ends));
        assert_eq!(drawn(&[(0.0, us(2)), (1.0, us(1))]), Err(DelayError::Falls { place: 1 }));
        let crossed = [(0.0, us(1)), (0.7, us(2)), (0.6, us(3)), (1.0, us(4))];
        assert_eq!(drawn(&crossed), Err(DelayError::Falls { place: 2 }));
    }
}
