//! Goodput of each flow between two times: the receivers are read at both, and asked nothing in between.

use crate::engine::{EventClass, Key};
use crate::observe::arrivals::Arrivals;
use farspan_units::{Bytes, FlowId, NodeId, Time};
use std::ops::Range;

/// Reads the receivers of a host.
#[derive(Default)]
pub(crate) struct GoodputMeter {
    /// The flows that end here. After the first reading with what had come before it, after the second with what came in between.
    flows: Vec<(FlowId, Bytes)>,
    /// How many readings were taken.
    readings: u8,
}

impl GoodputMeter {
    pub(crate) fn new(flows: Vec<FlowId>) -> Self {
        Self { flows: flows.into_iter().map(|flow| (flow, Bytes::ZERO)).collect(), readings: 0 }
    }

    /// When a host reads: before all that arrives at the same instant.
    pub(crate) fn times(span: &Range<Time>, host: NodeId, kind: u8) -> [(NodeId, Key); 2] {
        [span.start, span.end].map(|at| (host, Key::new(at, EventClass::Probe, 0, kind)))
    }

    pub(crate) fn read(&mut self, arrivals: Arrivals<'_>) {
        for (flow, bytes) in &mut self.flows {
            *bytes = arrivals.goodput(*flow).unwrap_or_default() - *bytes;
        }
        self.readings += 1;
    }

    /// The payload of each flow that came in between. A run that ended before a reading was due ended with what that would have found.
    pub(crate) fn take(&mut self, arrivals: Arrivals<'_>) -> Vec<(FlowId, Bytes)> {
        if self.readings == 1 {
            self.read(arrivals);
        }
        std::mem::take(&mut self.flows)
    }
}
