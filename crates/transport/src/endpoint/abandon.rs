//! Flows that the driver ends: only it knows how long a peer may be silent.

use super::Endpoint;
use crate::sender::SenderReport;
use farspan_units::{FlowId, Time};

impl Endpoint {
    /// Ends a live sender before its message is acknowledged in full, and gives its report; `None` without one. Its
    /// receiver is not told.
    pub fn cancel(&mut self, now: Time, flow: FlowId) -> Option<SenderReport> {
        let live = self.senders.remove(self.senders.key(flow)?)?;
        self.purge_timers();
        Some(live.sender.report(now))
    }

    /// Forgets a receiver, live or complete, and says whether there was one. A packet of the flow that comes later is the
    /// first of a message again; ACKs that wait for the NIC still leave.
    pub fn forget(&mut self, flow: FlowId) -> bool {
        let live = self.receivers.key(flow).and_then(|key| self.receivers.remove(key)).is_some();
        let complete = self.delivered.remove(flow);
        self.trimmed.remove(&flow);
        self.decoded.remove(&flow);
        self.purge_timers();
        live || complete
    }
}
