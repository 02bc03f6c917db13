//! The counters of the two ends of a flow, and of its proxy. Each list of an end stands here once: whatever stores or writes counters takes them as
//! a row of numbers, so that a new one needs a line here, its source, and a column where it is to be seen.

use farspan_units::Bytes;

/// A number of a row.
trait Number {
    fn number(self) -> u64;
    fn from_number(number: u64) -> Self;
}

impl Number for u64 {
    fn number(self) -> u64 {
        self
    }
    fn from_number(number: u64) -> Self {
        number
    }
}

impl Number for Bytes {
    fn number(self) -> u64 {
        self.get()
    }
    fn from_number(number: u64) -> Self {
        Self::new(number)
    }
}

macro_rules! counters {
    (
        $(#[$doc:meta])* $name:ident {
            $($(#[$field_doc:meta])* $field:ident: $kind:ty,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $kind,)*
        }

        impl $name {
            /// How many counters there are.
            pub const COUNT: usize = [$(stringify!($field)),*].len();

            /// The counters as numbers, in order of definition: those that are seldom more than zero come last.
            #[must_use]
            pub fn to_row(self) -> [u64; Self::COUNT] {
                [$(self.$field.number()),*]
            }

            /// The counters from their numbers, the inverse of `to_row`.
            #[must_use]
            pub fn from_row([$($field),*]: [u64; Self::COUNT]) -> Self {
                Self { $($field: Number::from_number($field)),* }
            }
        }
    };
}

counters! {
    /// The counters of a sender.
    SenderCounters {
        /// Data packets sent, retransmissions included.
        sent_packets: u64,
        /// Payload sent, parity and retransmissions included.
        sent_bytes: Bytes,
        /// Parity in `sent_bytes`, retransmissions not included.
        parity_bytes: Bytes,
        /// Data packets sent again.
        retransmitted_packets: u64,
        /// Payload, and parity, sent again.
        retransmitted_bytes: Bytes,
        /// Time-outs that ran out: of packets, each time one of a packet did, under `per_packet_rto`; of the flow, however
        /// many packets are lost with it, under the other policies.
        timeouts: u64,
        /// NACKs received.
        nacks: u64,
        /// Packets found lost from the ACKs of later ones, or of the probe that took their place.
        losses: u64,
        /// Tail-loss probes sent: packets that left for want of ACKs.
        probes: u64,
        /// Packets that arrived after they were marked lost.
        spurious: u64,
        /// Coded blocks of which a packet was sent.
        blocks: u64,
        /// Blocks that lost more packets than they have parity before they were complete, as far as the sender knows:
        /// NACKs, time-outs and the detection of losses say what is lost.
        blocks_undecodable: u64,
    }
}

counters! {
    /// The counters of a receiver.
    ReceiverCounters {
        /// Packets that arrived whole, duplicates included.
        arrived_packets: u64,
        /// Packets in `arrived_packets` with a congestion mark.
        marked_packets: u64,
        /// Packets that arrived trimmed: sent = arrived + trimmed + dropped + still under way.
        trimmed_packets: u64,
        /// Coded blocks that were decoded to recover a segment that has not arrived.
        blocks_repaired: u64,
    }
}

/// The counters of one flow at the host that relays it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct RelayCounters {
    /// Data packets that came whole.
    pub arrived_packets: u64,
    /// Packets in `arrived_packets` with a congestion mark.
    pub marked_packets: u64,
    /// Data packets that came trimmed.
    pub trimmed_packets: u64,
    /// Data packets that were sent on, retransmissions included.
    pub sent_packets: u64,
    /// Their payload.
    pub sent_bytes: Bytes,
    /// NACKs of its own.
    pub nacks: u64,
    /// Transmissions that NACKs of gaps name.
    pub gap_packets: u64,
    /// Those in `gap_packets` that the mark at the end of a burst showed.
    pub tail_packets: u64,
    /// Those in `gap_packets` that came after all.
    pub false_packets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_come_back_from_their_row() {
        let row = core::array::from_fn(|place| place as u64 + 1);
        let sender = SenderCounters::from_row(row);
        assert_eq!(
            (sender.sent_packets, sender.sent_bytes, sender.blocks_undecodable),
            (1, Bytes::new(2), SenderCounters::COUNT as u64)
        );
        assert_eq!(sender.to_row(), row);
        assert_eq!(SenderCounters::default().to_row(), [0; SenderCounters::COUNT]);
        assert_eq!(ReceiverCounters::from_row([1, 2, 3, 4]).to_row(), [1, 2, 3, 4]);
    }
}
