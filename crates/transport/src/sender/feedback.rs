//! Feedback to the sender: ACKs, NACKs and time-outs.

use super::{ColdState, Sender, keep};
use crate::balance::{Balance, PathSample};
use crate::congestion::{self, Congestion, SendRecord};
use crate::recovery::{
    AckOutcome, Acked, Expired, LostPacket, PerPacketRto, Recover, Rto, RtoPolicy, Verdict,
};
use crate::wire::{Echo, Fate, Feedback};
use farspan_units::{Bytes, Duration, Telemetry, Time};

/// An ACK, as [`Fate::Arrived`] has it.
pub(super) struct WireAck<'a> {
    seq: u32,
    pub(super) cumulative: u32,
    pub(super) echo: Echo,
    pub(super) ecn_ce: bool,
    block_complete: bool,
    pub(super) map: u64,
    /// Telemetry of the acknowledged transmission.
    telemetry: Option<&'a Telemetry>,
}

impl WireAck<'_> {
    /// The answer to the packet that opens a flow.
    pub(super) const fn of_handshake(echo: Echo, ecn_ce: bool) -> Self {
        Self { seq: 0, cumulative: 0, echo, ecn_ce, block_complete: false, map: 0, telemetry: None }
    }
}

/// Packets given up at once.
#[derive(Clone, Copy, Default)]
pub(super) struct GivenUp {
    /// Their payload.
    bytes: Bytes,
    /// When the newest of their transmissions left.
    newest: Time,
    /// Whether a time-out is the cause.
    timed_out: bool,
}

impl Sender {
    /// Feedback from the receiver arrived. Returns whether the next time-out may run out earlier than before.
    #[inline(always)]
    pub(crate) fn on_feedback(
        &mut self,
        now: Time,
        feedback: &Feedback,
        telemetry: Option<&Telemetry>,
    ) -> bool {
        let Feedback { seq, cumulative, .. } = *feedback;
        if seq >= self.sent.next() {
            // It answers no packet of the message.
            let Fate::Arrived { echo, ecn_ce, .. } = feedback.fate else { return false };
            return self.on_handshake_ack(now, seq, echo, ecn_ce);
        }
        match feedback.fate {
            Fate::Arrived { echo, ecn_ce, block_complete, map } => {
                let ack = WireAck { seq, cumulative, echo, ecn_ce, block_complete, map, telemetry };
                echo.sent_at <= now && self.on_ack(now, &ack)
            }
            Fate::Trimmed { echo, at_last_hop, ecn_ce } => {
                if echo.sent_at <= now {
                    self.on_trimmed(now, feedback, echo, (at_last_hop, ecn_ce));
                }
                false
            }
            Fate::Missing { packets } => {
                self.on_missing(now, seq, packets, cumulative);
                false
            }
            Fate::Pull { count } => {
                self.on_pull(now, count, cumulative);
                false
            }
            Fate::Cnp => {
                self.on_cnp(now, cumulative);
                false
            }
            Fate::Taken { echo, ecn_ce, limit } => {
                let ack = WireAck { seq, cumulative, echo, ecn_ce, block_complete: false, map: 0, telemetry };
                echo.sent_at <= now && self.on_taken(now, &ack, limit)
            }
            Fate::PassedOn { limit } => {
                self.on_passed_on(now, cumulative, limit);
                false
            }
            Fate::Gap { first, count } => {
                self.on_gap(now, first, count);
                false
            }
        }
    }

    /// An ACK arrived, of a packet that was sent.
    #[inline(always)]
    pub(super) fn on_ack(&mut self, now: Time, ack: &WireAck<'_>) -> bool {
        let sent_at = ack.echo.sent_at;
        let before = self.delivered;
        let outcome = self.acknowledge_echoed(now, ack);
        let has_record = self.wants.records() && outcome == AckOutcome::Arrived { is_last: true };
        if ack.block_complete && self.delivered != before {
            self.complete_block_of(now, ack.seq);
        }
        if self.wants.slow_path() {
            self.note_on_slow_path(now, ack);
        }
        self.acknowledge_below(now, ack.cumulative);
        let (mapped_below, mapped) = if ack.map == 0 { (0, Bytes::ZERO) } else { self.read_map(now, ack) };
        let (rtt, rto_shrank) = self.take_rtt(now, now.since(sent_at));

        let bytes_acked = self.delivered - before + self.sent.take_unreported();
        let at_send = if has_record { self.record_of(ack.seq) } else { None };
        self.notify_of_ack(now, ack, rtt, (bytes_acked, mapped), at_send);
        if self.wants.feedback() {
            let sample = PathSample { now, sent_at, entropy: ack.echo.entropy, in_flight: self.in_flight };
            self.balancer.on_ack(sample, ack.ecn_ce, &mut self.random);
        }
        let is_earlier = self.wants.acks() && {
            let is_new = !bytes_acked.is_zero();
            self.recover(&Acked { now, seq: ack.seq, sent_at, rtt, is_new, outcome, mapped_below })
        };
        rto_shrank || is_earlier
    }

    /// Notifies the control of an ACK, which acknowledges so much for the first time, of that so much by its map alone.
    #[inline(always)]
    pub(super) fn notify_of_ack(
        &mut self,
        now: Time,
        ack: &WireAck<'_>,
        rtt: Duration,
        (bytes_acked, mapped): (Bytes, Bytes),
        at_send: Option<SendRecord>,
    ) {
        let sent_at = ack.echo.sent_at;
        let (in_flight, delivered) = (self.in_flight, self.delivered);
        let (acked_below, sent_below) = (self.sent.base(), self.sent.next());
        let has_losses = self.sent.has_standing_losses();
        let acked_packets = if self.wants.slow_path() { self.packets_of(bytes_acked - mapped) } else { 1 };
        let ack_event = || congestion::Ack {
            now,
            bytes_acked,
            mapped,
            acked_packets,
            ecn_ce: ack.ecn_ce,
            rtt,
            sent_at,
            in_flight,
            delivered,
            acked_below,
            sent_below,
            has_losses,
            at_send,
            telemetry: ack.telemetry,
        };
        let Self { control, cwnd, pacing_rate, wants, .. } = self;
        control.dispatch_ack(ack_event, |decision| keep(decision, cwnd, pacing_rate, wants));
    }

    /// Notifies the recovery policy of an ACK, and gives up the packets that it marks lost. Returns whether the next
    /// time-out may run out earlier than before.
    #[inline(always)]
    pub(super) fn recover(&mut self, ack: &Acked) -> bool {
        let rto_policy = self.rto_policy();
        let Some(cold) = &mut self.cold else { return false };
        let is_earlier = cold.recovery.on_good_ack(ack, &cold.rtt, &mut self.sent, rto_policy);
        is_earlier.unwrap_or_else(|| self.recover_slowly(*ack, rto_policy))
    }

    #[inline(never)]
    fn recover_slowly(&mut self, ack: Acked, rto_policy: RtoPolicy) -> bool {
        let Some(cold) = &mut self.cold else { return false };
        let Verdict { lost_until, repaired } = cold.recovery.on_ack(ack, &cold.rtt, &mut self.sent);
        let mark = lost_until.filter(|&mark| self.sent.may_hold_sent_until(ack.now, mark));
        if mark.is_some() || repaired.is_some() {
            self.take_lost(ack.now, mark, repaired);
        }
        // News has come: what was to ask for it need not leave.
        self.wants = self.wants.probe_if(false);
        if self.route.connection.prr {
            self.reduce(mark.is_none());
        }
        let Some(cold) = &mut self.cold else { return false };
        cold.recovery.is_earlier(ack.now, &mut self.sent, rto_policy)
    }

    /// The receiver pulls packets.
    #[cold]
    fn on_pull(&mut self, now: Time, count: u32, cumulative: u32) {
        self.acknowledge_unreported(now, cumulative);
        let decision = self.control.on_pull(&congestion::Pull { now, count, in_flight: self.in_flight });
        self.decide(decision);
    }

    /// Packets of the flow come marked.
    #[cold]
    fn on_cnp(&mut self, now: Time, cumulative: u32) {
        self.acknowledge_unreported(now, cumulative);
        let decision = self.control.on_cnp(&congestion::Cnp { now, in_flight: self.in_flight });
        self.decide(decision);
    }

    /// Takes an RTT sample in; gives it as the sender sees it, and whether the time-out is shorter now.
    #[inline(always)]
    pub(super) fn take_rtt(&mut self, now: Time, rtt: Duration) -> (Duration, bool) {
        let Some(cold) = &mut self.cold else {
            self.srtt.update(rtt);
            return (rtt, false);
        };
        let rtt = match &mut cold.connection {
            None => rtt,
            Some(connection) => connection.sample(rtt, self.route.rtt_noise),
        };
        cold.note_news(now);
        cold.rtt.update(rtt);
        self.srtt = cold.rtt.smoothed();
        let Rto::Rfc6298 { variance_floor, min, .. } = self.route.recovery.rto else { return (rtt, false) };
        let before = core::mem::replace(&mut cold.rto, cold.rtt.rto(variance_floor, min));
        (rtt, cold.rto < before)
    }

    /// Acknowledges the packet that the ACK is for; gives what it says of that packet.
    #[inline(always)]
    fn acknowledge_echoed(&mut self, now: Time, ack: &WireAck<'_>) -> AckOutcome {
        let outcome = self.acknowledge(ack.echo.sent_at, ack.seq);
        if outcome == AckOutcome::Known {
            return outcome;
        }
        let was_spurious = outcome != AckOutcome::Arrived { is_last: true };
        if ack.seq == self.sent.base() || was_spurious {
            self.sent.advance();
        }
        if was_spurious {
            self.sent.counters_mut().spurious += 1;
        }
        if self.wants.records() {
            self.note_arrival(now, ack.echo.sent_at, was_spurious);
        }
        outcome
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

    /// The send record of a packet, until another one replaces it.
    #[cold]
    fn record_of(&self, seq: u32) -> Option<SendRecord> {
        self.cold.as_ref()?.records.as_ref().map(|records| records.of(seq))
    }

    /// Acknowledges all packets before `cumulative`.
    #[inline]
    pub(super) fn acknowledge_below(&mut self, now: Time, cumulative: u32) {
        if self.sent.base() < cumulative {
            self.acknowledge_front(now, cumulative);
        }
    }

    #[inline(never)]
    fn acknowledge_front(&mut self, now: Time, cumulative: u32) {
        for seq in self.sent.base()..cumulative.min(self.sent.next()) {
            self.acknowledge(now, seq);
        }
        if self.wants.slow_path() {
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
    pub(super) fn acknowledge(&mut self, sent_at: Time, seq: u32) -> AckOutcome {
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

    /// Transmissions that left at `mark` or before are lost, and the one whose probe has `repaired` its loss: one event
    /// for all of them.
    #[inline(never)]
    fn take_lost(&mut self, now: Time, mark: Option<Time>, repaired: Option<LostPacket>) {
        let mut given_up = GivenUp::default();
        if let Some(lost) = repaired {
            given_up.bytes = self.len(lost.seq);
            self.note_loss(now, lost, &mut given_up);
        }
        let mut any = false;
        while let Some(lost) = mark.and_then(|mark| self.sent.take_sent_until(now, mark)) {
            any = true;
            self.give_up(now, lost, &mut given_up);
        }
        if any && let Some(cold) = &mut self.cold {
            cold.recovery.on_lost(&self.sent);
        }
        self.report_losses(now, given_up);
    }

    /// A packet is lost, without a time-out of its own, and leaves the window.
    pub(super) fn give_up(&mut self, now: Time, lost: LostPacket, given_up: &mut GivenUp) {
        given_up.bytes += self.take_out(lost);
        self.note_loss(now, lost, given_up);
    }

    /// A loss was found without a time-out.
    fn note_loss(&mut self, now: Time, lost: LostPacket, given_up: &mut GivenUp) {
        if let Some(sample) = self.sample_of(now, lost) {
            self.balancer.on_loss(sample, &mut self.random);
        }
        given_up.newest = given_up.newest.max(lost.sent_at);
        self.sent.counters_mut().losses += 1;
    }

    /// Notifies the control of losses that were found without a time-out.
    pub(super) fn report_losses(&mut self, now: Time, GivenUp { bytes, newest, .. }: GivenUp) {
        if !bytes.is_zero() {
            let loss = congestion::Loss { now, bytes, sent_at: newest, in_flight: self.in_flight };
            let before = self.cwnd;
            let decision = self.control.on_loss(&loss);
            self.decide(decision);
            if self.route.connection.prr && self.cwnd < before {
                self.begin_reduction(bytes);
            }
        }
    }

    /// The timers that have run out: one event for all packets. Gives when the next time-out runs out ([`Time::MAX`]: no packet is
    /// in flight).
    pub(crate) fn on_timeout(&mut self, now: Time) -> Time {
        let deadline = self.expire(now);
        self.repeat_marks(now);
        self.reopen(now);
        deadline.min(self.silence_ends()).min(self.repeats_marks_at()).min(self.reopens_at())
    }

    fn expire(&mut self, now: Time) -> Time {
        let mut given_up = GivenUp::default();
        let rto_policy = self.rto_policy();
        let deadline = loop {
            let expired = match &mut self.cold {
                Some(cold) => cold.recovery.take_expired(now, &mut self.sent, rto_policy),
                None => PerPacketRto.take_expired(now, &mut self.sent, rto_policy),
            };
            match expired {
                Ok(Expired::TimedOut(lost)) => {
                    given_up.bytes += self.take_out(lost);
                    if let Some(sample) = self.sample_of(now, lost) {
                        self.balancer.on_timeout(sample, &mut self.random);
                    }
                    given_up.newest = given_up.newest.max(lost.sent_at);
                    given_up.timed_out = true;
                    self.sent.counters_mut().timeouts += 1;
                }
                Ok(Expired::Lost(lost)) => self.give_up(now, lost, &mut given_up),
                Ok(Expired::Probe) => self.probe(now),
                Err(deadline) => break deadline,
            }
        };
        if !given_up.timed_out {
            self.report_losses(now, given_up);
            if self.route.connection.prr && !given_up.bytes.is_zero() {
                self.reduce(false);
            }
            return deadline;
        }
        let (GivenUp { bytes, newest: sent_at, .. }, in_flight, rto) =
            (given_up, self.in_flight, rto_policy.rto);
        self.end_reduction();
        let decision = self.control.on_timeout(&congestion::Timeout { now, bytes, sent_at, in_flight, rto });
        self.decide(decision);
        if self.cold.as_ref().is_some_and(|cold| cold.recovery.resends_at_timeout()) {
            self.wants = self.wants.probe_if(true);
        }
        deadline
    }

    /// One packet leaves whatever the window: the next new one, or else the last in flight once more (RFC 8985 section
    /// 7.3). Of the latter one transmission counts as in flight.
    #[cold]
    pub(super) fn probe(&mut self, now: Time) {
        let next = self.sent.next();
        let is_new = next < self.available();
        let replaced = if is_new { None } else { self.sent.take_last(now) };
        if let Some(lost) = replaced {
            self.take_out(lost);
            if let Some(ColdState { blocks: Some(blocks), .. }) = self.cold.as_deref_mut() {
                blocks.on_probe(lost.seq);
            }
        }
        self.sent.counters_mut().probes += 1;
        self.wants = self.wants.probe_if(true);
        if let Some(cold) = &mut self.cold {
            cold.recovery.on_probe(now, replaced, next + u32::from(is_new));
        }
    }

    /// The path selector's notification of a packet given up; `None`: it asks for no feedback.
    pub(super) fn sample_of(
        &self,
        now: Time,
        LostPacket { sent_at, entropy, .. }: LostPacket,
    ) -> Option<PathSample> {
        let in_flight = self.in_flight;
        self.sent.keeps_entropies().then_some(PathSample { now, sent_at, entropy, in_flight })
    }

    /// A packet given up leaves the window; returns its payload.
    pub(super) fn take_out(&mut self, lost: LostPacket) -> Bytes {
        let len = self.len(lost.seq);
        self.in_flight -= len;
        self.forget_asker(lost.seq);
        if let Some(ColdState { blocks: Some(blocks), .. }) = self.cold.as_deref_mut() {
            blocks.on_lost(lost.seq, &mut self.sent);
        }
        len
    }
}
