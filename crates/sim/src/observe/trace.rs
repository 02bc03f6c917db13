//! Traces of flows: events that a host sees of those that it sends and receives. They are read off the
//! endpoint from outside, after each event, so that the endpoint does the same with and without.

use crate::plan::Plan;
use crate::spec::Spec;
use farspan_trace::{End, FlowEvent, Metrics, Reason, What};
use farspan_transport::wire::{Fate, Feedback, Header, mapped};
use farspan_transport::{Endpoint, PacketState, SenderCounters, SenderView, Trimmed};
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A traced flow at its sender.
#[derive(Default)]
struct Sending {
    is_live: bool,
    /// Packets sent and not acknowledged: why each is marked lost, if it is.
    open: BTreeMap<u32, Option<Reason>>,
    /// One past the last packet sent.
    next: u32,
    paths: BTreeSet<u16>,
    latest_rtt: Option<Duration>,
    min_rtt: Option<Duration>,
    metrics: Option<Metrics>,
    state: Option<&'static str>,
    /// The counters at the last event.
    counters: SenderCounters,
}

/// A traced flow at its receiver.
#[derive(Default)]
struct Receiving {
    has_started: bool,
    has_ended: bool,
    /// Blocks decoded at the last event.
    repaired: u64,
    decoded: BTreeSet<u32>,
    completed: BTreeSet<u32>,
}

/// Traces flows of one host.
pub(crate) struct FlowTracer {
    plan: Arc<Plan>,
    sending: BTreeMap<FlowId, Sending>,
    receiving: BTreeMap<FlowId, Receiving>,
    events: Vec<FlowEvent>,
}

/// A packet as a host sees it that sends it or gets it.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) header: Header,
    pub(crate) size: Bytes,
    pub(crate) entropy: u16,
    pub(crate) ecn_ce: bool,
    pub(crate) trimmed: Trimmed,
}

/// The cause of a possible change of a sender.
#[derive(Clone, Copy)]
enum Cause<'a> {
    Sent,
    Timer,
    Header(&'a Header),
    Returned,
}

impl<'a> Cause<'a> {
    const fn feedback(self) -> Option<&'a Feedback> {
        match self {
            Self::Header(header) => header.feedback(),
            Self::Sent | Self::Timer | Self::Returned => None,
        }
    }
}

impl FlowTracer {
    /// The tracer of the flows of `host`; `None` if none of them is traced.
    pub(crate) fn new(spec: &Spec, plan: &Arc<Plan>, host: NodeId) -> Option<Self> {
        let of = |end: fn(&crate::spec::Flow) -> HostId| {
            // A connection with several messages has one trace, under its first flow.
            let flows = spec.trace.flows.iter().map(|flow| plan.connections.first(*flow));
            flows.filter(move |flow| end(&spec.flows[flow.index()]).0 == host.0)
        };
        let sending: BTreeMap<_, _> = of(|flow| flow.src).map(|flow| (flow, Sending::default())).collect();
        let receiving: BTreeMap<_, _> =
            of(|flow| flow.dst).map(|flow| (flow, Receiving::default())).collect();
        let any = !sending.is_empty() || !receiving.is_empty();
        any.then(|| Self { plan: Arc::clone(plan), sending, receiving, events: Vec::new() })
    }

    /// A flow has been handed to the endpoint.
    pub(crate) fn started(&mut self, now: Time, id: FlowId, endpoint: &Endpoint) {
        let Some(sending) = self.sending.get_mut(&id) else { return };
        sending.is_live = true;
        let flow = &self.plan.flows[id.index()].flow;
        let what = What::Started { local: flow.src, remote: flow.dst, size: Some(flow.size) };
        self.events.push(FlowEvent { at: now, flow: id, end: End::Sender, what });
        self.sample(now, id, Cause::Sent, endpoint);
    }

    /// The NIC has taken a packet.
    pub(crate) fn sent(&mut self, now: Time, packet: &Seen, endpoint: &Endpoint) {
        let Seen { header, size, entropy, .. } = *packet;
        let flow = header.flow();
        if header.is_mark() || matches!(header, Header::Handshake(_)) {
            if !self.sending.contains_key(&flow) {
                return;
            }
            return self.extend(now, flow, End::Sender, [What::Sent { header, size, entropy, again: None }]);
        }
        if let Some(seq) = header.data().map(|data| data.seq) {
            let Some(sending) = self.sending.get_mut(&flow) else { return };
            let lost = sending.open.insert(seq, None).flatten();
            let again = (seq < sending.next).then(|| lost.unwrap_or(Reason::Timeout));
            sending.next = sending.next.max(seq + 1);
            let is_new = sending.paths.insert(entropy);
            let path = is_new.then_some(What::PathUsed { entropy });
            let sent = What::Sent { header, size, entropy, again };
            self.extend(now, flow, End::Sender, path.into_iter().chain([sent]));
            return self.sample(now, flow, Cause::Sent, endpoint);
        }
        let Some(receiving) = self.receiving.get_mut(&flow) else { return };
        let news = receiving.said(&header, &self.plan);
        let sent = What::Sent { header, size, entropy, again: None };
        self.extend(now, flow, End::Receiver, news.into_iter().chain([sent]));
    }

    /// A packet has arrived, and the endpoint has taken it.
    pub(crate) fn arrived(&mut self, now: Time, packet: &Seen, endpoint: &Endpoint) {
        let Seen { header, size, entropy, ecn_ce, trimmed } = *packet;
        let (flow, returned) = (header.flow(), trimmed == Trimmed::Returned);
        let arrived = What::Arrived { header, size, entropy, ecn_ce, trimmed: trimmed != Trimmed::No };
        let Some(seq) = header.data().map(|data| data.seq) else {
            if matches!(header, Header::Handshake(_)) {
                if self.receiving.contains_key(&flow) {
                    self.extend(now, flow, End::Receiver, [arrived]);
                }
                return;
            }
            if self.sending.contains_key(&flow) {
                self.extend(now, flow, End::Sender, [arrived]);
                self.sample(now, flow, Cause::Header(&header), endpoint);
            }
            return;
        };
        if returned {
            if self.sending.contains_key(&flow) {
                self.extend(now, flow, End::Sender, [arrived]);
                self.sample(now, flow, Cause::Returned, endpoint);
            }
            return;
        }
        let Some(receiving) = self.receiving.get_mut(&flow) else { return };
        let of = &self.plan.flows[flow.index()].flow;
        let started = What::Started { local: of.dst, remote: of.src, size: None };
        let started = (!std::mem::replace(&mut receiving.has_started, true)).then_some(started);
        let view = endpoint.receiver(of.src, flow);
        let repaired = view.map_or(0, |view| view.counters.blocks_repaired);
        if std::mem::replace(&mut receiving.repaired, repaired) < repaired
            && let Some(layout) = self.plan.layout(flow)
        {
            receiving.decoded.insert(layout.block_of(seq));
        }
        let ends = view.is_some_and(|view| view.is_complete) && !receiving.has_ended;
        receiving.has_ended |= ends;
        let ended = ends.then_some(What::Ended);
        self.extend(now, flow, End::Receiver, started.into_iter().chain([arrived]).chain(ended));
    }

    /// Timers of the endpoint have run out.
    pub(crate) fn timed_out(&mut self, now: Time, endpoint: &Endpoint) {
        let live: Vec<_> = self.sending.iter().filter(|(_, s)| s.is_live).map(|(flow, _)| *flow).collect();
        live.into_iter().for_each(|flow| self.sample(now, flow, Cause::Timer, endpoint));
    }

    fn extend(&mut self, at: Time, flow: FlowId, end: End, news: impl IntoIterator<Item = What>) {
        self.events.extend(news.into_iter().map(|what| FlowEvent { at, flow, end, what }));
    }

    /// Records the changes that an event has made to a sender.
    fn sample(&mut self, now: Time, flow: FlowId, cause: Cause<'_>, endpoint: &Endpoint) {
        let Some(sending) = self.sending.get_mut(&flow).filter(|sending| sending.is_live) else { return };
        if let Some(feedback) = cause.feedback() {
            sending.sample(now, feedback);
        }
        let mut news = Vec::new();
        if let Some(view) = endpoint.sender(flow) {
            let state = |seq| endpoint.packet_state(flow, seq).unwrap_or(PacketState::Acked);
            sending.changes(cause, &view, state, &self.plan, &mut news);
        } else {
            sending.is_live = false;
            let packets: Vec<_> = std::mem::take(&mut sending.open).into_keys().collect();
            news.extend((!packets.is_empty()).then_some(What::Acked { packets }));
            news.push(What::Ended);
        }
        self.extend(now, flow, End::Sender, news);
    }

    /// The events at each end of each flow, in order of time.
    pub(crate) fn take(&mut self) -> Vec<FlowEvent> {
        std::mem::take(&mut self.events)
    }
}

/// Why packets were given up between these counters; `None`: none was.
fn reason(cause: Cause<'_>, before: SenderCounters, now: SenderCounters) -> Option<Reason> {
    if let Cause::Returned = cause {
        return Some(Reason::Returned);
    }
    match cause.feedback().map(|feedback| feedback.fate) {
        Some(Fate::Trimmed { .. }) if now.nacks > before.nacks => Some(Reason::Trimmed),
        Some(Fate::Gap { .. }) if now.nacks > before.nacks => Some(Reason::Gap),
        Some(Fate::Missing { .. }) if now.nacks > before.nacks => Some(Reason::Block),
        _ if now.timeouts > before.timeouts => Some(Reason::Timeout),
        _ if now.losses > before.losses => Some(Reason::Reordering),
        _ if now.probes > before.probes => Some(Reason::Probe),
        _ => None,
    }
}

impl Sending {
    /// The round trip of an ACK, as the sender takes it.
    fn sample(&mut self, now: Time, feedback: &Feedback) {
        if let Some(echo) = feedback.acknowledged()
            && (feedback.seq < self.next || self.next == 0)
            && echo.sent_at <= now
        {
            let rtt = now.since(echo.sent_at);
            self.latest_rtt = Some(rtt);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    fn changes(
        &mut self,
        cause: Cause<'_>,
        view: &SenderView,
        state: impl Fn(u32) -> PacketState,
        plan: &Plan,
        news: &mut Vec<What>,
    ) {
        let packets = self.take_acked(cause, view.flow, &state, plan);
        news.extend((!packets.is_empty()).then_some(What::Acked { packets }));
        let before = std::mem::replace(&mut self.counters, view.counters);
        if let Some(reason) = reason(cause, before, view.counters) {
            for (&packet, lost) in &mut self.open {
                if lost.is_none() && state(packet) == PacketState::Lost {
                    *lost = Some(reason);
                    // What a probe repeats is not given up.
                    news.extend((reason != Reason::Probe).then_some(What::Lost { packet, reason }));
                }
            }
        }
        let metrics = Metrics {
            cwnd: view.cwnd,
            in_flight: view.in_flight,
            srtt: view.srtt,
            latest_rtt: self.latest_rtt,
            min_rtt: self.min_rtt,
            pacing_rate: view.pacing_rate,
        };
        if self.metrics.replace(metrics) != Some(metrics) {
            news.push(What::Metrics(metrics));
        }
        let old = std::mem::replace(&mut self.state, view.state);
        if let Some(new) = view.state.filter(|_| old != view.state) {
            news.push(What::State { old, new });
        }
    }

    /// The packets that feedback from the receiver or the proxy has acknowledged, in order.
    fn take_acked(
        &mut self,
        cause: Cause<'_>,
        flow: FlowId,
        state: impl Fn(u32) -> PacketState,
        plan: &Plan,
    ) -> Vec<u32> {
        let Some(feedback) = cause.feedback() else { return Vec::new() };
        let Feedback { seq, cumulative, fate, .. } = *feedback;
        let (seq, block, map) = match fate {
            Fate::Arrived { block_complete, map, .. } => (Some(seq), block_complete.then_some(seq), map),
            Fate::Taken { .. } => (Some(seq), None, 0),
            _ => (None, None, 0),
        };
        let of_block =
            block.zip(plan.layout(flow)).map(|(seq, layout)| layout.packets_of(layout.block_of(seq)));
        let below = self.open.range(..cumulative).map(|(&seq, _)| seq);
        let mut packets: BTreeSet<u32> = below.chain(seq).collect();
        packets.extend(of_block.into_iter().flatten());
        packets.extend(mapped(cumulative, map));
        let is_news = |seq: &u32| self.open.contains_key(seq) && state(*seq) == PacketState::Acked;
        let acked: Vec<_> = packets.into_iter().filter(is_news).collect();
        for seq in &acked {
            self.open.remove(seq);
        }
        acked
    }
}

impl Receiving {
    /// The news of blocks that an outgoing ACK or NACK carries.
    fn said(&mut self, header: &Header, plan: &Plan) -> Option<What> {
        let Feedback { flow, seq, fate, .. } = *header.feedback()?;
        match fate {
            Fate::Arrived { block_complete: true, .. } => {
                let block = plan.layout(flow)?.block_of(seq);
                let decoded = self.decoded.contains(&block);
                self.completed.insert(block).then_some(What::BlockCompleted { block, decoded })
            }
            Fate::Missing { packets } => {
                let block = plan.layout(flow)?.block_of(seq);
                let missing = (0..32).filter(|bit| packets >> bit & 1 == 1).map(|bit| seq + bit);
                Some(What::BlockRequested { block, missing: missing.collect() })
            }
            _ => None,
        }
    }
}
