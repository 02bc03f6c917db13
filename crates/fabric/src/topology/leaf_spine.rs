//! Leaf and spine: two tiers of switches, every leaf linked to every spine; one site, or two joined by border switches.

use super::{Builder, Joint, TopologyError, at_least_one, hosts_in_range, positive_rate};
use crate::network::{Network, NodeKind, Tier};
use farspan_units::{Duration, Rate};

/// Leaves with hosts, each linked once to every spine (a folded Clos network of two tiers).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeafSpine {
    /// Leaf switches.
    pub leaves: u32,
    /// Spine switches.
    pub spines: u32,
    /// Hosts of each leaf.
    pub hosts_per_leaf: u32,
    /// Rate of each host's link.
    pub link_rate: Rate,
    /// Rate of each link between a leaf and a spine.
    pub uplink_rate: Rate,
    /// Propagation of every link, one way.
    pub link_delay: Duration,
    /// Processing in a switch; counts as part of the delay of each link that leads to one.
    pub switch_delay: Duration,
}

/// Two of them, each with one border switch that all of its spines are linked to, and parallel links between
/// the borders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DualLeafSpine {
    /// Each site.
    pub site: LeafSpine,
    /// Parallel links, at `uplink_rate`, from every spine to its border switch.
    pub spine_border_links: u32,
    /// Parallel links between the border switches.
    pub wan_links: u32,
    /// Rate of each of them.
    pub wan_rate: Rate,
    /// Delay of each of them, one way.
    pub wan_delay: Duration,
}

impl LeafSpine {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If there are no leaves, spines or hosts, a single host, too many of them, or a rate is zero.
    pub fn check(&self) -> Result<(), TopologyError> {
        at_least_one("leaves", self.leaves)?;
        at_least_one("spines", self.spines)?;
        hosts_in_range("hosts_per_leaf", self.hosts_per_leaf, self.leaves)?;
        positive_rate("link_rate", self.link_rate)?;
        positive_rate("uplink_rate", self.uplink_rate)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// See [`LeafSpine::check`].
    pub fn build(&self) -> Result<Network, TopologyError> {
        self.check()?;
        let mut b = Builder::default();
        self.nodes(&mut b, 1);
        self.links(&mut b, 0);
        Ok(b.finish())
    }

    /// Adds the nodes of `sites` sites, level by level, so that each level is numbered through the sites.
    fn nodes(&self, b: &mut Builder, sites: u32) {
        let levels = [
            ("host", NodeKind::Host, self.leaves * self.hosts_per_leaf),
            ("leaf", NodeKind::Tor, self.leaves),
            ("spine", NodeKind::Core, self.spines),
        ];
        for (word, kind, count) in levels {
            for site in 0..sites {
                b.add_named(word, kind, count, site);
            }
        }
    }

    fn links(&self, b: &mut Builder, site: u32) {
        for h in 0..self.leaves * self.hosts_per_leaf {
            let host = b.node(NodeKind::Host, site, h);
            let leaf = b.node(NodeKind::Tor, site, h / self.hosts_per_leaf);
            let tiers = [Tier::HostUp, Tier::HostDown];
            b.pair(host, leaf, self.link_rate, self.link_delay, self.switch_delay, tiers);
        }
        for l in 0..self.leaves {
            let leaf = b.node(NodeKind::Tor, site, l);
            for s in 0..self.spines {
                let spine = b.node(NodeKind::Core, site, s);
                let tiers = [Tier::Fabric, Tier::Fabric];
                b.pair(leaf, spine, self.uplink_rate, self.link_delay, self.switch_delay, tiers);
            }
        }
    }
}

impl DualLeafSpine {
    /// Checks the parameters.
    ///
    /// # Errors
    /// As [`LeafSpine::check`], and if a bundle is empty or the rate between the sites is zero.
    pub fn check(&self) -> Result<(), TopologyError> {
        self.site.check()?;
        at_least_one("core_border_links", self.spine_border_links)?;
        at_least_one("wan.links", self.wan_links)?;
        positive_rate("wan.link_rate", self.wan_rate)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// See [`DualLeafSpine::check`].
    pub fn build(&self) -> Result<Network, TopologyError> {
        self.check()?;
        let mut b = Builder::default();
        self.site.nodes(&mut b, 2);
        let joint = Joint {
            cores: self.site.spines,
            core_links: self.spine_border_links,
            core_rate: self.site.uplink_rate,
            core_delay: self.site.link_delay,
            wan_links: self.wan_links,
            wan_rate: self.wan_rate,
            wan_delay: self.wan_delay,
            switch_delay: self.site.switch_delay,
        };
        joint.build(&mut b, |b, site| self.site.links(b, site));
        Ok(b.finish())
    }
}
