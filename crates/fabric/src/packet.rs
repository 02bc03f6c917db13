//! Packet records and the slab that holds them.
//!
//! A record is 32 bytes: what switches look at, and a few words that belong to the driver (the simulator packs a
//! header into them; a driver with real bytes keeps those in a table of its own, by [`PacketId`]). Queues link records
//! by number, so that moving a packet copies nothing.
//!
//! This is the one place of the crate with `unsafe` code: a packet is looked up several times a hop, by a number that the
//! slab itself gave out.
#![allow(unsafe_code, reason = "lookups by numbers that the slab gave out; a debug build checks them")]

use alloc::vec::Vec;
use farspan_units::{Bytes, FlowId, HostId};

/// A packet's place in the slab.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct PacketId(u32);

impl PacketId {
    /// No packet: the end of a list.
    pub(crate) const NONE: Self = Self(u32::MAX);

    #[inline]
    pub(crate) const fn is_none(self) -> bool {
        self.0 == Self::NONE.0
    }
}

impl From<u32> for PacketId {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<PacketId> for u32 {
    fn from(id: PacketId) -> Self {
        id.0
    }
}

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The next packet of the queue (or of the free list) that this one stands in.
    pub(crate) next: PacketId,
    /// Flow, for hashing and for the driver.
    pub flow: FlowId,
    /// Destination in the low 24 bits, flags above.
    to_and_flags: u32,
    /// Size on the wire, bytes.
    size: u16,
    /// Hashed with the flow by every switch.
    pub entropy: u16,
    /// The driver's.
    pub words: [u32; 3],
    /// The driver's.
    pub halves: [u16; 2],
}

impl Packet {
    /// Number of destinations that a record can name.
    pub const MAX_HOSTS: u32 = 1 << 24;
    const CONTROL: u32 = 1 << 24;
    const ECN_CE: u32 = 1 << 25;
    const TRIMMED: u32 = 1 << 26;
    const KIND_SHIFT: u32 = 28;

    /// A packet without driver words. `kind` (0 to 15) is the driver's; control packets go first where a port says so.
    ///
    /// The size must fit 16 bits, the destination 24 and the kind 4.
    #[must_use]
    #[inline]
    pub fn new(flow: FlowId, to: HostId, size: Bytes, entropy: u16, control: bool, kind: u8) -> Self {
        debug_assert!(to.0 < Self::MAX_HOSTS && kind < 16, "a destination has 24 bits and a kind 4");
        debug_assert!(size.get() <= u64::from(u16::MAX), "a packet has at most 65,535 bytes");
        let size = size.get() as u16;
        let flags = if control { Self::CONTROL } else { 0 } | u32::from(kind) << Self::KIND_SHIFT;
        Self {
            next: PacketId::NONE,
            flow,
            to_and_flags: to.0 | flags,
            size,
            entropy,
            words: [0; 3],
            halves: [0; 2],
        }
    }

    /// Makes of it what [`Self::new`] makes; the driver's words stay.
    #[inline]
    pub fn renew(&mut self, flow: FlowId, to: HostId, size: Bytes, entropy: u16, control: bool, kind: u8) {
        let Self { next, words, halves, .. } = *self;
        *self = Self { next, words, halves, ..Self::new(flow, to, size, entropy, control, kind) };
    }

    /// Where it goes.
    #[must_use]
    #[inline]
    pub const fn to(&self) -> HostId {
        HostId(self.to_and_flags & (Self::MAX_HOSTS - 1))
    }
    /// Size on the wire.
    #[must_use]
    #[inline]
    pub const fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }
    /// Whether it is a control packet: an ACK, a NACK, or a data packet without its payload.
    #[must_use]
    #[inline]
    pub const fn control(&self) -> bool {
        self.to_and_flags & Self::CONTROL != 0
    }
    /// Whether it carries a congestion mark.
    #[must_use]
    #[inline]
    pub const fn ecn_ce(&self) -> bool {
        self.to_and_flags & Self::ECN_CE != 0
    }
    /// Marks it.
    #[inline]
    pub const fn mark(&mut self) {
        self.to_and_flags |= Self::ECN_CE;
    }
    /// Whether a port cut its payload off.
    #[must_use]
    #[inline]
    pub const fn trimmed(&self) -> bool {
        self.to_and_flags & Self::TRIMMED != 0
    }
    fn trim(&mut self, header: Bytes) {
        self.to_and_flags |= Self::TRIMMED | Self::CONTROL;
        self.size = header.get() as u16;
    }
    /// The driver's kind.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> u8 {
        (self.to_and_flags >> Self::KIND_SHIFT) as u8
    }
}

/// All packets of one simulation (or of one thread's part of it): a slab with a last-in, first-out free list, so that
/// the footprint is the peak occupancy and the records in use stay in cache.
#[derive(Clone, Debug)]
pub struct Packets {
    slab: Vec<Packet>,
    free: PacketId,
}

impl Packets {
    /// No packets.
    ///
    /// # Safety
    /// Whatever [`PacketId`] is handed to this slab, now or later, must be one that it gave out: that is not checked again,
    /// but in debug builds. The number of a packet that has been taken out does no harm; it names what has its place now.
    #[must_use]
    pub const unsafe fn new() -> Self {
        Self { slab: Vec::new(), free: PacketId::NONE }
    }

    #[inline(always)]
    fn get(&self, id: PacketId) -> &Packet {
        // SAFETY: the slab gave `id` out (see `new`), and never shrinks.
        unsafe { self.slab.get_unchecked(id.0 as usize) }
    }

    #[inline(always)]
    fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        // SAFETY: the slab gave `id` out (see `new`) or keeps it as a free place, and never shrinks.
        unsafe { self.slab.get_unchecked_mut(id.0 as usize) }
    }

    /// The packet is about to be looked at: begins to bring its record into the cache, where the machine can be asked to.
    #[inline(always)]
    pub fn fetch(&self, id: PacketId) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: nothing is read; the instruction is part of every x86-64.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(self.get(id)).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = id;
    }

    /// Takes a packet in.
    ///
    /// # Panics
    /// If 2^32 - 1 packets are in flight.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet) -> PacketId {
        if self.free == PacketId::NONE {
            self.grow();
        }
        let id = self.free;
        let slot = self.get_mut(id);
        let next = core::mem::replace(slot, packet).next;
        self.free = next;
        id
    }

    /// Adds a free record. No packet goes this way, so that the one to be taken in need not lie in memory.
    #[cold]
    fn grow(&mut self) {
        let id =
            u32::try_from(self.slab.len()).ok().filter(|&i| i != u32::MAX).expect("fewer than 2^32 packets");
        if self.slab.len() == self.slab.capacity() {
            // Twice as much room, as a vector takes, could double what a packet costs.
            self.slab.reserve_exact(self.slab.len() / 8 + 64);
        }
        self.slab.push(Packet::new(FlowId(0), HostId(0), Bytes::ZERO, 0, false, 0));
        self.free = PacketId(id);
    }

    /// Takes a packet out.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        let free = self.free;
        let slot = self.get_mut(id);
        let packet = *slot;
        slot.next = free;
        self.free = id;
        packet
    }

    /// Cuts a packet's payload off: `header` bytes are left, which from here on go with the control packets. Marks and
    /// the driver's words stay. Returns how many bytes were cut.
    pub fn trim(&mut self, id: PacketId, header: Bytes) -> Bytes {
        let packet = self.get_mut(id);
        let cut = packet.size().saturating_sub(header);
        packet.trim(packet.size() - cut);
        cut
    }

    /// Lets two packets change places, one of them the last of its queue and the other in none.
    pub(crate) fn swap(&mut self, a: PacketId, b: PacketId) {
        self.slab.swap(a.0 as usize, b.0 as usize);
    }

    /// All packets, in no particular order. Walks the free list: for the end of a run, not for its course.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mut free = alloc::vec![false; self.slab.len()];
        let mut next = self.free;
        while next != PacketId::NONE {
            free[next.0 as usize] = true;
            next = self.slab[next.0 as usize].next;
        }
        self.slab.iter().zip(free).filter(|(_, free)| !free).map(|(packet, _)| packet)
    }

    /// How many packets there are; walks the free list as [`Self::iter`] does.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl core::ops::Index<PacketId> for Packets {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        self.get(id)
    }
}

impl core::ops::IndexMut<PacketId> for Packets {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        self.get_mut(id)
    }
}

#[cfg(test)]
impl Packets {
    /// For tests, which see to it themselves that they hand back what they were given.
    pub(crate) const fn for_test() -> Self {
        // SAFETY: tests use the numbers of one slab, and are built with checks.
        unsafe { Self::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }

    #[test]
    fn fields_do_not_run_into_each_other() {
        let mut p =
            Packet::new(FlowId(u32::MAX), HostId(Packet::MAX_HOSTS - 1), Bytes::new(65_535), 7, true, 15);
        p.mark();
        assert_eq!((p.to(), p.size(), p.kind()), (HostId(Packet::MAX_HOSTS - 1), Bytes::new(65_535), 15));
        assert!(p.control() && p.ecn_ce() && !p.trimmed());
    }

    #[test]
    fn a_trimmed_packet_is_a_header_among_control_packets_and_keeps_the_rest() {
        let mut p = Packet::new(FlowId(1), HostId(2), Bytes::new(4160), 3, false, 4);
        p.mark();
        (p.words, p.halves) = ([5, 6, 7], [8, 9]);
        let mut packets = Packets::for_test();
        let id = packets.insert(p);
        assert_eq!(packets.trim(id, Bytes::new(64)), Bytes::new(4096));
        assert_eq!(packets[id].size(), Bytes::new(64));
        let mut expected = p;
        p = packets.remove(id);
        assert!(p.control() && p.trimmed() && p.ecn_ce());
        assert_eq!((p.size(), p.to(), p.kind()), (Bytes::new(64), HostId(2), 4));
        (expected.size, expected.to_and_flags) = (p.size, p.to_and_flags);
        assert_eq!(p, expected);
    }

    #[test]
    fn the_slab_uses_the_last_freed_place_first() {
        let mut packets = Packets::for_test();
        let packet = |n| Packet::new(FlowId(n), HostId(0), Bytes::new(64), 0, false, 0);
        let ids: Vec<_> = (0..3).map(|n| packets.insert(packet(n))).collect();
        assert_eq!(packets.remove(ids[0]).flow, FlowId(0));
        assert_eq!(packets.remove(ids[2]).flow, FlowId(2));
        assert_eq!(packets.len(), 1);
        assert_eq!(packets.insert(packet(3)), ids[2]);
        assert_eq!(packets.insert(packet(4)), ids[0]);
        assert_eq!(packets[ids[1]].flow, FlowId(1));
        packets.remove(ids[2]);
        let mut flows: Vec<_> = packets.iter().map(|p| p.flow.0).collect();
        flows.sort_unstable();
        assert_eq!(flows, [1, 4]);
    }
}
