//! The arrivals at a host, as probes read them.

use crate::plan::Plan;
use crate::plan::connections::InConnection;
use farspan_transport::{Endpoint, ReceiverCounters, SenderReport, SenderView};
use farspan_units::{Bytes, FlowId, Time};
use std::collections::BTreeMap;

/// The arrivals of a message.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arrived {
    pub(crate) counters: ReceiverCounters,
    pub(crate) goodput: Bytes,
}

/// The arrivals at a host, by flow.
#[derive(Clone, Copy)]
pub(crate) struct Arrivals<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) plan: &'a Plan,
    pub(crate) messages: &'a BTreeMap<FlowId, Arrived>,
}

impl Arrivals<'_> {
    /// The live sender here of a flow that has not ended, and is the oldest such of its connection: the others wait.
    pub(crate) fn sender(&self, now: Time, flow: FlowId) -> Option<SenderView> {
        let Some(InConnection { first, index }) = self.plan.connections.position(flow) else {
            return self.endpoint.sender(flow);
        };
        let is_oldest = |message: SenderReport| message.message == index;
        let oldest = self.endpoint.open_messages(now, first).next();
        oldest.is_some_and(is_oldest).then(|| self.endpoint.sender(first)).flatten()
    }

    /// The payload of a flow that has come for the first time; `None`: no packet of it has come.
    pub(crate) fn goodput(&self, flow: FlowId) -> Option<Bytes> {
        if self.plan.connections.position(flow).is_some() {
            return self.messages.get(&flow).map(|arrived| arrived.goodput);
        }
        let from = self.plan.flows[flow.index()].flow.src;
        self.endpoint.receiver(from, flow).map(|receiver| receiver.goodput)
    }
}
