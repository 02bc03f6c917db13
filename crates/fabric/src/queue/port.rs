//! A port: buffer x markers x overflow x service, at the end of one link.

use super::list::List;
use super::marking::{Marking, PhantomQueue};
use crate::packet::{Packet, PacketId, Packets};
use crate::port_config::{MarkingPoint, PortConfig};
use alloc::sync::Arc;
use farspan_units::random::Random;
use farspan_units::{Bytes, Duration, PortId, Purpose, Rate, Time};

/// Whether a port took a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// It waits.
    Queued,
    /// The port was idle: its transmission has begun, and ends at [`Port::next_completion`].
    Started,
    /// The buffer is full; the packet is the caller's to discard.
    Dropped,
}

/// What a port has done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Bytes sent.
    pub sent_bytes: Bytes,
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets refused.
    pub dropped: u64,
    /// Their size on the wire.
    pub dropped_bytes: Bytes,
    /// Packets marked.
    pub marked: u64,
    /// Time spent sending, the packet in service in full.
    pub busy: Duration,
    /// Largest data queue, the packet in service included.
    pub max_queue: Bytes,
}

/// What ports of one kind have in common: the link's rate and everything that was configured. Ports share it, so that
/// what each of them holds for itself stays small.
#[derive(Clone, PartialEq, Debug)]
pub struct PortModel {
    /// Picoseconds a byte if that is exact, else 0.
    byte_time: u64,
    rate: Rate,
    buffer: Bytes,
    marking: Marking,
    marks_at_enqueue: bool,
    control_priority: bool,
}

impl PortModel {
    /// Ports of `config` on links of `rate`.
    ///
    /// # Panics
    /// If the rate is zero or the markers contradict each other; scenarios are checked earlier.
    #[must_use]
    pub fn new(config: &PortConfig, rate: Rate) -> Self {
        assert!(!rate.is_zero(), "a link moves something");
        let second = 8_000_000_000_000_u64;
        Self {
            byte_time: if second.is_multiple_of(rate.as_bps()) { second / rate.as_bps() } else { 0 },
            rate,
            buffer: config.buffer,
            marking: Marking::new(config, rate),
            marks_at_enqueue: config.marking_point == MarkingPoint::Enqueue,
            control_priority: config.control_priority,
        }
    }

    #[inline]
    fn transmission(&self, size: Bytes) -> Duration {
        if self.byte_time != 0 {
            Duration::from_ps(self.byte_time * size.get())
        } else {
            // Two packets of one link never arrive at one instant.
            self.rate.transmission(size).max(Duration::from_ps(1))
        }
    }
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
}

/// An egress port.
///
/// It owns its state and never looks elsewhere. Drive it in time order: [`Port::enqueue`] on arrivals,
/// [`Port::complete`] at each [`Port::next_completion`]. At one instant a completion comes before an arrival.
#[derive(Clone, Debug)]
pub struct Port {
    /// Bytes in the data queue, integrated over time, less `data_bytes` x now: a packet that enters subtracts its size x
    /// time and one that leaves adds it. Modulo 2^128.
    queue_integral: u128,
    /// When the last bit of the packet in service leaves; [`Time::MAX`]: the port is idle.
    done_at: Time,
    serving: Serving,
    control: List,
    data: List,
    /// Bytes in the data queue, the packet in service included.
    data_bytes: Bytes,
    phantom: PhantomQueue,
    model: Arc<PortModel>,
    random: Random,
    counters: PortCounters,
}

impl Port {
    /// An idle port. `id` keeps its random draws apart from other ports'.
    #[must_use]
    pub fn new(model: &Arc<PortModel>, id: PortId, seed: u64) -> Self {
        Self {
            queue_integral: 0,
            done_at: Time::MAX,
            serving: Serving::NONE,
            control: List::EMPTY,
            data: List::EMPTY,
            data_bytes: Bytes::ZERO,
            phantom: PhantomQueue::EMPTY,
            model: Arc::clone(model),
            random: Random::new(seed, Purpose::Mark, u64::from(id.0)),
            counters: PortCounters::default(),
        }
    }

    /// A packet arrives. Everything due at or before `now` must have been completed.
    #[inline]
    pub fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets) -> Admission {
        debug_assert!(self.done_at > now, "a completion is overdue");
        let packet = &mut packets[id];
        let (size, control) = (packet.size(), packet.control());
        let in_data = !(control && self.model.control_priority);
        if in_data && !self.admit(now, packet, size, control) {
            return Admission::Dropped;
        }
        if self.done_at == Time::MAX {
            let serving = Serving { id, size: size.get() as u16, control, in_data };
            self.serve(now, serving);
            return Admission::Started;
        }
        let list = if in_data { &mut self.data } else { &mut self.control };
        list.push(id, packets);
        Admission::Queued
    }

    /// Counts a packet into the data queue, if there is room for it.
    #[inline]
    fn admit(&mut self, now: Time, packet: &mut Packet, size: Bytes, control: bool) -> bool {
        let model = &*self.model;
        let after = self.data_bytes + size;
        let fits = after <= model.buffer;
        if let Some(phantom) = &model.marking.phantom
            && !control
            && (fits || phantom.count_dropped)
        {
            self.phantom.add(now, size, phantom);
        }
        let c = &mut self.counters;
        if !fits {
            c.dropped += 1;
            c.dropped_bytes += size;
            return false;
        }
        self.queue_integral = self.queue_integral.wrapping_sub(byte_time(size, now));
        c.max_queue = c.max_queue.max(after);
        self.data_bytes = after;
        if model.marks_at_enqueue
            && !control
            && model.marking.marks(now, after, self.phantom, &mut self.random)
        {
            packet.mark();
            c.marked += 1;
        }
        true
    }

    #[inline]
    fn serve(&mut self, now: Time, serving: Serving) {
        let time = self.model.transmission(Bytes::new(u64::from(serving.size)));
        self.counters.busy += time;
        self.serving = serving;
        self.done_at = now + time;
    }

    /// When the packet in service has left, if there is one.
    #[must_use]
    #[inline]
    pub const fn next_completion(&self) -> Option<Time> {
        if self.done_at.as_ps() == Time::MAX.as_ps() { None } else { Some(self.done_at) }
    }

    /// When the packet in service has left; [`Time::MAX`] if there is none.
    #[must_use]
    #[inline]
    pub const fn done_at(&self) -> Time {
        self.done_at
    }

    /// Completes the packet in service, at [`Port::next_completion`], and starts the next: control first, then data.
    ///
    /// # Panics
    /// If nothing is in service.
    #[inline]
    pub fn complete(&mut self, packets: &mut Packets) -> Completion {
        let (Serving { id, size, control, in_data }, now) = (self.serving, self.done_at);
        assert!(now != Time::MAX, "a completion follows a start");
        let size = Bytes::new(u64::from(size));
        self.counters.sent_bytes += size;
        self.counters.sent_packets += 1;
        if in_data {
            self.queue_integral = self.queue_integral.wrapping_add(byte_time(size, now));
            self.data_bytes -= size;
            let model = &*self.model;
            if !model.marks_at_enqueue
                && !control
                && model.marking.marks(now, self.data_bytes, self.phantom, &mut self.random)
            {
                packets[id].mark();
                self.counters.marked += 1;
            }
        }
        self.serve_next(now, packets);
        Completion { id, at: now, control, backlogged: self.data_bytes >= size }
    }

    #[inline]
    fn serve_next(&mut self, now: Time, packets: &Packets) {
        let in_data = self.control.is_empty();
        let list = if in_data { &mut self.data } else { &mut self.control };
        if list.is_empty() {
            self.done_at = Time::MAX;
            return;
        }
        let (id, packet) = list.pop(packets);
        let serving =
            Serving { id, size: packet.size().get() as u16, control: packet.control(), in_data };
        self.serve(now, serving);
    }

    /// Bytes in the data queue, the packet in service included.
    #[must_use]
    pub const fn queued(&self) -> Bytes {
        self.data_bytes
    }

    /// The phantom counter, if the port has one.
    #[must_use]
    pub fn phantom(&self, now: Time) -> Option<Bytes> {
        self.model.marking.phantom.as_ref().map(|model| self.phantom.level(now, model))
    }

    /// What the port has done.
    #[must_use]
    pub const fn counters(&self) -> &PortCounters {
        &self.counters
    }

    /// Time spent sending up to `now`: the packet in service counts as far as it has come.
    #[must_use]
    pub fn busy_until(&self, now: Time) -> Duration {
        self.counters.busy.saturating_sub(self.next_completion().map_or(Duration::ZERO, |at| at.since(now)))
    }

    /// Time-weighted mean of the data queue from the start to `now`, in bytes.
    #[must_use]
    pub fn mean_queue(&self, now: Time) -> f64 {
        if now == Time::ZERO {
            return 0.0;
        }
        self.queue_integral.wrapping_add(byte_time(self.data_bytes, now)) as f64 / now.as_ps() as f64
    }
}

/// A packet that has left a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The packet.
    pub id: PacketId,
    /// When its last bit left.
    pub at: Time,
    /// Whether it is a control packet.
    pub control: bool,
    /// Whether it leaves at least as much data behind as it takes away.
    pub backlogged: bool,
}

/// Bytes times picoseconds.
#[inline]
const fn byte_time(bytes: Bytes, at: Time) -> u128 {
    bytes.get() as u128 * at.as_ps() as u128
}

#[cfg(test)]
mod tests;
