//! The sending half of a flow: window, pacing, retransmission, and what the control and the path selector are told.
//!
//! A sender never looks at a clock or a queue of its own: the endpoint asks it [when it may send](Sender::next_send),
//! lets it [send one packet](Sender::transmit), and hands it ACKs and timer ticks. Bytes in flight are payload bytes of
//! packets that are neither acknowledged nor held for lost, each counted once however often it was sent.

mod records;

use crate::Scheme;
use crate::balance::{self, Balance, Balancer, Feedback};
use crate::congestion::{self, Congestion, Control, Decision, SendRecord};
use crate::endpoint::{Message, Transmit};
use crate::pacing::Pacer;
use crate::recovery::{Detection, Late, Outcome, Rack, Rto, RttEstimate, SentMap};
use crate::scheme::WindowCheck;
use crate::wire::{self, Header};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::ops::Range;
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Time};
use records::Records;

/// What a sender has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent, retransmissions included.
    pub sent_bytes: Bytes,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Payload sent again.
    pub retransmitted_bytes: Bytes,
    /// Packets whose time-out ran out, each time it did.
    pub timeouts: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Packets found lost from the ACKs of later ones.
    pub losses: u64,
    /// Packets that arrived after they were held for lost.
    pub spurious: u64,
}

/// What a sender counts itself; the rest follows from where it stands.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    retransmitted_bytes: Bytes,
    retransmitted_packets: u32,
    timeouts: u32,
    nacks: u32,
    losses: u32,
    spurious: u32,
    /// Payload that NACKs acknowledged since the last ACK, which is left to the next one to tell the control.
    unreported: u32,
}

impl Tally {
    fn leave_unreported(&mut self, bytes: Bytes) {
        self.unreported = self.unreported.saturating_add(u32::try_from(bytes.get()).unwrap_or(u32::MAX));
    }

    fn take_unreported(&mut self) -> Bytes {
        Bytes::new(u64::from(core::mem::take(&mut self.unreported)))
    }
}

/// A live sender, for probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderView {
    /// The flow.
    pub flow: FlowId,
    /// Congestion window, payload bytes.
    pub cwnd: Bytes,
    /// Smoothed round trip; `None` before the first ACK.
    pub srtt: Option<Duration>,
    /// Payload bytes in flight.
    pub in_flight: Bytes,
    /// Payload bytes acknowledged.
    pub delivered: Bytes,
    /// What was counted so far.
    pub counters: SenderCounters,
}

/// A message whose sender has the last ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderReport {
    /// The flow.
    pub flow: FlowId,
    /// Where it went.
    pub to: HostId,
    /// Its payload.
    pub size: Bytes,
    /// When the last ACK came.
    pub finished_at: Time,
    /// What was counted.
    pub counters: SenderCounters,
}

/// A data packet about to leave.
pub(crate) struct DataPacket {
    /// Its header.
    pub header: wire::Data,
    /// Its payload's place in the message.
    pub payload: Range<u64>,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When its time-out runs out.
    pub deadline: Time,
}

impl DataPacket {
    /// As the driver wants it.
    #[inline]
    pub(crate) fn into_transmit(self, to: HostId, header: Bytes) -> Transmit {
        Transmit {
            to,
            size: Bytes::new(u64::from(self.header.len)) + header,
            entropy: self.header.entropy,
            header: Header::Data(self.header),
            control: false,
            payload: Some(self.payload),
            retransmission: self.retransmission,
        }
    }
}

/// The sending half of one flow.
#[derive(Debug)]
pub(crate) struct Sender {
    flow: FlowId,
    to: HostId,
    size: Bytes,
    /// Payload of a full packet.
    mss: Bytes,
    /// Header of every packet.
    header: Bytes,
    /// How many packets the message has.
    packets: u32,
    window_check: WindowCheck,
    control: Control,
    balancer: Balancer,
    wants_feedback: bool,
    /// The flow's draws for path selection.
    random: Random,
    /// What the control decided last.
    decision: Decision,
    pacer: Pacer,
    sent: SentMap,
    rtt: RttEstimate,
    rto_policy: Rto,
    /// Time-out of a packet that never timed out.
    rto: Duration,
    rack: Option<Rack>,
    /// Payload in flight.
    in_flight: Bytes,
    /// Payload acknowledged.
    delivered: Bytes,
    records: Option<Box<Records>>,
    tally: Tally,
}

impl Sender {
    /// A sender for `message`, built from its scheme; `seed` is the endpoint's.
    pub(crate) fn new(now: Time, message: &Message, seed: u64) -> Self {
        let Message { flow, path, initial_cwnd, scheme, .. } = message;
        let (flow, initial_cwnd) = (*flow, *initial_cwnd);
        let control = scheme.congestion.build(&congestion::Start { path, initial_cwnd, seed, flow });
        // Draws made while building come from another entity than those made later, so that none repeats.
        let random = Random::new(seed, Purpose::Balance, u64::from(flow.0) | 1 << 32);
        let balancer = scheme.balance.build(&balance::Start { path, flow, random });
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
        let Message { flow, to, size, path, scheme, .. } = message;
        let Scheme { recovery, window_check, .. } = Arc::as_ref(scheme);
        let packets = u32::try_from(size.pieces(path.mss)).expect("a message has at most 2^32 - 1 packets");
        let records = control.wants_send_record().then(|| Box::new(Records::new(now)));
        Self {
            flow: *flow,
            to: *to,
            size: *size,
            mss: path.mss,
            header: path.header,
            packets,
            window_check: *window_check,
            decision: control.decision(),
            control,
            wants_feedback: balancer.wants_feedback(),
            sent: SentMap::new(balancer.wants_feedback(), recovery.backoff),
            balancer,
            random: Random::new(seed, Purpose::Balance, u64::from(flow.0)),
            pacer: Pacer::new(now, path.line_rate),
            rtt: RttEstimate::default(),
            rto_policy: recovery.rto,
            rto: recovery.rto.initial(path),
            rack: (recovery.detection == Detection::Rack).then(Rack::default),
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            records,
            tally: Tally::default(),
        }
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

    /// When the control wants its timer.
    #[inline]
    pub(crate) const fn control_timer(&self) -> Option<Time> {
        self.decision.next_timer
    }

    /// When the first packet in flight times out.
    pub(crate) fn deadline(&mut self) -> Option<Time> {
        self.sent.deadline(self.rto)
    }

    /// When the next packet may leave (may lie in the past); `None` while there is nothing to send or the window is
    /// closed.
    #[inline]
    pub(crate) fn next_send(&self) -> Option<Time> {
        (self.has_data() && self.window_is_open()).then_some(self.pacer.next())
    }

    #[inline]
    const fn has_data(&self) -> bool {
        self.sent.has_lost() || self.sent.next() < self.packets
    }

    #[inline]
    fn window_is_open(&self) -> bool {
        match self.window_check {
            WindowCheck::Below => self.in_flight < self.decision.cwnd,
            WindowCheck::Fits => self.in_flight.is_zero() || self.in_flight + self.mss <= self.decision.cwnd,
        }
    }

    /// The payload of packet `seq` as a range of the message.
    #[inline]
    fn range(&self, seq: u32) -> Range<u64> {
        let start = u64::from(seq) * self.mss.get();
        start..(start + self.mss.get()).min(self.size.get())
    }

    #[inline]
    fn len(&self, seq: u32) -> Bytes {
        let range = self.range(seq);
        Bytes::new(range.end - range.start)
    }

    /// The next packet leaves now, lost ones first. [`Self::next_send`] must have allowed it.
    #[inline]
    pub(crate) fn transmit(&mut self, now: Time) -> DataPacket {
        let entropy = self.balancer.entropy(now, &mut self.random);
        let again = if self.sent.has_lost() { self.sent.resend(now, entropy) } else { None };
        let retransmission = again.is_some();
        let (seq, timeouts) = again.unwrap_or_else(|| (self.sent.send_new(now, entropy), 0));
        let payload = self.range(seq);
        let len = Bytes::new(payload.end - payload.start);

        if retransmission {
            self.tally.retransmitted_packets += 1;
            self.tally.retransmitted_bytes += len;
        }
        let was_idle = self.in_flight.is_zero();
        self.in_flight += len;
        if self.records.is_some() {
            self.keep_record(now, seq, was_idle);
        }
        self.pacer.on_sent(now, len + self.header, self.decision.pacing_rate);
        let sent = congestion::Sent { now, bytes: len, in_flight: self.in_flight, retransmission };
        self.decision = self.control.on_sent(&sent);
        let header = wire::Data {
            flow: self.flow,
            seq,
            packets: self.packets,
            len: len.get() as u16,
            sent_at: now,
            entropy,
        };
        let deadline = now.saturating_add(self.sent.time_out(self.rto, timeouts));
        DataPacket { header, payload, retransmission, deadline }
    }

    fn keep_record(&mut self, now: Time, seq: u32, was_idle: bool) {
        let (in_flight, delivered) = (self.in_flight, self.delivered);
        let (base, app_limited) = (self.sent.base(), !self.has_data());
        if let Some(records) = &mut self.records {
            if was_idle {
                (records.first_sent_at, records.delivered_at) = (now, now);
            }
            let Records { delivered_at, first_sent_at, .. } = **records;
            let record = SendRecord { in_flight, delivered, delivered_at, first_sent_at, app_limited };
            records.put(base, seq, record);
        }
    }

    /// An ACK arrived. Returns whether the time-out may have become shorter.
    #[inline]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &wire::Ack) -> bool {
        if ack.seq >= self.sent.next() || ack.sent_at > now {
            // Not an ACK of anything that was sent.
            return false;
        }
        let rtt = now.since(ack.sent_at);
        let before = self.delivered;
        let at_send = self.acknowledge_echoed(now, ack);
        self.sent.advance();
        self.acknowledge_below(ack.cumulative);
        let rto_shrank = self.update_rtt(rtt);

        self.decision = self.control.on_ack(&congestion::Ack {
            now,
            bytes_acked: self.delivered - before + self.tally.take_unreported(),
            ecn_ce: ack.ecn_ce,
            rtt,
            sent_at: ack.sent_at,
            in_flight: self.in_flight,
            delivered: self.delivered,
            at_send,
            telemetry: &[],
        });
        if self.wants_feedback {
            let feedback = Feedback { now, entropy: ack.entropy };
            self.balancer.on_ack(feedback, ack.ecn_ce, &mut self.random);
        }
        if let Some(rack) = &mut self.rack {
            rack.on_ack(ack.sent_at);
            self.detect_losses(now);
        }
        rto_shrank
    }

    /// A NACK arrived: the transmission that it names was trimmed. It is lost at once, if it is in flight and its packet's
    /// last; a NACK of an earlier transmission says nothing. It gives no RTT sample, and RACK learns nothing from it: a
    /// trimmed packet overtakes others.
    #[cold]
    pub(crate) fn on_nack(&mut self, now: Time, nack: &wire::Nack) {
        if nack.seq >= self.sent.next() || nack.sent_at > now {
            // Not a NACK of anything that was sent.
            return;
        }
        self.tally.nacks += 1;
        let before = self.delivered;
        self.acknowledge_below(nack.cumulative);
        self.tally.leave_unreported(self.delivered - before);
        let Some(trimmed) = self.sent.take_one(nack.seq, nack.sent_at) else { return };
        let bytes = self.len(trimmed.seq);
        self.in_flight -= bytes;
        if self.wants_feedback {
            self.balancer.on_nack(Feedback { now, entropy: nack.entropy }, &mut self.random);
        }
        let (sent_at, in_flight) = (trimmed.sent_at, self.in_flight);
        let nack = congestion::Nack { now, bytes, sent_at, in_flight, trimmed: true };
        self.decision = self.control.on_nack(&nack);
    }

    #[inline]
    fn update_rtt(&mut self, rtt: Duration) -> bool {
        self.rtt.update(rtt);
        let Rto::Rfc6298 { min } = self.rto_policy else { return false };
        let before = core::mem::replace(&mut self.rto, self.rtt.rto(min));
        self.rto < before
    }

    /// Acknowledges the packet that the ACK is for; gives its send record if this transmission was its last.
    #[inline]
    fn acknowledge_echoed(&mut self, now: Time, ack: &wire::Ack) -> Option<SendRecord> {
        let was_spurious = match self.acknowledge(ack.seq) {
            Outcome::Known => return None,
            Outcome::WasLost => true,
            Outcome::Arrived { sent_at } => sent_at != ack.sent_at,
        };
        if was_spurious {
            self.tally.spurious += 1;
            if let Some(rack) = &mut self.rack {
                rack.on_spurious(now, &self.rtt);
            }
        }
        let records = self.records.as_mut()?;
        records.delivered_at = now;
        if was_spurious {
            return None;
        }
        records.first_sent_at = ack.sent_at;
        Some(records.of(ack.seq))
    }

    /// Acknowledges all packets before `cumulative`.
    #[inline]
    fn acknowledge_below(&mut self, cumulative: u32) {
        if self.sent.base() < cumulative {
            for seq in self.sent.base()..cumulative.min(self.sent.next()) {
                self.acknowledge(seq);
            }
            self.sent.advance();
        }
    }

    #[inline]
    fn acknowledge(&mut self, seq: u32) -> Outcome {
        let outcome = self.sent.acknowledge(seq);
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

    fn detect_losses(&mut self, now: Time) {
        let Some(mark) = self.rack.as_ref().and_then(|rack| rack.lost_until(&self.rtt)) else { return };
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        while let Some(late) = self.sent.take_sent_until(mark) {
            bytes += self.take_out(now, late);
            newest = newest.max(late.sent_at);
            self.tally.losses += 1;
        }
        if !bytes.is_zero() {
            let loss = congestion::Loss { now, bytes, sent_at: newest, in_flight: self.in_flight };
            self.decision = self.control.on_loss(&loss);
        }
    }

    /// Time-outs that have run out: one event for all of them.
    pub(crate) fn on_timeout(&mut self, now: Time) {
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        while let Some(late) = self.sent.take_timed_out(now, self.rto) {
            bytes += self.take_out(now, late);
            newest = newest.max(late.sent_at);
            self.tally.timeouts += 1;
        }
        if !bytes.is_zero() {
            let (in_flight, rto) = (self.in_flight, self.rto);
            let timeout = congestion::Timeout { now, bytes, sent_at: newest, in_flight, rto };
            self.decision = self.control.on_timeout(&timeout);
        }
    }

    /// A packet given up leaves the window; returns its payload.
    fn take_out(&mut self, now: Time, late: Late) -> Bytes {
        let len = self.len(late.seq);
        self.in_flight -= len;
        if self.wants_feedback {
            self.balancer.on_timeout(Feedback { now, entropy: late.entropy }, &mut self.random);
        }
        len
    }

    /// The control's timer.
    pub(crate) fn on_control_timer(&mut self, now: Time) {
        if self.decision.next_timer.is_some_and(|due| due <= now) {
            self.decision = self.control.on_timer(now);
            // A timer in the past would come up for ever.
            self.decision.next_timer = self.decision.next_timer.filter(|&due| due > now);
        }
    }

    fn counters(&self) -> SenderCounters {
        let Tally { retransmitted_bytes, retransmitted_packets, timeouts, nacks, losses, spurious, .. } =
            self.tally;
        let first_bytes = (self.mss * u64::from(self.sent.next())).min(self.size);
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
            cwnd: self.decision.cwnd,
            srtt: self.rtt.srtt(),
            in_flight: self.in_flight,
            delivered: self.delivered,
            counters: self.counters(),
        }
    }

    /// For the end.
    pub(crate) fn report(&self, finished_at: Time) -> SenderReport {
        debug_assert!(self.in_flight.is_zero(), "nothing is in flight when everything is acknowledged");
        SenderReport { flow: self.flow, to: self.to, size: self.size, finished_at, counters: self.counters() }
    }
}

#[cfg(test)]
mod tests;
