//! A switch whose links have faults, or whose routes change. All its events are handled in order of time and nothing
//! passes a port, so that no state is met before its time; what leaves is held until the order in which it left is known.

use super::{Switch, leave, ones, wake_at_completion};
use crate::engine::{EventClass, Key, Outbox, Window};
use crate::fault::{Held, Holding};
use farspan_fabric::fault::Lost;
use farspan_fabric::{Admission, NodeFaults, PacketId, Packets};
use farspan_units::{Duration, PortId, Time};

/// Kinds of a switch's fault events. Its id is the port whose state changes, or the number of the new routes.
const PORT: u8 = 0;
const ROUTES: u8 = 1;

/// The event of a change of a port.
pub(crate) const fn port_changes(at: Time, port: PortId) -> Key {
    Key::new(at, EventClass::Fault, port.0, PORT)
}

/// The event of the change to the routes with this number.
pub(crate) const fn routes_change(at: Time, number: u32) -> Key {
    Key::new(at, EventClass::Fault, number, ROUTES)
}

/// The faults of a switch's links.
pub(crate) struct SwitchFaults {
    pub(crate) links: NodeFaults,
    held: Held,
}

impl SwitchFaults {
    pub(crate) fn new(links: NodeFaults) -> Self {
        Self { links, held: Held::default() }
    }
}

impl Switch {
    /// Handles one event, as the oracle hands them out.
    #[cold]
    pub(super) fn handle_with_faults(
        &mut self,
        key: Key,
        arrived: Option<PacketId>,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        let mut faults = self.faults.take().expect("a switch with faults");
        let free = match (key.class(), arrived) {
            (EventClass::Arrival, Some(id)) => {
                let (port, admission) = self.admit(&mut faults, key.at(), id, packets);
                matches!(admission, Admission::Started(_)).then_some(port)
            }
            (EventClass::Completion, _) => {
                let port = (key.id() - self.first_port) as usize;
                // A port that stopped no longer completes what it was sending.
                let due = self.ports[port].port.next_at() == key.at();
                self.settle_port(port, &mut faults, key.at(), packets, out);
                due.then_some(port)
            }
            (EventClass::Fault, _) => {
                self.change(Some(&mut faults), key, packets);
                None
            }
            _ => {
                self.sample(key, out);
                None
            }
        };
        faults.held.release(&mut faults.links, packets, out);
        self.faults = Some(faults);
        if let Some(port) = free {
            wake_at_completion(self.ports[port].channel, &self.ports[port].port, out);
        }
    }

    /// Handles all events of a window.
    #[cold]
    pub(super) fn run_with_faults(
        &mut self,
        packets: &mut Packets,
        window: &mut Window<'_, PacketId>,
    ) -> Time {
        let mut faults = self.faults.take().expect("a switch with faults");
        window.sort();
        while let Some((key, arrived)) = window.next() {
            if let Some(id) = arrived {
                let port = self.route(id, packets);
                self.settle_port(port, &mut faults, key.at(), packets, window);
                self.admit(&mut faults, key.at(), id, packets);
                self.touched[port / 64] |= 1 << (port % 64);
                continue;
            }
            self.settle_all(&mut faults, key.at(), packets, window);
            match key.class() {
                EventClass::Fault => self.change(Some(&mut faults), key, packets),
                _ => self.sample(key, window),
            }
        }
        let last = window.end() - Duration::from_ps(1);
        let next = self.settle_all(&mut faults, last, packets, window);
        faults.held.release(&mut faults.links, packets, window);
        self.faults = Some(faults);
        next
    }

    /// A packet arrives, and everything due has been done: gives its port, too.
    fn admit(
        &mut self,
        faults: &mut SwitchFaults,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
    ) -> (usize, Admission) {
        let port = self.route(id, packets);
        let channel = self.ports[port].channel;
        if faults.links.is_down(PortId(channel.id), now) {
            let mut lost = Lost::default();
            lost.add(packets.remove(id).size());
            faults.links.count(PortId(channel.id), lost);
            return (port, Admission::Dropped);
        }
        (port, self.ports[port].admit(now, id, packets, self.jitter))
    }

    /// Does all that is due up to `until` at a port, and holds what leaves.
    fn settle_port(
        &mut self,
        port: usize,
        faults: &mut SwitchFaults,
        until: Time,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        let egress = &mut self.ports[port];
        while egress.port.next_at() <= until {
            let now = egress.port.next_at();
            egress.advance(until, packets, self.jitter, &mut Holding { now, held: &mut faults.held, out });
        }
    }

    /// The same at all busy ports; gives when something is due next, or [`Time::MAX`].
    fn settle_all(
        &mut self,
        faults: &mut SwitchFaults,
        until: Time,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) -> Time {
        let mut next = Time::MAX;
        for word in 0..self.touched.len() {
            for port in ones(word, self.touched[word]) {
                self.settle_port(port, faults, until, packets, out);
                next = next.min(leave(port, &self.ports[port], &mut self.touched[word]));
            }
        }
        next
    }

    /// The state of a port changes, or the routes; everything due has been done.
    #[cold]
    pub(super) fn change(&mut self, faults: Option<&mut SwitchFaults>, key: Key, packets: &mut Packets) {
        if key.kind() == ROUTES {
            self.routes = self.plan.reroutes[key.id() as usize].1.tables[self.node.index()].clone();
            return;
        }
        let faults = faults.expect("only faults change ports");
        let (id, now) = (PortId(key.id()), key.at());
        let port = &mut self.ports[(id.0 - self.first_port) as usize].port;
        if faults.links.is_down(id, now) {
            faults.links.count(id, port.flush(now, packets));
        }
        let own = self.plan.network.links[id.index()].rate;
        port.set_rate(faults.links.rate(id, now).unwrap_or(own));
    }
}
