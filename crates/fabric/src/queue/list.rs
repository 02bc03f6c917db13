//! First-in, first-out lists of packets, linked through the slab.

use crate::packet::{PacketId, Packets};

/// A queue of packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: PacketId,
    tail: PacketId,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: PacketId::NONE, tail: PacketId::NONE };

    pub(super) fn push(&mut self, id: PacketId, packets: &mut Packets) {
        packets[id].next = PacketId::NONE;
        if self.head == PacketId::NONE {
            self.head = id;
        } else {
            packets[self.tail].next = id;
        }
        self.tail = id;
    }

    pub(super) fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        if self.head == PacketId::NONE {
            return None;
        }
        let id = self.head;
        self.head = packets[id].next;
        Some(id)
    }
}
