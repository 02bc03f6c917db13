//! A port of a switch, and the link behind it.

use super::Sink;
use crate::jitter::Jitter;
use crate::packet::{Access, PacketId, Packets};
use crate::queue::port::{Admission, Gate, Port, Service, Step};
use farspan_units::{Duration, Time};

/// A port and its link, of which the driver knows where it leads.
#[derive(Debug)]
pub(super) struct Egress<L> {
    pub(super) port: Port,
    pub(super) link: L,
    jitter: Jitter,
    /// When the packet in service arrives at the far end, known when its service begins.
    arrival: Time,
}

impl<L> Egress<L> {
    pub(super) const fn new(port: Port, link: L, jitter: Jitter) -> Self {
        Self { port, link, jitter, arrival: Time::MAX }
    }

    /// Independent mode: a packet arrives at a port that is not FIFO; work that is due is done first. `jitter`:
    /// the largest of the switch's ports; `horizon`: see [`super::Span::horizon`].
    #[inline(always)]
    pub(super) fn arrive(
        &mut self,
        now: Time,
        id: PacketId,
        jitter: Duration,
        horizon: Time,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        self.advance(now, jitter, packets, sink);
        if !packets[id].control() {
            let admission = self.port.enqueue_data(now, id, packets, Gate::Open);
            return self.admitted(now, admission, id, jitter, packets);
        }
        match self.port.bypass(now, &packets[id], horizon) {
            Some(ends) => {
                let arrival = self.jitter.arrival(ends + self.port.model().delay(), jitter, false);
                sink.send(&self.link, arrival, id);
            }
            None => self.enqueue(now, id, jitter, packets),
        }
    }

    /// A packet arrives at a FIFO port without jitter. Fast path: `false`, nothing has happened, and
    /// [`Self::arrive_anew`] is wanted.
    #[inline(always)]
    pub(super) fn forward(
        &mut self,
        now: Time,
        id: PacketId,
        horizon: Time,
        packets: &Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> bool {
        let Some(ends) = self.port.forward_unmarked(now, &packets[id], horizon) else { return false };
        sink.send(&self.link, ends + self.port.model().delay(), id);
        true
    }

    /// A packet arrives at a FIFO port.
    #[inline(never)]
    pub(super) fn arrive_anew(
        &mut self,
        now: Time,
        id: PacketId,
        jitter: Duration,
        horizon: Time,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        if !jitter.is_zero() {
            // When a packet arrives depends on what it leaves behind when its service begins.
            self.advance(now, jitter, packets, sink);
            return self.enqueue(now, id, jitter, packets);
        }
        match self.port.forward(now, &mut packets[id], horizon) {
            Some(ends) => sink.send(&self.link, ends + self.port.model().delay(), id),
            None => self.wait(now, id, horizon, packets, sink),
        }
    }

    /// A packet arrives that a FIFO port queues or drops, unless it waits only for others that can leave.
    #[cold]
    #[inline(never)]
    fn wait(
        &mut self,
        now: Time,
        id: PacketId,
        horizon: Time,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        if self.port.next_at() < horizon {
            // Nothing that comes later matters to what the port holds.
            self.advance(horizon - Duration::from_ps(1), Duration::ZERO, packets, sink);
            return self.arrive_anew(now, id, Duration::ZERO, horizon, packets, sink);
        }
        self.enqueue(now, id, Duration::ZERO, packets);
    }

    #[inline(never)]
    fn enqueue(&mut self, now: Time, id: PacketId, jitter: Duration, packets: &mut Packets<impl Access>) {
        let admission = self.port.enqueue(now, id, packets, Gate::Open);
        self.admitted(now, admission, id, jitter, packets);
    }

    /// A packet was queued or dropped, or its header is to go back, which is the switch's to do.
    #[inline(always)]
    pub(super) fn admitted(
        &mut self,
        now: Time,
        admission: Admission,
        id: PacketId,
        jitter: Duration,
        packets: &mut Packets<impl Access>,
    ) {
        match admission {
            Admission::Started(service) => self.begin(service, jitter),
            Admission::Dropped => drop(packets.discard(now, id)),
            Admission::Queued | Admission::Returned => {}
        }
    }

    /// Independent mode: does all that is due up to `until`.
    #[inline(always)]
    pub(super) fn advance(
        &mut self,
        until: Time,
        jitter: Duration,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        while self.port.next_at() <= until {
            if let Some((id, arrival)) = self.step(until, jitter, packets, Gate::Open) {
                sink.send(&self.link, arrival, id);
            }
        }
    }

    /// Does what is due first, given that nothing arrives up to `until` any more: gives the packet that
    /// leaves, and when it arrives.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        until: Time,
        jitter: Duration,
        packets: &mut Packets<impl Access>,
        gate: Gate,
    ) -> Option<(PacketId, Time)> {
        let Step { left, began } = self.port.advance(until, packets, gate);
        let left = left.map(|id| (id, self.arrival));
        if let Some(service) = began {
            self.begin(service, jitter);
        }
        left
    }

    /// The service of a packet has begun.
    #[inline(always)]
    pub(super) fn begin(&mut self, service: Service, jitter: Duration) {
        let at = service.ends + self.port.model().delay();
        self.arrival = self.jitter.arrival(at, jitter, service.backlogged);
    }
}
