//! How a port changes while it runs: a gate that opens, a rate, a link that fails.

use super::{Cold, Gate, Port, Service, Serving};
use crate::fault::Lost;
use crate::packet::{Access, PacketId, Packets};
use alloc::sync::Arc;
use farspan_units::{Bytes, Rate, Time};

impl Port {
    /// The gate opens: the next packet is served as soon as the transmitter is free, which may be now; else it is due
    /// then.
    pub fn resume(&mut self, now: Time, packets: &Packets<impl Access>) -> Option<Service> {
        if self.next_at != Time::MAX {
            return None;
        }
        self.free_at = self.free_at.max(now);
        self.begin(now, packets, Gate::Open)
    }

    /// A frame that is in no queue goes before all that waits, but not inside the packet in service; gives when its last
    /// bit leaves. Everything due before `now` must have been done. Frames count in the time that the port is busy, not among
    /// its packets.
    pub fn send_frame(&mut self, now: Time, size: Bytes) -> Time {
        debug_assert!(self.next_at >= now && !self.model.fifo, "something is overdue, or settled");
        let time = self.model.transmission(size);
        let at = self.free_at.max(now) + time;
        self.busy += time;
        self.overtake(at);
        at
    }

    /// The packets at the port, the one in service included.
    pub fn waiting<'a>(&'a self, packets: &'a Packets<impl Access>) -> impl Iterator<Item = PacketId> + 'a {
        let serving = (!self.serving.is_none()).then_some(self.serving.id);
        serving.into_iter().chain([&self.control, &self.data].into_iter().flat_map(|list| list.iter(packets)))
    }

    /// Whether packets wait though nothing is due: the gate is closed.
    #[must_use]
    pub const fn is_held(&self) -> bool {
        self.next_at.as_ps() == Time::MAX.as_ps() && !(self.data.is_empty() && self.control.is_empty())
    }

    /// Services that begin from now on have this rate. For ports of a [`PortModel::changeable`](super::PortModel::changeable).
    pub fn set_rate(&mut self, rate: Rate) {
        debug_assert!(!self.model.fifo, "a FIFO port has settled what it sends");
        if rate != self.model.rate {
            self.model = Arc::new(self.model.at(rate));
        }
    }

    /// The port stops: everything that waits, and the packet in service, is discarded after `each` has seen it; gives what
    /// that was. Everything due at or before `now` must have been done, and nothing may have been forwarded. For ports of a
    /// [`PortModel::changeable`](super::PortModel::changeable).
    pub fn flush<A: Access>(
        &mut self,
        now: Time,
        packets: &mut Packets<A>,
        mut each: impl FnMut(PacketId, &mut Packets<A>),
    ) -> Lost {
        debug_assert!(self.next_at > now && !self.model.fifo, "something is overdue, or settled");
        let mut lost = Lost::default();
        let mut discard = |id, packets: &mut Packets<A>| {
            each(id, packets);
            lost.add(packets.discard(now, id).size());
        };
        if !self.serving.is_none() {
            discard(self.serving.id, packets);
        }
        for list in [&mut self.control, &mut self.data] {
            while !list.is_empty() {
                let (id, _) = list.pop(packets);
                discard(id, packets);
            }
        }
        self.busy = self.busy_until(now);
        self.free_at = self.free_at.min(now);
        (self.serving, self.next_at) = (Serving::NONE, Time::MAX);
        self.queue_integral.add(self.data_bytes.get(), now.as_ps());
        self.data_bytes = Bytes::ZERO;
        if let Some(Cold { trimming: Some(trimming), .. }) = self.cold.as_deref_mut() {
            trimming.clear(now);
        }
        lost
    }
}
