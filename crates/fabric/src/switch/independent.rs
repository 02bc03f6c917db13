//! Independent mode: ports share nothing, so that each has its turn with all its packets of a window.
//!
//! Completions have no events: what is due at a port is done before its next arrival and at the window's end. A completion
//! in the window delivers after it, so none is late.

use super::bits::ones;
use super::{Arrival, Buckets, Context, Egress, Lookup, Sink, Span};
use crate::packet::PacketId;
use alloc::vec::Vec;
use farspan_units::{Duration, Time};

/// What a switch keeps in this mode.
#[derive(Debug)]
pub(super) struct Independent {
    /// One bit a port at which something is due, or that gets packets in this window.
    busy: Vec<u64>,
    /// Whether all ports are FIFO and without jitter: hardly anything waits for a window's end.
    pub(super) is_fifo: bool,
}

/// When something is due next at a port that has had its turn; one that waits for nothing is no longer busy.
#[inline(always)]
fn leave<L>(port: usize, egress: &Egress<L>, busy: &mut u64) -> Time {
    let next = egress.port.next_at();
    if next == Time::MAX {
        *busy &= !(1 << (port % 64));
    }
    next
}

impl Independent {
    pub(super) fn new(ports: usize, is_fifo: bool) -> Self {
        Self { busy: alloc::vec![0; ports.div_ceil(64)], is_fifo }
    }

    /// A packet arrives; first what is due at its port is done.
    #[inline(always)]
    pub(super) fn arrive<L>(
        &mut self,
        now: Time,
        id: PacketId,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) {
        let port = lookup.egress(&with.packets[id]);
        let egress = &mut ports[port];
        egress.arrive(now, id, with);
        self.busy[port / 64] |= u64::from(egress.port.next_at() != Time::MAX) << (port % 64);
    }

    /// Does all that is due up to `until`; gives when something is due next, or [`Time::MAX`].
    #[inline(never)]
    pub(super) fn advance<L>(
        &mut self,
        until: Time,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) -> Time {
        let mut next = Time::MAX;
        for (word, busy) in self.busy.iter_mut().enumerate() {
            for port in ones(word, *busy) {
                let egress = &mut ports[port];
                egress.advance(until, with);
                next = next.min(leave(port, egress, busy));
            }
        }
        next
    }

    /// All packets of a window arrive, and everything due before its end is done. FIFO ports take them in order of time,
    /// others port by port.
    #[inline(always)]
    pub(super) fn run<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &[A],
        buckets: &mut Buckets<A>,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) -> Time {
        if !self.is_fifo {
            return self.run_by_port(span, arrivals, buckets, lookup, ports, with);
        }
        for &arrival in arrivals {
            self.arrive(arrival.at(span.start), arrival.id(), lookup, ports, with);
        }
        if self.busy.iter().all(|&busy| busy == 0) {
            return Time::MAX;
        }
        self.advance(span.end - Duration::from_ps(1), ports, with)
    }

    /// Deals packets to their ports, and gives each port its turn.
    #[inline(always)]
    fn run_by_port<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &[A],
        buckets: &mut Buckets<A>,
        lookup: &Lookup,
        ports: &mut [Egress<L>],
        with: &mut Context<'_, impl Sink<L>>,
    ) -> Time {
        let packets = &*with.packets;
        buckets.deal(ports.len(), arrivals, &mut self.busy, |arrival| lookup.egress(&packets[arrival.id()]));
        let (last, mut next) = (span.end - Duration::from_ps(1), Time::MAX);
        for (word, busy) in self.busy.iter_mut().enumerate() {
            for port in ones(word, *busy) {
                let egress = &mut ports[port];
                for &arrival in buckets.take(port) {
                    egress.arrive(arrival.at(span.start), arrival.id(), with);
                }
                egress.advance(last, with);
                next = next.min(leave(port, egress, busy));
            }
        }
        next
    }
}
