//! The driver: an endpoint, a clock, a wire, and the bytes.

use crate::clock::Clock;
use crate::message::{Incoming, Outgoing};
use crate::wire::{Datagram, EcnCodepoint, Wire};
use farspan_transport::coding::CodingError;
use farspan_transport::wire::{Coded, Header, MAX_HEADER, View};
use farspan_transport::{
    self as transport, Endpoint, EndpointConfig, Event, Message, Poll, ReceiverReport, Route, SenderReport,
    Transmit,
};
use farspan_units::{Bytes, Duration, FlowId, HostId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// Datagrams sent before it is looked whether some have arrived.
const BURST: usize = 32;

/// What a driver is built with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Seed of every draw of the endpoint.
    pub seed: u64,
    /// Payload of a full packet; at most 65,535 bytes less headers, and the same at both ends.
    pub mss: Bytes,
    /// What a packet takes on the wire beside its payload, as windows and pacers count it.
    pub header: Bytes,
    /// The longest message taken in: packets of longer ones are dropped.
    pub longest_message: Bytes,
}

/// Why a driver stopped.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The system refused to send or to receive.
    #[error("the socket failed: {0}; check that the peer's address can be reached from here")]
    Io(#[from] io::Error),
    /// A block does not fit its code: the peer's headers contradict themselves.
    #[error("flow {flow} cannot be coded: {source}; run the same release at both ends")]
    Coding {
        /// The flow.
        flow: FlowId,
        /// What does not fit.
        source: CodingError,
    },
}

/// A message that has come to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The peer has all of it.
    Sent(SenderReport),
    /// It has arrived.
    Received {
        /// What was counted.
        report: ReceiverReport,
        /// Blocks of which pieces were decoded.
        blocks_repaired: u64,
        /// Its bytes.
        bytes: Vec<u8>,
    },
}

/// An endpoint on a wire.
#[derive(Debug)]
pub struct Driver<W> {
    wire: W,
    host: Host,
    /// A datagram for which there was no room.
    waiting: Option<Datagram>,
}

/// Everything but the wire.
#[derive(Debug)]
struct Host {
    clock: Clock,
    config: Config,
    endpoint: Endpoint,
    /// The addresses of hosts by their number: peers from 1, in the order in which they were met.
    addresses: Vec<SocketAddr>,
    numbers: BTreeMap<SocketAddr, HostId>,
    outgoing: BTreeMap<FlowId, Outgoing>,
    incoming: BTreeMap<FlowId, Incoming>,
    outcomes: VecDeque<Outcome>,
}

impl<W: Wire> Driver<W> {
    /// A driver of an endpoint without flows; its clock starts now.
    ///
    /// # Errors
    /// If the wire has no address.
    pub fn new(wire: W, config: Config) -> Result<Self, DriverError> {
        let own = HostId(0);
        let Config { seed, mss, header, .. } = config;
        let address = wire.address()?;
        let host = Host {
            clock: Clock::start(),
            config,
            endpoint: Endpoint::new(EndpointConfig { host: own, seed, mss, header }),
            addresses: vec![address],
            numbers: BTreeMap::from([(address, own)]),
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            outcomes: VecDeque::new(),
        };
        Ok(Self { wire, host, waiting: None })
    }

    /// The wire.
    pub const fn wire(&self) -> &W {
        &self.wire
    }

    /// Where peers find it.
    ///
    /// # Errors
    /// What the wire says.
    pub fn address(&self) -> Result<SocketAddr, DriverError> {
        Ok(self.wire.address()?)
    }

    /// The time since the driver was made; all times in outcomes are of this clock.
    pub fn now(&self) -> Time {
        self.host.clock.now()
    }

    /// The endpoint, for what it counts.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.host.endpoint
    }

    /// Takes a message of at least one byte. `flow` was never used before at either end.
    pub fn submit(&mut self, flow: FlowId, to: SocketAddr, bytes: Vec<u8>, route: Arc<Route>) {
        let host = &mut self.host;
        let (to, now) = (host.number(to), host.clock.now());
        let (size, initial_cwnd) = (Bytes::new(bytes.len() as u64), route.path().bdp);
        host.outgoing.insert(flow, Outgoing::new(bytes, host.config.mss.get() as usize));
        host.endpoint.submit(now, Message { flow, to, size, initial_cwnd, route });
    }

    /// Does what can be done now: takes datagrams that have arrived, time-outs that are due, and sends what may leave. Gives
    /// how long there is nothing to do unless a datagram arrives; `None`: for ever.
    ///
    /// # Errors
    /// What the wire says, or a peer whose blocks contradict themselves.
    pub fn poll(&mut self) -> Result<Option<Duration>, DriverError> {
        let Self { wire, host, .. } = self;
        let mut problem = Ok(());
        let received = wire.receive(&mut |from, ecn, bytes| {
            if problem.is_ok() {
                problem = host.take(from, ecn, bytes);
            }
        })?;
        problem?;
        let now = host.clock.now();
        if host.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            host.endpoint.handle_timeout(now);
        }
        let next = self.transmit()?;
        if received > 0 {
            return Ok(Some(Duration::ZERO));
        }
        let next = [next, self.host.endpoint.poll_timeout()].into_iter().flatten().min();
        Ok(next.map(|at| at.since(self.host.clock.now())))
    }

    /// Sends what may leave, up to a burst. Gives when there is more to send.
    fn transmit(&mut self) -> Result<Option<Time>, DriverError> {
        for _ in 0..BURST {
            let now = self.host.clock.now();
            let datagram = match self.waiting.take() {
                Some(datagram) => datagram,
                None => match self.host.endpoint.poll_transmit(now) {
                    Poll::Packet(packet) => self.host.datagram(&packet)?,
                    Poll::At(at) => return Ok(Some(at)),
                    Poll::Idle => return Ok(None),
                },
            };
            if !self.wire.send(&datagram)? {
                self.waiting = Some(datagram);
                break;
            }
        }
        Ok(Some(self.host.clock.now()))
    }

    /// The next message that has come to its end.
    pub fn poll_outcome(&mut self) -> Option<Outcome> {
        self.host.outcomes.pop_front()
    }
}

impl Host {
    /// The number of a host, which may be new.
    fn number(&mut self, address: SocketAddr) -> HostId {
        *self.numbers.entry(address).or_insert_with(|| {
            self.addresses.push(address);
            HostId(self.addresses.len() as u32 - 1)
        })
    }

    /// Takes a datagram. What is no packet of this protocol is dropped without a word, as anyone may have sent it.
    fn take(&mut self, from: SocketAddr, ecn: Option<EcnCodepoint>, bytes: &[u8]) -> Result<(), DriverError> {
        let Ok(view) = View::new(bytes) else { return Ok(()) };
        let (header, Some(payload)) = (view.header(), view.payload()) else { return Ok(()) };
        let coded = match &header {
            Header::Data(data) | Header::Coded(Coded { data, .. }) => {
                if self.config.mss * u64::from(data.packets) > self.config.longest_message {
                    return Ok(());
                }
                if let Header::Coded(coded) = &header { Some(coded) } else { None }
            }
            // Feedback from hosts that nothing was sent to.
            _ if !self.numbers.contains_key(&from) => return Ok(()),
            _ => None,
        };
        let seq = match &header {
            Header::Data(data) | Header::Coded(Coded { data, .. }) => data.seq,
            _ => 0,
        };
        let (from, now) = (self.number(from), self.clock.now());
        let ecn_ce = ecn == Some(EcnCodepoint::Ce);
        let packet = transport::Incoming { from, header, ecn_ce, trimmed: false };
        if let Some(received) = self.endpoint.handle_packet(now, &packet) {
            let flow = received.flow;
            let message = self.incoming.entry(flow).or_insert_with(|| Incoming::new(self.config.mss, coded));
            message.take(&received, seq, payload).map_err(|source| DriverError::Coding { flow, source })?;
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.end(event);
        }
        Ok(())
    }

    fn end(&mut self, event: Event) {
        match event {
            Event::Finished(report) => {
                self.outgoing.remove(&report.flow);
                self.outcomes.push_back(Outcome::Sent(report));
            }
            Event::Delivered(report) => {
                let bytes = self.incoming.remove(&report.flow).map(Incoming::into_bytes).unwrap_or_default();
                let view = self.endpoint.receiver(report.flow);
                let blocks_repaired = view.map_or(0, |view| view.blocks_repaired);
                self.outcomes.push_back(Outcome::Received { report, blocks_repaired, bytes });
            }
        }
    }

    /// A packet as bytes. Data is ECN-capable (RFC 3168), control packets are not.
    fn datagram(&mut self, packet: &Transmit) -> Result<Datagram, DriverError> {
        let flow = packet.header.flow();
        let mut bytes = vec![0; MAX_HEADER];
        let len = packet.header.encode(&mut bytes).expect("a header fits the longest");
        bytes.truncate(len);
        if let (Some(payload), Some(message)) = (&packet.payload, self.outgoing.get_mut(&flow)) {
            let coded = message.append(payload, &mut bytes);
            coded.map_err(|source| DriverError::Coding { flow, source })?;
        }
        let ecn = (!packet.control).then_some(EcnCodepoint::Ect0);
        Ok(Datagram { to: self.addresses[packet.to.0 as usize], ecn, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Take;
    use farspan_transport::coding::Shape;
    use farspan_transport::wire::{Ack, BlockNack, Data, Nack};
    use proptest::prelude::*;

    const MSS: Bytes = Bytes::new(100);

    /// A wire that gives what was put in, and takes nothing.
    #[derive(Debug, Default)]
    struct Fed(Vec<(SocketAddr, Vec<u8>)>);

    impl Wire for Fed {
        fn send(&mut self, _: &Datagram) -> io::Result<bool> {
            Ok(false)
        }

        fn receive(&mut self, take: &mut Take<'_>) -> io::Result<usize> {
            self.0.iter().for_each(|(from, bytes)| take(*from, None, bytes));
            Ok(std::mem::take(&mut self.0).len())
        }

        fn address(&self) -> io::Result<SocketAddr> {
            Ok(peer(0))
        }
    }

    fn peer(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    fn driver() -> Driver<Fed> {
        let config =
            Config { seed: 1, mss: MSS, header: Bytes::new(64), longest_message: Bytes::new(10_000) };
        Driver::new(Fed::default(), config).unwrap()
    }

    fn bytes(header: &Header, payload: usize) -> Vec<u8> {
        let mut bytes = vec![0; MAX_HEADER];
        let len = header.encode(&mut bytes).unwrap();
        bytes.truncate(len);
        bytes.resize(len + payload, 7);
        bytes
    }

    fn data(seq: u32, packets: u32, len: u16) -> Data {
        Data { flow: FlowId(1), seq, packets, len, sent_at: Time::ZERO, entropy: 0 }
    }

    /// Feeds one datagram of `from`, and gives the outcome.
    fn feed(driver: &mut Driver<Fed>, from: u16, bytes: Vec<u8>) -> Option<Outcome> {
        driver.wire.0.push((peer(from), bytes));
        driver.poll().unwrap();
        driver.poll_outcome()
    }

    #[test]
    fn a_message_of_one_packet_arrives() {
        let outcome = feed(&mut driver(), 1, bytes(&Header::Data(data(0, 1, 3)), 3));
        let Some(Outcome::Received { bytes, blocks_repaired: 0, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(bytes, [7; 3]);
    }

    #[test]
    fn what_is_too_long_or_too_short_is_dropped() {
        let mut driver = driver();
        for (packets, len, payload) in [(101, 100, 100), (1, 3, 2), (1, 3, 4), (1, 3, 0)] {
            feed(&mut driver, 1, bytes(&Header::Data(data(0, packets, len)), payload));
            assert_eq!(driver.endpoint().receiver(FlowId(1)), None, "{packets} {len} {payload}");
        }
        feed(&mut driver, 1, bytes(&Header::Data(data(0, 100, 100)), 100));
        assert!(driver.endpoint().receiver(FlowId(1)).is_some());
    }

    #[test]
    fn feedback_of_strangers_claims_no_number() {
        let mut driver = driver();
        let nack = Nack { flow: FlowId(1), seq: 0, cumulative: 0, sent_at: Time::ZERO, entropy: 0 };
        feed(&mut driver, 1, bytes(&Header::Nack(nack), 0));
        assert_eq!(driver.host.addresses, [peer(0)]);
    }

    fn any_header() -> impl Strategy<Value = Header> {
        let numbers = (0u32..3, 0u32..30, 0u32..30, 0u16..120);
        (0..5, numbers, 1u8..6, 1u8..4).prop_map(|(kind, (flow, seq, count, len), x, y)| {
            let (flow, sent_at, entropy) = (FlowId(flow), Time::ZERO, 0);
            let len = if len > 100 { 100 } else { len };
            let data = Data { flow, seq, packets: count, len, sent_at, entropy };
            let shape = Shape::new(x, y).unwrap();
            match kind {
                0 => Header::Data(data),
                1 | 2 => Header::Coded(Coded { data, shape, last_len: 100, block_wait_ns: 0 }),
                3 => Header::BlockNack(BlockNack { flow, first: seq, missing: count, cumulative: 0 }),
                _ => {
                    let (ecn_ce, block_complete) = (false, true);
                    Header::Ack(Ack {
                        flow,
                        seq,
                        cumulative: count,
                        sent_at,
                        entropy,
                        ecn_ce,
                        block_complete,
                    })
                }
            }
        })
    }

    proptest! {
        #[test]
        fn forged_datagrams_stop_nothing(
            headers in prop::collection::vec((1u16..3, any_header()), 1..200),
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let mut driver = driver();
            feed(&mut driver, 1, noise);
            for (from, header) in headers {
                let payload = match header {
                    Header::Data(data) | Header::Coded(Coded { data, .. }) => usize::from(data.len),
                    _ => 0,
                };
                feed(&mut driver, from, bytes(&header, payload));
            }
        }
    }
}
