//! The phantom queue: a counter of bytes that drains more slowly than the link, so that marks come before a queue forms.
//!
//! Its page: `docs/src/schemes/ports.md`.

use crate::port_config::Phantom;
use farspan_units::{Bytes, Duration, Rate, Time};

/// How a phantom queue fills and drains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PhantomModel {
    /// Drain rate: a fraction of the link's.
    pub(super) drain: Rate,
    /// How long a byte takes to drain, in 2^-32 ps: exact to far below a picosecond a packet, without a division.
    byte_time: u64,
    /// How long a full counter takes to drain.
    full: Duration,
    /// Whether dropped packets count too.
    pub(super) count_dropped: bool,
}

impl PhantomModel {
    pub(super) fn new(config: &Phantom, rate: Rate) -> Self {
        let drain = rate.mul_f64(config.drain);
        let byte_time = (8_000_000_000_000_u128 << 32) / u128::from(drain.as_bps().max(1));
        Self {
            drain,
            byte_time: u64::try_from(byte_time).unwrap_or(u64::MAX),
            full: drain.transmission(config.size),
            count_dropped: config.count_dropped,
        }
    }

    #[inline]
    fn drain_time(&self, size: Bytes) -> Duration {
        let time = u128::from(self.byte_time) * u128::from(size.get());
        Duration::from_ps(((time + (1 << 31)) >> 32) as u64)
    }
}

/// A phantom queue, kept as the instant at which it would be empty: no drift, no timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PhantomQueue {
    /// When the counter reaches zero if nothing is added.
    empty_at: Time,
}

impl PhantomQueue {
    pub(super) const EMPTY: Self = Self { empty_at: Time::ZERO };

    /// Counts a packet; the counter saturates at its size.
    #[inline]
    pub(super) fn add(&mut self, now: Time, size: Bytes, model: &PhantomModel) {
        let lag = self.lag(now) + model.drain_time(size);
        self.empty_at = now + lag.min(model.full);
    }

    #[inline]
    pub(super) fn lag(&self, now: Time) -> Duration {
        self.empty_at.since(now)
    }

    /// The counter, in bytes.
    pub(super) fn level(&self, now: Time, model: &PhantomModel) -> Bytes {
        model.drain.bytes_in(self.lag(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port of 100 Gb/s whose counter drains at nine tenths of that.
    fn model(size: u64) -> PhantomModel {
        let config = Phantom { size: Bytes::new(size), drain: 0.9, count_dropped: false };
        PhantomModel::new(&config, Rate::from_gbps(100))
    }

    #[test]
    fn a_phantom_queue_follows_its_closed_form() {
        // Packets of 4,160 B every 332.8 ns (100 Gb/s) into a counter that drains at 90 Gb/s: after n packets it holds
        // n x 4160 - 90 Gb/s x (n - 1) x 332.8 ns.
        let (mut phantom, model) = (PhantomQueue::EMPTY, model(25_000_000));
        let gap = Duration::from_ps(332_800);
        for n in 1..=10_000_u64 {
            let now = Time::ZERO + gap * (n - 1);
            phantom.add(now, Bytes::new(4160), &model);
            let expected = n as f64 * 4160.0 - 90e9 / 8.0 * (gap * (n - 1)).as_secs_f64();
            let level = phantom.level(now, &model).as_f64();
            assert!((level - expected).abs() <= 1.0 + n as f64 * 0.006, "{n}: {level} against {expected}");
        }
        let full = phantom.level(Time::ZERO + gap * 9999, &model);
        let later = Time::ZERO + gap * 9999 + Duration::from_us(100);
        let drained = full.get() - phantom.level(later, &model).get();
        assert!(drained.abs_diff(1_125_000) <= 1, "100 us at 90 Gb/s drain 1,125,000 B, not {drained}");
    }

    #[test]
    fn a_phantom_queue_saturates_and_empties() {
        let (mut phantom, model) = (PhantomQueue::EMPTY, model(10_000));
        for _ in 0..100 {
            phantom.add(Time::ZERO, Bytes::new(4160), &model);
        }
        assert!(phantom.level(Time::ZERO, &model).get().abs_diff(10_000) <= 1);
        assert_eq!(phantom.level(Time::ZERO + Duration::from_us(1), &model), Bytes::ZERO);
    }
}
