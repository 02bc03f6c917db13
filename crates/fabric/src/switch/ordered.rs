//! Ordered mode: everything happens in order of (time, port) over all ports, so that state across ports is met in its time.

use super::agenda::Agenda;
use super::shared::{Crossing, Effect, Effects, Shared};
use super::{Context, Egress, Lookup, PortEvent, Sink};
use crate::fault::{Lost, NodeFaults};
use crate::packet::{PacketId, Packets};
use crate::queue::port::{Admission, Gate};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::{Bytes, PortId, Rate, Time};

/// What a switch keeps in this mode.
#[derive(Debug)]
pub(super) struct Ordered {
    agenda: Agenda,
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

impl Ordered {
    pub(super) fn new(
        ports: usize,
        faults: Option<NodeFaults>,
        shared: Option<(Box<dyn Shared>, Arc<[PortId]>)>,
    ) -> Self {
        let shared = shared.map(|(model, reverse)| SharedState {
            model,
            gates: alloc::vec![Gate::Open; ports],
            reverse,
            effects: Effects::default(),
        });
        Self { agenda: Agenda::new(ports), faults, shared }
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

    /// A packet arrives over link `ingress`; first what is due is done.
    #[inline(always)]
    pub(super) fn arrive<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        self.advance(now, lookup, ports, with);
        let place = lookup.egress(&with.packets[id]);
        if self.faults.is_some() || self.shared.is_some() || with.sink.observes() {
            return self.arrive_watched(now, ingress, id, place, lookup, ports, with);
        }
        let egress = &mut ports[place];
        if let Admission::Started(service) = egress.enqueue(now, id, with.packets, with.jitter, Gate::Open) {
            self.agenda.set(place, service.ends);
            with.sink.due(&egress.link, service.ends);
        }
    }

    /// A packet arrives for port `place` of a switch that has more to do than to queue it.
    #[cold]
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "what `arrive` was given, and what it has found")]
    fn arrive_watched<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        place: usize,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        let (port, before) = (lookup.port(place), with.packets[id]);
        if self.is_down(port, now) {
            let mut lost = Lost::default();
            lost.add(with.packets.remove(id).size());
            self.count_lost(port, lost);
            return with.sink.observe(now, port, PortEvent::Refused(&before));
        }
        let crossing = Crossing { ingress, egress: port };
        let has_room =
            self.shared.as_mut().is_none_or(|shared| shared.admits(now, crossing, id, with.packets));
        let (gate, egress) = (self.gate(place), &mut ports[place]);
        let admission = if has_room {
            egress.enqueue(now, id, with.packets, with.jitter, gate)
        } else {
            with.packets.remove(id);
            egress.port.refuse(before.size())
        };
        if admission == Admission::Dropped {
            if has_room && let Some(shared) = &mut self.shared {
                shared.model.released(now, crossing, before.size(), &mut shared.effects);
            }
            with.sink.observe(now, port, PortEvent::Dropped(&before, &egress.port));
        } else {
            let after = &with.packets[id];
            with.sink.observe(now, port, PortEvent::Queued { before: &before, after, port: &egress.port });
        }
        if let Admission::Started(service) = admission {
            self.agenda.set(place, service.ends);
            with.sink.due(&egress.link, service.ends);
        }
        self.take_effect(now, lookup, ports, with);
    }

    /// Does all that is due up to `until`; gives when something is due next, or [`Time::MAX`].
    #[inline(always)]
    pub(super) fn advance<L>(
        &mut self,
        until: Time,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) -> Time {
        while let Some(place) = self.agenda.first(until) {
            self.complete(place, lookup, ports, with);
        }
        self.agenda.next_at()
    }

    /// Does what is due at port `place`.
    #[inline]
    pub(super) fn complete<L>(
        &mut self,
        place: usize,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        let (gate, egress) = (self.gate(place), &mut ports[place]);
        let now = egress.port.next_at();
        let left = egress.step(now, with.packets, with.jitter, gate);
        let next = egress.port.next_at();
        self.agenda.set(place, next);
        if next != Time::MAX {
            with.sink.due(&egress.link, next);
        }
        let Some((id, arrival)) = left else { return };
        if self.faults.is_some() || self.shared.is_some() || with.sink.observes() {
            return self.leave_watched(now, (id, arrival), place, lookup, ports, with);
        }
        with.sink.send(&egress.link, arrival, id);
    }

    /// A packet leaves port `place` of a switch that has more to do than to send it.
    #[cold]
    #[inline(never)]
    fn leave_watched<L>(
        &mut self,
        now: Time,
        (id, arrival): (PacketId, Time),
        place: usize,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        let (port, egress) = (lookup.port(place), &ports[place]);
        with.sink.observe(now, port, PortEvent::Served(&with.packets[id], &egress.port));
        let lost = self.faults.as_mut().is_some_and(|faults| faults.loses(port, now, &with.packets[id]));
        with.sink.observe(now, port, PortEvent::Left(&with.packets[id], lost));
        if let Some(shared) = &mut self.shared {
            shared.release(now, port, id, with.packets);
        }
        if lost {
            with.packets.remove(id);
        } else {
            with.sink.send(&egress.link, arrival, id);
        }
        self.take_effect(now, lookup, ports, with);
    }

    /// A frame arrives over link `ingress`; first what is due is done.
    pub(super) fn on_frame<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        frame: u32,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        self.advance(now, lookup, ports, with);
        if let Some(shared) = &mut self.shared {
            shared.model.on_frame(now, ingress, frame, &mut shared.effects);
        }
        self.take_effect(now, lookup, ports, with);
    }

    /// Does what the shared state has asked for.
    fn take_effect<L>(
        &mut self,
        now: Time,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        let Some(shared) = &mut self.shared else { return };
        for effect in shared.effects.take() {
            // The port that leads back to where the link comes from.
            let place = lookup.place(shared.reverse[effect.ingress().index()]);
            let egress = &mut ports[place];
            match effect {
                Effect::Send { frame, .. } => {
                    with.sink.send_frame(&egress.link, now + egress.port.model().delay(), frame);
                }
                Effect::SetGate { gate, .. } => {
                    shared.gates[place] = gate;
                    if gate == Gate::Open
                        && let Some(service) = egress.port.resume(now, with.packets)
                    {
                        egress.begin(service, with.jitter);
                        self.agenda.set(place, service.ends);
                        with.sink.due(&egress.link, service.ends);
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
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        self.advance(now, lookup, ports, with);
        let place = lookup.place(port);
        let egress = &mut ports[place];
        if self.is_down(port, now) {
            let shared = &mut self.shared;
            let lost = egress.port.flush(now, with.packets, |id, packets| {
                shared.iter_mut().for_each(|shared| shared.release(now, port, id, packets));
            });
            self.agenda.set(place, Time::MAX);
            self.count_lost(port, lost);
            with.sink.observe(now, port, PortEvent::Flushed);
        }
        let rate = self.faults.as_ref().and_then(|faults| faults.rate(port, now)).unwrap_or(own);
        ports[place].port.set_rate(rate);
        self.take_effect(now, lookup, ports, with);
    }
}
