//! A port of a switch, and the link behind it.

use super::{Context, Sink};
use crate::jitter::Jitter;
use crate::packet::{PacketId, Packets};
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

    /// Independent mode: a packet arrives; first what is due is done.
    #[inline(always)]
    pub(super) fn arrive(&mut self, now: Time, id: PacketId, with: &mut Context<'_, impl Sink<L>>) {
        let is_fifo = self.port.model().is_fifo();
        if !is_fifo {
            self.advance(now, with);
        } else if !with.jitter.is_zero() {
            // When it arrives depends on what it leaves behind when its service begins.
            return self.wait(now, id, with);
        }
        match self.port.forward(now, &mut with.packets[id], with.horizon) {
            Some(ends) => {
                let arrival = self.jitter.arrival(ends + self.port.model().delay(), with.jitter, false);
                with.sink.send(&self.link, arrival, id);
            }
            None if is_fifo => self.wait(now, id, with),
            None => drop(self.enqueue(now, id, with.packets, with.jitter, Gate::Open)),
        }
    }

    /// Independent mode: a packet arrives that a FIFO port keeps or refuses, unless it waits only for others that can leave.
    #[cold]
    #[inline(never)]
    fn wait(&mut self, now: Time, id: PacketId, with: &mut Context<'_, impl Sink<L>>) {
        if !with.jitter.is_zero() {
            self.advance(now, with);
        } else if self.port.next_at() < with.horizon {
            // Nothing that comes later matters to what the port holds.
            self.advance(with.horizon - Duration::from_ps(1), with);
            return self.arrive_alone(now, id, with);
        }
        let _ = self.enqueue(now, id, with.packets, with.jitter, Gate::Open);
    }

    /// [`Self::arrive`] in one place for those who need it seldom.
    #[inline(never)]
    pub(super) fn arrive_alone(&mut self, now: Time, id: PacketId, with: &mut Context<'_, impl Sink<L>>) {
        self.arrive(now, id, with);
    }

    /// Independent mode: does all that is due up to `until`.
    #[inline(always)]
    pub(super) fn advance(&mut self, until: Time, with: &mut Context<'_, impl Sink<L>>) {
        while self.port.next_at() <= until {
            if let Some((id, arrival)) = self.step(until, with.packets, with.jitter, Gate::Open) {
                with.sink.send(&self.link, arrival, id);
            }
        }
    }

    /// Queues a packet, or refuses it and takes it out. What is due has been done.
    #[inline(always)]
    pub(super) fn enqueue(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
        jitter: Duration,
        gate: Gate,
    ) -> Admission {
        let admission = self.port.enqueue(now, id, packets, gate);
        match admission {
            Admission::Started(service) => self.begin(service, jitter),
            Admission::Dropped => drop(packets.remove(id)),
            Admission::Queued => {}
        }
        admission
    }

    /// Does what is due first, given that nothing arrives up to `until` any more: gives the packet that leaves, and when it
    /// arrives.
    #[inline(always)]
    pub(super) fn step(
        &mut self,
        until: Time,
        packets: &mut Packets,
        jitter: Duration,
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
