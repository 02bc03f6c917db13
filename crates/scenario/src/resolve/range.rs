//! Values of a resolved scenario against their ranges.

use crate::error::ValueError;
use crate::limits::{
    FASTEST, LARGEST_BUFFER, LARGEST_PACKET, LONGEST_DELAY, LONGEST_RUN, MOST_SWITCHES, SLOWEST, each_within,
    within,
};
use crate::model::{
    Backbone, Between, Borders, FatTree, LeafSpine, Scenario, Shape, Sides, Topology, Traffic, Transport, Wan,
};
use crate::value::{Jitter, TriggerDelay};
use farspan_units::{Bytes, Duration, Rate};

/// Jitter stands for how inexact hosts and switches are, not for paths.
const LARGEST_JITTER: Duration = Duration::from_ms(1);
/// Between two samples: no link of a datacenter sends a packet in less.
const SHORTEST_INTERVAL: Duration = Duration::from_ns(1);
const MOST_HOSTS: u32 = 1 << 20;
const MOST_LINKS: u32 = 4096;
const MOST_PODS: u32 = 1024;

/// Checks a scenario against the ranges that the simulator needs.
pub(super) fn check(scenario: &Scenario) -> Result<(), ValueError> {
    topology(&scenario.topology)?;
    transport(&scenario.transport)?;
    for (path, jitter) in
        [("host.jitter", scenario.host.jitter), ("topology.jitter", scenario.topology.jitter)]
    {
        if let Jitter::Value(jitter) = jitter {
            within(path, jitter, Duration::ZERO, LARGEST_JITTER)?;
        }
    }
    for (i, part) in scenario.workload.iter().enumerate() {
        if let Traffic::Collective(collective) = &part.traffic {
            let path = format!("workload[{i}].compute_time");
            within(&path, collective.compute_time, Duration::ZERO, LONGEST_DELAY)?;
        }
        if let Some(TriggerDelay::Value(delay)) = part.trigger_delay() {
            within(&format!("workload[{i}].trigger_delay"), delay, Duration::ZERO, LONGEST_DELAY)?;
        }
    }
    let probes = &scenario.probes;
    for (path, interval) in
        [("probes.rate_interval", probes.rate_interval), ("probes.queue_interval", probes.queue_interval)]
    {
        each_within(path, interval.get(), SHORTEST_INTERVAL, LONGEST_RUN)?;
    }
    within("stop.time", scenario.stop.time, Duration::from_ps(1), LONGEST_RUN)
}

fn topology(topology: &Topology) -> Result<(), ValueError> {
    delay("link_delay", topology.link_delay)?;
    delay("switch_delay", topology.switch_delay)?;
    rate("link_rate", topology.link_rate)?;
    buffer("buffer", topology.buffer)?;
    match &topology.shape {
        Shape::FatTree(site) => fat_tree(site),
        Shape::DualFatTree { site, borders: of_borders, wan: links } => {
            fat_tree(site)?;
            borders(of_borders)?;
            wan(links)
        }
        Shape::LeafSpine(site) => {
            leaf_spine(site)?;
            count("spines", site.spines, MOST_SWITCHES)
        }
        Shape::DualLeafSpine { site, between, wan: links } => {
            leaf_spine(site)?;
            match between {
                Between::Borders(of_borders) => {
                    within("topology.spines", site.spines, 0, MOST_SWITCHES)?;
                    borders(of_borders)?;
                }
                Between::Backbone(Backbone { routers, links_per_spine }) => {
                    count("spines", site.spines, MOST_SWITCHES)?;
                    // First: how many routers there are follows from it.
                    count("backbone.links_per_spine", *links_per_spine, MOST_LINKS)?;
                    count("backbone.routers", *routers, MOST_SWITCHES)?;
                }
            }
            wan(links)
        }
        Shape::Dumbbell { hosts, bottleneck_rate, sides } => {
            count("hosts", *hosts, MOST_HOSTS)?;
            rate("bottleneck_rate", *bottleneck_rate)?;
            match sides {
                Sides::OneSite { bottleneck_delay } => delay("bottleneck_delay", *bottleneck_delay),
                Sides::TwoSites { rtt, buffer: holds } => {
                    delay("wan.rtt", *rtt)?;
                    buffer("wan.buffer", *holds)
                }
            }
        }
        Shape::ParkingLot { bottlenecks: _, hosts, bottleneck_rate, bottleneck_delay } => {
            count("hosts", *hosts, MOST_HOSTS)?;
            rate("bottleneck_rate", *bottleneck_rate)?;
            delay("bottleneck_delay", *bottleneck_delay)
        }
        Shape::Star { hosts, host_delays } => {
            count("hosts", *hosts, MOST_HOSTS)?;
            host_delays.iter().flatten().max().map_or(Ok(()), |longest| delay("host_delays", *longest))
        }
        Shape::FromFile { .. } => Ok(()),
    }
}

fn fat_tree(site: &FatTree) -> Result<(), ValueError> {
    each_within("topology.fabric_rate", site.fabric_rate, SLOWEST, FASTEST)?;
    each_within("topology.pods", site.pods, 1, MOST_PODS)?;
    each_within("topology.hosts_per_tor", site.hosts_per_tor, 1, MOST_HOSTS)
}

fn leaf_spine(site: &LeafSpine) -> Result<(), ValueError> {
    rate("uplink_rate", site.uplink_rate)?;
    count("hosts", site.hosts, MOST_HOSTS)?;
    count("leaves", site.leaves, MOST_SWITCHES)
}

fn borders(borders: &Borders) -> Result<(), ValueError> {
    buffer("core_border_buffer", borders.core_border_buffer)?;
    count("core_border_links", borders.core_border_links, MOST_LINKS)?;
    count("wan.links", borders.wan_links, MOST_LINKS)
}

fn wan(wan: &Wan) -> Result<(), ValueError> {
    delay("wan.rtt", wan.rtt)?;
    rate("wan.rate", wan.rate)?;
    buffer("wan.buffer", wan.buffer)
}

fn delay(key: &str, delay: Duration) -> Result<(), ValueError> {
    within(&format!("topology.{key}"), delay, Duration::ZERO, LONGEST_DELAY)
}

fn rate(key: &str, rate: Rate) -> Result<(), ValueError> {
    within(&format!("topology.{key}"), rate, SLOWEST, FASTEST)
}

fn buffer(key: &str, buffer: Bytes) -> Result<(), ValueError> {
    within(&format!("topology.{key}"), buffer, Bytes::new(1), LARGEST_BUFFER)
}

fn count(key: &str, count: u32, most: u32) -> Result<(), ValueError> {
    within(&format!("topology.{key}"), count, 1, most)
}

fn transport(transport: &Transport) -> Result<(), ValueError> {
    let Transport { payload, header, rtt_noise, .. } = transport;
    within("transport.rtt_noise", *rtt_noise, Duration::ZERO, LONGEST_DELAY)?;
    within("transport.header", *header, Bytes::new(1), LARGEST_PACKET)?;
    within("transport.payload", *payload, Bytes::new(1), LARGEST_PACKET.saturating_sub(*header))
}
