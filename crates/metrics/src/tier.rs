//! Losses and queues by tier: where in the network packets are dropped, and where they wait.

use crate::PortRecord;
use farspan_units::{Bytes, Duration};
use serde::Serialize;
use std::collections::BTreeMap;

/// The tier that joins sites.
const WAN: &str = "wan";
/// The tier of the hosts' NICs, by which everything enters the network.
pub(crate) const NICS: &str = "host_up";

/// All ports of a run together, those inside sites, and those of each tier.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PortSums {
    /// All ports.
    pub all: Option<TierSums>,
    /// Ports inside sites: all but those of the WAN.
    pub sites: Option<TierSums>,
    /// Tiers that have ports, as `ports.parquet` names them.
    pub tiers: BTreeMap<&'static str, TierSums>,
}

/// Some ports of a run together. Packets are of any kind.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct TierSums {
    /// How many ports.
    pub ports: u64,
    /// Packets that came to a port, once for each: sent on or dropped. Those that waited at the end had no fate yet.
    pub arrived: u64,
    /// Bytes sent, headers included.
    pub sent_bytes: u64,
    /// Packets dropped: refused by a full buffer, or lost by a fault of the link.
    pub dropped: u64,
    /// Those in `dropped` that a fault lost.
    pub lost: u64,
    /// `dropped` over `arrived`: how likely one port loses a packet. `None` if none arrived.
    pub loss_rate: Option<f64>,
    /// `dropped` over all packets that hosts sent: the part of the traffic that is lost here. `None` if they sent none.
    pub loss_of_sent: Option<f64>,
    /// Data packets marked.
    pub marked: u64,
    /// Data packets trimmed.
    pub trimmed: u64,
    /// Mean over the ports of the time-weighted mean data queue.
    pub mean_queue_bytes: f64,
    /// Largest data queue of any of the ports.
    pub max_queue_bytes: u64,
    /// Mean time that a byte spends at a port, by Little's law: the mean queue over the rate at which bytes leave. The transmission
    /// of its packet is in it; control packets that go first count with bytes, and with no wait. `None` if nothing was sent.
    pub mean_delay_us: Option<f64>,
}

impl PortSums {
    /// The sums over `ports` of a run that took so long.
    #[must_use]
    pub fn of(ports: &[PortRecord], run: Duration) -> Self {
        let sent: u64 = ports.iter().filter(|port| port.tier == NICS).map(sent_packets).sum();
        let sums = |keep: &dyn Fn(&PortRecord) -> bool| {
            let mut kept = ports.iter().filter(|port| keep(port)).peekable();
            kept.peek().is_some().then_some(())?;
            Some(TierSums::of(kept, sent, run))
        };
        let tiers: std::collections::BTreeSet<_> = ports.iter().map(|port| port.tier).collect();
        let tier = |tier| Some((tier, sums(&|port| port.tier == tier)?));
        Self {
            all: sums(&|_| true),
            sites: sums(&|port| port.tier != WAN),
            tiers: tiers.into_iter().filter_map(tier).collect(),
        }
    }
}

/// Packets that a port has sent. What a fault loses is sent, and counted so, but for a packet whose last bit has not left when the
/// run ends.
fn sent_packets(port: &PortRecord) -> u64 {
    port.packets.max(port.losses)
}

impl TierSums {
    fn of<'a>(ports: impl Iterator<Item = &'a PortRecord>, sent: u64, run: Duration) -> Self {
        let mut sums = Self::default();
        let mut bytes = Bytes::ZERO;
        let mut queues = 0.0;
        for port in ports {
            sums.ports += 1;
            sums.arrived += sent_packets(port) + (port.drops - port.losses);
            sums.dropped += port.drops;
            sums.lost += port.losses;
            sums.marked += port.marks;
            sums.trimmed += port.trims;
            sums.max_queue_bytes = sums.max_queue_bytes.max(port.max_queue.get());
            bytes += port.bytes;
            queues += port.mean_queue;
        }
        let share = |of: u64| (of > 0).then(|| sums.dropped as f64 / of as f64);
        (sums.loss_rate, sums.loss_of_sent) = (share(sums.arrived), share(sent));
        sums.sent_bytes = bytes.get();
        sums.mean_queue_bytes = queues / sums.ports as f64;
        sums.mean_delay_us = (!bytes.is_zero()).then(|| queues * run.as_us_f64() / bytes.as_f64());
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::testing;

    fn port(tier: &'static str, packets: u64, drops: u64, losses: u64) -> PortRecord {
        PortRecord { tier, packets, drops, losses, ..testing::port("a->b#0") }
    }

    /// Four NICs' worth of packets, of which the fabric loses some to full buffers and the WAN some to a fault.
    fn sums() -> PortSums {
        let ports = [
            port("host_up", 1000, 0, 0),
            port("fabric", 600, 6, 0),
            port("fabric", 384, 10, 0),
            port("wan", 500, 5, 5),
        ];
        PortSums::of(&ports, Duration::from_us(40))
    }

    #[test]
    fn packets_that_were_refused_arrived_too_and_lost_ones_only_once() {
        let fabric = sums().tiers["fabric"];
        assert_eq!((fabric.ports, fabric.arrived, fabric.dropped, fabric.lost), (2, 1000, 16, 0));
        let wan = sums().tiers["wan"];
        assert_eq!((wan.arrived, wan.dropped, wan.lost), (500, 5, 5));
        // A link that loses all, cut off while it sends its 518th packet.
        let black_hole = PortSums::of(&[port("wan", 517, 518, 518)], Duration::from_us(40)).tiers["wan"];
        assert_eq!((black_hole.arrived, black_hole.loss_rate), (518, Some(1.0)));
        let nic = PortSums::of(&[port("host_up", 517, 518, 518)], Duration::from_us(40)).tiers["host_up"];
        assert_eq!(nic.loss_of_sent, Some(1.0));
    }

    #[test]
    fn a_rate_is_of_what_came_to_the_tier_or_of_what_hosts_sent() {
        let sums = sums();
        let rates = |tier: &TierSums| (tier.loss_rate, tier.loss_of_sent);
        assert_eq!(rates(&sums.tiers["fabric"]), (Some(0.016), Some(0.016)));
        assert_eq!(rates(&sums.tiers["wan"]), (Some(0.01), Some(0.005)));
        assert_eq!(rates(&sums.tiers["host_up"]), (Some(0.0), Some(0.0)));
    }

    #[test]
    fn what_lies_inside_sites_and_the_wan_are_all() {
        let sums = sums();
        let (all, sites, wan) = (sums.all.unwrap(), sums.sites.unwrap(), sums.tiers["wan"]);
        assert_eq!((all.ports, sites.ports, wan.ports), (4, 3, 1));
        assert_eq!((all.arrived, all.dropped), (sites.arrived + wan.arrived, sites.dropped + wan.dropped));
        assert_eq!((all.marked, all.trimmed), (16, 20));
        assert_eq!(sums.tiers.values().map(|tier| tier.dropped).sum::<u64>(), all.dropped);
    }

    #[test]
    fn a_byte_waits_by_littles_law() {
        // Each port sends 10 B in 40 us and has half a byte queued: a byte stays for a twentieth of the time.
        let all = sums().all.unwrap();
        assert_eq!((all.mean_queue_bytes, all.max_queue_bytes, all.sent_bytes), (0.5, 6, 40));
        assert_eq!(all.mean_delay_us, Some(2.0));
        let idle =
            PortRecord { bytes: Bytes::ZERO, packets: 0, drops: 0, losses: 0, ..testing::port("a->b#0") };
        let idle = PortSums::of(&[idle], Duration::ZERO).all.unwrap();
        assert_eq!((idle.mean_delay_us, idle.loss_rate, idle.loss_of_sent), (None, None, None));
        assert_eq!(PortSums::of(&[], Duration::ZERO), PortSums::default());
    }
}
