//! Warnings about a world before it runs, a built-in scenario's like those of any other.

use super::network::usual_nic;
use super::traffic::steady_cure;
use super::{PathFacts, World, shortest_link};
use farspan_fabric::switch::shared::pause::LosslessLinks;
use farspan_fabric::{Marker, Overflow, Routes, Tier};
use farspan_scenario::model::{Scenario, Traffic};
use farspan_scenario::value::ConnectionScope;
use farspan_scenario::{Fitting, Resolved};
use farspan_sim::{Flow, Spec};
use farspan_transport::congestion::Ecn;
use farspan_transport::proxy::ProxyKind;
use farspan_transport::recovery::{RecoveryPolicy, Rto};
use farspan_transport::{Class, InitialWindow, Path};
use farspan_units::{Bytes, Duration, PortId, TelemetryKind};
use std::collections::BTreeSet;

/// The warnings about a world with these routes.
pub(super) fn of(resolved: &Resolved, world: &World, routes: &Routes) -> Vec<String> {
    let mut warnings = resolved.dropped().to_vec();
    warnings.extend(resolved.unread().iter().map(|file| {
        format!(
            "files: {file} is no longer read, because topology or workload were changed: its digest is not checked"
        )
    }));
    warnings.extend(constants(resolved));
    warnings.extend(rates(resolved, world));
    warnings.extend(delays(world));
    warnings.extend(jitter(world));
    warnings.extend(connections(resolved, world));
    warnings.extend(overload(resolved.scenario(), world));
    warnings.extend(fresh_windows(resolved, world));
    for class in [Class::Intra, Class::Inter] {
        let Some(flow) = world.spec.flows.iter().position(|flow| class_of(world, flow) == class) else {
            continue;
        };
        let path = Crossed::of(world, routes, flow);
        warnings.extend(window(resolved, world, class, &path));
        warnings.extend(lossless(world, class, &path));
        warnings.extend(marks(resolved, world, class, &path));
        warnings.extend(telemetry(world, class, &path));
        warnings.extend(time_out(world, class));
        warnings.extend(delay_target(resolved, world, class, &path));
        warnings.extend(first_time_out(resolved, world, class));
        warnings.extend(order(world, class));
        warnings.extend(reduction(resolved, world, class));
    }
    warnings
}

fn class_of(world: &World, flow: &Flow) -> Class {
    let site = |host| world.spec.network.site(host);
    if site(flow.src) == site(flow.dst) { Class::Intra } else { Class::Inter }
}

/// Constants that the published code had for each scenario, and this one says of none that it is like it.
fn constants(resolved: &Resolved) -> Option<String> {
    let Fitting { name, keys } = resolved.fitting()?;
    Some(format!(
        "the constants of profile \"artifact\" depend on the scenario, and {:?} is not a published one: {} {} not as in \
         {name}. To start from that scenario, add base = {name:?} at the head of the file; to use only its constants, add \
         constants = {name:?}",
        resolved.name(),
        keys.join(", "),
        if keys.len() == 1 { "is" } else { "are" },
    ))
}

fn rates(resolved: &Resolved, world: &World) -> Option<String> {
    let facts = [world.intra, world.inter];
    let largest = facts.into_iter().flatten().map(|fact| fact.base_rtt).max().unwrap_or_default();
    let interval = resolved.scenario().probes.rate_interval.get().filter(|interval| *interval < largest)?;
    Some(format!(
        "probes.rate_interval = {interval} is shorter than the largest base RTT ({largest}): rates will jump"
    ))
}

/// Delays that leave the engine no lookahead.
fn delays(world: &World) -> Vec<String> {
    let shortest = shortest_link(&world.spec.network);
    let triggers = || world.spec.triggers.iter();
    let delay = triggers().map(|trigger| trigger.delay).min();
    let pause = triggers().map(|trigger| trigger.pause).filter(|pause| !pause.is_zero()).min();
    let keys = [("workload.trigger_delay", delay), ("workload.compute_time", pause)];
    let short = keys.into_iter().filter_map(|(key, time)| Some((key, time.filter(|time| *time < shortest)?)));
    short
        .map(|(key, time)| {
            format!("{key} = {time} is shorter than every link ({shortest}): the run will be slow")
        })
        .collect()
}

/// Jitter that lets packets catch up with those before them: for a while a link brings more than its rate. On faster links between
/// switches a packet of the hosts' links may do so, too, which no host sees.
fn jitter(world: &World) -> Vec<String> {
    let spec = &world.spec;
    let packet = usual_nic(&spec.network).transmission(spec.mss + spec.header);
    let keys = [("host.jitter", spec.jitter), ("topology.jitter", spec.port_jitter)];
    let above = keys.into_iter().filter(|(_, jitter)| *jitter > packet);
    above
        .map(|(key, jitter)| {
            format!(
                "{key} = {jitter} is longer than the transmission of a packet ({packet}): packets catch up with earlier \
                 ones, and a link can deliver more than its rate for a while. \"1packet\" is the largest value that \
                 avoids this"
            )
        })
        .collect()
}

/// Links that are offered more than they carry, by flows that come for a while: a burst is meant to.
fn overload(scenario: &Scenario, world: &World) -> Option<String> {
    let cures: BTreeSet<_> = scenario.workload.iter().filter_map(|part| steady_cure(&part.traffic)).collect();
    if cures.is_empty() {
        return None;
    }
    let cures = cures.into_iter().collect::<Vec<_>>().join(", and ");
    let load = &world.offered_load;
    let site = |number: usize| &world.site_names[number];
    let wan = load
        .wan
        .iter()
        .map(|wan| (format!("the links from {} to {}", site(wan.from), site(wan.to)), wan.load));
    let tiers = [("the hosts' links".to_owned(), load.host), ("the fabric".to_owned(), load.fabric)];
    let over = tiers
        .into_iter()
        .chain(wan)
        .filter_map(|(tier, load)| Some((tier, load.filter(|load| *load >= 1.0)?)));
    let said: Vec<_> = over.map(|(tier, load)| format!("{tier} {:.0}%", load * 100.0)).collect();
    (!said.is_empty()).then(|| {
        format!(
            "the workload offers more than the network can carry: {}. Queues and completion times grow as long as flows \
             arrive; for a steady state, {cures}",
            said.join(", ")
        )
    })
}

/// The ports that a class's first flow crosses.
struct Crossed {
    bdp: Bytes,
    /// The path, as a control knows it.
    path: Path,
    /// The ports of switches.
    ports: Vec<PortId>,
    /// The smallest buffer of a switch.
    buffer: Bytes,
    /// Whether a port marks.
    marks: bool,
    /// Whether a port would mark, if its buffer reached up to its thresholds.
    would_mark: bool,
    /// Whether pauses keep every port from dropping.
    is_lossless: bool,
    /// The richest telemetry that a port writes.
    telemetry: TelemetryKind,
    /// Whether all trim what they have no room for: nothing is lost, then.
    trims: bool,
}

impl Crossed {
    fn of(world: &World, routes: &Routes, flow: usize) -> Self {
        let spec = &world.spec;
        let Flow { src, dst, .. } = spec.flows[flow];
        let links = routes.path(&spec.network, src, dst).links;
        let class = class_of(world, &spec.flows[flow]);
        let facts = if class == Class::Intra { world.intra } else { world.inter };
        let switched = |port: &PortId| spec.network.links[port.index()].tier != Tier::HostUp;
        let crossed: Vec<_> = links.iter().copied().filter(switched).collect();
        let ports: Vec<_> = crossed.iter().map(|port| spec.port(*port)).collect();
        let trims = ports.iter().all(|port| matches!(port.overflow, Overflow::Trim(_)));
        let marks = crossed.iter().any(|port| {
            let longest = longest_queue(spec, *port);
            spec.port(*port).markers.iter().any(|marker| can_mark(longest, *marker))
        });
        let base_rtt = |facts: Option<PathFacts>| facts.map_or(Duration::ZERO, |facts| facts.base_rtt);
        let path = Path {
            class,
            hops: links.len() as u32,
            largest_base_rtt: base_rtt(world.intra).max(base_rtt(world.inter)),
            trims,
            ..Path::new(spec.network.links[links[0].index()].rate, base_rtt(facts))
        };
        Self {
            bdp: facts.map_or(Bytes::ZERO, |facts| facts.bdp),
            path,
            ports: crossed,
            buffer: ports.iter().map(|port| port.buffer).min().unwrap_or(Bytes::MAX),
            marks,
            would_mark: ports.iter().any(|port| !port.markers.is_empty()),
            is_lossless: spec.pool.and_then(|pool| pool.pause).is_some_and(|pause| match pause.links {
                LosslessLinks::All => true,
                LosslessLinks::InsideSites => class == Class::Intra,
            }),
            telemetry: ports.iter().map(|port| port.telemetry).max().unwrap_or_default(),
            trims,
        }
    }
}

/// Whether a queue can grow so long that the marker sets marks. A phantom counter knows no buffer, and other crates' markers may
/// know none either.
fn can_mark(longest_queue: Bytes, marker: Marker) -> bool {
    match marker {
        Marker::Queue(red) => red.min < longest_queue,
        Marker::Step(threshold) => threshold < longest_queue,
        _ => true,
    }
}

/// The longest queue of a port: its buffer, or what the other links of its switch may hold of a shared one.
fn longest_queue(spec: &Spec, port: PortId) -> Bytes {
    let links = &spec.network.links;
    let link = &links[port.index()];
    let sources = links.iter().filter(|other| other.to == link.from && other.from != link.to).count();
    let pool = spec.pool.filter(|pool| pool.switches.includes(&spec.network, link.from));
    let shared = pool.map_or(Bytes::MAX, |pool| pool.most_held(sources, spec.mss + spec.header));
    spec.port(port).buffer.min(shared)
}

/// First windows that no port on the path could hold.
fn window(resolved: &Resolved, world: &World, class: Class, crossed: &Crossed) -> Option<String> {
    let start = resolved.scenario().transport.start;
    let lower = match start {
        InitialWindow::Bdp => "\"iw10\" or a size can be smaller",
        InitialWindow::BdpOver(_) => "a smaller share would fit",
        InitialWindow::Iw10 => "a size can be smaller",
        InitialWindow::Bytes(_) => "a smaller one would fit",
    };
    let window = start.bytes(crossed.bdp, world.spec.mss);
    // No flow sends more than it has.
    let sizes = world.spec.flows.iter().filter(|flow| class_of(world, flow) == class).map(|flow| flow.size);
    let window = window.min(sizes.max().unwrap_or_default());
    (window > crossed.buffer && !crossed.trims && !crossed.is_lossless).then(|| {
        format!(
            "transport.start: the first window of {} flows is up to {} B, but the smallest buffer on their path holds {} \
             B: flows that start together lose packets ({lower})",
            name(class),
            window.get(),
            crossed.buffer.get()
        )
    })
}

/// Controls whose sources run them on lossless fabrics: HPCC (section 4), DCQCN (section 1) and TIMELY (section 1) leave losses to pauses.
const MADE_FOR_LOSSLESS: [&str; 3] = ["hpcc", "dcqcn", "timely"];

/// A control that was made for a lossless fabric, on ports that drop.
fn lossless(world: &World, class: Class, crossed: &Crossed) -> Option<String> {
    let control = world.spec.scheme(class).congestion.name();
    let drops = !crossed.is_lossless && !crossed.trims;
    (drops && MADE_FOR_LOSSLESS.contains(&control)).then(|| {
        format!(
            "{control} was made for lossless fabrics, but ports on the path of {} flows drop packets: its reaction to \
             losses is not part of its design (scheme.ports.pool and scheme.ports.pfc.links = \"all\" or \"site\" make \
             ports pause)",
            name(class)
        )
    })
}

/// A collective of which a host sends several messages to another: each is a flow of its own, and begins anew.
fn fresh_windows(resolved: &Resolved, world: &World) -> Option<String> {
    let scenario = resolved.scenario();
    let repeats = |part: &u32| {
        let mut seen = BTreeSet::new();
        let mut flows = world.workload.flows.iter().filter(|flow| flow.part == *part);
        flows.any(|flow| !seen.insert((flow.src, flow.dst)))
    };
    let parts = (0..).zip(&scenario.workload);
    let collectives = parts.filter(|(_, part)| matches!(part.traffic, Traffic::Collective(_)));
    let part = collectives.map(|(index, _)| index).find(repeats)?;
    let flow = world.workload.flows.iter().find(|flow| flow.part == part)?;
    Some(format!(
        "each message of collective {:?} is a separate flow: it starts with a new first window ({}) and does not know \
         what the previous message learned, as a persistent connection would (transport.start = \"iw10\" or a size sets \
         another first window)",
        world.workload.tags[flow.tag as usize], scenario.transport.start
    ))
}

/// A time-out before the first round trip that the run does not live to see.
fn first_time_out(resolved: &Resolved, world: &World, class: Class) -> Option<String> {
    let Rto::Rfc6298 { initial, .. } = world.spec.scheme(class).recovery.rto else {
        return None;
    };
    let stop = resolved.scenario().stop.time;
    (initial > stop).then(|| {
        format!(
            "transport.rto_initial = {initial} is longer than the run (stop.time = {stop}): if one of the {} flows loses \
             its first packets before any ACK arrives, it never sends them again (lower rto_initial, or set transport.rto \
             = \"path\")",
            name(class)
        )
    })
}

/// Receivers that take packets in their order alone, of flows whose packets take several paths.
fn order(world: &World, class: Class) -> Option<String> {
    let scheme = world.spec.scheme(class);
    let balance = scheme.balance.name();
    (scheme.recovery.policy.wants_order() && balance != "ecmp").then(|| {
        format!(
            "recovery = \"go_back_n\" with {balance}: receivers of {} flows drop packets that arrive out of order, and \
             everything from the gap on is sent again (\"ecmp\" keeps a flow on one path; \"rack\" accepts packets in any \
             order)",
            name(class)
        )
    })
}

/// Rate reduction where time-outs alone find losses: there is nothing that it could spread.
fn reduction(resolved: &Resolved, world: &World, class: Class) -> Option<String> {
    let policy = world.spec.scheme(class).recovery.policy;
    (resolved.scenario().transport.prr && policy != RecoveryPolicy::Rack).then(|| {
        format!(
            "transport.prr = true does nothing for {} flows: with recovery = \"{}\" only time-outs find losses (\"rack\" \
             finds them earlier)",
            name(class),
            policy.name()
        )
    })
}

/// Connections that no two flows share, and a group in which messages of one connection would count as flows that get nothing.
fn connections(resolved: &Resolved, world: &World) -> Option<String> {
    let scenario = resolved.scenario();
    if scenario.transport.connections == ConnectionScope::PerFlow {
        return None;
    }
    let flows = &world.workload.flows;
    let repeats = |tag: Option<u32>| {
        let mut seen = BTreeSet::new();
        let mut those = flows.iter().filter(|flow| tag.is_none_or(|tag| flow.tag == tag));
        those.any(|flow| !seen.insert((flow.src, flow.dst)))
    };
    if !repeats(None) {
        return Some(
            "transport.connections = \"per_pair\" does nothing: no two flows have the same sender and receiver".to_owned(),
        );
    }
    let group = scenario.measure.fairness_group.as_deref()?;
    let tag = world.workload.tags.iter().position(|tag| tag == group)?;
    repeats(Some(tag as u32)).then(|| {
        format!(
            "measure.fairness_group = {group:?} has several flows from one host to another, which share a connection: a \
             flow that waits for another counts with rate 0 (transport.connections = \"per_flow\" lets them compete)"
        )
    })
}

/// A control that waits for marks which nobody sets.
fn marks(resolved: &Resolved, world: &World, class: Class, crossed: &Crossed) -> Option<String> {
    let control = &world.spec.scheme(class).congestion;
    (control.needs().ecn != Ecn::Ignored && !crossed.marks).then(|| {
        if crossed.would_mark {
            return format!(
                "{} needs ECN marks, but every port on the path of {} flows has a marking threshold above its longest \
                 possible queue: the control notices queues only when they overflow (lower the thresholds of \
                 scheme.ports, or raise topology.buffer or scheme.ports.pool)",
                control.name(),
                name(class),
            );
        }
        format!(
            "{} needs ECN marks, but no port on the path of {} flows sets them: the control notices queues only when they \
             overflow (scheme.ports.marking = {:?} on these ports; \"red\" marks)",
            control.name(),
            name(class),
            resolved.scenario().scheme.ports.marking().to_string()
        )
    })
}

/// A time-out that runs out before any acknowledgement can be there.
fn time_out(world: &World, class: Class) -> Option<String> {
    let facts = if class == Class::Intra { world.intra } else { world.inter }?;
    let Rto::Fixed(rto) = world.spec.scheme(class).recovery.rto else { return None };
    (rto < facts.base_rtt).then(|| {
        format!(
            "a time-out of {rto} is shorter than the base RTT of {} flows ({}): every packet is sent again before its ACK \
             can arrive (raise transport.rto, or set it to \"path\")",
            name(class),
            facts.base_rtt
        )
    })
}

/// A control that waits for telemetry which nobody writes.
fn telemetry(world: &World, class: Class, crossed: &Crossed) -> Option<String> {
    let control = &world.spec.scheme(class).congestion;
    let needed = control.needs().telemetry;
    (needed > crossed.telemetry).then(|| {
        let (written, effect) = if crossed.telemetry == TelemetryKind::None {
            ("any", "their windows never move")
        } else {
            ("all of it", "their windows follow one port at a time")
        };
        format!(
            "{} needs telemetry, but no port on the path of {} flows writes {written}: {effect} \
             (scheme.ports.telemetry = {:?} makes ports write it)",
            control.name(),
            name(class),
            needed.name()
        )
    })
}

/// A control that aims at a longer queue than a port can hold: it learns of a full port by losses, or from trimmed packets, alone.
fn delay_target(resolved: &Resolved, world: &World, class: Class, crossed: &Crossed) -> Option<String> {
    // What goes through a naive proxy never sees the way between the sites.
    let proxy = resolved.scenario().scheme.proxy.as_ref();
    let ends_at_proxy =
        class == Class::Inter && proxy.is_some_and(|proxy| matches!(proxy.kind, ProxyKind::Naive(_)));
    let control = &world.spec.scheme(class).congestion;
    // Marks tell of the queue before it is as long as the target.
    let sees_marks = control.needs().ecn != Ecn::Ignored && crossed.marks;
    let is_told = crossed.is_lossless || ends_at_proxy || sees_marks;
    let target = control.target_delay(&crossed.path).filter(|_| !is_told)?;
    let spec = &world.spec;
    let queues = crossed.ports.iter().map(|port| {
        let rate = spec.network.links[port.index()].rate;
        (port, rate, rate.bytes_in(target), longest_queue(spec, *port))
    });
    let (port, rate, queue, buffer) = queues.filter(|(_, _, queue, buffer)| queue > buffer).max_by(
        |(_, _, a, of_a), (_, _, b, of_b)| {
            (a.as_f64() / of_a.as_f64()).total_cmp(&(b.as_f64() / of_b.as_f64()))
        },
    )?;
    Some(format!(
        "{} aims at a queueing delay of {target} for {} flows: {} B at {} ({rate}), but this port holds {} B. The control \
         cannot tell that the port is full (give such ports a buffer of {} B, or the control a shorter target)",
        control.name(),
        name(class),
        queue.get(),
        spec.network.port_name(*port),
        buffer.get(),
        queue.get(),
    ))
}

const fn name(class: Class) -> &'static str {
    match class {
        Class::Intra => "intra",
        Class::Inter => "inter",
    }
}
