//! Everything of a driver but its wire: the endpoint, the bytes of messages, and whom they come from and go to.

use crate::clock::Clock;
use crate::idle::{Direction, IdleTimers, Subject};
use crate::limits::{DriverCounters, Limits};
use crate::message::{IncomingMessage, OutgoingMessage};
use crate::outcome::{DriverError, MessageOutcome};
use crate::peers::{Arrival, Arrivals, Peers};
use crate::wire::{Datagram, EcnCodepoint};
use farspan_transport::coding::Layout;
use farspan_transport::wire::{Coded, Data, Header, MAX_HEADER, View};
use farspan_transport::{
    self as transport, Endpoint, EndpointConfig, Event, Message, Received, Route, Transmit,
};
use farspan_units::{Bytes, FlowId, HostId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// The configuration of a driver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Seed of every draw of the endpoint.
    pub seed: u64,
    /// Payload of a full packet; at most 65,535 bytes less headers, and the same at both ends.
    pub mss: Bytes,
    /// Bytes of a packet on the wire beside its payload, as windows and pacers count them.
    pub header: Bytes,
    /// The longest message taken in, parity not counted: packets of longer ones are dropped.
    pub longest_message: Bytes,
    /// Bounds on what peers can make it keep.
    pub limits: Limits,
}

/// A message on its way out.
#[derive(Debug)]
struct Departure {
    message: OutgoingMessage,
    to: HostId,
    /// When it was submitted, or its receiver was heard last.
    heard_at: Time,
}

/// Everything of a driver but its wire.
#[derive(Debug)]
pub(crate) struct Host {
    pub clock: Clock,
    pub endpoint: Endpoint,
    pub counters: DriverCounters,
    config: Config,
    peers: Peers,
    departures: BTreeMap<FlowId, Departure>,
    arrivals: Arrivals,
    idle: IdleTimers,
    outcomes: VecDeque<MessageOutcome>,
    /// Bytes that [`crate::Limits::held`] bounds.
    held: usize,
}

impl Host {
    pub fn new(address: SocketAddr, config: Config) -> Self {
        let own = HostId(0);
        let Config { seed, mss, header, .. } = config;
        Self {
            clock: Clock::start(),
            endpoint: Endpoint::new(EndpointConfig { host: own, seed, mss, header }),
            counters: DriverCounters::default(),
            config,
            peers: Peers::new(own, address),
            departures: BTreeMap::new(),
            arrivals: Arrivals::default(),
            idle: IdleTimers::default(),
            outcomes: VecDeque::new(),
            held: 0,
        }
    }

    pub fn submit(&mut self, flow: FlowId, to: SocketAddr, bytes: Vec<u8>, route: Arc<Route>) {
        let (to, now) = (self.peers.keep(to, Direction::Out), self.clock.now());
        let (size, initial_cwnd) = (Bytes::new(bytes.len() as u64), route.path().bdp);
        let message = OutgoingMessage::new(bytes, self.config.mss.get() as usize);
        self.departures.insert(flow, Departure { message, to, heard_at: now });
        self.idle.add(now.saturating_add(self.config.limits.idle), Subject::Out(flow));
        self.endpoint.submit(now, Message { flow, to, size, initial_cwnd, route, via: None });
    }

    /// The next message that has come to its end.
    pub fn poll_outcome(&mut self) -> Option<MessageOutcome> {
        let outcome = self.outcomes.pop_front()?;
        if let MessageOutcome::Received { bytes, .. } = &outcome {
            self.held -= bytes.len();
        }
        Some(outcome)
    }

    /// Takes a datagram. A datagram that is no packet of this protocol is dropped silently, as anyone may have sent it;
    /// who sends nothing else gets no number.
    pub fn take(&mut self, from: SocketAddr, ecn: Option<EcnCodepoint>, bytes: &[u8]) {
        let Ok(view) = View::new(bytes) else { return };
        let (header, Some(payload)) = (view.header(), view.payload()) else { return };
        let ecn_ce = ecn == Some(EcnCodepoint::Ce);
        if header.feedback().is_some() {
            self.take_feedback(from, header);
        } else if header.place().is_none() {
            // Nothing is numbered that comes without a proxy.
            self.take_data(from, header, ecn_ce, payload);
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.end(event);
        }
    }

    /// Takes feedback of a peer that a message goes to.
    fn take_feedback(&mut self, from: SocketAddr, header: Header) {
        let now = self.clock.now();
        let Some(from) = self.peers.find(from) else { return };
        if let Some(departure) = self.departures.get_mut(&header.flow()).filter(|flow| flow.to == from) {
            departure.heard_at = now;
        }
        self.endpoint.handle_packet(now, transport::Incoming::new(from, header));
    }

    /// How long the message of a data packet is at least; `None` if its header contradicts itself.
    fn shortest(&self, coded: Option<&Coded>, packets: u32) -> Option<Bytes> {
        let mss = self.config.mss;
        match coded {
            Some(coded) => Some(Layout::of_header(coded.shape, packets, coded.last_len, mss)?.size()),
            None => Some(mss * u64::from(packets.checked_sub(1)?) + Bytes::new(1)),
        }
    }

    /// Takes a data packet, unless a bound forbids it. Its sender gets a number only if the endpoint takes it.
    fn take_data(&mut self, address: SocketAddr, header: Header, ecn_ce: bool, payload: &[u8]) {
        let (Some(&Data { flow, seq, packets, .. }), coded) = (header.data(), header.coded()) else { return };
        let Some(shortest) = self.shortest(coded, packets) else { return };
        let from = self.peers.number(address);
        if !self.could_hold(shortest, packets) || !self.has_room((from, flow), seq, payload.len()) {
            self.counters.refused_packets += 1;
            return;
        }
        let packet = transport::Incoming { ecn_ce, ..transport::Incoming::new(from, header) };
        let now = self.clock.now();
        let received = self.endpoint.handle_packet(now, packet);
        if let Some(arrival) = self.arrivals.get_mut(from, flow) {
            arrival.heard_at = now;
        } else if self.endpoint.receiver(from, flow).is_some() {
            let message = Box::new(IncomingMessage::new(self.config.mss, packets, coded));
            self.held += message.cost();
            self.peers.keep(address, Direction::In);
            let looked_at = now.saturating_add(self.config.limits.idle);
            self.arrivals.add(from, flow, Arrival { heard_at: now, looked_at, message: Some(message) });
            self.idle.add(looked_at, Subject::In(from, flow));
        }
        if let Some(received) = received {
            self.take_payload((from, flow), seq, &received, payload);
        }
    }

    /// Whether a message of `size` in `packets` could arrive, if it were the only one.
    fn could_hold(&self, size: Bytes, packets: u32) -> bool {
        let Config { mss, longest_message, limits, .. } = &self.config;
        let most = || IncomingMessage::most_of(size, *mss, packets, limits.reach);
        size <= *longest_message && most() <= limits.held.get()
    }

    /// Whether the bounds let packet `seq` of a message in, which is the first one if the message is not known. Packets
    /// of messages that have arrived are always taken: they are acknowledged once more.
    fn has_room(&self, (from, flow): (HostId, FlowId), seq: u32, payload: usize) -> bool {
        let limits = &self.config.limits;
        let (distance, more) = match self.arrivals.get(from, flow).map(|arrival| &arrival.message) {
            Some(None) => return true,
            Some(Some(message)) => {
                let distance = message.distance(seq);
                (distance, message.more_cost(payload, distance))
            }
            None if self.arrivals.half() >= limits.half_messages => return false,
            None if self.arrivals.delivered() >= limits.delivered => return false,
            None => (seq, IncomingMessage::first_cost(payload, seq)),
        };
        distance <= limits.reach && (self.held + more) as u64 <= limits.held.get()
    }

    fn take_payload(
        &mut self,
        (from, flow): (HostId, FlowId),
        seq: u32,
        received: &Received,
        payload: &[u8],
    ) {
        let arrival = self.arrivals.get_mut(from, flow);
        let Some(message) = arrival.and_then(|arrival| arrival.message.as_mut()) else { return };
        self.held -= message.cost();
        let most = usize::try_from(self.config.limits.held.get()).unwrap_or(usize::MAX) - self.held;
        let taken = message.take(received, seq, payload, most);
        self.held += message.cost();
        if taken.is_err() {
            self.counters.undecodable_messages += 1;
            self.forget(from, flow);
        }
    }

    /// Forgets a message that comes in, or has come. Gives its sender, and whether it was a half one.
    fn forget(&mut self, from: HostId, flow: FlowId) -> Option<(SocketAddr, bool)> {
        let Arrival { message, .. } = self.arrivals.remove(from, flow)?;
        self.held -= message.as_ref().map_or(0, |message| message.cost());
        self.endpoint.forget(from, flow);
        let address = self.peers.address(from)?;
        self.peers.release(from, Direction::In);
        Some((address, message.is_some()))
    }

    fn end(&mut self, event: Event) {
        match event {
            Event::Finished(report) => {
                if let Some(departure) = self.departures.remove(&report.flow) {
                    self.peers.release(departure.to, Direction::Out);
                }
                self.outcomes.push_back(MessageOutcome::Sent(report));
            }
            Event::Delivered(report) => {
                // A message that could not be decoded was forgotten.
                let Some(message) = self.arrivals.complete(report.from, report.flow) else { return };
                let Some(from) = self.peers.address(report.from) else { return };
                let view = self.endpoint.receiver(report.from, report.flow);
                let blocks_repaired = view.map_or(0, |view| view.counters.blocks_repaired);
                self.held -= message.cost();
                let bytes = message.into_bytes();
                self.held += bytes.len();
                self.outcomes.push_back(MessageOutcome::Received { from, report, blocks_repaired, bytes });
            }
            _ => {}
        }
    }

    /// Gives up messages of which nothing was heard for too long, and forgets records that are old enough.
    pub fn expire(&mut self, now: Time) {
        let idle = self.config.limits.idle;
        while let Some((at, subject)) = self.idle.pop(now) {
            match subject {
                Subject::Out(flow) => {
                    let Some(departure) = self.departures.get(&flow) else { continue };
                    let due = departure.heard_at.saturating_add(idle);
                    if due > now {
                        self.idle.add(due, subject);
                    } else {
                        self.give_up(now, flow);
                    }
                }
                Subject::In(from, flow) => {
                    // An entry that a flow of this name has left behind is not that of the one that came after it.
                    let arrival = self.arrivals.get_mut(from, flow).filter(|arrival| arrival.looked_at == at);
                    let Some(arrival) = arrival else { continue };
                    arrival.looked_at = arrival.heard_at.saturating_add(idle);
                    if arrival.looked_at > now {
                        self.idle.add(arrival.looked_at, subject);
                    } else {
                        self.expire_arrival(from, flow);
                    }
                }
            }
        }
    }

    /// When [`Self::expire`] is wanted.
    pub fn next_expiry(&self) -> Option<Time> {
        self.idle.next()
    }

    fn give_up(&mut self, now: Time, flow: FlowId) {
        let Some(departure) = self.departures.remove(&flow) else { return };
        if let (Some(to), Some(report)) = (self.peers.address(departure.to), self.endpoint.cancel(now, flow))
        {
            self.outcomes.push_back(MessageOutcome::GivenUp { to, report });
        }
        self.peers.release(departure.to, Direction::Out);
    }

    fn expire_arrival(&mut self, from: HostId, flow: FlowId) {
        if let Some((from, true)) = self.forget(from, flow) {
            self.outcomes.push_back(MessageOutcome::Expired { from, flow });
        }
    }

    /// The system does not send to `to`: counted, and told once to the application if a message goes there.
    pub fn on_send_error(&mut self, to: SocketAddr, error: io::ErrorKind) {
        self.counters.send_errors += 1;
        if self.peers.report(to) {
            self.outcomes.push_back(MessageOutcome::Unreachable { to, error });
        }
    }

    /// A packet as bytes; `None` for a reply to a peer that was forgotten. Data is ECN-capable (RFC 3168), control packets
    /// are not.
    pub fn datagram(&mut self, packet: &Transmit) -> Result<Option<Datagram>, DriverError> {
        let flow = packet.header.flow();
        let Some(to) = self.peers.address(packet.to) else { return Ok(None) };
        let mut bytes = vec![0; MAX_HEADER];
        let len = packet.header.encode(&mut bytes).expect("a header fits the longest");
        bytes.truncate(len);
        if let (Some(payload), Some(departure)) = (&packet.payload, self.departures.get_mut(&flow)) {
            let coded = departure.message.append(payload, &mut bytes);
            coded.map_err(|source| DriverError::Coding { flow, source })?;
        }
        let codepoint = if packet.ecn_ce { EcnCodepoint::Ce } else { EcnCodepoint::Ect0 };
        let ecn = (!packet.control).then_some(codepoint);
        Ok(Some(Datagram { to, ecn, bytes }))
    }

    /// Whom it knows, and how many messages have arrived in part and in full.
    #[cfg(test)]
    pub fn known(&self) -> (usize, usize, usize) {
        (self.peers.len(), self.arrivals.half(), self.arrivals.delivered())
    }
}
