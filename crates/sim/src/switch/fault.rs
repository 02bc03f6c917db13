//! A switch whose links have faults, whose ports are traced, or whose routes change. All its events are handled in order of time and nothing
//! passes a port, so that no state is met before its time; what leaves is held until the order in which it left is known.

use super::{Switch, leave, ones, wake_at_completion};
use crate::engine::{EventClass, Key, Outbox, Window};
use crate::watch::{Holding, Watch};
use farspan_fabric::fault::Lost;
use farspan_fabric::{Admission, PacketId, Packets};
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

impl Switch {
    /// Handles one event, as the oracle hands them out.
    #[cold]
    pub(super) fn handle_watched(
        &mut self,
        key: Key,
        arrived: Option<PacketId>,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        let mut watch = self.watch.take().expect("a watched switch");
        let free = match (key.class(), arrived) {
            (EventClass::Arrival, Some(id)) => {
                let (port, admission) = self.admit(&mut watch, key.at(), id, packets);
                matches!(admission, Admission::Started(_)).then_some(port)
            }
            (EventClass::Completion, _) => {
                let port = (key.id() - self.first_port) as usize;
                // A port that stopped no longer completes what it was sending.
                let due = self.ports[port].port.next_at() == key.at();
                self.settle_port(port, &mut watch, key.at(), packets, out);
                due.then_some(port)
            }
            (EventClass::Fault, _) => {
                self.change(Some(&mut watch), key, packets);
                None
            }
            _ => {
                self.sample(key, out);
                None
            }
        };
        watch.release(packets, out);
        self.watch = Some(watch);
        if let Some(port) = free {
            wake_at_completion(self.ports[port].channel, &self.ports[port].port, out);
        }
    }

    /// Handles all events of a window.
    #[cold]
    pub(super) fn run_watched(&mut self, packets: &mut Packets, window: &mut Window<'_, PacketId>) -> Time {
        let mut watch = self.watch.take().expect("a watched switch");
        window.sort();
        while let Some((key, arrived)) = window.next() {
            if let Some(id) = arrived {
                let port = self.route(id, packets);
                self.settle_port(port, &mut watch, key.at(), packets, window);
                self.admit(&mut watch, key.at(), id, packets);
                self.touched[port / 64] |= 1 << (port % 64);
                continue;
            }
            self.settle_all(&mut watch, key.at(), packets, window);
            // What has left is not in a port that stops.
            watch.release(packets, window);
            match key.class() {
                EventClass::Fault => self.change(Some(&mut watch), key, packets),
                _ => self.sample(key, window),
            }
        }
        let last = window.end() - Duration::from_ps(1);
        let next = self.settle_all(&mut watch, last, packets, window);
        watch.release(packets, window);
        self.watch = Some(watch);
        next
    }

    /// A packet arrives, and everything due has been done: gives its port, too.
    fn admit(
        &mut self,
        watch: &mut Watch,
        now: Time,
        id: PacketId,
        packets: &mut Packets,
    ) -> (usize, Admission) {
        let port = self.route(id, packets);
        let egress = &mut self.ports[port];
        let (channel, before) = (PortId(egress.channel.id), packets[id]);
        if watch.is_down(channel, now) {
            let mut lost = Lost::default();
            lost.add(packets.remove(id).size());
            watch.count(channel, lost);
            watch.tap.iter_mut().for_each(|tap| tap.refused(now, channel, &before));
            return (port, Admission::Dropped);
        }
        let admission = egress.admit(now, id, packets, self.jitter);
        if let Some(tap) = &mut watch.tap {
            let after = (!matches!(admission, Admission::Dropped)).then(|| packets[id]);
            tap.admitted(now, channel, &before, (&egress.port, admission), after.as_ref());
        }
        (port, admission)
    }

    /// Does all that is due up to `until` at a port, and holds what leaves.
    fn settle_port(
        &mut self,
        port: usize,
        watch: &mut Watch,
        until: Time,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        let egress = &mut self.ports[port];
        while egress.port.next_at() <= until {
            let now = egress.port.next_at();
            egress.advance(until, packets, self.jitter, &mut Holding { now, held: &mut watch.held, out });
            if let Some(tap) = &mut watch.tap
                && let Some(id) = watch.held.last()
            {
                tap.leaves(now, PortId(egress.channel.id), &packets[id], &egress.port);
            }
        }
    }

    /// The same at all busy ports; gives when something is due next, or [`Time::MAX`].
    fn settle_all(
        &mut self,
        watch: &mut Watch,
        until: Time,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) -> Time {
        let mut next = Time::MAX;
        for word in 0..self.touched.len() {
            for port in ones(word, self.touched[word]) {
                self.settle_port(port, watch, until, packets, out);
                next = next.min(leave(port, &self.ports[port], &mut self.touched[word]));
            }
        }
        next
    }

    /// The state of a port changes, or the routes; everything due has been done.
    #[cold]
    pub(super) fn change(&mut self, watch: Option<&mut Watch>, key: Key, packets: &mut Packets) {
        if key.kind() == ROUTES {
            self.routes = self.plan.reroutes[key.id() as usize].1.tables[self.node.index()].clone();
            return;
        }
        let watch = watch.expect("only faults change ports");
        let (id, now) = (PortId(key.id()), key.at());
        let port = &mut self.ports[(id.0 - self.first_port) as usize].port;
        if watch.is_down(id, now) {
            watch.count(id, port.flush(now, packets));
            watch.tap.iter_mut().for_each(|tap| tap.flushed(now, id));
        }
        let own = self.plan.network.links[id.index()].rate;
        port.set_rate(watch.faults.as_ref().and_then(|faults| faults.rate(id, now)).unwrap_or(own));
    }
}
