//! Pauses of a world: how long they were, and whether ports wait for each other.

use super::World;
use crate::node::{NetworkNode, Packets};
use farspan_fabric::switch::shared::pause::PauseRecord;
use farspan_units::{Bytes, NodeId, PortId};
use std::collections::BTreeMap;

impl World {
    /// How often and how long each port was paused, by id.
    pub(super) fn pauses(&self) -> impl Iterator<Item = PauseRecord> {
        (0..).map(NodeId).zip(self.nodes()).flat_map(|(node, place)| {
            let record = move |port| match place {
                NetworkNode::Host(host) => host.nic.pauses,
                NetworkNode::Switch(switch) => switch.fabric.pauses(PortId(port)),
            };
            self.plan.network.ports_of(node).map(record)
        })
    }

    /// The ports that are paused and will never go on.
    pub(super) fn deadlock(&self) -> Vec<PortId> {
        let mut waits_for = BTreeMap::new();
        let parts = self.engine.common();
        for (node, place) in (0..).map(NodeId).zip(self.nodes()) {
            let is_held = |port| match place {
                NetworkNode::Host(host) => host.is_held(),
                NetworkNode::Switch(switch) => switch.fabric.port(port).is_held(),
            };
            for port in self.plan.network.ports_of(node).map(PortId).filter(|port| is_held(*port)) {
                let to = self.plan.network.links[port.index()].to.0;
                let NetworkNode::Switch(switch) = self.node(to) else { continue };
                let packets = &parts[usize::from(self.map.locations[to as usize].0)].packets;
                waits_for.extend(switch.fabric.waits_for(port, packets).map(|ports| (port, ports)));
            }
        }
        in_cycles(waits_for)
    }

    /// Whether the packets under way take together what the buffers of switches hold.
    pub(super) fn pools_are_conserved(&self) -> bool {
        let held: Bytes = self
            .nodes()
            .map(|place| match place {
                NetworkNode::Host(_) => Bytes::ZERO,
                NetworkNode::Switch(switch) => switch.fabric.pooled(),
            })
            .sum();
        held == self.packets().map(Packets::charged).sum()
    }
}

/// The ports that will never go on: of those that are paused while packets wait at them, the ones that wait for such ports
/// alone. `waits_for`: of each paused port, those at which the packets lie that have to leave before it may go on.
fn in_cycles(mut waits_for: BTreeMap<PortId, Vec<PortId>>) -> Vec<PortId> {
    loop {
        let is_free = |ports: &Vec<PortId>| ports.iter().any(|port| !waits_for.contains_key(port));
        let free: Vec<_> =
            waits_for.iter().filter(|(_, ports)| is_free(ports)).map(|(port, _)| *port).collect();
        if free.is_empty() {
            return waits_for.into_keys().collect();
        }
        free.iter().for_each(|port| drop(waits_for.remove(port)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(waits: &[(u32, &[u32])]) -> Vec<u32> {
        let ports = |ports: &[u32]| ports.iter().copied().map(PortId).collect();
        let waits = waits.iter().map(|(port, on)| (PortId(*port), ports(on))).collect();
        in_cycles(waits).into_iter().map(|port| port.0).collect()
    }

    #[test]
    fn a_cycle_is_a_deadlock_with_all_that_waits_for_it() {
        assert_eq!(of(&[(1, &[2]), (2, &[3]), (3, &[1]), (4, &[2]), (5, &[4])]), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_chain_to_a_port_that_sends_is_none() {
        assert!(of(&[(1, &[2]), (2, &[3])]).is_empty());
    }

    #[test]
    fn one_packet_that_can_leave_frees_a_cycle() {
        assert!(of(&[(1, &[2]), (2, &[1, 9])]).is_empty());
    }
}
