//! ACKs and NACKs that wait for the NIC.

use crate::balance::Entropy;
use crate::message::Transmit;
use crate::wire::{self, Header};
use farspan_units::{Bytes, HostId, Time};

/// An ACK or a NACK to put on the wire: a control packet of the size of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Where it goes.
    pub to: HostId,
    /// Its path, as switches hash it.
    pub entropy: Entropy,
    says: Says,
    /// What it says. A NACK says nothing of marks; that of a block keeps its bit map in the place of the send time.
    ack: wire::Ack,
}

/// What a reply is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Says {
    Ack,
    Nack,
    BlockNack,
}

impl Reply {
    /// Its header.
    #[must_use]
    #[inline]
    pub const fn header(&self) -> Header {
        let wire::Ack { flow, seq, cumulative, sent_at, entropy, .. } = self.ack;
        match self.says {
            Says::Ack => Header::Ack(self.ack),
            Says::Nack => Header::Nack(wire::Nack { flow, seq, cumulative, sent_at, entropy }),
            Says::BlockNack => {
                let missing = sent_at.as_ps() as u32;
                Header::BlockNack(wire::BlockNack { flow, first: seq, missing, cumulative })
            }
        }
    }

    /// An ACK.
    #[inline]
    pub(super) const fn acknowledgement(to: HostId, entropy: Entropy, ack: wire::Ack) -> Self {
        Self { to, entropy, says: Says::Ack, ack }
    }

    /// The NACK.
    pub(super) const fn refusal(to: HostId, entropy: Entropy, nack: &wire::Nack) -> Self {
        let wire::Nack { flow, seq, cumulative, sent_at, entropy: echo } = *nack;
        let (ecn_ce, block_complete) = (false, false);
        let ack = wire::Ack { flow, seq, cumulative, sent_at, entropy: echo, ecn_ce, block_complete };
        Self { to, entropy, says: Says::Nack, ack }
    }

    /// The NACK of a block.
    pub(super) const fn request(to: HostId, entropy: Entropy, nack: &wire::BlockNack) -> Self {
        let wire::BlockNack { flow, first: seq, missing, cumulative } = *nack;
        let (sent_at, echo, ecn_ce, block_complete) = (Time::from_ps(missing as u64), 0, false, false);
        let ack = wire::Ack { flow, seq, cumulative, sent_at, entropy: echo, ecn_ce, block_complete };
        Self { to, entropy, says: Says::BlockNack, ack }
    }

    /// `size`: of a header.
    pub(super) const fn into_transmit(self, size: Bytes) -> Transmit {
        let (header, Self { to, entropy, .. }) = (self.header(), self);
        Transmit { to, header, size, entropy, control: true, payload: None, retransmission: false }
    }
}
