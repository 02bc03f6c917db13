//! Where faults meet what leaves a node: an outbox around the engine's.

use crate::engine::{Channel, Key, Outbox};
use farspan_fabric::{NodeFaults, PacketId, Packets};
use farspan_units::{PortId, Time};

/// A packet that has left its port.
struct Departure {
    at: Time,
    channel: Channel,
    arrival: Time,
    id: PacketId,
}

/// Packets that have left, before faults have seen them.
#[derive(Default)]
pub(crate) struct Held(Vec<Departure>);

impl Held {
    /// All that is held leaves at `now`.
    pub(crate) fn leave_at(&mut self, now: Time) {
        self.0.iter_mut().for_each(|departure| departure.at = now);
    }

    /// Sends on what no fault takes. Faults see packets in the order in which they left, by time, then port.
    pub(crate) fn release(
        &mut self,
        faults: &mut NodeFaults,
        packets: &mut Packets,
        out: &mut impl Outbox<PacketId>,
    ) {
        self.0.sort_unstable_by_key(|departure| (departure.at, departure.channel.id));
        for Departure { at, channel, arrival, id } in self.0.drain(..) {
            if faults.loses(PortId(channel.id), at, &packets[id]) {
                packets.remove(id);
            } else {
                out.send(channel, arrival, id);
            }
        }
    }
}

/// An outbox that holds packets back; they leave at `now`.
pub(crate) struct Holding<'a, O> {
    pub(crate) now: Time,
    pub(crate) held: &'a mut Held,
    pub(crate) out: &'a mut O,
}

impl<O: Outbox<PacketId>> Outbox<PacketId> for Holding<'_, O> {
    fn send(&mut self, channel: Channel, arrival: Time, id: PacketId) {
        self.held.0.push(Departure { at: self.now, channel, arrival, id });
    }

    fn wake(&mut self, key: Key) {
        self.out.wake(key);
    }

    fn tell(&mut self, node: u32, key: Key) {
        self.out.tell(node, key);
    }
}
