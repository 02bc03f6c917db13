//! Packets that switches do not pass on: those that have no hops left, are too big, or are for nobody. Their senders are told, by packets
//! that cross the network as all others do.

use super::Engine;
use super::frames::{Frames, HOPS};
use crate::address::{host_of, switch_v4, switch_v6};
use crate::bytes::{Datagram, Problem, error};
use farspan_fabric::{Packet, PacketId};
use farspan_units::{Bytes, Duration, FlowId, PortId, Time};

/// The kind of packets that are for an address of the network that no host has.
pub(super) const FOR_NOBODY: u8 = 1;

/// How often a switch reports errors, and how many at once: Linux's defaults (`icmp_msgs_per_sec`, `icmp_msgs_burst`).
const INTERVAL: Duration = Duration::from_ms(1);
const BURST: u64 = 50;

/// Says whether a switch may report one more error: a token bucket (RFC 4443, 2.4 f), kept as the time at which it is full again.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limit {
    full_at: Time,
}

impl Limit {
    fn allows(&mut self, now: Time) -> bool {
        let full_at = self.full_at.max(now) + INTERVAL;
        let is_allowed = full_at.since(now) <= INTERVAL * BURST;
        if is_allowed {
            self.full_at = full_at;
        }
        is_allowed
    }
}

impl Engine {
    /// Whether a packet that has come to a switch goes no farther, and why. Hops count before sizes, as in Linux.
    pub(super) fn problem(&self, packet: &Packet) -> Option<Problem> {
        let mtu = self.mtu.get();
        if u16::from(self.frames.hop_limit(packet)) <= packet.halves[HOPS] {
            Some(Problem::Expired)
        } else if packet.size().get() > mtu {
            Some(Problem::TooBig(u16::try_from(mtu).unwrap_or(u16::MAX)))
        } else {
            (packet.kind() == FOR_NOBODY).then_some(Problem::NoHost)
        }
    }

    /// A switch drops a packet that came over a link, and tells its sender.
    pub(super) fn refuse(&mut self, now: Time, place: usize, link: PortId, id: PacketId, problem: Problem) {
        let packet = self.packets.remove(id);
        self.headers_ended += u64::from(packet.trimmed());
        match problem {
            Problem::Expired => self.fates.expired += 1,
            Problem::TooBig(_) => self.fates.too_big += 1,
            Problem::NoHost => self.fates.unrouted += 1,
        }
        // As it came, before this switch would have taken a hop.
        let mut came = packet;
        came.halves[HOPS] -= 1;
        let bytes = self.frames.written(&came);
        let (place_of_bytes, buffer) = self.frames.take(&packet);
        self.frames.give_back(place_of_bytes, buffer);
        let number = place as u32;
        let switch = (switch_v4(number), switch_v6(number));
        let answer = bytes.and_then(|bytes| error(problem, switch, &bytes, self.mtu.get() as usize));
        let Some(answer) = answer.filter(|_| self.limits[place].allows(now)) else { return };
        self.answer(now, place, link, &answer);
    }

    /// A switch sends an error, as if it had come over the link of the packet that it is about.
    fn answer(&mut self, now: Time, place: usize, link: PortId, bytes: &[u8]) {
        let datagram = Datagram::parse(bytes).expect("an error is a packet");
        let Some(to) = host_of(datagram.destination, self.network.hosts) else { return };
        self.fates.answered += 1;
        let (hash, size) = (datagram.flow_hash(), Bytes::new(bytes.len() as u64));
        let mut packet = Packet::new(FlowId(hash as u32), to, size, (hash >> 32) as u16, false, 0);
        Frames::attach(&mut packet, self.frames.keep(bytes, &self.packets));
        let id = self.packets.insert(packet);
        self.at_switch(place, |switch, packets, sink| {
            switch.arrive(now, link, id, Time::MAX, packets, sink);
        });
    }
}
