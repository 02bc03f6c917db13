//! A port: buffer x markers x overflow x service, at the end of one link.

use super::list::List;
use super::marking::Marking;
use crate::packet::{PacketId, Packets};
use crate::port_config::{MarkingPoint, PortConfig};
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
    /// Time spent sending.
    pub busy: Duration,
    /// Largest data queue, the packet in service included.
    pub max_queue: Bytes,
    /// Integral of the data queue over time, in byte picoseconds, up to the last change.
    queue_integral: u128,
    /// When the data queue last changed.
    changed_at: Time,
}

/// An egress port.
///
/// It owns its state and never looks elsewhere. Drive it in time order: [`Port::enqueue`] on arrivals,
/// [`Port::complete`] at each [`Port::next_completion`]. At one instant a completion comes before an arrival.
#[derive(Clone, Debug)]
pub struct Port {
    /// When the last bit of the packet in service leaves; [`Time::MAX`]: the port is idle.
    done_at: Time,
    /// The packet in service, while there is one.
    serving: PacketId,
    control: List,
    data: List,
    /// Bytes in the data queue, the packet in service included.
    data_bytes: Bytes,
    /// Picoseconds a byte if that is exact, else 0.
    byte_time: u64,
    rate: Rate,
    buffer: Bytes,
    marking: Marking,
    marking_point: MarkingPoint,
    control_priority: bool,
    random: Random,
    counters: PortCounters,
}

impl Port {
    /// A port of `config` on a link of `rate`. `id` keeps its random draws apart from other ports'.
    ///
    /// # Panics
    /// If the rate is zero or the markers contradict each other; scenarios are checked earlier.
    #[must_use]
    pub fn new(config: &PortConfig, rate: Rate, id: PortId, seed: u64) -> Self {
        assert!(!rate.is_zero(), "a link moves something");
        let second = 8_000_000_000_000_u64;
        Self {
            done_at: Time::MAX,
            serving: PacketId::NONE,
            control: List::EMPTY,
            data: List::EMPTY,
            data_bytes: Bytes::ZERO,
            byte_time: if second.is_multiple_of(rate.as_bps()) { second / rate.as_bps() } else { 0 },
            rate,
            buffer: config.buffer,
            marking: Marking::new(config, rate),
            marking_point: config.marking_point,
            control_priority: config.control_priority,
            random: Random::new(seed, Purpose::Mark, u64::from(id.0)),
            counters: PortCounters::default(),
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

    /// A packet arrives. Everything due at or before `now` must have been completed.
    #[inline]
    pub fn enqueue(&mut self, now: Time, id: PacketId, packets: &mut Packets) -> Admission {
        debug_assert!(self.next_completion().is_none_or(|at| at > now), "a completion is overdue");
        let packet = &packets[id];
        let (size, control) = (packet.size(), packet.control());
        if !(control && self.control_priority) {
            let fits = self.data_bytes + size <= self.buffer;
            if let Some(phantom) = &mut self.marking.phantom
                && !control
                && (fits || phantom.count_dropped)
            {
                phantom.add(now, size);
            }
            if !fits {
                self.counters.dropped += 1;
                self.counters.dropped_bytes += size;
                return Admission::Dropped;
            }
            self.change_queue(now, self.data_bytes + size);
            if self.marking_point == MarkingPoint::Enqueue && !control {
                self.mark(now, id, packets);
            }
        }
        if self.done_at == Time::MAX {
            self.serve(now, id, size);
            return Admission::Started;
        }
        let list = if control && self.control_priority { &mut self.control } else { &mut self.data };
        list.push(id, packets);
        Admission::Queued
    }

    #[inline]
    fn serve(&mut self, now: Time, id: PacketId, size: Bytes) {
        let time = self.transmission(size);
        self.counters.busy += time;
        self.serving = id;
        self.done_at = now + time;
    }

    /// When the packet in service has left, if there is one.
    #[must_use]
    #[inline]
    pub const fn next_completion(&self) -> Option<Time> {
        if self.done_at.as_ps() == Time::MAX.as_ps() { None } else { Some(self.done_at) }
    }

    /// Completes the packet in service, at [`Port::next_completion`], and starts the next: control first, then data.
    ///
    /// # Panics
    /// If nothing is in service.
    #[inline]
    pub fn complete(&mut self, packets: &mut Packets) -> PacketId {
        let (id, now) = (self.serving, self.done_at);
        assert!(now != Time::MAX, "a completion follows a start");
        let packet = &packets[id];
        let (size, control) = (packet.size(), packet.control());
        self.counters.sent_bytes += size;
        self.counters.sent_packets += 1;
        if !(control && self.control_priority) {
            self.change_queue(now, self.data_bytes - size);
            if self.marking_point == MarkingPoint::Dequeue && !control {
                self.mark(now, id, packets);
            }
        }
        match self.control.pop(packets).or_else(|| self.data.pop(packets)) {
            Some(next) => self.serve(now, next, packets[next].size()),
            None => self.done_at = Time::MAX,
        }
        id
    }

    #[inline]
    fn mark(&mut self, now: Time, id: PacketId, packets: &mut Packets) {
        if self.marking.marks(now, self.data_bytes, &mut self.random) {
            packets[id].mark();
            self.counters.marked += 1;
        }
    }

    #[inline]
    fn change_queue(&mut self, now: Time, bytes: Bytes) {
        let c = &mut self.counters;
        c.queue_integral += u128::from(self.data_bytes.get()) * u128::from(now.since(c.changed_at).as_ps());
        c.changed_at = now;
        c.max_queue = c.max_queue.max(bytes);
        self.data_bytes = bytes;
    }

    /// Bytes in the data queue, the packet in service included.
    #[must_use]
    pub const fn queued(&self) -> Bytes {
        self.data_bytes
    }

    /// The phantom counter, if the port has one.
    #[must_use]
    pub fn phantom(&self, now: Time) -> Option<Bytes> {
        self.marking.phantom.map(|p| p.level(now))
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
        let c = &self.counters;
        let tail = u128::from(self.data_bytes.get()) * u128::from(now.since(c.changed_at).as_ps());
        (c.queue_integral + tail) as f64 / now.as_ps() as f64
    }
}

#[cfg(test)]
mod tests;
