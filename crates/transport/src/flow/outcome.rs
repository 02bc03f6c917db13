//! The outcome of a flow, from its sender to the table of results.

use crate::flow::counters::{ReceiverCounters, RelayCounters, SenderCounters};
use crate::path::Class;
use farspan_units::{Bytes, Duration, HostId, Time};

/// The outcome of a flow.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct FlowOutcome {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Intra or inter.
    pub class: Class,
    /// Payload.
    pub size: Bytes,
    /// When the sender was handed the message; if it never was, the earliest time at which it could have been.
    pub start: Time,
    /// Whether it started before the run ended.
    pub started: bool,
    /// When the sender had the last ACK.
    pub finish: Option<Time>,
    /// When the receiver had the last byte.
    pub delivered: Option<Time>,
    /// Completion time in an empty network.
    pub ideal_fct: Duration,
    /// The sender's counters.
    pub sender: SenderCounters,
    /// The receiver's counters.
    pub receiver: ReceiverCounters,
    /// The counters of its proxy; `None`: it went through none.
    pub relayed: Option<RelayCounters>,
    /// Data packets that were dropped between the sender and its proxy; of a flow that went straight to its receiver, 0.
    pub lost_to_proxy: u64,
    /// When its proxy had been silent for too long, and it went straight to its receiver.
    pub went_direct: Option<Time>,
    /// Data packets that were dropped on the way, trimmed before or not; those still under way at the end are not. Sent =
    /// arrived + trimmed + returned + dropped + under way, at its ends and at its proxy.
    pub dropped_packets: u64,
    /// Data packets whose headers came back, for want of room, to the host that sent them.
    pub returned_packets: u64,
}

impl FlowOutcome {
    /// A flow of which nothing has happened.
    #[must_use]
    pub fn new(src: HostId, dst: HostId, class: Class, size: Bytes, ideal_fct: Duration) -> Self {
        Self {
            src,
            dst,
            class,
            size,
            start: Time::ZERO,
            started: false,
            finish: None,
            delivered: None,
            ideal_fct,
            sender: SenderCounters::default(),
            receiver: ReceiverCounters::default(),
            relayed: None,
            lost_to_proxy: 0,
            went_direct: None,
            dropped_packets: 0,
            returned_packets: 0,
        }
    }

    /// Flow completion time at the sender: last ACK minus start.
    #[must_use]
    pub fn fct(&self) -> Option<Duration> {
        self.finish.map(|t| t.since(self.start))
    }

    /// `duration` over [`FlowOutcome::ideal_fct`].
    #[must_use]
    pub fn slowdown(&self, duration: Duration) -> f64 {
        duration / self.ideal_fct
    }
}
