//! The routes of one switch, and the lookup that each packet makes.

use crate::network::Network;
use alloc::sync::Arc;
use alloc::vec::Vec;
use farspan_units::random::mix;
use farspan_units::{FlowId, HostId, NodeId, PortId};

/// The ports of one switch towards one destination, counted from the switch's first: `count` consecutive ones from `first`,
/// or as many entries of the table's members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Group {
    pub(super) first: u32,
    /// With [`Group::LISTED`] if `first` is an index into the members.
    pub(super) count: u32,
}

impl Group {
    pub(super) const LISTED: u32 = 1 << 31;

    /// No ports.
    pub(super) const NONE: Self = Self { first: 0, count: Self::LISTED };

    pub(super) const fn is_none(self) -> bool {
        self.count == Self::NONE.count
    }

    pub(super) const fn or(self, other: Self) -> Self {
        if self.is_none() { other } else { self }
    }
}

/// Groups towards all hosts. Switches that see the network alike share them: the cores of a fat tree, the aggregation
/// switches of a pod, all leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Towards {
    /// A group for each [block](super::Blocks) of hosts.
    pub(super) groups: Arc<[Group]>,
    pub(super) members: Arc<[u32]>,
}

/// The routes of one switch: a group of equal-cost ports towards every leaf switch (the one a host hangs off).
#[derive(Clone, Debug)]
pub struct RouteTable {
    pub(super) towards: Towards,
    /// A host's block is its number without so many of the low bits.
    shift: u32,
    /// The lowest of its hosts.
    pub(super) own_first: HostId,
    /// The ports to its hosts, counted from its first, from the lowest host on; [`NOT_OWN`] for hosts of others between
    /// them.
    own: Vec<u32>,
    pub(super) first_port: PortId,
    /// Hashed with (flow, entropy).
    salt: u64,
}

/// Stands for a host that does not hang off the switch.
const NOT_OWN: u32 = u32::MAX;

/// A table as the loop over the packets of a window reads it: slices that were taken once.
#[derive(Clone, Copy)]
pub(crate) struct RouteView<'a> {
    groups: &'a [Group],
    members: &'a [u32],
    own: &'a [u32],
    own_first: u32,
    shift: u32,
    salt: u64,
}

impl RouteView<'_> {
    /// The port for a packet, counted from the switch's first: see [`RouteTable::port`].
    #[inline(always)]
    pub(crate) fn place(self, to: HostId, flow: FlowId, entropy: u16) -> Option<u32> {
        match self.own.get(to.0.wrapping_sub(self.own_first) as usize) {
            Some(&own) if own != NOT_OWN => return Some(own),
            _ => {}
        }
        let Group { first, count } = self.groups[(to.0 >> self.shift) as usize];
        if count == 1 {
            return Some(first);
        }
        let hash = mix(self.salt ^ (u64::from(flow.0) << 16 | u64::from(entropy)));
        let pick = |count: u32| (((hash >> 32) * u64::from(count)) >> 32) as u32;
        if count & Group::LISTED == 0 {
            return Some(first + pick(count));
        }
        let count = count & !Group::LISTED;
        (count > 0).then(|| self.members[(first + pick(count)) as usize])
    }
}

impl RouteTable {
    /// A table without hosts of its own. `salt` is hashed with (flow, entropy).
    pub(super) const fn new(towards: Towards, first_port: PortId, shift: u32, salt: u64) -> Self {
        Self { towards, shift, own_first: HostId(0), own: Vec::new(), first_port, salt }
    }

    /// Routes to the hosts that hang off the switch.
    pub(super) fn add_own(&mut self, network: &Network, leaf: NodeId) {
        let to = |port: &u32| network.links[*port as usize].to.0;
        let ports = || network.ports_of(leaf).filter(|port| to(port) < network.hosts);
        let first = ports().map(|port| to(&port)).min().expect("a leaf has hosts");
        let last = ports().map(|port| to(&port)).max().expect("a leaf has hosts");
        self.own_first = HostId(first);
        self.own = alloc::vec![NOT_OWN; (last - first + 1) as usize];
        for port in ports() {
            self.own[(to(&port) - first) as usize] = port - self.first_port.0;
        }
    }

    #[inline(always)]
    pub(crate) fn view(&self) -> RouteView<'_> {
        RouteView {
            groups: &self.towards.groups,
            members: &self.towards.members,
            own: &self.own,
            own_first: self.own_first.0,
            shift: self.shift,
            salt: self.salt,
        }
    }

    /// The port for a packet to `to`: the hash of (salt, flow, entropy) picks among equal-cost ports. `None` if there is no
    /// path.
    #[must_use]
    pub fn port(&self, to: HostId, flow: FlowId, entropy: u16) -> Option<PortId> {
        self.view().place(to, flow, entropy).map(|place| self.id(place))
    }

    const fn id(&self, place: u32) -> PortId {
        PortId(self.first_port.0 + place)
    }

    /// The port to one of its own hosts.
    pub(super) fn own(&self, to: HostId) -> Option<PortId> {
        let own = self.own.get(to.0.wrapping_sub(self.own_first.0) as usize);
        own.filter(|own| **own != NOT_OWN).map(|&own| self.id(own))
    }

    /// The equal-cost ports towards the leaf of a host; one that is listed twice gets twice as much. None towards its own
    /// hosts.
    pub(crate) fn group_of(&self, to: HostId) -> impl Iterator<Item = PortId> + '_ {
        let group = self.towards.groups[(to.0 >> self.shift) as usize];
        let Group { first, count } = if self.own(to).is_some() { Group::NONE } else { group };
        let places = first..first + (count & !Group::LISTED);
        places.map(move |place| match count & Group::LISTED {
            0 => self.id(place),
            _ => self.id(self.towards.members[place as usize]),
        })
    }
}
