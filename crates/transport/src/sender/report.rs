//! Reports of a sender: its view while it lives, and its counters at the end.

use super::{Sender, UNPACED};
use crate::congestion::Congestion as _;
use crate::flow::counters::SenderCounters;
use crate::recovery::{LossCounters, PacketState};
use farspan_units::{Bytes, Duration, FlowId, HostId, Rate, Time};

/// A live sender, for probes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderView {
    /// The flow.
    pub flow: FlowId,
    /// Congestion window, payload bytes.
    pub cwnd: Bytes,
    /// Pacing rate; `None`: as fast as the NIC.
    pub pacing_rate: Option<Rate>,
    /// The state that the control names, if it names any: see [`crate::congestion::Congestion::state`].
    pub state: Option<&'static str>,
    /// The number that the control judges congestion by, if it keeps one: see [`crate::congestion::Congestion::signal`].
    pub signal: Option<f64>,
    /// Smoothed round trip; `None` before the first ACK.
    pub srtt: Option<Duration>,
    /// Payload bytes in flight, parity included.
    pub in_flight: Bytes,
    /// Payload bytes acknowledged, parity included; packets of complete blocks are, whether they arrived or not.
    pub delivered: Bytes,
    /// The counters so far.
    pub counters: SenderCounters,
}

/// A message whose sender has the last ACK, or has [given up](crate::Endpoint::cancel).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderReport {
    /// The flow.
    pub flow: FlowId,
    /// Its index among the messages of its flow; 0 unless the flow is persistent.
    pub message: u32,
    /// Where it went.
    pub to: HostId,
    /// Its payload.
    pub size: Bytes,
    /// When the last ACK came, or it gave up.
    pub finished_at: Time,
    /// The final counters.
    pub counters: SenderCounters,
}

impl Sender {
    fn counters(&self) -> SenderCounters {
        let LossCounters {
            retransmitted_bytes,
            retransmitted_packets,
            timeouts,
            nacks,
            losses,
            probes,
            spurious,
            ..
        } = self.all_losses();
        let next = self.sent.next().max(self.before().map_or(0, |before| before.next));
        let (mut segments, mut parity_packets, mut parity_bytes) = (u64::from(next), 0, Bytes::ZERO);
        let (mut blocks, mut blocks_undecodable) = (0, 0);
        if let Some(outgoing) = self.blocks() {
            let layout = outgoing.layout();
            segments = layout.sources_before(next);
            (parity_packets, parity_bytes) = (u64::from(outgoing.parity_packets()), outgoing.parity_bytes());
            blocks = u64::from(next.div_ceil(u32::from(layout.shape().packets())));
            blocks_undecodable = u64::from(outgoing.undecodable());
        }
        let first_bytes = (self.route.path.mss * segments).min(self.size()) + parity_bytes;
        SenderCounters {
            sent_packets: segments + parity_packets + u64::from(retransmitted_packets),
            sent_bytes: first_bytes + retransmitted_bytes,
            parity_bytes,
            blocks,
            blocks_undecodable,
            retransmitted_packets: u64::from(retransmitted_packets),
            retransmitted_bytes,
            timeouts: u64::from(timeouts),
            nacks: u64::from(nacks),
            losses: u64::from(losses),
            probes: u64::from(probes),
            spurious: u64::from(spurious),
        }
    }

    /// Payload that may be in flight: the window, or what is and the allowance; what is, without a window.
    fn window(&self) -> Bytes {
        let decision = self.control.decision();
        match decision.allowance {
            Some(allowance) => decision.cwnd.min(self.in_flight + allowance),
            None if decision.cwnd == Bytes::MAX => self.in_flight,
            None => decision.cwnd,
        }
    }

    /// For probes.
    pub(crate) fn view(&self) -> SenderView {
        SenderView {
            flow: self.flow,
            cwnd: self.window(),
            pacing_rate: Some(self.pacing_rate).filter(|&rate| rate != UNPACED),
            state: self.control.state(),
            signal: self.control.signal(),
            srtt: self.srtt.get(),
            in_flight: self.in_flight,
            delivered: self.delivered,
            counters: self.counters(),
        }
    }

    /// For traces.
    pub(crate) fn packet_state(&self, seq: u32) -> PacketState {
        self.sent.state_of(seq)
    }

    /// For the end.
    pub(crate) fn report(&self, finished_at: Time) -> SenderReport {
        debug_assert!(
            self.in_flight.is_zero() || !self.is_finished(),
            "nothing is in flight when everything is acknowledged"
        );
        self.last_report(finished_at).unwrap_or_else(|| SenderReport {
            flow: self.flow,
            message: 0,
            to: self.receiver(),
            size: self.size(),
            finished_at,
            counters: self.counters(),
        })
    }
}
