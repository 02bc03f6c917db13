//! Congestion marks: RED and step thresholds on the real queue, RED on a phantom counter.
//!
//! Its page: `docs/src/schemes/ports.md`.

use super::phantom::{PhantomModel, PhantomQueue};
use crate::port_config::{Marker, PortConfig, Red};
use farspan_units::random::Random;
use farspan_units::{Bytes, Duration, Rate, TelemetryKind, Time};

/// A quantity that RED compares, with its thresholds in the same unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ramp {
    min: u64,
    max: u64,
    /// Where the slope would come to a probability of 1, above `min`.
    width: u64,
}

impl Ramp {
    /// Never marks.
    const OFF: Self = Self { min: u64::MAX, max: u64::MAX, width: 0 };

    /// Always marks above a threshold.
    const fn step(at: u64) -> Self {
        Self { min: at, max: at, width: 0 }
    }

    /// The ramp of RED. `level` turns its sizes into the unit that is compared.
    fn new(red: Red, level: impl Fn(Bytes) -> u64) -> Self {
        let (min, max) = (level(red.min), level(red.max));
        let height = max.saturating_sub(min);
        // Exact where nothing is to be stretched.
        let width =
            if red.max_probability < 1.0 { (height as f64 / red.max_probability) as u64 } else { height };
        Self { min, max, width }
    }

    /// Never up to `min`, always above `max`, linear between (Uno section 5.1). Draws only on the slope.
    #[inline]
    fn marks(self, level: u64, random: &mut Random) -> bool {
        level > self.min && (level > self.max || self.marks_on_slope(level, random))
    }

    fn marks_on_slope(self, level: u64, random: &mut Random) -> bool {
        // P(mark) = P_max (level - min) / (max - min), compared as integers.
        let draw = random.bits() >> 32;
        u128::from(draw) * u128::from(self.width) < u128::from(level - self.min) << 32
    }
}

/// The markers of a port, thresholds ready for comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Marking {
    pub(super) phantom: Option<PhantomModel>,
    /// From this level of the real queue on, a marker that reads it may mark; zero where the port wants to see every
    /// packet.
    loud: u64,
    /// On the real queue, in bytes; at a FIFO port, in picoseconds of sending.
    queue: Ramp,
    /// A step on the real queue, in the same unit.
    step: Ramp,
    /// On the phantom queue, in picoseconds of draining.
    phantom_ramp: Ramp,
}

impl Marking {
    /// # Panics
    /// If a port has two markers of one kind, or a phantom marker without a phantom queue: a configuration error that
    /// the scenario refuses earlier.
    pub(super) fn new(config: &PortConfig, rate: Rate, fifo: bool) -> Self {
        let level = |bytes: Bytes| if fifo { rate.transmission(bytes).as_ps() } else { bytes.get() };
        let phantom = config.phantom.map(|phantom| PhantomModel::new(&phantom, rate));
        let (queue, step, phantom_ramp) = (Ramp::OFF, Ramp::OFF, Ramp::OFF);
        let mut marking = Self { phantom, loud: 0, queue, step, phantom_ramp };
        for marker in &config.markers {
            let slot = match marker {
                Marker::Queue(_) => &mut marking.queue,
                Marker::Step(_) => &mut marking.step,
                Marker::Phantom(_) => &mut marking.phantom_ramp,
            };
            assert!(*slot == Ramp::OFF, "one marker of each kind");
            *slot = match *marker {
                Marker::Queue(red) => Ramp::new(red, level),
                Marker::Step(k) => Ramp::step(level(k)),
                Marker::Phantom(red) => {
                    let drain = phantom.expect("a phantom marker looks at a phantom queue").drain;
                    Ramp::new(red, |bytes| drain.transmission(bytes).as_ps())
                }
            };
        }
        if config.telemetry == TelemetryKind::None {
            marking.loud = marking.queue.min.min(marking.step.min).saturating_add(1);
        }
        marking
    }

    /// At a FIFO port: up to this much to send, a packet changes nothing and is not marked.
    pub(super) fn unmarked(&self) -> Duration {
        Duration::from_ps(if self.phantom.is_some() { 0 } else { self.loud.saturating_sub(1) })
    }

    /// Whether the state of the queues now marks a data packet: any marker does. `level`: of the real queue,
    /// in bytes; if that of a FIFO port, in picoseconds of sending.
    #[inline(always)]
    pub(super) fn marks(&self, now: Time, level: u64, phantom: PhantomQueue, random: &mut Random) -> bool {
        let lag = phantom.lag(now).as_ps();
        self.is_loud(level, lag) && self.marks_now(level, lag, random)
    }

    /// Whether a data packet may have to be marked, or is to be looked at.
    #[inline(always)]
    pub(super) fn may_act(&self, now: Time, level: u64, phantom: PhantomQueue) -> bool {
        self.is_loud(level, phantom.lag(now).as_ps())
    }

    /// Whether [`Self::marks_now`] can be true. `lag`: of the phantom queue, in picoseconds of draining.
    #[inline(always)]
    const fn is_loud(&self, level: u64, lag: u64) -> bool {
        level >= self.loud || lag > self.phantom_ramp.min
    }

    fn marks_now(&self, queued: u64, lag: u64, random: &mut Random) -> bool {
        self.queue.marks(queued, random)
            || self.step.marks(queued, random)
            || self.phantom_ramp.marks(lag, random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Purpose;

    #[test]
    fn red_marks_with_the_linear_probability_within_three_sigma() {
        let mut random = Random::new(3, Purpose::Mark, 0);
        for max_probability in [1.0, 0.2, 0.01] {
            let red = Red { max_probability, ..Red::new(Bytes::new(250), Bytes::new(750)) };
            let ramp = Ramp::new(red, Bytes::get);
            for level in [250_u64, 300, 500, 700, 750, 751] {
                let n = 100_000;
                let marks = (0..n).filter(|_| ramp.marks(level, &mut random)).count() as f64;
                let p = if level > 750 { 1.0 } else { max_probability * (level as f64 - 250.0) / 500.0 };
                let sigma = (f64::from(n) * p * (1.0 - p)).sqrt();
                assert!(
                    (marks - f64::from(n) * p).abs() <= 3.0 * sigma,
                    "level {level} of {max_probability}: {marks} of {n}, expected {p}"
                );
            }
        }
    }

    #[test]
    fn red_without_a_slope_is_a_step() {
        let (at, mut random) = (Bytes::new(500), Random::new(3, Purpose::Mark, 0));
        for max_probability in [1.0, 0.1] {
            let ramp = Ramp::new(Red { max_probability, ..Red::new(at, at) }, Bytes::get);
            assert_eq!([499, 500, 501].map(|level| ramp.marks(level, &mut random)), [false, false, true]);
        }
    }
}
