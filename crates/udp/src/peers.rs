//! Whom the driver knows: peers, and the flows that come from them.

use crate::idle::Direction;
use crate::message::IncomingMessage;
use farspan_transport::MAX_HOSTS;
use farspan_units::{FlowId, HostId, Time};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A host that a message goes to or comes from.
#[derive(Debug)]
struct Peer {
    address: SocketAddr,
    /// Its flows, in both directions: without one it is forgotten.
    flows: u32,
    /// Those of them that go there.
    departures: u32,
    /// Whether the application knows that the system does not send to it.
    is_reported: bool,
}

/// The hosts that the endpoint knows, by numbers of the driver's own.
#[derive(Debug)]
pub(crate) struct Peers {
    peers: BTreeMap<HostId, Peer>,
    numbers: BTreeMap<SocketAddr, HostId>,
    /// The next number to be given: below [`MAX_HOSTS`], again and again.
    next: HostId,
}

impl Peers {
    /// This host alone.
    pub(crate) fn new(own: HostId, address: SocketAddr) -> Self {
        let mut peers = Self { peers: BTreeMap::new(), numbers: BTreeMap::new(), next: HostId(own.0 + 1) };
        peers.peers.insert(own, Peer { address, flows: 1, departures: 0, is_reported: false });
        peers.numbers.insert(address, own);
        peers
    }

    /// How many they are, this host included.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }

    /// The number of an address that is known.
    pub(crate) fn find(&self, address: SocketAddr) -> Option<HostId> {
        self.numbers.get(&address).copied()
    }

    /// The number of an address, which is the next one if it is new.
    pub(crate) fn number(&self, address: SocketAddr) -> HostId {
        self.find(address).unwrap_or(self.next)
    }

    /// The address behind a number; `None` if the peer was forgotten.
    pub(crate) fn address(&self, number: HostId) -> Option<SocketAddr> {
        self.peers.get(&number).map(|peer| peer.address)
    }

    /// A flow begins: keeps what [`Self::number`] gave.
    pub(crate) fn keep(&mut self, address: SocketAddr, direction: Direction) -> HostId {
        let number = self.number(address);
        let peer = Peer { address, flows: 0, departures: 0, is_reported: false };
        let peer = self.peers.entry(number).or_insert(peer);
        peer.flows += 1;
        peer.departures += u32::from(direction == Direction::Out);
        self.numbers.insert(address, number);
        while self.peers.contains_key(&self.next) {
            self.next.0 = (self.next.0 + 1) % MAX_HOSTS;
        }
        number
    }

    /// A flow has ended, and with the last one its peer is forgotten.
    pub(crate) fn release(&mut self, number: HostId, direction: Direction) {
        let Some(peer) = self.peers.get_mut(&number) else { return };
        peer.flows -= 1;
        peer.departures -= u32::from(direction == Direction::Out);
        if peer.flows == 0 {
            self.numbers.remove(&peer.address);
            self.peers.remove(&number);
        }
    }

    /// The system does not send to a peer; says whether that is news, and of a peer that a message goes to.
    pub(crate) fn report(&mut self, address: SocketAddr) -> bool {
        let peer = self.find(address).and_then(|number| self.peers.get_mut(&number));
        peer.filter(|peer| peer.departures > 0)
            .is_some_and(|peer| !std::mem::replace(&mut peer.is_reported, true))
    }
}

/// A flow that comes in.
#[derive(Debug)]
pub(crate) struct Arrival {
    /// When the last packet was taken.
    pub heard_at: Time,
    /// When it is to be looked whether something was heard.
    pub looked_at: Time,
    /// Its bytes; `None` once it has arrived in full.
    pub message: Option<Box<IncomingMessage>>,
}

/// The flows that come in, by who sends them and the number there.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    flows: BTreeMap<(HostId, FlowId), Arrival>,
    /// How many have arrived in part.
    half: usize,
}

impl Arrivals {
    /// A flow.
    pub(crate) fn get(&self, from: HostId, flow: FlowId) -> Option<&Arrival> {
        self.flows.get(&(from, flow))
    }

    /// A flow.
    pub(crate) fn get_mut(&mut self, from: HostId, flow: FlowId) -> Option<&mut Arrival> {
        self.flows.get_mut(&(from, flow))
    }

    /// How many have arrived in part.
    pub(crate) const fn half(&self) -> usize {
        self.half
    }

    /// How many have arrived in full.
    pub(crate) fn delivered(&self) -> usize {
        self.flows.len() - self.half
    }

    /// Adds a flow that is not there.
    pub(crate) fn add(&mut self, from: HostId, flow: FlowId, arrival: Arrival) {
        self.half += usize::from(arrival.message.is_some());
        self.flows.insert((from, flow), arrival);
    }

    /// A flow has arrived in full: gives its bytes.
    pub(crate) fn complete(&mut self, from: HostId, flow: FlowId) -> Option<Box<IncomingMessage>> {
        let message = self.flows.get_mut(&(from, flow))?.message.take()?;
        self.half -= 1;
        Some(message)
    }

    /// Forgets a flow.
    pub(crate) fn remove(&mut self, from: HostId, flow: FlowId) -> Option<Arrival> {
        let arrival = self.flows.remove(&(from, flow))?;
        self.half -= usize::from(arrival.message.is_some());
        Some(arrival)
    }
}
