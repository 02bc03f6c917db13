//! Feedback to the sender: ACKs, NACKs and time-outs.

use super::{ColdState, Sender, keep};
use crate::balance::{Balance, PathSample};
use crate::coding::blocks::Resend;
use crate::congestion::{self, Congestion, SendRecord};
use crate::recovery::{AckOutcome, Acked, LostPacket, PerPacketRto, Recover, Rto};
use crate::wire::{Echo, Fate, Feedback};
use farspan_units::{Bytes, Duration, Time};

/// An ACK, as [`Fate::Arrived`] has it.
struct WireAck {
    seq: u32,
    cumulative: u32,
    echo: Echo,
    ecn_ce: bool,
    block_complete: bool,
}

impl Sender {
    /// Feedback from the receiver arrived. Returns whether the next time-out may run out earlier than before.
    #[inline(always)]
    pub(crate) fn on_feedback(&mut self, now: Time, feedback: &Feedback) -> bool {
        let Feedback { seq, cumulative, .. } = *feedback;
        if seq >= self.sent.next() {
            // Of nothing that was sent.
            return false;
        }
        match feedback.fate {
            Fate::Arrived { echo, ecn_ce, block_complete } => {
                let ack = WireAck { seq, cumulative, echo, ecn_ce, block_complete };
                echo.sent_at <= now && self.on_ack(now, &ack)
            }
            Fate::Trimmed { echo } => {
                if echo.sent_at <= now {
                    self.on_trimmed(now, seq, cumulative, echo);
                }
                false
            }
            Fate::Missing { packets } => {
                self.on_missing(now, seq, packets, cumulative);
                false
            }
        }
    }

    /// An ACK arrived, of a packet that was sent.
    #[inline(always)]
    fn on_ack(&mut self, now: Time, ack: &WireAck) -> bool {
        let sent_at = ack.echo.sent_at;
        let rtt = now.since(sent_at);
        let before = self.delivered;
        let has_record = self.acknowledge_echoed(now, ack);
        if ack.block_complete && self.delivered != before {
            self.complete_block_of(now, ack.seq);
        }
        self.acknowledge_below(now, ack.cumulative);
        let rto_shrank = self.update_rtt(rtt);

        let bytes_acked = self.delivered - before + self.sent.take_unreported();
        let (in_flight, delivered) = (self.in_flight, self.delivered);
        let at_send = if has_record { self.record_of(ack.seq) } else { None };
        let ack_event = || congestion::Ack {
            now,
            bytes_acked,
            ecn_ce: ack.ecn_ce,
            rtt,
            sent_at,
            in_flight,
            delivered,
            at_send,
        };
        let Self { control, cwnd, pacing_rate, wants, .. } = self;
        control.dispatch_ack(ack_event, |decision| keep(decision, cwnd, pacing_rate, wants));
        if self.wants.feedback() {
            let sample = PathSample { now, sent_at, entropy: ack.echo.entropy, in_flight: self.in_flight };
            self.balancer.on_ack(sample, ack.ecn_ce, &mut self.random);
        }
        let is_earlier =
            self.wants.acks() && self.recover(Acked { now, sent_at, is_new: !bytes_acked.is_zero() });
        rto_shrank || is_earlier
    }

    /// Notifies the recovery policy of an ACK, and gives up the packets that it marks lost. Returns whether the next
    /// time-out may run out earlier than before.
    #[inline]
    fn recover(&mut self, ack: Acked) -> bool {
        let Some(cold) = &mut self.cold else { return false };
        let verdict = cold.recovery.on_ack(ack, &cold.rtt);
        if let Some(mark) = verdict.lost_until
            && self.sent.may_hold_sent_until(ack.now, mark)
        {
            self.take_lost(ack.now, mark);
        }
        verdict.is_earlier
    }

    /// A transmission was trimmed. It is lost at once, if it is in flight and its packet's last; a NACK of an earlier
    /// transmission says nothing. It gives no RTT sample, and the recovery policy learns nothing from it: a trimmed
    /// packet overtakes others.
    #[cold]
    fn on_trimmed(&mut self, now: Time, seq: u32, cumulative: u32, echo: Echo) {
        let before = self.delivered;
        self.acknowledge_below(now, cumulative);
        let counters = self.sent.counters_mut();
        counters.nacks += 1;
        counters.leave_unreported(self.delivered - before);
        let Some(trimmed) = self.sent.take_one(now, seq, echo.sent_at) else { return };
        let bytes = self.take_nacked(now, trimmed);
        let (sent_at, in_flight) = (trimmed.sent_at, self.in_flight);
        let decision =
            self.control.on_nack(&congestion::Nack { now, bytes, sent_at, in_flight, trimmed: true });
        self.decide(decision);
    }

    /// The receiver has waited for the rest of a block: bit `i` of `missing` is packet `first + i`. What it misses is
    /// lost, but for transmissions that left less than a base round trip ago, which it cannot have waited for.
    #[cold]
    fn on_missing(&mut self, now: Time, first: u32, missing: u32, cumulative: u32) {
        let Some(blocks) = self.blocks() else { return };
        let packets = blocks.layout().packets_of(blocks.layout().block_of(first));
        let before = self.delivered;
        self.acknowledge_below(now, cumulative);
        let counters = self.sent.counters_mut();
        counters.nacks += 1;
        counters.leave_unreported(self.delivered - before);
        let Some(mark) = now.as_ps().checked_sub(self.route.path.base_rtt.as_ps()).map(Time::from_ps) else {
            return;
        };
        let all = self.route.coding.resend() == Resend::All;
        let is_named =
            |seq: u32| all || seq.checked_sub(first).is_some_and(|bit| bit < 32 && missing >> bit & 1 == 1);
        let (mut bytes, mut sent_at) = (Bytes::ZERO, Time::ZERO);
        for seq in packets.filter(|&seq| is_named(seq)) {
            if let Some(lost) = self.sent.take_old(now, seq, mark) {
                bytes += self.take_nacked(now, lost);
                sent_at = sent_at.max(lost.sent_at);
            }
        }
        if !bytes.is_zero() {
            let in_flight = self.in_flight;
            let nack = congestion::Nack { now, bytes, sent_at, in_flight, trimmed: false };
            let decision = self.control.on_nack(&nack);
            self.decide(decision);
        }
    }

    /// A packet that a NACK names leaves the window; returns its payload.
    fn take_nacked(&mut self, now: Time, lost: LostPacket) -> Bytes {
        let len = self.take_out(lost);
        if let Some(sample) = self.sample_of(now, lost) {
            self.balancer.on_nack(sample, &mut self.random);
        }
        len
    }

    #[inline]
    fn update_rtt(&mut self, rtt: Duration) -> bool {
        let Some(cold) = &mut self.cold else {
            self.srtt.update(rtt);
            return false;
        };
        cold.rtt.update(rtt);
        self.srtt = cold.rtt.smoothed();
        let Rto::Rfc6298 { min } = self.route.recovery.rto else { return false };
        let before = core::mem::replace(&mut cold.rto, cold.rtt.rto(min));
        cold.rto < before
    }

    /// Acknowledges the packet that the ACK is for; says whether it has a send record, of this transmission.
    #[inline(always)]
    fn acknowledge_echoed(&mut self, now: Time, ack: &WireAck) -> bool {
        let was_spurious = match self.acknowledge(ack.echo.sent_at, ack.seq) {
            AckOutcome::Known => return false,
            AckOutcome::WasLost => true,
            AckOutcome::Arrived { is_last } => !is_last,
        };
        if ack.seq == self.sent.base() || was_spurious {
            self.sent.advance();
        }
        if was_spurious {
            self.on_spurious(now);
        }
        if self.wants.records() {
            self.note_arrival(now, ack.echo.sent_at, was_spurious);
        }
        self.wants.records() && !was_spurious
    }

    /// Payload was delivered; `is_old`: not by the packet's last transmission.
    #[inline(never)]
    fn note_arrival(&mut self, now: Time, sent_at: Time, is_old: bool) {
        if let Some(records) = self.cold.as_mut().and_then(|cold| cold.records.as_mut()) {
            records.delivered_at = now;
            if !is_old {
                records.first_sent_at = sent_at;
            }
        }
    }

    /// A packet arrived that was marked lost, or was sent again.
    #[cold]
    fn on_spurious(&mut self, now: Time) {
        self.sent.counters_mut().spurious += 1;
        if let Some(cold) = &mut self.cold {
            cold.recovery.on_spurious(now, &cold.rtt);
        }
    }

    /// The send record of a packet, until another one replaces it.
    #[cold]
    fn record_of(&self, seq: u32) -> Option<SendRecord> {
        self.cold.as_ref()?.records.as_ref().map(|records| records.of(seq))
    }

    /// Acknowledges all packets before `cumulative`.
    #[inline]
    fn acknowledge_below(&mut self, now: Time, cumulative: u32) {
        if self.sent.base() < cumulative {
            self.acknowledge_front(now, cumulative);
        }
    }

    #[inline(never)]
    fn acknowledge_front(&mut self, now: Time, cumulative: u32) {
        for seq in self.sent.base()..cumulative.min(self.sent.next()) {
            self.acknowledge(now, seq);
        }
        if self.wants.blocks() {
            self.complete_blocks_below(cumulative);
        }
        self.sent.advance();
    }

    /// The block of packet `seq`, which was sent, is complete: none of its packets is needed any more.
    #[inline(never)]
    fn complete_block_of(&mut self, now: Time, seq: u32) {
        let Some(blocks) = self.blocks() else { return };
        let block = blocks.layout().block_of(seq);
        let packets = blocks.layout().packets_of(block);
        for seq in packets.start..packets.end.min(self.sent.next()) {
            self.acknowledge(now, seq);
        }
        self.close_block(block);
        self.sent.advance();
    }

    /// All packets before `cumulative` that were sent are acknowledged: so are their blocks.
    fn complete_blocks_below(&mut self, cumulative: u32) {
        let Some(blocks) = self.blocks() else { return };
        let layout = *blocks.layout();
        let (first, last) = (layout.block_of(self.sent.base()), layout.block_of(self.sent.next() - 1));
        for block in (first..=last).take_while(|&block| layout.packets_of(block).end <= cumulative) {
            self.close_block(block);
        }
    }

    /// Forgets a block of which all packets that were sent are acknowledged; those that were not need not be.
    fn close_block(&mut self, block: u32) {
        let Some(ColdState { blocks: Some(blocks), .. }) = self.cold.as_deref_mut() else { return };
        blocks.on_complete(block);
        for _ in blocks.needless(block, self.sent.next()) {
            self.sent.skip_new();
        }
    }

    /// Packet `seq` is acknowledged by feedback on a transmission that left at `sent_at`.
    #[inline(always)]
    fn acknowledge(&mut self, sent_at: Time, seq: u32) -> AckOutcome {
        let outcome = self.sent.acknowledge(sent_at, seq);
        if outcome == AckOutcome::Known {
            return outcome;
        }
        let len = self.len(seq);
        self.delivered += len;
        if let AckOutcome::Arrived { .. } = outcome {
            self.in_flight -= len;
        } else {
            self.on_found(seq);
        }
        outcome
    }

    /// A packet that was marked lost has arrived.
    #[cold]
    fn on_found(&mut self, seq: u32) {
        if let Some(ColdState { blocks: Some(blocks), .. }) = self.cold.as_deref_mut() {
            blocks.on_found(seq);
        }
    }

    /// Transmissions that left at `mark` or before are lost: one event for all of them.
    #[inline(never)]
    fn take_lost(&mut self, now: Time, mark: Time) {
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        while let Some(lost) = self.sent.take_sent_until(now, mark) {
            bytes += self.take_out(lost);
            if let Some(sample) = self.sample_of(now, lost) {
                self.balancer.on_loss(sample, &mut self.random);
            }
            newest = newest.max(lost.sent_at);
            self.sent.counters_mut().losses += 1;
        }
        if !bytes.is_zero() {
            let loss = congestion::Loss { now, bytes, sent_at: newest, in_flight: self.in_flight };
            let decision = self.control.on_loss(&loss);
            self.decide(decision);
        }
    }

    /// Time-outs that have run out: one event for all of them. Gives when the next one runs out ([`Time::MAX`]: no
    /// packet is in flight).
    pub(crate) fn on_timeout(&mut self, now: Time) -> Time {
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        let rto_policy = self.rto_policy();
        let deadline = loop {
            let given_up = match &mut self.cold {
                Some(cold) => cold.recovery.take_timed_out(now, &mut self.sent, rto_policy),
                None => PerPacketRto.take_timed_out(now, &mut self.sent, rto_policy),
            };
            match given_up {
                Ok(lost) => {
                    bytes += self.take_out(lost);
                    if let Some(sample) = self.sample_of(now, lost) {
                        self.balancer.on_timeout(sample, &mut self.random);
                    }
                    newest = newest.max(lost.sent_at);
                    self.sent.counters_mut().timeouts += 1;
                }
                Err(deadline) => break deadline,
            }
        };
        if !bytes.is_zero() {
            let (in_flight, rto) = (self.in_flight, rto_policy.rto);
            let timeout = congestion::Timeout { now, bytes, sent_at: newest, in_flight, rto };
            let decision = self.control.on_timeout(&timeout);
            self.decide(decision);
        }
        deadline
    }

    /// The path selector's notification of a packet given up; `None`: it asks for no feedback.
    fn sample_of(&self, now: Time, LostPacket { sent_at, entropy, .. }: LostPacket) -> Option<PathSample> {
        let in_flight = self.in_flight;
        self.sent.keeps_entropies().then_some(PathSample { now, sent_at, entropy, in_flight })
    }

    /// A packet given up leaves the window; returns its payload.
    fn take_out(&mut self, lost: LostPacket) -> Bytes {
        let len = self.len(lost.seq);
        self.in_flight -= len;
        if let Some(ColdState { blocks: Some(blocks), .. }) = self.cold.as_deref_mut() {
            blocks.on_lost(lost.seq, &mut self.sent);
        }
        len
    }
}
