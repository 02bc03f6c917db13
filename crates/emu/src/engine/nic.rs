//! A host's uplink: a transmitter as the simulator's, behind a queue. Bursts wait here that the kernel's own queue lets pass, and all
//! that comes too fast where the kernel has none.

use farspan_fabric::switch::shared::pause::PauseRecord;
use farspan_fabric::{Gate, Jitter, Link, NodeFaults, PacketId, PortCounters};
use farspan_sim::LinkCounts;
use farspan_units::{Bytes, Duration, PortId, Rate, Time};
use std::collections::VecDeque;

/// Packets that wait at a NIC, at most: as many as Linux lets wait at a network device (`txqueuelen`).
pub const NIC_QUEUE: usize = 1000;

/// A packet whose transmission has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    pub(super) id: PacketId,
    /// When its last bit leaves.
    pub(super) leaves: Time,
    /// When it arrives at the far end.
    pub(super) arrives: Time,
}

/// The uplink of a host.
#[derive(Debug)]
pub(super) struct Nic {
    port: PortId,
    link: Link,
    max_jitter: Duration,
    jitter: Jitter,
    pub(super) faults: Option<NodeFaults>,
    pauses: PauseRecord,
    waiting: VecDeque<(PacketId, Bytes)>,
    /// The packet in service, until it has left.
    serving: Option<(Departure, Bytes)>,
    counters: PortCounters,
    busy: Duration,
    /// Bytes that wait or are in service, and their integral up to `counted_at`, byte-picoseconds.
    held: Bytes,
    integral: u128,
    counted_at: Time,
}

impl Nic {
    pub(super) fn new(
        port: PortId,
        link: Link,
        jitter: Duration,
        faults: Option<NodeFaults>,
        seed: u64,
    ) -> Self {
        Self {
            port,
            link,
            max_jitter: jitter,
            jitter: Jitter::new(seed, u64::from(link.from.0)),
            faults,
            pauses: PauseRecord::default(),
            waiting: VecDeque::new(),
            serving: None,
            counters: PortCounters::default(),
            busy: Duration::ZERO,
            held: Bytes::ZERO,
            integral: 0,
            counted_at: Time::ZERO,
        }
    }

    /// Bytes that wait here or are in service.
    pub(super) const fn held(&self) -> Bytes {
        self.held
    }

    /// A packet of the host is to be sent; `false`: there is no room.
    pub(super) fn push(&mut self, now: Time, id: PacketId, size: Bytes) -> bool {
        if self.waiting.len() >= NIC_QUEUE {
            self.counters.dropped += 1;
            self.counters.dropped_bytes += size;
            return false;
        }
        self.hold(now, self.held + size);
        self.counters.max_queue = self.counters.max_queue.max(self.held);
        self.waiting.push_back((id, size));
        true
    }

    /// The host's kernel has dropped so many packets before they came here.
    pub(super) const fn count_dropped(&mut self, packets: u64) {
        self.counters.dropped += packets;
    }

    fn hold(&mut self, now: Time, held: Bytes) {
        self.integral += u128::from(self.held.get()) * u128::from(now.since(self.counted_at).as_ps());
        (self.held, self.counted_at) = (held, now);
    }

    /// The packet in service leaves, if that is due at `now`, and frees the transmitter.
    pub(super) fn complete(&mut self, now: Time) -> Option<Departure> {
        let (departure, size) = self.serving.take_if(|(departure, _)| departure.leaves <= now)?;
        self.hold(now, self.held - size);
        self.counters.sent_packets += 1;
        self.counters.sent_bytes += size;
        Some(departure)
    }

    /// Begins to send the next packet, if one waits, the transmitter is free, and the switch has not paused it; says when its last
    /// bit leaves.
    pub(super) fn begin(&mut self, now: Time) -> Option<Time> {
        if self.serving.is_some() || self.pauses.gate() == Gate::Closed {
            return None;
        }
        let (id, size) = self.waiting.pop_front()?;
        let rate =
            self.faults.as_ref().and_then(|faults| faults.rate(self.port, now)).unwrap_or(self.link.rate);
        let time = transmission(rate, size);
        let leaves = now + time;
        self.busy += time;
        let arrives = self.jitter.arrival(leaves + self.link.delay, self.max_jitter, true);
        self.serving = Some((Departure { id, leaves, arrives }, size));
        Some(leaves)
    }

    /// The switch at the far end pauses it, or lets it go on.
    pub(super) fn on_frame(&mut self, now: Time, frame: farspan_fabric::switch::shared::Frame) {
        self.pauses.note(now, frame);
    }

    /// Its counters at `end`.
    pub(super) fn counts(&mut self, end: Time) -> LinkCounts {
        self.hold(end, self.held);
        let ahead = self.serving.map_or(Duration::ZERO, |(departure, _)| departure.leaves.since(end));
        LinkCounts {
            counters: self.counters,
            trimmed: 0,
            lost: self.faults.as_ref().map(|faults| faults.lost(self.port)).unwrap_or_default(),
            mean_queue: if end == Time::ZERO { 0.0 } else { self.integral as f64 / end.as_ps() as f64 },
            busy: self.busy.saturating_sub(ahead),
            pauses: self.pauses,
        }
    }
}

/// As the simulator's NIC: two packets of one link never arrive at one instant.
fn transmission(rate: Rate, size: Bytes) -> Duration {
    rate.transmission(size).max(Duration::from_ps(1))
}
