//! Proxies: a host between sender and receiver that shortens the loop of feedback (Zhou et al., "Mitigating
//! Inter-datacenter Incast with a Proxy", HotNets 2025).
//!
//! | kind | what it does |
//! |---|---|
//! | `naive.rs` | ends the sender's connection, and has one of its own to the receiver, which its queue feeds |
//! | `streamlined.rs` | one connection: packets pass both ways, and a loss on the way to the proxy becomes a NACK |
//!
//! A proxy is the third kind of flow half in an [endpoint](crate::Endpoint), beside senders and receivers: the driver
//! registers each flow that the host relays ([`crate::Endpoint::relay`]), and the six verbs do the rest. The sender knows of
//! the proxy from its message ([`Via`]). If the proxy falls silent, the sender goes straight to the receiver, from the first
//! packet on that it does not know to have arrived.
//!
//! A flow has its sender's number as far as the proxy, and one of the proxy's own from there on: several senders may use one
//! number. The receiver knows from its driver which message both are ([`crate::Endpoint::expect_relayed`]).
//!
//! A relayed flow is not coded.

mod delay;
pub mod detector;
mod naive;
mod numbers;
pub mod planner;
mod streamlined;

pub use crate::flow::counters::RelayCounters;
pub use crate::flow::via::{Numbering, Via};
pub use delay::{Delay, DelayError};
pub(crate) use naive::{Naive, Onward};
pub(crate) use numbers::Numbers;
pub(crate) use streamlined::{Lost, Streamlined};

use crate::Route;
use crate::coding::Payload;
use crate::flow::message::{Transmit, Trimmed};
use crate::flow::profile::AckSignals;
use crate::path::Path;
use crate::table::{FlowMap, Named, PeerFlow, Table};
use crate::wire::{Data, Feedback, Header, Place};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use detector::PerFlowConfig;
use farspan_units::{Bytes, FlowId, HostId, Purpose, Random, Telemetry, Time};

/// A flow that a host relays.
#[derive(Clone, Debug)]
pub struct Relay {
    /// Its sender.
    pub from: HostId,
    /// Its number there.
    pub flow: FlowId,
    /// Its receiver.
    pub to: HostId,
    /// Its number on the way there: one of this host's own, as of a [message](crate::Message) from here.
    pub onward_flow: FlowId,
    /// Its payload.
    pub size: Bytes,
    /// How it is relayed.
    pub kind: RelayKind,
}

/// How a proxy relays. Each layer has its own facts of a kind: a scenario, a run that is asked for, a relayed flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyKind<N, S> {
    /// Over two connections (section 4.1: "naive").
    Naive(N),
    /// Over one connection (section 4.2: "streamlined").
    Streamlined(S),
}

impl<N, S> ProxyKind<N, S> {
    /// The paper's word for it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Naive(_) => "naive",
            Self::Streamlined(_) => "streamlined",
        }
    }
}

/// How a flow is relayed.
pub type RelayKind = ProxyKind<NaiveRelay, StreamlinedRelay>;

/// A flow that is relayed over two connections.
#[derive(Clone, Debug)]
pub struct NaiveRelay {
    /// The second connection: the path from here, and what its sender is assembled from.
    pub onward: Arc<Route>,
    /// Its first window.
    pub initial_cwnd: Bytes,
    /// How many packets may wait here that have not been sent on; `None`: any number.
    pub room: Option<u32>,
    /// The signals that its ACKs carry.
    pub signals: AckSignals,
}

/// A flow that is relayed over one connection.
#[derive(Clone, Debug)]
pub struct StreamlinedRelay {
    /// Bytes of a data packet beside its payload.
    pub header: Bytes,
    /// The signals that ACKs carry.
    pub signals: AckSignals,
    /// How losses are detected beside trimming.
    pub loss: Option<LossDetection>,
}

/// How a proxy detects losses where ports drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossDetection {
    /// From gaps in the numbers of each path.
    PerPath {
        /// How many paths a flow takes.
        paths: u8,
    },
    /// From later packets and time.
    PerFlow(PerFlowConfig),
}

impl LossDetection {
    /// Parameters that are left out follow from this path from the sender.
    #[must_use]
    pub fn behind(self, path: &Path) -> Self {
        match self {
            Self::PerPath { .. } => self,
            Self::PerFlow(config) => Self::PerFlow(config.behind(path)),
        }
    }
}

/// The queue of a proxy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ProxyQueue {
    /// Largest payload that waited to be sent on.
    pub max: Bytes,
    /// Largest payload that was sent on over a connection of the proxy's own, and kept for sending it again.
    pub unacked_max: Bytes,
    /// Payload that was sent on for the first time.
    pub passed: Bytes,
    /// Payload that waited, integrated over time: byte-picoseconds. Over `passed`, the mean time that a byte waits.
    pub integral: u128,
}

/// A packet that a proxy sends on.
#[derive(Debug)]
pub struct Forward {
    /// Where it goes.
    pub to: HostId,
    /// Its header: when it left, on which path, are the sender's.
    pub header: Data,
    /// Whether it carries a congestion mark.
    pub ecn_ce: bool,
    /// Its size on the wire.
    pub size: Bytes,
    /// Its telemetry.
    pub telemetry: Option<Box<Telemetry>>,
}

/// A packet of a relayed flow.
#[derive(Debug)]
pub(crate) enum RelayedPacket {
    /// From the sender.
    Data {
        data: Data,
        place: Option<Place>,
        trimmed: Trimmed,
        ecn_ce: bool,
        telemetry: Option<Box<Telemetry>>,
    },
    /// From the sender: the end of a burst, on a lane.
    Mark { place: Place },
    /// From the receiver.
    Feedback { feedback: Feedback, telemetry: Option<Box<Telemetry>> },
}

/// The state of a relayed flow.
#[derive(Debug)]
pub(crate) struct Relayed {
    pub relay: Relay,
    pub counters: RelayCounters,
    pub state: State,
    /// When its packets that were delayed last are done with: packets of a flow keep their order.
    done_at: Time,
}

impl Named for Relayed {
    type Name = PeerFlow;

    #[inline]
    fn name(&self) -> PeerFlow {
        PeerFlow { peer: self.relay.from, flow: self.relay.flow }
    }
}

/// The state that only one kind has.
#[derive(Debug)]
pub(crate) enum State {
    Naive(Naive),
    Streamlined(Streamlined),
    /// Its receiver was forgotten: what arrives is counted, and no more.
    Closed,
}

impl State {
    /// Whether the flow has a second connection, which has begun and not ended.
    pub(crate) const fn has_onward(&self) -> bool {
        matches!(self, Self::Naive(naive) if matches!(naive.onward, Onward::Live))
    }
}

/// The payload that waits at a proxy.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    bytes: Bytes,
    unacked: Bytes,
    since: Time,
    queue: ProxyQueue,
}

impl Waiting {
    fn pass(&mut self, now: Time) {
        self.queue.integral += u128::from(self.bytes.get()) * u128::from(now.since(self.since).as_ps());
        self.since = now;
    }

    /// Payload has come.
    pub(crate) fn add(&mut self, now: Time, bytes: Bytes) {
        self.pass(now);
        self.bytes += bytes;
        self.queue.max = self.queue.max.max(self.bytes);
    }

    /// Payload leaves for the first time.
    pub(crate) fn remove(&mut self, now: Time, bytes: Bytes) {
        self.pass(now);
        self.bytes -= bytes;
        self.queue.passed += bytes;
    }

    /// Payload is kept that was sent on, or need not be kept any more.
    pub(crate) fn keep(&mut self, more: Bytes, less: Bytes) {
        self.unacked = self.unacked + more - less;
        self.queue.unacked_max = self.queue.unacked_max.max(self.unacked);
    }

    /// Payload that waits, and payload that is kept, is lost.
    fn lose(&mut self, now: Time, bytes: Bytes, unacked: Bytes) {
        self.pass(now);
        self.bytes -= bytes;
        self.unacked -= unacked;
    }

    fn clear(&mut self, now: Time) {
        self.pass(now);
        (self.bytes, self.unacked) = (Bytes::ZERO, Bytes::ZERO);
    }
}

/// All that a host relays.
#[derive(Debug)]
pub(crate) struct Proxies {
    flows: Table<Relayed>,
    /// Flows by their numbers on the way to their receivers.
    onward: FlowMap<FlowId, PeerFlow>,
    /// Flows of senders that were forgotten: what arrives of them is dropped.
    closed: BTreeSet<PeerFlow>,
    delay: Delay,
    random: Random,
    /// Packets that are not done with yet, by when they are, then in the order of their arrival.
    delayed: BTreeMap<(Time, u64), (PeerFlow, RelayedPacket)>,
    arrivals: u64,
    /// No detector wants to be asked before.
    asks_at: Time,
    /// Packets that wait for the NIC.
    pub forwards: VecDeque<Forward>,
    pub waiting: Waiting,
    /// Whether it has failed: what arrives is counted, and no more.
    pub is_down: bool,
}

impl Proxies {
    /// Nothing yet, at a host that takes so long over each packet.
    pub(crate) fn new(host: HostId, seed: u64, delay: Delay) -> Self {
        Self {
            flows: Table::new(),
            onward: FlowMap::default(),
            closed: BTreeSet::new(),
            delay,
            random: Random::new(seed, Purpose::Proxy, u64::from(host.0)),
            delayed: BTreeMap::new(),
            arrivals: 0,
            asks_at: Time::MAX,
            forwards: VecDeque::new(),
            waiting: Waiting::default(),
            is_down: false,
        }
    }

    pub(crate) fn add(&mut self, relay: Relay, mss: Bytes) {
        let state = match &relay.kind {
            RelayKind::Naive(NaiveRelay { room, onward, .. }) => {
                let name = PeerFlow { peer: relay.from, flow: relay.flow };
                State::Naive(Naive::new(name, relay.size, *room, mss, onward.path_rto))
            }
            RelayKind::Streamlined(StreamlinedRelay { loss, .. }) => {
                State::Streamlined(Streamlined::new(*loss))
            }
        };
        let counters = RelayCounters::default();
        let relayed = Relayed { relay, counters, state, done_at: Time::ZERO };
        self.closed.remove(&relayed.name());
        self.onward.insert(relayed.relay.onward_flow, relayed.name());
        self.flows.insert(relayed);
    }

    /// Whether a flow is one that is relayed, or was.
    pub(crate) fn holds(&self, name: PeerFlow) -> bool {
        self.flows.key(name).is_some() || self.closed.contains(&name)
    }

    /// A flow that was relayed may be a message to here.
    pub(crate) fn reopen(&mut self, name: PeerFlow) {
        self.closed.remove(&name);
    }

    pub(crate) fn get(&self, name: PeerFlow) -> Option<&Relayed> {
        self.flows.by_name(name)
    }

    pub(crate) fn get_mut(&mut self, name: PeerFlow) -> Option<&mut Relayed> {
        self.flows.find(name).map(|(_, relayed)| relayed)
    }

    /// A flow, and what waits here of all.
    pub(crate) fn parts(&mut self, name: PeerFlow) -> Option<(&mut Relayed, &mut Waiting)> {
        let (_, relayed) = self.flows.find(name)?;
        Some((relayed, &mut self.waiting))
    }

    /// The flow that has this number on the way to its receiver.
    pub(crate) fn onward(&self, flow: FlowId) -> Option<PeerFlow> {
        self.onward.get(&flow).copied()
    }

    /// The flows, in the order in which they were registered.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Relayed> {
        self.flows.iter()
    }

    /// A packet of a relayed flow has come. Gives it back if it is done with at once.
    pub(crate) fn arrive(
        &mut self,
        now: Time,
        name: PeerFlow,
        packet: RelayedPacket,
    ) -> Option<RelayedPacket> {
        let (_, relayed) = self.flows.find(name)?;
        if let RelayedPacket::Data { trimmed, ecn_ce, .. } = &packet {
            let is_whole = *trimmed == Trimmed::No;
            relayed.counters.arrived_packets += u64::from(is_whole);
            relayed.counters.marked_packets += u64::from(is_whole && *ecn_ce);
            relayed.counters.trimmed_packets += u64::from(!is_whole);
        }
        if self.is_down {
            return None;
        }
        let at = (now + self.delay.draw(&mut self.random)).max(relayed.done_at);
        relayed.done_at = at;
        if at <= now {
            return Some(packet);
        }
        self.delayed.insert((at, self.arrivals), (name, packet));
        self.arrivals += 1;
        None
    }

    /// The next packet that is done with.
    pub(crate) fn take_done(&mut self, now: Time) -> Option<(PeerFlow, RelayedPacket)> {
        let first = self.delayed.first_entry().filter(|first| first.key().0 <= now)?;
        Some(first.remove())
    }

    /// When a packet is done with next, or a detector wants to be asked; [`Time::MAX`]: never.
    pub(crate) fn next_done(&self) -> Time {
        let done = self.delayed.first_key_value().map_or(Time::MAX, |((at, _), _)| *at);
        done.min(self.asks_at)
    }

    /// A detector of a flow wants to be asked at this time, or not.
    pub(crate) fn ask_at(&mut self, at: Time) {
        self.asks_at = self.asks_at.min(at);
    }

    /// Takes the time at which a detector wanted to be asked first, if it has come.
    pub(crate) fn take_ask(&mut self, now: Time) -> bool {
        let is_due = self.asks_at <= now;
        if is_due {
            self.asks_at = Time::MAX;
        }
        is_due
    }

    /// The proxy fails: everything that waits is lost.
    pub(crate) fn fail(&mut self, now: Time) {
        self.is_down = true;
        self.asks_at = Time::MAX;
        self.delayed.clear();
        self.forwards.clear();
        self.waiting.clear(now);
    }

    /// Forgets what waits of flows that come from a peer or go there, and closes these. Of those that come from it the names
    /// alone stay, until the peer is forgotten once more.
    pub(crate) fn forget_peer(&mut self, now: Time, peer: HostId) {
        let is_of = |relay: &Relay| relay.from == peer || relay.to == peer;
        let (mut bytes, mut unacked) = (Bytes::ZERO, Bytes::ZERO);
        for relayed in self.flows.iter_mut().filter(|relayed| is_of(&relayed.relay)) {
            if let State::Naive(naive) = core::mem::replace(&mut relayed.state, State::Closed) {
                bytes += naive.waiting();
                unacked += naive.unacked();
            }
        }
        let Self { flows, onward, delayed, forwards, .. } = self;
        delayed.retain(|_, (name, _)| flows.by_name(*name).is_some_and(|relayed| !is_of(&relayed.relay)));
        forwards.retain(|forward| {
            let name = onward.get(&forward.header.flow);
            let stays =
                name.and_then(|&name| flows.by_name(name)).is_some_and(|relayed| !is_of(&relayed.relay));
            bytes += Bytes::new(if stays { 0 } else { forward.header.len.into() });
            stays
        });
        // One that has failed has lost all before.
        if !self.is_down {
            self.waiting.lose(now, bytes, unacked);
        }
        self.closed.retain(|name| name.peer != peer);
        let gone = self.flows.extract(|relayed| relayed.relay.from == peer);
        self.closed.extend(gone.iter().map(Relayed::name));
        self.onward.retain(|_, name| name.peer != peer);
        self.onward.shrink_to_fit();
        self.forwards.shrink_to_fit();
    }

    /// Payload that waits.
    pub(crate) const fn waiting_bytes(&self) -> Bytes {
        self.waiting.bytes
    }

    /// The queue up to `now`.
    pub(crate) fn queue(&self, now: Time) -> ProxyQueue {
        let mut queue = self.waiting.queue;
        queue.integral +=
            u128::from(self.waiting.bytes.get()) * u128::from(now.since(self.waiting.since).as_ps());
        queue
    }
}

impl Forward {
    /// As the driver wants it; `mss`: payload of a full packet.
    pub(crate) fn into_transmit(self, mss: Bytes) -> Transmit {
        let Self { to, header, ecn_ce, size, telemetry } = self;
        let start = u64::from(header.seq) * mss.get();
        Transmit {
            to,
            header: Header::Data(header),
            size,
            entropy: header.entropy,
            control: false,
            payload: Some(Payload::Source(start..start + u64::from(header.len))),
            retransmission: false,
            ecn_ce,
            telemetry,
        }
    }
}
