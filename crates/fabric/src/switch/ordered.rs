//! Ordered mode: everything happens in order of (time, port) over all ports, so that state across ports is
//! met in its time.

use super::agenda::Agenda;
use super::shared::{Attached, Crossing, Effect, Effects, Frame, Shared};
use super::{Arrival, Core, PortEvent, Routing, Sink, Span};
use crate::fault::{Lost, NodeFaults};
use crate::packet::{PacketId, Packets};
use crate::queue::port::{Admission, Gate};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::{Bytes, Duration, PortId, Rate, Time};

/// The state of a switch in this mode.
#[derive(Debug)]
pub(super) struct Ordered {
    /// Empty where the [driver keeps completions](Sink::KEEPS_COMPLETIONS).
    agenda: Agenda,
    /// Whether it has faults or shared state, or looks at its queues to choose a port.
    has_slow_path: bool,
    routing: Routing,
    pub(super) faults: Option<NodeFaults>,
    shared: Option<SharedState>,
}

/// State across ports, and what it needs of the network.
#[derive(Debug)]
struct SharedState {
    model: Box<dyn Shared>,
    /// By port.
    gates: Vec<Gate>,
    /// By link of the network: the one in the other direction.
    reverse: Arc<[PortId]>,
    effects: Effects,
}

impl SharedState {
    /// Asks for room for a packet, and notes what it takes; `false`: there is none.
    fn admits(&mut self, now: Time, crossing: Crossing, id: PacketId, packets: &mut Packets) -> bool {
        let (size, control) = (packets[id].size(), packets[id].control());
        if !self.model.admits(now, crossing, size, control, &mut self.effects) {
            return false;
        }
        let side = packets.side_mut(id);
        (side.ingress, side.charged) = (Some(crossing.ingress), size.get() as u16);
        true
    }

    /// Gives back what a packet took that leaves `egress` or is discarded there.
    fn release(&mut self, now: Time, egress: PortId, id: PacketId, packets: &Packets) {
        let side = packets.side(id);
        let Some(ingress) = side.ingress else { return };
        let (crossing, size) = (Crossing { ingress, egress }, Bytes::new(u64::from(side.charged)));
        self.model.released(now, crossing, size, &mut self.effects);
    }
}

/// Work becomes due at port `place`, which had none, at `at`.
#[inline(always)]
fn schedule<L, S: Sink<L>>(agenda: &mut Agenda, place: usize, at: Time, link: &L, sink: &mut S) {
    if S::KEEPS_COMPLETIONS {
        sink.due(link, at);
    } else {
        agenda.push(place, at);
    }
}

impl Ordered {
    pub(super) fn new(
        ports: usize,
        routing: Routing,
        faults: Option<NodeFaults>,
        shared: Option<Attached>,
    ) -> Self {
        let shared = shared.map(|Attached { model, reverse }| SharedState {
            model,
            gates: alloc::vec![Gate::Open; ports],
            reverse,
            effects: Effects::default(),
        });
        let has_slow_path = faults.is_some() || shared.is_some() || routing == Routing::Adaptive;
        Self { agenda: Agenda::new(ports), has_slow_path, routing, faults, shared }
    }

    pub(super) const fn has_shared(&self) -> bool {
        self.shared.is_some()
    }

    #[inline]
    fn gate(&self, port: usize) -> Gate {
        self.shared.as_ref().map_or(Gate::Open, |shared| shared.gates[port])
    }

    fn is_down(&self, port: PortId, now: Time) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.is_down(port, now))
    }

    fn count_lost(&mut self, port: PortId, lost: Lost) {
        if let Some(faults) = &mut self.faults {
            faults.count(port, lost);
        }
    }

    /// All packets of a window arrive, in order, and everything due before its end is done.
    #[inline(never)]
    pub(super) fn run<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &[A],
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let last = span.end - Duration::from_ps(1);
        let mut arrivals = arrivals.iter();
        loop {
            // One call site for both cases.
            let arrival = arrivals.next();
            let until = arrival.map_or(last, |arrival| arrival.at(span.start));
            let next = self.advance(until, core, packets, sink);
            let Some(arrival) = arrival else { return next };
            self.enqueue(until, PortId(span.ingress[arrival.rank()]), arrival.id(), core, packets, sink);
        }
    }

    /// A packet arrives over link `ingress`; first what is due is done.
    pub(super) fn arrive<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        self.advance(now, core, packets, sink);
        self.enqueue(now, ingress, id, core, packets, sink);
    }

    /// A packet arrives over link `ingress`, and what is due has been done.
    #[inline(always)]
    fn enqueue<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        let place = core.lookup.egress(&packets[id]);
        if self.has_slow_path || sink.observes() {
            return self.arrive_slowly(now, ingress, id, place, core, packets, sink);
        }
        let egress = &mut core.ports[place];
        let admission = if egress.port.model().is_fifo() {
            egress.port.enqueue(now, id, packets, Gate::Open)
        } else if !packets[id].control() {
            egress.port.enqueue_data(now, id, packets, Gate::Open)
        } else {
            egress.port.enqueue_control(now, id, packets)
        };
        egress.admitted(admission, id, core.jitter, packets);
        if let Admission::Started(service) = admission {
            schedule(&mut self.agenda, place, service.ends, &egress.link, sink);
        }
    }

    /// A packet arrives for port `hashed` of a switch that has more to do than to queue it there.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "what `arrive` was given, and what it has found")]
    fn arrive_slowly<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        hashed: usize,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        let before = packets[id];
        let place = match self.routing {
            Routing::Adaptive if !before.control() => {
                core.lookup.least(now, &before, hashed, &core.ports, |port| self.is_down(port, now))
            }
            _ => hashed,
        };
        let port = core.lookup.port(place);
        if self.is_down(port, now) {
            let mut lost = Lost::default();
            lost.add(packets.remove(id).size());
            self.count_lost(port, lost);
            return sink.observe(now, port, PortEvent::Refused(&before));
        }
        let crossing = Crossing { ingress, egress: port };
        let has_room = self.shared.as_mut().is_none_or(|shared| shared.admits(now, crossing, id, packets));
        let (gate, egress) = (self.gate(place), &mut core.ports[place]);
        let admission = if has_room {
            egress.port.enqueue(now, id, packets, gate)
        } else {
            egress.port.refuse(before.size())
        };
        if admission == Admission::Dropped {
            if has_room && let Some(shared) = &mut self.shared {
                shared.model.released(now, crossing, before.size(), &mut shared.effects);
            }
            sink.observe(now, port, PortEvent::Dropped(&before, &egress.port));
        } else {
            let after = &packets[id];
            sink.observe(now, port, PortEvent::Queued { before: &before, after, port: &egress.port });
        }
        let egress = &mut core.ports[place];
        egress.admitted(admission, id, core.jitter, packets);
        if let Admission::Started(service) = admission {
            schedule(&mut self.agenda, place, service.ends, &egress.link, sink);
        }
        self.take_effect(now, core, packets, sink);
    }

    /// Does all that is due up to `until`; gives when something is due next, or [`Time::MAX`].
    #[inline(always)]
    pub(super) fn advance<L>(
        &mut self,
        until: Time,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) -> Time {
        while let Some(place) = self.agenda.pop(until) {
            self.complete(place, core, packets, sink);
        }
        self.agenda.next_at()
    }

    /// Does the work that is due at port `place`, which is not in the agenda.
    #[inline(always)]
    pub(super) fn complete<L>(
        &mut self,
        place: usize,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        let gate = if self.has_slow_path { self.gate(place) } else { Gate::Open };
        let egress = &mut core.ports[place];
        let now = egress.port.next_at();
        let left = egress.step(now, core.jitter, packets, gate);
        let next = egress.port.next_at();
        if next != Time::MAX {
            schedule(&mut self.agenda, place, next, &egress.link, sink);
        }
        let Some((id, arrival)) = left else { return };
        if self.has_slow_path || sink.observes() {
            return self.leave_slowly(now, (id, arrival), place, core, packets, sink);
        }
        sink.send(&egress.link, arrival, id);
    }

    /// A packet leaves port `place` of a switch that has more to do than to send it.
    #[cold]
    #[inline(never)]
    fn leave_slowly<L>(
        &mut self,
        now: Time,
        (id, arrival): (PacketId, Time),
        place: usize,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        let (port, egress) = (core.lookup.port(place), &core.ports[place]);
        sink.observe(now, port, PortEvent::Served(&packets[id], &egress.port));
        let lost = self.faults.as_mut().is_some_and(|faults| faults.loses(port, now, &packets[id]));
        sink.observe(now, port, PortEvent::Left(&packets[id], lost));
        if let Some(shared) = &mut self.shared {
            shared.release(now, port, id, packets);
        }
        if lost {
            packets.remove(id);
        } else {
            sink.send(&egress.link, arrival, id);
        }
        self.take_effect(now, core, packets, sink);
    }

    /// A frame arrives over link `ingress`; first what is due is done.
    pub(super) fn on_frame<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        frame: Frame,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        self.advance(now, core, packets, sink);
        if let Some(shared) = &mut self.shared {
            shared.model.on_frame(now, ingress, frame, &mut shared.effects);
        }
        self.take_effect(now, core, packets, sink);
    }

    /// Does what the shared state has asked for.
    fn take_effect<L>(
        &mut self,
        now: Time,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        let Self { agenda, faults, shared: Some(shared), .. } = self else { return };
        for effect in shared.effects.take() {
            // The port that leads back to where the link comes from.
            let port = shared.reverse[effect.ingress().index()];
            let place = core.lookup.place(port);
            let egress = &mut core.ports[place];
            match effect {
                // A link that is down takes no frames either.
                Effect::Send { .. } if faults.as_ref().is_some_and(|faults| faults.is_down(port, now)) => {}
                Effect::Send { frame, .. } => {
                    sink.send_frame(&egress.link, now + egress.port.model().delay(), frame);
                }
                Effect::SetGate { gate, .. } => {
                    shared.gates[place] = gate;
                    if gate == Gate::Open
                        && let Some(service) = egress.port.resume(now, packets)
                    {
                        egress.begin(service, core.jitter);
                        schedule(agenda, place, service.ends, &egress.link, sink);
                    }
                }
            }
        }
    }

    /// Faults of the link of `port` begin or end; first what is due is done. `own`: the link's own rate.
    pub(super) fn on_fault<L>(
        &mut self,
        now: Time,
        port: PortId,
        own: Rate,
        core: &mut Core<L>,
        packets: &mut Packets,
        sink: &mut impl Sink<L>,
    ) {
        self.advance(now, core, packets, sink);
        let place = core.lookup.place(port);
        let egress = &mut core.ports[place];
        if self.is_down(port, now) {
            let shared = &mut self.shared;
            let lost = egress.port.flush(now, packets, |id, packets| {
                shared.iter_mut().for_each(|shared| shared.release(now, port, id, packets));
            });
            self.agenda.remove(place);
            self.count_lost(port, lost);
            sink.observe(now, port, PortEvent::Flushed);
        }
        let rate = self.faults.as_ref().and_then(|faults| faults.rate(port, now)).unwrap_or(own);
        core.ports[place].port.set_rate(rate);
        self.take_effect(now, core, packets, sink);
    }
}
