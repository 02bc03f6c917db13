//! The path of a flow, as its sender knows it before the first packet.

use farspan_units::{Bytes, Duration, Rate};

/// Whether the two hosts of a flow share a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Class {
    /// Both hosts in one datacenter.
    Intra,
    /// The hosts in different datacenters.
    Inter,
}

impl Class {
    /// `intra` or `inter`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intra => "intra",
            Self::Inter => "inter",
        }
    }
}

/// The properties of a path that a sender is given: computed from the topology, or configured; never learnt.
///
/// Which schemes use which of it is part of what a scheme is given, and is listed in the results.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Path {
    /// Intra or inter.
    pub class: Class,
    /// Round trip of a full packet and its ACK through an empty network, serialisation at every hop included.
    pub base_rtt: Duration,
    /// Rate of the sender's NIC.
    pub line_rate: Rate,
    /// `line_rate` x `base_rtt`.
    pub bdp: Bytes,
    /// Base round trip of the farthest pair inside one datacenter (Uno's epoch, Table 2).
    pub intra_base_rtt: Duration,
    /// Base round trip of the farthest pair of the network.
    pub largest_base_rtt: Duration,
    /// Links from sender to receiver.
    pub hops: u32,
    /// Largest wait in full buffers along the path: the sum over its ports of buffer / rate.
    pub max_queueing: Duration,
    /// The shortest queue at which a port of the path begins to mark; `None`: no port marks for its queue.
    pub k_min: Option<Bytes>,
    /// Whether full ports of the path trim packets; else they drop them.
    pub trims: bool,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Header of every data packet, with what the control's signals take in it. The base round trip and the BDP, which are the
    /// same for every scheme, are those of packets without.
    pub header: Bytes,
}

impl Path {
    /// A path of one link inside a datacenter, where nothing marks or trims and buffers hold a BDP; packets of 4,096 bytes and
    /// headers of 64. Its BDP follows from the two arguments; any field may be another: `Path { hops: 3, ..Path::new(rate, rtt) }`.
    #[must_use]
    pub fn new(line_rate: Rate, base_rtt: Duration) -> Self {
        Self {
            class: Class::Intra,
            base_rtt,
            line_rate,
            bdp: line_rate.bytes_in(base_rtt),
            intra_base_rtt: base_rtt,
            largest_base_rtt: base_rtt,
            hops: 1,
            max_queueing: base_rtt,
            k_min: None,
            trims: false,
            mss: Self::MSS,
            header: Self::HEADER,
        }
    }

    /// Payload of a full packet where nobody says otherwise.
    pub(crate) const MSS: Bytes = Bytes::new(4096);
    /// Header of a packet where nobody says otherwise.
    pub(crate) const HEADER: Bytes = Bytes::new(64);

    /// Size on the wire of a full packet.
    #[must_use]
    pub fn mtu(&self) -> Bytes {
        self.mss + self.header
    }

    /// How many full packets make a BDP, at least one.
    #[must_use]
    pub fn bdp_packets(&self) -> u32 {
        u32::try_from(self.bdp.get() / self.mtu().get().max(1)).unwrap_or(u32::MAX).max(1)
    }

    /// Time that a full packet occupies the sender's NIC.
    #[must_use]
    pub fn packet_time(&self) -> Duration {
        self.line_rate.transmission(self.mtu())
    }
}
