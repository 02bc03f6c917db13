//! Packets given up: which are lost, in which order they leave again, and which transmission in flight is the oldest.

use super::SentMap;
use super::cell::{Cell, SentState};
use crate::balance::Entropy;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;
use farspan_units::{Bytes, Duration, Time};

/// A transmission in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flight {
    sent_at: Time,
    seq: u32,
}

/// A transmission that was given up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LostPacket {
    /// Which packet.
    pub seq: u32,
    /// When the transmission left.
    pub sent_at: Time,
    /// The path it took; 0 where entropies are not kept.
    pub entropy: Entropy,
}

/// The loss counters of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossCounters {
    /// Payload sent again.
    pub retransmitted_bytes: Bytes,
    /// Packets sent again.
    pub retransmitted_packets: u32,
    /// Time-outs that ran out: of packets, or of the flow, by the recovery policy.
    pub timeouts: u32,
    /// NACKs received.
    pub nacks: u32,
    /// Packets found lost without a time-out.
    pub losses: u32,
    /// Probes sent for want of news.
    pub probes: u32,
    /// Packets that arrived after they were marked lost.
    pub spurious: u32,
    /// Payload that NACKs acknowledged since the last ACK, of which the next ACK notifies the control.
    unreported: u32,
}

impl LossCounters {
    /// Leaves it to the next ACK to notify the control of `bytes`.
    pub(crate) fn leave_unreported(&mut self, bytes: Bytes) {
        self.unreported = self.unreported.saturating_add(u32::try_from(bytes.get()).unwrap_or(u32::MAX));
    }
}

/// The state that only a flow with losses needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// Packets in state `Lost`.
    pub(super) packets: u32,
    /// Packets that were given up and are not acknowledged since, sent again or not.
    pub(super) standing: u32,
    /// Those in state `Lost`, in the order in which they were found; acknowledged ones are skipped.
    pub(super) retransmit_queue: VecDeque<u32>,
    /// Retransmissions in flight, by time-outs of the packet so far; others among them are skipped.
    retransmissions: Vec<VecDeque<Flight>>,
    counters: LossCounters,
}

/// How long packets are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct RtoPolicy {
    /// The time-out of a packet that never timed out.
    pub rto: Duration,
    /// Whether it doubles with each time-out of the same packet.
    pub backs_off: bool,
    /// How long the receiver may hold an ACK for another packet (RFC 8985, TLP.max_ack_delay).
    pub ack_delay: Duration,
    /// Whether so little is in flight that the receiver may hold its ACK: with an ACK for two packets, one.
    pub is_lone: bool,
}

impl RtoPolicy {
    /// This time-out with back-off, and ACKs that come at once.
    #[cfg(test)]
    pub(crate) const fn of(rto: Duration) -> Self {
        Self { rto, backs_off: true, ack_delay: Duration::ZERO, is_lone: false }
    }

    /// The time-out of a packet that timed out so often.
    #[inline]
    pub(crate) const fn after(self, timeouts: u32) -> Duration {
        if self.backs_off && timeouts > 0 { self.rto.doubled(timeouts) } else { self.rto }
    }

    /// When a packet times out that left at `sent_at`, having timed out so often.
    #[inline]
    const fn due(self, sent_at: Time, timeouts: u32) -> Time {
        sent_at.saturating_add(self.after(timeouts))
    }
}

impl SentMap {
    /// Whether a packet waits to be sent again.
    #[inline]
    pub(crate) fn has_lost(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.packets > 0)
    }

    /// Whether a packet was lost that is not acknowledged since.
    #[inline]
    pub(crate) fn has_standing_losses(&self) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.standing > 0)
    }

    /// The loss counters; all zero without losses.
    pub(crate) fn counters(&self) -> LossCounters {
        self.losses.as_ref().map(|losses| losses.counters).unwrap_or_default()
    }

    /// The loss counters, to be updated.
    pub(crate) fn counters_mut(&mut self) -> &mut LossCounters {
        &mut self.losses.get_or_insert_default().counters
    }

    /// Takes the payload that was left to this ACK.
    #[inline]
    pub(crate) fn take_unreported(&mut self) -> Bytes {
        let take = |losses: &mut Box<Losses>| core::mem::take(&mut losses.counters.unreported);
        Bytes::new(u64::from(self.losses.as_mut().map_or(0, take)))
    }

    /// A lost packet leaves again, the one lost first; gives its number and how often it timed out.
    pub(crate) fn resend(&mut self, now: Time, entropy: Entropy) -> Option<(u32, u32)> {
        loop {
            let seq = self.pop_retransmit()?;
            if seq >= self.base && self.cell(seq).state() == SentState::Lost {
                return Some((seq, self.resend_one(now, seq, entropy)));
            }
        }
    }

    /// Packet `seq`, which is lost, leaves again; gives how often it timed out.
    pub(crate) fn resend_one(&mut self, now: Time, seq: u32, entropy: Entropy) -> u32 {
        let timeouts = self.cell(seq).timeouts();
        self.record(seq, Cell::new(SentState::Retransmitted, timeouts, now), entropy);
        let losses = self.losses.get_or_insert_default();
        losses.packets -= 1;
        let level = timeouts as usize;
        if losses.retransmissions.len() <= level {
            losses.retransmissions.resize_with(level + 1, VecDeque::new);
        }
        losses.retransmissions[level].push_back(Flight { sent_at: now, seq });
        timeouts
    }

    /// Takes the first out of the retransmit queue; it may have been acknowledged since.
    pub(crate) fn pop_retransmit(&mut self) -> Option<u32> {
        self.losses.as_mut()?.retransmit_queue.pop_front()
    }

    /// Packets that wait to be sent again leave in the order of their numbers, whichever was lost first.
    pub(crate) fn order_retransmits(&mut self) {
        if let Some(losses) = &mut self.losses {
            // Two ordered runs, in most cases, which this sort merges.
            losses.retransmit_queue.make_contiguous().sort();
        }
    }

    /// Empties the retransmit queue: none of the packets lost so far is to leave again for itself.
    pub(crate) fn clear_retransmits(&mut self) {
        if let Some(losses) = &mut self.losses {
            losses.retransmit_queue.clear();
        }
    }

    /// The lost packet among these that left before the others.
    pub(crate) fn oldest_lost(&self, now: Time, packets: Range<u32>) -> Option<u32> {
        let lost = packets
            .filter(|&seq| seq >= self.base && seq < self.next && self.cell(seq).state() == SentState::Lost);
        lost.min_by_key(|&seq| (self.cell(seq).sent_at(now), seq))
    }

    /// Gives up the transmission of `seq`, if it is in flight and left at `mark` or before; the packet is lost.
    pub(crate) fn take_old(&mut self, now: Time, seq: u32, mark: Time) -> Option<LostPacket> {
        if seq < self.base || seq >= self.next {
            return None;
        }
        let sent_at = self.cell(seq).sent_at(now);
        if sent_at > mark { None } else { self.take_one(now, seq, sent_at) }
    }

    /// The oldest first transmission in flight.
    #[inline]
    fn oldest_first(&mut self, now: Time) -> Option<Flight> {
        while self.first < self.next {
            let cell = self.cell(self.first);
            if cell.state() == SentState::First {
                return Some(Flight { sent_at: cell.sent_at(now), seq: self.first });
            }
            self.first += 1;
        }
        None
    }

    /// The oldest retransmission in flight among packets that timed out `level` times.
    fn oldest_retransmission(&mut self, now: Time, level: usize) -> Option<Flight> {
        loop {
            let &flight = self.losses.as_ref()?.retransmissions[level].front()?;
            if self.is_in_flight(now, flight) {
                return Some(flight);
            }
            self.losses.as_mut()?.retransmissions[level].pop_front();
        }
    }

    /// Whether this transmission is in flight, and its packet's last.
    fn is_in_flight(&self, now: Time, Flight { sent_at, seq }: Flight) -> bool {
        if seq < self.base || seq >= self.next {
            return false;
        }
        let cell = self.cell(seq);
        matches!(cell.state(), SentState::First | SentState::Retransmitted) && cell.sent_at(now) == sent_at
    }

    /// Whether a packet was sent again.
    #[inline]
    pub(crate) fn has_retransmitted(&self) -> bool {
        self.levels() > 0
    }

    /// Everything that was sent is acknowledged: no retransmission is in flight any more.
    pub(crate) fn forget_retransmissions(&mut self) {
        debug_assert_eq!(self.base, self.next, "all is acknowledged");
        if let Some(losses) = &mut self.losses {
            losses.retransmissions.clear();
        }
    }

    /// How many queues of retransmissions there are.
    #[inline]
    fn levels(&self) -> usize {
        self.losses.as_ref().map_or(0, |losses| losses.retransmissions.len())
    }

    /// When the first packet in flight times out; [`Time::MAX`]: none is in flight.
    pub(crate) fn deadline(&mut self, now: Time, rto_policy: RtoPolicy) -> Time {
        self.take(now, None, true, |sent_at, timeouts| rto_policy.due(sent_at, timeouts))
            .err()
            .unwrap_or(Time::MAX)
    }

    /// Gives up one transmission whose time-out has run out at `now`; its packet is lost. Call until it gives the time
    /// at which the next one runs out ([`Time::MAX`]: none is in flight).
    pub(crate) fn take_timed_out(&mut self, now: Time, rto_policy: RtoPolicy) -> Result<LostPacket, Time> {
        self.take(now, Some(now), true, |sent_at, timeouts| rto_policy.due(sent_at, timeouts))
    }

    /// Whether a transmission in flight may have left at `mark` or before.
    #[inline]
    pub(crate) fn may_hold_sent_until(&mut self, now: Time, mark: Time) -> bool {
        self.levels() > 0 || self.oldest_first(now).is_some_and(|oldest| oldest.sent_at <= mark)
    }

    /// Gives up one transmission that left at `mark` or before; its packet is lost. Call until `None`.
    pub(crate) fn take_sent_until(&mut self, now: Time, mark: Time) -> Option<LostPacket> {
        self.take(now, Some(mark), false, |sent_at, _| sent_at).ok()
    }

    /// When the oldest transmission in flight left; `None`: none is in flight.
    #[inline]
    pub(crate) fn oldest_sent_at(&mut self, now: Time) -> Option<Time> {
        self.take(now, None, false, |sent_at, _| sent_at).err().filter(|&at| at != Time::MAX)
    }

    /// Gives up one transmission, whenever it left; its packet is lost. Call until it gives [`Time::MAX`]: none is in flight.
    pub(crate) fn take_any(&mut self, now: Time) -> Result<LostPacket, Time> {
        self.take(now, Some(now), false, |sent_at, _| sent_at)
    }

    /// Gives up the first packet in flight, for a time-out; `None`: none is in flight.
    pub(crate) fn take_front(&mut self, now: Time) -> Option<LostPacket> {
        let front = (self.base..self.next).find_map(|seq| self.flight(now, seq))?;
        Some(self.give_up(front, self.cell(front.seq).timeouts() + 1))
    }

    /// Gives up the last packet in flight; `None`: none is in flight.
    pub(crate) fn take_last(&mut self, now: Time) -> Option<LostPacket> {
        let last = (self.base..self.next).rev().find_map(|seq| self.flight(now, seq))?;
        Some(self.give_up(last, self.cell(last.seq).timeouts()))
    }

    /// The transmission of a packet of the window, if it is in flight.
    fn flight(&self, now: Time, seq: u32) -> Option<Flight> {
        let cell = self.cell(seq);
        let in_flight = matches!(cell.state(), SentState::First | SentState::Retransmitted);
        in_flight.then(|| Flight { sent_at: cell.sent_at(now), seq })
    }

    /// The path of a packet of the window that is in flight.
    pub(crate) fn path_of(&self, seq: u32) -> Option<Entropy> {
        let in_flight = matches!(self.cell(seq).state(), SentState::First | SentState::Retransmitted);
        in_flight.then(|| self.entropy(seq))
    }

    /// Whether so many packets are acknowledged above the oldest that is not; none from `end` on is.
    pub(crate) fn has_acked(&self, end: u32, count: usize) -> bool {
        let acked = |&seq: &u32| self.cell(seq).state() == SentState::Acked;
        (self.base..end.min(self.next)).rev().filter(acked).take(count).count() == count
    }

    /// Whether the transmission of `seq` that left at `sent_at` is in flight.
    pub(crate) fn holds_sent(&self, now: Time, seq: u32, sent_at: Time) -> bool {
        self.is_in_flight(now, Flight { sent_at, seq })
    }

    /// Gives up the transmission of `seq` that left at `sent_at`, if it is in flight; its packet is lost.
    pub(crate) fn take_one(&mut self, now: Time, seq: u32, sent_at: Time) -> Option<LostPacket> {
        let flight = Flight { sent_at, seq };
        self.is_in_flight(now, flight).then(|| self.give_up(flight, self.cell(seq).timeouts()))
    }

    /// Gives up one transmission that is due at `limit`, if there is a limit, or says when the next one is due.
    #[inline(always)]
    fn take(
        &mut self,
        now: Time,
        limit: Option<Time>,
        timed_out: bool,
        due: impl Fn(Time, u32) -> Time,
    ) -> Result<LostPacket, Time> {
        let mut next = Time::MAX;
        if let Some(oldest) = self.oldest_first(now) {
            next = due(oldest.sent_at, 0);
            if Some(next) <= limit {
                self.first += 1;
                return Ok(self.give_up(oldest, u32::from(timed_out)));
            }
        }
        for level in 0..self.levels() {
            if let Some(oldest) = self.oldest_retransmission(now, level) {
                let at = due(oldest.sent_at, level as u32);
                if Some(at) <= limit
                    && let Some(losses) = &mut self.losses
                {
                    losses.retransmissions[level].pop_front();
                    return Ok(self.give_up(oldest, level as u32 + u32::from(timed_out)));
                }
                next = next.min(at);
            }
        }
        Err(next)
    }

    fn give_up(&mut self, Flight { sent_at, seq }: Flight, timeouts: u32) -> LostPacket {
        let is_first = self.cell(seq).state() == SentState::First;
        self.set(seq, Cell::new(SentState::Lost, timeouts, sent_at));
        let losses = self.losses.get_or_insert_default();
        losses.retransmit_queue.push_back(seq);
        losses.packets += 1;
        losses.standing += u32::from(is_first);
        LostPacket { seq, sent_at, entropy: self.entropy(seq) }
    }
}
