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
    /// The rate of the packet taken last.
    rate: Rate,
    /// The rate of the next one.
    next_rate: Rate,
    delay: Duration,
    /// Largest jitter of data packets.
    max_jitter: Duration,
    jitter: Jitter,
    /// When the last bit of the packet taken last leaves.
    free_at: Time,
    /// The packet taken last.
    last: Bytes,
    /// Whether it was a control packet.
    last_is_control: bool,
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
            last_is_control: false,
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
        (self.last, self.last_is_control) = (size, control);
        let arrival = self.jitter.arrival(self.free_at + self.delay, self.max_jitter, !control);
        out.send(&self.channel, arrival, id);
    }

    #[cold]
    fn begin_run(&mut self, size: Bytes, kind: usize) {
        if self.next_rate != self.rate {
            let sent = self.sent_bytes();
            self.before = (sent, self.before.1 + self.rate.transmission(sent - self.before.0));
            self.rate = self.next_rate;
        }
        self.end_run(kind);
        if kind == 0 {
            self.largest = self.largest.max(size);
        }
        // Two packets of one link never arrive at one instant.
        let time = self.rate.transmission(size).max(Duration::from_ps(1));
        self.runs[kind] = Run { size, time, packets: 0 };
    }

    /// The next packet begins a run.
    fn end_run(&mut self, kind: usize) {
        let run = std::mem::take(&mut self.runs[kind]);
        self.past[kind] = self.past[kind] + run.amount();
        if kind == 0 {
            self.past_integral += run.integral();
        }
    }

    /// Packets taken from now on have this rate. Nothing changes before one is: how often the NIC asks in vain must not show.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        if rate != self.next_rate {
            self.next_rate = rate;
            [0, 1].into_iter().for_each(|kind| self.end_run(kind));
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

    /// Time-weighted mean of the data in transmission from the start to `now`, the end of the run, in bytes.
    pub(crate) fn mean_queue(&self, now: Time) -> f64 {
        // The packet taken last counts only for the part that has left.
        let ahead = u128::from(self.free_at.since(now).as_ps());
        let ahead = if self.last_is_control { 0 } else { ahead * u128::from(self.last.get()) };
        let integral = (self.past_integral + self.runs[0].integral()).saturating_sub(ahead);
        if now == Time::ZERO { 0.0 } else { integral as f64 / now.as_ps() as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Frame, Key};
    use farspan_fabric::{Packet, Packets, Tier};
    use farspan_units::{FlowId, HostId, NodeId};

    const SIZE: Bytes = Bytes::new(1000);
    /// A packet takes 1 us, 2 us or 4 us.
    const RATES: [Rate; 3] = [Rate::from_gbps(8), Rate::from_gbps(4), Rate::from_gbps(2)];

    /// Takes what leaves.
    struct Nowhere;

    impl Outbox<PacketId> for Nowhere {
        fn send(&mut self, _: &Channel, _: Time, _: PacketId) {}
        fn send_frame(&mut self, _: &Channel, _: Time, _: Frame) {}
        fn wake(&mut self, _: Key) {}
        fn notify(&mut self, _: u32, _: Key) {}
    }

    fn nic() -> Nic {
        let (from, to, tier) = (NodeId(0), NodeId(1), Tier::HostUp);
        let link = Link { from, to, index: 0, rate: RATES[0], delay: Duration::ZERO, tier, buffer: None };
        Nic::new(&link, Channel::away(0), Duration::ZERO, true, 1)
    }

    /// A packet leaves as soon as the one before has; gives how long all have taken so far.
    fn send(nic: &mut Nic, control: bool) -> Duration {
        let id = Packets::new().insert(Packet::new(FlowId(0), HostId(1), SIZE, 0, control, 0));
        nic.send(nic.free_at(), id, SIZE, control, &mut Nowhere);
        assert_eq!(nic.busy_until(nic.free_at()), nic.free_at() - Time::ZERO);
        nic.busy_until(nic.free_at())
    }

    #[test]
    fn packets_take_the_time_of_the_rate_that_held_when_they_were_taken() {
        let (mut nic, us) = (nic(), Duration::from_us);
        assert_eq!((send(&mut nic, false), send(&mut nic, true)), (us(1), us(2)));
        nic.set_rate(RATES[1]);
        assert_eq!((send(&mut nic, false), send(&mut nic, true)), (us(4), us(6)));
        // No packet leaves at the middle rate.
        nic.set_rate(RATES[0]);
        nic.set_rate(RATES[2]);
        assert_eq!((send(&mut nic, true), send(&mut nic, false)), (us(10), us(14)));
        assert_eq!((nic.sent(0).packets, nic.sent(1).bytes), (3, SIZE * 3));
        // 1,000 B for 1, 2 and 4 us in 14.
        assert_eq!(nic.mean_queue(nic.free_at()), 500.0);
    }

    #[test]
    fn a_rate_that_comes_back_before_a_packet_leaves_changes_nothing() {
        let (mut asked, mut other) = (nic(), nic());
        for nic in [&mut asked, &mut other] {
            send(nic, false);
        }
        // No whole number of ps: an account that is split would be rounded twice.
        let odd = Rate::from_bps(7_000_000_001);
        for rate in [odd, RATES[0], odd, RATES[0]] {
            asked.set_rate(rate);
            assert_eq!(asked.busy_until(asked.free_at()), other.busy_until(other.free_at()));
        }
        assert_eq!(send(&mut asked, true), send(&mut other, true));
    }
}
