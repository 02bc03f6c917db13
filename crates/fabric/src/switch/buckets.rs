//! Packets of a window by the port that they leave from, each port's in order.
#![allow(unsafe_code, reason = "places follow from the layout of the buckets; a debug build checks them")]

use super::Arrival;
use alloc::vec::Vec;

/// Knows the port that a packet leaves from, counted from the switch's first.
pub(super) trait EgressOf<A> {
    /// The packet's port. Part of the loop over all packets.
    fn of(&self, packet: A) -> usize;
}

/// Per-port buckets for the packets of a window. They are empty between windows, so that switches can share
/// them.
#[derive(Debug)]
pub struct Buckets<A> {
    /// Packets that are in buckets and have not been taken.
    held: usize,
    /// Where each port's next packet goes.
    next: Vec<u32>,
    /// From one bucket to the next.
    stride: usize,
    /// About how many places there may be.
    places: usize,
    /// Port after port: one that comes before all, then room for a window's packets, should all go there.
    packets: Vec<A>,
}

impl<A> Default for Buckets<A> {
    fn default() -> Self {
        Self { held: 0, next: Vec::new(), stride: 0, places: 1 << 20, packets: Vec::new() }
    }
}

impl<A: Arrival> Buckets<A> {
    /// As [`Self::default`], with about so many places.
    #[cfg(test)]
    pub(super) fn of(places: usize) -> Self {
        Self { places, ..Self::default() }
    }

    /// The most packets that are partitioned at once for so many ports: with the default, 2^20 over their number, and 255 at least.
    pub(super) fn room(&self, ports: usize) -> usize {
        (self.places / ports).max(255)
    }

    /// Partitions packets, one or more and up to [`Self::room`], into the buckets of `ports` ports, and sets
    /// the bits in `hit` of those ports that get any. All buckets must be empty.
    #[inline(never)]
    pub(super) fn partition(&mut self, ports: usize, from: &[A], egress: &impl EgressOf<A>, hit: &mut [u64]) {
        assert!(self.held == 0, "what was put in before has been taken");
        if self.next.len() < ports || self.stride <= from.len() {
            self.lay_out(ports, from);
        }
        self.held = from.len();
        if let [hit] = hit {
            let mut bits = *hit;
            self.fill(from, egress, |port| bits |= 1 << (port % 64));
            *hit = bits;
        } else {
            self.fill(from, egress, |port| hit[port / 64] |= 1 << (port % 64));
        }
    }

    #[inline(always)]
    fn fill(&mut self, from: &[A], egress: &impl EgressOf<A>, mut note: impl FnMut(usize)) {
        let (next, packets) = (&mut self.next[..], &mut self.packets[..]);
        // The lookups of this loop do not wait for each other.
        for &packet in from {
            let port = egress.of(packet);
            note(port);
            let mut place = next[port] as usize;
            next[port] += 1;
            debug_assert!(place < packets.len(), "a bucket has room for all packets");
            // SAFETY: all buckets were empty, and each has room for all packets of the call. The index falls
            // no further than to the bucket's start, which is after nothing (see `Arrival`).
            unsafe {
                while packets.get_unchecked(place - 1).is_after(packet) {
                    *packets.get_unchecked_mut(place) = *packets.get_unchecked(place - 1);
                    place -= 1;
                }
                *packets.get_unchecked_mut(place) = packet;
            }
        }
    }

    /// Makes room for these packets, all of which may go to one of `ports` ports.
    #[cold]
    fn lay_out(&mut self, ports: usize, from: &[A]) {
        let before_all = from.first().expect("a packet is put in").before_all();
        // An odd number of cache lines, so that the first ones of all buckets do not displace each other.
        let stride = (from.len() + 1).next_power_of_two().max(256) + 8;
        // Switches that take turns seldom lay out anew. Few ports with many packets and many with few are too much together.
        let (most_ports, widest) = (ports.max(self.next.len()), stride.max(self.stride));
        let fits = most_ports * widest <= 2 * self.places;
        let (ports, stride) = if fits { (most_ports, widest) } else { (ports, stride) };
        self.stride = stride;
        self.next = (0..ports).map(|port| (port * stride + 1) as u32).collect();
        if self.packets.len() < ports * stride {
            self.packets.resize(ports * stride, before_all);
        }
        self.packets.iter_mut().step_by(stride).for_each(|first| *first = before_all);
    }

    /// Takes the packets of a port, in order.
    #[inline(always)]
    pub(super) fn take(&mut self, port: usize) -> &[A] {
        let start = port * self.stride + 1;
        let end = core::mem::replace(&mut self.next[port], start as u32) as usize;
        self.held -= end - start;
        &self.packets[start..end]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::packet::{Packet, PacketId, Packets};
    use alloc::vec;
    use farspan_units::{Bytes, Duration, FlowId, HostId, Purpose, Random, Time};

    /// A packet that arrives so many ns after the start of a window.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(in crate::switch) struct Coming(pub u64, pub PacketId);

    // SAFETY: whole numbers order them, and none is below 0.
    unsafe impl Arrival for Coming {
        fn at(self, start: Time) -> Time {
            start + Duration::from_ns(self.0)
        }

        fn id(self) -> PacketId {
            self.1
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
            Self(0, self.1)
        }
    }

    /// The port of each packet, by its number.
    struct Own(Vec<usize>);

    impl EgressOf<Coming> for Own {
        fn of(&self, Coming(_, id): Coming) -> usize {
            self.0[id.number() as usize]
        }
    }

    /// Packets that come at these times.
    fn coming(times: impl IntoIterator<Item = u64>) -> Vec<Coming> {
        let mut slab = Packets::new();
        let mut packet = || slab.insert(Packet::new(FlowId(0), HostId(0), Bytes::new(64), 0, false, 0));
        times.into_iter().map(|at| Coming(at, packet())).collect()
    }

    #[test]
    fn switches_of_any_size_that_take_turns_need_about_the_places_of_one() {
        let mut buckets = Buckets::of(1 << 10);
        for _ in 0..3 {
            for (ports, count) in [(1, 1024), (4, 256), (2, 512), (60, 255)] {
                assert!(count as usize <= buckets.room(ports));
                let (packets, own) =
                    (coming(0..count), Own((0..count as usize).map(|n| n % ports).collect()));
                buckets.partition(ports, &packets, &own, &mut [0; 10]);
                for port in 0..ports {
                    let expected: Vec<_> =
                        packets.iter().filter(|packet| own.of(**packet) == port).copied().collect();
                    assert_eq!(buckets.take(port), expected);
                }
            }
        }
        assert!(buckets.packets.len() <= 60 * 264, "{}", buckets.packets.len());
    }

    #[test]
    fn each_port_gets_its_packets_in_order_and_equal_ones_as_they_came() {
        let mut random = Random::new(1, Purpose::Test, 0);
        let mut buckets = Buckets::default();
        for round in 0..if cfg!(miri) { 15 } else { 300 } {
            let most = if round % 10 == 9 { 900 } else { 60 };
            let (ports, count) = (1 + random.below(40) as usize, 1 + random.below(most));
            let own = Own((0..count).map(|_| random.below(ports as u64) as usize).collect());
            let packets = coming((0..count).map(|_| random.below(50)));
            let mut hit = vec![0; 1 + round % 2];
            buckets.partition(ports, &packets, &own, &mut hit);
            for port in 0..ports {
                let mut expected: Vec<_> =
                    packets.iter().filter(|packet| own.of(**packet) == port).copied().collect();
                expected.sort_by_key(|packet| packet.0);
                assert_eq!(buckets.take(port), expected, "round {round}, port {port}");
                assert_eq!(hit[0] >> port & 1 == 1, !expected.is_empty());
            }
        }
    }
}
