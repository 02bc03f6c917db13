//! The contract of recovery policies: the news that they judge, and their verdicts.

use crate::recovery::rtt::RttEstimate;
use crate::recovery::sent::{AckOutcome, LostPacket, RtoPolicy, SentMap};
use farspan_units::{Duration, Time};

/// An ACK, as a recovery policy sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// Now.
    pub now: Time,
    /// The packet whose transmission it echoes.
    pub seq: u32,
    /// When the acknowledged transmission left.
    pub sent_at: Time,
    /// The round trip since, as the sender takes it.
    pub rtt: Duration,
    /// Whether it acknowledges any packet for the first time.
    pub is_new: bool,
    /// The outcome of the packet that it echoes.
    pub outcome: AckOutcome,
    /// The packet after the last that its map acknowledges for the first time; 0: there is none.
    pub mapped_below: u32,
}

/// A recovery policy's verdict on an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Verdict {
    /// Transmissions that left at this instant or before are lost; `None`: none are.
    pub lost_until: Option<Time>,
    /// A transmission that a probe replaced, and that is now known to be lost.
    pub repaired: Option<LostPacket>,
}

/// A timer that has run out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expired {
    /// The wait for a packet that others have overtaken: it is lost.
    Lost(LostPacket),
    /// A time-out: this packet is lost.
    TimedOut(LostPacket),
    /// The wait for any news: one packet is to leave at once, new or the last one in flight.
    Probe,
}

/// A recovery policy of one flow: it judges packets of a [`SentMap`] and touches nothing else.
///
/// Contract, checked by the conformance tests: while a packet is in flight, [`Self::deadline`] is a time at which
/// [`Self::take_expired`] gives something, unless an ACK comes before; only transmissions in flight are given up.
pub(crate) trait Recover {
    /// Whether to notify it of ACKs. It then has an RTT estimate of the flow.
    fn wants_acks(&self) -> bool {
        false
    }

    /// A packet leaves that timed out so often before. Gives when its time-out runs out; `was_idle`: nothing else is in
    /// flight.
    #[inline]
    fn on_sent(&mut self, now: Time, timeouts: u32, _was_idle: bool, rto_policy: RtoPolicy) -> Time {
        now.saturating_add(rto_policy.after(timeouts))
    }

    /// An ACK arrived, and `sent` knows of it. If it is of the common kind, by which nothing is lost, it is noted, and this says
    /// what [`Self::is_earlier`] would; `None`: [`Self::on_ack`] is to judge it.
    fn on_good_ack(
        &mut self,
        _ack: &Acked,
        _rtt: &RttEstimate,
        _sent: &mut SentMap,
        _rto_policy: RtoPolicy,
    ) -> Option<bool> {
        None
    }

    /// An ACK arrived, and `sent` knows of it.
    fn on_ack(&mut self, _ack: Acked, _rtt: &RttEstimate, _sent: &mut SentMap) -> Verdict {
        Verdict::default()
    }

    /// Packets are lost by its verdict on an ACK.
    fn on_lost(&mut self, _sent: &SentMap) {}

    /// A probe takes the place of this transmission; `end`: the first packet that will not have been sent.
    fn on_probe(&mut self, _now: Time, _replaced: Option<LostPacket>, _end: u32) {}

    /// Everything that was sent is acknowledged, and further messages may follow: what was lost before says nothing of them.
    fn on_rest(&mut self) {}

    /// Whether, after an ACK, the next time-out may run out earlier than the policy said before.
    fn is_earlier(&mut self, _now: Time, _sent: &mut SentMap, _rto_policy: RtoPolicy) -> bool {
        false
    }

    /// When the first time-out runs out; [`Time::MAX`]: nothing is in flight.
    fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
        sent.deadline(now, rto_policy)
    }

    /// Gives one thing that has run out at `now`. Call until it gives the time at which the next one runs out
    /// ([`Time::MAX`]: nothing is in flight).
    fn take_expired(
        &mut self,
        now: Time,
        sent: &mut SentMap,
        rto_policy: RtoPolicy,
    ) -> Result<Expired, Time> {
        sent.take_timed_out(now, rto_policy).map(Expired::TimedOut)
    }

    /// Whether one packet leaves after a time-out even if others fill the window.
    fn resends_at_timeout(&self) -> bool {
        false
    }
}
