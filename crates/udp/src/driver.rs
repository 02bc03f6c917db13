//! The driver: an endpoint, a clock, a wire, and the bytes.

use crate::clock::Clock;
use crate::message::{IncomingMessage, OutgoingMessage};
use crate::wire::{Datagram, EcnCodepoint, Wire};
use farspan_transport::coding::{CodingError, Layout};
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
}

/// Why a driver stopped.
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    /// The system failed to send or to receive.
    #[error("the socket failed: {0}; check that the peer's address can be reached from here")]
    Io(#[from] io::Error),
    /// A block does not fit its code: the peer's headers contradict themselves.
    #[error("flow {flow} cannot be coded: {source}; run the same release at both ends")]
    Coding {
        /// The flow, by its sender's number.
        flow: FlowId,
        /// The reason why the block does not fit its code.
        source: CodingError,
    },
}

/// A message that has come to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MessageOutcome {
    /// The peer has all of it.
    Sent(SenderReport),
    /// It has arrived.
    Received {
        /// Who sent it.
        from: SocketAddr,
        /// The receiver's report; its flow is the number that the sender gave it.
        report: ReceiverReport,
        /// Blocks of which segments were decoded.
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
    outgoing: BTreeMap<FlowId, OutgoingMessage>,
    incoming: BTreeMap<FlowId, IncomingMessage>,
    arrivals: Arrivals,
    outcomes: VecDeque<MessageOutcome>,
}

/// The flows that come in. Each peer numbers its own, so that those of two may be equal: towards the endpoint they are
/// numbered anew, in the order in which they came.
#[derive(Debug, Default)]
struct Arrivals {
    /// By number here: the peer, and its number.
    flows: Vec<(HostId, FlowId)>,
    numbers: BTreeMap<(HostId, FlowId), FlowId>,
}

impl Arrivals {
    /// The number here, which is the next one if the flow is new.
    fn number(&self, from: HostId, flow: FlowId) -> FlowId {
        let next = FlowId(self.flows.len() as u32);
        self.numbers.get(&(from, flow)).copied().unwrap_or(next)
    }

    /// Keeps what [`Self::number`] gave.
    fn keep(&mut self, from: HostId, flow: FlowId) {
        let number = self.number(from, flow);
        if number.index() == self.flows.len() {
            self.flows.push((from, flow));
            self.numbers.insert((from, flow), number);
        }
    }

    /// The sender's number.
    fn theirs(&self, number: FlowId) -> FlowId {
        self.flows[number.index()].1
    }
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
            arrivals: Arrivals::default(),
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
    /// The error of the wire.
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

    /// Takes a message of at least one byte. `flow` is a number that no message from here had before.
    pub fn submit(&mut self, flow: FlowId, to: SocketAddr, bytes: Vec<u8>, route: Arc<Route>) {
        let host = &mut self.host;
        let (to, now) = (host.keep(to), host.clock.now());
        let (size, initial_cwnd) = (Bytes::new(bytes.len() as u64), route.path().bdp);
        host.outgoing.insert(flow, OutgoingMessage::new(bytes, host.config.mss.get() as usize));
        host.endpoint.submit(now, Message { flow, to, size, initial_cwnd, route });
    }

    /// Does what can be done now: takes datagrams that have arrived, time-outs that are due, and sends what may leave.
    /// Gives how long there is nothing to do unless a datagram arrives; `None`: for ever.
    ///
    /// # Errors
    /// The error of the wire, or a peer whose blocks contradict themselves.
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
    pub fn poll_outcome(&mut self) -> Option<MessageOutcome> {
        self.host.outcomes.pop_front()
    }
}

impl Host {
    /// The number of a host, which is the next one if it is new.
    fn number(&self, address: SocketAddr) -> HostId {
        let next = HostId(self.addresses.len() as u32);
        self.numbers.get(&address).copied().unwrap_or(next)
    }

    /// Keeps what [`Self::number`] gave.
    fn keep(&mut self, address: SocketAddr) -> HostId {
        let number = self.number(address);
        if number.index() == self.addresses.len() {
            self.addresses.push(address);
            self.numbers.insert(address, number);
        }
        number
    }

    /// Takes a datagram. A datagram that is no packet of this protocol is dropped silently, as anyone may have sent it;
    /// who sends nothing else gets no number.
    fn take(&mut self, from: SocketAddr, ecn: Option<EcnCodepoint>, bytes: &[u8]) -> Result<(), DriverError> {
        let Ok(view) = View::new(bytes) else { return Ok(()) };
        let (header, Some(payload)) = (view.header(), view.payload()) else { return Ok(()) };
        let ecn_ce = ecn == Some(EcnCodepoint::Ce);
        match header {
            Header::Data(_) | Header::Coded(_) => {
                if self.shortest(&header).is_some_and(|size| size <= self.config.longest_message) {
                    self.take_data(from, header, ecn_ce, payload)?;
                }
            }
            // Feedback of hosts that nothing was sent to.
            _ if !self.numbers.contains_key(&from) => {}
            _ => {
                let packet = transport::Incoming { from: self.number(from), header, ecn_ce, trimmed: false };
                self.endpoint.handle_packet(self.clock.now(), &packet);
            }
        }
        while let Some(event) = self.endpoint.poll_event() {
            self.end(event);
        }
        Ok(())
    }

    /// How long the message of a data packet is at least; `None` if its header contradicts itself.
    fn shortest(&self, header: &Header) -> Option<Bytes> {
        let mss = self.config.mss;
        match header {
            Header::Coded(coded) => {
                Some(Layout::of_header(coded.shape, coded.data.packets, coded.last_len, mss)?.size())
            }
            Header::Data(data) => Some(mss * u64::from(data.packets.checked_sub(1)?) + Bytes::new(1)),
            _ => None,
        }
    }

    /// Takes a data packet. Its sender and its flow get numbers only if the endpoint takes it.
    fn take_data(
        &mut self,
        address: SocketAddr,
        mut header: Header,
        ecn_ce: bool,
        payload: &[u8],
    ) -> Result<(), DriverError> {
        let from = self.number(address);
        let (Header::Data(data) | Header::Coded(Coded { data, .. })) = &mut header else { return Ok(()) };
        let (theirs, seq) = (data.flow, data.seq);
        data.flow = self.arrivals.number(from, theirs);
        let flow = data.flow;
        let packet = transport::Incoming { from, header, ecn_ce, trimmed: false };
        let received = self.endpoint.handle_packet(self.clock.now(), &packet);
        if self.endpoint.receiver(flow).is_some() {
            self.keep(address);
            self.arrivals.keep(from, theirs);
        }
        let Some(received) = received else { return Ok(()) };
        let coded = if let Header::Coded(coded) = &packet.header { Some(coded) } else { None };
        let message =
            self.incoming.entry(flow).or_insert_with(|| IncomingMessage::new(self.config.mss, coded));
        let taken = message.take(&received, seq, payload);
        taken.map_err(|source| DriverError::Coding { flow: theirs, source })
    }

    fn end(&mut self, event: Event) {
        match event {
            Event::Finished(report) => {
                self.outgoing.remove(&report.flow);
                self.outcomes.push_back(MessageOutcome::Sent(report));
            }
            Event::Delivered(mut report) => {
                let bytes =
                    self.incoming.remove(&report.flow).map(IncomingMessage::into_bytes).unwrap_or_default();
                let view = self.endpoint.receiver(report.flow);
                let blocks_repaired = view.map_or(0, |view| view.counters.blocks_repaired);
                report.flow = self.arrivals.theirs(report.flow);
                let from = self.addresses[report.from.index()];
                self.outcomes.push_back(MessageOutcome::Received { from, report, blocks_repaired, bytes });
            }
            // What else happens concerns no message as a whole.
            _ => {}
        }
    }

    /// A packet as bytes. Data is ECN-capable (RFC 3168), control packets are not.
    fn datagram(&mut self, packet: &Transmit) -> Result<Datagram, DriverError> {
        let flow = packet.header.flow();
        let mut header = packet.header;
        if let Header::Feedback(feedback) = &mut header {
            feedback.flow = self.arrivals.theirs(feedback.flow);
        }
        let mut bytes = vec![0; MAX_HEADER];
        let len = header.encode(&mut bytes).expect("a header fits the longest");
        bytes.truncate(len);
        if let (Some(payload), Some(message)) = (&packet.payload, self.outgoing.get_mut(&flow)) {
            let coded = message.append(payload, &mut bytes);
            coded.map_err(|source| DriverError::Coding { flow, source })?;
        }
        let ecn = (!packet.control).then_some(EcnCodepoint::Ect0);
        Ok(Datagram { to: self.addresses[packet.to.index()], ecn, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::OnDatagram;
    use farspan_transport::coding::Shape;
    use farspan_transport::wire::{Data, Echo, Fate, Feedback};
    use proptest::prelude::*;

    const MSS: Bytes = Bytes::new(100);

    /// A wire that gives what was put in, and keeps what it takes.
    #[derive(Debug, Default)]
    struct Fed {
        given: Vec<(SocketAddr, Vec<u8>)>,
        taken: Vec<(SocketAddr, Header)>,
    }

    impl Wire for Fed {
        fn send(&mut self, datagram: &Datagram) -> io::Result<bool> {
            self.taken.push((datagram.to, View::new(&datagram.bytes).unwrap().header()));
            Ok(true)
        }

        fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
            self.given.iter().for_each(|(from, bytes)| take(*from, None, bytes));
            Ok(std::mem::take(&mut self.given).len())
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
        Data { flow: FlowId(1), seq, packets, len, sent_at: Time::ZERO, entropy: 0, profile: 0 }
    }

    /// Feeds one datagram of `from`, and gives the outcome.
    fn feed(driver: &mut Driver<Fed>, from: u16, bytes: Vec<u8>) -> Option<MessageOutcome> {
        driver.wire.given.push((peer(from), bytes));
        driver.poll().unwrap();
        driver.poll_outcome()
    }

    #[test]
    fn a_message_of_one_packet_arrives() {
        let outcome = feed(&mut driver(), 1, bytes(&Header::Data(data(0, 1, 3)), 3));
        let Some(MessageOutcome::Received { bytes, blocks_repaired: 0, .. }) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(bytes, [7; 3]);
    }

    #[test]
    fn what_is_too_long_or_too_short_is_dropped() {
        let mut driver = driver();
        for (packets, len, payload) in [(101, 100, 100), (1, 3, 2), (1, 3, 4), (1, 3, 0), (0, 100, 100)] {
            feed(&mut driver, 1, bytes(&Header::Data(data(0, packets, len)), payload));
            assert_eq!(driver.endpoint().receiver(FlowId(0)), None, "{packets} {len} {payload}");
        }
        feed(&mut driver, 1, bytes(&Header::Data(data(0, 100, 100)), 100));
        assert!(driver.endpoint().receiver(FlowId(0)).is_some());
    }

    #[test]
    fn parity_does_not_count_towards_the_longest_message() {
        let shape = Shape::new(8, 2).unwrap();
        let coded = |packets, last_len| {
            Header::Coded(Coded { data: data(0, packets, 100), shape, last_len, block_wait_ns: 0 })
        };
        // 100 segments are 12 blocks and a half: 126 packets. One segment more of one byte is too much.
        for (packets, last_len, is_taken) in [(126, 100, true), (126, 1, true), (127, 1, false)] {
            let mut driver = driver();
            feed(&mut driver, 1, bytes(&coded(packets, last_len), 100));
            let receiver = driver.endpoint().receiver(FlowId(0));
            assert_eq!(receiver.is_some(), is_taken, "{packets} packets, the last of {last_len} B");
        }
    }

    #[test]
    fn strangers_that_send_nothing_of_use_get_no_number() {
        let mut driver = driver();
        let fate = Fate::Trimmed { echo: Echo { sent_at: Time::ZERO, entropy: 0 } };
        let nack = Feedback { flow: FlowId(1), seq: 0, cumulative: 0, fate };
        feed(&mut driver, 1, bytes(&Header::Feedback(nack), 0));
        // Too long; beyond the end of the message; a short segment in the middle.
        for (seq, packets, len) in [(0, 101, 100), (7, 7, 100), (0, 2, 3)] {
            feed(&mut driver, 1, bytes(&Header::Data(data(seq, packets, len)), usize::from(len)));
        }
        assert_eq!(driver.host.addresses, [peer(0)]);
        assert!(driver.host.arrivals.flows.is_empty());
    }

    #[test]
    fn two_peers_may_use_the_same_flow_number() {
        let mut driver = driver();
        let segment = |seq, fill| {
            let mut datagram = bytes(&Header::Data(data(seq, 2, 100)), 0);
            datagram.resize(datagram.len() + 100, fill);
            datagram
        };
        assert_eq!(feed(&mut driver, 1, segment(0, 1)), None);
        assert_eq!(feed(&mut driver, 2, segment(0, 2)), None);
        for (port, fill) in [(2_u16, 2_u8), (1, 1)] {
            let outcome = feed(&mut driver, port, segment(1, fill));
            let Some(MessageOutcome::Received { from, report, bytes, .. }) = outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!((from, report.flow, bytes), (peer(port), FlowId(1), vec![fill; 200]));
        }
        assert_eq!(driver.wire.taken.len(), 4);
        assert!(
            driver.wire.taken.iter().all(|(_, header)| header.flow() == FlowId(1)),
            "each by its own number"
        );
        let to = |port| driver.wire.taken.iter().filter(|(to, _)| *to == peer(port)).count();
        assert_eq!((to(1), to(2)), (2, 2));
    }

    fn any_header() -> impl Strategy<Value = Header> {
        let numbers = (0u32..3, 0u32..30, 0u32..30, 0u16..120);
        (0..5, numbers, 1u8..6, 1u8..4).prop_map(|(kind, (flow, seq, count, len), x, y)| {
            let (flow, sent_at, entropy) = (FlowId(flow), Time::ZERO, 0);
            let len = if len > 100 { 100 } else { len };
            let data = Data { flow, seq, packets: count, len, sent_at, entropy, profile: 0 };
            let feedback = |fate| Header::Feedback(Feedback { flow, seq, cumulative: count, fate });
            let shape = Shape::new(x, y).unwrap();
            match kind {
                0 => Header::Data(data),
                1 | 2 => Header::Coded(Coded { data, shape, last_len: 100, block_wait_ns: 0 }),
                3 => feedback(Fate::Missing { packets: count }),
                _ => {
                    let echo = Echo { sent_at, entropy };
                    feedback(Fate::Arrived { echo, ecn_ce: false, block_complete: true })
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
