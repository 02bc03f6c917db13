//! Estimated cost of a run, before it runs.

use crate::build::World;
use farspan_fabric::Routes;
use farspan_units::Bytes;
use serde::Serialize;

/// Estimated cost of a run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[non_exhaustive]
pub struct Estimate {
    /// Flows.
    pub flows: u64,
    /// Their payload.
    pub payload_bytes: u64,
    /// Packets that finish transmission on a link: data out and ACKs back, without retransmissions. An upper bound for
    /// runs that end before their last arrivals.
    pub packet_hops: u64,
    /// Memory for the flows' tables and the samples, beside the network itself.
    pub memory_bytes: u64,
}

/// Bytes that a sender and its receiver keep for each packet of a flow.
const BYTES_A_PACKET: u64 = 10;
/// Bytes that a flow keeps beside them.
const BYTES_A_FLOW: u64 = 1024;

impl World {
    /// Estimates the cost of running this world.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let spec = &self.spec;
        let routes = Routes::new(&spec.network, spec.seed);
        let (mut packets, mut packet_hops, mut payload) = (0, 0, Bytes::ZERO);
        for flow in &spec.flows {
            let count = flow.size.segments(spec.mss);
            packets += count;
            packet_hops += 2 * count * routes.path(&spec.network, flow.src, flow.dst).links.len() as u64;
            payload += flow.size;
        }
        let flows = spec.flows.len() as u64;
        Estimate {
            flows,
            payload_bytes: payload.get(),
            packet_hops,
            memory_bytes: packets * BYTES_A_PACKET + flows * BYTES_A_FLOW,
        }
    }
}
