//! Packets of a window by the port that they leave from: a counting sort, then each port's packets in order.

use super::Arrival;
use super::bits::ones;
use alloc::vec::Vec;

/// Room to deal packets to ports. Nothing stays in it between windows, so that switches can share it and it stays in cache.
#[derive(Debug)]
pub struct Buckets<A> {
    /// The port of each packet, in the order of arrival.
    ports: Vec<u32>,
    /// By port: where its packets begin and end. Both zero: it has none.
    ranges: Vec<[u32; 2]>,
    /// One bit a port that has packets.
    hit: Vec<u64>,
    /// Port after port.
    packets: Vec<A>,
}

impl<A> Default for Buckets<A> {
    fn default() -> Self {
        Self { ports: Vec::new(), ranges: Vec::new(), hit: Vec::new(), packets: Vec::new() }
    }
}

impl<A: Arrival> Buckets<A> {
    /// Deals packets to `ports` ports; sets the bits of those that get any in `busy`. What was dealt before has been taken.
    #[inline(always)]
    pub(super) fn deal(&mut self, ports: usize, from: &[A], busy: &mut [u64], port: impl Fn(A) -> usize) {
        if self.ranges.len() < ports {
            self.ranges.resize(ports, [0; 2]);
            self.hit.resize(ports.div_ceil(64), 0);
        }
        if self.packets.len() < from.len()
            && let Some(&any) = from.first()
        {
            self.packets.resize(from.len(), any);
            self.ports.resize(from.len(), 0);
        }
        // The lookups of this loop do not wait for each other.
        for (&packet, place) in from.iter().zip(&mut self.ports) {
            let port = port(packet);
            *place = port as u32;
            self.ranges[port][1] += 1;
            self.hit[port / 64] |= 1 << (port % 64);
        }
        let mut start = 0;
        for (word, hit) in self.hit.iter_mut().enumerate() {
            if *hit == 0 {
                continue;
            }
            busy[word] |= *hit;
            for port in ones(word, core::mem::take(hit)) {
                let range = &mut self.ranges[port];
                let count = range[1];
                *range = [start; 2];
                start += count;
            }
        }
        for (&packet, &port) in from.iter().zip(&self.ports) {
            let end = &mut self.ranges[port as usize][1];
            self.packets[*end as usize] = packet;
            *end += 1;
        }
    }

    /// Takes the packets of a port, in order.
    #[inline(always)]
    pub(super) fn take(&mut self, port: usize) -> &[A] {
        let [start, end] = core::mem::take(&mut self.ranges[port]);
        let packets = &mut self.packets[start as usize..end as usize];
        packets.sort_by_key(|packet| packet.order());
        packets
    }
}
