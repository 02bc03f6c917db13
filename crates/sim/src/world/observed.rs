//! Gathers samples, traces and readings from the nodes of a run.

use super::World;
use crate::node::NetworkNode;
use crate::outcome::{Sample, Traced};
use crate::spec::Spec;
use farspan_units::{Bytes, FlowId, Time};
use std::collections::BTreeSet;

impl World {
    /// The events of traced flows, by flow, end and time, and of traced ports, by time and port.
    pub(super) fn trace(&mut self, asked: &[FlowId], end: Time) -> Traced {
        let of: BTreeSet<_> = asked.iter().map(|flow| self.plan.connections.first(*flow)).collect();
        let mut traced = Traced { of: of.into_iter().collect(), ..Traced::default() };
        for node in 0..self.map.locations.len() as u32 {
            match self.engine.node_mut(&self.map, node) {
                NetworkNode::Host(host) => {
                    let (flows, packets) = host.take_trace();
                    traced.flows.extend(flows);
                    traced.packets.extend(packets);
                }
                NetworkNode::Switch(switch) => traced.packets.extend(switch.take_trace()),
            }
        }
        // What a NIC has taken leaves later; what leaves at the end has not left.
        traced.packets.retain(|event| event.at < end);
        traced.flows.sort_by_key(|event| (event.flow, event.end));
        traced.packets.sort_by_key(|event| (event.at, event.port));
        traced
    }

    /// The payload of each flow that arrived between the two times that are asked for; `None` if the second was not `reached`.
    pub(super) fn goodput(&mut self, spec: &Spec, reached: Time) -> Option<Vec<Bytes>> {
        let span = spec.probes.goodput.as_ref().filter(|span| span.end <= reached)?;
        debug_assert!(span.start < span.end, "what is counted begins before it ends");
        let mut all = vec![Bytes::ZERO; self.plan.flows.len()];
        for node in 0..self.map.locations.len() as u32 {
            if let NetworkNode::Host(host) = self.engine.node_mut(&self.map, node) {
                host.take_goodput().into_iter().for_each(|(flow, bytes)| all[flow.index()] = bytes);
            }
        }
        Some(all)
    }

    /// All samples up to the end, by time, then probe, then id.
    pub(super) fn samples(&mut self, end: Time) -> Vec<Sample> {
        let mut all = Vec::new();
        for node in 0..self.map.locations.len() as u32 {
            all.extend(match self.engine.node_mut(&self.map, node) {
                NetworkNode::Host(host) => host.take_samples(),
                NetworkNode::Switch(switch) => switch.take_samples(),
            });
        }
        all.retain(|sample| sample.at <= end);
        all.sort_by_key(|sample| (sample.at, sample.probe, sample.id));
        all
    }
}
