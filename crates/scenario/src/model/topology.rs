//! Hosts, switches, links: as a text has them, and resolved by shape.

use super::declare::tables;
use super::link_changes::LinkChanges;
use crate::value::{Jitter, Oversubscription, Parameter, TopologyKind};
use farspan_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Hosts, switches, links.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Topology")]
pub struct TopologyText {
    /// The shape. Default: dual_fat_tree.
    pub kind: Option<TopologyKind>,
    /// From_file: a topology file (`farspan new --topology` writes one), or the name of a built-in one.
    pub file: Option<String>,
    /// Radix of a fat tree's switches: even; k/2 ToRs and k/2 aggregation switches a pod, k^2/4 cores, k^3/4 hosts a site. Default: 8.
    pub k: Option<u32>,
    /// Pods of a site of a fat tree. Default: k.
    pub pods: Option<u32>,
    /// Hosts of each ToR of a fat tree. Default: k/2.
    pub hosts_per_tor: Option<u32>,
    /// Hosts of a star, on each side of a dumbbell, of each leaf, or at each switch of a parking lot. Default: 8; of a
    /// parking lot 2.
    pub hosts: Option<u32>,
    /// Leaf switches of a site. Default: 4.
    pub leaves: Option<u32>,
    /// Spine switches of a site. Each leaf has a link to each spine. 0 in a dual_leaf_spine: leaves are linked to the
    /// border switch. Default: as many as oversubscription asks for.
    pub spines: Option<u32>,
    /// Bottleneck links of a parking lot. There is one more switch than links. Default: 3.
    pub bottlenecks: Option<u32>,
    /// Rate of every link inside a site. From_file: of links without a rate, instead of the file's default. In a
    /// leaf-spine, a dumbbell or a parking lot, and with fabric_rate: of the hosts' links only. Default: 100Gbps.
    pub link_rate: Option<Rate>,
    /// Rate of a fat tree's links between switches of one site. Default: link_rate.
    pub fabric_rate: Option<Rate>,
    /// Rate of the links of a spine, to leaves and border switch. Without spines: of the links from leaves to the
    /// border switch. Default: link_rate.
    pub uplink_rate: Option<Rate>,
    /// One-way propagation delay of every link inside a site and from core to border. Default: 1us.
    pub link_delay: Option<Duration>,
    /// One-way propagation delay of each host's link in a star, host 0 first. Default: link_delay for all.
    pub host_delays: Option<Vec<Duration>>,
    /// Processing delay in a switch. It is counted at the far end of the link that enters the switch. Default: 0ns.
    pub switch_delay: Option<Duration>,
    /// Largest jitter of a data packet at a switch port that keeps at least as much data as it sends: "1packet" (one
    /// packet time at link_rate) or a time; "0ns" is off. It is uniform, and keeps the order. Without it, saturated
    /// ports with exact clocks can lock the drop-tail queue behind them to one input. Default: host.jitter.
    pub jitter: Option<Jitter>,
    /// Data bytes that a port holds. Default: of the profile.
    pub buffer: Option<Bytes>,
    /// How many times fewer uplinks than downlinks: at the ToR, or [ToR, aggregation]. In a leaf-spine: the rate of a
    /// leaf's hosts divided by the rate of its uplinks. Default: 1; of a leaf-spine with spines, what these come to.
    pub oversubscription: Option<Oversubscription>,
    /// Backbone routers between the sites of a dual_leaf_spine, in place of border switches.
    pub backbone: Option<BackboneText>,
    /// Parallel links from each core (or spine, or without spines leaf) to its border switch. Default: 8.
    pub core_border_links: Option<u32>,
    /// Data bytes that each port between core and border switch holds, both ways. Default: buffer.
    pub core_border_buffer: Option<Bytes>,
    /// Rate of the links between the switches of a dumbbell or a parking lot. Default: link_rate.
    pub bottleneck_rate: Option<Rate>,
    /// One-way propagation delay of these links. With two_sites it follows from wan.rtt. Default: link_delay.
    pub bottleneck_delay: Option<Duration>,
    /// Whether the two sides of a dumbbell are different sites. Default: false.
    pub two_sites: Option<bool>,
    /// The links between the sites.
    pub wan: Option<WanText>,
    /// From_file: values for the file's parameters, by name. Default: the file's.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, Parameter>,
    /// Changes to links, by name or pattern, such as "west-*->east-*". * stands for any text. A change applies to both
    /// directions. If several patterns match a link, the last one counts.
    #[serde(skip_serializing_if = "LinkChanges::is_empty")]
    pub link: LinkChanges,
}

tables! {
    /// Backbone routers between the sites: every spine of both has links to some of them, every router has as many to each site.
    /// topology.wan says what rate and buffers these links have; their delay follows from wan.rtt.
    Backbone, BackboneText as "Backbone" {
        /// How many routers there are; a divisor of spines x links_per_spine. Default: spines x links_per_spine.
        routers: u32,
        /// Links of each spine, each to another router. Default: 8.
        links_per_spine: u32,
    }
}

/// The links between the sites.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "Wan")]
pub struct WanText {
    /// Base RTT between hosts of the two sites: a full packet out, its ACK back. Default: of the profile.
    pub rtt: Option<Duration>,
    /// Parallel links from border to border; a backbone has its own number. Default: 8.
    pub links: Option<u32>,
    /// Rate of each. Default: topology.link_rate.
    pub rate: Option<Rate>,
    /// Data bytes that each of their ports holds. Default: topology.buffer.
    pub buffer: Option<Bytes>,
}

/// Hosts, switches, links: the keys that every shape has, and those of one.
#[derive(Clone, PartialEq, Debug)]
pub struct Topology {
    /// The shape.
    pub shape: Shape,
    /// Rate of every link inside a site that does not say otherwise.
    pub link_rate: Rate,
    /// Propagation of every link inside a site and from core to border that does not say otherwise, one way.
    pub link_delay: Duration,
    /// Processing in a switch; counts as part of the far end of the link that enters it.
    pub switch_delay: Duration,
    /// Largest jitter of switch ports that leave at least as much data behind as they send.
    pub jitter: Jitter,
    /// Data bytes that a port holds.
    pub buffer: Bytes,
    /// Changes of links by pattern.
    pub link: LinkChanges,
}

/// The shape of a network. Keys are those of [`TopologyText`].
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    /// One three-tier fat tree.
    FatTree(FatTree),
    /// Two fat trees, each with a border switch.
    DualFatTree {
        /// Each site.
        site: FatTree,
        /// The border switches.
        borders: Borders,
        /// The links between the sites.
        wan: Wan,
    },
    /// Leaves with hosts, all linked to all spines.
    LeafSpine(LeafSpine),
    /// Two of them.
    DualLeafSpine {
        /// Each site.
        site: LeafSpine,
        /// The switches between the sites.
        between: Between,
        /// The links between the sites.
        wan: Wan,
    },
    /// Senders on the left, receivers on the right, one link between.
    Dumbbell {
        /// Hosts on each side.
        hosts: u32,
        /// Rate of the link between the sides.
        bottleneck_rate: Rate,
        /// Whether the sides are sites.
        sides: Sides,
    },
    /// A chain of switches with hosts at each.
    ParkingLot {
        /// Links between the switches.
        bottlenecks: u32,
        /// Hosts at each switch.
        hosts: u32,
        /// Rate of the links between the switches.
        bottleneck_rate: Rate,
        /// Propagation of these, one way.
        bottleneck_delay: Duration,
    },
    /// Hosts around one switch.
    Star {
        /// How many.
        hosts: u32,
        /// Propagation of each one's link, if not all have the same.
        host_delays: Option<Vec<Duration>>,
    },
    /// Nodes and links from a file.
    FromFile {
        /// The file, or the name of a built-in one.
        file: String,
        /// The values of its parameters, all of them.
        parameters: BTreeMap<String, Parameter>,
    },
}

/// A fat tree. What follows from other keys is left out.
#[derive(Clone, PartialEq, Debug)]
pub struct FatTree {
    /// Radix of its switches.
    pub k: u32,
    /// Pods, if not k.
    pub pods: Option<u32>,
    /// Hosts of each ToR, if not k/2.
    pub hosts_per_tor: Option<u32>,
    /// Rate of the links between switches, if not that of the others.
    pub fabric_rate: Option<Rate>,
    /// How many times fewer uplinks than downlinks.
    pub oversubscription: Oversubscription,
}

/// A leaf-spine.
#[derive(Clone, PartialEq, Debug)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// Hosts of each leaf.
    pub hosts: u32,
    /// Rate of the links of a spine.
    pub uplink_rate: Rate,
    /// The rate of a leaf's hosts over that of its uplinks, if it is a whole number.
    pub oversubscription: Option<Oversubscription>,
}

/// The switches between two leaf-spines.
#[derive(Clone, PartialEq, Debug)]
pub enum Between {
    /// A border switch at each.
    Borders(Borders),
    /// Backbone routers.
    Backbone(Backbone),
}

/// Border switches.
#[derive(Clone, PartialEq, Debug)]
pub struct Borders {
    /// Parallel links from each core or spine to its border switch.
    pub core_border_links: u32,
    /// Data bytes that each port between core and border switch holds.
    pub core_border_buffer: Bytes,
    /// Parallel links from border to border.
    pub wan_links: u32,
}

/// The links between two sites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wan {
    /// Base RTT between hosts of the two sites.
    pub rtt: Duration,
    /// Rate of each.
    pub rate: Rate,
    /// Data bytes that each of their ports holds.
    pub buffer: Bytes,
}

/// The two sides of a dumbbell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sides {
    /// They are one site.
    OneSite {
        /// Propagation of the link between them, one way.
        bottleneck_delay: Duration,
    },
    /// Each is a site.
    TwoSites {
        /// Base RTT between hosts of the two; the propagation of the link between them follows from it.
        rtt: Duration,
        /// Data bytes that each port of the link between them holds.
        buffer: Bytes,
    },
}

impl Topology {
    /// The base RTT between hosts of the two sites, and what a port between these holds, if there are two.
    #[must_use]
    pub const fn wan(&self) -> Option<(Duration, Bytes)> {
        match &self.shape {
            Shape::DualFatTree { wan, .. } | Shape::DualLeafSpine { wan, .. } => Some((wan.rtt, wan.buffer)),
            Shape::Dumbbell { sides: Sides::TwoSites { rtt, buffer }, .. } => Some((*rtt, *buffer)),
            _ => None,
        }
    }

    /// Data bytes that each port between core and border switch holds, if there are border switches.
    #[must_use]
    pub const fn core_border_buffer(&self) -> Option<Bytes> {
        match &self.shape {
            Shape::DualFatTree { borders, .. }
            | Shape::DualLeafSpine { between: Between::Borders(borders), .. } => {
                Some(borders.core_border_buffer)
            }
            _ => None,
        }
    }

    /// The rate of links between the switches of a site.
    #[must_use]
    pub fn fabric_rate(&self) -> Rate {
        match &self.shape {
            Shape::FatTree(site) | Shape::DualFatTree { site, .. } => {
                site.fabric_rate.unwrap_or(self.link_rate)
            }
            Shape::LeafSpine(site) | Shape::DualLeafSpine { site, .. } => site.uplink_rate,
            Shape::Dumbbell { bottleneck_rate, .. } | Shape::ParkingLot { bottleneck_rate, .. } => {
                *bottleneck_rate
            }
            Shape::Star { .. } | Shape::FromFile { .. } => self.link_rate,
        }
    }

    /// The rate of links between sites.
    #[must_use]
    pub const fn wan_rate(&self) -> Rate {
        match &self.shape {
            Shape::DualFatTree { wan, .. } | Shape::DualLeafSpine { wan, .. } => wan.rate,
            Shape::Dumbbell { bottleneck_rate, .. } | Shape::ParkingLot { bottleneck_rate, .. } => {
                *bottleneck_rate
            }
            _ => self.link_rate,
        }
    }
}

impl From<&Topology> for TopologyText {
    fn from(topology: &Topology) -> Self {
        let mut text = Self {
            link_rate: Some(topology.link_rate),
            link_delay: Some(topology.link_delay),
            switch_delay: Some(topology.switch_delay),
            jitter: Some(topology.jitter),
            buffer: Some(topology.buffer),
            link: topology.link.clone(),
            ..Self::default()
        };
        text.kind = Some(match &topology.shape {
            Shape::FatTree(site) => {
                site.write(&mut text);
                TopologyKind::FatTree
            }
            Shape::DualFatTree { site, borders, wan } => {
                site.write(&mut text);
                wan.write(&mut text);
                borders.write(&mut text);
                TopologyKind::DualFatTree
            }
            Shape::LeafSpine(site) => {
                site.write(&mut text);
                TopologyKind::LeafSpine
            }
            Shape::DualLeafSpine { site, between, wan } => {
                site.write(&mut text);
                wan.write(&mut text);
                match between {
                    Between::Borders(borders) => borders.write(&mut text),
                    Between::Backbone(backbone) => text.backbone = Some(backbone.into()),
                }
                TopologyKind::DualLeafSpine
            }
            Shape::Dumbbell { hosts, bottleneck_rate, sides } => {
                (text.hosts, text.bottleneck_rate) = (Some(*hosts), Some(*bottleneck_rate));
                text.two_sites = Some(matches!(sides, Sides::TwoSites { .. }));
                match *sides {
                    Sides::OneSite { bottleneck_delay } => text.bottleneck_delay = Some(bottleneck_delay),
                    Sides::TwoSites { rtt, buffer } => {
                        text.wan =
                            Some(WanText { rtt: Some(rtt), buffer: Some(buffer), ..WanText::default() });
                    }
                }
                TopologyKind::Dumbbell
            }
            Shape::ParkingLot { bottlenecks, hosts, bottleneck_rate, bottleneck_delay } => {
                (text.bottlenecks, text.hosts) = (Some(*bottlenecks), Some(*hosts));
                text.bottleneck_rate = Some(*bottleneck_rate);
                text.bottleneck_delay = Some(*bottleneck_delay);
                TopologyKind::ParkingLot
            }
            Shape::Star { hosts, host_delays } => {
                (text.hosts, text.host_delays) = (Some(*hosts), host_delays.clone());
                TopologyKind::Star
            }
            Shape::FromFile { file, parameters } => {
                (text.file, text.parameters) = (Some(file.clone()), parameters.clone());
                TopologyKind::FromFile
            }
        });
        text
    }
}

impl FatTree {
    fn write(&self, text: &mut TopologyText) {
        text.k = Some(self.k);
        (text.pods, text.hosts_per_tor, text.fabric_rate) = (self.pods, self.hosts_per_tor, self.fabric_rate);
        text.oversubscription = Some(self.oversubscription);
    }
}

impl LeafSpine {
    fn write(&self, text: &mut TopologyText) {
        (text.leaves, text.spines, text.hosts) = (Some(self.leaves), Some(self.spines), Some(self.hosts));
        text.uplink_rate = Some(self.uplink_rate);
        text.oversubscription = self.oversubscription;
    }
}

impl Borders {
    fn write(&self, text: &mut TopologyText) {
        text.core_border_links = Some(self.core_border_links);
        text.core_border_buffer = Some(self.core_border_buffer);
        text.wan.get_or_insert_default().links = Some(self.wan_links);
    }
}

impl Wan {
    fn write(&self, text: &mut TopologyText) {
        let wan = text.wan.get_or_insert_default();
        (wan.rtt, wan.rate, wan.buffer) = (Some(self.rtt), Some(self.rate), Some(self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_between_the_sites_are_written_in_any_order() {
        let borders = Borders { core_border_links: 4, core_border_buffer: Bytes::new(1 << 20), wan_links: 2 };
        let wan = Wan { rtt: Duration::from_ms(2), rate: Rate::from_gbps(100), buffer: Bytes::new(1 << 20) };
        let [mut first, mut last] = [TopologyText::default(), TopologyText::default()];
        borders.write(&mut first);
        wan.write(&mut first);
        wan.write(&mut last);
        borders.write(&mut last);
        assert_eq!(first, last);
        assert_eq!(first.wan.and_then(|wan| wan.links), Some(2));
    }
}
