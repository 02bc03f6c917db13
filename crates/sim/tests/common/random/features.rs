//! The features that a run of a random world has seen.

use super::*;

/// The features that the gate must see: each occurs in the worlds of the range that is always run.
pub const FEATURES: &[&str] = &[
    "data dropped",
    "control dropped",
    "marked on arrival",
    "marked on departure",
    "marked by a phantom queue alone",
    "marked by a step alone",
    "marked by red alone",
    "time-outs",
    "losses found without a time-out",
    "spurious retransmissions",
    "no jitter at all",
    "byte times that are no whole picoseconds",
    "arrivals at one node at one instant",
    "more arrivals in a window than a chunk holds",
    "flows of one host that start at one instant",
    "links longer than the near windows",
    "links longer than any window",
    "links without delay",
    "an idle stretch before a flow starts",
    "stopped in a window with packets under way",
    "looked for the end in the middle of windows",
    "ended with unmeasured flows left",
    "more than 64 nodes",
    "more than 64 ports of a switch",
    "rates sampled",
    "queues sampled",
    "schemes that differ by class, both at work",
    "two threads, cut between sites",
    "two threads, cut between pods",
    "all nodes run together",
    "alternating windows",
    "alternating windows on two threads",
    "at rest before the end was looked for",
    "flows that waited for all of some others",
    "flows that waited in a queue",
    "flows that waited for a pause",
    "flows that waited for ever",
    "payload of what arrived cut off",
    "payload cut off by a coin",
    "headers refused",
    "headers returned",
    "headers served by weight",
    "marked where departures are known on arrival",
    "coded flows that ended",
    "a last block with less data",
    "blocks decoded in the place of a lost segment",
    "blocks that lost too much",
    "blocks asked for by a NACK",
    "trimmed packets of a coded flow",
    "flows that ended before all of their parity was sent",
    "ports that differ from those of their tier",
    "ports that the topology names",
    "more than two sites",
    "lost where a link was down",
    "lost at a NIC",
    "lost in a black hole",
    "lost each for itself",
    "lost in blocks of a port",
    "lost in blocks of a flow",
    "control packets lost by a fault",
    "another rate while packets wait",
    "routes withdrawn and restored",
    "routes withdrawn for ever",
    "losses in both directions of a link",
    "faults that overlap on a port",
    "a traced flow lost packets",
    "a traced flow's block decoded",
    "a traced port marked",
    "a traced port dropped",
    "a traced port trimmed",
    "a traced link lost",
    "some of a flow came between the two times, and some before or after",
];

/// Windows that an engine files one by one, at most.
const NEAR: u64 = 32;
/// No window is longer.
const LONGEST: Duration = Duration::from_ps(1 << 21);

/// Which of [`FEATURES`] a run has seen.
#[expect(clippy::too_many_lines, reason = "a branch for each of `FEATURES`")]
pub fn features(spec: &Spec, outcome: &Outcome) -> Vec<&'static str> {
    let (links, flows, totals) = (&spec.network.links, &outcome.flows, &outcome.totals);
    let shortest = links.iter().map(|link| link.delay).min().expect("there is a link");
    let window = shortest.min(LONGEST).max(Duration::from_ps(1));
    let near = window * NEAR;
    let config = |link: &Link| {
        let same = |other: &Link| (other.from, other.to, other.index) == (link.from, link.to, link.index);
        spec.port(PortId(links.iter().position(same).expect("its own") as u32))
    };
    let crossed = links.iter().zip(&outcome.ports).filter(|(_, port)| port.sent_packets > 0);
    let lost: u64 = flows.iter().map(|flow| flow.dropped_packets).sum();
    let configs = crossed.clone().filter(|(_, port)| port.marked_packets > 0).map(|(link, _)| config(link));
    let marked_at = |point| configs.clone().any(|config| config.marking_point == point);
    let marked_by = |is: fn(&Marker) -> bool| configs.clone().any(|config| config.markers.iter().all(is));
    let cut = |at: Duration| !at.as_ps().is_multiple_of(window.as_ps());
    let exact = |rate: Rate| 8_000_000_000_000_u64.is_multiple_of(rate.as_bps());
    let both = |class| flows.iter().any(|flow| flow.class == class && flow.receiver.arrived_packets > 0);
    let at_once = most_at_once(spec);
    let cuts = farspan_sim::threads(spec, EngineKind::Threads(2)) == 2;
    let two_sites = spec.network.nodes.iter().any(|node| node.site > 0);
    let waited = |kind: fn(&Trigger) -> bool| {
        let targets = spec.triggers.iter().filter(|trigger| kind(trigger)).flat_map(|t| &t.targets);
        targets.into_iter().any(|id| flows[id.index()].start > spec.flows[id.index()].start)
    };
    let trim = |port: &PortConfig| match port.overflow {
        Overflow::Trim(trim) => Some(trim.victim),
        _ => None,
    };
    let has_weight =
        |port: &PortConfig| matches!(port.overflow, Overflow::Trim(trim) if trim.weight.is_some());
    let trimming = crossed.clone().filter(|(_, port)| port.trimmed_packets > 0);
    let trimmed_by = |victim| trimming.clone().any(|(link, _)| trim(config(link)) == Some(victim));
    let fifo = |port: &PortConfig| !port.control_priority && port.marking_point == MarkingPoint::Enqueue;
    let coded = || flows.iter().filter(|flow| flow.sender.blocks > 0);
    let shape = |flow: &FlowOutcome| match &spec.scheme(flow.class).coding {
        CodingConfig::Mds(mds) => mds.shape().expect("the ranges hold"),
        other => unreachable!("a flow with blocks is coded, and not by {other:?}"),
    };
    // Parity of a lone last segment is shorter: by less than one packet's worth of each.
    let all_parity =
        |flow: &FlowOutcome| spec.mss * u64::from(shape(flow).parity()) * (flow.sender.blocks - 1);
    let headers_refused = trimming.clone().any(|(_, port)| port.dropped_packets > 0);
    let has = [
        lost > 0,
        totals.dropped.packets > lost,
        marked_at(MarkingPoint::Enqueue),
        marked_at(MarkingPoint::Dequeue),
        marked_by(|marker| matches!(marker, Marker::Phantom(_))),
        marked_by(|marker| matches!(marker, Marker::Step(_))),
        marked_by(|marker| matches!(marker, Marker::Queue(_))),
        flows.iter().any(|flow| flow.sender.timeouts > 0),
        flows.iter().any(|flow| {
            flow.sender.blocks == 0 && flow.sender.timeouts == 0 && !flow.sender.retransmitted_bytes.is_zero()
        }),
        flows.iter().any(|flow| {
            flow.sender.blocks == 0 && flow.receiver.arrived_packets > flow.size.segments(spec.mss)
        }),
        spec.jitter.is_zero() && spec.port_jitter.is_zero(),
        crossed.clone().any(|(link, _)| !exact(link.rate)),
        at_once > 1,
        at_once > 15,
        (1..spec.flows.len()).any(|n| {
            spec.flows[..n]
                .iter()
                .any(|flow| (flow.src, flow.start) == (spec.flows[n].src, spec.flows[n].start))
        }),
        crossed.clone().any(|(link, _)| link.delay > near),
        shortest > LONGEST,
        crossed.clone().any(|(link, _)| link.delay.is_zero()),
        waits_for_a_flow(outcome, near),
        outcome.end == spec.stop.time && cut(outcome.end.since(Time::ZERO)) && totals.in_network.packets > 0,
        spec.stop
            .when_measured_end
            .is_some_and(|period| cut(period) && outcome.end > Time::ZERO + period * 3),
        spec.stop.when_measured_end.is_some()
            && outcome.end < spec.stop.time
            && flows.iter().any(|flow| flow.finish.is_none()),
        spec.network.nodes.len() > 64,
        spec.network.first_port.windows(2).any(|pair| pair[1] - pair[0] > 64),
        outcome.samples.iter().any(|sample| sample.probe == farspan_sim::ProbeKind::Rate),
        outcome.samples.iter().any(|sample| sample.probe == farspan_sim::ProbeKind::Queue),
        spec.intra != spec.inter
            && both(farspan_transport::Class::Intra)
            && both(farspan_transport::Class::Inter),
        cuts && two_sites,
        cuts && !two_sites,
        farspan_sim::groups(spec, EngineKind::Windowed) == 1,
        farspan_sim::groups(spec, EngineKind::Windowed) == 2,
        cuts && farspan_sim::groups(spec, EngineKind::Threads(2)) == 2,
        spec.stop.when_measured_end.is_some() && flows.iter().all(|flow| flow.finish.is_some()),
        waited(|trigger| trigger.rule == Rule::All),
        waited(|trigger| trigger.rule == Rule::Next),
        waited(|trigger| !trigger.pause.is_zero()),
        flows.iter().any(|flow| !flow.started && flow.start < outcome.end),
        trimmed_by(Victim::Arriving),
        trimmed_by(Victim::Coin),
        headers_refused,
        flows.iter().any(|flow| flow.returned_packets > 0),
        trimming.clone().any(|(link, _)| has_weight(config(link))),
        spec.port_jitter.is_zero() && configs.clone().any(fifo),
        coded().any(|flow| flow.finish.is_some()),
        coded().any(|flow| {
            flow.finish.is_some() && flow.size.segments(spec.mss) % u64::from(shape(flow).data()) > 0
        }),
        coded().any(|flow| flow.receiver.blocks_repaired > 0),
        coded().any(|flow| flow.sender.blocks_undecodable > 0),
        coded().any(|flow| flow.sender.nacks > flow.receiver.trimmed_packets),
        coded().any(|flow| flow.receiver.trimmed_packets > 0),
        coded().any(|flow| flow.finish.is_some() && flow.sender.parity_bytes < all_parity(flow)),
        crossed.clone().any(|(link, _)| !std::ptr::eq(config(link), spec.ports.of(link.tier))),
        !spec.network.groups.is_empty(),
        both(farspan_transport::Class::Inter) && spec.network.nodes.iter().any(|node| node.site > 1),
    ];
    let has = [
        &has[..],
        &features_of_faults(spec, outcome),
        &features_of_traces(outcome),
        &[some_came_between(outcome)],
    ]
    .concat();
    assert_eq!(has.len(), FEATURES.len());
    FEATURES.iter().zip(has).filter(|(_, has)| *has).map(|(name, _)| *name).collect()
}

/// The last of [`FEATURES`].
fn some_came_between(outcome: &Outcome) -> bool {
    let mut between = outcome.goodput.iter().flatten().zip(&outcome.flows);
    between.any(|(&bytes, flow)| !bytes.is_zero() && bytes < flow.size)
}

/// Those before.
fn features_of_traces(outcome: &Outcome) -> [bool; 6] {
    let flow = |is: fn(&What) -> bool| outcome.trace.flows.iter().any(|event| is(&event.what));
    let port =
        |is: fn(&Remark) -> bool| outcome.trace.packets.iter().any(|event| event.remarks.iter().any(is));
    [
        flow(|what| matches!(what, What::Lost { .. })),
        flow(|what| matches!(what, What::BlockCompleted { decoded: true, .. })),
        port(|remark| matches!(remark, Remark::Marked { .. })),
        port(|remark| matches!(remark, Remark::Dropped { .. })),
        port(|remark| matches!(remark, Remark::Trimmed)),
        port(|remark| matches!(remark, Remark::Lost)),
    ]
}

/// Those before.
fn features_of_faults(spec: &Spec, outcome: &Outcome) -> Vec<bool> {
    let (links, faults) = (&spec.network.links, &spec.faults);
    let of = |port: usize| faults.iter().filter(move |fault| fault.links.contains(&PortId(port as u32)));
    let losing = || (0..links.len()).filter(|&port| outcome.ports[port].lost_packets > 0);
    let lost_by =
        |is: &dyn Fn(&FaultKind) -> bool| losing().any(|port| of(port).all(|fault| is(&fault.kind)));
    let loss = |is: fn(&LossProcess) -> bool| {
        lost_by(&|kind| matches!(kind, FaultKind::Loss(Loss { process, .. }) if is(process)))
    };
    let per = |wanted| {
        lost_by(&|kind| match kind {
            FaultKind::Loss(Loss { process: LossProcess::Blocks { per, .. }, .. }) => *per == wanted,
            _ => false,
        })
    };
    let nic = |port: usize| links[port].tier == Tier::HostUp;
    let ran = |fault: &Fault| fault.at < outcome.end;
    let slowed = |port: usize| of(port).any(|fault| matches!(fault.kind, FaultKind::Rate(_)) && ran(fault));
    let waited = |port: usize| outcome.ports[port].max_queue > (spec.mss + spec.header) * 2;
    let restored = |fault: &Fault| {
        let after = fault.withdraw_after.filter(|_| fault.until != Time::MAX);
        after.is_some_and(|delay| fault.until + delay < outcome.end)
    };
    let back = |port: usize| {
        let link = links[port];
        links.iter().position(|other| (other.from, other.to, other.index) == (link.to, link.from, link.index))
    };
    let flows_lost: u64 = outcome.flows.iter().map(|flow| flow.dropped_packets).sum();
    let lost: u64 = outcome.ports.iter().map(|port| port.lost_packets).sum();
    vec![
        losing().any(|port| !nic(port) && of(port).all(|fault| fault.kind == FaultKind::LinkDown)),
        losing().any(nic),
        lost_by(&|kind| *kind == FaultKind::BlackHole),
        loss(|process| matches!(process, LossProcess::Independent(_))),
        per(Numbering::Queue),
        per(Numbering::Flow),
        lost > 0 && lost == outcome.totals.dropped.packets && lost > flows_lost,
        (0..links.len()).any(|port| !nic(port) && slowed(port) && waited(port)),
        faults.iter().any(restored),
        faults.iter().any(|fault| fault.withdraw_after.is_some() && fault.until == Time::MAX && ran(fault)),
        losing().any(|port| back(port).is_some_and(|back| outcome.ports[back].lost_packets > 0)),
        losing().any(|port| {
            let pair = |a: &Fault| of(port).any(|b| a != b && a.at < b.until && b.at < a.until && ran(b));
            of(port).any(|fault| ran(fault) && pair(fault))
        }),
    ]
}

/// How many first packets reach one switch at one instant: those of the flows that start first, one a host,
/// into an empty network.
fn most_at_once(spec: &Spec) -> usize {
    if !spec.jitter.is_zero() {
        return 0;
    }
    let first = spec.flows.iter().map(|flow| flow.start).min();
    let mut hosts = BTreeMap::new();
    for flow in spec.flows.iter().filter(|flow| Some(flow.start) == first && flow.start < spec.stop.time) {
        hosts.entry(flow.src).or_insert(flow.size.min(spec.mss) + spec.header);
    }
    let mut arrivals: BTreeMap<_, usize> = BTreeMap::new();
    for (host, size) in hosts {
        let link = &spec.network.links[spec.network.first_port[host.index()] as usize];
        *arrivals.entry((link.to, link.rate.transmission(size) + link.delay)).or_default() += 1;
    }
    arrivals.into_values().max().unwrap_or(0)
}

/// Whether a flow starts long after all that started before it have ended.
fn waits_for_a_flow(outcome: &Outcome, near: Duration) -> bool {
    outcome.flows.iter().any(|flow| {
        let before = || outcome.flows.iter().filter(|other| other.start < flow.start);
        let ended = before().all(|other| other.finish.is_some_and(|at| at + near < flow.start));
        flow.receiver.arrived_packets > 0 && before().next().is_some() && ended
    })
}
