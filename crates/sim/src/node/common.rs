//! State that the nodes of one part share: the slab of packets, room to sort them in, and counts.

use crate::engine::{Arriving, Message, PartitionState};
use crate::node::datagram::Datagrams;
use crate::observe::delay::DelayHistogram;
use crate::record;
use farspan_fabric::switch::Buckets;
use farspan_fabric::{MovedPacket, PacketId, Unchecked};

#[allow(unsafe_code, reason = "a packet's number is its id")]
impl Message for PacketId {
    #[inline(always)]
    fn number(self) -> u32 {
        self.number()
    }

    #[inline(always)]
    unsafe fn from_number(number: u32) -> Self {
        // SAFETY: it is the number of a packet that is under way, and comes out of the engine in the part
        // whose slab gave it out: packets that cross are copied (see `PartitionState`).
        unsafe { Self::from_number(number) }
    }
}

/// The slab of a part, which is handed its own numbers alone.
pub(crate) type Packets = farspan_fabric::Packets<Unchecked>;

/// State that the nodes of one part share. It never influences the outcome.
pub(crate) struct Common {
    /// Room for the packets of the part.
    pub(crate) packets: Packets,
    /// Headers as bytes, of hosts that call the verbs alone.
    pub(crate) datagrams: Datagrams,
    /// Per-port buckets for the packets of a window.
    pub(crate) buckets: Buckets<Arriving<PacketId>>,
    /// How much longer data packets took than through an empty network.
    pub(crate) delays: DelayHistogram,
    /// Round trips of data packets and their ACKs: inside sites, and between them.
    pub(crate) rtts: [DelayHistogram; 2],
}

impl Common {
    #[allow(unsafe_code, reason = "a part uses its own numbers")]
    pub(crate) fn new() -> Self {
        // SAFETY: numbers come from `insert` and stay in the part: packets that cross are copied (see
        // `PartitionState`), and the engines hand a node what was sent to it in the same part.
        let mut packets = unsafe { Packets::unchecked() };
        packets.note_dropped(record::note);
        Self {
            packets,
            datagrams: Datagrams::default(),
            buckets: Buckets::default(),
            delays: DelayHistogram::default(),
            rtts: Default::default(),
        }
    }
}

impl PartitionState<PacketId> for Common {
    type Moved = MovedPacket;

    fn pack(&mut self, id: PacketId) -> MovedPacket {
        self.packets.take(id)
    }

    fn unpack(&mut self, moved: MovedPacket) -> PacketId {
        self.packets.put(moved)
    }

    #[inline(always)]
    fn fetch(&self, number: u32) {
        self.packets.fetch(number);
    }
}
