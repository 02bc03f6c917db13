//! RACK-TLP: losses found by time, and a probe for the tail (RFC 8985).
//!
//! A packet is lost once one that left later has been acknowledged and the reordering window has passed (section 6). A
//! flow that hears nothing sends one packet as a probe, and its ACK says what else is lost (section 7). Behind both
//! stands one time-out for the flow (RFC 6298, section 5).
//!
//! ACKs echo the send time of the transmission that they acknowledge, which decides three things that the RFC has to
//! infer: no transmission is mistaken for another (step 2's guard), packets are reordered if one arrives that left
//! before an acknowledged one (step 3), and a loss was spurious if an older transmission than the last arrives (the
//! RFC's DSACK). Each packet is waited for as long as its own send time asks, where the RFC's timer waits for the newest
//! of them. Of an ACK for several packets, round trip and reordering are those of the packet that it echoes: what others
//! would say comes later. Left out: the one second before the first RTT sample: the first probe leaves when the time-out
//! runs out.
//!
//! Its page: `docs/src/schemes/recovery.md`.

use crate::recovery::contract::{Acked, Expired, Recover, Verdict};
use crate::recovery::rtt::{RttEstimate, Smoothed};
use crate::recovery::sent::{AckOutcome, LostPacket, RtoPolicy, SentMap};
use farspan_units::{Duration, Time};

/// Packets acknowledged above a missing one that show a loss without reordering (DupThresh, RFC 5681).
const DUP_THRESH: usize = 3;

/// A grown window lasts for so many recoveries (RACK.reo_wnd_persist).
const PERSIST: u8 = 16;

/// A probe whose fate is not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    /// The first packet that was not sent when it left (TLP.end_seq).
    end: u32,
    /// The transmission that it repeats; `None`: it is a new packet (TLP.is_retrans).
    replaced: Option<LostPacket>,
}

/// The state of RACK-TLP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rack {
    /// Send time of the newest transmission that was acknowledged (RACK.xmit_ts).
    newest: Time,
    /// Its round trip (RACK.rtt).
    rtt: Duration,
    /// Smallest round trip (RACK.min_RTT).
    min_rtt: Duration,
    /// Smoothed round trip; `None` before the first sample.
    srtt: Smoothed,
    /// No packet from this one on has been acknowledged for itself (RACK.fack).
    highest: u32,
    /// A packet arrived that left before an acknowledged one.
    reordering_seen: bool,
    /// The reordering window of the last ACK or timer (RACK.reo_wnd).
    window: Duration,
    /// Spurious losses, counted once a round (RACK.reo_wnd_mult - 1).
    spurious: u32,
    /// The round in which one was counted ends with this packet (RACK.dsack_round).
    round_end: Option<u32>,
    /// Recoveries left until the window shrinks back.
    persist: u8,
    /// In recovery until all packets before this one are acknowledged.
    recovery_end: Option<u32>,
    probe: Option<Probe>,
    /// No packet is acknowledged above one that is missing.
    in_order: bool,
    /// A transmission in flight may have left before the newest acknowledged one: a retransmission may be newer than a
    /// tail, in order as the packets are.
    overtaken: bool,
    /// Nothing is under recovery or probed, and no round counts a spurious loss: a good ACK changes nothing of this.
    is_quiet: bool,
    /// When the last packet left, or the last ACK came.
    last_news: Time,
    /// When the time-out was started.
    started_at: Time,
    /// How often it ran out since the last ACK of new data.
    expiries: u32,
    /// A time-out has run out; what left at this instant or before is lost with it.
    expired_until: Option<Time>,
    /// No timer of the flow comes up later than this.
    armed: Time,
}

impl Rack {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            newest: Time::ZERO,
            rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            srtt: Smoothed::NONE,
            highest: 0,
            reordering_seen: false,
            window: Duration::ZERO,
            spurious: 0,
            round_end: None,
            persist: 0,
            recovery_end: None,
            probe: None,
            in_order: true,
            overtaken: false,
            is_quiet: true,
            last_news: now,
            started_at: now,
            expiries: 0,
            expired_until: None,
            armed: Time::MAX,
        }
    }

    /// Steps 2 and 3: the newest acknowledged transmission, and whether packets are reordered.
    fn note(&mut self, ack: &Acked) {
        if ack.sent_at >= self.newest {
            (self.newest, self.rtt) = (ack.sent_at, ack.rtt);
        } else {
            self.reordering_seen |= ack.outcome != AckOutcome::Known;
        }
        if ack.outcome != AckOutcome::Known {
            self.highest = self.highest.max(ack.seq + 1);
        }
        self.highest = self.highest.max(ack.mapped_below);
        self.last_news = ack.now;
        if ack.is_new {
            (self.started_at, self.expiries) = (ack.now, 0);
        }
    }

    /// Step 4, first half: the window grows once a round that sees a spurious loss, and shrinks back after sixteen
    /// recoveries without one.
    fn adapt(&mut self, is_spurious: bool, sent: &SentMap) {
        let base = sent.base();
        self.round_end = self.round_end.filter(|&end| base < end);
        let exits = self.recovery_end.is_some_and(|end| base >= end);
        if exits {
            self.recovery_end = None;
        }
        if is_spurious && self.round_end.is_none() {
            self.round_end = Some(sent.next());
            self.spurious = self.spurious.saturating_add(1);
            self.persist = PERSIST;
        } else if exits {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.spurious = 0;
            }
        }
    }

    /// Step 4, second half: the reordering window.
    fn reordering_window(&self, sent: &SentMap) -> Duration {
        let is_sure = || self.recovery_end.is_some() || (!self.in_order && self.has_later(sent));
        if !self.reordering_seen && is_sure() {
            return Duration::ZERO;
        }
        self.grown_window()
    }

    /// reo_wnd = min(reo_wnd_mult x min_RTT / 4, SRTT)
    fn grown_window(&self) -> Duration {
        let grown = (self.min_rtt / 4).as_ps().saturating_mul(u64::from(self.spurious) + 1);
        Duration::from_ps(grown).min(self.srtt.get().unwrap_or(Duration::ZERO))
    }

    fn has_later(&self, sent: &SentMap) -> bool {
        sent.has_acked(self.highest, DUP_THRESH)
    }

    /// Step 5: transmissions that left at this instant or before are lost; `None`: none are.
    fn lost_until(&self, now: Time) -> Option<Time> {
        let waited = now.as_ps().checked_sub(self.rtt.as_ps() + self.window.as_ps())?;
        let earlier = self.newest.as_ps().checked_sub(1)?;
        Some(Time::from_ps(waited.min(earlier)))
    }

    /// When the oldest transmission in flight, which left at `oldest`, is lost if no ACK comes; [`Time::MAX`]: nothing
    /// that left later has been acknowledged.
    fn reordering_due(&self, oldest: Time) -> Time {
        if oldest < self.newest { oldest + self.rtt + self.window } else { Time::MAX }
    }

    /// RFC 6298, section 5: one time-out from the last ACK of new data, or the first packet after an idle time.
    const fn rto_due(&self, rto_policy: RtoPolicy) -> Time {
        self.started_at.saturating_add(rto_policy.after(self.expiries))
    }

    /// When the probe leaves (section 7.2: PTO = 2 SRTT, and TLP.max_ack_delay with one packet in flight, not after the
    /// time-out); `None`: none is to leave.
    #[inline(always)]
    fn probe_due(&self, rto_policy: RtoPolicy) -> Option<Time> {
        let wanted = self.recovery_end.is_none() && self.probe.is_none() && self.in_order;
        let rto = self.rto_due(rto_policy);
        let ack_delay = if rto_policy.is_lone { rto_policy.ack_delay } else { Duration::ZERO };
        let pto = |srtt: Duration| self.last_news.saturating_add(srtt * 2 + ack_delay);
        wanted.then(|| self.srtt.get().map_or(rto, |srtt| rto.min(pto(srtt))))
    }

    /// When the probe leaves, or else the time-out runs out.
    #[inline(always)]
    fn tail_due(&self, rto_policy: RtoPolicy) -> Time {
        self.probe_due(rto_policy).unwrap_or_else(|| self.rto_due(rto_policy))
    }

    fn enter_recovery(&mut self, end: u32) {
        self.is_quiet = false;
        (self.recovery_end, self.probe) = (Some(self.recovery_end.unwrap_or(end)), None);
    }

    /// Section 7.4: whether the ACK shows that the probe has repaired a loss. An ACK of the transmission that it repeats
    /// shows that there was none.
    fn end_probe(&mut self, ack: &Acked, sent: &SentMap) -> Option<LostPacket> {
        let Probe { end, replaced } = self.probe?;
        if replaced.is_none() && sent.next() < end {
            // The new packet has not left, and need not: the ACK brings the news that it would have asked for.
            self.probe = None;
        }
        let of_packet = replaced.is_some_and(|lost| lost.seq == ack.seq);
        if !of_packet && sent.base() < end {
            return None;
        }
        self.probe = None;
        replaced.filter(|lost| !(of_packet && lost.sent_at == ack.sent_at))
    }

    /// The time-out of the flow has run out: the first packet is lost, and, if `take_expired` is called again, what left
    /// long enough ago (section 6.3).
    fn time_out(&mut self, now: Time, sent: &mut SentMap) -> Option<LostPacket> {
        let waited = now.as_ps().checked_sub(self.rtt.as_ps() + self.window.as_ps());
        (self.started_at, self.expired_until) = (now, waited.map(Time::from_ps));
        self.expiries += 1;
        (self.recovery_end, self.probe, self.is_quiet) = (Some(sent.next()), None, false);
        sent.take_front(now)
    }

    /// One packet that is lost because others that left later have arrived, or together with a time-out.
    fn take_overtaken(&mut self, now: Time, sent: &mut SentMap) -> Option<LostPacket> {
        if let Some(mark) = self.expired_until {
            if let Some(lost) = sent.take_sent_until(now, mark) {
                return Some(lost);
            }
            self.expired_until = None;
        }
        if self.reordering_due(sent.oldest_sent_at(now)?) > now {
            return None;
        }
        self.window = self.reordering_window(sent);
        let lost = sent.take_sent_until(now, self.lost_until(now)?)?;
        self.enter_recovery(sent.next());
        Some(lost)
    }
}

impl Recover for Rack {
    fn wants_acks(&self) -> bool {
        true
    }

    #[inline]
    fn on_sent(&mut self, now: Time, _timeouts: u32, was_idle: bool, rto_policy: RtoPolicy) -> Time {
        self.last_news = now;
        if was_idle {
            self.started_at = now;
        }
        // A packet behind others only puts off what was due for the tail, but that of a lone packet waits for a held ACK.
        if was_idle || !rto_policy.ack_delay.is_zero() {
            self.armed = self.armed.min(self.tail_due(rto_policy));
        }
        self.armed
    }

    /// An ACK of a packet's only transmission, or of one that is known to have arrived, while nothing is under recovery or
    /// probed and no packet was sent twice, by which none is lost. What is noted twice stays as it is.
    #[inline(always)]
    fn on_good_ack(
        &mut self,
        ack: &Acked,
        rtt: &RttEstimate,
        sent: &mut SentMap,
        rto_policy: RtoPolicy,
    ) -> Option<bool> {
        let is_expected = matches!(ack.outcome, AckOutcome::Known | AckOutcome::Arrived { is_last: true });
        if !self.is_quiet || !is_expected || ack.mapped_below != 0 || sent.has_retransmitted() {
            return None;
        }
        (self.min_rtt, self.srtt) = (rtt.min(), rtt.smoothed());
        self.note(ack);
        self.in_order = sent.base() >= self.highest;
        // Sent once each, what is in flight left after all before it, unless a peer has forged an echo.
        let oldest = if self.in_order {
            None
        } else {
            sent.oldest_sent_at(ack.now).filter(|&oldest| oldest < self.newest)
        };
        self.overtaken = !self.in_order;
        let mut due = self.tail_due(rto_policy);
        if self.overtaken {
            if !self.reordering_seen {
                return None;
            }
            self.window = self.grown_window();
            let reordering_due = oldest.map_or(Time::MAX, |oldest| self.reordering_due(oldest));
            if reordering_due <= ack.now {
                return None;
            }
            due = due.min(reordering_due);
        }
        let is_earlier = due < self.armed;
        self.armed = self.armed.min(due);
        Some(is_earlier)
    }

    fn on_ack(&mut self, ack: Acked, rtt: &RttEstimate, sent: &mut SentMap) -> Verdict {
        (self.min_rtt, self.srtt) = (rtt.min(), rtt.smoothed());
        let is_late = self.probe.and_then(|probe| probe.replaced).is_some_and(|lost| {
            // Section 7.4 asks about this packet, not about reordering.
            lost.seq == ack.seq && lost.sent_at == ack.sent_at
        });
        let is_old = matches!(ack.outcome, AckOutcome::WasLost | AckOutcome::Arrived { is_last: false });
        self.note(&ack);
        self.in_order = sent.base() >= self.highest;
        self.adapt(is_old && !is_late, sent);
        let repaired = self.end_probe(&ack, sent);
        let earlier = Time::from_ps(self.newest.as_ps().saturating_sub(1));
        self.overtaken = !self.in_order || sent.may_hold_sent_until(ack.now, earlier);
        self.is_quiet = self.recovery_end.is_none() && self.probe.is_none() && self.round_end.is_none();
        if !self.overtaken {
            return Verdict { lost_until: None, repaired };
        }
        self.window = self.reordering_window(sent);
        Verdict { lost_until: self.lost_until(ack.now), repaired }
    }

    fn on_lost(&mut self, sent: &SentMap) {
        self.enter_recovery(sent.next());
    }

    fn on_probe(&mut self, now: Time, replaced: Option<LostPacket>, end: u32) {
        (self.probe, self.started_at, self.is_quiet) = (Some(Probe { end, replaced }), now, false);
    }

    fn on_rest(&mut self) {
        (self.probe, self.recovery_end) = (None, None);
    }

    fn is_earlier(&mut self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> bool {
        let mut due = self.tail_due(rto_policy);
        if self.overtaken {
            due = due.min(self.deadline(now, sent, rto_policy));
        }
        let is_earlier = due < self.armed;
        self.armed = self.armed.min(due);
        is_earlier
    }

    fn deadline(&self, now: Time, sent: &mut SentMap, rto_policy: RtoPolicy) -> Time {
        let oldest = sent.oldest_sent_at(now);
        oldest.map_or(Time::MAX, |oldest| self.reordering_due(oldest).min(self.tail_due(rto_policy)))
    }

    fn take_expired(
        &mut self,
        now: Time,
        sent: &mut SentMap,
        rto_policy: RtoPolicy,
    ) -> Result<Expired, Time> {
        if let Some(lost) = self.take_overtaken(now, sent) {
            return Ok(Expired::Lost(lost));
        }
        let due = self.deadline(now, sent, rto_policy);
        if due > now {
            self.armed = due;
            return Err(due);
        }
        if self.probe_due(rto_policy).is_some() {
            return Ok(Expired::Probe);
        }
        self.time_out(now, sent).map(Expired::TimedOut).ok_or(Time::MAX)
    }

    fn resends_at_timeout(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
