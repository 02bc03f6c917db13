//! A switch of the fabric as a node of the engine.

use crate::engine::{Arriving, Channel, EventClass, Frame, Key, Outbox, Payload, Window};
use crate::node::common::Packets;
use crate::observe::port_tracer::PortTracer;
use crate::observe::probe::{PORTS, PortReading, PortSampler};
use crate::outcome::Sample;
use crate::plan::Plan;
use crate::record;
use farspan_fabric::switch::{Arrival, Buckets, PortEvent, Sink, Span, shared};
use farspan_fabric::{Packet, PacketId};
use farspan_trace::PacketEvent;
use farspan_units::{Duration, HostId, NodeId, PortId, Time};
use std::sync::Arc;

/// Kinds of a switch's fault events. Its id is the port whose state changes, or the number of the new routes.
const PORT: u8 = 0;
const ROUTES: u8 = 1;

/// The event of a change of a port.
pub(crate) const fn port_changes(at: Time, port: PortId) -> Key {
    Key::new(at, EventClass::Fault, port.0, PORT)
}

/// The event of the change to the routes with this number.
pub(crate) const fn routes_change(at: Time, number: u32) -> Key {
    Key::new(at, EventClass::Fault, number, ROUTES)
}

/// A switch and its instrumentation.
pub(crate) struct Switch {
    pub(crate) fabric: farspan_fabric::Switch<Channel>,
    sampler: PortSampler,
    /// Traces its ports, if any is traced.
    port_tracer: Option<PortTracer>,
    plan: Arc<Plan>,
    node: NodeId,
}

impl Sink<Channel> for Window<'_, PacketId> {
    #[inline(always)]
    fn send(&mut self, channel: &Channel, at: Time, id: PacketId) {
        Outbox::send(self, channel, at, id);
    }

    fn send_frame(&mut self, channel: &Channel, at: Time, frame: shared::Frame) {
        Outbox::send_frame(self, channel, at, Frame(frame.0));
    }

    fn sender(&self, packet: &Packet, beside: [u32; 2]) -> HostId {
        record::from(packet, beside)
    }
}

/// The sink from a switch to the engine, for instrumentation and for engines that need completions.
/// `COMPLETIONS`: whether these are events.
struct ToEngine<'a, O, const COMPLETIONS: bool> {
    out: &'a mut O,
    port_tracer: Option<&'a mut PortTracer>,
}

impl<O: Outbox<PacketId>, const COMPLETIONS: bool> Sink<Channel> for ToEngine<'_, O, COMPLETIONS> {
    const KEEPS_COMPLETIONS: bool = COMPLETIONS;

    #[inline(always)]
    fn send(&mut self, channel: &Channel, at: Time, id: PacketId) {
        self.out.send(channel, at, id);
    }

    fn send_frame(&mut self, channel: &Channel, at: Time, frame: shared::Frame) {
        self.out.send_frame(channel, at, Frame(frame.0));
    }

    #[inline]
    fn due(&mut self, channel: &Channel, at: Time) {
        self.out.wake(Key::new(at, EventClass::Completion, channel.id, 0));
    }

    fn sender(&self, packet: &Packet, beside: [u32; 2]) -> HostId {
        record::from(packet, beside)
    }

    #[inline]
    fn observes(&self) -> bool {
        self.port_tracer.is_some()
    }

    fn observe(&mut self, now: Time, port: PortId, event: PortEvent<'_>) {
        if let Some(port_tracer) = &mut self.port_tracer {
            port_tracer.note(now, port, event);
        }
    }
}

// SAFETY: packed keys are integers, compared above the packet's number, and the one before all is 0 there.
#[allow(unsafe_code, reason = "the order of packed keys is that of packets")]
unsafe impl Arrival for Arriving<PacketId> {
    #[inline(always)]
    fn at(self, start: Time) -> Time {
        self.at(start)
    }

    #[inline(always)]
    fn id(self) -> PacketId {
        self.get()
    }

    #[inline]
    fn rank(self) -> usize {
        self.rank()
    }

    #[inline(always)]
    fn order(self) -> u64 {
        self.order()
    }

    #[inline(always)]
    fn is_after(self, other: Self) -> bool {
        self.is_after(other)
    }

    fn before_all(self) -> Self {
        self.before_all()
    }
}

impl Switch {
    pub(crate) fn new(
        plan: &Arc<Plan>,
        node: NodeId,
        fabric: farspan_fabric::Switch<Channel>,
        sampler: PortSampler,
        port_tracer: Option<PortTracer>,
    ) -> Self {
        Self { fabric, sampler, port_tracer, plan: Arc::clone(plan), node }
    }

    /// Handles one event, as the oracle hands them out.
    pub(crate) fn handle(
        &mut self,
        key: Key,
        payload: Payload<PacketId>,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        if key.class() == EventClass::Completion {
            let sink = &mut ToEngine::<_, true> { out, port_tracer: self.port_tracer.as_mut() };
            return self.fabric.complete(key.at(), PortId(key.id()), packets, sink);
        }
        self.handle_one::<true>(key, payload, Time::MAX, packets, out);
    }

    /// Handles one event that is no completion; no one samples the switch before `horizon`.
    fn handle_one<const COMPLETIONS: bool>(
        &mut self,
        key: Key,
        payload: Payload<PacketId>,
        horizon: Time,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        let Self { fabric, port_tracer, plan, node, sampler } = self;
        let sink = &mut ToEngine::<_, COMPLETIONS> { out, port_tracer: port_tracer.as_mut() };
        let (now, id) = (key.at(), PortId(key.id()));
        match payload {
            Payload::Message(packet) => return fabric.arrive(now, id, packet, horizon, packets, sink),
            Payload::Frame(Frame(frame)) => {
                return fabric.on_frame(now, id, shared::Frame(frame), packets, sink);
            }
            Payload::None => {}
        }
        match (key.class(), key.kind()) {
            (EventClass::Fault, ROUTES) => {
                let routes = &plan.reroutes[key.id() as usize].1;
                fabric.set_routes(routes.tables[node.index()].clone());
            }
            (EventClass::Fault, _) => {
                fabric.on_fault(now, id, plan.network.links[id.index()].rate, packets, sink);
            }
            _ => {
                fabric.advance(now, packets, sink);
                sampler.sample(now, |port| PortReading::at(fabric.port(port), now));
                if let Some(interval) = plan.queue_interval {
                    out.wake(Key::new(now + interval, EventClass::Probe, 0, PORTS));
                }
            }
        }
    }

    /// Handles all events of a window.
    pub(crate) fn run(
        &mut self,
        packets: &mut Packets,
        buckets: &mut Buckets<Arriving<PacketId>>,
        window: &mut Window<'_, PacketId>,
    ) -> Time {
        if window.has_wakes() || window.has_frames() {
            return self.run_one_by_one(packets, window);
        }
        let (start, end, horizon) = (window.start(), window.end(), window.until());
        let arrivals = if self.fabric.wants_order() { window.take_sorted() } else { window.take_packed() };
        let span = Span { start, end, horizon, ingress: window.channels() };
        if self.port_tracer.is_none() {
            return self.fabric.run(&span, arrivals, buckets, packets, window);
        }
        let sink = &mut ToEngine::<_, false> { out: window, port_tracer: self.port_tracer.as_mut() };
        self.fabric.run(&span, arrivals, buckets, packets, sink)
    }

    /// Handles all events of a window in order: some are samples of the ports, faults or frames.
    #[cold]
    fn run_one_by_one(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        let (last, horizon) = (window.end() - Duration::from_ps(1), window.until());
        window.sort();
        while let Some((key, payload)) = window.next() {
            self.handle_one::<false>(key, payload, horizon, packets, window);
        }
        let sink = &mut ToEngine::<_, false> { out: window, port_tracer: self.port_tracer.as_mut() };
        self.fabric.advance(last, packets, sink)
    }

    /// The events of its traced ports.
    pub(crate) fn take_trace(&mut self) -> Vec<PacketEvent> {
        self.port_tracer.iter_mut().flat_map(PortTracer::take).collect()
    }

    /// Samples taken, in order of time.
    pub(crate) fn take_samples(&mut self) -> Vec<Sample> {
        self.sampler.take()
    }
}
