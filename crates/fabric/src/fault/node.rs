//! The faults of one node's links.

use super::{Fault, FaultKind, Faults, LossDraws};
use crate::packet::Packet;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;
use farspan_units::random::mix;
use farspan_units::{Bytes, FlowId, PortId, Rate, Time};

/// Packets that faults have taken from a link, and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Packets of any kind.
    pub packets: u64,
    /// Their size on the wire.
    pub bytes: Bytes,
}

impl Lost {
    /// Counts a packet.
    pub fn add(&mut self, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
    }
}

/// The faults of the links that leave one node.
#[derive(Clone, Debug)]
pub struct NodeFaults {
    /// All of the world.
    faults: Arc<[Fault]>,
    seed: u64,
    first_port: u32,
    /// The faults of each port.
    links: Vec<LinkFaults>,
    /// Draws by fault and flow, for loss processes that number the packets of flows.
    flows: BTreeMap<(u32, FlowId), LossDraws>,
}

/// The faults of one link.
#[derive(Clone, Debug)]
struct LinkFaults {
    /// The numbers of its faults, each with the draws of a loss process that numbers what the port sends.
    entries: Vec<(u32, LossDraws)>,
    lost: Lost,
}

impl NodeFaults {
    /// The faults of the links that leave from `ports`, those of one node; `None` if none of them has any.
    #[must_use]
    pub fn new(faults: &Faults, ports: Range<u32>, seed: u64) -> Option<Self> {
        if faults.all.is_empty() {
            return None;
        }
        let entries = |port: u32| {
            let of_port = faults.of_port[port as usize].iter();
            of_port.map(|&n| (n, LossDraws::new(seed, entity(n, port)))).collect::<Vec<_>>()
        };
        let first_port = ports.start;
        let links: Vec<_> =
            ports.map(|port| LinkFaults { entries: entries(port), lost: Lost::default() }).collect();
        let any = links.iter().any(|link| !link.entries.is_empty());
        any.then(|| Self { faults: Arc::clone(&faults.all), seed, first_port, links, flows: BTreeMap::new() })
    }

    fn link(&self, port: PortId) -> &LinkFaults {
        &self.links[(port.0 - self.first_port) as usize]
    }

    fn of(&self, port: PortId) -> impl Iterator<Item = &Fault> {
        self.link(port).entries.iter().map(|&(n, _)| &self.faults[n as usize])
    }

    /// When the state of which ports changes: what waits is lost, or the rate is another.
    #[must_use]
    pub fn changes(&self) -> BTreeSet<(Time, PortId)> {
        let ports = (self.first_port..).take(self.links.len()).map(PortId);
        let of_port = |port| {
            self.of(port).flat_map(move |fault| {
                let (begins, ends) = match fault.kind {
                    FaultKind::LinkDown => (true, false),
                    FaultKind::Rate(_) => (true, fault.until != Time::MAX),
                    FaultKind::BlackHole | FaultKind::Loss(_) => (false, false),
                };
                let times = [begins.then_some(fault.at), ends.then_some(fault.until)];
                times.into_iter().flatten().map(move |time| (time, port))
            })
        };
        ports.flat_map(of_port).collect()
    }

    /// Whether the port takes nothing at `now`.
    #[must_use]
    pub fn is_down(&self, port: PortId, now: Time) -> bool {
        self.of(port).any(|fault| fault.kind == FaultKind::LinkDown && fault.holds(now))
    }

    /// The rate of services that begin at `now`; `None`: the link's own.
    #[must_use]
    pub fn rate(&self, port: PortId, now: Time) -> Option<Rate> {
        let rate = |fault: &Fault| match fault.kind {
            FaultKind::Rate(rate) if fault.holds(now) => Some((fault.at, rate)),
            _ => None,
        };
        // The last one counts among equals.
        self.of(port).filter_map(rate).max_by_key(|&(at, _)| at).map(|(_, rate)| rate)
    }

    /// The last bit of a packet leaves `port` at `now`. Returns whether the packet is lost, and counts it if
    /// so. Calls must be in the order in which packets leave the node: by time, then port.
    pub fn loses(&mut self, port: PortId, now: Time, packet: &Packet) -> bool {
        let link = &mut self.links[(port.0 - self.first_port) as usize];
        let mut lost = false;
        for (number, draws) in &mut link.entries {
            let fault = &self.faults[*number as usize];
            if !fault.meets(now) {
                continue;
            }
            lost |= match &fault.kind {
                FaultKind::LinkDown | FaultKind::BlackHole => true,
                FaultKind::Rate(_) => false,
                FaultKind::Loss(loss) if !loss.concerns(packet) => false,
                FaultKind::Loss(loss) if loss.is_per_flow() => {
                    let own = entity(*number, self.first_port);
                    let fresh = || LossDraws::new(self.seed, mix(own) ^ u64::from(packet.flow.0));
                    let draws = self.flows.entry((*number, packet.flow)).or_insert_with(fresh);
                    draws.next_is_lost(&loss.process)
                }
                FaultKind::Loss(loss) => draws.next_is_lost(&loss.process),
            };
        }
        if lost {
            link.lost.add(packet.size());
        }
        lost
    }

    /// Counts packets that were lost before they left.
    pub fn count(&mut self, port: PortId, more: Lost) {
        let lost = &mut self.links[(port.0 - self.first_port) as usize].lost;
        lost.packets += more.packets;
        lost.bytes += more.bytes;
    }

    /// The packets and bytes that the link behind a port has lost to faults.
    #[must_use]
    pub fn lost(&self, port: PortId) -> Lost {
        self.link(port).lost
    }
}

/// Keeps the draws of fault `number` on one link apart from all others.
const fn entity(number: u32, port: u32) -> u64 {
    (number as u64) << 32 | port as u64
}
