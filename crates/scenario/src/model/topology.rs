//! Hosts, switches, links, as a text has them: each kind of topology with its keys.

use super::declare::*;
use super::link_changes::LinkChanges;
use super::shape::{Between, FatTree, LeafSpine, Shape, Sides, Topology, Wan};
use super::tables::{BackboneText, WanText};
use crate::value::{Jitter, Oversubscription, Parameter};
use farspan_units::{Bytes, Duration, Rate};
use std::collections::BTreeMap;

tagged! {
    /// Hosts, switches, links. The kind of topology says which keys it has.
    TopologyText as "Topology" {
        /// The shape. Default: dual_fat_tree.
        kind: TopologyKind is "topology" or DualFatTree;

        /// The keys of every topology.
        TopologyCommon [
            {
                /// Rate of every link inside a site that has no key of its own. From_file: of links without a rate, instead of the
                /// file's default. Default: 100Gbps.
                link_rate: Rate,
            }
            {
                /// One-way propagation delay of every link inside a site and from core to border. Default: 1us.
                link_delay: Duration,
            }
            {
                /// Processing delay in a switch. It is counted at the far end of the link that enters the switch. Default: 0ns.
                switch_delay: Duration,
                /// Largest jitter of a data packet at a switch port that keeps at least as much data as it sends: "1packet" (one
                /// packet time at link_rate) or a time; "0ns" is off. It is uniform, and keeps the order. Without it, saturated
                /// ports with exact clocks can lock the drop-tail queue behind them to one input. Default: host.jitter.
                jitter: Jitter,
                /// Data bytes that a port holds. Default: of the profile.
                buffer: Bytes,
            }
            {
                /// Changes to links, by name or pattern, such as "west-*->east-*". * stands for any text. A change applies to both
                /// directions. If several patterns match a link, the last one counts.
                link: LinkChanges,
            }
        ];

        FatTree = "fat_tree": "Three-tier fat tree with any oversubscription" => FatTreeKeys {
            /// Radix of the switches: even; k/2 ToRs and k/2 aggregation switches a pod, k^2/4 cores, k^3/4 hosts a site. Default: 8.
            k: u32,
            /// Pods of a site. Default: k.
            pods: u32,
            /// Hosts of each ToR. Default: k/2.
            hosts_per_tor: u32,
            ..,
            /// Rate of the links between switches of one site. Default: link_rate.
            fabric_rate: Rate,
            ..,
            ..,
            /// How many times fewer uplinks than downlinks: at the ToR, or [ToR, aggregation]. Default: 1.
            oversubscription: Oversubscription,
            ..,
        }

        DualFatTree = "dual_fat_tree": "Two fat trees with a border switch each and parallel links between them" => DualFatTreeKeys {
            /// Radix of the switches: even; k/2 ToRs and k/2 aggregation switches a pod, k^2/4 cores, k^3/4 hosts a site. Default: 8.
            k: u32,
            /// Pods of a site. Default: k.
            pods: u32,
            /// Hosts of each ToR. Default: k/2.
            hosts_per_tor: u32,
            ..,
            /// Rate of the links between switches of one site. Default: link_rate.
            fabric_rate: Rate,
            ..,
            ..,
            /// How many times fewer uplinks than downlinks: at the ToR, or [ToR, aggregation]. Default: 1.
            oversubscription: Oversubscription,
            /// Parallel links from each core to its border switch. Default: 8.
            core_border_links: u32,
            /// Data bytes that each port between core and border switch holds, both ways. Default: buffer.
            core_border_buffer: Bytes,
            /// The links between the sites.
            wan: WanText,
            ..,
        }

        LeafSpine = "leaf_spine": "Two tiers; every leaf has a link to every spine" => LeafSpineKeys {
            /// Hosts of each leaf. Default: 8.
            hosts: u32,
            /// Leaf switches of a site. Default: 4.
            leaves: u32,
            /// Spine switches of a site. Each leaf has a link to each spine. Default: as many as oversubscription asks for.
            spines: u32,
            ..,
            /// Rate of the links of a spine. Default: link_rate.
            uplink_rate: Rate,
            ..,
            ..,
            /// The rate of a leaf's hosts divided by the rate of its uplinks. Default: 1; with spines, what these come to.
            oversubscription: Oversubscription,
            ..,
        }

        DualLeafSpine = "dual_leaf_spine": "Two leaf-spines with a border switch each and parallel links between them" => DualLeafSpineKeys {
            /// Hosts of each leaf. Default: 8.
            hosts: u32,
            /// Leaf switches of a site. Default: 4.
            leaves: u32,
            /// Spine switches of a site. Each leaf has a link to each spine. 0: leaves are linked to the border switch. Default: as
            /// many as oversubscription asks for.
            spines: u32,
            ..,
            /// Rate of the links of a spine, to leaves and border switch. Without spines: of the links from leaves to the border
            /// switch. Default: link_rate.
            uplink_rate: Rate,
            ..,
            ..,
            /// The rate of a leaf's hosts divided by the rate of its uplinks. Default: 1; with spines, what these come to.
            oversubscription: Oversubscription,
            /// Backbone routers between the sites, in place of border switches.
            backbone: BackboneText,
            /// Parallel links from each spine, or without spines each leaf, to its border switch. Default: 8.
            core_border_links: u32,
            /// Data bytes that each port between these and the border switch holds, both ways. Default: buffer.
            core_border_buffer: Bytes,
            /// The links between the sites.
            wan: WanText,
            ..,
        }

        Dumbbell = "dumbbell": "Senders and receivers at the two ends of a link; one site or two" => DumbbellKeys {
            /// Hosts on each side. Default: 8.
            hosts: u32,
            ..,
            ..,
            ..,
            /// Rate of the link between the two sides. Default: link_rate.
            bottleneck_rate: Rate,
            /// One-way propagation delay of this link. With two_sites it follows from wan.rtt. Default: link_delay.
            bottleneck_delay: Duration,
            /// Whether the two sides are different sites. Default: false.
            two_sites: bool,
            /// The links between the sites.
            wan: WanText,
            ..,
        }

        ParkingLot = "parking_lot": "A chain of switches with hosts at each; one flow crosses several bottlenecks" => ParkingLotKeys {
            /// Hosts at each switch. Default: 2.
            hosts: u32,
            /// Links between switches. There is one more switch than links. Default: 3.
            bottlenecks: u32,
            ..,
            ..,
            ..,
            /// Rate of the links between the switches. Default: link_rate.
            bottleneck_rate: Rate,
            /// One-way propagation delay of these links. Default: link_delay.
            bottleneck_delay: Duration,
            ..,
        }

        Star = "star": "Hosts around one switch" => StarKeys {
            /// How many hosts there are. Default: 8; with host_delays, one for each.
            hosts: u32,
            ..,
            ..,
            /// One-way propagation delay of each host's link, host 0 first. Default: link_delay for all.
            host_delays: Vec<Duration>,
            ..,
            ..,
        }

        FromFile = "from_file": "Sites, nodes, links and port groups from a TOML file" => FromFileKeys {
            /// A topology file (`farspan new --topology` writes one), or the name of a built-in one.
            file: String,
            ..,
            ..,
            ..,
            /// Values for the file's parameters, by name. Default: the file's.
            parameters: BTreeMap<String, Parameter>,
            ..,
        }
    }
}

impl From<&Topology> for TopologyText {
    fn from(topology: &Topology) -> Self {
        let common = TopologyCommon {
            link_rate: Some(topology.link_rate),
            link_delay: Some(topology.link_delay),
            switch_delay: Some(topology.switch_delay),
            jitter: Some(topology.jitter),
            buffer: Some(topology.buffer),
            link: Some(topology.link.clone()).filter(|link| !link.is_empty()),
        };
        Self::from(&topology.shape).with(common)
    }
}

impl From<&Shape> for TopologyText {
    fn from(shape: &Shape) -> Self {
        match shape {
            Shape::FatTree(site) => Self::FatTree(site.into()),
            Shape::DualFatTree { site, borders, wan } => {
                let FatTreeKeys { k, pods, hosts_per_tor, fabric_rate, oversubscription, .. } = site.into();
                Self::DualFatTree(DualFatTreeKeys {
                    k,
                    pods,
                    hosts_per_tor,
                    fabric_rate,
                    oversubscription,
                    core_border_links: Some(borders.core_border_links),
                    core_border_buffer: Some(borders.core_border_buffer),
                    wan: Some(WanText { links: Some(borders.wan_links), ..wan.into() }),
                    ..DualFatTreeKeys::default()
                })
            }
            Shape::LeafSpine(site) => Self::LeafSpine(site.into()),
            Shape::DualLeafSpine { site, between, wan } => {
                let LeafSpineKeys { hosts, leaves, spines, uplink_rate, oversubscription, .. } = site.into();
                let keys = DualLeafSpineKeys {
                    hosts,
                    leaves,
                    spines,
                    uplink_rate,
                    oversubscription,
                    ..DualLeafSpineKeys::default()
                };
                Self::DualLeafSpine(match between {
                    Between::Borders(borders) => DualLeafSpineKeys {
                        core_border_links: Some(borders.core_border_links),
                        core_border_buffer: Some(borders.core_border_buffer),
                        wan: Some(WanText { links: Some(borders.wan_links), ..wan.into() }),
                        ..keys
                    },
                    Between::Backbone(backbone) => {
                        DualLeafSpineKeys { backbone: Some(backbone.into()), wan: Some(wan.into()), ..keys }
                    }
                })
            }
            Shape::Dumbbell { hosts, bottleneck_rate, sides } => {
                let (bottleneck_delay, wan) = match *sides {
                    Sides::OneSite { bottleneck_delay } => (Some(bottleneck_delay), None),
                    Sides::TwoSites { rtt, buffer } => {
                        (None, Some(WanText { rtt: Some(rtt), buffer: Some(buffer), ..WanText::default() }))
                    }
                };
                Self::Dumbbell(DumbbellKeys {
                    hosts: Some(*hosts),
                    bottleneck_rate: Some(*bottleneck_rate),
                    bottleneck_delay,
                    two_sites: Some(wan.is_some()),
                    wan,
                    ..DumbbellKeys::default()
                })
            }
            Shape::ParkingLot { bottlenecks, hosts, bottleneck_rate, bottleneck_delay } => {
                Self::ParkingLot(ParkingLotKeys {
                    bottlenecks: Some(*bottlenecks),
                    hosts: Some(*hosts),
                    bottleneck_rate: Some(*bottleneck_rate),
                    bottleneck_delay: Some(*bottleneck_delay),
                    ..ParkingLotKeys::default()
                })
            }
            Shape::Star { hosts, host_delays } => Self::Star(StarKeys {
                hosts: Some(*hosts),
                host_delays: host_delays.clone(),
                ..StarKeys::default()
            }),
            Shape::FromFile { file, parameters } => Self::FromFile(FromFileKeys {
                file: Some(file.clone()),
                parameters: Some(parameters.clone()).filter(|parameters| !parameters.is_empty()),
                ..FromFileKeys::default()
            }),
        }
    }
}

impl From<&FatTree> for FatTreeKeys {
    fn from(site: &FatTree) -> Self {
        Self {
            k: Some(site.k),
            pods: site.pods,
            hosts_per_tor: site.hosts_per_tor,
            fabric_rate: site.fabric_rate,
            oversubscription: Some(site.oversubscription),
            ..Self::default()
        }
    }
}

impl From<&LeafSpine> for LeafSpineKeys {
    fn from(site: &LeafSpine) -> Self {
        Self {
            hosts: Some(site.hosts),
            leaves: Some(site.leaves),
            spines: Some(site.spines),
            uplink_rate: Some(site.uplink_rate),
            oversubscription: site.oversubscription,
            ..Self::default()
        }
    }
}

impl From<&Wan> for WanText {
    fn from(wan: &Wan) -> Self {
        Self { rtt: Some(wan.rtt), rate: Some(wan.rate), buffer: Some(wan.buffer), ..Self::default() }
    }
}
