//! Packet records and the slab that holds them.
//!
//! A record is 32 bytes: the fields that switches read, and a few words that belong to the driver (the
//! simulator packs a header into them; a driver with real bytes keeps those in a table of its own, and the place
//! in such a word: a port that trims may exchange the numbers of two packets). Queues link records by number, so
//! that moving a packet copies nothing.
//!
//! State that only some packets carry is kept beside the records, in [`Side`].

mod slab;

pub use slab::{Access, Checked, Dropped, MovedPacket, NoteDropped, PacketId, Packets, Side, Unchecked};

use farspan_units::{Bytes, FlowId, HostId};

/// A packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// The next packet of the queue (or of the free list) that holds this one.
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
    pub(crate) const CONTROL: u32 = 1 << 24;
    const ECN_CE: u32 = 1 << 25;
    /// Flags of which a packet has any whose payload was cut off: which ones says where, and whether its header returns.
    pub(crate) const TRIMMED: u32 = Self::CUT | Self::AT_LAST_HOP;
    const CUT: u32 = 1 << 26;
    /// Beside [`Self::CUT`]; alone it stands for a header that returns.
    const AT_LAST_HOP: u32 = 1 << 27;
    /// Marks a record that holds no packet: a trimmed packet is a control packet, too.
    const FREE: u32 = Self::CUT;
    const KIND_SHIFT: u32 = 28;
    /// Number of kinds that a driver can tell apart.
    pub const KINDS: usize = 16;

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
        self.has_any(Self::TRIMMED)
    }
    /// Whether it is a header that returns to the host that sent the packet.
    #[must_use]
    #[inline]
    pub const fn returned(&self) -> bool {
        self.to_and_flags & Self::TRIMMED == Self::AT_LAST_HOP
    }
    /// Whether it has one of these flags.
    #[inline]
    pub(crate) const fn has_any(&self, flags: u32) -> bool {
        self.to_and_flags & flags != 0
    }
    /// Whether the port that cut it off leads to a host: every path to there ends with it.
    #[must_use]
    #[inline]
    pub const fn trimmed_at_last_hop(&self) -> bool {
        self.to_and_flags & Self::TRIMMED == Self::TRIMMED
    }
    /// The record holds no packet any more.
    #[inline]
    const fn free(&mut self) {
        self.to_and_flags = Self::FREE;
    }
    const fn is_free(&self) -> bool {
        self.to_and_flags == Self::FREE
    }
    fn trim(&mut self, header: Bytes, at_last_hop: bool) {
        self.to_and_flags |= Self::CUT | Self::CONTROL | if at_last_hop { Self::AT_LAST_HOP } else { 0 };
        self.size = header.get() as u16;
    }
    /// A header turns round: it goes to the host that sent the packet, as a control packet that is not turned round again.
    pub(crate) fn turn_round(&mut self, sender: HostId) {
        debug_assert!(self.trimmed() && !self.returned(), "a header turns round once");
        let kept = self.to_and_flags & !(Self::MAX_HOSTS - 1) & !Self::TRIMMED;
        self.to_and_flags = kept | Self::AT_LAST_HOP | sender.0;
    }
    /// The driver's kind.
    #[must_use]
    #[inline]
    pub const fn kind(&self) -> u8 {
        (self.to_and_flags >> Self::KIND_SHIFT) as u8
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
        let mut packets = Packets::new();
        let id = packets.insert(p);
        assert_eq!(packets.trim(id, Bytes::new(64), true), Bytes::new(4096));
        assert_eq!(packets[id].size(), Bytes::new(64));
        let mut expected = p;
        p = packets.remove(id);
        assert!(p.control() && p.trimmed() && p.trimmed_at_last_hop() && p.ecn_ce());
        assert_eq!((p.size(), p.to(), p.kind()), (Bytes::new(64), HostId(2), 4));
        (expected.size, expected.to_and_flags) = (p.size, p.to_and_flags);
        assert_eq!(p, expected);
    }

    #[test]
    fn a_header_that_turns_round_goes_to_the_sender_and_keeps_the_rest() {
        for at_last_hop in [false, true] {
            let mut p = Packet::new(FlowId(1), HostId(2), Bytes::new(4160), 3, false, 4);
            p.mark();
            p.trim(Bytes::new(64), at_last_hop);
            assert!(!p.returned());
            let before = p;
            p.turn_round(HostId(Packet::MAX_HOSTS - 1));
            assert_eq!((p.to(), p.size(), p.kind()), (HostId(Packet::MAX_HOSTS - 1), Bytes::new(64), 4));
            assert!(p.returned() && p.trimmed() && p.control() && p.ecn_ce());
            assert!(!p.trimmed_at_last_hop() && !p.is_free(), "of where it was cut it no longer tells");
            p.to_and_flags = before.to_and_flags;
            assert_eq!(p, before);
        }
    }
}
