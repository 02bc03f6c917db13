//! The nodes of a network, as the engines run them: hosts and switches.

mod common;
mod datagram;
pub(crate) mod host;
pub(crate) mod nic;
pub(crate) mod switch;

pub(crate) use common::{Common, Packets};

use crate::engine::{Key, Node, Outbox, Payload, Window};
use farspan_fabric::PacketId;
use farspan_units::Time;
use host::Host;
use switch::Switch;

/// A node of the network.
pub(crate) enum NetworkNode {
    Host(Box<Host>),
    Switch(Box<Switch>),
}

impl Node for NetworkNode {
    type Msg = PacketId;
    type Shared = Common;

    fn handle(
        &mut self,
        key: Key,
        payload: Payload<PacketId>,
        common: &mut Common,
        out: &mut impl Outbox<PacketId>,
    ) {
        match self {
            Self::Host(host) => host.handle(key, payload, common, out),
            Self::Switch(switch) => switch.handle(key, payload, &mut common.packets, out),
        }
    }

    fn run(&mut self, common: &mut Common, window: &mut Window<'_, PacketId>) -> Time {
        match self {
            Self::Host(host) => host.run(common, window),
            Self::Switch(switch) => switch.run(&mut common.packets, &mut common.buckets, window),
        }
    }

    fn is_held(&self) -> bool {
        match self {
            Self::Host(host) => host.is_held(),
            Self::Switch(switch) => switch.fabric.is_held(),
        }
    }
}
