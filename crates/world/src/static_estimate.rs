//! Packet-hops and memory of a run, counted from its scenario before it runs.

use crate::assemble::World;
use crate::memory::{OF_FLOW, OF_SAMPLE};
use farspan_fabric::{Link, Routes};
use farspan_scenario::Resolved;
use farspan_scenario::ScenarioError;
use farspan_scenario::model::Workload;
use farspan_sim::Flow;
use farspan_transport::ack::AckPolicy;
use farspan_transport::coding::Layout;
use farspan_transport::{Class, Scheme};
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
    /// Packets that finish transmission on a link: data and parity out, ACKs and pulls back, without retransmissions. An upper
    /// bound for runs that end before their last arrivals.
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

/// The packets of a scheme's flows in an empty network.
struct Packets<'a> {
    scheme: &'a Scheme,
    mss: Bytes,
    /// Data packets that share an ACK, at most.
    held: u64,
}

impl<'a> Packets<'a> {
    fn new(scheme: &'a Scheme, mss: Bytes) -> Self {
        let acks = scheme.profile.acks.build();
        let held = acks.holds().segments(mss).max(u64::from(acks.holds_packets()) + 1);
        Self { scheme, mss, held }
    }

    /// Packets of data and parity of a message, and packets of control that answer them.
    fn of(&self, size: Bytes) -> (u64, u64) {
        let layout = self.scheme.coding.shape().and_then(|shape| Layout::of_message(size, self.mss, shape));
        let data = layout.map_or_else(|| size.segments(self.mss), |layout| layout.packets().into());
        let pulls = if self.scheme.profile.pulls.is_some() { data } else { 0 };
        (data, data.div_ceil(self.held) + pulls)
    }
}

impl World {
    /// Whether flows bring parity, which counts as offered.
    #[must_use]
    pub fn has_parity(&self) -> bool {
        let coded = |class| self.spec.scheme(class).coding.shape().is_some();
        let codes = [coded(Class::Intra), coded(Class::Inter)];
        codes != [false; 2]
            && self.workload.flows.iter().any(|flow| codes[usize::from(self.class(flow) == Class::Inter)])
    }

    /// The share that each link carries until `stop.time` of its offered bytes, were all flows that begin before then to begin at once. Each flow takes the path of ECMP, also where it is sprayed.
    fn carried(&self, routes: &Routes, bytes: impl Fn(&Flow) -> f64) -> Vec<f64> {
        let spec = &self.spec;
        let mut offered = vec![0.0; spec.network.links.len()];
        for flow in spec.flows.iter().filter(|flow| flow.start < spec.stop.time) {
            for link in &routes.path(&spec.network, flow.src, flow.dst).links {
                offered[link.index()] += bytes(flow);
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
        let [intra, inter] = [&spec.intra, &spec.inter].map(|scheme| Packets::new(scheme, spec.mss));
        let of = |flow: &Flow| {
            let is_intra = spec.network.site(flow.src) == spec.network.site(flow.dst);
            if is_intra { &intra } else { &inter }.of(flow.size)
        };
        let parity = |flow: &Flow| of(flow).0.saturating_sub(flow.size.segments(spec.mss));
        let carried = self.carried(&routes, |flow| (flow.size + spec.mss * parity(flow)).as_f64());
        let (mut packets, mut packet_hops, mut payload) = (0, 0.0, Bytes::ZERO);
        for flow in &spec.flows {
            let (data, control) = of(flow);
            packets += data;
            payload += flow.size;
            if flow.start < spec.stop.time {
                let links = routes.path(&spec.network, flow.src, flow.dst).links;
                let share = links.iter().map(|link| carried[link.index()]).fold(1.0, f64::min);
                packet_hops += (data + control) as f64 * share * links.len() as f64;
            }
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
