//! What a sender tells of itself.

use farspan_units::{Bytes, Duration, FlowId, HostId, Time};

/// What a sender has counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderCounters {
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Payload sent, parity and retransmissions included.
    pub sent_bytes: Bytes,
    /// Of it, parity, retransmissions not included.
    pub parity_bytes: Bytes,
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Payload, and parity, sent again.
    pub retransmitted_bytes: Bytes,
    /// Packets whose time-out ran out, each time it did.
    pub timeouts: u64,
    /// NACKs received.
    pub nacks: u64,
    /// Packets found lost from the ACKs of later ones.
    pub losses: u64,
    /// Packets that arrived after they were held for lost.
    pub spurious: u64,
    /// Coded blocks of which a packet was sent.
    pub blocks: u64,
    /// Of them, lost more packets than they have parity before they were complete, as far as the sender knows: NACKs,
    /// time-outs and the detection of losses say what is lost.
    pub blocks_undecodable: u64,
}

/// A live sender, for probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderView {
    /// The flow.
    pub flow: FlowId,
    /// Congestion window, payload bytes.
    pub cwnd: Bytes,
    /// Smoothed round trip; `None` before the first ACK.
    pub srtt: Option<Duration>,
    /// Payload bytes in flight, parity included.
    pub in_flight: Bytes,
    /// Payload bytes acknowledged, parity included; packets of complete blocks are, whether they arrived or not.
    pub delivered: Bytes,
    /// What was counted so far.
    pub counters: SenderCounters,
}

/// A message whose sender has the last ACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderReport {
    /// The flow.
    pub flow: FlowId,
    /// Where it went.
    pub to: HostId,
    /// Its payload.
    pub size: Bytes,
    /// When the last ACK came.
    pub finished_at: Time,
    /// What was counted.
    pub counters: SenderCounters,
}
