//! Hosts, switches, links, resolved: the shape of a network.

use super::link_changes::LinkChanges;
use super::tables::Backbone;
use crate::value::{Jitter, Oversubscription, Parameter};
use farspan_units::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

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

/// The shape of a network. Keys are those of [`TopologyText`](super::topology::TopologyText).
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
