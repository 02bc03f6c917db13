//! Records of flows, ports and probes.

use farspan_transport::FlowOutcome;
use farspan_transport::proxy::RelayCounters;
use farspan_units::{Bytes, Duration, FlowId, Rate, Time};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// A flow of a workload and what became of it: a row of `flows.parquet`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowRecord {
    /// Its position in the workload.
    pub flow: FlowId,
    /// Tag of its part of the workload.
    pub tag: Arc<str>,
    /// Whether its part has Poisson arrivals, so that high quantiles need many flows.
    pub poisson: bool,
    /// Whether it is in the summary.
    pub measured: bool,
    /// Its goodput between the two times that are asked for; `None` if none are, or it was not under way then.
    pub goodput: Option<Rate>,
    /// The flow's outcome.
    pub outcome: FlowOutcome,
}

impl FlowRecord {
    /// Data packets sent: by its sender and by its proxy.
    #[must_use]
    pub fn sent_packets(&self) -> u64 {
        self.outcome.sender.sent_packets + self.relayed().sent_packets
    }

    /// Data packets that arrived whole: at its proxy and at its receiver.
    #[must_use]
    pub fn arrived_packets(&self) -> u64 {
        self.outcome.receiver.arrived_packets + self.relayed().arrived_packets
    }

    /// Packets that arrived with a congestion mark, duplicates included.
    #[must_use]
    pub fn marked_packets(&self) -> u64 {
        self.outcome.receiver.marked_packets + self.relayed().marked_packets
    }

    /// Data packets that arrived trimmed: at its proxy and at its receiver, or back at their sender.
    #[must_use]
    pub fn trimmed_packets(&self) -> u64 {
        let outcome = &self.outcome;
        outcome.receiver.trimmed_packets + self.relayed().trimmed_packets + outcome.returned_packets
    }

    /// Whether it was under way at some time in `span`: started before its end, and not delivered before its start.
    #[must_use]
    pub fn is_under_way(&self, span: &Range<Time>) -> bool {
        let FlowOutcome { started, start, delivered, .. } = self.outcome;
        started && start < span.end && delivered.is_none_or(|at| at >= span.start)
    }

    /// Whether it was under way all the time: started by the start of `span`, and not delivered before its end.
    #[must_use]
    pub fn is_under_way_throughout(&self, span: &Range<Time>) -> bool {
        let FlowOutcome { started, start, delivered, .. } = self.outcome;
        started && start <= span.start && delivered.is_none_or(|at| at >= span.end)
    }

    fn relayed(&self) -> RelayCounters {
        self.outcome.relayed.unwrap_or_default()
    }
}

/// The counters of a port: a row of `ports.parquet`.
#[derive(Clone, PartialEq, Debug)]
pub struct PortRecord {
    /// `FROM->TO#n`.
    pub name: String,
    /// Its tier: `host_up`, `host_down`, `fabric`, `border` or `wan`.
    pub tier: &'static str,
    /// The sites that it joins: of the node that sends, and of the one that receives.
    pub sites: [u32; 2],
    /// Bytes sent, headers included.
    pub bytes: Bytes,
    /// Packets sent, of any kind.
    pub packets: u64,
    /// Packets dropped here by a full buffer, or lost by a fault.
    pub drops: u64,
    /// Those in `drops` that a fault lost.
    pub losses: u64,
    /// Data packets marked here.
    pub marks: u64,
    /// Data packets trimmed here.
    pub trims: u64,
    /// Largest data queue.
    pub max_queue: Bytes,
    /// Time-weighted mean of the data queue, bytes.
    pub mean_queue: f64,
    /// Busy time over run time.
    pub utilization: f64,
    /// How often the switch at its far end paused it.
    pub pauses: u64,
    /// How long it was paused.
    pub paused: Duration,
    /// The link's faults, such as `black_hole from 0ns` or `rate 10Gbps from 5ms`, joined by `; `; empty without any.
    pub faults: String,
}

/// A sampled quantity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Probe {
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

impl Probe {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Cwnd => "cwnd",
            Self::Rtt => "rtt",
            Self::Queue => "queue",
            Self::PhantomQueue => "phantom_queue",
            Self::Utilization => "utilization",
            Self::ProxyQueue => "proxy_queue",
            Self::Signal => "signal",
        }
    }
}

/// Whose a sample is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SeriesId {
    /// A flow's.
    Flow(FlowId),
    /// A port's, by name.
    Port(Arc<str>),
    /// A host's, by name.
    Host(Arc<str>),
}

impl SeriesId {
    /// The text in tables: flow id, or name of a port or host.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Flow(flow) => Cow::Owned(flow.to_string()),
            Self::Port(name) | Self::Host(name) => Cow::Borrowed(name),
        }
    }
}

/// One sample: a row of `series.parquet`.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesRecord {
    /// When; a rate covers the interval that ends here.
    pub t: Time,
    /// The sampled quantity.
    pub probe: Probe,
    /// Whose.
    pub id: SeriesId,
    /// How much, in the unit of the probe.
    pub value: f64,
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use farspan_transport::Class;
    use farspan_units::HostId;

    /// A port of two switches of site 0 that did something of everything.
    pub(crate) fn port(name: &str) -> PortRecord {
        PortRecord {
            name: name.to_owned(),
            tier: "fabric",
            sites: [0, 0],
            bytes: Bytes::new(10),
            packets: 2,
            drops: 3,
            losses: 1,
            marks: 4,
            trims: 5,
            max_queue: Bytes::new(6),
            mean_queue: 0.5,
            utilization: 0.75,
            pauses: 7,
            paused: Duration::from_ns(8),
            faults: String::new(),
        }
    }

    /// A measured, finished intra flow of 4096 B from 0, with an ideal FCT of 10 us.
    pub(crate) fn flow(id: u32, fct_us: u64) -> FlowRecord {
        let end = Some(Time::ZERO + Duration::from_us(fct_us));
        let size = Bytes::new(4096);
        let mut outcome = FlowOutcome::new(HostId(0), HostId(1), Class::Intra, size, Duration::from_us(10));
        outcome.started = true;
        (outcome.finish, outcome.delivered) = (end, end);
        outcome.sender.sent_bytes = size;
        FlowRecord {
            flow: FlowId(id),
            tag: "test".into(),
            poisson: false,
            measured: true,
            goodput: None,
            outcome,
        }
    }
}
