//! Leaf and spine: two tiers of switches, every leaf linked to every spine; one site, or two joined by border switches or by
//! backbone routers.

use super::{Builder, Joint, TopologyError, at_least_one, hosts_in_range, positive_rate};
use crate::network::{Network, NodeKind, Tier};
use farspan_units::{Duration, NodeId, Rate};

/// The most routers of a backbone.
const MOST_ROUTERS: u32 = 4096;

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
/// the borders. Without spines the leaves are linked to the border switch, by which they then also reach each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DualLeafSpine {
    /// Each site.
    pub site: LeafSpine,
    /// Parallel links, at `uplink_rate`, from every spine (without any, every leaf) to its border switch.
    pub spine_border_links: u32,
    /// Parallel links between the border switches.
    pub wan_links: u32,
    /// Rate of each of them.
    pub wan_rate: Rate,
    /// Delay of each of them, one way.
    pub wan_delay: Duration,
}

/// Two of them, joined by backbone routers (incast proxy, HotNets 2025, simulation setup): every spine of both sites has a
/// link to some of the routers, and every router has as many links to each site.
///
/// In the first site the links of a spine lead to consecutive routers: with a link of each router to each site, router `r` hangs
/// at spine `r / links_per_spine`. In the second site those of a router lead to consecutive spines: it hangs at spine
/// `r % spines`. So every pair of spines has a router between, if a spine has at least as many links as there are spines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackboneLeafSpine {
    /// Each site.
    pub site: LeafSpine,
    /// Backbone routers.
    pub routers: u32,
    /// Links of each spine to routers, each to another one.
    pub links_per_spine: u32,
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
        at_least_one("spines", self.spines)?;
        self.check_leaves()
    }

    /// Checks all but the number of spines.
    fn check_leaves(&self) -> Result<(), TopologyError> {
        at_least_one("leaves", self.leaves)?;
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
    /// As [`LeafSpine::check`], but that there may be no spines, and if a bundle is empty or the rate between the sites is zero.
    pub fn check(&self) -> Result<(), TopologyError> {
        self.site.check_leaves()?;
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
        let (inner, inner_count) = match self.site.spines {
            0 => (NodeKind::Tor, self.site.leaves),
            spines => (NodeKind::Core, spines),
        };
        let joint = Joint {
            inner,
            inner_count,
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

impl BackboneLeafSpine {
    /// Checks the parameters.
    ///
    /// # Errors
    /// As [`LeafSpine::check`], and if there are no routers or no links to them, the links of a spine do not lead to as many
    /// routers, those of a site do not come out even, or their rate is zero.
    pub fn check(&self) -> Result<(), TopologyError> {
        self.site.check()?;
        let (routers, links) = ("backbone.routers", "backbone.links_per_spine");
        at_least_one(routers, self.routers)?;
        at_least_one(links, self.links_per_spine)?;
        if self.routers > MOST_ROUTERS {
            let cure = format_args!("give at most {MOST_ROUTERS}");
            return Err(TopologyError::new(routers, self.routers, "more than there is room for", cure));
        }
        if self.links_per_spine > self.routers {
            let problem = format_args!("each leads to another router, and there are {}", self.routers);
            let cure = format_args!("give at most {}, or more backbone.routers", self.routers);
            return Err(TopologyError::new(links, self.links_per_spine, problem, cure));
        }
        let Some(all) = self.site.spines.checked_mul(self.links_per_spine) else {
            let problem = format_args!("too many links for {} spines", self.site.spines);
            return Err(TopologyError::new(links, self.links_per_spine, problem, "give fewer"));
        };
        if !all.is_multiple_of(self.routers) {
            let problem = format_args!(
                "{} spines with {} links each have {all} links, which cannot be divided equally among the routers",
                self.site.spines, self.links_per_spine
            );
            let cure = format_args!("give a divisor of {all}, such as {all}, or other links_per_spine");
            return Err(TopologyError::new(routers, self.routers, problem, cure));
        }
        positive_rate("wan.link_rate", self.wan_rate)
    }

    /// Builds the network. The first half of the routers counts to the first site, the rest to the second.
    ///
    /// # Errors
    /// See [`BackboneLeafSpine::check`].
    pub fn build(&self) -> Result<Network, TopologyError> {
        self.check()?;
        let mut b = Builder::default();
        self.site.nodes(&mut b, 2);
        let of_second = self.routers / 2;
        let first = b.add_named("router", NodeKind::Border, self.routers - of_second, 0);
        b.add_named("router", NodeKind::Border, of_second, 1);
        for site in 0..2 {
            self.site.links(&mut b, site);
            for link in 0..self.site.spines * self.links_per_spine {
                let (spine, router) = self.ends(site, link);
                let (spine, router) = (b.node(NodeKind::Core, site, spine), NodeId(first.0 + router));
                let tiers = [Tier::Wan, Tier::Wan];
                b.pair(spine, router, self.wan_rate, self.wan_delay, self.site.switch_delay, tiers);
            }
        }
        Ok(b.finish())
    }

    /// The spine and the router at the ends of a link of a site: in the first one spine by spine, in the second router by
    /// router.
    const fn ends(&self, site: u32, link: u32) -> (u32, u32) {
        let Self { site: LeafSpine { spines, .. }, routers, links_per_spine, .. } = *self;
        match site {
            0 => (link / links_per_spine, link % routers),
            _ => (link % spines, link / (spines * links_per_spine / routers)),
        }
    }
}
