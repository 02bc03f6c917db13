//! Pacing: the gap between two packets of a flow.
//!
//! A pacer is the time at which the next packet may leave. Each packet moves it on by the packet's wire size over the
//! pacing rate; a packet that leaves late keeps the schedule, up to a burst of one packet, so that the mean rate is the
//! pacing rate however busy the NIC is with other flows. The rate when a packet leaves sets the gap after it; a rate
//! that changes meanwhile counts from the next packet on. A control that wants no packet closes its window; a rate of
//! zero would hold the flow for ever.

use farspan_units::{Bytes, Rate, Time};

/// The pacer of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pacer {
    /// When the next packet may leave.
    next: Time,
}

impl Pacer {
    /// A pacer that lets the first packet leave at `now`.
    pub(crate) const fn new(now: Time) -> Self {
        Self { next: now }
    }

    /// When the next packet may leave; may lie in the past.
    #[inline]
    pub(crate) const fn next(&self) -> Time {
        self.next
    }

    /// A packet of `wire` bytes leaves at `now`; from `line_rate` on the NIC itself sets the pace.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, wire: Bytes, rate: Rate, line_rate: Rate) {
        self.next =
            if rate < line_rate { self.next.saturating_add(rate.transmission(wire)).max(now) } else { now };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_units::Duration;

    const LINE: Rate = Rate::from_gbps(100);
    const WIRE: Bytes = Bytes::new(4160);

    fn ns(ns: u64) -> Time {
        Time::ZERO + Duration::from_ns(ns)
    }

    #[test]
    fn packets_leave_one_wire_time_at_the_pacing_rate_apart() {
        let mut pacer = Pacer::new(ns(1000));
        assert_eq!(pacer.next(), ns(1000));
        pacer.on_sent(ns(1000), WIRE, Rate::from_gbps(10), LINE);
        assert_eq!(pacer.next(), ns(1000 + 3328));
    }

    #[test]
    fn at_line_rate_or_above_the_nic_sets_the_pace() {
        for rate in [LINE, Rate::from_gbps(400)] {
            let mut pacer = Pacer::new(ns(0));
            pacer.on_sent(ns(500), WIRE, rate, LINE);
            assert_eq!(pacer.next(), ns(500));
        }
    }

    #[test]
    fn a_packet_held_up_by_the_nic_does_not_lower_the_rate() {
        let mut pacer = Pacer::new(ns(0));
        pacer.on_sent(ns(300), WIRE, Rate::from_gbps(10), LINE);
        assert_eq!(pacer.next(), ns(3328));
    }

    #[test]
    fn after_a_pause_one_packet_may_follow_at_once_and_no_more() {
        let mut pacer = Pacer::new(ns(0));
        pacer.on_sent(ns(50_000), WIRE, Rate::from_gbps(10), LINE);
        assert_eq!(pacer.next(), ns(50_000));
        pacer.on_sent(ns(50_000), WIRE, Rate::from_gbps(10), LINE);
        assert_eq!(pacer.next(), ns(53_328));
    }

    #[test]
    fn a_rate_of_zero_holds_the_next_packet_for_ever() {
        let mut pacer = Pacer::new(ns(0));
        pacer.on_sent(ns(0), WIRE, Rate::ZERO, LINE);
        assert_eq!(pacer.next(), Time::MAX);
    }
}
