//! Arrivals of each message of persistent connections: of their receivers, a host knows the sums.

use super::Host;
use crate::observe::arrivals::Arrivals;
use crate::plan::connections::InConnection;
use farspan_transport::wire::Header;
use farspan_transport::{Received, ReceiverCounters, SenderCounters, Trimmed};
use farspan_units::{Bytes, FlowId, Time};

impl Host {
    /// The arrivals here.
    pub(crate) fn arrivals(&self) -> Arrivals<'_> {
        Arrivals { endpoint: &self.endpoint, plan: &self.plan, messages: &self.messages }
    }

    /// The counters of the live sender here of a flow that has not ended.
    pub(crate) fn sender_counters(&self, now: Time, flow: FlowId) -> SenderCounters {
        let counters = match self.plan.connections.position(flow) {
            None => self.endpoint.sender(flow).map(|view| view.counters),
            Some(InConnection { first, index }) => {
                self.endpoint.open_message(now, first, index).map(|message| message.counters)
            }
        };
        counters.unwrap_or_default()
    }

    /// The counters of the receiver of a flow that ends here.
    pub(crate) fn receiver_counters(&self, flow: FlowId) -> ReceiverCounters {
        if self.plan.connections.position(flow).is_some() {
            return self.messages.get(&flow).map(|arrived| arrived.counters).unwrap_or_default();
        }
        let from = self.plan.flows[flow.index()].flow.src;
        self.endpoint.receiver(from, flow).map(|view| view.counters).unwrap_or_default()
    }

    /// A further message of a connection begins.
    pub(super) fn append(&mut self, now: Time, flow: FlowId, InConnection { first, index }: InConnection) {
        let size = self.plan.flows[flow.index()].flow.size;
        let appended = self.endpoint.append(now, first, size);
        assert_eq!(appended, Ok(index), "flows of a connection begin in the plan's order");
    }

    /// Reads what has arrived of the flows that end here.
    pub(super) fn read_goodput(&mut self) {
        let mut meter = std::mem::take(&mut self.goodput);
        meter.read(self.arrivals());
        self.goodput = meter;
    }

    /// Samples flows.
    pub(super) fn sample_flows(&mut self, now: Time) {
        let mut sampler = std::mem::take(&mut self.flows);
        sampler.sample(now, self.arrivals());
        self.flows = sampler;
    }

    /// The header of a packet that this host sent has come back. Here its flow may have ended, so that the host counts.
    #[cold]
    pub(super) fn note_returned(&mut self, header: &Header) {
        if let Some(data) = header.data().filter(|_| !header.is_mark()) {
            let message = self.plan.connections.of_packet(data.flow, data.seq);
            *self.returned.entry(message.map_or(data.flow, |(flow, _)| flow)).or_default() += 1;
        }
    }

    /// A packet of a persistent connection has come, and with it so much for the first time.
    #[cold]
    pub(super) fn note_message(
        &mut self,
        header: &Header,
        (ecn_ce, trimmed): (bool, Trimmed),
        received: Option<&Received>,
    ) {
        let data = header.data();
        let of = data.and_then(|data| self.plan.connections.of_packet(data.flow, data.seq));
        let Some((flow, _)) = of else { return };
        let arrived = self.messages.entry(flow).or_default();
        if trimmed == Trimmed::No {
            arrived.counters.arrived_packets += 1;
            arrived.counters.marked_packets += u64::from(ecn_ce);
        } else {
            arrived.counters.trimmed_packets += 1;
        }
        arrived.goodput += received.map_or(Bytes::ZERO, |received| received.delivered);
    }
}
