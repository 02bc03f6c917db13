//! From what the files say to a topology file and a scenario.

use super::config::{Config, Marks};
use super::topology::{HpccNetwork, HpccNode};
use super::{ImportedRun, TRAFFIC_START};
use farspan_scenario::limits::LONGEST_RUN;
use farspan_scenario::topology::{Base, Defaults, Link, Node, TopologyDocument, TopologyFile};
use farspan_scenario::value::{Names, NodeType};
use farspan_units::{Bytes, Duration};
use std::fmt::Write as _;

/// The buffer of a switch where no configuration says another, as there.
const BUFFER: Bytes = Bytes::new(16 << 20);
/// The share of what is free that one link may take there, unless it is faster than the hosts': an eighth.
const ALPHA: f64 = 0.125;
/// Bytes that each link has for itself there.
const RESERVE: Bytes = Bytes::new(4 << 10);
/// How far below its threshold a link resumes there.
const RESUME_OFFSET: Bytes = Bytes::new(3 << 10);

/// The ends and the error rate of each link.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LinkFacts(Vec<([u32; 2], f64)>);

impl LinkFacts {
    pub fn of(network: &HpccNetwork) -> Self {
        Self(network.links.iter().map(|link| (link.ends, link.error_rate)).collect())
    }

    /// Links by name or pattern with the probability of loss of each, where `rate` is that of links without one of their
    /// own.
    fn losses(&self, rate: f64) -> Vec<(String, f64)> {
        let own = |(ends, error_rate): &([u32; 2], f64)| {
            (*ends, if *error_rate > 0.0 { *error_rate } else { rate })
        };
        let all: Vec<_> = self.0.iter().map(own).collect();
        match all.first() {
            Some((_, first)) if all.iter().all(|(_, other)| other == first) => vec![("*".to_owned(), *first)],
            _ => all.into_iter().map(|(ends, rate)| (link_name(ends), rate)).collect(),
        }
    }
}

fn link_name([a, b]: [u32; 2]) -> String {
    format!("node{a}->node{b}#0")
}

/// Names of nodes by their ids, ranges in short.
fn names(ids: impl IntoIterator<Item = u32>) -> Names {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for id in ids {
        match ranges.last_mut() {
            Some([_, last]) if *last + 1 == id => *last = id,
            _ => ranges.push([id, id]),
        }
    }
    let text = |[first, last]: [u32; 2]| {
        if first == last { format!("node{first}") } else { format!("node[{first}..{last}]") }
    };
    Names(ranges.into_iter().map(text).collect())
}

/// The topology file: hosts in the order of their ids, links in that of the file.
pub(super) fn topology(network: &HpccNetwork) -> TopologyFile {
    let (rate, delay) = (network.links[0].rate, network.links[0].delay);
    let of = |kind: HpccNode| {
        (0..).zip(&network.nodes).filter(move |(_, other)| **other == kind).map(|(id, _)| id)
    };
    let node = |ids: Names, kind| Node { name: Some(ids), kind: Some(kind), ..Node::default() };
    let mut file = TopologyFile {
        defaults: Defaults { rate: Some(rate), delay: Some(delay), ..Defaults::default() },
        node: vec![
            node(names(of(HpccNode::Host)), NodeType::Host),
            node(names(of(HpccNode::Switch)), NodeType::Switch),
        ],
        ..TopologyFile::default()
    };
    // Links of one kind to one node, one after the other, are one entry.
    let is_same = |a: &super::topology::HpccLink, b: &super::topology::HpccLink| {
        (a.ends[1], a.rate, a.delay) == (b.ends[1], b.rate, b.delay)
    };
    for links in network.links.chunk_by(is_same) {
        let first = links[0];
        file.link.push(Link {
            a: Some(names(links.iter().map(|link| link.ends[0]))),
            b: Some(names([first.ends[1]])),
            rate: Some(first.rate).filter(|own| *own != rate),
            delay: Some(first.delay).filter(|own| *own != delay),
            ..Link::default()
        });
    }
    file
}

/// Checks that the file makes a network; the error is what is wrong.
pub(super) fn check(file: &TopologyFile) -> Result<(), String> {
    let Defaults { rate, delay, .. } = file.defaults;
    let base = Base {
        rate: rate.unwrap_or(farspan_scenario::limits::SLOWEST),
        delay: delay.unwrap_or_default(),
        switch_delay: Duration::ZERO,
    };
    let document = TopologyDocument::parse("topology", &file.to_toml()).map_err(|error| error.to_string())?;
    document.network(&base).map(drop).map_err(|error| error.to_string())
}

impl ImportedRun {
    /// The scenario around a topology file and a flow list of these names, which stand beside it.
    #[must_use]
    pub fn scenario(&self, topology: &str, flows: &str) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let Self { config, zero, .. } = self;
        let mut text = format!(
            "# From files of HPCC's simulator. Hosts: {}; switches: {}; flows: {}.\n",
            self.hosts,
            self.switches,
            self.rows.len()
        );
        if !zero.is_zero() {
            text += &format!(
                "# Times count from its second {}, when traffic starts there.\n",
                zero.as_secs_f64()
            );
        }
        let mut put = |line: std::fmt::Arguments<'_>| writeln!(text, "{line}").expect("text grows");
        put(format_args!("\n[topology]\nkind = \"from_file\"\nfile = {}", quoted(topology)));
        let payload = config.payload.unwrap_or(Bytes::new(1000));
        put(format_args!("\n[transport]\npayload = \"{payload}\"\nheader = \"{}B\"", self.header));
        if let Some(first) = config.ack_priority {
            put(format_args!("ack_priority = {first}"));
        }
        put(format_args!("\n[host]\njitter = \"0ns\""));
        if let Some(scheme) = config.scheme {
            put(format_args!("\n[scheme]\nname = {}", quoted(scheme)));
            put(format_args!("\n[scheme.intra]\nrecovery = \"go_back_n\""));
        }
        if let Some(congestion) = &config.congestion {
            put(format_args!("congestion = {congestion}"));
        }
        put(format_args!("\n[scheme.ports]\n{}", self.ports()));
        put(format_args!("\n[[workload]]\nkind = \"flows\"\nfile = {}", quoted(flows)));
        for fault in self.faults() {
            put(format_args!("\n[[fault]]\n{fault}"));
        }
        if let Some((_, stop)) = config.stop {
            let stop = stop.saturating_sub(*zero).clamp(Duration::from_ns(1), LONGEST_RUN);
            put(format_args!("\n[stop]\ntime = \"{stop}\""));
        }
        text
    }

    /// Settings of the ports, as TOML.
    fn ports(&self) -> String {
        let Config { buffer, is_lossy, red, .. } = &self.config;
        let size = buffer.unwrap_or(BUFFER);
        let mut lines =
            vec![format!("pool = {{ size = \"{size}\", alpha = {ALPHA}, reserve = \"{RESERVE}\" }}")];
        if !is_lossy {
            lines.push(format!("pfc = {{ links = \"all\", resume_offset = \"{RESUME_OFFSET}\" }}"));
        }
        if let Some(Marks { min, max, max_probability }) = red {
            lines.push("marking = \"red\"\nat = \"dequeue\"".to_owned());
            lines.push(format!(
                "red = {{ min_bytes = \"{min}\", max_bytes = \"{max}\", max_probability = {max_probability} }}"
            ));
        }
        lines.join("\n")
    }

    /// Tables of faults, as TOML.
    fn faults(&self) -> Vec<String> {
        let losses = self
            .links
            .losses(self.config.error_rate)
            .into_iter()
            .filter(|(_, probability)| *probability > 0.0);
        let loss = |(link, probability): (String, f64)| {
            let both = if link == "*" { "" } else { "both_directions = true\n" };
            format!(
                "kind = \"loss\"\nlink = \"{link}\"\nprobability = {probability}\n{both}packets = \"all\""
            )
        };
        let down = |(at, ends): (Duration, [u32; 2])| {
            let at = TRAFFIC_START.saturating_sub(self.zero) + at;
            let link = link_name(ends);
            format!(
                "kind = \"link_down\"\nlink = \"{link}\"\nat = \"{at}\"\nboth_directions = true\nwithdraw_routes = true"
            )
        };
        losses.map(loss).chain(self.config.down.map(down)).collect()
    }
}
