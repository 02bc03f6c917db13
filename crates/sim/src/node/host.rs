//! A host: the one place where transport meets fabric.

mod arrivals;
mod counters;
mod instruments;
mod messages;
mod outgoing;
mod verbs;
mod waiting;

pub(crate) use instruments::Instruments;

use crate::engine::{Arriving, Channel, EventClass, Frame, Key, Outbox, Payload, Window};
use crate::node::common::Common;
use crate::node::nic::Nic;
use crate::observe::arrivals::Arrived;
use crate::observe::goodput::GoodputMeter;
use crate::observe::probe::{
    FLOWS, FlowSampler, GOODPUT, PORTS, PROXY, PortReading, PortSampler, ProxySampler,
};
use crate::observe::trace::FlowTracer;
use crate::outcome::Sample;
use crate::outcome::rows::Rows;
use crate::plan::Plan;
use crate::plan::trigger::End;
use counters::HostCounters;
use farspan_fabric::NodeFaults;
use farspan_fabric::PacketId;
use farspan_fabric::switch::shared;
use farspan_trace::{FlowEvent, PacketEvent};
use farspan_transport::in_place::InPlace as _;
use farspan_transport::{Endpoint, EndpointConfig, Event, FlowOutcome, SenderCounters};
use farspan_units::{Bytes, FlowId, HostId, Time};
use std::collections::BTreeMap;
use std::sync::Arc;
use verbs::Verbs;
use waiting::Waiting;

/// Kinds of a host's timer events.
const TIMEOUT: u8 = 0;
const PACER: u8 = 1;

/// Bytes that the sender of a flow that has ended has sent: each byte once, parity, and retransmissions.
fn sent_bytes(size: Bytes, counters: &SenderCounters) -> Bytes {
    size + counters.parity_bytes + counters.retransmitted_bytes
}

/// The role of a host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Flows begin and end there.
    End,
    /// Flows go through it, too.
    Proxy,
}

/// A host: an endpoint behind a NIC.
pub(crate) struct Host {
    plan: Arc<Plan>,
    pub(crate) id: HostId,
    role: Role,
    /// Whether it is an end that is called in place, whose NIC has no faults, and that is not traced: most are.
    is_plain: bool,
    pub(crate) endpoint: Endpoint,
    /// If it calls its endpoint by the verbs alone, not in place.
    verbs: Option<Verbs>,
    pub(crate) nic: Nic,
    /// Earliest timer event asked for, by kind; later ones that no longer matter find nothing to do.
    wakes: [Time; 2],
    /// When a packet last reached this host.
    pub(crate) last_arrival: Time,
    pub(crate) counters: HostCounters,
    /// Flows that it sent and that have ended: flow, when, counters but for the payload sent, which follows from them.
    finished: Rows<2, { SenderCounters::COUNT }>,
    /// Flows that have arrived: flow, when.
    delivered: Rows<2>,
    /// Flows whose proxy fell silent: flow, when.
    went_direct: Rows<2>,
    pub(crate) waiting: Waiting,
    flows: FlowSampler,
    uplink: PortSampler,
    proxy: ProxySampler,
    goodput: GoodputMeter,
    /// Messages of persistent connections that end here.
    messages: BTreeMap<FlowId, Arrived>,
    /// How many headers of packets that it sent have come back, by flow.
    returned: BTreeMap<FlowId, u64>,
    /// Faults of its NIC's link, if there may be any.
    pub(crate) faults: Option<Box<NodeFaults>>,
    /// Traces of its NIC and its flows, if there are any.
    instruments: Option<Box<Instruments>>,
}

/// The parts of a host beside its endpoint and its NIC.
pub(crate) struct Attached {
    pub(crate) by_verbs: bool,
    pub(crate) faults: Option<NodeFaults>,
    pub(crate) instruments: Option<Box<Instruments>>,
    pub(crate) flows: FlowSampler,
    pub(crate) goodput: GoodputMeter,
    pub(crate) uplink: PortSampler,
}

/// The event of a proxy's failure.
pub(crate) const fn proxy_fails(at: Time, host: HostId) -> Key {
    Key::new(at, EventClass::Fault, host.0, 0)
}

impl Host {
    pub(crate) fn new(
        plan: &Arc<Plan>,
        id: HostId,
        channel: Channel,
        control_goes_first: bool,
        attached: Attached,
    ) -> Self {
        let Attached { by_verbs, faults, instruments, flows, goodput, uplink } = attached;
        let config = EndpointConfig { host: id, seed: plan.seed, mss: plan.mss, header: plan.header };
        let link = &plan.network.links[channel.id as usize];
        let mut endpoint = Endpoint::new(config).with_profiles(&plan.profiles, link.rate);
        let proxy = plan.proxies.get(&id);
        if let Some(proxy) = proxy {
            endpoint = endpoint.with_proxy(proxy.delay.clone());
            proxy.relays.iter().for_each(|relay| endpoint.relay(relay.clone()));
        }
        let expected = plan.relayed_to.get(&id).into_iter().flatten();
        expected.for_each(|&(from, flow, proxy)| endpoint.expect_relayed(from, flow, proxy, flow));
        let role = if proxy.is_some() { Role::Proxy } else { Role::End };
        Self {
            id,
            role,
            is_plain: role == Role::End && !by_verbs && faults.is_none() && instruments.is_none(),
            endpoint,
            verbs: by_verbs.then_some(Verbs { poll_at: Time::MAX }),
            nic: Nic::new(link, channel, plan.jitter, control_goes_first, plan.seed),
            wakes: [Time::MAX; 2],
            last_arrival: Time::ZERO,
            counters: HostCounters::default(),
            finished: Rows::default(),
            delivered: Rows::default(),
            went_direct: Rows::default(),
            waiting: Waiting::new(id),
            flows,
            uplink,
            proxy: ProxySampler::default(),
            goodput,
            messages: BTreeMap::new(),
            returned: BTreeMap::new(),
            faults: faults.map(Box::new),
            instruments,
            plan: Arc::clone(plan),
        }
    }

    pub(crate) fn handle(
        &mut self,
        key: Key,
        payload: Payload<PacketId>,
        common: &mut Common,
        out: &mut impl Outbox<PacketId>,
    ) {
        let now = key.at();
        match (key.class(), payload) {
            (EventClass::Arrival, Payload::Message(id)) => self.receive(now, id, common),
            (EventClass::Frame, Payload::Frame(frame)) => self.on_frame(now, frame),
            // The NIC is free.
            (EventClass::Completion, _) => {}
            (EventClass::Notification, _) => self.on_notify(now, key.id()),
            (EventClass::Start, _) => self.start(now, FlowId(key.id())),
            (EventClass::Timer, _) => self.timer(now, key.kind()),
            (EventClass::Fault, _) => self.endpoint.fail_proxy(now),
            _ => return self.sample(key, out),
        }
        self.note_change();
        let may_send = self.nic.free_at() <= now && self.next_transmit::<true>() <= now;
        if may_send && self.transmit::<true>(now, common, out) {
            out.wake(Key::new(self.nic.free_at(), EventClass::Completion, self.nic.channel.id, 0));
        }
        // A time-out that shrank with the RTT estimate may already have run out.
        self.wake(TIMEOUT, self.timeout_at().max(now), out);
        if self.nic.free_at() <= now {
            self.wake(PACER, self.next_transmit::<true>(), out);
        }
        self.flush(out);
    }

    /// Handles all events of a window; NIC and timer events are kept by the host itself. At one instant the
    /// NIC comes first, then events that arrive or were asked for, then the timers.
    #[inline(never)]
    pub(crate) fn run(&mut self, common: &mut Common, window: &mut Window<'_, PacketId>) -> Time {
        window.sort();
        if window.has_wakes() || window.has_frames() || !self.is_plain {
            return self.run_asked(common, window);
        }
        self.run_through::<false>(common, window)
    }

    #[cold]
    #[inline(never)]
    fn run_asked(&mut self, common: &mut Common, window: &mut Window<'_, PacketId>) -> Time {
        self.run_through::<true>(common, window)
    }

    /// `ASKED`: whether there may be events that were asked for, or the host is more than a plain end.
    #[inline(always)]
    fn run_through<const ASKED: bool>(
        &mut self,
        common: &mut Common,
        window: &mut Window<'_, PacketId>,
    ) -> Time {
        let mut messages: &[Arriving<PacketId>] = if ASKED { &[] } else { window.take_packed() };
        let ahead = |window: &Window<'_, PacketId>, messages: &[Arriving<PacketId>]| match messages.first() {
            Some(packed) => packed.at(window.start()),
            None if ASKED => window.next_at(),
            None => Time::MAX,
        };
        // The time of the last event that was not a sample.
        let mut now = Time::ZERO;
        let mut next = ahead(window, messages);
        loop {
            let (free, timeout) = (self.nic.free_at(), self.timeout_at());
            // While the NIC is busy, only timers come between arrivals.
            if next >= free || next >= timeout {
                let (transmit, timeout) = (self.next_transmit::<ASKED>().max(free), timeout.max(now));
                let first = next.min(timeout);
                // The NIC is next after an event that gave it something to do, and when it becomes free while
                // a packet waits.
                if transmit < first || (transmit == first && (transmit == free || transmit <= now)) {
                    now = now.max(transmit);
                    if now >= window.end() {
                        break;
                    }
                    self.transmit::<ASKED>(now, common, window);
                    continue;
                }
                if first >= window.end() {
                    break;
                }
                if next > first {
                    now = first;
                    self.timer(now, TIMEOUT);
                    if ASKED {
                        self.note_change();
                    }
                    continue;
                }
            }
            if let Some((&packed, others)) = messages.split_first() {
                (now, messages) = (next, others);
                self.receive_plain(now, packed.get(), common);
            } else if ASKED && !self.asked(common, window) {
                now = next;
            }
            next = ahead(window, messages);
        }
        self.flush(window);
        self.next_transmit::<ASKED>().max(self.nic.free_at()).min(self.timeout_at().max(now))
    }

    /// Handles the next event of those that arrive or were asked for; returns whether it was only a sample.
    fn asked(&mut self, common: &mut Common, window: &mut Window<'_, PacketId>) -> bool {
        let (key, payload) = window.next().expect("an event is there");
        match (key.class(), payload) {
            (EventClass::Arrival, Payload::Message(id)) => self.receive(key.at(), id, common),
            (EventClass::Frame, Payload::Frame(frame)) => self.on_frame(key.at(), frame),
            (EventClass::Notification, _) => self.on_notify(key.at(), key.id()),
            (EventClass::Start, _) => self.start(key.at(), FlowId(key.id())),
            (EventClass::Fault, _) => self.endpoint.fail_proxy(key.at()),
            _ => {
                self.sample(key, window);
                return true;
            }
        }
        self.note_change();
        false
    }

    /// A flow's start has come.
    fn start(&mut self, now: Time, flow: FlowId) {
        if self.waiting.may_start(now, &self.plan.triggers, flow) {
            self.begin(now, flow);
        }
    }

    /// A flow starts, and others may wait for it.
    fn begin(&mut self, now: Time, flow: FlowId) {
        match self.plan.connections.position(flow) {
            Some(position) if position.first != flow => self.append(now, flow, position),
            _ => self.endpoint.submit(now, self.plan.message(flow)),
        }
        if let Some((flows, endpoint)) = self.tracer() {
            flows.started(now, flow, endpoint);
        }
        self.ended(now, flow, End::Started);
    }

    /// A flow has ended here, and others may wait for it.
    fn ended(&mut self, now: Time, flow: FlowId, end: End) {
        let free = self.waiting.ended(now, &self.plan.triggers, flow, end);
        free.into_iter().for_each(|flow| self.released(now, flow));
    }

    /// Notifies other hosts that wait for its flows. Notifications arrive after the window, so its end is
    /// soon enough.
    #[inline]
    fn flush(&mut self, out: &mut impl Outbox<PacketId>) {
        for (host, at, trigger) in self.waiting.notifications.drain(..) {
            out.notify(host.0, Key::new(at, EventClass::Notification, trigger, 0));
        }
    }

    /// A notification that flows elsewhere have ended.
    fn on_notify(&mut self, now: Time, trigger: u32) {
        let plan = Arc::clone(&self.plan);
        self.waiting.under_way -= 1;
        self.waiting.on_notify(&plan.triggers, trigger).for_each(|flow| self.released(now, flow));
    }

    /// A flow waits for no other any more.
    fn released(&mut self, now: Time, flow: FlowId) {
        let start = self.plan.flows[flow.index()].flow.start;
        if self.waiting.begins(now, flow, start) {
            self.begin(now, flow);
        }
    }

    /// The tracer of its flows, if any is traced, and the endpoint to read.
    fn tracer(&mut self) -> Option<(&mut FlowTracer, &Endpoint)> {
        Some((self.instruments.as_mut()?.flows.as_mut()?, &self.endpoint))
    }

    /// Whether a flow goes through here and on.
    fn passes(&self, flow: FlowId) -> bool {
        self.role == Role::Proxy && {
            let flow = &self.plan.flows[flow.index()].flow;
            flow.src != self.id && flow.dst != self.id
        }
    }

    #[cold]
    fn note_events(&mut self, now: Time) {
        while let Some(event) = self.endpoint.poll_event() {
            self.note(now, event);
        }
    }

    fn note(&mut self, now: Time, event: Event) {
        let (flow, end) = match event {
            Event::Finished(report) => {
                self.counters.finished += 1;
                let flow = self.plan.connections.message(report.flow, report.message);
                let measured = self.plan.flows[flow.index()].flow.measured;
                self.counters.measured_finished += u64::from(measured);
                let mut counters = report.counters;
                debug_assert_eq!(
                    counters.sent_bytes,
                    sent_bytes(report.size, &counters),
                    "each byte is sent once, and then again"
                );
                counters.sent_bytes = Bytes::ZERO;
                let row = [u64::from(flow.0), report.finished_at.as_ps()];
                self.finished.push(row, counters.to_row());
                (flow, End::Finished)
            }
            Event::Delivered(report) => {
                let flow = self.plan.connections.message(report.flow, report.message);
                self.delivered.push([u64::from(flow.0), report.delivered_at.as_ps()], []);
                (flow, End::Delivered)
            }
            Event::WentDirect { flow, at } => {
                return self.went_direct.push([u64::from(flow.0), at.as_ps()], []);
            }
            event => unreachable!("no record has a place for {event:?}"),
        };
        self.ended(now, flow, end);
    }

    fn timer(&mut self, now: Time, kind: u8) {
        let wake = &mut self.wakes[kind as usize];
        if *wake <= now {
            *wake = Time::MAX;
        }
        if kind == TIMEOUT && self.timeout_at() <= now {
            self.endpoint.handle_timeout(now);
            if let Some((flows, endpoint)) = self.tracer() {
                flows.timed_out(now, endpoint);
            }
        }
    }

    /// When the endpoint wants [`Endpoint::handle_timeout`], or [`Time::MAX`].
    #[inline]
    fn timeout_at(&self) -> Time {
        self.endpoint.poll_timeout().unwrap_or(Time::MAX)
    }

    /// A frame of the switch: data must wait, or may go on.
    #[cold]
    fn on_frame(&mut self, now: Time, frame: Frame) {
        self.nic.pauses.note(now, shared::Frame(frame.0));
    }

    /// Whether packets wait that only a frame can release.
    pub(crate) fn is_held(&self) -> bool {
        let waits = self.endpoint.next_data() != Time::MAX
            || self.endpoint.has_replies() && !self.nic.control_goes_first;
        self.nic.is_paused() && waits
    }

    fn wake(&mut self, kind: u8, at: Time, out: &mut impl Outbox<PacketId>) {
        let earliest = &mut self.wakes[kind as usize];
        if at < *earliest {
            *earliest = at;
            out.wake(Key::new(at, EventClass::Timer, self.id.0, kind));
        }
    }

    fn sample(&mut self, key: Key, out: &mut impl Outbox<PacketId>) {
        let (now, kind, host) = (key.at(), key.kind(), self.id);
        match kind {
            PORTS => {
                let busy = self.nic.busy_until(now);
                self.uplink.sample(now, |_| PortReading { busy, queue: None, phantom: None });
            }
            PROXY => self.proxy.sample(now, host, &self.endpoint),
            GOODPUT => return self.read_goodput(),
            _ => self.sample_flows(now),
        }
        let interval = if kind == FLOWS { self.plan.rate_interval } else { self.plan.queue_interval };
        if let Some(interval) = interval {
            out.wake(Key::new(now + interval, EventClass::Probe, 0, kind));
        }
    }

    /// Adds what it knows of flows that have ended.
    pub(crate) fn complete(&self, flows: &mut [FlowOutcome]) {
        for ([flow, at], []) in self.waiting.started.iter() {
            let flow = &mut flows[flow as usize];
            (flow.started, flow.start) = (true, Time::from_ps(at));
        }
        for ([flow, at], counters) in self.finished.iter() {
            let flow = &mut flows[flow as usize];
            flow.started = true;
            flow.finish = Some(Time::from_ps(at));
            flow.sender = SenderCounters::from_row(counters);
            flow.sender.sent_bytes = sent_bytes(flow.size, &flow.sender);
        }
        for ([flow, at], []) in self.delivered.iter() {
            flows[flow as usize].delivered = Some(Time::from_ps(at));
        }
        for ([flow, at], []) in self.went_direct.iter() {
            flows[flow as usize].went_direct = Some(Time::from_ps(at));
        }
        for (flow, packets) in &self.returned {
            flows[flow.index()].returned_packets += packets;
        }
        for relay in self.plan.proxies.get(&self.id).into_iter().flat_map(|proxy| &proxy.relays) {
            flows[relay.flow.index()].relayed = self.endpoint.relayed(relay.from, relay.flow);
        }
    }

    /// The events of its traced flows, and of its NIC.
    pub(crate) fn take_trace(&mut self) -> (Vec<FlowEvent>, Vec<PacketEvent>) {
        self.instruments.as_mut().map(|instruments| instruments.take()).unwrap_or_default()
    }

    /// The payload of the flows that end here that arrived between the two times.
    pub(crate) fn take_goodput(&mut self) -> Vec<(FlowId, Bytes)> {
        let mut meter = std::mem::take(&mut self.goodput);
        meter.take(self.arrivals())
    }

    /// Samples taken.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        let mut samples = self.flows.take();
        samples.extend(self.uplink.take());
        samples.extend(self.proxy.take());
        samples
    }
}
