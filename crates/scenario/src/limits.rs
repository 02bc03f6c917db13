//! Ranges outside which sums of times overflow, packet records are too narrow, or memory runs out.

use crate::error::{Problem, ValueError};
use crate::model::{ScenarioText, TopologyText, TransportText};
use crate::value::{Jitter, TriggerDelay};
use farspan_units::{Bytes, Duration, Rate};
use std::fmt::Display;

/// The longest delay: nothing on earth takes longer.
pub const LONGEST_DELAY: Duration = Duration::from_ms(10_000);
/// Jitter stands for how inexact hosts and switches are, not for paths.
const LARGEST_JITTER: Duration = Duration::from_ms(1);
/// The longest run. Send times travel in packets as 48 bits of picoseconds: 281 s.
pub const LONGEST_RUN: Duration = Duration::from_ms(281_000);
/// Between two samples: no link of a datacenter sends a packet in less.
const SHORTEST_INTERVAL: Duration = Duration::from_ns(1);
/// The slowest rate of a link.
pub const SLOWEST: Rate = Rate::from_bps(1_000_000);
/// The fastest rate of a link.
pub const FASTEST: Rate = Rate::from_gbps(100_000);
/// The largest buffer of a port.
pub const LARGEST_BUFFER: Bytes = Bytes::new(64 << 30);
/// The largest packet, headers included: packets carry their size in 16 bits.
pub const LARGEST_PACKET: Bytes = Bytes::new(u16::MAX as u64);
const MOST_HOSTS: u32 = 1 << 20;
const MOST_LINKS: u32 = 4096;
const MOST_PODS: u32 = 1024;
/// Of a tier: the leaves and spines of a site, the routers of a backbone.
pub(crate) const MOST_SWITCHES: u32 = 4096;

pub(crate) fn within<T: Copy + PartialOrd + Display>(
    path: &str,
    value: Option<T>,
    least: T,
    most: T,
) -> Result<(), ValueError> {
    let Some(value) = value else { return Ok(()) };
    if value >= least && value <= most {
        return Ok(());
    }
    let [value, least, most] = [value, least, most].map(|value| value.to_string());
    Err(ValueError::new(path, Problem::OutOfRange { value, least, most }))
}

/// Checks a scenario, every default spelled out, against the ranges that the simulator needs.
pub(crate) fn check(scenario: &ScenarioText) -> Result<(), ValueError> {
    topology(&scenario.topology)?;
    transport(&scenario.transport)?;
    let jitters = [("host.jitter", scenario.host.jitter), ("topology.jitter", scenario.topology.jitter)];
    for (path, jitter) in jitters {
        if let Some(Jitter::Value(jitter)) = jitter {
            within(path, Some(jitter), Duration::ZERO, LARGEST_JITTER)?;
        }
    }
    for (i, part) in scenario.workload.iter().enumerate() {
        within(&format!("workload[{i}].compute_time"), part.compute_time, Duration::ZERO, LONGEST_DELAY)?;
        if let Some(TriggerDelay::Value(delay)) = part.trigger_delay {
            within(&format!("workload[{i}].trigger_delay"), Some(delay), Duration::ZERO, LONGEST_DELAY)?;
        }
    }
    let intervals = [
        ("probes.rate_interval", scenario.probes.rate_interval),
        ("probes.queue_interval", scenario.probes.queue_interval),
    ];
    for (path, interval) in intervals {
        within(path, interval.and_then(|interval| interval.get()), SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    within("stop.time", scenario.stop.time, Duration::from_ps(1), LONGEST_RUN)
}

fn topology(topology: &TopologyText) -> Result<(), ValueError> {
    let wan = topology.wan.clone().unwrap_or_default();
    let delays = [
        ("topology.link_delay", topology.link_delay),
        ("topology.switch_delay", topology.switch_delay),
        ("topology.bottleneck_delay", topology.bottleneck_delay),
        ("topology.host_delays", topology.host_delays.iter().flatten().max().copied()),
        ("topology.wan.rtt", wan.rtt),
    ];
    for (path, delay) in delays {
        within(path, delay, Duration::ZERO, LONGEST_DELAY)?;
    }
    let rates = [
        ("topology.link_rate", topology.link_rate),
        ("topology.uplink_rate", topology.uplink_rate),
        ("topology.fabric_rate", topology.fabric_rate),
        ("topology.bottleneck_rate", topology.bottleneck_rate),
        ("topology.wan.rate", wan.rate),
    ];
    for (path, rate) in rates {
        within(path, rate, SLOWEST, FASTEST)?;
    }
    let one = Bytes::new(1);
    within("topology.buffer", topology.buffer, one, LARGEST_BUFFER)?;
    within("topology.core_border_buffer", topology.core_border_buffer, one, LARGEST_BUFFER)?;
    within("topology.wan.buffer", wan.buffer, one, LARGEST_BUFFER)?;
    within("topology.hosts", topology.hosts, 1, MOST_HOSTS)?;
    within("topology.pods", topology.pods, 1, MOST_PODS)?;
    within("topology.hosts_per_tor", topology.hosts_per_tor, 1, MOST_HOSTS)?;
    within("topology.leaves", topology.leaves, 1, MOST_SWITCHES)?;
    within("topology.spines", topology.spines, 1, MOST_SWITCHES)?;
    let backbone = topology.backbone.clone().unwrap_or_default();
    // First: how many routers there are follows from it.
    within("topology.backbone.links_per_spine", backbone.links_per_spine, 1, MOST_LINKS)?;
    within("topology.backbone.routers", backbone.routers, 1, MOST_SWITCHES)?;
    within("topology.core_border_links", topology.core_border_links, 1, MOST_LINKS)?;
    within("topology.wan.links", wan.links, 1, MOST_LINKS)
}

fn transport(transport: &TransportText) -> Result<(), ValueError> {
    let (payload, header) = (transport.payload.unwrap_or_default(), transport.header.unwrap_or_default());
    within("transport.header", Some(header), Bytes::new(1), LARGEST_PACKET)?;
    within("transport.payload", Some(payload), Bytes::new(1), LARGEST_PACKET.saturating_sub(header))
}
