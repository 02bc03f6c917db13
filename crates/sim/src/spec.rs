//! The specification of a run.

use farspan_fabric::switch::Routing;
use farspan_fabric::switch::shared::pool::PoolConfig;
use farspan_fabric::{Fault, Network, PortConfig, Tier};
use farspan_transport::balance::BalanceConfig;
use farspan_transport::proxy::{Delay, LossDetection, ProxyKind};
use farspan_transport::recovery::Rto;
use farspan_transport::{Class, InitialWindow, Scheme};
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// One message from one host to another. Its flow id is its position in [`Spec::flows`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Sending host.
    pub src: HostId,
    /// Receiving host.
    pub dst: HostId,
    /// Payload.
    pub size: Bytes,
    /// When the sender is handed the message; with a [`Trigger`], no earlier than this.
    pub start: Time,
    /// Whether the run may have to wait for it: see [`Stop::when_measured_end`].
    pub measured: bool,
}

/// How a trigger starts its flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// All of them, when every end that the trigger waits for has come.
    All,
    /// One at a time: the `k`-th end, whichever it is, starts the `k`-th flow.
    Next,
}

/// Flows that start when others have started or ended, and not before their own start. Without any to wait
/// for they never start.
///
/// The host that sees a start or an end notifies the hosts of the waiting flows. Its own flows are notified
/// at once, others after `delay`; under [`Rule::Next`], unless everything happens on one host, all of them
/// after `delay`. Every flow starts `pause` later than that.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trigger {
    /// How it starts its flows.
    pub rule: Rule,
    /// Flows that must have started; each once.
    pub started: Vec<FlowId>,
    /// Flows whose sender must have the last ACK; each once.
    pub finished: Vec<FlowId>,
    /// Flows whose receiver must have the last byte; each once.
    pub delivered: Vec<FlowId>,
    /// The flows to start, in order. No other trigger starts them.
    pub targets: Vec<FlowId>,
    /// The delay of a notification from host to host. Short ones make the engine's windows short.
    pub delay: Duration,
    /// The pause before the flows start: time that a host spends in between, such as computing. Zero: they
    /// start at once. Short ones make the engine's windows short.
    pub pause: Duration,
}

/// A path selector that some flows have in the place of their scheme's.
#[derive(Clone, PartialEq, Debug)]
pub struct OwnBalance {
    /// The selector.
    pub balance: BalanceConfig,
    /// The flows, which have no other such selector.
    pub flows: Vec<FlowId>,
}

/// Which engine drives the world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EngineKind {
    /// Windows of time, one node at a time: the fast one.
    Windowed,
    /// Windows of time on up to so many threads: one for a site, or for some pods. See [`crate::threads`].
    Threads(u16),
    /// One thread and windows of a quarter of the length, which must change nothing.
    QuarterWindow,
    /// One thread, and every switch in order of (time, port) over all its ports, which must change nothing.
    Ordered,
    /// One thread, and hosts that call the six verbs of their endpoints, or ask for control packets alone while their links are paused,
    /// and get headers and telemetry as bytes, which must change nothing.
    Verbs,
    /// One event queue, two events a hop: the reference.
    Oracle,
}

impl EngineKind {
    /// The name on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Windowed | Self::Threads(_) => "windowed",
            Self::QuarterWindow => "quarter-window",
            Self::Ordered => "ordered",
            Self::Verbs => "verbs",
            Self::Oracle => "oracle",
        }
    }
}

/// The quantity that a sample measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ProbeKind {
    /// Receiver goodput over the last interval, bit/s.
    Rate,
    /// Congestion window, bytes.
    Cwnd,
    /// Smoothed RTT, ns.
    Rtt,
    /// Data queue, bytes.
    Queue,
    /// Phantom queue, bytes.
    PhantomQueue,
    /// Busy share of the last interval.
    Utilization,
    /// Payload that waits at a proxy to be sent on, bytes.
    ProxyQueue,
    /// The number that a flow's control judges congestion by.
    Signal,
}

/// A choice of what is sampled; by default all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Series(u8);

impl Series {
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// With `probe`, too.
    #[must_use]
    pub const fn with(self, probe: ProbeKind) -> Self {
        Self(self.0 | 1 << probe as u8)
    }

    /// Whether `probe` is sampled.
    #[must_use]
    pub const fn has(self, probe: ProbeKind) -> bool {
        self.0 >> probe as u8 & 1 == 1
    }
}

impl Default for Series {
    fn default() -> Self {
        Self(u8::MAX)
    }
}

/// When to sample the world; sampling changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Probes {
    /// Interval of the receivers' goodput, the senders' window and RTT; `None`: off.
    pub rate_interval: Option<Duration>,
    /// The flows whose rates, windows and RTTs are sampled.
    pub rate_flows: Vec<FlowId>,
    /// Interval of queues, phantom queues, utilisation and the queue of every proxy; `None`: off.
    pub queue_interval: Option<Duration>,
    /// The ports that are sampled.
    pub queue_ports: Vec<PortId>,
    /// Ports of which only the utilisation is sampled, at the same interval.
    pub links: Vec<PortId>,
    /// The quantities that are sampled of flows, of `queue_ports` and of proxies.
    pub series: Series,
    /// Two times between which what arrives of each flow is counted; `None`: it is not. A run that looks for the
    /// [end of measured flows](Stop::when_measured_end) does not end before the second.
    pub goodput: Option<Range<Time>>,
}

/// The flows and ports that are traced.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// Flows, both ends of each.
    pub flows: Vec<FlowId>,
    /// Ports.
    pub ports: Vec<PortId>,
}

impl Trace {
    /// The traced ports of a node.
    pub(crate) fn ports_of(&self, ports: &Range<u32>) -> BTreeSet<PortId> {
        self.ports.iter().copied().filter(|port| ports.contains(&port.0)).collect()
    }
}

/// When a run ends. Without a condition it ends when nothing is left to happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// Nothing at or after this time happens.
    pub time: Time,
    /// If set, the run also ends at the first multiple of this period at which every measured flow has ended, whatever
    /// else is still under way (steady-state scenarios, where arrivals go on).
    pub when_measured_end: Option<Duration>,
}

/// A proxy, and the flows that go through it.
#[derive(Clone, Debug)]
pub struct ProxySpec {
    /// The host.
    pub host: HostId,
    /// The flows: each goes through one proxy, which is neither end of it.
    pub flows: Vec<FlowId>,
    /// How it relays them. A streamlined proxy's one connection ends at the receiver, under the scheme of inter-DC flows; what
    /// is said of it is how losses on the way to it are detected beside trimming.
    pub kind: ProxyKind<NaiveSpec, Option<LossDetection>>,
    /// How long it takes over a packet: the same for all that one host relays.
    pub delay: Delay,
    /// After how many time-outs of the direct path's length without news from the proxy a sender goes straight to its receiver.
    pub longest_silence: u32,
}

/// A proxy of two connections: the first under the scheme of intra-DC flows.
#[derive(Clone, Debug)]
pub struct NaiveSpec {
    /// The time-out of the first; `None`: its scheme's.
    pub rto: Option<Rto>,
    /// The scheme of the second.
    pub onward: Arc<Scheme>,
    /// How many bytes may wait that have not been sent on, shared by the flows, each with room for two packets at least;
    /// `None`: any number.
    pub room: Option<Bytes>,
}

/// A world and what happens in it.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Nodes, links and routes.
    pub network: Network,
    /// How the ports of each tier are built.
    pub ports: ByTier,
    /// How the ports are built that differ from those of their tier.
    pub own_ports: BTreeMap<PortId, Arc<PortConfig>>,
    /// The buffer that the ports of each switch share, beside their own limits; `None`: they share none. It has to be large
    /// enough for the links of each switch.
    pub pool: Option<PoolConfig>,
    /// Which of the equal-cost ports of a switch packets take.
    pub routing: Routing,
    /// The messages, by flow id.
    pub flows: Vec<Flow>,
    /// The triggers that make some flows wait for others.
    pub triggers: Vec<Trigger>,
    /// The faults of the links.
    pub faults: Vec<Fault>,
    /// Scheme of intra-DC flows.
    pub intra: Arc<Scheme>,
    /// Scheme of inter-DC flows.
    pub inter: Arc<Scheme>,
    /// Path selectors in the place of the schemes', for some flows.
    pub own_balance: Vec<OwnBalance>,
    /// Proxies, and the flows that go through each.
    pub proxies: Vec<ProxySpec>,
    /// Proxies that fail, and when: they forget everything, and relay no more.
    pub proxy_failures: Vec<(Time, HostId)>,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Header of a packet; size of an ACK.
    pub header: Bytes,
    /// First window.
    pub initial_window: InitialWindow,
    /// Largest send jitter, uniform per data packet, order kept; zero: off.
    pub jitter: Duration,
    /// Largest jitter, uniform per data packet, order kept, of switch ports that leave at least as much data
    /// behind as they send when its service begins; zero: off. Without it, saturated ports with exact clocks
    /// lock the drop-tail queue behind them to one of its inputs. A port without a backlog adds nothing, so
    /// an empty network keeps its exact delays.
    pub port_jitter: Duration,
    /// The largest extra of each RTT sample of senders, uniform; packets are untouched. Zero: none.
    pub rtt_noise: Duration,
    /// Seed of all draws.
    pub seed: u64,
    /// The quantities to sample, and when.
    pub probes: Probes,
    /// The flows and ports to trace.
    pub trace: Trace,
    /// When to end.
    pub stop: Stop,
}

impl Spec {
    /// How a port is built.
    #[must_use]
    pub fn port(&self, id: PortId) -> &PortConfig {
        match self.own_ports.get(&id) {
            Some(port) => port,
            None => self.ports.of(self.network.links[id.index()].tier),
        }
    }

    /// The scheme of flows of `class`.
    #[must_use]
    pub fn scheme(&self, class: Class) -> &Arc<Scheme> {
        match class {
            Class::Intra => &self.intra,
            Class::Inter => &self.inter,
        }
    }
}

/// How far a run has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Flows that have ended.
    pub finished: u64,
    /// All flows.
    pub flows: u64,
    /// Payload delivered over payload to deliver.
    pub fraction: f64,
    /// Packets that finished transmission on a link.
    pub packet_hops: u64,
}

/// Port settings by tier.
#[derive(Clone, Debug)]
pub struct ByTier(pub [PortConfig; Tier::COUNT]);

impl ByTier {
    /// The settings of a tier.
    #[must_use]
    pub fn of(&self, tier: Tier) -> &PortConfig {
        &self.0[tier as usize]
    }
}
