//! A host's uplink: a transmitter without a queue. It takes a packet only when it is free, so that when the packet leaves
//! and arrives is known when it is taken.

use crate::engine::{Channel, Outbox};
use crate::jitter::Jitter;
use farspan_fabric::{Link, Packet, PacketId, Packets, PortCounters};
use farspan_units::{Bytes, Duration, Rate, Time};

/// The uplink of a host.
pub(crate) struct Nic {
    pub(crate) channel: Channel,
    rate: Rate,
    delay: Duration,
    /// Largest jitter of data packets.
    max_jitter: Duration,
    jitter: Jitter,
    /// Sizes of the packets taken last, and how long they take: nearly all are full packets or ACKs.
    times: [(Bytes, Duration); 2],
    /// When the last bit of the packet taken last leaves.
    free_at: Time,
    /// The packet taken last.
    last: Bytes,
    /// All packets taken.
    counters: PortCounters,
    /// Bytes of data in transmission, integrated over time.
    data_integral: u128,
}

impl Nic {
    pub(crate) fn new(link: &Link, channel: Channel, jitter: Duration, seed: u64) -> Self {
        Self {
            channel,
            rate: link.rate,
            delay: link.delay,
            max_jitter: jitter,
            jitter: Jitter::new(seed, u64::from(link.from.0)),
            times: [(Bytes::ZERO, Duration::ZERO); 2],
            free_at: Time::ZERO,
            last: Bytes::ZERO,
            counters: PortCounters::default(),
            data_integral: 0,
        }
    }

    /// When it takes the next packet.
    #[inline]
    pub(crate) const fn free_at(&self) -> Time {
        self.free_at
    }

    /// Takes a packet; it must be free.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Time,
        packet: Packet,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        debug_assert!(self.free_at <= now, "the NIC takes one packet at a time");
        let (size, control) = (packet.size(), packet.control());
        let time = self.transmission(size, control);
        self.free_at = now + time;
        self.last = size;
        self.counters.sent_bytes += size;
        self.counters.sent_packets += 1;
        if !control {
            self.counters.max_queue = self.counters.max_queue.max(size);
            self.data_integral += u128::from(size.get()) * u128::from(time.as_ps());
        }
        let id = packets.insert(packet);
        let arrival = self.jitter.arrival(self.free_at + self.delay, self.max_jitter, !control);
        out.send(self.channel, arrival, id);
    }

    #[inline]
    fn transmission(&mut self, size: Bytes, control: bool) -> Duration {
        let known = &mut self.times[usize::from(control)];
        if known.0 != size {
            // Two packets of one link never arrive at one instant.
            *known = (size, self.rate.transmission(size).max(Duration::from_ps(1)));
        }
        known.1
    }

    /// What had left before `end`.
    pub(crate) fn counters(&self, end: Time) -> PortCounters {
        let mut counters = self.counters;
        if self.free_at >= end && counters.sent_packets > 0 {
            counters.sent_packets -= 1;
            counters.sent_bytes -= self.last;
        }
        counters
    }

    /// Time spent sending up to `now`.
    pub(crate) fn busy_until(&self, now: Time) -> Duration {
        self.rate.transmission(self.counters.sent_bytes).saturating_sub(self.free_at.since(now))
    }

    /// Time-weighted mean of the data in transmission from the start to `now`, in bytes.
    pub(crate) fn mean_queue(&self, now: Time) -> f64 {
        if now == Time::ZERO { 0.0 } else { self.data_integral as f64 / now.as_ps() as f64 }
    }
}
