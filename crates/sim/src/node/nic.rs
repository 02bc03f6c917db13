//! A host's uplink: a transmitter without a queue. It takes a packet only when it is free, so that the times
//! at which the packet leaves and arrives are known when it is taken.

use crate::engine::{Channel, Outbox};
use crate::outcome::Amount;
use farspan_fabric::switch::shared::pause::PauseRecord;
use farspan_fabric::{Gate, Jitter, Link, PacketId, PortCounters};
use farspan_units::{Bytes, Duration, Rate, Time};

/// Packets of one size, taken one after the other: nearly all are full packets or ACKs.
#[derive(Clone, Copy, Default)]
struct Run {
    size: Bytes,
    /// How long each takes.
    time: Duration,
    packets: u64,
}

impl Run {
    const fn amount(&self) -> Amount {
        Amount { packets: self.packets, bytes: Bytes::new(self.size.get() * self.packets) }
    }

    /// Bytes in transmission, integrated over time.
    fn integral(&self) -> u128 {
        u128::from(self.size.get()) * u128::from(self.time.as_ps()) * u128::from(self.packets)
    }
}

/// The uplink of a host.
pub(crate) struct Nic {
    pub(crate) channel: Channel,
    /// Whether it takes data, and how often and how long it did not.
    pub(crate) pauses: PauseRecord,
    /// Whether it takes control packets even so: they go first, in a class of their own.
    pub(crate) control_goes_first: bool,
    /// Of the packet taken last.
    rate: Rate,
    /// Of the next one.
    next_rate: Rate,
    delay: Duration,
    /// Largest jitter of data packets.
    max_jitter: Duration,
    jitter: Jitter,
    /// When the last bit of the packet taken last leaves.
    free_at: Time,
    /// The packet taken last.
    last: Bytes,
    /// Data, then control packets: the runs that go on.
    runs: [Run; 2],
    /// Packets taken before these runs.
    past: [Amount; 2],
    /// Bytes of data in transmission before the run that goes on, integrated over time.
    past_integral: u128,
    /// The largest data packet.
    largest: Bytes,
    /// Bytes sent at other rates than now, and how long that took.
    before: (Bytes, Duration),
}

impl Nic {
    pub(crate) fn new(
        link: &Link,
        channel: Channel,
        jitter: Duration,
        control_goes_first: bool,
        seed: u64,
    ) -> Self {
        Self {
            channel,
            pauses: PauseRecord::default(),
            control_goes_first,
            rate: link.rate,
            next_rate: link.rate,
            delay: link.delay,
            max_jitter: jitter,
            jitter: Jitter::new(seed, u64::from(link.from.0)),
            free_at: Time::ZERO,
            last: Bytes::ZERO,
            runs: [Run::default(); 2],
            past: [Amount::default(); 2],
            past_integral: 0,
            largest: Bytes::ZERO,
            before: (Bytes::ZERO, Duration::ZERO),
        }
    }

    /// When it takes the next packet.
    #[inline]
    pub(crate) const fn free_at(&self) -> Time {
        self.free_at
    }

    /// Whether it takes no data.
    #[inline]
    pub(crate) fn is_paused(&self) -> bool {
        self.pauses.gate() == Gate::Closed
    }

    /// Takes a packet of this size; it must be free. `control`: whether it is a control packet.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        now: Time,
        id: PacketId,
        size: Bytes,
        control: bool,
        out: &mut impl Outbox<PacketId>,
    ) {
        debug_assert!(self.free_at <= now, "the NIC takes one packet at a time");
        let kind = usize::from(control);
        if self.runs[kind].size != size {
            self.begin_run(size, kind);
        }
        let run = &mut self.runs[kind];
        run.packets += 1;
        self.free_at = now + run.time;
        self.last = size;
        let arrival = self.jitter.arrival(self.free_at + self.delay, self.max_jitter, !control);
        out.send(&self.channel, arrival, id);
    }

    #[cold]
    fn begin_run(&mut self, size: Bytes, kind: usize) {
        if !size.is_zero() {
            self.change_rate();
        }
        let before = self.runs[kind];
        self.past[kind] = self.past[kind] + before.amount();
        if kind == 0 {
            self.past_integral += before.integral();
            self.largest = self.largest.max(size);
        }
        // Two packets of one link never arrive at one instant.
        let time = self.rate.transmission(size).max(Duration::from_ps(1));
        self.runs[kind] = Run { size, time, packets: 0 };
    }

    /// Packets taken from now on have this rate. Nothing changes before one is: how often the NIC asks in vain must not show.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        if rate != self.next_rate {
            self.next_rate = rate;
            // No packet has this size: the next ones begin runs of their own.
            [0, 1].into_iter().for_each(|kind| self.begin_run(Bytes::ZERO, kind));
        }
    }

    fn change_rate(&mut self) {
        if self.next_rate != self.rate {
            let sent = self.sent_bytes();
            self.before = (sent, self.before.1 + self.rate.transmission(sent - self.before.0));
            self.rate = self.next_rate;
        }
    }

    fn sent_bytes(&self) -> Bytes {
        (self.sent(0) + self.sent(1)).bytes
    }

    /// All that was taken: data, then control packets.
    pub(crate) fn sent(&self, kind: usize) -> Amount {
        self.past[kind] + self.runs[kind].amount()
    }

    /// The counters of packets that had left before `end`.
    pub(crate) fn counters(&self, end: Time) -> PortCounters {
        let mut sent = self.sent(0) + self.sent(1);
        if self.free_at >= end && sent.packets > 0 {
            sent.packets -= 1;
            sent.bytes -= self.last;
        }
        PortCounters {
            sent_bytes: sent.bytes,
            sent_packets: sent.packets,
            max_queue: self.largest,
            ..PortCounters::default()
        }
    }

    /// Time spent sending up to `now`.
    pub(crate) fn busy_until(&self, now: Time) -> Duration {
        let busy = self.before.1 + self.rate.transmission(self.sent_bytes() - self.before.0);
        busy.saturating_sub(self.free_at.since(now))
    }

    /// Time-weighted mean of the data in transmission from the start to `now`, in bytes.
    pub(crate) fn mean_queue(&self, now: Time) -> f64 {
        let integral = self.past_integral + self.runs[0].integral();
        if now == Time::ZERO { 0.0 } else { integral as f64 / now.as_ps() as f64 }
    }
}
