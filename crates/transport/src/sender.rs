//! The sending half of a flow: window, pacing, retransmission, and what the control and the path selector are told.
//!
//! A sender never looks at a clock or a queue of its own: the endpoint asks it [when it may send](Sender::next_send),
//! lets it [send one packet](Sender::transmit), and hands it ACKs and timer ticks. Bytes in flight are payload bytes of
//! packets that are neither acknowledged nor held for lost, each counted once however often it was sent.

mod extras;
mod records;
mod report;

use crate::balance::{self, Balance, Balancer, Entropy, Feedback};
use crate::congestion::{self, Congestion, Control, Decision, SendRecord};
use crate::endpoint::{Message, Transmit};
use crate::pacing::Pacer;
use crate::recovery::{Late, Outcome, Patience, Rto, SentMap, Smoothed, Tally};
use crate::scheme::WindowCheck;
use crate::wire::{self, Header};
use crate::{Path, Route};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::Range;
use extras::Extras;
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
use records::Records;
pub use report::{SenderCounters, SenderReport, SenderView};

/// A data packet to put on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// Where it goes.
    pub to: HostId,
    /// Its header.
    pub header: wire::Data,
    /// Its payload's place in the message.
    pub payload: Range<u64>,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When its time-out runs out.
    pub(crate) deadline: Time,
}

impl DataPacket {
    /// As the driver wants it.
    pub(crate) fn into_transmit(self, header: Bytes) -> Transmit {
        Transmit {
            to: self.to,
            size: Bytes::new(u64::from(self.header.len)) + header,
            entropy: self.header.entropy,
            header: Header::Data(self.header),
            control: false,
            payload: Some(self.payload),
            retransmission: self.retransmission,
        }
    }
}

/// What the control wants of the sender, in a byte.
#[derive(Clone, Copy, Debug)]
struct Wants(u8);

impl Wants {
    const TIMER: u8 = 1;
    const SENT: u8 = 2;

    /// `sent`: to hear of packets that leave.
    const fn new(sent: bool) -> Self {
        Self(if sent { Self::SENT } else { 0 })
    }

    /// The same; `timer`: and its timer, too, or not.
    #[inline]
    const fn timer_if(self, timer: bool) -> Self {
        Self(self.0 & !Self::TIMER | timer as u8)
    }

    #[inline]
    const fn timer(self) -> bool {
        self.0 & Self::TIMER != 0
    }

    #[inline]
    const fn sent(self) -> bool {
        self.0 & Self::SENT != 0
    }
}

/// No NIC is faster.
const UNPACED: Rate = Rate::from_bps(u64::MAX);

/// The sending half of one flow: what changes while it sends, and where the rest stands.
#[derive(Debug)]
pub(crate) struct Sender {
    /// What the flows of its path and scheme share.
    route: Arc<Route>,
    flow: FlowId,
    to: HostId,
    /// How many packets the message has.
    packets: u32,
    /// Payload of the last of them.
    last_len: u16,
    /// Whether the endpoint's schedule holds it.
    pub is_scheduled: bool,
    wants: Wants,
    control: Control,
    balancer: Balancer,
    /// The flow's draws for path selection.
    random: Random,
    /// The congestion window decided last.
    cwnd: Bytes,
    /// The pacing rate decided last; [`UNPACED`]: as fast as the NIC.
    pacing_rate: Rate,
    pacer: Pacer,
    sent: SentMap,
    srtt: Smoothed,
    /// Payload in flight.
    in_flight: Bytes,
    /// Payload acknowledged.
    delivered: Bytes,
    extras: Option<Box<Extras>>,
}

impl Sender {
    /// A sender for `message`, built from its route; `seed` is the endpoint's.
    pub(crate) fn new(now: Time, message: &Message, seed: u64) -> Self {
        let Message { flow, initial_cwnd, route, .. } = message;
        let (flow, initial_cwnd, path) = (*flow, *initial_cwnd, &route.path);
        let control = route.congestion.build(&congestion::Start { path, initial_cwnd, seed, flow });
        // Draws made while building come from another entity than those made later, so that none repeats.
        let random = Random::new(seed, Purpose::Balance, u64::from(flow.0) | 1 << 32);
        let balancer = route.balance.build(&balance::Start { path, flow, random });
        Self::assemble(now, message, seed, control, balancer)
    }

    /// A sender for `message` with this control and this path selector.
    pub(crate) fn assemble(
        now: Time,
        message: &Message,
        seed: u64,
        control: Control,
        balancer: Balancer,
    ) -> Self {
        let Message { flow, to, size, route, .. } = message;
        let mss = route.path.mss;
        let packets = u32::try_from(size.pieces(mss)).expect("a message has at most 2^32 - 1 packets");
        let Decision { cwnd, pacing_rate, next_timer } = control.decision();
        let last = *size - mss * u64::from(packets.saturating_sub(1));
        Self {
            flow: *flow,
            to: *to,
            packets,
            last_len: last.get() as u16,
            is_scheduled: false,
            extras: Extras::new(now, route, control.wants_send_record()),
            cwnd,
            pacing_rate: pacing_rate.unwrap_or(UNPACED),
            wants: Wants::new(control.wants_sent()).timer_if(next_timer.is_some()),
            control,
            sent: SentMap::new(balancer.wants_feedback()),
            balancer,
            random: Random::new(seed, Purpose::Balance, u64::from(flow.0)),
            pacer: Pacer::new(now),
            srtt: Smoothed::NONE,
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            route: Arc::clone(route),
        }
    }

    /// Whose it is.
    #[inline]
    pub(crate) const fn flow(&self) -> FlowId {
        self.flow
    }

    /// Where the message goes.
    #[inline]
    pub(crate) const fn to(&self) -> HostId {
        self.to
    }

    /// Whether every packet is acknowledged.
    #[inline]
    pub(crate) const fn is_finished(&self) -> bool {
        self.sent.base() == self.packets
    }

    /// Whether the control has decided to have its timer.
    #[inline]
    pub(crate) const fn wants_timer(&self) -> bool {
        self.wants.timer()
    }

    /// When the control wants its timer.
    pub(crate) fn control_timer(&self) -> Option<Time> {
        if self.wants.timer() { self.control.decision().next_timer } else { None }
    }

    #[inline]
    fn decide(&mut self, Decision { cwnd, pacing_rate, next_timer }: Decision) {
        self.cwnd = cwnd;
        self.pacing_rate = pacing_rate.unwrap_or(UNPACED);
        self.wants = self.wants.timer_if(next_timer.is_some());
    }

    /// When the first packet in flight times out.
    pub(crate) fn deadline(&mut self, now: Time) -> Option<Time> {
        self.sent.deadline(now, self.patience())
    }

    /// How long packets are waited for.
    #[inline]
    fn patience(&self) -> Patience {
        let rto = self.extras.as_ref().map_or(self.route.rto, |extras| extras.rto);
        Patience { rto, backs_off: self.route.recovery.backoff }
    }

    /// When the next packet may leave (may lie in the past); `None` while there is nothing to send or the window is
    /// closed.
    #[inline]
    pub(crate) fn next_send(&self) -> Option<Time> {
        (self.has_data() && self.window_is_open()).then_some(self.pacer.next())
    }

    #[inline]
    fn has_data(&self) -> bool {
        self.sent.has_lost() || self.sent.next() < self.packets
    }

    #[inline]
    fn window_is_open(&self) -> bool {
        match self.route.window_check {
            WindowCheck::Below => self.in_flight < self.cwnd,
            WindowCheck::Fits => {
                self.in_flight.is_zero() || self.in_flight + self.route.path.mss <= self.cwnd
            }
        }
    }

    /// The payload of the whole message.
    fn size(&self) -> Bytes {
        self.route.path.mss * u64::from(self.packets - 1) + Bytes::new(u64::from(self.last_len))
    }

    /// The payload of packet `seq`.
    #[inline]
    fn len(&self, seq: u32) -> Bytes {
        if seq + 1 == self.packets { Bytes::new(u64::from(self.last_len)) } else { self.route.path.mss }
    }

    /// The next packet leaves now, lost ones first. [`Self::next_send`] must have allowed it.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time) -> DataPacket {
        let entropy = self.balancer.entropy(now, &mut self.random);
        let again = if self.sent.has_lost() { self.resend(now, entropy) } else { None };
        let retransmission = again.is_some();
        let (seq, timeouts) = again.unwrap_or_else(|| (self.sent.send_new(now, entropy), 0));
        let len = self.len(seq);
        let start = u64::from(seq) * self.route.path.mss.get();
        let was_idle = self.in_flight.is_zero();
        self.in_flight += len;
        if self.extras.as_ref().is_some_and(|extras| extras.records.is_some()) {
            self.keep_record(now, seq, was_idle);
        }
        let Path { header, line_rate, .. } = self.route.path;
        self.pacer.on_sent(now, len + header, self.pacing_rate, line_rate);
        if self.wants.sent() {
            let sent = congestion::Sent { now, bytes: len, in_flight: self.in_flight, retransmission };
            let decision = self.control.on_sent(&sent);
            self.decide(decision);
        }
        let header = wire::Data {
            flow: self.flow,
            seq,
            packets: self.packets,
            len: len.get() as u16,
            sent_at: now,
            entropy,
        };
        let deadline = now.saturating_add(self.patience().after(timeouts));
        DataPacket { to: self.to, header, payload: start..start + len.get(), retransmission, deadline }
    }

    /// A lost packet is about to leave again; gives its number and how often it timed out.
    #[cold]
    #[inline(never)]
    fn resend(&mut self, now: Time, entropy: Entropy) -> Option<(u32, u32)> {
        let (seq, timeouts) = self.sent.resend(now, entropy)?;
        let len = self.len(seq);
        let tally = self.sent.tally_mut();
        tally.retransmitted_packets += 1;
        tally.retransmitted_bytes += len;
        Some((seq, timeouts))
    }

    #[inline(never)]
    fn keep_record(&mut self, now: Time, seq: u32, was_idle: bool) {
        let (in_flight, delivered) = (self.in_flight, self.delivered);
        let (base, app_limited) = (self.sent.base(), !self.has_data());
        if let Some(records) = self.extras.as_mut().and_then(|extras| extras.records.as_mut()) {
            if was_idle {
                (records.first_sent_at, records.delivered_at) = (now, now);
            }
            let Records { delivered_at, first_sent_at, .. } = *records;
            let record = SendRecord { in_flight, delivered, delivered_at, first_sent_at, app_limited };
            records.put(base, seq, record);
        }
    }

    /// An ACK arrived. Returns whether the time-out may have become shorter.
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &wire::Ack) -> bool {
        if ack.seq >= self.sent.next() || ack.sent_at > now {
            // Not an ACK of anything that was sent.
            return false;
        }
        let rtt = now.since(ack.sent_at);
        let before = self.delivered;
        let has_record = self.acknowledge_echoed(now, ack);
        self.acknowledge_below(now, ack.cumulative);
        let rto_shrank = self.update_rtt(rtt);

        let mut news = congestion::Ack {
            now,
            bytes_acked: self.delivered - before + self.sent.take_unreported(),
            ecn_ce: ack.ecn_ce,
            rtt,
            sent_at: ack.sent_at,
            in_flight: self.in_flight,
            delivered: self.delivered,
            at_send: None,
            telemetry: &[],
        };
        if has_record {
            news.at_send = self.record_of(ack.seq);
        }
        let decision = self.control.on_ack(&news);
        self.decide(decision);
        if self.sent.keeps_entropies() {
            let wire::Ack { sent_at, entropy, .. } = *ack;
            let feedback = Feedback { now, sent_at, entropy, in_flight: self.in_flight };
            self.balancer.on_ack(feedback, ack.ecn_ce, &mut self.random);
        }
        if let Some(Extras { rtt, rack: Some(rack), .. }) = self.extras.as_deref_mut() {
            rack.on_ack(ack.sent_at);
            if let Some(mark) = rack.lost_until(rtt)
                && self.sent.may_hold_sent_until(now, mark)
            {
                self.take_lost(now, mark);
            }
        }
        rto_shrank
    }

    /// A NACK arrived: the transmission that it names was trimmed. It is lost at once, if it is in flight and its packet's
    /// last; a NACK of an earlier transmission says nothing. It gives no RTT sample, and RACK learns nothing from it: a
    /// trimmed packet overtakes others. Returns whether the time-out may have become shorter: it has not.
    #[cold]
    pub(crate) fn on_nack(&mut self, now: Time, nack: &wire::Nack) -> bool {
        if nack.seq >= self.sent.next() || nack.sent_at > now {
            // Not a NACK of anything that was sent.
            return false;
        }
        let before = self.delivered;
        self.acknowledge_below(now, nack.cumulative);
        let tally = self.sent.tally_mut();
        tally.nacks += 1;
        tally.leave_unreported(self.delivered - before);
        let Some(trimmed) = self.sent.take_one(now, nack.seq, nack.sent_at) else { return false };
        let bytes = self.len(trimmed.seq);
        self.in_flight -= bytes;
        if self.sent.keeps_entropies() {
            let wire::Nack { sent_at, entropy, .. } = *nack;
            let feedback = Feedback { now, sent_at, entropy, in_flight: self.in_flight };
            self.balancer.on_nack(feedback, &mut self.random);
        }
        let (sent_at, in_flight) = (trimmed.sent_at, self.in_flight);
        let decision =
            self.control.on_nack(&congestion::Nack { now, bytes, sent_at, in_flight, trimmed: true });
        self.decide(decision);
        false
    }

    #[inline]
    fn update_rtt(&mut self, rtt: Duration) -> bool {
        self.srtt.update(rtt);
        let Some(extras) = &mut self.extras else { return false };
        extras.rtt.update(rtt);
        let Rto::Rfc6298 { min } = self.route.recovery.rto else { return false };
        let before = core::mem::replace(&mut extras.rto, extras.rtt.rto(min));
        extras.rto < before
    }

    /// Acknowledges the packet that the ACK is for; says whether it has a send record, of this transmission.
    #[inline(always)]
    fn acknowledge_echoed(&mut self, now: Time, ack: &wire::Ack) -> bool {
        let was_spurious = match self.acknowledge(now, ack.seq) {
            Outcome::Known => return false,
            Outcome::WasLost => true,
            Outcome::Arrived { sent_at } => sent_at != ack.sent_at,
        };
        if ack.seq == self.sent.base() || was_spurious {
            self.sent.advance();
        }
        if was_spurious {
            self.on_spurious(now);
        }
        let Some(records) = self.extras.as_mut().and_then(|extras| extras.records.as_mut()) else {
            return false;
        };
        records.delivered_at = now;
        if !was_spurious {
            records.first_sent_at = ack.sent_at;
        }
        !was_spurious
    }

    /// A packet arrived that was held for lost, or was sent again.
    #[cold]
    fn on_spurious(&mut self, now: Time) {
        self.sent.tally_mut().spurious += 1;
        if let Some(Extras { rtt, rack: Some(rack), .. }) = self.extras.as_deref_mut() {
            rack.on_spurious(now, rtt);
        }
    }

    /// The send record of a packet, until another one takes its place.
    #[cold]
    fn record_of(&self, seq: u32) -> Option<SendRecord> {
        self.extras.as_ref()?.records.as_ref().map(|records| records.of(seq))
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
        self.sent.advance();
    }

    #[inline(always)]
    fn acknowledge(&mut self, now: Time, seq: u32) -> Outcome {
        let outcome = self.sent.acknowledge(now, seq);
        if outcome == Outcome::Known {
            return outcome;
        }
        let len = self.len(seq);
        self.delivered += len;
        if let Outcome::Arrived { .. } = outcome {
            self.in_flight -= len;
        }
        outcome
    }

    /// Transmissions that left at `mark` or before are lost: one event for all of them.
    #[inline(never)]
    fn take_lost(&mut self, now: Time, mark: Time) {
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        while let Some(late) = self.sent.take_sent_until(now, mark) {
            bytes += self.take_out(now, late);
            newest = newest.max(late.sent_at);
            self.sent.tally_mut().losses += 1;
        }
        if !bytes.is_zero() {
            let loss = congestion::Loss { now, bytes, sent_at: newest, in_flight: self.in_flight };
            let decision = self.control.on_loss(&loss);
            self.decide(decision);
        }
    }

    /// Time-outs that have run out: one event for all of them.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        let patience = self.patience();
        while let Some(late) = self.sent.take_timed_out(now, patience) {
            bytes += self.take_out(now, late);
            newest = newest.max(late.sent_at);
            self.sent.tally_mut().timeouts += 1;
        }
        if !bytes.is_zero() {
            let (in_flight, rto) = (self.in_flight, patience.rto);
            let timeout = congestion::Timeout { now, bytes, sent_at: newest, in_flight, rto };
            let decision = self.control.on_timeout(&timeout);
            self.decide(decision);
        }
    }

    /// A packet given up leaves the window; returns its payload.
    fn take_out(&mut self, now: Time, late: Late) -> Bytes {
        let len = self.len(late.seq);
        self.in_flight -= len;
        if self.sent.keeps_entropies() {
            let Late { sent_at, entropy, .. } = late;
            let feedback = Feedback { now, sent_at, entropy, in_flight: self.in_flight };
            self.balancer.on_timeout(feedback, &mut self.random);
        }
        len
    }

    /// The control's timer.
    pub(crate) fn on_control_timer(&mut self, now: Time) {
        if self.control_timer().is_some_and(|due| due <= now) {
            let decision = self.control.on_timer(now);
            self.decide(decision);
            // A timer in the past would come up for ever.
            self.wants = self.wants.timer_if(decision.next_timer.is_some_and(|due| due > now));
        }
    }

    fn counters(&self) -> SenderCounters {
        let Tally { retransmitted_bytes, retransmitted_packets, timeouts, nacks, losses, spurious, .. } =
            self.sent.tally();
        let first_bytes = (self.route.path.mss * u64::from(self.sent.next())).min(self.size());
        SenderCounters {
            sent_packets: u64::from(self.sent.next()) + u64::from(retransmitted_packets),
            sent_bytes: first_bytes + retransmitted_bytes,
            retransmitted_packets: u64::from(retransmitted_packets),
            retransmitted_bytes,
            timeouts: u64::from(timeouts),
            nacks: u64::from(nacks),
            losses: u64::from(losses),
            spurious: u64::from(spurious),
        }
    }

    /// For probes.
    pub(crate) fn view(&self) -> SenderView {
        SenderView {
            flow: self.flow,
            cwnd: self.cwnd,
            srtt: self.srtt.get(),
            in_flight: self.in_flight,
            delivered: self.delivered,
            counters: self.counters(),
        }
    }

    /// For the end.
    pub(crate) fn report(&self, finished_at: Time) -> SenderReport {
        debug_assert!(self.in_flight.is_zero(), "nothing is in flight when everything is acknowledged");
        SenderReport {
            flow: self.flow,
            to: self.to,
            size: self.size(),
            finished_at,
            counters: self.counters(),
        }
    }
}

#[cfg(test)]
mod tests;
