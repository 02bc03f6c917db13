//! Instruments of a host: they read what it does, and write nothing.

use crate::observe::port_tracer::PortTracer;
use crate::observe::trace::FlowTracer;
use farspan_trace::{FlowEvent, PacketEvent};

/// The traces of a host.
pub(crate) struct Instruments {
    /// Traces its NIC, if it is traced.
    pub(super) nic: Option<PortTracer>,
    /// Traces its flows, if any is traced.
    pub(super) flows: Option<FlowTracer>,
}

impl Instruments {
    /// `None` if there is nothing to trace.
    pub(crate) fn new(nic: Option<PortTracer>, flows: Option<FlowTracer>) -> Option<Box<Self>> {
        let any = nic.is_some() || flows.is_some();
        any.then(|| Box::new(Self { nic, flows }))
    }

    /// Takes the events of its flows, and those of its NIC.
    pub(super) fn take(&mut self) -> (Vec<FlowEvent>, Vec<PacketEvent>) {
        let flows = self.flows.as_mut().map(FlowTracer::take).unwrap_or_default();
        (flows, self.nic.as_mut().map(PortTracer::take).unwrap_or_default())
    }
}
