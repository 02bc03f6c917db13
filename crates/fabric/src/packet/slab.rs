//! The slab that holds packet records, and the side state of packets that carry any.
//!
//! A packet is looked up several times a hop, by a number that the slab itself gave out. The simulator, which keeps to that,
//! has the check left out, in `unsafe` code.
#![allow(unsafe_code, reason = "lookups by numbers that the slab gave out; a debug build checks them")]

use super::Packet;
use crate::telemetry;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::marker::PhantomData;
use farspan_units::{Bytes, FlowId, HopTelemetry, HostId, PortId, Telemetry, TelemetryKind, Time};

/// The index of a packet in the slab. Only a slab makes one, so that safe code cannot forge it.
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

    /// The index as a number below 2^32 - 1.
    #[must_use]
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The id with this number.
    ///
    /// # Safety
    /// `number` is the [`Self::number`] of an id, and the result is used with that id's slab only. In a [`Checked`] slab, any
    /// number does.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// State that only some packets carry, where ports share state, kept beside the slab so that a record stays small. It travels with the packet from slab to slab ([`Packets::take`], [`Packets::put`]) and is
/// removed with the packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Side {
    /// The link by which the packet reached the switch that holds it; kept where ports share state.
    pub ingress: Option<PortId>,
    /// Bytes that the packet occupies in the state that the ports of that switch share.
    pub charged: u16,
}

/// A packet outside a slab, with what it carries beside its record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MovedPacket {
    packet: Packet,
    side: Side,
    words: [u32; 2],
    telemetry: Option<Box<Telemetry>>,
}

/// How many packets were dropped, by the driver's [kind](Packet::kind).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dropped {
    /// Packets whose payload was not cut off, by kind.
    pub whole: [u64; Packet::KINDS],
    /// Packets that were trimmed before, by kind.
    pub trimmed: [u64; Packet::KINDS],
}

/// Says what is to be kept of a packet that is dropped then: two numbers of the driver's, or nothing.
pub type NoteDropped = fn(Time, &Packet) -> Option<[u64; 2]>;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Checked {}
    impl Sealed for super::Unchecked {}
}

/// How a slab looks packets up.
pub trait Access: sealed::Sealed {
    /// Whether it checks that a packet is there.
    const IS_CHECKED: bool;
}

/// Lookups are checked: where no packet is, they panic. The id of another slab may name another packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Checked {}

impl Access for Checked {
    const IS_CHECKED: bool = true;
}

/// Lookups are not checked, which [`Packets::unchecked`] asks a promise for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unchecked {}

impl Access for Unchecked {
    const IS_CHECKED: bool = false;
}

/// All packets of one simulation (or of one thread's part of it): a slab with a last-in, first-out free list, so that
/// the footprint is the peak occupancy and the records in use stay in cache.
///
/// The id of a packet that was taken out names the one that has its place now, if there is one.
#[derive(Debug)]
pub struct Packets<A = Checked> {
    slab: Vec<Packet>,
    free: PacketId,
    /// Side records by index, up to the highest at which a packet has carried anything; empty if none has.
    sides: Vec<Side>,
    /// The driver's words beside records, by index, up to the highest at which a packet had any; empty if none had.
    words: Vec<[u32; 2]>,
    /// Telemetry by index, up to the highest at which a packet has carried any; empty if none has.
    telemetry: Vec<Option<Box<Telemetry>>>,
    /// Whether any packet has carried anything beside its record and its words.
    is_laden: bool,
    dropped: Dropped,
    /// Makes the driver's notes of packets that are dropped, if it wants any.
    note: Option<NoteDropped>,
    notes: Vec<[u64; 2]>,
    access: PhantomData<A>,
}

impl Packets {
    /// No packets. Lookups are checked.
    ///
    /// # Panics
    /// Whatever is given a [`PacketId`] panics later where no packet has that number.
    #[must_use]
    pub const fn new() -> Self {
        Self::empty()
    }
}

impl Default for Packets {
    fn default() -> Self {
        Self::new()
    }
}

impl Packets<Unchecked> {
    /// No packets. Lookups cost nothing beside the access to memory.
    ///
    /// # Safety
    /// Whatever [`PacketId`] is handed to this slab, now or later, is one that it gave out, not another slab, and no record of
    /// another slab is assigned to a place of this one ([`IndexMut`](core::ops::IndexMut)). Only debug builds check that. The id of a
    /// packet that was taken out reaches no foreign memory.
    #[must_use]
    pub const unsafe fn unchecked() -> Self {
        Self::empty()
    }
}

impl<A> Packets<A> {
    const fn empty() -> Self {
        Self {
            slab: Vec::new(),
            free: PacketId::NONE,
            sides: Vec::new(),
            words: Vec::new(),
            telemetry: Vec::new(),
            is_laden: false,
            dropped: Dropped { whole: [0; Packet::KINDS], trimmed: [0; Packet::KINDS] },
            note: None,
            notes: Vec::new(),
            access: PhantomData,
        }
    }
}

impl<A: Access> Packets<A> {
    #[inline(always)]
    fn get(&self, id: PacketId) -> &Packet {
        if A::IS_CHECKED {
            let packet = &self.slab[id.0 as usize];
            assert!(!packet.is_free(), "packet {} was taken out", id.0);
            return packet;
        }
        // SAFETY: the slab gave `id` out (see `unchecked`), and never shrinks.
        unsafe { self.slab.get_unchecked(id.0 as usize) }
    }

    #[inline(always)]
    fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        let packet = self.place_mut(id);
        if A::IS_CHECKED {
            assert!(!packet.is_free(), "packet {} was taken out", id.0);
        }
        packet
    }

    /// The place of that number, whether a packet is there or not.
    #[inline(always)]
    fn place_mut(&mut self, id: PacketId) -> &mut Packet {
        if A::IS_CHECKED {
            return &mut self.slab[id.0 as usize];
        }
        // SAFETY: the slab gave `id` out (see `unchecked`) or keeps it as a free index, and never shrinks.
        unsafe { self.slab.get_unchecked_mut(id.0 as usize) }
    }

    /// The packet with this [number](PacketId::number) is about to be read: prefetches its record, where the
    /// machine can be asked to. A number that no packet has does no harm.
    #[inline(always)]
    pub fn fetch(&self, number: u32) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: nothing is read, whatever the address; the instruction is part of every x86-64.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.slab.as_ptr().wrapping_add(number as usize).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = number;
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
        let slot = self.place_mut(id);
        let next = core::mem::replace(slot, packet).next;
        self.free = next;
        id
    }

    /// Adds a free record. No packet goes this way, so that the one to be taken in need not lie in memory.
    #[cold]
    fn grow(&mut self) {
        let id = u32::try_from(self.slab.len())
            .ok()
            .filter(|&id| id != u32::MAX)
            .expect("fewer than 2^32 packets");
        if self.slab.len() == self.slab.capacity() {
            // Twice as much room, as a vector takes, could double what a packet costs.
            self.slab.reserve_exact(self.slab.len() / 8 + 64);
        }
        self.slab.push(Packet::new(FlowId(0), HostId(0), Bytes::ZERO, 0, false, 0));
        self.free = PacketId(id);
    }

    /// Takes a packet out; what it carries beside its record goes.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> Packet {
        if self.is_laden {
            self.unload(id);
        }
        let free = self.free;
        let slot = self.get_mut(id);
        let packet = *slot;
        slot.free();
        slot.next = free;
        self.free = id;
        packet
    }

    /// Takes a packet out that is dropped at `now`, or lost by a fault, and counts it.
    #[inline]
    pub fn discard(&mut self, now: Time, id: PacketId) -> Packet {
        let packet = self.remove(id);
        let Dropped { whole, trimmed } = &mut self.dropped;
        (if packet.trimmed() { trimmed } else { whole })[usize::from(packet.kind())] += 1;
        if let Some(note) = self.note {
            self.notes.extend(note(now, &packet));
        }
        packet
    }

    /// From now on `note` is asked of each packet that is dropped.
    pub fn note_dropped(&mut self, note: NoteDropped) {
        self.note = Some(note);
    }

    /// The notes since the last call.
    pub fn take_notes(&mut self) -> Vec<[u64; 2]> {
        core::mem::take(&mut self.notes)
    }

    /// The packets that were [dropped](Self::discard).
    #[must_use]
    pub const fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Takes a packet out with what it carries, for another slab.
    pub fn take(&mut self, id: PacketId) -> MovedPacket {
        let (side, words, telemetry) = (self.side(id), self.words(id), self.take_telemetry(id));
        MovedPacket { packet: self.remove(id), side, words, telemetry }
    }

    /// Takes in a packet that was in another slab.
    pub fn put(&mut self, MovedPacket { packet, side, words, telemetry }: MovedPacket) -> PacketId {
        let id = self.insert(packet);
        // Also zeros, where another packet may have left its own.
        if words != [0; 2] || !self.words.is_empty() {
            *self.words_mut(id) = words;
        }
        if side != Side::default() {
            *self.side_mut(id) = side;
        }
        if let Some(telemetry) = telemetry {
            self.set_telemetry(id, telemetry);
        }
        id
    }

    /// The state that a packet carries beside its record.
    #[must_use]
    pub fn side(&self, id: PacketId) -> Side {
        self.sides.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// The state that a packet carries beside its record, to be changed. The first packet that carries any
    /// makes room for all packets.
    #[inline]
    pub fn side_mut(&mut self, id: PacketId) -> &mut Side {
        if self.sides.len() <= id.0 as usize {
            self.make_sides();
        }
        &mut self.sides[id.0 as usize]
    }

    #[cold]
    fn make_sides(&mut self) {
        self.is_laden = true;
        self.sides.resize(self.slab.len(), Side::default());
    }

    /// The driver's words beside the record of a packet that was [given](Self::words_mut) any; of another, anything: they are not
    /// cleared when a packet is taken out, and cost those that have none nothing. Its record must say whether it has any.
    #[must_use]
    #[inline]
    pub fn words(&self, id: PacketId) -> [u32; 2] {
        self.words.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// The driver's words beside the record of a packet, to be given. They travel with it from slab to slab.
    #[inline]
    pub fn words_mut(&mut self, id: PacketId) -> &mut [u32; 2] {
        if self.words.len() <= id.0 as usize {
            self.make_room_beside();
        }
        &mut self.words[id.0 as usize]
    }

    #[cold]
    fn make_room_beside(&mut self) {
        self.words.resize(self.slab.capacity(), [0; 2]);
    }

    /// As [`Self::side_mut`], if there is room for it.
    #[inline]
    pub(crate) fn present_side_mut(&mut self, id: PacketId) -> Option<&mut Side> {
        self.sides.get_mut(id.0 as usize)
    }

    /// The last bit of a packet has left a port that writes telemetry.
    pub(crate) fn stamp(&mut self, id: PacketId, kind: TelemetryKind, hop: HopTelemetry) {
        telemetry::stamp(kind, self.telemetry_mut(id).get_or_insert_default(), hop);
    }

    /// A packet carries telemetry from now on: an ACK, that of the packet that it is for.
    pub fn set_telemetry(&mut self, id: PacketId, telemetry: Box<Telemetry>) {
        *self.telemetry_mut(id) = Some(telemetry);
    }

    /// Whether any packet has carried anything beside its record so far.
    #[must_use]
    #[inline(always)]
    pub const fn are_laden(&self) -> bool {
        self.is_laden
    }

    /// Takes its telemetry from a packet, if it carries any.
    #[inline]
    pub fn take_telemetry(&mut self, id: PacketId) -> Option<Box<Telemetry>> {
        self.telemetry.get_mut(id.0 as usize)?.take()
    }

    /// The place of a packet's telemetry. The first packet that carries any makes room for all packets.
    fn telemetry_mut(&mut self, id: PacketId) -> &mut Option<Box<Telemetry>> {
        if self.telemetry.len() <= id.0 as usize {
            self.is_laden = true;
            self.telemetry.resize(self.slab.len(), None);
        }
        &mut self.telemetry[id.0 as usize]
    }

    /// Drops all that a packet carries beside its record.
    #[inline(never)]
    fn unload(&mut self, id: PacketId) {
        if let Some(side) = self.sides.get_mut(id.0 as usize) {
            *side = Side::default();
        }
        drop(self.take_telemetry(id));
    }

    /// Cuts a packet's payload off: `header` bytes are left, which from here on go with the control packets. Marks and
    /// the driver's words stay. Returns how many bytes were cut.
    pub fn trim(&mut self, id: PacketId, header: Bytes, at_last_hop: bool) -> Bytes {
        let packet = self.get_mut(id);
        let cut = packet.size().saturating_sub(header);
        packet.trim(packet.size() - cut, at_last_hop);
        cut
    }

    /// Lets two packets change places, one of them the last of its queue and the other in none.
    pub(crate) fn swap(&mut self, a: PacketId, b: PacketId) {
        self.slab.swap(a.0 as usize, b.0 as usize);
        if !self.words.is_empty() {
            let (of_a, of_b) = (self.words(a), self.words(b));
            (*self.words_mut(a), *self.words_mut(b)) = (of_b, of_a);
        }
        if self.is_laden {
            let (of_a, of_b) = (self.side(a), self.side(b));
            (*self.side_mut(a), *self.side_mut(b)) = (of_b, of_a);
            let of_a = self.take_telemetry(a);
            let of_b = core::mem::replace(self.telemetry_mut(b), of_a);
            *self.telemetry_mut(a) = of_b;
        }
    }

    /// Bytes that all packets together occupy in the state that ports of switches share.
    #[must_use]
    pub fn charged(&self) -> Bytes {
        Bytes::new(self.sides.iter().map(|side| u64::from(side.charged)).sum())
    }

    /// All packets, in no particular order. Walks the slab: for the end of a run, not for its course.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.slab.iter().filter(|packet| !packet.is_free())
    }

    /// How many packets there are; walks the slab as [`Self::iter`] does.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

impl<A: Access> core::ops::Index<PacketId> for Packets<A> {
    type Output = Packet;
    #[inline]
    fn index(&self, id: PacketId) -> &Packet {
        self.get(id)
    }
}

impl<A: Access> core::ops::IndexMut<PacketId> for Packets<A> {
    #[inline]
    fn index_mut(&mut self, id: PacketId) -> &mut Packet {
        self.get_mut(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn unchecked() -> Packets<Unchecked> {
        // SAFETY: the tests hand back what they were given, and are built with checks.
        unsafe { Packets::unchecked() }
    }

    fn packet(n: u32) -> Packet {
        Packet::new(FlowId(n), HostId(0), Bytes::new(64), 0, false, 0)
    }

    #[test]
    fn what_is_dropped_counts_by_its_kind_and_what_is_taken_out_does_not() {
        let mut packets = unchecked();
        let mut insert =
            |kind| packets.insert(Packet::new(FlowId(0), HostId(0), Bytes::new(4160), 0, false, kind));
        let [whole, cut, taken] = [3, 15, 3].map(&mut insert);
        packets.trim(cut, Bytes::new(64), false);
        packets.note_dropped(|now, packet| (packet.kind() == 3).then(|| [now.as_ps(), 7]));
        assert_eq!(packets.discard(Time::from_ps(5), whole).kind(), 3);
        packets.discard(Time::from_ps(6), cut);
        assert_eq!((packets.take_notes(), packets.take_notes()), (vec![[5, 7]], Vec::new()));
        packets.remove(taken);
        let mut expected = Dropped::default();
        (expected.whole[3], expected.trimmed[15]) = (1, 1);
        assert_eq!((*packets.dropped(), packets.len()), (expected, 0));
    }

    #[test]
    fn the_slab_uses_the_last_freed_place_first() {
        let mut packets = unchecked();
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

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_checked_slab_knows_the_id_of_a_larger_one() {
        let (mut small, mut large) = (Packets::new(), Packets::new());
        small.insert(packet(0));
        let ids = [0, 1].map(|n| large.insert(packet(n)));
        assert_eq!(small[ids[0]].flow, FlowId(0), "the place is there");
        let _ = small[ids[1]];
    }

    #[test]
    #[should_panic(expected = "packet 1 was taken out")]
    fn a_checked_slab_takes_no_packet_out_twice() {
        let mut packets = Packets::new();
        let ids = [0, 1].map(|n| packets.insert(packet(n)));
        packets.remove(ids[1]);
        assert_eq!(packets[ids[0]].flow, FlowId(0));
        packets.remove(ids[1]);
    }

    #[test]
    fn telemetry_travels_with_its_packet_and_goes_when_it_does() {
        let (mut here, mut there) = (unchecked(), unchecked());
        let (plain, stamped) = (here.insert(packet(0)), here.insert(packet(1)));
        let hop = |n| HopTelemetry { sent: Bytes::new(n), ..HopTelemetry::default() };
        let carried = |packets: &mut Packets<Unchecked>, id| {
            packets.take_telemetry(id).map(|telemetry| telemetry.hops().to_vec())
        };
        here.stamp(stamped, TelemetryKind::Int, hop(1));
        here.stamp(stamped, TelemetryKind::Int, hop(2));
        here.swap(plain, stamped);
        let moved = there.put(here.take(plain));
        assert_eq!(carried(&mut here, plain), None, "it is no more where it was");
        assert_eq!(carried(&mut there, moved), Some(vec![hop(1), hop(2)]));
        assert_eq!(carried(&mut there, moved), None, "it is taken once");
        here.stamp(stamped, TelemetryKind::Int, hop(3));
        here.remove(stamped);
        let next = here.insert(packet(2));
        assert_eq!((next, carried(&mut here, next)), (stamped, None), "the next one at its place has none");
    }

    #[test]
    fn what_a_packet_carries_travels_with_it_and_goes_when_it_does() {
        let (mut here, mut there) = (unchecked(), unchecked());
        let (plain, laden) = (here.insert(packet(0)), here.insert(packet(1)));
        let side = Side { ingress: Some(PortId(7)), charged: 2 };
        *here.side_mut(laden) = side;
        *here.words_mut(laden) = [9, 8];
        assert_eq!((here.side(plain), here.side(laden)), (Side::default(), side));
        here.swap(plain, laden);
        assert_eq!((here[plain].flow, here.side(plain)), (FlowId(1), side), "it goes where the record goes");
        assert_eq!(here.words(plain), [9, 8]);
        let moved = there.put(here.take(plain));
        assert_eq!((there[moved].flow, there.side(moved), there.words(moved)), (FlowId(1), side, [9, 8]));
        let next = here.insert(packet(2));
        assert_eq!(
            (next, here.side(next)),
            (plain, Side::default()),
            "the next one at its place has nothing"
        );
        there.remove(moved);
        let zeros = here.insert(packet(4));
        *here.words_mut(zeros) = [0; 2];
        let at_its_place = there.put(here.take(zeros));
        assert_eq!((at_its_place, there.words(at_its_place)), (moved, [0; 2]));
        there.remove(at_its_place);
        let next = there.insert(packet(3));
        assert_eq!(there.side(next), Side::default());
    }
}
