//! MPD, the maximum per-hop delay: "Poseidon: Efficient, Robust, and Practical Datacenter CC via Deployable INT" (NSDI 2023), section
//! 3.1.
//!
//! A packet carries the state of the port with the largest queueing delay so far, the earliest one where several are alike. Left out: the paper's field has that delay alone; here the state stays whole.

use farspan_units::{HopTelemetry, Telemetry};

#[inline]
pub(super) fn stamp(telemetry: &mut Telemetry, hop: HopTelemetry) {
    if telemetry.hops().first().is_none_or(|kept| hop.queueing_delay() > kept.queueing_delay()) {
        telemetry.replace(hop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::{Bytes, Duration, Rate};

    #[test]
    fn of_queues_the_one_that_takes_longest_to_send_stays_whatever_its_bytes() {
        let hop = |bytes, gbps| HopTelemetry {
            queued: Bytes::new(bytes),
            rate: Rate::from_gbps(gbps),
            ..HopTelemetry::default()
        };
        let mut telemetry = Telemetry::default();
        let [short, long, fast, alike] = [hop(0, 100), hop(10_000, 100), hop(30_000, 400), hop(20_000, 200)];
        for (next, kept) in [(short, short), (long, long), (fast, long), (alike, long)] {
            stamp(&mut telemetry, next);
            assert_eq!(telemetry.hops(), [kept]);
        }
        assert_eq!(long.queueing_delay(), Duration::from_ns(800));
    }
}
