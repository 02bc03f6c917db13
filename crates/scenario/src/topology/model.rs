//! A topology file as it is written: every key, none of them required here.

use crate::propagation::Propagation;
use crate::value::{Buffers, Names, NodeType, Parameter, Wiring};
use farspan_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A farspan topology: sites, nodes, links, and where asked for the ports that packets take.
///
/// Names may be ranges: "host[0..15]" is host0 to host15, "core[1..15 step 4]" is core1, core5, core9, core13, `leaf[0,2]` is
/// leaf0 and leaf2. Quantities are text with a unit, as in scenarios.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TopologyFile {
    /// Purpose of the topology, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Values by name. Elsewhere in the file "$NAME" stands for one, and a scenario gives others: topology.parameters.NAME. Of a
    /// file that was read none are left: they stand where they were named.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
    /// Defaults of links and switches that do not say otherwise. The scenario's link_rate, link_delay, buffer and
    /// switch_delay, if it gives them, replace these.
    #[serde(skip_serializing_if = "Defaults::is_empty")]
    pub defaults: Defaults,
    /// The sites (datacenters), in the order of their numbers. Default: one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub site: Vec<Site>,
    /// Hosts and switches. Hosts are numbered through the sites, at each site in the order of the file.
    pub node: Vec<Node>,
    /// Links, each full duplex.
    pub link: Vec<Link>,
    /// Ports that replace those of the shortest paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ecmp: Vec<Ecmp>,
}

/// Defaults of links and switches that do not say otherwise.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// Rate of a link. Default: 100Gbps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation of a link, one way. Default: 1us.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// Data bytes that a port holds. Default: of the scenario's profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Bytes>,
    /// Processing in a switch; counts as part of the far end of the link that enters it. Default: 0ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_delay: Option<Duration>,
}

impl Defaults {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A site (datacenter). Flows between hosts of different sites are inter-DC flows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Site {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Hosts or switches of one site.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// The name, a range of names, or a list of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Names>,
    /// "host" or "switch".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<NodeType>,
    /// The site's name. Default: the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Switches: processing, instead of defaults.switch_delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_delay: Option<Duration>,
}

/// Links between nodes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Link {
    /// One end: a node, a range of nodes, or a list of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<Names>,
    /// The other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<Names>,
    /// Which of them are linked: "all", each with each, or "blocks", the longer list dealt to the shorter one in equal
    /// blocks, so that lists of one length are linked one to one. Default: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wiring: Option<Wiring>,
    /// Parallel links between two nodes. Default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Rate, each way. Default: defaults.rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation, one way. Default: defaults.delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// In place of delay: propagation there and back, over this link alone. Its delay is half of it, rounded down to a picosecond.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Duration>,
    /// Data bytes that its ports hold, or two: [that of a, that of b]. Default: defaults.buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffers>,
}

impl Link {
    pub(super) const fn propagation(&self) -> Propagation {
        Propagation { delay: self.delay, rtt: self.rtt }
    }
}

/// The ports by which switches send towards others, instead of those of all shortest paths.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ecmp {
    /// The switches that send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<Names>,
    /// Where to: switches with hosts, or sites, which stand for all of theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Names>,
    /// The switches beside it to send to, each by all links ("spine0") or by one of them ("spine0#1"). One that is listed
    /// twice gets twice as much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<Names>,
}
