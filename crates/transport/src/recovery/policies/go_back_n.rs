//! Go-back-N, as hosts with RDMA have it: the sender sends everything again from a gap on.
//!
//! The receiver takes packets in their order alone, drops what comes behind a gap, and says so once
//! ([`FlowProfile::in_order`](crate::FlowProfile::in_order)).
//!
//! InfiniBand's reliable connections (and RoCE): one NAK of a sequence error, then silence until the packet comes that is due.
//! What such a NACK does to the window of packets is the sender's (`sender/nacks.rs`). Here is what stands behind it: one time-out
//! for the flow, which starts when a packet leaves an idle flow (RFC 6298, 5.1), restarts with each ACK of new data (5.3), and
//! doubles each time it runs out (5.5) until such an ACK comes. When it runs out, all that is in flight is lost.
//!
//! Its page: `docs/src/schemes/recovery.md`.

use crate::recovery::contract::{Acked, Expired, Recover, Verdict};
use crate::recovery::rtt::RttEstimate;
use crate::recovery::sent::{RtoPolicy, SentMap};
use farspan_units::Time;

/// The timer of one flow.
#[derive(Debug)]
pub(crate) struct GoBackN {
    /// When it started last.
    started_at: Time,
    /// How often it ran out since the last ACK of new data.
    expiries: u32,
    /// It has run out, and not all that was in flight is given up yet.
    is_expiring: bool,
    /// The last ACK ended the back-off.
    is_earlier: bool,
}

impl GoBackN {
    pub(super) const fn new(now: Time) -> Self {
        Self { started_at: now, expiries: 0, is_expiring: false, is_earlier: false }
    }

    const fn runs_out(&self, rto_policy: RtoPolicy) -> Time {
        self.started_at.saturating_add(rto_policy.after(self.expiries))
    }
}

impl Recover for GoBackN {
    fn wants_acks(&self) -> bool {
        true
    }

    fn on_sent(&mut self, now: Time, _timeouts: u32, was_idle: bool, rto_policy: RtoPolicy) -> Time {
        if was_idle {
            self.started_at = now;
        }
        self.runs_out(rto_policy)
    }

    fn on_ack(&mut self, ack: Acked, _rtt: &RttEstimate, _sent: &mut SentMap) -> Verdict {
        if ack.is_new {
            self.started_at = ack.now;
            self.is_earlier = core::mem::take(&mut self.expiries) > 0;
        }
        Verdict::default()
    }

    fn is_earlier(&mut self, _now: Time, _sent: &mut SentMap, _rto_policy: RtoPolicy) -> bool {
        core::mem::take(&mut self.is_earlier)
    }

    fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
        if sent.oldest_sent_at(now).is_some() { self.runs_out(rto_policy) } else { Time::MAX }
    }

    fn take_expired(
        &mut self,
        now: Time,
        sent: &mut SentMap,
        rto_policy: RtoPolicy,
    ) -> Result<Expired, Time> {
        if !self.is_expiring {
            let deadline = self.deadline(now, sent, rto_policy);
            if deadline > now {
                return Err(deadline);
            }
            (self.is_expiring, self.started_at) = (true, now);
            self.expiries += 1;
            // One time-out, whatever it gives up.
            if let Some(first) = sent.take_front(now) {
                return Ok(Expired::TimedOut(first));
            }
        }
        let given_up = sent.take_any(now);
        self.is_expiring = given_up.is_ok();
        if !self.is_expiring {
            sent.order_retransmits();
        }
        given_up.map(Expired::Lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recovery::AckOutcome;
    use alloc::vec::Vec;
    use farspan_units::Duration;

    const RTO_POLICY: RtoPolicy = RtoPolicy::of(Duration::from_us(100));

    fn us(us: u64) -> Time {
        Time::ZERO + Duration::from_us(us)
    }

    /// A policy, and packets that left one each microsecond from 0 on.
    fn sent(packets: u32) -> (GoBackN, SentMap) {
        let (mut policy, mut sent) = (GoBackN::new(us(0)), SentMap::new(false));
        for seq in 0..packets {
            let now = us(u64::from(seq));
            sent.send_new(now, 0);
            assert_eq!(policy.on_sent(now, 0, seq == 0, RTO_POLICY), us(100), "the timer runs already");
        }
        (policy, sent)
    }

    /// Whether the timer may run out earlier after this ACK.
    fn ack(policy: &mut GoBackN, sent: &mut SentMap, now: Time, seq: u32) -> bool {
        let outcome = sent.acknowledge(now, seq);
        sent.advance();
        let sent_at = us(u64::from(seq));
        let rtt = now.since(sent_at);
        let ack = Acked { now, seq, sent_at, rtt, is_new: true, outcome, mapped_below: 0 };
        policy.on_ack(ack, &RttEstimate::default(), sent);
        policy.is_earlier(now, sent, RTO_POLICY)
    }

    fn timed_out(policy: &mut GoBackN, sent: &mut SentMap, now: Time) -> Vec<u32> {
        let expired = core::iter::from_fn(|| policy.take_expired(now, sent, RTO_POLICY).ok());
        let given_up = expired.enumerate().map(|(n, expired)| match (n, expired) {
            (0, Expired::TimedOut(lost)) | (1.., Expired::Lost(lost)) => lost.seq,
            other => panic!("{other:?}: one time-out, and what it gives up beside"),
        });
        given_up.collect()
    }

    #[test]
    fn an_ack_of_new_data_restarts_the_one_timer() {
        let (mut policy, mut sent) = sent(3);
        ack(&mut policy, &mut sent, us(50), 0);
        assert_eq!(policy.deadline(us(50), &mut sent, RTO_POLICY), us(150));
        let duplicate = Acked {
            now: us(60),
            seq: 0,
            sent_at: us(0),
            rtt: Duration::from_us(60),
            is_new: false,
            outcome: AckOutcome::Known,
            mapped_below: 0,
        };
        policy.on_ack(duplicate, &RttEstimate::default(), &mut sent);
        assert_eq!(policy.take_expired(us(149), &mut sent, RTO_POLICY), Err(us(150)));
    }

    #[test]
    fn when_it_runs_out_all_that_is_in_flight_is_lost_and_it_runs_twice_as_long() {
        let (mut policy, mut sent) = sent(3);
        ack(&mut policy, &mut sent, us(50), 1);
        assert_eq!(timed_out(&mut policy, &mut sent, us(150)), [0, 2]);
        assert_eq!(policy.deadline(us(150), &mut sent, RTO_POLICY), Time::MAX);
        assert_eq!(sent.resend(us(160), 0), Some((0, 1)));
        assert_eq!(policy.on_sent(us(160), 1, true, RTO_POLICY), us(360));
        assert!(timed_out(&mut policy, &mut sent, us(359)).is_empty());
    }

    #[test]
    fn what_is_lost_again_leaves_before_what_waits_behind_it() {
        let (mut policy, mut sent) = sent(4);
        assert_eq!(timed_out(&mut policy, &mut sent, us(100)), [0, 1, 2, 3]);
        assert_eq!((sent.resend(us(110), 0), sent.resend(us(111), 0)), (Some((0, 1)), Some((1, 0))));
        policy.on_sent(us(111), 1, true, RTO_POLICY);
        assert_eq!(timed_out(&mut policy, &mut sent, us(311)), [0, 1]);
        let order: Vec<_> = (320..).map_while(|now| sent.resend(us(now), 0)).map(|(seq, _)| seq).collect();
        assert_eq!(order, [0, 1, 2, 3]);
    }

    #[test]
    fn the_next_ack_of_new_data_ends_the_back_off_which_may_be_earlier() {
        let (mut policy, mut sent) = sent(2);
        assert_eq!(timed_out(&mut policy, &mut sent, us(100)), [0, 1]);
        sent.resend(us(100), 0);
        policy.on_sent(us(100), 1, true, RTO_POLICY);
        assert!(ack(&mut policy, &mut sent, us(110), 0));
        sent.resend(us(110), 0);
        assert_eq!(policy.deadline(us(110), &mut sent, RTO_POLICY), us(210));
    }
}
