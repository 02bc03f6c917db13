//! Builds the nodes, lets an engine run them, and sums up the outcome.

mod observed;
mod pauses;

use crate::engine::{EventClass, Key, Map, Pause};
use crate::executor::{Engine, Executor};
use crate::fabric::{LinkCounts, Switches};
use crate::node::host::{Attached, Host, Instruments, proxy_fails};
use crate::node::nic::Nic;
use crate::node::switch::{Switch, port_changes, routes_change};
use crate::node::{NetworkNode, Packets};
use crate::observe::delay::DelayHistogram;
use crate::observe::port_tracer::PortTracer;
use crate::observe::probe::Samplers;
use crate::observe::trace::FlowTracer;
use crate::outcome::first_rtt::FirstRtt;
use crate::outcome::losses;
use crate::outcome::{Amount, Outcome, PortOutcome, Rtts, Totals};
use crate::plan::Plan;
use crate::spec::{EngineKind, Progress, Spec};
use farspan_fabric::fault::Lost;
use farspan_fabric::switch::shared::pause::PauseRecord;
use farspan_fabric::{Gate, Port, PortCounters};
use farspan_transport::FlowOutcome;
use farspan_transport::proxy::ProxyQueue;
use farspan_units::random::mix;
use farspan_units::{Bytes, Duration, FlowId, HostId, NodeId, PortId, Time};
use std::sync::Arc;

/// Runs a world to its end.
///
/// `progress` is called once when the world stands, and then now and then; when it returns `false` the run stops and
/// the outcome is marked interrupted.
pub fn run(spec: &Spec, engine: EngineKind, progress: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
    World::new(spec, engine).run(spec, progress)
}

/// A simulation under way.
struct World {
    plan: Arc<Plan>,
    map: Map,
    engine: Engine,
    /// Drops that may be of packets of the first round trip of their flow.
    early: FirstRtt,
    /// Whether its hosts call their endpoints by the verbs alone.
    by_verbs: bool,
}

impl World {
    fn new(spec: &Spec, kind: EngineKind) -> Self {
        let plan = Arc::new(Plan::new(spec));
        let executor = Executor::new(spec, kind);
        let mut probes = Samplers::new(spec);
        let mut switches = Switches::new(spec);
        let mut nodes = Vec::with_capacity(spec.network.nodes.len());
        for node in (0..spec.network.nodes.len() as u32).map(NodeId) {
            let ports = spec.network.ports_of(node);
            let port_tracer = PortTracer::new(&plan, spec.trace.ports_of(&ports));
            nodes.push(if node.0 < spec.network.hosts {
                let nic = executor.map.channels[ports.start as usize];
                let control_goes_first = spec.port(PortId(ports.start)).control_priority;
                let attached = Attached {
                    by_verbs: executor.by_verbs,
                    faults: switches.faults(node),
                    instruments: Instruments::new(port_tracer, FlowTracer::new(spec, &plan, node)),
                    flows: probes.flows(node),
                    goodput: probes.goodput(node),
                    uplink: probes.ports(node, ports),
                };
                let host = Host::new(&plan, HostId(node.0), nic, control_goes_first, attached);
                NetworkNode::Host(Box::new(host))
            } else {
                let sampler = probes.ports(node, ports);
                let is_ordered = executor.is_ordered || port_tracer.is_some();
                let channel = |port: PortId| executor.map.channels[port.index()];
                let fabric = switches.build(node, plan.routes(), is_ordered, channel);
                NetworkNode::Switch(Box::new(Switch::new(&plan, node, fabric, sampler, port_tracer)))
            });
        }
        let changes = changes(&plan, &nodes);
        let mut engine = executor.engine(nodes);
        for (node, key) in changes {
            engine.wake(&executor.map, node, key);
        }
        for &(at, host) in &spec.proxy_failures {
            engine.wake(&executor.map, host.0, proxy_fails(at, host));
        }
        for (node, key) in probes.first_samples {
            engine.wake(&executor.map, node.0, key);
        }
        for (id, flow) in (0..).zip(&plan.flows) {
            let start = Key::new(flow.flow.start, EventClass::Start, id, 0);
            engine.wake(&executor.map, flow.flow.src.0, start);
        }
        let early = FirstRtt::default();
        Self { plan, map: executor.map, engine, early, by_verbs: kind == EngineKind::Verbs }
    }

    fn node(&self, node: u32) -> &NetworkNode {
        self.engine.node(&self.map, node)
    }

    fn nodes(&self) -> impl Iterator<Item = &NetworkNode> {
        (0..self.map.locations.len() as u32).map(|node| self.node(node))
    }

    fn run(mut self, spec: &Spec, progress: &mut dyn FnMut(&Progress) -> bool) -> Outcome {
        let measured = spec.flows.iter().filter(|flow| flow.measured).count() as u64;
        let payload: Bytes = spec.flows.iter().map(|flow| flow.size).sum();
        let read = spec.probes.goodput.as_ref().map_or(Time::ZERO, |span| span.end);
        let mut check = spec.stop.when_measured_end.map(|period| (period, Time::ZERO + period));
        // The world is complete; a request to stop takes effect at the next call.
        progress(&self.progress(payload));
        let (end, interrupted) = loop {
            let until = check.map_or(spec.stop.time, |(_, next)| next.min(spec.stop.time));
            let pause = self.engine.run(until);
            self.early.add(self.engine.take_notes(), &self.plan);
            match pause {
                Pause::Idle | Pause::Held => {
                    let is_held = pause == Pause::Held;
                    assert_eq!(
                        is_held,
                        !self.deadlock().is_empty(),
                        "what is held for ever waits in a cycle"
                    );
                    let is_paused = self.pauses().any(|record| record.gate() == Gate::Closed);
                    assert!(is_held || !is_paused, "every pause ends");
                    // Nothing will ever happen again, but ports stay paused to the end.
                    break (if is_held { spec.stop.time } else { self.last_arrival() }, false);
                }
                Pause::Reached if until == spec.stop.time => break (until, false),
                Pause::Reached => {
                    let (period, next) = check.expect("a limit before the stop is a check");
                    let is_measured = self.sum(|host| host.counters.measured_finished) == measured;
                    if is_measured && next >= read {
                        break (next, false);
                    }
                    if !progress(&self.progress(payload)) {
                        break (next, true);
                    }
                    check = Some((period, next + period));
                }
                Pause::Budget => {
                    if !progress(&self.progress(payload)) {
                        break (self.engine.now(), true);
                    }
                }
            }
        };
        // Engines differ in how long they keep timers that no longer matter: these do not make a run longer.
        let end = if self.is_at_rest() { self.last_arrival() } else { end };
        self.outcome(spec, end, interrupted)
    }

    /// Whether every flow has ended, or waits for what will never come, and the network is empty.
    fn is_at_rest(&self) -> bool {
        let flows = self.plan.flows.len() as u64;
        let waiting = self.plan.triggers.count() - self.sum(|host| host.waiting.released);
        self.sum(|host| host.counters.finished) + waiting == flows
            && self.hosts().map(|host| host.waiting.under_way).sum::<i64>() == 0
            && self.packets().all(Packets::is_empty)
    }

    /// The packets under way, by part.
    fn packets(&self) -> impl Iterator<Item = &Packets> {
        self.engine.common().into_iter().map(|common| &common.packets)
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.nodes().filter_map(|place| match place {
            NetworkNode::Host(host) => Some(&**host),
            NetworkNode::Switch(_) => None,
        })
    }

    /// When the last packet reached its host: in a run that comes to rest, the last thing that happened.
    /// (Timers that no longer matter may run out later.)
    fn last_arrival(&self) -> Time {
        self.hosts().map(|host| host.last_arrival).max().unwrap_or(Time::ZERO)
    }

    fn sum(&self, of: impl Fn(&Host) -> u64) -> u64 {
        self.hosts().map(of).sum()
    }

    /// All ports by id.
    fn ports(&self) -> impl Iterator<Item = Line<'_>> {
        self.nodes().flat_map(|place| {
            let (nic, switch) = match place {
                NetworkNode::Host(host) => (Some(Line::Nic(&host.nic)), None),
                NetworkNode::Switch(switch) => (None, Some(switch)),
            };
            let ports = switch.into_iter().flat_map(|switch| switch.fabric.ports());
            nic.into_iter().chain(ports.map(Line::Port))
        })
    }

    fn progress(&self, payload: Bytes) -> Progress {
        Progress {
            now: self.engine.now(),
            finished: self.sum(|host| host.counters.finished),
            flows: self.plan.flows.len() as u64,
            fraction: self.sum(|host| host.counters.delivered_bytes.get()) as f64 / payload.as_f64().max(1.0),
            packet_hops: self.ports().map(|port| port.counters(Time::MAX).sent_packets).sum(),
        }
    }

    fn outcome(mut self, spec: &Spec, end: Time, interrupted: bool) -> Outcome {
        let flows = self.flow_outcomes(end);
        let ports = self.port_outcomes(end);
        let totals = self.totals(&flows, &ports, end);
        assert!(totals.conserved(), "packets or bytes were lost in the books: {totals:?}");
        losses::check(&flows, &totals);
        let sent = self.hosts().any(|host| (host.nic.sent(0) + host.nic.sent(1)).packets > 0);
        assert_eq!(
            self.engine.common().iter().any(|common| !common.datagrams.is_empty()),
            self.by_verbs && sent,
            "headers travel as bytes if hosts are to call the verbs alone, and only then"
        );
        assert!(
            self.pools_are_conserved(),
            "buffers hold what no packet takes, or packets what no buffer has given"
        );
        let parts = self.engine.common();
        let delays = DelayHistogram::sum(parts.iter().map(|common| &common.delays));
        let [intra, inter] =
            [0, 1].map(|class| DelayHistogram::sum(parts.iter().map(|common| &common.rtts[class])));
        let rtt =
            Rtts { all: DelayHistogram::sum([&intra, &inter]).rtt(), intra: intra.rtt(), inter: inter.rtt() };
        let packet_digest =
            self.hosts().fold(0, |sum: u64, host| sum.wrapping_add(host.counters.arrivals_hash));
        Outcome {
            digest: digest(&flows),
            samples: self.samples(end),
            trace: self.trace(&spec.trace.flows, end),
            goodput: self.goodput(spec, if interrupted { end } else { Time::MAX }),
            flows,
            ports,
            totals,
            packet_delay_p99: delays.quantile(0.99),
            rtt,
            end,
            proxies: self.proxy_outcomes(end),
            deadlock: self.deadlock(),
            interrupted,
            packet_digest,
        }
    }

    fn flow_outcomes(&self, end: Time) -> Vec<FlowOutcome> {
        let ids = (0..).map(FlowId);
        let mut flows: Vec<_> =
            ids.zip(&self.plan.flows).map(|(id, plan)| self.flow_under_way(id, plan, end)).collect();
        self.hosts().for_each(|host| host.complete(&mut flows));
        losses::count(&mut flows, self.packets().flat_map(Packets::iter), &self.plan.connections);
        flows
    }

    /// The queue of each proxy.
    fn proxy_outcomes(&self, end: Time) -> Vec<(HostId, ProxyQueue)> {
        self.hosts().filter_map(|host| Some((host.id, host.endpoint.proxy_queue(end)?))).collect()
    }

    /// The outcome of a flow as far as it is known before its end.
    fn flow_under_way(&self, id: FlowId, plan: &crate::plan::FlowPlan, end: Time) -> FlowOutcome {
        let host = |id: HostId| match self.node(id.0) {
            NetworkNode::Host(host) => host,
            NetworkNode::Switch(_) => unreachable!("hosts come first"),
        };
        let flow = &plan.flow;
        let mut outcome =
            FlowOutcome::new(flow.src, flow.dst, self.plan.class_of(id), flow.size, plan.ideal_fct);
        outcome.start = flow.start;
        outcome.started = flow.start < end && !self.plan.triggers.waits(id);
        outcome.sender = host(flow.src).sender_counters(end, id);
        outcome.receiver = host(flow.dst).receiver_counters(id);
        outcome
    }

    /// The packets and bytes that the link behind each port has lost, by id.
    fn losses(&self) -> impl Iterator<Item = Lost> {
        (0..).zip(self.nodes()).flat_map(|(node, place)| {
            let faults = match place {
                NetworkNode::Host(host) => host.faults.as_deref(),
                NetworkNode::Switch(switch) => switch.fabric.faults(),
            };
            let ports = self.plan.network.ports_of(NodeId(node));
            ports.map(move |port| faults.map_or(Lost::default(), |faults| faults.lost(PortId(port))))
        })
    }

    fn port_outcomes(&self, end: Time) -> Vec<PortOutcome> {
        let outcome = |(id, ((port, lost), pauses)): (u32, ((Line<'_>, Lost), PauseRecord))| {
            let counts = LinkCounts {
                counters: port.counters(end),
                trimmed: port.trimmed().0,
                lost,
                mean_queue: port.mean_queue(end),
                busy: port.busy_until(end),
                pauses,
            };
            counts.outcome(&self.plan.network, PortId(id), end)
        };
        (0..).zip(self.ports().zip(self.losses()).zip(self.pauses())).map(outcome).collect()
    }

    fn totals(&self, flows: &[FlowOutcome], ports: &[PortOutcome], end: Time) -> Totals {
        let relayed = |flow: &FlowOutcome| flow.relayed.unwrap_or_default().sent_bytes;
        let payload: Bytes = flows.iter().map(|flow| flow.sender.sent_bytes + relayed(flow)).sum();
        let amount = |of: fn(&Host) -> Amount| self.hosts().map(of).sum();
        let dropped = self.ports().zip(self.losses()).map(|(port, lost)| {
            let c = port.counters(end);
            Amount { packets: c.dropped + lost.packets, bytes: c.dropped_bytes + lost.bytes }
        });
        let in_network: Amount = self
            .packets()
            .flat_map(Packets::iter)
            .map(|packet| Amount { packets: 1, bytes: packet.size() })
            .sum();
        let trimmed: u64 = ports.iter().map(|port| port.trimmed_packets).sum();
        let trimmed_delivered: Amount = amount(|host| host.counters.arrived(2));
        let [headers_dropped, control_dropped] = losses::by_kind(self.packets().map(Packets::dropped));
        Totals {
            packet_hops: ports.iter().map(|port| port.sent_packets).sum(),
            sent: amount(|host| host.nic.sent(0)),
            control_sent: amount(|host| host.nic.sent(1)),
            delivered: amount(|host| host.counters.arrived(0)),
            control_delivered: amount(|host| host.counters.arrived(1)),
            trimmed_delivered,
            dropped: dropped.sum(),
            in_network,
            trimmed,
            headers_dropped,
            control_dropped,
            dropped_first_rtt: Some(self.early.count(flows, &self.plan)),
            cnps: self.sum(|host| host.counters.cnps),
            telemetry: self.sum(|host| host.counters.telemetry),
            cut_bytes: self.ports().map(|port| port.trimmed().1).sum(),
            ecn_marked: self.sum(|host| host.counters.marked),
            header_bytes: amount(|host| host.nic.sent(0) + host.nic.sent(1)).bytes - payload,
        }
    }
}

/// The transmitter of a link: a NIC or a port.
#[derive(Clone, Copy)]
enum Line<'a> {
    Nic(&'a Nic),
    Port(&'a Port),
}

impl Line<'_> {
    /// The counters of packets that had left before `end`.
    fn counters(self, end: Time) -> PortCounters {
        match self {
            Self::Nic(nic) => nic.counters(end),
            Self::Port(port) => port.counters(),
        }
    }

    /// Packets trimmed, and bytes cut off them.
    fn trimmed(self) -> (u64, Bytes) {
        match self {
            Self::Nic(_) => (0, Bytes::ZERO),
            Self::Port(port) => port.trimmed(),
        }
    }

    fn busy_until(self, now: Time) -> Duration {
        match self {
            Self::Nic(nic) => nic.busy_until(now),
            Self::Port(port) => port.busy_until(now),
        }
    }

    fn mean_queue(self, now: Time) -> f64 {
        match self {
            Self::Nic(nic) => nic.mean_queue(now),
            Self::Port(port) => port.mean_queue(now),
        }
    }
}

/// The changes of nodes while they run: ports with faults, and the routes of all switches.
fn changes(plan: &Plan, nodes: &[NetworkNode]) -> Vec<(u32, Key)> {
    let mut changes = Vec::new();
    for (node, place) in (0..).zip(nodes) {
        let NetworkNode::Switch(switch) = place else { continue };
        let faults = switch.fabric.faults();
        let ports = faults.iter().flat_map(|faults| faults.changes());
        changes.extend(ports.map(|(at, port)| (node, port_changes(at, port))));
        let routes = (0..).zip(&plan.reroutes);
        changes.extend(routes.map(|(number, (at, _))| (node, routes_change(*at, number))));
    }
    changes
}

/// A hash of the integer fields of every flow, by flow id.
fn digest(flows: &[FlowOutcome]) -> u64 {
    let time = |t: Option<Time>| t.map_or(u64::MAX, Time::as_ps);
    flows.iter().fold(0, |hash, flow| {
        [
            u64::from(flow.src.0) << 32 | u64::from(flow.dst.0),
            flow.size.get(),
            flow.start.as_ps(),
            time(flow.finish),
            time(flow.delivered),
            flow.ideal_fct.as_ps(),
            flow.sender.sent_bytes.get(),
            flow.sender.retransmitted_bytes.get(),
            flow.sender.sent_packets,
            flow.receiver.arrived_packets,
            flow.dropped_packets,
            flow.receiver.marked_packets,
            flow.receiver.trimmed_packets,
            flow.sender.parity_bytes.get(),
            flow.sender.timeouts,
            flow.sender.nacks,
            flow.sender.blocks_undecodable,
        ]
        .into_iter()
        .fold(hash, |hash, x| mix(hash ^ x).wrapping_add(0x9e37_79b9_7f4a_7c15))
    })
}
