//! The counts of an engine, as the outcome of a run.

use super::Engine;
use farspan_metrics::{EmulatedPackets, PacketSums};
use farspan_sim::{Amount, LinkCounts, Outcome, PortOutcome, Rtts, Totals, Traced};
use farspan_units::{Bytes, NodeId, PortId, Time};

impl Engine {
    /// The fates of the packets so far.
    #[must_use]
    pub fn fates(&mut self) -> EmulatedPackets {
        let links = self.links(self.now);
        self.fates_of(&links)
    }

    fn fates_of(&self, links: &[LinkCounts]) -> EmulatedPackets {
        EmulatedPackets {
            dropped: links.iter().map(|link| link.counters.dropped).sum(),
            lost: links.iter().map(|link| link.lost.packets).sum(),
            under_way: self.at_hosts + self.packets.len() as u64,
            ..self.fates
        }
    }

    /// Packets that ports marked and that speak no ECN.
    #[must_use]
    pub const fn unmarked(&self) -> u64 {
        self.unmarked
    }

    /// The counts of each link's transmitter, by id.
    fn links(&mut self, end: Time) -> Vec<LinkCounts> {
        let mut links = Vec::with_capacity(self.network.links.len());
        for node in (0..self.network.nodes.len() as u32).map(NodeId) {
            match self.switch_of(node) {
                None => links.push(self.nics[node.index()].counts(end)),
                Some(place) => {
                    let switch = &self.switches[place];
                    let ports = self.network.ports_of(node).map(PortId);
                    links.extend(ports.map(|port| LinkCounts::of_port(switch, port, end)));
                }
            }
        }
        links
    }

    /// The outcome of a run that ends at `end`, by which all that was due has been done. It has no flows: those belong to the
    /// programs.
    #[must_use]
    pub fn outcome(&mut self, end: Time) -> Outcome {
        let links = self.links(end);
        let ports: Vec<PortOutcome> = (0..)
            .map(PortId)
            .zip(&links)
            .map(|(port, counts)| counts.outcome(&self.network, port, end))
            .collect();
        let fates = self.fates_of(&links);
        let sums = self.sums_of(fates);
        let count = |packets| Amount { packets, bytes: Bytes::ZERO };
        let totals = Totals {
            packet_hops: ports.iter().map(|port| port.sent_packets).sum(),
            sent: count(sums.sent),
            delivered: Amount { packets: sums.delivered, bytes: self.delivered.bytes },
            trimmed_delivered: count(sums.trimmed),
            dropped: count(sums.dropped),
            in_network: count(fates.under_way),
            headers_dropped: sums.headers_dropped,
            trimmed: ports.iter().map(|port| port.trimmed_packets).sum(),
            ecn_marked: self.delivered.marked,
            ..Totals::default()
        };
        Outcome {
            flows: Vec::new(),
            samples: self.sampler.take(),
            ports,
            trace: Traced::default(),
            totals,
            packet_delay_p99: None,
            rtt: Rtts::default(),
            end,
            proxies: Vec::new(),
            deadlock: Vec::new(),
            goodput: None,
            interrupted: false,
            digest: 0,
            packet_digest: self.delivered.hash,
        }
    }

    /// The sums of packets as the document of a run has them.
    #[must_use]
    pub fn sums(&mut self) -> PacketSums {
        let fates = self.fates();
        self.sums_of(fates)
    }

    fn sums_of(&self, fates: EmulatedPackets) -> PacketSums {
        let at_ports: u64 = self.packets.dropped().trimmed.iter().sum();
        let mut sums = PacketSums::of(&[], self.headers_ended + at_ports, 0, None);
        sums.sent = fates.sent();
        sums.delivered = fates.delivered - self.delivered.trimmed;
        sums.dropped = fates.ended();
        sums.trimmed = self.delivered.trimmed;
        sums.ecn_marked = self.delivered.marked;
        sums
    }
}
