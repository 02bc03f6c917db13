//! Estimated cost of a run, before it runs.

use crate::assemble::World;
use crate::memory::{OF_FLOW, OF_SAMPLE};
use farspan_fabric::{Link, Routes};
use farspan_scenario::Resolved;
use farspan_scenario::ScenarioError;
use farspan_scenario::model::Workload;
use farspan_units::Bytes;
use farspan_workload::Expected;
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

/// More flows than this are not drawn to be counted.
const MOST_DRAWN: f64 = 2e6;

impl Estimate {
    /// Estimates the cost of a scenario's run. Where the random arrivals are too many to be drawn for that, it follows from
    /// their expected number and size, and all of them take the longest path.
    ///
    /// # Errors
    /// If the world cannot be built.
    pub fn of(resolved: &Resolved) -> Result<Self, ScenarioError> {
        let parts = &resolved.scenario().workload;
        if !parts.iter().any(Workload::is_random) {
            return Ok(World::build(resolved)?.estimate());
        }
        let (Expected { flows, bytes }, links) = World::expected(resolved)?;
        if flows <= MOST_DRAWN {
            return Ok(World::build(resolved)?.estimate());
        }
        let mss = resolved.scenario().transport.payload;
        // Their last packets are not full.
        let packets = (bytes / mss.as_f64() + flows) as u64;
        Ok(Self {
            flows: flows as u64,
            payload_bytes: bytes as u64,
            packet_hops: packets.saturating_mul(2 * links as u64),
            memory_bytes: packets.saturating_mul(BYTES_A_PACKET).saturating_add(flows as u64 * OF_FLOW),
        })
    }
}

/// Bytes that a sender and its receiver keep for each packet of a flow.
const BYTES_A_PACKET: u64 = 10;

impl World {
    /// By link: the share of what is offered to it, were all flows to begin at once, that it carries until `stop.time`. Each flow takes
    /// the path of ECMP, also where it is sprayed.
    fn carried(&self, routes: &Routes) -> Vec<f64> {
        let spec = &self.spec;
        let mut offered = vec![0.0; spec.network.links.len()];
        for flow in &spec.flows {
            for link in &routes.path(&spec.network, flow.src, flow.dst).links {
                offered[link.index()] += flow.size.as_f64();
            }
        }
        let until = spec.stop.time.as_secs_f64();
        let most = |link: &Link| link.rate.bytes_per_sec_f64() * until;
        spec.network
            .links
            .iter()
            .zip(offered)
            .map(|(link, bytes)| (most(link) / bytes.max(1.0)).min(1.0))
            .collect()
    }

    /// Estimates the cost of running this world.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        let spec = &self.spec;
        let routes = Routes::new(&spec.network, spec.seed);
        let carried = self.carried(&routes);
        let (mut packets, mut packet_hops, mut payload) = (0, 0.0, Bytes::ZERO);
        for flow in &spec.flows {
            let count = flow.size.segments(spec.mss);
            let links = routes.path(&spec.network, flow.src, flow.dst).links;
            let share = links.iter().map(|link| carried[link.index()]).fold(1.0, f64::min);
            packets += count;
            packet_hops += 2.0 * count as f64 * share * links.len() as f64;
            payload += flow.size;
        }
        let flows = spec.flows.len() as u64;
        Estimate {
            flows,
            payload_bytes: payload.get(),
            packet_hops: packet_hops.round() as u64,
            memory_bytes: packets * BYTES_A_PACKET
                + flows * OF_FLOW
                + (self.samples() * OF_SAMPLE as f64) as u64,
        }
    }
}
