//! Independent mode: ports share nothing, so that each port handles all its packets of a window in one go.
//!
//! Completions have no events: work that is due at a port is done before its next arrival and at the window's
//! end. A completion in the window delivers after the window, so no delivery is missed.

use super::bits::ones;
use super::buckets::EgressOf;
use super::{Arrival, Buckets, Core, Egress, Sink, Span, egress_of};
use crate::packet::{Access, PacketId, Packets};
use crate::routing::RouteView;
use alloc::vec::Vec;
use farspan_units::{Duration, Time};

/// The state of a switch in this mode.
#[derive(Debug)]
pub(super) struct Independent {
    /// One bit a port at which something is due, or that gets packets in this window.
    busy: Vec<u64>,
    /// Whether all ports are FIFO and without jitter: hardly anything waits for a window's end.
    pub(super) is_fifo: bool,
}

/// The ports of packets in a slab.
struct Of<'a, S> {
    routes: RouteView<'a>,
    packets: &'a Packets<S>,
}

impl<A: Arrival, S: Access> EgressOf<A> for Of<'_, S> {
    #[inline(always)]
    fn of(&self, arrival: A) -> usize {
        egress_of(self.routes, &self.packets[arrival.id()])
    }
}

/// The next time at which work is due at a port that has been served; a port without any is no longer busy.
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
    pub(super) fn arrive<L>(
        &mut self,
        now: Time,
        id: PacketId,
        core: &mut Core<L>,
        horizon: Time,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) {
        let port = core.lookup.egress(&packets[id]);
        let egress = &mut core.ports[port];
        if egress.port.model().is_fifo() {
            egress.arrive_anew(now, id, core.jitter, horizon, packets, sink);
        } else {
            egress.arrive(now, id, core.jitter, horizon, packets, sink);
        }
        self.note(port, egress);
    }

    #[inline(always)]
    fn note<L>(&mut self, port: usize, egress: &Egress<L>) {
        if egress.port.next_at() != Time::MAX {
            self.busy[port / 64] |= 1 << (port % 64);
        }
    }

    /// Does all that is due up to `until`; gives when something is due next, or [`Time::MAX`].
    #[inline(never)]
    pub(super) fn advance<L>(
        &mut self,
        until: Time,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let mut next = Time::MAX;
        for (word, busy) in self.busy.iter_mut().enumerate() {
            for port in ones(word, *busy) {
                let egress = &mut core.ports[port];
                egress.advance(until, core.jitter, packets, sink);
                next = next.min(leave(port, egress, busy));
            }
        }
        next
    }

    /// All packets of a window arrive, and everything due before its end is done. FIFO ports take them in
    /// order of time, others port by port.
    #[inline(always)]
    pub(super) fn run<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &mut [A],
        buckets: &mut Buckets<A>,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let last = span.end - Duration::from_ps(1);
        if !self.is_fifo {
            if arrivals.is_empty() {
                return self.advance(last, core, packets, sink);
            }
            if arrivals.len() > buckets.room(core.ports.len()) {
                return self.run_in_parts(span, arrivals, buckets, core, packets, sink);
            }
            return self.run_by_port(span, last, arrivals, buckets, core, packets, sink);
        }
        self.run_in_order(span, arrivals, core, packets, sink)
    }

    /// Handles a window of a switch with FIFO ports: packets come in order of time. A function of its own, as its loop is the
    /// whole work of such a switch.
    #[inline(never)]
    fn run_in_order<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &[A],
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let (start, horizon) = (span.start, span.horizon);
        let Core { lookup, ports, .. } = &mut *core;
        for &arrival in arrivals {
            let (now, id) = (arrival.at(start), arrival.id());
            let port = lookup.egress(&packets[id]);
            let egress = &mut ports[port];
            if !egress.forward(now, id, horizon, packets, sink) {
                egress.arrive_anew(now, id, Duration::ZERO, horizon, packets, sink);
                self.note(port, egress);
            }
        }
        if self.busy.iter().all(|&busy| busy == 0) {
            return Time::MAX;
        }
        self.advance(span.end - Duration::from_ps(1), core, packets, sink)
    }

    /// Handles a window with more packets than can be partitioned at once.
    #[cold]
    #[inline(never)]
    fn run_in_parts<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        arrivals: &mut [A],
        buckets: &mut Buckets<A>,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        arrivals.sort_by_key(|arrival| arrival.order());
        for part in arrivals.chunks(buckets.room(core.ports.len())) {
            self.run_by_port(span, Time::ZERO, part, buckets, core, packets, sink);
        }
        self.advance(span.end - Duration::from_ps(1), core, packets, sink)
    }

    /// Partitions packets by port, then serves each port: its packets, and the work that is due up to
    /// `until`.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "what `run` was given, and how far")]
    fn run_by_port<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        until: Time,
        arrivals: &[A],
        buckets: &mut Buckets<A>,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let egress = Of { routes: core.lookup.routes.view(), packets };
        buckets.partition(core.ports.len(), arrivals, &egress, &mut self.busy);
        self.serve(span, until, buckets, core, packets, sink)
    }

    /// Each port takes all its packets of a window, and does the work that is due up to `until`.
    #[inline(never)]
    fn serve<L, A: Arrival>(
        &mut self,
        span: &Span<'_>,
        until: Time,
        buckets: &mut Buckets<A>,
        core: &mut Core<L>,
        packets: &mut Packets<impl Access>,
        sink: &mut impl Sink<L>,
    ) -> Time {
        let (start, horizon, jitter) = (span.start, span.horizon, core.jitter);
        let mut next = Time::MAX;
        for (word, busy) in self.busy.iter_mut().enumerate() {
            for port in ones(word, *busy) {
                let (arrivals, egress) = (buckets.take(port), &mut core.ports[port]);
                if egress.port.model().is_fifo() {
                    for &arrival in arrivals {
                        egress.arrive_anew(arrival.at(start), arrival.id(), jitter, horizon, packets, sink);
                    }
                } else {
                    for &arrival in arrivals {
                        egress.arrive(arrival.at(start), arrival.id(), jitter, horizon, packets, sink);
                    }
                }
                egress.advance(until, jitter, packets, sink);
                next = next.min(leave(port, egress, busy));
            }
        }
        next
    }
}
