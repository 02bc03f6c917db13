//! Parking lot: a chain of switches with hosts at each, the standard case of one flow that meets several bottlenecks.

use super::{Builder, TopologyError, at_least_one, hosts_in_range, positive_rate};
use crate::network::{Network, NodeKind, Tier};
use farspan_units::{Duration, NodeId, Rate};

/// `bottlenecks + 1` switches in a row, with hosts at each. Hosts are numbered along the chain: a flow from the first
/// switch to the last crosses every bottleneck, one from a switch to the next crosses a single one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParkingLot {
    /// Links between the switches.
    pub bottlenecks: u32,
    /// Hosts at each switch.
    pub hosts_per_switch: u32,
    /// Rate of the host links.
    pub link_rate: Rate,
    /// Propagation of the host links, one way.
    pub link_delay: Duration,
    /// Processing in a switch; counts as part of the delay of each link that leads to one.
    pub switch_delay: Duration,
    /// Rate of the links between the switches.
    pub bottleneck_rate: Rate,
    /// Delay of each of them, one way.
    pub bottleneck_delay: Duration,
}

impl ParkingLot {
    /// The longest chain.
    const MAX_BOTTLENECKS: u32 = 1000;

    /// Builds the network: hosts `0..h` at the first switch, `h..2h` at the second, and so on.
    ///
    /// # Errors
    /// If there is no bottleneck, too many, no host at a switch, or a rate is zero.
    pub fn build(&self) -> Result<Network, TopologyError> {
        at_least_one("bottlenecks", self.bottlenecks)?;
        if self.bottlenecks > Self::MAX_BOTTLENECKS {
            let cure = format_args!("give from 1 to {}", Self::MAX_BOTTLENECKS);
            return Err(TopologyError::new("bottlenecks", self.bottlenecks, "the chain is too long", cure));
        }
        hosts_in_range("hosts_per_switch", self.hosts_per_switch, self.bottlenecks + 1)?;
        positive_rate("link_rate", self.link_rate)?;
        positive_rate("bottleneck_rate", self.bottleneck_rate)?;
        let mut b = Builder::default();
        let switches = self.bottlenecks + 1;
        b.add(NodeKind::Host, switches * self.hosts_per_switch, 0);
        let first = b.add_named("switch", NodeKind::Tor, switches, 0);
        for h in 0..switches * self.hosts_per_switch {
            let switch = NodeId(first.0 + h / self.hosts_per_switch);
            let tiers = [Tier::HostUp, Tier::HostDown];
            b.pair(NodeId(h), switch, self.link_rate, self.link_delay, self.switch_delay, tiers);
        }
        for s in 0..self.bottlenecks {
            let ends = [NodeId(first.0 + s), NodeId(first.0 + s + 1)];
            let (rate, delay) = (self.bottleneck_rate, self.bottleneck_delay);
            b.pair(ends[0], ends[1], rate, delay, self.switch_delay, [Tier::Fabric, Tier::Fabric]);
        }
        Ok(b.finish())
    }
}
