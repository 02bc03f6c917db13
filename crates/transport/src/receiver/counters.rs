//! A receiver's counters, and its replies.

use crate::balance::Entropy;
use crate::flow::counters::ReceiverCounters;
use crate::wire::{self, Echo, Fate, Feedback};
use farspan_units::{Bytes, FlowId, HostId, Purpose, Random, Time};

/// A message that has arrived in full.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverReport {
    /// Its number at its sender.
    pub flow: FlowId,
    /// Its index among the messages of its flow; 0 unless the flow is persistent. Counters are then those since the message before was
    /// here in full.
    pub message: u32,
    /// Its sender, though it may have come through a proxy.
    pub from: HostId,
    /// When the last byte came.
    pub delivered_at: Time,
    /// Its payload.
    pub bytes: Bytes,
    /// Packets that arrived whole until then, duplicates included.
    pub arrived_packets: u64,
    /// Packets in `arrived_packets` with a congestion mark.
    pub marked_packets: u64,
}

/// A receiver, live or finished, for probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverView {
    /// The flow.
    pub flow: FlowId,
    /// Payload that arrived for the first time; of a coded block min(payload of its packets that arrived, its own).
    pub goodput: Bytes,
    /// Counters so far.
    pub counters: ReceiverCounters,
    /// Whether the whole message has arrived; never of a persistent flow.
    pub is_complete: bool,
}

/// A receiver's counters, and all that stays of a finished one: 20 bytes, so that a table of them stays small.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C, packed(4))]
pub(crate) struct Counters {
    goodput: Bytes,
    /// How many packets the message has.
    packets: u32,
    arrived: u32,
    marked: u32,
}

impl Counters {
    /// Nothing of a message of so many packets.
    pub(super) const fn new(packets: u32) -> Self {
        Self { goodput: Bytes::ZERO, packets, arrived: 0, marked: 0 }
    }

    /// Payload that is here.
    pub(crate) const fn goodput(&self) -> Bytes {
        self.goodput
    }

    /// How many packets the message has.
    #[inline]
    pub(super) const fn packets(&self) -> u32 {
        self.packets
    }

    /// Payload of so many bytes is here for the first time.
    #[inline]
    pub(super) fn deliver(&mut self, bytes: u64) {
        let goodput = self.goodput;
        self.goodput = goodput + Bytes::new(bytes);
    }

    /// An arrival.
    #[inline]
    pub(super) fn count(&mut self, ecn_ce: bool) {
        self.arrived = self.arrived.saturating_add(1);
        if ecn_ce {
            self.marked = self.marked.saturating_add(1);
        }
    }

    /// A packet of a message that has arrived in full: acknowledged, if it belongs to the message.
    pub(crate) fn on_duplicate(&mut self, data: &wire::Data, ecn_ce: bool) -> Option<Feedback> {
        self.owns(data).then(|| {
            self.count(ecn_ce);
            arrived(data, (self.packets, 0), ecn_ce, false)
        })
    }

    /// A packet of a message that has arrived in full came trimmed: gives a NACK, if it belongs to the message.
    pub(crate) fn on_trimmed_duplicate(
        &self,
        data: &wire::Data,
        at_last_hop: bool,
        ecn_ce: bool,
    ) -> Option<Feedback> {
        self.owns(data).then(|| trimmed(data, at_last_hop, ecn_ce, self.packets))
    }

    pub(super) const fn owns(&self, data: &wire::Data) -> bool {
        data.packets == self.packets && data.seq < self.packets
    }

    /// The entropy of the ACK of the latest arrival: ACKs of a flow go round over 256 of them, whatever the scheme.
    #[inline]
    pub(crate) fn ack_entropy(&self, start: u8) -> Entropy {
        Entropy::from(start.wrapping_add(self.arrived as u8))
    }

    #[cfg(test)]
    pub(crate) fn of_packets(packets: u32) -> Self {
        Self { packets, ..Self::default() }
    }

    /// For probes; `trimmed`: how many packets came trimmed; `repaired`: how many blocks were decoded.
    pub(crate) fn view(&self, flow: FlowId, is_complete: bool, trimmed: u32, repaired: u64) -> ReceiverView {
        ReceiverView {
            flow,
            goodput: self.goodput,
            counters: ReceiverCounters {
                arrived_packets: u64::from(self.arrived),
                marked_packets: u64::from(self.marked),
                trimmed_packets: u64::from(trimmed),
                blocks_repaired: repaired,
            },
            is_complete,
        }
    }

    /// For the end.
    pub(crate) fn report(&self, flow: FlowId, from: HostId, delivered_at: Time) -> ReceiverReport {
        let Self { goodput, arrived, marked, .. } = *self;
        let (arrived_packets, marked_packets) = (u64::from(arrived), u64::from(marked));
        ReceiverReport {
            flow,
            message: 0,
            from,
            delivered_at,
            bytes: goodput,
            arrived_packets,
            marked_packets,
        }
    }
}

/// Where a flow's ACKs start in the round of entropies.
pub(crate) fn ack_entropy_start(seed: u64, flow: FlowId) -> u8 {
    Random::new(seed, Purpose::Control, u64::from(flow.0)).at(0) as u8
}

const fn echo(data: &wire::Data) -> Echo {
    Echo { sent_at: data.sent_at, entropy: data.entropy }
}

/// The ACK of a packet, with its cumulative number and its map.
#[inline]
pub(super) const fn arrived(
    data: &wire::Data,
    (cumulative, map): (u32, u64),
    ecn_ce: bool,
    block_complete: bool,
) -> Feedback {
    let fate = Fate::Arrived { echo: echo(data), ecn_ce, block_complete, map };
    Feedback { flow: data.flow, seq: data.seq, cumulative, fate }
}

/// The NACK of a packet that came without its payload.
pub(super) const fn trimmed(data: &wire::Data, at_last_hop: bool, ecn_ce: bool, cumulative: u32) -> Feedback {
    let fate = Fate::Trimmed { echo: echo(data), at_last_hop, ecn_ce };
    Feedback { flow: data.flow, seq: data.seq, cumulative, fate }
}
