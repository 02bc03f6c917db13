//! Probes: samples of flows and ports at intervals, and readings at two times. They read and never write.

use crate::engine::{EventClass, Key};
use crate::observe::arrivals::Arrivals;
use crate::observe::goodput::GoodputMeter;
use crate::outcome::{Sample, SampleId};
use crate::spec::{ProbeKind, Series, Spec};
use farspan_fabric::Port;
use farspan_transport::Endpoint;
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Rate, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Kinds of a node's probe events: a sample of flows, of ports, or of a proxy; a reading of what has arrived.
pub(crate) const FLOWS: u8 = 0;
pub(crate) const PORTS: u8 = 1;
pub(crate) const PROXY: u8 = 2;
pub(crate) const GOODPUT: u8 = 3;

/// Who samples what.
pub(crate) struct Samplers {
    by_host: BTreeMap<u32, FlowSampler>,
    by_port: BTreeMap<u32, Series>,
    /// The flows that end at each host, if what arrives of them is read.
    ending: BTreeMap<u32, Vec<FlowId>>,
    goodput: Option<Range<Time>>,
    intervals: [Option<Duration>; 3],
    /// When the nodes asked for begin to sample.
    pub(crate) first_samples: Vec<(NodeId, Key)>,
}

impl Samplers {
    pub(crate) fn new(spec: &Spec) -> Self {
        let probes = &spec.probes;
        let mut by_host: BTreeMap<u32, FlowSampler> = BTreeMap::new();
        for &id in &probes.rate_flows {
            let flow = &spec.flows[id.index()];
            by_host.entry(flow.dst.0).or_default().received.push((id, Bytes::ZERO));
            by_host.entry(flow.src.0).or_default().sent.push(id);
        }
        by_host.values_mut().for_each(|sampler| sampler.series = probes.series);
        let queues: BTreeSet<_> = probes.queue_ports.iter().map(|port| port.0).collect();
        let mut by_port: BTreeMap<_, _> = queues.into_iter().map(|port| (port, probes.series)).collect();
        for port in &probes.links {
            let series = by_port.entry(port.0).or_insert(Series::NONE);
            *series = series.with(ProbeKind::Utilization);
        }
        let goodput = probes.goodput.clone();
        let mut ending: BTreeMap<u32, Vec<FlowId>> = BTreeMap::new();
        for (id, flow) in (0..).map(FlowId).zip(&spec.flows).filter(|_| goodput.is_some()) {
            ending.entry(flow.dst.0).or_default().push(id);
        }
        let intervals = [probes.rate_interval, probes.queue_interval, probes.queue_interval];
        let mut samplers = Self { by_host, by_port, ending, goodput, intervals, first_samples: Vec::new() };
        if probes.series.has(ProbeKind::ProxyQueue) {
            let proxies: BTreeSet<_> = spec.proxies.iter().map(|proxy| proxy.host.0).collect();
            proxies.into_iter().for_each(|host| samplers.begin(NodeId(host), PROXY));
        }
        samplers
    }

    fn begin(&mut self, node: NodeId, kind: u8) {
        let reading = |interval| (node, Key::new(Time::ZERO + interval, EventClass::Probe, 0, kind));
        self.first_samples.extend(self.intervals[usize::from(kind)].map(reading));
    }

    /// The sampler of the flows of a host.
    pub(crate) fn flows(&mut self, host: NodeId) -> FlowSampler {
        let sampler = self.by_host.remove(&host.0).unwrap_or_default();
        if !sampler.received.is_empty() || !sampler.sent.is_empty() {
            self.begin(host, FLOWS);
        }
        sampler
    }

    /// Reads the flows that end at a host.
    pub(crate) fn goodput(&mut self, host: NodeId) -> GoodputMeter {
        let Some((span, flows)) = self.goodput.as_ref().zip(self.ending.remove(&host.0)) else {
            return GoodputMeter::default();
        };
        self.first_samples.extend(GoodputMeter::times(span, host, GOODPUT));
        GoodputMeter::new(flows)
    }

    /// The sampler of the ports of a node.
    pub(crate) fn ports(&mut self, node: NodeId, ports: Range<u32>) -> PortSampler {
        let port = |(&id, &series): (&u32, &Series)| (PortId(id), series, Duration::ZERO);
        let ports: Vec<_> = self.by_port.range(ports).map(port).collect();
        if !ports.is_empty() {
            self.begin(node, PORTS);
        }
        PortSampler { ports, ..PortSampler::default() }
    }
}

/// Samples some flows of a host: the rates of those it receives, the windows, RTTs and signals of those it sends.
#[derive(Default)]
pub(crate) struct FlowSampler {
    /// With the goodput at the last sample.
    received: Vec<(FlowId, Bytes)>,
    sent: Vec<FlowId>,
    series: Series,
    last: Time,
    samples: Vec<Sample>,
}

impl FlowSampler {
    pub(crate) fn sample(&mut self, now: Time, arrivals: Arrivals<'_>) {
        let span = now.since(self.last);
        self.last = now;
        if self.series.has(ProbeKind::Rate) {
            self.sample_rates(now, span, arrivals);
        }
        let series = self.series;
        for &flow in &self.sent {
            let Some(sender) = arrivals.sender(now, flow) else { continue };
            let rtt = sender.srtt.map(|srtt| srtt.as_ps() as f64 / 1e3);
            let values = [
                (ProbeKind::Cwnd, Some(sender.cwnd.as_f64())),
                (ProbeKind::Rtt, rtt),
                (ProbeKind::Signal, sender.signal),
            ];
            for (probe, value) in values.into_iter().filter(|&(probe, _)| series.has(probe)) {
                let id = SampleId::Flow(flow);
                self.samples.extend(value.map(|value| Sample { at: now, probe, id, value }));
            }
        }
    }

    fn sample_rates(&mut self, now: Time, span: Duration, arrivals: Arrivals<'_>) {
        for (flow, before) in &mut self.received {
            let all = arrivals.plan;
            let (waits, plan) = (all.triggers.waits(*flow), &all.flows[flow.index()].flow);
            if plan.start >= now || *before >= plan.size {
                continue;
            }
            let goodput = arrivals.goodput(*flow);
            // When a flow that waits for others started is known at the other end.
            if waits && goodput.is_none() {
                continue;
            }
            let goodput = goodput.unwrap_or_default();
            let value = Rate::per(goodput - *before, span).as_bps() as f64;
            *before = goodput;
            self.samples.push(Sample { at: now, probe: ProbeKind::Rate, id: SampleId::Flow(*flow), value });
        }
    }

    /// Samples taken, in order of time.
    pub(crate) fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }
}

/// The readings of a port.
#[derive(Clone, Copy, Debug)]
pub struct PortReading {
    /// Time spent sending so far.
    pub busy: Duration,
    /// Data queue; a NIC has none.
    pub queue: Option<Bytes>,
    /// Phantom queue, if there is one.
    pub phantom: Option<Bytes>,
}

impl PortReading {
    /// At a switch's port.
    #[must_use]
    pub fn at(port: &Port, now: Time) -> Self {
        Self { busy: port.busy_until(now), queue: Some(port.queued(now)), phantom: port.phantom(now) }
    }
}

/// Samples some ports of a node.
#[derive(Default, Debug)]
pub struct PortSampler {
    /// With the series to sample, and the busy time at the last sample.
    ports: Vec<(PortId, Series, Duration)>,
    last: Time,
    samples: Vec<Sample>,
}

impl PortSampler {
    /// Samples all `series` of `ports`.
    #[must_use]
    pub fn new(ports: impl IntoIterator<Item = PortId>, series: Series) -> Self {
        let ports = ports.into_iter().map(|port| (port, series, Duration::ZERO)).collect();
        Self { ports, ..Self::default() }
    }

    /// Samples the ports at `now`; `reading` reads one. Everything due by `now` must have been done.
    pub fn sample(&mut self, now: Time, reading: impl Fn(PortId) -> PortReading) {
        let span = now.since(self.last);
        self.last = now;
        for (id, series, busy_before) in &mut self.ports {
            let PortReading { busy, queue, phantom } = reading(*id);
            let share = (!span.is_zero()).then(|| busy.saturating_sub(*busy_before) / span);
            *busy_before = busy;
            let values = [
                (ProbeKind::Queue, queue.map(Bytes::as_f64)),
                (ProbeKind::PhantomQueue, phantom.map(Bytes::as_f64)),
                (ProbeKind::Utilization, share),
            ];
            for (probe, value) in values.into_iter().filter(|&(probe, _)| series.has(probe)) {
                let id = SampleId::Port(*id);
                self.samples.extend(value.map(|value| Sample { at: now, probe, id, value }));
            }
        }
    }

    /// Samples taken, in order of time.
    pub fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }
}

/// Samples the queue of a host's proxy.
#[derive(Default)]
pub(crate) struct ProxySampler(Vec<Sample>);

impl ProxySampler {
    pub(crate) fn sample(&mut self, now: Time, host: HostId, endpoint: &Endpoint) {
        let (probe, id) = (ProbeKind::ProxyQueue, SampleId::Host(host));
        let waiting = endpoint.proxy_waiting();
        self.0.extend(waiting.map(|bytes| Sample { at: now, probe, id, value: bytes.as_f64() }));
    }

    /// Samples taken, in order of time.
    pub(crate) fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_has_what_it_was_given() {
        let some = Series::NONE.with(ProbeKind::Rate).with(ProbeKind::Utilization);
        assert!(some.has(ProbeKind::Rate) && some.has(ProbeKind::Utilization));
        assert!(!some.has(ProbeKind::Cwnd) && !some.has(ProbeKind::Queue));
        assert!(Series::default().has(ProbeKind::Rtt));
    }
}
