//! A port: buffer x markers x overflow x service, at the end of one link.
//!
//! Its page: `docs/src/schemes/ports.md`.

mod change;
mod counters;
mod fifo;
mod full;
mod integral;
mod model;

use super::list::List;
use super::overflow::Trimming;
use super::phantom::PhantomQueue;
use crate::packet::{Access, Packet, PacketId, Packets};
use crate::port_config::TelemetryCounts;
use alloc::boxed::Box;
use alloc::sync::Arc;
use farspan_units::random::Random;
use farspan_units::{Bytes, Duration, HopTelemetry, PortId, Purpose, TelemetryKind, Time};
use integral::Integral;
pub use model::PortModel;

/// Whether a port took a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It waits.
    Queued,
    /// The port was idle: its service has begun.
    Started(Service),
    /// There is no room; the packet is the caller's to discard.
    Dropped,
    /// There is no room for its header, which is the caller's to send back to the host that the packet came from.
    Returned,
}

/// Whether data may leave a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gate {
    /// It may.
    Open,
    /// It waits: only control packets that go first leave.
    Closed,
}

impl Gate {
    #[inline(always)]
    const fn lets_out(self, in_data: bool) -> bool {
        matches!(self, Self::Open) || !in_data
    }
}

/// The counters of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Bytes sent.
    pub sent_bytes: Bytes,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets dropped on arrival.
    pub dropped: u64,
    /// Their size on the wire.
    pub dropped_bytes: Bytes,
    /// Packets marked.
    pub marked: u64,
    /// Largest data queue, the packet in service included: whole, or what is left of it where a port is
    /// [FIFO](PortModel::is_fifo).
    pub max_queue: Bytes,
}

/// The packet in service: what a completion needs to know without looking at the record.
#[derive(Clone, Copy, Debug)]
struct Serving {
    id: PacketId,
    size: u16,
    control: bool,
    /// Whether it counts in the data queue.
    in_data: bool,
}

impl Serving {
    const NONE: Self = Self { id: PacketId::NONE, size: 0, control: false, in_data: false };

    #[inline(always)]
    fn new(id: PacketId, packet: &Packet, in_data: bool) -> Self {
        Self { id, size: packet.size().get() as u16, control: packet.control(), in_data }
    }

    const fn is_none(self) -> bool {
        self.id.is_none()
    }

    const fn size(self) -> Bytes {
        Bytes::new(self.size as u64)
    }
}

/// An egress port.
///
/// A port owns its state and reads no other. Drive it in time order: [`Port::enqueue`] on arrivals,
/// [`Port::advance`] at each [`Port::next_at`]. At one instant, events that are due come before an arrival.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Port {
    /// Bytes in the data queue, integrated over time, less `data_bytes` x now: a packet that enters subtracts
    /// its size x time and one that leaves adds it. Modulo 2^128. Of a FIFO port: twice the time that is left
    /// to send, integrated up to when everything is sent; ps^2.
    queue_integral: Integral,
    /// When something is due: the last bit of the packet in service leaves, or the transmitter is free for the packet
    /// that waits; [`Time::MAX`]: nothing is.
    next_at: Time,
    /// When the transmitter has sent the packet in service and all that [`Port::forward`] and [`Port::bypass`] have let go.
    free_at: Time,
    /// Transmission times of all packets up to `free_at`: each is rounded, so that they do not follow from the bytes.
    busy: Duration,
    serving: Serving,
    /// When the latest service began, and `data_bytes` then: for the stamp that its end writes.
    began: Time,
    held: Bytes,
    /// Control packets that go first, or everything that a FIFO port keeps.
    control: List,
    data: List,
    /// Bytes in the data queue, the packet in service included; nothing at a FIFO port.
    data_bytes: Bytes,
    phantom: PhantomQueue,
    model: Arc<PortModel>,
    random: Random,
    sent_bytes: Bytes,
    marked: u64,
    sent_packets: u64,
    /// In bytes; of a FIFO port: how long they take to send, ps.
    max_queue: u64,
    /// Cold state, of a port that was full or keeps packets; there from the start where the port trims.
    cold: Option<Box<Cold>>,
}

/// State that few packets meet: counts of those that found no room, and how long a FIFO port keeps some.
#[derive(Clone, Debug, Default)]
struct Cold {
    dropped: u64,
    dropped_bytes: Bytes,
    trimming: Option<Trimming>,
    /// When a FIFO port will have sent everything, if anything is due at it; else that is `free_at`.
    empty_at: Time,
}

impl Port {
    /// An idle port. `id` keeps its random draws apart from other ports'.
    #[must_use]
    pub fn new(model: &Arc<PortModel>, id: PortId, seed: u64) -> Self {
        Self {
            queue_integral: Integral::ZERO,
            next_at: Time::MAX,
            free_at: Time::ZERO,
            busy: Duration::ZERO,
            serving: Serving::NONE,
            began: Time::ZERO,
            held: Bytes::ZERO,
            control: List::EMPTY,
            data: List::EMPTY,
            data_bytes: Bytes::ZERO,
            phantom: PhantomQueue::EMPTY,
            model: Arc::clone(model),
            random: Random::new(seed, Purpose::Mark, u64::from(id.0)),
            sent_bytes: Bytes::ZERO,
            sent_packets: 0,
            marked: 0,
            max_queue: 0,
            cold: model
                .trim
                .map(|_| Box::new(Cold { trimming: Some(Trimming::new(id, seed)), ..Cold::default() })),
        }
    }

    /// A packet arrives, to be queued or dropped. Everything due at or before `now` must have been done.
    pub fn enqueue(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
        gate: Gate,
    ) -> Admission {
        self.enqueue_as::<false>(now, id, packets, gate)
    }

    /// [`Self::enqueue`] of data at a port that is not [FIFO](PortModel::is_fifo).
    #[inline(always)]
    pub fn enqueue_data(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
        gate: Gate,
    ) -> Admission {
        debug_assert!(!self.model.fifo && !packets[id].control(), "data at a port that is not FIFO");
        self.enqueue_as::<true>(now, id, packets, gate)
    }

    /// [`Self::enqueue`] of a control packet at a port that is not [FIFO](PortModel::is_fifo).
    #[inline(always)]
    pub fn enqueue_control(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
    ) -> Admission {
        if packets[id].has_any(self.model.held_up) {
            return self.enqueue(now, id, packets, Gate::Open);
        }
        if self.next_at != Time::MAX || self.free_at > now {
            if self.next_at == Time::MAX {
                self.next_at = self.free_at;
            }
            self.control.push(id, packets);
            return Admission::Queued;
        }
        let serving = Serving { id, size: packets[id].size().get() as u16, control: true, in_data: false };
        Admission::Started(self.serve(now, serving))
    }

    /// `DATA`: whether it is known to be data, at a port that is not FIFO.
    #[inline(always)]
    fn enqueue_as<const DATA: bool>(
        &mut self,
        now: Time,
        id: PacketId,
        packets: &mut Packets<impl Access>,
        gate: Gate,
    ) -> Admission {
        debug_assert!(self.next_at > now, "something is overdue");
        let packet = &mut packets[id];
        let (size, control) = (packet.size(), !DATA && packet.control());
        let is_fifo = !DATA && self.model.fifo;
        let in_data = DATA || !(is_fifo || control && self.model.control_priority);
        let is_in = if is_fifo {
            self.keep(now, packet)
        } else if in_data {
            self.admit(now, packet, size, control)
        } else {
            !packet.trimmed() || self.admit_header(now)
        };
        if !is_in {
            return self.overflow(now, id, packets, gate);
        }
        if self.next_at == Time::MAX && gate.lets_out(in_data) {
            if self.free_at <= now {
                let serving = Serving { id, size: size.get() as u16, control, in_data };
                return Admission::Started(self.serve(now, serving));
            }
            self.next_at = self.free_at;
        }
        let list = if in_data { &mut self.data } else { &mut self.control };
        list.push(id, packets);
        Admission::Queued
    }

    /// A packet arrives at a port that is not FIFO: a control packet, which is no header of a trimmed one, goes before all
    /// that waits, so that nothing can change when it departs. Gives when its last bit leaves, and the port is done with it. `None` if it must be
    /// [queued](Self::enqueue): it is data, a control packet waits, or it would not leave before `horizon`, when the counters
    /// may be read. Everything due at or before `now` must have been done.
    #[inline(always)]
    pub(crate) fn bypass(&mut self, now: Time, packet: &Packet, horizon: Time) -> Option<Time> {
        debug_assert!(self.next_at > now, "something is overdue");
        if !packet.control() || packet.has_any(self.model.held_up) || !self.control.is_empty() {
            return None;
        }
        let time = self.model.transmission(packet.size());
        let at = self.free_at.max(now) + time;
        if at >= horizon {
            return None;
        }
        self.overtake(at);
        self.count_sent(packet.size(), time);
        Some(at)
    }

    /// Something that goes before all that waits keeps the transmitter busy until `at`.
    #[inline(always)]
    fn overtake(&mut self, at: Time) {
        self.free_at = at;
        // Only a packet that waits for the transmitter is held up: one in service is not.
        if self.serving.is_none() && self.next_at != Time::MAX {
            self.next_at = at;
        }
    }

    /// Counts a packet that has left, or is bound to.
    #[inline(always)]
    fn count_sent(&mut self, size: Bytes, time: Duration) {
        self.busy += time;
        self.sent_bytes += size;
        self.sent_packets += 1;
    }

    /// Counts a packet into the data queue, if there is room for it.
    #[inline(always)]
    fn admit(&mut self, now: Time, packet: &mut Packet, size: Bytes, control: bool) -> bool {
        let model = &*self.model;
        let after = self.data_bytes + size;
        if after > model.buffer {
            return false;
        }
        if let Some(phantom) = &model.marking.phantom
            && !control
        {
            self.phantom.add(now, size, phantom);
        }
        self.queue_integral.subtract(size.get(), now.as_ps());
        if after.get() > self.max_queue {
            self.max_queue = after.get();
        }
        self.data_bytes = after;
        if model.marks_at_enqueue
            && !control
            && model.marking.marks(now, after.get(), self.phantom, &mut self.random)
        {
            packet.mark();
            self.marked += 1;
        }
        true
    }

    #[inline(always)]
    fn serve(&mut self, now: Time, serving: Serving) -> Service {
        let time = self.model.transmission(serving.size());
        self.serving = serving;
        (self.began, self.held) = (now, self.data_bytes);
        self.busy += time;
        self.next_at = now + time;
        self.free_at = self.next_at;
        let backlogged = !serving.control && self.data_bytes >= serving.size() * 2;
        Service { ends: self.next_at, backlogged }
    }

    /// When something is due; [`Time::MAX`] if nothing is.
    #[must_use]
    #[inline]
    pub const fn next_at(&self) -> Time {
        self.next_at
    }

    /// Does what is due at [`Port::next_at`]: completes the packet in service, which it gives back, and
    /// starts the next one, control first, then data, if the transmitter is free by `until`. Nothing may
    /// arrive at or before `until` any more.
    ///
    /// # Panics
    /// If nothing is due, ever.
    #[inline(always)]
    pub fn advance(&mut self, until: Time, packets: &mut Packets<impl Access>, gate: Gate) -> Step {
        let now = self.next_at;
        debug_assert!(now <= until, "nothing is due yet");
        let left = self.complete(now, packets);
        let began = self.begin(until, packets, gate);
        Step { left, began }
    }

    #[inline(always)]
    pub(super) fn begin(
        &mut self,
        until: Time,
        packets: &Packets<impl Access>,
        gate: Gate,
    ) -> Option<Service> {
        if !self.control.is_empty() {
            return self.serve_control(until, packets, gate);
        }
        if !gate.lets_out(true) {
            self.next_at = Time::MAX;
            return None;
        }
        self.serve_next(until, true, packets)
    }

    #[inline(always)]
    fn serve_next(&mut self, until: Time, in_data: bool, packets: &Packets<impl Access>) -> Option<Service> {
        let list = if in_data { &mut self.data } else { &mut self.control };
        if list.is_empty() {
            self.next_at = Time::MAX;
            return None;
        }
        if self.free_at > until {
            self.next_at = self.free_at;
            return None;
        }
        let (id, packet) = list.pop(packets);
        Some(self.serve(self.free_at, Serving::new(id, packet, in_data)))
    }

    /// Rare in a switch where most control packets [bypass](Self::bypass) the queue.
    #[cold]
    fn serve_control(&mut self, until: Time, packets: &Packets<impl Access>, gate: Gate) -> Option<Service> {
        let start = self.free_at;
        let in_data = start <= until && self.data_goes_first(gate);
        let mut service = self.serve_next(until, in_data, packets)?;
        if self.model.fifo {
            let two = (service.ends - start) * 2;
            service.backlogged = !self.serving.control && self.backlog(start) >= two;
        }
        Some(service)
    }

    #[inline(always)]
    fn complete(&mut self, now: Time, packets: &mut Packets<impl Access>) -> Option<PacketId> {
        let serving = self.serving;
        if serving.is_none() {
            assert!(now != Time::MAX, "something is due");
            return None;
        }
        self.serving.id = PacketId::NONE;
        let (id, size) = (serving.id, serving.size());
        self.sent_bytes += size;
        self.sent_packets += 1;
        if serving.in_data {
            self.queue_integral.add(size.get(), now.as_ps());
            self.data_bytes -= size;
            if self.model.acts_at_departure
                && !serving.control
                && self.model.marking.may_act(now, self.data_bytes.get(), self.phantom)
            {
                self.act(now, id, packets);
            }
        } else if self.model.counts_headers && packets[id].trimmed() {
            self.header_left();
        }
        Some(id)
    }

    /// A data packet has left, which may be marked by the state that it leaves behind, and stamped with that in which its service
    /// began. Nothing else left the port in between.
    #[cold]
    fn act(&mut self, now: Time, id: PacketId, packets: &mut Packets<impl Access>) {
        let model = &*self.model;
        if !model.marks_at_enqueue
            && model.marking.marks(now, self.data_bytes.get(), self.phantom, &mut self.random)
        {
            packets[id].mark();
            self.marked += 1;
        }
        if model.telemetry != TelemetryKind::None {
            let size = packets[id].size();
            let left = self.sent_bytes - size;
            let sent = match model.telemetry_counts {
                TelemetryCounts::Departures => left,
                // Control packets that go first have all gone.
                TelemetryCounts::Arrivals => left + self.held,
            };
            let hop = HopTelemetry { at: self.began, sent, queued: self.held - size, rate: model.rate };
            packets.stamp(id, model.telemetry, hop);
        }
    }
}

/// The result of advancing a port: the end of one service and the beginning of the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The packet whose service has ended.
    pub left: Option<PacketId>,
    /// The service that has begun.
    pub began: Option<Service>,
}

/// The service of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Service {
    /// When the packet's last bit leaves.
    pub ends: Time,
    /// Whether it is data that leaves at least as much data behind as it takes away.
    pub backlogged: bool,
}

#[cfg(test)]
mod tests;
