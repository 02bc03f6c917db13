//! First-in, first-out lists of packets, linked through the slab.

use crate::packet::{Access, Packet, PacketId, Packets};

/// A queue of packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    /// [`PacketId::NONE`]: the list is empty.
    head: PacketId,
    /// Meaningless while the list is empty.
    tail: PacketId,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: PacketId::NONE, tail: PacketId::NONE };

    /// Adds a packet at the end. The link in its record is left as it is: the list knows its last packet.
    #[inline]
    pub(super) fn push(&mut self, id: PacketId, packets: &mut Packets<impl Access>) {
        if self.is_empty() {
            self.head = id;
        } else {
            packets[self.tail].next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// The last packet.
    pub(super) fn last(&self) -> Option<PacketId> {
        (!self.is_empty()).then_some(self.tail)
    }

    /// Its packets, in order.
    pub(super) fn iter<'a>(&self, packets: &'a Packets<impl Access>) -> impl Iterator<Item = PacketId> + 'a {
        let tail = self.tail;
        let first = (!self.is_empty()).then_some(self.head);
        core::iter::successors(first, move |&id| (id != tail).then(|| packets[id].next))
    }

    /// Takes out the first packet of a list that has one; gives its record, too.
    #[inline]
    pub(super) fn pop<'a>(&mut self, packets: &'a Packets<impl Access>) -> (PacketId, &'a Packet) {
        let id = self.head;
        let packet = &packets[id];
        if id == self.tail {
            self.head = PacketId::NONE;
        } else {
            self.head = packet.next;
            // Its record was last read when it came, and it is the next to leave.
            packets.fetch(packet.next.number());
        }
        (id, packet)
    }
}
