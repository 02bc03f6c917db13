//! The sending half of a flow: window, pacing, retransmission, and what the control and the path selector are told.
//!
//! A sender never looks at a clock or a queue of its own: the endpoint asks it [when it may send](Sender::next_send),
//! lets it [send one packet](Sender::transmit), and hands it ACKs and timer ticks. Bytes in flight are payload bytes of
//! packets that are neither acknowledged nor held for lost, each counted once however often it was sent.

mod extras;
mod records;
mod report;

use crate::balance::{self, Balance, Balancer, Entropy, Feedback};
use crate::coding::blocks::Resend;
use crate::coding::{Layout, Outgoing, Payload, Shape};
use crate::congestion::{self, Congestion, Control, Decision, SendRecord};
use crate::endpoint::{Message, Transmit};
use crate::pacing::Pacer;
use crate::recovery::{Late, Outcome, Patience, Rto, SentMap, Smoothed, Tally};
use crate::scheme::WindowCheck;
use crate::wire::{self, Header};
use crate::{Path, Route};
use alloc::boxed::Box;
use alloc::sync::Arc;
use extras::Extras;
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
use records::Records;
pub use report::{SenderCounters, SenderReport, SenderView};

/// A data packet to put on the wire.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataPacket {
    /// Where it goes.
    pub to: HostId,
    /// What its header says of any data packet.
    pub header: wire::Data,
    /// What its header says of a coded one besides.
    blocks: Option<InBlocks>,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When its time-out runs out.
    pub(crate) deadline: Time,
}

impl DataPacket {
    /// Its whole header.
    #[must_use]
    #[inline]
    pub const fn header(&self) -> Header {
        match self.blocks {
            None => Header::Data(self.header),
            Some(InBlocks { shape, last_len, block_wait_ns }) => {
                Header::Coded(wire::Coded { data: self.header, shape, last_len, block_wait_ns })
            }
        }
    }

    /// As the driver wants it; `mss`: payload of a full packet, `header`: size of a header.
    pub(crate) fn into_transmit(self, mss: Bytes, header: Bytes) -> Transmit {
        let wire::Data { seq, packets, len, entropy, .. } = self.header;
        let layout = self.blocks.and_then(|b| Layout::of_header(b.shape, packets, b.last_len, mss));
        let start = u64::from(seq) * mss.get();
        let plain = || Payload::Source(start..start + u64::from(len));
        Transmit {
            to: self.to,
            size: Bytes::new(u64::from(len)) + header,
            entropy,
            header: self.header(),
            control: false,
            payload: Some(layout.map_or_else(plain, |layout| layout.payload(seq))),
            retransmission: self.retransmission,
        }
    }
}

/// What only headers of coded packets say: see [`wire::Coded`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct InBlocks {
    shape: Shape,
    last_len: u16,
    block_wait_ns: u32,
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
    /// Payload of the message's last piece.
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
        let pieces = u32::try_from(size.pieces(mss)).expect("a message has at most 2^32 - 1 packets");
        let Decision { cwnd, pacing_rate, next_timer } = control.decision();
        let last = *size - mss * u64::from(pieces.saturating_sub(1));
        let layout = route.layout(*size);
        let packets = layout.as_ref().map_or(pieces, Layout::packets);
        Self {
            flow: *flow,
            to: *to,
            packets,
            last_len: last.get() as u16,
            is_scheduled: false,
            extras: Extras::new(now, route, control.wants_send_record(), layout),
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

    /// The blocks of a coded message.
    #[inline]
    fn blocks(&self) -> Option<&Outgoing> {
        self.extras.as_ref()?.blocks.as_ref()
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
        self.sent.next() < self.packets || (self.sent.has_lost() && self.may_resend())
    }

    /// Given that packets are lost: whether one is to be sent again. Blocks can do without some.
    #[cold]
    fn may_resend(&self) -> bool {
        self.blocks().is_none_or(Outgoing::has_wanted)
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
        let pieces =
            |packets| self.route.path.mss * u64::from(packets - 1) + Bytes::new(u64::from(self.last_len));
        self.blocks().map_or_else(|| pieces(self.packets), |blocks| blocks.layout().size())
    }

    /// The payload of packet `seq`.
    #[inline]
    fn len(&self, seq: u32) -> Bytes {
        if seq < self.packets - self.route.tail { self.route.path.mss } else { self.len_at_end(seq) }
    }

    #[cold]
    fn len_at_end(&self, seq: u32) -> Bytes {
        let len = self.blocks().map_or(self.last_len, |blocks| blocks.layout().len(seq));
        Bytes::new(u64::from(len))
    }

    /// The next packet leaves now, lost ones first. [`Self::next_send`] must have allowed it.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time) -> DataPacket {
        let entropy = self.balancer.entropy(now, &mut self.random);
        let again = if self.sent.has_lost() { self.resend(now, entropy) } else { None };
        let retransmission = again.is_some();
        let (seq, timeouts) = again.unwrap_or_else(|| (self.sent.send_new(now, entropy), 0));
        let len = self.len(seq);
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
        let blocks = if self.blocks().is_some() { self.in_blocks(seq, retransmission) } else { None };
        let deadline = now.saturating_add(self.patience().after(timeouts));
        DataPacket { to: self.to, header, blocks, retransmission, deadline }
    }

    /// What the header of packet `seq` of a coded message, which leaves now, says of blocks.
    #[inline(never)]
    fn in_blocks(&mut self, seq: u32, retransmission: bool) -> Option<InBlocks> {
        let gap = self.packet_gap();
        let blocks = self.extras.as_mut()?.blocks.as_mut()?;
        if !retransmission {
            blocks.on_sent(seq);
        }
        let (shape, last_len) = (blocks.layout().shape(), blocks.layout().last_len());
        // The wait of section 4.2, "estimated maximum queuing and transmission delay": n - 1 gaps lie between the first
        // packet of a block and the last.
        let wait = self.route.block_timer + gap * (u64::from(shape.packets()) - 1);
        let block_wait_ns = u32::try_from(wait.as_ps().div_ceil(1000)).unwrap_or(u32::MAX);
        Some(InBlocks { shape, last_len, block_wait_ns })
    }

    /// The time between two full packets at the pace of the window, the pacer or the NIC, whichever is the slowest.
    fn packet_gap(&self) -> Duration {
        const PS: u64 = 1_000_000_000_000;
        let Path { base_rtt, mss, .. } = self.route.path;
        let by_window = base_rtt.as_ps().saturating_mul(mss.get()) / self.cwnd.get().max(1);
        let by_pacer = self.route.path.mtu().get() * 8 * PS / self.pacing_rate.as_bps().max(1);
        self.route.packet_time.max(Duration::from_ps(by_window.max(by_pacer)))
    }

    /// A lost packet is about to leave again; gives its number and how often it timed out.
    #[cold]
    #[inline(never)]
    fn resend(&mut self, now: Time, entropy: Entropy) -> Option<(u32, u32)> {
        let (seq, timeouts) = match self.extras.as_deref_mut() {
            Some(Extras { blocks: Some(blocks), .. }) => blocks.resend(now, entropy, &mut self.sent)?,
            _ => self.sent.resend(now, entropy)?,
        };
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
        if ack.block_complete && self.delivered != before {
            self.complete_block_of(now, ack.seq);
        }
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
        let bytes = self.take_nacked(now, trimmed);
        let (sent_at, in_flight) = (trimmed.sent_at, self.in_flight);
        let decision =
            self.control.on_nack(&congestion::Nack { now, bytes, sent_at, in_flight, trimmed: true });
        self.decide(decision);
        false
    }

    /// A NACK of a block arrived: the receiver has waited for the rest of it. What it misses is lost, but for transmissions
    /// that left less than a base round trip ago, which it cannot have waited for. Returns as [`Self::on_nack`].
    #[cold]
    pub(crate) fn on_block_nack(&mut self, now: Time, nack: &wire::BlockNack) -> bool {
        let Some(blocks) = self.blocks() else { return false };
        if nack.first >= self.sent.next() {
            // Not a NACK of anything that was sent.
            return false;
        }
        let packets = blocks.layout().packets_of(blocks.layout().block_of(nack.first));
        let before = self.delivered;
        self.acknowledge_below(now, nack.cumulative);
        let tally = self.sent.tally_mut();
        tally.nacks += 1;
        tally.leave_unreported(self.delivered - before);
        let Some(mark) = now.as_ps().checked_sub(self.route.path.base_rtt.as_ps()).map(Time::from_ps) else {
            return false;
        };
        let all = self.route.coding.resend() == Resend::All;
        let is_named = |seq: u32| {
            all || seq.checked_sub(nack.first).is_some_and(|bit| bit < 32 && nack.missing >> bit & 1 == 1)
        };
        let (mut bytes, mut sent_at) = (Bytes::ZERO, Time::ZERO);
        for seq in packets.filter(|&seq| is_named(seq)) {
            if let Some(late) = self.sent.take_old(now, seq, mark) {
                bytes += self.take_nacked(now, late);
                sent_at = sent_at.max(late.sent_at);
            }
        }
        if !bytes.is_zero() {
            let in_flight = self.in_flight;
            let nack = congestion::Nack { now, bytes, sent_at, in_flight, trimmed: false };
            let decision = self.control.on_nack(&nack);
            self.decide(decision);
        }
        false
    }

    /// A packet that a NACK names leaves the window; returns its payload.
    fn take_nacked(&mut self, now: Time, late: Late) -> Bytes {
        let len = self.take_out(late);
        if self.sent.keeps_entropies() {
            let Late { sent_at, entropy, .. } = late;
            let feedback = Feedback { now, sent_at, entropy, in_flight: self.in_flight };
            self.balancer.on_nack(feedback, &mut self.random);
        }
        len
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
        if self.blocks().is_some() {
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
        let Some(Extras { blocks: Some(blocks), .. }) = self.extras.as_deref_mut() else { return };
        blocks.on_complete(block);
        for _ in blocks.needless(block, self.sent.next()) {
            self.sent.skip_new();
        }
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
        } else {
            self.on_found(seq);
        }
        outcome
    }

    /// A packet that was held for lost has arrived.
    #[cold]
    fn on_found(&mut self, seq: u32) {
        if let Some(Extras { blocks: Some(blocks), .. }) = self.extras.as_deref_mut() {
            blocks.on_found(seq);
        }
    }

    /// Transmissions that left at `mark` or before are lost: one event for all of them.
    #[inline(never)]
    fn take_lost(&mut self, now: Time, mark: Time) {
        let (mut bytes, mut newest) = (Bytes::ZERO, Time::ZERO);
        while let Some(late) = self.sent.take_sent_until(now, mark) {
            bytes += self.take_late(now, late);
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
            bytes += self.take_late(now, late);
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

    /// A packet that is late leaves the window; returns its payload.
    fn take_late(&mut self, now: Time, late: Late) -> Bytes {
        let len = self.take_out(late);
        if self.sent.keeps_entropies() {
            let Late { sent_at, entropy, .. } = late;
            let feedback = Feedback { now, sent_at, entropy, in_flight: self.in_flight };
            self.balancer.on_timeout(feedback, &mut self.random);
        }
        len
    }

    /// A packet given up leaves the window; returns its payload.
    fn take_out(&mut self, late: Late) -> Bytes {
        let len = self.len(late.seq);
        self.in_flight -= len;
        if let Some(Extras { blocks: Some(blocks), .. }) = self.extras.as_deref_mut() {
            blocks.on_lost(late.seq, &mut self.sent);
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
        let next = self.sent.next();
        let (mut pieces, mut parity_packets, mut parity_bytes) = (u64::from(next), 0, Bytes::ZERO);
        let (mut blocks, mut blocks_undecodable) = (0, 0);
        if let Some(outgoing) = self.blocks() {
            let layout = outgoing.layout();
            pieces = layout.sources_before(next);
            (parity_packets, parity_bytes) = (u64::from(outgoing.parity_packets()), outgoing.parity_bytes());
            blocks = u64::from(next.div_ceil(u32::from(layout.shape().packets())));
            blocks_undecodable = u64::from(outgoing.undecodable());
        }
        let first_bytes = (self.route.path.mss * pieces).min(self.size()) + parity_bytes;
        SenderCounters {
            sent_packets: pieces + parity_packets + u64::from(retransmitted_packets),
            sent_bytes: first_bytes + retransmitted_bytes,
            parity_bytes,
            blocks,
            blocks_undecodable,
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
