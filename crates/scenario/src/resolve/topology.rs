//! Topology: which keys apply to which kind, and their defaults. Ranges are the generators' business.

use super::Context;
use crate::error::Fault;
use crate::model::{Topology, Wan};
use crate::value::{Jitter, Oversubscription, TopologyKind};
use farspan_units::{Bytes, Duration, Rate};

/// The keys that apply to a kind of topology, beside `kind`.
const fn keys(kind: TopologyKind) -> &'static [&'static str] {
    match kind {
        TopologyKind::FatTree => {
            &["k", "link_rate", "link_delay", "switch_delay", "jitter", "buffer", "oversubscription"]
        }
        TopologyKind::DualFatTree => &[
            "k",
            "link_rate",
            "link_delay",
            "switch_delay",
            "jitter",
            "buffer",
            "oversubscription",
            "core_border_links",
            "core_border_buffer",
            "wan",
        ],
        TopologyKind::Dumbbell => &[
            "hosts",
            "link_rate",
            "link_delay",
            "switch_delay",
            "jitter",
            "buffer",
            "bottleneck_rate",
            "bottleneck_delay",
            "two_sites",
            "wan",
        ],
        TopologyKind::Star => {
            &["hosts", "link_rate", "link_delay", "host_delays", "switch_delay", "jitter", "buffer"]
        }
    }
}

impl Context<'_> {
    pub(super) fn topology(&self, written: Topology, jitter: Jitter) -> Result<Topology, Fault> {
        let kind = written.kind.unwrap_or(TopologyKind::DualFatTree);
        self.only("topology", kind.name(), keys(kind))?;
        let link_rate = written.link_rate.unwrap_or(Rate::from_gbps(100));
        let link_delay = written.link_delay.unwrap_or(Duration::from_us(1));
        let buffer = written.buffer.unwrap_or(Bytes::new(1 << 20));
        let tree = matches!(kind, TopologyKind::FatTree | TopologyKind::DualFatTree);
        let dumbbell = kind == TopologyKind::Dumbbell;
        let two_sites = dumbbell && written.two_sites.unwrap_or(false);
        let wan = (kind == TopologyKind::DualFatTree || two_sites).then(|| written.wan.unwrap_or_default());
        let wan = wan.map(|wan| fill_wan(&wan, link_rate, buffer, two_sites)).transpose()?;
        if dumbbell && !two_sites && self.source.has("topology.wan") {
            let cure = "set topology.two_sites = true, or give topology.bottleneck_delay instead";
            return Err(Fault::new("topology.wan", "the two sides of this dumbbell are one site", cure));
        }
        let bottleneck_rate = written.bottleneck_rate.unwrap_or(link_rate);
        let hosts = written.host_delays.as_ref().map_or(8, Vec::len) as u32;
        let hosts = written.hosts.unwrap_or(hosts);
        Ok(Topology {
            kind: Some(kind),
            k: tree.then(|| written.k.unwrap_or(8)),
            hosts: (!tree).then_some(hosts),
            link_rate: Some(link_rate),
            link_delay: Some(link_delay),
            host_delays: written.host_delays.map(|delays| star_delays(delays, hosts)).transpose()?,
            switch_delay: Some(written.switch_delay.unwrap_or(Duration::ZERO)),
            jitter: Some(written.jitter.unwrap_or(jitter)),
            buffer: Some(buffer),
            oversubscription: tree
                .then(|| written.oversubscription.unwrap_or(Oversubscription { tor: 1, agg: 1 })),
            core_border_links: (kind == TopologyKind::DualFatTree)
                .then(|| written.core_border_links.unwrap_or(8)),
            core_border_buffer: (kind == TopologyKind::DualFatTree)
                .then(|| written.core_border_buffer.unwrap_or(buffer)),
            bottleneck_rate: dumbbell.then_some(bottleneck_rate),
            bottleneck_delay: (dumbbell && !two_sites)
                .then(|| written.bottleneck_delay.unwrap_or(link_delay)),
            two_sites: dumbbell.then_some(two_sites),
            wan,
        })
    }

    /// Refuses keys of a table that do not apply to its kind.
    pub(super) fn only(&self, path: &str, kind: &str, keys: &[&str]) -> Result<(), Fault> {
        let stray =
            self.source.keys(path).into_iter().find(|key| key != "kind" && !keys.contains(&key.as_str()));
        stray.map_or(Ok(()), |key| {
            let problem = format!("{kind} has no {key:?}");
            Err(Fault::new(format!("{path}.{key}"), problem, format!("it has: {}", keys.join(", "))))
        })
    }
}

fn fill_wan(written: &Wan, link_rate: Rate, buffer: Bytes, two_sites: bool) -> Result<Wan, Fault> {
    let rtt = written.rtt.unwrap_or(Duration::from_ms(2));
    if two_sites {
        return Ok(Wan { rtt: Some(rtt), buffer: Some(written.buffer.unwrap_or(buffer)), ..Wan::default() });
    }
    Ok(Wan {
        rtt: Some(rtt),
        links: Some(written.links.unwrap_or(8)),
        rate: Some(written.rate.unwrap_or(link_rate)),
        buffer: Some(written.buffer.unwrap_or(buffer)),
    })
}

fn star_delays(delays: Vec<Duration>, hosts: u32) -> Result<Vec<Duration>, Fault> {
    if delays.len() == hosts as usize {
        return Ok(delays);
    }
    let problem = format!("{} delays for {hosts} hosts", delays.len());
    Err(Fault::new("topology.host_delays", problem, "give one for each host, or leave out topology.hosts"))
}
