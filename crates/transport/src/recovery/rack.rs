//! Loss detection by time, after RACK (RFC 8985 section 6).
//!
//! A packet is lost when one that left at least the reordering window later has been acknowledged. Left out: the
//! reordering timer (step 5: a packet is judged when an ACK arrives), the tail-loss probe (section 7: the packet's
//! own time-out covers the tail) and the decay of the window after 16 recoveries (step 4). The ACK echoes the send
//! time, so no transmission is mistaken for another (step 2's guard).

use super::{Acked, Recover, RttEstimate, Verdict};
use farspan_units::{Duration, Time};

/// The state of RACK.
#[derive(Debug, Default)]
pub(crate) struct Rack {
    /// Send time of the newest transmission that was acknowledged (RACK.xmit_ts).
    newest: Time,
    /// Losses that proved spurious, counted at most once a round trip (RACK.reo_wnd_mult - 1).
    spurious: u32,
    /// When the window may grow again.
    grows_after: Time,
}

impl Rack {
    pub(super) fn new(_now: Time) -> Self {
        Self::default()
    }

    /// Transmissions that left at this instant or before are lost; `None`: none are.
    #[inline]
    fn lost_until(&self, rtt: &RttEstimate) -> Option<Time> {
        // reo_wnd = min(reo_wnd_mult x min_RTT / 4, SRTT) (step 4)
        let window = (rtt.min() / 4).as_ps().saturating_mul(u64::from(self.spurious) + 1);
        let window = window.min(rtt.srtt()?.as_ps()).max(1);
        self.newest.as_ps().checked_sub(window).map(Time::from_ps)
    }
}

impl Recover for Rack {
    fn wants_acks(&self) -> bool {
        true
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: Acked, rtt: &RttEstimate) -> Verdict {
        self.newest = self.newest.max(ack.sent_at);
        Verdict { lost_until: self.lost_until(rtt), is_earlier: false }
    }

    fn on_spurious(&mut self, now: Time, rtt: &RttEstimate) {
        if now >= self.grows_after {
            self.spurious = self.spurious.saturating_add(1);
            self.grows_after = now + rtt.srtt().unwrap_or(Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    fn rtt(us: u64) -> RttEstimate {
        let mut estimate = RttEstimate::default();
        estimate.update(Duration::from_us(us));
        estimate
    }

    /// The ACK of a transmission that left at so many microseconds.
    fn acked(rack: &mut Rack, sent_at: u64) {
        rack.on_ack(Acked { now: us(sent_at), sent_at: us(sent_at), is_new: true }, &rtt(40));
    }

    #[test]
    fn packets_a_quarter_of_the_smallest_rtt_older_than_an_acknowledged_one_are_lost() {
        let mut rack = Rack::default();
        acked(&mut rack, 100);
        assert_eq!(rack.lost_until(&rtt(40)), Some(us(90)));
    }

    #[test]
    fn an_older_ack_does_not_move_the_mark_back() {
        let mut rack = Rack::default();
        acked(&mut rack, 100);
        acked(&mut rack, 50);
        assert_eq!(rack.lost_until(&rtt(40)), Some(us(90)));
    }

    #[test]
    fn nothing_is_lost_before_the_first_sample_or_within_the_first_window() {
        let mut rack = Rack::default();
        assert_eq!(rack.lost_until(&RttEstimate::default()), None);
        acked(&mut rack, 9);
        assert_eq!(rack.lost_until(&rtt(40)), None);
    }

    #[test]
    fn a_spurious_loss_widens_the_window_once_a_round_trip_and_up_to_the_srtt() {
        let mut rack = Rack::default();
        acked(&mut rack, 1000);
        rack.on_spurious(us(1000), &rtt(40));
        rack.on_spurious(us(1039), &rtt(40));
        assert_eq!(rack.lost_until(&rtt(40)), Some(us(980)));
        rack.on_spurious(us(1040), &rtt(40));
        assert_eq!(rack.lost_until(&rtt(40)), Some(us(970)));
        (2..9).for_each(|i| rack.on_spurious(us(1000 + 40 * i), &rtt(40)));
        assert_eq!(rack.lost_until(&rtt(40)), Some(us(960)));
    }
}
