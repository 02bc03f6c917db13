//! Losses. Of each flow: what was sent, less what has arrived and what is still under way. Of the network: by kinds of packets, as they
//! were counted where they were dropped. The two are held against each other at the end of a run.

use super::Totals;
use crate::plan::connections::Connections;
use crate::record;
use farspan_fabric::{Dropped, Packet};
use farspan_transport::FlowOutcome;

/// Counts the losses of flows whose other counters are known; `under_way`: all packets in the network.
pub(crate) fn count<'a>(
    flows: &mut [FlowOutcome],
    under_way: impl Iterator<Item = &'a Packet>,
    connections: &Connections,
) {
    for flow in &mut *flows {
        let (sent, received) = (flow.sender.sent_packets, flow.receiver);
        let relayed = flow.relayed.unwrap_or_default();
        let at_proxy = relayed.arrived_packets + relayed.trimmed_packets;
        flow.dropped_packets = sent + relayed.sent_packets
            - (received.arrived_packets + received.trimmed_packets)
            - at_proxy
            - flow.returned_packets;
        if stays(flow) {
            flow.lost_to_proxy = sent - at_proxy;
        }
    }
    for packet in under_way.filter(|packet| record::is_of_message(packet.kind())) {
        let message = connections.of_packet(packet.flow, record::seq(packet));
        let flow = &mut flows[message.map_or(packet.flow, |(flow, _)| flow).index()];
        flow.dropped_packets -= 1;
        flow.lost_to_proxy -= u64::from(stays(flow) && packet.to() != flow.dst);
    }
}

/// Whether a flow goes through a proxy to its end.
const fn stays(flow: &FlowOutcome) -> bool {
    flow.relayed.is_some() && flow.went_direct.is_none()
}

/// Dropped packets, summed over slabs: packets of messages that were trimmed before; and those that are of no message, trimmed or not.
pub(crate) fn by_kind<'a>(slabs: impl Iterator<Item = &'a Dropped>) -> [u64; 2] {
    let mut sums = [0; 2];
    for dropped in slabs {
        for ((kind, whole), trimmed) in (0..).zip(dropped.whole).zip(dropped.trimmed) {
            if record::is_of_message(kind) {
                sums[0] += trimmed;
            } else {
                sums[1] += whole + trimmed;
            }
        }
    }
    sums
}

/// Losses of flows follow from what was sent and has arrived; those of the network were counted where packets were dropped.
pub(crate) fn check(flows: &[FlowOutcome], totals: &Totals) {
    debug_assert_eq!(
        flows.iter().map(|flow| flow.dropped_packets).sum::<u64>(),
        totals.dropped.packets - totals.control_dropped,
        "each data packet that was dropped is one flow's: {totals:?}"
    );
}
