//! Topologies by generator, and any other by its nodes and links. Each checks its parameters and names the cure.

mod builder;
mod graph;
mod leaf_spine;
mod parking_lot;

pub use graph::{Graph, GraphError, GraphGroup, GraphLink, GraphNode, GraphPart};
pub use leaf_spine::{BackboneLeafSpine, DualLeafSpine, LeafSpine};
pub use parking_lot::ParkingLot;

use crate::network::{Network, NodeKind, Tier};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use builder::Builder;
use core::fmt::Display;
use farspan_units::{Duration, NodeId, Rate};

/// Why a topology cannot be built.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{parameter} = {value}: {problem}; {cure}")]
pub struct TopologyError {
    /// The parameter, as in a scenario below `[topology]`.
    pub parameter: &'static str,
    /// Its value.
    pub value: String,
    /// The problem.
    pub problem: String,
    /// The cure: how to change the parameters.
    pub cure: String,
}

/// A three-tier fat tree (Al-Fares et al., SIGCOMM'08): pods of k/2 ToRs and k/2 aggregation switches, each of which meets
/// k/2 of (k/2)^2 cores.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FatTree {
    /// Switch radix: even, at least 2.
    pub k: u32,
    /// How many pods there are; k in a whole tree.
    pub pods: u32,
    /// Hosts of each ToR; k/2 in a whole tree.
    pub hosts_per_tor: u32,
    /// Rate of the hosts' links.
    pub link_rate: Rate,
    /// Rate of the links between switches.
    pub fabric_rate: Rate,
    /// Propagation of every link, one way.
    pub link_delay: Duration,
    /// Processing in a switch; counts as part of the delay of each link that leads to one.
    pub switch_delay: Duration,
    /// Oversubscription at the ToR and at the aggregation switch, each at least 1: uplinks are thinned out by it.
    pub oversubscription: [u32; 2],
}

/// Two fat trees, each with one border switch, and parallel links between the borders (Uno section 5.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DualFatTree {
    /// Each site.
    pub site: FatTree,
    /// Parallel links from every core to its border switch.
    pub core_border_links: u32,
    /// Parallel links between the border switches.
    pub wan_links: u32,
    /// Rate of each of them.
    pub wan_rate: Rate,
    /// Delay of each of them, one way.
    pub wan_delay: Duration,
}

/// Senders on the left, receivers on the right, one link between two switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dumbbell {
    /// Hosts of each of the two switches.
    pub hosts_per_side: u32,
    /// Rate of the host links.
    pub link_rate: Rate,
    /// Propagation of the host links, one way.
    pub link_delay: Duration,
    /// Processing in a switch; counts as part of the delay of each link that leads to one.
    pub switch_delay: Duration,
    /// Rate of the link between the switches.
    pub bottleneck_rate: Rate,
    /// Delay of the link between the switches, one way.
    pub bottleneck_delay: Duration,
    /// Whether the two switches are in different sites.
    pub two_sites: bool,
}

/// Hosts around one switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Star {
    /// Processing in the switch; counts as part of the delay of each link that leads to it.
    pub switch_delay: Duration,
    /// The rate and delay of each host's link, one way; one entry a host.
    pub hosts: Vec<(Rate, Duration)>,
}

impl TopologyError {
    fn new(parameter: &'static str, value: impl Display, problem: impl Display, cure: impl Display) -> Self {
        Self { parameter, value: value.to_string(), problem: problem.to_string(), cure: cure.to_string() }
    }
}

fn positive_rate(parameter: &'static str, rate: Rate) -> Result<(), TopologyError> {
    if rate.is_zero() {
        return Err(TopologyError::new(
            parameter,
            rate,
            "no packet can be sent",
            "give a rate above zero, such as \"100Gbps\"",
        ));
    }
    Ok(())
}

fn at_least_one(parameter: &'static str, count: u32) -> Result<(), TopologyError> {
    if count == 0 {
        return Err(TopologyError::new(parameter, count, "there is no path", "give at least 1"));
    }
    Ok(())
}

/// The most pods of a fat tree.
const MOST_PODS: u32 = 1024;

/// The most hosts of a site: their numbers fit into a packet's 24 bits, with room to spare.
const MOST_HOSTS: u64 = 1 << 20;

/// Checks the number of hosts of a site: `per_switch` at each of some switches.
fn hosts_in_range(parameter: &'static str, per_switch: u32, switches: u32) -> Result<(), TopologyError> {
    at_least_one(parameter, per_switch)?;
    let hosts = u64::from(switches) * u64::from(per_switch);
    if hosts < 2 {
        return Err(TopologyError::new(
            parameter,
            per_switch,
            "there is no other host to send to",
            "give at least 2 hosts",
        ));
    }
    if hosts > MOST_HOSTS {
        let problem = format_args!("at {switches} switches that makes {hosts} hosts");
        return Err(TopologyError::new(
            parameter,
            per_switch,
            problem,
            format_args!("keep to {MOST_HOSTS} in all"),
        ));
    }
    Ok(())
}

impl FatTree {
    /// The largest k: 524,288 hosts a site.
    pub const MAX_K: u32 = 128;

    /// A whole tree with equal links: k pods, k^3/4 hosts, no oversubscription, no processing in switches.
    #[must_use]
    pub const fn new(k: u32, link_rate: Rate, link_delay: Duration) -> Self {
        Self {
            k,
            pods: k,
            hosts_per_tor: k / 2,
            link_rate,
            fabric_rate: link_rate,
            link_delay,
            switch_delay: Duration::ZERO,
            oversubscription: [1, 1],
        }
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// If k is odd, too small or too large, there are no or too many pods or hosts, a rate is zero, or the oversubscription
    /// does not divide the uplinks.
    pub fn check(&self) -> Result<(), TopologyError> {
        if self.k < 2 || !self.k.is_multiple_of(2) {
            return Err(TopologyError::new(
                "k",
                self.k,
                "a fat tree's switches have an even number of ports",
                format_args!("give an even k from 2 to {}, such as 8", Self::MAX_K),
            ));
        }
        if self.k > Self::MAX_K {
            let hosts = |k: u32| u64::from(k).pow(3) / 4;
            return Err(TopologyError::new(
                "k",
                self.k,
                format_args!(
                    "a site of {} hosts is too large: host numbers have room for {MOST_HOSTS}",
                    hosts(self.k)
                ),
                format_args!("give at most {}, which makes {} hosts", Self::MAX_K, hosts(Self::MAX_K)),
            ));
        }
        at_least_one("pods", self.pods)?;
        if self.pods > MOST_PODS {
            let cure = format_args!("give at most {MOST_PODS}");
            return Err(TopologyError::new("pods", self.pods, "more links than a core has room for", cure));
        }
        hosts_in_range("hosts_per_tor", self.hosts_per_tor, self.tors())?;
        positive_rate("link_rate", self.link_rate)?;
        positive_rate("fabric_rate", self.fabric_rate)?;
        for factor in self.oversubscription {
            if factor == 0 || !(self.k / 2).is_multiple_of(factor) {
                return Err(TopologyError::new(
                    "oversubscription",
                    factor,
                    format_args!(
                        "it does not divide the {} uplinks of a switch of radix {}",
                        self.k / 2,
                        self.k
                    ),
                    "give a divisor of k/2, 1 for none",
                ));
            }
        }
        Ok(())
    }

    /// Hosts of one tree.
    #[must_use]
    pub const fn hosts(&self) -> u32 {
        self.tors() * self.hosts_per_tor
    }

    const fn tors(&self) -> u32 {
        self.pods * (self.k / 2)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// See [`FatTree::check`].
    pub fn build(&self) -> Result<Network, TopologyError> {
        self.check()?;
        let mut b = Builder::default();
        self.nodes(&mut b, 1);
        self.links(&mut b, 0);
        Ok(b.finish())
    }

    const fn aggs_per_pod(&self) -> u32 {
        self.k / 2 / self.oversubscription[0]
    }

    const fn agg_uplinks(&self) -> u32 {
        self.k / 2 / self.oversubscription[1]
    }

    const fn cores(&self) -> u32 {
        self.aggs_per_pod() * self.agg_uplinks()
    }

    /// Adds the nodes of `sites` trees, level by level, so that each level is numbered through the sites.
    fn nodes(&self, b: &mut Builder, sites: u32) {
        let levels = [
            (NodeKind::Host, self.hosts()),
            (NodeKind::Tor, self.tors()),
            (NodeKind::Agg, self.pods * self.aggs_per_pod()),
            (NodeKind::Core, self.cores()),
        ];
        for (kind, count) in levels {
            for site in 0..sites {
                b.add(kind, count, site);
            }
        }
    }

    /// Adds the links of one site's tree. Aggregation switch p of each pod meets cores p, p + a, p + 2a, ... of a = its
    /// number per pod.
    fn links(&self, b: &mut Builder, site: u32) {
        let half = self.k / 2;
        let node = |kind: NodeKind, i: u32, b: &Builder| b.node(kind, site, i);
        for h in 0..self.hosts() {
            let (host, tor) = (node(NodeKind::Host, h, b), node(NodeKind::Tor, h / self.hosts_per_tor, b));
            self.pair(b, host, tor, self.link_rate, [Tier::HostUp, Tier::HostDown]);
        }
        let fabric = [Tier::Fabric, Tier::Fabric];
        for pod in 0..self.pods {
            for p in 0..self.aggs_per_pod() {
                let agg = node(NodeKind::Agg, pod * self.aggs_per_pod() + p, b);
                for t in 0..half {
                    let tor = node(NodeKind::Tor, pod * half + t, b);
                    self.pair(b, tor, agg, self.fabric_rate, fabric);
                }
                for l in 0..self.agg_uplinks() {
                    let core = node(NodeKind::Core, p + self.aggs_per_pod() * l, b);
                    self.pair(b, agg, core, self.fabric_rate, fabric);
                }
            }
        }
    }

    fn pair(&self, b: &mut Builder, low: NodeId, high: NodeId, rate: Rate, tiers: [Tier; 2]) {
        b.pair(low, high, rate, self.link_delay, self.switch_delay, tiers);
    }
}

impl DualFatTree {
    /// Checks the parameters.
    ///
    /// # Errors
    /// As [`FatTree::check`], and if a bundle is empty or the rate between the sites is zero.
    pub fn check(&self) -> Result<(), TopologyError> {
        self.site.check()?;
        at_least_one("core_border_links", self.core_border_links)?;
        at_least_one("wan.links", self.wan_links)?;
        positive_rate("wan.link_rate", self.wan_rate)
    }

    /// Builds the network.
    ///
    /// # Errors
    /// See [`DualFatTree::check`].
    pub fn build(&self) -> Result<Network, TopologyError> {
        self.check()?;
        let mut b = Builder::default();
        self.site.nodes(&mut b, 2);
        let joint = Joint {
            inner: NodeKind::Core,
            inner_count: self.site.cores(),
            core_links: self.core_border_links,
            core_rate: self.site.fabric_rate,
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

/// The joint of two sites: a border switch each, links from all of its innermost switches to it, and links between the
/// two.
struct Joint {
    /// The switches of a site that are linked to its border switch.
    inner: NodeKind,
    inner_count: u32,
    core_links: u32,
    core_rate: Rate,
    core_delay: Duration,
    wan_links: u32,
    wan_rate: Rate,
    wan_delay: Duration,
    switch_delay: Duration,
}

impl Joint {
    /// Adds border switches and their links; `inside` adds those inside a site.
    fn build(&self, b: &mut Builder, inside: impl Fn(&mut Builder, u32)) {
        let border = [b.add(NodeKind::Border, 1, 0), b.add(NodeKind::Border, 1, 1)];
        for (site, &border) in (0..).zip(&border) {
            inside(b, site);
            for core in 0..self.inner_count {
                let core = b.node(self.inner, site, core);
                for _ in 0..self.core_links {
                    let tiers = [Tier::Border, Tier::Border];
                    b.pair(core, border, self.core_rate, self.core_delay, self.switch_delay, tiers);
                }
            }
        }
        for _ in 0..self.wan_links {
            let tiers = [Tier::Wan, Tier::Wan];
            b.pair(border[0], border[1], self.wan_rate, self.wan_delay, self.switch_delay, tiers);
        }
    }
}

impl Dumbbell {
    /// Builds the network: hosts `0..n` on the left, `n..2n` on the right.
    ///
    /// # Errors
    /// If a switch has no hosts or a rate is zero.
    pub fn build(&self) -> Result<Network, TopologyError> {
        at_least_one("hosts_per_side", self.hosts_per_side)?;
        positive_rate("link_rate", self.link_rate)?;
        positive_rate("bottleneck_rate", self.bottleneck_rate)?;
        let mut b = Builder::default();
        let right = u32::from(self.two_sites);
        b.add(NodeKind::Host, self.hosts_per_side, 0);
        b.add(NodeKind::Host, self.hosts_per_side, right);
        let tors = [b.add(NodeKind::Tor, 1, 0), b.add(NodeKind::Tor, 1, right)];
        for h in 0..2 * self.hosts_per_side {
            let tor = tors[(h / self.hosts_per_side) as usize];
            let tiers = [Tier::HostUp, Tier::HostDown];
            b.pair(NodeId(h), tor, self.link_rate, self.link_delay, self.switch_delay, tiers);
        }
        let tier = if self.two_sites { Tier::Wan } else { Tier::Fabric };
        b.pair(
            tors[0],
            tors[1],
            self.bottleneck_rate,
            self.bottleneck_delay,
            self.switch_delay,
            [tier, tier],
        );
        Ok(b.finish())
    }
}

impl Star {
    /// Builds the network.
    ///
    /// # Errors
    /// If there are fewer than two hosts or a rate is zero.
    pub fn build(&self) -> Result<Network, TopologyError> {
        if self.hosts.len() < 2 {
            return Err(TopologyError::new(
                "hosts",
                self.hosts.len(),
                "there is no other host to send to",
                "give at least 2",
            ));
        }
        let mut b = Builder::default();
        b.add(NodeKind::Host, self.hosts.len() as u32, 0);
        let tor = b.add(NodeKind::Tor, 1, 0);
        for (h, &(rate, delay)) in (0..).zip(&self.hosts) {
            positive_rate("link_rate", rate)?;
            b.pair(NodeId(h), tor, rate, delay, self.switch_delay, [Tier::HostUp, Tier::HostDown]);
        }
        Ok(b.finish())
    }
}

#[cfg(test)]
mod tests;
