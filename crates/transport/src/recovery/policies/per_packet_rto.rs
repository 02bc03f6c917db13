//! A time-out for each packet, and no other sign of loss.
//!
//! Uno, section 4.2 ("sender time-outs"), per packet as in its published code. It is what [`Recover`] does unless a
//! policy says otherwise.
//!
//! Its page: `docs/src/schemes/recovery.md`.

use crate::recovery::contract::Recover;
use farspan_units::Time;

/// Keeps nothing of a flow.
#[derive(Debug)]
pub(crate) struct PerPacketRto;

impl PerPacketRto {
    pub(super) const fn new(_now: Time) -> Self {
        Self
    }
}

impl Recover for PerPacketRto {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::{Expired, LostPacket, RtoPolicy, SentMap};
    use farspan_units::Duration;

    #[test]
    fn a_packet_times_out_a_time_out_after_it_left_and_twice_as_late_after_each_time_out() {
        let rto_policy = RtoPolicy::of(Duration::from_us(100));
        let (mut policy, mut sent) = (PerPacketRto::new(Time::ZERO), SentMap::new(false));
        let us = |us| Time::ZERO + Duration::from_us(us);
        sent.send_new(us(1), 0);
        sent.send_new(us(2), 0);
        assert_eq!(policy.on_sent(us(2), 0, false, rto_policy), us(102));
        assert_eq!(policy.on_sent(us(2), 2, false, rto_policy), us(402));
        assert_eq!(policy.deadline(us(2), &mut sent, rto_policy), us(101));
        let lost = LostPacket { seq: 0, sent_at: us(1), entropy: 0 };
        assert_eq!(policy.take_expired(us(101), &mut sent, rto_policy), Ok(Expired::TimedOut(lost)));
        assert_eq!(policy.take_expired(us(101), &mut sent, rto_policy), Err(us(102)));
    }
}
