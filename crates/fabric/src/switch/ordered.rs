//! Ordered mode: everything happens in order of (time, port) over all ports, so that state across ports is
//! met in its time.

use super::agenda::Agenda;
use super::shared::pause::FRAME_SIZE;
use super::shared::{Frame, Shared};
use super::{Arrival, Core, PortEvent, Routing, Sink, Span};
use crate::fault::{Lost, NodeFaults};
use crate::packet::{Access, PacketId, Packets};
use crate::queue::port::{Admission, Gate};
use alloc::vec::Vec;
use farspan_units::{Duration, PortId, Rate, Time};

/// The state of a switch in this mode.
#[derive(Debug)]
pub(super) struct Ordered {
    /// Empty where the [driver keeps completions](Sink::KEEPS_COMPLETIONS).
    agenda: Agenda,
    /// Whether it has faults or shared state, or looks at its queues to choose a port.
    has_slow_path: bool,
    /// Whether it has shared state and nothing else of these.
    only_shares: bool,
    routing: Routing,
    pub(super) faults: Option<NodeFaults>,
    pub(super) shared: Option<Shared>,
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
        shared: Option<Shared>,
    ) -> Self {
        let has_more = faults.is_some() || routing == Routing::Adaptive;
        let (has_slow_path, only_shares) = (has_more || shared.is_some(), !has_more && shared.is_some());
        Self { agenda: Agenda::new(ports), has_slow_path, only_shares, routing, faults, shared }
    }

    #[inline]
    fn gate(&self, port: usize) -> Gate {
        self.shared.as_ref().map_or(Gate::Open, |shared| shared.gate(port))
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
        packets: &mut Packets<impl Access>,
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
        packets: &mut Packets<impl Access>,
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
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let place = core.lookup.egress(&packets[id]);
        if self.has_slow_path || sink.observes() {
            if self.only_shares && !sink.observes() {
                return self.arrive_shared(now, ingress, id, place, core, packets, sink);
            }
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
        egress.admitted(now, admission, id, core.jitter, packets);
        match admission {
            Admission::Started(service) => {
                schedule(&mut self.agenda, place, service.ends, &egress.link, sink);
            }
            Admission::Returned => self.send_back(now, ingress, id, core, packets, sink),
            Admission::Queued | Admission::Dropped => {}
        }
    }

    /// A header has found no room: it goes to the host that sent the packet, and takes the port that leads there.
    #[cold]
    #[inline(never)]
    fn send_back<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let sender = sink.sender(&packets[id], packets.words(id));
        packets[id].turn_round(sender);
        let place = core.lookup.egress(&packets[id]);
        self.arrive_slowly(now, ingress, id, place, core, packets, sink);
    }

    /// A packet arrives for port `place` of a switch whose ports share state, which is all that it has to do beside.
    #[inline(never)]
    #[expect(clippy::too_many_arguments, reason = "what `arrive` was given, and what it has found")]
    fn arrive_shared<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        id: PacketId,
        place: usize,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let shared = self.shared.as_mut().expect("it is there where `only_shares` says so");
        if shared.gate(place) == Gate::Closed {
            return self.arrive_slowly(now, ingress, id, place, core, packets, sink);
        }
        let egress = &mut core.ports[place];
        let due = egress.port.next_at();
        let (control, model) = (packets[id].control(), egress.port.model());
        let (mut paused, mut resumed) = (None, None);
        let admission = if control && model.control_goes_first() {
            egress.port.enqueue_control(now, id, packets)
        } else {
            let (has_room, frame) = shared.admit(ingress, place, id, packets);
            if !has_room {
                return self.arrive_slowly(now, ingress, id, place, core, packets, sink);
            }
            paused = frame;
            // Ports of such a switch are never FIFO.
            if control {
                egress.port.enqueue(now, id, packets, Gate::Open)
            } else {
                egress.port.enqueue_data(now, id, packets, Gate::Open)
            }
        };
        if let Admission::Dropped | Admission::Returned = admission {
            resumed = shared.give_back(id, packets);
        }
        egress.admitted(now, admission, id, core.jitter, packets);
        // A frame that is leaving lets a packet wait at a port that had none.
        let next = egress.port.next_at();
        if next != due {
            schedule(&mut self.agenda, place, next, &egress.link, sink);
        }
        for (back, frame) in paused.into_iter().chain(resumed) {
            self.send_frame(now, back, frame, core, sink);
        }
        if admission == Admission::Returned {
            self.send_back(now, ingress, id, core, packets, sink);
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
        packets: &mut Packets<impl Access>,
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
            lost.add(packets.discard(now, id).size());
            self.count_lost(port, lost);
            return sink.observe(now, port, PortEvent::Refused(&before));
        }
        let goes_first = before.control() && core.ports[place].port.model().control_goes_first();
        let shared = self.shared.as_mut().filter(|_| !goes_first);
        let (has_room, paused) =
            shared.map_or((true, None), |shared| shared.admit(ingress, place, id, packets));
        let (gate, egress) = (self.gate(place), &mut core.ports[place]);
        let due = egress.port.next_at();
        let admission = if has_room {
            egress.port.enqueue(now, id, packets, gate)
        } else {
            egress.port.reject(now, id, packets, gate)
        };
        let mut resumed = None;
        if let Admission::Dropped | Admission::Returned = admission {
            // A coin decides, so the packet that goes may not be the one that came.
            resumed = self.shared.as_mut().and_then(|shared| shared.give_back(id, packets));
        }
        let (before, after, at) = (&before, &packets[id], &egress.port);
        let event = match admission {
            Admission::Dropped => PortEvent::Dropped(before, at),
            Admission::Returned => PortEvent::Returned { before, after, port: at },
            Admission::Queued | Admission::Started(_) => PortEvent::Queued { before, after, port: at },
        };
        sink.observe(now, port, event);
        egress.admitted(now, admission, id, core.jitter, packets);
        let next = egress.port.next_at();
        if next != due {
            schedule(&mut self.agenda, place, next, &egress.link, sink);
        }
        for (back, frame) in paused.into_iter().chain(resumed) {
            self.send_frame(now, back, frame, core, sink);
        }
        if admission == Admission::Returned {
            self.send_back(now, ingress, id, core, packets, sink);
        }
    }

    /// Does all that is due up to `until`; gives when something is due next, or [`Time::MAX`].
    #[inline(always)]
    pub(super) fn advance<L>(
        &mut self,
        until: Time,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
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
        packets: &mut Packets<impl Access>,
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
            if !self.only_shares || sink.observes() {
                return self.leave_slowly(now, (id, arrival), place, core, packets, sink);
            }
            let resumed = self.shared.as_mut().and_then(|shared| shared.give_back(id, packets));
            if let Some((back, frame)) = resumed {
                sink.send(&egress.link, arrival, id);
                return self.send_frame(now, back, frame, core, sink);
            }
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
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let (port, egress) = (core.lookup.port(place), &core.ports[place]);
        sink.observe(now, port, PortEvent::Served(&packets[id], &egress.port));
        let lost = self.faults.as_mut().is_some_and(|faults| faults.loses(port, now, &packets[id]));
        sink.observe(now, port, PortEvent::Left(&packets[id], lost));
        let resumed = self.shared.as_mut().and_then(|shared| shared.give_back(id, packets));
        if lost {
            packets.discard(now, id);
        } else {
            sink.send(&egress.link, arrival, id);
        }
        if let Some((back, frame)) = resumed {
            self.send_frame(now, back, frame, core, sink);
        }
    }

    /// A frame leaves from port `place`.
    #[cold]
    fn send_frame<L, S: Sink<L>>(
        &mut self,
        now: Time,
        place: usize,
        frame: Frame,
        core: &mut Core<L>,
        sink: &mut S,
    ) {
        let egress = &mut core.ports[place];
        let due = egress.port.next_at();
        let left = egress.port.send_frame(now, FRAME_SIZE);
        let next = egress.port.next_at();
        if next != due {
            self.agenda.remove(place);
            schedule(&mut self.agenda, place, next, &egress.link, sink);
        }
        sink.send_frame(&egress.link, left + egress.port.model().delay(), frame);
    }

    /// A frame arrives over link `ingress`; first what is due is done.
    pub(super) fn on_frame<L>(
        &mut self,
        now: Time,
        ingress: PortId,
        frame: Frame,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        self.advance(now, core, packets, sink);
        let Some(shared) = &mut self.shared else { return };
        let place = shared.back(ingress);
        shared.on_frame(now, place, frame);
        if shared.gate(place) == Gate::Closed {
            return;
        }
        let egress = &mut core.ports[place];
        let due = egress.port.next_at();
        if let Some(service) = egress.port.resume(now, packets) {
            egress.begin(service, core.jitter);
        }
        let next = egress.port.next_at();
        if next != due {
            schedule(&mut self.agenda, place, next, &egress.link, sink);
        }
    }

    /// Faults of the link of `port` begin or end; first what is due is done. `own`: the link's own rate.
    pub(super) fn on_fault<L>(
        &mut self,
        now: Time,
        port: PortId,
        own: Rate,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        self.advance(now, core, packets, sink);
        let place = core.lookup.place(port);
        let egress = &mut core.ports[place];
        if self.is_down(port, now) {
            let (shared, mut resumed) = (&mut self.shared, Vec::new());
            let lost = egress.port.flush(now, packets, |id, packets| {
                resumed.extend(shared.as_mut().and_then(|shared| shared.give_back(id, packets)));
            });
            self.agenda.remove(place);
            for (back, frame) in resumed {
                self.send_frame(now, back, frame, core, sink);
            }
            self.count_lost(port, lost);
            sink.observe(now, port, PortEvent::Flushed);
        }
        let rate = self.faults.as_ref().and_then(|faults| faults.rate(port, now)).unwrap_or(own);
        core.ports[place].port.set_rate(rate);
    }
}
