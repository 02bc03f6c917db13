//! Collectives: what an iteration takes in an ideal network.

use super::EmptyNetwork;
use super::traffic::Draw;
use farspan_fabric::{Network, Routes};
use farspan_scenario::ValueError;
use farspan_scenario::model::Traffic;
use farspan_scenario::value::CollectiveAlgorithm;
use farspan_units::{Bytes, Duration, HostId, Rate};
use farspan_workload::{Capacity, Move, Sites};
use std::collections::BTreeMap;

/// A collective of the workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CollectivePlan {
    /// Its part of the workload.
    pub part: u32,
    /// How many ranks all groups have together.
    pub ranks: u32,
    /// How many groups there are.
    pub groups: u32,
    /// In what steps it goes.
    pub algorithm: CollectiveAlgorithm,
    /// How often it runs.
    pub iterations: u32,
    /// The messages of one iteration; flows come in this order, iteration after iteration.
    pub moves: Vec<Move>,
    /// Duration of an iteration in an ideal network, the same for every scheme.
    ///
    /// Each message takes its one-way time through the empty network, and its rank's NIC, its receiver's and the links
    /// between the sites are shared evenly by the messages of a stage, of all groups: what the others put on the busiest of
    /// the three comes on top. Messages wait for each other as in the run. Neither parity, pacing nor acknowledgements count,
    /// and the switches inside a site have room for all.
    pub ideal: Duration,
}

/// The collectives of a scenario.
pub(super) fn plans(draw: &Draw<'_>, empty: &EmptyNetwork) -> Result<Vec<CollectivePlan>, ValueError> {
    let EmptyNetwork { network, routes, sites, capacity, .. } = empty;
    let mut plans = Vec::new();
    for (number, part) in (0..).zip(&draw.scenario.workload) {
        let Traffic::Collective(written) = &part.traffic else { continue };
        let collective = draw.collective(number, written)?;
        let moves = collective.round(sites).expect("its flows have been laid out");
        let shares = Shares { network, routes, sites, capacity };
        plans.push(CollectivePlan {
            part: number,
            algorithm: written.algorithm,
            ranks: collective.groups.iter().map(Vec::len).sum::<usize>() as u32,
            groups: collective.groups.len() as u32,
            iterations: collective.iterations,
            ideal: shares.longest_chain(&moves),
            moves,
        });
    }
    Ok(plans)
}

/// The network whose capacity the messages of a stage share.
struct Shares<'a> {
    network: &'a Network,
    routes: &'a Routes,
    sites: &'a Sites,
    capacity: &'a Capacity,
}

/// A shared resource of a stage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Resource {
    Out(HostId),
    In(HostId),
    /// All links from one site to another, by their index in the capacity.
    Wan(usize),
}

impl Shares<'_> {
    /// When the last message has been delivered.
    fn longest_chain(&self, moves: &[Move]) -> Duration {
        let mut offered: BTreeMap<(u32, Resource), Bytes> = BTreeMap::new();
        for each in moves {
            for (resource, share) in self.resources(each) {
                let wire = self.wire(each.size);
                let wire = if share == 1.0 { wire } else { wire.mul_f64(share) };
                *offered.entry((each.stage, resource)).or_default() += wire;
            }
        }
        let mut ends: Vec<Duration> = Vec::with_capacity(moves.len());
        // What a rank sends in a stage waits for one list.
        let mut ready: BTreeMap<(u32, u32, HostId), Duration> = BTreeMap::new();
        for each in moves {
            let ready = *ready
                .entry((each.group, each.stage, each.src))
                .or_insert_with(|| each.after.iter().map(|id| ends[*id as usize]).max().unwrap_or_default());
            let all = |resource| offered[&(each.stage, resource)];
            ends.push(ready + self.message(each, all));
        }
        ends.into_iter().max().unwrap_or_default()
    }

    /// The resources that a message uses, and the fraction of the message that crosses each.
    fn resources(&self, each: &Move) -> impl Iterator<Item = (Resource, f64)> {
        let pair = self.sites.site_of(each.src) * self.sites.count() + self.sites.site_of(each.dst);
        let wan = self.capacity.wan.iter().map(move |links| links.shares[pair]).enumerate();
        let wan = wan.filter(|(_, share)| *share > 0.0).map(|(n, share)| (Resource::Wan(n), share));
        [(Resource::Out(each.src), 1.0), (Resource::In(each.dst), 1.0)].into_iter().chain(wan)
    }

    /// One message, from its start to its last byte at the receiver.
    fn message(&self, each: &Move, all: impl Fn(Resource) -> Bytes) -> Duration {
        let path = self.routes.path(self.network, each.src, each.dst);
        let (payload, header) = (self.capacity.payload, self.capacity.header);
        let packets = each.size.segments(payload).max(1);
        let last = each.size - payload * (packets - 1) + header;
        let alone = path.message(self.network, packets, payload + header, last);
        let rates = path.links.iter().map(|port| self.network.links[port.index()].rate);
        let slowest = rates.min_by_key(|rate| rate.as_bps()).unwrap_or(self.capacity.host);
        let own = slowest.transmission(self.wire(each.size));
        let shared = |resource| self.rate(resource).transmission(all(resource)).saturating_sub(own);
        alone + self.resources(each).map(|(resource, _)| shared(resource)).max().unwrap_or_default()
    }

    fn rate(&self, resource: Resource) -> Rate {
        match resource {
            Resource::Wan(n) => self.capacity.wan[n].rate,
            // The switch's port to a host has the rate of the host's own.
            Resource::Out(host) | Resource::In(host) => {
                self.network.links[self.network.first_port[host.index()] as usize].rate
            }
        }
    }

    /// Payload with the headers of its packets.
    fn wire(&self, size: Bytes) -> Bytes {
        size + self.capacity.header * size.segments(self.capacity.payload).max(1)
    }
}
