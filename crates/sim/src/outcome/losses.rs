//! Losses of each flow: what was sent, less what has arrived and what is still under way.

use crate::record;
use farspan_fabric::Packet;
use farspan_transport::FlowOutcome;

/// Counts the losses of flows whose other counters are known; `under_way`: all packets in the network.
pub(crate) fn count<'a>(flows: &mut [FlowOutcome], under_way: impl Iterator<Item = &'a Packet>) {
    for flow in &mut *flows {
        let (sent, received) = (flow.sender.sent_packets, flow.receiver);
        let relayed = flow.relayed.unwrap_or_default();
        let at_proxy = relayed.arrived_packets + relayed.trimmed_packets;
        flow.dropped_packets =
            sent + relayed.sent_packets - (received.arrived_packets + received.trimmed_packets) - at_proxy;
        if stays(flow) {
            flow.lost_to_proxy = sent - at_proxy;
        }
    }
    let data = |packet: &&Packet| (!packet.control() || packet.trimmed()) && !record::is_mark(packet);
    for packet in under_way.filter(data) {
        let flow = &mut flows[packet.flow.index()];
        flow.dropped_packets -= 1;
        flow.lost_to_proxy -= u64::from(stays(flow) && packet.to() != flow.dst);
    }
}

/// Whether a flow goes through a proxy to its end.
const fn stays(flow: &FlowOutcome) -> bool {
    flow.relayed.is_some() && flow.went_direct.is_none()
}
