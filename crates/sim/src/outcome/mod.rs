//! The outcome of a run.

pub(crate) mod first_rtt;
pub(crate) mod losses;
pub(crate) mod rows;

use crate::spec::ProbeKind;
use farspan_trace::{FlowEvent, PacketEvent};
use farspan_transport::FlowOutcome;
use farspan_transport::proxy::ProxyQueue;
use farspan_units::{Bytes, Duration, FlowId, HostId, PortId, Time};

/// The outcome of a port.
#[derive(Clone, PartialEq, Debug)]
pub struct PortOutcome {
    /// `FROM->TO#n`.
    pub name: String,
    /// Bytes sent.
    pub sent_bytes: Bytes,
    /// Packets sent, of any kind.
    pub sent_packets: u64,
    /// Packets dropped at a full buffer, or lost.
    pub dropped_packets: u64,
    /// Those in `dropped_packets` that faults lost.
    pub lost_packets: u64,
    /// Data packets marked here.
    pub marked_packets: u64,
    /// Data packets trimmed here.
    pub trimmed_packets: u64,
    /// Largest data queue, the packet in service included.
    pub max_queue: Bytes,
    /// Time-weighted mean of the data queue over the run, bytes.
    pub mean_queue: f64,
    /// Busy time over run time.
    pub utilization: f64,
    /// How often the switch at its far end paused it.
    pub pauses: u64,
    /// How long it was paused.
    pub paused: Duration,
}

/// Whose a sample is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SampleId {
    /// A flow's.
    Flow(FlowId),
    /// A port's.
    Port(PortId),
    /// That of a host that is a proxy.
    Host(HostId),
}

/// One sample.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// The quantity.
    pub probe: ProbeKind,
    /// Whose.
    pub id: SampleId,
    /// How much, in the unit of the probe.
    pub value: f64,
}

/// The events that were traced.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Traced {
    /// The flows that were asked for, by id; in the place of flows on one connection stands the first of them, under which all of it is
    /// traced.
    pub of: Vec<FlowId>,
    /// The events of flows: by flow, then end, then time.
    pub flows: Vec<FlowEvent>,
    /// The events of packets at ports: by time, then port.
    pub packets: Vec<PacketEvent>,
}

/// Packets of any kind, and their size on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amount {
    /// How many.
    pub packets: u64,
    /// How large together.
    pub bytes: Bytes,
}

impl core::ops::Add for Amount {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

impl core::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), core::ops::Add::add)
    }
}

/// Sums over the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Packets (data, ACK, control) that finished transmission on a link.
    pub packet_hops: u64,
    /// Data packets that hosts sent, marks at the end of bursts included; so in the other counts of data packets.
    pub sent: Amount,
    /// Data packets that reached their host whole.
    pub delivered: Amount,
    /// Data packets that reached their host trimmed, or the host that sent them: headers.
    pub trimmed_delivered: Amount,
    /// Control packets (ACKs and NACKs) that hosts sent.
    pub control_sent: Amount,
    /// Control packets that reached their host.
    pub control_delivered: Amount,
    /// Packets dropped at full buffers, or lost by faults.
    pub dropped: Amount,
    /// Packets still in the network at the end.
    pub in_network: Amount,
    /// Data packets trimmed, whatever became of them then.
    pub trimmed: u64,
    /// Those in `trimmed` that were dropped then, counted where they were dropped.
    pub headers_dropped: u64,
    /// Control packets, and marks at the end of bursts, that were dropped: counted where they were dropped.
    pub control_dropped: u64,
    /// Data packets that were dropped, trimmed before or not, which their host had sent within one base RTT of the start of their flow: before
    /// any ACK could have told it of the path. A packet that arrives trimmed is none of them. `None`: not known.
    pub dropped_first_rtt: Option<u64>,
    /// CNPs that reached senders.
    pub cnps: u64,
    /// ACKs that brought telemetry to senders.
    pub telemetry: u64,
    /// Bytes cut off trimmed packets.
    pub cut_bytes: Bytes,
    /// Data packets that arrived marked.
    pub ecn_marked: u64,
    /// Headers that hosts sent: of data and of control packets.
    pub header_bytes: Bytes,
}

impl Totals {
    /// Whether every packet, and every byte, that was sent has arrived, was dropped, is still under way, or (of bytes)
    /// was cut off.
    #[must_use]
    pub fn conserved(&self) -> bool {
        let arrived = self.delivered + self.trimmed_delivered + self.control_delivered;
        let cut = Amount { packets: 0, bytes: self.cut_bytes };
        self.sent + self.control_sent == arrived + self.dropped + self.in_network + cut
    }
}

/// Quantiles of round trips, each the top of its bucket of about 3%.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rtt {
    /// Median.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Largest.
    pub max: Duration,
}

/// Round trips of data packets and their ACKs, whatever their flow; `None` without any.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rtts {
    /// All flows.
    pub all: Option<Rtt>,
    /// Flows inside sites.
    pub intra: Option<Rtt>,
    /// Flows between sites.
    pub inter: Option<Rtt>,
}

/// The result of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Flows by id.
    pub flows: Vec<FlowOutcome>,
    /// Ports by id.
    pub ports: Vec<PortOutcome>,
    /// In order of time, then probe, then id.
    pub samples: Vec<Sample>,
    /// The traced events.
    pub trace: Traced,
    /// Sums.
    pub totals: Totals,
    /// Queueing delay of data packets, one way, from NIC to receiver: 99th percentile (bucketed to about 3%).
    pub packet_delay_p99: Option<Duration>,
    /// Round trips.
    pub rtt: Rtts,
    /// Simulated time of the end.
    pub end: Time,
    /// The hosts that were proxies, and the queue of each.
    pub proxies: Vec<(HostId, ProxyQueue)>,
    /// The ports that were in a deadlock at the end: paused, and for ever, since each waits for packets that wait at
    /// others of them. By id; empty: there was none.
    pub deadlock: Vec<PortId>,
    /// Payload that arrived for the first time from the first time of the [probe](crate::Probes::goodput) on and before the second, by
    /// flow id. `None` without it, and where the run was interrupted before.
    pub goodput: Option<Vec<Bytes>>,
    /// Whether the run was interrupted.
    pub interrupted: bool,
    /// Over the integer fields of every flow outcome, by flow id.
    pub digest: u64,
    /// Order-free hash of every arrival at a host.
    pub packet_digest: u64,
}
