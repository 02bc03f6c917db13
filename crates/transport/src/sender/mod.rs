//! The sending half of a flow: window, pacing, retransmission, and the notifications of the control and the path
//! selector.
//!
//! A sender never reads a clock or a queue of its own: the endpoint asks it [when it may send](Sender::next_send),
//! lets it [send one packet](Sender::transmit), and hands it ACKs and timer ticks. Bytes in flight are payload bytes of
//! packets that are neither acknowledged nor marked lost, each counted once however often it was sent.

mod ack_maps;
mod ack_requests;
mod bursts;
mod cold_state;
mod connection;
mod cwr;
mod feedback;
mod handshake;
mod messages;
mod nacks;
mod packet;
mod proxied;
mod records;
mod reduction;
mod report;

use crate::balance::{self, Balance, Balancer, Entropy};
use crate::coding::{Layout, OutgoingBlocks};
use crate::congestion::{self, Congestion, Control, Decision, SendRecord};
use crate::flow::message::Message;
use crate::flow::route::Gate;
use crate::pacing::Pacer;
use crate::recovery::{PerPacketRto, Recover, RtoPolicy, SentMap, Smoothed};
use crate::wire;
use crate::{Path, Route};
use alloc::boxed::Box;
use alloc::sync::Arc;
use cold_state::ColdState;
use connection::ConnectionState;
use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Rate, Time};
pub(crate) use packet::Leaving;
pub use packet::{DataPacket, Take};
use packet::{InBlocks, More, Wants};
use records::Records;
pub use report::{SenderReport, SenderView};

/// No NIC is faster.
const UNPACED: Rate = Rate::from_bps(u64::MAX);

/// The time of a packet that leaves at once: the NIC is sending its burst, and lets no others in between.
pub(crate) const IN_TURN: Time = Time::MAX;

/// The sending half of one flow: what changes while it sends, and where the rest stands.
#[derive(Debug)]
pub(crate) struct Sender {
    /// The parameters that the flows of its path and scheme share.
    route: Arc<Route>,
    flow: FlowId,
    /// Where its packets go: to the receiver, or the proxy on the way.
    to: HostId,
    /// How many packets the message has; of a persistent flow the packet after the last of its oldest message that has not ended.
    packets: u32,
    /// Payload of that message's last segment.
    last_len: u16,
    /// The index of the flow's profile in the list that both ends know.
    profile: u8,
    wants: Wants,
    control: Control,
    balancer: Balancer,
    /// The flow's draws for path selection.
    random: Random,
    /// The congestion window decided last; zero while the control gives no allowance.
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
    cold: Option<Box<ColdState>>,
}

/// Keeps a decision where a sender has it.
#[inline(always)]
fn keep(decision: Decision, cwnd: &mut Bytes, pacing_rate: &mut Rate, wants: &mut Wants) {
    *cwnd = decision.open_window();
    *pacing_rate = decision.pacing_rate.unwrap_or(UNPACED);
    *wants = wants.timer_if(decision.next_timer.is_some());
}

impl Sender {
    /// A sender for `message`, built from its route; `profile`: the index of its profile, `seed`: the endpoint's, which sends so many
    /// other flows.
    pub(crate) fn new(now: Time, message: &Message, profile: u8, seed: u64, active_flows: u32) -> Self {
        let &Message { flow, size, initial_cwnd, ref route, .. } = message;
        let path = &route.path;
        let start = congestion::Start { path, size, initial_cwnd, active_flows, seed, flow };
        let control = route.congestion.build(&start);
        // Draws made while building come from another entity than those made later, so that none repeats.
        let random = Random::new(seed, Purpose::Balance, u64::from(flow.0) | 1 << 32);
        let balancer = route.balance.build(&balance::BalancerStart { path, flow, random });
        Self { profile, ..Self::assemble(now, message, seed, control, balancer) }
    }

    /// A sender for `message` with this control and this path selector, and the first profile.
    pub(crate) fn assemble(
        now: Time,
        message: &Message,
        seed: u64,
        control: Control,
        balancer: Balancer,
    ) -> Self {
        let Message { flow, to, size, route, .. } = message;
        let mss = route.path.mss;
        let segments = u32::try_from(size.segments(mss)).expect("a message has at most 2^32 - 1 packets");
        let decision = control.decision();
        let last = *size - mss * u64::from(segments.saturating_sub(1));
        let layout = route.layout(*size);
        let packets = layout.as_ref().map_or(segments, Layout::packets);
        let wants = Wants::new(&route.needs, &balancer, layout.is_some() || route.merges_acks());
        let cold = ColdState::new(now, message, seed, layout, packets);
        let numbers = message.via.as_ref().is_some_and(|via| via.numbers.is_some());
        let connection = cold.as_ref().and_then(|cold| cold.connection.as_deref());
        let has_more = connection.is_some_and(ConnectionState::needs_slow_path);
        let wants_acks = cold.as_ref().is_some_and(|cold| cold.recovery.wants_acks());
        Self {
            flow: *flow,
            to: message.via.as_ref().map_or(*to, |via| via.proxy),
            packets,
            last_len: last.get() as u16,
            profile: 0,
            wants: wants
                .numbers_if(numbers || has_more)
                .acks_if(wants_acks)
                .timer_if(decision.next_timer.is_some()),
            cold,
            cwnd: decision.open_window(),
            pacing_rate: decision.pacing_rate.unwrap_or(UNPACED),
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

    /// Whether every packet is acknowledged; of a persistent flow, whether the oldest message has ended that had not, or none waits.
    #[inline]
    pub(crate) fn is_finished(&self) -> bool {
        self.sent.base() >= self.packets && !self.awaits_receiver()
    }

    /// Whether the endpoint's schedule holds it.
    #[inline]
    pub(crate) const fn is_scheduled(&self) -> bool {
        self.wants.scheduled()
    }

    /// The endpoint's schedule holds it from now on, or no more.
    #[inline]
    pub(crate) const fn set_scheduled(&mut self, scheduled: bool) {
        self.wants = self.wants.scheduled_if(scheduled);
    }

    /// The blocks of a coded message.
    #[inline]
    fn blocks(&self) -> Option<&OutgoingBlocks> {
        self.cold.as_ref()?.blocks.as_ref()
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
    fn decide(&mut self, decision: Decision) {
        keep(decision, &mut self.cwnd, &mut self.pacing_rate, &mut self.wants);
    }

    /// When the first packet in flight times out; [`Time::MAX`]: none is in flight.
    pub(crate) fn deadline(&mut self, now: Time) -> Time {
        let rto_policy = self.rto_policy();
        match &self.cold {
            Some(cold) => cold.recovery.deadline(now, &mut self.sent, rto_policy),
            None => PerPacketRto.deadline(now, &mut self.sent, rto_policy),
        }
    }

    /// How long packets are waited for.
    #[inline]
    fn rto_policy(&self) -> RtoPolicy {
        let rto = self.cold.as_ref().map_or(self.route.rto, |cold| cold.rto);
        let (backs_off, ack_delay) = (self.route.recovery.backoff, self.route.ack_delay);
        RtoPolicy { rto, backs_off, ack_delay, is_lone: self.in_flight <= self.route.lone }
    }

    /// When the next packet may leave (may lie in the past, or be [`IN_TURN`]); `None` while there is nothing to send or the window is
    /// closed and no probe is due.
    #[inline]
    pub(crate) fn next_send(&self) -> Option<Time> {
        if self.has_data() && self.window_is_open() {
            return Some(self.pacer.next());
        }
        if self.wants.may_exceed() { self.next_beside_window() } else { None }
    }

    /// When a packet may leave that the window alone does not decide on: of a burst, a probe, a mark, or one that opens the
    /// flow.
    #[inline(never)]
    fn next_beside_window(&self) -> Option<Time> {
        if self.route.gate == Gate::Bursts && self.lets_burst_go() {
            let stays = self.is_scheduled() && self.is_amid_burst();
            return Some(if stays { IN_TURN } else { self.pacer.next() });
        }
        let is_due = if self.has_data() { self.exceeds() } else { self.owes_mark() || self.owes_opening() };
        is_due.then_some(self.pacer.next())
    }

    #[inline]
    fn has_data(&self) -> bool {
        self.sent.next() < self.available() || (self.sent.has_lost() && self.may_resend())
    }

    /// Given that packets are lost: whether one is to be sent again. Blocks can do without some.
    #[cold]
    fn may_resend(&self) -> bool {
        self.blocks().is_none_or(OutgoingBlocks::has_wanted)
    }

    #[inline]
    fn window_is_open(&self) -> bool {
        if self.route.gate == Gate::Below {
            return self.in_flight < self.cwnd;
        }
        // A window below one packet is open all the same: only one of zero is closed.
        let has_room = self.in_flight + self.route.path.mss <= self.cwnd
            || (self.in_flight.is_zero() && !self.cwnd.is_zero());
        // Bursts wait for more: see [`Self::next_beside_window`].
        has_room && self.route.gate == Gate::Fits
    }

    /// The payload of the whole message; of a persistent flow, that which was sent.
    fn size(&self) -> Bytes {
        if let Some(sent) = self.first_payload() {
            return sent;
        }
        let segments =
            |packets| self.route.path.mss * u64::from(packets - 1) + Bytes::new(u64::from(self.last_len));
        self.blocks().map_or_else(|| segments(self.packets), |blocks| blocks.layout().size())
    }

    /// The payload of packet `seq`.
    #[inline]
    fn len(&self, seq: u32) -> Bytes {
        if seq < self.packets - self.route.tail { self.route.path.mss } else { self.len_at_end(seq) }
    }

    /// As [`Self::len`], of a message that is neither coded nor one of a persistent flow.
    #[inline]
    fn plain_len(&self, seq: u32) -> Bytes {
        let is_last = seq + 1 == self.packets;
        if is_last { Bytes::new(u64::from(self.last_len)) } else { self.route.path.mss }
    }

    #[cold]
    fn len_at_end(&self, seq: u32) -> Bytes {
        if let Some(len) = self.len_in_messages(seq) {
            return len;
        }
        let len = self.blocks().map_or(self.last_len, |blocks| blocks.layout().len(seq));
        Bytes::new(u64::from(len))
    }

    /// The next packet leaves now, lost ones first: `to` takes it. [`Self::next_send`] must have allowed it. Returns
    /// when its time-out runs out.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, now: Time, to: impl Take) -> Time {
        if self.wants.at_send() || self.sent.has_lost() {
            self.transmit_slowly(now, to)
        } else {
            self.transmit_one::<false>(now, to)
        }
    }

    #[inline(never)]
    fn transmit_slowly(&mut self, now: Time, to: impl Take) -> Time {
        if self.wants.slow_path() && !self.has_data() {
            if self.owes_opening() {
                return self.transmit_opening(now, to);
            }
            return self.transmit_mark(now, to);
        }
        if self.route.gate == Gate::Bursts {
            self.begin_burst();
        }
        let (before, cwnd) = (self.in_flight, self.cwnd);
        let deadline = self.transmit_one::<true>(now, to);
        if self.wants.slow_path() {
            self.end_burst(now);
            self.note_reduced(self.in_flight - before, cwnd);
        }
        deadline
    }

    /// Whether it has what few senders have.
    fn needs_slow_path(&self) -> bool {
        let of_cold = |cold: &ColdState| {
            let has_numbers = cold.proxied.as_ref().is_some_and(|proxied| proxied.numbers.is_some());
            has_numbers
                || cold.blocks.is_some()
                || cold.connection.as_deref().is_some_and(ConnectionState::needs_slow_path)
        };
        self.route.merges_acks() || self.cold.as_deref().is_some_and(of_cold)
    }

    /// `SLOW`: packets may be lost, or something is wanted beside sending.
    #[inline(always)]
    fn transmit_one<const SLOW: bool>(&mut self, now: Time, to: impl Take) -> Time {
        let entropy = self.balancer.entropy(now, &mut self.random);
        let resent = if SLOW && self.sent.has_lost() { self.resend(now, entropy) } else { None };
        let retransmission = resent.is_some();
        let (seq, timeouts) = resent.unwrap_or_else(|| (self.sent.send_new(now, entropy), 0));
        let is_special = SLOW && self.wants.slow_path();
        let len = if is_special { self.len(seq) } else { self.plain_len(seq) };
        let was_idle = self.in_flight.is_zero();
        self.in_flight += len;
        let probes = SLOW && self.wants.probe();
        if SLOW {
            self.wants = self.wants.probe_if(false);
        }
        if SLOW && self.wants.records() {
            self.keep_record(now, seq, was_idle);
        }
        let Path { header, line_rate, .. } = self.route.path;
        let size = len + header;
        self.pacer.on_sent(now, size, self.pacing_rate, line_rate);
        if SLOW && self.wants.sent() {
            let sent = congestion::Sent { now, bytes: len, in_flight: self.in_flight, retransmission };
            let decision = self.control.on_sent(&sent);
            self.decide(decision);
        }
        let header = wire::Data {
            flow: self.flow,
            seq,
            packets: if is_special { self.end_of(seq) } else { self.packets },
            len: len.get() as u16,
            sent_at: now,
            entropy,
            profile: self.profile,
            ask: SLOW && self.wants.slow_path() && self.asks(seq, retransmission || probes),
        };
        let more =
            if SLOW && self.wants.slow_path() { self.more(seq, &header, retransmission) } else { More::None };
        to.take(DataPacket { to: self.to, header, more, retransmission, size });
        let rto_policy = self.rto_policy();
        match &mut self.cold {
            Some(cold) => cold.recovery.on_sent(now, timeouts, was_idle, rto_policy),
            None => PerPacketRto.on_sent(now, timeouts, was_idle, rto_policy),
        }
    }

    /// The further fields in the header of packet `seq`, which leaves now.
    #[inline(never)]
    fn more(&mut self, seq: u32, header: &wire::Data, retransmission: bool) -> More {
        if self.is_persistent() {
            let resent = retransmission.then(|| Bytes::new(u64::from(header.len)));
            self.note_left(header.sent_at, seq, resent);
            return More::InMessages;
        }
        if let Some(numbers) = self.cold.as_mut().and_then(|cold| cold.numbers()) {
            let sent = &self.sent;
            let is_open = |seq, left_at| sent.holds_sent(header.sent_at, seq, left_at);
            return More::Place(numbers.next(header.sent_at, header.entropy, seq, is_open));
        }
        self.in_blocks(seq, retransmission).map_or(More::None, More::Blocks)
    }

    /// The block fields in the header of packet `seq` of a coded message, which leaves now.
    fn in_blocks(&mut self, seq: u32, retransmission: bool) -> Option<InBlocks> {
        let gap = self.packet_gap();
        let blocks = self.cold.as_mut()?.blocks.as_mut()?;
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
        // Without a window, what is in flight is what a round trip carries.
        let window = if self.cwnd.is_zero() { self.in_flight } else { self.cwnd };
        let by_window = base_rtt.as_ps().saturating_mul(mss.get()) / window.get().max(1);
        let by_pacer = self.route.path.mtu().get() * 8 * PS / self.pacing_rate.as_bps().max(1);
        self.route.packet_time.max(Duration::from_ps(by_window.max(by_pacer)))
    }

    /// A lost packet is about to leave again; gives its number and how often it timed out.
    #[cold]
    #[inline(never)]
    fn resend(&mut self, now: Time, entropy: Entropy) -> Option<(u32, u32)> {
        let (seq, timeouts) = match self.cold.as_deref_mut() {
            Some(ColdState { blocks: Some(blocks), .. }) => blocks.resend(now, entropy, &mut self.sent)?,
            _ => self.sent.resend(now, entropy)?,
        };
        let len = self.len(seq);
        let counters = self.sent.counters_mut();
        counters.retransmitted_packets += 1;
        counters.retransmitted_bytes += len;
        Some((seq, timeouts))
    }

    #[inline(never)]
    fn keep_record(&mut self, now: Time, seq: u32, was_idle: bool) {
        let (in_flight, cwnd, delivered) = (self.in_flight, self.cwnd, self.delivered);
        let (base, app_limited) = (self.sent.base(), !self.has_data());
        if let Some(records) = self.cold.as_mut().and_then(|cold| cold.records.as_mut()) {
            if was_idle {
                (records.first_sent_at, records.delivered_at) = (now, now);
            }
            let Records { delivered_at, first_sent_at, .. } = *records;
            let record = SendRecord { in_flight, cwnd, delivered, delivered_at, first_sent_at, app_limited };
            records.put(base, seq, record);
        }
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
}

#[cfg(test)]
mod tests;
