//! Packets of a window by the port that they leave from, each port's in order.
#![allow(unsafe_code, reason = "places follow from the layout of the buckets; a debug build checks them")]

use super::Arrival;
use super::bits::ones;
use alloc::vec::Vec;

/// Knows the port that a packet leaves from, counted from the switch's first.
pub(super) trait EgressOf<A> {
    /// The packet's port. Part of the loop over all packets.
    fn of(&self, packet: A) -> usize;
}

/// Buckets of the ports for the packets of a window: first those of each port are counted, then each finds its place. They
/// are empty between windows, so that switches can share them.
#[derive(Debug)]
pub struct Buckets<A> {
    /// Packets that are in buckets and have not been taken.
    held: usize,
    /// By packet, as they come: its port.
    ports: Vec<u32>,
    /// By port.
    buckets: Vec<Bucket>,
    /// Bucket after bucket, in each one that comes before all and then its packets.
    packets: Vec<A>,
}

/// The bucket of a port.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    /// How many packets it has.
    count: u32,
    /// Where its next packet goes; meaningless if it has none.
    next: u32,
}

impl<A> Default for Buckets<A> {
    fn default() -> Self {
        Self { held: 0, ports: Vec::new(), buckets: Vec::new(), packets: Vec::new() }
    }
}

impl<A: Arrival> Buckets<A> {
    /// Partitions packets, one or more, into the buckets of `ports` ports, and sets the bits in `hit` of those ports that
    /// get any. All buckets must be empty.
    #[inline(never)]
    pub(super) fn partition(&mut self, ports: usize, from: &[A], egress: &impl EgressOf<A>, hit: &mut [u64]) {
        assert!(self.held == 0, "what was put in before has been taken");
        self.held = from.len();
        if self.buckets.len() < ports || self.ports.len() < from.len() {
            self.grow(ports, from);
        }
        if let [hit] = hit {
            let mut bits = *hit;
            self.count(from, egress, |port| bits |= 1 << (port % 64));
            *hit = bits;
        } else {
            self.count(from, egress, |port| hit[port / 64] |= 1 << (port % 64));
        }
        self.lay_out(from[0].before_all(), hit);
        self.place(from);
    }

    #[inline(always)]
    fn count(&mut self, from: &[A], egress: &impl EgressOf<A>, mut note: impl FnMut(usize)) {
        let buckets = &mut self.buckets[..];
        // The lookups of this loop do not wait for each other.
        for (&packet, found) in from.iter().zip(&mut self.ports) {
            let port = egress.of(packet);
            note(port);
            *found = port as u32;
            buckets[port].count += 1;
        }
    }

    /// Lays the buckets of ports out that have packets.
    #[inline(always)]
    fn lay_out(&mut self, before_all: A, hit: &[u64]) {
        let mut at = 0;
        for port in hit.iter().enumerate().flat_map(|(word, bits)| ones(word, *bits)) {
            let bucket = &mut self.buckets[port];
            if bucket.count > 0 {
                self.packets[at as usize] = before_all;
                bucket.next = at + 1;
                at += 1 + bucket.count;
            }
        }
    }

    #[inline(always)]
    fn place(&mut self, from: &[A]) {
        let (buckets, packets) = (&mut self.buckets[..], &mut self.packets[..]);
        for (&packet, &port) in from.iter().zip(&self.ports) {
            debug_assert!((port as usize) < buckets.len(), "the port was found when its packets were counted");
            // SAFETY: `count` has looked the bucket up, with a check.
            let next = unsafe { &mut buckets.get_unchecked_mut(port as usize).next };
            let mut place = *next as usize;
            *next += 1;
            debug_assert!(place < packets.len(), "there is room for what was counted");
            // SAFETY: a bucket has as much room as was counted, and the whole as much as all buckets (see `grow`). The index
            // falls no further than to the bucket's start, which is after nothing (see `Arrival`).
            unsafe {
                while packets.get_unchecked(place - 1).is_after(packet) {
                    *packets.get_unchecked_mut(place) = *packets.get_unchecked(place - 1);
                    place -= 1;
                }
                *packets.get_unchecked_mut(place) = packet;
            }
        }
    }

    /// Makes room for so many ports and packets.
    #[cold]
    fn grow(&mut self, ports: usize, from: &[A]) {
        let ports = ports.max(self.buckets.len());
        let packets = from.len().next_power_of_two().max(self.ports.len());
        self.buckets.resize(ports, Bucket::default());
        self.ports.resize(packets, 0);
        self.packets.resize(ports + packets, from[0].before_all());
    }

    /// Takes the packets of a port, in order.
    #[inline(always)]
    pub(super) fn take(&mut self, port: usize) -> &[A] {
        let Bucket { count, next } = &mut self.buckets[port];
        let (count, end) = (core::mem::take(count) as usize, *next as usize);
        self.held -= count;
        &self.packets[end - count..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketId;
    use alloc::vec;
    use farspan_units::{Purpose, Random, Time};

    /// Its time, port and number.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct Numbered(u64, usize, u32);

    // SAFETY: numbers order them, and none is below 0.
    unsafe impl Arrival for Numbered {
        fn at(self, start: Time) -> Time {
            Time::from_ps(start.as_ps() + self.0)
        }

        fn id(self) -> PacketId {
            unreachable!("nobody asks")
        }

        fn rank(self) -> usize {
            0
        }

        fn order(self) -> u64 {
            self.0
        }

        fn is_after(self, other: Self) -> bool {
            self.0 > other.0
        }

        fn before_all(self) -> Self {
            Self(0, self.1, self.2)
        }
    }

    struct Own;

    impl EgressOf<Numbered> for Own {
        fn of(&self, packet: Numbered) -> usize {
            packet.1
        }
    }

    #[test]
    fn each_port_gets_its_packets_in_order_and_equal_ones_as_they_came() {
        let mut random = Random::new(1, Purpose::Test, 0);
        let mut buckets = Buckets::default();
        for round in 0..if cfg!(miri) { 15 } else { 300 } {
            let (ports, count) = (1 + random.below(40) as usize, 1 + random.below(if cfg!(miri) { 80 } else { 900 }));
            let mut draw = |n| Numbered(random.below(50), random.below(ports as u64) as usize, n as u32);
            let packets: Vec<_> = (0..count).map(&mut draw).collect();
            let mut hit = vec![0; 1 + round % 2];
            buckets.partition(ports, &packets, &Own, &mut hit);
            for port in 0..ports {
                let mut expected: Vec<_> =
                    packets.iter().filter(|packet| packet.1 == port).copied().collect();
                expected.sort_by_key(|packet| packet.0);
                assert_eq!(buckets.take(port), expected, "round {round}, port {port}");
                assert_eq!(hit[0] >> port & 1 == 1, !expected.is_empty());
            }
        }
    }
}
