//! Jitter of what leaves a link's near end: uniform per data packet; all packets keep their order.
//!
//! Exact clocks lock a drop-tail queue to one of its inputs (Floyd and Jacobson, "On Traffic Phase Effects in
//! Packet-Switched Gateways", 1992); real hosts and switches are not that exact. The mean rate is kept, since the clock
//! that sends is not touched: only the way varies.

use farspan_units::{Duration, Purpose, Random, Time};

/// The jitter of one link.
#[derive(Clone, Debug)]
pub struct Jitter {
    random: Random,
    /// When the last packet arrives: the next one must not come before.
    last: Time,
}

impl Jitter {
    /// `entity` keeps the draws of links apart.
    pub const fn new(seed: u64, entity: u64) -> Self {
        Self { random: Random::new(seed, Purpose::Jitter, entity), last: Time::ZERO }
    }

    /// The arrival of a packet that would arrive at `at`, delayed by up to `max` (equal for all packets;
    /// zero: off); `vary`: whether it may be delayed, or just keeps the order. Call in the order in which
    /// packets leave.
    #[inline(always)]
    pub fn arrival(&mut self, at: Time, max: Duration, vary: bool) -> Time {
        if max.is_zero() {
            return at;
        }
        let late = if vary { self.random.below(max.as_ps() + 1) } else { 0 };
        // Two packets of one link never arrive at one instant.
        self.last = (at + Duration::from_ps(late)).max(self.last + Duration::from_ps(1));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_keep_their_order_and_their_mean_rate() {
        let packet = Duration::from_ps(332_800);
        let mut jitter = Jitter::new(1, 0);
        let mut last = Time::ZERO;
        let mut late = 0;
        for n in 0..100_000 {
            let at = Time::ZERO + packet * n;
            let arrival = jitter.arrival(at, packet, true);
            assert!(arrival > last && arrival.since(at) <= packet);
            late += arrival.since(at).as_ps();
            last = arrival;
        }
        // Uniform in [0, 1], held back by the packet before: the mean of max(U1, U0 - 1) is 1/2, since U0 - 1 <= 0.
        let mean = late as f64 / 1e5 / 332_800.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }

    #[test]
    fn without_jitter_nothing_changes() {
        let mut jitter = Jitter::new(1, 0);
        assert_eq!(jitter.arrival(Time::from_ps(5), Duration::ZERO, true), Time::from_ps(5));
    }

    #[test]
    fn a_packet_that_does_not_vary_still_waits_for_the_one_before() {
        const MAX: Duration = Duration::from_ns(100);
        let mut jitter = Jitter::new(1, 0);
        let first = jitter.arrival(Time::from_ps(0), MAX, true);
        assert!(first > Time::from_ps(10), "the draw under this seed");
        assert_eq!(jitter.arrival(Time::from_ps(10), MAX, false), first + Duration::from_ps(1));
        assert_eq!(jitter.arrival(Time::from_ps(1_000_000), MAX, false), Time::from_ps(1_000_000));
    }
}
